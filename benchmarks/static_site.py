"""The site as files behind nginx: nothing that makes pages is measured with what reads them.

The files are the simulator's answers to every address that a whole crawl of its world asks for, so
`truth` of that world says what a crawl must have found.
"""

import gzip
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from weibo_crawler.simulator.pages import Pages
from weibo_crawler.simulator.routes import Asked, Kind
from weibo_crawler.simulator.wire import END
from weibo_crawler.simulator.world import World

EPOCH = 1_793_462_400
_START_S = 10.0
_CONFIG = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/tmp; proxy_temp_path {folder}/tmp;
    fastcgi_temp_path {folder}/tmp; uwsgi_temp_path {folder}/tmp; scgi_temp_path {folder}/tmp;
    keepalive_requests 1000000;
    gzip_static on;
    default_type 'application/json; charset=utf-8';
    map $arg_containerid $page {{
        ''      /profile/$arg_value.json;
        default /$arg_containerid/$arg_page$arg_since_id.json;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        root {folder}/pages;
        location = /api/container/getIndex {{ try_files $page /end.json; }}
        location = /statuses/extend {{ try_files /extend/$arg_id.json /end.json; }}
    }}
}}
"""


def why_not() -> str | None:
    """What is missing here, for people; None: nothing is."""
    return None if shutil.which("nginx") else "nginx is not installed (Debian: nginx-light)"


class StaticSite:
    """A context manager. base_url: where it listens. users: whose pages, by uid. addresses: path
    and query of every page, by kind, and of the empty one behind each list."""

    def __init__(
        self, folder: Path, world: World, users: Iterable[int], kinds: Sequence[Kind]
    ) -> None:
        self._folder = folder.resolve()
        self.addresses: dict[Kind, list[str]] = {kind: [] for kind in kinds}
        (self._folder / "pages").mkdir(parents=True)
        (self._folder / "tmp").mkdir()
        site = Pages(world, cache_bytes=0)
        for uid in users:
            index = world.index(uid)
            assert index is not None
            for asked in _pages(world, site, index, kinds):
                file, address = _place(asked)
                self._write(file, site.of(asked).body)
                self.addresses[asked.kind].append(address)
            for asked in _ends(site, index, kinds):
                self.addresses[asked.kind].append(_place(asked)[1])
        self._write("end.json", END.body)

    def _write(self, name: str, body: bytes) -> None:
        file = self._folder / "pages" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(body)
        file.with_suffix(".json.gz").write_bytes(gzip.compress(body, 6))

    def __enter__(self) -> "StaticSite":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (self._folder / "nginx.conf").write_text(
            _CONFIG.format(folder=self._folder, port=port, user=_as_ourselves()), "utf-8"
        )
        self._process = subprocess.Popen(
            ["nginx", "-p", str(self._folder), "-c", str(self._folder / "nginx.conf")],
            stderr=subprocess.DEVNULL,
        )
        self.base_url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + _START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return self
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.05)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait()


def _as_ourselves() -> str:
    """Started by root nginx works as nobody, who may not read our folder."""
    return "" if os.geteuid() else "user root;"


def _pages(world: World, site: Pages, index: int, kinds: Sequence[Kind]) -> Iterator[Asked]:
    """All that a crawl is shown of one user."""
    for asked in site.all_of(index):
        if asked.kind in kinds and site.of(asked) is not END:
            yield asked
    if Kind.EXTEND in kinds:
        for post in world.posts(index):
            if post.is_long:
                yield Asked(Kind.EXTEND, mid=post.mid)


def _ends(site: Pages, index: int, kinds: Sequence[Kind]) -> Iterator[Asked]:
    """What a crawl asks for after the last page of each list of one user."""
    lists = [asked for asked in site.all_of(index) if asked.kind is not Kind.PROFILE]
    for asked in {asked.kind: asked for asked in lists if asked.kind in kinds}.values():
        number = site.number(asked) + (site.of(asked) is not END)
        yield asked._replace(page=number, since_id=0)


def _place(asked: Asked) -> tuple[str, str]:
    """File and address, as the server's map makes one from the other."""
    index = "/api/container/getIndex?"
    if asked.kind is Kind.PROFILE:
        return f"profile/{asked.uid}.json", f"{index}type=uid&value={asked.uid}"
    if asked.kind is Kind.EXTEND:
        return f"extend/{asked.mid}.json", f"/statuses/extend?id={asked.mid}"
    if asked.kind is Kind.FANS:
        container, page = f"231051_-_fans_-_{asked.uid}", f"since_id={asked.page}"
        return f"{container}/{asked.page}.json", f"{index}containerid={container}&{page}"
    query = f"type=uid&value={asked.uid}&containerid={asked.container}&page={asked.page}"
    return f"{asked.container}/{asked.page}.json", index + query

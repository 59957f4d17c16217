"""A host of pictures and videos on loopback, which misbehaves as told, and posts that name what it
has."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.crawls import Crawl
from weibo_crawler.records import PageInfo, Post
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import post_cells
from weibo_crawler.store.rows.keys import post_key
from weibo_crawler.store.sqlite.tables import SqliteTables


def jpeg(n: int, size: int = 300) -> bytes:
    """The nth picture."""
    return b"\xff\xd8\xff\xe0" + f"{n:08d}".encode() + bytes(size - 14) + b"\xff\xd9"


def mp4(size: int = 3000) -> bytes:
    body = bytes(i % 251 for i in range(997)) * (size // 997 + 1)
    return b"\x00\x00\x00\x0cftypisom" + (len(body) + 8).to_bytes(4) + b"mdat" + body


class Asked(NamedTuple):
    """A request as it came."""

    path: str
    headers: dict[str, str]


class Host:
    """files: path -> body and type. odd: path -> what answers in place of that. asked: all that
    was. is_ranged: whether Range is understood."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[bytes, str]] = {}
        self.odd: dict[str, Callable[[Any], None]] = {}
        self.asked: list[Asked] = []
        self.is_ranged = True
        self.url = ""

    def add(self, path: str, body: bytes, content_type: str = "image/jpeg") -> str:
        """Its address."""
        self.files[path] = body, content_type
        return self.url + path

    def paths(self) -> list[str]:
        return sorted(asked.path for asked in self.asked)

    def answer(self, handler: Any) -> None:
        path, headers = handler.path, {k.lower(): v for k, v in handler.headers.items()}
        self.asked.append(Asked(path, headers))
        if path in self.odd:
            self.odd[path](handler)
        elif path.partition("?")[0] in self.files:
            self.send(handler, *self.files[path.partition("?")[0]])
        else:
            self.say(handler, 404)

    def send(self, handler: Any, body: bytes, content_type: str, stop: int | None = None) -> None:
        """The file, or what is asked of it; stop: the connection ends there."""
        etag, start = f'"{sha256(body).hexdigest()[:12]}"', 0
        wanted = handler.headers.get("Range", "")
        if self.is_ranged and wanted and handler.headers.get("If-Range") == etag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
        headers = {"Content-Type": content_type, "ETag": etag}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        headers["Content-Length"] = str(len(body) - start)
        self.say(handler, 206 if start else 200, headers, body[start:stop])

    def say(
        self, handler: Any, status: int, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> None:
        handler.send_response(status)
        for name, value in ({"Content-Length": "0"} if headers is None else headers).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True


@contextmanager
def hosting(address: str = "127.0.0.1") -> Iterator[Host]:
    host = Host()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            host.answer(self)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer((address, 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who hangs up early
        host.url = f"http://{address}:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield host
        finally:
            server.shutdown()
            thread.join()


class Named(NamedTuple):
    """A post to store."""

    uid: int
    mid: int
    pics: tuple[str, ...] = ()
    video: str = ""
    videos: tuple[str, ...] = ()
    day: str = "2026-01-05"


def store(folder: Path, *posts: Named, at: float = 1.8e9) -> None:
    tables = SqliteTables(f"sqlite:///{folder / 'tables.db'}")
    try:
        tables.posts.put(
            Put.at(post_key(one.uid, one.mid), post_cells(_post(one), at, "direct", "r"), at)
            for one in posts
        )
    finally:
        tables.close()


def _post(one: Named) -> Post:
    info = PageInfo("video", stream=one.video) if one.video else None
    at = f"{one.day}T12:00:00+08:00"
    return Post(
        *(one.mid, one.uid, at, "second", "x"),
        text_complete=True,
        pics=one.pics,
        videos=one.videos or None,
        page_info=info,
    )


@contextmanager
def crawled(folder: Path) -> Iterator[tuple[Crawl, Host]]:
    """A crawl with empty stores, and the host that its site has."""
    with hosting() as host:
        crawl = Crawl(folder, host.url)
        crawl.env |= {"WEIBO_MEDIA__REQUESTS_PER_SECOND": "0", "WEIBO_FETCH__ATTEMPTS": "2"}
        crawl.run("init")
        try:
            yield crawl, host
        finally:
            crawl.end()

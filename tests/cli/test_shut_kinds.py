"""Law 15: a site that shows nobody one kind of page, or one field, and all others as ever."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.crawls import simulated
from tests.cli.test_reparse import again, archived, assert_equal
from weibo_crawler.cli.show import verdicts

TEXTS = r"/statuses/|/detail/"


@contextmanager
def closing(
    base_url: str,
    kind: str,
    status: int,
    change: Callable[[bytes], bytes] = lambda body: body,
    after: int = 0,
) -> Iterator[tuple[str, list[str]]]:
    """The site at `base_url`, whose addresses of this kind are answered by a status alone, and what
    was asked for there. change: of the bodies of all others. after: so many are answered first."""
    asked: list[str] = []
    shown = iter(range(after))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if re.match(kind, self.path) and next(shown, None) is None:
                asked.append(self.path)
                self._answer(status, [("Content-Type", "text/html")], b"")
                return
            own = {k: v for k, v in self.headers.items() if k.lower() != "host"}
            conn = HTTPConnection(base_url.removeprefix("http://"))
            conn.request("GET", self.path, headers=own)
            came = conn.getresponse()
            body = change(came.read())
            self._answer(came.status, came.getheaders(), body)
            conn.close()

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response_only(status)
            left_out = ("content-length", "connection", "transfer-encoding")
            for name, value in headers:
                if name.lower() not in left_out:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


@pytest.mark.timeout(400)  # where 418 rests the egress, each rest is twice as long as the last one
@pytest.mark.parametrize("status", [403, 418, 500])
def test_texts_that_nobody_is_shown_cost_a_few_requests(tmp_path: Path, status: int) -> None:
    """The run ends well, every post is stored, the long ones as lists show them, and their number
    is said; the tables come out of the archive as they are."""
    with (
        simulated(tmp_path, users=110, mean_posts=10.0) as (crawl, truth),
        closing(crawl.env["WEIBO_SITE__BASE_URL"], TEXTS, status) as (base_url, asked),
    ):
        crawl.env["WEIBO_SITE__BASE_URL"] = base_url
        archives = archived(crawl)
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        done = crawl.json("posts", "--runner", "inline")
        assert "left out, as nobody is shown any: " in verdicts(done["counters"])
        stored: dict[str, dict[str, Any]] = {post["mid"]: post for post in crawl.scan("posts")}
        shown = (truth.data["posts"].get(str(uid), []) for uid in truth.depths)
        true = {post["mid"] for posts in shown for post in posts}
        cut = [mid for mid, post in stored.items() if not post["text_complete"]]
        assert stored.keys() == true
        assert len(cut) > 70
        assert done["cut_texts"] == len(cut)
        assert len(asked) < len(cut)  # by three ways
        assert_equal(crawl, again(tmp_path / "again", archives))


def test_people_whom_nobody_can_read_are_no_end(tmp_path: Path) -> None:
    """Where the site calls the number of fans otherwise nobody is kept, and the run does not say
    that nobody new is found, and no more: it ends with 4, and says how many were left out."""

    def rename(body: bytes) -> bytes:
        words = body.replace("粉丝：".encode(), "多少：".encode()).replace(
            b"\\u7c89\\u4e1d\\uff1a", b""
        )
        return words.replace(b'"followers_count', b'"fans_number')

    with (
        simulated(tmp_path) as (crawl, truth),
        closing(crawl.env["WEIBO_SITE__BASE_URL"], "/nothing", 404, rename) as (base_url, _),
    ):
        crawl.env["WEIBO_SITE__BASE_URL"] = base_url
        crawl.run("seed", *truth.seeds)
        said = crawl.run("harvest", code=4).stderr
        left_out = re.search(r"([0-9,]+) sightings left out: nobody could read", said)
        assert left_out is not None
        assert int(left_out[1].replace(",", "")) > 10
        assert "hardly anybody on the lists could be read" in said

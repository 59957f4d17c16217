"""Several ResourceManagers of which one is active: who tells is asked, whoever is named first."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import StreamRequestHandler, TCPServer

import pytest

from tests.webserver import answering
from weibo_crawler import config
from weibo_crawler.cli import checks
from weibo_crawler.errors import BadConfig, StoreError
from weibo_crawler.posts.webhdfs import WebHdfs
from weibo_crawler.posts.yarn import Yarn

DEAD = "http://127.0.0.1:9"
APP = {"id": "application_1_1", "state": "RUNNING", "finalStatus": "UNDEFINED"}


def active(path: str) -> object:
    """What one that is active says."""
    if path.endswith("/info"):
        return {"clusterInfo": {"haState": "ACTIVE"}}
    return {"apps": {"app": [APP]}} if "applicationTags=run" in path else {"apps": None}


@pytest.fixture
def living() -> Iterator[str]:
    with answering(active) as port:
        yield f"http://127.0.0.1:{port}"


def yarn(*addresses: str) -> Yarn:
    return Yarn(", ".join(addresses), "http://127.0.0.1:9", "me")


def test_one_that_died_is_one_of_several(living: str) -> None:
    """The next one is asked, and from then on first; people are led to it."""
    asked = yarn(f"{DEAD}/", living)
    asked.check()
    assert (app := asked.find("run"))
    assert app.id == APP["id"]
    assert asked.page(app.id).startswith(living)
    assert asked.find("another") is None


def test_a_standby_that_knows_no_active_one_is_passed_over(living: str) -> None:
    """It has no JSON to give."""
    with answering({}.get) as port:
        app = yarn(f"http://127.0.0.1:{port}", living).find("run")
    assert app is not None


@contextmanager
def serving(server: TCPServer) -> Iterator[str]:
    """The address of this server, which answers until the block ends."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def taking(status: int, killed: list[str]) -> Iterator[str]:
    """A ResourceManager that answers so to who puts; what it was told goes into `killed`."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            killed.append(f"{status} {self.path.partition('?')[0]}")
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:9/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield address


def test_the_active_one_is_told_to_kill() -> None:
    """One that died and one that stands by are passed over; a refusal of the last one is told."""
    killed: list[str] = []
    with taking(307, killed) as standby, taking(202, killed) as active_one:
        yarn(DEAD, standby, active_one).kill(APP["id"])
        assert killed == [f"{n} /ws/v1/cluster/apps/{APP['id']}/state" for n in (307, 202)]
        with pytest.raises(StoreError, match="cannot be reached"):
            yarn(standby, DEAD).kill(APP["id"])
    with taking(403, killed) as strict, pytest.raises(BadConfig, match="status 403"):
        yarn(strict, DEAD).kill(APP["id"])


def test_nothing_is_concluded_while_one_cannot_be_asked() -> None:
    """The one that is away may be the active one: that nobody knows of a job is no answer then."""
    with answering({}.get) as port, pytest.raises(StoreError, match=r"127\.0\.0\.1:9 cannot be"):
        yarn(DEAD, f"http://127.0.0.1:{port}").find("run")


@contextmanager
def saying(words: bytes) -> Iterator[str]:
    """A server that says these words to whoever asks, and hangs up."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            self.wfile.write(words)

    with serving(TCPServer(("127.0.0.1", 0), Handler)) as address:
        yield address


@pytest.mark.parametrize(
    "words",
    [
        b"220 another protocol\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{",
    ],
    ids=["no HTTP", "cut", "no JSON"],
)
def test_what_is_no_answer_is_a_server_that_cannot_be_reached(words: bytes) -> None:
    """One that dies while it answers, or is none of Hadoop's, is an error that names it; where only
    the progress of a job is asked for it is none."""
    with saying(words) as server:
        asked = Yarn(server, server, "me")
        assert asked.maps(APP["id"]) is None
        for call in (asked.check, lambda: asked.find("run")):
            with pytest.raises(StoreError, match=r"resourcemanager: http.* cannot be reached"):
                call()
        with pytest.raises(StoreError, match=r"hadoop\.namenode"):
            WebHdfs(server, "me").exists("/folder")
        settings = config.load(None, {"WEIBO_HADOOP__JOBHISTORY": server})
        with pytest.raises(StoreError, match=r"correct hadoop\.jobhistory"):
            checks.jobhistory(settings)

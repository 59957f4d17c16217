"""Where store.users names a port that is none of MariaDB's, it is said, and soon."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.webserver import answering
from weibo_crawler.errors import StoreError
from weibo_crawler.store.mysql import base as mysql_base
from weibo_crawler.store.mysql.check import MysqlCheck
from weibo_crawler.store.mysql.frontier import MysqlUsers


def web() -> AbstractContextManager[int]:
    """A web server: it waits for the client to speak first, as a MySQL client does not."""
    return answering(lambda path: None)


@contextmanager
def silent() -> Iterator[int]:
    """It takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextmanager
def greeting(words: bytes) -> Iterator[int]:
    """It says these words to who connects, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            conn, _ = server.accept()
            with conn:
                conn.sendall(words)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


@pytest.mark.parametrize("ask", ["command", "doctor"])
@pytest.mark.parametrize(
    "listener",
    [
        web,
        silent,
        lambda: greeting(b"SSH-2.0-OpenSSH_9.2\r\n"),
        lambda: greeting(b"\x03\x00\x00\x00abc"),  # a packet of MySQL's form, and no greeting
        lambda: greeting(b""),
    ],
    ids=["web", "silent", "ssh", "packet", "hangs up"],
)
def test_another_server_is_told_from_mariadb(
    listener: Callable[[], AbstractContextManager[int]],
    ask: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A command and `doctor` leave who does not greet as MariaDB does, and name the setting; it is
    not waited for as for a query, which may take minutes."""
    monkeypatch.setattr(mysql_base, "_GREETING_S", 0.3)
    with listener() as port:
        url = f"mysql://me@127.0.0.1:{port}/crawl"
        users, check = MysqlUsers(url, "geheim"), MysqlCheck(url, "geheim")
        with pytest.raises(StoreError, match=r"does not greet as MariaDB.*store\.users") as caught:
            users.states() if ask == "command" else check.server()
    assert f"mysql://127.0.0.1:{port}/crawl" in str(caught.value)
    assert "geheim" not in str(caught.value)

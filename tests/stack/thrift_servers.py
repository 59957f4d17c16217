"""A Thrift server of a test's own, to be killed, and a proxy that holds answers back."""

import json
import select
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from tests.ports import free_port
from tests.stack.conftest import ROOT, Running


class OwnThrift:
    """A second Thrift server on a free port, with the command line of the stack's. idle_ms: after
    this time it cuts idle connections; properties: more of hbase-site.xml."""

    def __init__(
        self, stack: Running, folder: Path, *, idle_ms: int, properties: Mapping[str, str]
    ) -> None:
        self.port = free_port()
        root = Path(stack.env.get("WEIBO_STACK_DIR") or ROOT / ".stack")
        pid = json.loads((root / "run/thrift.pid").read_text())["pid"]
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode().split("\0")
        words[words.index("-p") + 1] = str(self.port)
        words[words.index("-t") + 1] = str(idle_ms)
        site = (root / "conf/hbase/hbase-site.xml").read_text()
        more = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in properties.items()
        )
        conf = folder / "conf"
        conf.mkdir()
        (conf / "hbase-site.xml").write_text(
            site.replace("</configuration>", f"{more}</configuration>")
        )
        classes = words.index("-cp") + 1
        jars, _, theirs = words[classes].partition(":")
        words[classes] = f"{jars}:{conf}:{theirs}"  # the first of a name is taken
        self._words, self._log = words, folder / "thrift.log"
        self._process: subprocess.Popen[bytes] | None = None

    def add_flags(self, flags: Sequence[str]) -> None:
        """More words for it, before it is started."""
        self._words[-1:-1] = flags  # the last word is `start`

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._words, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.1)
        raise AssertionError(self._log.read_text()[-2000:])

    def kill(self) -> None:
        """kill -9, and nothing of it is left."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Proxy:
    """Passes bytes on, to and from a port on loopback; while `held` is set, answers wait."""

    def __init__(self, port: int) -> None:
        self.held = threading.Event()
        self._target = port
        self._closed = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._closed.set()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with closing(self._server):
            while not self._closed.is_set():
                if select.select([self._server], [], [], 0.05)[0]:
                    client, _ = self._server.accept()
                    thread = threading.Thread(target=self._serve, args=(client,))
                    self._threads.append(thread)
                    thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._target)) as server:
            while not self._closed.is_set():
                # an answer that waits does not keep the next question back
                sources = [client] if self.held.is_set() else [client, server]
                for source in select.select(sources, [], [], 0.02)[0]:
                    with suppress(OSError):
                        data = source.recv(65536)
                        if data:
                            (server if source is client else client).sendall(data)
                            continue
                    return

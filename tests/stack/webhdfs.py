"""HDFS by its web interface, as tests look into it: the `hadoop` command would start a JVM each
time."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

from tests.stack.conftest import Running
from weibo_crawler.posts.hdfs import user

import settings  # isort: skip


class WebHdfs:
    """Paths are those of the stack's HDFS, such as /tmp/folder."""

    def __init__(self, stack: Running) -> None:
        port = settings.read(stack.env).ports["namenode_web"]
        self._base, self._user = f"http://127.0.0.1:{port}/webhdfs/v1", user(stack.env)

    def names(self, folder: str) -> list[str]:
        """What lies in a folder."""
        return sorted(held["pathSuffix"] for held in self._list(folder))

    def files(self, folder: str) -> Iterator[tuple[str, str]]:
        """The path and the mode, such as 600, of each file in and below a folder."""
        for held in self._list(folder):
            path = f"{folder}/{held['pathSuffix']}"
            if held["type"] == "DIRECTORY":
                yield from self.files(path)
            else:
                yield path, held["permission"]

    def read(self, path: str) -> str:
        """A file; of a binary one, what is text in it; empty if it is not there."""
        return self._ask("GET", path, op="OPEN").decode("utf-8", "replace")

    def make_file(self, path: str) -> None:
        """An empty one, and the folders above it."""
        told = self._ask("PUT", path, op="CREATE", noredirect="true")
        _open(json.loads(told)["Location"], "PUT")

    def remove(self, path: str) -> None:
        """With all below it; it may be gone already."""
        self._ask("DELETE", path, op="DELETE", recursive="true")

    def _list(self, folder: str) -> list[dict[str, Any]]:
        answer = self._ask("GET", folder, op="LISTSTATUS")
        return json.loads(answer)["FileStatuses"]["FileStatus"] if answer else []

    def _ask(self, method: str, path: str, **query: str) -> bytes:
        """The answer; empty where the path is not there."""
        words = urllib.parse.urlencode({"user.name": self._user} | query)
        url = f"{self._base}{urllib.parse.quote(path)}?{words}"
        try:
            return _open(url, method)
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 404:
                    raise
            return b""


def _open(url: str, method: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=60) as answer:
        body: bytes = answer.read()
    return body

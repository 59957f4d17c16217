"""HDFS through its web interface (WebHDFS, or an HttpFS server), with the methods of `Hdfs`.

Each call is a request or two of some milliseconds, where the `hadoop` command starts a JVM. Source:
https://hadoop.apache.org/docs/r3.4.1/hadoop-project-dist/hadoop-hdfs/WebHDFS.html
"""

import json
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from weibo_crawler.errors import StoreError
from weibo_crawler.kerberos import FAILED, opener
from weibo_crawler.posts.yarn import addresses

_TIMEOUT_S = 600.0
_FOLDER, _FILE = "700", "600"
_AT_ONCE = 4  # files of a folder
_ROOM = "._COPYING_"  # behind the name of a file that is being written, as Hadoop's client does


class WebHdfs:
    """namenodes: addresses such as http://nn.example:9870, with commas between; of two the active
    one is asked. user: in whose name, where no ticket of Kerberos tells. Methods raise StoreError
    with what Hadoop said."""

    def __init__(self, namenodes: str, user: str) -> None:
        self._nodes = addresses(namenodes)
        self._user, self._http = user, opener()

    def make_folder(self, folder: str) -> None:
        self._ask("PUT", folder, op="MKDIRS", permission=_FOLDER)

    def put(self, sources: Iterable[Path], folder: str) -> None:
        is_there = self.exists(folder)
        for source in sources:
            self._put(source, f"{folder}/{source.name}" if is_there else folder)

    def put_again(self, source: Path, folder: str) -> None:
        self._write(source, f"{folder}/{source.name}", "OVERWRITE")

    def put_once(self, source: Path, target: str) -> None:
        try:
            self._write(source, target, "NONE")
        except StoreError:
            if not self.exists(target):  # else another run was first
                raise

    def move(self, source: str, target: str) -> None:
        self._rename(source, target, "NONE")

    def exists(self, path: str) -> bool:
        return self._ask("GET", path, may_lack=True, op="GETFILESTATUS") is not None

    def names(self, folder: str) -> set[str]:
        told = self._ask("GET", folder, op="LISTSTATUS")
        return {each["pathSuffix"] for each in told["FileStatuses"]["FileStatus"]}

    def read(self, pattern: str) -> str:
        folder, _, wanted = pattern.rpartition("/")
        names = sorted(name for name in self.names(folder) if fnmatch(name, wanted))
        files = (self._open("GET", self._url(f"{folder}/{name}", op="OPEN")) for name in names)
        return "".join(body.decode("utf-8", "replace") for body in files)

    def remove(self, *paths: str) -> None:
        for path in paths:
            self._ask("DELETE", path, op="DELETE", recursive="true")

    # -- inside

    def _put(self, source: Path, target: str) -> None:
        if not source.is_dir():
            self._create(source, target)
            return
        self.make_folder(target)
        with ThreadPoolExecutor(_AT_ONCE) as beside:  # a small file is a wait for three servers
            files = [
                beside.submit(self._put, each, f"{target}/{each.name}") for each in source.iterdir()
            ]
            for one in files:
                one.result()

    def _write(self, source: Path, target: str, options: str) -> None:
        """A file under another name first, so that nobody sees a part of it."""
        room = f"{target}{_ROOM}{uuid.uuid4().hex}"
        self._create(source, room)
        try:
            self._rename(room, target, options)
        except StoreError:
            self.remove(room)
            raise

    def _create(self, source: Path, target: str) -> None:
        told = self._ask("PUT", target, op="CREATE", noredirect="true", permission=_FILE)
        # it names the path as it is; where that stands in it encoded, % stays
        where = urllib.parse.quote(told["Location"], safe="%/:=&?@!$'()*+,;#[]~")
        self._open("PUT", where, source.read_bytes())

    def _rename(self, source: str, target: str, options: str) -> None:
        to = urllib.parse.urlsplit(target).path
        self._ask("PUT", source, op="RENAME", destination=to, renameoptions=options)

    def _url(self, path: str, node: str = "", **query: str) -> str:
        """path: with or without hdfs://…; node: "" for the one that was active last."""
        words = urllib.parse.urlencode({"user.name": self._user} | query)
        place = urllib.parse.quote(urllib.parse.urlsplit(path).path)
        return f"{node or self._nodes[0]}/webhdfs/v1{place}?{words}"

    def _ask(self, method: str, path: str, *, may_lack: bool = False, **query: str) -> Any:
        """The JSON that the active NameNode answers; None where nothing is there and may_lack."""
        away: StoreError | None = None
        for _ in range(len(self._nodes)):
            node = self._nodes[0]
            try:
                body = self._open(method, self._url(path, node, **query))
                return json.loads(body) if body else {}
            except ValueError:
                raise _refusal(200, body) from None
            except _Lacking:
                if may_lack:
                    return None
                raise
            except _Elsewhere as error:
                away = away or error
                if self._nodes[0] == node:  # else another thread has gone on already
                    self._nodes = [*self._nodes[1:], node]
        assert away is not None
        raise away

    def _open(self, method: str, url: str, body: bytes = b"") -> bytes:
        headers = {"Content-Type": "application/octet-stream"} if method == "PUT" else {}
        request = urllib.request.Request(url, body or None, headers, method=method)
        try:
            with self._http.open(request, timeout=_TIMEOUT_S) as answer:
                said: bytes = answer.read()
                return said
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error.code, error.read()) from None
        except FAILED as error:
            parts = urllib.parse.urlsplit(url)
            why = getattr(error, "reason", error)
            raise _Elsewhere(
                f"hadoop.namenode: {parts.scheme}://{parts.netloc} cannot be reached: {why}"
            ) from None


class _Lacking(StoreError):
    """Nothing is there."""


class _Elsewhere(StoreError):
    """Another NameNode may know."""


def _refusal(code: int, body: bytes) -> StoreError:
    try:
        told = json.loads(body)["RemoteException"]
        name, message = str(told["exception"]), str(told["message"])
    except (ValueError, LookupError, TypeError):
        return StoreError(f"HDFS: hadoop.namenode answers {code}, and not as WebHDFS does")
    kinds = {"FileNotFoundException": _Lacking, "StandbyException": _Elsewhere}
    return kinds.get(name, StoreError)(f"HDFS: {message.strip().partition(chr(10))[0]}")

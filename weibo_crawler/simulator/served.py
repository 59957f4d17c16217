"""What was served, and to whom, in a file that a test can read."""

import os
from pathlib import Path

import msgspec

from weibo_crawler.errors import BadConfig
from weibo_crawler.outputs import keep_databases


class Line(msgspec.Struct, frozen=True):
    """One answer.

    time: seconds since the epoch. request: path and query. served: `ok` is content, `end` the
    no-content body, else a refusal or a fault by name. uid: whose page, 0 where of nobody. egress:
    the address it came from. session: its cookie SUB. proxy: the health of the proxy at that
    address, "" where there is none. by: "site"; or "proxy" for what a proxy did by itself, which
    are the deeds of proxies.Deed and, without a request, that it goes `up` or `down`. The site's
    own line of an `other_user` page names that other user. is_fault: whether a drawn fault spoilt
    it, which nobody who asks can help.
    """

    time: float
    request: str
    served: str
    uid: int
    egress: str
    session: str = ""
    proxy: str = ""
    by: str = "site"
    is_fault: bool = False


def read_served(file: Path) -> list[Line]:
    """What was served so far. A last line that is still being written is left out, so the file can
    be read while the simulator runs."""
    whole = file.read_bytes().split(b"\n")[:-1]
    decoder = msgspec.json.Decoder(Line)
    return [decoder.decode(line) for line in whole]


class ServedLog:
    """One JSON line for each answer, on disk before it is sent."""

    def __init__(self, file: Path) -> None:
        keep_databases(file)
        try:
            self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        except OSError as error:
            raise BadConfig(f"--served-out: cannot write {file}: {error.strerror}") from None

    def add(self, line: Line) -> None:
        os.write(self._file, msgspec.json.encode(line) + b"\n")

    def __enter__(self) -> "ServedLog":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

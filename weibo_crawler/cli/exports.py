"""Which files were written for analysts, so that `forget` can name them."""

import socket
import sys
from pathlib import Path

from weibo_crawler.analysis.files import parts_of
from weibo_crawler.errors import ReadOnly
from weibo_crawler.store.notes import EXPORTS, Notes

_KEPT = 100


def remember_export(users: Notes, file: Path | str) -> None:
    """Note that this file, or folder of HDFS, may hold people; where the store may only be read,
    say that it cannot."""
    place = file if isinstance(file, str) else f"{socket.gethostname()}:{file.resolve()}"
    others = [one for one in _noted(users) if one != place]
    try:
        EXPORTS.put(users, [*others, place][-_KEPT:])
    except ReadOnly:
        print(f"the store may only be read: `forget` will not name {file}", file=sys.stderr)


def known_exports(users: Notes) -> list[str]:
    """host:path of the files written, or hdfs://…, the newest last, those that are gone here left
    out; and the parts of them that are being written, or that killed writers left."""
    here = f"{socket.gethostname()}:"
    known = []
    for one in _noted(users):
        if one.startswith(here):
            file = Path(one.removeprefix(here))
            known += [f"{here}{each}" for each in (file, *parts_of(file)) if each.exists()]
        else:
            known.append(one)
    return known


def _noted(users: Notes) -> list[str]:
    return EXPORTS.get(users) or []

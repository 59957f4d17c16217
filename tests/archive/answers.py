"""Answers as a fetcher tells of them, and what an archive holds."""

import gzip
from pathlib import Path
from typing import Any

import msgspec
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from weibo_crawler.archive.writer import Archive
from weibo_crawler.records import Answer, Kind, Page, Reading, Request, Verdict

BASE = "http://site.test/api/container/getIndex"
INFO = [
    ("isPartOf", "run"),
    ("crawler-stage", "posts"),
    ("crawler-process", "one"),
    ("crawler-options", '{"every":false}'),
]


def answer(
    uid: int = 7,
    body: object = None,
    *,
    cursor: str = "",
    at: float = 1_700_000_000.1234567,
    packed: bool = True,
    told: Reading | None = Reading(Verdict.OK),  # noqa: B008 - frozen
    read: Reading = Reading(Verdict.OK),  # noqa: B008
    **page: Any,
) -> Answer:
    """A page of posts, as nginx would send it."""
    data = msgspec.json.encode({"ok": 1, "data": {"of": uid}} if body is None else body)
    wire = ("gzip", gzip.compress(data)) if packed else ("", b"")
    url = f"{BASE}?value={uid}&since_id={cursor}"
    headers = page.pop("headers", (("content-type", "application/json"),))
    asked = Request(Kind.POSTS, url, uid=uid, cursor=cursor, headers=(("Accept", "*/*"),))
    return Answer(
        asked,
        Page(url, 200, headers, data, at, page.pop("egress", "direct"), *wire),
        read,
        told,
        True,
    )


def archive(folder: Path, **named: Any) -> Archive:
    return Archive(folder, "posts-run-one", INFO, **({"max_bytes": 10**6} | named))


def whole(path: Path) -> bool:
    """Whether warcio's checker finds every digest right."""

    class Command:
        inputs = (str(path),)
        verbose = False

    return Checker(Command).process_all() == 0


def records(path: Path) -> list[tuple[str, dict[str, str], bytes]]:
    """Type, named fields and payload of each record, as warcio reads them."""
    with path.open("rb") as file:
        return [
            (one.rec_type, dict(one.rec_headers.headers), one.content_stream().read())
            for one in ArchiveIterator(file)
        ]

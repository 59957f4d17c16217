"""What `doctor --site --record` wrote, read back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from weibo_crawler.records import Page, Request
from weibo_crawler.survey.recording import INDEX, Recorded


class Case(NamedTuple):
    """A fixture."""

    name: str
    request: Request
    page: Page
    reads_as: Any


def cases(folder: Path) -> Iterator[Case]:
    """The answers of a folder."""
    for one in msgspec.json.decode((folder / INDEX).read_bytes(), type=list[Recorded]):
        request = Request(one.kind, one.url, uid=one.uid, mid=one.mid, cursor=one.cursor)
        body = (folder / one.file).read_bytes()
        page = Page(one.url, one.status, tuple(one.headers), body, one.fetched_at)
        yield Case(one.file, request, page, one.reads_as)

"""Answers of the site as fixtures. Whoever meets a new shape sends the folder; it becomes a test by
being put into tests/sites/weibo/recordings.

answers.json: for each answer what was asked for (kind, uid, mid, cursor, url), its status, headers,
time and file, and as what it was read; the files hold the bodies.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from weibo_crawler.errors import StoreError
from weibo_crawler.records import Id, Kind, Page, Reading, Request, Verdict
from weibo_crawler.sites import Site

INDEX = "answers.json"
_ENDINGS = {b"{": ".json", b"<": ".html"}


class Recorded(msgspec.Struct, frozen=True):
    """One answer. fetched_at: seconds since the epoch. reads_as: `outline` of its reading."""

    kind: Kind
    uid: Id
    mid: Id
    cursor: str
    url: str
    status: int
    headers: list[tuple[str, str]]
    fetched_at: float
    file: str
    reads_as: Any


def record(site: Site, answers: Sequence[tuple[Request, Page]], folder: Path) -> list[str]:
    """Write these answers, about strangers, into a new folder; the files that the readers of today
    read otherwise than the answers themselves. Errors: StoreError."""
    strangers = site.strangers(secrets.token_bytes(32))
    recorded, differing = [], []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for n, (request, page) in enumerate(answers, 1):
            asked, answer = strangers(request, page)
            file = f"{n:02}-{request.kind}{_ENDINGS.get(answer.body.lstrip()[:1], '.txt')}"
            (folder / file).write_bytes(answer.body)
            reads_as = outline(read(site, asked, answer))
            if reads_as != outline(read(site, request, page)):
                differing.append(file)
            recorded.append(
                Recorded(
                    *(asked.kind, asked.uid, asked.mid, asked.cursor, asked.url),
                    status=answer.status,
                    headers=list(answer.headers),
                    fetched_at=answer.fetched_at,
                    file=file,
                    reads_as=reads_as,
                )
            )
        index = msgspec.json.format(msgspec.json.encode(recorded), indent=1)
        (folder / INDEX).write_bytes(index + b"\n")
    except OSError as error:
        raise StoreError(f"{folder}: cannot write the answers: {error.strerror}") from None
    return differing


def read(site: Site, request: Request, page: Page) -> Reading:
    """As a crawl reads it; a session by whether it gives one."""
    if request.kind is Kind.SESSION and site.read_session(page, request) is not None:
        return Reading(Verdict.OK, why="a session")
    return site.read(request, page)


def outline(reading: Reading) -> Any:
    """What was read, in which no value of anybody stands: of texts their lengths, of numbers how
    many digits. What is empty or not known is left out, so a new field changes no older outline."""
    is_path = reading.verdict is Verdict.DRIFTED
    return {
        "verdict": reading.verdict.value,
        "why": reading.why if is_path else "",
        "ambiguous": reading.ambiguous,
        "record": type(reading.record).__name__ if reading.record is not None else "",
        "of": _outline(reading.record),
    }


def _outline(value: object) -> Any:
    match value:
        case bool() | None:
            return value
        case str():
            return f"{len(value)} characters"
        case int():
            return f"{len(str(abs(value)))} digits"
        case float():
            return "a fraction"
        case msgspec.Struct():
            fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
            return {name: _outline(field) for name, field in fields if field}
        case Mapping():
            return sorted([_outline(name), _outline(part)] for name, part in value.items())
        case bytes():
            return f"{len(value)} bytes"
        case Iterable():
            return [_outline(part) for part in value]
    return str(value)

"""An exchange with the site as WARC 1.1 records, and back.

What WARC has no field for stands in fields of our own, which WARC 1.1 (section 5.1) lets readers
ignore: a metadata record beside each answer would make three records of two. `Crawler-Verdict` and
`Crawler-Egress` are for people, `Crawler-Exchange` (JSON) is what `reparse` needs.

warcio reads the records, and its checker tries them in the tests. Its writer copies each payload
into a temporary file and compresses at level 9: 1.1 ms for a page of posts where an archive may
cost 0.1. Its headers alone took half of what all of this takes. So the bytes of a record are put
together here.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO
from typing import Any, NamedTuple

import msgspec
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecordLoader
from warcio.statusandheaders import StatusAndHeadersParserException

from weibo_crawler.fetch.clients.body import Body
from weibo_crawler.records import Answer, Id, Kind, Page, Reading, Request, Verdict

# Those of a session are not in a request's own headers; these would be secrets wherever they stood.
_SECRETS = frozenset({"cookie", "authorization", "proxy-authorization", "x-xsrf-token"})
_ACCOUNT = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*@")
_NOT_OF_PAGE = frozenset({"content-encoding", "content-length"})
_NOT_KEPT = _NOT_OF_PAGE | {"set-cookie"}
_STANDARD = "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_ANY_SIZE = 2**40  # of a body that was held in memory
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]
_ENCODER = msgspec.json.Encoder()

Compress = Callable[[bytes, bool], bytes]
Fields = list[tuple[str, str]]


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the caller of the fetcher was told."""

    verdict: Verdict
    why: str = ""
    ambiguous: bool = False


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands in the field `Crawler-Exchange`. at: when the answer was whole, seconds since the
    epoch; read: the verdict, None where no answer came; told: None where it was asked again.
    is_talking, is_witness: as in `Answer`."""

    kind: Kind
    at: float
    uid: Id = 0
    mid: Id = 0
    cursor: str = ""
    read: Verdict | None = None
    told: Told | None = None
    is_talking: bool = False
    is_witness: bool = False


class Kept(NamedTuple):
    """A record of an answer as it is read back. order: later answers of a process have a larger
    one; that is their time, but where two came together."""

    url: str
    egress: str
    exchange: Exchange
    record: Any
    order: float = 0.0

    def page(self) -> Page | None:
        """The answer; None where none came."""
        if self.record.http_headers is None:
            return None
        http = self.record.http_headers
        encoding = http.get_header("content-encoding") or ""
        encoded = self.record.raw_stream.read()
        headers = tuple((k.lower(), v) for k, v in http.headers if k.lower() not in _NOT_OF_PAGE)
        return Page(
            *(self.url, int(http.get_statuscode()), headers, _decoded(encoding, encoded)),
            *(self.exchange.at, self.egress),
            *((encoding, encoded) if encoding else ()),
        )


def warcinfo(name: str, fields: Fields, compress: Compress) -> bytes:
    """The first record of a file. fields: beside those that say what the file is."""
    about = [
        ("software", "weibo-crawler"),
        ("format", "WARC File Format 1.1"),
        ("conformsTo", _STANDARD),
    ]
    named = [("WARC-Filename", name), ("Content-Type", "application/warc-fields")]
    body = _lines([*about, *fields])
    return compress(_record("warcinfo", _date(time.time()), _record_id(), named, body), False)


def note(kind: str, at: float, uids: list[Id], compress: Compress) -> bytes:
    """A metadata record about the run itself: uids, as JSON."""
    named = [("Crawler-Note", kind), ("Content-Type", "application/json")]
    body = msgspec.json.encode(uids)
    return compress(_record("metadata", _date(at), _record_id(), named, body), False)


def exchange(answer: Answer, at: float, compress: Compress) -> bytes:
    """The records of one answer: the request, then the response; where no answer came, a metadata
    record that says why."""
    request, page, reading, told, is_talking, is_witness = answer
    about = Exchange(
        request.kind,
        at if page is None else page.fetched_at,
        *(request.uid, request.mid, request.cursor),
        None if reading is None else reading.verdict,
        None if told is None else Told(told.verdict, told.why, told.ambiguous),
        is_talking,
        is_witness,
    )
    url, date, own_id = _without_account(request.url), _date(about.at), _record_id()
    named = [("WARC-Target-URI", url), ("Crawler-Exchange", _ENCODER.encode(about).decode())]
    if page is None:
        why = (told.why if told else "").encode()
        named.append(("Content-Type", "text/plain; charset=utf-8"))
        return compress(_record("metadata", date, own_id, named, why), False)
    named.append(("Crawler-Egress", page.egress))
    if reading is not None:
        named.append(("Crawler-Verdict", reading.verdict))
    named.append(("Content-Type", "application/http; msgtype=response"))
    asked = [
        ("WARC-Target-URI", url),
        ("WARC-Concurrent-To", own_id),
        ("Content-Type", "application/http; msgtype=request"),
    ]
    payload = page.encoded if page.encoding else page.body
    named.append(("WARC-Payload-Digest", _digest(payload)))
    answered = _answer_head(page, len(payload)) + payload
    question = _request_head(request, url) + (request.body or b"")
    is_packed = bool(page.encoding)
    return compress(_record("request", date, _record_id(), asked, question), is_packed) + compress(
        _record("response", date, own_id, named, answered), is_packed
    )


def _request_head(request: Request, url: str) -> bytes:
    host, slash, path = url.partition("://")[2].partition("/")
    headers = [(name, text) for name, text in request.headers if name.lower() not in _SECRETS]
    first = f"{request.method} {slash or '/'}{path} HTTP/1.1\r\nHost: {host}\r\n"
    return first.encode() + _lines(headers) + b"\r\n"


def _answer_head(page: Page, length: int) -> bytes:
    headers = [(name, text) for name, text in page.headers if name not in _NOT_KEPT]
    if page.encoding:
        headers.append(("content-encoding", page.encoding))
    headers.append(("content-length", str(length)))
    first = f"HTTP/1.1 {page.status} {_PHRASES.get(page.status, '-')}\r\n"
    return first.encode() + _lines(headers) + b"\r\n"


def _record(kind: str, date: str, record_id: str, named: Fields, block: bytes) -> bytes:
    first = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Date: {date}\r\nWARC-Record-ID: {record_id}\r\n"
    last = f"WARC-Block-Digest: {_digest(block)}\r\nContent-Length: {len(block)}\r\n\r\n"
    return b"".join((first.encode(), _lines(named), last.encode(), block, b"\r\n\r\n"))


def _lines(fields: Fields) -> bytes:
    return "".join([f"{name}: {text}\r\n" for name, text in fields]).encode()


def _without_account(url: str) -> str:
    return _ACCOUNT.sub(r"\1", url) if "@" in url else url


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")[:26] + "Z"


def _digest(data: bytes) -> str:
    """SHA-1 in base 32, as WARC's tools write it; base64.b32encode takes five times as long."""
    number = int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest())
    return "sha1:" + "".join([_PAIRS[number >> shift & 1023] for shift in range(150, -1, -10)])


def _record_id() -> str:
    """A random uuid; uuid.uuid4 takes three times as long."""
    bits = os.urandom(16).hex()
    return f"<urn:uuid:{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-a{bits[17:20]}-{bits[20:]}>"


class NoRecord(ValueError):
    """These bytes are no record of WARC."""


def parse(data: bytes) -> Any:
    """A record of any kind, as warcio gives it. Errors: NoRecord."""
    try:
        return ArcWarcRecordLoader(verify_http=False).parse_record_stream(BytesIO(data))
    except (ArchiveLoadFailed, StatusAndHeadersParserException, EOFError, ValueError) as error:
        raise NoRecord(str(error).strip()) from None


def kept(record: Any) -> Kept | None:
    """What a record holds of an exchange; None for records of another kind."""
    text = record.rec_headers.get_header("Crawler-Exchange")
    if text is None or record.rec_type not in ("response", "metadata"):
        return None
    exchange = msgspec.json.decode(text, type=Exchange)
    egress = record.rec_headers.get_header("Crawler-Egress") or ""
    return Kept(record.rec_headers.get_header("WARC-Target-URI"), egress, exchange, record)


def info_of(record: Any) -> dict[str, str]:
    """The fields of a warcinfo record."""
    lines = record.raw_stream.read().decode("utf-8", "replace").splitlines()
    return {key: value for key, _, value in (line.partition(": ") for line in lines)}


def note_of(record: Any) -> tuple[float, list[Id]]:
    """When a note was written, and its uids."""
    at = datetime.fromisoformat(record.rec_headers.get_header("WARC-Date")).timestamp()
    return at, msgspec.json.decode(record.raw_stream.read(), type=list[Id])


def reading_of(exchange: Exchange, now: Reading) -> Reading:
    """What the caller is told, by what it was told then and what is read now. Where the reader has
    learned to read an answer otherwise, that counts."""
    told = exchange.told
    if told is None or now.verdict is not exchange.read:
        return now
    if (told.verdict, told.ambiguous) == (now.verdict, now.ambiguous):
        return now
    record = now.record if told.verdict is now.verdict else None
    return Reading(told.verdict, record, told.why, told.ambiguous)


def _decoded(encoding: str, encoded: bytes) -> bytes:
    """As the fetcher has decoded it."""
    body = Body(encoding, _ANY_SIZE)
    body.feed(encoded)
    return body.finish()

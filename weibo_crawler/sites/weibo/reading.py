"""One answer judged and parsed: any bytes give a Reading, never an exception.

An answer is decoded once, straight into the structs of its kind; where its shape is odd, once more
untyped, and fitted into them (`fitting`). Only where it does not say a plain `ok: 1`, or shows
nothing, its envelope is looked at, too, to tell a refusal from a changed shape and from an end.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from weibo_crawler.records import EMPTY, Kind, NamedUser, Page, PostPage, Reading, Request, Verdict
from weibo_crawler.sites.weibo import wire
from weibo_crawler.sites.weibo.doubled import is_doubled
from weibo_crawler.sites.weibo.drift import Drift, identity
from weibo_crawler.sites.weibo.fitting import fit, in_order
from weibo_crawler.sites.weibo.info import read_info
from weibo_crawler.sites.weibo.lists import read_user_list
from weibo_crawler.sites.weibo.longtext import read_detail, read_extend, read_show
from weibo_crawler.sites.weibo.loose import NotJson, repaired
from weibo_crawler.sites.weibo.people import read_echoes, read_profile
from weibo_crawler.sites.weibo.search import read_search
from weibo_crawler.sites.weibo.signs import is_complaint
from weibo_crawler.sites.weibo.timeline import read_timeline
from weibo_crawler.sites.weibo.verdicts import (
    of_envelope,
    of_html,
    of_refused,
    of_status,
    unknown,
)

_OF_A_PAGE = ("ok", "msg", "errno", "data")  # the keys of an answer that may show nothing
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_RAWS = msgspec.json.Decoder(list[msgspec.Raw])
_PLACE = re.compile(r"\.(\w+)|\[(\d+)\]")
_HOME_OF_NAME = re.compile(r"(?:https?://[^/?#]+)?/u/([0-9]+)(?:[/?#].*)?", re.ASCII)


class _Shape(NamedTuple):
    """How answers of a kind are decoded, and what makes a Reading of their `data`."""

    decoder: msgspec.json.Decoder[Any]
    parse: Callable[[Any, Request, float], Reading]


def _never_ok(data: object, request: Request, now: float) -> Reading:
    """For what is no JSON when all is well: a page of a post, a redirect, a session."""
    raise Drift("")


def _shape(data: type[msgspec.Struct], parse: Callable[[Any, Request, float], Reading]) -> _Shape:
    return _Shape(msgspec.json.Decoder(wire.answer_with(data)), parse)


_LIST = _shape(wire.UserList, read_user_list)
_ECHOES = _shape(wire.Echoes, read_echoes)
_NO_SHAPE = _Shape(msgspec.json.Decoder(wire.Answer), _never_ok)
SHAPES = {
    Kind.PROFILE: _shape(wire.Profile, read_profile),
    Kind.INFO: _shape(wire.Info, read_info),
    Kind.FANS: _LIST,
    Kind.FOLLOWS: _LIST,
    Kind.POSTS: _shape(wire.Timeline, read_timeline),
    Kind.EXTEND: _shape(wire.LongText, read_extend),
    Kind.SHOW: _shape(wire.Mblog, read_show),
    Kind.DETAIL: _NO_SHAPE,
    Kind.COMMENTS: _ECHOES,
    Kind.REPOSTS: _ECHOES,
    Kind.NAME: _NO_SHAPE,
    Kind.SEARCH: _shape(wire.Timeline, read_search),
    Kind.SESSION: _NO_SHAPE,
}


def read(request: Request, page: Page) -> Reading:
    """As `Site.read`."""
    reading = _of_name(request, page) or of_status(page)
    if reading is not None:
        return reading
    try:
        body = _of_body(request, page)
    except Drift as drift:
        body = Reading(Verdict.DRIFTED, drift.part, f"${drift.path}")
    except RecursionError:
        body = Reading(Verdict.DRIFTED, why="$: nested too deeply")
    return body if page.status < 300 else of_refused(request, page, body)


def _of_name(request: Request, page: Page) -> Reading | None:
    """A screen name is resolved by a redirect to /u/<uid> (weibo_api.md, "Endpoints")."""
    if request.kind is not Kind.NAME or not 300 <= page.status < 400:
        return None
    match = _HOME_OF_NAME.fullmatch(page.header("location") or "")
    if match is None:
        return None
    try:
        return Reading(Verdict.OK, NamedUser(identity(match[1], "")))
    except Drift:
        return None


def _of_body(request: Request, page: Page) -> Reading:
    """Errors: Drift, RecursionError."""
    start = page.body.lstrip()[:1]
    if not start:
        return Reading(Verdict.SERVER_TROUBLE, why="empty body")
    if is_doubled(page.body):
        return Reading(Verdict.NOT_JSON, why="another encoding: its words were encoded twice")
    try:
        if request.kind is Kind.DETAIL and start != b"{":
            return read_detail(page.body, request, page.fetched_at)
        return _of_json(request, page)
    except NotJson as error:
        if error.is_truncated:
            return Reading(Verdict.TRUNCATED)
        if error.why:
            return Reading(Verdict.NOT_JSON, why=error.why)
        return of_html(page.body, request)


def _of_json(request: Request, page: Page) -> Reading:
    """Errors: Drift, NotJson, RecursionError."""
    shape = SHAPES[request.kind]
    try:
        answer = shape.decoder.decode(page.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        answer = fit(_untyped(page.body), shape.decoder.type)
    is_plain = answer.ok == 1 and not (answer.msg or answer.errno or answer.url)
    if not is_plain:
        refused = of_envelope(_untyped(page.body), request)
        if refused is not None:
            return refused
    try:
        reading = shape.parse(answer.data, request, page.fetched_at)
    except Drift:
        if is_plain or not (answer.msg or answer.errno):
            raise
        return unknown(_untyped(page.body))
    if reading.verdict in EMPTY:
        said = _untyped(page.body)
        data = said["data"]
        words = {key: data[key] for key in data or () if data[key] and is_complaint(key)}
        is_known = is_plain and type(answer.ok) is int and said.keys() <= {*_OF_A_PAGE}
        return reading if is_known and not words else unknown(words or said)
    if isinstance(reading.record, PostPage) and reading.record.unreadable:
        return replace(reading, record=_with_json(reading.record, page.body))
    return reading


def _untyped(body: bytes) -> dict[str, Any]:
    """The answer as it is. Errors: Drift where it is no object; NotJson, RecursionError."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = msgspec.json.decode(repaired(body))
    if not isinstance(value, dict):
        raise Drift("")
    return value


def _with_json(page: PostPage, body: bytes) -> PostPage:
    """The page with the JSON of the cards that could not be read, as received."""
    try:
        _RAW.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        body = repaired(body)
    kept = [replace(one, raw=_card_at(body, one.path)) for one in page.unreadable]
    return replace(page, unreadable=tuple(kept))


def _card_at(body: bytes, path: str) -> bytes:
    """The JSON of the card that holds the post at `path`: `$.data.cards[3].mblog.text`."""
    node = body
    for name, index in _PLACE.findall(path.partition(".mblog")[0]):
        if not index:
            node = bytes(_RAW.decode(node)[name])
        elif node.lstrip().startswith(b"["):
            node = bytes(_RAWS.decode(node)[int(index)])
        else:
            node = bytes(in_order(_RAW.decode(node))[int(index)])
    return node

"""One answer judged and parsed: any bytes give a Reading, never an exception.

An answer is decoded once, straight into the structs of its kind. Only where that fails, or where
the answer does not say ok, its envelope is decoded too, to tell a refusal from a changed shape.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from weibo_crawler.records import Kind, NamedUser, Page, Reading, Request, Verdict
from weibo_crawler.sites.weibo import wire
from weibo_crawler.sites.weibo.drift import Drift, identity
from weibo_crawler.sites.weibo.lists import read_user_list
from weibo_crawler.sites.weibo.longtext import read_detail, read_extend, read_show
from weibo_crawler.sites.weibo.loose import NotJson, repaired
from weibo_crawler.sites.weibo.people import read_comments, read_profile
from weibo_crawler.sites.weibo.timeline import read_timeline
from weibo_crawler.sites.weibo.verdicts import of_envelope, of_html, of_refused, of_status

_PATH = re.compile(r"`(\$[^`]*)`\Z")
_HOME_OF_NAME = re.compile(r"(?:https?://[^/?#]+)?/u/([0-9]+)(?:[/?#].*)?", re.ASCII)


class _Shape(NamedTuple):
    """How answers of a kind are decoded, and what makes a Reading of their `data`."""

    decoder: msgspec.json.Decoder[Any]
    parse: Callable[[Any, Request, float], Reading]


def _never_ok(data: object, request: Request, now: float) -> Reading:
    """For what is no JSON when all is well: a page of a post, a redirect, a session."""
    raise Drift("")


_ENVELOPE = msgspec.json.Decoder(wire.Envelope)
_LIST = _Shape(msgspec.json.Decoder(wire.UserListAnswer), read_user_list)
_NO_SHAPE = _Shape(_ENVELOPE, _never_ok)
_SHAPES = {
    Kind.PROFILE: _Shape(msgspec.json.Decoder(wire.ProfileAnswer), read_profile),
    Kind.FANS: _LIST,
    Kind.FOLLOWS: _LIST,
    Kind.POSTS: _Shape(msgspec.json.Decoder(wire.TimelineAnswer), read_timeline),
    Kind.EXTEND: _Shape(msgspec.json.Decoder(wire.ExtendAnswer), read_extend),
    Kind.SHOW: _Shape(msgspec.json.Decoder(wire.ShowAnswer), read_show),
    Kind.DETAIL: _NO_SHAPE,
    Kind.COMMENTS: _Shape(msgspec.json.Decoder(wire.CommentsAnswer), read_comments),
    Kind.NAME: _NO_SHAPE,
    Kind.SESSION: _NO_SHAPE,
    Kind.PROXIES: _NO_SHAPE,
}


def read(request: Request, page: Page) -> Reading:
    """See Site.read. The record is set if and only if the verdict is OK."""
    reading = _of_name(request, page) or of_status(page)
    if reading is not None:
        return reading
    try:
        body = _of_body(request, page)
    except Drift as drift:
        body = Reading(Verdict.DRIFTED, why=f"${drift.path}")
    except msgspec.ValidationError as error:
        body = Reading(Verdict.DRIFTED, why=_path(error))
    except RecursionError:
        body = Reading(Verdict.DRIFTED, why="$: nested too deeply")
    return body if page.status < 300 else of_refused(page, body)


def _of_name(request: Request, page: Page) -> Reading | None:
    """A screen name is resolved by a redirect to /u/<uid> (WEIBO_API, "Endpoints")."""
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
    """Errors: Drift, msgspec.ValidationError, RecursionError."""
    start = page.body.lstrip()[:1]
    if not start:
        return Reading(Verdict.SERVER_TROUBLE, why="empty body")
    try:
        if request.kind is Kind.DETAIL and start != b"{":
            return read_detail(page.body, request)
        return _of_json(request, page)
    except NotJson as error:
        if error.is_truncated:
            return Reading(Verdict.TRUNCATED)
        return of_html(page.body, request)


def _of_json(request: Request, page: Page) -> Reading:
    shape = _SHAPES[request.kind]
    try:
        answer = _decode(shape.decoder, page.body)
    except msgspec.ValidationError:
        refused = of_envelope(_decode(_ENVELOPE, page.body), request)
        if refused is not None:
            return refused
        raise
    if answer.ok != 1:
        refused = of_envelope(_decode(_ENVELOPE, page.body), request)
        if refused is not None:
            return refused
    return shape.parse(answer.data, request, page.fetched_at)


def _decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Errors: NotJson, msgspec.ValidationError, RecursionError."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return decoder.decode(repaired(body))


def _path(error: msgspec.ValidationError) -> str:
    """The path at the end of the decoder's message; "$" where it names none."""
    match = _PATH.search(str(error))
    return match[1] if match else "$"

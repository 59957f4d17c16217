"""The whole text of a long post, three ways (weibo_api.md, "Endpoints": long text)."""

import re

import msgspec
from msgspec.structs import replace

from weibo_crawler.records import FullText, Post, Reading, Request, Verdict
from weibo_crawler.sites.weibo.drift import Drift
from weibo_crawler.sites.weibo.fitting import fit
from weibo_crawler.sites.weibo.ids import mid_of, uid_of
from weibo_crawler.sites.weibo.loose import decoded, first_value
from weibo_crawler.sites.weibo.post import author_of, is_gone, read_post
from weibo_crawler.sites.weibo.text import mentions, reader_text, topics
from weibo_crawler.sites.weibo.verdicts import of_html
from weibo_crawler.sites.weibo.wire import Card, LongText, Mblog, Rendered

CUT = "only the cut text is shown"
_RENDER_DATA = re.compile(r"\$render_data\s*=\s*(?=\[)")


def read_extend(answer: LongText | None, request: Request, now: float) -> Reading:
    """OK with a FullText; RESTRICTED where it is itself cut. Errors: Drift, also for no text."""
    if answer is None:
        raise Drift(".data")
    if answer.ok in (0, "0", False):  # beside what guests may read
        return Reading(Verdict.RESTRICTED, why=CUT, is_cut=True)
    return _whole(answer.longTextContent, ".data.longTextContent", request, is_named=False)


def read_show(status: Mblog | None, request: Request, now: float) -> Reading:
    """OK with a FullText; RESTRICTED where it is itself cut; GONE where the post is deleted or
    hidden. Errors: Drift."""
    if status is None:
        raise Drift(".data")
    return _of_status(status, ".data", request, now)


def read_detail(body: bytes, request: Request, now: float) -> Reading:
    """The `$render_data = [{"status": …}]` in the HTML of /detail/<mid>.

    Errors: Drift; NotJson where the data breaks off.
    """
    text = decoded(body)
    match = _RENDER_DATA.search(text)
    if match is None:
        return of_html(body, request)
    values = msgspec.json.decode(first_value(text, match.end()))
    first = values[0] if values else {}
    rendered = fit(first, Rendered) if isinstance(first, dict) else Rendered()
    if rendered.status is None:
        raise Drift("[0].status")
    return _of_status(rendered.status, "[0].status", request, now)


def _of_status(status: Mblog, path: str, request: Request, now: float) -> Reading:
    try:
        mid = mid_of(status)
    except Drift as drift:
        raise drift.under(path) from None
    if mid != request.mid:
        raise Drift(f"{path}.mid")
    if is_gone(status):
        return Reading(Verdict.GONE, why="the post is deleted or hidden")
    whole = status.longText.longTextContent if status.longText is not None else None
    place = "longText.longTextContent" if whole else "text"
    reading = _whole(whole or status.text, f"{path}.{place}", request)
    if not isinstance(reading.record, FullText):
        return reading
    return replace(reading, record=replace(reading.record, post=_post(status, reading.record, now)))


def _post(status: Mblog, full: FullText, now: float) -> Post | None:
    """The post with its whole text; None where a part of it that is needed is not legible."""
    try:
        uid = uid_of(author_of(status), ".user.id")
        post = read_post(status, Card(), uid, now)
    except Drift:
        return None
    return replace(
        post, text=full.text, text_complete=True, topics=full.topics, mentions=full.mentions
    )


def _whole(html: object, path: str, request: Request, *, is_named: bool = True) -> Reading:
    if not isinstance(html, str):
        raise Drift(path)
    text, is_cut = reader_text(html)
    if not text:
        raise Drift(path)
    if is_cut:  # as lists show it: another way may have the whole
        return Reading(Verdict.RESTRICTED, why=CUT, is_cut=True)
    full = FullText(request.mid, text, topics(html), mentions(html), is_named)
    return Reading(Verdict.OK, full)

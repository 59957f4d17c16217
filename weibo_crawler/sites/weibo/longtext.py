"""The whole text of a long post, three ways (WEIBO_API, "Endpoints": long text)."""

import re

import msgspec

from weibo_crawler.records import FullText, Reading, Request, Verdict
from weibo_crawler.sites.weibo.drift import Drift, identity
from weibo_crawler.sites.weibo.loose import first_value
from weibo_crawler.sites.weibo.post import is_gone
from weibo_crawler.sites.weibo.text import reader_text
from weibo_crawler.sites.weibo.verdicts import of_html
from weibo_crawler.sites.weibo.wire import LongText, Mblog, Rendered

_RENDER_DATA = re.compile(r"\$render_data\s*=\s*(?=\[)")
_RENDERED = msgspec.json.Decoder(list[Rendered])


def read_extend(answer: LongText | None, request: Request, now: float) -> Reading:
    """OK with a FullText. Errors: Drift, also for an empty text and one that is itself cut."""
    if answer is None:
        raise Drift(".data")
    return _whole(answer.longTextContent, ".data.longTextContent", request)


def read_show(status: Mblog | None, request: Request, now: float) -> Reading:
    """OK with a FullText; GONE where the post is deleted or hidden. Errors: Drift."""
    if status is None:
        raise Drift(".data")
    return _of_status(status, ".data", request)


def read_detail(body: bytes, request: Request) -> Reading:
    """The `$render_data = [{"status": …}]` in the HTML of /detail/<mid>.

    Errors: Drift; msgspec.ValidationError; NotJson where the data breaks off.
    """
    text = body.decode("utf-8", "replace")
    match = _RENDER_DATA.search(text)
    if match is None:
        return of_html(body, request)
    values = _RENDERED.decode(first_value(text, match.end()))
    if not values or values[0].status is None:
        raise Drift("[0].status")
    return _of_status(values[0].status, "[0].status", request)


def _of_status(status: Mblog, path: str, request: Request) -> Reading:
    if identity(status.mid or status.id, f"{path}.mid") != request.mid:
        raise Drift(f"{path}.mid")
    if is_gone(status):
        return Reading(Verdict.GONE, why="the post is deleted or hidden")
    if status.longText is not None and status.longText.longTextContent:
        return _whole(status.longText.longTextContent, f"{path}.longText.longTextContent", request)
    return _whole(status.text, f"{path}.text", request)


def _whole(html: str | None, path: str, request: Request) -> Reading:
    text, is_cut = reader_text(html or "")
    if not text or is_cut:
        raise Drift(path)
    return Reading(Verdict.OK, FullText(request.mid, text))

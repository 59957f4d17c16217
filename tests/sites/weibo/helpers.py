"""What the tests of this folder share: a site, requests, pages and the fixtures."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from weibo_crawler.records import Edge, Kind, Page, Reading, Record, Request, Verdict
from weibo_crawler.sites.weibo import Weibo

FIXTURES = Path(__file__).parent / "fixtures"
SITE = Weibo("https://m.weibo.cn/", "https://visitor.example/genvisitor2", "agent")
OWNER = 1900000017
LONG_MID = 4803408242409549
# what the notice in the place of a hidden post lacks, as its user does
BARE = dict.fromkeys(("reposts_count", "comments_count", "attitudes_count", "isLongText"))

REQUESTS: dict[str, Request] = {
    "posts_page_mode.json": SITE.posts(OWNER, ""),
    "posts_since_id.json": SITE.posts(OWNER, ""),
    "fans_first_page.json": SITE.edge(Edge.FANS, OWNER, ""),
    "follows_page.json": SITE.edge(Edge.FOLLOWS, OWNER, "2"),
    "profile.json": SITE.profile(OWNER),
    "info.json": SITE.info(OWNER),
    "comments.json": SITE.echoes(Kind.COMMENTS, LONG_MID),
    "reposts.json": SITE.echoes(Kind.REPOSTS, LONG_MID),
    "search.json": SITE.search("#河边的信#", ""),
    "extend.json": SITE.full_text(OWNER, LONG_MID)[0],
    "show.json": SITE.full_text(OWNER, LONG_MID)[1],
}
DETAIL = SITE.full_text(OWNER, LONG_MID)[2]


def at(text: str) -> float:
    """Seconds since the epoch of a time on the site's clock: "2019-06-15T12:00:00"."""
    return datetime.fromisoformat(f"{text}+08:00").timestamp()


NOON = at("2019-06-15T12:00:00")


def page(
    body: bytes | str, status: int = 200, now: float = NOON, location: str | None = None
) -> Page:
    raw = body.encode() if isinstance(body, str) else body
    headers = () if location is None else (("location", location),)
    return Page("https://m.weibo.cn/", status, headers, raw, now)


def fixture(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def tree(name: str) -> Any:
    return json.loads(fixture(name))


def read(name: str, change: Any = None, request: Request | None = None) -> Reading:
    """The reading of a fixture, after `change` was applied to its JSON."""
    value = tree(name)
    if change is not None:
        change(value)
    return SITE.read(request or REQUESTS[name], page(json.dumps(value)))


def judge(body: bytes | str, request: Request | None = None, status: int = 200) -> Reading:
    """The reading of a body, by default as the first page of a timeline."""
    return SITE.read(request or SITE.posts(OWNER, ""), page(body, status))


def record(reading: Reading) -> Any:
    """The record of an OK reading."""
    assert reading.verdict is Verdict.OK, reading.why
    assert reading.record is not None
    return reading.record


def check_law(reading: Reading) -> None:
    """A record is set if and only if the verdict is OK, and all of a reading can be written."""
    assert isinstance(reading, Reading)
    assert (reading.record is not None) == (reading.verdict is Verdict.OK)
    assert reading.record is None or isinstance(reading.record, Record)
    msgspec.json.decode(msgspec.json.encode(reading))

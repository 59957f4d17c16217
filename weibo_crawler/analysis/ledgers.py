"""The ledgers as people and spreadsheets read them: the sums in lines, each user as a row."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from weibo_crawler.analysis.completeness import (
    WHY,
    Completeness,
    gap_days,
    is_sure,
    read_ledgers,
    share_of,
)
from weibo_crawler.analysis.numbers import duration, grouped, minute, percent
from weibo_crawler.records import Id
from weibo_crawler.store import Tables
from weibo_crawler.store.rows.cells import Ledger, to_iso
from weibo_crawler.store.rows.fields import Field, Kind
from weibo_crawler.store.rows.gaps import Gap, WrittenGap, written
from weibo_crawler.store.rows.keys import ALL, Range


class GapRow(WrittenGap, frozen=True):
    """A gap as it is shown; after: None: from the beginning."""

    days: float | None = None


def _fields() -> Mapping[str, Field]:
    text, number, truth = Kind.TEXT, Kind.NUMBER, Kind.TRUTH
    return {
        "id": Field("user:id", number, "id of the user", in_key=True, is_id=True),
        "state": Field(
            "crawl:state", text, "`unvisited`, `partial`, `done`, `gone`, `failed`, `empty`"
        ),
        "announced": Field("crawl:announced", number, "how many posts the profile announces"),
        "seen": Field("crawl:seen", number, "posts on the pages of the last visit"),
        "stored": Field("crawl:stored", number, "how many posts are held"),
        "gone": Field("crawl:gone", number, "of these, how many have disappeared from the site"),
        "share": Field("", Kind.SHARE, "held of those announced; null: none are announced"),
        "is_sure": Field("", truth, "all that the site shows was read, or the user is surely gone"),
        "stopped": Field("crawl:stopped", text, "why paging stopped"),
        "since": Field("crawl:since", Kind.TIME, "older posts are left out on purpose"),
        "sure": Field("crawl:sure", truth, "false: the end contradicts the announced count"),
        "whole": Field("crawl:whole", truth, "no gap, a sure end, and every post could be read"),
        "gaps": Field("crawl:gaps", Kind.RECORDS, "what was on no page read", record=GapRow),
        "cut_texts": Field("crawl:cut", number, "long texts still cut"),
        "pages": Field("crawl:pages", number, "pages read at the last visit"),
        "refused_pages": Field("crawl:refused_pages", number, "pages refused at the last visit"),
        "restricted_texts": Field("crawl:restricted", number, "long texts for others only"),
        "unreadable": Field("crawl:unreadable", number, "posts shown that could not be read"),
        "unreadable_mids": Field("crawl:unreadable", Kind.TEXTS, "their mids, where legible"),
        "skipped": Field("crawl:skipped", number, "cards on these pages that were no posts"),
        "visited_at": Field("crawl:visited_at", Kind.TIME, "when the last whole visit ended"),
        "next_visit": Field("crawl:next_visit", Kind.TIME, "when the next one is due"),
        "posts_per_day": Field("crawl:posts_per_day", Kind.SHARE, "the posting rate"),
        "last_error": Field("crawl:last_error", text, "what went wrong at the last visit"),
    }


LEDGERS = _fields()
COLUMNS = tuple(LEDGERS)
TABLE = ("id", "state", "announced", "stored", "gone", "stopped", "is_sure", "next_visit")


def ledger_rows(tables: Tables, part: Range = ALL) -> Iterator[dict[str, Any]]:
    """COLUMNS of every imported user, by row key; who was never visited is "unvisited"."""
    for uid, ledger in read_ledgers(tables, part):
        yield {"id": uid, "state": "unvisited"} if ledger is None else _row(uid, ledger)


def completeness_lines(figures: Completeness) -> list[str]:
    """The figures for people, a line each."""
    if not figures.users:
        return ["no user is in the tables yet: run weibo-crawler import"]
    rows = [*_users(figures), *_posts(figures), *_gaps(figures), *_visits(figures)]
    rows += [(f"stopped: {WHY.get(why, why)}", grouped(n)) for why, n in figures.stopped.items()]
    left = max(len(name) for name, _ in rows)
    right = max(len(value) for _, value in rows)
    return [f"{name:<{left}}  {value:>{right}}" for name, value in rows]


def _users(figures: Completeness) -> list[tuple[str, str]]:
    return [
        ("users in the tables", grouped(figures.users)),
        ("  never visited", grouped(figures.unvisited)),
        ("  visited to the end", grouped(figures.done - figures.limited)),
        ("  as far as site or limit let", grouped(figures.limited)),
        ("  visited in part", grouped(figures.partial)),
        ("  gone from the site", grouped(figures.gone)),
        ("  failed, to be tried again", grouped(figures.failed)),
        ("  nothing shown, to be looked at again", grouped(figures.empty)),
    ]


def _posts(figures: Completeness) -> list[tuple[str, str]]:
    return [
        ("posts announced by profiles", grouped(figures.announced)),
        ("posts stored", grouped(figures.stored)),
        ("  of them gone from the site", grouped(figures.gone_posts)),
        ("share held, of those announced", percent(figures.share)),
        ("share held, at most", percent(figures.share_most)),
        ("  users not counted, posts unknown", grouped(figures.uncounted)),
        ("posts expected since the visits", grouped(round(figures.posts_since))),
        ("users of whom all is surely known", percent(figures.sure_share)),
        ("users whose end is unsure", grouped(figures.unsure_users)),
        ("long texts completed", grouped(figures.long_completed)),
        ("long texts still cut", grouped(figures.cut_texts)),
        ("long texts shown to others only", grouped(figures.restricted_texts)),
        ("posts that could not be read", grouped(figures.unreadable)),
        ("  users with such posts", grouped(figures.unreadable_users)),
        ("pages refused", grouped(figures.refused_pages)),
    ]


def _gaps(figures: Completeness) -> list[tuple[str, str]]:
    return [
        ("gaps between visits", grouped(figures.gaps)),
        ("  users with such a gap", grouped(figures.gap_users)),
        ("  days in all", grouped(figures.gap_days)),
        ("  days of the longest", grouped(figures.longest_gap_days)),
        ("  posts in them, about", grouped(figures.gap_posts)),
        ("users whose oldest posts are unread", grouped(figures.oldest_unread)),
        ("back without a gap, half at least", back(figures, figures.half_back_days)),
        ("back without a gap, nine tenths at least", back(figures, figures.tenths_back_days)),
    ]


def _visits(figures: Completeness) -> list[tuple[str, str]]:
    return [
        ("oldest visit", minute(figures.oldest_visit)),
        ("newest visit", minute(figures.newest_visit)),
        ("age of visits, half up to", _age(figures.median_age_s)),
        ("age of visits, nine tenths up to", _age(figures.tenth_oldest_age_s)),
        ("users due for a visit", grouped(figures.due)),
        ("  share of those with a date", percent(figures.due_share)),
        ("visits a day to follow them all", grouped(figures.visits_a_day)),
    ]


def back(figures: Completeness, days: float | None) -> str:
    """How far back timelines were read, for people. days: as in `Completeness`."""
    if days is not None:
        return duration(days * 86_400)
    return "all that is shown" if figures.visited > figures.gone else "unknown"


def _age(age_s: float | None) -> str:
    return "unknown" if age_s is None else duration(age_s)


def _row(uid: Id, ledger: Ledger) -> dict[str, Any]:
    """A column holds the field of its name, but for these; "" is nothing."""
    share = share_of(ledger)
    times = {name: getattr(ledger, name) for name in ("since", "visited_at", "next_visit")}
    return {
        **{name: getattr(ledger, name, None) for name in COLUMNS},
        **{name: None if at is None else to_iso(at) for name, at in times.items()},
        "id": uid,
        "gone": len(ledger.gone),
        "share": None if share is None else round(share, 4),
        "is_sure": is_sure(ledger),
        "stopped": ledger.stopped or None,
        "gaps": [_gap(gap) for gap in ledger.gaps],
        "cut_texts": len(ledger.cut),
        "restricted_texts": len(ledger.restricted),
        "unreadable": ledger.unread,
        "unreadable_mids": [str(mid) for mid in ledger.unreadable],
        "last_error": ledger.last_error or None,
    }


def _gap(gap: Gap) -> dict[str, Any]:
    span = gap_days(gap)
    days = None if span is None else round(span, 3)
    return msgspec.structs.asdict(written(gap)) | {"days": days}

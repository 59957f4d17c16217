import math
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.worlds import T0, open_tables, put_ledger, put_users, user
from tests.examples import examples
from weibo_crawler.analysis.completeness import (
    Completeness,
    Tally,
    completeness,
    is_sure,
    read_ledgers,
    summarise,
)
from weibo_crawler.analysis.freshness import Ages
from weibo_crawler.analysis.ledgers import COLUMNS, completeness_lines, ledger_rows
from weibo_crawler.store.rows.cells import Ledger, to_iso
from weibo_crawler.store.rows.gaps import Gap
from weibo_crawler.store.sqlite.tables import SqliteTables

COUNTS = st.integers(0, 50)
MIDS = st.integers(1, 99)
DAYS = st.integers(10, 28).map(lambda day: f"2026-01-{day}T00:00:00+08:00")
GAPS = st.builds(
    Gap, before=MIDS, after=st.none() | MIDS, before_at=st.none() | DAYS, after_at=st.none() | DAYS
)
LEDGERS = st.builds(
    Ledger,
    state=st.sampled_from(["partial", "done", "gone", "failed", "empty"]),
    announced=st.none() | COUNTS,
    stored=COUNTS,
    cut=st.lists(COUNTS, max_size=3).map(tuple),
    stopped=st.sampled_from(["", "end", "login_wall"]),
    sure=st.booleans(),
    refused_pages=COUNTS,
    completed=COUNTS,
    visited_at=st.none() | st.floats(0, 2e9),
    whole=st.booleans(),
    gaps=st.lists(GAPS, max_size=3).map(tuple),
    next_visit=st.none() | st.floats(0, 2e9),
)


@settings(deadline=None)
@given(st.lists(st.none() | LEDGERS))
def test_users_add_up(ledgers: list[Ledger | None]) -> None:
    """Every user is either unvisited or in exactly one state."""
    found = summarise(ledgers, T0)
    assert found.users == len(ledgers) == found.visited + found.unvisited
    assert found.visited == sum((found.done, found.partial, found.gone, found.failed, found.empty))


@examples(40)
@given(st.lists(st.lists(st.none() | LEDGERS)))
def test_parts_add_up(parts: list[list[Ledger | None]]) -> None:
    """Ledgers counted by several, and merged, give what one who counts them all gives."""
    whole = Tally(T0)
    for part in parts:
        tally = Tally(T0)
        for ledger in part:
            tally.add(ledger)
        whole.merge(tally)
    merged, expected = (
        msgspec.to_builtins(one) for one in (whole.result(), summarise(chain(*parts), T0))
    )
    assert list(merged.pop("stopped").items()) == list(expected.pop("stopped").items())
    assert merged == pytest.approx(expected)


@settings(deadline=None)
@given(st.lists(st.none() | LEDGERS))
def test_share_is_of_what_was_announced(ledgers: list[Ledger | None]) -> None:
    """The share is between 0 and 1, None only where nothing was announced, and 1 only where each
    user holds what it announced: one's surplus never hides another's gap. Whom it cannot count is
    said."""
    found = summarise(ledgers, T0)
    announcing = [one for one in ledgers if one is not None and one.announced]
    assert (found.share is None) == (not announcing)
    if found.share is not None:
        assert 0 <= found.share <= 1
        whole = all(one.stored >= (one.announced or 0) for one in announcing)
        assert (found.share == 1) == whole
    known = [one for one in ledgers if one and (one.announced is not None or one.state == "gone")]
    assert found.uncounted == len(ledgers) - len(known)


@settings(deadline=None)
@given(st.lists(st.none() | LEDGERS))
def test_the_bounds_enclose(ledgers: list[Ledger | None]) -> None:
    """The most is not below the least, and not all where a page is known to be unread."""
    found = summarise(ledgers, T0)
    if found.share_most is not None:
        assert found.share is not None
        assert 0 <= found.share <= found.share_most <= 1
        walled = [
            one
            for one in ledgers
            if one is not None and one.stopped == "login_wall" and not one.whole
        ]
        if any(one.stored < (one.announced or 0) for one in walled):
            assert found.share_most < 1


@settings(deadline=None)
@given(st.lists(LEDGERS))
def test_gaps_and_dates_add_up(ledgers: list[Ledger]) -> None:
    """Gaps between visits and unread beginnings are told apart and counted; due is who is due; sure
    is never who has a gap that the visit left or failed."""
    found = summarise(ledgers, T0)
    between = [gap for one in ledgers for gap in one.gaps if gap.after is not None]
    assert found.gaps == len(between)
    assert found.gap_users <= min(found.gaps, len(ledgers))
    assert found.longest_gap_days <= found.gap_days <= found.gaps * 18
    assert (
        0 <= found.gap_posts <= 18 * sum(len(o.gaps) * (o.posts_per_day or 0) for o in ledgers) + 1
    )
    assert found.oldest_unread == sum(any(g.after is None for g in one.gaps) for one in ledgers)
    dates = [one.next_visit for one in ledgers if one.next_visit is not None]
    assert found.due == sum(at <= T0 for at in dates)
    sure = [one for one in ledgers if is_sure(one)]
    assert not [one for one in sure if not one.sure or one.state in ("partial", "failed")]
    assert found.sure_share == (len(sure) / len(ledgers) if ledgers else None)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e9), min_size=1), st.floats(0.01, 1))
def test_quantiles_are_told_to_five_percent(ages_s: list[float], share: float) -> None:
    """Of any ages: the smallest that such a share does not exceed, and up to 5 % (or to a minute)
    more."""
    ages = Ages()
    for age_s in ages_s:
        ages.add(age_s)
    true = next(a for n, a in enumerate(sorted(ages_s), 1) if n >= math.ceil(share * len(ages_s)))
    told = ages.quantile(share)
    assert told is not None
    assert true * 0.999 <= told <= max(60.0, true) * 1.051


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e9) | st.just(math.inf), min_size=1), st.floats(0.01, 1))
def test_what_a_share_reaches_is_told_to_five_percent(ages_s: list[float], share: float) -> None:
    """Of any ages: the largest that such a share reaches, and up to 5 % (or all of a minute)
    less; infinite only where the share's are."""
    ages = Ages()
    for age_s in ages_s:
        ages.add(age_s)
    falling = sorted(ages_s, reverse=True)
    true = falling[math.ceil(share * len(ages_s)) - 1]
    told = ages.reached(share)
    assert told is not None
    assert math.isinf(told) == math.isinf(true)
    if not math.isinf(true):
        assert (true / 1.051 if true > 60 else 0.0) <= told <= true * 1.001


def test_how_far_back_nothing_lacks() -> None:
    """Of half of the users who are not gone, and of nine tenths: from the last visit back to the
    newest gap, or to the first post; nothing is promised of whom a visit was cut short."""
    day = 86_400.0

    def seen(days: float, *before: float, **more: Any) -> Ledger:
        gaps = [
            Gap(before=round(1e12 - at), before_at=to_iso(T0 - days * day - at * day))
            for at in before
        ]
        return Ledger("done", visited_at=T0 - days * day, gaps=tuple(gaps), **more)

    whole = Ledger("done", visited_at=T0, stopped="end", whole=True)
    gone = Ledger("gone", visited_at=T0)
    cut = msgspec.structs.replace(seen(1, 50), state="partial")
    found = summarise([whole, gone, seen(3, 90, 10), seen(0, 40)], T0)
    assert found.half_back_days == pytest.approx(40, rel=0.06)
    assert found.tenths_back_days == pytest.approx(10, rel=0.06)
    assert summarise([whole, gone], T0).tenths_back_days is None
    assert summarise([whole, cut], T0).tenths_back_days == 0


def test_gone_posts_are_not_held() -> None:
    """What the site shows no more is stored, and fills nobody's share."""
    found = summarise([Ledger("done", announced=4, stored=5, gone=(1, 2, 3), stopped="end")], T0)
    assert (found.share, found.gone_posts, found.stored) == (0.5, 3, 5)


def test_what_to_expect_since_the_visits() -> None:
    """Posting rate times age, of users that are there; the age of half of the visits and of nine
    tenths."""
    day = 86_400.0
    ledgers = [
        Ledger("done", visited_at=T0 - 2 * day, posts_per_day=3.0),
        Ledger("done", visited_at=T0 - day, posts_per_day=None),
        Ledger("gone", visited_at=T0 - 9 * day, posts_per_day=50.0),
    ]
    found = summarise(ledgers, T0)
    assert found.posts_since == 6.0
    assert found.median_age_s == pytest.approx(2 * day, rel=0.06)
    assert found.tenth_oldest_age_s == pytest.approx(9 * day, rel=0.06)


@settings(deadline=None)
@given(st.lists(LEDGERS, min_size=1))
def test_sums_and_visits(ledgers: list[Ledger]) -> None:
    """Figures are sums over the ledgers; visits span from the oldest to the newest."""
    found = summarise(ledgers, T0)
    assert found.stored == sum(one.stored for one in ledgers)
    assert found.cut_texts == sum(len(one.cut) for one in ledgers)
    assert found.long_completed == sum(one.completed for one in ledgers)
    assert found.refused_pages == sum(one.refused_pages for one in ledgers)
    assert found.unsure_users == sum(not one.sure for one in ledgers)
    assert sum(found.stopped.values()) == sum(bool(one.stopped) for one in ledgers)
    visits = [one.visited_at for one in ledgers if one.visited_at is not None]
    assert (found.oldest_visit, found.newest_visit) == (
        (min(visits), max(visits)) if visits else (None, None)
    )


def test_nothing_gives_nothing() -> None:
    """Without users all is zero and the share unknown."""
    assert summarise([], T0) == Completeness()
    assert not any(msgspec.structs.asdict(Completeness()).values())
    assert "weibo-crawler import" in "\n".join(completeness_lines(Completeness()))


def test_ledgers_come_from_the_table(tables: SqliteTables) -> None:
    """Every imported user comes once, with its ledger or None; a ledger alone is no user."""
    put_users(tables, user(1, 5), user(2, 6))
    put_ledger(tables, 6, Ledger("done", announced=4, stored=3, stopped="login_wall"))
    put_ledger(tables, 99, Ledger("done", announced=400))
    found = dict(read_ledgers(tables))
    assert set(found) == {5, 6}
    assert found[5] is None
    summary = completeness(tables, T0)
    assert (summary.users, summary.visited, summary.share) == (2, 1, 0.75)
    lines = completeness_lines(summary)
    assert any("share held, of those announced" in line and line.endswith("75 %") for line in lines)
    assert any("guests may read no further" in line and line.endswith(" 1") for line in lines)
    assert len({len(line) for line in lines}) == 1


def test_each_user_has_a_row(tables: SqliteTables) -> None:
    """Every imported user, visited or not, with its gaps and dates; no other columns than named."""
    put_users(tables, user(1, 5), user(2, 6))
    gap = Gap(9, 4, "2026-01-03T12:00:00+08:00", "2026-01-01T00:00:00+08:00")
    ledger = Ledger("done", announced=4, stored=3, gaps=(gap,), next_visit=T0, cut=(1,), seen=2)
    put_ledger(tables, 6, ledger)
    rows = {row["id"]: row for row in ledger_rows(tables)}
    assert rows[5] == {"id": 5, "state": "unvisited"}
    assert set(rows[6]) == set(COLUMNS)
    assert rows[6]["gaps"] == [
        {"before": "9", "after": "4", "before_at": gap.before_at, "after_at": gap.after_at}
        | {"days": 2.5}
    ]
    assert rows[6]["next_visit"] == to_iso(T0)
    assert (rows[6]["share"], rows[6]["is_sure"], rows[6]["cut_texts"]) == (0.75, False, 1)


def test_posts_that_could_not_be_read_are_named(tmp_path: Path) -> None:
    """Law 12: in the sums and in the user's row; such a user is not complete. Posts without a
    legible mid are counted as often as the visit that met most of them did."""
    one = Ledger("done", announced=9, stored=6, unreadable=(8, 9), unnamed=1, stopped="end")
    two = Ledger("done", announced=3, stored=3, whole=True, restricted=(7,), skipped=4)
    three = Ledger("partial", announced=5, stored=1, unnamed=2, unnamed_now=3)
    found = summarise([one, two, three], T0)
    assert (found.unreadable, found.unreadable_users, found.restricted_texts) == (6, 2, 1)
    assert (found.limited, found.sure_share) == (1, 1 / 3)
    tables = open_tables(tmp_path)
    put_users(tables, user(1, 61), user(2, 62))
    put_ledger(tables, 61, one)
    put_ledger(tables, 62, two)
    rows = {row["id"]: row for row in ledger_rows(tables)}
    tables.close()
    assert (rows[61]["unreadable"], rows[61]["unreadable_mids"]) == (3, ["8", "9"])
    assert not rows[61]["is_sure"]
    assert (rows[62]["restricted_texts"], rows[62]["skipped"]) == (1, 4)
    assert any("could not be read" in line and "6" in line for line in completeness_lines(found))


@pytest.mark.parametrize(
    ("announced", "rate", "posts"),
    [(500, 2.0, 20.0), (105, 2.0, 5.0), (None, 2.0, 20.0), (500, None, 0)],
)
def test_gaps_are_told_in_posts(announced: int | None, rate: float | None, posts: float) -> None:
    """A gap of ten days holds what its user writes in ten days, and no more than is missing."""
    gap = Gap(9, 5, "2026-01-11T00:00:00+08:00", "2026-01-01T00:00:00+08:00")
    ledger = Ledger(
        state="done", announced=announced, stored=100, posts_per_day=rate, gaps=(gap, Gap(3))
    )
    assert summarise([ledger], T0).gap_posts == posts

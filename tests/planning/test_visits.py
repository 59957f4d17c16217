"""The plan of the posts job from known figures: pure."""

from typing import Any

import pytest

from weibo_crawler.analysis.asked import Asked
from weibo_crawler.planning.plan import Pace, pace_of
from weibo_crawler.planning.shown import as_dict, limit, lines
from weibo_crawler.planning.visits import Held, Visits, plan_visits, read_held
from weibo_crawler.records import OPTIONAL, EgressState, Health
from weibo_crawler.samples import Figures
from weibo_crawler.store.rows.cells import Ledger

PACE = Pace(egresses=2, usable=2, learned=0, rate=0.5, setting=0.25)
MEASURED = {
    "visits.first.begun": 12,
    "visits.first.ended": 8,
    "asked.first.posts.ok": 20,
    "asked.first.posts.end": 10,
    "asked.first.extend.ok": 4,
    "asked.first.show.restricted": 1,
}


def visits(counters: dict[str, int], **held: Any) -> Visits:
    return Visits(Held(**held), Asked(counters), 1, 1, {}, (), PACE)


def test_a_plan_with_nobody_left_is_zero() -> None:
    """Whatever was asked before."""
    plan = plan_visits(visits(MEASURED, visited=8, load=20))
    assert (plan.users, plan.parts, plan.requests, plan.hours) == (0, (), 0, 0)
    assert "nobody is left" in lines(plan)[0]


def test_a_plan_before_anything_is_not_known() -> None:
    """No figure stands for what nobody knows, neither hours nor disk."""
    plan = plan_visits(visits({}, first=5))
    assert plan.parts
    assert {part.requests for part in plan.parts} == {None}
    assert plan.requests is plan.hours is plan.rooms[0].bytes is None
    assert as_dict(plan)["requests"] is None
    assert sum("not known yet" in line for line in lines(plan)) >= len(plan.parts) + 3


def test_visits_cost_what_they_did() -> None:
    """By kind; four of twelve visits were cut, and count half, as do begun ones that are left."""
    plan = plan_visits(visits(MEASURED, first=24, begun=4, visited=8, load=20, load2=60))
    by_kind = {part.kind: part.requests for part in plan.parts}
    assert by_kind == {
        "first visits, posts pages": 44,
        "first visits, posts ends": 22,
        "first visits, long texts": 11,
    }
    assert plan.hours == 77 / 0.5 / 3600
    assert plan.spread is not None


def test_later_visits_cost_page_1_until_some_were_made() -> None:
    """It says that this is assumed; afterwards they cost what they did."""
    plan = plan_visits(visits(MEASURED, again=100, visited=100, load=200))
    assert [part.requests for part in plan.parts if "pages" in part.kind] == [100]
    assert "assumed" in plan.parts[0].why
    again = {"visits.again.begun": 10, "visits.again.ended": 10, "asked.again.posts.ok": 15}
    plan = plan_visits(visits(MEASURED | again, again=100, visited=100, load=200))
    assert [part.requests for part in plan.parts if "pages" in part.kind] == [150]


def test_following_takes_requests_a_day() -> None:
    """Each user by the time between its visits, at what a later visit costs, against the pace."""
    ledgers = [
        (Ledger("done", visited_at=0.0, next_visit=3600.0, pages=1), True),
        (Ledger("done", visited_at=0.0, next_visit=86_400.0, pages=1), False),
        (Ledger("gone", visited_at=0.0, pages=0), False),
        (None, True),
        (Ledger("partial", pages=2), True),
    ]
    held = read_held(ledgers, 7200.0)
    assert (held.first, held.begun, held.again, held.a_day) == (2, 1, 1, 25.0)
    known = visits(MEASURED, visited=3, a_day=25.0)
    assert plan_visits(known).figures["requests_a_day"] == 25.0
    again = {"visits.again.begun": 2, "visits.again.ended": 2, "asked.again.posts.ok": 3}
    measured = plan_visits(known._replace(asked=Asked(again)))
    assert measured.figures["requests_a_day"] == 37.5
    assert "38 requests a day (as measured); the pace allows 43,200, enough" in measured.later[0]
    assert "too few" in plan_visits(known._replace(pace=PACE._replace(rate=1e-4))).later[0]
    assert plan_visits(visits({})).figures["requests_a_day"] is None


@pytest.mark.parametrize(
    ("states", "usable", "learned", "rate"),
    [
        ([None, None], 2, 0, 0.5),
        ([EgressState(0.1, health=Health.GOOD), None], 2, 1, 0.35),
        ([EgressState(0.25, health=Health.DEAD), EgressState(9.0)], 1, 0, 0.25),
        ([EgressState(0.25, health=Health.DEAD)], 0, 0, 0.0),
    ],
)
def test_the_pace_is_that_of_the_usable(
    states: list[EgressState | None], usable: int, learned: int, rate: float
) -> None:
    """Dead ones send nothing; a learned rate counts where it is below the setting."""
    pace = pace_of(states, 0.25)
    assert (pace.usable, pace.learned, pace.rate) == (usable, learned, pytest.approx(rate))
    said = limit(pace)
    assert f"{usable} of {len(states)} usable" in said or "none of 1 is usable" in said
    assert (f", {learned} of them learned" in said) is bool(learned)


def test_a_wall_costs_each_visit_until_it_is_known() -> None:
    """Then it is asked for once an hour."""
    met = MEASURED | {"asked.first.posts.login_wall": 10}
    known = visits(met, first=100, visited=10, load=20)
    by_kind = {part.kind: part.requests for part in plan_visits(known).parts}
    assert by_kind["first visits, walls"] == 100
    by_kind = {
        part.kind: part.requests for part in plan_visits(known._replace(is_walled=True)).parts
    }
    assert by_kind["first visits, walls"] == 1


def test_behind_a_wall_only_those_without_a_kept_page_show_an_end() -> None:
    """Kept pages show posts."""
    known = visits(MEASURED, first=100, visited=10, load=20)._replace(kept={"first": 95})
    for is_walled, ends in ((False, 100), (True, 5)):
        plan = plan_visits(known._replace(is_walled=is_walled))
        assert {part.kind: part.requests for part in plan.parts}["first visits, posts ends"] == ends


def test_what_harvest_has_kept_is_not_asked_for() -> None:
    """Visits that were given pages needed as many; what is kept now is taken off."""
    known = visits(MEASURED | {"asked.first.posts.kept": 30}, first=100, visited=10, load=50)
    by_kind = {part.kind: part.requests for part in plan_visits(known).parts}
    assert by_kind["first visits, posts pages"] == 500
    kept = plan_visits(known._replace(kept={"first": 90, "again": 7}))
    assert {part.kind: part.requests for part in kept.parts}["first visits, posts pages"] == 410
    assert "90 are kept now" in kept.parts[0].why


def test_ends_behind_full_timelines_are_no_longer_met_once_these_are_left() -> None:
    """A look behind a full timeline is itself a page that was named and shows nothing, and is
    looked at again: all of that ends with the looks. Of 200 visits 190 were full, and what lay
    behind them took three requests each, of which none is to come but for the sample."""
    measured = {"visits.first.begun": 200, "visits.first.ended": 200, "asked.first.posts.ok": 200}
    looks = {
        "posts.full": Figures(ends=290, looks=190, finds=0, most=0.015),
        "posts.named": Figures(ends=200, looks=200, finds=0, most=0.014),
        "posts.named.3": Figures(ends=60, looks=60, finds=0, most=0.016),
    }
    known = visits(measured | {"asked.first.posts.end": 600}, first=200, visited=200)
    plan = plan_visits(known._replace(looks=looks))
    ends = {part.kind: part.requests for part in plan.parts}["first visits, posts ends"]
    own, sampled = 10 / 200 * 600, 200 / 20 * 3
    assert ends is not None
    assert own / 3 <= ends <= own + sampled + 20


def test_what_is_not_asked_for_any_more_costs_nothing() -> None:
    """Lists under posts and basic information go by their settings; the latter once for each
    user."""
    met = MEASURED | {"asked.first.comments.ok": 5, "asked.first.info.ok": 10}
    met |= {"asked.first.reposts.ok": 20}
    known = visits(met, first=100, visited=10, load=20)
    without = {part.kind for part in plan_visits(known).parts}
    assert not any(kind.endswith(("comments", "reposts", "information")) for kind in without)
    by_kind = {
        part.kind: part.requests for part in plan_visits(known._replace(optional=[*OPTIONAL])).parts
    }
    assert by_kind["first visits, comments"] == 50
    assert by_kind["first visits, reposts"] == 200
    assert by_kind["first visits, basic information"] == 100
    new = visits(MEASURED, first=100, visited=10, load=20)
    by_kind = {
        part.kind: part.requests for part in plan_visits(new._replace(optional=[*OPTIONAL])).parts
    }
    assert by_kind["first visits, comments"] is by_kind["first visits, reposts"] is None
    assert by_kind["first visits, basic information"] == 100

"""The plan of a harvest from known figures: pure."""

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.analysis.asked import Asked
from weibo_crawler.analysis.yields import prices
from weibo_crawler.planning.lengths import Lengths
from weibo_crawler.planning.plan import Pace
from weibo_crawler.planning.walk import Walk, plan_walk
from weibo_crawler.records import Edge
from weibo_crawler.samples import Figures
from weibo_crawler.store import OpenEntries, ReadLists

FREE = Pace(egresses=2, usable=2, learned=0, rate=0.5, setting=0.25)


def pages_of(fans: int) -> int:
    return min(-(-fans // 20), 250)


def walk(**known: Any) -> Walk:
    """A harvest of which nothing is known but what is given."""
    unknown: dict[str, Any] = {
        "edges": (Edge.FANS,),
        "edges_if_walled": (Edge.FOLLOWS,),
        "max_users": 1000,
        "max_depth": None,
        "users": 10,
        "walked": 0,
        "entries": [],
        "lists": [],
        "asked": Asked({}),
        "runs": 0,
        "last": Asked({}),
        "looks": {},
        "announced": lambda edge, n: pages_of(n) if edge is Edge.FANS else 0,
        "pace": FREE,
    }
    return Walk(**unknown | known)


def over(fans: int, lists: int, pages: int, *, walled: bool = False) -> ReadLists:
    return ReadLists("fans", fans, False, True, walled, lists, pages)


def test_a_plan_with_nobody_left_is_zero() -> None:
    """No request, no hour, whatever was asked before; and max_users is not to be reached."""
    asked = Asked({"asked.fans.fans.ok": 500, "users.kept": 400, "session.asked": 9})
    plan = plan_walk(walk(asked=asked, last=asked, runs=3, lists=[over(20, 400, 500)], walked=400))
    assert (plan.users, plan.parts, plan.requests, plan.hours) == (0, (), 0, 0)
    assert plan.figures["to_max_users"] is None
    assert "nobody is left" in plan.later[0]


def test_a_plan_before_anything_is_not_known() -> None:
    """Seeds whose fans nobody knows cost a profile each; the rest is None, never a guess."""
    plan = plan_walk(walk(entries=[OpenEntries(0, None, False, 3)]))
    assert plan.parts[0].requests == 3
    assert plan.requests is plan.hours is plan.figures["to_max_users"] is None
    assert all("no list was read" in part.why for part in plan.parts if part.requests is None)


def test_topics_that_are_not_read_cost_their_pages() -> None:
    """At most so many as the setting says, of each; also where nobody is left to walk. What goes
    wrong as often as so far is asked for again."""
    topics = {"done": 5, "queued": 2, "walled": 1}
    plan = plan_walk(walk(topics=topics, topic_pages=3))
    assert [(part.kind, part.requests) for part in plan.parts] == [("topics", 9)]
    assert (plan.requests, plan.hours) == (9, 9 / 0.5 / 3600)
    assert "not known yet" in plan.later[0]
    assert plan_walk(walk(topics=topics, max_depth=0)).parts == ()
    assert plan_walk(walk(topics={"done": 5})).parts == ()
    asked = Asked({"asked.topic.search.ok": 30, "asked.topic.search.server_trouble": 10})
    assert plan_walk(walk(topics=topics, topic_pages=3, asked=asked)).parts[0].requests == 12


def test_what_max_users_costs_from_here() -> None:
    """At the price of a new user in the last run; nothing where so many are there."""
    last = Asked({"asked.fans.fans.ok": 5000, "users.kept": 2500})
    known = walk(entries=[OpenEntries(1, 20, False, 7)], last=last, max_users=1000)
    costs = {n: plan_walk(known._replace(users=n)).figures for n in (900, 1000, 1001)}
    assert {n: (told["missing"], told["to_max_users"]) for n, told in costs.items()} == {
        900: (100, 200),
        1000: (0, 0),
        1001: (0, 0),
    }


def test_each_run_costs_a_session_and_requests_cost_more() -> None:
    """As many as by what was asked for so far; also where topics alone are to be read."""
    asked = Asked({"asked.topic.search.ok": 100, "session.asked": 5})
    known = walk(topics={"queued": 2}, topic_pages=5, asked=asked, runs=1)
    plan = plan_walk(known)
    assert {part.kind: part.requests for part in plan.parts} == {"topics": 10, "sessions": 1.4}


def test_what_is_announced_is_a_bound_until_a_list_has_ended() -> None:
    """The pages of known users are as many as announced, at most; ends nobody knows."""
    plan = plan_walk(walk(entries=[OpenEntries(1, 100, False, 4)]))
    assert [part.requests for part in plan.parts if "pages" in part.kind] == [20]
    assert "at most" in next(part.why for part in plan.parts if "pages" in part.kind)
    assert plan.requests is None


def test_a_wall_makes_lists_as_short_as_they_are() -> None:
    """Where page 2 is walled a list costs one page, however many are announced; the walls are met
    once in each run, not by each list."""
    lists = [over(1000, 50, 50, walled=True), over(20, 50, 50)]
    asked = Asked({"asked.fans.fans.ok": 100, "asked.fans.fans.login_wall": 20})
    last = Asked({"asked.fans.fans.login_wall": 12})
    known = walk(lists=lists, asked=asked, runs=2, walked=100, last=last)
    plan = plan_walk(known._replace(entries=[OpenEntries(2, 4000, False, 300)]))
    by_kind = {part.kind: part.requests for part in plan.parts}
    assert by_kind == {"fans, pages": 300, "fans, walls": 10}


def test_edges_behind_a_wall_are_read_as_often_as_before() -> None:
    """edges_if_walled are read for the share of users for whom they were."""
    lists = [over(20, 10, 0, walled=True), ReadLists("follows", 20, False, True, False, 5, 30)]
    counters = {"asked.fans.fans.login_wall": 10, "asked.follows.follows.ok": 30}
    asked = Asked(counters)
    known = walk(lists=lists, asked=asked, runs=1, walked=10, last=asked)
    plan = plan_walk(known._replace(entries=[OpenEntries(2, 50, False, 100)]))
    by_kind = {part.kind: part.requests for part in plan.parts}
    assert by_kind == {"fans, walls": 10, "follows, pages": 300}


def test_what_was_read_is_not_read_again() -> None:
    """Entries that wait for a second look cost that look; pages read of others are paid for."""
    looks = {"fans.end": Figures(100, 100, 0, 0.03)}
    asked = Asked({"asked.fans.fans.ok": 300, "asked.fans.fans.end": 200})
    begun = ReadLists("fans", 60, True, False, False, 2, 4)
    known = walk(
        lists=[over(60, 100, 300), begun], asked=asked, looks=looks, runs=1, walked=100, last=asked
    )
    entries = [OpenEntries(1, 60, False, 1), OpenEntries(1, 60, True, 1)]
    plan = plan_walk(known._replace(entries=entries))
    by_kind = {part.kind: part.requests for part in plan.parts}
    assert by_kind["fans, pages"] == 2
    assert by_kind["fans, ends and second looks"] == 1 + 1 + 1


def test_a_plan_is_the_surer_the_more_ends_were_looked_at() -> None:
    """Where second looks have shown more, their number is as sure as it was measured."""
    spreads = []
    for n in (10, 100, 1000):
        asked = Asked({"asked.fans.fans.ok": 3000, "asked.fans.fans.end": 1000 + n})
        looks = {"fans.end": Figures(1000, n, n // 10, 0.2)}
        lists = [over(fans, 500, 1500) for fans in (40, 60)]
        known = walk(lists=lists, asked=asked, looks=looks, runs=1, walked=1000, last=asked)
        plan = plan_walk(known._replace(entries=[OpenEntries(1, 60, False, 1000)]))
        assert plan.spread is not None
        spreads.append(plan.spread)
    assert spreads == sorted(spreads, reverse=True)


def test_a_level_that_is_not_to_be_walked_costs_nothing() -> None:
    """harvest.max_depth."""
    entries = [OpenEntries(2, 20, False, 7), OpenEntries(1, 20, False, 1)]
    plan = plan_walk(walk(entries=entries, max_depth=2))
    assert plan.users == 1
    assert plan.figures["to_max_users"] is None  # a walk that ends by its depth goes nowhere else
    assert "ends at depth 2" in plan.later[0]


def test_refusals_go_on_as_they_were() -> None:
    """What was refused or not answered is a share of each kind."""
    asked = Asked({"asked.fans.fans.ok": 80, "asked.fans.fans.throttled": 20})
    known = walk(lists=[over(20, 80, 80)], asked=asked, runs=1, walked=80, last=asked)
    plan = plan_walk(known._replace(entries=[OpenEntries(1, 20, False, 8)]))
    assert plan.requests == 10


def test_other_edges_are_planned_as_near_as_they_say() -> None:
    """What comes by chance lies within the plan's own spread, at 95 %."""
    dice, near = Random(5), 0
    for _ in range(400):
        seen, to_come = (sum(dice.random() < 0.02 for _ in range(50 * n)) for n in (100, 150))
        asked = Asked({"asked.comments.comments.ok": seen})
        known = walk(edges=(Edge.COMMENTS,), asked=asked, runs=1, walked=100, last=asked)
        lists = [ReadLists("comments", None, False, True, False, 100, 100)]
        plan = plan_walk(known._replace(lists=lists, entries=[OpenEntries(1, 20, False, 150)]))
        assert plan.requests is not None
        assert plan.spread is not None
        near += abs(plan.requests - to_come) <= plan.spread * plan.requests
    assert 365 <= near < 400


def test_what_was_put_off_is_planned_by_what_is_left_of_it() -> None:
    """Of 300 users with few comments the posts are known that are still to be asked about; 100 who
    announce no posts take page 1 and a profile. How many users that finds nobody knows, nor when
    max_users is reached."""
    asked = Asked({"asked.reposts.posts.ok": 400, "asked.comments.comments.ok": 500})
    lists = [
        *(ReadLists(edge, 20, False, True, False, 100, 200) for edge in ("reposts", "comments")),
        ReadLists("reposts", 20, True, True, False, 300, 300),
        ReadLists("comments", 20, True, False, False, 300, 100, 700),
        over(20, 100, 0, walled=True),
    ]
    entries = [OpenEntries(1, 20, False, 400, is_put_off=True)]
    known = walk(edges_if_walled=(Edge.REPOSTS, Edge.COMMENTS), asked=asked, runs=1, last=asked)
    plan = plan_walk(known._replace(lists=lists, entries=entries, walked=100, users=500))
    planned = {part.kind: part.requests for part in plan.parts}
    assert planned["profiles of users without posts"] == 100
    assert planned["reposts, posts pages"] == 100
    assert planned["comments, comments"] == 700
    assert "hardly to be reached from here" in plan.later[0]


def test_an_edge_has_a_price() -> None:
    """Requests for each user that it brought, the cheapest first; None where it brought nobody."""
    counters = {
        "asked.comments.comments.ok": 30,
        "asked.comments.profile.unanswered": 10,
        "edge.comments.kept": 20,
        "asked.fans.fans.ok": 10,
        "edge.fans.kept": 100,
        "asked.reposts.posts.ok": 5,
    }
    assert [(price.edge, price.each) for price in prices(Asked(counters))] == [
        (Edge.FANS, 0.1),
        (Edge.COMMENTS, 2.0),
        (Edge.REPOSTS, None),
    ]


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 300)), min_size=1))
def test_lists_that_are_as_announced_are_taken_so(known: list[tuple[int, int]]) -> None:
    """Where every list has ended as announced, the next ones will."""
    lengths = Lengths([over(fans, n, n * pages_of(fans)) for fans, n in known], pages_of)
    if any(pages_of(fans) for fans, _ in known):
        for fans, _ in known:
            assert lengths.pages(fans) == pages_of(fans) or pages_of(fans) == 0
    assert lengths.variance([(fans, 1) for fans, _ in known]) is not None


def test_how_vague_lengths_are_goes_by_how_long_they_are() -> None:
    """Long lists that end at half or twice their length tell no pages of short ones."""
    lengths = Lengths([over(2000, 5, 5 * 50), over(2000, 5, 5 * 200)], pages_of)
    short, long = (lengths.variance([(fans, 100)]) or 0.0 for fans in (20, 2000))
    assert 0 < short < long / 1000


@given(st.integers(20, 10**6), st.floats(0.1, 1.0))
def test_lists_that_hide_some_are_taken_so(fans: int, share: float) -> None:
    """The share that is shown of lists of about this length holds for the next ones."""
    shown = round(1000 * pages_of(fans) * share)
    lengths = Lengths([over(fans, 1000, shown), over(10**7, 5, 0)], pages_of)
    wanted = shown / 1000
    assert abs((lengths.pages(fans) or 0) - wanted) <= 0.02 * pages_of(fans)


def test_lists_whose_length_nobody_announces_are_unknown_until_one_has_ended() -> None:
    """Follows: no figure stands for them, neither zero; then they are as long as the others."""
    known = walk(edges=(Edge.FOLLOWS,), entries=[OpenEntries(1, 50, False, 4)])
    plan = plan_walk(known)
    assert {part.kind: part.requests for part in plan.parts}["follows, pages"] is None
    ended = ReadLists("follows", 50, False, True, False, 10, 30)
    asked = Asked({"asked.follows.follows.ok": 30})
    plan = plan_walk(known._replace(lists=[ended], asked=asked, runs=1, walked=10))
    assert plan.requests == 12

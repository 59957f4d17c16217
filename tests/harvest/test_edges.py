"""Where users come from: every edge, mixed edges, and edges that guests are not shown."""

import asyncio
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.harvest.simulated import SITE, SimulatedFetcher, make_world
from tests.simulator.ways import Bounds, Ways, kept
from weibo_crawler.config import Harvest
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch import Ask, Fetched, Room
from weibo_crawler.harvest import drought
from weibo_crawler.harvest.edges import THIN
from weibo_crawler.harvest.reopening import Reopening
from weibo_crawler.harvest.run import HarvestRun
from weibo_crawler.metrics import Counters
from weibo_crawler.records import WAYS, Edge, FanPage, Id, Kind, Reading, Request, Verdict
from weibo_crawler.simulator.world import World
from weibo_crawler.store import WALLED, EndOfList, Found, Topic, UserRow, WalledEdge
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sqlite.frontier import SqliteUsers
from weibo_crawler.walls import IN_A_ROW

EDGES = WAYS
OTHERS = EDGES[1:]
KINDS = {Edge.FANS: Kind.FANS, Edge.FOLLOWS: Kind.FOLLOWS, Edge.COMMENTS: Kind.COMMENTS}
KINDS |= {Edge.MENTIONS: Kind.NAME, Edge.REPOSTS: Kind.POSTS, Edge.REPOSTERS: Kind.REPOSTS}
MIN_FANS = 10
subsets = st.lists(st.sampled_from(EDGES), min_size=1, max_size=5, unique=True)


class Crawl:
    """A store and a simulated site; `run` is one harvest."""

    def __init__(self, folder: Path | str, world: World) -> None:
        self.folder, self.world = folder, world
        with self.open() as users:
            users.add_seeds([Found(uid, "") for uid in world.seeds], "run", 1.0)

    def open(self) -> "Users":
        return Users(f"sqlite:///{self.folder}/users.db")

    def run(
        self,
        fetcher: SimulatedFetcher,
        *,
        concurrency: int = 8,
        is_known: Callable[[Any], bool] = lambda uid: False,
        **how: Any,
    ) -> Counters:
        counters = fetcher.counters = Counters()
        with self.open() as users:
            run = HarvestRun(
                Harvest(**{"rest_s": 0.01, "max_failed_share": 1.0, "dry_price": 0.0} | how),
                users,
                SITE,
                fetcher,  # type: ignore[arg-type]
                counters,
                owner=new_owner(),
                run_id="run",
                room=lambda: Room(concurrency),
                is_known=is_known,
            )
            asyncio.run(run.run())
        return counters

    def rows(self) -> list[UserRow]:
        with self.open() as users:
            return list(users.users())

    def depths(self) -> dict[Any, int]:
        return {row.uid: row.depth for row in self.rows()}

    def walled(self) -> dict[Edge, int]:
        with self.open() as users:
            return {one.edge: one.lists for one in users.walled() if one.lists}


class Users(SqliteUsers):
    def __enter__(self) -> "Users":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def true_depths(
    world: World, edges: Sequence[Edge], bounds: Bounds | None = None, **how: int
) -> dict[int, int]:
    return kept(world, world.seeds, MIN_FANS, edges, bounds, **how)


def wall(*edges: Edge) -> Callable[[Request], bool]:
    """Guests are refused what only these edges need."""
    kinds = {KINDS[edge] for edge in edges}
    return lambda request: request.kind in kinds


def assert_found_as_said(world: World, rows: Sequence[UserRow], bounds: Bounds) -> None:
    """Each user stands where it says that it was found, one step behind."""
    ways = Ways(world, bounds).of
    depths = {row.uid: row.depth for row in rows}
    for row in rows:
        if row.found_from is not None:
            assert depths[row.found_from] == row.depth - 1
            owner = world.index(int(row.found_from))
            assert owner is not None
            assert world.index(int(row.uid)) in set(ways[row.found_edge](owner))


@examples(8)
@given(
    st.integers(0, 10**6),
    subsets,
    st.builds(Bounds, st.integers(1, 3), st.integers(1, 4), st.integers(1, 6)),
    st.sampled_from([1, 3, 16]),
)
def test_the_walk_is_the_truth_over_any_edges(
    seed: int, edges: list[Edge], bounds: Bounds, concurrency: int
) -> None:
    """Law 13 for every edge and any mixture: users and depths are the true breadth-first set."""
    world = make_world(seed)
    with tempfile.TemporaryDirectory() as folder:
        crawl = Crawl(folder, world)
        how = {"edges": tuple(edges), "edges_if_walled": (), **bounds._asdict()}
        crawl.run(SimulatedFetcher(world, seed=seed), concurrency=concurrency, **how)
        rows = crawl.rows()
    assert {row.uid: row.depth for row in rows} == true_depths(world, edges, bounds)
    assert {row.state for row in rows} == {"done"}
    assert_found_as_said(world, rows, bounds)


@pytest.mark.parametrize("edge", EDGES)
def test_each_edge_finds_somebody(tmp_path: Path, edge: Edge) -> None:
    """No edge of the worlds above is empty: the law would hold for nothing."""
    world = make_world(7, users=300, mean_posts=30.0)
    crawl = Crawl(tmp_path, world)
    counters = crawl.run(SimulatedFetcher(world), edges=(edge,))
    found = Counter(row.found_edge for row in crawl.rows())
    assert set(found) == {"seed", edge}
    assert counters[f"edge.{edge}.kept"] == found[edge]
    assert crawl.depths() == true_depths(world, [edge])


@examples(10)
@given(st.integers(0, 10**6), st.sets(st.sampled_from(OTHERS), max_size=3), st.booleans())
def test_walled_edges_do_not_stop_the_others(
    seed: int, closed: set[Edge], fans_closed: bool
) -> None:
    """Where guests are shown no fan lists the walk finds all to whom the other open edges lead, and
    depths are bounds; where they are, the others are not asked at all, and depths are exact. Nobody
    fails, each walled list is counted."""
    from_posts = {Edge.COMMENTS, Edge.REPOSTERS, Edge.MENTIONS}
    if Edge.REPOSTS in closed:  # without posts there are none of these either
        closed = closed | from_posts
    world = make_world(seed)
    fetcher = SimulatedFetcher(world, wall(*closed, *([Edge.FANS] if fans_closed else [])), seed)
    with tempfile.TemporaryDirectory() as folder:
        crawl = Crawl(folder, world)
        is_open = [edge for edge in OTHERS if edge not in closed]
        if fans_closed and not is_open:
            with pytest.raises(SiteSaysNo, match="login_wall"):
                crawl.run(fetcher, edges_if_walled=OTHERS, max_failed_share=0.2)
            assert {row.state for row in crawl.rows()} <= {"queued", "resting", "failed"}
            return
        crawl.run(fetcher, edges_if_walled=OTHERS)
        rows, walled = crawl.rows(), crawl.walled()
    walked = is_open if fans_closed else [Edge.FANS]
    depths, true = {row.uid: row.depth for row in rows}, true_depths(world, walked)
    assert depths.keys() == true.keys()
    assert all(depths[uid] >= depth for uid, depth in true.items())
    assert fans_closed or depths == true
    assert {row.state for row in rows} == {"done"}
    assert_found_as_said(world, rows, Bounds())
    if fans_closed:
        assert walled[Edge.FANS] == len(rows)
        assert set(walled) - from_posts == {Edge.FANS} | (closed - from_posts)
    else:
        assert walled == {}
        assert {request.kind for request in fetcher.asked} == {Kind.FANS, Kind.PROFILE}


def test_posts_with_few_comments_wait_for_all_others(tmp_path: Path) -> None:
    """Where guests are shown no lists, depths are bounds and the order is free: of each user the
    most commented posts go first, and while somebody's posts were not looked at, nobody's few
    comments are asked for. In the end all were."""
    world = make_world(7, users=300, mean_posts=30.0)
    crawl, fetcher = Crawl(tmp_path, world), SimulatedFetcher(world, wall(Edge.FANS, Edge.FOLLOWS))
    announced: list[tuple[int, int]] = []  # owner and comments, of each request for comments
    at_first: list[set[Id]] = []

    def note(request: Request) -> None:
        if request.kind is Kind.COMMENTS:
            post = world.post(int(request.mid))
            assert post is not None
            if post.comments < THIN and not at_first:
                looked_at = {one.uid for one in fetcher.asked if one.kind is Kind.POSTS}
                at_first.extend([looked_at, set(crawl.depths())])
            announced.append((world.uid(post.writer), post.comments))

    fetcher.odd = note
    counters = crawl.run(fetcher, concurrency=1)
    looked_at, kept = at_first
    silent = {uid for uid in kept if not world.calendar(world.index(int(uid)) or 0).mids}
    assert kept - silent == looked_at - silent
    assert len(kept) > 30
    assert counters["entries.put_off"] > 30
    for owner in {owner for owner, _ in announced}:
        counts = [n for one, n in announced if one == owner]
        assert counts == sorted(counts, reverse=True)
    depths, true = crawl.depths(), true_depths(world, [Edge.REPOSTS, Edge.COMMENTS])
    assert depths.keys() == true.keys()
    assert sum(depths[uid] - depth for uid, depth in true.items()) > 0  # so what is put off costs
    with crawl.open() as users:
        assert "guests are not shown" in users.depths_are_bounds()
    assert {row.state for row in crawl.rows()} == {"done"}


def test_a_walk_that_finds_hardly_anybody_any_more_ends_and_loses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only what was put off is left, and a user costs more than harvest.dry_price, the
    harvest ends; further ones go on, and in the end all are found."""
    monkeypatch.setattr(drought, "WINDOW", 60)
    world = make_world(7, users=150, mean_posts=20.0)
    crawl, walls = Crawl(tmp_path, world), wall(Edge.FANS, Edge.FOLLOWS)
    whole = true_depths(world, [Edge.REPOSTS, Edge.COMMENTS]).keys()
    states = []
    for _ in range(10):
        crawl.run(SimulatedFetcher(world, walls), dry_price=15.0)
        states.append({row.state for row in crawl.rows()})
        assert len(crawl.rows()) > 0.9 * len(whole)
    assert states[0] == {"done", "queued"}
    assert states[-1] == {"done"}
    assert crawl.depths().keys() == whole


def test_who_announces_no_posts_waits_for_all_others(tmp_path: Path) -> None:
    """A timeline without posts leads to nobody: such are looked at when nobody else known is left.
    In the end all were."""
    world = make_world(7, users=300, mean_posts=3.0)
    crawl, fetcher = Crawl(tmp_path, world), SimulatedFetcher(world, wall(Edge.FANS, Edge.FOLLOWS))
    left: list[set[Id]] = []

    def is_silent(uid: Id) -> bool:
        return not world.calendar(world.index(int(uid)) or 0).mids

    def note(request: Request) -> None:
        is_it = request.kind is Kind.POSTS and is_silent(request.uid)
        if is_it and request.uid not in world.seeds:
            looked_at = {one.uid for one in fetcher.asked if one.kind is Kind.POSTS}
            left.append({uid for uid in crawl.depths() if not is_silent(uid)} - looked_at)

    fetcher.odd = note
    crawl.run(fetcher, concurrency=1)
    assert len(left) > 10
    assert not any(left)
    assert {one.uid for one in fetcher.asked if one.kind is Kind.POSTS} == set(crawl.depths())


def test_an_empty_timeline_is_kept_with_the_profile_that_confirms_it(tmp_path: Path) -> None:
    """`posts` need ask for neither. Nothing is kept of an emptiness that a profile contradicts."""
    world = make_world(7, users=150, mean_posts=3.0)
    crawl, fetcher = Crawl(tmp_path, world), SimulatedFetcher(world, wall(Edge.FANS, Edge.FOLLOWS))
    crawl.run(fetcher, comments_posts=1)
    with crawl.open() as users:
        kept = users.kept_pages([row.uid for row in crawl.rows()])
    for uid in crawl.depths():
        index = world.index(int(uid))
        assert index is not None
        urls = {page.url for page in kept.get(uid, ())}
        is_empty = not world.calendar(index).mids
        assert (SITE.profile(uid).url in urls) is is_empty
        assert SITE.posts(uid, "").url in urls


def test_the_depth_that_ends_a_walk_leaves_nobody_who_was_put_off(tmp_path: Path) -> None:
    """Who was put off is walked before harvest.max_depth ends the run."""
    world = make_world(7, users=300, mean_posts=30.0)
    crawl, walls = Crawl(tmp_path, world), wall(Edge.FANS, Edge.FOLLOWS)
    for depth in (1, 2):
        counters = crawl.run(SimulatedFetcher(world, walls), max_depth=depth)
        assert {row.state for row in crawl.rows() if row.depth < depth} == {"done"}
    assert counters["entries.put_off"] > 0


def test_a_wall_that_is_gone_again_leaves_depths_bounds(tmp_path: Path) -> None:
    """Law 13: whoever was found by another edge while a list was walled stands nearer than the walk
    over lists says, also where the entry was interrupted and the list is shown the next time."""
    world = make_world(3, users=120, mean_posts=14.0)
    crawl, seed = Crawl(tmp_path, world), world.seeds[0]
    walled = [seed]
    fetcher = SimulatedFetcher(world, lambda r: r.kind is Kind.FANS and r.uid in walled)

    def once(request: Request) -> Verdict | None:
        if request.kind is not Kind.POSTS or request.uid not in walled:
            return None
        walled.clear()
        return Verdict.SERVER_TROUBLE

    fetcher.odd = once
    crawl.run(fetcher)
    assert crawl.walled() == {}
    assert {row.found_edge for row in crawl.rows()} == {"seed", "fans", "follows"}
    with crawl.open() as users:
        assert "guests are not shown" in users.depths_are_bounds()


def test_where_depths_are_exact_nobody_is_put_off(tmp_path: Path) -> None:
    """Law 13: the levels decide as long as no list is walled."""
    world = make_world(7, users=300, mean_posts=30.0)
    crawl = Crawl(tmp_path, world)
    counters = crawl.run(SimulatedFetcher(world), edges=(Edge.COMMENTS,))
    assert counters["entries.put_off"] == 0
    with crawl.open() as users:
        assert users.depths_are_bounds() == ""


def test_a_walled_edge_is_asked_a_few_times_only(tmp_path: Path) -> None:
    """A closed edge costs a window of requests, not one a user; a later run probes as few, and
    none of it makes anybody fail. What these lists hold nobody knows, so depths are bounds."""
    world = make_world(3, users=300)
    crawl = Crawl(tmp_path, world)
    for reopened in (10**6, IN_A_ROW):
        fetcher = SimulatedFetcher(world, wall(Edge.FANS, Edge.FOLLOWS))
        counters = crawl.run(fetcher, concurrency=4)
        assert 0 < counters["edge.fans.walled"] <= reopened
        asked = Counter(request.kind for request in fetcher.asked)
        assert 0 < asked[Kind.FANS] <= IN_A_ROW + 4
        assert 0 < asked[Kind.FOLLOWS] <= IN_A_ROW + 4
    assert len(crawl.rows()) > 5 * IN_A_ROW
    assert crawl.depths().keys() == true_depths(world, (Edge.REPOSTS, Edge.COMMENTS)).keys()
    assert crawl.walled() == dict.fromkeys((Edge.FANS, Edge.FOLLOWS), len(crawl.rows()))
    with crawl.open() as users:
        assert "guests are not shown" in users.depths_are_bounds()


def test_what_was_walled_is_read_when_it_opens(tmp_path: Path) -> None:
    """A later run tries walled lists again, all of them once they are shown; nobody is lost, and
    depths are said to be bounds."""
    world = make_world(7, users=400, mean_posts=30.0)
    crawl = Crawl(tmp_path, world)
    how: dict[str, Any] = {"edges_if_walled": (Edge.MENTIONS,), "mentions_per_page": 9}
    crawl.run(SimulatedFetcher(world, wall(Edge.FANS)), **how)
    before = set(crawl.depths())
    assert crawl.walled() == {Edge.FANS: len(before)}
    assert len(before) > 2 * IN_A_ROW
    crawl.run(SimulatedFetcher(world), **how)
    assert set(crawl.depths()) == set(world.kept(before, MIN_FANS)) > before
    assert crawl.walled() == {}
    with crawl.open() as users:
        assert users.depths_are_bounds()
        assert users.states() == {"done": len(crawl.rows())}
    fetcher = SimulatedFetcher(world)
    crawl.run(fetcher, **how)
    assert fetcher.asked == []
    with crawl.open() as users:
        assert users.walled() == []


class _Slow(SimulatedFetcher):
    """Answers after the housekeeping has begun."""

    async def fetch(self, ask: Ask) -> Fetched:
        if not self.asked:
            await asyncio.sleep(0.3)
        return await super().fetch(ask)


def test_what_is_reopened_while_a_run_is_about_to_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The housekeeping of a run reopens lists as well, also just when its loop has seen that nobody
    is queued."""
    world = make_world(7, users=400, mean_posts=30.0)
    crawl = Crawl(tmp_path, world)
    how: dict[str, Any] = {"edges_if_walled": (Edge.MENTIONS,), "mentions_per_page": 9}
    crawl.run(SimulatedFetcher(world, wall(Edge.FANS)), **how)
    assert crawl.walled()[Edge.FANS] > 2 * IN_A_ROW
    begin, open_level, topics = Reopening.begin, Users.open_level, Users.topics
    begun, levels = list[Reopening](), list[int | None]()

    def note(reopening: Reopening) -> None:
        begun.append(reopening)
        begin(reopening)

    def note_level(users: Users) -> int | None:
        levels.append(open_level(users))
        return levels[-1]

    def reopen_before(users: Users, state: str = "") -> list[Topic]:
        if begun and levels[-1] is None:
            begun[0].go_on()
        return topics(users, state)  # which the loop asks for behind the level

    monkeypatch.setattr("weibo_crawler.harvest.run._REPORT_S", 600.0)
    monkeypatch.setattr(Reopening, "begin", note)
    monkeypatch.setattr(Users, "open_level", note_level)
    monkeypatch.setattr(Users, "topics", reopen_before)
    crawl.run(_Slow(world), **how)
    assert crawl.walled() == {}
    with crawl.open() as users:
        assert users.states() == {"done": len(crawl.rows())}


def test_an_edge_for_walled_lists_is_read_when_it_opens(tmp_path: Path) -> None:
    """Where fan lists stay walled and follow lists are shown at last, all follow lists are read."""
    world = make_world(7, users=300, mean_posts=30.0)
    crawl = Crawl(tmp_path, world)
    how: dict[str, Any] = {"edges_if_walled": (Edge.FOLLOWS, Edge.MENTIONS)}
    crawl.run(SimulatedFetcher(world, wall(Edge.FANS, Edge.FOLLOWS)), **how)
    before = set(crawl.depths())
    fetcher = SimulatedFetcher(world, wall(Edge.FANS))
    crawl.run(fetcher, **how)
    after = kept(world, before, MIN_FANS, (Edge.FOLLOWS, Edge.MENTIONS))
    assert set(crawl.depths()) == set(after) > before
    assert {r.uid for r in fetcher.asked if r.kind is Kind.FOLLOWS} == set(after)
    assert crawl.walled() == {Edge.FANS: len(after)}
    assert {row.state for row in crawl.rows()} == {"done"}


def test_a_wall_among_several_edges(tmp_path: Path) -> None:
    """Whatever their order in harvest.edges, the open ones are walked and the walled one counted;
    nobody's walk is begun twice for it."""
    world = make_world(4, users=120)
    for edges in ((Edge.FANS, Edge.COMMENTS), (Edge.COMMENTS, Edge.FANS)):
        folder = tmp_path / edges[0]
        folder.mkdir()
        crawl = Crawl(folder, world)
        fetcher = SimulatedFetcher(world, wall(Edge.FANS))
        counters = crawl.run(fetcher, edges=edges, edges_if_walled=())
        assert crawl.depths() == true_depths(world, [Edge.COMMENTS])
        assert crawl.walled() == {Edge.FANS: len(crawl.rows())}
        assert counters["entries.done"] == len(crawl.rows())
        assert counters["entries.lost"] == 0


def test_users_without_names_do_not_keep_a_walled_edge_open(tmp_path: Path) -> None:
    """A page of posts without names says nothing about whether names are resolved for guests."""
    world = make_world(3, users=400, mean_posts=3.0)
    fetcher = SimulatedFetcher(world, wall(Edge.MENTIONS))
    Crawl(tmp_path, world).run(fetcher, edges=(Edge.MENTIONS, Edge.FANS), concurrency=2)
    asked = Counter(request.kind for request in fetcher.asked)
    assert asked[Kind.POSTS] > 5 * IN_A_ROW
    assert 0 < asked[Kind.NAME] <= IN_A_ROW + 2


def test_profiles_that_nobody_is_shown_are_spared(tmp_path: Path) -> None:
    """Law 16: walls in a row tell; the lists of the other seeds are walked without."""
    world = make_world(4, users=200)
    crawl, seeds = Crawl(tmp_path, world), sorted(true_depths(world, [Edge.FANS]))[:40]
    with crawl.open() as users:
        users.add_seeds([Found(uid, "") for uid in seeds], "run", 1.0)
    fetcher = SimulatedFetcher(world, lambda request: request.kind is Kind.PROFILE)
    crawl.run(fetcher, concurrency=1)
    asked = Counter(request.kind for request in fetcher.asked)
    assert asked[Kind.PROFILE] == IN_A_ROW
    assert {row.state for row in crawl.rows()} == {"done"}


def test_names_that_are_known_do_not_keep_a_walled_edge_open(tmp_path: Path) -> None:
    """Once guests are refused names, a page on which all names are known already says nothing about
    whether others are resolved."""
    world = make_world(7, users=300, mean_posts=30.0)
    shown = set[str]()

    def walled(request: Request) -> bool:
        if request.kind is Kind.NAME and len(shown) < 40:
            shown.add(request.url)
        return request.kind is Kind.NAME and request.url not in shown

    fetcher = SimulatedFetcher(world, walled)
    Crawl(tmp_path, world).run(fetcher, edges=(Edge.MENTIONS, Edge.FANS), concurrency=1)
    asked = Counter(request.kind for request in fetcher.asked)
    assert asked[Kind.POSTS] > 100
    assert asked[Kind.NAME] == 40 + IN_A_ROW, asked


def test_a_user_whose_list_is_hidden_does_not_close_the_edge(tmp_path: Path) -> None:
    """The edge stays open for all others; the hidden lists are counted, the users are done."""
    world = make_world(4, users=200)
    true = true_depths(world, [Edge.FANS])
    hidden = set(sorted(true)[::7])

    def walled(request: Request) -> bool:
        return request.kind is Kind.FANS and request.uid in hidden

    crawl = Crawl(tmp_path, world)
    crawl.run(SimulatedFetcher(world, walled), edges_if_walled=(Edge.FOLLOWS,))
    rows = crawl.rows()
    assert {row.state for row in rows} == {"done"}
    assert crawl.walled() == {Edge.FANS: len(hidden & {row.uid for row in rows})}


@pytest.mark.parametrize("others", [(), (Edge.REPOSTS,)])
def test_a_list_that_is_hidden_alone_is_so(tmp_path: Path, others: tuple[Edge, ...]) -> None:
    """Law 4: that guests are refused the list of one user, while those of others are shown, is a
    fact about it: it is marked so, later runs do not ask for it again, and who wants it tried may
    say so."""
    world = make_world(4, users=200)
    hidden = world.seeds[0]
    crawl = Crawl(tmp_path, world)

    def asked() -> int:
        fetcher = SimulatedFetcher(world, lambda r: r.kind is Kind.FANS and r.uid == hidden)
        crawl.run(fetcher, edges_if_walled=others)
        return sum(r.kind is Kind.FANS and r.uid == hidden for r in fetcher.asked)

    assert asked()
    assert {row.state for row in crawl.rows()} == {"done"}
    assert crawl.walled() == {Edge.FANS: 1}
    assert not asked()
    assert crawl.walled() == {Edge.FANS: 1}
    with crawl.open() as users:
        assert users.requeue_failed() == 1
    assert asked()


def test_where_nobody_is_shown_a_list_a_wall_is_a_failure(tmp_path: Path) -> None:
    """Law 4: a user of whom nothing is shown is failed, to be asked for again, not done, where
    nothing of others tells that this is one's own list."""
    world = make_world(4, users=200)
    alone, *others = world.seeds
    crawl = Crawl(tmp_path, world)
    with crawl.open() as users:
        users.take_for_walked([EndOfList(u, Edge.FANS, "end", True, 9, 1, "") for u in others], 1.0)
    crawl.run(SimulatedFetcher(world, lambda r: r.kind is Kind.FANS), edges_if_walled=())
    assert {row.uid for row in crawl.rows() if row.state == "failed"} == {alone}
    assert not crawl.walled()


def test_a_run_of_retries_alone_closes_no_kind(tmp_path: Path) -> None:
    """Law 4: whose list is walled is left over in a run of retries, alone. That those are walled
    again says nothing of the lists of all: the run ends by itself, and leaves nobody."""
    world = make_world(4, users=200)
    crawl = Crawl(tmp_path, world)
    crawl.run(SimulatedFetcher(world), edges_if_walled=())
    hidden = {row.uid for row in crawl.rows()[5::8]}
    (tmp_path / "hidden").mkdir()
    crawl = Crawl(tmp_path / "hidden", world)

    def walled(request: Request) -> bool:
        return request.kind is Kind.FANS and request.uid in hidden

    crawl.run(SimulatedFetcher(world, walled), edges_if_walled=())
    found = crawl.walled()[Edge.FANS]
    assert found > IN_A_ROW
    with crawl.open() as users:
        assert users.requeue_failed() == found
    crawl.run(SimulatedFetcher(world, walled), edges_if_walled=())
    assert crawl.walled() == {Edge.FANS: found}
    assert {row.state for row in crawl.rows()} == {"done"}


def test_later_pages_that_are_walled_leave_the_first(tmp_path: Path) -> None:
    """Where guests are shown page 1 of fan lists only, these fans are kept, no other edge is
    walked, and the lists are counted as walled."""
    world = make_world(5, users=200)

    def walled(request: Request) -> bool:
        return request.kind is Kind.FANS and request.cursor != ""

    crawl = Crawl(tmp_path, world)
    crawl.run(SimulatedFetcher(world, walled))
    rows = crawl.rows()
    for row in rows:
        assert row.found_edge in ("seed", "fans")
        assert row.state == "done"
    cut = sum(world.fans_announced(world.index(int(row.uid)) or 0) > 20 for row in rows)
    assert crawl.walled()[Edge.FANS] >= cut > IN_A_ROW


@pytest.mark.parametrize("is_shown_to_some", [False, True])
def test_walls_behind_pages_without_users(tmp_path: Path, *, is_shown_to_some: bool) -> None:
    """Law 16: once second pages are known to be walled, a first page that shows nobody and names
    the second one asks for it no more than others do. Where two of three are shown, all such are
    asked for, if there is nobody else of whom such pages are shown."""
    world = make_world(5, users=400)

    def is_blank(request: Request) -> bool:
        has_second = world.fans_announced(world.index(int(request.uid)) or 0) > 20
        is_one = has_second if is_shown_to_some else int(request.uid) % 3 == 0
        return request.kind is Kind.FANS and not request.cursor and is_one

    def is_walled(request: Request) -> bool:
        return is_later(request) and not (is_shown_to_some and int(request.uid) % 3)

    def is_later(request: Request) -> bool:
        return request.kind is Kind.FANS and request.cursor != ""

    class Blank(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            fetched, uid = await super().fetch(ask), ask.request.uid
            if not is_blank(ask.request):
                return fetched
            blank = FanPage(uid, (), "2", is_next_named=True)
            return Fetched(Reading(Verdict.OK, blank, ambiguous=True), fetched.page)

    fetcher = Blank(world, is_walled)
    Crawl(tmp_path, world).run(fetcher, concurrency=4)
    blank = {request.uid for request in fetcher.asked if is_blank(request)}
    behind = {request.uid for request in fetcher.asked if is_later(request)} & blank
    assert len(blank) > 3 * IN_A_ROW
    assert behind == blank if is_shown_to_some else len(behind) <= IN_A_ROW + 4


def test_an_unconfirmed_wall_behind_a_page_without_users_fails_nobody(tmp_path: Path) -> None:
    """Where it is met again it is a wall, and the list is one of which the first page was shown."""
    world = make_world(5, users=200)
    seed = world.seeds[0]

    class Unsure(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            fetched = await super().fetch(ask)
            if ask.request.kind is not Kind.FANS or ask.request.uid != seed:
                return fetched
            blank = Reading(Verdict.OK, FanPage(seed, (), "2", is_next_named=True), ambiguous=True)
            is_first, wall = not ask.request.cursor, Reading(Verdict.LOGIN_WALL, ambiguous=True)
            return fetched._replace(reading=blank if is_first else wall)

    crawl = Crawl(tmp_path, world)
    crawl.run(Unsure(world), edges_if_walled=())
    assert {row.state for row in crawl.rows()} == {"done"}
    assert crawl.walled() == {Edge.FANS: 1}


def test_names_are_asked_for_once(tmp_path: Path) -> None:
    """A name that many mention costs two requests a run, not two a mention."""
    world = make_world(7, users=300, mean_posts=30.0)
    fetcher = SimulatedFetcher(world)
    Crawl(tmp_path, world).run(fetcher, edges=(Edge.MENTIONS,), concurrency=1)
    names = [request.url for request in fetcher.asked if request.kind is Kind.NAME]
    assert len(names) == len(set(names)) > 0


def test_one_page_of_posts_serves_all_edges(tmp_path: Path) -> None:
    """reposts, comments and mentions of one user share the page."""
    world = make_world(7, users=100)
    fetcher = SimulatedFetcher(world)
    crawl = Crawl(tmp_path, world)
    crawl.run(fetcher, edges=(Edge.REPOSTS, Edge.COMMENTS, Edge.MENTIONS))
    pages = Counter(request.uid for request in fetcher.asked if request.kind is Kind.POSTS)
    assert pages == dict.fromkeys(crawl.depths(), 1)


def test_walled_says_since_when(tmp_path: Path) -> None:
    """The time of the first wall stands over later runs."""
    world = make_world(3)
    crawl = Crawl(tmp_path, world)
    crawl.run(SimulatedFetcher(world, wall(Edge.FANS)))
    with crawl.open() as users:
        (first,) = users.walled()
    crawl.run(SimulatedFetcher(world, wall(Edge.FANS)))
    with crawl.open() as users:
        assert users.walled() == [WalledEdge(Edge.FANS, len(crawl.rows()), first.since)]


class Odd:
    """The first `times` requests of one kind and target get this verdict."""

    def __init__(self, kind: Kind, verdict: Verdict, times: int) -> None:
        self._kind, self._verdict, self._times = kind, verdict, times
        self._met: Counter[str] = Counter()

    def __call__(self, request: Request) -> Verdict | None:
        if request.kind is not self._kind or self._met[request.url] >= self._times:
            return None
        self._met[request.url] += 1
        return self._verdict


def odd_for_others(world: World, odd: Odd, request: Request) -> Verdict | None:
    """What `odd` says of requests that are not of a seed."""
    return None if is_of_seed(world, request) else odd(request)


def is_of_seed(world: World, request: Request) -> bool:
    """The profile by which a seed is named."""
    return request.kind is Kind.PROFILE and request.uid in world.seeds


def test_a_list_that_was_walled_and_is_refused_later_is_no_first_attempt(tmp_path: Path) -> None:
    """Shares of failures that stop a run are judged over first attempts: what is asked for again
    because of a wall is none, also where nothing else is asked for."""
    world = make_world(5)
    crawl = Crawl(tmp_path, world)
    odd = min(uid for uid in world.seeds)

    def is_odd(request: Request) -> bool:
        return request.kind is Kind.FANS and request.uid == odd

    with crawl.open() as users:
        users.take_for_walked([EndOfList(odd, Edge.FANS, WALLED, False, 0, 0, "")], 1.0)
    fetcher = SimulatedFetcher(world)
    fetcher.odd = lambda request: Verdict.REFUSED if is_odd(request) else None
    counters = crawl.run(fetcher)
    assert (counters["entries.failed"], counters["entries.failed.retried"]) == (1, 1)


@pytest.mark.parametrize(
    ("edge", "kind"),
    [
        (Edge.REPOSTS, Kind.POSTS),
        (Edge.COMMENTS, Kind.POSTS),
        (Edge.COMMENTS, Kind.COMMENTS),
        (Edge.MENTIONS, Kind.NAME),
        (Edge.MENTIONS, Kind.PROFILE),
    ],
)
def test_a_false_emptiness_is_asked_again(tmp_path: Path, edge: Edge, kind: Kind) -> None:
    """Law 4: nothing where the count, or a name, says that there is something is asked for once
    more, and nobody is lost. When it stands it is unsure, and the user may have it asked again."""
    world = make_world(7, users=100, mean_posts=30.0)
    true = true_depths(world, [edge])
    assert len(true) > len(world.seeds)
    for times in (1, 10**6):
        folder = tmp_path / str(times)
        folder.mkdir()
        crawl, fetcher = Crawl(folder, world), SimulatedFetcher(world)
        odd = Odd(kind, Verdict.EMPTY, times)
        fetcher.odd = partial(odd_for_others, world, odd)
        crawl.run(fetcher, edges=(edge,))
        if times == 1:
            assert crawl.depths() == true
    assert set(crawl.depths()) == set(world.seeds)
    with crawl.open() as users:
        assert users.unsure_lists() > 0
        assert users.states() == {"done": len(world.seeds)}
        users.requeue_failed()
    crawl.run(SimulatedFetcher(world), edges=(edge,))
    assert set(crawl.depths()) == set(true)


@pytest.mark.parametrize("verdict", [Verdict.SERVER_TROUBLE, Verdict.DRIFTED])
def test_comments_that_never_come_cost_only_themselves(tmp_path: Path, verdict: Verdict) -> None:
    """Law 15: reposts are read, nobody has failed, and lists are unsure, which says what lacks."""
    world = make_world(7, users=300, mean_posts=30.0)
    crawl = Crawl(tmp_path, world)
    fetcher = SimulatedFetcher(world)
    fetcher.odd = Odd(Kind.COMMENTS, verdict, 10**6)
    crawl.run(fetcher, edges=(Edge.COMMENTS, Edge.REPOSTS), concurrency=32)
    assert set(crawl.depths()) == set(true_depths(world, [Edge.REPOSTS]))
    assert {row.state for row in crawl.rows()} == {"done"}
    with crawl.open() as users:
        assert users.unsure_lists()


def test_comments_of_one_post_that_never_come_leave_all_unsure(tmp_path: Path) -> None:
    """Law 12: those of the posts behind it are read, and the lists of its owner lack something."""
    world = make_world(7, users=300, mean_posts=30.0)
    how: dict[str, Any] = {"edges": (Edge.COMMENTS,), "comments_posts": 3, "max_depth": 1}
    honest, lost = SimulatedFetcher(world), set[str]()
    (tmp_path / "honest").mkdir()
    Crawl(tmp_path / "honest", world).run(honest, concurrency=1, **how)
    for before, one in pairwise(honest.asked):
        if one.kind is Kind.COMMENTS and before.kind is Kind.POSTS:
            lost.add(one.url)
    crawl, fetcher = Crawl(tmp_path, world), SimulatedFetcher(world)
    fetcher.odd = lambda one: Verdict.SERVER_TROUBLE if one.url in lost else None
    crawl.run(fetcher, **how)
    assert {one.url for one in fetcher.asked} == {one.url for one in honest.asked}
    with crawl.open() as users:
        assert users.unsure_lists() == len(lost) == 2


def test_who_reposted_another_post_is_nobody_of_this_one(tmp_path: Path) -> None:
    """A site that answers with lists of other posts finds nobody by them, and they are unsure, not
    read; true ones of reposts, which name the head of their chain, are believed, also behind a
    restart."""
    world = make_world(7, users=300, mean_posts=30.0)
    crawl, fetcher = Crawl(tmp_path, world), SimulatedFetcher(world)
    ids = re.compile(rb'"retweeted_status": ?\{"id": ?"\d+", ?"mid": ?"\d+", ?"bid": ?"\w+"\}')

    def others(request: Request, body: bytes) -> bytes:
        if request.kind is not Kind.REPOSTS:
            return body
        assert b'"retweeted_status"' not in ids.sub(b"", body)
        return ids.sub(b'"retweeted_status":{"id":"4803408242409550"}', body)

    fetcher.spoil = others
    crawl.run(fetcher, edges=(Edge.REPOSTERS,), concurrency=32)
    assert any(request.kind is Kind.REPOSTS for request in fetcher.asked)
    assert set(crawl.depths()) == set(world.seeds)
    with crawl.open() as users:
        assert users.unsure_lists()
        users.requeue_failed()
    honest = SimulatedFetcher(world)
    crawl.run(honest, edges=(Edge.REPOSTERS,))
    assert set(crawl.depths()) == set(true_depths(world, [Edge.REPOSTERS]))
    assert any(len(request.owners) == 2 for request in honest.asked)


@pytest.mark.parametrize("verdict", [Verdict.SERVER_TROUBLE, Verdict.NOT_JSON])
def test_a_seed_is_walked_though_its_profile_never_comes(tmp_path: Path, verdict: Verdict) -> None:
    """Law 15: what is missing is the name; the next run asks for it."""
    world = make_world(5)
    seeds, crawl, fetcher = set(world.seeds), Crawl(tmp_path, world), SimulatedFetcher(world)
    fetcher.odd = lambda r: verdict if r.kind is Kind.PROFILE and r.uid in seeds else None
    crawl.run(fetcher)
    assert crawl.depths() == world.kept(seeds, MIN_FANS)
    assert {row.screen_name for row in crawl.rows() if row.uid in seeds} == {None}
    assert {row.state for row in crawl.rows()} == {"done"}
    crawl.run(SimulatedFetcher(world))
    assert all(row.screen_name for row in crawl.rows())


def test_a_post_or_name_that_is_gone_is_not_its_user(tmp_path: Path) -> None:
    """Law 5: gone is the post's, or the name's; the user that led there is done."""
    world = make_world(7, users=60, mean_posts=30.0)
    crawl = Crawl(tmp_path, world)
    fetcher = SimulatedFetcher(world)
    gone = (Odd(Kind.COMMENTS, Verdict.GONE, 10**6), Odd(Kind.NAME, Verdict.GONE, 10**6))
    fetcher.odd = lambda request: gone[0](request) or gone[1](request)
    crawl.run(fetcher, edges=(Edge.COMMENTS, Edge.MENTIONS))
    assert set(crawl.depths()) == set(world.seeds)
    with crawl.open() as users:
        assert (users.states(), users.unsure_lists()) == ({"done": len(world.seeds)}, 0)


_USER = b'"user":{'


def _spoiled(body: bytes, is_odd: Callable[[str], bool], most: int = 10**6) -> bytes:
    """A page on which so many users at most, the first ones of those with such numbers of fans,
    have no legible number in any of the places that say it."""
    spoiled = 0

    def walk(value: Any) -> None:
        nonlocal spoiled
        if isinstance(value, list):
            for one in value:
                walk(one)
        if not isinstance(value, dict):
            return
        user = value.get("user")
        if isinstance(user, dict) and is_odd(str(user.get("followers_count"))) and spoiled < most:
            spoiled += 1
            user["followers_count"] = user["followers_count_str"] = value["desc2"] = "lots"
        for one in value.values():
            walk(one)

    walk(page := json.loads(body))
    return json.dumps(page).encode()


def _illegible(request: Request, body: bytes) -> bytes:
    """The first user of each page of fans or comments with five or more has a number of fans that
    is none."""
    if request.kind not in (Kind.FANS, Kind.COMMENTS) or body.count(b'"followers_count":') < 5:
        return body
    return _spoiled(body, lambda fans: True, 1)


def _illegible_ones(request: Request, body: bytes) -> bytes:
    """Each number of fans that begins with 1 is none, on whatever list."""
    if request.kind is not Kind.FANS:
        return body
    return _spoiled(body, lambda fans: fans.startswith("1"))


@pytest.mark.parametrize("profiles", [None, Verdict.DRIFTED])
def test_an_illegible_number_of_fans_costs_one_user(
    tmp_path: Path, profiles: Verdict | None
) -> None:
    """Who is listed so is looked up; where that is no help either, only that user is left out, and
    the list is unsure."""
    world = make_world(5)
    fetcher, seeds = SimulatedFetcher(world), set(world.seeds)
    fetcher.spoil = _illegible_ones
    fetcher.odd = lambda r: profiles if r.kind is Kind.PROFILE and r.uid not in seeds else None
    crawl = Crawl(tmp_path, world)
    crawl.run(fetcher)
    if profiles is None:
        assert crawl.depths() == world.kept(seeds, MIN_FANS)
    assert {row.state for row in crawl.rows()} == {"done"}
    assert any(r.kind is Kind.PROFILE and r.uid not in seeds for r in fetcher.asked)
    with crawl.open() as users:
        assert bool(users.unsure_lists()) is (profiles is not None)


def test_whom_a_list_has_told_is_not_asked_for(tmp_path: Path) -> None:
    """Law 16: once pages were met that do not tell somebody's fans, those of whom others tell them
    are remembered, also who is not kept; each of the others costs one profile."""
    world = make_world(5)
    seeds, told, asked = set(world.seeds), set[Id](), list[Id]()

    class Watching(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            if ask.request.kind is Kind.PROFILE and ask.request.uid not in seeds:
                asked.append(ask.request.uid)
                assert ask.request.uid not in told
            fetched = await super().fetch(ask)
            record = fetched.reading.record
            if isinstance(record, FanPage) and asked:
                told.update(user.uid for user in record.users if user.fans is not None)
            return fetched

    fetcher = Watching(world)
    fetcher.spoil = _illegible
    crawl = Crawl(tmp_path, world)
    crawl.run(fetcher, concurrency=1)
    assert crawl.depths() == world.kept(seeds, MIN_FANS)
    assert len(told) > 50
    assert len(asked) == len(set(asked)) > 0


@pytest.mark.parametrize("verdict", [Verdict.EMPTY, Verdict.SERVER_TROUBLE])
@pytest.mark.parametrize(("edge", "kind"), [(Edge.FANS, Kind.PROFILE), (Edge.MENTIONS, Kind.NAME)])
def test_who_is_never_shown_is_asked_for_a_few_times(
    tmp_path: Path, edge: Edge, kind: Kind, verdict: Verdict
) -> None:
    """Law 16: somebody who stands on many pages and of whom nothing is shown costs three requests,
    not one for each page. All these pages are unsure."""
    world = make_world(5, mean_posts=30.0)
    crawl, fetcher = Crawl(tmp_path, world), SimulatedFetcher(world)
    fetcher.spoil = _illegible
    fetcher.odd = partial(odd_for_others, world, Odd(kind, verdict, 10**6))
    crawl.run(fetcher, concurrency=1, edges=(edge,))
    asked = Counter(r.url for r in fetcher.asked if r.kind is kind and not is_of_seed(world, r))
    assert max(asked.values()) <= 3
    with crawl.open() as users:
        assert users.unsure_lists() > 0


@pytest.mark.parametrize(("user", "is_somebody"), [(b"null", False), (b'"words"', True)])
def test_somebody_who_cannot_be_read_makes_depths_bounds(
    tmp_path: Path, user: bytes, is_somebody: bool
) -> None:
    """Law 13: whoever stands on a list and cannot be read may be a shorter way to others; an item
    that says that there is no user is nobody. The list is sure either way."""
    world = make_world(5)

    def spoil(request: Request, body: bytes) -> bytes:
        if request.kind is not Kind.FANS or body.count(_USER) < 5:
            return body
        before, _, after = body.rpartition(_USER)  # recommendations come first
        return before + b'"user":' + user + b',"was":{' + after

    fetcher = SimulatedFetcher(world)
    fetcher.spoil = spoil
    crawl = Crawl(tmp_path, world)
    counters = crawl.run(fetcher)
    assert counters["list.skipped.no id" if is_somebody else "list.skipped.no user"]
    with crawl.open() as users:
        said = users.depths_are_bounds()
        assert ("could not be read" in said) is is_somebody, said
        assert users.unsure_lists() == 0


def test_an_author_who_cannot_be_read_makes_depths_bounds(tmp_path: Path) -> None:
    """Who wrote the original of a repost is counted where the id cannot be read, as on a list."""
    world = make_world(7, users=300, mean_posts=30.0)

    def spoil(request: Request, body: bytes) -> bytes:
        if request.kind is not Kind.POSTS:
            return body
        page = json.loads(body)
        for card in page["data"].get("cards", ()):
            original = (card.get("mblog") or {}).get("retweeted_status") or {}
            if original.get("user"):
                original["user"]["id"] = None
        return json.dumps(page).encode()

    for edges, is_somebody in (((Edge.REPOSTS,), True), ((Edge.MENTIONS,), False)):
        folder = tmp_path / edges[0]
        folder.mkdir()
        fetcher = SimulatedFetcher(world)
        fetcher.spoil = spoil
        crawl = Crawl(folder, world)
        crawl.run(fetcher, edges=edges)
        with crawl.open() as users:
            assert ("could not be read" in users.depths_are_bounds()) is is_somebody


def test_an_illegible_number_of_fans_among_comments(tmp_path: Path) -> None:
    """Who commented so is looked up: the walk finds the same users."""
    world, found = make_world(5, mean_posts=5.0), []
    for spoil in (None, _illegible):
        fetcher = SimulatedFetcher(world)
        fetcher.spoil = spoil or fetcher.spoil
        folder = tmp_path / str(bool(spoil))
        folder.mkdir()
        crawl = Crawl(folder, world)
        crawl.run(fetcher, edges=(Edge.COMMENTS,))
        found.append((crawl.depths(), sum(r.kind is Kind.PROFILE for r in fetcher.asked)))
    assert found[0][0] == found[1][0]
    assert found[0][1] < found[1][1]


@pytest.mark.parametrize("edge", EDGES)
def test_who_was_seen_in_whose_list_is_kept(tmp_path: Path, edge: Edge) -> None:
    """Whom an edge showed, and on whose list, also of people with too few fans; nothing where the
    setting says so."""
    world = make_world(7, users=120, mean_posts=20.0)
    (tmp_path / "off").mkdir()
    off, on = Crawl(tmp_path / "off", world), Crawl(tmp_path, world)
    off.run(SimulatedFetcher(world), edges=(edge,), keep_edges=False, max_depth=1)
    on.run(SimulatedFetcher(world), edges=(edge,), max_depth=1)
    assert off.depths() == on.depths()
    with off.open() as users:
        assert list(users.seen_pages()) == []
    with on.open() as users:
        pages = list(users.seen_pages())
    seen = {(page.owner, uid) for page in pages for uid in page.uids}
    assert {page.edge for page in pages} == {edge}
    assert {(r.found_from, r.uid) for r in on.rows() if r.found_from is not None} <= seen
    if edge is Edge.FANS:
        seed = world.seeds[0]
        index = world.index(seed)
        assert index is not None
        listed = world.fans_shown(index)
        assert {uid for owner, uid in seen if owner == seed} == {world.uid(i) for i in listed}
        fans = {world.uid(i): world.fans_announced(i) for i in listed}
        assert min(fans.values()) < MIN_FANS


def test_a_page_is_kept_though_what_was_to_follow_does_not_come(tmp_path: Path) -> None:
    """Law 16: page 1 is read for the comments on it, and no comments come:
    `posts` has page 1; with the setting off, nothing."""
    world = make_world(7, users=120, mean_posts=20.0)
    for is_on in (True, False):
        (tmp_path / str(is_on)).mkdir()
        crawl = Crawl(tmp_path / str(is_on), world)
        fetcher = SimulatedFetcher(world)
        fetcher.odd = lambda r: Verdict.SERVER_TROUBLE if r.kind is Kind.COMMENTS else None
        crawl.run(fetcher, edges=(Edge.COMMENTS,), keep_posts=is_on)
        shown = {r.uid for r in fetcher.asked if r.kind is Kind.POSTS}
        with crawl.open() as users:
            kept = users.kept_pages(sorted(shown))
        assert shown
        assert set(kept) == (shown if is_on else set())


@pytest.mark.parametrize("token", ["0", "x" * 400])
def test_posts_whose_next_page_is_named_illegibly_are_unsure(tmp_path: Path, token: str) -> None:
    """Law 4: where more pages of posts would be read, and the page names one that cannot be asked
    for, its list is no end; 0 leads nowhere, which is one."""
    world = make_world(3, users=60)
    crawl = Crawl(tmp_path, world)
    fetcher = SimulatedFetcher(world)

    def spoil(request: Request, body: bytes) -> bytes:
        if request.kind is not Kind.POSTS:
            return body
        page = json.loads(body)
        if isinstance(page.get("data"), dict) and "cardlistInfo" in page["data"]:
            page["data"]["cardlistInfo"] = {"since_id": token}
        return json.dumps(page).encode()

    fetcher.spoil = spoil
    crawl.run(fetcher, edges=(Edge.REPOSTS,), posts_pages=2)
    with crawl.open() as users:
        assert bool(users.unsure_lists()) is (token != "0")

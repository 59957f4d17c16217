"""The breadth-first loop over a scripted site and a real SQLite frontier."""

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import examples
from tests.harvest.worlds import PAGE, Graph, ScriptedFetcher, ScriptedSite
from weibo_crawler.config import Harvest
from weibo_crawler.errors import Interrupted, SiteSaysNo, StoreError
from weibo_crawler.fetch import Ask, Fetched, Room
from weibo_crawler.harvest.run import Ended, HarvestRun, is_over_share
from weibo_crawler.harvest.trouble import Refused, costs_attempt
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Edge, FanPage, Kind, Reading, Request, State, User, Verdict
from weibo_crawler.samples import Samples
from weibo_crawler.store import Found, WorkerRow
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sqlite.frontier import SqliteUsers

MIN_FANS = 10


def open_users(folder: Path | str) -> SqliteUsers:
    return SqliteUsers(f"sqlite:///{folder}/users.db")


def make_run(
    users: SqliteUsers,
    fetcher: ScriptedFetcher,
    *,
    concurrency: int = 4,
    progress: Callable[[], None] = lambda: None,
    **changed: object,
) -> tuple[HarvestRun, Counters]:
    how = {"rest_s": 0.01, "max_failed_share": 1.0} | changed
    counters = Counters()
    run = HarvestRun(
        Harvest(**how),  # type: ignore[arg-type]
        users,
        ScriptedSite(),  # type: ignore[arg-type]
        fetcher,  # type: ignore[arg-type]
        counters,
        owner=new_owner(),
        run_id="run",
        room=lambda: Room(concurrency),
        progress=progress,
    )
    return run, counters


def harvest(
    folder: Path | str,
    graph: Graph,
    seeds: list[int],
    *,
    trouble: Mapping[tuple[Any, Verdict], int] | None = None,
    seed: int = 0,
    profiles: Verdict = Verdict.OK,
    **changed: object,
) -> tuple[dict[Any, int], Ended, Counters, list[str]]:
    """One run to its end; depths by uid, and what was asked."""
    users = open_users(folder)
    try:
        users.add_seeds([Found(uid, "") for uid in seeds], "run", 1.0)
        fetcher = ScriptedFetcher(graph, Random(seed), trouble, profiles)
        run, counters = make_run(users, fetcher, **changed)  # type: ignore[arg-type]
        ended = asyncio.run(run.run())
        run.judge_failures(counters)
        depths = {user.uid: user.depth for user in users.users()}
    finally:
        users.close()
    return depths, ended, counters, fetcher.asked


def random_graph(rng: Random, n: int, least: int = 0) -> Graph:
    """n users with at least `least` and at most 6 fans each."""
    uids = range(1, n + 1)
    fans_of = {uid: rng.sample(uids, rng.randint(least, min(n, 6))) for uid in uids}
    return Graph(fans_of, {uid: rng.choice([3, 8, 10, 50]) for uid in uids})


@examples(30)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), concurrency=st.sampled_from([1, 2, 5, 16]))
def test_depths_are_exact_at_any_concurrency(seed: int, n: int, concurrency: int) -> None:
    """Law 13: depth is the shortest chain of kept users, found_from a user of depth - 1."""
    graph = random_graph(Random(seed), n)
    seeds = [1, 2]
    with tempfile.TemporaryDirectory() as folder:
        depths, ended, _, _ = harvest(folder, graph, seeds, seed=seed, concurrency=concurrency)
        users = open_users(folder)
        rows = list(users.users())
        users.close()
    assert depths == graph.depths(seeds, MIN_FANS)
    assert ended.why == "nobody new is found"
    assert all(depths[row.found_from] == row.depth - 1 for row in rows if row.found_from)
    assert {row.state for row in rows} == {"done"}


@examples(15)
@given(seed=st.integers(0, 10**6), times=st.integers(1, 2))
def test_passing_trouble_loses_nobody(seed: int, times: int) -> None:
    """Laws 5, 13: an entry that rests comes back, and depths are exact all the same."""
    rng = Random(seed)
    graph = random_graph(rng, 20)
    trouble = {
        (uid, rng.choice([Verdict.SERVER_TROUBLE, Verdict.THROTTLED])): times
        for uid in rng.sample(range(1, 21), 8)
    }
    with tempfile.TemporaryDirectory() as folder:
        depths, _, _, _ = harvest(folder, graph, [1, 2], seed=seed, trouble=trouble)
    assert depths == graph.depths([1, 2], MIN_FANS)


def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    """Law 7: what is done is not done again."""
    graph = random_graph(Random(1), 30)
    first, _, _, _ = harvest(tmp_path, graph, [1, 2])
    again, ended, counters, asked = harvest(tmp_path, graph, [1, 2])
    assert (again, asked, counters["users.kept"]) == (first, [], 0)
    assert ended.why == "nobody new is found"


def test_counters_add_up(tmp_path: Path) -> None:
    """Law 6: every listed user is kept, filtered or seen again."""
    graph = random_graph(Random(3), 30)
    depths, _, counters, _ = harvest(tmp_path, graph, [1, 2])
    listed = sum(len(graph.fans_of[uid]) for uid in depths)
    kinds = ("users.kept", "users.filtered", "users.seen_again")
    assert sum(counters[kind] for kind in kinds) == listed
    assert counters["users.kept"] == len(depths) - 2
    assert counters["users.filtered"] > 0


def test_max_users_is_exact_and_can_be_raised(tmp_path: Path) -> None:
    """The stop rule holds exactly; with a larger limit the walk goes on to the same end."""
    graph = random_graph(Random(5), 40)
    whole = graph.depths([1, 2], MIN_FANS)
    depths, ended, _, _ = harvest(tmp_path, graph, [1, 2], max_users=7)
    assert len(depths) == 7
    assert "max_users" in ended.why
    depths, _, _, _ = harvest(tmp_path, graph, [1, 2])
    assert set(depths) == set(whole)


def test_max_depth_keeps_but_does_not_walk(tmp_path: Path) -> None:
    """Users at max_depth are kept, their lists are left for a later, deeper run."""
    graph = random_graph(Random(6), 40)
    whole = graph.depths([1, 2], MIN_FANS)
    depths, ended, _, _ = harvest(tmp_path, graph, [1, 2], max_depth=1)
    assert depths == {uid: depth for uid, depth in whole.items() if depth <= 1}
    assert "max_depth" in ended.why
    assert harvest(tmp_path, graph, [1, 2])[0] == whole


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    """Ctrl-C at any time: what was in flight is given back, a later run ends the same. Whatever
    else would stop it while it ends, it was interrupted."""
    graph = random_graph(Random(8), 60, least=4)
    users = open_users(tmp_path)
    users.add_seeds([Found(1, ""), Found(2, "")], "run", 1.0)

    async def interrupted(after: int) -> None:
        fetcher = ScriptedFetcher(graph, Random(after))
        run, _ = make_run(users, fetcher)
        running = asyncio.create_task(run.run())
        while len(fetcher.asked) < after and not running.done():
            await asyncio.sleep(0.001)
        run.stop("interrupted")
        run.stop("harvest.max_users is reached")
        with pytest.raises(Interrupted):
            await running
        assert "leased" not in users.states()

    for after in (1, 5, 12, 20):
        asyncio.run(interrupted(after))
    users.close()
    assert harvest(tmp_path, graph, [1, 2])[0] == graph.depths([1, 2], MIN_FANS)


def test_lasting_trouble_fails_the_entry_and_says_so(tmp_path: Path) -> None:
    """An entry that fails in every round is marked and counted. A share of failures ends the run
    where the sample means something, and what failed before is no evidence when it fails again."""
    level = range(2, 30)
    graph = Graph({1: level, 2: [40]}, dict.fromkeys(range(1, 50), 90))
    trouble = {(uid, Verdict.DRIFTED): 99 for uid in range(2, 10)}
    with pytest.raises(SiteSaysNo, match="8 of 29 users could not be walked"):
        harvest(tmp_path, graph, [1], trouble=trouble, max_failed_share=0.2)
    users = open_users(tmp_path)
    assert {user.uid for user in users.users() if user.state == "failed"} == set(range(2, 10))
    assert users.requeue_failed() == 8
    users.close()
    counters = harvest(tmp_path, graph, [1], trouble=trouble, max_failed_share=0.2)[2]
    assert (counters["entries.failed"], counters["entries.failed.retried"]) == (8, 8)
    users = open_users(tmp_path)
    users.requeue_failed()
    users.close()
    assert set(harvest(tmp_path, graph, [1])[0]) == {1, *level, 40}


def test_who_can_be_read_on_a_list_of_odd_users_is_found(tmp_path: Path) -> None:
    """Law 15: nobody has failed, the next page is asked for, and depths are bounds."""
    graph = Graph({1: range(2, 12)}, dict.fromkeys(range(1, 20), 90))

    class Odd(ScriptedFetcher):
        def _list(self, request: Request) -> Reading:
            reading = super()._list(request)
            if request.uid != 1 or request.cursor:
                return reading
            assert isinstance(reading.record, FanPage)
            page = replace(reading.record, skipped={"no id": 3})
            return Reading(Verdict.DRIFTED, page, "$.data.cards[1].card_group[2].user.id")

    users = open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    asyncio.run(make_run(users, Odd(graph, Random(0)))[0].run())
    assert {user.uid: user.state for user in users.users()} == dict.fromkeys(range(1, 12), "done")
    assert users.depths_are_bounds()
    users.close()


def test_what_was_in_trouble_in_an_earlier_run_is_no_evidence(tmp_path: Path) -> None:
    """Law 15: shares are judged over first attempts. Those of entries that rested, or whose request
    was in trouble, when the site ended a run were made by that run."""
    graph = Graph({1: range(2, 30)}, dict.fromkeys(range(1, 50), 90))

    class Over(ScriptedFetcher):
        """Whatever is asked for the second time ends the run, for all requests under way: the
        first one of user 29 among them, which is waited for."""

        async def fetch(self, ask: Ask) -> Fetched:
            self.is_waiting |= ask.request.uid == 29
            is_second = ask.request.kind is Kind.FANS and ask.request.url in self.asked
            self.is_over |= is_second and self.is_waiting
            while ask.request.uid == 29 and not self.is_over:
                await asyncio.sleep(0.001)
            try:
                fetched = await super().fetch(ask)
            except Interrupted:
                self.is_over = True
            if self.is_over:
                no = SiteSaysNo("the site says no")
                no.met = "scripted"
                raise no
            return fetched

        is_over = is_waiting = False

    users = open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    trouble = {(uid, Verdict.DRIFTED): 99 for uid in range(2, 30)}
    with pytest.raises(SiteSaysNo, match="the site says no"):
        asyncio.run(make_run(users, Over(graph, Random(0), trouble), rest_s=0.001)[0].run())
    now = time.time() + 60
    entries = users.claim("me", 99, edges=[Edge.FANS], deepest=9, now=now, lease_s=60)
    users.give_back("me")
    troubled = {entry.uid for entry in entries if entry.is_retry}
    assert any(entry.is_retry and not entry.attempts for entry in entries)
    fetcher = ScriptedFetcher(graph, Random(0), {(uid, Verdict.DRIFTED): 99 for uid in troubled})
    run, counters = make_run(users, fetcher, max_failed_share=0.2)
    asyncio.run(run.run())
    run.judge_failures(counters)
    users.close()
    failed = counters["entries.failed"]
    assert (failed, counters["entries.failed.retried"]) == (len(troubled), len(troubled))


@pytest.mark.parametrize(
    ("failed", "walked", "is_over"),
    [(1, 2, False), (4, 16, False), (5, 14, False), (5, 15, True), (5, 21, False), (1, 0, True)],
)
def test_a_share_needs_a_sample(failed: int, walked: int, is_over: bool) -> None:
    """At least five failures among twenty users; or nobody at all could be walked."""
    assert is_over_share(failed, failed + walked, 0.2) is is_over


@pytest.mark.parametrize("verdict", [Verdict.NOT_JSON, Verdict.SERVER_TROUBLE])
def test_a_portal_in_the_way_fails_nobody(tmp_path: Path, verdict: Verdict) -> None:
    """A first run that is answered by something else than the site ends with the reason, and the
    same command reaches the truth without it."""
    graph = Graph({1: [2], 3: [4]}, dict.fromkeys(range(1, 9), 90))
    trouble = {(uid, verdict): 99 for uid in (1, 3)}
    with pytest.raises(SiteSaysNo, match="nothing to anybody"):
        harvest(tmp_path, graph, [1, 3], trouble=trouble, profiles=verdict)
    users = open_users(tmp_path)
    assert users.states().get(State.FAILED, 0) == 0
    users.close()
    assert set(harvest(tmp_path, graph, [1, 3])[0]) == {1, 2, 3, 4}


def test_failures_of_several_processes_are_judged_in_sum(tmp_path: Path) -> None:
    """One process that met a broken entry among its few does not end the command."""
    users = open_users(tmp_path)
    users.add_seeds([Found(1, ""), Found(2, "")], "run", 1.0)
    graph, trouble = Graph({}, {1: 99, 2: 99}), {(1, Verdict.SERVER_TROUBLE): 99}
    fetcher = ScriptedFetcher(graph, Random(0), trouble)
    run, own = make_run(users, fetcher, max_failed_share=0.2)
    asyncio.run(run.run())
    users.close()
    assert own["entries.failed"] == 1
    run.judge_failures(Counters({"entries.failed": 5, "entries.done": 20}))
    with pytest.raises(SiteSaysNo, match="5 of 24 users could not be walked"):
        run.judge_failures(Counters({"entries.failed": 5, "entries.done": 18, "entries.gone": 1}))


@pytest.mark.parametrize("opened", [0, 1])
def test_that_no_session_could_be_had_is_told_where_none_could(tmp_path: Path, opened: int) -> None:
    """A run that had one failed for other reasons, and names them alone; so does one of a site
    without sessions."""
    with closing(open_users(tmp_path)) as users:
        run, _ = make_run(users, ScriptedFetcher(Graph({}, {}), Random(0)))
        said = "no visitor session could be had"
        counted = Counters({"session.asked": 2, "session.opened": opened})
        assert (said in run.why_failed(counted)) is (not opened)
        assert said not in run.why_failed(Counters())


def test_refusals_of_all_cost_no_entry_its_attempts(tmp_path: Path) -> None:
    """Law 5: while the site shows nothing at all its refusals are nobody's fault; of one whom alone
    it refuses they are."""
    graph = Graph({1: [2, 3]}, {1: 99, 2: 99, 3: 99})
    trouble = {(1, Verdict.THROTTLED): 9}
    assert set(harvest(tmp_path, graph, [1], trouble=trouble)[0]) == {1, 2, 3}
    users = open_users(tmp_path)
    assert {user.state for user in users.users()} == {"done"}
    users.close()
    assert costs_attempt(Refused("403"), was_answered=True)


@pytest.mark.timeout(30)
def test_a_list_that_is_always_refused_ends(tmp_path: Path) -> None:
    """Law 10: behind a captcha for good, while others are shown: when nothing else is left to walk,
    one that was shown tells that it is this list, and it fails after its attempts."""
    graph = Graph({1: [2, 3]}, {1: 99, 2: 99, 3: 99})
    harvest(tmp_path, graph, [1], trouble={(3, Verdict.CAPTCHA): 10**6}, rest_s=0.01)
    users = open_users(tmp_path)
    states = {user.uid: user.state for user in users.users()}
    users.close()
    assert states == {1: "done", 2: "done", 3: "failed"}


@pytest.mark.timeout(30)
def test_who_rests_is_never_shut_out_by_the_next_level(tmp_path: Path) -> None:
    """Law 13: entries claimed ahead must not keep those of the open level, back from their rest,
    from being claimed; else each would wait for the other for ever."""
    level = range(2, 8)
    fans_of = {1: [*level], **{uid: range(uid * 100, uid * 100 + 30) for uid in level}}
    graph = Graph(fans_of, dict.fromkeys(range(1000), 99))
    trouble = {(uid, Verdict.SERVER_TROUBLE): 1 for uid in (3, 5, 6)}
    depths, _, _, _ = harvest(tmp_path, graph, [1], trouble=trouble, rest_s=0.3, concurrency=2)
    assert depths == graph.depths([1], MIN_FANS)


@pytest.mark.parametrize(
    ("changed", "is_changed"),
    [({}, False), ({"edges": ("fans", "follows")}, True), ({"min_fans": 3}, True)],
)
def test_another_rule_than_the_walk_began_with_makes_depths_bounds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changed: dict[str, Any], is_changed: bool
) -> None:
    """Law 13: who was read by other edges, or left out by another number of fans, may have hidden
    shorter ways; that is said, and so is what it means."""
    fans = dict.fromkeys(range(100, 111), MIN_FANS) | {1: 11}
    graph = Graph({1: [*range(100, 111)]}, fans)
    harvest(tmp_path, graph, [1], max_depth=1)
    harvest(tmp_path, graph, [1], max_depth=1, **changed)
    users = open_users(tmp_path)
    assert bool(users.depths_are_bounds()) is is_changed
    users.close()
    assert ("this walk began with" in caplog.text) is is_changed


def test_an_end_before_the_announced_count_is_asked_again(tmp_path: Path) -> None:
    """Law 4: one false end loses nobody; a lasting one is stored as unsure, and asked again when
    the user says so, or by the next run, as long as nobody at all was found."""
    graph = Graph({1: [2, 3, 4, 5]}, {1: 92, 2: 90, 3: 90, 4: 90, 5: 90})
    depths, _, counters, _ = harvest(tmp_path, graph, [1], trouble={(1, Verdict.END): 1})
    assert set(depths) == {1, 2, 3, 4, 5}
    assert counters["entries.rested"] == 1
    again = tmp_path / "again"
    again.mkdir()
    assert set(harvest(again, graph, [1], trouble={(1, Verdict.END): 2})[0]) == {1}
    users = open_users(again)
    assert users.unsure_lists() == 1
    users.close()
    assert set(harvest(again, graph, [1])[0]) == {1, 2, 3, 4, 5}
    later = tmp_path / "later"
    later.mkdir()
    tail = {1: [2, 3, 4, 5], 5: [6]}
    graph = Graph(tail, {1: 92, 2: 90, 3: 90, 4: 90, 5: 91, 6: 90})
    assert set(harvest(later, graph, [1], trouble={(5, Verdict.END): 2})[0]) == {1, 2, 3, 4, 5}
    assert set(harvest(later, graph, [1])[0]) == {1, 2, 3, 4, 5}
    users = open_users(later)
    assert users.requeue_failed() == 1
    users.close()
    assert set(harvest(later, graph, [1])[0]) == {1, 2, 3, 4, 5, 6}


def test_an_expected_end_needs_no_second_witness(tmp_path: Path) -> None:
    """The end of a fan list is believed at once where it has shown as many as were announced, and
    its last page was not full: a list may have grown since."""
    fans_of = {1: [2, 3, 4, 5, 6, 7], 2: range(100, 130), 3: range(100, 129)}
    graph = Graph(fans_of, dict.fromkeys(range(200), 30) | {1: 1})
    users, fetcher = open_users(tmp_path), ScriptedFetcher(graph, Random(0))
    users.add_seeds([Found(1, "")], "run", 1.0)
    asyncio.run(make_run(users, fetcher)[0].run())
    users.close()
    assert fetcher.ends == {"fans/2/16"}


@pytest.mark.parametrize("goes_on", [False, True])
def test_full_lists_end_without_a_request(tmp_path: Path, goes_on: bool) -> None:
    """Law 16: where many lists that had shown all that was announced did end there, only a sample
    of such ends is asked for. Where some go on, all are asked for, and everybody is found."""
    level, size = range(2, 202), 15 if goes_on else 11
    fans_of: dict[int, list[int]] = {1: [*level]}
    fans_of |= {uid: [uid * 1000 + i for i in range(size)] for uid in level}
    last = {fans_of[uid][-1]: MIN_FANS for uid in level}
    fans = dict.fromkeys(range(300_000), 0) | dict.fromkeys(level, 11) | last | {1: 200}
    fans_of |= {uid: list(range(300_000 - MIN_FANS, 300_000)) for uid in last}
    graph, users = Graph(fans_of, fans), open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    fetcher = ScriptedFetcher(graph, Random(0))
    fetcher.samples = Samples(0.1)  # 14 looks without a find may be enough, 29 are
    asyncio.run(make_run(users, fetcher)[0].run())
    assert {user.uid: user.depth for user in users.users()} == graph.depths([1], MIN_FANS)
    users.close()
    full = fetcher.samples.figures()["fans.full"]
    assert full.ends > 400
    assert full.finds == (2 * len(level) if goes_on else 0)  # two pages more of each list
    assert goes_on or 14 <= full.looks < 90


class _Naming(ScriptedFetcher):
    """Each page names the next one where there is one, but for those in `silent`."""

    silent: frozenset[str] = frozenset()

    def _list(self, request: Request) -> Reading:
        reading = super()._list(request)
        if not isinstance(reading.record, FanPage):
            return reading
        shown = PAGE * int(request.cursor or 1)
        is_named = len(self.graph.fans_of[request.uid]) > shown and request.url not in self.silent
        return replace(reading, record=replace(reading.record, is_next_named=is_named))


@pytest.mark.parametrize("goes_on", [False, True])
def test_lists_end_where_a_page_names_no_next_one(tmp_path: Path, goes_on: bool) -> None:
    """Law 16: where pages name the next one, and nobody was found behind many that did not, only a
    sample is asked for behind such pages. Where some lists go on there, all are asked for."""
    level = range(2, 202)
    fans_of: dict[int, list[int]] = {1: [*level]}
    fans_of |= {uid: [uid * 1000 + i for i in range(5)] for uid in level}
    kept = {fans_of[uid][-1]: MIN_FANS for uid in level}
    fans = dict.fromkeys(range(300_000), 0) | dict.fromkeys(level, 99) | {1: 200} | kept
    graph, users = Graph(fans_of, fans), open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    fetcher = _Naming(graph, Random(0))
    fetcher.silent = frozenset(f"fans/{uid}/2" for uid in level if goes_on and uid % 4 == 0)
    # 29 looks without a find tell, and from 14 on what is at stake (tests/test_samples.py)
    fetcher.samples = Samples(0.1)
    asyncio.run(make_run(users, fetcher)[0].run())
    assert {user.uid: user.depth for user in users.users()} == graph.depths([1], MIN_FANS)
    users.close()
    unnamed = fetcher.samples.figures()["fans.end"]
    assert unnamed.finds == len(fetcher.silent)
    assert goes_on or (14 <= unnamed.looks < 90 and unnamed.ends >= len(level))
    assert not goes_on or unnamed.unlooked == 0
    # the look behind a page that names no next one is the second look at that end, once the first
    # five, and those under way meanwhile, have shown that such pages are ends
    behind = [url for url in fetcher.asked if url.endswith("/4")]
    assert behind
    assert goes_on or len(behind) < len(set(behind)) + 5 + 4


class _Emptied(_Naming):
    """Those in `emptied` show nothing when they are first asked for."""

    emptied: frozenset[str] = frozenset()

    def _list(self, request: Request) -> Reading:
        if request.url in self.emptied:
            self.emptied -= {request.url}
            return Reading(Verdict.END, ambiguous=True)
        return super()._list(request)


def test_a_page_that_names_no_next_one_is_no_look_where_such_lists_go_on(tmp_path: Path) -> None:
    """Law 4: where lists go on behind pages that name no next one, such a page says nothing of an
    end. An emptiness behind it that contradicts the count is looked at again."""
    level = range(2, 62)
    fans_of: dict[int, list[int]] = {1: [*level]}
    fans_of |= {uid: [uid * 1000 + i for i in range(5)] for uid in level}
    kept = {fans_of[uid][-1]: MIN_FANS for uid in level}
    fans = dict.fromkeys(range(100_000), 0) | dict.fromkeys(level, 99) | {1: 60} | kept
    graph, users = Graph(fans_of, fans), open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    fetcher = _Emptied(graph, Random(0))
    fetcher.silent = frozenset(f"fans/{uid}/2" for uid in level if uid % 4 == 0)
    fetcher.emptied = frozenset(f"fans/{uid}/3" for uid in level if uid % 8 == 0)
    asyncio.run(make_run(users, fetcher)[0].run())
    assert {user.uid: user.depth for user in users.users()} == graph.depths([1], MIN_FANS)
    users.close()


def test_a_seed_that_shows_nothing_is_no_fact(tmp_path: Path) -> None:
    """Law 4: a seed that the site says nothing about is neither gone nor failed while it says
    nothing about anybody; where it shows others, it is failed, to be asked for again."""
    graph = Graph({1: [2]}, {1: 99, 2: 90})
    with pytest.raises(SiteSaysNo, match="the profile: empty"):
        harvest(tmp_path, graph, [1], profiles=Verdict.EMPTY, max_failed_share=0.2)
    users = open_users(tmp_path)
    assert [user.state for user in users.users()] == ["queued"]
    users.close()
    fetcher = ScriptedFetcher(graph, Random(0))
    fetcher.trouble = {(1, Verdict.EMPTY): 99}
    fetcher.troubled = Kind.PROFILE
    users = open_users(tmp_path)
    users.add_seeds([Found(3, "")], "run", 1.0)
    asyncio.run(make_run(users, fetcher)[0].run())
    assert {user.uid: user.state for user in users.users()} == {1: "failed", 3: "done"}
    users.close()


@pytest.mark.parametrize("profiles", [Verdict.DRIFTED, Verdict.LOGIN_WALL])
def test_an_empty_list_behind_an_unread_profile_is_unsure(
    tmp_path: Path, profiles: Verdict
) -> None:
    """Law 4: where nobody knows how many fans a seed announces, no list is not an empty one. Its
    name and fans are null, and each later run asks for the profile once more."""
    graph = Graph({1: [], 2: [3]}, {1: 99, 2: 91, 3: 90})
    _, _, counters, _ = harvest(tmp_path, graph, [1, 2], profiles=profiles)
    assert counters["entries.rested"] == 1
    users = open_users(tmp_path)
    assert users.unsure_lists() == 1
    assert "before their announced count" in users.depths_are_bounds()
    assert {(u.screen_name, u.fans) for u in users.users() if u.depth == 0} == {(None, None)}
    users.close()
    _, _, counters, asked = harvest(tmp_path, graph, [1, 2], profiles=profiles)
    assert sorted(asked) == ["profile/1", "profile/2"]
    assert counters["entries.failed"] == 0
    _, _, _, asked = harvest(tmp_path, graph, [1, 2])
    assert sorted(asked) == ["profile/1", "profile/2"]
    users = open_users(tmp_path)
    rows = {u.uid: (u.screen_name, u.fans, u.state) for u in users.users() if u.depth == 0}
    assert rows == {1: ("name 1", 99, "done"), 2: ("name 2", 91, "done")}
    users.close()
    assert harvest(tmp_path, graph, [1, 2])[3] == []


@pytest.mark.timeout(30)
def test_a_store_that_fails_while_settling_ends_the_run(tmp_path: Path) -> None:
    """Law 8: an error of the store ends the run loudly wherever it strikes; it never hangs."""
    users = open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    fetcher = ScriptedFetcher(Graph({}, {1: 99}), Random(0), {(1, Verdict.THROTTLED): 1})
    run, _ = make_run(users, fetcher)

    def rest(*_: object, **__: object) -> None:
        raise StoreError("the store is gone")

    users.rest = rest  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="the store is gone"):
        asyncio.run(run.run())
    users.close()


def test_a_user_who_is_gone_is_done(tmp_path: Path) -> None:
    """Law 5: gone is the user's, for ever; nobody else pays for it."""
    graph = Graph({1: [2, 3], 2: [4]}, {1: 99, 2: 99, 3: 99, 4: 99})
    depths, _, counters, _ = harvest(tmp_path, graph, [1], trouble={(2, Verdict.GONE): 2})
    assert set(depths) == {1, 2, 3}
    assert counters["entries.gone"] == 1


def test_who_shows_a_profile_is_not_gone(tmp_path: Path) -> None:
    """Law 4: a list that says that its owner is gone is contradicted by the owner's profile; the
    list is asked for again."""
    graph = Graph({1: [2, 3], 2: [4]}, {1: 99, 2: 99, 3: 99, 4: 99})
    depths, _, counters, _ = harvest(tmp_path, graph, [1], trouble={(2, Verdict.GONE): 1})
    assert set(depths) == {1, 2, 3, 4}
    assert counters["entries.gone"] == 0


class NamelessFetcher(ScriptedFetcher):
    """Profiles, and the list of user 1, show people without names."""

    async def fetch(self, ask: Ask) -> Fetched:
        fetched = await super().fetch(ask)
        reading, record = fetched.reading, fetched.reading.record
        if isinstance(record, User):
            record = replace(record, screen_name=None)
        elif isinstance(record, FanPage) and ask.request.uid == 1:
            users = tuple(replace(user, screen_name=None) for user in record.users)
            record = replace(record, users=users)
        return fetched._replace(reading=replace(reading, record=record))


@pytest.mark.parametrize("depths", [(None,), (1, None)], ids=["one run", "two runs"])
def test_a_name_that_a_list_shows_is_kept(tmp_path: Path, depths: tuple[int | None, ...]) -> None:
    """Law 15: a seed whose profile has no name, and who stood on a list without one, get the name
    that a later list shows; what no list shows stays unknown."""
    graph = Graph({1: [2, 3, 5], 2: [1, 3, 4]}, dict.fromkeys((1, 2, 3, 4, 5), 99))
    users = open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    for max_depth in depths:
        run, _ = make_run(users, NamelessFetcher(graph, Random(0)), max_depth=max_depth)
        asyncio.run(run.run())
    names = {user.uid: user.screen_name for user in users.users()}
    users.close()
    assert names == {1: "name 1", 2: None, 3: "name 3", 4: "name 4", 5: None}


class _SeededFetcher(ScriptedFetcher):
    """While one list is on its way somebody makes a seed of a user whom the walk holds."""

    def __init__(self, graph: Graph, users: SqliteUsers, url: str, uid: int) -> None:
        super().__init__(graph, Random(1))
        self._users, self._url, self._uid = users, url, uid

    async def fetch(self, ask: Ask) -> Fetched:
        if ask.request.url == self._url:
            self._url = ""  # it may be asked for again, as evidence
            while self._state() != State.LEASED:
                await asyncio.sleep(0.01)
            self._users.add_seeds([Found(self._uid, "")], "run", 2.0)
        return await super().fetch(ask)

    def _state(self) -> str:
        return next(user.state for user in self._users.users(uids=[self._uid]))


@pytest.mark.parametrize("uid", [3, 4], ids=["on its way", "not begun yet"])
def test_who_is_made_a_seed_while_they_are_held_is_walked(tmp_path: Path, uid: int) -> None:
    """Law 13: from then on all deeper pages wait for this entry, so it must not be taken for as
    deep as it was when it was claimed; nobody waits for ever."""
    graph = Graph({1: [2, 3], 2: [4], 3: [5], 4: [6]}, dict.fromkeys(range(1, 7), 50))
    users = open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    run, _ = make_run(users, _SeededFetcher(graph, users, "fans/3/", uid), concurrency=1)

    async def bounded() -> Ended:
        return await asyncio.wait_for(run.run(), 20.0)

    assert asyncio.run(bounded()).why == "nobody new is found"
    depths = {user.uid: user.depth for user in users.users()}
    users.close()
    assert depths[uid] == 0
    assert depths[{3: 5, 4: 6}[uid]] == 1


def test_two_processes_share_one_frontier(tmp_path: Path) -> None:
    """A run waits for what others hold; together they store the truth, each page once."""
    graph = random_graph(Random(11), 60, least=4)
    users = open_users(tmp_path)
    users.add_seeds([Found(1, ""), Found(2, "")], "run", 1.0)
    users.close()

    async def both() -> list[ScriptedFetcher]:
        fetchers = [ScriptedFetcher(graph, Random(n)) for n in (1, 2)]
        homes = [open_users(tmp_path) for _ in fetchers]
        runs = [make_run(home, fetcher)[0] for home, fetcher in zip(homes, fetchers, strict=True)]
        await asyncio.gather(*(run.run() for run in runs))
        for home in homes:
            home.close()
        return fetchers

    fetchers = asyncio.run(both())
    users = open_users(tmp_path)
    assert {u.uid: u.depth for u in users.users()} == graph.depths([1, 2], MIN_FANS)
    users.close()
    asked = [url for fetcher in fetchers for url in fetcher.asked]
    assert len(asked) == len(set(asked))


def test_two_lists_in_doubt_do_not_keep_an_entry_resting(tmp_path: Path) -> None:
    """Walls that nobody confirmed on both lists of a user: each is asked for twice, and the run
    ends; with one doubt remembered only, each would forget the other for ever."""

    class Doubtful(ScriptedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            request = ask.request
            fetched = await super().fetch(ask)
            if request.kind is not Kind.FANS or request.uid != 2:
                return fetched
            return fetched._replace(reading=Reading(Verdict.LOGIN_WALL, ambiguous=True))

    users = open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    graph = Graph({1: [2, 3]}, {1: 99, 2: 99, 3: 99})
    fetcher = Doubtful(graph, Random(1), None, Verdict.OK)
    run, _ = make_run(users, fetcher, edges=(Edge.FANS, Edge.FOLLOWS), edges_if_walled=())
    asyncio.run(asyncio.wait_for(run.run(), 20))
    assert sum(url.startswith("fans/2/") for url in fetcher.asked) <= 2 * 2 * Harvest().max_attempts
    users.close()


class _StallingFetcher(ScriptedFetcher):
    """One list is answered only when another one has been asked for."""

    def __init__(self, graph: Graph, stalls: str, until: str) -> None:
        super().__init__(graph, Random(1))
        self._stalls, self._until, self._is_asked = stalls, until, asyncio.Event()

    async def fetch(self, ask: Ask) -> Fetched:
        await asyncio.sleep(0.02)
        if ask.request.url == self._until:
            self._is_asked.set()
        if ask.request.url == self._stalls:
            await self._is_asked.wait()
        return await super().fetch(ask)


def test_who_waits_for_evidence_takes_nobodys_place(tmp_path: Path) -> None:
    """One list shows nothing, against its count, and waits for what others are shown; another one
    is not answered. That they have both places keeps nobody else from being walked."""
    seeds = list(range(1, 10))
    graph = Graph({uid: [20] for uid in seeds if uid != 2}, dict.fromkeys(seeds, 11) | {20: 3})
    users = open_users(tmp_path)
    users.add_seeds([Found(uid, "") for uid in seeds], "run", 1.0)
    run, counters = make_run(users, _StallingFetcher(graph, "fans/3/", "fans/9/"), concurrency=2)

    async def bounded() -> Ended:
        return await asyncio.wait_for(run.run(), 20.0)

    ended = asyncio.run(bounded())
    users.close()
    assert ended.why == "nobody new is found"
    assert counters["entries.done"] == len(seeds)


class _Broken(ScriptedFetcher):
    async def fetch(self, ask: Ask) -> Fetched:
        raise LookupError("no way by http://me:geheim@h:80")


def test_what_a_run_says_of_its_fault_holds_no_password(tmp_path: Path) -> None:
    """`status` shows it, and so does the database."""
    users = open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    run, _ = make_run(users, _Broken(Graph({1: []}, {1: 50}), Random(1)))
    with pytest.raises(LookupError):
        asyncio.run(run.run())
    (worker,) = users.workers("run")
    users.close()
    assert worker.ended == "failed: no way by http://***@h:80"


class _ClockThatGoesBack:
    """Each look at it shows an earlier time; what never goes back is the real one's."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self._now = 2e9

    def time(self) -> float:
        self._now -= 1.0
        return self._now


def test_a_clock_that_goes_back_keeps_no_lease_from_being_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 8: else processes elsewhere would take the entries for left; and the run ends in time."""
    monkeypatch.setattr("weibo_crawler.harvest.run.time", _ClockThatGoesBack())
    monkeypatch.setattr("weibo_crawler.harvest.run._REPORT_S", 0.01)
    users = open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    renewals: list[float] = []
    monkeypatch.setattr(users, "renew", lambda owner, *, now, lease_s: renewals.append(now))
    endless = Graph({uid: [uid + 1] for uid in range(1, 100_000)}, dict.fromkeys(range(99_999), 50))
    run, _ = make_run(users, ScriptedFetcher(endless, Random(1)), max_time_s=1.0, lease_s=0.1)
    ended = asyncio.run(run.run())
    users.close()
    assert ended.why == "harvest.max_time_s = 1 is over"
    assert len(renewals) > 1


class _ClockThatWasAhead:
    """As `time`, but ahead by a day until `right` is set."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self.is_right = False

    def time(self) -> float:
        return time.time() + (0 if self.is_right else 86_400)


def test_a_clock_that_is_set_back_lets_nobody_rest_for_as_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Laws 5, 13: who began to rest by a clock that was ahead for a moment would hold back its
    level, and the end of the run, until the right clock comes there."""
    clock = _ClockThatWasAhead()
    monkeypatch.setattr("weibo_crawler.harvest.run.time", clock)
    monkeypatch.setattr("weibo_crawler.harvest.claims.time", clock)
    monkeypatch.setattr("weibo_crawler.harvest.run._REPORT_S", 0.05)
    users = open_users(tmp_path)
    users.add_seeds([Found(1, "")], "run", 1.0)
    rest = users.rest

    def set_back(*args: Any, **how: Any) -> None:
        rest(*args, **how)
        clock.is_right = True

    monkeypatch.setattr(users, "rest", set_back)
    graph = Graph({1: [2], 2: [3], 3: []}, dict.fromkeys((1, 2, 3), 50))
    trouble = {(2, Verdict.SERVER_TROUBLE): 1}
    run, _ = make_run(users, ScriptedFetcher(graph, Random(1), trouble), max_time_s=5.0)
    ended = asyncio.run(run.run())
    users.close()
    assert ended.why == "nobody new is found"


def test_a_store_that_does_not_answer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits sees what for, though nothing else is told meanwhile; the run goes on."""
    monkeypatch.setattr("weibo_crawler.harvest.committer._LONG_S", 0.0)
    monkeypatch.setattr("weibo_crawler.harvest.run._REPORT_S", 0.01)
    users, is_told = open_users(tmp_path), threading.Event()
    users.add_seeds([Found(1, "")], "run", 1.0)
    report, waited = users.report, list[bool]()

    def hang(row: WorkerRow) -> None:
        waited.append(is_told.wait(20))
        report(row)

    def look() -> None:
        if "has not answered" in run.waits_for:
            is_told.set()

    monkeypatch.setattr(users, "report", hang)
    graph = Graph({1: [2], 2: []}, dict.fromkeys((1, 2), 50))
    run, _ = make_run(users, ScriptedFetcher(graph, Random(1)), progress=look)
    asyncio.run(run.run())
    users.close()
    assert all(waited)
    assert run.waits_for == ""


@pytest.mark.parametrize(("last", "unsure"), [([12, 13], 0), ([12], 0), ([12, 2], 1)])
def test_a_list_that_moves_while_it_is_read_is_unsure(
    tmp_path: Path, last: list[int], unsure: int
) -> None:
    """Law 4: as many places were shown as are announced, one user stood in two of them, so somebody
    else stood in none. A list that only hides somebody is what lists are."""
    fans = [*range(2, 12), *last]
    graph = Graph({1: fans}, dict.fromkeys(range(1, 14), 90) | {1: 12})
    harvest(tmp_path, graph, [1])
    users = open_users(tmp_path)
    assert users.unsure_lists() == unsure
    users.close()


def test_a_word_that_was_false_of_others_is_heard_twice(tmp_path: Path) -> None:
    """Law 4: once the site has called somebody gone whom it shows, the next one whom it calls gone
    is asked for again at a later visit."""
    graph = Graph({1: [2, 3], 2: [4], 3: [5], 4: [], 5: []}, dict.fromkeys(range(1, 6), 50))
    trouble = {(2, Verdict.GONE): 1, (3, Verdict.GONE): 2}
    depths, _, counters, _ = harvest(tmp_path, graph, [1], trouble=trouble, concurrency=1)
    assert (set(depths), counters["entries.gone"]) == ({1, 2, 3, 4, 5}, 0)
    later = tmp_path / "later"
    later.mkdir()
    trouble = {(2, Verdict.GONE): 1, (3, Verdict.GONE): 10**6}
    depths, _, counters, _ = harvest(later, graph, [1], trouble=trouble, concurrency=1)
    assert (set(depths), counters["entries.gone"]) == ({1, 2, 3, 4}, 1)


def test_a_seed_is_not_gone_by_one_word(tmp_path: Path) -> None:
    """Law 4: of anybody else list and profile say so; of a seed the profile alone does."""
    graph = Graph({1: [2], 2: []}, {1: 50, 2: 50})
    depths, _, counters, _ = harvest(tmp_path, graph, [1], trouble={(1, Verdict.GONE): 1})
    assert (set(depths), counters["entries.gone"]) == ({1, 2}, 0)

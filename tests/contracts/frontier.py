"""One suite for every home of the userlist: the laws of the frontier (laws 3, 8, 13).

A backend adds a subclass with `open`, which opens the same database again at each call.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.contracts.frontier_processes import SEEDS, seed, true_depths, walk
from tests.examples import examples
from tests.processes import CLEAN
from weibo_crawler.harvest.trouble import Unsure
from weibo_crawler.records import LONGEST_CLAIM_S, Edge, Id, State
from weibo_crawler.store import (
    WALLED,
    Entry,
    Found,
    Landed,
    Landing,
    OpenEntries,
    PageCommit,
    Progress,
    ReadLists,
    SeenPage,
    Topic,
    TopicPage,
    WalledEdge,
    WorkerRow,
)
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.notes import DRIVER, STOP
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sql.walk import Frontier

NOW, DAY_S = 1_700_000_000.0, 86_400.0
# one home, empty or not, serves all examples of a test, and each home's class runs the test
SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def found(*uids: int, fans: int = 50) -> tuple[Found, ...]:
    return tuple(Found(uid, f"https://m.weibo.cn/u/{uid}", f"name {uid}", fans) for uid in uids)


def page(entry: Entry, *uids: int, ended: str | None = None, edge: Edge = Edge.FANS) -> PageCommit:
    """The next page of the entry's list, with these users on it."""
    before = entry.progress[edge]
    number = before.pages + 1
    return PageCommit(
        uid=entry.uid,
        edge=edge,
        cursor=before.cursor,
        after=Progress(str(number + 1), tuple(uids), before.listed + len(uids), number),
        found=found(*uids),
        fetched_at=NOW,
        ended=ended,
        last=ended is not None,
    )


def topic_page(before: Topic, *uids: int, state: str = "done", sure: bool = True) -> TopicPage:
    """The next page of a topic, with these users on it."""
    n = before.pages + bool(uids)
    cursor = str(n + 1) if uids else before.cursor
    after = Topic(before.words, cursor, n, state, "why", NOW)
    return TopicPage(before, after, found(*uids), sure)


class FrontierContract:
    """Mixin; `frontier` is a fresh one for each test."""

    def open(self) -> Frontier:
        raise NotImplementedError

    @pytest.fixture
    def frontier(self) -> Iterator[Frontier]:
        frontier = self.open()
        yield frontier
        frontier.close()

    def claim(
        self, frontier: Frontier, owner: str = "me", n: int = 10, **more: object
    ) -> list[Entry]:
        how = {"edges": (Edge.FANS,), "deepest": 99, "now": NOW, "lease_s": 60.0} | more
        return frontier.claim(owner, n, **how)  # type: ignore[arg-type]

    def commit(
        self, frontier: Frontier, *pages: PageCommit, owner: str = "me", cap: int = 10**7
    ) -> Any:
        return frontier.commit(owner, "run", pages, max_users=cap)

    # -- the insert is the dedup

    def test_who_was_seen_is_stored_with_the_page(self, frontier: Frontier) -> None:
        """Laws 3, 7, 8: whom a page shows lands with its progress, or not at all; the same page,
        read again, replaces what it showed."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        one, two = self.claim(frontier, "me", 2)

        def land(page: PageCommit, owner: str = "me") -> Landing:
            return frontier.commit(owner, "run", [page], max_users=4)[0].landing

        first = page(one, 11)._replace(seen=(11, 12))
        again = first._replace(edge=Edge.REPOSTS, found=(), seen=(18,), fetched_at=NOW + 1)
        assert land(first) is Landing.STORED
        assert land(page(two, 13)._replace(seen=(13,)), "other") is Landing.LOST
        (deeper,) = self.claim(frontier)
        assert land(page(deeper, 14)._replace(seen=(14,))) is Landing.AHEAD
        assert land(page(two, 15, 16)._replace(seen=(15, 16))) is Landing.FULL
        assert list(frontier.seen_pages()) == [SeenPage(1, "fans", 0, NOW, (11, 12))]
        assert land(first._replace(cursor="2", nth=1, seen=(12, 2**63 - 1))) is Landing.STORED
        assert land(again) is Landing.STORED
        assert land(again._replace(cursor="2", seen=(17,))) is Landing.STORED
        assert land(again._replace(edge=Edge.COMMENTS, seen=())) is Landing.STORED
        shown = [
            SeenPage(1, "fans", 0, NOW, (11, 12)),
            SeenPage(1, "fans", 1, NOW, (12, 2**63 - 1)),
            SeenPage(1, "reposts", 0, NOW + 1, (17,)),
        ]
        assert list(frontier.seen_pages()) == shown
        assert list(frontier.seen_pages(owners=[2, 1, 1])) == shown
        assert list(frontier.seen_pages(owners=[2])) == []

    def test_what_was_read_is_kept_with_the_page(self, frontier: Frontier) -> None:
        """Laws 3, 7, 8: an answer lands with the page that it was read for, also where max_users
        left no room for all of its users, or not at all; the newest to an address stands."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        one, two = self.claim(frontier, "me", 2)
        old, new = (KeptPage("u/1?p=1", at, bytes([0, 255, at % 2])) for at in (1, 2))
        other = KeptPage("u/2", 3.5, b"x" * 100_000)

        def land(page: PageCommit, *kept: KeptPage, owner: str = "me") -> Landing:
            page = page._replace(kept=kept)
            return frontier.commit(owner, "run", [page], max_users=3)[0].landing

        assert land(page(two, 12), other, owner="other") is Landing.LOST
        assert frontier.kept_pages([1, 2]) == {}
        assert land(page(one, 11), new) is Landing.STORED
        (deeper,) = self.claim(frontier)
        assert land(page(deeper, 12), other) is Landing.AHEAD
        assert frontier.kept_pages([1, 2, 11]) == {1: [new]}
        assert land(page(two, 12), other) is Landing.FULL
        longest = old._replace(url="v" * 512)  # than any of the site's
        frontier.keep_pages(1, [old, longest])
        frontier.keep_pages(1, [old._replace(url="x" * 513)])
        kept = {1: [new, longest], 2: [other]}
        assert frontier.kept_pages([1, 2, 3]) == kept
        urls = {(uid, page.url) for uid, pages in kept.items() for page in pages}
        assert sorted(frontier.kept_urls()) == sorted(urls)
        assert frontier.kept_pages([]) == {}
        frontier.drop_pages({1: 1.0, 2: 3.0, 3: 9.0})
        frontier.drop_pages({})
        assert frontier.kept_pages([1, 2]) == {1: [new], 2: [other]}
        frontier.drop_pages({1: 2.0, 2: 3.5})
        assert frontier.kept_pages([1, 2]) == {}

    def test_a_user_is_stored_once(self, frontier: Frontier) -> None:
        """Law 3: whoever finds a user again, one row stands, as it was at first."""
        assert frontier.add_seeds(found(1), "run", NOW) == 1
        assert frontier.add_seeds(found(1), "run", NOW) == 0
        (entry,) = self.claim(frontier)
        assert self.commit(frontier, page(entry, 2, 3, 1))[0].inserted == 2
        assert [user.uid for user in frontier.users()] == [1, 2, 3]
        assert {user.uid: user.depth for user in frontier.users()} == {1: 0, 2: 1, 3: 1}
        assert {user.found_from for user in frontier.users() if user.uid != 1} == {1}

    def test_page_and_progress_survive_together(self, frontier: Frontier) -> None:
        """Law 8: after a reopening the owner's list goes on behind the stored page."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, 2, 3))
        frontier.close()
        again = self.open()
        again.give_back("me")
        entry = next(e for e in self.claim(again) if e.uid == 1)
        assert entry.progress[Edge.FANS] == Progress("2", (2, 3), 2, 1)
        again.close()

    def test_a_page_commits_once(self, frontier: Frontier) -> None:
        """Law 8: a page whose cursor moved is lost, not stored twice."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        first = page(entry, 2)
        assert self.commit(frontier, first)[0].landing is Landing.STORED
        assert self.commit(frontier, first)[0].landing is Landing.LOST

    def test_a_paused_process_writes_nothing(self, frontier: Frontier) -> None:
        """Law 8: a lease that ran out and went to another is not mine any more."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier, "sleeper")
        (other,) = self.claim(frontier, "other", now=NOW + 61)
        assert other.uid == 1
        assert self.commit(frontier, page(entry, 2), owner="sleeper")[0].landing is Landing.LOST
        assert not frontier.finish("sleeper", 1, State.DONE, "")
        assert [user.uid for user in frontier.users()] == [1]

    # -- claims

    def test_claims_are_exclusive_and_in_order(self, frontier: Frontier) -> None:
        """Every entry is handed out by (depth, seq), to one owner at a time."""
        frontier.add_seeds(found(5, 3, 9), "run", NOW)
        assert [e.uid for e in self.claim(frontier, "a", 2)] == [5, 3]
        assert [e.uid for e in self.claim(frontier, "b", 2)] == [9]
        assert self.claim(frontier, "c") == []

    def test_deepest_bounds_a_claim(self, frontier: Frontier) -> None:
        """A claim never reaches below the depth asked for."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, 2, ended="end"))
        assert self.claim(frontier, deepest=0) == []
        assert [e.uid for e in self.claim(frontier, deepest=1)] == [2]

    def test_a_renewed_lease_holds(self, frontier: Frontier) -> None:
        """Leases are short and renewed."""
        frontier.add_seeds(found(1), "run", NOW)
        self.claim(frontier, "a")
        frontier.renew("a", now=NOW + 50, lease_s=60)
        assert self.claim(frontier, "b", now=NOW + 100) == []
        assert [e.uid for e in self.claim(frontier, "b", now=NOW + 111)] == [1]

    def test_rest_counts_attempts_and_ends(self, frontier: Frontier) -> None:
        """An entry that rests is not claimed before its time; the attempt is remembered, until a
        page of it lands."""
        frontier.add_seeds(found(1), "run", NOW)
        self.claim(frontier)
        frontier.rest("me", 1, now=NOW, until=NOW + 5, why="timed out")
        assert frontier.states() == {"resting": 1}
        assert self.claim(frontier, now=NOW + 4) == []
        (entry,) = self.claim(frontier, now=NOW + 6)
        assert (entry.attempts, entry.last_error) == (1, "timed out")
        self.commit(frontier, page(entry, 2))
        frontier.give_back("me", [1])
        entry = next(e for e in self.claim(frontier) if e.uid == 1)
        assert (entry.attempts, entry.last_error) == (0, "")

    def test_a_dead_owner_is_reclaimed_at_once(self, frontier: Frontier) -> None:
        """Law 8: after kill -9 nobody waits for the lease to end."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        names = CLEAN.Queue()
        child = CLEAN.Process(target=_hold, args=(names,))
        child.start()
        owner = names.get(timeout=30)
        self.claim(frontier, owner, 1)
        self.claim(frontier, new_owner(), 1)
        assert frontier.reclaim_dead() == 0
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        assert frontier.reclaim_dead() == 1
        assert frontier.states() == {"queued": 1, "leased": 1}

    # -- exact depths

    def test_no_page_lands_above_an_open_level(self, frontier: Frontier) -> None:
        """Law 13: queued, leased and resting entries all hold deeper pages back."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        one, _ = self.claim(frontier)
        self.commit(frontier, page(one, 11, ended="end"))
        (deeper,) = self.claim(frontier)

        def claim_and_rest() -> None:
            self.claim(frontier)
            frontier.rest("me", 2, now=NOW, until=NOW, why="x")

        for holds_back in (
            lambda: None,  # leased
            lambda: frontier.give_back("me", [2]),  # queued
            claim_and_rest,
        ):
            holds_back()
            assert self.commit(frontier, page(deeper, 21))[0].landing is Landing.AHEAD
        assert frontier.open_level() == 0
        self.claim(frontier, now=NOW + 1, deepest=0)
        assert frontier.finish("me", 2, State.DONE, "")
        assert self.commit(frontier, page(deeper, 21))[0].landing is Landing.STORED

    def test_who_becomes_a_seed_while_leased_lands_as_one(self, frontier: Frontier) -> None:
        """Law 13: the depth of a page is that of its owner when it lands, not when it was claimed:
        it does not wait for the level that its own owner holds open, nor do others pass it."""
        frontier.add_seeds(found(1), "run", NOW)
        (one,) = self.claim(frontier)
        self.commit(frontier, page(one, 11, 12, ended="end"))
        (eleven, twelve) = self.claim(frontier)
        frontier.add_seeds(found(11), "run", NOW)
        assert self.commit(frontier, page(twelve, 22))[0].landing is Landing.AHEAD
        assert self.commit(frontier, page(eleven, 21, ended="end"))[0].landing is Landing.STORED
        assert self.commit(frontier, page(twelve, 22))[0].landing is Landing.STORED
        depths = {user.uid: user.depth for user in frontier.users()}
        assert depths == {1: 0, 11: 0, 12: 1, 21: 1, 22: 2}

    def test_who_rests_too_long_is_set_aside_and_said(self, frontier: Frontier) -> None:
        """Law 13: such an entry holds nobody back, and depths are called upper bounds."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        one, _ = self.claim(frontier)
        self.commit(frontier, page(one, 11, ended="end"))
        frontier.rest("me", 2, now=NOW, until=NOW + 9999, why="throttled")
        (deeper,) = self.claim(frontier)
        assert frontier.set_aside(now=NOW + 10, level_wait_s=60) == 0
        assert frontier.depths_are_bounds() == ""
        assert frontier.set_aside(now=NOW + 100, level_wait_s=60) == 1
        assert frontier.depths_are_bounds()
        assert self.commit(frontier, page(deeper, 21))[0].landing is Landing.STORED
        (late,) = self.claim(frontier, now=NOW + 10000, deepest=0)
        assert late.uid == 2
        assert self.commit(frontier, page(late, 31, ended="end"))[0].landing is Landing.STORED

    def test_who_is_put_off_comes_last_and_is_said(self, frontier: Frontier) -> None:
        """Law 13: such an entry holds nobody back, depths are called upper bounds, and it is handed
        out behind all others, or not at all; what was read of it stands."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        one, two = self.claim(frontier)
        half = page(two, 12)
        self.commit(frontier, page(one, 11, ended="end"), half)
        frontier.put_off("me", 2)
        frontier.put_off("somebody else", 11)
        assert frontier.depths_are_bounds()
        assert (frontier.open_level(), frontier.next_level()) == (1, 0)
        others = self.claim(frontier, n=1, with_aside=False)
        assert [entry.uid for entry in others] == [11]
        assert self.commit(frontier, page(others[0], 21))[0].landing is Landing.STORED
        assert [e.uid for e in self.claim(frontier, with_aside=False)] == [12, 21]
        assert self.claim(frontier, with_aside=False) == []
        (late,) = self.claim(frontier)
        assert (late.uid, late.progress[Edge.FANS]) == (2, half.after)
        assert self.commit(frontier, page(late, 31, ended="end"))[0].landing is Landing.STORED

    def test_who_is_put_off_comes_back_after_a_crash(self, frontier: Frontier) -> None:
        """Law 8: only the lease of who puts it off counts; a second time changes nothing."""
        frontier.add_seeds(found(1), "run", NOW)
        self.claim(frontier)
        frontier.put_off("somebody else", 1)
        assert frontier.states() == {"leased": 1}
        frontier.put_off("me", 1)
        frontier.put_off("me", 1)
        assert frontier.states() == {"queued": 1}
        assert [entry.uid for entry in self.claim(frontier)] == [1]

    def test_late_seeds_make_depths_bounds(self, frontier: Frontier) -> None:
        """Law 13: a seed after the walk began lifts a known user, and the run says so."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, 2, ended="end"))
        assert frontier.depths_are_bounds() == ""
        assert frontier.add_seeds(found(2), "run", NOW) == 0
        assert {user.uid: user.depth for user in frontier.users()} == {1: 0, 2: 0}
        assert frontier.depths_are_bounds()
        assert [user.uid for user in frontier.changed_users(NOW)] == [1, 2]

    # -- limits and figures

    def test_counts_by_seq(self, frontier: Frontier) -> None:
        """What an import compares: nobody at first; then everybody up to the largest seq, and
        without the last one up to the seq before."""
        assert (frontier.last_seq(), frontier.count_upto(10**9)) == (0, 0)
        frontier.add_seeds(found(1, 2, 3), "run", NOW)
        last = frontier.last_seq()
        assert [row.seq for row in frontier.users()][-1] == last
        assert (frontier.count_upto(last), frontier.count_upto(last - 1)) == (3, 2)

    def test_max_users_is_exact(self, frontier: Frontier) -> None:
        """Never more than max_users rows; the page that did not fit is read again later."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        landed = self.commit(frontier, page(entry, 2, 3, 4, 5), cap=3)
        assert [(one.landing, one.inserted) for one in landed] == [(Landing.FULL, 2)]
        assert len(list(frontier.users())) == 3
        assert self.commit(frontier, page(entry, 3, 2), cap=3)[0].landing is Landing.STORED

    def test_a_page_that_did_not_fit_is_whole_later(self, frontier: Frontier) -> None:
        """With a larger limit the same page stores the users that were left out."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        whole = page(entry, 2, 3, 4, 5)
        self.commit(frontier, whole, cap=3)
        assert self.commit(frontier, whole, cap=9)[0] == (Landing.STORED, 2)

    def test_who_is_set_aside_is_not_forgotten(self, frontier: Frontier) -> None:
        """Law 8: the walk is not over while anybody waits, whoever holds nobody back; and a rest
        from before this run is no long rest."""
        frontier.add_seeds(found(1), "run", NOW)
        self.claim(frontier)
        frontier.rest("me", 1, now=NOW, until=NOW + 5, why="throttled")
        frontier.begin_waiting(NOW + 5000, 3600)
        assert frontier.set_aside(now=NOW + 5010, level_wait_s=60) == 0
        assert frontier.set_aside(now=NOW + 5061, level_wait_s=60) == 1
        assert (frontier.open_level(), frontier.next_level()) == (None, 0)
        (entry,) = self.claim(frontier, now=NOW + 5061)
        frontier.finish("me", entry.uid, State.FAILED, "throttled")
        assert frontier.next_level() is None
        assert frontier.requeue_failed() == 1
        assert frontier.open_level() == 0

    def test_a_rest_by_a_wrong_clock_is_cut(self, frontier: Frontier) -> None:
        """A run that begins lets nobody rest longer than anybody does; shorter rests stay."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        self.claim(frontier)
        frontier.rest("me", 1, now=NOW, until=NOW + 10 * 86_400, why="throttled")
        frontier.rest("me", 2, now=NOW, until=NOW + 50, why="throttled")
        frontier.begin_waiting(NOW, 3600)
        assert [entry.uid for entry in self.claim(frontier, now=NOW + 51)] == [2]
        frontier.finish("me", 2, State.DONE, "")
        assert [entry.uid for entry in self.claim(frontier, now=NOW + 3601)] == [1]

    def test_a_lease_by_a_wrong_clock_is_cut(self, frontier: Frontier) -> None:
        """Of a process elsewhere, of which nobody here knows whether it lives: a run that begins
        waits for it no longer than leases can last; shorter ones stay."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        self.claim(frontier, owner="elsewhere/7/7/7", n=1, now=NOW + 400 * 86_400)
        self.claim(frontier, owner="elsewhere/8/8/8", n=1, now=NOW)
        frontier.begin_waiting(NOW, 3600)
        assert [entry.uid for entry in self.claim(frontier, now=NOW + 3601)] == [2]
        frontier.finish("me", 2, State.DONE, "")
        after = NOW + LONGEST_CLAIM_S + 1
        assert [entry.uid for entry in self.claim(frontier, now=after)] == [1]

    def test_a_list_that_ended_unsure_can_be_asked_again(self, frontier: Frontier) -> None:
        """Law 4: it goes on at the page that was not there."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, 2, ended="end")._replace(sure=False))
        assert frontier.unsure_lists() == 1
        self.claim(frontier)
        frontier.finish("me", 2, State.DONE, "")
        assert frontier.requeue_unheard() == 0  # somebody was found
        assert frontier.requeue_failed() == 1
        (entry,) = self.claim(frontier)
        assert (entry.uid, entry.progress[Edge.FANS].cursor) == (1, "2")
        assert frontier.unsure_lists() == 0

    def test_a_list_of_who_is_being_walked_waits_for_the_next_time(
        self, frontier: Frontier
    ) -> None:
        """Laws 8, 12: whoever walks the entry has read that list and ends without it, so it stays
        an unsure end, to be asked for later; that of a dead process is asked for at once."""
        frontier.add_seeds(found(1), "run", NOW)
        edges = (Edge.FANS, Edge.FOLLOWS)
        owner = new_owner()
        (entry,) = self.claim(frontier, owner, edges=edges)
        fans = page(entry, 2, ended="end")._replace(sure=False, last=False)
        self.commit(frontier, fans, owner=owner)
        assert frontier.requeue_failed() == 0
        assert frontier.unsure_lists() == 1
        self.commit(frontier, page(entry, ended="end", edge=Edge.FOLLOWS), owner=owner)
        assert frontier.requeue_failed() == 1
        dead = owner.rsplit("/", 2)[0] + "/0/dead"  # began at another time
        (entry,) = self.claim(frontier, dead, edges=edges, n=1)
        assert list(entry.progress) == [Edge.FANS]
        fans = page(entry, 2, ended="end")._replace(sure=False, last=False)
        self.commit(frontier, fans, owner=dead)
        frontier.requeue_failed()
        assert frontier.unsure_lists() == 0
        (entry, _) = self.claim(frontier, owner, edges=edges)
        assert list(entry.progress) == [Edge.FANS]

    def test_unsure_ends_are_asked_again_while_nobody_was_found(self, frontier: Frontier) -> None:
        """Law 4: the site may have shown nothing to anybody."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, ended="end")._replace(sure=False))
        assert frontier.requeue_unheard() == 1
        (entry,) = self.claim(frontier)
        first = page(entry, ended="end")._replace(sure=False, last=False)
        self.commit(frontier, first)
        assert frontier.requeue_unheard() == 0  # it is being walked
        mark = page(entry, ended=WALLED)._replace(after=Progress(), sure=False)
        self.commit(frontier, mark)
        assert frontier.requeue_unheard() == 0

    def test_a_list_that_is_walled_alone_waits_for_who_asks_for_it(
        self, frontier: Frontier
    ) -> None:
        """It is counted, and reopened by `requeue_failed` alone, as one that ended unsure is."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        for entry, sure in zip(self.claim(frontier), (True, False), strict=True):
            frontier.note_walled(Edge.FANS, NOW)
            mark = page(entry, ended=WALLED)._replace(after=Progress(), sure=sure)
            self.commit(frontier, mark)
        assert frontier.walled() == [WalledEdge(Edge.FANS, 2, NOW, 1)]
        ((_, uid),) = frontier.reopen_walled(Edge.FANS, after_seq=0, n=9)
        assert uid == 2
        assert frontier.reopen_walled(Edge.FANS, after_seq=0, n=9) == []
        assert frontier.walled() == [WalledEdge(Edge.FANS, 1, NOW, 1)]
        assert frontier.requeue_failed() == 1
        assert frontier.reopen_walled(Edge.FANS, after_seq=0, n=9) == []
        assert frontier.walled() == []
        assert {entry.uid for entry in self.claim(frontier)} == {1, 2}

    def test_walled_lists_are_counted_and_reopened_by_seq(self, frontier: Frontier) -> None:
        """A walled list is no unsure one; reopening goes on behind the last, and the time of the
        first wall stands as long as a walled list is left."""
        assert frontier.walled() == []
        frontier.add_seeds(found(3, 1, 2), "run", NOW)
        for entry in self.claim(frontier):
            frontier.note_walled(Edge.FANS, NOW + int(entry.uid))
            mark = page(entry, ended=WALLED)._replace(after=Progress(), sure=False)
            self.commit(frontier, mark)
        assert frontier.walled() == [WalledEdge(Edge.FANS, 3, NOW + 3)]
        assert frontier.unsure_lists() == 0
        assert frontier.reopen_walled(Edge.FOLLOWS, after_seq=0, n=9) == []
        (first, three), (second, one) = frontier.reopen_walled(Edge.FANS, after_seq=0, n=2)
        assert first < second
        assert (three, one) == (3, 1)
        assert [entry.uid for entry in self.claim(frontier)] == [3, 1]
        assert frontier.walled() == [WalledEdge(Edge.FANS, 1, NOW + 3)]
        ((third, _),) = frontier.reopen_walled(Edge.FANS, after_seq=second, n=2)
        assert third > second
        (entry,) = self.claim(frontier)
        assert (entry.uid, entry.progress) == (2, {Edge.FANS: Progress()})
        assert frontier.reopen_walled(Edge.FANS, after_seq=third, n=2) == []
        assert [one.lists for one in frontier.walled()] == [0]
        assert frontier.reopen_walled(Edge.FANS, after_seq=0, n=2) == []
        assert frontier.walled() == []

    def test_people_who_cannot_be_read_make_depths_bounds(self, frontier: Frontier) -> None:
        """Law 13: somebody on a page could not be read, and may be a shorter way to others; that
        the list goes on, and ends as announced, changes nothing."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, 2))
        assert frontier.depths_are_bounds() == ""
        later = entry._replace(progress={Edge.FANS: page(entry, 2).after})
        self.commit(frontier, page(later, 3)._replace(illegible=1))
        assert "could not be read" in frontier.depths_are_bounds()
        assert frontier.unsure_lists() == 0

    def test_the_first_reason_for_bounds_stands(self, frontier: Frontier) -> None:
        """Law 13: depths that became bounds stay bounds."""
        assert frontier.depths_are_bounds() == ""
        frontier.call_depths_bounds("one")
        frontier.call_depths_bounds("two")
        assert frontier.depths_are_bounds() == "one"

    def test_a_list_is_reopened_for_an_entry_that_is_queued_again(self, frontier: Frontier) -> None:
        """Two walled lists of one entry are both read again by its next walk."""
        edges = (Edge.FANS, Edge.FOLLOWS)
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier, edges=edges)
        for edge in edges:
            mark = page(entry, ended=WALLED, edge=edge)._replace(after=Progress(), sure=False)
            self.commit(frontier, mark._replace(last=edge == Edge.FOLLOWS))
        assert frontier.states() == {"done": 1}
        for edge in edges:
            assert len(frontier.reopen_walled(edge, after_seq=0, n=9)) == 1
        (entry,) = self.claim(frontier, edges=edges)
        assert set(entry.progress) == set(edges)

    def test_the_shallowest_goes_first(self, frontier: Frontier) -> None:
        """By (depth, seq): who is back from a rest goes before the queue of a larger depth."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        one, _ = self.claim(frontier)
        self.commit(frontier, page(one, 11, 12, ended="end"))
        frontier.rest("me", 2, now=NOW, until=NOW + 1, why="throttled")
        assert [e.uid for e in self.claim(frontier, n=2, now=NOW + 2)] == [2, 11]

    def test_a_doubted_end_costs_no_attempt(self, frontier: Frontier) -> None:
        """To ask again is no fault of the entry."""
        frontier.add_seeds(found(1), "run", NOW)
        self.claim(frontier)
        frontier.rest("me", 1, now=NOW, until=NOW, why="unsure", counts=False)
        (entry,) = self.claim(frontier, now=NOW + 1)
        assert (entry.attempts, entry.last_error) == (0, "unsure")

    def test_failed_entries_can_be_asked_again(self, frontier: Frontier) -> None:
        """`--retry-failed` puts them back, and says what that does to depths."""
        frontier.add_seeds(found(1), "run", NOW)
        self.claim(frontier)
        frontier.finish("me", 1, State.FAILED, "drifted")
        assert frontier.open_level() is None
        assert frontier.requeue_failed() == 1
        assert frontier.open_level() == 0
        assert frontier.depths_are_bounds()

    def test_a_user_who_failed_before_is_known_by_it(self, frontier: Frontier) -> None:
        """What `--retry-failed` asks for again is no first attempt, however it ended before."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        one, two = self.claim(frontier)
        assert not one.is_retried
        assert not two.is_retry
        frontier.finish("me", 1, State.FAILED, "drifted")
        self.commit(frontier, page(two, ended="end")._replace(sure=False))
        assert frontier.requeue_failed() == 2
        for entry in self.claim(frontier):
            assert (entry.is_retried, entry.is_retry, entry.attempts) == (True, True, 0)

    def test_what_is_not_known_is_null(self, frontier: Frontier) -> None:
        """A seed's name and fans are null until a profile tells them, each by itself; so are those
        of a user whom a page does not name."""
        frontier.add_seeds([Found(1, "url"), Found(2, "url", None, 7)], "run", NOW)
        one, two = self.claim(frontier)
        assert (one.screen_name, one.fans, one.is_unread) == (None, None, True)
        assert (two.screen_name, two.fans, two.is_unread) == (None, 7, False)
        nameless = page(one, 3)._replace(found=(Found(3, "url", None, 12),))
        self.commit(frontier, nameless)
        known = {user.uid: (user.screen_name, user.fans) for user in frontier.users()}
        assert known == {1: (None, None), 2: (None, 7), 3: (None, 12)}
        announced = {(one.depth, one.fans, one.entries) for one in frontier.open_entries()}
        assert announced == {(1, 12, 1), (0, 7, 1), (0, None, 1)}
        frontier.name_seed("me", 1, None, 0, NOW)
        frontier.name_seed("me", 2, "", None, NOW)
        known = {user.uid: (user.screen_name, user.fans) for user in frontier.users()}
        assert known == {1: (None, 0), 2: ("", None), 3: (None, 12)}

    def test_a_list_names_who_has_no_name(self, frontier: Frontier) -> None:
        """Who has a name keeps it, and a seed whose profile was not read is named by that; a new
        name is told to the next import."""
        seeds = [Found(1, "url", None, 7), Found(2, "url", "name", 7), Found(3, "url")]
        frontier.add_seeds(seeds, "run", NOW)
        for uid in (1, 2, 3, 4):
            frontier.name_kept(uid, "shown", NOW + 5)
        known = {user.uid: (user.screen_name, user.fans) for user in frontier.users()}
        assert known == {1: ("shown", 7), 2: ("name", 7), 3: (None, None)}
        assert [user.uid for user in frontier.changed_users(NOW + 5)] == [1]

    def test_who_gets_a_name_later_has_changed(self, frontier: Frontier) -> None:
        """Also who is no seed: an import that came before has the row without it."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry)._replace(found=(Found(4, "url", None, 7),)))
        frontier.name_kept(4, "shown", NOW + 50)
        assert [user.uid for user in frontier.changed_users(NOW + 50)] == [4]
        assert {user.uid: user.screen_name for user in frontier.users()}[4] == "shown"

    def test_lists_are_tallied(self, frontier: Frontier) -> None:
        """By edge and announced count: how many lists were begun, are over, are walled, their
        pages; and of which entries an end is in doubt."""
        frontier.add_seeds([Found(uid, "url", "name", 7) for uid in (1, 2, 3, 4)], "run", NOW)
        one, two, three, four = self.claim(frontier)
        self.commit(frontier, page(one, 8, ended="end"), page(two, 9))
        self.commit(frontier, page(three, ended=WALLED)._replace(after=three.progress[Edge.FANS]))
        frontier.add_seeds([Found(5, "url", "name", 9)], "run", NOW)
        (five,) = self.claim(frontier, edges=(Edge.FANS, Edge.COMMENTS), deepest=0)
        at = Progress("?8,9,11")
        self.commit(frontier, page(five)._replace(edge=Edge.COMMENTS, after=at, found=()))
        frontier.put_off("me", 5)
        doubt = str(Unsure(Edge.FANS))
        frontier.rest("me", four.uid, now=NOW, until=NOW, why=doubt, counts=False)
        assert set(frontier.read_lists()) == {
            ReadLists("comments", 9, True, False, False, 1, 0, 3),
            ReadLists("fans", 7, False, True, False, 1, 1),
            ReadLists("fans", 7, True, False, False, 1, 1),
            ReadLists("fans", 7, False, True, True, 1, 0),
        }
        assert set(frontier.open_entries()) == {
            OpenEntries(0, 7, False, 1),
            OpenEntries(0, 7, True, 1),
            OpenEntries(0, 9, False, 1, is_put_off=True),
            OpenEntries(1, 50, False, 2),
        }

    def test_unread_seeds_are_asked_for_again(self, frontier: Frontier) -> None:
        """Only seeds that are done, and of which neither name nor fans are known."""
        seeds = [
            Found(1, "url"),
            Found(2, "url", "name"),
            Found(3, "url", None, 5),
            Found(4, "url"),
        ]
        frontier.add_seeds(seeds, "run", NOW)
        for entry in self.claim(frontier, n=3):
            frontier.finish("me", entry.uid, State.DONE, "")
        assert frontier.requeue_unread() == 1
        assert [(e.uid, e.is_retried) for e in self.claim(frontier)] == [(1, True), (4, False)]
        assert frontier.requeue_unread() == 0
        assert frontier.depths_are_bounds() == ""

    @pytest.mark.parametrize(
        ("ended", "sure", "why"),
        [
            ("end", True, ""),
            ("end", False, "before their announced count"),
            (WALLED, False, "not shown"),
            (None, False, ""),
        ],
    )
    def test_a_list_cut_short_makes_depths_bounds(
        self, frontier: Frontier, ended: str | None, sure: bool, why: str
    ) -> None:
        """Law 13, from the moment when the end is stored: who is killed behind it has said so."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, 2, ended=ended)._replace(sure=sure))
        assert bool(frontier.depths_are_bounds()) is bool(why)
        assert why in frontier.depths_are_bounds()
        assert frontier.unsure_lists() == (ended == "end" and not sure)

    def test_a_claim_tells_walled_and_begun_lists(self, frontier: Frontier) -> None:
        """A list that nobody began has no row: it is to be walked, and is neither of the two."""
        edges = (Edge.FANS, Edge.FOLLOWS, Edge.REPOSTS)
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier, edges=edges)
        assert (set(entry.progress), entry.walled, entry.begun) == (set(edges), set(), set())
        mark = page(entry, ended=WALLED)._replace(after=Progress(), sure=False, last=False)
        self.commit(frontier, mark, page(entry, 2, edge=Edge.FOLLOWS))
        frontier.give_back("me")
        (entry,) = self.claim(frontier, edges=edges, n=1)
        assert set(entry.progress) == {Edge.FOLLOWS, Edge.REPOSTS}
        assert (entry.walled, entry.begun) == ({Edge.FANS}, {Edge.FOLLOWS})

    def test_the_forgotten_are_never_stored_again(self, frontier: Frontier) -> None:
        """Neither a page nor a seed brings them back, and no plain uid is kept."""
        frontier.add_seeds(found(1), "run", NOW)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, 2, 3, ended="end"))
        assert frontier.forget([2, 99]) == 1
        assert frontier.forget([2]) == 0
        (other,) = self.claim(frontier)
        assert self.commit(frontier, page(other, 2, 4))[0] == (Landing.STORED, 1)
        assert frontier.add_seeds(found(2, 99), "run", NOW) == 0
        assert [user.uid for user in frontier.users()] == [1, 3, 4]

    def test_users_of_a_topic_and_its_progress_survive_together(self, frontier: Frontier) -> None:
        """Law 8: who wrote the posts of a page stands one step from the seeds, found from nobody,
        and the next page follows."""
        assert frontier.add_topics(["#一#", "words"]) == 2
        assert frontier.add_topics(["words", "other"]) == 1
        assert frontier.topics() == [Topic("#一#"), Topic("other"), Topic("words")]
        page = topic_page(frontier.topics("queued")[0], 7, 8, state="queued")
        assert self.land(frontier, page) == (Landing.STORED, 2)
        again = self.open()
        assert next(again.users())[5:8] == (1, None, "topic")
        assert again.topics("queued")[0] == page.after
        again.close()

    def test_a_page_of_a_topic_lands_once(self, frontier: Frontier) -> None:
        """Two processes may read the same page: the second one writes nothing."""
        frontier.add_topics(["#一#"])
        (topic,) = frontier.topics()
        assert self.land(frontier, topic_page(topic, 7, state="queued")) == (Landing.STORED, 1)
        assert self.land(frontier, topic_page(topic, 7, 8)) == (Landing.LOST, 0)
        (topic,) = frontier.topics()
        assert self.land(frontier, topic_page(topic, 8)) == (Landing.STORED, 1)
        assert self.land(frontier, topic_page(topic, 9)) == (Landing.LOST, 0)
        assert frontier.topics("queued") == []

    @pytest.mark.parametrize("state", ["walled", "failed"])
    def test_an_unread_topic_is_read_by_the_next_run(self, frontier: Frontier, state: str) -> None:
        """It makes depths bounds (law 13), goes on where it ended, and is not read meanwhile."""
        frontier.add_topics(["#一#", "read"])
        one, other = frontier.topics()
        self.land(frontier, topic_page(other, 5))
        assert frontier.depths_are_bounds() == ""
        self.land(frontier, topic_page(one, 7, state="queued"))
        (one,) = frontier.topics("queued")
        self.land(frontier, topic_page(one, state=state))
        assert "shorter ways" in frontier.depths_are_bounds()
        assert [topic.words for topic in frontier.topics(state)] == ["#一#"]
        assert frontier.topics("queued") == []
        frontier.requeue_topics()
        (queued,) = frontier.topics("queued")
        assert (queued.words, queued.cursor, queued.pages, queued.why) == ("#一#", "2", 1, "")

    def test_a_topic_that_is_named_again_is_read_again(self, frontier: Frontier) -> None:
        """From its first page on."""
        frontier.add_topics(["#一#"])
        self.land(frontier, topic_page(frontier.topics()[0], 7))
        assert frontier.add_topics(["#一#"]) == 0
        (topic,) = frontier.topics("queued")
        assert (topic.cursor, topic.pages) == ("", 0)
        assert self.land(frontier, topic_page(topic, 7, 8)) == (Landing.STORED, 1)

    def test_people_of_a_topic_who_cannot_be_read_make_bounds(self, frontier: Frontier) -> None:
        """Law 13, as of a list."""
        frontier.add_topics(["#一#"])
        self.land(frontier, topic_page(frontier.topics()[0], 7, sure=False))
        assert "could not be read" in frontier.depths_are_bounds()

    def test_a_late_topic_makes_depths_bounds(self, frontier: Frontier) -> None:
        """Law 13: whom it shows may be a shorter way to who is two steps away, or more."""
        frontier.add_seeds(found(1), "run", NOW)
        frontier.add_topics(["#一#", "#二#"])
        one, other = frontier.topics()
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, 2, ended="end"))
        self.land(frontier, topic_page(one, 7))
        assert frontier.depths_are_bounds() == ""
        for entry in self.claim(frontier):
            self.commit(frontier, page(entry, 3, ended="end"))
        self.land(frontier, topic_page(other))
        assert "topics were added or read" in frontier.depths_are_bounds()

    def test_a_topic_that_is_added_late_makes_depths_bounds(self, frontier: Frontier) -> None:
        """Law 13: also before it is read."""
        frontier.add_seeds(found(1), "run", NOW)
        for depth in range(2):
            for entry in self.claim(frontier):
                self.commit(frontier, page(entry, depth + 2, ended="end"))
        assert frontier.depths_are_bounds() == ""
        frontier.add_topics(["#一#"])
        assert "topics were added or read" in frontier.depths_are_bounds()

    def test_max_users_is_exact_for_topics(self, frontier: Frontier) -> None:
        """Users who fit are stored; a page that does not fit is read again."""
        frontier.add_seeds(found(1), "run", NOW)
        frontier.add_topics(["#一#"])
        whole = topic_page(frontier.topics()[0], 1, 2, 3, 4)
        assert self.land(frontier, whole, cap=3) == (Landing.FULL, 2)
        assert frontier.topics("queued") == [Topic("#一#")]
        assert self.land(frontier, whole, cap=4) == (Landing.STORED, 1)
        assert [row.uid for row in frontier.users()] == [1, 2, 3, 4]

    def test_a_topic_brings_nobody_back(self, frontier: Frontier) -> None:
        """Who was forgotten is left out of a page."""
        frontier.add_topics(["#一#"])
        frontier.forget([7])
        assert self.land(frontier, topic_page(frontier.topics()[0], 7, 8)) == (Landing.STORED, 1)
        assert [row.uid for row in frontier.users()] == [8]

    def land(self, frontier: Frontier, page: TopicPage, cap: int = 10**6) -> Landed:
        return frontier.commit_topic(page, "run", max_users=cap)

    def test_a_worker_row_is_absolute(self, frontier: Frontier) -> None:
        """Law 8: figures are rewritten, never incremented."""
        row = WorkerRow("run", "me", "harvest", NOW, NOW, None, {"page.ok": 3})
        for ok in (3, 7):
            frontier.report(row._replace(counters={"page.ok": ok}))
        assert [w.counters for w in frontier.workers()] == [{"page.ok": 7}]

    def test_the_workers_of_one_run_are_told_apart(self, frontier: Frontier) -> None:
        """Of a run by its name; of all runs without one."""
        row = WorkerRow("run", "me", "posts", NOW, NOW, None, {})
        for run_id, worker in (("run", "me"), ("run", "you"), ("other", "me")):
            frontier.report(row._replace(run_id=run_id, worker=worker))
        assert {w.worker for w in frontier.workers("run")} == {"me", "you"}
        assert [w.run_id for w in frontier.workers("other")] == ["other"]
        assert frontier.workers("nobody") == []
        assert len(frontier.workers()) == 3

    def test_runs_long_past_are_summed_up(self, frontier: Frontier) -> None:
        """Their rows become one a stage with the same sums and the same last word, their notes for
        mappers go; a run that is at work keeps every row, also of workers that ended long ago."""
        long_ago, old, day = NOW - 90 * DAY_S, NOW - 60 * DAY_S, "20200101T000000Z-"
        rows = [
            WorkerRow(f"{day}a", "x", "posts", long_ago, long_ago, "done", {"page.ok": 3}),
            WorkerRow(f"{day}b", "x", "posts", old, old, "interrupted", {"page.ok": 4}),
            WorkerRow(f"{day}b", "y", "posts", old - 9, old - 9, None, {"page.gone": 1}),
            WorkerRow(f"{day}b", "z", "harvest", old, old, None, {"page.ok": 7}),
            WorkerRow(f"{day}c", "x", "posts", old, old, "done", {"page.ok": 11}),
            WorkerRow(f"{day}c", "y", "posts", old, NOW - 5, None, {"page.ok": 13}),
        ]
        for row in rows:
            frontier.report(row)
        beats = [DRIVER.of(f"{day}{run}") for run in "bcd"]
        stops = [STOP.of(f"{day}{run}") for run in "bcd"]
        others = [DRIVER.of("of another form"), STOP.of("20991231T000000Z-e")]
        written: list[Any] = [*beats, *stops, *others]
        notes = [note.name for note in written]
        for name in notes:
            frontier.set_meta(name, "1")
        for _ in range(2):
            with closing(self.open()) as later:  # a process that was just started
                later.report(WorkerRow("now", "me", "posts", NOW, NOW, None, {}))
                assert {(w.run_id, w.worker) for w in later.workers()} == {
                    *(("past", "posts"), ("past", "harvest"), ("now", "me")),
                    *((f"{day}c", "x"), (f"{day}c", "y")),
                }
                past = {w.stage: w for w in later.workers() if w.run_id == "past"}
                assert past["posts"][3:] == (
                    *(long_ago, old, "interrupted", {"page.ok": 7, "page.gone": 1}),
                )
                assert past["harvest"][3:] == (old, old, None, {"page.ok": 7})
                left = [name for name in notes if later.get_meta(name) is not None]
                assert left == [beats[1].name, stops[1].name, *notes[-2:]]

    def test_who_comes_at_once_sums_up_once(self, frontier: Frontier) -> None:
        """All mappers of a job begin together; nothing is counted twice."""
        old = NOW - 60 * DAY_S
        frontier.report(WorkerRow("now", "first", "posts", old, old, None, {}))
        for n in range(50):
            frontier.report(WorkerRow(f"old {n}", "x", "posts", old, old, "done", {"page.ok": 1}))

        def begin(n: int) -> None:
            with closing(self.open()) as mine:
                mine.report(WorkerRow("now", f"{n}", "posts", NOW, NOW, None, {}))

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(begin, range(6)))
        rows = frontier.workers()
        assert [row.counters for row in rows if row.run_id == "past"] == [{"page.ok": 50}]
        assert len(rows) == 1 + 1 + 6

    def test_meta_is_kept(self, frontier: Frontier) -> None:
        """A note can be written, overwritten and read."""
        assert frontier.get_meta("x") is None
        frontier.set_meta("x", "1")
        frontier.set_meta("x", "2")
        assert frontier.get_meta("x") == "2"

    def test_a_note_is_changed_with_nobody_in_between(self, frontier: Frontier) -> None:
        """Many processes add to one note at the same time: each word counts."""
        frontier.set_meta("x", "0")

        def add(n: int) -> None:
            with closing(self.open()) as mine:
                for _ in range(10):
                    mine.change_meta("x", lambda before: f"{int(before or 0) + 1}")
                    mine.change_meta(f"y{n % 2}", lambda before: f"{int(before or 0) + 1}")

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(add, range(4)))
        assert [frontier.get_meta(name) for name in ("x", "y0", "y1")] == ["40", "20", "20"]

    # -- what is written is what is read

    @examples(60, suppress_health_check=SHARED)
    @given(name=texts, url=texts, why=texts, at=st.floats(0, 1e11))
    def test_any_text_and_time_come_back(
        self, frontier: Frontier, name: str, url: str, why: str, at: float
    ) -> None:
        """Names hold emoji, quotes, backslashes, blanks at their ends; nothing is cut or changed,
        nor is a time rounded."""
        uid = 1 + max((int(user.uid) for user in frontier.users()), default=0)
        frontier.add_seeds([Found(uid, url, name, 7)], "run", at)
        (entry,) = self.claim(frontier, deepest=0)
        assert (entry.uid, entry.screen_name) == (uid, name)
        frontier.rest("me", uid, now=NOW, until=NOW, why=why)
        (entry,) = self.claim(frontier)
        assert entry.last_error == why
        listing = page(entry)._replace(after=Progress(name, (uid,), 1, 1))
        self.commit(frontier, listing)
        frontier.give_back("me", [uid])
        (entry,) = self.claim(frontier)
        assert entry.progress[Edge.FANS] == Progress(name, (uid,), 1, 1)
        frontier.finish("me", uid, State.DONE, "")
        (user,) = frontier.users(uids=[uid])
        assert (user.url, user.screen_name, user.found_at) == (url, name, at)

    def test_long_names_and_large_ids_are_kept(self, frontier: Frontier) -> None:
        """Nothing is cut: names of some thousand characters, ids of 63 bits."""
        long = "很长的名字🐈" * 1000
        top = 2**63 - 1
        assert frontier.add_seeds([Found(top, long, long, 10**12)], "run", NOW) == 1
        (user,) = frontier.users()
        assert (user.uid, user.url, user.screen_name, user.fans) == (top, long, long, 10**12)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, top - 1, top))
        frontier.give_back("me")
        entry = self.claim(frontier)[0]
        assert entry.progress[Edge.FANS].last_ids == (top - 1, top)
        assert sorted(frontier.known_ids()) == [top - 1, top]

    def test_a_page_keeps_the_order_of_the_site(self, frontier: Frontier) -> None:
        """Entries of a page are handed out as the list showed them, whatever their ids."""
        frontier.add_seeds(found(50), "run", NOW)
        (entry,) = self.claim(frontier)
        self.commit(frontier, page(entry, 9, 60, 3, 9, 41, ended="end"))
        assert [e.uid for e in self.claim(frontier)] == [9, 60, 3, 41]
        assert [user.uid for user in frontier.users()] == [50, 9, 60, 3, 41]

    def test_pages_share_a_transaction(self, frontier: Frontier) -> None:
        """Law 3: of a batch each page lands by itself; who stands on two is counted once; a page
        builds on the one before it."""
        frontier.add_seeds(found(1, 2), "run", NOW)
        one, two = self.claim(frontier, edges=(Edge.FANS, Edge.FOLLOWS))
        first = page(one, 11, 12)
        second = page(one._replace(progress={Edge.FANS: first.after}), 12, 13, ended="end")
        late = page(one, 98, edge=Edge.FOLLOWS)  # the entry is done by then
        stray = page(two, 99)._replace(cursor="elsewhere")
        landed = self.commit(frontier, first, stray, page(two, 13, 14), second, second, late)
        stored, lost = Landing.STORED, Landing.LOST
        assert landed == [(stored, 2), (lost, 0), (stored, 2), (stored, 0), (lost, 0), (lost, 0)]
        assert [user.uid for user in frontier.users()] == [1, 2, 11, 12, 13, 14]
        assert frontier.states() == {"done": 1, "leased": 1, "queued": 4}
        assert self.commit(frontier) == []

    # -- several processes

    def start_walks(self, n: int, max_users: int = 10**7) -> list[tuple[Any, Connection, str]]:
        """So many processes that harvest this frontier: each with its pipe and its owner's name.
        They begin together: else the first might be done before the last has started."""
        walks = []
        for _ in range(n):
            here, there = CLEAN.Pipe()
            process = CLEAN.Process(target=walk, args=(self.open, there, max_users))
            process.start()
            there.close()
            walks.append((process, here))
        named = [(process, here, here.recv()) for process, here in walks]
        for _, here in walks:
            here.send("go")
        return named

    def test_several_processes_harvest_one_frontier(self, frontier: Frontier) -> None:
        """Laws 3, 8, 13: three processes, one of them killed with -9, store everybody once and at
        the true depth; a reader by seq beside them passes over nobody."""
        frontier.add_seeds(seed(SEEDS), "run", NOW)
        (killed, pipe, _), *others = self.start_walks(3)
        read = list[Id]()
        last = 0
        while any(process.is_alive() for process, _, _ in others):
            for user in frontier.users(after_seq=last):
                assert user.seq > last
                read.append(user.uid)
                last = user.seq
            if len(read) > 50 and killed.is_alive():
                killed.kill()
            time.sleep(0.005)  # the walks are to have the processor
        read += [user.uid for user in frontier.users(after_seq=last)]
        killed.join()
        assert killed.exitcode == -signal.SIGKILL
        pipe.close()
        for process, here, _ in others:
            process.join()
            assert process.exitcode == 0
            here.close()
        truth = true_depths()
        users = {user.uid: user for user in frontier.users()}
        assert sorted(read) == sorted(users) == sorted(truth)
        assert {uid: user.depth for uid, user in users.items()} == truth
        assert all(
            users[user.found_from].depth == user.depth - 1
            for user in users.values()
            if user.found_from is not None
        )
        assert frontier.states() == {"done": len(truth)}
        assert frontier.depths_are_bounds() == ""

    def test_max_users_is_exact_for_several_processes(self, frontier: Frontier) -> None:
        """However many store at once, max_users rows stand at the end, each counted by one."""
        frontier.add_seeds(seed(SEEDS), "run", NOW)
        inserted = 0
        for process, here, _ in self.start_walks(3, max_users=333):
            inserted += here.recv()
            here.close()
            process.join()
            assert process.exitcode == 0
        assert len(list(frontier.known_ids())) == 333 == inserted + len(SEEDS)

    @examples(40, suppress_health_check=SHARED)
    @given(
        steps=st.lists(
            st.tuples(
                st.sampled_from(["claim", "finish", "rest", "back", "renew"]),
                st.sampled_from(["a", "b"]),
                st.floats(0, 50),
            ),
            max_size=30,
        )
    )
    def test_every_entry_is_handed_out_until_it_ends(
        self, frontier: Frontier, steps: list[tuple[str, str, float]]
    ) -> None:
        """Whatever two owners do, each entry ends exactly once and none is ever held by both."""
        offset = max((int(user.uid) for user in frontier.users()), default=0)
        uids = [offset + i for i in range(1, 6)]
        frontier.add_seeds(found(*uids), "run", NOW)
        now, held, ended = NOW, {"a": set[int](), "b": set[int]()}, list[int]()
        last = [("claim", "a", 100.0), *[("finish", "a", 0.0)] * len(uids)]
        for act, owner, wait in [*steps, *last]:
            now += wait
            if act == "claim":
                new = {e.uid for e in self.claim(frontier, owner, 5, now=now)}
                held["b" if owner == "a" else "a"] -= new  # whose lease ran out
                held[owner] |= new
            elif act == "renew":
                frontier.renew(owner, now=now, lease_s=60)
            elif act == "back":
                frontier.give_back(owner)
                held[owner].clear()
            elif held[owner]:
                uid = held[owner].pop()
                if act == "rest":
                    frontier.rest(owner, uid, now=now, until=now + 5, why="")
                elif frontier.finish(owner, uid, State.DONE, ""):
                    ended.append(uid)
            assert not held["a"] & held["b"]
        assert sorted(ended) == uids


def _hold(names: "multiprocessing.Queue[str]") -> None:
    names.put(new_owner())
    time.sleep(60)

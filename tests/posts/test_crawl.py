"""The body of the map job over a scripted site and real SQLite stores."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.posts.crawls import Crawl, timeline
from tests.posts.worlds import ScriptedFetcher, post
from tests.stores import claims_at
from weibo_crawler.cli.posts import posts_line
from weibo_crawler.errors import Interrupted, SiteSaysNo, StoreError
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts import crawl, orders
from weibo_crawler.posts.due import holds_users, users_in
from weibo_crawler.posts.manifest import manifest, parse_line
from weibo_crawler.posts.profile import UNCOUNTED
from weibo_crawler.records import Expect, Id, Kind, Post, PostPage, Reading, Verdict
from weibo_crawler.samples import Samples
from weibo_crawler.store import Put
from weibo_crawler.store.notes import DRIVER, LOOKS, STOP
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.rows.cells import Ledger, ledger_cells
from weibo_crawler.store.rows.keys import posts_prefix, user_key
from weibo_crawler.store.sql.visits import VisitClaims
from weibo_crawler.store.sqlite.base import Database
from weibo_crawler.store.sqlite.components import SCHEMAS
from weibo_crawler.store.sqlite.tables import SqliteTables


def test_every_post_of_every_user_is_stored_once(crawl_: Crawl) -> None:
    """Laws 6, 7: all posts, one outcome a user; a second run fetches nothing."""
    crawl_.add(6, 68, 7)
    world = {6: timeline(6, 25), 68: timeline(68, 3), 7: []}
    outcomes = crawl_.run(ScriptedFetcher(world))
    assert {uid: o.status for uid, o in outcomes.items()} == {
        6: "stored",
        68: "stored",
        7: "unchanged",
    }
    assert {uid: o.new for uid, o in outcomes.items()} == {6: 25, 68: 3, 7: 0}
    assert {uid: set(crawl_.posts(uid)) for uid in world} == {
        uid: {p.mid for p in posts} for uid, posts in world.items()
    }
    again = ScriptedFetcher(world)
    assert {o.status for o in crawl_.run(again).values()} == {"existing"}
    assert again.asked == []


def test_profile_and_ledger_say_what_was_seen(crawl_: Crawl) -> None:
    """Law 12: announced, stored, pages, why it stopped, when."""
    crawl_.add(6)
    crawl_.run(ScriptedFetcher({6: timeline(6, 25)}))
    ledger = crawl_.ledger(6)
    assert (ledger.state, ledger.announced, ledger.stored, ledger.pages) == ("done", 25, 25, 3)
    assert (ledger.stopped, ledger.sure, ledger.cursor) == ("end", True, None)
    assert ledger.visited_at is not None
    assert crawl_.tables.userlist.row(user_key(6), ["profile:screen_name"]) == {
        "profile:screen_name": "name 6"
    }


def test_long_texts_are_completed_or_marked(crawl_: Crawl) -> None:
    """A cut text is never passed off as whole; a later visit mends it."""
    crawl_.add(6)
    world = {6: [post(6, mid, text="begin ...", text_complete=False) for mid in (3, 2, 1)]}
    outcome = crawl_.run(ScriptedFetcher(world, texts={3: "begin whole 3"}))[6]
    assert (outcome.completed, outcome.cut) == (1, 2)
    stored = crawl_.posts(6)
    assert (stored[3]["text"], stored[3]["text_complete"]) == ("begin whole 3", True)
    assert (stored[2]["text"], stored[2]["text_complete"]) == ("begin ...", False)
    assert crawl_.ledger(6).cut == (1, 2)
    mended = ScriptedFetcher(
        world, texts={1: "begin whole 1", 2: "begin whole 2", 3: "begin whole 3"}
    )
    assert crawl_.run(mended, refresh=True)[6].cut == 0
    assert "extend/3" not in mended.asked
    assert {p["text"] for p in crawl_.posts(6).values()} == {
        "begin whole 1",
        "begin whole 2",
        "begin whole 3",
    }


def test_a_text_that_fails_by_every_way_is_asked_once_more(crawl_: Crawl) -> None:
    """Passing trouble on all ways to a whole text leaves none cut."""
    crawl_.add(6)
    world = {6: [post(6, 1, text="begin ...", text_complete=False)]}
    trouble = {f"{way}/1": [Verdict.EMPTY] for way in ("extend", "show")}
    crawl_.run(ScriptedFetcher(world, texts={1: "begin whole"}, trouble=trouble))
    assert crawl_.posts(6)[1]["text"] == "begin whole"


def test_a_cut_text_off_the_visited_pages_is_mended(crawl_: Crawl) -> None:
    """The repair queue does not depend on meeting the post again."""
    crawl_.add(6)
    old = post(6, 1, text="begin ...", text_complete=False)
    crawl_.run(ScriptedFetcher({6: [*timeline(6, 25), old]}))
    assert crawl_.ledger(6).cut == (1,)
    fetcher = ScriptedFetcher({6: [*timeline(6, 25), old]}, texts={1: "begin whole"})
    crawl_.run(fetcher, refresh=True)
    assert fetcher.asked.count("posts/6/2") == 0
    assert crawl_.posts(6)[1]["text"] == "begin whole"


def test_refresh_reads_new_posts_only_and_passes_pinned_ones(crawl_: Crawl) -> None:
    """Coming back stops at what is known in its place, not at a pinned post."""
    crawl_.add(6)
    old = timeline(6, 45)
    crawl_.run(ScriptedFetcher({6: old}))
    new = timeline(6, 12, first=9000)
    fetcher = ScriptedFetcher({6: [*new, *old]}, pinned={6: old[40]})
    outcome = crawl_.run(fetcher, refresh=True)[6]
    assert (outcome.status, outcome.new, outcome.stored) == ("stored", 12, 57)
    assert fetcher.asked == ["posts/6/", "posts/6/2"]
    assert set(crawl_.posts(6)) == {p.mid for p in [*new, *old]}
    assert crawl_.run(ScriptedFetcher({6: [*new, *old]}), refresh=True)[6].status == "unchanged"


@pytest.mark.parametrize("new", [0, 1, 5, 9, 10, 19, 25])
def test_no_page_is_asked_for_behind_what_is_known(crawl_: Crawl, new: int) -> None:
    """Where new posts stand directly above the newest known one, the page that shows it is the last
    one; nothing is missing then, and there is no gap."""
    crawl_.add(6)
    old = timeline(6, 45)
    crawl_.run(ScriptedFetcher({6: old}))
    posts = [*timeline(6, new, first=9000), *old]
    fetcher = ScriptedFetcher({6: posts})
    crawl_.run(fetcher, refresh=True)
    assert len(fetcher.asked) == 1 + new // 10
    assert set(crawl_.posts(6)) == {post.mid for post in posts}
    assert (crawl_.ledger(6).gaps, crawl_.ledger(6).whole) == ((), True)


@pytest.mark.parametrize("strays", [1, 3, 9])
def test_a_stray_old_post_is_not_what_is_known(crawl_: Crawl, strays: int) -> None:
    """A page may show old posts below new ones, out of their places: the visit reads on."""
    crawl_.add(6)
    old = timeline(6, 45)
    crawl_.run(ScriptedFetcher({6: old}))
    new = timeline(6, 20, first=9000)
    first = 10 - strays
    posts = [*new[:first], *old[5 : 5 + strays], *new[first:], *old]
    crawl_.run(ScriptedFetcher({6: posts}), refresh=True)
    assert set(crawl_.posts(6)) == {post.mid for post in posts}


@pytest.mark.parametrize(("deleted", "pages"), [(1, 1), (3, 1), (4, 2)])
def test_the_newest_known_posts_may_be_deleted(crawl_: Crawl, deleted: int, pages: int) -> None:
    """A few of them cost no second page, and are marked as gone by the word about one."""
    crawl_.add(6)
    old = timeline(6, 45)
    crawl_.run(ScriptedFetcher({6: old}))
    posts = [*timeline(6, 5, first=9000), *old[deleted:]]
    fetcher = ScriptedFetcher({6: posts}, said={old[0].mid: Verdict.GONE})
    crawl_.run(fetcher, refresh=True)
    assert fetcher.asked == ["posts/6/", f"show/{old[0].mid}", "posts/6/2"][: 1 + pages]
    assert set(crawl_.ledger(6).gone) == {post.mid for post in old[:deleted]}


@pytest.mark.parametrize("new", [0, 1, 5, 12])
def test_a_deletion_further_down_is_looked_for(crawl_: Crawl, new: int) -> None:
    """Where fewer posts are announced than are held with the new ones, the visit reads on."""
    crawl_.add(6)
    old = timeline(6, 45)
    crawl_.run(ScriptedFetcher({6: old}))
    left = [*timeline(6, new, first=9000), *old[:27], *old[28:]]
    crawl_.run(ScriptedFetcher({6: left}), refresh=True)
    assert crawl_.ledger(6).gone == (old[27].mid,)


def test_pinned_wins_over_its_place(crawl_: Crawl) -> None:
    """A mid that comes twice in one visit is merged, pinned wins."""
    crawl_.add(6)
    posts = timeline(6, 25)
    crawl_.run(ScriptedFetcher({6: posts}, pinned={6: posts[20]}))
    pinned = {mid for mid, p in crawl_.posts(6).items() if p["is_pinned"]}
    assert pinned == {posts[20].mid}


def test_a_guest_cap_is_recorded_not_failed(crawl_: Crawl) -> None:
    """Law 4: a wall on page 2 ends the timeline, and the ledger says so."""
    crawl_.add(6)
    walls = {"posts/6/2": [Verdict.LOGIN_WALL] * 9}
    outcome = crawl_.run(ScriptedFetcher({6: timeline(6, 25)}, trouble=walls))[6]
    assert (outcome.status, outcome.stored, outcome.announced) == ("partial", 10, 25)
    assert crawl_.ledger(6).stopped == "login_wall"
    assert crawl_.ledger(6).refused_pages == 1


@pytest.mark.parametrize(
    "verdict", [Verdict.THROTTLED, Verdict.SERVER_TROUBLE, Verdict.DRIFTED, Verdict.REFUSED]
)
def test_refused_is_never_empty(crawl_: Crawl, verdict: Verdict) -> None:
    """Law 4: trouble fails the visit; the next run goes on at the page that was not read."""
    crawl_.add(6)
    world = {6: timeline(6, 35)}
    first = ScriptedFetcher(world, trouble={"posts/6/3": [verdict]})
    assert crawl_.run(first)[6].status == "failed"
    ledger = crawl_.ledger(6)
    assert (ledger.state, ledger.cursor, ledger.stored) == ("failed", "3", 20)
    assert verdict in ledger.last_error
    second = ScriptedFetcher(world)
    outcome = crawl_.run(second)[6]
    assert (outcome.status, outcome.new, outcome.stored) == ("stored", 15, 35)
    assert "posts/6/" not in second.asked


def test_a_wall_on_the_first_page_is_no_end(crawl_: Crawl) -> None:
    """Law 4: a user none of whose posts may be seen is failed, not empty."""
    crawl_.add(6)
    walls = {"posts/6/": [Verdict.LOGIN_WALL] * 9}
    assert crawl_.run(ScriptedFetcher({6: timeline(6, 5)}, trouble=walls))[6].status == "failed"


def test_an_end_against_the_announced_count_is_unsure(crawl_: Crawl) -> None:
    """Law 4: asked again, then stored as unsure; coming back reads everything again."""
    crawl_.add(6)
    lies = {"posts/6/2": [Verdict.END] * 2}
    fetcher = ScriptedFetcher({6: timeline(6, 35)}, trouble=lies)
    outcome = crawl_.run(fetcher)[6]
    assert (outcome.sure, outcome.stored) == (False, 10)
    assert fetcher.asked.count("posts/6/2") == 2
    honest = crawl_.run(ScriptedFetcher({6: timeline(6, 35)}), refresh=True)[6]
    assert (honest.sure, honest.stored, honest.new) == (True, 35, 25)


def test_what_is_expected_is_told_to_the_fetcher(crawl_: Crawl) -> None:
    """A page that the page before named, a first page where posts are announced or held, and the
    profile of a named user hold something; that many posts were seen does not make the named page
    an end (law 4). How often an empty one is looked at twice is an experiment. A first page of
    which nothing is known is looked at again when the profile has told that it contradicts."""
    crawl_.add(6, 8)
    crawl_.add(7, name="somebody")
    fetcher = ScriptedFetcher({6: timeline(6, 20), 7: (), 8: ()}, announced={6: 35})
    crawl_.run(fetcher)
    content, unknown, nothing = Expect.CONTENT, Expect.UNKNOWN, Expect.NOTHING
    assert fetcher.expected == {
        "posts/6/": Expect.LIKELY,
        "posts/6/2": content,
        "posts/6/3": content,
        "posts/7/": Expect.LIKELY,
        "profile/7": content,
        "posts/8/": Expect.LIKELY,
        "profile/8": unknown,
    }
    sampled = {url for url, end in fetcher.ends.items() if end}
    assert (
        sampled == fetcher.expected.keys()
    )  # of both profiles, as nothing is shown of their users
    assert fetcher.nth["posts/6/3"] == 3
    again = ScriptedFetcher({6: timeline(6, 20), 7: timeline(7, 10), 8: ()})
    crawl_.run(again, refresh=True)
    assert again.expected["posts/6/"] == content
    assert again.expected["posts/7/"] == again.expected["posts/8/"] == nothing
    assert again.retried == []


def test_an_empty_page_in_place_of_what_is_held_is_no_fact(crawl_: Crawl) -> None:
    """Law 4: where nothing is shown of a user whose posts are announced, and held, the visit fails,
    nothing is concluded of pins and gaps, and it is asked again."""
    crawl_.add(6)
    world, pinned = {6: timeline(6, 20)}, {6: timeline(6, 20)[3]}
    crawl_.run(ScriptedFetcher(world, pinned=pinned))
    empty = {"posts/6/": [Verdict.EMPTY] * 2}
    fetcher = ScriptedFetcher(world, pinned=pinned, trouble=empty)
    assert crawl_.run(fetcher, refresh=True)[6].status == "failed"
    assert fetcher.expected["posts/6/"] is Expect.CONTENT
    assert crawl_.ledger(6).pinned == (pinned[6].mid,)
    assert crawl_.run(ScriptedFetcher(world, pinned=pinned))[6].sure


def test_a_passing_false_end_costs_nothing(crawl_: Crawl) -> None:
    """Law 4: one false end is not believed."""
    crawl_.add(6)
    lies = {"posts/6/2": [Verdict.END]}
    assert crawl_.run(ScriptedFetcher({6: timeline(6, 35)}, trouble=lies))[6].stored == 35


def test_a_lifted_wall_is_followed_by_the_rest(crawl_: Crawl) -> None:
    """What a wall or a limit cut off is fetched when they are gone: a visit stops at what is known
    only where all older posts are known."""
    crawl_.add(6, 7)
    world = {6: timeline(6, 35), 7: timeline(7, 35)}
    walls = {f"posts/{uid}/2": [Verdict.LOGIN_WALL] for uid in world}
    crawl_.run(ScriptedFetcher(world, trouble=walls), max_pages=2)
    assert {len(crawl_.posts(uid)) for uid in world} == {10}
    crawl_.run(ScriptedFetcher(world), max_pages=2, refresh=True)
    assert {len(crawl_.posts(uid)) for uid in world} == {20}
    crawl_.run(ScriptedFetcher(world), refresh=True)
    assert {len(crawl_.posts(uid)) for uid in world} == {35}
    last = ScriptedFetcher(world)
    crawl_.run(last, refresh=True)
    assert "posts/6/2" not in last.asked


def test_nothing_of_what_is_announced_is_trouble_once(crawl_: Crawl) -> None:
    """Law 4: where no post is shown of those announced, the next run asks again, without being told
    to; when that stands it is stored, as unsure, and comes back."""
    crawl_.add(6)
    world = {6: timeline(6, 9)}
    empty = [Verdict.EMPTY] * 2
    for status in ("failed", "unchanged"):
        outcome = crawl_.run(ScriptedFetcher(world, trouble={"posts/6/": list(empty)}))[6]
        assert (outcome.status, outcome.stored) == (status, 0)
    assert not crawl_.ledger(6).sure
    assert crawl_.run(ScriptedFetcher(world), refresh=True)[6].stored == 9


@pytest.mark.parametrize(("announced", "is_whole"), [(None, False), (0, True)])
def test_an_emptiness_is_the_whole_of_no_user_whose_posts_nobody_counts(
    crawl_: Crawl, announced: int | None, is_whole: bool
) -> None:
    """Law 4: a profile whose number of posts is not legible does not say that there are none, so
    one empty page beside it is looked at again, and is no fact when it stays; a 0 says it."""
    crawl_.add(6)

    class Uncounted(ScriptedFetcher):
        def _user(self, uid: int) -> Any:
            return replace(super()._user(uid), posts=announced)

    empty = {"posts/6/": [Verdict.EMPTY] * 2}
    fetcher = Uncounted({6: timeline(6, 9)}, trouble=empty)
    outcome = crawl_.run(fetcher)[6]
    assert (outcome.status, outcome.is_bare) == ("unchanged" if is_whole else "failed", False)
    assert crawl_.ledger(6).last_error == ("" if is_whole else UNCOUNTED)
    assert fetcher.asked.count("posts/6/") == (1 if is_whole else 2)
    again = {"posts/6/": [Verdict.EMPTY] * 2}
    crawl_.run(Uncounted({6: timeline(6, 9)}, trouble=again))
    assert (crawl_.ledger(6).sure, crawl_.ledger(6).whole) == (is_whole, is_whole)


@pytest.mark.parametrize(("announced", "shown"), [(19, 10), (35, 20)])
def test_short_ends_are_doubted_too(crawl_: Crawl, announced: int, shown: int) -> None:
    """Law 4: a missing page is asked again, then unsure, and comes back."""
    crawl_.add(6)
    world = {6: timeline(6, announced)}
    page = str(shown // 10 + 1)
    fetcher = ScriptedFetcher(world, trouble={f"posts/6/{page}": [Verdict.END] * 2})
    outcome = crawl_.run(fetcher)[6]
    assert (outcome.stored, outcome.sure) == (shown, False)
    assert crawl_.run(ScriptedFetcher(world), refresh=True)[6].stored == announced


def test_a_failed_visit_forgets_no_doubt(crawl_: Crawl) -> None:
    """An unsure end stays unsure until a visit reads to the end."""
    crawl_.add(6)
    world = {6: timeline(6, 35)}
    crawl_.run(ScriptedFetcher(world, trouble={"posts/6/2": [Verdict.END] * 2}))
    failed = ScriptedFetcher(world, trouble={"posts/6/": [Verdict.THROTTLED]})
    assert crawl_.run(failed, refresh=True)[6].status == "failed"
    assert not crawl_.ledger(6).sure
    assert crawl_.run(ScriptedFetcher(world), refresh=True)[6].stored == 35
    assert crawl_.ledger(6).sure


def test_an_unpinned_post_is_said_to_be(crawl_: Crawl) -> None:
    """is_pinned is that of the last visit, also for posts on pages that it did not read."""
    crawl_.add(6)
    posts = timeline(6, 45)
    crawl_.run(ScriptedFetcher({6: posts}, pinned={6: posts[40]}))
    crawl_.run(ScriptedFetcher({6: posts}), refresh=True)
    assert not [mid for mid, p in crawl_.posts(6).items() if p["is_pinned"]]


class _Endless(ScriptedFetcher):
    """Every page of posts names a next one; `posts` says what is on page n."""

    def __init__(self, posts: Any) -> None:
        super().__init__({6: []}, announced={6: 3})
        self.page = posts

    def _answer(self, request: Any) -> Any:
        if request.kind != Kind.POSTS:
            return super()._answer(request)
        n = int(request.cursor or 1)
        return Reading(Verdict.OK, PostPage(6, self.page(n), str(n + 1), foreign=1))


def test_a_timeline_that_never_ends_is_left(crawl_: Crawl) -> None:
    """Cards of other users for ever, the same page for ever, new posts for ever: each is bounded,
    and one page that only repeats is no end."""
    for n, pages in enumerate(
        (lambda n: (), lambda n: (post(6, 5),), lambda n: (post(6, 10**6 - n),)), 1
    ):
        crawl_.add(6)
        fetcher = _Endless(pages)
        crawl_.run(fetcher, refresh=n > 1)
        assert len(fetcher.asked) < 250
    shifted = {1: timeline(6, 10), 2: timeline(6, 10), 3: timeline(6, 10, first=500), 4: []}
    crawl_.add(7)
    fetcher = ScriptedFetcher({7: [*shifted[1], *shifted[2], *shifted[3]]})
    crawl_.run(fetcher)
    assert len(crawl_.posts(7)) == 20


def test_max_pages_bounds_a_visit(crawl_: Crawl) -> None:
    """The setting holds, and the ledger names it."""
    crawl_.add(6)
    assert crawl_.run(ScriptedFetcher({6: timeline(6, 35)}), max_pages=2)[6].stored == 20
    assert crawl_.ledger(6).stopped == "max_pages"


def test_posts_are_acknowledged_before_the_cursor(
    crawl_: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 8: whatever put dies, the ledger never speaks of posts that are not stored."""
    crawl_.add(6)
    world = {6: timeline(6, 35)}
    whole = {p.mid for p in world[6]}
    real = crawl_.tables.posts.put
    for dies_at in range(1, 5):
        calls = iter(range(1, 100))

        def put(puts: Any, dies_at: int = dies_at, calls: Any = calls) -> None:
            if next(calls) == dies_at:
                raise StoreError("the store died")
            real(puts)

        monkeypatch.setattr(crawl_.tables.posts, "put", put)
        try:
            crawl_.run(ScriptedFetcher(world))
        except StoreError:
            ledger = crawl_.ledger(6)
            if ledger is not None:
                assert ledger.stored <= len(crawl_.posts(6))
                assert ledger.state == "partial"
    monkeypatch.setattr(crawl_.tables.posts, "put", real)
    crawl_.run(ScriptedFetcher(world))
    assert set(crawl_.posts(6)) == whole


def test_the_driver_can_stop_every_mapper(crawl_: Crawl) -> None:
    """A note in the users' database ends the run cleanly; a later run goes on."""
    crawl_.add(*range(1, 60))
    world = {uid: timeline(uid, 15) for uid in range(1, 60)}
    STOP.of("stopped").put(crawl_.users, "interrupted")
    with pytest.raises(Interrupted):
        crawl_.run(_Slow(world), users_in_flight=2, run_id="stopped")
    crawl_.run(ScriptedFetcher(world))
    assert all(len(crawl_.posts(uid)) == 15 for uid in world)


class _NoTurn(ScriptedFetcher):
    """Nobody gets a turn. stop: is called once somebody waits for one."""

    def __init__(self, stop: Callable[[], None]) -> None:
        super().__init__({})
        self.drained, self._stop = asyncio.Event(), stop

    async def fetch(self, ask: Ask) -> Fetched:
        self._stop()
        await asyncio.wait_for(self.drained.wait(), 30)
        raise Interrupted("no more turns")

    def drain(self) -> None:
        self.drained.set()


def test_who_waits_for_a_turn_holds_up_no_stop(crawl_: Crawl) -> None:
    """A turn may come in an hour, where all egresses rest."""
    crawl_.add(6)
    stop = partial(STOP.of("stopped").put, crawl_.users, "interrupted")
    with pytest.raises(Interrupted):
        crawl_.run(_NoTurn(stop), run_id="stopped")


def test_a_mapper_without_an_egress_is_one_that_waits(crawl_: Crawl) -> None:
    """Whoever waits for the job is told how many mappers wait, and why."""
    crawl_.add(6)
    fetcher = ScriptedFetcher({6: timeline(6, 15)})
    fetcher.waits_for = "no egress may go"
    crawl_.run(fetcher)
    assert posts_line(crawl_.counters()).endswith("; mappers that wait: 1 (no egress may go)")


def test_a_mapper_says_how_far_it_is(crawl_: Crawl) -> None:
    """Hadoop ends a task that says nothing for long."""
    crawl_.add(6)
    fetcher = ScriptedFetcher({6: timeline(6, 15)})
    crawl_.run(fetcher)
    assert crawl_.heartbeats[-1] == "1 users, 15 new posts, 0 pages"
    fetcher.waits_for = "no egress may go"
    crawl_.run(fetcher, refresh=True)
    assert crawl_.heartbeats[-1] == "1 users, 0 new posts, 0 pages; waits: no egress may go"


def test_a_run_leaves_no_thread_behind(crawl_: Crawl) -> None:
    """Whoever goes on in this process writes to no store in the background."""
    crawl_.add(6)
    before = set(threading.enumerate())
    crawl_.run(ScriptedFetcher({6: timeline(6, 15)}))
    assert set(threading.enumerate()) <= before


def test_a_mapper_that_begins_after_the_stop_opens_nothing(crawl_: Crawl) -> None:
    """A list of proxies that went bad meanwhile would make of a Ctrl-C an error of the settings."""
    crawl_.add(6)
    STOP.of("stopped").put(crawl_.users, "interrupted")
    fetcher = _Closing({6: timeline(6, 15)})
    with pytest.raises(Interrupted):
        crawl_.run(fetcher, run_id="stopped")
    assert not fetcher.was_closed


class _Closing(ScriptedFetcher):
    was_closed = False  # so it is if it was opened

    async def close(self) -> None:
        self.was_closed = True


class _Slow(ScriptedFetcher):
    async def fetch(self, ask: Ask) -> Fetched:
        await asyncio.sleep(0.02)
        return await super().fetch(ask)


def test_a_manifest_leaves_out_ranges_without_users(tmp_path: Path) -> None:
    """Two users lie in two ranges at most, so no more mappers are started; where nobody was
    imported one is, which says so. A ledger alone is no user."""
    tables = SqliteTables(f"sqlite:///{tmp_path}/t.db")
    is_there = partial(holds_users, tables)
    (alone,) = manifest(16, is_there).splitlines()
    assert parse_line(alone).number == 0
    uids = {1234567890, 2345678901}
    tables.userlist.put([Put(user_key(uid), {"user:id": str(uid)}, 1) for uid in uids])
    tables.userlist.put([Put(user_key(3456789012), {"crawl:state": "done"}, 1)])
    parts = [parse_line(line) for line in manifest(16, is_there).splitlines()]
    assert {due.uid for part in parts for due in users_in(tables, part)} == uids
    assert len(parts) == len({int(user_key(uid)[:2], 16) // 16 for uid in uids})
    tables.close()


def test_a_manifest_covers_all_keys() -> None:
    """Its ranges follow each other without gap, from the first key to the last."""
    parts = [parse_line(line) for line in manifest(7).splitlines()]
    assert len(parts) == 7
    assert (parts[0].start, parts[-1].stop) == ("00", None)  # 00 is the first salt
    assert [p.stop for p in parts[:-1]] == [p.start for p in parts[1:]]


def test_an_attempt_after_one_that_died_tells_the_whole_truth(
    crawl_: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 6: wherever an attempt dies, the figures of the next one are those of a run that never
    did: users that the first was done with are not asked again, and counted as what they were."""
    crawl_.add(*range(1, 9))
    world = {uid: timeline(uid, 25) for uid in range(1, 8)}  # 8 is gone
    real, run_ids = crawl_.tables.posts.put, iter(range(100))
    for dies_at in (1, 3, 6, 12):
        for uid in range(1, 9):
            crawl_.tables.userlist.delete(user_key(uid), ["crawl"])
            for key in list(crawl_.tables.posts.keys(posts_prefix(uid))):
                crawl_.tables.posts.delete(key)
        calls, run_id = iter(range(1, 1000)), f"attempts {next(run_ids)}"

        def put(puts: Any, dies_at: int = dies_at, calls: Any = calls) -> None:
            if next(calls) == dies_at:
                raise StoreError("killed")
            real(puts)

        monkeypatch.setattr(crawl_.tables.posts, "put", put)
        with pytest.raises(StoreError):
            crawl_.run(ScriptedFetcher(world), run_id=run_id, users_in_flight=2)
        monkeypatch.setattr(crawl_.tables.posts, "put", real)
        outcomes = crawl_.run(ScriptedFetcher(world), run_id=run_id, users_in_flight=2)
        assert {uid: o.status for uid, o in outcomes.items()} == {
            **dict.fromkeys(range(1, 8), "stored"),
            8: "empty",
        }
        assert sum(o.new for o in outcomes.values()) == 7 * 25


def test_what_a_run_was_done_with_is_not_refreshed_by_it(crawl_: Crawl) -> None:
    """A second attempt of a run with --refresh asks nothing; another run does."""
    crawl_.add(6)
    world = {6: timeline(6, 15)}
    crawl_.run(ScriptedFetcher(world), refresh=True, run_id="one")
    fetcher = ScriptedFetcher(world)
    assert crawl_.run(fetcher, refresh=True, run_id="one")[6].new == 15
    assert fetcher.asked == []
    assert crawl_.run(fetcher, refresh=True, run_id="two")[6].status == "unchanged"
    assert fetcher.asked


def test_a_driver_elsewhere_is_known_by_its_heartbeat(
    crawl_: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mappers end when the heartbeat of a driver on another machine stands still, and not while it
    moves, whatever its clock says."""
    monkeypatch.setattr(orders, "_PATIENCE_S", 1.5)
    monkeypatch.setattr(orders, "_EVERY_S", 0.01)
    monkeypatch.setattr(crawl, "_REPORT_S", 0.05)
    crawl_.add(*range(1, 40))
    world = {uid: timeline(uid, 15) for uid in range(1, 40)}
    fetcher = _Slow(world)
    beats = iter(range(10**6))

    async def fetch(ask: Ask, real: Any = fetcher.fetch) -> Any:
        DRIVER.of("beating").put(crawl_.users, next(beats))
        return await real(ask)

    monkeypatch.setattr(fetcher, "fetch", fetch)
    outcomes = crawl_.run(fetcher, run_id="beating", driver="elsewhere/1/2/3", users_in_flight=2)
    assert len(outcomes) == 39
    for uid in range(1, 40):
        crawl_.tables.userlist.delete(user_key(uid), ["crawl"])
    with pytest.raises(Interrupted, match="is gone"):
        crawl_.run(_Slow(world), run_id="silent", driver="elsewhere/1/2/3", users_in_flight=1)


def test_a_refusal_ends_the_other_mappers_too(crawl_: Crawl) -> None:
    """Exit code 4 of one mapper is that of all: the site is asked no more, by no attempt."""
    crawl_.add(6)
    STOP.of("refused").put(crawl_.users, "exit 4: the site says no on every egress")
    fetcher = ScriptedFetcher({6: timeline(6, 15)})
    with pytest.raises(SiteSaysNo, match=r"^the site says no on every egress$"):
        crawl_.run(fetcher, run_id="refused")
    assert fetcher.asked == []


# -- runs side by side


def test_another_run_at_work_keeps_its_users(
    crawl_: Crawl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is asked for twice: users that another run visits, or has visited since the row was
    read, are left to it and counted; those of the dead are taken over."""
    monkeypatch.setattr("weibo_crawler.posts.crawl._REPORT_S", 0.01)
    crawl_.add(6, 7, 8)
    world = {uid: timeline(uid, 5) for uid in (6, 7, 8)}
    url = f"sqlite:///{tmp_path}/users.db"
    with closing(claims_at(url, new_owner(), "another")) as other:
        assert other.claim([7], now=time.time(), lease_s=60.0) == {7}
        fetcher = ScriptedFetcher(world)
        outcomes = crawl_.run(fetcher, claims=claims_at(url, new_owner(), "run"))
        assert {uid: o.status for uid, o in outcomes.items()} == {
            6: "stored",
            7: "existing",
            8: "stored",
        }
        assert crawl_.counters()["users.elsewhere"] == 1
        assert not [url for url in fetcher.asked if "/7" in url]
        assert other.claim([6, 7, 8], now=time.time(), lease_s=60.0) == {6, 7, 8}  # all released
        other.release()
    other = claims_at(url, "elsewhere_0_0/1/1/abc", "killed")
    other.claim([7], now=time.time() - 100.0, lease_s=60.0)
    with closing(other):
        claims = claims_at(url, new_owner(), "run 2")
        assert crawl_.run(ScriptedFetcher(world), claims=claims)[7].status == "stored"


def test_whom_another_run_leaves_unfinished_is_visited_at_the_end(
    crawl_: Crawl, tmp_path: Path
) -> None:
    """Law 8: that run may have been killed, and its mappers end a little later than it."""
    crawl_.add(6, 7, 8)
    world = {uid: timeline(uid, 5) for uid in (6, 7, 8)}
    url = f"sqlite:///{tmp_path}/users.db"
    with closing(claims_at(url, new_owner(), "another")) as other:
        other.claim([7], now=time.time(), lease_s=60.0)

        class Meanwhile(ScriptedFetcher):
            async def fetch(self, ask: Ask) -> Fetched:
                other.release()
                return await super().fetch(ask)

        outcomes = crawl_.run(Meanwhile(world), claims=claims_at(url, new_owner(), "run"))
    assert {uid: one.status for uid, one in outcomes.items()} == dict.fromkeys(world, "stored")
    assert crawl_.counters().get("users.elsewhere", 0) == 0


def test_who_ends_a_little_later_is_waited_for(crawl_: Crawl, tmp_path: Path) -> None:
    """Law 8: where nothing else is left to visit, the processes of a killed run still end what is
    under way."""
    crawl_.add(6, 7)
    world = {uid: timeline(uid, 5) for uid in (6, 7)}
    url = f"sqlite:///{tmp_path}/users.db"
    other = claims_at(url, new_owner(), "killed")
    other.claim([7], now=time.time(), lease_s=60.0)
    with closing(other):
        ends = threading.Timer(1.5, other.release)
        ends.start()
        outcomes = crawl_.run(ScriptedFetcher(world), claims=claims_at(url, new_owner(), "run"))
        ends.join()
    assert {uid: one.status for uid, one in outcomes.items()} == dict.fromkeys(world, "stored")


@pytest.mark.parametrize("state", ["done", "partial"])
def test_a_row_that_changed_since_it_was_read_is_visited_if_unfinished(
    crawl_: Crawl, tmp_path: Path, state: str
) -> None:
    """Another run came and went between."""
    crawl_.add(6)
    world = {6: timeline(6, 5)}

    class Overtaken(VisitClaims):
        def claim(self, uids: Any, **more: Any) -> set[Id]:
            crawl_.tables.userlist.put(
                [Put(user_key(6), ledger_cells(Ledger(state=state, run_id="another")), 2)]
            )
            return set(uids)

    database = Database(f"sqlite:///{tmp_path}/users.db", "visits", SCHEMAS["visits"])
    claims = Overtaken(database, new_owner(), "run")
    fetcher = ScriptedFetcher(world)
    status = crawl_.run(fetcher, claims=claims)[6].status
    assert status == ("existing" if state == "done" else "stored")
    assert bool(fetcher.asked) is (state == "partial")


def test_what_looks_have_shown_is_kept_for_the_next_run(crawl_: Crawl) -> None:
    """By a note in the users' database."""
    crawl_.add(6)
    world = {6: timeline(6, 9)}
    crawl_.run(ScriptedFetcher(world, trouble={"posts/6/": [Verdict.EMPTY] * 2}))
    kept = Samples(0.01)
    kept.learn(LOOKS.get(crawl_.users))
    found = kept.figures()["posts.end"]
    assert (found.ends, found.looks, found.finds) == (1, 1, 0)
    again = ScriptedFetcher(world)
    crawl_.run(again)
    assert again.samples.figures()["posts.end"].ends == 1


class _Sparse(ScriptedFetcher):
    """Pages show as many posts of ten as `sizes` says."""

    sizes: Sequence[int] = (10, 5)

    def _page(self, uid: int, posts: Sequence[Post], cursor: str) -> PostPage:
        size = dict(enumerate(self.sizes, 2)).get(int(cursor), 10)
        return super()._page(uid, posts[:size], cursor)


@pytest.mark.parametrize("goes_on", [False, True])
def test_full_timelines_end_without_a_request(crawl_: Crawl, goes_on: bool) -> None:
    """Law 16: where nothing was found behind many timelines that had shown all that was announced,
    only a sample is asked for the page that their last one names. Where some go on, each of them is
    asked for, and no post is lost. An emptiness there contradicts a name, however many posts were
    seen (law 4)."""
    uids, more = range(1, 121), 10 if goes_on else 0
    crawl_.add(*uids)
    world = {uid: timeline(uid, 20 + more * (uid % 3 == 0)) for uid in uids}
    fetcher = _Sparse(world, announced=dict.fromkeys(uids, 15))
    fetcher.samples = Samples(0.1)  # 14 looks without a find tell
    crawl_.run(fetcher, users_in_flight=1)
    assert all(len(crawl_.posts(uid)) == len(world[uid]) - 5 for uid in uids)
    assert all(crawl_.ledger(uid).sure for uid in uids)
    full = fetcher.samples.figures()["posts.full"]
    assert full.finds == (len(uids) // 3 if goes_on else 0)
    assert full.unlooked == 0 if goes_on else 14 <= full.looks < 50
    ends = {fetcher.expected[url] for url in fetcher.asked if url.endswith("/3")}
    assert ends == {Expect.CONTENT}


@pytest.mark.parametrize("sizes", [(10,), (5, 5)])
def test_a_full_page_may_have_left_no_room(crawl_: Crawl, sizes: Sequence[int]) -> None:
    """Law 4: that as many posts are announced as were shown does not tell that a page is the last
    one, where it is as full as pages are, or as the one before it, and names the next one: that one
    is asked for, however many had none."""
    uids, last = range(1, 81), len(sizes) + 1
    crawl_.add(*uids)
    world = {uid: timeline(uid, 10 * len(sizes) + (uid == 80)) for uid in uids}
    fetcher = _Sparse(world, announced=dict.fromkeys(uids, 10))
    fetcher.sizes, fetcher.samples = sizes, Samples(0.1)
    crawl_.run(fetcher, users_in_flight=1)
    assert all(f"posts/{uid}/{last}" in fetcher.asked for uid in uids)
    assert len(crawl_.posts(80)) == 11


def test_named_pages_that_are_empty_are_an_experiment_of_their_own(crawl_: Crawl) -> None:
    """Law 4: what looks at first pages have shown says nothing of pages that were promised."""
    crawl_.add(6, 7)
    fetcher = ScriptedFetcher({6: timeline(6, 10), 7: ()})
    crawl_.run(fetcher)
    assert fetcher.ends["posts/6/"] == fetcher.ends["posts/7/"] == "posts.end"
    assert fetcher.ends["posts/6/2"] == "posts.named"

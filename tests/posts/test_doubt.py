"""Emptiness, walls and silence: what is evidence about a user, and what is not (laws 4, 15)."""

from collections import Counter
from datetime import timedelta, timezone
from itertools import count, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.posts.crawls import Crawl, timeline
from tests.posts.test_refresh import DAY, HOUR, Clock, dated
from tests.posts.worlds import ScriptedFetcher, ScriptedSite
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.forget import forget_users
from weibo_crawler.posts import timeline as walk
from weibo_crawler.posts.schedule import is_another_day
from weibo_crawler.posts.silence import Silences
from weibo_crawler.posts.stops import most_pages
from weibo_crawler.posts.workers import (
    BARE,
    FIRST,
    FIRST_FAILED,
    SILENT,
    fell_silent,
    shows_no_posts,
    too_many_failed,
)
from weibo_crawler.records import Expect, Kind, Post, PostPage, Reading, Verdict
from weibo_crawler.store import notes
from weibo_crawler.store.rows.cells import Ledger
from weibo_crawler.store.rows.keys import user_key

T0 = Clock().now
CLOCK = timezone(timedelta(hours=8))
BAD = Verdict.SERVER_TROUBLE
KINDS = ("posts", "/"), ("profile", "")  # as the scripted site names pages of a user


# -- nobody is gone at the first emptiness


def test_who_shows_nothing_is_gone_on_another_day_only(crawl_: Crawl) -> None:
    """The first time it is a doubt, which no run of the same day asks about, and no failure; the
    second time, on a later day, gone, unsure. The word of the site is believed at once."""
    crawl_.add(6, 7)
    clock = Clock()
    world = ScriptedFetcher({}, closed={"profile/7": Verdict.GONE})
    outcomes = crawl_.run(world, clock=clock)
    assert {uid: (o.status, o.sure) for uid, o in outcomes.items()} == {
        6: ("empty", False),
        7: ("gone", True),
    }
    ledger = crawl_.ledger(6)
    assert (ledger.stopped, ledger.empty_since) == ("nothing_shown", clock.now)
    assert ledger.next_visit == clock.now + DAY
    clock.now += 3 * HOUR
    same_day = ScriptedFetcher({})
    assert crawl_.run(same_day, clock=clock)[6].status == "existing"
    assert same_day.asked == []
    crawl_.run(same_day, clock=clock, refresh=True)  # even where all are asked
    assert crawl_.ledger(6).state == "empty"
    clock.now += 2 * DAY
    assert crawl_.run(ScriptedFetcher({}), clock=clock)[6].status == "gone"
    assert not crawl_.ledger(6).sure
    assert crawl_.run(ScriptedFetcher({6: timeline(6, 5)}), clock=clock)[6].status == "existing"
    clock.now += 40 * DAY
    back = crawl_.run(ScriptedFetcher({6: timeline(6, 5)}), refresh=True, due=True, clock=clock)
    assert (back[6].stored, crawl_.ledger(6).empty_since) == (5, None)


@pytest.mark.parametrize(
    ("looks", "finds", "is_enough"), [(29, 0, False), (30, 0, True), (400, 1, False)]
)
def test_an_empty_profile_is_expected_of_who_showed_nothing(
    crawl_: Crawl, looks: int, finds: int, is_enough: bool
) -> None:
    """At the visit on another day one look at the profile of such a user is enough, once thirty
    second looks at such profiles have shown nothing more; not where one has, nor at the first
    visit, nor where posts are held."""
    crawl_.add(6, 7)
    clock = Clock()
    crawl_.run(ScriptedFetcher({7: timeline(7, 5)}), clock=clock)
    clock.now += 2 * DAY
    fetcher = ScriptedFetcher({})
    for n in range(looks):
        fetcher.samples.looked("posts.nobody", found=n < finds)
    crawl_.add(8)
    crawl_.run(fetcher, clock=clock, refresh=True)
    assert (fetcher.expected["profile/6"] is Expect.NOTHING) is is_enough
    assert fetcher.ends["profile/6"] == fetcher.ends["profile/8"] == "posts.nobody"
    assert Expect.NOTHING not in (fetcher.expected["profile/7"], fetcher.expected["profile/8"])
    assert fetcher.ends["profile/7"] == ""
    assert crawl_.ledger(6).state == "gone"


@pytest.mark.parametrize(
    ("looks", "finds", "is_enough"), [(29, 0, False), (30, 0, True), (400, 1, False)]
)
def test_who_showed_nothing_is_asked_for_by_the_profile_alone(
    crawl_: Crawl, looks: int, finds: int, is_enough: bool
) -> None:
    """On another day the profile tells whether there is anybody, once second looks at such
    profiles have shown nothing more; page 1, which tells it of nobody, is asked for where the
    profile is shown, and of those of whom posts are held."""
    crawl_.add(6, 7, 9)
    clock = Clock()
    crawl_.run(ScriptedFetcher({7: timeline(7, 5)}), clock=clock)
    crawl_.run(ScriptedFetcher({}), clock=clock, refresh=True)
    assert {crawl_.ledger(uid).state for uid in (6, 7, 9)} == {"empty"}
    clock.now += 2 * DAY
    fetcher = ScriptedFetcher({9: timeline(9, 5)})
    for n in range(looks):
        fetcher.samples.looked("posts.nobody", found=n < finds)
    crawl_.run(fetcher, clock=clock, refresh=True)
    asked = {uid: [url for url in fetcher.asked if f"/{uid}" in url] for uid in (6, 7, 9)}
    assert asked[6] == (["profile/6"] if is_enough else ["posts/6/", "profile/6"])
    assert asked[7][0] == "posts/7/"
    assert asked[9].count("profile/9") == is_enough
    assert {uid: crawl_.ledger(uid).state for uid in (6, 7, 9)} == {
        6: "gone",
        7: "empty",
        9: "done",
    }
    assert crawl_.ledger(9).stored == 5


def test_posts_clear_the_doubt(crawl_: Crawl) -> None:
    """After a visit that shows posts, the next emptiness is a first one again."""
    crawl_.add(6)
    clock = Clock()
    crawl_.run(ScriptedFetcher({}), clock=clock)
    clock.now += 2 * DAY
    assert crawl_.run(ScriptedFetcher({6: []}), clock=clock)[6].status == "unchanged"
    clock.now += 31 * DAY  # the profile is asked for once in posts.profile_days
    assert crawl_.run(ScriptedFetcher({}), clock=clock, refresh=True)[6].status == "empty"


def test_silence_makes_nobody_gone_whose_posts_are_held(crawl_: Crawl) -> None:
    """Law 4: it stays a doubt, looked at less and less often; the posts stay."""
    crawl_.add(6)
    clock = Clock()
    crawl_.run(ScriptedFetcher({6: timeline(6, 5)}), clock=clock)
    waits = []
    for _ in range(8):
        assert crawl_.run(ScriptedFetcher({}), refresh=True, clock=clock)[6].status == "empty"
        waits.append(crawl_.ledger(6).next_visit - clock.now)
        clock.now += 2 * DAY
    assert waits[:3] == [DAY, 2 * DAY, 4 * DAY]
    assert waits[-1] == 30 * DAY
    assert (len(crawl_.posts(6)), crawl_.ledger(6).gone) == (5, ())
    clock.now += 31 * DAY
    assert crawl_.run(ScriptedFetcher({6: timeline(6, 5)}), clock=clock)[6].stored == 5


def test_one_answer_that_lacks_held_posts_says_nothing(crawl_: Crawl) -> None:
    """Law 4: a page 1 that shows nothing, of a user whose posts are held, is asked for once more,
    and what that shows counts."""
    crawl_.add(6)
    posts = timeline(6, 15)
    crawl_.run(ScriptedFetcher({6: posts}))
    fetcher = ScriptedFetcher({6: posts}, old={"posts/6/": [[]]})
    outcome = crawl_.run(fetcher, refresh=True)[6]
    assert fetcher.asked == ["posts/6/", "posts/6/"]
    assert (outcome.status, outcome.stopped) == ("unchanged", "known")


@given(st.floats(T0, T0 + 9 * DAY), st.floats(0, 9 * DAY))
def test_another_day_is_of_the_sites_clock(since: float, wait: float) -> None:
    """Another date in UTC+8, and not just after its midnight."""
    if is_another_day(since, since + wait, CLOCK):
        assert wait >= 20 * HOUR
    elif wait >= DAY:
        raise AssertionError("a whole day later is always another day")


# -- a site that does not talk tells nothing


class _Silent(ScriptedFetcher):
    """Shows nothing of these kinds to anybody from its n-th answer on; then, after `limit` more,
    the run ends as the breaker of the fetcher would end it. said: in which word. is_slow: the
    fetcher notices at the end only. is_bare: what it shows are pages without posts that name the
    next one."""

    def __init__(
        self,
        *args: Any,
        after: int,
        limit: int,
        is_slow: bool,
        is_bare: bool = False,
        kinds: frozenset[Kind] = frozenset(Kind),
        said: Verdict = Verdict.EMPTY,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self.kinds, self.said = kinds, said
        self.after, self.limit, self.is_slow, self.is_bare = after, limit, is_slow, is_bare

    async def fetch(self, ask: Ask) -> Fetched:
        fetched = await super().fetch(ask)
        if len(self.asked) <= self.after or (
            ask.request.kind not in self.kinds and len(self.asked) <= self.after + self.limit
        ):
            return fetched
        self.is_talking = self.is_slow
        if len(self.asked) > self.after + self.limit:
            self.is_talking = False
            raise SiteSaysNo("the site shows nothing")
        if self.is_bare and ask.request.kind is Kind.POSTS:
            page = PostPage(ask.request.uid, (), f"{1000 + len(self.asked)}")
            return fetched._replace(reading=Reading(Verdict.OK, page, ambiguous=True))
        return fetched._replace(reading=Reading(self.said, ambiguous=True))


@pytest.mark.parametrize("said", [Verdict.EMPTY, Verdict.GONE])
@pytest.mark.parametrize("after", [4, 16, 30])
def test_a_silence_of_one_kind_and_of_everybody_gone(
    crawl_: Crawl, after: int, said: Verdict
) -> None:
    """Profiles are shown, and no posts; or all are said to be gone: nobody is, and the same
    command, on the same day, reaches the truth."""
    uids = range(1, 19)
    crawl_.add(*uids)
    clock = Clock()
    world = {uid: timeline(uid, 10 + uid) for uid in uids}
    kinds = frozenset({Kind.POSTS}) if said is Verdict.EMPTY else frozenset(Kind)

    class Ticking(_Silent):
        async def fetch(self, ask: Ask) -> Fetched:
            clock.now += 1
            return await super().fetch(ask)

    silent = Ticking(world, after=after, limit=12, is_slow=True, kinds=kinds, said=said)
    with pytest.raises(SiteSaysNo):
        crawl_.run(silent, users_in_flight=3, clock=clock)
    found = [ledger for uid in uids if (ledger := crawl_.ledger(uid))]
    assert not [ledger for ledger in found if ledger.state == "gone"]
    clock.now += HOUR
    crawl_.run(ScriptedFetcher(world), clock=clock)
    assert {uid: len(crawl_.posts(uid)) for uid in uids} == {uid: 10 + uid for uid in uids}
    assert {crawl_.ledger(uid).state for uid in uids} == {"done"}


@pytest.mark.parametrize("is_bare", [False, True])
@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize("after", [0, 7, 60])
def test_a_site_that_falls_silent_is_believed_nothing(
    crawl_: Crawl, after: int, is_slow: bool, is_bare: bool
) -> None:
    """However late the silence is noticed: nobody is gone, and when the site is well again the same
    command, on the same day, reaches the truth."""
    uids = range(1, 13)
    crawl_.add(*uids)
    clock = Clock()
    world = {uid: timeline(uid, 100 + uid) for uid in uids}  # of 101 posts one is on the last page
    limit = 20 if is_bare else 8  # bare pages end after five
    silent = _Silent(world, after=after, limit=limit, is_slow=is_slow, is_bare=is_bare)
    with pytest.raises(SiteSaysNo):
        crawl_.run(silent, users_in_flight=3, clock=clock)
    assert not [uid for uid in uids if (found := crawl_.ledger(uid)) and found.state == "gone"]
    clock.now += HOUR
    crawl_.run(ScriptedFetcher(world), clock=clock)
    assert {uid: len(crawl_.posts(uid)) for uid in uids} == {uid: 100 + uid for uid in uids}
    assert {crawl_.ledger(uid).state for uid in uids} == {"done"}
    last = ScriptedFetcher(world)
    crawl_.run(last, clock=clock)
    assert last.asked == []


def test_who_was_done_before_the_silence_is_not_asked_again(crawl_: Crawl) -> None:
    """Only what was concluded after the latest request that was shown something had been begun is
    looked at again."""
    crawl_.add(*range(1, 20))
    clock = Clock()
    world = {uid: timeline(uid, 5) for uid in range(1, 20)}

    class Ticking(_Silent):
        async def fetch(self, ask: Ask) -> Fetched:
            clock.now += 1
            return await super().fetch(ask)

    with pytest.raises(SiteSaysNo):
        crawl_.run(Ticking(world, after=30, limit=2, is_slow=True), users_in_flight=1, clock=clock)
    done = [uid for uid in world if (found := crawl_.ledger(uid)) and found.state == "done"]
    assert len(done) >= 9
    again = ScriptedFetcher(world)
    crawl_.run(again, clock=clock)
    assert len(set(again.asked) & {f"posts/{uid}/" for uid in done}) <= 2


def test_an_end_that_looked_sure_in_the_silence_is_read_again(crawl_: Crawl) -> None:
    """One post of 101 is missing, which is no doubt by the announced count: the next run reads the
    timeline to its end all the same, though its first page shows what is known."""
    crawl_.add(6, 7)
    world = {uid: timeline(uid, 101) for uid in (6, 7)}
    silent = _Silent(world, after=10, limit=2, is_slow=True)  # ten pages
    with pytest.raises(SiteSaysNo):
        crawl_.run(silent, users_in_flight=1)
    (first,) = (uid for uid in world if crawl_.ledger(uid) and crawl_.ledger(uid).state == "done")
    assert (crawl_.ledger(first).sure, crawl_.ledger(first).stored) == (True, 100)
    crawl_.run(ScriptedFetcher(world))
    assert {len(crawl_.posts(uid)) for uid in world} == {101}


def test_an_end_is_no_fact_while_the_site_does_not_talk(crawl_: Crawl) -> None:
    """The visit goes on there later, and fails without being evidence of anything."""
    crawl_.add(6, 7)
    world = {6: timeline(6, 20), 7: []}
    fetcher = ScriptedFetcher(world)
    fetcher.is_talking = False
    outcomes = crawl_.run(fetcher)
    assert (outcomes[6].status, outcomes[6].is_evidence) == ("failed", False)
    assert crawl_.ledger(6).cursor == "3"
    assert outcomes[7].status == "unchanged"  # nothing is announced: nothing is contradicted
    assert crawl_.run(ScriptedFetcher(world))[6].sure


def test_a_doubt_stays_one_while_the_site_does_not_talk(crawl_: Crawl) -> None:
    """On another day, too: nobody is gone, and the next look is another day."""
    crawl_.add(6)
    clock = Clock()
    crawl_.run(ScriptedFetcher({}), clock=clock)
    clock.now += 2 * DAY
    mute = ScriptedFetcher({})
    mute.is_talking = False
    outcome = crawl_.run(mute, clock=clock)[6]
    assert (outcome.status, outcome.is_evidence) == ("empty", False)
    assert crawl_.ledger(6).next_visit == clock.now + DAY
    clock.now += 2 * DAY
    assert crawl_.run(ScriptedFetcher({}), clock=clock)[6].status == "gone"


def test_the_word_gone_behind_a_profile_is_no_fact(crawl_: Crawl) -> None:
    """Who has just shown a profile and posts is not gone: an end in doubt, and the next profile
    tells."""
    crawl_.add(6)
    world = {6: timeline(6, 25)}
    outcome = crawl_.run(ScriptedFetcher(world, closed={"posts/6/2": Verdict.GONE}))[6]
    assert (outcome.status, outcome.sure, outcome.stored) == ("stored", False, 10)
    assert crawl_.run(ScriptedFetcher(world), refresh=True)[6].stored == 25


# -- walls


def test_a_wall_that_nobody_confirmed_is_asked_again_soon(crawl_: Crawl) -> None:
    """It is unsure and due after the least time, then later and later; what lies below stays a gap
    and is read. A confirmed wall is tried again after the longest wait only."""
    crawl_.add(6)
    clock = Clock()
    posts = dated(6, 60, DAY)
    waits = []
    for _ in range(3):
        walls = {"posts/6/2": [Verdict.LOGIN_WALL]}
        doubtful = ScriptedFetcher({6: posts}, trouble=walls, doubted=["posts/6/2"])
        outcome = crawl_.run(doubtful, refresh=True, due=True, clock=clock)[6]
        assert (outcome.status, outcome.sure, outcome.stopped) == ("partial", False, "login_wall")
        assert "posts/6/2" in doubtful.asked
        ledger = crawl_.ledger(6)
        assert [(gap.after, gap.before) for gap in ledger.gaps] == [(None, posts[9].mid)]
        waits.append(ledger.next_visit - clock.now)
        clock.now = ledger.next_visit
    assert waits == [HOUR / 4, HOUR / 2, HOUR]
    sure = ScriptedFetcher({6: posts}, trouble={"posts/6/2": [Verdict.LOGIN_WALL]})
    assert crawl_.run(sure, refresh=True, due=True, clock=clock)[6].sure
    clock.now = crawl_.ledger(6).next_visit
    rests = ScriptedFetcher({6: posts})
    crawl_.run(rests, refresh=True, due=True, clock=clock)
    assert "posts/6/2" not in rests.asked


def walls_of(uid: int, *, profile: bool = False) -> dict[str, list[Verdict]]:
    """The timeline of this user is walled, and its profile, too, by choice."""
    walls = {f"posts/{uid}/": [Verdict.LOGIN_WALL] * 9}
    return walls | ({f"profile/{uid}": [Verdict.LOGIN_WALL] * 9} if profile else {})


@pytest.mark.parametrize("profile", [False, True])
def test_a_timeline_that_is_walled_alone_rests(crawl_: Crawl, *, profile: bool) -> None:
    """Where others are shown their first pages a confirmed wall is a fact about this one: it has
    not failed, and is asked for again after the longest wait."""
    crawl_.add(5, 6, 7)
    world = {uid: timeline(uid, 5) for uid in (5, 6, 7)}
    clock = Clock()
    fetcher = ScriptedFetcher(world, trouble=walls_of(6, profile=profile))
    outcome = crawl_.run(fetcher, refresh=True, due=True, clock=clock)[6]
    told = outcome.status, outcome.stopped, outcome.sure, outcome.announced
    assert told == ("partial", "login_wall", True, None if profile else 5)
    ledger = crawl_.ledger(6)
    assert (ledger.state, ledger.failures, ledger.walled_at) == ("done", 0, clock.now)
    assert ledger.next_visit - clock.now == 30 * DAY
    again = ScriptedFetcher(world)
    crawl_.run(again)
    assert not [url for url in again.asked if url.startswith("posts/6/")]
    clock.now = ledger.next_visit
    assert crawl_.run(ScriptedFetcher(world), refresh=True, due=True, clock=clock)[6].stored == 5


def test_a_timeline_that_is_known_to_be_walled_costs_one_request(crawl_: Crawl) -> None:
    """At each later visit: the fetcher is told that a wall is expected, and the profile was shown
    of late."""
    crawl_.add(5, 6)
    clock, world = Clock(), {5: timeline(5, 5), 6: timeline(6, 5)}
    expected = list[tuple[str, bool]]()

    class Noting(ScriptedFetcher):
        async def _once(self, ask: Ask) -> Fetched:
            expected.append((ask.request.url, ask.was_walled))
            return await super()._once(ask)

    crawl_.run(Noting(world, trouble=walls_of(6)), refresh=True, clock=clock)
    assert ("posts/6/", False) in expected
    expected.clear()
    clock.now += HOUR
    crawl_.run(Noting(world, trouble=walls_of(6)), refresh=True, clock=clock)
    assert [one for one in expected if "/6" in one[0]] == [("posts/6/", True)]
    ledger = crawl_.ledger(6)
    assert (ledger.stopped, ledger.walled_at, ledger.announced) == ("login_wall", clock.now, 5)


def test_a_wall_of_one_timeline_that_nobody_confirmed_is_asked_again_soon(crawl_: Crawl) -> None:
    """It is unsure, and due after the least time, then later and later."""
    crawl_.add(5, 6)
    clock, waits = Clock(), []
    for _ in range(3):
        world = {5: dated(5, 5, DAY), 6: timeline(6, 5)}
        fetcher = ScriptedFetcher(world, trouble=walls_of(6), doubted=["posts/6/"])
        outcome = crawl_.run(fetcher, refresh=True, clock=clock)[6]
        assert (outcome.status, outcome.sure) == ("partial", False)
        waits.append(crawl_.ledger(6).next_visit - clock.now)
        clock.now += HOUR
    assert waits == [HOUR / 4, HOUR / 2, HOUR]


def test_a_timeline_that_is_walled_since_keeps_what_is_held(crawl_: Crawl) -> None:
    """What was pinned is pinned still, no post is gone, and what was written meanwhile is read when
    the wall is lifted."""
    crawl_.add(5, 6)
    clock, posts = Clock(), dated(6, 9, DAY)
    world, pins = {5: timeline(5, 5), 6: posts[2:]}, {6: posts[8]}
    crawl_.run(ScriptedFetcher(world, pinned=pins), refresh=True, clock=clock)
    clock.now += 30 * DAY
    crawl_.run(ScriptedFetcher(world, trouble=walls_of(6)), refresh=True, clock=clock)
    held = crawl_.ledger(6)
    told = held.stopped, held.pinned, held.gone, held.stored
    assert told == ("login_wall", (posts[8].mid,), (), 7)
    assert held.next_visit - clock.now == 30 * DAY  # whatever its posting rate
    clock.now = held.next_visit
    world[6] = posts
    crawl_.run(ScriptedFetcher(world, pinned=pins), refresh=True, due=True, clock=clock)
    assert crawl_.ledger(6).stored == 9


class Closing(ScriptedFetcher):
    """Shows one first page of posts, and walls all others from then on."""

    async def _once(self, ask: Ask) -> Fetched:
        is_first = not any(url.startswith("posts/") for url in self.asked)
        if ask.request.kind is Kind.POSTS and ask.nth == 1 and not is_first:
            self.trouble.setdefault(ask.request.url, []).append(Verdict.LOGIN_WALL)
        return await super()._once(ask)


def test_walls_of_all_first_pages_are_no_fact_about_anybody(crawl_: Crawl) -> None:
    """Law 4: who was shown a first page before is asked for once more, and is refused, too."""
    crawl_.add(*range(5, 9))
    fetcher = Closing({uid: timeline(uid, 5) for uid in range(5, 9)})
    outcomes = crawl_.run(fetcher, users_in_flight=1)
    assert Counter(one.status for one in outcomes.values()) == {"stored": 1, "failed": 3}
    shown = next(uid for uid, one in outcomes.items() if one.status == "stored")
    assert fetcher.asked.count(f"posts/{shown}/") > 1


# -- shares, and a run without network


def test_a_run_without_network_marks_nobody(crawl_: Crawl) -> None:
    """No answer has come at all: the users are left as they were, and nobody failed."""
    crawl_.add(6, 7)
    crawl_.run(ScriptedFetcher({6: timeline(6, 5), 7: []}), refresh=True)
    before = crawl_.ledger(6)
    crawl_.add(8)
    outcomes = crawl_.run(ScriptedFetcher({}, is_dead=True), refresh=True)
    assert {o.status for o in outcomes.values()} == {"unreached"}
    assert crawl_.ledger(6) == before
    assert crawl_.ledger(8) is None
    counters = crawl_.counters()
    assert (counters["users.unreached"], counters.get(FIRST, 0)) == (3, 0)


def test_a_user_whose_pages_never_come_fails_where_others_are_answered(crawl_: Crawl) -> None:
    """Else it would be asked for ever, and named nowhere."""

    class OneDead(ScriptedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            self.is_dead = ask.request.uid == 7
            return await super().fetch(ask)

    crawl_.add(6, 7)
    outcomes = crawl_.run(OneDead({6: timeline(6, 5)}), users_in_flight=1)
    again = crawl_.run(OneDead({6: timeline(6, 5)}), users_in_flight=1, refresh=True)
    assert outcomes[6].status == "stored"
    assert "failed" in (outcomes[7].status, again[7].status)


@pytest.mark.parametrize(
    ("first", "failed", "is_over"),
    [(3, 1, False), (19, 19, False), (20, 4, False), (20, 5, True), (100, 20, False)],
)
def test_small_samples_say_nothing(first: int, failed: int, is_over: bool) -> None:
    """A share is judged over twenty first visits and five failures, at least."""
    assert too_many_failed({FIRST: first, FIRST_FAILED: failed}, 0.2) == is_over
    assert not too_many_failed({"users.failed": 10**6}, 0.2)


def test_a_retry_of_what_failed_is_no_evidence(crawl_: Crawl) -> None:
    """Users that fail again and again are counted as failed, and never end a run."""
    uids = range(1, 31)
    crawl_.add(*uids)
    trouble = {f"posts/{uid}/": [BAD] for uid in uids}
    world = {uid: timeline(uid, 5) for uid in uids}
    crawl_.run(ScriptedFetcher(world, trouble=trouble))
    assert too_many_failed(crawl_.counters(), 0.2)
    trouble = {f"posts/{uid}/": [BAD] for uid in uids}
    crawl_.run(ScriptedFetcher(world, trouble=trouble))
    counters = crawl_.counters()
    assert (counters["users.failed"], counters.get(FIRST, 0)) == (30, 0)
    assert not too_many_failed(counters, 0.2)


def test_what_was_in_trouble_when_the_site_ended_a_run_is_no_evidence(crawl_: Crawl) -> None:
    """Law 15: page 1 was odd and the profile was being asked for, or page 1 was asked for again:
    for the next run these were first attempts. Visits that met nothing are first ones still."""

    class Over(ScriptedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            if ask.request.kind is Kind.PROFILE or int(ask.request.uid) > 10:
                no = SiteSaysNo("the site says no")
                no.met = "late" if 10 < int(ask.request.uid) <= 20 else ""
                raise no
            return await super().fetch(ask)

    uids = range(1, 31)
    crawl_.add(*uids)
    world = {uid: timeline(uid, 5) for uid in uids}
    odd = {f"posts/{uid}/": [Verdict.DRIFTED] for uid in uids}
    with pytest.raises(SiteSaysNo, match="the site says no"):
        crawl_.run(Over(world, trouble=odd))
    assert [crawl_.ledger(uid) is not None for uid in uids] == [True] * 20 + [False] * 10
    trouble = {f"posts/{uid}/": [BAD] for uid in uids}
    crawl_.run(ScriptedFetcher(world, trouble=trouble))
    counters = crawl_.counters()
    assert (counters["users.failed"], counters[FIRST]) == (30, 10)
    crawl_.run(ScriptedFetcher(world))
    assert all(len(crawl_.posts(uid)) == 5 for uid in uids)


# -- bounds


def test_the_bound_of_a_timeline_is_one(crawl_: Crawl) -> None:
    """Twice the pages that the announced posts fill, and some; a count that nobody can reach is no
    count. A timeline that goes on is left, unsure."""
    assert most_pages(None, 10) == 200
    assert most_pages(25, 10) == 55
    assert most_pages(10**6, 10) == 200_050
    crawl_.add(6)
    fetcher = ScriptedFetcher({6: timeline(6, 2500)}, announced={6: 10**12})
    outcome = crawl_.run(fetcher)[6]
    assert (outcome.announced, outcome.stopped, outcome.sure) == (None, "too_many_pages", False)
    assert crawl_.ledger(6).pages == 200


def test_an_illegible_cursor_is_no_end(crawl_: Crawl) -> None:
    """Law 4: the page says that there is more, if not where; however few posts are announced, the
    timeline is not whole."""

    class LastPages(ScriptedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            fetched = await super().fetch(ask)
            if not isinstance(page := fetched.reading.record, PostPage):
                return fetched
            reading = replace(fetched.reading, record=replace(page, next_cursor=None))
            return fetched._replace(reading=reading)

    crawl_.add(6)
    world = {6: timeline(6, 8)}
    outcome = crawl_.run(LastPages(world, skipped={"odd cursor": 1}))[6]
    assert (outcome.stored, outcome.stopped, outcome.sure) == (8, "odd_cursor", False)
    assert not crawl_.ledger(6).whole
    again = crawl_.run(LastPages(world, skipped={"no post": 1}), refresh=True)[6]
    assert (again.stopped, crawl_.ledger(6).whole) == ("no_next_page", True)


def test_a_long_timeline_takes_several_runs(crawl_: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is announced, one run reads so many pages of a user; the next one goes on there."""
    monkeypatch.setattr(walk, "_PAGES_A_RUN", 3)
    crawl_.add(6)
    world = {6: timeline(6, 75)}
    pages = []
    for status in ("partial", "partial", "stored"):
        fetcher = ScriptedFetcher(world)
        assert crawl_.run(fetcher)[6].status == status
        pages.append([url for url in fetcher.asked if url.startswith("posts")])
    assert pages[1] == ["posts/6/4", "posts/6/5", "posts/6/6"]
    assert set(pages[2]) == {"posts/6/7", "posts/6/8", "posts/6/9"}
    assert (len(crawl_.posts(6)), crawl_.ledger(6).whole) == (75, True)


@pytest.mark.parametrize(
    ("silent", "shown", "visited", "is_over"),
    [(0, 0, 9, False), (1, 0, 9, True), (4, 9, 9, False), (5, 9, 9, True), (5, 9, 50, False)],
)
def test_a_run_that_met_silence_says_so(
    silent: int, shown: int, visited: int, is_over: bool
) -> None:
    """Each mapper meets too few users to tell; the run ends with 4 where none of them was shown
    anything, or where many visits found the site silent."""
    counters = {SILENT: silent, "page.ok": shown}
    assert fell_silent(counters, visited, 0.2) == is_over


@pytest.mark.parametrize(
    ("bare", "others", "is_over"),
    [(19, 0, False), (20, 0, True), (20, 19, True), (20, 20, False), (200, 300, False)],
)
def test_a_run_that_was_shown_hardly_any_posts_says_so(
    bare: int, others: int, is_over: bool
) -> None:
    """Of most users, and of twenty or more, none of the posts that their profiles announce."""
    assert shows_no_posts({BARE: bare, FIRST: others}) == is_over


def test_who_is_shown_without_posts_is_counted_once(crawl_: Crawl) -> None:
    """Law 4: shown profiles tell that posts are missing, at first visits; one that announces none
    does not, and a second visit, which believes it, is no news."""
    uids = range(1, 31)
    crawl_.add(*uids)
    world: dict[int, list[Post]] = {uid: [] for uid in uids} | {30: timeline(30, 5)}
    announced = {uid: 0 if uid == 1 else 7 for uid in uids}
    crawl_.run(ScriptedFetcher(world, announced=announced))
    counters = crawl_.counters()
    assert (counters[BARE], counters[FIRST], counters["users.failed"]) == (28, 2, 28)
    assert shows_no_posts(counters)
    crawl_.run(ScriptedFetcher(world, announced=announced))
    assert not crawl_.counters().get(BARE)


def test_a_retry_that_is_shown_no_posts_is_no_evidence(crawl_: Crawl) -> None:
    """What failed before tells nothing of the site."""
    crawl_.add(6)
    crawl_.run(ScriptedFetcher({6: []}, announced={6: 7}, trouble={"posts/6/": [BAD]}))
    assert crawl_.ledger(6).state == "failed"
    outcome = crawl_.run(ScriptedFetcher({6: []}, announced={6: 7}))[6]
    assert (outcome.status, outcome.is_bare) == ("failed", False)


def test_a_silence_is_compared_as_exactly_as_ledgers_keep_times(crawl_: Crawl) -> None:
    """A visit that ended within the millisecond in which the site was last shown is in doubt."""
    silences = Silences(crawl_.users)
    silences.tell("run", 1_700_000_000.0007)
    for visited_at, is_suspect in ((1_700_000_000.0, True), (1_699_999_999.999, False)):
        ledger = Ledger(state="done", stopped="end", run_id="run", visited_at=visited_at)
        assert silences.is_suspect(ledger) == is_suspect


@pytest.mark.parametrize("shown", ["nothing", "profiles", "later pages"])
def test_a_mapper_that_was_shown_no_first_page_speaks_for_those_before_it(
    crawl_: Crawl, shown: str
) -> None:
    """One mapper ends in the first moment of a silence, and takes it for nothing; the next one is
    shown no first page of posts at all: others tell nothing of these. What the first one concluded
    from emptiness is looked at again, and what it was shown is not."""
    early, late = sorted((4, 5), key=user_key)
    crawl_.add(early, late)
    world = {uid: timeline(uid, 25) for uid in (early, late)}
    ticks = count(100.0).__next__
    crawl_.run(ScriptedFetcher(world), run_id="run", clock=ticks, users_in_flight=1)
    crawl_.add(6)
    world = {6: timeline(6, 25)}
    deceived = ScriptedFetcher(world, trouble={"posts/6/2": [Verdict.END, Verdict.END]})
    crawl_.run(deceived, run_id="run", clock=count(200.0).__next__)
    world = {7: timeline(7, 3), 8: timeline(8, 25)}
    if shown == "later pages":
        crawl_.add(8)
        cut = ScriptedFetcher(world, trouble={"posts/8/2": [BAD]})
        crawl_.run(cut, run_id="another", clock=lambda: 300.0)
    crawl_.add(7)
    nothing = {"posts/7/": [Verdict.END] * 4}
    nothing |= {"profile/7": [Verdict.EMPTY]} if shown == "nothing" else {}
    silent = ScriptedFetcher(world, trouble=nothing)
    silent.is_talking = False
    crawl_.run(silent, run_id="run", clock=lambda: 5000.0)
    assert ("posts/8/2" in silent.asked) is (shown == "later pages")
    silences = Silences(crawl_.users)
    assert not silences.is_suspect(crawl_.ledger(early))
    assert silences.is_suspect(crawl_.ledger(6))


def test_first_pages_tell_nothing_of_when_later_ones_fell_silent(crawl_: Crawl) -> None:
    """The site falls silent with later pages, and shows first ones as ever, before it ends the run:
    what was concluded since the last later page is in doubt, however few such ends there were."""
    early, deceived, last = sorted((5, 6, 7), key=user_key)
    crawl_.add(early, deceived, last)
    world = {uid: timeline(uid, 25) for uid in (early, deceived, last)}
    fetcher = ScriptedFetcher(world, trouble={f"posts/{deceived}/2": [Verdict.END] * 2})
    fetcher.left = {Kind.POSTS: 7}
    with pytest.raises(SiteSaysNo):
        crawl_.run(fetcher, run_id="run", clock=count(200.0).__next__, users_in_flight=1)
    pages = [url for url in fetcher.asked if url.startswith("posts/")]
    assert pages[-1] == f"posts/{last}/"
    silences = Silences(crawl_.users)
    assert crawl_.ledger(deceived).stopped == "end"
    assert silences.is_suspect(crawl_.ledger(deceived))


def test_a_profile_tells_nothing_of_when_posts_were_shown(crawl_: Crawl) -> None:
    """A mapper is shown posts, then a wall and a profile: the ends between them are in doubt where
    the next mapper finds the site silent."""
    first, then = sorted((5, 6), key=user_key)
    crawl_.add(first, then)
    trouble = {f"posts/{first}/2": [Verdict.END, Verdict.END]}
    fetcher = Closing({uid: timeline(uid, 25) for uid in (first, then)}, trouble=trouble)
    crawl_.run(fetcher, run_id="run", clock=count(200.0).__next__, users_in_flight=1)
    assert fetcher.asked[-1] == f"profile/{then}"
    Silences(crawl_.users).tell("run", None)
    assert Silences(crawl_.users).is_suspect(crawl_.ledger(first))


@pytest.mark.parametrize("order", [(3.0, 5.0), (5.0, 3.0)])
def test_the_latest_word_of_the_mappers_before_counts(
    crawl_: Crawl, order: tuple[float, ...]
) -> None:
    """Each mapper that ends notes when it was last shown something. One that was shown nothing
    takes the latest of these; where nobody was shown anything all of the run is in doubt."""
    silences = Silences(crawl_.users)
    for at in order:
        silences.talked("run", at)
    for run_id, visited_at, is_suspect in (
        ("run", 4.9, False),
        ("run", 5.1, True),
        ("r", 1.0, True),
    ):
        silences.tell(run_id, None)
        ledger = Ledger(state="done", stopped="end", run_id=run_id, visited_at=visited_at)
        assert silences.is_suspect(ledger) == is_suspect


@pytest.mark.parametrize("told", list(permutations((3.0, 5.0, None))))
def test_of_mappers_that_were_shown_nothing_any_more_the_first_counts(
    crawl_: Crawl, told: tuple[float | None, ...]
) -> None:
    """In whatever order they end, and whatever those that ended before were shown."""
    silences = Silences(crawl_.users)
    silences.talked("run", 4.0)
    for since in told:
        silences.tell("run", since)
    for visited_at, is_suspect in ((2.9, False), (3.1, True)):
        ledger = Ledger(state="done", stopped="end", run_id="run", visited_at=visited_at)
        assert silences.is_suspect(ledger) == is_suspect


@pytest.mark.parametrize("verdict", [Verdict.LOGIN_WALL, BAD, Verdict.OK])
def test_a_witness_that_does_not_tell_is_asked_once(crawl_: Crawl, verdict: Verdict) -> None:
    """Where many answers in a row show nothing, and who was shown before cannot be asked for, the
    run goes on without a witness: what it sends stays near what it needs."""
    crawl_.add(*range(6, 66))
    first = min(range(6, 66), key=user_key)
    fetcher = ScriptedFetcher({first: timeline(first, 5)})
    ask, seen = fetcher.fetch, 0

    async def goes(one: Ask) -> Fetched:
        nonlocal seen
        fetched = await ask(one)
        seen += one.request.uid == first
        if one.expect is Expect.SHOWN and verdict is not Verdict.OK:
            return Fetched(Reading(verdict), fetched.page)
        return fetched

    fetcher.fetch = goes  # type: ignore[method-assign]
    crawl_.run(fetcher, users_in_flight=1)
    assert seen < 20


def test_nobody_forgotten_is_a_witness(crawl_: Crawl) -> None:
    """Law 14: who is forgotten while a run is at work is asked for no more, as a witness either."""
    crawl_.add(*range(6, 66))
    first = min(range(6, 66), key=user_key)
    fetcher = ScriptedFetcher({first: timeline(first, 5)})
    ask, after = fetcher.fetch, 0

    async def forgets(one: Ask) -> Fetched:
        nonlocal after
        after += one.request.uid == first and one.expect is Expect.SHOWN
        if len(fetcher.asked) == 8:
            crawl_.users.forget([first])
        return await ask(one)

    fetcher.fetch = forgets  # type: ignore[method-assign]
    crawl_.run(fetcher, users_in_flight=1)
    assert len(fetcher.asked) > 60
    assert not after


@pytest.mark.parametrize("times", [1, 99])
@pytest.mark.parametrize(
    ("posts", "place", "shown", "stopped"),
    [(35, "3", "2", "repeated_cursor"), (45, "2", "5", "no_next_page")],
    ids=["older", "later"],
)
def test_another_page_of_the_user_in_place_of_the_next_one_is_no_end(
    crawl_: Crawl, posts: int, place: str, shown: str, stopped: str, times: int
) -> None:
    """An older page, all of which was shown before and that names itself; a later one that names no
    next one, where a page of posts is missing still. It is asked for once more, and where it stays
    so that is the end, unsure."""
    crawl_.add(6)
    fetcher = ScriptedFetcher({6: timeline(6, posts)})
    ask, left = fetcher.fetch, times

    async def elsewhere(one: Ask) -> Fetched:
        nonlocal left
        if one.request.cursor != place or left <= 0:
            return await ask(one)
        left -= 1
        other = await ask(one._replace(request=ScriptedSite().posts(6, shown)))
        fetcher.asked[-1] = one.request.url
        if stopped == "no_next_page":
            last = replace(other.reading.record, next_cursor=None)
            other = other._replace(reading=replace(other.reading, record=last))
        return other

    fetcher.fetch = elsewhere  # type: ignore[method-assign]
    outcome = crawl_.run(fetcher)[6]
    assert fetcher.asked.count(f"posts/6/{place}") == 2
    assert (len(crawl_.posts(6)) == posts) is (times == 1)
    assert (outcome.stopped == stopped) is (times > 1)
    assert outcome.sure is (times == 1)


@pytest.mark.parametrize("times", [1, 99])
@pytest.mark.parametrize(
    ("place", "end"), [("2", "no_next_page"), ("3", "no_next_page"), ("3", "repeated_cursor")]
)
def test_a_last_page_that_shows_what_was_shown_is_looked_at_again(
    crawl_: Crawl, place: str, end: str, times: int
) -> None:
    """However few posts are missing behind it: the page before named it, and one answer that holds
    nothing but older posts may be an older page, so another egress is asked. Where it stays so it
    is the end."""
    crawl_.add(6)
    posts = 10 * int(place) - 9  # the last page holds one
    fetcher = ScriptedFetcher({6: timeline(6, posts)})
    ask, left, avoided = fetcher.fetch, times, list[str]()

    async def elsewhere(one: Ask) -> Fetched:
        nonlocal left
        avoided.append(one.avoid)
        if one.request.cursor != place or left <= 0:
            return await ask(one)
        left -= 1
        other = await ask(one._replace(request=ScriptedSite().posts(6, "")))
        fetcher.asked[-1] = one.request.url
        following = None if end == "no_next_page" else place
        page = replace(other.reading.record, next_cursor=following)
        return other._replace(reading=replace(other.reading, record=page))

    fetcher.fetch = elsewhere  # type: ignore[method-assign]
    outcome = crawl_.run(fetcher)[6]
    assert fetcher.asked.count(f"posts/6/{place}") == 2
    assert [avoid for avoid in avoided if avoid] == ["direct"]
    assert (len(crawl_.posts(6)) == posts) is (times == 1)
    assert (outcome.stopped == end) is (times > 1)


@pytest.mark.parametrize("announced", [None, 11])
@pytest.mark.parametrize(("is_last", "end"), [(True, "no_next_page"), (False, "no_new_post")])
def test_pages_that_show_page_1_again_are_no_end(
    crawl_: Crawl, *, is_last: bool, end: str, announced: Any
) -> None:
    """A cache that shows page 1 in place of all others, whatever those name as the next one: where
    nobody knows how many posts there are, or some are missing, the timeline is not whole, however
    few they are, until a later visit is shown the rest."""
    crawl_.add(6)
    clock = Clock()
    world = {6: timeline(6, 11)}
    cached = ScriptedFetcher(world, announced={6: announced})
    ask = cached.fetch

    async def first(one: Ask) -> Fetched:
        if not one.request.cursor:
            return await ask(one)
        fetched = await ask(one._replace(request=ScriptedSite().posts(6, "")))
        cached.asked[-1] = one.request.url
        following = None if is_last else f"{int(one.request.cursor) + 1}"
        page = replace(fetched.reading.record, next_cursor=following)
        return fetched._replace(reading=replace(fetched.reading, record=page))

    cached.fetch = first  # type: ignore[method-assign]
    outcome = crawl_.run(cached, clock=clock)[6]
    assert (outcome.stopped, outcome.sure, crawl_.ledger(6).whole) == (end, False, False)
    assert cached.asked.count("posts/6/2") == (2 if is_last else 1)
    clock.now += 60 * DAY
    honest = ScriptedFetcher(world, announced={6: announced})
    crawl_.run(honest, clock=clock, refresh=True, due=True)
    assert len(crawl_.posts(6)) == 11
    assert crawl_.ledger(6).whole


@pytest.mark.parametrize("announced", [None, 11, 12])
def test_a_pinned_post_in_its_place_is_no_page_again(crawl_: Crawl, announced: Any) -> None:
    """The last page holds the pinned post alone: that is where it stands."""
    crawl_.add(6)
    posts = timeline(6, 11)
    fetcher = ScriptedFetcher({6: posts}, announced={6: announced}, pinned={6: posts[-1]})
    ask = fetcher.fetch

    async def named(one: Ask) -> Fetched:
        fetched = await ask(one)
        page = fetched.reading.record
        if one.request.cursor == "2":
            page = replace(page, next_cursor=None)
        return fetched._replace(reading=replace(fetched.reading, record=page))

    fetcher.fetch = named  # type: ignore[method-assign]
    outcome = crawl_.run(fetcher)[6]
    assert (outcome.stopped, outcome.stored, outcome.sure) == ("no_next_page", 11, True)
    assert fetcher.asked.count("posts/6/2") == 1


@pytest.mark.parametrize("days", [1, 4])
def test_a_run_knows_later_pages_that_others_were_shown_of_late(crawl_: Crawl, days: int) -> None:
    """A run that begins while later pages are silent has seen none: it asks for one that an earlier
    run was shown, for three days. Then that is the site's habit."""
    uids, clock = range(10, 40), Clock()
    crawl_.add(6)
    crawl_.run(ScriptedFetcher({6: timeline(6, 15)}), clock=clock)
    crawl_.add(*uids)
    clock.now += days * DAY
    silent = ScriptedFetcher({uid: timeline(uid, 10) for uid in uids})
    crawl_.run(silent, clock=clock, users_in_flight=3)
    assert silent.expected.get("posts/6/2") is (Expect.SHOWN if days < 3 else None)


@pytest.mark.parametrize("days", [1, 4])
def test_nobody_is_gone_where_those_of_before_are_gone_too(crawl_: Crawl, days: int) -> None:
    """A run that begins while all are said to be gone asks for whom an earlier one was shown, once
    for many, and for three days. The word is a fact where one of these is shown, and where nobody
    is known to ask for."""
    uids, clock = range(10, 40), Clock()
    crawl_.add(6)
    world = {6: timeline(6, 5)}
    crawl_.run(ScriptedFetcher(world), clock=clock)
    crawl_.add(*uids)
    clock.now += days * DAY
    closed = {f"{kind}/{uid}{end}": Verdict.GONE for uid in uids for kind, end in KINDS}
    closed |= {f"{kind}/6{end}": Verdict.GONE for kind, end in KINDS}
    silent = ScriptedFetcher({}, closed=closed)
    states = {outcome.status for outcome in crawl_.run(silent, clock=clock).values()}
    assert states == ({"failed", "existing"} if days < 3 else {"gone", "existing"})
    asked = silent.asked.count("posts/6/")
    assert 1 <= asked <= 12 if days < 3 else asked == 0
    well = ScriptedFetcher(world, closed={url: Verdict.GONE for url in closed if "/6" not in url})
    outcomes = crawl_.run(well, clock=clock)
    assert {crawl_.ledger(uid).state for uid in uids} == {"gone"}
    assert [outcomes[uid].sure for uid in uids] == [True] * len(uids)


def test_nobody_forgotten_is_noted_as_a_witness(crawl_: Crawl) -> None:
    """Law 11: what is noted of pages that were shown names nobody who was forgotten."""
    crawl_.add(6)
    crawl_.run(ScriptedFetcher({6: timeline(6, 15)}))
    assert [page.uid for page in notes.SHOWN.of("posts").get(crawl_.users) or ()] == [6, 6]
    forget_users(crawl_.users, crawl_.tables, [6])
    assert not notes.SHOWN.of("posts").get(crawl_.users)


@pytest.mark.parametrize("second", [Verdict.END, Verdict.LOGIN_WALL, Verdict.SERVER_TROUBLE])
def test_a_page_that_was_shown_is_stored_whatever_a_second_look_shows(
    crawl_: Crawl, second: Verdict
) -> None:
    """Law 15: the last page lacks a page of posts behind it, and is asked for once more; what it
    showed at first is held, and that look tells nothing of such ends."""
    crawl_.add(6)
    fetcher = ScriptedFetcher({6: timeline(6, 15)}, announced={6: 45})
    ask, answers = fetcher.fetch, [second]

    async def once(one: Ask) -> Fetched:
        fetched = await ask(one)
        if one.request.cursor != "2":
            return fetched
        if fetcher.asked.count(one.request.url) > 1:
            return fetched._replace(reading=Reading(answers.pop(), ambiguous=True))
        last = replace(fetched.reading.record, next_cursor=None)
        return fetched._replace(reading=replace(fetched.reading, record=last))

    fetcher.fetch = once  # type: ignore[method-assign]
    outcome = crawl_.run(fetcher)[6]
    assert not answers
    assert (outcome.stored, outcome.stopped, outcome.sure) == (15, "no_next_page", False)
    assert len(crawl_.posts(6)) == 15


def test_an_end_of_repeated_posts_that_lacks_nothing_is_asked_for_once(crawl_: Crawl) -> None:
    """A site may end a timeline by its last page once more: nothing announced is missing."""
    crawl_.add(6)
    fetcher = ScriptedFetcher({6: timeline(6, 20)})
    ask = fetcher.fetch

    async def once_more(one: Ask) -> Fetched:
        if one.request.cursor not in ("2", "3"):
            return await ask(one)
        shown = await ask(one._replace(request=ScriptedSite().posts(6, "2")))
        fetcher.asked[-1] = one.request.url
        page = replace(shown.reading.record, next_cursor="3" if one.request.cursor == "2" else None)
        return shown._replace(reading=replace(shown.reading, record=page))

    fetcher.fetch = once_more  # type: ignore[method-assign]
    outcome = crawl_.run(fetcher)[6]
    assert fetcher.asked.count("posts/6/3") == 1
    assert (outcome.stopped, outcome.sure, outcome.stored) == ("no_next_page", True, 20)


def test_a_word_that_was_false_of_others_is_heard_twice(crawl_: Crawl) -> None:
    """Law 4: once the site has called somebody gone whom it shows, nobody is gone by one visit."""
    crawl_.add(6, 7)
    gone = [Verdict.GONE] * 2
    trouble = {"posts/6/": gone[:1], "posts/7/": gone[:1], "profile/7": gone[:1]}
    world = {6: timeline(6, 3), 7: timeline(7, 3)}
    crawl_.run(ScriptedFetcher(world, trouble=trouble), users_in_flight=1)
    assert crawl_.ledger(7).state == "failed"
    crawl_.run(ScriptedFetcher(world))
    assert (crawl_.ledger(7).state, len(crawl_.posts(7))) == ("done", 3)

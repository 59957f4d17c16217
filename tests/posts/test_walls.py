"""Later pages that guests are not shown: a few tries tell, and the rest is spared."""

import asyncio
from collections import Counter

import pytest

from tests.posts.crawls import Crawl, timeline
from tests.posts.test_refresh import DAY, HOUR, Clock
from tests.posts.worlds import ScriptedFetcher, post
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.records import Kind, PostPage, Reading, Request, Verdict

UIDS = range(6, 36)
TRIES = 9


def site(*, shown: bool = False, sure: bool = True, uids: range = UIDS) -> ScriptedFetcher:
    """Each user has 15 posts. shown: guests may see page 2. sure: walls are confirmed."""
    walls = {} if shown else {f"posts/{uid}/2": [Verdict.LOGIN_WALL] * 9 for uid in uids}
    world = {uid: timeline(uid, 15) for uid in uids}
    return ScriptedFetcher(world, trouble=walls, doubted=() if sure else walls)


def later(fetcher: ScriptedFetcher) -> int:
    return sum(url.endswith("/2") for url in fetcher.asked)


def run(crawl: Crawl, fetcher: ScriptedFetcher, clock: Clock, **more: object) -> None:
    outcomes = crawl.run(fetcher, clock=clock, users_in_flight=1, **more)  # type: ignore[arg-type]
    statuses = {outcome.status for outcome in outcomes.values()}
    assert statuses <= {"partial", "stored", "unchanged", "existing"}


def test_a_few_tries_tell_and_the_rest_is_spared(crawl_: Crawl) -> None:
    """Who is spared ends as who was refused: at the wall, with a date to come back, and its posts
    stored. First pages are asked for as ever."""
    crawl_.add(*UIDS)
    clock, fetcher = Clock(), site()
    run(crawl_, fetcher, clock)
    assert later(fetcher) == TRIES
    assert len(fetcher.asked) == len(UIDS) + TRIES
    refused, spared = crawl_.ledger(UIDS[0]), crawl_.ledger(UIDS[-1])
    told = ("state", "stopped", "sure", "whole", "stored", "gaps", "walled_at", "cursor")
    assert (refused.refused_pages, spared.refused_pages) in ((1, 0), (0, 1))
    for ledger in (refused, spared):
        assert [getattr(ledger, name) for name in told] == [
            *("done", "login_wall", True, False, 10, refused.gaps, clock.now, None),
        ]
        assert ledger.next_visit > clock.now


class Slow(ScriptedFetcher):
    """Others go on while an answer is on its way."""

    async def fetch(self, ask: Ask) -> Fetched:
        for _ in range(5):
            await asyncio.sleep(0)
        return await super().fetch(ask)


def test_visits_at_once_do_not_all_meet_the_wall(crawl_: Crawl) -> None:
    """Law 16: while nobody knows whether guests are shown page 2 one visit at a time asks for it.
    Thirty visits of which a harvest had kept page 1 sent 136 requests for it."""
    crawl_.add(*UIDS)
    world = {uid: timeline(uid, 15) for uid in UIDS}
    walls = {f"posts/{uid}/2": [Verdict.LOGIN_WALL] * 9 for uid in UIDS}
    fetcher = Slow(world, trouble=walls)
    crawl_.run(fetcher, users_in_flight=len(UIDS))
    assert later(fetcher) == TRIES
    assert {crawl_.ledger(uid).stopped for uid in UIDS} == {"login_wall"}


def test_where_later_pages_are_shown_all_visits_ask_at_once(crawl_: Crawl) -> None:
    """One answer that is no wall tells."""
    crawl_.add(*UIDS)

    class Watched(Slow):
        """All answers for page 2 but the first one wait until most of them are asked for."""

        begun = 0
        are_most_asked: asyncio.Event

        async def fetch(self, ask: Ask) -> Fetched:
            if ask.nth == 2:
                self.begun += 1
                if self.begun == 1:
                    self.are_most_asked = asyncio.Event()
                    return await super().fetch(ask)
                if self.begun > len(UIDS) / 2:
                    self.are_most_asked.set()
                await asyncio.wait_for(self.are_most_asked.wait(), 20)
            return await super().fetch(ask)

    fetcher = Watched({uid: timeline(uid, 15) for uid in UIDS})
    crawl_.run(fetcher, users_in_flight=len(UIDS))
    assert {crawl_.ledger(uid).stored for uid in UIDS} == {15}


def test_later_runs_know_it_and_one_request_an_hour_tries(crawl_: Crawl) -> None:
    """Also runs at the same time, which tell each other."""
    crawl_.add(*UIDS)
    clock = Clock()
    run(crawl_, site(), clock)
    for hours, tries in ((0.5, 0), (1.0, 1), (0.5, 0), (24.0, 1)):
        clock.now += hours * HOUR
        fetcher = site()
        run(crawl_, fetcher, clock, refresh=True)
        assert later(fetcher) == tries
        assert len(fetcher.asked) == len(UIDS) + tries


def test_a_page_without_posts_before_a_wall_costs_a_refresh_no_profile(crawl_: Crawl) -> None:
    """Law 16: page 1 shows nobody and names page 2, which guests are not shown. The profile tells
    of the owner, once in so many days."""
    crawl_.add(*UIDS)

    class Blank(ScriptedFetcher):
        def _answer(self, request: Request) -> Reading:
            if request.kind is Kind.POSTS and not request.cursor:
                page = PostPage(request.uid, (), "2")
                return Reading(Verdict.OK, page, ambiguous=True)
            return super()._answer(request)

    def asked(days: float) -> int:
        clock.now += days * DAY
        blank = Blank({uid: timeline(uid, 15) for uid in UIDS}, trouble=site().trouble)
        blank.is_talking = True
        run(crawl_, blank, clock, refresh=True, profile_days=10.0)
        assert {crawl_.ledger(uid).announced for uid in UIDS} == {15}
        assert {crawl_.ledger(uid).stopped for uid in UIDS} == {"login_wall"}
        return sum(url.startswith("profile/") for url in blank.asked)

    clock = Clock()
    assert [asked(days) for days in (0, 2, 2, 9)] == [len(UIDS), 0, 0, len(UIDS)]


def test_when_the_site_opens_all_are_read(crawl_: Crawl) -> None:
    """The probe passes, and nobody is spared any more, in this run and the next."""
    crawl_.add(*UIDS)
    clock = Clock()
    run(crawl_, site(), clock)
    clock.now += DAY
    opened = site(shown=True)
    run(crawl_, opened, clock, refresh=True)
    assert later(opened) == len(UIDS)
    assert {crawl_.ledger(uid).stored for uid in UIDS} == {15}
    more = range(36, 46)
    crawl_.add(*more)
    fresh = site(shown=True, uids=more)
    run(crawl_, fresh, clock)
    assert later(fresh) == len(more)


@pytest.mark.parametrize("is_shut", [True, False])
def test_whole_texts_that_nobody_is_shown_are_spared(crawl_: Crawl, is_shut: bool) -> None:
    """Law 15: by each way a few walls tell, or the fetcher does; the posts are stored, and named as
    cut, and when the site opens a probe passes and all are mended."""
    crawl_.add(*UIDS)
    clock = Clock()
    world = {uid: [post(uid, uid, text="begin ...", text_complete=False)] for uid in UIDS}
    texts = {uid: f"begin {uid}" for uid in UIDS}
    ways = "extend", "show"
    walled = {f"{way}/{uid}": [Verdict.LOGIN_WALL] * 9 for way in ways for uid in UIDS}
    fetcher = ScriptedFetcher(world, texts=texts, trouble=walled)
    if is_shut:
        fetcher = ScriptedFetcher(world, shut=(Kind.EXTEND, Kind.SHOW))
    run(crawl_, fetcher, clock)
    asked = Counter(url.partition("/")[0] for url in fetcher.asked)
    assert [asked[way] for way in ways] == ([1, 1] if is_shut else [TRIES, TRIES])
    assert all(crawl_.ledger(uid).cut == (uid,) for uid in UIDS)
    more = range(UIDS.stop, UIDS.stop + 5)
    crawl_.add(*more)
    world |= {uid: [post(uid, uid, text="begin ...", text_complete=False)] for uid in more}
    soon = ScriptedFetcher(world, texts=texts)
    run(crawl_, soon, clock)
    assert not any(url.startswith(ways) for url in soon.asked)
    clock.now += DAY
    run(crawl_, ScriptedFetcher(world, texts=texts), clock, refresh=True)
    assert all(crawl_.posts(uid)[uid]["text"] == texts[uid] for uid in UIDS)


def test_walls_that_nobody_confirmed_spare_nobody(crawl_: Crawl) -> None:
    """Law 4: they may be of the session, or of one proxy."""
    crawl_.add(*UIDS)
    fetcher = site(sure=False)
    run(crawl_, fetcher, Clock())
    assert later(fetcher) == len(UIDS)


def test_walls_of_first_pages_spare_no_later_ones(crawl_: Crawl) -> None:
    """Law 4: a site that refuses guests everything says nothing of how deep they may read. Who goes
    on at page 2 in the next run is asked for."""
    begun, others = range(6, 9), range(20, 35)
    crawl_.add(*begun)
    broken = {f"posts/{uid}/2": [Verdict.SERVER_TROUBLE] * 9 for uid in begun}
    world = {uid: timeline(uid, 15) for uid in (*begun, *others)}
    crawl_.run(ScriptedFetcher(world, trouble=broken))
    assert {crawl_.ledger(uid).cursor for uid in begun} == {"2"}
    crawl_.add(*others)
    walled = {f"posts/{uid}/": [Verdict.LOGIN_WALL] * 9 for uid in others}
    crawl_.run(ScriptedFetcher(world, trouble={**broken, **walled}))
    fetcher = ScriptedFetcher(world, trouble=walled)
    crawl_.run(fetcher)
    assert later(fetcher) == len(begun)
    assert {crawl_.ledger(uid).stored for uid in begun} == {15}


def test_walls_of_a_few_users_spare_nobody(crawl_: Crawl) -> None:
    """Where others are shown their later pages it is a fact about those users."""
    crawl_.add(*UIDS)
    fetcher = site()
    fetcher.trouble = {url: said for n, (url, said) in enumerate(fetcher.trouble.items()) if n % 3}
    run(crawl_, fetcher, Clock())
    assert later(fetcher) == len(UIDS)


def test_a_way_that_nobody_is_shown_is_no_witness(crawl_: Crawl) -> None:
    """What one way restricts and another fails to show is not known; once that other way shows
    nobody anything, the restriction is a fact as the way says it that is left."""
    crawl_.add(*UIDS)
    world = {uid: [post(uid, uid, text="begin ...", text_complete=False)] for uid in UIDS}
    closed = {f"extend/{uid}": Verdict.RESTRICTED for uid in UIDS}
    walled = {f"show/{uid}": [Verdict.LOGIN_WALL] * 9 for uid in UIDS}
    fetcher = ScriptedFetcher(world, closed=closed, trouble=walled)
    run(crawl_, fetcher, Clock())
    assert crawl_.ledger(UIDS[0]).cut == (UIDS[0],)
    assert crawl_.ledger(UIDS[-1]).restricted == (UIDS[-1],)
    figures = fetcher.samples.figures()["texts.restricted"]
    assert (figures.ends, figures.looks) == (len(UIDS), 0)  # a way left out has shown nothing

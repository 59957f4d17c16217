"""Pages that a harvest has read, in place of asking for them again."""

import zlib

import pytest
from msgspec.structs import replace

from tests.posts.crawls import Crawl, timeline
from tests.posts.test_echoes import said
from tests.posts.worlds import ScriptedFetcher, ScriptedSite
from weibo_crawler.analysis.scan import scan_echoes
from weibo_crawler.analysis.yields import visits_a_day
from weibo_crawler.config import Posts
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.closing import begun
from weibo_crawler.posts.due import revisit_of
from weibo_crawler.posts.schedule import interval_s, posting_rate
from weibo_crawler.records import COMMENTS, Expect, Kind, Page, Reading, Request, Verdict
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.rows.cells import from_iso
from weibo_crawler.store.rows.keys import user_key

NOW, DAY_S = 1_760_000_000.0, 86_400.0
UIDS = (5, 6, 7)
FIRST = min(UIDS, key=user_key)  # of whom page 1 is asked for still
UID = max(UIDS, key=user_key)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> ScriptedFetcher:
    """Three users with 25 posts each; kept pages are read as the site would show them."""
    fetcher = ScriptedFetcher({uid: timeline(uid, 25) for uid in UIDS})
    fetcher.now = NOW
    old = ScriptedFetcher({uid: timeline(uid, 10) for uid in UIDS})
    before = ScriptedFetcher({uid: timeline(uid, 25) for uid in UIDS})

    def read(_: ScriptedSite, request: Request, page: Page) -> Reading:
        if page.body == b"else":
            return Reading(Verdict.DRIFTED)
        shown = {b"old": old, b"before": before}.get(page.body, fetcher)
        reading = shown._answer(request)
        if page.body == b"last":
            reading = replace(reading, record=replace(reading.record, next_cursor=None))
        return reading

    monkeypatch.setattr(ScriptedSite, "read", read, raising=False)
    return fetcher


def keep(crawl: Crawl, uid: int, *cursors: str, at: float = NOW, body: bytes = b"kept") -> None:
    packed = zlib.compress(body)
    pages = [KeptPage(f"posts/{uid}/{cursor}", at, packed) for cursor in cursors]
    crawl.users.keep_pages(uid, pages)


def timelines(fetcher: ScriptedFetcher) -> list[str]:
    return sorted(url for url in fetcher.asked if url.startswith("posts/"))


def test_a_kept_page_is_not_asked_for(crawl_: Crawl, world: ScriptedFetcher) -> None:
    """Of one user of a run page 1 is asked for still, which shows that first pages are shown. All
    posts are stored, and what was kept is deleted."""
    crawl_.add(*UIDS)
    for uid in UIDS:
        keep(crawl_, uid, "", "2")
    crawl_.run(world, clock=lambda: NOW + 60, users_in_flight=1)
    asked = [url for url in timelines(world) if url.endswith(("/", "/2"))]
    assert asked == [f"posts/{FIRST}/"]
    assert all(len(crawl_.posts(uid)) == 25 for uid in UIDS)
    assert crawl_.users.kept_pages(UIDS) == {}
    assert crawl_.counters()["pages.from_harvest"] == 6


def test_posts_that_have_left_page_1_since_are_stored(
    crawl_: Crawl, world: ScriptedFetcher
) -> None:
    """Of that one user, too, of whom page 1 is asked for: what a harvest was shown is not lost."""
    crawl_.add(*UIDS)
    for uid in UIDS:
        keep(crawl_, uid, "", body=b"old")
    kept = {post.mid for post in timeline(FIRST, 10)}
    world.timelines = {uid: timeline(uid, 10, first=5000) for uid in UIDS}
    crawl_.run(world, clock=lambda: NOW + 60, users_in_flight=1)
    assert f"posts/{FIRST}/" in world.asked
    assert all(kept <= crawl_.posts(uid).keys() for uid in UIDS)


@pytest.mark.parametrize("dies_at", range(3))
def test_comments_that_a_harvest_read_outlive_a_visit_that_dies(
    crawl_: Crawl, world: ScriptedFetcher, dies_at: int
) -> None:
    """Law 8: a visit that dies after it has stored a page, and before the comments on it, leaves
    them to the next one, which begins behind that page."""
    crawl_.add(UID)
    long = [replace(post, text_complete=False, comments=1) for post in timeline(UID, 25)]
    world.timelines = {UID: long}
    world.texts = {post.mid: "whole" for post in long}
    world.echoes[Kind.COMMENTS] = {post.mid: said(post.mid) for post in long}
    keep(crawl_, UID, "")
    packed = zlib.compress(b"kept")
    kept = [KeptPage(f"comments/{post.mid}", NOW, packed) for post in long[:10]]
    crawl_.users.keep_pages(UID, kept)
    world.left = {Kind.EXTEND: dies_at}
    with pytest.raises(SiteSaysNo):
        crawl_.run(world, clock=lambda: NOW + 60)
    world.left = {}
    crawl_.run(world, clock=lambda: NOW + 120)
    stored = {int(row["mid"]) for row in scan_echoes(crawl_.tables, COMMENTS)}
    assert stored == {post.mid for post in long[:10]}
    assert not [url for url in world.asked if url.startswith("comments/")]


def test_comments_under_posts_that_are_out_of_sight_since_are_stored(
    crawl_: Crawl, world: ScriptedFetcher
) -> None:
    """Law 16: a harvest has read them, then new posts have pushed theirs behind a wall."""
    crawl_.add(UID)
    posts = [replace(post, comments=1) for post in timeline(UID, 10)]
    world.timelines = {UID: posts}
    crawl_.run(world, clock=lambda: NOW + 60)
    world.echoes[Kind.COMMENTS] = {post.mid: said(post.mid) for post in posts}
    packed = zlib.compress(b"kept")
    kept = [KeptPage(f"comments/{post.mid}", NOW + 90, packed) for post in posts]
    crawl_.users.keep_pages(UID, kept)
    world.timelines = {UID: [*timeline(UID, 10, first=5000), *posts]}
    world.trouble = {f"posts/{UID}/2": [Verdict.LOGIN_WALL]}
    crawl_.run(world, refresh=True, clock=lambda: NOW + 120)
    assert crawl_.ledger(UID).stopped == "login_wall"
    stored = {int(row["mid"]) for row in scan_echoes(crawl_.tables, COMMENTS)}
    assert stored == {post.mid for post in posts}


def test_one_page_that_is_all_needs_no_proof(crawl_: Crawl, world: ScriptedFetcher) -> None:
    """Where nothing is left to ask for, nothing is asked."""
    world.timelines = {UID: timeline(UID, 8)}
    crawl_.add(UID)
    keep(crawl_, UID, "", body=b"last")
    outcomes = crawl_.run(world, clock=lambda: NOW + 60)
    assert (outcomes[UID].status, outcomes[UID].stored, world.asked) == ("stored", 8, [])


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_an_empty_timeline_that_a_profile_confirms_is_not_asked_for(
    crawl_: Crawl, world: ScriptedFetcher, is_confirmed: bool
) -> None:
    """Law 4: an emptiness alone is evidence of the moment."""
    world.timelines = {UID: []}
    crawl_.add(UID)
    keep(crawl_, UID, "", at=NOW)
    if is_confirmed:
        profile = KeptPage(f"profile/{UID}", NOW + 1, zlib.compress(b"kept"))
        crawl_.users.keep_pages(UID, [profile])
    outcomes = crawl_.run(world, clock=lambda: NOW + 60)
    asked = [] if is_confirmed else [f"posts/{UID}/", f"profile/{UID}"]
    assert (outcomes[UID].status, world.asked) == ("unchanged", asked)
    ledger = crawl_.ledger(UID)
    assert (ledger.state, ledger.announced, ledger.sure) == ("done", 0, True)
    assert (ledger.told_at, ledger.profile_at) == (
        (NOW, NOW + 1) if is_confirmed else (NOW + 60, NOW + 60)
    )
    assert crawl_.users.kept_pages(UIDS) == {}


def test_a_later_page_that_is_older_than_the_one_before_is_asked_for(
    crawl_: Crawl, world: ScriptedFetcher
) -> None:
    """New posts move the old ones down: between a new page 1 and an old page 2 some would lack."""
    crawl_.add(FIRST, UID)
    keep(crawl_, UID, "", at=NOW)
    keep(crawl_, UID, "2", at=NOW - 60)
    crawl_.run(world, clock=lambda: NOW + 60, users_in_flight=1)
    assert f"posts/{UID}/" not in world.asked
    assert f"posts/{UID}/2" in world.asked


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("deleted", [1, 4])
def test_what_a_deletion_has_moved_up_is_read(
    crawl_: Crawl, world: ScriptedFetcher, deleted: int, is_closed: bool
) -> None:
    """Posts that stood first on page 2 stand last on page 1 once others above are deleted: where
    page 2 announces fewer posts than the kept page 1 did, page 1 is asked for. Where it is not
    shown the ledger does not say that all is held."""
    crawl_.add(FIRST, UID)
    crawl_.users.keep_pages(UID, [KeptPage(f"posts/{UID}/", NOW, zlib.compress(b"before"))])
    now = timeline(UID, 25)[deleted:]
    world.timelines = {**world.timelines, UID: now}
    if is_closed:
        world.closed[f"posts/{UID}/"] = Verdict.SERVER_TROUBLE
    crawl_.run(world, clock=lambda: NOW + 60, users_in_flight=1)
    asked = [url for url in timelines(world) if url.startswith(f"posts/{UID}/")]
    assert asked[:3] == [f"posts/{UID}/", f"posts/{UID}/2", f"posts/{UID}/3"]
    assert ({post.mid for post in now} <= crawl_.posts(UID).keys()) is not is_closed
    assert (crawl_.ledger(UID).state, crawl_.ledger(UID).whole) == ("done", not is_closed)


@pytest.mark.parametrize("age_s", [60.0, 7200.0])
def test_the_last_post_may_have_moved_up(
    crawl_: Crawl, world: ScriptedFetcher, age_s: float
) -> None:
    """It was alone on page 2, which is empty since a post of page 1 was deleted. A page of this
    hour is not asked for again."""
    crawl_.add(FIRST, UID)
    crawl_.users.keep_pages(UID, [KeptPage(f"posts/{UID}/", NOW, zlib.compress(b"before"))])
    now = timeline(UID, 25)[1:10] + timeline(UID, 25)[24:]
    world.timelines = {**world.timelines, UID: now}
    crawl_.run(world, clock=lambda: NOW + age_s, users_in_flight=1)
    assert ({post.mid for post in now} <= crawl_.posts(UID).keys()) is (age_s > 3600)
    assert timelines(world).count(f"posts/{UID}/") == (age_s > 3600)


@pytest.mark.parametrize("is_newer", [False, True])
def test_what_the_last_visit_saw_already_is_not_read_again(
    crawl_: Crawl, world: ScriptedFetcher, is_newer: bool
) -> None:
    """A page from before the last visit, which a killed run may have left, is never news."""
    crawl_.add(FIRST, UID)
    crawl_.run(world, clock=lambda: NOW)
    keep(crawl_, UID, "", at=NOW + 1 if is_newer else NOW - 1)
    world.asked.clear()
    crawl_.run(world, refresh=True, clock=lambda: NOW + DAY_S, users_in_flight=1)
    assert (f"posts/{UID}/" not in world.asked) is is_newer
    assert crawl_.users.kept_pages(UIDS) == {}


def test_the_next_visit_is_counted_from_the_page(crawl_: Crawl, world: ScriptedFetcher) -> None:
    """Nobody has seen what came after the kept page: who writes much is due at once."""
    crawl_.add(FIRST, UID)
    keep(crawl_, UID, "", at=NOW - 20 * DAY_S)
    crawl_.run(world, clock=lambda: NOW, users_in_flight=1)
    times = [from_iso(post["created_at"]) for post in crawl_.posts(UID).values()]
    rate = posting_rate(times[:20], NOW - 20 * DAY_S)
    wait_s = interval_s(rate, revisit_of(Posts()))
    assert crawl_.ledger(UID).next_visit == pytest.approx(NOW - 20 * DAY_S + wait_s)
    assert crawl_.ledger(FIRST).next_visit > NOW


def test_what_todays_reader_does_not_take_for_content_is_asked_for(
    crawl_: Crawl, world: ScriptedFetcher
) -> None:
    """Law 4: only what is known to be content is stored."""
    crawl_.add(FIRST, UID)
    keep(crawl_, UID, "", body=b"else")
    crawl_.run(world, clock=lambda: NOW + 60, users_in_flight=1)
    assert f"posts/{UID}/" in world.asked


def test_a_site_that_shows_no_first_page_leaves_them_kept(
    crawl_: Crawl, world: ScriptedFetcher
) -> None:
    """Where page 1 is refused, what is not shown behind it means nothing: no kept page is used, and
    the next run has them still."""
    world.trouble = {f"posts/{uid}/": [Verdict.LOGIN_WALL] for uid in UIDS}
    crawl_.add(*UIDS)
    for uid in UIDS:
        keep(crawl_, uid, "")
    outcomes = crawl_.run(world, clock=lambda: NOW + 60)
    assert {outcome.status for outcome in outcomes.values()} == {"failed"}
    assert set(crawl_.users.kept_pages(UIDS)) == set(UIDS)
    world.asked.clear()
    crawl_.run(world, clock=lambda: NOW + 120, users_in_flight=1)
    assert [url for url in timelines(world) if url.endswith("/")] == [f"posts/{FIRST}/"]
    assert all(len(crawl_.posts(uid)) == 25 for uid in UIDS)


def test_a_silence_behind_kept_pages_ends_the_run(
    crawl_: Crawl, world: ScriptedFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 4: where no first page is asked for, because all are kept, ends behind them are all that
    a silent site shows. After some in a row a page that was shown before is asked for again, which
    the circuit breaker knows how to judge."""
    uids = range(100, 200)
    world.timelines = {uid: timeline(uid, 25) for uid in uids}
    crawl_.add(*uids)
    for uid in uids:
        keep(crawl_, uid, "")
    ask, looks, asked = world.fetch, 0, 0

    async def falls_silent(one: Ask) -> Fetched:
        nonlocal looks, asked
        if looks >= 5:  # the run is over for all who ask
            raise SiteSaysNo("shows nothing")
        fetched = await ask(one)
        if len(world.asked) <= 60:
            return fetched
        asked += 1
        looks += one.expect is Expect.SHOWN
        if looks >= 5:
            raise SiteSaysNo("shows nothing")
        return Fetched(Reading(Verdict.END, ambiguous=True), fetched.page)

    world.fetch = falls_silent  # type: ignore[method-assign]
    with pytest.raises(SiteSaysNo):
        crawl_.run(world, clock=lambda: NOW + 60, users_in_flight=4)
    assert asked <= 10 + 5 + 4
    assert len(set(timelines(world))) < 100


@pytest.mark.parametrize("days", [0, 20])
def test_a_visit_tells_of_the_day_on_which_page_1_was_read(
    crawl_: Crawl, world: ScriptedFetcher, days: int
) -> None:
    """However late the visit takes the kept page: its age, and how often the user is visited, count
    from when the page was shown. A visit under way does not touch what the last one told."""
    crawl_.add(*UIDS)
    keep(crawl_, UID, "", at=NOW - days * DAY_S)
    crawl_.run(world, clock=lambda: NOW, users_in_flight=1)
    ledger = crawl_.ledger(UID)
    assert (ledger.told_at, ledger.visited_at) == (NOW - days * DAY_S, NOW)
    assert visits_a_day(ledger) == pytest.approx(DAY_S / (ledger.next_visit - ledger.told_at))
    assert begun(ledger, NOW + 5, resumed=False).told_at == ledger.told_at
    assert crawl_.ledger(FIRST).told_at == NOW

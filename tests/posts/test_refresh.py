"""Coming back to users: who is due, what changed, what was not seen."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.posts.crawls import Crawl, guest, timeline
from tests.posts.worlds import ScriptedFetcher, post
from weibo_crawler import config
from weibo_crawler.errors import StoreError
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.due import Job, revisit_of
from weibo_crawler.records import Post, Verdict
from weibo_crawler.store.rows.cells import to_iso

HOUR, DAY = 3600.0, 86_400.0
T0 = 1_790_000_000.0


class Clock:
    """Virtual time."""

    def __init__(self, now: float = T0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def dated(uid: int, n: int, every_s: float, newest: float = T0) -> list[Post]:
    """n posts, the newest first, one each `every_s` seconds."""
    return [
        post(uid, 1000 + n - i, created_at=to_iso(newest - i * every_s).replace("Z", "+00:00"))
        for i in range(n)
    ]


def spans(crawl_: Crawl, uid: int = 6) -> list[tuple[int | None, int]]:
    return [(gap.after, gap.before) for gap in crawl_.ledger(uid).gaps]


# -- who is due


def test_each_comes_back_by_its_own_rate(crawl_: Crawl) -> None:
    """Who posts often is due soon, who is silent late, nobody before it is due; --all takes all."""
    crawl_.add(6, 7, 8)
    clock = Clock()
    world = {6: dated(6, 20, HOUR), 7: dated(7, 20, 2 * DAY), 8: []}
    crawl_.run(ScriptedFetcher(world), clock=clock)
    due_in = {uid: crawl_.ledger(uid).next_visit - clock.now for uid in world}
    assert HOUR < due_in[6] < DAY
    assert DAY < due_in[7] < due_in[8] == 30 * DAY
    assert crawl_.ledger(6).posts_per_day == pytest.approx(24, rel=0.1)
    early = ScriptedFetcher(world)
    outcomes = crawl_.run(early, refresh=True, due=True, clock=clock)
    assert {o.status for o in outcomes.values()} == {"existing"}
    assert early.asked == []
    clock.now += due_in[7]
    outcomes = crawl_.run(ScriptedFetcher(world), refresh=True, due=True, clock=clock)
    assert {uid: o.status for uid, o in outcomes.items()} == {
        6: "unchanged",
        7: "unchanged",
        8: "existing",
    }
    assert crawl_.run(ScriptedFetcher(world), refresh=True, clock=clock)[8].status == "unchanged"


def test_a_job_may_wait_for_more_posts(crawl_: Crawl) -> None:
    """As `posts --follow` asks where the pace is short: twice the posts, half of the visits."""
    clock, world = Clock(), {6: dated(6, 20, HOUR)}
    crawl_.add(6)
    crawl_.run(ScriptedFetcher(world), clock=clock)
    usual = crawl_.ledger(6).next_visit - clock.now
    crawl_.run(ScriptedFetcher(world), refresh=True, clock=clock, wanted=10.0)
    assert crawl_.ledger(6).next_visit - clock.now == pytest.approx(2 * usual)


def test_the_date_moves_after_success_only(crawl_: Crawl) -> None:
    """A visit that fails leaves the date of the next one, of the last one, and the gaps as they
    were; the user is asked again by any run."""
    crawl_.add(6)
    clock = Clock()
    posts = dated(6, 30, HOUR)
    crawl_.run(guest(posts), clock=clock)
    before = crawl_.ledger(6)
    clock.now += 2 * DAY
    trouble = {"posts/6/": [Verdict.THROTTLED], "posts/6/2": [Verdict.LOGIN_WALL]}
    failing = ScriptedFetcher({6: [*dated(6, 40, HOUR), *posts]}, trouble=trouble)
    assert crawl_.run(failing, refresh=True, clock=clock)[6].status == "failed"
    after = crawl_.ledger(6)
    assert (after.next_visit, after.visited_at) == (before.next_visit, before.visited_at)
    assert (after.gaps, after.newest) == (before.gaps, before.newest)
    assert crawl_.run(guest(posts), clock=clock)[6].status in ("partial", "unchanged")
    assert crawl_.ledger(6).next_visit > before.next_visit


def test_doubt_comes_back_sooner_and_fades(crawl_: Crawl) -> None:
    """Who shows nothing at all, and a text still cut, are asked again before the longest wait, each
    time later."""
    crawl_.add(6, 7)
    clock = Clock()
    world = {7: [post(7, 1, text="begin ...", text_complete=False)]}
    waits = []
    for _ in range(7):
        crawl_.run(ScriptedFetcher(world), refresh=True, clock=clock)
        waits.append(tuple(crawl_.ledger(uid).next_visit - clock.now for uid in (6, 7)))
        clock.now += 31 * DAY
    assert waits[0][0] < 2 * DAY
    assert waits[0][1] < 2 * DAY
    assert waits == sorted(waits)
    assert waits[-1] == (30 * DAY, 30 * DAY)


# -- gaps


def test_a_guest_who_meets_nothing_known_has_a_gap(crawl_: Crawl) -> None:
    """Where page 1 holds no known post, what may lie between is a gap with its dates; one that
    meets the known part leaves none, and the part below page 1 of the first visit stays unread."""
    crawl_.add(6)
    posts = dated(6, 60, DAY)  # mids 1060 … 1001
    crawl_.run(guest(posts[40:]))
    assert spans(crawl_) == [(None, posts[49].mid)]
    crawl_.run(guest(posts[32:]), refresh=True)
    assert spans(crawl_) == [(None, posts[49].mid)]
    crawl_.run(guest(posts[10:]), refresh=True)
    first, tail = crawl_.ledger(6).gaps
    assert (first.after, first.before) == (posts[32].mid, posts[19].mid)
    assert (first.after_at, first.before_at) == (posts[32].created_at, posts[19].created_at)
    assert (tail.after, tail.before) == (None, posts[49].mid)
    assert not crawl_.ledger(6).whole
    assert crawl_.ledger(6).stored == 28


def test_a_gap_is_closed_where_the_site_lets_us(crawl_: Crawl) -> None:
    """When deeper pages are shown again, a visit reads on through the gaps, to the end, and from
    then on stops at what is known."""
    crawl_.add(6)
    posts = dated(6, 60, DAY)
    crawl_.run(guest(posts[40:]))
    crawl_.run(guest(posts[10:]), refresh=True)
    assert len(spans(crawl_)) == 2
    crawl_.run(ScriptedFetcher({6: posts}), refresh=True)
    assert spans(crawl_) == []
    assert crawl_.ledger(6).whole
    assert set(crawl_.posts(6)) == {p.mid for p in posts}
    last = ScriptedFetcher({6: posts})
    crawl_.run(last, refresh=True)
    assert last.asked == ["posts/6/"]


def test_a_wall_is_not_run_into_at_each_visit(crawl_: Crawl) -> None:
    """Where page 1 meets what is known, and guests were refused the rest not long ago, page 2 is
    not asked for; it is where page 1 is all new, with --all, and after the longest wait. The part
    that is not read stays a gap all the while."""
    crawl_.add(6)
    clock = Clock()
    posts = dated(6, 90, DAY, newest=T0 + 60 * DAY)

    def visit(shown: Sequence[Post], *, due: bool = True) -> bool:
        clock.now = max(clock.now, crawl_.ledger(6).next_visit or 0)
        fetcher = guest(shown)
        outcome = crawl_.run(fetcher, refresh=True, due=due, clock=clock)[6]
        assert (outcome.status, outcome.stopped) == ("partial", "login_wall")
        assert spans(crawl_)[-1] == (None, tail)
        return "posts/6/2" in fetcher.asked

    tail = posts[69].mid
    crawl_.run(guest(posts[60:]), clock=clock)
    assert not visit(posts[55:])
    assert len(spans(crawl_)) == 1
    assert visit(posts[54:], due=False)
    assert visit(posts[30:])
    assert len(spans(crawl_)) == 2
    assert not visit(posts[28:])
    clock.now += 31 * DAY
    assert visit(posts[25:])


def test_an_end_in_doubt_is_not_looked_at_at_each_visit(crawl_: Crawl) -> None:
    """Where fewer posts are shown than announced, and page 1 meets what is known, older pages are
    asked for again only after a rest, which doubles up to the longest wait; and where page 1 is all
    new, and with --all. The user is unsure all the while, and what appears is found."""
    crawl_.add(6)
    clock = Clock()
    posts = dated(6, 60, HOUR, newest=T0 + 60 * DAY)

    def visit(shown: Sequence[Post], after_s: float, *, due: bool = True) -> bool:
        clock.now += after_s
        fetcher = ScriptedFetcher({6: shown}, announced={6: len(shown) + 30})
        outcome = crawl_.run(fetcher, refresh=True, due=due, clock=clock)[6]
        ledger = crawl_.ledger(6)
        assert (outcome.status, ledger.sure, ledger.whole) == ("unchanged", False, False)
        assert clock.now < ledger.next_visit <= clock.now + 30 * DAY
        is_looked = "posts/6/2" in fetcher.asked
        assert ledger.stopped == ("end" if is_looked else "in_doubt")
        return is_looked

    shown = posts[20:]
    crawl_.run(ScriptedFetcher({6: shown}, announced={6: len(shown) + 30}), clock=clock)
    middle_s = revisit_of(config.Posts()).middle_s
    for n in range(6):
        rest_s = min(middle_s * 2**n, 30 * DAY)
        assert not visit(shown, rest_s / 2)
        assert visit(shown, rest_s / 2 + 1)
    assert not visit(shown, 20 * DAY)
    assert visit(shown, 0.0, due=False)
    found = ScriptedFetcher({6: posts[:20] + shown}, announced={6: 60})
    clock.now += 31 * DAY
    crawl_.run(found, refresh=True, due=True, clock=clock)
    assert crawl_.ledger(6).whole
    assert crawl_.ledger(6).unsure_at is None


def test_a_limit_leaves_a_smaller_gap(crawl_: Crawl) -> None:
    """posts.max_pages: what the visit did reach is no gap any more."""
    crawl_.add(6)
    posts = dated(6, 80, DAY)
    crawl_.run(ScriptedFetcher({6: posts[60:]}))
    assert spans(crawl_) == []
    crawl_.run(ScriptedFetcher({6: posts}), refresh=True, max_pages=1)
    assert spans(crawl_) == [(posts[60].mid, posts[9].mid)]
    crawl_.run(ScriptedFetcher({6: posts}), refresh=True, max_pages=3)
    assert spans(crawl_) == [(posts[60].mid, posts[29].mid)]
    crawl_.run(ScriptedFetcher({6: posts}), refresh=True)
    assert spans(crawl_) == []


def test_pinned_posts_close_no_gap(crawl_: Crawl) -> None:
    """An old pinned post that is known says nothing about what lies below page 1, nor does one
    without the sign of it."""
    crawl_.add(6)
    posts = dated(6, 60, DAY)
    crawl_.run(ScriptedFetcher({6: posts[30:]}))
    for odd in (False, True):
        page = [posts[45], *posts[:9]] if odd else posts
        crawl_.run(guest(page, pinned=None if odd else {6: posts[45]}), refresh=True)
        assert spans(crawl_)[0][0] == posts[30].mid


# -- death


def test_a_refresh_that_died_leaves_no_hole(crawl_: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 8: a visit may die at any put, and posts stand in the table above a part that it did not
    reach. The next one does not take them for what is known: all posts are stored, edits and
    deletions of what it read are told once, and gaps are as without a death."""
    posts = timeline(6, 60)
    new = timeline(6, 25, first=9000)
    now = [*new, *(replace(p, text="x", edit_count=1) if p.mid == 1058 else p for p in posts[1:])]
    now = [p for p in now if p.mid != 1055]
    for table in ("posts", "userlist"):
        for dies_at in range(1, 6):
            uid = 6
            crawl_.add(uid)
            for one in ("userlist", "posts"):
                for key in list(getattr(crawl_.tables, one).keys("")):
                    columns = ["crawl"] if one == "userlist" else None
                    getattr(crawl_.tables, one).delete(key, columns)
            crawl_.run(ScriptedFetcher({uid: posts}))
            assert crawl_.ledger(uid).whole
            real, calls = getattr(crawl_.tables, table).put, iter(range(1, 100))

            def put(puts: Any, dies: int = dies_at, calls: Any = calls, real: Any = real) -> None:
                if next(calls) == dies:
                    raise StoreError("killed")
                real(puts)

            with monkeypatch.context() as patch:
                patch.setattr(getattr(crawl_.tables, table), "put", put)
                try:
                    crawl_.run(ScriptedFetcher({uid: now}), refresh=True)
                except StoreError as error:
                    assert str(error) == "killed"  # noqa: PT017 - not every put is reached
            crawl_.run(ScriptedFetcher({uid: now}), refresh=True)
            assert set(crawl_.posts(uid)) == {p.mid for p in [*posts, *new]}
            ledger = crawl_.ledger(uid)
            assert (ledger.state, ledger.whole, ledger.gaps) == ("done", True, ())
            assert ledger.stored == 85
            assert crawl_.texts(1058) == ["x", "text of 1058"]
            assert set(ledger.gone) <= {1055, 1060}
            gone = {mid for mid, p in crawl_.posts(uid).items() if p["gone_at"]}
            assert gone == set(ledger.gone)


def test_a_guest_visit_that_died_keeps_its_gap(
    crawl_: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 12 under death: the posts of page 1 are stored, the ledger is not. The gap below them is
    told by the next visit all the same."""
    crawl_.add(6)
    posts = dated(6, 60, DAY)
    crawl_.run(ScriptedFetcher({6: posts[40:]}))
    real = crawl_.tables.userlist.put

    def put(puts: Any) -> None:
        if any("crawl:state" in one.cells for one in puts):
            raise StoreError("killed")
        real(puts)

    monkeypatch.setattr(crawl_.tables.userlist, "put", put)
    with pytest.raises(StoreError):
        crawl_.run(guest(posts), refresh=True)
    monkeypatch.setattr(crawl_.tables.userlist, "put", real)
    assert posts[0].mid in crawl_.posts(6)
    crawl_.run(guest(posts), refresh=True)
    assert spans(crawl_) == [(posts[40].mid, posts[9].mid)]


def test_a_second_attempt_of_a_run_asks_nobody_again(crawl_: Crawl) -> None:
    """Law 6: with --refresh and with --all alike."""
    crawl_.add(6)
    world = {6: timeline(6, 15)}
    clock = Clock()
    crawl_.run(ScriptedFetcher(world), clock=clock)
    clock.now += 40 * DAY
    crawl_.run(ScriptedFetcher(world), refresh=True, due=True, run_id="one", clock=clock)
    again = ScriptedFetcher(world)
    crawl_.run(again, refresh=True, run_id="one", clock=clock)
    assert again.asked == []


def test_the_job_is_told_whom_to_visit() -> None:
    """In the words of jobs/crawl_posts.py."""
    assert Job("run").options() == []
    assert Job("run", True).options() == ["--refresh"]
    assert Job("run", True, every=True).options() == ["--refresh", "--all"]


def test_who_is_gone_may_come_back(crawl_: Crawl) -> None:
    """Nobody asks for who is gone but `--all`: the site calls those gone, too, whom it suspends for
    a month. Their posts are held as before."""
    crawl_.add(6, 7)
    clock = Clock()
    world = {6: timeline(6, 15), 7: timeline(7, 5)}
    crawl_.run(ScriptedFetcher(world), clock=clock)
    said = dict.fromkeys(("profile/6", "posts/6/"), Verdict.GONE)
    gone = ScriptedFetcher({7: timeline(7, 5)}, closed=said)
    crawl_.run(gone, refresh=True, clock=clock)
    assert crawl_.ledger(6).state == "gone"
    clock.now += 60 * DAY
    due = ScriptedFetcher(world)
    crawl_.run(due, refresh=True, due=True, clock=clock)
    assert not [url for url in due.asked if "/6" in url]
    crawl_.run(gone, refresh=True, clock=clock)
    assert (crawl_.ledger(6).state, crawl_.ledger(6).sure) == ("gone", True)
    world[6] = timeline(6, 17)
    crawl_.run(ScriptedFetcher(world), refresh=True, clock=clock)
    ledger = crawl_.ledger(6)
    assert (ledger.state, ledger.stored, ledger.gone) == ("done", 17, ())
    assert ledger.next_visit is not None


def at_the_time(crawl_: Crawl, fetcher: ScriptedFetcher, clock: Clock) -> ScriptedFetcher:
    """Whose pages come by the clock of the next run."""
    fetcher.now = clock.now - 1000.0 * (crawl_.runs + 1)
    return fetcher


def test_what_a_clock_that_was_ahead_has_written_hides_nothing(crawl_: Crawl) -> None:
    """Laws 7, 8: the newest timestamp wins, so what follows is dated behind it; and nobody waits
    until the right clock comes there."""
    crawl_.add(6)
    clock, posts = Clock(T0 + 400 * DAY), dated(6, 3, HOUR)
    crawl_.run(at_the_time(crawl_, ScriptedFetcher({6: posts}), clock), clock=clock)
    clock.now = T0
    edited = replace(posts[0], text="said otherwise", edit_count=1)
    world = {6: [*dated(6, 4, HOUR, newest=T0 + HOUR)[:1], edited, posts[2]]}
    for run, new in enumerate((1, 0)):  # the ledger of the first is right, its timestamp is ahead
        clock.now = T0 + run * 40 * DAY
        fetcher = at_the_time(crawl_, ScriptedFetcher(world), clock)
        outcome = crawl_.run(fetcher, refresh=True, due=True, clock=clock)[6]
        assert (outcome.status != "existing", outcome.new) == (True, new)
        ledger = crawl_.ledger(6)
        assert (ledger.visited_at, ledger.run_id) == (clock.now, f"run {crawl_.runs}")
        assert ledger.next_visit < clock.now + 40 * DAY
        assert crawl_.posts(6)[posts[0].mid]["text"] == "said otherwise"
        assert crawl_.posts(6)[posts[1].mid]["gone_at"]


def test_a_clock_that_is_set_back_in_a_visit_hides_none_of_its_ledgers(crawl_: Crawl) -> None:
    """Law 8: the last one says how the visit ended."""
    crawl_.add(6)
    clock = Clock(T0 + DAY)

    class SetsBack(ScriptedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            if ask.request.cursor:
                clock.now = T0
            return await super().fetch(ask)

    crawl_.run(SetsBack({6: dated(6, 30, HOUR)}), clock=clock)
    assert crawl_.ledger(6).state == "done"

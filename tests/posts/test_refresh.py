"""Coming back to users: who is due, what changed, what was not seen."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.posts.crawls import Crawl, timeline
from tests.posts.worlds import ScriptedFetcher, post
from weibo_crawler.errors import StoreError
from weibo_crawler.posts import crawl
from weibo_crawler.records import Post, Verdict
from weibo_crawler.store.cells import to_iso
from weibo_crawler.store.keys import post_key

HOUR, DAY = 3600.0, 86_400.0
T0 = 1_790_000_000.0
GUEST = 10  # posts that a guest is shown


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


def guest(posts: Sequence[Post], uid: int = 6, **more: Any) -> ScriptedFetcher:
    """A site that shows guests page 1 only."""
    return ScriptedFetcher({uid: posts}, trouble={f"posts/{uid}/2": [Verdict.LOGIN_WALL]}, **more)


def spans(crawl_: Crawl, uid: int = 6) -> list[tuple[int | None, int]]:
    return [(gap.after, gap.before) for gap in crawl_.ledger(uid).gaps]


def texts_of(crawl_: Crawl, mid: int, uid: int = 6) -> list[str]:
    """All kept texts of a post, newest first."""
    kept = crawl_.tables.posts.versions(post_key(uid, mid), "post:text")
    return [cell.value for cell in kept]


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


@pytest.mark.parametrize("page", ["profile/6", "posts/6/"])
def test_the_date_moves_after_success_only(crawl_: Crawl, page: str) -> None:
    """A visit that fails leaves the date of the next one, of the last one, and the gaps as they
    were; the user is asked again by any run."""
    crawl_.add(6)
    clock = Clock()
    posts = dated(6, 30, HOUR)
    crawl_.run(guest(posts), clock=clock)
    before = crawl_.ledger(6)
    clock.now += 2 * DAY
    trouble = {page: [Verdict.THROTTLED], "posts/6/2": [Verdict.LOGIN_WALL]}
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
    for _ in range(6):
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
    assert last.asked == ["profile/6", "posts/6/"]


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


# -- edits and deletions


def test_an_edit_keeps_the_old_text(crawl_: Crawl) -> None:
    """The new text is read, the old one is a version below it; a visit that finds nothing changed
    writes no version of the text, however often it comes."""
    crawl_.add(6)
    posts = timeline(6, 5)
    for _ in range(8):
        crawl_.run(ScriptedFetcher({6: posts}), refresh=True)
    assert texts_of(crawl_, 1003) == ["text of 1003"]
    edited = [replace(p, text="other", edit_count=1) if p.mid == 1003 else p for p in posts]
    outcome = crawl_.run(ScriptedFetcher({6: edited}), refresh=True)[6]
    assert (outcome.edited, outcome.new, outcome.status) == (1, 0, "unchanged")
    assert texts_of(crawl_, 1003) == ["other", "text of 1003"]
    assert crawl_.posts(6)[1003]["edit_count"] == 1
    assert crawl_.run(ScriptedFetcher({6: edited}), refresh=True)[6].edited == 0
    assert texts_of(crawl_, 1003) == ["other", "text of 1003"]


def test_an_edit_at_the_end_of_a_long_text_is_seen(crawl_: Crawl) -> None:
    """Lists show its beginning, which did not change; the count of edits tells. A long text that
    was not edited is not asked for again."""
    crawl_.add(6)
    long = post(6, 5, text="begin ...", text_complete=False)
    crawl_.run(ScriptedFetcher({6: [long]}, texts={5: "begin and end"}))
    same = ScriptedFetcher({6: [long]}, texts={5: "begin and end"})
    crawl_.run(same, refresh=True)
    assert "extend/5" not in same.asked
    edited = replace(long, edit_count=1)
    crawl_.run(ScriptedFetcher({6: [edited]}, texts={5: "begin, other end"}), refresh=True)
    assert texts_of(crawl_, 5) == ["begin, other end", "begin and end"]


def test_an_edited_text_that_cannot_be_had_waits_for_repair(crawl_: Crawl) -> None:
    """It is marked as cut and stands in the queue until a visit mends it."""
    crawl_.add(6)
    long = post(6, 5, text="begin ...", text_complete=False)
    crawl_.run(ScriptedFetcher({6: [long]}, texts={5: "begin and end"}))
    edited = replace(long, text="other ...", edit_count=1)
    crawl_.run(ScriptedFetcher({6: [edited]}), refresh=True)
    assert not crawl_.posts(6)[5]["text_complete"]
    assert crawl_.ledger(6).cut == (5,)
    outcome = crawl_.run(ScriptedFetcher({6: [edited]}, texts={5: "other end"}), refresh=True)[6]
    assert (outcome.cut, outcome.edited) == (0, 0)
    assert texts_of(crawl_, 5) == ["other end", "other ...", "begin and end"]


def test_a_beginning_that_differs_is_no_proof(crawl_: Crawl) -> None:
    """Without the sign of an edit, and without the whole text, what is stored stays."""
    crawl_.add(6)
    long = post(6, 5, text="begin ...", text_complete=False)
    crawl_.run(ScriptedFetcher({6: [long]}, texts={5: "begin and end"}))
    other = replace(long, text="a list writes it otherwise ...")
    outcome = crawl_.run(ScriptedFetcher({6: [other]}), refresh=True)[6]
    assert (outcome.edited, outcome.cut) == (0, 0)
    assert crawl_.posts(6)[5]["text"] == "begin and end"


def test_an_edit_keeps_the_time_of_posting(crawl_: Crawl) -> None:
    """Lists show the time the less precisely the older a post is."""
    crawl_.add(6)
    crawl_.run(ScriptedFetcher({6: [post(6, 5, created_at_precision="minute")]}))
    later = post(6, 5, created_at="2026-01-01T12:00:00+08:00", created_at_precision="day")
    crawl_.run(ScriptedFetcher({6: [replace(later, text="x", edit_count=1)]}), refresh=True)
    stored = crawl_.posts(6)[5]
    assert (stored["text"], stored["created_at_precision"]) == ("x", "minute")
    assert stored["created_at"] == "2026-01-01T00:00:00+08:00"


def test_a_post_that_is_missing_between_others_is_gone(crawl_: Crawl) -> None:
    """Between two posts of a page, and above the newest one: since when is stored, its text is
    kept, and it no longer counts as held. What is back is not gone any more."""
    crawl_.add(6)
    posts = timeline(6, 25)
    crawl_.run(ScriptedFetcher({6: posts}))
    left = [p for p in posts if p.mid not in (1025, 1020)]
    first = ScriptedFetcher({6: left})
    outcome = crawl_.run(first, refresh=True)[6]
    assert (outcome.gone, outcome.stored) == (2, 25)
    assert crawl_.ledger(6).gone == (1020, 1025)
    marked = {mid: p["gone_at"] for mid, p in crawl_.posts(6).items() if p["gone_at"]}
    assert set(marked) == {1020, 1025}
    assert crawl_.posts(6)[1020]["text"] == "text of 1020"
    assert crawl_.run(ScriptedFetcher({6: left}), refresh=True)[6].gone == 0
    assert {mid: crawl_.posts(6)[mid]["gone_at"] for mid in marked} == marked
    crawl_.run(ScriptedFetcher({6: posts}), refresh=True)
    assert crawl_.ledger(6).gone == ()
    assert not [p for p in crawl_.posts(6).values() if p["gone_at"]]


def test_deletions_are_looked_for_where_more_is_held_than_announced(crawl_: Crawl) -> None:
    """A refresh goes on below what it knows until the posts that were deleted are found; where
    guests may not, the user is unsure until then."""
    crawl_.add(6)
    posts = timeline(6, 45)
    crawl_.run(ScriptedFetcher({6: posts}))
    left = [p for p in posts if p.mid != 1022]
    outcome = crawl_.run(guest(left), refresh=True)[6]
    assert (outcome.gone, crawl_.ledger(6).sure, crawl_.ledger(6).whole) == (0, False, False)
    deep = ScriptedFetcher({6: left})
    assert crawl_.run(deep, refresh=True)[6].gone == 1
    assert "posts/6/5" not in deep.asked
    again = ScriptedFetcher({6: left})
    crawl_.run(again, refresh=True)
    assert "posts/6/2" not in again.asked


def test_what_stands_below_or_between_pages_is_not_gone(crawl_: Crawl) -> None:
    """Only what should stand between two posts of one page: below the last one nothing was read,
    and between two pages something may have moved while they were fetched. A page out of order
    tells nothing."""
    crawl_.add(6)
    posts = timeline(6, 40)
    crawl_.run(ScriptedFetcher({6: posts}))
    new = timeline(6, 5, first=9000)
    crawl_.run(guest([*new, *posts[:5]]), refresh=True)
    assert crawl_.ledger(6).gone == ()
    torn = [p for p in [*new, *posts] if p.mid != posts[5].mid]  # stood first on page 2
    crawl_.run(ScriptedFetcher({6: torn}), refresh=True)
    assert crawl_.ledger(6).gone == ()
    mixed = [posts[0], posts[8], posts[3], posts[9]]
    crawl_.run(guest(mixed), refresh=True)
    assert posts[4].mid not in crawl_.ledger(6).gone


def test_a_pinned_post_is_not_gone_from_its_place(crawl_: Crawl) -> None:
    """Half of the users do not show it there."""
    crawl_.add(6)
    posts = timeline(6, 15)
    crawl_.run(ScriptedFetcher({6: posts}))
    without = [p for p in posts if p.mid != posts[4].mid]
    crawl_.run(ScriptedFetcher({6: without}, pinned={6: posts[4]}, announced={6: 15}), refresh=True)
    assert crawl_.ledger(6).gone == ()
    assert crawl_.posts(6)[posts[4].mid]["is_pinned"]


@pytest.mark.parametrize(
    "verdict",
    [Verdict.EMPTY, Verdict.THROTTLED, Verdict.LOGIN_WALL, Verdict.DRIFTED, Verdict.TRUNCATED],
)
def test_a_refused_page_makes_nothing_gone(crawl_: Crawl, verdict: Verdict) -> None:
    """Law 4: no answer but a page of posts tells that a post is missing."""
    crawl_.add(6)
    posts = timeline(6, 15)
    crawl_.run(ScriptedFetcher({6: posts}))
    crawl_.run(ScriptedFetcher({6: posts}, trouble={"posts/6/": [verdict] * 9}), refresh=True)
    assert crawl_.ledger(6).gone == ()
    assert not [p for p in crawl_.posts(6).values() if p["gone_at"]]


def test_counts_are_sampled_again(crawl_: Crawl) -> None:
    """Every visit that shows a post adds a version of its counts."""
    crawl_.add(6)
    for likes in (1, 5, 9):
        crawl_.run(ScriptedFetcher({6: [post(6, 5, likes=likes)]}), refresh=True)
    kept = crawl_.tables.posts.versions(post_key(6, 5), "count:likes")
    assert [cell.value for cell in kept] == ["9", "5", "1"]


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
            assert texts_of(crawl_, 1058) == ["x", "text of 1058"]
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
    assert crawl.Job("run").options() == []
    assert crawl.Job("run", True).options() == ["--refresh"]
    assert crawl.Job("run", True, every=True).options() == ["--refresh", "--all"]

"""Damage stays where it is (law 15): posts that cannot be read, pages without posts, drift."""

from itertools import count

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.posts.crawls import Crawl, timeline
from tests.posts.test_refresh import DAY, Clock
from tests.posts.worlds import ScriptedFetcher, post
from weibo_crawler.records import Verdict
from weibo_crawler.store.rows.keys import user_key
from weibo_crawler.store.sqlite.base import Database

UIDS = count(1000)


def kept(crawl_: Crawl) -> list[tuple[str, bytes]]:
    """(path, raw card) of what was kept for a developer."""
    import zlib

    database: Database = crawl_.users._db
    rows = database.conn().execute("SELECT why, body FROM drifted ORDER BY seq").fetchall()
    return [(why, zlib.decompress(body)) for why, body in rows]


def test_a_post_that_cannot_be_read_costs_only_itself(crawl_: Crawl) -> None:
    """The others are stored, paging goes on, the ledger names it, its card is kept; the user is not
    whole, and sure as the rest says."""
    crawl_.add(6)
    world = {6: timeline(6, 35)}
    outcome = crawl_.run(ScriptedFetcher(world, broken=[1030, 1003]))[6]
    assert (outcome.status, outcome.stored, outcome.sure) == ("stored", 33, True)
    ledger = crawl_.ledger(6)
    assert (ledger.unreadable, ledger.unread) == ((1003, 1030), 2)
    assert (ledger.state, ledger.whole, ledger.stopped) == ("done", False, "end")
    assert kept(crawl_) == [("$.mblog.text", b"1030"), ("$.mblog.text", b"1003")]
    assert crawl_.counters()["cards.unreadable"] == 2


def test_a_later_visit_neither_doubles_nor_forgets_the_unreadable(crawl_: Crawl) -> None:
    """The figure is absolute over visits, with a legible mid and without; the card is kept once;
    reading the post, or not meeting it in its place any more, mends the figure."""
    crawl_.add(6)
    world = {6: timeline(6, 25)}
    for _ in range(3):
        crawl_.run(ScriptedFetcher(world, broken=[1020, 1002, 1005], nameless=[1005]), refresh=True)
        assert crawl_.ledger(6).unread == 3
    assert [body for _, body in kept(crawl_)].count(b"1020") == 1
    crawl_.run(ScriptedFetcher(world, broken=[1002, 1005], nameless=[1005]), refresh=True)
    assert (crawl_.ledger(6).unreadable, crawl_.ledger(6).unread) == ((1002,), 2)
    deleted = {6: [p for p in world[6] if p.mid != 1002]}
    crawl_.run(ScriptedFetcher(deleted), refresh=True)
    assert (crawl_.ledger(6).unread, crawl_.ledger(6).whole) == (0, True)


def test_what_is_unreadable_deep_down_is_read_again_with_all(crawl_: Crawl) -> None:
    """A refresh stops at what is known and costs no page more; `--all` goes down to it, as after
    an update of the program that can read it."""
    crawl_.add(6)
    world = {6: timeline(6, 45)}
    clock = Clock()
    crawl_.run(ScriptedFetcher(world, broken=[1008]), clock=clock)
    clock.now += 40 * DAY
    due = ScriptedFetcher(world)
    crawl_.run(due, refresh=True, due=True, clock=clock)
    assert "posts/6/2" not in due.asked
    assert crawl_.ledger(6).unreadable == (1008,)
    crawl_.run(ScriptedFetcher(world), refresh=True, clock=clock)
    assert (crawl_.ledger(6).unreadable, crawl_.ledger(6).whole) == ((), True)
    assert 1008 in crawl_.posts(6)


@pytest.mark.parametrize("nameless", [(), (1020,)])
def test_a_stored_post_that_cannot_be_read_again_is_not_gone(
    crawl_: Crawl, nameless: tuple[int, ...]
) -> None:
    """It is shown, though this version cannot read it; without a mid it may be any that lacks."""
    crawl_.add(6)
    world = {6: timeline(6, 25)}
    crawl_.run(ScriptedFetcher(world))
    crawl_.run(ScriptedFetcher(world, broken=[1020], nameless=nameless), refresh=True)
    assert crawl_.ledger(6).gone == ()
    assert crawl_.posts(6)[1020]["gone_at"] is None


@examples(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_post_is_stored_or_told_as_missing(crawl_: Crawl, data: st.DataObject) -> None:
    """Whatever is broken, and wherever visits are cut short: stored and unreadable together are
    what the site shows, nothing twice."""
    uid = next(UIDS)
    mids = range(1001, 1001 + data.draw(st.integers(1, 35)))
    posts = [post(uid, mid) for mid in reversed(mids)]
    crawl_.tables.userlist.delete(user_key(uid - 1))  # of the example before
    crawl_.add(uid)
    for _ in range(3):
        broken = data.draw(st.sets(st.sampled_from(mids)))
        nameless = data.draw(st.sets(st.sampled_from(sorted(broken)))) if broken else set()
        page = data.draw(st.integers(1, 4))
        fails = data.draw(st.booleans())
        trouble = {f"posts/{uid}/{page if page > 1 else ''}": [Verdict.DRIFTED]} if fails else {}
        fetcher = ScriptedFetcher(
            {uid: posts},
            broken=broken,
            nameless=nameless,
            trouble=trouble,
            parts=data.draw(st.sampled_from([(), list(trouble)])),
        )
        crawl_.run(fetcher, refresh=True)
        ledger, stored = crawl_.ledger(uid), set(crawl_.posts(uid))
        assert ledger.stored == len(stored)
        assert stored.isdisjoint(ledger.unreadable)
        if ledger.state == "done":
            missing = set(mids) - stored - set(ledger.unreadable)
            assert len(missing) <= ledger.unread - len(ledger.unreadable)
            assert ledger.whole <= (stored == set(mids))
    crawl_.run(ScriptedFetcher({uid: posts}), refresh=True)
    crawl_.run(ScriptedFetcher({uid: posts}), refresh=True)
    assert set(crawl_.posts(uid)) == set(mids)
    assert crawl_.ledger(uid).unreadable == ()


def test_cards_that_are_no_posts_are_counted(crawl_: Crawl) -> None:
    """By reason in the metrics, as one figure in the ledger; a page of nothing else goes on."""
    crawl_.add(6)
    world = {6: timeline(6, 25)}
    fetcher = ScriptedFetcher(world, broken=[], skipped={"no mblog": 2, "advert": 1})
    crawl_.run(fetcher)
    assert crawl_.ledger(6).skipped == 9
    counters = crawl_.counters()
    assert (counters["cards.skipped.no_mblog"], counters["cards.skipped.advert"]) == (6, 3)


def test_a_drifted_page_keeps_all_before_it(crawl_: Crawl) -> None:
    """It is kept itself. Its user resumes there, and asks for no earlier page again."""
    crawl_.add(6)
    world = {6: timeline(6, 45)}
    failed = ScriptedFetcher(world, trouble={"posts/6/3": [Verdict.DRIFTED]}, broken=[1040])
    assert crawl_.run(failed)[6].status == "failed"
    assert (len(crawl_.posts(6)), crawl_.ledger(6).unread) == (19, 1)
    assert kept(crawl_) == [("$.mblog.text", b"1040"), ("scripted", b"{}")]
    again = ScriptedFetcher(world)
    assert crawl_.run(again)[6].stored == 44
    assert again.asked == ["posts/6/3", "posts/6/4", "posts/6/5", "posts/6/6", "posts/6/6"]
    assert again.retried == ["posts/6/3"]
    assert crawl_.ledger(6).unreadable == (1040,)


def test_what_a_drifted_page_shows_is_stored(crawl_: Crawl) -> None:
    """Most of its posts cannot be read: the others are stored, with their whole texts, those whose
    mids are legible are named, and the user resumes at this page, by the same number of pages."""
    crawl_.add(6)
    posts = timeline(6, 45)
    posts[24] = post(6, posts[24].mid, text="begin ...", text_complete=False)
    page = list(range(1025, 1015, -1))
    broken = [mid for mid in page if mid not in (page[0], page[4], page[9])]
    drifted = {"trouble": {"posts/6/3": [Verdict.DRIFTED]}, "parts": ["posts/6/3"]}
    fetcher = ScriptedFetcher(
        {6: posts},
        **drifted,
        broken=broken,
        nameless=broken[:2],
        texts={page[4]: "begin whole"},
    )
    assert crawl_.run(fetcher)[6].status == "failed"
    assert set(crawl_.posts(6)) == {one.mid for one in posts[:30]} - {*broken}
    assert crawl_.posts(6)[page[4]]["text"] == "begin whole"
    ledger = crawl_.ledger(6)
    assert (ledger.stored, ledger.new, ledger.pages) == (23, 23, 2)
    assert ledger.unreadable == tuple(sorted(broken[2:]))
    assert (ledger.unnamed_now, ledger.whole, ledger.stopped) == (0, False, "trouble")
    assert ledger.read_oldest == posts[19].mid
    again = ScriptedFetcher({6: posts}, texts={page[4]: "begin whole"})
    assert crawl_.run(again)[6].stored == 45
    assert again.asked[0] == "posts/6/3"
    assert f"extend/{page[4]}" not in again.asked
    assert crawl_.ledger(6).unreadable == ()
    assert crawl_.ledger(6).pages == 5


def test_a_drifted_first_page_tells_who_the_owner_is(crawl_: Crawl) -> None:
    """The profile of a user whose first page drifts is stored as the other posts show it; nobody
    pays for what was shown."""
    crawl_.add(6)
    posts = timeline(6, 8)
    fetcher = ScriptedFetcher(
        {6: posts},
        trouble={"posts/6/": [Verdict.DRIFTED]},
        parts=["posts/6/"],
        broken=range(1001, 1008),
    )
    assert crawl_.run(fetcher)[6].status == "failed"
    assert set(crawl_.posts(6)) == {posts[0].mid}
    assert crawl_.ledger(6).announced == 8
    assert fetcher.asked == ["posts/6/"]

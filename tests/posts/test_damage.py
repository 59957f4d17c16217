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
        fetcher = ScriptedFetcher({uid: posts}, broken=broken, nameless=nameless, trouble=trouble)
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
    """Its user resumes there, and asks for no earlier page again."""
    crawl_.add(6)
    world = {6: timeline(6, 45)}
    failed = ScriptedFetcher(world, trouble={"posts/6/3": [Verdict.DRIFTED]}, broken=[1040])
    assert crawl_.run(failed)[6].status == "failed"
    assert (len(crawl_.posts(6)), crawl_.ledger(6).unread) == (19, 1)
    again = ScriptedFetcher(world)
    assert crawl_.run(again)[6].stored == 44
    assert again.asked == ["posts/6/3", "posts/6/4", "posts/6/5", "posts/6/6", "posts/6/6"]
    assert again.retried == ["posts/6/3"]
    assert crawl_.ledger(6).unreadable == (1040,)

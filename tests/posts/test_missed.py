"""Posts that a page lacks are gone by a word about a post, not by the page alone."""

from collections.abc import Sequence
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.posts.crawls import Crawl, guest, timeline
from tests.posts.worlds import ScriptedFetcher
from weibo_crawler.posts.missed import MISSED
from weibo_crawler.records import Post, Verdict
from weibo_crawler.store.rows.keys import user_key

PAGE_1 = "posts/6/"


def gone(crawl_: Crawl) -> set[int]:
    """What is marked in the rows, which is what the ledger says."""
    marked = {mid for mid, p in crawl_.posts(6).items() if p["gone_at"]}
    assert marked == set(crawl_.ledger(6).gone)
    return marked


def held(crawl_: Crawl, n: int = 25) -> list[Post]:
    """A user whose posts are stored, newest first."""
    crawl_.add(6)
    posts = timeline(6, n)
    crawl_.run(ScriptedFetcher({6: posts}))
    return posts


def without(posts: Sequence[Post], *mids: int) -> list[Post]:
    return [post for post in posts if post.mid not in mids]


@pytest.mark.parametrize("lacks", [(1025, 1024), (1020,)], ids=["above", "between"])
def test_a_page_that_a_proxy_had_kept_marks_nobody(crawl_: Crawl, lacks: tuple[int, ...]) -> None:
    """The site shows the post that the page lacks: another egress is asked for the page, what it
    shows counts, and the first one is to blame."""
    posts = held(crawl_)
    said = dict.fromkeys(lacks, Verdict.OK)
    fetcher = ScriptedFetcher({6: posts}, old={PAGE_1: [without(posts, *lacks)]}, said=said)
    outcome = crawl_.run(fetcher, refresh=True)[6]
    assert fetcher.asked == [PAGE_1, f"show/{max(lacks)}", PAGE_1]
    assert fetcher.disproved == ["old"]
    assert (outcome.gone, gone(crawl_)) == (0, set())
    assert (outcome.stopped, crawl_.ledger(6).whole) == ("known", True)


def test_a_page_that_all_have_kept_is_not_believed(crawl_: Crawl) -> None:
    """No egress shows the post, and the site does: nobody is marked or blamed, the ledger is in
    doubt, and its user is visited again soon. The next visit, which is shown it, ends the doubt."""
    posts = held(crawl_)
    old = without(posts, 1025)
    fetcher = ScriptedFetcher({6: old}, said={1025: Verdict.OK})
    outcome = crawl_.run(fetcher, refresh=True)[6]
    ledger = crawl_.ledger(6)
    assert (gone(crawl_), fetcher.disproved) == (set(), [])
    assert (outcome.stopped, ledger.sure, ledger.whole) == ("false_page", False, False)
    assert ledger.next_visit - ledger.visited_at <= 3600.0 * 24
    crawl_.run(ScriptedFetcher({6: posts}), refresh=True)
    assert (crawl_.ledger(6).whole, crawl_.ledger(6).stopped) == (True, "known")


def test_what_the_site_says_is_gone_is_marked(crawl_: Crawl) -> None:
    """What lacks between two posts of the page needs no word, as the page is younger; at the next
    visit, which misses nothing new, nothing is asked."""
    posts = held(crawl_)
    left = without(posts, 1025, 1024, 1020)
    fetcher = ScriptedFetcher({6: left}, said=dict.fromkeys((1025, 1024), Verdict.GONE))
    assert crawl_.run(fetcher, refresh=True)[6].gone == 3
    assert fetcher.asked[:3] == [PAGE_1, "show/1025", "show/1024"]
    assert "show/1020" not in fetcher.asked
    assert gone(crawl_) == {1025, 1024, 1020}
    assert crawl_.ledger(6).whole
    again = ScriptedFetcher({6: left})
    crawl_.run(again, refresh=True)
    assert again.asked == [PAGE_1]


@pytest.mark.parametrize("is_mended", [True, False])
def test_a_word_about_one_post_says_nothing_of_another(crawl_: Crawl, is_mended: bool) -> None:
    """An old page lacks two posts that were written since, and the newer one was deleted: the other
    one is there, so the page is false."""
    posts = held(crawl_)
    now = without(posts, 1025)
    old = without(posts, 1025, 1024)
    said = {1025: Verdict.GONE, 1024: Verdict.OK}
    kept = {PAGE_1: [old]} if is_mended else {}
    fetcher = ScriptedFetcher({6: now if is_mended else old}, old=kept, said=said)
    crawl_.run(fetcher, refresh=True)
    assert fetcher.asked[:4] == [PAGE_1, "show/1025", "show/1024", PAGE_1]
    assert fetcher.disproved == ["old"] * is_mended
    assert gone(crawl_) == ({1025} if is_mended else set())
    assert crawl_.ledger(6).whole is is_mended


def test_of_many_posts_above_a_page_five_are_asked_for(crawl_: Crawl) -> None:
    """From the newest to the oldest of them; they are gone where the site shows none."""
    posts = held(crawl_)
    lacks = range(1017, 1026)
    fetcher = ScriptedFetcher({6: without(posts, *lacks)}, said=dict.fromkeys(lacks, Verdict.GONE))
    crawl_.run(fetcher, refresh=True)
    words = [asked for asked in fetcher.asked if asked.startswith("show/")]
    assert words == [f"show/{mid}" for mid in (1025, 1023, 1021, 1019, 1017)]
    assert gone(crawl_) == set(lacks)


def test_an_old_page_lacks_what_stands_beside_what_is_gone(crawl_: Crawl) -> None:
    """The newest one was deleted, and the next one stands: each above the page is asked about."""
    posts = held(crawl_)
    now, old = without(posts, 1025), without(posts, 1025, 1024)
    said = {1025: Verdict.GONE, 1024: Verdict.OK}
    crawl_.run(ScriptedFetcher({6: now}, old={PAGE_1: [old, old]}, said=said), refresh=True)
    assert 1024 not in gone(crawl_)


@pytest.mark.parametrize("word", [Verdict.OK, Verdict.GONE, Verdict.LOGIN_WALL])
def test_what_was_deleted_between_two_pages_is_asked_for(crawl_: Crawl, word: Verdict) -> None:
    """Where all announced posts were shown, and more are held: that it is missing between two pages
    says nothing, its own address does. The next visit does not look for it again."""
    posts = held(crawl_)
    left = without(posts, 1015)
    fetcher = ScriptedFetcher({6: left}, announced={6: 24}, said={1015: word})
    crawl_.run(fetcher, refresh=True)
    assert "show/1015" in fetcher.asked
    assert gone(crawl_) == ({1015} if word is Verdict.GONE else set())
    if word is Verdict.GONE:
        again = ScriptedFetcher({6: left}, announced={6: 24})
        crawl_.run(again, refresh=True)
        assert again.asked == [PAGE_1]


@pytest.mark.parametrize("untold", [0, 1])
def test_what_was_deleted_while_a_visit_read_on_is_asked_for(crawl_: Crawl, untold: int) -> None:
    """The visit was shown it and, on a later page, a count without it. So the count does not fall
    after it; yet more is held than there is, and each visit would read the whole timeline for it.
    Where no word tells, the next visit asks for one."""
    crawl_.add(6)
    posts = timeline(6, 25)
    crawl_.run(ScriptedFetcher({6: posts}, announced={6: 24}))
    left = without(posts, 1015)
    for _ in range(untold):
        crawl_.run(ScriptedFetcher({6: left}), refresh=True)
        assert gone(crawl_) == set()
    crawl_.run(ScriptedFetcher({6: left}, said={1015: Verdict.GONE}), refresh=True)
    assert gone(crawl_) == {1015}
    again = ScriptedFetcher({6: left})
    crawl_.run(again, refresh=True)
    assert again.asked == [PAGE_1]


def test_what_was_deleted_is_told_from_what_an_old_page_lacks(crawl_: Crawl) -> None:
    """The page of another egress lacks what was deleted, and is asked about in its turn."""
    posts = held(crawl_)
    now = without(posts, 1020)
    said = {1025: Verdict.OK, 1020: Verdict.GONE}
    fetcher = ScriptedFetcher({6: now}, old={PAGE_1: [without(now, 1025)]}, said=said)
    crawl_.run(fetcher, refresh=True)
    assert fetcher.asked[:4] == [PAGE_1, "show/1025", PAGE_1, "show/1020"]
    assert gone(crawl_) == {1020}
    assert crawl_.ledger(6).whole


@pytest.mark.parametrize("word", [None, Verdict.LOGIN_WALL, Verdict.EMPTY, Verdict.RESTRICTED])
@pytest.mark.parametrize("is_old", [True, False])
def test_where_no_word_tells_page_1_is_looked_at_twice(
    crawl_: Crawl, word: Verdict | None, is_old: bool
) -> None:
    """By another egress: what both lack is gone. Of a post that its author hides the page is right:
    one egress is enough."""
    posts = held(crawl_)
    left = without(posts, 1025)
    old = {PAGE_1: [left]} if is_old else {}
    said = {} if word is None else {1025: word}
    fetcher = ScriptedFetcher({6: posts if is_old else left}, old=old, said=said)
    crawl_.run(fetcher, refresh=True)
    is_told = word is Verdict.RESTRICTED
    assert fetcher.asked.count(PAGE_1) == 1 + (not is_told)
    assert gone(crawl_) == ({1025} if is_told or not is_old else set())
    assert not fetcher.disproved


def test_of_two_pages_that_differ_nobody_knows_which_is_old(crawl_: Crawl) -> None:
    """The second one may lack the newest, and show what was deleted: nothing is concluded, the one
    with the newest post is stored, and the ledger is in doubt."""
    posts = held(crawl_)
    now = without(posts, 1020)
    fetcher = ScriptedFetcher({6: without(posts, 1025)}, old={PAGE_1: [now]})
    crawl_.run(fetcher, refresh=True)
    assert (gone(crawl_), fetcher.disproved) == (set(), [])
    assert crawl_.ledger(6).stopped == "false_page"


def test_where_the_second_look_fails_nothing_is_concluded(crawl_: Crawl) -> None:
    """One egress alone has said that a post is missing."""
    posts = held(crawl_)
    trouble = {PAGE_1: [Verdict.SERVER_TROUBLE]}

    class Fetcher(ScriptedFetcher):
        """The second asking for page 1 goes wrong."""

        async def _once(self, ask):  # type: ignore[no-untyped-def]
            self.trouble = trouble if PAGE_1 in self.asked else {}
            return await super()._once(ask)

    crawl_.run(Fetcher({6: without(posts, 1025)}), refresh=True)
    assert gone(crawl_) == set()
    assert (crawl_.ledger(6).state, crawl_.ledger(6).whole) == ("done", False)


def test_an_old_page_brings_nobody_back(crawl_: Crawl) -> None:
    """It shows what was deleted since: the site says so of the post, and another egress shows a
    page without it. What is really back is not gone any more."""
    posts = held(crawl_)
    left = without(posts, 1022)
    crawl_.run(ScriptedFetcher({6: left}, said={1022: Verdict.GONE}), refresh=True)
    fetcher = ScriptedFetcher({6: left}, old={PAGE_1: [posts]}, said={1022: Verdict.GONE})
    crawl_.run(fetcher, refresh=True)
    assert fetcher.asked == [PAGE_1, "show/1022", PAGE_1]
    assert fetcher.disproved == ["old"]
    assert (gone(crawl_), crawl_.ledger(6).whole) == ({1022}, True)
    crawl_.run(ScriptedFetcher({6: posts}, said={1022: Verdict.GONE}), refresh=True)
    assert (gone(crawl_), crawl_.ledger(6).stopped) == ({1022}, "false_page")
    crawl_.run(ScriptedFetcher({6: posts}, said={1022: Verdict.OK}), refresh=True)
    assert (gone(crawl_), crawl_.ledger(6).whole) == (set(), True)


@pytest.mark.parametrize(("back", "pages"), [(25, 4), (12, 3), (3, 2)])
def test_what_is_hidden_for_a_time_comes_back_whole(crawl_: Crawl, back: int, pages: int) -> None:
    """A user hides the newest posts, or all of them, and shows them again: a page with posts that
    were gone does not end the visit, as what stands below it may be back, too."""
    posts = held(crawl_)
    shown = posts[back:] if back < 25 else []
    crawl_.run(ScriptedFetcher({6: shown}, said={1025: Verdict.GONE}), refresh=True)
    assert len(gone(crawl_)) == back
    fetcher = ScriptedFetcher({6: posts}, said=dict.fromkeys((1025, 1013), Verdict.OK))
    crawl_.run(fetcher, refresh=True)
    assert len({url for url in fetcher.asked if url.startswith(PAGE_1)}) == pages
    assert (gone(crawl_), crawl_.ledger(6).sure) == (set(), True)


@pytest.mark.parametrize(("hidden", "after"), [(25, None), (12, 1013), (3, None)])
def test_what_a_guest_is_not_shown_of_what_is_back_is_unread(
    crawl_: Crawl, hidden: int, after: int | None
) -> None:
    """While posts were hidden a visit read all there was. So when they are back, and guests are
    shown page 1 alone, what lies below it is unread down to a post that was never gone; where
    page 1 shows such a one last, nothing is. Once the site lets us it is read."""
    posts, there = held(crawl_), dict.fromkeys(range(1001, 1026), Verdict.OK)
    crawl_.run(ScriptedFetcher({6: posts[hidden:]}, said={1025: Verdict.GONE}), refresh=True)
    assert crawl_.ledger(6).whole
    crawl_.run(guest(posts, said=there), refresh=True)
    gaps = [(gap.after, gap.before) for gap in crawl_.ledger(6).gaps]
    assert gaps == ([] if hidden == 3 else [(after, 1016)])
    assert crawl_.ledger(6).whole == (hidden == 3)
    crawl_.run(ScriptedFetcher({6: posts}, said=there), refresh=True)
    assert (gone(crawl_), crawl_.ledger(6).whole) == (set(), True)


def test_what_was_deleted_behind_a_wall_is_not_looked_for(crawl_: Crawl) -> None:
    """Law 16: more posts are held than there are, and guests are not shown where they would be
    missing: any of those that were not shown may be gone, so none is asked for."""
    posts = held(crawl_)
    left = without(posts, 1005, 1004)
    fetcher = guest(left, said=dict.fromkeys((1005, 1004), Verdict.GONE))
    crawl_.run(fetcher, refresh=True)
    assert crawl_.ledger(6).stopped == "login_wall"
    assert fetcher.asked == [PAGE_1, "posts/6/2"]
    assert gone(crawl_) == set()


@pytest.mark.parametrize("word", [Verdict.OK, Verdict.GONE, Verdict.LOGIN_WALL])
def test_what_stands_below_a_whole_timeline_is_asked_for(crawl_: Crawl, word: Verdict) -> None:
    """An old page that announces fewer lacks the last posts, too."""
    posts = held(crawl_)
    fetcher = ScriptedFetcher({6: posts[:20]}, announced={6: 20}, said={1005: word})
    crawl_.run(fetcher, refresh=True)
    assert "show/1005" in fetcher.asked
    assert "show/1004" not in fetcher.asked
    is_false = word is Verdict.OK
    assert gone(crawl_) == (set() if is_false else {1005, 1004, 1003, 1002, 1001})
    assert crawl_.ledger(6).whole != is_false


def test_the_words_are_an_experiment(crawl_: Crawl) -> None:
    """Where the site has said of many that they are gone a sample is asked for, and pages are
    believed without."""
    posts = held(crawl_, 10)
    fetcher = ScriptedFetcher({6: without(posts, 1010)}, said={1010: Verdict.OK})
    for _ in range(400):
        fetcher.samples.looked(MISSED, found=False)
    crawl_.monkeypatch.setattr("random.Random.random", lambda _: 0.9)
    crawl_.run(fetcher, refresh=True)
    assert fetcher.asked == [PAGE_1]
    assert gone(crawl_) == {1010}


def test_a_word_is_a_look(crawl_: Crawl) -> None:
    """`second_looks` counts what was asked for by all runs, and how often a page was false."""
    posts = held(crawl_)
    for word, finds in ((Verdict.GONE, 0), (Verdict.OK, 1)):
        fetcher = ScriptedFetcher({6: without(posts, 1025)}, said={1025: word})
        crawl_.run(ScriptedFetcher({6: posts}), refresh=True)
        crawl_.run(fetcher, refresh=True)
        found = fetcher.samples.figures()[MISSED]
        assert (found.ends, found.looks, found.finds) == (1 + finds, 1 + finds, finds)


_UIDS = count(100)
_CHANGES = st.lists(
    st.tuples(st.booleans(), st.none() | st.integers(0, 30), st.integers(0, 3)),
    min_size=2,
    max_size=6,
)


@given(st.integers(1, 24), _CHANGES)
@example(22, [(True, None, 0), (False, 21, 3), (False, 0, 0)])  # the old page's count is old
@examples(25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_old_pages_show_nobody_is_gone_who_stands(
    crawl_: Crawl, n: int, changes: list[tuple[bool, int | None, int]]
) -> None:
    """Between visits somebody posts, or deletes one of the posts; each page may be one that was
    kept for up to three changes. What is marked was deleted, and is not brought back; what was
    deleted is marked by a visit that is shown no old page."""
    uid = next(_UIDS)
    crawl_.tables.userlist.delete(user_key(uid - 1))  # of the example before
    crawl_.add(uid)
    now = timeline(uid, n)
    past, deleted, marked = [now], set[int](), set[int]()
    crawl_.run(ScriptedFetcher({uid: now}))
    for nth, (is_new, which, age) in enumerate([*changes, (False, None, 0)]):
        if is_new:
            now = [*timeline(uid, 1, first=5000 + nth), *now]
        if which is not None and which < len(now):
            deleted.add(now[which].mid)
            now = without(now, now[which].mid)
        past.append(now)
        said = {p.mid: Verdict.OK for each in past for p in each} | dict.fromkeys(
            deleted, Verdict.GONE
        )
        old = {f"posts/{uid}/": [past[-1 - min(age, len(past) - 1)]] * (1 + age % 2)} if age else {}
        crawl_.run(ScriptedFetcher({uid: now}, old=old, said=said), refresh=True)
        before, marked = marked, {m for m, p in crawl_.posts(uid).items() if p["gone_at"]}
        assert before <= marked <= deleted
    assert marked == deleted & crawl_.posts(uid).keys()

"""What a refresh finds changed: edits, deletions, counts."""

import pytest
from msgspec.structs import replace

from tests.posts.crawls import Crawl, guest, timeline
from tests.posts.worlds import ScriptedFetcher, post
from weibo_crawler.records import Original, Post, Verdict
from weibo_crawler.store.rows.keys import post_key


def test_an_edit_keeps_the_old_text(crawl_: Crawl) -> None:
    """The new text is read, the old one is a version below it; a visit that finds nothing changed
    writes no version of the text, however often it comes."""
    crawl_.add(6)
    posts = timeline(6, 5)
    for _ in range(8):
        crawl_.run(ScriptedFetcher({6: posts}), refresh=True)
    assert crawl_.texts(1003) == ["text of 1003"]
    edited = [replace(p, text="other", edit_count=1) if p.mid == 1003 else p for p in posts]
    outcome = crawl_.run(ScriptedFetcher({6: edited}), refresh=True)[6]
    assert (outcome.edited, outcome.new, outcome.status) == (1, 0, "unchanged")
    assert crawl_.texts(1003) == ["other", "text of 1003"]
    assert crawl_.posts(6)[1003]["edit_count"] == 1
    assert crawl_.run(ScriptedFetcher({6: edited}), refresh=True)[6].edited == 0
    assert crawl_.texts(1003) == ["other", "text of 1003"]


def _edited(posts: list[Post], text: str, count: int) -> list[Post]:
    """The same posts, of which one was edited so often."""
    return [replace(p, text=text, edit_count=count) if p.mid == 1011 else p for p in posts]


@pytest.mark.parametrize("held", [None, 0, 1, 2])
def test_of_two_texts_in_one_visit_the_later_one_is_stored(crawl_: Crawl, held: int | None) -> None:
    """A cache may keep page 1 while others are posted: page 2 then shows its last posts again, of
    which one was edited meanwhile. It is one post with the later text, new or edited once, whatever
    version was held. An older page changes no text that was edited since."""
    crawl_.add(6)
    posts = timeline(6, 22)
    versions = [_edited(posts, text, n) for n, text in enumerate(["first", "second", "third"])]
    if held is not None:
        crawl_.run(guest(versions[held][3:]))
    site = ScriptedFetcher({6: versions[2]}, old={"posts/6/": [versions[1][3:]]})
    outcome = crawl_.run(site, refresh=held is not None)[6]
    ledger, is_edit = crawl_.ledger(6), held in (0, 1)
    assert (outcome.edited, ledger.seen, ledger.stored) == (is_edit, 19, 19)
    assert outcome.new == (19 if held is None else 9)
    assert crawl_.posts(6)[1011]["edit_count"] == 2
    before = {None: ["second"], 0: ["second", "first"], 1: ["second"], 2: []}
    assert crawl_.texts(1011) == ["third", *before[held]]


@pytest.mark.parametrize("text", ["beginning and end", ""])
def test_a_later_version_of_a_pinned_post_is_pinned_and_long(crawl_: Crawl, text: str) -> None:
    """Its place shows it without the mark, and its text is asked for by another way. Where that has
    none, no older and shorter text takes its place."""
    crawl_.add(6)
    posts, long = timeline(6, 19), {"text": "beg…", "edit_count": 1, "text_complete": False}
    now = [replace(p, **long) if p.mid == 1005 else p for p in posts]
    site = {"pinned": {6: post(6, 1005, text="short")}, "texts": {1005: text} if text else {}}
    for run in range(2):
        crawl_.run(ScriptedFetcher({6: now}, **site), refresh=run > 0)
        stored, ledger = crawl_.posts(6)[1005], crawl_.ledger(6)
        assert (stored["text"], stored["text_complete"]) == (text or "beg…", bool(text))
        assert (stored["is_pinned"], ledger.pinned) == (True, (1005,))
        assert ledger.cut == (() if text else (1005,))


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
    assert crawl_.texts(5) == ["begin, other end", "begin and end"]


def test_an_edit_takes_its_links_along(crawl_: Crawl) -> None:
    """What the new text links to is what is shown; the old links are the version below. Of a long
    text the whole one tells."""
    crawl_.add(6)
    first = post(6, 5, topics=("old",), mentions=("somebody",))
    long = post(6, 4, text="begin ...", text_complete=False, topics=("begun",))
    crawl_.run(ScriptedFetcher({6: [first, long]}, texts={4: "begin and #end#"}))
    assert (crawl_.posts(6)[5]["topics"], crawl_.posts(6)[5]["mentions"]) == (["old"], ["somebody"])
    assert crawl_.posts(6)[4]["topics"] == ["end"]
    edited = replace(first, text="other", topics=(), mentions=("another",))
    crawl_.run(ScriptedFetcher({6: [edited, long]}), refresh=True)
    assert (crawl_.posts(6)[5]["topics"], crawl_.posts(6)[5]["mentions"]) == (None, ["another"])
    versions = crawl_.tables.posts.versions(post_key(6, 5), "post:topics")
    assert [cell.value for cell in versions] == ["", '["old"]']


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
    assert crawl_.texts(5) == ["other end", "other ...", "begin and end"]


def test_a_beginning_that_differs_is_no_proof(crawl_: Crawl) -> None:
    """Without the sign of an edit, and without the whole text, what is stored stays."""
    crawl_.add(6)
    long = post(6, 5, text="begin ...", text_complete=False)
    crawl_.run(ScriptedFetcher({6: [long]}, texts={5: "begin and end"}))
    other = replace(long, text="a list writes it otherwise ...")
    outcome = crawl_.run(ScriptedFetcher({6: [other]}), refresh=True)[6]
    assert (outcome.edited, outcome.cut) == (0, 0)
    assert crawl_.posts(6)[5]["text"] == "begin and end"


@pytest.mark.parametrize("is_edited", [False, True])
def test_an_original_that_is_gone_keeps_its_words(crawl_: Crawl, is_edited: bool) -> None:
    """The site shows a notice in its place. The row says that it is not shown any more, and nothing
    else of an unchanged repost is written; one that is shown again is as the site shows it."""
    crawl_.add(6)
    shown = Original(9, 7, "author", "words", True, "2026-01-01T00:00:00+08:00", True, likes=3)
    notice = Original(9, None, None, "deleted", True, None, False)
    first = post(6, 5, repost_of=9, original=shown, text="whole words", pics=("a",))
    later = replace(first, pics=(), text="whole words, too" if is_edited else first.text)
    for original, is_shown, words in (
        (shown, True, "words"),
        (notice, False, "words"),
        (replace(shown, text="others"), True, "others"),
    ):
        page = replace(first if original is shown else later, original=original)
        crawl_.run(ScriptedFetcher({6: [page]}), refresh=original is not shown)
        held = crawl_.posts(6)[5]
        kept = held["original"]
        assert (kept["available"], kept["text"], kept["uid"]) == (is_shown, words, 7)
        assert kept["mid"] == "9"
        assert held["pics"] == (() if is_edited and original is not shown else ("a",))
    assert len(crawl_.texts(5)) == 1 + is_edited


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


@pytest.mark.parametrize("left", [0, 9, 22, 41])
def test_what_a_whole_timeline_does_not_show_is_gone(crawl_: Crawl, left: int) -> None:
    """The oldest posts, or all of them, stand between no two posts. Once a visit was shown all that
    is announced, to the end, they are gone, and later visits read no further than what is known."""
    crawl_.add(6)
    posts = timeline(6, 45)
    crawl_.run(ScriptedFetcher({6: posts}))
    kept = posts[:left]
    crawl_.run(ScriptedFetcher({6: kept}, announced={6: left}), refresh=True)
    assert set(crawl_.ledger(6).gone) == {post.mid for post in posts[left:]}
    assert all(p["gone_at"] for mid, p in crawl_.posts(6).items() if mid in crawl_.ledger(6).gone)
    assert crawl_.ledger(6).whole
    again = ScriptedFetcher({6: kept}, announced={6: left})
    assert crawl_.run(again, refresh=True)[6].gone == 0
    assert "posts/6/2" not in again.asked


@pytest.mark.parametrize("announced", [43, 44])
def test_what_was_hidden_before_hides_no_deletion(crawl_: Crawl, announced: int) -> None:
    """A profile counts posts that nobody is shown. As many as at the last whole visit are no sign
    that a deleted one may be there still; one more of them is."""
    crawl_.add(6)
    posts = timeline(6, 45)
    crawl_.run(ScriptedFetcher({6: posts}, announced={6: 47}))
    assert crawl_.ledger(6).whole
    crawl_.run(ScriptedFetcher({6: posts[:41]}, announced={6: announced}), refresh=True)
    deleted = {post.mid for post in posts[41:]} if announced == 43 else set()
    assert set(crawl_.ledger(6).gone) == deleted
    again = ScriptedFetcher({6: posts[:41]}, announced={6: announced})
    crawl_.run(again, refresh=True)
    assert ("posts/6/2" in again.asked) == (announced == 44)


def test_where_pages_are_sorted_by_heat_a_refresh_reads_all_of_them(crawl_: Crawl) -> None:
    """A new post may stand on any page, also below posts that are known; and one that none shows
    has disappeared, wherever it stood. Where guests are shown page 1 alone, nothing is called
    read."""
    crawl_.add(6)
    by_date = timeline(6, 25)
    posts = [by_date[n * 7 % 25] for n in range(25)]
    crawl_.run(ScriptedFetcher({6: posts}))
    new, gone = post(6, 1026), posts[24]
    # page 2 is in order by chance
    page_2 = [one for one in by_date if one in posts[10:20]]
    later = [one for one in [*posts[:10], *page_2, *posts[20:], new] if one is not gone]
    crawl_.run(ScriptedFetcher({6: later}, said={gone.mid: Verdict.GONE}), refresh=True)
    held = crawl_.posts(6)
    assert new.mid in held
    assert [mid for mid, one in held.items() if one["gone_at"]] == [gone.mid]
    assert crawl_.ledger(6).whole
    crawl_.add(7)
    crawl_.run(guest(posts, 7))
    assert (crawl_.ledger(7).stopped, crawl_.ledger(7).whole) == ("login_wall", False)
    crawl_.run(ScriptedFetcher({7: posts}), refresh=True)
    assert crawl_.ledger(7).stored == 25


@pytest.mark.parametrize("word", [Verdict.GONE, Verdict.OK, Verdict.RESTRICTED])
def test_a_count_that_falls_asks_for_what_stands_below(crawl_: Crawl, word: Verdict) -> None:
    """Of eight announced posts one is hidden, so no visit is sure that it was shown all, and no
    count says which one was deleted. The site does, of as many as the count has fallen by."""
    crawl_.add(6)
    posts = timeline(6, 7)
    crawl_.run(ScriptedFetcher({6: posts}, announced={6: 8}))
    assert not crawl_.ledger(6).sure
    said = {1002: Verdict.GONE, 1001: word}
    site = {"announced": {6: 6}, "said": said}
    fetcher = ScriptedFetcher({6: posts[:5]}, **site)
    crawl_.run(fetcher, refresh=True)
    assert [url for url in fetcher.asked if "show" in url] == ["show/1002", "show/1001"]
    assert set(crawl_.ledger(6).gone) == {mid for mid, say in said.items() if say is Verdict.GONE}
    again = ScriptedFetcher({6: [*timeline(6, 1, first=2000), *posts[:5]]}, announced={6: 7})
    crawl_.run(again, refresh=True)
    assert not [url for url in again.asked if "show" in url]


def test_a_count_that_rises_by_more_than_is_shown_leaves_a_doubt(crawl_: Crawl) -> None:
    """A cache may keep an older page beside a new count: what it shows is known from its first post
    on, and what is new is not seen. The user is asked for again soon; a few posts that guests are
    not shown are no doubt."""
    crawl_.add(6)
    posts = timeline(6, 47)
    crawl_.run(ScriptedFetcher({6: posts[12:]}, announced={6: 35}))
    crawl_.run(ScriptedFetcher({6: posts[12:]}, announced={6: 37}), refresh=True)
    assert (crawl_.ledger(6).stopped, crawl_.ledger(6).sure) == ("known", True)
    crawl_.run(ScriptedFetcher({6: posts[12:]}, announced={6: 47}), refresh=True)
    ledger = crawl_.ledger(6)
    assert (ledger.stopped, ledger.sure, ledger.doubts) == ("known", False, 1)
    crawl_.run(ScriptedFetcher({6: posts}), refresh=True)
    assert (crawl_.ledger(6).stored, crawl_.ledger(6).sure) == (47, True)


def test_what_was_deleted_between_two_pages_is_asked_for(crawl_: Crawl) -> None:
    """No page can tell, as posts may have moved; the count, and then the site, do."""
    crawl_.add(6)
    posts = timeline(6, 25)
    crawl_.run(ScriptedFetcher({6: posts}))
    left = [p for p in posts if p.mid != 1015]
    crawl_.run(ScriptedFetcher({6: left}, said={1015: Verdict.GONE}), refresh=True)
    assert crawl_.ledger(6).gone == (1015,)
    assert crawl_.ledger(6).whole


def test_what_a_timeline_hides_and_counts_still_is_not_gone(crawl_: Crawl) -> None:
    """A user who shows half a year announces the older posts, too; nor is a timeline that ends with
    what is known proof of what lies below."""
    crawl_.add(6)
    posts = timeline(6, 45)
    crawl_.run(ScriptedFetcher({6: posts}))
    crawl_.run(ScriptedFetcher({6: posts[:22]}, announced={6: 45}), refresh=True)
    assert crawl_.ledger(6).gone == ()
    crawl_.run(ScriptedFetcher({6: posts}, announced={6: 10}), refresh=True)
    assert crawl_.ledger(6).gone == ()


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

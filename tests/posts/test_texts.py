"""Whole texts: after the page is stored, bounded, and restricted ones as facts."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tests.posts.crawls import Crawl
from tests.posts.test_refresh import DAY, Clock
from tests.posts.worlds import ScriptedFetcher, post
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.asking import Asker
from weibo_crawler.posts.texts import Found, Texts
from weibo_crawler.records import Expect, FullText, Kind, Post, Reading, Request, Verdict
from weibo_crawler.sites.weibo import Weibo

RESTRICTED, SERVER_TROUBLE = Verdict.RESTRICTED, Verdict.SERVER_TROUBLE


def long(*mids: int, uid: int = 6) -> dict[int, list[Post]]:
    return {uid: [post(uid, mid, text="begin ...", text_complete=False) for mid in mids]}


def both(mid: int, verdict: Verdict) -> dict[str, Verdict]:
    return {f"extend/{mid}": verdict, f"show/{mid}": verdict}


def asked_texts(fetcher: ScriptedFetcher) -> list[str]:
    return [url for url in fetcher.asked if url.startswith(("extend", "show"))]


class _Dies(ScriptedFetcher):
    """Answers pages; at the n-th text the run ends."""

    dies_at = 1

    async def fetch(self, ask: Ask) -> Fetched:
        if ask.request.kind in (Kind.EXTEND, Kind.SHOW):
            self.dies_at -= 1
            if self.dies_at < 0:
                raise SiteSaysNo("no more")
        return await super().fetch(ask)


@pytest.mark.parametrize("is_pinned", [False, True])
@pytest.mark.parametrize("dies_at", range(7))
def test_a_page_is_stored_before_its_texts_are_asked_for(
    crawl_: Crawl, dies_at: int, is_pinned: bool
) -> None:
    """Law 8: wherever the run ends among the texts, the posts are stored with what the page showed,
    the texts that came are kept, and the ledger names the others; the next run asks for no page and
    no text again that it has, and for all others, that of a pinned post too."""
    crawl_.add(6)
    world = long(*range(1025, 1000, -1))
    texts = {mid: f"begin {mid}" for mid in range(1001, 1026)}
    pinned = {6: world[6][9]} if is_pinned else {}
    dying = _Dies(world, texts=texts, pinned=pinned)
    dying.dies_at = dies_at
    with pytest.raises(SiteSaysNo):
        crawl_.run(dying)
    stored = crawl_.posts(6)
    assert len(stored) == 10
    whole = {mid for mid, p in stored.items() if p["text_complete"]}
    assert len(whole) == dies_at
    assert set(crawl_.ledger(6).cut) >= stored.keys() - whole
    assert crawl_.ledger(6).cursor == "2"
    again = ScriptedFetcher(world, texts=texts, pinned=pinned)
    crawl_.run(again)
    assert "posts/6/" not in again.asked
    assert not {f"extend/{mid}" for mid in whole} & set(again.asked)
    assert {p["text"] for p in crawl_.posts(6).values()} == set(texts.values())
    assert crawl_.ledger(6).cut == ()
    if 1025 in whole:  # the cut text was no version of its own
        assert crawl_.texts(1025) == ["begin 1025"]


class _Unnamed(ScriptedFetcher):
    """`extend` does not say of which post its texts are, and brings `others` of them in the place
    of each before the right one. show: whether the other way has the texts."""

    others, show = 0, True

    async def fetch(self, ask: Ask) -> Fetched:
        fetched = await super().fetch(ask)
        text = fetched.reading.record
        if not isinstance(text, FullText):
            return fetched
        if ask.request.kind is not Kind.EXTEND:
            return fetched if self.show else Fetched(Reading(Verdict.SERVER_TROUBLE), None)
        text = replace(text, is_named=False)
        if self.asked.count(ask.request.url) <= self.others:
            text = replace(text, text="another text of somebody")
        return fetched._replace(reading=replace(fetched.reading, record=text))


@pytest.mark.parametrize(
    ("others", "show", "asked", "whole"),
    [
        (0, True, ["extend/1001"], True),
        (1, True, ["extend/1001", "show/1001"], True),
        (9, True, ["extend/1001", "show/1001"], True),
        (1, False, ["extend/1001", "show/1001", "extend/1001"], True),
        (9, False, ["extend/1001", "show/1001", "extend/1001", "show/1001"], False),
    ],
)
def test_a_text_that_names_no_post_begins_as_the_page_shows_it(
    crawl_: Crawl, others: int, show: bool, asked: list[str], whole: bool
) -> None:
    """A proxy may have kept the text of another post: one that names its post decides; where there
    is none the text stays cut."""
    crawl_.add(6)
    fetcher = _Unnamed(long(1001), texts={1001: "begin  1001"})
    fetcher.others, fetcher.show = others, show
    crawl_.run(fetcher)
    assert asked_texts(fetcher) == asked
    stored = crawl_.posts(6)[1001]
    assert stored["text_complete"] is whole
    assert stored["text"] == ("begin  1001" if whole else "begin ...")


def test_a_text_that_is_mended_later_begins_as_it_was_stored(crawl_: Crawl) -> None:
    """Of a post that stands on no page of the visit the stored beginning is what one showed."""
    crawl_.add(6)
    world = long(*range(1025, 1000, -1))
    texts = {mid: f"begin  {mid}" for mid in range(1001, 1026)}
    crawl_.run(ScriptedFetcher(world, texts=texts, closed=both(1001, SERVER_TROUBLE)))
    assert crawl_.ledger(6).cut == (1001,)
    fetcher = _Unnamed(world, texts=texts)
    fetcher.others, fetcher.show = 9, False
    crawl_.run(fetcher, refresh=True)
    assert "posts/6/2" not in fetcher.asked
    assert crawl_.ledger(6).cut == (1001,)
    assert crawl_.posts(6)[1001]["text"] == "begin ..."
    crawl_.run(_Unnamed(world, texts=texts), refresh=True)
    assert crawl_.posts(6)[1001]["text"] == "begin  1001"


def test_a_notice_is_no_whole_text_a_month_later_either(crawl_: Crawl) -> None:
    """Of posts that are restricted still, on a page of the visit and below."""
    crawl_.add(6)
    clock = Clock()
    world = long(*range(1025, 1000, -1))
    texts = {mid: f"begin {mid}" for mid in range(1001, 1026)} | {1024: "begin", 1002: "begin"}
    crawl_.run(ScriptedFetcher(world, texts=texts), clock=clock)
    assert crawl_.ledger(6).restricted == (1002, 1024)
    clock.now += 31 * DAY
    crawl_.run(ScriptedFetcher(world, texts=texts), refresh=True, clock=clock)
    assert crawl_.ledger(6).restricted == (1002, 1024)
    assert {crawl_.posts(6)[mid]["text"] for mid in (1002, 1024)} == {"begin ..."}


def test_many_restricted_texts_stop_nobody(crawl_: Crawl) -> None:
    """Paging goes on, one round of ways each, no second one; the posts say why; the user is done,
    sure and whole, and nothing waits for repair."""
    crawl_.add(6)
    world = long(*range(1030, 1000, -1))
    closed = {url: RESTRICTED for mid in range(1001, 1031) for url in both(mid, RESTRICTED)}
    fetcher = ScriptedFetcher(world, closed=closed)
    outcome = crawl_.run(fetcher)[6]
    assert (outcome.status, outcome.stored, outcome.cut) == ("stored", 30, 0)
    assert sorted(asked_texts(fetcher)) == sorted(closed)
    ledger = crawl_.ledger(6)
    assert (ledger.sure, ledger.whole, ledger.doubts, ledger.cut) == (True, True, 0, ())
    assert ledger.restricted == tuple(range(1001, 1031))
    one = crawl_.posts(6)[1001]
    assert (one["text_complete"], one["text_why"]) == (False, "restricted: scripted")


def test_a_restricted_text_is_asked_for_again_seldom(crawl_: Crawl) -> None:
    """At most once in thirty days, by one way; on a page of the visit and below; when it is open it
    is mended, and the reason goes."""
    crawl_.add(6)
    clock = Clock()
    world = long(*range(1025, 1000, -1))
    texts = {mid: f"begin {mid}" for mid in range(1001, 1026)}
    closed = {**both(1024, RESTRICTED), **both(1002, RESTRICTED)}
    crawl_.run(ScriptedFetcher(world, texts=texts, closed=closed), clock=clock)
    assert crawl_.ledger(6).restricted == (1002, 1024)
    for days in (1, 20):
        clock.now += days * DAY
        fetcher = ScriptedFetcher(world, texts=texts, closed=closed)
        crawl_.run(fetcher, refresh=True, clock=clock)
        assert asked_texts(fetcher) == []
    clock.now += 10 * DAY
    fetcher = ScriptedFetcher(world, texts=texts, closed=closed)
    crawl_.run(fetcher, refresh=True, clock=clock)
    assert sorted(asked_texts(fetcher)) == ["extend/1002", "extend/1024", "show/1024"]
    clock.now += DAY
    fetcher = ScriptedFetcher(world, texts=texts)
    crawl_.run(fetcher, refresh=True, clock=clock)
    assert asked_texts(fetcher) == []
    clock.now += 30 * DAY
    crawl_.run(ScriptedFetcher(world, texts=texts), refresh=True, clock=clock)
    assert crawl_.ledger(6).restricted == ()
    for mid in (1002, 1024):
        mended = crawl_.posts(6)[mid]
        assert (mended["text"], mended["text_why"]) == (f"begin {mid}", None)


@pytest.mark.parametrize("notice", ["begin ...", "begin", "gone"])
def test_a_notice_is_no_whole_text(crawl_: Crawl, notice: str) -> None:
    """What the site shows in the place of a text, or as cut as before, is no longer than what the
    page shows: a fact about the post, and the text stays cut, with the reason."""
    crawl_.add(6)
    crawl_.run(ScriptedFetcher(long(1), texts={1: notice}))
    post = crawl_.posts(6)[1]
    assert (post["text"], post["text_complete"]) == ("begin ...", False)
    assert post["text_why"].startswith("restricted: what is shown")
    assert crawl_.ledger(6).restricted == (1,)


def test_a_cut_text_without_a_second_opinion_is_no_restriction(crawl_: Crawl) -> None:
    """While the other ways are closed to everybody: it is asked for at the next visit."""
    crawl_.add(6, 7)
    texts = dict.fromkeys((1, 2), "begin ...")
    fetcher = ScriptedFetcher(long(1) | long(2, uid=7), texts=texts, shut={Kind.SHOW})
    crawl_.run(fetcher, users_in_flight=1)
    assert asked_texts(fetcher)[-1] == "extend/2"
    for uid in (6, 7):
        assert crawl_.ledger(uid).restricted == ()
        assert len(crawl_.ledger(uid).cut) == 1


def test_one_way_may_show_what_another_restricts(crawl_: Crawl) -> None:
    """The round goes on, and the way that led leads for the next text of any user."""
    crawl_.add(6, 7)
    closed = {f"extend/{mid}": RESTRICTED for mid in (1, 2, 3)}
    world = long(1, 2) | long(3, uid=7)
    fetcher = ScriptedFetcher(world, texts={i: f"begin {i}" for i in (1, 2, 3)}, closed=closed)
    crawl_.run(fetcher, users_in_flight=1)
    assert crawl_.posts(6)[2]["text_complete"]
    assert crawl_.ledger(6).restricted == ()
    # both texts of the first page are under way together; from then on the better way leads
    assert len([url for url in fetcher.asked if url.startswith("extend")]) <= 2


@pytest.mark.parametrize("opened", [(), range(1, 400, 20)])
def test_other_ways_to_restricted_texts_are_an_experiment(
    crawl_: Crawl, opened: Sequence[int]
) -> None:
    """As long as other ways may show more than one restricted text in twenty of all, each is asked
    for by all ways; then by one way but for a sample. Where one shows some, it leads
    from the first of them on, and none is lost."""
    n = 400
    crawl_.add(6)
    closed = {url: RESTRICTED for mid in range(1, n + 1) for url in both(mid, RESTRICTED)}
    for mid in opened:
        del closed[f"show/{mid}"]
    texts = {mid: f"begin {mid}" for mid in opened}
    fetcher = ScriptedFetcher(long(*range(n, 0, -1)), closed=closed, texts=texts)
    crawl_.run(fetcher)
    asked = len(asked_texts(fetcher))
    figures = fetcher.samples.figures()["texts.restricted"]
    assert crawl_.ledger(6).restricted == tuple(sorted(set(range(1, n + 1)) - set(opened)))
    if opened:
        assert figures.finds > 0
    else:
        assert n + figures.looks == asked < n + 110
        assert figures.ends == n
        assert figures.most * figures.unlooked <= 0.05 * n + 1


class _Halves(ScriptedFetcher):
    """Each way shows every second text whole, and the others cut: as the site says, or as short as
    the page shows them."""

    says_cut = True

    async def fetch(self, ask: Ask) -> Fetched:
        fetched = await super().fetch(ask)
        way, _, mid = ask.request.url.partition("/")
        text = fetched.reading.record
        if not isinstance(text, FullText) or (way == "show") is (int(mid) % 4 < 2):
            return fetched
        if self.says_cut:
            return fetched._replace(reading=Reading(RESTRICTED, why="cut", is_cut=True))
        return fetched._replace(reading=replace(fetched.reading, record=replace(text, text="be")))


@pytest.mark.parametrize("says_cut", [True, False])
def test_restricted_texts_and_cut_ones_are_two_experiments(
    crawl_: Crawl, *, says_cut: bool
) -> None:
    """That the other way has what the first one cuts tells nothing of restricted posts: once it
    has shown none of these, they are asked for by one way but for a sample."""
    crawl_.add(6)
    closed = {url: RESTRICTED for mid in range(1, 800, 2) for url in both(mid, RESTRICTED)}
    texts = {mid: f"begin {mid}" for mid in range(2, 801, 2)}
    fetcher = _Halves(long(*range(800, 0, -1)), closed=closed, texts=texts)
    fetcher.says_cut = says_cut
    crawl_.run(fetcher)
    assert crawl_.ledger(6).restricted == tuple(range(1, 800, 2))
    assert len([url for url in asked_texts(fetcher) if url in closed]) < 400 + 110


def test_while_one_way_is_in_trouble_nothing_is_concluded(crawl_: Crawl) -> None:
    """One way restricts the text, the other one fails: the next visit asks both again, and then it
    is whole."""
    crawl_.add(6)
    fetcher = ScriptedFetcher(long(1), closed={"extend/1": RESTRICTED})
    crawl_.run(fetcher)
    assert (crawl_.ledger(6).cut, crawl_.ledger(6).restricted) == ((1,), ())
    again = ScriptedFetcher(long(1), texts={1: "begin one"}, closed={"extend/1": RESTRICTED})
    crawl_.run(again, refresh=True)
    assert crawl_.posts(6)[1]["text"] == "begin one"


def test_what_the_site_says_is_deleted_is_a_fact_about_the_post(crawl_: Crawl) -> None:
    """Of a post that a page shows, its text is not to be had; one that no page of the visit showed
    has disappeared. Neither is asked for at each visit."""
    crawl_.add(6)
    world = long(*range(1025, 1000, -1))
    texts = {mid: f"begin {mid}" for mid in range(1001, 1026) if mid not in (1024, 1002)}
    crawl_.run(ScriptedFetcher(world, texts=texts))
    assert crawl_.ledger(6).cut == (1002, 1024)
    closed = {url: Verdict.GONE for mid in (1024, 1002) for url in both(mid, Verdict.GONE)}
    fetcher = ScriptedFetcher(world, texts=texts, closed=closed)
    crawl_.run(fetcher, refresh=True)
    assert sorted(asked_texts(fetcher)) == sorted(closed)
    ledger = crawl_.ledger(6)
    assert (ledger.cut, ledger.restricted, ledger.gone) == ((), (1024,), (1002,))
    assert crawl_.posts(6)[1002]["gone_at"]
    assert crawl_.posts(6)[1024]["text_why"] == "gone: scripted"
    again = ScriptedFetcher(world, texts=texts, closed=closed)
    crawl_.run(again, refresh=True)
    assert asked_texts(again) == []


def test_one_way_alone_does_not_say_that_a_post_is_gone(crawl_: Crawl) -> None:
    """Law 4: a page shows the post, so one answer that there is no such post needs a second one."""
    crawl_.add(6)
    closed = {f"extend/{mid}": Verdict.GONE for mid in (1, 2)} | {"show/2": Verdict.GONE}
    fetcher = ScriptedFetcher(long(2, 1), texts={1: "begin one"}, closed=closed)
    crawl_.run(fetcher)
    assert crawl_.posts(6)[1]["text"] == "begin one"
    assert crawl_.ledger(6).restricted == (2,)


def test_a_post_that_another_way_restricts_is_not_gone(crawl_: Crawl) -> None:
    """Law 4: who restricts a post says that there is one; of a post that no page of the visit shows
    the word of the first way alone would mark it."""
    crawl_.add(6)
    world = long(*range(1025, 1000, -1))
    texts = {mid: f"begin {mid}" for mid in range(1001, 1026) if mid != 1002}
    crawl_.run(ScriptedFetcher(world, texts=texts))
    closed = {"extend/1002": Verdict.GONE, "show/1002": RESTRICTED}
    crawl_.run(ScriptedFetcher(world, texts=texts, closed=closed), refresh=True)
    assert (crawl_.ledger(6).restricted, crawl_.ledger(6).gone) == ((1002,), ())
    assert not crawl_.posts(6)[1002]["gone_at"]


def test_trouble_with_a_text_is_bounded(crawl_: Crawl) -> None:
    """One round of ways, each of which is the witness of the one before, so none is asked twice in
    it; and another round at the end of the visit."""
    crawl_.add(6)
    fetcher = ScriptedFetcher(long(2, 1))
    crawl_.run(fetcher)
    assert sorted(asked_texts(fetcher)) == sorted(2 * ["extend/1", "show/1", "extend/2", "show/2"])
    assert sorted(fetcher.retried) == ["extend/1", "extend/2", "show/1", "show/2"]
    assert crawl_.ledger(6).cut == (1, 2)
    assert crawl_.posts(6)[1]["text_why"] is None


class _Noting(ScriptedFetcher):
    """Notes what each request expects, and the kind of its second looks."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.asks: list[tuple[str, Expect, str]] = []

    async def fetch(self, ask: Ask) -> Fetched:
        self.asks.append((ask.request.url, ask.expect, ask.end))
        return await super().fetch(ask)


def test_an_emptiness_in_the_place_of_a_text_is_believed_by_two_looks(crawl_: Crawl) -> None:
    """Law 4: in the first round the next way is the witness; where no way was one, the fetcher
    looks again at an emptiness of the second round, as experience says that it pays."""
    crawl_.add(6)
    fetcher = _Noting(long(1), trouble={"extend/1": [Verdict.EMPTY] * 2})
    crawl_.run(fetcher)
    assert [one for one in fetcher.asks if "end/" in one[0]] == [
        ("extend/1", Expect.LIKELY, ""),
        ("extend/1", Expect.CONTENT, "texts.nothing"),
    ]
    assert fetcher.retried == ["extend/1", "show/1"]


class _Silent(ScriptedFetcher):
    """Falls silent at the first text, and talks again at the next request."""

    async def fetch(self, ask: Ask) -> Fetched:
        fetched = await super().fetch(ask)
        self.is_talking = asked_texts(self) != [ask.request.url]
        return fetched


def test_a_way_that_a_silence_left_out_is_asked_at_the_end_of_the_visit(crawl_: Crawl) -> None:
    """While the site is not talking one trouble with a text is enough; when the visit ends, the
    other way has its turn."""
    crawl_.add(6)
    fetcher = _Silent(long(1), texts={1: "begin one"}, trouble={"extend/1": [SERVER_TROUBLE] * 2})
    crawl_.run(fetcher)
    assert asked_texts(fetcher) == ["extend/1", "extend/1", "show/1"]
    assert crawl_.posts(6)[1]["text"] == "begin one"
    assert crawl_.ledger(6).cut == ()


def test_a_page_that_never_comes_costs_no_text_of_those_before_it(crawl_: Crawl) -> None:
    """Law 15: the next visit begins with that page, which fails again, and asks for the texts that
    still lack; while the site is not talking it asks for none."""
    crawl_.add(6)
    world, odd = long(*range(1015, 1000, -1)), {"posts/6/2": Verdict.DRIFTED}
    first = ScriptedFetcher(world, closed=odd)
    assert crawl_.run(first)[6].status == "failed"
    assert len(crawl_.ledger(6).cut) == 10
    silent = ScriptedFetcher(world, closed=odd)
    silent.is_talking = False
    crawl_.run(silent)
    assert asked_texts(silent) == []
    texts = {mid: f"begin {mid}" for mid in range(1001, 1016)}
    again = ScriptedFetcher(world, closed=odd, texts=texts)
    assert crawl_.run(again)[6].status == "failed"
    assert "posts/6/" not in again.asked
    assert (len(asked_texts(again)), crawl_.ledger(6).cut) == (10, ())
    assert all(one["text_complete"] for one in crawl_.posts(6).values())


def test_a_text_that_no_way_may_be_asked_for_tells_of_no_look() -> None:
    """Where a site shows nobody such pages nothing is asked, so nothing was looked at again."""
    looks = list[str]()

    class Closed:
        is_talking = True

        def by_lead(self, ways: Sequence[Request]) -> list[Request]:
            return list(ways)

        def may_ask(self, ask: Ask) -> bool:
            return False

        def looked(self, kind: str, *, found: bool) -> None:
            looks.append(kind)

    site = Weibo("http://127.0.0.1:1", "", "agent")
    found = asyncio.run(Texts(site, cast(Asker, Closed()), 6).whole(101, "begin ..."))
    assert (found, looks) == (Found(), [])

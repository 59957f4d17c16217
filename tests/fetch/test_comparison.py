"""A proxy that shows something else than others do, in answers that look well (law 5)."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.fetch.test_doubts import NOTHING, Way, http
from tests.fetch.virtual import run
from tests.fetch.worlds import SITE, World, ask
from weibo_crawler.config import Pace
from weibo_crawler.errors import SiteSaysNo, TransportError
from weibo_crawler.fetch import Ask, Fetched, Fetcher
from weibo_crawler.fetch.comparison import agree, is_behind, is_same, words_of
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool.ring import Ring
from weibo_crawler.records import (
    EgressState,
    FullText,
    Health,
    Kind,
    Post,
    PostPage,
    Reading,
    Request,
    User,
    Verdict,
)

_NAME = "北京的早晨"
_ALL = 60


def _page(uid: int, garble: Callable[[str], str] = lambda text: text) -> object:
    info = {"id": uid, "screen_name": garble(_NAME), "followers_count": 9}
    return {"ok": 1, "data": {"userInfo": info}}


def _twice(text: str) -> str:
    """UTF-8 that somebody took for another encoding."""
    return text.encode().decode("latin-1")


def _question_marks(text: str) -> str:
    return text.encode("ascii", "replace").decode()


def _names(
    tmp_path: Path, *ways: Callable[[int], object], n: int = _ALL
) -> tuple[Counter[str | None], Way]:
    way = Way(tmp_path, *ways)

    async def crawl(fetcher: Fetcher) -> list[str | None]:
        names = []
        for first in range(1, n, 4):
            asks = [fetcher.fetch(Ask(way.site.profile(uid))) for uid in range(first, first + 4)]
            records = [one.reading.record for one in await asyncio.gather(*asks)]
            names += [one.screen_name if isinstance(one, User) else None for one in records]
        return names

    [names] = asyncio.run(way.run(lambda fetcher: [crawl(fetcher)]))
    if isinstance(names, BaseException):
        raise names
    return Counter(names), way


@pytest.mark.parametrize("garble", [_twice, _question_marks])
def test_a_proxy_that_garbles_every_page_is_found(
    tmp_path: Path, garble: Callable[[str], str]
) -> None:
    """One of three: nothing that it brings is believed, and it is blamed. The others cost one
    request more each, but for those that were under way then."""
    garbled, names = (lambda uid: _page(uid, garble)), Counter({_NAME: _ALL})
    found, way = _names(tmp_path, garbled, _page, _page)
    assert found == names
    assert way.counters["egress.disproved"] >= 1
    assert way.counters["request.sent"] <= _ALL + 30


def test_proxies_that_show_the_same_are_compared_once(tmp_path: Path) -> None:
    """Law 16: what showed the same once is trusted for long."""
    found, way = _names(tmp_path, _page, _page, _page)
    assert found == {_NAME: _ALL}
    assert way.counters["egress.disproved"] == 0
    assert 1 <= way.counters["request.compared"] <= 8  # so many go at once


def test_of_many_that_garble_in_their_own_ways_none_is_believed(tmp_path: Path) -> None:
    """Three of five: three that show different words tell nothing, so more are asked."""
    garbles: tuple[Callable[[str], str], ...] = (_twice, _question_marks, "{}!".format)
    ways = [partial(_page, garble=garble) for garble in garbles]
    found, way = _names(tmp_path, *ways, _page, _page)
    assert found == {_NAME: _ALL}
    assert way.counters["egress.disproved"] >= 3


def test_two_that_disagree_end_the_run(tmp_path: Path) -> None:
    """Nobody tells which one changes pages: neither is believed, and it is said who they are."""
    ways = _page, partial(_page, garble=_question_marks)
    assert _names(tmp_path, *ways, n=12)[0] == {None: 12}
    with pytest.raises(SiteSaysNo, match=r"different words of the same pages .* no other egress"):
        _names(tmp_path, *ways)


def test_words_that_were_encoded_twice_are_known_by_themselves(tmp_path: Path) -> None:
    """Of two that disagree the one is believed whose words make sense."""
    assert _names(tmp_path, _page, partial(_page, garble=_twice))[0] == {_NAME: _ALL}


def test_a_text_edited_between_two_answers_ends_nothing(tmp_path: Path) -> None:
    """One of the two is believed, or neither; the next page is shown alike."""
    found, _ = _names(tmp_path, _page, lambda uid: _page(uid, _twice if uid == 1 else str))
    assert found[_NAME] >= _ALL - 1


def test_what_a_comparison_told_is_handed_on() -> None:
    """With the lease: the next holder compares when this one would have; never by its health."""
    pace, egress = Pace(requests_per_second=0), Egress("p:1", "http://p:1")
    one, other = (Ring([Egress("direct")], pace, is_leased=True) for _ in range(2))
    one.admit(egress, EgressState(0.0, health=Health.GOOD), 0.0)
    assert one.wants_comparison("p:1", is_telling=True)
    one.compared("p:1", is_same=True)
    assert not one.wants_comparison("p:1", is_telling=True)
    state = one.state("p:1", 0.0)
    assert state is not None
    assert state.trusted_for == 499
    other.admit(egress, state, 0.0)
    assert not other.wants_comparison("p:1", is_telling=True)


@pytest.mark.parametrize("other", [NOTHING, {"ok": 0, "msg": "?"}, http(b"", status="502 No")])
def test_what_no_other_proxy_can_tell_is_believed(tmp_path: Path, other: object) -> None:
    """A good proxy beside one that is of no use: what it brings is not lost by comparing it, and
    it is asked for now and then only."""
    found, way = _names(tmp_path, _page, lambda uid: other)
    assert found == {_NAME: _ALL}
    assert way.counters["request.compared"] <= 8 + _ALL // 10


_OLD_S = 1_700_000_000  # long before any of these tests runs


def _posts(uid: int, newest: int, text: str = _NAME) -> object:
    """Page 1 of a timeline: so many posts, one a minute."""
    mblogs = [
        {
            "id": str((second - 515_483_463) << 22),
            "created_at": datetime.fromtimestamp(second, UTC).strftime("%a %b %d %X +0000 %Y"),
            "text": text,
            "user": {"id": uid, "screen_name": _NAME},
        }
        for second in range(_OLD_S + 60 * newest, _OLD_S, -60)
    ]
    cards = [{"card_type": 9, "mblog": mblog} for mblog in mblogs]
    return {"ok": 1, "data": {"cardlistInfo": {}, "cards": cards}}


def test_a_proxy_that_kept_an_old_page_is_found(tmp_path: Path) -> None:
    """It shows the same words, but lacks what was written long before it was asked: the page that
    shows more is taken, and the other one is blamed."""
    way = Way(tmp_path, *(partial(_posts, newest=n) for n in (3, 5, 5)))

    def scenario(fetcher: Fetcher) -> object:
        return [fetcher.fetch(Ask(way.site.posts(uid, ""))) for uid in range(1, 61)]

    results = asyncio.run(way.run(scenario))
    records = [one.reading.record for one in results if isinstance(one, Fetched)]
    assert Counter(len(r.posts) for r in records if isinstance(r, PostPage)) == {5: 60}
    assert way.counters["egress.disproved"] >= 1


def test_a_false_page_makes_no_other_an_old_one(tmp_path: Path) -> None:
    """A proxy shows other words than the rest, and posts that the site does not show."""
    false = partial(_posts, newest=7, text="上海的晚上")
    way = Way(tmp_path, false, *2 * (partial(_posts, newest=5),))

    def scenario(fetcher: Fetcher) -> object:
        return [fetcher.fetch(Ask(way.site.posts(uid, ""))) for uid in range(1, 61)]

    results = asyncio.run(way.run(scenario))
    records = [one.reading.record for one in results if isinstance(one, Fetched)]
    assert Counter(len(r.posts) for r in records if isinstance(r, PostPage)) == {5: 60}


def test_a_page_is_behind_only_where_it_lacks_what_is_old() -> None:
    """Posts that are new since, pinned or undated tell nothing; nor do those that it alone has."""

    def page(*posts: Post) -> Reading:
        return Reading(Verdict.OK, PostPage(6, posts, None))

    def post(mid: int, at: str | None, *, is_pinned: bool = False) -> Post:
        return Post(mid, 6, at, "second", _NAME, True, is_pinned=is_pinned)

    noon, now = "2026-01-01T12:00:00+08:00", 1_767_240_000.0 + 3600  # an hour later
    one = page(post(9, noon, is_pinned=True), post(3, noon), post(2, noon))
    assert is_behind(one, page(post(4, noon), post(3, noon)), now)
    assert not is_behind(one, page(post(4, noon), post(3, noon)), now - 3500)
    assert not is_behind(one, page(post(4, None), post(3, noon)), now)
    assert not is_behind(one, page(post(8, noon, is_pinned=True), post(3, noon)), now)
    assert not is_behind(one, page(post(2, noon)), now)
    assert not is_behind(one, Reading(Verdict.END), now)
    assert not is_behind(page(), one, now)


_WORDS = st.dictionaries(st.integers(1, 9), st.text("ab微博的字", max_size=6))


@given(_WORDS, _WORDS)
def test_a_comparison_tells_by_what_both_show(one: dict[int, str], other: dict[int, str]) -> None:
    """It is symmetrical; pages that share no words tell nothing, those that share different ones
    are not the same, and letters that nobody garbles prove nothing; four others are enough."""
    told, shared = is_same(one, other), one.keys() & other.keys()
    assert told is is_same(other, one)
    assert (told is False) is any(one[key] != other[key] for key in shared)
    if told is not False:  # each of these letters is three bytes
        assert (told is True) is (
            sum(len(one[key].encode()) - len(one[key]) for key in shared) >= 8
        )
    assert is_same({1: "plain words"}, {1: "plain words"}) is None


def test_a_text_that_two_deny_is_the_same_and_one_that_one_shows_is_not() -> None:
    """Where the other one shows nothing that could be compared, that tells nothing."""
    denied = Reading(Verdict.RESTRICTED, why="暂无查看权限")
    shown = Reading(Verdict.OK, FullText(5, _NAME))
    assert agree(denied, denied) is True
    assert agree(denied, shown) is agree(shown, denied) is False
    assert agree(denied, Reading(Verdict.END)) is agree(denied, TransportError("reset")) is None


def test_counts_and_more_posts_are_no_difference() -> None:
    """They change from one answer to the next; a cut text is another one than the whole."""

    def reading(*posts: Post) -> Reading:
        return Reading(Verdict.OK, PostPage(6, posts, None))

    def post(mid: int, text: str, *, is_whole: bool = True, likes: int = 0) -> Post:
        return Post(mid, 6, "2026-01-01T00:00:00+08:00", "second", text, is_whole, likes=likes)

    one = words_of(reading(post(7, _NAME, likes=3), post(5, "很长…", is_whole=False)))
    other = words_of(reading(post(8, "新的"), post(7, _NAME, likes=4), post(5, "很长很长")))
    assert is_same(one, other)
    assert words_of(Reading(Verdict.END)) == {}
    assert words_of(replace(reading(post(7, _NAME)), verdict=Verdict.DRIFTED)) == {7: _NAME}


def test_a_proxy_that_shows_other_words_is_told_to_the_next_holder() -> None:
    """Before its lease goes on; that another one shows the same changes nothing."""
    ring = Ring([Egress("p:1", "http://p:1")], Pace(requests_per_second=1.0))
    ring.changes(0.0)
    ring.compared("p:1", is_same=True)
    assert not ring.changes(0.0)
    ring.compared("p:1", is_same=False)
    assert set(ring.changes(0.0)) == {"p:1"}


def test_one_of_many_is_compared_again() -> None:
    """The first page with words that a proxy brings, and one of five hundred whose words tell; at
    once after another page than others show. Never the direct way, nor where no other egress may
    go."""
    ring = Ring([Egress("direct"), Egress("p:1", "http://p:1")], Pace(requests_per_second=0))
    rng = Random(0)
    assert not ring.wants_comparison("direct", is_telling=True)
    assert ring.wants_comparison("p:1", is_telling=True)
    ring.compared("p:1", is_same=True)
    for _ in range(500):
        assert not ring.wants_comparison("p:1", is_telling=False)
        assert not ring.wants_comparison("p:1", is_telling=True)
    assert ring.wants_comparison("p:1", is_telling=True)
    ring.compared("p:1", is_same=False)
    assert ring.wants_comparison("p:1", is_telling=True)
    ring.refused("direct", 0.0, rng, is_ban=True)
    assert not ring.wants_comparison("p:1", is_telling=True)


@pytest.mark.parametrize("is_telling", [False, True])
def test_who_tells_nothing_is_asked_more_and_more_rarely(is_telling: bool) -> None:
    """Law 16: pages whose words prove nothing, or that no other egress shows: one of twenty."""
    ring = Ring([Egress("direct"), Egress("p:1", "http://p:1")], Pace(requests_per_second=0))
    compared = []
    for n in range(100):
        if ring.wants_comparison("p:1", is_telling=is_telling):
            ring.compared("p:1", is_same=None, is_telling=is_telling)
            compared.append(n)
    assert compared == [0, 3, 8, 17, 34, 55, 76, 97]


def test_words_that_prove_nothing_make_nobody_trusted() -> None:
    """The next page whose words tell is compared, however many came before it."""
    ring = Ring([Egress("direct"), Egress("p:1", "http://p:1")], Pace(requests_per_second=0))
    assert ring.wants_comparison("p:1", is_telling=False)
    ring.compared("p:1", is_same=None, is_telling=False)
    assert not ring.wants_comparison("p:1", is_telling=False)
    assert ring.is_untold("p:1")
    assert ring.wants_comparison("p:1", is_telling=True)


EGRESSES = tuple(Egress(f"10.0.0.{n}:80", f"http://10.0.0.{n}:80") for n in range(1, 4))


@pytest.mark.parametrize("letter", ["?", "\u7035"])
def test_a_proxy_that_garbles_is_found_behind_words_that_nobody_garbles(letter: str) -> None:
    """Its first pages hold plain words, which look alike by all."""

    def script(request: Request, egress: Egress, headers: object) -> Reading:
        name = "plain words" if int(request.uid) < 20 else _NAME
        if egress is EGRESSES[0]:
            name = "".join(letter if one > "\x7f" else one for one in name)
        return Reading(Verdict.OK, User(request.uid, name, 9))

    async def crawl(fetcher: Fetcher) -> list[str | None]:
        names = []
        for uid in range(1, 60):
            user = (await fetcher.fetch(ask(kind=Kind.PROFILE, uid=uid))).reading.record
            assert isinstance(user, User)
            names.append(user.screen_name)
        return names

    names = run(crawl(World(script, egresses=EGRESSES).fetcher))
    assert names == ["plain words"] * 19 + [_NAME] * 40


@pytest.mark.parametrize("liars", [1, 2])
def test_a_garbled_text_does_not_win_over_one_that_is_called_cut(liars: int) -> None:
    """Whether the others are known to show the site's words or not: a text that only one shows,
    and that others say is not to be had, is not the post's."""
    whole, mid = "很长" * 20, 4803408242409549

    def script(request: Request, egress: Egress, headers: object) -> Reading:
        if request.kind is Kind.PROFILE:
            return Reading(Verdict.OK, User(request.uid, _NAME, 9))
        if EGRESSES.index(egress) >= liars:
            return Reading(Verdict.RESTRICTED, why="cut", is_cut=True)
        garbled = f"{egress.name}{whole}"
        return Reading(Verdict.OK, FullText(mid, garbled))

    async def crawl(fetcher: Fetcher) -> list[Reading]:
        request = Request(Kind.SHOW, f"{SITE}/show/{mid}", mid=mid)
        return [(await fetcher.fetch(Ask(request))).reading for _ in range(12)]

    readings = run(crawl(World(script, egresses=EGRESSES).fetcher))
    assert not [one for one in readings if one.record is not None]
    assert Verdict.RESTRICTED in {one.verdict for one in readings}


@given(st.integers(5, 12))
def test_of_a_page_of_which_each_shows_another_five_are_asked_for(proxies: int) -> None:
    """And none is believed: more would tell nothing new."""
    egresses = tuple(Egress(f"10.0.0.{n}:80", f"http://10.0.0.{n}:80") for n in range(proxies))

    def script(request: Request, egress: Egress, headers: object) -> Reading:
        name = "".join(chr(0x4E00 + 100 * egresses.index(egress) + at) for at in range(6))
        return Reading(Verdict.OK, User(request.uid, name, 9))

    world = World(script, egresses=egresses)
    fetched = run(world.fetcher.fetch(ask(kind=Kind.PROFILE)))
    assert len(world.transport.pages) == 5
    assert fetched.reading.record is None

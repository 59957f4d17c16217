"""What `posts` reads under posts, comments and reposts: where a setting asks for it."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from msgspec import structs

from tests.examples import examples
from tests.posts.crawls import Crawl
from tests.posts.worlds import ScriptedFetcher, post
from weibo_crawler.analysis.scan import scan_echoes
from weibo_crawler.errors import SiteSaysNo, StoreError
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.records import (
    ECHO_LISTS,
    REPOSTS,
    Echo,
    EchoList,
    EchoPage,
    Post,
    Reading,
    Verdict,
)
from weibo_crawler.store import Put
from weibo_crawler.store.rows.keys import echo_key, post_key, user_key

DATE = "2026-01-01T00:00:00+08:00"
POSTS = [post(6, mid, comments=n, reposts=n) for mid, n in ((14, 4), (13, 0), (12, 1), (11, 7))]


@pytest.fixture(params=ECHO_LISTS, ids=[one.name for one in ECHO_LISTS])
def which(request: pytest.FixtureRequest) -> EchoList:
    """The list that is read."""
    one: EchoList = request.param
    return one


def said(*ids: int) -> list[Echo]:
    return [Echo(one, 900 + one, f"name {one}", f"text {one}", DATE, likes=one) for one in ids]


def site(which: EchoList, posts: list[Post] = POSTS, **more: Any) -> ScriptedFetcher:
    fetcher = ScriptedFetcher({6: posts}, **more)
    fetcher.echoes[which.kind] = {14: said(1, 2), 12: said(3), 11: said(4)}
    return fetcher


def asked(fetcher: ScriptedFetcher) -> list[str]:
    return [url for url in fetcher.asked if url.startswith(("comments/", "reposts/"))]


def test_none_are_asked_for_unless_a_setting_says_so(crawl_: Crawl, which: EchoList) -> None:
    """A request each: nothing by default."""
    crawl_.add(6)
    fetcher = site(which)
    crawl_.run(fetcher)
    assert asked(fetcher) == []


def test_those_of_the_newest_posts_are_stored(crawl_: Crawl, which: EchoList) -> None:
    """A row a comment, under the post; at most so many posts of a page, the newest that announce
    some."""
    crawl_.add(6)
    fetcher = site(which)
    crawl_.run(fetcher, **{which.name: 2})
    assert asked(fetcher) == [f"{which.kind}/14", f"{which.kind}/12"]
    rows = list(scan_echoes(crawl_.tables, which))
    own = {"reposts": None, "text_complete": True} if which is REPOSTS else {}
    assert [(row["mid"], row[f"{which.one}_id"]) for row in rows] == [
        ("14", "1"),
        ("14", "2"),
        ("12", "3"),
    ]
    assert rows[0] | {"fetched_at": None, "run_id": None} == {
        f"{which.one}_id": "1",
        "mid": "14",
        "owner": 6,
        "uid": 901,
        "screen_name": "name 1",
        "created_at": DATE,
        "text": "text 1",
        "likes": 1,
        "replies": None,
        "region": None,
        "fetched_at": None,
        "schema_version": 1,
        "run_id": None,
        **own,
    }
    counters = crawl_.counters()
    assert (counters[f"{which.name}.pages"], counters[f"{which.name}.stored"]) == (2, 3)


def test_they_are_read_again_when_there_are_twice_as_many(crawl_: Crawl, which: EchoList) -> None:
    """What was read once is not asked for again until its number has doubled."""
    crawl_.add(6)
    crawl_.run(site(which), **{which.name: 2})
    rest = site(which)
    crawl_.run(rest, refresh=True, **{which.name: 2})
    assert asked(rest) == [f"{which.kind}/11"]
    more = [post(6, 14, comments=7, reposts=7), *POSTS[1:]]
    same = site(which, more)
    crawl_.run(same, refresh=True, **{which.name: 2})
    assert asked(same) == []
    doubled = site(which, [post(6, 14, comments=8, reposts=8), *POSTS[1:]])
    doubled.echoes[which.kind][14] = said(1, 5)
    crawl_.run(doubled, refresh=True, **{which.name: 2})
    assert asked(doubled) == [f"{which.kind}/14"]
    ids = [
        row[f"{which.one}_id"] for row in scan_echoes(crawl_.tables, which) if row["mid"] == "14"
    ]
    assert ids == ["1", "2", "5"]
    assert crawl_.posts(6)[14][f"{which.name}_read"] == 8


def test_closed_comments_are_asked_for_once(crawl_: Crawl, which: EchoList) -> None:
    """A post may announce comments that nobody is shown."""
    crawl_.add(6)
    fetcher = site(which)
    fetcher.echoes[which.kind] = {}
    crawl_.run(fetcher, **{which.name: 9})
    again = site(which)
    crawl_.run(again, refresh=True, **{which.name: 9})
    assert (len(asked(fetcher)), asked(again)) == (3, [])


def test_what_could_not_be_read_is_counted(
    crawl_: Crawl, which: EchoList, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 15."""
    crawl_.add(6)
    fetcher = site(which)
    fetch = fetcher.fetch

    async def odd(ask: Ask) -> Fetched:
        fetched = await fetch(ask)
        record = fetched.reading.record
        if not isinstance(record, EchoPage):
            return fetched
        return fetched._replace(
            reading=structs.replace(fetched.reading, record=structs.replace(record, unreadable=2))
        )

    monkeypatch.setattr(fetcher, "fetch", odd)
    crawl_.run(fetcher, **{which.name: 9})
    assert crawl_.counters()[f"{which.name}.unreadable"] == 6


def test_a_refusal_is_no_fact(crawl_: Crawl, which: EchoList) -> None:
    """Law 4: what was refused is asked for at the next visit."""
    crawl_.add(6)
    crawl_.run(site(which, trouble={f"{which.kind}/14": [Verdict.THROTTLED]}), **{which.name: 1})
    assert crawl_.counters()[f"{which.name}.failed"] == 1
    again = site(which)
    crawl_.run(again, refresh=True, **{which.name: 1})
    assert asked(again) == [f"{which.kind}/14"]


def test_a_list_of_another_post_is_no_list(
    crawl_: Crawl, which: EchoList, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 4: though two egresses showed it, or the only one twice. What stood before it is kept,
    the post is not called read, and the next visit asks again; whoever asks says whose it may
    be."""
    crawl_.add(6)
    fetcher = site(which, [structs.replace(post, repost_of=3) for post in POSTS[:3]])
    fetcher.echoes[which.kind] = {14: said(1, 2), 12: said(3, 4, 5)}
    fetch, owners = fetcher.fetch, []

    async def others(ask: Ask) -> Fetched:
        fetched = await fetch(ask)
        if ask.request.kind is which.kind:
            owners.append(ask.request.owners)
        if ask.request.url not in (f"{which.kind}/14", f"{which.kind}/12/2"):
            return fetched
        page = EchoPage(ask.request.mid, (), "2", unreadable=2, others=(9,))
        return fetched._replace(reading=Reading(Verdict.OK, page, ambiguous=True))

    monkeypatch.setattr(fetcher, "fetch", others)
    crawl_.run(fetcher, below_pages=3, **{which.name: 9})
    rows = [(row["mid"], row[f"{which.one}_id"]) for row in scan_echoes(crawl_.tables, which)]
    assert rows == [("12", "3"), ("12", "4")]
    counters = crawl_.counters()
    assert (counters[f"{which.name}.failed"], counters[f"{which.name}.cut"]) == (1, 1)
    assert sorted(set(owners)) == [(12, 3), (14, 3)]
    again = site(which, POSTS[:3])
    crawl_.run(again, refresh=True, **{which.name: 9})
    assert asked(again) == [f"{which.kind}/14", f"{which.kind}/12"]


def test_walls_end_the_asking(crawl_: Crawl, which: EchoList) -> None:
    """Where guests are shown no comments, nine requests tell."""
    crawl_.add(*range(6, 26))
    walled = {f"{which.kind}/{uid * 10}": [Verdict.LOGIN_WALL] for uid in range(6, 26)}
    worlds = {uid: [post(uid, uid * 10, **{which.name: 2})] for uid in range(6, 26)}
    fetcher = ScriptedFetcher(worlds, trouble=walled)
    crawl_.run(fetcher, users_in_flight=1, **{which.name: 3})
    assert len(asked(fetcher)) == 9
    assert crawl_.counters()[f"{which.name}.walled"] == 20


def test_a_visit_that_dies_asks_again(
    crawl_: Crawl, which: EchoList, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 8: a post says that its comments were read when they are stored, not before; and what is
    put twice is there once (law 7)."""
    crawl_.add(6)
    table = crawl_.tables.echoes[which.name]

    def dies(puts: Iterable[Put]) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(table, "put", dies)
        with pytest.raises(StoreError, match="the disk is full"):
            crawl_.run(site(which), **{which.name: 1})
    assert f"post:{which.name}_read" not in crawl_.tables.posts.row(post_key(6, 14))
    for _ in range(2):
        crawl_.run(site(which), refresh=True, **{which.name: 1})
    assert list(table.keys(""))[:2] == [echo_key(6, 14, 1), echo_key(6, 14, 2)]


def test_later_pages_are_a_setting(crawl_: Crawl, which: EchoList) -> None:
    """Page 1 unless a setting asks for more; then on to the last one that is named."""
    crawl_.add(6)
    rows: list[int] = []
    for pages, new in ((1, 2), (2, 4), (9, 5)):
        fetcher = site(which, [post(6, 14, comments=9 * pages, reposts=9 * pages)])
        fetcher.echoes[which.kind] = {14: said(1, 2, 3, 4, 5)}
        crawl_.run(fetcher, refresh=True, below_pages=pages, **{which.name: 1})
        ways = ["", "/2", "/3"][: min(pages, 3)]
        assert asked(fetcher) == [f"{which.kind}/14{way}" for way in ways]
        assert [fetcher.nth[url] for url in asked(fetcher)] == [1, 2, 3][: len(ways)]
        named = f"{which.name}.named"  # an empty page behind page 1 is looked at again by samples
        assert [fetcher.ends[url] for url in asked(fetcher)] == ["", named, named][: len(ways)]
        rows = [int(row[f"{which.one}_id"]) for row in scan_echoes(crawl_.tables, which)]
        assert rows == list(range(1, new + 1))


def test_what_a_later_page_repeats_is_counted_once(crawl_: Crawl, which: EchoList) -> None:
    """A list grows while it is read, so a page begins with the end of the one before it."""
    crawl_.add(6)
    fetcher = site(which, [post(6, 14, comments=5, reposts=5)])
    fetcher.echoes[which.kind] = {14: said(1, 2, 2, 3)}
    crawl_.run(fetcher, below_pages=3, **{which.name: 1})
    assert crawl_.counters()[f"{which.name}.stored"] == len(list(scan_echoes(crawl_.tables, which)))


def test_a_wall_behind_page_1_takes_nothing_from_it(crawl_: Crawl, which: EchoList) -> None:
    """What page 1 shows is stored and not asked for again; nine walls tell that later pages are
    closed, first ones stay open."""
    crawl_.add(*range(6, 26))
    kind = which.kind
    walled = {f"{kind}/{uid * 10}/2": [Verdict.LOGIN_WALL] for uid in range(6, 26)}
    worlds = {uid: [post(uid, uid * 10, **{which.name: 9})] for uid in range(6, 26)}
    fetcher = ScriptedFetcher(worlds, trouble=walled)
    fetcher.echoes[kind] = {uid * 10: said(1, 2, 3) for uid in worlds}
    how: Any = {which.name: 1, "below_pages": 3, "users_in_flight": 1}
    crawl_.run(fetcher, **how)
    assert sum(url.endswith("/2") for url in asked(fetcher)) == 9
    assert len(asked(fetcher)) == 20 + 9
    assert len(list(scan_echoes(crawl_.tables, which))) == 40
    again = ScriptedFetcher(worlds)
    crawl_.run(again, refresh=True, **how)
    assert asked(again) == []


def test_a_page_that_fails_behind_page_1_is_asked_for_again(crawl_: Crawl, which: EchoList) -> None:
    """What came before it is stored; the list is not called read, and a later visit reads it."""
    crawl_.add(6)
    worlds = {6: [post(6, 14, **{which.name: 9})]}
    how: Any = {which.name: 1, "below_pages": 3}
    fetcher = ScriptedFetcher(worlds, trouble={f"{which.kind}/14/2": [Verdict.SERVER_TROUBLE]})
    fetcher.echoes[which.kind] = {14: said(1, 2, 3, 4, 5)}
    crawl_.run(fetcher, **how)
    assert len(list(scan_echoes(crawl_.tables, which))) == 2
    assert f"post:{which.name}_read" not in crawl_.tables.posts.row(post_key(6, 14))
    well = ScriptedFetcher(worlds)
    well.echoes[which.kind] = fetcher.echoes[which.kind]
    crawl_.run(well, refresh=True, **how)
    assert len(list(scan_echoes(crawl_.tables, which))) == 5
    assert f"post:{which.name}_read" in crawl_.tables.posts.row(post_key(6, 14))


@pytest.mark.parametrize("dies_at", range(7))
def test_a_visit_that_is_cut_short_is_made_up_for(
    crawl_: Crawl, which: EchoList, dies_at: int
) -> None:
    """Law 8: wherever a visit ends among the lists under its posts, the same command reads those
    that it had not, and asks twice for those under way at most."""
    crawl_.add(6)
    posts = [post(6, mid, **{which.name: 3}) for mid in reversed(range(101, 126))]
    how: Any = {which.name: 2}
    fetcher = ScriptedFetcher({6: posts})
    fetcher.echoes[which.kind] = {one.mid: said(one.mid) for one in posts}
    fetcher.left = {which.kind: dies_at}
    with suppress(SiteSaysNo):
        crawl_.run(fetcher, **how)
    fetcher.left = {}
    crawl_.run(fetcher, **how)
    newest = {"125", "124", "115", "114", "105", "104"}
    assert newest <= {row["mid"] for row in scan_echoes(crawl_.tables, which)}
    assert len(asked(fetcher)) <= len({*asked(fetcher)}) + 2


_UIDS = iter(range(5000, 10**6))


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_is_asked_for_is_stored_and_nothing_else(
    crawl_: Crawl, which: EchoList, data: st.DataObject
) -> None:
    """Whatever is announced and shown, and wherever pages are refused: of the newest posts that
    announce some, the pages up to the first that is none are stored; a post whose list was read to
    its end, or as far as the setting says, says what it announced, any other is asked again at the
    next visit."""
    uid = next(_UIDS)
    mids = [uid * 100 + n for n in reversed(range(data.draw(st.integers(1, 8))))]
    announced = {mid: data.draw(st.integers(0, 9)) for mid in mids}
    lengths = {mid: data.draw(st.integers(0, 7)) for mid in mids}
    bad = {mid: data.draw(st.integers(0, 5)) for mid in mids}  # the page that is refused once
    most, pages = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 4))
    ways = {
        mid: f"{which.kind}/{mid}" + f"/{bad[mid]}" * (bad[mid] > 1) for mid in mids if bad[mid]
    }
    posts = [post(uid, mid, **{which.name: announced[mid]}) for mid in mids]
    fetcher = ScriptedFetcher(
        {uid: posts}, trouble={way: [Verdict.THROTTLED] for way in ways.values()}
    )
    every = {mid: said(*range(mid * 10, mid * 10 + n)) for mid, n in lengths.items() if n}
    fetcher.echoes[which.kind] = every
    crawl_.add(uid)
    crawl_.run(fetcher, below_pages=pages, **{which.name: most})
    wanted = [mid for mid in mids if announced[mid]][:most]
    true = {
        (str(mid), str(one.id))
        for mid in wanted
        for one in every.get(mid, [])[: 2 * min(pages, bad[mid] - 1 if bad[mid] else pages)]
    }
    rows = list(scan_echoes(crawl_.tables, which, uids=[uid]))
    assert {(row["mid"], row[f"{which.one}_id"]) for row in rows} == true
    held = crawl_.posts(uid)
    for mid in mids:
        # a page is asked for where the one before it names it
        reached = min(pages, max(1, -(-lengths[mid] // 2)))
        is_read = mid in wanted and not 0 < bad[mid] <= reached
        assert held[mid][f"{which.name}_read"] == (announced[mid] if is_read else None)
    again = ScriptedFetcher({uid: posts})
    crawl_.run(again, refresh=True, below_pages=pages, **{which.name: most})
    left = [mid for mid in mids if announced[mid] and held[mid][f"{which.name}_read"] is None]
    assert asked(again) == [f"{which.kind}/{mid}" for mid in left[:most]]
    crawl_.tables.userlist.delete(user_key(uid))

"""What is served is what is true, in the recorded shapes."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.simulator import visitors
from tests.simulator.conftest import SMALL
from tests.simulator.visitors import (
    Ask,
    fans,
    mblogs,
    posts,
    profile,
    search,
    visit,
    weibo_of,
    world_of,
)
from weibo_crawler.simulator.attached import attached_type
from weibo_crawler.simulator.run import Running
from weibo_crawler.simulator.site import Weibo
from weibo_crawler.simulator.wire import NO_CONTENT, relative_date
from weibo_crawler.simulator.world import World

SAMPLES = Path(os.environ.get("WEIBO_SAMPLES", Path(__file__).parents[3] / "shared" / "samples"))
UTC8_NOON = 1_793_505_600  # 2026-11-01 12:00 on the site's clock


def answers(weibo: Weibo) -> Ask:
    return lambda address: json.loads(visit(weibo, address).answer.body)


def test_fan_lists_over_http(ask: Ask, small_world: World) -> None:
    """Walking every fan list finds its true users in their order, and the announced number."""
    for index in range(small_world.size):
        uid = small_world.uid(index)
        found = visitors.walk_fans(ask, uid)
        assert found == [small_world.uid(fan) for fan in small_world.fans_shown(index)]
        shown = ask(profile(uid))["data"]["userInfo"]
        assert shown["followers_count"] == str(len(found))


def test_follow_lists_over_http(ask: Ask, small_world: World) -> None:
    """So it is with whom they follow."""
    for index in range(0, small_world.size, 7):
        uid = small_world.uid(index)
        found = visitors.walk_follows(ask, uid)
        assert found == [small_world.uid(one) for one in small_world.follows_shown(index)]
        assert ask(profile(uid))["data"]["userInfo"]["follow_count"] == len(found)


@pytest.mark.parametrize("paging", ["page", "since_id"])
def test_timelines(paging: str) -> None:
    """Walking every timeline, by either token, finds the true posts, whole through each way."""
    options = replace(SMALL, paging=paging)
    world, ask = world_of(options), answers(weibo_of(options))
    for index in range(world.size):
        found = visitors.walk_posts(ask, world.uid(index))
        true = {str(post.mid): post for post in world.posts(index)}
        assert found.keys() == true.keys()
        for mid, mblog in found.items():
            cut = mblog["text"].endswith(f'<a href="/status/{mid}">全文</a>')
            assert mblog["isLongText"] == cut == true[mid].is_long
            assert cut or mblog["text"] == true[mid].writing.html
            assert ("retweeted_status" in mblog) == (true[mid].repost_of is not None)


def test_timelines_over_http(ask: Ask, small_world: World) -> None:
    """The wire adds and loses nothing."""
    for index in range(0, small_world.size, 9):
        found = visitors.walk_posts(ask, small_world.uid(index))
        assert found.keys() == {str(mid) for mid in small_world.calendar(index).mids}


def test_the_ways_to_a_whole_text(ask: Ask, small_site: Running, small_world: World) -> None:
    """extend, show (by mid and bid) and $render_data hold the same whole text."""
    long = [p for i in range(small_world.size) for p in small_world.posts(i) if p.is_long][:20]
    assert long
    for post in long:
        whole = post.writing.html
        assert ask(f"/statuses/extend?id={post.mid}")["data"]["longTextContent"] == whole
        shown = ask(f"/statuses/show?id={post.mid}")["data"]
        assert shown["longText"]["longTextContent"] == whole
        if shown["bid"]:
            assert ask(f"/statuses/show?id={shown['bid']}")["data"] == shown
        page = visitors.fetch(small_site.base_url, f"/detail/{post.mid}")[1].decode()
        script = page.partition("$render_data = ")[2].partition("[0] || {};")[0]
        assert json.loads(script)[0]["status"]["text"] == whole


def test_what_is_unknown(ask: Ask, small_site: Running, small_world: World) -> None:
    """Strangers, and pages after the end, get the recorded no-content body, byte for byte."""
    uid = small_world.uid(0)
    for address in (profile(5), posts(5), fans(5), posts(uid, "page=99"), fans(uid, 251)):
        assert visitors.fetch(small_site.base_url, address)[1] == NO_CONTENT
    assert ask("/statuses/extend?id=1") == json.loads(NO_CONTENT)
    assert visitors.fetch(small_site.base_url, "/nothing/here")[0] == 404


def test_names_lead_home(small_site: Running, small_world: World) -> None:
    """/n/<screen_name> is a 302 to /u/<uid> for users, a page of words for strangers."""
    from urllib.parse import quote

    for index in range(0, small_world.size, 11):
        name = quote(small_world.person(index).screen_name)
        status, _, headers = visitors.fetch(small_site.base_url, f"/n/{name}")
        assert (status, headers["Location"]) == (302, f"/u/{small_world.uid(index)}")
    status, body, _ = visitors.fetch(small_site.base_url, "/n/nobody")
    assert (status, "用户不存在" in body.decode()) == (200, True)


def test_the_traps_are_set(ask: Ask, small_world: World) -> None:
    """Each trap of the lists that weibo_api.md names comes up in a small world."""
    seen: set[str] = set()
    for index in range(small_world.size):
        uid = small_world.uid(index)
        for number in (1, 2):
            page = ask(fans(uid, number))["data"]["cards"]
            seen |= {"recommended"} if len(page) > 1 else set()
            rows = [row["user"] for card in page[-1:] for row in card["card_group"]]
            seen |= {"null user"} if None in rows else set()
            ids = [row["id"] for row in rows if row]
            seen |= {"twice"} if len(set(ids)) < len(ids) else set()
        for number in (1, 2):
            seen |= _traps_of_posts(uid, ask(posts(uid, f"page={number}"))["data"]["cards"])
    assert seen == {
        "recommended",
        "null user",
        "twice",
        "group",
        "foreign",
        "text type",
        "no mblog",
        "two pinned",
        "pics as dict",
        "gone",
        "no bid",
        "edited",
    }


def _traps_of_posts(uid: int, cards: list[dict[str, Any]]) -> set[str]:
    found = list(mblogs(cards))
    pinned = [m for m in found if m.get("isTop") or m.get("profile_type_id") or "title" in m]
    originals = [m["retweeted_status"] for m in found if "retweeted_status" in m]
    signs = {
        "group": any("mblog" in one for card in cards for one in card.get("card_group", [])),
        "foreign": any(mblog["user"]["id"] != uid for mblog in found),
        "text type": any(isinstance(card["card_type"], str) for card in cards),
        "no mblog": len(list(mblogs(cards))) < len(cards),
        "two pinned": sum(mblog["user"]["id"] == uid for mblog in pinned) > 1,
        "pics as dict": any(isinstance(mblog.get("pics"), dict) for mblog in found),
        "gone": any(one["user"] is None and "reposts_count" not in one for one in originals),
        "no bid": any(mblog["bid"] == "" for mblog in found),
        "edited": any(mblog.get("edit_count") for mblog in found),
    }
    return {name for name, there in signs.items() if there}


def test_the_second_form_of_a_timeline(ask: Ask, small_world: World) -> None:
    """230413 serves the same posts as 107603."""
    uid = next(small_world.uid(i) for i in range(99) if len(small_world.calendar(i).mids) > 20)
    form = f"{visitors.GET_INDEX}containerid=230413{uid}_-_WEIBO_SECOND_PROFILE_WEIBO&page_type=03"
    for number in (1, 2):
        first, second = ask(posts(uid, f"page={number}")), ask(f"{form}&page={number}")
        assert [m["mid"] for m in mblogs(first["data"]["cards"])] == [
            m["mid"] for m in mblogs(second["data"]["cards"])
        ]


def test_basic_info_and_comments(ask: Ask, small_world: World) -> None:
    """Basic info names the user; page 1 of the comments has as many as announced, at most 20."""
    uid = small_world.uid(3)
    info = ask(f"{visitors.GET_INDEX}containerid=230283{uid}_-_INFO")
    items = {
        row.get("item_name"): row.get("item_content")
        for row in info["data"]["cards"][0]["card_group"]
    }
    assert items["昵称"] == small_world.person(3).screen_name
    written = [post for index in range(40) for post in small_world.posts(index)]
    for post in [post for post in written if post.comments][:20]:
        page = ask(f"/comments/hotflow?id={post.mid}&mid={post.mid}")["data"]
        writers = [comment["user"]["id"] for comment in page["data"]]
        assert len(set(writers)) == len(writers) == min(20, post.comments)
        assert (page["max_id"] == 0) == (post.comments <= 20)


def test_who_reposted(ask: Ask, small_world: World) -> None:
    """Ten a page, the latest first, each person once; behind the last one nothing, though as many
    pages are announced as there are reposts. Those of a repost name what that passed on."""
    written = [post for index in range(40) for post in small_world.posts(index)]
    for post in sorted(written, key=lambda post: -post.reposts)[:20]:
        way = f"/api/statuses/repostTimeline?id={post.mid}"
        pages = [ask(f"{way}&page={number}") for number in range(1, 8)]
        shown = [page["data"]["data"] for page in pages if page["ok"] == 1]
        assert [len(page) for page in shown[:-1]] == [10] * (len(shown) - 1)
        reposts = [one for page in shown for one in page]
        uids = [one["user"]["id"] for one in reposts]
        assert uids == [small_world.uid(index) for index in small_world.reposters(post)]
        assert len(set(uids)) == len(uids)
        mids = [int(one["mid"]) for one in reposts]
        assert mids == sorted(mids, reverse=True)
        assert min(mids) > post.mid
        assert {one["retweeted_status"]["id"] for one in reposts} == {
            str(post.repost_of or post.mid)
        }
        for page in pages[: len(shown)]:
            assert page["data"]["total_number"] == post.reposts
            assert page["data"]["max"] == -(-post.reposts // 10)


def test_numbers_as_they_were() -> None:
    """numbers=ints writes followers_count as before 2022, without the text beside it."""
    options = replace(SMALL, numbers="ints")
    world = world_of(options)
    user = answers(weibo_of(options))(profile(world.uid(0)))["data"]["userInfo"]
    assert user["followers_count"] == world.fans_announced(0)
    assert "followers_count_str" not in user


@pytest.mark.parametrize(
    ("age_s", "written"),
    [
        (0, "刚刚"),
        (59, "刚刚"),
        (60, "1分钟前"),
        (3599, "59分钟前"),
        (3600, "1小时前"),
        (43_200, "12小时前"),
        (43_201, "昨天 23:59"),
        (129_600, "昨天 00:00"),
        (129_601, "10-30"),
        (26_308_800, "01-01"),
        (26_308_801, "2025-12-31"),
    ],
)
def test_relative_dates(age_s: int, written: str) -> None:
    """The six forms of weibo_api.md, by the site's clock."""
    assert relative_date(UTC8_NOON - age_s, UTC8_NOON) == written


def test_relative_dates_are_served() -> None:
    """dates=relative changes lists and leaves show as it is."""
    ask = answers(weibo_of(replace(SMALL, dates="relative")))
    world = world_of(SMALL)
    index = next(i for i in range(world.size) if len(world.calendar(i).mids) > 3)
    mblog = next(mblogs(ask(posts(world.uid(index)))["data"]["cards"]))
    assert "+0800" not in mblog["created_at"]
    assert "+0800" in ask(f"/statuses/show?id={mblog['mid']}")["data"]["created_at"]


def digest(weibo: Weibo, world: World) -> str:
    uids = [world.uid(index) for index in range(world.size)]
    addresses = [make(uid) for uid in uids for make in (profile, posts, fans, visitors.follows)]
    bodies = [visit(weibo, address).answer.body for address in addresses]
    return hashlib.sha256(b"".join(bodies)).hexdigest()


def test_a_seed_number_is_bytes(small_site: Running, small_world: World) -> None:
    """Two sites of one seed number give the same bytes, in this process or another; a site of
    another seed number gives others."""
    here = digest(weibo_of(SMALL), small_world)
    assert digest(weibo_of(SMALL), small_world) == here
    assert digest(weibo_of(replace(SMALL, seed=2)), small_world) != here
    for index in range(0, small_world.size, 20):
        address = posts(small_world.uid(index))
        there = visitors.fetch(small_site.base_url, address)[1]
        assert there == visit(weibo_of(SMALL), address).answer.body


def test_gzip() -> None:
    """gzip=True packs bodies for clients that take it; the content is the same."""
    import gzip

    from weibo_crawler.simulator.misbehave import response

    world = world_of(SMALL)
    answer = visit(weibo_of(SMALL), profile(world.uid(0))).answer
    packed = response(answer, zipped=True)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert isinstance(packed.body, bytes)
    assert gzip.decompress(packed.body) == answer.body


RECORDED = {
    "profile": ("profile/2022-02_followers_count_string.json", ("data",)),
    "userInfo": ("profile/2022-02_followers_count_string.json", ("data", "userInfo")),
    "posts": ("posts/2021-06_since_id_pinned.json", ("data",)),
    "posts info": ("posts/2021-06_since_id_pinned.json", ("data", "cardlistInfo")),
    "mblog": ("posts/2021-06_since_id_pinned.json", ("data", "cards", 1, "mblog")),
    "extend": ("longtext/2021_extend.json", ("data",)),
    "show": ("status/2019-06_show_retweet.json", ("data",)),
    "comments": ("comments/2019-06_hotflow.json", ("data",)),
    "comment": ("comments/2019-06_hotflow.json", ("data", "data", 0)),
}
# Keys of single posts (advertisements, videos, buttons) that the simulator leaves out.
LEFT_OUT = {
    "mblog": {"thumbnail_pic", "bmiddle_pic", "original_pic", "picStatus"},
    "show": {"buttons", "status_title"},
    "comment": {"comment_badge", "pic"},
}


def _at(thing: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        thing = thing[step]
    return thing


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_keys(name: str) -> None:
    """Every key of the recorded body stands in the simulated one, with a value of its type."""
    file, path = RECORDED[name]
    if not (SAMPLES / file).exists():
        pytest.skip(f"no recorded samples in {SAMPLES}; set WEIBO_SAMPLES")
    recorded = _at(json.loads((SAMPLES / file).read_text(encoding="utf-8")), path)
    options = replace(SMALL, paging="since_id")
    world, ask = world_of(options), answers(weibo_of(options))
    written = [post for index in range(world.size) for post in world.posts(index)]
    index = next(i for i in range(world.size) if len(world.calendar(i).mids) > 20)
    uid = world.uid(index)
    retweet = next(post for post in written if post.repost_of and not post.notice)
    pictured = next(post for post in written if post.pics and attached_type(post))
    talked = next(post for post in written if post.comments > 20)
    simulated = {
        "profile": lambda: ask(profile(uid))["data"],
        "userInfo": lambda: next(
            user
            for one in range(world.size)
            if (user := ask(profile(world.uid(one)))["data"]["userInfo"])["verified"]
        ),
        "posts": lambda: ask(posts(uid, ""))["data"],
        "posts info": lambda: ask(posts(uid, ""))["data"]["cardlistInfo"],
        "mblog": lambda: ask(f"/statuses/show?id={pictured.mid}")["data"],
        "extend": lambda: ask(f"/statuses/extend?id={retweet.mid}")["data"],
        "show": lambda: ask(f"/statuses/show?id={retweet.mid}")["data"],
        "comments": lambda: ask(f"/comments/hotflow?id={talked.mid}")["data"],
        "comment": lambda: ask(f"/comments/hotflow?id={talked.mid}")["data"]["data"][0],
    }[name]()
    missing = recorded.keys() - simulated.keys() - LEFT_OUT.get(name, set())
    assert missing == set()
    wrong = {
        key: (type(value), type(simulated[key]))
        for key, value in recorded.items()
        if key in simulated and type(value) is not type(simulated[key]) and key != "comments"
    }
    assert wrong == {}


def test_what_a_topic_shows(ask: Ask, small_world: World) -> None:
    """Its pages show the true posts with their writers, ten a page, and no other one; some topics
    show nothing."""
    lengths = set()
    for n in range(60):
        words = f"#{n} 信#"
        true = small_world.searched(words)
        lengths.add(len(true))
        found: dict[int, int] = {}
        for number in range(1, len(true) // 10 + 2):
            page = ask(search(words, number))
            found |= {int(one["mid"]): one["user"]["id"] for one in mblogs(page["data"]["cards"])}
            assert page["ok"] == (len(found) > (number - 1) * 10)
        assert [*found] == true
        writers = [small_world.uid(one) for one in small_world.writers(words, 3)]
        assert [*dict.fromkeys(found.values())] == writers
    assert 0 in lengths
    assert max(lengths) > 20

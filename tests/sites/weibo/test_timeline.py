"""Pages of posts."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sites.weibo.helpers import (
    BARE,
    LONG_MID,
    OWNER,
    SITE,
    fixture,
    judge,
    read,
    record,
    tree,
)
from weibo_crawler.records import Id, Post, PostPage, Verdict
from weibo_crawler.sites.weibo.bid import bid_of
from weibo_crawler.sites.weibo.drift import is_drift

Tree = Any
END_CARD = {"card_type": 58, "itemid": "", "desc": "没有更多内容了"}
MIDS = [4383414434136141, 4383183659335757, 4382283213570125, 4381312408354893]
MIDS += [4378893398048845, 4323078091833421]
PINNED = [4645748016676941, 4455712059031629]
UNPINNED = [LONG_MID, 4803183410937933, 4800569420021837]


def page_mode(change: Any = None) -> PostPage:
    found = record(read("posts_page_mode.json", change))
    assert isinstance(found, PostPage)
    return found


def since_id(change: Any = None) -> PostPage:
    found = record(read("posts_since_id.json", change))
    assert isinstance(found, PostPage)
    return found


def card(tree: Tree, n: int = 1) -> Any:
    return tree["data"]["cards"][n]


def test_posts_of_the_owner_in_the_order_of_the_site() -> None:
    """Groups are entered, cards without a post skipped, posts of others counted."""
    page = page_mode()
    assert [post.mid for post in page.posts] == MIDS
    assert {post.uid for post in page.posts} == {page.owner} == {OWNER}
    assert (page.foreign, page.next_cursor) == (1, "page=2")


def test_dates_of_a_relative_page() -> None:
    """What the site says relative to now, with the second from the mid where it names a day."""
    assert [(p.created_at, p.created_at_precision) for p in page_mode().posts] == [
        ("2019-06-15T11:55:04+08:00", "mid"),
        ("2019-06-14T20:38:03+08:00", "mid"),
        ("2019-06-12T09:00:00+08:00", "mid"),
        ("2019-06-09T16:42:22+08:00", "mid"),
        ("2019-06-03T00:30:05+08:00", "mid"),
        ("2018-12-30T23:59:59+08:00", "mid"),
    ]


def test_texts_and_fields() -> None:
    """A text is what a reader sees; counts are numbers; decorations are cleaned."""
    first, _, third, fourth, fifth, _ = page_mode().posts
    assert first.text == "今天的信到了[偷笑][偷笑]"
    assert (first.source, first.reposts, first.comments, first.likes) == ("慢信客户端", 3, 2, 11)
    assert third.text == "一行\n两行 <b> &amp; 2 < 3"
    assert third.reposts == 1_000_000
    assert fourth.text == "看链接 网页链接"
    assert fifth.text == "@灯塔 晚安"
    assert all(post.text_complete and not post.is_pinned for post in page_mode().posts)


def test_pictures_in_a_list_and_in_a_dict() -> None:
    """Both shapes give the large addresses, in order; pic_num may be larger than the list."""
    first, _, third, *_ = page_mode().posts
    assert [p.rpartition("/")[2] for p in first.pics] == [
        "713fb301ly1000000001.jpg",
        "713fb301ly1000000002.jpg",
    ]
    assert [p.rpartition("/")[2] for p in third.pics] == [
        "713fb301ly1000000003.jpg",
        "713fb301ly1000000004.jpg",
    ]
    assert all("/large/" in address for address in first.pics + third.pics)
    assert (first.pic_num, third.pic_num) == (2, 2)
    long = since_id().posts[2]
    assert (len(long.pics), long.pic_num) == (9, 12)


@pytest.mark.parametrize(
    "pics", [None, [], "", "x", 7, [None], {"0": None}, [7], [{"large": []}], [{"url": None}], {}]
)
def test_odd_pictures_cost_only_themselves(pics: object) -> None:
    """A cosmetic field of a shape never seen does not drift the page."""

    def change(tree: Tree) -> None:
        card(tree, 0)["card_group"][0]["mblog"]["pics"] = pics

    assert page_mode(change).posts[0].pics == ()


def test_a_picture_without_a_large_one() -> None:
    """The plain address stands in where there is no large one."""

    def change(tree: Tree) -> None:
        card(tree, 0)["card_group"][0]["mblog"]["pics"] = [{"pid": "p", "url": "u"}, None]

    assert page_mode(change).posts[0].pics == ("u",)


def test_videos_among_the_pictures() -> None:
    """Those of live photos stand in a list of their own, as on two recorded posts of 2021, or
    beside each picture, as does one of several videos, whose cover is a picture: each once."""
    live = "https://video.weibo.com/media/play?livephoto=https%3A%2F%2Fus.sinaimg.example%2F{}.mov"
    shown = [
        {"url": "u", "type": "livephoto", "videoSrc": live.format(2)},
        {"url": "v", "type": "video", "videoSrc": "https://f.video.example/3.mp4"},
        {"url": "w", "videoSrc": ["odd"]},
        {"url": "x", "videoSrc": ""},
    ]

    def change(tree: Tree) -> None:
        named = [live.format(1), live.format(2), None, 7]
        card(tree, 0)["card_group"][0]["mblog"].update(pics=shown, live_photo=named)

    first, second = page_mode(change).posts[:2]
    assert first.videos == (live.format(1), live.format(2), "https://f.video.example/3.mp4")
    assert first.pics == ("u", "v", "w", "x")
    assert second.videos is None


@pytest.mark.parametrize("odd", [None, "", "https://x", 7, {}, {"0": "u"}, [[]], [None]])
def test_an_odd_list_of_live_photos_costs_only_itself(odd: object) -> None:
    """Nothing is named by it."""

    def change(tree: Tree) -> None:
        card(tree, 0)["card_group"][0]["mblog"]["live_photo"] = odd

    assert page_mode(change).posts == page_mode().posts


def test_where_the_bid_comes_from() -> None:
    """From the post, else from its card's address, else from its mid: the same bid."""
    with_scheme = page_mode().posts[2]

    def change(tree: Tree) -> None:
        card(tree, 3)["scheme"] = ""

    assert with_scheme.bid == page_mode(change).posts[2].bid == "HywyReYKF"


def test_a_retweet_packs_its_original() -> None:
    """The original has its own author, counts and cut; it is no post of the page."""
    retweet = page_mode().posts[1]
    original = retweet.original
    assert original is not None
    assert (retweet.repost_of, original.mid) == (4383029468332109, 4383029468332109)
    assert (original.uid, original.screen_name) == (2900000023, "Lanternfish")
    assert (original.text, original.text_complete) == ("#慢信#海边的邮筒 ...", False)
    assert (original.created_at, original.available) == ("2019-06-14T10:25:21+08:00", True)
    assert (original.reposts, original.comments, original.likes) == (45947, 2, 11)
    assert (retweet.text, retweet.text_complete) == ("转发微博", True)


def test_a_deleted_original_is_kept_as_its_notice() -> None:
    """user null, no counts, no isLongText: not available, and no drift."""
    retweet = page_mode().posts[3]
    assert retweet.original is not None
    assert retweet.repost_of == 4380818562613325
    assert not retweet.original.available
    assert retweet.original.text == "抱歉，此微博已被作者删除。查看帮助：网页链接"
    assert (retweet.original.uid, retweet.original.reposts) == (None, None)


HIDDEN: list[dict[str, object]] = [{"deleted": "1"}, {"state": 7}, {"state": 8}]
HIDDEN += [{"user": None, **BARE}]


@pytest.mark.parametrize("sign", HIDDEN)
def test_signs_of_a_hidden_original(sign: dict[str, object]) -> None:
    """Each sign alone says that only a notice is left, even without a date or a text."""

    def change(tree: Tree) -> None:
        status = card(tree)["mblog"]["retweeted_status"]
        status.update(sign, text=None, created_at="?")

    original = page_mode(change).posts[1].original
    assert original is not None
    assert not original.available
    assert (original.text, original.created_at) == ("", None)


@pytest.mark.parametrize("sign", HIDDEN)
def test_own_posts_that_are_hidden_are_skipped(sign: dict[str, object]) -> None:
    """A notice in place of a post is counted as foreign, not stored as its text."""
    page = page_mode(lambda tree: card(tree)["mblog"].update(sign))
    assert MIDS[1] not in [post.mid for post in page.posts]
    assert page.foreign == 2
    assert page.unreadable == ()


@pytest.mark.parametrize("part", sorted(BARE))
def test_a_post_whose_author_lacks_is_not_lost_and_nobody_elses(part: str) -> None:
    """It has what a notice lacks, so it is a post that cannot be read: kept, and the owner's or not
    for all that anybody knows."""

    def change(tree: Tree) -> None:
        status = card(tree)["mblog"]
        status.update({**BARE, part: status.get(part, False)}, user=None)

    page = page_mode(change)
    assert MIDS[1] not in [post.mid for post in page.posts]
    assert page.foreign == 1
    (one,) = page.unreadable
    assert (one.path, one.mid) == ("$.data.cards[1].mblog.user", MIDS[1])
    assert json.loads(one.raw)["mblog"]["text"]


def test_an_original_whose_author_lacks_is_there() -> None:
    """What it says is kept, and by whom is not known."""
    page = page_mode(lambda tree: card(tree)["mblog"]["retweeted_status"].update(user=None))
    original, known = page.posts[1].original, page_mode().posts[1].original
    assert original is not None
    assert known is not None
    assert original == replace(known, uid=None, screen_name=None)
    assert original.available


def test_several_pinned_posts_stand_first_and_once() -> None:
    """A post that comes pinned and again in its place is one post, and pinned."""
    page = since_id()
    assert [post.mid for post in page.posts] == PINNED + UNPINNED
    assert [post.is_pinned for post in page.posts] == [True, True, False, False, False]
    pinned = page.posts[0]
    assert (pinned.edit_count, pinned.edited_at) == (2, "2021-06-16T10:51:10+08:00")


def test_pinned_wins_wherever_it_stands() -> None:
    """The order of the two sightings does not matter."""
    page = since_id(lambda tree: tree["data"]["cards"].reverse())
    assert {post.mid for post in page.posts if post.is_pinned} == set(PINNED)
    assert [post.is_pinned for post in page.posts] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("place", "sign"),
    [
        ("mblog", {"mblogtype": 2}),
        ("mblog", {"isTop": 1}),
        ("mblog", {"title": {"text": "置顶", "base_color": 1}}),
        ("mblog", {"profile_type_id": "proweibotop_"}),
        ("card", {"profile_type_id": "proweibotop_x"}),
    ],
)
def test_signs_of_a_pinned_post(place: str, sign: dict[str, object]) -> None:
    """Each of the signs is enough."""

    def change(tree: Tree) -> None:
        (card(tree)["mblog"] if place == "mblog" else card(tree)).update(sign)

    pinned = [post.mid for post in page_mode(change).posts if post.is_pinned]
    assert pinned == [MIDS[1]]
    assert page_mode(change).posts[0].mid == MIDS[1]


def test_cut_texts() -> None:
    """The link 全文 or isLongText alone says that a text is not whole."""
    assert [post.text_complete for post in since_id().posts] == [True, True, False, True, True]
    assert since_id().posts[2].text.endswith("很长的信。 ...")
    by_flag = page_mode(lambda tree: card(tree)["mblog"].update(isLongText=True))
    assert not by_flag.posts[1].text_complete


def test_region_source_and_visibility() -> None:
    """发布于 is left out of the region, tags out of the source."""
    _, _, long, shy, _ = since_id().posts
    assert (long.region, shy.region) == ("北京", None)
    assert (shy.source, shy.visible) == ("慢信", 10)


@pytest.mark.parametrize(
    ("info", "cursor", "expected"),
    [
        ({"page": 2}, "", "page=2"),
        ({"page": "2"}, "", "page=2"),
        ({"page": 3}, "page=2", "page=3"),
        ({"page": 2}, "page=2", None),
        ({"page": 1}, "page=2", None),
        ({"page": None}, "", None),
        ({"page": ""}, "", None),
        ({"page": 0}, "", None),
        ({}, "", None),
        (None, "", None),
        ({"since_id": 46461}, "", "since_id=46461"),
        ({"since_id": 5369519795588094.0}, "", "since_id=5369519795588094"),
        ({"since_id": "46461", "page": 2}, "", "since_id=46461"),
        ({"since_id": "", "page": 2}, "", "page=2"),
        ({"since_id": 0}, "since_id=5", None),
        ({"since_id": "0"}, "since_id=5", None),
        ({"since_id": None, "page": 2}, "since_id=5", None),
        ({"since_id": 5}, "since_id=5", None),
        ({"since_id": 4}, "since_id=5", "since_id=4"),
    ],
)
def test_the_next_page(info: object, cursor: str, expected: str | None) -> None:
    """since_id wins; absent, null, empty and 0 are the end, and so is a repeated token."""

    def change(tree: Tree) -> None:
        tree["data"]["cardlistInfo"] = info

    reading = read("posts_page_mode.json", change, SITE.posts(OWNER, cursor))
    assert record(reading).next_cursor == expected


def test_both_tabs_are_read_alike() -> None:
    """The second form of the timeline has the same cards."""
    tab = f"containerid=230413{OWNER}_-_WEIBO_SECOND_PROFILE_WEIBO&page_type=03&page=1"
    url = f"https://m.weibo.cn/api/container/getIndex?{tab}"
    reading = read("posts_since_id.json", request=replace(SITE.posts(OWNER, ""), url=url))
    assert record(reading) == since_id()


@pytest.mark.parametrize("card_type", [58, "58"])
def test_the_card_that_ends(card_type: object) -> None:
    """In since_id mode a first card of type 58 is the end, but for posts of the owner that follow:
    what is shown is stored, and no next page is named."""

    def change(tree: Tree) -> None:
        tree["data"]["cards"].insert(0, {"card_type": card_type})

    deep = record(read("posts_page_mode.json", change, SITE.posts(OWNER, "since_id=5")))
    assert (len(deep.posts), deep.next_cursor) == (len(MIDS), None)

    def of_others(tree: Tree) -> None:
        change(tree)
        del tree["data"]["cards"][1:]
        tree["data"]["cards"].append({"card_type": 11, "card_group": []})

    ended = read("posts_page_mode.json", of_others, SITE.posts(OWNER, "since_id=5"))
    assert (ended.verdict, ended.ambiguous) == (Verdict.END, True)
    assert len(page_mode(change).posts) == len(MIDS)
    alone = judge('{"ok":1,"data":{"cards":[{"card_type":58}]}}')
    assert (alone.verdict, alone.ambiguous) == (Verdict.EMPTY, True)


@pytest.mark.parametrize(
    ("cursor", "verdict"),
    [
        ("", Verdict.EMPTY),
        ("page=1", Verdict.EMPTY),
        ("page=2", Verdict.END),
        ("since_id=5", Verdict.END),
    ],
)
def test_no_cards(cursor: str, verdict: Verdict) -> None:
    """Nothing on the first page is EMPTY, on a later one END; both may be throttling."""
    reading = judge('{"ok":1,"data":{"cards":[]}}', SITE.posts(OWNER, cursor))
    assert (reading.verdict, reading.ambiguous) == (verdict, True)


@pytest.mark.parametrize("page", [3, "3", [3]])
def test_no_cards_beside_a_page_in_since_id_mode(page: object) -> None:
    """A number may name a later page, though not in the words of this one: no end."""
    said = json.dumps({"ok": 1, "data": {"cards": [], "cardlistInfo": {"page": page}}})
    reading = judge(said, SITE.posts(OWNER, "since_id=5"))
    assert (reading.verdict, reading.ambiguous) == (Verdict.OK, True)
    assert record(reading).skipped == {"odd cursor": 1}


def test_card_types_as_text() -> None:
    """card_type is a string on some pages."""

    def change(tree: Tree) -> None:
        for one in tree["data"]["cards"]:
            one["card_type"] = str(one["card_type"])

    assert page_mode(change) == page_mode()


def test_optional_counts() -> None:
    """A count that the page does not give is None, never 0."""

    def change(tree: Tree) -> None:
        for key in ("reposts_count", "comments_count", "attitudes_count"):
            del card(tree)["mblog"][key]

    post = page_mode(change).posts[1]
    assert (post.reposts, post.comments, post.likes) == (None, None, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source", {}),
        ("region_name", 7),
        ("title", "置顶"),
        ("visible", []),
        ("edit_count", "2"),
        ("edit_at", "?"),
        ("pic_num", -1),
        ("profile_type_id", []),
        ("mblogtype", {}),
        ("bid", None),
    ],
)
def test_odd_decorations_cost_only_themselves(field: str, value: object) -> None:
    """What only decorates a row does not drift a page."""
    page = page_mode(lambda tree: card(tree)["mblog"].update({field: value}))
    assert [post.mid for post in page.posts] == MIDS
    assert not page.posts[1].is_pinned


MBLOG = "$.data.cards[1].mblog"
FIRST = "$.data.cards[0].card_group[0].mblog"
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["card_type", "mblog", "card_group", "user"]), inner)
    ),
    max_leaves=8,
)


def posts_in(tree: Tree) -> list[Any]:
    """All cards of the page that hold a post."""
    cards = tree["data"]["cards"]
    inner = [one for outer in cards for one in outer.get("card_group") or ()]
    return [one for one in [*inner, *cards] if one.get("mblog")]


def drop(*path: str) -> Callable[[Tree], None]:
    def change(tree: Tree) -> None:
        node = card(tree)
        for key in path[:-1]:
            node = node[key]
        del node[path[-1]]

    return change


def put(value: object, *path: str) -> Callable[[Tree], None]:
    def change(tree: Tree) -> None:
        node = card(tree)
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (drop("mblog", "text"), ".text"),
        (put(7, "mblog", "text"), ".text"),
        (put(None, "mblog", "text"), ".text"),
        (put("x7", "mblog", "mid"), ".mid"),
        (put(4383183659335757.0, "mblog", "mid"), ".mid"),
        (put("0", "mblog", "mid"), ".mid"),
        (put("9" * 25, "mblog", "mid"), ".mid"),
        (put("4383183659335758", "mblog", "mid"), ".id"),
        (put("4383183659335758", "mblog", "id"), ".id"),
        (put("4383183659335758", "mblog", "idstr"), ".idstr"),
        (put(["4383183659335757"], "mblog", "id"), ".id"),
        (drop("mblog", "user"), ".user"),
        (put([], "mblog", "user"), ".user"),
        (put("", "mblog", "user"), ".user"),
        (put("text", "mblog", "user"), ".user.id"),
        (drop("mblog", "user", "id"), ".user.id"),
        (put(float("nan"), "mblog", "user"), ".user.id"),
        (put("text", "mblog"), ".user"),
        (put([7], "mblog"), ".user"),
    ],
)
def test_an_unreadable_post_costs_only_itself(change: Callable[[Tree], None], where: str) -> None:
    """A post of which a required part cannot be read is kept as its JSON; the others are read."""
    page = page_mode(change)
    assert [post.mid for post in page.posts] == [mid for mid in MIDS if mid != MIDS[1]]
    assert (page.foreign, page.next_cursor) == (1, "page=2")
    [kept] = page.unreadable
    assert kept.path == f"$.data.cards[1].mblog{where}"
    changed = tree("posts_page_mode.json")
    change(changed)
    assert repr(json.loads(kept.raw)).replace("0.5", "nan") == repr(card(changed))
    assert kept.mid in (MIDS[1], None)


@pytest.mark.parametrize(
    "said", [None, "", "bald", [], 1794937336, "Thu Jan 01 08:00:00 +0800 1970"]
)
def test_a_date_that_cannot_be_read_is_that_of_the_mid(said: object) -> None:
    """Law 15: a form of dates that nobody knows yet costs no post. The mid holds the second; where
    no bid or address names the same one, nothing tells that it is right."""
    truth = page_mode().posts[1]

    def odd(page: Tree) -> None:
        put(said, "mblog", "created_at")(page)

    def alone(page: Tree) -> None:
        odd(page)
        drop("mblog", "bid")(page)
        put("", "scheme")(page)

    def denied(page: Tree) -> None:
        odd(page)
        put("FFFFFFFFF", "mblog", "bid")(page)

    page = page_mode(odd)
    assert page.unreadable == ()
    assert page.posts[1].created_at_precision == "mid"
    written, is_said = (datetime.fromisoformat(p.created_at) for p in (page.posts[1], truth))
    assert abs(written - is_said) < timedelta(seconds=90)
    [kept] = page_mode(alone).unreadable
    assert kept.path.endswith(".created_at")
    assert len(page_mode(denied).unreadable) == 1


def test_the_json_of_an_unreadable_post_is_kept_as_received() -> None:
    """Byte for byte, as far down as its card in its group."""
    whole = fixture("posts_page_mode.json").decode()
    start = whole.index('"text"')
    body = whole[:start] + '"Text" :\t' + whole[start + len('"text":') :]
    [kept] = record(judge(body)).unreadable
    assert kept.path == "$.data.cards[0].card_group[0].mblog.text"
    assert kept.raw.decode() in body
    assert json.loads(kept.raw)["card_type"] == 9


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (None, "no card"),
        ("text", "no card"),
        ([], "no card"),
        ([{}], "no card"),
        (7, "no card"),
        ({}, "other"),
        ({"card_type": 9, "mblog": None}, "no post"),
        ({"card_type": 9, "mblog": []}, "no post"),
        ({"card_type": "9"}, "no post"),
        ({"card_type": 58}, "end"),
        ({"card_type": [], "scheme": {}, "mblog": None}, "other"),
        ({"card_type": 11, "card_group": {}}, "group"),
        ({"card_type": 11, "card_group": []}, "group"),
        ({"card_type": 11, "card_group": [{"card_type": 10, "user": {"id": 7}}]}, "user"),
        ({"card_type": 11, "card_group": ["x"]}, "no card"),
    ],
)
@pytest.mark.parametrize("place", [0, 4, 9])
def test_a_card_that_is_no_post_is_skipped(odd: object, reason: str, place: int) -> None:
    """It is counted by reason and costs nothing else."""
    before = page_mode()
    page = page_mode(lambda tree: tree["data"]["cards"].insert(place, odd))
    assert page == replace(before, skipped=page.skipped)
    assert page.skipped == dict(Counter(before.skipped) + Counter([reason]))


@pytest.mark.parametrize(
    ("key", "values", "field"),
    [
        ("reposts_count", [-1, "", 3.0, [], {}, "many", 10**12, 10**30, True], "reposts"),
        ("comments_count", [-1, "", 3.0, [], float("nan")], "comments"),
        ("attitudes_count", ["-1", 2.5, float("inf"), None], "likes"),
    ],
)
def test_an_odd_count_is_unknown(key: str, values: list[object], field: str) -> None:
    """It is None, never 0, and costs nothing else. A float is no count, not even 3.0."""
    before = page_mode()
    for value in values:
        page = page_mode(put(value, "mblog", key))
        changed = replace(before.posts[1], **{field: None})
        assert page == replace(before, posts=(before.posts[0], changed, *before.posts[2:])), value


@pytest.mark.parametrize(
    ("odd", "repost_of"),
    [
        ([], None),
        ({}, None),
        ("x", None),
        (7, None),
        ({"mid": "7", "id": "8"}, None),
        ({"mid": "7", "id": "7"}, 7),
    ],
)
def test_an_odd_original_costs_only_itself(odd: object, repost_of: int | None) -> None:
    """The retweet is read; of the original what is legible, at least its id."""
    before = page_mode()
    page = page_mode(put(odd, "mblog", "retweeted_status"))
    assert [post.mid for post in page.posts] == MIDS
    assert page.posts[1] == replace(before.posts[1], repost_of=repost_of, original=None)


def test_an_original_whose_ids_bid_and_date_deny() -> None:
    """Nobody knows which post was passed on. Without its date, or with its bid alone against them,
    the ids are believed."""
    other = {"id": "4183183659335757", "mid": "4183183659335757"}

    def changed(**fields: object) -> Id | None:
        return (
            page_mode(lambda tree: card(tree)["mblog"]["retweeted_status"].update(fields))
            .posts[1]
            .repost_of
        )

    assert changed(**other) is None
    assert changed(**other, created_at=None) == int(other["mid"])
    assert changed(bid="Kabc") == changed()


def test_an_original_without_its_author_keeps_its_text() -> None:
    """Who wrote it is unknown; that is no sign that it was deleted."""
    before = page_mode().posts[1].original
    assert before is not None
    page = page_mode(drop("mblog", "retweeted_status", "user"))
    assert page.posts[1].original == replace(before, uid=None, screen_name=None)
    assert page.authors == ()


@pytest.mark.parametrize(
    ("info", "skipped"),
    [
        ([], 0),
        ("x", 0),
        ({"since_id": "9" * 400}, 1),
        ({"since_id": int("9" * 400)}, 1),
        ({"since_id": "1" * 30}, 1),
        ({"since_id": int("1" * 30)}, 1),
        ({"page": int("1" * 30)}, 1),
        ({"since_id": "1&containerid=2#@x"}, 1),
        ({"since_id": "1\r\nX: 1"}, 1),
        ({"since_id": "名"}, 1),
        ({"since_id": "x" * 65}, 1),
        ({"since_id": [7]}, 1),
        ({"since_id": 7.5}, 1),
        ({"since_id": -7}, 1),
        ({"page": "next"}, 1),
        ({"page": -1}, 1),
        ({"page": {"n": 2}}, 1),
    ],
)
def test_an_odd_cursor_names_no_page(info: object, skipped: int) -> None:
    """No next page is told; where something stands in its place, that is counted, as the timeline
    is not known to be over."""

    def change(tree: Tree) -> None:
        tree["data"]["cardlistInfo"] = info

    page = page_mode(change)
    assert (page.next_cursor, page.skipped.get("odd cursor", 0)) == (None, skipped)
    assert [post.mid for post in page.posts] == MIDS


@pytest.mark.parametrize("token", ["4646131823281332_-_x", "A1", "a=b/c+d|e.f:g%20-_", 2**63 + 7])
def test_a_cursor_may_be_a_short_token(token: object) -> None:
    """Numbers of 64 bits, and short words of harmless letters."""

    def change(tree: Tree) -> None:
        tree["data"]["cardlistInfo"] = {"since_id": token}

    assert page_mode(change).next_cursor == f"since_id={token}"


@pytest.mark.parametrize("cards", [[], None, [{"card_type": 9, "mblog": None}], [{"card_type": 6}]])
@pytest.mark.parametrize("info", [{"page": 3}, {"since_id": "77"}])
def test_a_page_without_posts_that_names_the_next_goes_on(cards: object, info: Tree) -> None:
    """The site says itself that there is more, so it is no end."""
    body = json.dumps({"ok": 1, "data": {"cards": cards, "cardlistInfo": info}})
    reading = judge(body, SITE.posts(OWNER, "page=2"))
    page = record(reading)
    [(name, value)] = info.items()
    assert (page.posts, page.next_cursor) == ((), f"{name}={value}")
    assert reading.ambiguous


def test_a_last_page_of_cards_that_are_none() -> None:
    """It is a page without posts, to be asked for again, and names no next one."""
    reading = judge('{"ok":1,"data":{"cards":[{"card_type":9,"mblog":null},{"card_type":6}]}}')
    assert (record(reading).posts, record(reading).next_cursor) == ((), None)
    assert reading.ambiguous
    assert record(reading).skipped == {"no post": 1, "more": 1}


@pytest.mark.parametrize(
    ("change", "decoration"),
    [
        (put("Kabc", "mblog", "bid"), "bid"),
        (put([], "mblog", "bid"), "bid"),
        (put("https://m.weibo.cn/status/HyTZbDaEK", "scheme"), "scheme"),
    ],
)
def test_one_dissenting_decoration_is_not_believed(
    change: Callable[[Tree], None], decoration: str
) -> None:
    """The ids agree among themselves and with the date: the odd one costs only itself."""
    assert page_mode(change) == page_mode()


def test_ids_that_bid_and_address_and_date_deny() -> None:
    """With one id left and three voices against it, nobody knows which post it is."""

    def change(tree: Tree) -> None:
        status = card(tree)["mblog"]
        del status["id"]
        status["mid"] = "4283183659335757"

    [kept] = page_mode(change).unreadable
    assert kept.path == f"{MBLOG}.bid"


def test_copies_of_an_id_are_one_witness() -> None:
    """mid, id and idstr changed together do not outvote address and date."""

    def change(tree: Tree) -> None:
        status = card(tree)["mblog"]
        card(tree)["scheme"] = f"https://m.weibo.cn/status/{bid_of(int(status['mid']))}"
        status.pop("bid", None)
        status.update(dict.fromkeys(("mid", "id", "idstr"), "4283183659335757"))

    [kept] = page_mode(change).unreadable
    assert kept.path == f"{MBLOG}.bid"


def test_an_author_whose_address_is_the_owners() -> None:
    """Of two names of the author one is the owner's: nobody knows whose post it is."""

    def change(tree: Tree) -> None:
        author = card(tree)["mblog"]["user"]
        author["profile_url"] = f"https://m.weibo.cn/u/{author['id']}?uid={author['id']}"
        author["id"] += 1

    [kept] = page_mode(change).unreadable
    assert kept.path == f"{MBLOG}.user.id"


@pytest.mark.parametrize("where", ["cards", "card_group"])
def test_a_list_that_is_written_as_an_object(where: str) -> None:
    """PHP writes a list without its first item as an object; unreadable posts keep their JSON."""
    before = page_mode(put(None, "mblog", "text"))

    def change(tree: Tree) -> None:
        card(tree)["mblog"]["text"] = None
        node = tree["data"] if where == "cards" else card(tree, 0)
        node[where] = {str(i + 1): one for i, one in enumerate(node[where])}

    page = page_mode(change)
    assert [post.mid for post in page.posts] == [post.mid for post in before.posts]
    assert [kept.raw for kept in page.unreadable] == [kept.raw for kept in before.unreadable]


def test_bid_and_address_that_name_the_same_other_post() -> None:
    """The bid stands there twice, and the id twice: nobody knows which post it is, even where the
    other one is of the same day."""

    def change(tree: Tree) -> None:
        status = card(tree)["mblog"]
        status["mid"] = status["id"] = str(int(status["mid"]) + 1)

    [kept] = page_mode(change).unreadable
    assert kept.path == f"{MBLOG}.bid"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda tree: tree["data"].pop("cards"), "$.data.cards"),
        (lambda tree: tree["data"].update(cards={}), "$.data.cards"),
        (lambda tree: tree["data"].update(cards="x"), "$.data.cards"),
        (lambda tree: tree.pop("data"), "$.data"),
        (lambda tree: tree.update(data=[]), "$.data"),
        (lambda tree: tree.update(data="x"), "$.data.cards"),
        (lambda tree: tree.pop("ok"), "$.ok"),
        (lambda tree: tree.update(ok=2), "$.ok"),
        (lambda tree: tree["data"].update(cards=[{"card_type": 9}]), "$.data.cards[0].mblog"),
        (lambda tree: tree["data"].update(cards=["x", 7], cardlistInfo={}), "$.data.cards[0]"),
        (lambda tree: [one["mblog"].pop("text") for one in posts_in(tree)], f"{FIRST}.text"),
        (lambda tree: [one.update(mblog_=one.pop("mblog")) for one in posts_in(tree)], FIRST),
        (lambda tree: [one["mblog"].pop("text") for one in posts_in(tree)[:5]], f"{FIRST}.text"),
    ],
)
def test_drift_names_the_path(change: Callable[[Tree], None], why: str) -> None:
    """A page whose cards cannot be found, or most of whose posts cannot be read, is DRIFTED, and
    the path to what changed is named."""
    reading = read("posts_page_mode.json", change)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, why)


@given(st.integers(0, 7), ODD)
def test_whatever_stands_in_the_place_of_a_card(place: int, odd: object) -> None:
    """The posts of all other cards are read as they are."""
    page = page_mode(lambda tree: tree["data"]["cards"].__setitem__(place, odd))
    lost = page_mode(lambda tree: tree["data"]["cards"].pop(place))
    mine = {post.mid: post for post in page.posts}
    assert {mid: mine.get(mid) for mid in [p.mid for p in lost.posts]} == {
        post.mid: post for post in lost.posts
    }
    assert page.next_cursor == lost.next_cursor


def test_the_id_stands_in_for_the_mid() -> None:
    """id and mid of a post are the same number."""
    assert page_mode(drop("mblog", "mid")) == page_mode()


def test_a_page_of_others_only_is_a_page() -> None:
    """A page of liked posts alone is OK, so that paging goes on, but is to be asked for again: it
    may be another user's."""

    def change(tree: Tree) -> None:
        tree["data"]["cards"] = [card(tree, 4)]

    page = page_mode(change)
    assert (page.posts, page.foreign, page.next_cursor) == ((), 1, "page=2")
    assert read("posts_page_mode.json", change).ambiguous
    assert not read("posts_page_mode.json").ambiguous


@pytest.mark.parametrize(
    "named", ["1076032900000023", "2304132900000023_-_WEIBO_SECOND_PROFILE_WEIBO"]
)
@pytest.mark.parametrize("shown", ["posts", "an end", "nothing"])
def test_a_page_that_names_another_owner_is_of_an_unknown_shape(named: str, shown: str) -> None:
    """As a list of another owner is: it tells nothing of the one who was asked for, nor does it say
    that this timeline has ended or how it goes on."""

    def change(tree: Tree) -> None:
        cards = {"posts": [card(tree, 4)] * 3, "an end": [END_CARD], "nothing": []}
        tree["data"]["cards"] = cards[shown]
        tree["data"]["cardlistInfo"] = {"containerid": named}

    reading = read("posts_page_mode.json", change)
    where = "$.data.cardlistInfo.containerid"
    assert (reading.verdict, reading.why, reading.record) == (Verdict.DRIFTED, where, None)


@pytest.mark.parametrize(
    "named", [None, 7, "", "x", "107603", f"107603{OWNER}", f"230413{OWNER}_-_X"]
)
def test_a_page_that_names_its_owner_or_nobody_is_theirs(named: object) -> None:
    """What cannot be read names nobody."""
    page = page_mode(lambda tree: tree["data"]["cardlistInfo"].update(containerid=named))
    assert page == page_mode()


def test_posts_of_the_owner_are_read_whoever_the_page_names() -> None:
    """An odd part costs only itself."""
    named = {"containerid": "1076032900000023"}
    assert page_mode(lambda tree: tree["data"]["cardlistInfo"].update(named)) == page_mode()


def test_posts_are_plain_records() -> None:
    """Nothing of the wire is left in a record."""
    assert all(type(post) is Post for post in page_mode().posts)


# -- the owner, as the posts show them

_FIELDS = {
    "screen_name": "screen_name",
    "statuses_count": "posts",
    "followers_count": "fans",
    "follow_count": "follows",
    "description": "description",
    "gender": "gender",
    "verified": "verified",
    "verified_type": "verified_type",
    "urank": "rank",
}


def test_the_posts_show_the_profile_of_their_owner() -> None:
    """All that the profile answer would be read for, by the same reader."""
    user = card(tree("posts_since_id.json"), 0)["mblog"]["user"]
    answer = {"ok": 1, "data": {"userInfo": user}}
    by_profile = judge(json.dumps(answer), SITE.profile(OWNER)).record
    assert since_id().profile == by_profile
    assert by_profile.is_told


@pytest.mark.parametrize("name", _FIELDS)
def test_what_lacks_in_one_post_is_read_from_another(name: str) -> None:
    """An odd part of one post's owner costs nothing; a part that no post shows is None, and told as
    lacking. Posts of others tell nothing."""

    def odd(value: Tree) -> None:
        card(value, 0)["mblog"]["user"][name] = []

    def lacking(value: Tree) -> None:
        for one in value["data"]["cards"]:
            if "mblog" in one and one["mblog"]["user"]["id"] == OWNER:
                one["mblog"]["user"].pop(name)

    whole, found = since_id().profile, since_id(lacking).profile
    assert since_id(odd).profile == whole
    assert found == replace(whole, **{_FIELDS[name]: None})
    assert not found.is_told


def test_no_post_need_show_all_of_their_owner() -> None:
    """What one of them lacks and what the others lack is read all the same."""

    def lacking(value: Tree) -> None:
        users = [one["mblog"]["user"] for one in value["data"]["cards"] if "mblog" in one]
        shown = [user for user in users if user["id"] == OWNER]
        shown[0].pop("followers_count")
        for user in shown[1:]:
            user.pop("description")

    assert since_id(lacking).profile == since_id().profile


@pytest.mark.parametrize(
    ("odd", "of", "is_it"),
    [(1, 1, False), (2, 2, False), (3, 3, True), (3, 6, False), (4, 7, True), (5, 10, False)],
)
def test_what_a_page_has_changed_its_shape_by(odd: int, of: int, is_it: bool) -> None:
    """Most of its items, not half of them, and more than may be odd on a short page."""
    assert is_drift(odd, of) is is_it


def test_a_drifted_page_tells_what_could_be_read_of_it() -> None:
    """Most of its posts cannot be read, which is an unknown shape; those that can are there."""
    whole = page_mode()
    reading = read(
        "posts_page_mode.json",
        lambda tree: [one["mblog"].pop("text") for one in posts_in(tree)[:5]],
    )
    assert reading.verdict is Verdict.DRIFTED
    part = reading.record
    assert isinstance(part, PostPage)
    assert part.posts
    lost_mids = {one.mid for one in part.unreadable}
    assert part.posts == tuple(post for post in whole.posts if post.mid not in lost_mids)
    assert lost_mids < {post.mid for post in whole.posts}
    assert part.next_cursor == whole.next_cursor


def test_a_drifted_page_of_which_nothing_could_be_read_tells_nothing() -> None:
    """There is no record then."""
    reading = read(
        "posts_page_mode.json", lambda tree: [one["mblog"].pop("text") for one in posts_in(tree)]
    )
    assert (reading.verdict, reading.record) == (Verdict.DRIFTED, None)

"""Pages of posts."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.sites.weibo.helpers import LONG_MID, OWNER, SITE, judge, read, record
from weibo_crawler.records import Post, PostPage, Verdict

Tree = Any
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
        ("2019-06-15T11:55:00+08:00", "minute"),
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


@pytest.mark.parametrize("sign", [{"deleted": "1"}, {"state": 7}, {"state": 8}, {"user": None}])
def test_signs_of_a_hidden_original(sign: dict[str, object]) -> None:
    """Each sign alone says that only a notice is left, even without a date or a text."""

    def change(tree: Tree) -> None:
        status = card(tree)["mblog"]["retweeted_status"]
        status.update(sign, text=None, created_at="?")

    original = page_mode(change).posts[1].original
    assert original is not None
    assert not original.available
    assert (original.text, original.created_at) == ("", None)


@pytest.mark.parametrize("sign", [{"deleted": "1"}, {"state": 7}, {"user": None}])
def test_own_posts_that_are_hidden_are_skipped(sign: dict[str, object]) -> None:
    """A notice in place of a post is counted as foreign, not stored as its text."""
    page = page_mode(lambda tree: card(tree)["mblog"].update(sign))
    assert MIDS[1] not in [post.mid for post in page.posts]
    assert page.foreign == 2


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
    reading = read("posts_since_id.json", request=SITE.posts_second(OWNER, ""))
    assert record(reading) == since_id()


@pytest.mark.parametrize("card_type", [58, "58"])
def test_the_card_that_ends(card_type: object) -> None:
    """In since_id mode a first card of type 58 is the end, whatever follows."""

    def change(tree: Tree) -> None:
        tree["data"]["cards"].insert(0, {"card_type": card_type})

    deep = read("posts_page_mode.json", change, SITE.posts(OWNER, "since_id=5"))
    assert (deep.verdict, deep.ambiguous) == (Verdict.END, False)
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
    ("change", "why"),
    [
        (drop("mblog"), "$.data.cards[1].mblog"),
        (drop("mblog", "text"), f"{MBLOG}.text"),
        (put(7, "mblog", "text"), f"{MBLOG}.text"),
        (drop("mblog", "created_at"), f"{MBLOG}.created_at"),
        (put("bald", "mblog", "created_at"), f"{MBLOG}.created_at"),
        (put("x7", "mblog", "mid"), f"{MBLOG}.mid"),
        (drop("mblog", "user"), f"{MBLOG}.user"),
        (drop("mblog", "user", "id"), f"{MBLOG}.user.id"),
        (put(-1, "mblog", "reposts_count"), f"{MBLOG}.reposts_count"),
        (put("many", "mblog", "attitudes_count"), f"{MBLOG}.attitudes_count"),
        (put([], "mblog", "comments_count"), f"{MBLOG}.comments_count"),
        (drop("mblog", "retweeted_status", "text"), f"{MBLOG}.retweeted_status.text"),
        (drop("mblog", "retweeted_status", "user"), f"{MBLOG}.retweeted_status.user"),
        (put({}, "mblog", "retweeted_status"), f"{MBLOG}.retweeted_status.mid"),
        (lambda tree: tree["data"].pop("cards"), "$.data.cards"),
        (lambda tree: tree["data"].update(cards={}), "$.data.cards"),
        (lambda tree: tree.pop("data"), "$.data"),
        (lambda tree: tree.pop("ok"), "$.ok"),
        (lambda tree: tree.update(ok=2), "$.ok"),
        (lambda tree: tree["data"].update(cards=[{"card_type": 4}]), "$.data.cards"),
        (
            lambda tree: tree["data"]["cardlistInfo"].update(page="next"),
            "$.data.cardlistInfo.page",
        ),
        (
            lambda tree: card(tree, 0)["card_group"][0]["mblog"].pop("text"),
            "$.data.cards[0].card_group[0].mblog.text",
        ),
    ],
)
def test_drift_names_the_path(change: Callable[[Tree], None], why: str) -> None:
    """A page that lost its shape is DRIFTED, and the path to what changed is named."""
    reading = read("posts_page_mode.json", change)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, why)


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


def test_posts_are_plain_records() -> None:
    """Nothing of the wire is left in a record."""
    assert all(type(post) is Post for post in page_mode().posts)

"""Fans and follows pages, profiles and comments."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from tests.sites.weibo.helpers import LONG_MID, OWNER, SITE, judge, read, record
from weibo_crawler.records import Echo, EchoPage, Edge, FanPage, Kind, Request, User, Verdict
from weibo_crawler.sites.weibo.dates import second_of
from weibo_crawler.sites.weibo.drift import Drift
from weibo_crawler.sites.weibo.ids import uid_of
from weibo_crawler.sites.weibo.wire import Face

Tree = Any
FANS = [4900000001, 4900000002, 4900000001, 4900000003, 4900000004]
FIRST = SITE.edge(Edge.FANS, OWNER, "")
SECOND = SITE.edge(Edge.FANS, OWNER, "2")


def fans(change: Any = None, request: Request = FIRST) -> FanPage:
    found = record(read("fans_first_page.json", change, request))
    assert isinstance(found, FanPage)
    return found


def cards(tree: Tree) -> Any:
    return tree["data"]["cards"]


def test_the_list_among_the_blocks() -> None:
    """The block with the owner's itemid is the list; repeats stay, recommendations are counted."""
    page = fans()
    assert [user.uid for user in page.users] == FANS
    assert [user.fans for user in page.users] == [6905, 1_455_000, 6905, 8, 143]
    assert (page.owner, page.skipped, page.recommended) == (OWNER, {"no user": 1}, 2)
    assert page.next_cursor == "2"


def unname(tree: Tree) -> None:
    for card in cards(tree):
        del card["itemid"]


def untitle(tree: Tree) -> None:
    unname(tree)
    for card in cards(tree):
        del card["title"]


def alone(tree: Tree) -> None:
    untitle(tree)
    del cards(tree)[0]


def alone_with_another_name(tree: Tree) -> None:
    alone(tree)
    cards(tree)[0]["itemid"] = "SOMETHING_ELSE"


def flat(tree: Tree) -> None:
    tree["data"]["cards"] = cards(tree)[1]["card_group"]


def recommendations_alone(tree: Tree) -> None:
    del cards(tree)[1]


@pytest.mark.parametrize(
    ("change", "request_", "is_list"),
    [
        (unname, FIRST, True),
        (untitle, FIRST, None),
        (untitle, SECOND, None),
        (alone, FIRST, True),
        (alone, SECOND, True),
        (alone_with_another_name, FIRST, None),
        (alone_with_another_name, SECOND, True),
        (flat, FIRST, True),
        (flat, SECOND, True),
        (recommendations_alone, FIRST, False),
        (recommendations_alone, SECOND, False),
    ],
)
def test_which_block_is_the_list(
    change: Callable[[Tree], None], request_: Request, is_list: bool | None
) -> None:
    """By itemid, else by title, else by being the only one; recommendations never are the list.
    Beside people who may be the list, and are called otherwise, there is no word that nobody is
    on it: the site may have renamed it."""
    reading = read("fans_first_page.json", change, request_)
    if is_list:
        assert [user.uid for user in record(reading).users] == FANS
    elif is_list is None:
        assert reading.verdict is Verdict.DRIFTED
    else:
        nothing = Verdict.EMPTY if request_ is FIRST else Verdict.END
        assert (reading.verdict, reading.ambiguous) == (nothing, True)


@pytest.mark.parametrize("cursor", ["", "2"])
@pytest.mark.parametrize(
    ("name", "edge", "change", "part"),
    [
        ("fans_first_page.json", Edge.FOLLOWS, lambda _: None, "itemid"),
        ("fans_first_page.json", Edge.FOLLOWS, unname, "title"),
        ("follows_page.json", Edge.FANS, lambda _: None, "itemid"),
    ],
)
def test_the_list_of_another_edge_is_no_evidence(
    name: str, edge: Edge, change: Callable[[Tree], None], part: str, cursor: str
) -> None:
    """Fans in the place of follows are neither the follows nor a word that there are none: a proxy
    may have brought another page of this user."""
    reading = read(name, change, SITE.edge(edge, OWNER, cursor))
    assert reading.verdict is Verdict.DRIFTED
    assert reading.why.endswith(f"].{part}")


_RECOMMENDED = {"card_type": 10, "user": {"id": 45, "screen_name": "a", "followers_count": 9}}
_POST = {"card_type": 9, "mblog": {"id": "4646131823281332", "user": {"id": OWNER}}}


@pytest.mark.parametrize("cursor", ["", "2"])
@pytest.mark.parametrize(
    "shown",
    [
        [{"card_type": 11, "card_group": [_POST]}, _POST],
        [_POST, {"card_type": 11, "card_group": [_RECOMMENDED]}],
        [{"card_type": 11, "card_group": [_POST, _RECOMMENDED]}],
        [{"card_type": 11, "card_group": [{"card_type": 47, "pics": []}]}],
        [{"card_type": 11, "card_group": [{"card_type": 8}]}, {"card_type": 11, "card_group": []}],
    ],
    ids=["posts in a group", "posts and people", "posts among people", "pictures", "albums"],
)
def test_a_page_of_something_else_is_no_empty_list(shown: list[Tree], cursor: str) -> None:
    """Posts or pictures of the owner in the place of the list say nothing of it: EMPTY is a page
    without the list that is known as one, with recommendations or nothing at all."""
    request = SITE.edge(Edge.FANS, OWNER, cursor)
    reading = read("fans_first_page.json", lambda tree: tree["data"].update(cards=shown), request)
    assert (reading.verdict, reading.record) == (Verdict.DRIFTED, None)


_ADVERTISEMENT = {"card_type": 9, "mblog": None}


@pytest.mark.parametrize("cursor", ["", "2"])
@pytest.mark.parametrize("shown", [[_ADVERTISEMENT], [_ADVERTISEMENT, {"card_type": 6}]])
def test_a_page_of_advertisements_that_names_the_next_one(shown: list[Tree], cursor: str) -> None:
    """Cards that are of nobody are counted and the list goes on where the page says so; posts in
    their place are another page."""
    request = SITE.edge(Edge.FANS, OWNER, cursor)

    def change(tree: Tree) -> None:
        tree["data"].update(cards=shown, cardlistInfo={"since_id": 3})

    page = record(read("fans_first_page.json", change, request))
    assert (page.users, page.next_cursor, page.is_next_named) == ((), "3", True)
    assert page.skipped == {"no item": len(shown)}
    shown = [*shown, _POST]
    assert read("fans_first_page.json", change, request).verdict is Verdict.DRIFTED


@pytest.mark.parametrize("odd", [None, {}, "x", [], _ADVERTISEMENT, {"card_type": 6}])
def test_an_odd_card_among_flat_users_is_counted(odd: object) -> None:
    """As in a block: a later page may show its users without one."""

    def change(tree: Tree) -> None:
        users = cards(tree)[1]["card_group"]
        tree["data"]["cards"] = [*users, odd]

    page = record(read("fans_first_page.json", change, SITE.edge(Edge.FANS, OWNER, "2")))
    assert [user.uid for user in page.users] == [user.uid for user in fans().users]
    assert page.skipped["no item"] == fans().skipped.get("no item", 0) + 1


def test_a_post_beside_the_list_is_an_advertisement() -> None:
    """What stands beside a list that is found does not matter."""
    assert fans(lambda tree: cards(tree).insert(0, _POST)).users == fans().users


@pytest.mark.parametrize(
    ("edge", "cursor", "following"),
    [
        (Edge.FANS, "", "2"),
        (Edge.FANS, "249", "250"),
        (Edge.FANS, "250", None),
        (Edge.FOLLOWS, "2", "3"),
        (Edge.FOLLOWS, "9", "10"),
        (Edge.FOLLOWS, "10", None),
    ],
)
def test_the_next_page_of_a_list(edge: Edge, cursor: str, following: str | None) -> None:
    """The next number while the page lists users, up to the last page the site shows."""
    name = "fans_first_page.json" if edge is Edge.FANS else "follows_page.json"
    page = record(read(name, None, SITE.edge(edge, OWNER, cursor)))
    assert page.next_cursor == following


def test_a_page_whose_users_are_all_missing() -> None:
    """Null users are counted, and the list goes on."""

    def change(tree: Tree) -> None:
        for item in cards(tree)[1]["card_group"]:
            item["user"] = None

    page = fans(change)
    assert (page.users, page.skipped, page.next_cursor) == ((), {"no user": 6}, "2")


@pytest.mark.parametrize("info", [{"since_id": 3}, {"page": "3"}])
@pytest.mark.parametrize("empty", [[], None])
def test_a_page_without_cards_that_names_the_next_one(info: object, empty: object) -> None:
    """It is no end, and as it shows nobody it needs a second witness."""

    def change(tree: Tree) -> None:
        tree["data"].update(cards=empty, cardlistInfo=info)

    reading = read("fans_first_page.json", change, SITE.edge(Edge.FANS, OWNER, "2"))
    assert (reading.verdict, reading.ambiguous) == (Verdict.OK, True)
    assert (reading.record.users, reading.record.next_cursor) == ((), "3")


@pytest.mark.parametrize(
    ("is_listed", "info", "verdict"),
    [
        (True, {"since_id": 3}, Verdict.OK),
        (True, {}, Verdict.EMPTY),
        (False, {"since_id": 3}, Verdict.EMPTY),
    ],
)
def test_an_empty_list(is_listed: bool, info: object, verdict: Verdict) -> None:
    """A list without items is the no-content answer, and so are recommendations alone, as an
    account without fans shows them; its own block beside the next page is no end."""

    def change(tree: Tree) -> None:
        if is_listed:
            cards(tree)[1].update(card_group=[])
        else:
            del cards(tree)[1]
        tree["data"].update(cardlistInfo=info)

    reading = read("fans_first_page.json", change)
    assert (reading.verdict, reading.ambiguous) == (verdict, True)


@pytest.mark.parametrize("cursor", ["", "3"])
def test_a_page_without_cards(cursor: str) -> None:
    """No cards: the end of the list, or throttling."""
    reading = judge('{"ok":1,"data":{"cards":[]}}', SITE.edge(Edge.FANS, OWNER, cursor))
    assert reading.verdict is (Verdict.END if cursor else Verdict.EMPTY)
    assert reading.ambiguous


def item(tree: Tree, n: int = 0) -> Any:
    return cards(tree)[1]["card_group"][n]


ITEM = "$.data.cards[1].card_group[0]"


def every(change: Callable[[Any], object]) -> Callable[[Tree], None]:
    """The change of one item, done to all that have a user."""

    def change_all(tree: Tree) -> None:
        for one in cards(tree)[1]["card_group"]:
            if one["user"]:
                change(one)

    return change_all


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (every(lambda one: one.pop("user")), f"{ITEM}.user"),
        (every(lambda one: one.update(user=7)), f"{ITEM}.user.id"),
        (every(lambda one: one.update(user=[])), f"{ITEM}.user"),
        (every(lambda one: one["user"].pop("id")), f"{ITEM}.user.id"),
        (lambda tree: cards(tree)[1].pop("card_group"), "$.data.cards[1].card_group"),
        (
            lambda tree: cards(tree)[1].update(card_group=[{"card_type": 3}, 7, None]),
            "$.data.cards[1].card_group",
        ),
        (lambda tree: cards(tree)[1].update(card_group={}), "$.data.cards[1].card_group"),
        (lambda tree: tree["data"].update(cards=[{"card_type": 3}]), "$.data.cards"),
        (lambda tree: tree["data"].update(cards=["x", None]), "$.data.cards[0]"),
        (lambda tree: cards(tree).__setitem__(1, "x"), "$.data.cards[1]"),
        (lambda tree: cards(tree).__setitem__(1, {}), "$.data.cards[1]"),
        (lambda tree: cards(tree).__setitem__(1, {"x": 7}), "$.data.cards[1]"),
        (lambda tree: tree["data"].pop("cards"), "$.data.cards"),
        (lambda tree: tree.pop("data"), "$.data"),
        (lambda tree: tree.pop("ok"), "$.ok"),
    ],
)
def test_drift_of_a_list(change: Callable[[Tree], None], why: str) -> None:
    """A list that cannot be found, or of which most users cannot be read, is DRIFTED."""

    def change_last(tree: Tree) -> None:
        tree["data"].pop("cardlistInfo", None)
        change(tree)

    reading = read("fans_first_page.json", change_last)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, why)


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (None, "no item"),
        ({}, "no item"),
        ("text", "no item"),
        ([], "no item"),
        (7, "no item"),
        ({"card_type": 3}, "no item"),
        ({"card_type": 10, "user": None}, "no user"),
        ({"card_type": 10}, "odd user"),
        ({"card_type": 10, "user": []}, "odd user"),
        ({"card_type": 10, "user": "text"}, "no id"),
        ({"card_type": 10, "user": {}}, "no id"),
        ({"card_type": 10, "user": {"id": "x", "followers_count": 9}}, "no id"),
        ({"card_type": 10, "user": {"id": 4.0, "followers_count": 9}}, "no id"),
        ({"card_type": 10, "user": {"id": 45, "profile_url": "https://m.weibo.cn/u/4"}}, "no id"),
        ({"card_type": 10, "user": {"id": 4, "profile_url": "/u/45?uid=45"}}, "no id"),
        ({"card_type": 10, "user": {"id": 4, "profile_url": "u/45"}}, "no id"),
        ({"card_type": 10, "scheme": "https://m.weibo.cn/u/45?uid=45", "user": {"id": 4}}, "no id"),
    ],
)
@pytest.mark.parametrize("place", [0, 3, 5])
def test_an_odd_item_costs_only_itself(odd: object, reason: str, place: int) -> None:
    """It is left out and counted by reason; the others are read as they are."""
    kept = {user.uid: user for user in fans().users}

    def change(tree: Tree) -> None:
        cards(tree)[1]["card_group"][place] = odd

    page = fans(change)
    assert page.skipped[reason] >= 1
    assert sum(page.skipped.values()) + len(page.users) == 6
    assert all(kept[user.uid] == user for user in page.users)


def test_a_page_of_items_that_are_none_goes_on_where_it_names_the_next() -> None:
    """Nothing on it is of a user, yet the list is not over."""

    def change(tree: Tree) -> None:
        tree["data"]["cardlistInfo"] = {"since_id": "3"}
        cards(tree)[1]["card_group"] = [{"card_type": 3}, "x"]

    page = fans(change, SECOND)
    assert (page.users, page.skipped, page.next_cursor) == ((), {"no item": 2}, "3")
    assert page.is_next_named


@pytest.mark.parametrize("shown", [[None], [{}], ["x"], [_ADVERTISEMENT, None]])
def test_a_page_of_cards_that_are_none_goes_on_where_it_names_the_next(shown: list[Tree]) -> None:
    """The same one level up; where it names no next page it may have held the list."""

    def change(tree: Tree, following: object = 3) -> None:
        tree["data"].update(cards=shown, cardlistInfo={"since_id": following})

    page = fans(change, SECOND)
    assert (page.users, page.skipped, page.next_cursor) == ((), {"no item": len(shown)}, "3")
    last = read("fans_first_page.json", lambda tree: change(tree, None), SECOND)
    assert last.verdict is Verdict.DRIFTED


@pytest.mark.parametrize("group", [{}, None, "x"])
def test_a_block_without_items_goes_on_where_the_page_names_the_next(group: object) -> None:
    """Its users are not known; the pages behind it are."""

    def change(tree: Tree, following: object = 3) -> None:
        cards(tree)[1]["card_group"] = group
        tree["data"]["cardlistInfo"] = {"since_id": following}

    page = fans(change, SECOND)
    assert (page.users, page.next_cursor) == ((), "3")
    assert page.skipped["no item"] >= 1
    last = read("fans_first_page.json", lambda tree: change(tree, None), SECOND)
    assert last.verdict is Verdict.DRIFTED


@pytest.mark.parametrize("odd", [None, {}, "x", []])
def test_a_last_page_of_one_odd_item_is_the_end(odd: object) -> None:
    """One item may be odd; a block of other cards in its place is not the list."""

    def change(tree: Tree, items: object = None) -> None:
        tree["data"].pop("cardlistInfo", None)
        cards(tree)[1]["card_group"] = items or [odd]

    page = fans(change, SECOND)
    assert (page.users, page.skipped["no item"]) == ((), 1)
    others = read("fans_first_page.json", lambda tree: change(tree, [{"card_type": 3}]), SECOND)
    assert others.verdict is Verdict.DRIFTED


def test_who_can_be_read_among_many_odd_ones_is_known() -> None:
    """Law 15: a list of which most users cannot be read has another shape, and is DRIFTED; the
    others are on it all the same, and its next page follows."""

    def change(tree: Tree) -> None:
        users = cards(tree)[1]["card_group"]
        cards(tree)[1]["card_group"] = users[:2] + [{"card_type": 10, "user": {}}] * 3

    reading = read("fans_first_page.json", change)
    page, why = reading.record, "$.data.cards[1].card_group[2].user.id"
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, why)
    assert isinstance(page, FanPage)
    assert page.users == fans().users[:2]
    assert (page.skipped["no id"], page.next_cursor) == (3, "2")


@pytest.mark.parametrize("item", [{}, {"user": {}}, {"user": None}, {"user": "x"}])
def test_a_short_page_of_odd_items_goes_on(item: Tree) -> None:
    """One or two odd items make no new shape: they are counted, and the list goes on."""

    def change(tree: Tree) -> None:
        tree["data"]["cardlistInfo"] = {"since_id": "5"}
        cards(tree)[1]["card_group"] = [{"card_type": 10, **item}] * 2

    page = fans(change, SECOND)
    assert (page.users, sum(page.skipped.values()), page.next_cursor) == ((), 2, "5")


@pytest.mark.parametrize(("number", "cursor"), [(5, "5"), ("7", "7"), (251, "3"), (10**15, "3")])
def test_a_named_page_number_is_followed(number: object, cursor: str) -> None:
    """A list may leave out page numbers; a number that no list has is none."""
    page = fans(lambda tree: tree["data"].update(cardlistInfo={"since_id": number}), SECOND)
    assert page.next_cursor == cursor


@pytest.mark.parametrize(
    ("info", "is_named"),
    [
        ({"since_id": 3}, True),
        ({"since_id": "3"}, True),
        ({"page": 3}, True),
        ({"since_id": 2}, False),
        ({"since_id": 0, "page": None}, False),
        ({"since_id": "9" * 400}, False),
        ({}, False),
        ([], False),
        (None, False),
    ],
)
def test_whether_the_next_page_is_named(info: object, is_named: bool) -> None:
    """Only a later page than this one is a next one; without it the next page is our guess."""
    page = fans(lambda tree: tree["data"].update(cardlistInfo=info), SECOND)
    assert (page.is_next_named, page.next_cursor) == (is_named, "3")


def test_no_cards_beside_a_next_page_are_no_end() -> None:
    """The site names a later page: this one shows nobody, and the list may go on."""
    body = '{"ok":1,"data":{"cards":[],"cardlistInfo":{"since_id":3}}}'
    page = record(judge(body, SECOND))
    assert (page.users, page.next_cursor, page.is_next_named) == ((), "3", True)


@pytest.mark.parametrize("token", ["abc", "9" * 400, [7], 7.5, "x y"])
def test_no_cards_beside_an_illegible_next_page_are_no_end(token: object) -> None:
    """The site says that there is more: the list goes on with the next number, as behind cards."""
    body = json.dumps({"ok": 1, "data": {"cards": [], "cardlistInfo": {"since_id": token}}})
    page = record(judge(body, SECOND))
    assert (page.users, page.next_cursor, page.is_next_named) == ((), "3", False)
    assert page.skipped == {"odd cursor": 1}


@pytest.mark.parametrize("name", [None, "", 7, [], "长" * 61, "灯\ufffd塔"])
def test_a_user_without_a_legible_name_is_kept(name: object) -> None:
    """The name alone is unknown."""
    page = fans(lambda tree: item(tree)["user"].update(screen_name=name))
    assert (page.users[0].uid, page.users[0].screen_name, page.users[0].fans) == (
        FANS[0],
        None,
        6905,
    )
    assert [user.uid for user in page.users] == FANS


@pytest.mark.parametrize("count", [20.0, [], "", -1, "lots", True, 3 * 10**9])
def test_whose_fans_are_illegible_is_uncounted(count: object) -> None:
    """It costs neither the user nor the others on the page, whatever stands in its place."""

    def change(tree: Tree) -> None:
        item(tree).update(desc2="")
        item(tree)["user"].update(followers_count=count, followers_count_str=count)

    page = fans(change)
    assert (page.uncounted, [user.uid for user in page.users]) == ((FANS[0],), FANS[1:])


@pytest.mark.parametrize(
    ("fields", "fans_"),
    [
        ({"followers_count": None, "followers_count_str": "1.2万"}, 12_000),
        ({"followers_count": "143"}, 143),
        ({"followers_count": "", "followers_count_str": "1.2万"}, 12_000),
        ({"followers_count": -1, "followers_count_str": "lots", "desc2": "粉丝：143"}, 143),
        ({"followers_count": "", "followers_count_str": None, "desc2": "粉絲數:1.2萬"}, 12_000),
    ],
)
def test_where_the_number_of_fans_comes_from(fields: dict[str, object], fans_: int) -> None:
    """From the count, else from its text, else from the description: the first that is legible."""

    def change(tree: Tree) -> None:
        item(tree).update(desc2=fields.get("desc2", ""))
        item(tree)["user"].update(fields)

    assert fans(change).users[0].fans == fans_


def test_an_item_is_known_by_its_user_too() -> None:
    """Items stay items when their card_type changes."""

    def change(tree: Tree) -> None:
        for one in cards(tree)[1]["card_group"]:
            if one["user"]:
                one["card_type"] = "30"

    assert [user.uid for user in fans(change).users] == FANS


def test_what_commenters_wrote() -> None:
    """Text, author, time and likes of each comment; a user who comments twice is one user."""
    found = record(read("comments.json"))
    first = found.echoes[0]
    assert (len(found.echoes), len(found.users)) == (3, 2)
    assert first == Echo(
        id=4383183984547601,
        uid=4900000001,
        screen_name="纸飞机",
        text="说得好[偷笑]",
        created_at="2019-06-14T20:39:20+08:00",
        likes=3,
        replies=0,
    )


@pytest.mark.parametrize(
    "odd",
    [
        *({"id": None}, {"text": 7}, {"text": "长" * 5001}),
        {"created_at": "很久以前", "mid": None},
        *({"mid": "4383183984547602"}, {"id": "4383183984547602", "mid": "4383183984547601"}),
    ],
)
def test_a_comment_that_cannot_be_read_costs_only_itself(odd: Tree) -> None:
    """Law 15: its author is read all the same."""
    whole = record(read("comments.json"))
    found = record(read("comments.json", lambda tree: tree["data"]["data"][0].update(odd)))
    assert found.users == whole.users
    assert found.echoes == whole.echoes[1:]
    assert (whole.unreadable, found.unreadable) == (0, 1)


@pytest.mark.parametrize("said", ["很久以前", "Thu Jan 01 08:00:00 +0800 1970", None, 7])
def test_a_comment_whose_date_cannot_be_read_has_that_of_its_id(said: object) -> None:
    """Law 15: an odd field costs that field. Both of its ids name the same second."""
    change = {"created_at": said}
    found = record(read("comments.json", lambda tree: tree["data"]["data"][0].update(change)))
    assert found == record(read("comments.json"))


def test_where_a_comment_is_from() -> None:
    """Since 2022 its source says so; odd numbers cost themselves."""
    odd = {"source": "来自北京", "like_count": "many", "total_number": -1}
    found = record(read("comments.json", lambda tree: tree["data"]["data"][0].update(odd)))
    assert (found.echoes[0].region, found.echoes[0].likes, found.echoes[0].replies) == (
        *("北京", None, None),
    )


def test_who_passed_a_post_on() -> None:
    """Text, author, time and counts of each repost, as it is listed since 2019 and as it was before
    that; a cut text says so."""
    found = record(read("reposts.json"))
    assert [one.id for one in found.echoes] == [
        4383183984547611,
        4383183984547612,
        4383183984547613,
    ]
    assert found.echoes[0] == Echo(
        id=4383183984547611,
        uid=4900000003,
        screen_name="桅灯",
        text="转发微博",
        created_at="2019-06-14T20:39:20+08:00",
        likes=5,
    )
    assert found.echoes[1] == Echo(
        id=4383183984547612,
        uid=4900000002,
        screen_name="Tidepool",
        text="好信要慢[偷笑]//@纸飞机:说得好",
        created_at="2019-06-14T20:39:20+08:00",
        likes=3,
        replies=1,
        region="北京",
        reposts=2,
    )
    assert [one.text_complete for one in found.echoes] == [True, True, False]
    assert [user.uid for user in found.users] == [4900000002, 4900000001]
    assert found.uncounted == (4900000003,)
    assert found.skipped == {"no user": 1}
    # the answer of 2018 said so
    assert record(read("reposts.json", lambda tree: tree.update(msg="数据获取成功"))) == found


@pytest.mark.parametrize(
    ("number", "pages", "following"),
    [
        *(("", 3, "2"), ("2", 3, "3"), ("3", 3, None), ("", 1, None)),
        ("", "3", "2"),
        ("", None, None),
    ],
)
def test_reposts_name_their_next_page(number: str, pages: object, following: str | None) -> None:
    """By how many pages there are, from the number of this one."""
    request = SITE.echoes(Kind.REPOSTS, LONG_MID, number)
    found = read("reposts.json", lambda tree: tree["data"].update(max=pages), request)
    assert record(found).next_cursor == following


OTHER = 4803408242409550


def _dated(mid: int) -> Tree:
    """An id, and the date that it holds."""
    at = datetime.fromtimestamp(second_of(mid), timezone(timedelta(hours=8)))
    return {"id": str(mid), "mid": str(mid), "created_at": at.strftime("%a %b %d %H:%M:%S %z %Y")}


def _under(*said: object) -> Callable[[Tree], None]:
    """Makes the list one of reposts that say this of what they pass on."""

    def change(tree: Tree) -> None:
        one = tree["data"]["data"][1]
        tree["data"]["data"] = [
            one | _dated(LONG_MID + (60 + n << 22)) | {"retweeted_status": what}
            for n, what in enumerate(said)
        ]

    return change


def _reposts(*owners: int) -> Request:
    return replace(SITE.echoes(Kind.REPOSTS, LONG_MID), owners=owners)


@pytest.mark.parametrize(
    "said",
    [
        [{"id": str(OTHER), "mid": str(OTHER)}] * 3,
        [{"id": OTHER}],
        [{"id": OTHER, "user": None, "deleted": "1", "text": "抱歉，此微博已被作者删除。"}] * 3,
        [{"mid": str(OTHER)}, {"mid": str(OTHER)}, None],
    ],
)
def test_reposts_of_another_post_are_in_doubt(said: list[object]) -> None:
    """A lying proxy may answer with the list of another post: nothing of it is taken, also of whom
    does not say what they passed on."""
    reading = read("reposts.json", _under(*said), _reposts(LONG_MID))
    found = record(reading)
    assert reading.ambiguous
    assert (found.users, found.uncounted, found.echoes) == ((), (), ())
    assert (found.unreadable, found.others) == (len(said), (OTHER,))
    assert found.skipped == {"another post": len(said)}


def _comments(*seconds: int) -> Callable[[Tree], None]:
    """Makes the list one of comments that were written so long after the post."""

    def change(tree: Tree) -> None:
        one = tree["data"]["data"][0]
        tree["data"]["data"] = [
            one | _dated(LONG_MID + (s << 22) + n) for n, s in enumerate(seconds)
        ]

    return change


COMMENTS_OF = replace(SITE.echoes(Kind.COMMENTS, LONG_MID), owners=(LONG_MID,))


def test_comments_older_than_the_post_are_another_posts() -> None:
    """Comments name no post; but nobody comments on what is not written yet. So the list of an
    older post that a lying proxy answers with is in doubt, and one such comment costs itself."""
    reading = read("comments.json", _comments(-90_000, -80_000, -70_000), COMMENTS_OF)
    found = record(reading)
    assert reading.ambiguous
    assert (found.users, found.uncounted, found.echoes, found.unreadable) == ((), (), (), 3)
    reading = read("comments.json", _comments(60, -90_000, 90), COMMENTS_OF)
    assert (len(record(reading).echoes), record(reading).unreadable) == (2, 1)
    assert not reading.ambiguous


@pytest.mark.parametrize(
    "change",
    [
        _comments(-1800, 0, 90),  # clocks differ
        lambda tree: _comments(-90_000)(tree) or tree["data"]["data"][0].update(created_at="刚刚"),
        lambda tree: _comments(60)(tree) or tree["data"]["data"][0].update(id="1", mid="1"),
        lambda tree: _comments(60)(tree) or tree["data"]["data"][0].update(created_at="2019-06-14"),
    ],
)
def test_who_is_not_older_by_id_and_date_is_believed(change: Callable[[Tree], object]) -> None:
    reading = read("comments.json", change, COMMENTS_OF)
    assert record(reading).echoes
    assert not reading.ambiguous


def test_lists_of_two_other_posts_differ() -> None:
    """So two that lie are no witnesses for each other."""
    one, two = (
        record(read("reposts.json", _under({"id": other}), _reposts(LONG_MID)))
        for other in (OTHER, OTHER + 1)
    )
    assert one != two


@pytest.mark.parametrize(
    "said",
    [
        {"id": str(LONG_MID), "mid": str(LONG_MID)},
        {"id": LONG_MID},
        {"idstr": str(LONG_MID)},
        {"id": str(LONG_MID), "user": None, "deleted": "1"},
        {"id": str(LONG_MID), "state": 7},
        {"id": str(OTHER), "retweeted_status": {"id": str(LONG_MID)}},
        *(None, {}, {"id": None}, {"id": "odd"}, {"id": OTHER, "mid": str(OTHER + 1)}),
        *("odd", []),
    ],
)
def test_reposts_of_the_post_are_taken(said: object) -> None:
    """However they name it; who does not say legibly what was passed on is believed."""
    reading = read("reposts.json", _under(said, said, said), _reposts(LONG_MID))
    assert (len(record(reading).echoes), reading.ambiguous) == (3, False)


def test_reposts_of_a_repost_name_the_head_of_its_chain() -> None:
    """Which whoever asks for them knows."""
    of_head = _under(*[{"id": str(OTHER)}] * 3)
    reading = read("reposts.json", of_head, _reposts(LONG_MID, OTHER))
    assert (len(record(reading).echoes), reading.ambiguous) == (3, False)
    assert len(record(read("reposts.json", of_head, _reposts())).echoes) == 3  # nobody knows


def test_one_repost_of_another_post_costs_itself() -> None:
    """Law 15: beside those that name the post, or more that name none."""
    for rest in (str(LONG_MID), "odd"):
        change = _under({"id": OTHER}, {"id": rest}, {"id": rest})
        reading = read("reposts.json", change, _reposts(LONG_MID))
        found = record(reading)
        assert (len(found.echoes), found.unreadable, reading.ambiguous) == (2, 1, False)
        assert (found.skipped, found.others) == ({"another post": 1}, (OTHER,))


def test_the_end_of_reposts() -> None:
    """No repost is nothing on page 1, and an end behind it, however many pages are announced."""
    for number, verdict in (("", Verdict.EMPTY), ("2", Verdict.END)):
        request = SITE.echoes(Kind.REPOSTS, LONG_MID, number)
        for body in (
            {"ok": 1, "data": {"data": [], "total_number": 0, "max": 9}},
            {"ok": 0, "msg": "这里还没有内容", "data": {"cards": []}},
            {"ok": 0, "msg": "还没有人转发过"},
        ):
            reading = judge(json.dumps(body), request)
            assert (reading.verdict, reading.ambiguous) == (verdict, True)


def test_nobody_reposted_it_says_nothing_else() -> None:
    """Where anything else is asked for, or beside other words, nobody knows what it refuses."""
    nobody = {"ok": 0, "msg": "还没有人转发过"}
    comments, reposts = (SITE.echoes(kind, LONG_MID) for kind in (Kind.COMMENTS, Kind.REPOSTS))
    more = ({"errno": "7"}, {"extra": "x"}, {"data": {"data": [{}]}, "errno": "20003"})
    for body, request in ((nobody, comments), *(({**nobody, **one}, reposts) for one in more)):
        assert judge(json.dumps(body), request).verdict is Verdict.SERVER_TROUBLE


def test_a_profile() -> None:
    """All that is read of a profile."""
    assert record(read("profile.json")) == User(
        uid=OWNER,
        screen_name="青藤邮局",
        fans=151_000_000,
        follows=240,
        posts=1553,
        gender="f",
        description="慢信",
        verified=True,
        verified_type=0,
        verified_reason="慢信发起人",
        rank=9,
        avatar=f"https://wx1.sinaimg.example/orj480/{OWNER}.jpg",
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda tree: tree["data"].pop("userInfo"), "$.data.userInfo"),
        (lambda tree: tree.update(data=[]), "$.data"),
        (lambda tree: tree["data"]["userInfo"].update(id=7), "$.data.userInfo.id"),
        (lambda tree: tree["data"].update(userInfo=[]), "$.data.userInfo"),
        (lambda tree: tree["data"]["userInfo"].update(id=None), "$.data.userInfo.id"),
        (lambda tree: tree["data"]["userInfo"].update(id=float(OWNER)), "$.data.userInfo.id"),
    ],
)
def test_drift_of_a_profile(change: Callable[[Tree], None], why: str) -> None:
    """A profile without its user, or of another user, is DRIFTED."""
    reading = read("profile.json", change)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, why)


@pytest.mark.parametrize(
    ("key", "field", "values"),
    [
        ("screen_name", "screen_name", [None, "", 7, [], "长" * 100_000]),
        ("followers_count", "fans", [3.0, "", -1, [], True, 10**12, "1e5"]),
        ("statuses_count", "posts", [3.0, "", -1, {}, 10**12, 10**30]),
        ("follow_count", "follows", ["many", -5, 2.5]),
        ("description", "description", [None, 7, [], "x" * 100_000]),
        ("gender", "gender", ["x", 1, None]),
        ("verified", "verified", [1, "true", None]),
    ],
)
def test_an_odd_field_of_a_profile_costs_only_itself(
    key: str, field: str, values: list[object]
) -> None:
    """It is unknown; all other fields are read as they are."""
    whole = record(read("profile.json"))

    def put(tree: Tree, value: object) -> None:
        tree["data"]["userInfo"].update({key: value, f"{key}_str": value})

    for value in values:
        odd = record(read("profile.json", partial(put, value=value)))
        assert odd == replace(whole, **{field: None}), value


def test_authors_of_comments() -> None:
    """Each author once; users that are null are left out; max_id names the next page."""
    page = record(read("comments.json"))
    assert isinstance(page, EchoPage)
    assert (page.mid, [user.uid for user in page.users]) == (LONG_MID, FANS[:2])
    assert page.next_cursor == "314345666829623"


def test_illegible_numbers_of_fans_among_comments() -> None:
    """However many, their authors are known by their uid."""

    def change(tree: Tree) -> None:
        faces = [{"id": n + 1, "screen_name": "a", "followers_count": 1} for n in range(8)]
        for some in faces[:5]:
            some["followers_count"] = "lots"
        tree["data"]["data"] = [{"user": some} for some in faces]

    page = record(read("comments.json", change))
    assert (page.uncounted, [user.uid for user in page.users]) == ((1, 2, 3, 4, 5), [6, 7, 8])


@pytest.mark.parametrize("odd", [None, {}, "x", [], 7, {"user": {}}, {"user": []}, {"user": None}])
def test_an_odd_comment_costs_only_itself(odd: object) -> None:
    """The authors of the others are read, and it is counted."""
    page = record(read("comments.json", lambda tree: tree["data"]["data"].insert(0, odd)))
    assert [user.uid for user in page.users] == FANS[:2]
    assert sum(page.skipped.values()) == sum(record(read("comments.json")).skipped.values()) + 1


@pytest.mark.parametrize(
    ("kind", "before"), [(None, ""), (0, ""), ("0", ""), (1, "1:"), ("1", "1:")]
)
def test_the_next_page_of_comments_is_of_the_kind_that_this_one_names(
    kind: object, before: str
) -> None:
    """Under the wrong one the site says `{"ok":0}`, which is no end."""
    found = record(read("comments.json", lambda tree: tree["data"].update(max_id_type=kind)))
    assert found.next_cursor == f"{before}314345666829623"
    url = SITE.echoes(Kind.COMMENTS, LONG_MID, found.next_cursor).url
    assert url.endswith(f"&max_id_type={before[:1] or 0}&max_id=314345666829623")


@pytest.mark.parametrize("kind", [[], {}, 1.5, "x y", "xy", True])
def test_an_odd_kind_of_the_next_page_of_comments(kind: object) -> None:
    """It is counted where it stands."""
    found = record(read("comments.json", lambda tree: tree["data"].update(max_id_type=kind)))
    assert found.skipped.get("odd cursor", 0) == bool(kind)
    assert found.next_cursor == "314345666829623"


@pytest.mark.parametrize("max_id", [0, "0", None, ""])
def test_the_last_page_of_comments(max_id: object) -> None:
    """max_id 0 is the end."""
    page = record(read("comments.json", lambda tree: tree["data"].update(max_id=max_id)))
    assert page.next_cursor is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda tree: tree["data"].pop("data"), "$.data.data"),
        (lambda tree: tree.pop("data"), "$.data"),
        (lambda tree: tree["data"].update(data={}), "$.data.data"),
        (
            lambda tree: tree["data"].update(data=[{}, {"user": {}}, {}, {}]),
            "$.data.data[0].user",
        ),
    ],
)
def test_drift_of_comments(change: Callable[[Tree], None], why: str) -> None:
    """Comments that lost their shape are DRIFTED."""
    reading = read("comments.json", change)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, why)


def test_no_comments() -> None:
    """Nothing there: the no-content answer; beside a next page it is none."""
    reading = read("comments.json", lambda tree: tree["data"].update(data=[], max_id=0))
    assert (reading.verdict, reading.ambiguous) == (Verdict.EMPTY, True)
    page = record(read("comments.json", lambda tree: tree["data"].update(data=[])))
    assert (page.users, page.next_cursor) == ((), "314345666829623")
    page = record(
        read("comments.json", lambda tree: tree["data"].update(data=[], max_id="9" * 400))
    )
    assert (page.users, page.next_cursor, page.skipped) == ((), None, {"odd cursor": 1})


def test_the_list_of_another_owner_is_no_list() -> None:
    """A lying proxy may answer with another user's fans: the block names its owner."""

    def change(tree: Tree) -> None:
        for card in cards(tree):
            card["itemid"] = str(card["itemid"]).replace(str(OWNER), "1900000099")

    reading = read("fans_first_page.json", change)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, "$.data.cards[1].itemid")


@pytest.mark.parametrize("edge", [Edge.FANS, Edge.FOLLOWS])
@pytest.mark.parametrize("shown", [None, [], [{"card_type": 58}]])
def test_an_empty_list_of_another_owner_is_no_list(edge: Edge, shown: object) -> None:
    """Where no block names its owner, the container does, as on both recorded pages of 2019."""
    name = {Edge.FANS: "fans", Edge.FOLLOWS: "followers"}[edge]
    for uid, verdict in ((OWNER, Verdict.EMPTY), (OWNER + 1, Verdict.DRIFTED)):
        info = {"containerid": f"231051_-_{name}_-_{uid}", "title_top": "她的好友"}
        body = json.dumps({"ok": 1, "data": {"cardlistInfo": info, "cards": shown}})
        reading = judge(body, SITE.edge(edge, OWNER, ""))
        assert reading.verdict is verdict
    assert reading.why == "$.data.cardlistInfo.containerid"


@pytest.mark.parametrize("uid", [4, 45, 2**63 - 1])
@pytest.mark.parametrize(
    "address",
    [
        *("https://m.weibo.cn/u/{}?uid={}", "/u/{}", "u/{}"),
        *("kaifulee", "/p/4?url=/u/9", "menu/4", "", None, 7, ["/u/4"]),
    ],
)
def test_the_address_of_a_profile_is_a_second_witness_of_its_id(uid: int, address: object) -> None:
    """Whoever it names must be the one; where it names nobody the id stands alone."""
    own = address.format(uid, uid) if isinstance(address, str) else address
    assert uid_of(Face(id=uid, profile_url=own)) == uid
    if isinstance(address, str) and "{}" in address:
        for other in (uid - 1, uid // 10 or 7, uid % 10 + 10):
            with pytest.raises(Drift):
                uid_of(Face(id=uid, profile_url=address.format(other, other)))

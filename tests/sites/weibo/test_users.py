"""Fans and follows pages, profiles and comments."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.sites.weibo.helpers import LONG_MID, OWNER, SITE, judge, read, record
from weibo_crawler.records import CommentPage, Edge, FanPage, Request, User, Verdict

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
    assert (page.owner, page.missing, page.recommended) == (OWNER, 1, 2)
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
        (untitle, FIRST, False),
        (untitle, SECOND, False),
        (alone, FIRST, True),
        (alone, SECOND, True),
        (alone_with_another_name, FIRST, False),
        (alone_with_another_name, SECOND, True),
        (flat, FIRST, True),
        (flat, SECOND, True),
        (recommendations_alone, FIRST, False),
        (recommendations_alone, SECOND, False),
    ],
)
def test_which_block_is_the_list(
    change: Callable[[Tree], None], request_: Request, is_list: bool
) -> None:
    """By itemid, else by title, else by being the only one; recommendations never are the list."""
    reading = read("fans_first_page.json", change, request_)
    if is_list:
        assert [user.uid for user in record(reading).users] == FANS
    else:
        nothing = Verdict.EMPTY if request_ is FIRST else Verdict.END
        assert (reading.verdict, reading.ambiguous) == (nothing, True)


def test_the_list_of_another_edge_is_not_this_list() -> None:
    """A fans block on a follows page is not taken for the follows."""
    request = SITE.edge(Edge.FOLLOWS, OWNER, "")
    assert read("fans_first_page.json", None, request).verdict is Verdict.EMPTY


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
    assert (page.users, page.missing, page.next_cursor) == ((), 6, "2")


def test_an_empty_list() -> None:
    """A list without items is the no-content answer."""
    reading = read("fans_first_page.json", lambda tree: cards(tree)[1].update(card_group=[]))
    assert (reading.verdict, reading.ambiguous) == (Verdict.EMPTY, True)


@pytest.mark.parametrize("cursor", ["", "3"])
def test_a_page_without_cards(cursor: str) -> None:
    """No cards: the end of the list, or throttling."""
    reading = judge('{"ok":1,"data":{"cards":[]}}', SITE.edge(Edge.FANS, OWNER, cursor))
    assert reading.verdict is (Verdict.END if cursor else Verdict.EMPTY)
    assert reading.ambiguous


def item(tree: Tree, n: int = 0) -> Any:
    return cards(tree)[1]["card_group"][n]


ITEM = "$.data.cards[1].card_group[0]"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda tree: item(tree).pop("user"), f"{ITEM}.user"),
        (lambda tree: item(tree).update(user=7), f"{ITEM}.user"),
        (lambda tree: item(tree)["user"].pop("id"), f"{ITEM}.user.id"),
        (lambda tree: item(tree)["user"].pop("screen_name"), f"{ITEM}.user.screen_name"),
        (
            lambda tree: (
                [item(tree, n).update(desc2="好友") for n in (0, 5)]
                and item(tree)["user"].update(followers_count="lots")
            ),
            f"{ITEM}.user.followers_count",
        ),
        (lambda tree: cards(tree)[1].pop("card_group"), "$.data.cards[1].card_group"),
        (
            lambda tree: cards(tree)[1].update(card_group=[{"card_type": 3}]),
            "$.data.cards[1].card_group",
        ),
        (lambda tree: tree["data"].update(cards=[{"card_type": 3}]), "$.data.cards"),
        (lambda tree: tree["data"].pop("cards"), "$.data.cards"),
        (lambda tree: tree.pop("data"), "$.data"),
        (lambda tree: tree.pop("ok"), "$.ok"),
    ],
)
def test_drift_of_a_list(change: Callable[[Tree], None], why: str) -> None:
    """A list that lost its shape is DRIFTED, never a list with fewer users."""
    reading = read("fans_first_page.json", change)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, why)


def test_one_illegible_number_of_fans() -> None:
    """It costs neither the user nor the others on the page."""
    page = fans(lambda tree: item(tree)["user"].update(followers_count="lots"))
    assert (page.uncounted, [user.uid for user in page.users]) == ((FANS[0],), FANS[1:])


@pytest.mark.parametrize(
    ("fields", "fans_"),
    [
        ({"followers_count": None, "followers_count_str": "1.2万"}, 12_000),
        ({"followers_count": "143"}, 143),
    ],
)
def test_where_the_number_of_fans_comes_from(fields: dict[str, object], fans_: int) -> None:
    """From the count, else from its text, else from the description."""
    assert fans(lambda tree: item(tree)["user"].update(fields)).users[0].fans == fans_


def test_an_item_is_known_by_its_user_too() -> None:
    """Items stay items when their card_type changes."""

    def change(tree: Tree) -> None:
        for one in cards(tree)[1]["card_group"]:
            if one["user"]:
                one["card_type"] = "30"

    assert [user.uid for user in fans(change).users] == FANS


def test_a_profile() -> None:
    """The numbers of a profile, and the container of its posts."""
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
        posts_container=f"107603{OWNER}",
    )


def test_tabs_in_a_dict() -> None:
    """PHP writes a list as a dict when a number is left out."""

    def change(tree: Tree) -> None:
        info = tree["data"]["tabsInfo"]
        info["tabs"] = {str(n): tab for n, tab in enumerate(info["tabs"])}

    assert record(read("profile.json", change)).posts_container == f"107603{OWNER}"


@pytest.mark.parametrize("tabs", [None, 7, {}, {"tabs": 7}, {"tabs": [7, {}]}])
def test_odd_tabs_cost_only_themselves(tabs: object) -> None:
    """The container is a decoration of the profile."""
    user = record(read("profile.json", lambda tree: tree["data"].update(tabsInfo=tabs)))
    assert (user.fans, user.posts_container) == (151_000_000, None)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda tree: tree["data"].pop("userInfo"), "$.data.userInfo"),
        (lambda tree: tree.update(data=[]), "$.data"),
        (lambda tree: tree["data"]["userInfo"].update(id=7), "$.data.userInfo.id"),
        (
            lambda tree: tree["data"]["userInfo"].update(statuses_count=-1),
            "$.data.userInfo.statuses_count",
        ),
    ],
)
def test_drift_of_a_profile(change: Callable[[Tree], None], why: str) -> None:
    """A profile without its user, or of another user, is DRIFTED."""
    reading = read("profile.json", change)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, why)


def test_authors_of_comments() -> None:
    """Each author once; users that are null are left out; max_id names the next page."""
    page = record(read("comments.json"))
    assert isinstance(page, CommentPage)
    assert (page.mid, [user.uid for user in page.users]) == (LONG_MID, FANS[:2])
    assert page.next_cursor == "314345666829623"


def test_one_illegible_number_of_fans_among_comments() -> None:
    """It costs neither its author nor the others; more than a quarter is drift."""

    def write_more(tree: Tree, lots: int) -> None:
        face = {"id": 0, "screen_name": "a", "followers_count": 1}
        faces = [{**face, "id": n + 1} for n in range(8)]
        for some in faces[:lots]:
            some["followers_count"] = "lots"
        tree["data"]["data"] = [{"user": some} for some in faces]

    page = record(read("comments.json", lambda tree: write_more(tree, 2)))
    assert isinstance(page, CommentPage)
    assert (page.uncounted, len(page.users)) == ((1, 2), 6)
    reading = read("comments.json", lambda tree: write_more(tree, 3))
    assert (reading.verdict, reading.why) == (
        Verdict.DRIFTED,
        "$.data.data[0].user.followers_count",
    )


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
        (lambda tree: tree["data"]["data"][1].pop("user"), "$.data.data[1].user"),
        (lambda tree: tree["data"]["data"][1]["user"].pop("id"), "$.data.data[1].user.id"),
    ],
)
def test_drift_of_comments(change: Callable[[Tree], None], why: str) -> None:
    """Comments that lost their shape are DRIFTED."""
    reading = read("comments.json", change)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, why)


def test_no_comments() -> None:
    """Nothing there: the no-content answer."""
    reading = read("comments.json", lambda tree: tree["data"].update(data=[]))
    assert (reading.verdict, reading.ambiguous) == (Verdict.EMPTY, True)


def test_the_list_of_another_owner_is_no_list() -> None:
    """A lying proxy may answer with another user's fans: the block names its owner."""

    def change(tree: Tree) -> None:
        for card in cards(tree):
            card["itemid"] = str(card["itemid"]).replace(str(OWNER), "1900000099")

    reading = read("fans_first_page.json", change)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, "$.data.cards[1].itemid")

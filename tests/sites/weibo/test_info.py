"""The page of basic information; the fixture has the shape of recordings of 2020."""

from typing import Any

import pytest

from tests.sites.weibo.helpers import OWNER, SITE, judge, read, record
from weibo_crawler.records import BasicInfo, Verdict

INFO = SITE.info(OWNER)
WALL = '{"ok":-100,"url":"https://passport.weibo.com/sso/signin?entry=wapsso"}'
NO_CONTENT = '{"ok":0,"msg":"这里还没有内容","data":{"cards":[]}}'


def info(change: Any = None) -> BasicInfo:
    found = record(read("info.json", change))
    assert isinstance(found, BasicInfo)
    return found


def items(tree: Any) -> list[Any]:
    return [item for card in tree["data"]["cards"] for item in card["card_group"]]


def item(tree: Any, name: str) -> Any:
    return next(one for one in items(tree) if one.get("item_name") == name)


def test_what_the_page_tells() -> None:
    """Named parts, and the rest by the site's names; what the profile tells is left out."""
    rest = {"阳光信用": "信用较好"}
    assert info() == BasicInfo(OWNER, "云南", "大理", "2014-03-09", "天秤座", "f", rest)


@pytest.mark.parametrize(
    ("place", "province", "city"),
    [("吉林", "吉林", None), ("海外 美国", "海外", "美国"), (" 北京  海淀区 ", "北京", "海淀区")],
)
def test_places(place: str, province: str, city: str | None) -> None:
    def move(tree: Any) -> None:
        item(tree, "所在地")["item_content"] = place

    assert (info(move).province, info(move).city) == (province, city)


def test_several_values_of_one_name() -> None:
    """As recorded in 2020: of fourteen schools only the first has a name, and the verification has
    none at all. Where they are most of the items they are no other shape."""
    schools = [{"card_type": 41, "item_content": f"第{n}中学"} for n in range(2, 15)]

    def change(tree: Any) -> None:
        account, person = (card["card_group"] for card in tree["data"]["cards"][:2])
        account.insert(2, {"card_type": 41, "item_type": "verify_yellow", "item_content": "作者"})
        person += [{"card_type": 41, "item_name": "高中", "item_content": "第1中学"}, *schools]
        person.append({"card_type": 41, "item_name": "公司", "item_content": "邮局"})

    found = info(change)
    assert found.more["高中"].split("\n") == [f"第{n}中学" for n in range(1, 15)]
    assert (found.more["公司"], found.city, found.registered) == ("邮局", "大理", "2014-03-09")


@pytest.mark.parametrize("before", ["所在地", "生日", "昵称", None])
def test_a_value_without_a_name_where_one_value_is_told(before: str | None) -> None:
    """Nobody knows what it is, so it changes nothing: after a place or a name, or at first."""

    def change(tree: Any) -> None:
        for card in tree["data"]["cards"][:2]:
            names = [one.get("item_name") for one in card["card_group"]]
            place = names.index(before) + 1 if before in names else 0
            card["card_group"].insert(place, {"card_type": 41, "item_content": "别的"})

    assert info(change) == info()


@pytest.mark.parametrize(
    "day", ["2999-01-01", "2019-06-16", "2014-02-30", "1999-01-01", "03-09", "不久前", ""]
)
def test_an_odd_day_stays_as_the_site_writes_it(day: str) -> None:
    """Law 15: it costs that field, and is no date of ours."""

    def change(tree: Any) -> None:
        item(tree, "注册时间")["item_content"] = day

    found = info(change)
    assert found.registered is None
    assert found.more.get("注册时间", "") == day
    assert (found.province, found.birthday) == ("云南", "天秤座")


@pytest.mark.parametrize("odd", [["2014"], {}, 7, None, True])
def test_an_odd_item_costs_that_item(odd: Any) -> None:
    """Also where its name is odd, or the card itself."""

    def content(tree: Any) -> None:
        item(tree, "注册时间")["item_content"] = odd

    def name(tree: Any) -> None:
        item(tree, "注册时间")["item_name"] = odd

    def card(tree: Any) -> None:
        group = tree["data"]["cards"][0]["card_group"]
        group[group.index(item(tree, "注册时间"))] = odd

    for change in (content, name, card):
        found = info(change)
        assert (found.registered, found.province, found.gender) == (None, "云南", "f")


def test_most_items_odd_is_another_shape() -> None:
    """Law 4: a page of which most cannot be read is no fact about the user."""

    def change(tree: Any) -> None:
        for one in items(tree)[1:7]:
            one["item_content"] = [one.get("item_content")]

    reading = read("info.json", change)
    assert reading.verdict is Verdict.DRIFTED
    assert reading.why == "$.data.cards[0].card_group[1].item_content"


def test_a_page_without_items_is_another_shape() -> None:
    """Blocks that a browser loads later alone say nothing, not that there is nothing."""

    def change(tree: Any) -> None:
        del tree["data"]["cards"][:2]

    assert read("info.json", change).verdict is Verdict.DRIFTED


def test_whose_page_it_is() -> None:
    """Another user's page is no page of this one; one that does not say is in doubt."""

    def other(tree: Any) -> None:
        tree["data"]["cardlistInfo"]["containerid"] = "2302831900000018_-_INFO"

    def nobody(tree: Any) -> None:
        del tree["data"]["cardlistInfo"]["containerid"]

    assert read("info.json", other).verdict is Verdict.DRIFTED
    assert read("info.json", nobody).ambiguous
    assert not read("info.json").ambiguous


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (WALL, Verdict.LOGIN_WALL),
        (NO_CONTENT, Verdict.EMPTY),
        ('{"ok":1,"data":{"cards":[]}}', Verdict.EMPTY),
        ('{"ok":0,"errno":"100005","msg":"请求过于频繁,歇歇吧"}', Verdict.THROTTLED),
        ('{"ok":0,"msg":"something else"}', Verdict.SERVER_TROUBLE),
        ('{"ok":1,"data":{"cards":{}}}', Verdict.DRIFTED),
        ('{"ok":1,"data":[]}', Verdict.DRIFTED),
    ],
)
def test_refused_is_never_empty(body: str, verdict: Verdict) -> None:
    """By the same rules as every page."""
    assert judge(body, INFO).verdict is verdict

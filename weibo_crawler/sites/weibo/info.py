"""The page of basic information of a user (weibo_api.md, "Endpoints": containerid 230283…_-_INFO).

Its shape is that of 330 recordings of 2018 to 2020 in public repositories: blocks of items, each a
name and a content. 所在地 is `山西 运城` or `吉林`, 注册时间 `2016-01-28`, 生日 also `狮子座`. Of
several schools or companies only the first has a name. Blocks that a browser loads later are empty.
"""

import re
from collections.abc import Iterator

from weibo_crawler.records import BasicInfo, Id, Reading, Request, Verdict
from weibo_crawler.sites.weibo.dates import said
from weibo_crawler.sites.weibo.drift import Drift, is_drift
from weibo_crawler.sites.weibo.ids import owner_of
from weibo_crawler.sites.weibo.text import read_name, read_remark
from weibo_crawler.sites.weibo.verdicts import nothing
from weibo_crawler.sites.weibo.wire import Info, InfoCard, is_type

_PLACE, _SINCE, _BORN, _GENDER = "所在地", "注册时间", "生日", "性别"
# the profile tells the first two; the reader's own name for the user is nobody's fact
_KNOWN_ELSEWHERE = ("昵称", "简介", "备注", "Tap to set alias")
_OF_ONE_VALUE = (_PLACE, _SINCE, _BORN, _GENDER, *_KNOWN_ELSEWHERE)
_GENDERS = {"男": "m", "女": "f"}
_MOST_ITEMS = 100
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def read_info(page: Info | None, request: Request, now: float) -> Reading:
    """OK with a BasicInfo; ambiguous where the page does not say whose it is. An odd item costs
    that item. Errors: Drift, also where most of the items cannot be read."""
    if page is None or not isinstance(page.cards, list):
        raise Drift(".data" if page is None else ".data.cards")
    if not page.cards:
        return nothing(request)
    owner = owner_of(page.cardlistInfo)
    if owner not in (None, request.uid):
        raise Drift(".data.cardlistInfo.containerid")
    items: dict[str, str] = {}
    odd: list[Drift] = []
    for path, named, card in _items(page.cards, ".data.cards"):
        name, content = read_name(named), read_remark(card.item_content)
        if name is None or content is None:
            odd.append(Drift(f"{path}.{'item_name' if name is None else 'item_content'}"))
        elif card.item_name is None and name in items:
            items[name] += f"\n{content.strip()}"
        elif len(items) < _MOST_ITEMS:
            items.setdefault(name, content.strip())
    if not items or is_drift(len(odd), len(odd) + len(items)):
        raise odd[0] if odd else Drift(".data.cards")
    return Reading(Verdict.OK, _read(request.uid, items, now), ambiguous=owner is None)


def _read(uid: Id, items: dict[str, str], now: float) -> BasicInfo:
    """What cannot be read as what it should be stays among the rest, as the site writes it."""
    left = {name: text for name, text in items.items() if text and name not in _KNOWN_ELSEWHERE}
    province, city = [*left.pop(_PLACE, "").split(None, 1), None, None][:2]
    registered = _day(left.get(_SINCE, ""), now)
    gender = _GENDERS.get(left.get(_GENDER, ""))
    for name, value in ((_SINCE, registered), (_GENDER, gender)):
        if value is not None:
            del left[name]
    return BasicInfo(uid, province, city, registered, left.pop(_BORN, None), gender, left)


def _day(text: str, now: float) -> str | None:
    """A day on which the site was there already; None for all else."""
    try:
        return text if _DAY.fullmatch(text) and said(text, now).at_s <= now else None
    except ValueError:
        return None


def _items(cards: list[InfoCard | None], path: str) -> Iterator[tuple[str, object, InfoCard]]:
    """The items of the page, each with its path and its name. An item without a name is another
    value of the one before it; one with a type is the verification, which the profile tells."""
    name: object = None
    for i, card in enumerate(cards):
        here = f"{path}[{i}]"
        if card is None:
            name = None
        elif card.card_group:
            yield from _items(card.card_group, f"{here}.card_group")
        elif card.item_name is not None:
            name = card.item_name
            yield here, name, card
        elif is_type(card.card_type, 41) and not card.item_type:
            yield here, None if name in _OF_ONE_VALUE else name, card

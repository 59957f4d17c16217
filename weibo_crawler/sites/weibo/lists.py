"""Fans and follows pages: which block is the list, and who is on it.

WEIBO_API, "Shapes and traps": page 1 has one to three blocks, recommendations first; the list is
the card whose itemid names list and owner; items are cards of type 10; pages hold repeats, users
that are null, and fewer than 20 users on large accounts.
"""

from weibo_crawler.records import FanPage, Kind, Reading, Request, User, Verdict
from weibo_crawler.sites.weibo.addresses import LAST_PAGE, page_number
from weibo_crawler.sites.weibo.drift import Drift, Uncounted, uncounted_uids
from weibo_crawler.sites.weibo.people import read_face
from weibo_crawler.sites.weibo.verdicts import nothing
from weibo_crawler.sites.weibo.wire import Face, ListCard, UserList, is_type

_ITEM_ID = {Kind.FANS: "2310510033_1_", Kind.FOLLOWS: "2310510024_1_"}
_TITLE = {Kind.FANS: "全部粉丝", Kind.FOLLOWS: "全部关注"}
_TITLES_OF_OTHERS = ("推荐", "感兴趣")


def read_user_list(page: UserList | None, request: Request, now: float) -> Reading:
    """OK with a FanPage; EMPTY or END (ambiguous) where the page does not hold the list.

    A user whose number of fans is illegible is one of `uncounted`; where those are more than a
    quarter, the shape of the page has changed.
    Errors: Drift, also for the list of another owner, with which a lying proxy may answer.
    """
    if page is None or not isinstance(page.cards, list | None):
        raise Drift(".data" if page is None else ".data.cards")
    if not page.cards:
        return nothing(request)
    listed = _list_of(page.cards, request)
    users: list[User] = []
    uncounted: list[Uncounted] = []
    missing = 0
    for i in listed:
        missing += _read_card(page.cards[i], f".data.cards[{i}]", users, uncounted)
    if not users and not missing and not uncounted:
        return nothing(request)
    uids = uncounted_uids(uncounted, len(users))
    others = (card for i, card in enumerate(page.cards) if i not in listed)
    recommended = sum(_is_user(item) for card in others for item in card.card_group or ())
    n = page_number(request.cursor)
    next_cursor = str(n + 1) if n < LAST_PAGE[request.kind] else None
    fan_page = FanPage(
        request.uid,
        tuple(users),
        next_cursor,
        recommended,
        uids,
        {"no user": missing} if missing else {},
    )
    return Reading(Verdict.OK, fan_page)


def _list_of(cards: list[ListCard], request: Request) -> list[int]:
    """Which of the cards are the list: by itemid, else by title, else by there being no other."""
    named = [i for i, card in enumerate(cards) if _is_named(card, request)]
    if named:
        return named
    blocks = [i for i, card in enumerate(cards) if card.card_group is not None]
    titled = [i for i in blocks if _TITLE[request.kind] in _title(cards[i])]
    for i, card in enumerate(cards):
        if _is_list(card, request.kind):
            raise Drift(f".data.cards[{i}].itemid")
    if titled:
        return titled
    full = [i for i in blocks if any(map(_is_user, cards[i].card_group or ()))]
    flat = [i for i, card in enumerate(cards) if _is_user(card)]
    if not blocks and not flat and not all(is_type(card.card_type, 58) for card in cards):
        raise Drift(".data.cards")
    is_first = page_number(request.cursor) == 1
    if len(full) == 1 and not any(words in _title(cards[full[0]]) for words in _TITLES_OF_OTHERS):
        is_alone = len(blocks) == 1 and not cards[full[0]].itemid
        if is_alone or not is_first:
            return full
    return flat if not full or not is_first else []


def _read_card(card: ListCard, path: str, users: list[User], uncounted: list[Uncounted]) -> int:
    """Add the users of a block, or of a flat card; returns how many are missing."""
    if card.card_group is None:
        if not _is_user(card):
            raise Drift(f"{path}.card_group")
        return _read_item(card, path, users, uncounted)
    missing, is_of_users = 0, not card.card_group
    for j, item in enumerate(card.card_group):
        if _is_user(item):
            is_of_users = True
            missing += _read_item(item, f"{path}.card_group[{j}]", users, uncounted)
    if not is_of_users:
        raise Drift(f"{path}.card_group")
    return missing


def _read_item(item: ListCard, path: str, users: list[User], uncounted: list[Uncounted]) -> int:
    if item.user is None:
        return 1
    if not isinstance(item.user, Face):
        raise Drift(f"{path}.user")
    try:
        users.append(read_face(item.user, item.desc1, item.desc2))
    except Uncounted as one:
        uncounted.append(Uncounted(f"{path}.user{one.path}", one.uid))
    except Drift as drift:
        raise drift.under(f"{path}.user") from None
    return 0


def _is_named(card: ListCard, request: Request) -> bool:
    """The itemid of a block ends with the owner's uid, that of an item with the item's."""
    return _is_list(card, request.kind) and str(card.itemid).endswith(f"_{request.uid}")


def _is_list(card: ListCard, kind: Kind) -> bool:
    """Whether its itemid says that the block is a list of this kind, whoever's."""
    itemid = card.itemid
    return isinstance(itemid, str) and itemid.startswith(_ITEM_ID[kind]) and not _is_user(card)


def _is_user(card: ListCard) -> bool:
    return is_type(card.card_type, 10) or isinstance(card.user, Face)


def _title(card: ListCard) -> str:
    title = card.title.get("text") if isinstance(card.title, dict) else card.title
    return title if isinstance(title, str) else ""

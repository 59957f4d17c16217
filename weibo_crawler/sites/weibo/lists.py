"""Fans and follows pages: which block is the list, and who is on it.

weibo_api.md, "Shapes and traps": page 1 has up to ten blocks, the list last; the list is the card
whose itemid names list and owner; items are cards of type 10; pages hold repeats, users that are
null, and fewer than 20 users on large accounts.
"""

from collections import Counter
from collections.abc import Mapping

from weibo_crawler.records import ILLEGIBLE, FanPage, Id, Kind, Reading, Request, User, Verdict
from weibo_crawler.sites.weibo.addresses import LAST_PAGE, page_number
from weibo_crawler.sites.weibo.cursors import read_token
from weibo_crawler.sites.weibo.drift import Drift, is_drift
from weibo_crawler.sites.weibo.ids import named_by, owner_of
from weibo_crawler.sites.weibo.people import read_face
from weibo_crawler.sites.weibo.verdicts import nothing
from weibo_crawler.sites.weibo.wire import Face, ListCard, PageInfo, UserList, is_type

_ITEM_ID = {Kind.FANS: "2310510033_1_", Kind.FOLLOWS: "2310510024_1_"}
_TITLE = {Kind.FANS: "全部粉丝", Kind.FOLLOWS: "全部关注"}
_ITEM_ID_OF_RECOMMENDED = "INTEREST"
_TITLES_OF_RECOMMENDED = ("推荐", "感兴趣")


class _Found:
    """What the items of a list hold. odd: items that are none of a user, or of one without id."""

    def __init__(self) -> None:
        self.users: list[User] = []
        self.uncounted: list[Id] = []
        self.skipped: Counter[str] = Counter()
        self.odd: list[Drift] = []

    def read(self, item: ListCard | None, path: str) -> None:
        """One item of the list; null users are missing, not odd."""
        if item is None or not _is_user(item):
            self.skipped["no item"] += 1
            return
        if item.user is None:
            self.skipped["no user"] += 1
            return
        try:
            if not isinstance(item.user, Face):
                raise Drift("")
            if item.user.profile_url is None and named_by(item.scheme) not in (item.user.id, None):
                raise Drift(".id")
            user = read_face(item.user, item.desc1, item.desc2)
        except Drift as drift:
            self.skipped[ILLEGIBLE[not drift.path]] += 1
            self.odd.append(drift.under(f"{path}.user"))
            return
        if user.fans is None:
            self.uncounted.append(user.uid)
        else:
            self.users.append(user)

    @property
    def legible(self) -> int:
        return len(self.users) + len(self.uncounted)


def read_user_list(page: UserList | None, request: Request, now: float) -> Reading:
    """OK with a FanPage, ambiguous where it shows nobody and names the next one; EMPTY or END
    (ambiguous) where the page does not hold the list.

    Errors: Drift where the list cannot be found, or most of its users cannot be read, with the page
    of the others; also for the list of another owner, with which a lying proxy may answer.
    """
    if page is None or not isinstance(page.cards, list | None):
        raise Drift(".data" if page is None else ".data.cards")
    if owner_of(page.cardlistInfo) not in (None, request.uid):
        raise Drift(".data.cardlistInfo.containerid")
    n = page_number(request.cursor)
    last = LAST_PAGE[request.kind]
    named, is_odd = named_next(page.cardlistInfo, n)
    is_next_named = named is not None
    following = named if named is not None and named <= last else n + 1
    cards = page.cards or []
    if not cards and not (is_next_named or is_odd):
        return nothing(request, "no cards")
    listed = _list_of(cards, request, is_next_named=is_next_named) if cards else []
    found = _Found()
    found.skipped.update(["odd cursor"] * is_odd)
    for i in listed:
        _read_card(cards[i], f".data.cards[{i}]", found, is_next_named=is_next_named)
    is_odd_list = is_drift(len(found.odd), len(found.odd) + found.legible)
    if is_odd_list and not found.legible:
        raise found.odd[0]
    if found.legible or is_next_named:
        beside = sum(_is_beside(card) for i, card in enumerate(cards) if i not in listed)
        found.skipped.update({"no item": beside} if beside else {})
    is_own = bool(listed) and is_next_named  # its own block, empty: as no card at all
    if cards and not (found.legible or found.skipped or is_own):
        return nothing(request, "nobody")
    others = (card for i, card in enumerate(cards) if card is not None and i not in listed)
    recommended = sum(
        item is not None and _is_user(item) for card in others for item in card.card_group or ()
    )
    fan_page = FanPage(
        request.uid,
        tuple(found.users),
        str(following) if following <= last else None,
        recommended,
        tuple(found.uncounted),
        dict(found.skipped),
        is_next_named,
    )
    if is_odd_list:
        raise Drift(found.odd[0].path, fan_page)
    if not found.legible:  # whatever else it shows: a site that falls silent may still advertise
        return Reading(Verdict.OK, fan_page, why="nobody", ambiguous=True)
    return Reading(Verdict.OK, fan_page)


def named_next(info: PageInfo | None, n: int) -> tuple[int | None, bool]:
    """The number of a later page that the page names, and whether it names what is no number. The
    site may name a page on its last page, too."""
    if info is None:
        return None, False
    tokens = [read_token(info.since_id), read_token(info.page)]
    later = [int(token) for token, _ in tokens if token is not None and token.isdecimal()]
    is_odd = any(odd or (token and not token.isdecimal()) for token, odd in tokens)
    return next((number for number in later if number > n), None), is_odd


def _list_of(items: list[ListCard | None], request: Request, *, is_next_named: bool) -> list[int]:
    """Which of the cards are the list: by itemid, else by title, else by there being no other. None
    need be where the page shows nobody but recommendations, or names the next one, and shows only
    cards that are of nobody.

    Errors: Drift, also for a page of something else: posts, pictures, the other list of this owner.
    """
    cards = {i: card for i, card in enumerate(items) if card is not None}
    named = [i for i, card in cards.items() if _is_named(card, request)]
    if named:
        return named
    for i, card in cards.items():
        if any(_is_list(card, kind) for kind in _ITEM_ID):
            raise Drift(f".data.cards[{i}].itemid")
    blocks = [i for i, card in cards.items() if card.card_group is not None]
    titled = [i for i in blocks if _TITLE[request.kind] in _title(cards[i])]
    if titled:
        return titled
    for i in blocks:
        if any(title in _title(cards[i]) for title in _TITLE.values()):
            raise Drift(f".data.cards[{i}].title")
    full = [i for i in blocks if any(item and _is_user(item) for item in cards[i].card_group or ())]
    flat = [i for i, card in cards.items() if _is_user(card)]
    if _is_of_something_else(cards, bool(full or flat), is_next_named=is_next_named):
        raise Drift(".data.cards")
    is_first = page_number(request.cursor) == 1
    unknown = [i for i in full if not _is_recommended(cards[i])]
    if unknown:
        is_alone = len(blocks) == 1 and not cards[full[0]].itemid
        if len(full) == 1 and (is_alone or not is_first):
            return full
        raise Drift(f".data.cards[{unknown[0]}].itemid")  # it may be the list
    illegible = [i for i, card in enumerate(items) if card is None or card == ListCard()]
    if illegible and not flat and not is_next_named:  # it may have been the list
        raise Drift(f".data.cards[{illegible[0]}]")
    return flat if not full or not is_first else []


def _is_of_something_else(
    cards: Mapping[int, ListCard], is_of_users: bool, *, is_next_named: bool
) -> bool:
    """Whether a page without a list shows posts, or anything but users, empty blocks and the end;
    one that names the next page may hold advertisements alone."""
    blocks = [card.card_group for card in cards.values() if card.card_group is not None]
    items = (item for group in blocks for item in group if item is not None)
    if any(isinstance(card.mblog, dict) for card in (*cards.values(), *items)):
        return True
    is_end = all(is_type(card.card_type, 58) for card in cards.values())
    return not (is_of_users or is_end) and (any(blocks) or not (blocks or is_next_named))


def _is_recommended(card: ListCard) -> bool:
    """Whether title or itemid say that the site proposes these people."""
    is_titled = any(words in _title(card) for words in _TITLES_OF_RECOMMENDED)
    return is_titled or str(card.itemid).startswith(_ITEM_ID_OF_RECOMMENDED)


def _is_beside(card: ListCard | None) -> bool:
    """Whether a card is neither a block nor a user nor the end: an advertisement, a button."""
    if card is None:
        return True
    return card.card_group is None and not (_is_user(card) or is_type(card.card_type, 58))


def _read_card(card: ListCard | None, path: str, found: _Found, *, is_next_named: bool) -> None:
    """Read a block, or a flat card. Errors: Drift for a block in which nothing is of a user, unless
    the page names the next one."""
    if card is None or card.card_group is None:
        if not is_next_named and (card is None or not _is_user(card)):
            raise Drift(f"{path}.card_group")
        found.read(card, path)
        return
    for j, item in enumerate(card.card_group):
        found.read(item, f"{path}.card_group[{j}]")
    is_of_users = found.legible or found.odd or found.skipped["no user"]
    is_other = any(item is not None and item != ListCard() for item in card.card_group)
    if is_other and not is_of_users and not is_next_named:
        raise Drift(f"{path}.card_group")


def _is_named(card: ListCard, request: Request) -> bool:
    """The itemid of a block ends with the owner's uid, that of an item with the item's."""
    return _is_list(card, request.kind) and str(card.itemid).endswith(f"_{request.uid}")


def _is_list(card: ListCard, kind: Kind) -> bool:
    """Whether its itemid says that the block is a list of this kind, whoever's."""
    itemid = card.itemid
    return isinstance(itemid, str) and itemid.startswith(_ITEM_ID[kind]) and not _is_user(card)


def _is_user(card: ListCard) -> bool:
    return isinstance(card.user, Face) or is_type(card.card_type, 10)


def _title(card: ListCard) -> str:
    title = card.title.get("text") if isinstance(card.title, dict) else card.title
    return title if isinstance(title, str) else ""

"""A page of posts: which cards are posts of the owner, what the next page is, and whom it leads
to: authors of the originals, and names in the texts. What is odd in these costs the link alone.

weibo_api.md, "Shapes and traps": cards without a post are skipped, groups are entered, cards by
other users (liked posts) are counted, a post may come pinned and again in its place.
"""

from collections import Counter
from collections.abc import Iterable

from weibo_crawler.records import (
    Id,
    NamedUser,
    Post,
    PostPage,
    Reading,
    Request,
    Unreadable,
    User,
    Verdict,
)
from weibo_crawler.sites.weibo.addresses import post_token
from weibo_crawler.sites.weibo.cursors import read_token
from weibo_crawler.sites.weibo.drift import Drift, identity, is_drift
from weibo_crawler.sites.weibo.ids import mid_of, named_by, owner_of
from weibo_crawler.sites.weibo.people import read_face, read_owner
from weibo_crawler.sites.weibo.post import author_of, is_gone, read_post
from weibo_crawler.sites.weibo.verdicts import nothing
from weibo_crawler.sites.weibo.wire import Card, Mblog, PageInfo, Timeline, is_type

# why a card is no post, by its type
_ENDED = "card_type 58"
_REASONS = {"6": "more", "9": "no post", "10": "user", "11": "group", "58": "end"}


class _Found:
    """What the cards of a page hold. shown: by mid, the post and what it was read from; read: how
    many posts could be read, repeats and those of others included; nameless: paths of cards that
    should hold a post, and do not even say that there is none."""

    def __init__(self, uid: Id, now: float) -> None:
        self._uid, self._now = uid, now
        self.shown: dict[Id, tuple[Post, Mblog]] = {}
        self.read = self.foreign = 0
        self.skipped: Counter[str] = Counter()
        self.unreadable: list[Unreadable] = []
        self.nameless: list[str] = []

    def collect(self, cards: list[Card | None], path: str) -> None:
        """Read the cards below `path`, groups included; of a post that comes twice, pinned wins."""
        for i, card in enumerate(cards):
            at = f"{path}[{i}]"
            if card is None:
                self.skipped["no card"] += 1
            elif isinstance(card.mblog, Mblog):
                self._read(card.mblog, card, at)
            elif not card.card_group:
                self.skipped[_REASONS.get(str(card.card_type), "other")] += 1
                if card.mblog is not None and is_type(card.card_type, 9):
                    self.nameless.append(f"{at}.mblog")
            if card is not None and card.card_group is not None:
                self.collect(card.card_group, f"{at}.card_group")

    def _read(self, status: Mblog, card: Card, path: str) -> None:
        try:
            post = self._post(status, card)
        except Drift as drift:
            mid = None if drift.path == ".bid" else _mid(status)
            self.unreadable.append(Unreadable(f"${path}.mblog{drift.path}", b"", mid))
            return
        self.read += 1
        if post is None:
            self.foreign += 1
        elif post.mid not in self.shown or post.is_pinned:
            self.shown[post.mid] = post, status

    def _post(self, status: Mblog, card: Card) -> Post | None:
        """None for what is no live post of this user: deleted, hidden, or by another."""
        if is_gone(status):
            return None
        author = author_of(status)
        uid, named = identity(author.id, ".user.id"), named_by(author.profile_url)
        if self._uid not in (uid, named):
            return None
        if named not in (uid, None):
            raise Drift(".user.id")
        return read_post(status, card, self._uid, self._now)


def read_timeline(page: Timeline | None, request: Request, now: float) -> Reading:
    """OK with a PostPage; END or EMPTY where the site shows no more.

    A page without a post of the owner is ambiguous: a proxy may have answered with another user's
    page. Where it names another owner it is of an unknown shape. In since_id mode a first card of
    type 58 is the end, unless a post of the owner follows it. The posts that cannot be read come
    without their JSON. Errors: Drift where the cards cannot be found or most of their posts cannot
    be read; it holds the page with those that can.
    """
    if page is None or not isinstance(page.cards, list | None):
        raise Drift(".data" if page is None else ".data.cards")
    cards = page.cards or []
    next_cursor, is_odd = _next_cursor(page.cardlistInfo, request.cursor)
    is_odd |= not cards and next_cursor is None and _names_page(page.cardlistInfo)
    is_last = next_cursor is None and not is_odd
    found = _Found(request.uid, now)
    found.collect(cards, ".data.cards")
    if not found.shown and owner_of(page.cardlistInfo) not in (None, request.uid):
        raise Drift(".data.cardlistInfo.containerid")
    if not cards and is_last:
        return nothing(request, "no cards")
    is_ended = bool(cards) and cards[0] is not None and is_type(cards[0].card_type, 58)
    if is_ended and is_last and not found.shown and post_token(request.cursor)[0] == "since_id":
        return Reading(Verdict.END, why=_ENDED, ambiguous=True)
    is_odd_page = is_drift(len(found.unreadable), found.read + len(found.unreadable))
    if is_odd_page and not found.shown:
        raise Drift(found.unreadable[0].path.removeprefix("$"))
    if not found.read and not found.unreadable:
        if found.nameless:
            raise Drift(found.nameless[0])
        if is_last and cards and not any(cards):
            raise Drift(".data.cards[0]")
        if is_ended and is_last:
            return nothing(request, _ENDED)
    found.skipped["odd cursor"] += is_odd
    in_order = sorted(found.shown.values(), key=lambda one: not one[0].is_pinned)
    writers, illegible = authors(status for _, status in in_order)
    post_page = PostPage(
        request.uid,
        tuple(post for post, _ in in_order),
        next_cursor,
        found.foreign,
        writers,
        mentions(post for post, _ in in_order),
        dict(+found.skipped),
        tuple(found.unreadable),
        read_owner(author_of(status) for _, status in found.shown.values()),
        illegible,
    )
    if is_odd_page:
        raise Drift(found.unreadable[0].path.removeprefix("$"), post_page)
    if not found.shown:
        return Reading(Verdict.OK, post_page, why="no post of the owner", ambiguous=True)
    return Reading(Verdict.OK, post_page)


def _mid(status: Mblog) -> int | None:
    try:
        return mid_of(status)
    except Drift:
        return None


def _names_page(info: PageInfo | None) -> bool:
    """Whether a number stands there that may be that of a later page."""
    page, is_odd = read_token(None if info is None else info.page)
    return is_odd or page not in (None, "1")


def _next_cursor(info: PageInfo | None, cursor: str) -> tuple[str | None, bool]:
    """The cursor of the next page, and whether there is an odd one in its place. since_id wins;
    a token that leads nowhere is the end, as is none at all."""
    if info is None:
        return None, False
    mode, value = post_token(cursor)
    since_id, is_odd = read_token(info.since_id)
    if since_id is not None:
        token = f"since_id={since_id}"
        return (token if token != cursor else None), False
    if is_odd or mode == "since_id":
        return None, is_odd
    page, is_odd = read_token(info.page)
    if page is None or not page.isdecimal():
        return None, is_odd or page is not None
    return (f"page={int(page)}" if int(page) > int(value) else None), False


def authors(statuses: Iterable[Mblog]) -> tuple[tuple[User | NamedUser, ...], int]:
    """Who wrote the originals of these posts, each once, NamedUser where the fans are not told; and
    of how many originals that cannot be read."""
    illegible = 0
    found: dict[Id, User | NamedUser] = {}
    for status in statuses:
        original = status.retweeted_status
        if original is None or is_gone(original):
            continue
        try:
            user = read_face(author_of(original))
        except Drift:
            illegible += 1
            continue
        if user.fans is None or user.screen_name is None:
            found.setdefault(user.uid, NamedUser(user.uid))
        else:
            found[user.uid] = User(user.uid, user.screen_name, user.fans)
    return tuple(found.values()), illegible


def mentions(posts: Iterable[Post]) -> tuple[str, ...]:
    """The screen names in the texts of these posts, newest post first, each once."""
    by_age = sorted(posts, key=lambda post: post.mid, reverse=True)
    return tuple(dict.fromkeys(name for post in by_age for name in post.mentions))

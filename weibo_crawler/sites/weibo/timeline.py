"""A page of posts: which cards are posts of the owner, and what the next page is.

WEIBO_API, "Shapes and traps": cards without a post are skipped, groups are entered, cards by other
users (liked posts) are counted, a post may come pinned and again in its place.
"""

from weibo_crawler.records import Post, PostPage, Reading, Request, Verdict
from weibo_crawler.sites.weibo.addresses import post_token
from weibo_crawler.sites.weibo.drift import Drift, identity
from weibo_crawler.sites.weibo.links import authors, mentions
from weibo_crawler.sites.weibo.post import author_of, is_gone, read_post
from weibo_crawler.sites.weibo.text import writable
from weibo_crawler.sites.weibo.verdicts import nothing
from weibo_crawler.sites.weibo.wire import Card, Mblog, PageInfo, Timeline, is_type

_Shown = dict[int, tuple[Post, Mblog]]  # by mid: the post, and what it was read from


def read_timeline(page: Timeline | None, request: Request, now: float) -> Reading:
    """OK with a PostPage; END or EMPTY where the site shows no more. Errors: Drift.

    A page of others' posts alone is ambiguous: a proxy may have answered with another user's page.
    In since_id mode a first card of type 58 is the end, whatever follows it.
    """
    if page is None or not isinstance(page.cards, list | None):
        raise Drift(".data" if page is None else ".data.cards")
    if not page.cards:
        return nothing(request)
    mode, _ = post_token(request.cursor)
    is_ended = is_type(page.cards[0].card_type, 58)
    if is_ended and mode == "since_id":
        return Reading(Verdict.END, why="card_type 58")
    shown: _Shown = {}
    try:
        foreign = _collect(page.cards, request.uid, now, shown)
    except Drift as drift:
        raise drift.under(".data.cards") from None
    if not shown and not foreign:
        if is_ended:
            return nothing(request)
        raise Drift(".data.cards")
    in_order = sorted(shown.values(), key=lambda one: not one[0].is_pinned)
    post_page = PostPage(
        request.uid,
        tuple(post for post, _ in in_order),
        _next_cursor(page.cardlistInfo, request.cursor),
        foreign,
        authors(status for _, status in in_order),
        mentions((post.mid, status) for post, status in in_order),
    )
    if not shown:
        return Reading(Verdict.OK, post_page, why="no post of the owner", ambiguous=True)
    return Reading(Verdict.OK, post_page)


def _collect(cards: list[Card], uid: int, now: float, shown: _Shown) -> int:
    """Add the posts of `uid` to `shown`, pinned ones over others; returns how many are foreign."""
    foreign = 0
    for i, card in enumerate(cards):
        try:
            if card.card_group is not None:
                foreign += _collect_group(card.card_group, uid, now, shown)
            elif card.mblog is None and is_type(card.card_type, 9):
                raise Drift(".mblog")
            if card.mblog is None:
                continue
            post = _read_post(card.mblog, card, uid, now)
        except Drift as drift:
            raise drift.under(f"[{i}]") from None
        if post is None:
            foreign += 1
        elif post.mid not in shown or post.is_pinned:
            shown[post.mid] = post, card.mblog
    return foreign


def _collect_group(cards: list[Card], uid: int, now: float, shown: _Shown) -> int:
    try:
        return _collect(cards, uid, now, shown)
    except Drift as drift:
        raise drift.under(".card_group") from None


def _read_post(status: Mblog, card: Card, uid: int, now: float) -> Post | None:
    """None for what is no live post of this user: deleted, hidden, or by another."""
    try:
        if is_gone(status) or identity(author_of(status).id, ".user.id") != uid:
            return None
        return read_post(status, card, uid, now)
    except Drift as drift:
        raise drift.under(".mblog") from None


def _next_cursor(info: PageInfo | None, cursor: str) -> str | None:
    """since_id wins; absent, null, "" and 0 are the end, and so is a token that leads nowhere."""
    if info is None:
        return None
    mode, value = post_token(cursor)
    since_id = str(info.since_id or "").strip()
    if since_id.strip("0"):
        token = f"since_id={writable(since_id)}"
        return token if token != cursor else None
    if mode == "since_id" or info.page in (None, ""):
        return None
    try:
        page = int(info.page or 0)
    except ValueError:
        raise Drift(".data.cardlistInfo.page") from None
    return f"page={page}" if page > int(value) else None

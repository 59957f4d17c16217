"""A page of a topic, or of the posts with some words: who wrote them.

weibo_api.md, "Shapes and traps": posts are cards, or stand in groups of them, among cards of
other kinds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from weibo_crawler.records import ILLEGIBLE, FanPage, Id, Reading, Request, User, Verdict
from weibo_crawler.sites.weibo.addresses import page_number
from weibo_crawler.sites.weibo.drift import Drift, is_drift
from weibo_crawler.sites.weibo.ids import owner_of
from weibo_crawler.sites.weibo.lists import named_next
from weibo_crawler.sites.weibo.people import read_face
from weibo_crawler.sites.weibo.post import author_of, is_gone
from weibo_crawler.sites.weibo.verdicts import nothing
from weibo_crawler.sites.weibo.wire import Card, Mblog, Timeline


def read_search(page: Timeline | None, request: Request, now: float) -> Reading:
    """OK with a FanPage; EMPTY or END (ambiguous) where the page shows no post.

    Errors: Drift where the cards cannot be found, most of the authors cannot be read, or the page
    is the timeline of a user.
    """
    if page is None or not isinstance(page.cards, list | None):
        raise Drift(".data" if page is None else ".data.cards")
    if owner_of(page.cardlistInfo) is not None:
        raise Drift(".data.cardlistInfo.containerid")
    users: dict[Id, User] = {}
    skipped, odd = Counter[str](), list[Drift]()
    statuses = [*_statuses(page.cards or (), ".data.cards")]
    for path, status in statuses:
        if is_gone(status):
            skipped["no user"] += 1
            continue
        try:
            user = read_face(author_of(status))
        except Drift as drift:
            skipped[ILLEGIBLE[drift.path != ".id"]] += 1
            odd.append(drift.under(path))
        else:
            users.setdefault(user.uid, user)
    if odd and (not users or is_drift(len(odd), len(statuses))):
        raise odd[0]
    if not users:
        return nothing(request, "nobody" if page.cards else "no cards")
    n = page_number(request.cursor)
    named, is_odd = named_next(page.cardlistInfo, n)
    skipped["odd cursor"] += is_odd
    counted = tuple(user for user in users.values() if user.fans is not None)
    uncounted = tuple(user.uid for user in users.values() if user.fans is None)
    following = str(n + 1 if named is None else named)
    found = FanPage(0, counted, following, 0, uncounted, dict(+skipped), named is not None)
    return Reading(Verdict.OK, found)


def _statuses(cards: Iterable[Card | None], path: str) -> Iterator[tuple[str, Mblog]]:
    """The posts below `path`, groups included, each with where it stands."""
    for i, card in enumerate(cards):
        if card is not None and isinstance(card.mblog, Mblog):
            yield f"{path}[{i}].mblog", card.mblog
        if card is not None:
            yield from _statuses(card.card_group or (), f"{path}[{i}].card_group")

"""What a harvest has read of a user, in place of asking for it again."""

from collections.abc import Iterable

from weibo_crawler.fetch import Fetched
from weibo_crawler.posts.due import Due
from weibo_crawler.posts.sharing import is_open
from weibo_crawler.records import Id, Kind, Outcome, PostPage, Reading, Request, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.sql.walk import Frontier


class KeptPages:
    """The kept pages of the users of a mapper: read with the users, deleted after their visits.
    Used in several threads, one at a time each: `of` where users are read, `ended` in the event
    loop, `drop` beside both."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._upto: dict[Id, float] = {}  # of users to be visited
        self._used: dict[Id, float] = {}

    def of(self, users: Iterable[Due]) -> list[Due]:
        """These users, with what is kept of them."""
        users = list(users)
        kept = self._frontier.kept_pages([user.uid for user in users])
        for uid, pages in kept.items():
            self._upto[uid] = max(page.fetched_at for page in pages)
        return [user._replace(kept=tuple(kept.get(user.uid, ()))) for user in users]

    def ended(self, outcome: Outcome) -> None:
        """A visit came to its end. Where it is not over its pages may be read again."""
        upto = self._upto.pop(outcome.uid, None)
        if upto is not None and not is_open(outcome):
            self._used[outcome.uid] = upto

    def drop(self) -> None:
        """Delete those of visits that are over; to be called often."""
        used, self._used = self._used, {}
        self._frontier.drop_pages(used)


class Kept:
    """The kept pages of one user, for one visit; each is used once. since: when the last visit was
    over: it saw what is older."""

    def __init__(self, site: Site, pages: Iterable[KeptPage], since: float) -> None:
        self._site = site
        self._pages = {page.url: page for page in pages if page.fetched_at > since}

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left to take."""
        return not self._pages

    def holds(self, request: Request) -> bool:
        """Whether `take` may give an answer to this."""
        return request.url in self._pages

    def take(self, request: Request, not_before: float = 0.0) -> Fetched | None:
        """The kept answer, if there is one that came at this time or later (seconds since the
        epoch) and that today's reader still takes for content, or for an emptiness that a kept
        profile confirms."""
        kept = self._pages.pop(request.url, None)
        if kept is None or kept.fetched_at < not_before:
            return None
        page = kept.page()
        reading = self._site.read(request, page)
        if reading.verdict is not Verdict.OK and not self._is_confirmed(request, reading):
            return None
        return Fetched(reading, page)

    def _is_confirmed(self, request: Request, reading: Reading) -> bool:
        """Whether page 1 is empty, and the profile that says so was kept beside it."""
        is_empty = reading.verdict is Verdict.EMPTY and request.kind is Kind.POSTS
        return is_empty and self.holds(self._site.profile(request.uid))


def is_all(reading: Reading) -> bool:
    """Whether a visit that is shown this as page 1, or beside it, need not ask for more."""
    page = reading.record
    if not isinstance(page, PostPage):  # a profile, or nothing, beside which one was kept
        return True
    return page.next_cursor is None and all(post.text_complete for post in page.posts)

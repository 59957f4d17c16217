"""Users found on a page: looked up where it does not tell their fans, filtered, counted."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from weibo_crawler.config import Harvest
from weibo_crawler.harvest.asking import Asker, Doubtful, People
from weibo_crawler.harvest.seen import SeenSet
from weibo_crawler.harvest.trouble import UsersFull
from weibo_crawler.records import ILLEGIBLE, EchoPage, Edge, FanPage, Id, User
from weibo_crawler.sites import Site
from weibo_crawler.store import Found, Landed, Landing

_REMEMBERED = 100_000  # who announces no posts: some 10 MB


class Sightings:
    """Users found on a page, while they are looked up. again, sure, seen, illegible: as in Shown.
    asked: whether the site was asked for a name."""

    def __init__(self, illegible: int = 0) -> None:
        self.illegible = illegible
        self.users: list[User] = []
        self.seen: list[Id] = []
        self.again = 0
        self.sure = True
        self.asked = False


class Postless:
    """Who is kept and announced no posts when this process met them. Their timelines lead to
    nobody, so they wait for the end of a walk where its order is free."""

    def __init__(self) -> None:
        self._waited: dict[Id, bool] = {}

    def __contains__(self, uid: Id) -> bool:
        return uid in self._waited

    def note(self, user: User) -> None:
        """Remember a new user who announces none."""
        if user.posts == 0 and len(self._waited) < _REMEMBERED:
            self._waited[user.uid] = False

    def is_to_wait(self, uid: Id) -> bool:
        """Whether to put a user off; once, then never again."""
        is_first = self._waited.get(uid) is False
        if is_first:
            self._waited[uid] = True
        return is_first


class Source(NamedTuple):
    """What reading needs, the same for all entries of a run. nameless: who is kept without a name,
    which a list may show. postless: who announces no posts. is_known: whether others hold somebody
    already who is not in `seen`."""

    site: Site
    asker: Asker
    people: People
    seen: SeenSet
    nameless: set[Id]
    settings: Harvest
    postless: Postless
    is_known: Callable[[Id], Awaitable[bool]]

    async def look_up(
        self, users: Iterable[User], uncounted: Iterable[Id], edge: Edge, found: Sightings
    ) -> None:
        """Find the users whose fans the page tells, then those whose fans it does not."""
        users, uncounted = list(users), list(uncounted)
        found.seen += [*(user.uid for user in users), *uncounted]
        counted = [user for user in users if user.fans is not None]
        self.people.met(counted)
        found.users += counted
        for uid in (*(user.uid for user in users if user.fans is None), *uncounted):
            await self.add(uid, edge, found)

    def count_skipped(self, page: FanPage | EchoPage) -> None:
        for reason, n in page.skipped.items():
            self.asker.counters.add(f"list.skipped.{reason}", n)

    async def add(self, uid: Id, edge: Edge, found: Sightings) -> None:
        """A user of whom only the uid is known; who is kept already needs no profile. Where the
        profile does not tell the fans either, the user is left out and counted."""
        if uid in self.seen or await self.is_known(uid):
            found.again += 1
            return
        try:
            user = await self.people.user(uid, edge)
        except Doubtful:
            found.sure = False
            return
        if user is not None and user.fans is None:
            self.asker.counters.add("users.uncounted")
            found.illegible += 1
        elif user is not None:
            found.users.append(user)

    def to_keep(self, users: Iterable[User], again: int) -> tuple[Found, ...]:
        """Leave out who has too few fans and who is known; count both. again: known ones beside."""
        found: dict[Id, Found] = {}
        filtered = 0
        for user in users:
            if user.fans is None or user.fans < self.settings.min_fans:
                filtered += 1
            elif user.uid in self.seen or user.uid in found:
                again += 1
            else:
                home = self.site.home(user.uid)
                found[user.uid] = Found(user.uid, home, user.screen_name, user.fans)
                self.postless.note(user)
        self.asker.counters.add("users.filtered", filtered)
        self.asker.counters.add("users.seen_again", again)
        return tuple(found.values())

    def note_kept(self, edge: Edge, found: Sequence[Found], landed: Landed) -> None:
        """Count the users of a page that was stored, and remember them. Errors: UsersFull."""
        self.asker.counters.add("users.kept", landed.inserted)
        self.asker.counters.add(f"edge.{edge}.kept", landed.inserted)
        if landed.landing is Landing.FULL:
            raise UsersFull
        self.asker.counters.add("users.seen_again", len(found) - landed.inserted)
        self.seen.add_all([user.uid for user in found])
        self.nameless.update(user.uid for user in found if user.screen_name is None)


def illegible_on(page: FanPage | EchoPage) -> int:
    return sum(page.skipped.get(reason, 0) for reason in ILLEGIBLE)

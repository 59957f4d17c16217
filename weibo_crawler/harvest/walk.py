"""One entry of the frontier: its lists, page by page, from fetch to committed rows."""

import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from weibo_crawler.fetch import Fetched, Fetcher
from weibo_crawler.harvest.seen import SeenSet
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Edge, FanPage, State, User, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.store import Entry, Found, Landed, Landing, PageCommit, Progress

UNSURE = "the list ended before its announced count"


class EntryTrouble(Exception):
    """This entry cannot go on now: let it rest, or fail it after too many attempts."""


class EntryGone(Exception):
    """The site says that this user does not exist any more."""


class EntryLost(Exception):
    """Another process holds this entry now: write nothing more."""


class UsersFull(Exception):
    """harvest.max_users is reached."""


class Walker(NamedTuple):
    """What walking an entry needs; `commit` and `name_seed` return when it is stored."""

    site: Site
    fetcher: Fetcher
    seen: SeenSet
    counters: Counters
    min_fans: int
    commit: Callable[[PageCommit], Awaitable[Landed]]
    name_seed: Callable[[int, User], Awaitable[None]]
    keep_drifted: Callable[[Fetched], Awaitable[None]]
    may_go_on: Callable[[], bool]

    async def walk(self, entry: Entry) -> bool:
        """Read every list of the entry. False: it was stopped between two pages."""
        if entry.is_seed and not entry.screen_name:
            entry = await self._name(entry)
        edges = list(entry.progress)
        for edge in edges:
            if not await self._walk_list(entry, edge, last_list=edge == edges[-1]):
                return False
        return True

    async def _name(self, entry: Entry) -> Entry:
        """A profile request tells a seed's name and fans. Where profiles are closed to visitors or
        of an unknown shape the walk goes on without, only nothing is announced then."""
        fetched = await self._fetch(self.site.profile(entry.uid), facts_only=False)
        reading = fetched.reading
        if isinstance(reading.record, User):
            await self.name_seed(entry.uid, reading.record)
            name, fans = reading.record.screen_name, reading.record.fans
            return entry._replace(screen_name=name, fans=fans)
        if reading.verdict in (Verdict.LOGIN_WALL, Verdict.DRIFTED):
            return entry
        raise EntryTrouble(f"the profile: {reading.verdict} {reading.why}".strip())

    async def _walk_list(self, entry: Entry, edge: Edge, *, last_list: bool) -> bool:
        progress = entry.progress[edge]
        listed = set(progress.last_ids)
        while self.may_go_on():
            page = await self._read_page(entry, edge, progress, listed, last_list)
            landed = await self.commit(page)
            if landed.landing is Landing.LOST:
                raise EntryLost
            self.counters.add("users.kept", landed.inserted)
            if landed.landing is Landing.FULL:
                raise UsersFull
            self.counters.add("users.seen_again", len(page.found) - landed.inserted)
            self.seen.add_all(user.uid for user in page.found)
            if page.ended is not None:
                return True
            progress = page.after
            entry = entry._replace(last_error="")
        return False

    async def _read_page(
        self, entry: Entry, edge: Edge, progress: Progress, listed: set[int], last_list: bool
    ) -> PageCommit:
        """Fetch one page and make it what is to be stored; `listed` gains its ids."""
        fetched = await self._fetch(self.site.edge(edge, entry.uid, progress.cursor))
        record = fetched.reading.record
        users = record.users if isinstance(record, FanPage) else ()
        ids = {user.uid for user in users}
        fresh = ids - listed
        ended: str | None = "end"
        after = progress
        if isinstance(record, FanPage) and (fresh or (record.missing and not users)):
            listed |= fresh
            ended = None if record.next_cursor is not None else "last_page"
            after = Progress(
                record.next_cursor or progress.cursor,
                tuple(sorted(ids)),
                progress.listed + len(fresh),
                progress.pages + 1,
            )
        elif users:
            ended = "no_new_user"
        sure = self._is_sure(entry, edge, after) if ended in ("end", "no_new_user") else True
        return PageCommit(
            uid=entry.uid,
            depth=entry.depth,
            edge=edge,
            cursor=progress.cursor,
            after=after,
            found=self._to_keep(users),
            fetched_at=fetched.page.fetched_at if fetched.page else time.time(),
            ended=ended,
            sure=sure,
            last=last_list and ended is not None,
        )

    def _is_sure(self, entry: Entry, edge: Edge, after: Progress) -> bool:
        """Law 4: an end where the announced count says that a page is, is asked again later; when
        it stands, it is stored as unsure."""
        announced = self.site.announced_pages(edge, entry.fans) if edge == Edge.FANS else 0
        if after.pages < announced and entry.last_error != UNSURE:
            raise EntryTrouble(UNSURE)
        return after.pages >= announced

    def _to_keep(self, users: tuple[User, ...]) -> tuple[Found, ...]:
        """Leave out who has too few fans and who is known; count both."""
        found: dict[int, Found] = {}
        filtered = again = 0
        for user in users:
            if user.fans < self.min_fans:
                filtered += 1
            elif user.uid in self.seen or user.uid in found:
                again += 1
            else:
                home = self.site.home(user.uid)
                found[user.uid] = Found(user.uid, home, user.screen_name, user.fans)
        self.counters.add("users.filtered", filtered)
        self.counters.add("users.seen_again", again)
        return tuple(found.values())

    async def _fetch(self, request: object, *, facts_only: bool = True) -> Fetched:
        """A page that is a fact, or the exception that says what is to be done."""
        fetched = await self.fetcher.fetch(request)  # type: ignore[arg-type]
        reading = fetched.reading
        if reading.verdict == Verdict.GONE:
            raise EntryGone
        if reading.verdict == Verdict.DRIFTED:
            await self.keep_drifted(fetched)
        if facts_only and reading.verdict not in (Verdict.OK, Verdict.EMPTY, Verdict.END):
            raise EntryTrouble(
                f"{reading.verdict}: {reading.why}" if reading.why else reading.verdict
            )
        return fetched


def state_after(trouble: EntryTrouble, entry: Entry, max_attempts: int) -> State:
    """An entry rests until it has used up its attempts; an unsure end costs none of them."""
    if str(trouble) == UNSURE:
        return State.RESTING
    return State.FAILED if entry.attempts + 1 >= max_attempts else State.RESTING

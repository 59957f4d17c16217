"""One entry of the frontier: its lists, page by page, from fetch to committed rows.

An entry is walked over `harvest.edges`. A list that guests are not shown is left aside while the
others are read; where that is so, `harvest.edges_if_walled` are walked as well. Lists that stayed
walled are marked so with the entry's last commit: until then they count as not yet read, so a
restart asks for them again.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from weibo_crawler.errors import Interrupted, SiteSaysNo
from weibo_crawler.evidence import Place
from weibo_crawler.fetch import Ask
from weibo_crawler.harvest.asking import KINDS
from weibo_crawler.harvest.committer import Committer
from weibo_crawler.harvest.edges import EdgeReader, Shown
from weibo_crawler.harvest.reopening import Reopening
from weibo_crawler.harvest.sightings import Source
from weibo_crawler.harvest.trouble import (
    DOUBTS,
    Doubt,
    EntryLost,
    EntryTrouble,
    HandBack,
    NoPage,
    PutOff,
    Silent,
    UnsureWall,
    Walled,
    WalledTwice,
)
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Edge, Id, User, Verdict
from weibo_crawler.store import NOT_SHOWN, WALLED, Entry, Landing, PageCommit, Progress
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.walls import Walls


class Walker(NamedTuple):
    """What walking an entry needs. owner: whose leases these are. noted: what the frontier was
    told once and for all of this run's entries."""

    source: Source
    walls: Walls
    counters: Counters
    committer: Committer
    frontier: Frontier
    owner: str
    reopening: Reopening
    noted: set[str]
    may_go_on: Callable[[], bool]

    async def walk(self, entry: Entry) -> bool:
        """Read every list of the entry. False: there was no list to read, and the entry is still
        leased.

        Errors: HandBack, PutOff, EntryGone, EntryTrouble, EntryLost, UsersFull, SiteSaysNo where
        guests are shown no edge at all.
        """
        if entry.is_unread:
            entry = await self._name(entry)
        visit = _Visit(self, entry)
        try:
            return await self._walk(visit, entry)
        except (EntryTrouble, HandBack, Interrupted):
            await visit.keep()
            raise

    async def keep(self, uid: Id, pages: Sequence[KeptPage]) -> None:
        """Keep pages that were read for one that is not stored."""
        await self.committer.call(self.frontier.keep_pages, uid, pages)
        self.counters.add("pages.kept", len(pages))

    async def _walk(self, visit: "_Visit", entry: Entry) -> bool:
        edges = self.source.settings.edges
        more = [e for e in self.source.settings.edges_if_walled if e not in edges]
        await visit.read(edges, may_end=True)
        is_reopened = not any(edge in entry.progress for edge in edges) and (
            entry.walled.intersection(edges) or entry.begun.intersection(more)
        )
        if (visit.walled or is_reopened) and more:
            await visit.read(more, may_end=False)
            edges = (*edges, *more)
        return await visit.end(edges)

    async def _name(self, entry: Entry) -> Entry:
        """Ask for the profile of a seed, which tells its name and fans. Where guests are not shown
        profiles, or no page comes, the walk goes on without knowing what is announced, and the next
        run asks again."""
        walls, now = self.walls, time.time()
        if not walls.may_ask(Edge.SEED, 1, now):
            return entry
        site, asker = self.source.site, self.source.asker
        try:
            ask = Ask(site.profile(entry.uid), is_retry=entry.is_retry)
            fetched = await asker.ask(ask, Edge.SEED)
        except Walled:
            walls.met(Edge.SEED, 1, now)
            return entry
        except (UnsureWall, NoPage):
            return entry
        except EntryTrouble:
            if entry.begun or any(edge in entry.progress for edge in self.source.settings.edges):
                raise
            return entry  # its lists were read in earlier runs
        walls.passed(Edge.SEED, 1, now)
        reading = fetched.reading
        if reading.verdict is Verdict.GONE:
            await asker.raise_gone(entry, Edge.SEED)
        if not isinstance(reading.record, User):
            raise Silent(f"the profile: {reading.verdict} {reading.why}".strip())
        name, fans = reading.record.screen_name, reading.record.fans
        named = self.owner, entry.uid, name, fans, time.time()
        await self.committer.call(self.frontier.name_seed, *named)
        if name is None and fans is not None:
            self.source.nameless.add(entry.uid)
        return entry._replace(screen_name=name, fans=fans)


class _Visit:
    """One walk of one entry. walled: lists of which guests are shown nothing."""

    def __init__(self, env: Walker, entry: Entry) -> None:
        self._env, self._entry = env, entry
        self._reader = EdgeReader(env.source, entry, env.walls)
        self._troubles: list[EntryTrouble] = []
        self._is_done = self._is_put_off = False
        self.walled: dict[Edge, str] = {}  # what the site said
        self._asked_at: dict[Edge, float] = {}  # when each of these was asked for
        self._unconfirmed = set[Edge]()  # those of them that nobody else found so

    async def read(self, edges: Sequence[Edge], *, may_end: bool) -> None:
        """Read these lists to their ends; a wall or a trouble of one does not stop the others.
        may_end: the entry is done with the last of them."""
        lists = [e for e in edges if e in self._entry.progress and e not in self.walled]
        self._reader.puts_off = bool(self.walled)  # depths are bounds, so the order is free
        for edge in lists:
            is_last = may_end and edge == lists[-1] and not self.walled and not self._troubles
            asked_at = time.monotonic()
            try:
                await self._read_list(edge, is_last)
            except Walled as wall:
                self.walled[edge], self._asked_at[edge] = str(wall), asked_at
                if isinstance(wall, WalledTwice):
                    self._unconfirmed.add(edge)
            except PutOff:
                self._is_put_off = True
            except EntryTrouble as trouble:
                self._troubles.append(trouble)

    async def end(self, edges: Sequence[Edge]) -> bool:
        """After all lists; see `Walker.walk`. edges: all that were to be read."""
        if self._troubles:
            worst = min(self._troubles, key=lambda trouble: isinstance(trouble, Doubt))
            raise self._all_doubts() if isinstance(worst, Doubt) else worst
        if self._is_put_off:
            raise PutOff
        if not self.walled:
            return self._is_done
        alone = {edge for edge in self.walled if await self._is_alone(edge)}
        if set(self.walled) == set(edges) and not alone:
            self._say_no(edges)
        for edge in self.walled:
            place, is_last = (edge, self._entry.progress[edge]), edge == [*self.walled][-1]
            sure = edge in alone and edge not in self._unconfirmed
            await self._mark_walled(*place, is_last, sure=sure)
        return True

    async def keep(self) -> None:
        """Keep what was read for a page that is not stored."""
        if read := self._reader.take_read():
            await self._env.keep(self._entry.uid, read)

    def _all_doubts(self) -> Doubt:
        """The doubts of all lists in one: one that is not remembered would be the first one again
        at the next walk, and two lists could keep an entry resting for ever."""
        return Doubt(DOUBTS.join(sorted(self._reader.doubted | set(map(str, self._troubles)))))

    def _say_no(self, edges: Sequence[Edge]) -> NoReturn:
        """Nothing at all is shown of this entry, nor of others."""
        reasons = ", ".join(f"{edge}: {why}" for edge, why in self.walled.items())
        if all(self._env.walls.is_closed(edge) for edge in edges):
            raise SiteSaysNo(
                f"the site says no: guests are shown none of harvest.edges ({reasons}); name other "
                "edges (harvest.edges_if_walled), or come back later with the same command"
            )
        raise EntryTrouble(reasons)

    async def _is_alone(self, edge: Edge) -> bool:
        """Whether guests are refused this list while those of others are shown."""
        asker, asked_at = self._env.source.asker, self._asked_at[edge]
        if self._env.walls.is_closed(edge):
            return False
        return await asker.shows_others(self._entry.uid, asked_at, edge)

    async def _read_list(self, edge: Edge, is_last: bool) -> None:
        progress = self._entry.progress[edge]
        while self._env.may_go_on():
            try:
                shown = await self._show(edge, progress)
            except Walled:
                if not (progress.pages or self._reader.behind):
                    raise
                await self._mark_walled(edge, progress, is_last)  # guests are shown so much of it
                return
            page = self._commit_of(edge, progress, shown, is_last)
            await self._name_kept(shown)
            await self._store(page)
            if shown.is_put_off:
                raise PutOff
            if page.ended is not None:
                return
            progress = page.after
        raise HandBack

    async def _show(self, edge: Edge, progress: Progress) -> Shown:
        """The next page of a list, if the edge may be asked for. Errors: Walled, and others."""
        walls, nth, now = self._env.walls, progress.pages + 1, time.time()
        self._reader.behind = 0
        if not walls.may_ask(edge, nth, now, shown=progress.pages):
            raise Walled(Verdict.LOGIN_WALL)
        try:
            shown = await self._reader.read(edge, progress)
        except Walled:
            is_reopened = edge in self._entry.begun and not progress.pages
            # neither was chosen by chance
            if not (is_reopened or self._is_left_over(edge, progress)):
                walls.met(edge, nth + self._reader.behind, now)
            raise
        if shown.is_proof:
            walls.passed(edge, nth + self._reader.behind, now)
        if self._env.reopening.is_news(self._entry.uid):
            await self._env.committer.call(self._env.reopening.shown)
        return shown

    def _is_left_over(self, edge: Edge, progress: Progress) -> bool:
        """Whether this entry was in trouble before, and others are known who were shown such a
        page: those that are walled are left over in the end, alone."""
        place = Place(KINDS[edge], bool(progress.cursor))
        evidence = self._env.source.asker.evidence
        return self._entry.is_retry and evidence.knows(self._entry.uid, place)

    def _commit_of(self, edge: Edge, progress: Progress, shown: Shown, is_last: bool) -> PageCommit:
        return PageCommit(
            uid=self._entry.uid,
            edge=edge,
            cursor=progress.cursor,
            after=shown.after,
            found=self._env.source.to_keep(shown.users, shown.again),
            fetched_at=shown.fetched_at,
            ended=shown.ended,
            sure=shown.sure,
            last=is_last and shown.ended is not None,
            nth=progress.pages,
            seen=shown.seen if self._env.source.settings.keep_edges else (),
            kept=self._reader.take_read(),
            illegible=shown.illegible,
        )

    async def _mark_walled(
        self, edge: Edge, progress: Progress, is_last: bool, *, sure: bool = False
    ) -> None:
        """The list ends here for now. sure: guests are refused this list alone, which is a fact
        about it; else it is none about the user (law 4), and a later run asks again."""
        if edge not in self._env.noted:
            await self._env.committer.call(self._env.frontier.note_walled, edge, time.time())
            self._env.noted.add(edge)
        mark = Shown((), progress, WALLED, time.time(), sure=sure)
        await self._store(self._commit_of(edge, progress, mark, is_last))
        self._env.counters.add(f"edge.{edge}.walled")

    async def _store(self, page: PageCommit) -> None:
        """Errors: EntryLost, UsersFull."""
        env = self._env
        if page.found and page.edge not in env.source.settings.edges and NOT_SHOWN not in env.noted:
            await env.committer.call(env.frontier.call_depths_bounds, NOT_SHOWN)
            env.noted.add(NOT_SHOWN)
        landed = await env.committer.commit(page)
        if landed.landing is Landing.LOST:
            raise EntryLost
        env.counters.add("pages.kept", len(page.kept))
        env.counters.add("users.unread", page.illegible)
        env.source.note_kept(page.edge, page.found, landed)
        self._is_done = self._is_done or page.last

    async def _name_kept(self, shown: Shown) -> None:
        """Whom a profile or an odd item left without a name, a list may name."""
        env, nameless = self._env, self._env.source.nameless
        for user in shown.users:
            if user.uid in nameless and user.screen_name is not None:
                named = user.uid, user.screen_name, time.time()
                await env.committer.call(env.frontier.name_kept, *named)
                nameless.discard(user.uid)

"""The keeper of leases: which egresses are this process's now, as the users' database says.

Every third of a lease, and soon after something of interest to others, it renews all leases in one
call, tells what changed, hands back what was recalled, and takes what was granted. It never takes
an answer for granted: the ring stops by itself when a lease could be over, counted by this
process's clock from before the call, so a paused or cut-off process sends nothing more.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Protocol

from weibo_crawler.errors import CrawlerError
from weibo_crawler.fetch.clients.threads import Threads
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.fetch.pool.ring import Ring
from weibo_crawler.fetch.pool.roster import differences
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.metrics import Counters
from weibo_crawler.records import AllOut, EgressState, LeaseTerm

_log = logging.getLogger(__name__)

_EARLY = 1 / 6  # of a lease: what still connects when it is over must be through
_LOOK_S = 1.0
_POLLS_PER_S = 50  # by all who hold nothing, together
_CLOSE_S = 10.0


class Leases(Protocol):
    """Where leases are kept; calls block, one at a time. Errors: StoreError."""

    def join(self, names: Sequence[str], *, rate: float, lease_s: float) -> None:
        """Begin to contend, holding nothing."""
        ...

    def enlist(self, names: Sequence[str], *, rate: float) -> None:
        """Contend for these from now on; what is held stays held."""
        ...

    def exchange(
        self, states: Mapping[str, EgressState], released: Sequence[str] = ()
    ) -> LeaseTerm:
        """Renew, tell what changed, hand back."""
        ...

    def leave(self, states: Mapping[str, EgressState]) -> None:
        """Hand all back."""
        ...


class Keeper:
    """Keeps the ring's egresses on lease. `failure`: why it ended, None while all is well.

    egresses: all that the settings name; address: as public_address of `Egress.lease_name`.
    budget: how names begin among leases where the pace is one for other hosts than the site's.
    Proxies are known to the database by their names alone. Counter: `egress.clamped`, those
    that were to wait longer than pace and rests allow.
    """

    def __init__(
        self,
        leases: Leases,
        ring: Ring,
        visitor: Visitor,
        egresses: Sequence[Egress],
        counters: Counters,
        *,
        address: str,
        lease_s: float,
        budget: str = "",
    ) -> None:
        self._leases, self._ring, self._visitor = leases, ring, visitor
        self._lease_s, self._look_s = lease_s, min(_LOOK_S, lease_s / 12)
        self._address, self._budget = address, budget
        self._name(egresses)
        self._listed: Sequence[Egress] | None = None  # in their place, when next we call
        self._unknown: list[str] = []  # granted after they had left the list
        self._threads: Threads[LeaseTerm | None] = Threads(1, "leases")
        self._task: asyncio.Task[None] | None = None
        self._on_renewal: Callable[[bool], None] = lambda is_news: None
        self._contenders = 1
        self._counters = counters
        self.out: AllOut | None = None  # as the term says
        self.has_term = False  # else nobody knows yet what others hold
        self.failure: Exception | None = None

    def start(self, on_renewal: Callable[[bool], None]) -> None:
        """Begin, unless it has begun. on_renewal: called when the ring goes on, or ends; True:
        who waits should choose anew."""
        if self._task is None:
            self._on_renewal = on_renewal
            self._task = asyncio.create_task(self._keep())

    def change(self, egresses: Sequence[Egress]) -> None:
        """The settings name these now: soon they are what is contended for."""
        self._listed = egresses

    async def close(self) -> None:
        """Hand everything back; nothing may be under way any more."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        now = asyncio.get_running_loop().time()
        states = self._told(self._ring.lose_all(now), now)
        # where that fails they are free when the lease ends, or at once on the same machine
        with suppress(TimeoutError, CrawlerError):
            async with asyncio.timeout(_CLOSE_S):
                await self._threads.run(lambda: self._leases.leave(states))
        self._threads.stop()

    # -- inside

    async def _keep(self) -> None:
        try:
            await self._join()
            while True:
                await self._enlist()
                began = await self._exchange()
                await self._until_due(began)
        except Exception as error:  # noqa: BLE001 - the top of a task: whoever fetches gets it
            self.failure = error
            self._ring.until = -inf
            self._on_renewal(True)

    async def _enlist(self) -> None:
        listed, self._listed = self._listed, None
        if listed is None:
            return
        _, left, moved = differences(self._egresses.values(), listed)
        self._name(listed)
        for egress in moved:
            self._ring.move(egress)
        for name in left:
            self._ring.retire(name)
        names = list(self._egresses)
        await self._threads.run(lambda: self._leases.enlist(names, rate=self._ring.ceiling))

    def _name(self, egresses: Sequence[Egress]) -> None:
        """Know them by their names among leases."""
        self._egresses = {
            self._budget + egress.lease_name(self._address): egress for egress in egresses
        }

    async def _join(self) -> None:
        names = list(self._egresses)
        await self._threads.run(
            lambda: self._leases.join(names, rate=self._ring.ceiling, lease_s=self._lease_s)
        )

    async def _exchange(self) -> float:
        """One call; returns when it began."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        released = self._ring.hand_back(began)
        changed = self._ring.changes(began)
        for name in self._visitor.changes():
            state = self._ring.state(name, began)
            if state is not None:
                changed[name] = state
        states = self._told({**changed, **released}, began)
        gone = [self._lease_name(name) for name in released] + self._unknown
        self._unknown = []
        for name in released:
            self._visitor.forget(name)
        term = await self._threads.run(lambda: self._leases.exchange(states, gone))
        assert term is not None
        self._contenders, self.out = term.contenders, term.out
        if not term.renewed:
            for name in self._ring.lose_all(loop.time()):
                self._visitor.forget(name)
            await self._join()
            return await self._exchange()
        self._take(term, loop.time(), began + self._lease_s * (1 - _EARLY))
        return began

    def _take(self, term: LeaseTerm, now: float, until: float) -> None:
        self._ring.until, self.has_term = until, True
        clamped: list[tuple[EgressState, str]] = []
        for name, state in term.granted.items():
            egress = self._egresses.get(name)
            if egress is None:
                self._unknown.append(name)
                continue
            if not self._ring.admit(egress, state, now):
                clamped.append((state, name))
            self._visitor.restore(egress, state.session, state.age_s, now)
        for state, name in clamped[:1]:
            _log.warning("%s", state.clamped(name, len(clamped)))
        self._counters.add("egress.clamped", len(clamped))
        retired = [self._ring.retire(self._ring_name(name)) for name in term.recalled]
        is_news = bool(term.granted) or any(retired)
        if is_news:
            self._ring.rearrange(now)
        self._on_renewal(is_news)

    async def _until_due(self, began: float) -> None:
        loop = asyncio.get_running_loop()
        poll_s = min(max(self._look_s, self._contenders / _POLLS_PER_S), self._lease_s / 3)
        while True:
            await asyncio.sleep(self._look_s)
            waited = loop.time() - began
            is_news = self._ring.is_news or self._visitor.is_news or self._listed is not None
            if waited >= self._lease_s / 3 or is_news:
                return
            if self._ring.is_empty and waited >= poll_s:
                return

    def _told(self, states: Mapping[str, EgressState], now: float) -> dict[str, EgressState]:
        """The states by the names of their leases, with their sessions."""
        return {
            self._lease_name(name): state._replace(session=self._visitor.saved(name, now))
            for name, state in states.items()
        }

    def _ring_name(self, lease: str) -> str:
        name = lease.removeprefix(self._budget)
        return DIRECT.name if name == DIRECT.lease_name(self._address) else name

    def _lease_name(self, name: str) -> str:
        own = DIRECT.lease_name(self._address) if name == DIRECT.name else name
        return self._budget + own

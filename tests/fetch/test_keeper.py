"""The holder's side of a lease: it never counts on more than the database may have given."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from random import Random

from tests.fetch.worlds import A, ScriptedSite
from weibo_crawler.config import Pace
from weibo_crawler.fetch.pool.keeper import Keeper
from weibo_crawler.fetch.pool.ring import Ring
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.metrics import Counters
from weibo_crawler.records import EgressState, LeaseTerm

LEASE_S, CALL_S = 6.0, 0.3


class Slow:
    """A database that takes its time, and counts a lease from the beginning of a call at the
    earliest. renewed: what each call answers."""

    def __init__(self, *renewed: bool) -> None:
        self.renewed, self.began = list(renewed), [0.0]

    def join(self, names: Sequence[str], *, rate: float, lease_s: float) -> None:
        """Nobody counts it."""

    def enlist(self, names: Sequence[str], *, rate: float) -> None:
        """Nor this."""

    def exchange(
        self, states: Mapping[str, EgressState], released: Sequence[str] = ()
    ) -> LeaseTerm:
        self.began.append(time.monotonic())
        time.sleep(CALL_S)
        is_renewed = self.renewed.pop(0) if self.renewed else True
        granted = {A.name: EgressState(1.0)} if is_renewed and len(self.began) == 2 else {}
        return LeaseTerm(is_renewed, granted, (), 1)

    def leave(self, states: Mapping[str, EgressState]) -> None:
        """All of it is handed back."""


class World:
    def __init__(self, leases: Slow) -> None:
        self.ring = Ring([], Pace(requests_per_second=1.0), is_leased=True)
        self.visitor = Visitor(ScriptedSite(True), Counters(), Random(1))
        self.keeper = Keeper(
            *(leases, self.ring, self.visitor, [A], Counters()), address="x", lease_s=LEASE_S
        )

        self.renewals: list[bool] = []

    async def until(self, renewals: int) -> None:
        """Keep the leases until they were renewed so often."""
        self.keeper.start(self.renewals.append)
        while len(self.renewals) < renewals:
            await asyncio.sleep(0.01)
            assert self.keeper.failure is None


def test_a_lease_counts_from_the_call_and_ends_early() -> None:
    """The database may have counted from the moment at which it was asked; and what is under way
    when a lease is over must be through before another one holds it."""

    async def scenario() -> None:
        leases = Slow()
        world = World(leases)
        await world.until(1)
        assert world.ring.until <= leases.began[1] + LEASE_S * 5 / 6
        await world.keeper.close()

    asyncio.run(scenario())


def test_who_lost_its_leases_holds_nothing_and_no_session() -> None:
    """They are somebody else's, and so are the sessions: what was known of them is old."""

    async def scenario() -> None:
        leases = Slow(True, False)
        world = World(leases)
        await world.until(1)
        assert not world.ring.is_empty
        world.visitor.adopt(A, {"SUB": "1"})
        assert world.visitor.is_ready(A)
        await world.until(2)
        assert world.ring.is_empty
        assert not world.visitor.is_ready(A)
        await world.keeper.close()

    asyncio.run(scenario())

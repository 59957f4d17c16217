"""A day of a hostile site, in virtual time: ring, pace, sessions and blame together."""

import asyncio
from collections import Counter
from itertools import pairwise

from tests.fetch.virtual import run
from tests.fetch.worlds import World, ask
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.records import Reading, Request, Verdict
from weibo_crawler.simulator.limits import Limits, Rate

DAY_S = 86_400.0
SESSION_S = 1800.0
EGRESSES = tuple(Egress(f"10.0.0.{n}:80", f"http://10.0.0.{n}:80") for n in range(1, 5))


class HostileSite:
    """Limits each address to a request in 40 s, bans who goes on, ends sessions after half an hour,
    and shows no later pages. served: by label, refusals among them."""

    def __init__(self) -> None:
        self._limits = Limits(Rate(1, 40.0), seed=1, ban_s=600.0, soft=0.2)
        self._born: dict[str, float] = {}
        self.served: Counter[str] = Counter()

    def answer(self, request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        now = asyncio.get_running_loop().time()
        refusal = self._limits.refuse(egress.name, now, is_list=True)
        session = egress.name + headers.get("Cookie", "")
        if refusal is not None:
            self.served[refusal.label] += 1
            if refusal.fault == "no_content":
                return Reading(Verdict.EMPTY, ambiguous=True)
            return Reading(Verdict.THROTTLED, why=refusal.fault)
        if now - self._born.setdefault(session, now) > SESSION_S:
            self.served["expired"] += 1
            return Reading(Verdict.LOGIN_WALL, why="expired")
        is_shown = not request.cursor
        self.served["ok" if is_shown else "walled"] += 1
        return Reading(Verdict.OK if is_shown else Verdict.LOGIN_WALL)


def test_a_day_of_a_hostile_site() -> None:
    """All day pages come, more than half of what the limits allow, and no first page is taken for
    walled; nobody is banned; sessions keep their cooldown and their ceiling. An emptiness that two
    egresses in a row are told is left to callers, who know the announced count (law 4): it is rare.
    """
    site = HostileSite()
    world = World(
        site.answer,
        egresses=EGRESSES,
        has_sessions=True,
        rate=0.05,
        attempts=9,
        sessions_per_hour=6,
    )
    got: Counter[tuple[str, Verdict]] = Counter()

    async def ask_all_day(uid: int) -> None:
        while asyncio.get_running_loop().time() < DAY_S:
            for cursor in ("", "", "", "2"):
                nth = int(cursor or 1)
                fetched = await world.fetcher.fetch(ask(cursor, uid=uid, nth=nth))
                got[cursor, fetched.reading.verdict] += 1

    async def scenario() -> None:
        await asyncio.gather(*(ask_all_day(uid) for uid in range(8)))

    run(scenario())
    assert not world.breaker.tripped
    empty = sum(got.pop((cursor, Verdict.EMPTY), 0) for cursor in ("", "2"))
    assert set(got) == {("", Verdict.OK), ("2", Verdict.LOGIN_WALL)}
    assert empty < got["", Verdict.OK] / 500
    assert got.total() > len(EGRESSES) * DAY_S / 40.0 / 2
    assert site.served["ban"] == 0
    for egress in EGRESSES:
        sent = [(at, r) for at, name, r, _ in world.transport.log if name == egress.name]
        asked = [at for at, request in sent if request.kind == "session"]
        assert all(later - earlier >= 60.0 for earlier, later in pairwise(asked[1:]))
        assert all(
            later - earlier >= 3600.0 - 1e-6
            for earlier, later in zip(asked, asked[6:], strict=False)
        )

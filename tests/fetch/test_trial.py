"""One egress tried, as `proxies check` does it."""

import asyncio
from random import Random

import pytest

from tests.fetch.virtual import run
from tests.fetch.worlds import A, B, ScriptedSite, ScriptedTransport
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.fetch.pool.trial import Trial, Trier
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Reading, Verdict

_LIMIT_S, _STALLS_S = 7.0, 10_000.0


def _tried(takes_s: float, *, concurrency: int, has_sessions: bool) -> tuple[list[Trial], float]:
    """Two egresses whose answers take so long, and when both were judged."""
    site = ScriptedSite(has_sessions)
    transport = ScriptedTransport(site, lambda *_: Reading(Verdict.OK), takes_s=takes_s)
    counters = Counters()
    sender = Sender(transport, frozenset({"site.invalid"}), counters)
    visitor = Visitor(site, counters, Random(1))
    trier = Trier(site, sender, visitor, concurrency=concurrency, gap_s=1.0, limit_s=_LIMIT_S)

    async def scenario() -> tuple[list[Trial], float]:
        trials = await asyncio.gather(trier.run(A), trier.run(B))
        return list(trials), asyncio.get_running_loop().time()

    return run(scenario())


@pytest.mark.parametrize("has_sessions", [False, True])
@pytest.mark.parametrize(("concurrency", "ends_at"), [(2, _LIMIT_S), (1, 2 * _LIMIT_S)])
def test_a_trial_has_its_limit(concurrency: int, ends_at: float, has_sessions: bool) -> None:
    """Of an egress that never answers it is said so after limit_s, whatever was asked for; the next
    one has its turn then."""
    trials, at = _tried(_STALLS_S, concurrency=concurrency, has_sessions=has_sessions)
    assert at == ends_at
    assert trials == [Trial("bad", None, None, _LIMIT_S, "no answer within 7 s")] * 2


def test_the_limit_holds_for_session_and_page_together() -> None:
    """Neither of them takes too long by itself."""
    trials, at = _tried(4.0, concurrency=2, has_sessions=True)
    assert {trial.state for trial in trials} == {"bad"}
    assert at == _LIMIT_S


def test_an_egress_that_answers_in_time_is_good() -> None:
    """A request for a session, a gap, and a page."""
    trials, at = _tried(2.5, concurrency=2, has_sessions=True)
    assert {trial.state for trial in trials} == {"good"}
    assert at == 6.0

"""What a silence costs: while nothing is shown, nobody asks for more than witnesses do."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fetch.test_doubts import NOTHING, Way, profile
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.evidence import Evidence, Place, is_shown
from weibo_crawler.fetch import Ask, Fetched, Fetcher
from weibo_crawler.records import Expect, Id, Kind, Reading, Request, Verdict

_LATER = 100  # of these users the second page of posts is asked for
_AT_ONCE = 40
_DOUBTED = 10  # second looks, at most, until there is a doubt
_LOOKS = 5  # at witnesses, before the circuit breaker ends the run


@pytest.mark.parametrize("has_two", [False, True])
def test_no_second_looks_in_a_silence(tmp_path: Path, has_two: bool) -> None:
    """Whatever is under way when a site falls silent, later pages too, which tell the circuit
    breaker nothing: its emptiness is not looked at again while nobody is shown anything. Witnesses
    tell, which the only egress is asked for once, and they end the run."""
    sent, silent_from = 0, 10**9

    def site(uid: int) -> object:
        nonlocal sent
        sent += 1
        return profile(uid) if sent < silent_from else NOTHING

    way = Way(tmp_path, *[site] * (1 + has_two))
    evidence = Evidence(1000)

    async def ask(fetcher: Fetcher, uid: int) -> Fetched:
        async def repeat(witness: Ask) -> bool | None:
            return is_shown((await evidence.fetch(fetcher, witness, repeat)).reading)

        if uid < _LATER:
            asked = Ask(way.site.profile(uid), Expect.CONTENT)
        else:
            asked = Ask(way.site.posts(uid, "page=2"), Expect.CONTENT, nth=2)
        return await evidence.fetch(fetcher, asked, repeat)

    async def crawl(fetcher: Fetcher) -> list[object]:
        nonlocal silent_from
        for uid in range(1, 31):
            await ask(fetcher, uid)
        silent_from = sent + 1
        asked = [ask(fetcher, uid) for uid in range(_LATER, _LATER + _AT_ONCE)]
        return list(await asyncio.gather(*asked, return_exceptions=True))

    [results] = asyncio.run(way.run(lambda fetcher: [crawl(fetcher)]))
    assert isinstance(results, list)
    assert isinstance(results[-1], SiteSaysNo)
    assert sent - silent_from < _AT_ONCE + _DOUBTED + _LOOKS * (1 + has_two)


def test_a_silence_of_texts_is_one_of_all() -> None:
    """What nobody was shown of late, of whatever kind, makes the next request of any kind wait for
    a witness; one that is shown lets it go on. A kind that alone is quiet asks for its own."""
    evidence, asked = Evidence(8), list[Kind]()

    async def show(ask: Ask) -> bool:
        asked.append(ask.request.kind)
        with evidence.asking() as begun:
            evidence.told(ask, begun, Reading(Verdict.OK))
        return True

    def told(kind: Kind, verdict: Verdict) -> None:
        with evidence.asking() as begun:
            evidence.told(Ask(Request(kind, str(kind))), begun, Reading(verdict))

    evidence.know(Request(Kind.PROFILE, "profile/1", uid=1))
    evidence.know(Request(Kind.POSTS, "posts/2", uid=2))
    next_one = Request(Kind.PROFILE, "profile/3", uid=3)
    for _ in range(10):
        asyncio.run(evidence.break_silence(next_one, show))
        assert not asked
        told(Kind.EXTEND, Verdict.EMPTY)
    asyncio.run(evidence.break_silence(next_one, show))
    assert len(asked) == 1
    asyncio.run(evidence.break_silence(next_one, show))
    assert len(asked) == 1
    asked.clear()
    for _ in range(10):
        told(Kind.POSTS, Verdict.EMPTY)
        told(Kind.PROFILE, Verdict.OK)
    asyncio.run(evidence.break_silence(next_one, show))
    assert not asked
    asyncio.run(evidence.break_silence(Request(Kind.POSTS, "posts/3", uid=3), show))
    assert asked == [Kind.POSTS]


def test_later_pages_tell_of_later_pages() -> None:
    """First pages that are shown say nothing of later ones: after ten later pages in a row that
    showed nothing, one that was shown before is asked for, as the page of its list that it is.
    Where no other user was shown one, first pages do tell."""
    evidence, asked = Evidence(8), list[Ask]()

    async def show(ask: Ask) -> bool:
        asked.append(ask)
        told(ask, Verdict.OK)
        return True

    def told(ask: Ask, verdict: Verdict) -> None:
        with evidence.asking() as begun:
            evidence.told(ask, begun, Reading(verdict))

    def first(uid: int) -> Ask:
        return Ask(Request(Kind.POSTS, f"posts/{uid}", uid=uid))

    def later(uid: int) -> Ask:
        return Ask(Request(Kind.POSTS, f"posts/{uid}/3", uid=uid, cursor="3"), nth=3)

    def many_ends(uid: int) -> None:
        for _ in range(10):
            told(first(uid), Verdict.OK)
            told(later(uid), Verdict.END)

    many_ends(1)
    asyncio.run(evidence.break_silence(later(1).request, show))
    assert not asked
    told(later(2), Verdict.OK)
    many_ends(1)
    asyncio.run(evidence.break_silence(first(1).request, show))
    assert not asked
    asyncio.run(evidence.break_silence(later(1).request, show))
    assert asked == [later(2)._replace(expect=Expect.SHOWN)]
    asyncio.run(evidence.break_silence(later(1).request, show))
    assert len(asked) == 1


@pytest.mark.parametrize("is_of_this_run", [True, False])
def test_a_later_page_of_ones_own_is_a_witness_where_no_other_is_known(
    is_of_this_run: bool,
) -> None:
    """The end behind a page that is shown no more tells nothing. What an earlier run was shown of
    this user tells of no others."""
    evidence, asked = Evidence(8), list[Ask]()
    first = Ask(Request(Kind.POSTS, "posts/1", uid=1))
    second, third = (
        Ask(Request(Kind.POSTS, f"posts/1/{nth}", uid=1, cursor=str(nth)), nth=nth)
        for nth in (2, 3)
    )

    async def show(ask: Ask) -> bool:
        asked.append(ask)
        return True

    def told(ask: Ask, verdict: Verdict) -> None:
        with evidence.asking() as begun:
            evidence.told(ask, begun, Reading(verdict))

    if is_of_this_run:
        told(second, Verdict.OK)
    else:
        evidence.know(second.request)
    for _ in range(10):
        told(first, Verdict.OK)
        told(third, Verdict.END)
    asyncio.run(evidence.break_silence(third.request, show))
    assert [ask.request for ask in asked] == [second.request] * is_of_this_run


def test_an_end_of_a_later_page_is_proven_by_first_ones_until_many_ended() -> None:
    """Until ten later pages in a row showed nothing, or one where the end contradicts a count; and
    where no other user was shown a later one."""
    evidence, first, later = Evidence(8), Place(Kind.POSTS), Place(Kind.POSTS, True)

    def told(uid: Id, verdict: Verdict) -> None:
        request = Request(Kind.POSTS, f"posts/{uid}/2", uid=uid, cursor="2")
        with evidence.asking() as begun:
            evidence.told(Ask(request, nth=2), begun, Reading(verdict))

    def proofs(uid: Id) -> list[Place]:
        return [evidence.proof_of(later, uid, sure=sure) for sure in (True, False)]

    for _ in range(10):
        told(1, Verdict.END)
    assert proofs(1) == [first, first]
    told(2, Verdict.OK)
    assert proofs(1) == [first, first]
    for _ in range(9):
        told(1, Verdict.END)
        assert proofs(1) == [first, later]
    told(1, Verdict.END)
    assert proofs(1) == [later, later]


def test_a_run_that_was_shown_no_later_page_itself_asks_sooner() -> None:
    """A run that begins in a silence of later pages asks one that an earlier run was shown after
    three of them; who was shown one itself waits for ten."""
    evidence, asked = Evidence(8), list[Id]()

    async def show(ask: Ask) -> bool:
        asked.append(ask.request.uid)
        return False

    def later(uid: Id) -> Request:
        return Request(Kind.POSTS, f"posts/{uid}/2", uid=uid, cursor="2")

    async def nothings_until_a_witness() -> int:
        asked.clear()
        for nothings in range(20):
            await evidence.break_silence(later(3), show)
            if asked:
                return nothings
            with evidence.asking() as begun:
                evidence.told(Ask(later(3)), begun, Reading(Verdict.EMPTY))
        return -1

    evidence.know(later(1))
    assert asyncio.run(nothings_until_a_witness()) == 3
    with evidence.asking() as begun:
        evidence.told(Ask(later(2)), begun, Reading(Verdict.OK))
    assert asyncio.run(nothings_until_a_witness()) == 10


def test_whom_a_refused_page_asks_about() -> None:
    """Another user who was shown something; a witness that is itself refused asks nobody."""
    evidence, asked = Evidence(1), list[Ask]()
    ok, refused = Reading(Verdict.OK), Reading(Verdict.REFUSED, is_ban=True)

    class Source:
        async def fetch(self, ask: Ask) -> Fetched:
            asked.append(ask)
            is_refused = ask.request.uid == 2
            if is_refused and ask.witness is not None:
                assert await ask.witness(time.monotonic())
            return Fetched(refused if is_refused else ok, None)

    async def repeat(witness: Ask) -> bool | None:
        source: Any = Source()
        return is_shown((await evidence.fetch(source, witness, repeat)).reading)

    async def scenario() -> None:
        for uid in (1, 2):
            request = Request(Kind.POSTS, f"posts/{uid}", uid=uid)
            source: Any = Source()
            await evidence.fetch(source, Ask(request), repeat)

    asyncio.run(scenario())
    assert [ask.request.uid for ask in asked] == [1, 2, 1]
    assert [ask.witness is None for ask in asked] == [False, False, True]


def test_witnesses_take_turns() -> None:
    """Nobody's page is asked for again and again: a witness who was asked comes behind the others
    that are known."""
    evidence, asked = Evidence(8), list[int]()

    def told(ask: Ask, verdict: Verdict) -> None:
        with evidence.asking() as begun:
            evidence.told(ask, begun, Reading(verdict))

    async def show(ask: Ask) -> bool:
        asked.append(ask.request.uid)
        told(ask, Verdict.OK)
        return True

    def first(uid: int) -> Ask:
        return Ask(Request(Kind.FANS, f"fans/{uid}", uid=uid))

    for uid in (1, 2, 3):
        told(first(uid), Verdict.OK)
    for _ in range(6):
        for _ in range(10):
            told(first(4), Verdict.EMPTY)
        asyncio.run(evidence.break_silence(first(4).request, show))
    assert asked == [3, 2, 1] * 2

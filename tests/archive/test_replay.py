"""What a replay of a visit knows of whether the site talked then."""

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from weibo_crawler.archive.exchanges import Exchange, Kept, Told, reading_of
from weibo_crawler.fetch import Ask
from weibo_crawler.records import Kind, Reading, Verdict
from weibo_crawler.reparse.replay import VisitReplay
from weibo_crawler.reparse.visits import _is_over
from weibo_crawler.sites.weibo import Weibo
from weibo_crawler.store.rows.cells import Ledger

SITE = Weibo("http://127.0.0.1:1", "", "agent")
UID = 7


def kept(at: float, kind: Kind, verdict: Verdict, *, is_talking: bool) -> Kept:
    url = (SITE.posts(UID, "") if kind is Kind.POSTS else SITE.profile(UID)).url
    told = Told(verdict)
    exchange = Exchange(kind, at, UID, read=verdict, told=told, is_talking=is_talking)
    return Kept(url, "direct", exchange, SimpleNamespace(http_headers=None), at)


@pytest.mark.parametrize("is_asked_again", [True, False])
def test_a_page_that_was_asked_for_again_says_that_the_site_talked(is_asked_again: bool) -> None:
    """A visit judges an emptiness when it has read the profile as well; others may have been shown
    something between that answer and the judgement, and the visit went on."""
    answers = [
        kept(1.0, Kind.POSTS, Verdict.EMPTY, is_talking=True),
        kept(2.0, Kind.PROFILE, Verdict.OK, is_talking=False),
    ]
    if is_asked_again:
        answers.append(kept(3.0, Kind.POSTS, Verdict.EMPTY, is_talking=True))

    async def visit(replay: VisitReplay) -> bool:
        await replay.fetch(Ask(SITE.posts(UID, "")))
        await replay.fetch(Ask(SITE.profile(UID)))
        return replay.is_talking

    assert asyncio.run(visit(VisitReplay(SITE, answers))) is is_asked_again


def test_a_profile_that_was_asked_for_before_says_that_the_site_was_silent() -> None:
    """The visit asked for it as nothing had been shown yet, so a later look tells nothing of that
    moment."""
    answers = [
        kept(1.0, Kind.POSTS, Verdict.EMPTY, is_talking=False),
        kept(2.0, Kind.PROFILE, Verdict.OK, is_talking=True),
        kept(3.0, Kind.POSTS, Verdict.EMPTY, is_talking=True),
    ]

    async def visit(replay: VisitReplay) -> list[bool]:
        await replay.fetch(Ask(SITE.posts(UID, "")))
        is_talking = [replay.is_talking]
        await replay.fetch(Ask(SITE.profile(UID)))
        return [*is_talking, replay.is_talking]

    assert asyncio.run(visit(VisitReplay(SITE, answers))) == [False, True]


@pytest.mark.parametrize("verdict", [Verdict.OK, Verdict.EMPTY])
def test_a_second_look_at_a_page_is_taken_where_it_was_taken(verdict: Verdict) -> None:
    """Whatever the page showed: its posts have the time of the look that was stored."""
    first = kept(1.0, Kind.POSTS, verdict, is_talking=True)
    second = kept(3.0, Kind.POSTS, verdict, is_talking=True)

    async def looks(*answers: Kept) -> bool:
        replay = VisitReplay(SITE, answers)
        await replay.fetch(Ask(SITE.posts(UID, "")))
        return replay.was_asked_again()

    assert asyncio.run(looks(first, second))
    assert not asyncio.run(looks(first))
    profile = kept(2.0, Kind.PROFILE, Verdict.OK, is_talking=True)
    assert not asyncio.run(looks(first, profile))


def test_a_witness_is_no_answer_to_the_visit() -> None:
    """Another visit asked for it, to know whether the site shows anything."""
    own = kept(1.0, Kind.POSTS, Verdict.OK, is_talking=True)
    other = kept(2.0, Kind.POSTS, Verdict.OK, is_talking=True)
    witness = other._replace(exchange=replace(other.exchange, is_witness=True))
    replay = VisitReplay(SITE, [own, witness])
    asyncio.run(replay.fetch(Ask(SITE.posts(UID, ""))))
    assert replay.place_of(SITE.posts(UID, "")) == float("inf")
    assert not replay.was_asked_again()


@pytest.mark.parametrize(
    ("held", "state", "is_over"),
    [
        ("20260101T000000Z-b", "done", False),
        ("20260101T000000Z-a", "done", True),
        ("20260101T000000Z-a", "partial", False),
        ("20260101T000000Z-0", "partial", True),
        ("20260102T000000Z-0", "done", True),
        ("20251231T000000Z-z", "done", False),
    ],
)
def test_runs_of_one_second_follow_each_other_as_they_did(
    held: str, state: str, is_over: bool
) -> None:
    """Their names do not sort by time then; those of other archives do, by the second."""
    runs = [f"20260101T000000Z-{name}" for name in "ba0"]
    assert _is_over(Ledger(state=state, run_id=held), runs[1], runs) is is_over


@given(
    now=st.builds(
        Reading,
        st.sampled_from(Verdict),
        why=st.text(),
        ambiguous=st.booleans(),
        is_cut=st.booleans(),
    ),
    why=st.text(),
)
def test_an_answer_that_still_reads_as_it_was_told_is_what_is_read_now(
    now: Reading, why: str
) -> None:
    """The words of today's reader count, and that a text is merely cut: a visit that is replayed
    takes such a post for one that is shown, as the visit did."""
    told = Told(now.verdict, why, now.ambiguous)
    exchange = Exchange(Kind.EXTEND, 1.0, UID, read=now.verdict, told=told, is_talking=True)
    assert reading_of(exchange, now) == now


def test_what_an_archive_leaves_out_is_nothing() -> None:
    """Archives that were written years ago are read by this: there, too, who is not named is
    nobody, and what is not told did not happen."""
    kept = json.decode(b'{"kind":"search","at":1.0}', type=Exchange)
    assert kept == Exchange(Kind.SEARCH, 1.0, 0, 0, "", None, None, False, False)

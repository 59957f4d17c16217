"""What a replay of a harvest takes for the end of a list that nobody looked behind."""

import asyncio
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.archive.test_cut_visits import BEGAN, answer, write
from weibo_crawler.archive.reader import ArchiveIndex, files_of, key_of
from weibo_crawler.errors import Interrupted
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.records import (
    Edge,
    Expect,
    FanPage,
    Id,
    PostPage,
    Reading,
    Request,
    Verdict,
)
from weibo_crawler.reparse import replay as replay_module
from weibo_crawler.reparse.replay import WalkReplay
from weibo_crawler.sites.weibo import Weibo

SITE = Weibo("http://127.0.0.1:1", "", "agent")


class NothingKept:
    walled: frozenset[Any] = frozenset()

    def __init__(self) -> None:
        self.notes = {"seeds": [(0.0, [9])]}

    def take(self, *_: object) -> SimpleNamespace | None:
        return None

    def last(self, *_: object) -> SimpleNamespace | None:
        return None


def test_a_full_list_that_no_sample_looked_behind_ends() -> None:
    """A harvest asks behind a sample of full lists only: what the archive lacks there is an end.
    A first page that it lacks, or a later one that was to show more, is no fact."""
    replay = WalkReplay(SITE, cast(ArchiveIndex, NothingKept()), 1)
    later = SITE.edge(Edge.FANS, 5, "2")
    ended = asyncio.run(replay.fetch(Ask(later, expect=Expect.NOTHING)))
    assert ended.reading.verdict is Verdict.END
    for ask in (Ask(later), Ask(SITE.edge(Edge.FANS, 5, ""), expect=Expect.NOTHING)):
        with pytest.raises(Interrupted):
            asyncio.run(replay.fetch(ask))


class Pages(NothingKept):
    """An index that holds one page of each of these lists, and nothing behind."""

    def __init__(self, named: dict[Id, bool]) -> None:
        super().__init__()
        self._left = {key_of(r.kind, r.url): named[r.uid] for r in map(_first, named)}

    def take(self, *asked: Any) -> Any:
        exchange = SimpleNamespace(is_talking=True)
        is_named = self._left.pop(asked[0], None)
        if is_named is None:
            return None
        exchange.told = Reading(Verdict.OK)
        self._last = SimpleNamespace(order=0.0, exchange=exchange, is_named=is_named)
        return self._last

    def next_at(self, *_: object) -> float:
        return 0.0


def _fetched_of(_: object, request: Request, kept: SimpleNamespace) -> Fetched:
    page = FanPage(request.uid, (), "2", is_next_named=kept.is_named)
    return Fetched(Reading(Verdict.OK, page), None)


def _first(uid: int) -> Request:
    return SITE.edge(Edge.FANS, uid, "")


@pytest.mark.parametrize("do_others", [True, False])
def test_a_list_that_names_no_next_page_ends_where_others_do(
    monkeypatch: pytest.MonkeyPatch, do_others: bool
) -> None:
    """Of such ends a harvest asks for a sample, too; where no list names a next page, it asks for
    all of them, and what the archive lacks is no fact."""
    monkeypatch.setattr(replay_module, "fetched_of", _fetched_of)
    replay = WalkReplay(SITE, cast(ArchiveIndex, Pages({5: False, 6: do_others})), 1)

    async def scenario() -> Fetched:
        for uid in (5, 6):
            await replay.fetch(Ask(_first(uid)))
        with pytest.raises(Interrupted):
            await replay.fetch(Ask(_first(7)))
        return await replay.fetch(Ask(SITE.edge(Edge.FANS, 5, "2")))

    if do_others:
        assert asyncio.run(scenario()).reading.verdict is Verdict.END
        return
    with pytest.raises(Interrupted):
        asyncio.run(scenario())


def test_a_profile_that_nobody_asked_for_is_doubtful() -> None:
    """Where lists land in another order somebody is met first on a page that does not tell the
    number of fans, whom the harvest had met with it: that costs this page a second look, not the
    walk. The profile of a seed is no such thing."""
    replay = WalkReplay(SITE, cast(ArchiveIndex, NothingKept()), 1)
    met = asyncio.run(replay.fetch(Ask(SITE.profile(5)))).reading
    assert (met.verdict, met.ambiguous) == (Verdict.EMPTY, True)
    with pytest.raises(Interrupted):
        asyncio.run(replay.fetch(Ask(SITE.profile(9))))


def test_a_second_look_that_nobody_took_shows_the_same() -> None:
    """A harvest takes a sample of second looks also at pages that repeat what was shown; a first
    look that the archive lacks is no such thing."""
    index = Pages({5: True})
    replay = WalkReplay(SITE, cast(ArchiveIndex, index), 1)
    index.last = lambda *_: index._last  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay_module, "fetched_of", _fetched_of)

        async def scenario() -> list[Verdict]:
            asks = Ask(_first(5)), Ask(_first(5), is_retry=True)
            return [(await replay.fetch(ask)).reading.verdict for ask in asks]

        assert asyncio.run(scenario()) == [Verdict.OK, Verdict.OK]
        with pytest.raises(Interrupted):
            asyncio.run(replay.fetch(Ask(_first(5))))


@pytest.mark.parametrize("said", [[Verdict.LOGIN_WALL], [Verdict.LOGIN_WALL, Verdict.OK], []])
def test_a_sort_that_began_walled_is_walled(tmp_path: Path, said: list[Verdict]) -> None:
    """An entry that rested while others met the wall never asked for its own list, and a replay,
    which does not rest as long, may come to it before any of them. What the first answer does not
    say of a sort is no wall."""
    told = said or [Verdict.OK, Verdict.LOGIN_WALL]
    lists = [SITE.edge(Edge.FOLLOWS, uid, "") for uid in range(5, 5 + len(told))]
    answers = [
        answer(BEGAN + n, "", [3])._replace(request=request, told=Reading(verdict))
        for n, (request, verdict) in enumerate(zip(lists, told, strict=True))
    ]
    write(tmp_path, "b", answers[1:], "harvest")
    write(tmp_path, "c", answers[:1], "harvest")
    write(tmp_path, "a", [one._replace(told=Reading(Verdict.OK)) for one in answers], "posts")
    index = ArchiveIndex(tmp_path / "index.db", files_of([tmp_path]), print)
    replay = WalkReplay(SITE, index, 1)
    with closing(index):
        for request in (SITE.edge(Edge.FANS, 9, ""), SITE.edge(Edge.FOLLOWS, 9, "2")):
            with pytest.raises(Interrupted):
                asyncio.run(replay.fetch(Ask(request)))
        ask = Ask(SITE.edge(Edge.FOLLOWS, 9, ""))
        if said:
            fetched = asyncio.run(replay.fetch(ask))
            assert fetched.reading.verdict is Verdict.LOGIN_WALL
            return
        with pytest.raises(Interrupted):
            asyncio.run(replay.fetch(ask))


def test_a_witness_is_no_second_look(tmp_path: Path) -> None:
    """Others asked for this page again, while the site may have been silent: a walk that looks a
    second time, as the crawl did not, is shown what it was shown, and the site talks as it did.
    Who asks for a witness gets that answer, as often as they ask."""
    first, later = answer(BEGAN, "", [3]), answer(BEGAN + 9, "", [3, 2])
    witness = later._replace(is_talking=False, is_witness=True)
    write(tmp_path, "a", [first, witness], stage="harvest")
    index = ArchiveIndex(tmp_path / "index.db", files_of([tmp_path]), print)
    replay, request = WalkReplay(SITE, index, 1), first.request
    again, others = Ask(request, Expect.NOTHING, is_retry=True), Ask(request, Expect.SHOWN)

    async def scenario() -> list[tuple[int, bool]]:
        shown = []
        for ask in (Ask(request), again, others, others, again):
            page = (await replay.fetch(ask)).reading.record
            assert isinstance(page, PostPage)
            shown.append((len(page.posts), replay.is_talking))
        return shown

    try:
        assert asyncio.run(scenario()) == [(1, True)] * 2 + [(2, False)] * 2 + [(1, True)]
    finally:
        index.close()

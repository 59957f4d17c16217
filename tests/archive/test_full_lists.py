"""What a replay of a harvest takes for the end of a list that nobody looked behind."""

import asyncio
from typing import cast

import pytest

from weibo_crawler.archive.reader import ArchiveIndex
from weibo_crawler.errors import Interrupted
from weibo_crawler.fetch import Ask
from weibo_crawler.records import Edge, Expect, Verdict
from weibo_crawler.reparse.replay import WalkReplay
from weibo_crawler.sites.weibo import Weibo


class NothingKept:
    def take(self, *_: object) -> None: ...

    def last(self, *_: object) -> None: ...


def test_a_full_list_that_no_sample_looked_behind_ends() -> None:
    """A harvest asks behind a sample of full lists only: what the archive lacks there is an end.
    A first page that it lacks, or a later one that was to show more, is no fact."""
    site = Weibo("http://127.0.0.1:1", "", "agent")
    replay = WalkReplay(site, cast(ArchiveIndex, NothingKept()), 1)
    later = site.edge(Edge.FANS, 5, "2")
    ended = asyncio.run(replay.fetch(Ask(later, expect=Expect.NOTHING)))
    assert ended.reading.verdict is Verdict.END
    for ask in (Ask(later), Ask(site.edge(Edge.FANS, 5, ""), expect=Expect.NOTHING)):
        with pytest.raises(Interrupted):
            asyncio.run(replay.fetch(ask))

"""Pages on their way into the store."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from weibo_crawler.harvest import committer
from weibo_crawler.harvest.committer import Committer
from weibo_crawler.records import Edge, Id
from weibo_crawler.store import Landed, Landing, PageCommit, Progress
from weibo_crawler.store.sql.walk import Frontier


def page(uid: int) -> PageCommit:
    """The last page of an entry."""
    progress = Progress("", (), 0, 0)
    return PageCommit(uid, Edge.FANS, "", progress, (), 1.0, "end", True, last=True)


class Levels:
    """A frontier whose open level the test sets; it counts how often a page is brought. User 1 is a
    seed, user 2 one step away."""

    def __init__(self) -> None:
        self.level = 0
        self.brought: list[Id] = []

    def commit(
        self, owner: str, run_id: str, pages: Sequence[PageCommit], *, max_users: int
    ) -> list[Landed]:
        self.brought += [page.uid for page in pages]
        return [
            Landed(Landing.STORED if page.uid in range(self.level + 2) else Landing.AHEAD, 0)
            for page in pages
        ]

    def open(self) -> None:
        self.level += 1


def test_a_page_ahead_is_brought_again_when_its_level_may_be_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is parked meanwhile, whatever other pages are stored and however it ends itself; an entry
    that is done with and a change of the frontier make it try again at once."""
    monkeypatch.setattr(committer, "_LOOK_AGAIN_S", 60.0)

    async def scenario() -> None:
        levels = Levels()
        commits = Committer(cast(Frontier, cast(Any, levels)), "owner", "run", 10)
        running = asyncio.create_task(commits.run())
        ahead = asyncio.create_task(commits.commit(page(2)))
        while not commits.parked:
            await asyncio.sleep(0.001)
        for _ in range(5):
            unfinished = page(1)._replace(ended=None, last=False)
            assert (await commits.commit(unfinished)).landing is Landing.STORED
        assert levels.brought.count(2) == 1
        await commits.commit(page(1))
        while levels.brought.count(2) < 2:
            await asyncio.sleep(0.001)
        await commits.call(levels.open)
        assert (await ahead).landing is Landing.STORED
        running.cancel()
        commits.close()

    asyncio.run(asyncio.wait_for(scenario(), 30))

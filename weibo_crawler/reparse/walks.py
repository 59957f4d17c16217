"""The harvests of an archive again, as one."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler.archive.reader import ArchiveIndex, key_of
from weibo_crawler.config import Settings
from weibo_crawler.fetch import Room
from weibo_crawler.fetch.opening import PLACES
from weibo_crawler.harvest.run import HarvestRun
from weibo_crawler.metrics import Counters
from weibo_crawler.reparse.replay import WalkReplay
from weibo_crawler.sites import Site
from weibo_crawler.store import Found, Topic
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sql.walk import Frontier

_LOOK_S = 0.5
_PATIENT_LOOKS = 6  # without an answer given, before the archive counts as used up


class Walked(NamedTuple):
    """why: the harvest ended; lacking: how many wanted pages the archive does not hold."""

    why: str
    lacking: int


def replay_seeds(index: ArchiveIndex, site: Site, frontier: Frontier, run_id: str) -> bool:
    """Store the seeds that the archive names; whether it names any. Errors: StoreError."""
    notes = sorted(index.notes.get("seeds", []))
    for at, uids in notes:
        frontier.add_seeds([Found(uid, site.home(uid)) for uid in uids], run_id, at)
    topics = (words for _, some in index.notes.get("topics", []) for words in map(str, some))
    frontier.add_topics([*dict.fromkeys(topics)])
    return bool(notes)


async def replay_walks(
    index: ArchiveIndex,
    site: Site,
    frontier: Frontier,
    settings: Settings,
    counters: Counters,
    say: Callable[[str], None],
) -> Walked:
    """Walk as the archive says. Errors: SiteSaysNo where the harvest ended by that, and
    StoreError."""
    run_id = index.writers("harvest")[0].run_id
    places = max(PLACES, settings.fetch.concurrency)  # fewer than it had lose its order
    source = WalkReplay(site, index, places)
    given = -1
    while True:
        run = HarvestRun(
            *(replace(settings.harvest, rest_s=0.05, max_time_s=None), frontier, site),
            *(source, counters),
            owner=new_owner(),
            run_id=run_id,
            room=lambda: Room(places),
            progress=lambda: say(f"{source.given:,} pages replayed"),
        )
        watch = asyncio.create_task(_end_where_nothing_comes(run, source))
        try:
            ended = await run.run()
        finally:
            watch.cancel()
        again = [one.words for one in frontier.topics() if _was_read_again(one, index, site)]
        if not again or source.given == given:
            return Walked(ended.why, source.lacking)
        given = source.given
        frontier.add_topics(again)


def _was_read_again(topic: Topic, index: ArchiveIndex, site: Site) -> bool:
    """Whether a later harvest read a topic once more."""
    request = site.search(topic.words, "")
    return index.has(key_of(request.kind, request.url))


async def _end_where_nothing_comes(run: HarvestRun, source: WalkReplay) -> None:
    """An entry that the archive does not hold to its end keeps its level open: what lies deeper
    waits for it for ever."""
    given, looks = -1, 0
    while looks < _PATIENT_LOOKS:
        await asyncio.sleep(_LOOK_S)
        looks = looks + 1 if source.lacking and source.given == given else 0
        given = source.given
    run.stop("the archive holds no more")

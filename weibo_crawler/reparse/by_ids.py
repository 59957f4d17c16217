"""The posts that were asked for by their ids again, from an archive."""

from collections import Counter

from weibo_crawler.archive.reader import ArchiveIndex, Writer, key_of
from weibo_crawler.posts.ids import ByIds, Came
from weibo_crawler.posts.writer import Writer as TablesWriter
from weibo_crawler.records import Id
from weibo_crawler.reparse.replay import fetched_of
from weibo_crawler.sites import Site
from weibo_crawler.store import Table
from weibo_crawler.store.guard import Guard


async def replay_ids(
    index: ArchiveIndex,
    process: Writer,
    site: Site,
    writer: TablesWriter,
    posts: Table,
    guard: Guard,
) -> Counter[Came]:
    """Store what one run was shown, and mark what it was told to be gone; how many came to what.
    Errors: StoreError."""
    came_to: Counter[Came] = Counter()
    by_ids = ByIds(site, writer, posts, guard, process.run_id, _nobody_asks)
    for kept in index.told(process):
        mid = kept.exchange.mid
        key = key_of(kept.exchange.kind, kept.url)
        for way in site.post(mid):
            if key_of(way.kind, way.url) == key:
                came = await by_ids.met(mid, fetched_of(site, way, kept))
                came_to.update(() if came is None else (came,))
    await by_ids.mark()
    return came_to


def _nobody_asks(mid: Id, came: Came) -> None: ...

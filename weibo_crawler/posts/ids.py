"""Posts by their ids: each is asked for by itself, and comes to one outcome."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from msgspec.structs import replace

from weibo_crawler.errors import BadConfig, BadUsage, Interrupted, SiteSaysNo
from weibo_crawler.fetch import Ask, Fetched, Fetcher
from weibo_crawler.metrics import PURPOSE
from weibo_crawler.posts.changes import changed_cells, is_edited
from weibo_crawler.posts.writer import Writer
from weibo_crawler.records import TEXT_ID, Expect, FullText, Id, Page, Post, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.store import Put, Row, Table
from weibo_crawler.store.guard import Guard
from weibo_crawler.store.rows.cells import gone_cells, read_post
from weibo_crawler.store.rows.keys import parse_post_key, post_key

_MOST_ID = 2**63 - 1
_TOLD = 3  # wrong lines that an error names


class Came(StrEnum):
    """What an id came to.

    ok          shown, and stored as it is
    edited      shown, and another than the stored one, which is kept as an older version
    gone        the site says that there is no such post; a stored one is marked, and kept
    restricted  there is one, and the site shows it to others only
    walled      guests are not shown such pages
    unknown     none of these: trouble, a refusal, an emptiness, a shape that nobody knows, or the
                post of somebody whom `forget` removed
    """

    OK = "ok"
    EDITED = "edited"
    GONE = "gone"
    RESTRICTED = "restricted"
    WALLED = "walled"
    UNKNOWN = "unknown"


_OF_VERDICT = {  # the first that any way says
    Verdict.GONE: Came.GONE,
    Verdict.RESTRICTED: Came.RESTRICTED,
    Verdict.LOGIN_WALL: Came.WALLED,
}


def read_ids(path: Path, site: Site) -> list[Id]:
    """The ids of a file, one a line, each once; # begins a comment. Errors: BadConfig for a file
    that cannot be read, BadUsage names the lines that hold no id."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadConfig(f"{path}: cannot be read: {why}; it holds an id of a post a line") from None
    found: dict[Id, None] = {}
    wrong = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if (mid := _id(text, site)) is not None:
            found[mid] = None
        elif text:
            wrong.append(f"{path}:{number}: {text[:30]!r}")
    if wrong:
        more = f" and {len(wrong) - _TOLD} more" if len(wrong) > _TOLD else ""
        what = "; such an id is a number" if site.ids is int else ""
        raise BadUsage(f"no id of a post: {', '.join(wrong[:_TOLD])}{more}{what}")
    if not found:
        raise BadUsage(f"{path}: no id in it; give an id of a post a line")
    return list(found)


def _id(text: str, site: Site) -> Id | None:
    if site.ids is str:
        return text if TEXT_ID.fullmatch(text) else None
    is_id = text.isascii() and text.isdecimal() and len(text) < 20 and 0 < int(text) <= _MOST_ID
    return int(text) if is_id else None


class ByIds:
    """Asks for posts one by one, many at once, and stores what is shown.

    A post costs a request, and a second one, by another way, where the first shows none and does
    not say that it is gone. told: is called with each id and its outcome, in the order in which
    they come.
    """

    def __init__(
        self,
        site: Site,
        writer: Writer,
        posts: Table,
        guard: Guard,
        run_id: str,
        told: Callable[[Id, Came], None],
    ) -> None:
        self._site, self._writer = site, writer
        self._posts, self._guard, self._run_id, self._told = posts, guard, run_id, told
        self._gone: dict[Id, float] = {}
        self.came: Counter[Came] = Counter()

    async def run(self, fetcher: Fetcher, mids: Iterable[Id]) -> None:
        """Errors: SiteSaysNo, StoreError, Interrupted after `Fetcher.drain`; what was told until
        then is stored."""
        left = iter(mids)
        places = fetcher.room().places
        workers = [asyncio.create_task(self._work(fetcher, left)) for _ in range(places)]
        try:
            done, others = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            ends = [error for task in done if (error := task.exception())]
            if all(isinstance(error, SiteSaysNo | Interrupted) for error in ends):
                await asyncio.gather(*others, return_exceptions=True)  # as they are told so, too
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await self.mark()
        if ends:
            raise ends[0]

    async def _work(self, fetcher: Fetcher, left: Iterator[Id]) -> None:
        PURPOSE.set("ids")
        for mid in left:
            came = await self._ask(fetcher, mid)
            self.came[came] += 1
            self._told(mid, came)

    async def _ask(self, fetcher: Fetcher, mid: Id) -> Came:
        said = []
        for way in self._site.post(mid):
            # where a way shows nothing, the next one is the witness
            fetched = await fetcher.fetch(Ask(way, Expect.LIKELY))
            if (came := await self.met(mid, fetched)) is not None:
                return came
            said.append(fetched.reading.verdict)
        return next(
            (came for verdict, came in _OF_VERDICT.items() if verdict in said), Came.UNKNOWN
        )

    async def met(self, mid: Id, fetched: Fetched) -> Came | None:
        """Store what an answer shows of a post; None: it neither shows it nor says that it is gone.
        What is gone is marked by `mark`."""
        record, page = fetched.reading.record, fetched.page
        if isinstance(record, FullText) and record.post is not None and page is not None:
            return await self._store(record.post, page)
        if fetched.reading.verdict is not Verdict.GONE:
            return None
        if page is not None:
            self._gone[mid] = page.fetched_at
        return Came.GONE

    async def mark(self) -> None:
        """Mark the stored ones of those that are gone."""
        if self._gone:
            await self._writer.call(self._mark)

    async def _store(self, post: Post, page: Page) -> Came:
        if await self._writer.call(self._is_forgotten, post.uid):
            return Came.UNKNOWN
        key = post_key(post.uid, post.mid)
        cells = await self._writer.call(self._posts.row, key)
        held = read_post(Row(key, dict(cells))) if cells else None
        # whether it is pinned the page of one post does not say
        shown = replace(post, is_pinned=bool(held and held["is_pinned"]))
        put = Put.at(key, changed_cells(held, shown, page, self._run_id), page.fetched_at)
        await self._writer.put([put], [])
        return Came.EDITED if held is not None and is_edited(held, shown) else Came.OK

    def _is_forgotten(self, uid: Id) -> bool:
        self._guard.refresh()
        return self._guard.has(uid)

    def _mark(self) -> None:
        """Whose they are the keys alone tell."""
        puts = []
        for key in self._posts.keys(""):
            at = self._gone.get(parse_post_key(key)[1])
            if at is not None and not self._posts.row(key, ["post:gone_at"]).get("post:gone_at"):
                puts.append(Put.at(key, gone_cells(at), at))
        self._guard.put((self._posts, puts))

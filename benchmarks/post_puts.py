"""Posts as a mapper stores them: real cells, made by our own reading of the simulator's pages.

Some thousand posts are made; their cells come again under other keys until there are enough.
"""

from collections.abc import Iterator
from functools import cache
from itertools import count, islice

from benchmarks.static_site import EPOCH
from benchmarks.uids import uid
from weibo_crawler.records import Page, PostPage
from weibo_crawler.simulator.pages import Pages
from weibo_crawler.simulator.world import World
from weibo_crawler.sites.weibo import Weibo
from weibo_crawler.store import Cells, Put
from weibo_crawler.store.rows.cells import post_cells
from weibo_crawler.store.rows.keys import post_key

PAGE = 10  # posts
_POSTS_OF_A_USER = 100
_MADE = 2000
_BASE = "http://127.0.0.1:1"
_FIRST_MID = 4_400_000_000_000_000


def puts(first_user: int, posts: int, run_id: str) -> Iterator[Put]:
    """So many posts, user after user, each user's in the order of the table. Timestamps: one a
    page, as pages are fetched one after another."""
    cells = _cells(run_id)
    for i in range(posts):
        owner, mid = uid(first_user + i // _POSTS_OF_A_USER), _FIRST_MID - i % _POSTS_OF_A_USER
        yield Put(post_key(owner, mid), cells[i % len(cells)], (EPOCH + i // PAGE) * 1000)


@cache
def _cells(run_id: str) -> list[Cells]:
    return list(islice(_read(run_id), _MADE))


def _read(run_id: str) -> Iterator[Cells]:
    world = World.make(5, 200, epoch=EPOCH)
    pages, site = Pages(world, cache_bytes=0), Weibo(_BASE, "", "")
    for index in count():
        cursor: str | None = ""
        while cursor is not None:
            request = site.posts(world.uid(index), cursor)
            answer = pages.answer(request.url.removeprefix(_BASE))
            headers = (("content-type", "application/json; charset=utf-8"),)
            reading = site.read(request, Page(request.url, 200, headers, answer.body, EPOCH))
            if not isinstance(reading.record, PostPage):
                break
            for post in reading.record.posts:
                yield post_cells(post, EPOCH, "direct", run_id)
            cursor = reading.record.next_cursor

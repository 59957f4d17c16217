"""What other processes do in the contract of the frontier, and the small world they walk."""

from collections.abc import Callable
from multiprocessing.connection import Connection

from weibo_crawler.records import Edge
from weibo_crawler.store import Entry, Found, Landing, PageCommit, Progress
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sql.walk import Frontier

PEOPLE, PER_PAGE, SEEDS = 1500, 5, (1, 2, 3)
_NOW, _LEASE_S = 1_700_000_000.0, 3600.0


def fans_of(uid: int) -> list[int]:
    """Whom a list shows: many of them are on many lists, and the deepest are some levels down."""
    return [(uid * 7 + i * i * 13 + i) % PEOPLE + 1 for i in range(1 + uid % 11)]


def true_depths() -> dict[int, int]:
    """The shortest chain from a seed, for everybody who has one."""
    depths = dict.fromkeys(SEEDS, 0)
    level = list(SEEDS)
    while level:
        found = {fan for uid in level for fan in fans_of(uid)} - depths.keys()
        depths |= dict.fromkeys(found, depths[level[0]] + 1)
        level = sorted(found)
    return depths


def seed(uids: tuple[int, ...]) -> tuple[Found, ...]:
    return tuple(Found(uid, f"https://m.weibo.cn/u/{uid}", f"name {uid} 🐈", 50) for uid in uids)


def walk(opener: Callable[[], Frontier], told: Connection, max_users: int) -> None:
    """Harvest until nothing is open or max_users is reached; tells its owner's name, waits for a
    word, and in the end tells how many users it inserted."""
    frontier, owner, inserted = opener(), new_owner(), 0
    told.send(owner)
    told.recv()
    full = False
    while not full and (level := frontier.open_level()) is not None:
        frontier.reclaim_dead()
        entries = frontier.claim(
            owner, 8, edges=(Edge.FANS,), deepest=level + 1, now=_NOW, lease_s=_LEASE_S
        )
        for _ in range(3):  # the pages of several lists share a transaction
            pages = [_next_page(entry) for entry in entries]
            landed = frontier.commit(owner, "run", pages, max_users=max_users) if pages else []
            inserted += sum(one.inserted for one in landed)
            full = full or any(one.landing is Landing.FULL for one in landed)
            entries = [
                entry._replace(progress={Edge.FANS: page.after})
                for entry, page, one in zip(entries, pages, landed, strict=True)
                if one.landing is Landing.STORED and not page.last
            ]
        frontier.give_back(owner)  # what was fetched ahead of an open level, too
    told.send(inserted)
    frontier.close()


def _next_page(entry: Entry) -> PageCommit:
    before = entry.progress[Edge.FANS]
    fans = fans_of(entry.uid)
    shown = tuple(fans[before.listed : before.listed + PER_PAGE])
    listed = before.listed + len(shown)
    over = listed == len(fans)
    return PageCommit(
        uid=entry.uid,
        edge=Edge.FANS,
        cursor=before.cursor,
        after=Progress(str(before.pages + 2), shown, listed, before.pages + 1),
        found=seed(shown),
        fetched_at=_NOW,
        ended="end" if over else None,
        last=over,
    )

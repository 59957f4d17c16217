"""Who is to be walked, as the rows of `userlist` say."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from weibo_crawler.levels.lines import Met, Seen, Walked
from weibo_crawler.posts.manifest import KeyRange
from weibo_crawler.records import SCHEMA_VERSION, Id, State
from weibo_crawler.store import WALLED, Cells, Tables
from weibo_crawler.store.notes import json_note
from weibo_crawler.store.owners import is_dead, is_here
from weibo_crawler.store.rows.cells import LISTS, WALK, WALK_CELLS, WALK_RUN, read_ends, to_iso
from weibo_crawler.store.rows.keys import parse_user_key
from weibo_crawler.store.rows.nested import ListEnd

_COLUMNS = ("user:depth", "user:screen_name", "user:fans", *WALK_CELLS)
DRIVER_S = 300.0  # so long a driver on another machine that says nothing may live
_LOOKED_AT = 1000  # rows of a range, before it is taken to hold somebody


class Standing(msgspec.Struct, frozen=True):
    """How far the levels are. level: that of the next job; is_open: whether an earlier job of that
    level has found somebody; pending: runs of which nobody knows that they ended well, whose walks
    are made again. run_id: of the last of them, "" = none."""

    level: int = 0
    is_open: bool = False
    pending: tuple[str, ...] = ()


class Driver(msgspec.Struct, frozen=True):
    """The process that runs the jobs, "" = none does; when its latest job began, and which run
    that is."""

    owner: str = ""
    at: float = 0.0
    run_id: str = ""

    def is_at_work(self, now: float, beat: float) -> bool:
        """Whether it lives; where that cannot be seen from here, whether it spoke in the last
        minutes. beat: when it gave its mappers a sign of life last."""
        if not self.owner or is_dead(self.owner):
            return False
        return is_here(self.owner) or any(abs(now - at) <= DRIVER_S for at in (self.at, beat))


STANDING = json_note("levels", Standing)
LEVELS_DRIVER = json_note("levels.driver", Driver)


class Entry(NamedTuple):
    """A user to walk. lists: how they ended by an earlier walk, of which those that guests were not
    shown may be read now; () of a user who is walked from the beginning."""

    uid: Id
    depth: int
    screen_name: str | None
    fans: int | None
    lists: tuple[ListEnd, ...] = ()


class Wanted(NamedTuple):
    """Which users a job walks. level: the largest depth; pending: as in `Standing`. is_first: it is
    the first job of a command, which has users also with lists that guests were not shown; retry:
    and who failed, or whose list ended against its announced count."""

    level: int
    pending: tuple[str, ...] = ()
    is_first: bool = False
    retry: bool = False

    def has(self, cells: Cells) -> bool:
        """Whether the user of this row is among them."""
        depth = cells.get("user:depth")  # a ledger alone is no user
        if depth is None or int(depth) > self.level:
            return False
        if self.has_whole(cells):
            return True
        may_open = self.is_first and f'"{WALLED}"' in cells.get(LISTS, "")
        return may_open and any(e.ended == WALLED and not e.sure for e in read_ends(cells))

    def has_whole(self, cells: Cells) -> bool:
        """Whether such a user is walked from the beginning."""
        if WALK not in cells or cells.get(WALK_RUN) in self.pending:
            return True
        return self.retry and (cells[WALK] == State.FAILED or _is_retried(cells))


def entries(tables: Tables, part: KeyRange, wanted: Wanted) -> Iterator[Entry]:
    """Those of a key range."""
    for row in tables.userlist.scan(start=part.start, stop=part.stop, columns=_COLUMNS):
        if wanted.has(row.cells):
            lists = () if wanted.has_whole(row.cells) else read_ends(row.cells)
            yield _entry(parse_user_key(row.key), row.cells, lists)


def may_hold(tables: Tables, part: KeyRange, wanted: Wanted) -> bool:
    """Whether there may be any in a key range. Where its first rows hold none, nobody knows."""
    rows = tables.userlist.scan(
        start=part.start, stop=part.stop, columns=_COLUMNS, limit=_LOOKED_AT
    )
    looked = 0
    for row in rows:
        looked += 1
        if wanted.has(row.cells):
            return True
    return looked == _LOOKED_AT


def _is_retried(cells: Cells) -> bool:
    """Whether a list ended unsurely, or is walled alone."""
    return any(end.sure is (end.ended == WALLED) for end in read_ends(cells))


def _entry(uid: Id, cells: Cells, lists: tuple[ListEnd, ...]) -> Entry:
    fans = cells.get("user:fans")
    return Entry(
        uid,
        int(cells["user:depth"]),
        cells.get("user:screen_name"),
        int(fans) if fans else None,
        lists,
    )


def walked_cells(walked: Walked, run_id: str) -> Cells:
    """How a walk ended, as cells; and what the profile of a seed has told."""
    lists = msgspec.json.encode(walked.lists).decode()
    return {WALK: walked.state, LISTS: lists, WALK_RUN: run_id, **_known(walked)}


def found_cells(uid: Id, url: str, seen: Seen, met: Met, run_id: str) -> Cells:
    """Of somebody who is new."""
    cells = {
        "user:id": str(uid),
        "user:url": url,
        "user:depth": str(seen.depth + 1),
        "user:found_from": str(seen.owner),
        "user:found_edge": seen.edge,
        "user:found_at": to_iso(met.at),
        "user:schema_version": str(SCHEMA_VERSION),
        "user:run_id": run_id,
    }
    return cells | _known(met)


def _known(user: Met | Walked) -> dict[str, str]:
    """A name or a number of fans that nobody knows is no cell."""
    cells = {} if user.screen_name is None else {"user:screen_name": user.screen_name}
    return cells if user.fans is None else cells | {"user:fans": str(user.fans)}

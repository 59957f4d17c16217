"""Where the users stand that a harvest has kept: in SQL, or in the tables, where jobs harvest."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

from weibo_crawler.records import Edge, Id, State, read_id
from weibo_crawler.store import (
    WALLED,
    Cells,
    OpenEntries,
    ReadLists,
    Row,
    Tables,
    UserRow,
)
from weibo_crawler.store.notes import HELD
from weibo_crawler.store.rows.cells import LISTS, WALK, from_iso, read_ends
from weibo_crawler.store.rows.keys import parse_user_key, user_key
from weibo_crawler.store.sql.walk import Frontier


class Kept(Protocol):
    """Users, as a `Frontier` tells them."""

    def users(self, *, uids: Sequence[Id] | None = None) -> Iterator[UserRow]: ...
    def states(self) -> dict[str, int]: ...
    def depths(self) -> dict[int, int]: ...
    def open_entries(self) -> list[OpenEntries]: ...
    def read_lists(self) -> list[ReadLists]: ...


def kept_in(users: Frontier, tables: Tables) -> Kept:
    return users if HELD.get(users) is None else _Rows(tables)


class _Rows:
    """Those of the tables. Who was not walked yet is queued. Each method reads all rows, but for
    some `uids`."""

    def __init__(self, tables: Tables) -> None:
        self._userlist = tables.userlist

    def users(self, *, uids: Sequence[Id] | None = None) -> Iterator[UserRow]:
        if uids is None:
            rows = ((parse_user_key(row.key), row.cells) for row in self._scan("user"))
        else:
            known = self._userlist.rows([user_key(uid) for uid in uids], ["user"])
            rows = ((uid, known[user_key(uid)]) for uid in uids)
        return (_user(uid, cells) for uid, cells in rows if "user:id" in cells)

    def states(self) -> dict[str, int]:
        return Counter(_state(row.cells) for row in self._scan("user:id", WALK))

    def depths(self) -> dict[int, int]:
        return Counter(int(row.cells["user:depth"]) for row in self._scan("user:depth"))

    def open_entries(self) -> list[OpenEntries]:
        n = Counter(
            (int(row.cells["user:depth"]), _fans(row.cells))
            for row in self._scan("user:depth", "user:fans", WALK)
            if "user:depth" in row.cells and WALK not in row.cells
        )
        return [OpenEntries(depth, fans, False, of) for (depth, fans), of in n.items()]

    def read_lists(self) -> list[ReadLists]:
        lists, pages = Counter[_Sort](), Counter[_Sort]()
        for row in self._scan("user:fans", LISTS):
            for end in read_ends(row.cells):
                sort = end.edge, _fans(row.cells), end.ended is not None, end.ended == WALLED
                lists[sort] += 1
                pages[sort] += end.pages
        return [ReadLists(*sort[:2], False, *sort[2:], n, pages[sort]) for sort, n in lists.items()]

    def _scan(self, *columns: str) -> Iterator[Row]:
        return self._userlist.scan(columns=columns)


_Sort = tuple[str, int | None, bool, bool]  # edge, fans, is_over, is_walled


def _fans(cells: Cells) -> int | None:
    fans = cells.get("user:fans")
    return int(fans) if fans else None


def _state(cells: Cells) -> str:
    return cells.get(WALK) or State.QUEUED.value


def _user(uid: Id, cells: Cells) -> UserRow:
    found_from = cells.get("user:found_from")
    return UserRow(
        seq=int(cells.get("user:seq") or 0),
        uid=uid,
        url=cells["user:url"],
        screen_name=cells.get("user:screen_name"),
        fans=_fans(cells),
        depth=int(cells["user:depth"]),
        found_from=read_id(found_from) if found_from else None,
        found_edge=cells.get("user:found_edge", Edge.SEED),
        found_at=from_iso(cells["user:found_at"]),
        state=_state(cells),
        run_id=cells.get("user:run_id", ""),
    )

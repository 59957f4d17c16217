"""Claimed entries from the rows of a SQL store, with their lists."""

from collections.abc import Iterable, Sequence
from typing import Any

from weibo_crawler.records import Edge
from weibo_crawler.store import WALLED, Entry, Progress

Lists = dict[str, tuple[Progress, str | None]]  # by edge: how far it was read, and why it ended


def held_lists(rows: Iterable[tuple[int, str, Progress, str | None]]) -> dict[int, Lists]:
    """The lists of each user, from rows (uid, edge, progress, ended)."""
    lists: dict[int, Lists] = {}
    for uid, edge, progress, ended in rows:
        lists.setdefault(uid, {})[edge] = (progress, ended)
    return lists


def claimed(row: Sequence[Any], edges: Sequence[Edge], lists: Lists) -> Entry:
    """row: uid, screen_name, fans, depth, found_edge, attempts, last_error, retried and
    resting_since."""
    uid, screen_name, fans, depth, found_edge, attempts, last_error, retried, since = row
    new: tuple[Progress, str | None] = (Progress(), None)
    known = {edge: lists.get(edge, new) for edge in edges}
    return Entry(
        *(uid, screen_name, fans, depth, found_edge == Edge.SEED),
        *(attempts, last_error or "", bool(retried), since),
        {edge: progress for edge, (progress, ended) in known.items() if ended is None},
        frozenset(Edge(edge) for edge, (_, ended) in lists.items() if ended == WALLED),
        frozenset(Edge(edge) for edge, (_, ended) in lists.items() if ended is None),
    )

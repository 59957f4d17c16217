"""Many rows of `posts` as columns, without a record for each. Pure."""

from collections.abc import Collection, Sequence
from typing import Any

from msgspec.structs import astuple

from weibo_crawler.store import Row
from weibo_crawler.store.rows.fields import POSTS, in_cells
from weibo_crawler.store.rows.keys import parse_post_key
from weibo_crawler.store.rows.packed import MORE

_CELLS = in_cells(POSTS)
_NOTHING = MORE.shape()


def post_columns(rows: Sequence[Row], names: Collection[str]) -> dict[str, Sequence[Any]]:
    """What cells.read_post gives of each row, a column each, in a third of its time; originals are
    nested.WholeOriginal. names: which columns; others may come with them.

    ValueError for a row that read_post refuses, which can tell why.
    """
    ids = [parse_post_key(row.key) for row in rows]
    found: dict[str, Sequence[Any]] = {
        "mid": [str(mid) for _, mid in ids],
        "uid": [uid for uid, _ in ids],
    }
    cells = [row.cells for row in rows]
    for name in _CELLS.keys() & names:
        cell, read = _CELLS[name]
        texts = [each.get(cell) for each in cells]
        found[name] = texts if read is None else [read(text) if text else None for text in texts]
    if not set(MORE.names).isdisjoint(names):
        packed = (each.get("post:more") for each in cells)
        values = [astuple(MORE.unpack(text) if text else _NOTHING) for text in packed]
        found |= zip(MORE.names, zip(*values, strict=True), strict=True)
    return found

"""The gate, which `frontier` tells of."""

from typing import NamedTuple

from weibo_crawler.store.sql.cursor import Cursor, rows


class Gate(NamedTuple):
    """What the gate's row says. forget_key: None where nobody was ever forgotten."""

    next_seq: int
    users: int
    forget_key: str | None


def enter(cursor: Cursor) -> Gate:
    """Wait for the gate and hold it to the end of the transaction; first of all statements."""
    (row,) = rows(cursor, "SELECT next_seq, users, forget_key FROM gate FOR UPDATE")
    return Gate._make(row)

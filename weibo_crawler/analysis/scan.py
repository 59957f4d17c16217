"""Users and posts as rows: plain dicts, in a fixed order of columns, streamed."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, tzinfo
from functools import partial
from itertools import chain, islice
from typing import Any, TypedDict, TypeVar, Unpack

from weibo_crawler.analysis.userlists import Kept
from weibo_crawler.errors import BadUsage
from weibo_crawler.records import EchoList, Id
from weibo_crawler.store import Row, Table, Tables, UserRow
from weibo_crawler.store.rows.cells import from_iso, read_ledger, read_post, read_user, to_iso
from weibo_crawler.store.rows.echoes import read_echo
from weibo_crawler.store.rows.keys import ALL, Range, posts_prefix, user_key
from weibo_crawler.store.sql.walk import Frontier

T = TypeVar("T")

_WRITTEN = "post:created_at"
_ZONE_S = 15 * 3600.0  # no clock is further from UTC
# nobody wrote anything outside, and these are dates still on any clock
_EARLIEST_S = datetime(2, 1, 1, tzinfo=UTC).timestamp()
_LATEST_S = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_HOW = "give a date (2021-06-01, a day of the site's clock) or 2021-06-01T12:30:00+08:00"


class PostRows:
    """Posts as `scan` prints them, read one by one. stored: the rows of the table they are read
    from, for who takes those instead: either of the two, once."""

    def __init__(self, stored: Iterator[Row]) -> None:
        self.stored = stored

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(read_post, self.stored)


class Selection(TypedDict, total=False):
    """Which rows. uids: of whom (of an `EchoList`: under whose posts, edges: in whose lists); else
    of all within `part`, where the tables are read. since <= created_at < until: a post of unknown
    time is in no such span. as_of: as it was stored then. clock: by which days begin, else UTC.

    BadUsage, before anything is read, where one of the times is none."""

    uids: Sequence[Id] | None
    limit: int | None
    since: str | None
    until: str | None
    as_of: str | None
    part: Range
    clock: tzinfo


def scan_users(users: Kept, **which: Unpack[Selection]) -> Iterator[dict[str, Any]]:
    """Kept users from the live userlist, in the order they were found; columns.USERS."""
    uids = which.get("uids")
    wanted = None if uids is None else tuple(dict.fromkeys(uids))
    return _first(map(_user, users.users(uids=wanted)), which)


def scan_imported(tables: Tables, **which: Unpack[Selection]) -> Iterator[dict[str, Any]]:
    """Imported users from the tables, by row key; columns.IMPORTED.

    state is the ledger's: "unvisited", "partial", "done", "gone", "failed" or "empty". A ledger
    that was written after `as_of` is not known.
    """
    is_past = which.get("as_of") is not None
    rows = _user_rows(tables.userlist, which)
    return _first((_imported(row, is_past=is_past) for row in rows), which)


def user_history(tables: Tables, **which: Unpack[Selection]) -> Iterator[dict[str, Any]]:
    """What was stored of imported users, a row for each time that something of it changed or was
    seen again, the newest first: `as_of`, then columns.IMPORTED. Of the ledger there is the newest
    state alone."""
    return _first(
        (
            {"as_of": since} | _imported(Row(row.key, cells), is_past=n > 0)
            for row in _user_rows(tables.userlist, which)
            for n, (since, cells) in enumerate(_states(tables.userlist, row.key))
        ),
        which,
    )


def scan_posts(tables: Tables, **which: Unpack[Selection]) -> PostRows:
    """Stored posts by row key: users by salt, each user's posts by falling mid; columns.POSTS."""
    return PostRows(_first(_post_rows(tables.posts, which), which))


def post_history(tables: Tables, **which: Unpack[Selection]) -> Iterator[dict[str, Any]]:
    """What was stored of posts, a row for each time that something of it changed or was counted,
    the newest first: `as_of`, then columns.POSTS. Null is also what is not kept so long."""
    return _first(
        (
            {"as_of": since} | read_post(Row(row.key, cells))
            for row in _post_rows(tables.posts, which)
            for since, cells in _states(tables.posts, row.key)
        ),
        which,
    )


def scan_attached(tables: Tables, **which: Unpack[Selection]) -> Iterator[Row]:
    """Of stored posts `post:more`, which names pictures and videos, and when they were written;
    nothing else is read."""
    return _first(_post_rows(tables.posts, which, ("post:more", _WRITTEN)), which)


def scan_echoes(
    tables: Tables, listed: EchoList, **which: Unpack[Selection]
) -> Iterator[dict[str, Any]]:
    """Stored comments, or reposts, by row key; columns.ECHOES."""
    rows = _post_rows(tables.echoes[listed.name], which)
    return _first(map(partial(read_echo, listed), rows), which)


def scan_edges(users: Frontier, **which: Unpack[Selection]) -> Iterator[dict[str, Any]]:
    """Who was seen in whose list, as harvest keeps it: by owner, edge and place; columns.EDGES. A
    user on two pages of a list comes twice."""
    return _first(
        (
            {"owner": page.owner, "uid": uid, "edge": page.edge, "seen_at": to_iso(page.seen_at)}
            for page in users.seen_pages(owners=which.get("uids"))
            for uid in page.uids
        ),
        which,
    )


def parse_when(option: str, text: str | None, clock: tzinfo) -> float | None:
    """A date or a time with an offset, as seconds since the epoch, of the years 2 to 9998; BadUsage
    names the option. clock: by which a day begins."""
    if text is None:
        return None
    try:
        day = date.fromisoformat(text)
        at = datetime(day.year, day.month, day.day, tzinfo=clock).timestamp()
    except ValueError:
        try:
            at = from_iso(text)
        except ValueError:
            raise BadUsage(f"{option}: {text!r} is no date with an offset; {_HOW}") from None
    return min(max(at, _EARLIEST_S), _LATEST_S)


def _first(rows: Iterator[T], which: Selection) -> Iterator[T]:
    limit = which.get("limit")
    if limit is not None and limit < 0:
        raise BadUsage(f"--limit: {limit} is negative; give 0 or more")
    return rows if limit is None else islice(rows, limit)


def _user(row: UserRow) -> dict[str, Any]:
    return {
        "id": row.uid,
        "screen_name": row.screen_name,
        "fans": row.fans,
        "depth": row.depth,
        "found_from": row.found_from,
        "state": str(row.state),
        "found_edge": str(row.found_edge),
        "found_at": to_iso(row.found_at),
        "url": row.url,
    }


def _user_rows(table: Table, which: Selection) -> Iterator[Row]:
    """Imported users only: a row may hold a ledger or a profile alone."""
    uids, part, as_of = which.get("uids"), which.get("part", ALL), _as_of(which)
    if uids is None:
        rows = table.scan(start=part.start, stop=part.stop, as_of=as_of)
    else:
        keys = sorted({user_key(uid) for uid in uids})
        rows = chain.from_iterable(
            table.scan(start=key, stop=key + "\0", as_of=as_of) for key in keys
        )
    return (row for row in rows if "user:id" in row.cells)


def _states(table: Table, key: str) -> Iterator[tuple[str, dict[str, str]]]:
    return ((to_iso(ms / 1000), cells) for ms, cells in table.states(key))


def _imported(row: Row, *, is_past: bool = False) -> dict[str, Any]:
    """is_past: who has no ledger may have been visited, which was noted later."""
    ledger = read_ledger(row.cells)
    user = read_user(row)
    if ledger is None:
        state, stored = (None, None) if is_past else ("unvisited", 0)
        return user | {"state": state, "announced": None, "stored": stored, "visited_at": None}
    visited_at = None if ledger.visited_at is None else to_iso(ledger.visited_at)
    return user | {
        "state": ledger.state,
        "announced": ledger.announced,
        "stored": ledger.stored,
        "visited_at": visited_at,
    }


def _post_rows(
    table: Table, which: Selection, columns: Sequence[str] | None = None
) -> Iterator[Row]:
    """Rows of posts, or of what is under them, that were written in the span. columns: those that
    are read, when it was written among them."""
    clock = which.get("clock", UTC)
    first = parse_when("--since", which.get("since"), clock)
    last = parse_when("--until", which.get("until"), clock)
    if first is not None and last is not None and first >= last:
        raise BadUsage(
            f"no post was written from --since {which.get('since')} on and before --until "
            f"{which.get('until')}: a date is the beginning of that day"
        )
    uids, part, as_of = which.get("uids"), which.get("part", ALL), _as_of(which)
    # of older posts nothing else is read; as text, which a clock's zone may move
    is_all = columns is None
    least = (_WRITTEN, to_iso(first - _ZONE_S)) if first is not None and is_all else None
    scan = partial(table.scan, as_of=as_of, least=least, columns=columns)
    if uids is None:
        rows = scan(start=part.start, stop=part.stop)
    else:
        prefixes = sorted({posts_prefix(uid) for uid in uids})
        rows = chain.from_iterable(scan(prefix=prefix) for prefix in prefixes)
    if first is None and last is None:
        return rows

    def is_within(row: Row) -> bool:
        try:
            at = from_iso(row.cells.get(_WRITTEN, ""))
        except ValueError:
            return False
        return (first is None or first <= at) and (last is None or at < last)

    return filter(is_within, rows)


def _as_of(which: Selection) -> int | None:
    """In milliseconds."""
    at = parse_when("--as-of", which.get("as_of"), which.get("clock", UTC))
    return None if at is None else int(at * 1000)

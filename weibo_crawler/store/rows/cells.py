"""Records to cells and back, pure. All values are text: decimal numbers, true/false, ISO 8601.

None is no cell. The site's own dates keep the site's offset, +08:00; our times are UTC with
milliseconds, `2026-11-21T08:30:00.250Z`. What analysts ask for has a cell of its own; the rest of a
post is packed as JSON into `post:more`, because a table's cost is by cell (docs/architecture.md).
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import msgspec
from msgspec.structs import astuple

from weibo_crawler.errors import StoreError
from weibo_crawler.records import (
    ECHO_LISTS,
    SCHEMA_VERSION,
    BasicInfo,
    EchoList,
    FullText,
    Id,
    Post,
    User,
    read_id,
)
from weibo_crawler.store import Cells, Row, UserRow
from weibo_crawler.store.rows.fields import (
    IMPORTED,
    POSTS,
    Field,
    in_cells,
    read_truth,
    write_truth,
)
from weibo_crawler.store.rows.gaps import Gap, pack_gaps, unpack_gaps
from weibo_crawler.store.rows.keys import parse_post_key, parse_user_key
from weibo_crawler.store.rows.nested import ListEnd
from weibo_crawler.store.rows.packed import MORE, Glimpse, glimpse

T = TypeVar("T")

KEEP_VERSIONS = 100


def families(keep_versions: int = KEEP_VERSIONS) -> Mapping[str, Mapping[str, int]]:
    """table -> family -> how many versions of a cell are kept. keep_versions: of the counts of a
    post."""
    return {
        "userlist": {"user": 3, "profile": 5, "crawl": 1},
        "posts": {"post": 5, "count": keep_versions, "raw": 1},
        **{one.name: {one.one: 3} for one in ECHO_LISTS},
    }


FAMILIES = families()
# of family `user`, by jobs that harvest: how the walk of a user ended, that of each of its lists as
# JSON, and the run
WALK, LISTS, WALK_RUN = WALK_CELLS = ("user:walk", "user:lists", "user:walk_run")

Moment = Annotated[float, "seconds since the epoch"]

_POST_CELLS = in_cells(POSTS)
_USER_CELLS = in_cells(IMPORTED, "crawl:")
_MOST_POSTS = 10_000_000  # of one user: a post a minute for nineteen years


def family_of(column: str, table: str, families: Iterable[str]) -> str:
    """The family of "family:qualifier"; StoreError where the table has none such."""
    family, colon, _ = column.partition(":")
    if not colon or family not in families:
        raise StoreError(
            f"table {table} has no column {column!r}; "
            f"a column is family:qualifier, the families are {', '.join(families)}"
        )
    return family


class Ledger(msgspec.Struct, frozen=True):
    """How complete one user is (law 12). All figures are absolute, never incremented (law 8).

    state: "partial" while paging, "done", "gone", "failed", or "empty": the site shows nothing of
    the user, and does not say that it is gone. announced: posts by the profile;
    seen: posts on the pages of the last visit; stored: rows in the table, `new` of them by the run
    `run_id`. cut: mids whose long text is missing; restricted: mids whose whole text the site
    shows to others only, restricted_at: when that was last asked. gone: mids of stored posts that
    have disappeared from the timeline. unreadable: mids of posts that were shown and could not be
    read; unnamed: how many more had no legible mid, unnamed_now: of the visit under way.
    foreign, skipped: cards of other users, and cards that are no posts, on the pages of the last
    visit. stopped: why paging stopped: "end", "no_next_page", "max_pages", "login_wall", "known",
    "repeated_cursor", …
    sure: the end agrees with the announced count, and nothing else speaks against it; whole: all
    that is older than the newest known post is known. newest: the largest mid of the last complete
    visit; gaps: what below it was on no page read. read_newest, read_oldest: how far the visit
    under way has read without a break. empty_since: when the site first showed nothing of a user
    of whom it shows nothing since. profile_at: when the profile was last asked for, and shown;
    info_at: when the basic information was last asked for, whatever came of it.
    cursor: the page to fetch next while partial; the first page, "", reads back as None.
    as_of: when the last complete visit began, or when a harvest was shown the page 1 that it kept
    for the visit; None = no visit has told.
    visited_at: end of the last complete visit; next_visit: when the next one is due, None = never;
    doubts: how many complete visits in a row left something in doubt; posts_per_day: the posting
    rate by which next_visit was chosen; walled_at: when guests were last refused what is older than
    the posts read, or it was not asked for as others were refused it, None = neither; unsure_at:
    when the end of the timeline was last found to contradict the announced count, None = it does
    not. since: older posts are left out on purpose, None = none are. failures: how many visits in a
    row have failed; retry_at: until when a job that follows the users leaves one alone whose last
    visit failed. Times are seconds since the epoch, to the millisecond.
    """

    state: str
    announced: int | None = None
    seen: int = 0
    stored: int = 0
    new: int = 0
    pages: int = 0
    cut: tuple[Id, ...] = ()
    gone: tuple[Id, ...] = ()
    pinned: tuple[Id, ...] = ()
    restricted: tuple[Id, ...] = ()
    restricted_at: Moment | None = None
    unreadable: tuple[Id, ...] = ()
    unnamed: int = 0
    unnamed_now: int = 0
    foreign: int = 0
    skipped: int = 0
    stopped: str = ""
    sure: bool = True
    whole: bool = False
    newest: int | None = None
    gaps: tuple[Gap, ...] = ()
    read_newest: int | None = None
    read_oldest: int | None = None
    cursor: str | None = None
    refused_pages: int = 0
    completed: int = 0
    as_of: Moment | None = None
    visited_at: Moment | None = None
    next_visit: Moment | None = None
    doubts: int = 0
    posts_per_day: float | None = None
    walled_at: Moment | None = None
    unsure_at: Moment | None = None
    since: Moment | None = None
    empty_since: Moment | None = None
    profile_at: Moment | None = None
    info_at: Moment | None = None
    started_at: Moment | None = None
    failures: int = 0
    retry_at: Moment | None = None
    last_error: str = ""
    run_id: str = ""
    schema_version: int = SCHEMA_VERSION

    @property
    def told_at(self) -> float | None:
        """The time of which the last complete visit tells; None: there was none."""
        return self.visited_at if self.as_of is None else self.as_of

    @property
    def unread(self) -> int:
        """How many posts were shown and could not be read. Posts without a legible mid cannot be
        told from those of the visit before, so the visit that met most of them counts."""
        return len(self.unreadable) + max(self.unnamed, self.unnamed_now)


def possible_posts(announced: int | None) -> int | None:
    """An announced number of posts; None where it is one that nobody can reach."""
    return None if announced is None or not 0 <= announced <= _MOST_POSTS else announced


@lru_cache(maxsize=256)  # the posts of a page share their time
def to_iso(seconds: float) -> str:
    """Seconds since the epoch as `2026-11-21T08:30:00.250Z`, cut to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def from_iso(text: str) -> float:
    """Seconds since the epoch; ValueError where it is no date or has no offset."""
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError(f"a time without an offset: {text!r}")
    return when.timestamp()


def user_cells(user: UserRow, run_id: str) -> Cells:
    """Family `user` of a row of `userlist`: what the importer (or Sqoop) brings. A name or a number
    of fans that nobody knows is no cell."""
    cells = {  # written out: millions of users are imported, and this takes a third of the time
        "user:id": str(user.uid),
        "user:url": user.url,
        "user:depth": str(user.depth),
        # empty where nobody: a user that was lifted to a seed must lose the old value
        "user:found_from": "" if user.found_from is None else str(user.found_from),
        "user:found_edge": user.found_edge,
        "user:found_at": to_iso(user.found_at),
        "user:seq": str(user.seq),
        "user:schema_version": str(SCHEMA_VERSION),
        "user:run_id": run_id,
    }
    if user.screen_name is not None:
        cells["user:screen_name"] = user.screen_name
    if user.fans is not None:
        cells["user:fans"] = str(user.fans)
    return cells


def profile_cells(user: User, fetched_at: float, run_id: str) -> Cells:
    """Family `profile` of a row of `userlist`. fetched_at: seconds since the epoch."""
    return _write_profile(user) | {
        "profile:fetched_at": to_iso(fetched_at),
        "profile:schema_version": str(SCHEMA_VERSION),
        "profile:run_id": run_id,
    }


def info_cells(info: BasicInfo, fetched_at: float) -> Cells:
    """What the page of basic information adds to the family `profile`. A user who no longer names a
    city gets an empty cell, which covers the older one: it was in another province."""
    cells = _write_info(info) | {"profile:info_fetched_at": to_iso(fetched_at)}
    if info.city is None and info.province is not None:
        cells["profile:city"] = ""
    if info.more:
        cells["profile:info"] = msgspec.json.encode(info.more).decode()
    return cells


def post_cells(post: Post, fetched_at: float, egress: str, run_id: str) -> Cells:
    """Families `post` and `count` of a row of `posts`. fetched_at: seconds since the epoch;
    egress: its name, without credentials (law 11)."""
    cells = _write_post(post)
    cells["post:fetched_at"] = to_iso(fetched_at)
    cells["post:more"] = MORE.pack(post, egress=egress, run_id=run_id)
    return cells


def count_cells(post: Post) -> Cells:
    """Family `count` alone: a new sighting of a post whose text is stored already."""
    return _write_counts(post)


def text_cells(full: FullText | Post) -> Cells:
    """The whole text of a long post, over the cut one."""
    return _write_text(full) | {"post:text_complete": "true"}


def unlinked_cells() -> Cells:
    """Beneath the cells of an edited post: what its text does not link to any more is no value, and
    the empty cells cover the older ones."""
    return {"post:topics": "", "post:mentions": ""}


def why_cells(why: str) -> Cells:
    """Why the whole text of a post cannot be had; "": it can, and the empty cell covers the older
    one."""
    return {"post:text_why": why}


def gone_cells(at: float | None) -> Cells:
    """Since when a post has disappeared from the timeline (seconds since the epoch); None: it is
    there again, and the empty cell covers the older one."""
    return {"post:gone_at": "" if at is None else to_iso(at)}


def echoes_read_cells(which: EchoList, announced: int) -> Cells:
    """How many comments, or reposts, a post announced when the first page of them was read."""
    return {f"post:{which.name}_read": str(announced)}


def pinned_cells(is_pinned: bool) -> Cells:
    """Whether a post is pinned at this visit."""
    return {"post:is_pinned": write_truth(is_pinned)}


def ledger_cells(ledger: Ledger) -> Cells:
    """Family `crawl` of a row of `userlist`. None is an empty cell here: it must cover an older
    value, which a missing cell would let through."""
    return {
        column: "" if value is None else write(value)
        for (column, write), value in zip(_LEDGER_CELLS, astuple(ledger), strict=True)
    }


def read_ledger(cells: Cells) -> Ledger | None:
    """The ledger of a row of `userlist`, None where the user was never visited.

    StoreError names a cell that does not hold what it should.
    """
    if "crawl:state" not in cells:
        return None
    fields = {name: _value(cells, f"crawl:{name}", read, "") for name, (read, _) in _LEDGER.items()}
    fields["announced"] = possible_posts(fields["announced"])
    # what is missing, or was cleared, is at its default
    return Ledger(**{name: value for name, value in fields.items() if value is not None})


def read_ends(cells: Cells) -> tuple[ListEnd, ...]:
    """How the lists of a user ended, as jobs have written it."""
    lists = cells.get(LISTS, "")
    return msgspec.json.decode(lists, type=tuple[ListEnd, ...]) if lists else ()


def read_post(row: Row) -> dict[str, Any]:
    """A row of `posts` as `scan` prints it: mids are text, other ids and counts numbers, what is
    not known is None; then what `post:more` packs, under its names.

    StoreError names a row or cell that does not hold what it should.
    """
    cells = row.cells
    uid, mid = _of_key(parse_post_key, row.key)
    more = _value(cells, "post:more", MORE.unpack, row.key) or MORE.shape()
    return {
        "mid": str(mid),
        "uid": uid,
        **_read_fields(_POST_CELLS, cells, row.key),
        **msgspec.structs.asdict(more),
        **{name: msgspec.to_builtins(getattr(more, name)) for name in MORE.nested},
    }


def glance(key: str, cells: Cells) -> tuple[str, Id | None]:
    """Of a row of `posts` how exact its time is, and whose post it reposts: None where it is no
    repost, or where nobody knows. StoreError where `post:more` does not hold what it should."""
    more = _value(cells, "post:more", glimpse, key) or Glimpse()
    return more.created_at_precision, more.original.uid if more.original else None


def read_user(row: Row) -> dict[str, Any]:
    """A row of `userlist` as `scan users --imported` prints it: what the harvest saw, then the
    profile (its own name and fans as profile_screen_name, profile_fans).

    StoreError names a row or cell that does not hold what it should.
    """
    id = _of_key(parse_user_key, row.key)
    return {"id": id, **_read_fields(_USER_CELLS, row.cells, row.key)}


def _read_fields(
    fields: Mapping[str, tuple[str, Callable[[str], Any] | None]], cells: Cells, key: str
) -> dict[str, Any]:
    return {
        name: cells.get(cell) if read is None else _value(cells, cell, read, key)
        for name, (cell, read) in fields.items()
    }


def _writing(
    fields: Mapping[str, Field], record: type[msgspec.Struct], *families: str
) -> Callable[[msgspec.Struct], dict[str, str]]:
    """What writes records of this type into the cells that its fields have of their own in these
    families. The cell is called as the field of the record; None and an empty list are no cell."""
    own = [field for field in fields.values() if field.cell.partition(":")[0] in families]
    named = {field.cell.partition(":")[2]: field for field in own}
    names = [name for name in record.__struct_fields__ if name in named]
    cells = [(named[name].cell, named[name].write) for name in names]
    values = attrgetter(*names)

    def write(one: msgspec.Struct) -> dict[str, str]:
        return {
            cell: value if type(value) is str else text(value)
            for (cell, text), value in zip(cells, values(one), strict=True)
            if value or (value is not None and value != ())
        }

    return write


_write_post = _writing(POSTS, Post, "post", "count")
_write_counts = _writing(POSTS, Post, "count")
_write_text = _writing(POSTS, FullText, "post")
_write_profile = _writing(IMPORTED, User, "profile")
_write_info = _writing(IMPORTED, BasicInfo, "profile")


def _value(cells: Cells, column: str, convert: Callable[[str], T], key: str) -> T | None:
    text = cells.get(column)
    if not text:
        return None
    try:
        return convert(text)
    except ValueError as error:  # msgspec's DecodeError is one too
        raise StoreError(f"row {key}: {column} holds {text[:80]!r}: {error}") from None


def _of_key(parse: Callable[[str], T], key: str) -> T:
    try:
        return parse(key)
    except ValueError as error:
        raise StoreError(
            f"{error}; the table holds a row that this program did not write"
        ) from None


def _mids(text: str) -> tuple[Id, ...]:
    mids = tuple(map(read_id, text.split(",")))
    if len(set(map(type, mids))) > 1:
        raise ValueError("numbers and texts")
    return mids


# how a cell of the ledger is read and written, by the type of its field
_LEDGER_TYPES: Mapping[Any, tuple[Callable[[str], Any], Callable[[Any], str]]] = {
    str: (str, str),
    int: (int, str),
    float: (float, str),
    bool: (read_truth, write_truth),
    Moment: (from_iso, to_iso),
    tuple[Id, ...]: (_mids, lambda mids: ",".join(map(str, mids))),
    tuple[Gap, ...]: (unpack_gaps, pack_gaps),
}
_LEDGER = {
    name: _LEDGER_TYPES[hint if hint in _LEDGER_TYPES else get_args(hint)[0]]
    for name, hint in get_type_hints(Ledger, include_extras=True).items()
}
LEDGER_TIMES = frozenset(name for name, (read, _) in _LEDGER.items() if read is from_iso)
_LEDGER_CELLS = [(f"crawl:{name}", _LEDGER[name][1]) for name in Ledger.__struct_fields__]

"""The files of an archive, and the answers in them in the order in which they came."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from math import inf
from pathlib import Path
from typing import NamedTuple

import msgspec

from weibo_crawler.archive.exchanges import Exchange, Kept, NoRecord, info_of, kept, note_of, parse
from weibo_crawler.archive.members import SUFFIXES, members
from weibo_crawler.archive.writer import OPEN
from weibo_crawler.errors import BadUsage, StoreError
from weibo_crawler.records import Id, Kind, Verdict

# uid has no type: of type INT it would make a number of the id "1e5"
_SCHEMA = """
CREATE TABLE writers (id INTEGER PRIMARY KEY, stage TEXT, run_id TEXT, name TEXT UNIQUE, info TEXT);
CREATE TABLE answers (
    writer INT, uid, at REAL, key TEXT, is_last INT, file INT, offset INT, is_used INT,
    cursor TEXT
);
"""
_INDICES = """
CREATE INDEX by_key ON answers (key, at);
CREATE INDEX by_user ON answers (writer, uid, at);
CREATE INDEX by_page ON answers (uid, at) WHERE cursor IS NOT NULL;
CREATE INDEX by_time ON answers (writer, at) WHERE is_last AND NOT is_used;
"""
_SAY_EVERY = 10_000  # records
_READ = 32 * 1024  # bytes, of one record


Sort = tuple[Kind, bool]  # of a page: its kind, and whether it is a first one


class Torn(NamedTuple):
    """Where a file holds something that is no whole record, how much, and whether it ends so."""

    path: Path
    offset: int
    size: int
    is_tail: bool

    def __str__(self) -> str:
        if not self.is_tail:
            return (
                f"{self.path}: {self.size:,} bytes from byte {self.offset:,} on are no whole "
                "record (the file is damaged): skipped; what follows is read"
            )
        return (
            f"{self.path}: the last {self.size:,} bytes are no whole record (a process was killed "
            "while it wrote): skipped"
        )


class Writer(NamedTuple):
    """One process that wrote: its stage (harvest, posts, ids), run, and the options of that run."""

    id: int
    stage: str
    run_id: str
    options: dict[str, bool | float]


def files_of(folders: Iterable[Path]) -> list[Path]:
    """The WARC files of some folders, or files, by name; those of killed processes too. Errors:
    BadUsage where there are none."""
    ends = [suffix + state for suffix in SUFFIXES.values() for state in ("", OPEN)]
    found: list[Path] = []
    for folder in folders:
        names = [folder] if folder.is_file() else sorted(folder.glob("*.warc.*"))
        here = [path for path in names if path.name.endswith(tuple(ends))]
        if not here:
            raise BadUsage(f"{folder}: there is no file *.warc.gz or *.warc.zst")
        found += here
    return found


class ArchiveIndex:
    """Which answer lies where, in a temporary SQLite file: an archive may hold millions.

    torn: what was skipped. notes: uids that tell something of a run, by kind, each with its time.
    """

    def __init__(self, place: Path, files: list[Path], say: Callable[[str], None]) -> None:
        self._files, self._say = files, say
        self._inodes: dict[int, int] = {}  # of each file when it was indexed
        self._db = sqlite3.connect(place, isolation_level=None)
        self._db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _SCHEMA)
        self.torn: list[Torn] = []
        self.notes: dict[str, list[tuple[float, list[Id]]]] = {}
        self.answers = 0
        # of a harvest, by the sort of page: when the first answer came, and whether it was a wall
        self._firsts: dict[Sort, tuple[float, bool]] = {}
        self._walled_at = inf  # when a guest was first refused a later page of posts
        self._latest: dict[Id, float] = {}
        # by writer: of whom first pages of posts were shown last, and when; two are enough
        self._shown: dict[int, dict[Id, float]] = {}
        self._db.execute("BEGIN")
        try:
            for n in range(len(files)):
                self._add(n, self._place(n))
        except BaseException:
            self.close()
            raise
        self._db.execute("COMMIT")
        self._db.executescript(_INDICES)

    def _add(self, n: int, path: Path) -> None:
        writer: int | None = None
        stage = ""

        def tear(begin: int, end: int) -> None:
            self.torn.append(Torn(path, begin, end - begin, is_tail=end == path.stat().st_size))

        for member in members(path, tear):
            try:
                record = parse(member.data)
                if record.rec_type == "warcinfo":
                    info = info_of(record)
                    writer, stage = self._writer(info), info.get("crawler-stage", "")
                    continue
                one = kept(record)
            except (NoRecord, msgspec.MsgspecError) as error:
                raise StoreError(f"{path}: no WARC at byte {member.offset}: {error}") from None
            if name := record.rec_headers.get_header("Crawler-Note"):
                self.notes.setdefault(name, []).append(note_of(record))
            if one is None or writer is None:
                continue
            about = one.exchange
            order = self._latest[writer] = max(self._latest.get(writer, 0.0), about.at)
            key = key_of(about.kind, one.url, is_witness=about.is_witness)
            row = (writer, about.uid, order, key)
            is_last = about.told is not None
            if is_last and stage == "harvest" and not about.is_witness:
                sort, first = (about.kind, not about.cursor), (order, _is_walled(about))
                self._firsts[sort] = min(self._firsts.get(sort, first), first)
            self._db.execute(
                "INSERT INTO answers VALUES (?,?,?,?,?,?,?,0,?)",
                (*row, is_last, n, member.offset, _cursor(about)),
            )
            if about.kind is Kind.POSTS and about.cursor and _is_walled(about):
                self._walled_at = min(self._walled_at, order)
            if about.kind is Kind.POSTS and not about.cursor and _is_shown(about):
                shown = self._shown.setdefault(writer, {})
                shown.pop(about.uid, None)
                shown[about.uid] = order
                while len(shown) > 2:
                    del shown[next(iter(shown))]
            self.answers += 1
            if self.answers % _SAY_EVERY == 0:
                self._say(f"{self.answers:,} answers found")

    def _writer(self, info: dict[str, str]) -> int | None:
        """The process that wrote a file; None for a file that is not of this program."""
        if "crawler-stage" not in info:
            return None
        row = (info["crawler-stage"], info["isPartOf"], info["crawler-process"])
        self._db.execute(
            "INSERT OR IGNORE INTO writers (stage, run_id, name, info) VALUES (?,?,?,?)",
            (*row, info.get("crawler-options", "{}")),
        )
        ((found,),) = self._db.execute("SELECT id FROM writers WHERE name = ?", row[2:]).fetchall()
        return int(found)

    @property
    def walled(self) -> set[Sort]:
        """The sorts of pages of which the first answer to a harvest was a wall."""
        return {sort for sort, (_, is_walled) in self._firsts.items() if is_walled}

    def was_walled(self, writer: Writer) -> bool:
        """Whether guests had been refused later pages of posts before this process ended."""
        return self._walled_at <= self._latest[writer.id]

    def showed_others(self, writer: Writer, uid: Id, at: float) -> bool:
        """Whether first pages of posts of others than this user were shown after that time."""
        shown = self._shown.get(writer.id, {})
        return any(one != uid and then > at for one, then in shown.items())

    def writers(self, *stages: str) -> list[Writer]:
        """Who wrote answers of these stages, in the order of their first answers: the name of a run
        tells its second alone, and a user whom one process leaves may go on with another one."""
        marks = ",".join("?" * len(stages))
        rows = self._db.execute(
            "SELECT id, stage, run_id, info FROM writers JOIN answers ON writer = id "
            f"WHERE stage IN ({marks}) GROUP BY id ORDER BY min(at), id",
            stages,
        )
        return [
            Writer(a, b, c, msgspec.json.decode(options)) for a, b, c, options in rows.fetchall()
        ]

    @cached_property
    def runs(self) -> list[str]:
        """The runs that visited users, in the order of their first answers."""
        return list(dict.fromkeys(writer.run_id for writer in self.writers("posts")))

    def users(self, writer: Writer) -> list[Id]:
        """Whose answers a process wrote, by the first of each."""
        rows = self._db.execute(
            "SELECT uid FROM answers WHERE writer = ? AND uid > 0 GROUP BY uid ORDER BY min(at)",
            (writer.id,),
        )
        return [row[0] for row in rows]

    def of_user(self, writer: Writer, uid: Id) -> list[Kept]:
        """All answers that a process got for one user, in their order."""
        rows = self._db.execute(
            "SELECT file, offset, at FROM answers WHERE writer = ? AND uid = ? ORDER BY at, rowid",
            (writer.id, uid),
        )
        return [self._read(*row) for row in rows.fetchall()]

    def told(self, writer: Writer) -> Iterator[Kept]:
        """The answers by which a process was told something, in their order."""
        rows = self._db.execute(
            "SELECT file, offset, at FROM answers WHERE writer = ? AND is_last ORDER BY at, rowid",
            (writer.id,),
        )
        return (self._read(*row) for row in rows)

    def went_on_at(self, writer: Writer, uid: Id) -> str:
        """The page of posts with which the next visit of a user, by another process, began. "" is
        the first page, or nobody came: a later one tells that this visit was cut short there."""
        rows = self._db.execute(
            "SELECT cursor FROM answers WHERE uid = ? AND cursor IS NOT NULL "
            "AND at > (SELECT max(at) FROM answers WHERE writer = ? AND uid = ?) "
            "AND writer IN (SELECT id FROM writers WHERE stage = 'posts') "
            "ORDER BY at, rowid LIMIT 1",
            (uid, writer.id, uid),
        )
        return "".join(cursor for (cursor,) in rows)

    def take(self, key: str) -> Kept | None:
        """The next answer that ended an asking of a harvest for a key, each given once; None: no
        other is there."""
        return self._one("AND NOT is_used ORDER BY at, rowid", key)

    def has(self, key: str) -> bool:
        """Whether `take` has an answer left for a key."""
        left = "SELECT 1 FROM answers WHERE key = ? AND is_last AND NOT is_used LIMIT 1"
        return self._db.execute(left, (key,)).fetchone() is not None

    def next_at(self, after: float) -> float:
        """When the next one came of those that `take` has not given, of any key; inf: none is left.
        after: those that came until then are left out."""
        earliest = (
            "SELECT min(at) FROM answers WHERE is_last AND NOT is_used AND writer = ? AND at > ?"
        )
        found = [
            self._db.execute(earliest, (writer.id, after)).fetchone()[0]
            for writer in self.writers("harvest")
        ]
        return min((at for at in found if at is not None), default=inf)

    def last(self, key: str) -> Kept | None:
        """The answer that `take` gave last."""
        return self._one("AND is_used ORDER BY at DESC, rowid DESC", key)

    def _one(self, which: str, key: str) -> Kept | None:
        row = self._db.execute(
            "SELECT rowid, file, offset, at FROM answers WHERE key = ? AND is_last "
            f"AND writer IN (SELECT id FROM writers WHERE stage = 'harvest') {which} LIMIT 1",
            (key,),
        ).fetchone()
        if row is None:
            return None
        self._db.execute("UPDATE answers SET is_used = 1 WHERE rowid = ?", row[:1])
        return self._read(*row[1:])

    def _read(self, file: int, offset: int, order: float) -> Kept:
        member = next(members(self._place(file), start=offset, chunk=_READ))
        found = kept(parse(member.data))
        if found is None:
            raise self._changed(file)
        return found._replace(order=order)

    def _place(self, file: int) -> Path:
        """Where a file is now: one that its process has completed meanwhile has another name.
        Errors: StoreError where it is not the one that was indexed, but what `forget` has written
        in its place, where other answers stand."""
        path = self._files[file]
        try:
            here = path if path.exists() else path.with_name(path.name.removesuffix(OPEN))
            inode = here.stat().st_ino
        except OSError as error:
            raise StoreError(f"{path}: cannot be read: {error.strerror}") from None
        if self._inodes.setdefault(file, inode) != inode:
            raise self._changed(file)
        return here

    def _changed(self, file: int) -> StoreError:
        return StoreError(f"{self._files[file]}: changed while it was read; run this again")

    def close(self) -> None:
        self._db.close()


def _cursor(about: Exchange) -> str | None:
    """Of pages of posts that a visit asked for."""
    return about.cursor if about.kind is Kind.POSTS and not about.is_witness else None


def _is_walled(about: Exchange) -> bool:
    return about.told is not None and about.told.verdict is Verdict.LOGIN_WALL


def _is_shown(about: Exchange) -> bool:
    return about.told is not None and about.told.verdict is Verdict.OK


def key_of(kind: str, url: str, *, is_witness: bool = False) -> str:
    """What an asking is known by: kind and address, without the host. Witnesses stand apart: they
    are no answers to a walk of their user."""
    path = url.partition("://")[2].partition("/")[2]
    return f"witness {kind} {path}" if is_witness else f"{kind} {path}"

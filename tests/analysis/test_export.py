import csv
import errno
import gzip
import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.worlds import T0, post, put_posts, put_users, retweet, user
from weibo_crawler.analysis import batches, columns
from weibo_crawler.analysis import parquet as parquet_module
from weibo_crawler.analysis.export import FORMATS, export
from weibo_crawler.analysis.files import parts_of, replacing
from weibo_crawler.analysis.ledgers import LEDGERS
from weibo_crawler.analysis.parquet import write_parquet
from weibo_crawler.analysis.scan import scan_imported, scan_posts
from weibo_crawler.cli.main import build_parser
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadUsage, CrawlerError, StoreError, StoreFull
from weibo_crawler.sites import open_site
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import gone_cells
from weibo_crawler.store.rows.fields import Kind
from weibo_crawler.store.rows.keys import post_key
from weibo_crawler.store.sqlite.tables import SqliteTables

COLUMNS = ("mid", "uid", "text")
ROWS = [{"mid": str(i), "uid": i, "text": f"第{i}条\n"} for i in range(5)]


def test_jsonl_and_csv_hold_the_rows(tmp_path: Path) -> None:
    """The format follows the suffix; the number of rows is returned; compressed files hold the
    same bytes."""
    for name in ("a.jsonl", "a.csv"):
        plain, packed = tmp_path / name, tmp_path / (name + ".gz")
        assert export(iter(ROWS), COLUMNS, plain) == export(iter(ROWS), COLUMNS, packed) == 5
        assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == ROWS
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        assert [row["text"] for row in csv.DictReader(file)] == [row["text"] for row in ROWS]


def test_the_command_offers_each_format(tmp_path: Path) -> None:
    """It writes them all, and names them where somebody asks for another one."""
    for form in FORMATS:
        words = ["export", "posts", "-o", "file", "--format", form]
        assert build_parser().parse_args(words).format == form
        assert export(ROWS, COLUMNS, tmp_path / "rows", form) == len(ROWS)
    with pytest.raises(BadUsage, match=r"--format jsonl\|csv\|parquet.* in \.jsonl, .*\.parquet"):
        export(ROWS, COLUMNS, tmp_path / "rows.txt")
    with pytest.raises(BadUsage, match=r"parquet is compressed inside"):
        export(ROWS, COLUMNS, tmp_path / "rows.parquet.gz")


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    """A compressed export holds neither its name nor the time (four bytes of its header)."""
    export(ROWS, COLUMNS, tmp_path / "a.jsonl.gz")
    export(ROWS, COLUMNS, tmp_path / "b.jsonl.gz")
    packed = (tmp_path / "a.jsonl.gz").read_bytes()
    assert packed == (tmp_path / "b.jsonl.gz").read_bytes()
    assert packed[4:8] == bytes(4)


def test_parquet_is_typed(
    tables: SqliteTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mid is text, ids and counts whole numbers, times timestamps with a zone, lists lists and
    objects structs, null where there is nothing; row groups hold so many rows; values come back."""
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(batches, "_BATCH", 1)
    monkeypatch.setattr(parquet_module, "_GROUP_ROWS", 2)
    put_posts(tables, retweet(11, 5), post(12, 5, likes=3), post(13, 5))
    path = tmp_path / "posts.parquet"
    fields = columns.of_site(columns.POSTS, open_site(Settings()))
    assert export(scan_posts(tables), tuple(fields), path, fields=fields) == 3
    table = parquet.read_table(path)
    types = {field.name: str(field.type) for field in table.schema}
    assert types["mid"] == types["text_why"] == "string"
    assert types["pics"] == types["topics"] == "list<element: string>"
    assert (
        table.schema.field("original").type.field("page_info").type.field("plays").name == "plays"
    )
    assert types["created_at"] == "timestamp[ms, tz=+08:00]"
    assert types["uid"] == types["likes"] == "int64"
    assert types["text_complete"] == "bool"
    assert types["fetched_at"] == "timestamp[ms, tz=UTC]"
    assert parquet.ParquetFile(path).num_row_groups == 2
    rows = table.to_pylist()
    assert [row["mid"] for row in rows] == ["13", "12", "11"]
    assert [row["likes"] for row in rows] == [None, 3, None]
    assert rows[0]["fetched_at"] == datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC)
    assert rows[2]["original"]["text"] == "原文"
    assert rows[2]["pics"] == ["a.jpg", "b.jpg"]
    assert rows[0]["original"] is rows[0]["topics"] is None


def test_one_name_means_one_type() -> None:
    """A column that several tables have is of one kind in all of them, and an id in all or none."""
    kinds: dict[str, set[tuple[Kind, bool]]] = {}
    for fields in (
        columns.POSTS,
        columns.IMPORTED,
        *columns.ECHOES.values(),
        columns.EDGES,
        LEDGERS,
    ):
        for name, field in fields.items():
            kinds.setdefault(name, set()).add((field.kind, field.is_id))
    assert {name for name, found in kinds.items() if len(found) > 1} == set()


def test_a_time_that_is_none_is_null(tables: SqliteTables, tmp_path: Path) -> None:
    """Another program, or an older version, may have left anything in the cell."""
    parquet = pytest.importorskip("pyarrow.parquet")
    put_posts(tables, post(11, 5), post(12, 5), post(13, 5))
    tables.posts.put([Put(post_key(5, 11), {"post:created_at": "soon"}, 10**15)])
    tables.posts.put([Put(post_key(5, 12), {"post:created_at": ""}, 10**15)])
    tables.posts.put([Put(post_key(5, 13), {"post:created_at": "2021-06-17 11:00+08"}, 10**15)])
    export(scan_posts(tables), ("mid", "created_at"), tmp_path / "a.parquet")
    rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    when = datetime(2021, 6, 17, 3, tzinfo=UTC)
    assert {row["mid"]: row["created_at"] for row in rows} == {"11": None, "12": None, "13": when}


def as_lines(row: dict[str, Any]) -> dict[str, Any]:
    """A row of Parquet as JSON Lines have it."""
    for name, field in {**columns.IMPORTED, **columns.POSTS}.items():
        if row.get(name) is None:
            continue
        if field.kind is Kind.TIME:
            row[name] = row[name].isoformat(timespec="milliseconds").replace("+00:00", "Z")
        elif field.kind is Kind.SITE_TIME:
            row[name] = row[name].isoformat()
        elif field.kind is Kind.WORDS:
            row[name] = dict(row[name])
    return row


@pytest.mark.parametrize("names", [tuple(columns.POSTS), ("likes", "mid"), ("original", "text")])
def test_parquet_holds_what_json_lines_do(
    tables: SqliteTables, tmp_path: Path, names: tuple[str, ...]
) -> None:
    """The same posts in the same order with the same values, whichever columns are asked for:
    originals whole, posts that went and came back, counts alone, a limit."""
    parquet = pytest.importorskip("pyarrow.parquet")
    put_posts(tables, retweet(11, 5), post(12, 5, likes=3, source="", edit_count=2), post(13, 6))
    put_posts(tables, *(post(mid, 7, is_pinned=True) for mid in range(100, 110)))
    tables.posts.put([Put(post_key(5, 12), gone_cells(T0), 2)])
    tables.posts.put([Put(post_key(6, 13), gone_cells(None), 2)])
    tables.posts.put([Put(post_key(8, 1), {"count:likes": "4"}, 2)])
    fields = columns.of_site(columns.POSTS, open_site(Settings()))
    for limit in (None, 9):
        for name in ("a.jsonl", "a.parquet"):
            n = export(scan_posts(tables, limit=limit), names, tmp_path / name, fields=fields)
            assert n == (limit or 14)
        lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
        rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
        assert list(map(as_lines, rows)) == list(map(json.loads, lines))


def test_users_in_parquet_are_those_of_json_lines(tables: SqliteTables, tmp_path: Path) -> None:
    """The same for users, who come as rows."""
    parquet = pytest.importorskip("pyarrow.parquet")
    put_users(tables, user(1, 5), user(2, 6, found_from=None))
    for name in ("a.jsonl", "a.parquet"):
        assert export(scan_imported(tables), tuple(columns.IMPORTED), tmp_path / name) == 2
    lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert list(map(as_lines, rows)) == list(map(json.loads, lines))


def test_a_post_that_cannot_be_read_is_named(tables: SqliteTables, tmp_path: Path) -> None:
    """StoreError tells row and cell, as in the other formats, and no file is left."""
    pytest.importorskip("pyarrow")
    put_posts(tables, post(11, 5), post(12, 5))
    tables.posts.put([Put(post_key(5, 11), {"count:likes": "many"}, 2)])
    before = sorted(tmp_path.iterdir())
    for name in ("a.parquet", "a.jsonl"):
        with pytest.raises(StoreError, match=f"row {post_key(5, 11)}: count:likes holds 'many'"):
            export(scan_posts(tables), tuple(columns.POSTS), tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_group_that_cannot_be_written_ends_the_export(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trouble with the file, met while the next rows are read, is an OSError of the export."""
    pytest.importorskip("pyarrow.parquet")
    import pyarrow

    monkeypatch.setattr(batches, "_BATCH", 2)
    monkeypatch.setattr(parquet_module, "_GROUP_ROWS", 2)
    with (
        Path("/dev/full").open("wb", buffering=0) as file,
        pytest.raises(OSError, match="space"),
    ):
        write_parquet(pyarrow, ROWS, {name: columns.KNOWN[name] for name in COLUMNS}, file)


def test_parquet_of_nothing_has_its_columns(tmp_path: Path) -> None:
    """No rows give a readable file with the schema."""
    parquet = pytest.importorskip("pyarrow.parquet")
    assert export([], COLUMNS, tmp_path / "a.parquet") == 0
    assert parquet.read_schema(tmp_path / "a.parquet").names == list(COLUMNS)


def test_missing_pyarrow_is_bad_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library the remedy is named and no file is made."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(BadUsage, match=r"pip install 'weibo-hadoop\[analysis\]'"):
        export(ROWS, COLUMNS, tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "format"),
    [("a", None), ("a.txt", None), ("a.gz", None), ("a.jsonl", "xml"), ("a.parquet.gz", None)],
)
def test_unknown_format_is_bad_usage(tmp_path: Path, name: str, format: str | None) -> None:
    """Nothing is guessed and no file is made."""
    with pytest.raises(BadUsage):
        export(ROWS, COLUMNS, tmp_path / name, format)
    assert list(tmp_path.iterdir()) == []


def test_a_format_wins_over_the_suffix(tmp_path: Path) -> None:
    """An explicit format is taken whatever the name."""
    export(ROWS[:1], ("uid",), tmp_path / "a.txt", "jsonl")
    assert (tmp_path / "a.txt").read_text() == '{"uid":0}\n'


class Stop(BaseException):
    """An interruption that is no Exception, as KeyboardInterrupt."""


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.jsonl.gz", "a.parquet"])
@pytest.mark.parametrize("trouble", [Stop(), CrawlerError("reading failed"), OSError("torn")])
def test_an_old_export_stays_until_the_new_one_is_whole(
    tmp_path: Path, name: str, trouble: BaseException
) -> None:
    """Whatever ends an export early, the old file stays as it was and nothing else is left."""

    def rows() -> Iterator[dict[str, Any]]:
        yield from ROWS
        raise trouble

    path = tmp_path / name
    path.write_bytes(b"old")
    expected = StoreError if isinstance(trouble, OSError) else type(trouble)
    with pytest.raises(expected):
        export(rows(), COLUMNS, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_export_takes_the_place_of_the_old(tmp_path: Path) -> None:
    """The old content is gone, no other file is left; a link stays a link."""
    path, link = tmp_path / "a.jsonl", tmp_path / "link.jsonl"
    path.write_text("old")
    link.symlink_to(path)
    export(ROWS[:1], ("uid",), link)
    assert path.read_text() == '{"uid":0}\n'
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [path, link]


def test_what_killed_writers_left_goes_with_the_next_one(tmp_path: Path) -> None:
    """But nothing of a writer who is at work, and nothing of other files."""
    path, dead = tmp_path / "[a].csv", tmp_path / ".[a].csv.0badcafe.part"
    dead.write_bytes(b"5")
    others = tmp_path / ".b.csv.0badcafe.part"
    others.write_bytes(b"5")
    with replacing(path) as writing:
        assert not dead.exists()
        assert len(parts_of(path)) == 1
        export(ROWS[:1], ("uid",), path)
        writing.write(b"later")
    assert path.read_bytes() == b"later"
    assert sorted(tmp_path.iterdir()) == [others, path]


@pytest.mark.parametrize("letter", ["a", "é", "字"])
def test_the_longest_names_can_be_written(tmp_path: Path, letter: str) -> None:
    """Of 255 bytes: the hidden name beside it is no longer."""
    name = letter * (251 // len(letter.encode())) + ".csv"
    export(ROWS[:1], ("uid",), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_pipe_by_its_link_is_no_file(tmp_path: Path) -> None:
    """As /dev/stdout is one: BadUsage says so."""
    reading, writing = os.pipe()
    try:
        with pytest.raises(BadUsage, match="not a regular file"):
            export(ROWS, COLUMNS, Path(f"/dev/fd/{writing}"), "csv")
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_room_is_store_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A full disk is StoreFull with the path, and nothing is half-written."""

    def fsync(handle: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StoreFull, match=r"a\.jsonl"):
        export(ROWS, COLUMNS, tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """StoreError names the folder to create."""
    with pytest.raises(StoreError, match=r"there is no folder .*nowhere"):
        export(ROWS, COLUMNS, tmp_path / "nowhere" / "a.jsonl")


def test_a_file_for_a_folder_is_named(tmp_path: Path) -> None:
    """StoreError for a path that leads through a file."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"a\.jsonl"):
        export(ROWS, COLUMNS, tmp_path / "file" / "a.jsonl")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_a_store_error(tmp_path: Path) -> None:
    """StoreError where the folder may not be written."""
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match=r"a\.jsonl"):
        export(ROWS, COLUMNS, tmp_path / "a.jsonl")


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: os.mkfifo(path)])
def test_only_regular_files_are_replaced(tmp_path: Path, make: Any) -> None:
    """A folder, pipe or device keeps its place."""
    path = tmp_path / "a.jsonl"
    make(path)
    with pytest.raises(BadUsage, match="not a regular file"):
        export(ROWS, COLUMNS, path)
    assert list(tmp_path.iterdir()) == [path]
    assert not path.is_file()

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

from tests.analysis.worlds import post, put_posts, retweet
from weibo_crawler.analysis import columns
from weibo_crawler.analysis import export as export_module
from weibo_crawler.analysis.export import export
from weibo_crawler.analysis.scan import scan_posts
from weibo_crawler.errors import BadUsage, CrawlerError, StoreError, StoreFull
from weibo_crawler.store.sqlite_tables import SqliteTables

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
    """mid is text, ids and counts whole numbers, times of ours timestamps, nested values JSON
    text; row groups hold so many rows; values come back."""
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(export_module, "_GROUP", 2)
    put_posts(tables, retweet(11, 5), post(12, 5, likes=3), post(13, 5))
    path = tmp_path / "posts.parquet"
    assert export(scan_posts(tables), tuple(columns.POSTS), path) == 3
    table = parquet.read_table(path)
    types = {field.name: str(field.type) for field in table.schema}
    assert types["mid"] == types["created_at"] == types["original"] == types["pics"] == "string"
    assert types["uid"] == types["likes"] == "int64"
    assert types["text_complete"] == "bool"
    assert types["fetched_at"] == "timestamp[ms, tz=UTC]"
    assert parquet.ParquetFile(path).num_row_groups == 2
    rows = table.to_pylist()
    assert [row["mid"] for row in rows] == ["13", "12", "11"]
    assert [row["likes"] for row in rows] == [None, 3, None]
    assert rows[0]["fetched_at"] == datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC)
    assert json.loads(rows[2]["original"])["text"] == "原文"
    assert json.loads(rows[2]["pics"]) == ["a.jpg", "b.jpg"]
    assert rows[0]["original"] is None


def test_parquet_of_nothing_has_its_columns(tmp_path: Path) -> None:
    """No rows give a readable file with the schema."""
    parquet = pytest.importorskip("pyarrow.parquet")
    assert export([], COLUMNS, tmp_path / "a.parquet") == 0
    assert parquet.read_schema(tmp_path / "a.parquet").names == list(COLUMNS)


def test_missing_pyarrow_is_bad_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library the remedy is named and no file is made."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(BadUsage, match=r"pip install 'weibo-crawler\[analysis\]'"):
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


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
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

"""Reading by ranges of keys in several processes."""

import gzip
import signal
import sys
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests import spawned
from tests.analysis.readers import failing, killed, read
from tests.analysis.worlds import post, put_posts, retweet
from tests.store.test_hbase_connections import FakeHbase
from weibo_crawler.analysis.columns import POSTS
from weibo_crawler.analysis.export import export
from weibo_crawler.analysis.parallel import Parted, Readers
from weibo_crawler.analysis.scan import scan_posts
from weibo_crawler.errors import StoreError
from weibo_crawler.store import Tables
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.rows.keys import salt
from weibo_crawler.store.sqlite.tables import SqliteTables

FORMATS = ("excel", "jsonl.gz", "parquet")  # with a head, compressed, and neither text nor lines
USERS = (5, 6, 68, 77, 1234567890)  # 6 and 68 have one salt


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers import the program, and not what runs these tests."""
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", spawned.__spec__)


@pytest.fixture
def url(tables: SqliteTables, tmp_path: Path) -> str:
    fill(tables)
    return f"sqlite:////{str(tmp_path / 'tables.db').lstrip('/')}"


def fill(tables: Tables) -> None:
    put_posts(tables, *(post(mid, uid) for uid in USERS for mid in range(40)), retweet(99, 5))


def written(folder: Path) -> set[str]:
    """What is there beside the store."""
    return {one.name for one in folder.iterdir() if not one.name.startswith("tables.db")}


def columns(path: Path) -> tuple[str, ...]:
    return tuple(POSTS) if path.suffix == ".parquet" else ("mid", "uid", "created_at", "text")


def content(path: Path) -> object:
    """Of a compressed file what was compressed, which went into it in other pieces."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    return pq.read_table(path) if path.suffix == ".parquet" else path.read_bytes()


def both_ways(url: str, tables: Tables, folder: Path, *formats: str) -> None:
    """Each format by this process and by two others: the same bytes, in Parquet the same rows in
    the same groups."""
    assert len({salt(uid) for uid in USERS}) == 4
    with Readers(2, folder / "two") as readers:
        for name in formats:
            one, two = folder / f"one.{name}", folder / f"two.{name}"
            format = name if name == "excel" else None
            n = export(scan_posts(tables), columns(one), one, format)
            counts: list[int] = []
            rows = Parted(readers, partial(read, url), counts.append)
            assert export(rows, columns(two), two, format) == n == sum(counts) == 201
            assert len(counts) == 256
            assert content(two) == content(one)
            if name == "parquet":
                groups = [pq.read_metadata(each).num_row_groups for each in (one, two)]
                assert groups[0] == groups[1] == 4
    assert written(folder) == {f"{each}.{name}" for each in ("one", "two") for name in formats}


def test_two_processes_write_what_one_does(
    url: str, tables: SqliteTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the format, and where most ranges are empty; nothing else is left."""
    monkeypatch.setattr("weibo_crawler.analysis.parquet._GROUP_ROWS", 64)
    both_ways(url, tables, tmp_path, *FORMATS)


def test_so_they_do_from_hbase(tmp_path: Path) -> None:
    """Each by connections of its own (to a server that has one table), whatever the format."""
    server = FakeHbase()
    url = f"hbase://127.0.0.1:{server.port}"
    tables = HbaseTables(url)
    try:
        fill(tables)
        both_ways(url, tables, tmp_path, "jsonl")
    finally:
        tables.close()
        server.close()


@pytest.mark.parametrize(
    ("name", "how", "why"),
    [
        ("a.jsonl", failing, "a row is broken"),
        ("a.parquet", killed, "--processes 2: .* killed"),
    ],
)
def test_who_dies_ends_all(url: str, tmp_path: Path, name: str, how: Any, why: str) -> None:
    """A process that is killed, or an error in one, is an error in a line; the old file stays,
    nothing is left beside it, and nobody goes on."""
    path = tmp_path / name
    path.write_bytes(b"old")
    with pytest.raises(StoreError, match=why), Readers(2, path) as readers:
        export(Parted(readers, partial(how, url), lambda n: None), ("mid",), path)
    assert path.read_bytes() == b"old"
    assert written(tmp_path) == {name}
    assert active_children() == []


def test_an_interruption_ends_all(url: str, tmp_path: Path) -> None:
    """Ctrl-C while parts are being put together."""

    def interrupt(n: int) -> None:
        signal.raise_signal(signal.SIGINT)

    path = tmp_path / "a.parquet"
    with pytest.raises(KeyboardInterrupt), Readers(2, path) as readers:
        export(Parted(readers, partial(read, url), interrupt), ("mid",), path)
    assert written(tmp_path) == set()
    assert active_children() == []

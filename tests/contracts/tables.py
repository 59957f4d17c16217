"""One suite for every home of the tables: HBase's model as the Table protocol promises it.

A backend adds a subclass with `opener`.
"""

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.contracts.table_processes import (
    ROWS,
    batch,
    create,
    write_batches,
    write_until_killed,
)
from tests.examples import examples
from tests.processes import CLEAN
from tests.stores import table_of
from weibo_crawler.errors import StoreError
from weibo_crawler.store import Cell, Put, Row, Tables
from weibo_crawler.store.rows.cells import FAMILIES
from weibo_crawler.store.rows.keys import prefix_end

_example = count()


class Model(dict[str, dict[str, dict[int, str]]]):
    """A model of HBase: {key: {column: {timestamp: value}}}. deleted: key -> the timestamp below
    which the contract promises nothing of later puts."""

    def __init__(self) -> None:
        self.deleted: Counter[str] = Counter()


KEYS = ["", "a", "a-", "a-1", "aé", "a\ud7ff", "a\uffff", "a😀", "a\U0010ffff", "b"]
COLUMNS = ["post:text", "post:b", "post:", "count:likes", "raw:json"]
ASKED = [*COLUMNS, "post", "count", "raw", "post:absent"]
keys = st.sampled_from(KEYS)
columns = st.none() | st.lists(st.sampled_from(ASKED), min_size=1, max_size=3)
values = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
puts = st.builds(
    Put,
    keys,
    st.dictionaries(st.sampled_from(COLUMNS), values, max_size=4),
    st.integers(1, 8),
)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(puts, max_size=6)),
        st.tuples(st.just("delete"), keys, columns, st.none() | st.integers(1, 9)),
        st.tuples(st.just("row"), keys, columns),
        st.tuples(st.just("versions"), keys, st.sampled_from(COLUMNS)),
        st.tuples(st.just("scan"), keys, st.none() | keys, columns, st.none() | st.integers(0, 4)),
        st.tuples(st.just("prefix"), keys, columns),
        st.tuples(
            st.just("least"), keys, st.sampled_from(COLUMNS), values, st.none() | st.integers(0, 4)
        ),
        st.tuples(st.just("keys"), keys),
    ),
    max_size=20,
)


def is_asked(column: str, asked: list[str] | None) -> bool:
    return asked is None or column in asked or column.partition(":")[0] in asked


def model_row(
    model: Mapping[str, dict[str, dict[int, str]]], key: str, asked: list[str] | None
) -> dict[str, str]:
    found = model.get(key, {})
    return {c: v[max(v)] for c, v in found.items() if v and is_asked(c, asked)}


def model_scan(
    model: Mapping[str, dict[str, dict[int, str]]],
    start: str,
    stop: str | None,
    asked: list[str] | None,
    limit: int | None,
) -> list[Row]:
    order = sorted(model, key=str.encode)
    within = [k for k in order if start <= k and (stop is None or k.encode() < stop.encode())]
    rows = [Row(key, cells) for key in within if (cells := model_row(model, key, asked))]
    return rows[:limit]


class TableContract:
    """Mixin. `opener` gives a function, fit to be sent to another process, that opens the tables
    of this folder; called again, it opens the same ones. many: rows that fill several pages."""

    many = 2500

    def opener(self, folder: Path) -> Callable[[], Tables]:
        raise NotImplementedError

    @pytest.fixture
    def open_again(self, tmp_path: Path) -> Callable[[], Tables]:
        return self.opener(tmp_path)

    @pytest.fixture
    def tables(self, open_again: Callable[[], Tables]) -> Iterator[Tables]:
        tables = open_again()
        tables.create()
        yield tables
        tables.close()

    # -- rows and cells

    def test_a_row_comes_back(self, tables: Tables) -> None:
        """What is put is read, in its own table only; where there is no row there are no cells."""
        tables.posts.put([Put("k", {"post:text": "早", "count:likes": "1"}, 5)])
        assert tables.posts.row("k") == {"post:text": "早", "count:likes": "1"}
        assert tables.posts.row("l") == {}
        assert tables.userlist.row("k") == {}

    def test_rows_come_by_their_keys(self, tables: Tables) -> None:
        """Each as `row` gives it, in any order, also keys that are not there, and more than one
        call takes; a row beside them is not among them."""
        puts = [Put(f"k{n}", {"post:text": f"{n}", "count:likes": "1"}, 5) for n in range(1500)]
        tables.posts.put([*puts, Put("k7", {"post:text": "new"}, 9)])
        keys = [*(f"k{n}" for n in range(1499, 0, -1)), "none"]
        for columns in (None, ["post:text"], ["count"], ["raw"]):
            found = tables.posts.rows(keys, columns)
            assert list(found) == keys
            for key in ("k1499", "k7", "k1", "none"):
                assert found[key] == tables.posts.row(key, columns)
        assert tables.posts.rows([]) == {}
        assert tables.posts.rows(["none"]) == {"none": {}}

    def test_puts_come_from_any_iterable(self, tables: Tables) -> None:
        """A generator is taken; no puts, and puts without cells, write nothing."""
        tables.posts.put(Put(f"{i}", {"post:text": "x"}, 1) for i in range(3))
        tables.posts.put([])
        tables.posts.put([Put("empty", {}, 1)])
        assert list(tables.posts.keys("")) == ["0", "1", "2"]

    def test_the_newest_timestamp_wins(self, tables: Tables) -> None:
        """Whatever the order of writing, and cell by cell."""
        tables.posts.put([Put("k", {"post:text": "new", "post:b": "only"}, 9)])
        tables.posts.put([Put("k", {"post:text": "old", "post:c": "kept"}, 3)])
        assert tables.posts.row("k") == {"post:text": "new", "post:b": "only", "post:c": "kept"}

    def test_every_write_may_be_repeated(self, tables: Tables) -> None:
        """Law 7: the same cell at the same timestamp is replaced, the others stay."""
        put = Put("k", {"post:text": "one", "post:b": "b"}, 5)
        tables.posts.put([put])
        tables.posts.put([put])
        assert tables.posts.versions("k", "post:text") == [Cell(5, "one")]
        tables.posts.put([Put("k", {"post:text": "other"}, 5)])
        assert tables.posts.versions("k", "post:text") == [Cell(5, "other")]
        assert tables.posts.row("k") == {"post:text": "other", "post:b": "b"}

    def test_of_one_put_the_last_wins(self, tables: Tables) -> None:
        """The same cell twice in one call: as if put one after the other."""
        tables.posts.put([Put("k", {"post:text": "one"}, 5), Put("k", {"post:text": "two"}, 5)])
        assert tables.posts.versions("k", "post:text") == [Cell(5, "two")]

    @pytest.mark.parametrize(
        ("table", "family", "kept"),
        [(table, family, n) for table, of in FAMILIES.items() for family, n in of.items()],
    )
    def test_a_family_keeps_its_versions(
        self, tables: Tables, table: str, family: str, kept: int
    ) -> None:
        """The newest versions are read, newest first, as many as the family keeps."""
        column = f"{family}:x"
        table_of(tables, table).put([Put("k", {column: str(i)}, i) for i in range(1, kept + 4)])
        found = table_of(tables, table).versions("k", column)
        assert found == [Cell(i, str(i)) for i in range(kept + 3, 3, -1)]

    def test_versions_are_of_the_cell(self, tables: Tables) -> None:
        """A cell's versions are its own, however often its neighbours were written."""
        tables.posts.put([Put("k", {"post:a": "first", "post:b": "0"}, 1)])
        tables.posts.put([Put("k", {"post:b": str(i)}, i) for i in range(2, 30)])
        assert tables.posts.versions("k", "post:a") == [Cell(1, "first")]
        assert tables.posts.row("k") == {"post:a": "first", "post:b": "29"}

    def test_what_a_row_held(self, tables: Tables) -> None:
        """Each state since which something was written, the newest first; as of a time the newest
        cells that are not newer, of rows that were there then, in the order of the keys."""
        tables.posts.put([Put("a", {"post:text": "one", "count:likes": "1"}, 10)])
        tables.posts.put([Put("b", {"post:text": "other"}, 15)])
        tables.posts.put([Put("a", {"count:likes": "2"}, 20), Put("c", {"count:likes": "9"}, 30)])
        tables.posts.put([Put("a", {"post:text": "two"}, 30)])
        one = {"post:text": "one", "count:likes": "1"}
        now = {"post:text": "two", "count:likes": "2"}
        states = [(30, now), (20, {**one, "count:likes": "2"}), (10, one)]
        assert list(tables.posts.states("a")) == states
        assert list(tables.posts.states("nobody")) == []
        b = Row("b", {"post:text": "other"})
        c = Row("c", {"count:likes": "9"})
        expected = {
            9: [],
            10: [Row("a", one)],
            14: [Row("a", one)],
            15: [Row("a", one), b],
            29: [Row("a", states[1][1]), b],
            30: [Row("a", now), b, c],
        }
        for at, rows in expected.items():
            assert list(tables.posts.scan(as_of=at)) == rows
        assert list(tables.posts.scan(prefix="a", columns=["count"], as_of=19)) == [
            Row("a", {"count:likes": "1"})
        ]
        assert list(tables.posts.scan(start="a", limit=1, as_of=15)) == [Row("a", one)]

    @pytest.mark.parametrize("column", ["user:id", "nofamily", "nofamily:x", ":", ""])
    def test_a_family_must_be_known(self, tables: Tables, column: str) -> None:
        """As in HBase families are fixed; the refused call writes nothing."""
        good = Put("k", {"post:text": "x"}, 1)
        with pytest.raises(StoreError, match=f"posts has no column '{column}'"):
            tables.posts.put([good, Put("l", {column: "x"}, 1)])
        assert list(tables.posts.keys("")) == []
        posts = tables.posts
        calls: list[Callable[[], object]] = [
            lambda: posts.row("k", [column]),
            lambda: posts.versions("k", column),
            lambda: posts.delete("k", [column]),
            lambda: posts.scan(columns=[column]),
        ]
        for call in calls:
            with pytest.raises(StoreError, match="has no column"):
                call()

    def test_megabytes_and_any_text(self, tables: Tables) -> None:
        """Values of megabytes and any text come back as they were."""
        cells = {
            "raw:json": "微博" * 1_000_000,
            "post:text": "\0 \x7f \" \\ ' \u2028 \ufeff 😀 \r\n\t",
            "post:empty": "",
        }
        tables.posts.put([Put("k", cells, 1)])
        assert tables.posts.row("k") == cells
        assert list(tables.posts.scan()) == [Row("k", cells)]

    # -- scans

    def test_rows_are_in_byte_order(self, tables: Tables) -> None:
        """The order is that of the UTF-8 bytes, not of UTF-16, nor of any language."""
        wanted = sorted(KEYS[1:], key=str.encode)
        tables.posts.put([Put(key, {"post:text": key}, 1) for key in reversed(wanted)])
        assert [row.key for row in tables.posts.scan()] == wanted
        assert list(tables.posts.keys("")) == wanted

    def test_a_prefix_is_exact(self, tables: Tables) -> None:
        """All rows with the prefix and no other, up to the last code point there is."""
        rows = ["14-6-1", "14-6-2", "14-6-\U0010ffff", "14-6", "14-68-1", "14-7-1"]
        tables.posts.put([Put(key, {"post:text": key}, 1) for key in rows])
        assert [row.key for row in tables.posts.scan(prefix="14-6-")] == rows[:3]
        assert list(tables.posts.keys("14-6-")) == rows[:3]
        assert [r.key for r in tables.posts.scan(prefix="14-6-", start="14-6-2")] == rows[1:3]
        assert [r.key for r in tables.posts.scan(prefix="14-6-", stop="14-6-2")] == rows[:1]

    def test_start_is_in_stop_is_out(self, tables: Tables) -> None:
        """start <= key < stop; ranges that meet leave nothing out and nothing double."""
        tables.posts.put([Put(key, {"post:text": key}, 1) for key in "abcd"])
        assert [row.key for row in tables.posts.scan(start="b", stop="d")] == ["b", "c"]
        assert [row.key for row in tables.posts.scan(start="c")] == ["c", "d"]
        assert list(tables.posts.scan(start="d", stop="a")) == []

    def test_rows_without_the_columns_are_left_out(self, tables: Tables) -> None:
        """By family or by cell; what is left out does not count for the limit."""
        tables.posts.put([Put(f"a{i}", {"post:text": "x", "post:b": "y"}, 1) for i in range(9)])
        tables.posts.put([Put("b1", {"count:likes": "1", "post:c": "z"}, 1)])
        tables.posts.put([Put("b2", {"count:likes": "2"}, 1)])
        found = list(tables.posts.scan(columns=["count", "post:c"], limit=2))
        assert found == [
            Row("b1", {"count:likes": "1", "post:c": "z"}),
            Row("b2", {"count:likes": "2"}),
        ]
        assert tables.posts.row("a1", ["post:b"]) == {"post:b": "y"}
        assert [r.key for r in tables.posts.scan(limit=3)] == ["a0", "a1", "a2"]
        assert list(tables.posts.scan(limit=0)) == []

    @pytest.mark.parametrize("step", [2, 10, None])
    def test_rows_whose_cell_is_at_least_a_value(self, tables: Tables, step: int | None) -> None:
        """In their order and whole, be they many, or four of all; the newest version counts, or
        that of then."""
        step = step or self.many * 7 // 25
        puts = [
            Put(f"{i:05d}", {"post:at": str(3 if i % step else 9), "raw:a": str(i)}, 1)
            for i in range(self.many)
        ]
        tables.posts.put([*puts, Put("zz", {"post:text": "no such cell"}, 1)])
        wanted = [Row(put.key, dict(put.cells)) for put in puts if put.cells["post:at"] == "9"]
        least = ("post:at", "5")
        assert list(tables.posts.scan(least=least)) == wanted
        start, stop = f"{self.many // 25:05d}", f"{self.many * 4 // 5:05d}"
        inside = [row for row in wanted if start <= row.key < stop]
        assert list(tables.posts.scan(start=start, stop=stop, least=least)) == inside
        assert list(tables.posts.scan(least=least, limit=3)) == wanted[:3]
        tables.posts.put([Put(wanted[0].key, {"post:at": "4"}, 2)])
        assert list(tables.posts.scan(least=least)) == wanted[1:]
        assert list(tables.posts.scan(least=least, as_of=1)) == wanted

    def test_writing_while_scanning(self, tables: Tables) -> None:
        """A scan meets each row that was there before just once, while the same thread writes."""
        wanted = [f"{i:05d}" for i in range(2500)]
        tables.posts.put([Put(key, {"post:text": key}, 1) for key in wanted])
        seen = []
        for row in tables.posts.scan():
            seen.append(row.key)
            if row.key in wanted and len(seen) % 100 == 1:
                tables.posts.put([Put(row.key + "+", {"post:text": "new"}, 1)])
                tables.posts.put([Put(row.key, {"post:text": "again"}, 2)])
        assert [key for key in seen if not key.endswith("+")] == wanted
        assert len(seen) == len(set(seen))
        assert len(list(tables.posts.keys(""))) == len(wanted) + 25

    # -- deletes

    def test_deletes(self, tables: Tables) -> None:
        """A cell, a family or the row, in all versions; what is not there may be deleted."""
        cells = {"post:a": "1", "post:b": "2", "count:likes": "3", "raw:json": "4"}
        tables.posts.put([Put("k", cells, ts) for ts in (1, 2, 3)])
        tables.posts.put([Put("other", cells, 1)])
        tables.posts.delete("k", ["post:a", "count"])
        assert tables.posts.row("k") == {"post:b": "2", "raw:json": "4"}
        assert tables.posts.versions("k", "post:a") == []
        assert len(tables.posts.versions("k", "post:b")) == 3
        tables.posts.delete("k")
        tables.posts.delete("k")
        assert tables.posts.row("k") == {}
        assert [row.key for row in tables.posts.scan()] == ["other"]
        assert tables.posts.row("other") == cells

    def test_a_delete_up_to_a_time(self, tables: Tables) -> None:
        """Newer versions stay; of the row, of a family, and of a cell."""
        cells = {"post:a": "1", "post:b": "2", "count:likes": "3"}
        for asked in (None, ["post"], ["post:a"]):
            key = str(asked)
            tables.posts.put([Put(key, cells, ts) for ts in range(1, 6)])
            tables.posts.delete(key, asked, up_to=3)
            assert [cell.timestamp for cell in tables.posts.versions(key, "post:a")] == [5, 4]
            likes = tables.posts.versions(key, "count:likes")
            assert [cell.timestamp for cell in likes] == (
                [5, 4] if asked is None else [5, 4, 3, 2, 1]
            )
            assert tables.posts.row(key) == cells
            tables.posts.delete(key, asked, up_to=5)
            assert tables.posts.versions(key, "post:a") == []

    @pytest.mark.parametrize("put_first", [True, False])
    def test_a_cell_is_replaced_for_good(self, tables: Tables, put_first: bool) -> None:
        """A put just above the newest version and a delete up to it, in either order: one version
        is left. So a reposted original is cut out of a row."""
        tables.posts.put([Put("k", {"post:more": f"{ts}", "post:text": "t"}, ts) for ts in (7, 8)])
        steps = [
            lambda: tables.posts.put([Put("k", {"post:more": "cut"}, 9)]),
            lambda: tables.posts.delete("k", ["post:more"], up_to=8),
        ]
        for step in steps if put_first else reversed(steps):
            step()
        assert tables.posts.versions("k", "post:more") == [Cell(9, "cut")]
        assert tables.posts.row("k") == {"post:more": "cut", "post:text": "t"}

    def test_a_deleted_row_may_come_back(self, tables: Tables) -> None:
        """What is put at a greater timestamp than all that was deleted is there."""
        for ts in (1, 2, 3):
            tables.posts.put([Put("k", {"post:text": str(ts)}, ts)])
            assert tables.posts.versions("k", "post:text") == [Cell(ts, str(ts))]
            tables.posts.delete("k")
            assert list(tables.posts.scan()) == []

    # -- the whole model

    @examples(
        60,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,
            HealthCheck.too_slow,
        ],
    )
    @given(operations=operations)
    def test_it_is_the_model(self, tables: Tables, operations: list[tuple[Any, ...]]) -> None:
        """Any sequence of calls reads what a plain model of HBase reads."""
        model = Model()
        here = f"{next(_example)}-"  # examples share the tables: each has a prefix of its own
        for name, *arguments in operations:
            getattr(self, f"_check_{name}")(tables, model, here, *arguments)

    def _check_put(self, tables: Tables, model: Model, here: str, puts: list[Put]) -> None:
        puts = [
            put._replace(
                key=here + put.key, timestamp=model.deleted[here + put.key] + put.timestamp
            )
            for put in puts
        ]
        tables.posts.put(puts)
        for key, cells, timestamp in puts:
            for column, value in cells.items():
                model.setdefault(key, {}).setdefault(column, {})[timestamp] = value

    def _check_delete(
        self,
        tables: Tables,
        model: Model,
        here: str,
        key: str,
        asked: list[str] | None,
        up_to: int | None,
    ) -> None:
        key = here + key
        if up_to is not None:
            up_to += model.deleted[key]
        tables.posts.delete(key, asked, up_to=up_to)
        for column, history in model.get(key, {}).items():
            for timestamp in list(history) if is_asked(column, asked) else []:
                if up_to is None or timestamp <= up_to:
                    del history[timestamp]
        model.deleted[key] += 9

    def _check_row(
        self, tables: Tables, model: Model, here: str, key: str, asked: list[str] | None
    ) -> None:
        assert tables.posts.row(here + key, asked) == model_row(model, here + key, asked)

    def _check_versions(
        self, tables: Tables, model: Model, here: str, key: str, column: str
    ) -> None:
        kept = FAMILIES["posts"][column.partition(":")[0]]
        history = model.get(here + key, {}).get(column, {})
        wanted = [Cell(*item) for item in sorted(history.items(), reverse=True)]
        assert tables.posts.versions(here + key, column) == wanted[:kept]

    def _check_scan(
        self,
        tables: Tables,
        model: Model,
        here: str,
        start: str,
        stop: str | None,
        asked: list[str] | None,
        limit: int | None,
    ) -> None:
        end = prefix_end(here) if stop is None else here + stop
        found = tables.posts.scan(start=here + start, stop=end, columns=asked, limit=limit)
        assert list(found) == model_scan(model, here + start, end, asked, limit)

    def _check_least(
        self,
        tables: Tables,
        model: Model,
        here: str,
        prefix: str,
        column: str,
        value: str,
        limit: int | None,
    ) -> None:
        rows = model_scan(model, here, prefix_end(here), None, None)
        wanted = [
            row
            for row in rows
            if row.key.startswith(here + prefix)
            and column in row.cells
            and row.cells[column].encode() >= value.encode()
        ]
        least = (column, value)
        found = list(tables.posts.scan(prefix=here + prefix, least=least, limit=limit))
        assert found == wanted[:limit]

    def _check_prefix(
        self, tables: Tables, model: Model, here: str, prefix: str, asked: list[str] | None
    ) -> None:
        inside = {key: row for key, row in model.items() if key.startswith(here + prefix)}
        found = list(tables.posts.scan(prefix=here + prefix, columns=asked))
        assert found == model_scan(inside, "", None, asked, None)

    def _check_keys(self, tables: Tables, model: Model, here: str, prefix: str) -> None:
        there = [key for key in model if model_row(model, key, None)]
        inside = [key for key in there if key.startswith(here + prefix)]
        assert list(tables.posts.keys(here + prefix)) == sorted(inside, key=str.encode)

    # -- life and death

    def test_create_may_be_repeated(self, tables: Tables) -> None:
        """The second time there is nothing to do, and nothing is lost."""
        tables.posts.put([Put("k", {"post:text": "x"}, 1)])
        assert tables.create() == []
        assert tables.posts.row("k") == {"post:text": "x"}

    def test_create_says_what_it_made(self, open_again: Callable[[], Tables]) -> None:
        """A line for each table."""
        tables = open_again()
        made = tables.create()
        names = sorted(FAMILIES)
        assert sorted(next(n for n in names if f" {n} " in line) for line in made) == names
        tables.close()

    def test_close_and_reopen(self, tables: Tables, open_again: Callable[[], Tables]) -> None:
        """What was put is there after a reopening, versions included."""
        tables.posts.put([Put("k", {"post:text": str(ts)}, ts) for ts in (1, 2)])
        tables.close()
        again = open_again()
        assert again.posts.versions("k", "post:text") == [Cell(2, "2"), Cell(1, "1")]
        again.close()

    def test_threads_share_the_tables(self, tables: Tables) -> None:
        """One object may be used by many threads at once; nothing is lost."""
        failed: list[BaseException] = []

        def write(writer: int) -> None:
            try:
                for number in range(10):
                    tables.posts.put(batch(writer, number))
                    next(tables.posts.scan(prefix="00-"))
            except BaseException as error:
                failed.append(error)
                raise

        threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert len(list(tables.posts.keys(""))) == 4 * 10 * ROWS + 1

    def test_four_processes_write_while_one_scans(
        self, tables: Tables, open_again: Callable[[], Tables]
    ) -> None:
        """Nothing is lost and nobody is told that the store is locked."""
        batches = 30
        writers = [
            CLEAN.Process(target=write_batches, args=(open_again, i, batches)) for i in range(4)
        ]
        for process in writers:
            process.start()
        while any(process.is_alive() for process in writers):
            seen = [row.key for row in tables.posts.scan()]
            assert seen == sorted(set(seen), key=str.encode)
        assert [process.exitcode for process in writers] == [0, 0, 0, 0]
        wanted = [put for i in range(4) for number in range(batches) for put in batch(i, number)]
        rows = {row.key: row.cells for row in tables.posts.scan()}
        assert len(rows) == 4 * batches * ROWS + 1
        assert all(put.cells.items() <= rows[put.key].items() for put in wanted)

    def test_many_processes_create_at_once(self, open_again: Callable[[], Tables]) -> None:
        """Whoever comes first creates the tables, all of them can write."""
        processes = [CLEAN.Process(target=create, args=(open_again, i)) for i in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0, 0, 0, 0]
        tables = open_again()
        assert list(tables.userlist.keys("")) == ["0", "1", "2", "3"]
        tables.close()

    def test_killed_writer_loses_nothing_acknowledged(
        self, tables: Tables, open_again: Callable[[], Tables]
    ) -> None:
        """Law 8: after kill -9 every put that had returned is there, and writing goes on."""
        acknowledged = kill_a_writer(open_again, after=8)
        rows = {row.key: row.cells for row in tables.posts.scan()}
        for number in acknowledged:
            for put in batch(0, number):
                assert put.cells.items() <= rows[put.key].items()
        tables.posts.put(batch(1, 0))
        assert tables.posts.row(batch(1, 0)[0].key) == batch(1, 0)[0].cells


def kill_a_writer(opener: Callable[[], Tables], *, after: int) -> list[int]:
    """Let a process write, kill it after some puts; the numbers of those it saw acknowledged."""
    receiver, sender = CLEAN.Pipe(duplex=False)
    process = CLEAN.Process(target=write_until_killed, args=(opener, sender))
    process.start()
    sender.close()
    acknowledged = [receiver.recv() for _ in range(after)]
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    try:
        while True:
            acknowledged.append(receiver.recv())
    except EOFError:
        receiver.close()
    return acknowledged

import csv
import io
import json
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from weibo_crawler.analysis.ddl import _sql
from weibo_crawler.analysis.table import write_table
from weibo_crawler.analysis.writers import write
from weibo_crawler.errors import BadUsage
from weibo_crawler.printable import one_line

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), TEXTS, st.lists(TEXTS, max_size=2)
)
ROWS = st.lists(st.fixed_dictionaries({"a": VALUES, "b": VALUES}), max_size=5)


def written(rows: list[dict[str, Any]], format: str, columns: tuple[str, ...]) -> str:
    stream = io.BytesIO()
    assert write(iter(rows), format, stream, columns) == len(rows)
    return stream.getvalue().decode()


def as_cell(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@settings(deadline=None)
@given(ROWS)
def test_jsonl_comes_back(rows: list[dict[str, Any]]) -> None:
    """One object a line, in the order of the columns, equal to the row; a missing key is null."""
    lines = written(rows, "jsonl", ("b", "a", "c")).split("\n")
    assert lines.pop() == ""
    found = [json.loads(line) for line in lines]
    assert found == [{"b": row["b"], "a": row["a"], "c": None} for row in rows]
    assert all(list(row) == ["b", "a", "c"] for row in found)


def test_jsonl_is_utf8_without_escapes() -> None:
    """Chinese and emoji stand as they are."""
    assert written([{"text": "微博😀"}], "jsonl", ("text",)) == '{"text":"微博😀"}\n'


@settings(deadline=None)
@given(ROWS)
def test_csv_comes_back(rows: list[dict[str, Any]]) -> None:
    """A header, then one record a row whatever its texts hold; None is empty, nested is JSON."""
    text = written(rows, "csv", ("a", "b"))
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found == [["a", "b"], *([as_cell(row["a"]), as_cell(row["b"])] for row in rows)]


def test_csv_leaves_data_as_it_is() -> None:
    """A text that a spreadsheet may take for a formula is not changed."""
    assert written([{"text": "=1+1", "n": 3, "ok": True}], "csv", ("text", "n", "ok")) == (
        "text,n,ok\r\n=1+1,3,true\r\n"
    )


def excel(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> list[list[str]]:
    text = written(rows, "excel", columns)
    assert text.startswith("\ufeff")
    return list(csv.reader(io.StringIO(text[1:], newline="")))


def test_excel_keeps_ids_and_other_texts_that_look_like_numbers() -> None:
    """Excel keeps fifteen digits of a number, and makes dates and powers of ten of texts; a formula
    that holds nothing but a text stays that text. Counts and times are left to it."""
    row = {"mid": "4600000000000001", "uid": 1001, "found_from": 7, "bid": "12E45", "likes": 3}
    row |= {"birthday": "05-06", "screen_name": "007", "created_at": "2021-06-17T11:00:31+08:00"}
    row |= {"text": None, "topics": ["=1"], "source": "iPhone 12"}
    head, cells = excel([row], tuple(row))
    assert head == list(row)
    assert cells == [
        *('="4600000000000001"', '="1001"', '="7"', '="12E45"', "3"),
        *('="05-06"', '="007"', "2021-06-17T11:00:31+08:00"),
        *("", '["=1"]', "iPhone 12"),
    ]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "＠x", '="5"&A1']
)
def test_no_text_is_a_formula_in_excel(text: str) -> None:
    """An apostrophe before it makes a text of whatever begins like a formula."""
    assert excel([{"text": text}], ("text",)) == [["text"], ["'" + text]]


@settings(deadline=None)
@given(ROWS)
def test_excel_gets_whole_texts(rows: list[dict[str, Any]]) -> None:
    """Whatever texts hold, taking the marks away gives what the plain file has."""
    plain = [as_cell(row[name]) for row in rows for name in ("a", "b")]
    found = [cell for line in excel(rows, ("a", "b"))[1:] for cell in line]
    for mine, theirs in zip(found, plain, strict=True):
        assert mine in (theirs, "'" + theirs, f'="{theirs}"')
        assert mine[:1] not in tuple("+@\t\r\n")
        assert mine[:1] != "=" or mine[2:-1].isascii()


def test_unknown_format_is_bad_usage() -> None:
    """BadUsage names the known formats."""
    with pytest.raises(BadUsage, match="table, jsonl, csv, excel"):
        write([], "xml", io.BytesIO(), ("a",))


@pytest.mark.parametrize("format", ["jsonl", "csv", "table"])
def test_rows_are_taken_one_by_one(format: str) -> None:
    """A stream that breaks ends the reading: rows are not collected first (a table looks at its
    first rows for the widths)."""
    taken = []

    def rows() -> Any:
        for i in range(100_000):
            taken.append(i)
            yield {"a": "x" * 100}

    class Broken(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell() > 2000:
                raise BrokenPipeError
            return super().write(data)

    with pytest.raises(BrokenPipeError):
        write(rows(), format, Broken(), ("a",))
    assert len(taken) <= 200


@settings(deadline=None)
@given(st.text())
def test_no_text_rules_the_terminal(text: str) -> None:
    """What `one_line` lets through is one printable line: no control character, no line break, no
    change of the reading order, and it can be encoded."""
    shown = one_line(text)
    shown.encode()
    assert len(shown.splitlines()) <= 1
    forbidden = {*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
    assert not forbidden & set(map(ord, shown))


def test_newlines_and_escapes_are_shown() -> None:
    """A line break is ⏎, an escape is ␛, CRLF is one break."""
    assert one_line("a\nb\r\nc\x1b[31m") == "a⏎b⏎c␛[31m"


def table(rows: list[list[str]], columns: list[str], width: int, monkeypatch: Any) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    stream = io.BytesIO()
    write_table(rows, columns, stream)
    return stream.getvalue().decode().splitlines()


def test_wide_characters_line_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns begin at the same cell whether their texts are Chinese, emoji or ASCII; numbers stand
    to the right, though some are not known."""
    rows = [["微博用户", "1"], ["abc", "22"], ["😀", "333"], ["字", ""]]
    lines = table(rows, ["name", "fans"], 60, monkeypatch)
    assert lines == ["name      fans", "微博用户     1", "abc         22", "😀         333", "字"]


def test_long_texts_are_cut_to_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is wider than the terminal, the cut is marked, numbers stay whole; also in rows that
    came after the widths were set."""
    mid = "4648000000000001"
    rows = [["短", mid]] + [["很长的文字" * 100, mid]] * 150 + [["x" * 5000, mid]]
    lines = table(rows, ["text", "mid"], 50, monkeypatch)
    assert len(lines) == len(rows) + 1
    assert all(cell_len(line) <= 50 for line in lines)
    assert all(line.endswith(mid) for line in lines[1:])
    assert all("…" in line for line in lines[2:])
    assert "…" not in lines[1]


def test_markup_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets are no markup."""
    assert table([["[red]x[/red]"]], ["[b]t"], 40, monkeypatch) == ["[b]t", "[red]x[/red]"]


def test_a_table_without_rows_has_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing found still tells the columns."""
    assert table([], ["mid", "text"], 40, monkeypatch) == ["mid  text"]


def test_each_type_of_arrow_is_one_of_hive() -> None:
    """Also within another one."""
    said = {
        "STRING": pyarrow.string(),
        "TIMESTAMP": pyarrow.timestamp("ms", "UTC"),
        "ARRAY<STRING>": pyarrow.list_(pyarrow.string()),
        "MAP<STRING, BIGINT>": pyarrow.map_(pyarrow.string(), pyarrow.int64()),
        "STRUCT<`at`: TIMESTAMP>": pyarrow.struct([("at", pyarrow.timestamp("ms", "UTC"))]),
    }
    assert {_sql(pyarrow, type) for type in said.values()} == {*said}

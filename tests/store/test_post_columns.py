"""Columns of many posts: what read_post gives of each, or a refusal where it refuses."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from tests.store.test_cells import posts, times
from weibo_crawler.analysis.batches import post_columns
from weibo_crawler.errors import StoreError
from weibo_crawler.records import Post
from weibo_crawler.store import Row
from weibo_crawler.store.rows.cells import gone_cells, post_cells, read_post
from weibo_crawler.store.rows.fields import POSTS, in_cells
from weibo_crawler.store.rows.keys import post_key

NAMES = tuple(POSTS)
KEY = post_key(5, 11)
COLUMNS = ("post:more", *(cell for cell, _ in in_cells(POSTS).values()))
# what other programs may leave in a cell
FOUND = ("", "7", "-7", "+7", "0x10", " 7", "true", "True", "{}", '{"pics":["甲"]}', "null", "x")


def stored(post: Post, at: float, gone_at: float | None) -> Row:
    cells = post_cells(post, at, "direct", "r1")
    return Row(post_key(post.uid, post.mid), {**cells, **gone_cells(gone_at)})


def plain(value: Any) -> Any:
    """A struct as the dict it is in a row; a tuple of texts stays one."""
    return value if isinstance(value, tuple) else to_builtins(value)


def transposed(rows: list[Row], names: tuple[str, ...]) -> list[dict[str, Any]]:
    found = post_columns(rows, names)
    columns = [[plain(value) for value in found[name]] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def test_every_column_of_a_post_is_one() -> None:
    """The names are those of read_post, in its order."""
    assert tuple(read_post(Row(KEY, {}))) == NAMES


@given(st.lists(st.builds(stored, posts, times, st.none() | times), min_size=1, max_size=4))
def test_columns_hold_what_rows_do(rows: list[Row]) -> None:
    """Each value of each column is that of read_post, its type included."""
    found, expected = transposed(rows, NAMES), [read_post(row) for row in rows]
    assert found == expected
    assert [list(map(type, row.values())) for row in found] == [
        list(map(type, row.values())) for row in expected
    ]


@given(
    st.sampled_from([KEY, KEY[1:], "x"]),
    st.dictionaries(st.sampled_from(COLUMNS), st.sampled_from(FOUND), max_size=3),
)
def test_cells_of_others_are_read_or_refused_alike(key: str, cells: dict[str, str]) -> None:
    """Whatever a row holds, both give the same or both refuse it."""
    row = Row(key, cells)
    try:
        expected = [read_post(row)]
    except StoreError:
        expected = []
    try:
        found = transposed([row], NAMES)
    except ValueError:
        found = []
    assert found == expected


@given(st.builds(stored, posts, times, st.none()), st.lists(st.sampled_from(NAMES), unique=True))
def test_only_what_is_wanted_has_to_be_there(row: Row, names: list[str]) -> None:
    """Some columns are the same as among all."""
    whole = read_post(row)
    assert transposed([row], tuple(names)) == [{n: whole[n] for n in names}] * bool(names)

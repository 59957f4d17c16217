"""The table of fields: complete, and the same in docs/tables.md."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from weibo_crawler.records import Comment, Post
from weibo_crawler.store.rows.cells import FAMILIES
from weibo_crawler.store.rows.fields import COMMENTS, EDGES, IMPORTED, KEY, POSTS, Field
from weibo_crawler.store.rows.packed import Unpacked

_DOC = (Path(__file__).parents[2] / "docs/tables.md").read_text("utf-8")


def rows(fields: Mapping[str, Field]) -> str:
    """The table of the documentation."""
    head = "| column | holds | cell | what |\n|---|---|---|---|\n"
    cells = {KEY: "of the key"} | {f.cell: f"`{f.cell}`" for f in fields.values() if f.cell}
    return head + "".join(
        f"| `{name}` | {field.kind.value} | {cells[field.cell]} | {field.about} |\n"
        for name, field in fields.items()
    )


@pytest.mark.parametrize("fields", [POSTS, IMPORTED, COMMENTS], ids=["posts", "users", "comments"])
def test_the_documentation_has_the_same_table(fields: Mapping[str, Field]) -> None:
    """What is to stand there is what this test says that it misses."""
    assert rows(fields) in _DOC


def test_every_field_of_a_record_is_one() -> None:
    """What a page shows of a post or comment, and what is packed, has a line in the table."""
    assert set(Post.__struct_fields__) <= set(POSTS)
    assert set(Unpacked.__struct_fields__) <= set(POSTS)
    assert {*Comment.__struct_fields__} - {"id"} <= set(COMMENTS)
    assert all(
        field.about for fields in (POSTS, IMPORTED, COMMENTS, EDGES) for field in fields.values()
    )


def test_cells_lie_in_known_families() -> None:
    """Each in a family that its table has."""
    for fields, table in ((POSTS, "posts"), (IMPORTED, "userlist"), (COMMENTS, "comments")):
        families = {field.cell.partition(":")[0] for field in fields.values() if field.cell != KEY}
        assert families <= set(FAMILIES[table])

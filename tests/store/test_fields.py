"""The table of fields: complete, and the same in docs/tables.md."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.analysis.worlds import post, user
from weibo_crawler.records import ECHO_LISTS, Echo, PageInfo, Post
from weibo_crawler.store.rows.cells import FAMILIES, post_cells, user_cells
from weibo_crawler.store.rows.echoes import echo_puts
from weibo_crawler.store.rows.fields import ECHOES, EDGES, IMPORTED, NOWHERE, POSTS, Field
from weibo_crawler.store.rows.packed import MORE

_DOC = (Path(__file__).parents[2] / "docs/tables.md").read_text("utf-8")


def rows(fields: Mapping[str, Field]) -> str:
    """The table of the documentation."""
    head = "| column | holds | cell | what |\n|---|---|---|---|\n"
    return head + "".join(
        f"| `{name}` | {field.kind.value} | `{field.cell}`{', the key' * field.in_key} | "
        f"{field.about} |\n"
        for name, field in fields.items()
    )


@pytest.mark.parametrize(
    "fields", [POSTS, IMPORTED, *ECHOES.values()], ids=["posts", "users", *ECHOES]
)
def test_the_documentation_has_the_same_table(fields: Mapping[str, Field]) -> None:
    """What is to stand there is what this test says that it misses."""
    assert rows(fields) in _DOC


def test_every_field_of_a_record_is_one() -> None:
    """What a page shows of a post or comment, and what is packed, has a line in the table."""
    assert set(Post.__struct_fields__) <= set(POSTS)
    assert set(MORE.names) <= set(POSTS)
    for one in ECHO_LISTS:
        of_posts = set() if one.are_posts else {"reposts", "text_complete"}
        assert {*Echo.__struct_fields__} - {"id"} - of_posts <= set(ECHOES[one.name])
    assert all(
        field.about
        for fields in (POSTS, IMPORTED, *ECHOES.values(), EDGES)
        for field in fields.values()
    )


def test_the_documentation_says_what_stands_beside_a_text() -> None:
    """Each field of a page_info."""
    said = _DOC.partition("`page_info` is what")[2].partition("\n## ")[0]
    assert [name for name in PageInfo.__struct_fields__ if f"`{name}`" not in said] == []


def test_cells_lie_in_known_families() -> None:
    """Each in a family that its table has."""
    tables = {"posts": POSTS, "userlist": IMPORTED, **ECHOES}
    for table, fields in tables.items():
        assert NOWHERE not in {field.cell for field in fields.values()}
        families = {field.cell.partition(":")[0] for field in fields.values()}
        assert families <= set(FAMILIES[table])


def test_ids_are_cells_and_in_the_key() -> None:
    """SQL over a table joins by ids without taking keys apart; each of these is written with its
    row."""
    echoes = [echo_puts(one, 5, 11, [Echo(7, 8, None, "", "")], 1.0, "r")[0] for one in ECHO_LISTS]
    written = {
        **user_cells(user(1, 5), "r"),
        **post_cells(post(11, 5), 1.0, "direct", "r"),
        **{cell: value for put in echoes for cell, value in put.cells.items()},
    }
    ids = {
        f.cell for each in (POSTS, IMPORTED, *ECHOES.values()) for f in each.values() if f.in_key
    }
    assert {cell: written[cell] for cell in ids} == {
        "user:id": "5",
        "post:uid": "5",
        "post:mid": "11",
        "comment:id": "7",
        "comment:mid": "11",
        "comment:owner": "5",
        "repost:id": "7",
        "repost:mid": "11",
        "repost:owner": "5",
    }

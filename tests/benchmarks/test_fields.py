"""Completeness by field: what is missing, false or too much is seen, what nobody shows is not."""

from typing import Any

import pytest

from benchmarks import fields
from benchmarks.field_truths import Facts
from benchmarks.fields import Tally, add, show, tally

USER = {"user id": "1", "screen name": "a", "gender": "f", "description": "", "city": "海淀"}
TRUE = Facts(
    users={1: {**USER, "fan list": frozenset([2, 3])}},
    posts={"7": {"post id": "7", "text": "t", "time": 5.0, "place": None}},
    beside=frozenset([4]),
)


def _held(user: dict[str, Any] | None = None, post: dict[str, Any] | None = None) -> Facts:
    return Facts(
        users={1: {**TRUE.users[1], **(user or {})}, 4: {"user id": "4"}},
        posts={"7": {**TRUE.posts["7"], "device": "phone", **(post or {})}},
    )


def test_what_is_held_as_shown_is_complete() -> None:
    """Users beside the truth count neither way, nor do fields that the truth leaves out; each entry
    of a list counts."""
    found = tally(TRUE, _held())
    assert found["user id"] == found["text"] == found["city"] == Tally(1, 1, 0)
    assert found["fan list"] == Tally(2, 2, 0)
    assert found["description"] == found["device"] == found["place"] == Tally()
    assert "missed" not in show({"a": found})


@pytest.mark.parametrize(
    ("field", "user", "post", "expected"),
    [
        ("gender", {"gender": None}, {}, Tally(1, 0, 0)),
        ("gender", {"gender": "m"}, {}, Tally(1, 0, 1)),
        ("description", {"description": "no"}, {}, Tally(0, 0, 1)),
        ("fan list", {"fan list": frozenset([2, 9])}, {}, Tally(2, 1, 1)),
        ("text", {}, {"text": None}, Tally(1, 0, 0)),
        ("time", {}, {"time": 65.0}, Tally(1, 0, 1)),
        ("place", {}, {"place": "北京"}, Tally(0, 0, 1)),
    ],
)
def test_what_differs_is_seen(
    field: str, user: dict[str, Any], post: dict[str, Any], expected: Tally
) -> None:
    """In its own field alone."""
    found = tally(TRUE, _held(user, post))
    assert found[field] == expected
    assert [name for name in found if found[name] != tally(TRUE, _held())[name]] == [field]
    assert show({"a": found}).count("**missed**") == 1


def test_who_is_missing_and_who_is_too_much() -> None:
    """A user who is not held lacks every field; a post that no page shows is wrong."""
    found = tally(TRUE, Facts({}, {"8": {"post id": "8"}}))
    assert found["screen name"] == Tally(1, 0, 0)
    assert found["fan list"] == Tally(2, 0, 0)
    assert found["post id"] == Tally(1, 0, 1)


def test_worlds_add_up() -> None:
    """Field by field."""
    one = tally(TRUE, _held())
    assert add([one, one])["fan list"] == Tally(4, 4, 0)
    assert set(one) == {name for names in fields.FIELDS.values() for name in names}

"""Whom a text names."""

import pytest

from weibo_crawler.store.forgotten import NOBODY, Forgotten, hash_of, without_others

KEY = "00" * 32
GONE = Forgotten("one", KEY, frozenset({hash_of(KEY, "eve-"), hash_of(KEY, 12)}))


@pytest.mark.parametrize(
    ("page", "is_named"),
    [
        (b'{"id":"eve-"}', True),
        (b"https://toy.example/users/eve-/posts?after=3", True),
        (b'{"id":"eve-x"}', False),
        (b'{"id":12}', True),
        (b"107603_-_12", True),
        (b'{"id":112}', False),
        (b"", False),
    ],
)
def test_texts_are_words_and_numbers_are_numbers(page: bytes, is_named: bool) -> None:
    """An id that is text stands as a whole word, a number anywhere among other signs."""
    assert GONE.is_named_in(page) is is_named
    assert not NOBODY.is_named_in(page)


def test_rows_that_speak_of_a_text_are_written_anew() -> None:
    """By whose list a user was found, and whose post was passed on."""
    cells = {"user:found_from": "eve-", "post:more": '{"original":{"mid":"p-1","uid":"eve-"}}'}
    assert without_others(cells, GONE.has) == {"user:found_from": "", "post:more": "{}"}
    assert without_others({"user:found_from": "bob"}, GONE.has) == {}

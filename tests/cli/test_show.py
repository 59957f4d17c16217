"""How far long work is, in words."""

import pytest

from weibo_crawler.cli.reading import counted
from weibo_crawler.cli.show import Advance


@pytest.mark.parametrize(
    ("total", "looks", "words"),
    [
        (0, [(0.0, 0)], "0 users"),
        (551, [(0.0, 254)], "254 of 551 users (46 %)"),
        (551, [(0.0, 0), (10.0, 254)], "254 of 551 users (46 %), 25 a second, 11.7 s left"),
        (0, [(0.0, 0), (10.0, 2540)], "2,540 users, 254 a second"),
        (7200, [(0.0, 0), (60.0, 60)], "60 of 7,200 users (0 %), 60 a minute, 1 h 59 min left"),
        (5, [(0.0, 0), (9.0, 9)], "9 users, 60 a minute"),  # more came meanwhile
        (9, [(0.0, 4), (9.0, 4)], "4 of 9 users (44 %)"),  # nothing goes on: no speed
        (9, [(0.0, 4), (0.5, 5)], "5 of 9 users (55 %)"),  # too soon to tell
    ],
)
def test_what_is_said_of_long_work(total: int, looks: list[tuple[float, int]], words: str) -> None:
    """Done of total, share, speed and time left, each as soon as it is known."""
    now = 0.0
    advance = Advance(total, lambda: now)
    for now, done in looks:  # noqa: B007
        said = advance.words(done, "users")
    assert said == words


def test_the_speed_is_that_of_the_last_minute() -> None:
    """Hours at another speed say nothing about now."""
    now = 0.0
    advance = Advance(100_000, lambda: now)
    for second in range(3600):
        now = float(second)
        advance.words(second * 10, "users")
    for second in range(3600, 3660):
        now = float(second)
        said = advance.words(36_000 + (second - 3600) * 20, "users")
    assert said.endswith(", 20 a second, 52 min 21 s left")


def test_how_far_reading_is_is_said_now_and_then() -> None:
    """Each thousand rows, to whoever shows it; the rows stay as they are."""
    said: list[str] = []
    assert list(counted(range(2500), "posts", said.append)) == [*range(2500)]
    assert [words.partition(" posts")[0] for words in said] == ["1,000", "2,000"]

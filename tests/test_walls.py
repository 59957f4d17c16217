"""When an edge is closed to guests, and when it is asked again: in virtual time."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from weibo_crawler.records import Edge
from weibo_crawler.walls import IN_A_ROW, Walls

FANS = Edge.FANS
HOUR = 3600.0


def closed_at(now: float) -> Walls:
    walls = Walls()
    while not walls.is_closed(FANS):
        walls.met(FANS, 1, now)
    return walls


def test_walls_close_an_edge_and_an_hour_grants_a_probe() -> None:
    """A closed edge is asked by one request an hour."""
    walls = closed_at(100.0)
    assert not walls.may_ask(FANS, 1, 100.0 + HOUR - 1)
    assert walls.may_ask(FANS, 1, 100.0 + HOUR)
    assert not walls.may_ask(FANS, 1, 100.0 + HOUR)
    assert walls.may_ask(FANS, 1, 100.0 + 2 * HOUR)


def test_a_probe_that_passes_opens_the_edge() -> None:
    """At once, and for all."""
    walls = closed_at(0.0)
    assert not walls.is_proven_open(FANS)
    walls.passed(FANS, 1, 0.0)
    assert not walls.is_closed(FANS)
    assert walls.is_proven_open(FANS)
    assert all(walls.may_ask(FANS, 1, 1.0) for _ in range(50))


def test_a_probe_that_fails_keeps_it_closed() -> None:
    """The next one is due an hour after it."""
    walls = closed_at(0.0)
    assert walls.may_ask(FANS, 1, HOUR)
    walls.met(FANS, 1, HOUR)
    assert walls.is_closed(FANS)
    assert not walls.may_ask(FANS, 1, HOUR + 1)


def test_edges_and_later_pages_are_apart() -> None:
    """Guests may be shown first pages and no later ones, fans and no follows, or the reverse."""
    walls = closed_at(0.0)
    assert walls.may_ask(Edge.FOLLOWS, 1, 0.0)
    walls = Walls()
    for _ in range(IN_A_ROW):
        walls.passed(FANS, 1, 0.0)
        walls.met(FANS, 2, 0.0)
    assert walls.may_ask(FANS, 1, 1.0)
    assert not walls.may_ask(FANS, 2, 1.0)
    assert not walls.is_closed(FANS)
    assert not walls.is_proven_open(FANS)


def test_a_wall_closes_its_page_and_those_behind_it_alone() -> None:
    """Guests who see two pages of a list meet walls at page 3, and nothing before it is closed,
    however many of them there are; a probe that passes opens all that lies before it."""
    walls = Walls()
    for n in range(3 * IN_A_ROW):
        walls.passed(FANS, 1, 0.0)
        if n % 3 == 0:
            walls.passed(FANS, 2, 0.0)
        walls.met(FANS, 3, 0.0)
    assert walls.may_ask(FANS, 2, 1.0)
    assert not walls.may_ask(FANS, 3, 1.0)
    assert not walls.may_ask(FANS, 7, 1.0)
    assert not walls.is_proven_open(FANS)
    assert walls.may_ask(FANS, 7, HOUR)
    walls.passed(FANS, 7, 0.0)
    assert walls.may_ask(FANS, 3, HOUR)


def test_nothing_is_proven_by_silence() -> None:
    """An edge that nobody asked for is neither closed nor proven open."""
    walls = Walls()
    assert walls.may_ask(FANS, 1, 0.0)
    assert not walls.is_closed(FANS)
    assert not walls.is_proven_open(FANS)


@given(st.lists(st.booleans(), max_size=60))
def test_walls_in_a_row_close(answers: list[bool]) -> None:
    """Nine walls and nothing else close; after a page that was shown it takes a row of at least as
    many."""
    walls = Walls()
    for n, is_wall in enumerate(answers):
        if is_wall:
            walls.met(FANS, 1, float(n))
        else:
            walls.passed(FANS, 1, float(n))
        if walls.is_closed(FANS):
            assert all(answers[n + 1 - IN_A_ROW : n + 1])
            return
    assert not answers or not all(answers) or len(answers) < IN_A_ROW


@examples(20, derandomize=True)  # a row of them is chance, and one in a million comes
@given(st.integers(0, 10**6), st.floats(0.1, 0.6))
def test_walls_of_some_close_nothing(seed: int, share: float) -> None:
    """Where the lists of some are walled a row of walls is chance, in whatever order the answers
    come: of 2,000 users the lists of all are asked for."""
    walls, dice = Walls(), Random(seed)
    for n in range(40):  # half and half are known
        (walls.met if n % 2 else walls.passed)(FANS, 1, float(n))
    order = [*range(40, 2_040)]
    for k in range(0, len(order), 20):  # so many are under way
        order[k : k + 20] = dice.sample(order[k : k + 20], 20)
    for n in order:
        (walls.met if dice.random() < share else walls.passed)(FANS, 1, float(n))
        assert not walls.is_closed(FANS)


def test_a_row_that_is_no_chance_closes() -> None:
    """Also where some were shown before: the site has changed."""
    walls = Walls()
    for n in range(100):
        walls.passed(FANS, 1, float(n))
    for n in range(9):
        walls.met(FANS, 1, 100.0 + n)
    assert walls.is_closed(FANS)


def test_pages_that_were_walled_before_tell_nothing_of_those_that_are_shown() -> None:
    """At the end of a walk only they are left, and each is asked for again a few times. Where
    nobody is shown any they close the kind."""
    walls = Walls()
    for n in range(30):
        walls.passed("fans", 1, float(n))
    for n in range(60):
        walls.met("fans", 1, 30.0 + n, is_again=n >= 6)
    assert not closed(walls)
    other = Walls()
    for n in range(9):
        other.met("fans", 1, float(n), is_again=n >= 3)
    assert closed(other)


def test_a_list_of_which_page_1_was_shown_is_read_on() -> None:
    """Whatever the first pages of others meet; its own later pages may be closed, too."""
    walls = Walls()
    for n in range(9):
        walls.met(FANS, 1, float(n))
    assert not walls.may_ask(FANS, 2, 10.0)
    assert walls.may_ask(FANS, 2, 10.0, shown=1)
    for n in range(9):
        walls.met(FANS, 2, 11.0 + n)
    assert not walls.may_ask(FANS, 2, 21.0, shown=1)


def test_walls_that_come_late_close_nothing() -> None:
    """Pages that are shown come at once; walls are asked for again, and come together at the
    end."""
    walls = Walls()
    for n in range(16):
        walls.passed(FANS, 1, float(n))
    for n in range(12):
        walls.met(FANS, 1, n + 0.5)
    assert not walls.is_closed(FANS)
    for n in range(16, 40):
        walls.met(FANS, 1, float(n))
    assert walls.is_closed(FANS)


# -- what runs tell each other


def closed(walls: Walls) -> bool:
    return not walls.may_ask(FANS, 2, 1.0)


def told(note: str | None) -> str:
    assert note is not None
    return note


def exchange(walls: Walls, note: str | None, now: float) -> str | None:
    """The note with what this run has found, None: that is nothing."""
    news = walls.news(now)
    told = news(note) if news else None
    walls.learn(told or note, now)
    return told


def close(walls: Walls, now: float = 0.0) -> None:
    for _ in range(IN_A_ROW):
        walls.met(FANS, 2, now)


def test_what_one_run_found_closed_is_closed_to_all() -> None:
    """Also to those that begin later; page 1 stays open, and who has nothing to tell says so."""
    one, other = Walls(), Walls()
    close(one)
    note = told(exchange(one, None, 0.0))
    assert exchange(one, note, 0.0) is None
    assert exchange(other, note, 0.0) is None
    assert closed(other)
    assert other.may_ask(FANS, 1, 1.0)


def test_one_of_them_probes_for_all() -> None:
    """The time of the next probe is theirs together, as soon as they talk."""
    one, other = Walls(), Walls()
    close(one)
    note = told(exchange(one, None, 0.0))
    exchange(other, note, 0.0)
    assert other.may_ask(FANS, 2, HOUR)
    note = told(exchange(other, note, HOUR))
    assert exchange(one, note, HOUR) is None
    assert not one.may_ask(FANS, 2, HOUR + 1)
    assert one.may_ask(FANS, 2, 2 * HOUR)


def test_a_note_of_a_clock_that_was_ahead_keeps_nothing_closed() -> None:
    """A time of the next probe that nobody can have set, as all are within an hour, is now; and the
    first probe mends the note."""
    one, other = Walls(), Walls()
    close(one, now=3.2e7)
    note = told(exchange(one, None, 3.2e7))
    exchange(other, note, 7.0)
    assert other.may_ask(FANS, 2, 7.0)
    assert not other.may_ask(FANS, 2, 8.0)
    third = Walls()
    exchange(third, told(exchange(other, note, 8.0)), 8.0)
    assert not third.may_ask(FANS, 2, 8.0)
    assert third.may_ask(FANS, 2, 7.0 + HOUR)


def test_a_probe_that_tells_nothing_is_none() -> None:
    """Law 4: an end says neither that guests are refused nor that they are shown such pages, so the
    next request is the probe."""
    walls = Walls()
    close(walls)
    for _ in range(3):
        assert walls.may_ask(FANS, 2, HOUR)
        assert not walls.may_ask(FANS, 2, HOUR + 1)
        walls.told_nothing(FANS, 2, HOUR)
    assert walls.may_ask(FANS, 2, HOUR)
    walls.met(FANS, 2, HOUR)
    assert not walls.may_ask(FANS, 2, HOUR + 1)
    assert closed(walls)


def test_who_passes_opens_for_all() -> None:
    """The note of another run that says it is closed, written before, closes nothing again."""
    one, other = Walls(), Walls()
    close(one)
    note = told(exchange(one, None, 0.0))
    exchange(other, note, 0.0)
    other.passed(FANS, 2, 0.0)
    opened = told(exchange(other, note, 0.0))
    assert not closed(other)
    exchange(one, opened, 0.0)
    assert not closed(one)
    close(one)
    assert closed(one)
    exchange(other, exchange(one, opened, 0.0), 0.0)
    assert closed(other)


def test_what_runs_tell_at_once_stands_in_the_note() -> None:
    """Neither hides what the other one has found, and nobody takes it for opened."""
    one, other = Walls(), Walls()
    close(one)
    for _ in range(IN_A_ROW):
        other.met(FANS, 3, 0.0)
    note = None
    for news in (one.news(0.0), other.news(0.0)):
        assert news is not None
        again, note = news(note), news(note)
        assert again == note
    for walls in (one, other):
        walls.learn(note, 0.0)
        assert closed(walls)
        assert not walls.may_ask(FANS, 3, 1.0, shown=2)
        assert walls.news(0.0) is None


def test_what_opens_while_the_note_is_written_is_told_the_next_time() -> None:
    one, other = Walls(), Walls()
    close(one)
    news = one.news(0.0)
    assert news is not None
    note = news(None)
    one.learn(note, 0.0)
    other.learn(note, 0.0)
    assert one.news(0.0) is None
    one.passed(FANS, 2, 1.0)
    one.learn(note, 1.0)
    assert not closed(one)
    other.learn(told(exchange(one, note, 1.0)), 1.0)
    assert not closed(other)


@given(st.text() | st.sampled_from(["[]", "7", "null", '{"fans": 1}', '{"fans 2": []}', '{"": 1}']))
def test_an_odd_note_says_nothing(note: str) -> None:
    """Whatever stands there, what this run knows stays."""
    walls = Walls()
    close(walls)
    exchange(walls, note, 0.0)
    assert closed(walls)

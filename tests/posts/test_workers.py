"""The rows of a run's mappers, read together."""

from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.cli.posts import posts_line
from weibo_crawler.metrics import figures
from weibo_crawler.posts.workers import (
    ORDERED,
    WAITING,
    WAITING_AS,
    WAITING_FOR,
    Said,
    counters,
    ended_by,
    never_back,
    parse_said,
    said,
    were_stopped,
    worker_name,
)
from weibo_crawler.store import WorkerRow

ATTEMPT = "attempt_1700000000000_0001_m_{task:06d}_{number}"


def row(worker: str, ended: str | None = None, **counts: int) -> WorkerRow:
    named = {name.replace("_", ".", 1): n for name, n in counts.items()}
    return WorkerRow("run", worker, "posts", 1.0, 2.0, ended, named)


def attempt(task: int, number: int, ended: str | None = None, **counts: int) -> WorkerRow:
    return row(ATTEMPT.format(task=task, number=number), ended, **counts)


def test_an_attempt_that_died_is_not_counted_beside_the_one_after_it() -> None:
    """Law 6: outcomes are those of the last attempt, which speaks of all users of its range; pages
    were fetched as often as they were counted."""
    rows = [
        attempt(0, 1000, "done", users_input=9, users_stored=9, posts_new=90, page_ok=5),
        attempt(0, 1, None, users_input=8, users_stored=8, posts_new=80, page_ok=40),
        attempt(0, 0, None, users_input=7, users_stored=7, posts_new=70, page_ok=30),
        attempt(1, 0, "done", users_input=4, users_existing=4),
        row("laptop/1/2/3", "done", users_input=1, posts_new=2, page_ok=3),
    ]
    assert counters(rows) == {
        "users.input": 14,
        "users.stored": 9,
        "users.existing": 4,
        "posts.new": 92,
        "page.ok": 78,
    }


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), unique=True),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_does_not_matter(tasks: list[tuple[int, int]], rng: object) -> None:
    """Rows come as the database has them; each task is counted once, by its last attempt."""
    rows = [attempt(task, n, users_input=100 * task + n) for task, n in tasks]
    shuffled = rows[:]
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    last = {task: max(n for t, n in tasks if t == task) for task, _ in tasks}
    expected = sum(100 * task + n for task, n in last.items())
    assert counters(shuffled) == counters(rows)
    assert counters(rows).get("users.input", 0) == expected


def test_shown_figures_never_run_backwards() -> None:
    """While the attempt after one that died counts its users again, people see what was reached;
    then it goes on. Who waits is told as it is now."""
    began = [attempt(0, 0, users_input=7, posts_new=70, page_ok=30, mappers_waiting=1)]
    before = never_back({}, counters(began))
    again = [*began, attempt(0, 1, users_input=2, posts_new=20, page_ok=5)]
    during = never_back(before, counters(again))
    assert during == {"users.input": 7, "posts.new": 70, "page.ok": 35}
    later = [*began, attempt(0, 1, "done", users_input=9, posts_new=90, page_ok=40)]
    assert never_back(during, counters(later)) == counters(later)


def test_what_mappers_wait_for_is_told() -> None:
    """The live line names the store that is away, what it said, and how many wait for it."""
    away = "hbase://h:9090: Connection refused"
    rows = [attempt(n, 0)._replace(counters={f"{WAITING_FOR}{away}": 1}) for n in range(3)]
    assert posts_line(counters(rows)) == (f"0 new posts, 0 pages; mappers that wait for {away}: 3")
    assert posts_line({"posts.new": 5, "page.ok": 2}) == "5 new posts, 2 pages"


def test_why_mappers_have_no_egress_is_told() -> None:
    """The live line says of one of them, the one with most to say, what stands in its way."""
    whys = [
        "no egress may go (1 dead); in the way: the proxy answers CONNECT with 407 3 x",
        "other",
    ]
    rows = [attempt(n, 0)._replace(counters={WAITING: 1, WAITING_AS + whys[n]: 1}) for n in (0, 1)]
    assert posts_line(counters(rows)) == f"0 new posts, 0 pages; mappers that wait: 2 ({whys[0]})"
    assert figures(counters(rows)) == {WAITING: 2}


def test_the_error_of_an_attempt_that_was_made_up_for_is_none() -> None:
    """Only what ended the last attempt of a task ended the task."""
    lost, refused = ended_by(5, "no server: down"), ended_by(4, "the site\nsays no")
    rows = [attempt(0, 0, lost), attempt(0, 1, "done"), attempt(1, 0, refused)]
    assert said(rows) == [Said(4, "the site\nsays no")]
    assert not were_stopped(rows)
    assert were_stopped([*rows, attempt(2, 0, ORDERED)])
    assert parse_said("done") is None


def test_a_row_bears_the_name_of_its_attempt_on_yarn_alone() -> None:
    """mrjob's own runners set a name that is the same in every run."""
    name = ATTEMPT.format(task=3, number=2)
    assert worker_name({"mapreduce_task_attempt_id": name}, "me") == name
    assert worker_name({"mapreduce_task_attempt_id": "attempt_x_mapper_00000_0"}, "me") == "me"
    assert worker_name({}, "me") == "me"


def test_who_waits_is_told_of_the_last_attempts() -> None:
    """A mapper that was killed while it waited for an egress does not wait any more."""
    rows = [attempt(0, n, **{WAITING.replace(".", "_"): 1} if n < 2 else {}) for n in range(3)]
    assert counters(rows).get(WAITING, 0) == 0
    assert counters(rows[:2])[WAITING] == 1

import json

import pytest

from tests.analysis.worlds import T0, MemoryUsers, user
from weibo_crawler.analysis.completeness import Completeness
from weibo_crawler.analysis.numbers import minute
from weibo_crawler.analysis.status import as_dict, lines, status
from weibo_crawler.records import Edge
from weibo_crawler.store import Topic, WalledEdge, WorkerRow


def worker(stage: str, counters: dict[str, int], **fields: object) -> WorkerRow:
    row = WorkerRow("run-1", "w1", stage, T0 - 100, T0, None, counters)
    return row._replace(**fields)  # type: ignore[arg-type]


def crawl(*workers: WorkerRow, bounds: str = "") -> MemoryUsers:
    rows = [user(1, 1, depth=0, state="done")]
    rows += [user(i, i, state="queued") for i in range(2, 32)]
    rows += [user(50, 50, state="leased"), user(51, 51, state="resting")]
    return MemoryUsers(rows, workers, bounds=bounds)


def test_rates_are_over_the_lifetime() -> None:
    """A live worker's rates are its figures over the time they cover; workers add up; what is open
    is queued, leased or resting, and ends at the rate of finished entries."""
    counters = {"users.kept": 200, "page.ok": 90, "page.throttled": 10}
    users = crawl(
        worker("harvest", counters | {"entries.done": 30, "entries.gone": 1, "entries.failed": 1}),
        worker("harvest", {"page.ok": 100}, worker="w2", started_at=T0 - 50),
    )
    (stage,) = status(users, T0 + 5).stages
    assert (stage.stage, stage.workers, stage.running_s) == ("harvest", 2, 105.0)
    assert stage.users_kept_per_s == 2.0
    assert stage.pages_per_s == 3.0
    assert stage.to_do == 32
    assert stage.ends_in_s == pytest.approx(100.0)


def test_posts_need_completeness_to_tell_their_end() -> None:
    """Users to visit are those unvisited, begun or failed; without these figures the end is
    unknown; users skipped as known are no progress."""
    counters = {"posts.new": 500, "users.stored": 10, "users.existing": 1000}
    users = crawl(worker("posts", counters))
    (stage,) = status(users, T0).stages
    assert (stage.posts_per_s, stage.to_do, stage.ends_in_s) == (5.0, None, None)
    figures = Completeness(users=99, unvisited=17, partial=2, failed=1, done=79, visited=82)
    report = status(users, T0, figures)
    (stage,) = report.stages
    assert (stage.to_do, stage.ends_in_s) == (20, pytest.approx(200.0))
    assert any("1 user failed: weibo-crawler posts asks again" in line for line in lines(report))


@pytest.mark.parametrize(
    ("fields", "why"),
    [({"ended": "nobody new"}, "nobody new"), ({"updated_at": T0 - 16}, "without a word")],
)
def test_who_ended_or_fell_silent_is_not_at_work(fields: dict[str, object], why: str) -> None:
    """A worker that ended, or told nothing for 15 seconds, is not live, and the report says why."""
    report = status(crawl(worker("harvest", {"page.ok": 5}, **fields)), T0)
    assert report.stages == ()
    assert any(why in line for line in lines(report))


def test_the_latest_end_is_told() -> None:
    """Of several runs of a stage the one that worked last is told."""
    first = worker("harvest", {}, ended="old", updated_at=T0 - 50)
    report = status(crawl(worker("harvest", {}, ended="new"), first), T0)
    assert report.last == (("harvest", T0, "new"),)


def test_a_clock_that_was_ahead_hides_no_later_run() -> None:
    """A run of the future was before those that ended by now; where it is the only one it is
    told."""
    ahead = worker("harvest", {}, ended="ahead", updated_at=T0 + 1e8)
    report = status(crawl(ahead, worker("harvest", {}, ended="new")), T0)
    assert report.last == (("harvest", T0, "new"),)
    assert status(crawl(ahead), T0).last == (("harvest", T0 + 1e8, "ahead"),)


def test_the_error_that_stopped_all_workers_is_told() -> None:
    """Of a run in which one worker ended by an error and the others were told to stop, the error,
    whoever wrote last; not that of an earlier run, which says nothing of this one."""
    stopped = worker("posts", {}, ended="interrupted")
    error = worker("posts", {}, worker="w2", updated_at=T0 - 2, ended="exit 4: the site says no")
    for ended, rows in (
        ("exit 4: the site says no", (stopped, error)),
        ("interrupted", (stopped, error._replace(run_id="run-0"))),
        ("done", (stopped._replace(ended="done"), error)),
    ):
        assert status(crawl(*rows), T0).last == (("posts", T0, ended),)


def test_a_worker_that_has_just_begun_has_no_rate() -> None:
    """No time, no rate, no end; nothing is divided by zero."""
    (stage,) = status(crawl(worker("harvest", {"page.ok": 5}, started_at=T0)), T0).stages
    assert (stage.pages_per_s, stage.ends_in_s) == (0.0, None)


def test_lines_tell_states_and_depths() -> None:
    """People read each state, each depth, whether depths are bounds, and when it ends at best."""
    users = crawl(worker("harvest", {"entries.done": 100}), bounds="seeds came later")
    text = "\n".join(lines(status(users, T0)))
    assert "33: 30 queued, 1 leased, 1 resting, 1 done" in text
    assert "0: 1, 1: 32" in text
    assert "upper bounds only: seeds came later" in text
    assert "1 worker for 1 min 40 s" in text
    assert "32 users to do, at least 32 s" in text


def test_an_empty_store_says_what_to_do() -> None:
    """Without users the next command is named."""
    assert lines(status(MemoryUsers(), T0)) == ["no users yet: run weibo-crawler seed"]


def test_walled_edges_are_told() -> None:
    """The edge, how many lists, since when; an edge without walled lists is not mentioned."""
    walled = [
        *(WalledEdge(Edge.FANS, 1200, T0), WalledEdge(Edge.FOLLOWS, 0, T0)),
        *(WalledEdge(Edge.COMMENTS, 3, T0, 2), WalledEdge(Edge.REPOSTS, 1, T0, 1)),
    ]
    report = status(MemoryUsers([user(1, 7)], walled=walled), T0)
    text = "\n".join(lines(report))
    assert f"fans: guests are not shown 1,200 lists (login wall) since {minute(T0)}" in text
    assert "follows" not in text
    tries, asks = "each harvest tries some again", "`harvest --retry-failed` asks again"
    for edge, said in (
        ("fans", f"; {tries}, and all when it is let in"),
        ("comments", f"; 2 of them, while those of others are shown: {asks}; {tries}"),
        ("reposts", f"; 1 of them, while those of others are shown: {asks}"),
    ):
        (line,) = (line for line in lines(report) if f"{edge}: guests" in line)
        assert said in line
        assert (tries in line) is (edge != "reposts")
    assert as_dict(report)["walled"] == {
        "fans": {"lists": 1200, "since": T0, "alone": 0},
        "comments": {"lists": 3, "since": T0, "alone": 2},
        "reposts": {"lists": 1, "since": T0, "alone": 1},
    }


def test_topics_are_told() -> None:
    """How many were read, and why others were not; without users, that they are to be read."""
    topics = [
        Topic("#一#", state="done"),
        Topic("#二#", state="walled"),
        Topic("#三#", state="walled"),
        Topic("five"),
        Topic("four", state="failed", why="no answer"),
    ]
    report = status(MemoryUsers([user(1, 7)], topics=topics), T0)
    (line,) = [line.strip() for line in lines(report) if "topics" in line]
    assert line == (
        "topics: 1 of 5 read; 2 that guests are not shown; 1 that failed (no answer): "
        "the next harvest asks for them again"
    )
    assert as_dict(report)["topics"] == {"done": 1, "walled": 2, "failed": 1, "queued": 1}
    first = lines(status(MemoryUsers(topics=topics[3:4]), T0))
    assert first == ["topics: 0 of 1 read", "no users yet: run weibo-crawler harvest"]


def test_lists_cut_short_are_told() -> None:
    """Lists that ended before their announced count are counted from the store, whether or not the
    run that met them came to its end; they make depths inexact."""
    users = MemoryUsers([user(1, 7)], unsure=3, bounds="lists ended early")
    report = status(users, T0)
    assert "3 lists ended before the announced count" in "\n".join(lines(report))
    plain = as_dict(report)
    assert (plain["unsure_lists"], plain["depths_exact"]) == (3, False)
    assert as_dict(status(MemoryUsers([user(1, 7)]), T0))["depths_exact"]


def test_ends_that_were_looked_at_once_are_told() -> None:
    """How many ends were met, looked at again and showed more, and what that says of the others; a
    kind of which all were looked at again needs no word."""
    note = {"fans.end": [900, 320, 0, "0" * 320], "posts.end": [9, 9, 1, "0" * 8 + "1"]}
    report = status(MemoryUsers([user(1, 7)], note=json.dumps(note)), T0)
    text = "\n".join(lines(report))
    said = "fans.end: 900 met, 320 looked at again, 0 showed more; of the 580 others fewer"
    assert f"{said} than 1 % may hold more" in text
    assert "posts.end" not in text
    looks = as_dict(report)["second_looks"]
    assert looks["fans.end"]["unlooked"] == 580
    assert looks["fans.end"]["most"] == pytest.approx(0.00932, abs=1e-4)
    assert (looks["posts.end"]["ends"], looks["posts.end"]["finds"]) == (9, 1)


def test_a_report_is_json() -> None:
    """as_dict holds plain values only."""
    users = crawl(worker("harvest", {"page.ok": 5}), worker("posts", {}, ended="done"))
    plain = as_dict(status(users, T0, Completeness(users=1)))
    back = json.loads(json.dumps(plain))
    assert back["states"]["queued"] == 30
    assert back["depths"] == {"0": 1, "1": 32}
    assert back["stages"][0]["stage"] == "harvest"
    assert back["last"] == [{"stage": "posts", "updated_at": T0, "ended": "done"}]
    assert back["completeness"]["users"] == 1

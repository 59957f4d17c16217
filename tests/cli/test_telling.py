"""What commands tell, and to whom: machines also of failures, nobody where all is well (--quiet);
and no mapper is started that would only wait."""

import json
import re
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.crawls import OBEYED, Crawl, simulated
from weibo_crawler.cli.logs import FORMS, lines
from weibo_crawler.cli.posts import mappers_fed
from weibo_crawler.cli.show import Progress
from weibo_crawler.config import Egress, Pace, Settings
from weibo_crawler.store.sqlite.frontier import SqliteUsers


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["status"], 5, "there is no such store"),
        (["harvest", "--no-such"], 2, "there is no argument"),
        (["seed", "a b"], 2, "is no seed"),
        (["posts", "--all"], 2, "--refresh"),
    ],
)
def test_machines_are_told_of_failures(
    tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    """One object on stdout with the words that stderr has, and the exit code."""
    done = Crawl(tmp_path).run(*words, "--json", code=code)
    told = json.loads(done.stdout)
    assert said in told["error"]
    assert told["exit_code"] == code
    assert told["error"] in done.stderr


def test_machines_are_told_the_very_words(tmp_path: Path) -> None:
    """What people are shown in the place of what a terminal would obey, machines get escaped."""
    crawl = Crawl(tmp_path)
    crawl.run("init")
    done = crawl.run("scan", "users", "--columns", "x\x9b\u202ey", "--json", code=2)
    people, machines = done.stderr.splitlines()
    assert "x\ufffd\ufffdy" in people
    assert not OBEYED.search(machines)
    assert "x\x9b\u202ey" in json.loads(machines)["error"]


def test_data_on_stdout_stays_alone(tmp_path: Path) -> None:
    """Where stdout carries rows, the object of a failure goes to stderr."""
    done = Crawl(tmp_path).run("scan", "posts", "--json", code=5)
    assert done.stdout == ""
    assert json.loads(done.stderr.splitlines()[-1])["exit_code"] == 5


def test_figures_of_a_run_that_failed(tmp_path: Path) -> None:
    """A run of posts that ends as the site says no has its figures beside the reason."""
    with simulated(tmp_path, users=40, seed=9) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("import")
    # nobody answers any more
    told = crawl.json_of(4, "posts", "--runner", "inline", WEIBO_FETCH__ATTEMPTS="1")
    assert told["exit_code"] == 4
    assert told["unreached"] == told["users"] == len(truth.seeds)


def test_quiet(tmp_path: Path) -> None:
    """Where all is well nothing is printed but data; what is wrong is, on a terminal too."""
    with simulated(tmp_path, users=40, seed=9) as (crawl, truth):
        for words in (["seed", *truth.seeds], ["harvest"], ["import"], ["posts"], ["status"]):
            done = crawl.run(*words, "--quiet")
            assert (done.stdout, done.stderr) == ("", ""), words
        assert crawl.on_terminal("posts", "--refresh", "--all", "--quiet") == ""
        rows = crawl.run("scan", "users", "--quiet")
        assert rows.stdout
        assert rows.stderr == ""
        assert json.loads(crawl.run("status", "--quiet", "--json").stdout)
    assert crawl.run("posts", "--all", "--quiet", code=2).stderr
    doctor = crawl.run("doctor", "--quiet", code=3, WEIBO_EGRESS__PROXIES_FILE="none.txt")
    assert "wrong" in doctor.stdout


def _lines(stderr: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in stderr.splitlines()]


def test_logs_by_choice(tmp_path: Path) -> None:
    """Warnings, also of the other processes of a command, and why it failed."""
    with simulated(tmp_path, users=40, seed=9) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        # each walks on by another rule, of which the first one is told
        two = {"WEIBO_HARVEST__PROCESSES": "2"}
        plain = crawl.run("harvest", **two, WEIBO_HARVEST__MIN_FANS="9").stderr
        objects = _lines(
            crawl.run("harvest", "--log", "json", **two, WEIBO_HARVEST__MIN_FANS="8").stderr
        )
        timed = crawl.run("--log=time", "harvest", **two, WEIBO_HARVEST__MIN_FANS="7").stderr
    assert plain.startswith("this walk began with")
    assert objects[0]["text"].startswith("this walk began with")
    assert {(one["level"], one["command"]) for one in objects} == {("warning", "harvest")}
    assert [
        line for line in timed.splitlines() if not re.match(r"20\S+T\S+Z warning \S", line)
    ] == []
    done = crawl.run("status", "--log", "json", code=3, WEIBO_HARVEST__MIN_FANS="x")
    (said,) = _lines(done.stderr)
    assert said["level"] == "error"
    assert "harvest.min_fans" in said["text"]


@pytest.mark.parametrize("form", FORMS)
def test_progress_is_written_in_that_form(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """At the level of information, in one line; afterwards nothing is."""
    with lines(form, "posts"), Progress("posts") as progress:
        progress.say("1 of 2 users\x1b[2J", is_news=True)
    (said,) = capsys.readouterr().err.splitlines()
    if form == "json":
        one = json.loads(said)
        assert datetime.fromisoformat(one.pop("at")).tzinfo == UTC
        text = "posts: 1 of 2 users␛[2J"
        assert one == {"level": "info", "command": "posts", "text": text}
    else:
        begins = "" if form == "plain" else r"20\S+T\S+Z info "
        assert re.fullmatch(begins + "posts: 1 of 2 users.*", said)
    Progress("posts").say("more", is_news=True)
    assert capsys.readouterr().err == ""


def test_no_mapper_waits_for_an_egress(tmp_path: Path) -> None:
    """Under a pace one egress feeds one mapper: they come one after another, and none says that it
    waits."""
    pace = {"WEIBO_PACE__REQUESTS_PER_SECOND": "60", "WEIBO_POSTS__RANGES": "3"}
    with simulated(tmp_path, users=40, seed=9, mean_posts=12.0) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        said = crawl.run("posts", **pace).stderr
    assert "wait" not in said
    frontier = SqliteUsers(f"sqlite:///{crawl.folder}/users.db")
    try:
        rows = [row for row in frontier.workers() if row.stage == "posts"]
    finally:
        frontier.close()
    spans = sorted((row.started_at, row.updated_at) for row in rows)
    assert len(spans) >= 2
    assert all(ended <= began for (_, ended), (began, _) in pairwise(spans))


@pytest.mark.parametrize(
    ("bind", "direct", "is_cluster", "fed"),
    [
        ((), True, False, 3),
        ((), False, True, 2),
        ((), True, True, None),
        (("192.0.2.7",), True, True, None),  # an address of a node, not of this machine
    ],
)
def test_nodes_that_go_out_directly_have_ways_of_their_own(
    tmp_path: Path, bind: tuple[str, ...], direct: bool, is_cluster: bool, fed: int | None
) -> None:
    """So on a cluster their number limits no mappers; that of proxies does."""
    proxies = tmp_path / "proxies.txt"
    proxies.write_text("http://127.0.0.1:81\nhttp://127.0.0.1:82\n")
    egress = Egress(proxies_file=str(proxies), direct=direct, bind=bind)
    settings = Settings(egress=egress, pace=Pace(requests_per_second=1.0))
    assert mappers_fed(settings, is_cluster=is_cluster) == fed

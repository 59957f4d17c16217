"""Proxies from outside: the check of a simulated fleet, and a harvest through it."""

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.crawls import Crawl, simulated

MIX = "slow=0.1,dead=0.15,lying=0.15,captive=0.15,tired=0.15"
LOGIN = "me:geheim"


@pytest.fixture
def fleet(tmp_path: Path) -> Any:
    """A site of 2026 behind 14 proxies of all kinds, and a crawl that goes by these alone."""
    proxies = tmp_path / "proxies.txt"
    knobs = {"guests": "2026", "proxies": 14, "proxy_mix": MIX, "slow_s": 0.2}
    with simulated(tmp_path, **knobs, proxy_login=LOGIN, proxies_out=str(proxies)) as (
        crawl,
        truth,
    ):
        crawl.env["WEIBO_EGRESS__PROXIES_FILE"] = str(proxies)
        yield crawl, truth


def test_check_judges_what_the_site_is_to_answer(fleet: Any) -> None:
    """Good is who brings an answer of the site: no portal, no error page of a proxy, no page of
    another user, and nobody who refuses connections; the account is not shown."""
    crawl, truth = fleet
    rows = crawl.json("proxies", "check")["egresses"]
    health = {host: proxy["health"] for host, proxy in truth.data["proxies"].items()}
    assert {row["egress"].rpartition(":")[0] for row in rows} == health.keys()
    for row in rows:
        kind = health[row["egress"].rpartition(":")[0]]
        if kind in ("good", "slow"):
            assert row["state"] == "good", row
            assert row["status"] == 200
            assert row["ms"] >= (100 if kind == "slow" else 0)
        elif kind in ("captive", "dead"):
            assert row["state"] == "bad", row
    by = {line.egress: line.served for line in truth.served() if line.by == "proxy"}
    for row in rows:  # who lied or was tired when it was asked is not good
        if by.get(row["egress"].rpartition(":")[0], "up") not in ("up", "down"):
            assert row["state"] == "bad", row
    shown = crawl.run("proxies", "check").stdout
    assert shown.splitlines()[0].split() == ["egress", "state", "verdict", "status", "ms", "detail"]
    assert "not_json" in shown
    assert "geheim" not in shown


def test_a_check_keeps_the_sessions_it_opened(fleet: Any) -> None:
    """Under a pace limit a second check, and a run, go on with the sessions of the first one."""
    crawl, truth = fleet
    paced = {"WEIBO_PACE__REQUESTS_PER_SECOND": "5"}
    assert crawl.json("proxies", "check", **paced)["good"]
    sessions = {line.session for line in truth.served() if line.served == "end"}
    before = len(truth.served())
    assert crawl.json("proxies", "check", **paced)["good"]
    later = {line.session for line in truth.served()[before:] if line.served == "end"}
    good = {
        host for host, proxy in truth.data["proxies"].items() if proxy["health"] in ("good", "slow")
    }
    assert len(sessions & later) >= len(good)


def test_a_harvest_through_proxies_that_lie(fleet: Any) -> None:
    """Captive, lying, tired and dead proxies cost requests, and change nothing of what is found."""
    crawl, truth = fleet
    crawl.run("seed", *truth.seeds)
    done = crawl.json("harvest")
    assert {user["id"]: user["depth"] for user in crawl.scan("users")} == truth.depths
    assert done["depths_exact"]
    assert done["states"] == {"done": len(truth.depths)}
    assert done["counters"]["egress.disproved"] > 0
    assert {line.served for line in truth.served()} >= {"other_user", "own_page", "portal"}


def test_sessions_that_end_after_few_requests(tmp_path: Path) -> None:
    """However soon sessions end, nobody is lost and no list is taken for walled."""
    with simulated(tmp_path, guests="2020", users=80, session_requests=15) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        done = crawl.json("harvest")
        assert {user["id"]: user["depth"] for user in crawl.scan("users")} == truth.depths
        assert done["states"] == {"done": len(truth.depths)}
        assert not done["walled"]
        assert done["counters"]["session.opened"] > 2


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("posts", b" (no egress may go (2 dead); the first to be tried again"),
        ("harvest", b"0 lists read; waits: no egress may go (2 dead); the first to be tried again"),
    ],
)
def test_who_waits_for_dead_proxies_is_told(tmp_path: Path, command: str, words: bytes) -> None:
    """While all proxies are dead the line of the harvest, and of the posts job, says so, and the
    warning stands there once, though it was a mapper that gave it."""
    proxies = tmp_path / "proxies.txt"
    knobs = {"users": 30, "proxies": 2, "proxy_mix": "dead=1", "proxies_out": str(proxies)}
    with simulated(tmp_path, **knobs) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("import")
        log, env = tmp_path / "posts.log", {"WEIBO_EGRESS__PROXIES_FILE": str(proxies)}
        with log.open("wb") as file:
            started = crawl.command(command)
            job = subprocess.Popen(started, cwd=crawl.folder, env=crawl.env | env, stderr=file)
        deadline = time.monotonic() + 60
        warning = b'waiting (egress.when_empty = "stop" would end the run)\n'
        while words not in log.read_bytes() or warning not in log.read_bytes():
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.1)
        job.send_signal(signal.SIGINT)
        assert job.wait(60) == 130
        assert log.read_bytes().count(warning) == 1


def test_no_session_where_it_is_switched_off(tmp_path: Path) -> None:
    """session.enabled = false: none is asked for, and what needs one is a wall."""
    with simulated(tmp_path, guests="2026") as (crawl, truth):
        crawl.env["WEIBO_SESSION__ENABLED"] = "false"
        [row] = crawl.json_of(4, "proxies", "check")["egresses"]
        assert row["state"] == "refused"
        assert [line for line in truth.served() if line.session] == []


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("EGRESS__WHEN_EMPTY", "spin", "egress.when_empty: unknown word 'spin'; use wait, stop"),
        ("EGRESS__PROXIES_URL", "ftp://me:geheim@lists.example/", "egress.proxies_url: give the"),
        ("EGRESS__PROXIES_URL", "http://me:geheim@127.0.0.1:9/?key=geheim", "127.0.0.1:9"),
        ("PACE__MIN_REQUESTS_PER_SECOND", "3", "pace.min_requests_per_second: must not be above"),
        ("PACE__FALL_FACTOR", "1", "pace.fall_factor"),
        ("SESSION__PER_HOUR", "0", "session.per_hour"),
    ],
)
def test_wrong_settings(tmp_path: Path, variable: str, value: str, words: str) -> None:
    """Exit code 3, the setting by name, and no secret."""
    crawl = Crawl(tmp_path)
    crawl.env |= {"WEIBO_PACE__REQUESTS_PER_SECOND": "1", f"WEIBO_{variable}": value}
    done = crawl.run("proxies", "check", code=3)
    assert words in done.stderr
    assert "geheim" not in done.stderr + done.stdout

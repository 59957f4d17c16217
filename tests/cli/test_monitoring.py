"""What an operator's Prometheus sees: gauges of the stores, counters of a run, rules of alerts."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.crawls import Crawl, simulated
from tests.cli.test_whole_way import whole_way
from tests.ports import free_port
from tests.webserver import answering

_PATIENCE_S = 40.0
_ROOT = Path(__file__).parents[2]
OPERATE = _ROOT / "conf/operate"
_TABLE = (_ROOT / "docs/reference.md").read_text("utf-8")
_DOCUMENTED = set(re.findall(r"^\| `weibo_crawler_(\w+?)(?:_total)?`", _TABLE, re.MULTILINE))


def read(text: str) -> dict[str, dict[str, float]]:
    """The samples by name, then by the values of their labels, joined."""
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(text):
        assert family.name.removeprefix("weibo_crawler_") in _DOCUMENTED
        for sample in family.samples:
            labels = ",".join(value for _, value in sorted(sample.labels.items()))
            found.setdefault(sample.name.removeprefix("weibo_crawler_"), {})[labels] = sample.value
    return found


def promtool(*words: str, given: str = "") -> None:
    done = subprocess.run(
        ["promtool", *words], input=given, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


def gauges(crawl: Crawl) -> dict[str, dict[str, float]]:
    return read(crawl.run("status", "--openmetrics", "--quiet").stdout)


def test_gauges_say_what_status_says(tmp_path: Path) -> None:
    with simulated(tmp_path, users=60, seed=3) as (crawl, truth):
        whole_way(crawl, truth)
        told: dict[str, Any] = crawl.json("status")
        seen = gauges(crawl)
    held = told["completeness"]
    assert {state: n for state, n in seen["users"].items() if n} == told["states"]
    assert {"queued", "leased", "failed"} < seen["users"].keys()
    assert sum(seen["imported_users"].values()) == held["users"] == len(truth.depths)
    assert seen["stored_posts"] == {"": held["stored"]} == {"": len(truth.posts())}
    ended = {one["stage"]: one["updated_at"] for one in told["last"]}
    assert seen["last_success_timestamp_seconds"] == pytest.approx(ended, abs=0.01)
    assert seen["last_seen_timestamp_seconds"] == pytest.approx(ended, abs=0.01)


def test_a_run_that_fails_is_no_success(tmp_path: Path) -> None:
    """The time of the last success stays, whatever later runs do."""
    with simulated(tmp_path, users=60, seed=3) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        before = gauges(crawl)
    refused = {"WEIBO_EGRESS__WHEN_EMPTY": "stop", "WEIBO_FETCH__CONNECT_TIMEOUT_S": "0.5"}
    crawl.run("seed", "7654321")
    crawl.run("harvest", code=4, **refused)
    after = gauges(crawl)
    success, seen = "last_success_timestamp_seconds", "last_seen_timestamp_seconds"
    assert before[success] == after[success] == before[seen]
    assert after[seen]["harvest"] > before[seen]["harvest"]


def test_counters_of_a_run_have_labels(tmp_path: Path) -> None:
    """Requests by purpose, kind and answer, and how long answers took, of all mappers together."""
    file = tmp_path / "run.prom"
    with simulated(tmp_path, users=60, seed=3) as (crawl, truth):
        whole_way(crawl, truth)
        env, began = {"WEIBO_METRICS__TEXTFILE": str(file)}, time.monotonic()
        counters = crawl.json("posts", "--refresh", "--all", **env)["counters"]
        ran_s = time.monotonic() - began
    seen = read(file.read_text())
    asked = {name: n for name, n in counters.items() if name.startswith("asked.")}
    assert asked
    purposes = {name.removeprefix("asked.").split(".")[0] for name in asked}
    assert {labels.split(",")[2] for labels in seen["requests_total"]} == purposes
    assert sum(seen["requests_total"].values()) == sum(asked.values())
    pages = {f"posts,{name[5:]}": n for name, n in counters.items() if name.startswith("page.")}
    assert seen["pages_total"] == pages
    answers = seen["answer_seconds_bucket"]
    assert answers["+Inf,posts"] == seen["answer_seconds_count"]["posts"] == sum(pages.values())
    assert sorted(answers.values()) == list(answers.values())
    assert 0 < seen["answer_seconds_sum"]["posts"] <= ran_s * sum(pages.values())
    assert not [name for name in seen["events_total"] if "answer_ms" in name]


def test_the_rules_and_the_board_ask_for_what_there_is() -> None:
    """Every metric of ours in a rule or a panel is in the reference, which `read` compares with
    what is printed."""
    parts = re.compile(r"weibo_crawler_(\w+?)(?:_total|_bucket|_count|_sum)?\b")
    for name in ("alerts.yml", "grafana.json"):
        asked = set(parts.findall((OPERATE / name).read_text("utf-8")))
        assert len(asked) >= 5
        assert asked <= _DOCUMENTED


def test_prometheus_itself_objects_to_nothing(tmp_path: Path) -> None:
    """Its own checker reads the rules, sets each alert off, and reads what is printed."""
    if shutil.which("promtool") is None:
        pytest.skip("Prometheus is not installed")
    with simulated(tmp_path, users=60, seed=3) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest", WEIBO_METRICS__TEXTFILE=str(tmp_path / "run.prom"))
        promtool("check", "metrics", given=(tmp_path / "run.prom").read_text())
        promtool("check", "metrics", given=crawl.run("status", "--openmetrics").stdout)
    promtool("check", "rules", str(OPERATE / "alerts.yml"))
    promtool("test", "rules", str(Path(__file__).parent / "alerts_test.yml"))


def test_prometheus_itself_draws_each_panel(tmp_path: Path) -> None:
    """A real server scrapes a run at work and what `status` prints, and loads the rules: all are
    well, and what each panel of the board asks for is there."""
    if shutil.which("prometheus") is None:
        pytest.skip("Prometheus is not installed")
    ours, own = (f"127.0.0.1:{free_port()}" for _ in range(2))
    with simulated(tmp_path, users=60, seed=3) as (crawl, truth):
        whole_way(crawl, truth)
        stored = crawl.run("status", "--openmetrics").stdout.encode()
        slow = {"WEIBO_PACE__REQUESTS_PER_SECOND": "3", "WEIBO_METRICS__LISTEN": ours}
        crawl.start("posts", "--refresh", "--all", "--runner", "inline", **slow)
        with (
            answering(lambda _: stored) as port,
            _prometheus(tmp_path, own, ours, f"127.0.0.1:{port}"),
        ):
            board = json.loads((OPERATE / "grafana.json").read_text("utf-8"))
            wanted = [aim["expr"] for panel in board["panels"] for aim in panel["targets"]]
            lacking = _lacking(own, wanted)
            rules = [rule for group in _asked(own, "rules")["groups"] for rule in group["rules"]]
        crawl.end()
    assert lacking == []
    assert [(rule["name"], rule["health"]) for rule in rules if rule["health"] != "ok"] == []
    assert len(rules) == 7


def _lacking(address: str, wanted: list[str]) -> list[str]:
    """Which of these bring nothing, once the server has scraped more than once."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        with suppress(OSError):
            lacking = [one for one in wanted if not _asked(address, "query", query=one)["result"]]
            rules = _asked(address, "rules")["groups"]
            known = [rule["health"] != "unknown" for group in rules for rule in group["rules"]]
            if (not lacking and all(known)) or time.monotonic() > until:
                return lacking
        assert time.monotonic() < until, "it does not answer"
        time.sleep(0.2)


def _asked(address: str, what: str, **query: str) -> dict[str, Any]:
    url = f"http://{address}/api/v1/{what}?{urlencode(query)}"
    with urlopen(url, timeout=10) as answer:
        data: dict[str, Any] = json.load(answer)["data"]
    return data


@contextmanager
def _prometheus(folder: Path, address: str, *targets: str) -> Iterator[None]:
    """It scrapes these each second, and evaluates our rules as often."""
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(OPERATE / "alerts.yml")],
        "scrape_configs": [{"job_name": "weibo", "static_configs": [{"targets": targets}]}],
    }
    file = folder / "prometheus.yml"
    file.write_text(json.dumps(settings), "utf-8")  # which is YAML as well
    words = [f"--config.file={file}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    log = (folder / "prometheus.log").open("wb")
    with (
        log,
        subprocess.Popen(
            ["prometheus", *words, f"--web.listen-address={address}"], stdout=log, stderr=log
        ) as process,
    ):
        try:
            yield
        finally:
            process.terminate()

"""docs/reference.md names each field that a command tells with --json, and none that none tells."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.crawls import Crawl, simulated
from tests.json_fields import FIELDS, RARE, known, told
from tests.reference import names
from weibo_crawler.analysis.completeness import Completeness
from weibo_crawler.analysis.status import StageStatus, StatusReport, as_dict
from weibo_crawler.analysis.yields import Tail
from weibo_crawler.cli import demo
from weibo_crawler.cli.main import main

_HOME = {"WEIBO_STORE__USERS": "sqlite:///u2.db", "WEIBO_STORE__TABLES": "sqlite:///t2.db"}
_JOBS = {"WEIBO_STORE__USERS": "sqlite:///u3.db", "WEIBO_STORE__TABLES": "sqlite:///t3.db"}


def _fields(crawl: Crawl, *words: str, **env: str) -> dict[str, Any]:
    """What a command tells, whatever its exit code: the one line that it prints on stdout, or the
    last one on stderr where stdout has rows."""
    done = crawl.ended(*words, "--json", **env)
    has_rows = words[0] == "scan" or "--ids" in words or "--describe" in words
    line = done.stderr.splitlines()[-1] if has_rows else done.stdout
    data: dict[str, Any] = json.loads(line)
    assert "x!!" in words or "error" not in data, (words, data)
    return data


def test_each_field_is_documented_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both directions, for every command: of a small crawl, of its plans, of a command that fails;
    status and completeness by their own records as well."""
    archive, media = str(tmp_path / "archive"), str(tmp_path / "media")
    with simulated(tmp_path, users=60) as (crawl, truth):
        crawl.env["WEIBO_ARCHIVE__FOLDER"] = archive
        seeds = [str(uid) for uid in truth.data["seeds"]]
        dataset, ids = str(tmp_path / "dataset"), tmp_path / "ids"
        calls: list[tuple[str, ...]] = [
            ("init",),
            ("seed", "x!!"),
            ("seed", *seeds, "#topic#"),
            ("harvest", "--plan"),
            ("harvest",),
            ("import",),
            ("posts", "--plan"),
            ("posts",),
            ("posts", "--manifest", str(tmp_path / "ranges")),
            ("posts", "--ids", str(ids)),
            ("media", "-o", media),
            ("media", "-o", media, "--plan"),
            ("media", "-o", media, "--check"),
            ("plan", "--users", "1000", "--fresh", "24h"),
            ("scan", "posts", "--limit", "1"),
            ("export", "posts", "-o", str(tmp_path / "posts.csv")),
            ("export", "--dataset", dataset),
            ("verify", dataset),
            ("report", "-o", str(tmp_path / "report.html")),
            ("report", "--completeness"),
            ("status",),
            ("proxies", "check"),
            ("doctor",),
            ("doctor", "--site"),
            ("simulate", "--laws", "1", "--describe"),
            ("forget", seeds[0], "--dry-run"),
            ("forget", "--allow", seeds[0]),
        ]
        found: dict[str, set[str]] = {command: set() for command in FIELDS}

        def note(command: str, data: dict[str, Any]) -> None:
            found[command] |= told(data, known(command))

        for words in calls:
            if str(ids) in words:
                ids.write_text(crawl.scan("posts", "--columns", "mid")[0]["mid"], "utf-8")
            command = "proxies check" if words[0] == "proxies" else words[0]
            note(command, _fields(crawl, *words))
        note("reparse", _fields(crawl, "reparse", archive, **_HOME))
        crawl.run("seed", *seeds, **_JOBS)
        jobs = _JOBS | {"WEIBO_HARVEST__MAX_DEPTH": "1"}
        note("harvest", _fields(crawl, "harvest", "--runner", "local", **jobs))
        monkeypatch.chdir(crawl.folder)  # a crawl in this folder does not disturb the demo
        monkeypatch.setitem(demo._WORLD, "users", 60)
        assert main(["demo", "--json", "--dir", "demo"]) == 0
        note("demo", json.loads(capsys.readouterr().out))
    stage = StageStatus("posts", 1, 1.0, 0.0, 1.0, 1.0, 1.0, None, None)
    note("status", as_dict(StatusReport(0.0, {}, {}, (stage,), (), Completeness())))
    note("harvest", {"dry": Tail(100, 1, 0.5)._asdict()})
    for command, seen in found.items():
        missing = known(command) - seen - RARE.get(command, set()) - {"error", "exit_code"}
        missing -= {path for path in missing if path.startswith("walled.")}  # lists are shown here
        assert (seen - known(command), missing) == (set(), set()), command
    fields = {f"completeness.{each.name}" for each in msgspec.structs.fields(Completeness)}
    assert fields <= known("status")
    assert {command.partition(" ")[0] for command in FIELDS} == set(names())

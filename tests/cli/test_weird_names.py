"""Words of a site that would command a terminal, driven through every command."""

import json
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cli.crawls import OBEYED, Crawl
from tests.webserver import answering

_EVIL = "x\x1b[2J\x1b]0;pwned\x07\x9b31m\u202egnp\u2066\r\x08\x00\x7f\x85\u2028y"
_SEED = 1_000_000_001
_JOB = Path(__file__).parents[2] / "jobs/crawl_posts.py"
_NO = {"ok": 0, "errno": _EVIL, "msg": _EVIL}


def _user(uid: int) -> dict[str, object]:
    return {
        "id": uid,
        "screen_name": f"{_EVIL}{uid}",
        "followers_count": 500,
        "follow_count": 5,
        "statuses_count": 1,
        "gender": "m",
        "description": _EVIL,
    }


def _answer(path: str) -> object:
    """A seed with one fan, and a post each."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
    container = query.get("containerid", "")
    if container.startswith("231051_-_fans_-_"):
        uid = int(container.rpartition("_")[2])
        if query.get("since_id", "1") != "1" or uid != _SEED:
            return {"ok": 0, "msg": "这里还没有内容", "data": {"cards": []}}
        fans = {"card_type": 11, "itemid": f"2310510033_1_ _{uid}"}
        fans["card_group"] = [{"card_type": 10, "user": _user(_SEED + 1)}]
        return {"ok": 1, "data": {"cardlistInfo": {"since_id": 2}, "cards": [fans]}}
    if container.startswith("107603"):
        return _posts(int(container.removeprefix("107603")))
    uid = int(query.get("value", 0) or container.removeprefix("100505") or 0)
    tabs = {"tabs": [{"tab_type": "weibo", "containerid": f"107603{uid}"}]}
    return {"ok": 1, "data": {"userInfo": _user(uid), "tabsInfo": tabs}}


def _posts(uid: int) -> object:
    second = int(time.time()) - 86400 * 30
    mid = str((second - 515483463 << 22) + uid % 1000)
    created = time.strftime("%a %b %d %H:%M:%S +0800 %Y", time.gmtime(second + 8 * 3600))
    post: dict[str, Any] = {
        "id": mid,
        "mid": mid,
        "created_at": created,
        "text": f"evil {_EVIL}",
        "source": _EVIL,
    }
    post |= {"reposts_count": 1, "comments_count": 1, "attitudes_count": 1, "isLongText": False}
    card = {"card_type": 9, "mblog": {**post, "user": _user(uid)}}
    info = {"containerid": f"107603{uid}", "total": 1}
    return {"ok": 1, "data": {"cardlistInfo": info, "cards": [card]}}


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    with answering(_answer) as port:
        yield Crawl(tmp_path, f"http://127.0.0.1:{port}")


def test_no_command_lets_the_site_rule_the_terminal(crawl: Crawl) -> None:
    """Names, texts and devices full of escapes: on a terminal no command prints one, in any form;
    in a pipe JSON is as faithful as ever, and its text is harmless too."""
    commands = [
        ("seed", str(_SEED)),
        ("harvest",),
        ("import",),
        ("posts", "--runner", "inline"),
        ("status",),
        ("status", "--json"),
        ("report",),
        ("report", "--completeness", "--format", "table"),
        ("proxies", "check"),
        *((("scan", what, "--format", form)) for what in ("users", "posts") for form in _FORMS),
        ("scan", "users", "--imported"),
        ("export", "posts", "-o", "posts.csv"),
    ]
    shown = {command: crawl.on_terminal(*command) for command in commands}
    for command, text in shown.items():
        assert "Traceback" not in text
        assert not OBEYED.search(text), (command, OBEYED.search(text))
    assert "evil" in shown["scan", "posts", "--format", "csv"]
    assert not OBEYED.search((crawl.folder / "report.html").read_text("utf-8"))
    kept = _EVIL.replace("\x00", "\N{REPLACEMENT CHARACTER}")  # which no table could hold
    piped = crawl.run("scan", "posts", "--format", "jsonl").stdout
    assert not OBEYED.search(piped)
    assert {json.loads(line)["source"] for line in piped.splitlines()} == {kept}


_FORMS = ("table", "jsonl", "csv")


@pytest.mark.parametrize("runner", ["inline", "local"])
def test_what_a_site_says_when_it_refuses_is_printed_harmless(tmp_path: Path, runner: str) -> None:
    """A refusal full of escapes ends the runs; errors and warnings that say why hold none."""
    env = {"TMPDIR": str(tmp_path), "WEIBO_FETCH__ATTEMPTS": "1", "WEIBO_HARVEST__REST_S": "0.01"}
    with answering(_answer) as port:
        crawl = Crawl(tmp_path, f"http://127.0.0.1:{port}")
        for command in ("seed", str(_SEED)), ("harvest",), ("import",):
            crawl.run(*command)
    with answering(lambda path: _NO) as port:
        crawl.env["WEIBO_SITE__BASE_URL"] = f"http://127.0.0.1:{port}"
        commands = [("seed", "somebody"), ("seed", str(_SEED + 7)), ("harvest",)]
        commands += [("posts", "--runner", runner), ("status",), ("proxies", "check")]
        said = [crawl.on_terminal(*command, **env) for command in commands]
        said += [crawl.on_terminal("posts", "--runner", runner, "--json", **env)]
    assert any("pwned" in text for text in said)
    for text in said:
        assert not OBEYED.search(text), OBEYED.search(text)


@pytest.mark.parametrize("runner", ["inline", "local"])
def test_what_the_job_prints_is_harmless(tmp_path: Path, runner: str) -> None:
    """An error full of escapes ends the map job: its log, which is what it prints, holds none."""
    crawl = Crawl(tmp_path)
    crawl.run("posts", "--manifest", "ranges.jsonl")
    crawl.env["WEIBO_STORE__USERS"] = f"sqlite:////proc/{_EVIL}/users.db".replace("\x00", "")
    job = [sys.executable, str(_JOB), "-r", runner, "--no-bootstrap-mrjob", "ranges.jsonl"]
    done = crawl.shell(shlex.join(job))
    assert done.returncode != 0
    assert "pwned" in done.stderr
    assert not OBEYED.search(done.stderr), OBEYED.search(done.stderr)

"""`doctor` in the embedded home, from outside: what is wrong is named, nothing is left behind."""

import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.crawls import Crawl
from weibo_crawler import config
from weibo_crawler.cli import checks
from weibo_crawler.errors import BadConfig


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def checked(crawl: Crawl, code: int = 0, **env: str) -> dict[str, Any]:
    """name -> the check's line."""
    done = crawl.run("doctor", "--json", code=code, **env)
    return {line["name"]: line for line in json.loads(done.stdout)["checks"]}


def state(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_home_that_is_well(crawl: Crawl) -> None:
    """Each line is ok but for what is not asked; what is there stays as it was, byte for byte."""
    assert "init" in checked(crawl)["users"]["text"]
    assert state(crawl.folder) == {}
    crawl.run("init")
    before = state(crawl.folder)
    lines = checked(crawl)
    assert {line["name"] for line in lines.values() if line["state"] != "ok"} == {"site"}
    assert "writable" in lines["tables"]["text"]
    assert state(crawl.folder) == before
    said = crawl.run("doctor").stdout
    assert said.endswith("doctor: nothing is wrong; what is open could not be checked (1)\n")


def test_what_a_home_on_a_cluster_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a home on this machine alone neither driver is asked for."""
    drivers = ("pymysql", "happybase")
    monkeypatch.setattr(checks, "find_spec", lambda name: None if name in drivers else name)
    here = config.Settings()
    store = replace(here.store, users="mysql://u@h/d", tables="hbase://h")
    assert "msgspec" in checks.python(here)
    with pytest.raises(BadConfig, match="pymysql, happybase not installed: "):
        checks.python(replace(here, store=store))


def test_a_folder_that_cannot_be_written(crawl: Crawl) -> None:
    """Exit code 5; the line names the folder."""
    (crawl.folder / "file").write_text("")
    line = checked(crawl, 5, WEIBO_STORE__USERS="sqlite:///file/users.db")["users"]
    assert line["state"] == "wrong"
    assert str(crawl.folder / "file") in line["text"]


def test_a_file_that_is_no_store(crawl: Crawl) -> None:
    """Exit code 5 with SQLite's word and the remedy."""
    (crawl.folder / "tables.db").write_text("not a database, but long enough to look like one" * 99)
    line = checked(crawl, 5)["tables"]
    assert (line["state"], "move this one away" in line["text"]) == ("wrong", True)


def test_a_proxies_file_that_is_missing_or_wrong(crawl: Crawl) -> None:
    """Exit code 3; nothing of the line's text is shown."""
    line = checked(crawl, 3, WEIBO_EGRESS__PROXIES_FILE="proxies.txt")["settings"]
    assert "proxies.txt" in line["text"]
    (crawl.folder / "proxies.txt").write_text("http://me:hidden@10.0.0.1:8080\nhttp://me:hidden@\n")
    line = checked(crawl, 3, WEIBO_EGRESS__PROXIES_FILE="proxies.txt")["egress"]
    assert "proxies.txt:2" in line["text"]
    assert "hidden" not in line["text"]
    (crawl.folder / "proxies.txt").write_text("http://me:hidden@10.0.0.1:8080\n10.0.0.2:80\n")
    line = checked(crawl, WEIBO_EGRESS__PROXIES_FILE="proxies.txt")["egress"]
    assert line["text"].startswith("2 proxies")


@pytest.mark.parametrize("address", ["mysql://me:hidden?x@h/db", "mysql://h/db?password=hidden"])
def test_a_store_whose_address_holds_a_password(crawl: Crawl, address: str) -> None:
    """No line tells it, neither the one that is wrong nor the one that names the stores."""
    lines = checked(crawl, 3, WEIBO_STORE__USERS=address)
    assert lines["settings"]["state"] == "ok"
    assert "hidden" not in str(lines)


def test_a_password_file_that_others_may_read(crawl: Crawl) -> None:
    """Exit code 3 with the remedy; a group that was chosen may read it. Its text is not told."""
    file = crawl.folder / "password"
    file.write_text("hidden")
    named = {"WEIBO_STORE__PASSWORD_FILE": "password"}
    for mode, code, state in ((0o644, 3, "wrong"), (0o640, 0, "ok"), (0o400, 0, "ok")):
        file.chmod(mode)
        line = checked(crawl, code, **named)["password"]
        assert (line["state"], f"chmod 600 {file}" in line["text"]) == (state, code == 3)
        assert "hidden" not in line["text"]


def test_too_few_open_files(crawl: Crawl) -> None:
    """Fetching 500 pages at once wants more files than 256: exit code 3, with the remedy."""
    command = 'ulimit -n 256; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *crawl.command("doctor")],
        env=crawl.env | {"WEIBO_FETCH__CONCURRENCY": "500"},
        cwd=crawl.folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "ulimit -n" in done.stdout


def test_a_host_that_says_nothing_is_left(crawl: Crawl) -> None:
    """Somebody accepts connections and never answers: the other checks are made all the same."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        lines = checked(
            crawl,
            5,
            WEIBO_STORE__USERS=f"mysql://me@127.0.0.1:{port}/crawl",
            WEIBO_STORE__TABLES=f"hbase://127.0.0.1:{port}",
            WEIBO_HADOOP__RESOURCEMANAGER=f"http://127.0.0.1:{port}",
            WEIBO_HADOOP__JOBHISTORY="http://127.0.0.1:9",
            WEIBO_HADOOP__COMMAND="no-such-hadoop",
        )
    wrong = {name for name, line in lines.items() if line["state"] == "wrong"}
    servers = {"sql", "hbase", "resourcemanager", "jobhistory"}
    assert wrong == servers | {"hadoop", "streaming jar"}
    assert "sql clock" not in lines


def test_nodes_reach_no_embedded_home(crawl: Crawl) -> None:
    """--nodes where the stores are files of this machine: exit code 3, with what is needed."""
    said = crawl.run("doctor", "--nodes", code=3).stdout
    assert "wrong nodes           store.users: the nodes of a cluster cannot reach" in said


def test_another_site_is_never_asked(crawl: Crawl) -> None:
    """The live site hears nothing of a doctor; a site on this machine is asked for its clock."""
    live = {
        "WEIBO_SITE__BASE_URL": "https://m.weibo.cn",
        "WEIBO_PACE__REQUESTS_PER_SECOND": "0.3",
    }
    line = checked(crawl, **live)["site"]
    assert (line["state"], "not asked" in line["text"]) == ("open", True)

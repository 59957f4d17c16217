"""The simulator as a process: where it listens, what it writes down, how it ends."""

import argparse
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weibo_crawler
from tests.simulator import visitors
from tests.simulator.conftest import SMALL
from tests.simulator.visitors import fans, fetch, posts, profile, world_of
from weibo_crawler.config import Harvest
from weibo_crawler.errors import BadConfig, BadUsage
from weibo_crawler.simulator.arguments import add_arguments, from_arguments, to_arguments
from weibo_crawler.simulator.faults import FAULTS
from weibo_crawler.simulator.graph import POPULAR
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.proxies import HEALTH
from weibo_crawler.simulator.run import start
from weibo_crawler.simulator.served import Line, ServedLog, read_served

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(weibo_crawler.__file__).parents[1])}


def wait_until_closed(base_url: str) -> None:
    """Return when nobody listens there any more; fails after 20 s."""
    parts = urlsplit(base_url)
    for _ in range(200):
        try:
            # it may close between the handshake and our look: then the connection is reset
            with contextlib.suppress(ConnectionResetError):
                socket.create_connection((parts.hostname, parts.port), timeout=1).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.1)
    pytest.fail("the simulator still listens")


def test_stop() -> None:
    """stop() ends the child and frees its port; a second stop does nothing."""
    running = start(SMALL)
    assert fetch(running.base_url, "/")[0] == 200
    assert running.visitor_url == running.base_url + "/visitor/genvisitor2"
    running.stop()
    wait_until_closed(running.base_url)
    running.stop()


def test_the_child_dies_with_its_parent() -> None:
    """A parent that is killed, and so cannot stop anything, leaves no simulator behind."""
    program = (
        "import time\n"
        "from weibo_crawler.simulator.options import SimulatorOptions\n"
        "from weibo_crawler.simulator.run import start\n"
        "print(start(SimulatorOptions(users=40)).base_url, flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-c", program]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT)
    with parent:
        assert parent.stdout is not None
        base_url = parent.stdout.readline().decode().strip()
        assert fetch(base_url, "/")[0] == 200
        parent.kill()
    wait_until_closed(base_url)


@contextmanager
def by_itself(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A small simulator run from the command line, and its address; killed at the end."""
    command = [sys.executable, "-m", "weibo_crawler.simulator", "--port=0", "--users=40"]
    process = subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    with process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().decode().strip()
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_quietly_on_a_signal(number: signal.Signals) -> None:
    """By itself, on SIGTERM or Ctrl-C, also while an answer stalls: exit code 0, no words."""
    with by_itself("--faults=stalled:permanent=1") as (process, base_url):
        with socket.create_connection(("127.0.0.1", urlsplit(base_url).port)) as waiting:
            waiting.sendall(f"GET {profile(5)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert waiting.recv(4096)
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (0, b"", b"")


def test_faults_of_the_connection_are_quiet() -> None:
    """A connection closed on purpose is no error of the server's: it says nothing of it."""
    faults = "--faults=early_close=0.4,cut=0.3,garbage_status=0.3"
    with by_itself(faults) as (process, base_url):
        for number in range(20):
            with pytest.raises((http.client.HTTPException, ConnectionResetError)):
                fetch(base_url, profile(number))
        process.terminate()
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (0, b"", b"")


def test_proxies_are_quiet(tmp_path: Path) -> None:
    """Of every health, with clients that come, go and wait: they end at once, without a word."""
    file = tmp_path / "proxies.txt"
    mix = ",".join(f"{name}=0.14" for name in HEALTH)
    options = ["--proxies=14", f"--proxy-mix={mix}", "--slow-s=300", "--flap-s=0.1"]
    with by_itself(*options, f"--proxies-out={file}", "--faults=cut=0.5") as (process, base_url):
        waiting = []
        for line in file.read_text("utf-8").splitlines():
            with contextlib.suppress(ConnectionRefusedError):
                parts = urlsplit(line)
                client = socket.create_connection((parts.hostname, parts.port), timeout=10)
                client.sendall(f"GET {base_url}/u/5 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                waiting.append(client)
        assert len(waiting) >= 10
        waiting.pop().close()
        process.terminate()
        out, err = process.communicate(timeout=20)
        for client in waiting:
            client.close()
        assert (process.returncode, out, err) == (0, b"", b"")


def test_a_port_in_use() -> None:
    """BadConfig, with the port and the remedy, from the child as from the command line."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadConfig, match=f"port {port} of 127.0.0.1 is in use: .*--port"):
            start(replace(SMALL, port=port))
        command = [sys.executable, "-m", "weibo_crawler.simulator", f"--port={port}", "--users=40"]
        done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 3
    assert done.stderr.count(b"\n") == 1
    assert b"in use" in done.stderr


@pytest.mark.parametrize("name", ["truth_out", "served_out", "proxies_out"])
def test_a_file_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    """BadConfig that names the option and the file."""
    file = str(tmp_path / "no-such-folder" / "file")
    with pytest.raises(BadConfig, match=f"--{name.replace('_', '-')}: cannot write .*no-such"):
        start(replace(SMALL, **{name: file}))  # type: ignore[arg-type]


def test_a_world_that_cannot_be() -> None:
    """The child's BadUsage is raised in the parent."""
    with pytest.raises(BadUsage, match="users: 7 is not between"):
        start(replace(SMALL, users=7))


def test_the_true_walk_keeps_whom_a_harvest_keeps() -> None:
    """The simulator shares no settings: where the default of harvest.min_fans changes, so do
    `graph.POPULAR` and the worlds that are made around it."""
    assert SimulatorOptions().min_fans == POPULAR == Harvest().min_fans


def test_the_truth_on_disk(tmp_path: Path) -> None:
    """truth_out holds users, fan lists and posts as they are served, and the true walk."""
    file, world = tmp_path / "truth.json", world_of(SMALL)
    seed = world.seeds[1]
    options = replace(SMALL, truth_out=str(file), truth_seeds=(seed,), min_fans=12, max_depth=2)
    with start(options) as running, visitors.asker(running.base_url) as ask:
        truth = json.loads(file.read_bytes())
        assert (truth["seeds"], truth["min_fans"], truth["max_depth"]) == ([seed], 12, 2)
        depths = {user["uid"]: user["depth"] for user in truth["users"] if user["kept"]}
        assert depths == world.kept([seed], 12, 2)
        for user in truth["users"][::10]:
            uid = user["uid"]
            shown = ask(profile(uid))["data"]["userInfo"]
            assert shown["screen_name"] == user["screen_name"]
            assert shown["followers_count"] == str(user["fans"])
            assert visitors.walk_fans(ask, uid) == truth["fan_lists"][str(uid)]
            served = visitors.walk_posts(ask, uid)
            posts_of_user = {post["mid"]: post for post in truth["posts"][str(uid)]}
            assert served.keys() == posts_of_user.keys()
            first = {m["mid"] for m in visitors.mblogs(ask(posts(uid))["data"]["cards"])}
            on_page_1 = {mid for mid, post in posts_of_user.items() if post["page"] == 1}
            assert on_page_1 == first & posts_of_user.keys()
            for mid, post in posts_of_user.items():
                _compare(served[mid], post)


def _compare(mblog: dict[str, object], post: dict[str, object]) -> None:
    """One post as served and as true."""
    from datetime import datetime

    served_at = datetime.strptime(str(mblog["created_at"]), "%a %b %d %H:%M:%S %z %Y")
    assert served_at.isoformat() == post["created_at"]
    assert mblog.get("region_name") == (post["region"] and f"发布于 {post['region']}")
    assert mblog["source"] == post["source"]
    for key, name in (("reposts", "reposts"), ("comments", "comments"), ("likes", "attitudes")):
        count = mblog[f"{name}_count"]
        assert post[key] == (1_000_000 if count == "100万+" else count)
    original = mblog.get("retweeted_status")
    assert post["repost_of"] == (original["mid"] if isinstance(original, dict) else None)


def test_what_was_served_on_disk(tmp_path: Path) -> None:
    """served_out has a line for each request: what was asked, by whom, of whom, what it got."""
    file = tmp_path / "served.jsonl"
    uid = world_of(SMALL).uid(0)
    with start(replace(SMALL, served_out=str(file), faults="empty_200=0.5")) as running:
        before = time.time()
        asked = [profile(uid), fans(uid), posts(5), *(fans(uid, n) for n in range(1, 9)), "/"]
        bodies = [fetch(running.base_url, address)[1] for address in asked]
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["request"] for line in lines] == asked
    assert [line["uid"] for line in lines[:3]] == [uid, uid, 5]
    assert {line["egress"] for line in lines} == {"127.0.0.1"}
    assert all(before <= line["time"] <= time.time() for line in lines)
    assert [line["served"] == "empty_200" for line in lines] == [not body for body in bodies]
    assert {line["served"] for line in lines} == {"ok", "end", "empty_200"}


def test_what_was_served_is_read_while_it_is_written(tmp_path: Path) -> None:
    """A line that a reader finds half written is left out until it is whole."""
    whole, half = tmp_path / "whole.jsonl", tmp_path / "half.jsonl"
    told = [Line(1.5, f"/{n}", "ok", uid=n, egress="127.0.0.1") for n in range(2)]
    with ServedLog(whole) as log:
        for line in told:
            log.add(line)
    data = whole.read_bytes()
    for size in range(len(data) + 1):
        half.write_bytes(data[:size])
        assert read_served(half) == told[: data[:size].count(b"\n")]


@given(
    st.builds(
        SimulatorOptions,
        host=st.sampled_from(["127.0.0.1", "127.0.0.9"]),
        port=st.integers(0, 65_535),
        seed=st.integers(0, 2**63),
        laws=st.none() | st.integers(0, 2**63),
        epoch=st.integers(0, 2**32),
        mean_posts=st.floats(0, 100),
        guests=st.sampled_from(["open", "2026"]),
        fans_walled=st.booleans(),
        faults=st.sampled_from(["", "cut=0.5", "slow:permanent=0.1,bomb=0.2"]),
        truth_seeds=st.lists(st.integers(1, 2**40)).map(tuple),
        max_depth=st.none() | st.integers(0, 9),
        rate_limit=st.sampled_from(["", "1/3"]),
        retry_after=st.booleans(),
        proxies=st.sampled_from([0, 0, 3]),
        proxy_mix=st.sampled_from(["good=1", "dead=0.5,lying=0.25"]),
        proxies_out=st.none() | st.just("p.txt"),
        served_out=st.none() | st.sampled_from(["a.jsonl", "--odd name.jsonl"]),
    )
)
def test_options_come_back_from_a_command_line(options: SimulatorOptions) -> None:
    """from_arguments undoes to_arguments."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert from_arguments(parser.parse_args(to_arguments(options))) == options


def test_the_command_line_without_anything() -> None:
    """Gives the defaults of SimulatorOptions, but the usual port; --epoch takes the word now."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert from_arguments(parser.parse_args([])) == SimulatorOptions(port=8800)
    before = int(time.time())
    assert before <= from_arguments(parser.parse_args(["--epoch=now"])).epoch <= time.time()


def test_help_says_it_all() -> None:
    """Each option has a help text with its default; the faults are named."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    actions = [action for action in parser._actions if action.dest != "help"]
    assert {action.dest for action in actions} == set(SimulatorOptions.__dataclass_fields__)
    for action in actions:
        assert "default" in (action.help or ""), action.dest
    assert all(name in parser.format_help() for name in (*FAULTS, *HEALTH))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("host", "0.0.0.0"),
        ("host", "192.168.1.1"),
        ("host", "example.org"),
        ("port", 70_000),
        ("guests", "2019"),
        ("dates", "iso"),
        ("paging", "offset"),
        ("numbers", "words"),
        ("session_requests", -1),
        ("max_consecutive", -1),
        ("slow_s", -0.1),
        ("faults", "unheard_of=1"),
        ("session_s", -1.0),
        ("rate_limit", "fast"),
        ("ban_s", -1.0),
        ("soft_share", 1.5),
        ("proxies", -1),
        ("proxies", 5_001),
        ("proxy_mix", "unheard_of=1"),
        ("proxy_socks", 2.0),
        ("proxy_login", "user"),
        ("proxy_login", ":password"),
        ("proxy_port", 70_000),
        ("flap_s", 0.0),
    ],
)
def test_wrong_options(option: str, value: object) -> None:
    """BadUsage that names the option."""
    with pytest.raises(BadUsage, match=f"--{option.replace('_', '-')}"):
        replace(SMALL, **{option: value})  # type: ignore[arg-type]


def test_importing_the_options_is_cheap() -> None:
    """The command line can show the options without importing a web server."""
    program = (
        "import sys, weibo_crawler.simulator.arguments\n"
        "print([name for name in ('aiohttp', 'asyncio', 'msgspec') if name in sys.modules])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=True)
    assert done.stdout.decode().strip() == "[]"


def test_nothing_is_shared_with_the_parsers() -> None:
    """The simulator imports nothing of sites, so a mistake there is not repeated here; outputs says
    which files are not to be overwritten."""
    program = (
        "import sys, weibo_crawler.simulator.run\n"
        "print([name for name in sys.modules if name.startswith('weibo_crawler.')])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=True)
    names = [name.split(".")[1] for name in json.loads(done.stdout.decode().replace("'", '"'))]
    assert set(names) == {"errors", "outputs", "simulator"}

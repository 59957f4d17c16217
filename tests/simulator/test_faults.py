"""Every fault by name, as a client meets it; and when it strikes."""

import gzip
import http.client
import json
import socket
import zlib
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.forks import simulator
from tests.simulator import visitors
from tests.simulator.conftest import SMALL
from tests.simulator.visitors import fans, fetch, posts, profile, visit, weibo_of, world_of
from weibo_crawler.errors import BadUsage
from weibo_crawler.simulator.faults import FAULTS, FaultPlan, Rate, parse_faults
from weibo_crawler.simulator.misbehave import BOMB_BYTES, ON_THE_WIRE

UID = world_of(SMALL).uid(0)
ADDRESS = fans(UID)
RIGHT = visit(weibo_of(SMALL), ADDRESS).answer.body
ANSWERED = {
    "throttled_418": (418, b"418"),
    "too_long_414": (414, b"414 Request-URI Too Large"),
    "refused_403": (403, b"403 Forbidden"),
    "refused_432": (432, b""),
    "captcha": (200, b"https://m.weibo.cn/captcha/show?"),
    "geetest": (200, b"https://m.weibo.cn/api/geetest?"),
    "unknown_words": (200, b'{"ok":0,"msg":"'),
    "unknown_keys": (200, b'{"ok":0,"message":"target weibo is busy","error_code":21399}'),
    "bare_ok0": (200, b'{"ok":0}'),
    "ok1_refusal": (200, b'{"ok":1,"msg":"'),
    "login_wall": (200, b"https://passport.weibo.com/"),
    "server_trouble": (200, b'"errno":"100001"'),
    "status_502": (502, b"502 Bad Gateway"),
    "empty_200": (200, b""),
    "no_content": (200, b'{"ok":0,"msg":"\\u8fd9\\u91cc\\u8fd8\\u6ca1\\u6709\\u5185\\u5bb9"'),
    "html_busy": (200, "抱歉，网络繁忙".encode()),
    "not_json": (200, b"<title>Sina Visitor System</title>"),
    "slow": (200, RIGHT),
}


@pytest.fixture
def base_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A site that serves the fault of the test's parameter and nothing else."""
    fault = f"{request.param}:permanent=1"
    with simulator(replace(SMALL, faults=fault, slow_s=0.05)) as running:
        yield running.base_url


def raw(base_url: str, wait_s: float = 10) -> bytes:
    """All bytes that come until the server closes; TimeoutError if it never does."""
    parts = urlsplit(base_url)
    with socket.create_connection((parts.hostname, parts.port), timeout=wait_s) as connection:
        connection.sendall(f"GET {ADDRESS} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        came = b""
        while chunk := connection.recv(65_536):
            came += chunk
    return came


@pytest.mark.parametrize(
    ("base_url", "status", "holds"),
    [(name, *expected) for name, expected in ANSWERED.items()],
    indirect=["base_url"],
    ids=list(ANSWERED),
)
def test_faults_that_are_whole_answers(base_url: str, status: int, holds: bytes) -> None:
    """Status and words of weibo_api.md."""
    seen, body, _ = fetch(base_url, ADDRESS)
    assert seen == status
    assert holds in body
    assert bool(body) == bool(holds)


@pytest.mark.parametrize("base_url", ["throttled"], indirect=True)
def test_throttled(base_url: str) -> None:
    """errno 100005, with status 200 on some pages and 403 on others."""
    seen = [fetch(base_url, fans(UID, number)) for number in range(1, 20)]
    assert {json.loads(body)["errno"] for _, body, _ in seen} == {"100005"}
    assert {status for status, _, _ in seen} == {200, 403}


@pytest.mark.parametrize("base_url", ["truncated_json"], indirect=True)
def test_truncated_json(base_url: str) -> None:
    """Whole as HTTP, the beginning of the right JSON, and no JSON."""
    _, body, headers = fetch(base_url, ADDRESS)
    assert int(headers["Content-Length"]) == len(body) < len(RIGHT)
    assert RIGHT.startswith(body)
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(body)


@pytest.mark.parametrize("base_url", ["cut"], indirect=True)
def test_cut(base_url: str) -> None:
    """Fewer bytes than announced, then the end: a client that counts notices."""
    with pytest.raises(http.client.IncompleteRead):
        fetch(base_url, ADDRESS)


@pytest.mark.parametrize("base_url", ["stalled"], indirect=True)
def test_stalled(base_url: str) -> None:
    """The beginning of an answer comes, its end never does; and the server still stops."""
    with pytest.raises(TimeoutError):
        raw(base_url, wait_s=0.5)


@pytest.mark.parametrize("base_url", ["garbage_status"], indirect=True)
def test_garbage_status(base_url: str) -> None:
    """What comes is not HTTP."""
    with pytest.raises(http.client.BadStatusLine, match="WBTP"):
        fetch(base_url, ADDRESS)


@pytest.mark.parametrize("base_url", ["early_close"], indirect=True)
def test_early_close(base_url: str) -> None:
    """Not a byte comes."""
    assert raw(base_url) == b""
    with pytest.raises(http.client.RemoteDisconnected):
        fetch(base_url, ADDRESS)


@pytest.mark.parametrize("base_url", ["bad_gzip"], indirect=True)
def test_bad_gzip(base_url: str) -> None:
    """Announced as gzip, and broken within."""
    _, body, headers = fetch(base_url, ADDRESS)
    assert headers["Content-Encoding"] == "gzip"
    with pytest.raises((zlib.error, EOFError, gzip.BadGzipFile)):
        gzip.decompress(body)


@pytest.mark.parametrize("base_url", ["bomb"], indirect=True)
def test_bomb(base_url: str) -> None:
    """Small on the wire, 64 MiB unpacked."""
    _, body, headers = fetch(base_url, ADDRESS)
    assert headers["Content-Encoding"] == "gzip"
    assert len(body) < 200_000
    assert len(gzip.decompress(body)) == BOMB_BYTES


@pytest.mark.parametrize("base_url", ["drifted"], indirect=True)
def test_drifted(base_url: str) -> None:
    """A key that a parser needs has another name; an answer with nothing to rename is right."""
    world = world_of(SMALL)
    timeline = posts(next(world.uid(i) for i in range(99) if world.calendar(i).mids))
    for address, key in ((profile(UID), "userInfo"), (timeline, "mblog"), (fans(UID), "user")):
        body = fetch(base_url, address)[1].decode()
        assert json.loads(body)["ok"] == 1
        assert f'"{key}":' not in body
        assert f'"new_{key}":' in body
    assert fetch(base_url, profile(5))[1] == visitors.visit(weibo_of(SMALL), profile(5)).answer.body


def test_every_fault_has_a_test() -> None:
    """No name is known to the command line that nobody has met over a connection."""
    own_tests = {"throttled", "truncated_json", "bad_gzip", "bomb", "drifted"}
    assert ANSWERED.keys() | own_tests | ON_THE_WIRE == FAULTS.keys()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("cutt=0.1", "throttled, throttled_418"),
        ("cut:forever=0.1", "known are"),
        ("=0.1", "known are"),
        ("cut", "cut=0.02"),
        ("cut=x", "number from 0 to 1"),
        ("cut=-0.1", "number from 0 to 1"),
        ("cut=1.1", "number from 0 to 1"),
        ("cut=nan", "number from 0 to 1"),
        ("cut=0.6,slow=0.6", "more than 1"),
    ],
)
def test_wrong_faults(text: str, named: str) -> None:
    """An unknown name or a rate that is none is BadUsage, with what would be right."""
    with pytest.raises(BadUsage, match=named):
        parse_faults(text)


def test_right_faults() -> None:
    """Names, rates and marks as written; spaces do not count."""
    assert parse_faults("") == ()
    assert parse_faults("cut=0.5, slow:permanent=0.25,") == (
        Rate("cut", 0.5),
        Rate("slow", 0.25, permanent=True),
    )


@given(st.integers(0, 99), st.integers(0, 4), st.permutations(list(range(40)) * 3))
def test_a_run_is_repeatable(seed: int, most: int, order: list[int]) -> None:
    """What the nth attempt of a request meets does not depend on the order of the requests, and
    a request fails at most max_consecutive times in a row."""
    rates = parse_faults("cut=0.4,throttled=0.4")

    def met(requests: list[int]) -> dict[int, list[str | None]]:
        plan = FaultPlan(seed, rates, most)
        seen: dict[int, list[str | None]] = {number: [] for number in range(40)}
        for number in requests:
            seen[number].append(plan.fault(f"/page/{number}"))
        return seen

    shuffled = met(order)
    assert shuffled == met(sorted(order))
    for faults in met(list(range(40)) * 12).values():
        marks = "".join("." if fault is None else "x" for fault in faults)
        assert max(map(len, marks.split("."))) <= most


def test_the_rates() -> None:
    """Over many requests the shares are those asked for, and seeds differ."""
    plan = FaultPlan(1, parse_faults("cut=0.2,slow=0.05"), 2)
    faults = [plan.fault(f"/{number}") for number in range(4000)]
    assert 700 < faults.count("cut") < 900
    assert 140 < faults.count("slow") < 260
    other = FaultPlan(2, parse_faults("cut=0.2,slow=0.05"), 2)
    assert faults != [other.fault(f"/{number}") for number in range(4000)]


def test_permanent_faults() -> None:
    """A permanent fault hits a share of the pages, and those every time."""
    plan = FaultPlan(1, parse_faults("cut:permanent=0.3"), 2)
    rounds = [[plan.fault(f"/{number}") for number in range(500)] for _ in range(6)]
    assert all(one == rounds[0] for one in rounds)
    assert 100 < rounds[0].count("cut") < 200


def test_refusals_at_the_gate_are_not_spoilt() -> None:
    """A guest without a session meets the gate, not a fault."""
    weibo = weibo_of(replace(SMALL, guests="2026", faults="cut:permanent=1"))
    labels = [visit(weibo, ADDRESS).label for _ in range(3)]
    assert labels == ["refused_432", "sent_to_visitor", "login_wall"]

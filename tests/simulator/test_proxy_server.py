"""The proxies on the network, by clients of their own: http.client, requests, bare sockets."""

import http.client
import json
import socket
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.forks import simulator
from tests.ports import free_port
from tests.simulator.conftest import SMALL
from tests.simulator.visitors import fans, fetch, posts, profile, world_of
from weibo_crawler.errors import BadConfig, BadUsage
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.proxies import Deed
from weibo_crawler.simulator.proxy_wire import read_head
from weibo_crawler.simulator.run import Running
from weibo_crawler.simulator.served import Line, read_served

LOGIN = "user:p@ss:word"
UID = world_of(SMALL).uid(0)


class Fleet:
    """A simulator with proxies, and what it wrote down."""

    def __init__(self, folder: Path, **knobs: Any) -> None:
        self.options: SimulatorOptions = replace(
            SMALL,
            **knobs,
            proxies_out=str(folder / "proxies.txt"),
            served_out=str(folder / "served.jsonl"),
            truth_out=str(folder / "truth.json"),
        )
        self.folder = folder
        self.running: Running = simulator(self.options)
        self.proxies = self.running.proxies

    def get(self, address: str, proxy: str | None = None) -> requests.Response:
        """One GET over a connection of its own; redirects are not followed."""
        url = self.running.base_url + address
        ways = {"http": (proxy or self.proxies[0]).replace("socks5:", "socks5h:")}
        return requests.get(url, proxies=ways, allow_redirects=False, timeout=10)

    def served(self) -> list[Line]:
        return read_served(self.folder / "served.jsonl")

    def connect(self, proxy: str | None = None) -> socket.socket:
        parts = urlsplit(proxy or self.proxies[0])
        return socket.create_connection((parts.hostname, parts.port), timeout=10)


@pytest.fixture
def fleet(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    """With the options of the test's parameter."""
    fleet = Fleet(tmp_path, **({"proxies": 1} | getattr(request, "param", {})))
    with fleet.running:
        yield fleet


def mixed(health: str, **knobs: Any) -> dict[str, Any]:
    return {"proxies": 1, "proxy_mix": f"{health}=1"} | knobs


@pytest.mark.parametrize("fleet", [{"proxies": 6, "proxy_socks": 0.5}], indirect=True)
def test_a_good_proxy_passes_everything_on(fleet: Fleet) -> None:
    """By HTTP and by SOCKS5 the same bytes come as without it; the site sees the proxy's own
    address; a POST passes too."""
    right = fetch(fleet.running.base_url, fans(UID))[1]
    for proxy in fleet.proxies:
        assert fleet.get(fans(UID), proxy).content == right
        ways = {"http": proxy}
        opened = requests.post(
            fleet.running.visitor_url, data={"cb": "x"}, proxies=ways, timeout=10
        )
        assert b"20000000" in opened.content
    seen = [(line.egress, line.proxy, line.by) for line in fleet.served()]
    hosts = [str(urlsplit(proxy).hostname) for proxy in fleet.proxies for _ in range(2)]
    assert seen == [("127.0.0.1", "", "site"), *((host, "good", "site") for host in hosts)]
    schemes = Counter(urlsplit(proxy).scheme for proxy in fleet.proxies)
    assert schemes == {"http": 3, "socks5": 3}


def test_the_file_and_the_truth(fleet: Fleet) -> None:
    """The file holds a line for each, the truth its health by the address that the site sees."""
    file = Path(str(fleet.running.proxies_file))
    assert file.read_text("utf-8").splitlines() == list(fleet.proxies)
    truth = json.loads((fleet.folder / "truth.json").read_bytes())
    assert truth["proxies"] == {"127.0.1.1": {"health": "good", "scheme": "http", "late_s": 0.0}}


def test_many_requests_over_one_tunnel(fleet: Fleet) -> None:
    """CONNECT, and then the connection is the site's."""
    parts, site = urlsplit(fleet.proxies[0]), urlsplit(fleet.running.base_url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    connection.set_tunnel(str(site.hostname), site.port)
    for number in (1, 2, 3):
        connection.request("GET", fans(UID, number))
        assert (
            connection.getresponse().read() == fetch(fleet.running.base_url, fans(UID, number))[1]
        )
    connection.close()


def test_a_kept_connection(fleet: Fleet) -> None:
    """Requests over one connection arrive in their order, each with a path."""
    host = urlsplit(fleet.running.base_url).netloc
    asked = [fans(UID, number) for number in range(1, 6)]
    with fleet.connect() as connection:
        for address in asked:
            head = f"GET http://{host}{address} HTTP/1.1\r\nHost: {host}\r\n\r\n"
            for half in (head[:70], head[70:]):  # a head may come in pieces
                connection.sendall(half.encode())
            reply = http.client.HTTPResponse(connection)
            reply.begin()
            assert reply.read() == fetch(fleet.running.base_url, address)[1]
    through = [line.request for line in fleet.served() if line.egress == "127.0.1.1"]
    assert through == asked


def test_the_site_sees_nothing_of_the_proxy() -> None:
    """The head goes on with a path in the place of the address, and without what is the proxy's."""
    lines = b"Host: x:1\r\nProxy-Authorization: Basic eDp5\r\nproxy-connection: close\r\nA: b"
    head = read_head(b"GET http://x:1/u/5?a=b HTTP/1.1\r\n" + lines + b"\r\n\r\n")
    assert head
    assert (head.authorization, head.length) == ("Basic eDp5", 0)
    address = head.address(["x:1"])
    assert address == "/u/5?a=b"
    assert head.for_site(address) == b"GET /u/5?a=b HTTP/1.1\r\nHost: x:1\r\nA: b\r\n\r\n"
    assert head.address(["y:1"]) is None


@pytest.mark.parametrize(
    "fleet", [{"proxies": 2, "proxy_socks": 0.5, "proxy_login": LOGIN}], indirect=True
)
def test_a_login(fleet: Fleet) -> None:
    """Who says user and password passes, by both schemes; who does not hears 407, or is turned
    away by SOCKS5."""
    for proxy in fleet.proxies:
        assert fleet.get(profile(UID), proxy).status_code == 200
        for wrong in (proxy.replace("user:", "else:"), proxy.replace("user:p%40ss%3Aword@", "")):
            if proxy.startswith("http:"):
                assert fleet.get(profile(UID), wrong).status_code == 407
            else:
                with pytest.raises(requests.ConnectionError):
                    fleet.get(profile(UID), wrong)
    assert len(fleet.served()) == 2


def test_they_lead_to_the_site_only(fleet: Fleet) -> None:
    """403, a tunnel refused, code 2 of SOCKS5: nothing leaves this machine."""
    ways = {"http": fleet.proxies[0]}
    elsewhere = "http://site.invalid/"
    assert requests.get(elsewhere, proxies=ways, timeout=10).status_code == 403
    with fleet.connect() as connection:
        connection.sendall(b"CONNECT site.invalid:443 HTTP/1.1\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 403 ")
    ways = {"http": fleet.proxies[0].replace("http:", "socks5h:")}
    with pytest.raises(requests.ConnectionError, match="not allowed"):
        requests.get(elsewhere, proxies=ways, timeout=10)
    assert fleet.served() == []


@pytest.mark.parametrize(
    "said",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_what_is_no_http(fleet: Fleet, said: bytes) -> None:
    """400, and the connection is closed."""
    with fleet.connect() as connection:
        connection.sendall(said)
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        assert (reply.status, reply.getheader("Connection")) == (400, "close")
        reply.read()
        assert connection.recv(1) == b""


def test_faults_pass_through(tmp_path: Path) -> None:
    """What breaks on the site's connection breaks on the client's."""
    for fault, error in (
        ("cut", http.client.IncompleteRead),
        ("garbage_status", http.client.BadStatusLine),
        ("early_close", http.client.RemoteDisconnected),
    ):
        fleet = Fleet(tmp_path, proxies=1, faults=f"{fault}:permanent=1")
        with fleet.running, pytest.raises(error):
            fetch(fleet.proxies[0], fleet.running.base_url + fans(UID))


@pytest.mark.parametrize("fleet", [mixed("dead")], indirect=True)
def test_a_dead_one_refuses(fleet: Fleet) -> None:
    """Its port stays its own."""
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            fleet.connect()


@pytest.mark.parametrize("fleet", [mixed("flapping", flap_s=0.3)], indirect=True)
def test_a_flapping_one_comes_and_goes(fleet: Fleet) -> None:
    """By turns it answers and refuses, on one port; the log says when; a connection that is open
    when it goes is dropped."""
    seen: list[str] = []
    deadline = time.monotonic() + 30
    while len(seen) < 5 and time.monotonic() < deadline:
        try:
            with fleet.connect() as connection:
                assert connection.recv(1) == b""
            state = "dropped"
        except ConnectionResetError:
            state = "dropped"
        except ConnectionRefusedError:
            state = "refused"
        if seen[-1:] != [state]:
            seen.append(state)
    assert len(seen) == 5
    told = [line.served for line in fleet.served() if line.by == "proxy"]
    turns = ["up", "down"] * len(told)
    assert told in (turns[: len(told)], turns[1 : len(told) + 1])


@pytest.mark.parametrize("fleet", [mixed("slow", slow_s=0.2)], indirect=True)
def test_a_slow_one_is_late(fleet: Fleet) -> None:
    """The right page comes, and the site is asked no sooner than after late_s."""
    truth = json.loads((fleet.folder / "truth.json").read_bytes())
    late_s = truth["proxies"]["127.0.1.1"]["late_s"]
    assert 0.1 <= late_s <= 0.3
    began = time.time()
    assert fleet.get(fans(UID)).json()["ok"] == 1
    assert fleet.served()[0].time >= began + late_s - 0.01


@pytest.mark.parametrize("fleet", [mixed("slow", slow_s=0.2)], indirect=True)
def test_a_client_that_goes_is_not_served(fleet: Fleet) -> None:
    """A slow proxy asks the site for nobody."""
    host = urlsplit(fleet.running.base_url).netloc
    with fleet.connect() as connection:
        connection.sendall(f"GET http://{host}{fans(UID)} HTTP/1.1\r\n\r\n".encode())
    assert fleet.get(posts(UID)).status_code == 200
    assert [line.request for line in fleet.served()] == [posts(UID)]


@pytest.mark.parametrize("fleet", [mixed("captive")], indirect=True)
def test_a_captive_one_redirects(fleet: Fleet) -> None:
    """To a portal at its own address, which answers with a page; the site is asked nothing."""
    answer = fleet.get(fans(UID))
    portal = f"{fleet.proxies[0]}/portal"
    assert (answer.status_code, answer.headers["Location"]) == (302, portal)
    page = requests.get(portal, proxies={"http": fleet.proxies[0]}, timeout=10)
    assert (page.status_code, "accept our terms" in page.text) == (200, True)
    with fleet.connect() as connection:
        connection.sendall(
            f"CONNECT {urlsplit(fleet.running.base_url).netloc} HTTP/1.1\r\n\r\n".encode()
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 302 ")
    assert {(line.by, line.served) for line in fleet.served()} == {("proxy", "portal")}


@pytest.mark.parametrize("fleet", [mixed("tired")], indirect=True)
def test_a_tired_one_answers_502_and_504(fleet: Fleet) -> None:
    """Most requests; the site sees the others; the log tells both, in order."""
    statuses = [fleet.get(fans(UID)).status_code for _ in range(40)]
    assert set(statuses) == {200, 502, 504}
    told = {"ok": 200, Deed.STATUS_502: 502, Deed.STATUS_504: 504}
    assert [told[line.served] for line in fleet.served()] == statuses


@pytest.mark.parametrize("fleet", [mixed("tired", proxy_socks=1.0)], indirect=True)
def test_a_tired_one_refuses_tunnels(fleet: Fleet) -> None:
    """By SOCKS5 in its words, so that a client sees the proxy's fault."""
    failures = 0
    for _ in range(30):
        try:
            fleet.get(fans(UID))
        except requests.ConnectionError as error:
            failures += "General SOCKS" in str(error) or "TTL expired" in str(error)
    assert 5 < failures < 30


@pytest.mark.parametrize("fleet", [mixed("lying")], indirect=True)
def test_a_lying_one(fleet: Fleet) -> None:
    """Some pages are right, some its own HTML, some of another user; the log tells which answer
    was which, and what the site was really asked for."""
    right = fetch(fleet.running.base_url, posts(UID))[1]
    neighbour = world_of(SMALL).uid(1)
    other = fetch(fleet.running.base_url, posts(neighbour))[1]
    told = {right: "forward", other: Deed.OTHER_USER}
    bodies = [fleet.get(posts(UID)).content for _ in range(40)]
    answers = [told.get(body, Deed.OWN_PAGE) for body in bodies]
    assert all(b"Free fast proxies" in body for body in bodies if body not in told)
    assert set(answers) == {"forward", Deed.OTHER_USER, Deed.OWN_PAGE}
    lines = [line for line in fleet.served() if line.egress == "127.0.1.1"]
    lies = Counter(line.served for line in lines if line.by == "proxy")
    assert lies == Counter(answer for answer in answers if answer != "forward")
    assert {line.request for line in lines if line.by == "proxy"} == {posts(UID)}
    asked = Counter(line.request for line in lines if line.by == "site")
    assert asked == {
        posts(UID): answers.count("forward"),
        posts(neighbour): answers.count(Deed.OTHER_USER),
    }


@pytest.mark.parametrize("fleet", [{"proxies": 2, "rate_limit": "1/1000"}], indirect=True)
def test_each_proxy_has_a_limit_of_its_own(fleet: Fleet) -> None:
    """What one used up another still has."""
    statuses = [fleet.get("/", proxy).status_code for proxy in fleet.proxies for _ in range(2)]
    assert statuses[0] == statuses[2] == 200
    assert [line.served == "ok" for line in fleet.served()] == [True, False] * 2


@pytest.mark.parametrize(
    "fleet", [{"proxies": 200, "proxy_mix": "dead=0.1,flapping=0.1"}], indirect=True
)
def test_two_hundred(fleet: Fleet) -> None:
    """All that are good answer at the first request."""
    truth = json.loads((fleet.folder / "truth.json").read_bytes())["proxies"]
    good = [p for p in fleet.proxies if truth[urlsplit(p).hostname]["health"] == "good"]
    assert len(good) == 160
    assert {fleet.get("/", proxy).status_code for proxy in good} == {200}


def test_they_end_with_the_simulator(tmp_path: Path) -> None:
    """stop() frees the ports of the proxies, also while a client is connected; a simulator with
    the same --proxy-port can be started at once."""
    fleet = Fleet(tmp_path, proxies=2, proxy_port=free_port("127.0.1.1"))
    with fleet.connect() as connection:
        fleet.running.stop()
        assert connection.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        fleet.connect()
    port = urlsplit(fleet.proxies[0]).port
    assert port
    again = Fleet(tmp_path, proxies=1, proxy_port=port)
    with again.running:
        assert again.proxies == fleet.proxies[:1]


def test_a_port_in_use() -> None:
    """BadConfig that names address, port and remedy."""
    with socket.create_server(("127.0.1.1", 0)) as free:  # other tests have proxies there
        port = free.getsockname()[1]
        taken = socket.create_server(("127.0.1.2", port))
    says = rf"127\.0\.1\.2: port {port} is in use.*--proxy-port"
    with taken, pytest.raises(BadConfig, match=says):
        simulator(replace(SMALL, proxies=3, proxy_port=port))


def test_proxies_need_ipv4() -> None:
    """A site on ::1 cannot be reached from 127.0.1.1."""
    with pytest.raises(BadUsage, match=r"--proxies.*127\.0\.0\.1"):
        replace(SMALL, proxies=1, host="::1")

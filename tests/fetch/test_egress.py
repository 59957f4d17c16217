from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.config import Egress as EgressSettings
from weibo_crawler.config import Fetch, load
from weibo_crawler.errors import BadConfig
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.fetch.opening import load_egresses


def _load(folder: Path, text: str, direct: bool | None = None) -> list[Egress]:
    file = folder / "proxies.txt"
    file.write_text(text, encoding="utf-8")
    return load_egresses(EgressSettings(proxies_file=str(file), direct=direct), Fetch())


def test_direct_alone() -> None:
    """Without a proxies file the direct connection is the one way out."""
    assert load_egresses(EgressSettings(), Fetch()) == [DIRECT]


@pytest.mark.parametrize(
    ("line", "name", "url"),
    [
        ("10.0.0.1:3128", "10.0.0.1:3128", "http://10.0.0.1:3128"),
        ("u:pw@10.0.0.1:3128", "10.0.0.1:3128", "http://u:pw@10.0.0.1:3128"),
        ("http://gate.example:80/", "gate.example:80", "http://gate.example:80"),
        (
            "https://u:p%40w@gate.example:443",
            "gate.example:443",
            "https://u:p%40w@gate.example:443",
        ),
        ("socks5://10.0.0.1:1080", "10.0.0.1:1080", "socks5h://10.0.0.1:1080"),
        ("HTTP://Gate.Example:80  # slow", "gate.example:80", "http://gate.example:80"),
        ("http://u:a#b@[::1]:80", "[::1]:80", "http://u:a%23b@[::1]:80"),
        ("http://[u:s/p@gate.example:80", "gate.example:80", "http://%5Bu:s%2Fp@gate.example:80"),
        ("[::1]:3128", "[::1]:3128", "http://[::1]:3128"),
    ],
)
def test_lines(tmp_path: Path, line: str, name: str, url: str) -> None:
    """Each form of address gives host:port as the name and keeps the account in the address."""
    [egress] = _load(tmp_path, f"# mine\n\n{line}\n")
    assert (egress.name, egress.proxy_url) == (name, url)


@pytest.mark.parametrize(
    "line",
    [
        "gate.example",
        "http://u:geheim@gate.example",
        "ftp://u:geheim@gate.example:21",
        "http://u:geheim@gate.example:99999",
        "gate.example:80:u:geheim",
        "http://u:geheim@gate.example:80/path",
        "http://u:geheim@gate.example:80?x=1",
        "http://u:geheim@ga te:80",
        "http://u:geheim@:80",
        "http://u:geheim@gate.example:0",
        "http://[u:geheim@gate.example]:80",
    ],
)
def test_bad_line(tmp_path: Path, line: str) -> None:
    """A bad line is named by file and number, without its text."""
    with pytest.raises(BadConfig, match=r"proxies\.txt:3: ") as caught:
        _load(tmp_path, f"10.0.0.1:80\n\n{line}\n")
    assert "heim" not in str(caught.value).partition("proxies.txt:3: ")[2]
    assert caught.value.__context__ is None


def test_same_address_twice(tmp_path: Path) -> None:
    """An address that stands twice is one egress; two accounts at one gateway are two."""
    found = _load(tmp_path, "http://a:1@g.example:80\nhttp://b:2@g.example:80\na:1@g.example:80\n")
    assert [egress.name for egress in found] == ["g.example:80", "g.example:80#2"]
    assert [egress.proxy_url for egress in found] == [
        "http://a:1@g.example:80",
        "http://b:2@g.example:80",
    ]


def test_bound_to_local_addresses() -> None:
    """Of egress.bind each address that this machine has is a direct egress, named by it among
    leases too; one that it has not is passed over, for one list serves many machines."""
    settings = EgressSettings(bind=("127.0.0.2", "192.0.2.1", "127.0.0.3"))
    egresses = load_egresses(settings, Fetch())
    assert [egress.name for egress in egresses] == ["direct@127.0.0.2", "direct@127.0.0.3"]
    assert [str(egress.local) for egress in egresses] == ["127.0.0.2", "127.0.0.3"]
    assert [e.lease_name("here") for e in egresses] == [e.name for e in egresses]
    assert DIRECT.lease_name("here") == "direct@here"


def test_bound_to_none_of_this_machine(tmp_path: Path) -> None:
    """Addresses of other machines alone are an error that says what to do; where only proxies are
    used nobody asks."""
    settings = EgressSettings(bind=("192.0.2.1",))
    with pytest.raises(
        BadConfig, match=r"egress\.bind: this machine has none of 192\.0\.2\.1: name"
    ):
        load_egresses(settings, Fetch())
    file = tmp_path / "proxies.txt"
    file.write_text("10.0.0.1:80")
    settings = EgressSettings(bind=("192.0.2.1",), proxies_file=str(file))
    assert [egress.name for egress in load_egresses(settings, Fetch())] == ["10.0.0.1:80"]


@pytest.mark.parametrize(
    ("bind", "named", "message"),
    [
        ("192.0.2.7,eth0", "", "'eth0' is no IP address of a machine"),
        ("0.0.0.0", "", "'0.0.0.0' is no IP address"),
        ("::1,0:0::1", "", "name each address once"),
        ("192.0.2.7", "office", "leave one of the two out"),
    ],
)
def test_addresses_that_cannot_be(bind: str, named: str, message: str) -> None:
    """What is no address, stands twice, or contradicts direct_name is told as such."""
    environ = {"WEIBO_EGRESS__BIND": bind, "WEIBO_CONFIG": "conf/crawler.toml"}
    if named:
        environ["WEIBO_EGRESS__DIRECT_NAME"] = named
    with pytest.raises(BadConfig, match=message):
        load(environ=environ)


def test_the_environment_of_a_node_wins(tmp_path: Path) -> None:
    """The settings travel to the nodes as a file, so a node's own variable names its addresses."""
    file = tmp_path / "settings.toml"
    file.write_text('[egress]\nbind = ["192.0.2.1"]\n')
    environ = {"WEIBO_CONFIG": str(file), "WEIBO_EGRESS__BIND": "127.0.0.4"}
    assert load(environ=environ).egress.bind == ("127.0.0.4",)


def test_direct_beside_proxies(tmp_path: Path) -> None:
    """With a file, the direct connection is used only where it is asked for."""
    assert _load(tmp_path, "10.0.0.1:80") != _load(tmp_path, "10.0.0.1:80", direct=True)
    assert _load(tmp_path, "10.0.0.1:80", direct=True)[0] == DIRECT


def test_no_proxy_at_all(tmp_path: Path) -> None:
    """A file without any address is an error, not a run without a way out."""
    with pytest.raises(BadConfig, match="names no proxy"):
        _load(tmp_path, "# nothing yet\n")


def test_unreadable(tmp_path: Path) -> None:
    """A missing file and one that is no text are named."""
    with pytest.raises(BadConfig, match="cannot read"):
        load_egresses(EgressSettings(proxies_file=str(tmp_path / "missing")), Fetch())
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadConfig, match="not UTF-8"):
        load_egresses(EgressSettings(proxies_file=str(tmp_path / "binary")), Fetch())


@given(password=st.text(min_size=8, max_size=20).filter(lambda p: quote(p, safe="") not in "10.0"))
def test_password_stays_in_the_address(
    tmp_path_factory: pytest.TempPathFactory, password: str
) -> None:
    """Whatever the password, neither name nor repr shows it, and the address keeps it."""
    secret = quote(password, safe="", errors="replace")
    folder = tmp_path_factory.mktemp("proxies")
    [egress] = _load(folder, f"http://user:{secret}@10.0.0.1:80")
    assert egress.proxy_url == f"http://user:{secret}@10.0.0.1:80"
    assert secret not in repr(egress) + egress.name

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.config import Egress as EgressSettings
from weibo_crawler.config import Fetch
from weibo_crawler.errors import BadConfig
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.fetch.pool.roster import load_egresses


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
        ("http://u:a#b@[::1]:80", None, None),
        ("[::1]:3128", "[::1]:3128", "http://[::1]:3128"),
    ],
)
def test_lines(tmp_path: Path, line: str, name: str | None, url: str | None) -> None:
    """Each form of address gives host:port as the name and keeps the account in the address."""
    if name is None:
        with pytest.raises(BadConfig):
            _load(tmp_path, line)
        return
    [egress] = _load(tmp_path, f"# mine\n\n{line}\n")
    assert (egress.name, egress.proxy_url) == (name, url)


@pytest.mark.parametrize(
    "line",
    [
        "gate.example",
        "http://u:geheim@gate.example",
        "ftp://u:geheim@gate.example:21",
        "http://u:ge/heim@gate.example:80",
        "http://u:geheim@gate.example:99999",
        "gate.example:80:u:geheim",
        "http://u:geheim@gate.example:80/path",
        "http://u:geheim@gate.example:80?x=1",
        "http://u:geheim@ga te:80",
        "http://u:geheim@:80",
        "http://u:geheim@gate.example:0",
        "http://[u:geheim@gate.example:80",
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

"""No error text holds a password, whatever was given for an address."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler import config
from weibo_crawler.config import Hadoop, Metrics
from weibo_crawler.errors import BadConfig, CrawlerError, StoreError, masked
from weibo_crawler.metrics import Counters, OpenMetrics
from weibo_crawler.posts.hdfs import jobs_folder
from weibo_crawler.store.hbase.address import parse_address as parse_hbase
from weibo_crawler.store.mysql.base import parse_address as parse_mysql
from weibo_crawler.store.sqlite.base import database_path

_SECRET = "geheim"
_ODD = st.text(st.sampled_from("a1:/?#@[]% '\"\\=&."), max_size=4)
_PASSWORDS = st.builds(lambda a, b: f"{a}{_SECRET}{b}", _ODD, _ODD)
_SCHEMES = st.sampled_from(
    ["postgres://", "mysql://", "mysql:/", "hbase://", "sqlite://", "http://", "ftp://", "", "//"]
)
_USERS = st.sampled_from(["me", "", "m/e", "me%40x", "me.x"])
_TAILS = st.sampled_from(
    ["h/db", "h:3306/db", "h", "h:80", "[::1]:80/x", "h:port", "h/db?ssl=1", "a:1,b:2/x"]
)
_ADDRESSES = st.builds(
    lambda scheme, user, password, tail: f"{scheme}{user}:{password}@{tail}",
    *(_SCHEMES, _USERS, _PASSWORDS, _TAILS),
)
_SETTINGS = (
    *("STORE__USERS", "STORE__TABLES", "STORE__PASSWORD_FILE", "SITE__BASE_URL"),
    *("SITE__VISITOR_URL", "EGRESS__PROXIES_FILE", "EGRESS__PROXIES_URL", "EGRESS__WHEN_EMPTY"),
    *("FETCH__TRANSPORT", "METRICS__LISTEN", "PACE__STOP_SHARE", "HARVEST__EDGES"),
)


def _error_of(call: Callable[[], object]) -> str:
    """The text of the error that it ends with, "" where it ends well."""
    try:
        call()
    except CrawlerError as error:
        return str(error)
    return ""


@given(st.sampled_from(_SETTINGS), _ADDRESSES)
def test_no_setting_that_is_refused_tells_its_password(setting: str, address: str) -> None:
    """An address with an account, in any setting: it is taken, or the error does not hold the
    password."""
    environ = {f"WEIBO_{setting}": address, "WEIBO_BASE_DIR": "/nowhere"}
    assert _SECRET not in _error_of(lambda: config.load(environ=environ))


@given(_ADDRESSES)
def test_no_store_tells_a_password(address: str) -> None:
    """The same of the stores' own readers of addresses, and of what listens."""
    for read in (parse_mysql, parse_hbase, database_path):
        assert _SECRET not in _error_of(partial(read, address))
    with pytest.raises(BadConfig) as failed, OpenMetrics(Metrics(listen=address), Counters(), "x"):
        pass
    assert _SECRET not in str(failed.value)


@given(_ADDRESSES)
def test_a_masked_address_holds_no_password(address: str) -> None:
    """`masked` hides it in any address, and masks a second time without a change."""
    assert _SECRET not in masked(address)
    assert masked(masked(address)) == masked(address)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgres://me:a/geheim@h/db", "postgres://***@h/db"),
        ("mysql://h/db?password=geheim", "mysql://h/db?***"),
        ("http://me:geheim", "http://me:***"),
        ("me:geheim@h:80", "me:***@h:80"),
        ("http://127.0.0.1:8800/x", "http://127.0.0.1:8800/x"),
        ("http://[::1]:8800", "http://[::1]:8800"),
        ("hbase://a:9090,b:9091/x", "hbase://a:9090,b:9091/x"),
        ("hbase://me:12,geheim", "hbase://me:***"),
        ("hbase://a:1,me:geheim", "hbase://a:***"),
        ("mysql://me@h:geheim/db", "mysql://***@h:***"),
        ("mysql://m@e:geheim/db", "mysql://***@e:***"),
        ("mysql://me:12\ngeheim", "mysql://me:***"),
        ("Server=h;Uid=me;Pwd='ge geheim';x=1", "Server=h;Uid=me;Pwd=***;x=1"),
        ("http://me:geheim@[::1]:80/x", "http://***@[::1]:80/x"),
        ("sqlite:///data/users.db", "sqlite:///data/users.db"),
        ("data/users.db", "data/users.db"),
    ],
)
def test_what_is_no_secret_is_shown(address: str, shown: str) -> None:
    """Scheme, host, port and path stay."""
    assert masked(address) == shown


@given(
    st.sampled_from(["http:/", "mysql:/", "socks5h:/", "hdfs:"]),  # a Path drops one of two slashes
    st.from_regex(r"""[a-z/?#:@'"]{0,5}geheim[a-z/?#:@'"]{0,5}""", fullmatch=True),
)
def test_an_error_masks_the_addresses_in_its_text(scheme: str, password: str) -> None:
    """Also where a foreign error named them."""
    error = StoreError(f"cannot reach {scheme}/me:{password}@h:80/x: refused; use mysql://u@h:1/d")
    assert _SECRET not in str(error)
    assert str(error).endswith("@h:80/x: refused; use mysql://u@h:1/d")


_FAULT = """
from weibo_crawler import config
from weibo_crawler.cli.main import main
def load(*_):
    raise LookupError("no proxy http://me:geheim@h:80")
config.load = load
raise SystemExit(main(["status", "--json"]))
"""


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["-m", "weibo_crawler", "status", "--json", "mysql://me:geheim@h/db"], 2),
        (["-c", _FAULT], 1),
    ],
)
def test_neither_a_slip_nor_a_fault_of_ours_tells_a_password(
    command: list[str], code: int, tmp_path: Path
) -> None:
    """An address with an account where none belongs, and one in the text of a foreign error that
    nobody expected: masked as in any error, for people and for machines."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "WEIBO_DEBUG": ""}
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == code
    for said in (done.stdout, done.stderr):
        assert _SECRET not in said
        assert "://***@h" in said


def test_a_folder_in_hdfs_tells_no_password() -> None:
    """Where its scheme was forgotten."""
    said = _error_of(lambda: jobs_folder(Hadoop(folder=f"me:{_SECRET}@nn/jobs")))
    assert "'me:***@nn/jobs' is no full address" in said

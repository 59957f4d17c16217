import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.fetch.pool.proxy_list import parse_listing

HTTP = "http://10.0.0.1:80"


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("10.0.0.1:80", HTTP),
        ("socks5://u:p%40w@gate.example:1080", "socks5h://u:p%40w@gate.example:1080"),
        ({"ip": "10.0.0.1", "port": 80}, HTTP),
        ({"IP": "10.0.0.1", "Port": "80", "country": "cn"}, HTTP),
        ({"host": "10.0.0.1", "port": 80, "protocol": "HTTPS"}, "https://10.0.0.1:80"),
        ({"ip": "10.0.0.1", "port": 80, "type": "socks5"}, "socks5h://10.0.0.1:80"),
        ({"ip": "10.0.0.1", "port": 80, "protocols": ["socks4", "http"]}, HTTP),
        (
            {"proxy_address": "g.example", "port": 80, "username": "u@x", "password": "p:/w"},
            "http://u%40x:p%3A%2Fw@g.example:80",
        ),
        ({"ip": "10.0.0.1", "port": 80, "user": "u", "pass": None}, "http://u:@10.0.0.1:80"),
        (
            {"ip": "g.example", "port": 80, "user": "u:x", "pass": "5%40"},
            "http://u%3Ax:5%2540@g.example:80",
        ),
        ({"ip": "g.example", "port": 80, "user": "u", "pass": "\ud800"}, None),
        ({"ip": "::1", "port": 80}, "http://[::1]:80"),
        ({"proxy": HTTP}, HTTP),
        ({"url": "https://u:p@g.example:443", "port": 443}, "https://u:p@g.example:443"),
        ({"address": "10.0.0.1:80"}, HTTP),
        ({"ip": "10.0.0.1", "port": 80, "protocol": "socks4"}, None),
        ({"ip": "10.0.0.1", "port": 0}, None),
        ({"ip": "10.0.0.1"}, None),
        ({"port": 80}, None),
        (7, None),
        (None, None),
    ],
)
def test_entries_of_json(entry: object, url: str | None) -> None:
    """Each usual form of an entry gives the address; all else is counted as bad."""
    listing = parse_listing(json.dumps([entry]))
    assert [address.url for address in listing.addresses] == ([] if url is None else [url])
    assert listing.bad == ([1] if url is None else [])
    assert listing.unit == "entry"


@pytest.mark.parametrize(
    "wrapped",
    [[HTTP], {"data": [HTTP]}, {"code": 0, "none": [], "data": {"proxies": [HTTP], "n": 1}}],
)
def test_where_the_list_is(wrapped: object) -> None:
    """The list is the JSON itself, or the first in it that is not empty."""
    assert [address.url for address in parse_listing(json.dumps(wrapped)).addresses] == [HTTP]


def test_no_list_in_the_json() -> None:
    """An object that holds none is an empty list."""
    listing = parse_listing('{"error": "no credit"}')
    assert (listing.addresses, listing.bad) == ([], [])


def test_lines() -> None:
    """Blank lines and comments count as lines; an address in brackets is no JSON."""
    listing = parse_listing("# mine\n\n[::1]:80\nnonsense\n10.0.0.1:80 # slow\n")
    assert [address.place for address in listing.addresses] == ["[::1]:80", "10.0.0.1:80"]
    assert (listing.bad, listing.unit) == ([4], "line")


@pytest.mark.parametrize(
    ("account", "sent"),
    [
        ("u:p%40w", "u:p%40w"),
        ("u:p@w", "u:p%40w"),
        ("u:p\\w", "u:p%5Cw"),
        ("u:p#/?w x", "u:p%23%2F%3Fw%20x"),
        ("u:100%", "u:100%25"),
        ("u:\u5bc6", "u:%E5%AF%86"),
        ("u", "u:"),
        ("u:p%FF", None),
    ],
)
def test_accounts(account: str, sent: str | None) -> None:
    """Whatever stands before the last @ is the account, which every client is given in the same
    form; one whose bytes are no text, which none can send, makes no address."""
    listing = parse_listing(f"http://{account}@g.example:80")
    urls = [] if sent is None else [f"http://{sent}@g.example:80"]
    assert [address.url for address in listing.addresses] == urls
    assert listing.bad == ([1] if sent is None else [])


@pytest.mark.parametrize(
    "entry",
    [
        *("a..b:80", ".:80", f"{'x' * 64}.example:80", "[1::2::3]:80", "10.0.0.1:65536"),
        *("socks5://u@g.example:80", f"socks5://u:{'x' * 256}@g.example:80"),
    ],
)
def test_addresses_that_no_client_can_use(entry: str) -> None:
    """They are told where they stand, and are no egress whose requests fail."""
    assert parse_listing(f"{HTTP}\n{entry}")[:2] == ([(HTTP, "10.0.0.1:80")], [2])


_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["ip", "port", "protocols", "data", "url"]), inner)
    ),
    max_leaves=12,
)


@given(text=st.text() | _JSON.map(json.dumps) | st.just("[" * 100_000))
def test_any_text_gives_a_listing(text: str) -> None:
    """Whatever an address answers: addresses with a host and a port, and no exception."""
    for address in parse_listing(text).addresses:
        assert address.place.rpartition(":")[2].isdigit()
        assert address.url.endswith(address.place)

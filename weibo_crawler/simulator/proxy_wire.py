"""The bytes of a proxy: request heads in, heads for the site and the proxy's own answers out."""

import asyncio
from base64 import b64encode
from collections.abc import Sequence
from typing import NamedTuple

from weibo_crawler.simulator.proxies import Deed

_HOP_BY_HOP = (b"proxy-authorization", b"proxy-connection")
_PAGE = "<!DOCTYPE html><html><head><title>{0}</title></head><body><h1>{0}</h1></body></html>"
_SOCKS, _BY_PASSWORD, _NOTHING_FITS = 5, 2, 255
_SOCKS_REASONS = {Deed.STATUS_502: 1, Deed.STATUS_504: 6}  # general failure, TTL expired
_ADDRESS_BYTES = {1: 4, 4: 16}  # by SOCKS address type; 3 is a name with its length


class Head(NamedTuple):
    """A request's head. target: absolute, as a path, or host:port of CONNECT. lines: the headers
    that go on to the site. length: of the body that follows. authorization: for the proxy."""

    method: str
    target: str
    lines: Sequence[bytes]
    length: int
    authorization: str

    def address(self, authorities: Sequence[str]) -> str | None:
        """Path and query for the site; None where the target lies elsewhere."""
        if self.target.startswith("/"):
            return self.target
        scheme, _, rest = self.target.partition("://")
        authority, slash, path = rest.partition("/")
        is_here = scheme == "http" and authority in authorities
        return slash + path or "/" if is_here else None

    def for_site(self, address: str) -> bytes:
        """The head as the site gets it."""
        first = f"{self.method} {address} HTTP/1.1".encode("latin-1")
        return b"\r\n".join((first, *self.lines, b"", b""))


def read_head(raw: bytes) -> Head | None:
    """A head with its empty line; None where it is none, or its body has no length."""
    first, *lines = raw[:-4].split(b"\r\n")
    words = first.decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    kept, length, authorization = [], 0, ""
    for line in lines:
        name, _, value = line.partition(b":")
        name = name.lower()
        if name == b"proxy-authorization":
            authorization = value.strip().decode("latin-1")
        if name == b"transfer-encoding" or (
            name == b"content-length" and not value.strip().isdigit()
        ):
            return None
        if name == b"content-length":
            length = int(value)
        if name not in _HOP_BY_HOP:
            kept.append(line)
    return Head(words[0], words[1], kept, length, authorization)


def basic(login: str) -> str:
    """The Proxy-Authorization of `user:password`."""
    return "Basic " + b64encode(login.encode()).decode()


def answer(status: str, title: str, *headers: str) -> bytes:
    """A page of the proxy's own. status: `502 Bad Gateway`."""
    body = _PAGE.format(title).encode()
    lines = (
        f"HTTP/1.1 {status}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        *headers,
    )
    return "\r\n".join((*lines, "", "")).encode() + body


CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
NOT_HTTP = answer("400 Bad Request", "not understood", "Connection: close")
ELSEWHERE = answer("403 Forbidden", "this proxy leads to the simulated site only")
NO_SITE = answer("502 Bad Gateway", "the site does not answer")
WHO_ARE_YOU = answer(
    "407 Proxy Authentication Required", "who are you?", 'Proxy-Authenticate: Basic realm="proxy"'
)
PORTAL = answer("200 OK", "Welcome! Please accept our terms to use this network")


def own_answer(deed: Deed, portal: str) -> bytes:
    """What a proxy says where it does not forward. portal: the address captives lead to."""
    if deed is Deed.PORTAL:
        return answer("302 Found", "302 Found", f"Location: {portal}")
    if deed is Deed.STATUS_502:
        return answer("502 Bad Gateway", "502 Bad Gateway")
    if deed is Deed.STATUS_504:
        return answer("504 Gateway Time-out", "504 Gateway Time-out")
    return answer("200 OK", "Free fast proxies! Buy now")


async def socks_target(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, login: str
) -> str | None:
    """`host:port` that a client of SOCKS5 wants (RFC 1928, 1929), after the version byte; None
    where it is turned away: a wrong login, or more asked than a connection."""
    methods = await reader.readexactly((await reader.readexactly(1))[0])
    wanted = _BY_PASSWORD if login else 0
    if wanted not in methods:
        writer.write(bytes((_SOCKS, _NOTHING_FITS)))
        return None
    writer.write(bytes((_SOCKS, wanted)))
    if login and not await _logs_in(reader, writer, login):
        return None
    _, command, _, kind = await reader.readexactly(4)
    size = _ADDRESS_BYTES.get(kind) or (await reader.readexactly(1))[0]
    host = await reader.readexactly(size)
    port = int.from_bytes(await reader.readexactly(2), "big")
    if command != 1:
        writer.write(_socks_reply(7))
        return None
    name = ".".join(map(str, host)) if kind == 1 else host.decode("latin-1")
    return f"{name}:{port}"


async def _logs_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, login: str) -> bool:
    words = []
    await reader.readexactly(1)  # the version
    for _ in range(2):
        words.append(await reader.readexactly((await reader.readexactly(1))[0]))
    agrees = b":".join(words) == login.encode()
    writer.write(bytes((1, 0 if agrees else 1)))
    return agrees


def _socks_reply(code: int) -> bytes:
    return bytes((_SOCKS, code, 0, 1, 0, 0, 0, 0, 0, 0))


def opened(deed: Deed, portal: str, *, socks: bool) -> tuple[bytes, bool]:
    """What a client hears that asks for a tunnel, and whether it has one."""
    if socks:
        code = _SOCKS_REASONS.get(deed, 0)
        return _socks_reply(code), code == 0
    if deed in (Deed.PORTAL, *_SOCKS_REASONS):
        return own_answer(deed, portal), False
    return CONNECTED, True


def elsewhere(*, socks: bool) -> bytes:
    """What a client hears that wants a tunnel to another place: 2 is "not allowed by the rules"."""
    return _socks_reply(2) if socks else ELSEWHERE

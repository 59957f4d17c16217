import asyncio
import logging
import socket
import traceback
from collections.abc import Awaitable, Callable

import pytest

from tests.fetch.conftest import Tls
from tests.fetch.servers import (
    ACCOUNT,
    PROXY_HOST,
    Handler,
    Reader,
    Writer,
    forward_proxy,
    head,
    http,
    keeps_saying,
    says,
    serve,
    socks_proxy,
    stalls,
)
from weibo_crawler.config import Fetch
from weibo_crawler.errors import BodyCut, EgressFailed, TransportError
from weibo_crawler.fetch import requests_transport
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.requests_transport import RequestsTransport
from weibo_crawler.records import Kind, Page, Request

SETTINGS = Fetch(connect_timeout_s=0.5, read_timeout_s=0.6, concurrency=4)
BODY = b'{"ok": 1}'


def _by(
    proxy: Handler,
    site: Handler,
    *,
    scheme: str = "http",
    account: str = ACCOUNT,
    tls: Tls | None = None,
    host: str = "localhost",
) -> Page:
    """One request through a proxy; with `tls` to a site that has it."""

    async def scenario() -> Page:
        async with (
            serve(proxy, PROXY_HOST) as proxy_port,
            serve(site, tls=tls.server if tls else None) as port,
        ):
            name = f"{PROXY_HOST}:{proxy_port}"
            egress = Egress(name, f"{scheme}://{account}@{name}")
            transport = RequestsTransport(SETTINGS, tls=tls.client if tls else None)
            url = f"{'https' if tls else 'http'}://{host}:{port}/page"
            try:
                page = await transport.send(Request(Kind.PROFILE, url), (), egress)
            finally:
                await transport.close()
            assert page.egress == name
            return page

    return asyncio.run(scenario())


@pytest.mark.parametrize(("proxy", "scheme"), [(forward_proxy, "http"), (socks_proxy, "socks5h")])
@pytest.mark.parametrize("has_tls", [False, True])
def test_pages_through_proxies(proxy: Handler, scheme: str, has_tls: bool, tls: Tls) -> None:
    """Plain http, CONNECT and SOCKS5 carry a page, with user and password."""
    page = _by(proxy, says(http(BODY)), scheme=scheme, tls=tls if has_tls else None)
    assert (page.status, page.body) == (200, BODY)


def test_the_site_sees_no_credentials() -> None:
    """User and password go to the proxy and no further."""
    seen: list[bytes] = []

    async def site(reader: Reader, writer: Writer) -> None:
        seen.append(await head(reader))
        writer.write(http(BODY))

    _by(forward_proxy, site)
    assert b"Proxy" not in seen[0]


async def _garbage(reader: Reader, writer: Writer) -> None:
    await head(reader)
    writer.write(b"user:geheim is unknown here\r\n")


async def _closes(reader: Reader, writer: Writer) -> None:
    await reader.read(1)


async def _stalls_after_hello(reader: Reader, writer: Writer) -> None:
    await reader.readexactly(3)
    writer.write(b"\x05\x02")
    await stalls(reader, writer)


REFUSES = says(http(b"", status="407 user:geheim is wrong"))
FAULTS = [
    # proxy, scheme, account, with TLS to the site
    (forward_proxy, "http", "user:geheim2", False, r"user or password \(407\)"),
    (forward_proxy, "http", "user:geheim2", True, "CONNECT with 407"),
    (REFUSES, "http", ACCOUNT, True, "CONNECT with 407"),
    (says(http(b"", status="502 Bad Gateway")), "http", ACCOUNT, True, "CONNECT with 502"),
    (_garbage, "http", ACCOUNT, True, "no connection"),
    (says(b""), "http", ACCOUNT, True, "no connection"),
    (stalls, "http", ACCOUNT, True, "took too long"),
    (socks_proxy, "socks5h", "user:geheim2", False, "no connection"),
    (_closes, "socks5h", ACCOUNT, False, "no connection"),
    (_stalls_after_hello, "socks5h", ACCOUNT, False, "took too long"),
]


@pytest.mark.parametrize(("proxy", "scheme", "account", "has_tls", "message"), FAULTS)
def test_faults_of_proxies(
    proxy: Handler,
    scheme: str,
    account: str,
    has_tls: bool,
    message: str,
    tls: Tls,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A proxy's fault is told from the site's; neither error nor traceback nor any log holds its
    password."""
    caplog.set_level(logging.DEBUG)
    with pytest.raises(EgressFailed, match=message) as caught:
        _by(proxy, says(http(BODY)), scheme=scheme, account=account, tls=tls if has_tls else None)
    assert caught.value.blame == "egress"
    assert str(caught.value).startswith(PROXY_HOST)
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert "geheim" not in told


def test_proxy_refuses_the_connection() -> None:
    """A proxy where nobody listens is the egress's fault."""
    with socket.socket() as taken:
        taken.bind((PROXY_HOST, 0))
        name = f"{PROXY_HOST}:{taken.getsockname()[1]}"
        for scheme in ("http", "https", "socks5h"):
            egress = Egress(name, f"{scheme}://{ACCOUNT}@{name}")

            async def scenario(egress: Egress = egress) -> None:
                transport = RequestsTransport(SETTINGS)
                try:
                    await transport.send(Request(Kind.PROFILE, "http://127.0.0.1:9/"), (), egress)
                finally:
                    await transport.close()

            with pytest.raises(EgressFailed, match="no connection"):
                asyncio.run(scenario())


def test_a_wrong_certificate_behind_a_proxy(tls: Tls) -> None:
    """A certificate that does not fit, behind a proxy, may be the proxy's: another egress."""
    with pytest.raises(EgressFailed, match="TLS certificate is not valid"):
        _by(forward_proxy, says(http(BODY)), tls=tls, host="127.0.0.1")


@pytest.mark.parametrize("has_tls", [False, True])
def test_the_site_fails_behind_a_proxy(has_tls: bool, tls: Tls) -> None:
    """Once the connection stands, a short body is the site's fault."""
    cut = says(http(BODY, length=len(BODY) + 1))
    with pytest.raises(BodyCut) as caught:
        _by(forward_proxy, cut, tls=tls if has_tls else None)
    assert caught.value.blame == "site"


def test_many_egresses_at_once() -> None:
    """Requests by several proxies at the same time each go their own way."""
    seen: list[str] = []

    def told(n: int) -> Callable[[Reader, Writer], Awaitable[None]]:
        async def proxy(reader: Reader, writer: Writer) -> None:
            seen.append(f"{n}")
            await forward_proxy(reader, writer)

        return proxy

    async def scenario() -> list[Page]:
        async with (
            serve(told(0), PROXY_HOST) as first,
            serve(told(1), PROXY_HOST) as second,
            serve(keeps_saying(http(BODY))) as port,
        ):
            names = [f"{PROXY_HOST}:{first}", f"{PROXY_HOST}:{second}"] * 5
            transport = RequestsTransport(SETTINGS)
            request = Request(Kind.PROFILE, f"http://localhost:{port}/")
            calls = [
                transport.send(request, (), Egress(name, f"http://{ACCOUNT}@{name}"))
                for name in names
            ]
            pages = await asyncio.gather(*calls)
            await transport.close()
            assert [page.egress for page in pages] == names
            return list(pages)

    assert {page.body for page in asyncio.run(scenario())} == {BODY}
    assert set(seen) == {"0", "1"}


def test_connections_of_few_egresses_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where proxies are many, the connections of the one used longest ago are closed."""
    monkeypatch.setattr(requests_transport, "_OPEN_EGRESSES", 0)

    async def scenario() -> None:
        closed = [asyncio.Event(), asyncio.Event()]

        def told(n: int) -> Handler:
            async def proxy(reader: Reader, writer: Writer) -> None:
                await head(reader)
                writer.write(http(BODY))
                await stalls(reader, writer)
                closed[n].set()

            return proxy

        async with serve(told(0), PROXY_HOST) as first, serve(told(1), PROXY_HOST) as second:
            transport = RequestsTransport(Fetch(concurrency=1))
            for port in (first, second):
                name = f"{PROXY_HOST}:{port}"
                request = Request(Kind.PROFILE, "http://127.0.0.1:9/")
                await transport.send(request, (), Egress(name, f"http://{name}"))
            await asyncio.wait_for(closed[0].wait(), 30)
            assert not closed[1].is_set()
            await transport.close()
            await asyncio.wait_for(closed[1].wait(), 30)

    asyncio.run(scenario())


def test_errors_are_one_line() -> None:
    """Every error of the tree is one line, for it ends in reports."""
    with pytest.raises(TransportError) as caught:
        _by(_garbage, says(http(BODY)))
    assert "\n" not in str(caught.value)

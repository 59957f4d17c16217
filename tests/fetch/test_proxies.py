"""Proxies, by every transport: a proxy's fault is told from the site's."""

import asyncio
import base64
import logging
import socket
import traceback
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from tests.fetch.conftest import Make, Tls
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
from weibo_crawler.errors import BodyCut, EgressFailed, TimedOut, TransportError
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.records import Kind, Page, Request

SETTINGS = Fetch(connect_timeout_s=30.0, read_timeout_s=30.0, concurrency=4)
HASTY = replace(SETTINGS, connect_timeout_s=0.5)  # for a proxy that never answers
IMPATIENT = replace(
    SETTINGS, connect_timeout_s=3.0, read_timeout_s=0.6
)  # for a site that never answers
BODY = b'{"ok": 1}'


def _by(
    make: Make,
    proxy: Handler,
    site: Handler,
    *,
    scheme: str = "http",
    account: str = ACCOUNT,
    tls: Tls | None = None,
    host: str = "localhost",
    settings: Fetch = SETTINGS,
) -> Page:
    """One request through a proxy; with `tls` to a site that has it."""

    async def scenario() -> Page:
        async with (
            serve(proxy, PROXY_HOST) as proxy_port,
            serve(site, tls=tls.server if tls else None) as port,
        ):
            name = f"{PROXY_HOST}:{proxy_port}"
            egress = Egress(name, f"{scheme}://{account}@{name}")
            transport = make(settings, tls=tls.client if tls else None)
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
def test_pages_through_proxies(
    make: Make, proxy: Handler, scheme: str, has_tls: bool, tls: Tls
) -> None:
    """Plain http, CONNECT and SOCKS5 carry a page, with user and password."""
    page = _by(make, proxy, says(http(BODY)), scheme=scheme, tls=tls if has_tls else None)
    assert (page.status, page.body) == (200, BODY)


def test_the_site_sees_no_credentials(make: Make) -> None:
    """User and password go to the proxy and no further."""
    seen: list[bytes] = []

    async def site(reader: Reader, writer: Writer) -> None:
        seen.append(await head(reader))
        writer.write(http(BODY))

    _by(make, forward_proxy, site)
    assert b"proxy" not in seen[0].lower()


@pytest.mark.parametrize("has_tls", [False, True])
def test_proxies_that_speak_tls(make: Make, has_tls: bool, tls: Tls) -> None:
    """The way to a proxy may be TLS itself; its certificate is verified."""

    async def scenario(host: str) -> Page:
        async with (
            serve(forward_proxy, "127.0.0.1", tls=tls.server) as proxy_port,
            serve(says(http(BODY)), tls=tls.server if has_tls else None) as port,
        ):
            egress = Egress(host, f"https://{ACCOUNT}@{host}:{proxy_port}")
            transport = make(SETTINGS, tls=tls.client)
            try:
                url = f"{'https' if has_tls else 'http'}://localhost:{port}/"
                return await transport.send(Request(Kind.PROFILE, url), (), egress)
            finally:
                await transport.close()

    assert asyncio.run(scenario("localhost")).body == BODY
    with pytest.raises(EgressFailed, match="TLS certificate is not valid"):
        asyncio.run(scenario("127.0.0.1"))


def test_the_deadline_behind_a_proxy_that_speaks_tls(make: Make, tls: Tls) -> None:
    """An exchange that drips through TLS within TLS is ended too, and makes room for the next."""

    async def site(reader: Reader, writer: Writer) -> None:
        if b"/drips" in await head(reader):
            writer.write(http(b"", length=9999))
            while True:
                writer.write(b"a")
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.write(http(BODY))

    async def scenario() -> None:
        async with (
            serve(forward_proxy, "127.0.0.1", tls=tls.server) as proxy_port,
            serve(site, tls=tls.server) as port,
        ):
            egress = Egress("proxy", f"https://{ACCOUNT}@localhost:{proxy_port}")
            settings = Fetch(connect_timeout_s=3.0, read_timeout_s=0.7, concurrency=1)
            transport = make(settings, tls=tls.client)
            url = f"https://localhost:{port}"
            with pytest.raises(TimedOut, match="no whole answer"):
                await transport.send(Request(Kind.PROFILE, f"{url}/drips"), (), egress)
            page = await transport.send(Request(Kind.PROFILE, f"{url}/"), (), egress)
            assert page.body == BODY
            await transport.close()

    asyncio.run(scenario())


def test_accounts_at_one_gateway(make: Make) -> None:
    """Each account goes by connections of its own; special characters are percent-decoded, and
    letters go as UTF-8, by each transport."""
    accounts = ("one:p%40ss%3A%2F", "two:%E5%AF%86%C3%A9")
    seen: list[tuple[int, bytes]] = []

    async def gateway(reader: Reader, writer: Writer) -> None:
        port = writer.get_extra_info("peername")[1]
        while True:
            lines = (await head(reader)).split(b"\r\n")
            account = next(line for line in lines if line.startswith(b"Proxy-Authorization: "))
            seen.append((port, base64.b64decode(account.rpartition(b" ")[2])))
            writer.write(http(BODY))

    async def scenario() -> None:
        async with serve(gateway, PROXY_HOST) as proxy_port:
            name = f"{PROXY_HOST}:{proxy_port}"
            transport = make(SETTINGS)
            request = Request(Kind.PROFILE, "http://127.0.0.1:9/")
            for account in accounts * 2:
                egress = Egress(account[:3], f"http://{account}@{name}")
                assert (await transport.send(request, (), egress)).body == BODY
            await transport.close()

    asyncio.run(scenario())
    assert [account for _, account in seen] == [b"one:p@ss:/", "two:密é".encode()] * 2
    assert len(set(seen)) == len({port for port, _ in seen}) == 2


async def _garbage(reader: Reader, writer: Writer) -> None:
    await head(reader)
    writer.write(b"user:geheim is unknown here\r\n")


async def _closes(reader: Reader, writer: Writer) -> None:
    await reader.read(1)


async def _stalls_after_hello(reader: Reader, writer: Writer) -> None:
    await reader.readexactly(3)
    writer.write(b"\x05\x02")
    await stalls(reader, writer)


async def _cannot_reach(reader: Reader, writer: Writer) -> None:
    """A SOCKS proxy without password whose answer to any wish is: host unreachable."""
    await reader.readexactly(3)
    writer.write(b"\x05\x00")
    await reader.readexactly(5)
    writer.write(b"\x05\x04\x00\x01" + bytes(6))


REFUSES = says(http(b"", status="407 user:geheim is wrong"))
FAULTS = [
    # proxy, scheme, account, with TLS to the site
    (forward_proxy, "http", "user:geheim2", False, r"user or password \(407\)"),
    (forward_proxy, "http", "user:geheim2", True, "CONNECT with 407"),
    (REFUSES, "http", ACCOUNT, True, "CONNECT with 407"),
    (says(http(b"", status="502 Bad Gateway")), "http", ACCOUNT, True, "CONNECT"),
    (_garbage, "http", ACCOUNT, True, "no connection"),
    (says(b""), "http", ACCOUNT, True, "no connection"),
    (stalls, "http", ACCOUNT, True, "took too long"),
    (socks_proxy, "socks5h", "user:geheim2", False, "no connection"),
    (_closes, "socks5h", ACCOUNT, False, "no connection"),
    (_cannot_reach, "socks5h", ACCOUNT, False, "no connection"),
    (_stalls_after_hello, "socks5h", ACCOUNT, False, "took too long"),
]


@pytest.mark.parametrize(("proxy", "scheme", "account", "has_tls", "message"), FAULTS)
def test_faults_of_proxies(
    make: Make,
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
        _by(
            make,
            proxy,
            says(http(BODY)),
            scheme=scheme,
            account=account,
            tls=tls if has_tls else None,
            settings=HASTY if message == "took too long" else SETTINGS,
        )
    assert caught.value.blame == "egress"
    assert str(caught.value).startswith(PROXY_HOST)
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert "geheim" not in told


def test_proxy_refuses_the_connection(make: Make) -> None:
    """A proxy where nobody listens is the egress's fault."""
    with socket.socket() as taken:
        taken.bind((PROXY_HOST, 0))
        name = f"{PROXY_HOST}:{taken.getsockname()[1]}"
        for scheme in ("http", "https", "socks5h"):
            egress = Egress(name, f"{scheme}://{ACCOUNT}@{name}")

            async def scenario(egress: Egress = egress) -> None:
                transport = make(SETTINGS)
                try:
                    await transport.send(Request(Kind.PROFILE, "http://127.0.0.1:9/"), (), egress)
                finally:
                    await transport.close()

            with pytest.raises(EgressFailed, match="no connection"):
                asyncio.run(scenario())


def test_a_wrong_certificate_behind_a_proxy(make: Make, tls: Tls) -> None:
    """A certificate that does not fit, behind a proxy, may be the proxy's: another egress."""
    with pytest.raises(EgressFailed, match="TLS certificate is not valid"):
        _by(make, forward_proxy, says(http(BODY)), tls=tls, host="127.0.0.1")


@pytest.mark.parametrize("has_tls", [False, True])
def test_the_site_fails_behind_a_proxy(make: Make, has_tls: bool, tls: Tls) -> None:
    """Once the connection stands, a short body or a stalled answer is the site's fault."""
    cut = says(http(BODY, length=len(BODY) + 1))
    for site, error in ((cut, BodyCut), (says(b""), BodyCut), (stalls, TimedOut)):
        settings = IMPATIENT if error is TimedOut else SETTINGS
        with pytest.raises(error) as caught:
            _by(make, forward_proxy, site, tls=tls if has_tls else None, settings=settings)
        assert caught.value.blame == "site"


def test_a_bad_gateway_is_a_page(make: Make) -> None:
    """A proxy's own 502 to a plain request looks like the site's: its reader has to judge."""
    page = _by(make, says(http(b"no way", status="502 Bad Gateway")), says(b""))
    assert (page.status, page.body) == (502, b"no way")


def test_many_egresses_at_once(make: Make) -> None:
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
            transport = make(SETTINGS)
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


def test_connections_of_few_egresses_are_kept(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where proxies are many, the connections of the one used longest ago are closed."""
    monkeypatch.setattr(f"weibo_crawler.fetch.clients.{make.name}_transport._OPEN_EGRESSES", 0)

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
            transport = make(Fetch(concurrency=1))
            for port in (first, second):
                name = f"{PROXY_HOST}:{port}"
                request = Request(Kind.PROFILE, "http://127.0.0.1:9/")
                await transport.send(request, (), Egress(name, f"http://{name}"))
            await asyncio.wait_for(closed[0].wait(), 30)
            assert not closed[1].is_set()
            await transport.close()
            await asyncio.wait_for(closed[1].wait(), 30)

    asyncio.run(scenario())


def test_errors_are_one_line(make: Make) -> None:
    """Every error of the tree is one line, for it ends in reports."""
    with pytest.raises(TransportError) as caught:
        _by(make, _garbage, says(http(BODY)))
    assert "\n" not in str(caught.value)

"""The simulator on the network: the site, and its proxies if there are any."""

import errno
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web

from weibo_crawler.errors import BadConfig
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.proxies import Proxy
from weibo_crawler.simulator.proxy_client import Upstream
from weibo_crawler.simulator.proxy_server import Fleet
from weibo_crawler.simulator.routes import VISITOR
from weibo_crawler.simulator.site import Site
from weibo_crawler.simulator.truth import write_whole

_LAST_WORDS_S = 0.2  # for answers under way when the simulator is told to stop


class Address(msgspec.Struct, frozen=True):
    """Where the simulator listens: what site.base_url and site.visitor_url are to be set to, and
    the lines of a proxies file."""

    base_url: str
    visitor_url: str
    proxies: tuple[str, ...] = ()


@asynccontextmanager
async def listening(
    site: Site, proxies: Sequence[Proxy], options: SimulatorOptions
) -> AsyncIterator[Address]:
    """The site and its proxies, until the end of the block; the proxies file is written.

    BadConfig if a port is in use or the file cannot be written.
    """
    # handler_cancellation: a client that goes away frees the answer that stalls for it.
    server = web.Server(site.handle, access_log=None, handler_cancellation=True)
    runner = web.ServerRunner(server, shutdown_timeout=_LAST_WORDS_S)
    await runner.setup()
    fleet = None
    try:
        host, port = await _listen(runner, options)
        upstream = Upstream(
            host, port, options.seed, options.proxy_login, site.other_user, site.note
        )
        fleet = Fleet(proxies, upstream, options.proxy_port)
        lines = await fleet.open()
        if options.proxies_out is not None:
            text = "".join(f"{line}\n" for line in lines)
            write_whole(Path(options.proxies_out), text.encode(), "--proxies-out")
        name = f"[{host}]" if ":" in host else host
        base_url = f"http://{name}:{port}"
        yield Address(base_url, base_url + VISITOR, lines)
    finally:
        if fleet is not None:
            await fleet.close()
        await runner.cleanup()


async def _listen(runner: web.ServerRunner, options: SimulatorOptions) -> tuple[str, int]:
    host, port = options.host, options.port
    try:
        await web.TCPSite(runner, host, port, backlog=1024).start()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise BadConfig(
                f"port {port} of {host} is in use: choose another with --port, "
                "or 0 for any free one"
            ) from None
        raise BadConfig(
            f"cannot listen on {host}, port {port}: {error.strerror}; choose another with --port"
        ) from None
    bound = runner.addresses[0]
    return bound[0], bound[1]

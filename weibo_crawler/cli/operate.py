"""init, proxies, doctor, simulate, forget."""

import argparse
import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from weibo_crawler import config
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.show import program
from weibo_crawler.config import DEFAULT_FILE, Settings
from weibo_crawler.errors import BadConfig, CrawlerError, TransportError
from weibo_crawler.home import Home
from weibo_crawler.resources import resource

if TYPE_CHECKING:
    from weibo_crawler.simulator.run import Address


def init(options: argparse.Namespace) -> Done:
    """Create the stores that the settings name; write the settings file where there is none."""
    lines = []
    path = config.resolve(str(options.config or DEFAULT_FILE))
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(resource("conf/crawler.toml").read_text("utf-8"), encoding="utf-8")
        except OSError as error:
            raise BadConfig(f"{path}: cannot write the settings: {error.strerror}") from None
        lines.append(f"settings written to {options.config or DEFAULT_FILE}, with the defaults")
    settings = config.load(options.config)
    with Home(settings) as home:
        lines.append(f"users:  {settings.store.users}, {sum(home.users.states().values()):,} users")
        created = home.tables.create()
        lines += created or [f"tables: {settings.store.tables}, ready"]
    return Done("\n".join(["init: ready", *lines]), {"lines": lines})


def simulate(options: argparse.Namespace) -> Done:
    """Run the simulated site until Ctrl-C."""
    from weibo_crawler.simulator.options import from_arguments
    from weibo_crawler.simulator.run import serve
    from weibo_crawler.simulator.world import World

    world = from_arguments(options)
    seeds = " ".join(map(str, World.make(world.seed, world.users, epoch=world.epoch).seeds))

    def ready(address: "Address") -> None:
        print(
            f"simulate: {world.users:,} users at {address.base_url}; Ctrl-C ends it. To crawl it:\n"
            f"  export WEIBO_SITE__BASE_URL={address.base_url}\n"
            f"  export WEIBO_SITE__VISITOR_URL={address.visitor_url}\n"
            f"  export WEIBO_PACE__REQUESTS_PER_SECOND=0\n"
            f"  export WEIBO_STORE__USERS=sqlite:///simulated/users.db\n"
            f"  export WEIBO_STORE__TABLES=sqlite:///simulated/tables.db\n"
            f"  {program()} seed {seeds} && {program()} harvest\n"
            "(in another terminal; unset these variables, or close it, to leave the simulation)",
            flush=True,
        )

    serve(world, ready)
    return Done("simulate: ended", {})


def proxies(options: argparse.Namespace) -> Done:
    """Fetch the site's first page by every egress, side by side."""
    settings = config.load(options.config)
    rows = asyncio.run(_try_egresses(settings))
    good = sum(1 for row in rows if row["state"] == "good")
    lines = [f"{row['egress']:<32} {row['state']:<6} {row['detail']}" for row in rows]
    lines.append(f"proxies: {good} of {len(rows)} egresses answer")
    return Done("\n".join(lines), {"egresses": rows, "good": good}, 0 if good else 4)


async def _try_egresses(settings: Settings) -> list[dict[str, str]]:
    from weibo_crawler.fetch.egress import Egress, load_egresses
    from weibo_crawler.fetch.requests_transport import RequestsTransport
    from weibo_crawler.records import Kind, Request

    transport = RequestsTransport(settings.fetch)
    request = Request(Kind.PROFILE, settings.site.base_url.rstrip("/") + "/")

    async def one(egress: Egress) -> dict[str, str]:
        began = time.monotonic()
        try:
            page = await transport.send(request, (), egress)
        except TransportError as error:
            return {"egress": egress.name, "state": "bad", "detail": str(error)}
        span_ms = (time.monotonic() - began) * 1000
        return {
            "egress": egress.name,
            "state": "good",
            "detail": f"status {page.status} in {span_ms:.0f} ms",
        }

    try:
        return list(await asyncio.gather(*map(one, load_egresses(settings.egress))))
    finally:
        await transport.close()


def doctor(options: argparse.Namespace) -> Done:
    """Check what the settings name; exit code of the first thing that is wrong."""
    lines, code = [], 0
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("settings", lambda: _settings_line(options)),
        ("users", lambda: _users_line(config.load(options.config))),
        ("tables", lambda: _tables_line(config.load(options.config))),
        ("job", _job_line),
        ("egress", lambda: _egress_line(config.load(options.config))),
    )
    for name, check in checks:
        try:
            lines.append(f"ok    {name:<9} {check()}")
        except CrawlerError as error:
            lines.append(f"wrong {name:<9} {error}")
            code = code or error.exit_code
    return Done("\n".join(lines), {"lines": lines, "ok": code == 0}, code)


def _settings_line(options: argparse.Namespace) -> str:
    settings = config.load(options.config)
    rate = settings.pace.requests_per_second
    return f"{settings.site.base_url}, {f'{rate:.3g} requests/s an egress' if rate else 'no limit'}"


def _users_line(settings: Settings) -> str:
    with Home(settings) as home:
        home.users.set_meta("doctor", str(time.time()))  # may it write?
        return f"{settings.store.users}: {sum(home.users.states().values()):,} users, writable"


def _tables_line(settings: Settings) -> str:
    with Home(settings) as home:
        next(iter(home.tables.posts.scan(limit=1)), None)
        return f"{settings.store.tables}: readable"


def _job_line() -> str:
    script = resource("jobs/crawl_posts.py")
    if not script.exists():
        raise CrawlerError(f"{script} is missing: install the package again")
    return f"{script.name} found, mrjob importable" if _has_mrjob() else "mrjob is missing"


def _has_mrjob() -> bool:
    from importlib.util import find_spec

    return find_spec("mrjob") is not None


def _egress_line(settings: Settings) -> str:
    from weibo_crawler.fetch.egress import load_egresses

    return (
        f"{len(load_egresses(settings.egress))} egress(es) configured; `proxies check` tries them"
    )


def forget(options: argparse.Namespace) -> Done:
    """Delete people from every table of the home."""
    from weibo_crawler.forget import forget_users

    with Home(config.load(options.config)) as home:
        removed = forget_users(home.users, home.tables, options.uids)
    lines = [
        f"forget: {len(options.uids)} users: "
        + ", ".join(f"{n:,} {name}" for name, n in removed.items())
    ]
    lines.append("exports and reports made before may still hold them: delete those by hand")
    return Done("\n".join(lines), removed)

"""init, proxies, simulate."""

import argparse
import asyncio
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from weibo_crawler import config
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.show import program
from weibo_crawler.config import DEFAULT_FILE
from weibo_crawler.errors import BadConfig
from weibo_crawler.home import Home
from weibo_crawler.resources import resource

if TYPE_CHECKING:
    from weibo_crawler.simulator.network import Address
    from weibo_crawler.simulator.options import SimulatorOptions

_BELOW_THE_LIMIT = 0.95  # of what a simulated address may ask for: a request comes early at times


def init(options: argparse.Namespace) -> Done:
    """Create the stores that the settings name; write the settings file where there is none."""
    lines = []
    path = config.settings_file(options.config)
    if not path.exists():
        text = resource("conf/crawler.toml").read_text("utf-8")
        if path.parent.name != DEFAULT_FILE.parent.name:  # the stores lie beside that folder
            text = text.replace("sqlite:///../", "sqlite:///")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise BadConfig(f"{path}: cannot write the settings: {error.strerror}") from None
        lines.append(f"settings written to {path}, with the defaults")
    settings = config.load(options.config)
    with Home(settings) as home:
        users = sum(home.users.states().values())
        lines.append(f"users:  {home.place('users')}, {plural(users, 'user')}")
        created = home.tables.create()
        lines += created or [f"tables: {home.place('tables')}, ready"]
        lines += [f"differs: {line}" for line in home.tables.check()]
    if not users:
        lines.append("next: weibo-crawler seed FILE|UID, then weibo-crawler harvest")
    return Done("\n".join(["init: ready", *lines]), {"lines": lines})


def simulate(options: argparse.Namespace) -> Done:
    """Run the simulated site until Ctrl-C."""
    from weibo_crawler.simulator.arguments import from_arguments
    from weibo_crawler.simulator.run import serve
    from weibo_crawler.simulator.world import World

    world = from_arguments(options)
    seeds = " ".join(map(str, World.make(world.seed, world.users, epoch=world.epoch).seeds))

    def ready(address: "Address") -> None:
        exports = "".join(f"  export WEIBO_{line}\n" for line in _simulated(world, address))
        print(
            f"simulate: {world.users:,} users at {address.base_url}; Ctrl-C ends it. To crawl it:\n"
            f"{exports}"
            f"  {program()} seed {seeds} && {program()} harvest\n"
            "(in another terminal; unset these variables, or close it, to leave the simulation)",
            flush=True,
        )

    serve(world, ready)
    return Done("" if world.describe else "simulate: ended", {})


def _simulated(world: "SimulatorOptions", address: "Address") -> Iterator[str]:
    """The settings of a crawl of the simulated site, as variables without WEIBO_."""
    from weibo_crawler.simulator.limits import parse_rate

    yield f"SITE__BASE_URL={address.base_url}"
    yield f"SITE__VISITOR_URL={address.visitor_url}"
    rate = parse_rate(world.rate_limit)
    pace = _BELOW_THE_LIMIT * rate.requests / rate.per_s if rate else 0
    yield f"PACE__REQUESTS_PER_SECOND={pace:.3g}"
    if world.proxies_out is not None:
        yield f"EGRESS__PROXIES_FILE={shlex.quote(str(Path(world.proxies_out).resolve()))}"
    yield "STORE__USERS=sqlite:///simulated/users.db"
    yield "STORE__TABLES=sqlite:///simulated/tables.db"


def proxies(options: argparse.Namespace) -> Done:
    """Try every egress that no other run is using, and print how each stands."""
    from weibo_crawler.cli.proxies_check import check_egresses, table

    with Home(config.load(options.config)) as home:
        rows = asyncio.run(check_egresses(home))
    by_state = Counter(str(row["state"]) for row in rows)
    good, used = by_state["good"], by_state["used"]
    others = "".join(
        f", {n:,} {words}"
        for state, words in (
            ("refused", "refused by it"),
            ("bad", "without an answer of it"),
            ("out", "at rest or dead"),
            ("used", "in use by other runs"),
        )
        if (n := by_state[state])
    )
    said = f"proxies: {good:,} of {len(rows):,} egresses answered by the site{others}"
    data = {"egresses": rows, "good": good}
    return Done("\n".join([*table(rows), said]), data, 0 if good or used else 4)

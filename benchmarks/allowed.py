"""How much of what a site allows is used, by the log of a site and of proxies that are not ours.

    python -m benchmarks.allowed [--mix NAME...] [--only harvest|posts] [--seconds 120] [--users N]

Real sockets, the real commands. The site (site.py of WEIBO_FOREIGN, ../shared/foreign if unset)
allows each client address `limit` requests a second; the pace of the crawler is `pace`.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import say
from tests.cli.crawls import Crawl
from tests.foreign.worlds import World, build, open_folder, site, started, stats
from tests.ports import free_ports

_DEFAULT_TOOLS = Path(__file__).parents[1] / "../shared/foreign"
_HALF_BAD = "good=20,slow=4,blackhole=4,html=3,other=3,captive=2,dead=3,bomb=1"
_HEALTHY = frozenset({"good", "slow", "auth"})
_DELAY_S = 0.1  # the site answers within
_SETTLED_S = 5.0  # from the first answer to the beginning of the window
_WINDOW_S = 10.0


class Mix(NamedTuple):
    """limit, pace: requests per second of one address."""

    proxies: str
    limit: float
    pace: float


MIXES = {
    "good": Mix("good=20", 2.0, 2.0),
    "good-slowly": Mix("good=20", 1 / 3, 1 / 3),
    "half-bad": Mix(_HALF_BAD, 2.0, 2.0),
    "half-bad-slowly": Mix(_HALF_BAD, 1 / 3, 1 / 3),
    "limit-unknown": Mix("good=20", 1.0, 3.0),
}


class Answered(NamedTuple):
    """One answer of the site's log."""

    at: float
    client: str
    what: str


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = _options(arguments)
    tools = Path(os.environ.get("WEIBO_FOREIGN") or _DEFAULT_TOOLS).resolve()
    stages = [options.only] if options.only else ["harvest", "posts"]
    with open_folder() as folder:
        world = _world(tools, options, folder)
        users = folder / "walked"
        if "posts" in stages:
            say("walking the world without a limit, so that posts has users to visit")
            _walk(world, users)
        jobs = [(name, stage) for name in options.mix or MIXES for stage in stages]
        with ThreadPoolExecutor(options.jobs) as pool:
            settings = dict(said.split("=", 1) for said in options.set)
            run = partial(_run, world, folder, users, seconds=options.seconds, settings=settings)
            runs = [pool.submit(run, *job) for job in jobs]
            for (name, stage), result in zip(jobs, runs, strict=True):
                print(f"{name:16} {stage:8} {_shown(result.result())}", flush=True)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-allowed", description=__doc__.partition("\n")[0])
    parser.add_argument("--mix", nargs="+", choices=list(MIXES), help="some instead of all")
    parser.add_argument("--only", choices=["harvest", "posts"], help="one stage instead of both")
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="per mix and stage; whole: 600"
    )
    parser.add_argument("--users", type=int, help="of the world; by default enough for the seconds")
    parser.add_argument("--world", type=Path, help="a folder that world.py built")
    parser.add_argument("--set", nargs="+", default=[], metavar="WEIBO_…=…", help="settings, too")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side")
    return parser.parse_args(arguments)


def _world(tools: Path, options: argparse.Namespace, folder: Path) -> World:
    if options.world is not None:
        return World(tools, options.world.resolve())
    # 40 requests a second, at least one of them for each user that is kept
    users = options.users or int(1000 + 45 * options.seconds)
    say(f"building a world of {users:,} users")
    return build(tools, folder / "world", users=users)


def _walk(world: World, folder: Path) -> None:
    folder.mkdir()
    with site(world, "--faults", "0") as port:
        crawl = Crawl(folder, f"http://127.0.0.1:{port}")
        crawl.run("seed", *world.seeds)
        crawl.run("harvest")
        crawl.run("import")


def _run(
    world: World,
    folder: Path,
    users: Path,
    name: str,
    stage: str,
    seconds: float,
    settings: Mapping[str, str],
) -> dict[str, float]:
    """The figures of one run."""
    mix, place = MIXES[name], folder / f"{name}-{stage}"
    log, proxies = folder / f"{name}-{stage}.log", folder / f"{name}-{stage}.proxies"
    if stage == "posts":
        shutil.copytree(users, place)
    else:
        place.mkdir()
    limits = ["--faults", "0", "--rate", str(mix.limit), "--delay", str(_DELAY_S)]
    with ExitStack() as stack:
        port = stack.enter_context(site(world, *limits, "--log", str(log)))
        tool, first = str(world.tools / "proxies.py"), str(free_ports(64))
        stack.enter_context(started(tool, str(proxies), first, str(port), mix.proxies))
        while not Path(f"{proxies}.spec").exists():
            time.sleep(0.05)
        crawl = Crawl(place, f"http://127.0.0.1:{port}")
        crawl.env["WEIBO_PACE__REQUESTS_PER_SECOND"] = str(mix.pace)
        crawl.env["WEIBO_EGRESS__PROXIES_FILE"] = str(proxies)
        crawl.env["WEIBO_METRICS__TEXTFILE"] = "metrics.prom"
        crawl.env |= settings
        if stage == "harvest":
            crawl.run("seed", *world.seeds)
        counters = _crawled_for(crawl, stage, seconds)
        bans = stats(port).get("bans", 0)
    figures = _figures(mix, _answers(log), proxies, counters)
    return figures | {"bans": bans}


def _crawled_for(crawl: Crawl, stage: str, seconds: float) -> Mapping[str, int]:
    """Run a stage for so long; what it counted, as far as it says so at its end."""
    process = crawl.start_anew(stage)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    else:
        say(f"{stage} ended early: the world is too small for these seconds")
    return _counters(crawl.folder / "metrics.prom")


def _counters(file: Path) -> dict[str, int]:
    """What a command counted."""
    said = re.findall(r'name="([^"]+)".*} ([0-9.e+]+)$', file.read_text("utf-8"), re.MULTILINE)
    return {name: int(float(n)) for name, n in said}


def _answers(log: Path) -> list[Answered]:
    lines = (json.loads(line) for line in log.read_text("utf-8").splitlines())
    return [Answered(at, client, what) for at, client, _, what in lines if client != "127.0.0.1"]


def _figures(
    mix: Mix, answers: Sequence[Answered], proxies: Path, counters: Mapping[str, int]
) -> dict[str, float]:
    kinds = json.loads(Path(f"{proxies}.spec").read_text("utf-8"))
    healthy = {f"127.0.1.{k + 1}" for k, kind in enumerate(kinds) if kind in _HEALTHY}
    begin, end = answers[0].at + _SETTLED_S, answers[-1].at - 1.0
    inside = [answer for answer in answers if begin <= answer.at < end]
    good = Counter(a.client for a in inside if a.what in ("page", "end"))
    allowed = mix.limit * (end - begin) * len(healthy)
    asked = [json.loads(x) for x in Path(f"{proxies}.log").read_text("utf-8").splitlines()]
    by_kind = Counter(line[2] for line in asked if len(line) == 6)
    sent = counters["request.sent"]
    by_kind["dead"] = sent - by_kind.total()  # they let nobody in, so they have no log
    bad = sum(n for kind, n in by_kind.items() if kind not in _HEALTHY)
    return {
        "used": sum(good[client] for client in healthy) / allowed,
        "wasted": bad / sent,
        "refused": sum(a.what in ("418", "banned") for a in inside) / max(1, len(inside)),
        "over": max((_over(inside, c, mix.limit) for c in healthy), default=0.0),
        "seconds": end - begin,
        "sent": sent,
        "hedged": counters.get("request.hedged", 0),
        **{f"by {kind}": n for kind, n in by_kind.items()},
    }


def _over(answers: Sequence[Answered], client: str, limit: float) -> float:
    """Requests over the limit in the worst window of one address; one is where a window begins."""
    times = sorted(a.at for a in answers if a.client == client)
    most = first = 0
    for last, at in enumerate(times):
        while times[first] <= at - _WINDOW_S:
            first += 1
        most = max(most, last - first + 1)
    return most - limit * _WINDOW_S


def _shown(figures: Mapping[str, float]) -> str:
    return (
        f"used {figures['used']:6.1%}  wasted {figures['wasted']:5.1%}  "
        f"refused {figures['refused']:5.1%}  bans {figures['bans']:.0f}  "
        f"worst {_WINDOW_S:.0f} s {figures['over']:+.1f} over  "
        f"hedged {figures['hedged']:.0f}  {figures['sent']:.0f} sent in {figures['seconds']:.0f} s "
        + " ".join(f"{name[3:]}={n:.0f}" for name, n in figures.items() if name[:3] == "by ")
    )


if __name__ == "__main__":
    raise SystemExit(main())

"""The main job on a simulated site, from seeds to a report; nothing but this package is needed."""

import argparse
import os
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from itertools import islice
from pathlib import Path
from typing import Any

from weibo_crawler import config
from weibo_crawler.cli.harvest import run_harvest
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.posts import How, run_import, run_posts
from weibo_crawler.cli.show import program, seconds
from weibo_crawler.errors import StoreError
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.posts.due import Job
from weibo_crawler.store import Found

# a world small enough for half a minute, with the refusals and faults that the real site has
_WORLD: dict[str, Any] = {
    "seed": 7,
    "users": 900,
    "mean_posts": 12.0,
    "guests": "2020",
    "faults": "throttled=0.001,server_trouble=0.01,cut=0.005,no_content=0.005",
}
_SETTINGS = """\
# The demo's own settings: a simulated Weibo on this machine, so there is no limit of requests.
[site]
base_url = "{base_url}"
visitor_url = "{visitor_url}"

[store]
users = "sqlite:///users.db"
tables = "sqlite:///tables.db"

[pace]
requests_per_second = 0
"""


def demo(options: argparse.Namespace) -> Done:
    """Simulator, seed, harvest, import, posts, report. Run twice, the second run stores nothing.
    With --json what it shows goes to stderr: stdout has one object."""
    with redirect_stdout(sys.stderr if options.json else sys.stdout):
        return _demo(options)


def _demo(options: argparse.Namespace) -> Done:
    from weibo_crawler.simulator.options import SimulatorOptions
    from weibo_crawler.simulator.run import start
    from weibo_crawler.simulator.world import World

    started = time.monotonic()
    folder: Path = options.dir
    settings_file = folder / "crawler.toml"
    world = SimulatorOptions(**_WORLD)
    with start(world) as site:
        _write(
            settings_file, _SETTINGS.format(base_url=site.base_url, visitor_url=site.visitor_url)
        )
        print(
            f"demo: a simulated Weibo answers at {site.base_url}; everything is kept in {folder}/"
        )
        environ = {n: v for n, v in os.environ.items() if not n.startswith("WEIBO_")}
        environ["WEIBO_CONFIG"] = str(settings_file.resolve())
        environ["WEIBO_BASE_DIR"] = str(folder.resolve())  # a crawl in this folder is another one
        with Home(config.load(settings_file.resolve(), environ)) as home:
            seeds = World.make(world.seed, world.users, epoch=world.epoch).seeds
            data = _main_job(home, list(seeds), environ)
            _show_posts(home)
            _report(home, folder / "report.html")
    data |= {"folder": str(folder), "seconds": round(time.monotonic() - started, 3)}
    return Done("\n".join(_closing(data, folder, settings_file)), data)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path}: cannot write: {error.strerror}") from None


def _main_job(home: Home, seeds: list[int], environ: dict[str, str]) -> dict[str, Any]:
    """The three stages, each with its closing lines."""
    found = [Found(uid, home.site.home(uid), "", 0) for uid in seeds]
    new = home.users.add_seeds(found, new_run_id(), time.time())
    data: dict[str, Any] = {"seed": {"new": new, "known": len(seeds) - new}}
    print(f"seed: {new} new, {len(seeds) - new} known already", flush=True)
    stages: dict[str, Callable[[], Done]] = {
        "harvest": lambda: run_harvest(home),
        "import": lambda: run_import(home, "import"),
        "posts": lambda: run_posts(home, How("local", environ), Job("")),
    }
    for name, run in stages.items():
        done = run()
        print(done.line, flush=True)
        data[name] = done.data
    return data


def _show_posts(home: Home) -> None:
    """Three posts with texts that fit on a screen, exactly as `scan` prints them."""
    from weibo_crawler.analysis.columns import POSTS_SHOWN
    from weibo_crawler.analysis.scan import scan_posts
    from weibo_crawler.analysis.writers import write

    print("\nthree posts, as `weibo-crawler scan posts --format jsonl` prints them:", flush=True)
    short = (post for post in scan_posts(home.tables) if 20 <= len(post["text"]) <= 80)
    write(islice(short, 3), "jsonl", sys.stdout.buffer, POSTS_SHOWN)


def _report(home: Home, path: Path) -> None:
    from weibo_crawler.analysis.figures import Stored
    from weibo_crawler.analysis.report import write_report
    from weibo_crawler.cli.analysts import origin_of

    stored = Stored(now := time.time()).read(home.tables)
    bounds = home.users.depths_are_bounds()
    origin = origin_of(home, path.parent / "crawler.toml")
    write_report(home.users, stored, path, now, depths_are_bounds=bounds, origin=origin)


def _closing(data: dict[str, Any], folder: Path, settings_file: Path) -> list[str]:
    new = data["harvest"]["new"] + data["posts"]["new_posts"]
    first = (
        f"demo: done in {seconds(data['seconds'])}"
        if new
        else f"demo: nothing new was stored, all was known; done in {seconds(data['seconds'])}"
    )
    name = program()
    return [
        "",
        first,
        f"report: open {folder / 'report.html'} in a browser",
        "next, try:",
        f"  {name} scan users --config {settings_file} --limit 10",
        f"  {name} scan posts --config {settings_file} --format csv | head",
        f"  {name} export posts --config {settings_file} -o posts.jsonl",
        f"  {name} report --completeness --config {settings_file}",
        f"  {name} simulate --guests 2026   # a site that shows guests what today's shows them",
        f"  {name} init                     # settings for a crawl of your own",
    ]

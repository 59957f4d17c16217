"""reparse."""

import argparse
import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weibo_crawler import config
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.posts import run_import
from weibo_crawler.cli.show import Progress, seconds
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadUsage, needed
from weibo_crawler.home import Home
from weibo_crawler.metrics import Counters
from weibo_crawler.store.guard import Guard
from weibo_crawler.store.temporary import owned_folder

if TYPE_CHECKING:
    from weibo_crawler.archive.reader import ArchiveIndex


def reparse(options: argparse.Namespace) -> Done:
    """Fill the stores of the settings from archives; nothing is asked of the site."""
    settings = config.load(options.config)
    started = time.monotonic()
    folders = options.folders or [_folder(settings)]
    with needed("reparse: needs warcio and zstandard", "archive"):
        from weibo_crawler.archive.reader import ArchiveIndex, files_of
    files = files_of(folders)
    with Home(settings) as home, owned_folder("reparse") as place, Progress("reparse") as progress:
        index = ArchiveIndex(place / "index.db", files, progress.say)
        try:
            data = {"files": len(files), "answers": index.answers, **_replay(home, index, progress)}
        finally:
            index.close()
    data |= {"torn": len(index.torn), "seconds": round(time.monotonic() - started, 3)}
    return Done("\n".join([_line(data), *map(str, index.torn)]), data)


def _folder(settings: Settings) -> Path:
    folder = settings.archive.folder
    if folder is None:
        raise BadUsage("reparse: name the folder of an archive, or set archive.folder")
    if "://" in folder:
        raise BadUsage(
            f"reparse: reads folders of this machine: hadoop fs -get {folder} FOLDER, then "
            "weibo-crawler reparse FOLDER"
        )
    return config.resolve(folder)


def _replay(home: Home, index: "ArchiveIndex", progress: Progress) -> dict[str, Any]:
    """Seeds, harvest, import and posts, as far as the archive holds them."""
    from weibo_crawler.reparse.visits import Stores, replay_visits
    from weibo_crawler.reparse.walks import replay_seeds, replay_walks

    home.bind_site()
    data: dict[str, Any] = {"harvest": None, "lacking": 0, "visits": {}}
    before = sum(home.users.states().values())
    writers = index.writers("harvest") or index.writers("posts", "ids")
    has_users = bool(writers) and replay_seeds(index, home.site, home.users, writers[0].run_id)
    if index.writers("harvest"):
        walk = replay_walks(
            *(index, home.site, home.users, home.settings, Counters(), progress.say)
        )
        data["harvest"], data["lacking"] = asyncio.run(walk)
        has_users = True
    if has_users:
        run_import(home, "reparse")
    data["kept"] = sum(home.users.states().values())
    data["new"] = data["kept"] - before
    if index.writers("posts", "ids"):
        guard = Guard(home.users)
        guard.refresh()
        stores = Stores(home.users, home.tables, guard)
        visits = replay_visits(index, home.site, stores, home.settings.posts, progress.say)
        outcomes: Counter[str] = asyncio.run(visits)
        data["visits"] = dict(outcomes)
    return data


def _line(data: dict[str, Any]) -> str:
    visits: dict[str, int] = data["visits"]
    line = (
        f"reparse: {data['answers']:,} answers of {data['files']:,} files, in "
        f"{seconds(data['seconds'])}: {data['new']:,} new users of {data['kept']:,}, "
        f"{sum(visits.values()):,} visits replayed"
    )
    if visits:
        line += " (" + ", ".join(f"{status} {n:,}" for status, n in sorted(visits.items())) + ")"
    if data["lacking"]:
        line += (
            f"\nthe archive does not hold {data['lacking']:,} of the pages that the walk wanted: "
            "their users stay queued, `harvest` goes on with them"
        )
    return line

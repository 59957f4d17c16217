"""media."""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from weibo_crawler import config
from weibo_crawler.analysis.numbers import plural, size
from weibo_crawler.analysis.scan import scan_attached
from weibo_crawler.cli.analysts import check_uids
from weibo_crawler.cli.exports import remember_media
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.reading import counted
from weibo_crawler.cli.show import Advance, Progress, seconds
from weibo_crawler.cli.stopping import stop_by_signals
from weibo_crawler.errors import BadUsage, CrawlerError, SiteSaysNo, StoreError
from weibo_crawler.fetch import Downloads, open_downloads
from weibo_crawler.fetch.opening import load_egresses
from weibo_crawler.home import Home
from weibo_crawler.media import folder as folders
from weibo_crawler.media.naming import PICTURE, VIDEO, named
from weibo_crawler.media.run import (
    ELSEWHERE,
    EXPIRED,
    FAILED,
    REFUSED,
    TOO_LARGE,
    MediaRun,
    left_out,
)
from weibo_crawler.metrics import Counters
from weibo_crawler.store.media import GONE, HELD, MediaIndex
from weibo_crawler.store.temporary import owned_folder

_BATCH = 5000  # of what posts name, in one transaction
_NAMED = 10  # files, in a message
_WHY = {  # what is said of files that did not come, the most telling last
    GONE: "gone, and not asked for again",
    REFUSED: "refused, and asked for again by the next run",
    FAILED: "failed, and asked for again by the next run",
    TOO_LARGE: "larger than media.max_file_bytes",
    EXPIRED: "not asked for, as their addresses have expired: run it sooner after `posts`",
    ELSEWHERE: "not asked for, as their addresses are not at hosts of the site's",
}


def media(options: argparse.Namespace) -> Done:
    """Fetch what posts name, or say what that would take, or check what is there."""
    if options.check:
        return _check(options.output)
    settings = config.load(options.config)
    folders.check_folder(options.output)
    with Home(settings, makes=()) as home, Progress("media") as progress:
        check_uids(options, home)
        if options.plan:
            return _plan(home, options, progress)
        home.users.states()  # first of all: a wrong address makes no folder
        with folders.opened(options.output) as index:
            remember_media(home.users, options.output)
            run, names = _look(home, options, index, progress)
            return _fetch(home, options, index, progress, run, names)


def _look(
    home: Home, options: argparse.Namespace, index: MediaIndex, progress: Progress
) -> tuple[int, int]:
    """Note in the index what the posts name: the number of the run, and how many names."""
    run, names = index.begin(), 0

    def say(words: str) -> None:
        progress.say(f"looking for pictures and videos: {words}")

    rows = scan_attached(home.tables, uids=options.uid, since=options.since, clock=home.site.clock)
    kinds = (PICTURE, VIDEO) if options.kind is None else (options.kind,)
    found = named(counted(rows, "posts", say), home.site, kinds)
    while some := list(islice(found, _BATCH)):
        index.want(run, some)
        names += len(some)
    index.share(run)
    return run, names


def _fetch(
    home: Home,
    options: argparse.Namespace,
    index: MediaIndex,
    progress: Progress,
    run: int,
    names: int,
) -> Done:
    settings, counters, began = home.settings, Counters(), time.monotonic()
    advance = Advance(min(index.count_open(run), options.limit or sys.maxsize))
    leases = home.leases if settings.media.requests_per_second else None
    downloads = open_downloads(settings, home.site, counters, leases)

    def show() -> None:
        got = {state: n for state in (HELD, *_WHY) if (n := counters[f"media.{state}"])}
        words = [advance.words(sum(got.values()), "files"), size(counters["media.bytes"])]
        words += [f"{n:,} {state}" for state, n in got.items() if state != HELD]
        progress.say(", ".join(words) + (f"; {downloads.waits_for}" if downloads.waits_for else ""))

    job = MediaRun(
        *(home.site, downloads, index, options.output, settings.media, counters),
        limit=options.limit,
    )
    failure: CrawlerError | None = None
    try:
        asyncio.run(_run(job, downloads, run, show))
    except CrawlerError as error:
        failure = error
    data = {"folder": str(options.output), "named": names, "left": index.count_open(run)}
    data |= {name: counters[f"media.{name}"] for name in ("asked", "bytes", HELD, *_WHY)}
    data |= {"in_folder": index.count_held(), "seconds": round(time.monotonic() - began, 3)}
    lines = _lines(data)
    if not names:
        lines.append(f"no post in {home.place('tables')} names any, by these choices")
    if failure is None and counters["media.in_vain"] and not (data[HELD] or data[GONE]):
        failure = SiteSaysNo("no file could be had")
    if failure is not None:
        failed = type(failure)("\n".join([str(failure), *lines]))
        failed.data = data
        raise failed from failure.__cause__
    return Done("media: " + "\n".join(lines), data)


def _lines(data: Mapping[str, Any]) -> list[str]:
    """What a run did, for people."""
    lines = [
        f"{plural(data[HELD], 'file')} came ({size(data['bytes'])}) in "
        f"{seconds(data['seconds'])}; {data['in_folder']:,} are in {data['folder']}",
        *(f"{data[state]:,} {why}" for state, why in _WHY.items() if data[state]),
    ]
    if data["left"]:
        lines.append(f"{data['left']:,} are left: the same command goes on")
    return lines


async def _run(job: MediaRun, downloads: Downloads, run: int, show: Callable[[], None]) -> None:
    async def tick() -> None:
        while True:
            show()
            await asyncio.sleep(1.0)

    stop_by_signals(
        job.stop, first="what has come of files under way is kept (again: stop at once)"
    )
    ticking = asyncio.create_task(tick())
    try:
        await job.run(run)
    finally:
        ticking.cancel()
        await downloads.close()


def _plan(home: Home, options: argparse.Namespace, progress: Progress) -> Done:
    """What a run would ask for now, and how long that takes. Works on a copy of the index."""
    settings, now = home.settings, time.time()
    with owned_folder("plan") as temporary:
        copy = temporary / folders.INDEX
        if folders.is_ours(options.output):
            with folders.opened(options.output) as index:
                index.copy(copy)
        index = MediaIndex(copy)
        try:
            run, names = _look(home, options, index, progress)
            wanted, usual = Counter[str](), index.usual_bytes()
            for one in islice(index.open(run), options.limit):
                reason = left_out(
                    one, home.site.media(one.address), settings.media.max_file_bytes, now
                )
                wanted[one.kind if reason is None else reason[0]] += 1
        finally:
            index.close()
    rate = settings.media.requests_per_second
    rate *= len(load_egresses(settings.egress, settings.fetch))
    kinds = [kind for kind in (PICTURE, VIDEO) if wanted[kind]]
    is_known = all(kind in usual for kind in kinds)
    data: dict[str, Any] = {"named": names, **{state: wanted[state] for state in _WHY}}
    data |= {f"{kind}s": wanted[kind] for kind in (PICTURE, VIDEO)}
    data["seconds"] = sum(wanted[kind] for kind in kinds) / rate if rate else None
    data["bytes"] = round(sum(usual[k] * wanted[k] for k in kinds)) if is_known else None
    how_long = "" if data["seconds"] is None else f", at least {seconds(data['seconds'])}"
    how_much = f"some {size(data['bytes'])}" if is_known else "how large they are is not known yet"
    lines = [
        f"{plural(wanted[PICTURE], 'picture')} and {plural(wanted[VIDEO], 'video')} to ask for, of "
        f"{names:,} that posts name{how_long}; {how_much}",
        *(f"{wanted[state]:,} {why}" for state, why in _WHY.items() if wanted[state]),
    ]
    return Done("\n".join(lines), data)


def _check(folder: Path) -> Done:
    """Compare all files of the folder with the index."""
    if not folders.is_ours(folder):
        raise BadUsage(f"{folder}: there are no pictures and videos of `media`: give -o DIR")
    with folders.opened(folder) as index, Progress("media") as progress:
        total = index.count_held()
        advance, wrong = Advance(total), []
        for name, why in folders.check(
            folder, index, lambda n: progress.say(advance.words(n, "files"))
        ):
            wrong.append(f"{name}: {why}")
            index.lost(name, f"it was {why} at a check")
    data = {"folder": str(folder), "files": total, "wrong": wrong}
    if wrong:
        failure = StoreError(
            f"{plural(len(wrong), 'file')} of {total:,} in {folder} are not as they came; the next "
            "run asks for them again:\n  "
            + "\n  ".join(wrong[:_NAMED])
            + (f"\n  … and {len(wrong) - _NAMED:,} more" if len(wrong) > _NAMED else "")
        )
        failure.data = data
        raise failure
    line = f"media: {plural(total, 'file')} in {folder}, all as they came, by sha256"
    return Done(line, data)

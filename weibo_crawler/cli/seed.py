"""seed."""

import argparse
import asyncio
import re
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from weibo_crawler import config
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.cli.main import Done
from weibo_crawler.errors import BadConfig, BadSeed, SiteSaysNo
from weibo_crawler.fetch import Ask, open_fetcher
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.metrics import Counters
from weibo_crawler.records import FACTS, Id, Kind, NamedUser, Seed
from weibo_crawler.sites import Site
from weibo_crawler.store import Found

if TYPE_CHECKING:
    from weibo_crawler.archive import Archive


# such a name is meant for a file, whether it is there or not
_FILES = (".txt", ".csv", ".tsv", ".lst", ".list", ".json", ".jsonl")
_NAMED = 10  # wrong lines that an error names
_TOPIC = re.compile(r"(#[^#\s](?:[^#]*[^#\s])?#)\s*(?:#.*)?")
_SEARCH = "search:"
_LONGEST_TOPIC = 140  # what a post might hold


def seed(options: argparse.Namespace) -> Done:
    """Store seeds; all are parsed and resolved before any is stored."""
    with Home(config.load(options.config)) as home:
        seeds = read_seeds(options.seeds, home.site)
        home.bind_site()
        run_id = new_run_id()
        archive = home.archive("seed", run_id)
        people = [seed for seed in seeds if seed.topic is None]
        topics = list(dict.fromkeys(seed.topic for seed in seeds if seed.topic is not None))
        uids = (
            asyncio.run(_resolve(people, home, archive))
            if any(s.uid is None for s in people)
            else [s.uid for s in people if s.uid is not None]
        )
        found = [Found(uid, home.site.home(uid)) for uid in dict.fromkeys(uids)]
        now = time.time()
        new = home.users.add_seeds(found, run_id, now)
        new_topics = home.users.add_topics(topics)
        if archive is not None:
            archive.note("seeds", [one.uid for one in found], now)
        gone = home.users.forgotten()
        forgotten = sum(gone.has(one.uid) for one in found)
    known = len(found) - new - forgotten
    line = f"seed: {new} new, {known} known already"
    if forgotten:
        line += f", {forgotten} removed by `forget` and not taken up again"
    data = {"new": new, "known": known}
    if topics:
        line += f"; {plural(len(topics), 'topic')} to read ({new_topics} new)"
        data |= {"topics": len(topics), "new_topics": new_topics}
    return Done(f"{line}; next: weibo-crawler harvest", data)


def read_seeds(arguments: list[str], site: Site) -> list[Seed]:
    """Files and single seeds of the command line, in order; a file names each once. Errors:
    BadSeed, with source and line number."""
    seeds: list[Seed] = []
    for argument in arguments:
        path, mode = Path(argument), _mode_of(argument)
        if (topic := _topic(argument.strip(), "command line", site)) is not None:
            seeds.append(topic)
            continue
        if stat.S_ISDIR(mode) and not _is_uid(argument, site):
            raise BadConfig(f"{argument} is a folder: give a file, or a uid")
        if path.suffix in _FILES or (mode and not stat.S_ISDIR(mode)):  # pipes, too: <(…)
            try:
                lines = path.read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or "it is not UTF-8"
                raise BadConfig(
                    f"{path}: cannot be read: {why}; such a file holds a uid, a profile address, "
                    "a screen name or a #topic# a line"
                ) from None
            seeds += read_lines(lines, argument, site)
        else:
            seeds.append(site.seed(argument.strip(), "command line"))
    if not seeds:
        raise BadSeed(
            f"{', '.join(arguments)}: no seed in it; give a uid or a profile address a line"
        )
    return seeds


def _mode_of(argument: str) -> int:
    """What stands under this name in the file system; 0: nothing. No name may be longer there than
    some 85 Chinese letters."""
    try:
        return Path(argument).stat().st_mode if argument else 0
    except (OSError, ValueError):
        return 0


def _is_uid(argument: str, site: Site) -> bool:
    """Folders are called by uids, too: those of `media`."""
    try:
        return site.seed(argument.strip(), "command line").uid is not None
    except BadSeed:
        return False


def read_lines(lines: Iterable[str], source: str, site: Site) -> list[Seed]:
    """The seeds of a file, a line each, repeats dropped; blank lines and # comments are left out,
    but for a line that is a `#topic#`, with a comment or none.

    Raises BadSeed with source and line number for the first line that names nobody, and with the
    numbers of the others.
    """
    seeds: dict[tuple[Id | None, str | None, str | None], Seed] = {}
    wrong: list[tuple[int, BadSeed]] = []
    for number, line in enumerate(lines, 1):
        where, line = f"{source}:{number}", line.removeprefix("\ufeff").strip()
        text = line.split("#")[0].strip()
        try:
            seed = _topic(text or line, where, site) or (site.seed(text, where) if text else None)
        except BadSeed as error:
            wrong.append((number, error))
            continue
        if seed is not None:
            seeds.setdefault((seed.uid, seed.screen_name, seed.topic), seed)
    if wrong:
        raise BadSeed(f"{wrong[0][1]}{_others([number for number, _ in wrong[1:]])}")
    return list(seeds.values())


def _topic(text: str, where: str, site: Site) -> Seed | None:
    """The topic that a seed names: `#words#`, without a blank beside a hash, so that few comments
    look so, or `search:words`; None: it names a user. Errors: BadSeed."""
    named = _TOPIC.fullmatch(text)
    if named is None and not text.startswith(_SEARCH):
        return None
    words = named[1] if named else text.removeprefix(_SEARCH).strip()
    if not any(c.isalnum() for c in words):
        if named:  # a line of signs is a comment
            return None
        raise BadSeed(f"{where}: {text!r} names no words to search for")
    if len(words) > _LONGEST_TOPIC:
        raise BadSeed(f"{where}: a topic has at most {_LONGEST_TOPIC} letters, signs included")
    if Kind.SEARCH not in site.kinds:
        raise BadSeed(f"{where}: {site.title} has no topics to read: give users")
    return Seed(None, None, where, words)


def _others(numbers: list[int]) -> str:
    """Which other lines are wrong."""
    if not numbers:
        return ""
    named = ", ".join(map(str, numbers[:_NAMED]))
    more = f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else ""
    return f"; wrong as well: line{'s' if len(numbers) > 1 else ''} {named}{more}"


async def _resolve(seeds: list[Seed], home: Home, archive: "Archive | None") -> list[Id]:
    """The uid of each seed; screen names are asked of the site."""
    keep = None if archive is None else archive.keep
    fetcher = open_fetcher(home.settings, home.site, Counters(), home.leases, keep)

    async def one(seed: Seed) -> Id:
        if seed.uid is not None:
            return seed.uid
        fetched = await fetcher.fetch(Ask(home.site.name(seed.screen_name or "")))
        record = fetched.reading.record
        if record is None and fetched.reading.verdict not in FACTS:
            raise SiteSaysNo(
                f"{seed.where}: the site did not say who {seed.screen_name!r} is "
                f"({fetched.reading.verdict}: {fetched.reading.why}); try again later, or give the "
                "uid"
            )
        if not isinstance(record, NamedUser):
            raise BadSeed(
                f"{seed.where}: the site names no user {seed.screen_name!r} "
                f"({fetched.reading.verdict}), and there is no such file here; correct the name or "
                "give the uid"
            )
        return record.uid

    try:
        return list(await asyncio.gather(*map(one, seeds)))
    finally:
        await fetcher.close()

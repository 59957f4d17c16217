"""forget."""

import argparse

from weibo_crawler import config
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.cli.exports import known_exports
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.seed import read_seeds
from weibo_crawler.cli.show import Progress
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig, BadSeed, how_to_install
from weibo_crawler.forget import Removed, forget_users
from weibo_crawler.home import Home


def forget(options: argparse.Namespace) -> Done:
    """Delete people from every table of the home."""
    uids = _uids(options.uids)
    with Home(config.load(options.config), makes=()) as home, Progress("forget") as progress:
        removed = forget_users(home.users, home.tables, uids, progress.say)
        exports = known_exports(home.users)
        archived, where = _from_archive(home.settings, set(uids), progress)
        in_hbase = home.settings.store.tables.startswith("hbase:")
    lines = _lines(len(uids), removed, in_hbase)
    lines += where
    lines.append("files written before may still hold them; delete those by hand: exports, reports")
    lines[-1] += ", backups" + "".join(f"\n  {file}" for file in exports)
    return Done(
        "\n".join(lines), {"uids": len(uids), **removed._asdict(), "exports": exports, **archived}
    )


def _from_archive(
    settings: Settings, uids: set[int], progress: Progress
) -> tuple[dict[str, int], list[str]]:
    """Figures of what was taken out of the files of archive.folder, and the lines that say so."""
    folder = settings.archive.folder
    if folder is None:
        return {}, []
    if "://" in folder:
        return {}, [
            f"the archive in {folder} still holds them: hadoop fs -get it, run this with "
            "archive.folder set to the copy, and put that in its place"
        ]
    try:
        from weibo_crawler.archive.forgetting import forget_in
    except ImportError as error:
        raise BadConfig(
            f"archive.folder: needs warcio and zstandard ({error}): " + how_to_install("archive")
        ) from None
    cleaned = forget_in(config.resolve(folder), uids, progress.say)
    lines = [
        f"archive: {cleaned.dropped:,} answers to what had asked for them dropped, "
        f"{cleaned.blanked:,} of others blanked"
    ]
    if cleaned.busy:
        lines.append(
            f"{len(cleaned.busy):,} files of the archive are being written and were left as they "
            "are: run this again after that"
        )
    figures = {"archive_dropped": cleaned.dropped, "archive_blanked": cleaned.blanked}
    return {**figures, "archive_busy": len(cleaned.busy)}, lines


def _uids(arguments: list[str]) -> list[int]:
    """As `seed` reads them. A name may be somebody else's by now, so it is no way to delete."""
    seeds = read_seeds(arguments)
    for seed in seeds:
        if seed.uid is None:
            raise BadSeed(
                f"{seed.where}: {seed.screen_name!r} is a name, and names change hands: give the "
                "uid or the profile address that holds it"
            )
    return sorted({seed.uid for seed in seeds if seed.uid is not None})


def _lines(uids: int, removed: Removed, in_hbase: bool) -> list[str]:
    lines = [
        f"forget: {plural(uids, 'uid')} given; no later run stores them. Deleted: "
        f"{plural(removed.users, 'user')}, {plural(removed.posts, 'post')}, "
        f"{plural(removed.comments, 'comment')} below the posts of others. Taken out of: "
        f"{plural(removed.reposts, 'repost')} by others, and "
        f"{plural(removed.found, 'row')} of users found from them",
        "what others wrote to or about them (@name) stays",
    ]
    if removed.busy:
        lines.append(
            f"meanwhile at work: {', '.join(removed.busy)}; to be sure, run this again after it"
        )
    if removed.paper is not None:
        lines.append(
            f"{removed.paper:,} rows deleted from the table of `import --paper`, where an import "
            "that is at work may still write them: run this again after it"
        )
    if in_hbase:
        lines.append(
            "HBase keeps deleted cells in its files until its next major compaction (in its shell: "
            "major_compact of the tables), and in snapshots; tables that others made of these are "
            "not looked at (in the shell: deleteall 'TABLE', 'UID')"
        )
    return lines

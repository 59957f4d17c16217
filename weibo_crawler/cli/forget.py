"""forget."""

import argparse
import sys

from weibo_crawler import config
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.cli.exports import known_exports, known_media
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.seed import read_seeds
from weibo_crawler.cli.show import Progress
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadSeed, Interrupted, StoreError, needed
from weibo_crawler.forget import Removed, forget_users
from weibo_crawler.home import Home
from weibo_crawler.records import Id
from weibo_crawler.sites import Site
from weibo_crawler.store.homes import HBASE, home_of
from weibo_crawler.store.notes import Notes

_NAMED = 10  # people, in a line
_DONE = ("no later run stores them", "Deleted", "Taken")


def forget(options: argparse.Namespace) -> Done:
    """Delete people from every table of the home, once that is confirmed."""
    dry_run = options.dry_run
    with Home(config.load(options.config), makes=() if dry_run else ["tables"]) as home:
        uids = _uids(options.uids, home.site)
        home.users.states()  # first of all: a wrong address of the users makes no tables
        if options.allow:
            return _allow(home, uids)
        if not (options.yes or dry_run) and sys.stdin.isatty():
            _ask(home, uids)
        with Progress("forget") as progress:
            removed = forget_users(home.users, home.tables, uids, progress.say, dry_run=dry_run)
            exports = known_exports(home.users)
            archived, where = _from_archive(home.settings, set(uids), progress, dry_run=dry_run)
            files, busy, folders = _from_media(home.users, uids, progress, dry_run=dry_run)
        in_hbase = home_of(home.settings.store.tables) == HBASE and not dry_run
    lines = _lines(len(uids), removed, in_hbase, dry_run=dry_run)
    lines += where + folders
    lines.append("files written before may still hold them; delete those by hand: exports, reports")
    lines[-1] += ", backups" + "".join(f"\n  {file}" for file in exports)
    data = {"uids": len(uids), **removed._asdict(), "exports": exports, **archived}
    data |= {"media_files": files, "media_busy": busy, "dry_run": dry_run}
    is_left = (busy or archived.get("archive_busy")) and not dry_run
    return Done("\n".join(lines), data, StoreError.exit_code if is_left else 0)


def _allow(home: Home, uids: list[Id]) -> Done:
    """Undo what `forget` keeps: the hash, not what it removed."""
    allowed = home.users.allow(uids)
    line = (
        f"forget: {plural(allowed, 'uid')} of {len(uids):,} may be stored again; what was removed "
        "is not brought back: seed them, or let a harvest find them"
    )
    return Done(line, {"uids": len(uids), "allowed": allowed})


def _ask(home: Home, uids: list[Id]) -> None:
    """Go on after a yes. Errors: Interrupted after a no."""
    names = [f"{user.uid} {user.screen_name or ''}".strip() for user in home.users.users(uids=uids)]
    shown = ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
    print(
        f"forget: {plural(len(uids), 'uid')} given, {len(names):,} in {home.place('users')}"
        + (f": {shown}" if names else "")
        + f". Remove all of theirs for good, also from {home.place('tables')}? [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Interrupted("forget: nothing was removed")


def _from_archive(
    settings: Settings, uids: set[Id], progress: Progress, *, dry_run: bool
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
    with needed("archive.folder: needs warcio and zstandard", "archive"):
        from weibo_crawler.archive.forgetting import forget_in
    cleaned = forget_in(config.resolve(folder), uids, progress.say, dry_run=dry_run)
    would = "would be " if dry_run else ""
    lines = [
        f"archive: {cleaned.dropped:,} answers to what had asked for them {would}dropped, "
        f"{cleaned.blanked:,} of others {would}blanked"
    ]
    if cleaned.busy:
        lines.append(
            f"{len(cleaned.busy):,} files of the archive are being written and were left as they "
            "are: run this again after that"
        )
    figures = {"archive_dropped": cleaned.dropped, "archive_blanked": cleaned.blanked}
    return {**figures, "archive_busy": len(cleaned.busy)}, lines


def _from_media(
    users: Notes, uids: list[Id], progress: Progress, *, dry_run: bool
) -> tuple[int, int, list[str]]:
    """How many files were deleted from the folders of `media`, how many folders were left as they
    are since `media` was at work there, and the lines that say so."""
    from weibo_crawler.media.folder import Busy, forget_in, is_ours

    (ours, elsewhere), files, busy, lines = known_media(users), 0, 0, []
    for folder in ours:
        progress.say(f"looking through {folder}")
        if not is_ours(folder):
            lines.append(
                f"pictures and videos in {folder} are not there any more: where they were moved, "
                "run `media -o` with that place once, then this again"
            )
            continue
        try:
            n = forget_in(folder, uids, dry_run=dry_run)
        except Busy:
            lines.append(f"`media` is at work in {folder}: run this again after it")
            busy += 1
            continue
        files += n
        lines.append(f"{folder}: {plural(n, 'file')} {'would be ' * dry_run}deleted")
    if elsewhere:
        lines.append(
            f"pictures and videos are on other hosts as well: {', '.join(elsewhere)}; run this "
            "there, or delete the folders that are called by the uids"
        )
    return files, busy, lines


def _uids(arguments: list[str], site: Site) -> list[Id]:
    """As `seed` reads them. A name may be somebody else's by now, so it is no way to delete."""
    seeds = read_seeds(arguments, site)
    for seed in seeds:
        if seed.topic is not None:
            raise BadSeed(f"{seed.where}: {seed.topic!r} is a topic, and nobody: give users")
        if seed.uid is None:
            raise BadSeed(
                f"{seed.where}: {seed.screen_name!r} is a name, and names change hands: give the "
                "uid or the profile address that holds it"
            )
    return sorted({seed.uid for seed in seeds if seed.uid is not None})


def _lines(uids: int, removed: Removed, in_hbase: bool, *, dry_run: bool) -> list[str]:
    done = ("nothing was changed", "Would delete", "Would take") if dry_run else _DONE
    lines = [
        f"forget: {plural(uids, 'uid')} given; {done[0]}. {done[1]}: "
        f"{plural(removed.users, 'user')}, {plural(removed.posts, 'post')}, "
        f"{plural(removed.comments, 'comment')} and {plural(removed.reposts_below, 'repost')} "
        f"below the posts of others. {done[2]} out of: "
        f"{plural(removed.reposts, 'repost')} by others, "
        f"{plural(removed.found, 'row')} of users found from them, and "
        f"{plural(removed.edges, 'edge')}",
        "what others wrote to or about them (@name) stays",
    ]
    if removed.unknown:
        shown = ", ".join(map(str, removed.unknown[:_NAMED]))
        shown += " …" if len(removed.unknown) > _NAMED else ""
        kept = (
            "" if dry_run else "; they are kept out all the same: `forget --allow UID` undoes that"
        )
        lines.append(f"not known here: {shown}{kept}")
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

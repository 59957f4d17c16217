"""scan, export, report, status."""

import argparse
import sys
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weibo_crawler import config
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.cli.exports import is_known_export, remember_export
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.reading import reading, told
from weibo_crawler.cli.show import Progress
from weibo_crawler.cli.yarn import status as job_on_yarn
from weibo_crawler.errors import BadUsage, StoreError
from weibo_crawler.home import Home
from weibo_crawler.outputs import keep_databases, keep_inputs
from weibo_crawler.records import ECHO_LISTS, Id, Kind
from weibo_crawler.store.notes import Notes
from weibo_crawler.store.rows.keys import ALL, Range

ECHOES = {one.name: one for one in ECHO_LISTS}

if TYPE_CHECKING:
    from weibo_crawler.analysis.content_sections import Origin
    from weibo_crawler.analysis.figures import Stored


def rows_of(options: argparse.Namespace, home: Home, part: Range = ALL) -> Iterable[dict[str, Any]]:
    from weibo_crawler.analysis import scan as scans

    if options.imported and options.what != "users":
        raise BadUsage("--imported is for users: leave it out")
    if options.as_of and options.history:
        raise BadUsage("--as-of and --history: choose one")
    if (options.as_of or options.history) and options.what not in ("posts", "users"):
        raise BadUsage("--as-of and --history are for posts and users")
    check_uids(options, home)
    if options.what != "posts" and (options.since or options.until):
        raise BadUsage("--since and --until are for posts")
    which: scans.Selection = {
        "uids": options.uid,
        "limit": options.limit,
        "since": options.since,
        "until": options.until,
        "as_of": options.as_of,
        "part": part,
        "clock": home.site.clock,
    }
    if options.what == "posts":
        scan_posts = scans.post_history if options.history else scans.scan_posts
        return scan_posts(home.tables, **which)
    if options.what == "edges":
        return scans.scan_edges(home.users, **which)
    if options.what in ECHOES:
        return scans.scan_echoes(home.tables, ECHOES[options.what], **which)
    if options.history:
        return scans.user_history(home.tables, **which)
    if _is_imported(options):
        return scans.scan_imported(home.tables, **which)
    from weibo_crawler.analysis.userlists import kept_in

    return scans.scan_users(kept_in(home.users, home.tables), **which)


def check_uids(options: argparse.Namespace, home: Home) -> None:
    """Raise BadUsage where one of --uid is none of the site."""
    if odd := [uid for uid in options.uid or () if not isinstance(uid, home.site.ids)]:
        where = home.site.home("<uid>")
        raise BadUsage(
            f"--uid: {odd[0]!r} is no uid of {home.site.title}; a uid is what stands for <uid> in "
            f"{where}"
        )


def _is_imported(options: argparse.Namespace) -> bool:
    """Whether users are read from the tables: only there is a past."""
    return bool(options.imported or options.as_of or options.history)


def columns_of(options: argparse.Namespace, form: str) -> tuple[str, ...]:
    """The columns asked for, or those that suit what is shown and where."""
    from weibo_crawler.analysis import columns as known

    every: Mapping[str, object]
    shown: tuple[str, ...]
    table: tuple[str, ...]
    if options.what == "posts":
        every, shown, table = known.POSTS, known.POSTS_SHOWN, known.POSTS_TABLE
    elif options.what == "edges":
        every, shown, table = known.EDGES, tuple(known.EDGES), tuple(known.EDGES)
    elif options.what in ECHOES:
        every, table = known.ECHOES[options.what], known.ECHOES_TABLE
        shown = tuple(name for name in every if name not in known.ECHOES_LEFT_OUT)
    elif _is_imported(options):
        every, shown, table = known.IMPORTED, known.IMPORTED_SHOWN, known.USERS_TABLE
    else:
        every, shown, table = known.USERS, known.USERS_SHOWN, known.USERS_TABLE
    if options.history:
        every = {**known.AS_OF, **every}
        shown = known.POSTS_CHANGING if options.what == "posts" else shown
        shown, table = (*known.AS_OF, *shown), (*known.AS_OF, *table)
    if options.columns is not None:
        return known.choose(options.columns, every)
    if form == "file":
        return tuple(every)
    return table if form == "table" else shown


def _form(options: argparse.Namespace, file: Path | None = None) -> str | None:
    """The format asked for; None: none was. file: where the rows go, whose name may tell."""
    from weibo_crawler.analysis.export import EXCEL

    named: str | None = options.format
    if not options.excel:
        return named
    if named is None and file is not None:
        named = file.name.lower().removesuffix(".gz").rpartition(".")[2]
    if named not in (None, "csv"):
        raise BadUsage(f"--excel is for CSV, not for {named}: leave it out, or choose csv")
    return EXCEL


def scan(options: argparse.Namespace) -> Done:
    """Print rows to stdout, and the closing line to stderr."""
    from weibo_crawler.analysis.writers import write

    form = _form(options) or ("table" if sys.stdout.isatty() else "jsonl")
    columns = columns_of(options, form)
    with Home(config.load(options.config), makes=()) as home:
        n = write(rows_of(options, home), form, sys.stdout.buffer, columns)
    return Done(f"scan: {_count(n, options, home)}", {"rows": n})


def _count(n: int, options: argparse.Namespace, home: Home) -> str:
    """How many rows; of none, where they were looked for."""
    if options.history:
        rows = f"{plural(n, 'state')} of {options.what}"
    else:
        rows = plural(n, options.what.removesuffix("s"))
    return rows if n else f"{rows} in {home.place('users' if _is_live(options) else 'tables')}"


def _is_live(options: argparse.Namespace) -> bool:
    """Whether the rows are read from the users' database, not from the tables."""
    return options.what == "edges" or (options.what == "users" and not _is_imported(options))


def _check_processes(options: argparse.Namespace) -> None:
    if options.processes > 1:
        check_parted(options, "--processes")


def check_parted(options: argparse.Namespace, who: str) -> None:
    """The rows can be read by ranges of their keys."""
    if _is_live(options):
        raise BadUsage(
            f"{who} is for what is read from the tables: posts, {', '.join(ECHOES)}, and users "
            "with --imported, --as-of or --history"
        )
    if options.uid or options.limit is not None:
        raise BadUsage(f"{who} is for all rows: leave out --uid and --limit, or it")


def export(options: argparse.Namespace) -> Done:
    """Write rows into a file, or everything into a folder, whole or not at all."""
    from weibo_crawler.analysis.columns import KNOWN, of_site
    from weibo_crawler.analysis.export import IDS
    from weibo_crawler.analysis.export import export as write_file

    if options.dataset is not None:
        return _dataset(options)
    if options.by:
        raise BadUsage("--by is for --dataset: add that")
    if options.what is None or options.output is None:
        what = options.what or "posts"
        lacks = "where to" if options.what else "which rows"
        place = options.output or f"{what}.parquet"
        raise BadUsage(f"say {lacks}: export {what} -o {place}, or export --dataset DIR")
    if isinstance(options.output, str):
        from weibo_crawler.cli.on_yarn import export_on_yarn

        return export_on_yarn(options)
    form = _form(options, options.output)
    if options.ids:
        if options.what != "posts" or options.columns or form or options.history:
            raise BadUsage("--ids writes the ids of posts alone: leave out the other choices")
        form, options.columns = IDS, "mid"
    settings = config.load(options.config)
    columns = columns_of(options, "file")  # all there are, unless --columns names some
    _check_processes(options)
    with Home(settings, makes=()) as home:
        _check_output(options, home.users)
        remember_export(home.users, options.output)  # first: a kill may leave some of it
        read = partial(rows_of, options)
        read(home, ALL)  # says what is wrong with the options
        with Progress("export") as progress, reading(home, options.processes, options.output) as by:
            rows = by.rows(read, options.what, progress)
            n = write_file(rows, columns, options.output, form, of_site(KNOWN, home.site))
    line = f"export: {_count(n, options, home)} written to {options.output}"
    return Done(line, {"rows": n, "file": str(options.output)})


def _dataset(options: argparse.Namespace) -> Done:
    """Write everything into a folder for others."""
    from weibo_crawler.analysis import dataset
    from weibo_crawler.analysis.card import Source
    from weibo_crawler.analysis.columns import of_site
    from weibo_crawler.analysis.export import arrow_of
    from weibo_crawler.analysis.scan import scan_edges
    from weibo_crawler.store.rows.cells import to_iso

    chosen = (options.what, options.output, options.uid, options.since, options.until)
    more = (options.as_of, options.history, options.columns, options.format, options.excel)
    if any((*chosen, *more, options.ids, options.limit is not None)):
        raise BadUsage("--dataset holds everything: give a folder, and at most --by")
    arrow, folder = arrow_of(), options.dataset
    dataset.check_new(folder)
    with Home(config.load(options.config), makes=()) as home, Progress("export") as progress:
        remember_export(home.users, folder)  # first: a kill may leave some of it
        now = time.time()
        with reading(home, options.processes, folder) as by:
            contents = {}
            for name, fields in dataset.TABLES.items():
                rows = by.rows(partial(_table_rows, name), name, progress)
                if name == "edges":  # which are not in the tables
                    rows = told(scan_edges(home.users), name, progress.say)
                contents[name] = dataset.Content(of_site(fields, home.site), rows)
            figures = by.stored(now, is_whole=False).ledgers.result()
            source = Source(home.settings.site.name, home.site.title, home.site.addresses[0])
            made = dataset.write_dataset(
                *(arrow, contents, figures, folder, to_iso(now), source), by=options.by
            )
    counts = {name: one.rows for name, one in made.tables.items()}
    held = ", ".join(f"{n:,} {name}" for name, n in counts.items())
    line = f"export: {held} written to {folder}; `weibo-crawler verify {folder}` checks it"
    return Done(line, {"rows": counts, "folder": str(folder)})


def _table_rows(name: str, home: Home, part: Range) -> Iterable[dict[str, Any]]:
    from weibo_crawler.analysis import ledgers
    from weibo_crawler.analysis import scan as scans

    if name == "posts":
        return scans.scan_posts(home.tables, part=part)
    if name in ECHOES:
        return scans.scan_echoes(home.tables, ECHOES[name], part=part)
    if name == "ledgers":
        return ledgers.ledger_rows(home.tables, part)
    return scans.scan_imported(home.tables, part=part)


def verify(options: argparse.Namespace) -> Done:
    from weibo_crawler.analysis.dataset import SUMS, verify
    from weibo_crawler.analysis.export import arrow_of

    wrong = [f"  {one}" for one in verify(arrow_of(), options.folder)]
    if wrong:
        raise StoreError("\n".join([f"{options.folder} is not as it was written:", *wrong]))
    return Done(
        f"verify: {options.folder} is as it was written, by {SUMS} and by its figures",
        {"folder": str(options.folder)},
    )


def _check_output(options: argparse.Namespace, users: Notes) -> None:
    """Raise BadUsage, before anything is noted or read, for a file that is not to be replaced. A
    list of ids may have been written by hand, or by `--ids`, which replaces its own ones."""
    if vars(options).get("ids") and is_known_export(users, options.output):
        keep_databases(options.output)
    else:
        keep_inputs(options.output)
    if options.output.resolve() == config.settings_file(options.config).resolve():
        raise BadUsage(f"{options.output} holds the settings: name another file")
    if options.output.is_dir():
        raise BadUsage(f"{options.output} is a folder: name a file in it")
    if options.output == Path("-"):
        name = options.handler.partition(":")[2]
        raise BadUsage(f"-: `{name}` writes a file, not stdout; `scan` prints rows")


def report(options: argparse.Namespace) -> Done:
    """Write the HTML report, or print how complete the posts are."""
    if (form := _form(options)) and not options.completeness:
        raise BadUsage("--format and --excel are for --completeness: add that")
    if form is not None and (options.processes > 1 or options.runner == "hadoop"):
        raise BadUsage("--processes and --runner are for sums: leave them out, or --format")
    now = time.time()
    with Home(config.load(options.config), makes=()) as home:
        if options.completeness:
            return _completeness(home, form, _stored(options, home, now))
        from weibo_crawler.analysis.report import write_report
        from weibo_crawler.analysis.userlists import kept_in

        _check_output(options, home.users)
        bounds = home.users.depths_are_bounds()
        remember_export(home.users, options.output)
        stored = _stored(options, home, now)
        origin = origin_of(home, options.config)
        write_report(
            *(home.users, stored, options.output, now),
            depths_are_bounds=bounds,
            origin=origin,
            people=kept_in(home.users, home.tables),
        )
    return Done(
        f"report: written to {options.output}; open it in a browser", {"file": str(options.output)}
    )


def _stored(options: argparse.Namespace, home: Home, now: float) -> "Stored":
    """What the tables hold, counted here or on YARN."""
    if options.runner == "hadoop":
        from weibo_crawler.cli.on_yarn import count_on_yarn

        return count_on_yarn(options, home, now)
    with reading(home, options.processes) as by:
        return by.stored(now, is_whole=not options.completeness)


def origin_of(home: Home, file: Path | None) -> "Origin":
    """What a report names: the stores, the site, the settings."""
    from weibo_crawler.analysis.content_sections import Origin

    settings = config.settings_file(file)
    stores = " and ".join(home.place(name) for name in ("users", "tables"))
    where = f"settings {settings}" if settings.exists() else "settings by default and variables"
    name = f"Stores {stores}; site {home.site.addresses[0]}; {where}."

    def address(mid: Id) -> str:
        """The last way to a post is its page for people, where the site has one."""
        return home.site.post(mid)[-1].url if Kind.SHOW in home.site.kinds else ""

    return Origin(name, home.tables.posts, address)


def _completeness(home: Home, form: str | None, stored: "Stored") -> Done:
    """Print the sums; with a format also a row for each user, to stdout."""
    import msgspec

    from weibo_crawler.analysis import ledgers
    from weibo_crawler.analysis.writers import write

    figures = stored.ledgers.result()
    if form is not None:
        columns = ledgers.TABLE if form == "table" else ledgers.COLUMNS
        write(ledgers.ledger_rows(home.tables), form, sys.stdout.buffer, columns)
    lines = ledgers.completeness_lines(figures)
    return Done("\n".join(lines), msgspec.to_builtins(figures))


def status(options: argparse.Namespace) -> Done:
    """Tell where the crawl stands."""
    from weibo_crawler.analysis import status as figures
    from weibo_crawler.analysis.completeness import completeness
    from weibo_crawler.analysis.userlists import kept_in

    with Home(config.load(options.config), makes=()) as home:
        stores = {name: home.place(name) for name in ("users", "tables")}
        home.users.states()  # first of all: who gave a wrong address is to hear of the users
        people = kept_in(home.users, home.tables)
        held = completeness(home.tables, time.time())
        now = figures.status(home.users, time.time(), held, people)
        if options.openmetrics:
            from weibo_crawler.analysis import gauges

            print(gauges.text(now, figures.last_success(home.users)), end="", flush=True)
            return Done("", figures.as_dict(now))
        lines, yarn = job_on_yarn(home)
        if now.completeness is not None and now.completeness.visits_a_day:
            from weibo_crawler.cli.plans import follow

            lines = [f"posts    {follow(home, now.completeness.visits_a_day)}", *lines]
    shown = [f"stores   {' and '.join(stores.values())}", *figures.lines(now), *lines]
    return Done("\n".join(shown), figures.as_dict(now) | {"yarn": yarn, "stores": stores})

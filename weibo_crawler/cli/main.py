"""Arguments, dispatch, exit codes. Commands are imported when called, so that --help is quick."""

import argparse
import difflib
import errno
import gc
import importlib
import io
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

from weibo_crawler import __version__
from weibo_crawler.cli import logs, show
from weibo_crawler.errors import (
    BadUsage,
    CrawlerError,
    Interrupted,
    StoreError,
    without_passwords,
)
from weibo_crawler.printable import guard_streams, printable_json
from weibo_crawler.records import ECHO_LISTS, TEXT_ID, Id
from weibo_crawler.simulator.arguments import add_arguments as add_simulator_arguments

EXIT_CODES = """exit codes:
  0 done   1 a fault of ours   2 usage and seeds
  3 configuration, and files that cannot be read
  4 the site says no   5 a store cannot be reached or written
  130 interrupted after a clean stop (a second Ctrl-C stops at once)"""

_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
_QUOTED = 60  # characters: an address of a profile fits
_PARTED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,3}(?:_[0-9]{3})+")


class Done(NamedTuple):
    """What a command did: the closing line, the same for machines (--json), and the exit code."""

    line: str
    data: dict[str, Any]
    exit_code: int = 0


class _Refused(SystemExit):
    """The command line is wrong. said: why."""

    said = ""


_WITH_A_VALUE = ("--config", "--log")
_OF_ALL = (*_WITH_A_VALUE, "--json", "--quiet")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    _open_streams()
    # records hold no cycles: looking for some after each 700 objects takes a twentieth of a crawl
    gc.set_threshold(50_000)
    words = _command_first(sys.argv[1:] if argv is None else argv)
    with ExitStack() as told:
        return _run(words, told)


def _run(words: Sequence[str], told: ExitStack) -> int:
    """Run the command that these words give; returns the exit code. told: ends after all lines
    were written in the form that `--log` asks for."""
    options = argparse.Namespace(json="--json" in words)  # until they are read
    try:
        options = build_parser().parse_args(words)
        told.enter_context(logs.lines(options.log, words[0]))
        show.be_quiet(is_quiet=options.quiet)
        signal.signal(signal.SIGTERM, _interrupt)
        done: Done = _find(options.handler)(options)
        _close(done, options)
        return done.exit_code
    except CrawlerError as error:
        return _failed(f"weibo-crawler: {error}", error.exit_code, options, error.data)
    except BrokenPipeError:  # `scan | head`: the reader has enough
        _leave_stdout()
        return 0
    except _Refused as refused:
        _tell({"error": refused.said, "exit_code": refused.code}, options)
        raise
    except KeyboardInterrupt:
        return _failed("weibo-crawler: interrupted", Interrupted.exit_code, options)
    except OSError as error:
        if os.environ.get("WEIBO_DEBUG"):
            raise
        if error.filename is None:
            _leave_stdout()
        return _failed(f"weibo-crawler: {words_of(error)}", StoreError.exit_code, options)
    except Exception as error:
        if os.environ.get("WEIBO_DEBUG"):
            raise
        fault = f"a fault of ours: {type(error).__name__}: {without_passwords(str(error))}"
        how = "set WEIBO_DEBUG=1 to see where, and please report it"
        return _failed(f"weibo-crawler: {fault}; {how}", CrawlerError.exit_code, options)


def words_of(error: OSError) -> str:
    """What the system refused, in a line. An error that names no file is one of the output where
    it is about writing, else one of anything that this process asked for."""
    is_output = error.errno in _OF_WRITING
    what = error.filename or ("cannot write the output" if is_output else "the system refuses")
    return f"{what}: {error.strerror or error}"


def _command_first(words: Sequence[str]) -> list[str]:
    """The words of a call; options of all commands may stand before the command as well."""
    options, rest = list[str](), list(words)
    while rest and rest[0].partition("=")[0] in _OF_ALL:
        taken = 2 if rest[0] in _WITH_A_VALUE else 1
        options, rest = options + rest[:taken], rest[taken:]
    return [*rest[:1], *options, *rest[1:]]


def _failed(
    said: str, code: int, options: argparse.Namespace, data: Mapping[str, Any] | None = None
) -> int:
    """Say why a command ended early, to machines as well; the exit code."""
    logs.say(said, logging.ERROR)
    error = said.removeprefix("weibo-crawler: ")
    _tell({"error": error, "exit_code": code, **(data or {})}, options)
    return code


def _leave_stdout() -> None:
    """Nobody reads it any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Streams that the caller closed lead nowhere; what a locale cannot write is escaped, and what
    a terminal would obey is not printed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    guard_streams()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _find(handler: str) -> Callable[[argparse.Namespace], Done]:
    module, _, function = handler.partition(":")
    found: Callable[[argparse.Namespace], Done] = getattr(
        importlib.import_module(f"weibo_crawler.cli.{module}"), function
    )
    return found


def _close(done: Done, options: argparse.Namespace) -> None:
    if options.json:
        _tell(done.data, options)
    elif done.line and (done.exit_code or not options.quiet):
        print(done.line, file=_stream(options), flush=True)


def _tell(data: Mapping[str, Any], options: argparse.Namespace) -> None:
    """One line for machines, where they asked for it."""
    if options.json:
        text = printable_json(json.dumps(data, ensure_ascii=False))
        with suppress(BrokenPipeError):
            print(text, file=_stream(options), flush=True)


def _stream(options: argparse.Namespace) -> TextIO:
    """Where the closing line goes: stderr where stdout carries data."""
    get = vars(options).get
    carries = {
        "analysts:scan": True,
        "analysts:report": get("format") or get("excel"),
        "analysts:status": get("openmetrics"),
        "posts:posts": get("ids"),
        "operate:simulate": get("describe"),
    }
    return sys.stderr if carries.get(get("handler", "")) else sys.stdout


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, which names the nearest word that is known."""

    def error(self, message: str) -> NoReturn:
        refused = _Refused(BadUsage.exit_code)
        refused.said = f"{self.prog}: {without_passwords(message)}; see {self.prog} --help"
        print(refused.said, file=sys.stderr)
        raise refused

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse here what is not known, so that it is the command that names it."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            known = [option for option in self._option_string_actions if option.startswith("--")]
            hint = _nearest(unknown[0].partition("=")[0], known)
            self.error(f"there is no argument {unknown[0][:60]}{hint}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = list(action.choices)
            hint = _nearest(str(value), known) or f"; give {' or '.join(known)}"
            name = (action.metavar if action.nargs == argparse.PARSER else "") or "/".join(
                action.option_strings
            )
            self.error(f"{name} {str(value)[:60]!r} is not known".strip() + hint)


def _nearest(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {close[0]}?" if close else ""


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="weibo-crawler",
        description="A login-free crawler of the Sina Weibo microblog.",
        epilog="try it without a network: weibo-crawler demo\n\n" + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _crawl_commands(commands)
    _analyst_commands(commands)
    _operator_commands(commands)
    return parser


def _command(
    commands: Any, name: str, handler: str, help_: str, description: str = ""
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_,
        description=description or help_[:1].upper() + help_[1:] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "--config",
        type=_path,
        metavar="FILE",
        help="settings (default: conf/crawler.toml if there)",
    )
    command.add_argument(
        "--json",
        action="store_true",
        help="close with one line of JSON, also where the command fails (error, exit_code)",
    )
    command.add_argument(
        "--quiet",
        action="store_true",
        help="when all is well, print nothing but what was asked for as data: no progress, no "
        "closing line",
    )
    command.add_argument(
        "--log",
        choices=logs.FORMS,
        default="plain",
        help="how lines of progress, warnings and errors are written to stderr: plain words; time: "
        "with a time and a level before them; json: an object a line (default: plain)",
    )
    command.set_defaults(handler=handler)
    return command


_ROWS = f"users, posts, {', '.join(one.name for one in ECHO_LISTS)} or edges"
_PLAN = "ask for nothing: only say how many requests of which kind, how long, how much disk"


def _crawl_commands(commands: Any) -> None:
    seed = _command(
        commands,
        "seed",
        "seed:seed",
        "give the walk its first users",
        "Seeds are uids, profile addresses (m.weibo.cn/u/…, weibo.com/u/…) or screen names; or\n"
        "topics, '#words#' or search:words: harvest keeps who wrote what they show. A file holds\n"
        "one a line, # begins a comment. All are checked before any is stored.",
    )
    seed.add_argument("seeds", nargs="+", metavar="FILE|UID", help="a file of seeds, or a seed")
    harvest = _command(
        commands,
        "harvest",
        "harvest:harvest",
        "walk fan lists breadth-first and store the users found",
        "Goes on where the last run stopped. Stops when nobody new is found, at\n"
        "harvest.max_users, harvest.max_depth or harvest.max_time_s, or at Ctrl-C.",
    )
    harvest.add_argument("--plan", action="store_true", help=_PLAN)
    harvest.add_argument(
        "--retry-failed",
        action="store_true",
        help="ask again for lists that failed before, or that guests were refused",
    )
    harvest.add_argument(
        "--processes",
        type=_whole(1, 64),
        metavar="N",
        help="how many processes walk side by side (default: harvest.processes)",
    )
    harvest.add_argument(
        "--runner",
        choices=["inline", "local", "hadoop"],
        help="walk by jobs of mrjob, one a level, into the tables; hadoop: on YARN, by the "
        "settings of [hadoop] (default: no jobs, this machine alone)",
    )
    # how the first of them starts the others
    harvest.add_argument("--of-run", metavar="ID", help=argparse.SUPPRESS)
    import_ = _command(
        commands,
        "import",
        "posts:import_",
        "copy new users from SQL into the tables",
        "Safe beside a running harvest, and may be repeated: both ways go on where either was.",
    )
    add = import_.add_argument
    add(
        "--via",
        choices=["builtin", "sqoop"],
        default="builtin",
        help="sqoop: by Sqoop 1.4.7, from mysql:// to hbase:// (default: builtin, in any home)",
    )
    add("--from-start", action="store_true", help="all users: repairs tables that lost rows")
    add(
        "--paper",
        action="store_true",
        help="with --via sqoop: SELECT id FROM userlist, into a table `paper` keyed by the bare id",
    )
    posts = _command(
        commands,
        "posts",
        "posts:posts",
        "run the map job: fetch posts and profiles of the imported users",
        "Users whose timeline was read are skipped; --refresh comes back to those who are due by\n"
        "their own posting rate (posts.revisit_*): new posts, new counts, edits, deletions.\n"
        "The first Ctrl-C lets the mappers finish what is in flight, the second kills them.",
    )
    posts.add_argument(
        "--runner",
        choices=["inline", "local", "hadoop"],
        default="local",
        help="of mrjob (default: local); hadoop: on YARN, by the settings of [hadoop]",
    )
    posts.add_argument(
        "--detach", action="store_true", help="leave the job running on YARN; `status` finds it"
    )
    posts.add_argument(
        "--input",
        choices=["ranges", "hbase"],
        default="ranges",
        help="hbase: the rows of a table by TableInputFormat, one map a region, as in the paper "
        "(default: key ranges)",
    )
    posts.add_argument(
        "--table",
        metavar="NAME",
        help="with --input hbase: a table whose row keys are uids, such as that of "
        "`import --paper` (default: the userlist)",
    )
    posts.add_argument("--plan", action="store_true", help=_PLAN)
    posts.add_argument("--refresh", action="store_true", help="come back to users that are due")
    posts.add_argument(
        "--all",
        action="store_true",
        help="with --refresh: also before they are due, and who was gone",
    )
    posts.add_argument(
        "--since",
        metavar="DATE",
        help="do not ask for posts that were written before, such as 2026-01-31: a timeline ends "
        "with the page that reaches it, pinned posts aside. Later visits keep to that date until "
        "another one is given; --refresh --all goes back to an earlier one",
    )
    posts.add_argument(
        "--follow",
        action="store_true",
        help="do not end: sleep until the next user is due, visit, and so on, until Ctrl-C; users "
        "that are imported meanwhile are taken in",
    )
    posts.add_argument(
        "--for",
        dest="span_s",
        type=_span,
        metavar="SPAN",
        help="with --follow: end after so long, such as 90min, 6h or 7d (default: never)",
    )
    for name in (one.name for one in ECHO_LISTS):
        below = posts.add_mutually_exclusive_group()
        below.add_argument(
            f"--{name}",
            type=_whole(0, 100),
            metavar="N",
            help=f"read the first {name} of the N newest posts of each page that announce some: at "
            f"most N requests a page of posts (default: posts.{name})",
        )
        below.add_argument(
            f"--no-{name}",
            dest=name,
            action="store_const",
            const=0,
            help="read none, whatever the settings say: no request",
        )
    posts.add_argument(
        "--info-days",
        type=_whole(0, 10_000),
        metavar="DAYS",
        help="ask for the basic information of a user (province, city, registration) once in so "
        "many days: one request a user in that time; 0: never (default: posts.info_days)",
    )
    posts.add_argument(
        "--ids",
        type=_path,
        metavar="FILE",
        help="in place of users: the posts whose ids stand in this file, one a line, one or two "
        "requests each; stdout gets each id and what it came to: ok, edited, gone, restricted, "
        "walled or unknown",
    )
    posts.add_argument(
        "--manifest", type=_path, metavar="FILE", help="only write the job's input, the key ranges"
    )

    media = _command(
        commands,
        "media",
        "media:media",
        "fetch the pictures and videos that stored posts name into a folder",
        "Pictures come in their large form; videos while their addresses are good, which is some\n"
        "hours: run it after `posts`. Files lie in DIR/uid/month; DIR/index.db (SQLite) has a row\n"
        "for each that a post names: where it is, its sha256, or why it is not there. The same\n"
        "command goes on where it was, in the middle of a file, too. What failed is asked for\n"
        "again, what is gone is not. `forget` deletes people there as well.",
    )
    add = media.add_argument
    add(
        "--output",
        "-o",
        type=_path,
        default=Path("media"),
        metavar="DIR",
        help="the folder, a new one or one of an earlier run (default: media)",
    )
    kinds = media.add_mutually_exclusive_group()
    for kind in ("picture", "video"):
        kinds.add_argument(
            f"--{kind}s", dest="kind", action="store_const", const=kind, help=f"only {kind}s"
        )
    add(
        "--uid",
        type=_uid,
        action="append",
        metavar="UID",
        help="only those of this user's posts; may be repeated",
    )
    add("--since", metavar="DATE", help="only of posts created at or after, such as 2026-01-31")
    add("--limit", type=_whole(1, 10**12), metavar="N", help="ask for at most N files")
    add("--plan", action="store_true", help="ask for nothing: only say how many files, how long")
    add(
        "--check",
        action="store_true",
        help="instead: read all files of DIR anew and compare their sha256; what is missing or has "
        "changed is told (exit code 5), and asked for again by the next run",
    )

    plan = _command(
        commands,
        "plan",
        "plans:plan",
        "proxies, maps, disk and regions of a crawl of so many users",
        "For a crawl that does not exist yet. Figures are those of the crawl at hand where there\n"
        "is one, else published ones; each says which. `harvest --plan` and `posts --plan` say\n"
        "what is left of the crawl at hand. Asks for nothing.",
    )
    plan.add_argument(
        "--users", type=_whole(1, 10**12), required=True, metavar="N", help="users to crawl"
    )
    plan.add_argument(
        "--fresh",
        type=_span,
        default=86_400.0,
        metavar="SPAN",
        help="how often each is visited, such as 90min, 24h or 7d (default: 24h)",
    )


def _analyst_commands(commands: Any) -> None:
    scan = _command(commands, "scan", "analysts:scan", f"print {_ROWS}")
    _add_selection(scan)
    scan.add_argument(
        "--format",
        choices=["table", "jsonl", "csv"],
        help="default: table on a terminal, jsonl elsewhere",
    )
    _add_excel(scan)
    export = _command(commands, "export", "analysts:export", f"write {_ROWS} to a file")
    _add_selection(export, is_needed=False)
    export.add_argument(
        "--output",
        "-o",
        type=_place,
        metavar="FILE",
        help="the file; an old one is replaced when the new one is whole. Or hdfs://…, a new "
        "folder: a job on YARN writes it, a file a map",
    )
    export.add_argument(
        "--format",
        choices=["jsonl", "csv", "parquet"],
        help="default: by the file's suffix; in HDFS jsonl",
    )
    _add_excel(export)
    export.add_argument(
        "--ids",
        action="store_true",
        help="posts: only their ids, one a line, as `posts --ids` reads them",
    )
    export.add_argument(
        "--dataset",
        type=_path,
        metavar="DIR",
        help="write everything into a new folder instead: Parquet, a data card (Croissant), what "
        "was not seen and why, checksums",
    )
    export.add_argument(
        "--by",
        choices=["month", "salt"],
        help="with --dataset: a folder of posts for each month, or for each of 256 shards of users",
    )
    _add_processes(export)
    verify = _command(
        commands, "verify", "analysts:verify", "check a dataset against its checksums and figures"
    )
    verify.add_argument("folder", type=_path, metavar="DIR", help="what export --dataset wrote")
    report = _command(commands, "report", "analysts:report", "write an HTML report with plots")
    report.add_argument(
        "--output",
        "-o",
        type=_path,
        default=Path("report.html"),
        metavar="FILE",
        help="default: report.html",
    )
    report.add_argument(
        "--completeness", action="store_true", help="only print how complete the posts are"
    )
    report.add_argument(
        "--format",
        choices=["table", "jsonl", "csv"],
        help="with --completeness: a row for each user to stdout, the sums to stderr",
    )
    _add_processes(report)
    report.add_argument(
        "--runner",
        choices=["inline", "hadoop"],
        default="inline",
        help="hadoop: the maps of a job on YARN read the tables, by the settings of [hadoop] "
        "(default: inline, on this machine)",
    )
    _add_excel(report)
    status = _command(
        commands, "status", "analysts:status", "what is queued, leased, done; rates; the end"
    )
    status.add_argument(
        "--openmetrics", action="store_true", help="print the figures as gauges for Prometheus"
    )


def _add_processes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--processes",
        type=_whole(1, 64),
        default=1,
        metavar="N",
        help="how many processes read the tables side by side (default: 1; maps on YARN: 16)",
    )


def _place(text: str) -> Path | str:
    """A file, or an address of HDFS."""
    return text if "://" in text else _path(text)


def _path(text: str) -> Path:
    """A file or folder; `""`, which `Path` takes for the working folder, names none."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{_quoted(text)} names no file or folder")
    return Path(text)


def _add_excel(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--excel",
        action="store_true",
        help="CSV that Excel opens as it is: marked as UTF-8, ids and texts like 05-06 as text, no "
        "text as a formula",
    )


def _add_selection(command: argparse.ArgumentParser, *, is_needed: bool = True) -> None:
    add = command.add_argument
    kinds = ["users", "posts", *(one.name for one in ECHO_LISTS), "edges"]
    add("what", choices=kinds, nargs=None if is_needed else "?", help="which rows")
    add("--imported", action="store_true", help="users: read the table, not the live userlist")
    add(
        "--uid",
        type=_uid,
        action="append",
        metavar="UID",
        help="only this user (comments, reposts: under their posts; edges: in their lists); may "
        "be repeated",
    )
    add("--since", metavar="DATE", help="posts created at or after, such as 2026-01-31")
    add("--until", metavar="DATE", help="posts created before")
    add(
        "--as-of",
        metavar="DATE",
        help="posts and imported users as they were stored then, such as 2026-01-31 (the day's "
        "beginning by the site's clock) or 2026-01-31T12:00:00+08:00",
    )
    add(
        "--history",
        action="store_true",
        help="posts and imported users: a row for each time that something of them changed or was "
        "counted, the newest first",
    )
    add("--columns", metavar="A,B", help="only these columns, in this order")
    add("--limit", type=_whole(0, 10**15), metavar="N", help="at most N rows")


def _operator_commands(commands: Any) -> None:
    demo = _command(commands, "demo", "demo:demo", "the whole way on a simulated site, offline")
    demo.add_argument(
        "--dir", type=_path, default=Path("weibo-demo"), help="its folder (default: weibo-demo)"
    )
    _command(commands, "init", "operate:init", "create or check stores and the settings file")
    proxies = _command(commands, "proxies", "operate:proxies", "try every egress")
    proxies.add_argument("action", choices=["check"], help="try each of them once")
    doctor = _command(
        commands, "doctor", "doctor:doctor", "check what the settings name, line by line"
    )
    doctor.add_argument(
        "--nodes",
        action="store_true",
        help="let each node of the cluster look around as well, by a job of a map for each on YARN",
    )
    doctor.add_argument(
        "--site",
        action="store_true",
        help="instead: ask the site for some ten pages, one after the other, and say what guests "
        "are shown, what has changed its shape (exit code 4), and what that means for a crawl; "
        "nothing is stored",
    )
    doctor.add_argument(
        "--uid",
        type=_uid,
        metavar="UID",
        help="with --site: whose pages (default: the first user of the store, else a newspaper)",
    )
    doctor.add_argument(
        "--record",
        type=_path,
        metavar="DIR",
        help="with --site: write the answers into a new folder, to be sent to the developers: "
        "shapes and lengths are kept, all names, words and ids replaced",
    )
    simulate = _command(commands, "simulate", "operate:simulate", "run the simulated site alone")
    add_simulator_arguments(simulate)
    reparse = _command(
        commands,
        "reparse",
        "reparse:reparse",
        "fill the tables from archives, without a request",
        "Reads what archive.folder kept (docs/archive.md): harvest, import and visits come out\n"
        "as they did, with the readers of today. New stores are filled as they were then; a visit\n"
        "that is in the tables already is left as it is. May be repeated.",
    )
    reparse.add_argument(
        "folders",
        nargs="*",
        type=_path,
        metavar="FOLDER",
        help="a folder of WARC files, or one file (default: archive.folder)",
    )
    forget = _command(
        commands,
        "forget",
        "forget:forget",
        "delete people from every table, for good",
        "People are named as for seed: by uid, by profile address, or in a file of these. Removes\n"
        "all their rows and versions, also what others reposted of them, and keeps a keyed hash\n"
        "of each uid, so that no later run stores them again. May be repeated, and run beside\n"
        "other commands. On a terminal it asks first.",
    )
    how = forget.add_mutually_exclusive_group()
    how.add_argument("--yes", action="store_true", help="do not ask")
    how.add_argument(
        "--dry-run", action="store_true", help="only count what would be removed; change nothing"
    )
    how.add_argument(
        "--allow",
        action="store_true",
        help="undo a slip: let later runs store these again; what was removed stays removed",
    )
    forget.add_argument("uids", nargs="+", metavar="FILE|UID", help="a file of uids, or a uid")


def _quoted(text: str) -> str:
    """What was given, as a message quotes it: whole, or seen to be cut."""
    return repr(text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…")


def _span(text: str) -> float:
    """Seconds."""
    units = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
    for unit, seconds in units.items():
        number = text.removesuffix(unit)
        if number != text and number.isdecimal() and 0 < len(number) < 8 and int(number):
            return float(int(number) * seconds)
    raise argparse.ArgumentTypeError(f"{_quoted(text)} is no span: write 90min, 24h or 7d")


def _uid(text: str) -> Id:
    if TEXT_ID.fullmatch(text):
        return text
    if not text.isdecimal():  # with commas it would be several
        what = "a uid is the number in m.weibo.cn/u/<uid>"
        raise argparse.ArgumentTypeError(f"{_quoted(text)} is no uid: {what}")
    return _whole(1, 2**63 - 1)(text)


def _whole(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers between two others; commas or underscores may part thousands."""

    def read(text: str) -> int:
        digits = re.sub("[,_]", "", text) if _PARTED.fullmatch(text) else text
        if not re.fullmatch(r"[+-]?[0-9]{1,30}", digits):
            raise argparse.ArgumentTypeError(f"{_quoted(text)} is no whole number")
        number = int(digits)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text[:30]} is not between {least:,} and {most:,}")
        return number

    return read

"""doctor."""

import argparse
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.structs import replace

from weibo_crawler import config
from weibo_crawler.analysis.dataset import check_new
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.cli import checks
from weibo_crawler.cli.main import Done
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig, BadUsage, CrawlerError, StoreError, masked
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.posts.node import Finding
from weibo_crawler.resources import resource
from weibo_crawler.sites import open_site
from weibo_crawler.store.homes import HBASE, file_of, home_of, users_check

_ANSWER_S = 5.0
_GUESSING_S = 15.0  # where somebody hangs up, it is found out what it speaks
_JVM_S = 40.0  # a command of Hadoop starts a JVM
_SQOOP_S = 120.0  # its maps may be a job on YARN
_STAY_S = 10.0  # of a map, so that YARN has looked at all nodes meanwhile
_NODE_S = 240.0  # a busy cluster lets a job wait


class Check(NamedTuple):
    """run: what is so, or CrawlerError; it is left alone after limit_s seconds."""

    name: str
    run: Callable[[], str]
    limit_s: float = _ANSWER_S


class Line(NamedTuple):
    """state: "ok", "wrong" or "open" (not checked)."""

    state: str
    name: str
    text: str
    exit_code: int = 0


def doctor(options: argparse.Namespace) -> Done:
    """Check what the settings name, line by line; exit code of the first thing that is wrong."""
    if options.site:
        return _site(options)
    if options.uid or options.record:
        raise BadUsage("--uid and --record go with --site")
    return _told(list(_lines(options)))


def _site(options: argparse.Namespace) -> Done:
    """What guests are shown, in place of what the settings name on this machine."""
    from weibo_crawler.cli import site_check

    if options.record is not None:
        check_new(options.record)
    settings = config.load(options.config)
    found = site_check.look_at_the_site(settings, options.uid, options.record)
    lines = [Line(*line) for line in site_check.states(found)]
    where = open_site(settings).addresses[0]
    said = [f"{found.uid} at {where}, {plural(found.requests, 'request')}"]
    said += found.meaning.lines
    if found.recorded:
        said.append(f"recorded  {found.recorded}")
    return _told(lines, said, site_check.as_dict(found))


def _told(lines: Sequence[Line], said: Sequence[str] = (), data: Any = None) -> Done:
    wrong = [line for line in lines if line.state == "wrong"]
    shown = [f"{line.state:<5} {line.name:<15} {line.text}" for line in lines]
    shown += [*said, f"doctor: {_summary(lines)}"]
    code = wrong[0].exit_code if wrong else 0
    checks = {"ok": not wrong, "checks": [line._asdict() for line in lines]}
    return Done("\n".join(shown), checks | ({"site": data} if data else {}), code)


def _summary(lines: Sequence[Line]) -> str:
    states = Counter(line.state for line in lines)
    if states["wrong"]:
        return f"{states['wrong']} wrong"
    if states["open"]:
        return f"nothing is wrong; what is open could not be checked ({states['open']})"
    return "all is well"


def _lines(options: argparse.Namespace) -> Iterator[Line]:
    try:
        settings = config.load(options.config)
    except BadConfig as error:
        yield Line("wrong", "settings", str(error), error.exit_code)
        return
    stores = " and ".join(map(masked, (settings.store.users, settings.store.tables)))
    yield Line("ok", "settings", stores)
    answers: dict[str, bool] = {}
    for check in _checks(settings, nodes=options.nodes):
        server = check.name.partition(" ")[0]
        if not answers.get(server, True):
            continue  # what is behind a server that does not answer need not be waited for
        line = _judge(check)
        answers.setdefault(server, line.state != "wrong")
        yield line
    if options.nodes:
        yield from _nodes(settings)


def _checks(settings: Settings, *, nodes: bool) -> Iterator[Check]:
    yield from (*_here(settings), *_users(settings), *_tables(settings), *_beside(settings))
    if home_of(settings.store.tables) == HBASE and not nodes:
        yield Check("nodes", checks.nodes)


def _here(settings: Settings) -> Iterator[Check]:
    yield Check("python", partial(checks.python, settings))
    yield Check("job", checks.job)
    yield Check("transport", partial(_transport, settings))
    yield Check("egress", partial(checks.egresses, settings))
    if (named := settings.store.password_file) is not None:
        yield Check("password", partial(checks.password_file, named))
    yield Check("files", partial(checks.open_files, settings))
    yield Check("disk", partial(checks.disk, settings))


def _users(settings: Settings) -> Iterator[Check]:
    store = settings.store
    if file_of(store.users) is not None:

        def write(home: Home) -> None:
            home.users.give_back("doctor")  # takes the lock of a writer, and meets no row

        yield Check("users", partial(_embedded, settings, store.users, write))
        return
    try:
        check = users_check(store)
    except BadConfig:
        return  # the check of python says so
    for name, run in check.checks():
        yield Check(name, run)


def _tables(settings: Settings) -> Iterator[Check]:
    url = settings.store.tables
    if file_of(url) is not None:

        def write(home: Home) -> None:
            home.tables.posts.delete("doctor", up_to=1)  # no key of ours

        yield Check("tables", partial(_embedded, settings, url, write))
        return
    try:
        from weibo_crawler.store.hbase import check as hbase_check
    except ImportError:
        return
    yield Check("hbase", partial(hbase_check.protocol, url), _GUESSING_S)
    yield Check("hbase tables", partial(hbase_check.tables, url, settings.posts.keep_versions))


def _beside(settings: Settings) -> Iterator[Check]:
    yield Check("site", partial(checks.site, settings))
    if home_of(settings.store.tables) == HBASE:  # the nodes reach no embedded table
        yield Check("hadoop", partial(checks.hadoop, settings), _JVM_S)
        yield Check("hadoop hdfs", partial(checks.hdfs_folder, settings), _JVM_S)
        yield Check("sqoop", partial(checks.sqoop, settings), _JVM_S)
        yield Check("sqoop import", partial(checks.sqoop_import, settings), _SQOOP_S)
        yield Check("streaming jar", partial(checks.streaming_jar, settings))
        yield Check("resourcemanager", partial(checks.resourcemanager, settings))
        yield Check("resourcemanager of hadoop", partial(checks.submission, settings), _JVM_S)
        yield Check("jobhistory", partial(checks.jobhistory, settings))


def _transport(settings: Settings) -> str:
    from weibo_crawler.fetch.opening import choose_transport

    return f"{choose_transport(settings.fetch).name} (fetch.transport = {settings.fetch.transport})"


def _embedded(settings: Settings, url: str, write: Callable[[Home], None]) -> str:
    said = checks.embedded(url)
    file = file_of(url)
    if file is not None and file.exists():
        with Home(settings) as home:
            write(home)
    return said


def _nodes(settings: Settings) -> Iterator[Line]:
    """What each node says of itself; in this thread, so that Ctrl-C ends the job there."""
    found: list[Finding] = []
    yield _run(Check("nodes", partial(_look, settings, found)))
    # a node may have run two maps: what one of them found wrong counts
    each = {(one.host, one.name): one for one in sorted(found, key=attrgetter("exit_code"))}
    for name, text, exit_code, host in sorted(each.values(), key=attrgetter("host")):
        yield Line("wrong" if exit_code else "ok", name, f"{host}: {text}", exit_code)


def _look(settings: Settings, found: list[Finding]) -> str:
    """A job of as many maps as there are nodes, each so large that no two fit into a node, where
    the cluster is free enough. A node that fails does not hide the others."""
    from weibo_crawler.posts.cluster import Cluster
    from weibo_crawler.posts.once import Once
    from weibo_crawler.posts.submission import ending
    from weibo_crawler.posts.yarn import alone_mb

    hadoop = settings.hadoop
    yarn = Cluster(settings).yarn
    nodes = yarn.nodes()
    if not nodes:
        raise StoreError("no node of YARN runs")
    size = alone_mb(nodes, yarn.largest_mb()) if len(nodes) > 1 else None
    here = replace(
        hadoop,
        attempts=1,
        running_maps=None,
        map_memory_mb=max(size, hadoop.map_memory_mb or 0) if size else hadoop.map_memory_mb,
        jobconf=(*hadoop.jobconf, "mapreduce.map.failures.maxpercent=100"),
    )
    cluster = Cluster(replace(settings, hadoop=here))
    script, stay_s = resource("jobs/check_node.py"), _STAY_S if len(nodes) > 1 else 0.0
    once = Once(cluster, "doctor", script, new_run_id(), patience_s=_NODE_S)

    def tell_failures() -> None:
        if (app := once.application()) is not None and cluster.yarn.failures(app.id):
            raise CrawlerError(ending(cluster.yarn, app, hadoop.python))

    try:
        found.extend(map(Finding.from_line, once.run([f"{stay_s}"] * len(nodes))))
    except StoreError:  # where all maps failed there is nothing to read
        tell_failures()
        raise
    heard = {finding.host for finding in found}
    silent = [node.host for node in nodes if node.host not in heard]
    if silent:
        tell_failures()
    queue = f", in the queue {hadoop.queue}" if hadoop.queue else ""
    said = f"{len(heard)} of {len(nodes)} ran a map of ours{queue}"
    if silent:
        raise checks.NotChecked(
            f"{said}; YARN gave the others none, as they have other work or room for more than one "
            f"map: {', '.join(silent)}"
        )
    return said


def _run(check: Check) -> Line:
    try:
        return Line("ok", check.name, check.run())
    except checks.NotChecked as error:
        return Line("open", check.name, str(error))
    except CrawlerError as error:
        return Line("wrong", check.name, str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - the top of a task: the other checks go on
        fault = f"a fault of ours: {type(error).__name__}: {error}; please report it"
        return Line("wrong", check.name, fault, CrawlerError.exit_code)


def _judge(check: Check) -> Line:
    """Run it in a thread of its own: some calls, such as a look at a network folder, cannot be
    given a time limit."""
    found: list[Line] = []

    def run() -> None:
        found.append(_run(check))

    thread = threading.Thread(target=run, name=check.name, daemon=True)
    thread.start()
    thread.join(check.limit_s)
    late = f"no answer within {check.limit_s:.0f} s: is the machine there?"
    return found[0] if found else Line("wrong", check.name, late, StoreError.exit_code)

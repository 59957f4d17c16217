"""What `doctor` looks at on this machine and beside the stores. A check says what is so, or raises
what is wrong, with what to do; NotChecked says what it leaves alone."""

import email.utils
import json
import os
import platform
import resource as limits
import shlex
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from weibo_crawler.cli.hadoop_conf import web_addresses
from weibo_crawler.config import Settings, resolve
from weibo_crawler.errors import BadConfig, CrawlerError, StoreError, StoreFull, how_to_install
from weibo_crawler.fetch.opening import FILES_BESIDE, PLACES, described_egresses
from weibo_crawler.kerberos import FAILED, opener
from weibo_crawler.posts.yarn import addresses
from weibo_crawler.resources import resource
from weibo_crawler.sites import open_site
from weibo_crawler.store.homes import DRIVERS, file_of, home_of
from weibo_crawler.store.sqlite.base import database_path

ANSWER_S = 4.0
_LEAST_FREE_BYTES = 500_000_000
_CLOCKS_APART_S = 30.0  # fetch times of posts, and how old a session is


class NotChecked(CrawlerError):
    """Neither right nor wrong: what a check did not look at, and why."""

    exit_code = 0


def python(settings: Settings) -> str:
    """The packages of this home are here, also those that a task of the job imports."""
    wanted = {"msgspec": "", "mrjob": "", "requests": "", "pyroaring": ""}
    for address in (settings.store.users, settings.store.tables):
        if (driver := DRIVERS.get(home_of(address))) is not None:
            wanted[driver] = how_to_install("cluster")
    if "auth=kerberos" in settings.store.tables:
        wanted["gssapi"] = how_to_install("kerberos")
    if settings.fetch.transport == "wreq":
        wanted["wreq"] = how_to_install("fast")
    missing = {name: how for name, how in wanted.items() if find_spec(name) is None}
    if missing:
        how = next(filter(None, missing.values()), "install the package again")
        raise BadConfig(f"{', '.join(missing)} not installed: {how}")
    for name in ("distutils", "pipes"):  # gone from Python 3.12 and 3.13; mrjob imports them
        if find_spec(name) is None:
            raise BadConfig(
                f"module {name} is missing, mrjob needs it: pip install setuptools standard-pipes"
            )
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in wanted)
    return f"{platform.python_version()}; {versions}"


def job() -> str:
    """The script that mappers run."""
    script = resource("jobs/crawl_posts.py")
    if not script.exists():
        raise CrawlerError(f"{script} is missing: install the package again")
    return f"{script.name} found"


def password_file(named: str) -> str:
    """Of store.password_file: no other account may read or write it."""
    path = resolve(named)
    mode = path.stat().st_mode & 0o777
    if mode & 0o006:
        raise BadConfig(
            f"store.password_file: {path} is open to every account of this machine (mode "
            f"{mode:04o}): chmod 600 {shlex.quote(str(path))}"
        )
    return f"{path} is closed to others (mode {mode:04o})"


def egresses(settings: Settings) -> str:
    """The lists of proxies can be read; by the proxies nothing is sent."""
    return f"{described_egresses(settings)}; `proxies check` tries them"


def open_files(settings: Settings) -> str:
    """Enough of them for the requests under way at once."""
    soft, _ = limits.getrlimit(limits.RLIMIT_NOFILE)
    # each may go by a proxy of its own
    needed = 2 * (settings.fetch.concurrency or PLACES) + FILES_BESIDE
    if soft != limits.RLIM_INFINITY and soft < needed:
        raise BadConfig(
            f"{soft:,} files may be open at once, fetch.concurrency = "
            f"{settings.fetch.concurrency} wants {needed:,}: ulimit -n {needed}, or lower it"
        )
    return (
        "no limit" if soft == limits.RLIM_INFINITY else f"{soft:,} may be open, {needed:,} wanted"
    )


def disk(settings: Settings) -> str:
    """Room where the embedded home is, and for temporary files."""
    places = {Path(tempfile.gettempdir())}
    for url in (settings.store.users, settings.store.tables):
        file = file_of(url)
        if file is not None:
            places.add(_standing(file.parent))
    free = {place: shutil.disk_usage(place).free for place in sorted(places)}
    for place, size in free.items():
        if size < _LEAST_FREE_BYTES:
            raise StoreFull(
                f"{place}: {size // 1_000_000:,} MB free: make room, or move the stores"
            )
    return ", ".join(f"{size / 1e9:,.1f} GB free at {place}" for place, size in free.items())


def embedded(url: str) -> str:
    """The file takes writes, or could be made."""
    path = database_path(url)
    if not path.exists():
        folder = _standing(path.parent)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise StoreError(f"{path}: you may not write in {folder}: chmod it, or name another")
        return f"{path}: not there yet, `weibo-crawler init` makes it"
    return f"{path}: writable"


def site(settings: Settings) -> str:
    """Asks a site on this machine; never another one."""
    url = open_site(settings).addresses[0]
    if not settings.site.is_loopback:
        raise NotChecked(f"{url}: not asked; `proxies check` asks it")
    try:
        apart_s = _ask(url)[1]
    except FAILED as error:
        raise NotChecked(f"{url}: no answer ({error}): is it started?") from None
    return f"{url} answers" + _judged(apart_s)


def hadoop(settings: Settings) -> str:
    command = settings.hadoop.command
    try:
        done = subprocess.run(
            [command, "version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadConfig(f"hadoop.command: {command}: {error}: name Hadoop's client") from None
    if done.returncode or not done.stdout.startswith("Hadoop "):
        said = (done.stderr or done.stdout).strip()[-300:] or "nothing"
        raise BadConfig(f"hadoop.command: {command} version says {said}: name Hadoop's client")
    return f"{done.stdout.partition(chr(10))[0]} ({command})"


def hdfs_folder(settings: Settings) -> str:
    """The folder of jobs can be made, and written into."""
    from weibo_crawler.posts.hdfs import jobs_folder, open_hdfs

    folder, hdfs = jobs_folder(settings.hadoop), open_hdfs(settings.hadoop)
    try:
        hdfs.make_folder(folder)
        hdfs.make_folder(f"{folder}/doctor")
        hdfs.remove(f"{folder}/doctor")
    except StoreError as error:
        raise StoreError(f"{folder}: {error}: start HDFS, or correct hadoop.folder") from None
    return f"{folder} takes files"


def sqoop(settings: Settings) -> str:
    """Sqoop is there, for those who import by it."""
    command = settings.sqoop.command
    if shutil.which(command) is None:
        raise NotChecked(f"no {command} here (sqoop.command): plain `import` needs none")
    done = subprocess.run([command, "version"], capture_output=True, text=True, check=False)
    version = next((x for x in done.stdout.splitlines() if x.startswith("Sqoop ")), "")
    if done.returncode or not version:
        raise BadConfig(f"sqoop.command: {command} version says no version: name Sqoop 1.4.7's")
    return f"{version} ({command})"


def sqoop_import(settings: Settings) -> str:
    """It imports nobody, which takes all that importing somebody does."""
    from weibo_crawler import sqoop_import
    from weibo_crawler.store.hbase import check as hbase_check
    from weibo_crawler.store.mysql.check import NONE_YET, MysqlCheck

    if shutil.which(settings.sqoop.command) is None:
        raise NotChecked("there is no Sqoop to try")
    store = settings.store
    try:
        is_ready = MysqlCheck(store.users, store.read_password()).tables() != NONE_YET
        hbase_check.tables(store.tables, settings.posts.keep_versions)
    except CrawlerError:
        is_ready = False
    if not is_ready:
        raise NotChecked("not tried: first the stores have to be as they should be")
    sqoop_import.try_out(sqoop_import.prepare(settings, "userlist", "doctor", os.environ))
    return "imported nobody, from end to end"


def streaming_jar(settings: Settings) -> str:
    """mrjob submits it."""
    from weibo_crawler.posts import hdfs

    named = settings.hadoop.streaming_jar
    if named is not None and not Path(named).is_file():
        raise BadConfig(f"hadoop.streaming_jar: {named} is not there: correct the path")
    return str(named or hdfs.streaming_jar(settings.hadoop.command))


def resourcemanager(settings: Settings) -> str:
    """YARN answers, and how many nodes it has. Of a pair each is asked: one that stands by leads
    to the active one."""
    said = []
    for url in addresses(settings.hadoop.resourcemanager):
        answer, apart_s = _json(url, "/ws/v1/cluster/metrics", "hadoop.resourcemanager")
        nodes = answer["clusterMetrics"]["activeNodes"]
        if not nodes:
            raise StoreError(f"{url}: no node is active: look at {url}/cluster/nodes")
        said.append(f"{url}: {nodes} nodes" + _judged(apart_s))
    return "; ".join(said)


def submission(settings: Settings) -> str:
    """It is the one that Hadoop's client submits to: jobs are looked for there."""
    named, command = addresses(settings.hadoop.resourcemanager), settings.hadoop.command
    theirs = web_addresses(command)
    if not theirs:
        raise NotChecked(f"`{command} classpath` names no yarn-site.xml that says where it submits")
    ids = {_cluster_id(url) for url in theirs}
    if any(url in theirs or _cluster_id(url) in ids - {None} for url in named):
        return f"{command} submits to it"
    where = " and ".join(theirs)
    if not all(ids):
        raise NotChecked(f"{command} submits to {where}, by its yarn-site.xml: no answer there")
    raise BadConfig(
        f"hadoop.resourcemanager: {' and '.join(named)} is not the one that {command} submits to, "
        f"by its yarn-site.xml {where}: name that, or another hadoop.command or HADOOP_CONF_DIR"
    )


def jobhistory(settings: Settings) -> str:
    """The counters of jobs that ended are there."""
    url = settings.hadoop.jobhistory
    answer, _ = _json(url, "/ws/v1/history/info", "hadoop.jobhistory")
    return f"{url}: Hadoop {answer['historyInfo']['hadoopVersion']}"


def nodes() -> str:
    raise NotChecked("`doctor --nodes` asks each, by a job of a map for each (about half a minute)")


def _cluster_id(url: str) -> int | None:
    """When this ResourceManager was started, in ms; it has one id by all its addresses."""
    try:
        answer = json.loads(_ask(f"{url}/ws/v1/cluster/info")[0])
        return int(answer["clusterInfo"]["id"])
    except (*FAILED, ValueError, LookupError, TypeError, StoreError):
        return None


def _json(url: str, path: str, setting: str) -> tuple[Any, float | None]:
    try:
        body, apart_s = _ask(url.rstrip("/") + path)
        return json.loads(body), apart_s
    except (*FAILED, ValueError) as error:
        raise StoreError(f"{url}: {error}: start it, or correct {setting}") from None


def _ask(url: str) -> tuple[bytes, float | None]:
    """The body, and how far the server's clock is from ours; by no proxy of the environment."""
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    try:
        answer = opener().open(request, timeout=ANSWER_S)
    except urllib.error.HTTPError as error:  # an answer all the same
        answer = error
    except urllib.error.URLError as error:
        raise OSError(str(error.reason)) from None
    with answer:
        date = answer.headers.get("Date")
        apart_s = (
            email.utils.parsedate_to_datetime(date).timestamp() - time.time() if date else None
        )
        return answer.read(1_000_000), apart_s


def _judged(apart_s: float | None) -> str:
    """A date in a header is cut to the second."""
    if apart_s is None:
        return ""
    if abs(apart_s) > _CLOCKS_APART_S:
        raise StoreError(f"its clock is {apart_s:+.0f} s from ours: set both by NTP")
    return f", clocks {abs(apart_s):.0f} s apart"


def _standing(folder: Path) -> Path:
    """The folder, or the nearest above it that there is."""
    return next(place for place in (folder, *folder.parents) if place.exists())

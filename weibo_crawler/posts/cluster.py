"""The cluster that the settings name, and the job that is under way on it.

What travels is private to its user in HDFS: a staging folder for each run (manifest, settings,
mrjob's files), deleted at the end, and the archives of code and of dependencies, shared by runs and
kept until others take their place. An application is found by its tag, the run id; the note
`SUBMITTED` in the users' database says which one is under way, so that `status` and the next run
find it, whoever started it.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec

from weibo_crawler.config import Hadoop, Settings, masked
from weibo_crawler.errors import BadConfig, BadUsage, StoreError
from weibo_crawler.posts import hdfs, workers
from weibo_crawler.posts.archive import ARCHIVES, Archive, archives
from weibo_crawler.posts.handover import write_files
from weibo_crawler.posts.submission import Staged
from weibo_crawler.posts.yarn import Maps, Yarn
from weibo_crawler.sites import package_of
from weibo_crawler.store.hbase.address import parse_address
from weibo_crawler.store.homes import HBASE, MYSQL, home_of
from weibo_crawler.store.notes import STOP, Notes, json_note
from weibo_crawler.store.owners import is_dead
from weibo_crawler.store.temporary import owned_folder

_POLL_S = 0.5
_PATIENCE_S = 300.0  # for mappers to finish what is in flight


class Submitted(msgspec.Struct, frozen=True):
    """app: "" until YARN accepted it. driver: the lease owner that waits for it, "" detached."""

    run_id: str
    staging: str
    driver: str
    app: str = ""


class NoFolder(StoreError):
    """There is no folder for jobs: nothing was uploaded."""


class Cluster:
    """The parts of Hadoop that the settings name. BadConfig and StoreError where one is missing."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        hadoop, store = settings.hadoop, settings.store
        for name, address, scheme in (
            ("users", store.users, MYSQL),
            ("tables", store.tables, HBASE),
        ):
            if home_of(address) != scheme:
                raise BadConfig(
                    f"store.{name}: the nodes of a cluster cannot reach {masked(address)}: "
                    f"--runner hadoop needs {scheme}://host:port"
                )
        check_key(store.tables)
        archive = settings.archive.folder
        if archive is not None and "://" not in archive:
            raise BadConfig(
                f"archive.folder: what the nodes of a cluster write into {archive} is lost with "
                "them: --runner hadoop needs a folder of HDFS, hdfs://…, or none"
            )
        hdfs.check_command(hadoop.command)
        self.hdfs = hdfs.open_hdfs(hadoop)
        self.jar = _jar(hadoop)
        self.yarn = yarn(hadoop)
        self.yarn.check()
        self.folder = hdfs.jobs_folder(hadoop)

    def staging(self, run_id: str) -> str:
        return f"{self.folder}/{run_id}"

    def stage(self, run_id: str, script: Path, manifest: Path, *, made: str = "") -> Staged:
        """Upload what the job needs into a folder of its own. made: the name of an empty folder in
        it, "" for none."""
        staging = self.staging(run_id)
        try:
            hdfs.check_address(self.folder)
        except StoreError as error:
            raise NoFolder(f"hadoop.folder: {self.folder}: {error}") from None
        with ThreadPoolExecutor(4) as beside, owned_folder("staging") as local:
            held = beside.submit(self.hdfs.names, self.folder)  # it may be a JVM, as any of these
            names = write_files(self.settings, local)
            (local / script.name).write_bytes(script.read_bytes())
            (local / "input").mkdir()
            (local / "input" / "ranges.jsonl").write_bytes(manifest.read_bytes())
            if made:
                (local / made).mkdir()
            placed = beside.submit(self._put, local, staging)
            packed = needed(self.settings)
            sent = [beside.submit(self._send, one, held, placed) for one in packed.values()]
            placed.result()
            is_new = [one.result() for one in sent]
            if any(is_new):
                self._tidy(run_id, {archive.name for archive in packed.values()})
        addresses = {link: f"{self.folder}/{archive.name}" for link, archive in packed.items()}
        return Staged(staging, addresses, names)

    def _put(self, local: Path, staging: str) -> None:
        """Copy a folder to a place where nothing is. The folder of all jobs is made where it was
        not there."""
        try:
            self.hdfs.put([local], staging)
        except StoreError:
            try:
                self.hdfs.make_folder(self.folder)
                self.hdfs.remove(staging)
            except StoreError as error:
                raise NoFolder(f"hadoop.folder: {self.folder}: {error}") from None
            self.hdfs.put([local], staging)

    def _send(self, archive: Archive, looked: "Future[set[str]]", placed: "Future[None]") -> bool:
        """Upload an archive unless HDFS holds it; return whether it was uploaded. looked: what lies
        in the folder of all jobs; a StoreError where that may not be there yet. placed: is done
        once that folder is there."""
        if not looked.exception() and archive.name in looked.result():
            return False
        with owned_folder("archive") as folder:
            with (folder / archive.name).open("wb") as file:
                archive.write(file)
            placed.result()
            self.hdfs.put_once(folder / archive.name, f"{self.folder}/{archive.name}")
        return True

    def _tidy(self, run_id: str, new: set[str]) -> None:
        """Remove the archives that new ones replace. What lies there is looked at anew: a run that
        has begun meanwhile may need one of them."""
        held = self.hdfs.names(self.folder) - new
        self.hdfs.remove(*(f"{self.folder}/{name}" for name in outdated(held, run_id)))


def needed(settings: Settings) -> dict[str, Archive]:
    """The archives of these settings, by their names in a task's folder."""
    keeps_answers = settings.archive.folder is not None
    return archives(package_of(settings.site.name), keeps_answers=keeps_answers)


def check_key(tables: str) -> None:
    """Mappers have tokens for HDFS and YARN, and none for a Thrift server."""
    address = parse_address(tables)
    if address.auth and address.keytab is None:
        raise BadConfig(
            "store.tables: auth=kerberos by your own ticket, which mappers do not have: say "
            "&keytab=FILE behind it, a file that lies on each node, for your account alone"
        )


def outdated(held: set[str], run_id: str) -> list[str]:
    """Of what lay in the folder before a new archive came, other archives, if nobody may need them:
    none where the folder of another run lies there."""
    others = sorted(held - {run_id})
    return others if all(name.startswith(ARCHIVES) for name in others) else []


# the job that was submitted last, as long as nobody saw its end
SUBMITTED = json_note("posts.hadoop", Submitted)


def yarn(hadoop: Hadoop) -> Yarn:
    """The web interfaces that the settings name."""
    return Yarn(hadoop.resourcemanager, hadoop.jobhistory, hdfs.user())


class Seen(NamedTuple):
    """An application as `status` shows it."""

    app: str
    state: str
    final: str
    line: str


def look(frontier: Notes, settings: Settings, submitted: Submitted) -> Seen:
    """Ask YARN how a submitted job is; one that is over, and that nobody waits for, is cleaned up
    after."""
    web = yarn(settings.hadoop)
    app = web.find(submitted.run_id)
    if app is not None and not app.is_over:
        line = f"{app.id} {app.state.lower()}, {maps_note(web.maps(app.id))}; {web.page(app.id)}"
        return Seen(app.id, app.state, app.final, line)
    if not submitted.driver or is_dead(submitted.driver):
        finish(frontier, Cluster(settings), submitted)
    if app is None:
        line = f"{submitted.app or submitted.run_id} is not known to the ResourceManager (any more)"
        return Seen(submitted.app, "UNKNOWN", "UNKNOWN", line)
    why = app.diagnostics.strip().partition("\n")[0]
    line = f"{app.id} ended as {app.final.lower()}" + (f": {why}" if why else "")
    return Seen(app.id, app.state, app.final, line)


def settle(frontier: Notes, cluster: Cluster) -> None:
    """Before a new job: the one before is over, or ends now because nobody waits for it any more.
    BadUsage where it runs on purpose."""
    before = SUBMITTED.get(frontier)
    if before is None:
        return
    app = cluster.yarn.find(before.run_id)
    if app is not None and not app.is_over:
        if not before.driver or not is_dead(before.driver):
            raise BadUsage(
                f"{app.id} of an earlier run is at work ({cluster.yarn.page(app.id)}): wait for "
                f"its end (`weibo-crawler status`), or end it: hadoop application -kill {app.id}, "
                "or `yarn application -kill`"
            )
        STOP.of(before.run_id).put(frontier, workers.ORDERED)
        try:
            wait_for(lambda: _is_over(cluster.yarn, before.run_id), _PATIENCE_S)
        except TimeoutError:
            raise StoreError(
                f"{app.id}, whose driver is gone, does not end: hadoop application -kill {app.id}"
            ) from None
    finish(frontier, cluster, before)


def finish(frontier: Notes, cluster: Cluster, submitted: Submitted) -> None:
    """Delete what a job that is over had in HDFS, and the note of it."""
    try:
        cluster.hdfs.remove(submitted.staging)
    except StoreError as error:
        # of other settings than now, which may have been wrong: that must not keep us for ever
        if submitted.staging == cluster.staging(submitted.run_id):
            raise StoreError(f"hadoop.folder: {submitted.staging} stays for now: {error}") from None
    SUBMITTED.clear(frontier)


def _is_over(yarn: Yarn, run_id: str) -> bool:
    app = yarn.find(run_id)
    return app is None or app.is_over


def maps_note(maps: Maps | None) -> str:
    """How far a job's tasks are, for people."""
    if maps is None:
        return "waiting for YARN"
    failed = f", {maps.failed} attempts failed" if maps.failed else ""
    return f"maps: {maps.done} of {maps.total} done, {maps.running} running{failed}"


def wait_for(condition: Callable[[], bool], patience_s: float) -> None:
    """Look twice a second; TimeoutError after so long."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(_POLL_S)


def _jar(hadoop: Hadoop) -> Path:
    if hadoop.streaming_jar is None:
        return hdfs.streaming_jar(hadoop.command)
    jar = Path(hadoop.streaming_jar)
    if not jar.is_file():
        raise BadConfig(f"hadoop.streaming_jar: {jar} is not there")
    return jar

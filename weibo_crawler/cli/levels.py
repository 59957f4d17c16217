"""harvest --runner: one job after another, a level each."""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from msgspec.structs import replace

from weibo_crawler.analysis.status import topic_lines, topics_dict
from weibo_crawler.cli.harvest import say_no
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.posts import How, environ_of, job_run, with_cluster
from weibo_crawler.cli.show import Progress, grouped, seconds, verdicts
from weibo_crawler.cli.stopping import stopped_by_signals
from weibo_crawler.errors import BadUsage, Interrupted
from weibo_crawler.harvest.run import is_over_share, note_rules
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.importer import import_users
from weibo_crawler.levels.dedup import FULL, OPEN
from weibo_crawler.levels.entries import LEVELS_DRIVER, STANDING, Driver, Standing, Wanted, may_hold
from weibo_crawler.levels.task import LevelJob
from weibo_crawler.levels.walking import LEFT, WALKED
from weibo_crawler.metrics import NEW, Counters, OpenMetrics, total
from weibo_crawler.posts.driver import JobRun
from weibo_crawler.posts.manifest import KeyRange, manifest
from weibo_crawler.posts.workers import parse_said
from weibo_crawler.store import notes
from weibo_crawler.store.notes import HELD, WALLS
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.rows.keys import user_key


def harvest_by_levels(home: Home, options: argparse.Namespace) -> Done:
    """Walk level after level until a stop rule holds. Errors: as `harvest`, and those of jobs."""
    home.bind_site()
    _check(home)
    how = with_cluster(home.settings, How(options.runner, environ_of(options)))
    with _alone(home.users) as driver:
        _import_seeds(home)
        WALLS.of("harvest").clear(home.users)  # a command begins with trying them
        walk = _Levels(home, how, driver, retry=options.retry_failed)
        with stopped_by_signals(walk.stop):
            why = walk.run()
        return walk.closed(why)


@contextmanager
def _alone(users: notes.Notes) -> Iterator[str]:
    """The name of this driver, while no other one counts users and levels in the same store.
    Errors: BadUsage where one is at work."""
    ours, before = Driver(new_owner(), time.time()), LEVELS_DRIVER.get(users)
    beat = notes.DRIVER.of(before.run_id).get(users) or 0.0 if before is not None else 0.0

    def take(held: Driver | None) -> Driver:
        if held is not None and held.is_at_work(ours.at, beat):
            machine, process = held.owner.split("/")[:2]
            raise BadUsage(
                f"another `harvest --runner` walks the same users (process {process} on "
                f"{machine.partition('_')[0]}): wait for its end, or stop it"
            )
        return ours

    def leave(held: Driver | None) -> Driver:
        return held if held is not None and held.owner != ours.owner else Driver()

    LEVELS_DRIVER.change(users, take)
    try:
        yield ours.owner
    finally:
        LEVELS_DRIVER.change(users, leave)


def _import_seeds(home: Home) -> None:
    """Bring seeds into the tables. Those that come after a walk has begun are walked, too, and may
    be shorter ways."""
    users, standing = home.users, STANDING.get(home.users)
    if _import(home) and standing is not None:
        users.call_depths_bounds("seeds were added after the walk had begun")
    note_rules(users, home.settings.harvest, standing is not None)


def _import(home: Home) -> int:
    """Bring who is new in SQL into the tables; how many they are."""
    users, place = home.users, home.settings.store.tables
    seq = notes.IMPORTED_SEQ.of(place).get(users) or 0
    keys = [user_key(seed.uid) for seed in users.users(after_seq=seq)]
    new = sum(not cells for cells in home.tables.userlist.rows(keys, ["user:id"]).values())
    before = users.count_upto(seq)
    HELD.change(users, lambda held: (before if held is None else held) + new)
    import_users(users, home.tables, place, new_run_id())  # counted first: room is never too much
    return len(keys)


def _check(home: Home) -> None:
    """BadUsage where this store was, or is to be, walked in another way."""
    if STANDING.get(home.users) is None and any(home.users.depths().keys() - {0}):
        raise BadUsage(
            f"{home.place('users')} was harvested without --runner: go on so, or give other stores "
            "(store.users, store.tables)"
        )


class _Levels:
    """The jobs of one command. The first one also reads what earlier commands could not; retry: and
    walks what failed."""

    def __init__(self, home: Home, how: How, driver: str, *, retry: bool) -> None:
        self._home, self._how, self._driver = home, how, driver
        self._settings, self._retry = home.settings.harvest, retry
        self._is_first, self._by_topics = True, 0
        self._goes_on = True  # whether users above max_depth may be left, though it was reached
        self._began = time.monotonic()
        self._job: JobRun | None = None
        self._is_told = self._is_timed_out = False
        self._counters: dict[str, int] = {}
        self._shown = Counters()
        self.levels: list[dict[str, int]] = []

    def stop(self) -> None:
        """Begin no other job, and stop that which is at work."""
        self._is_told = True
        if self._job is not None:
            self._job.stop()

    def run(self) -> str:
        """Job after job; why there is no further one. Errors: Interrupted, and what ends a job."""
        metrics = self._home.settings.metrics
        with Progress("harvest") as progress, OpenMetrics(metrics, self._shown, "harvest") as om:

            def show(text: str) -> None:
                om.write()
                progress.say(text)

            self._read_topics(show)
            while True:
                standing = STANDING.get(self._home.users) or Standing()
                if why := self._why_over(standing.level):
                    return why
                level = self._within(standing.level)
                counters = self._level(standing, level, show)
                self._counters = total([self._counters, counters])
                if counters.get(FULL) and self._is_full:
                    return self._full
                if counters.get(LEFT):
                    return self._timeout
                self._goes_on = level < standing.level and counters.get(OPEN, 0) > 0
                if level < standing.level or counters.get(FULL):
                    continue
                standing = STANDING.get(self._home.users) or Standing()
                if not standing.is_open:
                    return "nobody new is found"
                STANDING.put(self._home.users, Standing(standing.level + 1))

    def _read_topics(self, show: Callable[[str], None]) -> None:
        """By one map, before all levels: who wrote there stands one step from the seeds. Errors: as
        `_level`."""
        users, before = self._home.users, STANDING.get(self._home.users) or Standing()
        is_left = any(topic.state != "done" for topic in users.topics())
        if not is_left or self._settings.max_depth == 0 or self._is_full:
            return
        STANDING.put(users, before)
        job = LevelJob(new_run_id(), before.level, driver=self._driver, topics=True)
        counters = self._run(job, manifest(1), show)
        self._counters = total([self._counters, counters])
        self._by_topics = _import(self._home)
        if self._by_topics:
            STANDING.put(users, replace(before, is_open=True))
            if before.level:
                users.call_depths_bounds("topics were read after the walk had begun")
        self._judge(job, counters)
        if not self._kept:
            say_no(self._home, job.run_id, "there is no user to walk, and no topic was shown")

    def _within(self, level: int) -> int:
        """The level of a job, at most the last one that is walked."""
        most = self._settings.max_depth
        return level if most is None else min(level, most - 1)

    def _why_over(self, level: int) -> str:
        """Why no job of this level is begun, "" where one is."""
        most = self._settings.max_depth
        if self._is_full:
            return self._full
        if most is not None and level >= most and not self._goes_on:
            return f"harvest.max_depth = {most} is reached"
        return self._timeout if self._is_late else ""

    @property
    def _is_full(self) -> bool:
        """Whether no room is left, also when what reducers took that were killed is given back."""
        if self._kept >= self._settings.max_users:
            rows = self._home.tables.userlist.scan(columns=["user:depth"])
            HELD.put(self._home.users, sum(1 for _ in rows))
        return self._kept >= self._settings.max_users

    @property
    def _kept(self) -> int:
        return HELD.get(self._home.users) or 0

    @property
    def _full(self) -> str:
        return f"harvest.max_users = {self._settings.max_users:,} is reached"

    @property
    def _timeout(self) -> str:
        return f"harvest.max_time_s = {self._settings.max_time_s:g} is over"

    @property
    def _is_late(self) -> bool:
        most = self._settings.max_time_s
        return most is not None and time.monotonic() - self._began >= most

    def _level(self, before: Standing, level: int, say: Callable[[str], None]) -> dict[str, int]:
        """The figures of one job. Its walks count from its end on, but where there was no room for
        all whom they have found. Errors: Interrupted, SiteSaysNo, and those of `JobRun.run`."""
        users, run_id = self._home.users, new_run_id()
        pending = (*before.pending, run_id)
        wanted = Wanted(level, pending, self._is_first, self._retry)
        job = LevelJob(run_id, level, self._is_first, self._retry, self._driver)
        self._is_first = self._retry = False
        lines = self._manifest(wanted)
        if not lines:
            return {}
        STANDING.put(users, replace(before, pending=pending))
        counters = self._run(job, lines, say)
        is_open = before.is_open or counters.get(OPEN, 0) > 0
        STANDING.put(users, Standing(before.level, is_open, pending if counters.get(FULL) else ()))
        walked = {"level": level, "walked": counters.get(WALKED, 0)}
        self.levels.append(walked | {"new": counters.get(NEW, 0)})
        self._judge(job, counters)
        return counters

    def _run(self, job: LevelJob, lines: str, say: Callable[[str], None]) -> dict[str, int]:
        LEVELS_DRIVER.put(self._home.users, Driver(self._driver, time.time(), job.run_id))
        parts = self._home, job, self._how, partial(self._show, job, say)
        with job_run(*parts, "jobs/harvest_level.py", lines) as run:
            self._job = run
            if self._is_told:
                run.stop()
            counters = run.run()
        self._job = None
        return counters

    def _judge(self, job: LevelJob, counters: dict[str, int]) -> None:
        users = self._home.users
        if said := parse_said(notes.STOP.of(job.run_id).get(users) or ""):
            say_no(self._home, job.run_id, said.message)
        if self._is_told:
            raise Interrupted(job.stopped(counters, is_killed=False))
        failed = counters.get("entries.failed", 0)
        walked = sum(counters.get(f"entries.{how}", 0) for how in ("done", "gone"))
        if is_over_share(failed, failed + walked, self._settings.max_failed_share):
            why = (
                f"{failed} of {failed + walked} users could not be walked; their lists are marked "
                "failed, and `harvest --runner … --retry-failed` asks for them again"
            )
            say_no(self._home, job.run_id, why)

    def _show(
        self, job: LevelJob, say: Callable[[str], None], counters: dict[str, int], note: str
    ) -> None:
        self._shown.replace(total([self._counters, counters]))
        if self._is_late and self._job is not None and not self._is_timed_out:
            self._is_timed_out = True  # a second call would kill it
            self._job.stop()
        parts = [
            f"level {job.level}: {self._kept:,} users kept",
            f"{counters.get('entries.done', 0):,} lists read",
            f"{counters.get('page.ok', 0):,} pages",
            note,
        ]
        say(", ".join(filter(None, parts)))

    def _manifest(self, wanted: Wanted) -> str:
        """The ranges that may hold users to walk, "" where none does."""
        held = list[bool]()

        def holds(part: KeyRange) -> bool:
            held.append(may_hold(self._home.tables, part, wanted))
            return held[-1]

        lines = manifest(self._home.settings.posts.ranges, holds)
        return lines if any(held) else ""

    def closed(self, why: str) -> Done:
        """The closing line and the figures."""
        counts, span_s = self._counters, time.monotonic() - self._began
        bounds, topics = self._home.users.depths_are_bounds(), self._home.users.topics()
        new = counts.get(NEW, 0) + self._by_topics
        level = (STANDING.get(self._home.users) or Standing()).level
        data = {
            "stopped": why,
            "kept": self._kept,
            "new": new,
            "filtered": counts.get("users.filtered", 0),
            "level": level,
            "levels": self.levels,
            "depths_exact": not bounds,
            "topics": topics_dict(topics),
            "counters": counts,
            "seconds": round(span_s, 3),
        }
        lines = [
            f"harvest: {self._kept:,} users kept ({grouped(new, 'none')} new), "
            f"{data['filtered']:,} sightings filtered, level {level}, in {seconds(span_s)}: {why}",
            f"pages: {verdicts(counts)}",
        ]
        if failed := counts.get("entries.failed"):
            lines.append(
                f"{failed:,} users failed: `harvest --runner … --retry-failed` asks for them again"
            )
        if bounds:
            lines.append(f"depths are upper bounds: {bounds}")
        return Done("\n".join([*lines, *topic_lines(topics)]), data)

"""posts --follow: jobs one after another, each when somebody is due."""

import time
from collections.abc import Callable, Iterable, Iterator
from math import inf
from threading import Event

from weibo_crawler.cli.main import Done
from weibo_crawler.cli.plans import visits_allowed
from weibo_crawler.cli.posts import How, note_refusal, posts_line, posts_run, prepared
from weibo_crawler.cli.posts_closing import closed, site_says_no
from weibo_crawler.cli.show import Progress, seconds
from weibo_crawler.cli.stopping import stopped_by_signals
from weibo_crawler.errors import Interrupted
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.metrics import Counters, OpenMetrics, figures, total
from weibo_crawler.posts.crawl import ELSEWHERE
from weibo_crawler.posts.driver import JobRun
from weibo_crawler.posts.due import Due, Job, revisit_of, users_in
from weibo_crawler.posts.follow import Next, follow, next_due
from weibo_crawler.posts.schedule import Demand
from weibo_crawler.posts.workers import Latest, stopped, visited
from weibo_crawler.store.owners import new_owner

# of each job, those whom it left alone: later jobs look at them again
_LEFT_ALONE = ("users.existing", f"users.{ELSEWHERE}")

_FEW = 32  # users whom one mapper visits as fast as several
_PACE_S = 3600.0  # the pace that is allowed is looked at again after so long

Show = Callable[[dict[str, int], str, bool], None]


def follow_posts(home: Home, how: How, job: Job, span_s: float | None) -> Done:
    """Visit users as they become due, until Ctrl-C or for so many seconds; the figures of all jobs.
    Errors: Interrupted after Ctrl-C, and what ends a job."""
    began, shown, how = time.time(), Counters(), prepared(home, how)
    with Progress("posts") as progress, OpenMetrics(home.settings.metrics, shown, "posts") as om:

        def show(counters: dict[str, int], note: str, is_news: bool) -> None:
            shown.replace(figures(counters))
            om.write()
            visits = f"{visited(counters):,} visits"
            line = ", ".join(filter(None, [visits, posts_line(counters), note]))
            progress.say(line, is_news=is_news)

        until = inf if span_s is None else began + span_s
        jobs = _Jobs(home, how, job, show, began, until)
        with stopped_by_signals(jobs.stop):
            revisit = revisit_of(home.settings.posts)
            follow(jobs.visit, jobs.look, jobs.sleep, time.time, revisit=revisit, until=until)
            jobs.raise_if_told()
    return closed(home, jobs.done, time.time() - began, jobs=jobs.n)


class _Jobs:
    """The jobs of one command, and the sleep between them. done: the figures of all of them; n: how
    many there were. until: seconds since the epoch, when a job is told to end; began: likewise."""

    def __init__(
        self,
        home: Home,
        how: How,
        job: Job,
        show: Show,
        began: float,
        until: float,
    ) -> None:
        self._home, self._how, self._job = home, how, job
        self._show, self._began, self._until = show, began, until
        self._told, self._stops = Event(), 0
        self._run: JobRun | None = None
        self._latest = Latest()
        self._visits_a_day: float | None = None  # that the pace allows, as of
        self._asked_at = -inf
        self._posts = 0.0
        self.done: dict[str, int] = {}
        self.n = 0

    def stop(self) -> None:
        """Begin nothing new; called again, end the job under way at once."""
        self._stops += 1
        self._told.set()
        if self._run is not None:
            self._run.stop()

    def raise_if_told(self) -> None:
        """Raise Interrupted after `stop`."""
        if self._stops:
            raise Interrupted(stopped(self.done, is_killed=self._stops > 1))

    def look(self, now: float) -> Next | None:
        """Who is due next; and how many new posts to wait for, as far as the pace suffices."""
        if not 0 <= now - self._asked_at < _PACE_S:
            self._visits_a_day, self._asked_at = visits_allowed(self._home), now
        demand = Demand(revisit_of(self._home.settings.posts))
        users = _counted(users_in(self._home.tables), demand)
        due = next_due(users, Job("", refresh=True, follow=True), now)
        self._posts = demand.posts(self._visits_a_day)
        return due

    def sleep(self, seconds_: float, due: Next | None) -> bool:
        """Wait, and say for whom; False after `stop`."""
        self._show(self.done, _told_next(due, time.time()), True)
        return not self._told.wait(seconds_)

    def visit(self, users: int) -> None:
        """One job. users: how many are due; few are visited by one mapper."""
        job = self._job._replace(
            run_id=new_run_id(), driver=new_owner(), follow=True, revisit_posts=self._posts
        )
        ranges = 1 if users <= _FEW else None
        with posts_run(self._home, job, self._how, self._shown, ranges) as run:
            self._run = run
            self.raise_if_told()
            try:
                counters = run.run()
            except Interrupted:  # by us: the time is over, or Ctrl-C
                counters = run.counters()
            finally:
                self._run = None
        self.n += 1
        self.done = self._with(counters)
        self.raise_if_told()
        self._judge(job, counters)

    def _shown(self, counters: dict[str, int], note: str) -> None:
        if self._posts > self._home.settings.posts.revisit_posts:
            wanted = f"the pace is short: {self._posts:g} new posts a user are waited for"
            note = ", ".join(filter(None, [note, wanted]))
        self._show(self._with(counters), note, False)
        if time.time() >= self._until and self._run is not None:
            self._until = inf  # once: a second word would kill the mappers
            self._run.stop()

    def _judge(self, job: Job, counters: dict[str, int]) -> None:
        """End with SiteSaysNo where the latest jobs together say so: of a few visits alone nothing
        follows."""
        if why := site_says_no(self._latest.add(counters), self._home.settings):
            note_refusal(self._home, job.run_id, why)
            closed(self._home, self.done, time.time() - self._began, why, self.n)

    def _with(self, counters: dict[str, int]) -> dict[str, int]:
        """The figures of all jobs, and of one more."""
        mine = {name: n for name, n in counters.items() if name not in _LEFT_ALONE}
        mine["users.input"] = visited(counters)
        return total([self.done, mine])


def _counted(users: Iterable[Due], demand: Demand) -> Iterator[Due]:
    """The same users; of those who were visited it is counted how often they will be."""
    for user in users:
        ledger = user.ledger
        if ledger is not None and ledger.next_visit is not None:
            a_day = ledger.posts_per_day
            demand.add(None if a_day is None else a_day / 86_400, ledger.doubts)
        yield user


def _told_next(due: Next | None, now: float) -> str:
    if due is None:
        return "asleep: nobody is imported who is to be visited"
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(due.at))
    users = "1 user is" if due.users == 1 else f"{due.users:,} users are"
    return f"asleep: {users} due next, at {at} (in {seconds(max(0.0, due.at - now))})"

"""Where the crawl stands, for Prometheus: gauges of its stores, beside the counters of a run
(`metrics`)."""

from collections.abc import Iterator, Mapping
from typing import Any

from weibo_crawler.analysis.completeness import Completeness
from weibo_crawler.analysis.status import StatusReport, topics_dict
from weibo_crawler.metrics import gauges
from weibo_crawler.records import State

_VISITED = ("done", "partial", "gone", "failed", "empty", "unvisited")
# fields of `Completeness`, as metrics
_POSTS = {
    "limited": ("limited_users", "Users done of whose timeline some part was never read"),
    "due": ("due_users", "Users who are due for another visit"),
    "announced": ("announced_posts", "Posts that visited users announce"),
    "stored": ("stored_posts", "Stored posts of visited users, with those that are gone since"),
    "gone_posts": ("gone_posts", "Stored posts that have disappeared from the site"),
    "cut_texts": ("cut_texts", "Long texts that are stored cut"),
    "restricted_texts": ("restricted_texts", "Texts that guests are not shown"),
    "unreadable": ("unreadable_posts", "Posts that were shown and could not be read"),
    "gaps": ("gaps", "Spans of time of which posts may be missing"),
    "newest_visit": ("newest_visit_timestamp_seconds", "When the user visited last was visited"),
    "oldest_visit": ("oldest_visit_timestamp_seconds", "When the user not visited the longest was"),
}


class Gauges:
    """A collector of prometheus_client. ended_well: as `status.last_success`."""

    def __init__(self, report: StatusReport, ended_well: Mapping[str, float]) -> None:
        self._report, self._ended_well = report, ended_well

    def collect(self) -> Iterator[Any]:
        """prometheus_client's collector protocol."""
        report = self._report
        states = {str(state): report.states.get(state, 0) for state in State}
        yield gauges("users", "Users kept, by the state of their lists", "state", states)
        depths = {str(depth): n for depth, n in report.depths.items()}
        yield gauges("users_by_depth", "Users kept, by depth", "depth", depths)
        yield _plain(
            "unsure_lists", "Lists that ended before the announced count", report.unsure_lists
        )
        walled = {str(one.edge): one.lists for one in report.walled}
        yield gauges("walled_lists", "Lists that guests were not shown", "edge", walled)
        topics = topics_dict(report.topics)
        yield gauges(
            "topics",
            "Topics that are seeds, by state: queued, done, walled, failed",
            "state",
            topics,
        )
        if report.completeness is not None:
            yield from _of_posts(report.completeness)
        yield from self._of_runs()

    def _of_runs(self) -> Iterator[Any]:
        stages = self._report.stages
        seen = {stage: at for stage, at, _ in self._report.last}
        seen |= {one.stage: self._report.at for one in stages}
        yield gauges(
            "workers", "Processes at work", "stage", {one.stage: one.workers for one in stages}
        )
        to_do = {one.stage: one.to_do for one in stages if one.to_do is not None}
        yield gauges("users_to_do", "Users left, of stages at work", "stage", to_do)
        yield gauges("last_seen_timestamp_seconds", "When a run was last at work", "stage", seen)
        said = "When a run last came to its end without an error"
        yield gauges("last_success_timestamp_seconds", said, "stage", self._ended_well)


def text(report: StatusReport, ended_well: Mapping[str, float]) -> str:
    """All gauges in Prometheus's text format."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(Gauges(report, ended_well))
    return generate_latest(registry).decode()


def _of_posts(figures: Completeness) -> Iterator[Any]:
    states = {state: getattr(figures, state) for state in _VISITED}
    yield gauges("imported_users", "Imported users, by their last visit", "state", states)
    for field, (name, said) in _POSTS.items():
        if (value := getattr(figures, field)) is not None:
            yield _plain(name, said, value)


def _plain(name: str, said: str, value: float) -> Any:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(f"weibo_crawler_{name}", said, value=value)

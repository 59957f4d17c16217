"""A crawl in two parts of one world: the plan after the first one beside what the second one asks
of the site."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.cli.crawls import Crawl
from weibo_crawler.simulator.routes import VISITOR, Kind, understand

_MOST = 0.1  # of a plan may be wrong
_VAGUE = 0.4  # a plan that says it may be more wrong than this says nothing
_OFTEN, _KIND = 200, 1.5  # a kind of so many requests may be so many times as wrong
_SESSIONS = ("/", "/visitor/visitor", VISITOR)
_TEXTS = (Kind.EXTEND, Kind.SHOW, Kind.DETAIL)
_KINDS = {"profiles": "profiles", "long texts": "long texts", "sessions": "sessions"}


@dataclass(frozen=True)
class Part:
    """planned, sent: requests by kind of page; plan: as --json gives it."""

    plan: dict[str, Any]
    planned: Counter[str]
    sent: Counter[str]

    def error(self, kind: str = "") -> float:
        """Planned over sent, less 1; of all kinds but sessions, or of one."""
        planned, sent = Counter(self.planned), Counter(self.sent)
        if kind:
            return planned[kind] / sent[kind] - 1
        return sum(planned.values()) / sum(sent.values()) - 1

    def __str__(self) -> str:
        kinds = sorted({*self.planned, *self.sent})
        both = (f"{kind} {self.planned[kind]:.0f}/{self.sent[kind]}" for kind in kinds)
        return f"{self.error():+.1%} ({', '.join(both)})"


def run_part(
    crawl: Crawl, asked: Callable[[], list[str]], command: Sequence[str], **env: str
) -> Part:
    """Plan a command, then run it."""
    plan = crawl.json(*command, "--plan", **env)
    before = len(asked())
    crawl.run(*command, **env)
    sent = Counter(map(_kind, asked()[before:]))
    planned: Counter[str] = Counter()
    for name, requests in plan["by_kind"].items():
        planned[_planned_kind(name)] += requests or 0  # type: ignore[assignment]
    for counts in (planned, sent):
        del counts["sessions"]
    return Part(plan, planned, sent)


def two_parts(
    crawl: Crawl, seeds: Sequence[str], asked: Callable[[], list[str]], depth: int
) -> tuple[Part, Part]:
    """harvest and posts to a depth: then the next level of the harvest, and, once the harvest is at
    its end, all visits that are left."""
    crawl.run("seed", *seeds)
    crawl.run("harvest", WEIBO_HARVEST__MAX_DEPTH=str(depth))
    crawl.run("import")
    crawl.run("posts")
    walked = run_part(crawl, asked, ["harvest"], WEIBO_HARVEST__MAX_DEPTH=str(depth + 1))
    crawl.run("harvest")
    crawl.run("import")
    return walked, run_part(crawl, asked, ["posts"])


def check(*parts: Part) -> None:
    """Each part is as planned, in all and by each kind that is asked for often."""
    for part in parts:
        said = f"{part}, likely within {part.plan['spread']}"
        most = max(_MOST, part.plan["spread"] or 0.0)
        assert most < _VAGUE, said
        assert abs(part.error()) <= most, said
        for kind, sent in part.sent.items():
            if sent >= _OFTEN:
                assert abs(part.error(kind)) <= _KIND * most, f"{kind}: {said}"


def _kind(request: str) -> str:
    if request.partition("?")[0] in _SESSIONS:
        return "sessions"
    kind = understand(request).kind
    if kind in _TEXTS:
        return "long texts"
    return {Kind.PROFILE: "profiles"}.get(kind, str(kind.value))


def _planned_kind(name: str) -> str:
    last = name.rpartition(", ")[2]
    if last in _KINDS or name.startswith("profiles"):
        return _KINDS.get(last, "profiles")
    if "posts" in last or name.startswith(("first", "later")):
        return "posts"
    return last if last in ("comments", "names") else name.partition(",")[0]

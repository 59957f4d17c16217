"""A plan: what is to be asked for, how fast that may go, how much room it takes. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from weibo_crawler.analysis.asked import Asked
from weibo_crawler.analysis.numbers import percent
from weibo_crawler.records import EgressState, Health


class Part(NamedTuple):
    """Requests of one kind. requests: None where nobody knows; why: where the figure comes from;
    measured: the requests whose rate it goes on with, 0 where it is not measured."""

    kind: str
    requests: float | None
    why: str
    measured: int = 0


class Room(NamedTuple):
    """Bytes on disk. bytes: None where nobody knows."""

    what: str
    bytes: float | None
    why: str


class Pace(NamedTuple):
    """How fast requests may go. usable: egresses that are not dead now, of so many; learned: how
    many of these have a rate that answers taught; rate: requests a second of all usable ones
    together, 0 where there is no limit; asked: requests a second that the last run of the stage
    sent, None where there was none that lasted."""

    egresses: int
    usable: int
    learned: int
    rate: float
    setting: float
    asked: float | None = None

    @property
    def per_s(self) -> float | None:
        """Requests a second: what is allowed; without a limit what the last run did."""
        return self.rate if self.setting else self.asked


class Plan(NamedTuple):
    """stage: "harvest", "posts" or "plan". users: who are to be walked or visited. parts: all
    requests of that; spread: the share by which their sum may well be wrong, None where nobody
    knows. later: what may come after it, a line each, for people; figures: the same for --json."""

    stage: str
    users: int
    parts: tuple[Part, ...]
    pace: Pace
    rooms: tuple[Room, ...] = ()
    spread: float | None = None
    later: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    figures: dict[str, float | None] = {}  # noqa: RUF012 - never written to

    @property
    def requests(self) -> float | None:
        """Of all kinds; None where one of them is not known."""
        return total(part.requests for part in self.parts)

    @property
    def hours(self) -> float | None:
        """At this pace."""
        return hours(self.requests, self.pace)


def pace_of(
    states: Sequence[EgressState | None], setting: float, asked: float | None = None
) -> Pace:
    """Of the egresses of the settings. states: what the leases know of each, None: nothing;
    setting: pace.requests_per_second; asked: as in `Pace`."""
    usable = [one for one in states if one is None or one.health is not Health.DEAD]
    rates = [setting if one is None else min(one.rate, setting) for one in usable]
    learned = sum(rate != setting for rate in rates)
    return Pace(len(states), len(usable), learned, sum(rates), setting, asked)


def total(figures: Iterable[float | None]) -> float | None:
    """The sum; None where one is not known."""
    known = list(figures)
    return None if None in known else sum(one for one in known if one is not None)


def hours(requests: float | None, pace: Pace) -> float | None:
    """How long so many requests take; None where requests or pace are not known."""
    if requests == 0:
        return 0.0
    if requests is None or not pace.per_s:
        return None
    return requests / pace.per_s / 3600


def spoilt_lines(factor: float) -> list[str]:
    """What is assumed of refusals and troubles. factor: requests for each that told something."""
    if factor <= 1:
        return []
    share = f"{percent((factor - 1) / factor)} of the requests so far"
    return [f"refusals and troubles go on as they were: {share}"]


def sessions(asked: Asked, runs: int, next_runs: int, parts: Sequence[Part]) -> Part:
    """Sessions of a stage. Some are asked for at the start of each process (runs, next_runs: how
    many there were, and will be); the others end with requests, so they go with these."""
    sent, known = asked.all().sent, total(part.requests for part in parts)
    if not asked.sessions or not sent:
        return Part("sessions", 0.0, "none was asked for so far")
    begun = min(asked.sessions, runs)
    more = (asked.sessions - begun) / sent
    why = f"measured: {asked.sessions:,} for {sent:,} requests of {runs:,} processes"
    requests = None if known is None else begun / runs * next_runs + more * known
    return Part("sessions", requests, why)

"""Second looks at ends that contradict a count, as an experiment: how often does one show more?

While that may be more often than a limit, every such end is looked at again. Once it is rare, only
a sample is, and the latest looks go on deciding: where they show more again, all are asked again.
While none has shown more, what counts is how many of all ends are left that may hold more. So after
half of the looks that would prove it rare, ends are left as long as these are too few to matter.

An end may also be of a sort: `posts.named:blank` is one of the kind `posts.named` and of the
sort `posts:blank`, to which `posts.end:blank` belongs as well. Each is an experiment, and the end
is left where either says so. So what makes looks at other ends pay costs no look at a sort that
holds nothing, and a sort that is seldom met needs no looks of its own.
Pure: the dice are an argument.
"""

import json
from collections.abc import Callable, Mapping
from math import sqrt
from random import Random
from typing import NamedTuple

SORT = ":"  # between a kind and a sort of its ends
_CONFIDENCE = 0.95
_REMEMBERED = 5.0  # looks by the limit: with 500 at 1 in 100 two finds end the sampling
_USUAL_LIMIT = 0.01
_TELLING = 30  # looks that all showed nothing more: a share of 10 % would be found
_FUTILE = 299  # looks that all showed nothing more: their share is below 1 in 100, at 95 %
_EARLY = 2.0  # times the limit: below that ends may be left as long as no look shows more
_SAMPLED = 1 / 20  # of the ends, once second looks are known to be futile
_TURN = sqrt(1 / _SAMPLED) - 1  # times _FUTILE: from so many ends on the sample is enough
_NEWS = 10  # looks
# Such looks only try to get what is known to lack, so nobody is lost without them: each may cost
# twenty requests.
_GAINS = ("texts.", "profile.")
_GAIN_FACTOR = 5


class Figures(NamedTuple):
    """ends: met in all; looks: how many were looked at again; finds: how many of these showed more;
    most: the share of ends that a second look would open is below, at 95 %, by the latest looks."""

    ends: int
    looks: int
    finds: int
    most: float

    @property
    def unlooked(self) -> int:
        """Ends that were believed at the first look."""
        return max(0, self.ends - self.looks)


def look_at(end: str, sort: str = "", nth: int = 2) -> str:
    """The kind of the nth look at such an end; sort: "" for none."""
    end, sort = (f"{one}.{nth}" if nth > 2 and one else one for one in (end, sort))
    return f"{end}{SORT}{sort.replace(' ', '_')}" if sort else end


def of_kinds(figures: Mapping[str, Figures]) -> dict[str, Figures]:
    """Each look once: without those of sorts, which are part of their kinds."""
    return {kind: known for kind, known in figures.items() if SORT not in kind}


def looks_to_come(kind: str, figures: Figures, ends: float) -> float:
    """How many of so many further ends of a kind are likely to be looked at again."""
    # not every end is one that can be looked at: behind it there may be a wall
    as_so_far = ends * figures.looks / figures.ends if figures.ends else ends
    if figures.finds:
        return as_so_far
    due = _looks_at(figures.ends + ends, _FUTILE / _factor(kind)) - figures.looks
    return min(as_so_far, max(due, ends * _SAMPLED))


def _looks_at(ends: float, futile: float) -> float:
    """How many of so many ends are looked at where no look shows more: so many that the others are
    within the limit."""
    early = min(ends, futile * _TURN)
    least = max(futile / _EARLY, futile * early / (futile + early))
    return min(ends, least + (ends - early) * _SAMPLED)


class Samples:
    """The experiments on one site, by kind of end: of this run, and those of earlier and parallel
    ones, which `learn` tells.

    limit: the share of second looks that show more below which only a sample is taken; 0: all ends
    are looked at again. It is five times as much for looks that only try to get what is known to
    lack.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._kinds: dict[str, _Kind] = {}
        self._told: dict[str, tuple[int, str]] = {}  # ends and looks of the latest `news`

    def wants(self, kind: str, rng: Random) -> bool:
        """Count an end of this kind; whether it is to be looked at again."""
        for known in self._with_sort(kind):
            known.count(ends=1)
        return not self.is_rare(kind) or rng.random() < _SAMPLED

    def looked(self, kind: str, *, found: bool) -> None:
        """Tell what a second look has shown. found: more than the first one."""
        for known in self._with_sort(kind):
            known.count(looks="01"[found])

    def is_rare(self, kind: str) -> bool:
        """Whether second looks show more so rarely that a sample is enough."""
        return any(known.is_rare for known in self._with_sort(kind))

    def has_found(self, kind: str) -> bool:
        """Whether one of the latest second looks showed more; also where no share is rare, and
        before so many were taken that they say something."""
        return not self._limit or self.may_find(kind, _TELLING)

    def may_find(self, kind: str, least: int) -> bool:
        """Whether one of the latest looks showed more, or fewer than this were taken."""
        latest = [known.latest for known in self._with_sort(kind)]
        return all(len(looks) < least or "1" in looks for looks in latest)

    def finds_often(self, kind: str) -> bool:
        """Whether the latest looks showed more clearly more often than the limit; so it is not with
        a find or two of many."""
        return all(known.is_often for known in self._with_sort(kind))

    def figures(self) -> dict[str, Figures]:
        """Of each kind of end that was met."""
        return {kind: known.figures() for kind, known in self._kinds.items() if known.ends}

    def news(self) -> Callable[[str | None], str] | None:
        """What adds to the note that all runs on the site share what was counted here since the
        latest `learn`, None: that is nothing. It may be called more than once, in any thread; the
        note that it was added to last is to be learnt."""
        self._told = {kind: known.fresh for kind, known in self._kinds.items() if any(known.fresh)}
        told = self._told

        def add(note: str | None) -> str:
            noted = Samples(self._limit)
            noted.learn(note)
            for kind, (ends, looks) in told.items():
                noted._of(kind).count(ends, looks)
            return json.dumps({kind: known.said() for kind, known in noted._kinds.items()})

        return add if told else None

    def learn(self, note: str | None) -> None:
        """Learn from the note, unless it is odd. It holds the latest `news`."""
        noted = _read(note)
        for kind in {*noted, *(kind for kind, known in self._kinds.items() if any(known.fresh))}:
            known, (ends, looks) = self._of(kind), self._told.get(kind, (0, ""))
            ends, looks = known.fresh[0] - ends, known.fresh[1][len(looks) :]
            known.learn(noted.get(kind, (0, 0, 0, "")))
            known.count(ends, looks)
        self._told = {}

    @property
    def is_news(self) -> bool:
        """Whether so many looks were taken since the latest `learn` that other runs on the site
        would take fewer if they knew: they do not wait until the next report."""
        return any(
            len(known.fresh[1]) >= _NEWS and known.is_undecided for known in self._kinds.values()
        )

    def _with_sort(self, kind: str) -> list["_Kind"]:
        """The kind alone and, where one is named, the sort."""
        name, mark, sort = kind.partition(SORT)
        known = [self._of(name)]
        return [*known, self._of(f"{name.partition('.')[0]}{SORT}{sort}")] if mark else known

    def _of(self, kind: str) -> "_Kind":
        if kind not in self._kinds:
            self._kinds[kind] = _Kind(min(self._limit * _factor(kind), 0.5))
        return self._kinds[kind]


class _Kind:
    """One experiment. latest: the latest looks, one character each, "1" where it found something;
    fresh: ends and looks since the last `learn`."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._size = round(_REMEMBERED / (limit or _USUAL_LIMIT))
        self.ends = self._looks = self._finds = 0
        self.latest = ""
        self.fresh = (0, "")
        self._is_told = False  # so few finds would be a coincidence if their share were the limit

    @property
    def is_rare(self) -> bool:
        """Whether the next end may be left: second looks hardly ever show more, or none has so far
        and of all ends so few are left that those which may hold more are within the limit."""
        return self._is_told or self._is_early()

    @property
    def is_often(self) -> bool:
        """Whether so many finds would be a coincidence if their share were the limit."""
        n, finds = len(self.latest), self.latest.count("1")
        return finds > 0 and _chance_of_at_most(finds - 1, n, self._limit) >= _CONFIDENCE

    @property
    def is_undecided(self) -> bool:
        """Whether further looks may tell that a sample is enough."""
        return self._limit > 0 and not self.is_rare and not self.is_often

    def count(self, ends: int = 0, looks: str = "") -> None:
        self.ends += ends
        self._looks += len(looks)
        self._finds += looks.count("1")
        self.fresh = (self.fresh[0] + ends, self.fresh[1] + looks)
        if looks:
            self._remember(self.latest + looks)

    def said(self) -> "_Said":
        return self.ends, self._looks, self._finds, self.latest

    def learn(self, said: "_Said") -> None:
        self.ends, self._looks, self._finds, latest = said
        self.fresh = (0, "")
        self._remember(latest)

    def figures(self) -> Figures:
        return Figures(self.ends, self._looks, self._finds, self._most())

    def _remember(self, latest: str) -> None:
        self.latest = latest[-self._size :]
        self._is_told = self._limit > 0 and self._is_below(self._limit)

    def _is_early(self) -> bool:
        if not self._limit or not self.latest or "1" in self.latest:
            return False
        most: float = 1 - (1 - _CONFIDENCE) ** (1 / len(self.latest))
        left = self.ends - self._looks
        return most <= _EARLY * self._limit and most * left <= self._limit * self.ends

    def _is_below(self, share: float) -> bool:
        n, finds = len(self.latest), self.latest.count("1")
        return _chance_of_at_most(finds, n, share) <= 1 - _CONFIDENCE

    def _most(self) -> float:
        """The upper end of the one-sided Clopper-Pearson interval, to a millionth."""
        low, high = 0.0, 1.0
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (low, middle) if self._is_below(middle) else (middle, high)
        return high


_Said = tuple[int, int, int, str]


def _read(note: str | None) -> dict[str, _Said]:
    """The kinds of a note that can be read."""
    try:
        said = json.loads(note or "{}")
    except ValueError:
        return {}
    kinds = said.items() if isinstance(said, dict) else ()
    return {kind: tuple(one) for kind, one in kinds if _is_said(one)}


def _is_said(one: object) -> bool:
    """Whether these are the three counts and the latest looks of a kind."""
    if not isinstance(one, list) or [type(part) for part in one] != [int, int, int, str]:
        return False
    return not set(one[3]) - {"0", "1"}


def _factor(kind: str) -> int:
    return _GAIN_FACTOR if kind.startswith(_GAINS) else 1


def _chance_of_at_most(k: int, n: int, share: float) -> float:
    """Of the binomial distribution: at most k of n, where each comes with the chance `share`."""
    if share >= 1:
        return float(k >= n)
    term = total = (1 - share) ** n
    for i in range(k):
        term *= (n - i) / (i + 1) * share / (1 - share)
        total += term
    return total

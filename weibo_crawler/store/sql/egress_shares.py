"""Who gets which egress, and who must hand one back. Pure.

A pool is a set of egresses that some processes may use: the proxies of one file, or the direct
connection of one public address. The share of a contender is, over the usable egresses of its
pools, the sum of 1 / how many contenders may use each: together the shares are what there is.

* A free egress goes to the contender that holds least for its share, up to its share rounded up.
* Who holds less than its share rounded down (and at least one) is owed: who holds more than that
  hands some over. What somebody holds over its share rounded up goes to whoever has room for it.
* Where egresses are fewer than contenders nobody has a surplus: who holds nothing is owed the
  egress that somebody held longest, once that is `slice_s`. So everybody has its turn, in the order
  of `waits_since`.
* What rests or is dead counts for nobody. A dead proxy whose probe is due is given away beside the
  shares; a probe is one request.
* A guest takes what is left free, counts for nothing and is owed nothing.
"""

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heapreplace
from itertools import cycle
from math import ceil, floor
from typing import NamedTuple

_EPS = 1e-9  # shares are sums of fractions


class Contender(NamedTuple):
    """A process that wants egresses. waits_since: when it came, or last handed one back."""

    owner: str
    pools: frozenset[str]
    waits_since: float
    is_guest: bool = False


class Standing(NamedTuple):
    """One egress. pools: the ones it is in; since: how long its holder has it; is_usable: it
    counts; may_go: it may be given to somebody now."""

    pools: frozenset[str]
    holder: str | None = None
    since: float = 0.0
    recalled: bool = False
    is_usable: bool = True
    may_go: bool = True


class Allotment(NamedTuple):
    """grants: egress -> new holder; recalls: egresses whose holders must hand them back."""

    grants: dict[str, str]
    recalls: list[str]


class _Group:
    """The egresses that the same contenders may use."""

    def __init__(self, users: frozenset[str], guests: list[str]) -> None:
        self.users, self.guests = users, guests
        self.usable = self.recalled = 0
        self.asked: set[str] = set()  # who was asked to hand one back
        self.free: list[str] = []
        self.dead: list[str] = []
        self.held: dict[str, list[tuple[float, str]]] = {}  # by owner, oldest first


def allot(
    contenders: Iterable[Contender], egresses: Mapping[str, Standing], *, now: float, slice_s: float
) -> Allotment:
    """Decide who gets what now, and who hands what back. slice_s: as above, in seconds."""
    allotting = _Allotting(contenders, egresses)
    return Allotment(allotting.grant(), allotting.recall(now - slice_s))


class _Allotting:
    def __init__(self, contenders: Iterable[Contender], egresses: Mapping[str, Standing]) -> None:
        everybody = list(contenders)
        self.waits = {c.owner: c.waits_since for c in everybody if not c.is_guest}
        self.held = dict.fromkeys(self.waits, 0)
        self.groups = _group(everybody, egresses)
        share = dict.fromkeys(self.waits, 0.0)
        for group in self.groups:
            for owner in group.users:
                share[owner] += group.usable / len(group.users)
            for owner, here in group.held.items():
                self.held[owner] += len(here)
        self.asked = {owner for group in self.groups for owner in group.asked}
        self.share = share
        self.low = {owner: max(1, floor(s + _EPS)) for owner, s in share.items()}
        self.high = {owner: max(1, ceil(s - _EPS)) for owner, s in share.items()}

    def grant(self) -> dict[str, str]:
        grants: dict[str, str] = {}
        for group in sorted(self.groups, key=lambda g: len(g.users)):
            left = self._deal(group, grants)
            grants.update(zip(left, cycle(group.guests), strict=False))
            probers = sorted(group.users) or group.guests
            grants.update(zip(group.dead, cycle(probers), strict=False))
        return grants

    def _deal(self, group: _Group, grants: dict[str, str]) -> list[str]:
        """The free egresses of a group, each to the poorest; returns what nobody wants."""
        heap = [(self._wealth(owner), owner) for owner in group.users]
        heapify(heap)
        for n, name in enumerate(group.free):
            while heap and self.held[heap[0][1]] >= self.high[heap[0][1]]:
                heappop(heap)
            if not heap:
                return group.free[n:]
            owner = heap[0][1]
            grants[name] = owner
            self.held[owner] += 1
            heapreplace(heap, (self._wealth(owner), owner))
        return []

    def _wealth(self, owner: str) -> tuple[float, float]:
        return self.held[owner] / max(self.share[owner], _EPS), self.waits[owner]

    def recall(self, before: float) -> list[str]:
        recalls: list[str] = []
        for owner in sorted(self.waits, key=lambda o: (self.waits[o], o)):
            if owner in self.asked:  # it is last in the queue when it has handed back
                continue
            groups = [group for group in self.groups if owner in group.users]
            owed = self.low[owner] - self.held[owner]
            for n in range(owed):
                if self._is_promised(groups):
                    continue
                name = self._surplus(groups, owner, self.low)
                if name is None and n == 0 and not self.held[owner]:
                    name = self._held_longest(groups, before)
                if name is None:
                    break
                recalls.append(name)
            room = self.high[owner] - max(self.held[owner], self.low[owner])
            while room > 0 and (name := self._surplus(groups, owner, self.high)):
                recalls.append(name)
                room -= 1
        return recalls

    def _is_promised(self, groups: list[_Group]) -> bool:
        """Use up a recall that was made before, if there is one; whether there was."""
        for group in groups:
            if group.recalled:
                group.recalled -= 1
                return True
        return False

    def _surplus(self, groups: list[_Group], owed: str, needs: Mapping[str, int]) -> str | None:
        """An egress of whoever has most to spare over what it needs."""
        rich = [
            (self.held[owner] - needs[owner], owner, here)
            for group in groups
            for owner, here in group.held.items()
            if here and owner != owed
        ]
        spare, owner, here = max(rich, key=lambda r: r[:2], default=(0, "", []))
        if spare <= 0:
            return None
        self.held[owner] -= 1
        return here.pop()[1]

    def _held_longest(self, groups: list[_Group], before: float) -> str | None:
        held = [(here[0][0], owner, here) for g in groups for owner, here in g.held.items() if here]
        since, owner, here = min(held, key=lambda h: h[:2], default=(before + 1, "", []))
        if since > before:
            return None
        self.asked.add(owner)
        self.held[owner] -= 1
        return here.pop(0)[1]


def _group(contenders: list[Contender], egresses: Mapping[str, Standing]) -> list[_Group]:
    groups: dict[frozenset[str], _Group] = {}
    for name, standing in egresses.items():
        group = groups.get(standing.pools)
        if group is None:
            able = [c for c in contenders if c.pools & standing.pools]
            users = frozenset(c.owner for c in able if not c.is_guest)
            guests = sorted(c.owner for c in able if c.is_guest)
            group = groups[standing.pools] = _Group(users, guests)
        group.usable += standing.is_usable
        if standing.holder is None:
            if standing.may_go:
                (group.free if standing.is_usable else group.dead).append(name)
        elif standing.is_usable and standing.holder in group.users:
            if standing.recalled:
                group.recalled += 1
                group.asked.add(standing.holder)
            else:
                here = group.held.setdefault(standing.holder, [])
                here.append((standing.since, name))
    for group in groups.values():
        for here in group.held.values():
            here.sort()
    return list(groups.values())

"""Whose turn it is: the egresses that are free now, those to come, and those that are out. Pure."""

import heapq
from collections import Counter
from collections.abc import Collection
from random import Random

from weibo_crawler.fetch.pool.slot import Slot
from weibo_crawler.records import Health

_EXPLORED = 1 / 16  # of the choices look at no figures


class Turns:
    """Slots by when they may go. Putting one, taking one off and choosing take some microseconds
    among 10,000, also where most are out. `put` a slot whenever its health or next_free changed.
    """

    def __init__(self) -> None:
        self._free: list[Slot] = []  # in no order
        self._to_come, self._out = _Queue(), _Queue()
        self._healths: Counter[Health] = Counter()

    def put(self, slot: Slot, at: float) -> None:
        """It may go from then on, whatever was said of it before."""
        self.drop(slot)
        slot.next_free, slot.listed = at, slot.health
        self._healths[slot.health] += 1
        (self._out if slot.is_out else self._to_come).push(slot)

    def drop(self, slot: Slot) -> None:
        """It may not go any more."""
        slot.entry += 1
        if slot.listed is not None:
            self._healths[slot.listed] -= 1
            slot.listed = None
        if slot.place >= 0:
            last = self._free.pop()
            if last is not slot:
                self._free[slot.place] = last
                last.place = slot.place
            slot.place = -1

    def choose(self, now: float, rng: Random, excluding: Collection[str]) -> Slot | None:
        """Choose one that is free, else the next one to be free; None: wait for one that is out.
        `excluding` is passed over where another one goes before it may be tried again.

        Where one that is out is back sooner than the next turn of a slow egress, nobody queues for
        that turn: else all callers might wait there.
        """
        self._free_due(now)
        picked = self._pick(rng, excluding)
        if picked is not None:
            return picked
        kept = self._free[0] if self._free else None  # excluded ones, alone
        other = self._to_come.first(excluding)
        slot = other or kept or self._to_come.first()
        if slot is None or slot.next_free - now <= slot.interval_s:
            return slot
        out = self._out.first()
        return slot if out is None or slot.next_free <= out.next_free else None

    def first_out(self, now: float) -> Slot | None:
        """Where all are out: the one to be tried first, at a time to come."""
        self._free_due(now)
        is_one_left = self._free or self._to_come.first() is not None
        return None if is_one_left else self._out.first()

    def back_at(self) -> float | None:
        """When the first of those that are out may be tried again; None: none is out."""
        out = self._out.first()
        return None if out is None else out.next_free

    def count(self, health: Health) -> int:
        """How many there are."""
        return self._healths[health]

    def _free_due(self, now: float) -> None:
        for queue in (self._to_come, self._out):
            while (slot := queue.first()) is not None and slot.next_free <= now:
                queue.pop()
                slot.place = len(self._free)
                self._free.append(slot)

    def _pick(self, rng: Random, excluding: Collection[str]) -> Slot | None:
        """The better of two drawn at random (which is nearly as good as the best of all, and
        does not send everybody to the same one); now and then just the first drawn."""
        first = self._draw(rng, excluding)
        if first is None or rng.random() < _EXPLORED:
            return first
        other = self._draw(rng, excluding)
        return other if other is not None and other.cost_s < first.cost_s else first

    def _draw(self, rng: Random, excluding: Collection[str]) -> Slot | None:
        n = len(self._free)
        if n == 0:
            return None
        i = int(rng.random() * n)
        for _ in range(min(n, 1 + len(excluding))):
            slot = self._free[i]
            if slot.egress.name not in excluding:
                return slot
            i = (i + 1) % n
        return None


class _Queue:
    """Slots by next_free. An entry that is not the slot's own any more is stale."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int, Slot]] = []

    def push(self, slot: Slot) -> None:
        heapq.heappush(self._heap, (slot.next_free, slot.number, slot.entry, slot))

    def pop(self) -> None:
        """Take off the first one."""
        heapq.heappop(self._heap)

    def first(self, excluding: Collection[str] = ()) -> Slot | None:
        """The first one whose name is none of these."""
        heap = self._heap
        while heap and heap[0][3].entry != heap[0][2]:
            heapq.heappop(heap)
        if not heap or heap[0][3].egress.name not in excluding:
            return heap[0][3] if heap else None
        entry = heapq.heappop(heap)
        other = self.first(excluding)
        heapq.heappush(heap, entry)
        return other

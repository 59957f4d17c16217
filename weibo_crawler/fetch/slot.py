"""One egress in the ring, with its figures; and those that are free now. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log2
from random import Random

from weibo_crawler.fetch.egress import Egress
from weibo_crawler.records import Health

_WEIGHT = 0.1  # of the newest in a moving average
_EXPLORED = 1 / 16  # of the choices look at no figures
_POOR = 0.5  # a proxy that works less often than this dies at its next failure
_LEAST = 1 / 64  # of the success that a cost or a rest is reckoned with


@dataclass(slots=True)
class Slot:
    """success: of the answers asked of the egress, the share that came, of late; refusals: the
    share of those that were refusals; latency_s: of late, 0.0: never answered."""

    egress: Egress
    number: int  # never given again
    rate: float
    health: Health = Health.UNCHECKED
    next_free: float = -inf
    started: float = -inf  # the last request
    flying: int = 0  # requests under way
    is_leaving: bool = False
    turn: int = 0  # reservations made for an earlier turn are void
    entry: int = 0  # the number of its valid heap entry
    place: int = -1  # among those that are free, -1: not there
    rests: int = 0  # in a row
    failures: int = 0  # in a row
    deaths: int = 0  # in a row
    latency_s: float = 0.0
    success: float = 1.0
    refusals: float = 0.0

    @property
    def is_out(self) -> bool:
        return self.health in (Health.RESTING, Health.DEAD)

    @property
    def interval_s(self) -> float:
        return 1.0 / self.rate if self.rate else 0.0

    @property
    def is_poor(self) -> bool:
        return self.success < _POOR

    @property
    def halvings(self) -> int:
        """How often its success was halved."""
        return int(-log2(max(self.success, _LEAST)))

    @property
    def cost_s(self) -> float:
        """What a good answer costs in time; the unknown is tried early, what was out late."""
        if self.is_out or self.deaths:
            return inf
        return self.latency_s / max(self.success, _LEAST)

    def note_answer(self, elapsed_s: float) -> None:
        self.latency_s += (elapsed_s - self.latency_s) * (_WEIGHT if self.latency_s else 1)
        self.success += (1.0 - self.success) * _WEIGHT
        self.refusals -= self.refusals * _WEIGHT

    def note_refusal(self) -> None:
        self.refusals += (1.0 - self.refusals) * _WEIGHT

    def note_failure(self) -> None:
        self.success -= self.success * _WEIGHT


class FreePool:
    """The slots that may go now, in no order: adding, removing and choosing take constant time."""

    def __init__(self) -> None:
        self._slots: list[Slot] = []

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._slots)

    def add(self, slot: Slot) -> None:
        slot.place = len(self._slots)
        self._slots.append(slot)

    def discard(self, slot: Slot) -> None:
        if slot.place < 0:
            return
        last = self._slots.pop()
        if last is not slot:
            self._slots[slot.place] = last
            last.place = slot.place
        slot.place = -1

    def pick(self, rng: Random, excluding: str | None) -> Slot | None:
        """The better of two drawn at random (which is nearly as good as the best of all, and
        does not send everybody to the same one); now and then just the first drawn."""
        first = self._draw(rng, excluding)
        if first is None or rng.random() < _EXPLORED:
            return first
        other = self._draw(rng, excluding)
        return other if other is not None and other.cost_s < first.cost_s else first

    def _draw(self, rng: Random, excluding: str | None) -> Slot | None:
        n = len(self._slots)
        if n == 0:
            return None
        i = int(rng.random() * n)
        slot = self._slots[i]
        if slot.egress.name == excluding:
            slot = self._slots[(i + 1) % n]
            if slot.egress.name == excluding:
                return None
        return slot

"""When the whole run must stop because the site says no to all. Pure: `now` is an argument."""

from collections import Counter, deque
from datetime import UTC, datetime
from enum import StrEnum
from math import ceil
from typing import NamedTuple

_ANSWERS_EACH = 2  # of an egress in the window


class _Blame(StrEnum):  # hashed by its text, an Enum by a function of Python
    NOBODY = "nobody"
    REFUSED = "refused"
    DRIFTED = "drifted"
    SILENT = "silent"


class _Note(NamedTuple):
    blame: _Blame
    why: str
    egress: str
    at: float


class Guard:
    """Watches the last answers; `tripped` says why to stop, "" while all is well.

    It trips when, in a full window, refusals and requests without a usable answer together reach
    stop_share of it. The window is of stop_window answers, or of two for each egress that was
    answered, where that is more: many egresses that begin together above the limit are refused
    together, once each, which says nothing of the site. It trips also when pages of an unknown
    shape reach drift_share of the last stop_window answers. Failures of the egresses themselves
    say nothing of the site. Once tripped it stays so. `now` is seconds since the epoch.
    """

    def __init__(self, stop_share: float, stop_window: int, *, drift_share: float = 1.0) -> None:
        self._stop_share, self._least = stop_share, stop_window
        self._drifts_needed = _needed(drift_share, stop_window)
        self._window: deque[_Note] = deque()
        self._shapes: deque[bool] = deque(maxlen=stop_window)  # of the last pages: was it unknown?
        self._egresses: set[str] = set()
        self._counts = dict.fromkeys(_Blame, 0)
        self.tripped = ""

    def note(self, refused: bool, why: str, egress: str, now: float) -> None:
        """One answer of the site."""
        self._add(_Note(_Blame.REFUSED if refused else _Blame.NOBODY, why, egress, now))

    def drifted(self, why: str, egress: str, now: float) -> None:
        """One page whose shape stayed unknown when it was asked for again."""
        self._add(_Note(_Blame.DRIFTED, why, egress, now))

    def silent(self, why: str, egress: str, now: float) -> None:
        """One request that got no usable answer, however often it was asked."""
        self._add(_Note(_Blame.SILENT, why, egress, now))

    def stop(self, why: str) -> None:
        """Stop for a reason of the caller's."""
        self.tripped = self.tripped or why

    def _add(self, note: _Note) -> None:
        window = self._window
        self._egresses.add(note.egress)
        size = max(self._least, _ANSWERS_EACH * len(self._egresses))
        window.append(note)
        self._shapes.append(note.blame is _Blame.DRIFTED)
        self._counts[note.blame] += 1
        if len(window) > size:
            self._counts[window.popleft().blame] -= 1
        if self.tripped:
            return
        bad = self._counts[_Blame.REFUSED] + self._counts[_Blame.SILENT]
        if len(window) == size and bad >= _needed(self._stop_share, size):
            self.tripped = self._explain(bad)
        elif len(self._shapes) == self._least:
            drifted = sum(self._shapes)
            if drifted >= self._drifts_needed:
                self.tripped = self._explain_drift(drifted)

    def _explain(self, bad: int) -> str:
        notes = [n for n in self._window if n.blame in (_Blame.REFUSED, _Blame.SILENT)]
        reasons = Counter(note.why for note in notes).most_common(3)
        egresses = Counter(note.egress for note in notes)
        named = ", ".join(f"{name} {n} x" for name, n in egresses.most_common(3))
        named += ", …" if len(egresses) > 3 else ""
        facts = (
            f"{bad} of the last {len(self._window)} requests since {_clock(notes[0].at)}, "
            f"by {len(egresses)} egress{'es' if len(egresses) > 1 else ''} ({named}): "
            + ", ".join(f"{n} x {why or 'no reason given'}" for why, n in reasons)
        )
        if self._counts[_Blame.SILENT] > self._counts[_Blame.REFUSED]:
            return (
                f"the site does not answer: {facts}; "
                "check site.base_url and the network, then run the same command again"
            )
        return (
            f"the site says no: {facts}; what was under way goes back and nothing is lost: come "
            "back in an hour or more with a lower pace.requests_per_second or other egresses "
            "(egress.proxies_file, egress.proxies_url; `proxies check` tries them), then run the "
            "same command again"
        )

    def _explain_drift(self, drifted: int) -> str:
        last = list(self._window)[-self._least :]
        paths = Counter(note.why for note in last if note.blame is _Blame.DRIFTED)
        return (
            f"the site changed its shape: {drifted} of the last {len(last)} pages are not "
            "as this version knows them, at "
            + ", ".join(p for p, _ in paths.most_common(3))
            + "; the pages are kept (table `drifted`), look for a newer version"
        )


def _needed(share: float, size: int) -> int:
    return ceil(share * size - 1e-9)  # a share of 0.9 of 10 is 9


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

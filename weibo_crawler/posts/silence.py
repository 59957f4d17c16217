"""Runs in whose course the site fell silent: what they concluded from emptiness is looked at again.

Before a silence is known as one, a few users have met it, and ends were believed. So a run that
ends while the site is silent, or that the site ended, notes since when it was shown nothing. The
mapper that finds out may have begun after the silence did: then it was others whom it deceived,
and the time when one of them was last shown posts counts.
"""

from math import inf

from weibo_crawler.store.notes import SILENT, TALKED, Notes
from weibo_crawler.store.rows.cells import Ledger

_GRAIN_S = 0.001  # of the times that ledgers keep
# why visits stop where a site shows less than it has
_BY_EMPTINESS = (
    *("end", "no_next_page", "no_new_post", "repeated_cursor", "nothing_shown", "gone"),
    "login_wall",
)


class Silences:
    """The notes of all runs, in the users' database. To be used in one thread at a time."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._since: dict[str, float | None] = {}

    def talked(self, run_id: str, at: float) -> None:
        """Note when a mapper that ends was shown posts: before a silence, if there is one."""
        TALKED.of(run_id).change(self._notes, lambda noted: at if noted is None else max(at, noted))

    def tell(self, run_id: str, since: float | None) -> None:
        """Note that this run was shown nothing since then; of several mappers the first counts.
        since: None where this mapper does not know since when: then others may know more, who may
        be at work still."""
        began = inf if since is None else since
        SILENT.of(run_id).change(
            self._notes, lambda noted: began if noted is None else min(began, noted)
        )

    def is_suspect(self, ledger: Ledger | None) -> bool:
        """Whether a visit ended by an emptiness, or without a text, in the silence of its run."""
        if ledger is None or ledger.visited_at is None:
            return False
        if ledger.stopped not in _BY_EMPTINESS and not (ledger.cut or ledger.restricted):
            return False
        if ledger.run_id not in self._since:
            self._since[ledger.run_id] = self._began(ledger.run_id)
        since = self._since[ledger.run_id]
        return since is not None and ledger.visited_at + _GRAIN_S > since

    def _began(self, run_id: str) -> float | None:
        """When the silence of a run began, at the earliest; None: there was none."""
        noted = SILENT.of(run_id).get(self._notes)
        return TALKED.of(run_id).get(self._notes) or 0.0 if noted == inf else noted

"""What a mapper is told while it works: to stop, by a note, or by the end of the driver."""

import time

from weibo_crawler.store.notes import DRIVER, STOP, Notes
from weibo_crawler.store.owners import is_dead, is_here

# a driver elsewhere that says nothing for so long is gone; a database restarts in less
_PATIENCE_S = 180.0
_EVERY_S = 10.0


class Orders:
    """Of one run. driver: the owner name of the process that waits for it, "" = nobody does."""

    def __init__(self, notes: Notes, run_id: str, driver: str) -> None:
        self._notes, self._run_id, self._driver = notes, run_id, driver
        # the driver's last sign of life and when it was new; when it was looked for
        self._seen: tuple[float | None, float] = None, time.monotonic()
        self._looked = 0.0

    def why(self) -> str:
        """Why to stop, "" where there is no reason."""
        if why := STOP.of(self._run_id).get(self._notes):
            return why
        is_gone = self._driver and self._is_driver_gone()
        return "the process that had started the job is gone" if is_gone else ""

    def _is_driver_gone(self) -> bool:
        """On this machine its process tells. Elsewhere its heartbeat does, by this machine's clock
        alone: gone is who changed it last _PATIENCE_S ago."""
        if is_here(self._driver):
            return is_dead(self._driver)
        beat, since = self._seen
        if time.monotonic() - self._looked >= _EVERY_S:
            self._looked = time.monotonic()
            now = DRIVER.of(self._run_id).get(self._notes)
            if now != beat:
                self._seen = beat, since = now, self._looked
        return time.monotonic() - since > _PATIENCE_S

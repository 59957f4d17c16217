"""The lists of proxies, read again while a run goes on."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from weibo_crawler.fetch.clients.threads import Threads
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool.keeper import Keeper
from weibo_crawler.fetch.pool.ring import Ring
from weibo_crawler.fetch.pool.roster import Roster, differences
from weibo_crawler.metrics import Counters

_log = logging.getLogger(__name__)


class Reloader:
    """Asks the roster every reload_s. New egresses join; those that vanished finish what is under
    way by them and leave. `failure`: why it ended, None while all is well.

    egresses: what the roster gave at the start. keeper: where the ring's egresses are leased, the
    change is its. Counters: egress.joined, egress.left.
    """

    def __init__(
        self,
        roster: Roster,
        egresses: Sequence[Egress],
        ring: Ring,
        keeper: Keeper | None,
        counters: Counters,
        *,
        reload_s: float,
    ) -> None:
        self._roster, self._egresses = roster, list(egresses)
        self._ring, self._keeper, self._counters = ring, keeper, counters
        self._reload_s = reload_s
        self._threads: Threads[list[Egress] | None] = Threads(1, "roster")
        self._task: asyncio.Task[None] | None = None
        self._on_news: Callable[[], None] = lambda: None
        self.failure: Exception | None = None

    def start(self, on_news: Callable[[], None]) -> None:
        """Begin, unless it has begun. on_news: who waits for a turn should choose anew."""
        if self._task is None and self._roster.can_change:
            self._on_news = on_news
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Read nothing more; a list that is being read is not waited for."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._threads.stop()

    async def _run(self) -> None:
        try:
            while True:
                await asyncio.sleep(self._reload_s)
                egresses = await self._threads.run(self._roster.reload)
                if egresses is not None:
                    self._change(egresses)
        except Exception as error:  # noqa: BLE001 - the top of a task: whoever fetches gets it
            self.failure = error
            self._on_news()

    def _change(self, egresses: list[Egress]) -> None:
        joined, left, moved = differences(self._egresses, egresses)
        self._egresses = egresses
        self._counters.add("egress.joined", len(joined))
        self._counters.add("egress.left", len(left))
        if joined or left:
            _log.info("egresses: %d joined, %d left", len(joined), len(left))
        if self._keeper is not None:
            self._keeper.change(egresses)
            return
        for egress in joined:
            self._ring.join(egress)
        for egress in moved:
            self._ring.move(egress)
        for name in left:
            self._ring.retire(name)
        self._ring.rearrange(asyncio.get_running_loop().time())
        self._on_news()

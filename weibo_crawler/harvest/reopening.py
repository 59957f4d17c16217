"""Lists that guests were not shown in earlier runs are asked for again: a few at the start of a
run, as a probe, and the others once their edge proves to be open."""

from weibo_crawler.config import Harvest
from weibo_crawler.records import Edge, Id
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.walls import IN_A_ROW, Walls

_BATCH = 1000  # lists of one transaction


class Reopening:
    """Each list at most once a run, by seq. Methods write: call them in the frontier's thread."""

    def __init__(self, frontier: Frontier, walls: Walls, settings: Harvest) -> None:
        self._frontier, self._walls = frontier, walls
        self._edges = settings.all_edges
        self._after: dict[Edge, int] = {}  # edges with lists that may be reopened yet
        self._uids: set[Id] = set()  # whose lists were reopened, as long as none was shown

    def begin(self) -> None:
        """Reopen the probes."""
        for one in self._frontier.walled():
            if one.edge in self._edges:
                self._reopen(one.edge, 0, IN_A_ROW)

    def is_news(self, uid: Id) -> bool:
        """Whether `shown` is to be told of a page of this user."""
        return uid in self._uids

    def shown(self) -> None:
        """A page of a reopened list is about to be stored: users are found by ways that were closed
        when depths were told."""
        self._frontier.call_depths_bounds("lists that were walled were read later")
        self._uids.clear()

    def go_on(self) -> bool:
        """Reopen more of the edges that are open now; whether there were any."""
        is_any = False
        for edge, after in list(self._after.items()):
            if self._walls.is_proven_open(edge):
                is_any |= self._reopen(edge, after, _BATCH)
        return is_any

    def _reopen(self, edge: Edge, after: int, n: int) -> bool:
        rows = self._frontier.reopen_walled(edge, after_seq=after, n=n)
        if not rows:
            self._after.pop(edge, None)
            return False
        self._after[edge] = rows[-1][0]
        if not after:  # of these nothing was shown yet
            self._uids |= {uid for _, uid in rows}
        return True

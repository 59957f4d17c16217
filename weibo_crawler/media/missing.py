"""Whether a file that is not there is gone: a host that has begun to say so of every file tells
nothing of any (law 4).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.store.media import Wanted

_IN_A_ROW = 12  # files that are not there, and none that is: then one that came before is asked for
_UNHEARD = 120  # so many where none ever came: whose they are may have deleted all of them
_WITNESSES = 3  # any one of them may be gone itself


class _Missing(NamedTuple):
    one: Wanted
    why: str
    nth: int  # how many files had been asked for before it


class Missing:
    """Files that a host says it has not, until it has shown one that was asked for later.

    gone: notes that one is gone, and why; doubted: that nobody knows; witness: whether the host
    shows a file; held: so many that came before, at random, or what there is.
    """

    def __init__(
        self,
        gone: Callable[[Wanted, str], None],
        doubted: Callable[[Wanted, str], None],
        witness: Callable[[Wanted], Awaitable[bool]],
        held: Callable[[int], Iterable[Wanted]],
    ) -> None:
        self._gone, self._doubted = gone, doubted
        self._witness, self._held = witness, held
        self._waiting: list[_Missing] = []
        self._asking = asyncio.Lock()

    async def note(self, one: Wanted, why: str, nth: int) -> None:
        """nth: as which file of the run it was asked for. Errors: SiteSaysNo where the host shows
        nothing any more."""
        self._waiting.append(_Missing(one, why, nth))
        async with self._asking:
            if len(self._waiting) >= _IN_A_ROW and await self._is_silent(_UNHEARD):
                raise SiteSaysNo(
                    f"of the last {len(self._waiting)} files none is there ({why}), and nothing "
                    "else is shown; none is taken for gone: come back later with the same command"
                )

    def came(self, nth: int) -> None:
        """The nth file came: what was asked for before it is gone."""
        self._settle([missing for missing in self._waiting if missing.nth < nth])

    async def end(self) -> None:
        """Nothing more is asked for but witnesses."""
        async with self._asking:
            if self._waiting:
                await self._is_silent(0)
        self.leave()

    def leave(self) -> None:
        """Of what waits nobody knows."""
        for missing in self._waiting:
            self._doubted(missing.one, f"{missing.why}, while no file came")
        self._waiting = []

    def _settle(self, those: list[_Missing]) -> None:
        for missing in those:
            self._gone(missing.one, missing.why)
        self._waiting = [missing for missing in self._waiting if missing not in those]

    async def _is_silent(self, unheard: int) -> bool:
        """Whether what came before is not shown either. Where nothing ever came, whether as many
        as `unheard` wait."""
        waiting, is_heard = list(self._waiting), False
        for one in self._held(_WITNESSES):
            is_heard = True
            if await self._witness(one):
                self._settle(waiting)
                return False
        return is_heard or len(waiting) >= unheard

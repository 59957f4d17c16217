"""Who reads the stores for a command: this process, or several that `--processes` asks for."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from weibo_crawler.cli.show import Advance, Progress
from weibo_crawler.config import Settings
from weibo_crawler.home import Home
from weibo_crawler.store.rows.keys import ALL, Range

if TYPE_CHECKING:
    from weibo_crawler.analysis.figures import Stored
    from weibo_crawler.analysis.parallel import Parted, Readers

T = TypeVar("T")
Rows = Iterable[dict[str, Any]]

_TOLD_EVERY = 1000  # rows


class Reading:
    """What is read is given as a function of the home and of a range of keys, which can be pickled
    where others read: with Arrow loaded or a store open no process can be forked."""

    def __init__(self, home: Home, readers: "Readers | None") -> None:
        self._home, self._readers = home, readers

    def rows(
        self, read: Callable[[Home, Range], Rows], what: str, progress: Progress
    ) -> "Rows | Parted":
        """The rows, and how far they are said now and then."""
        if self._readers is None:
            return told(read(self._home, ALL), what, progress.say)
        from weibo_crawler.analysis.parallel import Parted

        advance, total = Advance(), 0

        def more(n: int) -> None:
            nonlocal total
            total += n
            progress.say(advance.words(total, what))

        return Parted(self._readers, partial(_read, self._home.settings, read), more)

    def stored(self, now: float, *, is_whole: bool) -> "Stored":
        """What the tables hold, counted; is_whole: posts, too, and not only the ledgers."""
        if self._readers is None:
            return count(now, is_whole, self._home, ALL)
        parts = self._readers.each(
            partial(_read, self._home.settings, partial(count, now, is_whole))
        )
        whole = next(parts)
        for one in parts:
            whole.merge(one)
        return whole


@contextmanager
def reading(home: Home, processes: int, output: Path | None = None) -> Iterator[Reading]:
    """By so many processes, of which one is this. output: what is to be written of it."""
    if processes == 1 or not home.is_there("tables"):
        yield Reading(home, None)
        return
    from weibo_crawler.analysis.parallel import Readers

    # opens them here until the others are gone: of several who close at once none empties the log
    home.tables.userlist.row("0")
    with Readers(processes, output) as readers:
        yield Reading(home, readers)


def told(rows: Rows, what: str, say: Callable[[str], None]) -> Rows:
    """The same of rows as `scan` gives them."""
    from weibo_crawler.analysis.scan import PostRows

    if isinstance(rows, PostRows):  # which Parquet reads in a third of the time
        return PostRows(counted(rows.stored, what, say))
    return counted(rows, what, say)


def counted(rows: Iterable[T], what: str, say: Callable[[str], None]) -> Iterator[T]:
    """The rows; how far they are is said now and then."""
    advance = Advance()
    for n, row in enumerate(rows):
        if n and not n % _TOLD_EVERY:
            say(advance.words(n, what))
        yield row


# -- in the other processes


def _read(settings: Settings, read: Callable[[Home, Range], T], part: Range) -> T:
    return read(_home(settings), part)


@cache
def _home(settings: Settings) -> Home:
    """Opened once in each process, for all its ranges, and gone with it."""
    return Home(settings, makes=())


def count(now: float, is_whole: bool, home: Home, part: Range) -> "Stored":
    """As `Reading.stored`, of a range."""
    from weibo_crawler.analysis.figures import Stored

    stored = Stored(now)
    return (stored.read if is_whole else stored.read_ledgers)(home.tables, part)

"""Users that come one by one, as from HBase's TableInputFormat: a bounded queue before the crawler.

The lines come in the main thread, as fast as the region is scanned; the crawler takes them in a
thread of its own, as fast as the site allows. So no more than a queue of them waits in between.
"""

import queue
import threading
import time

from weibo_crawler.errors import BadUsage
from weibo_crawler.posts.crawl import Chunk, Emit, RangeCrawler
from weibo_crawler.posts.due import USER_COLUMNS, Due, due_of
from weibo_crawler.records import Id
from weibo_crawler.store import Tables
from weibo_crawler.store.rows.keys import parse_user_key, user_key

_WAITING = 256  # users
_WAIT_S = 0.1  # puts wait as long while the crawler looks for more users


class Feed:
    """Runs a crawler over what `put` is given. `finish` must follow; both raise what ended the
    crawler, as `RangeCrawler.crawl_users` does. emit: gets the outcomes, in a thread of its own."""

    def __init__(self, crawler: RangeCrawler, tables: Tables, emit: Emit) -> None:
        self._crawler, self._tables, self._emit = crawler, tables, emit
        self._users: queue.Queue[Id] = queue.Queue(_WAITING)
        self._is_last = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="crawler", daemon=True)
        self._thread.start()

    def put(self, uid: Id) -> None:
        """Wait for room, and leave the user there."""
        while self._thread.is_alive():
            try:
                self._users.put(uid, timeout=_WAIT_S)
                return
            except queue.Full:
                continue
        self.finish()

    def finish(self) -> None:
        """No more users: wait for the crawler."""
        self._is_last.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._crawler.crawl_users(self._take, self._emit)
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            self._error = error

    def _take(self) -> Chunk:
        deadline = time.monotonic() + _WAIT_S
        uids: list[Id] = []
        while len(uids) < _WAITING and time.monotonic() < deadline:
            more = not self._is_last.is_set()  # looked at before the queue: nothing comes after
            try:
                uids.append(self._users.get(timeout=_WAIT_S / 5))
            except queue.Empty:
                if not more:
                    return Chunk(self._with_ledgers(uids), False)
                if uids:
                    break
        return Chunk(self._with_ledgers(uids), True)

    def _with_ledgers(self, uids: list[Id]) -> list[Due]:
        rows = self._tables.userlist.rows([user_key(uid) for uid in uids], USER_COLUMNS)
        return [due_of(uid, rows[user_key(uid)]) for uid in uids]


def row_uid(line: str) -> Id:
    """The uid in a line of TableInputFormat: a row key, as hexadecimal bytes ("36 38") or as text,
    of our `userlist` (salt-uid) or of a table of bare uids; a TAB and cells may follow.

    A key of two digits reads as a byte, not as a uid of two digits: TableInputFormat writes bytes.
    """
    key = line.partition("\t")[0].strip()
    try:
        key = bytes.fromhex(key).decode() if _is_bytes(key) else key
        return int(key) if key.isascii() and key.isdecimal() else parse_user_key(key)
    except ValueError:
        raise BadUsage(f"not a row key of a user: {line[:80]!r}") from None


def _is_bytes(key: str) -> bool:
    return all(len(byte) == 2 for byte in key.split(" "))

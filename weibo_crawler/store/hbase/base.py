"""Connections to HBase's Thrift server, and calls that are made again.

A connection is thrown away at ANY error (law 9): neither side compares the numbers of calls, so
after a call that timed out the next answer on that connection belongs to the question before it,
and reads as a wrong row without an error (seen; a test shows it).
"""

import os
import random
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from weibo_crawler.errors import StoreError
from weibo_crawler.store.hbase.address import Address
from weibo_crawler.store.hbase.connection import Connection
from weibo_crawler.store.hbase.errors import (
    CHECK_SERVER,
    FAILED,
    explain,
    hopeless,
    is_answer,
    is_missing,
)

T = TypeVar("T")
_ANSWER_S = 30.0  # a scan whose filter lets nothing through passes ten million rows in this time
_IDLE_S = 20.0  # the Thrift server cuts idle connections after 60 s, its default
_KEPT = 8  # idle connections
# How long one call is tried again. After kill -9 of HBase and a restart 5 s later, writes flowed
# again after 45 s, on a machine busy with other work after 77 s; a restart of Thrift takes less
_PATIENCE_S = 180.0
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.05, 5.0


class Thrift:
    """A pool of connections; one serves one call of one thread at a time. Calls raise StoreError.

    Of several servers a process takes one, drawn, and the next one after each failure. A forked
    process leaves its parent's connections alone. waits: whether a server that has not
    answered yet is waited for, like one that has.
    """

    def __init__(self, address: Address, *, waits: bool = False) -> None:
        self.address = address
        self._servers = list(address.servers)
        random.shuffle(self._servers)  # many mappers share them
        self._idle: list[tuple[float, Connection]] = []  # (since when, which), the newest last
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._reached = waits  # a server that never answered is not waited for
        self.waits_for = ""  # what keeps a call waiting

    def call(self, table: str, work: Callable[[Any], T]) -> T:
        """What `work` returns, given a client of the Thrift service.

        `work` is called again, on another connection and after growing waits, until it succeeds,
        its error is one that repetition does not mend, or patience ends. So it must be fit to be
        repeated, also while its first call still runs in the server. table: its full name.
        """
        began, tries, delay = time.monotonic(), 0, _FIRST_DELAY_S
        while True:
            tries += 1
            try:
                result = self._once(work)
                self.waits_for = ""
                return result
            except FAILED as error:
                self._raise_hopeless(error, table)
                if tries > 1:  # a connection that was lost is opened again at once
                    self.waits_for = f"{self.address}: {explain(error)}"
                spent = time.monotonic() - began
                if not self._reached or spent > _PATIENCE_S:
                    after = f" ({tries} tries in {spent:.0f} s)" if tries > 1 else ""
                    raise StoreError(
                        f"{self.address}: table {table}: {explain(error)}{after}; {CHECK_SERVER}"
                    ) from error
            time.sleep(random.uniform(delay / 2, delay))
            delay = min(2 * delay, _LONGEST_DELAY_S)

    def close(self) -> None:
        """Close the idle connections. Later use opens new ones."""
        self._leave_after_fork()
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    # -- one call

    def _once(self, work: Callable[[Any], T]) -> T:
        connection = self._take()
        try:
            result = work(connection.client)
        except BaseException as error:  # such as Ctrl-C between a question and its answer
            connection.close()
            if is_answer(error):
                self._reached = True
            else:
                self._go_on(connection.server)
            raise
        self._reached = True
        with self._lock:
            if len(self._idle) < _KEPT:
                self._idle.append((time.monotonic(), connection))
                return result
        connection.close()
        return result

    def _raise_hopeless(self, error: BaseException, table: str) -> None:
        if is_missing(error) or (is_answer(error) and self._lacks(table)):
            names = [f"{k}={v}" for k, v in self.address.schema_environment().items()]
            told = f" with {' '.join(names)}" if names else ""
            raise StoreError(
                f"{self.address}: table {table} does not exist: run `weibo-crawler init`, or "
                f"conf/hbase_schema.rb in the HBase shell{told}; see docs/tables.md"
            ) from error
        remedy = hopeless(error)
        if remedy is not None:
            raise StoreError(
                f"{self.address}: table {table}: {explain(error)}" + (f"; {remedy}" * bool(remedy))
            ) from error

    def _lacks(self, table: str) -> bool:
        """Whether the server knows that there is no such table: a put does not say it."""
        try:
            return not self._once(lambda client: client.getTableRegions(table.encode()))
        except FAILED:
            return False

    # -- connections

    def _take(self) -> Connection:
        """A connection that was not idle for long, or a new one."""
        self._leave_after_fork()
        with self._lock:
            stale = [each for each in self._idle if time.monotonic() - each[0] > _IDLE_S]
            self._idle = self._idle[len(stale) :]
            connection = self._idle.pop()[1] if self._idle else None
        for _, old in stale:
            old.close()
        return connection or self._open()

    def _open(self) -> Connection:
        """To the first server that takes one; raises the error of the last one."""
        *others, last = self._servers
        for server in others:
            try:
                return Connection(self.address, server, timeout_s=_ANSWER_S)
            except FAILED:
                self._go_on(server)
        return Connection(self.address, last, timeout_s=_ANSWER_S)

    def _go_on(self, server: tuple[str, int]) -> None:
        """Ask this one last from now on; what is idle is not asked again."""
        with self._lock:
            self._servers.sort(key=lambda each: each == server)
            lost = [each for each in self._idle if each[1].server == server]
            self._idle = [each for each in self._idle if each not in lost]
        for _, connection in lost:
            connection.close()

    def _leave_after_fork(self) -> None:
        """A forked child has copies of its parent's sockets."""
        if self._pid == os.getpid():
            return
        for _, connection in self._idle:
            connection.leave()
        self._idle, self._lock, self._pid = [], threading.Lock(), os.getpid()

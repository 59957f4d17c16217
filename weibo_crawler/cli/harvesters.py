"""The other harvesters of one command: processes on the same store, since one event loop uses one
core. The store keeps them in step; what is left is to start, hear and stop them.

Each is a `harvest --of-run ID` in a session of its own, so that a Ctrl-C at the terminal reaches it
through its parent only. Its stdin is a pipe into which nobody writes: where that is closed, by
`stop` or because the parent died, it stops cleanly. On its stdout it tells its counters, a JSON
object a line; its stderr is passed on.
"""

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from weibo_crawler.cli import logs
from weibo_crawler.errors import (
    BadConfig,
    BadUsage,
    CrawlerError,
    Interrupted,
    SiteSaysNo,
    StoreError,
)

_KINDS = (StoreError, BadConfig, BadUsage, SiteSaysNo, CrawlerError)  # the worst first
_ERROR = "weibo-crawler: "  # how the line begins by which a command says why it failed
_LINE_BYTES = 2**20
# they would all listen on one port, write one file; the parent shows the sums
_NO_METRICS = {"WEIBO_METRICS__LISTEN": "none", "WEIBO_METRICS__TEXTFILE": "none"}


class Others:
    """n harvesters beside this process, for one event loop: `start`, then `wait`.

    counters: what each did so far. ended_early: a line for each that ended without being told to,
    or before the walk was over; failures: the errors among these, in the order of their time.
    """

    def __init__(
        self,
        n: int = 0,
        run_id: str = "",
        settings_file: Path | None = None,
    ) -> None:
        self._command = [sys.executable, "-m", "weibo_crawler", "harvest", "--json"]
        self._command += ["--of-run", run_id]
        if settings_file is not None:
            self._command += ["--config", str(settings_file)]
        self._environ = {**os.environ, **_NO_METRICS}
        self.counters: list[dict[str, int]] = [{} for _ in range(n)]
        self.ended_early: list[str] = []
        self.failures: list[CrawlerError] = []
        self._processes: list[Process] = []
        self._watches: list[asyncio.Task[None]] = []
        self._said: deque[str] = deque(maxlen=100)
        self._told_to_stop = False

    async def start(self) -> None:
        for place in range(len(self.counters)):
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=PIPE,
                    limit=_LINE_BYTES,
                    env=self._environ,
                    start_new_session=True,
                )
            except OSError as error:
                raise BadConfig(
                    f"harvest.processes: cannot start {len(self.counters) + 1} harvesters "
                    f"({error.strerror}); give a smaller number"
                ) from None
            self._processes.append(process)
            self._watches.append(asyncio.create_task(self._watch(process, place)))

    def stop(self) -> None:
        """They finish what is in flight, and end."""
        self._told_to_stop = True
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()

    def kill(self) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.kill()

    async def wait(self) -> None:
        """Until the last of them has ended."""
        await asyncio.gather(*self._watches)

    def worst(self, own: CrawlerError) -> CrawlerError:
        """What the command fails with: this process's error or a worse one of the others."""
        return min([own, *self.failures], key=_rank)

    async def _watch(self, process: Process, place: int) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        _, why = await asyncio.gather(
            self._hear(process.stdout, place), self._pass_on(process.stderr)
        )
        code = await process.wait()
        was_told = self._told_to_stop
        if code == 0 or (code == Interrupted.exit_code and was_told):
            return
        line = f"one of {len(self.counters) + 1} harvesters {self._end(code, why)}"
        self.ended_early.append(line)
        goes_on = "" if was_told else "; the others go on"
        logs.say(f"harvest: {line}{goes_on}", logging.WARNING)

    def _end(self, code: int, why: str) -> str:
        """What became of a harvester; an error is noted as well."""
        if code < 0:
            return f"was killed (signal {-code})"
        if code == Interrupted.exit_code:
            return "was interrupted"
        why = why or f"exit code {code}"
        kind = next((kind for kind in _KINDS if kind.exit_code == code), CrawlerError)
        self.failures.append(kind(why))
        return f"failed: {why}"

    async def _hear(self, stdout: asyncio.StreamReader, place: int) -> None:
        async for line in stdout:
            with suppress(ValueError):  # the line in which it was killed
                self.counters[place] = json.loads(line).get("counters", self.counters[place])

    async def _pass_on(self, stderr: asyncio.StreamReader) -> str:
        """Each warning once, whoever says it; returns why the harvester failed, "" if it did not
        say so."""
        why: list[str] = []
        async for line in stderr:
            text = line.decode("utf-8", "backslashreplace").rstrip("\n")
            if why or text.startswith(_ERROR):
                why.append(text.removeprefix(_ERROR))
            elif text not in self._said:
                self._said.append(text)
                logs.say(text, logging.WARNING)
        return "\n".join(why)


def tell(counters: Mapping[str, int]) -> None:
    """In one of the others: what it did so far."""
    with suppress(BrokenPipeError):  # the parent died; stdin says so as well
        print(json.dumps({"counters": dict(counters)}), flush=True)


def on_closed_stdin(call: Callable[[], None]) -> None:
    """In one of the others, on its event loop: call this once when the parent wants no more."""
    loop, stdin = asyncio.get_running_loop(), sys.stdin.fileno()

    def closed() -> None:
        loop.remove_reader(stdin)
        call()

    loop.add_reader(stdin, closed)


def _rank(error: CrawlerError) -> int:
    codes = [*(kind.exit_code for kind in _KINDS), Interrupted.exit_code]
    return codes.index(error.exit_code)

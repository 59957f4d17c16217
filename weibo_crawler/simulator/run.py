"""Running the simulator: here until a signal, or in a child process that ends with its parent."""

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, cast

import msgspec

import weibo_crawler
from weibo_crawler import errors
from weibo_crawler.simulator.arguments import to_arguments
from weibo_crawler.simulator.lawful_world import LawfulWorld
from weibo_crawler.simulator.laws import Laws
from weibo_crawler.simulator.network import Address, listening
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.proxies import Proxy, parse_mix, plan
from weibo_crawler.simulator.served import ServedLog
from weibo_crawler.simulator.site import Site
from weibo_crawler.simulator.truth import Truth
from weibo_crawler.simulator.world import Knobs, World

_PARENT_CHECK_S = 0.5
_STOP_S = 5.0


class Running:
    """A simulator in a child process. As a context manager it stops at the end.

    proxies: the lines of a proxies file. proxies_file: that file, None where none was asked for.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], address: Address, proxies_file: str | None
    ) -> None:
        self._process = process
        self.base_url = address.base_url
        self.visitor_url = address.visitor_url
        self.proxies = address.proxies
        self.proxies_file = proxies_file

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """End the child; may be called again."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(options: SimulatorOptions) -> Running:
    """Start a child process and return when it listens.

    It has a process group of its own, so that Ctrl-C in a terminal reaches only the caller, who
    may still need the site to finish what is in flight. It ends with its parent, however that
    ends. BadConfig if the port is in use or a file cannot be written, BadUsage for a wrong option.
    """
    command = [sys.executable, "-m", "weibo_crawler.simulator", f"--parent={os.getpid()}"]
    home = str(Path(weibo_crawler.__file__).parents[1])
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        command + to_arguments(options),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    with cast(IO[bytes], process.stdout) as output:
        return answered(process, output.readline(), options)


def answered(process: subprocess.Popen[bytes], line: bytes, options: SimulatorOptions) -> Running:
    """The child that has written this line as its first one."""
    if line:
        said = msgspec.json.decode(line, type=dict[str, Any])
        if "error" not in said:
            return Running(process, msgspec.convert(said, Address), options.proxies_out)
        process.wait()
        raise getattr(errors, said["error"])(said["text"])
    raise errors.CrawlerError(f"the simulator did not start: exit code {process.wait()}")


def world_of(options: SimulatorOptions) -> World:
    knobs = {name: getattr(options, name) for name in Knobs._fields}
    world = World.make(options.seed, options.users, **knobs)
    return world if options.laws is None else LawfulWorld(world, Laws.drawn(options.laws))


def serve(
    options: SimulatorOptions,
    ready: Callable[[Address], None] | None = None,
    *,
    parent: int | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, or until `parent` (a process id) is the parent no more.

    ready: called once when the simulator listens and the truth is written. To be called in the
    main thread. With `describe` it prints the laws and returns. BadConfig if the port is in use or
    a file cannot be written.
    """
    if options.describe and options.laws is not None:
        print(*Laws.drawn(options.laws).described(), sep="\n", flush=True)
        return
    world = world_of(options)
    proxies = plan(
        options.proxies,
        parse_mix(options.proxy_mix),
        seed=options.seed,
        socks=options.proxy_socks,
        slow_s=options.slow_s,
        flap_s=options.flap_s,
    )
    if options.truth_out is not None:
        truth = Truth.of(
            *(world, options.truth_seeds, options.min_fans, options.max_depth, proxies),
            *(options.truth_topics, options.topic_pages),
        )
        truth.write(Path(options.truth_out))
    gc.set_threshold(50_000, 50, 100)  # the world only grows and holds no garbage
    with contextlib.ExitStack() as stack:
        log = None
        if options.served_out is not None:
            log = stack.enter_context(ServedLog(Path(options.served_out)))
        site = Site(world, options, log, proxies)
        asyncio.run(_serve(site, proxies, options, ready, parent))


def child(options: SimulatorOptions, parent: int) -> int:
    """What `start` runs: serve, and tell the parent on stdout where, or why not."""
    try:
        serve(options, _tell, parent=parent)
    except errors.CrawlerError as error:
        # the name of an error of weibo_crawler.errors, and its text
        _tell({"error": type(error).__name__, "text": str(error)})
        return error.exit_code
    return 0


def _tell(message: Address | dict[str, str]) -> None:
    # A parent that is gone already needs no answer; the server ends by itself then.
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), msgspec.json.encode(message) + b"\n")


async def _serve(
    site: Site,
    proxies: Sequence[Proxy],
    options: SimulatorOptions,
    ready: Callable[[Address], None] | None,
    parent: int | None,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with listening(site, proxies, options) as address:
        if ready is not None:
            ready(address)
        watch = asyncio.create_task(_watch(parent, stop)) if parent is not None else None
        await stop.wait()
        if watch is not None:
            watch.cancel()


async def _watch(parent: int, stop: asyncio.Event) -> None:
    while os.getppid() == parent:
        await asyncio.sleep(_PARENT_CHECK_S)
    stop.set()

"""posts --ids: the posts of a file of ids."""

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path

from weibo_crawler.analysis.numbers import plural
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.show import Advance, Progress, seconds
from weibo_crawler.cli.stopping import stopped_by_signals
from weibo_crawler.errors import BadConfig, Interrupted, SiteSaysNo
from weibo_crawler.fetch import open_fetcher
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.metrics import Counters
from weibo_crawler.posts.ids import ByIds, Came, read_ids
from weibo_crawler.posts.writer import Writer
from weibo_crawler.records import Id, Kind
from weibo_crawler.store.guard import Guard


def posts_by_ids(home: Home, file: Path) -> Done:
    """Ask for each post by its id; stdout gets a line for each, the id and its outcome. Errors:
    BadConfig where the site shows none so, SiteSaysNo where not one was told, Interrupted after
    Ctrl-C."""
    if Kind.SHOW not in home.site.kinds:
        raise BadConfig(f"--ids: {home.site.title} shows no post by its id; ask for its users")
    mids, counters, began = read_ids(file, home.site), Counters(), time.monotonic()
    home.bind_site()
    with Progress("posts") as progress:
        advance = Advance(len(mids))

        def told(mid: Id, came: Came) -> None:
            print(f"{mid} {came}", flush=True)
            progress.say(advance.words(sum(came_to.came.values()), "posts"))

        with ExitStack() as stack:
            run_id = new_run_id()
            archive = home.archive("ids", run_id)
            keep = None if archive is None else archive.keep
            guard = Guard(home.users)
            writer = Writer(home.tables, guard)
            stack.callback(writer.close)
            runner = stack.enter_context(asyncio.Runner())
            fetcher = open_fetcher(home.settings, home.site, counters, home.leases, keep)
            came_to = ByIds(home.site, writer, home.tables.posts, guard, run_id, told)
            loop = runner.get_loop()

            def stop() -> None:
                loop.call_soon_threadsafe(fetcher.drain)

            with stopped_by_signals(stop):
                try:
                    runner.run(came_to.run(fetcher, mids))
                except Interrupted:
                    said = _said(came_to, mids, counters)
                    raise Interrupted(f"stopped; {said}; the same command asks again") from None
                finally:
                    runner.run(fetcher.close())
    line = f"posts: {_said(came_to, mids, counters)}, in {seconds(time.monotonic() - began)}"
    if came_to.came[Came.UNKNOWN] == len(mids):
        raise SiteSaysNo(f"{line}: the site said of none what it is; come back later")
    data = {"ids": len(mids), "requests": counters["request.sent"]}
    return Done(line, data | {str(came): came_to.came[came] for came in Came})


def _said(came_to: ByIds, mids: list[Id], counters: Counters) -> str:
    parts = [f"{came_to.came[came]:,} {came}" for came in Came if came_to.came[came]]
    told = sum(came_to.came.values())
    of = f"{told:,} of {plural(len(mids), 'id')}" if told < len(mids) else plural(told, "id")
    return f"{of}: {', '.join(parts) or 'none told'}; {plural(counters['request.sent'], 'request')}"

"""Reading by a job on YARN, of which each map reads ranges of keys: `export -o hdfs://…` writes
their rows, `report --runner hadoop` counts them."""

import argparse
import pickle
from base64 import b85decode, b85encode
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from zlib import compress, decompress

import msgspec

from weibo_crawler import config
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.cli.analysts import check_parted, columns_of, rows_of
from weibo_crawler.cli.exports import remember_export
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.reading import count, told
from weibo_crawler.cli.show import Progress
from weibo_crawler.errors import BadUsage
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.posts.cluster import Cluster
from weibo_crawler.posts.once import Once
from weibo_crawler.resources import resource
from weibo_crawler.store.rows.keys import SALTS, Range, ranges
from weibo_crawler.store.temporary import owned_folder

if TYPE_CHECKING:
    from weibo_crawler.analysis.figures import Stored

_MAPS = 16
# which options of the command a map is told
_CHOICES = ("what", "imported", "uid", "limit", "since", "until", "as_of", "history", "columns")


class Export(msgspec.Struct, frozen=True, tag=True):
    """A map writes rows. options: of `_CHOICES`; file: the name of its file, which tells the
    format; folder: of HDFS."""

    options: dict[str, Any]
    range: Range
    file: str
    folder: str


class Count(msgspec.Struct, frozen=True, tag=True):
    """A map counts what the tables hold, as of now (seconds since the epoch). is_whole: posts, too,
    and not only the ledgers."""

    ranges: list[Range]
    now: float
    is_whole: bool


def export_on_yarn(options: argparse.Namespace) -> Done:
    """Write the rows into a new folder of HDFS, whole or not at all."""
    from weibo_crawler.analysis.export import COMPRESSED

    address, form = options.output.rstrip("/"), options.format or "jsonl"
    if options.excel or options.ids:
        raise BadUsage("--excel and --ids are for a file on this machine: leave them out")
    check_parted(options, address)
    columns_of(options, "file")  # says what is wrong with them, as does the next one
    settings = config.load(options.config)
    with Home(settings, makes=()) as home:
        rows_of(options, home)
        cluster = Cluster(settings)
        if cluster.hdfs.exists(address):
            raise BadUsage(f"{address} is there already: name a new folder")
        remember_export(home.users, address)
    once = _job(cluster, "export")
    chosen = {name: getattr(options, name) for name in _CHOICES}
    ending = form if form in COMPRESSED else f"{form}.gz"
    parts = [
        Export(chosen, part, f"{part.start}.{ending}", once.made) for part in ranges(_maps(options))
    ]
    with Progress("export") as progress:
        said = once.run(_lines(parts), progress.say, address)
    n = sum(map(int, said))
    rows = plural(n, options.what.removesuffix("s"))
    return Done(f"export: {rows} written to {address}", {"rows": n, "folder": address})


def count_on_yarn(options: argparse.Namespace, home: Home, now: float) -> "Stored":
    """What the tables hold, counted as for `report`, or for `--completeness`."""
    keys, n = ranges(SALTS), _maps(options)
    parts = [Count(keys[i::n], now, not options.completeness) for i in range(n)]
    with Progress("report") as progress:
        said = _job(Cluster(home.settings), "report").run(_lines(parts), progress.say)
    return merged(now, said)


def _maps(options: argparse.Namespace) -> int:
    return options.processes if options.processes > 1 else _MAPS


def _job(cluster: Cluster, what: str) -> Once:
    return Once(cluster, what, resource("jobs/read_tables.py"), new_run_id())


def _lines(parts: Iterable[Export | Count]) -> list[str]:
    return [msgspec.json.encode(part).decode() for part in parts]


def merged(now: float, said: Iterable[str]) -> "Stored":
    """What maps have counted, by what they said, behind which Streaming sets a tab. It lies in HDFS
    beside the code that they ran, and may be unpickled as that may be run."""
    from weibo_crawler.analysis.figures import Stored

    whole = Stored(now)
    for line in said:
        whole.merge(pickle.loads(decompress(b85decode(line.strip()))))
    return whole


# -- on a node


def read_part(line: str, tell: Callable[[str], None]) -> str:
    """Do what the line says, and say what came of it. tell: is called now and then, so that YARN
    sees that the map lives."""
    part = msgspec.json.decode(line, type=Export | Count)
    with Home(config.load(), makes=(), waits=True) as home:
        if isinstance(part, Export):
            return str(_write(part, home, tell))
        return b85encode(compress(pickle.dumps(_counted(part, home, tell)))).decode()


def _write(part: Export, home: Home, tell: Callable[[str], None]) -> int:
    """Write the rows, and put them into HDFS; how many."""
    from weibo_crawler.analysis.columns import KNOWN, of_site
    from weibo_crawler.analysis.export import export
    from weibo_crawler.posts.hdfs import open_hdfs

    options = argparse.Namespace(**part.options)
    with owned_folder("export") as folder:
        rows = told(rows_of(options, home, part.range), options.what, tell)
        file = folder / part.file
        n = export(rows, columns_of(options, "file"), file, fields=of_site(KNOWN, home.site))
        open_hdfs(home.settings.hadoop).put_again(file, part.folder)
    return n


def _counted(part: Count, home: Home, tell: Callable[[str], None]) -> "Stored":
    from weibo_crawler.analysis.figures import Stored

    whole = Stored(part.now)
    for n, keys in enumerate(part.ranges, 1):
        whole.merge(count(part.now, part.is_whole, home, keys))
        tell(f"{n} of {len(part.ranges)} ranges")
    return whole

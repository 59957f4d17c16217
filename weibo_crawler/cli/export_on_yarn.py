"""`export -o hdfs://…`: a job on YARN, of which each map writes the rows of a range of keys."""

import argparse
from collections.abc import Callable
from typing import Any

import msgspec

from weibo_crawler import config
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.cli.analysts import check_parted, columns_of, rows_of
from weibo_crawler.cli.exports import remember_export
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.reading import told
from weibo_crawler.cli.show import Progress
from weibo_crawler.errors import BadUsage
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.resources import resource
from weibo_crawler.store.rows.keys import Range, ranges
from weibo_crawler.store.temporary import owned_folder

_MAPS = 16
_SUFFIXES = {"jsonl": "jsonl.gz", "csv": "csv.gz", "parquet": "parquet"}
# which options of the command a map is told
_CHOICES = ("what", "imported", "uid", "limit", "since", "until", "as_of", "history", "columns")


class Part(msgspec.Struct, frozen=True):
    """What a map is told. options: of `_CHOICES`; file: the name of its file, which tells the
    format; folder: of HDFS."""

    options: dict[str, Any]
    range: Range
    file: str
    folder: str


def export_on_yarn(options: argparse.Namespace) -> Done:
    """Write the rows into a new folder of HDFS, whole or not at all."""
    from weibo_crawler.posts.cluster import Cluster
    from weibo_crawler.posts.once import Once

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
    once = Once(cluster, "export", resource("jobs/export_rows.py"), new_run_id())
    chosen = {name: getattr(options, name) for name in _CHOICES}
    lines = [
        msgspec.json.encode(
            Part(chosen, part, f"{part.start}.{_SUFFIXES[form]}", once.made)
        ).decode()
        for part in ranges(options.processes if options.processes > 1 else _MAPS)
    ]
    with Progress("export") as progress:
        said = once.run(lines, progress.say, address)
    n = sum(map(int, said))
    rows = plural(n, options.what.removesuffix("s"))
    return Done(f"export: {rows} written to {address}", {"rows": n, "folder": address})


def write_part(line: str, tell: Callable[[str], None]) -> int:
    """On a node: write a part, and put it into HDFS; how many rows. tell: is called now and then,
    so that YARN sees that the map lives."""
    from weibo_crawler.analysis.columns import KNOWN, of_site
    from weibo_crawler.analysis.export import export
    from weibo_crawler.posts.hdfs import open_hdfs

    part = msgspec.json.decode(line, type=Part)
    options = argparse.Namespace(**part.options)
    with Home(config.load(), makes=(), waits=True) as home, owned_folder("export") as folder:
        rows = told(rows_of(options, home, part.range), options.what, tell)
        file = folder / part.file
        n = export(rows, columns_of(options, "file"), file, fields=of_site(KNOWN, home.site))
        open_hdfs(home.settings.hadoop).put_again(file, part.folder)
    return n

"""A folder to hand on: everything as Parquet, a data card, what was not seen, and checksums.

users/ posts/ comments/ edges/ ledgers/   Parquet, in parts
croissant.json     the data card (Croissant 1.1): tables, columns, types, files
completeness.json  what is held of what was announced, and the figures that `verify` compares
README.md          the same for people
tables.sql         the tables for Spark SQL and Hive
SHA256SUMS         of every other file, as `sha256sum -c` reads them
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from weibo_crawler.analysis.batches import Batches
from weibo_crawler.analysis.card import Source, card, read_me
from weibo_crawler.analysis.completeness import Completeness
from weibo_crawler.analysis.ddl import ddl
from weibo_crawler.analysis.files import parts_folder
from weibo_crawler.analysis.ledgers import LEDGERS
from weibo_crawler.analysis.parallel import Parted
from weibo_crawler.errors import BadUsage
from weibo_crawler.store.rows.fields import ECHOES, EDGES, IMPORTED, POSTS, Field, Kind
from weibo_crawler.store.rows.keys import salt

TABLES: Mapping[str, Mapping[str, Field]] = {
    "users": IMPORTED,
    "posts": POSTS,
    **ECHOES,
    "edges": EDGES,
    "ledgers": LEDGERS,
}
SUMS, CARD, FIGURES, README = "SHA256SUMS", "croissant.json", "completeness.json", "README.md"
DDL = "tables.sql"
_PART_ROWS = 2_000_000  # of a file
_GROUP_ROWS = 10_000
_OPEN_FILES = 300  # a file a month while posts are written


class Content(NamedTuple):
    """One table of a dataset. rows: read once."""

    fields: Mapping[str, Field]
    rows: Iterable[Mapping[str, Any]] | Parted


class Figures(msgspec.Struct, frozen=True):
    """What a table holds. sums: of each column of numbers; states: users by `state`."""

    rows: int
    sums: dict[str, int]
    states: dict[str, int] = {}


class Summary(msgspec.Struct, frozen=True):
    """completeness.json. made_at: ISO 8601, UTC."""

    made_at: str
    completeness: Completeness
    tables: dict[str, Figures]


def check_new(folder: Path) -> None:
    """Raise BadUsage where the folder holds anything, or is none."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadUsage(f"{folder} is there and not empty: name a new folder")


def write_dataset(
    arrow: Any,
    contents: Mapping[str, Content],
    figures: Completeness,
    folder: Path,
    made_at: str,
    source: Source,
    by: str | None = None,
) -> Summary:
    """Write a dataset into a new folder, which is there whole or not at all. arrow: pyarrow with
    pyarrow.dataset; by: "month" or "salt", a folder of posts for each. Errors: StoreError for
    trouble with the files, also where the folder is not one that `check_new` lets pass."""
    with parts_folder(folder, 0o777) as part:
        summary, files = _write_all(arrow, contents, figures, part, made_at, source, by)
        with (part / SUMS).open("wb") as sums:
            sums.write(sums_of(files))
            sums.flush()
            os.fsync(sums.fileno())
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
    return summary


def _write_all(
    arrow: Any,
    contents: Mapping[str, Content],
    figures: Completeness,
    folder: Path,
    made_at: str,
    source: Source,
    by: str | None,
) -> tuple[Summary, dict[str, str]]:
    """What was written, and the digests of the files, each of which is read once for that."""
    tables = {}
    for name, content in contents.items():
        _write_table(arrow, name, content, folder / name, by if name == "posts" else None)
        tables[name] = count(arrow, folder / name, content.fields)
    summary = Summary(made_at, figures, tables)
    (folder / FIGURES).write_bytes(msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    fields = {name: content.fields for name, content in contents.items()}
    (folder / README).write_text(read_me(summary, fields, source), "utf-8")
    (folder / DDL).write_text(ddl(arrow, fields, by), "utf-8")
    files = digests(folder)
    data = card(fields, made_at, files, source)
    (folder / CARD).write_bytes(msgspec.json.format(msgspec.json.encode(data)) + b"\n")
    return summary, files | {CARD: _digest(folder / CARD)}


def count(arrow: Any, folder: Path, fields: Mapping[str, Field]) -> Figures:
    """The figures of a table as it was written."""
    import pyarrow.compute as pc

    rows, sums, states = 0, Counter[str](), Counter[str]()
    data = arrow.dataset.dataset(folder, format="parquet")
    numbers = [
        name
        for name, field in fields.items()  # of some sites the ids are text
        if field.kind is Kind.NUMBER and arrow.types.is_integer(data.schema.field(name).type)
    ]
    wanted = [*numbers, *(["state"] if "state" in fields else [])]
    for batch in data.to_batches(columns=wanted):
        rows += batch.num_rows
        for name in numbers:
            values = batch.column(name).cast(arrow.decimal128(38))  # ids are large
            sums[name] += int(pc.sum(values).as_py() or 0)
        if "state" in fields:
            states.update(batch.column("state").to_pylist())
    return Figures(rows, {name: sums[name] for name in numbers}, dict(sorted(states.items())))


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file below the folder, by its relative name; SHA256SUMS aside."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): _digest(file) for file in files if file != folder / SUMS}


def sums_of(digests: Mapping[str, str]) -> bytes:
    """SHA256SUMS."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write_table(arrow: Any, name: str, content: Content, folder: Path, by: str | None) -> None:
    made = Batches(arrow, content.fields)
    schema, batches = made.schema, made.of(content.rows)
    options: dict[str, Any] = {}
    if by is not None:
        schema = schema.append(arrow.field(by, arrow.string()))
        batches = (_with_key(arrow, batch, by, schema) for batch in batches)
        key = arrow.schema([(by, arrow.string())])
        options["partitioning"] = arrow.dataset.partitioning(key, flavor="hive")
    kind = arrow.dataset.ParquetFileFormat()
    arrow.dataset.write_dataset(
        batches,
        folder,
        schema=schema,
        format=kind,
        file_options=kind.make_write_options(compression="zstd"),
        basename_template=f"{name}-{{i}}.parquet",
        max_rows_per_file=_PART_ROWS,
        max_rows_per_group=_GROUP_ROWS,
        min_rows_per_group=0 if by else _GROUP_ROWS,
        max_open_files=_OPEN_FILES,
        use_threads=False,
        preserve_order=True,  # one thread alone still changes the order now and then
        **options,
    )
    if not any(folder.rglob("*.parquet")):  # no row at all
        folder.mkdir(exist_ok=True)
        arrow.parquet.write_table(made.schema.empty_table(), folder / f"{name}-0.parquet")


def _with_key(arrow: Any, batch: Any, by: str, schema: Any) -> Any:
    if by == "salt":
        keys = [salt(uid) for uid in batch.column("uid").to_pylist()]
    else:
        import pyarrow.compute as pc

        local = pc.local_timestamp(batch.column("created_at"))
        keys = pc.coalesce(pc.strftime(local, "%Y-%m"), arrow.scalar("unknown")).to_pylist()
    columns = [*batch.columns, arrow.array(keys, arrow.string())]
    return arrow.record_batch(columns, schema=schema)


# -- the way back


def verify(arrow: Any, folder: Path) -> Iterator[str]:
    """What is wrong with a dataset, a line each; nothing where it is as it was written. BadUsage
    where the folder is none."""
    try:
        sums = (folder / SUMS).read_bytes()
        summary = msgspec.json.decode((folder / FIGURES).read_bytes(), type=Summary)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadUsage(f"{folder} is no dataset: there is no {error.filename}") from None
    except (OSError, ValueError) as error:
        yield f"{folder}: {error}"
        return
    lines = (line.split("  ", 1) for line in sums.decode(errors="replace").split("\n"))
    expected = {line[1]: line[0] for line in lines if len(line) > 1}
    found = digests(folder)
    if expected == found and sums != sums_of(found):
        yield f"{SUMS} was changed"
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            yield f"{name} is missing"
        elif name not in expected:
            yield f"{name} is not in {SUMS}"
        elif expected[name] != found[name]:
            yield f"{name} was changed"
    for name, was in summary.tables.items():
        try:
            now = count(arrow, folder / name, TABLES[name])
        except (OSError, ValueError, KeyError) as error:
            yield f"{name} cannot be read: {error}"
            continue
        yield from _differences(name, was, now)


def _differences(name: str, was: Figures, now: Figures) -> Iterator[str]:
    if was.rows != now.rows:
        yield f"{name} has {now.rows:,} rows in place of {was.rows:,}"
    for state in sorted(was.states.keys() | now.states.keys()):
        before, after = was.states.get(state, 0), now.states.get(state, 0)
        if before != after:
            yield f"{name}: {after:,} users are {state} in place of {before:,}"
    for column in sorted(was.sums.keys() | now.sums.keys()):
        if was.sums.get(column) != now.sums.get(column):
            is_, not_ = now.sums.get(column), was.sums.get(column)
            yield f"{name}: the sum of {column} is {is_}, not {not_}"

"""How the tables in HBase should be: compared through Thrift, made by conf/hbase_schema.rb.

Thrift1 can neither cut a new table into regions nor set all attributes, so the script makes the
tables, in the HBase shell. What is compared here is what Thrift1 tells (it also tells the script's
attributes; the time to live of `raw` is a choice of whoever ran it, and so is what its other
variables choose, which are read here as well).
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from weibo_crawler.errors import BadConfig, StoreError
from weibo_crawler.resources import resource
from weibo_crawler.store.hbase.address import Address
from weibo_crawler.store.rows.cells import KEEP_VERSIONS

FOREVER = 2_147_483_647
_MOST_REGIONS = 256  # as many as there are salts
_SCRIPT = "conf/hbase_schema.rb"
_SHELL_S = 600  # of a shell that starts, and makes tables of 16 regions
_LAST_LINES = 15


class Chosen(NamedTuple):
    """What the variables of the script choose. Thrift1 does not tell the encoding of blocks."""

    regions: int = 16
    compression: str = "GZ"

    @property
    def attributes(self) -> dict[str, str]:
        return {"COMPRESSION": self.compression, "BLOOMFILTER": "ROW"}


_DEFAULT = Chosen()


def chosen(environ: Mapping[str, str]) -> Chosen:
    """As the script reads them. BadConfig for a number of regions that cannot be."""
    regions = environ.get("WEIBO_TABLE_REGIONS", str(_DEFAULT.regions))
    if not regions.isdecimal() or not 1 <= int(regions) <= _MOST_REGIONS:
        raise BadConfig(f"WEIBO_TABLE_REGIONS is 1 to {_MOST_REGIONS}, not {regions!r}")
    compression = environ.get("WEIBO_TABLE_COMPRESSION", _DEFAULT.compression)
    return Chosen(int(regions), compression.upper())


class Difference(NamedTuple):
    """harmful: the table cannot hold what this program promises, or loses it."""

    text: str
    harmful: bool


def differences(
    table: str,
    families: Mapping[str, int],
    held: Mapping[str, Any],
    regions: int,
    wanted: Chosen = _DEFAULT,
) -> Iterator[Difference]:
    """What is not as the schema says. families: family -> versions; held: family -> Thrift's
    ColumnDescriptor; table: its full name."""
    for family, versions in families.items():
        if family not in held:
            remedy = _alter(table, family, VERSIONS=versions, **wanted.attributes)
            yield Difference(f"table {table} has no family {family}: {remedy}", True)
            continue
        compared = _compared(family, versions, held[family], wanted)
        for name, (is_, should, harmful) in compared.items():
            if is_ != should:
                yield Difference(
                    f"table {table}, family {family}: {name} is {is_}, should be {should}: "
                    + _alter(table, family, **{name: should}),
                    harmful,
                )
    for family in held.keys() - families.keys():
        yield Difference(f"table {table}: family {family} is not of the schema", False)
    if regions < wanted.regions:
        yield Difference(
            f"table {table} has {regions} of {wanted.regions} regions; HBase splits it as it grows",
            False,
        )


def make_tables(address: Address, command: str, keep_versions: int = KEEP_VERSIONS) -> list[str]:
    """Run the script in the HBase shell that `command` starts; the lines that say what it made.
    keep_versions: as in `families`.

    StoreError where there is no such command, with what to run and where, or where it fails.
    """
    given = address.schema_environment()
    if keep_versions != KEEP_VERSIONS:
        given = {"WEIBO_KEEP_VERSIONS": str(keep_versions)} | given
    names = [f"{name}={value}" for name, value in given.items()]
    words = _words(command)
    if words is None:
        raise StoreError(
            f"{address}: tables are missing, and there is no command {command!r} here to make "
            "them (store.hbase_command). On a machine of the cluster: "
            f"echo \"load '{_SCRIPT}'\" | {' '.join([*names, 'hbase', 'shell', '-n'])}"
        )
    script = str(resource(_SCRIPT)).replace("\\", "\\\\").replace("'", "\\'")
    try:
        done = subprocess.run(
            [*words, "shell", "-n"],
            input=f"load '{script}'\n",
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SHELL_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"{command} shell: {error}") from None
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not any(line.startswith("schema: ") for line in lines):
        last = "\n".join((lines + done.stderr.splitlines())[-_LAST_LINES:])
        raise StoreError(f"{command} shell failed on {_SCRIPT}; it said last:\n{last}")
    return [line.replace(": ", " ", 1) for line in lines if line.startswith("created: ")]


def check_command(command: str) -> None:
    """BadConfig where it cannot be run, although nothing has to be made now."""
    if _words(command) is None:
        raise BadConfig(
            f"store.hbase_command: {command!r} is no command here. The tables are there, so "
            "none is needed: leave the setting out, or name what starts the HBase shell"
        )


def _words(command: str) -> list[str] | None:
    """As a shell would read it; None where it is no program here."""
    try:
        words = shlex.split(command)
    except ValueError:  # quotes that do not close
        return None
    return words if words and shutil.which(words[0]) is not None else None


def _compared(
    family: str, versions: int, held: Any, wanted: Chosen
) -> dict[str, tuple[object, object, bool]]:
    """attribute -> (what it is, what it should be, whether a difference does harm)."""
    is_ = {"COMPRESSION": _text(held.compression), "BLOOMFILTER": _text(held.bloomFilterType)}
    compared: dict[str, tuple[object, object, bool]] = {
        "VERSIONS": (held.maxVersions, versions, held.maxVersions < versions),
        **{name: (is_[name], should, False) for name, should in wanted.attributes.items()},
    }
    if family != "raw":
        compared["TTL"] = (held.timeToLive, FOREVER, True)
    return compared


def _alter(table: str, family: str, **attributes: object) -> str:
    values = {"NAME": family, **attributes}
    return f"alter '{table}', {{{', '.join(f'{k} => {v!r}' for k, v in values.items())}}}"


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value

"""The schema script for the HBase shell says what the cells need."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weibo_crawler.errors import BadConfig, StoreError
from weibo_crawler.store.hbase.address import parse_address
from weibo_crawler.store.hbase.schema import (
    FOREVER,
    Chosen,
    check_command,
    chosen,
    differences,
    make_tables,
)
from weibo_crawler.store.rows.cells import FAMILIES

SCRIPT = Path(__file__).parents[2] / "conf/hbase_schema.rb"


def test_families_and_versions_are_those_of_the_cells() -> None:
    """Same tables, same families, same versions in both homes."""
    text = SCRIPT.read_text("utf-8").partition("def tables")[2].partition("\n  end")[0]
    given = re.search(r"'WEIBO_KEEP_VERSIONS', '(\d+)'", SCRIPT.read_text("utf-8"))
    assert given is not None
    text = text.replace("@keep_versions", given[1])
    tables = {}
    for name, families in re.findall(r"'(\w+)' => \{ ('\w+' => \{.*?\}) \}", text, re.DOTALL):
        found = re.findall(r"'(\w+)' => \{([^}]*)\}", families)
        tables[name] = {
            family: int((re.findall(r"versions: (\d+)", more) or ["1"])[0])
            for family, more in found
        }
    assert tables == FAMILIES


def descriptor(**changes: object) -> Any:
    """What Thrift1 tells of a family made by the script, with changes."""
    made = {"maxVersions": 100, "compression": b"GZ", "bloomFilterType": b"ROW"}
    return SimpleNamespace(**{**made, "timeToLive": FOREVER, **changes})


def test_the_attributes_are_those_of_the_script() -> None:
    """A table made by the script is as the comparison wants it, but for what it says itself."""
    text = SCRIPT.read_text("utf-8")
    assert "versions: 1, ttl: FOREVER, bloomfilter: 'ROW'" in text
    default = Chosen()
    given = f"'REGIONS' => '{default.regions}', 'COMPRESSION' => '{default.compression}'"
    assert given in text
    assert chosen({}) == default
    assert re.search(r"FOREVER = ([\d_]+)", text)[1].replace("_", "") == str(FOREVER)  # type: ignore[index]
    assert list(differences("t", {"count": 100}, {"count": descriptor()}, 16)) == []


@pytest.mark.parametrize(
    ("family", "held", "told", "harmful"),
    [
        ("count", None, "no family count: alter 't', {NAME => 'count', VERSIONS => 100,", True),
        ("count", descriptor(maxVersions=3), "VERSIONS is 3, should be 100: alter 't'", True),
        ("count", descriptor(maxVersions=999), "VERSIONS is 999, should be 100", False),
        ("count", descriptor(timeToLive=60), "TTL is 60, should be 2147483647", True),
        ("count", descriptor(compression=b"NONE"), "COMPRESSION is NONE, should be GZ", False),
        ("count", descriptor(bloomFilterType="NONE"), "BLOOMFILTER is NONE", False),
    ],
)
def test_differences_are_told(family: str, held: Any, told: str, harmful: bool) -> None:
    """With the command that mends them; harmful is what cannot hold, or loses, what is written."""
    [found] = differences("t", {family: 100}, {} if held is None else {family: held}, 16)
    assert told in found.text
    assert found.harmful is harmful


def test_what_was_chosen_is_no_difference() -> None:
    """Whoever checks by the variables by which the tables were made is told of nothing."""
    wanted = chosen({"WEIBO_TABLE_REGIONS": "4", "WEIBO_TABLE_COMPRESSION": "snappy"})
    held = {"count": descriptor(compression=b"SNAPPY")}
    assert list(differences("t", {"count": 100}, held, 4, wanted)) == []
    told = [each.text for each in differences("t", {"count": 100}, held, 3, wanted)]
    assert told == ["table t has 3 of 4 regions; HBase splits it as it grows"]


@pytest.mark.parametrize("regions", ["0", "257", "-1", "many", ""])
def test_a_number_of_regions_that_cannot_be(regions: str) -> None:
    """There are 256 salts to cut by."""
    with pytest.raises(BadConfig, match=r"WEIBO_TABLE_REGIONS is 1 to 256"):
        chosen({"WEIBO_TABLE_REGIONS": regions})


def test_a_time_to_live_of_raw_is_a_choice() -> None:
    """Whoever runs the script sets it."""
    assert list(differences("t", {"raw": 100}, {"raw": descriptor(timeToLive=60)}, 16)) == []


def test_a_shell_that_fails_is_told(tmp_path: Path) -> None:
    """Its last lines are in the error; a command that is not there names what to run instead."""
    shell = tmp_path / "hbase"
    shell.write_text("#!/bin/sh\ncat >/dev/null\necho no quorum >&2\nexit 1\n")
    shell.chmod(0o700)
    address = parse_address("hbase://h/weibo:dev")
    with pytest.raises(StoreError, match=r"shell failed(.|\n)*no quorum"):
        make_tables(address, str(shell))
    for none in (str(tmp_path / "none"), "", "hbase 'of mine"):
        with pytest.raises(
            StoreError, match="WEIBO_TABLE_NAMESPACE=weibo WEIBO_TABLE_PREFIX=dev hbase"
        ):
            make_tables(address, none)
        with pytest.raises(BadConfig, match=r"store\.hbase_command.*leave the setting out"):
            check_command(none)
    with pytest.raises(StoreError, match="WEIBO_KEEP_VERSIONS=9 WEIBO_TABLE_NAMESPACE=weibo"):
        make_tables(address, "", 9)
    check_command(f"{shell} --config /etc/hbase")

"""The schema script for the HBase shell says what the cells need."""

import re
from pathlib import Path

from weibo_crawler.store.cells import FAMILIES

SCRIPT = Path(__file__).parents[2] / "conf/hbase_schema.rb"


def test_families_and_versions_are_those_of_the_cells() -> None:
    """Same tables, same families, same versions in both homes."""
    text = SCRIPT.read_text("utf-8").partition("def tables")[2].partition("\n  end")[0]
    tables = {}
    for name, families in re.findall(r"'(\w+)' => \{ ('\w+' => \{.*?\}) \}", text, re.DOTALL):
        found = re.findall(r"'(\w+)' => \{([^}]*)\}", families)
        tables[name] = {
            family: int((re.findall(r"versions: (\d+)", more) or ["1"])[0])
            for family, more in found
        }
    assert tables == FAMILIES

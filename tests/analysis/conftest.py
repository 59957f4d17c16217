from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.worlds import open_tables
from weibo_crawler.store.sqlite.tables import SqliteTables


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[SqliteTables]:
    opened = open_tables(tmp_path)
    yield opened
    opened.close()

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.posts.crawls import Crawl


@pytest.fixture
def crawl_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crawl]:
    made = Crawl(tmp_path, monkeypatch)
    yield made
    made.users.close()
    made.tables.close()

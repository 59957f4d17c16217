"""One MariaDB server for each module that asks for it, and a database of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.store.mariadb import MariaDb


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    """The server; the module that asks for it is skipped where there is none."""
    server = MariaDb(tmp_path_factory.mktemp("mariadb"))
    yield server
    server.stop()


@pytest.fixture
def url(server: MariaDb) -> str:
    """Where a new and empty database is."""
    return server.url()

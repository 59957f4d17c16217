"""One MariaDB server for each process that runs tests, and a database of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.store.mariadb import MariaDb


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    """The server; the modules that ask for it are skipped where there is none."""
    server = MariaDb(tmp_path_factory.mktemp("mariadb"))
    yield server
    server.stop()


@pytest.fixture
def url(server: MariaDb) -> str:
    """Where a new and empty database is."""
    return server.url()

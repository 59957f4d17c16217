"""One small simulator for all tests that only read."""

from collections.abc import Iterator

import pytest

from tests.forks import simulator
from tests.simulator.visitors import Ask, asker, world_of
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.run import Running
from weibo_crawler.simulator.world import World

SMALL = SimulatorOptions(users=130, mean_posts=15)


@pytest.fixture(scope="session")
def small_site() -> Iterator[Running]:
    with simulator(SMALL) as running:
        yield running


@pytest.fixture(scope="session")
def small_world() -> World:
    return world_of(SMALL)


@pytest.fixture
def ask(small_site: Running) -> Iterator[Ask]:
    with asker(small_site.base_url) as ask:
        yield ask

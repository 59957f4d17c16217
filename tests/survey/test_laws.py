"""The ten pages, asked for in worlds whose rules were drawn by dice: what is said of them is so."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.forks import simulator
from tests.survey.recordings import cases
from weibo_crawler.cli.site_check import Found, look_at_the_site, states
from weibo_crawler.config import Fetch, Pace, Posts, Settings, Site, Store
from weibo_crawler.home import Home
from weibo_crawler.records import PEOPLE_LISTS, Verdict
from weibo_crawler.simulator.laws import Laws
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.run import Running
from weibo_crawler.simulator.world import World
from weibo_crawler.survey.looks import LATER_POSTS, POSTS, PROFILE
from weibo_crawler.survey.recording import outline, read

_DAY = 86_400
SEEDS = range(6)


def _options(seed: int) -> SimulatorOptions:
    epoch = int(time.time() // _DAY * _DAY)
    return SimulatorOptions(seed=seed, laws=seed, users=60, mean_posts=20.0, epoch=epoch)


@contextmanager
def _site(seed: int, folder: Path) -> Iterator[tuple[Running, Settings, list[int]]]:
    options = _options(seed)
    with simulator(options) as running:
        settings = Settings(
            site=Site(base_url=running.base_url, visitor_url=running.visitor_url),
            store=Store(users=f"sqlite:///{folder}/u.db", tables=f"sqlite:///{folder}/t.db"),
            pace=Pace(requests_per_second=0.0),
            posts=Posts(info_days=1.0),
            fetch=Fetch(read_timeout_s=2.0),
        )
        world = World.make(options.seed, options.users, epoch=options.epoch)
        yield running, settings, [int(uid) for uid in world.seeds]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_said_is_the_law(seed: int, tmp_path: Path) -> None:
    """How deep guests see is what the laws say; all that is wrong is what they break; and each
    answer is a fixture that is read as the answer was."""
    laws = Laws.drawn(seed)
    with _site(seed, tmp_path) as (_, settings, seeds):
        found = look_at_the_site(settings, seeds[0], tmp_path / "recorded")
        with Home(settings) as home:
            recorded = [
                (case.name, case.reads_as, outline(read(home.site, case.request, case.page)))
                for case in cases(tmp_path / "recorded")
            ]
    assert not list(tmp_path.glob("*.db*")), "a store was made"
    looks = {look.name: look for look in found.looks}
    assert looks[PROFILE].is_shown, looks
    _check_depth(found, laws)
    for name, wall in ((name, laws.fans_wall) for name in PEOPLE_LISTS):
        assert looks[name].is_walled is False or wall is not None, looks[name]
    wrong = {look.name: look.reading for look in found.looks if look.is_wrong}
    drifted = {name for name, reading in wrong.items() if reading.verdict is Verdict.DRIFTED}
    assert drifted <= {"information"}
    assert ("information" in drifted) <= (laws.info == "drifted")
    assert len(recorded) >= len([look for look in found.looks if look.reading])
    assert [file for file, then, now in recorded if then != now] == []
    assert "otherwise" not in found.recorded, found.recorded


def _check_depth(found: Found, laws: Laws) -> None:
    looks = {look.name: look for look in found.looks}
    later = looks[LATER_POSTS]
    if later.reading is None:
        return  # page 1 named none
    assert looks[POSTS].is_shown
    assert later.is_walled == (laws.posts_wall == 1), later
    assert ("only page 1" in found.meaning.pages) == (laws.posts_wall == 1)


def test_exit_codes_are_those_of_what_is_wrong(tmp_path: Path) -> None:
    """What guests are not shown is no fault; a changed shape is."""
    codes = set()
    for seed in SEEDS:
        laws = Laws.drawn(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        with _site(seed, folder) as (_, settings, seeds):
            lines = states(look_at_the_site(settings, seeds[0], None))
        code = max(line[3] for line in lines)
        assert (code == 4) == any(line[0] == "wrong" for line in lines)
        if laws.info == "drifted":
            assert code == 4
        codes.add(code)
    assert 0 in codes

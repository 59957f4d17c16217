"""A site that falls silent in the middle of a run: everybody gets the no-content body."""

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl
from tests.foreign.worlds import World, crawl_of, free_port, run, started, walk

pytestmark = pytest.mark.timeout(240)
_MOST = 100  # requests after which a run has understood
_SAID = {"soft": "shows nothing", "gone": "everybody is gone"}
# a word is doubted later than an emptiness, and two mappers hear it: 88 to 216 in fourteen runs
_MOST_OF = {"soft": _MOST, "gone": 250}
_SILENCES = [("soft", 0), ("soft", 100), ("gone", 0), ("gone", 60)]


class Switch:
    """The site of switched_site.py from outside. log: [path, what] of each answer so far."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self._read, self._answers = 0, list[tuple[str, str]]()

    def set(self, state: str) -> None:
        (self.folder / "switch.new").write_text(state)
        (self.folder / "switch.new").rename(self.folder / "switch")

    @property
    def log(self) -> list[tuple[str, str]]:
        with (self.folder / "log").open("rb") as file:
            file.seek(self._read)
            new = file.read()
        new = new[: new.rfind(b"\n") + 1]
        self._read += len(new)
        self._answers += [tuple(json.loads(line)) for line in new.splitlines()]
        return self._answers


@contextmanager
def switched(world: World, folder: Path, share: float = 0.0) -> Iterator[Switch]:
    folder.mkdir()
    port = free_port()
    command = [str(Path(__file__).with_name("switched_site.py")), str(world.tools)]
    command += [str(world.folder), str(port), str(folder / "log"), str(folder / "switch")]
    with started(*command, str(share), ready=f"http://127.0.0.1:{port}/"):
        yield Switch(folder, port)


@pytest.fixture(scope="module")
def harvested(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stores after a harvest of the site while it was well, and an import."""
    folder = tmp_path_factory.mktemp("harvested")
    with (
        switched(world, folder / "site") as site,
        crawl_of(folder / "crawl", site.port) as crawl,
    ):
        run(crawl, "seed", *world.seeds)
        run(crawl, "harvest")
        run(crawl, "import")
    return folder / "crawl"


def _is_later_page(path: str, what: str) -> bool:
    return what == "page" and re.search(r"since_id=(?!1$)|[?&]page=(?!1$)", path) is not None


def _switch(
    crawl: Crawl,
    site: Switch,
    state: str,
    after: int,
    *command: str,
    counts: Callable[[str, str], bool] = lambda path, what: True,
) -> tuple[int, str]:
    """Run the command; the site falls silent, by this state of it, after so many answers that
    count. What it asked for of the silent site, and what it said."""
    before = len(site.log)
    if not after:
        site.set(state)
    process = crawl.start(*command)
    while after and process.poll() is None:
        if sum(counts(path, what) for path, what in site.log[before:]) >= after:
            break
        time.sleep(0.002)
    assert process.poll() is None, "the run ended before the site fell silent"
    site.set(state)
    code = process.wait(120)
    asked = sum(what == "soft" for _, what in site.log)
    said = crawl.said(process)
    assert code == 4, f"exit code {code} after {asked} silent answers\n{said}"
    return asked, said


def _done_unread(crawl: Crawl, world: World, log: list[tuple[str, str]]) -> list[int]:
    """Users whose list is done although not all of its pages were served."""
    served = set()
    for path, what in log:
        if what == "page" and (found := re.search(r"fans_-_(\d+)(?:.*since_id=(\d+))?", path)):
            served.add(f"{found[1]}-{found[2] or 1}.gz")
    pages = [file.name for file in (world.folder / "www/fans").iterdir()]
    done = {user["id"] for user in crawl.scan("users") if user["state"] == "done"}
    return sorted({int(n.split("-")[0]) for n in pages if n not in served} & done)


def _nobody_is_gone(crawl: Crawl) -> None:
    assert not [user for user in crawl.scan("users") if user["state"] == "gone"]
    assert crawl.json("report", "--completeness")["gone"] == 0


@pytest.mark.parametrize(("state", "after"), _SILENCES)
def test_a_harvest_stops_when_the_site_falls_silent(
    world: World, tmp_path: Path, state: str, after: int
) -> None:
    """The no-content body for everybody, or the word that there is no such user, from one moment of
    a harvest on: exit code 4 with the true reason within 100 requests (200 for the word), no list
    is done that was not read, nobody is gone. When the site is well again the same commands reach
    the truth."""
    with (
        switched(world, tmp_path / "site") as site,
        crawl_of(tmp_path / "crawl", site.port) as crawl,
    ):
        run(crawl, "seed", *world.seeds)
        asked, said = _switch(crawl, site, state, after, "harvest")
        assert asked <= _MOST_OF[state]
        assert (_SAID[state] if after else "shows nothing") in said
        assert not _done_unread(crawl, world, site.log)
        _nobody_is_gone(crawl)
        site.set("well")
        assert not walk(crawl, world, rounds=3)


@pytest.mark.parametrize(("state", "after"), _SILENCES)
def test_a_posts_run_stops_when_the_site_falls_silent(
    world: World, harvested: Path, tmp_path: Path, state: str, after: int
) -> None:
    """The same for a posts run: exit code 4 within as many requests, nobody is gone or read to a
    false end; well again, the same commands reach the truth."""
    with (
        switched(world, tmp_path / "site") as site,
        crawl_of(tmp_path / "crawl", site.port) as crawl,
    ):
        shutil.copytree(harvested, crawl.folder, dirs_exist_ok=True)
        asked, said = _switch(crawl, site, state, after, "posts")
        assert asked <= _MOST_OF[state]
        assert _SAID[state] in said
        _nobody_is_gone(crawl)
        site.set("well")
        assert not walk(crawl, world, rounds=3)


def test_a_posts_run_stops_when_later_pages_fall_silent(
    world: World, harvested: Path, tmp_path: Path
) -> None:
    """The no-content body in the place of later pages, first ones as ever, after some later pages:
    the same, as those that were shown before are shown no more."""
    after = 20  # some of these are ends; several hold posts, so that a mapper has been shown one
    with (
        switched(world, tmp_path / "site") as site,
        crawl_of(tmp_path / "crawl", site.port) as crawl,
    ):
        shutil.copytree(harvested, crawl.folder, dirs_exist_ok=True)
        asked, said = _switch(*(crawl, site, "soft later", after, "posts"), counts=_is_later_page)
        assert asked <= _MOST
        assert "shows nothing" in said
        assert "later pages" in said
        before = sum(what == "soft" for _, what in site.log)
        _, said = run(crawl, "posts", codes=(4,))  # as cron does, and the site is silent still
        assert "later pages" in said
        assert sum(what == "soft" for _, what in site.log) - before <= _MOST
        _nobody_is_gone(crawl)
        site.set("well")
        assert not walk(crawl, world, rounds=3)


def test_a_harvest_stops_when_later_pages_fall_silent(world: World, tmp_path: Path) -> None:
    """The same for lists of people."""
    after = 10
    with (
        switched(world, tmp_path / "site") as site,
        crawl_of(tmp_path / "crawl", site.port) as crawl,
    ):
        run(crawl, "seed", *world.seeds)
        asked, said = _switch(*(crawl, site, "soft later", after, "harvest"), counts=_is_later_page)
        assert asked <= _MOST
        assert "shows nothing" in said
        before = sum(what == "soft" for _, what in site.log)
        _, said = run(crawl, "harvest", codes=(4,))  # as cron does, and the site is silent still
        assert "later pages" in said
        assert sum(what == "soft" for _, what in site.log) - before <= _MOST
        assert not _done_unread(crawl, world, site.log)
        site.set("well")
        assert not walk(crawl, world, rounds=3)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_restricted_long_texts_cost_one_round_of_ways(
    world: World, tmp_path: Path, share: float
) -> None:
    """Where the site shows nobody the text of many long posts, the posts run gets to the end, says
    of each that its text is cut, and asks for it once by each of three ways, never again soon."""
    from tests.foreign.switched_site import is_restricted

    users = world.truth["kept"].values()
    hidden = [mid for user in users for mid in user["long"] if is_restricted(mid, share)]
    with (
        switched(world, tmp_path / "site", share) as site,
        crawl_of(tmp_path / "crawl", site.port) as crawl,
    ):
        walk(crawl, world)
        asked = sum(what == "restricted" for _, what in site.log)
        assert world.compare(crawl) == {"text_wrong": len(hidden)}
        posts = {post["mid"]: post for post in crawl.scan("posts")}
        assert not any(posts[mid]["text_complete"] for mid in hidden)
        assert asked <= 3 * len(hidden)
        run(crawl, "posts")
        assert sum(what == "restricted" for _, what in site.log) == asked


def test_a_day_without_later_pages(world: World, harvested: Path, tmp_path: Path) -> None:
    """Later pages were empty all day: the closing line says so, and what brings them back, until it
    has; then it says nothing of the kind."""
    hint = "`posts --refresh --all` asks for them again"
    with (
        switched(world, tmp_path / "site") as site,
        crawl_of(tmp_path / "crawl", site.port) as crawl,
    ):
        shutil.copytree(harvested, crawl.folder, dirs_exist_ok=True)
        site.set("soft later")
        _, said = run(crawl, "posts", codes=(0, 4))
        few = len(crawl.scan("posts"))
        assert hint in said
        site.set("")
        for _ in range(3):
            _, said = run(crawl, "posts", "--refresh", "--all", codes=(0, 4))
            if len(crawl.scan("posts")) == world.truth["totals"]["posts"]:
                break
        assert few < world.truth["totals"]["posts"] == len(crawl.scan("posts"))
        assert hint not in said
        assert world.compare(crawl) == {}

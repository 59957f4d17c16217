"""A world of `simulate --laws`: its truth, what is needed there, its log."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.needs import Ended, Errors, Extent, Needs, Sent
from tests.cli.crawls import Crawl
from tests.laws.compare import differences
from weibo_crawler.simulator.lawful_pages import LawfulPages
from weibo_crawler.simulator.lawful_world import LawfulWorld, Sheet
from weibo_crawler.simulator.laws import Laws
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.routes import Asked, Kind, understand
from weibo_crawler.simulator.run import start, world_of
from weibo_crawler.simulator.served import read_served

_ANSWERS = ("ok", "end", "gone", "restricted", "slow")  # what the served log calls no refusal
_MIN_FANS = 10
_UNTOLD = ("fans_list", "fans_absent")  # forms of an item that does not say how many fans
_DAY_S = 86_400


class Lawful:
    """A world of `simulate --laws`."""

    def __init__(self, folder: Path, laws: int, users: int) -> None:
        self.name = f"laws {laws}, {users:,} users"
        self._folder = folder
        self._options = SimulatorOptions(
            seed=laws,
            laws=laws,
            users=users,
            mean_posts=12.0,
            epoch=int(time.time() // _DAY_S * _DAY_S),
            truth_out=str(folder / "truth.json"),
            served_out=str(folder / "served.jsonl"),
        )
        world = world_of(self._options)
        assert isinstance(world, LawfulWorld)
        self._world, self._pages = world, LawfulPages(world)
        self.seeds = [str(uid) for uid in world.seeds]
        self._kept = [self._index(uid) for uid in world.kept(world.seeds, _MIN_FANS)]

    @contextmanager
    def served(self) -> Iterator[tuple[str, str]]:
        """Base and visitor address."""
        with start(self._options) as running:
            yield running.base_url, running.visitor_url

    def log(self) -> list[Sent]:
        lines = read_served(self._folder / "served.jsonl")
        return [Sent(line.time, line.request, line.served not in _ANSWERS) for line in lines]

    @property
    def laws(self) -> Laws:
        return self._world.laws

    def answer(self, address: str) -> bytes:
        """What the site shows at an address, to who may see all."""
        return self._pages.answer(address).body

    def number(self, asked: Asked) -> int:
        return self._pages.number(asked)

    def needs(self, stage: str) -> Needs:
        world, uid = self._world, self._world.uid
        if stage == "harvest":
            fans = {(Kind.FANS, uid(i)): self._extent(Kind.FANS, i) for i in self._kept}
            return Needs(fans, profiles=frozenset(map(int, self.seeds)) | self._untold())
        lists = {(Kind.POSTS, uid(i)): self._extent(Kind.POSTS, i) for i in self._kept}
        if stage == "refresh":
            return Needs(lists, is_first_enough=True)
        shown = [mid for i in self._kept for mid in world.places(i)]
        texts = frozenset(mid for mid in shown if world.written(mid).is_long)
        hidden = frozenset(uid(i) for i in self._kept if not self._shows_owner(i))
        return Needs(lists, texts, hidden)

    def errors(self, crawl: Crawl, ended: Ended) -> Errors:
        truth = json.loads((self._folder / "truth.json").read_text("utf-8"))
        held: dict[str, Any] = {
            "depths_exact": ended.depths_exact,
            "codes": {},
            "requests": 0,
            "users": {row["id"]: row for row in crawl.scan("users")},
            "posts": {row["mid"]: row for row in crawl.scan("posts")},
        }
        ledgers = crawl.run("report", "--completeness", "--format", "jsonl").stdout
        rows = map(json.loads, ledgers.splitlines())
        errors = ended.errors()
        for line in differences(truth, held | {"ledgers": {row["id"]: row for row in rows}}):
            is_extra = "is kept, and" in line or "no page shows" in line or "nobody can" in line
            missing = "extra" if is_extra else "missing" if "missing" in line else "wrong"
            errors[missing] += 1
        return errors

    def _index(self, uid: int) -> int:
        index = self._world.index(uid)
        assert index is not None
        return index

    def _sheets(self, kind: Kind, index: int) -> tuple[Sheet, ...]:
        world = self._world
        return world.fan_sheets(index) if kind is Kind.FANS else world.post_sheets(index)

    def _extent(self, kind: Kind, index: int) -> Extent:
        """A walled list ends where the wall is, which an all-knowing crawler does not ask for."""
        laws, pages = self._world.laws, len(self._sheets(kind, index))
        wall = laws.fans_wall if kind is Kind.FANS else laws.posts_wall
        if wall is not None and pages >= wall:
            return Extent(wall, is_open=False)
        if not pages:
            return Extent(0, is_open=True)
        if kind is Kind.FANS and laws.fans_next == "silent":
            return Extent(pages, is_open=True)
        uid = self._world.uid(index)
        names = {Kind.FANS: f"231051_-_fans_-_{uid}", Kind.POSTS: f"107603{uid}"}
        address = f"/api/container/getIndex?containerid={names[kind]}&page={pages}"
        info = msgspec.json.decode(self.answer(address))["data"]["cardlistInfo"]
        named = info.get("since_id") or info.get("page")
        if not named:
            return Extent(pages, is_open=False)
        name = "page" if "page" in info else "since_id"
        following = f"/api/container/getIndex?containerid={names[kind]}&{name}={named}"
        return Extent(pages, is_open=self.number(understand(following)) > pages)

    def _shows_owner(self, index: int) -> bool:
        """Whether page 1 of the posts shows a post, and by it the profile; a user who is gone has
        none to ask for."""
        sheets = self._world.post_sheets(index)
        is_shown = bool(sheets) and any(place.thing is not None for place in sheets[0])
        return is_shown or bool(self._world.gone(index))

    def _untold(self) -> frozenset[int]:
        """Whom the lists show, but never with a number of fans: only the profile tells whether to
        keep them."""
        told, untold = set[int](), set[int]()
        for index in self._kept:
            for sheet in self._world.fan_sheets(index)[: self._world.laws.fans_wall]:
                for thing, form, _ in sheet:
                    if thing is not None:
                        (untold if form in _UNTOLD else told).add(thing)
        return frozenset(map(self._world.uid, untold - told))

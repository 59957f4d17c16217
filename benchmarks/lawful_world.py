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
from tests.laws.crawl import walled_lists
from weibo_crawler.simulator.lawful_pages import LawfulPages
from weibo_crawler.simulator.lawful_world import LawfulWorld, Sheet
from weibo_crawler.simulator.laws import BROKEN_POSTS, Laws
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.routes import Asked, Kind, understand
from weibo_crawler.simulator.run import start, world_of
from weibo_crawler.simulator.served import read_served

_ANSWERS = ("ok", "end", "gone", "restricted", "slow")  # what the served log calls no refusal
_MIN_FANS = 10
# forms of an item that does not say how many fans: nobody knows what wrote a float
_UNTOLD = ("fans_list", "fans_absent", "fans_float")
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
        return [
            Sent(
                *(line.time, line.request, line.served not in _ANSWERS, line.is_fault),
                is_empty=line.served == "end",
            )
            for line in lines
        ]

    @property
    def in_a_row(self) -> int:
        """How often faults may empty the answers to one request."""
        return self.laws.in_a_row if self.laws.soft_empty else 0

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
            seeds = frozenset(map(int, self.seeds))
            private = sum(map(world.are_fans_private, self._kept))
            return Needs(fans, profiles=seeds | self._untold(), walled=private)
        lists = {(Kind.POSTS, uid(i)): self._extent(Kind.POSTS, i) for i in self._kept}
        if stage == "refresh":
            nobody = {uid(i) for i in self._kept if world.gone(i) == "emptiness"}
            lists |= {(Kind.POSTS, one): Extent(0, is_open=False) for one in nobody}
            return Needs(lists, profiles=nobody, is_first_enough=True)
        shown = [mid for i in self._kept for mid in world.places(i)]
        texts = frozenset(mid for mid in shown if world.written(mid).is_long)
        hidden = frozenset(uid(i) for i in self._kept if not self._shows_owner(i))
        # of three ways that each offer as many texts: one for those that all offer, else 1, 2 or 3
        luck = sum(not world.is_restricted(mid) for mid in texts) * world.laws.one_way
        private = sum(map(world.are_posts_private, self._kept))
        return Needs(lists, texts, hidden, ways=len(texts) + luck, walled=private)

    def errors(self, crawl: Crawl, ended: Ended) -> Errors:
        truth = json.loads((self._folder / "truth.json").read_text("utf-8"))
        held: dict[str, Any] = {
            "depths_exact": ended.depths_exact,
            "codes": {},
            "requests": 0,
            "users": {row["id"]: row for row in crawl.scan("users")},
            "posts": {row["mid"]: row for row in crawl.scan("posts")},
            "walled": walled_lists(Path(crawl.folder)),
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
        is_fans = kind is Kind.FANS
        if (self._world.are_fans_private if is_fans else self._world.are_posts_private)(index):
            return Extent(0, is_open=False)
        laws, pages = self._world.laws, len(self._sheets(kind, index))
        wall = laws.fans_wall if kind is Kind.FANS else laws.posts_wall
        sheets = enumerate(self._sheets(kind, index)[:wall], 1)
        first = next((n for n, sheet in sheets if any(p.thing is not None for p in sheet)), 0)
        if wall is not None and pages >= wall:
            return Extent(wall, is_open=False, first=first)
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
            return Extent(pages, is_open=False, first=first)
        name = "page" if "page" in info else "since_id"
        following = f"/api/container/getIndex?containerid={names[kind]}&{name}={named}"
        is_open = self.number(understand(following)) > pages
        return Extent(pages, is_open, first)

    def _shows_owner(self, index: int) -> bool:
        """Whether the posts on the first page that shows one tell all that the profile tells, or
        the site says there in words that the user is gone."""
        if how := self._world.gone(index):
            return how == "20003"
        laws, pages = (
            self._world.laws,
            self._world.post_sheets(index)[: self._world.laws.posts_wall],
        )
        posts = ([place for place in page if place.thing is not None] for page in pages)
        first = next(filter(None, posts), [])
        # odd posts show their owner as the profile does, the others without `owners_lack`
        is_odd = any(place.form and place.form not in BROKEN_POSTS for place in first)
        lacks = laws.owners_lack == "urank" or (
            laws.owners_lack == "statuses_count" and laws.statuses in ("exact", "text")
        )
        return bool(first) and (is_odd or not lacks)

    def _untold(self) -> frozenset[int]:
        """Of whom only the profile tells whether to keep them: whom lists show, but never with a
        number of fans, or, of those who are kept, not on the level at which they are found."""
        world, told, untold = self._world, set[int](), set[int]()
        depths = world.kept(world.seeds, _MIN_FANS)
        for index in self._kept:
            for sheet in world.fan_sheets(index)[: world.laws.fans_wall]:
                for thing, form, _ in sheet:
                    if thing is None:
                        continue
                    found = depths.get(world.uid(thing))
                    if form in _UNTOLD:
                        untold.add(thing)
                    elif found is None or depths[world.uid(index)] < found:
                        told.add(thing)
        return frozenset(map(world.uid, untold - told)) - set(map(int, self.seeds))

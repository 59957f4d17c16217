"""A world as its laws show it: who stands on which page of a fan list, which post on which page of
a timeline, and in what form."""

from array import array
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import NamedTuple

from weibo_crawler.simulator.dice import Topic, dice, scatter
from weibo_crawler.simulator.graph import POPULAR
from weibo_crawler.simulator.laws import Laws
from weibo_crawler.simulator.timeline import writer_of
from weibo_crawler.simulator.world import PAGE_OF_POSTS, World, rounded

# Where there is little else on a page it would be an end, or look like the page of another user, or
# like one of an unknown shape.
_NOT_ALONE = frozenset(
    ["card58", "liked", "mblog_absent", "words", "user_without_id", "user_words", "user_blank"]
)
_ENOUGH = 6  # more than twice as many as there may be of those


class Place(NamedTuple):
    """What stands in one place of a page.

    thing: a user by index, or a mid; None for what is neither. form: how it is bent, "" for not.
    """

    thing: int | None
    form: str = ""
    is_pinned: bool = False


Sheet = tuple[Place, ...]


class LawfulWorld(World):
    """The users and posts of a world, and what its laws show of them."""

    def __init__(self, world: World, laws: Laws) -> None:
        super().__init__(world.seed, world.size, world.knobs)
        self.laws = laws
        self.fan_sheets = lru_cache(maxsize=None)(self._fan_sheets)
        self.post_sheets = lru_cache(maxsize=None)(self._post_sheets)

    # -- people

    def gone(self, index: int) -> str:
        """How the site says that a user does not exist any more, "" for who does. Hubs stay."""
        if index in self.graph.hubs or not self._hits(index, 101, self.laws.gone):
            return ""
        return self.laws.gone_by[scatter(index, 102) % len(self.laws.gone_by)]

    def fans_announced(self, index: int) -> int:
        fans = self.graph.degree(index)
        return rounded(fans * self.laws.fans_factor) if fans >= POPULAR else fans

    def fans_shown(self, index: int) -> "array[int]":
        """Who a guest finds on the fan list of a user and can be told apart, each once."""
        sheets = self.fan_sheets(index)[: self.laws.fans_wall]
        found = (place.thing for sheet in sheets for place in sheet)
        return array("I", dict.fromkeys(one for one in found if one is not None))

    def searched(self, words: str) -> list[int]:
        """As far as a guest sees; what people wrote who are gone is not shown."""
        mids = [mid for mid in super().searched(words) if not self.gone(writer_of(mid))]
        wall = self.laws.search_wall
        return mids if wall is None else mids[: wall * PAGE_OF_POSTS]

    def are_fans_private(self, index: int) -> bool:
        """Whether guests are refused the fan list of this user alone."""
        return not self.gone(index) and self._hits(index, 108, self.laws.private_lists)

    def are_posts_private(self, index: int) -> bool:
        """The same of the timeline."""
        return not self.gone(index) and self._hits(index, 109, self.laws.private_timelines)

    def is_nameless(self, index: int) -> bool:
        """Whether the profile has no name."""
        return self._hits(index, 103, self.laws.nameless)

    def _fan_sheets(self, index: int) -> tuple[Sheet, ...]:
        """The pages of a fan list; none where the site shows none."""
        laws, rng = self.laws, dice(self.seed, Topic.FAN_SHEETS, index)
        if self.gone(index) or rng.random() < laws.hidden_lists or self.are_fans_private(index):
            return ()
        fans = [
            fan
            for fan in self.graph.fans(index)
            if rng.random() >= laws.filtered and not self._hits(fan, 104, laws.hidden_people)
        ][: laws.fans_cap]
        pages = [self._odd_people(page, rng) for page in self._cut(fans, laws.fans_page, rng)]
        pages = self._repeated(pages, rng)
        if laws.fans_next != "silent":
            pages = self._with_blanks(pages, ("user_null",), rng)
        return tuple(
            self._with_junk(page, laws.junk_people, laws.junk_people_forms, rng) for page in pages
        )

    def _odd_people(self, fans: list[int], rng: Random) -> list[Place]:
        """At most a fifth of a page; who is gone could be told by no profile."""
        left, page = len(fans) // 5, []
        for fan in fans:
            is_odd = rng.random() < self.laws.odd_people and left and not self.gone(fan)
            page.append(Place(fan, rng.choice(self.laws.odd_people_forms) if is_odd else ""))
            left -= bool(is_odd)
        return page

    # -- posts

    def is_restricted(self, mid: int) -> bool:
        """Whether guests may not read the whole of a long text."""
        return self._hits(mid, 105, self.laws.restricted)

    def only_way(self, mid: int) -> str:
        """The one way that offers a long text, "" where all do."""
        if not self._hits(mid, 106, self.laws.one_way):
            return ""
        return ("extend", "show", "detail")[scatter(mid, 107) % 3]

    def order(self, index: int) -> list[int]:
        """The mids of a timeline as its pages show them to who may see all pages."""
        return list(self._places(self.post_sheets(index)))

    def places(self, index: int) -> dict[int, tuple[int, str]]:
        """The posts that a guest is shown: mid -> page, from 1, and form."""
        return self._places(self.post_sheets(index)[: self.laws.posts_wall])

    def _places(self, sheets: Iterable[Sheet]) -> dict[int, tuple[int, str]]:
        places: dict[int, tuple[int, str]] = {}
        for number, sheet in enumerate(sheets, 1):
            for mid, form, _ in sheet:
                if mid is not None:
                    places.setdefault(mid, (number, form))
        return places

    def _post_sheets(self, index: int) -> tuple[Sheet, ...]:
        """The pages of a timeline; none where the site shows none."""
        laws, rng = self.laws, dice(self.seed, Topic.POST_SHEETS, index)
        if self.gone(index) or rng.random() < laws.hidden_timelines:
            return ()
        if self.are_posts_private(index):
            return ()
        shown = [mid for mid in super().order(index) if rng.random() >= laws.hidden_posts]
        pinned = [Place(mid, is_pinned=True) for mid in self.calendar(index).pinned]
        first = {place.thing for place in pinned}
        pages = [
            self._bent_posts(page, first, rng) for page in self._cut(shown, laws.posts_page, rng)
        ]
        if pinned:
            pages = [pinned + (pages[0] if pages else []), *pages[1:]]
        alone = _alone(laws.junk_card_forms) or ("mblog_null",)
        pages = self._with_blanks(self._repeated(pages, rng), alone, rng)
        return tuple(
            self._with_junk(page, laws.junk_cards, laws.junk_card_forms, rng) for page in pages
        )

    def _bent_posts(self, mids: list[int], pinned: set[int | None], rng: Random) -> list[Place]:
        """At most a third of a page is broken; pinned posts, which may stand twice, never are."""
        laws, left, page = self.laws, len(mids) // 3, []
        for mid in mids:
            luck, form = rng.random(), ""
            if mid not in pinned and luck < laws.broken_posts and left:
                left, form = left - 1, rng.choice(laws.broken_post_forms)
            elif mid not in pinned and luck > 1 - laws.odd_posts:
                form = rng.choice(laws.odd_post_forms)
            page.append(Place(mid, form))
        return page

    # -- pages

    def _cut(self, things: list[int], full: int, rng: Random) -> list[list[int]]:
        pages = []
        while things:
            is_short = rng.random() < self.laws.short_pages
            size = rng.randint(1, full) if is_short else full
            pages.append(things[:size])
            things = things[size:]
        return pages

    def _repeated(self, pages: list[list[Place]], rng: Random) -> list[list[Place]]:
        """Some pages begin with what the page before ended with, where that is whole."""
        repeated = pages[:1]
        for before, page in pairwise(pages):
            again = before[-rng.randint(1, 2) :] if rng.random() < self.laws.repeats else []
            repeated.append([place for place in again if not place.form] + page)
        return repeated

    def _with_blanks(
        self, pages: list[list[Place]], forms: tuple[str, ...], rng: Random
    ) -> list[list[Place]]:
        """Some pages have a page before them that holds nothing that counts."""
        blanked = []
        for page in pages:
            if rng.random() < self.laws.blank_pages:
                blanked.append([Place(None, rng.choice(forms)) for _ in range(rng.randint(1, 3))])
            blanked.append(page)
        return blanked

    def _with_junk(
        self, page: list[Place], share: float, forms: tuple[str, ...], rng: Random
    ) -> Sheet:
        """Some pages have junk places, never the first: a card of type 58 would end it there."""
        if len([place for place in page if place.thing is not None]) < _ENOUGH:
            forms = _alone(forms)
        if forms and rng.random() < share:
            for _ in range(rng.randint(1, 3)):
                page.insert(rng.randint(1, len(page)), Place(None, rng.choice(forms)))
        return tuple(page)

    def _hits(self, thing: int, salt: int, share: float) -> bool:
        return scatter(thing, salt + (self.laws.seed << 8)) / 2**32 < share


def _alone(forms: tuple[str, ...]) -> tuple[str, ...]:
    """The forms that do no harm on any page."""
    return tuple(form for form in forms if form not in _NOT_ALONE)

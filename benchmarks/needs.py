"""What an all-knowing crawler asks of a site, beside what was asked by the site's own log. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from weibo_crawler.simulator.routes import VISITOR, Asked, Kind, understand

LISTS = {Kind.FANS: "fans", Kind.POSTS: "posts"}
PROFILE, TEXT, SESSION, OTHER = "profile", "long text", "session", "other"
KINDS = (PROFILE, "fans page", "fans end", "posts page", "posts end", TEXT, OTHER)
_TEXTS = (Kind.EXTEND, Kind.SHOW, Kind.DETAIL)
_SESSIONS = ("/", "/visitor/visitor", VISITOR)

List = tuple[Kind, int]
Errors = dict[str, int]  # missing, extra, wrong -> how many


class Ended(NamedTuple):
    """How the commands ended. faults: how many ended otherwise than well; depths_exact: whether the
    harvest says so."""

    faults: int = 0
    depths_exact: bool = True

    def errors(self) -> Errors:
        """Those that are known before anything is compared."""
        return {"missing": 0, "extra": 0, "wrong": self.faults}


class Extent(NamedTuple):
    """How much there is of one list. pages: those that exist and a guest may see. is_open: whether
    the last of them names a next one that does not exist (or there is none), so that nobody can
    know the end without a request. first: the first page that shows something; 0: none does."""

    pages: int
    is_open: bool
    first: int = 1


class Needs(NamedTuple):
    """What must be asked for in one stage: lists by kind and uid, whole texts by mid, profiles by
    uid. is_first_enough: the first page of a list that shows something tells all that is needed of
    it. ways: of the requests for texts, how many it takes at best whoever knows which way offers
    how many texts, and not which way offers which. walled: lists that guests are refused while
    those of others are shown: none of them is needed, and nobody can know that before a request."""

    lists: Mapping[List, Extent]
    texts: Collection[int] = frozenset()
    profiles: Collection[int] = frozenset()
    is_first_enough: bool = False
    ways: float = 0.0
    walled: int = 0

    def wants_page(self, key: List, page: int) -> bool:
        """Whether a page that exists is needed."""
        first = self.lists[key].first
        return not (self.is_first_enough and first) or page <= first

    def wants_end(self, key: List) -> bool:
        """Whether a request behind the last page of a list is needed."""
        extent = self.lists[key]
        return extent.is_open and not (self.is_first_enough and extent.pages and extent.first)

    def by_kind(self) -> Counter[str]:
        """How many requests of each kind are needed."""
        needed = Counter({TEXT: len(self.texts), PROFILE: len(self.profiles)})
        for key, extent in self.lists.items():
            pages = range(1, extent.pages + 1)
            name = LISTS[key[0]]
            needed[f"{name} page"] += sum(self.wants_page(key, page) for page in pages)
            needed[f"{name} end"] += self.wants_end(key)
        return +needed


class Sent(NamedTuple):
    """One line of the log. at: seconds since the epoch. address: path and query. is_refused:
    whether the site answered with a refusal or a fault, which must be asked again; is_fault: with a
    fault that was drawn by dice; is_empty: with the body that says that nothing is there, which
    such a fault may bring as well."""

    at: float
    address: str
    is_refused: bool = False
    is_fault: bool = False
    is_empty: bool = False


class Tally(NamedTuple):
    """Requests by kind. again: of `sent`, those for a thing that was answered before; refused: of
    `sent`, those that were refused; vain: of `sent`, the first ones for what nobody needs; faults:
    of `sent`, those for what is needed that the dice of the world have spoilt, which an all-knowing
    crawler would send as well: they stand apart, like sessions. doubts: of `again`, the looks at
    what is needed and empty that faults call for: as many as an answer may be emptied in a row."""

    needed: Counter[str]
    sent: Counter[str]
    again: Counter[str]
    refused: Counter[str]
    vain: Counter[str]
    faults: Counter[str]
    doubts: Counter[str]

    def missed(self, kind: str) -> int:
        """How many needed requests of a kind were never sent, or never answered: where there are
        some, the ratio looks better than it is."""
        more = self.again[kind] + self.refused[kind] + self.vain[kind] + self.faults[kind]
        return self.needed[kind] - (self.sent[kind] - more)

    @property
    def ratio(self) -> float:
        """Sent over needed, sessions and faults aside."""
        return self.total / self.needed.total()

    @property
    def total(self) -> int:
        """Sent, sessions and faults aside."""
        return self.sent.total() - self.sent[SESSION] - self.faults.total()


def tally(
    log: Iterable[Sent], needs: Needs, number: Callable[[Asked], int], in_a_row: int = 0
) -> Tally:
    """Count a stage. number: which page of its list a request stands for, from 1. in_a_row: how
    often faults may empty the answers to one request."""
    needed = needs.by_kind()
    sent, again, refused, vain, faults, doubts = (Counter[str]() for _ in range(6))
    answered: set[tuple[str, object]] = set()
    looks = Counter[tuple[str, object]]()
    for line in log:
        kind, thing, is_needed = _judged(line.address, needs, number)
        sent[kind] += 1
        if kind == SESSION:
            continue
        if (kind, thing) in answered:
            again[kind] += 1
            is_look = is_needed and line.is_empty and looks[kind, thing] < in_a_row
            looks[kind, thing] += is_look
            doubts[kind] += is_look
        elif line.is_fault and line.is_refused and is_needed:
            faults[kind] += 1
        elif line.is_refused:
            refused[kind] += 1
        else:
            answered.add((kind, thing))
            vain[kind] += not is_needed
    return Tally(needed, sent, again, refused, vain, faults, doubts)


def askers(log: Iterable[Sent]) -> set[int]:
    """The users of whom a list or a profile was asked for."""
    asked = (understand(line.address) for line in log)
    return {one.uid for one in asked if one.kind in (Kind.PROFILE, *LISTS)}


def _judged(address: str, needs: Needs, number: Callable[[Asked], int]) -> tuple[str, object, bool]:
    """The kind of a request, what it asks for, and whether that is needed."""
    if address.partition("?")[0] in _SESSIONS:
        return SESSION, None, True
    asked = understand(address)
    if asked.kind in LISTS:
        key = (asked.kind, asked.uid)
        if key not in needs.lists:
            return OTHER, address, False
        page, name = number(asked), LISTS[asked.kind]
        if page <= needs.lists[key].pages:
            return f"{name} page", (asked.uid, page), needs.wants_page(key, page)
        return f"{name} end", asked.uid, needs.wants_end(key)
    if asked.kind is Kind.PROFILE:
        return PROFILE, asked.uid, asked.uid in needs.profiles
    if asked.kind in _TEXTS:
        return TEXT, asked.mid, asked.mid in needs.texts
    return OTHER, address, False

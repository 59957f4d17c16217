"""Asking the site: pages that are facts, and whom a name or a uid stands for."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import NamedTuple, NoReturn, TypeVar

from weibo_crawler.evidence import Evidence, Place, is_shown
from weibo_crawler.fetch import Ask, Fetched, PageSource
from weibo_crawler.harvest.trouble import (
    EntryGone,
    EntryTrouble,
    NoAnswer,
    NoPage,
    PageDrifted,
    Refused,
    Silent,
    UnsureWall,
    Walled,
)
from weibo_crawler.metrics import PURPOSE, Counters
from weibo_crawler.records import (
    ECHO_LISTS,
    FACTS,
    OF_USERS,
    PEOPLE_LISTS,
    REFUSALS,
    Edge,
    FanPage,
    Id,
    Kind,
    NamedUser,
    Record,
    Request,
    User,
    Verdict,
)
from weibo_crawler.samples import look_at
from weibo_crawler.sites import Site
from weibo_crawler.store import Entry

K = TypeVar("K")
V = TypeVar("V")

SHOWN = "walk.shown"
GONE_ONCE = "gone, says the site; it is asked once more"
# of what page the emptiness ends an edge
KINDS = {
    **PEOPLE_LISTS,
    **{one.edge: one.kind for one in ECHO_LISTS},
    Edge.REPOSTS: Kind.POSTS,
    Edge.MENTIONS: Kind.POSTS,
    Edge.SEED: Kind.PROFILE,
    Edge.TOPIC: Kind.SEARCH,
}
# kinds of ends in `Samples`
FULL = "full"  # all that was announced was shown
END = "end"
UNNAMED = look_at(END, "unnamed")  # the last page does not name the next one, and others do
_SHOWN = "shown"  # the sort of ends that are pages that were shown: nobody has emptied them
_REMEMBERED = 100_000  # names, and as many profiles: about 30 MB
_TELLING = 5  # looks behind pages that name no next one: one false emptiness tells nothing
_MOST_DOUBTS = 3  # somebody is asked for so often who is not shown


class Awaited(NamedTuple):
    """An end that a later visit looks at. kind: in `Samples`; met_at: by `time.monotonic`, None:
    the look is taken whatever others show."""

    kind: str
    met_at: float | None


class Asker(NamedTuple):
    """Fetches for the walk. Counter: `walk.shown`, pages that showed something. Requests are
    counted as for their edge (metrics.PURPOSE). rng: decides which ends are looked at again.
    awaited: ends that wait for a look, some of which need none if looks at others show nothing.
    naming: edges of which a page has named the next one. misled: of whom the site has said that
    they are gone, and shown a profile.
    """

    fetcher: PageSource
    counters: Counters
    keep_drifted: Callable[[Fetched], Awaitable[None]]
    evidence: Evidence
    rng: Random
    awaited: dict[tuple[Id, Edge], Awaited]
    naming: set[Edge]
    misled: set[Id]

    async def ask(self, ask: Ask, edge: Edge) -> Fetched:
        """A page that is a fact (GONE among them), or a list of which some users can be read.
        is_looked_later: a later visit looks at an emptiness again (`wants_look`). After many ends
        in a row it waits until a witness was asked.
        Errors: Walled, UnsureWall, NoPage, NoAnswer, Refused."""
        async with self.evidence.places:
            await self.evidence.break_silence(ask.request, self._is_shown)
            return await self._ask(ask, edge)

    async def _ask(self, ask: Ask, edge: Edge) -> Fetched:
        PURPOSE.set(edge.value)
        fetched = await self.evidence.fetch(self.fetcher, ask, self._is_shown)
        reading = fetched.reading
        verdict, why = reading.verdict, reading.why
        if is_shown(reading):
            self.counters.add(SHOWN)
        if verdict in FACTS:
            return fetched
        said = f"{verdict}: {why}" if why else str(verdict)
        if fetched.is_shut:
            raise Walled(said)
        if verdict is Verdict.LOGIN_WALL:
            raise UnsureWall(edge, said) if reading.ambiguous else Walled(said)
        if verdict is Verdict.DRIFTED:
            await self.keep_drifted(fetched)
            if isinstance(reading.record, FanPage):
                return fetched
            raise PageDrifted(said)
        if verdict in REFUSALS and ask.request.kind in OF_USERS:
            raise Refused(said)
        raise NoPage(said) if fetched.page else NoAnswer(said)

    def wants_look(self, uid: Id, edge: Edge, bare: Fetched | None) -> bool:
        """Count an end that contradicts what is announced; whether a later visit is to look again,
        as it is in any case while the site is not talking. bare: what showed nothing, None: a page
        that was shown is the end. Where two looks at once showed nothing that was the second look,
        and the later one, the third, is an experiment of its own."""
        samples, is_talking = self.fetcher.samples, self.is_talking
        sort = _SHOWN if bare is None else bare.reading.why
        kind = look_at(end_of(edge), sort)
        if bare is not None and bare.is_twice:
            samples.wants(kind, self.rng)
            if is_talking:
                samples.looked(kind, found=False)
            kind = look_at(end_of(edge), sort, 3)
        was_rare = samples.is_rare(kind)
        is_wanted = samples.wants(kind, self.rng) or not is_talking
        if is_wanted:  # one of the sample is looked at in any case
            met_at = None if bare is None or was_rare else time.monotonic()
            self.awaited[uid, edge] = Awaited(kind, met_at)
        return is_wanted

    def is_needless(self, uid: Id, edge: Edge) -> bool:
        """Whether the looks that were taken since an end was met make this one needless. The end
        was none of a silence: something was shown that was asked for after it."""
        kind, met_at = self.awaited.get((uid, edge), Awaited(end_of(edge), None))
        if met_at is None or not (self.is_talking and self.fetcher.samples.is_rare(kind)):
            return False
        is_needless = self.evidence.has_come_after(met_at, Place(KINDS[edge]))
        if is_needless:
            del self.awaited[uid, edge]
        return is_needless

    def looked_later(self, uid: Id, edge: Edge, *, found: bool) -> None:
        """Tell what the look at a later visit has shown. found: more."""
        kind, _ = self.awaited.pop((uid, edge), Awaited(end_of(edge), None))
        if self.is_talking:
            self.fetcher.samples.looked(kind, found=found)

    def wants_end(self, edge: Edge, kind: str) -> bool:
        """Count a list that ends by what its pages say: FULL, or UNNAMED; whether to ask for its
        end."""
        return self.fetcher.samples.wants(f"{edge}.{kind}", self.rng) or not self.is_talking

    def is_end(self, edge: Edge) -> bool:
        """Whether pages that name no next one, as others do, were ends, as far as the latest looks
        behind them tell."""
        return not self.fetcher.samples.may_find(f"{edge}.{UNNAMED}", _TELLING)

    def looked(self, edge: Edge, kind: str, *, found: bool) -> None:
        """Tell what such a look has shown. found: more."""
        if self.is_talking:
            self.fetcher.samples.looked(f"{edge}.{kind}", found=found)

    @property
    def is_talking(self) -> bool:
        """As `Fetcher.is_talking`."""
        return self.fetcher.is_talking

    async def is_given_to_others(self, uid: Id, at: float, place: Place | None) -> bool:
        """As `Evidence.is_given_to_others`."""
        return await self.evidence.is_given_to_others(uid, at, self._is_shown, place)

    async def shows_others(self, uid: Id, at: float, edge: Edge) -> bool:
        """Whether first pages of others are shown that were asked for after `at`, as this user's is
        refused."""
        return await self.evidence.is_refused_alone(uid, at, self._is_shown, KINDS[edge])

    async def raise_gone(self, entry: Entry, edge: Edge) -> NoReturn:
        """The site says that this user is gone. Raise EntryGone where it shows something of others
        still, or talks and nobody is known to ask for; else Silent, for it may say so of
        everybody. Where the profile of a seed alone says so, or such a word was false of somebody
        else, a later visit hears it again."""
        uid, kind = entry.uid, KINDS[edge]
        is_gone = await self.evidence.is_gone(uid, self._is_shown, kind)
        if is_gone or (is_gone is None and self.is_talking):
            if (self.misled or edge is Edge.SEED) and entry.last_error != GONE_ONCE:
                raise EntryTrouble(GONE_ONCE)
            raise EntryGone
        raise Silent(f"{edge}: gone, says the site, and shows nothing of others", Place(kind))

    async def _is_shown(self, witness: Ask) -> bool | None:
        """Whether a request brings content again that brought some before; None: neither content
        nor nothing."""
        try:
            fetched = await self._ask(witness, Edge.SEED)
        except (EntryTrouble, Walled):
            return None
        return is_shown(fetched.reading)


class People:
    """Whom names and uids stand for; each is asked for once while it is remembered, and nobody of
    whom a list has told the fans. Who is not shown is asked for `_MOST_DOUBTS` times.

    Many users mention the same few, and a page that is asked for again after a trouble has its
    names resolved already.
    """

    def __init__(self, site: Site, asker: Asker) -> None:
        self._site, self._asker = site, asker
        self._names: OrderedDict[str, Id | None] = OrderedDict()
        self._users: OrderedDict[Id, User | None] = OrderedDict()
        self._doubts: OrderedDict[str, int] = OrderedDict()  # by address, how often in vain
        self._is_lacking = False  # whether somebody stood somewhere without a number of fans

    def met(self, users: Iterable[User]) -> None:
        """Remember users of whom a page tells the fans, for pages that do not, where such were met
        before."""
        for user in users if self._is_lacking else ():
            _remember(self._users, user.uid, user)

    def knows(self, name: str) -> bool:
        """Whether `named` answers without asking."""
        return name in self._names or self._is_doubted(self._site.name(name))

    async def named(self, name: str, edge: Edge) -> Id | None:
        """The uid of a screen name, None: nobody has it. Errors: Doubtful, and those of `ask`."""
        if name not in self._names:
            record = await self._shown(self._site.name(name), edge)
            _remember(self._names, name, record.uid if isinstance(record, NamedUser) else None)
        return self._names[name]

    async def user(self, uid: Id, edge: Edge) -> User | None:
        """The profile of a uid, None: gone. Errors: Doubtful, and those of `ask`."""
        self._is_lacking = True
        if uid not in self._users:
            record = await self._shown(self._site.profile(uid), edge)
            user = User(uid, record.screen_name, record.fans) if isinstance(record, User) else None
            _remember(self._users, uid, user)
        return self._users[uid]

    async def _shown(self, request: Request, edge: Edge) -> Record | None:
        """What the site shows of somebody, None: gone. Errors: Doubtful, and those of `ask`, but
        NoPage, which is a doubt as well."""
        if self._is_doubted(request):
            raise Doubtful
        try:
            reading = (await self._asker.ask(Ask(request), edge)).reading
        except NoPage:
            reading = None
        if reading is None or (reading.record is None and reading.verdict is not Verdict.GONE):
            _remember(self._doubts, request.url, self._doubts.get(request.url, 0) + 1)
            raise Doubtful
        return reading.record

    def _is_doubted(self, request: Request) -> bool:
        return self._doubts.get(request.url, 0) >= _MOST_DOUBTS


class Doubtful(Exception):
    """The site shows nothing, or no page, where somebody should be: no fact (law 4)."""


def end_of(edge: Edge) -> str:
    """The kind of end in `Samples`: of first pages and later ones, whether an emptiness contradicts
    what is announced or not, and of pages that do not name the next one. All ends of an edge are
    one experiment: it ends sooner, and what it says of the share of all of them holds."""
    return f"{edge}.{END}"


def fetched_at(fetched: Fetched) -> float:
    """Seconds since the epoch."""
    return fetched.page.fetched_at if fetched.page else time.time()


def _remember(known: OrderedDict[K, V], key: K, value: V) -> None:
    known[key] = value
    if len(known) > _REMEMBERED:
        known.popitem(last=False)

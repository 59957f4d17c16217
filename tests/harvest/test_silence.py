"""A site that begins to show nothing to anybody: nothing is concluded from it, and nothing lost."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.harvest.simulated import SimulatedFetcher, make_world
from tests.harvest.test_edges import MIN_FANS, Crawl
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.evidence import Evidence, Place
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.harvest.trouble import NoAnswer, Silent, Unsure, costs_attempt
from weibo_crawler.records import (
    Edge,
    Expect,
    FanPage,
    Kind,
    Page,
    Reading,
    Request,
    User,
    Verdict,
)
from weibo_crawler.samples import Samples
from weibo_crawler.simulator.world import World

CONTENT = Reading(Verdict.OK)
_TRIPS_AFTER = 15  # expected contents that came empty, in a row: about what a breaker needs


class Switched(SimulatedFetcher):
    """Shows the truth for so many requests, then the no-content body to everybody; stops the run,
    as a circuit breaker does, when content that is expected stays empty for long. `is_talking`
    falls late, at half of that."""

    is_bare = False  # pages without anybody, which name the next one, in place of that body
    kinds = frozenset(Kind)  # of which nothing is shown
    said = Verdict.EMPTY  # of first pages
    is_of_all = True  # else first pages are shown

    def __init__(self, world: World, shown: int, trips_after: int = _TRIPS_AFTER) -> None:
        super().__init__(world)
        self._left, self._trips_after = shown, trips_after
        self._expected = 0
        self._empty = Counter[Kind]()
        self.asked_since = 0

    @property
    def is_talking(self) -> bool:  # type: ignore[override]
        return self._expected > 0 and max(self._empty.values()) < self._trips_after // 2

    def may_fall_silent(self) -> bool:
        return True

    async def fetch(self, ask: Ask) -> Fetched:
        fetched = await super().fetch(ask)
        if self._left or self.may_fall_silent():
            self._left -= 1
        self.asked_since += self._left < 0
        is_meant = self.is_of_all or bool(ask.request.cursor)
        if self._left < 0 and ask.request.kind in self.kinds and is_meant:
            is_end = ask.nth > 1 and self.said is Verdict.EMPTY
            reading = Reading(Verdict.END if is_end else self.said, ambiguous=True)
            if self.is_bare and ask.request.kind is Kind.FANS:
                page = FanPage(ask.request.uid, (), str(ask.nth + 1), is_next_named=True)
                reading = Reading(Verdict.OK, page, ambiguous=True)
            fetched = Fetched(reading, fetched.page)
        if ask.expect in (Expect.CONTENT, Expect.SHOWN):
            is_shown = fetched.reading.verdict is Verdict.OK and not fetched.reading.ambiguous
            self._expected += is_shown
            kind, more = ask.request.kind, not ask.is_retry
            self._empty[kind] = 0 if is_shown else self._empty[kind] + more
            if self._empty[kind] >= self._trips_after:
                raise SiteSaysNo("the site shows nothing where something is known to be")
        return fetched


def filtered(world: World, share: int = 3) -> Callable[[Request, bytes], bytes]:
    """A site that hides the lists of every third user, though their fans are announced."""
    hidden = {world.uid(i) for i in range(world.size) if i % share == 0} - set(world.seeds)
    empty = '{"ok":0,"msg":"这里还没有内容","data":{"cards":[]}}'.encode()
    return lambda request, body: (
        empty if request.kind is Kind.FANS and request.uid in hidden else body
    )


@pytest.fixture(scope="module")
def true(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """A crawl of a site that never falls silent, to be read only."""
    world = make_world(5, users=120)
    crawl, fetcher = Crawl(tmp_path_factory.mktemp("true"), world), SimulatedFetcher(world)
    fetcher.spoil = filtered(world)
    crawl.run(fetcher)
    return crawl


_SILENCES = [
    *((form, shown) for form in ("empty", "bare") for shown in (0, 1, 7, 25, 55, 85)),
    # of what was never shown, and of whom nothing is known, the site's word is all there is
    *((form, shown) for form in ("fans", "gone") for shown in (7, 25, 55, 85)),
]


@pytest.mark.parametrize(
    ("form", "shown", "trips_after", "concurrency"),
    [
        *((*silence, _TRIPS_AFTER, 1) for silence in _SILENCES),
        *((*silence, 10**6, 16) for silence in _SILENCES),
        *((form, 25, _TRIPS_AFTER, 16) for form in ("empty", "bare", "fans", "gone")),
        *((form, 25, 10**6, 1) for form in ("empty", "bare", "fans", "gone")),
    ],
)
def test_a_silent_site_ends_the_run_and_no_list(
    true: Crawl, tmp_path: Path, shown: int, concurrency: int, trips_after: int, form: str
) -> None:
    """Law 4: with and without a breaker the run stops with the true reason, with one soon, without
    one after a few looks at each user. No list is done or marked by an empty answer of that time,
    nobody is gone or failed, and the same command reaches the truth when the site is well again.
    So it is where profiles are shown, and lists are not, and where the site says that all are gone.
    """
    world = make_world(5, users=120)
    ends = {(row.uid, row.depth, row.state) for row in true.rows()}
    crawl = Crawl(_folder(tmp_path, "crawl"), world)
    silent = Switched(world, shown, trips_after)
    silent.spoil, silent.is_bare = filtered(world), form == "bare"
    if form == "fans":
        silent.kinds = frozenset({Kind.FANS})
    if form == "gone":
        silent.said = Verdict.GONE
    with pytest.raises(SiteSaysNo, match="shows nothing"):
        crawl.run(silent, concurrency=concurrency)
    # without one a few at each user, and before each the witnesses are asked
    looks = 100 if trips_after == _TRIPS_AFTER else 16 * world.size
    assert silent.asked_since <= looks
    assert {row.state for row in crawl.rows()} <= {"done", "queued", "resting"}
    assert ended_lists(crawl) <= ended_lists(true)
    with crawl.open() as users:
        marks = users._rows("SELECT DISTINCT last_error FROM userlist WHERE last_error <> ''")
    assert set(marks) <= {(str(Unsure(Edge.FANS)),)}
    again = SimulatedFetcher(world)
    again.spoil = filtered(world)
    crawl.run(again)
    assert {(row.uid, row.depth, row.state) for row in crawl.rows()} == ends
    with crawl.open() as users, true.open() as truth:
        assert users.unsure_lists() == truth.unsure_lists() > 0
    assert {uid for uid, _, _ in ends} <= set(world.kept(world.seeds, MIN_FANS))


@pytest.mark.parametrize("trips_after", [_TRIPS_AFTER, 10**6])
def test_a_run_that_begins_in_a_silence_of_lists_ends_none(
    tmp_path: Path, trips_after: int
) -> None:
    """Profiles are shown, and no list, as none is to this run: one that an earlier run was shown is
    the witness. Where that one is shown, a level of hidden lists stops no run."""
    world = make_world(5, users=200)
    crawl = Crawl(tmp_path, world)
    crawl.run(SimulatedFetcher(world), max_depth=1)
    ended = ended_lists(crawl)
    silent = Switched(world, 0, trips_after)
    silent.kinds = frozenset({Kind.FANS})
    with pytest.raises(SiteSaysNo, match="shows nothing"):
        crawl.run(silent)
    assert ended_lists(crawl) == ended
    hidden = Switched(world, 10**6, trips_after)
    hidden.spoil = filtered(world, share=1)
    assert crawl.run(hidden)["entries.failed"] == 0
    assert {row.state for row in crawl.rows()} == {"done"}


@pytest.mark.parametrize("shown", [1, 40, 140])
def test_a_silence_is_noticed_where_second_looks_are_rare(tmp_path: Path, shown: int) -> None:
    """Law 4: also where earlier runs have learned that ends need no second look, no list is ended
    by an empty answer of a silence."""
    world = make_world(5, users=200)
    true = Crawl(_folder(tmp_path, "true"), world)
    fetcher = SimulatedFetcher(world)
    fetcher.spoil = filtered(world)
    true.run(fetcher)
    crawl = Crawl(_folder(tmp_path, "crawl"), world)
    silent = Switched(world, shown)
    silent.spoil = filtered(world)
    learned(silent)
    with pytest.raises(SiteSaysNo, match="shows nothing"):
        crawl.run(silent)
    assert {row.state for row in crawl.rows()} <= {"done", "queued", "resting"}
    assert ended_lists(crawl) <= ended_lists(true)


@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize("shown", [12, 24, 36, 54])
@pytest.mark.parametrize("trips_after", [_TRIPS_AFTER, 10**6])
def test_later_pages_that_fall_silent_end_no_list(
    true: Crawl, tmp_path: Path, shown: int, concurrency: int, trips_after: int
) -> None:
    """First pages are shown as ever, and prove no end behind them, once a later page was shown and
    the latest ones were all ends: the run stops, and no list is done that holds more."""

    class Later(Switched):
        kinds, is_of_all = frozenset({Kind.FANS}), False
        was_later_shown = False

        def may_fall_silent(self) -> bool:  # with many at once the first ones may be first pages
            return self.was_later_shown

        async def fetch(self, ask: Ask) -> Fetched:
            fetched = await super().fetch(ask)
            is_shown = fetched.reading.verdict is Verdict.OK
            self.was_later_shown |= is_shown and bool(ask.request.cursor)
            return fetched

    world = make_world(5, users=120)
    crawl = Crawl(tmp_path, world)
    fetcher = Later(world, shown, trips_after)
    fetcher.spoil = filtered(world)
    with pytest.raises(SiteSaysNo, match=r"shows nothing"):
        crawl.run(fetcher, concurrency=concurrency)
    assert ended_lists(crawl) <= ended_lists(true)


def learned(fetcher: SimulatedFetcher) -> None:
    """Let 400 second looks at the ends of fan lists have shown nothing."""
    for _ in range(400):
        fetcher.samples.wants("fans.end", Random(1))
        fetcher.samples.looked("fans.end", found=False)


@pytest.mark.parametrize("is_learned", [True, False])
def test_ends_that_contradict_the_count_are_looked_at_again_as_an_experiment(
    tmp_path: Path, is_learned: bool
) -> None:
    """All lists that end too early rest for a second look, or one of twenty where earlier looks
    have shown nothing; the others are stored as unsure at once. A later run knows it. Lists whose
    last page names no next one are ends like the others, whatever was announced."""
    # so many that one of twenty is never none of them
    world = make_world(5, users=1000 if is_learned else 200)
    crawl = Crawl(tmp_path, world)
    fetcher = SimulatedFetcher(world)
    fetcher.spoil = filtered(world)
    if is_learned:
        learned(fetcher)
    rested = crawl.run(fetcher)["entries.rested"]
    ends = fetcher.samples.figures()["fans.end"]
    with crawl.open() as users:
        unsure = users.unsure_lists()
    met, looks = ends.ends - 400 * is_learned, ends.looks - 400 * is_learned
    assert 40 < unsure <= met
    assert 0 < rested <= looks
    assert is_learned or looks == met
    assert (rested < unsure / 4) is is_learned
    assert ends.finds == 0
    again = SimulatedFetcher(world)
    crawl.run(again)
    assert again.samples.figures()["fans.end"] == ends


def test_a_second_look_that_shows_more_is_told(tmp_path: Path) -> None:
    """Lists that hide once what they hold: the truth is reached, and all looks go on."""
    world = make_world(5, users=200)
    crawl = Crawl(tmp_path, world)
    hidden: set[int] = set()

    class Shy(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            request = ask.request
            fetched = await super().fetch(ask)
            is_first = request.kind is Kind.FANS and not request.cursor
            if not is_first or request.uid % 3 or request.uid in hidden:
                return fetched
            hidden.add(request.uid)
            return Fetched(Reading(Verdict.EMPTY, ambiguous=True), fetched.page)

    fetcher = Shy(world)
    crawl.run(fetcher)
    assert crawl.depths() == world.kept(world.seeds, MIN_FANS)
    ends = fetcher.samples.figures()["fans.end"]
    assert ends.finds == len(hidden) > 20
    assert ends.looks == ends.ends


def test_a_look_is_needless_once_others_have_shown_nothing(tmp_path: Path) -> None:
    """Many ends wait for their second look while the first of these looks say that it is rare: the
    others end as they are, without a request, and each list is stored as unsure."""
    world = make_world(5, users=900)
    crawl = Crawl(tmp_path, world)
    fetcher = SimulatedFetcher(world)
    fetcher.spoil = filtered(world, share=1)
    fetcher.samples = Samples(0.1)  # 14 looks without a find tell
    counters = crawl.run(fetcher, concurrency=2, rest_s=1.0)
    ends = fetcher.samples.figures()["fans.end"]
    with crawl.open() as users:
        assert ends.ends - 10 < users.unsure_lists() <= ends.ends
    assert 14 <= ends.looks < counters["entries.rested"]


def test_a_third_look_at_an_end_is_an_experiment_of_its_own(tmp_path: Path) -> None:
    """Where second looks do show more, an end is looked at twice at once, and once more by a later
    visit: one request, of which nothing more is expected. These looks are left to a sample once
    they have shown nothing, whatever second ones show."""
    world = make_world(5, users=900)
    crawl = Crawl(tmp_path, world)
    asked: dict[int, list[Expect]] = {}

    class Twice(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            fetched = await super().fetch(ask)
            if ask.request.kind is Kind.FANS and fetched.reading.verdict is Verdict.EMPTY:
                assert isinstance(ask.request.uid, int)
                asked.setdefault(ask.request.uid, []).append(ask.expect)
                return fetched._replace(is_twice=ask.expect is not Expect.NOTHING)
            return fetched

    fetcher = Twice(world)
    fetcher.spoil = filtered(world, share=1)
    fetcher.samples = Samples(0.1)
    for nth in range(100):
        fetcher.samples.looked("fans.end", found=nth % 2 == 0)
    crawl.run(fetcher, concurrency=2, rest_s=0.05)
    ends = fetcher.samples.figures()
    assert ends["fans.end"].looks == 100 + ends["fans.end"].ends >= 100 + len(asked)
    assert ends["fans.end.3"].ends == len(asked) > 200
    assert (ends["fans.end.3"].finds, ends["fans.end"].finds) == (0, 50)
    again = [expects[1] for expects in asked.values() if len(expects) > 1]
    assert set(again) == {Expect.NOTHING}
    assert max(map(len, asked.values())) == 2
    assert 14 <= len(again) == ends["fans.end.3"].looks < len(asked) / 2


def ended_lists(crawl: Crawl) -> set[tuple[object, ...]]:
    with crawl.open() as users:
        sql = "SELECT uid, listed, sure FROM progress WHERE ended IS NOT NULL"
        return set(users._rows(sql))


def _folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name


@pytest.mark.parametrize("profile", [Verdict.OK, Verdict.GONE, Verdict.EMPTY])
def test_while_the_site_is_not_talking_the_profile_decides(
    tmp_path: Path, profile: Verdict
) -> None:
    """The second look of a doubt: shown, the end is believed; gone, the user is; else nothing is
    concluded, and where others are shown pages the user is failed, to be asked for again."""
    world = make_world(5, users=60)
    (uid, *_) = (row for row in world.kept(world.seeds, MIN_FANS) if row not in world.seeds)

    class Mute(SimulatedFetcher):
        is_talking = False

    fetcher = Mute(world)
    is_of_user: Callable[[Request], bool] = lambda r: r.uid == uid  # noqa: E731
    fetcher.odd = lambda r: (
        None
        if not is_of_user(r)
        else Verdict.EMPTY
        if r.kind is Kind.FANS
        else None
        if profile is Verdict.OK
        else profile
    )
    crawl = Crawl(tmp_path, world)
    crawl.run(fetcher)
    state = {row.uid: row.state for row in crawl.rows()}[uid]
    assert state == {Verdict.OK: "done", Verdict.GONE: "gone", Verdict.EMPTY: "failed"}[profile]
    with crawl.open() as users:
        assert bool(users.unsure_lists()) is (profile is Verdict.OK)


def test_an_unreachable_site_marks_nobody_failed(tmp_path: Path) -> None:
    """A first run without network ends, says why, and costs nobody an attempt."""
    world = make_world(5, users=60)

    class Unreachable(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            await asyncio.sleep(0)
            return Fetched(Reading(Verdict.SERVER_TROUBLE, why="no route to host"), None)

    crawl = Crawl(tmp_path, world)
    with pytest.raises(SiteSaysNo, match=r"does not answer \(server_trouble: no route"):
        crawl.run(Unreachable(world))
    assert {row.state for row in crawl.rows()} <= {"queued", "resting"}
    with crawl.open() as users:
        entries = users.claim("me", 99, edges=(), deepest=9, now=1e11, lease_s=9.0)
        assert {entry.attempts for entry in entries} == {0}
        users.give_back("me")
    crawl.run(SimulatedFetcher(world))
    assert crawl.depths() == world.kept(world.seeds, MIN_FANS)


def test_who_alone_gets_no_answer_is_failed(tmp_path: Path) -> None:
    """At the end of a run, when nobody else is asked for, somebody known is, as a witness."""
    world = make_world(5, users=60)
    (uid, *_) = (row for row in world.kept(world.seeds, MIN_FANS) if row not in world.seeds)

    class Stuck(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            if ask.request.uid == uid:
                return Fetched(Reading(Verdict.SERVER_TROUBLE, why="timed out"), None)
            return await super().fetch(ask)

    crawl = Crawl(tmp_path, world)
    crawl.run(Stuck(world))
    assert {row.uid for row in crawl.rows() if row.state == "failed"} == {uid}


def test_a_run_that_asks_only_for_silent_users(tmp_path: Path) -> None:
    """Where all are queued again and nothing of the first ones is shown, the profiles of others
    show that the site is not silent: those users are failed, and the run ends well."""
    world = make_world(5, users=60)
    crawl = Crawl(tmp_path, world)
    crawl.run(SimulatedFetcher(world))
    with crawl.open() as users:
        users._db.write("UPDATE progress SET sure = 0, listed = 0")
        assert users.requeue_failed() == len(crawl.rows())

    class Mute(SimulatedFetcher):
        is_talking = False

    fetcher = Mute(world)
    fetcher.odd = lambda r: Verdict.EMPTY if r.uid in world.seeds else None
    crawl.run(fetcher, max_depth=1)
    assert {row.uid for row in crawl.rows() if row.state == "failed"} == set(world.seeds)


def test_nobody_is_gone_before_anything_was_shown(tmp_path: Path) -> None:
    """A site that says of every seed that it is gone, from the first request on, is no evidence:
    the run ends, and well again the same command finds everybody."""
    world = make_world(5, users=60)

    class Denying(SimulatedFetcher):
        is_talking = False

    fetcher = Denying(world)
    fetcher.odd = lambda r: Verdict.GONE
    crawl = Crawl(tmp_path, world)
    with pytest.raises(SiteSaysNo, match="shows nothing to anybody"):
        crawl.run(fetcher)
    assert not [row for row in crawl.rows() if row.state == "gone"]
    crawl.run(SimulatedFetcher(world))
    assert crawl.depths() == world.kept(world.seeds, MIN_FANS)


def test_what_costs_an_attempt() -> None:
    """A doubt never does; silence does only where the site shows others something."""
    assert not costs_attempt(Unsure(Edge.FANS), was_answered=True)
    for trouble in (NoAnswer("timed out"), Silent("nothing")):
        assert costs_attempt(trouble, was_answered=True)
        assert not costs_attempt(trouble, was_answered=False)


def test_evidence_is_younger_than_what_it_proves() -> None:
    """Content counts when it was asked for after the moment in question; who waits for it does so
    only while others are asking, and then one request is made for all who want to know."""
    asked: list[int] = []

    async def repeat(ask: Ask) -> bool:
        asked.append(ask.request.uid)
        await asyncio.sleep(0.001)
        with evidence.asking() as begun:
            evidence.told(ask, begun, CONTENT)
        return True

    async def scene() -> None:
        with evidence.asking() as begun:
            now = begun + 1e-9
            waiting = asyncio.create_task(evidence.came_after(now, Place(Kind.FANS)))
            await asyncio.sleep(0.01)
            assert not waiting.done()
            evidence.told(Ask(Request(Kind.FANS, "fans/7", uid=7)), begun, CONTENT)
        assert not await waiting
        known = [evidence.is_given_to_others(uid, now, repeat) for uid in (1, 2, 3)]
        assert await asyncio.gather(*known) == [True] * 3
        assert asked == [7]
        assert await evidence.came_after(now, Place(Kind.FANS))

    evidence = Evidence(8)
    asyncio.run(scene())
    assert not asyncio.run(Evidence(8).is_given_to_others(7, 0.0, repeat))


def test_no_third_look_where_many_pages_in_a_row_show_nothing() -> None:
    """As long as no later page is known that was shown, first ones say that such may be, but for
    twenty later ones in a row that show nothing."""
    looks: list[bool] = []

    class Source(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            looks.append(ask.is_shown())
            is_later = bool(ask.request.cursor)
            return Fetched(Reading(Verdict.END) if is_later else CONTENT, None)

    async def scene() -> None:
        async def repeat(ask: Ask) -> bool:
            return True

        source = Source(make_world(5, users=60))
        for uid in range(1, 31):
            first = Ask(Request(Kind.POSTS, f"posts/{uid}", uid=uid))
            later = Ask(Request(Kind.POSTS, f"posts/{uid}/2", uid=uid, cursor="2"), nth=2)
            await evidence.fetch(source, first, repeat)
            await evidence.fetch(source, later, repeat)

    evidence = Evidence(8)
    asyncio.run(scene())
    assert looks[1::2] == [True] * 20 + [False] * 10


def test_evidence_is_of_the_same_kind() -> None:
    """A shown profile says nothing of lists where a list was shown before: the list is asked for.
    Where none was, any page of another user tells."""
    asked: list[Kind] = []

    async def repeat(ask: Ask) -> bool:
        asked.append(ask.request.kind)
        is_given = ask.request.kind is Kind.PROFILE
        with evidence.asking() as begun:
            evidence.told(ask, begun, CONTENT if is_given else Reading(Verdict.EMPTY))
        return is_given

    evidence = Evidence(8)
    evidence.know(Request(Kind.PROFILE, "profile/1", uid=1))
    evidence.know(Request(Kind.FANS, "fans/2", uid=2))
    now = time.monotonic()
    for uid, is_given in ((3, False), (2, True)):  # it is no witness about itself
        assert (
            asyncio.run(evidence.is_given_to_others(uid, now, repeat, Place(Kind.FANS))) is is_given
        )
    assert asked == [Kind.FANS, Kind.PROFILE]
    assert not evidence.has_come_after(now, Place(Kind.FANS))
    assert evidence.has_come_after(now, Place(Kind.FOLLOWS))


@pytest.mark.parametrize("is_given", [True, False])
def test_the_page_before_an_end_is_its_witness_where_nobody_else_is(is_given: bool) -> None:
    """Only one list had a later page yet: first pages of others do not prove that it ended, as long
    as its own page, asked for once more, is shown no longer."""
    evidence, asked = Evidence(8), list[str]()

    async def repeat(ask: Ask) -> bool:
        asked.append(ask.request.url)
        with evidence.asking() as begun:
            evidence.told(ask, begun, CONTENT if is_given else Reading(Verdict.END))
        return is_given

    def tell(request: Request, reading: Reading) -> None:
        with evidence.asking() as begun:
            evidence.told(Ask(request), begun, reading)

    tell(Request(Kind.FANS, "fans/1", uid=1), CONTENT)
    tell(Request(Kind.FANS, "fans/2/2", uid=2, cursor="2"), CONTENT)
    tell(Request(Kind.FANS, "fans/2/3", uid=2, cursor="3"), Reading(Verdict.END, ambiguous=True))
    place = evidence.proof_of(Place(Kind.FANS, is_later=True), 2, sure=False)
    given = evidence.is_given_to_others(2, time.monotonic(), repeat, place)
    assert asyncio.run(given) is is_given
    assert asked == ["fans/2/2"]


def test_a_user_is_no_witness_about_itself() -> None:
    """Others are asked for, where some are known, and one that is shown is enough."""
    evidence, asked = Evidence(8), list[int]()

    async def repeat(ask: Ask) -> bool:
        asked.append(ask.request.uid)
        return False

    for uid in (1, 2, 3):
        evidence.know(Request(Kind.PROFILE, f"profile/{uid}", uid=uid))
    for uid in (3, 2):
        assert not asyncio.run(evidence.is_given_to_others(uid, 1e12, repeat))
    assert asked == [2, 1, 3, 1]

    async def show(ask: Ask) -> bool:
        asked.append(ask.request.uid)
        with evidence.asking() as begun:
            evidence.told(ask, begun, CONTENT)
        return True

    asked.clear()
    assert asyncio.run(evidence.is_given_to_others(3, time.monotonic(), show))
    assert asked == [2]


def test_pages_are_fetched_with_what_is_known(tmp_path: Path) -> None:
    """The first page of a list whose fans are known is expected to hold some, one that is named by
    the page before it as well; no more is expected where all were shown; nth counts the pages."""
    world = make_world(5, users=200)
    told: dict[tuple[Kind, int], dict[str, tuple[Expect, int]]] = {}

    class Told(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            request = ask.request
            pages = told.setdefault((request.kind, request.uid), {})
            pages.setdefault(request.cursor, (ask.expect, ask.nth))
            assert not ask.is_retry
            return await super().fetch(ask)

    crawl = Crawl(tmp_path, world)
    crawl.run(Told(world))
    fans = {row.uid: row.fans for row in crawl.rows()}
    lists = {uid: [*pages.values()] for (kind, uid), pages in told.items() if kind is Kind.FANS}
    assert set(lists) == set(fans)
    for uid, pages in lists.items():
        assert [nth for _, nth in pages] == [*range(1, len(pages) + 1)]
        assert pages[0][0] is (Expect.CONTENT if fans[uid] else Expect.NOTHING)
    assert max(map(len, lists.values())) > 2


def test_a_wall_that_nobody_confirmed_is_asked_for_again(tmp_path: Path) -> None:
    """Law 4: it is no wall of the edge, and the list is not closed by it; met a second time it is
    one, for the list to be read by a later run. That holds for later pages, too."""
    world = make_world(5, users=200)
    true = world.kept(world.seeds, MIN_FANS)
    for is_first in (True, False):
        for times in (1, 2):
            met: dict[str, int] = {}

            class Unconfirmed(SimulatedFetcher):
                async def fetch(self, ask: Ask) -> Fetched:
                    request = ask.request
                    fetched = await super().fetch(ask)
                    is_it = request.kind is Kind.FANS and (request.cursor == "") is is_first  # noqa: B023
                    if is_it and request.uid % 2 and met.get(request.url, 0) < times:  # noqa: B023
                        met[request.url] = met.get(request.url, 0) + 1  # noqa: B023
                        return Fetched(Reading(Verdict.LOGIN_WALL, ambiguous=True), fetched.page)
                    return fetched

            crawl = Crawl(_folder(tmp_path, f"{is_first} {times}"), world)
            crawl.run(Unconfirmed(world), edges_if_walled=(Edge.COMMENTS,), concurrency=2)
            assert met
            if times == 1:
                assert crawl.depths() == true
                assert crawl.walled() == {}
            else:
                assert crawl.walled()[Edge.FANS] > 0
                crawl.run(SimulatedFetcher(world), edges_if_walled=(Edge.COMMENTS,))
                assert set(crawl.depths()) >= set(true)
                assert crawl.walled() == {}


def pages_of(uid: int, pages: dict[str, FanPage]) -> Callable[[World], SimulatedFetcher]:
    """A site that answers with these pages, by cursor, for the fans of one user."""

    class Scripted(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            request = ask.request
            fetched = await super().fetch(ask)
            if request.kind is not Kind.FANS or request.uid != uid:
                return fetched
            page = pages.get(request.cursor)
            if page is None:
                return Fetched(Reading(Verdict.END, ambiguous=True), fetched.page)
            is_blank = page.next_cursor is not None and not (page.users or page.uncounted)
            return Fetched(Reading(Verdict.OK, page, ambiguous=is_blank), fetched.page)

    return Scripted


def test_a_page_without_users_that_names_the_next_goes_on(tmp_path: Path) -> None:
    """It may hold only cards that are none, or people who cannot be read, and so may some in a row;
    a list that is barren for ever ends as unsure. What was left out is counted by reason."""
    world = make_world(5, users=60)
    seed = world.seeds[0]
    some = tuple(User(7_000_000_001 + i, f"name {i}", 0) for i in range(3))
    last = FanPage(seed, some, None)
    barren = FanPage(seed, (), "2", is_next_named=True)
    skipped = FanPage(seed, (), "3", skipped={"no id": 2, "torn": 1})
    crawl = Crawl(_folder(tmp_path, "on"), world)
    counters = crawl.run(pages_of(seed, {"": barren, "2": skipped, "3": last})(world))
    assert (counters["list.skipped.no id"], counters["list.skipped.torn"]) == (2, 1)
    assert counters["users.filtered"] >= 3
    endless = {
        cursor: FanPage(seed, (), str(n), is_next_named=True)
        for n, cursor in enumerate(["", *map(str, range(1, 50))], 1)
    }
    crawl = Crawl(_folder(tmp_path, "end"), world)
    fetcher = pages_of(seed, endless)(world)
    crawl.run(fetcher)
    asked = [r for r in fetcher.asked if r.kind is Kind.FANS and r.uid == seed]
    assert len(asked) < 12
    assert (seed, 0, 0) in ended_lists(crawl)


@pytest.mark.parametrize("told", [None, 5000])
def test_fans_that_a_list_does_not_tell(tmp_path: Path, told: int | None) -> None:
    """A profile is asked for; where that does not tell them either, the user is left out and
    counted, and neither list nor owner has a trouble. Who has no name is kept without one."""
    world = make_world(5, users=60)
    seed, uid, other = world.seeds[0], 7_000_000_001, 7_000_000_002
    page = FanPage(seed, (User(uid, "known", None),), None, uncounted=(other,))
    base = pages_of(seed, {"": page})

    class Profiles(base):  # type: ignore[valid-type,misc]
        async def fetch(self, ask: Ask) -> Fetched:
            request = ask.request
            if request.uid not in (uid, other):
                return await super().fetch(ask)
            if request.kind is Kind.PROFILE:
                return Fetched(Reading(Verdict.OK, User(request.uid, None, told)), PAGE)
            return Fetched(Reading(Verdict.OK, FanPage(request.uid, (), None)), PAGE)

    crawl = Crawl(tmp_path, world)
    counters = crawl.run(Profiles(world))
    rows = {row.uid: row for row in crawl.rows()}
    assert counters["users.uncounted"] == (2 if told is None else 0)
    assert counters["entries.failed"] == 0
    for one in (uid, other):
        assert (one in rows) is (told is not None)
        if told:
            assert (rows[one].screen_name, rows[one].fans) == (None, told)


def test_follows_announce_nothing(tmp_path: Path) -> None:
    """Law 4: an empty first page of follows is looked at twice, and then stored as unsure."""
    world = make_world(5, users=60)
    fetcher = SimulatedFetcher(world)
    seed = world.seeds[0]
    fetcher.odd = lambda r: Verdict.EMPTY if r.kind is Kind.FOLLOWS and r.uid == seed else None
    crawl = Crawl(tmp_path, world)
    crawl.run(fetcher, edges=(Edge.FOLLOWS,))
    assert sum(r.kind is Kind.FOLLOWS and r.uid == seed for r in fetcher.asked) == 2
    assert (seed, 0, 0) in ended_lists(crawl)


def test_what_failed_before_is_fetched_as_a_retry(tmp_path: Path) -> None:
    """Law 15: its answers are no evidence about the site; those of all others are."""
    world = make_world(5, users=60)
    crawl, retried = Crawl(tmp_path, world), set[int]()
    (uid, *_) = (row for row in world.kept(world.seeds, MIN_FANS) if row not in world.seeds)

    class Told(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            if ask.is_retry:
                retried.add(ask.request.uid)
            return await super().fetch(ask)

    fetcher = SimulatedFetcher(world)
    fetcher.odd = lambda r: Verdict.DRIFTED if r.uid == uid and r.kind is Kind.FANS else None
    crawl.run(fetcher)
    with crawl.open() as users:
        assert users.requeue_failed() >= 1
    crawl.run(Told(world))
    assert uid in retried
    assert {row.uid for row in crawl.rows()} > retried


PAGE = Page("url", 200, (), b"{}", 1_700_000_000.0)


def test_whom_others_have_found_is_not_asked_for(tmp_path: Path) -> None:
    """A walk that shares its users with others asks for no profile of somebody whom these hold,
    though its own frontier does not."""
    world = make_world(5, users=60)
    seed, held, new = world.seeds[0], 7_000_000_001, 7_000_000_002
    fetcher = pages_of(seed, {"": FanPage(seed, (), None, uncounted=(held, new))})(world)
    Crawl(tmp_path, world).run(fetcher, is_known=lambda uid: uid == held)
    asked = {request.uid for request in fetcher.asked if request.kind is Kind.PROFILE}
    assert new in asked
    assert held not in asked

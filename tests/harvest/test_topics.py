"""Topics as a source of users: who wrote what they show stands one step from the seeds."""

import tempfile
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.harvest.simulated import SITE, SimulatedFetcher, make_world
from tests.harvest.test_edges import MIN_FANS, Crawl
from tests.simulator.ways import kept
from weibo_crawler.analysis.status import topic_lines
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.records import Edge, Kind, Reading, Request, Verdict
from weibo_crawler.simulator.world import PAGE_OF_POSTS, World

WORLD = make_world(7, users=300, mean_posts=8.0)
EMPTY = next(words for n in count() if not WORLD.searched(words := f"#空{n}#"))
TOPICS = [EMPTY, *(f"#话题{n}#" for n in range(40))]
FULL = [words for words in TOPICS if len(WORLD.searched(words)) > 2 * PAGE_OF_POSTS]


def topical(folder: Path | str, *topics: str, world: World = WORLD) -> Crawl:
    """A store with the seeds of a world and these topics."""
    crawl = Crawl(folder, world)
    with crawl.open() as users:
        users.add_topics(topics)
    return crawl


def states(crawl: Crawl) -> dict[str, str]:
    with crawl.open() as users:
        return {topic.words: topic.state for topic in users.topics()}


def bounds(crawl: Crawl) -> str:
    with crawl.open() as users:
        return users.depths_are_bounds()


def asked(fetcher: SimulatedFetcher) -> int:
    return sum(request.kind is Kind.SEARCH for request in fetcher.asked)


def is_search(request: Request) -> bool:
    return request.kind is Kind.SEARCH


@examples(12)
@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from(TOPICS), max_size=4, unique=True),
    st.integers(1, 3),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([1, 3, 16]),
)
def test_the_walk_is_the_truth_from_seeds_and_topics(
    seed: int, topics: list[str], pages: int, max_depth: int | None, concurrency: int
) -> None:
    """Law 13: users and depths are the true breadth-first set, and depths are exact, unless a topic
    showed nothing."""
    world = make_world(seed)
    with tempfile.TemporaryDirectory() as folder:
        crawl = topical(folder, *topics, world=world)
        how: dict[str, Any] = {"edges_if_walled": (), "topic_pages": pages, "max_depth": max_depth}
        crawl.run(SimulatedFetcher(world, seed=seed), concurrency=concurrency, **how)
        rows = crawl.rows()
        is_bare = max_depth != 0 and any(not world.searched(words) for words in topics)
        assert bool(bounds(crawl)) == is_bare
    true = kept(world, world.seeds, MIN_FANS, [Edge.FANS], None, max_depth, topics, pages)
    assert {row.uid: row.depth for row in rows} == true
    writers = {world.uid(one) for words in topics for one in world.writers(words, pages)}
    for row in rows:
        assert (row.found_from is None) == (row.found_edge in (Edge.SEED, Edge.TOPIC))
        assert row.found_edge != Edge.TOPIC or (row.uid in writers and row.depth == 1)


def test_a_topic_finds_somebody(tmp_path: Path) -> None:
    """Without any seed, too: its users are counted, and the number of requests is that of pages."""
    crawl = Crawl(tmp_path, WORLD)
    with crawl.open() as users:
        users.forget(WORLD.seeds)
        users.add_topics(FULL[:2])
    fetcher = SimulatedFetcher(WORLD)
    counters = crawl.run(fetcher, topic_pages=2, max_depth=1)
    found = Counter(row.found_edge for row in crawl.rows())
    assert found == {Edge.TOPIC: counters["edge.topic.kept"]}
    assert found[Edge.TOPIC] > 5
    assert counters["users.filtered"] > 0
    assert (asked(fetcher), counters["topics.done"]) == (4, 2)
    assert states(crawl) == dict.fromkeys(FULL[:2], "done")


def test_a_topic_is_read_once(tmp_path: Path) -> None:
    """A later run does not ask for it again, until it is named again."""
    crawl = topical(tmp_path, FULL[0])
    crawl.run(SimulatedFetcher(WORLD))
    rows = crawl.rows()
    for n in range(2):
        fetcher = SimulatedFetcher(WORLD)
        crawl.run(fetcher)
        assert asked(fetcher) == n
        with crawl.open() as users:
            users.add_topics(FULL[:1])
    assert crawl.rows() == rows


@pytest.mark.parametrize("concurrency", [1, 16])
def test_walled_topics_cost_themselves(tmp_path: Path, concurrency: int) -> None:
    """After nine of ten walls no topic is asked for; lists are read as ever, depths are bounds, and
    a later run that is shown the topics reads them."""
    crawl = topical(tmp_path, *TOPICS)
    fetcher = SimulatedFetcher(WORLD, is_search)
    counters = crawl.run(fetcher, concurrency=concurrency)
    assert asked(fetcher) == 9
    assert set(states(crawl).values()) == {"walled"}
    assert counters["topics.walled"] == len(TOPICS)
    assert crawl.depths() == WORLD.kept(WORLD.seeds, MIN_FANS)
    assert "guests are not shown" in bounds(crawl)
    crawl.run(SimulatedFetcher(WORLD))
    assert Counter(states(crawl).values()) == {"done": 40, "failed": 1}
    assert crawl.depths().keys() == WORLD.kept(WORLD.seeds, MIN_FANS, topics=TOPICS).keys()


@pytest.mark.parametrize("is_sure", [True, False])
def test_later_pages_that_are_walled_cost_nine_topics_theirs(tmp_path: Path, is_sure: bool) -> None:
    """Guests are shown page 1 of each topic and no other. Nobody else can confirm such a wall where
    first pages are shown; after nine of them no page 2 is asked for all the same, and who wrote
    page 1 is kept."""

    class Walled(SimulatedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            fetched = await super().fetch(ask)
            if not is_search(ask.request) or ask.nth == 1:
                return fetched
            return fetched._replace(reading=Reading(Verdict.LOGIN_WALL, ambiguous=not is_sure))

    crawl, fetcher = topical(tmp_path, *TOPICS[1:21]), Walled(WORLD)
    counters = crawl.run(fetcher, topic_pages=3)
    assert asked(fetcher) == 20 + 9
    assert set(states(crawl).values()) == {"walled"}
    assert counters["topics.walled"] == 20
    true = WORLD.kept(WORLD.seeds, MIN_FANS, topics=TOPICS[1:21])
    assert crawl.depths().keys() == true.keys()
    assert "guests are not shown" in bounds(crawl)
    with crawl.open() as users:
        (line,) = topic_lines(users.topics())
    assert "20 that guests are not shown, 20 of them from a later page on" in line


@pytest.mark.parametrize("verdict", [Verdict.REFUSED, Verdict.DRIFTED, Verdict.SERVER_TROUBLE])
def test_a_refused_topic_costs_itself(tmp_path: Path, verdict: Verdict) -> None:
    """It fails, which is said; the others and all lists are read."""
    one, other = FULL[:2]
    crawl = topical(tmp_path, one, other)
    fetcher, url = SimulatedFetcher(WORLD), SITE.search(one, "").url
    fetcher.odd = lambda request: verdict if request.url == url else None
    crawl.run(fetcher)
    assert states(crawl) == {one: "failed", other: "done"}
    with crawl.open() as users:
        assert verdict in users.topics("failed")[0].why
    assert crawl.depths().keys() == WORLD.kept(WORLD.seeds, MIN_FANS, topics=[other]).keys()
    assert "topics that could not be read" in bounds(crawl)


def test_an_empty_topic_concludes_nothing(tmp_path: Path) -> None:
    """Law 4: the site may have refused softly, so the next run asks again."""
    crawl = topical(tmp_path, EMPTY)
    for _ in range(2):
        fetcher = SimulatedFetcher(WORLD)
        crawl.run(fetcher)
        assert asked(fetcher) == 1
        assert states(crawl) == {EMPTY: "failed"}
    assert "topics that could not be read" in bounds(crawl)


def test_a_topic_ends_where_it_shows_no_more(tmp_path: Path) -> None:
    """A later page without posts is its end."""
    crawl = topical(tmp_path, FULL[0])
    fetcher = SimulatedFetcher(WORLD)
    crawl.run(fetcher, topic_pages=9)
    assert asked(fetcher) == 4  # 30 posts at most, and the end
    assert states(crawl) == {FULL[0]: "done"}
    assert crawl.depths() == WORLD.kept(WORLD.seeds, MIN_FANS, topics=FULL[:1], topic_pages=9)
    assert bounds(crawl) == ""


class Dying(SimulatedFetcher):
    """The site says no at the second page of a topic."""

    async def fetch(self, ask: Ask) -> Fetched:
        if is_search(ask.request) and ask.nth == 2:
            raise SiteSaysNo("no")
        return await super().fetch(ask)


def test_a_topic_goes_on_where_a_run_ended(tmp_path: Path) -> None:
    """Law 8: the first page is not asked for again, and nobody is lost or doubled."""
    crawl = topical(tmp_path, FULL[0])
    with pytest.raises(SiteSaysNo):
        crawl.run(Dying(WORLD), topic_pages=2)
    assert states(crawl) == {FULL[0]: "queued"}
    first = kept(WORLD, WORLD.seeds, MIN_FANS, [], None, None, FULL[:1])
    assert crawl.depths() == first
    fetcher = SimulatedFetcher(WORLD)
    crawl.run(fetcher, topic_pages=2)
    assert asked(fetcher) == 1
    assert crawl.depths() == WORLD.kept(WORLD.seeds, MIN_FANS, topics=FULL[:1], topic_pages=2)


def test_a_topic_that_comes_meanwhile_is_read(tmp_path: Path) -> None:
    """Seeds may be added while a run works; it does not end before they are read, and depths are
    exact or bounds, as it says."""
    crawl = topical(tmp_path)
    fetcher = SimulatedFetcher(WORLD)

    def add(request: Request, body: bytes) -> bytes:
        if request.kind is Kind.FANS and not states(crawl):
            with crawl.open() as users:
                users.add_topics(FULL[:1])
        return body

    fetcher.spoil = add
    crawl.run(fetcher)
    assert states(crawl) == {FULL[0]: "done"}
    true = WORLD.kept(WORLD.seeds, MIN_FANS, topics=FULL[:1])
    assert crawl.depths().keys() == true.keys()
    assert bounds(crawl) or crawl.depths() == true


def test_max_users_ends_a_topic(tmp_path: Path) -> None:
    """The limit is exact; a later run with a larger one loses nobody of the page."""
    crawl = topical(tmp_path, FULL[0])
    most = len(WORLD.seeds) + 2
    crawl.run(SimulatedFetcher(WORLD), max_users=most)
    assert len(crawl.rows()) == most
    assert states(crawl) == {FULL[0]: "queued"}
    crawl.run(SimulatedFetcher(WORLD))
    assert crawl.depths() == WORLD.kept(WORLD.seeds, MIN_FANS, topics=FULL[:1])


def test_who_has_no_fans_on_a_page_is_looked_up(tmp_path: Path) -> None:
    """A profile tells; where it is not shown, the author is missing, which makes bounds."""

    def without_fans(request: Request, body: bytes) -> bytes:
        if not is_search(request):
            return body
        return body.replace(b'"followers_count', b'"followers')

    for is_walled in (False, True):
        folder = tmp_path / str(is_walled)
        folder.mkdir()
        crawl = topical(folder, FULL[0])
        walled = lambda request: request.kind is Kind.PROFILE  # noqa: E731
        fetcher = SimulatedFetcher(WORLD, walled if is_walled else lambda _: False)
        fetcher.spoil = without_fans
        crawl.run(fetcher, max_depth=1, edges=(Edge.FOLLOWS,))
        true = kept(WORLD, WORLD.seeds, MIN_FANS, [Edge.FOLLOWS], None, 1, FULL[:1])
        authors = {row.uid for row in crawl.rows() if row.found_edge == Edge.TOPIC}
        assert bool(authors) != is_walled
        assert is_walled or crawl.depths() == true
        assert ("could not be read" in bounds(crawl)) == is_walled

"""The page of basic information: once in so many days, and no matter of the visit."""

import pytest

from tests.posts.crawls import Crawl, timeline
from tests.posts.test_refresh import DAY, Clock
from tests.posts.worlds import ScriptedFetcher
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.records import BasicInfo, Kind, Reading, Verdict
from weibo_crawler.store import Row
from weibo_crawler.store.rows.cells import read_user
from weibo_crawler.store.rows.keys import user_key

INFO = BasicInfo(6, "云南", "大理", "2014-03-09", "天秤座", "f", {"阳光信用": "信用较好"})


def world(*uids: int, **more: object) -> ScriptedFetcher:
    """Users of whom each has five posts and the same basic information."""
    fetcher = ScriptedFetcher({uid: timeline(uid, 5) for uid in uids}, **more)  # type: ignore[arg-type]
    fetcher.info = dict.fromkeys(uids, INFO)
    return fetcher


def asked(fetcher: ScriptedFetcher) -> list[str]:
    return [url for url in fetcher.asked if url.startswith("info/")]


INFO_TOLD = ("云南", "大理", "2014-03-09", "天秤座")


def user_of(crawl: Crawl, uid: int) -> dict[str, object]:
    return read_user(Row(user_key(uid), crawl.tables.userlist.row(user_key(uid))))


def test_nobody_asks_unless_a_setting_says_so(crawl_: Crawl) -> None:
    """It costs a request a user."""
    crawl_.add(6)
    fetcher = world(6)
    crawl_.run(fetcher)
    assert asked(fetcher) == []


def test_it_is_asked_for_once_in_so_many_days(crawl_: Crawl) -> None:
    """Three visits within them, one after: two requests; what was read stays."""
    crawl_.add(6)
    clock, n = Clock(), []
    for days in (0, 3, 3, 5):
        clock.now += days * DAY
        fetcher = world(6)
        crawl_.run(fetcher, refresh=True, clock=clock, info_days=7.0)
        n.append(len(asked(fetcher)))
        assert crawl_.counters().get("info.pages", 0) == n[-1]
        told = user_of(crawl_, 6)
        assert (told["province"], told["city"], told["registered"], told["birthday"]) == INFO_TOLD
        assert told["info"] == INFO.more
    assert n == [1, 0, 0, 1]


def test_who_names_no_city_any_more_has_none(crawl_: Crawl) -> None:
    """The city of the province before is not one of the new one; what is not shown stays."""
    crawl_.add(6)
    crawl_.run(world(6), info_days=1e-9)
    moved = world(6)
    moved.info[6] = BasicInfo(6, "四川")
    crawl_.run(moved, refresh=True, info_days=1e-9)
    told = user_of(crawl_, 6)
    assert (told["province"], told["city"], told["registered"]) == ("四川", None, "2014-03-09")


@pytest.mark.parametrize(
    "verdict",
    [verdict for verdict in Verdict if verdict is not Verdict.OK],
)
def test_whatever_comes_the_visit_goes_on(crawl_: Crawl, verdict: Verdict) -> None:
    """Law 15: walled, missing, drifted, in trouble: all else is as without it, and it is asked for
    no more until its time has come."""
    crawl_.add(6, 7)
    clock = Clock()
    fetcher = world(6, 7, trouble={"info/6": [verdict] * 2})
    outcomes = crawl_.run(fetcher, info_days=7.0, clock=clock)
    assert [(o.status, o.stored, o.is_evidence, o.sure) for o in outcomes.values()] == [
        ("stored", 5, True, True)
    ] * 2
    assert fetcher.retried == asked(fetcher)  # no answer is evidence of the site
    ledger = crawl_.ledger(6)
    assert (ledger.state, ledger.refused_pages, ledger.last_error) == ("done", 0, "")
    assert (user_of(crawl_, 6)["province"], user_of(crawl_, 7)["province"]) == (None, "云南")
    clock.now += 3 * DAY
    again = world(6, 7)
    crawl_.run(again, refresh=True, info_days=7.0, clock=clock)
    assert asked(again) == []


def test_a_page_that_nobody_is_shown_is_soon_asked_for_no_more(crawl_: Crawl) -> None:
    """Nine requests tell; the users who were spared are asked about once it is shown again, which
    a request an hour finds out."""
    uids = range(6, 46)
    crawl_.add(*uids)
    clock = Clock()
    closed = world(*uids, trouble={f"info/{uid}": [Verdict.LOGIN_WALL] for uid in uids})
    crawl_.run(closed, info_days=7.0, clock=clock, users_in_flight=1)
    assert len(asked(closed)) == 9
    clock.now += DAY
    opened = world(*uids)
    crawl_.run(opened, refresh=True, info_days=7.0, clock=clock, users_in_flight=1)
    assert len(asked(opened)) == len(uids) - 9


def test_no_answer_is_not_asked(crawl_: Crawl) -> None:
    """A user of whom nothing came is asked about at the next visit."""
    crawl_.add(6)

    class Deaf(ScriptedFetcher):
        async def fetch(self, ask: Ask) -> Fetched:
            fetched = await super().fetch(ask)
            if ask.request.kind is Kind.INFO:
                return Fetched(Reading(Verdict.SERVER_TROUBLE, why="timed out"), None)
            return fetched

    assert crawl_.run(Deaf({6: timeline(6, 5)}), info_days=7.0)[6].stored == 5
    again = world(6)
    crawl_.run(again, refresh=True, info_days=7.0)
    assert asked(again) == ["info/6"]


def test_only_a_visit_that_came_to_its_end_asks(crawl_: Crawl) -> None:
    """Who is gone, or could not be read, has no basic information to pay for."""
    crawl_.add(6, 7)
    fetcher = world(6, trouble={"posts/6/": [Verdict.SERVER_TROUBLE]})
    crawl_.run(fetcher, info_days=7.0)
    assert asked(fetcher) == []

"""A time range for posts: what is older is not asked for, and that is said."""

import time
from typing import Any

from msgspec.structs import replace

from tests.posts.crawls import Crawl, guest
from tests.posts.test_refresh import DAY, HOUR, T0, Clock, dated
from tests.posts.worlds import ScriptedFetcher
from weibo_crawler.analysis.completeness import completeness
from weibo_crawler.posts.due import Job
from weibo_crawler.records import Post

POSTS = dated(6, 60, 12 * HOUR)  # six pages, of 30 days
A_WEEK = T0 - 7 * DAY  # posts 0 to 14 are younger


def _asked(fetcher: ScriptedFetcher) -> list[str]:
    """The pages of posts, in order."""
    return [name for name in fetcher.asked if name.startswith("posts/")]


def _held(crawl_: Crawl) -> int:
    return len(crawl_.posts(6))


def _run(crawl_: Crawl, posts: list[Post], **how: Any) -> ScriptedFetcher:
    fetcher = ScriptedFetcher({6: posts})
    crawl_.run(fetcher, clock=Clock(), **how)
    return fetcher


def test_a_timeline_ends_with_the_page_that_reaches_the_date(crawl_: Crawl) -> None:
    """Fifteen posts of a week cost two pages of six; what they show is kept, and the ledger, the
    gap and the figures say what was left out, and that it was on purpose."""
    crawl_.add(6)
    assert len(_asked(_run(crawl_, POSTS, since=A_WEEK))) == 2
    ledger = crawl_.ledger(6)
    assert (ledger.state, ledger.stopped, ledger.since) == ("done", "since", A_WEEK)
    assert (ledger.sure, ledger.whole) == (True, False)
    assert _held(crawl_) == 20
    [gap] = ledger.gaps
    assert gap.after is None
    figures = completeness(crawl_.tables, time.time())
    assert figures.stopped == {"since": 1}
    assert (figures.limited, figures.oldest_unread, figures.unsure_users) == (1, 1, 0)
    assert figures.share is not None
    assert figures.share_most is not None
    assert figures.share_most < 1


def test_pinned_posts_do_not_end_it(crawl_: Crawl) -> None:
    """An old post that is pinned at the top stands out of order; so does one that is not known as
    pinned."""
    crawl_.add(6)
    old = [replace(POSTS[-1], is_pinned=True), POSTS[-2]]
    fetcher = _run(crawl_, [*old, *POSTS[:-2]], since=A_WEEK)
    assert len(_asked(fetcher)) == 2
    assert {post.mid for post in [*old, *POSTS[:15]]} <= crawl_.posts(6).keys()


def test_the_end_of_a_timeline_is_no_bound(crawl_: Crawl) -> None:
    """All of it is younger: it is whole."""
    crawl_.add(6)
    _run(crawl_, POSTS[:15], since=T0 - 300 * DAY)
    ledger = crawl_.ledger(6)
    assert ledger.stopped != "since"
    assert ledger.whole


def test_later_visits_keep_to_the_date(crawl_: Crawl) -> None:
    """Without a date of their own they ask for page 1 alone, where it joins what is known; the
    older part stays left out, and is not asked for at any visit."""
    crawl_.add(6)
    _run(crawl_, POSTS, since=A_WEEK)
    assert len(_asked(_run(crawl_, POSTS, refresh=True))) == 1
    newer = [*dated(6, 61, 12 * HOUR, newest=T0 + 12 * HOUR)[:1], *POSTS]
    assert len(_asked(_run(crawl_, newer, refresh=True))) == 1
    ledger = crawl_.ledger(6)
    assert (ledger.stopped, ledger.since, ledger.whole) == ("since", A_WEEK, False)
    assert _held(crawl_) == 21


def test_another_date_goes_further_back(crawl_: Crawl) -> None:
    """An earlier one reads on down to it, one before all posts reads the whole timeline."""
    crawl_.add(6)
    _run(crawl_, POSTS, since=A_WEEK)
    assert len(_asked(_run(crawl_, POSTS, refresh=True, since=T0 - 14 * DAY))) == 3
    assert _held(crawl_) == 30
    _run(crawl_, POSTS, refresh=True, since=1.0)
    assert crawl_.ledger(6).whole
    assert _held(crawl_) == 60


def test_a_wall_before_the_date_is_a_wall(crawl_: Crawl) -> None:
    """What guests may not read was not left out on purpose."""
    crawl_.add(6)
    crawl_.run(guest(POSTS), clock=Clock(), since=A_WEEK)
    assert crawl_.ledger(6).stopped == "login_wall"


def test_the_job_is_told() -> None:
    """By an option of its script."""
    assert Job("run", since=12.5).options() == ["--since=12.5"]

"""The profile: shown by page 1, asked for where that shows too little."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.posts.crawls import Crawl, timeline
from tests.posts.test_refresh import DAY, Clock
from tests.posts.worlds import ScriptedFetcher
from weibo_crawler.records import Kind, Post, PostPage, Reading, Request, Verdict
from weibo_crawler.store.rows.keys import user_key


def profile_of(crawl: Crawl, uid: int) -> dict[str, str]:
    """The cells of a profile, but when and by which run they were read."""
    cells = crawl.tables.userlist.row(user_key(uid), ["profile"])
    return {k: v for k, v in cells.items() if k not in ("profile:fetched_at", "profile:run_id")}


def profiles(fetcher: ScriptedFetcher) -> int:
    return sum(url.startswith("profile/") for url in fetcher.asked)


def test_the_posts_show_the_profile(crawl_: Crawl) -> None:
    """The same cells as by a profile request, and no such request, at no visit."""
    crawl_.add(6, 7)
    world = {6: timeline(6, 15)}
    by_posts = ScriptedFetcher(world)
    crawl_.run(by_posts)
    cells = profile_of(crawl_, 6)
    assert profiles(by_posts) == 1  # of user 7, of whom page 1 shows nothing
    assert crawl_.ledger(6).announced == 15
    by_profile = ScriptedFetcher(world, lacks=["posts"])
    crawl_.run(by_profile, refresh=True)
    assert "profile/6" in by_profile.asked
    assert profile_of(crawl_, 6) == cells
    assert cells["profile:posts"] == "15"


def test_what_the_posts_lack_is_asked_for_once_in_so_many_days(crawl_: Crawl) -> None:
    """In between, what they show is stored; the rest stays as the profile said."""
    crawl_.add(6)
    clock = Clock()
    world = {6: timeline(6, 5)}
    asked = []
    for days in (0, 3, 3, 5):
        clock.now += days * DAY
        fetcher = ScriptedFetcher(world, lacks=["rank"])
        crawl_.run(fetcher, refresh=True, clock=clock, profile_days=7.0)
        asked.append(profiles(fetcher))
        assert profile_of(crawl_, 6)["profile:rank"] == "3"
    assert asked == [1, 0, 0, 1]


def test_the_number_of_posts_is_asked_for_where_an_end_may_come(crawl_: Crawl) -> None:
    """Law 4: by it ends are judged; a visit that ends with what is known does not need it. Nor is
    it asked for where the profile does not tell it either."""
    crawl_.add(6, 7)
    world = {6: timeline(6, 5), 7: timeline(7, 5)}

    class Uncounted(ScriptedFetcher):
        def _user(self, uid: int) -> Any:
            return replace(super()._user(uid), posts=None if uid == 7 else 5)

    first, again = (Uncounted(world, lacks=["posts"]) for _ in range(2))
    crawl_.run(first)
    crawl_.run(again, refresh=True)
    assert (profiles(first), profiles(again)) == (2, 0)
    assert (crawl_.ledger(6).announced, crawl_.ledger(7).announced) == (5, None)
    new = {uid: [*timeline(uid, 10, first=9000), *world[uid]] for uid in world}
    later = Uncounted(new, lacks=["posts"])
    crawl_.run(later, refresh=True)
    assert [url for url in later.asked if url.startswith("profile")] == ["profile/6"]


@pytest.mark.parametrize("change", [0, 1, -1])
def test_an_end_as_before_is_not_judged_again(crawl_: Crawl, change: int) -> None:
    """Law 16: a timeline that names no next page, and shows the very posts that an earlier visit
    found to be all, needs no number of posts; one that has changed does (law 4)."""
    crawl_.add(6)

    class Named(ScriptedFetcher):
        def _page(self, uid: int, posts: Sequence[Post], cursor: str) -> PostPage:
            return replace(super()._page(uid, posts, cursor), next_cursor=None)

    crawl_.run(Named({6: timeline(6, 5)}, lacks=["posts"]))
    assert crawl_.ledger(6).whole
    fetcher = Named({6: timeline(6, 5 + change)}, lacks=["posts"])
    crawl_.run(fetcher, refresh=True)
    assert profiles(fetcher) == (1 if change else 0)
    assert (crawl_.ledger(6).announced, crawl_.ledger(6).whole) == (5 + change, True)


@pytest.mark.parametrize("change", [0, 1, -1])
def test_an_end_that_was_unsure_is_as_unsure_where_it_is_the_same(
    crawl_: Crawl, change: int
) -> None:
    """Law 16: where an earlier visit was shown the very posts, to the same end, and fewer than were
    announced, the number that was announced then says so still."""
    crawl_.add(6)

    class Named(ScriptedFetcher):
        def _page(self, uid: int, posts: Sequence[Post], cursor: str) -> PostPage:
            return replace(super()._page(uid, posts, cursor), next_cursor=None)

    def visited(posts: int, *, refresh: bool) -> int:
        fetcher = Named({6: timeline(6, posts)}, lacks=["posts"], announced={6: 12})
        crawl_.run(fetcher, refresh=refresh)
        ledger = crawl_.ledger(6)
        assert (ledger.announced, ledger.sure, ledger.whole) == (12, False, False)
        return profiles(fetcher)

    visited(5, refresh=False)
    assert visited(5 + change, refresh=True) == abs(change)


@pytest.mark.parametrize("verdict", [Verdict.LOGIN_WALL, Verdict.DRIFTED, Verdict.GONE])
def test_a_first_page_without_posts_asks_for_the_profile(crawl_: Crawl, verdict: Verdict) -> None:
    """Whatever keeps the posts back, the profile is stored; it says whether the user is gone."""
    crawl_.add(6)
    fetcher = ScriptedFetcher({6: timeline(6, 5)}, trouble={"posts/6/": [verdict]})
    outcome = crawl_.run(fetcher)[6]
    assert fetcher.asked == ["posts/6/", "profile/6"]
    assert profile_of(crawl_, 6)["profile:screen_name"] == "name 6"
    assert outcome.status == "failed"
    assert crawl_.run(ScriptedFetcher({6: timeline(6, 5)}))[6].stored == 5


def test_a_server_in_trouble_is_not_asked_for_the_profile_too(crawl_: Crawl) -> None:
    crawl_.add(6)
    fetcher = ScriptedFetcher({}, trouble={"posts/6/": [Verdict.SERVER_TROUBLE]})
    assert crawl_.run(fetcher)[6].status == "failed"
    assert fetcher.asked == ["posts/6/"]


def test_an_empty_timeline_costs_a_refresh_one_request(crawl_: Crawl) -> None:
    """That it is empty as before is no news; and a user who has written since is met."""
    crawl_.add(6, 7)
    world = {6: timeline(6, 9), 7: ()}
    hidden = {"posts/6/": [Verdict.EMPTY] * 2}
    crawl_.run(ScriptedFetcher(world, trouble=hidden))
    assert crawl_.ledger(6).state == "failed"  # posts are announced, and none is shown
    for _ in range(2):
        again = ScriptedFetcher(world, trouble={"posts/6/": [Verdict.EMPTY]})
        again.is_talking = True
        crawl_.run(again, refresh=True)
        assert sorted(again.asked) == ["posts/6/", "posts/7/"]
        assert not crawl_.ledger(6).sure
    assert crawl_.run(ScriptedFetcher(world), refresh=True)[6].stored == 9


def test_an_empty_timeline_is_no_fact_in_a_silence(crawl_: Crawl) -> None:
    """Law 4: while the site shows nothing to anybody, the profile has to be shown as well."""
    crawl_.add(6)
    crawl_.run(ScriptedFetcher({6: ()}))
    silent = ScriptedFetcher({})
    silent.is_talking = False
    assert crawl_.run(silent, refresh=True)[6].is_evidence is False
    assert silent.asked == ["posts/6/", "profile/6"]


@pytest.mark.parametrize("tells", [False, True])
def test_profiles_that_never_tell_what_posts_lack_are_a_sample(crawl_: Crawl, tells: bool) -> None:
    """Law 16: where fewer than one profile in twenty tells what page 1 lacks, one of twenty is
    asked for, which notices a change; where profiles tell it, all are. Who was spared is not asked
    for at the next visit either."""
    uids = range(1, 201)
    crawl_.add(*uids)

    class Uncounted(ScriptedFetcher):
        def _user(self, uid: int) -> Any:
            return replace(super()._user(uid), posts=5 if tells else None)

    fetcher = Uncounted({uid: timeline(uid, 5) for uid in uids}, lacks=["posts"])
    crawl_.run(fetcher, users_in_flight=1)
    figures = fetcher.samples.figures()["profile.posts"]
    assert figures.looks == profiles(fetcher)
    assert figures.looks == len(uids) if tells else 29 <= figures.looks < 59
    assert figures.finds == len(uids) * tells
    known = {crawl_.ledger(uid).announced for uid in uids}
    assert known == {5 if tells else None}
    again = Uncounted({uid: timeline(uid, 5) for uid in uids}, lacks=["posts"])
    crawl_.run(again, refresh=True)
    assert profiles(again) == 0


@pytest.mark.parametrize("more", [12, 0])
def test_a_page_without_posts_that_names_the_next_one(crawl_: Crawl, more: int) -> None:
    """Law 16: the next page shows the owner, so no profile is asked for; where no page does, it is,
    and judges the end."""
    crawl_.add(5, 6)

    class Blank(ScriptedFetcher):
        def _answer(self, request: Request) -> Reading:
            if request.kind is not Kind.POSTS or request.uid != 6:
                return super()._answer(request)
            if not request.cursor:
                return Reading(Verdict.OK, PostPage(6, (), "2"), ambiguous=True)
            number = int(request.cursor)
            shown = super()._answer(replace(request, cursor="" if number == 2 else f"{number - 1}"))
            if not isinstance(shown.record, PostPage):
                return shown
            return replace(shown, record=replace(shown.record, next_cursor=f"{number + 1}"))

    world = {5: timeline(5, 5), 6: timeline(6, more)}
    fetcher = Blank(world, announced={6: 12})
    fetcher.is_talking = True
    outcome = crawl_.run(fetcher, users_in_flight=1)[6]
    assert fetcher.asked.count("profile/6") == (0 if more else 1)
    assert (outcome.announced, outcome.stored, outcome.sure) == (12, more, bool(more))


@pytest.mark.parametrize("is_talking", [False, True])
def test_an_empty_timeline_is_odd_unless_the_profile_says_so(
    crawl_: Crawl, is_talking: bool
) -> None:
    """Law 4: what an empty first page says of the site is known when the profile has come. A site
    of which most users have no posts has not fallen silent."""
    crawl_.add(6, 7, 8, 9)
    fetcher = ScriptedFetcher({6: (), 7: (), 9: timeline(9, 5)}, announced={7: 5})
    fetcher.is_talking = is_talking
    crawl_.run(fetcher)
    assert fetcher.contradicted == [Kind.POSTS] * 2  # of 7 five are announced; of 8 nothing is said

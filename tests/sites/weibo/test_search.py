"""Pages of topics: who wrote what they show."""

from typing import Any

import pytest

from tests.sites.weibo.helpers import OWNER, REQUESTS, SITE, read, record, tree
from weibo_crawler.records import FanPage, Kind, Verdict

AUTHORS = [(4900000011, 6905), (4900000012, 1_455_000), (4900000013, 8)]
SECOND = SITE.search("#河边的信#", "2")


def authors(change: Any = None) -> FanPage:
    found = record(read("search.json", change))
    assert isinstance(found, FanPage)
    return found


def test_who_wrote_the_posts_of_a_page() -> None:
    """Each author once, in groups or not; none of those whom the site recommends, nor of originals,
    nor of what is deleted. Who has no number of fans there is named."""
    page = authors()
    assert [(user.uid, user.fans) for user in page.users] == AUTHORS
    assert (page.uncounted, page.skipped, page.owner) == ((4900000014,), {"no user": 1}, 0)
    assert (page.next_cursor, page.is_next_named) == ("2", True)


def test_a_page_that_names_no_next_one() -> None:
    """The number of the next page is counted on; the page did not name it."""
    page = authors(lambda tree: tree["data"]["cardlistInfo"].pop("page"))
    assert (page.next_cursor, page.is_next_named) == ("2", False)


@pytest.mark.parametrize("request_", [REQUESTS["search.json"], SECOND])
def test_a_page_without_posts_is_asked_for_again(request_: Any) -> None:
    """It may be a soft refusal: EMPTY or END, and ambiguous; so is one that shows other cards."""

    def bare(tree: Any) -> None:
        del tree["data"]["cards"][2:]

    reading = read("search.json", bare, request_)
    verdict = Verdict.END if request_ is SECOND else Verdict.EMPTY
    assert (reading.verdict, reading.ambiguous, reading.record) == (verdict, True, None)


def _of_somebody(tree: Any) -> None:
    tree["data"]["cardlistInfo"]["containerid"] = f"107603{OWNER}"


def _without_cards(tree: Any) -> None:
    tree["data"]["cards"] = {"list": tree["data"]["cards"]}


def _without_authors(tree: Any) -> None:
    for card in tree["data"]["cards"]:
        for one in (card, *card.get("card_group", ())):
            if one.get("mblog"):
                one["mblog"]["user"] = "somebody"


@pytest.mark.parametrize("change", [_of_somebody, _without_cards, _without_authors])
def test_an_unknown_shape_is_told(change: Any) -> None:
    """A timeline, cards that are none, and posts of nobody are no page of a topic."""
    assert read("search.json", change).verdict is Verdict.DRIFTED


def test_an_odd_author_costs_that_author() -> None:
    """Law 15."""

    def odd(tree: Any) -> None:
        tree["data"]["cards"][3]["mblog"]["user"]["id"] = None

    page = authors(odd)
    assert [user.uid for user in page.users] == [4900000011, 4900000013]
    assert page.skipped == {"no user": 1, "no id": 1}


def test_the_fixture_is_asked_for_as_a_search() -> None:
    """Its words stand in the address as the site writes them."""
    asked = SITE.search("#河边的信#", "2")
    assert asked.kind is Kind.SEARCH
    assert tree("search.json")["data"]["cardlistInfo"]["containerid"] == "100103type=1&q=#河边的信#"

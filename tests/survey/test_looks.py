"""What is said of the pages that `doctor --site` asks for."""

import asyncio

import pytest
from msgspec.structs import replace

from tests.posts.worlds import ScriptedFetcher, ScriptedSite, post
from weibo_crawler.records import Edge, Request, Verdict
from weibo_crawler.survey.looks import Look, Looks


class Site(ScriptedSite):
    title, edges = "a site", frozenset[Edge]()

    def name(self, screen_name: str) -> Request:
        return replace(self.profile(6), url=f"name/{screen_name}")


def looked(fetcher: ScriptedFetcher) -> dict[str, Look]:
    async def run() -> dict[str, Look]:
        looks = Looks(Site(), fetcher, 6, patience_s=9.0, wants_info=False)  # type: ignore[arg-type]
        return {look.name: look async for look in looks.run()}

    return asyncio.run(run())


@pytest.mark.parametrize("verdict", [Verdict.DRIFTED, Verdict.SERVER_TROUBLE, Verdict.LOGIN_WALL])
def test_what_an_unshown_page_would_lead_to_is_not_known(verdict: Verdict) -> None:
    """Where page 1 is not shown nobody knows whether it names a next page, or whether a text on it
    is cut; so that is what is said."""
    fetcher = ScriptedFetcher({6: [post(6, 1001)]}, trouble={"posts/6/": [verdict]})
    found = looked(fetcher)
    for name in ("posts 2", "long text", "comments", "reposts"):
        assert (found[name].reading, found[name].why) == (None, "page 1 of the posts is not shown")


@pytest.mark.parametrize("verdict", [Verdict.DRIFTED, Verdict.SERVER_TROUBLE])
def test_a_way_to_a_text_that_changed_its_shape_is_told(verdict: Verdict) -> None:
    """Another way shows the text, so a crawl loses nothing; yet each long text costs it a request
    more. Trouble by one way alone is no news."""
    timeline = [post(6, 1001, text="beg…", text_complete=False)]
    way = {"extend/1001": [verdict]}
    found = looked(ScriptedFetcher({6: timeline}, texts={1001: "beginning"}, trouble=way))
    assert found["long text"].is_wrong == (verdict is Verdict.DRIFTED)
    assert found["long text"].is_shown != found["long text"].is_wrong

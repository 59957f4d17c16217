"""What a replay of a visit makes of a whole text that one way calls restricted."""

import asyncio
from typing import cast

import pytest

from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.texts import Found, Texts
from weibo_crawler.records import FullText, Page, Reading, Request, Verdict
from weibo_crawler.reparse.replay import AllLooks, VisitReplay
from weibo_crawler.reparse.visits import _Asker
from weibo_crawler.sites.weibo import Weibo

SITE = Weibo("http://127.0.0.1:1", "", "agent")
MID = 5


class OneVisit(VisitReplay):
    """An archive that holds these answers to the ways to one text, in their order."""

    def __init__(self, *told: Verdict) -> None:
        ways = SITE.full_text(7, MID)
        self.left = dict(zip([way.url for way in ways], told, strict=False))
        self._ends, self._was_talking, self.samples = {}, True, AllLooks(0.0)

    def now(self) -> float:
        return 0.0

    def place_of(self, request: Request) -> float:
        places = [*self.left]
        return places.index(request.url) if request.url in places else float("inf")

    async def fetch(self, ask: Ask) -> Fetched:
        verdict = self.left.pop(ask.request.url)  # KeyError: nobody had asked for that
        text = FullText(MID, "whole") if verdict is Verdict.OK else None
        page = Page(ask.request.url, 200, (), b"", 0.0, "direct")
        return Fetched(Reading(verdict, text), page)


@pytest.mark.parametrize(
    ("told", "is_whole"),
    [((Verdict.RESTRICTED, Verdict.OK), True), ((Verdict.RESTRICTED,), False)],
)
def test_each_way_that_was_taken_is_taken_again(told: tuple[Verdict, ...], is_whole: bool) -> None:
    """A crawl asks for a sample of restricted texts by other ways; its replay asks by those by
    which an answer is in the archive, and by no other."""

    async def keep(*_: object) -> None: ...

    async def scenario() -> Found:
        asker = _Asker(
            cast(VisitReplay, OneVisit(*told)),
            keep,
            was_walled=False,
            showed_others=lambda *_: False,
        )
        return await Texts(SITE, asker, 7).whole(MID, "")

    found = asyncio.run(scenario())
    assert (found.full is not None) is is_whole
    assert found.why.startswith("restricted") is not is_whole

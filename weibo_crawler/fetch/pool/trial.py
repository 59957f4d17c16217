"""One egress tried: is what comes by it an answer of the site?"""

import asyncio
import time
from random import Random
from typing import NamedTuple

from weibo_crawler.errors import TransportError
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool.session import STEPS, Visitor
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.records import FACTS, REFUSALS, Page, Reading, Request, Verdict
from weibo_crawler.sites import Site


class Trial(NamedTuple):
    """state: good (a fact of the site), refused (the site says no), bad (no answer of the site, or
    not to what was asked). verdict, status: None where no answer came; took_s: the last request."""

    state: str
    verdict: Verdict | None
    status: int | None
    took_s: float
    detail: str


class Trier:
    """Tries egresses side by side, at most `concurrency` of them at once, each for limit_s at most.

    visitor: knows the sessions; one that is opened here is put there.
    """

    def __init__(
        self,
        site: Site,
        sender: Sender,
        visitor: Visitor,
        *,
        concurrency: int,
        gap_s: float,
        limit_s: float,
    ) -> None:
        self._site, self._sender, self._visitor = site, sender, visitor
        self._slots = asyncio.Semaphore(concurrency)
        self._gap_s, self._limit_s = gap_s, limit_s

    async def run(self, egress: Egress) -> Trial:
        """One request, and before it, gap_s apart, one for a session where that is needed."""
        async with self._slots:
            try:
                async with asyncio.timeout(self._limit_s):
                    return await self._run(egress)
            except TimeoutError:
                why = f"no answer within {self._limit_s:g} s"
                return Trial("bad", None, None, self._limit_s, why)

    async def _run(self, egress: Egress) -> Trial:
        if not self._visitor.is_ready(egress):
            failure = await self._open(egress)
            if failure is not None:
                return failure
            await asyncio.sleep(self._gap_s)
        request = self._site.trial()
        page, took_s, why = await self._send(request, egress)
        if page is None:
            return Trial("bad", None, None, took_s, why)
        return _judge(self._site.read(request, page), page, took_s)

    async def _open(self, egress: Egress) -> Trial | None:
        """Have a session opened, in as many steps as the site wants; None: it is."""
        request = self._site.session(time.time(), Random())
        assert request is not None  # else the visitor wants none
        for _ in range(STEPS):
            page, took_s, why = await self._send(request, egress)
            given = None if page is None else self._site.read_session(page, request)
            if not isinstance(given, Request):
                break
            await asyncio.sleep(self._gap_s)
            request = given
        if page is None:
            return Trial("bad", None, None, took_s, why)
        if given is not None and not isinstance(given, Request):
            self._visitor.adopt(egress, given)
            return None
        reading = self._site.read(request, page)
        state = "refused" if reading.verdict in REFUSALS else "bad"
        return Trial(state, reading.verdict, page.status, took_s, "no visitor session")

    async def _send(self, request: Request, egress: Egress) -> tuple[Page | None, float, str]:
        """The answer, how long it took, and why there is none."""
        headers, _ = self._visitor.headers(egress)
        began = time.monotonic()
        try:
            page = await self._sender.send(request, headers, egress)
        except TransportError as error:
            return None, time.monotonic() - began, str(error)
        return page, time.monotonic() - began, ""


def _judge(reading: Reading, page: Page, took_s: float) -> Trial:
    verdict, why = reading.verdict, reading.why
    if verdict in FACTS:
        # the words for an empty page stand for soft throttling, too; still they are the site's
        return Trial("good", verdict, page.status, took_s, "")
    state = "refused" if verdict in REFUSALS else "bad"
    return Trial(state, verdict, page.status, took_s, why)

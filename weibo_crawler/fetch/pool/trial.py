"""One egress tried: is what comes by it an answer of the site?"""

import asyncio
import time
from random import Random
from typing import NamedTuple

from weibo_crawler.errors import TransportError
from weibo_crawler.fetch.clients.transport import Transport
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.fetch.wire import merge_headers
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
    """Tries egresses side by side, at most `concurrency` requests at once.

    visitor: knows the sessions; one that is opened here is put there.
    """

    def __init__(
        self, site: Site, transport: Transport, visitor: Visitor, *, concurrency: int, gap_s: float
    ) -> None:
        self._site, self._transport, self._visitor = site, transport, visitor
        self._slots = asyncio.Semaphore(concurrency)
        self._gap_s = gap_s

    async def run(self, egress: Egress) -> Trial:
        """One request, and before it, gap_s apart, one for a session where that is needed."""
        if self._visitor.wants(egress):
            failure = await self._open(egress)
            if failure is not None:
                return failure
            await asyncio.sleep(self._gap_s)
        page, took_s, why = await self._send(self._site.trial(), egress)
        return (
            _judge(self._site.read(self._site.trial(), page), page, took_s)
            if page
            else (Trial("bad", None, None, took_s, why))
        )

    async def _open(self, egress: Egress) -> Trial | None:
        """Have a session opened; None: it is."""
        request = self._site.session(time.time(), Random())
        assert request is not None  # else the visitor wants none
        page, took_s, why = await self._send(request, egress)
        if page is None:
            return Trial("bad", None, None, took_s, why)
        cookies = self._site.read_session(page)
        if cookies is not None:
            self._visitor.adopt(egress, cookies)
            return None
        reading = self._site.read(request, page)
        state = "refused" if reading.verdict in REFUSALS else "bad"
        return Trial(state, reading.verdict, page.status, took_s, "no visitor session")

    async def _send(self, request: Request, egress: Egress) -> tuple[Page | None, float, str]:
        """The answer, how long it took, and why there is none."""
        headers = merge_headers(request.headers, self._visitor.headers(egress)[0])
        async with self._slots:
            began = time.monotonic()
            try:
                page = await self._transport.send(request, headers, egress)
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

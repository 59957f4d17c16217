"""The loop: file after file of a run, many at once, each to one outcome."""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from weibo_crawler import config
from weibo_crawler.errors import (
    BodyTooLarge,
    CrawlerError,
    FileRefused,
    Interrupted,
    TransportError,
)
from weibo_crawler.fetch import Downloads
from weibo_crawler.media.missing import Missing
from weibo_crawler.media.saving import Gone, Moved, Part, Saved, shown
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Media, Request
from weibo_crawler.sites import Site
from weibo_crawler.store.media import GONE, HELD, WANTED, MediaIndex, Wanted
from weibo_crawler.store.rows.cells import to_iso

if TYPE_CHECKING:
    from weibo_crawler.fetch.clients.requests_transport import Stream

REFUSED, FAILED, TOO_LARGE = "refused", "failed", "too_large"
EXPIRED, ELSEWHERE = "expired", "elsewhere"  # never asked for
_CALLERS = 64
_HOPS = 4  # of redirects


def left_out(one: Wanted, media: Media | None, limit: int, now: float) -> tuple[str, str] | None:
    """State and reason of a file that is not asked for; None: it is."""
    if media is None:
        return ELSEWHERE, "its address is not at a host of the site's"
    if media.is_gone:
        return GONE, "its address is that of a picture for missing ones"
    if media.expires_at is not None and media.expires_at <= now:
        return EXPIRED, f"its address was good until {to_iso(media.expires_at)}"
    if one.state == TOO_LARGE and (one.bytes or 0) > limit:
        return TOO_LARGE, f"over {limit:,} bytes (media.max_file_bytes)"
    return None


class MediaRun:
    """Fetches what the index holds open of a run. limit: files to ask for, None: all.
    Counters: `media.<state>`, `media.bytes`, `media.asked`,
    `media.in_vain`: what was asked for the first time and refused, or failed."""

    def __init__(
        self,
        site: Site,
        downloads: Downloads,
        index: MediaIndex,
        folder: Path,
        settings: config.Media,
        counters: Counters,
        *,
        limit: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._site, self._downloads, self._index = site, downloads, index
        self._folder, self._settings, self._counters = folder, settings, counters
        self._limit, self._clock = limit, clock
        self._run = 0
        self._is_over = False
        self._failure: CrawlerError | None = None
        self._missing = Missing(
            gone=lambda one, why: self._note(one, GONE, why),
            doubted=lambda one, why: self._note(one, FAILED, why),
            witness=self._is_shown,
            held=index.examples,
        )

    async def run(self, run: int) -> None:
        """Until nothing is left, the limit is reached, or `stop`. Errors: SiteSaysNo, StoreError;
        Interrupted after `stop`."""
        self._run, left = run, self._index.open(run)
        await asyncio.gather(*(self._work(left) for _ in range(_CALLERS)))
        if self._failure is not None:
            self._missing.leave()
            raise self._failure
        await self._missing.end()

    def stop(self) -> None:
        """Ask for nothing more; what is under way is cut, and what has come of it is kept."""
        self._is_over = True
        self._failure = self._failure or Interrupted("stopped")
        self._downloads.stop()

    async def _work(self, left: Iterator[Wanted]) -> None:
        while not self._is_over and (one := next(left, None)) is not None:
            media = self._site.media(one.address)
            reason = left_out(one, media, self._settings.max_file_bytes, self._clock())
            if reason is not None:
                self._note(one, *reason)
                await asyncio.sleep(0)  # there may be millions
                continue
            assert media is not None
            if self._limit is not None and self._counters["media.asked"] >= self._limit:
                return
            self._counters.add("media.asked")
            try:
                await self._fetch(one, media, self._counters["media.asked"])
            except CrawlerError as error:  # others finish what is under way
                self._is_over = True
                self._failure = self._failure or error

    async def _fetch(self, one: Wanted, media: Media, nth: int) -> None:
        """One file, to its outcome. nth: of those asked for. Errors: SiteSaysNo, Interrupted,
        StoreError."""
        part = Part(
            self._folder,
            one,
            limit=self._settings.max_file_bytes,
            keep=partial(self._keep, one),
            came=partial(self._counters.add, "media.bytes"),
        )
        try:
            came = await self._come(
                media, part.asked_by, part.take, is_evidence=one.state == WANTED
            )
        except BodyTooLarge as error:
            part.discard()
            size = self._settings.max_file_bytes + 1
            self._note(one, TOO_LARGE, str(error), bytes=size, part_bytes=0)
        except FileRefused as error:
            self._note(one, REFUSED, str(error))
        except TransportError as error:
            if not self._is_over:  # else it was cut here
                self._note(one, FAILED, str(error))
        else:
            if isinstance(came, Saved):
                self._note(one, HELD, "", part_bytes=0, part_of="", **came._asdict())
                self._missing.came(nth)
            elif came[0] == GONE:
                part.discard()
                await self._missing.note(one, came[1], nth)
            else:
                self._note(one, *came)

    async def _is_shown(self, one: Wanted) -> bool:
        """Whether a file that came before is there still; its body is left unread."""
        media = self._site.media(one.address)
        if media is None:
            return False
        try:
            came = await self._come(media, lambda request: request, shown, is_evidence=False)
        except TransportError:
            return False
        return isinstance(came, Saved)

    async def _come(
        self,
        media: Media,
        asked_by: Callable[[Request], Request],
        take: Callable[["Stream"], Saved | Moved | Gone],
        *,
        is_evidence: bool,
    ) -> Saved | tuple[str, str]:
        """The file, or the state and reason that there is none. Errors: TransportError."""
        for _ in range(_HOPS):
            came = await self._downloads.get(
                partial(asked_by, media.request),
                take,
                is_dated=media.expires_at is not None,
                is_evidence=is_evidence,
            )
            if isinstance(came, Saved):
                return came
            if isinstance(came, Gone):
                return GONE, came.why
            target = self._led_to(media, came.location)
            if target is None:
                return ELSEWHERE, "it leads to a host that is not the site's"
            if target.is_gone:
                return GONE, "it leads to the picture for missing ones"
            media = target
        return FAILED, f"it leads on, {_HOPS} times"

    def _led_to(self, media: Media, location: str) -> Media | None:
        """As `Site.media`, for what need not be an address at all."""
        try:
            return self._site.media(urljoin(media.request.url, location))
        except ValueError:
            return None

    def _keep(self, one: Wanted, part_bytes: int, part_of: str) -> None:
        self._index.note(one, part_bytes=part_bytes, part_of=part_of)

    def _note(self, one: Wanted, state: str, why: str, **more: object) -> None:
        self._counters.add(f"media.{state}")
        if one.state == WANTED and state in (REFUSED, FAILED):
            self._counters.add("media.in_vain")
        at = to_iso(self._clock())
        self._index.note(one, state=state, why=why, fetched_at=at, asked=self._run, **more)

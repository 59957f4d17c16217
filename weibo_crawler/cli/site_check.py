"""doctor --site: what guests are shown today, and what that means for a crawl."""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from weibo_crawler.analysis.numbers import plural
from weibo_crawler.cli.show import Progress
from weibo_crawler.config import Settings
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch import open_fetcher
from weibo_crawler.home import Home
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Answer, Id, Kind, Page, Request, User, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.survey.looks import POSTS, PROFILE, Look, Looks, content
from weibo_crawler.survey.meaning import Meaning, meaning
from weibo_crawler.survey.recording import record

_ATTEMPTS = 3  # what goes wrong once or twice is no finding
_RESTS_S = 120.0  # that a page may wait for beside its pace and its answers

_FIRST_USERS = 1000
_NOBODY = (Verdict.GONE, Verdict.EMPTY)
_NO_SESSION = {
    "refused": "the site gives no visitor session",
    "unanswered": "no answer came from where visitor sessions are opened",
}

Heard = list[tuple[Request, Page]]
Stated = tuple[str, str, str, int]  # state, name, text and exit code of a line


class Found(NamedTuple):
    """requests: all that were sent; session: "opened", "held", "not needed", "refused" or
    "unanswered"."""

    uid: Id
    looks: list[Look]
    session: str
    requests: int
    meaning: Meaning
    recorded: str


def look_at_the_site(settings: Settings, uid: Id | None, folder: Path | None) -> Found:
    """Ask for some ten pages of one user. uid: None: somebody of the store, else of whom everybody
    knows. folder: where the answers go as fixtures. Nothing is stored of what is shown; under a
    pace the egress is leased where there is a store, as every process does. Errors: CrawlerError.
    """
    settings = replace(settings, fetch=replace(settings.fetch, attempts=_ATTEMPTS))
    with Home(settings, makes=()) as home, Progress("doctor") as progress:
        heard: Heard = []
        asked = uid or _somebody(home)
        counters = Counters()
        looks = asyncio.run(_look(home, asked, counters, heard, progress.say))
        counted = counters.snapshot()
        recorded = "" if folder is None else _record(home.site, heard, folder)
        return Found(
            asked,
            looks,
            _session(home.site, counted, heard),
            counted.get("request.sent", 0),
            meaning(
                {look.name: look for look in looks},
                settings.harvest,
                settings.posts,
                home.site.posts_a_page,
            ),
            recorded,
        )


def _somebody(home: Home) -> Id:
    """Who has most fans of the first users of the store; else of whom everybody knows."""
    users = islice(home.users.users(), _FIRST_USERS) if home.is_there("users") else ()
    user = max(users, key=lambda one: one.fans or 0, default=None)
    return user.uid if user is not None else home.site.trial().uid


def _topic(home: Home) -> str:
    """The words of one that the crawl reads, "" for none."""
    topics = home.users.topics() if home.is_there("users") else ()
    return next((topic.words for topic in topics), "")


async def _look(
    home: Home, uid: Id, counters: Counters, heard: Heard, say: Callable[[str], None]
) -> list[Look]:
    def hear(answer: Answer) -> None:
        if answer.page is not None:
            heard.append((answer.request, answer.page))

    site = cast("Site", _Listening(home.site, heard))
    leases = home.leases if home.is_there("users") else None
    settings = home.settings
    rate = settings.pace.requests_per_second
    patience_s = _RESTS_S + 4 / rate if rate else _RESTS_S
    patience_s += 4 * (settings.fetch.connect_timeout_s + settings.fetch.read_timeout_s)
    fetcher = open_fetcher(settings, site, counters, leases, hear)
    fetcher.leave_walls()
    found = []
    try:
        looks = Looks(
            *(site, fetcher, uid),
            patience_s=patience_s,
            wants_info=settings.posts.info_days > 0,
            topic=_topic(home),
        )
        async for look in looks.run():
            found.append(look)
            say(f"{look.name}: {look.reading.verdict if look.reading else look.why}")
    finally:
        await fetcher.close()
    return found


class _Listening:
    """A site that notes the answers by which sessions are opened."""

    def __init__(self, site: Site, heard: Heard) -> None:
        self._site, self._heard = site, heard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._site, name)

    def read_session(self, page: Page, asked: Request) -> Any:
        self._heard.append((asked, page))
        return self._site.read_session(page, asked)


def _session(site: Site, counters: dict[str, int], heard: Heard) -> str:
    if site.session(time.time(), Random()) is None:
        return "not needed"
    if counters.get("session.opened"):
        return "opened"
    if not counters.get("session.asked"):
        return "held"
    return "refused" if any(asked.kind is Kind.SESSION for asked, _ in heard) else "unanswered"


def _record(site: Site, heard: Heard, folder: Path) -> str:
    differing = record(site, heard, folder)
    said = f"{plural(len(heard), 'answer')} in {folder}, all people in them replaced by strangers"
    if differing:
        said += f"; {', '.join(differing)} now read otherwise than the answers did"
    return said


def states(found: Found) -> list[Stated]:
    """What each page is to a crawl."""
    lines: list[Stated] = [("ok", "session", found.session, 0)]
    if found.session in _NO_SESSION:
        why = f"{found.session}: {_NO_SESSION[found.session]}"
        lines = [("wrong", "session", why, SiteSaysNo.exit_code)]
    owner = next((look.reading.record for look in found.looks if look.reading), None)
    announced = owner.posts if isinstance(owner, User) else None
    return lines + [_state(look, announced or 0) for look in found.looks]


def _is_wrong(look: Look, announced: int) -> bool:
    """Whether a crawl would suffer: it can do without what guests are not shown, but for page 1 of
    the posts of whom announces some."""
    if look.reading is None:
        return False
    if look.name == POSTS and not look.is_shown:
        return announced > 0 or look.reading.verdict is not Verdict.EMPTY
    return look.is_wrong or (look.name == PROFILE and look.reading.verdict in _NOBODY)


def _state(look: Look, announced: int) -> Stated:
    if look.reading is None:
        return "open", look.name, look.why, 0
    verdict = look.reading.verdict
    said = f"{verdict}: {look.why}" if look.why else f"{verdict}"
    if look.is_shown:
        return "ok", look.name, f"{verdict}: {content(look)}", 0
    if verdict in _NOBODY and look.name in (PROFILE, POSTS):
        said += "; name somebody who posts by --uid"
    if look.is_walled:
        said += "; not for guests"
    is_wrong = _is_wrong(look, announced)
    return "wrong" if is_wrong else "open", look.name, said, SiteSaysNo.exit_code * is_wrong


def as_dict(found: Found) -> dict[str, Any]:
    """For --json."""
    pages: Sequence[dict[str, Any]] = [
        {
            "name": look.name,
            "verdict": None if look.reading is None else look.reading.verdict.value,
            "why": look.why,
        }
        for look in found.looks
    ]
    return {
        "uid": found.uid,
        "requests": found.requests,
        "session": found.session,
        "pages": pages,
        "crawl": found.meaning._asdict(),
    }

"""What guests may see, which differs by year (weibo_api.md), and their sessions."""

import math
import re
from itertools import cycle
from typing import NamedTuple
from urllib.parse import parse_qs, quote

import msgspec

from weibo_crawler.simulator.routes import VISITOR_PAGE, Asked, Kind
from weibo_crawler.simulator.wire import HTML, SITE, Answer, login_wall

_SESSION_COOKIE = re.compile(r"(?:^|;)\s*SUB=([^;\s]+)")
_CALLBACK = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFUSED_432 = Answer(b"", "refused_432", 432, HTML)
_FREE = frozenset({Kind.HOME, Kind.VISITOR_PAGE, Kind.UNKNOWN})


def session_of(cookies: str) -> str:
    """The session that a Cookie header names, "" for none."""
    found = _SESSION_COOKIE.search(cookies)
    return found[1] if found else ""


class Rules(NamedTuple):
    """needs_session: a visitor session is asked for. post_pages, list_pages: how many pages of a
    timeline, and of a list of people, a guest sees, None for all; search_pages: of a topic."""

    needs_session: bool
    post_pages: int | None
    list_pages: int | None = None
    search_pages: int | None = None


GUESTS = {
    "open": Rules(False, None),
    "2020": Rules(True, 200),
    "2023": Rules(True, 2),
    "2026": Rules(True, 1, search_pages=1),
}


class Guests:
    """The doorkeeper: hands out sessions and turns away who may not come in.

    session_requests, session_s: how many requests and seconds a session lives, 0 for ever.
    """

    def __init__(self, rules: Rules, *, session_requests: int = 0, session_s: float = 0.0) -> None:
        self._rules = rules
        self._session_requests = session_requests or math.inf
        self._session_s = session_s or math.inf
        # uses left, and until when: of the living ones, and of those nobody came back with
        self._sessions: dict[str, tuple[float, float]] = {}
        self._opened = 0
        self._refusals = cycle((lambda _: _REFUSED_432, _sent_away, login_wall))

    def open_session(self, form: str, now: float) -> Answer:
        """The answer of genvisitor2 to a form body: JSONP, and the cookies SUB and SUBP."""
        given = parse_qs(form).get("cb", [""])[0]
        callback = given if _CALLBACK.fullmatch(given) else "visitor_gray_callback"
        self._opened += 1
        sub = f"_2AkMSimulated{self._opened:08d}"
        subp = f"0033WrSXqPxfM72-WsSimulated{self._opened:08d}"
        self._sessions[sub] = self._session_requests, now + self._session_s
        data = {
            "next": "cross_domain",
            "sub": sub,
            "subp": subp,
            "alt": "",
            "savestate": 0,
            "tid": f"01AaSimulated{self._opened:08d}",
            "new_tid": False,
            "confidence": 90,
        }
        answer = msgspec.json.encode({"retcode": 20000000, "msg": "succ", "data": data}).decode()
        # No Domain: the real ones are of .weibo.cn, which no client would take from loopback.
        cookies = tuple(
            ("Set-Cookie", f"{k}={v}; path=/") for k, v in (("SUB", sub), ("SUBP", subp))
        )
        body = f"window.{callback} && {callback}({answer});\n"
        return Answer(body.encode(), "session", content_type="text/javascript", headers=cookies)

    def turned_away(
        self, asked: Asked, number: int, address: str, cookies: str, now: float
    ) -> Answer | None:
        """The refusal a guest gets, None for whom may pass. Counts the use of a session.

        number: the page of its list, from 1. cookies: the Cookie header. now: by any clock.
        """
        if asked.kind in _FREE:
            return None
        if self._rules.needs_session and not self._admits(cookies, now):
            return next(self._refusals)(address)
        if asked.kind in (Kind.FANS, Kind.FOLLOWS):
            most = self._rules.list_pages
        elif asked.kind is Kind.SEARCH:
            most = self._rules.search_pages
        else:
            most = 1 if asked.kind is Kind.COMMENTS else self._rules.post_pages
        return login_wall(address) if most is not None and number > most else None

    def _admits(self, cookies: str, now: float) -> bool:
        session = session_of(cookies)
        uses, until = self._sessions.pop(session, (0.0, 0.0))
        if uses > 1 and now < until:
            self._sessions[session] = uses - 1, until
        return uses > 0 and now < until


def _sent_away(address: str) -> Answer:
    """302 to the visitor page. The real one lies on another host, which nobody should be led to."""
    where = f"{VISITOR_PAGE}?entry=sinawap&a=enter&url={quote(SITE + address, safe='')}"
    return Answer(b"", "sent_to_visitor", 302, HTML, (("Location", where),))

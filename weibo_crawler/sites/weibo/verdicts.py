"""What an answer is when it is not a page: refusals, the site's own errors, and nothing at all.

The table is weibo_api.md, "Refusals". Refused is never empty (law 4): EMPTY, END, GONE and
RESTRICTED are read from the signatures of `signs` alone. Words, keys and numbers that nobody knows
are a refusal that nobody knows: SERVER_TROUBLE, with a `why` that says so.
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urljoin, urlsplit

from weibo_crawler.records import OF_USERS, Page, Reading, Request, Verdict
from weibo_crawler.sites.weibo import signs
from weibo_crawler.sites.weibo.loose import decoded
from weibo_crawler.sites.weibo.text import writable

_TOO_FAST = (414, 418, 429)
_SESSION_REFUSED = 432
_UNKNOWN_ASKER = 401
_HEADERS_TOO_LARGE = (400, 431)  # how servers refuse a session with too many cookies
_ERROR_TITLE = "微博-出错了"
_NOTICE = "h5-4con"
_TITLE = re.compile(r"<title>([^<>]*+)</title>", re.IGNORECASE)
_OF_GUESTS = ("wbBotDetector", "visitor_gray_callback", "visitor/mini_original.js")  # what it loads
_ADDRESS = r"""\s*+["']*+([^\s"'<>]++)"""
_LOADED = re.compile(rf"\b(?:src|action)\s*+={_ADDRESS}", re.IGNORECASE)
_LED_TO = re.compile(
    rf"\b(?:(?:url|location(?:\.href)?)\s*+=|location\.(?:replace|assign)\s*+\(){_ADDRESS}",
    re.IGNORECASE,
)
_MORE_THAN_EARLY = (Verdict.LOGIN_WALL, Verdict.CAPTCHA, Verdict.REFUSED)


def nothing(request: Request, why: str = "no content") -> Reading:
    """The no-content reading: it also stands for soft throttling, so it is to be asked again. why:
    by which sign; looks at ends of each are an experiment of their own."""
    is_first = request.cursor in ("", "1", "page=1")
    return Reading(Verdict.EMPTY if is_first else Verdict.END, why=why, ambiguous=True)


def of_status(page: Page) -> Reading | None:
    """What the status alone says; None: look at the body. 4xx: `of_refused` looks further. Trouble
    that says when to come back is a refusal until then, not of the page."""
    status = page.status
    if 300 <= status < 400:
        return _of_redirect(page)
    if 200 <= status < 500 and status != 408:
        return None
    if page.header("retry-after"):
        return refusal(Verdict.THROTTLED, str(status))
    return Reading(Verdict.SERVER_TROUBLE, why=str(status))


def of_refused(request: Request, page: Page, body: Reading) -> Reading:
    """A 4xx: REFUSED, or THROTTLED, unless `body`, the reading of its body, names the reason.

    A 404 where a text, a comment or a name is asked for refuses nobody: the address is lost.

    What is no refusal there is not believed, but for a user or post that a 404 says is gone, and a
    post that is shown to others: only a 401 is of whoever asks, whatever stands beside it. A
    captcha may be asked for with any status; else the numbers that have a meaning tell.
    """
    if page.status in _TOO_FAST and body.verdict is not Verdict.CAPTCHA:
        return Reading(Verdict.THROTTLED, why=str(page.status))
    if page.status == _SESSION_REFUSED and body.verdict is not Verdict.CAPTCHA:
        return Reading(Verdict.REFUSED, why=str(page.status), is_of_session=True, is_ban=True)
    named = (Verdict.LOGIN_WALL, Verdict.CAPTCHA, Verdict.THROTTLED)
    if body.verdict in named or (page.status == 404 and body.verdict is Verdict.GONE):
        return body
    if page.status != _UNKNOWN_ASKER and body.verdict is Verdict.RESTRICTED:
        return body
    is_of_session = page.status in _HEADERS_TOO_LARGE
    why = str(page.status)
    if page.status == 404 and request.kind not in OF_USERS:
        return Reading(Verdict.SERVER_TROUBLE, why=why)
    return Reading(Verdict.REFUSED, why=why, is_of_session=is_of_session, is_ban=True)


def of_envelope(said: dict[str, Any], request: Request) -> Reading | None:
    """What an answer says of itself; None: it says ok, and refuses nothing that is known."""
    ok, errno = _number(said.get("ok")), _number(said.get("errno"))
    words = said["msg"].strip() if isinstance(said.get("msg"), str) else ""
    why = brief(" ".join(part for part in (errno, words) if part) or f"ok {ok}")
    wall = _of_places(_addresses(said, ok), request.url)
    known = signs.refusal_in(errno, words)
    if ok == "-100" or errno == "-100" or wall is not None:
        is_captcha = Verdict.CAPTCHA in (wall, known)
        verdict = Verdict.CAPTCHA if is_captcha else wall or known or Verdict.LOGIN_WALL
        return refusal(verdict, f"ok {ok}")
    if known is not None:
        return refusal(known, why)
    if ok == "1":
        fact = None if said.get("data") else signs.fact_in(said, errno, words, request.kind)
        return Reading(fact, why=why) if fact is Verdict.RESTRICTED else None
    if ok != "0":
        return Reading(Verdict.DRIFTED, why="$.ok")
    fact = signs.fact_in(said, errno, words, request.kind)
    if fact is Verdict.EMPTY:
        return nothing(request)
    return Reading(fact, why=_own_words(said)) if fact is not None else unknown(said)


def unknown(said: dict[str, Any]) -> Reading:
    """A refusal that nobody knows, in its own words."""
    return Reading(Verdict.SERVER_TROUBLE, why=f"unknown refusal: {_own_words(said)}")


def of_html(body: bytes, request: Request) -> Reading:
    """The site's HTML pages that say why there is no JSON; NOT_JSON where none of them is it.

    Its words count only on its own error page: a proxy's page may say that a user is unknown.
    Errors: NotJson.
    """
    text = decoded(body)
    if "Sina Visitor System" in text:
        return refusal(Verdict.LOGIN_WALL, "Sina Visitor System")
    restriction = signs.restriction_in(text, request.kind)
    if restriction:
        return Reading(Verdict.RESTRICTED, why=restriction)
    loaded, led_to = (_of_places(one.findall(text), request.url) for one in (_LOADED, _LED_TO))
    if Verdict.CAPTCHA in (loaded, led_to) or "initGeetest" in text:
        return refusal(Verdict.CAPTCHA, "a page that loads a captcha")
    if led_to is not None:
        return refusal(led_to, "a page that leads to the login")
    title, notice = _TITLE.search(text), _notice(text)
    is_own = title is not None and _ERROR_TITLE in title[1]
    if not notice and not is_own:
        if any(script in text for script in _OF_GUESTS):
            return refusal(Verdict.LOGIN_WALL, "a page for guests without a session")
        return Reading(Verdict.NOT_JSON, why=brief(title[1]) if title else "")
    verdict = signs.refusal_in("", notice or text)
    if verdict is not None:
        return refusal(verdict, brief(notice) or _ERROR_TITLE)
    fact = signs.fact_of_notice(notice.strip(), request.kind) if is_own else None
    if fact is Verdict.EMPTY:
        return nothing(request)
    if fact is not None:
        return Reading(fact, why=brief(notice))
    return Reading(Verdict.SERVER_TROUBLE, why=f"unknown refusal: {brief(notice) or _ERROR_TITLE}")


def refusal(verdict: Verdict, why: str) -> Reading:
    """A refusal, with what it says of session and egress."""
    is_ban = verdict in _MORE_THAN_EARLY
    return Reading(verdict, why=why, is_of_session=verdict is Verdict.LOGIN_WALL, is_ban=is_ban)


def brief(text: str) -> str:
    """One line that fits into a log."""
    return writable(" ".join(text.split()))[:80]


def _own_words(said: dict[str, Any]) -> str:
    """The numbers and words of an answer of either envelope, else its keys."""
    texts = (said[key] for key in sorted(filter(signs.is_complaint, said)))
    words = " ".join(str(text) for text in texts if isinstance(text, int | str) and text != "")
    return brief(words or ", ".join(key for key in said if key != "ok") or "no word")


def _of_redirect(page: Page) -> Reading:
    """Only known places say anything: a captive portal has a login, even on the site's name."""
    location = page.header("location") or ""
    try:
        verdict = _of_place(location, page.url)
        is_own = urlsplit(urljoin(page.url, location)).netloc == urlsplit(page.url).netloc
    except ValueError:
        verdict, is_own = None, False
    where = brief(location.partition("?")[0]) if is_own else "another site"
    if verdict is None:
        return Reading(Verdict.NOT_JSON, why=f"{page.status} to {where}")
    return refusal(verdict, f"{page.status} to {brief(location.partition('?')[0])}")


def _addresses(said: dict[str, Any], ok: str) -> list[object]:
    """The addresses to which an answer may send its reader; those in `data` where it is no page."""
    data = said.get("data")
    return [said.get("url"), *(data.values() if ok != "1" and isinstance(data, dict) else ())]


def _of_places(urls: Iterable[object], asked: str) -> Verdict | None:
    """What the first of them means that means anything; a captcha goes before a login."""
    meant = [_of_place(url, asked) for url in urls]
    return Verdict.CAPTCHA if Verdict.CAPTCHA in meant else next(filter(None, meant), None)


def _of_place(url: object, asked: str) -> Verdict | None:
    """What one of the site's login or captcha pages means. The query may quote any other address.

    asked: the address that was asked, whose host need not have the name of the site; `url` may be
    relative to it.
    """
    if not isinstance(url, str) or not url:
        return None
    try:
        place, own = urlsplit(urljoin(asked, url)), urlsplit(asked).netloc
        host = place.hostname or ""
    except ValueError:
        return None
    return signs.of_place(host, place.path, is_own=place.netloc == own)


def _notice(text: str) -> str:
    """What stands in the `p.h5-4con` of the site's error page; "" where there is none."""
    _, mark, rest = text.partition(_NOTICE)
    return rest.partition(">")[2].partition("<")[0] if mark else ""


def _number(value: object) -> str:
    """ok and errno, numbers or text, as text; "" for null, "?" for all else."""
    if isinstance(value, int):
        return str(int(value))
    return value.strip() if isinstance(value, str) else "" if value is None else "?"

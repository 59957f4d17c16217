"""What an answer is when it is not a page: refusals, the site's own errors, and nothing at all.

The table is WEIBO_API, "Refusals". Refused is never empty (law 4): a message that is not known
is SERVER_TROUBLE, never EMPTY.
"""

import re
from urllib.parse import urljoin, urlsplit

from weibo_crawler.records import Page, Reading, Request, Verdict
from weibo_crawler.sites.weibo.text import writable
from weibo_crawler.sites.weibo.wire import Envelope

NO_CONTENT = "这里还没有内容"

_BY_ERRNO = {
    "100005": Verdict.THROTTLED,
    "100001": Verdict.SERVER_TROUBLE,
    "20003": Verdict.GONE,  # the user does not exist
    "20101": Verdict.GONE,  # the post does not exist
}
_BY_WORDS = (
    ("用户不存在", Verdict.GONE),
    ("微博不存在", Verdict.GONE),
    ("已被删除", Verdict.GONE),
    ("频繁", Verdict.THROTTLED),
    ("服务器走丢了", Verdict.SERVER_TROUBLE),
    ("网络繁忙", Verdict.SERVER_TROUBLE),
)
_TOO_FAST = (414, 418, 429)
_LOGIN_PATHS = ("passport", "visitor", "signin", "login")
_OWN_DOMAINS = ("weibo.cn", "weibo.com", "sina.cn", "sina.com.cn")
_ERROR_TITLE = "微博-出错了"
_NOTICE = "h5-4con"
_TITLE = re.compile(r"<title>([^<>]*+)</title>", re.IGNORECASE)


def nothing(request: Request) -> Reading:
    """The no-content reading: it also stands for soft throttling, so it is to be asked again."""
    is_first = request.cursor in ("", "1", "page=1")
    return Reading(Verdict.EMPTY if is_first else Verdict.END, why="no content", ambiguous=True)


def of_status(page: Page) -> Reading | None:
    """What the status alone says; None: look at the body. 4xx: `of_refused` looks further."""
    status = page.status
    if status in _TOO_FAST:
        return Reading(Verdict.THROTTLED, why=str(status))
    if status == 432:
        return Reading(Verdict.REFUSED, why="432")
    if 300 <= status < 400:
        return _of_redirect(page)
    if 200 <= status < 500 and status != 408:
        return None
    return Reading(Verdict.SERVER_TROUBLE, why=str(status))


def of_refused(page: Page, body: Reading) -> Reading:
    """A 4xx: REFUSED, unless `body`, the reading of its body, names the reason.

    What is no refusal there is not believed, but for a user or post that a 404 says is gone.
    """
    named = (Verdict.LOGIN_WALL, Verdict.CAPTCHA, Verdict.THROTTLED)
    if body.verdict in named or (page.status == 404 and body.verdict is Verdict.GONE):
        return body
    return Reading(Verdict.REFUSED, why=str(page.status))


def of_envelope(envelope: Envelope, request: Request) -> Reading | None:
    """What an answer says of itself; None: it says ok, so it should be a page."""
    ok, errno = _number(envelope.ok), _number(envelope.errno)
    if ok == "1":
        return None
    if ok == "-100" or errno == "-100":
        return _of_wall(envelope, f"ok {ok}")
    message = envelope.msg if isinstance(envelope.msg, str) else ""
    why = brief(" ".join(part for part in (errno, message) if part) or f"ok {ok}")
    verdict = _BY_ERRNO.get(errno) or _of_words(message)
    if verdict is not None:
        return Reading(verdict, why=why)
    if NO_CONTENT in message:
        return nothing(request)
    if isinstance(envelope.url, str) and "passport" in _place(envelope.url):
        return _of_wall(envelope, f"ok {ok}")
    if ok != "0":
        return Reading(Verdict.DRIFTED, why="$.ok")
    if not message and errno in ("", "0") and _is_bare(envelope.data):
        return nothing(request)
    return Reading(Verdict.SERVER_TROUBLE, why=why)


def of_html(body: bytes, request: Request) -> Reading:
    """The site's HTML pages that say why there is no JSON; NOT_JSON where none of them is it.

    Its words count only on its own error page: a proxy's page may say that a user is unknown.
    """
    text = body.decode("utf-8", "replace")
    if "Sina Visitor System" in text:
        return Reading(Verdict.LOGIN_WALL, why="Sina Visitor System")
    title, notice = _TITLE.search(text), _notice(text)
    if not notice and (title is None or _ERROR_TITLE not in title[1]):
        return Reading(Verdict.NOT_JSON, why=brief(title[1]) if title else "")
    words = notice or text
    verdict = _of_words(words)
    if verdict is None and "暂无数据" in words:
        return nothing(request)
    return Reading(verdict or Verdict.SERVER_TROUBLE, why=brief(notice) or _ERROR_TITLE)


def brief(text: str) -> str:
    """One line that fits into a log."""
    return writable(" ".join(text.split()))[:80]


def _of_redirect(page: Page) -> Reading:
    """Only the site's own addresses say anything: a proxy's captive portal has a login, too."""
    place = _place(page.header("location") or "")
    if not _is_own(page):
        return Reading(Verdict.NOT_JSON, why=f"{page.status} to another site")
    if "captcha" in place:
        return Reading(Verdict.CAPTCHA, why=f"{page.status} to a captcha")
    if any(word in place for word in _LOGIN_PATHS):
        return Reading(Verdict.LOGIN_WALL, why=f"{page.status} to {brief(place)}")
    return Reading(Verdict.NOT_JSON, why=f"{page.status} to {brief(place)}")


def _is_own(page: Page) -> bool:
    """Whether the address that an answer redirects to is the site's."""
    try:
        place = urlsplit(urljoin(page.url, page.header("location") or ""))
    except ValueError:
        return False
    host = place.hostname or ""
    is_known = any(host == domain or host.endswith(f".{domain}") for domain in _OWN_DOMAINS)
    return is_known or place.netloc == urlsplit(page.url).netloc


def _of_wall(envelope: Envelope, why: str) -> Reading:
    place = _place(envelope.url) if isinstance(envelope.url, str) else ""
    if "captcha" in place:
        return Reading(Verdict.CAPTCHA, why=why)
    return Reading(Verdict.LOGIN_WALL, why=why)


def _notice(text: str) -> str:
    """What stands in the `p.h5-4con` of the site's error page; "" where there is none."""
    _, mark, rest = text.partition(_NOTICE)
    return rest.partition(">")[2].partition("<")[0] if mark else ""


def _of_words(words: str) -> Verdict | None:
    return next((verdict for key, verdict in _BY_WORDS if key in words), None)


def _place(url: str) -> str:
    """Host and path of an address: its query may quote any other."""
    return url.partition("?")[0]


def _number(value: object) -> str:
    """ok and errno, numbers or text, as text; "" for all else."""
    return str(int(value)) if isinstance(value, int) else value if isinstance(value, str) else ""


def _is_bare(data: object) -> bool:
    """No cards, or nothing at all."""
    return not (data.get("cards") if isinstance(data, dict) and "cards" in data else data)

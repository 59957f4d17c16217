"""The signatures by which the site says no, nothing or gone (weibo_api.md, "Refusals").

A refusal is known by any sign of it: to take it for one costs a little time. A fact needs its whole
signature: the words alone in `msg`, in an envelope without unknown keys or numbers.
"""

import re
from typing import Any
from urllib.parse import unquote

from weibo_crawler.records import ECHO_LISTS, Kind, Verdict
from weibo_crawler.sites.weibo.cursors import read_token

NO_CONTENT = "这里还没有内容"
_NOBODY = {Kind.REPOSTS: "还没有人转发过"}  # the same, where nobody did what is asked for

_REFUSED_BY_ERRNO = {
    "100001": Verdict.SERVER_TROUBLE,
    "100005": Verdict.THROTTLED,
    "100006": Verdict.REFUSED,
}
_REFUSED_BY_WORDS = (
    ("验证码", Verdict.CAPTCHA),
    ("安全验证", Verdict.CAPTCHA),
    ("人机验证", Verdict.CAPTCHA),
    ("完成验证", Verdict.CAPTCHA),
    ("频繁", Verdict.THROTTLED),
    ("频率过高", Verdict.THROTTLED),
    ("频次过高", Verdict.THROTTLED),
    ("请求非法", Verdict.REFUSED),
    ("服务器走丢了", Verdict.SERVER_TROUBLE),
    ("网络繁忙", Verdict.SERVER_TROUBLE),
)
_OF_A_POST = (Kind.EXTEND, Kind.SHOW, Kind.DETAIL, *(one.kind for one in ECHO_LISTS))
_NO_USER, _NO_POST = "20003", "20101"
# beside other words 20003 is no signature
_SAYS_NO_USER = re.compile("用户.{0,6}不存在|user .{0,9}not exist", re.IGNORECASE)
_RESTRICTED = ("20112", "20174", "20170")
_USER_GONE = re.compile(r"(?:抱歉[，,])?(?:该|此)?用户不存在[。!！]?")
_POST_GONE = re.compile(r"(?:抱歉[，,])?(?:该|此)?(?:条)?微博(?:不存在|已被(?:作者)?删除)[。!！]?")
_HIDDEN = re.compile(r"查看权限|暂不可见|客户端")
_OF_THE_APP = re.compile(r"版本|升级|异常|稍后")  # words about it, not about a post or user
# sentences on the HTML page of a post that is not shown
_HIDDEN_PAGE = re.compile(
    "由于博主设置，目前内容暂不可见|微博不存在或暂无查看权限|你暂时没有这条微博的查看权限"
)
_KNOWN_KEYS = {"ok", "msg", "errno", "data", "extra", "error_type"}

_LOGIN_HOST = re.compile(r"(?:[\w-]+\.)*passport\.weibo\.(?:com|cn)|login\.sina\.com\.cn", re.ASCII)
_OWN_HOST = re.compile(r"(?:[\w-]+\.)*(?:weibo\.cn|weibo\.com|sina\.cn|sina\.com\.cn)", re.ASCII)
_LOGIN_PATH = re.compile(r"/(?:visitor/visitor|sso/signin)/?")
_CAPTCHA_HOST = re.compile(
    r"captcha[\w-]*\.(?:weibo\.cn|weibo\.com|sina\.cn|sina\.com\.cn)|(?:[\w-]+\.)*geetest\.com",
    re.ASCII,
)
# below /n/, /u/ and /p/ stand names of people and pages
_CAPTCHA_PATH = re.compile(
    r"/+(?!(?:n|u|p)/)(?:[\w.-]+/+)*(?:captcha|geetest)[\w.-]*(?:/.*)?", re.IGNORECASE
)


def of_place(host: str, path: str, *, is_own: bool) -> Verdict | None:
    """What an address of the site asks of its reader. is_own: on the host that was asked."""
    host, path = host.removesuffix("."), unquote(path)
    is_own = is_own or _OWN_HOST.fullmatch(host) is not None
    if _CAPTCHA_HOST.fullmatch(host) or (is_own and _CAPTCHA_PATH.fullmatch(path)):
        return Verdict.CAPTCHA
    if _LOGIN_HOST.fullmatch(host) or (is_own and _LOGIN_PATH.fullmatch(path)):
        return Verdict.LOGIN_WALL
    return None


def refusal_in(errno: str, words: str) -> Verdict | None:
    """The refusal that a number or some words mean; None for those that mean none."""
    by_words = (verdict for key, verdict in _REFUSED_BY_WORDS if key in words)
    return _REFUSED_BY_ERRNO.get(errno) or next(by_words, None)


def fact_in(said: dict[str, Any], errno: str, words: str, kind: Kind) -> Verdict | None:
    """The fact that an answer with `ok: 0` states: EMPTY for nothing, on whatever page; or None."""
    other = said.get("error_code")  # of the envelope in which alone 20170 was seen
    code = errno or (str(other) if isinstance(other, int | str) else "")
    if code in _RESTRICTED and kind in _OF_A_POST:
        return Verdict.RESTRICTED
    if not said.keys() <= _KNOWN_KEYS or errno not in ("", "0", _NO_USER, _NO_POST):
        return None
    is_bare = _is_bare(said.get("data"))
    if words in (NO_CONTENT, _NOBODY.get(kind)):
        beside = said.get("extra") or said.get("error_type") or _complaints(said.get("data"))
        is_nothing = errno in ("", "0") and is_bare and not beside
        return Verdict.EMPTY if is_nothing and type(said["ok"]) is int else None
    if not is_bare:
        return None
    if errno == _NO_USER:
        is_said = _SAYS_NO_USER.search(words) and not _OF_THE_APP.search(words)
        return Verdict.GONE if is_said or not words else None
    if errno == _NO_POST:
        return Verdict.GONE if kind in _OF_A_POST else None
    return _of_words(words, kind)


def fact_of_notice(words: str, kind: Kind) -> Verdict | None:
    """The fact that the site's error page states."""
    return Verdict.EMPTY if words == "暂无数据" else _of_words(words, kind)


def restriction_in(html: str, kind: Kind) -> str:
    """What an HTML page says of a post that may not be seen; "" where it says nothing."""
    match = _HIDDEN_PAGE.search(html) if kind in _OF_A_POST else None
    return match[0] if match else ""


def _of_words(words: str, kind: Kind) -> Verdict | None:
    if kind in _OF_A_POST and _HIDDEN.search(words) and not _OF_THE_APP.search(words):
        return Verdict.RESTRICTED
    if _USER_GONE.fullmatch(words) or (kind in _OF_A_POST and _POST_GONE.fullmatch(words)):
        return Verdict.GONE
    return None


def is_complaint(key: str) -> bool:
    """Whether a key holds the number or the words of a refusal; no page of the site has such."""
    return key.startswith(("err", "msg", "message", "tip")) and key != "error_type"


def _complaints(data: object) -> bool:
    return isinstance(data, dict) and any(data[key] for key in filter(is_complaint, data))


def _is_bare(data: object) -> bool:
    """Nothing, or a list page without cards that names no next page; no page of a user."""
    if not isinstance(data, dict):
        return data is None or data == []
    if data.get("userInfo"):
        return False
    info = data.get("cardlistInfo")
    tokens = [info.get("since_id"), info.get("page")] if isinstance(info, dict) else []
    return not data.get("cards") and all(read_token(token) == (None, False) for token in tokens)

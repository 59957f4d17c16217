"""Answers of the site in which all people are strangers: what is sent to a developer. Pure.

The shape stays: keys, types, lengths, punctuation, tags, numbers of up to three digits, and the
words by which readers know the site. All other words, names and numbers become invented ones of the
same length, the same ones each time, also within addresses. Dates and ids of posts, which hold a
time, go back by the same number of weeks, and so does the time of the fetch. It works on the text,
so broken JSON and HTML keep their form.
"""

import hmac
import json
import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from hashlib import sha256
from urllib.parse import quote, unquote

from weibo_crawler.records import Kind, Page, Request
from weibo_crawler.sites.weibo import signs
from weibo_crawler.sites.weibo.bid import bid_of, mid_of_bid
from weibo_crawler.sites.weibo.dates import MONTHS

_WEEK_S = 7 * 86_400
_ZONE = timezone(timedelta(hours=8))  # of the site's clock
_MID_BITS = 22  # of a mid, below its second
_MIDS = range(3 * 10**15, 10**16)  # those of any post; bids are made of them

_PHRASES = (  # what readers look for in titles, texts and dates
    *("全部粉丝", "全部关注", "推荐", "感兴趣", "全文", "展开", "次播放", "发布于", "来自"),
    *("粉丝", "置顶", "刚刚", "半小时前", "小时前", "分钟前", "秒前", "天前", "周前", "月前"),
    *("昨天", "今天", "前天", "万", "亿", "所在地", "注册时间", "生日", "性别", "昵称", "简介"),
    *("备注", "Tap to set alias", "微博-出错了", "Sina Visitor System"),
)
_WHOLE = ("男", "女", "m", "f")  # as a whole text only
_CONTAINERS = "2310510033|2310510024|231051|107603|100505|100808|230413|230283|100103|231522"
_SEARCH = re.compile(r"((?:100103|231522)type(?:=|%3D)\d+(?:&|%26)(?:.*(?:&|%26))?q(?:=|%3D))(.*)")
HOSTS = re.compile(
    r"(?:[\w-]+\.)*(?:weibo\.(?:cn|com)|sina\.(?:cn|com\.cn)|sinaimg\.cn|weibocdn\.com|geetest\.com)"
    r"(?::\d+)?",
    re.ASCII,
)
_PATHS = frozenset(
    (
        *("u", "n", "p", "k", "v", "status", "statuses", "detail", "profile", "api", "container"),
        *("getIndex", "comments", "hotflow", "repostTimeline", "extend", "show"),
        *("visitor", "genvisitor2", "sso", "signin", "captcha", "geetest", "search"),
    )
)
_ENDING = re.compile(r"\.(?:jpe?g|png|gif|webp|mp4|html?|php|js|css)$")
# keys, and names of attributes and arguments, under which the site writes words of its own
_TYPED = re.compile(
    "(?:.*_)?type(?:_id)?|.*[a-z]type|itemid|containerid|tabKey|class|rel|lang|charset|entry|scene"
)
_SAID = re.compile("(?:msg|message|err|extra|url|tip).*")  # of a refusal, at the top of the answer
_ESCAPED = re.compile(r"(%(?:25)*)[89A-F][0-9A-F](?:\1[89A-F][0-9A-F])+", re.IGNORECASE)
_CODES = re.compile("ok|errno|error_code|retcode|card_type")

_TOKEN = re.compile(
    r"""[{}\[\]]|"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?|(?<![\w.])-?\d++(?:\.\d++)?""", re.DOTALL
)
_COLON = re.compile(r"\s*:")
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)
_SCRIPT = re.compile(r"(<script\b[^>]*>)(.*?)(</script>|\Z)", re.DOTALL | re.IGNORECASE)
_NOTICE = re.compile(r"h5-4con[^>]*>[^<]*")
_ATTRIBUTE = re.compile(r"""([\w:-]+)(\s*=\s*["']?)([^"'<>]*)""")
_BID = re.compile(r"[0-9A-Za-z]{9}", re.ASCII)
_FULL_DATE = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d?)( .* )(\d{4})", re.ASCII)
_DATE = re.compile(
    r"(?:(\d{4})([-/.年]))?(\d\d?)([-/月]|(?<=\.\d\d)\.)(\d\d?)(日?(?: +\d\d?:\d\d(?::\d\d)?)?)",
    re.ASCII,
)
_PART = re.compile(
    r"(?P<tag></?[a-zA-Z!][^<>]*+>?)"
    r"|(?P<entity>&#?\w{1,10};)"
    r"|(?P<address>(?:[a-z][a-z0-9+.-]*+:)?//[^\s\"'<>]++)"
    r"|(?P<day>(?<!\d)(?:19|20)\d\d-\d\d-\d\d(?!\d))"
    rf"|(?P<phrase>{'|'.join(_PHRASES)})"
    r"|(?P<number>\d{4,})"
    r"|(?P<word>[^\W\d_]+)"
)
_LETTERS = (
    ("a", "z", "abcdefghijklmnopqrstuvwxyz"),
    ("A", "Z", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ("0", "9", "0123456789"),
    ("\u3040", "\u30ff", "あいうえおかきくけこさしすせそ"),
    ("\uac00", "\ud7a3", "가나다라마바사아자차카타파하"),
)
_OTHERS = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥天地玄黄宇宙洪荒日月盈昃辰宿列张"


class Strangers:
    """secret: what the invented words hang on, forgotten after use. hosts: what stands for the
    addresses of the site that was asked, as text."""

    def __init__(self, secret: bytes, hosts: Mapping[str, str]) -> None:
        self._secret, self._hosts = secret, hosts
        self._weeks = 1 + self._dice("weeks", 1)[0] % 52
        self._now = 0.0

    def of(self, request: Request, page: Page) -> tuple[Request, Page]:
        """The same question and the same answer, about strangers. Of the headers, those that are
        read."""
        self._now = page.fetched_at
        url = self._address(self._named(request.url))
        asked = Request(
            *(request.kind, url, int(self._number(str(request.uid)))),
            mid=int(self._number(str(request.mid))),
            cursor=self._cursor(request.cursor),
            method=request.method,
        )
        text = self._named(page.body.decode("utf-8", "surrogateescape"))
        is_html = text.lstrip()[:1] == "<"
        body = self._html(text, request.kind) if is_html else self._json(text)
        headers = tuple(
            (name, self._cookie(value) if name == "set-cookie" else self._address(value))
            for name, value in page.headers
            if name in ("location", "set-cookie")
        )
        at = page.fetched_at - self._weeks * _WEEK_S
        return asked, Page(url, page.status, headers, body.encode("utf-8", "surrogateescape"), at)

    def _cursor(self, cursor: str) -> str:
        """What the page before names, behind the name of the argument."""
        name, mark, token = cursor.rpartition("=")
        return name + mark + self._text(token)

    def _named(self, text: str) -> str:
        for own, other in self._hosts.items():
            text = text.replace(own, other)
        return text

    # -- forms

    def _json(self, text: str) -> str:
        out, keys, at = [], [""], 0
        for match in _TOKEN.finditer(text):
            token = match[0]
            out.append(text[at : match.start()])
            at = match.end()
            if token in "{[":
                keys.append(keys[-1] if token == "[" else "")
            elif token in "}]":
                del keys[max(1, len(keys) - 1) :]
            elif token[0] in "\"'":
                is_key = _COLON.match(text, at) is not None
                if is_key:
                    keys[-1] = token.strip("\"'")
                is_top = len(keys) == 2
                token = self._literal(
                    token, "" if is_key else keys[-1], is_key=is_key, is_top=is_top
                )
            elif not _CODES.fullmatch(keys[-1]):
                token = re.sub(r"\d{4,}", lambda digits: self._number(digits[0]), token)
            out.append(token)
        return "".join(out) + text[at:]

    def _literal(self, token: str, key: str, *, is_key: bool, is_top: bool) -> str:
        """A text between quotes, the last of which may be missing."""
        mark = token[0]
        end = mark if len(token) > 1 and token[-1] == mark else ""
        inner = token[1 : len(token) - len(end)]
        try:
            said = json.loads(f'"{inner}"', strict=False) if mark == '"' else inner
        except ValueError:
            said = inner
        if is_key:
            new = said if _PLAIN_KEY.fullmatch(said) else self._text(said)
        else:
            new = self._text(said, key, is_top=is_top)
        if new == said:
            return token
        if mark == '"' and said != inner:
            new = json.dumps(new, ensure_ascii="\\u" in inner)[1:-1]
            new = new.replace("/", "\\/") if "\\/" in inner else new
        return mark + new + end

    def _html(self, text: str, kind: Kind) -> str:
        """A page: its notice is the site's own, its scripts hold data."""
        if signs.restriction_in(text, kind):
            return text if "$render_data" not in text else self._json(text)
        out, at = [], 0
        for script in _SCRIPT.finditer(text):
            out += [self._markup(text[at : script.start()]), self._text(script[1])]
            out += [self._json(script[2]), script[3]]
            at = script.end()
        return "".join(out) + self._markup(text[at:])

    def _markup(self, text: str) -> str:
        at, out = 0, []
        for notice in _NOTICE.finditer(text):
            out += [self._text(text[at : notice.start()]), notice[0]]
            at = notice.end()
        return "".join(out) + self._text(text[at:])

    # -- texts

    def _text(self, text: str, key: str = "", *, is_top: bool = False) -> str:
        """Any text. key: what it stands under; is_top: at the top of an answer."""
        if text.strip() in _WHOLE or _CODES.fullmatch(key):
            return text
        if _TYPED.fullmatch(key) and (searched := _SEARCH.fullmatch(text)):
            return searched[1] + self._quoted(searched[2])
        if (is_top and _SAID.fullmatch(key)) or (text.isascii() and _TYPED.fullmatch(key)):
            text = _ESCAPED.sub(self._escaped, text)
            numbers = rf"%(?:25)*[0-9A-F]{{2}}|(?:{_CONTAINERS})|\d{{5,}}"
            return re.sub(numbers, self._digits_of_site, text)
        if key == "bid" and _BID.fullmatch(text):
            return self._bid(text)
        if dated := _FULL_DATE.fullmatch(text):
            return self._full_date(dated)
        if dated := _DATE.fullmatch(text):
            return self._date(dated)
        return self._in_parts(text)

    def _in_parts(self, text: str) -> str:
        at, out = 0, []
        for part in _PART.finditer(text):
            out += [text[at : part.start()], self._part(part)]
            at = part.end()
        return "".join(out) + text[at:]

    def _part(self, part: re.Match[str]) -> str:
        match part.lastgroup:
            case "tag":
                return _ATTRIBUTE.sub(self._attribute, part[0])
            case "address":
                return self._address(part[0])
            case "day":
                return self._day(part[0])
            case "number":
                return re.sub(rf"^(?:{_CONTAINERS})|\d{{4,}}", self._digits_of_site, part[0])
            case "word":
                return self._word(part[0])
        return part[0]

    def _attribute(self, found: re.Match[str]) -> str:
        name, mark, value = found[1], found[2], found[3]
        if _TYPED.fullmatch(name):
            return found[0]
        is_address = value.startswith("/") or "://" in value
        return name + mark + (self._address(value) if is_address else self._text(value))

    def _address(self, address: str) -> str:
        """Its host where that is the site's, its known words, and the names of its arguments."""
        place, mark, arguments = address.partition("?")
        scheme, slashes, rest = place.rpartition("//") if "//" in place else ("", "", place)
        host, slash, path = rest.partition("/") if slashes else ("", "", rest)
        if host and not HOSTS.fullmatch(host):
            host = self._in_parts(host)
        parts = [self._path_part(part) for part in path.split("/")]
        pairs = [self._argument(*pair.partition("=")) for pair in arguments.split("&")]
        return f"{scheme}{slashes}{host}{slash}{'/'.join(parts)}{mark}{'&'.join(pairs)}"

    def _path_part(self, part: str) -> str:
        if part in _PATHS:
            return part
        if _BID.fullmatch(part):
            return self._bid(part)
        ending = _ENDING.search(part)
        name, end = (part[: ending.start()], ending[0]) if ending else (part, "")
        return self._quoted(name) + end

    def _argument(self, name: str, mark: str, value: str) -> str:
        if _TYPED.fullmatch(name):
            return name + mark + self._text(value, name)
        if _BID.fullmatch(value):
            return name + mark + self._bid(value)
        return name + mark + self._quoted(value)

    def _quoted(self, text: str) -> str:
        plain = unquote(text)
        new = self._in_parts(plain)
        return quote(new, safe="") if plain != text else new

    def _escaped(self, found: re.Match[str]) -> str:
        """Words within an address that is quoted within others."""
        plain = unquote(found[0].replace(found[1], "%"))
        return quote(self._in_parts(plain), safe="").replace("%", found[1])

    def _cookie(self, value: str) -> str:
        pair, mark, rest = value.partition(";")
        name, sign, secret = pair.partition("=")
        return name + sign + self._word(secret) + mark + rest

    # -- words, numbers, dates

    def _dice(self, said: str, n: int) -> bytes:
        out = b""
        while len(out) < n:
            out += hmac.digest(self._secret, f"{len(out)}:{said}".encode(errors="replace"), sha256)
        return out

    def _word(self, word: str) -> str:
        dice = self._dice(word, len(word))
        return "".join(
            next(
                (these[die % len(these)] for first, last, these in _LETTERS if first <= c <= last),
                _OTHERS[die % len(_OTHERS)] if c.isalpha() else c,
            )
            for c, die in zip(word, dice, strict=False)
        )

    def _digits_of_site(self, found: re.Match[str]) -> str:
        is_known = found[0].startswith("%") or re.fullmatch(_CONTAINERS, found[0])
        return found[0] if is_known else self._number(found[0])

    def _number(self, digits: str) -> str:
        """As long, and about as large; short ones say nothing of anybody."""
        if len(digits) < 4:
            return digits
        if int(digits) in _MIDS:
            return str(self._mid(int(digits)))
        return digits[0] + self._word(digits)[1:]

    def _mid(self, mid: int) -> int:
        low = int.from_bytes(self._dice(str(mid), 4)) % (1 << _MID_BITS)
        return ((mid >> _MID_BITS) - self._weeks * _WEEK_S) << _MID_BITS | low

    def _bid(self, bid: str) -> str:
        mid = mid_of_bid(bid)
        return bid_of(self._mid(mid)) if mid in _MIDS else self._word(bid)

    def _full_date(self, said: re.Match[str]) -> str:
        try:
            day = date(int(said[4]), MONTHS[said[1]], int(said[2])) - timedelta(weeks=self._weeks)
        except (KeyError, ValueError, OverflowError):
            return self._in_parts(said[0])
        month = next(name for name, number in MONTHS.items() if number == day.month)
        return f"{said[0][:4]}{month} {day.day:02}{said[3]}{day.year}"

    def _date(self, said: re.Match[str]) -> str:
        """With its year or without, in digits."""
        today = datetime.fromtimestamp(self._now, _ZONE).date()
        years = (int(said[1]),) if said[1] else (today.year, today.year - 1)
        for year in years:
            try:
                day = date(year, int(said[3]), int(said[5]))
            except ValueError:
                continue
            if said[1] or day <= today + timedelta(days=1):
                day -= timedelta(weeks=self._weeks)
                first = f"{day.year}{said[2]}" if said[1] else ""
                parts = (f"{day.month:0{len(said[3])}}", said[4], f"{day.day:0{len(said[5])}}")
                return first + "".join(parts) + said[6]
        return said[0]

    def _day(self, said: str) -> str:
        try:
            return str(date.fromisoformat(said) - timedelta(weeks=self._weeks))
        except ValueError:
            return said

"""From the site's HTML to what a reader sees.

Regular expressions, not a DOM: the HTML of posts is flat. Every pattern is linear in the length
of the text (no part of a tag is scanned twice), as a hostile body must not hang a crawl.
"""

import re
from html import unescape
from urllib.parse import unquote

# to the end of a tag, which is no `>` in a value between quotes
_REST = r"""((?:[^<>=]++|=\s*+(?:"[^<"]*+"|'[^<']*+')?+)*+)>"""
_LINK_TO_WHOLE = re.compile(rf"<a\b{_REST}全文</a>")
_CLOSING_LINK = re.compile(rf"<a\b{_REST}[^<>]{{1,20}}</a>\s*+")
_TO_POST = re.compile(r"/(?:status|detail)/[0-9A-Za-z]")  # links that people make hold a <span>
_SAYS_CUT = re.compile(r"(?:\.{3}|…)\s*+((?:展开|查看|阅读)?全文|展开)$")  # by a button
_BREAK = re.compile(r"<br\s*+/?>", re.IGNORECASE)
_IMAGE = re.compile(rf"<img\b{_REST}", re.IGNORECASE)
_ALT = re.compile(r"""\salt=(?:"([^"]*)"|'([^']*)'|([^\s"'/]\S*?)(?=\s|/?$))""", re.IGNORECASE)
_TAG = re.compile(rf"<[a-zA-Z/!]{_REST}")
_ENDLESS_REFERENCE = re.compile(r"&#[0-9]{9,};?")
_MENTION = re.compile(r"""\shref=["']?(?:https?:)?(?://[\w.]++)?/n/([^\s"'<>?#]++)""")
_TOPIC = re.compile(r">#([^<>#]++)#</span></a>")
# the page of a super topic, which its link leads to; the text of the link has no signs
_SUPER_TOPIC_PAGE = "containerid=100808"
_SUPER_TOPIC = re.compile(
    _SUPER_TOPIC_PAGE + r"[^<>]*+>(?:<span[^<>]*+><img[^<>]*+></span>)?<span[^<>]*+>([^<]++)<"
)
_LONGEST_TOPIC = 200  # characters; the site's own limit is 32
_LONGEST_NAME = 60  # characters; the site's own limit is half of it
_LONGEST_REMARK = 5_000  # a description, a reason, an address: far above what is shown
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def reader_text(html: str) -> tuple[str, bool]:
    """The text a reader sees, and whether it is cut: it has the link 全文 to the whole, or ends in
    a link to a page of the site for one post, whatever its word, or in the words of a button.

    Tags are removed, <br> is a newline, an emoticon its alt text; entities are unescaped after
    that, so a literal `&lt;b&gt;` stays. The link to the whole is left out, the text before it is
    kept as it is.
    """
    is_cut = False
    if "<" in html:
        if "全文</a>" in html:
            whole = _LINK_TO_WHOLE.sub(_without_link, html)
            is_cut, html = whole != html, whole
        if html.endswith("</a>", 0, len(html.rstrip())):
            closing = _CLOSING_LINK.fullmatch(html, html.rfind("<a"))
            if closing is not None and _TO_POST.search(closing[1]):
                is_cut, html = True, html[: closing.start()]
        html = _BREAK.sub("\n", html)
        html = _IMAGE.sub(_alt_text, html)
        html = _TAG.sub("", html)
    if "&" in html:
        # int() refuses numbers of thousands of digits; a code point has seven.
        html = unescape(_ENDLESS_REFERENCE.sub("\ufffd", html))
    text = writable(html).strip()
    if text.endswith(("全文", "展开")) and (says := _SAYS_CUT.search(text)):
        return text[: says.start(1)].rstrip(), True
    return text, is_cut


def mentions(html: str) -> tuple[str, ...]:
    """The screen names that a text links to (`<a href='/n/name'>`), in its order, each once."""
    if "/n/" not in html:
        return ()
    found = (unquote(unescape(name)) for name in _MENTION.findall(html))
    return tuple(dict.fromkeys(name for name in map(read_name, found) if name is not None))


def topics(html: str) -> tuple[str, ...]:
    """The topics that a text links to, each once: `#…#` without its signs, then super topics."""
    if "surl-text" not in html:
        return ()
    found = _TOPIC.findall(html)
    if _SUPER_TOPIC_PAGE in html:
        found += _SUPER_TOPIC.findall(html)
    return tuple(
        dict.fromkeys(writable(unescape(name)) for name in found if len(name) <= _LONGEST_TOPIC)
    )


def read_name(value: object) -> str | None:
    """A screen name; None for what is none, longer than any, or garbled on its way."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or "\ufffd" in value:
        return None
    return writable(value)


def read_remark(value: object) -> str | None:
    """What people or the site say of somebody, as it stands; None for what is no text."""
    return writable(value) if isinstance(value, str) and len(value) <= _LONGEST_REMARK else None


def writable(text: str) -> str:
    """NULs and lone surrogates replaced: what any store and UTF-8 can hold."""
    if text.isprintable():  # a quick scan that most texts pass; neither of the two is printable
        return text
    return _UNWRITABLE.sub("\ufffd", text)


def _without_link(match: re.Match[str]) -> str:
    return "" if "/status/" in match[1] else match[0]


def _alt_text(match: re.Match[str]) -> str:
    alt = _ALT.search(match[1])
    return (alt[1] or alt[2] or alt[3] or "") if alt else ""

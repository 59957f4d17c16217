"""What people write: the HTML of the site and the text a reader sees, made side by side.

Nothing is converted from one to the other, so the truth does not share a parser's mistakes.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple
from urllib.parse import quote

from weibo_crawler.simulator import lexicon

CUT_AFTER = 140  # characters a list shows of a long post, about


class Piece(NamedTuple):
    """The same words twice: as the site's HTML, and as a reader sees them."""

    html: str
    text: str


class Writing(NamedTuple):
    """A whole post. cut: the HTML that lists show of a long one, None where they show it all."""

    html: str
    text: str
    cut: str | None


def compose(rng: Random, names: Sequence[str], mid: int, *, long: bool) -> Writing:
    """A post of a few pieces, or a long one. names: whom it may mention."""
    pieces = [_words(rng)]
    length = len(pieces[0].text)
    for _ in range(rng.randrange(1, 5) if not long else 200):
        if long and length > CUT_AFTER * 2:
            break
        piece = _words(rng) if rng.random() < 0.6 else rng.choice(_DECORATIONS)(rng, names)
        pieces.append(piece)
        length += len(piece.text)
    pieces.append(_words(rng))
    return Writing(*_join(pieces), _cut(pieces, mid) if long else None)


def retweet(rng: Random, names: Sequence[str]) -> Writing:
    """What people write over a post of another: the stock words, a few own, or a chain."""
    kind = rng.random()
    if kind < 0.3:
        return Writing("转发微博", "转发微博", None)
    pieces = [_words(rng)]
    if kind < 0.6:
        pieces += [Piece("//", "//"), _mention(rng, names), Piece(":", ":"), _words(rng)]
    return Writing(*_join(pieces), None)


def _join(pieces: Sequence[Piece]) -> Piece:
    return Piece("".join(p.html for p in pieces), "".join(p.text for p in pieces))


def _cut(pieces: Sequence[Piece], mid: int) -> str:
    """The start of a post with the site's link to the whole (WEIBO_API: text ending in 全文)."""
    shown, length = [], 0
    for piece in pieces:
        shown.append(piece.html)
        length += len(piece.text)
        if length >= CUT_AFTER:
            break
    return "".join(shown) + f' ...<a href="/status/{mid}">全文</a>'


def _words(rng: Random) -> Piece:
    words = rng.choice(lexicon.PHRASES) + rng.choice(lexicon.MARKS).strip()
    return Piece(words, words)


def _emoticon(rng: Random, names: Sequence[str]) -> Piece:
    alt, picture = rng.choice(lexicon.EMOTICONS)
    source = f"https://h5.sinaimg.cn/m/emoticon/icon/default/{picture}.png"
    image = f'<img alt={alt} src="{source}" style="width:1em; height:1em;" />'
    return Piece(f'<span class="url-icon">{image}</span>', alt)


def _topic(rng: Random, names: Sequence[str]) -> Piece:
    topic = f"#{rng.choice(lexicon.TOPICS)}#"
    address = "https://m.weibo.cn/search?containerid=231522type%3D1%26t%3D10%26q%3D" + quote(topic)
    inner = f'<span class="surl-text">{topic}</span>'
    return Piece(f'<a  href="{address}&isnewpage=1" data-hide="">{inner}</a>', topic)


def _mention(rng: Random, names: Sequence[str]) -> Piece:
    name = rng.choice(names)
    return Piece(f"<a href='/n/{name}'>@{name}</a>", f"@{name}")


def _link(rng: Random, names: Sequence[str]) -> Piece:
    address = f"http://t.cn/A{rng.randrange(36**6):06x}"
    icon = "https://h5.sinaimg.cn/upload/2015/09/25/3/timeline_card_small_web_default.png"
    image = f"<span class='url-icon'><img style='width: 1rem;height: 1rem' src='{icon}'></span>"
    inner = f'{image}<span class="surl-text">网页链接</span>'
    return Piece(f'<a data-url="{address}" href="{address}" data-hide="">{inner}</a>', "网页链接")


def _line(rng: Random, names: Sequence[str]) -> Piece:
    count = rng.choice((1, 1, 2))
    return Piece("<br />" * count, "\n" * count)


def _escaped(rng: Random, names: Sequence[str]) -> Piece:
    return Piece(*rng.choice(lexicon.ESCAPED))


_DECORATIONS: tuple[Callable[[Random, Sequence[str]], Piece], ...] = (
    _emoticon,
    _topic,
    _mention,
    _link,
    _line,
    _escaped,
)

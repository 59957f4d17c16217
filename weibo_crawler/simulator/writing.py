"""What people write: the HTML of the site and the text a reader sees, made side by side.

Nothing is converted from one to the other, so the truth does not share a parser's mistakes.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from weibo_crawler.simulator import lexicon

_T = TypeVar("_T")
CUT_AFTER = 140  # characters a list shows of a long post, about


class Piece(NamedTuple):
    """The same words twice: as the site's HTML, and as a reader sees them. topics, mentions: whom
    and what they name, each once."""

    html: str
    text: str
    topics: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()


class Writing(NamedTuple):
    """A whole post. cut: the HTML that lists show of a long one, None where they show it all."""

    html: str
    text: str
    cut: str | None
    topics: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()


Name = Callable[[int], str]  # any number -> the name of somebody a post may mention


def compose(rng: Random, name: Name, mid: int, *, long: bool) -> Writing:
    """A post of a few pieces, or a long one of at least twice what lists show."""
    pieces = [_pick(rng, _SENTENCES)]
    length = 0
    for _ in range(200 if long else 1 + int(rng.random() * 4)):
        if length > CUT_AFTER * 2:
            break
        if rng.random() < 0.6:
            piece = _pick(rng, _PARAGRAPHS if long else _SENTENCES)
        else:
            piece = _pick(rng, _DECORATIONS)(rng, name)
        pieces.append(piece)
        length += len(piece.text)
    pieces.append(_pick(rng, _SENTENCES))
    return _whole(pieces, _cut(pieces, mid) if long else None)


def retweet(rng: Random, name: Name) -> Writing:
    """What people write over a post of another: the stock words, a few own, or a chain."""
    kind = rng.random()
    if kind < 0.3:
        return Writing("转发微博", "转发微博", None)
    pieces = [_pick(rng, _SENTENCES)]
    if kind < 0.6:
        colon = Piece(":", ":")
        pieces += [Piece("//", "//"), _mention(rng, name), colon, _pick(rng, _SENTENCES)]
    return _whole(pieces, None)


def _whole(pieces: Sequence[Piece], cut: str | None) -> Writing:
    post = _join(pieces)
    return Writing(post.html, post.text, cut, post.topics, post.mentions)


def _pick(rng: Random, pool: Sequence[_T]) -> _T:
    return pool[int(rng.random() * len(pool))]  # a third of the time of rng.choice


def _join(pieces: Sequence[Piece]) -> Piece:
    return Piece(
        "".join(p.html for p in pieces),
        "".join(p.text for p in pieces),
        tuple(dict.fromkeys(topic for p in pieces for topic in p.topics)),
        tuple(dict.fromkeys(name for p in pieces for name in p.mentions)),
    )


def _cut(pieces: Sequence[Piece], mid: int) -> str:
    """The start of a post with the site's link to the whole (weibo_api.md: text ending in 全文)."""
    shown, length = [], 0
    for piece in pieces:
        shown.append(piece.html)
        length += len(piece.text)
        if length >= CUT_AFTER:
            break
    return "".join(shown) + f' ...<a href="/status/{mid}">全文</a>'


def _sentences() -> tuple[Piece, ...]:
    spoken = [phrase + mark for phrase in lexicon.PHRASES for mark in lexicon.MARKS]
    return tuple(Piece(words, words) for words in spoken)


def _paragraphs(sentences: Sequence[Piece]) -> tuple[Piece, ...]:
    step = len(lexicon.MARKS) + 2  # so that neighbours differ in phrase and in mark
    return tuple(
        _join([sentences[(n + step * k) % len(sentences)] for k in range(4)])
        for n in range(len(sentences))
    )


def _emoticon(rng: Random, name: Name) -> Piece:
    alt, picture = _pick(rng, lexicon.EMOTICONS)
    source = f"https://h5.sinaimg.cn/m/emoticon/icon/default/{picture}.png"
    image = f'<img alt={alt} src="{source}" style="width:1em; height:1em;" />'
    return Piece(f'<span class="url-icon">{image}</span>', alt)


def _topics() -> tuple[Piece, ...]:
    search = "https://m.weibo.cn/search?containerid=231522type%3D1%26t%3D10%26q%3D"
    pieces = []
    for words in lexicon.TOPICS:
        topic = f"#{words}#"
        inner = f'<span class="surl-text">{topic}</span>'
        start = f'<a  href="{search}{quote(topic)}&isnewpage=1" data-hide="">'
        pieces.append(Piece(f"{start}{inner}</a>", topic, topics=(words,)))
    pieces.append(_super_topic(lexicon.SUPER_TOPIC))
    return tuple(pieces)


def _super_topic(words: str) -> Piece:
    """A link without signs to the topic's own page, as recorded in 2019."""
    page = "https://m.weibo.cn/p/index?containerid=10080811d6e5c3b8641062e9ae6b7b26604ba5"
    icon = "https://n.sinaimg.cn/photo/5213b46e/20181127/timeline_card_small_super_default.png"
    image = f"<span class='url-icon'><img style='width: 1rem;height: 1rem' src='{icon}'></span>"
    inner = f'{image}<span class="surl-text">{words}</span>'
    html = f'<a  href="{page}&extparam={quote(words)}" data-hide="">{inner}</a>'
    return Piece(html, words, topics=(words,))


def _mention(rng: Random, name: Name) -> Piece:
    who = name(rng.getrandbits(22))
    return Piece(f"<a href='/n/{who}'>@{who}</a>", f"@{who}", mentions=(who,))


def _link(rng: Random, name: Name) -> Piece:
    address = f"http://t.cn/A{rng.getrandbits(30):08x}"
    icon = "https://h5.sinaimg.cn/upload/2015/09/25/3/timeline_card_small_web_default.png"
    image = f"<span class='url-icon'><img style='width: 1rem;height: 1rem' src='{icon}'></span>"
    inner = f'{image}<span class="surl-text">网页链接</span>'
    return Piece(f'<a data-url="{address}" href="{address}" data-hide="">{inner}</a>', "网页链接")


def _line(rng: Random, name: Name) -> Piece:
    count = 2 if rng.random() < 0.3 else 1
    return Piece("<br />" * count, "\n" * count)


_SENTENCES = _sentences()
_PARAGRAPHS = _paragraphs(_SENTENCES)
_TOPICS = _topics()
_ESCAPED = tuple(Piece(*pair) for pair in lexicon.ESCAPED)
_DECORATIONS: tuple[Callable[[Random, Name], Piece], ...] = (
    *(_emoticon, lambda rng, _: _pick(rng, _TOPICS), _mention, _link, _line),
    lambda rng, _: _pick(rng, _ESCAPED),
)

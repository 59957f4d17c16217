"""Posts as written: the HTML and the text a reader sees say the same."""

from html.parser import HTMLParser
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.simulator.writing import CUT_AFTER, compose, retweet

LINK = ' ...<a href="/status/4000000000000001">全文</a>'


class Reader(HTMLParser):
    """What a reader sees: tags removed, br a newline, images as their alt text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen = ""

    def handle_data(self, data: str) -> None:
        self.seen += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen += "\n" if tag == "br" else dict(attrs).get("alt") or ""


def read(html: str) -> str:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader.seen


def name(number: int) -> str:
    return f"Kumo{number}"


@given(st.integers(0, 2**32), st.booleans())
def test_html_and_text_agree(seed: int, long: bool) -> None:
    """A standards-abiding reader of the HTML sees the text; no white space at its ends."""
    post = compose(Random(seed), name, 4000000000000001, long=long)
    again = retweet(Random(seed), name)
    for writing in (post, again):
        assert read(writing.html) == writing.text == writing.text.strip()


@given(st.integers(0, 2**32))
def test_a_cut_text(seed: int) -> None:
    """A long post is cut in lists: a true beginning of the whole, then the link to it."""
    post = compose(Random(seed), name, 4000000000000001, long=True)
    assert post.cut is not None
    assert post.cut.endswith(LINK)
    start = post.cut.removesuffix(LINK)
    assert post.html.startswith(start)
    assert CUT_AFTER <= len(read(start)) < len(post.text)
    assert compose(Random(seed), name, 1, long=False).cut is None

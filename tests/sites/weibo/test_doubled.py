"""Pages whose words were encoded twice, by a proxy that takes UTF-8 for another encoding."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sites.weibo.helpers import LONG_MID, OWNER, SITE, fixture, judge
from weibo_crawler.records import PostPage
from weibo_crawler.records import Verdict as V
from weibo_crawler.sites.weibo.doubled import is_doubled

_EXTEND = SITE.full_text(OWNER, LONG_MID)[0]
_CP1252 = {byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256)}
_CHINESE = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), min_size=3)
_LETTERS = "aeioußàâäáãåæçèéêëíîïñòóôöõøœùúûüÿÀÂÄÅÆÇÉÈÖØÜŠšŽžŒ"
_SIGNS = (
    "{}",
    "{}…",
    "«\u00a0{}\u00a0»",
    "«{}»",
    "„{}“",
    "“{}”",
    "l’{}",
    "{}\u00a0!",
    "–\u00a0{}",
    "¿{}?",
)
_SENTENCES = (
    "« Liberté, égalité, fraternité » : à l’été, où êtes-vous ? L’élève dit : « déjà »…",
    "Voilà « la vérité », c’est-à-dire l’œuvre… « Ça été »\u00a0!",
    "\u00ab\u00a0libert\u00e9\u00a0\u00bb ou \u00ab\u00a0\u00e9galit\u00e9\u00a0\u00bb",
    "Größe, Äpfel und „Übermut“ – schön… 25 °C für 3 €",
    "¿Qué? ¡Mañana! «señor»… 20 º",
    "São João: não, coração à moda… 2ª edição",
    "Žluťoučký kůň příšerně úpěl ďábelské ódy – „Šťáva“",
    "På ön är åtta älgar… Æsop på Ærø à 3 €",
    "Ä Ö Ü ä ö ü ß",
)


def latin1(text: str) -> str:
    return text.encode().decode("latin-1")


def cp1252(text: str) -> str:
    return "".join(_CP1252[byte] for byte in text.encode())


def lossy(text: str) -> str:
    """As strict decoders do it: what the encoding lacks is replaced."""
    return text.encode().decode("cp1252", "replace")


def body(text: str, *, is_ascii: bool) -> bytes:
    answer = {"ok": 1, "data": {"longTextContent": f"<a href='/n/x'>x</a> {text}"}}
    return json.dumps(answer, ensure_ascii=is_ascii).encode()


@pytest.mark.parametrize("is_ascii", [False, True])
@pytest.mark.parametrize("way", [latin1, cp1252])
@given(text=_CHINESE)
def test_words_that_were_encoded_twice_are_no_page(way: object, is_ascii: bool, text: str) -> None:
    """Whichever letters they became, and however JSON writes them; true words are one."""
    assert callable(way)
    assert judge(body(text, is_ascii=is_ascii), _EXTEND).verdict is V.OK
    reading = judge(body(way(text), is_ascii=is_ascii), _EXTEND)
    assert (reading.verdict, reading.record) == (V.NOT_JSON, None)
    assert reading.why == "another encoding: its words were encoded twice"


@pytest.mark.parametrize("way", [latin1, cp1252, lossy])
@pytest.mark.parametrize("name", ["posts_page_mode.json", "posts_since_id.json", "profile.json"])
def test_pages_of_the_site_that_were_encoded_twice(way: object, name: str) -> None:
    """Their keys and numbers are all there, and none of their words is believed."""
    assert callable(way)
    assert not is_doubled(fixture(name))
    assert is_doubled(way(fixture(name).decode()).encode())


@pytest.mark.parametrize("is_ascii", [False, True])
@pytest.mark.parametrize("text", _SENTENCES)
def test_european_sentences_are_words(text: str, is_ascii: bool) -> None:
    """Also where a letter and two signs would make a Chinese character."""
    assert judge(body(text, is_ascii=is_ascii), _EXTEND).verdict is V.OK


@given(st.lists(st.tuples(st.text(_LETTERS, min_size=1, max_size=9), st.sampled_from(_SIGNS))))
def test_words_of_europe_are_words(words: list[tuple[str, str]]) -> None:
    """In any order, between the signs that stand around words."""
    text = " ".join(sign.format(word) for word, sign in words)
    assert not is_doubled(text.encode())
    assert not is_doubled(json.dumps(text).encode())


def test_a_true_post_may_quote_such_words() -> None:
    """Most of what its page shows are true words: it is one, and the text as it was posted."""
    page = json.loads(fixture("posts_page_mode.json"))
    quoted = cp1252("乱码是这样的")
    page["data"]["cards"][1]["mblog"]["text"] = quoted
    reading = judge(json.dumps(page, ensure_ascii=False))
    assert isinstance(reading.record, PostPage)
    assert quoted in [post.text for post in reading.record.posts]

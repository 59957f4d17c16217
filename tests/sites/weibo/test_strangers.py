"""Answers about strangers: read as the answers themselves, and naming nobody."""

import json
import re
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sites.weibo.helpers import DETAIL, OWNER, REQUESTS, SITE, at, fixture, page
from weibo_crawler.records import Kind, Page, Request, Verdict
from weibo_crawler.sites.weibo import dates
from weibo_crawler.sites.weibo.bid import bid_of, mid_of_bid
from weibo_crawler.survey.recording import outline, read

_SECRET = b"a secret of this test"
_NAME = SITE.name("青藤邮局")
_FIXTURES = {**REQUESTS, "detail.html": DETAIL}
# what is read of a page is there again, or in the same words
_WORDS = re.compile(r"[\u4e00-\u9fff]{4,}|[A-Za-z]{9,}|\d{5,}")


def _of(request: Request, answer: Page) -> tuple[Request, Page]:
    return SITE.strangers(_SECRET)(request, answer)


@pytest.mark.parametrize("name", sorted(_FIXTURES))
def test_a_page_about_strangers_is_read_as_the_page_itself(name: str) -> None:
    """The same verdict, as many people and posts, texts as long, dates as exact."""
    request, answer = _FIXTURES[name], page(fixture(name))
    asked, other = _of(request, answer)
    before, after = read(SITE, request, answer), read(SITE, asked, other)
    assert before.verdict is Verdict.OK
    assert outline(after) == outline(before)
    assert after.record != before.record
    assert len(other.body.decode()) == len(answer.body.decode())


@pytest.mark.parametrize("name", sorted(_FIXTURES))
def test_nobody_is_named(name: str) -> None:
    """No name, text or id that is read stands in it, in whatever letters."""
    request, answer = _FIXTURES[name], page(fixture(name))
    asked, other = _of(request, answer)
    said = other.body.decode() + asked.url
    read_ = str(read(SITE, request, answer).record)
    private = {word for word in _WORDS.findall(read_) if not _is_the_sites(word)}
    assert private, "nothing was read"
    assert {word for word in private if word in said} == set()
    bids = re.findall(r"\bbid='(\w{9})'", read_)
    assert [bid for bid in bids if bid in said] == []


def _is_the_sites(word: str) -> bool:
    """A class of records or a field of theirs, a place or a word that the page keeps."""
    return word.isascii() and word.isalpha() and word.lower() in _RECORDS


_RECORDS = {
    *("commentpage", "fulltext", "basicinfo", "pageinfo", "screen_name", "description"),
    *("verified", "available", "unreadable", "uncounted", "recommended", "registered"),
    *("mentions", "precision", "complete", "createdat", "duration", "original", "postpage"),
}


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ('{"ok":0,"msg":"这里还没有内容","data":{"cards":[]}}', Verdict.EMPTY),
        ('{"ok":0,"errno":"100005","msg":"请求过于频繁,歇歇吧"}', Verdict.THROTTLED),
        (
            '{"ok":-100,"url":"https://passport.weibo.com/sso/signin?entry=wapsso&r=https://m.weibo.cn/u/1"}',
            Verdict.LOGIN_WALL,
        ),
        (
            '{"ok":-100,"url":"https://m.weibo.cn/api/geetest?testType=1&backUrl=/","extra":""}',
            Verdict.CAPTCHA,
        ),
        ('{"ok":0,"errno":"20003","msg":"用户不存在"}', Verdict.GONE),
        ("<html><title>Sina Visitor System</title></html>", Verdict.LOGIN_WALL),
        ('{"ok":1,"data":{"cards":[{"card_type":9,"mblog":{"id":"4', Verdict.TRUNCATED),
        ('{"ok":1,"data":{"shelves":[]}}', Verdict.DRIFTED),
        ("", Verdict.SERVER_TROUBLE),
    ],
)
def test_a_refusal_stays_one(body: str, verdict: Verdict) -> None:
    """By the words and numbers that are the site's."""
    request = SITE.posts(OWNER, "")
    asked, other = _of(request, page(body))
    assert read(SITE, request, page(body)).verdict is verdict
    assert outline(read(SITE, asked, other)) == outline(read(SITE, request, page(body)))


def test_the_pages_of_the_site_that_are_no_json() -> None:
    """Error pages of the site keep what says which they are."""
    for name in ("error_busy.html", "error_no_data.html", "error_no_user.html"):
        request, answer = SITE.posts(OWNER, ""), page(fixture(name))
        asked, other = _of(request, answer)
        assert outline(read(SITE, asked, other)) == outline(read(SITE, request, answer)), name


def test_a_session_gives_nothing_away() -> None:
    """It is one as before; its cookies are others."""
    answer = Page("https://visitor.example/", 200, (), fixture("visitor.txt"), 1.7e9)
    asked, other = _of(Request(Kind.SESSION, answer.url), answer)
    cookies, strange = SITE.read_session(answer, asked), SITE.read_session(other, asked)
    assert cookies is not None
    assert strange is not None
    assert cookies.keys() == strange.keys()
    assert not set(cookies.values()) & set(strange.values())
    assert read(SITE, asked, other).verdict is Verdict.OK


def test_a_name_leads_to_the_same_stranger_everywhere() -> None:
    """A redirect names the uid that pages of that user have."""
    answer = page(b"", 302, location=f"/u/{OWNER}")
    strangers = SITE.strangers(_SECRET)
    asked, other = strangers(_NAME, answer)
    profile, _ = strangers(SITE.profile(OWNER), page(fixture("profile.json")))
    assert other.header("location") == f"/u/{profile.uid}"
    assert profile.uid != OWNER
    assert str(OWNER) not in asked.url + str(other.headers)


def test_what_was_searched_for_is_invented() -> None:
    """The address stays that of a search, and names other words, as the answer does."""
    asked, other = _of(REQUESTS["search.json"], page(fixture("search.json")))
    before, after = REQUESTS["search.json"].url, unquote(asked.url)
    assert after.partition("q=")[0] == unquote(before).partition("q=")[0]
    assert after.endswith("#&page_type=searchall&page=1")
    words = re.findall("#(.+)#", after)
    assert words != ["河边的信"]
    assert json.loads(other.body)["data"]["cardlistInfo"]["containerid"].endswith(f"q=#{words[0]}#")


@pytest.mark.parametrize("times", [1, 2, 3])
def test_words_that_an_address_quotes_are_invented(times: int) -> None:
    """A wall names the page that was asked for, quoted once more on its way: no name of it is left,
    and it is the same wall."""
    asked = "https://m.weibo.cn/n/青藤邮局"
    for _ in range(times):
        asked = quote(asked, safe="")
    url = f"https://passport.weibo.com/sso/signin?entry=wapsso&url={asked}"
    answer = page(json.dumps({"ok": -100, "url": url}, ensure_ascii=False))
    _, other = _of(_NAME, answer)
    said = json.loads(other.body)["url"]
    assert len(said) == len(url)
    for _ in range(times):
        said = unquote(said)
    assert "青藤邮局" not in said
    assert said.startswith("https://passport.weibo.com/sso/signin?entry=wapsso&url=https://m.weibo")
    assert read(SITE, _NAME, other).verdict is Verdict.LOGIN_WALL


def test_another_recording_has_other_strangers() -> None:
    """Whoever has two recordings cannot tell that they are of the same people."""
    one, _ = SITE.strangers(b"1")(SITE.profile(OWNER), page("{}"))
    other, _ = SITE.strangers(b"2")(SITE.profile(OWNER), page("{}"))
    assert one.uid != other.uid


@pytest.mark.parametrize("mid", [1, 3501756485200075, 4803408242409549, 9999999999999999])
def test_a_bid_leads_back_to_its_mid(mid: int) -> None:
    """weibo_api.md: z0JH2lOMb = 3501756485200075."""
    assert mid_of_bid(bid_of(mid)) == mid


@given(st.integers(3501756485200075, 4803408242409549))
def test_the_bid_of_a_strangers_post_leads_to_its_mid(mid: int) -> None:
    """It is the same id in other digits, so both are changed alike; a name of as many letters is
    no bid, and becomes another name."""
    body = json.dumps({"mid": str(mid), "bid": bid_of(mid), "screen_name": "Gardening"})
    _, other = _of(SITE.posts(OWNER, ""), page(body))
    made = json.loads(other.body)
    assert made["mid"] != str(mid)
    assert mid_of_bid(made["bid"]) == int(made["mid"])
    assert made["screen_name"].isalpha()


@pytest.mark.parametrize(
    "said",
    [
        *(
            "20天前",
            "10-24",
            "2026-10-18 15:26",
            "09月27日 22:49",
            "9月7日",
            "2018年6月14日",
            "昨天 12:01",
        ),
        *("Mon Oct 19 02:53:21 +0800 2026", "2026/10/18", "2018.06.14", "刚刚"),
    ],
)
def test_a_date_is_read_as_exactly_as_before(said: str) -> None:
    """Weeks earlier, in the same form, on the same day of the week."""
    now = at("2026-10-20T12:00:00")
    body = json.dumps({"ok": 1, "data": {"created_at": said}})
    _, other = _of(SITE.profile(OWNER), page(body, now=now))
    new = json.loads(other.body)["data"]["created_at"]
    before, after = dates.said(said, now), dates.said(new, other.fetched_at)
    assert before.precision == after.precision
    back_s = before.at_s - after.at_s
    assert back_s == now - other.fetched_at
    assert back_s > 0
    assert back_s % (7 * 86_400) == 0

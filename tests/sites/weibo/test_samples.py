"""Recorded answers of the real site. They hold public posts of real people, so they stay where they
are; what is expected of them is written as counts, hashes and fields that name nobody.

WEIBO_SAMPLES names their folder; the default is ../shared/samples, seen from the repository.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.sites.weibo.helpers import SITE, at, check_law, page, record
from weibo_crawler.records import Edge, Kind, Reading, Request, Verdict
from weibo_crawler.sites.weibo.bid import bid_of
from weibo_crawler.survey.recording import outline

ROOT = Path(__file__).parents[3]
SAMPLES = Path(os.environ.get("WEIBO_SAMPLES", ROOT.parent / "shared" / "samples"))
RELATIVE = "posts/2019-06_relative_dates_page.json"
PINNED = "posts/2021-06_since_id_pinned.json"
PAGES = [RELATIVE, PINNED]

pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="no recorded answers here: set WEIBO_SAMPLES to their folder"
)


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def data(name: str) -> Any:
    return json.loads(sample(name))["data"]


def digest(texts: Iterable[str]) -> str:
    return sha256("\n".join(texts).encode()).hexdigest()[:16]


def owner_of(name: str) -> int:
    uid = data(name)["cards"][0]["mblog"]["user"]["id"]
    assert isinstance(uid, int)
    return uid


def read(name: str, request: Request, status: int = 200) -> Reading:
    now = at("2019-06-15T12:00:00" if "2019" in name else "2021-06-18T12:00:00")
    reading = SITE.read(request, page(sample(name), status, now))
    check_law(reading)
    return reading


def posts(name: str) -> Any:
    return record(read(name, SITE.posts(owner_of(name), "")))


class Seen(HTMLParser):
    """The text of some HTML, by a parser that has nothing in common with the one tested."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self._in_link = "", False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._in_link = tag == "a" and (named.get("href") or "").startswith("/status/")
        self.text += "\n" if tag == "br" else (named.get("alt") or "") if tag == "img" else ""

    def handle_data(self, data: str) -> None:
        self.text += "" if self._in_link else data


@pytest.mark.parametrize(
    ("name", "texts", "dates", "pics", "completes", "cursor"),
    [
        (RELATIVE, "39e3c6444aad4f3d", "8513b55f57cb3370", 17, 10, "page"),
        (PINNED, "b141bc272a21cfb1", "9570f4ba770745d3", 16, 4, "since_id"),
    ],
)
def test_pages_of_posts(
    name: str, texts: str, dates: str, pics: int, completes: int, cursor: str
) -> None:
    """All ten posts, their texts, dates and pictures, and the token of the next page."""
    found = posts(name)
    assert (len(found.posts), found.foreign) == (10, 0)
    assert digest(post.text for post in found.posts) == texts
    assert digest(post.created_at for post in found.posts) == dates
    assert sum(len(post.pics) for post in found.posts) == pics
    assert sum(post.text_complete for post in found.posts) == completes
    assert found.next_cursor == f"{cursor}={data(name)['cardlistInfo'][cursor]}"


@pytest.mark.parametrize(("name", "fans"), [(RELATIVE, 2_277_075), (PINNED, 1_363_591)])
def test_whom_pages_of_posts_lead_to(name: str, fans: int) -> None:
    """The author of the one original, with the fans that the page tells, and the names in texts."""
    found = posts(name)
    assert [author.fans for author in found.authors] == [fans]
    assert len(found.mentions) == 2


@pytest.mark.parametrize(
    ("name", "types", "streams", "topics"),
    [
        (RELATIVE, {"video": 2, "topic": 3, "link": 1}, 2, 7),
        (PINNED, {"video": 2, "topic": 7, "link": 1}, 2, 11),
    ],
)
def test_what_stands_beside_texts(
    name: str, types: dict[str, int], streams: int, topics: int
) -> None:
    """All page_infos of the page, those of originals too, by type; and linked topics."""
    found = posts(name).posts
    infos = [post.page_info for post in found]
    infos += [post.original.page_info for post in found if post.original]
    assert Counter(info.type for info in infos if info) == types
    assert sum(bool(info.stream and info.plays) for info in infos if info) == streams
    assert all(info.url for info in infos if info)
    assert sum(len(post.topics) for post in found) == topics
    assert sum(len(post.mentions) for post in found) == 2


def test_counts_of_the_relative_page() -> None:
    """Counts as numbers; `100万+` is a million."""
    found = posts(RELATIVE).posts
    reposts = [240492, 11226, 174601, 867586, 10**6, 10**6, 337794, 10**6, 686162, 10**6]
    assert [post.reposts for post in found] == reposts
    assert sum(post.likes for post in found) == 4619686
    assert sum(post.comments for post in found) == 1900190
    assert {post.created_at_precision for post in found} == {"mid"}


def test_pinned_and_edited() -> None:
    """One pinned post, edited twice, and nine in their places."""
    found = posts(PINNED).posts
    assert [post.is_pinned for post in found] == [True] + [False] * 9
    assert (found[0].edit_count, found[0].edited_at) == (2, "2021-06-16T10:51:10+08:00")
    assert {post.created_at_precision for post in found} == {"second"}
    assert sum(post.reposts for post in found) == 15689


@pytest.mark.parametrize(
    ("name", "n", "text", "is_complete", "reposts"),
    [
        (RELATIVE, 1, "fd9341624d75e166", True, 45947),
        (PINNED, 2, "44ff5cfc59db017f", False, 9079),
    ],
)
def test_originals(name: str, n: int, text: str, is_complete: bool, reposts: int) -> None:
    """The one retweet of each page packs its original."""
    found = posts(name).posts
    assert [i for i, post in enumerate(found) if post.original] == [n]
    original = found[n].original
    raw = data(name)["cards"][n]["mblog"]["retweeted_status"]
    assert found[n].repost_of == original.mid == int(raw["mid"])
    assert (original.uid, original.available) == (raw["user"]["id"], True)
    assert (digest([original.text]), original.text_complete) == (text, is_complete)
    assert original.reposts == reposts


@pytest.mark.parametrize("name", PAGES)
def test_texts_as_an_html_parser_sees_them(name: str) -> None:
    """A whole HTML parser sees the same text."""
    raw = [card["mblog"] for card in data(name)["cards"]]
    assert [post.text for post in posts(name).posts] == [Seen(m["text"]).text.strip() for m in raw]


@pytest.mark.parametrize("name", PAGES)
def test_bid_and_second_are_in_the_mid(name: str) -> None:
    """The bid is computed from the mid, and the mid holds the second of posting."""
    for post in posts(name).posts:
        assert bid_of(post.mid) == post.bid
        assert abs((post.mid >> 22) + 515483463 - at(post.created_at[:19])) <= 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("profile/2019-06.json", (63357736, 240, 1008, 43, 0)),
        ("profile/2022-02_followers_count_string.json", (1455000, 34, 1553, 4, 2)),
    ],
)
def test_profiles(name: str, expected: tuple[int, ...]) -> None:
    """Numbers of a profile, of both times."""
    uid = data(name)["userInfo"]["id"]
    user = record(read(name, SITE.profile(uid)))
    numbers = (user.fans, user.follows, user.posts, user.rank, user.verified_type)
    assert (user.uid, numbers) == (uid, expected)
    assert (user.gender, user.verified) == ("f", True)


def test_long_text() -> None:
    """The whole text, with its line breaks."""
    text = record(read("longtext/2021_extend.json", SITE.full_text(1, 9)[0])).text
    assert (len(text), text.count("\n"), digest([text])) == (389, 15, "c46497d5f87749f0")
    assert text == Seen(data("longtext/2021_extend.json")["longTextContent"]).text.strip()


def test_show() -> None:
    """The text of a short retweet, by its own mid only."""
    name = "status/2019-06_show_retweet.json"
    text = record(read(name, SITE.full_text(1, int(data(name)["mid"]))[1])).text
    assert digest([text]) == "d0c0f693d232ecf2"
    other = read(name, SITE.full_text(1, 9)[1])
    assert (other.verdict, other.why) == (Verdict.DRIFTED, "$.data.mid")


def test_comments() -> None:
    """Twenty authors, what they wrote, and the token of the next page."""
    name = "comments/2019-06_hotflow.json"
    found = record(read(name, SITE.echoes(Kind.COMMENTS, 9)))
    assert len(found.users) == len({user.uid for user in found.users}) == 20
    assert sum(user.fans for user in found.users) == 2123261
    assert found.next_cursor == str(data(name)["max_id"])
    raw = data(name)["data"]
    assert [one.text for one in found.echoes] == [Seen(c["text"]).text.strip() for c in raw]
    assert sum(one.likes for one in found.echoes) == 32787
    assert {one.created_at[:10] for one in found.echoes} == {"2019-06-14"}


def test_fans_of_the_app() -> None:
    """The app's answer has no envelope: DRIFTED as it stands, a list when wrapped."""
    body = sample("fans/2020-09_app_variant_one_user.json")
    container = json.loads(body)["cardlistInfo"]["containerid"]
    request = SITE.edge(Edge.FANS, int(container.rpartition("_")[2]), "")
    bare = SITE.read(request, page(body))
    assert (bare.verdict, bare.why) == (Verdict.DRIFTED, "$.ok")
    found = record(SITE.read(request, page(b'{"ok":1,"data":' + body + b"}")))
    assert [user.fans for user in found.users] == [143]
    assert (found.next_cursor, found.skipped, found.recommended) == ("2", {}, 0)


@pytest.mark.parametrize(
    ("name", "status", "verdict", "is_ambiguous"),
    [
        ("captcha_ok-100.json", 200, Verdict.CAPTCHA, False),
        ("desktop_ajax_403_no_referer.json", 403, Verdict.REFUSED, False),
        ("login_wall_ok-100.json", 200, Verdict.LOGIN_WALL, False),
        ("ok0_no_content_exact_bytes.json", 200, Verdict.END, True),
        ("ok0_no_content_profile.json", 200, Verdict.END, True),
        ("rate_limited_errno100005.json", 200, Verdict.THROTTLED, False),
        ("rate_limited_errno100005.json", 403, Verdict.THROTTLED, False),
    ],
)
def test_errors(name: str, status: int, verdict: Verdict, is_ambiguous: bool) -> None:
    """Each refusal is what it is, whatever was asked for."""
    for request in (SITE.posts(7, "page=2"), SITE.edge(Edge.FANS, 7, "2")):
        reading = read(f"errors/{name}", request, status)
        assert (reading.verdict, reading.ambiguous) == (verdict, is_ambiguous)


def test_visitor() -> None:
    """The tokens of the recorded session answer."""
    request = SITE.session(1.7e9, Random(1))
    assert request is not None
    cookies = SITE.read_session(page(sample("visitor/genvisitor2_response.txt")), request)
    assert cookies is not None
    assert sorted(cookies) == ["SUB", "SUBP"]


def test_no_sample_is_left_out() -> None:
    """Every recorded answer is a case of this module."""
    source = Path(__file__).read_text(encoding="utf-8")
    names = [path.name for path in SAMPLES.rglob("*.*") if path.suffix != ".md"]
    assert names
    assert [name for name in names if name not in source] == []


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("posts/2019-06_relative_dates_page.json", (63356825, 240, 1008, 43, 0)),
        ("posts/2021-06_since_id_pinned.json", (1363591, 33, 1218, 4, 2)),
    ],
)
def test_pages_of_posts_show_the_profile(name: str, numbers: tuple[int, ...]) -> None:
    """Nothing lacks of what a profile is read for."""
    uid = data(name)["cards"][0]["mblog"]["user"]["id"]
    user = record(read(name, SITE.posts(uid, ""))).profile
    assert user.is_told
    assert (user.fans, user.follows, user.posts, user.rank, user.verified_type) == numbers
    assert user.verified_reason


@pytest.mark.parametrize("name", PAGES)
def test_a_recording_of_them_names_nobody(name: str) -> None:
    """About strangers they are read as they are, and no text stays but the site's own words."""
    request = SITE.posts(owner_of(name), "")
    now = at("2019-06-15T12:00:00" if "2019" in name else "2021-06-18T12:00:00")
    asked, other = SITE.strangers(b"")(request, page(sample(name), 200, now))
    after = SITE.read(asked, other)
    assert outline(after) == outline(read(name, request))
    stays = {
        text
        for text, new in zip(
            leaves(data(name)), leaves(json.loads(other.body)["data"]), strict=True
        )
        if text == new and not text.isascii()
    }
    assert {word for text in stays for word in re.findall(r"[^\W\d_]+", text)} <= KEPT


KEPT = {"万", "万次播放", "置顶", "发布于", "刚刚", "小时前", "分钟前", "昨天"}


def leaves(value: Any) -> Iterator[str]:
    """All texts of some JSON."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list | str) and not isinstance(value, str):
            yield from leaves(part)

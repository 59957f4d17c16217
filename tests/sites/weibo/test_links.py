"""Whom a page of posts leads to: authors of originals, and names in the texts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sites.weibo.helpers import read, record
from weibo_crawler.records import NamedUser, PostPage, User
from weibo_crawler.sites.weibo.text import mentions, topics

AUTHOR = 2900000023


def page(change: Any = None) -> PostPage:
    found = record(read("posts_page_mode.json", change))
    assert isinstance(found, PostPage)
    return found


def original(tree: Any) -> Any:
    return tree["data"]["cards"][1]["mblog"]["retweeted_status"]


def test_authors_of_originals_with_their_fans() -> None:
    """The author of the retweet's original; not that of a deleted one, nor of a liked post."""
    assert page().authors == (User(AUTHOR, "Lanternfish", 1200),)


@pytest.mark.parametrize(
    ("count", "text", "fans"),
    [("1.5万", None, 15_000), (None, "6905", 6905), (7, "8", 7), ("odd", "12", 12)],
)
def test_fans_in_every_form(count: object, text: object, fans: int) -> None:
    """followers_count as number or text, else followers_count_str."""

    def change(tree: Any) -> None:
        original(tree)["user"] |= {"followers_count": count, "followers_count_str": text}

    assert page(change).authors == (User(AUTHOR, "Lanternfish", fans),)


@pytest.mark.parametrize("count", [None, "", "odd", -1, True, 1.5, [], {}, "9" * 40])
def test_odd_fans_leave_the_uid(count: object) -> None:
    """An author whose fans are not told costs a profile, not the page."""

    def change(tree: Any) -> None:
        original(tree)["user"] |= {"followers_count": count}

    changed = page(change)
    assert changed.authors == (NamedUser(AUTHOR),)
    assert len(changed.posts) == len(page().posts)


@pytest.mark.parametrize("other", [AUTHOR + 10, AUTHOR // 10, 7])
def test_an_author_whom_the_address_of_the_profile_denies_is_none(other: int) -> None:
    """Nobody knows whose id it is: neither the wrong one nor the right one is led to."""

    def change(tree: Any) -> None:
        original(tree)["user"] |= {"id": other, "profile_url": f"https://m.weibo.cn/u/{AUTHOR}"}

    changed = page(change)
    assert changed.authors == ()
    assert changed.illegible == 1
    assert len(changed.posts) == len(page().posts)


@pytest.mark.parametrize("user", [[], 7, {}, {"id": None}, {"id": "abc"}, {"id": float("nan")}])
def test_an_author_who_cannot_be_read_is_counted(user: object) -> None:
    """The post that names nobody legible as the author of its original is stored all the same."""

    def change(tree: Any) -> None:
        original(tree)["user"] = user

    changed = page(change)
    assert (changed.authors, changed.illegible) == ((), 1)
    assert len(changed.posts) == len(page().posts)
    assert page().illegible == 0


def test_an_author_is_named_once() -> None:
    """However many originals of one author a page shows."""

    def change(tree: Any) -> None:
        cards = tree["data"]["cards"]
        again = original(tree) | {"id": "4383029468332110", "mid": "4383029468332110"}
        cards[3]["mblog"]["retweeted_status"] = again

    assert page(change).authors == (User(AUTHOR, "Lanternfish", 1200),)


def test_mentions_of_the_newest_posts_first() -> None:
    """Names in the owner's texts, each once; those of liked posts and of originals are not."""

    def change(tree: Any) -> None:
        cards = tree["data"]["cards"]
        cards[7]["mblog"]["text"] = "<a href='/n/旧友'>@旧友</a> <a href='/n/灯塔'>@灯塔</a>"
        cards[4]["mblog"]["text"] = "<a href='/n/陌生'>@陌生</a>"  # of another user
        original(tree)["text"] = "<a href='/n/原作'>@原作</a>"
        cards[1]["mblog"]["text"] = "//<a href='/n/转者'>@转者</a>:转发微博"

    assert page(change).mentions == ("转者", "灯塔", "旧友")


def test_a_name_too_long_is_none() -> None:
    """It would only cost a request."""

    def change(tree: Any) -> None:
        tree["data"]["cards"][1]["mblog"]["text"] = f"<a href='/n/{'长' * 61}'>@</a>"

    assert page(change).mentions == ("灯塔",)


@pytest.mark.parametrize(
    ("html", "names"),
    [
        ("<a href='/n/某人'>@某人</a>", ["某人"]),
        ('<a href="/n/a_b-c">@a_b-c</a>', ["a_b-c"]),
        ("<a href=/n/plain>@plain</a>", ["plain"]),
        ("<a class='x' href='https://m.weibo.cn/n/full?from=feed'>@full</a>", ["full"]),
        ("<a href='//m.weibo.cn/n/short#top'>@short</a>", ["short"]),
        ("<a href='/n/%E6%9F%90%E4%BA%BA'>@某人</a>", ["某人"]),
        ("<a href='/n/a&amp;b'>@a&amp;b</a>", ["a&b"]),
        (
            "<a href='/n/一'>@一</a><a href='/n/二'>@二</a><a href='/n/一'>@一</a>",
            ["一", "二"],
        ),
        ("@nobody /n/nobody", []),
        ("<a href='/status/1/n/x'>y</a> <a data-href='/n/x'>y</a>", []),
        ("<a href='http://t.cn/n'>网页链接</a>", []),
    ],
)
def test_names_that_a_text_links_to(html: str, names: list[str]) -> None:
    """Only links to /n/ count, whatever their quotes; a reader's @name is no link."""
    assert list(mentions(html)) == names


@pytest.mark.parametrize(
    ("html", "named"),
    [
        ('<a  href="/search?q=%23x%23"><span class="surl-text">#慢信#</span></a>', ["慢信"]),
        ("<a href=x><span class='surl-text'>#A&amp;B#</span></a>", ["A&B"]),
        (
            '<a  href="https://m.weibo.cn/p/index?containerid=10080811d6&extparam=x" data-hide="">'
            "<span class='url-icon'><img style='width: 1rem' src='https://x.example/s.png'></span>"
            '<span class="surl-text">慢城超话</span></a>'
            '<a href=x><span class="surl-text">#慢信#</span></a>',
            ["慢信", "慢城超话"],
        ),
        ('<a href=x><span class="surl-text">#一#</span></a>' * 2, ["一"]),
        ('<a href=x><span class="surl-text">网页链接</span></a>', []),
        ("C# and F# #nothing#", []),
        (f'<a href=x><span class="surl-text">#{"长" * 201}#</span></a>', []),
    ],
)
def test_topics_that_a_text_links_to(html: str, named: list[str]) -> None:
    """What the site links as a topic, without its signs; a reader's #words# are none."""
    assert list(topics(html)) == named


@given(st.text("<a href='/n/\"?#%&;x一 \n", max_size=200))
def test_any_text_gives_names_that_can_be_asked_for(html: str) -> None:
    """Total: no text crashes it, and no name holds what would break a request."""
    for name in mentions(html):
        name.encode()
        assert "\0" not in name
    assert topics(html + "surl-text") == ()

"""What the posts of a crawl are: each figure against one that is counted here another way."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.worlds import MemoryUsers, open_tables, put_posts, user
from weibo_crawler.analysis.completeness import summarise
from weibo_crawler.analysis.content_sections import Origin
from weibo_crawler.analysis.contents import TOP, Contents, Frequent
from weibo_crawler.analysis.figures import Stored, gather
from weibo_crawler.analysis.report import missing, render
from weibo_crawler.errors import StoreError
from weibo_crawler.records import Original, Post
from weibo_crawler.store import Cells
from weibo_crawler.store.rows.cells import Ledger, post_cells
from weibo_crawler.store.rows.keys import post_key, ranges

UIDS = st.integers(1, 6)
ORIGINALS = st.builds(
    Original,
    mid=st.just(9),
    uid=st.none() | UIDS,
    screen_name=st.none(),
    text=st.just(""),
    text_complete=st.just(True),
    created_at=st.none(),
    available=st.booleans(),
)
POSTS = st.lists(
    st.builds(
        Post,
        mid=st.integers(1, 10**16),
        uid=UIDS,
        created_at=st.datetimes().map(lambda at: at.isoformat("T", "seconds") + "+08:00")
        | st.sampled_from(["", "2021-06-17T99:00:00+08:00", "yesterday"]),
        created_at_precision=st.sampled_from(["second", "day", "mid", "hour"]),
        text=st.just(""),
        text_complete=st.just(True),
        source=st.sampled_from(["", " ", "iPhone", "微博网页版"]),
        region=st.none() | st.sampled_from(["北京", "云南"]),
        likes=st.none() | st.integers(0, 30),
        repost_of=st.none() | st.just(9),
        original=st.none() | ORIGINALS,
    ),
    max_size=40,
    unique_by=lambda post: post.mid,
)


def cells(post: Post) -> Cells:
    return post_cells(post, 0.0, "direct", "run-1")


@settings(deadline=None)
@given(POSTS, st.integers(0, 40))
def test_each_figure_is_the_truth(posts: list[Post], cut: int) -> None:
    """Whatever the posts, and in whatever two parts they are read."""
    one, other = Contents(), Contents()
    for i, post in enumerate(posts):
        (one if i < cut else other).add(post_key(post.uid, post.mid), cells(post))
    one.merge(other)
    counted = Counter(p.region for p in posts if p.region)
    assert one.regions.top(99) == sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    assert dict(one.devices.top(99)) == Counter(p.source for p in posts if p.source.strip())
    hours = Counter(
        int(p.created_at[11:13])
        for p in posts
        if p.created_at_precision != "day" and p.created_at[10:13].strip("T").isdecimal()
    )
    assert one.hours == [hours[hour] for hour in range(24)]
    reposts = [p for p in posts if p.repost_of]
    authors = [(p.uid, p.original.uid if p.original else None) for p in reposts]
    assert (one.posts, one.reposts) == (len(posts), len(reposts))
    assert one.unknown == sum(author is None for _, author in authors)
    assert one.own == sum(author == uid for uid, author in authors)
    pairs = Counter(pair for pair in authors if pair[1] not in (None, pair[0]))
    assert dict(one.pairs.top(99)) == pairs
    liked = sorted(((p.likes, p.uid, p.mid) for p in posts if p.likes is not None), reverse=True)
    assert [post.likes for post in one.liked] == [likes for likes, _, _ in liked[:TOP]]
    known = {(likes, post_key(uid, mid)) for likes, uid, mid in liked}
    assert len(set(one.liked)) == len(one.liked)
    assert set(one.liked) <= known


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), max_size=300), st.integers(2, 12), st.integers(0, 300))
def test_too_many_things_cost_a_known_error(things: list[int], most: int, cut: int) -> None:
    """Never more of them are counted at once than allowed; the total is exact, no count is too
    high, and none lacks more than is said: nothing, where they were few."""
    counts: tuple[Frequent[int], Frequent[int]] = (Frequent(most), Frequent(most))
    for i, thing in enumerate(things):
        counts[i >= cut].add(thing)
        assert len(counts[i >= cut]) <= most
    counts[0].merge(counts[1])
    assert len(counts[0]) <= most
    assert counts[0].total == len(things)
    told, truth = dict(counts[0].top(99)), Counter(things)
    assert all(truth[x] - counts[0].too_low <= told.get(x, 0) <= truth[x] for x in truth)
    if len(truth) <= most:
        assert told == truth
        assert counts[0].too_low == 0


def all_of(contents: Contents) -> dict[str, Any]:
    """Every figure, by its name."""
    held = {**vars(contents), "_liked": contents.liked}
    return {name: one.top(99) if isinstance(one, Frequent) else one for name, one in held.items()}


def test_a_table_is_counted_by_its_ranges(tmp_path: Path) -> None:
    """Read as a whole, or by the ranges that several processes take: the same figures."""
    tables = open_tables(tmp_path)
    made: list[dict[str, Any]] = [
        {"mid": n, "uid": n % 97, "region": f"{n % 13}", "likes": n % 50, "source": f"d{n % 7}"}
        for n in range(500)
    ]
    for n, uid in ((1, None), (2, 2), (3, 5)):
        made[n] |= {"repost_of": 9, "original": Original(9, uid, None, "", True, None, True)}
    base = {"created_at": "2021-06-17T11:00:31+08:00", "created_at_precision": "second"}
    put_posts(tables, *(Post(**one, **base, text="", text_complete=True) for one in made))
    whole, parts = Stored(0).read(tables), Stored(0)
    for part in ranges(256):
        parts.merge(Stored(0).read(tables, part))
    tables.close()
    expected = all_of(whole.contents)
    assert [name for name, figure in expected.items() if not figure] == []
    assert all_of(parts.contents) == expected
    assert whole.contents.regions.top(1)[0] == ("0", len(range(0, 500, 13)))
    assert parts.contents.hours[11] == whole.contents.posts == 500
    assert parts.contents.liked == whole.contents.liked
    assert all(a.likes >= b.likes for a, b in pairwise(whole.contents.liked))


def test_a_broken_cell_is_named() -> None:
    """A row whose packed cell cannot be read is an error that names the row."""
    post = Post(mid=5, uid=6, created_at="", text="", text_complete=True, created_at_precision="")
    broken = {**cells(post), "post:more": '{"original":'}
    with pytest.raises(StoreError, match=post_key(6, 5)):
        Contents().add(post_key(6, 5), broken)
    odd = json.loads(msgspec.json.encode({"original": {"mid": "1"}}))
    Contents().add(post_key(6, 5), {**cells(post), "post:more": json.dumps(odd)})


def test_the_page_tells_each_figure(tmp_path: Path) -> None:
    """What stands in the sections of the report, row by row, is what was put into the tables."""
    tables = open_tables(tmp_path)
    base = {"created_at_precision": "second", "text_complete": True}
    original = Original(1, 2, "别人", "原文", True, None, True)
    made = [
        Post(
            mid=100 + n,
            uid=1 + n % 3,
            created_at=f"2021-06-17T{n % 24:02d}:10:00+08:00",
            text=f"第{n}条",
            region=f"r{n % 17:02d}" if n % 5 else None,
            source="iPhone" if n % 2 else "",
            likes=1000 * n,
            repost_of=1 if n % 4 == 0 else None,
            original=original if n % 4 == 0 else None,
            **base,
        )
        for n in range(60)
    ]
    put_posts(tables, *made)
    users = MemoryUsers([user(1, 1, screen_name="甲"), user(2, 2, screen_name="乙")])
    origin = Origin("", tables.posts, "https://site.example/p/{}".format)
    html = render(gather(users, Stored(0).read(tables)), 0, origin=origin)
    tables.close()

    regions = Counter(p.region for p in made if p.region)
    shown = sorted(regions.items(), key=lambda one: (-one[1], one[0]))[:12]
    others = ("all others", sum(regions.values()) - sum(n for _, n in shown))
    assert rows_of(html, "Regions") == [[name, str(n)] for name, n in [*shown, others]]
    assert f"{sum(regions.values())} of 60 posts say" in html
    assert rows_of(html, "Devices") == [["iPhone", "30"]]
    liked = sorted(made, key=lambda p: -(p.likes or 0))[:TOP]
    names: dict[Any, str] = {1: "甲", 2: "乙", 3: "3"}  # of 3 nobody knows a name
    assert rows_of(html, "Most liked posts") == [
        [p.text, names[p.uid], "2021-06-17", f"{p.likes:,}"] for p in liked
    ]
    assert [f'href="https://site.example/p/{p.mid}"' in html for p in made].count(True) == TOP
    pairs = Counter(p.uid for p in made if p.repost_of and p.uid != 2)
    own = sum(p.uid == 2 for p in made if p.repost_of)
    assert rows_of(html, "Who reposts whom") == [
        [names[uid], "乙", str(n)] for uid, n in sorted(pairs.items(), key=lambda x: (-x[1], x[0]))
    ]
    assert f"15 of 60 posts are reposts: {own} of them of an own post, 0 of a post" in html
    hours = re.findall(r"<title>(\d\d): (\d+)</title>", html)
    told = Counter(p.created_at[11:13] for p in made)
    assert dict(hours) == {hour: str(n) for hour, n in told.items()}


def rows_of(html: str, title: str) -> list[list[str]]:
    """The texts of the table of a section."""
    (part,) = re.findall(rf"<section>\n<h2>{title}</h2>(.*?)</section>", html, re.S)
    rows = re.findall(r"<tr>(.*?)</tr>", part.partition("</thead>")[2] or part, re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in cells]


@pytest.mark.parametrize(
    ("ledgers", "said"),
    [
        ([], "Nobody was visited yet, so nothing is known of posts."),
        (
            [Ledger("done", announced=4, stored=4, stopped="end")],
            "1 visited user announces 4 posts, of which 100 % is held, and nothing is known to be "
            "missing.",
        ),
        (
            [Ledger("done", announced=4, stored=3, stopped="end")],
            "1 visited user announces 4 posts, of which 75 % is held, which is all that the site "
            "shows of them.",
        ),
        (
            [
                Ledger("done", announced=8, stored=3, stopped="login_wall"),
                Ledger("done", announced=2, stored=2, stopped="since", cut=(1, 2)),
                None,
            ],
            "2 visited users announce 10 posts, of which 50 % is held; not complete: 1 user "
            "whom guests may read no further; 1 user read back to a date on purpose; 1 user never "
            "visited; 2 texts still cut.",
        ),
    ],
)
def test_what_is_missing_is_a_sentence(ledgers: list[Ledger | None], said: str) -> None:
    """How much is held, and each reason why the rest is not, with how many it holds of."""
    assert missing(summarise(ledgers, 0)) == said

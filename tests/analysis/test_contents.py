"""What the posts of a crawl are: each figure against one that is counted here another way."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.worlds import open_tables, put_posts
from weibo_crawler.analysis.contents import TOP, Contents, Frequent
from weibo_crawler.analysis.figures import Stored
from weibo_crawler.errors import StoreError
from weibo_crawler.records import Original, Post
from weibo_crawler.store import Cells
from weibo_crawler.store.rows.cells import post_cells
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


def test_a_table_is_counted_by_its_ranges(tmp_path: Path) -> None:
    """Read as a whole, or by the ranges that several processes take: the same figures."""
    tables = open_tables(tmp_path)
    made: list[dict[str, Any]] = [
        {"mid": n, "uid": n % 97, "region": f"{n % 13}", "likes": n % 50, "source": f"d{n % 7}"}
        for n in range(500)
    ]
    base = {"created_at": "2021-06-17T11:00:31+08:00", "created_at_precision": "second"}
    put_posts(tables, *(Post(**one, **base, text="", text_complete=True) for one in made))
    whole, parts = Stored(0).read(tables), Stored(0)
    for part in ranges(256):
        parts.merge(Stored(0).read(tables, part))
    tables.close()
    for name in ("regions", "devices"):
        assert getattr(parts.contents, name).top(99) == getattr(whole.contents, name).top(99)
    assert whole.contents.regions.top(1)[0] == ("0", len(range(0, 500, 13)))
    assert parts.contents.hours == whole.contents.hours
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

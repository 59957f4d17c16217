"""Cells: text only, and nothing of a record is lost on the way there and back."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.errors import StoreError
from weibo_crawler.records import (
    SCHEMA_VERSION,
    BasicInfo,
    FullText,
    Original,
    PageInfo,
    Post,
    User,
)
from weibo_crawler.store import Row, UserRow
from weibo_crawler.store.rows.cells import (
    FAMILIES,
    Ledger,
    count_cells,
    from_iso,
    info_cells,
    ledger_cells,
    possible_posts,
    post_cells,
    profile_cells,
    read_ledger,
    read_post,
    read_user,
    text_cells,
    to_iso,
    user_cells,
)
from weibo_crawler.store.rows.gaps import Gap
from weibo_crawler.store.rows.keys import post_key, user_key

ids = st.integers(1, 2**63 - 1)
counts = st.integers(0, 10**10)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
some_words = words.filter(bool)
# our times are kept to the millisecond
times = st.integers(0, 4_000_000_000_000).map(lambda ms: ms / 1000)

page_infos = st.builds(
    PageInfo,
    type=st.sampled_from(["video", "link", "topic", "article", "place", "other"]),
    site_type=words,
    title=words,
    url=words,
    object_id=words,
    content1=words,
    content2=words,
    picture=words,
    stream=words,
    duration_s=st.none() | st.floats(0.125, 1e6),
    plays=st.none() | counts,
)
originals = st.builds(
    Original,
    mid=ids,
    uid=st.none() | ids,
    screen_name=st.none() | words,
    text=words,
    text_complete=st.booleans(),
    created_at=st.none() | words,
    available=st.booleans(),
    reposts=st.none() | counts,
    comments=st.none() | counts,
    likes=st.none() | counts,
    page_info=st.none() | page_infos,
)
posts = st.builds(
    Post,
    mid=ids,
    uid=ids,
    created_at=words,
    created_at_precision=words,
    text=words,
    text_complete=st.booleans(),
    source=words,
    region=st.none() | words,
    reposts=st.none() | counts,
    comments=st.none() | counts,
    likes=st.none() | counts,
    bid=words,
    pics=st.lists(words, max_size=3).map(tuple),
    pic_num=counts,
    videos=st.none() | st.lists(words, min_size=1, max_size=3).map(tuple),
    is_pinned=st.booleans(),
    repost_of=st.none() | ids,
    original=st.none() | originals,
    edit_count=counts,
    edited_at=st.none() | words,
    visible=st.sampled_from([0, 1, 6, 10]),
    topics=st.lists(words, max_size=3).map(tuple),
    mentions=st.lists(words, max_size=3).map(tuple),
    page_info=st.none() | page_infos,
)
users = st.builds(
    User,
    uid=ids,
    screen_name=words,
    fans=counts,
    follows=st.none() | counts,
    posts=st.none() | counts,
    gender=st.none() | st.sampled_from("mf"),
    description=st.none() | words,
    verified=st.none() | st.booleans(),
    verified_type=st.none() | st.integers(-1, 900),
    verified_reason=st.none() | words,
    rank=st.none() | counts,
    avatar=st.none() | words,
)
infos = st.builds(
    BasicInfo,
    uid=ids,
    province=st.none() | some_words,
    city=st.none() | some_words,
    registered=st.none() | st.dates().map(str),
    birthday=st.none() | some_words,
    gender=st.none() | st.sampled_from("mf"),
    more=st.dictionaries(some_words, words, max_size=3),
)
gaps = st.builds(
    Gap, before=ids, after=st.none() | ids, before_at=st.none() | words, after_at=st.none() | words
)


def _newest_first(gaps: list[Gap]) -> tuple[Gap, ...]:
    return tuple(sorted(gaps, key=lambda gap: gap.before, reverse=True))


ledgers = st.builds(
    Ledger,
    state=st.sampled_from(["partial", "done", "gone", "failed", "empty"]),
    announced=st.none() | st.integers(0, 10**7),
    stored=counts,
    pages=counts,
    seen=counts,
    cut=st.lists(ids, max_size=4).map(tuple),
    gone=st.lists(ids, max_size=4).map(tuple),
    newest=st.none() | ids,
    gaps=st.lists(gaps, max_size=3, unique_by=lambda gap: gap.before).map(_newest_first),
    read_newest=st.none() | ids,
    read_oldest=st.none() | ids,
    next_visit=st.none() | times,
    failures=st.integers(0, 9),
    retry_at=st.none() | times,
    doubts=counts,
    posts_per_day=st.none() | st.floats(0, 1e6),
    walled_at=st.none() | times,
    unsure_at=st.none() | times,
    as_of=st.none() | times,
    restricted=st.lists(ids, max_size=4).map(tuple),
    restricted_at=st.none() | times,
    unreadable=st.lists(ids, max_size=4).map(tuple),
    unnamed=counts,
    unnamed_now=counts,
    skipped=counts,
    empty_since=st.none() | times,
    pinned=st.lists(ids, max_size=4).map(tuple),
    foreign=counts,
    stopped=words,
    sure=st.booleans(),
    whole=st.booleans(),
    cursor=st.none() | some_words,
    refused_pages=counts,
    completed=counts,
    visited_at=st.none() | times,
    started_at=st.none() | times,
    last_error=words,
    run_id=words,
    schema_version=st.integers(1, 9),
)
SEEN = UserRow(
    7, 1001, "https://site.example/u/1001", "云上的猫", 12, 1, 1000, "fans", 1.25, "queued", "r0"
)


def _family_names(cells: Any) -> set[str]:
    return {column.partition(":")[0] for column in cells}


@given(posts, times)
def test_a_post_comes_back_whole(post: Post, fetched_at: float) -> None:
    """Every field of a post, and of its original, is in what scan prints, mids as text."""
    row = Row(post_key(post.uid, post.mid), dict(post_cells(post, fetched_at, "direct", "r1")))
    expected = msgspec.structs.asdict(post) | {
        "mid": str(post.mid),
        "repost_of": None if post.repost_of is None else str(post.repost_of),
        "topics": list(post.topics) or None,
        "mentions": list(post.mentions) or None,
        "page_info": msgspec.to_builtins(post.page_info),
        "original": post.original
        and msgspec.to_builtins(post.original) | {"mid": str(post.original.mid)},
        "fetched_at": to_iso(fetched_at),
        "comments_read": None,
        "reposts_read": None,
        "gone_at": None,
        "text_why": None,
        "egress": "direct",
        "schema_version": SCHEMA_VERSION,
        "run_id": "r1",
    }
    assert read_post(row) == expected


@given(posts, times)
def test_cells_of_a_post_are_text_in_known_families(post: Post, fetched_at: float) -> None:
    """All values are text, at most fourteen cells and two for what a text links to, in families
    that the table has."""
    cells = post_cells(post, fetched_at, "direct", "r1")
    assert all(type(value) is str for value in cells.values())
    assert len(cells) <= 14 + bool(post.topics) + bool(post.mentions)
    assert _family_names(cells) <= set(FAMILIES["posts"])


def test_what_a_post_looks_like_in_the_table() -> None:
    """The names and forms that other programs rely on."""
    post = Post(
        mid=4600000000000001,
        uid=1001,
        created_at="2021-06-17T11:00:31+08:00",
        created_at_precision="second",
        text="早安[太阳]\n今天去爬山",
        text_complete=True,
        source="小米手机",
        region="北京",
        reposts=1_000_000,
        likes=0,
        pics=("https://pic.example/1.jpg",),
        pic_num=1,
        topics=("爬山",),
        page_info=PageInfo("video", "video", "山顶", duration_s=9.5),
        repost_of=4500000000000001,
        original=Original(
            4500000000000001, None, None, "抱歉，此微博已被作者删除", True, None, False
        ),
    )
    assert post_cells(post, 1_700_000_000.25, "direct", "r1") == {
        "post:uid": "1001",
        "post:mid": "4600000000000001",
        "post:text": "早安[太阳]\n今天去爬山",
        "post:created_at": "2021-06-17T11:00:31+08:00",
        "post:source": "小米手机",
        "post:region": "北京",
        "post:repost_of": "4500000000000001",
        "post:is_pinned": "false",
        "post:text_complete": "true",
        "post:fetched_at": "2023-11-14T22:13:20.250Z",
        "post:topics": '["爬山"]',
        "post:more": '{"created_at_precision":"second","pics":["https://pic.example/1.jpg"],'
        '"pic_num":1,"page_info":{"type":"video","site_type":"video","title":"山顶",'
        '"duration_s":9.5},"original":{"mid":"4500000000000001","text":"抱歉，此微博已被作者删除",'
        '"available":false},"egress":"direct","schema_version":1,"run_id":"r1"}',
        "count:reposts": "1000000",
        "count:likes": "0",
    }


def test_scan_begins_with_the_promised_fields() -> None:
    """The order of the fields is that of the documentation; the packed ones follow."""
    promised = [
        *("mid", "uid", "created_at", "text", "text_complete", "source", "region", "reposts"),
        *("comments", "likes", "repost_of", "is_pinned", "fetched_at"),
    ]
    bare = read_post(Row(post_key(1001, 5), {"count:likes": "3"}))
    assert list(bare)[: len(promised)] == promised
    assert (bare["mid"], bare["uid"]) == ("5", 1001)  # of the key: an old row has no cells of these
    assert bare["likes"] == 3
    assert bare["text"] is None
    users_fields = list(read_user(Row(user_key(1001), {})))
    assert users_fields[:5] == ["id", "screen_name", "fans", "depth", "found_from"]


@given(posts, words)
def test_later_sightings_change_only_what_they_say(post: Post, text: str) -> None:
    """Counts alone touch no text; a completed text touches what it links to, and nothing else."""
    cells = dict(post_cells(post, 1.0, "direct", "r1"))
    row = Row(post_key(post.uid, post.mid), cells)
    full = FullText(post.mid, text, topics=("whole",))
    assert _family_names(count_cells(post)) <= {"count"}
    assert {**cells, **count_cells(post)} == cells
    before = read_post(row)
    after = read_post(Row(row.key, {**cells, **text_cells(full)}))
    expected = before | {"text": text, "text_complete": True, "topics": ["whole"]}
    assert after == expected


@given(users, infos, times)
def test_a_user_comes_back(profile: User, info: BasicInfo, fetched_at: float) -> None:
    """What the harvest saw, and what the profile and the basic information say, side by side."""
    cells = dict(user_cells(SEEN, "r1")) | dict(profile_cells(profile, fetched_at, "r2"))
    cells |= info_cells(info, fetched_at)
    assert all(type(value) is str for value in cells.values())
    assert _family_names(cells) <= set(FAMILIES["userlist"])
    assert read_user(Row(user_key(1001), cells)) == {
        "id": 1001,
        "screen_name": "云上的猫",
        "fans": 12,
        "depth": 1,
        "found_from": 1000,
        "found_edge": "fans",
        "found_at": "1970-01-01T00:00:01.250Z",
        "url": "https://site.example/u/1001",
        "seq": 7,
        "walk": None,
        "lists": None,
        "profile_screen_name": profile.screen_name,
        "gender": info.gender or profile.gender,
        "description": profile.description,
        "verified": profile.verified,
        "verified_type": profile.verified_type,
        "verified_reason": profile.verified_reason,
        "profile_fans": profile.fans,
        "follows": profile.follows,
        "posts": profile.posts,
        "rank": profile.rank,
        "avatar": profile.avatar,
        "profile_fetched_at": to_iso(fetched_at),
        "province": info.province,
        "city": info.city,
        "registered": info.registered,
        "birthday": info.birthday,
        "info": info.more or None,
        "info_fetched_at": to_iso(fetched_at),
        "run_id": "r1",
    }


def test_a_seed_has_no_found_from() -> None:
    """Nobody found a seed; the empty cell covers who had found it before it was lifted."""
    cells = user_cells(SEEN._replace(found_from=None), "r1")
    assert cells["user:found_from"] == ""
    assert read_user(Row(user_key(1001), dict(cells)))["found_from"] is None
    assert cells["user:id"] == "1001"
    assert cells["user:schema_version"] == str(SCHEMA_VERSION)


@given(ledgers)
def test_a_ledger_comes_back(ledger: Ledger) -> None:
    """Every field of a ledger is read as it was written."""
    assert read_ledger(ledger_cells(ledger)) == ledger


@pytest.mark.parametrize("announced", [10**12, 10**30, -1])
def test_a_count_that_nobody_can_reach_is_none(announced: int) -> None:
    """Neither of a profile nor in a ledger that an older version wrote."""
    assert possible_posts(announced) is None
    cells = {"crawl:state": "done", "crawl:announced": str(announced), "crawl:stored": "3"}
    assert read_ledger(cells) == Ledger("done", stored=3)
    assert possible_posts(10**7) == 10**7


@given(ledgers, ledgers)
def test_a_ledger_covers_the_one_before(before: Ledger, after: Ledger) -> None:
    """Nothing of an older ledger shows through a newer one, even where a field is None again."""
    assert read_ledger(dict(ledger_cells(before)) | dict(ledger_cells(after))) == after


def test_no_ledger_and_a_bare_one() -> None:
    """A user that was never visited has no ledger; cells that are missing are at their default."""
    assert read_ledger(user_cells(SEEN, "r1")) is None
    assert read_ledger({"crawl:state": "gone"}) == Ledger("gone")
    assert read_ledger(ledger_cells(Ledger("partial", cursor=""))) == Ledger("partial")


@given(times)
def test_times_come_back_and_sort(seconds: float) -> None:
    """Our times keep the millisecond, and their text sorts as they do."""
    assert from_iso(to_iso(seconds)) == seconds
    assert to_iso(seconds).endswith("Z")
    assert to_iso(seconds) < to_iso(seconds + 0.002)


def test_a_site_date_keeps_its_offset() -> None:
    """An ISO date with the site's offset is the same instant; one without an offset is refused."""
    assert from_iso("2021-06-17T11:00:31+08:00") == from_iso("2021-06-17T03:00:31Z")
    with pytest.raises(ValueError, match="without an offset"):
        from_iso("2021-06-17T11:00:31")


@pytest.mark.parametrize(
    "column",
    ["count:likes", "post:is_pinned", "post:more"],
)
def test_a_cell_that_cannot_be_read_is_named(column: str) -> None:
    """A cell that another program spoilt raises StoreError with row and column."""
    key = post_key(1001, 5)
    with pytest.raises(StoreError, match=f"row {key}: {column} holds 'many'"):
        read_post(Row(key, {column: "many"}))


def test_a_spoilt_ledger_or_key_is_named() -> None:
    """The same for a ledger's cells and for keys of another form."""
    with pytest.raises(StoreError, match="crawl:cut holds '1,x'"):
        read_ledger({"crawl:state": "done", "crawl:cut": "1,x"})
    for spoilt in ("{}", '[{"before": "x"}]', "["):
        with pytest.raises(StoreError, match="crawl:gaps"):
            read_ledger({"crawl:state": "done", "crawl:gaps": spoilt})
    with pytest.raises(StoreError, match="no row key of a user: 'x'"):
        read_user(Row("x", {}))
    with pytest.raises(StoreError, match="no row key of a post: 'x'"):
        read_post(Row("x", {}))

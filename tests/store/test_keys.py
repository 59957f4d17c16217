"""Row keys: even, sortable, invertible, and never one user's prefix in another's."""

from itertools import pairwise
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.records import TEXT_ID, Id
from weibo_crawler.store.rows.keys import (
    SALTS,
    echo_key,
    key_bounds,
    owner_of,
    parse_echo_key,
    parse_post_key,
    parse_user_key,
    post_key,
    posts_prefix,
    prefix_end,
    ranges,
    salt,
    user_key,
)

numbers = st.integers(0, 10**20 - 1)
ids = st.from_regex(TEXT_ID, fullmatch=True)
uids = st.integers(0, 2**64 - 1) | ids
mids = numbers | ids
# code points at the seams of UTF-8 and UTF-16, where other orders differ from that of the bytes
texts = st.text(st.sampled_from("\0-az\x7f\x80é\ud7ff\ue000\uffff\U00010000\U0010ffff"), max_size=6)


def test_salt_is_crc32_of_the_decimal_uid() -> None:
    """The salt is the low byte of CRC32 over the decimal digits, as MariaDB's CRC32(id) & 255."""
    assert salt(123456789) == "26"  # the check value of CRC-32 is cbf43926
    assert salt(6) == salt(68) == "14"
    assert all(salt(uid) == f"{crc32(str(uid).encode()) & 255:02x}" for uid in range(2000))


def test_salts_spread_consecutive_uids_evenly() -> None:
    """256 shards of consecutive ids hold about as many ids each."""
    counts = [0] * SALTS
    for uid in range(1_000_000_000, 1_000_000_000 + 256 * 100):
        counts[int(salt(uid), 16)] += 1
    assert min(counts) > 50
    assert max(counts) < 150


@given(uids)
def test_user_keys_come_back(uid: Id) -> None:
    """parse_user_key is the inverse of user_key."""
    assert parse_user_key(user_key(uid)) == uid


@given(uids, mids)
def test_post_keys_come_back(uid: Id, mid: Id) -> None:
    """parse_post_key is the inverse of post_key, and a post key has its user's prefix."""
    key = post_key(uid, mid)
    assert parse_post_key(key) == (uid, mid)
    assert key.startswith(posts_prefix(uid))
    assert key.startswith(user_key(uid))


@given(uids, mids, mids)
def test_comment_keys_come_back(uid: Id, mid: Id, comment: Id) -> None:
    """parse_echo_key is the inverse of echo_key, and each key tells whose it is."""
    key = echo_key(uid, mid, comment)
    assert parse_echo_key(key) == (uid, mid, comment)
    assert key.startswith(post_key(uid, mid) + "-")
    assert owner_of(key) == owner_of(user_key(uid)) == uid


@given(uids, numbers, numbers)
def test_larger_mids_come_first(uid: Id, one: int, other: int) -> None:
    """Within a user the byte order of the keys is the falling order of the mids."""
    assert (post_key(uid, one).encode() < post_key(uid, other).encode()) == (one > other)


@given(uids, uids, mids)
def test_no_prefix_meets_another_user(uid: Id, other: Id, mid: Id) -> None:
    """The prefix of one user's posts is that of no other user's."""
    assert post_key(other, mid).startswith(posts_prefix(uid)) == (uid == other)


def test_no_prefix_meets_a_longer_uid() -> None:
    """Not even where the longer uid begins with the shorter one and has the same salt."""
    assert user_key(68).startswith(user_key(6))
    assert not post_key(68, 1).startswith(posts_prefix(6))


@pytest.mark.parametrize(
    "key",
    [
        "",
        "14-",
        "14-06",
        "15-6",
        "14-6-",
        "14-６",
        "14- 6",
        "14-+6",
        "1e-1_0",
        "14",
        "6",
        "14-" + "9" * 5000,
    ],
)
def test_what_is_no_user_key_is_refused(key: str) -> None:
    """Only what user_key makes is read as one."""
    with pytest.raises(ValueError, match="no row key of a user"):
        parse_user_key(key)


@pytest.mark.parametrize(
    "key",
    ["", "14-6", "14-6-", "14-6-1", f"14-6-{'9' * 21}", f"15-6-{'9' * 20}", "14-6-" + "９" * 20],
)
def test_what_is_no_post_key_is_refused(key: str) -> None:
    """Only what post_key makes is read as one."""
    with pytest.raises(ValueError, match="no row key"):
        parse_post_key(key)


@pytest.mark.parametrize(
    ("uid", "mid"),
    [
        (-1, 1),
        (1, -1),
        (1, 10**20),
        ("12", 1),
        ("a,b", 1),
        ("", 1),
        (1, "12"),
        (1, "a b"),
        (1, "é"),
    ],
)
def test_ids_out_of_range_have_no_key(uid: Id, mid: Id) -> None:
    """A key that would break the order or not come back is refused."""
    with pytest.raises(ValueError, match=r"not negative|between 0 and|no id of a user"):
        post_key(uid, mid)


@given(st.integers(1, SALTS))
def test_ranges_are_gapless_and_even(n: int) -> None:
    """n ranges in key order, each begins where the one before stops, sizes differ by one salt."""
    parts = ranges(n)
    assert len(parts) == n
    assert parts[0].start == "00"
    assert parts[-1].stop is None
    assert all(one.stop == other.start for one, other in pairwise(parts))
    sizes = [int(part.stop or "100", 16) - int(part.start, 16) for part in parts]
    assert sum(sizes) == SALTS
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, SALTS), uids, mids)
def test_each_key_is_in_exactly_one_range(n: int, uid: int, mid: int) -> None:
    """Every key of both tables lies in one range, and a user's posts in that of the user."""

    def places(key: str) -> list[int]:
        return [
            i
            for i, part in enumerate(ranges(n))
            if part.start <= key and (part.stop is None or key < part.stop)
        ]

    assert len(places(user_key(uid))) == 1
    assert places(post_key(uid, mid)) == places(user_key(uid))


@pytest.mark.parametrize("n", [0, -1, 257])
def test_there_are_at_most_256_ranges(n: int) -> None:
    """A range without a salt would be a mapper without work."""
    with pytest.raises(ValueError, match="1 to 256"):
        ranges(n)


@given(texts, texts)
def test_prefix_end_parts_the_prefix_from_what_follows(prefix: str, text: str) -> None:
    """prefix <= text < prefix_end(prefix), in bytes, just for the texts with that prefix."""
    end = prefix_end(prefix)
    inside = prefix.encode() <= text.encode() and (end is None or text.encode() < end.encode())
    assert inside == text.startswith(prefix)


@given(texts, st.none() | texts, st.none() | texts, texts)
def test_bounds_are_the_intersection(
    start: str, stop: str | None, prefix: str | None, key: str
) -> None:
    """A key is within the bounds where start, stop and prefix all allow it."""
    low, high = key_bounds(start, stop, prefix)
    allowed = start <= key and (stop is None or key < stop) and key.startswith(prefix or "")
    assert (low <= key and (high is None or key < high)) == allowed

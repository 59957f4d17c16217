"""What files are called, and what they are."""

import re
from collections.abc import Callable
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.media.naming import (
    PARTS,
    PICTURE,
    VIDEO,
    ending_of,
    ends_early,
    file_name,
    folder_name,
    part_name,
)
from weibo_crawler.records import TEXT_ID
from weibo_crawler.store.media import Named

_IDS = st.integers(0, 2**63 - 1) | st.from_regex(TEXT_ID, fullmatch=True)
_NAME = re.compile(r"[A-Za-z0-9_%-]{1,80}/([0-9]{4}-[0-9]{2}|undated)/[A-Za-z0-9_%-]{1,150}\.jpg")


@given(_IDS, _IDS, st.text(), st.text(), st.integers(1, 99))
def test_no_name_leaves_its_folder(
    uid: int | str, mid: int | str, key: str, at: str, n: int
) -> None:
    """Whatever ids, addresses and times hold, a name has three parts of harmless characters, short
    enough for every file system, below the folder of its user, which is not that of parts."""
    name = file_name(Named(uid, mid, PICTURE, n, key, key, at), "jpg")
    assert _NAME.fullmatch(name)
    assert PurePosixPath(name).parts[0] == folder_name(uid) != PARTS
    assert re.fullmatch("[0-9a-f]{40}", part_name(uid, key))


@given(_IDS, _IDS)
def test_two_users_have_two_folders(one: int | str, other: int | str) -> None:
    """Forgetting one of them deletes nothing of the other."""
    assert (folder_name(one) == folder_name(other)) == (str(one) == str(other))


def test_the_month_is_that_of_the_post() -> None:
    one = Named(6, 68, PICTURE, 2, "a.jpg", "", "2026-01-05T12:00:00+08:00")
    assert re.fullmatch("6/2026-01/68_2_[0-9a-f]{8}\\.jpg", file_name(one, "jpg"))


@given(st.sampled_from([PICTURE, VIDEO]), st.text(), st.binary(max_size=32))
def test_any_bytes_have_an_ending_or_none(kind: str, content_type: str, start: bytes) -> None:
    ending = ending_of(kind, content_type, start)
    assert ending is None or re.fullmatch("[a-z0-9]{3,4}", ending)


def test_first_bytes_and_type_tell_what_a_file_is() -> None:
    known = {
        (PICTURE, b"\xff\xd8\xff\xe0" + bytes(12)): "jpg",
        (PICTURE, b"\x89PNG\r\n\x1a\n" + bytes(8)): "png",
        (PICTURE, b"GIF89a" + bytes(10)): "gif",
        (PICTURE, b"RIFF\x00\x00\x00\x00WEBPVP8 "): "webp",
        (PICTURE, b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"): "heic",
        (PICTURE, b"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00"): None,
        (PICTURE, b"<!DOCTYPE html>!"): None,
        (VIDEO, b"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00"): "mp4",
        (VIDEO, b"\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00"): "mov",
        (VIDEO, b"\xff\xd8\xff\xe0" + bytes(12)): None,
        (VIDEO, b"#EXTM3U\n#EXT-X-V"): None,
    }
    assert {each: ending_of(each[0], "", each[1]) for each in known} == known
    assert ending_of(PICTURE, "text/html; charset=utf-8", b"\xff\xd8\xff\xe0") is None
    assert ending_of(PICTURE, "application/octet-stream", b"\xff\xd8\xff\xe0") == "jpg"


def _read(body: bytes) -> Callable[[int, int], bytes]:
    return lambda at, most: body[at : at + most]


@given(st.sampled_from(["jpg", "png", "gif", "webp", "mp4", "mov", "heic", "flv"]), st.binary())
def test_any_bytes_end_early_or_not(ending: str, body: bytes) -> None:
    assert ends_early(ending, _read(body), len(body)) in (True, False)


@pytest.mark.parametrize(
    ("ending", "whole"),
    [
        ("jpg", b"\xff\xd8" + bytes(500) + b"\xff\xd9"),
        ("jpg", b"\xff\xd8" + bytes(500) + b"\xff\xd9" + bytes(40)),
        ("png", b"\x89PNG\r\n\x1a\n" + bytes(500) + b"\x00\x00\x00\x00IEND\xaeB`\x82"),
        ("gif", b"GIF89a" + bytes(500) + b";"),
        ("webp", b"RIFF" + (500).to_bytes(4, "little") + b"WEBP" + bytes(496)),
        ("mp4", b"\x00\x00\x00\x0cftypisom" + (500).to_bytes(4) + b"mdat" + bytes(492)),
        ("mov", b"\x00\x00\x00\x0cftypqt  \x00\x00\x00\x01mdat" + (500).to_bytes(8) + bytes(484)),
        ("heic", b"\x00\x00\x00\x0cftypheic" + (500).to_bytes(4) + b"mdat" + bytes(492)),
    ],
)
def test_files_that_lack_their_end_are_known(ending: str, whole: bytes) -> None:
    """By their last bytes, their length, or their boxes."""
    assert not ends_early(ending, _read(whole), len(whole))
    for length in (len(whole) // 2, len(whole) - 80):
        assert ends_early(ending, _read(whole[:length]), length)


def test_a_form_that_does_not_say_where_it_ends_is_believed() -> None:
    to_the_end = b"\x00\x00\x00\x0cftypisom\x00\x00\x00\x00mdat" + bytes(500)
    assert not ends_early("mp4", _read(to_the_end), len(to_the_end))
    assert not ends_early("flv", _read(b"FLV\x01"), 4)

"""What files are called, and what they are."""

import re
from pathlib import PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.media.naming import (
    PARTS,
    PICTURE,
    VIDEO,
    ending_of,
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

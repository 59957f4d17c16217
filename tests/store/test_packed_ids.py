"""Lists of ids in one column of SQL: numbers and texts, each told by its length."""

from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.records import TEXT_ID
from weibo_crawler.store.sql.cursor import pack_ids, part_of_packed, unpack_ids

LISTS = st.lists(st.integers(0, 2**64 - 1)) | st.lists(st.from_regex(TEXT_ID, fullmatch=True))


@given(LISTS)
def test_lists_come_back(ids: list[int] | list[str]) -> None:
    """And each of their ids is found in them without reading them."""
    packed = pack_ids(ids)
    assert list(unpack_ids(packed)) == ids
    assert all(part_of_packed(one) in packed for one in ids)

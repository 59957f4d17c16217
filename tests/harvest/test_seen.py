"""The seen-set beside a plain set of Python."""

import tracemalloc
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.harvest.seen import SeenSet

TOP = 2**64 - 1
# near the places where Roaring cuts the ids into containers, close together, and anywhere
IDS = st.one_of(
    st.integers(0, TOP),
    st.integers(0, 100),
    st.builds(
        lambda bits, off: min(max((1 << bits) + off, 0), TOP),
        st.integers(14, 64),
        st.integers(-2, 2),
    ),
)
PAGES = st.lists(st.lists(IDS, max_size=20), max_size=20)


@given(known=st.lists(IDS), pages=PAGES, others=st.lists(IDS))
def test_the_seen_set_is_exact(known: list[int], pages: list[list[int]], others: list[int]) -> None:
    """It holds whom it was given, once, and nobody else, over the whole range of ids."""
    seen, plain = SeenSet(iter(known)), set(known)
    for page in pages:
        assert [uid in seen for uid in page] == [uid in plain for uid in page]
        seen.add_all(iter(page))
        plain.update(page)
        assert len(seen) == len(plain)
    for uid in [*plain, *others, *(uid ^ 1 for uid in plain), *(uid ^ 1 << 32 for uid in plain)]:
        assert (uid in seen) == (uid in plain)


@given(pages=st.lists(st.lists(st.sampled_from("abcdefg"), max_size=9), max_size=9))
def test_texts_are_held_as_exactly(pages: list[list[str]]) -> None:
    """Where a site calls its users by texts."""
    seen, plain = SeenSet(), set[str]()
    for page in pages:
        assert [uid in seen for uid in page] == [uid in plain for uid in page]
        seen.add_all(page)
        plain.update(page)
        assert len(seen) == len(plain)


def test_a_restart_holds_no_list_of_all_ids() -> None:
    """Known ids are taken over some at a time, however many there are."""
    held = []

    def known() -> Iterator[int]:
        for uid in range(10**9, 10**9 + 200_000):
            if uid % 5_000 == 0:
                held.append(tracemalloc.get_traced_memory()[0])
            yield uid

    tracemalloc.start()
    try:
        assert len(SeenSet(known())) == 200_000
    finally:
        tracemalloc.stop()
    assert max(held) < 2_000_000  # a list of all: 8,000,000


def test_containers_of_every_kind_are_exact() -> None:
    """Ids without a gap, dense ones, and spread ones: Roaring stores each in its own way."""
    for step in (1, 3, 627):
        ids = range(5 * 10**9, 5 * 10**9 + 20_000 * step, step)
        seen = SeenSet(ids)
        around = range(ids.start - step, ids.stop + step)
        assert len(seen) == len(ids)
        assert [uid for uid in around if uid in seen] == list(ids)

"""Who gets which egress: the laws of `allot`, by many cases."""

from collections import Counter
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.store.sql.egress_shares import Contender, Standing, allot

P = frozenset({"p"})


def _contenders(n: int) -> list[Contender]:
    return [Contender(f"c{i}", P, float(i)) for i in range(n)]


def _settle(
    contenders: list[Contender], egresses: dict[str, Standing], now: float = 0.0
) -> dict[str, Standing]:
    """Deal out until nothing moves; who is asked hands back at once."""
    for _ in range(50):
        done = allot(contenders, egresses, now=now, slice_s=1e9)
        if not any(done):
            return egresses
        for name, owner in done.grants.items():
            assert egresses[name].holder is None
            egresses[name] = egresses[name]._replace(holder=owner, since=now, recalled=False)
        for name in done.recalls:
            assert egresses[name].holder is not None
            egresses[name] = egresses[name]._replace(holder=None)
    raise AssertionError("it never comes to rest")


@given(
    st.integers(1, 12),
    st.lists(st.none() | st.integers(0, 11), max_size=40),
)
def test_shares_are_even_and_come_to_rest(n: int, holders: list[int | None]) -> None:
    """From any beginning, all usable egresses are held and nobody has more than its share."""
    egresses = {
        f"e{i}": Standing(P, None if h is None or h >= n else f"c{h}")
        for i, h in enumerate(holders)
    }
    settled = _settle(_contenders(n), egresses)
    held = Counter(s.holder for s in settled.values())
    assert None not in held
    assert all(len(settled) // n <= held[c.owner] <= ceil(len(settled) / n) for c in _contenders(n))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.booleans()), max_size=30))
def test_what_is_out_counts_for_nobody(rows: list[tuple[str, int, bool]]) -> None:
    """Resting egresses are neither given away nor counted."""
    egresses = {
        f"e{i}": Standing(P, f"c{owner}" if owner < 2 else None, 0.0, False, ready, ready)
        for i, (_, owner, ready) in enumerate(rows)
    }
    usable = sum(s.is_usable for s in egresses.values())
    settled = _settle(_contenders(2), dict(egresses))
    held = Counter(s.holder for s in settled.values() if s.is_usable)
    assert sum(held.values()) == usable
    assert all(usable // 2 <= held[f"c{i}"] <= ceil(usable / 2) for i in range(2))
    for name, before in egresses.items():
        if not before.is_usable:
            assert settled[name].holder == before.holder


def test_who_waits_is_owed_the_oldest() -> None:
    """Two egresses, three processes: nothing moves within a slice, then the one held longest is
    asked for, once."""
    egresses = {"a": Standing(P, "c0", 10.0), "b": Standing(P, "c1", 5.0)}
    assert not any(allot(_contenders(3), egresses, now=60.0, slice_s=60.0))
    assert allot(_contenders(3), egresses, now=66.0, slice_s=60.0).recalls == ["b"]
    egresses["b"] = egresses["b"]._replace(recalled=True)
    assert not any(allot(_contenders(3), egresses, now=99.0, slice_s=60.0))
    egresses["b"] = Standing(P)
    waiting = _contenders(3)
    waiting[1] = waiting[1]._replace(waits_since=99.0)
    assert allot(waiting, egresses, now=99.0, slice_s=60.0).grants == {"b": "c2"}


def test_who_is_to_hand_one_back_holds_up_nobody() -> None:
    """It came first, and holds all: the others are owed two each, of which one is on its way."""
    egresses = {f"e{n}": Standing(P, "c0", recalled=n == 0) for n in range(6)}
    assert len(allot(_contenders(3), egresses, now=0.0, slice_s=60.0).recalls) == 3


def test_each_has_what_only_it_can_use() -> None:
    """Pools that nobody shares are nobody else's business."""
    contenders = [Contender("x", frozenset({"q"}), 0.0), Contender("y", frozenset({"r"}), 1.0)]
    egresses = {f"q{n}": Standing(frozenset({"q"})) for n in range(5)}
    egresses |= {"r": Standing(frozenset({"r"}))}
    settled = _settle(contenders, egresses)
    assert Counter(s.holder for s in settled.values()) == {"x": 5, "y": 1}

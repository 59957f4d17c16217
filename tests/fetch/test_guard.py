from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.fetch.guard import Guard


def test_a_window_of_refusals_trips() -> None:
    """Refusals over their share of a full window trip it, and it says who, what, since when, and
    what to do."""
    guard = Guard(0.9, 10)
    guard.note(False, "", "direct", 0.0)
    for n in range(8):
        guard.note(True, "418", f"10.0.0.{n % 4}:80", 60.0 + n)
        assert not guard.tripped
    guard.note(True, "captcha", "direct", 70.0)
    assert "the site says no: 9 of the last 10 requests since 1970-01-01 00:01:00" in guard.tripped
    assert "by 5 egresses (10.0.0.0:80 2 x, 10.0.0.1:80 2 x, 10.0.0.2:80 2 x, …): 8 x 418" in (
        guard.tripped
    )
    assert "what was under way goes back" in guard.tripped
    assert "pace.requests_per_second" in guard.tripped


def test_one_refusal_each_says_nothing_of_the_site() -> None:
    """Many egresses that begin in step above the limit are refused together; two each, and nothing
    else, is a site that says no to all."""
    guard, names = Guard(0.9, 50), [f"10.0.0.{n}:80" for n in range(200)]
    for is_refused in (False, True, False, True, False):
        for name in names:
            guard.note(is_refused, "418", name, 0.0)
    assert not guard.tripped
    for n in range(360):
        assert not guard.tripped
        guard.note(True, "418", names[n % 200], 0.0)
    assert "360 of the last 400" in guard.tripped


def test_drift_needs_no_second_answer_of_each() -> None:
    """A changed shape shows in the last stop_window pages, however many egresses there are."""
    guard = Guard(0.9, 10, drift_share=0.5)
    for n in range(100):
        guard.note(False, "", f"10.0.0.{n}:80", 0.0)
    for n in range(5):
        assert not guard.tripped
        guard.drifted("$.data.cards", f"10.0.0.{n}:80", 1.0)
    assert guard.tripped.startswith("the site changed its shape: 5 of the last 10 pages")


def test_silence_trips() -> None:
    """A window without usable answers trips it as well, with a word of its own."""
    guard = Guard(0.9, 10)
    for n in range(10):
        guard.silent("no connection: Connection refused", "direct", float(n))
    assert guard.tripped.startswith("the site does not answer: 10 of the last 10")
    assert "Connection refused" in guard.tripped


def test_silence_and_refusals_add_up() -> None:
    """A site that refuses half and drops half is no better."""
    guard = Guard(1.0, 10)
    for n in range(5):
        guard.silent("stalled", "direct", float(n))
        guard.note(True, "403", "direct", float(n))
    assert guard.tripped


def test_a_change_of_shape_trips() -> None:
    """Drifted pages over their share of a full window trip it, and it names the paths."""
    guard = Guard(0.9, 10, drift_share=0.2)
    guard.drifted("$.data.cards", "direct", 0.0)
    for n in range(8):
        guard.note(False, "", "direct", float(n))
    assert not guard.tripped
    guard.drifted("$.data.cards[0].mblog.text", "direct", 9.0)
    assert guard.tripped.startswith("the site changed its shape: 2 of the last 10 pages")
    assert "$.data.cards[0].mblog.text" in guard.tripped


def test_it_stays_tripped() -> None:
    """Good answers that were on their way do not undo it."""
    guard = Guard(0.5, 2)
    for refused in (True, True, False, False, False):
        guard.note(refused, "403", "direct", 0.0)
    assert guard.tripped


def test_drift_has_a_share_of_its_own() -> None:
    """Pages of an unknown shape trip it at drift_share, and the message names the paths."""
    guard = Guard(0.9, 10, drift_share=0.5)
    for n in range(5):
        guard.note(False, "", "direct", float(n))
        assert not guard.tripped
        guard.drifted("$.data.cards", "direct", float(n))
    assert guard.tripped.startswith("the site changed its shape: 5 of the last 10 pages")
    assert "$.data.cards" in guard.tripped


def test_drift_is_no_refusal() -> None:
    """Drift does not add to the refusals."""
    guard = Guard(0.9, 10, drift_share=0.9)
    for n in range(40):
        (guard.drifted if n % 2 else guard.silent)("", "direct", float(n))
    assert not guard.tripped


@given(
    share=st.floats(0.05, 1.0),
    window=st.integers(2, 30),
    notes=st.lists(st.sampled_from(["ok", "refused", "silent"]), max_size=80),
)
def test_it_trips_exactly_at_its_share(share: float, window: int, notes: list[str]) -> None:
    """It is tripped if and only if some full window held its share of bad answers."""
    guard = Guard(share, window)
    for n, note in enumerate(notes):
        if note == "silent":
            guard.silent("", "direct", float(n))
        else:
            guard.note(note == "refused", "", "direct", float(n))
    windows = [notes[n - window : n] for n in range(window, len(notes) + 1)]
    bad = [sum(note != "ok" for note in seen) >= share * window - 1e-9 for seen in windows]
    assert bool(guard.tripped) == any(bad)

"""Second looks as an experiment: all while they may pay, a sample when they do not."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.samples import Figures, Samples, looks_to_come

KIND = "fans.end"
LIMIT = 0.01


def meet(samples: Samples, n: int, share: float, rng: Random, kind: str = KIND) -> int:
    """So many ends, of which a second look opens this share; how many were looked at."""
    looks = 0
    for _ in range(n):
        if samples.wants(kind, rng):
            looks += 1
            samples.looked(kind, found=rng.random() < share)
    return looks


def test_all_are_looked_at_until_finding_nothing_says_something() -> None:
    """149 looks without a find: had two of 100 shown more, that would happen in one case of 20.
    From 299 ends on, of which one is left, the others hardly matter; then a sample is enough."""
    samples, rng = Samples(LIMIT), Random(1)
    assert meet(samples, 149, 0.0, rng) == 149
    assert meet(samples, 712, 0.0, rng) <= 100
    assert 20 <= meet(samples, 1000, 0.0, rng) <= 100
    (figures,) = samples.figures().values()
    assert figures.ends == 1861
    assert figures.finds == 0
    assert figures.most < 2 * LIMIT


@given(n=st.integers(1, 3000), seed=st.integers(0, 10**6))
def test_what_is_left_may_hide_no_more_than_the_limit(n: int, seed: int) -> None:
    """However many ends there are: of all of them fewer than 1 in 100 are left that may show more,
    as far as the looks tell, at 95 %."""
    samples = Samples(LIMIT)
    meet(samples, n, 0.0, Random(seed))
    (figures,) = samples.figures().values()
    assert figures.unlooked * figures.most <= LIMIT * figures.ends + 1


@pytest.mark.parametrize("share", [0.005, 0.01, 0.02, 0.05])
@pytest.mark.parametrize("n", [300, 900])
def test_what_is_lost_is_within_the_limit(n: int, share: float) -> None:
    """Whatever share of them a second look would open: in 95 of 100 crawls fewer than 1 in 100 of
    all ends are left that one would have opened."""
    over = sum(_lost(n, share, Random(seed)) > LIMIT * n for seed in range(100))
    assert over <= 5


def _lost(n: int, share: float, rng: Random) -> int:
    """How many of so many ends are left that a second look would open."""
    samples, lost = Samples(LIMIT), 0
    for _ in range(n):
        is_open = rng.random() < share
        if samples.wants(KIND, rng):
            samples.looked(KIND, found=is_open)
        else:
            lost += is_open
    return lost


def test_a_sort_of_ends_is_left_where_its_own_looks_show_nothing() -> None:
    """Though looks at other ends of the kind show more; those go on."""
    samples, rng, sort = Samples(LIMIT), Random(1), f"{KIND}:blank"
    others = blank = 0
    for nth in range(600):
        others += meet(samples, 1, 0.05, rng)
        blank += meet(samples, 1, 0.0, rng, sort if nth % 2 else "fans.named:blank")
    assert others >= 595
    assert blank <= 300
    assert samples.is_rare(sort)
    assert not samples.has_found(sort)
    assert not samples.is_rare(KIND)
    assert samples.has_found(KIND)


def test_a_sort_of_ends_is_left_with_all_of_its_kind() -> None:
    """So a sort of which a crawl meets few pays for no looks of its own."""
    samples, rng, sort = Samples(LIMIT), Random(1), f"{KIND}:blank"
    meet(samples, 1000, 0.0, rng)
    assert meet(samples, 100, 0.0, rng, sort) <= 15
    assert not samples.has_found(sort)
    figures = samples.figures()
    assert figures[KIND].ends == 1100
    assert figures["fans:blank"].ends == 100


@given(seed=st.integers(0, 10**6), share=st.floats(0.1, 1.0))
def test_what_often_shows_more_is_always_looked_at(seed: int, share: float) -> None:
    samples = Samples(LIMIT)
    assert meet(samples, 700, share, Random(seed)) >= 690


@pytest.mark.parametrize("seed", range(20))
def test_a_change_is_noticed(seed: int) -> None:
    """A site that begins to hide: within 600 ends all are looked at again."""
    samples, rng = Samples(LIMIT), Random(seed)
    meet(samples, 1000, 0.0, rng)
    meet(samples, 600, 0.3, rng)
    assert meet(samples, 100, 0.3, rng) == 100


looks = st.dictionaries(st.sampled_from("abc"), st.text("01", min_size=1, max_size=600))


def look(samples: Samples, seen: dict[str, str]) -> None:
    for kind, marks in seen.items():
        for mark in marks:
            samples.wants(kind, Random(1))
            samples.looked(kind, found=mark == "1")


def exchange(samples: Samples, note: str | None) -> str | None:
    """The note with what this run has counted, None: that is nothing."""
    news = samples.news()
    told = news(note) if news else None
    samples.learn(told or note)
    return told


@given(looks, looks, looks)
def test_runs_learn_from_one_another(
    first: dict[str, str], second: dict[str, str], third: dict[str, str]
) -> None:
    """A later run goes on where the last one stood; of two at once each gets what the other one
    noted, and nothing is counted twice."""
    one, other = Samples(LIMIT), Samples(LIMIT)
    look(one, first)
    note = exchange(one, None)
    assert (note is not None) == bool(first)
    assert exchange(one, note) is None
    look(other, second)
    note = exchange(other, note) or note
    look(one, third)
    note = exchange(one, note) or note
    assert exchange(other, note) is None
    assert one.figures() == other.figures()
    for kind in {*first, *second, *third}:
        all_looks = "".join(seen.get(kind, "") for seen in (first, second, third))
        figures = one.figures()[kind]
        assert figures[:3] == (len(all_looks), len(all_looks), all_looks.count("1"))
        latest = all_looks[-500:]
        assert one.has_found(kind) == ("1" in latest or len(latest) < 100)


@given(looks, looks, looks, looks)
def test_what_runs_tell_at_once_is_counted_once(
    first: dict[str, str], second: dict[str, str], third: dict[str, str], fourth: dict[str, str]
) -> None:
    """Both add to what the note holds then, also by a change that is made again; what a run counts
    while the note is written is told the next time."""
    one, other = Samples(LIMIT), Samples(LIMIT)
    look(one, first)
    look(other, second)
    mine, theirs = one.news(), other.news()
    look(one, third)
    look(other, fourth)
    note = None
    for news in (mine, theirs):
        if news is not None:
            again, note = news(note), news(note)
            assert again == note
    one.learn(note)
    other.learn(note)
    note = exchange(one, note) or note
    note = exchange(other, note) or note
    one.learn(note)
    assert one.figures() == other.figures()
    for kind, figures in one.figures().items():
        parts = (first, second, third, fourth)
        assert figures.looks == figures.ends == sum(len(part.get(kind, "")) for part in parts)


def test_looks_that_would_save_others_some_are_news() -> None:
    """Ten looks, as long as they may tell that a sample is enough; not what it tells then, nor
    where looks show more again and again, or all ends are looked at by order."""
    samples = Samples(LIMIT)
    look(samples, {KIND: "0" * 9})
    assert not samples.is_news
    look(samples, {KIND: "0"})
    assert samples.is_news
    exchange(samples, None)
    assert not samples.is_news
    look(samples, {KIND: "0" * 400})
    assert not samples.is_news
    look(samples, {"texts.cut": "1" * 20})
    assert not samples.is_news
    unlimited = Samples(0.0)
    look(unlimited, {KIND: "0" * 20})
    assert not unlimited.is_news


@pytest.mark.parametrize("note", ["", "[]", "no", "{", '{"a": [1, 1, 0]}', '{"a": [1, 1, 0, "x"]}'])
def test_an_odd_note_is_as_none(note: str) -> None:
    samples = Samples(LIMIT)
    assert exchange(samples, note) is None
    assert samples.figures() == {}


def test_without_a_limit_all_are_looked_at() -> None:
    assert meet(Samples(0.0), 5000, 0.0, Random(1)) == 5000


@pytest.mark.parametrize(("n", "finds", "most"), [(0, 0, 1.0), (299, 0, 0.01), (100, 3, 0.0757)])
def test_the_bound_is_that_of_clopper_and_pearson(n: int, finds: int, most: float) -> None:
    """The figures are those of published tables."""
    samples = Samples(LIMIT)
    samples.wants(KIND, Random(1))
    look(samples, {KIND: "1" * finds + "0" * (n - finds)})
    assert samples.figures()[KIND].most == pytest.approx(most, abs=3e-4)


@pytest.mark.parametrize(
    ("figures", "ends", "looks"),
    [
        (Figures(0, 0, 0, 1.0), 100, 100),  # all, as nothing is known
        (Figures(100, 100, 0, 0.03), 100, 49.5),  # until 149 have shown nothing
        (Figures(100, 100, 0, 0.03), 499, 99.4),  # then so many that few are left of all ends
        (Figures(900, 330, 0, 0.01), 200, 10),  # one of twenty
        (Figures(100, 50, 3, 0.1), 200, 100),  # as often as so far
        (Figures(50, 0, 0, 1.0), 100, 0),  # none of them could be looked at
        (Figures(100, 50, 0, 0.06), 100, 50),
    ],
)
def test_looks_to_come_follow_the_experiment(figures: Figures, ends: int, looks: float) -> None:
    """As many as `wants` is likely to want."""
    assert looks_to_come(KIND, figures, ends) == pytest.approx(looks, abs=0.1)

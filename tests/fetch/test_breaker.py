from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weibo_crawler.fetch.breaker import Breaker, Look, Sign
from weibo_crawler.records import Kind

# -- refusals and silence


def test_a_window_of_refusals_trips() -> None:
    """Refusals over their share of a full window trip it, and it says who, what, since when, and
    what to do."""
    breaker = Breaker(0.9, 10)
    breaker.note(Sign.ANSWERED, "", "direct", 0.0)
    for n in range(8):
        breaker.note(Sign.REFUSED, "418", f"10.0.0.{n % 4}:80", 60.0 + n)
        assert not breaker.tripped
    breaker.note(Sign.REFUSED, "captcha", "direct", 70.0)
    for words in (
        "the site says no: 9 of the last 10 requests since 1970-01-01 00:01:00",
        "by 5 egresses (10.0.0.0:80 2 x, 10.0.0.1:80 2 x, 10.0.0.2:80 2 x, …): 8 x 418",
        "what was under way goes back",
        "pace.requests_per_second",
    ):
        assert words in breaker.tripped


def test_what_is_refused_again_tells_where_all_are_refused() -> None:
    """Words that nobody knows may be one page's, however often it is asked for; where ten refusals
    came in a row they are the site's, and each further one counts."""
    breaker = Breaker(0.9, 50)
    for n in range(400):
        breaker.note(Sign.REFUSED if n % 4 == 0 else Sign.REFUSED_AGAIN, "odd", "direct", float(n))
        if n % 20 == 19:
            breaker.note(Sign.ANSWERED, "", "direct", float(n))
    assert not breaker.tripped
    breaker = Breaker(0.9, 50)
    for n in range(50):
        assert not breaker.tripped
        breaker.note(Sign.REFUSED if n < 10 else Sign.REFUSED_AGAIN, "odd", "direct", float(n))
    assert "50 of the last 50" in breaker.tripped


def test_one_refusal_each_says_nothing_of_the_site() -> None:
    """Many egresses that begin in step above the limit are refused together; two each, and nothing
    else, is a site that says no to all."""
    breaker, names = Breaker(0.9, 50), [f"10.0.0.{n}:80" for n in range(200)]
    for is_refused in (False, True, False, True, False):
        for name in names:
            breaker.note(Sign.REFUSED if is_refused else Sign.ANSWERED, "418", name, 0.0)
    assert not breaker.tripped
    for n in range(360):
        assert not breaker.tripped
        breaker.note(Sign.REFUSED, "418", names[n % 200], 0.0)
    assert "360 of the last 400" in breaker.tripped


def test_a_quota_is_no_end() -> None:
    """Egresses that were answered and rest for refusals may be at what the site allows in an hour:
    the run stops where these are their share of the last hour, too. At once where hardly anything
    else came, where nobody rests, and where no rest spares anybody."""
    for answers, rests, is_patient, least_s in (
        (1000, True, True, 3540),
        (1000, False, True, 0),
        (1000, True, False, 0),
        (4, True, True, 0),
    ):
        breaker, now = Breaker(0.9, 50, is_patient=is_patient), 0.0
        for _ in range(answers):
            breaker.note(Sign.ANSWERED, "", "direct", now)
        for _ in range(250):
            now += 20.0
            breaker.note(Sign.REFUSED, "418", "direct", now, rests=rests)
            if breaker.tripped:
                break
        assert breaker.tripped
        assert least_s <= now <= max(least_s, 50 * 20.0) + 120


def test_silence_trips() -> None:
    """A window without usable answers trips it as well, with a word of its own."""
    breaker = Breaker(0.9, 10)
    for n in range(10):
        breaker.note(Sign.SILENT, "no connection: Connection refused", "direct", float(n))
    assert breaker.tripped.startswith("the site does not answer: 10 of the last 10")
    assert "Connection refused" in breaker.tripped


def test_silence_and_refusals_add_up() -> None:
    """A site that refuses half and drops half is no better."""
    breaker = Breaker(1.0, 10)
    for n in range(5):
        breaker.note(Sign.SILENT, "stalled", "direct", float(n))
        breaker.note(Sign.REFUSED, "403", "direct", float(n))
    assert breaker.tripped


def test_it_stays_tripped() -> None:
    """Good answers that were on their way do not undo it, and the first reason stands."""
    breaker = Breaker(0.5, 2)
    for sign in (Sign.REFUSED, Sign.REFUSED, Sign.ANSWERED, Sign.ANSWERED, Sign.ANSWERED):
        breaker.note(sign, "403", "direct", 0.0)
    breaker.stop("another reason")
    assert breaker.tripped.startswith("the site says no")


@example(share=0.5, window=2, signs=[Sign.REFUSED, Sign.ANSWERED])
@given(
    share=st.floats(0.05, 1.0),
    window=st.integers(2, 30),
    signs=st.lists(st.sampled_from([Sign.ANSWERED, Sign.REFUSED, Sign.SILENT]), max_size=80),
)
def test_it_trips_exactly_at_its_share(share: float, window: int, signs: list[Sign]) -> None:
    """It is tripped if and only if some full window held its share of bad answers."""
    breaker = Breaker(share, window)
    for n, sign in enumerate(signs):
        breaker.note(sign, "", "direct", float(n))
    windows = [signs[n - window : n] for n in range(window, len(signs) + 1)]
    bad = [sum(s is not Sign.ANSWERED for s in seen) >= share * window - 1e-9 for seen in windows]
    assert bool(breaker.tripped) == any(bad)


# -- drift


def drift(breaker: Breaker, n: int, uid: int) -> None:
    breaker.note(Sign.DRIFTED, "$.data.cards", f"10.0.0.{n}:80", float(n), uid=uid)


def test_a_change_of_shape_trips() -> None:
    """Drifted pages clearly over their share of the last fifty trip it, however many egresses there
    are; it names how many, of how many users, and the paths."""
    breaker = Breaker(0.9, 10, drift_share=0.2)
    for n in range(60):
        breaker.note(Sign.ANSWERED, "", f"10.0.0.{n}:80", 0.0)
    for n in range(19):
        assert not breaker.tripped
        drift(breaker, n, uid=n)
    words = "the site changed its shape: 19 of the last 50 pages, of 19 users"
    assert breaker.tripped.startswith(words)
    assert "$.data.cards" in breaker.tripped


@pytest.mark.parametrize("seed", range(10))
def test_a_share_below_the_setting_never_trips(seed: int) -> None:
    """Of ten thousand pages some fifty in a row hold far more odd ones than their share."""
    rng, breaker = Random(seed), Breaker(0.9, 10, drift_share=0.2)
    for n in range(10_000):
        if rng.random() < 0.12:
            drift(breaker, n, uid=n)
        else:
            breaker.note(Sign.ANSWERED, "", "10.0.0.1:80", 0.0)
    assert not breaker.tripped


def test_few_pages_make_no_share() -> None:
    """Below fifty pages nothing is said of the site, however small its window is set."""
    breaker = Breaker(0.9, 3, drift_share=0.2)
    for n in range(49):
        drift(breaker, n, uid=n)
    assert not breaker.tripped
    drift(breaker, 49, uid=49)
    assert breaker.tripped


@given(users=st.integers(1, 20))
def test_few_users_make_no_new_shape(users: int) -> None:
    """Pages of ten users at least: one odd user with many pages stops no run."""
    breaker = Breaker(0.9, 50, drift_share=0.2)
    for n in range(200):
        drift(breaker, n, uid=n % users)
    assert bool(breaker.tripped) == (users >= 10)


def test_drift_is_no_refusal() -> None:
    """Drift does not add to the refusals."""
    breaker = Breaker(0.9, 10)
    for n in range(40):
        breaker.note(Sign.DRIFTED if n % 2 else Sign.SILENT, "", "direct", float(n), uid=n)
    assert not breaker.tripped


# -- emptiness


def look(breaker: Breaker, n: int, is_empty: Callable[[], bool], asked: int = 10**9) -> int:
    """So many looks; how many until it tripped. asked: from then on at what was shown before."""
    for i in range(n):
        if breaker.tripped:
            return i
        breaker.looked(Look(Kind.FANS, is_empty(), "direct", float(i), was_shown=i >= asked))
    return n


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.6])
def test_lawful_emptiness_stops_no_run(share: float) -> None:
    """A site that has always shown nothing to so many is as it is: 100,000 looks, no false stop,
    and for nearly all of the time it is known to be talking."""
    dice, breaker, talking = Random(1), Breaker(0.9, 50), 0
    for n in range(100_000):
        breaker.looked(Look(Kind.FANS, dice.random() < share, "direct", float(n)))
        talking += breaker.is_talking
    assert not breaker.tripped
    assert talking > 90_000


@pytest.mark.parametrize("seed", range(200))
def test_few_looks_stop_no_run(seed: int) -> None:
    """Nor is it stopped while little is known of what is usual."""
    dice, breaker = Random(seed), Breaker(0.9, 50)
    assert look(breaker, 300, lambda: dice.random() < 0.6) == 300
    assert not breaker.tripped


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("before", [0, 5, 50, 5000])
@pytest.mark.parametrize(("asked", "most"), [(10, 30), (10**9, 150)])
def test_a_site_that_falls_silent_stops_the_run(
    share: float, before: int, asked: int, most: int
) -> None:
    """Within thirty looks, whatever was usual and however long it talked, where after ten others
    are asked for that were shown before; else within 150."""
    for seed in range(20):
        dice, breaker = Random(seed), Breaker(0.9, 50)
        look(breaker, before, lambda dice=dice: dice.random() < share)  # type: ignore[misc]
        assert not breaker.tripped
        is_empty = [dice.random() < 0.98 for _ in range(most)]
        assert look(breaker, most, is_empty.pop, asked) < most


@pytest.mark.parametrize(("kind", "looks"), [(Kind.FANS, 36), (Kind.POSTS, 24), (Kind.PROFILE, 12)])
def test_a_silence_of_one_kind_stops_the_run(kind: Kind, looks: int) -> None:
    """What is shown of other kinds does not refute it; nor does it talk meanwhile. Without a
    witness it takes longer, but for profiles, which nobody hides; more people hide lists than
    posts."""
    breaker = Breaker(0.9, 50)
    kinds = (Kind.FANS, Kind.POSTS, Kind.PROFILE)
    for n in range(100):
        breaker.looked(Look(kinds[n % 3], False, "direct", float(n)))
    for n in range(looks):
        assert not breaker.tripped
        assert breaker.is_talking is (n < 4)
        for one in kinds:
            breaker.looked(Look(one, one is kind, "direct", float(n)))
    said = f"{looks} of the last {looks} first looks at what is known to hold something ({kind})"
    assert said in breaker.tripped


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_witness_that_is_shown_refutes_a_silence(is_gone: bool) -> None:
    """However many are hidden, or gone, in a row, if one that was shown before is shown again after
    twenty each time; two of such witnesses may be gone themselves."""
    kind = Kind.PROFILE if is_gone else Kind.FANS
    breaker = Breaker(0.9, 50)
    look(breaker, 50, lambda: False)
    for n in range(100):
        for _ in range(20):
            breaker.looked(Look(kind, True, "direct", float(n), is_gone=is_gone))
        for is_empty in (True, True, False):
            breaker.looked(Look(kind, is_empty, "direct", float(n), True, is_gone))
        assert not breaker.tripped
        assert breaker.is_talking


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("share", [0.05, 0.1, 0.3])
def test_a_site_that_forgets_at_times_is_not_silent(seed: int, share: float) -> None:
    """It shows what it showed before to most, not to all: how often is learned; and when it falls
    silent it is found within thirty looks."""
    dice, breaker = Random(seed), Breaker(0.9, 50)
    look(breaker, 20, lambda: False)
    assert look(breaker, 3000, lambda: dice.random() < share, asked=0) == 3000
    assert look(breaker, 60, lambda: True, asked=0) < 30


def test_the_words_for_a_site_that_says_gone() -> None:
    """Of everybody, and so in its own word."""
    breaker = Breaker(0.9, 50)
    look(breaker, 50, lambda: False)
    for n in range(20):
        breaker.looked(Look(Kind.PROFILE, True, "direct", float(n), n > 9, is_gone=True))
    words = "the site says that everybody is gone: 14 of the last 14 first looks"
    assert breaker.tripped.startswith(words)
    assert "that cannot be: it no longer talks to us" in breaker.tripped


def test_the_words_for_a_silent_site() -> None:
    """How many, since when, by whom, what is usual, what became of the users, what to do."""
    breaker = Breaker(0.9, 50)
    for n in range(100):
        breaker.looked(Look(Kind.FANS, n % 20 == 0, "direct", float(n)))
    for n in range(60):
        breaker.looked(Look(Kind.FANS, True, f"10.0.0.{n % 2}:80", 3600.0 + n, n >= 9))
    for words in (
        "the site shows nothing: 12 of the last 12 first looks",
        "since 1970-01-01 01:00:00 UTC",
        "by 2 egresses (10.0.0.0:80 6 x, 10.0.0.1:80 6 x)",
        "30 % at most is usual",
        "nobody stays marked as gone or done",
        "come back",
    ):
        assert words in breaker.tripped


@pytest.mark.parametrize("seed", range(5))
def test_one_throttled_egress_stops_no_run(seed: int) -> None:
    """Of twenty egresses one is shown nothing: another one disproves each of its empty answers some
    looks later, and they are taken back."""
    dice, breaker, waiting = Random(seed), Breaker(0.9, 50), []
    for n in range(20_000):
        egress = dice.randrange(20)
        if dice.random() < 0.2:  # looks come in bursts by the same egress
            egress = 0
        seen = Look(Kind.FANS, egress == 0 or dice.random() < 0.05, str(egress), float(n))
        breaker.looked(seen)
        if egress == 0:
            waiting.append(seen)
        if len(waiting) > 4:
            breaker.take_back(waiting.pop(0))
    assert not breaker.tripped
    assert breaker.is_talking


@given(
    looks=st.lists(st.booleans(), max_size=40),
    wrong=st.lists(st.integers(0, 39), unique=True, max_size=20),
)
def test_what_is_taken_back_was_never_there(looks: list[bool], wrong: list[int]) -> None:
    """A silence that is taken back altogether leaves no trace in what comes after."""
    breaker, other = Breaker(0.9, 50), Breaker(0.9, 50)
    all_looks = [Look(Kind.FANS, is_empty, "direct", float(n)) for n, is_empty in enumerate(looks)]
    for one in all_looks:
        breaker.looked(one)
    for n in wrong:
        false = Look(Kind.FANS, True, "throttled", 100.0 + n)
        breaker.looked(false)
        if not breaker.tripped:
            breaker.take_back(false)
    for one in all_looks:
        other.looked(one)
    if not breaker.tripped:
        assert breaker.is_talking == other.is_talking
        assert look(breaker, 99, lambda: True) == look(other, 99, lambda: True)


def test_what_is_taken_back_late_is_not_usual() -> None:
    """Emptiness that was disproved after the next good answers does not count as usual."""
    breaker = Breaker(0.9, 50)
    for n in range(200):
        false = Look(Kind.FANS, True, "throttled", float(n))
        shown = Look(Kind.FANS, False, "direct", 0.0)
        for one in (false, shown, shown):
            breaker.looked(one)
        breaker.take_back(false)
    assert look(breaker, 99, lambda: True) == 36


def test_who_talks() -> None:
    """Nothing is known of a site that has shown nothing yet; one that has, talks until it shows
    nothing a few times in a row, and again when it shows something."""
    breaker = Breaker(0.9, 50)
    assert not breaker.is_talking
    breaker.looked(Look(Kind.FANS, True, "direct", 0.0))
    assert not breaker.is_talking
    breaker.shown()
    assert breaker.is_talking
    for n in range(100):
        breaker.looked(Look(Kind.FANS, False, "direct", float(n)))
    for n in range(4):
        assert breaker.is_talking
        breaker.looked(Look(Kind.FANS, True, "direct", float(n)))
    assert not breaker.is_talking
    assert not breaker.tripped
    for _ in range(2):
        breaker.looked(Look(Kind.FANS, False, "direct", 0.0))
    assert breaker.is_talking


def test_what_may_be_silent() -> None:
    """A site that has shown nothing yet is not suspected of silence before it shows nothing where
    something should be; one that talks is not suspected for one such look."""
    breaker = Breaker(0.9, 50)
    assert not breaker.may_be_silent
    breaker.looked(Look(Kind.FANS, True, "direct", 0.0))
    assert breaker.may_be_silent
    breaker.shown()
    assert not breaker.may_be_silent
    for n in range(20):
        breaker.looked(Look(Kind.FANS, True, "direct", float(n)))
    assert breaker.may_be_silent


@pytest.mark.parametrize("sign", [Sign.REFUSED, Sign.SILENT, Sign.DRIFTED])
def test_texts_alone_stop_no_run(sign: Sign) -> None:
    """Law 15: a site that has closed or lost its whole texts shows pages of users all the same.
    While it does not show these either, texts count as well."""
    breaker = Breaker(0.9, 50, drift_share=0.2)
    breaker.note(Sign.ANSWERED, "", "direct", 0.0)
    for uid in range(500):
        breaker.note(sign, "no", "direct", 1.0, uid=uid, is_of_user=False)
    assert not breaker.tripped
    breaker.note(sign, "no", "direct", 2.0)
    for uid in range(50):
        breaker.note(sign, "no", "direct", 3.0, uid=uid, is_of_user=False)
    assert breaker.tripped

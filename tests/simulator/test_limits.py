"""How much an address may ask for, and the refusals and bans of one that asks for more."""

import json
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulator.conftest import SMALL
from tests.simulator.visitors import fans, posts, profile, visit, weibo_of, world_of
from weibo_crawler.errors import BadUsage
from weibo_crawler.simulator.limits import FORBEARANCE, LONGEST, Limits, Rate, parse_rate
from weibo_crawler.simulator.options import SimulatorOptions

BAN_S = 100.0
FORM = "cb=x&tid=&from=weibo"
RATES = st.builds(Rate, st.integers(1, 20), st.floats(0.5, 100))
GAPS = st.lists(st.floats(0, 5), max_size=60)


TWO_IN_4_S = Rate(2, 4.0)


def limits(rate: Rate = TWO_IN_4_S, *, seed: int = 1, soft: float = 0.0) -> Limits:
    return Limits(rate, seed=seed, ban_s=BAN_S, soft=soft)


def labels(of: Limits, times: list[float], egress: str = "a") -> list[str]:
    refusals = [of.refuse(egress, now) for now in times]
    return ["ok" if refusal is None else refusal.label for refusal in refusals]


def ban(of: Limits, now: float) -> float:
    """Hurry until a ban; returns how long it is."""
    for _ in range(20 + FORBEARANCE):
        refusal = of.refuse("a", now)
        if refusal and refusal.label == "ban":
            return refusal.wait_s
    raise AssertionError("no ban")


@given(RATES, GAPS)
def test_who_keeps_to_the_rate_is_never_refused(rate: Rate, gaps: list[float]) -> None:
    """Requests at least per_s / requests apart all pass."""
    step = rate.per_s / rate.requests * 1.000001  # the bucket counts in floats
    times = list(accumulate([0.0, *gaps], lambda now, gap: now + step + gap))
    assert set(labels(limits(rate), times)) == {"ok"}


@given(RATES, GAPS)
def test_no_more_than_the_rate_passes(rate: Rate, gaps: list[float]) -> None:
    """Of a span t no more passes than requests + t * requests / per_s."""
    times = list(accumulate([0.0, *gaps]))
    pairs = zip(times, labels(limits(rate), times), strict=True)
    passed = [now for now, label in pairs if label == "ok"]
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            span = passed[last] - passed[first]
            assert last - first + 1 <= rate.requests * (1 + span / rate.per_s) + 1e-6


@pytest.mark.parametrize(
    ("gap_s", "words"), [(0.05, "too_long_414"), (0.2, "throttled_418"), (0.6, "throttled")]
)
def test_the_words_depend_on_the_haste(gap_s: float, words: str) -> None:
    """weibo_api.md: 414 at about 10 requests/s, 418 under 0.3 s a request, else errno 100005."""
    assert labels(limits(), [0.0, gap_s, 2 * gap_s]) == ["ok", "ok", words]


def test_more_than_a_few_refusals_bring_a_ban() -> None:
    """FORBEARANCE refusals, then a ban of ban_s for this address alone, whatever it asks; when it
    is over the bucket is full."""
    of = limits()
    hurried = labels(of, [0.0] * (2 + FORBEARANCE + 1))
    assert hurried == ["ok"] * 2 + ["too_long_414"] * FORBEARANCE + ["ban"]
    assert labels(of, [1.0, BAN_S - 0.1]) == ["banned"] * 2
    assert labels(of, [BAN_S - 0.1], "b") == ["ok"]
    assert labels(of, [BAN_S] * 3) == ["ok", "ok", "too_long_414"]


def test_refusals_are_forgotten() -> None:
    """Who is refused once and then again only after more than per_s is never banned."""
    of = limits(Rate(1, 4.0))
    times = [now for k in range(3 * FORBEARANCE) for now in (10.0 * k, 10.0 * k + 1)]
    assert labels(of, times) == ["ok", "throttled"] * (3 * FORBEARANCE)


def test_bans_escalate_and_recover() -> None:
    """A ban soon after a ban is twice as long, up to LONGEST-fold; a quiet time undoes it."""
    of, now, spans = limits(), 0.0, []
    for _ in range(7):
        spans.append(ban(of, now))
        now += spans[-1]
    assert spans[:3] == [BAN_S, 2 * BAN_S, 4 * BAN_S]
    assert all(later in (2 * sooner, LONGEST * BAN_S) for sooner, later in pairwise(spans))
    assert spans[-1] == LONGEST * BAN_S
    assert ban(of, now + spans[-1] + 0.1) == BAN_S


def test_asking_for_sessions_under_a_ban_begins_it_anew() -> None:
    """weibo_api.md: renewing again and again while an address is limited makes it worse."""
    of = limits()
    ban(of, 0.0)
    refusal = of.refuse("a", 60.0, is_session=True)
    assert refusal
    assert (refusal.label, refusal.wait_s) == ("banned", BAN_S)
    assert labels(of, [60.0 + BAN_S - 0.1, 60.0 + BAN_S]) == ["banned", "ok"]


def test_sessions_have_a_limit_of_their_own() -> None:
    """A new session takes nothing from the pages; many at once, as by racing callers, bring a
    ban."""
    of = limits()
    assert [of.refuse("a", 0.0, is_session=True) for _ in range(2)] == [None] * 2
    assert labels(of, [0.0] * 2) == ["ok"] * 2
    racing = [of.refuse("a", 1.0, is_session=True) for _ in range(FORBEARANCE + 1)]
    assert [refusal.label for refusal in racing if refusal][-1] == "ban"


@pytest.mark.parametrize("soft", [0.0, 1.0])
def test_some_refusals_of_lists_look_empty(soft: float) -> None:
    """The ambiguous body (weibo_api.md: it may be soft throttling) comes in the place of a list,
    never of a profile; soft is the share."""
    of = limits(soft=soft)
    labels(of, [0.0, 0.0])
    shown = [of.refuse("a", 0.0, is_list=is_list) for is_list in (True, False)]
    assert [one.label for one in shown if one] == [
        "soft_throttled" if soft else "too_long_414",
        "too_long_414",
    ]


def test_the_same_seed_bans_in_the_same_words() -> None:
    """Both 403 and the captcha are drawn; by seed and address."""

    def words(seed: int) -> list[str]:
        of, found = limits(Rate(1, 1.0), seed=seed), []
        for number in range(40):
            refusals = [of.refuse(f"e{number}", 0.0) for _ in range(2 + FORBEARANCE)]
            found.append(refusals[-1].fault if refusals[-1] else "")
        return found

    assert words(1) == words(1) != words(2)
    assert set(words(1)) == {"refused_403", "captcha"}


@pytest.mark.parametrize(
    "text", ["1", "0/3", "-1/3", "1/0", "1/-3", "1/inf", "1/nan", "a/b", "1.5/3", "/"]
)
def test_a_wrong_rate(text: str) -> None:
    """BadUsage that shows how it is written."""
    with pytest.raises(BadUsage, match=r"--rate-limit: .*1/3"):
        parse_rate(text)


def limited(**knobs: object) -> SimulatorOptions:
    return replace(SMALL, rate_limit="1/3", ban_s=BAN_S, **knobs)  # type: ignore[arg-type]


def test_what_a_limited_visitor_gets() -> None:
    """The site's own words for each refusal, by address; the limit comes before the session."""
    weibo = weibo_of(limited(soft_share=1.0, guests="2026"))
    uid = world_of(SMALL).uid(0)
    got = [visit(weibo, profile(uid), now=now) for now in (0.0, 0.5, 0.7)]
    assert [one.label for one in got] == ["refused_432", "throttled", "throttled_418"]
    assert json.loads(got[1].answer.body)["errno"] == "100005"
    assert got[2].answer.status == 418
    soft = visit(weibo, posts(uid), now=0.75)
    assert (soft.label, json.loads(soft.answer.body)["ok"]) == ("soft_throttled", 0)
    banned = visit(weibo, fans(uid), now=1.0)
    assert banned.label == "ban"
    assert banned.answer.status == 403 or b"captcha/show?" in banned.answer.body
    assert weibo.open_session(FORM, "127.0.0.1", 1.0).label == "banned"
    other = weibo.open_session(FORM, "127.0.0.2", 1.0)
    assert other.label == "session"
    assert visit(weibo, profile(uid), egress="127.0.0.2", now=1.0).label == "sent_to_visitor"


def test_the_visitor_page_is_of_another_host() -> None:
    """It takes nothing from the limit."""
    weibo = weibo_of(limited())
    assert {visit(weibo, "/visitor/visitor?a=enter").label for _ in range(9)} == {"ok"}


@pytest.mark.parametrize("says", [False, True])
def test_retry_after(says: bool) -> None:
    """Only where it is asked for: whole seconds until the next request would pass."""
    weibo = weibo_of(limited(retry_after=says))
    address = profile(world_of(SMALL).uid(0))
    visit(weibo, address, now=0.0)
    headers = dict(visit(weibo, address, now=0.5).answer.headers)
    assert headers.get("Retry-After") == ("3" if says else None)
    assert visit(weibo, address, now=3.0).label == "ok"


def test_without_a_limit_nobody_is_refused() -> None:
    """The default."""
    weibo, address = weibo_of(SMALL), profile(world_of(SMALL).uid(0))
    assert {visit(weibo, address).label for _ in range(100)} == {"ok"}

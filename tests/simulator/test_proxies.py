"""Which proxies there are and what each does, before any network."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.errors import BadUsage
from weibo_crawler.simulator.proxies import HEALTH, MOST_PROXIES, Deed, Proxy, parse_mix, plan

WEIGHTS = st.dictionaries(st.sampled_from(sorted(HEALTH)), st.integers(0, 9))


def planned(count: int, mix: dict[str, float], seed: int = 1, socks: float = 0.0) -> list[Proxy]:
    return list(plan(count, mix, seed=seed, socks=socks, slow_s=2.0, flap_s=20.0))


def deeds(health: str, requests: int = 400) -> Counter[Deed]:
    proxy = Proxy("127.0.1.1", 0, health, "http")
    return Counter(proxy.deed(1, number) for number in range(requests))


@given(WEIGHTS, st.integers(0, 300), st.integers(0, 2**40))
def test_the_mix_is_dealt_exactly(weights: dict[str, int], count: int, seed: int) -> None:
    """As many as asked, each health to the nearest whole number of its share, what is missing from
    1 good."""
    total = max(10, sum(weights.values()))
    mix = parse_mix(",".join(f"{name}={weight / total}" for name, weight in weights.items()))
    dealt = Counter(proxy.health for proxy in planned(count, mix, seed))
    assert sum(dealt.values()) == count
    missing = 1 - sum(mix.values())
    for name in HEALTH:
        share = mix.get(name, 0.0) + (missing if name == "good" else 0.0)
        assert abs(dealt[name] - share * count) < 1


def test_it_follows_from_the_seed() -> None:
    """Another seed deals the same numbers to other places."""
    mix = {"dead": 0.5, "slow": 0.2, "flapping": 0.2}
    assert planned(100, mix, 7) == planned(100, mix, 7)
    one, other = ([proxy.health for proxy in planned(100, mix, seed)] for seed in (7, 8))
    assert one != other
    assert Counter(one) == Counter(other)


def test_addresses() -> None:
    """Each has one of its own, 127.0.1.1 and on; also as many as there may be."""
    addresses = [proxy.address for proxy in planned(MOST_PROXIES, {})]
    assert addresses[:2] == ["127.0.1.1", "127.0.1.2"]
    assert addresses[249:251] == ["127.0.1.250", "127.0.2.1"]
    assert len(set(addresses)) == MOST_PROXIES


def test_slow_ones_and_flapping_ones_differ() -> None:
    """A slow one is late by half to one and a half times slow_s, a flapping one begins anywhere in
    its round; others are neither."""
    proxies = planned(300, {"slow": 0.3, "flapping": 0.3})
    late = {proxy.late_s for proxy in proxies if proxy.health == "slow"}
    phases = {proxy.phase_s for proxy in proxies if proxy.health == "flapping"}
    assert 1.0 <= min(late) < 1.5 < 2.5 < max(late) <= 3.0
    assert 0.0 <= min(phases) < 10.0 < 30.0 < max(phases) < 40.0
    good = {proxy[4:] for proxy in proxies if proxy.health == "good"}
    assert good == {(0.0, 0.0, 0.0)}
    assert any(p.is_up_at_first for p in proxies if p.health == "flapping")
    assert not all(p.is_up_at_first for p in proxies if p.health == "flapping")


def test_deeds_of_each_health() -> None:
    """Good, slow and flapping ones forward all; captive ones nothing; lying and tired ones some."""
    for health in ("good", "slow", "flapping"):
        assert deeds(health) == {Deed.FORWARD: 400}
    assert deeds("captive") == {Deed.PORTAL: 400}
    lying, tired = deeds("lying"), deeds("tired")
    assert lying.keys() == {Deed.FORWARD, Deed.OWN_PAGE, Deed.OTHER_USER}
    assert 150 < lying[Deed.FORWARD] < 250
    assert tired.keys() == {Deed.FORWARD, Deed.STATUS_502, Deed.STATUS_504}
    assert 80 < tired[Deed.FORWARD] < 160
    assert tired == deeds("tired")


@pytest.mark.parametrize(
    "text",
    ["good", "good=x", "good=-0.1", "good=nan", "dead=1.1", "x=0.1", "dead=0.1,dead=0.2", "=1"],
)
def test_a_wrong_mix(text: str) -> None:
    """BadUsage that names the option."""
    with pytest.raises(BadUsage, match="--proxy-mix"):
        parse_mix(text)


def test_too_much_of_it() -> None:
    """BadUsage for shares over 1 in all; 1 by ten tenths is none."""
    with pytest.raises(BadUsage, match="more than 1"):
        parse_mix("good=0.6,dead=0.5")
    assert parse_mix("good=0.7,dead=0.1,slow=0.1,tired=0.1")


def test_socks_share() -> None:
    """So many lines of the file say socks5."""
    proxies = planned(10, {}, socks=0.3)
    urls = [proxy.url(1080, "") for proxy in proxies]
    assert sorted(url.partition(":")[0] for url in urls) == ["http"] * 7 + ["socks5"] * 3


def test_a_line_of_the_file() -> None:
    """With the login in it, percent-encoded."""
    proxy = Proxy("127.0.1.1", 0, "good", "http")
    assert proxy.url(8080, "") == "http://127.0.1.1:8080"
    assert proxy.url(8080, "me@home:a:b/c") == "http://me%40home:a%3Ab%2Fc@127.0.1.1:8080"

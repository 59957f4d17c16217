"""What a crawl needs that does not exist yet: pure."""

from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.planning.outset import Known, Outset, as_dict, lines, needs

MILLION = Outset(users=1_000_000, fresh_s=86_400.0, rate=1 / 3, in_flight=32)


def test_a_crawl_needs_as_many_proxies_as_its_visits_take() -> None:
    """As many requests a user and day, a third of a request a second each, 97 % of that used."""
    need = needs(MILLION._replace(again=Known(1.35, "measured")))
    assert need.per_s == 1_350_000 / 86_400
    assert need.proxies == 49
    assert need.maps == 1
    assert need.regions is None
    assert needs(MILLION._replace(is_hbase=True)).regions is not None


def test_what_is_measured_is_taken() -> None:
    """In place of what is assumed, and the words say so; what is not known is a bound."""
    said = "\n".join(lines(MILLION))
    assert said.count("at most") == 2
    assert "not known yet" in said
    here = Known(2.0, "measured in this crawl, by 500 later visits")
    measured = MILLION._replace(again=here, held=Known(4.0, "measured"), a_day=Known(12.0, "x"))
    assert needs(measured).per_s == 2_000_000 / 86_400
    said = "\n".join(lines(measured))
    assert here.why in said
    assert "at most" not in said
    assert "visit more often" in said  # twelve posts are written between two visits
    assert as_dict(measured)["again"] == here._asdict()


def test_without_a_limit_no_proxy_is_needed() -> None:
    """A site on loopback."""
    free = MILLION._replace(rate=0.0)
    assert needs(free).proxies is None
    assert "no limit" in "\n".join(lines(free))


@given(st.integers(1, 10**9), st.floats(60, 10**7), st.floats(0.001, 100))
def test_more_users_need_no_less(users: int, fresh_s: float, rate: float) -> None:
    """Nor does visiting them twice as often."""
    one = Outset(users=users, fresh_s=fresh_s, rate=rate, in_flight=32, is_hbase=True)
    for more in (one._replace(users=2 * users), one._replace(fresh_s=fresh_s / 2)):
        small, large = needs(one), needs(more)
        assert (large.proxies or 0) >= (small.proxies or 0) >= 1
        assert large.maps >= small.maps >= 1
        assert large.disk_a_day >= small.disk_a_day
        assert (large.regions or 0) >= (small.regions or 0) >= 16

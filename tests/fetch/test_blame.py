import pytest

from weibo_crawler.errors import BodyCut, BodyTooLarge, ConnectFailed, EgressFailed, TransportError
from weibo_crawler.fetch.blame import Step, Tries, is_ban
from weibo_crawler.fetch.pool.visit import Wall
from weibo_crawler.records import Reading, Verdict

EMPTY = Reading(Verdict.EMPTY, ambiguous=True)
TABLE = [
    # what comes again and again, by status -> the steps at 3 attempts
    (Reading(Verdict.OK), 200, [Step.RETURN]),
    (Reading(Verdict.GONE), 200, [Step.RETURN]),
    (Reading(Verdict.EMPTY), 200, [Step.RETURN]),
    (EMPTY, 200, [Step.AGAIN, Step.RETURN]),
    (Reading(Verdict.DRIFTED), 200, [Step.AGAIN, Step.RETURN]),
    (Reading(Verdict.LOGIN_WALL), 200, [Step.WALLED]),
    (Reading(Verdict.THROTTLED), 200, [Step.AGAIN, Step.AGAIN, Step.RETURN]),
    (Reading(Verdict.CAPTCHA), 200, [Step.AGAIN, Step.AGAIN, Step.RETURN]),
    (Reading(Verdict.REFUSED), 403, [Step.AGAIN, Step.AGAIN, Step.RETURN]),
    (Reading(Verdict.REFUSED), 432, [Step.WALLED]),
    (Reading(Verdict.REFUSED), 302, [Step.WALLED]),
    (Reading(Verdict.SERVER_TROUBLE), 502, [Step.LATER, Step.LATER, Step.RETURN]),
    (Reading(Verdict.NOT_JSON), 200, [Step.LATER, Step.LATER, Step.RETURN]),
    (Reading(Verdict.TRUNCATED), 200, [Step.LATER, Step.LATER, Step.RETURN]),
]


@pytest.mark.parametrize(("reading", "status", "steps"), TABLE)
def test_same_answer_each_time(reading: Reading, status: int, steps: list[Step]) -> None:
    """Each verdict has its own limit, after which it is returned."""
    tries = Tries(3)
    assert [tries.answered(reading, status, "a") for _ in steps] == steps


def test_an_expected_emptiness_is_believed() -> None:
    """Where nothing more is expected the empty answer needs no second witness; whatever else is
    doubtful still does."""
    for verdict in (Verdict.EMPTY, Verdict.END):
        assert Tries(3, ends=True).answered(Reading(verdict, ambiguous=True), 200, "a") is (
            Step.RETURN
        )
    for doubtful in (Reading(Verdict.OK, ambiguous=True), Reading(Verdict.DRIFTED)):
        assert Tries(3, ends=True).answered(doubtful, 200, "a") is Step.AGAIN


@pytest.mark.parametrize(
    ("error", "steps"),
    [
        (BodyCut("cut"), [Step.LATER, Step.LATER, Step.RETURN]),
        (EgressFailed("no proxy"), [Step.AGAIN] * 8 + [Step.RETURN]),
        (BodyTooLarge("large"), [Step.RETURN]),
        (ConnectFailed("no address", blame="us"), [Step.RETURN]),
    ],
)
def test_same_error_each_time(error: TransportError, steps: list[Step]) -> None:
    """An egress's failures have a limit of their own; what no repetition helps is returned."""
    tries = Tries(3)
    assert [tries.failed(error, "a") for _ in steps] == steps


def test_walls() -> None:
    """A page that visitors are not shown is not asked for again, a doubtful one as often as
    `attempts` says with each session; the ends of sessions cost it nothing, but not for ever."""
    assert not Tries(3).walled(Wall.CLOSED, ("a", 1))
    tries = Tries(3)
    assert [tries.walled(Wall.DOUBT, ("a", 1)) for _ in range(4)] == [True] * 3 + [False]
    assert tries.walled(Wall.DOUBT, ("b", 1))
    assert tries.walled(Wall.OVER, ("b", 1))
    again = [tries.walled(Wall.OVER, ("a", n)) for n in range(2, 99)]
    assert again.index(False) == 58
    assert not any(again[58:])


def test_an_egress_without_a_session_is_no_witness() -> None:
    """Another egress is asked, each once and as many as there are attempts; a session that the site
    refused (432) is the egress's matter, and told at once."""
    tries = Tries(2)
    assert tries.walled(Wall.ABSENT, ("a", 1))
    assert tries.avoid == "a"
    assert not tries.walled(Wall.ABSENT, ("a", 1))
    assert tries.walled(Wall.ABSENT, ("b", 1))
    assert not tries.walled(Wall.ABSENT, ("c", 1))
    assert not Tries(2).walled(Wall.ABSENT, ("a", 1), Verdict.REFUSED)


def test_what_is_a_ban() -> None:
    """Only a refusal for haste is none; 418 is given to who did not stop."""
    assert not is_ban(Verdict.THROTTLED, 429)
    assert not is_ban(Verdict.THROTTLED, 200)
    assert is_ban(Verdict.THROTTLED, 418)
    assert is_ban(Verdict.CAPTCHA, 200)
    assert is_ban(Verdict.REFUSED, 403)


def test_limits_do_not_mix() -> None:
    """Refusals, troubles and failing egresses are counted each for itself."""
    tries = Tries(3)
    for _ in range(2):
        assert tries.answered(Reading(Verdict.THROTTLED), 200, "a") is Step.AGAIN
        assert tries.failed(BodyCut(""), "a") is Step.LATER
        assert tries.failed(EgressFailed(""), "a") is Step.AGAIN
    assert tries.answered(EMPTY, 200, "a") is Step.AGAIN
    assert tries.answered(Reading(Verdict.OK), 200, "a") is Step.RETURN


def test_a_page_that_fails_on_three_healthy_egresses() -> None:
    """It is the page's fault, whatever is left of its attempts; an egress counts once, and one that
    may be broken itself not at all."""
    tries = Tries(9)
    trouble = Reading(Verdict.SERVER_TROUBLE)
    assert tries.answered(trouble, 502, "a", is_healthy=True) is Step.LATER
    assert tries.answered(trouble, 502, "a", is_healthy=True) is Step.LATER
    assert tries.answered(trouble, 502, "b") is Step.LATER
    assert tries.failed(BodyCut(""), "c", is_healthy=True) is Step.LATER
    assert tries.answered(trouble, 502, "d", is_healthy=True) is Step.RETURN


def test_whom_to_avoid() -> None:
    """The next try goes by another egress, but after the end of a session any may go."""
    tries = Tries(3)
    tries.answered(EMPTY, 200, "a")
    assert tries.avoid == "a"
    tries.answered(Reading(Verdict.LOGIN_WALL), 200, "b")
    assert tries.walled(Wall.OVER, ("b", 1))
    assert tries.avoid is None
    tries.failed(BodyCut(""), "c")
    assert tries.avoid == "c"

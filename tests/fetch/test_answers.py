from collections.abc import Iterable
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weibo_crawler.errors import (
    BodyCut,
    BodyTooLarge,
    ConnectFailed,
    EgressFailed,
    TimedOut,
    TransportError,
)
from weibo_crawler.fetch import Ask
from weibo_crawler.fetch.answers import (
    SILENCE_WAITS,
    UNKNOWN_REFUSAL,
    Action,
    Again,
    Asked,
    Met,
    Return,
    decide,
)
from weibo_crawler.fetch.breaker import Sign
from weibo_crawler.fetch.pool import (
    Broken,
    Failed,
    Good,
    Hit,
    Others,
    Refused,
    SessionOver,
    Wall,
    Walled,
)
from weibo_crawler.fetch.pool.login_walls import WALL_MEMORY_S, moments
from weibo_crawler.records import FACTS, EchoPage, Expect, Kind, PostPage, Reading, Request, Verdict

Answer = Reading | TransportError

OK = Reading(Verdict.OK)
EMPTY = Reading(Verdict.EMPTY, ambiguous=True)
END = Reading(Verdict.END, ambiguous=True)
FOREIGN = Reading(Verdict.OK, PostPage(9, (), None, foreign=3), ambiguous=True)
BARE = Reading(Verdict.OK, PostPage(9, (), "2"), ambiguous=True)
DRIFTED = Reading(Verdict.DRIFTED, why="$.data")
GONE = Reading(Verdict.GONE)
RESTRICTED = Reading(Verdict.RESTRICTED, why="20112")
WALL = Reading(Verdict.LOGIN_WALL)
THROTTLED = Reading(Verdict.THROTTLED)
CAPTCHA = Reading(Verdict.CAPTCHA, is_ban=True)
SESSION_REFUSED = Reading(Verdict.REFUSED, why="432", is_of_session=True, is_ban=True)
TROUBLE = Reading(Verdict.SERVER_TROUBLE, why="502")
NOT_JSON = Reading(Verdict.NOT_JSON, why="portal")
UNKNOWN = Reading(Verdict.SERVER_TROUBLE, why=f"{UNKNOWN_REFUSAL}31337")
BOMB = BodyTooLarge("large")
DOUBTS: list[Answer] = [EMPTY, END, FOREIGN, DRIFTED, BOMB]


def asked(
    expect: Expect = Expect.UNKNOWN,
    nth: int = 1,
    *,
    attempts: int = 3,
    is_retry: bool = False,
    uid: int = 7,
    are_walls_told: bool = True,
) -> Asked:
    cursor = "" if nth == 1 else str(nth)
    request = Request(Kind.POSTS, "", uid, cursor=cursor)
    return Asked(Ask(request, expect, nth, is_retry), attempts, are_walls_told)


def play(of: Asked, met: Iterable[Met]) -> list[Action]:
    """All actions of a request that meets these, up to the one that returns."""
    actions: list[Action] = []
    before: list[Met] = []
    for each in met:
        actions.append(decide(of, before, each))
        before.append(each)
        if isinstance(actions[-1].step, Return):
            break
    return actions


def by(answers: Iterable[Answer], egresses: str = "a", *, is_only: bool | None = None) -> list[Met]:
    """These answers, by these egresses in turn; all proxies are trustworthy."""
    alone = len(set(egresses)) == 1 if is_only is None else is_only
    return [
        Met(answer, egress, is_healthy=True, is_only=alone)
        for answer, egress in zip(answers, cycle(egresses), strict=False)
    ]


def walls(
    *said: tuple[str, int, Wall],
    is_only: bool = False,
    is_common: bool = False,
    is_healthy: bool = True,
) -> list[Met]:
    """Login walls: by egress and session, and what the session's state machine says."""
    return [
        Met(
            *(WALL, egress, generation),
            is_healthy=is_healthy,
            is_only=is_only,
            wall=wall,
            is_common_wall=is_common,
        )
        for egress, generation, wall in said
    ]


def returned(actions: list[Action]) -> Reading:
    step = actions[-1].step
    assert isinstance(step, Return)
    return step.reading


@pytest.mark.parametrize(
    ("answer", "waits", "sign"),
    [
        # what comes again and again by the only egress; at 3 attempts -> the pause after each
        (OK, [], Sign.ANSWERED),
        (GONE, [], Sign.ANSWERED),
        (RESTRICTED, [], Sign.ANSWERED),
        (Reading(Verdict.EMPTY), [], Sign.ANSWERED),
        (EMPTY, [None], Sign.ANSWERED),
        (FOREIGN, [None], Sign.ANSWERED),
        (DRIFTED, [None], Sign.DRIFTED),
        (BOMB, [None], None),
        (THROTTLED, [None, None], Sign.REFUSED),
        (Reading(Verdict.CAPTCHA), [None, None], Sign.REFUSED),
        (Reading(Verdict.REFUSED), [None, None], Sign.REFUSED),
        (TROUBLE, [0, 1], Sign.SILENT),
        (NOT_JSON, [0, 1], Sign.SILENT),
        (Reading(Verdict.TRUNCATED), [0, 1], Sign.SILENT),
        (BodyCut("cut"), [0, 1], Sign.SILENT),
        (TimedOut("slow"), [0], Sign.SILENT),
        (UNKNOWN, [0, 1], Sign.REFUSED_AGAIN),
        (EgressFailed("no proxy"), [None] * 8, None),
        (ConnectFailed("no address", blame="us"), [], None),
    ],
)
def test_same_answer_each_time(answer: Answer, waits: list[int | None], sign: Sign | None) -> None:
    """Each verdict and error has its own limit, after which it is returned."""
    *again, last = play(asked(), by([answer] * 99))
    assert [action.step for action in again] == [Again("a", wait) for wait in waits]
    reading = returned([last])
    if isinstance(answer, Reading):
        assert reading == answer
    else:
        assert reading == Reading(Verdict.SERVER_TROUBLE, why=str(answer))
    assert last.sign is sign


def test_what_the_pool_is_told() -> None:
    """A shown page is good for its egress, a refusal rests it; of what may be broken it is told
    nothing yet."""
    [good] = play(asked(), [Met(OK, "a", elapsed_s=0.5)])
    assert good.outcome == Good(0.5)
    [refused, *_] = play(asked(), [Met(THROTTLED, "a", retry_after_s=9.0)])
    assert refused.outcome == Refused("throttled", 9.0, is_ban=False)
    [banned] = play(asked(), by([Reading(Verdict.CAPTCHA, why="geetest", is_ban=True)]))
    assert banned.outcome == Refused("captcha (geetest)", None, is_ban=True)
    for answer in (DRIFTED, FOREIGN, BOMB):
        [first] = play(asked(), by([answer]))
        assert first.outcome == Broken()
    for answer, why in ((TROUBLE, "502"), (BodyCut("cut"), "cut")):
        for kind in ("is_healthy", "is_direct", "is_only"):
            [first] = play(asked(), [Met(answer, "a", **{kind: True})])
            assert first.outcome == Broken(trouble=why)
        [first] = play(asked(), [Met(answer, "a")])  # of a proxy that nobody knows
        assert first.outcome == Broken()
    [failed] = play(asked(), by([EgressFailed("no")]))
    assert failed.outcome == Failed("no")
    empty, *_ = play(asked(), by([EMPTY]))
    assert isinstance(empty.outcome, Good)
    first, last = play(asked(), by([DRIFTED] * 2))
    assert isinstance(last.outcome, Good)


@pytest.mark.parametrize(
    ("answer", "is_shown"), [(OK, True), (GONE, True), (EMPTY, False), (END, False)]
)
def test_what_tells_that_guests_are_shown_such_pages(answer: Reading, is_shown: bool) -> None:
    """An emptiness does not, at either look: where walls come after it they are no news of the
    session."""
    for action in play(asked(), by([answer] * 2)):
        assert isinstance(action.outcome, Good)
        assert action.outcome.is_shown is is_shown


@given(st.permutations([*[THROTTLED, BodyCut("")] * 2, *[EgressFailed("")] * 8]))
def test_limits_do_not_mix(answers: list[Answer]) -> None:
    """Refusals, troubles and failing egresses are counted each for itself, in whatever order they
    come."""
    actions = play(asked(), by([*answers, EMPTY, OK]))
    assert len(actions) == len(answers) + 2
    assert returned(actions) is OK


# -- doubts


@pytest.mark.parametrize("doubt", DOUBTS)
def test_a_doubt_needs_two_egresses(doubt: Answer) -> None:
    """It is asked about at once by another egress, and believed when two say the same."""
    first, last = play(asked(), by([doubt] * 2, "ab"))
    assert first.step == Again("a")
    assert returned([last]).verdict is (
        doubt.verdict if isinstance(doubt, Reading) else Verdict.SERVER_TROUBLE
    )


def test_pages_of_two_other_users_are_no_two_witnesses() -> None:
    """They contradict each other, by one egress or by several; the same page twice is believed."""
    one, other = (
        Reading(Verdict.OK, PostPage(1, (), cursor, 3), ambiguous=True) for cursor in "ab"
    )
    for egresses, is_only in (("aaa", True), ("abc", False)):
        different = play(asked(), by([one, other, Reading(Verdict.OK)], egresses, is_only=is_only))
        assert len(different) == 3
        assert returned(different).verdict is Verdict.OK
        assert not returned(different).ambiguous
        same = play(asked(), by([one, one], egresses, is_only=is_only))
        assert returned(same) is one


@pytest.mark.parametrize("doubt", DOUBTS)
def test_one_egress_of_several_is_one_witness(doubt: Answer) -> None:
    """Where others rest the same one may come again: it is believed only when it is the only one
    to be had, at the third time."""
    assert len(play(asked(), by([doubt] * 9, is_only=False))) == 3


@pytest.mark.parametrize("doubt", [FOREIGN, DRIFTED, BOMB])
def test_who_brought_a_broken_page_is_blamed(doubt: Answer) -> None:
    """A good page by another egress is returned, and disproves the first one; a proxy that sends
    bombs fails nobody."""
    *_, last = play(asked(), by([doubt, OK], "ab"))
    assert returned([last]) is OK
    assert last.disproved == (0,)
    *_, last = play(asked(), by([doubt, OK], "aa"))
    assert last.disproved == ()


def test_who_was_shown_nothing_is_blamed() -> None:
    """Content by another egress shows that an emptiness was about who was shown it; that the user
    is gone does not, nor does content by the same egress."""
    *_, last = play(asked(), by([EMPTY, OK], "ab"))
    assert last.disproved == (0,)
    for answers, egresses in (([EMPTY, GONE], "ab"), ([EMPTY, OK], "aa"), ([EMPTY, EMPTY], "ab")):
        *_, last = play(asked(), by(answers, egresses))
        assert last.disproved == ()


@pytest.mark.parametrize("trouble", [TROUBLE, NOT_JSON, UNKNOWN, BodyCut("cut")])
def test_trouble_that_another_egress_has_not(trouble: Answer) -> None:
    """A captive portal, a proxy that cuts: a page by another egress disproves them."""
    first, last = play(asked(), by([trouble, OK], "ab"))
    assert first.step == Again("a", 0)
    assert last.disproved == (0,)


def test_each_egress_is_blamed_once_for_a_page() -> None:
    """However often it brought it broken."""
    actions = play(asked(attempts=9), by([NOT_JSON, NOT_JSON, NOT_JSON, TROUBLE, OK], "aaabc"))
    assert actions[-1].disproved == (0, 3)


def test_two_different_doubts_are_two_doubts() -> None:
    """First nothing, then another's page: neither has a second witness. Who says what two
    others say is right, and who said otherwise is to blame."""
    actions = play(asked(), by([EMPTY, FOREIGN, OK], "abc"))
    assert returned(actions) is OK
    assert actions[-1].disproved == (0, 1)
    actions = play(asked(), by([EMPTY, FOREIGN, EMPTY], "abc"))
    assert returned(actions) is EMPTY
    assert actions[-1].disproved == (1,)


def test_lists_under_two_other_posts_are_two_doubts() -> None:
    """Two egresses that show the same one are believed; where each shows another's, nobody is."""
    one, two = (
        Reading(Verdict.OK, EchoPage(9, (), None, unreadable=3, others=(other,)), ambiguous=True)
        for other in (7, 8)
    )
    assert returned(play(asked(), by([one, one], "ab"))) is one
    assert returned(play(asked(), by([one, OK], "ab"))) is OK
    assert returned(play(asked(), by([one, two] * 9, "ab"))).verdict is Verdict.SERVER_TROUBLE


def test_where_no_two_egresses_agree_there_is_no_fact() -> None:
    """Two egresses that contradict each other again and again are trouble."""
    reading = returned(play(asked(), by([EMPTY, FOREIGN] * 9, "ab")))
    assert reading.verdict is Verdict.SERVER_TROUBLE
    assert "no two trustworthy egresses agree: another's page, nothing" in reading.why


@pytest.mark.parametrize("lie", [FOREIGN, DRIFTED, BOMB])
def test_two_strangers_that_lie_alike_are_no_witnesses(lie: Answer) -> None:
    """Proxies that nothing good came by of late may lie alike: they are believed only beside a
    trustworthy one; else others are asked, and after `attempts` it is trouble, never a fact."""
    strangers = [Met(lie, egress) for egress in "abcabcabc"]
    actions = play(asked(attempts=5), strangers)
    assert len(actions) == 5
    assert "no two trustworthy egresses agree" in returned(actions).why
    assert returned(actions).verdict is Verdict.SERVER_TROUBLE
    assert returned(play(asked(attempts=5), [*strangers[:4], Met(OK, "d")])) is OK
    for trusted in (Met(lie, "d", is_healthy=True), Met(lie, "d", is_direct=True)):
        assert len(play(asked(attempts=5), [strangers[0], trusted])) == 2
        assert len(play(asked(attempts=5), [trusted, strangers[0]])) == 2


def test_what_all_strangers_know_not_is_counted() -> None:
    """A site that changed its shape before a run began stops it, though no proxy is known yet."""
    actions = play(asked(), [Met(DRIFTED, egress) for egress in "abc"])
    assert [action.sign for action in actions] == [None, None, Sign.DRIFTED]
    actions = play(asked(), [Met(FOREIGN, "a"), *(Met(DRIFTED, egress) for egress in "abc")])
    assert actions[-1].sign is None


@pytest.mark.parametrize("nothing", [EMPTY, END])
def test_two_strangers_make_no_emptiness(nothing: Reading) -> None:
    """A site refuses many egresses softly, and they all show nothing: who is not known to be shown
    pages is no witness. A third look is, and so is the second, where one of them is known."""
    strangers = [Met(nothing, name) for name in "ab"]
    assert not isinstance(play(asked(), strangers)[-1].step, Return)
    assert returned(play(asked(), [*strangers, Met(nothing, "c")])) is nothing
    known = Met(nothing, "c", is_healthy=True)
    assert len(play(asked(), [strangers[0], known])) == 2
    assert len(play(asked(), [known, strangers[0]])) == 2
    assert returned(play(asked(), [*strangers, Met(OK, "c")])) is OK


def test_an_expected_emptiness_is_believed() -> None:
    """Where nothing more is expected the empty answer needs no second witness; whatever else is
    doubtful still does."""
    for doubt in DOUBTS:
        actions = play(asked(Expect.NOTHING), by([doubt] * 9))
        assert len(actions) == (1 if doubt in (EMPTY, END) else 2)
    for expect in (Expect.UNKNOWN, Expect.CONTENT):
        assert len(play(asked(expect), by([END] * 9))) == 2


@given(
    doubts=st.lists(
        st.tuples(st.sampled_from(DOUBTS), st.sampled_from("abc")), min_size=12, max_size=12
    )
)
def test_a_doubtful_fact_has_two_witnesses(doubts: list[tuple[Answer, str]]) -> None:
    """Of several egresses that contradict each other, a fact is what two of them say; and it is
    returned after a dozen looks at most."""
    met = [Met(answer, egress) for answer, egress in doubts]
    actions = play(asked(), met)
    reading = returned(actions)
    kinds = {id(m.answer) if m.answer is not END else id(EMPTY) for m in met[: len(actions)]}
    if reading.verdict in FACTS and len(kinds) > 1:
        same = (EMPTY, END) if reading.verdict is not Verdict.OK else (FOREIGN,)
        witnesses = {m.egress for m in met[: len(actions)] if m.answer in same}
        assert len(witnesses) >= 2


# -- trouble


def test_a_page_that_fails_on_three_healthy_proxies() -> None:
    """It is the page's fault, whatever is left of its attempts; a proxy counts once, and one that
    may be broken itself not at all."""
    met = [
        Met(TROUBLE, "a", is_healthy=True),
        Met(TROUBLE, "a", is_healthy=True),
        Met(TROUBLE, "b"),
        Met(BodyCut(""), "c", is_healthy=True),
        Met(NOT_JSON, "d", is_healthy=True),
        Met(OK, "e"),
    ]
    assert len(play(asked(attempts=9), met)) == 5


def test_one_proxy_fails_no_page() -> None:
    """Where all trouble came by one egress of several it has twice the attempts."""
    assert len(play(asked(), by([NOT_JSON] * 9, "a", is_only=False))) == 6
    assert len(play(asked(), by([NOT_JSON] * 9, "ab"))) == 3


def test_failing_egresses_cost_nothing_while_none_works() -> None:
    """In an outage no page is given up."""
    met = [Met(EgressFailed("no"), "a", is_outage=True)] * 99
    assert len(play(asked(), [*met, Met(OK, "a")])) == 100


def test_proxies_of_which_nobody_knows_whether_they_work_fail_no_page() -> None:
    """A list may hold hundreds that are dead: each costs one try, which none of the limits counts.
    One that fails again, or that worked of late, is counted."""
    dead = [Met(EgressFailed("no"), str(n)) for n in range(290)]
    assert returned(play(asked(), [*dead, Met(OK, "a")])) is OK
    again = play(asked(), [*dead, *dead])
    assert len(again) == 290 + 9
    assert len(play(asked(), [*dead, *by([EgressFailed("no")] * 99, "ab")])) == 290 + 9


def test_an_unknown_refusal_is_counted_once() -> None:
    """Others ask about it later; the breaker counts it when it comes, not when it stays."""
    actions = play(asked(), by([TROUBLE, UNKNOWN, UNKNOWN], "abc"))
    assert actions[1].why == UNKNOWN.why
    assert [action.sign for action in actions] == [None, Sign.REFUSED, Sign.REFUSED_AGAIN]
    assert returned(actions) is UNKNOWN


def test_restricted_is_a_fact() -> None:
    """A post that this reader may not see costs one request, and is no refusal."""
    for is_retry in (True, False):
        [only] = play(asked(is_retry=is_retry), by([RESTRICTED]))
        assert (returned([only]), only.sign) == (RESTRICTED, Sign.ANSWERED)


@pytest.mark.parametrize("answer", [THROTTLED, TROUBLE, DRIFTED, UNKNOWN, WALL])
def test_a_retry_is_no_evidence(answer: Reading) -> None:
    """What failed before tells the breaker nothing but that the site answers."""
    met = [Met(answer, "a", is_only=True, wall=Wall.CLOSED)] * 9
    assert all(action.sign in (None, Sign.ANSWERED) for action in play(asked(is_retry=True), met))
    assert any(action.sign for action in play(asked(), met))


# -- looks


def test_which_answer_is_a_look() -> None:
    """The first one that shows something or nothing, where something is known to be, at a first
    attempt."""
    content = asked(Expect.CONTENT)
    actions = play(content, by([TROUBLE, EMPTY, THROTTLED, OK], "ab"))
    assert [action.is_empty for action in actions] == [None, True, None, None]
    assert [action.is_empty for action in play(content, by([OK]))] == [False]
    assert [action.is_empty for action in play(content, by([FOREIGN, OK]))] == [True, None]
    for expect in Expect:  # a dead user tells where something is known of it
        is_known = expect in (Expect.CONTENT, Expect.SHOWN)
        is_empty = play(asked(expect), by([GONE]))[0].is_empty
        assert is_empty is (True if is_known else None)
    for sure in (RESTRICTED, Reading(Verdict.EMPTY), Reading(Verdict.END)):
        assert play(content, by([sure]))[0].is_empty is None
    text = Asked(
        Ask(Request(Kind.EXTEND, "", 7), Expect.CONTENT), 3
    )  # offered otherwise, it may be
    assert play(text, by([EMPTY]))[0].is_empty is None
    retry, later = asked(Expect.CONTENT, is_retry=True), asked(Expect.CONTENT, nth=2)
    for other in (asked(), asked(Expect.NOTHING), retry, later):
        for answer in (EMPTY, END, OK):
            assert play(other, by([answer, OK]))[0].is_empty is None
    shown = asked(Expect.SHOWN, nth=2)  # a later page tells where it was shown before
    assert [play(shown, by([answer]))[0].is_empty for answer in (END, OK)] == [True, False]


def test_while_the_site_may_be_silent_second_looks_wait() -> None:
    """First looks of others tell sooner. Whatever else is doubtful is asked about at once."""
    for doubt in DOUBTS:
        waits = SILENCE_WAITS if doubt in (EMPTY, END, FOREIGN) else None
        assert play(asked(), [Met(doubt, "a", is_silent=True)])[0].step == Again("a", waits)
        assert play(asked(), [Met(doubt, "a")])[0].step == Again("a")


# -- walls


def test_whom_to_avoid() -> None:
    """The next try goes by another egress, but after the end of a session any may go."""
    over, later, *_ = play(asked(), [*walls(("b", 1, Wall.OVER)), *by([TROUBLE])])
    assert over.step == Again(None)
    assert over.outcome == Walled(0.0)
    assert later.step == Again("a", 0)


def test_the_ends_of_sessions_cost_nothing() -> None:
    """A doubtful wall is asked about as often as `attempts` says with each session; the ends of
    sessions do not count, but not for ever."""
    met = walls(*[("a", 1, Wall.DOUBT)] * 9)
    assert len(play(asked(), met)) == 4
    met = walls(*[("a", 1, Wall.DOUBT)] * 3, ("b", 1, Wall.DOUBT), ("b", 1, Wall.OVER))
    met += walls(*(("a", n, Wall.OVER) for n in range(2, 99)))
    assert len(play(asked(), met)) == 5 + 59


def test_an_egress_without_a_session_is_no_witness() -> None:
    """Another egress is asked, each once and as many as there are attempts."""
    absent = walls(*((egress, 1, Wall.ABSENT) for egress in "abcd"))
    assert [action.step for action in play(asked(attempts=2), absent)][:2] == [
        Again("a"),
        Again("b"),
    ]
    assert len(play(asked(attempts=2), absent)) == 3
    assert len(play(asked(), [absent[0], absent[0]])) == 2
    assert returned(play(asked(nth=2), [absent[0], absent[1], absent[0]])).ambiguous


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize(
    "ended",
    [
        [Wall.DOUBT, Wall.OVER, Wall.DOUBT, *[Wall.UNSURE] * 9],
        [Wall.UNSURE, Wall.DOUBT, *[Wall.UNSURE] * 9],
        [Wall.OVER] * 99,
    ],
)
def test_sessions_that_come_to_their_end_close_nothing(ended: list[Wall], nth: int) -> None:
    """Law 4: what none showed that was known to be alive is not read, and no wall, also where two
    sessions met it; it is asked for again later. What others met tells."""
    met = walls(*(("a", n, wall) for n, wall in enumerate(ended)), is_only=True)
    actions = play(asked(nth=nth), met)
    assert returned(actions).verdict is Verdict.REFUSED
    assert actions[-1].sign is None
    unsure = [one for one, wall in zip(actions, ended, strict=False) if wall is Wall.UNSURE]
    assert [one.step for one in unsure[1:-1]] == [Again("a", 1)] * len(unsure[1:-1])
    assert len(unsure) in (0, 3)
    common = walls(*(("a", n, wall) for n, wall in enumerate(ended)), is_only=True, is_common=True)
    assert returned(play(asked(nth=nth), common)) == WALL


def test_a_refused_session_that_no_new_one_helps() -> None:
    """It is the egress's matter: it rests, the session is retired, another egress goes."""
    for wall in (Wall.UNSURE, Wall.ABSENT, Wall.CLOSED):
        met = [Met(SESSION_REFUSED, egress, 2, wall=wall) for egress in "abc"]
        actions = play(asked(), met)
        assert [action.outcome for action in actions] == [SessionOver("432")] * 3
        assert returned(actions) is SESSION_REFUSED
    [over] = play(asked(), [Met(SESSION_REFUSED, "a", 1, wall=Wall.OVER)])
    assert (over.step, over.sign) == (Again(None), None)


def test_a_first_page_that_is_closed_is_returned() -> None:
    """As far as one session tells."""
    [only] = play(asked(), walls(("a", 1, Wall.CLOSED)))
    assert returned([only]) is WALL
    assert (only.outcome, only.sign) == (Walled(0.0), Sign.REFUSED)
    [only] = play(asked(are_walls_told=False), walls(("a", 1, Wall.CLOSED)))
    assert only.sign is None


@pytest.mark.parametrize("nth", [1, 2])
def test_two_strangers_confirm_no_wall(nth: int) -> None:
    """Of three that met it nobody asks whether they lie; the wall of one is nothing."""
    met = walls(*((name, 1, Wall.CLOSED) for name in "abc"), is_healthy=False)
    wall = returned(play(asked(nth=nth), met[:1] + met[1:]))
    assert not wall.ambiguous
    assert len(play(asked(nth=nth), met[:2])) == 2  # and asks on
    same = walls(*[("a", 1, Wall.CLOSED)] * 9, is_healthy=False)
    assert returned(play(asked(nth=nth), same)).ambiguous


def test_two_strangers_make_nobody_gone() -> None:
    """A third look by another one does, and so does the second, where one of them is known."""
    strangers = [Met(GONE, name) for name in "ab"]
    assert not isinstance(play(asked(), strangers)[-1].step, Return)
    assert returned(play(asked(), [*strangers, Met(GONE, "c")])) is GONE
    assert returned(play(asked(), [Met(GONE, "a"), Met(GONE, "b", is_healthy=True)])) is GONE
    assert len(play(asked(), [Met(GONE, "a")] * 9)) == 3
    text = Asked(Ask(Request(Kind.EXTEND, "", 7)), 3)
    assert isinstance(play(text, [Met(GONE, "a")])[-1].step, Again)


def test_a_page_with_nobody_on_it() -> None:
    """It names the next one, so nothing of others is on it that a liar would have shown: two
    egresses that nobody knows are enough, where they say the same. The token of the next one may
    be new each time, and so may advertisements."""
    assert returned(play(asked(), [Met(BARE, "a"), Met(BARE, "b")])) is BARE
    fresh = replace(BARE, record=PostPage(9, (), "3", skipped={"advertisement": 1}))
    assert returned(play(asked(), [Met(BARE, "a"), Met(fresh, "b")])) is fresh
    last = replace(BARE, record=PostPage(9, (), None))
    assert len(play(asked(), [Met(BARE, "a"), Met(last, "b"), Met(BARE, "c")])) == 3
    foreign = play(asked(), [Met(FOREIGN, "a"), Met(FOREIGN, "b")])
    assert not isinstance(foreign[-1].step, Return)


@pytest.mark.parametrize("expect", [e for e in Expect if e is not Expect.SHOWN])
@pytest.mark.parametrize("nothing", [EMPTY, END])
@pytest.mark.parametrize("egresses", ["a", "ab", "abcd"])
def test_an_emptiness_in_place_of_a_page_that_names_a_next_one(
    expect: Expect, nothing: Reading, egresses: str
) -> None:
    """It is expected no more, and believed at the third time; that page at its second."""
    shown_again = play(asked(expect), by([BARE, nothing, nothing, BARE], egresses))
    assert returned(shown_again) is BARE
    assert returned(play(asked(expect), by([BARE, *[nothing] * 3], egresses))) is nothing


def test_a_page_of_a_proxy_that_nobody_knows_contradicts_no_emptiness() -> None:
    strange = [Met(BARE, "x"), *by([EMPTY], "a", is_only=False)]
    assert returned(play(asked(Expect.LIKELY), strange)) is EMPTY


def test_a_wall_on_a_later_page_needs_a_second_witness() -> None:
    """Another egress or session that met it, or the experience of others; else it is ambiguous."""
    later = asked(nth=2)
    first, last = play(later, walls(("a", 1, Wall.CLOSED), ("b", 1, Wall.CLOSED)))
    assert first.step == Again("a")
    assert not returned([last]).ambiguous
    renewed = walls(("a", 1, Wall.OVER), ("a", 2, Wall.CLOSED), ("a", 2, Wall.ALONE), is_only=True)
    assert not returned(play(later, renewed)).ambiguous
    [only] = play(later, walls(("a", 1, Wall.CLOSED), is_only=True, is_common=True))
    assert not returned([only]).ambiguous
    for is_only in (True, False):
        same = play(later, walls(*[("a", 1, Wall.CLOSED)] * 9, is_only=is_only))
        assert len(same) == 3
        assert returned(same).ambiguous


def test_a_wall_on_a_first_page_while_those_of_others_are_shown() -> None:
    """One answer is not believed where others are shown such pages; where nobody is, it is."""
    for is_shown, looks in ((True, 3), (None, 3), (False, 1)):
        met = [Met(WALL, "a", wall=Wall.CLOSED, is_only=True, is_first_shown=is_shown)] * 3
        actions = play(asked(), met)
        assert len(actions) == looks
        assert returned(actions).ambiguous == (is_shown is not False)


def test_a_wall_that_stands_once_between_ends_of_sessions() -> None:
    """Ends of sessions are met by every page, and so they confirm no wall; nor does the session
    that met it, unless it was alive still."""
    again = ("a", 2, Wall.CLOSED)
    met = walls(("a", 1, Wall.OVER), again, again, is_only=True)
    of = asked(nth=2)
    assert returned(play(of, [*met, Met(OK, "a", 4, is_only=True)])) is OK
    assert returned(play(of, [*met, *walls(again, is_only=True)])).ambiguous


@pytest.mark.parametrize(("enough", "needed"), [(1, 2), (2, 2), (3, 3), (4, None)])
def test_a_session_that_is_alive_proves_a_wall(enough: int, needed: int | None) -> None:
    """By as many walls as are hardly by chance, as often as walls stand for a moment; three looks
    at most. One is enough where an earlier visit met it."""
    for nth, is_healthy in ((1, True), (2, True), (2, False)):
        met = walls(("a", 1, Wall.DOUBT), *[("a", 1, Wall.ALONE)] * 5, is_healthy=is_healthy)
        met = [replace(one, enough_walls=enough, is_first_shown=True) for one in met]
        actions = play(asked(nth=nth), met)
        is_sure = needed is not None and is_healthy
        assert returned(actions).ambiguous is not is_sure
        assert len(actions) == (needed if is_sure else 3)
    [known] = walls(("a", 1, Wall.ALONE))
    before = asked()._replace(ask=asked().ask._replace(was_walled=True))
    assert returned(play(before, [replace(known, is_first_shown=True, is_healthy=True)])) is WALL


def test_how_many_walls_are_hardly_by_chance() -> None:
    """As often as answers of late were walls for a moment, which the same session showed later."""
    known = Others()
    for shown, moments_of, enough in (
        *((0, 0, 9), (30, 0, 3), (270, 0, 2), (1, 1, 3), (299, 0, 3), (1, 0, 2)),
        *((100, 1, 5), (300, 0, 2)),
    ):
        for _ in range(shown):
            known.shown(moments_of)
        assert known.enough == enough
    hits = [Hit(Wall.DOUBT, "a", 1), Hit(Wall.OVER, "a", 2), Hit(Wall.DOUBT, "b", 2)]
    assert [moments(hits, by) for by in (("a", 1), ("a", 2), ("b", 1), ("b", 2))] == [1, 0, 0, 1]


def test_a_wall_that_flaps() -> None:
    """A later page that another egress shows is returned."""
    met = [*walls(("a", 1, Wall.CLOSED)), Met(OK, "b")]
    assert returned(play(asked(nth=2), met)) is OK


def test_later_pages_closed_while_first_ones_are_open_are_no_refusals() -> None:
    """Guests are shown first pages only: no refusal of this run."""
    for is_shown, sign in ((True, None), (False, Sign.REFUSED)):
        met = [Met(WALL, "a", wall=Wall.CLOSED, is_only=True, is_first_shown=is_shown)] * 3
        assert play(asked(nth=2), met)[-1].sign is sign


def _place(asked: Asked) -> tuple[Request, int]:
    return asked.ask.request, asked.ask.nth


def test_what_others_met() -> None:
    """A wall is common where three others met it, or one of whom it was confirmed, at the same page
    of the same kind, within ten minutes, and nobody passed there since."""
    known = Others()
    doubtful, here = Reading(Verdict.LOGIN_WALL, ambiguous=True), asked(nth=2)
    for uid in (2, 2, 7, 1):
        known.note(*_place(asked(nth=2, uid=uid)), doubtful, 0.0)
    assert not known.is_common(*_place(here), 1.0)
    known.note(*_place(asked(nth=2, uid=3)), doubtful, 1.0)
    assert known.is_common(*_place(here), WALL_MEMORY_S)
    assert not known.is_common(*_place(asked(nth=3)), 1.0)
    assert not known.is_common(*_place(here), WALL_MEMORY_S + 0.5)
    known.note(*_place(asked(nth=2, uid=4)), OK, 2.0)
    assert not known.is_common(*_place(here), 2.0)
    known.note(*_place(asked(nth=2, uid=1)), WALL, 3.0)
    assert known.is_common(*_place(here), 3.0)
    assert not known.is_common(*_place(asked(nth=2, uid=1)), 3.0)


def test_walls_of_later_pages_while_first_ones_are_walled_tell_nothing() -> None:
    """Law 4: then guests are refused everything, and nobody knows how deep they may read."""
    known, here = Others(), asked(nth=2)
    later = [asked(nth=2, uid=uid) for uid in (2, 3, 4)]
    for each in later:
        known.note(*_place(each), Reading(Verdict.LOGIN_WALL, ambiguous=True), 0.0)
    assert known.is_common(*_place(here), 1.0)
    for answer, is_told in ((WALL, False), (TROUBLE, False), (OK, True), (WALL, False)):
        known.heard(asked().ask.request, answer.verdict)
        assert known.is_common(*_place(here), 1.0) == is_told
    known.heard(later[0].ask.request, OK.verdict)
    assert not known.is_common(*_place(here), 1.0)
    known.heard(asked().ask.request, EMPTY.verdict)
    assert known.is_common(*_place(here), 1.0)


def test_whether_first_pages_are_shown() -> None:
    """As the last of a kind came."""
    known = Others()
    assert not known.is_first_shown(Kind.POSTS)
    known.note(*_place(asked()), EMPTY, 0.0)
    known.note(*_place(asked(nth=2)), WALL, 0.0)
    assert known.is_first_shown(Kind.POSTS)
    assert not known.is_first_shown(Kind.FANS)
    known.note(*_place(asked()), WALL, 0.0)
    assert not known.is_first_shown(Kind.POSTS)


# -- all of them

_WALLS: list[Answer] = [WALL, SESSION_REFUSED]
_any = st.sampled_from(
    (
        *(*DOUBTS, *_WALLS, OK, GONE, RESTRICTED, THROTTLED, TROUBLE, UNKNOWN, NOT_JSON),
        *(BodyCut("cut"), EgressFailed("no")),
    )
)


@given(
    first=st.lists(st.tuples(_any, st.sampled_from("abc"), st.sampled_from(Wall)), max_size=30),
    last=st.tuples(_any, st.sampled_from(Wall)),
    nth=st.integers(1, 2),
    is_only=st.booleans(),
)
def test_every_request_ends(
    first: list[tuple[Answer, str, Wall]], last: tuple[Answer, Wall], nth: int, is_only: bool
) -> None:
    """Whatever a request meets, and then meets again and again, it ends; and every answer has an
    action."""
    again = [(last[0], "abc"[n % 3], last[1]) for n in range(300)]
    met = [
        Met(answer, egress, n, wall=wall if answer in _WALLS else None, is_only=is_only)
        for n, (answer, egress, wall) in enumerate([*first, *again])
    ]
    returned(play(asked(nth=nth), met))


FORBIDDEN = Reading(Verdict.REFUSED, why="403", is_ban=True)


@pytest.mark.parametrize(
    ("kind", "said", "is_rested"),
    [
        (Kind.POSTS, FORBIDDEN, True),
        (Kind.EXTEND, FORBIDDEN, False),
        (Kind.COMMENTS, FORBIDDEN, False),
        (Kind.EXTEND, THROTTLED, True),
        (Kind.EXTEND, CAPTCHA, True),
    ],
)
def test_who_rests_for_a_refusal(kind: Kind, said: Reading, is_rested: bool) -> None:
    """A page that may be forbidden to all puts no egress to rest; one of a user does, and so does
    the word that it was too fast, a captcha, or a time to wait that is named."""
    of = Asked(Ask(Request(kind, "", 7)), 3)
    met = Met(said, "a")
    for waits_s, expected in ((None, is_rested), (5.0, True)):
        action = decide(of, [], replace(met, retry_after_s=waits_s))
        assert isinstance(action.outcome, Refused) is expected
        assert action.sign is Sign.REFUSED


REFUSED = Reading(Verdict.REFUSED, why="410", is_ban=True)


@pytest.mark.parametrize("nothing", [EMPTY, END])
@pytest.mark.parametrize("is_spared", [False, True])
@given(st.permutations([1, 1, 1, 2, 3]))
def test_an_emptiness_is_no_evidence_against_refusals(
    nothing: Reading, is_spared: bool, order: list[int]
) -> None:
    """Where others are refused the page, an egress that has shown nothing of its kind tells nothing
    by showing nothing, however often."""
    of, answers = asked(Expect.CONTENT, nth=2), {1: nothing, 2: REFUSED, 3: REFUSED}
    met = [
        Met(answers[n], f"p{n}", is_healthy=True, is_spared=is_spared and answers[n] is nothing)
        for n in (2, *order)
    ]
    actions = play(of, met)
    last = actions[-1].step
    assert isinstance(last, Return)
    assert last.reading.verdict is not nothing.verdict


def test_an_emptiness_by_who_shows_such_pages_is_evidence_against_refusals() -> None:
    """So it is by two, and by one that shows such pages of others: those who are refused went too
    fast, or are limited."""
    of, refused = asked(Expect.CONTENT, nth=2), Met(REFUSED, "p2")
    by_two = [refused, Met(END, "p1"), Met(END, "p3", is_healthy=True)]
    assert play(of, by_two)[-1].step == Return(END)
    by_one = [refused, *[Met(END, "p1", has_shown=True)] * 3]
    assert play(of, by_one)[-1].step == Return(END)
    spared = [refused, Met(END, "p1", has_shown=True, is_spared=True)]
    assert play(of, spared)[-1].step == Return(END)


@pytest.mark.parametrize("said", [GONE, BARE, END, EMPTY])
@pytest.mark.parametrize("believed", [END, EMPTY])
def test_an_emptiness_disproves_no_emptiness(said: Reading, believed: Reading) -> None:
    """Nor that a user is gone, nor a page with nobody on it: only content shows that an egress was
    shown nothing; but what is broken, or made up, is."""
    of = asked(Expect.CONTENT, nth=2)
    met = by([said, believed, believed, believed], "abc")
    assert play(of, met)[-1].disproved == ()
    assert play(of, by([NOT_JSON, believed, believed], "abc"))[-1].disproved == (0,)
    content = by([said, OK], "ab")
    assert play(of, content)[-1].disproved == (0,)


@pytest.mark.parametrize("said", [DRIFTED, FOREIGN, GONE])
def test_who_says_the_same_is_not_disproved(said: Reading) -> None:
    """It is what made the answer believed."""
    actions = play(asked(Expect.CONTENT), by([said, said], "ab"))
    assert returned(actions) == said
    assert actions[-1].disproved == ()

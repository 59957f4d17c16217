"""What an answer means, and what to do next. Pure.

answer                          to blame   next
OK, EMPTY, END, RESTRICTED      nobody     return
GONE                            ?          a doubt, but by the direct way
the ambiguous no-content body   ?          a doubt, but where nothing more was expected, or a look
                                           is spared: return
OK, but nothing on it is of     ?          a doubt: it may be another's page
  whom, or what, was asked for
DRIFTED, BodyTooLarge           ?          a doubt: it may be mangled, or a proxy's own
LOGIN_WALL; a refusal that a    session    what `login_walls` makes of it
  new session may help
CAPTCHA, THROTTLED, REFUSED     egress     it rests, another goes; return after `attempts`
REFUSED, of no page of a user   ?          the same, but nobody rests: it may be the kind's fault
a ban again, and pages of       page       the same, but nobody rests: others were asked for after
  others were shown                        the first one, so it is no ban
SERVER_TROUBLE, NOT_JSON,       site       later, by another egress; return after `attempts`, or
  TRUNCATED, transport errors              when it came by three healthy proxies: then the page's;
                                           by the only egress after two that took too long; what
                                           comes while the site is away counts for none of these
EgressFailed                    egress     another goes; return after 3 x `attempts`, of which the
                                           first one by a proxy that may never have worked is none
what cannot be sent             us         return
a fact by the egress that the   nobody     another goes; after `LOOKS` of it none is a second
  caller doubts, of several                witness: trouble

A doubt is asked about at once, elsewhere. It is believed when two egresses say the same, or the
only one says it twice; where none agree it is trouble, never a fact. Nor is an emptiness where
others are refused the page, and the one egress that shows it has shown nothing of the kind. One
that comes where a page with nobody on it named a next one is believed at the third time. Two
proxies may lie alike, and a site may refuse several softly: of two one must be trustworthy, which
is the direct way, or a proxy that brought good answers of late. What is believed then tells who was
wrong: a broken page is blamed on the proxy that brought it, an emptiness on the egress that was
shown it (soft throttling).
"""

from collections.abc import Sequence
from enum import Enum
from math import inf
from typing import NamedTuple, assert_never

from msgspec import Struct
from msgspec.structs import replace

from weibo_crawler.errors import BodyTooLarge, EgressFailed, TimedOut, TransportError
from weibo_crawler.fetch.breaker import Sign
from weibo_crawler.fetch.pool import (
    CLOSED,
    Broken,
    Failed,
    Good,
    Hit,
    Meaning,
    Outcome,
    Refused,
    SessionOver,
    Wall,
    Walled,
    login_walls,
)
from weibo_crawler.fetch.source import Ask
from weibo_crawler.records import (
    EMPTY,
    FACTS,
    OF_USERS,
    REFUSALS,
    Expect,
    FanPage,
    PostPage,
    Reading,
    Record,
    Verdict,
)

# The limits of patience with one request. Those in attempts are multiples of fetch.attempts.
REFUSED_ATTEMPTS = 1
TROUBLE_ATTEMPTS = 1
LONE_TROUBLE_ATTEMPTS = 2  # where all of it came by one egress of several
EGRESS_FAILURE_ATTEMPTS = 3
DISTRUST_ATTEMPTS = 1  # of proxies that say the same, and none is trustworthy
# And those that are not.
WITNESSES = 2
SILENCE_WAITS = 4  # pauses: while the site may be silent, first looks of others tell sooner
STALLS = 2  # of the only egress: each takes as long as an answer may
LOOKS = 3  # at a doubt, where no second witness can be had; by one in doubt
COMPARED_WITH = 4  # others that are shown the same page, until two agree
MOST_LOOKS = 5  # at an emptiness, where looks that are usual have shown more of late
HEALTHY_PROXIES = 3  # by which a page fails: more would tell nothing new
BACKOFF_BASE_S, BACKOFF_CAP_S = 0.1, 5.0

_OF_ENDED_SESSIONS = Reading(Verdict.REFUSED, why="login wall (of a session that may be over)")
UNKNOWN_REFUSAL = "unknown refusal: "  # how its `why` begins

_OF_EGRESS = (Verdict.CAPTCHA, Verdict.THROTTLED, Verdict.REFUSED)


class Asked(NamedTuple):
    """What a caller asks for, and what the fetcher adds. are_walls_told: whether walls on first
    pages count as refusals of the site. banned_at: when the first ban came that no end of a session
    explains."""

    ask: Ask
    attempts: int
    are_walls_told: bool = True
    banned_at: float = inf


class Met(Struct, frozen=True):
    """One answer to a request, or none, and how things stood when it came.

    generation: of the session that it was asked with. is_healthy: by a proxy by which answers of
    the site came of late. has_shown: by an egress that has shown a page of the kind in this run.
    is_direct: by no proxy. is_only: there is no other egress. is_outage: none of them works, or the
    site is away. wall: what the pool makes of it, once it was told `of_session`. is_common_wall,
    is_first_shown, enough_walls: as `Others` says. is_silent: the site may have fallen silent for
    everybody.
    is_spared: it is an emptiness at which nobody needs to look again at once;
    is_asked_again: one at which to look once more than usual. is_alone: it is a ban, and pages of
    others were shown that were asked for after the first one that this request met.
    """

    answer: Reading | TransportError
    egress: str
    generation: int = 0
    elapsed_s: float = 0.0
    retry_after_s: float | None = None
    is_healthy: bool = False
    has_shown: bool = False
    is_direct: bool = False
    is_only: bool = False
    is_outage: bool = False
    wall: Wall | None = None
    is_common_wall: bool = False
    is_first_shown: bool | None = False
    enough_walls: float = inf
    is_silent: bool = False
    is_spared: bool = False
    is_asked_again: bool = False
    is_alone: bool = False

    @property
    def session(self) -> tuple[str, int]:
        return self.egress, self.generation


class Return(NamedTuple):
    reading: Reading


class Again(NamedTuple):
    """avoid: the egress to pass over where another one may go. waits: None: at once; else so many
    pauses came before this one, and each is longer."""

    avoid: str | None
    waits: int | None = None


class Action(Struct, frozen=True):
    """What to do. outcome: for the pool, of this turn. sign, why: for the breaker, None: nothing.

    is_empty: this is the look that tells the breaker whether the site still shows what is there;
    None: it is none. disproved: which of the earlier answers this one shows to be wrong, one of
    each egress that broke the page, and one of each that was shown nothing.
    """

    step: Return | Again
    outcome: Outcome
    sign: Sign | None = None
    why: str = ""
    is_empty: bool | None = None
    disproved: tuple[int, ...] = ()


def of_session(met: Met) -> Walled | SessionOver | None:
    """What the pool is to be told before `decide`, since its state machine of the session has a say
    in that; None: nothing."""
    answer = met.answer
    if isinstance(answer, TransportError):
        return None
    if answer.verdict is Verdict.LOGIN_WALL:
        return Walled(met.elapsed_s)
    if answer.verdict in REFUSALS and answer.is_of_session and not met.is_alone:
        return SessionOver(_why(answer), met.retry_after_s)
    return None


def decide(asked: Asked, before: Sequence[Met], met: Met) -> Action:
    """What to do after an answer. before: what this request met until now, oldest first."""
    if _is_led_on(before) and asked.ask.expect in (Expect.LIKELY, Expect.NOTHING):
        asked = asked._replace(ask=asked.ask._replace(expect=Expect.CONTENT))
    action = _decide(_Case(asked, (*before, met)))
    if before and isinstance(action.step, Return):
        disproved = _disproved(action.step.reading, asked, before, met)
        action = replace(action, disproved=disproved)
    if asked.ask.is_retry:
        is_evidence = action.sign is Sign.ANSWERED
        return action if is_evidence else replace(action, sign=None)
    is_empty = _look(asked, before, met)
    return action if is_empty is None else replace(action, is_empty=is_empty)


def disputed(egresses: Sequence[str]) -> Reading:
    """What was read of a page of which these egresses show different words, and nobody tells which
    are the site's: nothing."""
    why = f"different words of one page by {' and '.join(egresses)}"
    return Reading(Verdict.SERVER_TROUBLE, why=why)


class _Case(NamedTuple):
    """A request and all that it met; `met` is the last of it."""

    asked: Asked
    all: tuple[Met, ...]

    @property
    def met(self) -> Met:
        return self.all[-1]

    def is_over(self, n: int, attempts: int) -> bool:
        return n >= attempts * self.asked.attempts


def _decide(case: _Case) -> Action:
    answer = case.met.answer
    if isinstance(answer, TransportError):
        return _failed(answer, case)
    if answer.verdict in FACTS and _is_doubted_again(case.met, case.asked):
        return _once_more(case)
    match answer.verdict:
        case Verdict.OK | Verdict.EMPTY | Verdict.END | Verdict.GONE | Verdict.DRIFTED:
            doubt = _doubt_of(answer, case.asked)
            return _answered(answer, case) if doubt is None else _doubted(answer, doubt, case)
        case Verdict.RESTRICTED:
            return _answered(answer, case)
        case Verdict.LOGIN_WALL:
            return _walled(answer, case)
        case Verdict.CAPTCHA | Verdict.THROTTLED | Verdict.REFUSED:
            if answer.is_of_session and not case.met.is_alone:
                return _walled(answer, case)
            return _refused(answer, case, _of_egress_or_kind(answer, case))
        case Verdict.SERVER_TROUBLE | Verdict.NOT_JSON | Verdict.TRUNCATED:
            return _troubled(answer, case)
    assert_never(answer.verdict)


def _answered(reading: Reading, case: _Case) -> Action:
    """A page that is believed."""
    sign = Sign.DRIFTED if reading.verdict is Verdict.DRIFTED else Sign.ANSWERED
    outcome = Good(case.met.elapsed_s, is_shown=reading.verdict not in EMPTY)
    return Action(Return(reading), outcome, sign, reading.why)


# -- doubts


def _is_doubted_again(met: Met, asked: Asked) -> bool:
    """Whether this is the word of the very egress whose word is doubted, and there are others."""
    return met.egress == asked.ask.avoid and not met.is_only


def _once_more(case: _Case) -> Action:
    """A fact, but nobody new has said it."""
    said = sum(_is_doubted_again(met, case.asked) for met in case.all)
    outcome = Good(case.met.elapsed_s, is_shown=False)
    if said < LOOKS:
        return Action(Again(case.met.egress, said), outcome, Sign.ANSWERED)
    why = "no second egress could be asked"
    return Action(Return(Reading(Verdict.SERVER_TROUBLE, why=why)), outcome, Sign.ANSWERED, why)


def is_nothing(asked: Asked, met: Met) -> bool:
    """Whether it is an emptiness at which to look again."""
    return _verdict(met) in EMPTY and _doubt_of(met.answer, asked) is _Doubt.EMPTY


def is_blank(met: Met) -> bool:
    """Whether it is a page that shows nobody, of others neither, and names the next one."""
    answer = met.answer
    if not isinstance(answer, Reading) or answer.verdict is not Verdict.OK:
        return False
    return answer.ambiguous and _is_bare(answer)


def _is_led_on(before: Sequence[Met]) -> bool:
    """Whether such a page came by an egress that is known to show what the site shows: so there is
    more, and an emptiness in its place contradicts it."""
    return any(is_blank(met) and is_trustworthy(met) for met in before)


def is_shown_nothing(asked: Asked, met: Met) -> bool:
    """Whether it is such an emptiness, or the word that the user is gone."""
    return is_nothing(asked, met) or _doubt_of(met.answer, asked) is _Doubt.GONE


class _Doubt(Enum):
    EMPTY = "nothing"
    GONE = "that the user is gone"
    BARE = "a page with nobody on it that is not the last"
    FOREIGN = "another's page"
    DRIFTED = "an unknown shape"
    TOO_LARGE = "too large a body"


def _doubt_of(answer: Reading | TransportError, asked: Asked) -> _Doubt | None:
    """Why a second witness is needed, None: it is not."""
    if isinstance(answer, TransportError):
        return _Doubt.TOO_LARGE if isinstance(answer, BodyTooLarge) else None
    if answer.verdict is Verdict.DRIFTED:
        return _Doubt.DRIFTED
    if answer.verdict is Verdict.GONE:
        return _Doubt.GONE
    if not answer.ambiguous or answer.verdict not in FACTS:
        return None
    if answer.verdict is Verdict.OK:
        return _Doubt.BARE if _is_bare(answer) else _Doubt.FOREIGN
    is_expected = asked.ask.expect in (Expect.NOTHING, Expect.LIKELY) and answer.verdict in EMPTY
    return None if is_expected or answer.verdict is Verdict.RESTRICTED else _Doubt.EMPTY


class _Heard:
    """Who brought such a page of one request until now. said: whose answer is in the same doubt,
    agreeing: those of them who showed the same; kinds: in what doubts all answers are."""

    def __init__(self, reading: Reading, doubt: _Doubt, case: _Case) -> None:
        doubts = [_doubt_of(met.answer, case.asked) for met in case.all]
        is_page = doubt in (_Doubt.BARE, _Doubt.FOREIGN)
        self._doubt, self._case = doubt, case
        self.said = [met for met, what in zip(case.all, doubts, strict=True) if what is doubt]
        self.agreeing = [met for met in self.said if not is_page or _is_same(met, reading)]
        self.kinds = sorted({what.value for what in doubts if what is not None})

    @property
    def is_trusted(self) -> bool:
        """Whether one of them is known to show what the site shows; nobody makes up a page with
        nobody on it that names a next one. That there is nothing, or somebody is gone, is believed
        at the third time, where nobody knows who says so."""
        if self._doubt is _Doubt.BARE or any(map(is_trustworthy, self.said)):
            return True
        is_nothing = self._doubt in (_Doubt.EMPTY, _Doubt.GONE)
        return is_nothing and len(self.agreeing) >= LOOKS

    @property
    def is_seen_twice(self) -> bool:
        return self.is_trusted and len({met.egress for met in self.agreeing}) >= WITNESSES

    @property
    def is_alone(self) -> bool:
        """Whether nobody else can tell. That somebody is gone is believed at once then; so is an
        emptiness of a page that was shown, since another one that was shown tells more than this
        one again."""
        is_gone = self._doubt is _Doubt.GONE
        is_shown = self._case.asked.ask.expect is Expect.SHOWN and self._doubt is _Doubt.EMPTY
        least = 1 if is_gone or is_shown else WITNESSES
        is_by_only = self._case.met.is_only and len(self.agreeing) >= least
        return is_by_only or (is_gone and self._case.met.is_direct)

    @property
    def is_denied(self) -> bool:
        """Whether it is an emptiness of one egress, where others are refused the page."""
        is_of_one = self._doubt is _Doubt.EMPTY and not self.is_seen_twice
        return is_of_one and _is_refused_to_others(self._case)

    @property
    def is_enough(self) -> bool:
        if self._doubt is _Doubt.EMPTY and _is_led_on(self._case.all) and len(self.said) < LOOKS:
            return False
        is_told = self.is_alone or self.is_seen_twice or self._case.met.is_spared
        return is_told and not self.is_denied

    @property
    def may_go_on(self) -> bool:
        """Whether one more may still settle it."""
        is_over = self.is_trusted or self._case.is_over(len(self.said), DISTRUST_ATTEMPTS)
        return len(self.said) < LOOKS or not is_over

    @property
    def is_all_one(self) -> bool:
        """Whether all who were asked showed the same."""
        is_same = len(self.kinds) == 1 and len(self.agreeing) == len(self.said)
        return self.is_trusted and is_same and not self.is_denied


def _doubted(reading: Reading, doubt: _Doubt, case: _Case) -> Action:
    """A page that needs a second witness."""
    heard = _Heard(reading, doubt, case)
    if heard.is_enough and not case.met.is_asked_again:
        return _believed(reading, doubt, case)
    if heard.is_enough or heard.may_go_on:
        is_nothing = doubt in (_Doubt.EMPTY, _Doubt.GONE)
        outcome = Good(case.met.elapsed_s, is_shown=False) if is_nothing else Broken()
        is_bare = doubt in (_Doubt.EMPTY, _Doubt.BARE, _Doubt.FOREIGN)
        waits = SILENCE_WAITS if is_bare and case.met.is_silent else None
        return Action(Again(case.met.egress, waits), outcome, Sign.ANSWERED if is_nothing else None)
    if heard.is_all_one:
        return _believed(reading, doubt, case)
    said = heard.kinds + (["a refusal"] if heard.is_denied else [])
    why = f"no two trustworthy egresses agree: {', '.join(said)}"
    # all of it of an unknown shape: the breaker tells by the number whether they all lie
    sign = Sign.DRIFTED if heard.kinds == [_Doubt.DRIFTED.value] else None
    return Action(Return(Reading(Verdict.SERVER_TROUBLE, why=why)), Broken(), sign, reading.why)


def _is_refused_to_others(case: _Case) -> bool:
    """Whether other egresses are refused this page, and this one has shown nothing of its kind."""
    others = [met for met in case.all if met.egress != case.met.egress]
    return not case.met.has_shown and any(_is_refusal(met) for met in others)


def _is_bare(reading: Reading) -> bool:
    """Whether the page holds nothing, of others neither: a list of another owner is of an unknown
    shape."""
    record = reading.record
    return isinstance(record, FanPage) or (isinstance(record, PostPage) and not record.foreign)


def _is_same(met: Met, reading: Reading) -> bool:
    """Whether it is the same page, as far as it was read: pages of two other users differ."""
    return isinstance(met.answer, Reading) and _shown(met.answer) == _shown(reading)


def _shown(reading: Reading) -> Record | None:
    """What a page shows. Of one with nobody on it, whether it names a next one: by a token that may
    be new each time, and beside advertisements that change."""
    record = reading.record
    if isinstance(record, FanPage | PostPage) and _is_bare(reading):
        return replace(record, next_cursor=record.next_cursor and "next", skipped={})
    return record


def is_trustworthy(met: Met) -> bool:
    """Whether an egress that is known to show what the site shows brought this answer."""
    return met.is_healthy or met.is_direct or met.is_only


def _believed(reading: Reading, doubt: _Doubt, case: _Case) -> Action:
    if doubt is _Doubt.TOO_LARGE:  # the page is to blame
        return Action(Return(reading), Broken())
    return _answered(reading, case)


# -- walls and refusals


def _walled(reading: Reading, case: _Case) -> Action:
    """A wall, or a refusal that a new session may help: what `login_walls` makes of it."""
    met, outcome, ask = case.met, of_session(case.met), case.asked.ask
    assert outcome is not None
    hits = hits_of(case.asked, case.all)
    asked = login_walls.Asked(ask.request.kind, ask.nth, case.asked.attempts)
    meaning = login_walls.after(asked, hits)
    match meaning:
        case Meaning.AGAIN:
            return Action(Again(None), outcome)
        case Meaning.ELSEWHERE:
            return Action(Again(met.egress), outcome)
        case Meaning.LATER:
            return Action(Again(met.egress, login_walls.unsure(hits) - 1), outcome)
        case Meaning.UNREAD:
            return Action(Return(_OF_ENDED_SESSIONS), outcome)
        case Meaning.REFUSED | Meaning.TOO_OFTEN:
            return _refused(reading, case, outcome, is_over=meaning is Meaning.TOO_OFTEN)
        case Meaning.CLOSED | Meaning.UNSURE:
            # Later pages closed to visitors while first pages are open: no refusal of this run.
            is_refusal = not ask.request.cursor or not met.is_first_shown
            sign = Sign.REFUSED if is_refusal and case.asked.are_walls_told else None
            told = replace(reading, ambiguous=True) if meaning is Meaning.UNSURE else reading
            return Action(Return(told), outcome, sign, _why(reading))
    assert_never(meaning)


def hits_of(asked: Asked, answers: Sequence[Met]) -> list[Hit]:
    """The walls among the answers to a request, and the refusals that a new session may help."""
    return [_hit(asked, met, met.wall) for met in answers if met.wall is not None]


def _hit(asked: Asked, met: Met, wall: Wall) -> Hit:
    return Hit(
        wall,
        met.egress,
        met.generation,
        is_wall=_verdict(met) is Verdict.LOGIN_WALL,
        is_trusted=is_trustworthy(met),
        is_common=met.is_common_wall,
        is_first_shown=met.is_first_shown,
        enough=1 if asked.ask.was_walled else met.enough_walls,
    )


def is_ban(met: Met) -> bool:
    """Whether a page is refused, and that says more than that it was asked for too early. What says
    until when to wait is of whoever asks."""
    answer = met.answer
    is_refusal = isinstance(answer, Reading) and answer.verdict in _OF_EGRESS and answer.is_ban
    return is_refusal and met.retry_after_s is None


def is_alone(met: Met) -> bool:
    """Whether others were shown pages after this one was refused."""
    return met.is_alone or met.wall is Wall.ALONE


def is_of_no_session(met: Met) -> bool:
    """Whether no end of a session explains this refusal."""
    return met.wall is None or met.wall in CLOSED


def _refused(reading: Reading, case: _Case, outcome: Outcome, *, is_over: bool = False) -> Action:
    """A refusal of the egress; or of its session, and no new one helps."""
    is_over |= case.is_over(sum(_is_refusal(met) for met in case.all), REFUSED_ATTEMPTS)
    step = Return(reading) if is_over else Again(case.met.egress)
    sign = None if is_alone(case.met) else Sign.REFUSED
    return Action(step, outcome, sign, _why(reading))


def _of_egress_or_kind(reading: Reading, case: _Case) -> Outcome:
    """A text, a comment or a name may be forbidden to all, by which no egress is refused: whether
    this one is tells a page of a user, which the pool wants before it asks for more of the kind. So
    may one page of a user be, if others are shown."""
    if case.met.is_alone:
        return Broken()
    is_beside = case.asked.ask.request.kind not in OF_USERS
    if is_beside and reading.verdict is Verdict.REFUSED and case.met.retry_after_s is None:
        return Broken()
    return Refused(_why(reading), case.met.retry_after_s, reading.is_ban)


def _is_refusal(met: Met) -> bool:
    """Whether it was the egress that was refused, as far as is known."""
    return _verdict(met) in _OF_EGRESS and met.wall not in (Wall.OVER, Wall.DOUBT)


# -- trouble


def _troubled(reading: Reading, case: _Case) -> Action:
    """An answer that is no page."""
    is_first = sum(_is_unknown_refusal(met) for met in case.all) == 1
    action = _try_later(reading, case)
    if _is_unknown_refusal(case.met):  # counted when it comes, not when it stays
        sign = Sign.REFUSED if is_first else Sign.REFUSED_AGAIN
        return replace(action, sign=sign, why=_why(reading))
    return action


def _failed(error: TransportError, case: _Case) -> Action:
    """No whole answer."""
    reading, met = Reading(Verdict.SERVER_TROUBLE, why=str(error)), case.met
    if isinstance(error, EgressFailed):
        failures = [m for m in case.all if isinstance(m.answer, EgressFailed)]
        # of a proxy of which nobody knows whether it works the first one is no page's fault
        new = {m.egress for m in failures if not m.is_healthy}
        # nor is any while no egress works
        is_over = case.is_over(len(failures) - len(new), EGRESS_FAILURE_ATTEMPTS)
        is_over &= not met.is_outage
        return Action(Return(reading) if is_over else Again(met.egress), Failed(str(error)))
    doubt = _doubt_of(error, case.asked)
    if doubt is not None:
        return _doubted(reading, doubt, case)
    if error.blame == "us":
        return Action(Return(reading), Broken())
    return _try_later(reading, case)


def _try_later(reading: Reading, case: _Case) -> Action:
    """No fault of the page is what comes while the site is away."""
    troubles = [met for met in case.all if is_trouble(met.answer) and not met.is_outage]
    is_by_one = len({met.egress for met in troubles}) == 1 and not case.met.is_only
    healthy = {met.egress for met in troubles if met.is_healthy}
    limit = LONE_TROUBLE_ATTEMPTS if is_by_one else TROUBLE_ATTEMPTS
    stalls = sum(isinstance(met.answer, TimedOut) for met in troubles)
    is_stalled = case.met.is_only and stalls >= STALLS
    is_blameless = is_trustworthy(case.met) and not _is_unknown_refusal(case.met)
    outcome = Broken(trouble=_why(reading) if is_blameless else "")
    if is_stalled or case.is_over(len(troubles), limit) or len(healthy) >= HEALTHY_PROXIES:
        return Action(Return(reading), outcome, Sign.SILENT, _why(reading))
    return Action(Again(case.met.egress, max(0, len(troubles) - 1)), outcome)


def is_trouble(answer: Reading | TransportError) -> bool:
    """Whether nothing came that tells of the page, through no fault of the egress alone."""
    if isinstance(answer, TransportError):
        return not isinstance(answer, EgressFailed | BodyTooLarge)
    return answer.verdict in (Verdict.SERVER_TROUBLE, Verdict.NOT_JSON, Verdict.TRUNCATED)


def trouble_of(met: Met) -> str:
    """Why this answer was no page that can be read, "" where it was another one."""
    if isinstance(met.answer, TransportError):
        return str(met.answer) if is_trouble(met.answer) else ""
    is_odd = met.answer.verdict is Verdict.DRIFTED or is_trouble(met.answer)
    return _why(met.answer) if is_odd else ""


def _is_unknown_refusal(met: Met) -> bool:
    answer = met.answer
    return isinstance(answer, Reading) and (
        answer.verdict is Verdict.SERVER_TROUBLE and answer.why.startswith(UNKNOWN_REFUSAL)
    )


def _why(reading: Reading) -> str:
    """The site's own word, with what it means where a number alone would not say it."""
    why = reading.why or reading.verdict.value
    is_told = why == reading.verdict or reading.verdict not in (Verdict.LOGIN_WALL, Verdict.CAPTCHA)
    return why if is_told else f"{reading.verdict} ({why})"


def _verdict(met: Met) -> Verdict | None:
    return met.answer.verdict if isinstance(met.answer, Reading) else None


# -- what an answer tells of earlier ones


def _disproved(reading: Reading, asked: Asked, before: Sequence[Met], met: Met) -> tuple[int, ...]:
    """The answers of other egresses that are wrong where this page is believed: broken ones, empty
    ones where it has content, and walls that no end of a session explains. What an egress brought
    several times counts once."""
    if reading.verdict not in FACTS:
        return ()
    own = _doubt_of(met.answer, asked)
    is_content = reading.verdict is Verdict.OK and own is None
    wrong: dict[tuple[str, bool], int] = {}
    for i, earlier in enumerate(before):
        doubt = _doubt_of(earlier.answer, asked)
        if earlier.egress == met.egress or (doubt is not None and doubt is own):
            continue
        is_empty = doubt in (_Doubt.EMPTY, _Doubt.GONE, _Doubt.BARE)
        is_broken = doubt is not None or is_trouble(earlier.answer) or is_closed(earlier)
        if is_content if is_empty else is_broken:
            wrong.setdefault((earlier.egress, is_empty), i)
    return tuple(wrong.values())


def is_closed(met: Met) -> bool:
    """Whether it is a login wall by a session that was alive, as far as the pool knows."""
    return met.wall in CLOSED and _verdict(met) is Verdict.LOGIN_WALL


def _look(asked: Asked, before: Sequence[Met], met: Met) -> bool | None:
    """Whether something that is known to be there was not shown; None: this answer is not the one
    that tells, which is the first one that shows anything or nothing. A later page tells only where
    it was shown before: many lists and timelines end with a page that was promised, and many ends
    may come in a row. Pages of users tell, not texts, which a site may offer by one way only. That
    a user is gone tells where it is known to have been there. Where something is only likely to be
    there, the caller learns elsewhere whether an emptiness contradicts that (`Fetcher.contradict`).
    """
    if asked.ask.request.kind not in OF_USERS:
        return None
    if asked.ask.expect in (Expect.UNKNOWN, Expect.NOTHING):
        return None
    if asked.ask.nth > 1 and asked.ask.expect is not Expect.SHOWN:
        return None
    is_none = is_said_gone(met.answer) or _verdict(met) in EMPTY
    if is_none and asked.ask.expect is Expect.LIKELY:
        return None
    if any(_shows_nothing(m.answer) is not None for m in before):
        return None
    return _shows_nothing(met.answer)


def _shows_nothing(answer: Reading | TransportError) -> bool | None:
    """None: it does not tell. A page with nothing of its user on it shows nothing; of one that a
    proxy made up, another egress tells."""
    if not isinstance(answer, Reading):
        return None
    if answer.verdict is Verdict.OK:
        return answer.ambiguous
    is_empty = answer.verdict in EMPTY and answer.ambiguous
    return True if is_empty or is_said_gone(answer) else None


def is_said_gone(answer: Reading | TransportError) -> bool:
    """Whether the site says that the user, or the post, is gone."""
    return isinstance(answer, Reading) and answer.verdict is Verdict.GONE

"""The circuit breaker: when the whole run must stop, and the words for it. Pure.

what comes                                        it stops the run when
refusals, and pages that never came               they are stop_share of a full window; where the
                                                  egresses rest for it, of the last hour, too
pages of an unknown shape                         they are clearly more than drift_share of the last
                                                  pages, and come from ten users or more
nothing, or that its user is gone, where          of one kind of page it is a million times likelier
something is known to be                          that the site has fallen silent than that it is as
                                                  it was, and pages that it showed are shown no more
words that differ from one proxy to the other     of twenty pages in a row nobody tells which are
                                                  the site's

Only what was asked for the first time is evidence about the site; a request that failed before
counts for nothing but its good answer, and a refusal that nobody knows, which comes once more to
the same request, only where ten refusals came in a row: then it is no page's fault. What is wrong
with texts, comments and the like counts only while pages of users are not shown either: a site may
have closed, or lost, one way to a text.
A site that allows so many requests an hour refuses all its egresses for the rest of that, and they
rest longer and longer: what ends is the hour, and not the run.
`now` is an argument, in seconds since the epoch.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from math import ceil, log, sqrt
from typing import NamedTuple

from weibo_crawler.records import Id, Kind

_ANSWERS_EACH = 2  # of an egress in the window
_REFUSALS_IN_A_ROW = 10
_MINUTES = 60  # a quota is for an hour
_DRIFT_PAGES = 50  # fewer pages make no share
_DRIFT_USERS = 10
_USUAL_FLOOR = 0.3  # no site is trusted to show more than 70 % of what it should
_USUAL_AGAIN = 0.05  # of pages that were shown before, until they are known better
_DISPUTES = 20  # two proxies may be asked just before and just after a text is edited
_SILENT = 0.97  # the share of empty answers of a site that has fallen silent
_CERTAIN = log(1e6)
_WITNESSES = 3  # pages shown before that are shown no more: without them it takes ...
_ALONE = {Kind.PROFILE: 1.0, Kind.POSTS: 2.0}  # ... so many times that certainty, where the site
_ALONE_AT_MOST = 3.0  # shows anything at all: nobody hides a profile, more hide lists than posts
_PRIOR_EMPTY, _PRIOR = 9, 15  # looks added to those seen: few tell little of what is usual
_PRIOR_AGAIN = 10  # the same, of pages that were shown before
_COME_BACK = (
    "come back in an hour or more with a lower pace.requests_per_second or other egresses "
    "(egress.proxies_file, egress.proxies_url; `proxies check` tries them), then run the "
    "same command again"
)


class Sign(StrEnum):  # hashed by its text, an Enum by a function of Python
    """What one answer says of the site. REFUSED_AGAIN: words that nobody knows came once more to
    the same request, which may be its page's fault. DRIFTED: its shape stayed unknown when it was
    asked for again. SILENT: no usable answer came, however often it was asked for."""

    ANSWERED = "answered"
    REFUSED = "refused"
    REFUSED_AGAIN = "refused again"
    DRIFTED = "drifted"
    SILENT = "silent"


class Look(NamedTuple):
    """The first answer to a request for something that is known to be there. was_shown: this very
    page was, before. is_gone: it says that the user is. is_later: it is no first page."""

    kind: Kind
    is_empty: bool
    egress: str
    at: float
    was_shown: bool = False
    is_gone: bool = False
    is_later: bool = False

    @property
    def place(self) -> tuple[Kind, bool]:
        """The pages that are shown, or not, together with this one."""
        return self.kind, self.is_later


class _Note(NamedTuple):
    sign: Sign
    why: str
    egress: str
    at: float
    uid: Id
    rests: bool

    @property
    def is_bad(self) -> bool:
        return self.sign in (Sign.REFUSED, Sign.SILENT)


class Breaker:
    """Watches the last answers; `tripped` says why to stop, "" while all is well.

    The window is of stop_window answers, or of two for each egress that was answered, where that
    is more: many egresses that begin together above the limit are refused together, once each,
    which says nothing of the site. Failures of the egresses themselves say nothing of it either.
    is_patient: the rests of the egresses spare the site, so that an hour of refusals can be waited
    for; else the window alone decides.
    Once tripped it stays so.
    """

    def __init__(
        self,
        stop_share: float,
        stop_window: int,
        *,
        drift_share: float = 1.0,
        is_patient: bool = True,
    ) -> None:
        self._stop_share, self._least, self._is_patient = stop_share, stop_window, is_patient
        self._window: deque[_Note] = deque()
        self._pages: deque[_Note] = deque(maxlen=max(_DRIFT_PAGES, stop_window))
        self._drifts_needed = _clearly_more(drift_share, max(_DRIFT_PAGES, stop_window))
        self._hour = _Hour()
        self._egresses: set[str] = set()
        self._counts = dict.fromkeys(Sign, 0)
        self._refusals = 0  # in a row
        self._drifts = 0  # of the last pages
        self._silences: defaultdict[tuple[Kind, bool], _Silence] = defaultdict(_Silence)
        self._shown_at: dict[tuple[Kind, bool], float] = {}  # by place
        self._was_shown = False
        self._disputes = 0  # pages in a row of which proxies show different words
        self._are_users_shown = False  # by the latest answer about a page of a user
        self.tripped = ""

    @property
    def is_talking(self) -> bool:
        """Whether the site has shown something in this run, and has not fallen silent of late."""
        return self._was_shown and not self.tripped and self._score < _CERTAIN / 3

    @property
    def may_be_silent(self) -> bool:
        """Whether looks that showed nothing speak against the site, and it has not refuted them."""
        return self._score > 0 and not self.is_talking

    def note(
        self,
        sign: Sign,
        why: str,
        egress: str,
        now: float,
        *,
        uid: Id = 0,
        is_of_user: bool = True,
        rests: bool = False,
    ) -> None:
        """One answer of the site, or a request without one. is_of_user: about a page of a user, or
        about the egress itself. rests: the egress rests for it, longer each time."""
        if is_of_user:
            self._are_users_shown = sign is Sign.ANSWERED
        elif self._are_users_shown and sign is not Sign.ANSWERED:
            return
        if sign is Sign.REFUSED_AGAIN:
            if self._refusals < _REFUSALS_IN_A_ROW:
                return
            sign = Sign.REFUSED
        self._refusals = self._refusals + 1 if sign is Sign.REFUSED else 0
        note = _Note(sign, why, egress, now, uid, rests)
        self._hour.note(now, is_bad=note.is_bad)
        self._egresses.add(egress)
        size = max(self._least, _ANSWERS_EACH * len(self._egresses))
        self._window.append(note)
        self._counts[sign] += 1
        if len(self._window) > size:
            self._counts[self._window.popleft().sign] -= 1
        if len(self._pages) == self._pages.maxlen:
            self._drifts -= self._pages[0].sign is Sign.DRIFTED
        self._pages.append(note)
        self._drifts += sign is Sign.DRIFTED
        if self.tripped:
            return
        bad = self._counts[Sign.REFUSED] + self._counts[Sign.SILENT]
        if bad and len(self._window) == size and bad >= _needed(self._stop_share, size):
            bad_ones = [note for note in self._window if note.is_bad]
            may_pass = self._is_patient and 2 * sum(note.rests for note in bad_ones) > bad
            if not may_pass or self._hour.is_bad(self._stop_share):
                self.stop(self._explain(bad_ones))
        elif self._is_of_new_shape():
            self.stop(self._explain_drift())

    def shown(self) -> None:
        """The site showed something."""
        self._was_shown = True

    def looked(self, look: Look) -> None:
        """The site showed something, or nothing, where something is known to be. First answers of
        first attempts only: what is asked for again is asked for because it was empty. Each kind
        of page is judged by itself, and its later pages apart: a site may be silent of some and
        show the others."""
        if not look.is_empty:
            self._was_shown, self._shown_at[look.place] = True, look.at
        silence = self._silences[look.place]
        silence.add(look)
        is_enough = not self._was_shown or silence.witnesses >= _WITNESSES
        alone = _ALONE_AT_MOST if silence.is_of_gone else _ALONE.get(look.kind, _ALONE_AT_MOST)
        if silence.score >= _CERTAIN * (1 if is_enough else alone):
            self.stop(_explain_silence(look, silence))

    def contradicted(self, look: Look) -> None:
        """Judge an emptiness that turns out to be odd only now. It counts where nothing of its
        place was shown since: else several that are told late would look like a silence of now."""
        if self._shown_at.get(look.place, 0.0) < look.at:
            self.looked(look)

    def compared(self, differing: Sequence[str], *, is_same: bool) -> None:
        """Proxies were asked for the same page. differing: those whose words differ, and nobody
        tells which are the site's; is_same: it was told."""
        self._disputes = 0 if is_same else self._disputes + bool(differing)
        if self._disputes >= _DISPUTES:
            self.stop(
                f"{' and '.join(differing)} show different words of the same pages "
                f"({self._disputes} in a row), and no other egress tells which of them changes "
                "pages: nothing of these pages is stored; add a proxy, or leave out the one that "
                "changes pages, then run the same command again"
            )

    def take_back(self, look: Look) -> None:
        """Another egress was shown something: the emptiness was about the egress of this look."""
        self._silences[look.place].take_back(look)

    def stop(self, why: str) -> None:
        """Stop for this reason, unless there is one already."""
        self.tripped = self.tripped or why

    # -- inside

    @property
    def _score(self) -> float:
        return max((silence.score for silence in self._silences.values()), default=0.0)

    def _is_of_new_shape(self) -> bool:
        return (
            self._drifts >= self._drifts_needed
            and len(self._pages) == self._pages.maxlen
            and len({note.uid for note in self._drifted()}) >= _DRIFT_USERS
        )

    def _drifted(self) -> list[_Note]:
        return [note for note in self._pages if note.sign is Sign.DRIFTED]

    def _explain(self, notes: Sequence[_Note]) -> str:
        reasons = Counter(note.why for note in notes).most_common(3)
        facts = (
            f"{len(notes)} of the last {max(len(notes), len(self._window))} requests since "
            f"{_clock(notes[0].at)}, "
            f"{_by(note.egress for note in notes)}: "
            + ", ".join(f"{n} x {why or 'no reason given'}" for why, n in reasons)
        )
        if 2 * sum(note.sign is Sign.SILENT for note in notes) > len(notes):
            return (
                f"the site does not answer: {facts}; "
                "check site.base_url and the network, then run the same command again"
            )
        return (
            f"the site says no: {facts}; what was under way goes back and nothing is lost: "
            + _COME_BACK
        )

    def _explain_drift(self) -> str:
        drifted = self._drifted()
        paths = Counter(note.why for note in drifted)
        return (
            f"the site changed its shape: {len(drifted)} of the last {len(self._pages)} pages, of "
            f"{len({note.uid for note in drifted})} users, are not as this version knows them, at "
            + ", ".join(path for path, _ in paths.most_common(3))
            + "; the pages are kept (table `drifted`), look for a newer version"
        )


class _Hour:
    """The answers of the last hour, by the minute, and how many of them were bad."""

    def __init__(self) -> None:
        self._minutes: dict[int, list[int]] = {}

    def note(self, now: float, *, is_bad: bool) -> None:
        at = int(now // 60)
        if at not in self._minutes:
            oldest = at - _MINUTES
            self._minutes = {one: seen for one, seen in self._minutes.items() if one > oldest}
            self._minutes[at] = [0, 0]
        self._minutes[at][0] += 1
        self._minutes[at][1] += is_bad

    def is_bad(self, share: float) -> bool:
        """Whether so many were, at the latest answer."""
        total, bad = map(sum, zip(*self._minutes.values(), strict=True))
        return bad >= share * total


class _Silence:
    """Tells a site that has fallen silent from one that often shows nothing: Page's CUSUM test.

    score: by how much likelier the looks of the present stretch are if the site shows nothing
    (97 % of looks empty) than if it is as usual, as a logarithm, and never below 0. A stretch
    begins when the score leaves 0 and is over when it comes back, or when a page that was shown
    before is shown again: then those between were as they are. usual: the share of empty looks
    before the present stretch, so that a silence does not become usual by lasting.
    """

    def __init__(self) -> None:
        self._seen: Counter[tuple[bool, bool]] = (
            Counter()
        )  # was_shown, is_empty; before the stretch
        self.stretch: list[Look] = []
        self.score = 0.0

    @property
    def usual(self) -> float:
        empty = self._seen[False, True] + self._seen[True, True]
        share = (empty + _PRIOR_EMPTY) / (self._seen.total() + _PRIOR)
        return min(max(share, _USUAL_FLOOR), _SILENT)

    @property
    def usual_again(self) -> float:
        """The same of pages that were shown before."""
        empty, shown = self._seen[True, True], self._seen[True, False]
        share = (empty + _PRIOR_AGAIN * _USUAL_AGAIN) / (empty + shown + _PRIOR_AGAIN)
        return min(max(share, _USUAL_AGAIN), self.usual)

    @property
    def witnesses(self) -> int:
        """How many looks of the stretch were at pages that were shown before, and are no more."""
        return sum(look.was_shown for look in self.stretch)

    @property
    def empty(self) -> list[Look]:
        """The looks of the stretch that showed nothing."""
        return [look for look in self.stretch if look.is_empty]

    @property
    def is_of_gone(self) -> bool:
        """Whether most of these say that the user is gone."""
        return 2 * sum(look.is_gone for look in self.empty) > len(self.empty)

    def add(self, look: Look) -> None:
        usual = self.usual_again if look.was_shown else self.usual
        shares = (_SILENT, usual) if look.is_empty else (1 - _SILENT, 1 - usual)
        self.stretch.append(look)
        self.score += log(shares[0] / shares[1])
        if self.score <= 0 or (look.was_shown and not look.is_empty):
            self._seen.update((one.was_shown, one.is_empty) for one in self.stretch)
            self.stretch, self.score = [], 0.0

    def take_back(self, look: Look) -> None:
        if look not in self.stretch:
            self._seen[look.was_shown, look.is_empty] -= 1
            return
        looks, self.stretch, self.score = self.stretch, [], 0.0
        looks.remove(look)
        for one in looks:
            self.add(one)


def _explain_silence(look: Look, silence: _Silence) -> str:
    looks, empty = silence.stretch, silence.empty
    pages = f"{look.kind!s}, later pages" if look.is_later else str(look.kind)
    what, said, so = "shows nothing", "showed nothing", "it does not say so, but it"
    if silence.is_of_gone:
        what, said, so = "says that everybody is gone", "said so", "that cannot be: it"
    n, usual = silence.witnesses, silence.usual
    before = f", {n} of them at pages that it showed before" if n else ""
    if n == len(looks):
        before, usual = ", all at pages that it showed before", silence.usual_again
    return (
        f"the site {what}: {len(empty)} of the last {len(looks)} first looks at what is "
        f"known to hold something ({pages}){before}, since {_clock(looks[0].at)}, "
        f"{_by(look.egress for look in empty)}, {said}, where "
        f"{usual * 100:.0f} % at most is usual in this run; {so} "
        "no longer talks to us, and nobody stays marked as gone or done because of it: "
        + _COME_BACK
    )


def _by(egresses: Iterable[str]) -> str:
    counts = Counter(egresses)
    named = ", ".join(f"{name} {n} x" for name, n in counts.most_common(3))
    named += ", …" if len(counts) > 3 else ""
    return f"by {len(counts)} egress{'es' if len(counts) > 1 else ''} ({named})"


def _needed(share: float, size: int) -> int:
    return ceil(share * size - 1e-9)  # a share of 0.9 of 10 is 9


def _clearly_more(share: float, size: int) -> int:
    """So many of `size` pages that a site where a page in question comes with this share, or less
    often, hardly ever shows them in a row: three standard deviations more."""
    more = 3.0 * sqrt(size * share * (1.0 - share))
    return min(size, ceil(share * size + more - 1e-9))


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

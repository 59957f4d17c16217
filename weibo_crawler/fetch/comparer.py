"""Whether a proxy shows what others show: its page is asked for by another egress as well."""

from weibo_crawler.errors import Interrupted, SiteSaysNo
from weibo_crawler.fetch.answers import COMPARED_WITH, Asked, Met, disputed
from weibo_crawler.fetch.breaker import Breaker
from weibo_crawler.fetch.comparison import agree, are_telling, is_behind, words_of
from weibo_crawler.fetch.exchange import Came, Exchange
from weibo_crawler.fetch.pool import Good, KindShut, Pool
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Page, Reading


class Comparer:
    """Compares what proxies show. Counters: `request.compared` for each request that tells whether
    a proxy shows what others do, `egress.disproved` for each egress that was found to lie."""

    def __init__(
        self, exchange: Exchange, pool: Pool, breaker: Breaker, counters: Counters
    ) -> None:
        self._exchange, self._pool = exchange, pool
        self._breaker, self._counters = breaker, counters

    def wants(self, name: str, reading: Reading) -> bool:
        """Whether this page, which an egress of this name brought, is to be compared."""
        if not self._pool.ring.is_proxy(name):  # the direct way shows what the site shows
            return False
        words = words_of(reading)
        is_telling = are_telling(words)
        return bool(words) and self._pool.ring.wants_comparison(name, is_telling=is_telling)

    async def compared(self, asked: Asked, first: Came) -> tuple[Reading, Met, Page | None]:
        """The page of a proxy, which the pool was told of, or what others show in its place: others
        are asked until two show the same words, or one that is known to show what the site shows;
        a first page that lacks what was there long ago is none of these.
        Where they show different ones, and no two the same, none is believed; where no other has
        shown any, the first one is."""
        answers, is_true = [first], None
        while is_true is None and len(answers) <= COMPARED_WITH:
            other = await self._answer_of_another(asked, [one.met.egress for one in answers])
            if other is None:
                break
            answers.append(other)
            is_true = self._are_true(answers)
            if words_of(other.met.answer) and not _differing(answers):
                break  # too few letters to tell, and nobody objects
        if is_true is not None and not asked.ask.request.cursor:
            is_true = _without_old(answers, is_true)
        best = 0 if is_true is None else is_true.index(True)
        is_telling = are_telling(words_of(first.met.answer))
        differing = [] if is_true else _differing(answers)
        for i, answer in enumerate(answers):
            true = None if is_true is None else is_true[i]
            if not words_of(answer.met.answer):
                pass  # it tells nothing of the words that this egress shows
            elif answer.met.egress in differing:
                self._pool.ring.compared(answer.met.egress, is_same=False)
            elif answer is first or true is not None:
                self._pool.ring.compared(answer.met.egress, is_same=true, is_telling=is_telling)
            if i != best:
                self._exchange.note(asked.ask, answer.page, answer.met.answer, None)
            if true is False and isinstance(answer.turn.outcome, Good):
                self.disprove(answer.met.egress, answer.met.elapsed_s)
        met, page = answers[best].met, answers[best].page
        self._breaker.compared(differing, is_same=is_true is not None)
        if differing:
            return disputed(differing), met, page
        assert isinstance(met.answer, Reading)
        return met.answer, met, page

    def _are_true(self, answers: list[Came]) -> list[bool | None] | None:
        """Of each answer whether it is true, None: that is not known, but of one at least; None:
        ask one more."""
        *others, last = (answer.met for answer in answers)
        told = [agree(other.answer, last.answer) for other in others]
        is_known = not self._pool.ring.is_untold(last.egress)
        return [*told, True] if True in told or (is_known and False in told) else None

    async def _answer_of_another(self, asked: Asked, names: list[str]) -> Came | None:
        """What another egress than these answers to the same request; None: none could be asked."""
        try:
            self._counters.add("request.compared")
            other = await self._exchange.ask(asked, names)
        except (Interrupted, SiteSaysNo, KindShut):
            return None
        self._exchange.tell_of(asked, other)
        if other.met.egress not in names:
            return other
        self._exchange.note(asked.ask, other.page, other.met.answer, None)
        return None

    def disprove(self, egress: str, took_s: float = 0.0) -> None:
        """Tell the pool that this egress brought a false page."""
        self._counters.add("egress.disproved")
        self._pool.disprove(egress, took_s)


def _differing(answers: list[Came]) -> list[str]:
    """The egresses whose words are not those of the first one, and that one; [] where none are."""
    first, *others = (answer.met for answer in answers)
    names = [met.egress for met in others if agree(first.answer, met.answer) is False]
    return [first.egress, *names] if names else []


def _without_old(answers: list[Came], is_true: list[bool | None]) -> list[bool | None]:
    """Of the true first pages those are false that somebody had kept."""
    shown = [one for one, true in zip(answers, is_true, strict=True) if true]
    return [
        true and not any(_is_behind(one, other) for other in shown)
        for one, true in zip(answers, is_true, strict=True)
    ]


def _is_behind(one: Came, other: Came) -> bool:
    at = None if one.page is None else one.page.fetched_at
    return at is not None and is_behind(one.met.answer, other.met.answer, at)

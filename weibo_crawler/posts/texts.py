"""The whole texts of long posts, by the ways that the site offers."""

from typing import NamedTuple

from weibo_crawler.fetch import Ask
from weibo_crawler.posts.asking import Asker
from weibo_crawler.records import Expect, FullText, Id, Reading, Request, Verdict
from weibo_crawler.sites import Site

_BEGINNING = 20  # characters: in both recorded pairs of 2021 cut and whole text begin alike
_NO_MORE = "what is shown of it is no longer than the cut text"
_FACTS = (Verdict.GONE, Verdict.RESTRICTED)  # about a post
# kinds in `Samples`: what a way showed in the place of the text; a look is by another way
RESTRICTED = "texts.restricted"
CUT = "texts.cut"
_NOTHING = "texts.nothing"  # a look is by the same way, in the second round


class Found(NamedTuple):
    """What came of asking for a text. full: the whole one; else why: the fact that there is none
    for us, "" where there is no fact; gone: all ways that told say that there is no such post."""

    full: FullText | None = None
    why: str = ""
    gone: bool = False


class Texts:
    """Asks for the whole texts of one user's posts. asked: their mids; completed: how many were
    got.

    A text costs one round of ways, the way that worked last in this run first. A way that shows
    nothing is not asked twice in a round: the next way is the witness. A restriction is a fact
    about the post, and so is that it does not exist, but another way may show it, so the round goes
    on, and while one way is in trouble nothing is concluded. Once other ways have shown none of
    many such texts (`Samples`), the round ends at most of these facts. While the
    site is not talking it ends at the first trouble. The ways that had trouble, and those after it,
    are tried `again`, once. A way by which nobody is shown a text is left out
    (`Asker.may_ask`), and is no witness. A text that begins otherwise than the page shows it may be
    that of another post: it is trouble, too, unless its answer names the post and it is longer. One
    that is no longer than what the page shows is a notice, or cut as well: a restriction, if
    another way shows no more, or no others have shown more of such.
    """

    def __init__(self, site: Site, asker: Asker, uid: Id) -> None:
        self._site, self._asker, self._uid = site, asker, uid
        self._troubled: dict[Id, list[Request]] = {}
        self._shown: dict[Id, str] = {}  # how texts begin
        self.asked: set[Id] = set()
        self.completed = 0

    async def whole(self, mid: Id, shown: str, *, is_retry: bool = False) -> Found:
        """The text by the first way that has it, in one round. shown: the cut text."""
        self.asked.add(mid)
        self._shown[mid] = _bare(shown)
        return await self._round(mid, self._ways(mid), is_retry)

    async def again(self, mid: Id) -> Found:
        """Once more by the ways that had trouble in this visit; nothing where none had. None of
        them was a witness of another, so the fetcher may look twice at what shows nothing."""
        return await self._round(mid, self._troubled.pop(mid, []), True, _NOTHING)

    async def if_opened(self, mid: Id, shown: str) -> Found:
        """Of a post that was restricted long ago: the best way alone. shown: the cut text."""
        self._shown[mid] = _bare(shown)
        return await self._round(mid, self._ways(mid)[:1], True)

    def _ways(self, mid: Id) -> list[Request]:
        return self._asker.by_lead(self._site.full_text(self._uid, mid))

    async def _round(self, mid: Id, ways: list[Request], is_retry: bool, end: str = "") -> Found:
        """end: of what shows nothing, as in `Ask`; "": the next way is its witness."""
        why, look, is_second, is_alone = "", "", False, False
        facts = set[Verdict]()
        for n, way in enumerate(ways):
            # a post that is shown has a text
            ask = Ask(way, Expect.CONTENT if end else Expect.LIKELY, is_retry=is_retry, end=end)
            if not self._asker.may_ask(ask):
                continue
            is_second = bool(look)
            reading = (await self._asker.fetch(ask)).reading
            if isinstance(reading.record, FullText) and self._is_short(mid, reading.record):
                reading = Reading(Verdict.RESTRICTED, why=_NO_MORE, is_cut=True)
                is_alone = not why
            else:
                is_alone = False
            if isinstance(reading.record, FullText) and self._is_of(mid, reading.record):
                self._asker.led(way)
                self.completed += 1
                if look:
                    self._asker.looked(look, found=True)
                return Found(reading.record)
            if reading.verdict in _FACTS:
                why = why or f"{reading.verdict}: {reading.why}".removesuffix(": ")
                facts.add(reading.verdict)
            else:
                is_over = not self._asker.is_talking
                self._troubled.setdefault(mid, []).extend(ways[n:] if is_over else [way])
                if is_over:
                    break
                continue
            if not look and way is not ways[-1]:
                look = CUT if reading.is_cut else RESTRICTED
                if not self._asker.wants_look(look):
                    is_alone = False
                    break
        is_known = mid not in self._troubled and not is_alone
        if is_second and is_known:
            self._asker.looked(look, found=False)
        return Found(why=why, gone=facts == {Verdict.GONE}) if is_known else Found()

    def _is_of(self, mid: Id, full: FullText) -> bool:
        """Whether it is the text of this post, as far as anybody can tell."""
        beginning = self._shown.get(mid, "")[:_BEGINNING].rstrip(".…")
        return full.is_named or _bare(full.text).startswith(beginning)

    def _is_short(self, mid: Id, full: FullText) -> bool:
        """Whether it holds no more than what the page shows."""
        return len(_bare(full.text)) <= len(self._shown.get(mid, ""))


def _bare(text: str) -> str:
    """A text without blanks, and without the dots that say that it is cut."""
    return "".join(text.split()).rstrip(".…")

"""Why the walk of an entry cannot go on, or not now: each name says what the run does next."""

from weibo_crawler.evidence import Place
from weibo_crawler.records import Edge
from weibo_crawler.store import LESS_SHOWN


class EntryTrouble(Exception):
    """This entry cannot go on now: let it rest, or fail it after too many attempts."""


DOUBTS = "; "  # between the doubts of one entry


class Doubt(EntryTrouble):
    """The answer may be right: let the entry rest and ask once more; costs no attempt."""


class Unsure(Doubt):
    """Less was shown than announced."""

    def __init__(self, edge: Edge) -> None:
        super().__init__(f"{edge}: {LESS_SHOWN}")


class UnsureWall(Doubt):
    """A login wall that nobody else confirmed. said: what the site said."""

    def __init__(self, edge: Edge, said: str) -> None:
        super().__init__(f"{edge}: a login wall that nobody confirmed")
        self.said = said


class Unheard(EntryTrouble):
    """The site may show nothing to anybody: costs an attempt only while it shows others pages."""


class Refused(Unheard):
    """The site refused whoever asked."""


class NoAnswer(Unheard):
    """No whole answer came back."""


class Silent(Unheard):
    """The site shows nothing of a user who should be there, and may show nothing to anybody: no
    conclusion, and no mark on the entry. place: of the pages of others that would tell."""

    def __init__(self, said: str, place: Place | None = None) -> None:
        super().__init__(said)
        self.place = place


class NoPage(Unheard):
    """An answer came, and no page: what was to be read of it is missing, nothing else is. It may
    be somebody else's answer, to everybody."""


class PageDrifted(NoPage):
    """A page of an unknown shape."""


class EntryGone(Exception):
    """The site says that this user does not exist any more."""


class EntryLost(Exception):
    """Another process holds this entry now: write nothing more."""


class UsersFull(Exception):
    """harvest.max_users is reached."""


class Walled(Exception):
    """A page that guests are not shown: the edge is to blame, not the entry."""


class WalledTwice(Walled):
    """The same, though nobody else confirmed it: two visits met a login wall."""


class PutOff(Exception):
    """What is left of the entry promises little: it waits until all others were walked."""


class HandBack(Exception):
    """The run stops between two pages: give the entry back as it is."""


def costs_attempt(trouble: EntryTrouble, *, was_answered: bool) -> bool:
    """Whether the entry is to blame. was_answered: the site showed pages meanwhile."""
    if isinstance(trouble, Doubt):
        return False
    return was_answered or not isinstance(trouble, Unheard)

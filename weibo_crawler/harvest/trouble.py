"""Why the walk of an entry cannot go on, or not now: each name says what the run does next."""

from weibo_crawler.records import Edge


class EntryTrouble(Exception):
    """This entry cannot go on now: let it rest, or fail it after too many attempts."""


class Unsure(EntryTrouble):
    """Less was shown than announced: let it rest and ask once more; costs no attempt."""

    def __init__(self, edge: Edge) -> None:
        super().__init__(f"{edge}: less was shown than announced")


class Refused(EntryTrouble):
    """The site refused whoever asked: costs an attempt only while it shows pages of others."""


class PageDrifted(EntryTrouble):
    """A page of an unknown shape."""


class EntryGone(Exception):
    """The site says that this user does not exist any more."""


class EntryLost(Exception):
    """Another process holds this entry now: write nothing more."""


class UsersFull(Exception):
    """harvest.max_users is reached."""


class Walled(Exception):
    """A page that guests are not shown: the edge is to blame, not the entry."""


class HandBack(Exception):
    """The run stops between two pages: give the entry back as it is."""


class EdgesWanted(HandBack):
    """A list of harvest.edges is walled: claim entries with harvest.edges_if_walled, too."""


def costs_attempt(trouble: EntryTrouble, *, was_answered: bool) -> bool:
    """Whether the entry is to blame. was_answered: the site showed pages while it was walked."""
    return not isinstance(trouble, Unsure) and (was_answered or not isinstance(trouble, Refused))

"""Which pages of one transaction land, and what they change; judged in memory, for every SQL store.

A store reads all that the pages depend on, lets them be judged one after the other, and writes what
landed by few statements: what a transaction costs is its statements, not its pages.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from weibo_crawler.records import Edge, Id
from weibo_crawler.store import ILLEGIBLE_PEOPLE, NOT_SHOWN, WALLED, Landing, PageCommit
from weibo_crawler.store.kept import KeptPage


class NewUser(NamedTuple):
    """A row to insert."""

    uid: Id
    url: str
    screen_name: str | None
    fans: int | None
    depth: int
    found_from: Id | None
    edge: Edge
    found_at: float
    run_id: str


class Held:
    """The entry a page belongs to, as it stands while the pages are judged. mine: leased by who
    commits. depth: now, as it may have become a seed since it was claimed. lists: by edge the
    cursor, and whether the list has ended."""

    def __init__(self, mine: bool, depth: int, aside: bool, attempts: int) -> None:
        self.mine, self.depth, self.aside, self.attempts = mine, depth, aside, attempts
        self.lists: dict[str, tuple[str, bool]] = {}


def held_entries(rows: Iterable[Any]) -> dict[Id, Held]:
    """Of rows (uid, mine, depth, set_aside, attempts, edge, cursor, ended), one for each list of an
    entry, or one with the edge None."""
    entries: dict[Id, Held] = {}
    for uid, mine, depth, aside, attempts, edge, cursor, ended in rows:
        entry = entries.get(uid)
        if entry is None:
            entry = entries[uid] = Held(bool(mine), depth, bool(aside), attempts)
        if edge is not None:
            entry.lists[edge] = (cursor, bool(ended))
    return entries


class Batch:
    """The pages of one transaction. `land` judges the next one; then there is to be written:

    new: users to insert, each with the place of its page; advanced: the last page of each list;
    done: entries that are through with their lists; fresh: entries whose attempts begin anew.

    level: the open one, None: nothing holds any page back. gone: users that `forget` removed.
    room: how many users max_users leaves room for. known: users who are there already, and so take
    no room, where that matters.
    """

    def __init__(
        self,
        run_id: str,
        *,
        level: int | None,
        entries: Mapping[Id, Held],
        gone: Collection[Id],
        room: int,
        known: Iterable[Id] = (),
    ) -> None:
        self._run_id, self._level, self._entries = run_id, level, entries
        self._gone, self._room, self._taken = gone, room, set(known)
        self._landed = 0
        self._has_illegible = False
        self.new: list[tuple[int, NewUser]] = []
        self.advanced: dict[tuple[Id, Edge], PageCommit] = {}
        self.done: set[Id] = set()

    @property
    def fresh(self) -> set[Id]:
        return {uid for uid, _ in self.advanced if self._entries[uid].attempts} - self.done

    @property
    def bounds(self) -> str:
        """Why depths become upper bounds, "" where no list ended that may hold more, and everybody
        could be read."""
        ends = [page for page in self.advanced.values() if page.ended is not None]
        if any(page.ended == WALLED for page in ends):
            return NOT_SHOWN
        if any(not page.sure for page in ends):
            return "lists that ended before their announced count may hold shorter ways"
        if self._has_illegible:
            return ILLEGIBLE_PEOPLE
        return ""

    def land(self, page: PageCommit) -> Landing:
        """What becomes of the next page: all of it, or only the users that max_users leaves room
        for and no progress, so that a later run with a larger limit reads the page again."""
        place, self._landed = self._landed, self._landed + 1
        entry = self._entries.get(page.uid)
        before = (page.cursor, False)
        if entry is None or not entry.mine or entry.lists.get(page.edge, ("", False)) != before:
            return Landing.LOST
        if self._level is not None and self._level < entry.depth and not entry.aside:
            return Landing.AHEAD
        if page.found and not self._add(place, page, entry.depth + 1):
            return Landing.FULL
        entry.lists[page.edge] = (page.after.cursor, page.ended is not None)
        self.advanced[page.uid, page.edge] = page
        self._has_illegible |= page.illegible > 0
        if page.last:
            entry.mine = False
            self.done.add(page.uid)
        return Landing.STORED

    def listed(self, page: PageCommit) -> list[Id]:
        """The ids of the page that its list remembers."""
        last_ids = page.after.last_ids
        return [uid for uid in last_ids if uid not in self._gone] if self._gone else [*last_ids]

    def seen(self) -> list[tuple[PageCommit, list[Id]]]:
        """The pages that landed and showed somebody, and whom."""
        pages = (
            (page, [u for u in page.seen if u not in self._gone]) for page in self.advanced.values()
        )
        return [(page, uids) for page, uids in pages if uids]

    def _add(self, place: int, page: PageCommit, depth: int) -> bool:
        """Its users who are not known; whether there was room for all of them."""
        for user in page.found:
            if user.uid in self._taken or user.uid in self._gone:
                continue
            if not self._room:
                return False
            self._room -= 1
            self._taken.add(user.uid)
            new = NewUser(*user, depth, page.uid, page.edge, page.fetched_at, self._run_id)
            self.new.append((place, new))
        return True


def to_keep(
    pages: Sequence[PageCommit], landings: Sequence[Landing]
) -> list[tuple[Id, Sequence[KeptPage]]]:
    """The owners of pages and what is to be kept of them, also where max_users left no room."""
    is_mine = (Landing.STORED, Landing.FULL)
    both = zip(pages, landings, strict=True)
    return [(page.uid, page.kept) for page, landing in both if page.kept and landing in is_mine]


def users_of(pages: Sequence[PageCommit]) -> tuple[set[Id], set[Id]]:
    """Whom the pages found, and whom else they name: on their lists, or seen."""
    found = {user.uid for page in pages for user in page.found}
    return found, {uid for page in pages for uid in (*page.after.last_ids, *page.seen)}

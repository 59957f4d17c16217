"""What processes note for each other in the users' database: each note by its name, of one type.

A note whose name ends with a sign is one of many: `of` says whose.
"""

import json
from collections.abc import Callable, Iterable
from math import inf
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from weibo_crawler.records import Id, ShownPage

T = TypeVar("T")


class Notes(Protocol):
    """Where notes are kept, as text."""

    def get_meta(self, name: str) -> str | None:
        """A note, None: there is none of this name."""
        ...

    def set_meta(self, name: str, value: str) -> None: ...

    def change_meta(self, name: str, change: Callable[[str | None], str]) -> None:
        """Read a note and write what `change` makes of it, with nobody in between; it may be called
        more than once."""
        ...


class Note(NamedTuple, Generic[T]):
    """One note. decode, encode: from its text, and to it."""

    name: str
    decode: Callable[[str], T]
    encode: Callable[[T], str]

    def of(self, whose: str) -> "Note[T]":
        """That of a run, of a stage, of a place."""
        return self._replace(name=self.name + whose)

    def get(self, notes: Notes) -> T | None:
        """Its value, None: there is none."""
        text = notes.get_meta(self.name)
        return self.decode(text) if text else None

    def put(self, notes: Notes, value: T) -> None:
        """Set it."""
        notes.set_meta(self.name, self.encode(value))

    def change(self, notes: Notes, change: Callable[[T | None], T]) -> T:
        """Set it to what `change` makes of its value, or of None, with nobody in between; the new
        value."""
        made = list[T]()

        def changed(text: str | None) -> str:
            made.append(change(self.decode(text) if text else None))
            return self.encode(made[-1])

        notes.change_meta(self.name, changed)
        return made[-1]

    def exchange(self, notes: Notes, news: Callable[[T | None], T] | None) -> T | None:
        """Its value with the news in it, None: there is none."""
        return self.get(notes) if news is None else self.change(notes, news)

    def clear(self, notes: Notes) -> None:
        """From now on there is none."""
        notes.set_meta(self.name, "")


def json_note(name: str, kind: type[T]) -> Note[T]:
    """A note that holds such a struct, or a list of such."""

    def decode(text: str) -> T:
        return msgspec.json.decode(text, type=kind)

    return Note(name, decode, lambda value: msgspec.json.encode(value).decode())


def _text(name: str) -> Note[str]:
    return Note(name, str, str)


def _seconds(name: str) -> Note[float]:
    """Seconds since the epoch; inf: unknown."""
    return Note(
        name,
        lambda text: inf if text == "unknown" else float(text),
        lambda at: "unknown" if at == inf else repr(at),
    )


SITE = _text("site")  # whose users these are
RULES = _text("rules")  # by which they were looked for when entries were walked last
# files, and folders of pictures and videos, as host:path, of which no byte need be UTF-8
EXPORTS = Note[list[str]]("exports", json.loads, json.dumps)
MEDIA = Note[list[str]]("media", json.loads, json.dumps)
LOOKS = _text("second_looks")  # `Samples.news`
SHOWN = json_note("shown_pages.", list[ShownPage])  # of a kind; witnesses for the next runs
WALLS = _text("walls.")  # of a stage; `Walls.news`
IMPORTED_SEQ = Note("imported_seq ", int, str)  # of a place
IMPORTED_AT = _seconds("imported_at ")
HELD = Note("levels.users", int, str)  # where jobs harvest: users in the tables, or about to be
SILENT = _seconds("silent.")  # of a run: since when it was shown nothing

_SHOWN_S = 3 * 86_400.0  # for so long: after that what is not shown is the site's habit

# of a run, and of no use after it
STOP = _text("stop.")  # ends all mappers of the run; why
DRIVER = _seconds("driver.")  # changes while the driver lives
TALKED = _seconds("talked.")  # when mappers that ended were last shown something
OF_WORK = (STOP, DRIVER, TALKED)


def shown_of_late(
    held: Notes, kind: str, is_forgotten: Callable[[Id], bool], now: float
) -> list[ShownPage]:
    """The pages of a kind that runs before this one were shown: one that begins while the site is
    silent about such pages is shown none itself."""
    pages = SHOWN.of(kind).get(held) or ()
    return [page for page in pages if page.at > now - _SHOWN_S and not is_forgotten(page.uid)]


def note_shown(
    held: Notes, kind: str, pages: Iterable[ShownPage], is_forgotten: Callable[[Id], bool]
) -> None:
    """Note them for the runs that follow; where there are no first ones, or no later ones, those
    of before stay."""
    shown = [page for page in pages if not is_forgotten(page.uid)]
    places = {bool(page.cursor) for page in shown}
    if shown:
        SHOWN.of(kind).change(
            held,
            lambda before: [one for one in before or () if bool(one.cursor) not in places] + shown,
        )

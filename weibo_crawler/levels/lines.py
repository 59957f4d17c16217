"""What maps tell reducers, a line each under the uid that it speaks of. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from weibo_crawler.errors import StoreError
from weibo_crawler.records import Edge, Id
from weibo_crawler.store.rows.nested import ListEnd

_EDGES = {edge.value: place for place, edge in enumerate(Edge)}


class Seen(msgspec.Struct, frozen=True, array_like=True, tag="seen"):
    """The user stands on a list of `owner`, who is of this depth."""

    depth: int
    edge: str
    owner: Id

    @property
    def order(self) -> tuple[int, int, Id]:
        """The least of them tells by whom a user was found, whatever came first."""
        return self.depth, _EDGES.get(self.edge, len(_EDGES)), self.owner


class Met(msgspec.Struct, frozen=True, array_like=True, tag="met"):
    """The user has enough fans, and was met at this time (seconds since the epoch)."""

    at: float
    fans: int | None
    screen_name: str | None

    def beside(self, other: "Met") -> "Met":
        """Of two such the earlier one; whom it left without a name the other may name."""
        first, second = sorted((self, other), key=lambda met: met.at)
        return replace(first, screen_name=first.screen_name or second.screen_name)


class Walked(msgspec.Struct, frozen=True, array_like=True, tag="walked"):
    """How the walk of the user ended: state, a records.State. fans, screen_name: as its
    profile tells those of a seed."""

    at: float
    state: str
    lists: tuple[ListEnd, ...]
    fans: int | None
    screen_name: str | None


Line = Seen | Met | Walked
_DECODER = msgspec.json.Decoder(Line)
_ENCODER = msgspec.json.Encoder()


class Told(NamedTuple):
    """What all maps tell of one user; met: None where nobody says that it has enough fans."""

    seen: Seen | None = None
    met: Met | None = None
    walked: Walked | None = None


def to_line(line: Line) -> str:
    return _ENCODER.encode(line).decode()


def together(lines: Iterable[str]) -> Told:
    """The lines of one user, in any order. StoreError where one is none."""
    told = Told()
    for text in lines:
        try:
            line = _DECODER.decode(text)
        except msgspec.MsgspecError as error:
            raise StoreError(f"not a line of a map: {text[:80]!r}: {error}") from None
        if isinstance(line, Seen):
            if told.seen is None or line.order < told.seen.order:
                told = told._replace(seen=line)
        elif isinstance(line, Met):
            told = told._replace(met=line if told.met is None else told.met.beside(line))
        else:
            told = told._replace(walked=line)
    return told

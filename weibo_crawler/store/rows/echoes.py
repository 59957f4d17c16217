"""What others made of a post (`EchoList`) to cells of the list's table and back. Pure.

Ids, text, time and likes have a cell each; the rest is packed as JSON into one, `comment:more`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from weibo_crawler.errors import StoreError
from weibo_crawler.records import ECHO_LISTS, SCHEMA_VERSION, Echo, EchoList, Id, read_id
from weibo_crawler.store import Put, Row
from weibo_crawler.store.rows.cells import to_iso
from weibo_crawler.store.rows.fields import ECHOES
from weibo_crawler.store.rows.keys import echo_key, parse_echo_key

AUTHORS = {one.name: f"{one.one}:uid" for one in ECHO_LISTS}  # table -> column


class More(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of the cell; one that is at its default is left out."""

    screen_name: str | None = None
    replies: int | None = None
    region: str | None = None
    fetched_at: str | None = None
    schema_version: int | None = None
    run_id: str = ""
    reposts: int | None = None
    text_complete: bool = True


_decode = msgspec.json.Decoder(More).decode


def echo_puts(
    which: EchoList, uid: Id, mid: Id, echoes: Sequence[Echo], fetched_at: float, run_id: str
) -> list[Put]:
    """A row for each of these under the post `mid` of `uid`. fetched_at: seconds since the
    epoch."""
    at, family = to_iso(fetched_at), which.one
    puts = []
    for one in echoes:
        more = More(
            *(one.screen_name, one.replies, one.region, at, SCHEMA_VERSION, run_id),
            *(one.reposts, one.text_complete),
        )
        cells = {
            f"{family}:id": str(one.id),
            f"{family}:mid": str(mid),
            f"{family}:owner": str(uid),
            AUTHORS[which.name]: str(one.uid),
            f"{family}:text": one.text,
            f"{family}:created_at": one.created_at,
            f"{family}:more": msgspec.json.encode(more).decode(),
        }
        if one.likes is not None:
            cells[f"{family}:likes"] = str(one.likes)
        puts.append(Put.at(echo_key(uid, mid, one.id), cells, fetched_at))
    return puts


def read_echo(which: EchoList, row: Row) -> dict[str, Any]:
    """A row of the list's table as `scan` prints it; owner: whose post it is under. StoreError
    names a row that does not hold what it should."""
    cells, family = row.cells, which.one
    try:
        owner, mid, own = parse_echo_key(row.key)
        likes, author = cells.get(f"{family}:likes"), cells.get(AUTHORS[which.name])
        held = msgspec.structs.asdict(_decode(cells.get(f"{family}:more") or "{}")) | {
            f"{family}_id": str(own),
            "mid": str(mid),
            "owner": owner,
            "uid": read_id(author) if author else None,
            "created_at": cells.get(f"{family}:created_at"),
            "text": cells.get(f"{family}:text"),
            "likes": int(likes) if likes else None,
        }
        return {name: held[name] for name in ECHOES[which.name]}
    except ValueError as error:  # msgspec's DecodeError is one too
        raise StoreError(f"row {row.key} of {which.name}: {error}") from None

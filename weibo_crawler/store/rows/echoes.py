"""What others made of a post (`EchoList`) to cells of the list's table and back. Pure.

Ids, text, time and likes have a cell each; the rest is packed as JSON into one, `comment:more`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from weibo_crawler.errors import StoreError
from weibo_crawler.records import ECHO_LISTS, Echo, EchoList, Id, read_id
from weibo_crawler.store import Put, Row
from weibo_crawler.store.rows.cells import to_iso
from weibo_crawler.store.rows.fields import ECHOES
from weibo_crawler.store.rows.keys import echo_key, parse_echo_key
from weibo_crawler.store.rows.packed import MORE_OF_ECHOES

AUTHORS = {one.name: f"{one.one}:uid" for one in ECHO_LISTS}  # table -> column


def echo_puts(
    which: EchoList, uid: Id, mid: Id, echoes: Sequence[Echo], fetched_at: float, run_id: str
) -> list[Put]:
    """A row for each of these under the post `mid` of `uid`. fetched_at: seconds since the
    epoch."""
    at, family, more = to_iso(fetched_at), which.one, MORE_OF_ECHOES[which.name]
    puts = []
    for one in echoes:
        cells = {
            f"{family}:id": str(one.id),
            f"{family}:mid": str(mid),
            f"{family}:owner": str(uid),
            AUTHORS[which.name]: str(one.uid),
            f"{family}:text": one.text,
            f"{family}:created_at": one.created_at,
            f"{family}:more": more.pack(one, fetched_at=at, run_id=run_id),
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
        more = MORE_OF_ECHOES[which.name].unpack(cells.get(f"{family}:more") or "{}")
        held = msgspec.structs.asdict(more) | {
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

"""Comments to cells of the table `comments` and back. Pure.

Ids, text, time and likes have a cell each; the rest is packed as JSON into `comment:more`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from weibo_crawler.errors import StoreError
from weibo_crawler.records import SCHEMA_VERSION, Comment, Id, read_id
from weibo_crawler.store import Put, Row
from weibo_crawler.store.rows.cells import to_iso
from weibo_crawler.store.rows.keys import comment_key, parse_comment_key

AUTHOR = "comment:uid"


class More(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of the cell; one that is at its default is left out."""

    screen_name: str | None = None
    replies: int | None = None
    region: str | None = None
    fetched_at: str | None = None
    schema_version: int | None = None
    run_id: str = ""


_decode = msgspec.json.Decoder(More).decode


def comment_puts(
    uid: Id, mid: Id, comments: Sequence[Comment], fetched_at: float, run_id: str
) -> list[Put]:
    """A row for each comment on the post `mid` of `uid`. fetched_at: seconds since the epoch."""
    at = to_iso(fetched_at)
    puts = []
    for one in comments:
        more = More(one.screen_name, one.replies, one.region, at, SCHEMA_VERSION, run_id)
        cells = {
            "comment:id": str(one.id),
            "comment:mid": str(mid),
            "comment:owner": str(uid),
            AUTHOR: str(one.uid),
            "comment:text": one.text,
            "comment:created_at": one.created_at,
            "comment:more": msgspec.json.encode(more).decode(),
        }
        if one.likes is not None:
            cells["comment:likes"] = str(one.likes)
        puts.append(Put.at(comment_key(uid, mid, one.id), cells, fetched_at))
    return puts


def read_comment(row: Row) -> dict[str, Any]:
    """A row of `comments` as `scan` prints it; owner: whose post it is on. StoreError names a row
    that does not hold what it should."""
    cells = row.cells
    try:
        owner, mid, comment = parse_comment_key(row.key)
        more = _decode(cells.get("comment:more") or "{}")
        likes = cells.get("comment:likes")
        author = cells.get(AUTHOR)
        return {
            "comment_id": str(comment),
            "mid": str(mid),
            "owner": owner,
            "uid": read_id(author) if author else None,
            "screen_name": more.screen_name,
            "created_at": cells.get("comment:created_at"),
            "text": cells.get("comment:text"),
            "likes": int(likes) if likes else None,
            "replies": more.replies,
            "region": more.region,
            "fetched_at": more.fetched_at,
            "schema_version": more.schema_version,
            "run_id": more.run_id,
        }
    except ValueError as error:  # msgspec's DecodeError is one too
        raise StoreError(f"row {row.key} of comments: {error}") from None

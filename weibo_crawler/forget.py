"""Delete people for good, and keep what is needed to never store them again: a keyed hash."""

from collections.abc import Iterable, Sequence

import msgspec

from weibo_crawler.store import Frontier, Put, Row, Table, Tables
from weibo_crawler.store.keys import posts_prefix, user_key


def forget_users(frontier: Frontier, tables: Tables, uids: Sequence[int]) -> dict[str, int]:
    """Remove all rows and versions of these users; says how many of what.

    The hash comes first, so that a walk beside this cannot store them again behind its back.
    Originals of theirs that others reposted are cut out of the reposts. May be repeated.
    """
    rows = frontier.forget(uids)
    posts = 0
    for uid in uids:
        for key in list(tables.posts.keys(posts_prefix(uid))):
            tables.posts.delete(key)
            posts += 1
        tables.userlist.delete(user_key(uid))
    reposts = _cut_reposts(tables.posts, frozenset(uids))
    return {"users": rows, "posts": posts, "reposts of theirs": reposts}


def _cut_reposts(table: Table, uids: frozenset[int]) -> int:
    """The packed original of a repost is deleted with all versions; the repost itself stays."""
    cut = 0
    for row in table.scan(columns=["post:repost_of", "post:more"]):
        if "post:repost_of" in row.cells and (left := _without(row, uids)) is not None:
            newest = table.versions(row.key, "post:more", 1)[0].timestamp
            table.delete(row.key, ["post:more"])
            table.put([Put(row.key, {"post:more": left}, newest)])
            cut += 1
    return cut


def _without(row: Row, uids: Iterable[int]) -> str | None:
    """The packed cell without its original, None where the original is somebody else's."""
    more = msgspec.json.decode(row.cells.get("post:more", "{}"))
    if more.get("original", {}).get("uid") not in uids:
        return None
    del more["original"]
    return msgspec.json.encode(more).decode()

"""What the columns of users and posts are called, and what they hold."""

from collections.abc import Iterable, Mapping
from enum import Enum

from weibo_crawler.errors import BadUsage


class Kind(Enum):
    """What a column holds, for typed exports."""

    TEXT = "text"
    WHOLE = "whole number"
    TRUTH = "true or false"
    TIME = "ISO 8601 text, UTC, of ours"
    NESTED = "a list or an object"


# scan_users
USERS: Mapping[str, Kind] = {
    "id": Kind.WHOLE,
    "screen_name": Kind.TEXT,
    "fans": Kind.WHOLE,
    "depth": Kind.WHOLE,
    "found_from": Kind.WHOLE,
    "state": Kind.TEXT,
    "found_edge": Kind.TEXT,
    "found_at": Kind.TIME,
    "url": Kind.TEXT,
}

# scan_imported: the same, what the profile said, and the ledger
IMPORTED: Mapping[str, Kind] = {
    **USERS,
    "announced": Kind.WHOLE,
    "stored": Kind.WHOLE,
    "visited_at": Kind.TIME,
    "profile_screen_name": Kind.TEXT,
    "gender": Kind.TEXT,
    "description": Kind.TEXT,
    "verified": Kind.TRUTH,
    "verified_type": Kind.WHOLE,
    "verified_reason": Kind.TEXT,
    "profile_fans": Kind.WHOLE,
    "follows": Kind.WHOLE,
    "posts": Kind.WHOLE,
    "rank": Kind.WHOLE,
    "avatar": Kind.TEXT,
    "profile_fetched_at": Kind.TIME,
    "province": Kind.TEXT,
    "city": Kind.TEXT,
    "registered": Kind.TEXT,
    "birthday": Kind.TEXT,
    "info": Kind.NESTED,
    "info_fetched_at": Kind.TIME,
    "seq": Kind.WHOLE,
    "run_id": Kind.TEXT,
}

# scan_posts; created_at keeps the site's offset and is text in every format
POSTS: Mapping[str, Kind] = {
    "mid": Kind.TEXT,
    "uid": Kind.WHOLE,
    "created_at": Kind.TEXT,
    "text": Kind.TEXT,
    "text_complete": Kind.TRUTH,
    "source": Kind.TEXT,
    "region": Kind.TEXT,
    "reposts": Kind.WHOLE,
    "comments": Kind.WHOLE,
    "likes": Kind.WHOLE,
    "repost_of": Kind.TEXT,
    "is_pinned": Kind.TRUTH,
    "fetched_at": Kind.TIME,
    "topics": Kind.NESTED,
    "mentions": Kind.NESTED,
    "comments_read": Kind.WHOLE,
    "gone_at": Kind.TIME,
    "text_why": Kind.TEXT,
    "bid": Kind.TEXT,
    "created_at_precision": Kind.TEXT,
    "pics": Kind.NESTED,
    "pic_num": Kind.WHOLE,
    "edit_count": Kind.WHOLE,
    "edited_at": Kind.TEXT,
    "visible": Kind.WHOLE,
    "page_info": Kind.NESTED,
    "original": Kind.NESTED,
    "egress": Kind.TEXT,
    "schema_version": Kind.WHOLE,
    "run_id": Kind.TEXT,
}

# scan_comments; owner: whose post it is, uid: who wrote it
COMMENTS: Mapping[str, Kind] = {
    "comment_id": Kind.TEXT,
    "mid": Kind.TEXT,
    "owner": Kind.WHOLE,
    "uid": Kind.WHOLE,
    "screen_name": Kind.TEXT,
    "created_at": Kind.TEXT,
    "text": Kind.TEXT,
    "likes": Kind.WHOLE,
    "replies": Kind.WHOLE,
    "region": Kind.TEXT,
    "fetched_at": Kind.TIME,
    "schema_version": Kind.WHOLE,
    "run_id": Kind.TEXT,
}

# scan_edges; uid was seen in the list `edge` of owner
EDGES: Mapping[str, Kind] = {
    "owner": Kind.WHOLE,
    "uid": Kind.WHOLE,
    "edge": Kind.TEXT,
    "seen_at": Kind.TIME,
}

KINDS: Mapping[str, Kind] = {**EDGES, **IMPORTED, **COMMENTS, **POSTS}

# what is shown unless --columns asks for others
USERS_SHOWN = tuple(USERS)
IMPORTED_SHOWN = (*USERS, "announced", "stored", "visited_at")
POSTS_SHOWN = (*tuple(POSTS)[:15], "page_info")
COMMENTS_SHOWN = tuple(COMMENTS)[:11]
# and in a table, where room is scarce
USERS_TABLE = ("id", "screen_name", "fans", "depth", "found_from", "state")
COMMENTS_TABLE = ("mid", "uid", "screen_name", "created_at", "text", "likes")
POSTS_TABLE = ("mid", "uid", "created_at", "text", "reposts", "comments", "likes")


def choose(wanted: str, known: Iterable[str]) -> tuple[str, ...]:
    """The columns of a list such as "mid,text", in its order; BadUsage names an unknown one."""
    known = tuple(known)
    names = tuple(dict.fromkeys(name.strip() for name in wanted.split(",") if name.strip()))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        what = f"no column is called {', '.join(unknown)}" if unknown else "no column is named"
        raise BadUsage(f"--columns: {what}; choose from: {', '.join(known)}")
    return names

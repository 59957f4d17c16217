"""Which columns of users, posts, what is under them, and edges are shown, and where."""

from collections.abc import Iterable, Mapping

from weibo_crawler.errors import BadUsage
from weibo_crawler.sites import Site
from weibo_crawler.store.rows.fields import (
    AS_OF,
    ECHOES,
    EDGES,
    IMPORTED,
    POSTS,
    USERS,
    Field,
    Kind,
)

__all__ = ["AS_OF", "ECHOES", "EDGES", "IMPORTED", "POSTS", "USERS"]

# one name means one type in all of them
KNOWN: Mapping[str, Field] = {
    **AS_OF,
    **EDGES,
    **IMPORTED,
    **{name: field for fields in ECHOES.values() for name, field in fields.items()},
    **POSTS,
}
IDS = frozenset(name for name, field in KNOWN.items() if field.is_id)

# what is shown unless --columns asks for others
USERS_SHOWN = tuple(USERS)
IMPORTED_SHOWN = (*USERS, "announced", "stored", "visited_at")
POSTS_SHOWN = (*tuple(POSTS)[:15], "page_info")
POSTS_CHANGING = (*POSTS_SHOWN, "edit_count", "gone_at")  # in a history
ECHOES_LEFT_OUT = ("schema_version", "run_id")
# and in a table, where room is scarce
USERS_TABLE = ("id", "screen_name", "fans", "depth", "found_from", "state")
ECHOES_TABLE = ("mid", "uid", "screen_name", "created_at", "text", "likes")
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


def of_site(fields: Mapping[str, Field], site: Site) -> Mapping[str, Field]:
    """The fields as this site fills them: times by its clock, ids of its type."""
    zone = str(site.clock).removeprefix("UTC") or "UTC"
    made = {}
    for name, field in fields.items():
        if field.kind is Kind.SITE_TIME:
            field = field._replace(zone=zone)
        elif field.is_id and site.ids is str:
            field = field._replace(kind=Kind.TEXT)
        made[name] = field
    return made

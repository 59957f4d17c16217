"""The differences between what a crawl holds and the truth of its world, a line each."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

Row = dict[str, Any]

# Broken parts that another part of the same card may stand for.
_MAY_BE_READ = ("mid_list", "date_nonsense")
_MISSING_SHARE = 0.1  # of the announced posts: a timeline that shows fewer is no whole one
_REQUESTS = 12  # for each page, text and user, in all rounds


def differences(truth: Row, held: Row) -> Iterator[str]:
    """None where the crawl obeyed."""
    true = {user["uid"]: user for user in truth["users"]}
    kept = {uid for uid, user in true.items() if user["kept"]}
    for uid in sorted(kept - held["users"].keys()):
        yield f"user {uid} (depth {true[uid]['depth']}) is missing"
    for uid in sorted(held["users"].keys() - kept):
        yield f"user {uid} is kept, and the rules do not show them"
    for uid in sorted(kept & held["users"].keys()):
        yield from _user(true[uid], held["users"][uid], exact=held["depths_exact"])
        yield from _list(true[uid], held["users"][uid], walled=held["walled"])
        yield from _timeline(true[uid], truth["posts"][str(uid)], held)
    shown = {post["mid"] for uid in kept for post in truth["posts"][str(uid)]}
    for mid in sorted(held["posts"].keys() - shown):
        yield f"post {mid} is stored, and no page shows it"
    for command, code in held["codes"].items():
        if code:
            yield f"the last `{command}` ended with {code}"
    things = len(shown) + 5 * len(kept) + 100
    if held["requests"] > _REQUESTS * things:
        yield f"{held['requests']} requests for {things} things"


def _user(true: Row, row: Row, *, exact: bool) -> Iterator[str]:
    name = f"user {true['uid']}"
    if row["depth"] < true["depth"] or (exact and row["depth"] != true["depth"]):
        yield f"{name}: depth {row['depth']}, not {true['depth']}"
    if row["screen_name"] not in (true["screen_name"], None):
        yield f"{name}: name {row['screen_name']!r}, not {true['screen_name']!r}"
    if row["fans"] not in (true["fans"], None):
        yield f"{name}: fans {row['fans']}, not {true['fans']}"
    if row["state"] == "gone" and not true["gone"]:
        yield f"{name}: is not gone"
    if true["gone"] == "20003" and row["state"] != "gone":
        yield f"{name}: {row['state']}, and the site says that there is no such user"


def _list(true: Row, row: Row, *, walled: dict[int, bool]) -> Iterator[str]:
    """A list that guests are refused is a fact about it where those of others are shown (law 4)."""
    name, is_sure = f"user {true['uid']}", walled.get(true["uid"])
    if not true["gone"] and row["state"] not in ("done", "gone"):
        yield f"{name}: the list was left {row['state']}"
    if true["are_fans_private"] and is_sure is None and row["state"] == "done":
        yield f"{name}: guests are refused the list"
    if is_sure and not true["are_fans_private"]:
        yield f"{name}: guests are not refused the list"


def _timeline(true: Row, posts: list[Row], held: Row) -> Iterator[str]:
    ledger = held["ledgers"].get(true["uid"], {"state": "not imported"})
    name = f"timeline of {true['uid']} ({ledger['state']}, {ledger.get('stopped')})"
    if ledger["state"] == "gone" and not true["gone"]:
        yield f"{name}: is not gone"
    if true["are_posts_private"] and ledger.get("is_sure"):
        yield f"{name}: guests are refused it"
    missing = unreadable = 0
    for post in posts:
        row = held["posts"].get(post["mid"])
        if row is not None:
            yield from _post(true["uid"], post, row)
        elif post["is_readable"]:
            yield f"{name}: post {post['mid']} of page {post['page']} ({post['form']}) is missing"
        missing += row is None
        unreadable += row is None and not post["is_readable"]
    if unreadable > (ledger.get("unreadable") or 0):
        yield f"{name}: {unreadable} unreadable posts are shown, {ledger.get('unreadable')} told"
    if "info" in held:  # it was asked for
        yield from _info(name, true, ledger, held["info"].get(true["uid"], {}))
    if not ledger.get("is_sure") or ledger["state"] == "gone":
        return
    if missing:
        yield f"{name}: sure, and {missing} shown posts are missing"
    announced = ledger["announced"] or 0
    if announced - len(posts) > max(1, _MISSING_SHARE * announced):
        yield f"{name}: sure, and {len(posts)} of {announced} announced posts are shown"


def _info(name: str, true: Row, ledger: Row, info: Row) -> Iterator[str]:
    """What is held of the basic information is true, and of a user who was visited it is held."""
    for column in ("province", "city", "registered"):
        told, there = info.get(column) or "", true[column]
        if told != there and (told or ledger["state"] == "done"):
            yield f"{name}: {column} {told!r}, not {there!r}"


def _post(uid: int, post: Row, row: Row) -> Iterator[str]:
    name = f"post {post['mid']} ({post['form'] or 'plain'})"
    if not post["is_readable"] and post["form"] not in _MAY_BE_READ:
        yield f"{name}: is stored, and nobody can read it"
        return
    if row["uid"] != uid:
        yield f"{name}: of {row['uid']}, not {uid}"
    if row["text_complete"] == post["is_restricted"]:
        yield f"{name}: text_complete is {row['text_complete']}"
    texts = [_plain(row["text"]), _plain(post["text"])]
    if row["text_complete"] and texts[0] != texts[1]:
        yield f"{name}: text {row['text']!r}, not {post['text']!r}"
    if texts[0][:20] != texts[1][:20]:
        yield f"{name}: text begins {row['text'][:30]!r}, not {post['text'][:30]!r}"
    if datetime.fromisoformat(row["created_at"]) != datetime.fromisoformat(post["created_at"]):
        yield f"{name}: of {row['created_at']}, not {post['created_at']}"
    if row["text_complete"]:
        for links in ("topics", "mentions"):
            if sorted(row[links] or []) != sorted(post[links]):
                yield f"{name}: {links} {row[links]}, not {post[links]}"
    if not post["form"].startswith("page_info"):
        attached = row["page_info"] and row["page_info"]["type"]
        if attached != post["attached"]:
            yield f"{name}: {attached} beside it, not {post['attached']}"
    if row["is_pinned"] != post["is_pinned"]:
        yield f"{name}: pinned {row['is_pinned']}"
    for count in ("reposts", "comments", "likes"):
        if row[count] != post[count] and not (post["form"].startswith("counts") and not row[count]):
            yield f"{name}: {count} {row[count]}, not {post[count]}"


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text)

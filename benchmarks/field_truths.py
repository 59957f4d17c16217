"""Fields of users and posts: as a world shows them to guests, and as a crawl holds them."""

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.foreign.worlds import World
from tests.laws.crawl import options_of
from weibo_crawler.simulator.lawful_world import LawfulWorld
from weibo_crawler.simulator.run import world_of
from weibo_crawler.simulator.world import PAGE_OF_USERS

_USER = ("id", "screen_name", "gender", "description", "province", "city")
_POST = ("mid", "text", "text_complete", "created_at", "region", "source")
_FANS = "2310510033"  # cards of a fan list, in the foreign world; others are recommendations


class Facts(NamedTuple):
    """users: by uid, posts: by mid, the fields by name: texts, times in seconds, lists as sets of
    uids. beside: uids and mids that may be held and are not judged."""

    users: Mapping[int, Mapping[str, Any]]
    posts: Mapping[str, Mapping[str, Any]]
    beside: frozenset[int | str] = frozenset()


def held_facts(rows: Callable[..., list[dict[str, Any]]]) -> Facts:
    """What a crawl holds. rows: those that a command prints, by its words."""
    lists: dict[tuple[int, str], set[int]] = {}
    for row in rows("scan", "edges"):
        lists.setdefault((row["owner"], row["edge"]), set()).add(row["uid"])
    users = {
        row["id"]: {
            "user id": str(row["id"]),
            "screen name": row["screen_name"],
            **{name: row[name] for name in _USER[2:]},
            "fan list": frozenset(lists.get((row["id"], "fans"), ())),
            "follow list": frozenset(lists.get((row["id"], "follows"), ())),
        }
        for row in rows("scan", "users", "--imported", "--columns", ",".join(_USER))
    }
    posts = {
        row["mid"]: {
            "post id": row["mid"],
            "text": _digest(row["text"]) if row["text_complete"] else None,
            "time": datetime.fromisoformat(row["created_at"]).timestamp(),
            "place": row["region"],
            "device": row["source"],
        }
        for row in rows("scan", "posts", "--columns", ",".join(_POST))
    }
    return Facts(users, posts)


def lawful_facts(truth: Mapping[str, Any], seed: int) -> Facts:
    """Of the site whose rules are drawn by this seed. truth: what the simulator wrote of it."""
    world = world_of(options_of(seed))
    assert isinstance(world, LawfulWorld)
    kept = {user["uid"]: user for user in truth["users"] if user["kept"]}
    posts = [(uid, post) for uid in truth["posts"] for post in truth["posts"][uid]]
    shown = [post for uid, post in posts if int(uid) in kept and post["is_readable"]]
    beside = {user["uid"] for user in truth["users"]} | {post["mid"] for _, post in posts}
    return Facts(
        users={uid: _lawful_user(world, user, truth) for uid, user in kept.items()},
        posts={post["mid"]: _lawful_post(post) for post in shown},
        beside=frozenset(beside),  # whom follow lists lead to, and what of a broken post is legible
    )


def _lawful_user(
    world: LawfulWorld, user: Mapping[str, Any], truth: Mapping[str, Any]
) -> Mapping[str, Any]:
    index = world.index(user["uid"])
    assert index is not None
    facts = {
        "user id": str(user["uid"]),
        "screen name": user["screen_name"],
        "fan list": frozenset(truth["fan_lists"][str(user["uid"])]),
    }
    if user["gone"]:  # no profile tells of them, and no list is theirs
        return facts
    person, wall = world.person(index), world.laws.fans_wall
    most = None if wall is None else wall * PAGE_OF_USERS
    return facts | {
        "gender": person.gender,
        "description": person.description,
        "province": user["province"],
        "city": user["city"],
        "follow list": frozenset(map(world.uid, world.follows_shown(index)[:most])),
    }


def _lawful_post(post: Mapping[str, Any]) -> Mapping[str, Any]:
    form = post["form"]
    return {
        "post id": post["mid"],
        "time": datetime.fromisoformat(post["created_at"]).timestamp(),
        **({} if post["is_restricted"] else {"text": _digest(post["text"])}),
        **({} if form == "region_number" else {"place": post["region"]}),
        **({} if form == "source_null" else {"device": post["source"]}),
    }


def foreign_facts(world: World) -> Facts:
    """By the foreign truth, and for what it leaves out by the files that nginx serves."""
    www = world.folder / "www"
    kept = {int(uid): facts for uid, facts in world.truth["kept"].items()}
    return Facts(
        users={uid: _foreign_user(www, uid, facts) for uid, facts in kept.items()},
        posts={
            mid: post
            for uid, facts in kept.items()
            for mid, post in _foreign_posts(www, uid, facts["facts"]).items()
        },
    )


def _foreign_user(www: Path, uid: int, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    profile = _read(www / "profile" / f"{uid}.gz")["userInfo"]
    pages = [_read(file)["cards"] for file in (www / "fans").glob(f"{uid}-*.gz")]
    groups = [card["card_group"] for cards in pages for card in cards if _is_list(card)]
    fans = [item["user"]["id"] for group in groups for item in group if item["user"]]
    return {
        "user id": str(uid),
        "screen name": facts["screen_name"],
        "gender": profile["gender"],
        "description": profile["description"],
        "province": "",
        "city": "",
        "fan list": frozenset(fans),
        "follow list": frozenset(),
    }


def _is_list(card: Mapping[str, Any]) -> bool:
    return str(card["itemid"]).startswith(_FANS)


def _foreign_posts(
    www: Path, uid: int, facts: Mapping[str, list[Any]]
) -> dict[str, Mapping[str, Any]]:
    pages = [_read(file)["cards"] for file in (www / "posts").glob(f"{uid}-*.gz")]
    cards = [one for page in pages for card in page for one in (card, *card.get("card_group", ()))]
    shown = {card["mblog"]["id"]: card["mblog"] for card in cards if card.get("mblog")}
    return {
        mid: {
            "post id": mid,
            "text": text,
            "time": second,
            "place": shown[mid].get("region_name", "").removeprefix("发布于 "),
            "device": shown[mid]["source"],
        }
        for mid, (second, text, _, _) in facts.items()
    }


def _read(file: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))["data"]
    return data


def _digest(text: str) -> str:
    """As the foreign truth names a text: all white space removed."""
    return hashlib.sha1(re.sub(r"\s+", "", text).encode()).hexdigest()

"""The comparison finds each kind of damage: a test that cannot fail holds nothing."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.laws.compare import Row, differences
from weibo_crawler.simulator.lawful_world import LawfulWorld
from weibo_crawler.simulator.laws import Laws
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.run import world_of
from weibo_crawler.simulator.truth import Truth

LAWS = replace(
    Laws.drawn(1),
    broken_posts=0.2,
    broken_post_forms=("text_absent",),
    restricted=0.3,
    gone=0.1,
    gone_by=("20003",),
    posts_wall=None,
    fans_wall=None,
    private_lists=0.2,
    private_timelines=0.2,
    info="shown",
)


@pytest.fixture(scope="module")
def truth() -> Row:
    world = world_of(SimulatorOptions(users=60, mean_posts=8.0))
    built: Row = msgspec.to_builtins(Truth.of(LawfulWorld(world, LAWS)), str_keys=True)
    return built


@pytest.fixture
def held(truth: Row) -> Row:
    """What a crawl holds that obeyed."""
    kept = [user for user in truth["users"] if user["kept"]]
    posts: dict[Any, Row] = {}
    ledgers: dict[int, Row] = {}
    for user in kept:
        uid, shown = user["uid"], truth["posts"][str(user["uid"])]
        readable = [post for post in shown if post["is_readable"]]
        posts |= {
            post["mid"]: post
            | {"uid": uid, "text_complete": not post["is_restricted"]}
            | {"page_info": post["attached"] and {"type": post["attached"]}}
            for post in readable
        }
        ledgers[uid] = {
            "state": "gone" if user["gone"] else "done",
            "is_sure": len(readable) == len(shown) == user["posts"]
            and not user["are_posts_private"],
            "announced": user["posts"],
            "unreadable": len(shown) - len(readable),
        }
    states = {"": "done", "20003": "gone"}
    return {
        "depths_exact": True,
        "codes": {"harvest": 0},
        "requests": 100,
        "users": {user["uid"]: {**user, "state": states[user["gone"]]} for user in kept},
        "posts": posts,
        "ledgers": ledgers,
        "info": {user["uid"]: dict(user) for user in kept},
        "walled": {user["uid"]: True for user in kept if user["are_fans_private"]},
    }


def _first(rows: dict[Any, Row], **wanted: Any) -> Row:
    return next(row for row in rows.values() if wanted.items() <= row.items())


def _lose_user(held: Row, truth: Row) -> None:
    held["users"].popitem()


def _lose_post(held: Row, truth: Row) -> None:
    held["posts"].popitem()


def _store_unreadable(held: Row, truth: Row) -> None:
    kept = {str(uid) for uid in held["users"]}
    uid, post = next(
        (uid, post)
        for uid, posts in truth["posts"].items()
        for post in posts
        if uid in kept and not post["is_readable"]
    )
    held["posts"][post["mid"]] = post | {"uid": int(uid), "text_complete": True}


def _tell_nothing(held: Row, truth: Row) -> None:
    for ledger in held["ledgers"].values():
        ledger["unreadable"] = 0


def _be_sure(held: Row, truth: Row) -> None:
    for ledger in held["ledgers"].values():
        ledger["is_sure"] = True


DAMAGES: dict[str, Callable[[Row, Row], Any]] = {
    "is missing": _lose_user,
    "the rules do not show them": lambda held, _: held["users"].update({7: {}}),
    "depth 9, not": lambda held, _: _first(held["users"], state="done").update(depth=9),
    "fans 1, not": lambda held, _: _first(held["users"], state="done").update(fans=1),
    "name 'x', not": lambda held, _: _first(held["users"], depth=1).update(screen_name="x"),
    "is not gone": lambda held, _: _first(held["users"], state="done").update(state="gone"),
    "no such user": lambda held, _: _first(held["users"], state="gone").update(state="done"),
    "guests are refused the list": lambda held, _: held["walled"].popitem(),
    "guests are not refused the list": lambda held, _: held["walled"].update(
        {uid: True for uid in held["users"] if uid not in held["walled"]}
    ),
    "was left failed": lambda held, _: _first(held["users"], state="done").update(state="failed"),
    "of page": _lose_post,
    "topics ['x'], not": lambda held, _: _first(held["posts"], text_complete=True).update(
        topics=["x"]
    ),
    "None beside it, not video": lambda held, _: _first(held["posts"], attached="video").update(
        page_info=None
    ),
    "no page shows it": lambda held, _: held["posts"].update({"7": {}}),
    "nobody can read it": _store_unreadable,
    "text 'x', not": lambda held, _: _first(held["posts"], text_complete=True).update(text="x"),
    "text_complete is True": lambda held, _: _first(held["posts"], text_complete=False).update(
        text_complete=True
    ),
    "of 2020-01-01": lambda held, _: _first(held["posts"], form="").update(
        created_at="2020-01-01T00:00:00+08:00"
    ),
    "pinned": lambda held, _: _first(held["posts"], is_pinned=False).update(is_pinned=True),
    "reposts": lambda held, _: _first(held["posts"], form="").update(reposts=-1),
    "unreadable posts are shown": _tell_nothing,
    "sure, and": _be_sure,
    "guests are refused it": _be_sure,
    "ended with 4": lambda held, _: held["codes"].update(harvest=4),
    "province 'x', not": lambda held, _: next(iter(held["info"].values())).update(province="x"),
    "registered '', not": lambda held, _: next(iter(held["info"].values())).update(registered=""),
    "requests for": lambda held, _: held.update(requests=10**6),
}


def test_who_obeyed(truth: Row, held: Row) -> None:
    """No difference; nor where depths are said to be bounds and are."""
    assert list(differences(truth, held)) == []
    deeper = {uid: row | {"depth": row["depth"] + 1} for uid, row in held["users"].items()}
    assert list(differences(truth, held | {"users": deeper, "depths_exact": False})) == []


@pytest.mark.parametrize("words", DAMAGES)
def test_each_damage_is_told(truth: Row, held: Row, words: str) -> None:
    """In a line that names it."""
    damaged = copy.deepcopy(held)
    DAMAGES[words](damaged, truth)
    assert any(words in line for line in differences(truth, damaged))

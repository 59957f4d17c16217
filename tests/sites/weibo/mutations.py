"""Pages and refusals, damaged in every way that can be drawn by dice, and what must hold of each.

    python -m tests.sites.weibo.mutations [HOW_MANY [SEED]]

A refusal, damaged, is never read as a fact. Of a damaged page the parts that were not touched are
read as they were; no post has an id that no post had; a count that cannot be one is unknown.
"""

import copy
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from tests.sites.weibo.helpers import DETAIL, NOON, OWNER, REQUESTS, SITE, at, fixture, page
from weibo_crawler.records import (
    EMPTY,
    FACTS,
    EchoPage,
    Edge,
    FanPage,
    FullText,
    Kind,
    PostPage,
    Reading,
    Request,
    User,
    Verdict,
)

SAMPLES = Path(os.environ.get("WEIBO_SAMPLES", Path(__file__).parents[4] / "shared" / "samples"))
ODD: tuple[Any, ...] = (None, True, [], {}, "", "?", -1, 3.0, 1e300, 10**30, "1e5", "9" * 400)
ODD += ([None], {"0": {}}, [[]], "\0", "\ud800", float("nan"), "-7", "１２", "12.5", {"id": None})
REFUSALS: tuple[Any, ...] = (
    {"ok": -100, "url": "https://passport.weibo.com/sso/signin?entry=wapsso"},
    {"ok": -100, "errno": "-100", "msg": "", "url": "https://m.weibo.cn/captcha/show?backUrl="},
    {"ok": -100, "errno": "-100", "msg": "", "url": "https://m.weibo.cn/api/geetest?testType=1"},
    {"ok": 0, "errno": "100005", "msg": "请求过于频繁,歇歇吧"},
    {"ok": 0, "errno": "100006", "msg": "请求非法"},
    {"ok": 0, "errno": "100001", "msg": "服务器走丢了"},
    {"ok": 0, "msg": "需要验证码", "data": {"cards": []}},
    {"ok": 0, "message": "登录后查看", "error_code": 21301},
    {"ok": 1, "msg": "请求过于频繁", "data": {}},
    {"ok": 0, "msg": "系统繁忙，请稍后再试", "data": {"cards": []}},
    {"ok": 0, "data": []},
    {"error": "Forbidden"},
)
ALL_REQUESTS = (*REQUESTS.values(), DETAIL, SITE.name("x"), SITE.posts(OWNER, "since_id=9"))
ALL_REQUESTS += (SITE.edge(Edge.FANS, OWNER, "7"), SITE.posts(OWNER, "page=7"))


class Case(NamedTuple):
    """A good page, and what it was asked by."""

    name: str
    body: bytes
    request: Request
    now: float

    def read(self, body: bytes) -> Reading:
        return SITE.read(self.request, page(body, now=self.now))


def cases() -> list[Case]:
    """The fixtures, and the recorded answers where they are at hand."""
    found = [Case(name, fixture(name), request, NOON) for name, request in REQUESTS.items()]
    for path in sorted(SAMPLES.glob("posts/*.json")):
        uid = json.loads(path.read_bytes())["data"]["cards"][0]["mblog"]["user"]["id"]
        now = at("2019-06-15T12:00:00" if "2019" in path.name else "2021-06-18T12:00:00")
        found.append(Case(path.name, path.read_bytes(), SITE.posts(uid, ""), now))
    for path in sorted(SAMPLES.glob("comments/*.json")):
        found.append(Case(path.name, path.read_bytes(), SITE.echoes(Kind.COMMENTS, 9), NOON))
    return found


def run(how_many: int, seed: int) -> Counter[str]:
    """Check so many mutations; returns how often each verdict came. Errors: AssertionError, with
    seed and number of the mutation that broke a law."""
    good = [Prepared(case) for case in cases()]
    verdicts: Counter[str] = Counter()
    for n in range(how_many):
        rng = Random(f"{seed} {n}")
        try:
            reading = _damage_refusal(rng) if n % 4 == 0 else rng.choice(good).damage(rng)
        except Exception as error:
            error.add_note(f"mutation {n} of seed {seed}")
            raise
        verdicts[("refusal " if n % 4 == 0 else "page ") + reading.verdict] += 1
    return verdicts


class Prepared:
    """A case with its tree and what is read of it undamaged."""

    def __init__(self, case: Case) -> None:
        self.case, self.tree = case, json.loads(case.body)
        self.paths = list(_places(self.tree))
        self.ids = [path for path in self.paths if path[-1] in ("id", "mid", "idstr")]
        self.record = case.read(case.body).record

    def damage(self, rng: Random) -> Reading:
        """One mutation, judged."""
        if rng.random() < 0.25:
            reading = self.case.read(_scratch(self.case.body, rng))
            self._check_ids(reading)
            return reading
        path = rng.choice(self.ids if self.ids and rng.random() < 0.1 else self.paths)
        tree = _changed(self.tree, path, rng)
        reading = self.case.read(json.dumps(tree).encode())
        self._check_ids(reading)
        if isinstance(reading.record, PostPage):
            self._check_posts(reading.record, path)
        elif isinstance(reading.record, FanPage | EchoPage):
            self._check_users(reading.record.users, path)
        elif isinstance(reading.record, User):
            self._check_profile(reading.record, path)
        elif isinstance(reading.record, FullText) and path[-1] not in ("text", "longTextContent"):
            assert isinstance(self.record, FullText)  # its post is judged on pages of posts
            same = replace(reading.record, post=None) == replace(self.record, post=None)
            assert same or path[-1] in ("data", "longText"), path
        elif reading.verdict in EMPTY:
            is_whole = {*path[-1:]} & {"cards", "data", "card_group", 0, 1, "cardlistInfo"}
            assert is_whole or path[-1] == "itemid", path
        return reading

    def _check_ids(self, reading: Reading) -> None:
        assert (reading.record is not None) == (reading.verdict is Verdict.OK)
        if isinstance(reading.record, PostPage) and isinstance(self.record, PostPage):
            mine = {post.mid: post for post in self.record.posts}
            originals = {post.repost_of for post in self.record.posts}
            for post in reading.record.posts:
                assert post.mid in mine, post.mid
                assert post.uid == self.record.owner
                assert post.repost_of in {*originals, None}, post.repost_of
            assert {one.mid for one in reading.record.unreadable} <= {*mine, None} | _foreign(
                self.tree
            )

    def _check_posts(self, record: PostPage, path: tuple[Any, ...]) -> None:
        assert isinstance(self.record, PostPage)
        touched = _mids_at(self.tree, path)
        mine = {post.mid: post for post in self.record.posts}
        for post in record.posts:
            before = mine[post.mid]
            if post.mid not in touched:
                assert post == before, path
            for count in ("reposts", "comments", "likes"):
                assert getattr(post, count) in (getattr(before, count), None), path
        found = {post.mid for post in record.posts}
        assert mine.keys() - touched <= found, path
        if path[:2] != ("data", "cardlistInfo"):
            assert record.next_cursor == self.record.next_cursor, path

    def _check_users(self, users: tuple[User, ...], path: tuple[Any, ...]) -> None:
        assert isinstance(self.record, FanPage | EchoPage)
        mine = {user.uid: user for user in self.record.users}
        is_id = path[-1] == "id"
        for user in users:
            assert is_id or user.uid in mine, path
            before = mine.get(user.uid, user)
            assert user.fans == before.fans, path
            assert user.screen_name in (before.screen_name, None) or path[-1] == "screen_name"

    def _check_profile(self, user: User, path: tuple[Any, ...]) -> None:
        assert isinstance(self.record, User)
        for name in ("fans", "follows", "posts"):
            assert getattr(user, name) in (getattr(self.record, name), None), path
        assert user.uid == self.record.uid


def _damage_refusal(rng: Random) -> Reading:
    tree = rng.choice(REFUSALS)
    body = json.dumps(tree, ensure_ascii=rng.random() < 0.5).encode()
    if rng.random() < 0.5:
        body = json.dumps(_changed(tree, rng.choice(list(_places(tree))), rng)).encode()
    if rng.random() < 0.5:
        body = _scratch(body, rng)
    request = rng.choice(ALL_REQUESTS)
    reading = SITE.read(request, page(body, rng.choice([200, 200, 200, 403, 404, 418])))
    assert reading.verdict not in FACTS, (body, request.kind, reading.verdict)
    return reading


def _changed(tree: Any, path: tuple[Any, ...], rng: Random) -> Any:
    """The tree with one node made odd, removed, renamed or repeated, or with a digit changed."""
    tree = copy.deepcopy(tree)
    parent = tree
    for key in path[:-1]:
        parent = parent[key]
    key = path[-1]
    actions: tuple[Callable[[Any, Any, Random], None], ...] = (_odd, _odd, _flip, _remove, _rename)
    rng.choice(actions)(parent, key, rng)
    return tree


def _odd(parent: Any, key: Any, rng: Random) -> None:
    parent[key] = rng.choice(ODD)


def _flip(parent: Any, key: Any, rng: Random) -> None:
    """Another digit in one of the ids of a post; of other numbers nobody could tell."""
    is_id = isinstance(parent, dict) and key in ("id", "mid", "idstr")
    if is_id and "mid" in parent and "source" in parent:
        digits = str(parent[key])
        at_ = rng.randrange(len(digits))
        parent[key] = digits[:at_] + str((int(digits[at_]) + rng.randrange(1, 10)) % 10)
        parent[key] += digits[at_ + 1 :]


def _remove(parent: Any, key: Any, rng: Random) -> None:
    del parent[key]


def _rename(parent: Any, key: Any, rng: Random) -> None:
    if isinstance(parent, dict):
        parent[f"new_{key}"] = parent.pop(key)
    else:
        parent.append(parent[key])


def _scratch(body: bytes, rng: Random) -> bytes:
    """Some bytes overwritten, removed, repeated or cut off."""
    raw = bytearray(body)
    start = rng.randrange(len(raw))
    end = min(len(raw), start + rng.choice([1, 1, 2, 4, 30, 500]))
    kind = rng.randrange(5)
    if kind == 0:
        raw[start:end] = rng.randbytes(end - start)
    elif kind == 1:
        del raw[start:end]
    elif kind == 2:
        raw[end:end] = raw[start:end]
    elif kind == 3:
        del raw[start:]
    else:
        raw[start : start + 1] = rng.choice(
            [b"0", b"9", b'"', b"}", b"]", b",", b":", b"-", b"null"]
        )
    return bytes(raw)


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    below = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in below:
        yield (*path, key)
        if isinstance(child, dict | list):
            yield from _places(child, (*path, key))


def _mids_at(tree: Any, path: tuple[Any, ...]) -> set[int]:
    """The mids of the posts that a change at `path` may touch: those of its card, or below it."""
    node, card = tree, tree
    for key in path:
        node = node[key]
        if isinstance(node, dict) and "card_type" in node:
            card = node
    below = node if card is tree or "card_group" in card else card
    return {int(one["mid"]) for one in _mblogs(below)}


def _mblogs(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        if "mblog" in node and isinstance(node["mblog"], dict):
            yield node["mblog"]
        for child in node.values():
            yield from _mblogs(child)
    elif isinstance(node, list):
        for child in node:
            yield from _mblogs(child)


def _foreign(tree: Any) -> set[int]:
    return {int(one["mid"]) for one in _mblogs(tree)}


if __name__ == "__main__":
    how_many, seed = [*map(int, sys.argv[1:]), *(10_000, 1)[len(sys.argv) - 1 :]]
    for outcome, count in sorted(run(how_many, seed).items()):
        print(f"{outcome:28}{count:10,}")

"""Pages through every kind of fault: what is wrongly taken for empty, who is lost, what it costs.

The commands of the crawler, as a user types them, against a simulator that spoils 30 % of its
answers; then the stores beside what is true.
"""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.crawls import Crawl, Truth, simulated
from weibo_crawler.posts.stops import ENDS
from weibo_crawler.simulator.faults import FAULTS
from weibo_crawler.simulator.served import read_served
from weibo_crawler.store.rows.cells import Ledger, read_ledger
from weibo_crawler.store.rows.keys import parse_user_key
from weibo_crawler.store.sqlite.tables import SqliteTables

SHARE = 0.3
_RIGHT = ("ok", "end", "slow")  # what the served log calls a right answer
_ENDED = ("done", "gone")
_PROXIES = 50  # all good: with one egress most of the time is its rests after refusals
_SETTINGS = {  # a stalled answer is given up after half a second
    "WEIBO_FETCH__CONNECT_TIMEOUT_S": "1",
    "WEIBO_FETCH__READ_TIMEOUT_S": "0.5",
    "WEIBO_FETCH__CONCURRENCY": "64",
    "WEIBO_HARVEST__REST_S": "0.5",
    "WEIBO_HARVEST__MAX_FAILED_SHARE": "1",  # the last pass has few users, and may fail at most
    "WEIBO_POSTS__MAX_FAILED_SHARE": "1",
}


class Held(NamedTuple):
    """What the stores hold. states: of the entries; posts: by mid. unsure_lists: those of which the
    crawler itself says that they may lack somebody."""

    states: Mapping[int, str]
    posts: Mapping[str, dict[str, Any]]
    ledgers: Mapping[Any, Ledger]
    unsure_lists: int


def run(folder: Path, seed: int, users: int, passes: int) -> dict[str, float]:
    """One crawl from seeds to posts in an empty folder. users: of the world. passes: how often the
    posts job is run at most; each repeats what failed in the one before."""
    share = math.floor(1e4 * SHARE / len(FAULTS)) / 1e4
    faults = ",".join(f"{name}={share}" for name in FAULTS)
    proxies = str(folder / "proxies.txt")
    knobs = {"users": users, "mean_posts": 12.0, "guests": "2020", "slow_s": 0.2}
    knobs |= {"proxies": _PROXIES, "proxies_out": proxies}
    with simulated(folder, seed=seed, faults=faults, **knobs) as (crawl, truth):
        crawl.env |= _SETTINGS | {"WEIBO_EGRESS__PROXIES_FILE": proxies}
        crawl.run("seed", *truth.seeds)
        unsure = crawl.json("harvest")["unsure_lists"]
        crawl.run("import")
        found: list[dict[str, float]] = []
        while len(found) < passes:
            crawl.run("posts")
            held = _held(crawl, unsure)
            found.append(_figures(held, truth))
            if not any(ledger.state == "failed" for ledger in held.ledgers.values()):
                break
        passed = {"passes": len(found), "flagged_at_first": found[0]["posts_flagged"]}
        return found[-1] | passed | _cost(folder / "site" / "served.jsonl")


def _held(crawl: Crawl, unsure_lists: int) -> Held:
    states = {user["id"]: user["state"] for user in crawl.scan("users")}
    posts = {post["mid"]: post for post in crawl.scan("posts")}
    tables = SqliteTables(f"sqlite:///{crawl.folder}/tables.db")
    try:
        rows = tables.userlist.scan(columns=["crawl"])
        read = {parse_user_key(row.key): read_ledger(row.cells) for row in rows}
    finally:
        tables.close()
    ledgers = {uid: ledger for uid, ledger in read.items() if ledger is not None}
    return Held(states, posts, ledgers, unsure_lists)


def _figures(held: Held, truth: Truth) -> dict[str, float]:
    """Pages and posts are wrong only where the ledger calls the user done and sure."""
    missing: Counter[tuple[str, int]] = Counter()  # (uid, page) -> posts
    total: Counter[tuple[str, int]] = Counter()
    false_texts = 0
    for uid, posts in truth.data["posts"].items():
        if int(uid) not in truth.depths:
            continue
        for post in posts:
            total[uid, post["page"]] += 1
            stored = held.posts.get(post["mid"])
            if stored is None:
                missing[uid, post["page"]] += 1
            elif stored["text_complete"] and stored["text"] != post["text"]:
                false_texts += 1
    silent = {place: n for place, n in missing.items() if _is_sure(held.ledgers.get(int(place[0])))}
    return {
        "users": len(truth.depths),
        "users_lost": len(truth.depths.keys() - held.states.keys()),
        "users_false": len(held.states.keys() - _keepable(truth)),
        "users_more": len(held.states.keys() - truth.depths.keys()),
        "users_failed": sum(state not in _ENDED for state in held.states.values()),
        "lists_unsure": held.unsure_lists,
        "posts": total.total(),
        "posts_lost": sum(silent.values()),
        "posts_flagged": missing.total() - sum(silent.values()),
        "pages_wrongly_empty": sum(n == total[place] for place, n in silent.items()),
        "texts_wrong": false_texts,
        "texts_cut": sum(not post["text_complete"] for post in held.posts.values()),
    }


def _keepable(truth: Truth) -> set[int]:
    """Whom a walk by any edge may keep: where a list meets walls it goes on by others."""
    least = truth.data["min_fans"]
    return {user["uid"] for user in truth.data["users"] if user["fans"] >= least or user["kept"]}


def _is_sure(ledger: Ledger | None) -> bool:
    """Whether the ledger says that all posts are here."""
    return ledger is not None and ledger.state in _ENDED and ledger.sure and ledger.stopped in ENDS


def _cost(served: Path) -> dict[str, float]:
    """Requests and pages; a page counts once, however often it came."""
    lines = read_served(served)
    pages = {line.request for line in lines if line.served in _RIGHT}
    faults = sum(line.served in FAULTS for line in lines)
    return {
        "requests": len(lines),
        "pages": len(pages),
        "fault_share": faults / len(lines),
        "requests_per_page": len(lines) / len(pages),
    }

"""The same truth from a site that spoils answers, ends sessions and limits addresses."""

import json
import threading
from collections import Counter
from contextlib import suppress
from http.client import HTTPException
from math import inf
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl
from tests.foreign.worlds import World, crawl_of, site, stats, walk

pytestmark = pytest.mark.timeout(240)
_ROUNDS = 4


def _posts_of(crawl: Crawl, world: World) -> dict[int, tuple[int, int]]:
    """How many posts of each user there are, and how many were found."""
    found = Counter(post["uid"] for post in crawl.scan("posts"))
    kept = world.truth["kept"].items()
    return {int(uid): (len(user["facts"]), found[int(uid)]) for uid, user in kept}


def _assert_truth(crawl: Crawl, world: World) -> None:
    """The same commands, repeated a few times, hold the truth.

    One of the kinds of spoilt answers is a page of any user, and so now and then a later one of the
    same user: nothing on it tells that those between were passed over. Then that user is told as
    one with fewer posts than announced, and the mark of the pinned one may be among what was.
    """
    differences = walk(crawl, world, rounds=_ROUNDS)
    cut = {uid: n - found for uid, (n, found) in _posts_of(crawl, world).items() if n > found}
    rows = crawl.run("report", "--completeness", "--format", "jsonl").stdout.splitlines()
    told = {int(row["id"]) for row in map(json.loads, rows) if not row["whole"]}
    assert differences.keys() <= {"posts_missing", "wrong_pinned"}
    assert differences.get("wrong_pinned", 0) <= len(cut)
    assert differences.get("posts_missing", 0) == sum(cut.values())
    assert len(cut) <= 1
    assert cut.keys() <= told


def test_a_site_that_spoils_answers_hides_nothing(world: World, tmp_path: Path) -> None:
    """Eighteen kinds of spoilt answers, each address at most twice: nobody's emptiness was
    believed. A share of 0.2 is below, with sessions that end."""
    with site(world, "--faults", "0.4") as port, crawl_of(tmp_path / "crawl", port) as crawl:
        _assert_truth(crawl, world)
        counted = stats(port)
    assert counted["soft_empty"]
    assert counted["other_user"]


@pytest.mark.parametrize("share", ["0.2", "0.4"])
def test_a_site_that_is_empty_now_and_then_cuts_hardly_anybody(
    world: World, tmp_path: Path, share: str
) -> None:
    """The no-content body in the place of any page, each address at most twice, and of nothing
    else: how often it pays to look again is learned, so that one user in fifty at most is found in
    part, before a mapper was shown a later page; who showed nothing at all is not gone, and asked
    again another day."""
    faults = ("--kinds", "soft_empty", "--faults", share)
    with site(world, *faults) as port, crawl_of(tmp_path / "crawl", port) as crawl:
        differences = walk(crawl, world, rounds=_ROUNDS)
        posts = _posts_of(crawl, world)
        gone = [user for user in crawl.scan("users") if user["state"] == "gone"]
    assert differences.keys() <= {"posts_missing", "text_wrong"}
    assert not gone
    cut = [uid for uid, (n, found) in posts.items() if found not in (0, n)]
    assert len(cut) <= len(posts) / 50
    assert sum(found == 0 < n for n, found in posts.values()) < len(posts) / 10


def test_guests_whose_sessions_end_read_everything(world: World, tmp_path: Path) -> None:
    """A session dies after 200 answers, a fifth of all answers is spoilt: the truth is held, and
    sessions are not asked for by the dozen."""
    with (
        site(world, "--faults", "0.2", "--guest", "--session-life", "200") as port,
        crawl_of(tmp_path / "crawl", port, guest=True) as crawl,
    ):
        _assert_truth(crawl, world)
        counted = stats(port)
    assert counted["visitor_asked_at_once_max"] <= 4


@pytest.mark.parametrize(("status", "store"), [("502", "users.db"), ("503", "tables.db")])
def test_a_site_that_is_away_for_a_while_costs_nobody(
    world: World, tmp_path: Path, status: str, store: str
) -> None:
    """Every address answers 5xx for eight seconds, in a harvest or in a posts run, sixty pages
    after their store was made: each command goes on when the site is back, the truth is held at
    once, and hardly anything was sent."""
    away, is_over = tmp_path / "away", threading.Event()

    def go_away(port: int) -> None:
        shown, least = 0, inf
        while shown < least and not is_over.wait(0.05):
            with suppress(OSError, HTTPException):
                shown = stats(port).get("page", 0)
            if least == inf and (tmp_path / "crawl" / store).exists():
                least = shown + 60
        away.write_text(status, "utf-8")
        is_over.wait(8.0)
        away.unlink()

    options = ("--faults", "0", "--guest", "--outage", str(away))
    pace = {"WEIBO_PACE__REQUESTS_PER_SECOND": "40"}
    with (
        site(world, *options, "--session-life", "10000") as port,
        crawl_of(tmp_path / "crawl", port, guest=True, **pace) as crawl,
    ):
        leaving = threading.Thread(target=go_away, args=[port], daemon=True)
        leaving.start()
        try:
            assert not walk(crawl, world)
        finally:
            is_over.set()
            leaving.join()
        counted = stats(port)
    assert 3 <= counted.get(f"outage{status}", 0) <= 60, counted


def test_a_limited_address_is_never_banned(world: World, tmp_path: Path) -> None:
    """The site answers 60 requests a second to one address and says 418 to more: a crawl that may
    go faster slows down before it is banned, and holds the truth."""
    with site(world, "--faults", "0", "--rate", "60") as port:
        pace = {"WEIBO_PACE__REQUESTS_PER_SECOND": "80"}
        with crawl_of(tmp_path / "crawl", port, **pace) as crawl:
            assert not walk(crawl, world, rounds=_ROUNDS)
            counted = stats(port)
    assert counted.get("bans", 0) == 0
    assert counted.get("418", 0) < 0.2 * (counted["page"] + counted["end"])

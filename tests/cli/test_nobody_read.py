"""When a run of `posts` in which every visit failed is the site's no."""

from pathlib import Path

import pytest

from weibo_crawler import config
from weibo_crawler.cli.posts_closing import left_early, nobody_read
from weibo_crawler.home import Home
from weibo_crawler.posts.workers import FAILED_BY, FIRST_FAILED, why_failed
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import Ledger, ledger_cells
from weibo_crawler.store.rows.keys import user_key

FAILED = {"users.input": 3, "users.existing": 1, "users.failed": 2}


@pytest.mark.parametrize(
    ("counters", "held", "says_no"),
    [
        ({**FAILED, FIRST_FAILED: 2}, "done", True),  # all who were visited for the first time
        (FAILED, "failed", True),  # again, and nobody else is held
        (FAILED, "done", False),  # law 15: retries are no evidence, others were read
        ({**FAILED, "users.input": 4, "users.stored": 1, FIRST_FAILED: 2}, "done", False),
        ({**FAILED, "users.input": 4, "users.unreached": 1, FIRST_FAILED: 2}, "done", True),
        ({"users.input": 3, "users.existing": 3}, "failed", False),  # nobody was visited
        ({}, "failed", False),
    ],
)
def test_only_where_nobody_was_read(
    tmp_path: Path, counters: dict[str, int], held: str, says_no: bool
) -> None:
    """Of the run, and of runs before where all of this one are retries."""
    urls = (f"sqlite:///{tmp_path}/{name}.db" for name in ("users", "tables"))
    with Home(config.Settings(store=config.Store(*urls))) as home:
        for uid, state in ((7, "failed"), (8, "failed"), (9, held)):
            cells = {"user:id": str(uid), **ledger_cells(Ledger(state))}
            home.tables.userlist.put([Put(user_key(uid), cells, 1000)])
        assert bool(nobody_read(home, counters)) is says_no


@pytest.mark.parametrize(("unreached", "says_no"), [(0, False), (4, False), (8, False), (9, True)])
def test_a_run_that_was_left_half_way_is_not_done(unreached: int, says_no: bool) -> None:
    """Nobody is marked by that, and exit code 0 would say that everybody was visited."""
    counters = {"users.input": 50, "users.existing": 10, "users.unreached": unreached}
    assert bool(left_early(counters, 0.2)) is says_no


def test_why_visits_failed_is_said() -> None:
    """The three most frequent reasons, of all mappers together."""
    failed = {f"{FAILED_BY}{why}": n for n, why in enumerate(["a", "b", "c: 1.5", "d"], 1)}
    assert why_failed({**FAILED, **failed}) == " (4 x d, 3 x c: 1.5, 2 x b)"
    assert why_failed(FAILED) == ""

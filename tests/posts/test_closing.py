"""What the ledger holds after a complete visit."""

import pytest

from weibo_crawler.posts.closing import closed
from weibo_crawler.posts.schedule import Revisit
from weibo_crawler.store.rows.cells import Ledger

REVISIT = Revisit(3600.0, 86_400.0, 5.0)
NOW = 1_790_000_000.0


class NoDates:
    """The posts of a user whose dates nobody tells."""

    def dates(self, mids: set[int]) -> dict[int, str]:
        return {}

    def newest_times(self, n: int, since: int) -> list[float]:
        return []


@pytest.mark.parametrize("newest", [None, 5])
def test_pinned_posts_alone_are_no_part_of_a_timeline(newest: int | None) -> None:
    """Where a wall follows a page of pinned posts, the timeline is not read, whatever was read
    before, and the pinned posts are not where the next visit ends; with the end it is read."""
    walled = Ledger("done", stopped="login_wall", newest=newest, read_newest=9, walled_at=NOW)
    after = closed(walled, NoDates(), REVISIT, NOW)  # type: ignore[arg-type]
    assert not after.whole
    assert after.newest == newest
    ended = Ledger("done", stopped="end", newest=newest, read_newest=9)
    after = closed(ended, NoDates(), REVISIT, NOW)  # type: ignore[arg-type]
    assert after.whole
    assert after.newest == 9

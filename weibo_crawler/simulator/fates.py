"""What becomes of posts after the epoch of the world: some are edited, some are deleted.

Whether and when follows from the mid, so a later day keeps all that happened until an earlier one.
"""

from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler.simulator import lexicon
from weibo_crawler.simulator.dice import scatter
from weibo_crawler.simulator.timeline import DAY, Post, second_of

_DELETED, _EDITED, _WHERE = 5, 6, 7  # salts


class Fates(NamedTuple):
    """Shares of the posts that are edited, and deleted, on each day from `epoch` to `now`."""

    epoch: int
    now: float
    edited_per_day: float
    deleted_per_day: float

    def is_deleted(self, mid: int) -> bool:
        return self._has_happened(mid, _DELETED, self.deleted_per_day)

    def is_edited(self, mid: int) -> bool:
        return self._has_happened(mid, _EDITED, self.edited_per_day)

    def _has_happened(self, mid: int, salt: int, per_day: float) -> bool:
        days = (self.now - max(second_of(mid), self.epoch)) / DAY
        return days > 0 and scatter(mid, salt) / 2**32 < 1 - (1 - per_day) ** days


def edited(post: Post) -> Post:
    """The post after an edit: a few words more, at its beginning or its end. An edit at the end of
    a long one does not show in what lists show of it."""
    old, more = post.writing, lexicon.EDITED
    if scatter(post.mid, _WHERE) % 2:
        writing = old._replace(html=old.html + more, text=old.text + more)
    else:
        cut = None if old.cut is None else more + old.cut
        writing = old._replace(html=more + old.html, text=more + old.text, cut=cut)
    return replace(post, writing=writing, edits=post.edits + 1)

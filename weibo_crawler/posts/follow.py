"""Following users: a job whenever somebody is due, and sleep in between.

Each job is a run of its own, which visits a user once: so ledgers, claims, archives and the notes
of silences mean what they mean elsewhere. Nothing is held while nobody is due, neither egresses nor
users, and nothing is known that is not in the stores: whoever is killed asleep loses nothing.
"""

from collections.abc import Callable, Iterable
from math import inf
from typing import NamedTuple

from weibo_crawler.posts.due import Due, Job, due_at
from weibo_crawler.posts.schedule import Revisit

_PAUSE = 0.1  # of the shortest interval: no user is later by more because jobs are not begun sooner


class Next(NamedTuple):
    """at: when somebody is due next, seconds since the epoch; users: how many are due then, or by
    now where that is past."""

    at: float
    users: int


def next_due(users: Iterable[Due], job: Job, now: float) -> Next | None:
    """Who is due next; None where nobody ever is."""
    found: Next | None = None
    for user in users:
        at = max(due_at(user, job, now), now)
        if at < inf and (found is None or at <= found.at):
            found = Next(at, 1 if found is None or at < found.at else found.users + 1)
    return found


def follow(
    visit: Callable[[int], None],
    look: Callable[[float], Next | None],
    sleep: Callable[[float, Next | None], bool],
    clock: Callable[[], float],
    *,
    revisit: Revisit,
    until: float = inf,
) -> None:
    """Visit who is due until `until`, or until `sleep` says that it is over.

    visit: runs one job for so many users; what it raises ends this. look: who is due next, at a
    time. sleep: waits for so many seconds, and is told who is due next; False: it was told to stop.
    A job begins at the earliest a tenth of the shortest interval after the last one did, and after
    each shortest interval the table is looked at again, as others import and visit users, too.
    """
    not_before, pause_s = -inf, _PAUSE * revisit.least_s
    while (now := clock()) < until:
        due = look(now)
        not_before = min(not_before, now + pause_s)  # a clock may be set back
        at = inf if due is None else max(due.at, not_before)
        if due is not None and at <= now:
            not_before = now + pause_s
            visit(due.users)
            continue
        wake = min(at, now + revisit.least_s, until)
        if not sleep(wake - now, due if due is None else due._replace(at=at)):
            return

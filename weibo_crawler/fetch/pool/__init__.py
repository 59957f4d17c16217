"""Who may go, and when. `Pool` is the face; nobody outside sees its parts, but who opens it.

`Pool.turn` gives a `Turn` that is paced, leased and in session; `Pool.tell` takes its outcome.
Inside: `ring` (which egress goes first; `Health` says how one moves), `session` and `visit`
(visitor sessions), `login_walls` (what happens to a login wall), `keeper` (leases), `roster` and
`reloading` (lists of proxies), `outage` (when nothing usable comes), `endpoints` (kinds of pages
that nobody is shown). Ring, visit, login_walls, outage and endpoints are pure.
"""

from weibo_crawler.fetch.pool import login_walls
from weibo_crawler.fetch.pool.keeper import Leases
from weibo_crawler.fetch.pool.login_walls import CLOSED, Hit, Meaning, Others, Wall
from weibo_crawler.fetch.pool.outcome import (
    Broken,
    Disproved,
    Failed,
    Good,
    Outcome,
    Refused,
    SessionOver,
    Turn,
    Unused,
    Walled,
)
from weibo_crawler.fetch.pool.pool import KindShut, Pool

__all__ = [
    "CLOSED",
    "Broken",
    "Disproved",
    "Failed",
    "Good",
    "Hit",
    "KindShut",
    "Leases",
    "Meaning",
    "Others",
    "Outcome",
    "Pool",
    "Refused",
    "SessionOver",
    "Turn",
    "Unused",
    "Wall",
    "Walled",
    "login_walls",
]

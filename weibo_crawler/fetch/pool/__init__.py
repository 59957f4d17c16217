"""Who may go, and when. `Pool` is the face; nobody outside sees its parts, but who opens it.

`Pool.turn` gives a `Turn` that is paced, leased and in session; `Pool.tell` takes its outcome.
Inside: `ring` (which egress goes first; `Health` says how one moves), `session` and `visit`
(visitor sessions), `login_walls` (what happens to a login wall), `keeper` (leases), `roster` and
`reloading` (lists of proxies), `outage` (when nothing usable comes), `endpoints` (kinds of pages
that nobody is shown). Ring, visit, login_walls, outage and endpoints are pure.
"""

from weibo_crawler.fetch.pool import login_walls as login_walls
from weibo_crawler.fetch.pool.keeper import Leases as Leases
from weibo_crawler.fetch.pool.login_walls import CLOSED as CLOSED
from weibo_crawler.fetch.pool.login_walls import Hit as Hit
from weibo_crawler.fetch.pool.login_walls import Meaning as Meaning
from weibo_crawler.fetch.pool.login_walls import Others as Others
from weibo_crawler.fetch.pool.login_walls import Wall as Wall
from weibo_crawler.fetch.pool.outcome import Broken as Broken
from weibo_crawler.fetch.pool.outcome import Disproved as Disproved
from weibo_crawler.fetch.pool.outcome import Failed as Failed
from weibo_crawler.fetch.pool.outcome import Good as Good
from weibo_crawler.fetch.pool.outcome import Outcome as Outcome
from weibo_crawler.fetch.pool.outcome import Refused as Refused
from weibo_crawler.fetch.pool.outcome import SessionOver as SessionOver
from weibo_crawler.fetch.pool.outcome import Turn as Turn
from weibo_crawler.fetch.pool.outcome import Unused as Unused
from weibo_crawler.fetch.pool.outcome import Walled as Walled
from weibo_crawler.fetch.pool.pool import KindShut as KindShut
from weibo_crawler.fetch.pool.pool import Pool as Pool

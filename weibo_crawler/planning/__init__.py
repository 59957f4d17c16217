"""How much a crawl will cost: requests by kind, hours, disk; before it starts and while it runs.

`walk` (harvest), `visits` (posts) and `outset` (a crawl that does not exist yet) are pure: known
figures in, a `Plan` out. `reading` gets the known figures from the stores, `shown` prints a plan.
Each figure says where it comes from: measured in this crawl, or assumed and from where. What nobody
knows is None, printed as "not known yet".
"""

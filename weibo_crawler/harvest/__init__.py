"""The breadth-first walk over fan lists and other edges, on one machine.

How a user is born and moves: a seed, or whoever an edge of a kept user leads to and has at least
`min_fans` fans, is inserted as a queued entry. Entries are claimed by (depth, seq), many at once;
each one's edges are read page by page, and a page's users and the progress of its owner are
committed together. Pages of the next depth may be fetched ahead, but are stored only when nothing
of a smaller depth is open, so depths are exact. The run is over when nothing is queued, leased or
resting in any process.
"""

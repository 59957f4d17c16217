"""The harvest as MapReduce, a job a level: maps read the lists of the users of one depth, the
shuffle brings together what they found of one user, reducers store each new one once
(jobs/harvest_level.py is what mrjob needs beside it).

A map walks its users as a harvest of its own does: in a frontier of its own, in which they are the
seeds, as deep as one step. The tables hold the truth: a user is walked whose row lies no deeper
than the level and does not say how a walk of it ended.
"""

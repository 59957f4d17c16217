"""From imported users to stored posts: the body of the map job.

A manifest splits the key space into ranges, one a line. A mapper crawls a range: the users in it
that are due are visited, many at once. A visit asks for the profile, reads the timeline page by
page, completes long texts, and puts each page's cells before the cursor that says so into the
user's ledger; so a killed mapper repeats at most the pages that were not acknowledged.
"""

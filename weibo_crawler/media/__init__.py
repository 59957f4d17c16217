"""Pictures and videos that stored posts name, as files in a folder.

How a file comes: `naming` finds what posts name, the index (store/media.py) notes it, `run` asks
for it by `fetch.Downloads`, `saving` takes the answer into a part, and gives it its name when it is
whole and on the disk. `folder` is the folder as a whole: whose it is, checking, forgetting.
"""

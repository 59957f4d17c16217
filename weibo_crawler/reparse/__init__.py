"""Tables from an archive, with no request at all.

A harvest and the visits of posts run as ever; only what they ask is answered from an archive
(`replay`), in the order in which it was answered then, each asking by what its caller was told
then. So walls, retries, doubts and second looks come out as they did, and none of the code that
judges them is repeated.
"""

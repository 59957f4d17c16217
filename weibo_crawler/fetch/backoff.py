"""How long to wait before the next try. Pure."""

from random import Random


def backoff_s(tries: int, base_s: float, cap_s: float, rng: Random) -> float:
    """Seconds to wait after `tries` earlier waits: base doubled each time, at most cap_s.

    Half of it is jitter, so that callers who failed together do not come back together.
    """
    return min(cap_s, base_s * 2.0 ** min(tries, 60)) * rng.uniform(0.5, 1.0)

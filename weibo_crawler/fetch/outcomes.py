"""What a turn came to, as the pool is told."""

from typing import NamedTuple


class Good(NamedTuple):
    latency_s: float


class Refused(NamedTuple):
    retry_after_s: float | None = None
    is_ban: bool = False
    is_session_over: bool = False


class Walled(NamedTuple):
    is_final: bool = False


class Broken(NamedTuple):
    pass


Outcome = Good | Refused | Walled | Broken

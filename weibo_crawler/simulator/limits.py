"""How much one address may ask for, and what happens to one that asks for more.

The refusals are those of weibo_api.md; the numbers are settings, as the real ones are not known. An
address has a bucket of `requests` tokens for pages and another for new sessions. A bucket fills at
`requests` in `per_s` seconds, a request takes a token. Where there is none it is refused, in words
that depend on its haste, and this is remembered for `per_s`. More refusals in such a time than
FORBEARANCE bring a ban of `ban_s`; one that comes within the length of the ban before is twice as
long, up to LONGEST times `ban_s`. Who asks for a session under a ban begins it anew, as "renewing
again and again while an IP is limited makes the limit worse". After a ban both buckets are full.

No clock is in here: `now` is seconds by any clock that does not go back.
"""

from random import Random
from typing import NamedTuple

from weibo_crawler.errors import BadUsage

FORBEARANCE = 3
LONGEST = 16
_HASTY_S = 0.1  # 414 was seen at about 10 requests/s
_FAST_S = 0.3  # 418 was seen under 0.2 to 0.3 s a request
_BANS = ("refused_403", "refused_403", "captcha")  # drawn from


class Rate(NamedTuple):
    """So many requests at once, and so many in each per_s seconds."""

    requests: int
    per_s: float


class Refusal(NamedTuple):
    """label: of the served log. fault: the name of what is answered. wait_s: until it is over."""

    label: str
    fault: str
    wait_s: float


def parse_rate(text: str) -> Rate | None:
    """`20/60` is 20 requests in 60 seconds, "" no limit; BadUsage for anything else."""
    if not text:
        return None
    requests, _, per_s = text.partition("/")
    try:
        rate = Rate(int(requests), float(per_s))
    except ValueError:
        rate = Rate(0, 0.0)
    if rate.requests < 1 or not 0 < rate.per_s < float("inf"):
        raise BadUsage(f"--rate-limit: {text!r}: write REQUESTS/SECONDS, such as 1/3 or 20/60")
    return rate


class _Bucket:
    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._tokens = float(rate.requests)
        self._at = 0.0

    def takes(self, now: float) -> bool:
        """Take a token, if there is one."""
        grown = (now - self._at) * self._rate.requests / self._rate.per_s
        self._tokens, self._at = min(self._rate.requests, self._tokens + grown), now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    @property
    def wait_s(self) -> float:
        """From the last `takes` until there is a token."""
        return max(0.0, 1 - self._tokens) * self._rate.per_s / self._rate.requests


class _Address:
    def __init__(self, rate: Rate) -> None:
        self.last = self.refused_at = self.banned_until = float("-inf")
        self.refusals = self.times = 0
        self.ban_s = 0.0
        self.ban = ""
        self.refill(rate)

    def refill(self, rate: Rate) -> None:
        self.pages, self.sessions = _Bucket(rate), _Bucket(rate)


class Limits:
    """What is known of each address.

    soft: the share of refusals of lists that look empty. words: the faults that refusals are drawn
    from, in the place of those by haste; where they are given nobody is banned.
    """

    def __init__(
        self, rate: Rate, *, seed: int, ban_s: float, soft: float, words: tuple[str, ...] = ()
    ) -> None:
        self._rate, self._seed, self._ban_s, self._soft = rate, seed, ban_s, soft
        self._words = words
        self._addresses: dict[str, _Address] = {}

    def refuse(
        self, egress: str, now: float, *, is_session: bool = False, is_list: bool = False
    ) -> Refusal | None:
        """What an address gets at `now` for a page or a session; None where it may have it."""
        address = self._addresses.get(egress)
        if address is None:
            address = self._addresses[egress] = _Address(self._rate)
        since_s, address.last = now - address.last, now
        if now < address.banned_until:
            if is_session:
                address.banned_until = now + address.ban_s
            return Refusal("banned", address.ban, address.banned_until - now)
        bucket = address.sessions if is_session else address.pages
        if bucket.takes(now):
            return None
        if now - address.refused_at > self._rate.per_s:
            address.refusals = 0
        address.refused_at = now
        address.refusals += 1
        address.times += 1
        dice = Random(f"{self._seed} {egress} {address.times}")
        if address.refusals > FORBEARANCE and not self._words:
            return self._begin_ban(address, now, dice)
        if is_list and dice.random() < self._soft:
            return Refusal("soft_throttled", "no_content", bucket.wait_s)
        fault = dice.choice(self._words) if self._words else _by_haste(since_s)
        return Refusal(fault, fault, bucket.wait_s)

    def _begin_ban(self, address: _Address, now: float, dice: Random) -> Refusal:
        again = now - address.banned_until <= address.ban_s
        longest = LONGEST * self._ban_s
        address.ban_s = min(2 * address.ban_s, longest) if again else self._ban_s
        address.banned_until = now + address.ban_s
        address.ban = dice.choice(_BANS)
        address.refusals = 0
        address.refill(self._rate)
        return Refusal("ban", address.ban, address.ban_s)


def _by_haste(since_s: float) -> str:
    if since_s < _HASTY_S:
        return "too_long_414"
    return "throttled_418" if since_s < _FAST_S else "throttled"

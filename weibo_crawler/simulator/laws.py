"""The rules of a site, drawn by dice: a seed number is a site.

Where the other options say how a site refuses, these say what it shows, how it writes it, and how
much it hides. `Laws` is the one table: each field with how it is drawn and what it means. Each law
has dice of its own, so that a new law changes no other.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from random import Random
from typing import Any, TypeVar, cast

from weibo_crawler.simulator.guests import Rules
from weibo_crawler.simulator.options import SimulatorOptions

_T = TypeVar("_T")

JUNK_CARDS = (
    *("mblog_null", "mblog_absent", "advertisement", "people", "hollow_group", "card58"),
    *("unknown_type", "null", "blank", "words", "list", "liked"),
)
ODD_POSTS = (
    *("retweeted_list", "retweeted_blank", "original_without_user", "longtext_list", "pics_blank"),
    *("counts_blank", "counts_negative", "counts_float", "source_null", "region_number"),
    *("bid_number", "user_name_null", "title_list", "page_info_list", "page_info_odd"),
)
BROKEN_POSTS = ("text_absent", "text_number", "mid_list", "date_nonsense")
JUNK_PEOPLE = ("user_null", "user_blank", "user_words", "user_without_id", "null", "words")
ODD_PEOPLE = ("fans_float", "fans_list", "fans_absent", "name_null")
POSTS_ENDS = ("absent", "null", "blank", "empty", "no_cards", "card58", "repeat")
FANS_ENDS = ("absent", "null", "blank", "empty", "no_cards", "repeat", "same_page")
RESTRICTIONS = ("20112", "20174", "20170")
LIMIT_WORDS = ("throttled", "throttled_418", "too_long_414", "refused_403", "html_busy")
INFO_FORMS = ("walled", "no_content", "drifted", "odd")
WORDS = (
    *("throttled", "server_trouble", "status_502", "html_busy", "unknown_words", "unknown_keys"),
    *("bare_ok0", "ok1_refusal", "refused_403", "empty_200", "truncated_json"),
)


def _law(draw: Callable[[Random], _T], doc: str) -> _T:
    return cast(_T, field(metadata={"draw": draw, "doc": doc}))


def _one(*choices: _T) -> Callable[[Random], _T]:
    """One of the choices; one that stands several times is likelier."""
    return lambda rng: rng.choice(choices)


def _some(*choices: str) -> Callable[[Random], tuple[str, ...]]:
    """One of the choices, or more."""
    return lambda rng: tuple(sorted(rng.sample(choices, rng.randint(1, len(choices)))))


def _share(most: float) -> Callable[[Random], float]:
    """None at all, or a share up to `most`."""
    return lambda rng: rng.choice((0.0, round(rng.uniform(most / 10, most), 3)))


def _private(rng: Random) -> float:
    """Mostly none; else some, up to half."""
    return rng.choice((0.0, 0.0, 0.0, round(rng.uniform(0.02, 0.5), 3)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Laws:
    """Shares are of 1. Forms are those of the tuples above; `bends` says what each does."""

    seed: int
    # what is announced, and what is shown
    fans_factor: int = _law(
        _one(1, 1, 1, 30, 3000), "announced fans of users who have 10, times this"
    )
    numbers: str = _law(_one("strings", "ints", "mixed"), "how followers_count is written")
    statuses: str = _law(
        _one("exact", "exact", "text", "null", "absent"), "how statuses_count is written"
    )
    owners_lack: str = _law(
        _one("", "", "", "statuses_count", "urank"), "what the users in posts and lists lack"
    )
    filtered: float = _law(_share(0.5), "of the fans of a list are left out by it")
    hidden_people: float = _law(_share(0.2), "of the users stand on no list")
    hidden_lists: float = _law(_share(0.15), "of the fan lists are empty, whatever is announced")
    fans_cap: int = _law(_one(5000, 5000, 200, 60, 25), "fans that a list shows at most")
    hidden_posts: float = _law(_share(0.4), "of the posts are announced and on no page")
    hidden_timelines: float = _law(_share(0.08), "of the users have no post on any page")
    gone: float = _law(_share(0.08), "of the users do not exist any more")
    gone_by: tuple[str, ...] = _law(_some("20003", "emptiness"), "how the site says so")
    # pages
    fans_page: int = _law(_one(20, 20, 18, 12, 7), "users of a full page")
    posts_page: int = _law(_one(10, 10, 10, 8, 5, 15), "posts of a full page")
    short_pages: float = _law(_share(0.4), "of the pages are shorter than full")
    blank_pages: float = _law(_share(0.15), "of the pages hold nothing that counts and name a next")
    repeats: float = _law(_share(0.4), "of the pages begin with the end of the page before")
    fans_next: str = _law(_one("number", "text", "page", "silent"), "how fan lists name the next")
    fans_ends: tuple[str, ...] = _law(_some(*FANS_ENDS), "how fan lists end")
    posts_next: str = _law(
        _one("page", "page", "since_id", "since_id", "digits", "opaque"),
        "how timelines name the next page",
    )
    posts_ends: tuple[str, ...] = _law(_some(*POSTS_ENDS), "how timelines end")
    dates: str = _law(_one("rfc", "rfc", "relative", "mixed", "mixed"), "how lists write dates")
    # cards, items
    junk_cards: float = _law(_share(0.6), "of the posts pages hold cards that are no posts")
    junk_card_forms: tuple[str, ...] = _law(_some(*JUNK_CARDS), "which cards those are")
    odd_posts: float = _law(_share(0.3), "of the posts have an odd optional part")
    odd_post_forms: tuple[str, ...] = _law(_some(*ODD_POSTS), "which parts are odd")
    broken_posts: float = _law(_share(0.1), "of the posts have a broken required part")
    broken_post_forms: tuple[str, ...] = _law(_some(*BROKEN_POSTS), "which parts are broken")
    junk_people: float = _law(_share(0.5), "of the pages of people hold items that are nobody")
    junk_people_forms: tuple[str, ...] = _law(_some(*JUNK_PEOPLE), "which items those are")
    odd_people: float = _law(_share(0.1), "of the items of people are odd")
    odd_people_forms: tuple[str, ...] = _law(_some(*ODD_PEOPLE), "what is odd in them")
    info: str = _law(
        _one("shown", "shown", "shown", *INFO_FORMS), "what the page of basic information shows"
    )
    nameless: float = _law(_share(0.1), "of the profiles have a name of null")
    # long texts
    restricted: float = _law(_share(0.5), "of the long texts are not for guests")
    restrictions: tuple[str, ...] = _law(_some(*RESTRICTIONS), "in which words")
    one_way: float = _law(_share(0.8), "of the long texts are offered by one way only")
    # guests, walls, limits, refusals
    needs_session: bool = _law(_one(False, True), "a visitor session is needed")
    session_requests: int = _law(
        _one(0, 0, 5, 40, 150), "requests that a session lives, 0: for ever"
    )
    posts_wall: int | None = _law(_one(None, None, None, 1, 2, 3), "pages of posts guests see")
    fans_wall: int | None = _law(_one(None, None, None, None, 1, 2), "pages of fans guests see")
    search_wall: int | None = _law(_one(None, None, 0, 1), "pages of a topic guests see")
    private_lists: float = _law(_private, "of the fan lists are walled, those of others are shown")
    private_timelines: float = _law(_private, "of the timelines, in the same way")
    rate_limit: str = _law(_one("", "", "", "100/1", "250/2"), "what an address may ask for")
    limit_words: tuple[str, ...] = _law(_some(*LIMIT_WORDS), "what it gets for more")
    retry_after: bool = _law(_one(False, False, True), "refusals say Retry-After")
    soft_empty: float = _law(_share(0.06), "of the answers look empty, for a time")
    flapping: float = _law(_share(0.03), "of the answers are a wall, for a time")
    refusals: float = _law(_share(0.08), "of the answers are refusals, for a time")
    refusal_words: tuple[str, ...] = _law(_some(*WORDS), "in which words")
    in_a_row: int = _law(_one(1, 2), "how often in a row a request may fail")

    @classmethod
    def drawn(cls, seed: int) -> "Laws":
        drawn: dict[str, Any] = {
            law.name: law.metadata["draw"](Random(f"{seed} {law.name}"))
            for law in fields(cls)
            if law.metadata
        }
        return cls(seed=seed, **drawn)

    def described(self) -> list[str]:
        """A line for each law: its name, what was drawn, what it means."""
        return [
            f"{law.name:<18} {_plain(getattr(self, law.name)):<12} {law.metadata['doc']}"
            for law in fields(self)
            if law.metadata
        ]

    @property
    def rules(self) -> Rules:
        """What guests may see."""
        return Rules(self.needs_session, self.posts_wall, self.fans_wall, self.search_wall)

    def over(self, options: SimulatorOptions) -> SimulatorOptions:
        """The options with those that the laws decide."""
        shares = {"no_content": self.soft_empty, "login_wall": self.flapping}
        for word in self.refusal_words:
            shares[word] = self.refusals / len(self.refusal_words)
        return replace(
            options,
            faults=",".join(f"{name}={share}" for name, share in shares.items() if share),
            max_consecutive=self.in_a_row,
            rate_limit=self.rate_limit,
            soft_share=0.0,
            retry_after=self.retry_after,
            session_requests=self.session_requests if self.needs_session else 0,
            session_s=0.0,
        )


def _plain(drawn: object) -> str:
    if drawn is None or isinstance(drawn, bool):
        return {None: "none", True: "yes", False: "no"}[drawn]
    return (" ".join(drawn) if isinstance(drawn, tuple) else str(drawn)) or "none"

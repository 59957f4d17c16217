"""The words of the program: what passes between the rooms. Frozen, no I/O.

Times are seconds since the epoch (float, UTC) unless a name says otherwise; the site's own
dates are ISO 8601 text with the site's offset, +08:00.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

SCHEMA_VERSION = 1  # of the rows in the tables: bump when a cell changes its meaning


# How a site calls a user, a post or a comment. A number of 64 bits, and then of posts the larger is
# the newer; else a text, and then posts are in no order. No text is all digits, so that what is
# stored as text tells which it is.
Id = int | str
IdType = type[int] | type[str]
TEXT_ID = re.compile(r"(?![0-9]+\Z)[A-Za-z0-9_.:@~+=-]{1,128}")


def read_id(text: str) -> Id:
    """The id that is written so."""
    return int(text) if text.isascii() and text.isdigit() else text


class Verdict(StrEnum):
    """What one answer of the site is. Only the FACTS may be stored as facts (law 4)."""

    OK = "ok"
    EMPTY = "empty"  # nothing on the first page
    END = "end"  # nothing on a later page
    GONE = "gone"  # the user or the post does not exist any more
    RESTRICTED = "restricted"  # the post exists, and this reader may not see it whole
    LOGIN_WALL = "login_wall"
    CAPTCHA = "captcha"
    THROTTLED = "throttled"
    REFUSED = "refused"
    SERVER_TROUBLE = "server_trouble"
    NOT_JSON = "not_json"
    TRUNCATED = "truncated"
    DRIFTED = "drifted"  # JSON, but not the shape we know


FACTS = frozenset({Verdict.OK, Verdict.EMPTY, Verdict.END, Verdict.GONE, Verdict.RESTRICTED})
EMPTY = (Verdict.EMPTY, Verdict.END)  # the facts that a page shows nothing
REFUSALS = frozenset({Verdict.LOGIN_WALL, Verdict.CAPTCHA, Verdict.THROTTLED, Verdict.REFUSED})


class Expect(StrEnum):
    """What the caller of a fetch knows about the page before it is asked for.

    content   its user is known to have something here (fans, posts, a stored name), or the page
              before named this one as the next: an empty answer contradicts what is known
    shown     this very page was shown in this run
    likely    most users have something here: an empty answer is taken as it is, as the caller asks
              elsewhere what it means, and tells where that contradicts it: many of these tell that
              the site has fallen silent
    nothing   all that was announced has been shown and no page named this one: an empty answer is
              what is expected
    unknown   neither
    """

    CONTENT = "content"
    SHOWN = "shown"
    LIKELY = "likely"
    NOTHING = "nothing"
    UNKNOWN = "unknown"


class State(StrEnum):
    """Where an entry of the frontier stands."""

    QUEUED = "queued"
    LEASED = "leased"
    RESTING = "resting"
    DONE = "done"
    GONE = "gone"
    FAILED = "failed"


class Health(StrEnum):
    """What is known of an egress.

    unchecked   not used yet, or back from a rest; may go
    good        its last answer was no refusal; may go
    resting     the site refused it: nothing goes before its rest ends. A rest doubles with each
                refusal in a row; a refusal that arrives during a rest belongs to the burst that
                caused it, and only a longer Retry-After adds to it
    dead        the proxy failed three times in a row, or once and it had not proved itself or less
                than half of its answers came of late, or what came first was of no use while others
                are shown something: nothing goes before its next probe
    probing     one request goes by a dead proxy, and nothing beside it until its outcome is known.
                Another process is told that it is dead, and probes it anew; one that has not proved
                itself is unchecked for the next process

    chosen:  resting -> unchecked; dead -> probing; only when its time has come
    refused: unchecked, good, dead, probing -> resting; the rate is multiplied by pace.fall_factor,
             down to the floor. Who was only too fast rests shortly, who was banned for longer
    failed:  unchecked, good, resting -> the same, or dead; probing -> dead, for twice as long;
             dead -> dead; the direct egress never dies, it rests
    answered: unchecked, good, dead, probing -> good; the rate rises by pace.rise_share of the
             ceiling, carefully near one that was refused. Where there is no ceiling there is no
             rate until refusals in a row tell one. An answer that arrives during a rest was
             sent before it and does not end it
    put to rest (it may not ask for a session yet, or it has not proved itself and nobody knows yet
             whose fault a broken page was): unchecked, good -> resting; probing -> dead; resting,
             dead -> the same, for at least as long
    """

    UNCHECKED = "unchecked"
    GOOD = "good"
    RESTING = "resting"
    DEAD = "dead"
    PROBING = "probing"


DIRECT_LEASE = "direct@"  # how the name of a direct egress begins among leases
LONGEST_REST_S = 3600.0  # no egress waits longer for its turn than this and two of its intervals
LONGEST_LEASE_S = 3600  # of an egress
LONGEST_CLAIM_S = 86_400  # of an entry of a harvest


class EgressState(NamedTuple):
    """What the next holder of an egress must know so as not to break its pace.

    rate: requests per second. next_free_s: nothing may be sent for so many seconds from now; where
    it rests or is dead, until it may be tried. rests, deaths: how many in a row. session: the
    visitor session as fetch writes it, "" for none; age_s: how many seconds ago it was written.
    trusted_for: so many pages with telling words are believed until one is compared with what
    another egress shows.
    """

    rate: float
    next_free_s: float = 0.0
    health: Health = Health.UNCHECKED
    rests: int = 0
    deaths: int = 0
    session: str = ""
    age_s: float = 0.0
    trusted_for: int = 0

    def sound(self) -> "EgressState":
        """The state, its wait cut to what pace and rests allow: a clock may have jumped."""
        longest_s = 2.0 / self.rate if self.rate > 0 else 0.0
        if self.health in (Health.RESTING, Health.DEAD):
            longest_s += LONGEST_REST_S
        return self if self.next_free_s <= longest_s else self._replace(next_free_s=longest_s)

    def clamped(self, name: str, n: int = 1) -> str:
        """Words for the log about a state that is not `sound`: this one, the first of n."""
        others = f", and {n - 1} others with it" if n > 1 else ""
        return (
            f"{name} was to wait {self.next_free_s:.0f} s, as the users' database says, which is "
            f"more than pace and rests allow (did a clock jump?): it goes sooner{others}"
        )


class ShownPage(msgspec.Struct, frozen=True, array_like=True):
    """A later page of a user. nth: which page it is, from 1; at: when the run ended that was shown
    it, seconds since the epoch."""

    uid: Id
    cursor: str
    nth: int
    at: float


class AllOut(NamedTuple):
    """No egress may go: so many rest or are dead. first: the one to be tried first, in so many
    seconds."""

    resting: int
    dead: int
    first: str
    wait_s: float

    def __str__(self) -> str:
        kinds = [f"{n} {what}" for n, what in ((self.resting, "resting"), (self.dead, "dead")) if n]
        return (
            f"no egress may go ({', '.join(kinds)}); the first to be tried again is {self.first}, "
            f"in {self.wait_s:.0f} s"
        )


class LeaseTerm(NamedTuple):
    """What a renewal brings. renewed: False where the leases had ended and all is lost.

    granted: the egresses that are new to the holder; recalled: those that it must hand back;
    contenders: how many processes want egresses. out: set where nobody holds any of those that the
    holder may use, since all of them rest or are dead.
    """

    renewed: bool
    granted: Mapping[str, EgressState]
    recalled: tuple[str, ...]
    contenders: int
    out: AllOut | None = None


class Edge(StrEnum):
    """How users are found: as seeds, as authors of what a topic shows, or as one leads to others.

    fans, follows: the lists of the user. reposts: authors of the originals that the user's posts
    repost. comments: who commented on the user's posts; reposters: who reposted them. mentions: who
    is named in their texts.
    """

    SEED = "seed"
    TOPIC = "topic"
    FANS = "fans"
    FOLLOWS = "follows"
    REPOSTS = "reposts"
    COMMENTS = "comments"
    REPOSTERS = "reposters"
    MENTIONS = "mentions"


WAYS = tuple(edge for edge in Edge if edge not in (Edge.SEED, Edge.TOPIC))  # from user to user


class Kind(StrEnum):
    """What a request asks for; a site's reader chooses its parser by it."""

    PROFILE = "profile"
    INFO = "info"  # the basic information of a user: where, since when
    FANS = "fans"
    FOLLOWS = "follows"
    POSTS = "posts"
    EXTEND = "extend"  # whole text of a long post, three ways
    SHOW = "show"
    DETAIL = "detail"
    COMMENTS = "comments"
    REPOSTS = "reposts"  # who reposted a post
    NAME = "name"  # screen name -> uid
    SEARCH = "search"  # the posts of a topic, or with some words
    SESSION = "session"
    PROXIES = "proxies"  # a list of proxies, which no site reads
    MEDIA = "media"  # a picture or a video, which no site reads either


# lists of people, and what asks for them
PEOPLE_LISTS = {Edge.FANS: Kind.FANS, Edge.FOLLOWS: Kind.FOLLOWS}
# what tells whether the site shows anything of a user
OF_USERS = frozenset({Kind.PROFILE, Kind.FANS, Kind.FOLLOWS, Kind.POSTS})


class Request(msgspec.Struct, frozen=True):
    """One call to make. `cursor` is the site's own token for the page, "" for the first one.

    owners: whose the items of a list under a post may say that they are: that post's, or the one's
    at the head of the chain where it is a repost itself; (): nobody knows.
    """

    kind: Kind
    url: str
    uid: Id = 0
    mid: Id = 0
    cursor: str = ""
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    owners: tuple[Id, ...] = ()


class Media(msgspec.Struct, frozen=True):
    """A picture or a video, as an address of the site names it.

    key: what it is, wherever and in whichever size it lies. expires_at: the address is of no use
    from then on, seconds since the epoch; None: it says nothing of that. is_gone: the address is
    that of a picture which the site shows in place of one that it has no more.
    """

    request: Request
    key: str
    expires_at: float | None = None
    is_gone: bool = False


class Page(msgspec.Struct, frozen=True):
    """One whole answer, undecoded: all that parsing may know (law 1).

    headers: lower-case names; `set-cookie` may stand several times.
    body: decoded from its content encoding. fetched_at: seconds since the epoch.
    egress: the name of the way out it came by, without credentials.
    encoding, encoded: the Content-Encoding header and the body as it stood on the wire; both empty
    where it came as it is.
    """

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    fetched_at: float
    egress: str = "direct"
    encoding: str = ""
    encoded: bytes = b""

    def header(self, name: str) -> str | None:
        """The first header of this lower-case name, or None."""
        return next((value for key, value in self.headers if key == name), None)


_OF_EVERYBODY = (  # what a profile shows: not of all a verified_reason
    *("screen_name", "fans", "follows", "posts", "gender", "avatar"),
    *("description", "verified", "verified_type", "rank"),
)


class User(msgspec.Struct, frozen=True):
    """A user as a profile or a post shows them; of lists and comments only uid, name and fans are
    read. None: not said, or not legible."""

    uid: Id
    screen_name: str | None
    fans: int | None
    follows: int | None = None
    posts: int | None = None  # announced number of posts
    gender: str | None = None  # "m" or "f"
    description: str | None = None
    verified: bool | None = None
    verified_type: int | None = None
    verified_reason: str | None = None
    rank: int | None = None
    avatar: str | None = None

    @property
    def is_told(self) -> bool:
        """Whether all is there that a profile shows of everybody."""
        return not self.lacks

    @property
    def lacks(self) -> tuple[str, ...]:
        """What is not there of that, by name."""
        return tuple(name for name in _OF_EVERYBODY if getattr(self, name) is None)


class BasicInfo(msgspec.Struct, frozen=True):
    """The page of basic information of a user. None: not said, or not legible.

    registered: ISO 8601, a day of the site's clock; birthday: as the site writes it, which may be a
    sign of the zodiac; gender: "m" or "f". more: what else the page says, by the site's names; of
    several schools or companies one a line.
    """

    uid: Id
    province: str | None = None
    city: str | None = None
    registered: str | None = None
    birthday: str | None = None
    gender: str | None = None
    more: dict[str, str] = {}


# why an item was left out that is of a user who could not be read
ILLEGIBLE = ("no id", "odd user")


class FanPage(msgspec.Struct, frozen=True):
    """One page of a fans or follows list: `users` in the site's order, repeats kept. Or of a topic:
    who wrote the posts on it, each once; its owner is 0.

    uncounted: uids of those whose number of fans it does not tell legibly (a profile may tell).
    skipped: how many items were left out, by reason ("no user", "no item", and those of
    ILLEGIBLE).
    is_next_named: whether the page itself names the next one, else next_cursor is our guess.
    """

    owner: Id
    users: tuple[User, ...]
    next_cursor: str | None  # None: there is no next page
    recommended: int = 0  # users in recommendation blocks, not of this list
    uncounted: tuple[Id, ...] = ()
    skipped: dict[str, int] = {}
    is_next_named: bool = False


class PageInfo(msgspec.Struct, frozen=True):
    """What a post shows beside its text: a video, a link, a topic, an article, a place.

    type: one of these five, or "other"; site_type: the site's own word for it. url: the page it
    leads to; object_id: the site's id of it, such as `1034:…` of a video. content1, content2: the
    lines under the title. stream: the best address of a video, which the site lets expire.
    duration_s: of a video; plays: how often it was played.
    """

    type: str
    site_type: str = ""
    title: str = ""
    url: str = ""
    object_id: str = ""
    content1: str = ""
    content2: str = ""
    picture: str = ""
    stream: str = ""
    duration_s: float | None = None
    plays: int | None = None


class Original(msgspec.Struct, frozen=True):
    """The reposted post, packed into the row of the retweet."""

    mid: Id
    uid: Id | None  # None: deleted or hidden
    screen_name: str | None
    text: str
    text_complete: bool
    created_at: str | None
    available: bool  # False: deleted or hidden, the text is the site's notice
    reposts: int | None = None
    comments: int | None = None
    likes: int | None = None
    page_info: PageInfo | None = None


class Post(msgspec.Struct, frozen=True):
    """One post of the owner of a timeline.

    created_at: ISO 8601 with offset; created_at_precision: "second", "minute", "hour", "day",
    or "mid" where the second was read from the post's id. Counts as numbers (`100万+` is 1000000).
    topics, mentions: what the text links to, `#…#` without its signs (a super topic as the site
    writes it, mostly with 超话 at its end) and screen names, each once; of a cut text what stands
    in its beginning. videos: those among the pictures, of live photos and of a post with several,
    None where there are none; the one of a post with a single video is in page_info.
    """

    mid: Id
    uid: Id
    created_at: str
    created_at_precision: str
    text: str
    text_complete: bool
    source: str = ""
    region: str | None = None
    reposts: int | None = None
    comments: int | None = None
    likes: int | None = None
    bid: str = ""
    pics: tuple[str, ...] = ()
    pic_num: int = 0
    videos: tuple[str, ...] | None = None
    is_pinned: bool = False
    repost_of: Id | None = None
    original: Original | None = None
    edit_count: int = 0
    edited_at: str | None = None
    visible: int = 0  # 0 public, 1 self, 6 friends, 10 fans
    topics: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    page_info: PageInfo | None = None


class NamedUser(msgspec.Struct, frozen=True):
    """A screen name resolved, or a user of whom a page tells no more."""

    uid: Id


class Seed(NamedTuple):
    """Where a walk begins, as somebody names it: a user by id, or by a screen name that the site
    resolves, or the words of a topic. where: the place it was read from, for errors."""

    uid: Id | None
    screen_name: str | None
    where: str
    topic: str | None = None


class Unreadable(msgspec.Struct, frozen=True):
    """A post of which a required part could not be read. path: what is odd in it, below the page;
    raw: its card's JSON as received; mid: where that at least is legible."""

    path: str
    raw: bytes
    mid: Id | None = None


class PostPage(msgspec.Struct, frozen=True):
    """One page of a timeline: `posts` in the site's order, pinned ones first.

    skipped: how many cards were no posts, by reason. unreadable: posts that could not be read.
    authors: who wrote the originals of the retweets on it, each once; illegible: of how many that
    cannot be read. mentions: the screen names linked in the owner's own texts as the page shows
    them, newest post first, each once. profile: the owner, as far as the posts show them.
    """

    owner: Id
    posts: tuple[Post, ...]
    next_cursor: str | None  # None: the site names no next page
    foreign: int = 0  # cards by other users (liked posts), skipped
    authors: tuple[User | NamedUser, ...] = ()
    mentions: tuple[str, ...] = ()
    skipped: dict[str, int] = {}
    unreadable: tuple[Unreadable, ...] = ()
    profile: User | None = None
    illegible: int = 0


class FullText(msgspec.Struct, frozen=True):
    """The whole text of one long post, as a reader sees it; topics, mentions: as in Post. is_named:
    whether the answer itself says of which post it is; post: all of it, with its whole text, where
    the answer shows it legibly."""

    mid: Id
    text: str
    topics: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    is_named: bool = True
    post: Post | None = None


class Echo(msgspec.Struct, frozen=True):
    """What somebody made of a post: a comment on it, or a repost, which is a post of its author and
    bears its mid. uid, screen_name: who wrote it; created_at: ISO 8601 with offset; replies: how
    many answers, or comments, it announces; reposts: how often it was passed on itself; region,
    text_complete: as in Post."""

    id: Id
    uid: Id
    screen_name: str | None
    text: str
    created_at: str
    likes: int | None = None
    replies: int | None = None
    region: str | None = None
    reposts: int | None = None
    text_complete: bool = True


class EchoPage(msgspec.Struct, frozen=True):
    """A page of a list under a post: who stands on it, and what they wrote. uncounted, skipped: as
    in FanPage. unreadable: how many echoes could not be read, or are of another list, and are left
    out of `echoes`; others: under which other posts the latter say that they stand, None: there are
    none."""

    mid: Id
    users: tuple[User, ...]
    next_cursor: str | None
    uncounted: tuple[Id, ...] = ()
    echoes: tuple[Echo, ...] = ()
    skipped: dict[str, int] = {}
    unreadable: int = 0
    others: tuple[Id, ...] | None = None


class EchoList(NamedTuple):
    """A list under a post of what others made of it.

    name: of its table, of what a post announces of it (a field of `Post`), of the setting that asks
    for it, and of its counters. one: what a row is, and the family of its cells. kind: of a request
    for it. edge: by which its authors are found. are_posts: whether each is a post of its author.
    """

    name: str
    one: str
    kind: Kind
    edge: Edge
    are_posts: bool

    def announced(self, post: Post) -> int | None:
        """How long it is, by the post."""
        n: int | None = getattr(post, self.name)
        return n

    @staticmethod
    def owners(post: Post) -> tuple[Id, ...]:
        """What its items may name as the post that they are under (`Request.owners`)."""
        return (post.mid,) if post.repost_of is None else (post.mid, post.repost_of)


COMMENTS = EchoList("comments", "comment", Kind.COMMENTS, Edge.COMMENTS, are_posts=False)
REPOSTS = EchoList("reposts", "repost", Kind.REPOSTS, Edge.REPOSTERS, are_posts=True)
ECHO_LISTS = (COMMENTS, REPOSTS)
# what a visit asks for where a setting in `posts` says so, and that setting
OPTIONAL = {**{one.kind: one.name for one in ECHO_LISTS}, Kind.INFO: "info_days"}


Record = User | BasicInfo | FanPage | PostPage | FullText | EchoPage | NamedUser


class Reading(msgspec.Struct, frozen=True):
    """One answer judged, and parsed where it was OK. record: set if and only if it was, but for a
    PostPage or FanPage of which most posts, or users, are DRIFTED, and some can be read.

    why: for DRIFTED the path that changed (`$.data.cards[3].mblog.text`), for refusals the signal,
    for EMPTY and END the sign, one of few.
    ambiguous: ask once more (law 4). EMPTY, END: the no-content body, which also stands for soft
    throttling; OK: nothing on the page is of whom, or what, was asked for: it may be another's.
    Where a fetch returns it with LOGIN_WALL: nobody else has confirmed that wall.
    is_of_session: a refusal of the session, so that a new one may help. is_ban: a refusal that
    says more than that this request came too early. is_cut: RESTRICTED, as what is shown is cut.
    """

    verdict: Verdict
    record: Record | None = None
    why: str = ""
    ambiguous: bool = False
    is_of_session: bool = False
    is_ban: bool = False
    is_cut: bool = False


class Answer(NamedTuple):
    """What came of sending a request once, for who keeps it.

    page, reading: the answer of the site, and what it was read as; both None where no whole answer
    came and the caller was told so. told: what the caller of the fetcher was told, None where the
    request was sent again. is_talking: whether an emptiness was evidence then (`Fetcher`).
    is_witness: it was asked for to know whether the site shows anything.
    """

    request: Request
    page: Page | None
    reading: Reading | None
    told: Reading | None
    is_talking: bool
    is_witness: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """What became of one user of the map job: one in, one out, one counter up (law 6).

    status: stored, unchanged, existing, partial, gone, failed; empty: the site shows nothing of the
    user; unreached: no answer of the site came, the user is left as it was.
    is_evidence: whether a failure says something about the site: a retry of what failed before does
    not, nor does a doubt. is_silent: nothing was concluded, as the site showed nothing to anybody;
    is_bare: as a first visit was shown none of the posts that the profile announces. why: of what
    failed, or was not reached.
    """

    uid: Id
    status: str
    announced: int | None = None
    stored: int = 0  # posts of this user in the table, absolute
    new: int = 0  # of them new in this visit
    pages: int = 0
    completed: int = 0  # long texts fetched whole in this visit
    edited: int = 0  # stored posts that were found edited in this visit
    gone: int = 0  # stored posts that this visit found gone
    cut: int = 0  # long texts still cut
    stopped: str = ""  # why paging stopped
    sure: bool = True  # False: the end contradicts the announced count
    is_evidence: bool = True
    is_silent: bool = False
    is_bare: bool = False
    why: str = ""

"""What is in the world, in a file that a test can read."""

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec

from weibo_crawler.errors import BadConfig
from weibo_crawler.outputs import keep_databases
from weibo_crawler.simulator.attached import KINDS, attached_type
from weibo_crawler.simulator.graph import POPULAR
from weibo_crawler.simulator.lawful_world import LawfulWorld
from weibo_crawler.simulator.laws import BROKEN_POSTS
from weibo_crawler.simulator.proxies import Proxy
from weibo_crawler.simulator.timeline import Post
from weibo_crawler.simulator.wire import SITE_UTC_OFFSET_S
from weibo_crawler.simulator.world import PAGE_OF_POSTS, World

_SITE_ZONE = timezone(timedelta(seconds=SITE_UTC_OFFSET_S))


class TrueUser(msgspec.Struct, frozen=True):
    """fans: as announced. depth: of the walk; None and kept false: a true walk leaves it out. gone:
    how the site says that there is no such user, "" for one that exists. is_short: whether a guest
    is shown fewer fans than are announced. are_fans_private, are_posts_private: whether guests are
    refused the fan list, and the timeline, of this user alone. posts: how many are announced.
    province, city, registered: as the basic information tells them legibly, "" where it does
    not."""

    uid: int
    screen_name: str
    fans: int
    depth: int | None
    kept: bool
    gone: str = ""
    is_short: bool = False
    are_fans_private: bool = False
    are_posts_private: bool = False
    posts: int = 0
    province: str = ""
    city: str = ""
    registered: str = ""


class TruePost(msgspec.Struct, frozen=True):
    """A post as a reader sees it, the whole text. created_at: ISO 8601, +08:00.

    page: on which page of the timeline it first stands, from 1, which tells what the guests of a
    year can see. topics, mentions: what the whole text links to; attached: what stands beside it
    ("video", "link", "topic", "article", "place", "other"), None for nothing. repost_of is the mid
    of the original, also of one that is gone. Under laws only what guests are shown is
    listed; form: how its card is bent; is_readable: whether a reader can tell what it says;
    is_restricted: whether no way leads to its whole text.
    """

    mid: str
    text: str
    created_at: str
    is_pinned: bool
    repost_of: str | None
    reposts: int
    comments: int
    likes: int
    source: str
    region: str | None
    is_long: bool
    page: int
    edits: int
    topics: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    attached: str | None = None
    form: str = ""
    is_readable: bool = True
    is_restricted: bool = False


class TrueProxy(msgspec.Struct, frozen=True):
    """health: a name of proxies.HEALTH. late_s: how long it waits before each answer."""

    health: str
    scheme: str
    late_s: float


class Truth(msgspec.Struct, frozen=True):
    """The whole world under a walk from `seeds` and `topics`. Keys of fan_lists and posts are uids,
    those of topics words, with who wrote what a guest is shown of it.

    fan_lists: what paging can reach, in the list's order. posts: those that stand; deleted: the
    mids of those that do not. proxies: by the address the site sees.
    """

    seed: int
    epoch: int
    seeds: tuple[int, ...]
    topics: dict[str, list[int]]
    min_fans: int
    max_depth: int | None
    users: list[TrueUser]
    fan_lists: dict[int, list[int]]
    posts: dict[int, list[TruePost]]
    deleted: dict[int, list[str]]
    proxies: dict[str, TrueProxy]

    @classmethod
    def of(
        cls,
        world: World,
        seeds: Iterable[int] = (),
        min_fans: int = POPULAR,
        max_depth: int | None = None,
        proxies: Iterable[Proxy] = (),
        topics: Iterable[str] = (),
        topic_pages: int = 1,
    ) -> "Truth":
        """Without seeds: the truth of a walk from the world's own."""
        start, topics = tuple(seeds) or world.seeds, tuple(topics)
        kept = world.kept(start, min_fans, max_depth, topics, topic_pages)
        uids = [world.uid(index) for index in range(world.size)]
        return cls(
            seed=world.seed,
            epoch=world.knobs.epoch,
            seeds=start,
            topics={
                words: [uids[writer] for writer in world.writers(words, topic_pages)]
                for words in topics
            },
            min_fans=min_fans,
            max_depth=max_depth,
            users=[_user(world, index, kept.get(uid)) for index, uid in enumerate(uids)],
            fan_lists={
                uid: [uids[fan] for fan in world.fans_shown(index)]
                for index, uid in enumerate(uids)
            },
            posts={uid: _posts(world, index) for index, uid in enumerate(uids)},
            deleted={
                uid: [str(mid) for mid in world.calendar(index).deleted]
                for index, uid in enumerate(uids)
            },
            proxies={
                proxy.address: TrueProxy(proxy.health, proxy.scheme, proxy.late_s)
                for proxy in proxies
            },
        )

    def write(self, file: Path) -> None:
        """Write it as JSON, as `write_whole` does."""
        write_whole(file, msgspec.json.encode(self), "--truth-out")


def write_whole(file: Path, content: bytes, option: str) -> None:
    """Write a file that is there whole or not at all. Raises BadConfig that names the option, and
    BadUsage where the file is a database."""
    keep_databases(file)
    half = file.with_name(file.name + ".part")
    try:
        half.write_bytes(content)
        half.replace(file)
    except OSError as error:
        raise BadConfig(f"{option}: cannot write {file}: {error.strerror}") from None


def _user(world: World, index: int, depth: int | None) -> TrueUser:
    lawful = world if isinstance(world, LawfulWorld) else None
    return TrueUser(
        uid=world.uid(index),
        screen_name=world.person(index).screen_name,
        fans=world.fans_announced(index),
        depth=depth,
        kept=depth is not None,
        gone=lawful.gone(index) if lawful else "",
        is_short=len(world.fans_shown(index)) < world.fans_announced(index),
        are_fans_private=lawful is not None and lawful.are_fans_private(index),
        are_posts_private=lawful is not None and lawful.are_posts_private(index),
        posts=len(world.calendar(index).mids),
        **_info(world, index),
    )


def _info(world: World, index: int) -> dict[str, str]:
    """What the page of basic information shows legibly."""
    law = world.laws.info if isinstance(world, LawfulWorld) else "shown"
    if law not in ("shown", "odd"):
        return {}
    person = world.person(index)
    registered = {"registered": person.registered} if law == "shown" else {}
    return {"province": person.region, "city": person.city} | registered


def _posts(world: World, index: int) -> list[TruePost]:
    if isinstance(world, LawfulWorld):
        return [_lawful(world, index, mid, *place) for mid, place in world.places(index).items()]
    place = {mid: n // PAGE_OF_POSTS + 1 for n, mid in enumerate(world.order(index))}
    pinned = world.calendar(index).pinned
    place |= dict.fromkeys(pinned, 1)
    return [
        _post(post, pinned=post.mid in pinned, page=place[post.mid]) for post in world.posts(index)
    ]


def _lawful(world: LawfulWorld, index: int, mid: int, page: int, form: str) -> TruePost:
    post = world.written(mid)
    true = _post(post, pinned=mid in world.calendar(index).pinned, page=page)
    return msgspec.structs.replace(
        true,
        form=form,
        is_readable=form not in BROKEN_POSTS,
        is_restricted=post.is_long and world.is_restricted(mid),
    )


def _post(post: Post, *, pinned: bool, page: int) -> TruePost:
    return TruePost(
        mid=str(post.mid),
        text=post.writing.text,
        created_at=datetime.fromtimestamp(post.second, _SITE_ZONE).isoformat(),
        is_pinned=pinned,
        repost_of=None if post.repost_of is None else str(post.repost_of),
        reposts=post.reposts,
        comments=post.comments,
        likes=post.likes,
        source=post.source,
        region=post.region or None,
        is_long=post.is_long,
        page=page,
        edits=post.edits,
        topics=post.writing.topics,
        mentions=post.writing.mentions,
        attached=KINDS.get(attached_type(post) or ""),
    )

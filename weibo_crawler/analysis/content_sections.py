"""The part of the report that speaks of the posts: hours, places, devices, the most liked ones, and
who reposts whom."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from weibo_crawler.analysis import plots
from weibo_crawler.analysis.contents import Frequent
from weibo_crawler.analysis.figures import Figures
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.analysis.page import Link, hint, section, table
from weibo_crawler.analysis.plots import Bar
from weibo_crawler.records import Id
from weibo_crawler.store import Table
from weibo_crawler.store.rows.keys import parse_post_key

NO_POSTS = "No posts yet: run weibo-crawler posts."
_WORDS = 12  # regions and devices that are shown each by itself
_LONGEST_WORD, _LONGEST_TEXT = 24, 60  # characters


class Origin(NamedTuple):
    """Where the figures come from. name: of stores, site and settings, for people. posts: the
    table, for the texts of the most liked ones. address: of a post, "" for none."""

    name: str = ""
    posts: Table | None = None
    address: Callable[[Id], str] = lambda _: ""


def content_sections(figures: Figures, origin: Origin) -> Iterator[str]:
    """HTML, a section each."""
    regions, devices = figures.contents.regions, figures.contents.devices
    yield _hours(figures)
    yield _words("Regions", "from where they come", regions, figures)
    yield _words("Devices", "what they were written with", devices, figures)
    yield _liked(figures, origin)
    yield _reposts(figures)


def _hours(figures: Figures) -> str:
    title, hours = "Posts by hour", figures.contents.hours
    if not any(hours):
        return section(title, "At which hour posts were written.", hint(NO_POSTS))
    explained = f"{_of_posts(sum(hours), figures)} have a known hour, here of the site's clock."
    data = [Bar(f"{hour:02d}", n) for hour, n in enumerate(hours)]
    return section(title, explained, plots.bars(title, data, height=260))


def _of_posts(n: int, figures: Figures) -> str:
    return f"{n:,} of {plural(figures.contents.posts, 'post')}"


def _words(title: str, what: str, words: Frequent[str], figures: Figures) -> str:
    """The most frequent ones as bars; the others together."""
    if not figures.contents.posts:
        return section(title, f"Of posts: {what}.", hint(NO_POSTS))
    explained = f"{_of_posts(words.total, figures)} say {what}.{_too_low(words)}"
    top = words.top(_WORDS)
    if not top:
        return section(title, explained)
    data = [Bar(_cut(word, _LONGEST_WORD), n) for word, n in top]
    if rest := words.total - sum(n for _, n in top):
        data.append(Bar("all others", rest, "--none"))
    return section(title, explained, plots.rows(title, data))


def _too_low(counted: Frequent[Any]) -> str:
    """What is to be known of figures for which there were too many things to count each."""
    if not counted.too_low:
        return ""
    return (
        f" There are so many different ones that figures may be up to {counted.too_low:,} too low."
    )


def _cut(text: str, most: int) -> str:
    return text[:most] + ("…" if len(text) > most else "")


def _liked(figures: Figures, origin: Origin) -> str:
    title = "Most liked posts"
    explained = "As of the last visit of each. A link leads to the site's page of the post."
    if not figures.contents.liked or origin.posts is None:
        return section(title, explained, hint(NO_POSTS))
    rows = []
    for likes, key in figures.contents.liked:
        uid, mid = parse_post_key(key)
        cells = origin.posts.row(key, ["post:text", "post:created_at"])
        text = _cut(" ".join(cells.get("post:text", "").split()), _LONGEST_TEXT)
        day = cells.get("post:created_at", "")[:10]
        post = Link(text or str(mid), origin.address(mid))
        rows.append((post, _person(figures, uid), day, f"{likes:,}"))
    head = ("post", "user", "day", "likes")
    return section(title, explained, table(head, rows, (False, False, True, True), is_stacked=True))


def _person(figures: Figures, uid: Id) -> str | Link:
    """The name of a user of the crawl, which leads to the user's page; the id if none is known."""
    row = figures.people.get(uid)
    return str(uid) if row is None else Link(row.screen_name or str(uid), row.url)


def _reposts(figures: Figures) -> str:
    title, contents = "Who reposts whom", figures.contents
    if not contents.posts:
        return section(title, "Of posts that are reposts.", hint(NO_POSTS))
    explained = (
        f"{_of_posts(contents.reposts, figures)} are reposts: {contents.own:,} of them of an own "
        f"post, {contents.unknown:,} of a post whose author is not told, because it is deleted or "
        f"hidden, and {contents.pairs.total:,} of somebody else's."
    )
    if not figures.pairs:
        return section(title, explained)
    explained += (
        " The pairs with the most of them: on the left who reposts, on the right whose post it is."
        f"{_too_low(contents.pairs)} A number is the id of somebody whose name no list has shown."
    )
    names = _names({uid for pair, _ in figures.pairs for uid in pair}, figures)
    links = [plots.Link(names[pair.by], names[pair.of], n) for pair, n in figures.pairs]
    rows = (
        (_person(figures, pair.by), _person(figures, pair.of), f"{n:,}")
        for pair, n in figures.pairs
    )
    head = ("who reposts", "whose posts", "reposts")
    return section(
        title, explained, plots.network(title, links), table(head, rows, (False, False, True))
    )


def _names(uids: set[Id], figures: Figures) -> dict[Id, str]:
    """A name for each, no two the same: two may have had one name at different times."""
    people = {uid: figures.people.get(uid) for uid in uids}
    names = {uid: (row and row.screen_name) or str(uid) for uid, row in people.items()}
    often = Counter(names.values())
    return {uid: name if often[name] == 1 else f"{name} {uid}" for uid, name in names.items()}

"""Worlds whose rules are drawn: the truth tells what a naive reader finds on the pages."""

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from tests.simulator import visitors
from tests.simulator.conftest import SMALL
from weibo_crawler.errors import BadUsage
from weibo_crawler.simulator import bends, laws
from weibo_crawler.simulator.lawful_world import LawfulWorld
from weibo_crawler.simulator.laws import BROKEN_POSTS, Laws
from weibo_crawler.simulator.limits import Limits, Rate
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.run import serve, world_of
from weibo_crawler.simulator.site import Weibo
from weibo_crawler.simulator.truth import TruePost, Truth
from weibo_crawler.simulator.wire import full_date, spelled_date

SEEDS = range(40)
WORLD = SimulatorOptions(users=60, mean_posts=8.0)


class Site:
    """The site of one seed, without what passes: faults, limits, sessions."""

    def __init__(self, seed: int) -> None:
        drawn = Laws.drawn(seed)
        self.laws = replace(
            drawn, soft_empty=0.0, flapping=0.0, refusals=0.0, rate_limit="", needs_session=False
        )
        self.world = LawfulWorld(world_of(replace(WORLD, seed=seed)), self.laws)
        self.weibo = Weibo(self.world, replace(WORLD, laws=seed))
        self.truth = Truth.of(self.world)

    def ask(self, address: str) -> Any:
        """The JSON of an answer, None where there is none."""
        body = visitors.visit(self.weibo, address).answer.body
        return json.loads(body) if body.startswith(b"{") else None

    def cards(self, address: str) -> tuple[list[Any], dict[str, Any]]:
        """The cards of a page and what it says of itself; none where it is no page."""
        page = self.ask(address)
        data = page["data"] if page["ok"] == 1 else {}
        return data.get("cards", []), data.get("cardlistInfo", {})

    def fans(self, uid: int) -> set[int]:
        """Who stands on a fan list with an id, as far as a guest sees: until a page has no list."""
        found: set[int] = set()
        for number in range(1, 300):
            cards, info = self.cards(visitors.fans(uid, number))
            block = [c for c in cards if str(c["itemid"]) == f"2310510033_1_ _{uid}"]
            if not block:
                break
            rows = [row for row in block[0]["card_group"] if isinstance(row, dict)]
            users = [row["user"] for row in rows if isinstance(row["user"], dict)]
            found |= {user["id"] for user in users if "id" in user}
            if str(info.get("since_id", info.get("page"))) == str(number):
                break
        return found

    def profile(self, uid: int) -> dict[str, Any] | None:
        page = self.ask(visitors.profile(uid))
        user: dict[str, Any] | None = page["data"].get("userInfo") if page["ok"] == 1 else None
        return user

    def timeline(self, uid: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """The owner's mblogs with the number of their page, following the tokens."""
        cursor, asked = "", set[str]()
        while cursor not in asked:
            asked.add(cursor)
            cards, info = self.cards(visitors.posts(uid, cursor))
            if cards and isinstance(cards[0], dict) and cards[0].get("card_type") == 58:
                return
            for card in cards:
                mblog = card.get("mblog") if isinstance(card, dict) else None
                if mblog is not None and mblog["user"]["id"] == uid:
                    yield len(asked), mblog
            tokens = [f"{name}={info[name]}" for name in ("since_id", "page") if info.get(name)]
            cursor = tokens[0] if tokens else cursor

    def whole_text(self, mid: str) -> str | None:
        """The HTML of a long text by whatever way offers it."""
        for path in ("extend", "show"):
            data = (self.ask(f"/statuses/{path}?id={mid}") or {}).get("data") or {}
            found = data if path == "extend" else data.get("longText", {})
            if found.get("longTextContent"):
                return str(found["longTextContent"])
        body = visitors.visit(self.weibo, f"/detail/{mid}").answer.body.decode()
        found = re.search(r'"text": (".*"),?\n', body)
        return None if found is None else str(json.loads(found[1]))


@pytest.fixture(scope="module", params=SEEDS)
def site(request: pytest.FixtureRequest) -> Site:
    return Site(request.param)


def _number(text: Any) -> int:
    unit = {"万": 10_000, "亿": 100_000_000}.get(str(text)[-1])
    return round(float(str(text)[:-1]) * unit) if unit else int(text)


def test_the_walk_that_the_pages_show(site: Site) -> None:
    """Breadth-first over the fan lists as they are served, with the fans that profiles announce:
    the users and depths of the truth."""
    depths = dict.fromkeys(site.world.seeds, 0)
    queue = deque(depths)
    while queue:
        for fan in site.fans(owner := queue.popleft()):
            profile = None if fan in depths else site.profile(fan)
            announced = profile and _number(profile["followers_count"])
            gone = site.world.gone(site.world.index(fan) or 0)
            if fan not in depths and (gone or (announced or 0) >= 10):
                if gone and site.world.fans_announced(site.world.index(fan) or 0) < 10:
                    continue  # told by the list alone
                depths[fan] = depths[owner] + 1
                queue.append(fan)
    assert depths == {user.uid: user.depth for user in site.truth.users if user.kept}


def test_the_posts_that_the_pages_show(site: Site) -> None:
    """Each true post is on its page, all of those that can be read with what they say; and no page
    shows another."""
    for uid, true in site.truth.posts.items():
        shown: dict[str, tuple[int, dict[str, Any]]] = {}
        illegible = 0
        for page, mblog in site.timeline(uid):
            if isinstance(mblog["mid"], str):
                shown.setdefault(mblog["mid"], (page, mblog))
            else:
                illegible += 1
        assert illegible == sum(post.form == "mid_list" for post in true)
        assert shown.keys() == {post.mid for post in true if post.form != "mid_list"}
        for post in true:
            if post.form != "mid_list":
                _agrees(post, *shown[post.mid])


def _agrees(post: TruePost, page: int, mblog: dict[str, Any]) -> None:
    assert page == post.page
    assert post.is_readable == (post.form not in BROKEN_POSTS)
    if post.is_readable:
        assert isinstance(mblog["text"], str)
        assert bool(mblog["isLongText"]) == post.is_long


def test_long_texts(site: Site) -> None:
    """Those that are not restricted are offered by a way at least, the others by none."""
    long = [post for posts in site.truth.posts.values() for post in posts if post.is_long][:40]
    for post in long:
        assert (site.whole_text(post.mid) is None) == post.is_restricted


def test_who_is_gone(site: Site) -> None:
    """Those of the truth, and nobody else: by 20003, or by the no-content body everywhere."""
    for user in site.truth.users:
        said = site.ask(visitors.profile(user.uid))
        assert (said["ok"] == 0) == bool(user.gone)
        assert (said.get("errno") == "20003") == (user.gone == "20003")


def test_pages_are_mostly_legible(site: Site) -> None:
    """A page on which most posts are broken, or a fan list of which most items are, would be a
    page of an unknown shape, and no law asks for that."""
    for index in range(site.world.size):
        for sheet in site.world.post_sheets(index):
            posts = [place for place in sheet if place.thing is not None]
            assert 3 * sum(place.form in BROKEN_POSTS for place in posts) <= len(posts)
        for sheet in site.world.fan_sheets(index):
            people = [place for place in sheet if place.thing is not None]
            assert 5 * sum(bool(place.form) for place in people) <= len(people)


def test_a_seed_is_a_world() -> None:
    """The same seed draws the same laws, each law takes several values over the seeds, and each is
    told in a line."""
    assert Laws.drawn(3) == Laws.drawn(3)
    for law in fields(Laws):
        if law.metadata:
            assert len({getattr(Laws.drawn(seed), law.name) for seed in SEEDS}) > 1, law.name
            assert sum(line.startswith(f"{law.name} ") for line in Laws.drawn(3).described()) == 1


def test_every_form_is_served() -> None:
    """Each name of a form bends something."""
    mblog = {"text": "t", "user": {"screen_name": "n"}, "retweeted_status": {"user": {}}}
    counts = dict.fromkeys(("reposts_count", "comments_count", "attitudes_count"), 1)
    row = {"user": {"id": 1, "screen_name": "n", "followers_count": 5}, "desc2": "5"}
    for form in (*laws.ODD_POSTS, *laws.BROKEN_POSTS):
        whole = mblog | counts
        if form.startswith("retweeted"):
            del whole["retweeted_status"]
        assert json.dumps(bends.bent_post(whole, form)) != json.dumps(whole)
    for form in laws.ODD_PEOPLE:
        assert bends.bent_person(row, form, 5) != row
    for form in laws.JUNK_PEOPLE:
        assert "id" not in str(bends.junk_person({"user": None}, form))
    for form in set(laws.JUNK_CARDS) - {"people", "liked"}:
        card = bends.junk_card(form)
        assert not (isinstance(card, dict) and card.get("mblog"))


@pytest.mark.parametrize(
    ("age_s", "said"),
    [
        (5 * 60, {"5分钟前"}),
        (5 * 3600, {"5小时前", "2026-06-25 07:12", "06月25日 07:12", "06-25"}),
        (27 * 3600, {"昨天 09:12", "2026-06-24 09:12", "06月24日 09:12", "06-24"}),
        (50 * 3600, {"前天 10:12", "2026-06-23 10:12", "06月23日 10:12", "06-23"}),
        (97 * 3600, {"4天前", "2026-06-21 11:12", "06月21日 11:12", "06-21"}),
        (200 * 86_400, {"2025-12-07 12:12"}),
    ],
)
def test_dates_in_all_forms(age_s: int, said: set[str]) -> None:
    """Each form that fits the age of a post."""
    now = 1_782_360_720  # 2026-06-25 12:12 on the site's clock
    forms = {spelled_date(now - age_s, now + 0.5, pick) for pick in range(60)}
    assert forms - {full_date(now - age_s)} == said


def test_describe(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints the laws and ends; without laws it is a mistake."""
    serve(replace(SMALL, laws=7, describe=True))
    assert capsys.readouterr().out.splitlines() == Laws.drawn(7).described()
    with pytest.raises(BadUsage, match="--laws"):
        replace(SMALL, describe=True)


def test_the_truth_of_a_lawful_site_is_written(tmp_path: Path) -> None:
    """What guests are not shown is not in it."""
    site = Site(next(seed for seed in SEEDS if Laws.drawn(seed).posts_wall == 1))
    site.truth.write(tmp_path / "truth.json")
    data = json.loads((tmp_path / "truth.json").read_text("utf-8"))
    assert {post["page"] for posts in data["posts"].values() for post in posts} == {1}
    assert all(user["is_short"] in (True, False) for user in data["users"])


def test_the_words_of_a_limit() -> None:
    """Who asks for more than the limit gets the words drawn, however often, and is never banned."""
    words = ("html_busy", "refused_403")
    limits = Limits(Rate(1, 1.0), seed=1, ban_s=1.0, soft=0.0, words=words)
    refusals = [limits.refuse("127.0.0.1", 0.0) for _ in range(30)]
    assert refusals[0] is None
    assert {refusal.label for refusal in refusals if refusal} == set(words)
    assert limits.refuse("127.0.0.1", 1.1) is None

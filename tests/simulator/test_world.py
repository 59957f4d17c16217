"""The world: what follows from a seed number, and what always holds."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.simulator.ways import kept
from weibo_crawler.errors import BadUsage
from weibo_crawler.simulator import people, timeline, wire
from weibo_crawler.simulator.world import World, rounded

EPOCH = 1_793_462_400
SEEDS = st.integers(0, 2**62)
A_FEW = examples(15)


def make(seed: int = 1, users: int = 400, **knobs: float) -> World:
    return World.make(seed, users, epoch=EPOCH, **knobs)


def everything(world: World, order: range) -> list[object]:
    made = {
        index: (list(world.graph.fans(index)), world.person(index), world.posts(index))
        for index in order
    }
    return [made[index] for index in sorted(made)]


@A_FEW
@given(SEEDS)
def test_a_seed_number_is_a_world_in_any_order(seed: int) -> None:
    """Two worlds of one seed number are equal, whatever is asked for first."""
    users = 40
    forward = everything(make(seed, users), range(users))
    assert forward == everything(make(seed, users), range(users - 1, -1, -1))
    assert forward != everything(make(seed + 1, users), range(users))


@A_FEW
@given(SEEDS, st.integers(30, 600))
def test_fan_lists(seed: int, users: int) -> None:
    """A fan list is as long as the degree, has no repeats and not its owner; follows mirror it."""
    graph = make(seed, users).graph
    pairs = set()
    for index in range(users):
        fans = list(graph.fans(index))
        assert len(fans) == len(set(fans)) == graph.degree(index)
        assert index not in fans
        pairs |= {(fan, index) for fan in fans}
    assert pairs == {(fan, owner) for fan in range(users) for owner in graph.follows(fan)}


@A_FEW
@given(SEEDS, st.integers(120, 600))
def test_who_can_be_reached(seed: int, users: int) -> None:
    """From the seeds, over kept users' fan lists, exactly the popular users off the islands."""
    world = make(seed, users)
    popular = {
        world.uid(index) for index in range(world.graph.main) if world.fans_announced(index) >= 10
    }
    assert set(world.kept(world.seeds, 10)) == popular
    island = [index for index in range(world.graph.main, users) if world.graph.degree(index) >= 10]
    assert island, "an island without popular users proves nothing"


@A_FEW
@given(SEEDS, st.integers(0, 40), st.none() | st.integers(0, 4))
def test_kept_is_the_breadth_first_truth(seed: int, min_fans: int, max_depth: int | None) -> None:
    """`kept` equals a level-by-level walk written the plain way."""
    world = make(seed, 150)
    seeds = [*world.seeds, world.uid(149), 5]  # one on an island, one a stranger
    depths = dict.fromkeys(seeds[:-1], 0)
    level, depth = list(depths), 0
    while level and depth != max_depth:
        depth += 1
        below = set()
        for uid in level:
            for fan in world.fans_shown(world.index(uid) or 0):
                if world.fans_announced(fan) >= min_fans and world.uid(fan) not in depths:
                    below.add(world.uid(fan))
        depths |= dict.fromkeys(below, depth)
        level = sorted(below)
    assert world.kept(seeds, min_fans, max_depth) == depths


@A_FEW
@given(SEEDS, st.integers(120, 600))
def test_company_is_near(seed: int, users: int) -> None:
    """Whoever comments, is passed on or named lives on the same island, or on none; each commenter
    comes once, and as many as there may be."""
    world = make(seed, users)
    near = {i: set(world.graph.near(i)[1]) | {i} for i in range(users)}
    blocks = [set(world.graph.near(i)[0]) for i in range(users)]
    for index in range(0, users, 7):
        for mid in world.calendar(index).mids[:5]:
            commenters = world.commenters(mid, 20)
            assert len(commenters) == len(set(commenters)) == 20
            post = world.written(mid)
            met = set(commenters) | (
                {timeline.writer_of(post.repost_of)}
                if post.repost_of and not post.notice
                else set()
            )
            reached = near[index] | blocks[index] | set(world.graph.fans(index))
            assert met <= reached
            if index < world.graph.main:
                assert max(met) < world.graph.main


def test_popular_and_active_people_are_met_more_often() -> None:
    """In the company of those near; even company meets each about as often as any other."""
    shares = {}
    for company in ("near", "even"):
        world = World.make(3, 1000, epoch=EPOCH, company=company)
        met = Counter(
            world.index(uid)
            for index in range(300)
            for mid in world.calendar(index).mids[:10]
            if (post := world.written(mid)).repost_of and not post.notice
            for uid in [world.uid(timeline.writer_of(post.repost_of))]
        )
        popular = sorted(range(1000), key=world.graph.degree)[-100:]
        shares[company] = sum(met[index] for index in popular) / met.total()
    assert shares["near"] > 2 * shares["even"]


def test_kept_over_follows() -> None:
    """With both edges a walk also reaches whom kept users follow."""
    world = make()
    over_fans = world.kept(world.seeds[:1], 10, 1)
    over_both = kept(world, world.seeds[:1], 10, ("fans", "follows"), max_depth=1)
    index = world.graph.hubs[0]
    followed = {world.uid(i) for i in world.graph.follows(index) if world.fans_announced(i) >= 10}
    assert over_both.keys() == over_fans.keys() | followed
    assert over_both != over_fans


def test_the_tails() -> None:
    """About a third of accounts has under 10 fans, a few have very many; posts are as uneven."""
    world = make(7, 3000)
    degrees = sorted(world.graph.degree(index) for index in range(3000))
    assert 0.25 < sum(degree < 10 for degree in degrees) / 3000 < 0.42
    assert degrees[-3] > 1000 > 50 > degrees[1500]
    posts = sorted(len(world.calendar(index).mids) for index in range(3000))
    assert posts[0] == 0
    assert posts[-1] > 100
    assert 15 < sum(posts) / 3000 < 25
    depths = Counter(world.kept(world.seeds, 10).values())
    assert max(depths) >= 5


@given(st.integers(0, 2**63), st.integers(0, 2**22 - 1))
def test_uids_and_names_come_back(seed: int, index: int) -> None:
    """An index, its uid and its screen name name the same user; strangers are known as such."""
    uid, name = people.uid_of(seed, index), people.screen_name(seed, index)
    assert 1_000_000_000 <= uid < 7_000_000_000
    assert people.index_of(seed, uid, 2**22) == index
    assert people.index_of(seed, uid, index) is None
    assert people.index_of_name(seed, name, 2**22) == index
    assert people.index_of_name(seed, name + "0", index) is None


@given(st.integers(timeline.FIRST_SECOND, 4_000_000_000), st.integers(0, 2**22 - 1))
def test_a_mid_holds_time_and_writer(second: int, writer: int) -> None:
    """(mid >> 22) + 515483463 is the second (weibo_api.md), and the low bits are the writer's."""
    mid = timeline.mid_of(second, writer)
    assert (mid >> 22) + 515_483_463 == second == timeline.second_of(mid)
    assert timeline.writer_of(mid) == writer
    assert wire.mid_of_bid(wire.bid_of(mid)) == mid


def test_the_known_bid() -> None:
    """z0JH2lOMb is 3501756485200075 (weibo_api.md)."""
    assert wire.bid_of(3501756485200075) == "z0JH2lOMb"
    assert wire.mid_of_bid("z0JH2lOMb") == 3501756485200075
    assert wire.mid_of_bid("not-a-bid") is None


def test_posts() -> None:
    """All mids differ, newest first, before the epoch; every kind of post there is, is there."""
    world = make()
    posts = [post for index in range(world.size) for post in world.posts(index)]
    assert len({post.mid for post in posts}) == len(posts)
    for index in range(world.size):
        mids = world.calendar(index).mids
        assert list(mids) == sorted(mids, reverse=True)
        assert set(world.calendar(index).pinned) <= set(mids)
    assert all(timeline.FIRST_SECOND <= post.second < EPOCH for post in posts)
    assert max(len(world.calendar(index).pinned) for index in range(world.size)) > 1
    gone = [post for post in posts if post.notice is not None]
    live = [post for post in posts if post.repost_of is not None and post.notice is None]
    long = [post for post in posts if post.is_long]
    assert min(len(gone), len(live), len(long)) > len(posts) // 50
    assert any(post.likes == timeline.MILLION for post in posts)
    for post in live:
        original = world.post(post.repost_of or 0)
        assert original is not None
        assert original.second < post.second
        assert original.repost_of is None
    assert world.post(posts[0].mid + 1) is None


@A_FEW
@given(SEEDS, st.floats(0, 30), st.floats(0, 30))
def test_a_later_day_adds_and_changes_nothing(seed: int, one: float, more: float) -> None:
    """The posts of a day are a subset of those of any later day, and none is rewritten."""
    early, late = make(seed, 40, days_later=one), make(seed, 40, days_later=one + more)
    for index in range(40):
        known = {post.mid: post for post in early.posts(index)}
        later = {post.mid: post for post in late.posts(index)}
        assert known.items() <= later.items()
        assert early.calendar(index).pinned == late.calendar(index).pinned


def test_later_days_do_add() -> None:
    """A month later there is something new."""
    now, later = make(), make(days_later=30)
    counts = [sum(len(w.calendar(i).mids) for i in range(w.size)) for w in (now, later)]
    assert counts[0] < counts[1]


CHANGING = {"edited_per_day": 0.02, "deleted_per_day": 0.03}


@A_FEW
@given(SEEDS, st.floats(0.1, 30), st.floats(0, 30))
def test_what_was_edited_or_deleted_stays_so(seed: int, one: float, more: float) -> None:
    """A deleted post does not come back and an edit stands, whatever the later day; all others are
    the same posts as in a world where nothing changes, their counts aside nothing is rewritten."""
    still = make(seed, 40, days_later=one + more)
    early = make(seed, 40, days_later=one, **CHANGING)
    late = make(seed, 40, days_later=one + more, **CHANGING)
    for index in range(40):
        before, after = early.calendar(index), late.calendar(index)
        assert set(before.deleted) <= set(after.deleted)
        assert sorted(after.mids + after.deleted) == sorted(still.calendar(index).mids)
        assert set(after.pinned) <= set(after.mids)
        was = {post.mid: post for post in early.posts(index)}
        plain = {post.mid: post for post in still.posts(index)}
        for post in late.posts(index):
            assert post.repost_of == plain[post.mid].repost_of
            assert post.edits >= was.get(post.mid, plain[post.mid]).edits
            is_edited = late.fates.is_edited(post.mid)
            assert (post.writing != plain[post.mid].writing) == is_edited
            assert post.edits - plain[post.mid].edits == is_edited


def test_posts_are_edited_and_deleted_by_the_share_a_day() -> None:
    """After ten days of 2 and 3 percent: about 18 and 26 percent of what was there."""
    now, later = make(), make(days_later=10, **CHANGING)
    mids = [mid for index in range(now.size) for mid in now.calendar(index).mids]
    deleted = sum(later.fates.is_deleted(mid) for mid in mids) / len(mids)
    edited = sum(later.fates.is_edited(mid) for mid in mids) / len(mids)
    assert abs(deleted - (1 - 0.97**10)) < 0.02
    assert abs(edited - (1 - 0.98**10)) < 0.02


def test_a_deleted_original_is_a_notice() -> None:
    """Who retweeted it keeps its mid and shows the notice of the site."""
    world = make(days_later=30, **CHANGING)
    gone = [
        post
        for index in range(world.size)
        for post in world.posts(index)
        if post.repost_of is not None and world.fates.is_deleted(post.repost_of)
    ]
    assert gone
    assert all(post.notice for post in gone)


@pytest.mark.parametrize(
    ("fans", "shown"),
    [
        (0, "0"),
        (6905, "6905"),
        (9999, "9999"),
        (10_000, "1万"),
        (12_345, "1.2万"),
        (1_455_999, "145.5万"),
        (99_999_999, "9999.9万"),
        (151_400_000, "1.51亿"),
    ],
)
def test_fans_as_shown(fans: int, shown: str) -> None:
    """The truth is what is shown, neither more nor less."""
    assert wire.fans_text(rounded(fans)) == shown
    assert wire.fans_text(fans) == shown or fans != rounded(fans)


def test_inflated_fans() -> None:
    """inflate_fans changes what accounts with 100 fans announce, and no list."""
    plain, inflated = make(), make(inflate_fans=1000)
    for index in range(plain.size):
        fans = plain.graph.degree(index)
        assert plain.fans_announced(index) == fans
        assert inflated.fans_announced(index) == (rounded(fans * 1000) if fans >= 100 else fans)
        assert inflated.graph.fans(index) == plain.graph.fans(index)


@pytest.mark.parametrize(
    "knobs",
    [
        {"seed": -1},
        {"users": 29},
        {"users": 2**22 + 1},
        {"mean_posts": -1},
        {"mean_posts": float("nan")},
        {"inflate_fans": 0.5},
        {"days_later": -1},
        {"edited_per_day": 1.1},
        {"deleted_per_day": -0.1},
        {"epoch": 0},
    ],
)
def test_what_makes_no_world(knobs: dict[str, float]) -> None:
    """A value out of its range is BadUsage, named with its range."""
    given = {"seed": 1, "users": 50, "epoch": EPOCH} | knobs
    with pytest.raises(BadUsage, match="--" + next(iter(knobs)).replace("_", "-")):
        World.make(**given)  # type: ignore[arg-type]

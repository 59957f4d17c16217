"""What is needed of a site is counted once, whatever was sent."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import economy
from benchmarks.economy_tables import Measured, shown_ratio
from benchmarks.foreign_world import sent
from benchmarks.lawful_world import Lawful
from benchmarks.needs import Extent, Needs, Sent, Tally, askers, tally
from weibo_crawler.simulator.routes import Asked, Kind

FANS = "/api/container/getIndex?containerid=231051_-_fans_-_{}&since_id={}"
POSTS = "/api/container/getIndex?type=uid&value={0}&containerid=107603{0}&page={1}"
PROFILE = "/api/container/getIndex?type=uid&value={}"
TEXT = "/statuses/extend?id={}"
DETAIL = "/detail/{}"
SESSION = "/visitor/genvisitor2"

# User 1 has two pages of fans and an end that no page names; user 2 has no fans. User 1 has three
# pages of posts whose last one names no next, one of them with a long text; user 2 has none, so
# page 1 does not show the profile.
HARVEST = Needs({(Kind.FANS, 1): Extent(2, True), (Kind.FANS, 2): Extent(0, True)}, profiles={1})
TIMELINES = {(Kind.POSTS, 1): Extent(3, False), (Kind.POSTS, 2): Extent(0, True)}
POSTS_NEEDED = Needs(TIMELINES, texts={77}, profiles={2})
REFRESH = Needs(TIMELINES, is_first_enough=True)

ALL_FANS = [PROFILE.format(1), FANS.format(1, 1), FANS.format(1, 2), FANS.format(1, 3)]
ALL_FANS += [FANS.format(2, 1)]
ALL_POSTS = [POSTS.format(1, page) for page in (1, 2, 3)]
ALL_POSTS += [POSTS.format(2, 1), PROFILE.format(2), TEXT.format(77)]


def counted(addresses: Iterable[str], needs: Needs, refused: Iterable[int] = ()) -> Tally:
    """refused: which of the addresses, by number."""
    gone = set(refused)
    log = [Sent(float(n), address, n in gone) for n, address in enumerate(addresses)]
    return tally(log, needs, _number)


def _number(asked: Asked) -> int:
    return asked.page


@pytest.mark.parametrize(("needs", "addresses"), [(HARVEST, ALL_FANS), (POSTS_NEEDED, ALL_POSTS)])
def test_what_is_needed_makes_a_ratio_of_one(needs: Needs, addresses: list[str]) -> None:
    """Whoever asks for each thing once and for nothing else has sent what is needed, by kind."""
    found = counted(addresses, needs)
    assert found.ratio == 1
    assert found.sent == found.needed
    assert not +found.again
    assert not +found.vain


def test_the_needed_requests_by_kind() -> None:
    """Pages that exist, ends that no page names, profiles that no page shows, cut texts."""
    assert HARVEST.by_kind() == {"profile": 1, "fans page": 2, "fans end": 2}
    posts = {"profile": 1, "posts page": 3, "posts end": 1, "long text": 1}
    assert POSTS_NEEDED.by_kind() == posts
    assert REFRESH.by_kind() == {"posts page": 1, "posts end": 1}


@given(st.lists(st.sampled_from([*ALL_POSTS, POSTS.format(1, 4), PROFILE.format(1), "/n/x"])))
def test_each_request_more_raises_the_ratio(more: list[str]) -> None:
    """By one over those needed, whatever it asks for; each is counted as again or as needless."""
    found = counted([*ALL_POSTS, *more], POSTS_NEEDED)
    assert found.ratio == pytest.approx(1 + len(more) / len(ALL_POSTS))
    assert found.again.total() + found.vain.total() == len(more)


@pytest.mark.parametrize(
    ("address", "kind", "part"),
    [
        (POSTS.format(1, 3), "posts page", "again"),
        (POSTS.format(1, 4), "posts end", "vain"),
        (POSTS.format(2, 1), "posts end", "again"),
        (POSTS.format(2, 2), "posts end", "again"),
        (POSTS.format(9, 1), "other", "vain"),
        (PROFILE.format(1), "profile", "vain"),
        (PROFILE.format(2), "profile", "again"),
        (DETAIL.format(77), "long text", "again"),
        (TEXT.format(78), "long text", "vain"),
        ("/n/somebody", "other", "vain"),
    ],
)
def test_where_a_request_goes_that_nobody_needs(address: str, kind: str, part: str) -> None:
    """A second look at an end is one by whatever address, a second way to a text asks again."""
    found = counted([*ALL_POSTS, address], POSTS_NEEDED)
    assert getattr(found, part)[kind] == 1
    assert found.sent[kind] == found.needed[kind] + 1


def test_pages_that_a_refresh_does_not_need() -> None:
    """Page 1 shows that nothing is new; a page behind it is a page that nobody needs, no end."""
    found = counted([POSTS.format(1, 1), POSTS.format(1, 2), POSTS.format(2, 1)], REFRESH)
    assert found.needed.total() == 2
    assert +found.vain == {"posts page": 1}


def test_what_was_refused_is_asked_for_anew() -> None:
    """Before an answer came, a request is no repetition; its refusal is counted as sent."""
    found = counted([TEXT.format(77), *ALL_POSTS], POSTS_NEEDED, refused=[0])
    assert (+found.refused, +found.again) == ({"long text": 1}, {})
    assert found.ratio == pytest.approx(7 / 6)


def test_faults_that_dice_drew_stand_apart() -> None:
    """What is needed is sent once more by whoever knows all; what is not, is not sent by anybody
    who knows, so its fault stays a refusal."""
    log = [Sent(0.0, one, is_refused=True, is_fault=True) for one in (*ALL_POSTS, "/n/x")]
    found = tally([*log, *(Sent(1.0, one) for one in ALL_POSTS)], POSTS_NEEDED, _number)
    assert found.faults.total() == len(ALL_POSTS)
    assert (+found.refused, found.ratio) == ({"other": 1}, 1 + 1 / len(ALL_POSTS))
    assert not any(found.missed(kind) for kind in found.needed)


def test_looks_that_faults_call_for_are_told_apart() -> None:
    """Where an answer may be emptied so many times in a row, whoever knows that, and not which
    answers are, has to look so often again at an emptiness that is needed; and not at anything
    else. They are requests like others in the ratio."""
    empty, shown = FANS.format(1, 3), FANS.format(1, 1)
    asked = [*ALL_FANS, *[empty] * 3, shown, FANS.format(9, 1), FANS.format(9, 1)]
    log = [Sent(float(n), one, is_empty=one != shown) for n, one in enumerate(asked)]
    for doubts in (0, 1, 2, 9):
        found = tally(log, HARVEST, _number, doubts)
        assert +found.doubts == ({"fans end": min(3, doubts)} if doubts else {})
        assert found.ratio == len(asked) / HARVEST.by_kind().total()


def test_a_refresh_needs_the_first_page_that_shows_something() -> None:
    """Page 1 may hold nothing of its owner, and name the next one."""
    lists = {(Kind.POSTS, 1): Extent(3, True, first=2), (Kind.POSTS, 2): Extent(2, True, first=0)}
    needed = Needs(lists, is_first_enough=True).by_kind()
    assert needed == {"posts page": 4, "posts end": 1}


def test_what_is_needed_and_never_asked_is_told() -> None:
    """Two pages of three are missed, one of them was asked for and refused."""
    found = counted([POSTS.format(1, 1), POSTS.format(1, 2), PROFILE.format(1)], POSTS_NEEDED, [1])
    assert (found.missed("posts page"), found.missed("profile")) == (2, 1)


def test_a_figure_is_bold_where_it_is_over_the_aim() -> None:
    """Beside it stands what it takes at best. Posts: nobody can know which way offers a text;
    refresh: blank pages above the first post are needed, too."""
    posts = {
        "needed": Counter({"long text": 50, "posts page": 50}),
        "sent": Counter({"other": 145}),
    }
    again = {"needed": Counter({"posts page": 12}), "sent": Counter({"posts page": 13})}
    nothing = {name: Counter[str]() for name in Tally._fields}
    stages = {"posts": Tally(**nothing | posts), "refresh": Tally(**nothing | again)}
    found = Measured("a world", stages, 10, 10, {}, ways=90.0)
    assert shown_ratio(found, "posts") == "**1.45** (1.40)"
    assert shown_ratio(found._replace(ways=75.0), "posts") == "**1.45** (1.25)"
    assert shown_ratio(found._replace(ways=50.0), "posts") == "**1.45**"
    assert (
        shown_ratio(found._replace(ways=75.0, walled={"posts": 10}), "posts") == "**1.45** (1.35)"
    )
    assert shown_ratio(found, "refresh") == "**1.30** (1.20)"
    assert shown_ratio(found._replace(due=12), "refresh") == "1.08"
    stages["posts"] = stages["posts"]._replace(doubts=Counter({"posts end": 7}))
    assert shown_ratio(found, "posts") == "**1.45** (1.47)"


def test_sessions_stand_aside() -> None:
    """However many were opened, the ratio is the same; they are counted."""
    found = counted([SESSION, "/", *ALL_FANS, SESSION], HARVEST)
    assert found.ratio == 1
    assert found.sent["session"] == 3


def test_who_was_asked() -> None:
    """Users of whom a list or a profile was asked for; a text or a session is nobody's."""
    log = [Sent(0.0, address) for address in (*ALL_FANS, TEXT.format(77), SESSION)]
    assert askers(log) == {1, 2}


def test_a_line_of_the_log() -> None:
    """What nginx writes of a request."""
    line = f"1795147200.250 127.0.0.1 {FANS.format(1, 2)} 4711"
    assert sent(line) == Sent(1795147200.25, FANS.format(1, 2))


@pytest.mark.parametrize("laws", [10, 14, 22, 23, 27, 40, 54])
def test_what_is_needed_of_a_lawful_world_is_what_its_pages_show(tmp_path: Path, laws: int) -> None:
    """Each page that is needed has an answer that is no end, and the pages behind the last one show
    nothing else; whoever is due for a refresh needs one request, and one for each blank page above
    the first that shows something."""
    world = Lawful(tmp_path, laws, 60)
    for stage, form in (("harvest", FANS), ("posts", POSTS)):
        needs = world.needs(stage)
        assert needs.lists
        for (_, uid), extent in needs.lists.items():
            shown = [_shown(world, form.format(uid, n + 1)) for n in range(extent.pages + 1)]
            assert all(is_page for is_page, _ in shown[:-1])
            is_page, ids = shown[-1]
            is_walled = _laws_wall(world, stage) == extent.pages
            assert is_walled or not is_page or ids <= shown[-2][1]
    posts = world.needs("posts")
    bare = {uid for (_, uid), extent in posts.lists.items() if not extent.pages}
    gone = {uid for uid in bare if b"20003" in world.answer(POSTS.format(uid, 1))}
    assert bare - gone <= set(posts.profiles)  # nothing else tells who is gone
    assert not gone.intersection(posts.profiles)
    refresh = world.needs("refresh")
    blank = sum(
        max(0, (one.first or one.pages + one.is_open) - 1) for one in refresh.lists.values()
    )
    open_ = sum(bool(one.pages or one.is_open) for one in refresh.lists.values())
    assert refresh.by_kind().total() == open_ + len(refresh.profiles) + blank
    private = {uid for uid in bare if b'"ok":-100' in world.answer(POSTS.format(uid, 1))}
    assert open_ == len(refresh.lists) - len(private.union(refresh.profiles))
    nobody = {uid for uid in bare - gone if b'"userInfo"' not in world.answer(PROFILE.format(uid))}
    assert refresh.profiles == nobody  # page 1 of theirs would not tell whether they are back
    assert not any(refresh.wants_end((Kind.POSTS, uid)) for uid in nobody)


def _shown(world: Lawful, address: str) -> tuple[bool, frozenset[str]]:
    """Whether an address is answered with a page of a list, and the ids of what stands on it."""
    answer = msgspec.json.decode(world.answer(address))
    data = answer.get("data") or {}
    named = "containerid" in data.get("cardlistInfo", {})
    return answer["ok"] == 1 and named, frozenset(str(card) for card in data.get("cards", []))


def _laws_wall(world: Lawful, stage: str) -> int | None:
    laws = world.laws
    return laws.fans_wall if stage == "harvest" else laws.posts_wall


@pytest.mark.timeout(300)
def test_the_command_counts_prints_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A whole crawl of a small lawful world: what is held is true, whoever is due was asked, no
    needed request lacks, the tables are printed and in the docs, all figures in the file."""
    docs, out = tmp_path / "docs.md", tmp_path / "economy.json"
    docs.write_text("above\n<!-- economy: begin -->\n<!-- economy: end -->\nbelow\n", "utf-8")
    words = ["--only", "laws", "--laws", "40", "--lawful-users", "60"]
    assert economy.main([*words, "--out", str(out), "--docs", str(docs)]) == 0
    (world,) = json.loads(out.read_text("utf-8"))["worlds"]
    assert world["errors"] == {"missing": 0, "extra": 0, "wrong": 0}
    assert world["due"] == world["kept"] > 0
    for stage in ("posts", "refresh"):
        found = Tally(**{name: Counter(n) for name, n in world["stages"][stage].items()})
        assert not any(found.missed(kind) for kind in found.needed), stage
    assert "laws 40, 60 users" in docs.read_text("utf-8")
    assert docs.read_text("utf-8").split("economy: begin -->\n")[1][:80] in capsys.readouterr().out

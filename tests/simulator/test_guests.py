"""What guests of each year may see, and how their sessions live and die."""

import json
import re
from dataclasses import replace
from http.cookies import SimpleCookie
from itertools import count
from typing import Any

import pytest

from tests.forks import simulator
from tests.simulator import visitors
from tests.simulator.conftest import SMALL
from tests.simulator.visitors import (
    fans,
    follows,
    posts,
    profile,
    search,
    visit,
    weibo_of,
    world_of,
)
from weibo_crawler.simulator.guests import GUESTS
from weibo_crawler.simulator.options import GUEST_YEARS
from weibo_crawler.simulator.site import Weibo
from weibo_crawler.simulator.world import World


@pytest.fixture(scope="module")
def world() -> World:
    return world_of(SMALL)


def session(weibo: Weibo) -> str:
    """The Cookie header of a new session."""
    form = "cb=visitor_gray_callback&tid=&from=weibo"
    answer = weibo.open_session(form, "127.0.0.1", now=0.0)
    pairs = [value.partition(";")[0] for name, value in answer.headers if name == "Set-Cookie"]
    return "; ".join(["_T_WM=1", *pairs])


def long_timeline(world: World, least: int) -> int:
    return next(i for i in range(world.size) if len(world.calendar(i).mids) > least)


@pytest.mark.parametrize(("guests", "pages"), [("open", 4), ("2020", 4), ("2023", 2), ("2026", 1)])
@pytest.mark.parametrize("paging", ["page", "since_id"])
def test_how_many_pages_of_posts(world: World, guests: str, pages: int, paging: str) -> None:
    """With a session a guest sees the pages of its year, then ok -100; by either token."""
    weibo = weibo_of(replace(SMALL, guests=guests, paging=paging))
    cookies = session(weibo)
    index = long_timeline(world, 40)
    cursor, labels = "", []
    for _ in range(4):
        served = visit(weibo, posts(world.uid(index), cursor), cookies)
        labels.append(served.label)
        page = json.loads(served.answer.body)
        if served.label == "login_wall":
            assert (page["ok"], "passport" in page["url"]) == (-100, True)
            break
        info = page["data"]["cardlistInfo"]
        cursor = f"{paging}={info[paging]}"
    walled = ["login_wall"] if pages < 4 else []
    assert labels == ["ok"] * pages + walled


@pytest.mark.parametrize(
    ("knobs", "labels"),
    [
        ({"guests": "open"}, ["ok", "ok"]),
        ({"guests": "2026"}, ["ok", "login_wall"]),
        ({"guests": "2023", "topics_walled": True}, ["login_wall", "login_wall"]),
    ],
)
def test_how_many_pages_of_a_topic(world: World, knobs: dict[str, Any], labels: list[str]) -> None:
    """All, page 1, or none."""
    weibo = weibo_of(replace(SMALL, **knobs))
    words = next(words for n in count() if len(world.searched(words := f"#{n}#")) > 10)
    cookies = session(weibo)
    assert [visit(weibo, search(words, n), cookies).label for n in (1, 2)] == labels


def test_everything_else_stays_open(world: World) -> None:
    """In 2026 lists, profiles and texts open to a guest; fans_walled closes the lists."""
    uid, mid = world.uid(0), world.calendar(long_timeline(world, 0)).mids[0]
    lists, others = [fans(uid, 2), follows(uid)], [profile(uid), f"/statuses/extend?id={mid}"]
    for walled in (False, True):
        weibo = weibo_of(replace(SMALL, guests="2026", fans_walled=walled))
        cookies = session(weibo)
        expected = "login_wall" if walled else "ok"
        assert [visit(weibo, one, cookies).label for one in lists] == [expected] * 2
        assert [visit(weibo, one, cookies).label for one in others] == ["ok"] * 2


def test_page_2_of_comments_needs_a_login() -> None:
    """In every year (weibo_api.md)."""
    address = "/comments/hotflow?id=1&mid=1&max_id=77"
    assert visit(weibo_of(SMALL), address).label == "login_wall"


def test_without_a_session(world: World) -> None:
    """A bare request gets, in turn, status 432, a 302 to the visitor page, and ok -100."""
    weibo = weibo_of(replace(SMALL, guests="2026"))
    for cookies in ("", "SUB=made-up", "SUBP=only"):
        served = [visit(weibo, profile(world.uid(0)), cookies) for _ in range(3)]
        assert [one.answer.status for one in served] == [432, 302, 200]
        where = dict(served[1].answer.headers)["Location"]
        assert where.startswith("/visitor/visitor?entry=sinawap&a=enter&url=https%3A%2F%2Fm.weibo")
        assert json.loads(served[2].answer.body)["ok"] == -100
    assert visit(weibo, "/").label == "ok"
    assert visit(weibo_of(SMALL), profile(world.uid(0))).label == "ok"


def test_sessions_expire(world: World) -> None:
    """A session lives session_requests requests, whatever others do; 0 is for ever."""
    weibo = weibo_of(replace(SMALL, guests="2026", session_requests=3))
    one, other = session(weibo), session(weibo)
    address = profile(world.uid(0))
    assert [visit(weibo, address, one).label == "ok" for _ in range(5)] == [True] * 3 + [False] * 2
    assert visit(weibo, address, other).label == "ok"
    assert visit(weibo, address, session(weibo)).label == "ok"
    lasting = weibo_of(replace(SMALL, guests="2026"))
    cookies = session(lasting)
    assert {visit(lasting, address, cookies).label for _ in range(50)} == {"ok"}


def test_sessions_expire_by_time(world: World) -> None:
    """A session lives session_s seconds, however often it is used."""
    weibo = weibo_of(replace(SMALL, guests="2026", session_s=60.0))
    cookies, address = session(weibo), profile(world.uid(0))
    times = (0.0, 30.0, 59.9, 60.0, 59.0)
    labels = [visit(weibo, address, cookies, now=now).label == "ok" for now in times]
    assert labels == [True, True, True, False, False]


def test_the_visitor_answer() -> None:
    """Over HTTP: JSONP with the callback that was asked for, retcode, and two cookies that
    open the site."""
    with simulator(replace(SMALL, guests="2026")) as running:
        status, body, cookies = _post(running.visitor_url, b"cb=my_callback&tid=&from=weibo")
        assert status == 200
        found = re.fullmatch(r"window\.my_callback && my_callback\((.*)\);\n", body.decode())
        assert found
        answer = json.loads(found[1])
        assert answer["retcode"] == 20000000
        assert answer["data"]["sub"] == cookies["SUB"].value
        assert answer["data"]["subp"] == cookies["SUBP"].value
        uid = world_of(SMALL).uid(0)
        headers = {"Cookie": f"SUBP=x; SUB={cookies['SUB'].value}"}
        assert visitors.fetch(running.base_url, profile(uid), headers)[0] == 200
        assert visitors.fetch(running.base_url, profile(uid))[0] == 432
        assert _post(running.base_url + "/elsewhere", b"")[0] == 405


def _post(url: str, form: bytes) -> tuple[int, bytes, SimpleCookie]:
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.request(
        "POST", parts.path, form, {"Content-Type": "application/x-www-form-urlencoded"}
    )
    reply = connection.getresponse()
    cookies: SimpleCookie = SimpleCookie()
    for line in reply.headers.get_all("Set-Cookie") or []:
        cookies.load(line)
    body = reply.read()
    connection.close()
    return reply.status, body, cookies


def test_the_years_that_can_be_asked_for() -> None:
    """The command line knows the years that the doorkeeper knows."""
    assert set(GUEST_YEARS) == set(GUESTS)

"""Proxies of which half are bad, in the ways of another hand."""

import time
from pathlib import Path

import pytest

from tests.foreign.worlds import World, crawl_of, site, started, walk
from tests.ports import free_ports

pytestmark = pytest.mark.timeout(240)
_BAD = [
    "dead",
    "blackhole",
    "html",
    "captive",
    "captive_own",
    "other",
    *["bomb"] * 4,
    "headerbomb",
    "stall",
    "cut",
    "slow",
    "500",
    "407",
    "flap",
]


def _spec(bad: list[str]) -> str:
    return ",".join([f"good={len(bad)}", *(f"{kind}=1" for kind in bad)])


def test_bad_proxies_cost_no_user_and_no_post(world: World, tmp_path: Path) -> None:
    """Half of the proxies are dead, lie, stall or send bombs: the truth is held by the others, and
    no user fails for what a proxy did."""
    proxies = tmp_path / "proxies.txt"
    with site(world, "--faults", "0", "--guest") as port:
        command = [str(world.tools / "proxies.py"), str(proxies), str(free_ports(40))]
        with started(*command, str(port), _spec(_BAD)):
            _wait_for(proxies)
            env = {"WEIBO_EGRESS__PROXIES_FILE": str(proxies)}
            with crawl_of(tmp_path / "crawl", port, guest=True, **env) as crawl:
                assert not walk(crawl, world, rounds=2)


def test_a_stale_proxy_adds_nothing_false(world: World, tmp_path: Path) -> None:
    """Proxies that bring yesterday's pages hide the newest posts. That cannot be told from the
    page; but what is stored is true, and only posts, and pins of posts, are missing."""
    proxies = tmp_path / "proxies.txt"
    with site(world, "--faults", "0", "--guest") as port:
        command = [str(world.tools / "proxies.py"), str(proxies), str(free_ports(40))]
        with started(*command, str(port), "good=3,stale=1"):
            _wait_for(proxies)
            env = {"WEIBO_EGRESS__PROXIES_FILE": str(proxies)}
            with crawl_of(tmp_path / "crawl", port, guest=True, **env) as crawl:
                assert set(walk(crawl, world)) <= {"posts_missing", "wrong_pinned"}


def _wait_for(proxies: Path) -> None:
    deadline = time.monotonic() + 20
    while not Path(f"{proxies}.spec").exists():
        assert time.monotonic() < deadline, "the proxies do not start"
        time.sleep(0.05)

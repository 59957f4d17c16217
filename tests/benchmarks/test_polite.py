"""The benchmark of politeness runs, at small sizes, and its figures are right."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import edges, faults, polite, schedulers
from benchmarks.budget import LIMIT_S, options_of
from benchmarks.common import medians, write_section
from benchmarks.virtual_site import is_up, proxies_of, up_s
from tests.cli.crawls import Truth
from tests.forks import simulator
from tests.simulator import ways as true
from weibo_crawler.simulator.company import COMPANIES
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.proxies import Proxy
from weibo_crawler.simulator.served import Line, ServedLog
from weibo_crawler.simulator.world import World
from weibo_crawler.store.rows.cells import Ledger


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites are forked, as in other tests; what a start takes is not measured here."""
    monkeypatch.setattr(edges, "start", simulator)


@given(flap_s=st.integers(1, 30), phase_s=st.integers(0, 60), seconds=st.integers(0, 300))
def test_the_time_up_is_the_sum_of_its_seconds(flap_s: int, phase_s: int, seconds: int) -> None:
    """A flapping proxy is up for as many seconds as `is_up` says it is, from any phase."""
    proxy = Proxy("127.0.1.1", 0, "flapping", "http", flap_s=flap_s, phase_s=phase_s % (2 * flap_s))
    assert up_s(proxy, seconds) == sum(is_up(proxy, at + 0.5) for at in range(seconds))


def test_who_knows_everything_uses_the_whole_budget_and_is_never_refused() -> None:
    """The ideal is the measure: no less than all, no more than the first token of each bucket."""
    proxies, seconds = 40, 60.0
    ideal = schedulers.by_oracle(1, proxies, seconds)
    assert (ideal["refused"], ideal["bans"], ideal["no_page"]) == (0, 0, 0)
    assert 1 - LIMIT_S / seconds <= ideal["share"] <= 1 + 2 * LIMIT_S / seconds
    assert ideal["pages"] == ideal["requests"]


def test_our_ring_has_nobody_banned_where_blind_choice_has() -> None:
    """With the limit known none of our addresses is banned; of those chosen blindly, some are."""
    ours = schedulers.by_ring(1, schedulers.KNOWN, 40, 60.0)
    dice = schedulers.by_dice(1, 40, 60.0)
    assert (ours["banned"], ours["stopped"]) == (0, 0)
    assert dice["banned"] > 0
    assert dice["share"] < ours["share"] <= 1.1


def test_a_run_can_be_repeated() -> None:
    """The same seed gives the same figures: nothing in virtual time looks at a real clock."""
    first, second = (schedulers.by_ring(2, schedulers.UNKNOWN, 10, 30.0) for _ in range(2))
    assert first == second


def test_the_mix_is_that_of_the_docs() -> None:
    """The healths measured are those that docs/simulator.md shows how to play."""
    healths = [proxy.health for proxy in proxies_of(options_of(1, 200))]
    counts = {health: healths.count(health) for health in healths}
    assert counts == {
        "good": 140,
        "slow": 20,
        "dead": 10,
        "flapping": 10,
        "lying": 4,
        "captive": 4,
        "tired": 12,
    }


def test_an_edge_finds_whom_it_leads_to() -> None:
    """Users by an edge alone are no more than those it truly leads to; together somebody is found
    always; a walk stops soon after the requests it may make."""
    seed, users, requests = 3, 200, 100  # of 30, all may meet walls before the first page of posts
    found = edges.run(seed, users, requests)
    options = SimulatorOptions(seed=seed, users=users)
    world = World.make(seed, users, epoch=options.epoch, mean_posts=options.mean_posts)
    for edge in map(str, edges.EDGES):
        kept = found[edge] * found[f"{edge}: requests"] / 1000
        assert kept <= len(true.kept(world, world.seeds[:3], 10, [edge])) - 3 + 1e-6
    for name in set(map(str, edges.WALKS)) - {"reposts", "mentions"}:
        assert found[name] > 0, name
    for name in edges.WALKS:  # what was in flight is finished
        assert 0 < found[f"{name}: requests"] < requests + 40


def test_a_walk_that_runs_dry_has_found_whom_it_leads_to() -> None:
    """Behind walled lists the default finds at its end exactly whom its edges lead to, and never
    fewer at a later mark; pages land in the order of their level, so that many may land at once.
    The seeds alone cost some 70 requests, which may all be sent before anybody is kept."""
    seed, users = 3, 100
    found = edges.run_dry(seed, users, (90, 150))
    options = SimulatorOptions(seed=seed, users=users)
    for company in COMPANIES:
        world = World.make(
            seed, users, epoch=options.epoch, mean_posts=options.mean_posts, company=company
        )
        users_kept = true.kept(world, world.seeds[:3], 10, ("reposts", "comments"))
        assert found[f"{company}: users"] == len(users_kept) - 3
        early, later = found[f"{company}: by 90"], found[f"{company}: by 150"]
        assert 0 < early <= later <= found[f"{company}: users"]
        assert early < found[f"{company}: users"]


def truth_of(folder: Path) -> Truth:
    """User 1 with posts on two pages, user 2 who must not be kept."""
    posts = {
        "1": [{"mid": str(mid), "text": f"text {mid}", "page": 1 + mid // 10} for mid in (1, 2, 11)]
    }
    users = [
        {"uid": 1, "fans": 50, "depth": 0, "kept": True},
        {"uid": 2, "fans": 3, "depth": None, "kept": False},
    ]
    data = {"seeds": [1], "min_fans": 10, "users": users, "posts": posts}
    (folder / "truth.json").write_text(json.dumps(data), "utf-8")
    return Truth(folder)


DONE = Ledger("done", stopped="end", sure=True)


@pytest.mark.parametrize(
    ("ledger", "lost", "empty", "flagged"),
    [
        (DONE, 1, 1, 0),
        (msgspec.structs.replace(DONE, sure=False), 0, 0, 1),
        (msgspec.structs.replace(DONE, stopped="login_wall"), 0, 0, 1),
        (msgspec.structs.replace(DONE, state="failed"), 0, 0, 1),
        (None, 0, 0, 1),
    ],
)
def test_only_what_the_ledger_calls_whole_is_lost(
    tmp_path: Path, ledger: Ledger | None, lost: int, empty: int, flagged: int
) -> None:
    """A missing page is wrongly empty where the ledger is sure of it, and told where it is not."""
    stored = {str(mid): {"text": f"text {mid}", "text_complete": True} for mid in (1, 2)}
    ledgers = {1: ledger} if ledger else {}
    found = faults._figures(faults.Held({1: "done"}, stored, ledgers, 0), truth_of(tmp_path))
    assert (found["posts_lost"], found["pages_wrongly_empty"]) == (lost, empty)
    assert (found["posts_flagged"], found["posts"], found["texts_wrong"]) == (flagged, 3, 0)
    assert (found["users_lost"], found["users_false"]) == (0, 0)


def test_lost_and_false_users_and_wrong_texts_are_counted(tmp_path: Path) -> None:
    """A kept user who is missing, one kept wrongly, a text that is not the true one."""
    stored = {"1": {"text": "another", "text_complete": True}}
    held = faults.Held({2: "queued"}, stored, {1: DONE}, 0)
    found = faults._figures(held, truth_of(tmp_path))
    assert (found["users_lost"], found["users_false"], found["users_failed"]) == (1, 1, 1)
    assert (found["texts_wrong"], found["posts_lost"]) == (1, 2)


def test_a_page_counts_once_however_often_it_came(tmp_path: Path) -> None:
    """Requests per page: all requests over the different pages that came whole."""
    served = [("/a", "ok"), ("/a", "cut"), ("/a", "ok"), ("/b", "slow"), ("/c", "throttled")]
    file = tmp_path / "served.jsonl"
    with ServedLog(file) as log:
        for request, label in served:
            log.add(Line(0.0, request, label, uid=0, egress=""))
    cost = faults._cost(file)
    assert (cost["requests"], cost["pages"], cost["requests_per_page"]) == (5, 2, 2.5)
    assert cost["fault_share"] == 3 / 5


@pytest.mark.timeout(300)
def test_the_command_measures_prints_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A crawl through faults, by the command: nothing lost, the tables printed and in the docs,
    all figures in the file."""
    docs = tmp_path / "docs.md"
    docs.write_text(
        "above\n<!-- polite: begin -->\nold figures\n<!-- polite: end -->\nbelow\n", "utf-8"
    )
    out = tmp_path / "results" / "polite.json"
    words = ["--quick", "--only", "faults", "--out", str(out), "--docs", str(docs)]
    assert polite.main(words) == 0
    (run,) = json.loads(out.read_text("utf-8"))["faults"]
    assert run["pages"] > 100
    assert run["requests_per_page"] > 1
    assert 0.1 < run["fault_share"] < 0.5
    for lost in ("users_lost", "users_false", "posts_lost", "pages_wrongly_empty", "texts_wrong"):
        assert run[lost] == 0, lost
    text = docs.read_text("utf-8")
    assert capsys.readouterr().out.strip() in text
    assert "old figures" not in text
    assert (text[:6], text[-6:]) == ("above\n", "below\n")


def test_medians_are_of_each_figure() -> None:
    """One figure's median run need not be another's."""
    runs = [{"a": 1, "b": 9}, {"a": 2, "b": 7}, {"a": 9, "b": 8}]
    assert medians(runs) == {"a": 2, "b": 8}


def test_a_section_that_is_not_there_is_said(tmp_path: Path) -> None:
    """No figures are put anywhere else."""
    file = tmp_path / "docs.md"
    file.write_text("nothing\n", "utf-8")
    with pytest.raises(SystemExit, match="polite"):
        write_section(file, "polite", "figures")
    assert file.read_text("utf-8") == "nothing\n"

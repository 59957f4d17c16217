"""What the site's log says of a job on several nodes; and rounds that fit on eight nodes."""

from pathlib import Path

from benchmarks import nodes, nodes_tables
from weibo_crawler.simulator.served import Line


def _log(of_each: int, addresses: int, seconds: int, **more: str) -> list[Line]:
    """So many answers a minute for each address, evenly, from 100 s on."""
    every = 60 / of_each
    return [
        Line(100 + n * every, "/page", more.get("served", "ok"), 1, f"127.0.0.{address + 2}")
        for address in range(addresses)
        for n in range(int(seconds / every))
    ]


def test_figures_count_the_pages_of_the_window_alone() -> None:
    """Two addresses at 60 pages a minute each, where 120 are allowed; what came before and after
    the window, and what was refused, is no page."""
    lines = _log(60, 2, 300)
    lines += _log(3, 1, 300, served="throttled_418") + _log(1, 1, 300, served="ban")
    found = nodes.figures(lines, 2, since=160.0, seconds=120.0)
    assert (found["pages"], found["by_minute"]) == (240, [120, 120])
    assert found["used"] == 240 / (nodes.LIMIT * 2 * 120)
    assert (found["addresses"], found["least"], found["most"]) == (2, 1.0, 1.0)
    assert (found["refused"], found["bans"]) == (6, 2)


def test_an_address_that_did_nothing_costs_its_share() -> None:
    """What is allowed counts all addresses, also one that nobody used."""
    half = nodes.figures(_log(120, 1, 60), 2, since=100.0, seconds=60.0)
    assert (half["used"], half["addresses"]) == (0.5, 1)


def test_the_runs_of_a_round_have_nodes_of_their_own() -> None:
    """Side by side they need no more than eight, and the names of runs are theirs alone."""
    for runs in nodes.ROUNDS.values():
        assert sum(run.nodes for run in runs) <= 8
    names = [run.name for runs in nodes.ROUNDS.values() for run in runs]
    assert len(set(names)) == len(names)


def test_a_missed_aim_is_shown_as_missed(tmp_path: Path) -> None:
    """Times, share of the allowed, bans and posts each have an aim; a plot has a line a run."""
    one = {**nodes.ROUNDS["1-2-4"][2]._asdict(), **nodes.figures(_log(120, 1, 120), 1, 100.0, 120)}
    eight = {**nodes.ROUNDS["8"][0]._asdict(), **nodes.figures(_log(90, 8, 120), 8, 100.0, 120)}
    more = {"starting_s": 30.0, "posts": 9, "differing": 0, "busy": 0.5, "load": 1.0}
    text = nodes_tables.show([{**eight, **more}, {**one, **more}], nodes.LIMIT)
    missed, met = text.splitlines()[-2:]
    assert "6.00 (**missed**) | 75.0 % (**missed**)" in missed
    assert "missed" not in met
    assert "100.0 %" in met
    nodes_tables.write_plot(tmp_path / "nodes.svg", [{**eight, **more}, {**one, **more}], 2.0)
    plot = (tmp_path / "nodes.svg").read_text("utf-8")
    assert all(what in plot for what in ("8 nodes", "1 node", "Pages by minute"))

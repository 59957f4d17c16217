"""What a look around tells of a node, and how each node gets one."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.webserver import answering
from weibo_crawler import config
from weibo_crawler.errors import StoreError
from weibo_crawler.posts.node import Finding, _egress, look_around
from weibo_crawler.posts.yarn import Node, Yarn, alone_mb

NODES = {
    "nodes": {
        "node": [
            {"id": "b:8041", "availMemoryMB": 6000, "usedMemoryMB": 2192},
            {"id": "a:8041", "availMemoryMB": 16000, "usedMemoryMB": 0},
        ]
    }
}


@pytest.fixture
def proxy() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def settings(folder: Path, *ports: int) -> config.Settings:
    file = folder / "proxies.txt"
    file.write_text("".join(f"http://u:secret@127.0.0.1:{port}\n" for port in ports))
    return config.Settings(egress=config.Egress(proxies_file=str(file)))


def test_proxies_that_take_connections_are_counted(tmp_path: Path, proxy: int) -> None:
    """Some of a list are always dead; that none can be reached is the network's fault."""
    said = _egress(settings(tmp_path, proxy, free_port()))
    assert said.endswith("; 1 of 2 proxies take connections from here")
    with pytest.raises(StoreError, match=r"none of 1 proxies.*network of the nodes") as told:
        _egress(settings(tmp_path, free_port()))
    assert "secret" not in str(told.value)


def test_each_finding_names_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """As YARN calls it: a machine may be called otherwise, and several nodes alike."""
    monkeypatch.setenv("NM_HOST", "node7")
    found = [Finding.from_line(each.to_line()) for each in look_around()]
    assert {each.host for each in found} == {"node7"}
    assert found[0].name == "node python"


def test_nodes_are_those_that_run() -> None:
    told = {
        "/ws/v1/cluster/nodes?states=RUNNING": NODES,
        "/conf?name=yarn.scheduler.maximum-allocation-mb": {"property": {"value": "4096"}},
    }
    with answering(told.get) as port:
        yarn = Yarn(f"http://127.0.0.1:{port}", "http://127.0.0.1:9", "me")
        assert yarn.nodes() == [Node("a", 16000, 16000), Node("b", 8192, 6000)]
        assert yarn.largest_mb() == 4096
        del told["/conf?name=yarn.scheduler.maximum-allocation-mb"]
        assert yarn.largest_mb() == 8192


@pytest.mark.parametrize(
    ("nodes", "largest", "size"),
    [
        ([Node("a", 8192, 6000), Node("b", 8192, 8192)], 8192, 4097),
        ([Node("a", 8192, 5000), Node("b", 8192, 8192)], 8192, None),  # beside a master
        ([Node("a", 1024, 1024)], 8192, None),
        ([Node("a", 65536, 65536)], 8192, None),  # more than may be asked for
    ],
)
def test_a_map_that_is_alone_on_its_node(nodes: list[Node], largest: int, size: int | None) -> None:
    """More than half of the smallest one, where each has room for it now: a job never waits for
    room that only a look around wants."""
    assert alone_mb(nodes, largest) == size

"""Whether Hadoop's client submits to the ResourceManager of the settings, by its own files."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.webserver import answering
from weibo_crawler import config
from weibo_crawler.cli import checks
from weibo_crawler.cli.hadoop_conf import resourcemanagers, web_addresses
from weibo_crawler.errors import BadConfig, StoreError

RM = "yarn.resourcemanager"


def resourcemanager(started: int) -> AbstractContextManager[int]:
    """A web server that says of itself what a ResourceManager says; its port."""
    info = {"clusterInfo": {"id": started, "state": "STARTED"}}
    return answering({"/ws/v1/cluster/info": info}.get)


def client(folder: Path, **properties: str) -> str:
    """A `hadoop` whose class path leads to this configuration, behind folders without one."""
    conf = folder / "etc"
    conf.mkdir(exist_ok=True)
    rows = "".join(
        f"<property><name>{RM}.{name.replace('_', '.')}</name><value>\n {value}</value></property>"
        for name, value in properties.items()
    )
    if properties:
        (conf / "yarn-site.xml").write_text(f"<configuration>{rows}</configuration>")
    command = folder / "hadoop"
    command.write_text(f'#!/bin/sh\n[ "$*" = classpath ] && echo "/none:{conf}:{folder}/lib/*"\n')
    command.chmod(0o755)
    return str(command)


def said(command: str, port: int) -> str:
    """What doctor says where the settings name this port."""
    hadoop = config.Hadoop(command=command, resourcemanager=f"http://127.0.0.1:{port}/")
    return checks.submission(config.Settings(hadoop=hadoop))


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ({"hostname": "rm"}, ["http://rm:8088"]),
        ({"hostname": "rm", "webapp.address": f"${{{RM}.hostname}}:80"}, ["http://rm:80"]),
        ({"webapp.address": "web:1"}, ["http://web:1"]),
        (
            {
                "ha.enabled": "true",
                "ha.rm-ids": "a, b",
                "hostname.a": "x",
                "webapp.address.b": "y:1",
            },
            ["http://x:8088", "http://y:1"],
        ),
    ],
)
def test_addresses_are_those_that_hadoop_takes(conf: dict[str, str], expected: list[str]) -> None:
    """The web address, else the host with Hadoop's own port; each of a pair."""
    assert resourcemanagers({f"{RM}.{name}": value for name, value in conf.items()}) == expected


def test_https_alone_has_addresses_of_its_own() -> None:
    """By yarn.http.policy."""
    conf = {"yarn.http.policy": "HTTPS_ONLY", f"{RM}.hostname": "rm"}
    assert resourcemanagers(conf) == ["https://rm:8090"]


def test_one_resourcemanager_is_known_by_other_names(tmp_path: Path) -> None:
    """It tells when it was started, whatever address it is asked by."""
    with resourcemanager(17) as one, resourcemanager(17) as again:
        command = client(tmp_path, webapp_address=f"localhost:{again}")
        assert web_addresses(command) == [f"http://localhost:{again}"]
        assert said(command, one) == f"{command} submits to it"


def test_both_of_a_pair_may_be_named(tmp_path: Path) -> None:
    """One of them is the one that is submitted to; each is looked at, in any order."""
    with resourcemanager(17) as one, resourcemanager(18) as other:
        command = client(tmp_path, webapp_address=f"127.0.0.1:{other}")
        pair = f"http://127.0.0.1:{one}, http://127.0.0.1:{other}"
        settings = config.Settings(hadoop=config.Hadoop(command=command, resourcemanager=pair))
        assert checks.submission(settings) == f"{command} submits to it"
    metrics = {"/ws/v1/cluster/metrics": {"clusterMetrics": {"activeNodes": 3}}}
    with answering(metrics.get) as one, answering(metrics.get) as other:
        pair = f"http://127.0.0.1:{one},http://127.0.0.1:{other}"
        settings = config.Settings(hadoop=config.Hadoop(resourcemanager=pair))
        assert checks.resourcemanager(settings).count(": 3 nodes") == 2
    with answering(metrics.get) as one:
        pair = f"http://127.0.0.1:{one},http://127.0.0.1:9"
        settings = config.Settings(hadoop=config.Hadoop(resourcemanager=pair))
        with pytest.raises(StoreError, match=r"127\.0\.0\.1:9: .*hadoop\.resourcemanager"):
            checks.resourcemanager(settings)


def test_another_resourcemanager_is_told(tmp_path: Path) -> None:
    """A job would run where nobody looks for it: both addresses are named."""
    with resourcemanager(17) as one, resourcemanager(18) as other:
        command = client(tmp_path, webapp_address=f"127.0.0.1:{other}")
        match = rf"127\.0\.0\.1:{one} is not the one .* http://127\.0\.0\.1:{other}: name that"
        with pytest.raises(BadConfig, match=match):
            said(command, one)


def test_what_cannot_be_compared_is_left_open(tmp_path: Path) -> None:
    """A client that names no file, and a ResourceManager that does not answer us."""
    with resourcemanager(17) as one:
        with pytest.raises(checks.NotChecked, match="no such-hadoop classpath"):
            said("no such-hadoop", one)
        with pytest.raises(checks.NotChecked, match=r"names no yarn-site\.xml"):
            said(client(tmp_path), one)
        with pytest.raises(
            checks.NotChecked, match=r"submits to http://127\.0\.0\.1:9, .*no answer"
        ):
            said(client(tmp_path, webapp_address="127.0.0.1:9"), one)


def test_a_class_path_of_nothing_is_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that fails says where nothing lies; a file beside whoever asks is not its own."""
    client(tmp_path, hostname="rm")
    monkeypatch.chdir(tmp_path / "etc")
    assert web_addresses("false") == []

"""The sinks of counters."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from weibo_crawler.config import Metrics
from weibo_crawler.errors import BadConfig
from weibo_crawler.metrics import Counters, OpenMetrics


def test_what_a_killed_run_left_of_the_file_is_removed(tmp_path: Path) -> None:
    """The next run removes parts of dead processes; those of living ones and other files stay."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = tmp_path / f"crawl[1].prom.{dead.pid}.140001"
    others = [tmp_path / f"crawl[1].prom.{os.getpid()}.1", tmp_path / "crawl[1].prom.old.1"]
    for file in (left, *others):
        file.write_text("x")
    with OpenMetrics(Metrics(textfile=str(tmp_path / "crawl[1].prom")), Counters(), "harvest"):
        pass
    assert not left.exists()
    assert all(file.exists() for file in others)


def test_a_file_that_can_no_longer_be_written_ends_no_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk may be full for an hour: it is told once, and the run goes on. Before it begins that
    is an error of the settings."""
    folder = tmp_path / "figures"
    metrics = OpenMetrics(Metrics(textfile=str(folder / "run.prom")), Counters(), "posts")
    with pytest.raises(BadConfig, match="cannot write"), metrics:
        pass
    folder.mkdir()
    with metrics:
        folder.rename(tmp_path / "elsewhere")
        metrics.write()
        metrics.write()
        assert len(caplog.records) == 1
        assert "the run goes on" in caplog.text
        folder.mkdir()
        metrics.write()
        assert (folder / "run.prom").exists()


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_address_of_ipv6_to_listen_on() -> None:
    """In brackets, as before any port."""
    with OpenMetrics(Metrics(listen="[::1]:0"), Counters(), "posts"):
        pass

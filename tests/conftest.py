"""What all tests rely on.

Signals as a terminal gives them, however the tests were started: what is ignored here (by `nohup`,
or in the background of a shell) would be ignored by every program that a test starts.

Hypothesis without deadlines: no timing is asserted, and on a busy machine any example may be held
up for longer than 0.2 s. In CI it draws the same examples each time: what it finds by chance is for
whoever runs it by hand. HYPOTHESIS_PROFILE=long (`make test-long`) draws ten times as many, brief
(`make test-all` on all Pythons but one) a tenth: what depends on the Python shows in any example.

`pytest --rest` (on all Pythons but one) leaves out what tests/rest.py lists.

In CI a test that is skipped fails the run, unless its reason is one of MAY_BE_SKIPPED.
"""

import os
import re
import signal
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.examples import TIMES_BY_PROFILE
from tests.rest import is_left_out, is_read

IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")
MAY_BE_SKIPPED = (
    "they run under `make test-stack`",  # which CI runs as well
    "no nginx or no Scrapy",  # `make bench-smoke` has both, and runs the same
    "root may write anywhere",
)

hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
for name, times in TIMES_BY_PROFILE.items():
    hypothesis.settings.register_profile(
        name,
        deadline=None,
        max_examples=round(100 * times),
        derandomize=IN_CI and times < 1,
        print_blob=True,
    )
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if IN_CI else "unhurried")
)

for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        default = signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL
        signal.signal(number, default)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rest", action="store_true", help="without what runs on one Python alone")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("--rest") and collection_path.is_relative_to(config.rootpath):
        return not is_read(str(collection_path.relative_to(config.rootpath))) or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--rest"):
        left_out = [item for item in items if is_left_out(item.nodeid)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not is_left_out(item.nodeid)]


_skipped: set[str] = set()  # of this process, and of the workers that have ended


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        _skipped.add(_told(report))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A module that skips itself: xdist's workers collect, and say nothing of it."""
    if report.skipped:
        _skipped.add(_told(report))


def _told(report: pytest.TestReport | pytest.CollectReport) -> str:
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return f"{report.nodeid}: {why.removeprefix('Skipped: ')}"


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    _skipped.update(getattr(node, "workeroutput", {}).get("skipped", ()))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    workeroutput = getattr(session.config, "workeroutput", None)
    if workeroutput is not None:
        workeroutput["skipped"] = sorted(_skipped)
        return
    allowed = "|".join(map(re.escape, MAY_BE_SKIPPED))
    wrong = [told for told in sorted(_skipped) if not re.search(rf": ({allowed})", told)]
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if IN_CI and wrong:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        for told in ("", *wrong):
            reporter.write_line(f"skipped, which fails in CI: {told}" if told else "")

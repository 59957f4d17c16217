"""Worlds and sites that another hand wrote: the tools of WEIBO_FOREIGN, ../shared/foreign if unset.

Where they are missing the tests are skipped with a word, but in CI they fail.
"""

import os
import shutil
from pathlib import Path

import pytest

from tests.foreign.worlds import World, build

_DEFAULT = Path(__file__).parents[2] / "../shared/foreign"


def _missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"{what}; CI needs it")
    pytest.skip(what)


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder of the foreign tools."""
    folder = Path(os.environ.get("WEIBO_FOREIGN") or _DEFAULT).resolve()
    if not (folder / "world.py").is_file():
        _missing(f"there are no foreign worlds at {folder}: set WEIBO_FOREIGN")
    return folder


@pytest.fixture(scope="session")
def nginx() -> None:
    if shutil.which("nginx") is None and not Path("/usr/sbin/nginx").exists():
        _missing("nginx is not installed: it serves the foreign world")


@pytest.fixture(scope="session")
def world(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A small world with odd cards, whose lists show less than they announce."""
    return build(tools, tmp_path_factory.mktemp("world"))

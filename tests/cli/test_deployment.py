"""The files for containers are such as their linters take."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPERATE = ROOT / "conf/operate"
_BIN = Path(sys.executable).parent
HADOLINT = (_BIN / "hadolint", "--no-color")
YAMLLINT = (_BIN / "yamllint", "--strict", "--format", "parsable", "--config-data")
# an expression of an alert stays on its line, and a file needs no mark at its beginning
_YAML = "{extends: default, rules: {line-length: {max: 110}, document-start: disable}}"

has_hadolint = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="hadolint is packed for x86-64 alone"
)


def objections(*words: str | Path, given: str = "") -> str:
    done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == bool(done.stdout), done.stderr
    return done.stdout + done.stderr


@has_hadolint
def test_the_container_file() -> None:
    assert objections(*HADOLINT, OPERATE / "Containerfile") == ""


@pytest.mark.parametrize("path", sorted(OPERATE.glob("*.y*ml")), ids=lambda path: path.name)
def test_files_of_yaml(path: Path) -> None:
    assert objections(*YAMLLINT, _YAML, path) == ""


@has_hadolint
def test_an_image_without_a_tag_is_named() -> None:
    assert "DL3006" in objections(*HADOLINT, "-", given="FROM python\n")


def test_a_key_that_stands_twice_is_named() -> None:
    assert "duplication of key" in objections(*YAMLLINT, _YAML, "-", given="{a: 1, a: 2}\n")

"""What is left out on all Pythons but one."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rest import ONCE, STAY, is_left_out, is_read

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("place", [*ONCE, *STAY])
def test_each_place_on_the_lists_is_there(place: str) -> None:
    """Who moves or renames a test finds the list that names it; what stays is on the other one."""
    path, _, test = place.partition("::")
    files = [file for file in ROOT.glob(f"{path}*") if file.suffix in ("", ".py")]
    assert files
    name = test.partition("[")[0].rpartition("::")[2]
    assert not test or f"def {name}(" in "".join(
        each.read_text("utf-8") for each in (*files, *ROOT.glob("tests/contracts/*.py"))
    )
    assert is_left_out(place) == (place not in STAY)


def test_a_file_of_which_one_test_stays_is_read() -> None:
    """And the folders above it; others are not, so that what they import need not be installed."""
    for path in ("tests/cli", "tests/cli/test_whole_way.py", "tests/fetch/test_leases.py"):
        assert is_read(path)
    assert not is_read("tests/cli/test_analysts_doc.py")
    assert not is_read("tests/store/test_mysql.py")


def test_pytest_leaves_them_out() -> None:
    """By an option, a file or a test of it; without it, nothing."""
    places = ["tests/fetch/test_leases.py", "tests/test_gates.py", "tests/test_walls.py"]
    found = {}
    for option in ([], ["--rest"]):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only"]
        done = subprocess.run(
            [*command, *option, *places], cwd=ROOT, capture_output=True, text=True
        )
        lines = done.stdout.splitlines()
        found["".join(option)] = {line.partition("[")[0] for line in lines if "::" in line}
    out = found[""] - found["--rest"]
    assert found["--rest"] < found[""]
    assert {place.partition("::")[0] for place in out} == set(places[:2])
    assert sum(place.startswith(places[0]) for place in out) == 1

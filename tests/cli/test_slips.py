"""Slips of the command line and of settings: what is wrong is named in the user's own words, with
what to do, and no name of ours leaks."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl
from weibo_crawler.config import load
from weibo_crawler.errors import BadConfig

_OURS = re.compile(
    r"\b_[A-Z][a-z]\w+|Traceback|msgspec|regex|NoneType|Namespace|Errno|<\w+ object|`str`"
)


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("WEIBO_STORE_USERS=x", "WEIBO_STORE__USERS"),
        ("WEIBO_HARVEST_MINFANS=5", "WEIBO_HARVEST__MIN_FANS"),
        ("WEIBO_HARVEST=5", "WEIBO_HARVEST__<KEY>"),
        ("WEIBO_HARVEST__EDGES=fan", "use fans, follows, reposts, comments, reposters, mentions"),
        ("WEIBO_EGRESS__DIRECT_NAME=a b", "letters, digits"),
        ("WEIBO_HARVST__MIN_FANS=5", "did you mean harvest.min_fans?"),
    ],
)
def test_a_variable(tmp_path: Path, variable: str, said: str) -> None:
    """Exit code 3; the variable that was given is named, and the one that was meant."""
    name, _, value = variable.partition("=")
    words = Crawl(tmp_path).run("status", code=3, **{name: value}).stderr
    assert name in words
    assert said in words
    assert not _OURS.search(words), words


def test_variables_of_other_programs(tmp_path: Path) -> None:
    """What is like no setting of ours is left alone."""
    others = {"WEIBO_TOKEN": "x", "WEIBO_SITE_ID": "7", "WEIBO_STORE_FRONT_COLOUR": "red"}
    Crawl(tmp_path).run("doctor", **others)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[harvst]\nmin_fans = 5\n", "no section [harvst]; did you mean [harvest]?"),
        ("[harvest]\nmin_fan = 5\n", "did you mean harvest.min_fans?"),
        ('[harvest]\nedges = ["fan"]\n', "use fans, follows"),
        ("[[harvest]]\n", "expected a section"),
        ("[harvest\n", "not valid TOML"),
    ],
)
def test_a_settings_file(tmp_path: Path, text: str, said: str) -> None:
    """Exit code 3; the file is named."""
    (tmp_path / "mine.toml").write_text(text)
    words = Crawl(tmp_path).run("status", "--config", "mine.toml", code=3).stderr
    assert "mine.toml" in words
    assert said in words
    assert not _OURS.search(words), words


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("scan posts --uid abc", 2, "no uid of Sina Weibo; a uid is what stands for <uid> in http"),
        ("seed folder", 3, "folder is a folder: give a file"),
        ("seed people.csv", 3, "people.csv: cannot be read"),
        ("seed wrong.txt", 2, "wrong.txt:2: 'a b' is no seed"),
        ("seed wrong.txt", 2, "wrong as well: lines 4, 5"),
        ("export users -o -", 2, "`export` writes a file, not stdout"),
        ("report -o -", 2, "`report` writes a file, not stdout"),
        ("export users", 2, "say where to: export users -o users.parquet"),
        ("export -o x.csv", 2, "say which rows: export posts -o x.csv"),
        ("export users -o folder", 2, "folder is a folder: name a file in it"),
        ("report -o folder", 2, "folder is a folder: name a file in it"),
    ],
)
def test_a_command_line(tmp_path: Path, words: str, code: int, said: str) -> None:
    """The file, the line and the remedy are named; no store is made."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "wrong.txt").write_text("1\na b\n# none\nhttp://example.com/u/1\n0\nname\n")
    done = Crawl(tmp_path).run(*words.split(), code=code)
    assert said in done.stderr
    assert not _OURS.search(done.stderr), done.stderr
    assert list(tmp_path.glob("*.db*")) == []


@pytest.mark.parametrize(
    "words",
    [
        "seed",
        "forget --yes",
        "status --config",
        "posts --ids",
        "posts --manifest",
        "media -o",
        "export posts -o",
        "export --dataset",
        "report -o",
        "verify",
        "reparse",
        "demo --dir",
        "doctor --site --record",
    ],
)
def test_an_empty_argument(tmp_path: Path, words: str) -> None:
    """`"$UNSET"` names no file and no user, and never the working folder; nothing is written."""
    for empty in ("", " "):
        said = Crawl(tmp_path).run(*words.split(), empty, code=2).stderr
        assert "names no file or folder" in said or "is no seed" in said
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "place",
    [
        "archive.folder",
        "egress.proxies_file",
        "store.password_file",
        "metrics.textfile",
        "hadoop.streaming_jar",
    ],
)
@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_place(tmp_path: Path, place: str, empty: str) -> None:
    """A setting that names a place is left out or names one: an empty text is neither off nor the
    working folder, in the file and in a variable; the variable takes `none`."""
    section, key = place.split(".")
    file = tmp_path / "mine.toml"
    file.write_text(f"[{section}]\n{key} = '{empty}'\n")
    variable = f"WEIBO_{section}__{key}".upper()
    for given, environ in ((file, {}), (None, {variable: empty})):
        with pytest.raises(BadConfig, match=f"{place}: an empty text names no place"):
            load(given, environ | {"WEIBO_BASE_DIR": str(tmp_path)})
    load(None, {variable: "none", "WEIBO_BASE_DIR": str(tmp_path)})


def test_many_wrong_seeds(tmp_path: Path) -> None:
    """Of very many only some are named, and the others counted."""
    (tmp_path / "wrong.txt").write_text("a b\n" * 1000)
    said = Crawl(tmp_path).run("seed", "wrong.txt", code=2).stderr
    assert "11 and 989 more" in said


def test_a_stop_while_the_program_is_imported(tmp_path: Path) -> None:
    """Ctrl-C before the command has begun: one line and exit code 130, as at any other moment."""
    slow = tmp_path / "slow"
    slow.mkdir()
    # the first module that the command line imports takes its time, and says when it has begun
    (slow / "difflib.py").write_text("print('begun', flush=True)\nimport time\ntime.sleep(30)\n")
    root = Path(__file__).parents[2]
    env = os.environ | {"PYTHONPATH": f"{slow}:{root}"}
    command = [sys.executable, "-m", "weibo_crawler", "status"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, "weibo-crawler: interrupted\n")

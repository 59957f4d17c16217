"""The examples of the docs that read HBase give what the tables hold, by the names of the docs."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.stack.conftest import ROOT, Running, why_not
from tests.stack.hbase_worlds import drop

if why_not():
    pytest.skip(why_not(), allow_module_level=True)

PAGES = ("cluster.md", "tables.md")
_END = "=" * 40  # of a page; the shell repeats what it is told
_USER = "e5-1234567890"
_POSTS = ("99999999995012345678", "99999994964508379999")


@pytest.fixture(scope="module")
def namespace(stack: Running) -> Iterator[str]:
    """A namespace of the examples, which stays; the tables in it do not."""
    name = "weibo_examples"
    url = f"{stack.addresses['STACK_TABLES']}/{name}:"
    drop(url)
    yield name
    drop(url)


@pytest.fixture(scope="module")
def said(stack: Running, namespace: str) -> dict[str, str]:
    """What the shell says to the lines of each page, once it has made the tables, and put a user
    and two posts: it takes longer to start than for all of this."""
    lines = ["load 'conf/hbase_schema.rb'", *_puts(namespace), "puts '=' * 40"]
    for page in PAGES:
        lines += [*_examples(page, namespace)[0], "puts '=' * 40"]
    done = stack.run(
        *(stack.addresses["STACK_HBASE"], "shell", "-n"),
        text="\n".join([*lines, ""]),
        WEIBO_TABLE_NAMESPACE=namespace,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made, *pages, _ = done.stdout.split(_END)
    assert "posts, 16 regions" in made
    assert "schema: as it should be" in made
    return dict(zip(PAGES, pages, strict=True))


def _puts(namespace: str) -> list[str]:
    """The rows, as lines for the shell."""
    rows = {("userlist", _USER): {"user:id": "1234567890", "crawl:state": "failed"}}
    for mid in _POSTS:
        rows["posts", f"{_USER}-{mid}"] = {"post:text": "a word", "count:likes": "17"}
    return [
        f"put '{namespace}:{table}', '{key}', '{column}', '{value}', 1"
        for (table, key), cells in rows.items()
        for column, value in cells.items()
    ]


def _examples(page: str, namespace: str) -> tuple[list[str], str]:
    """The lines for HBase's shell, and those for Python, of tables that are in this namespace."""
    lines = re.findall(
        r"^ {4}(\S.*| {4}.*)$", (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE
    )
    shell = [line for line in lines if line.startswith(("scan '", "get '"))]
    first = lines.index("import happybase")
    python = lines[first : first + (4 if "for " in lines[first + 2] else 3)]
    named = [re.sub(r"'(?:weibo:)?(posts|userlist)'", rf"'{namespace}:\1'", each) for each in shell]
    code = re.sub(r'"(?:weibo:)?posts"', f'"{namespace}:posts"', "\n".join(python))
    return named, code


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_the_shell_and_of_happybase(
    stack: Running,
    namespace: str,
    said: dict[str, str],
    page: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each line is run as it stands, but for the host and the namespace."""
    shell, python = _examples(page, namespace)
    assert len(shell) >= 3
    assert said[page].count("row(s)") == len(shell)
    assert "\n0 row(s)" not in said[page]
    assert "value=a word" in said[page]
    assert "value=17" in said[page]
    at = urlsplit(stack.addresses["STACK_TABLES"])
    python = re.sub(
        r'Connection\("[\w.]+"(, 9090)?', f'Connection("{at.hostname}", {at.port}', python
    )
    held: dict[str, object] = {}
    exec(python, held)
    rows = held.get("rows")
    printed = capsys.readouterr().out
    for mid in _POSTS:
        assert f"{_USER}-{mid}" in f"{printed}{rows}"
    assert "a word" in f"{printed}{rows}"

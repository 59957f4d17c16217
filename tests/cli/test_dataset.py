"""`export --dataset` and `verify`: a folder to hand on, and what was done to it since."""

import json
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.crawls import Crawl, simulated, walk_with_echoes
from weibo_crawler.analysis.dataset import verify
from weibo_crawler.analysis.export import arrow_of

# of the checker's own libraries
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
TABLES = ("users", "posts", "comments", "reposts", "edges", "ledgers")


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """Users, posts, comments and reposts of a small site."""
    with simulated(tmp_path_factory.mktemp("site"), users=60, mean_posts=8.0) as (crawl, truth):
        walk_with_echoes(crawl, truth)
        crawl.run("export", "--dataset", "whole")
        yield crawl


@pytest.fixture
def whole(crawl: Crawl, tmp_path: Path) -> Path:
    """A copy of a dataset, to be damaged."""
    return Path(shutil.copytree(crawl.folder / "whole", tmp_path / "copy"))


def rows(folder: Path, table: str) -> int:
    return sum(pq.read_metadata(file).num_rows for file in (folder / table).rglob("*.parquet"))


def sign(folder: Path) -> None:
    """Write the checksums anew, as somebody who covers a change would."""
    files = sorted(f for f in folder.rglob("*") if f.is_file() and f.name != "SHA256SUMS")
    lines = [f"{sha256(f.read_bytes()).hexdigest()}  {f.relative_to(folder)}\n" for f in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


def wrong(crawl: Crawl, folder: Path) -> str:
    done = crawl.run("verify", str(folder), code=5)
    return done.stdout + done.stderr


@pytest.mark.parametrize("by", [None, "month", "salt"])
def test_everything_is_there_once(crawl: Crawl, by: str | None) -> None:
    """Each row that scan prints, once; other tools read it, and the card agrees with a checker that
    is not ours. What is parted otherwise are the posts."""
    name = f"by-{by}"
    crawl.run("export", "--dataset", name, *(["--by", by] if by else []))
    folder = crawl.folder / name
    found = {table: rows(folder, table) for table in TABLES}
    assert found["posts"] == len(list(crawl.scan("posts"))) > 100
    assert found["users"] == found["ledgers"] == len(list(crawl.scan("users", "--imported")))
    assert found["comments"] > 0 < found["edges"]
    assert found["reposts"] == len(list(crawl.scan("reposts"))) > 0
    import duckdb  # here: on all Pythons but one it is not installed

    with duckdb.connect() as db:
        hive = f"read_parquet('{folder}/posts/**/*.parquet', hive_partitioning = true)"
        query = f"select count(distinct mid) {f', count(distinct {by})' if by else ''} from {hive}"
        counts = db.execute(query).fetchone()
    assert counts is not None
    assert counts[0] == found["posts"]
    assert by is None or counts[1] == len(list((folder / "posts").iterdir())) > 1
    import mlcroissant  # here: it takes a second, and each process that runs tests reads this file

    card = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert "error" not in card.metadata.issues.report().lower()
    for table in TABLES if by is None else ["posts"]:
        assert sum(1 for _ in card.records(table)) == found[table]
    crawl.run("verify", name)


def test_the_card_says_what_was_not_seen(whole: Path) -> None:
    """For people and for programs: users by how their visits ended, and what is held of what."""
    figures = json.loads((whole / "completeness.json").read_bytes())
    assert figures["tables"]["posts"]["rows"] == figures["completeness"]["stored"]
    assert figures["tables"]["users"]["states"] == {"done": rows(whole, "users")}
    read_me = (whole / "README.md").read_text("utf-8")
    assert "share held, of those announced" in read_me
    assert "| `created_at` | time by the site's clock |" in read_me


def test_any_changed_byte_is_found(crawl: Crawl, whole: Path) -> None:
    """In whichever file; also one that is missing, and one that was not there."""
    arrow = arrow_of()
    for file in [f for f in whole.rglob("*") if f.is_file()]:
        was = file.read_bytes()
        for place in (0, len(was) // 2, len(was) - 1):
            file.write_bytes(was[:place] + bytes([was[place] ^ 1]) + was[place + 1 :])
            assert list(verify(arrow, whole))
        file.write_bytes(was)
    crawl.run("verify", str(whole))
    (whole / "more.parquet").write_bytes(b"")
    assert "more.parquet is not in SHA256SUMS" in wrong(crawl, whole)
    (whole / "more.parquet").unlink()
    (whole / "README.md").unlink()
    assert "README.md is missing" in wrong(crawl, whole)


def test_what_was_signed_again_is_found_by_the_figures(crawl: Crawl, whole: Path) -> None:
    """A dropped user, an edited count, a state: each table is counted again."""
    [users] = (whole / "users").iterdir()
    table = pq.read_table(users)
    pq.write_table(table.slice(1), users)
    sign(whole)
    said = wrong(crawl, whole)
    assert f"users has {table.num_rows - 1:,} rows in place of {table.num_rows:,}" in said
    assert "users are done in place of" in said
    pq.write_table(table, users)
    [posts] = (whole / "posts").iterdir()
    data = pq.read_table(posts).to_pydict()
    likes = next(i for i, n in enumerate(data["likes"]) if n)
    data["likes"][likes] += 1
    pq.write_table(pq.read_table(posts).schema.empty_table().from_pydict(data), posts)
    sign(whole)
    assert "posts: the sum of likes is" in wrong(crawl, whole)


def test_a_folder_that_holds_anything_is_left_alone(crawl: Crawl, tmp_path: Path) -> None:
    """An empty one may be there; a file, a full folder, a part of the options, is refused."""
    (tmp_path / "there").mkdir()
    crawl.run("export", "--dataset", str(tmp_path / "there"))
    crawl.run("export", "--dataset", str(tmp_path / "there"), code=2)
    (tmp_path / "file").write_text("mine")
    crawl.run("export", "--dataset", str(tmp_path / "file"), code=2)
    assert (tmp_path / "file").read_text() == "mine"
    crawl.run("export", "posts", "--dataset", str(tmp_path / "new"), code=2)
    crawl.run("export", "posts", "-o", "a.csv", "--by", "month", code=2)
    crawl.run("export", "posts", code=2)
    crawl.run("verify", str(tmp_path), code=2)
    (tmp_path / "file").touch()
    assert "file is no dataset" in crawl.run("verify", str(tmp_path / "file"), code=2).stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "there"]


def test_what_a_killed_export_left_is_removed_by_the_next(crawl: Crawl, tmp_path: Path) -> None:
    """Its folder is not there, and its part goes."""
    part = tmp_path / ".set.0a1b2c3d.part"
    (part / "posts").mkdir(parents=True)
    (part / "SHA256SUMS").touch()
    (part / "posts" / "posts-0.parquet").write_bytes(b"half")
    crawl.run("export", "--dataset", str(tmp_path / "set"))
    assert [one.name for one in tmp_path.iterdir()] == ["set"]


def test_csv_for_excel(crawl: Crawl, tmp_path: Path) -> None:
    """By a flag, wherever rows become CSV; with another format it is refused before anything is
    written. A dataset has no CSV."""
    file = tmp_path / "posts.csv"
    crawl.run("export", "posts", "--columns", "mid,likes", "--excel", "-o", str(file))
    lines = file.read_text("utf-8").splitlines()
    assert lines[0] == "\ufeffmid,likes"
    assert all(line.startswith('"=""') for line in lines[1:])
    assert len(lines) == 1 + len(list(crawl.scan("posts")))
    assert crawl.run("scan", "posts", "--columns", "mid", "--excel").stdout[0] == "\ufeff"
    told = crawl.run("report", "--completeness", "--format", "csv", "--excel").stdout
    assert told.startswith("\ufeffid,")
    crawl.run("export", "posts", "--excel", "-o", str(tmp_path / "p.parquet"), code=2)
    crawl.run("export", "posts", "--excel", "--format", "jsonl", "-o", str(tmp_path / "p"), code=2)
    crawl.run("export", "--dataset", str(tmp_path / "d"), "--excel", code=2)
    crawl.run("report", "--excel", "-o", str(tmp_path / "r.html"), code=2)
    assert [one.name for one in tmp_path.iterdir()] == ["posts.csv"]

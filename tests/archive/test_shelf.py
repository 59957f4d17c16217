"""Files that are to go elsewhere: where mappers write on YARN."""

import threading
from pathlib import Path

import pytest

from tests.archive.answers import answer, archive, whole
from tests.cli.crawls import Crawl
from weibo_crawler.archive.shelf import Shelf
from weibo_crawler.errors import StoreError

# as much of Hadoop's client as the archive uses
_HADOOP = """#!/bin/sh
[ "$1" = fs ] && [ "$2" = -D ] || exit 2
shift 3
case "$1" in
-mkdir) mkdir -p "$HDFS" ;;
-put)
  shift
  if [ "$1" = -f ]; then shift; elif [ -e "$HDFS/${1##*/}" ]; then exit 1; fi
  cp "$1" "$HDFS/" ;;
*) exit 2 ;;
esac
"""


def test_complete_files_go_elsewhere(tmp_path: Path) -> None:
    """Each when it is full or the process ends, and nothing of it stays."""
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    shelf = Shelf(lambda path: (there / path.name).write_bytes(path.read_bytes()) and None)
    kept = archive(here, max_bytes=2_000, shelf=shelf)
    for uid in range(1, 11):
        kept.keep(answer(uid))
    kept.close()
    assert list(here.iterdir()) == []
    assert len(list(there.iterdir())) > 2
    assert all(map(whole, there.iterdir()))


def test_what_cannot_go_stays_and_is_said(tmp_path: Path) -> None:
    def put(path: Path) -> None:
        raise StoreError("HDFS: no such host")

    kept = archive(tmp_path, shelf=Shelf(put))
    kept.keep(answer())
    with pytest.raises(StoreError, match=r"stays here: HDFS: no such host"):
        kept.close()
    (path,) = tmp_path.iterdir()
    assert whole(path)


def test_what_a_killed_process_left_goes_with_the_next(tmp_path: Path) -> None:
    """But not what another one is writing."""
    left, other = archive(tmp_path), archive(tmp_path)
    left.close()
    gone: list[str] = []
    shelf = Shelf(lambda path: gone.append(path.name))
    shelf.take_left(tmp_path)
    shelf.close()
    assert gone == ["posts-run-one-00001.warc.gz"]
    other.close()


def test_one_process_takes_a_file(tmp_path: Path) -> None:
    """Whoever begins while another one puts its last file leaves that alone, as does a third what
    the second has found; and a file that was just made is not taken from its writer."""
    gone: list[str] = []
    came, may_end = threading.Semaphore(0), threading.Event()
    archive(tmp_path).close()

    def put(path: Path) -> None:
        gone.append(path.name)
        came.release()
        assert may_end.wait(20)

    first, second = Shelf(put), Shelf(put)
    kept = archive(tmp_path / "more", shelf=first)
    own = threading.Thread(target=kept.close)
    own.start()
    second.take_left(tmp_path)
    assert all(came.acquire(timeout=20) for _ in range(2))
    (tmp_path / "posts-new-00001.warc.gz.open").touch()
    third = Shelf(put)
    for folder in (tmp_path, tmp_path / "more"):
        third.take_left(folder)
    may_end.set()
    for shelf in (second, third):
        shelf.close()
    own.join()
    assert len(gone) == 2
    assert [path.name for path in tmp_path.rglob("*.warc.*")] == ["posts-new-00001.warc.gz.open"]


def test_a_folder_of_hdfs(tmp_path: Path) -> None:
    """By the `hadoop` command of the settings. A file that lies there goes once more where its
    process was killed before it could remove it here."""
    command, there = tmp_path / "hadoop", tmp_path / "hdfs"
    command.write_text(_HADOOP)
    command.chmod(0o755)
    crawl = Crawl(tmp_path)
    crawl.env |= {
        "WEIBO_ARCHIVE__FOLDER": "hdfs:///archive",
        "WEIBO_HADOOP__COMMAND": str(command),
        "HDFS": str(there),
    }
    crawl.run("seed", "7")
    (path,) = there.iterdir()
    assert whole(path)
    (here,) = tmp_path.glob("*outgoing*")
    (here / path.name).write_bytes(path.read_bytes())
    crawl.run("seed", "9")
    assert ([*here.iterdir()], len([*there.iterdir()])) == ([], 2)
    assert "hadoop fs -get hdfs:///archive" in crawl.run("reparse", code=2).stderr
    command.write_text("#!/bin/sh\nexit 1\n")
    assert "HDFS" in crawl.run("seed", "8", code=5).stderr

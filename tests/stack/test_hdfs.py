"""HDFS by both ways: its web interface and the `hadoop` command, each beside the other."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.stack.conftest import Running
from tests.stack.webhdfs import WebHdfs as Other
from weibo_crawler.errors import StoreError
from weibo_crawler.posts.hdfs import Hdfs, HdfsCommand, user
from weibo_crawler.posts.webhdfs import WebHdfs


@pytest.fixture(params=["web", "command"])
def hdfs(request: pytest.FixtureRequest, stack: Running) -> Hdfs:
    """By the way that is tested; the first address of the web interface is of a dead NameNode."""
    at = stack.addresses
    if request.param == "command":
        return HdfsCommand(at["STACK_HADOOP"])
    return WebHdfs(f"http://127.0.0.1:9,{at['STACK_NAMENODE']}", user())


@pytest.fixture
def folder(stack: Running) -> Iterator[str]:
    """A folder of HDFS that is not there yet."""
    path = f"/tmp/hdfs-{uuid4().hex[:6]}"
    yield f"{stack.addresses['STACK_HDFS']}{path}"
    Other(stack).remove(path)


def test_what_a_job_needs(hdfs: Hdfs, folder: str, stack: Running, tmp_path: Path) -> None:
    """Files travel whole and for their owner alone, whatever the names; what is there, or not, is
    told."""
    (tmp_path / "all" / "in").mkdir(parents=True)
    (tmp_path / "all" / "in" / "lines é.txt").write_text("a\nb\n")
    (tmp_path / "part-1").write_text("one\n")
    (tmp_path / "empty").touch()
    path = folder.partition("://")[2].partition("/")[2]
    assert not hdfs.exists(folder)
    with pytest.raises(StoreError, match=r"HDFS: .*hdfs-"):
        hdfs.names(folder)
    hdfs.make_folder(f"{folder}/deep")
    hdfs.make_folder(f"{folder}/deep")
    hdfs.put([tmp_path / "all"], f"{folder}/job")
    hdfs.put([tmp_path / "part-1", tmp_path / "empty"], f"{folder}/job")
    assert hdfs.names(folder) == {"deep", "job"}
    assert hdfs.names(f"{folder}/job") == {"in", "part-1", "empty"}
    other = Other(stack)
    files = dict(other.files(f"/{path}"))
    assert set(files.values()) == {"600"}
    assert len(files) == 3
    assert other.read(f"/{path}/job/in/lines é.txt") == "a\nb\n"
    assert hdfs.read(f"{folder}/job/part-*") == "one\n"
    hdfs.move(f"{folder}/job", f"{folder}/done")
    assert (hdfs.exists(f"{folder}/job"), hdfs.exists(f"{folder}/done/in")) == (False, True)
    with pytest.raises(StoreError, match="HDFS: "):
        hdfs.read(f"{folder}/nothing/part-*")
    hdfs.remove(f"{folder}/done", f"{folder}/never")
    assert hdfs.names(folder) == {"deep"}
    hdfs.remove()


def test_a_file_is_there_whole_or_not_at_all(hdfs: Hdfs, folder: str, tmp_path: Path) -> None:
    """Who comes second with the same file finds it there; what is put again is replaced; no part
    stays behind."""
    first, target = tmp_path / "file", f"{folder}/archive"
    first.write_bytes(b"x" * 200_000)
    hdfs.make_folder(folder)
    hdfs.put_once(first, target)
    hdfs.put_once(first, target)
    assert len(hdfs.read(target)) == 200_000
    hdfs.put_again(first, folder)
    first.write_text("new")
    hdfs.put_again(first, folder)
    assert hdfs.read(f"{folder}/file") == "new"
    assert hdfs.names(folder) == {"archive", "file"}
    with pytest.raises(StoreError, match="HDFS: "):
        hdfs.put_once(first, f"{target}/below")


def test_a_namenode_that_is_away() -> None:
    """Which one, in one line."""
    away = WebHdfs("http://127.0.0.1:9", "me")
    with pytest.raises(StoreError, match=r"hadoop.namenode: http://127.0.0.1:9 cannot be reached"):
        away.exists("hdfs:///tmp")

"""What stands in the files, and what is left of them after a kill."""

import gzip
import os
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import zstandard

from tests.archive.answers import BASE, answer, archive, records, whole
from weibo_crawler.archive.forgetting import forget_in
from weibo_crawler.archive.reader import ArchiveIndex, files_of
from weibo_crawler.errors import StoreError, StoreFull
from weibo_crawler.records import Reading, Verdict

SECRET = "hunter2"
ReadBack = Callable[..., ArchiveIndex]


@pytest.fixture
def read_back(tmp_path: Path) -> Iterator[ReadBack]:
    """Reads these files, or all there are; what was opened is closed."""
    with ExitStack() as opened:

        def read(*files: Path) -> ArchiveIndex:
            named = list(files) or files_of([tmp_path])
            index = ArchiveIndex(tmp_path / "index.db", named, print)
            opened.callback(index.close)
            return index

        yield read


def test_an_answer_is_a_request_and_a_response(tmp_path: Path) -> None:
    """WARC 1.1: request, verdict, egress and time of an answer, its body as it was on the wire."""
    kept = answer(egress="10.0.0.1:3128")
    with_archive = archive(tmp_path)
    with_archive.keep(kept)
    with_archive.close()
    (path,) = tmp_path.iterdir()
    assert whole(path)
    info, question, response = records(path)
    assert [info[0], question[0], response[0]] == ["warcinfo", "request", "response"]
    assert question[1]["WARC-Target-URI"] == response[1]["WARC-Target-URI"] == kept.request.url
    assert question[1]["WARC-Concurrent-To"] == response[1]["WARC-Record-ID"]
    assert response[1]["Crawler-Verdict"] == "ok"
    assert response[1]["Crawler-Egress"] == "10.0.0.1:3128"
    assert response[1]["WARC-Date"] == "2023-11-14T22:13:20.123457Z"
    assert response[1].keys() >= {"WARC-Payload-Digest", "WARC-Block-Digest"}
    assert kept.page is not None
    assert response[2] == kept.page.body


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("packed", [True, False])
def test_what_is_kept_comes_back(
    tmp_path: Path, compression: str, packed: bool, read_back: ReadBack
) -> None:
    """The same page, time to the last digit, and what the caller was told."""
    told = Reading(Verdict.LOGIN_WALL, why="ok -100", ambiguous=True)
    kept = answer(packed=packed, told=told, read=Reading(Verdict.LOGIN_WALL))
    with_archive = archive(tmp_path, compression=compression)
    with_archive.keep(kept)
    with_archive.close()
    index = read_back()
    (process,) = index.writers("posts")
    (back,) = index.of_user(process, 7)
    assert back.page() == kept.page
    assert back.exchange.told is not None
    assert (back.exchange.read, back.exchange.told.verdict) == ("login_wall", "login_wall")
    assert back.exchange.told.ambiguous
    if compression == "zstd":
        (path,) = tmp_path.glob("*.warc.zst")
        assert (
            zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())[:4]
            == b"WARC"
        )


def test_a_request_without_an_answer_is_noted(tmp_path: Path, read_back: ReadBack) -> None:
    """Else a later reparse could not tell a failure from the end of the archive."""
    told = Reading(Verdict.SERVER_TROUBLE, why="no whole answer")
    with_archive = archive(tmp_path)
    with_archive.keep(answer()._replace(page=None, reading=None, told=told))
    with_archive.close()
    index = read_back()
    (back,) = index.of_user(index.writers("posts")[0], 7)
    assert back.page() is None
    assert back.exchange.told is not None
    assert back.exchange.told.why == "no whole answer"


def test_no_secret_is_kept(tmp_path: Path) -> None:
    """Neither cookies nor accounts, whichever part of an exchange brought them (law 11)."""
    kept = answer(headers=(("content-type", "text/html"), ("set-cookie", f"SUB={SECRET}")))
    url = kept.request.url.replace("http://", f"http://me:{SECRET}@")
    headers = (("Cookie", SECRET), ("X-XSRF-TOKEN", SECRET), ("Authorization", SECRET))
    asked = type(kept.request)(kept.request.kind, url, uid=7, headers=headers)
    with_archive = archive(tmp_path)
    with_archive.keep(kept._replace(request=asked))
    with_archive.close()
    (path,) = tmp_path.iterdir()
    assert whole(path)
    assert SECRET.encode() not in gzip.decompress(path.read_bytes())
    assert records(path)[1][1]["WARC-Target-URI"].startswith(BASE)


def test_a_full_file_is_closed_and_another_begun(tmp_path: Path) -> None:
    """No file grows by more than one answer beyond the limit, and each begins with its warcinfo."""
    with_archive = archive(tmp_path, max_bytes=2_000)
    for uid in range(1, 21):
        with_archive.keep(answer(uid))
    with_archive.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) > 3
    assert all(path.stat().st_size < 4_000 and whole(path) for path in files)
    assert all(records(path)[0][0] == "warcinfo" for path in files)
    uids = [r[1]["WARC-Target-URI"] for path in files for r in records(path) if r[0] == "response"]
    assert len(uids) == 20
    assert not any(path.stat().st_mode & 0o077 for path in files)


def test_nobody_appends_to_a_file_of_another(tmp_path: Path) -> None:
    """Two archives of one name write two files."""
    first, second = archive(tmp_path), archive(tmp_path)
    first.keep(answer(1))
    second.keep(answer(2))
    first.close()
    second.close()
    assert [len(records(path)) for path in sorted(tmp_path.iterdir())] == [3, 3]


def test_records_are_whole_after_kill_9(tmp_path: Path, read_back: ReadBack) -> None:
    """What `keep` has returned from is in the file, whole, when the process is killed."""
    program = """
        import sys
        from pathlib import Path
        from tests.archive.answers import answer, archive
        kept = archive(Path(sys.argv[1]))
        for uid in range(1, 10**6):
            kept.keep(answer(uid, {"ok": 1, "text": "x" * 5000}, packed=False))
            print(uid, flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(200)]
    process.kill()
    said += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    acknowledged = [int(line) for line in said if line.endswith("\n")]
    index = read_back()
    (path,) = tmp_path.glob("*.open")
    assert index.answers >= acknowledged[-1] >= 200
    whole_path = tmp_path / path.name.removesuffix(".open")
    path.rename(whole_path)
    assert index.torn or whole(whole_path)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("lost", [1, 8, 150, 700])
def test_a_torn_tail_is_skipped_and_said(
    tmp_path: Path, compression: str, lost: int, read_back: ReadBack
) -> None:
    """However much of the last answer is missing, those before it are read."""
    with_archive = archive(tmp_path, compression=compression)
    with_archive.keep(answer(1))
    before = next(tmp_path.iterdir()).stat().st_size
    with_archive.keep(answer(2, {"ok": 1, "text": os.urandom(600).hex()}))
    with_archive.close()
    (path,) = tmp_path.iterdir()
    os.truncate(path, path.stat().st_size - lost)
    index = read_back(path)
    assert index.users(index.writers("posts")[0]) == [1]
    (torn,) = index.torn
    assert before <= torn.offset < path.stat().st_size
    assert f"{path}: the last {torn.size:,} bytes are no whole record" in str(torn)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_damaged_record_costs_itself(
    tmp_path: Path, compression: str, read_back: ReadBack
) -> None:
    """Law 15: what stands behind it is read, and `forget` keeps it; a body that is compressed
    itself is not taken for a record."""
    with_archive, ends = archive(tmp_path, compression=compression), list[int]()
    inner = gzip.compress(b'{"ok": 1}')
    for n in range(1, 5):
        with_archive.keep(answer(n, {"ok": 1, "text": os.urandom(600).hex()}))
        (path,) = tmp_path.iterdir()
        ends.append(path.stat().st_size)
    with_archive.close()
    (path,) = tmp_path.iterdir()
    body = bytearray(path.read_bytes())
    middle = slice(ends[0] + 40, ends[1] - 40)
    body[middle] = (inner * 100)[: middle.stop - middle.start]
    path.write_bytes(body)
    index = read_back(path)
    assert sorted(index.users(index.writers("posts")[0])) == [1, 3, 4]
    assert ["the file is damaged" in str(torn) for torn in index.torn] == [True]
    (tmp_path / "index.db").unlink()
    forget_in(tmp_path, {77}, print)
    index = read_back(path)
    assert sorted(index.users(index.writers("posts")[0])) == [1, 3, 4]
    assert not index.torn


def test_a_full_disk_is_no_lost_answer(tmp_path: Path) -> None:
    """It is an error, and the file ends with the last whole record."""
    with_archive = archive(tmp_path)
    with_archive.keep(answer(1))
    (path,) = tmp_path.iterdir()
    size = path.stat().st_size
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, limits[1]))
    try:
        with pytest.raises(StoreFull, match=r"archive\.folder"):
            with_archive.keep(answer(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert path.stat().st_size == size
    with_archive.keep(answer(3))
    with_archive.close()
    (path,) = tmp_path.iterdir()
    assert whole(path)
    urls = [r[1]["WARC-Target-URI"] for r in records(path) if r[0] == "response"]
    assert urls == [answer(uid).request.url for uid in (1, 3)]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"archive\.folder"):
        archive(tmp_path / "file")


def test_who_was_forgotten_is_not_kept_again(tmp_path: Path) -> None:
    """Neither what was asked about them, nor their part of what others show."""
    page = {
        "data": {"users": [{"id": 9, "screen_name": "nine"}, {"id": 8, "screen_name": "eight"}]}
    }
    with_archive = archive(tmp_path, is_gone=lambda: {9}.__contains__)
    with_archive.keep(answer(9))
    with_archive.keep(answer(8, page))
    with_archive.keep(answer(0, b"", headers=(("location", "http://site.test/u/9"),)))
    with_archive.close()
    (path,) = tmp_path.iterdir()
    assert whole(path)
    _, _, response = records(path)
    assert b"eight" in response[2]
    assert b"nine" not in response[2]

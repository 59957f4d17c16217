"""People are taken out of files that were written before."""

import fcntl
import os
import resource
import signal
import stat
import zlib
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.archive.answers import answer, archive, records, whole
from weibo_crawler.archive.blanking import blanked_page
from weibo_crawler.archive.forgetting import forget_in
from weibo_crawler.archive.reader import ArchiveIndex, files_of
from weibo_crawler.errors import StoreError, StoreFull
from weibo_crawler.records import Page

THEM = {"id": 9, "screen_name": "nine"}
OTHER = {"id": 8, "screen_name": "eight"}


def _post(mid: int, user: object, **more: object) -> dict[str, object]:
    return {"id": str(mid), "mid": str(mid), "text": f"text {mid}", "user": user, **more}


def _forget(folder: Path) -> tuple[int, int, tuple[str, ...]]:
    return forget_in(folder, {9}, lambda text: None)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_what_is_theirs_goes_and_the_rest_stays(tmp_path: Path, compression: str) -> None:
    """Answers to what had asked for them, their items in lists, their posts in reposts."""
    repost = _post(81, OTHER, retweeted_status=_post(91, THEM, reads="theirs"))
    comments = [{"id": "5", "user": THEM, "text": "by nine"}, {"id": "6", "user": OTHER}]
    item = {"card_type": 10, "user": THEM, "scheme": "http://site.test/u/9"}
    with_archive = archive(tmp_path, compression=compression)
    with_archive.note("seeds", [8, 9], 1.0)
    with_archive.keep(answer(9))
    with_archive.keep(answer(8, {"cards": [{"card_type": 9, "mblog": repost}]}))
    with_archive.keep(answer(8, {"data": comments}, cursor="2"))
    with_archive.keep(answer(8, {"cards": [{"card_group": [item, {"user": OTHER}]}]}, cursor="3"))
    with_archive.keep(answer(8, {"text": "nobody is named in 91"}, cursor="4"))
    with_archive.close()
    before = [(path, path.read_bytes()) for path in tmp_path.iterdir()]
    assert forget_in(tmp_path, {9}, lambda text: None, dry_run=True) == (1, 3, ())
    assert [(path, path.read_bytes()) for path in tmp_path.iterdir()] == before
    assert _forget(tmp_path) == (1, 3, ())
    (path,) = tmp_path.iterdir()
    if compression == "gzip":
        assert whole(path)
        kept = records(path)
        said = b"".join(body for kind, _, body in kept if kind == "response")
        assert [kind for kind, _, _ in kept].count("request") == 4
        assert all(word not in said for word in (b"nine", b"theirs", b"text 91", b"/u/9"))
        assert all(word in said for word in (b"eight", b"text 81", b'"mid":"91"', b"nobody"))
        assert [body for kind, _, body in kept if kind == "metadata"] == [b"[8]"]
    assert _forget(tmp_path) == (0, 0, ())


def test_a_file_that_is_completed_meanwhile_is_left_for_the_next_time(tmp_path: Path) -> None:
    """Law 15: its process gives it another name. It is told as one that was being written, and
    keeps nobody from the files behind it."""
    writers = [archive(tmp_path) for _ in range(2)]
    for writer in writers:
        writer.keep(answer(9))
    done = archive(tmp_path)
    done.keep(answer(9))
    done.close()

    def complete(_: str) -> None:
        while writers:
            writers.pop().close()

    dropped, _, busy = forget_in(tmp_path, {9}, complete)
    assert (dropped, len(busy)) == (1, 2)
    assert len(list(tmp_path.iterdir())) == 3
    assert _forget(tmp_path) == (2, 0, ())


def test_an_index_reads_what_it_was_made_of(tmp_path: Path) -> None:
    """Laws 7, 15: a file that its process completes meanwhile has another name. In one that
    `forget` rewrites, whatever stands in the place of an answer is another one, maybe of somebody
    else: it is told, and not read."""
    folder = tmp_path / "archive"
    writer = archive(folder)
    for uid in (9, 8, 7):
        writer.keep(answer(uid, {"of": uid, "long": "x" * 100 * uid}))
    with closing(ArchiveIndex(tmp_path / "index.db", files_of([folder]), print)) as index:
        writer.close()
        (one,) = index.writers("posts")
        assert [kept.exchange.uid for kept in index.of_user(one, 8)] == [8]
        assert _forget(folder) == (1, 0, ())
        with pytest.raises(StoreError, match="changed while it was read; run this again"):
            index.of_user(one, 8)


class _Meanwhile(set[int]):
    """Of whom to forget; who asks for the first time lets somebody else begin, and waits a little
    for their end."""

    def __init__(self, uid: int, pool: ThreadPoolExecutor, folder: Path) -> None:
        super().__init__({uid})
        self._pool, self._folder = pool, folder
        self.other: Future[object] | None = None

    def __contains__(self, uid: object) -> bool:
        if self.other is None:
            self.other = self._pool.submit(forget_in, self._folder, {8}, lambda text: None)
            wait([self.other], 0.3)
        return super().__contains__(uid)


def test_two_at_once_bring_back_nobody(tmp_path: Path) -> None:
    """Laws 7, 8: each rewrites what the other has left. Whoever read a file before the other one
    put its own in that place would bring back whom that one removed, or move half a file there."""
    with_archive = archive(tmp_path)
    for uid in (7, 8, 9):
        with_archive.keep(answer(uid))
    with_archive.close()
    with ThreadPoolExecutor(1) as pool:
        nine = _Meanwhile(9, pool, tmp_path)
        assert forget_in(tmp_path, nine, lambda text: None)[:2] == (1, 0)
        assert nine.other is not None
        assert nine.other.result(30) == (1, 0, ())
    (path,) = tmp_path.iterdir()
    assert [kind for kind, _, _ in records(path)].count("response") == 1
    assert _forget(tmp_path) == (0, 0, ())


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """What to do is said; with room it goes on, and nothing is left of the first attempt."""
    with_archive = archive(tmp_path)
    for uid in (8, 9):
        with_archive.keep(answer(uid))
    with_archive.close()
    (path,) = tmp_path.iterdir()
    before, handler = path.read_bytes(), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(StoreFull, match=r"archive\.folder: .*; free some room"):
            _forget(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert _forget(tmp_path) == (1, 0, ())
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_that_names_nobody_stays_as_it_is(tmp_path: Path) -> None:
    with_archive = archive(tmp_path)
    with_archive.keep(answer(8))
    with_archive.close()
    (path,) = tmp_path.iterdir()
    before = path.read_bytes(), path.stat().st_ino
    assert _forget(tmp_path) == (0, 0, ())
    assert (path.read_bytes(), path.stat().st_ino) == before


def test_what_is_written_anew_is_for_this_account_alone(tmp_path: Path) -> None:
    """Whatever the umask; and what a killed `forget` left of it is removed by the next one."""
    with_archive = archive(tmp_path)
    with_archive.keep(answer(9))
    with_archive.close()
    (path,) = tmp_path.iterdir()
    path.with_name(f"{path.name}.rewritten").write_bytes(b"half of it")
    mask = os.umask(0)
    try:
        assert _forget(tmp_path) == (1, 0, ())
    finally:
        os.umask(mask)
    assert [(each, stat.S_IMODE(each.stat().st_mode)) for each in tmp_path.iterdir()] == [
        (path, 0o600)
    ]


def test_a_file_that_is_written_is_left_and_said(tmp_path: Path) -> None:
    """Its writer would go on in a file that is not there any more."""
    with_archive = archive(tmp_path)
    with_archive.keep(answer(9))
    (path,) = tmp_path.iterdir()
    assert _forget(tmp_path) == (0, 0, (path.name,))
    with_archive.close()
    assert _forget(tmp_path) == (1, 0, ())


def test_a_killed_process_holds_no_file(tmp_path: Path) -> None:
    with_archive = archive(tmp_path)
    with_archive.keep(answer(9))
    fcntl.flock(with_archive._file, fcntl.LOCK_UN)  # as the kernel does at its end
    (path,) = tmp_path.iterdir()
    with path.open("ab") as file:
        file.write(path.read_bytes()[:50])
    assert _forget(tmp_path) == (1, 0, ())
    assert [kind for kind, _, _ in records(path)] == ["warcinfo"]


def test_an_answer_whose_request_is_damaged_loses_them_too(tmp_path: Path) -> None:
    """Law 15: nobody knows how it was asked for, and who was forgotten goes all the same."""
    comments = [{"id": "5", "user": THEM, "text": "by nine"}, {"id": "6", "user": OTHER}]
    with_archive = archive(tmp_path)
    with_archive.keep(answer(8, {"data": comments}))
    with_archive.close()
    (path,) = tmp_path.iterdir()
    rest = path.read_bytes()
    starts = []
    while rest:
        starts.append(path.stat().st_size - len(rest))
        member = zlib.decompressobj(31)
        member.decompress(rest)
        rest = member.unused_data
    _, asked, answered = starts
    with path.open("r+b") as file:
        file.seek(asked + 40)
        file.write(bytes(answered - asked - 80))
    assert _forget(tmp_path) == (0, 1, ())
    (body,) = (body for kind, _, body in records(path) if kind == "response")
    assert b"eight" in body
    assert b"nine" not in body


def test_an_answer_that_names_somebody_by_a_text_is_dropped() -> None:
    """Of a site that calls people by texts nobody knows what else of an answer is theirs."""
    page = Page("http://toy.example/users/bob", 200, (), b'{"items":[{"id":"eve-"}]}', 0.0)
    assert blanked_page(page, {"eve-"}.__contains__) is None
    assert blanked_page(page, {"eve", "bo"}.__contains__) is page
    redirected = replace(page, headers=(("location", "/users/eve-"),), body=b"")
    assert blanked_page(redirected, {"eve-"}.__contains__) is None


def test_a_post_stays_as_a_hidden_one_and_a_user_as_nothing() -> None:
    """That there was a reposted post is the reposter's; where there was none there is none."""
    of = {"retweeted_status": _post(91, THEM), "liked_by": THEM, "user": OTHER}
    page = Page("http://site.test/", 200, (), msgspec.json.encode(of), 0.0)
    left = blanked_page(page, {9}.__contains__)
    hidden = {"id": "91", "mid": "91", "user": None, "deleted": "1", "text": ""}
    kept = {"retweeted_status": hidden, "liked_by": None, "user": OTHER}
    assert left is not None
    assert msgspec.json.decode(left.body) == kept


def test_a_witness_stays_one(tmp_path: Path) -> None:
    """An answer that is written anew says of itself what it said before."""
    with_archive = archive(tmp_path)
    repost = _post(81, OTHER, retweeted_status=_post(91, THEM))
    page = {"cards": [{"card_type": 9, "mblog": repost}]}
    with_archive.keep(answer(8, page)._replace(is_talking=False, is_witness=True))
    with_archive.close()
    (path,) = tmp_path.iterdir()
    before = [fields["Crawler-Exchange"] for _, fields, _ in records(path)[2:]]
    assert '"is_witness":true' in before[0]
    assert _forget(tmp_path) == (0, 1, ())
    assert [fields["Crawler-Exchange"] for _, fields, _ in records(path)[2:]] == before

"""Rewrite the files of an archive without some people."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from weibo_crawler.archive import exchanges
from weibo_crawler.archive.blanking import IsGone, blanked_page
from weibo_crawler.archive.exchanges import Compress, Kept
from weibo_crawler.archive.members import SUFFIXES, compressor, members
from weibo_crawler.archive.reader import files_of
from weibo_crawler.archive.shelf import is_open
from weibo_crawler.archive.writer import store_error
from weibo_crawler.records import Answer, Id, Page, Reading, Request
from weibo_crawler.store.temporary import alone_in, open_private, sync_folder

_NEW = ".rewritten"


class Cleaned(NamedTuple):
    """dropped: answers to what had asked for them; blanked: answers of others from which they were
    cut; busy: files that a process was writing, or has completed meanwhile: they were not looked
    at."""

    dropped: int
    blanked: int
    busy: tuple[str, ...]


def forget_in(
    folder: Path, uids: set[Id], say: Callable[[str], None], *, dry_run: bool = False
) -> Cleaned:
    """Take people out of every file of a folder. A file that names none of them stays as it is;
    another is written anew beside it, synced, and put in its place, by one process at a time: each
    waits for the one before. dry_run: only count. Errors: StoreError."""
    if dry_run or not folder.is_dir():
        return _cleaned(folder, say, lambda path: _count(path, uids.__contains__))
    with ExitStack() as stack:
        try:
            stack.enter_context(alone_in(folder, waits=False))
        except BlockingIOError:
            say("archive: waiting for another `forget`, which rewrites its files")
            stack.enter_context(alone_in(folder, waits=True))
        for left in folder.glob(f"*{_NEW}"):
            left.unlink()
        return _cleaned(folder, say, lambda path: _rewrite(path, uids.__contains__))


def _cleaned(
    folder: Path, say: Callable[[str], None], clean: Callable[[Path], tuple[int, int]]
) -> Cleaned:
    dropped = blanked = 0
    busy = []
    for path in files_of([folder]) if any(folder.glob("*.warc.*")) else []:
        say(f"archive: {path.name}")
        if is_open(path):
            busy.append(path.name)
            continue
        try:
            counts = clean(path)
        except FileNotFoundError:  # its process has completed it, and it has another name now
            path.with_name(path.name + _NEW).unlink(missing_ok=True)
            busy.append(path.name)
            continue
        except OSError as error:
            raise store_error(path.with_name(path.name + _NEW), error) from None
        dropped, blanked = dropped + counts[0], blanked + counts[1]
    return Cleaned(dropped, blanked, tuple(busy))


def _count(path: Path, is_gone: IsGone) -> tuple[int, int]:
    """How many answers would be dropped and blanked."""
    rewriter = _Rewriter(lambda data, is_packed: b"", is_gone)
    for member in members(path):
        rewriter.rewritten(member.data)
    return rewriter.dropped, rewriter.blanked


def _rewrite(path: Path, is_gone: IsGone) -> tuple[int, int]:
    """How many answers were dropped and blanked. What is torn goes, too: nobody could say what
    it holds."""
    new, torn = path.with_name(path.name + _NEW), list[tuple[int, int]]()
    rewriter = _Rewriter(compressor("zstd" if SUFFIXES["zstd"] in path.name else "gzip"), is_gone)
    with open(new, "xb", opener=open_private) as file:
        for member in members(path, lambda *span: torn.append(span)):
            file.write(rewriter.rewritten(member.data))
        file.flush()
        os.fsync(file.fileno())
    if not (rewriter.dropped or rewriter.blanked or rewriter.notes or torn):
        new.unlink()
        return 0, 0
    new.replace(path)
    sync_folder(path.parent)
    return rewriter.dropped, rewriter.blanked


class _Rewriter:
    """Record by record; a request waits for its answer."""

    def __init__(self, compress: Compress, is_gone: IsGone) -> None:
        self._compress, self._is_gone = compress, is_gone
        self._asked = b""
        self.dropped = self.blanked = self.notes = 0

    def rewritten(self, data: bytes) -> bytes:
        """What takes the place of a record, compressed; b"" where nothing does."""
        record = exchanges.parse(data)
        if record.rec_type == "request":
            self._asked = data
            return b""
        asked, self._asked = self._asked, b""
        kept = exchanges.kept(record)
        if kept is None:
            return self._note(record, data)
        page = kept.page()
        if self._is_gone(kept.exchange.uid):
            shown = None
        else:
            shown = page and blanked_page(page, self._is_gone)
        if self._is_gone(kept.exchange.uid) or (page is not None and shown is None):
            self.dropped += 1
            return b""
        if shown is not None and shown is not page:
            self.blanked += 1
            answer = _answer(kept, shown, asked)
            return exchanges.exchange(answer, shown.fetched_at, self._compress)
        is_packed = page is not None and bool(page.encoding)
        whole = self._compress(asked, is_packed) if asked else b""
        return whole + self._compress(data, is_packed)

    def _note(self, record: Any, data: bytes) -> bytes:
        """A list of uids loses theirs."""
        kind = record.rec_headers.get_header("Crawler-Note")
        if kind is not None:
            at, uids = exchanges.note_of(record)
            left = [uid for uid in uids if not self._is_gone(uid)]
            if left != uids:
                self.notes += 1
                return exchanges.note(kind, at, left, self._compress)
        return self._compress(data, False)


def _answer(kept: Kept, page: Page, asked: bytes) -> Answer:
    about, headers = kept.exchange, ()
    if asked:
        http = exchanges.parse(asked).http_headers
        headers = tuple(header for header in http.headers if header[0] != "Host")
    request = Request(*(about.kind, kept.url, about.uid, about.mid, about.cursor), headers=headers)
    told = about.told
    return Answer(
        *(request, page),
        None if about.read is None else Reading(about.read),
        None if told is None else Reading(told.verdict, None, told.why, told.ambiguous),
        about.is_talking,
        about.is_witness,
    )

"""Which files were written for analysts, so that `forget` can name them, and which folders hold
pictures and videos, so that it can delete people there."""

import logging
import socket
from pathlib import Path

from weibo_crawler.analysis.files import parts_of
from weibo_crawler.cli import logs
from weibo_crawler.errors import ReadOnly
from weibo_crawler.store.notes import EXPORTS, MEDIA, Note, Notes

_KEPT = 100


def remember_export(users: Notes, file: Path | str) -> None:
    """Note that this file, or folder of HDFS, may hold people; where the store may only be read,
    say that it cannot."""
    _remember(users, EXPORTS, file, f"`forget` will not name {file}")


def remember_media(users: Notes, folder: Path) -> None:
    """The same of a folder of pictures and videos."""
    _remember(users, MEDIA, folder, f"`forget` will delete nobody in {folder}")


def known_media(users: Notes) -> tuple[list[Path], list[str]]:
    """The folders of pictures and videos on this host, and host:path of those on others."""
    here, places = f"{socket.gethostname()}:", MEDIA.get(users) or []
    ours = [Path(one.removeprefix(here)) for one in places if one.startswith(here)]
    return ours, [one for one in places if not one.startswith(here)]


def _remember(users: Notes, note: Note[list[str]], file: Path | str, but: str) -> None:
    place = file if isinstance(file, str) else f"{socket.gethostname()}:{file.resolve()}"

    def with_it(known: list[str] | None) -> list[str]:
        return [*(one for one in known or [] if one != place), place][-_KEPT:]

    try:
        note.change(users, with_it)
    except ReadOnly:
        logs.say(f"the store may only be read: {but}", logging.WARNING)


def is_known_export(users: Notes, file: Path) -> bool:
    """Whether this file was written by this crawl, on this host."""
    return f"{socket.gethostname()}:{file.resolve()}" in known_exports(users)


def known_exports(users: Notes) -> list[str]:
    """host:path of the files written, or hdfs://…, the newest last, those that are gone here left
    out; and the parts of them that are being written, or that killed writers left."""
    here = f"{socket.gethostname()}:"
    known = []
    for one in EXPORTS.get(users) or []:
        if one.startswith(here):
            file = Path(one.removeprefix(here))
            known += [f"{here}{each}" for each in (file, *parts_of(file)) if each.exists()]
        else:
            known.append(one)
    return known

"""An archive from the settings."""

import os
import secrets
import socket
from collections.abc import Callable, Mapping

import msgspec

from weibo_crawler import config
from weibo_crawler.archive.shelf import Put, Shelf
from weibo_crawler.archive.writer import Archive
from weibo_crawler.records import Id

_OUTGOING = "archive-outgoing"  # where files are written that are to go elsewhere


def open_archive(
    settings: config.Archive,
    stage: str,
    run_id: str,
    *,
    options: Mapping[str, bool | float],
    is_gone: Callable[[], Callable[[Id], bool] | None],
    put: Put | None = None,
) -> Archive:
    """The archive of this process for one stage of one run; close it after use.

    options: what a later `reparse` must know of the run. put: copies a complete file to where
    archive.folder is no folder of this machine. Errors: StoreError.
    """
    host = "".join(c for c in socket.gethostname() if c.isalnum() or c == "-") or "localhost"
    process = f"{host}-{os.getpid()}-{secrets.token_hex(3)}"
    info = [("isPartOf", run_id), ("crawler-stage", stage), ("crawler-process", process)]
    info.append(("crawler-options", msgspec.json.encode(dict(options)).decode()))
    folder = config.resolve(_OUTGOING if put else settings.folder or ".")
    shelf = Shelf(put) if put is not None else None
    if shelf is not None:
        shelf.take_left(folder)
    return Archive(
        *(folder, f"{stage}-{run_id}-{process}", info),
        compression=settings.compression,
        max_bytes=settings.max_file_bytes,
        is_gone=is_gone,
        shelf=shelf,
    )

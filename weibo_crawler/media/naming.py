"""What posts name, and what the files are called. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from urllib.parse import quote

from weibo_crawler.errors import StoreError
from weibo_crawler.records import Id
from weibo_crawler.sites import Site
from weibo_crawler.store import Row
from weibo_crawler.store.media import Named, Wanted
from weibo_crawler.store.rows.keys import parse_post_key
from weibo_crawler.store.rows.packed import attached

PICTURE, VIDEO = "picture", "video"
PARTS = ".weibo-parts"  # the folder of files that are not whole yet; it tells whose all is
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}(?=-)")
_LONGEST = 80  # of a name that is an id
_TEXTS = ("text/", "application/json", "application/xml", "application/xhtml")
_MAGIC = {
    PICTURE: ((b"\xff\xd8\xff", "jpg"), (b"\x89PNG\r\n\x1a\n", "png"), (b"GIF8", "gif")),
    VIDEO: ((b"\x1aE\xdf\xa3", "webm"), (b"FLV\x01", "flv")),
}
_LAST = {"jpg": b"\xff\xd9", "png": b"IEND", "gif": b";"}  # near the end of whole files
_TAIL = 64  # bytes: some programs add a few
_BRANDS = {b"heic": "heic", b"heix": "heic", b"mif1": "heic", b"avif": "avif"}  # of pictures


def named(rows: Iterable[Row], site: Site, kinds: Iterable[str]) -> Iterator[Named]:
    """The pictures and videos that these rows of posts name, of these kinds, as far as they are
    the post's own: of what it reposts nothing. Errors: StoreError for a row that is none."""
    for row in rows:
        text = row.cells.get("post:more", "")
        if not any(name in text for name in ('"pics"', '"videos"', '"stream"')):
            continue
        try:
            uid, mid = parse_post_key(row.key)
            more = attached(text)
        except ValueError as error:
            raise StoreError(f"posts, row {row.key}: {error}") from None
        found = [(PICTURE, url) for url in more.pics]
        if (info := more.page_info) is not None and info.type == VIDEO and info.stream:
            found.append((VIDEO, info.stream))
        found += [(VIDEO, url) for url in more.videos]
        written = row.cells.get("post:created_at", "")
        for nth, (kind, url) in enumerate(found, 1):
            if kind in kinds:
                media = site.media(url)
                key = url if media is None else media.key
                yield Named(uid, mid, kind, nth, key, url, written)


def folder_name(uid: Id) -> str:
    """Below which all files of a user lie, and nobody else's."""
    return _safe(str(uid))


def file_name(one: Named | Wanted, ending: str) -> str:
    """uid/month/mid_nth_digest.ending: nothing of an address but its digest, so no address chooses
    where a file goes, and the files of an edited post stand beside the older ones."""
    month = _MONTH.match(one.posted_at)
    digest = sha256(one.key.encode()).hexdigest()[:8]
    where = f"{folder_name(one.uid)}/{month[0] if month else 'undated'}"
    return f"{where}/{_safe(str(one.mid))}_{one.nth}_{digest}.{ending}"


def part_name(uid: Id, key: str) -> str:
    """Of a file that is not whole yet."""
    return sha256(f"{uid} {key}".encode()).hexdigest()[:40]


def ending_of(kind: str, content_type: str, start: bytes) -> str | None:
    """The ending that a file of this kind gets by its first bytes; None: it is no such file."""
    if content_type.strip().lower().startswith(_TEXTS):
        return None
    brand = start[8:12] if start[4:8] == b"ftyp" else b""
    if kind == PICTURE and start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    if kind == VIDEO and brand and brand not in _BRANDS:
        return "mov" if brand == b"qt  " else "mp4"
    known = (ending for magic, ending in _MAGIC[kind] if start.startswith(magic))
    return next(known, _BRANDS.get(brand) if kind == PICTURE else None)


def ends_early(ending: str, read: Callable[[int, int], bytes], size: int) -> bool:
    """Whether a file of this ending lacks its end, as its form says. read: some bytes, from where
    and how many. A form that says nothing of its end lacks none."""
    last = read(max(0, size - _TAIL), _TAIL)
    if ending in _LAST:
        return _LAST[ending] not in last
    if ending == "webp":
        return size < 8 + int.from_bytes(read(4, 4), "little")
    return ending in ("mp4", "mov", *_BRANDS.values()) and not _is_of_boxes(read, size)


def _is_of_boxes(read: Callable[[int, int], bytes], size: int) -> bool:
    """Whether the boxes of ISO 14496-12, one after the other, fill the file. A box of length 0 goes
    to the end of the file."""
    at = 0
    while at < size:
        head = read(at, 16)
        length = int.from_bytes(head[:4])
        if length == 1:
            length = int.from_bytes(head[8:16])
        if length < 8:
            return length == 0
        at += length
    return at == size


def _safe(text: str) -> str:
    """An id as a name: letters, digits, _ and - as they are."""
    name = quote(text, safe="").replace(".", "%2E").replace("~", "%7E")
    return name if len(name) <= _LONGEST else "%" + sha256(text.encode()).hexdigest()[:40]

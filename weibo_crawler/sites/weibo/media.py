"""Pictures and videos: which addresses are the site's, and what they name.

The hosts are those of recorded pages (wx1.sinaimg.cn, f.video.weibocdn.com, f.us.sinaimg.cn) and
those that programs read. They answer 403 to a browser's User-Agent without a Referer of the site. A
picture that the site has no more is answered by a redirect to /images/default_….gif.
"""

import re

from weibo_crawler.records import Kind, Media, Request

# printable ASCII alone, and no sign that two readers of addresses may take in two ways
_ADDRESS = re.compile(r"(https?)://([A-Za-z0-9.:-]+)(/[A-Za-z0-9._~!$&'()*+,;=:@/?%-]*)(?:#.*)?")
_HOSTS = re.compile(r"(?:[a-z0-9-]+\.)+(?:sinaimg\.cn|weibocdn\.com)|video\.weibo\.com")
_SIZED = re.compile(r"/([a-z][a-z0-9]*)/([A-Za-z0-9_-]+\.(?:jpe?g|png|gif|webp))")
_GONE = re.compile(r"/images/default[a-z0-9_]*\.[a-z]+")
_EXPIRES = re.compile(r"[?&]Expires=([0-9]{9,11})(?:&|$)")


def read_media(url: str, referer: str, own: str | None) -> Media | None:
    """As `Site.media`. own: the only host[:port] that holds them; None: those of the live site."""
    found = _ADDRESS.fullmatch(url)
    if found is None:
        return None
    scheme, host, target = found[1], found[2].lower(), found[3]
    if not (_HOSTS.fullmatch(host) if own is None else host == own):
        return None
    is_gone = _GONE.fullmatch(target) is not None
    if (sized := _SIZED.fullmatch(target)) and not is_gone:
        target = f"/large/{sized[2]}"
    name = target.partition("?")[0].rpartition("/")[2]
    expires = _EXPIRES.search(target)
    return Media(
        Request(Kind.MEDIA, f"{scheme}://{host}{target}", headers=(("Referer", referer),)),
        key=name if "." in name else target,
        expires_at=float(expires[1]) if expires else None,
        is_gone=is_gone,
    )

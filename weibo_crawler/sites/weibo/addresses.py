"""The requests (weibo_api.md, "Endpoints"), with the headers that browsers of the site send.

A cursor is the site's own token as text: "" is the first page; posts have "page=2" or
"since_id=4646131823281332", fans, follows, reposts and topics the number of the page, comments the
max_id of the page before, with its kind before it where that is not 0: "1:4646131823281332".
"""

from urllib.parse import quote

from msgspec.structs import replace

from weibo_crawler.records import Edge, Id, Kind, Request

LAST_PAGE = {Kind.FANS: 250, Kind.FOLLOWS: 10}  # weibo_api.md: at most 5,000 fans, 200 follows
_USERS_A_PAGE = 20

_JSON = "application/json, text/plain, */*"
_HTML = "text/html,application/xhtml+xml,*/*;q=0.8"
_LISTS = {
    Edge.FANS: (Kind.FANS, "fans", "since_id"),
    Edge.FOLLOWS: (Kind.FOLLOWS, "followers", "page"),
}


def page_number(cursor: str) -> int:
    """The number of a page of fans, follows, reposts or a topic; "" is page 1. Errors:
    ValueError."""
    return int(cursor or "1")


def post_token(cursor: str) -> tuple[str, str]:
    """The two parts of a posts cursor: ("page" or "since_id", its value). Errors: ValueError."""
    name, _, value = (cursor or "page=1").partition("=")
    if not (value.isdecimal() if name == "page" else name == "since_id" and value):
        raise ValueError(f"{cursor!r} is no cursor of a timeline")
    return name, value


class Addresses:
    """base: the address of the site, without a slash at its end."""

    def __init__(self, base: str) -> None:
        self.base = base

    def profile(self, uid: Id) -> Request:
        return self._index(Kind.PROFILE, uid, f"type=uid&value={uid}", "")

    def info(self, uid: Id) -> Request:
        return self._index(Kind.INFO, uid, f"containerid=230283{uid}_-_INFO", "")

    def edge(self, edge: Edge, uid: Id, cursor: str) -> Request:
        """Errors: ValueError for an edge that is no list of the site."""
        if edge not in _LISTS:
            raise ValueError(f"{edge} is no list of the site")
        kind, name, page = _LISTS[edge]
        query = f"containerid=231051_-_{name}_-_{uid}&{page}={page_number(cursor)}"
        return self._index(kind, uid, query, cursor)

    def announced_pages(self, edge: Edge, announced: int) -> int:
        """20 users a page; a list shows no more than its last page (weibo_api.md, "Endpoints")."""
        if edge not in _LISTS:
            return 0
        return min(-(-max(announced, 0) // _USERS_A_PAGE), LAST_PAGE[_LISTS[edge][0]])

    def posts(self, uid: Id, cursor: str) -> Request:
        name, value = post_token(cursor)
        query = f"type=uid&value={uid}&containerid=107603{uid}&{name}={quote(value, safe='')}"
        return self._index(Kind.POSTS, uid, query, cursor)

    def full_text(self, uid: Id, mid: Id) -> tuple[Request, ...]:
        """extend, show, detail: the cheapest answer first."""
        return (
            self._of_post(Kind.EXTEND, f"/statuses/extend?id={mid}", mid, uid),
            self._of_post(Kind.SHOW, f"/statuses/show?id={mid}", mid, uid),
            Request(
                Kind.DETAIL,
                f"{self.base}/detail/{mid}",
                uid=uid,
                mid=mid,
                headers=(
                    ("Accept", _HTML),
                    ("Referer", f"{self.base}/{f'u/{uid}' if uid else ''}"),
                ),
            ),
        )

    def post(self, mid: Id) -> tuple[Request, ...]:
        """show, detail: they tell more than the text."""
        return self.full_text(0, mid)[1:]

    def echoes(self, kind: Kind, mid: Id, cursor: str = "") -> Request:
        path = f"/api/statuses/repostTimeline?id={mid}&page={cursor or 1}"
        if kind is Kind.COMMENTS:
            number, _, max_id = cursor.rpartition(":")
            path = f"/comments/hotflow?id={mid}&mid={mid}&max_id_type={number or 0}"
            path += f"&max_id={max_id}" if max_id else ""
        return replace(self._of_post(kind, path, mid, 0), cursor=cursor)

    def search(self, words: str, cursor: str) -> Request:
        query = quote(f"100103type=1&q={words}", safe="")
        query = f"containerid={query}&page_type=searchall&page={page_number(cursor)}"
        url, referer = f"{self.base}/api/container/getIndex?{query}", f"{self.base}/search"
        return Request(Kind.SEARCH, url, cursor=cursor, headers=self._headers(referer))

    def name(self, screen_name: str) -> Request:
        return Request(
            Kind.NAME,
            f"{self.base}/n/{quote(screen_name, safe='')}",
            headers=(("Accept", _HTML), ("Referer", f"{self.base}/")),
        )

    def _index(self, kind: Kind, uid: Id, query: str, cursor: str) -> Request:
        url = f"{self.base}/api/container/getIndex?{query}"
        headers = self._headers(f"{self.base}/u/{uid}")
        return Request(kind, url, uid=uid, cursor=cursor, headers=headers)

    def _of_post(self, kind: Kind, path: str, mid: Id, uid: Id) -> Request:
        headers = self._headers(f"{self.base}/detail/{mid}")
        return Request(kind, self.base + path, uid=uid, mid=mid, headers=headers)

    def _headers(self, referer: str) -> tuple[tuple[str, str], ...]:
        return (
            ("Accept", _JSON),
            ("MWeibo-Pwa", "1"),
            ("X-Requested-With", "XMLHttpRequest"),
            ("Referer", referer),
        )

"""A plain visitor of the simulated site: json and http.client, nothing of the crawler."""

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.run import world_of
from weibo_crawler.simulator.site import Served, Visit, Weibo

GET_INDEX = "/api/container/getIndex?"
Ask = Callable[[str], Any]


def weibo_of(options: SimulatorOptions) -> Weibo:
    return Weibo(world_of(options), options)


def visit(
    weibo: Weibo, address: str, cookies: str = "", egress: str = "127.0.0.1", now: float = 0.0
) -> Served:
    return weibo.serve(Visit(address, cookies, egress, now))


def fetch(
    base_url: str, address: str, headers: dict[str, str] | None = None, timeout_s: float = 10
) -> tuple[int, bytes, http.client.HTTPMessage]:
    """Status, body and headers of one GET over a connection of its own."""
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request("GET", address, headers=headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read(), reply.headers
    finally:
        connection.close()


@contextmanager
def asker(base_url: str) -> Iterator[Ask]:
    """A function from address to decoded JSON, over one kept connection."""
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)

    def ask(address: str) -> Any:
        connection.request("GET", address)
        return json.loads(connection.getresponse().read())

    try:
        yield ask
    finally:
        connection.close()


def profile(uid: int) -> str:
    return f"{GET_INDEX}type=uid&value={uid}"


def posts(uid: int, cursor: str = "page=1") -> str:
    return f"{GET_INDEX}type=uid&value={uid}&containerid=107603{uid}&{cursor}"


def fans(uid: int, number: int = 1) -> str:
    return f"{GET_INDEX}containerid=231051_-_fans_-_{uid}&since_id={number}"


def follows(uid: int, number: int = 1) -> str:
    return f"{GET_INDEX}containerid=231051_-_followers_-_{uid}&page={number}"


def search(words: str, number: int = 1) -> str:
    container = quote(f"100103type=1&q={words}", safe="")
    return f"{GET_INDEX}containerid={container}&page_type=searchall&page={number}"


def walk_list(ask: Ask, address: Callable[[int, int], str], prefix: str, uid: int) -> list[int]:
    """The users of a fans or follows list, in order, repeats out, until a page adds nobody."""
    found: dict[int, None] = {}
    for number in range(1, 252):
        page = ask(address(uid, number))
        cards = page["data"]["cards"]
        blocks = [card for card in cards if card["itemid"] == f"{prefix}_1_ _{uid}"]
        users = [row["user"]["id"] for card in blocks for row in card["card_group"] if row["user"]]
        if not set(users) - found.keys():
            break
        found |= dict.fromkeys(users)
    return list(found)


def walk_fans(ask: Ask, uid: int) -> list[int]:
    return walk_list(ask, fans, "2310510033", uid)


def walk_follows(ask: Ask, uid: int) -> list[int]:
    return walk_list(ask, follows, "2310510024", uid)


def walk_posts(ask: Ask, uid: int) -> dict[str, dict[str, Any]]:
    """The owner's mblogs by mid, following the tokens until there is none or one repeats."""
    found: dict[str, dict[str, Any]] = {}
    cursor, seen = "", set()
    while cursor not in seen:
        seen.add(cursor)
        data = ask(posts(uid, cursor))["data"]
        for mblog in mblogs(data["cards"]):
            if mblog["user"]["id"] == uid:
                found.setdefault(mblog["mid"], mblog)
        info = data.get("cardlistInfo", {})
        tokens = [f"{name}={info[name]}" for name in ("since_id", "page") if info.get(name)]
        cursor = tokens[0] if tokens else cursor
    return found


def mblogs(cards: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """All mblogs of some cards, also those in groups."""
    for card in cards:
        yield from mblogs(card.get("card_group", []))
        if card.get("mblog"):
            yield card["mblog"]

"""Profile and posts of listed users by Scrapy, whole texts included, into rows of SQLite: for each
post what the crawler keeps of it (text, time, place, device, counts, pictures, original), for each
user the profile. No edits, gaps, ledger or doubts."""

import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from html import unescape
from pathlib import Path
from re import sub

import msgspec
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse
from scrapy_settings import SETTINGS, ItemStore
from users_table import fans_of

BASE, USERS, DATABASE = sys.argv[1:4]
_TABLES = """
    CREATE TABLE posts (mid INTEGER PRIMARY KEY, uid INTEGER, text TEXT, created_at TEXT,
        region TEXT, source TEXT, reposts INTEGER, comments INTEGER, likes INTEGER, more TEXT);
    CREATE TABLE profiles (uid INTEGER PRIMARY KEY, screen_name TEXT, fans INTEGER, follows INTEGER,
        posts INTEGER, gender TEXT, description TEXT);
"""


class Store(ItemStore):
    """Posts and profiles are told apart by their length."""

    path, tables = DATABASE, _TABLES

    def statement(self, row: tuple) -> str:
        name, marks = ("posts", 10) if len(row) == 10 else ("profiles", 7)
        return f"INSERT OR REPLACE INTO {name} VALUES ({', '.join('?' * marks)})"


class Posts(scrapy.Spider):
    """A user's profile, then the pages of posts one after another, whole texts beside them."""

    name = "posts"
    custom_settings = SETTINGS | {"ITEM_PIPELINES": {Store: 100}}
    pages = 0

    async def start(self) -> AsyncIterator[scrapy.Request]:
        self.started = time.perf_counter()
        for line in Path(USERS).read_text("utf-8").split():
            uid = int(line)
            address = f"{BASE}/api/container/getIndex?type=uid&value={uid}"
            yield self.request(address, self.parse_profile, uid=uid)

    def ask(self, uid: int, number: int) -> scrapy.Request:
        address = (
            f"{BASE}/api/container/getIndex?type=uid&value={uid}"
            f"&containerid=107603{uid}&page={number}"
        )
        return self.request(address, self.parse_posts, uid=uid, number=number)

    def request(self, address: str, parse: Callable, **known: object) -> scrapy.Request:
        """No address is asked for twice, so none is remembered."""
        return scrapy.Request(address, parse, cb_kwargs=known, dont_filter=True)

    def parse_profile(self, response: TextResponse, uid: int) -> Iterator[object]:
        self.pages += 1
        user = msgspec.json.decode(response.body)["data"]["userInfo"]
        counts = (fans_of(user), user["follow_count"], user["statuses_count"])
        words = (user["gender"], user["description"])
        yield {"row": (uid, user["screen_name"], *counts, *words)}
        yield self.ask(uid, 1)

    def parse_posts(self, response: TextResponse, uid: int, number: int) -> Iterator[object]:
        self.pages += 1
        cards = msgspec.json.decode(response.body)["data"]["cards"]
        flat = [one for card in cards for one in card.get("card_group") or [card]]
        posts = [card["mblog"] for card in flat if card.get("mblog")]
        for post in posts:
            if post["user"]["id"] != uid:
                continue
            if post.get("isLongText"):
                address = f"{BASE}/statuses/extend?id={post['mid']}"
                yield self.request(address, self.parse_text, post=post)
            else:
                yield {"row": row_of(post, uid, post["text"])}
        if posts:
            yield self.ask(uid, number + 1)

    def parse_text(self, response: TextResponse, post: dict) -> Iterator[object]:
        self.pages += 1
        text = (
            msgspec.json.decode(response.body).get("data", {}).get("longTextContent")
            or post["text"]
        )
        yield {"row": row_of(post, post["user"]["id"], text)}


def row_of(post: dict, uid: int, html: str) -> tuple:
    """A post as a row."""
    counts = (post["reposts_count"], post["comments_count"], post["attitudes_count"])
    pictures = post.get("pics") or []
    if isinstance(pictures, dict):  # some answers number them
        pictures = list(pictures.values())
    original = post.get("retweeted_status")
    urls = [picture.get("url") for picture in pictures if isinstance(picture, dict)]
    more = {"pictures": urls, "bid": post.get("bid")}
    if original:
        more["original"] = {"mid": original["id"], "text": plain(original["text"] or "")}
    place = (post.get("region_name"), post.get("source"))
    packed = json.dumps(more, ensure_ascii=False)
    return int(post["mid"]), uid, plain(html), post["created_at"], *place, *counts, packed


def plain(html: str) -> str:
    """Tags away, entities read."""
    return unescape(sub(r"<[^>]+>", "", sub(r"<br\s*/?>", "\n", html)))


if __name__ == "__main__":
    process = CrawlerProcess()
    process.crawl(Posts)
    process.start()

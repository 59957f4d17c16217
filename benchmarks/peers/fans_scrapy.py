"""The walk of fan lists by Scrapy."""

import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse
from scrapy_settings import SETTINGS, ItemStore
from users_table import INSERT, MIN_FANS, TABLE, fans_address, fans_of, users_of

BASE, SEEDS, DATABASE = sys.argv[1:4]


class Store(ItemStore):
    """One table of users."""

    path, tables = DATABASE, TABLE

    def statement(self, row: tuple) -> str:
        return INSERT


class Fans(scrapy.Spider):
    """One request a page; a user's pages after one another, users breadth-first."""

    name = "fans"
    custom_settings = SETTINGS | {"ITEM_PIPELINES": {Store: 100}}
    pages = 0

    async def start(self) -> AsyncIterator[scrapy.Request]:
        self.started = time.perf_counter()
        seeds = [int(line) for line in Path(SEEDS).read_text("utf-8").split()]
        self.seen = set(seeds)
        for uid in seeds:
            yield self.ask(uid, 1)

    def ask(self, uid: int, number: int) -> scrapy.Request:
        address = fans_address(BASE, uid, number)
        known = {"uid": uid, "number": number}
        return scrapy.Request(address, cb_kwargs=known, dont_filter=True)

    def parse(self, response: TextResponse, uid: int, number: int) -> Iterator[object]:
        self.pages += 1
        users = users_of(msgspec.json.decode(response.body))
        if users:
            yield self.ask(uid, number + 1)
        for user in users:
            fans = fans_of(user)
            if user["id"] not in self.seen and fans >= MIN_FANS:
                self.seen.add(user["id"])
                yield {"row": (user["id"], user["screen_name"], fans)}
                yield self.ask(user["id"], 1)


if __name__ == "__main__":
    process = CrawlerProcess()
    process.crawl(Fans)
    process.start()

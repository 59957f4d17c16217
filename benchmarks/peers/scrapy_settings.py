"""Scrapy as its documentation advises for a broad crawl that need spare nobody: no delay, 64
requests at once, no cookies, breadth-first, little logging."""

import json
import logging
import sqlite3
import time

import scrapy

logging.getLogger("scrapy").setLevel(logging.ERROR)
_A_COMMIT = 100  # items
SETTINGS = {
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "COOKIES_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


class ItemStore:
    """An item pipeline into SQLite: each item has its row; a commit every hundred."""

    path: str
    tables: str

    def statement(self, row: tuple) -> str:
        raise NotImplementedError

    def open_spider(self, spider: scrapy.Spider) -> None:
        self.conn, self.left = sqlite3.connect(self.path), _A_COMMIT
        self.conn.execute("PRAGMA journal_mode = WAL")
        self.conn.execute("PRAGMA synchronous = NORMAL")
        self.conn.executescript(self.tables)

    def process_item(self, item: dict, spider: scrapy.Spider) -> dict:
        self.conn.execute(self.statement(item["row"]), item["row"])
        self.left -= 1
        if not self.left:
            self.conn.commit()
            self.left = _A_COMMIT
        return item

    def close_spider(self, spider: scrapy.Spider) -> None:
        self.conn.commit()
        self.conn.close()
        seconds = time.perf_counter() - spider.started
        print(json.dumps({"pages": spider.pages, "seconds": seconds}))

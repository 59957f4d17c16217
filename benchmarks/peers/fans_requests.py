"""The walk of fan lists as hobby crawlers have it: a loop over `requests`, or 16 threads of it."""

import argparse
import json
import threading
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import msgspec
import requests
from users_table import INSERT, MIN_FANS, fans_address, fans_of, open_table, users_of

_HEADERS = {"User-Agent": "Mozilla/5.0", "X-Requested-With": "XMLHttpRequest"}


class Walk:
    """Breadth-first from the seeds; a session of `requests` for each thread."""

    def __init__(self, base: str, database: str) -> None:
        self.base, self.conn = base, open_table(database)
        self.local = threading.local()
        self.seen: set[int] = set()
        self.queue: deque[tuple[int, int]] = deque()
        self.pages = 0

    def fetch(self, uid: int, number: int) -> tuple[int, int, dict]:
        if not hasattr(self.local, "session"):
            self.local.session = requests.Session()
            self.local.session.headers.update(_HEADERS)
        answer = self.local.session.get(fans_address(self.base, uid, number), timeout=20)
        answer.raise_for_status()
        return uid, number, msgspec.json.decode(answer.content)

    def store(self, uid: int, number: int, page: dict) -> None:
        self.pages += 1
        users = users_of(page)
        if not users:
            return
        self.queue.append((uid, number + 1))
        new = {u["id"]: u for u in users if u["id"] not in self.seen and fans_of(u) >= MIN_FANS}
        self.seen.update(new)
        rows = [(i, u["screen_name"], fans_of(u)) for i, u in new.items()]
        self.conn.executemany(INSERT, rows)
        self.conn.commit()
        self.queue.extend((one, 1) for one in new)

    def run(self, threads: int) -> None:
        if threads == 1:
            while self.queue:
                self.store(*self.fetch(*self.queue.popleft()))
            return
        with ThreadPoolExecutor(threads) as pool:
            running: set[Future[tuple[int, int, dict]]] = set()
            while self.queue or running:
                while self.queue and len(running) < 2 * threads:
                    running.add(pool.submit(self.fetch, *self.queue.popleft()))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for one in done:
                    self.store(*one.result())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base")
    parser.add_argument("seeds")
    parser.add_argument("database")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    walk = Walk(options.base, options.database)
    seeds = [int(line) for line in Path(options.seeds).read_text("utf-8").split()]
    walk.seen.update(seeds)
    walk.queue.extend((uid, 1) for uid in seeds)
    started = time.perf_counter()
    walk.run(options.threads)
    print(json.dumps({"pages": walk.pages, "seconds": time.perf_counter() - started}))


if __name__ == "__main__":
    main()

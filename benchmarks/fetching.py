"""Fetching alone: every address of a file, 64 at a time, bodies decoded, nothing else.

`python -m benchmarks.fetching ADDRESSES TRANSPORT` prints one line of JSON, as the peers do.
"""

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Literal

from weibo_crawler import config
from weibo_crawler.fetch.egress import DIRECT
from weibo_crawler.fetch.opening import choose_transport
from weibo_crawler.records import Kind, Request
from weibo_crawler.sites.weibo.addresses import Addresses

_AT_ONCE = 64


async def _fetch(addresses: list[str], transport_name: Literal["requests", "wreq"]) -> float:
    settings = config.Fetch(transport=transport_name, concurrency=_AT_ONCE)
    transport = choose_transport(settings)(settings)
    headers = (*Addresses("").profile(1).headers, ("User-Agent", config.Site().user_agent))
    requests = iter([Request(Kind.FANS, address) for address in addresses])

    async def work() -> None:
        for request in requests:
            page = await transport.send(request, headers, DIRECT)
            if page.status != 200:
                raise SystemExit(f"{page.status} for {request.url}")

    started = time.perf_counter()
    await asyncio.gather(*[work() for _ in range(_AT_ONCE)])
    seconds = time.perf_counter() - started
    await transport.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("addresses", type=Path)
    parser.add_argument("transport", choices=("requests", "wreq"))
    options = parser.parse_args()
    addresses = options.addresses.read_text("utf-8").splitlines()
    seconds = asyncio.run(_fetch(addresses, options.transport))
    print(json.dumps({"pages": len(addresses), "seconds": seconds}))


if __name__ == "__main__":
    main()

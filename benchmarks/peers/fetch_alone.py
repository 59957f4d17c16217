"""Fetching alone by other clients: every address of a file, 64 at a time, bodies decoded."""

import argparse
import asyncio
import json
import time
from pathlib import Path

_AT_ONCE = 64
_HEADERS = {"User-Agent": "Mozilla/5.0", "X-Requested-With": "XMLHttpRequest"}


async def by_aiohttp(addresses: list[str]) -> None:
    import aiohttp

    left = iter(addresses)
    connector = aiohttp.TCPConnector(limit=_AT_ONCE)
    async with aiohttp.ClientSession(connector=connector, headers=_HEADERS) as session:

        async def work() -> None:
            for address in left:
                async with session.get(address) as answer:
                    answer.raise_for_status()
                    await answer.read()

        await asyncio.gather(*[work() for _ in range(_AT_ONCE)])


def by_pycurl(addresses: list[str]) -> None:
    import pycurl

    left, multi = iter(addresses), pycurl.CurlMulti()
    running = 0

    def begin(curl: pycurl.Curl) -> int:
        address = next(left, None)
        if address is None:
            return 0
        curl.pieces = []
        curl.setopt(pycurl.URL, address)
        curl.setopt(pycurl.WRITEFUNCTION, curl.pieces.append)
        multi.add_handle(curl)
        return 1

    for _ in range(_AT_ONCE):
        curl = pycurl.Curl()
        curl.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in _HEADERS.items()])
        curl.setopt(pycurl.ACCEPT_ENCODING, "gzip")
        curl.setopt(pycurl.FAILONERROR, 1)
        running += begin(curl)
    while running:
        multi.perform()
        multi.select(0.05)
        _, done, failed = multi.info_read()
        if failed:
            raise SystemExit(failed[0][2])
        for curl in done:
            b"".join(curl.pieces)
            multi.remove_handle(curl)
            running += begin(curl) - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("addresses", type=Path)
    parser.add_argument("client", choices=("aiohttp", "pycurl"))
    options = parser.parse_args()
    addresses = options.addresses.read_text("utf-8").splitlines()
    started = time.perf_counter()
    if options.client == "aiohttp":
        asyncio.run(by_aiohttp(addresses))
    else:
        by_pycurl(addresses)
    seconds = time.perf_counter() - started
    print(json.dumps({"pages": len(addresses), "seconds": seconds}))


if __name__ == "__main__":
    main()

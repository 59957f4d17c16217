"""How a guest comes in, over real sockets: the site asks for more than the form."""

import asyncio
import re
from functools import partial
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from tests.fetch.servers import Reader, Writer, head, http, serve
from tests.sites.weibo.helpers import OWNER, fixture
from weibo_crawler.config import Fetch, Pace, Settings, Site
from weibo_crawler.fetch import Ask, Fetched, open_fetcher
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Verdict
from weibo_crawler.sites import open_site

_CALL = b"window.visitor_gray_callback && visitor_gray_callback(%s);"
_NO = _CALL % b'{"retcode":50111001,"msg":"no"}'
_TID = _CALL % b'{"retcode":20000000,"msg":"succ","data":{"tid":"01A+b","confidence":95}}'
_SUB = b'window.cross_domain && cross_domain({"retcode":20000000,"data":{"sub":"s","subp":"p"}});'
_WALL = b"<html><script>if (window.wbBotDetector) { wbBotDetector.load({}) }</script></html>"


async def _visitors(reader: Reader, writer: Writer, log: list[str], knows: str) -> None:
    """The site, which opens a session for whoever has this id of the entry page, in two steps."""
    while True:
        request = (await head(reader)).decode()
        length = re.search(r"(?i)content-length: (\d+)", request)
        form = (
            dict(parse_qsl((await reader.readexactly(int(length[1]))).decode())) if length else {}
        )
        address = request.split()[1]
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        if "genvisitor2" in address:
            log.append("form")
            answer = _TID if form["request_id"] == knows and "a=enter" in request else _NO
        elif query.get("a") == "enter":
            log.append("entry")
            answer = f'<html><script>var request_id = "{knows}";</script></html>'.encode()
        elif query.get("a") == "incarnate":
            log.append("incarnate")
            is_right = (query["t"], query["w"], query["c"]) == ("01A+b", "2", "095")
            answer = _SUB if is_right else _NO
        else:
            log.append("page")
            answer = fixture("profile.json") if "SUB=s; SUBP=p" in request else _WALL
        writer.write(http(answer))


@pytest.mark.parametrize("transport", ["requests", "wreq"])
def test_a_site_that_wants_what_its_entry_page_holds(transport: str) -> None:
    """Four requests open the session; with it the page is shown."""
    log: list[str] = []
    counters = Counters()

    async def scenario() -> Fetched:
        async with serve(partial(_visitors, log=log, knows="0a1b2c")) as port:
            base = f"http://127.0.0.1:{port}"
            settings = Settings(
                site=Site(base_url=base, visitor_url=f"{base}/visitor/genvisitor2"),
                pace=Pace(requests_per_second=1000),
                fetch=Fetch(transport=transport),
            )
            site = open_site(settings)
            fetcher = open_fetcher(settings, site, counters)
            try:
                return await fetcher.fetch(Ask(site.profile(OWNER)))
            finally:
                await fetcher.close()

    fetched = asyncio.run(scenario())
    assert fetched.reading.verdict is Verdict.OK
    assert log == ["form", "entry", "form", "incarnate", "page"]
    counted = counters.snapshot()
    assert (counted["session.asked"], counted["session.opened"]) == (1, 1)

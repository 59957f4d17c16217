"""A site of a foreign world's files that a test switches while it runs.

    python switched_site.py TOOLS WORLD PORT LOG SWITCH SHARE

As long as the file SWITCH holds "soft", everybody gets the no-content body; while it holds "soft
later", in the place of later pages of lists and timelines alone; while it holds "gone", of each
user it is said that there is none. A share of the long posts is restricted: their text is shown to
nobody. LOG: a line an answer, [path, what].
"""

import gzip
import importlib.util
import json
import re
import sys
import zlib
from pathlib import Path

from aiohttp import web

_NOT_SHOWN = (
    {"ok": 0, "errno": "20174", "msg": "请前往微博客户端登录查看完整内容"},
    {"ok": 0, "errno": "20112", "msg": "暂无查看权限", "error_type": "alert"},
)
_NOBODY = gzip.compress('{"ok":0,"errno":"20003","msg":"用户不存在"}'.encode())
_NOT_SHOWN_PAGE = (
    "<html><head><title>微博-出错了</title></head><body>"
    '<p class="h5-4con">由于博主设置，目前内容暂不可见。</p></body></html>'
)


def _application(
    tools: Path, world: Path, log: Path, switch: Path, share: float
) -> web.Application:
    spec = importlib.util.spec_from_file_location("foreign_site", tools / "site.py")
    assert spec is not None
    assert spec.loader is not None
    foreign = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(foreign)
    lines = log.open("w", buffering=1)

    def told_all(*, is_later: bool = False) -> bytes | None:
        """What everybody is answered now."""
        state = switch.read_text() if switch.exists() else ""
        if state == "gone":
            return _NOBODY
        is_soft = state == "soft" or (state == "soft later" and is_later)
        body: bytes = foreign.EMPTY
        return body if is_soft else None

    def packed(request: web.Request, what: str, body: bytes) -> web.Response:
        lines.write(json.dumps([request.path_qs, what]) + "\n")
        headers = {"Content-Encoding": "gzip"}
        return web.Response(body=body, headers=headers, content_type="application/json")

    async def index(request: web.Request) -> web.Response:
        file = foreign.page_file(world / "www", request.query)
        if told := told_all(is_later=not re.search(r"/profile/|-1\.gz$", str(file))):
            return packed(request, "soft", told)
        if not file.exists():
            return packed(request, "end", foreign.EMPTY)
        return packed(request, "page", file.read_bytes())

    async def post(request: web.Request) -> web.Response:
        mid = request.match_info.get("mid") or request.query.get("id", "")
        if told := told_all():
            return packed(request, "soft", told)
        if is_restricted(mid, share):
            lines.write(json.dumps([request.path_qs, "restricted"]) + "\n")
            if "mid" in request.match_info:
                return web.Response(text=_NOT_SHOWN_PAGE, content_type="text/html")
            return web.json_response(_NOT_SHOWN[int(mid) % 2])
        file = world / "www/ext" / f"{mid}.gz"
        is_known = request.path == "/statuses/extend" and file.exists()
        return packed(
            request, "text" if is_known else "end", file.read_bytes() if is_known else foreign.EMPTY
        )

    async def home(_: web.Request) -> web.Response:
        return web.Response(text="<!DOCTYPE html><title>微博</title>", content_type="text/html")

    app = web.Application()
    app.add_routes(
        [
            web.get("/api/container/getIndex", index),
            web.get("/statuses/extend", post),
            web.get("/statuses/show", post),
            web.get("/detail/{mid}", post),
            web.get("/", home),
        ]
    )
    return app


def is_restricted(mid: str, share: float) -> bool:
    """Whether the site shows nobody the text of this post: so for this share of all mids."""
    return zlib.crc32(mid.encode()) % 1000 < share * 1000


if __name__ == "__main__":
    tools, world, port, log, switch, share = sys.argv[1:]
    app = _application(Path(tools), Path(world), Path(log), Path(switch), float(share))
    web.run_app(app, host="127.0.0.1", port=int(port), print=None, access_log=None)

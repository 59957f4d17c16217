"""What each fault does to an answer: some spoil the answer, some the connection it goes over."""

import asyncio
import gzip
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from aiohttp import web

from weibo_crawler.simulator.wire import END, HTML, SITE, Answer, ascii_json, error_page, login_wall

BOMB_BYTES = 64 * 1024 * 1024
ON_THE_WIRE = frozenset({"slow", "stalled", "cut", "garbage_status", "early_close"})

# What is renamed when a page drifts: the first of these that the page holds.
_RENAMED = (b'"userInfo":', b'"mblog":', b'"longTextContent":', b'"status": ', b'"user":')


def spoil(fault: str, answer: Answer, address: str) -> Answer:
    """The answer of a fault that is a whole HTTP answer; its label is the fault's name.

    An answer that holds nothing to rename cannot drift, and comes as it is.
    """
    return _SPOILERS[fault](answer, address)


async def misbehave(
    fault: str, request: web.BaseRequest, answer: Answer, slow_s: float
) -> web.Response:
    """Serve a fault of the connection (ON_THE_WIRE)."""
    if fault == "slow":
        await asyncio.sleep(slow_s)
        return response(answer)
    transport = request.transport
    if transport is not None:
        transport.write(_bytes_before_the_end(fault, answer))
        if fault == "stalled":
            await asyncio.Event().wait()  # until the client goes, or the server stops
        transport.close()
    return web.Response()  # nobody reads it: the connection is closed


def response(answer: Answer, *, zipped: bool = False) -> web.Response:
    """An answer as aiohttp wants it."""
    reply = web.Response(body=answer.body, status=answer.status)
    reply.headers["Content-Type"] = answer.content_type
    if zipped and answer.body and not any(name == "Content-Encoding" for name, _ in answer.headers):
        reply.body = gzip.compress(answer.body, 1, mtime=0)
        reply.headers["Content-Encoding"] = "gzip"
    for name, value in answer.headers:
        reply.headers.add(name, value)
    return reply


def _bytes_before_the_end(fault: str, answer: Answer) -> bytes:
    """The bytes that go out before the connection stalls or closes."""
    if fault == "early_close":
        return b""
    if fault == "garbage_status":
        return b"WBTP/0.1 OK maybe\r\n\r\n" + answer.body[:100]
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(answer.body) + 1}\r\n\r\n"
    )
    return head.encode() + answer.body[: len(answer.body) // 2]


def _throttled(answer: Answer, address: str) -> Answer:
    body = {"ok": 0, "errno": "100005", "msg": "请求过于频繁,歇歇吧"}
    status = 403 if zlib.crc32(address.encode()) & 1 else 200  # both were seen (weibo_api.md)
    return Answer(ascii_json(body), "throttled", status)


def _json(name: str, body: dict[str, Any]) -> Callable[[Answer, str], Answer]:
    answer = Answer(ascii_json(body), name)
    return lambda _answer, _address: answer


def _captcha(name: str, place: str) -> Callable[[Answer, str], Answer]:
    url = f"{SITE}/{place}"
    return _json(name, {"ok": -100, "errno": "-100", "msg": "", "url": url, "extra": ""})


def _plain(name: str, status: int, title: str) -> Callable[[Answer, str], Answer]:
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    answer = Answer(page.encode() if title else b"", name, status, HTML)
    return lambda _answer, _address: answer


def _truncated(answer: Answer, address: str) -> Answer:
    cut = answer.body[: len(answer.body) * 2 // 3]
    return msgspec.structs.replace(answer, body=cut, label="truncated_json")


def _drifted(answer: Answer, address: str) -> Answer:
    for key in _RENAMED:
        if key in answer.body:
            renamed = answer.body.replace(key, b'"new_' + key[1:])
            return msgspec.structs.replace(answer, body=renamed, label="drifted")
    return answer


def _bad_gzip(answer: Answer, address: str) -> Answer:
    packed = gzip.compress(answer.body, 1, mtime=0)
    broken = packed[: len(packed) // 2] + b"\xff" * (len(packed) // 2)
    return Answer(broken, "bad_gzip", headers=(("Content-Encoding", "gzip"),))


@cache
def _bomb_body() -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)  # 31: one gzip member
    spaces = b" " * (1 << 20)
    packed = [packer.compress(spaces) for _ in range(BOMB_BYTES >> 20)]
    return b"".join(packed) + packer.flush()


def _bomb(answer: Answer, address: str) -> Answer:
    return Answer(_bomb_body(), "bomb", headers=(("Content-Encoding", "gzip"),))


_SPOILERS: dict[str, Callable[[Answer, str], Answer]] = {
    "throttled": _throttled,
    "throttled_418": _plain("throttled_418", 418, "418"),
    "too_long_414": _plain("too_long_414", 414, "414 Request-URI Too Large"),
    "refused_403": _plain("refused_403", 403, "403 Forbidden"),
    "refused_432": _plain("refused_432", 432, ""),
    "captcha": _captcha("captcha", "captcha/show?backUrl="),
    "geetest": _captcha("geetest", "api/geetest?testType=1&backUrl=/"),
    "login_wall": lambda _answer, address: login_wall(address),
    "server_trouble": _json("server_trouble", {"ok": 0, "errno": "100001", "msg": "服务器走丢了"}),
    "unknown_words": _json("unknown_words", {"ok": 0, "msg": "小编正在路上，请稍后再试"}),
    "unknown_keys": _json(
        "unknown_keys", {"ok": 0, "message": "target weibo is busy", "error_code": 21399}
    ),
    "bare_ok0": _json("bare_ok0", {"ok": 0}),
    "ok1_refusal": _json(
        "ok1_refusal", {"ok": 1, "msg": "请求过于频繁,歇歇吧", "data": {"cards": []}}
    ),
    "status_502": _plain("status_502", 502, "502 Bad Gateway"),
    "empty_200": _plain("empty_200", 200, ""),
    "no_content": lambda _answer, _address: Answer(END.body, "no_content"),
    "html_busy": lambda _answer, _address: error_page("抱歉，网络繁忙", "html_busy"),
    "not_json": _plain("not_json", 200, "Sina Visitor System"),
    "truncated_json": _truncated,
    "bad_gzip": _bad_gzip,
    "bomb": _bomb,
    "drifted": _drifted,
}

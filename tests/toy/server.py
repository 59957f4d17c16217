"""The toy site over HTTP, on loopback."""

import json
import secrets
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.toy.site import Toy, signature


class World:
    """Who follows whom, and posts by user: id -> (text, likes). hidden: posts that are counted, and
    not shown. asked: requests by path."""

    def __init__(self) -> None:
        self.follows: dict[str, list[str]] = {
            "ann.b": ["bob", "c-d_e", "1e3", "dee:x"],
            "bob": ["ann.b", "eve-"],
            "c-d_e": [],
            "1e3": ["0x1f"],
            "dee:x": ["bob"],
            "eve-": ["ann.b"],
            "0x1f": ["1e3"],
        }
        self.posts: dict[str, dict[str, tuple[str, int]]] = {
            uid: {f"p-{n}_{uid[:2]}": (f"post {n} of {uid}", n) for n in range(n_posts)}
            for uid, n_posts in zip(self.follows, (12, 1, 0, 4, 3, 2, 5), strict=True)
        }
        self.hidden: set[str] = set()
        self.asked: Counter[str] = Counter()
        self.tokens: set[str] = set()

    def user(self, uid: str) -> dict[str, Any]:
        followers = sum(uid in others for others in self.follows.values())
        told = {"id": uid, "name": uid.upper(), "followers": followers}
        return told | {"following": len(self.follows[uid]), "posts": len(self.posts[uid])}

    def list_of(self, uid: str, what: str) -> list[dict[str, Any]]:
        if what == "following":
            return [self.user(one) for one in self.follows[uid]]
        posts = self.posts[uid]
        shown = sorted(posts.keys() - self.hidden, key=lambda id: sha256(id.encode()).digest())
        return [self.post(id, *posts[id]) for id in shown]

    def post(self, id: str, text: str, likes: int) -> dict[str, Any]:
        at = f"2026-01-{1 + likes % 28:02d}T00:00:00Z"
        return {"id": id, "text": text, "likes": likes, "at": at}

    def answer(self, path: str, after: str) -> dict[str, Any] | None:
        """None: there is nobody of that name."""
        uid, _, what = path.removeprefix("/users/").partition("/")
        if uid not in self.follows:
            return None
        if not what:
            return self.user(uid)
        start = int(urlsafe_b64decode(after or "MA=="))
        items, end = self.list_of(uid, what), start + Toy.posts_a_page
        cursor = urlsafe_b64encode(str(end).encode()).decode() if end < len(items) else None
        return {"items": items[start:end], "next": cursor, "by": self.user(uid)}


@contextmanager
def serving(world: World) -> Iterator[str]:
    """Its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            world.tokens.add(token := secrets.token_hex(8))
            self._send(200, token.encode())

        def do_GET(self) -> None:
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            minute = int(time.time() // 60)
            known = [signature(self.path, token, at) for at in (minute, minute - 1)]
            if token not in world.tokens or self.headers.get("X-Sign") not in known:
                self._send(401, b"")
                return
            parts = urlsplit(self.path)
            world.asked[parts.path] += 1
            said = world.answer(parts.path, parse_qs(parts.query).get("after", [""])[0])
            self._send(404 if said is None else 200, json.dumps(said).encode())

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

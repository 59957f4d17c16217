"""A real web server on loopback that answers with JSON, or with text."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer


@contextmanager
def answering(answer: Callable[[str], object]) -> Iterator[int]:
    """Its port. answer: what it says of a path, bytes as plain text; None: 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = answer(self.path)
            is_text = isinstance(said, bytes)
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(404 if said is None else 200)
            self.send_header("Content-Type", "text/plain" if is_text else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:  # else a test that fails never ends
            server.shutdown()
            thread.join()

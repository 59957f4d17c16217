import importlib.util
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from weibo_crawler.config import Fetch
from weibo_crawler.fetch.clients.transport import Transport
from weibo_crawler.fetch.opening import choose_transport


class Tls(NamedTuple):
    """A certificate for `localhost` only: the server's side, and a client that trusts it."""

    server: ssl.SSLContext
    client: ssl.SSLContext


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl command to make a certificate with")
    folder: Path = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run([*request, *subject, *files], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return Tls(server, ssl.create_default_context(cafile=certificate))


class Make(Protocol):
    """Makes a transport; `name` is that of the setting."""

    name: str

    def __call__(self, settings: Fetch, *, tls: ssl.SSLContext | None = None) -> Transport: ...


@pytest.fixture(params=["requests", "wreq"])
def make(request: pytest.FixtureRequest) -> Make:
    """Each transport in turn: one contract for all."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed: pip install 'weibo-hadoop[fast]'")
    made: Make = choose_transport(Fetch(transport=request.param))
    return made

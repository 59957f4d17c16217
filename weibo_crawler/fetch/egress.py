"""The ways out: the direct connection, or a proxy.

A proxy's credentials live in `Egress.proxy_url` only: its name, which is what counters, errors and
logs show, is host:port, and its repr leaves the address out.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from weibo_crawler.config import Egress as EgressSettings
from weibo_crawler.config import resolve
from weibo_crawler.errors import BadConfig

# Names are resolved by the proxy, as with CONNECT: socks5 alone would resolve them here.
_SCHEMES = {"http": "http", "https": "https", "socks5": "socks5h", "socks5h": "socks5h"}
_COMMENT = re.compile(r"(^|\s)#.*")
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")


@dataclass(frozen=True, slots=True)
class Egress:
    """One way out. name: "direct", or host:port of a proxy; proxy_url: its whole address."""

    name: str
    proxy_url: str | None = field(default=None, repr=False)


DIRECT = Egress("direct")


def load_egresses(settings: EgressSettings) -> list[Egress]:
    """All ways out of the settings, the direct one first.

    The file holds one address a line: `http://user:password@host:port`, `https://…`, `socks5://…`
    or `host:port`; `#` starts a comment. An address that stands twice is one egress; two accounts
    at one gateway are two, the second named `host:port#2`.
    Errors: BadConfig with file and line, never with the line's text.
    """
    egresses = [DIRECT] if settings.use_direct else []
    if settings.proxies_file is not None:
        egresses += _read(settings.proxies_file)
    if not egresses:
        raise BadConfig(
            f"egress.proxies_file: {settings.proxies_file} names no proxy; "
            "add one address a line, or set egress.direct = true"
        )
    return egresses


def _read(file: str) -> list[Egress]:
    names: dict[str, int] = {}
    urls: dict[str, str] = {}  # proxy address -> name
    for number, line in enumerate(_text(resolve(file), file).splitlines(), 1):
        address = _COMMENT.sub("", line).strip()
        if not address:
            continue
        url, name = _parse(address, f"{file}:{number}")
        if url not in urls:
            names[name] = names.get(name, 0) + 1
            urls[url] = name if names[name] == 1 else f"{name}#{names[name]}"
    return [Egress(name, url) for url, name in urls.items()]


def _text(path: Path, file: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadConfig(f"egress.proxies_file: cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadConfig(f"egress.proxies_file: {file} is not UTF-8 text") from None


def _parse(address: str, where: str) -> tuple[str, str]:
    """(whole address, host:port) of one line."""
    url = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = SplitResult("", "", "", "", ""), None
    host = parts.hostname or ""
    known = parts.scheme in _SCHEMES and bool(_HOST.fullmatch(host)) and port
    if not known or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise BadConfig(
            f"{where}: not a proxy address; write http://user:password@host:port "
            "(or https://, socks5://, or host:port alone), special characters of the password "
            "percent-encoded"
        )
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    account, at, _ = parts.netloc.rpartition("@")
    return f"{_SCHEMES[parts.scheme]}://{account}{at}{name}", name

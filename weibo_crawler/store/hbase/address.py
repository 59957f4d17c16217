"""The address of the tables in HBase, and the names that it gives them. Pure: no driver is needed.

    hbase://host[:9090][,host[:9090]…][/[namespace:]prefix][?option=value[&…]]

Table `posts` of /dev is dev_posts, of /weibo: it is weibo:posts, of /weibo:dev weibo:dev_posts, as
conf/hbase_schema.rb names them by its WEIBO_TABLE_NAMESPACE and WEIBO_TABLE_PREFIX. The options say
how the Thrift servers were started, and what stands before them: see `Address`.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from weibo_crawler.errors import BadConfig
from weibo_crawler.store.options import TLS, read_options

_PORT = 9090
_PLACE = re.compile(r"(?:(?P<namespace>\w+):)?(?P<prefix>\w[\w.-]*)?", re.ASCII)
_FORM = "use hbase://host:port, the Thrift server's, or hbase://host:port/[namespace:]prefix"
KERBEROS = "kerberos"
_AUTH = ("auth", "service", "keytab")
WORDS = {"transport": ("buffered", "framed", "http"), "protocol": ("binary", "compact")}


class Address(NamedTuple):
    """Where the tables are, and how they are reached.

    servers: host and port of each; they know the same tables. namespace, prefix: "" for none.
    transport: buffered, framed or http; protocol: binary or compact. ssl_ca: a file by which the
    servers must prove themselves. ssl_cert, ssl_key: files that say who we are; ssl_cert may hold
    the key as well. auth: "" or kerberos; service: whose ticket the servers want, of service@host;
    keytab: a file with our key, None where we have a ticket.
    """

    servers: tuple[tuple[str, int], ...]
    namespace: str = ""
    prefix: str = ""
    transport: str = "buffered"
    protocol: str = "binary"
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    auth: str = ""
    service: str = "hbase"
    keytab: str | None = None

    def __str__(self) -> str:
        return "hbase://" + ",".join(f"{host}:{port}" for host, port in self.servers)

    def way(self) -> str:
        """How the servers are spoken to, in words."""
        secured = " over TLS" if self.ssl_ca else ""
        known = " with Kerberos" if self.auth else ""
        return f"{self.transport} and {self.protocol}{secured}{known}"

    def table(self, name: str) -> str:
        """The full name in HBase of the table that this program calls `name`."""
        local = f"{self.prefix}_{name}" if self.prefix else name
        return f"{self.namespace}:{local}" if self.namespace else local

    def schema_environment(self) -> dict[str, str]:
        """The variables by which conf/hbase_schema.rb gives the same names."""
        names = {"WEIBO_TABLE_NAMESPACE": self.namespace, "WEIBO_TABLE_PREFIX": self.prefix}
        return {variable: value for variable, value in names.items() if value}


def parse_address(url: str) -> Address:
    """BadConfig where it is no such address, without the url's text: it may hold a password."""
    try:
        parts = urlsplit(url)
        servers = tuple(map(_server, parts.netloc.split(",")))
    except ValueError:
        raise BadConfig(f"store.tables is no HBase address: {_FORM}") from None
    place = _PLACE.fullmatch(parts.path.strip("/"))
    if parts.scheme != "hbase" or place is None or parts.fragment:
        raise BadConfig(f"store.tables is no HBase address: {_FORM}")
    options = read_options(parts.query, "store.tables", (*WORDS, *TLS, *_AUTH), _FORM)
    for name, known in WORDS.items():
        if options.get(name, known[0]) not in known:
            raise BadConfig(f"store.tables: {name} is one of {', '.join(known)}: {_FORM}")
    _check_auth(options)
    return Address(servers, place["namespace"] or "", place["prefix"] or "", **options)


def _check_auth(options: Mapping[str, str]) -> None:
    if options.get("auth", KERBEROS) != KERBEROS:
        raise BadConfig(f"store.tables: auth is {KERBEROS} or not there: {_FORM}")
    if "auth" not in options and options.keys() & set(_AUTH):
        raise BadConfig(f"store.tables: service and keytab need auth={KERBEROS}: {_FORM}")
    if "auth" in options and options.get("transport", "buffered") != "buffered":
        raise BadConfig(f"store.tables: auth={KERBEROS} wants transport=buffered: {_FORM}")


def _server(text: str) -> tuple[str, int]:
    """ValueError where it is none."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname or "@" in text:
        raise ValueError
    return parts.hostname, parts.port or _PORT

"""The address of the tables in HBase, and the names that it gives them. Pure: no driver is needed.

    hbase://host[:9090][/[namespace:]prefix]

Table `posts` of /dev is dev_posts, of /weibo: it is weibo:posts, of /weibo:dev weibo:dev_posts, as
conf/hbase_schema.rb names them by its WEIBO_TABLE_NAMESPACE and WEIBO_TABLE_PREFIX.
"""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from weibo_crawler.errors import BadConfig

_PORT = 9090
_PLACE = re.compile(r"(?:(?P<namespace>\w+):)?(?P<prefix>\w[\w.-]*)?", re.ASCII)
_FORM = "use hbase://host:port, the Thrift server's, or hbase://host:port/[namespace:]prefix"


class Address(NamedTuple):
    """Where the tables are. namespace, prefix: "" for none."""

    host: str
    port: int
    namespace: str
    prefix: str

    def __str__(self) -> str:
        return f"hbase://{self.host}:{self.port}"

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
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        raise BadConfig(f"store.tables is no HBase address: {_FORM}") from None
    place = _PLACE.fullmatch(parts.path.strip("/"))
    extra = parts.username or parts.password or parts.query or parts.fragment
    if parts.scheme != "hbase" or not host or place is None or extra:
        raise BadConfig(f"store.tables is no HBase address: {_FORM}")
    return Address(host, port, place["namespace"] or "", place["prefix"] or "")

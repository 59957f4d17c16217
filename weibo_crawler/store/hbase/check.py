"""What `doctor` asks of HBase's Thrift server; leaves no trace in the tables."""

import itertools
from typing import Any, ClassVar

import happybase
from thriftpy2.thrift import TMessageType, TPayload

from weibo_crawler.errors import StoreError
from weibo_crawler.store.hbase.address import Address, parse_address
from weibo_crawler.store.hbase.errors import CHECK_SERVER, FAILED, explain
from weibo_crawler.store.hbase.tables import HbaseTables

_ANSWER_MS = 4000
_OURS = ("buffered", "binary")
_FLAGS = {"framed": "-f", "compact": "-c"}  # of `hbase thrift start`
_NOBODY = "doctor"  # no key of ours: they begin with two hexadecimal digits and a dash


def protocol(url: str) -> str:
    """Somebody speaks Thrift there, buffered and binary; StoreError says what else it is."""
    address = parse_address(url)
    try:
        _greet(address, _OURS)
    except TimeoutError:
        raise StoreError(f"{address}: no answer; {CHECK_SERVER}") from None
    except FAILED as error:
        # it hung up: a server that expects another way does so at once
        for way in itertools.product(("buffered", "framed"), ("binary", "compact")):
            if way != _OURS and _speaks(address, way):
                flags = " and ".join(_FLAGS[word] for word in way if word in _FLAGS)
                raise StoreError(
                    f"{address}: the Thrift server speaks {way[0]} and {way[1]}: start it without "
                    f"{flags}; this program speaks buffered and binary, which costs the least"
                ) from None
        raise StoreError(f"{address}: {explain(error)}; {CHECK_SERVER}") from None
    return f"{address}: Thrift, buffered and binary"


def tables(url: str) -> str:
    """They are there and take writes; what differs from conf/hbase_schema.rb without harm is said.

    Deleting what is not there needs the right to write, and leaves nothing to be seen.
    """
    held = HbaseTables(url)
    try:
        differences = held.check()
        for table in (held.userlist, held.posts):
            table.delete(_NOBODY, up_to=1)
    finally:
        held.close()
    said = "; ".join(f"differs: {line}" for line in differences)
    return f"{said or 'as conf/hbase_schema.rb has them'}; writable"


def _speaks(address: Address, way: tuple[str, str]) -> bool:
    try:
        _greet(address, way)
    except (*FAILED, ValueError, MemoryError):  # an answer of another kind may read as anything
        return False
    return True


def _greet(address: Address, way: tuple[str, str]) -> None:
    """Call what needs nothing of HBase: a server that was just started takes seconds for its first
    look there. That it does not know the method, as old ones do not, is an answer too."""
    connection = happybase.Connection(
        address.host,
        address.port,
        timeout=_ANSWER_MS,
        autoconnect=False,
        transport=way[0],
        protocol=way[1],
    )
    try:
        connection.open()
        out = connection.client._oprot
        out.write_message_begin("getThriftServerType", TMessageType.CALL, 0)
        out.write_struct(_Nothing())
        out.write_message_end()
        out.trans.flush()
        connection.client._iprot.read_message_begin()
    finally:
        connection.close()


class _Nothing(TPayload):
    """A call's arguments, of which there are none."""

    thrift_spec: ClassVar[dict[int, tuple[Any, ...]]] = {}
    default_spec: ClassVar[list[tuple[str, Any]]] = []

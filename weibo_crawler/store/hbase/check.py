"""What `doctor` asks of HBase's Thrift server; leaves no trace in the tables."""

import itertools
import socket
from typing import Any, ClassVar

from thriftpy2.thrift import TMessageType, TPayload

from weibo_crawler.errors import StoreError
from weibo_crawler.store.hbase.address import WORDS, Address, parse_address
from weibo_crawler.store.hbase.connection import Connection
from weibo_crawler.store.hbase.errors import CHECK_SERVER, FAILED, explain
from weibo_crawler.store.hbase.sasl import REFUSED, UNKNOWN_MECHANISM
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.rows.cells import KEEP_VERSIONS

_ANSWER_S = 4.0
_NOBODY = "doctor"  # no key of ours: they begin with two hexadecimal digits and a dash


def protocol(url: str) -> str:
    """Somebody speaks Thrift at each server, in the way that the address says; StoreError says what
    else it is."""
    address = parse_address(url)
    for server in address.servers:
        _check(address._replace(servers=(server,)))
    return f"{address}: Thrift, {address.way()}"


def _check(address: Address) -> None:
    is_kerberos = bool(address.auth)
    try:
        _greet(address)
    except FAILED as error:
        is_silent = isinstance(error, TimeoutError)
        if not address.auth and _asks_for_ticket(address):
            raise StoreError(
                f"{address}: the Thrift server asks for Kerberos: say ?auth=kerberos behind the "
                "address in store.tables"
            ) from None
        address = address._replace(auth="", keytab=None)
        if is_kerberos and _speaks(address):
            raise StoreError(
                f"{address}: the Thrift server asks for no ticket: leave auth=kerberos out of "
                "store.tables"
            ) from None
        # a server that expects another way hangs up at once, or waits for the rest of a head
        for transport, spoken in itertools.product(*WORDS.values()):
            other = address._replace(transport=transport, protocol=spoken)
            is_likely = transport == "http" or not is_silent
            if other != address and is_likely and _speaks(other):
                options = f"transport={transport}&protocol={spoken}"
                raise StoreError(
                    f"{address}: the Thrift server speaks {other.way()}: say ?{options} behind "
                    "the address in store.tables; buffered and binary costs the least"
                ) from None
        said = "no answer" if is_silent else explain(error)
        raise StoreError(f"{address}: {said}; {CHECK_SERVER}") from None


def tables(url: str, keep_versions: int = KEEP_VERSIONS) -> str:
    """They are there and take writes; what differs from conf/hbase_schema.rb without harm is said.
    keep_versions: as in `families`.

    Deleting what is not there needs the right to write, and leaves nothing to be seen.
    """
    held = HbaseTables(url, keep_versions=keep_versions)
    try:
        differences = held.check()
        for table in (held.userlist, held.posts):
            table.delete(_NOBODY, up_to=1)
    finally:
        held.close()
    said = "; ".join(f"differs: {line}" for line in differences)
    return f"{said or 'as conf/hbase_schema.rb has them'}; writable"


def _speaks(address: Address) -> bool:
    try:
        _greet(address)
    except (*FAILED, ValueError, MemoryError):  # an answer of another kind may read as anything
        return False
    return True


def _asks_for_ticket(address: Address) -> bool:
    """Whether it refuses a way of proving oneself that there is not, and does so in SASL."""
    (server,) = address.servers
    try:
        with socket.create_connection(server, _ANSWER_S) as wire:
            wire.sendall(UNKNOWN_MECHANISM)
            return wire.recv(1) in REFUSED
    except OSError:
        return False


def _greet(address: Address) -> None:
    """Call what needs nothing of HBase: a server that was just started takes seconds for its first
    look there. That it does not know the method, as old ones do not, is an answer too."""
    (server,) = address.servers
    connection = Connection(address, server, timeout_s=_ANSWER_S)
    try:
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

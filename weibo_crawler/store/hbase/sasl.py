"""A Thrift server that asks for a ticket: SASL with the mechanism GSSAPI (RFC 4752), framed as
Thrift does. What the server insists on is done: nothing, signatures or encryption of each call."""

from io import BytesIO
from typing import Any

from thriftpy2.transport import TTransportException
from thriftpy2.transport.base import TTransportBase, readall

from weibo_crawler.kerberos import Handshake, NoTicket

_START, _OK, _BAD, _ERROR, _COMPLETE = 1, 2, 3, 4, 5  # how a message of the handshake begins
_PLAIN, _SIGNED, _SECRET = 1, 2, 4  # bits of what the server offers
_LARGEST = (0xFFFFFF).to_bytes(3, "big")  # that we take
UNKNOWN_MECHANISM = bytes([_START, 0, 0, 0, 4]) + b"NONE"
REFUSED = (bytes([_BAD]), bytes([_ERROR]))


class Sasl(TTransportBase):
    """Around a socket, which `open` opens. service@host: whose ticket we bring."""

    def __init__(self, wire: Any, service: str, host: str, keytab: str | None) -> None:
        self._wire, self._who = wire, (service, host, keytab)
        self._call, self._answer = BytesIO(), BytesIO()
        self._layer = _PLAIN

    @property
    def sock(self) -> Any:
        return self._wire.sock

    def is_open(self) -> bool:
        return bool(self._wire.is_open())

    def close(self) -> None:
        self._wire.close()

    def open(self) -> None:
        try:
            self._handshake = Handshake(*self._who)
            first = self._handshake.step()
        except NoTicket as error:
            raise NoTicket(
                f"{error}; or ?auth=kerberos&keytab=FILE in store.tables, which mappers need, who "
                "have no ticket"
            ) from None
        self._wire.open()
        self._tell(_START, b"GSSAPI")
        self._tell(_OK, first)
        while not self._handshake.is_complete:
            self._tell(_OK, self._handshake.step(self._told()))
        offered = self._handshake.unwrap(self._told())[0]
        self._layer = next(each for each in (_PLAIN, _SECRET, _SIGNED) if each & offered)
        self._tell(_OK, self._handshake.wrap(bytes([self._layer]) + _LARGEST, secret=False))
        self._told()

    def write(self, buf: bytes) -> None:
        self._call.write(buf)

    def flush(self) -> None:
        call, self._call = self._call.getvalue(), BytesIO()
        if self._layer != _PLAIN:
            call = self._handshake.wrap(call, secret=self._layer == _SECRET)
        self._wire.write(len(call).to_bytes(4, "big") + call)

    def read(self, sz: int) -> bytes:
        part = self._answer.read(sz)
        if part:
            return part
        answer = self._take(int.from_bytes(self._take(4), "big"))
        if self._layer != _PLAIN:
            answer = self._handshake.unwrap(answer)
        self._answer = BytesIO(answer)
        return self._answer.read(sz)

    def _tell(self, status: int, words: bytes) -> None:
        self._wire.write(bytes([status]) + len(words).to_bytes(4, "big") + words)

    def _told(self) -> bytes:
        head = self._take(5)
        words = self._take(int.from_bytes(head[1:], "big"))
        if head[0] in (_OK, _COMPLETE):
            return words
        said = words.decode("utf-8", "replace") or f"status {head[0]}"
        raise TTransportException(
            TTransportException.UNKNOWN, f"the Thrift server does not take our ticket: {said}"
        )

    def _take(self, size: int) -> bytes:
        return bytes(readall(self._wire.read, size)) if size else b""

"""One connection to a Thrift server: happybase's, over the transports that it lacks as well."""

import os
import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from io import BytesIO
from pathlib import Path
from typing import Any

import happybase
from happybase import connection as happy
from thriftpy2.thrift import TClient
from thriftpy2.transport import TSocket, TTransportException
from thriftpy2.transport.base import TTransportBase
from thriftpy2.transport.sslsocket import TSSLSocket

from weibo_crawler.store.hbase.address import Address
from weibo_crawler.store.hbase.sasl import Sasl

_OK = 200


class Connection(happybase.Connection):  # type: ignore[misc]
    """Opened at once. server: host and port. Raises what errors.FAILED names."""

    def __init__(self, address: Address, server: tuple[str, int], *, timeout_s: float) -> None:
        self.server, self._address, self._timeout_s = server, address, timeout_s
        self._tls = _tls(address)
        is_http = address.transport == "http"
        super().__init__(
            *server,
            transport="buffered" if is_http else address.transport,
            protocol=address.protocol,
            autoconnect=False,
        )
        self.open()

    def leave(self) -> None:
        """Close this process's copy of the socket without a word to the server: close() would shut
        down the connection of the process that was forked as well."""
        if self._wire.sock is not None:
            os.close(self._wire.sock.detach())

    def _refresh_thrift_client(self) -> None:
        """As happybase does, whose transport is a plain socket always."""
        self._wire = self._new_wire()
        self.transport = self._transport_class(self._wire)
        protocol = self._protocol_class(self.transport, decode_response=False)
        self.client = TClient(happy.Hbase, protocol)

    def _new_wire(self) -> Any:
        if self._address.transport == "http":
            return _Http(self.host, self.port, self._timeout_s, self._tls)
        milliseconds = int(self._timeout_s * 1000)
        wire = (
            TSocket(self.host, self.port, socket_timeout=milliseconds)  # type: ignore[no-untyped-call]
            if self._tls is None
            else TSSLSocket(  # type: ignore[no-untyped-call]
                self.host, self.port, socket_timeout=milliseconds, ssl_context=self._tls
            )
        )
        if not self._address.auth:
            return wire
        return Sasl(wire, self._address.service, self.host, self._address.keytab)


class _Http(TTransportBase):
    """A call is a POST. thriftpy2 has one as well, which sets the timeout of all sockets of the
    process for each call."""

    def __init__(self, host: str, port: int, timeout_s: float, tls: ssl.SSLContext | None) -> None:
        self._http = (
            HTTPConnection(host, port, timeout=timeout_s)
            if tls is None
            else HTTPSConnection(host, port, timeout=timeout_s, context=tls)
        )
        self._call, self._answer = BytesIO(), BytesIO()

    @property
    def sock(self) -> Any:
        return self._http.sock

    def is_open(self) -> bool:
        return self._http.sock is not None

    def open(self) -> None:
        self._http.connect()

    def close(self) -> None:
        self._http.close()

    def write(self, buf: bytes) -> None:
        self._call.write(buf)

    def read(self, sz: int) -> bytes:
        return self._answer.read(sz)

    def flush(self) -> None:
        call, self._call = self._call.getvalue(), BytesIO()
        try:
            self._http.request("POST", "/", call, {"Content-Type": "application/x-thrift"})
            response = self._http.getresponse()
            answer = response.read()
        except HTTPException as error:
            told = f"no answer of HTTP: {type(error).__name__} {error}"
            raise TTransportException(TTransportException.UNKNOWN, told) from None
        if response.status != _OK:
            told = f"HTTP {response.status} {response.reason}"
            raise TTransportException(TTransportException.UNKNOWN, told)
        self._answer = BytesIO(answer)


def _tls(address: Address) -> ssl.SSLContext | None:
    if address.ssl_ca is None:
        return None
    for file in (address.ssl_ca, address.ssl_cert, address.ssl_key):
        if file is not None:
            Path(file).open("rb").close()  # its error has the file's name, that of ssl has not
    context = ssl.create_default_context(cafile=address.ssl_ca)
    if address.ssl_cert is not None:
        context.load_cert_chain(address.ssl_cert, address.ssl_key)
    return context

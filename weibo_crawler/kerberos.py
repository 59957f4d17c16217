"""Kerberos, by GSSAPI: who we are to a server, by a ticket (`kinit`) or by the key in a keytab.

Which realm, and where its KDC is, says krb5.conf; a host is taken as the address names it, unless
that file says otherwise. The library is an extra, loaded where a server asks for it.
"""

import base64
import urllib.error
import urllib.request
from email.message import Message
from http.client import HTTPException, HTTPResponse
from typing import IO, Any, cast
from urllib.parse import urlsplit

from weibo_crawler.errors import StoreError, needed

_NO_KDC = -1765328228  # KRB5_KDC_UNREACH
FAILED = (OSError, HTTPException)  # what asking by an `opener`, or reading the answer, may raise


class NoTicket(StoreError):
    """Kerberos says that we are nobody: `kinit`, or name a keytab, and call again."""


class Handshake:
    """Ours with service@host. keytab: None for the ticket of this account.

    Methods raise NoTicket, and ConnectionError where the KDC cannot be reached.
    """

    def __init__(self, service: str, host: str, keytab: str | None = None) -> None:
        with needed("Kerberos wants gssapi", "kerberos"):
            import gssapi
        self._failed: type[Exception] = gssapi.raw.GSSError
        self._what = f"{service}@{host}"
        try:
            name = gssapi.Name(self._what, gssapi.NameType.hostbased_service)
            credentials = None
            if keytab is not None:
                # a memory of the process: the KDC is asked once, and again before the ticket ends
                store: dict[bytes | str, bytes | str]
                store = {"client_keytab": keytab, "ccache": "MEMORY:weibo-crawler"}
                credentials = gssapi.Credentials(usage="initiate", store=store)
            self._context = gssapi.SecurityContext(name=name, creds=credentials, usage="initiate")
        except self._failed as error:
            raise self._told(error) from None

    def step(self, token: bytes | None = None) -> bytes:
        """What the server is to be told, given what it said."""
        try:
            return self._context.step(token) or b""
        except self._failed as error:
            raise self._told(error) from None

    @property
    def is_complete(self) -> bool:
        return bool(self._context.complete)

    def unwrap(self, message: bytes) -> bytes:
        return bytes(self._context.unwrap(message).message)

    def wrap(self, message: bytes, *, secret: bool) -> bytes:
        return bytes(self._context.wrap(message, secret).message)

    def _told(self, error: Any) -> Exception:
        said = error.get_all_statuses(error.min_code, False) if error.min_code else [str(error)]
        words = f"Kerberos, for {self._what}: {'; '.join(said)}"
        if (error.min_code or 0) & 0xFFFFFFFF == _NO_KDC & 0xFFFFFFFF:
            return ConnectionError(words)
        return NoTicket(f"{words}; kinit gets a ticket, and a server is named as the KDC knows it")


class Negotiate(urllib.request.BaseHandler):
    """SPNEGO, where a web server asks for it."""

    def http_error_401(
        self,
        request: urllib.request.Request,
        answer: IO[bytes],
        code: int,
        reason: str,
        headers: Message,
    ) -> HTTPResponse | None:
        """The same request, with a ticket; None where that is not asked for, or was refused."""
        offered = [
            each.split()[0].lower() for each in headers.get_all("WWW-Authenticate", [""]) if each
        ]
        if "negotiate" not in offered or request.has_header("Authorization"):
            return None
        answer.close()
        token = Handshake("HTTP", urlsplit(request.full_url).hostname or "").step()
        words = f"Negotiate {base64.b64encode(token).decode()}"
        request.add_unredirected_header("Authorization", words)
        try:
            return cast(HTTPResponse, self.parent.open(request, timeout=request.timeout))
        finally:
            request.remove_header("Authorization")


def opener() -> urllib.request.OpenerDirector:
    """For a cluster's own web interfaces, which are no matter for the proxies of the environment.
    Cookies: one ticket is good for many requests."""
    return urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(), Negotiate()
    )

"""The errors of wreq 0.13 as ours.

They share no class, and a class holds many causes; what happened is told by their texts only, which
print the library's own error values. Those texts are not passed on, for they quote addresses whole.
"""

import re

from wreq import exceptions

from weibo_crawler import errors
from weibo_crawler.fetch.egress import Egress

# What a call or an address cannot be made of: RuntimeError is for the bytes of a header.
_UNSENDABLE = (exceptions.BuilderError, RuntimeError, ValueError)
FOREIGN = (
    *_UNSENDABLE,
    exceptions.BodyError,
    exceptions.ConnectionError,
    exceptions.ConnectionResetError,
    exceptions.DecodingError,
    exceptions.ProxyConnectionError,
    exceptions.RedirectError,
    exceptions.RequestError,
    exceptions.StatusError,
    exceptions.TimeoutError,
    exceptions.TlsError,
    exceptions.UpgradeError,
)

_CONNECTING = re.compile(r"^Error \{ kind: (Proxy)?Connect,")
_LOCAL_PORT = re.compile(r"local_addr: \S+:(\d+) ")
_SYSTEM_MESSAGE = re.compile(r'message: "([^"]+)"')
_TLS_REASON = re.compile(r'reason: "(\w+)"')
_WHAT = re.compile(r"source: Some\(([\w(]+)")


def local_port(error: Exception) -> int | None:
    """The local port of the connection that broke under a request, before an answer came."""
    found = _LOCAL_PORT.search(_cause(error))
    return int(found[1]) if found else None


def was_closed(error: Exception) -> bool:
    """Whether the other side ended the connection before it had brought the head of an answer."""
    cause = _cause(error)
    return any(word in cause for word in ("IncompleteMessage", "ConnectionReset", "BrokenPipe"))


def translate(error: Exception, egress: Egress) -> errors.TransportError:
    """One of FOREIGN as the TransportError that says whose fault it is.

    EgressFailed: until the connection stands, a proxy is all we talk to.
    """
    if isinstance(error, _UNSENDABLE):
        return errors.ConnectFailed(
            f"the address or a header cannot be sent ({type(error).__name__})", blame="us"
        )
    cause = _cause(error)
    if not _CONNECTING.match(cause):
        sort, reason = _while_answering(cause)
    else:
        sort, reason = _connecting(cause)
        if egress.proxy_url is not None:
            return errors.EgressFailed(f"{egress.name}: {reason}")
    return sort(f"{reason} ({egress.name})")


def _cause(error: Exception) -> str:
    """The text behind the address, whose own words must not be mistaken for the library's."""
    return str(error).partition("source: ")[2]


def _connecting(cause: str) -> tuple[type[errors.TransportError], str]:
    if "CERTIFICATE_VERIFY_FAILED" in cause:
        return errors.ConnectFailed, "the TLS certificate is not valid"
    if "code: SSL" in cause or "code: SYSCALL" in cause:
        found = _TLS_REASON.search(cause)
        return errors.ConnectFailed, f"no TLS connection: {found[1] if found else 'it was closed'}"
    if "dns error" in cause:
        return errors.ConnectFailed, "the host name is not known"
    if "ProxyAuthRequired" in cause:
        return errors.ConnectFailed, "the proxy answers CONNECT with 407"
    if "TunnelUnsuccessful" in cause:
        return errors.ConnectFailed, "the proxy refuses CONNECT"
    if "TimedOut" in cause:
        return errors.TimedOut, "connecting took too long"
    found = _SYSTEM_MESSAGE.search(cause) or _WHAT.search(cause)
    what = found[1].replace("(", " ") if found else "wreq does not say why"
    return errors.ConnectFailed, f"no connection: {what}"


def _while_answering(cause: str) -> tuple[type[errors.TransportError], str]:
    if "TimedOut" in cause:
        return errors.TimedOut, "the answer stalled"
    if "IncompleteMessage" in cause:
        return errors.BodyCut, "the connection was closed before an answer"
    if "Parse(" in cause:
        return errors.BadAnswer, "the answer is not HTTP"
    if "UnexpectedEof" in cause or "InvalidInput" in cause:
        return errors.BodyCut, "the body ended early"
    return errors.BodyCut, "the connection broke"

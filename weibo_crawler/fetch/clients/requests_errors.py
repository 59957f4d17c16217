"""The errors of requests, urllib3, http.client and ssl as ours.

Their own texts are not passed on, for they may quote addresses and answers whole; ours are one
line, with the name of the egress.
"""

import http.client
import re
import socket
import ssl
from collections.abc import Iterator

import requests
from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.exceptions import InvalidHeader as BadLength
from urllib3.exceptions import TimeoutError as LibraryTimeout

from weibo_crawler import errors
from weibo_crawler.fetch.clients.requests_adapter import Exchange
from weibo_crawler.fetch.egress import Egress

FOREIGN = (requests.RequestException, HTTPError, http.client.HTTPException, OSError, ValueError)

_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})")


def was_stale(error: Exception, exchange: Exchange) -> bool:
    """Whether a kept connection turned out to be closed before it brought a byte of an answer.

    Servers close idle connections when they like, and so may cross a request on its way: this is
    nobody's fault, and says nothing of the request.
    """
    return (
        exchange.is_reused
        and not exchange.is_over
        and any(
            isinstance(cause, ConnectionResetError | BrokenPipeError) for cause in _causes(error)
        )
    )


def translate(error: Exception, exchange: Exchange, egress: Egress) -> errors.TransportError:
    """One of FOREIGN as the TransportError that says whose fault it is."""
    if isinstance(error, ValueError):
        return errors.ConnectFailed(
            f"the address or a header cannot be sent ({type(error).__name__})", blame="us"
        )
    if exchange.is_late:
        return blamed(errors.TimedOut, "the answer stalled", exchange, egress)
    causes = list(_causes(error))
    sort, reason = _while_answering(causes) if exchange.is_connected else _connecting(causes)
    return blamed(sort, reason, exchange, egress)


def blamed(
    sort: type[errors.TransportError], reason: str, exchange: Exchange, egress: Egress
) -> errors.TransportError:
    """The error, or EgressFailed: until the connection stands, a proxy is all we talk to."""
    if egress.proxy_url is not None and not exchange.is_connected:
        return errors.EgressFailed(f"{egress.name}: {reason}")
    return sort(f"{reason} ({egress.name})")


def _connecting(causes: list[BaseException]) -> tuple[type[errors.TransportError], str]:
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return errors.ConnectFailed, f"the TLS certificate is not valid: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return errors.ConnectFailed, f"no TLS connection: {cause.reason or 'it was closed'}"
        if isinstance(cause, socket.gaierror):
            return errors.ConnectFailed, "the host name is not known"
        if tunnel := _TUNNEL.match(str(cause)):
            return errors.ConnectFailed, f"the proxy answers CONNECT with {tunnel[1]}"
    if _is_timeout(causes):
        return errors.TimedOut, "connecting took too long"
    named = (c.strerror for c in causes if isinstance(c, OSError) and c.strerror)
    return errors.ConnectFailed, f"no connection: {next(named, type(causes[-1]).__name__)}"


def _while_answering(causes: list[BaseException]) -> tuple[type[errors.TransportError], str]:
    if _is_timeout(causes):
        return errors.TimedOut, "the answer stalled"
    for cause in causes:
        if isinstance(cause, http.client.RemoteDisconnected):
            return errors.BodyCut, "the connection was closed before an answer"
        if isinstance(cause, http.client.IncompleteRead):
            return errors.BodyCut, "the body ended early"
        if isinstance(cause, http.client.HTTPException | BadLength):
            return errors.BadAnswer, f"the answer is not HTTP ({type(cause).__name__})"
    return errors.BodyCut, "the connection broke"


def _is_timeout(causes: list[BaseException]) -> bool:
    # NewConnectionError, any failure to connect, is a timeout by inheritance only.
    return any(
        isinstance(cause, TimeoutError | LibraryTimeout)
        and not isinstance(cause, NewConnectionError)
        for cause in causes
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all it is wrapped around, outermost first."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    for cause in queue:
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        queue += [arg for arg in cause.args if isinstance(arg, BaseException)]
        queue += [getattr(cause, "reason", None) if isinstance(cause, HTTPError) else None]
        queue += [cause.__cause__, cause.__context__]

"""What is special to the transport by wreq; the contract is in test_transports.py."""

import asyncio

import pytest

from weibo_crawler.config import Fetch
from weibo_crawler.errors import BodyCut, ConnectFailed, EgressFailed
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.records import Kind, Request

wreq = pytest.importorskip("wreq", reason="wreq is not installed: weibo-hadoop[fast]")


def test_unknown_host() -> None:
    """A name that cannot be resolved is said to be one; a label of 64 letters never can be."""
    from weibo_crawler.fetch.clients.wreq_transport import WreqTransport

    async def scenario() -> None:
        transport = WreqTransport(Fetch())
        try:
            await transport.send(Request(Kind.PROFILE, f"http://{'a' * 64}.example/"), (), DIRECT)
        finally:
            await transport.close()

    with pytest.raises(ConnectFailed) as caught:
        asyncio.run(scenario())
    assert str(caught.value) == "the host name is not known (direct)"


def test_the_address_is_no_part_of_the_reason() -> None:
    """Words of an address are not mistaken for those of the library, and not passed on."""
    from weibo_crawler.fetch.clients.wreq_errors import local_port, translate, was_closed

    foreign = wreq.exceptions.RequestError(
        "is_request error: wreq::Error { kind: Request, uri: http://h/Parse(TimedOut, "
        "source: Unheard { kind: OfBefore } }"
    )
    assert (local_port(foreign), was_closed(foreign)) == (None, False)
    error = translate(foreign, DIRECT)
    assert (type(error), str(error)) == (BodyCut, "the connection broke (direct)")


def test_a_cause_unheard_of() -> None:
    """An error while connecting whose cause is new is still the proxy's."""
    from weibo_crawler.fetch.clients.wreq_errors import translate

    foreign = wreq.exceptions.ProxyConnectionError(
        "wreq::Error { kind: Request, source: Error { kind: ProxyConnect, source: None } }"
    )
    error = translate(foreign, Egress("h:1", "http://user:geheim@h:1"))
    assert type(error) is EgressFailed
    assert str(error) == "h:1: no connection: wreq does not say why"

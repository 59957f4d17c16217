"""Ways to a server of MySQL that are not a port alone: TLS on both sides, and a socket."""

import gc
import ssl
import warnings
from collections.abc import Iterator
from contextlib import closing

import pytest
import trustme

from tests.store.mariadb import PASSWORD, USER, MariaDb, binary, why_not
from weibo_crawler.errors import StoreError
from weibo_crawler.store.mysql.base import connect, parse_address
from weibo_crawler.store.mysql.frontier import MysqlUsers

pytestmark = pytest.mark.skipif(binary() is None, reason=why_not())


def _states(url: str) -> object:
    users = MysqlUsers(url, PASSWORD)
    try:
        return users.states()
    finally:
        users.close()


def test_a_socket_of_this_machine(server: MariaDb, url: str) -> None:
    """The port of the address is not asked."""
    local = url.replace(f"127.0.0.1:{server.port}", "localhost:9")
    assert _states(f"{local}?socket={server.folder}/s") == _states(url)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # PyMySQL does not close its own
        with pytest.raises(StoreError, match=r"socket=/absent/s.*\(2003\); check that the server"):
            _states(f"{local}?socket=/absent/s")
        gc.collect()


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    """A server with TLS, which asks our account for a certificate; `ca.pem`, `we.pem` (with the
    key) and those of another authority (`other-…`) are in its folder."""
    folder = tmp_path_factory.mktemp("strict")
    ours, other = trustme.CA(), trustme.CA()
    for name, authority in (("", ours), ("other-", other)):
        authority.cert_pem.write_to_path(str(folder / f"{name}ca.pem"))
        we = authority.issue_cert("crawler@example")
        we.private_key_and_cert_chain_pem.write_to_path(str(folder / f"{name}we.pem"))
        we.private_key_pem.write_to_path(str(folder / f"{name}key.pem"))
        we.cert_chain_pems[0].write_to_path(str(folder / f"{name}cert.pem"))
    its = ours.issue_cert("127.0.0.1")
    its.private_key_and_cert_chain_pem.write_to_path(str(folder / "its.pem"))
    tls = [
        f"--ssl-{k}={folder}/{v}.pem" for k, v in (("ca", "ca"), ("cert", "its"), ("key", "its"))
    ]
    server = MariaDb(folder, ["--loose-ssl", *tls])
    server.root(f"ALTER USER '{USER}'@'127.0.0.1' REQUIRE X509")
    server.root(f"ALTER USER '{USER}'@'localhost' REQUIRE X509")
    yield server
    server.stop()


def test_a_server_that_asks_for_a_certificate(strict: MariaDb) -> None:
    """Both sides prove themselves; key and certificate may be one file."""
    url, folder = strict.url(), strict.folder
    whole = f"{url}?ssl_ca={folder}/ca.pem&ssl_cert={folder}"
    assert _states(f"{whole}/we.pem") == _states(f"{whole}/cert.pem&ssl_key={folder}/key.pem")
    for named, error in (
        ("", "Access denied"),
        (f"?ssl_ca={folder}/ca.pem", "Access denied"),
        (f"?ssl_ca={folder}/ca.pem&ssl_cert={folder}/other-we.pem", "SSL|TLS|Lost connection"),
        (f"?ssl_ca={folder}/other-ca.pem&ssl_cert={folder}/we.pem", "CERTIFICATE_VERIFY_FAILED"),
        (f"?ssl_ca={folder}/ca.pem&ssl_cert={folder}/absent.pem", "No such file"),
    ):
        with pytest.raises(StoreError, match=error):
            _states(url + named)


def test_tls_without_an_authority(strict: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is used where the server offers it, unverified; those of the system are not read, which
    takes longer than all else."""
    strict.root(f"CREATE USER 'tls'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL")
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", None)
    conn = connect(
        parse_address(f"mysql://tls@127.0.0.1:{strict.port}/information_schema"), PASSWORD, 9.0
    )
    with closing(conn), conn.cursor() as cursor:
        cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
        assert cursor.fetchall()[0][1]

"""`doctor` on the real stack: what it says of servers that are well, and of those that are not."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import happybase
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from tests.cli.crawls import Crawl
from tests.stack.conftest import Running, why_not
from tests.stack.hbase_worlds import drop, make
from tests.stack.thrift_servers import OwnThrift
from tests.stack.webhdfs import WebHdfs
from weibo_crawler.errors import StoreError
from weibo_crawler.store import Put
from weibo_crawler.store.hbase.check import protocol, tables
from weibo_crawler.store.hbase.tables import HbaseTables

if why_not():
    pytest.skip(why_not(), allow_module_level=True)

# the interpreter below any virtual environment: it has none of our packages
BARE_PYTHON = str(Path(sys.base_prefix, "bin", f"python3.{sys.version_info[1]}"))


@pytest.fixture(scope="module")
def prefix(stack: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Tables under this prefix; those in SQL are there as well."""
    made = f"doctor{uuid4().hex[:6]}"
    url = f"{stack.addresses['STACK_TABLES']}/{made}"
    make(url)
    Crawl(tmp_path_factory.mktemp("init")).run("init", **cluster(stack, made))
    yield made
    drop(url)


def checked(crawl: Crawl, code: int, *words: str, **env: str) -> dict[str, Any]:
    """name -> the check's line."""
    done = crawl.run("doctor", "--json", *words, code=code, **env)
    return {line["name"]: line for line in json.loads(done.stdout)["checks"]}


def cluster(stack: Running, prefix: str) -> dict[str, str]:
    """The settings of the cluster home."""
    at = stack.addresses
    return {
        "WEIBO_STORE__USERS": at["STACK_MYSQL"],
        "WEIBO_STORE__PASSWORD_FILE": at["STACK_MYSQL_PASSWORD_FILE"],
        "WEIBO_STORE__TABLES": f"{at['STACK_TABLES']}/{prefix}",
        "WEIBO_SQOOP__COMMAND": at["STACK_SQOOP"],
        "WEIBO_HADOOP__COMMAND": at["STACK_HADOOP"],
        "WEIBO_HADOOP__STREAMING_JAR": at["STACK_STREAMING_JAR"],
        "WEIBO_HADOOP__RESOURCEMANAGER": at["STACK_RESOURCEMANAGER"],
        "WEIBO_HADOOP__JOBHISTORY": at["STACK_JOBHISTORY"],
    }


@pytest.fixture
def folder(stack: Running) -> Iterator[str]:
    """A folder of HDFS."""
    made = f"/tmp/doctor-{uuid4().hex[:6]}"
    yield made
    WebHdfs(stack).remove(made)


def test_a_cluster_that_is_well(stack: Running, prefix: str, tmp_path: Path) -> None:
    """Every line is ok but for what is not asked. The ResourceManager is known by any name."""
    settings = cluster(stack, prefix)
    named = settings["WEIBO_HADOOP__RESOURCEMANAGER"].replace("127.0.0.1", "localhost")
    lines = checked(Crawl(tmp_path), 0, **settings | {"WEIBO_HADOOP__RESOURCEMANAGER": named})
    assert {line["name"] for line in lines.values() if line["state"] != "ok"} == {"site", "nodes"}
    assert " nodes" in lines["resourcemanager"]["text"]
    assert "Hadoop 3" in lines["hadoop"]["text"]
    assert "submits to it" in lines["resourcemanager of hadoop"]["text"]
    assert lines["sqoop import"]["text"] == "imported nobody, from end to end"


def test_a_node_looks_around(stack: Running, prefix: str, tmp_path: Path, folder: str) -> None:
    """--nodes: a map says what a node has, though it has python3 alone; of a Python that is not
    there the setting is named. Nothing is left in HDFS but the archives."""
    crawl = Crawl(tmp_path)
    crawl.env |= cluster(stack, prefix) | {
        "WEIBO_HADOOP__FOLDER": f"hdfs://{folder}",
        "WEIBO_HADOOP__PYTHON": BARE_PYTHON,
    }
    lines = checked(crawl, 0, "--nodes")
    assert {line["name"] for line in lines.values() if line["state"] != "ok"} == {"site"}
    names = {f"node {what}" for what in ("python", "packages", "sql", "clock", "hbase", "egress")}
    assert names == {name for name in lines if name.startswith("node ")}
    assert BARE_PYTHON in lines["node python"]["text"]
    running = lines["resourcemanager"]["text"].partition(": ")[2].partition(" ")[0]
    assert lines["nodes"]["text"] == f"{running} of {running} ran a map of ours"
    assert "direct connections from 127.0.0." in lines["node egress"]["text"]
    assert "direct connection," in lines["egress"]["text"]  # where the job starts none is bound
    wrong = {"WEIBO_HADOOP__PYTHON": "no-such-python", "WEIBO_HADOOP__ATTEMPTS": "1"}
    line = checked(crawl, 3, "--nodes", **wrong)["nodes"]
    assert line["state"] == "wrong"
    assert "the nodes have no no-such-python" in line["text"]
    left = WebHdfs(stack).names(folder)
    assert len(left) == 2
    assert all(name.endswith(".zip") for name in left)


def test_what_is_wrong_is_named(stack: Running, tmp_path: Path) -> None:
    """A dead Thrift port, a wrong password and a jar that is not there: each with its remedy."""
    wrong = {
        "WEIBO_STORE__TABLES": "hbase://127.0.0.1:9",
        "WEIBO_STORE__PASSWORD": "not this one",
        "WEIBO_HADOOP__STREAMING_JAR": "/no/such.jar",
    }
    lines = checked(Crawl(tmp_path), 5, **(cluster(stack, "x") | wrong))
    assert {n for n, line in lines.items() if line["state"] == "wrong"} == {
        "sql",
        "hbase",
        "streaming jar",
    }
    assert "hbase thrift start" in lines["hbase"]["text"]
    assert "not this one" not in str(lines)


@pytest.mark.parametrize(
    ("flags", "properties", "way"),
    [
        (["-f"], {}, "transport=framed&protocol=binary"),
        (["-c"], {}, "transport=buffered&protocol=compact"),
        ([], {"hbase.regionserver.thrift.http": "true"}, "transport=http&protocol=binary"),
    ],
)
def test_a_thrift_server_that_speaks_otherwise(
    stack: Running,
    prefix: str,
    tmp_path: Path,
    flags: list[str],
    properties: dict[str, str],
    way: str,
) -> None:
    """A real server of this kind is recognised, and spoken to as the address says; by HTTP over
    TLS."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    if properties:
        properties = properties | _keystore(authority, tmp_path / "store.p12")
    server = OwnThrift(stack, tmp_path, idle_ms=60_000, properties=properties)
    server.add_flags(flags)
    server.start()
    url = f"hbase://127.0.0.1:{server.port}/{prefix}?"
    url += f"ssl_ca={tmp_path}/ca.pem&" if properties else ""
    try:
        with pytest.raises(StoreError, match=way):
            protocol(url.rstrip("?&"))
        assert "Thrift, " in protocol(url + way)
        assert "writable" in tables(url + way)
        held = HbaseTables(url + way)
        key, text = f"00-1-{server.port}", "微博" * 100_000
        held.posts.put([Put(key, {"post:text": text}, 7)])
        assert [row.cells["post:text"] for row in held.posts.scan(prefix=key)] == [text]
        held.posts.delete(key)
        held.close()
    finally:
        server.kill()


def _keystore(authority: trustme.CA, file: Path) -> dict[str, str]:
    """The server's key and certificate; the properties that name them."""
    its = authority.issue_cert("127.0.0.1")
    key = serialization.load_pem_private_key(its.private_key_pem.bytes(), None)
    chain = [x509.load_pem_x509_certificate(pem.bytes()) for pem in its.cert_chain_pems]
    locked = serialization.BestAvailableEncryption(b"password")
    file.write_bytes(serialize_key_and_certificates(b"its", key, chain[0], chain[1:], locked))
    named = "hbase.thrift.ssl"
    return {
        f"{named}.enabled": "true",
        f"{named}.keystore.store": str(file),
        f"{named}.keystore.password": "password",
        f"{named}.keystore.keypassword": "password",
    }


def test_a_table_that_is_missing(stack: Running, prefix: str) -> None:
    """It is named, with the command that makes it; and so is a family that is missing."""
    place = f"{stack.addresses['STACK_TABLES']}/{prefix}"
    assert "writable" in tables(place)
    with pytest.raises(StoreError, match=f"{prefix}none_userlist does not exist.*init"):
        tables(f"{place}none")
    host, _, port = stack.addresses["STACK_TABLES"].removeprefix("hbase://").partition(":")
    admin = happybase.Connection(host, int(port), table_prefix=prefix)
    admin.delete_table("posts", disable=True)
    admin.create_table("posts", {"post": {}})
    admin.close()
    with pytest.raises(StoreError, match="count"):
        tables(place)

"""Is a daemon ready to serve? Each probe asks what a client would ask."""

import json
import socket
import subprocess
import urllib.request
from typing import Any

import kerberos
from settings import Stack

_TIMEOUT_S = 5.0


def kdc(stack: Stack) -> bool:
    """It listens; its database is open by then."""
    with _connect(stack, "kdc"):
        return True


def mariadb(stack: Stack) -> bool:
    """The server greets: a packet of protocol 10. It does so after its init file has run."""
    with _connect(stack, "mariadb") as connection:
        return connection.recv(5)[4:5] == b"\x0a"


def namenode(stack: Stack) -> bool:
    """It answers; it leaves safe mode only when a DataNode has reported its blocks."""
    return "Safemode" in _namenode(stack)


def datanode(stack: Stack) -> bool:
    """It is registered, and HDFS can be written."""
    info = _namenode(stack)
    return bool(json.loads(info["LiveNodes"])) and info["Safemode"] == ""


def resourcemanager(stack: Stack) -> bool:
    return bool(_get(stack, "resourcemanager_web", "/ws/v1/cluster/info")["clusterInfo"])


def nodemanager(stack: Stack, name: str, address: str) -> bool:
    """It answers, and the ResourceManager, which may still count one that was killed a moment ago,
    knows it by its name."""
    if not _get(stack, "nodemanager_web", "/ws/v1/node/info", address)["nodeInfo"]:
        return False
    nodes = _get(stack, "resourcemanager_web", "/ws/v1/cluster/nodes?states=RUNNING")["nodes"]
    return any(node["nodeHostName"] == name for node in (nodes or {"node": []})["node"])


def jobhistory(stack: Stack) -> bool:
    return bool(_get(stack, "jobhistory_web", "/ws/v1/history/info")["historyInfo"])


def hbase(stack: Stack) -> bool:
    """The master says so in its log; it has no web page here, and each start a new log."""
    log = stack.log("hbase").read_text(errors="replace")
    return "Master has completed initialization" in log


def region_server(stack: Stack, name: str, address: str) -> bool:
    """It says so in its log, once the master has taken it in."""
    port = stack.ports["hbase_regionserver"]
    return f"Serving as {address},{port}," in stack.log(name).read_text(errors="replace")


def thrift(stack: Stack) -> bool:
    """getTableNames() is answered, so HBase behind it serves as well. With Kerberos a client that
    offers a mechanism nobody knows is refused; HBase served before this server was started."""
    if stack.kerberos:
        with _connect(stack, "thrift") as connection:
            connection.sendall(b"\x01\x00\x00\x00\x04NONE")  # SASL: start
            return connection.recv(1) in (b"\x03", b"\x04")  # bad, error
    name = b"getTableNames"
    call = b"\x80\x01\x00\x01" + len(name).to_bytes(4, "big") + name + bytes(4) + b"\x00"
    with _connect(stack, "thrift") as connection:
        connection.sendall(call)
        return connection.recv(4) == b"\x80\x01\x00\x02"  # a reply; 3 would be an exception


def _namenode(stack: Stack) -> dict[str, Any]:
    beans = _get(stack, "namenode_web", "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo")
    info: dict[str, Any] = beans["beans"][0]
    return info


def _connect(stack: Stack, port: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", stack.ports[port]), _TIMEOUT_S)


def _get(stack: Stack, port: str, path: str, address: str = "127.0.0.1") -> dict[str, Any]:
    url = f"http://{address}:{stack.ports[port]}{path}"
    if stack.kerberos:
        return _get_by_ticket(stack, url.replace("//127.0.0.1:", "//localhost:"))
    # without the proxies of the environment: this is loopback
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=_TIMEOUT_S) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def _get_by_ticket(stack: Stack, url: str) -> dict[str, Any]:
    """By curl: Python's own library has no SPNEGO."""
    words = ["curl", "--silent", "--fail", "--negotiate", "--user", ":", "--noproxy", "*"]
    if "//127.0.0." in url:  # a node: its daemon is HTTP/localhost as all are
        address, port = url.split("/")[2].split(":")
        words += ["--connect-to", f"localhost:{port}:{address}:{port}"]
        url = url.replace(f"//{address}:", "//localhost:")
    words += ["--max-time", f"{_TIMEOUT_S:.0f}", url]
    answer = subprocess.run(words, capture_output=True, env=kerberos.probing(stack))
    found: dict[str, Any] = json.loads(answer.stdout)  # ValueError where it did not answer
    return found

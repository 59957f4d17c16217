"""The daemons: what starts each, on which ports, and how one knows that it serves."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import jars
import kerberos
import probes
import settings
import sharing
import templates
from settings import HERE, Stack, StackError

_HDFS = "org.apache.hadoop.hdfs.server."
_YARN = "org.apache.hadoop.yarn.server."


@dataclass(frozen=True)
class Daemon:
    """heap_mb, memory_mb: the heap's limit, and about what the whole process takes when idle.
    after: what must serve before this is started. stop_s: how long it may take to stop. address:
    where it listens. properties: of its JVM, which the configuration fills in."""

    name: str
    what: str
    ports: tuple[str, ...]
    ready: Callable[[Stack], bool] = field(compare=False)  # no two of a node are equal
    memory_mb: int
    heap_mb: int = 0
    after: tuple[str, ...] = ()
    page: str = ""
    stop_s: float = 30.0
    address: str = "127.0.0.1"
    properties: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What its program is: "node" of "node3"."""
        return self.name.rstrip("0123456789")


def of(stack: Stack) -> tuple[Daemon, ...]:
    """In the order of starting; stopped in the opposite one. With several nodes HBase has a second
    region server, a process of its own; the first one is in that of the master."""
    nodes = [_node(number) for number in range(1, stack.nodes + 1)]
    second = [_region_server(2)] if stack.nodes > 1 else []
    kdc = [_KDC] if stack.kerberos else []
    return (*kdc, *_STORAGE, *nodes, *_HISTORY_AND_HBASE, *second, _THRIFT)


def named(stack: Stack, name: str) -> Daemon:
    """StackError where the stack has none of this name."""
    for daemon in of(stack):
        if daemon.name == name:
            return daemon
    known = ", ".join(daemon.name for daemon in of(stack))
    raise StackError(f"the stack has no {name}; it has {known}")


def _node(number: int) -> Daemon:
    name, address = f"node{number}", settings.address(number)
    return Daemon(
        name,
        f"{name}, a YARN NodeManager on {address},",
        tuple(f"nodemanager{part}" for part in ("", "_localizer", "_web", "_shuffle")),
        partial(probes.nodemanager, name=name, address=address),
        *(250, 256),
        after=("namenode",),
        address=address,
        properties=(f"stack.address={address}", f"stack.node={name}"),
    )


def _region_server(number: int) -> Daemon:
    name, address = f"regionserver{number}", settings.address(number)
    return Daemon(
        name,
        f"HBase region server {number} on {address}",
        ("hbase_regionserver",),
        partial(probes.region_server, name=name, address=address),
        *(350, 768),
        after=("hbase",),
        stop_s=90.0,
        address=address,
        properties=(f"stack.address={address}", "stack.distributed=true"),
    )


_KDC = Daemon("kdc", "Kerberos KDC", ("kdc",), probes.kdc, 10)
_STORAGE = (
    Daemon("mariadb", "MariaDB", ("mariadb",), probes.mariadb, 150),
    Daemon(
        "namenode",
        "HDFS NameNode",
        ("namenode", "namenode_web"),
        probes.namenode,
        *(250, 384),
        page="namenode_web",
    ),
    Daemon(
        "datanode",
        "HDFS DataNode",
        ("datanode", "datanode_ipc", "datanode_web"),
        probes.datanode,
        *(220, 256),
        after=("namenode",),
    ),
    Daemon(
        "resourcemanager",
        "YARN ResourceManager",
        tuple(
            f"resourcemanager{part}" for part in ("", "_scheduler", "_tracker", "_admin", "_web")
        ),
        probes.resourcemanager,
        *(300, 384),
        after=("datanode",),
        page="resourcemanager_web",
    ),
)
_HISTORY_AND_HBASE = (
    Daemon(
        "jobhistory",
        "MapReduce job history",
        ("jobhistory", "jobhistory_web", "jobhistory_admin"),
        probes.jobhistory,
        *(250, 256),
        after=("datanode",),
        page="jobhistory_web",
    ),
    Daemon(
        "hbase",
        "HBase with ZooKeeper",
        ("zookeeper", "hbase_master", "hbase_regionserver"),
        probes.hbase,
        *(500, 1024),
        after=("datanode",),
        stop_s=90.0,
    ),
)
_THRIFT = Daemon(
    "thrift",
    "HBase Thrift server",
    ("thrift",),
    probes.thrift,
    *(250, 384),
    after=("hbase",),
)


def command(stack: Stack, daemon: Daemon, java_home: Path) -> list[str]:
    """The command line of a daemon, its data folder prepared."""
    if daemon.name == "mariadb":
        return _mariadb(stack)
    if daemon.name == "kdc":
        for words in kerberos.preparation(stack):
            _prepare(words, environ={**os.environ, **kerberos.environment(stack)})
        return kerberos.command(stack)
    is_hbase = daemon.kind in ("hbase", "regionserver", "thrift")
    java = _java(stack, java_home, "hbase" if is_hbase else "hadoop")
    if daemon.name == "namenode" and not (stack.data / "namenode/current/VERSION").exists():
        _prepare([*java, f"{_HDFS}namenode.NameNode", "-format", "-force", "-nonInteractive"])
    if daemon.kind == "node":
        _compile_shuffle(stack, java_home)
    own = [f"-Xmx{daemon.heap_mb}m", *(f"-D{each}" for each in daemon.properties)]
    return [*java[:1], *own, *java[1:], *_main(stack, daemon.kind)]


def environment(stack: Stack, java_home: Path) -> dict[str, str]:
    """What daemons get of the caller's environment: no JAVA_TOOL_OPTIONS, which Java would obey,
    and no secret that a setting of the crawler may hold."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TZ") if name in os.environ}
    path = os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    own = kerberos.environment(stack) if stack.kerberos else {}
    return {**kept, **own, "PATH": path, "JAVA_HOME": str(java_home)}


def _main(stack: Stack, kind: str) -> list[str]:
    mains = {
        "namenode": f"{_HDFS}namenode.NameNode",
        "datanode": f"{_HDFS}datanode.DataNode",
        "resourcemanager": f"{_YARN}resourcemanager.ResourceManager",
        "node": f"{_YARN}nodemanager.NodeManager",
        "jobhistory": "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer",
        "hbase": "org.apache.hadoop.hbase.master.HMaster start",
        "regionserver": "org.apache.hadoop.hbase.regionserver.HRegionServer start",
        # -t: an idle connection lives 10 minutes, not one; a worker thread for each connection
        "thrift": "org.apache.hadoop.hbase.thrift.ThriftServer"
        f" -p {stack.ports['thrift']} -b 127.0.0.1 --infoport -1 -m 4 -w 64 -t 600000 start",
    }
    return mains[kind].split()


def _java(stack: Stack, java_home: Path, kind: str) -> list[str]:
    return [
        str(java_home / "bin" / "java"),
        "-XX:+UseSerialGC",
        "-Djava.net.preferIPv4Stack=true",
        f"-Dhadoop.log.dir={stack.logs}",
        f"-Djava.io.tmpdir={stack.run}",  # web pages are unpacked there
        # Hadoop's without the optimizing compiler: these daemons do little, and start sooner
        *([] if kind == "hbase" and stack.optimizes else ["-XX:TieredStopAtLevel=1"]),
        *templates.jvm_flags(stack, kind),
        sharing.flag(stack, java_home, kind),
        "-cp",
        f"{jars.folder(stack, kind)}/*:{stack.conf / kind}",
    ]


def _mariadb(stack: Stack) -> list[str]:
    server, share = jars.mariadb(stack)
    as_root = ["--user=root"] if os.geteuid() == 0 else []  # it refuses to be root by accident
    data = stack.data / "mariadb"
    if not data.exists():
        draft = stack.data / "mariadb.part"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        _prepare(
            [
                *(str(server), "--no-defaults", "--bootstrap", *as_root),
                *(f"--datadir={draft}", f"--lc-messages-dir={share}"),
                f"--tmpdir={stack.run}",  # each server deletes what others have in theirs
                *("--innodb-log-file-size=256M", "--skip-log-bin"),
            ],
            jars.mariadb_bootstrap(share),
        )
        draft.replace(data)
    return [str(server), f"--defaults-file={stack.conf / 'mariadb' / 'my.cnf'}", *as_root]


def _compile_shuffle(stack: Stack, java_home: Path) -> None:
    """Put the shuffle that listens on loopback only (java/) into the class path."""
    source = HERE / "java/org/apache/hadoop/mapred/LoopbackShuffle.java"
    made = stack.conf / "hadoop/org/apache/hadoop/mapred/LoopbackShuffle.class"
    if made.exists() and made.stat().st_mtime > source.stat().st_mtime:
        return
    javac = [str(java_home / "bin" / "javac"), "-proc:none", "-d", str(stack.conf / "hadoop")]
    _prepare([*javac, "-cp", f"{jars.folder(stack, 'hadoop')}/*", str(source)])


def _prepare(words: list[str], text: str = "", environ: Mapping[str, str] | None = None) -> None:
    result = subprocess.run(
        words, input=text, capture_output=True, text=True, errors="replace", env=environ
    )
    if result.returncode != 0:
        last = (result.stdout + result.stderr).strip().splitlines()[-15:]
        raise StackError("\n".join([f"{words[0]} could not prepare a start:", *last]))

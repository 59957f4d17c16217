"""Where the stack lives, how many nodes it has and which ports it takes. By the environment:

WEIBO_STACK_DIR          data, logs, configuration of this stack; default .stack in the checkout
WEIBO_STACK_PORT_<NAME>  a port, such as WEIBO_STACK_PORT_THRIFT=19090; names are those of PORTS
WEIBO_STACK_MARIADB      auto (the system's mariadbd, else Maven's), system or maven
WEIBO_STACK_OPTIMIZES    yes (default) or no: whether HBase has Java's optimizing compiler, which
                         takes a third of its processor time in the first minutes
JAVA_HOME                a JDK 17; else the java on PATH
XDG_CACHE_HOME           the jars are kept in weibo-crawler/stack below it; default ~/.cache

All daemons have the same ports. Those of the nodes have addresses of their own: node1 is 127.0.0.2,
node8 is 127.0.0.9; all else is on 127.0.0.1.
"""

import grp
import os
import pwd
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PORTS = {
    "kdc": 8888,
    "mariadb": 3307,
    "namenode": 8020,
    "namenode_web": 9870,
    "datanode": 9866,
    "datanode_ipc": 9867,
    "datanode_web": 9864,
    "resourcemanager": 8032,
    "resourcemanager_scheduler": 8030,
    "resourcemanager_tracker": 8031,
    "resourcemanager_admin": 8033,
    "resourcemanager_web": 8088,
    "nodemanager": 8041,
    "nodemanager_localizer": 8040,
    "nodemanager_web": 8042,
    "nodemanager_shuffle": 13562,
    "jobhistory": 10020,
    "jobhistory_web": 19888,
    "jobhistory_admin": 10033,
    "zookeeper": 2181,
    "hbase_master": 16000,
    "hbase_regionserver": 16020,
    "thrift": 9090,
}
_PORT_PREFIX = "WEIBO_STACK_PORT_"
MOST_NODES = 8
# A class path is cut at ":", spread at "*", and goes through launch scripts and XML unquoted.
_PLAIN_PATH = re.compile(r"[\w./+@-]+", re.ASCII)


class StackError(Exception):
    """What is wrong and what to do about it, in words for the user."""


@dataclass(frozen=True)
class Stack:
    """One stack. root: its folder; cache: the jars, shared by all stacks of this account; nodes:
    how many NodeManagers; optimizes: whether HBase has the optimizing compiler; kerberos: whether
    the daemons ask everybody for a ticket."""

    root: Path
    cache: Path
    ports: Mapping[str, int]
    mariadb: str
    user: str
    group: str
    nodes: int = 1
    optimizes: bool = True
    kerberos: bool = False

    @property
    def run(self) -> Path:
        """Pid files, the mark, and working files of daemons."""
        return self.root / "run"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def conf(self) -> Path:
        return self.root / "conf"

    @property
    def secrets(self) -> Path:
        return self.root / "secrets"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    def log(self, daemon: str) -> Path:
        return self.logs / f"{daemon}.log"


def address(node: int) -> str:
    """Of a node, counted from 1."""
    return f"127.0.0.{node + 1}"


def read(
    environ: Mapping[str, str] = os.environ, nodes: int | None = None, *, kerberos: bool = False
) -> Stack:
    """The stack that the environment names. nodes: None for as many as it had before, at first 1.
    kerberos: with it, where the stack is new. StackError for a setting that cannot be."""
    root = Path(environ.get("WEIBO_STACK_DIR") or HERE.parent / ".stack").expanduser().resolve()
    cache = Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().resolve()
    for path in (root, cache):
        if not _PLAIN_PATH.fullmatch(str(path)):
            raise StackError(
                f"{path}: Java class paths allow only letters, digits and . / + @ _ - in it; "
                "set WEIBO_STACK_DIR and XDG_CACHE_HOME to other folders"
            )
    mariadb = environ.get("WEIBO_STACK_MARIADB") or "auto"
    if mariadb not in ("auto", "system", "maven"):
        raise StackError(f"WEIBO_STACK_MARIADB is auto, system or maven, not {mariadb!r}")
    optimizes = environ.get("WEIBO_STACK_OPTIMIZES") or "yes"
    if optimizes not in ("yes", "no"):
        raise StackError(f"WEIBO_STACK_OPTIMIZES is yes or no, not {optimizes!r}")
    return Stack(
        root=root,
        cache=cache / "weibo-crawler" / "stack",
        ports=_ports(environ),
        mariadb=mariadb,
        user=pwd.getpwuid(os.getuid()).pw_name,
        group=grp.getgrgid(os.getgid()).gr_name,
        nodes=_nodes(root, nodes),
        optimizes=optimizes == "yes",
        kerberos=_kerberos(root, kerberos),
    )


def keep(stack: Stack) -> None:
    """For the commands to come: how many nodes, and whether with Kerberos. One that runs meanwhile
    reads a whole file."""
    file = _nodes_file(stack.root)
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.draft")
    draft.write_text(f"{stack.nodes}\n")
    draft.replace(file)
    if stack.kerberos:
        _kerberos_file(stack.root).touch()


def _kerberos(root: Path, wanted: bool) -> bool:
    has = _kerberos_file(root).exists()
    if wanted and not has and _nodes_file(root).exists():
        raise StackError(
            f"the stack in {root} was made without Kerberos: delete it first (make stack-clean), "
            "or set WEIBO_STACK_DIR to another folder"
        )
    return wanted or has


def _kerberos_file(root: Path) -> Path:
    return root / "run" / "kerberos"


def _nodes(root: Path, wanted: int | None) -> int:
    if wanted is None:
        file = _nodes_file(root)
        return int(file.read_text()) if file.exists() else 1
    if not 1 <= wanted <= MOST_NODES:
        raise StackError(f"a stack has 1 to {MOST_NODES} nodes, not {wanted}")
    return wanted


def _nodes_file(root: Path) -> Path:
    return root / "run" / "nodes"


def _ports(environ: Mapping[str, str]) -> dict[str, int]:
    ports = dict(PORTS)
    for variable, text in environ.items():
        if not variable.startswith(_PORT_PREFIX):
            continue
        name = variable[len(_PORT_PREFIX) :].lower()
        if name not in ports:
            raise StackError(f"{variable}: no such port; the names are {', '.join(PORTS)}")
        if not text.isascii() or not text.isdigit() or not 1024 <= int(text) <= 65535:
            raise StackError(f"{variable} is a port from 1024 to 65535, not {text!r}")
        ports[name] = int(text)
    names: dict[int, str] = {}
    for name, port in ports.items():
        if port in names:
            raise StackError(f"port {port} is given to both {names[port]} and {name}")
        names[port] = name
    return ports

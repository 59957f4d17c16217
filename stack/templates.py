"""Configuration, commands and secrets of a stack, written from templates (conf/) at each start.

A template names a value between at signs, @port.thrift@; an unknown name is an error.
"""

import os
import re
import secrets
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

import jars
import kerberos
import processes
import sharing
from settings import HERE, MOST_NODES, Stack, address

_PLACEHOLDER = re.compile(r"@([a-z_.]+)@")
_TEMPLATES = HERE / "conf"


def write(stack: Stack, java_home: Path) -> None:
    """(Re)write everything below conf/, bin/ and secrets/ of the stack, and stack.env."""
    for folder in (stack.run, stack.data, stack.logs, stack.secrets):
        folder.mkdir(parents=True, exist_ok=True)
    stack.secrets.chmod(0o700)
    password = _password(stack)
    values = _values(stack, java_home)
    for template in sorted(_TEMPLATES.rglob("*")):
        relative = template.relative_to(_TEMPLATES)
        if template.is_file() and relative.name != "init.sql":
            inside = stack.root if relative.parts[0] == "bin" else stack.conf
            _put(inside / relative, fill(template.read_text(), values))
    for command in stack.bin.iterdir():
        command.chmod(0o755)
    # NameNode and DataNode look for these on the class path and exit where there are none
    for page in ("hdfs", "datanode", "static"):
        (stack.conf / "hadoop" / "webapps" / page).mkdir(parents=True, exist_ok=True)
    init = fill((_TEMPLATES / "mariadb" / "init.sql").read_text(), {"mariadb.password": password})
    _put(stack.secrets / "mariadb_init.sql", init, 0o600)
    lines = [f"{name}='{value}'\n" for name, value in addresses(stack, java_home).items()]
    _put(stack.root / "stack.env", "".join(lines))


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its names replaced; KeyError for an unknown one."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def jvm_flags(stack: Stack, name: str) -> list[str]:
    """The flags of conf/jvm/<name>, as words."""
    template = (_TEMPLATES / "jvm" / name).read_text()
    values = {"conf": str(stack.conf), "kerberos.jvm": kerberos.jvm_flags(stack)}
    lines = fill(template, values).splitlines()
    return [word for line in lines if not line.startswith("#") for word in line.split()]


def addresses(stack: Stack, java_home: Path) -> dict[str, str]:
    """What programs that use the stack need to know; `stack.env` holds the same for a shell."""
    streaming = next(jars.folder(stack, "hadoop").glob("hadoop-streaming-*.jar"))
    # a ticket is for a name
    host, behind = ("localhost", "?auth=kerberos") if stack.kerberos else ("127.0.0.1", "")
    return kerberos.addresses(stack) | {
        "STACK_JAVA_HOME": str(java_home),
        "STACK_HADOOP": str(stack.bin / "hadoop"),
        "STACK_HBASE": str(stack.bin / "hbase"),
        "STACK_SQOOP": str(stack.bin / "sqoop"),
        "STACK_STREAMING_JAR": str(streaming),
        "STACK_MYSQL": f"mysql://weibo@127.0.0.1:{stack.ports['mariadb']}/weibo",
        "STACK_MYSQL_PASSWORD_FILE": str(stack.secrets / "mariadb_password"),
        "STACK_TABLES": f"hbase://{host}:{stack.ports['thrift']}{behind}",
        "STACK_HDFS": f"hdfs://127.0.0.1:{stack.ports['namenode']}",
        "STACK_NAMENODE": f"http://{host}:{stack.ports['namenode_web']}",
        "STACK_RESOURCEMANAGER": f"http://{host}:{stack.ports['resourcemanager_web']}",
        "STACK_JOBHISTORY": f"http://{host}:{stack.ports['jobhistory_web']}",
    }


def _values(stack: Stack, java_home: Path) -> dict[str, str]:
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    values = {
        "java": str(java_home / "bin" / "java"),
        "stack": str(HERE),
        "run": str(stack.run),
        "data": str(stack.data),
        "logs": str(stack.logs),
        "conf": str(stack.conf),
        "secrets": str(stack.secrets),
        "user": stack.user,
        "group": stack.group,
        "mark": processes.mark(stack),
        "jvm.hadoop": " ".join(jvm_flags(stack, "hadoop")),
        "hosts": "\n".join(f"{address(n)} node{n}" for n in range(1, MOST_NODES + 1)),
        "hostname": socket.gethostname(),
        "mariadb.share": str(jars.mariadb(stack)[1]),
        "yarn.memory_mb": str(node_memory_mb(memory_mb, stack.nodes)),
        "yarn.vcores": str(2 * (os.cpu_count() or 1)),
    }
    values |= {f"port.{name}": str(port) for name, port in stack.ports.items()}
    values["kerberos.jvm"] = kerberos.jvm_flags(stack)
    values["kerberos"] = fill(kerberos.properties(stack), values)
    values |= {f"jars.{name}": str(jars.folder(stack, name)) for name in jars.CLASS_PATHS}
    return values | {
        f"share.{name}": sharing.flag(stack, java_home, name) for name in sharing.KINDS
    }


def node_memory_mb(machine_mb: int, nodes: int) -> int:
    """What the containers of one node may take: together half of the machine. Below 2 GB not even a
    job of four maps would run at once; a node of less than 1 GB runs nothing beside a master."""
    together = min(8192, max(2048, machine_mb // 2))
    return max(1024, together // nodes)


def _password(stack: Stack) -> str:
    """The database password, made once. The file holds it without a newline: Sqoop uses the bytes
    of a password file as they are."""
    file = stack.secrets / "mariadb_password"
    if not file.exists():
        _put(file, secrets.token_urlsafe(18), 0o400)
    return file.read_text()


def _put(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file whole or not at all; nobody else can read it before it has its mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)
    draft.replace(path)


def remove(stack: Stack) -> None:
    """Delete the stack's folder with all data; the jars stay in the cache."""
    shutil.rmtree(stack.root)

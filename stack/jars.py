"""Class paths from Maven Central: a pom gives a folder of jars, fetched once and kept."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from settings import HERE, Stack, StackError

CLASS_PATHS = ("hadoop", "hbase", "shell", "sqoop")
_SERVERS = ("/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin")
_TABLES = "m[ya]*_system_tables.sql"


def folder(stack: Stack, name: str) -> Path:
    """Where the jars of one pom lie: a changed pom is a new folder."""
    pom = (HERE / "poms" / f"{name}.xml").read_bytes()
    return stack.cache / f"{name}-{hashlib.sha256(pom).hexdigest()[:12]}"


def missing(stack: Stack) -> list[str]:
    """The poms whose jars are not here yet."""
    wanted = [*CLASS_PATHS, *(["mariadb"] if system_mariadb(stack) is None else [])]
    return [name for name in wanted if not folder(stack, name).exists()]


def fetch(stack: Stack, name: str) -> None:
    """Fetch the jars of one pom. StackError with Maven's words where that fails."""
    target = folder(stack, name)
    with lock(target):
        if target.exists():  # another process was first
            return
        draft = target.with_suffix(".part")
        shutil.rmtree(draft, ignore_errors=True)
        maven = ["mvn", "-B", "-q", "-f", str(HERE / "poms" / f"{name}.xml")]
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        result = subprocess.run(
            [*maven, *goal, f"-DoutputDirectory={draft}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
        if result.returncode != 0:
            words = (result.stdout + result.stderr).strip().splitlines()[:12]
            raise StackError("\n".join([f"mvn could not fetch the jars of {name}:", *words]))
        if name == "mariadb":
            _unpack_mariadb(draft)
        draft.replace(target)


def system_mariadb(stack: Stack) -> tuple[Path, Path] | None:
    """(mariadbd, its share folder) of this machine; None where there is none or it is unwanted."""
    if stack.mariadb == "maven":
        return None
    server = shutil.which("mariadbd", path=os.pathsep.join([os.environ.get("PATH", ""), *_SERVERS]))
    if server is not None:
        share = Path(server).resolve().parents[1] / "share"
        for folder in (share / "mysql", share / "mariadb", share):
            if any(folder.glob(_TABLES)):
                return Path(server), folder
    if stack.mariadb == "system":
        raise StackError("WEIBO_STACK_MARIADB=system, but no mariadbd is installed here")
    return None


def mariadb(stack: Stack) -> tuple[Path, Path]:
    """(mariadbd, its share folder): the system's, else the one fetched."""
    home = folder(stack, "mariadb")
    return system_mariadb(stack) or (home / "bin" / "mariadbd", home / "share")


def mariadb_bootstrap(share: Path) -> str:
    """The statements that make the system tables of a new data folder."""
    order = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql")
    files = [next(share.glob(f"m[ya]*_{name}")) for name in order]  # mysql_ or mariadb_
    texts = [file.read_text(encoding="utf-8") for file in files]
    return "\n".join(["CREATE DATABASE mysql;", "USE mysql;", *texts])


def _unpack_mariadb(draft: Path) -> None:
    (jar,) = draft.glob("*.jar")
    with zipfile.ZipFile(jar) as archive:
        for member in archive.infolist():
            _, _, inner = member.filename.partition("/linux/")
            if member.is_dir() or not inner.startswith(("bin/mariadbd", "bin/mariadb", "share/")):
                continue
            file = draft / inner
            file.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, file.open("wb") as copy:
                shutil.copyfileobj(source, copy)
            if inner.startswith("bin/"):
                file.chmod(0o755)
    jar.unlink()


@contextmanager
def lock(target: Path) -> Iterator[None]:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

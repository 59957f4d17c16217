"""Class data sharing: a JVM of the stack maps an archive of classes that are parsed already.

There is one archive for each folder of jars, made once for this JDK, and kept with them. As long as
one is missing, each JVM writes down which classes it loads; `make` lets one of each kind do some
work, and makes the archives of these lists. A JVM that an archive does not fit starts without it.

An archive fits where the jars come first on the class path, and all folders after them.
"""

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import jars
from settings import Stack, StackError

KINDS = ("hadoop", "hbase", "sqoop")
_TRIED = "weibo_stack_classes"  # a folder and a table, there for a moment


def flag(stack: Stack, java_home: Path, name: str) -> str:
    """Use the archive; where there is none yet, write down what it should hold."""
    made = archive(stack, java_home, name)
    if made.exists():
        return f"-XX:SharedArchiveFile={made}"
    if stack.kerberos:  # what makes the archives has no ticket
        return "-Xshare:auto"
    _lists(stack, name).mkdir(parents=True, exist_ok=True)
    return f"-XX:DumpLoadedClassList={_lists(stack, name)}/%p"


def missing(stack: Stack, java_home: Path) -> list[str]:
    return [name for name in KINDS if not archive(stack, java_home, name).exists()]


def make(stack: Stack, java_home: Path, at: Mapping[str, str]) -> None:
    """The archives that are missing, while all daemons serve. at: their addresses. StackError where
    that fails."""
    _run_a_job(at)
    _import_a_row(stack, at)
    for name in missing(stack, java_home):
        with jars.lock(archive(stack, java_home, name)):
            if not archive(stack, java_home, name).exists():  # another process was first
                _dump(stack, java_home, name)
    shutil.rmtree(stack.run / "classes")


def _run_a_job(at: Mapping[str, str]) -> None:
    hadoop, folder = at["STACK_HADOOP"], f"/tmp/{_TRIED}"
    _run([hadoop, "fs", "-rm", "-r", "-f", folder])
    _run([hadoop, "fs", "-mkdir", "-p", folder])
    _run([hadoop, "fs", "-put", "-f", hadoop, f"{folder}/in"])
    words = ["-inputformat", "org.apache.hadoop.mapred.lib.NLineInputFormat", "-mapper", "true"]
    words += ["-input", f"{folder}/in", "-output", f"{folder}/out", "-numReduceTasks", "0"]
    each = "mapreduce.input.lineinputformat.linespermap=9999999"
    _run([hadoop, "jar", at["STACK_STREAMING_JAR"], "-D", each, *words])
    _run([hadoop, "fs", "-rm", "-r", folder])


def _import_a_row(stack: Stack, at: Mapping[str, str]) -> None:
    folder = str(_lists(stack, "sqoop").parent)
    words = ["--connect", at["STACK_MYSQL"].replace("mysql://weibo@", "jdbc:mysql://")]
    words += ["--username", "weibo"]
    words += ["--password-file", f"file://{at['STACK_MYSQL_PASSWORD_FILE']}"]
    words += ["--query", "SELECT 1 AS id, 2 AS two FROM DUAL WHERE $CONDITIONS", "-m", "1"]
    words += ["--hbase-table", _TRIED, "--hbase-create-table", "--column-family", "f"]
    words += ["--hbase-row-key", "id", "--outdir", folder, "--bindir", folder]
    _run([at["STACK_SQOOP"], "import", *words])
    _run([at["STACK_HBASE"], "shell", "-n"], f"disable '{_TRIED}'\ndrop '{_TRIED}'\n")


def _dump(stack: Stack, java_home: Path, name: str) -> None:
    lists, made = _lists(stack, name), archive(stack, java_home, name)
    classes, draft = lists.with_suffix(".all"), made.with_suffix(".part")
    texts = [each.read_text().rpartition("\n")[0] for each in lists.iterdir()]  # some grow still
    classes.write_text("\n".join(sorted({line for text in texts for line in text.splitlines()})))
    draft.unlink(missing_ok=True)
    _run(
        [
            *(str(java_home / "bin" / "java"), "-Xshare:dump", "-Xlog:disable"),
            *(f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={draft}"),
            *("-cp", f"{jars.folder(stack, name)}/*"),
        ]
    )
    draft.replace(made)


def _run(words: list[str], text: str = "") -> None:
    done = subprocess.run(words, input=text, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        last = (done.stdout + done.stderr).strip().splitlines()[-15:]
        raise StackError("\n".join([f"{words[0]} did not do its work:", *last]))


def archive(stack: Stack, java_home: Path, name: str) -> Path:
    """Where it is: with other jars, or another JDK, elsewhere."""
    java = hashlib.sha256((java_home / "release").read_bytes()).hexdigest()[:12]
    return jars.folder(stack, name) / f"classes-{java}.jsa"


def _lists(stack: Stack, name: str) -> Path:
    return stack.run / "classes" / name

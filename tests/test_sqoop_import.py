"""What is said of a Sqoop that fails, by commands that stand for it."""

from pathlib import Path

import pytest

from weibo_crawler import config
from weibo_crawler.errors import BadConfig, StoreError
from weibo_crawler.sqoop_import import Sqoop, prepare, try_out

MISSING = (
    'Exception in thread "main" java.lang.NoSuchMethodError: '
    "'void org.apache.hadoop.hbase.client.HBaseAdmin.<init>(org.apache.hadoop.conf.Configuration)'"
)


def sqoop(folder: Path, says: str, code: int) -> Sqoop:
    """One that writes down its words, says this, and ends so."""
    folder.joinpath("says").write_text(says)
    command = folder / "sqoop"
    command.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >{folder}/words\ncat {folder}/says\nexit {code}\n'
    )
    command.chmod(0o755)
    store = config.Store(users="mysql://me@127.0.0.1/db", tables="hbase://127.0.0.1/weibo:")
    settings = config.Settings(store=store, sqoop=config.Sqoop(command=str(command)))
    return prepare(settings, "userlist", "doctor", {})


def test_a_try_imports_nobody(tmp_path: Path) -> None:
    """It goes the way of an import, into the same table, of rows that cannot be."""
    try_out(sqoop(tmp_path, "", 0))
    words = tmp_path.joinpath("words").read_text().splitlines()
    assert words[0] == "import"
    assert "weibo:userlist" in words
    (query,) = (word for word in words if "FROM userlist" in word)
    assert "WHERE seq < 0 AND $CONDITIONS" in query


@pytest.mark.parametrize(
    "says",
    [
        f"26/11/28 ERROR tool.ImportTool: Import failed\n{MISSING}\n\tat org.apache.sqoop\n",
        "java.lang.NoClassDefFoundError: org/apache/hadoop/hbase/client/HTableInterface\n",
    ],
)
def test_a_client_of_another_hbase_is_told(tmp_path: Path, says: str) -> None:
    """With what Sqoop needs, and what it said."""
    with pytest.raises(
        BadConfig, match=r"client of HBase 1(.|\n)*HBASE_HOME(.|\n)*Error: "
    ) as told:
        try_out(sqoop(tmp_path, says, 1))
    assert says.splitlines()[-1].strip() in str(told.value)


def test_another_failure_is_told_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"Sqoop failed \(exit code 1\)(.|\n)*commons"):
        try_out(sqoop(tmp_path, "java.lang.NoSuchMethodError: org.apache.commons.cli.X\n", 1))

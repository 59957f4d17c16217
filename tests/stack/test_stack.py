"""The real stack: what listens where, the schema script, and users by Sqoop."""

import subprocess
from pathlib import Path

import happybase
import pytest

from tests.stack.conftest import Running, why_not

if why_not():
    pytest.skip(why_not(), allow_module_level=True)


def test_everything_listens_on_loopback_only(stack: Running) -> None:
    """No Java or MariaDB process of the stack listens on an address that others can reach."""
    lines = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    ours = [line.split()[3] for line in lines.splitlines() if "java" in line or "mariadb" in line]
    assert ours
    assert [address for address in ours if "127.0.0.1" not in address] == []


def test_the_schema_script_may_be_repeated(stack: Running) -> None:
    """The second run creates nothing and finds no difference."""
    stack.schema(WEIBO_TABLE_PREFIX="twice")
    assert stack.schema(WEIBO_TABLE_PREFIX="twice") == [
        "exists: twice_userlist",
        "exists: twice_posts",
        "schema: as it should be",
    ]
    host, _, port = stack.addresses["STACK_TABLES"].removeprefix("hbase://").partition(":")
    connection = happybase.Connection(host, int(port))
    assert len(connection.table("twice_posts").regions()) == 16
    connection.close()


def test_the_password_file_is_for_its_owner_alone(stack: Running) -> None:
    """Mode 0400 and no newline, as Sqoop wants it."""
    file = Path(stack.addresses["STACK_MYSQL_PASSWORD_FILE"])
    assert file.stat().st_mode & 0o777 == 0o400
    assert not file.read_bytes().endswith(b"\n")

"""Users by real Sqoop 1.4.7, from MariaDB to HBase: the same tables as the built-in importer's."""

import hashlib
import json
import multiprocessing
import random
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

import happybase
import pymysql
import pytest
from pymysql.cursors import DictCursor

from tests.contracts.frontier import page
from tests.stack.conftest import Running, why_not
from tests.stack.hbase_worlds import drop, make
from weibo_crawler import sqoop_import
from weibo_crawler.cli.main import main
from weibo_crawler.records import Edge
from weibo_crawler.store import Found, UserRow
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.mysql.frontier import MysqlUsers
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.rows.cells import user_cells
from weibo_crawler.store.rows.keys import user_key

if why_not():
    pytest.skip(why_not(), allow_module_level=True)

NOW = 1_700_000_000.25
MANY = 20_000
Table = dict[bytes, dict[bytes, tuple[bytes, int]]]
_SPAWN = multiprocessing.get_context("spawn")


class Place(NamedTuple):
    """A database and tables of a test's own. sqoop: the stack's command."""

    users: str
    password: str
    tables: str
    sqoop: str

    def open(self) -> MysqlUsers:
        return MysqlUsers(self.users, self.password)

    def settings(self, **more: str) -> dict[str, str]:
        return {
            "WEIBO_STORE__USERS": self.users,
            "WEIBO_STORE__PASSWORD": self.password,
            "WEIBO_STORE__TABLES": self.tables,
            "WEIBO_SQOOP__COMMAND": self.sqoop,
            "WEIBO_SQOOP__OPTIONS": "",
        } | more

    def rows(self, name: str = "userlist") -> Table:
        """All cells of one of the tables, with their timestamps."""
        with closing(self.thrift()) as connection:
            table = connection.table(HbaseTables(self.tables).address.table(name))
            return {key: dict(cells) for key, cells in table.scan(include_timestamp=True)}

    def thrift(self) -> Any:
        address = HbaseTables(self.tables).address
        return happybase.Connection(*address.servers[0])

    def drop(self, *names: str) -> None:
        with closing(self.thrift()) as connection:
            for name in names:
                connection.delete_table(HbaseTables(self.tables).address.table(name), disable=True)


@pytest.fixture(scope="module")
def schema(stack: Running) -> Iterator[str]:
    """The address of empty tables, made once, of one region each: into those of the schema script
    Sqoop imports in test_end_to_end.py."""
    address = f"{stack.addresses['STACK_TABLES']}/sqoop{secrets.token_hex(3)}"
    make(address)
    yield address
    drop(address)


@pytest.fixture
def place(stack: Running, schema: str) -> Iterator[Place]:
    password = Path(stack.addresses["STACK_MYSQL_PASSWORD_FILE"]).read_text()
    server = stack.addresses["STACK_MYSQL"].rpartition("/")[0]
    database = f"weibo_sqoop_{secrets.token_hex(4)}"
    made = Place(f"{server}/{database}", password, schema, stack.addresses["STACK_SQOOP"])
    _sql(made, f"CREATE DATABASE {database}", database=None)
    yield made
    _sql(made, f"DROP DATABASE {database}", database=None)
    with closing(made.thrift()) as connection:
        table = connection.table(HbaseTables(schema).address.table("userlist"))
        with table.batch(batch_size=1000) as batch:
            for key, _ in table.scan(filter=b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"):
                batch.delete(key)


@pytest.fixture
def run(
    place: Place,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Any:
    """Runs `weibo-crawler import …`, where no settings file is: (exit code, closing object or
    error text)."""
    monkeypatch.chdir(tmp_path)

    def imports(*words: str, **settings: str) -> tuple[int, Any]:
        for name, value in place.settings(**settings).items():
            monkeypatch.setenv(name, value)
        code = main(["import", "--json", *words])
        said = capsys.readouterr()
        return code, json.loads(said.out) if code == 0 else said.err

    return imports


def _sql(place: Place, *statements: str, database: str | None = "") -> Any:
    """Run statements; what the last one gives. database "": the place's own."""
    server, _, name = place.users.removeprefix("mysql://weibo@").partition("/")
    host, _, port = server.partition(":")
    connection = pymysql.connect(
        host=host,
        port=int(port),
        user="weibo",
        password=place.password,
        database=name if database == "" else database,
        charset="utf8mb4",
        autocommit=True,
        cursorclass=DictCursor,
    )
    with connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall()


def _found(*uids: int) -> list[Found]:
    return [Found(uid, f"https://m.weibo.cn/u/{uid}", f"名字 {uid} 🐈 '\"\\", 50) for uid in uids]


def _values(rows: Table) -> dict[bytes, dict[bytes, bytes]]:
    """Cells without timestamps and without the run that wrote them."""
    return {
        key: {name: value for name, (value, _) in cells.items() if name != b"user:run_id"}
        for key, cells in rows.items()
    }


def _expected(users: MysqlUsers) -> dict[bytes, dict[bytes, bytes]]:
    """What the table must hold, by Python alone."""
    return {
        user_key(row.uid).encode(): {
            name.encode(): value.encode()
            for name, value in user_cells(row, "").items()
            if name != "user:run_id"
        }
        for row in users.users()
    }


def _walked(users: MysqlUsers, seeds: tuple[int, ...] = (5, 6, 68)) -> None:
    """Seeds, one of them named, and users found on their lists. They are found now: what a test
    before this one deleted hides cells that are older."""
    now, owner = time.time(), new_owner()
    users.add_seeds(_found(*seeds), "run", now)
    first, second, *_ = users.claim(owner, 9, edges=(Edge.FANS,), deepest=9, now=now, lease_s=60)
    users.name_seed(owner, first.uid, "", 0, now + 1)
    pages = [page(first, 1234567890, 2**32, 2**63 - 1, ended="end"), page(second, 7, 9, 2**64 - 1)]
    pages = [each._replace(fetched_at=now) for each in pages]
    users.commit(owner, "run", pages, max_users=10**7)
    users.give_back(owner)


def test_cells_in_sql_are_those_of_python(place: Place) -> None:
    """For 20,000 users of any uid and time: key and all cells of sqoop/userlist.sql, computed by
    the server, are those of store/rows (keys.py, cells.py); what is not known is NULL there."""
    dice = random.Random(7)
    uids = {0, 1, 9, 10, 6, 68, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1}
    while len(uids) < MANY:
        uids.add(dice.randrange(2 ** dice.randint(1, 64)))
    rows = [
        (
            *(seq, uid, f"https://m.weibo.cn/u/{uid}", dice.choice([None, "", "猫🐈", "a'b\\"])),
            *(
                dice.choice([None, dice.randrange(10**9)]),
                dice.randrange(9),
                dice.choice([None, 0, uid]),
                "fans",
            ),
            dice.choice(
                [0.0, 1e9, dice.uniform(0, 4e9), round(dice.uniform(0, 2e9), 3), 2e9 - 1e-7]
            ),
            *("queued", "run"),
        )
        for seq, uid in enumerate(uids, 1)
    ]
    with closing(place.open()) as users:
        users.last_seq()  # makes the tables
        columns = "seq, id, url, screen_name, fans, depth, found_from, found_edge, found_at, state"
        insert = f"INSERT INTO userlist ({columns}, run_id, changed_at) VALUES"
        users._db.transaction(
            lambda cursor: cursor.executemany(
                f"{insert} (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0)", rows
            )
        )
    query = sqoop_import.query("TRUE", "r1").replace("$CONDITIONS", "TRUE")
    expected = []
    for row in map(UserRow._make, rows):
        cells = user_cells(row, "r1").items()
        expected.append({name.removeprefix("user:"): value for name, value in cells})
        expected[-1]["row_key"] = user_key(row.uid)
    said = [
        {name: value for name, value in row.items() if value is not None}
        for row in sorted(_sql(place, query), key=_seq)
    ]
    assert said == expected


def _seq(row: dict[str, str]) -> int:
    return int(row["seq"])


def test_both_ways_give_equal_tables(place: Place, run: Any) -> None:
    """The same rows and cells byte for byte, an empty found_from too; only the run and the
    timestamps differ: those of a repair, and those that HBase gives to Sqoop's puts."""
    with closing(place.open()) as users:
        _walked(users)
        before = int(time.time() * 1000)
        assert run("--via", "sqoop") == (0, {"new": 9, "changed": 0})
        by_sqoop = place.rows()
        assert run("--via", "builtin", "--from-start") == (0, {"new": 9, "changed": 0})
        assert _values(place.rows()) == _values(by_sqoop) == _expected(users)
    assert by_sqoop[user_key(5).encode()][b"user:found_from"][0] == b""
    assert all(stamp >= before for cells in by_sqoop.values() for _, stamp in cells.values())


def test_maps_on_yarn_bring_the_same(
    stack: Running, place: Place, run: Any, tmp_path: Path
) -> None:
    """Where Sqoop finds the settings of the cluster its maps run on the nodes, and what they need
    there is on the class path of their job: that of Sqoop, HBase 1's client in it."""
    command = Path(place.sqoop)
    conf = command.parents[1] / "conf" / "hadoop"
    (jars,) = re.findall(r'-cp "([^"]+?)/\*:', command.read_text("utf-8"))
    (java,) = re.findall(
        r"mapreduce.map.java.opts</name><value>(.*?)</value>",
        (conf / "mapred-site.xml").read_text("utf-8"),
    )
    java = re.sub(r"-cp \S+?/\*:", f"-cp {jars}/*:", re.sub(r" -XX:Shared\S+", "", java))
    ours = tmp_path / "sqoop-site.xml"
    ours.write_text(
        "<configuration><property><name>mapreduce.map.java.opts</name>"
        f"<value>{java}</value></property><property><name>mapreduce.application.classpath</name>"
        f"<value>{jars}/*,{conf}</value></property></configuration>",
        "utf-8",
    )
    files = [*(conf / f"{name}-site.xml" for name in ("core", "yarn", "mapred")), ours]
    options = ",".join(f"-conf,{file}" for file in files)
    before = _sqoops_on_yarn(stack)
    with closing(place.open()) as users:
        _walked(users)
        assert run("--via", "sqoop", WEIBO_SQOOP__OPTIONS=options) == (0, {"new": 9, "changed": 0})
        assert _values(place.rows()) == _expected(users)
    assert len(_sqoops_on_yarn(stack) - before) == 1


def _sqoops_on_yarn(stack: Running) -> set[str]:
    """The jobs of Sqoop that YARN knows."""
    url = f"{stack.addresses['STACK_RESOURCEMANAGER']}/ws/v1/cluster/apps"
    with urlopen(url, timeout=10) as answer:
        apps = json.load(answer)["apps"] or {"app": []}
    return {app["id"] for app in apps["app"] if app["name"] == "QueryResult.jar"}


def test_what_is_not_known_is_no_cell(place: Place, run: Any) -> None:
    """A seed whose profile was not read has neither name nor fans in the table, and gets them when
    it is read."""
    unread = user_key(5).encode()
    with closing(place.open()) as users:
        users.add_seeds([Found(5, "url")], "run", time.time())
        assert run("--via", "sqoop") == (0, {"new": 1, "changed": 0})
        assert not {b"user:screen_name", b"user:fans"} & place.rows()[unread].keys()
        assert _values(place.rows()) == _expected(users)
        owner = new_owner()
        users.claim(owner, 1, edges=(), deepest=0, now=time.time(), lease_s=60)
        users.name_seed(owner, 5, "name", 9, time.time())
        assert run("--via", "sqoop") == (0, {"new": 0, "changed": 1})
        assert _values(place.rows()) == _expected(users)
        assert place.rows()[unread][b"user:fans"][0] == b"9"
        assert run("--via", "sqoop") == (0, {"new": 0, "changed": 0})
        users._db.write("UPDATE userlist SET depth = 1, screen_name = NULL WHERE id = 5")
        users.name_kept(5, "shown in a list", time.time())
        assert run("--via", "sqoop") == (0, {"new": 0, "changed": 1})
        assert _values(place.rows()) == _expected(users)


def test_each_way_goes_on_where_the_other_was(place: Place, run: Any) -> None:
    """One watermark: either brings only what is new since the last import by whichever way, and
    known users whose row changed: here one that became a seed, and lost its found_from."""
    with closing(place.open()) as users:
        _walked(users)
        assert run("--via", "builtin") == (0, {"new": 9, "changed": 0})
        assert run("--via", "sqoop") == (0, {"new": 0, "changed": 0})
        users.add_seeds(_found(7, 11, 12), "run", time.time())
        assert run("--via", "sqoop") == (0, {"new": 2, "changed": 1})
        assert _values(place.rows()) == _expected(users)
        assert run("--via", "builtin") == (0, {"new": 0, "changed": 0})
        users.add_seeds(_found(13), "run", time.time())
        assert run("--via", "builtin") == (0, {"new": 1, "changed": 0})
        assert run("--via", "sqoop") == (0, {"new": 0, "changed": 0})
        assert _values(place.rows()) == _expected(users)


def test_counts_that_differ_are_an_error(place: Place, run: Any) -> None:
    """A row that HBase lost is found by the next import, which moves no watermark; --from-start
    brings it back."""
    with closing(place.open()) as users:
        _walked(users)
        assert run("--via", "sqoop") == (0, {"new": 9, "changed": 0})
        key = user_key(1234567890).encode()
        with closing(place.thrift()) as connection:
            connection.table(HbaseTables(place.tables).address.table("userlist")).delete(key)
        users.add_seeds(_found(11), "run", time.time())
        mark = users.get_meta(f"imported_seq {place.tables}")
        code, said = run("--via", "sqoop")
        assert code == 5
        assert "userlist holds 10 users up to seq 10" in said
        assert "_userlist 9: import again with --from-start" in said
        assert users.get_meta(f"imported_seq {place.tables}") == mark
        assert run("--via", "sqoop", "--from-start") == (0, {"new": 10, "changed": 0})
        assert _values(place.rows()) == _expected(users)
        with closing(place.thrift()) as connection:
            table = connection.table(HbaseTables(place.tables).address.table("userlist"))
            table.put(user_key(99).encode(), {b"user:seq": b"3"})
        code, said = run("--via", "sqoop")
        assert code == 5
        assert "_userlist 11: forget again" in said


def test_an_import_beside_a_harvest(place: Place, run: Any) -> None:
    """While another process commits pages, each import ends with equal counts; after it ended,
    one more import brings the rest, and nobody is missing."""
    stop = _SPAWN.Event()
    writer = _SPAWN.Process(target=_write, args=(place, stop))
    writer.start()
    with closing(place.open()) as users:
        try:
            while users.last_seq() < 200:
                time.sleep(0.02)
            brought = [_new(run("--via", "sqoop")) for _ in range(2)]
            before = users.last_seq()
            while users.last_seq() == before:  # it still writes
                time.sleep(0.02)
        finally:
            stop.set()
            writer.join()
        assert min(brought) > 0
        brought.append(_new(run("--via", "sqoop")))
        assert sum(brought) == users.last_seq()
        assert _values(place.rows()) == _expected(users)


def _new(done: tuple[int, Any]) -> int:
    code, said = done
    assert code == 0, said
    return int(said["new"])


def _write(place: Place, stop: Event) -> None:
    """Pages of one list, until stopped: five users each."""
    owner = new_owner()
    with closing(place.open()) as users:
        users.add_seeds(_found(1), "run", NOW)
        (entry,) = users.claim(owner, 1, edges=(Edge.FANS,), deepest=9, now=NOW, lease_s=9e9)
        uid = 10**9
        while not stop.is_set():
            new = page(entry, *range(uid, uid + 5))
            users.commit(owner, "run", [new], max_users=10**7)
            entry, uid = entry._replace(progress={Edge.FANS: new.after}), uid + 5
            stop.wait(0.01)


def test_the_password_is_in_memory_alone(place: Place, run: Any, tmp_path: Path) -> None:
    """Neither in Sqoop's argv, environment, log, generated class and source, nor in its jobs'
    configuration while it runs; the file in memory that it reads is 0400 and has no newline."""
    trace, jobs = tmp_path / "trace", Path(place.sqoop).parents[1] / "run" / "sqoop"
    trace.mkdir()
    recorder = tmp_path / "recorder"
    recorder.write_text(
        "#!/bin/sh\n"
        f"{{ printf '%s\\n' \"$@\"; env; }} >{trace}/words\n"
        "for word; do case $word in file://*) file=${word#file://} ;; esac; done\n"
        f'stat -L -c %a "$file" >{trace}/mode; sha256sum <"$file" >{trace}/sum\n'
        f"( while :; do find {jobs} -type f -exec cat {{}} + >>{trace}/jobs 2>/dev/null; "
        "sleep 0.05; done ) &\n"
        f'{place.sqoop} "$@" >{trace}/log 2>&1\n'
        f"code=$?; kill $!; cp -rp . {trace}/folder; exit $code\n"
    )
    recorder.chmod(0o755)
    with closing(place.open()) as users:
        _walked(users)
    assert run("--via", "sqoop", WEIBO_SQOOP__COMMAND=str(recorder))[0] == 0
    secret = place.password.encode()
    assert (trace / "sum").read_text().split()[0] == hashlib.sha256(secret).hexdigest()
    assert (trace / "mode").read_text() == "400\n"
    files = {file: file.read_bytes() for file in trace.rglob("*") if file.is_file()}
    assert [file for file, held in files.items() if secret in held] == []
    for name, holds in (("words", b"--password-file"), ("log", b"Retrieved 9 records")):
        assert holds in files[trace / name]
    assert b"sqoop.hbase.insert" in files[trace / "jobs"]
    assert {file.suffix for file in files} >= {".java", ".class"}


def test_a_sqoop_that_fails_moves_nothing(place: Place, run: Any) -> None:
    """Its last words are passed on, exit code 5; the next import brings all."""
    with closing(place.open()) as users:
        _walked(users)
    code, said = run("--via", "sqoop", WEIBO_SQOOP__OPTIONS="--no-such-option")
    assert code == 5
    assert "Sqoop failed (exit code 1)" in said
    assert "no-such-option" in said
    assert run("--via", "sqoop") == (0, {"new": 9, "changed": 0})


def test_tables_that_are_missing_are_said_before_sqoop_runs(place: Place, run: Any) -> None:
    """What makes them is named; exit code 5, and no Sqoop is looked for."""
    with closing(place.open()) as users:
        _walked(users)
    changes = {"WEIBO_STORE__TABLES": f"{place.tables}none", "WEIBO_SQOOP__COMMAND": "no-sqoop"}
    code, said = run("--via", "sqoop", **changes)
    assert (code, "none_userlist does not exist: run `weibo-crawler init`" in said) == (5, True)


def test_the_papers_command(place: Place, run: Any) -> None:
    """SELECT id FROM userlist: a table keyed by the bare uid, one cell user:id; a second import
    adds nothing."""
    uids = [1234567890, 7654321098, 5, 2**63 - 1]
    with closing(place.open()) as users:
        users.add_seeds(_found(*uids), "run", NOW)
    try:
        assert run("--via", "sqoop", "--paper") == (0, {"total": 4})
        rows = place.rows("paper")
        assert run("--via", "sqoop", "--paper") == (0, {"total": 4})
    finally:
        place.drop("paper")
    names = {str(uid).encode(): {b"user:id": str(uid).encode()} for uid in uids}
    assert _values(rows) == names

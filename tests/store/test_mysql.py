"""The userlist in MariaDB keeps the contract of the frontier, and what a server adds to it: lost
connections, collisions, restarts, schema versions."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import certifi
import pymysql
import pytest
from pymysql.connections import Connection
from pymysql.constants import CLIENT, CR
from pymysql.cursors import Cursor

from tests.contracts.forget import ForgetContract
from tests.contracts.frontier import NOW, FrontierContract, found, page
from tests.processes import CLEAN
from tests.store import mariadb
from tests.store.mariadb import PASSWORD, MariaDb
from weibo_crawler.config import load
from weibo_crawler.errors import BadConfig, NewerSchema, StoreError, StoreFull
from weibo_crawler.home import Home
from weibo_crawler.records import Edge, State
from weibo_crawler.store import Entry, Found, Landing, Progress, Tables
from weibo_crawler.store.mysql import base
from weibo_crawler.store.mysql.base import Database, parse_address
from weibo_crawler.store.mysql.errors import translated
from weibo_crawler.store.mysql.frontier import MysqlUsers
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.sqlite.tables import SqliteTables

pytestmark = pytest.mark.skipif(mariadb.binary() is None, reason=mariadb.why_not())
EDGES = (Edge.FANS,)
TABLE = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT NOT NULL)"


@pytest.fixture
def users(url: str) -> Iterator[MysqlUsers]:
    users = MysqlUsers(url, PASSWORD)
    yield users
    users.close()


@pytest.fixture
def numbers(url: str) -> Iterator[Database]:
    """A component of its own: the rows (1, 0), (2, 0) in a table `t`."""
    db = Database(url, PASSWORD, "t", [[TABLE, "REPLACE INTO t VALUES (1, 0), (2, 0)"]])
    db.read("SELECT 1")
    yield db
    db.close()


def claim(users: MysqlUsers, owner: str = "me", n: int = 10) -> list[Entry]:
    return users.claim(owner, n, edges=EDGES, deepest=9, now=NOW, lease_s=60)


def commit(users: MysqlUsers, *pages: Any, cap: int = 10**7) -> Any:
    return users.commit("me", "run", pages, max_users=cap)


def add(db: Database, row: int, then: Callable[[], object] = lambda: None) -> None:
    """Add 1 to row 1 or 2, then to the other, in one transaction."""

    def work(cursor: Cursor) -> None:
        cursor.execute("UPDATE t SET n = n + 1 WHERE id = %s", (row,))
        then()
        cursor.execute("UPDATE t SET n = n + 1 WHERE id = %s", (3 - row,))

    db.transaction(work)


class TestMysqlUsers(FrontierContract):
    @pytest.fixture(autouse=True)
    def _place(self, url: str) -> None:
        self.url = url

    def open(self) -> MysqlUsers:
        return MysqlUsers(self.url, PASSWORD)


class TestForget(ForgetContract):
    """The users in MariaDB, the tables embedded."""

    @pytest.fixture
    def stores(self, url: str, tmp_path: Path) -> Iterator[tuple[Frontier, Tables]]:
        self.url = url
        users, tables = MysqlUsers(url, PASSWORD), SqliteTables(f"sqlite:///{tmp_path}/t.db")
        yield users, tables
        users.close()
        tables.close()

    def drifted_urls(self) -> list[str]:
        db = Database(self.url, PASSWORD, "t", [[TABLE]])
        try:
            return [url for (url,) in db.read("SELECT url FROM drifted")]
        finally:
            db.close()


# -- values


def test_ids_of_64_bits(users: MysqlUsers) -> None:
    """BIGINT UNSIGNED: the largest id is kept, as a row, on a page and among a page's ids."""
    top = 2**64 - 1
    users.add_seeds(found(top), "run", NOW)
    (entry,) = claim(users)
    assert commit(users, page(entry, top - 1, top))[0] == (Landing.STORED, 1)
    users.give_back("me")
    assert claim(users)[0].progress[Edge.FANS] == Progress("2", (top - 1, top), 2, 1)
    assert list(users.known_ids()) == [top - 1, top]


def test_a_value_that_does_not_fit_is_an_error(users: MysqlUsers) -> None:
    """Law 3: what is too long stops the step, whole: no row is cut, none left out."""
    with pytest.raises(StoreError, match=r"Data too long for column 'run_id'.*nothing was cut"):
        users.add_seeds(found(1, 2), "run" * 100, NOW)
    assert list(users.known_ids()) == []
    assert users.add_seeds(found(1, 2), "run", NOW) == 2


def test_ids_are_whole_whatever_the_server_sends_at_once(server: MariaDb, url: str) -> None:
    """A server cuts a text that is longer than its packets without an error: half an id would be
    taken for somebody else's, who would never be found."""
    (before,) = server.root("SELECT @@global.max_allowed_packet")[0]
    server.root("SET GLOBAL max_allowed_packet = 1048576")
    users = MysqlUsers(url, PASSWORD)
    try:
        users.states()
        server.root(
            "INSERT INTO userlist (seq, id, url, screen_name, fans, depth, found_edge, found_at, "
            "changed_at, run_id) SELECT seq, 1000000000000000000 + seq, '', '', 0, 0, 'seed', 0, "
            "0, '' FROM seq_1_to_70000",
            url.rpartition("/")[2],
        )
        assert list(users.known_ids()) == [10**18 + n for n in range(1, 70_001)]
    finally:
        users.close()
        server.root(f"SET GLOBAL max_allowed_packet = {before}")


def test_a_name_beyond_all_measure_is_kept(users: MysqlUsers) -> None:
    """What the site says never stops a harvest: names may be as long as its answers."""
    users.add_seeds(found(1), "run", NOW)
    (entry,) = claim(users)
    long = Found(4, "https://m.weibo.cn/u/4", "长" * 300_000, 50)
    first = page(entry, 2, 3)
    assert commit(users, first._replace(found=(*first.found, long))) == [(Landing.STORED, 3)]
    assert {user.uid: user.screen_name for user in users.users()}[4] == long.screen_name


def test_texts_are_stored_as_they_are(users: MysqlUsers) -> None:
    """What a name or an address holds is never read as SQL, nor as a place for a value."""
    texts = ["%s %% %d", 'it\'s "quoted" `too`', "\\' OR 1; --", "a\0b\n\x1a", "😀 长", ""]
    users.add_seeds(found(1), "run %s's", NOW)
    (entry,) = claim(users)
    kept = tuple(Found(i, f"https://m.weibo.cn/u/{t}", t, 50) for i, t in enumerate(texts, 10))
    first = page(entry)
    landed = users.commit("me", "run %s's", [first._replace(found=kept)], max_users=100)
    assert landed == [(Landing.STORED, len(texts))]
    stored = list(users.users())[1:]
    assert [(u.uid, u.url, u.screen_name) for u in stored] == [u[:3] for u in kept]
    assert {u.run_id for u in stored} == {"run %s's"}


def test_large_batches_are_stored_whole(users: MysqlUsers) -> None:
    """Thousands of seeds, and pages of thousands, are cut into statements, not into transactions;
    seqs follow the order given."""
    uids = [(i * 7919) % 30011 + 1 for i in range(12_000)]
    assert users.add_seeds(found(*uids), "run", NOW) == 12_000
    assert [user.uid for user in users.users()] == uids
    assert [user.uid for user in users.users(uids=uids[::-1])] == uids[::-1]
    (entry,) = claim(users, n=1)
    assert commit(users, page(entry, *range(25_001, 30_001)))[0].inserted == 5000 - sum(
        uid > 25_000 and uid <= 30_000 for uid in uids
    )


def test_inserted_does_not_hang_on_a_flag(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was new is told rightly also where affected rows count those that were there before."""
    counting = partial(base._Connection, client_flag=CLIENT.FOUND_ROWS)
    monkeypatch.setattr(base, "_Connection", counting)
    users = MysqlUsers(url, PASSWORD)
    assert users.add_seeds(found(1, 2), "run", NOW) == 2
    assert users.add_seeds(found(2, 3), "run", NOW) == 1
    entry, other = claim(users, n=2)
    assert commit(users, page(entry, 1, 2, 4), page(other, 4, 5)) == [(Landing.STORED, 1)] * 2
    assert not users.finish("other", 1, State.DONE, "")
    users.close()


# -- sessions


def test_a_session_sets_what_it_relies_on(users: MysqlUsers) -> None:
    """Strict, READ COMMITTED, utf8mb4 and bounded waits, whatever the server is set to."""
    ((mode, isolation, charset, idle, wait),) = users._db.read(
        "SELECT @@sql_mode, @@tx_isolation, @@character_set_connection, "
        "@@idle_transaction_timeout, @@innodb_lock_wait_timeout"
    )
    assert "STRICT_ALL_TABLES" in mode
    assert (isolation, charset) == ("READ-COMMITTED", "utf8mb4")
    assert 0 < idle < wait


def test_each_thread_has_its_session_and_keeps_it(users: MysqlUsers) -> None:
    """Threads never share a connection."""
    seen: list[int] = []

    def look() -> None:
        seen.extend(users._db.read("SELECT CONNECTION_ID()")[0][0] for _ in range(2))

    look()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen[0] == seen[1] != seen[2] == seen[3]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_has_its_own(users: MysqlUsers) -> None:
    """A child's work and end leave the parent's session as it is, even inside a transaction."""

    def work(cursor: Cursor) -> int:
        cursor.execute("INSERT INTO meta VALUES ('parent', '1')")
        child = multiprocessing.get_context("fork").Process(target=in_child)
        child.start()
        child.join()
        cursor.execute("SELECT CONNECTION_ID()")
        return int(cursor.fetchall()[0][0])

    def in_child() -> None:
        assert users._db.read("SELECT CONNECTION_ID()")[0][0] != before
        users.set_meta("child", "1")
        users.close()

    before = users._db.read("SELECT CONNECTION_ID()")[0][0]
    assert users._db.transaction(work) == before
    assert (users.get_meta("parent"), users.get_meta("child")) == ("1", "1")


def test_an_interruption_throws_the_session_away(numbers: Database) -> None:
    """After Ctrl-C in the middle of anything, nothing of it is stored and no answer is mistaken
    for that of another question."""

    def work(cursor: Cursor) -> None:
        cursor.execute("UPDATE t SET n = 7")
        cursor._get_db()._execute_command(3, "SELECT 'the answer nobody read'")  # COM_QUERY
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        numbers.transaction(work)
    assert numbers.read("SELECT n FROM t") == ((0,), (0,))


# -- collisions


def test_a_deadlock_is_run_again(numbers: Database) -> None:
    """Two transactions that wait for each other both get through, each once."""
    both = threading.Barrier(2)
    runs = []

    def meet() -> None:
        runs.append(1)
        if len(runs) <= 2:
            both.wait()

    threads = [threading.Thread(target=add, args=(numbers, row, meet)) for row in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers.read("SELECT n FROM t") == ((2,), (2,))
    assert len(runs) == 3


def test_a_lock_wait_is_run_again_as_a_whole(
    numbers: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server undoes only the statement that waited too long; we undo, and repeat, all."""
    monkeypatch.setattr(base, "_LOCK_WAIT_S", 1)
    numbers.close()
    holder = _other_session(numbers, "SELECT 1 FROM t WHERE id = 2 FOR UPDATE")
    runs = []

    def once() -> None:
        runs.append(1)
        if len(runs) == 2:
            holder.close()

    add(numbers, 1, once)
    assert numbers.read("SELECT n FROM t") == ((1,), (1,))
    assert len(runs) == 2


def test_patience_ends_with_the_reason(numbers: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that does not go is waited for with bounds, then named."""
    monkeypatch.setattr(base, "_LOCK_WAIT_S", 1)
    monkeypatch.setattr(base, "_PATIENCE_S", 0.5)
    numbers.close()
    holder = _other_session(numbers, "SELECT 1 FROM t WHERE id = 2 FOR UPDATE")
    with pytest.raises(StoreError, match=r"Lock wait timeout.*\(1205\); .*who holds locks"):
        add(numbers, 1)
    holder.close()
    assert numbers.read("SELECT n FROM t") == ((0,), (0,))


def test_who_sleeps_inside_a_transaction_holds_nobody_up(
    users: MysqlUsers, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 8: a process paused behind the gate is ended by the server, and the next one enters; the
    sleeper's page is judged anew when it wakes."""
    monkeypatch.setattr(base, "_IDLE_S", 1)
    users.add_seeds(found(1), "run", NOW)
    (entry,) = claim(users)
    sleeper = MysqlUsers(url, PASSWORD)
    asleep, awake = threading.Event(), threading.Event()
    runs = []

    def work(cursor: Cursor) -> bool:
        cursor.execute("SELECT * FROM gate FOR UPDATE")
        cursor.execute("SELECT 1 FROM meta WHERE name = 'other'")
        there = bool(cursor.fetchall())
        runs.append(there)
        if len(runs) == 1:
            asleep.set()
            awake.wait(30)
        cursor.execute("INSERT INTO meta VALUES ('sleeper', 'x')")
        return there

    thread = threading.Thread(target=sleeper._db.transaction, args=(work,))
    thread.start()
    asleep.wait(30)
    assert commit(users, page(entry, 2))[0].landing is Landing.STORED
    users.set_meta("other", "x")
    assert users.get_meta("sleeper") is None
    awake.set()
    thread.join()
    assert runs == [False, True]
    sleeper.close()


def test_a_claim_steps_over_what_others_hold(users: MysqlUsers) -> None:
    """SKIP LOCKED: a claim waits for nobody."""
    users.add_seeds(found(1, 2, 3), "run", NOW)
    holder = _other_session(users._db, "SELECT 1 FROM userlist WHERE id IN (1, 2) FOR UPDATE")
    assert [entry.uid for entry in claim(users)] == [3]
    holder.close()


def test_a_level_opened_by_another_holds_a_page_back(
    users: MysqlUsers, url: str, server: MariaDb
) -> None:
    """Law 13 against a concurrent committer: a page waits at the gate for the transaction that
    adds entries of an earlier level, then sees them."""
    users.add_seeds(found(1), "run", NOW)
    (entry,) = claim(users)
    commit(users, page(entry, 2, ended="end"))
    (deeper,) = claim(users)
    other = _other_session(users._db, "SELECT * FROM gate FOR UPDATE")
    with other.cursor() as cursor:
        cursor.execute(
            "INSERT INTO userlist SELECT 99, 99, url, screen_name, fans, 0, NULL, 'seed', found_at,"
            " changed_at, run_id, 'queued', 0, 0, '', NULL, NULL, NULL, NULL, 0 FROM userlist "
            "WHERE id = 1"
        )
    landed: list[Any] = []
    late = MysqlUsers(url, PASSWORD)
    thread = threading.Thread(target=lambda: landed.extend(commit(late, page(deeper, 3))))
    thread.start()
    _until(lambda: server.root("SELECT 1 FROM information_schema.innodb_lock_waits"))
    other.commit()
    thread.join()
    assert landed == [(Landing.AHEAD, 0)]
    late.close()
    other.close()


# -- lost connections


@pytest.mark.parametrize("committed", [True, False])
def test_a_lost_acknowledgement_changes_nothing(
    users: MysqlUsers, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """Law 8: where the connection goes while COMMIT is under way, the caller learns what became of
    it; nothing is done twice or told wrong, whether it was committed or not."""
    real, losses = Connection.commit, []

    def lose(conn: "Connection[Cursor]") -> None:
        losses.append(1)
        if len(losses) % 2:  # each transaction, its first time
            if committed:
                real(conn)
                losses.append(1)
            conn._force_close()
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, "Lost connection during query")
        real(conn)

    monkeypatch.setattr(Connection, "commit", lose)
    assert users.add_seeds(found(1, 2), "run", NOW) == 2
    entries = claim(users, n=1)
    assert [entry.uid for entry in entries] == [1]
    assert users.states() == {"leased": 1, "queued": 1}
    assert commit(users, page(entries[0], 3, 4)) == [(Landing.STORED, 2)]
    assert users.finish("me", 1, State.DONE, "")
    assert users.forget([3]) == 1
    users.keep_drifted("run", "u", "why", b"x", NOW)
    assert users._db.read("SELECT COUNT(*) FROM drifted") == ((1,),)
    assert users.states() == {"done": 1, "queued": 2}


def test_a_killed_connection_is_opened_again(numbers: Database, server: MariaDb) -> None:
    """Between two calls nobody notices; inside a transaction all of it is run again."""
    kills: list[int] = []

    def kill() -> None:
        if not kills:
            kills.append(1)
            kill_now()

    def kill_now() -> None:
        ((number,),) = server.root(
            f"SELECT id FROM information_schema.processlist WHERE db = '{numbers.address.database}'"
        )
        server.root(f"KILL {number}")

    kill_now()
    assert numbers.read("SELECT n FROM t") == ((0,), (0,))
    add(numbers, 1, kill)
    assert numbers.read("SELECT n FROM t") == ((1,), (1,))
    kill_now()
    assert numbers.write("UPDATE t SET n = 5") == 2


def test_a_server_killed_between_calls(users: MysqlUsers, server: MariaDb) -> None:
    """Law 8: what was acknowledged is there after kill -9 of the server and its restart, and the
    same objects go on."""
    users.add_seeds(found(1), "run", NOW)
    (entry,) = claim(users)
    commit(users, page(entry, 2))
    server.kill()
    server.start()
    after = entry._replace(progress={Edge.FANS: page(entry, 2).after})
    assert commit(users, page(after, 2, 3)) == [(Landing.STORED, 1)]
    assert list(users.known_ids()) == [1, 2, 3]


def test_a_restart_is_waited_for(
    users: MysqlUsers, server: MariaDb, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that is down comes back: a call made meanwhile only takes longer, and says once why
    it does."""
    users.add_seeds(found(1), "run", NOW)
    server.kill()
    entries: list[Entry] = []
    thread = threading.Thread(target=lambda: entries.extend(claim(users)))
    thread.start()
    try:
        time.sleep(0.3)
        assert entries == []
    finally:
        server.start()
        thread.join()
    assert [entry.uid for entry in entries] == [1]
    (said,) = caplog.messages
    assert f"mysql://127.0.0.1:{server.port}/" in said
    assert "waiting for it, 90 s at most" in said


def test_a_mapper_waits_for_a_server_that_is_away_at_its_start(server: MariaDb, url: str) -> None:
    """Users, leases and claims: its driver had reached the server. A command of a user says at once
    that it is away."""
    settings = load(environ={"WEIBO_STORE__USERS": url, "WEIBO_STORE__PASSWORD": PASSWORD})
    server.kill()
    with Home(settings) as home, pytest.raises(StoreError, match="check that the server runs"):
        home.users.states()
    starting = threading.Timer(1.0, server.start)
    starting.start()
    try:
        with Home(settings, waits=True) as home, closing(home.claims("run")) as claims:
            assert home.leases is not None
            parts = [home.users.states, lambda: home.leases.known(["a:1"]), claims.release]
            with ThreadPoolExecutor(len(parts)) as pool:
                done = [pool.submit(part) for part in parts]
            assert [each.result() for each in done] == [{}, {}, None]
    finally:
        starting.join()


def test_a_killed_process_holds_no_lock(users: MysqlUsers, url: str) -> None:
    """Law 8: kill -9 behind the gate opens it, and nothing of the transaction stands."""
    here, there = CLEAN.Pipe(duplex=False)
    process = CLEAN.Process(target=hold_the_gate, args=(url, there))
    users.add_seeds(found(1), "run", NOW)
    process.start()
    here.recv()
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    assert users.add_seeds(found(2), "run", NOW) == 1
    assert users.get_meta("half") is None
    here.close()
    there.close()


def hold_the_gate(url: str, told: Any) -> None:
    def work(cursor: Cursor) -> None:
        cursor.execute("SELECT * FROM gate FOR UPDATE")
        cursor.execute("INSERT INTO meta VALUES ('half', 'x')")
        told.send("held")
        time.sleep(60)

    MysqlUsers(url, PASSWORD)._db.transaction(work)


# -- schema versions


def test_a_newer_schema_is_refused(users: MysqlUsers, url: str) -> None:
    """A database of a later version is neither read nor written."""
    users.add_seeds(found(1), "run", NOW)
    users._db.write("UPDATE schema_versions SET version = 99")
    users.close()
    with pytest.raises(NewerSchema, match=r"127\.0\.0\.1:\d+/t_\d+: users .* 99.*upgrade"):
        MysqlUsers(url, PASSWORD).add_seeds(found(2), "run", NOW)


def test_a_version_that_was_never_released_is_refused(users: MysqlUsers, url: str) -> None:
    """Nothing leads from it to what is read now."""
    users.add_seeds(found(1), "run", NOW)
    users._db.write("UPDATE schema_versions SET version = version - 1")
    users.close()
    with pytest.raises(StoreError, match="users have schema version 5, which no release"):
        users.states()


def test_an_older_schema_is_brought_up(url: str) -> None:
    """Only what is missing runs, rows stay, and components do not meet."""
    first, second = [TABLE, "INSERT INTO t VALUES (1, 2)"], ["ALTER TABLE t ADD COLUMN m INT"]
    for component, steps in (("t", [first]), ("t", [first, second]), ("u", [])):
        db = Database(url, PASSWORD, component, steps)
        rows = db.read("SELECT * FROM t")
        db.close()
    assert rows == ((1, 2, None),)
    db = Database(url, PASSWORD, "t", [first, second])
    assert db.read("SELECT * FROM schema_versions") == (("t", 2),)
    db.close()


def test_an_upgrade_that_was_cut_is_completed(url: str) -> None:
    """The server commits each change of a table at once: what is there already is passed over."""
    first = Database(url, PASSWORD, "t", [[TABLE]])
    first.read("SELECT 1")
    first.close()
    upgrade = ["ALTER TABLE t ADD COLUMN m INT", "ALTER TABLE t ADD KEY t_m (m)"]
    cut = Database(url, PASSWORD, "t", [[TABLE], [*upgrade, "ALTER TABLE absent ADD COLUMN x INT"]])
    with pytest.raises(StoreError, match="absent"):
        cut.read("SELECT 1")
    whole = Database(url, PASSWORD, "t", [[TABLE], [*upgrade, "INSERT INTO t VALUES (1, 2, 3)"]])
    assert whole.read("SELECT * FROM t") == ((1, 2, 3),)
    assert whole.read("SELECT version FROM schema_versions") == ((2,),)
    whole.close()


def test_who_comes_to_an_upgrade_waits_for_it(url: str) -> None:
    """Of several that begin at once one creates the tables; all go on when it is done."""
    slow = [TABLE, "DO SLEEP(0.3)", "INSERT INTO t VALUES (1, 0)"]  # not repeatable
    seen: list[Any] = []

    def first_use() -> None:
        db = Database(url, PASSWORD, "t", [slow])
        seen.append(db.read("SELECT * FROM t"))
        db.close()

    threads = [threading.Thread(target=first_use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [((1, 0),)] * 4


def test_sessions_of_former_days_leave_nothing(numbers: Database) -> None:
    """The marks of transactions are removed a day later, those of today are kept."""
    add(numbers, 1)
    numbers.close()
    add(numbers, 1)
    assert numbers.read("SELECT COUNT(*) FROM commits") == ((2,),)
    numbers.write("UPDATE commits SET at = at - INTERVAL 2 DAY LIMIT 1")
    numbers.close()
    assert numbers.read("SELECT COUNT(*) FROM commits") == ((1,),)


def test_a_question_may_take_longer_than_the_greeting(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the greeting is bounded tightly: counting ten million rows takes its time."""
    monkeypatch.setattr(base, "_GREETING_S", 2.0)
    db = Database(url, PASSWORD, "t", [[TABLE]])
    try:
        assert db.read("SELECT SLEEP(2.5)") == ((0,),)
    finally:
        db.close()


# -- errors and secrets


def test_what_is_wrong_is_named_and_the_password_is_not(server: MariaDb, url: str) -> None:
    """Law 11, 14: one line with place and remedy, at once; no text holds the password."""
    secret = "falsch-密码-8"
    address = parse_address(url)
    place = f"mysql://127.0.0.1:{server.port}/"
    closed = url.replace(f":{server.port}/", ":9/")
    said = []
    for where, match in (
        (url, r"Access denied.*\(1045\); check the account.*WEIBO_STORE__PASSWORD"),
        (closed, r"\(2003\); check that the server runs"),
        (f"{url}?ssl_ca={Path(__file__).parent}/absent.pem", "absent.pem|No such file"),
    ):
        users = MysqlUsers(where, secret)
        with pytest.raises(StoreError, match=match) as caught:
            users.states()
        said += [str(caught.value), repr(caught.value), repr(users), repr(users._db)]
    users = MysqlUsers(server.url("t_absent"), PASSWORD)
    with pytest.raises(StoreError, match=r"\(1049\); create it: CREATE DATABASE") as caught:
        users.states()
    said += [str(caught.value), str(address), repr(address)]
    assert place in str(caught.value)
    for text in said:
        assert secret not in text
        assert PASSWORD not in text
        assert "\n" not in text


@pytest.mark.parametrize(
    "bad",
    [
        "mysql://host/db",
        "mysql://user@/db",
        "mysql://user@host",
        "mysql://user@host/",
        "mysql://user@host/a/b",
        "mysql://user@host:x/db",
        "mysql://user@host/db?charset=latin1",
        "mysql://user@host/db?ssl_ca=",
        "mysql://user@host/db?ssl_cert=/we.pem",
        "mysql://user@host/db?ssl_ca=/ca.pem&ssl_key=/key.pem",
        "mysql://user@host/db?ssl_ca=/ca.pem&socket=/run/s",
        "mysql://user:geheim@host/db",
        "postgres://user:geheim@host/db",
    ],
)
def test_an_address_of_another_form_is_refused(bad: str) -> None:
    """The form is told; what the address holds is not, for it may be a password."""
    with pytest.raises(BadConfig, match=r"mysql://user@host:port/database") as caught:
        MysqlUsers(bad)
    assert "geheim" not in str(caught.value)


def test_parts_of_an_address() -> None:
    """Port 3306 unless named; names are percent-decoded; IPv6 in brackets."""
    assert parse_address("mysql://a%40b@[::1]/d%20b")[:4] == ("a@b", "::1", 3306, "d b")
    named = parse_address("mysql://u@h:33/d?ssl_ca=/ca.pem&ssl_cert=/we.pem")
    assert named == ("u", "h", 33, "d", "/ca.pem", "/we.pem", None, None)
    assert str(named) == "mysql://h:33/d"
    local = parse_address("mysql://u@localhost/d?socket=/run/s")
    assert (local.socket, str(local)) == ("/run/s", "mysql://localhost/d?socket=/run/s")


def test_tls_that_was_asked_for_is_insisted_on(url: str) -> None:
    """Law 11: with ssl_ca a server without TLS is refused, before the password goes out."""
    with pytest.raises(StoreError, match=r"SSL|TLS"):
        MysqlUsers(f"{url}?ssl_ca={certifi.where()}", PASSWORD).states()


def test_no_room_is_its_own_error() -> None:
    """A full disk of the server is StoreFull: free some and go on."""
    for error in (
        pymysql.InternalError(1114, "The table 'userlist' is full"),
        pymysql.OperationalError(3, "Error writing file 'x' (Errcode: 28 \"No space left\")"),
    ):
        assert isinstance(translated(error, "mysql://h:1/d"), StoreFull)


def test_a_server_that_logs_statements_is_told_apart() -> None:
    """It refuses each write: what to set there is said."""
    refused = pymysql.OperationalError(1665, "impossible to write to binary log")
    assert "binlog_format" in str(translated(refused, "mysql://h:1/d"))


def test_a_connection_that_is_closed_without_a_word_is_said() -> None:
    """The driver has none for it, or no arguments at all."""
    for error in (pymysql.InterfaceError(0, ""), pymysql.OperationalError()):
        assert "connection closed" in str(translated(error, "mysql://h:1/d"))


def test_an_old_server_is_refused() -> None:
    """SKIP LOCKED needs MariaDB 10.6 or MySQL 8.0."""
    for version in ("10.5.9-MariaDB", "5.7.44-log"):
        with pytest.raises(StoreError, match=r"is too old: use (10\.6|8\.0) or newer"):
            base.check_version("here", version)
    for version in ("10.6.0-MariaDB", "11.4.5-MariaDB-log", "8.0.1", "9.1.0"):
        base.check_version("here", version)


def _other_session(db: Database, sql: str) -> "Connection[Cursor]":
    """A transaction of somebody else that has run this statement."""
    conn = base.connect(db.address, PASSWORD, 60)
    conn.begin()
    with conn.cursor() as cursor:
        cursor.execute(sql)
    return conn


def _until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)  # the server keeps a view of lock waits for 0.1 s

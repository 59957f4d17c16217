"""The schemas of the components in the file of the users. Columns of ids have no type: SQLite keeps
a number a number and a text a text, where INTEGER would read 1e3 as a thousand. What is not known
is null."""

from weibo_crawler.store.sql.cursor import UNRELEASED

_USERS = (
    *UNRELEASED * 4,
    """
    CREATE TABLE userlist (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id NOT NULL UNIQUE,
        url TEXT NOT NULL,
        screen_name TEXT,
        fans INTEGER,
        depth INTEGER NOT NULL,
        found_from,
        found_edge TEXT NOT NULL,
        found_at REAL NOT NULL,
        changed_at REAL NOT NULL,
        run_id TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'queued',
        set_aside INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        last_error TEXT NOT NULL DEFAULT '',
        lease_owner TEXT,
        lease_until REAL,
        resting_since REAL,
        resting_until REAL,
        retried INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX userlist_frontier ON userlist (state, set_aside, depth, seq);
    CREATE INDEX userlist_leases ON userlist (lease_owner) WHERE lease_owner IS NOT NULL;
    CREATE TABLE progress (
        uid NOT NULL,
        edge TEXT NOT NULL,
        cursor TEXT NOT NULL DEFAULT '',
        last_ids BLOB NOT NULL DEFAULT x'',
        listed INTEGER NOT NULL DEFAULT 0,
        pages INTEGER NOT NULL DEFAULT 0,
        ended TEXT,
        sure INTEGER NOT NULL DEFAULT 1,
        PRIMARY KEY (uid, edge)
    ) WITHOUT ROWID;
    CREATE TABLE workers (
        run_id TEXT NOT NULL,
        worker TEXT NOT NULL,
        stage TEXT NOT NULL,
        started_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        ended TEXT,
        counters TEXT NOT NULL,
        PRIMARY KEY (run_id, worker)
    );
    CREATE TABLE drifted (
        seq INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL,
        at REAL NOT NULL,
        url TEXT NOT NULL,
        why TEXT NOT NULL,
        body BLOB NOT NULL
    );
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE forgotten (hash BLOB PRIMARY KEY) WITHOUT ROWID;
    -- a row a page, its users packed: a row for each takes ten times the room
    CREATE TABLE edges (
        owner NOT NULL,
        edge TEXT NOT NULL,
        nth INTEGER NOT NULL,
        seen_at REAL NOT NULL,
        uids BLOB NOT NULL,
        PRIMARY KEY (owner, edge, nth)
    ) WITHOUT ROWID;
    CREATE TABLE kept_pages (
        uid NOT NULL,
        url TEXT NOT NULL,
        fetched_at REAL NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (uid, url)
    );
    CREATE TABLE topics (
        words TEXT PRIMARY KEY,
        cursor TEXT NOT NULL,
        pages INTEGER NOT NULL,
        state TEXT NOT NULL,
        why TEXT NOT NULL,
        read_at REAL
    ) WITHOUT ROWID;
    """,
)
_VISITS = (
    """
    CREATE TABLE visits (
        uid NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        run_id TEXT NOT NULL,
        until REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX visits_owner ON visits (owner);
    """,
)
_EGRESSES = (
    """
    CREATE TABLE egresses (
        name TEXT PRIMARY KEY,
        rate REAL NOT NULL,
        next_free REAL NOT NULL,
        health TEXT NOT NULL,
        rests INTEGER NOT NULL,
        deaths INTEGER NOT NULL,
        session TEXT NOT NULL,
        saved_at REAL NOT NULL,
        holder TEXT,
        held_since REAL NOT NULL DEFAULT 0,
        recalled INTEGER NOT NULL DEFAULT 0,
        told INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX egresses_holder ON egresses (holder, told, recalled) WHERE holder IS NOT NULL;
    CREATE TABLE egress_pools (
        pool TEXT NOT NULL,
        name TEXT NOT NULL,
        PRIMARY KEY (pool, name)
    ) WITHOUT ROWID;
    CREATE TABLE egress_holders (
        owner TEXT PRIMARY KEY,
        pools TEXT NOT NULL,
        lease_until REAL NOT NULL,
        waits_since REAL NOT NULL,
        is_guest INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE egress_gate (
        one INTEGER PRIMARY KEY,
        entries INTEGER NOT NULL,
        allotted_at REAL NOT NULL
    );
    INSERT INTO egress_gate VALUES (1, 0, 0);
    """,
    "ALTER TABLE egresses ADD COLUMN trusted_for INTEGER NOT NULL DEFAULT 0;",
)
SCHEMAS = {"users": _USERS, "visits": _VISITS, "egresses": _EGRESSES}
# a new user's id falls anywhere in the index, and each page touched is written whole
PAGE_BYTES = 4096

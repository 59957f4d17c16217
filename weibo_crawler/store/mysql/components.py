"""The schemas of the components in MariaDB/MySQL."""

from weibo_crawler.store.mysql.schema import ID, OPTIONS
from weibo_crawler.store.sql.cursor import UNRELEASED

# No AUTO_INCREMENT: seqs are given under the gate (`frontier` says why).
# What is not known is null. What the site says, or what was said of it, may be as long as a body:
# one such name would be an error that stops the harvest again and again.
_USERS = (
    *UNRELEASED * 5,
    (
        f"""CREATE TABLE userlist (
            seq BIGINT UNSIGNED NOT NULL PRIMARY KEY,
            id {ID} NOT NULL,
            url MEDIUMTEXT NOT NULL,
            screen_name MEDIUMTEXT,
            fans BIGINT,
            depth INT NOT NULL,
            found_from {ID},
            found_edge VARCHAR(16) NOT NULL,
            found_at DOUBLE NOT NULL,
            changed_at DOUBLE NOT NULL,
            run_id VARCHAR(255) NOT NULL,
            state VARCHAR(16) NOT NULL DEFAULT 'queued',
            set_aside TINYINT NOT NULL DEFAULT 0,
            attempts INT NOT NULL DEFAULT 0,
            last_error MEDIUMTEXT,
            lease_owner VARCHAR(255),
            lease_until DOUBLE,
            resting_since DOUBLE,
            resting_until DOUBLE,
            retried TINYINT NOT NULL DEFAULT 0,
            UNIQUE KEY userlist_id (id),
            KEY userlist_frontier (state, set_aside, depth, seq),
            KEY userlist_leases (lease_owner)
        ) {OPTIONS}""",
        f"""CREATE TABLE progress (
            uid {ID} NOT NULL,
            edge VARCHAR(16) NOT NULL,
            next_page MEDIUMTEXT NOT NULL,
            last_ids MEDIUMBLOB NOT NULL,
            listed BIGINT NOT NULL,
            pages BIGINT NOT NULL,
            ended MEDIUMTEXT,
            sure TINYINT NOT NULL,
            PRIMARY KEY (uid, edge)
        ) {OPTIONS}""",
        f"""CREATE TABLE workers (
            run_id VARCHAR(255) NOT NULL,
            worker VARCHAR(255) NOT NULL,
            stage VARCHAR(64) NOT NULL,
            started_at DOUBLE NOT NULL,
            updated_at DOUBLE NOT NULL,
            ended MEDIUMTEXT,
            counters LONGTEXT NOT NULL,
            PRIMARY KEY (run_id, worker)
        ) {OPTIONS}""",
        f"""CREATE TABLE drifted (
            seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
            run_id VARCHAR(255) NOT NULL,
            at DOUBLE NOT NULL,
            url MEDIUMTEXT NOT NULL,
            why MEDIUMTEXT NOT NULL,
            body LONGBLOB NOT NULL
        ) {OPTIONS}""",
        f"""CREATE TABLE meta (
            name VARCHAR(255) NOT NULL PRIMARY KEY,
            value LONGTEXT NOT NULL
        ) {OPTIONS}""",
        f"CREATE TABLE forgotten (hash BINARY(16) NOT NULL PRIMARY KEY) {OPTIONS}",
        f"""CREATE TABLE gate (
            one TINYINT NOT NULL PRIMARY KEY,
            next_seq BIGINT UNSIGNED NOT NULL,
            users BIGINT NOT NULL,
            forget_key VARCHAR(64)
        ) {OPTIONS}""",
        "INSERT INTO gate VALUES (1, 1, 0, NULL) ON DUPLICATE KEY UPDATE one = one",
        # a row a page, its users packed: a row for each takes ten times the room
        f"""CREATE TABLE edges (
            owner {ID} NOT NULL,
            edge VARCHAR(16) NOT NULL,
            nth INT NOT NULL,
            seen_at DOUBLE NOT NULL,
            uids MEDIUMBLOB NOT NULL,
            PRIMARY KEY (owner, edge, nth)
        ) {OPTIONS}""",
        f"""CREATE TABLE kept_pages (
            uid {ID} NOT NULL,
            url VARCHAR(512) NOT NULL,
            fetched_at DOUBLE NOT NULL,
            body LONGBLOB NOT NULL,
            PRIMARY KEY (uid, url)
        ) {OPTIONS}""",
        f"""CREATE TABLE topics (
            words VARCHAR(255) NOT NULL PRIMARY KEY,
            next_page MEDIUMTEXT NOT NULL,
            pages BIGINT NOT NULL,
            state VARCHAR(16) NOT NULL,
            why MEDIUMTEXT NOT NULL,
            read_at DOUBLE
        ) {OPTIONS}""",
    ),
)
_VISITS = (
    (
        f"""CREATE TABLE visits (
            uid {ID} NOT NULL PRIMARY KEY,
            owner VARCHAR(255) NOT NULL,
            run_id VARCHAR(255) NOT NULL,
            until DOUBLE NOT NULL,
            KEY visits_owner (owner)
        ) {OPTIONS}""",
    ),
)
_EGRESSES = (
    (
        f"""CREATE TABLE egresses (
            name VARCHAR(255) NOT NULL PRIMARY KEY,
            rate DOUBLE NOT NULL,
            next_free DOUBLE NOT NULL,
            health VARCHAR(16) NOT NULL,
            rests INT NOT NULL,
            deaths INT NOT NULL,
            session MEDIUMTEXT NOT NULL,
            saved_at DOUBLE NOT NULL,
            holder VARCHAR(255),
            held_since DOUBLE NOT NULL DEFAULT 0,
            recalled TINYINT NOT NULL DEFAULT 0,
            told TINYINT NOT NULL DEFAULT 0,
            KEY egresses_holder (holder, told, recalled)
        ) {OPTIONS}""",
        f"""CREATE TABLE egress_pools (
            pool VARCHAR(255) NOT NULL,
            name VARCHAR(255) NOT NULL,
            PRIMARY KEY (pool, name)
        ) {OPTIONS}""",
        f"""CREATE TABLE egress_holders (
            owner VARCHAR(255) NOT NULL PRIMARY KEY,
            pools TEXT NOT NULL,
            lease_until DOUBLE NOT NULL,
            waits_since DOUBLE NOT NULL,
            is_guest TINYINT NOT NULL
        ) {OPTIONS}""",
        f"""CREATE TABLE egress_gate (
            one TINYINT NOT NULL PRIMARY KEY,
            entries BIGINT NOT NULL,
            allotted_at DOUBLE NOT NULL
        ) {OPTIONS}""",
        "INSERT INTO egress_gate VALUES (1, 0, 0) ON DUPLICATE KEY UPDATE one = one",
    ),
    ("ALTER TABLE egresses ADD COLUMN trusted_for INT NOT NULL DEFAULT 0",),
)
SCHEMAS = {"users": _USERS, "visits": _VISITS, "egresses": _EGRESSES}

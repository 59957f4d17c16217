"""The schemas of the components in MariaDB/MySQL."""

from weibo_crawler.store.mysql.schema import ID, OPTIONS

# No AUTO_INCREMENT: seqs are given under the gate (`frontier` says why).
_USERS = (
    (
        f"""CREATE TABLE userlist (
            seq BIGINT UNSIGNED NOT NULL PRIMARY KEY,
            id {ID} NOT NULL,
            url TEXT NOT NULL,
            screen_name TEXT NOT NULL,
            fans BIGINT NOT NULL,
            depth INT NOT NULL,
            found_from {ID},
            found_edge VARCHAR(16) NOT NULL,
            found_at DOUBLE NOT NULL,
            changed_at DOUBLE NOT NULL,
            run_id VARCHAR(255) NOT NULL,
            state VARCHAR(16) NOT NULL DEFAULT 'queued',
            set_aside TINYINT NOT NULL DEFAULT 0,
            attempts INT NOT NULL DEFAULT 0,
            last_error TEXT,
            lease_owner VARCHAR(255),
            lease_until DOUBLE,
            resting_since DOUBLE,
            resting_until DOUBLE,
            UNIQUE KEY userlist_id (id),
            KEY userlist_frontier (state, set_aside, depth, seq),
            KEY userlist_leases (lease_owner)
        ) {OPTIONS}""",
        f"""CREATE TABLE progress (
            uid {ID} NOT NULL,
            edge VARCHAR(16) NOT NULL,
            next_page TEXT NOT NULL,
            last_ids MEDIUMBLOB NOT NULL,
            listed BIGINT NOT NULL,
            pages BIGINT NOT NULL,
            ended TEXT,
            sure TINYINT NOT NULL,
            PRIMARY KEY (uid, edge)
        ) {OPTIONS}""",
        f"""CREATE TABLE workers (
            run_id VARCHAR(255) NOT NULL,
            worker VARCHAR(255) NOT NULL,
            stage VARCHAR(64) NOT NULL,
            started_at DOUBLE NOT NULL,
            updated_at DOUBLE NOT NULL,
            ended TEXT,
            counters LONGTEXT NOT NULL,
            PRIMARY KEY (run_id, worker)
        ) {OPTIONS}""",
        f"""CREATE TABLE drifted (
            seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
            run_id VARCHAR(255) NOT NULL,
            at DOUBLE NOT NULL,
            url TEXT NOT NULL,
            why TEXT NOT NULL,
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
    ),
    # what the site says, or what was said of it, may be as long as a body: one such name would be
    # an error that stops the harvest again and again
    (
        "ALTER TABLE userlist MODIFY url MEDIUMTEXT NOT NULL, "
        "MODIFY screen_name MEDIUMTEXT NOT NULL, MODIFY last_error MEDIUMTEXT",
        "ALTER TABLE progress MODIFY next_page MEDIUMTEXT NOT NULL, MODIFY ended MEDIUMTEXT",
        "ALTER TABLE workers MODIFY ended MEDIUMTEXT",
        "ALTER TABLE drifted MODIFY url MEDIUMTEXT NOT NULL, MODIFY why MEDIUMTEXT NOT NULL",
    ),
    # what is not known is null. A name of blanks is equal to '', by this collation
    (
        "ALTER TABLE userlist MODIFY screen_name MEDIUMTEXT, MODIFY fans BIGINT",
        "ALTER TABLE userlist ADD COLUMN retried TINYINT NOT NULL DEFAULT 0",
        "UPDATE userlist SET fans = IF(found_edge = 'seed', NULL, fans), screen_name = NULL, "
        "changed_at = UNIX_TIMESTAMP() WHERE CHAR_LENGTH(screen_name) = 0",
        "INSERT INTO meta SELECT 'depths_are_bounds', "
        "'lists that did not end surely may hold shorter ways' FROM DUAL "
        "WHERE EXISTS (SELECT 1 FROM progress WHERE sure = 0 AND ended IS NOT NULL) "
        "ON DUPLICATE KEY UPDATE name = meta.name",
    ),
    # a row a page, its users packed: a row for each takes ten times the room
    (
        f"""CREATE TABLE edges (
            owner {ID} NOT NULL,
            edge VARCHAR(16) NOT NULL,
            nth INT NOT NULL,
            seen_at DOUBLE NOT NULL,
            uids MEDIUMBLOB NOT NULL,
            PRIMARY KEY (owner, edge, nth)
        ) {OPTIONS}""",
    ),
    (
        f"""CREATE TABLE kept_pages (
            uid {ID} NOT NULL,
            url VARCHAR(512) NOT NULL,
            fetched_at DOUBLE NOT NULL,
            body LONGBLOB NOT NULL,
            PRIMARY KEY (uid, url)
        ) {OPTIONS}""",
    ),
    (
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

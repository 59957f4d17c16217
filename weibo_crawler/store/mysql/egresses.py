"""Leases of egresses in MariaDB/MySQL: the processes of many machines."""

from weibo_crawler.store.mysql.base import Database
from weibo_crawler.store.mysql.schema import OPTIONS
from weibo_crawler.store.sql.egresses import EgressLeases

_SCHEMA = (
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


class MysqlEgresses(EgressLeases):
    """`EgressLeases` in the database of the users, by the server's clock."""

    def __init__(
        self,
        url: str,
        password: str | None = None,
        owner: str | None = None,
        *,
        waits: bool = False,
    ) -> None:
        super().__init__(Database(url, password, "egresses", _SCHEMA, waits=waits), owner)

"""The table of users that every peer writes."""

import sqlite3

MIN_FANS = 10
TABLE = "CREATE TABLE users (id INTEGER PRIMARY KEY, screen_name TEXT, fans INTEGER)"
INSERT = "INSERT OR IGNORE INTO users VALUES (?, ?, ?)"
_UNITS = {"万": 10_000, "亿": 100_000_000}


def fans_of(user: dict) -> int:
    """followers_count as a number: 12, "6905", "145.5万"."""
    text = str(user["followers_count"])
    unit = _UNITS.get(text[-1:])
    return round(float(text[:-1]) * unit) if unit else int(text)


def open_table(path: str) -> sqlite3.Connection:
    """A new table, in the mode that SQLite's documentation advises for a single writer."""
    conn = sqlite3.connect(path, check_same_thread=False)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = NORMAL")
    conn.execute(TABLE)
    return conn


def users_of(page: dict) -> list[dict]:
    """The users of the list on a fans page; recommendations stand in other cards."""
    lists = [c for c in page["data"]["cards"] if c.get("itemid", "").startswith("2310510033_1_ _")]
    return [item["user"] for card in lists for item in card["card_group"] if item["user"]]


def fans_address(base: str, uid: int, number: int) -> str:
    """The XHR that the site's own pages send."""
    return f"{base}/api/container/getIndex?containerid=231051_-_fans_-_{uid}&since_id={number}"

"""What a plan reads of the userlist: statements that both SQL homes understand, and their rows."""

from collections.abc import Iterable
from typing import Any

from weibo_crawler.store import WALLED, OpenEntries, ReadLists

_IS_OPEN = "state IN ('queued', 'leased', 'resting')"
_DOUBT = "less was shown"  # of harvest.trouble.Unsure

OPEN_ENTRIES = f"""
    SELECT depth, fans, INSTR(COALESCE(last_error, ''), '{_DOUBT}') > 0 AS is_doubted, COUNT(*)
    FROM userlist WHERE {_IS_OPEN} GROUP BY depth, fans, is_doubted
"""
READ_LISTS = f"""
    SELECT edge, fans, {_IS_OPEN} AS is_open, ended IS NOT NULL AS is_over,
           COALESCE(ended, '') = '{WALLED}' AS is_walled, COUNT(*), SUM(pages)
    FROM progress JOIN userlist ON id = uid GROUP BY edge, fans, is_open, is_over, is_walled
"""


def open_entries(rows: Iterable[Any]) -> list[OpenEntries]:
    return [OpenEntries(depth, fans, bool(doubted), n) for depth, fans, doubted, n in rows]


def read_lists(rows: Iterable[Any]) -> list[ReadLists]:
    return [
        ReadLists(edge, fans, bool(is_open), bool(over), bool(walled), int(n), int(pages))
        for edge, fans, is_open, over, walled, n, pages in rows
    ]

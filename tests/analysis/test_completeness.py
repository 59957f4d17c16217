from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.worlds import put_ledger, put_users, user
from weibo_crawler.analysis.completeness import (
    Completeness,
    completeness,
    completeness_lines,
    read_ledgers,
    summarise,
)
from weibo_crawler.store.cells import Ledger
from weibo_crawler.store.sqlite_tables import SqliteTables

COUNTS = st.integers(0, 50)
LEDGERS = st.builds(
    Ledger,
    state=st.sampled_from(["partial", "done", "gone", "failed"]),
    announced=st.none() | COUNTS,
    stored=COUNTS,
    cut=st.lists(COUNTS, max_size=3).map(tuple),
    stopped=st.sampled_from(["", "end", "login_wall"]),
    sure=st.booleans(),
    refused_pages=COUNTS,
    completed=COUNTS,
    visited_at=st.none() | st.floats(0, 2e9),
)


@settings(deadline=None)
@given(st.lists(st.none() | LEDGERS))
def test_users_add_up(ledgers: list[Ledger | None]) -> None:
    """Every user is either unvisited or in exactly one state."""
    found = summarise(ledgers)
    assert found.users == len(ledgers) == found.visited + found.unvisited
    assert found.visited == found.done + found.partial + found.gone + found.failed


@settings(deadline=None)
@given(st.lists(st.none() | LEDGERS))
def test_share_is_of_what_was_announced(ledgers: list[Ledger | None]) -> None:
    """The share is between 0 and 1, None only where nothing was announced, and 1 only where each
    user holds what it announced: one's surplus never hides another's gap."""
    found = summarise(ledgers)
    announcing = [one for one in ledgers if one is not None and one.announced]
    assert (found.share is None) == (not announcing)
    if found.share is not None:
        assert 0 <= found.share <= 1
        whole = all(one.stored >= (one.announced or 0) for one in announcing)
        assert (found.share == 1) == whole


@settings(deadline=None)
@given(st.lists(LEDGERS, min_size=1))
def test_sums_and_visits(ledgers: list[Ledger]) -> None:
    """Figures are sums over the ledgers; visits span from the oldest to the newest."""
    found = summarise(ledgers)
    assert found.stored == sum(one.stored for one in ledgers)
    assert found.cut_texts == sum(len(one.cut) for one in ledgers)
    assert found.long_completed == sum(one.completed for one in ledgers)
    assert found.refused_pages == sum(one.refused_pages for one in ledgers)
    assert found.unsure_users == sum(not one.sure for one in ledgers)
    assert sum(found.stopped.values()) == sum(bool(one.stopped) for one in ledgers)
    visits = [one.visited_at for one in ledgers if one.visited_at is not None]
    assert (found.oldest_visit, found.newest_visit) == (
        (min(visits), max(visits)) if visits else (None, None)
    )


def test_nothing_gives_nothing() -> None:
    """Without users all is zero and the share unknown."""
    assert summarise([]) == Completeness()
    assert "weibo-crawler import" in "\n".join(completeness_lines(Completeness()))


def test_ledgers_come_from_the_table(tables: SqliteTables) -> None:
    """Every imported user comes once, with its ledger or None; a ledger alone is no user."""
    put_users(tables, user(1, 5), user(2, 6))
    put_ledger(tables, 6, Ledger("done", announced=4, stored=3, stopped="login_wall"))
    put_ledger(tables, 99, Ledger("done", announced=400))
    found = dict(read_ledgers(tables))
    assert set(found) == {5, 6}
    assert found[5] is None
    summary = completeness(tables)
    assert (summary.users, summary.visited, summary.share) == (2, 1, 0.75)
    lines = completeness_lines(summary)
    assert any("share held" in line and line.endswith("75 %") for line in lines)
    assert any("guests may read no further" in line and line.endswith(" 1") for line in lines)
    assert len({len(line) for line in lines}) == 1

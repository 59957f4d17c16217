"""What `forget` promises over every home: users in SQL, tables beside them."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

import pytest

from tests.contracts.frontier import NOW, found, page
from tests.posts.worlds import ScriptedFetcher, ScriptedSite, post
from tests.stores import table_of
from weibo_crawler import config
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.forget import Removed, forget_users
from weibo_crawler.importer import import_users
from weibo_crawler.posts import crawl
from weibo_crawler.posts.crawl import RangeCrawler
from weibo_crawler.posts.due import Job
from weibo_crawler.posts.manifest import KeyRange
from weibo_crawler.records import (
    COMMENTS,
    ECHO_LISTS,
    REPOSTS,
    Echo,
    Edge,
    Original,
    Outcome,
    Page,
    State,
)
from weibo_crawler.store import Put, Row, Table, Tables
from weibo_crawler.store.guard import Guard
from weibo_crawler.store.kept import KeptPage, pack
from weibo_crawler.store.rows.cells import FAMILIES, post_cells
from weibo_crawler.store.rows.echoes import echo_puts
from weibo_crawler.store.rows.keys import echo_key, post_key, user_key
from weibo_crawler.store.sql.walk import Frontier

_TESTS = count()  # each has people of its own: HBase remembers the deletions of others
NAME = "将被遗忘的人"
AT = int(NOW * 1000)


def repost(uid: int, mid: int, original_uid: int | None) -> Put:
    """A repost of somebody's post, as a visit stores it."""
    original = Original(9, original_uid, NAME, f"said by {NAME}", True, None, True)
    cells = post_cells(post(uid, mid, repost_of=9, original=original), NOW, "direct", "run")
    return Put(post_key(uid, mid), cells, AT)


def versions(table: Table, rows: Iterable[Row], families: Iterable[str]) -> Iterator[str]:
    """Every kept version of every cell of these rows, as text with key and column."""
    for row in rows:
        for column in row.cells:
            assert column.partition(":")[0] in families
            for cell in table.versions(row.key, column):
                yield f"{row.key} {column} {cell.value}"


def everything(frontier: Frontier, tables: Tables) -> list[str]:
    """All that readers can see of both stores."""
    told = [f"sql {user!r}" for user in frontier.users()]
    told += [f"sql {page!r}" for page in frontier.seen_pages()]
    for name in FAMILIES:
        table = table_of(tables, name)
        told += versions(table, list(table.scan()), FAMILIES[name])
    return told


class Meddler:
    """A table of which one put is met by `forget`, before or behind it."""

    def __init__(self, table: Table, before: Callable[[], object], behind: Callable[[], object]):
        self._table, self._before, self._behind = table, before, behind
        self.delete, self.versions = table.delete, table.versions

    def put(self, puts: Iterable[Put]) -> None:
        self._before()
        self._table.put(puts)
        self._behind()


class ForgetContract:
    """Subclasses have the fixture `stores`: an empty userlist, and empty tables beside it."""

    @pytest.fixture(autouse=True)
    def _opened(self, stores: tuple[Frontier, Tables]) -> None:
        self.frontier, self.tables = stores
        base = 6_123_000_000 + 1000 * next(_TESTS)
        self.gone, self.other, self.third, self.fourth = range(base, base + 4)

    def forget(self, *uids: int) -> Removed:
        return forget_users(self.frontier, self.tables, uids or (self.gone,))

    def traces(self) -> list[str]:
        return [line for line in everything(self.frontier, self.tables) if self.names(line)]

    def names(self, line: str) -> bool:
        return str(self.gone) in line or NAME in line

    def test_nothing_is_left_in_rows_cells_and_versions(self) -> None:
        """Rows of the person go, others' rows lose what speaks of them; the rest stays."""
        posts, users = self.tables.posts, self.tables.userlist
        self.frontier.add_seeds(found(self.gone, self.other, self.third), "run", NOW)
        import_users(self.frontier, self.tables, "here", "run")
        for at in (AT, AT + 5):
            users.put([Put(user_key(self.gone), {"profile:screen_name": NAME}, at)])
            posts.put([Put(post_key(self.gone, 1), {"post:text": f"by {NAME}"}, at)])
        users.put([Put(user_key(self.other), {"user:found_from": str(self.gone)}, AT + 9_000_000)])
        # lifted to a seed since: only an older version says where from
        users.put([Put(user_key(self.third), {"user:found_from": str(self.gone)}, AT - 5)])
        withdrawn = repost(self.other, 4, None)._replace(timestamp=AT + 7)
        withdrawn = withdrawn._replace(
            cells={k: v.replace(NAME, "-") for k, v in withdrawn.cells.items()}
        )
        posts.put(
            [
                repost(self.other, 2, self.gone),
                repost(self.other, 3, self.third),
                repost(self.other, 4, self.gone),
            ]
        )
        posts.put([withdrawn])
        theirs = Echo(8, self.gone, NAME, f"said by {NAME}", "2026-01-01T00:00:00+08:00")
        others = Echo(9, self.third, "name", "said", "2026-01-01T00:00:00+08:00")
        for one in ECHO_LISTS:
            table = self.tables.echoes[one.name]
            table.put(echo_puts(one, self.other, 2, [theirs, others], NOW, "run"))
            table.put(echo_puts(one, self.gone, 1, [others], NOW, "run"))
        posts.put([repost(self.gone, 1, self.gone)])  # is counted as theirs alone
        kept = posts.row(post_key(self.other, 3))
        before = everything(self.frontier, self.tables)
        told = forget_users(self.frontier, self.tables, (self.gone,), dry_run=True)
        assert everything(self.frontier, self.tables) == before
        removed = self.forget()
        assert told == removed
        assert (removed.users, removed.posts, removed.reposts, removed.found) == (1, 1, 2, 2)
        assert (removed.comments, removed.reposts_below) == (1, 1)
        for table in self.tables.echoes.values():
            assert list(table.keys("")) == [echo_key(self.other, 2, 9)]
        left = [line for line in self.traces() if post_key(self.other, 3) not in line]
        assert left == []
        assert posts.row(post_key(self.other, 3)) == kept
        cut = posts.row(post_key(self.other, 2))
        assert cut["post:text"] == "text of 2"
        assert '"egress":"direct"' in cut["post:more"]
        assert users.row(user_key(self.other))["user:found_from"] == ""
        again = self.forget()
        assert (again.users, again.posts, again.reposts, again.found) == (0, 0, 0, 0)

    def test_a_slip_can_be_undone(self) -> None:
        """Who is allowed again is stored by later runs, the others are not; who is unknown is said
        to be. A process that has read the hashes hears of it."""
        self.frontier.add_seeds(found(self.gone), "run", NOW)
        assert self.forget(self.gone, self.other).unknown == (self.other,)
        known = self.frontier.forgotten()
        assert known.has(self.gone)
        assert known.has(self.other)
        assert self.frontier.allow([self.other, self.third]) == 1
        now = self.frontier.forgotten(known)
        assert (now.has(self.gone), now.has(self.other)) == (True, False)
        assert self.frontier.add_seeds(found(self.gone, self.other), "run", NOW) == 1
        assert self.frontier.allow([self.gone]) == 1
        assert self.frontier.allow([self.gone]) == 0
        assert self.frontier.add_seeds(found(self.gone), "run", NOW) == 1

    def test_lists_and_kept_pages_lose_them(self) -> None:
        """What a list remembers of its last page, and pages kept for developers, name no one of
        them; nor does what comes later."""
        me, frontier = "me", self.frontier
        frontier.add_seeds(found(self.other), "run", NOW)
        claim = {"edges": (Edge.FANS,), "deepest": 9, "now": NOW, "lease_s": 60.0}
        (entry,) = frontier.claim(me, 1, **claim)  # type: ignore[arg-type]
        shown = page(entry, self.gone, self.third)._replace(seen=(self.gone, self.third))
        frontier.commit(me, "run", [shown], max_users=99)
        frontier.keep_drifted("run", "u/1", "why", f'{{"id":{self.gone}}}'.encode(), NOW)
        frontier.keep_drifted("run", "u/2", "why", f'{{"id":{self.gone}0}}'.encode(), NOW)
        frontier.keep_pages(self.gone, [answer("own")])
        frontier.keep_pages(self.third, [answer("a", self.gone), answer("b", self.other)])
        assert self.forget().users == 1
        frontier.keep_drifted("run", f"u/{self.gone}", "why", b"{}", NOW)
        frontier.keep_pages(self.gone, [answer("own")])
        frontier.keep_pages(self.third, [answer("c", self.gone)])
        assert frontier.kept_pages([self.gone, self.third]) == {
            self.third: [answer("b", self.other)]
        }
        frontier.give_back(me)
        (entry,) = frontier.claim(me, 1, **claim)  # type: ignore[arg-type]
        assert entry.progress[Edge.FANS].last_ids == (self.third,)
        assert [one.uids for one in frontier.seen_pages()] == [(self.third,)]
        shown = page(entry, self.gone, self.fourth)
        shown = shown._replace(nth=1, seen=(self.gone, self.fourth))
        shown = shown._replace(kept=(answer("d", self.gone), answer("e", self.fourth)))
        frontier.commit(me, "run", [shown], max_users=99)
        assert [one.uids for one in frontier.seen_pages()] == [(self.third,), (self.fourth,)]
        assert frontier.kept_pages([self.other]) == {self.other: [answer("e", self.fourth)]}
        frontier.give_back(me)
        claims = frontier.claim(me, 9, **claim)  # type: ignore[arg-type]
        progress = {each.uid: each.progress[Edge.FANS].last_ids for each in claims}
        assert progress[self.other] == (self.fourth,)
        assert self.gone not in progress
        assert self.drifted_urls() == ["u/2"]
        frontier.finish(me, self.other, State.DONE, "")
        assert self.forget(self.other).users == 1
        assert list(frontier.seen_pages()) == []

    def drifted_urls(self) -> list[str]:
        raise NotImplementedError

    @pytest.mark.parametrize("moment", ["before", "behind"])
    @pytest.mark.parametrize(
        "kind", ["user", "post", "repost", "found", "comment", "below", "passed"]
    )
    def test_a_put_under_way_brings_nobody_back(self, kind: str, moment: str) -> None:
        """`forget` may run wholly while a put is on its way, or just before it is acknowledged."""
        date = "2026-01-01T00:00:00+08:00"
        (theirs,) = echo_puts(
            COMMENTS, self.other, 2, [Echo(8, self.gone, NAME, NAME, date)], NOW, "run"
        )
        (below,) = echo_puts(
            COMMENTS, self.gone, 2, [Echo(8, self.other, "name", "text", date)], NOW, "run"
        )
        (passed,) = echo_puts(
            REPOSTS, self.other, 2, [Echo(8, self.gone, NAME, NAME, date)], NOW, "run"
        )
        put = {
            "comment": theirs,
            "below": below,
            "passed": passed,
            "user": Put(user_key(self.gone), {"user:screen_name": NAME}, AT),
            "post": Put(post_key(self.gone, 1), {"post:text": NAME}, AT),
            "repost": repost(self.other, 2, self.gone),
            "found": Put(
                user_key(self.other), {"user:found_from": str(self.gone), "user:id": "1"}, AT
            ),
        }[kind]
        homes = {"post": self.tables.posts, "repost": self.tables.posts}
        homes |= {
            "comment": self.tables.echoes["comments"],
            "below": self.tables.echoes["comments"],
            "passed": self.tables.echoes["reposts"],
        }
        table = homes.get(kind, self.tables.userlist)
        moments = {"before": lambda: None, "behind": lambda: None, moment: self.forget}
        guard = Guard(self.frontier)
        guard.put((Meddler(table, **moments), [put]))  # type: ignore[arg-type]
        assert self.traces() == []
        guard.put((table, [put]))
        assert self.traces() == []
        assert bool(table.row(put.key)) == (kind in ("repost", "found"))

    def test_what_one_put_brings_into_several_tables_is_removed(self) -> None:
        """`forget` may run wholly before the first of several tables is written: what was put into
        each of them is removed."""
        posts = [Put(post_key(self.gone, 1), {"post:text": NAME}, AT)]
        users = [Put(user_key(self.gone), {"user:screen_name": NAME}, AT)]
        meddled = Meddler(self.tables.posts, self.forget, lambda: None)
        guard = Guard(self.frontier)
        guard.put((meddled, posts), (self.tables.userlist, users))  # type: ignore[arg-type]
        assert self.traces() == []

    @pytest.mark.parametrize("after", ["profile/{}", "posts/{}/", "posts/{}/2"])
    def test_a_visit_under_way_ends(self, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Forgotten while a page is on its way: nothing of it is stored, nothing more is asked,
        and others' visits go on, without the originals by that person."""
        uids = (self.gone, self.other)
        self.tables.userlist.put([Put(user_key(u), {"user:id": str(u)}, 1) for u in uids])
        original = Original(9, self.gone, NAME, NAME, True, None, True)
        timelines = {
            self.gone: [post(self.gone, 1000 + n, text=NAME) for n in range(35, 0, -1)],
            self.other: [post(self.other, 2000, repost_of=9, original=original)],
        }
        fetcher = Forgetting(timelines, after.format(self.gone), self)
        outcomes = self.crawl(fetcher, monkeypatch)
        assert outcomes == {0: "forgotten", self.other: "stored"}
        assert self.traces() == []
        assert fetcher.asked[-1] != f"posts/{self.gone}/4"
        assert '"original"' not in self.tables.posts.row(post_key(self.other, 2000))["post:more"]
        assert self.crawl(fetcher, monkeypatch, refresh=True) == {self.other: "unchanged"}
        assert self.traces() == []

    def test_a_row_brought_late_is_removed_by_the_next_posts_job(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Sqoop writes what it had read: the job deletes it and asks the site nothing."""
        self.forget()
        self.tables.userlist.put([Put(user_key(self.gone), {"user:id": str(self.gone)}, AT)])
        fetcher = ScriptedFetcher({self.gone: [post(self.gone, 1)]})
        assert self.crawl(fetcher, monkeypatch) == {}
        assert (fetcher.asked, self.traces()) == ([], [])

    def test_an_import_under_way_brings_nobody_back(self) -> None:
        """The importer had read the row when `forget` deleted it."""
        self.frontier.add_seeds(found(self.gone, self.other), "run", NOW)
        meddled = Meddler(self.tables.userlist, self.forget, lambda: None)
        meddled.scan = self.tables.userlist.scan  # type: ignore[attr-defined]

        class Both:
            userlist, posts = meddled, self.tables.posts

        import_users(self.frontier, Both(), "here", "run")  # type: ignore[arg-type]
        assert self.traces() == []
        assert len(list(self.tables.userlist.keys(""))) == 1

    def crawl(
        self, fetcher: ScriptedFetcher, monkeypatch: pytest.MonkeyPatch, *, refresh: bool = False
    ) -> dict[Any, str]:
        monkeypatch.setattr(crawl, "open_fetcher", lambda *_: fetcher)
        crawler = RangeCrawler(
            config.Settings(),
            ScriptedSite(),  # type: ignore[arg-type]
            self.frontier,
            self.tables,
            Job("later" if refresh else "run", refresh, every=refresh),
        )
        outcomes: list[Outcome] = []
        try:
            crawler.crawl([KeyRange(0, "", None)], outcomes.append)
            return {done.uid: done.status for done in outcomes}
        finally:
            crawler.close()


def answer(url: str, *uids: int) -> KeptPage:
    """What a harvest has read, and whom it names."""
    return pack(Page(url, 200, (), str(uids).encode(), NOW))


class Forgetting(ScriptedFetcher):
    """Forgets a person while the answer to one address is on its way."""

    def __init__(self, timelines: object, address: str, home: ForgetContract) -> None:
        # what page 1 does not show of the profile is asked for
        lacks = ("posts",) if address.startswith("profile/") else ()
        super().__init__(timelines, lacks=lacks)  # type: ignore[arg-type]
        self._address, self._home = address, home

    async def fetch(self, ask: Ask) -> Fetched:
        fetched = await super().fetch(ask)
        if ask.request.url == self._address:
            self._home.forget()
        return fetched

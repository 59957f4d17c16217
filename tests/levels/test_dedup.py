"""A reducer of a level, among rows that are there."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from weibo_crawler import config, forget
from weibo_crawler.cli import levels
from weibo_crawler.home import Home
from weibo_crawler.importer import import_users
from weibo_crawler.levels.dedup import LevelReducer
from weibo_crawler.levels.lines import Met, Seen, to_line
from weibo_crawler.levels.task import Task
from weibo_crawler.store import Found
from weibo_crawler.store.notes import HELD
from weibo_crawler.store.rows.keys import user_key


def home_in(folder: Path) -> Home:
    given = config.Settings()
    places = replace(
        given.store, users=f"sqlite:///{folder}/u.db", tables=f"sqlite:///{folder}/t.db"
    )
    return Home(replace(given, store=places))


def reduce(home: Home, told: dict[int, list[Seen | Met]]) -> None:
    """One reducer, which is told this of users."""
    task: Any = SimpleNamespace(
        home=home,
        run_id="run",
        ending_in_order=nullcontext,
        report=lambda counters, ended: None,
        heartbeat=lambda line: None,
        close=lambda: None,
    )
    reducer = LevelReducer(cast(Task, task))
    for uid, lines in told.items():
        reducer.take(str(uid), map(to_line, lines))
    reducer.finish()


def test_a_list_names_whom_others_left_without_a_name(tmp_path: Path) -> None:
    """One of this level or a later one, as on one machine; nothing else of the row changes, nor a
    name that is known."""
    seen = Seen(0, "fans", 1)
    with home_in(tmp_path) as home:
        reduce(
            home,
            {
                7: [seen, Met(2.0, 20, "later"), Met(1.0, 10, None)],
                8: [seen, Met(1.0, 10, None)],
                9: [seen, Met(1.0, 10, "first")],
            },
        )
        before = home.tables.userlist.row(user_key(8))
        assert "user:screen_name" not in before
        reduce(home, {uid: [Seen(1, "fans", 7), Met(3.0, 99, "new")] for uid in (7, 8, 9)})
        rows = home.tables.userlist.rows([user_key(uid) for uid in (7, 8, 9)])
        names = [row["user:screen_name"] for row in rows.values()]
        assert names == ["later", "new", "first"]
        assert rows[user_key(8)] == {**before, "user:screen_name": "new"}
        assert rows[user_key(7)]["user:fans"] == "10"


class Died(Exception):
    """In the place of a `kill -9`."""


def dies(*_: object, **__: object) -> None:
    raise Died


def test_no_more_room_seems_left_than_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a command dies: who comes is counted before the row is there, who is forgotten when
    it is gone, and once however often that is said. Too high a count is put right when it is full.
    """

    def counted(home: Home) -> tuple[int, int]:
        return HELD.get(home.users) or 0, sum(1 for _ in home.tables.userlist.scan())

    def imports_and_dies(*given: Any) -> None:
        import_users(*given)
        raise Died

    with home_in(tmp_path) as home:
        home.users.add_seeds([Found(5, "url"), Found(6, "url")], "run", 1.0)
        levels._import(home)
        assert counted(home) == (2, 2)
        home.users.add_seeds([Found(7, "url")], "run", 2.0)
        with monkeypatch.context() as patch:
            patch.setattr(levels, "import_users", imports_and_dies)
            with pytest.raises(Died):
                levels._import(home)
        levels._import(home)
        assert counted(home) == (3, 3)
        with monkeypatch.context() as patch:
            patch.setattr(forget, "remove_user", dies)
            with pytest.raises(Died):
                forget.forget_users(home.users, home.tables, [5])
        for _ in range(2):
            forget.forget_users(home.users, home.tables, [5])
            assert counted(home) == (2, 2)

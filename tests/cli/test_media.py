"""`media`, from outside: files of a host on loopback, by what stored posts name."""

import json
import os
import re
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.cli.crawls import Crawl, simulated, until
from tests.media.server import Host, Named, crawled, hosting, jpeg, mp4, store
from weibo_crawler.media.naming import PARTS

MB = 1_000_000


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[Crawl, Host]]:
    with crawled(tmp_path) as (crawl, host):
        yield crawl, host


def index(crawl: Crawl, folder: str = "media") -> list[dict[str, Any]]:
    with closing(sqlite3.connect(crawl.folder / folder / "index.db")) as conn:
        conn.row_factory = sqlite3.Row
        return [dict(row) for row in conn.execute("SELECT * FROM media ORDER BY mid, nth")]


def files(crawl: Crawl, folder: str = "media") -> dict[str, bytes]:
    """Those with a name."""
    root = crawl.folder / folder
    found = [path for path in root.rglob("*") if path.is_file() and path.parent.name != PARTS]
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in found
        if not path.name.startswith("index.db")
    }


def states(crawl: Crawl) -> dict[int, str]:
    return {row["mid"]: row["state"] for row in index(crawl)}


def assert_whole(crawl: Crawl) -> None:
    """Every file is one of a row, and as the row says; no part is left."""
    held = {row["file"]: row for row in index(crawl) if row["state"] == "held"}
    there = files(crawl)
    assert held.keys() == there.keys()
    for name, body in there.items():
        row = held[name]
        assert (len(body), sha256(body).hexdigest()) == (row["bytes"], row["sha256"])
        assert (row["part_bytes"], row["part_of"], row["why"]) == (0, "", "")
    assert [*(crawl.folder / f"media/{PARTS}").iterdir()] == []


def test_pictures_and_videos_come_once(world: tuple[Crawl, Host]) -> None:
    """Each file lies below its user and month, in its large form, with a row that says what it is;
    the same command asks for nothing more. A post without any costs no row and no request."""
    crawl, host = world
    for n in (1, 2):
        host.add(f"/large/p{n}.jpg", jpeg(n))
    video = host.add("/v.mp4", mp4(), "video/mp4")
    store(
        crawl.folder,
        Named(6, 101, (f"{host.url}/orj360/p1.jpg", f"{host.url}/large/p2.jpg"), day="2026-01-05"),
        Named(7, 102, video=f"{video}?label=x&Expires=4000000000", day="2025-12-31"),
        *(Named(8, 200 + n) for n in range(50)),
    )
    done = crawl.json("media")
    assert (done["held"], done["named"], done["left"]) == (3, 3, 0)
    rows = index(crawl)
    assert [(r["uid"], r["mid"], r["kind"], r["nth"], r["state"]) for r in rows] == [
        *((6, 101, "picture", 1, "held"), (6, 101, "picture", 2, "held")),
        (7, 102, "video", 1, "held"),
    ]
    assert [r["content_type"] for r in rows] == ["image/jpeg", "image/jpeg", "video/mp4"]
    assert all(row["fetched_at"] for row in rows)
    names = [row["file"] for row in rows]
    assert [Path(name).parts[:2] for name in names] == [*[("6", "2026-01")] * 2, ("7", "2025-12")]
    assert files(crawl)[names[0]] == jpeg(1)
    assert_whole(crawl)
    assert {asked.headers["referer"] for asked in host.asked} == {"https://m.weibo.cn/"}
    assert "iPhone" in host.asked[0].headers["user-agent"]
    assert len(host.asked) == 3
    again = crawl.json("media")
    assert (again["held"], again["asked"], again["in_folder"]) == (0, 0, 3)
    assert len(host.asked) == 3
    said = crawl.run("media").stdout
    assert "0 files came" in said
    assert crawl.run("media", "--quiet").stdout == ""


def test_videos_among_the_pictures_come_too(world: tuple[Crawl, Host]) -> None:
    """Those of live photos and of a post with several videos; one that a post names twice has one
    row."""
    crawl, host = world
    one, other = (host.add(f"/{name}.mp4", mp4(n), "video/mp4") for n, name in ((2, "v"), (3, "w")))
    live = Named(7, 102, videos=(one,), day="2026-02-05")
    several = Named(6, 101, video=one, videos=(one, other), day="2026-01-05")
    store(crawl.folder, several, live)
    assert crawl.json("media", "--pictures")["asked"] == 0
    assert crawl.json("media")["held"] == 3
    rows = index(crawl)
    assert [(r["mid"], r["kind"], r["nth"], r["state"]) for r in rows] == [
        *((101, "video", 1, "held"), (101, "video", 3, "held"), (102, "video", 1, "held"))
    ]
    assert_whole(crawl)


def test_what_is_chosen(world: tuple[Crawl, Host]) -> None:
    """By kind, user and date; at most so many, new ones first, and the next run has the others."""
    crawl, host = world
    urls = [host.add(f"/large/p{n}.jpg", jpeg(n)) for n in range(6)]
    video = host.add("/v.mp4", mp4(), "video/mp4")
    store(
        crawl.folder,
        Named(6, 101, tuple(urls[:3]), day="2026-01-05"),
        Named(6, 102, (urls[3],), video, day="2026-02-05"),
        Named(7, 103, (urls[4],), day="2026-03-05"),
    )
    assert crawl.json("media", "--videos")["held"] == 1
    assert host.paths() == ["/v.mp4"]
    assert crawl.json("media", "--pictures", "--since", "2026-02-05", "--uid", "6")["held"] == 1
    assert crawl.json("media", "--limit", "1", "--uid", "6")["left"] == 2
    assert crawl.json("media", "--uid", "7")["held"] == 1
    assert crawl.json("media")["held"] == 2
    assert len(host.asked) == 6
    assert_whole(crawl)


def test_posts_of_a_user_share_a_file(world: tuple[Crawl, Host]) -> None:
    """Each has its row, also one that is stored later; another user has a file of her own, since
    each can be forgotten alone."""
    crawl, host = world
    url = host.add("/large/p.jpg", jpeg(1))
    store(crawl.folder, Named(6, 101, (url,)), Named(6, 102, (url,)), Named(7, 103, (url,)))
    assert crawl.json("media")["held"] == 2
    store(crawl.folder, Named(6, 104, (url,)))
    assert crawl.json("media")["asked"] == 0
    by_mid = {row["mid"]: row["file"] for row in index(crawl)}
    assert by_mid[101] == by_mid[102] == by_mid[104] != by_mid[103]
    assert len(host.asked) == len(files(crawl)) == 2


def test_only_the_columns_that_are_needed_are_read(
    world: tuple[Crawl, Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a post its `post:more` and when it was written, whatever is chosen."""
    from weibo_crawler.analysis.scan import scan_attached
    from weibo_crawler.store.sqlite.tables import SqliteTables

    crawl, host = world
    store(crawl.folder, Named(6, 101, (f"{host.url}/large/p.jpg",)), Named(6, 102))
    tables = SqliteTables(f"sqlite:///{crawl.folder}/tables.db")
    for which in ({}, {"since": "2026-01-01"}, {"uids": [6]}):
        rows = list(scan_attached(tables, **which))  # type: ignore[arg-type]
        assert len(rows) == 2
        assert {name for row in rows for name in row.cells} == {"post:more", "post:created_at"}
    tables.close()


def test_what_does_not_come_is_told_with_its_reason(world: tuple[Crawl, Host]) -> None:
    """What is gone is not asked for again, what failed is; addresses elsewhere and expired ones
    never are. A redirect is followed at the site's hosts alone."""
    crawl, host = world

    def moved(to: str) -> Any:
        return lambda handler: host.say(handler, 302, {"Location": to, "Content-Length": "0"})

    host.add("/large/good.jpg", jpeg(1))
    page = (b"<!DOCTYPE html><title>login</title>", "text/html")
    with hosting("127.0.0.2") as other:
        host.odd |= {
            "/large/moved.jpg": moved("/large/good.jpg"),
            "/large/away.jpg": moved(f"{other.url}/large/x.jpg"),
            "/large/file.jpg": moved("file:///etc/passwd"),
            "/large/deleted.jpg": moved(f"//{host.url[7:]}/images/default_h_large.gif"),
            "/large/round.jpg": moved("/large/round.jpg"),
            "/large/nowhere.jpg": moved("http://[::1"),
            "/large/page.jpg": lambda handler: host.send(handler, *page),
            "/large/bad.jpg": lambda handler: host.say(handler, 500),
            "/large/hidden.jpg": lambda handler: host.say(handler, 403),
        }
        names = (
            *("good", "moved", "away", "file", "deleted", "round", "page", "bad", "hidden"),
            *("lost", "nowhere"),
        )
        pics = {n: f"{host.url}/large/{name}.jpg" for n, name in enumerate(names, 100)}
        pics |= {113: f"{other.url}/large/x.jpg", 111: "http://10.0.0.7/large/x.jpg"}
        store(crawl.folder, *(Named(mid, mid, (url,)) for mid, url in pics.items()))
        store(crawl.folder, Named(9, 112, video=f"{host.url}/v.mp4?Expires=1623923456"))
        done = crawl.json("media")
        assert states(crawl) == {
            100: "held",
            101: "held",
            102: "elsewhere",
            103: "elsewhere",
            104: "gone",
            105: "failed",
            106: "failed",
            107: "failed",
            108: "refused",
            109: "gone",
            110: "elsewhere",
            111: "elsewhere",
            112: "expired",
            113: "elsewhere",
        }
        assert {state: done[state] for state in ("held", "gone", "refused", "failed")} == {
            "held": 2,
            "gone": 2,
            "refused": 1,
            "failed": 3,
        }
        assert (done["elsewhere"], done["expired"], done["left"]) == (5, 1, 0)
        whys = {row["mid"]: row["why"] for row in index(crawl)}
        assert "text/html" in whys[106]
        assert (whys[108], whys[109]) == ("refused (403)", "404")
        host.asked.clear()
        host.odd["/large/bad.jpg"] = lambda handler: host.send(handler, jpeg(7), "image/jpeg")
        assert crawl.json("media")["held"] == 1
        assert {asked.path for asked in host.asked} == {
            *("/large/away.jpg", "/large/file.jpg", "/large/round.jpg", "/large/page.jpg"),
            *("/large/bad.jpg", "/large/hidden.jpg"),
            "/large/nowhere.jpg",
        }
        assert other.asked == []
        said = crawl.run("media").stdout
    assert "elsewhere" not in said
    assert "not at hosts of the site's" in said
    assert_whole(crawl)


def test_what_failed_before_is_no_evidence(world: tuple[Crawl, Host]) -> None:
    """Where no file of those that are asked for the first time can be had the exit code is 4; those
    that failed before are told, and asked for after the new ones."""
    crawl, host = world
    for n in range(20):
        host.odd[f"/large/no{n}.jpg"] = lambda handler: host.say(handler, 403)
    bad = (f"{host.url}/large/no{n}.jpg" for n in range(20))
    store(crawl.folder, Named(6, 101, (next(bad),)))
    assert "no file could be had" in crawl.run("media", code=4).stderr
    assert crawl.json("media")["refused"] == 1
    for n in range(1, 20):
        store(crawl.folder, Named(6, 101 + n, (next(bad),)))
        crawl.ended("media", "--limit", "1")
    store(crawl.folder, Named(6, 99, (host.add("/large/p.jpg", jpeg(1)),)))
    done = crawl.json("media")
    assert (done["held"], done["refused"]) == (1, 20)


@pytest.mark.parametrize(("status", "state"), [(403, "refused"), (429, "refused"), (500, "failed")])
def test_a_host_that_refuses_all_ends_the_run(
    world: tuple[Crawl, Host], status: int, state: str
) -> None:
    """With exit code 4, before all were asked for; nothing is gone, and figures are given."""
    crawl, host = world
    urls = [f"{host.url}/large/p{n}.jpg" for n in range(200)]
    host.odd |= {f"/large/p{n}.jpg": partial(host.say, status=status) for n in range(200)}
    store(crawl.folder, *(Named(6, n, (url,)) for n, url in enumerate(urls)))
    done = crawl.json_of(4, "media")
    assert re.search(rf"none came \(.*{status}", done["error"])
    assert 12 <= done[state] < 100
    assert set(states(crawl).values()) == {state, "wanted"}
    host.odd.clear()
    for n in range(200):
        host.add(f"/large/p{n}.jpg", jpeg(n))
    assert crawl.json("media")["held"] == 200
    assert_whole(crawl)


def test_a_host_that_has_nothing_any_more_makes_nothing_gone(world: tuple[Crawl, Host]) -> None:
    """Law 4: a host that says of every file that it is not there has told nothing of any; they are
    asked for again, and come. One that shows what came before has told of each."""
    crawl, host = world
    names = [host.url + f"/large/p{n}.jpg" for n in range(40)]
    store(crawl.folder, *(Named(6 + n % 3, 101 + n, (name,)) for n, name in enumerate(names[:5])))
    assert "no file could be had" in crawl.run("media", code=4).stderr
    assert {*states(crawl).values()} == {"failed"}
    for n in range(4):
        host.add(f"/large/p{n}.jpg", jpeg(n))
    done = crawl.json("media")
    assert (done["held"], done["gone"]) == (4, 1)
    there, host.files = host.files, {}
    store(crawl.folder, *(Named(6, 200 + n, (name,)) for n, name in enumerate(names[5:])))
    host.asked.clear()
    assert "none is taken for gone" in crawl.run("media", code=4).stderr
    assert sorted({*states(crawl).values()}) == ["failed", "gone", "held"]
    assert sum(state == "gone" for state in states(crawl).values()) == 1
    host.files = there
    assert crawl.json("media")["gone"] == 35


def test_what_is_no_picture_is_asked_for_twice(world: tuple[Crawl, Host]) -> None:
    """Law 16: by another egress where there is one; then it is no picture, until the next run."""
    crawl, host = world
    page = host.add("/large/p1.jpg", b"<html>not here</html>", "text/html")
    store(
        crawl.folder, Named(6, 101, (page,)), Named(6, 102, (host.add("/large/p2.jpg", jpeg(2)),))
    )
    assert crawl.json("media")["failed"] == 1
    assert host.paths() == ["/large/p1.jpg", "/large/p1.jpg", "/large/p2.jpg"]


def test_a_host_that_never_had_anything_is_not_asked_for_ever(
    world: tuple[Crawl, Host],
) -> None:
    """Nobody knows then whether it is the host or whoever has deleted all of them."""
    crawl, host = world
    names = [host.url + f"/large/p{n}.jpg" for n in range(400)]
    store(crawl.folder, *(Named(6, 101 + n, (name,)) for n, name in enumerate(names)))
    assert "none is taken for gone" in crawl.run("media", code=4).stderr
    assert len(host.asked) < 250
    assert "gone" not in states(crawl).values()


def test_a_cut_file_goes_on_where_it_was(world: tuple[Crawl, Host]) -> None:
    """By Range, where the file is still the same; else it begins again. It has no name before it
    is whole, by the length that was announced."""
    crawl, host = world
    first, second = mp4(3 * MB), mp4(4 * MB)[::-1]
    second = mp4(100)[:12] + second
    url = host.add("/v.mp4", first, "video/mp4")
    store(crawl.folder, Named(6, 101, video=url))
    host.odd["/v.mp4"] = lambda handler: host.send(handler, first, "video/mp4", stop=MB)
    done = crawl.json_of(4, "media", WEIBO_FETCH__ATTEMPTS="1")
    assert done["failed"] == 1
    assert files(crawl) == {}
    del host.odd["/v.mp4"]
    assert crawl.json("media")["held"] == 1
    ranges = [asked.headers.get("range") for asked in host.asked]
    assert ranges[0] is None
    assert 0 < int((ranges[1] or "").removeprefix("bytes=").rstrip("-")) <= MB
    assert [*files(crawl).values()] == [first]
    (crawl.folder / "media" / index(crawl)[0]["file"]).unlink()
    crawl.run("media", "--check", code=5)
    host.odd["/v.mp4"] = lambda handler: host.send(handler, first, "video/mp4", stop=MB)
    crawl.run("media", code=4, WEIBO_FETCH__ATTEMPTS="1")
    host.odd.clear()
    host.add("/v.mp4", second, "video/mp4")
    assert crawl.json("media")["held"] == 1
    assert [*files(crawl).values()] == [second]
    assert_whole(crawl)


@pytest.mark.parametrize("is_ranged", [True, False])
def test_an_attempt_that_is_cut_is_followed_by_another(
    world: tuple[Crawl, Host], is_ranged: bool
) -> None:
    """In the same run, also where the server knows no ranges."""
    crawl, host = world
    host.is_ranged, body, cuts = is_ranged, mp4(MB), iter([200_000])

    def cut(handler: Any) -> None:
        host.send(handler, body, "video/mp4", stop=next(cuts, None))

    host.odd["/v.mp4"] = cut
    store(crawl.folder, Named(6, 101, video=f"{host.url}/v.mp4"))
    assert crawl.json("media")["held"] == 1
    assert [*files(crawl).values()] == [body]
    assert_whole(crawl)


def test_a_file_that_is_too_large_is_left_out(world: tuple[Crawl, Host]) -> None:
    """Whether its length is announced or not; it is asked for again when more is allowed."""
    crawl, host = world
    body = mp4(2 * MB)
    store(crawl.folder, Named(6, 101, video=host.add("/v.mp4", body, "video/mp4")))
    store(crawl.folder, Named(6, 102, video=f"{host.url}/w.mp4"))
    host.odd["/w.mp4"] = lambda handler: host.say(handler, 200, {"Connection": "close"}, body)
    small = {"WEIBO_MEDIA__MAX_FILE_BYTES": "100_000".replace("_", "")}
    assert crawl.json("media", **small)["too_large"] == 2
    assert len(host.asked) == 2
    assert crawl.json("media", **small)["too_large"] == 2
    assert len(host.asked) == 2
    assert [*(crawl.folder / f"media/{PARTS}").iterdir()] == []
    assert crawl.json("media")["held"] == 2
    assert_whole(crawl)


@pytest.mark.parametrize(
    ("status", "allowed", "state"), [(404, 10 * MB, "gone"), (200, 100_000, "too_large")]
)
def test_what_is_not_to_come_any_more_leaves_no_part(
    world: tuple[Crawl, Host], status: int, allowed: int, state: str
) -> None:
    """Of a file that was begun, and is gone or over a lower limit then."""
    crawl, host = world
    body = mp4(2 * MB)
    store(crawl.folder, Named(6, 100, (host.add("/large/p1.jpg", jpeg(1)),)))  # it is shown still
    store(crawl.folder, Named(6, 101, video=host.add("/v.mp4", body, "video/mp4")))
    host.odd["/v.mp4"] = lambda handler: host.send(handler, body, "video/mp4", stop=MB)
    assert crawl.json("media")["failed"] == 1
    assert [*(crawl.folder / f"media/{PARTS}").iterdir()] != []
    host.odd.clear()
    if status != 200:
        host.odd["/v.mp4"] = partial(host.say, status=status)
    assert crawl.json("media", WEIBO_MEDIA__MAX_FILE_BYTES=str(allowed))[state] == 1
    assert [*(crawl.folder / f"media/{PARTS}").iterdir()] == []


def slowly(host: Host, body: bytes, until_byte: int, go_on: Event) -> Any:
    """Sends the file, and waits in its middle."""

    def answer(handler: Any) -> None:
        write = handler.wfile.write

        def parts(data: bytes) -> None:
            write(data[:until_byte])
            handler.wfile.flush()
            go_on.wait(120)
            write(data[until_byte:])

        handler.wfile.write = lambda data: (parts if len(data) > until_byte else write)(data)
        host.send(handler, body, "video/mp4")

    return answer


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_goes_on(world: tuple[Crawl, Host], end: signal.Signals) -> None:
    """In the middle of a large file: no half file has a name, the same command asks for nothing
    that it has, and for the large one from where it is safe. Signals end it cleanly."""
    crawl, host = world
    body, go_on = mp4(20 * MB), Event()
    urls = [host.add(f"/large/p{n}.jpg", jpeg(n)) for n in range(5)]
    host.add("/v.mp4", body, "video/mp4")
    store(crawl.folder, Named(6, 101, tuple(urls)), Named(6, 102, video=f"{host.url}/v.mp4"))
    host.odd["/v.mp4"] = slowly(host, body, 18 * MB, go_on)

    def is_deep() -> bool:
        try:
            rows = index(crawl)
        except sqlite3.OperationalError:  # it is not there yet
            return False
        is_safe = any(row["part_bytes"] > 16 * MB for row in rows)
        return is_safe and sum(row["state"] == "held" for row in rows) == 5

    running = crawl.start("media")
    until(crawl, running, is_deep)
    os.kill(running.pid, end)
    code = running.wait(60)
    go_on.set()
    if end is signal.SIGKILL:
        assert code == -signal.SIGKILL
    else:
        assert code == 130
        assert "the same command goes on" in crawl.said(running)
    assert len(files(crawl)) == 5
    host.asked.clear()
    host.odd.clear()
    done = crawl.json("media")
    assert (done["held"], done["in_folder"]) == (1, 6)
    (asked,) = host.asked
    assert int(asked.headers["range"].removeprefix("bytes=").rstrip("-")) > 16 * MB
    assert_whole(crawl)


def test_a_full_disk_is_told(world: tuple[Crawl, Host]) -> None:
    """Exit code 5, no half file, and the same command goes on."""
    crawl, host = world
    store(crawl.folder, Named(6, 101, video=host.add("/v.mp4", mp4(6 * MB), "video/mp4")))
    program = " ".join(crawl.command("media"))
    done = crawl.shell(f"cd {crawl.folder}; ulimit -f 3000; trap '' XFSZ; exec {program}")
    assert done.returncode == 5, done.stderr
    assert "no room to write" in done.stderr
    assert files(crawl) == {}
    assert crawl.json("media")["held"] == 1
    assert_whole(crawl)


def test_check_reads_all_files_anew(world: tuple[Crawl, Host]) -> None:
    """What is missing or has changed is told, and asked for again by the next run; else all is
    well."""
    crawl, host = world
    urls = [host.add(f"/large/p{n}.jpg", jpeg(n)) for n in range(4)]
    store(crawl.folder, Named(6, 101, tuple(urls)))
    crawl.run("media", "-o", "pictures")
    assert "4 files" in crawl.run("media", "-o", "pictures", "--check").stdout
    gone, cut, changed, _ = [crawl.folder / "pictures" / name for name in files(crawl, "pictures")]
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:-1])
    changed.write_bytes(changed.read_bytes()[:-1] + b"x")
    done = crawl.json_of(5, "media", "-o", "pictures", "--check")
    assert sorted(one.rpartition(": ")[2] for one in done["wrong"]) == [
        *("changed", "changed", "missing")
    ]
    assert crawl.json("media", "-o", "pictures")["held"] == 3
    assert crawl.json("media", "-o", "pictures", "--check")["wrong"] == []


def test_a_plan_asks_for_nothing(world: tuple[Crawl, Host]) -> None:
    """It makes no folder, changes no index, and counts what the run would ask for."""
    crawl, host = world
    urls = [host.add(f"/large/p{n}.jpg", jpeg(n)) for n in range(3)]
    away = Named(
        7, 102, ("http://elsewhere.example/large/a.jpg",), f"{host.url}/v.mp4?Expires=1623923456"
    )
    store(crawl.folder, Named(6, 101, tuple(urls)), away)
    plan = crawl.json("media", "--plan")
    assert (plan["pictures"], plan["videos"], plan["expired"], plan["elsewhere"]) == (3, 0, 1, 1)
    assert plan["bytes"] is None
    assert not (crawl.folder / "media").exists()
    crawl.run("media", "--limit", "1")
    before = index(crawl)
    plan = crawl.json("media", "--plan")
    assert (plan["pictures"], plan["bytes"]) == (2, 600)
    assert index(crawl) == before
    assert len(host.asked) == 1
    said = crawl.run("media", "--plan", WEIBO_MEDIA__REQUESTS_PER_SECOND="0.5").stdout
    assert "2 pictures and 0 videos" in said
    assert "4.0 s" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-o .", "other things"),
        ("-o users.db", "is a file"),
        ("-o conf", "other things"),
        ("-o conf/crawler.toml", "is a file"),
        ("--uid abc", "no uid"),
        ("--since yesterday", "--since"),
        ("--limit 0", "--limit"),
        ("--check", "no pictures and videos"),
        ("--pictures --videos", "not allowed with"),
    ],
)
def test_slips(world: tuple[Crawl, Host], words: str, said: str) -> None:
    """Nothing is written where it does not belong."""
    crawl, _ = world
    before = sorted(crawl.folder.rglob("*"))
    assert said in crawl.run("media", *words.split(), code=2).stderr
    after = [path for path in sorted(crawl.folder.rglob("*")) if "media" not in path.parts]
    assert {*after} - {*before} <= {crawl.folder / "users.db-wal", crawl.folder / "users.db-shm"}


def test_a_folder_that_was_only_begun_is_taken(world: tuple[Crawl, Host]) -> None:
    """A kill may leave no index, or an empty one."""
    crawl, host = world
    store(crawl.folder, Named(6, 101, (host.add("/large/p.jpg", jpeg(1)),)))
    (crawl.folder / "media" / PARTS).mkdir(parents=True)
    assert "0 files" in crawl.run("media", "--check").stdout
    (crawl.folder / "media/index.db").unlink()
    (crawl.folder / "media/index.db").touch(0o600)
    assert crawl.json("media")["held"] == 1
    assert_whole(crawl)


def test_files_go_by_the_egresses_of_the_settings(world: tuple[Crawl, Host]) -> None:
    """Here a proxy, and nothing by the direct way; a dead one is passed over."""
    crawl, host = world
    url = f"{host.url}/large/p.jpg"
    store(crawl.folder, Named(6, 101, (url,)))
    with hosting("127.0.0.2") as proxy:
        proxy.odd[url] = lambda handler: proxy.send(handler, jpeg(1), "image/jpeg")
        lines = f"http://user:geheim@{proxy.url[7:]}\nhttp://127.0.0.2:9\n"
        (crawl.folder / "proxies.txt").write_text(lines)
        done = crawl.json("media", WEIBO_EGRESS__PROXIES_FILE="proxies.txt")
        assert done["held"] == 1
        assert proxy.paths() == [url]
    assert host.asked == []
    assert "geheim" not in (crawl.folder / "media/index.db").read_bytes().decode("latin-1")


def test_a_proxy_that_breaks_files_is_not_asked_for_long(world: tuple[Crawl, Host]) -> None:
    """One that answers with pages of its own, or refuses its password: another brings the file."""
    crawl, host = world
    urls = [f"{host.url}/large/p{n}.jpg" for n in range(60)]
    store(crawl.folder, *(Named(6, n, (url,)) for n, url in enumerate(urls)))
    with (
        hosting("127.0.0.2") as good,
        hosting("127.0.0.3") as lying,
        hosting("127.0.0.4") as closed,
    ):
        for n, url in enumerate(urls):
            good.odd[url] = partial(good.send, body=jpeg(n), content_type="image/jpeg")
            lying.odd[url] = lambda handler: lying.send(handler, b"<html>pay here", "text/html")
            closed.odd[url] = lambda handler: closed.say(handler, 407)
        lines = [f"http://{each.url[7:]}" for each in (good, lying, closed)]
        (crawl.folder / "proxies.txt").write_text("\n".join(lines))
        done = crawl.json(
            "media", WEIBO_EGRESS__PROXIES_FILE="proxies.txt", WEIBO_FETCH__ATTEMPTS="6"
        )
        assert done["held"] == 60
        assert len(lying.asked) < 60
        assert len(closed.asked) < 60
    assert_whole(crawl)


@pytest.mark.parametrize("has_length", [True, False])
def test_a_proxy_that_cuts_files_and_does_not_say_so(
    world: tuple[Crawl, Host], has_length: bool
) -> None:
    """Their forms tell that they end early; another one brings them whole. A file that lacks its
    end wherever it comes from is as it should be."""
    crawl, host = world
    urls = [f"{host.url}/large/p{n}.jpg" for n in range(30)]
    store(crawl.folder, *(Named(6, n, (url,)) for n, url in enumerate(urls)))
    with hosting("127.0.0.2") as good, hosting("127.0.0.3") as cutting:
        for n, url in enumerate(urls):
            body = jpeg(n) if n else jpeg(n)[:-2]
            head = {"Content-Length": "200"} if has_length else {}
            head["Content-Type"] = "image/jpeg"
            good.odd[url] = partial(good.send, body=body, content_type="image/jpeg")
            cutting.odd[url] = partial(cutting.say, status=200, headers=head, body=body[:200])
        lines = [f"http://{each.url[7:]}" for each in (good, cutting)]
        (crawl.folder / "proxies.txt").write_text("\n".join(lines))
        done = crawl.json(
            "media", WEIBO_EGRESS__PROXIES_FILE="proxies.txt", WEIBO_FETCH__ATTEMPTS="9"
        )
        assert done["held"] == 30
        assert len(cutting.asked) < 30
    assert sorted(len(body) for body in files(crawl).values()) == [298, *[300] * 29]


def test_no_store_no_folder(world: tuple[Crawl, Host]) -> None:
    crawl, _ = world
    crawl.run("media", code=5, WEIBO_STORE__USERS="sqlite:///none.db")
    assert not (crawl.folder / "media").exists()


def test_two_processes_do_not_write_into_one_folder(world: tuple[Crawl, Host]) -> None:
    crawl, host = world
    go_on = Event()
    body = mp4(MB)
    host.odd["/v.mp4"] = slowly(host, body, 1000, go_on)
    store(crawl.folder, Named(6, 101, video=f"{host.url}/v.mp4"))
    running = crawl.start("media")
    until(crawl, running, lambda: bool(host.asked))
    assert "another process writes" in crawl.run("media", code=2).stderr
    assert "`media` is at work" in crawl.run("forget", "--dry-run", "6").stdout
    left = crawl.run("forget", "--yes", "6", code=5)  # what is asked for is not done yet
    assert "`media` is at work" in left.stdout
    go_on.set()
    assert running.wait(60) == 0, crawl.said(running)
    crawl.run("forget", "--yes", "6")


def test_forget_deletes_the_files_of_a_person(world: tuple[Crawl, Host]) -> None:
    """Wherever a run put them, with their rows and what is half there; of nobody else's anything.
    A dry run counts them. Folders that are not there any more are named."""
    crawl, host = world
    urls = [host.add(f"/large/p{n}.jpg", jpeg(n)) for n in range(3)]
    video = host.add("/v.mp4", mp4(MB), "video/mp4")
    store(crawl.folder, Named(6, 101, (urls[0], urls[1])), Named(68, 103, (urls[0], urls[2])))
    store(crawl.folder, Named(6, 102, video=video))
    host.odd["/v.mp4"] = lambda handler: host.send(handler, mp4(MB), "video/mp4", stop=500_000)
    crawl.run("media")
    crawl.run("media", "-o", "other", "--pictures")
    assert [*(crawl.folder / f"media/{PARTS}").iterdir()] != []
    assert crawl.json("forget", "--dry-run", "6")["media_files"] == 4
    assert len(files(crawl)) == 4
    done = crawl.json("forget", "--yes", "6")
    assert done["media_files"] == 4
    for folder in ("media", "other"):
        assert {Path(name).parts[0] for name in files(crawl, folder)} == {"68"}
        assert {row["uid"] for row in index(crawl, folder)} == {68}
        assert [*(crawl.folder / folder / PARTS).iterdir()] == []
    database = (crawl.folder / "media/index.db").read_bytes()
    assert urls[1].encode() not in database
    assert urls[2].encode() in database
    host.asked.clear()
    crawl.run("media")
    assert host.asked == []
    assert "2 files in" in crawl.run("media", "--check").stdout
    (crawl.folder / "other").rename(crawl.folder / "moved")
    said = crawl.run("forget", "--yes", "68").stdout
    assert "other are not there any more" in said
    assert files(crawl) == {}
    crawl.run("media", "-o", "moved")
    assert crawl.json("forget", "--yes", "68")["media_files"] == 2


def test_egresses_are_leased_apart_from_those_of_a_crawl(world: tuple[Crawl, Host]) -> None:
    """Under a pace a run of `media` leases its egresses by other names than a crawl."""
    crawl, host = world
    urls = [host.add(f"/large/p{n}.jpg", jpeg(n)) for n in range(4)]
    store(crawl.folder, Named(6, 101, tuple(urls)))
    paced = {"WEIBO_PACE__REQUESTS_PER_SECOND": "0.1", "WEIBO_MEDIA__REQUESTS_PER_SECOND": "50"}
    assert crawl.json("media", **paced)["held"] == 4
    with closing(sqlite3.connect(crawl.folder / "users.db")) as conn:
        names = [name for (name,) in conn.execute("SELECT name FROM egresses")]
        assert [name.startswith("media:direct@") for name in names] == [True]
        assert conn.execute("SELECT count(*) FROM egress_holders").fetchone() == (0,)


def test_a_simulated_crawl_asks_no_real_host(tmp_path: Path) -> None:
    """Its posts name some: they are told, and left out."""
    with simulated(tmp_path, users=30) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("import")
        crawl.run("posts", "--runner", "inline")
        done = crawl.json("media", WEIBO_MEDIA__REQUESTS_PER_SECOND="0")
        assert done["elsewhere"] == done["named"] > 0
        assert done["asked"] == 0
        posts = crawl.scan("posts", "--columns", "pics,page_info")
        named = [(post["pics"], post["page_info"]) for post in posts]
        assert len(index(crawl)) == sum(
            len(pics or ()) + bool(info and info["type"] == "video" and info["stream"])
            for pics, info in named
        )


def test_no_pace_at_all_is_for_loopback(world: tuple[Crawl, Host]) -> None:
    crawl, _ = world
    live = {"WEIBO_SITE__BASE_URL": "https://m.weibo.cn", "WEIBO_PACE__REQUESTS_PER_SECOND": "1"}
    said = crawl.run("media", "--plan", code=3, **live).stderr
    assert "media.requests_per_second: 0 (no limit)" in said


def test_the_json_of_a_run_is_one_line(world: tuple[Crawl, Host]) -> None:
    """Its figures are those that docs name."""
    crawl, _ = world
    (line,) = crawl.run("media", "--json").stdout.splitlines()
    assert json.loads(line).keys() == {
        *("folder", "named", "asked", "bytes", "left", "in_folder", "seconds"),
        *("held", "gone", "refused", "failed", "too_large", "expired", "elsewhere"),
    }

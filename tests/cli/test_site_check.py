"""`doctor --site` from outside: ten pages, what they say, and nothing of them in a store."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.cli.crawls import Crawl, Truth, simulated
from tests.cli.test_doctor import state
from tests.ports import free_port


def _looked(crawl: Crawl, *arguments: str, code: int = 0) -> dict[str, Any]:
    return crawl.json_of(code, "doctor", "--site", *arguments)


def _poster(truth: Truth) -> str:
    """A kept user with posts enough for two pages, and fans."""
    posts = {str(uid): len(posts) for uid, posts in truth.data["posts"].items()}
    return next(uid for uid in map(str, truth.depths) if posts.get(uid, 0) > 12)


def _texts(said: dict[str, Any]) -> dict[str, str]:
    return {line["name"]: line["text"] for line in said["checks"]}


@pytest.mark.parametrize(("guests", "depth"), [("open", "later pages"), ("2026", "only page 1")])
def test_what_guests_are_shown(tmp_path: Path, guests: str, depth: str) -> None:
    """Walled lists and later pages are no fault (exit code 0); what that means is said. As many
    requests as pages, and a few where walls are confirmed; no store is made."""
    with simulated(tmp_path, guests=guests, mean_posts=30.0) as (crawl, truth):
        said = _looked(crawl, "--uid", _poster(truth))
        shown = crawl.run("doctor", "--site", "--uid", _poster(truth)).stdout
        assert state(crawl.folder) == {}
        served = len(truth.served())
    assert said["ok"]
    assert said["site"]["uid"] == int(_poster(truth))
    pages = {page["name"]: page["verdict"] for page in said["site"]["pages"]}
    assert pages["profile"] == pages["posts 1"] == "ok"
    assert pages["posts 2"] == ("login_wall" if guests == "2026" else "ok")
    assert depth in said["site"]["crawl"]["pages"]
    assert said["site"]["requests"] <= 16
    assert served <= 32
    assert f"timelines {depth}" in shown
    assert "a harvest goes by fans" in shown


def test_a_store_is_as_it_was_and_tells_whom_to_ask(tmp_path: Path) -> None:
    """Without --uid it is who has most fans; each file of the crawl stays, byte for byte."""
    with simulated(tmp_path) as (crawl, truth):
        crawl.run("seed", truth.seeds[1])
        crawl.run("harvest")
        before = state(crawl.folder)
        said = crawl.json_of(0, "doctor", "--site")
        assert state(crawl.folder) == before
        users = crawl.scan("users")
    assert said["site"]["uid"] == max(users, key=lambda user: user["fans"] or 0)["id"]


def test_what_is_said_of_the_session(tmp_path: Path) -> None:
    """Under a pace one goes on that an earlier command has opened; a site without a page for it
    needs none."""
    with simulated(tmp_path, guests="open") as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        wanted = ("doctor", "--site", "--uid", _poster(truth))
        paced = {"WEIBO_PACE__REQUESTS_PER_SECOND": "50"}
        said = [crawl.json_of(0, *wanted, **paced) for _ in range(2)]
        crawl.env["WEIBO_SITE__VISITOR_URL"] = ""
        said.append(crawl.json_of(0, *wanted))
    assert [_texts(one)["session"] for one in said] == ["opened", "held", "not needed"]


def test_nobody_answers_where_sessions_are_opened(tmp_path: Path) -> None:
    """That is no refusal of the site; what the network said is told."""
    with simulated(tmp_path) as (crawl, truth):
        crawl.env["WEIBO_SITE__VISITOR_URL"] = f"http://127.0.0.1:{free_port()}/genvisitor2"
        done = crawl.run("doctor", "--site", "--uid", _poster(truth), code=4)
    assert "wrong session         unanswered: no answer came" in done.stdout
    assert "gives no visitor session: no connection: Connection refused (direct)" in done.stderr


@pytest.mark.parametrize("is_walled", [False, True])
def test_a_topic_is_asked_for_where_the_crawl_reads_some(tmp_path: Path, is_walled: bool) -> None:
    """One page of one topic; that guests are not shown it is no fault. What is recorded names other
    words."""
    topics = ("#河边的信#", "#纸船#")
    knobs = {"truth_topics": topics, "topics_walled": is_walled, "guests": "2023"}
    with simulated(tmp_path, **knobs) as (crawl, truth):
        crawl.run("seed", truth.seeds[1], *topics)
        said = crawl.json_of(0, "doctor", "--site", "--record", "fixtures")
        asked = [line for line in truth.served() if "100103" in line.request]
    pages = {page["name"]: page["verdict"] for page in said["site"]["pages"]}
    assert pages["topic"] == ("login_wall" if is_walled else "ok")
    assert len({line.request for line in asked}) == 1
    if not is_walled:
        people = len(truth.data["topics"][topics[0]])
        assert _texts(said)["topic"] == f"ok: {people} people"
    recorded = "".join(
        unquote(path.read_text("utf-8")) for path in (crawl.folder / "fixtures").iterdir()
    )
    assert "100103type=1&q=#" in recorded
    assert "河边的信" not in recorded


@pytest.mark.parametrize(
    ("fault", "name", "verdict"),
    [
        ("captcha", "profile", "captcha"),
        ("throttled_418", "profile", "throttled"),
        ("drifted:permanent", "posts 1", "drifted: $.data"),
        ("status_502", "posts 1", "server_trouble"),
    ],
)
def test_what_is_wrong(tmp_path: Path, fault: str, name: str, verdict: str) -> None:
    """Exit code 4; the page and its verdict are named, and after a refusal nothing more is asked
    for."""
    with simulated(tmp_path, faults=f"{fault}=1", max_consecutive=99) as (crawl, truth):
        said = _looked(crawl, "--uid", _poster(truth), code=4)
    assert _texts(said)[name].startswith(verdict)
    if verdict in ("captcha", "throttled"):
        assert _texts(said)["fans"] == "not asked for: profile was refused"
        assert said["site"]["requests"] <= 8


def test_who_is_nobody(tmp_path: Path) -> None:
    """A uid that is not there says nothing of the site: the line says what to do."""
    with simulated(tmp_path) as (crawl, _):
        texts = _texts(_looked(crawl, "--uid", "77", code=4))
    assert "--uid" in texts["profile"]
    assert "--uid" in texts["posts 1"]


def test_a_recording(tmp_path: Path) -> None:
    """A new folder of answers in which nobody of the site is named."""
    with simulated(tmp_path, guests="open") as (crawl, truth):
        crawl.run("doctor", "--site", "--uid", _poster(truth), "--record", "sent")
        crawl.run("doctor", "--site", "--uid", _poster(truth), "--record", "sent", code=2)
        crawl.run("doctor", "--record", "other", code=2)
        assert not (crawl.folder / "other").exists()
    check_recording(crawl.folder / "sent", _private(truth))


def _private(truth: Truth) -> set[str]:
    names = {str(user["screen_name"]) for user in truth.data["users"]}
    ids = {str(user["uid"]) for user in truth.data["users"]}
    posts = [post for posts in truth.data["posts"].values() for post in posts]
    return names | ids | {post["mid"] for post in posts} | {post["text"] for post in posts}


def check_recording(folder: Path, private: set[str]) -> None:
    """None of these texts of five letters or more stands in it; all its answers are listed."""
    said = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    listed = {one["file"] for one in json.loads(said["answers.json"])}
    assert listed == said.keys() - {"answers.json"}
    assert len(listed) >= 8
    long = {text for text in private if len(text) >= 5}
    assert len(long) > 100
    for name, text in said.items():
        assert [one for one in long if one in text] == [], name

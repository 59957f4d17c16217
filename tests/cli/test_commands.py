"""The command line from outside: bad input, exit codes, help, and that everything is documented."""

import errno
import json
import os
import re
import socket
import sqlite3
import subprocess
import tomllib
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from tests.cli.crawls import Crawl
from tests.media.server import Named, store
from tests.ports import free_port
from tests.webserver import answering
from weibo_crawler import config
from weibo_crawler.cli.analysts import origin_of
from weibo_crawler.cli.main import build_parser, words_of
from weibo_crawler.cli.seed import read_seeds
from weibo_crawler.errors import BadConfig, BadUsage
from weibo_crawler.home import Home
from weibo_crawler.outputs import keep_inputs
from weibo_crawler.sites import open_site

ROOT = Path(__file__).parents[2]


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def commands() -> dict[str, str]:
    """Each command with its help text."""
    actions = build_parser()._subparsers._group_actions[0]  # type: ignore[union-attr]
    return {name: sub.format_help() for name, sub in actions.choices.items()}  # type: ignore[union-attr]


# -- documented


@pytest.mark.parametrize("name", sorted(commands()))
def test_each_command_has_help_and_is_documented(name: str) -> None:
    """`--help` says what it does; README or CHANGELOG names it."""
    assert len(commands()[name]) > 100
    docs = (ROOT / "README.md").read_text("utf-8") + (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"weibo-crawler {name}\b|`{name}\b", docs)


def test_the_settings_file_holds_every_default() -> None:
    """conf/crawler.toml as it ships is the defaults, and names every setting."""
    text = (ROOT / "conf/crawler.toml").read_text("utf-8")
    there = text.replace("sqlite:///../", "sqlite:///")  # from the folder above, as without a file
    shipped = msgspec.convert(tomllib.loads(there), config.Settings)
    for section in config.Settings.__struct_fields__:
        part = text.partition(f"[{section}]")[2].partition("\n[")[0]
        of_file, default = (getattr(one, section) for one in (shipped, config.Settings()))
        for key in default.__struct_fields__:
            assert re.search(rf"^(# )?{key} = ", part, re.MULTILINE), f"{section}.{key}"
            assert getattr(of_file, key) == getattr(default, key), f"{section}.{key}"


def test_help_shows_exit_codes(crawl: Crawl) -> None:
    """A user finds what an exit code means."""
    assert "130" in crawl.run("--help").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("harvets", "weibo-crawler: COMMAND 'harvets' is not known; did you mean harvest?"),
        ("scan post", "weibo-crawler scan: 'post' is not known; did you mean posts?"),
        ("scan posts --formt csv", "weibo-crawler scan: there is no argument --formt; did you"),
        ("scan posts extra", "weibo-crawler scan: there is no argument extra; see"),
        ("import --via copy", "--via 'copy' is not known; give builtin or sqoop; see"),
        ("seed", "the following arguments are required: FILE|UID; see weibo-crawler seed --help"),
    ],
)
def test_a_slip_of_the_keyboard_gets_one_line(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and one line that names the command, the word, and what it may have meant."""
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(words.split())
    line = capsys.readouterr().err
    assert ended.value.code == 2
    assert said in line
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    ["--config {} status --json", "--config={} --json status", "--json status --config {}"],
)
def test_options_of_all_commands_may_stand_before_the_command(crawl: Crawl, words: str) -> None:
    """A user who writes `--config FILE` first is understood."""
    settings = crawl.folder / "mine.toml"
    settings.write_text('[store]\nusers = "sqlite:///mine.db"\n')
    env = {name: value for name, value in crawl.env.items() if name != "WEIBO_STORE__USERS"}
    crawl.env = env
    crawl.run(*f"--config {settings} seed 1234567890".split())
    assert json.loads(crawl.run(*words.format(settings).split()).stdout.splitlines()[-1])
    assert (crawl.folder / "mine.db").exists()


# -- settings


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"WEIBO_PACE__REQUESTS_PER_SECOND": "-1"}, "pace.requests_per_second"),
        ({"WEIBO_PACE__REQUESTS_PER_SECOND": "fast"}, "pace.requests_per_second"),
        ({"WEIBO_HARVEST__MIN_FAN": "3"}, "did you mean harvest.min_fans"),
        ({"WEIBO_HARVEST__EDGES": "friends"}, "harvest.edges"),
        ({"WEIBO_SITE__BASE_URL": "https://m.weibo.cn"}, "pace.requests_per_second"),
        ({"WEIBO_SITE__BASE_URL": "m.weibo.cn"}, "site.base_url"),
        ({"WEIBO_SITE__NAME": "nowhere"}, "site.name: there is no site nowhere; known are: weibo"),
        ({"WEIBO_SITE__NAME": "../weibo"}, "site.name"),
        ({"WEIBO_EGRESS__PROXIES_FILE": "nowhere.txt"}, "nowhere.txt"),
        ({"WEIBO_STORE__USERS": "users.db"}, "store.users"),
        ({"WEIBO_STORE__TABLES": "redis://x"}, "store.tables"),
        ({"WEIBO_FETCH__TRANSPORT": "carrier-pigeon"}, "fetch.transport"),
        ({"WEIBO_CONFIG": "nowhere.toml"}, "nowhere.toml"),
        ({"WEIBO_PACE__REQUESTS_PER_SECOND": "inf"}, "pace.requests_per_second"),
        ({"WEIBO_SITE__BASE_URL": "http://[::1"}, "site.base_url"),
        ({"WEIBO_SITE__BASE_URL": "http://127.0.0.1:8800/?a=b"}, "site.base_url"),
        ({"WEIBO_SITE__BASE_URL": "http://127.0.0.1:88 00"}, "site.base_url"),
        ({"WEIBO_SITE__BASE_URL": "http://127.0.0.1:99999"}, "site.base_url"),
        ({"WEIBO_SITE__VISITOR_URL": "https://visitor.example/x"}, "pace.requests_per_second"),
        ({"WEIBO_SITE__VISITOR_URL": "x"}, "site.visitor_url"),
        ({"WEIBO_SITE__USER_AGENT": "a\nb"}, "site.user_agent"),
        ({"WEIBO_FETCH__CONNECT_TIMEOUT_S": "inf"}, "fetch.connect_timeout_s"),
        ({"WEIBO_HARVEST__MIN_FANS": "\udcff"}, "WEIBO_HARVEST__MIN_FANS: not UTF-8"),
        ({"WEIBO_HARVEST__EDGES": "fans,\udcff"}, "WEIBO_HARVEST__EDGES: not UTF-8"),
        ({"WEIBO_STORE__USERS": "sqlite:///~nobody-here/x.db"}, "x.db"),
        ({"WEIBO_STORE__USERS": "mysql://me:secret@h/db"}, "WEIBO_STORE__PASSWORD"),
    ],
)
def test_a_bad_setting_is_named(crawl: Crawl, env: dict[str, str], said: str) -> None:
    """Law 14: exit code 3, one line, nothing written."""
    done = crawl.run("seed", "1234567890", code=3, **env)
    assert said in done.stderr
    assert "secret" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(crawl.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[harvest]\nmin_fans = 'many'\n", "harvest.min_fans"),
        ("[harvest]\nmin_fan = 3\n", "harvest.min_fan"),
        ("[harvst]\nmin_fans = 3\n", "no section [harvst]; did you mean [harvest]?"),
        ("harvest = 3\n", "harvest"),
        ("[harvest\n", "not valid TOML"),
        ("a = " + "[" * 5000, "not valid TOML"),
        ("[harvest]\nmin_fans = 1" + "0" * 5000, "not valid TOML"),
        ("[harvest]\nmax_users = 0\n", "harvest.max_users"),
    ],
)
def test_a_bad_settings_file_is_named(crawl: Crawl, text: str, said: str) -> None:
    """Law 14: file and setting stand in the line."""
    (crawl.folder / "my.toml").write_text(text, encoding="utf-8")
    done = crawl.run("harvest", "--config", "my.toml", code=3)
    assert said in done.stderr
    assert "my.toml" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("pace.requests_per_second", '"fast"', "expected a number, got the text 'fast'"),
        ("harvest.min_fans", "1.5", "expected a whole number"),
        ("harvest.max_depth", "[1]", "expected a whole number, got a list"),
        ("harvest.processes", "65", "expected a whole number of at most 64"),
        ("harvest.edges", '"fans"', "expected a list, got the text 'fans'"),
        ("harvest.edges", '["friends"]', "unknown word 'friends'"),
        ("session.enabled", '"perhaps"', "expected true or false, got the text 'perhaps'"),
        ("store.password", "123", "expected a text, got a whole number"),
        ("pace.fall_factor", "1.0", "expected a number below 1"),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_in_words(
    tmp_path: Path, setting: str, value: str, said: str
) -> None:
    """No name of a type of Python or of a library; no password."""
    section, _, key = setting.partition(".")
    (tmp_path / "my.toml").write_text(f"[{section}]\n{key} = {value}\n", "utf-8")
    with pytest.raises(BadConfig) as caught:
        config.load(tmp_path / "my.toml", {})
    assert f"my.toml: {setting}: {said}" in str(caught.value)
    assert "`" not in str(caught.value)
    assert "123" not in str(caught.value)


def test_an_account_is_no_part_of_the_sites_address(crawl: Crawl) -> None:
    """Exit code 3; its password is not printed."""
    for name in ("BASE_URL", "VISITOR_URL"):
        address = {f"WEIBO_SITE__{name}": "http://me:secret@127.0.0.1:9"}
        said = crawl.run("status", code=3, **address).stderr
        assert f"site.{name.lower()}: an account does not belong" in said
        assert "secret" not in said
        assert said.count("\n") == 1


# -- places


PLACES = [
    ("store.users", "sqlite:///data/u.db"),
    ("store.users", "mysql://me@host/db?ssl_ca=data/ca.pem"),
    ("store.users", "mysql://me@host/db?ssl_ca=/ca.pem&ssl_cert=data/we.pem"),
    ("store.users", "mysql://me@localhost/db?socket=data/s"),
    ("store.tables", "sqlite:///data/t.db"),
    ("store.password_file", "data/password"),
    ("egress.proxies_file", "data/proxies.txt"),
    ("archive.folder", "data/archive"),
    ("hadoop.streaming_jar", "data/streaming.jar"),
    ("metrics.textfile", "data/figures.prom"),
]


@pytest.mark.parametrize(("setting", "value"), PLACES)
def test_places_in_a_file_are_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, value: str
) -> None:
    """From whatever folder a command is called; those in variables to the working folder. What lies
    where it was meant from the working folder before is named, with how to write it."""
    section, _, key = setting.partition(".")
    scheme, _, place = value.rpartition("data/")

    def loaded(**environ: str) -> str:
        got = config.load(tmp_path / "etc" / "my.toml", environ)
        return str(getattr(getattr(got, section), key))

    for folder in ("etc", "here"):
        (tmp_path / folder / "data").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "etc/my.toml").write_text(f'[{section}]\n{key} = "{value}"\n', "utf-8")
    variable = {f"WEIBO_{section}__{key}".upper(): value}
    (tmp_path / "here/data" / place).write_text("http://127.0.0.1:1\n")
    assert loaded(**variable) == value
    with pytest.raises(BadConfig) as caught:
        loaded()
    assert str(caught.value) == (
        f"{tmp_path}/etc/my.toml: {setting}: relative addresses are relative to this file, so it "
        f"names {tmp_path}/etc/data/{place}, where nothing is; for {tmp_path}/here/data/{place} "
        f"write {scheme}../here/data/{place}"
    )
    (tmp_path / "etc/data" / place).write_text("http://127.0.0.1:1\n")
    assert loaded() == f"{scheme}{tmp_path}/etc/data/{place}"
    absolute = loaded()
    (tmp_path / "etc/my.toml").write_text(f'[{section}]\n{key} = "{absolute}"\n', "utf-8")
    assert loaded() == absolute


@pytest.mark.parametrize(
    ("file", "data"), [("conf/crawler.toml", "data"), ("mine/my.toml", "mine/data")]
)
def test_init_writes_the_file_that_is_named(crawl: Crawl, file: str, data: str) -> None:
    """By --config, WEIBO_CONFIG or nothing; other commands find the stores from any folder."""
    del crawl.env["WEIBO_STORE__USERS"], crawl.env["WEIBO_STORE__TABLES"]
    named = {} if file == "conf/crawler.toml" else {"WEIBO_CONFIG": file}
    assert file in crawl.run("init", **named).stdout
    assert {p.name for p in (crawl.folder / data).glob("*.db")} == {"users.db", "tables.db"}
    assert {p.name for p in crawl.folder.iterdir()} == {file.partition("/")[0], data.split("/")[0]}
    crawl.run("seed", "5", "--config", file)
    again = crawl.run("init", "--config", file).stdout
    assert "settings written" not in again
    assert "1 user" in again
    (crawl.folder / "away").mkdir()
    crawl.folder /= "away"
    assert crawl.json("status", "--config", f"../{file}")["states"] == {"queued": 1}


# -- seeds and usage


def test_comments_and_repeats_are_dropped(tmp_path: Path) -> None:
    """A file may be annotated, and name a user twice."""
    file = tmp_path / "seeds.txt"
    lines = ["\ufeff# my seeds", "", " 12 # a friend", "12", "m.weibo.cn/u/12", "13"]
    file.write_text("\n".join(lines), "utf-8")
    seeds = read_seeds([str(file)], open_site(config.Settings()))
    assert [(seed.uid, seed.where) for seed in seeds] == [(12, f"{file}:3"), (13, f"{file}:6")]


def test_the_example_of_seeds_can_be_read() -> None:
    """It names each of its institutions by number."""
    seeds = read_seeds([str(ROOT / "conf/seeds.example.txt")], open_site(config.Settings()))
    assert len(seeds) == 4
    assert all(seed.uid for seed in seeds)


def test_a_bad_seed_is_named_before_anything_starts(crawl: Crawl) -> None:
    """Exit code 2 with the line's number; no store is made."""
    (crawl.folder / "seeds.txt").write_text("1234567890\nhttps://example.org/1\n", "utf-8")
    done = crawl.run("seed", "seeds.txt", code=2)
    assert "seeds.txt:2:" in done.stderr
    (crawl.folder / "people").mkdir()
    assert "people is a folder" in crawl.run("seed", "people", code=3).stderr
    assert not (crawl.folder / "users.db").exists()


def test_a_folder_may_be_called_by_a_uid(crawl: Crawl) -> None:
    """Those of `media` are, and `forget` is typed beside them."""
    (crawl.folder / "1802046245").mkdir()
    assert "1 new" in crawl.run("seed", "1802046245").stdout
    assert "1 user" in crawl.run("forget", "1802046245", "--dry-run").stdout


def test_usage_errors(crawl: Crawl) -> None:
    """Exit code 2 for what the command line does not take, 3 for a file that cannot be read."""
    crawl.run("harvest", code=2)  # no seed yet
    crawl.run("fly", code=2)
    crawl.run("scan", "planets", code=2)
    crawl.run("scan", "posts", "--columns", "mid,colour", code=2)
    crawl.run("scan", "posts", "--since", "yesterday", code=2)
    crawl.run("scan", "users", "--limit", "-1", code=2)
    assert "--via sqoop" in crawl.run("import", "--paper", code=2).stderr
    crawl.run("seed", "missing.txt", code=3)
    crawl.run("seed", "n" * 5000, code=2)
    crawl.run("seed", "search:" + "微" * 100)
    crawl.run("forget", "--yes", "微" * 100, code=2)
    for uid in ("-5", "0", str(2**63), "9" * 40):
        crawl.run("scan", "posts", f"--uid={uid}", code=2)
        crawl.run("forget", "--", uid, code=2)


def test_output_that_cannot_be_written_is_said(crawl: Crawl) -> None:
    """A full disk behind stdout gives one line, closed streams none."""
    crawl.run("seed", "5")
    scan = " ".join(crawl.command("scan", "users"))
    for redirect, code, lines in (("> /dev/full", 5, 1), (">&-", 0, 1), ("2>&-", 0, 0)):
        done = crawl.shell(f"{scan} {redirect}")
        assert (done.returncode, done.stderr.count("\n")) == (code, lines), (redirect, done)
    told = crawl.shell(f"{scan} --json > /dev/full").stderr.splitlines()[-1]
    assert json.loads(told) == {
        "error": "cannot write the output: No space left on device",
        "exit_code": 5,
    }


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "cannot write the output: No space"),
        (OSError(errno.EMFILE, "Too many open files"), "the system refuses: Too many open files"),
        (OSError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"), "the system r"),
        (OSError(errno.EACCES, "Permission denied", "x.csv"), "x.csv: Permission denied"),
        (OSError("no more of it"), "the system refuses: no more of it"),
    ],
)
def test_only_the_output_is_called_the_output(error: OSError, said: str) -> None:
    """What the system refuses is told in its words; with no file named it may be anything."""
    assert words_of(error).startswith(said)


@pytest.mark.timeout(60)
def test_a_pipe_is_no_list_of_proxies(crawl: Crawl) -> None:
    """A second reader would wait for ever."""
    os.mkfifo(crawl.folder / "pipe")
    for name in ("pipe", "/dev/zero"):
        done = crawl.run("proxies", "check", code=3, WEIBO_EGRESS__PROXIES_FILE=name)
        assert f"egress.proxies_file: {name} is a pipe or a device" in done.stderr


def test_seeds_and_people_come_by_a_pipe(crawl: Crawl) -> None:
    """As the shell's <(…) gives them, and as /dev/stdin."""
    for words in ("seed", "forget --yes"):
        command = " ".join(crawl.command(*words.split()))
        for how in ("| {} /dev/stdin", "> file; mkfifo p; cat file > p & {} p; rm p"):
            done = crawl.shell(f"echo 5 {how.format(command)}")
            assert done.returncode == 0, (words, done)


def test_a_store_belongs_to_one_kind_of_site(crawl: Crawl) -> None:
    """Users of a simulated site are never asked of the real one."""
    crawl.run("seed", "5")
    real = {
        "WEIBO_SITE__BASE_URL": "https://m.weibo.cn",
        "WEIBO_PACE__REQUESTS_PER_SECOND": "0.3",
    }
    for command in (("seed", "6"), ("harvest",), ("posts",)):
        assert "a simulated site" in crawl.run(*command, code=3, **real).stderr


def test_new_tables_are_filled(crawl: Crawl) -> None:
    """Changing a home is changing its address; lost tables are filled again."""
    crawl.run("seed", "5", "6")
    assert crawl.json("import")["new"] == 2
    (crawl.folder / "tables.db").rename(crawl.folder / "old.db")
    assert crawl.json("import")["new"] == 2
    assert crawl.json("import", WEIBO_STORE__TABLES="sqlite:///other.db")["new"] == 2
    assert crawl.json("import")["new"] == 0
    assert crawl.run("import", "--from-start").stdout == (
        "import: 2 users written, known ones too, 0 changed\n"
    )


@pytest.mark.parametrize(
    "command",
    [
        ("export", "users", "--format", "csv", "-o"),
        ("report", "-o"),
        ("posts", "--manifest"),
        ("simulate", "--port", "0", "--users", "30", "--truth-out"),
        ("simulate", "--port", "0", "--users", "30", "--served-out"),
        ("simulate", "--port", "0", "--users", "30", "--proxies", "1", "--proxies-out"),
    ],
    ids=lambda command: f"{command[0]} {command[-1]}",
)
def test_no_output_replaces_a_store(crawl: Crawl, command: tuple[str, ...]) -> None:
    """Exit code 2, and the store is as it was; so is what SQLite keeps beside it."""
    crawl.run("seed", "5")
    for file in ("users.db", "users.db-wal"):
        done = crawl.run(*command, file, code=2)
        assert f"{file} is part of a SQLite database" in done.stderr
    assert len(crawl.scan("users")) == 1


BY_HAND = [
    "# mine\n\n[site]\n",
    "\ufeff1234567890 # a uid\n",
    "https://m.weibo.cn/u/1234567890\n",
    "weibo.com/u/1234567890\n",
    "http://me:secret@127.0.0.1:3128\n",
    "127.0.0.1:3128:me:secret\n",
]


@pytest.mark.parametrize("text", BY_HAND)
def test_no_output_replaces_what_people_wrote(tmp_path: Path, text: str) -> None:
    """Settings, seeds, lists of proxies, whatever they are called and whether or not the settings
    name them."""
    file = tmp_path / "file.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(BadUsage, match=r"file\.csv looks like settings, seeds or a list"):
        keep_inputs(file)


def test_outputs_can_be_written_again(crawl: Crawl) -> None:
    """Each of them over itself; over what people wrote none of them is."""
    crawl.run("init")
    crawl.run("seed", "1234567890")
    crawl.run("import")
    store(crawl.folder, Named(6, 5227481808240654))
    (crawl.folder / "seeds.txt").write_text("1234567890\n")
    commands = ["report -o", "posts --manifest"]
    commands += [f"export users --format {form} -o" for form in ("csv", "jsonl", "parquet")]
    commands += ["export users --columns id --format csv -o", "export posts --ids -o"]
    for number, words in enumerate(commands):
        for _ in range(2):
            crawl.run(*words.split(), f"output-{number}")
        assert "seeds.txt looks like" in crawl.run(*words.split(), "seeds.txt", code=2).stderr
    for file, code in (("figures", 4), ("figures", 4), ("seeds.txt", 3)):
        crawl.run("harvest", code=code, WEIBO_METRICS__TEXTFILE=file)
    assert (crawl.folder / "seeds.txt").read_text() == "1234567890\n"


def test_figures_replace_no_store(crawl: Crawl) -> None:
    """The file of the metrics is a setting: exit code 3, and the store is as it was."""
    crawl.run("seed", "5")
    done = crawl.run("harvest", code=3, WEIBO_METRICS__TEXTFILE="users.db")
    assert "metrics.textfile: " in done.stderr
    assert len(crawl.scan("users")) == 1


def test_no_output_replaces_the_settings(crawl: Crawl) -> None:
    """Exit code 2 for the settings file, and for "-", which is the name of no file."""
    crawl.run("init")
    for file in ("conf/crawler.toml", "-"):
        crawl.run("export", "users", "--format", "csv", "-o", file, code=2)
        crawl.run("report", "-o", file, code=2)
    assert "min_fans" in (crawl.folder / "conf/crawler.toml").read_text("utf-8")


def test_an_option_that_would_change_nothing_is_refused(crawl: Crawl) -> None:
    """--imported chooses between two places that hold users; of other rows there is one."""
    for what in ("posts", "comments", "edges"):
        assert "is for users" in crawl.run("scan", what, "--imported", code=2).stderr


def test_metrics_of_the_map_job(crawl: Crawl) -> None:
    """Several mappers, one place: the driver shows their figures."""
    crawl.run("seed", "5")
    crawl.run("import")
    crawl.run(
        "posts",
        code=4,  # the site is not there
        WEIBO_METRICS__LISTEN=f"127.0.0.1:{free_port()}",
        WEIBO_METRICS__TEXTFILE="figures.prom",
    )
    assert "users.unreached" in (crawl.folder / "figures.prom").read_text("utf-8")


def test_seeds_can_be_given_again(crawl: Crawl) -> None:
    """Repeating a command is allowed and says so."""
    assert crawl.json("seed", "1234567890", "1234567891") == {"new": 2, "known": 0}
    assert crawl.json("seed", "1234567890") == {"new": 0, "known": 1}
    assert [user["id"] for user in crawl.scan("users")] == [1234567890, 1234567891]


def test_a_plan_before_anything_says_so(crawl: Crawl) -> None:
    """`--plan` asks nothing of the site; what nobody knows is "not known yet", null in JSON, and no
    figure stands for it."""
    crawl.run("seed", "1234567890", "1234567891")
    crawl.run("import")
    live = {
        "WEIBO_PACE__REQUESTS_PER_SECOND": "0.33",
        "WEIBO_SITE__BASE_URL": "https://m.weibo.cn",
    }
    for stage in ("harvest", "posts"):
        said = crawl.run(stage, "--plan", **live).stdout
        assert "not known yet" in said
        assert said.count("not known yet  not known yet") == 0  # the figure; beside it the reason
        assert "1 of 1 usable, 0.33 requests/s" in said
        plan = crawl.json(stage, "--plan", **live)
        assert plan["users"] == 2
        assert plan["requests"] is plan["hours"] is plan["disk"][0]["bytes"] is None
    assert crawl.json("harvest", "--plan")["by_kind"]["profiles of seeds"] == 2
    assert crawl.json("harvest", "--plan")["to_max_users"] is None


def test_a_crawl_can_be_planned_before_it_exists(crawl: Crawl) -> None:
    """`plan` needs no store and makes none."""
    plan = crawl.json("plan", "--users", "1000000", "--fresh", "7d")
    assert plan["fresh_s"] == 7 * 86_400
    assert plan["again"]["why"].startswith("assumed")
    assert not list(crawl.folder.glob("*.db"))
    for span in ("3", "0h", "-1d", "h"):
        assert (
            "90min, 24h or 7d" in crawl.run("plan", "--users=5", f"--fresh={span}", code=2).stderr
        )


@pytest.mark.parametrize(
    ("key", "value"),
    [("EDGES", "seed"), ("EDGES", ""), ("EDGES", "fans,fans"), ("EDGES_IF_WALLED", "fans,seed")],
)
def test_edges_that_are_none_are_refused(crawl: Crawl, key: str, value: str) -> None:
    """Exit code 3 names the setting and what there is."""
    said = crawl.run("harvest", code=3, **{f"WEIBO_HARVEST__{key}": value}).stderr
    assert f"harvest.{key.lower()}" in said
    assert "fans, follows, reposts, comments, reposters, mentions" in said


# -- stores


READING = ["status", "scan users", "scan posts", "scan edges", "scan comments", "report"]
READING += ["report --completeness", "export users -o out.csv", "export posts -o out.csv"]
READING += ["harvest --plan", "posts --plan", "posts", "import", "posts --follow", "forget 5 --yes"]


@pytest.mark.parametrize("words", READING)
def test_a_mistyped_store_is_named_and_not_made(crawl: Crawl, words: str) -> None:
    """What only reads makes no store, nor does what needs the work of an earlier command: exit code
    5 (harvest: 2, as without a seed), one line with the file, the setting and the way on."""
    done = crawl.run(*words.split(), code=2 if words.startswith("harvest") else 5)
    assert re.search(r"(users|tables)\.db: there is no such store", done.stderr)
    assert re.search(r"name another by store\.(users|tables)", done.stderr)
    assert done.stderr.count("\n") == 1
    assert not list(crawl.folder.iterdir())


def test_a_file_of_another_program_is_no_store(crawl: Crawl) -> None:
    """Exit code 5, and not a byte of it changes; nor is one made beside it."""
    with closing(sqlite3.connect(crawl.folder / "users.db")) as base:
        base.execute("CREATE TABLE notes (text)")
    was = (crawl.folder / "users.db").read_bytes()
    for command in ("status", "import"):
        assert "no such store of users" in crawl.run(command, code=5).stderr
    assert (crawl.folder / "users.db").read_bytes() == was
    assert [file.name for file in crawl.folder.iterdir()] == ["users.db"]


def test_nothing_is_said_of_which_store(crawl: Crawl) -> None:
    """Who finds nothing sees where it was looked for; `status` always names both stores."""
    crawl.run("seed", "5")
    users, tables = (str(crawl.folder / name) for name in ("users.db", "tables.db"))
    assert crawl.json("status")["stores"] == {"users": users, "tables": f"{tables} (not there yet)"}
    assert not Path(tables).exists()
    crawl.run("import")
    assert crawl.run("status").stdout.startswith(f"stores   {users} and {tables}\n")
    assert crawl.run("scan", "posts").stderr == f"scan: 0 posts in {tables}\n"
    assert crawl.run("scan", "users", "--uid=6").stderr == f"scan: 0 users in {users}\n"
    assert f"0 posts in {tables}" in crawl.run("export", "posts", "-o", "posts.csv").stdout


def test_a_newer_schema_is_refused(crawl: Crawl) -> None:
    """Exit code 5, and the file is left as it is."""
    crawl.run("seed", "1234567890")
    with sqlite3.connect(crawl.folder / "users.db") as base:
        base.execute("UPDATE schema_versions SET version = 99")
    base.close()
    assert "users.db" in crawl.run("seed", "1234567891", code=5).stderr
    assert "users.db" in crawl.run("status", code=5).stderr


def test_a_file_that_is_no_database_is_refused(crawl: Crawl) -> None:
    """Exit code 5, one line."""
    (crawl.folder / "users.db").write_bytes(b"this is no database" * 100)
    done = crawl.run("seed", "1234567890", code=5)
    assert done.stderr.count("\n") == 1


def test_a_full_disk_is_said(crawl: Crawl) -> None:
    """Exit code 5 and nothing half-written: the seeds are all there afterwards, or none."""
    crawl.run("init")
    (crawl.folder / "seeds.txt").write_text("".join(f"{10**9 + i}\n" for i in range(20_000)))
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 600; exec "$@"', "-", *crawl.command("seed", "seeds.txt")],
        cwd=crawl.folder,
        env=crawl.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 5, done.stderr
    assert "users.db" in done.stderr
    assert crawl.scan("users") == []
    crawl.run("seed", "seeds.txt")
    assert len(crawl.scan("users", "--limit", "30000")) == 20_000


# -- the site


def test_a_site_that_is_not_there_is_said(crawl: Crawl) -> None:
    """Exit code 4, and why no answer came; the seed is not lost."""
    with socket.socket() as taken:  # nobody else listens there, and it does not either
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        crawl.run("seed", "1234567890")
        done = crawl.run("harvest", code=4, WEIBO_SITE__BASE_URL=address)
        crawl.run("import")
        posts = crawl.run("posts", code=4, WEIBO_SITE__BASE_URL=address)
    assert "no answer came (1 x no connection" in posts.stderr
    assert "1 of 1" in done.stderr or "does not answer" in done.stderr
    assert len(crawl.scan("users")) == 1
    assert "posts    not at work" in (said := crawl.run("status").stdout)
    assert "the site did not answer at all (1 x no connection" in said


def test_a_port_in_use_is_said(crawl: Crawl) -> None:
    """Exit code 3 for the simulator and for the metrics."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = str(held.getsockname()[1])
        assert port in crawl.run("simulate", "--port", port, "--users", "50", code=3).stderr
        crawl.run("seed", "1234567890")
        done = crawl.run("harvest", code=3, WEIBO_METRICS__LISTEN=f"127.0.0.1:{port}")
        assert "metrics.listen" in done.stderr


def test_a_site_that_is_down_is_no_success(crawl: Crawl) -> None:
    """Exit code 4, also of a repeated harvest that finds only what failed before; a name that
    nobody could be asked for is not called wrong."""
    said = crawl.run("seed", "somebody", code=4).stderr
    assert "did not say who 'somebody' is" in said
    crawl.run("seed", "5")
    for _ in range(2):
        crawl.run("harvest", code=4, WEIBO_HARVEST__MAX_ATTEMPTS="1")


def test_a_run_in_which_nobody_could_be_read_ends_with_4(crawl: Crawl) -> None:
    """As a harvest does of which nobody could be walked, and said in `status`; also when the same
    users fail again. It is no share of the announced posts that is complete then."""
    wall = {"ok": -100, "url": "https://passport.weibo.com/sso/signin?entry=wapsso"}
    with answering(lambda path: wall) as port:
        crawl.env["WEIBO_SITE__BASE_URL"] = f"http://127.0.0.1:{port}"
        crawl.run("seed", "7", "8")
        crawl.run("import")
        for _ in range(2):
            said = crawl.run("posts", "--runner", "inline", code=4).stderr
            assert "2 users failed: the same command asks for them again" in said
            assert "nobody could be read: 2 visits failed" in said
            out = "2 users not counted: nobody knows how many posts they have"
            assert f"complete: not known; {out}" in said
            status = crawl.run("status").stdout
            assert "nobody could be read" in status
            assert out in status
    figures = crawl.json("report", "--completeness")
    assert (figures["failed"], figures["uncounted"], figures["share"]) == (2, 2, None)


# -- analysts


def test_scan_into_head_ends_quietly(crawl: Crawl) -> None:
    """A closed pipe is no error and prints nothing."""
    (crawl.folder / "seeds.txt").write_text("".join(f"{10**9 + i}\n" for i in range(20_000)))
    crawl.run("seed", "seeds.txt")
    scan = " ".join(crawl.command("scan", "users"))
    done = crawl.shell(f"set -o pipefail; {scan} | head -n 2")
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 2, "")


def test_empty_stores_are_friendly(crawl: Crawl) -> None:
    """Every reading command works before anything was crawled."""
    crawl.run("init")
    assert crawl.scan("users") == crawl.scan("posts") == []
    crawl.run("status")
    crawl.run("report")
    assert (crawl.folder / "report.html").stat().st_size > 1000
    assert crawl.json("import") == {"new": 0, "changed": 0}
    assert crawl.json("posts")["users"] == 0
    crawl.run("export", "posts", "-o", "posts.csv")


def test_a_closing_line_for_machines(crawl: Crawl) -> None:
    """`--json` closes with one line of JSON."""
    for arguments in (("init",), ("seed", "5"), ("import",), ("status",), ("doctor",)):
        done = crawl.run(*arguments, "--json")
        assert isinstance(json.loads(done.stdout.splitlines()[-1]), dict)


def test_forget_removes_a_person_for_good(crawl: Crawl) -> None:
    """Rows are gone from SQL and tables; a seed does not bring them back."""
    crawl.run("init")
    crawl.run("seed", "5", "6")
    crawl.run("import")
    assert crawl.json("forget", "--yes", "5")["users"] == 1
    crawl.run("seed", "5")
    crawl.run("import")
    assert [user["id"] for user in crawl.scan("users")] == [6]
    assert [user["id"] for user in crawl.scan("users", "--imported")] == [6]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("1e6", "'1e6' is no whole number"),
        ("many", "'many' is no whole number"),
        ("٣", "is no whole number"),
        ("0", "0 is not between 1 and 1,000,000,000,000"),
        ("9" * 40, "is no whole number"),
        ("1,000,000", ""),
        ("1_000_000", ""),
        ("6,68", "'6,68' is no whole number"),
    ],
)
def test_a_number_that_cannot_be_read_is_named(
    capsys: pytest.CaptureFixture[str], number: str, said: str
) -> None:
    """What is wrong with it stands in the message; thousands may be parted."""
    parse = build_parser().parse_args
    if not said:
        assert parse(["plan", "--users", number]).users == 1_000_000
        return
    with pytest.raises(SystemExit):
        parse(["plan", "--users", number])
    assert said in capsys.readouterr().err


def test_what_a_locale_cannot_write_is_escaped(crawl: Crawl) -> None:
    """It ends no command."""
    crawl.env["WEIBO_STORE__USERS"] = "sqlite:///微博.db"
    crawl.run("seed", "1234567890")
    assert "\\u5fae\\u535a.db" in crawl.run("status", PYTHONIOENCODING="ascii").stdout


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("90min", 5400), ("24h", 86_400), ("7d", 604_800)]
)
def test_a_span_is_in_seconds(text: str, seconds: int) -> None:
    """`--fresh 24h` is the day that it is without the word."""
    parse = build_parser().parse_args
    assert parse(["plan", "--users", "5", "--fresh", text]).fresh == seconds
    assert parse(["posts", "--follow", "--for", text]).span_s == seconds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("https://m.weibo.cn/u/1700000000", "'https://m.weibo.cn/u/1700000000' is no uid"),
        ("https://m.weibo.cn/u/" + "7" * 90, f"'https://m.weibo.cn/u/{'7' * 38}…' is no uid"),
    ],
)
def test_what_is_quoted_is_what_was_given(
    capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    """An address that lost its last digit in the message would be another user's; where a long one
    is cut, that is seen."""
    with pytest.raises(SystemExit):
        build_parser().parse_args(["scan", "posts", "--uid", text])
    assert said in capsys.readouterr().err


def test_status_says_how_a_harvest_ended_that_could_walk_nobody(crawl: Crawl) -> None:
    """Law 12: the run ended with 4, and `status` gives its reason, not that nobody new is found;
    so after a second run, to which nothing was left. Where nothing is shown nobody failed."""
    crawl.env |= {"WEIBO_FETCH__ATTEMPTS": "1", "WEIBO_HARVEST__MAX_ATTEMPTS": "1"}
    unknown: object = {"ok": 0, "msg": "?"}
    face = {"id": 7, "screen_name": "n", "followers_count": 99}
    profile = {"ok": 1, "data": {"userInfo": face}}
    with answering(lambda path: unknown) as port:
        crawl.env["WEIBO_SITE__BASE_URL"] = f"http://127.0.0.1:{port}"
        crawl.run("seed", "7")
        reason = "the site shows nothing to anybody"
        assert reason in crawl.run("harvest", code=4).stderr
        assert f"failed: {reason}" in crawl.run("status").stdout
    with answering(lambda path: profile if "type=uid" in path else unknown) as port:
        crawl.env["WEIBO_SITE__BASE_URL"] = f"http://127.0.0.1:{port}"
        for reason in ("1 of 1 users could not be walked", "nothing was left to walk"):
            assert reason in crawl.run("harvest", code=4).stderr
            assert f"failed: {reason}" in crawl.run("status").stdout


def test_a_harvest_that_reads_nobody_of_whom_failed_earlier_ends_with_four(crawl: Crawl) -> None:
    """Law 12: what fails again tells nothing of the site, and nobody was read all the same. Where
    no visitor session could be had that is the reason."""
    crawl.env |= {"WEIBO_FETCH__ATTEMPTS": "1", "WEIBO_HARVEST__MAX_ATTEMPTS": "1"}
    wall = {"ok": -100, "url": "https://passport.weibo.com/sso/signin"}
    with answering(lambda path: wall) as port:
        crawl.env["WEIBO_SITE__BASE_URL"] = f"http://127.0.0.1:{port}"
        crawl.env["WEIBO_SITE__VISITOR_URL"] = f"http://127.0.0.1:{port}/visitor/genvisitor2"
        crawl.run("seed", "7")
        said = crawl.run("harvest", code=4).stderr
        assert "no visitor session could be had" in said
        said = crawl.run("harvest", "--retry-failed", code=4).stderr
        assert "nobody could be read" in said
        assert "1 user failed again (no visitor session could be had; 1 x fans: login_wall" in said
        assert "failed: nobody could be read" in crawl.run("status").stdout


def test_a_report_names_the_live_site(crawl: Crawl) -> None:
    """Where no setting names an address, the site's own is told."""
    crawl.run("init")
    live = config.Settings(
        store=config.Store(
            users=f"sqlite:///{crawl.folder}/users.db", tables=f"sqlite:///{crawl.folder}/tables.db"
        )
    )
    with Home(live, makes=()) as home:
        assert "site https://m.weibo.cn;" in origin_of(home, None).name

"""Settings on their way to the mappers."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weibo_crawler import config
from weibo_crawler.config import Settings
from weibo_crawler.posts.handover import PROXIES, SETTINGS, to_toml, write_files

PASSWORD = "geheim-密码-7\x7f\"'\\"


def settings(folder: Path) -> Settings:
    password, proxies = folder / "password", folder / "list of proxies"
    password.write_text(PASSWORD + "\n", "utf-8")
    proxies.write_bytes(b"http://me:secret@127.0.0.1:1\n")
    return Settings(
        store=config.Store(users="mysql://me@host/db", password_file=str(password)),
        egress=config.Egress(proxies_file=str(proxies), direct=True),
        metrics=config.Metrics(listen="127.0.0.1:1"),
        hadoop=config.Hadoop(jobconf=("a=b", "c=d")),
    )


def test_a_mapper_reads_what_the_driver_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files hold the resolved settings with password and proxies, and need no other file; only
    their owner may read them."""
    there = tmp_path / "there"
    there.mkdir()
    before = settings(tmp_path)
    assert write_files(before, there) == [SETTINGS, PROXIES]
    (tmp_path / "password").unlink()
    assert {path.stat().st_mode & 0o777 for path in there.iterdir()} == {0o600}
    monkeypatch.chdir(there)
    read = config.load(Path(SETTINGS), {})
    assert read.store.read_password() == PASSWORD
    assert (there / PROXIES).read_bytes() == b"http://me:secret@127.0.0.1:1\n"
    assert read.egress == replace(before.egress, proxies_file=str(there / PROXIES))
    assert (read.metrics, read.hadoop, read.posts) == (
        config.Metrics(),
        before.hadoop,
        before.posts,
    )


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts, st.lists(texts), st.floats(1e-6, 1e6), st.booleans() | st.none())
def test_settings_survive_toml(
    text: str, items: list[str], number: float, choice: bool | None
) -> None:
    """Any text, list and number comes back as it was."""
    import tomllib

    import msgspec

    before = Settings(
        store=config.Store(password=text),
        hadoop=config.Hadoop(jobconf=tuple(items)),
        fetch=config.Fetch(read_timeout_s=number),
        egress=config.Egress(direct=choice),
    )
    assert msgspec.convert(tomllib.loads(to_toml(before)), Settings) == before

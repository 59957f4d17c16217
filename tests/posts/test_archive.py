"""The archive that makes a bare python3 enough."""

import io
import marshal
import py_compile
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from weibo_crawler import config
from weibo_crawler.errors import BadConfig
from weibo_crawler.fetch.opening import choose_transport
from weibo_crawler.posts import archive
from weibo_crawler.posts.archive import (
    ENV,
    PACKAGES,
    WRONG_PYTHON,
    Archive,
    archives,
    distributions,
)
from weibo_crawler.resources import resource

_JOBS = Path(str(resource("jobs")))

pytest.importorskip("happybase", reason="the archive holds the cluster extra")


@pytest.fixture(scope="module", autouse=True)
def quickly() -> Iterator[None]:
    """Nothing here depends on how well it is compressed, which takes as long as all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "_LEVEL", 0)
        yield


@pytest.fixture(scope="module")
def ours() -> dict[str, Archive]:
    """Made once: they read all that is installed."""
    return archives()


@pytest.fixture(scope="module")
def packed(ours: dict[str, Archive]) -> dict[str, bytes]:
    return {link: written(archive) for link, archive in ours.items()}


def written(archive: Archive) -> bytes:
    file = io.BytesIO()
    archive.write(file)
    return file.getvalue()


@pytest.fixture(scope="module")
def task(packed: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a task: YARN makes links to the files there."""
    folder = tmp_path_factory.mktemp("task")
    for link, content in packed.items():
        (folder.parent / f"3-{link}").write_bytes(content)
        (folder / link).symlink_to(folder.parent / f"3-{link}")
    return folder


def bare(code: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Python without site-packages or the checkout; what it runs at its start is in the archive."""
    return subprocess.run(started(code), **within(folder), check=False)


def started(code: str) -> list[str]:
    return [sys.executable, "-SP", "-c", f"import sitecustomize; {code}"]


def within(folder: Path) -> dict[str, Any]:
    return {
        "env": {"PYTHONPATH": ENV},
        "cwd": folder,
        "capture_output": True,
        "text": True,
        "timeout": 60,
    }


@pytest.mark.parametrize("job", sorted(path.name for path in _JOBS.glob("*.py")))
def test_each_job_starts_from_the_archive_alone(task: Path, job: str) -> None:
    """Without site-packages the job's script finds all that it imports."""
    script = str(_JOBS / job)
    run = f"import runpy, sys; sys.argv[:] = [{script!r}, '--help']; "
    done = bare(f"{run}runpy.run_path({script!r}, run_name='__main__')", task)
    assert done.returncode == 0, done.stderr
    assert "--help" in done.stdout


def test_the_archive_holds_the_drivers(task: Path) -> None:
    """What is imported only where a store or a proxy asks for it."""
    modules = "happybase, pymysql, requests, socks, weibo_crawler.store.hbase.tables"
    done = bare(f"import {modules}", task)
    assert done.returncode == 0, done.stderr


def test_python_alone_stays_in_the_file(task: Path) -> None:
    """It comes compiled from there, with the lines for a traceback; what has compiled parts or
    data lies beside, compiled as well."""
    done = bare(
        "import linecache, msgspec, weibo_crawler.mapper as m; "
        "line = linecache.getline('weibo_crawler/mapper.py', 1, vars(m)); "
        "print(m.__spec__.origin, msgspec.__spec__.cached, line)",
        task,
    )
    origin, cached, line = done.stdout.split(" ", 2)
    assert origin == f"{task / ENV}/weibo_crawler/mapper.pyc"
    assert line.startswith('"""')
    assert Path(cached).is_file()
    aside = {path.name for path in (task / "packages").iterdir()}
    assert "msgspec" in aside
    assert not {"mrjob", "requests", "weibo_crawler"} & aside


def test_processes_of_a_task_unpack_at_once(task: Path, tmp_path: Path) -> None:
    """Each finds the whole folder, whoever made it, and no draft stays."""
    for link in (ENV, PACKAGES):
        shutil.copy(task / link, tmp_path / link)
    import_all = started("import cryptography, msgspec, pyroaring, certifi; certifi.contents()")
    options = within(tmp_path)
    options.pop("timeout"), options.pop("capture_output")
    running = [subprocess.Popen(import_all, **options) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    assert {path.name for path in tmp_path.iterdir()} == {"packages", ENV, PACKAGES}


def test_a_full_disk_is_not_a_whole_folder(packed: dict[str, bytes], tmp_path: Path) -> None:
    """A task that could not unpack says so, and the next one does not take the rest for all."""
    (tmp_path / PACKAGES).write_bytes(packed[PACKAGES])
    with zipfile.ZipFile(tmp_path / ENV, "w") as cut:
        cut.writestr("sitecustomize.py", archive._SITE.replace(b"os.rename(", b"os.nothing("))
    done = bare("", tmp_path)
    assert "nothing" in done.stderr
    assert done.returncode != 0
    assert not (tmp_path / "packages").exists()


def test_nodes_fetch_as_we_do_here(task: Path) -> None:
    """The transport that is chosen from the archive alone is the one that is chosen here."""
    imports = "from weibo_crawler import config; from weibo_crawler.fetch import opening; "
    done = bare(f"{imports}print(opening.choose_transport(config.Fetch()).name)", task)
    assert done.stdout.strip() == choose_transport(config.Fetch()).name, done.stderr


def test_the_same_files_give_the_same_archives(
    ours: dict[str, Archive], packed: dict[str, bytes]
) -> None:
    """Names and files depend on the content alone, so an archive is uploaded once; compiled modules
    may name the place where Python here compiled them."""
    other = archives()
    assert [each.name for each in ours.values()] == [each.name for each in other.values()]
    again = io.BytesIO(written(other[ENV]))
    with zipfile.ZipFile(again) as new, zipfile.ZipFile(io.BytesIO(packed[ENV])) as old:
        assert new.namelist() == old.namelist()
        files = [name for name in old.namelist() if not name.endswith(".pyc")]
        assert all(new.getinfo(name).CRC == old.getinfo(name).CRC for name in files)
        assert {file.date_time for file in new.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_what_keeps_answers_travels_where_it_is_used(ours: dict[str, Archive]) -> None:
    """It is a quarter of all, and off by default."""
    without = archives(keeps_answers=False)
    assert ours[ENV].name == without[ENV].name
    assert ours[PACKAGES].name != without[PACKAGES].name
    left_out = {
        place.partition("/")[0].partition("-")[0]
        for place in ours[PACKAGES].places - without[PACKAGES].places
    }
    assert left_out == {"warcio", "zstandard"}


@pytest.mark.parametrize("is_stale", [False, True])
def test_a_module_that_python_has_kept_is_not_compiled_again(
    tmp_path: Path, *, is_stale: bool
) -> None:
    """As Python judges it, by the date and the size of the source; else it is compiled anew."""
    source = tmp_path / "module.py"
    source.write_text("told = 1\n")
    py_compile.compile(str(source), doraise=True)
    if is_stale:
        source.write_text("told = 'another'\n")
    code = marshal.loads(archive._compiled(source, source.read_bytes(), "module.py")[16:])
    found: dict[str, object] = {}
    exec(code, found)
    assert found["told"] == ("another" if is_stale else 1)
    assert code.co_filename == ("module.py" if is_stale else str(source))


def test_another_content_is_another_name(
    ours: dict[str, Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed byte of ours makes another archive, and leaves what is required as it is: that is
    most of all, and need not travel again."""
    monkeypatch.setattr(archive, "_SITE", archive._SITE + b"# changed\n")
    after = archives()
    assert after[ENV].name != ours[ENV].name
    assert after[PACKAGES].name == ours[PACKAGES].name


def test_another_python_is_told_by_the_exit_code(tmp_path: Path) -> None:
    """Under another minor version nothing is imported: stderr says which one was found, and the
    exit code too, for the driver."""
    wanted = f"!= {sys.version_info[:2]!r}"
    site = archive._SITE.decode()
    assert wanted in site
    (tmp_path / "sitecustomize.py").write_text(site.replace(wanted, "!= (3, 2)"))
    done = subprocess.run(
        [sys.executable, "-c", ""],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == WRONG_PYTHON + sys.version_info[1]
    assert sys.version.split()[0] in done.stderr


def test_requirements_are_walked_with_their_extras() -> None:
    """requests[socks] brings PySocks; what tests need stays out."""
    found = distributions()
    assert {"happybase", "thriftpy2", "pymysql", "mrjob", "pysocks"} <= set(found)
    assert not {"pytest", "hypothesis", "rich"} & set(found)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the remedy."""
    real = metadata.distribution

    def distribution(name: str) -> metadata.Distribution:
        if name == "happybase":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "distribution", distribution)
    with pytest.raises(BadConfig, match=r"happybase .*weibo-hadoop\[cluster\]"):
        distributions()

"""The archive that makes a bare python3 enough."""

import io
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path

import pytest

from weibo_crawler import config
from weibo_crawler.errors import BadConfig
from weibo_crawler.fetch.opening import choose_transport
from weibo_crawler.posts import archive
from weibo_crawler.posts.archive import PURE, WRONG_PYTHON, Archive, distributions
from weibo_crawler.resources import resource

_JOBS = Path(str(resource("jobs")))

pytest.importorskip("happybase", reason="the archive holds the cluster extra")


@pytest.fixture(scope="module")
def packed() -> bytes:
    written = io.BytesIO()
    Archive().write(written)
    return written.getvalue()


@pytest.fixture(scope="module")
def unpacked(packed: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("env")
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # 3.11.2 has no argument
        tar.extractall(folder)
    return folder


def bare(code: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Python without site-packages or the checkout; what it runs at its start is in the archive."""
    return subprocess.run(
        [sys.executable, "-SP", "-c", f"import sitecustomize; {code}"],
        env={"PYTHONPATH": f"{folder / PURE}:{folder}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("job", sorted(path.name for path in _JOBS.glob("*.py")))
def test_each_job_starts_from_the_archive_alone(unpacked: Path, job: str) -> None:
    """Without site-packages the job's script finds all that it imports."""
    script = str(_JOBS / job)
    run = f"import runpy, sys; sys.argv[:] = [{script!r}, '--help']; "
    done = bare(f"{run}runpy.run_path({script!r}, run_name='__main__')", unpacked)
    assert done.returncode == 0, done.stderr
    assert "--help" in done.stdout


def test_the_archive_holds_the_drivers(unpacked: Path) -> None:
    """What is imported only where a store or a proxy asks for it."""
    modules = "happybase, pymysql, requests, socks, weibo_crawler.store.hbase.tables"
    done = bare(f"import {modules}", unpacked)
    assert done.returncode == 0, done.stderr


def test_a_node_unpacks_few_files(packed: bytes, unpacked: Path) -> None:
    """YARN starts a process for each: Python alone is one file, from which it comes compiled, with
    the lines for a traceback."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        names = tar.getnames()
    assert not {"weibo_crawler", "mrjob"} & {name.partition("/")[0] for name in names}
    assert len(names) < 700  # 290, and setuptools for a Python without distutils
    done = bare(
        "import linecache, weibo_crawler.mapper as m; "
        "print(m.__spec__.origin, linecache.getline('weibo_crawler/mapper.py', 1, vars(m)))",
        unpacked,
    )
    origin, line = done.stdout.split(" ", 1)
    assert origin == f"{unpacked / PURE}/weibo_crawler/mapper.pyc"
    assert line.startswith('"""')


def test_nodes_fetch_as_we_do_here(unpacked: Path) -> None:
    """The transport that is chosen from the archive alone is the one that is chosen here."""
    imports = "from weibo_crawler import config; from weibo_crawler.fetch import opening; "
    done = bare(f"{imports}print(opening.choose_transport(config.Fetch()).name)", unpacked)
    assert done.stdout.strip() == choose_transport(config.Fetch()).name, done.stderr


def test_the_same_files_give_the_same_archive(packed: bytes) -> None:
    """Name and bytes depend on the content alone, so an archive is uploaded once."""
    again = io.BytesIO()
    one, other = Archive(), Archive()
    other.write(again)
    assert one.name == other.name
    assert again.getvalue() == packed


def test_another_content_is_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed byte makes another archive."""
    before = Archive().name
    monkeypatch.setattr(archive, "_SITE", archive._SITE + b"# changed\n")
    assert Archive().name != before


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

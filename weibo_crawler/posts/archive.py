"""What a mapper needs beside python3, as one archive: this package and what it requires.

Taken from the running environment, so that nodes run what was tried here. Compiled parts ask for
the same minor version of Python on the nodes; the job script checks it.

Packages that are Python alone lie in one zip file in it, compiled, from which Python imports: a
node unpacks an archive by a process for each file (YARN's FSDownload changes the permissions of
every one; without Hadoop's native library that starts chmod), so files cost more than bytes.
"""

import gzip
import hashlib
import io
import py_compile
import re
import sys
import tarfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO
from zipfile import ZipFile, ZipInfo

import weibo_crawler
from weibo_crawler.errors import DISTRIBUTION, BadConfig, how_to_install

_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")
# required by the simulator, plots and a terminal, never by a job; and setuptools by mrjob, for
# distutils, where Python has none
_NOT_NEEDED = frozenset(
    {"aiohttp", "pygal", "rich"} | ({"setuptools"} if sys.version_info < (3, 12) else set())
)
# what is compiled before or read by nobody; mrjob's examples are two dozen files
_NOT_READ = frozenset(
    {".pyc", ".pth", ".pyi", ".exe", ".c", ".h", ".pxd", ".pyx", ".js", ".jar", ".sh"}
)
ARCHIVES = "env-"  # so their names begin
PURE = "pure.zip"  # before the rest on the path of Python
_PURE = (".py", "/py.typed")
WRONG_PYTHON = 64  # + the minor version found: the exit code of a mapper under another Python
# Run at the start of Python, before any import. Compiled parts want the version they were made for.
# And mrjob imports distutils, which Python 3.12 lacks: what setuptools has in its place is switched
# on by a .pth file, and those are not read from PYTHONPATH.
_SITE = f"""import os
import sys
if sys.version_info[:2] != {sys.version_info[:2]!r}:
    sys.stderr.write("weibo-crawler: the archive is for Python {sys.version_info[0]}.\
{sys.version_info[1]}, this node has " + sys.version + "\\n")
    sys.stderr.flush()
    os._exit({WRONG_PYTHON} + sys.version_info[1])
if sys.version_info >= (3, 12):
    import _distutils_hack
    _distutils_hack.add_shim()
""".encode()


class Archive:
    """The files, by their names in the archive; name: changes with any byte of them. site: the
    distribution that adds the site, with its entry points; None: it is a folder of ours."""

    def __init__(self, site: str | None = None) -> None:
        self._files = dict(sorted(_files(site)))
        digest = hashlib.blake2b(digest_size=8)
        for place, source in self._files.items():
            data = _read(source)
            digest.update(f"{place}\0{len(data)}\0".encode() + data)
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        self.name = f"{ARCHIVES}{version}-{digest.hexdigest()}.tar.gz"

    def write(self, file: BinaryIO) -> None:
        """As tar.gz, the same bytes each time; quickly, as most of it is compiled code: level 6
        takes three times as long and saves a twelfth."""
        with (
            gzip.GzipFile(fileobj=file, mode="wb", compresslevel=2, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            pure, files = _apart(self._files)
            for place, source in [(PURE, _zipped(pure)), *files.items()]:
                data = _read(source)
                info = tarfile.TarInfo(place)
                info.size, info.mode = len(data), 0o644
                tar.addfile(info, io.BytesIO(data))


def _apart(files: Mapping[str, Path | bytes]) -> tuple[dict[str, Path], dict[str, Path | bytes]]:
    """(what goes into the zip file, the rest). Compiled parts cannot be imported from a zip file,
    and data are looked for beside the module: a package that holds either stays as it is."""
    mixed = {place.partition("/")[0] for place in files if not place.endswith(_PURE)}
    pure = {
        place: source
        for place, source in files.items()
        if isinstance(source, Path) and place.partition("/")[0] not in mixed
    }
    return pure, {place: source for place, source in files.items() if place not in pure}


def _zipped(files: Mapping[str, Path]) -> bytes:
    """Each module as source, for the lines of a traceback, and compiled, as Python keeps nothing
    that it compiled from a zip file. What does not compile nobody imports."""
    written = io.BytesIO()
    with ZipFile(written, "w") as packed, TemporaryDirectory() as folder:
        compiled = Path(folder, "module.pyc")
        for place, source in files.items():
            packed.writestr(ZipInfo(place), source.read_bytes())
            try:
                py_compile.compile(
                    *(str(source), str(compiled), place),
                    doraise=True,
                    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
                )
            except py_compile.PyCompileError:
                continue
            packed.writestr(ZipInfo(f"{place}c"), compiled.read_bytes())
    return written.getvalue()


def distributions(
    name: str = DISTRIBUTION, extras: tuple[str, ...] = ("cluster",)
) -> dict[str, metadata.Distribution]:
    """Everything that a distribution requires, by name, without itself.

    Markers other than extras are not judged: what they leave out is not installed here. BadConfig
    where something without a marker is missing.
    """
    found: dict[str, metadata.Distribution] = {}
    open_: list[tuple[str, tuple[str, ...]]] = [(name, extras)]
    walked = set()
    while open_:
        each = open_.pop()
        if each in walked:
            continue
        walked.add(each)
        for required, wanted, marker in _requirements(*each):
            if required in _NOT_NEEDED:
                continue
            try:
                found[required] = metadata.distribution(required)
            except metadata.PackageNotFoundError:
                if marker:
                    continue
                raise _missing(required) from None
            open_.append((required, wanted))
    return found


def _requirements(name: str, extras: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(name, extras, marker other than an extra) of what a distribution requires."""
    try:
        lines = metadata.distribution(name).requires or []
    except metadata.PackageNotFoundError:
        raise _missing(name) from None
    for line in lines:
        words, _, marker = line.partition(";")
        extra = _EXTRA.search(marker)
        match = _NAME.match(words.strip())
        if match is None or (extra and extra[1] not in extras):
            continue
        wanted = tuple(part.strip() for part in (match[2] or "").split(",") if part.strip())
        yield _normal(match[1]), wanted, "" if extra else marker


def _files(site: str | None) -> Iterator[tuple[str, Path | bytes]]:
    """(name in the archive, file or content)."""
    package = Path(weibo_crawler.__file__).parent
    for path in package.rglob("*.py"):
        yield f"weibo_crawler/{path.relative_to(package).as_posix()}", path
    yield "sitecustomize.py", _SITE
    wanted = distributions(extras=_extras())
    if site is not None:
        wanted |= {**distributions(site, ()), site: metadata.distribution(site)}
        wanted.pop(DISTRIBUTION, None)
    for name, distribution in wanted.items():
        if distribution.files is None:
            raise BadConfig(
                f"{name}: its files are not listed; install it by pip for --runner hadoop"
            )
        for file in distribution.files:
            if _is_needed(file) or (name == site and file.name == "entry_points.txt"):
                yield file.as_posix(), Path(str(distribution.locate_file(file)))


def _extras() -> tuple[str, ...]:
    """What is optional travels where it is installed: the nodes are to do as we do here."""
    optional = {"fast": ("wreq",), "kerberos": ("gssapi",), "archive": ("warcio", "zstandard")}
    return ("cluster", *(name for name, needs in optional.items() if all(map(find_spec, needs))))


def _is_needed(file: metadata.PackagePath) -> bool:
    inside = ".." not in file.parts and not file.is_absolute()
    if file.name == "METADATA":  # wreq looks up its own version, and does not start without
        return inside
    return (
        inside
        and file.suffix not in _NOT_READ
        and "examples" not in file.parts
        and not any(part.endswith((".dist-info", ".egg-info")) for part in file.parts)
    )


def _read(source: Path | bytes) -> bytes:
    return source if isinstance(source, bytes) else source.read_bytes()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _missing(name: str) -> BadConfig:
    return BadConfig(
        f"{name} is not installed here, and the nodes need it: {how_to_install('cluster')}"
    )

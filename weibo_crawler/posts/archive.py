"""What a mapper needs beside python3, as two zip files: this package, and what it requires.

Taken from the running environment, so that nodes run what was tried here. Compiled parts ask for
the same minor version of Python on the nodes; Python checks it at its start. There are two, as
what is required is eight times as large and changes with few versions.

Python imports from the files themselves. What it cannot import from there, packages with compiled
parts or data, each task unpacks for itself at its start, in half a second. YARN could unpack it
once for all tasks of a node, and takes seconds: its FSDownload changes the permissions of each
file, and starts chmod for that where Hadoop's native library is missing.
"""

import hashlib
import marshal
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from importlib import metadata
from importlib.util import MAGIC_NUMBER, cache_from_source, find_spec, source_hash
from pathlib import Path
from struct import pack
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import weibo_crawler
from weibo_crawler.errors import DISTRIBUTION, BadConfig, how_to_install

_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")
# required by the simulator, plots and a terminal, never by a job; by mrjob for settings of its own,
# which we have none of; and setuptools by mrjob, for distutils, where Python has none
_NOT_NEEDED = frozenset(
    {"aiohttp", "pygal", "pyyaml", "rich"}
    | ({"setuptools"} if sys.version_info < (3, 12) else set())
)
# what is compiled before or read by nobody; mrjob's examples are two dozen files
_NOT_READ = frozenset(
    {".pyc", ".pth", ".pyi", ".exe", ".c", ".h", ".pxd", ".pyx", ".js", ".jar", ".sh"}
)
ARCHIVES = "env-"  # so their names begin
# their names in a task's folder; Python's path needs the first, which adds the other
ENV, PACKAGES = "env.zip", "packages.zip"
_UNPACKED = "packages"  # beside them
_ASIDE = "unpacked/"  # so begin the names of what is to be unpacked
_PURE = (".py", "/py.typed")
_LEVEL = 1  # most of it is compiled code: level 6 makes it a tenth smaller, in twice the time
_UNCHECKED, _32_BITS = 1, 0xFFFF_FFFF  # in the first bytes of a compiled module
WRONG_PYTHON = 64  # + the minor version found: the exit code of a mapper under another Python
# Run at the start of Python, before any import. Compiled parts want the version they were made for.
# Other processes of the task may be unpacking as well: the folder is there once it is whole.
# And mrjob imports distutils, which Python 3.12 lacks: what setuptools has in its place is switched
# on by a .pth file, and those are not read from PYTHONPATH.
_SITE = f"""import os
import sys
if sys.version_info[:2] != {sys.version_info[:2]!r}:
    sys.stderr.write("weibo-crawler: the archive is for Python {sys.version_info[0]}.\
{sys.version_info[1]}, this node has " + sys.version + "\\n")
    sys.stderr.flush()
    os._exit({WRONG_PYTHON} + sys.version_info[1])
_packages, _folder = map(os.path.abspath, ({PACKAGES!r}, {_UNPACKED!r}))
if not os.path.isdir(_folder):
    import shutil
    import zipfile
    _draft = f"{{_folder}}.{{os.getpid()}}"
    with zipfile.ZipFile(_packages) as _file:
        _file.extractall(_draft, [n for n in _file.namelist() if n.startswith({_ASIDE!r})])
    try:
        os.rename(os.path.join(_draft, {_ASIDE!r}), _folder)
    except OSError:
        if not os.path.isdir(_folder):
            raise
    shutil.rmtree(_draft, ignore_errors=True)
_next = sys.path.index(os.path.dirname(__file__)) + 1
sys.path[_next:_next] = [_packages, _folder]
if sys.version_info >= (3, 12):
    import _distutils_hack
    _distutils_hack.add_shim()
""".encode()


class Archive:
    """The files, by their names in the archive; name: changes with any byte of them."""

    def __init__(self, files: Mapping[str, Path | bytes]) -> None:
        self._files = dict(sorted(files.items()))
        digest = hashlib.blake2b(digest_size=8)
        for place, source in self._files.items():
            data = _read(source)
            digest.update(f"{place}\0{len(data)}\0".encode() + data)
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        self.name = f"{ARCHIVES}{version}-{digest.hexdigest()}.zip"

    @property
    def places(self) -> Set[str]:
        """The names of its files, without compiled modules."""
        return self._files.keys()

    def write(self, file: BinaryIO) -> None:
        """Modules lie in it as source, for the lines of a traceback, and compiled, as a node keeps
        nothing that it compiles."""
        aside = _packages_aside(self._files)
        with ZipFile(file, "w") as packed:
            for place, source in self._files.items():
                is_aside = place.partition("/")[0] in aside
                prefix = _ASIDE if is_aside else ""
                data = _read(source)
                _add(packed, prefix + place, data)
                if isinstance(source, Path) and (code := _compiled(source, data, place)):
                    cached = _cached(place) if is_aside else f"{place}c"
                    _add(packed, prefix + cached, code)


def archives(site: str | None = None, *, keeps_answers: bool = True) -> dict[str, Archive]:
    """By their names in a task's folder. site: the distribution that adds the site, with its entry
    points; None: it is a folder of ours. keeps_answers: what writes them is needed, too."""
    required = dict(_required(site, keeps_answers=keeps_answers))
    return {ENV: Archive(dict(_own())), PACKAGES: Archive(required)}


def _packages_aside(files: Iterable[str]) -> set[str]:
    """Compiled parts cannot be imported from a zip file, and data are looked for beside the module:
    a package that holds either is unpacked whole."""
    return {place.partition("/")[0] for place in files if not place.endswith(_PURE)}


def _add(packed: ZipFile, place: str, data: bytes) -> None:
    # made of a name alone it has the date 1980-01-01, whenever it was installed here
    packed.writestr(ZipInfo(place), data, ZIP_DEFLATED, _LEVEL)


def _cached(place: str) -> str:
    """Where Python looks for the compiled module."""
    folder, _, name = place.rpartition("/")
    return f"{folder}/__pycache__/{name[: -len('.py')]}.{sys.implementation.cache_tag}.pyc"


def _compiled(source: Path, data: bytes, place: str) -> bytes:
    """As Python keeps it beside the module (PEP 552), never compared with the source; b"" for what
    is no module, or does not compile: nobody imports that."""
    if source.suffix != ".py":
        return b""
    code = _kept(source)
    if not code:
        try:
            code = marshal.dumps(compile(data, place, "exec", dont_inherit=True))
        except (SyntaxError, ValueError):
            return b""
    return MAGIC_NUMBER + pack("<I", _UNCHECKED) + source_hash(data) + code


def _kept(source: Path) -> bytes:
    """What Python here has kept of the module, as Python judges it: by date and size; b"" where
    there is nothing, or that of another source. It names the file here in a traceback."""
    told = source.stat()
    head = pack("<3I", 0, int(told.st_mtime) & _32_BITS, told.st_size & _32_BITS)
    try:
        kept = Path(cache_from_source(str(source))).read_bytes()
    except (OSError, NotImplementedError):
        return b""
    return kept[16:] if kept.startswith(MAGIC_NUMBER + head) else b""


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


def _own() -> Iterator[tuple[str, Path | bytes]]:
    """(name in the archive, file or content)."""
    package = Path(weibo_crawler.__file__).parent
    for path in package.rglob("*.py"):
        yield f"weibo_crawler/{path.relative_to(package).as_posix()}", path
    yield "sitecustomize.py", _SITE


def _required(site: str | None, *, keeps_answers: bool) -> Iterator[tuple[str, Path]]:
    wanted = distributions(extras=_extras(keeps_answers=keeps_answers))
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


def _extras(*, keeps_answers: bool) -> tuple[str, ...]:
    """What is optional travels where it is installed: the nodes are to do as we do here."""
    optional: dict[str, tuple[str, ...]] = {"fast": ("wreq",), "kerberos": ("gssapi",)}
    if keeps_answers:  # a quarter of all
        optional["archive"] = "warcio", "zstandard"
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

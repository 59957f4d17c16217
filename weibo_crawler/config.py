"""Settings: typed, read once, from a TOML file and WEIBO_<SECTION>__<KEY> variables. What each
means says conf/crawler.toml.

The variables win over the file, the file over the defaults below. No file at all is fine.
Relative paths and SQLite addresses in a file are relative to the folder of that file; those of
variables and defaults to the base folder: WEIBO_BASE_DIR where set (the driver of a map job sets it
for its mappers), else the working folder.
"""

import ipaddress
import math
import os
import re
import socket
import tomllib
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from weibo_crawler.errors import BadConfig, ListAway
from weibo_crawler.errors import masked as masked
from weibo_crawler.records import LONGEST_CLAIM_S, LONGEST_LEASE_S, WAYS, Edge

DEFAULT_FILE = Path("conf/crawler.toml")
FILE_OPTIONS = ("ssl_ca", "ssl_cert", "ssl_key", "socket", "keytab")  # of a store's address
# what may name places of this machine; group 2 is a relative one
_ADDRESS = re.compile(rf"(?s)(\Asqlite:///|[?&](?:{'|'.join(FILE_OPTIONS)})=)([^/~&][^&]*)")
_PATH = re.compile(r"(?s)(\A)(?!.*://|\s*\Z)([^/~].*)")
_PLACES = {
    **dict.fromkeys(("store.users", "store.tables"), _ADDRESS),
    **dict.fromkeys(("store.password_file", "egress.proxies_file", "archive.folder"), _PATH),
    **dict.fromkeys(("hadoop.streaming_jar", "metrics.textfile"), _PATH),
}

Positive = Annotated[int, Meta(ge=1, le=10**12)]
Count = Annotated[int, Meta(ge=1, le=10_000)]
Natural = Annotated[int, Meta(ge=0, le=10**12)]
Seconds = Annotated[float, Meta(gt=0, le=10_000_000)]  # four months
Rate = Annotated[float, Meta(ge=0, le=10_000)]
Share = Annotated[float, Meta(gt=0, le=1)]


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Site(_Section, frozen=True, forbid_unknown_fields=True):
    """Which site, and where it is."""

    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,39}$")] = "weibo"
    base_url: str | None = None
    visitor_url: str | None = None
    user_agent: str = (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 "
        "(KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
    )

    @property
    def is_loopback(self) -> bool:
        """Whether nothing is sent but to this machine."""
        urls = (self.base_url or "", self.visitor_url or self.base_url or "")
        return all(_is_loopback(url) for url in urls)


class Store(_Section, frozen=True, forbid_unknown_fields=True):
    """Where users and tables live. The password is that of the SQL account."""

    users: str = "sqlite:///data/users.db"
    tables: str = "sqlite:///data/tables.db"
    hbase_command: str = "hbase"
    password: str | None = None
    password_file: str | None = None

    def read_password(self) -> str | None:
        """From `password`, else the first line of `password_file`; None: there is none."""
        if self.password is not None or self.password_file is None:
            return self.password
        return resolve(self.password_file).read_text("utf-8").partition("\n")[0]


class Harvest(_Section, frozen=True, forbid_unknown_fields=True):
    """keep_edges: of everybody on each page, also of those with too few fans."""

    min_fans: Natural = 10
    max_users: Positive = 10_000_000
    max_depth: Natural | None = None
    max_time_s: Seconds | None = None
    processes: Annotated[int, Meta(ge=1, le=64)] = 1
    edges: tuple[Edge, ...] = (Edge.FANS,)
    edges_if_walled: tuple[Edge, ...] = (Edge.FOLLOWS, Edge.REPOSTS, Edge.COMMENTS)
    posts_pages: Count = 1
    comments_posts: Annotated[int, Meta(ge=1, le=20)] = 3
    reposters_posts: Annotated[int, Meta(ge=1, le=20)] = 3
    mentions_per_page: Count = 5
    topic_pages: Count = 1
    keep_edges: bool = True
    keep_posts: bool = True
    dry_price: Annotated[float, Meta(ge=0, le=1_000_000)] = 50.0
    level_wait_s: Seconds = 900.0
    lease_s: Annotated[float, Meta(ge=3, le=LONGEST_CLAIM_S)] = 60.0
    rest_s: Seconds = 2.0
    max_attempts: Count = 3
    max_failed_share: Share = 0.2

    @property
    def all_edges(self) -> tuple[Edge, ...]:
        """Each once, those for walled users last."""
        return tuple(dict.fromkeys((*self.edges, *self.edges_if_walled)))


class Posts(_Section, frozen=True, forbid_unknown_fields=True):
    """revisit_posts: so many are expected by the user's own posting rate. comments, reposts: of the
    newest posts of a page."""

    max_pages: Positive | None = None
    users_in_flight: Annotated[int, Meta(ge=0, le=10_000)] = 0
    ranges: Annotated[int, Meta(ge=1, le=256)] = 16
    revisit_posts: Annotated[float, Meta(gt=0, le=1000)] = 5.0
    revisit_min_h: Annotated[float, Meta(gt=0, le=100_000)] = 0.25
    revisit_max_d: Annotated[float, Meta(gt=0, le=10_000)] = 30.0
    profile_days: Annotated[float, Meta(gt=0, le=10_000)] = 30.0
    info_days: Annotated[float, Meta(ge=0, le=10_000)] = 0.0
    comments: Annotated[int, Meta(ge=0, le=100)] = 0
    reposts: Annotated[int, Meta(ge=0, le=100)] = 0
    below_pages: Annotated[int, Meta(ge=1, le=1000)] = 1
    keep_versions: Annotated[int, Meta(ge=1, le=100_000)] = 100
    max_failed_share: Share = 0.2


class Pace(_Section, frozen=True, forbid_unknown_fields=True):
    """stop_window, stop_share: refusals of the last hour count where the egresses rest for them.
    drift_share: of pages of ten users or more. A run also stops when nothing is shown where
    something is known to be."""

    requests_per_second: Rate = 1 / 3
    min_requests_per_second: Rate | None = None
    fall_factor: Annotated[float, Meta(gt=0, lt=1)] = 0.75
    rise_share: Share = 1 / 32
    stop_share: Share = 0.9
    stop_window: Count = 50
    drift_share: Share = 0.2
    give_up_s: Annotated[float, Meta(ge=0, le=10_000_000)] = 21_600.0

    @property
    def floor(self) -> float:
        """The lowest rate of an egress, requests per second."""
        least = self.min_requests_per_second
        return self.requests_per_second / 64 if least is None else least


class Egress(_Section, frozen=True, forbid_unknown_fields=True):
    """Ways out."""

    proxies_file: str | None = None
    proxies_url: str | None = None
    reload_s: Annotated[float, Meta(ge=0.05, le=86_400)] = 60.0
    when_empty: Literal["wait", "stop"] = "wait"
    direct: bool | None = None
    lease_s: Annotated[float, Meta(ge=1, le=LONGEST_LEASE_S)] = 30.0
    direct_name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:-]{1,200}$")] | None = None
    bind: tuple[str, ...] = ()

    @property
    def use_direct(self) -> bool:
        has_proxies = self.proxies_file is not None or self.proxies_url is not None
        return not has_proxies if self.direct is None else self.direct

    @property
    def public_address(self) -> str:
        """The name under which the direct connection is leased."""
        return self.direct_name or "".join(socket.gethostname().split()) or "localhost"


class Session(_Section, frozen=True, forbid_unknown_fields=True):
    """Visitor sessions. per_hour: without a pace limit there is no ceiling."""

    enabled: bool = True
    per_hour: Annotated[int, Meta(ge=1, le=3600)] = 30


class Fetch(_Section, frozen=True, forbid_unknown_fields=True):
    """concurrency: 0 = as `Fetcher.room` tells."""

    transport: Literal["auto", "requests", "wreq"] = "auto"
    concurrency: Annotated[int, Meta(ge=0, le=1024)] = 0
    connect_timeout_s: Seconds = 5.0
    read_timeout_s: Seconds = 20.0
    max_body_bytes: Positive = 4 * 1024 * 1024
    attempts: Count = 5
    doubt_share: Annotated[float, Meta(ge=0, lt=1)] = 0.01
    verify_tls: bool = True


class Media(_Section, frozen=True, forbid_unknown_fields=True):
    """Pictures and videos (`media`)."""

    requests_per_second: Rate = 1.0
    max_file_bytes: Positive = 1_000_000_000


class Archive(_Section, frozen=True, forbid_unknown_fields=True):
    """Every answer of the site as WARC 1.1. folder: None = none are written."""

    folder: str | None = None
    max_file_bytes: Annotated[int, Meta(ge=1_000, le=10**12)] = 1_000_000_000
    compression: Literal["gzip", "zstd"] = "gzip"


class Sqoop(_Section, frozen=True, forbid_unknown_fields=True):
    """Import by Sqoop 1.4.7. jdbc_parameters: behind the question mark of the database's JDBC
    address."""

    command: str = "sqoop"
    maps: Count = 2
    jdbc_parameters: str = ""
    options: tuple[str, ...] = ()


class Hadoop(_Section, frozen=True, forbid_unknown_fields=True):
    """The posts job on YARN (`posts --runner hadoop`)."""

    command: str = "hadoop"
    streaming_jar: str | None = None
    folder: str | None = None
    resourcemanager: str = "http://127.0.0.1:8088"
    jobhistory: str = "http://127.0.0.1:19888"
    namenode: str | None = None
    python: str = "python3"
    queue: str | None = None
    running_maps: Count | None = None
    map_memory_mb: Annotated[int, Meta(ge=64, le=1_000_000)] | None = None
    task_timeout_s: Annotated[int, Meta(ge=10, le=1_000_000)] = 600
    attempts: Annotated[int, Meta(ge=1, le=100)] = 4
    jobconf: tuple[str, ...] = ()
    hbase_jars: tuple[str, ...] = ()


class Metrics(_Section, frozen=True, forbid_unknown_fields=True):
    """listen: host:port for a scraper; textfile: a file rewritten at each report."""

    listen: str | None = None
    textfile: str | None = None


class Settings(_Section, frozen=True, forbid_unknown_fields=True):
    site: Site = Site()
    store: Store = Store()
    harvest: Harvest = Harvest()
    posts: Posts = Posts()
    pace: Pace = Pace()
    egress: Egress = Egress()
    session: Session = Session()
    fetch: Fetch = Fetch()
    media: Media = Media()
    archive: Archive = Archive()
    sqoop: Sqoop = Sqoop()
    hadoop: Hadoop = Hadoop()
    metrics: Metrics = Metrics()


def load(file: Path | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings; BadConfig names file or variable, setting and remedy.

    file: a settings file that must exist; None: WEIBO_CONFIG, else conf/crawler.toml if there.
    """
    path = settings_file(file, environ)
    is_named = bool(file or environ.get("WEIBO_CONFIG"))
    merged = _read_file(path) if is_named or path.exists() else {}
    moved = _from_the_file(merged, path)
    origin = _merge_variables(merged, path, environ)
    for name, old in moved.items():
        if name not in origin:
            _check_habit(name, old, path, environ)
    try:
        settings = msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise BadConfig(_explain(str(error), path, origin, merged)) from None
    _check(settings, environ)
    return settings


def settings_file(file: Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """Where the settings are: `file`, else WEIBO_CONFIG, else conf/crawler.toml."""
    return resolve(str(file or environ.get("WEIBO_CONFIG") or DEFAULT_FILE), environ)


def _from_the_file(merged: dict[str, Any], path: Path) -> dict[str, str]:
    """Make places that are relative to the settings file absolute; setting -> how it was given."""
    moved = {}
    for name, form in _PLACES.items():
        section, _, key = name.partition(".")
        values = merged.get(section)
        value = values.get(key) if isinstance(values, dict) else None
        if isinstance(value, str) and form.search(value):
            merged[section][key] = form.sub(
                lambda found: found[1] + os.path.normpath(path.parent / found[2]), value
            )
            moved[name] = value
    return moved


def _check_habit(name: str, old: str, path: Path, environ: Mapping[str, str]) -> None:
    """Raise BadConfig where nothing is at the place that is relative to the settings file, and
    something at the one relative to the base folder, which was meant before."""
    for found in _PLACES[name].finditer(old):
        place = found[2]
        here, there = Path(os.path.normpath(path.parent / place)), resolve(place, environ)
        if not here.exists() and there.exists():
            beside = os.path.relpath(there, path.parent)
            meant = old[: found.start(2)] + beside + old[found.end(2) :]
            raise BadConfig(
                f"{path}: {name}: relative addresses are relative to this file, so it names "
                f"{here}, where nothing is; for {there} write {meant}"
            )


def resolve(path: str, environ: Mapping[str, str] = os.environ) -> Path:
    """A path of the settings, made absolute from the base folder."""
    try:
        return Path(environ.get("WEIBO_BASE_DIR") or Path.cwd()) / Path(path).expanduser()
    except (OSError, RuntimeError) as error:  # the folder is gone, or ~nobody
        raise BadConfig(f"{masked(path)}: cannot be found from here: {error}") from None


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_ip(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_multicast)


def _is_stream(path: Path) -> bool:
    return path.is_fifo() or path.is_socket() or path.is_char_device()


def _holds_password(address: str) -> bool:
    """Whether there is one in an address of a server."""
    account, at, _ = address.partition("?")[0].partition("://")[2].rpartition("@")
    return bool(at) and ":" in account


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadConfig(f"{path}: cannot read the settings file: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # numbers and lists that Python cannot hold, too
        raise BadConfig(f"{path}: not valid TOML: {error}") from None


def _merge_variables(
    merged: dict[str, Any], path: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """Lay WEIBO_<SECTION>__<KEY> over the file; returns which setting came from which variable."""
    sections = typing.get_type_hints(Settings)
    origin: dict[str, str] = {}
    for name in sorted(environ):
        if not name.startswith("WEIBO_"):
            continue
        if "__" not in name:
            _check_underscore(name)
            continue
        section, _, key = name[len("WEIBO_") :].lower().partition("__")
        if section not in sections or key not in (
            hints := typing.get_type_hints(sections[section])
        ):
            raise BadConfig(f"{name}: there is no setting {section}.{key}{_nearest(section, key)}")
        if not isinstance(merged.setdefault(section, {}), dict):
            raise BadConfig(f"{path}: {section}: expected a section [{section}]")
        merged[section][key] = _from_text(environ[name], hints[key], name)
        origin[f"{section}.{key}"] = name
    return origin


def _check_underscore(name: str) -> None:
    """Raise BadConfig where a variable of one underscore is meant for a setting: it would change
    nothing, without a word."""
    import difflib

    words = name[len("WEIBO_") :].lower()
    for section, kind in typing.get_type_hints(Settings).items():
        begins, _, key = words.partition(f"{section}_")
        known = difflib.get_close_matches(key, typing.get_type_hints(kind), 1, 0.8)
        if words == section or (not begins and known):
            full = f"WEIBO_{section}__{known[0] if known else '<KEY>'}".upper()
            raise BadConfig(f"{name}: a setting has two underscores behind its section: {full}")


def _from_text(text: str, hint: Any, name: str) -> Any:
    """A variable's text as what msgspec can convert: lists by comma, "" and "none" as None. A place
    may be no UTF-8, as names of files may; numbers and words are refused then."""
    if str not in (hint, *typing.get_args(hint)) and text != text.encode(errors="replace").decode():
        raise BadConfig(f"{name}: not UTF-8 text: {text[:60]!r}")
    optional = isinstance(hint, types.UnionType | typing._UnionGenericAlias) and (  # type: ignore[attr-defined]
        type(None) in typing.get_args(hint)
    )
    if optional and text.strip().lower() == "none":
        return None
    if optional and not text.strip() and str not in typing.get_args(hint):
        return None
    if typing.get_origin(hint) is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _nearest(section: str, key: str) -> str:
    import difflib

    if not section:  # it is a section that nobody knows
        close = difflib.get_close_matches(key, typing.get_type_hints(Settings), 1)
        return f"; did you mean [{close[0]}]?" if close else ""
    known = [
        f"{s}.{k}" for s, t in typing.get_type_hints(Settings).items() for k in t.__struct_fields__
    ]
    close = difflib.get_close_matches(f"{section}.{key}", known, 1)
    return f"; did you mean {close[0]}?" if close else ""


def _explain(message: str, path: Path, origin: Mapping[str, str], merged: Mapping[str, Any]) -> str:
    """msgspec's "Expected … - at `$.pace.requests_per_second`" in plain words, with the place it
    came from."""
    what, _, where = message.partition(" - at `$.")
    setting = where.rstrip("`").split("[")[0]
    unknown = what.partition("unknown field `")[2].rstrip("`")
    if unknown:
        section = setting
        name = f"setting {section}.{unknown}" if section else f"section [{unknown}]"
        return f"{path}: there is no {name}{_nearest(section, unknown)}"
    section, _, key = setting.partition(".")
    values = merged.get(section)
    value = values.get(key) if isinstance(values, dict) else None
    what = re.sub(r"(?s)(['\"])(.*)\1", lambda value: repr(masked(value[2])), what)
    if what.endswith("got `str`") and isinstance(value, str):
        what = what.replace("`str`", f"the text {masked(value)[:60]!r}")
    if what.startswith("Invalid enum value"):
        what = what.replace("Invalid enum value", "unknown word") + _choices(setting)
    what = re.sub(r" matching regex .*", " of letters, digits and . _ : - alone", what)
    what = re.sub(r"`([^`]+)`", _in_words, what)
    for sign, word in _SIGNS.items():
        what = what.replace(f" {sign} ", f" {word} ")
    return f"{origin.get(setting, path)}: {setting}: {what[:1].lower()}{what[1:]}"


def _choices(setting: str) -> str:
    """The words that a setting, or a list, may hold."""
    section, _, key = setting.partition(".")
    hint = typing.get_type_hints(typing.get_type_hints(Settings)[section])[key]
    words = typing.get_args(hint) if typing.get_origin(hint) is Literal else WAYS
    return f"; use {', '.join(words)}"


def _in_words(found: re.Match[str]) -> str:
    """msgspec's name of a type for people; what may be left out besides is not said."""
    names = [name for name in found[1].split(" | ") if name != "null"] or ["null"]
    return " or ".join(_TYPES.get(name, name) for name in names)


_SIGNS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a section",
    "null": "nothing",
}


def _check_posts(posts: Posts) -> None:
    if posts.revisit_min_h > posts.revisit_max_d * 24:
        raise BadConfig(
            f"posts.revisit_min_h: {posts.revisit_min_h:g} hours are more than "
            f"posts.revisit_max_d, {posts.revisit_max_d:g} days; give less than that"
        )


def _check_edges(harvest: Harvest) -> None:
    for name, edges in (("edges", harvest.edges), ("edges_if_walled", harvest.edges_if_walled)):
        is_known = set(edges) <= set(WAYS)
        if not is_known or len(set(edges)) < len(edges) or (name == "edges" and not edges):
            known = ", ".join(WAYS)
            least = "at least one" if name == "edges" else "any"
            raise BadConfig(f"harvest.{name}: name {least} of: {known}; each once")


def _check_egress(egress: Egress) -> None:
    if not egress.use_direct and egress.proxies_file is None and egress.proxies_url is None:
        raise BadConfig(
            "egress.direct: false needs egress.proxies_file or egress.proxies_url, "
            "else there is no way out"
        )
    if egress.proxies_url is not None and not _is_http(egress.proxies_url):
        raise BadConfig("egress.proxies_url: give the http(s) address of a list of proxies")
    for address in egress.bind:
        if not _is_ip(address):
            raise BadConfig(
                f"egress.bind: {masked(address)!r} is no IP address of a machine, such as 192.0.2.7"
            )
    if len(set(map(ipaddress.ip_address, egress.bind))) < len(egress.bind):
        raise BadConfig("egress.bind: name each address once")
    if egress.bind and egress.direct_name is not None:
        raise BadConfig(
            "egress.direct_name: it names one public address, and egress.bind goes out by one or "
            "more of its own: leave one of the two out"
        )


def _check(settings: Settings, environ: Mapping[str, str]) -> None:
    """What types cannot say."""
    site = settings.site
    for name, url in (("base_url", site.base_url), ("visitor_url", site.visitor_url or None)):
        if url is None:
            continue
        if not _is_http(url) or " " in url or (name == "base_url" and re.search("[?#]", url)):
            raise BadConfig(
                f"site.{name}: {masked(url)!r} is no http(s) address, such as http://127.0.0.1:8800"
            )
        if "@" in urlsplit(url).netloc:
            raise BadConfig(
                f"site.{name}: an account does not belong into the address of the site: leave out "
                "what stands before the @"
            )
    if not site.user_agent.isascii() or not site.user_agent.isprintable():
        raise BadConfig("site.user_agent: a header takes printable ASCII only")
    if not math.isfinite(settings.pace.requests_per_second):
        raise BadConfig("pace.requests_per_second: give a number such as 0.33")
    for name, rate, usual in (
        ("pace", settings.pace.requests_per_second, "0.33, one request in 3 s"),
        ("media", settings.media.requests_per_second, "1"),
    ):
        if rate == 0 and not site.is_loopback:
            raise BadConfig(
                f"{name}.requests_per_second: 0 (no limit) is for loopback addresses only; for "
                f"{urlsplit(site.base_url or '').hostname or site.name} set a rate such as {usual}"
            )
    namenodes = settings.hadoop.namenode
    if namenodes is not None and not all(_is_http(one.strip()) for one in namenodes.split(",")):
        raise BadConfig(
            f"hadoop.namenode: {masked(namenodes)!r} is no http(s) address, such as "
            "http://nn.example:9870, the web address of HDFS"
        )
    if settings.pace.floor > settings.pace.requests_per_second:
        raise BadConfig(
            "pace.min_requests_per_second: must not be above pace.requests_per_second, the ceiling"
        )
    _check_edges(settings.harvest)
    _check_posts(settings.posts)
    _check_egress(settings.egress)
    servers = {"users": "mysql://user@host:port/database", "tables": "hbase://host:port[/prefix]"}
    for name, server in servers.items():
        address = getattr(settings.store, name)
        if not address.startswith(("sqlite:///", server[: server.index("//") + 2])):
            raise BadConfig(
                f"store.{name}: {masked(address)!r} is not supported; use sqlite:///file.db "
                f"(relative), sqlite:////folder/file.db (absolute) or {server}"
            )
        if not address.startswith("sqlite:") and _holds_password(address):
            raise BadConfig(
                f"store.{name}: a password does not belong into an address; "
                "use WEIBO_STORE__PASSWORD or store.password_file"
            )
    for place in (name for name, form in _PLACES.items() if form is _PATH):
        section, _, key = place.partition(".")
        named = getattr(getattr(settings, section), key)
        if named is not None and not named.strip():
            raise BadConfig(
                f"{place}: an empty text names no place: leave the setting out, or, in a variable, "
                "write none"
            )
    for name, value in (
        ("store.password_file", settings.store.password_file),
        ("egress.proxies_file", settings.egress.proxies_file),
    ):
        if value is not None:
            path = resolve(value, environ)
            if name == "egress.proxies_file" and _is_stream(path):
                raise BadConfig(
                    f"{name}: {masked(value)} is a pipe or a device, which can be read once at "
                    "most, and a run reads its list again and again: name a file"
                )
            try:
                path.open("rb").close()
            except OSError as error:
                sort = ListAway if name == "egress.proxies_file" else BadConfig
                raise sort(f"{name}: cannot read {masked(value)}: {error.strerror}") from None

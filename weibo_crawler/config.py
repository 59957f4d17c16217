"""Settings: typed, read once, from a TOML file and WEIBO_<SECTION>__<KEY> variables.

The variables win over the file, the file over the defaults below. No file at all is fine.
Relative paths and SQLite addresses are meant from the base folder: WEIBO_BASE_DIR where set
(the driver of a map job sets it for its mappers), else the working folder.
"""

import ipaddress
import math
import os
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from weibo_crawler.errors import BadConfig
from weibo_crawler.records import Edge

DEFAULT_FILE = Path("conf/crawler.toml")
LIVE_SITE = "https://m.weibo.cn"
LIVE_VISITOR = "https://visitor.passport.weibo.cn/visitor/genvisitor2"

Positive = Annotated[int, Meta(ge=1, le=10**12)]
Count = Annotated[int, Meta(ge=1, le=10_000)]
Natural = Annotated[int, Meta(ge=0, le=10**12)]
Seconds = Annotated[float, Meta(gt=0, le=10_000_000)]  # four months
Rate = Annotated[float, Meta(ge=0, le=10_000)]
Share = Annotated[float, Meta(gt=0, le=1)]


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Site(_Section, frozen=True, forbid_unknown_fields=True):
    """Where the site is. visitor_url: "" = no visitor session; unset = the live site's own,
    or none where base_url is another site."""

    base_url: str = LIVE_SITE
    visitor_url: str | None = None
    user_agent: str = (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 "
        "(KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
    )

    @property
    def visitor(self) -> str:
        """The address that opens a visitor session, "" for none."""
        if self.visitor_url is None:
            return LIVE_VISITOR if self.base_url.rstrip("/") == LIVE_SITE else ""
        return self.visitor_url

    @property
    def is_loopback(self) -> bool:
        """Whether nothing is sent but to this machine."""
        return all(_is_loopback(url) for url in (self.base_url, self.visitor) if url)


class Store(_Section, frozen=True, forbid_unknown_fields=True):
    """Where users and tables live. The password is that of the SQL account."""

    users: str = "sqlite:///data/users.db"
    tables: str = "sqlite:///data/tables.db"
    password: str | None = None
    password_file: str | None = None

    def read_password(self) -> str | None:
        """From `password`, else the first line of `password_file`; None: there is none."""
        if self.password is not None or self.password_file is None:
            return self.password
        return resolve(self.password_file).read_text("utf-8").partition("\n")[0]


class Harvest(_Section, frozen=True, forbid_unknown_fields=True):
    min_fans: Natural = 10
    max_users: Positive = 10_000_000
    max_depth: Natural | None = None
    max_time_s: Seconds | None = None
    edges: tuple[Edge, ...] = (Edge.FANS,)
    level_wait_s: Seconds = 900.0
    lease_s: Annotated[float, Meta(ge=3, le=86_400)] = 60.0
    rest_s: Seconds = 2.0
    max_attempts: Count = 3
    max_failed_share: Share = 0.2


class Posts(_Section, frozen=True, forbid_unknown_fields=True):
    max_pages: Positive | None = None
    users_in_flight: Count = 32
    ranges: Annotated[int, Meta(ge=1, le=256)] = 16
    max_failed_share: Share = 0.2


class Pace(_Section, frozen=True, forbid_unknown_fields=True):
    """requests_per_second is per egress; 0 = no limit, for loopback addresses only.
    The run stops (exit code 4) when stop_share of the last stop_window answers were refusals, or
    drift_share of them pages of an unknown shape."""

    requests_per_second: Rate = 1 / 3
    stop_share: Share = 0.9
    stop_window: Count = 50
    drift_share: Share = 0.2


class Egress(_Section, frozen=True, forbid_unknown_fields=True):
    """Ways out. proxies_file: one proxy address a line; direct: use the direct connection too."""

    proxies_file: str | None = None
    direct: bool | None = None

    @property
    def use_direct(self) -> bool:
        return self.proxies_file is None if self.direct is None else self.direct


class Fetch(_Section, frozen=True, forbid_unknown_fields=True):
    transport: str = "requests"
    concurrency: Annotated[int, Meta(ge=1, le=1024)] = 32
    connect_timeout_s: Seconds = 5.0
    read_timeout_s: Seconds = 20.0
    max_body_bytes: Positive = 4 * 1024 * 1024
    attempts: Count = 5
    verify_tls: bool = True


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
    fetch: Fetch = Fetch()
    metrics: Metrics = Metrics()


def load(file: Path | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings; BadConfig names file or variable, setting and remedy.

    file: a settings file that must exist; None: WEIBO_CONFIG, else conf/crawler.toml if there.
    """
    named = file or (Path(environ["WEIBO_CONFIG"]) if environ.get("WEIBO_CONFIG") else None)
    path = resolve(str(named or DEFAULT_FILE), environ)
    merged = _read_file(path) if named or path.exists() else {}
    origin = _merge_variables(merged, path, environ)
    try:
        settings = msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise BadConfig(_explain(str(error), path, origin)) from None
    _check(settings, environ)
    return settings


def resolve(path: str, environ: Mapping[str, str] = os.environ) -> Path:
    """A path of the settings, made absolute from the base folder."""
    try:
        return Path(environ.get("WEIBO_BASE_DIR") or Path.cwd()) / Path(path).expanduser()
    except (OSError, RuntimeError) as error:  # the folder is gone, or ~nobody
        raise BadConfig(f"{path}: cannot be found from here: {error}") from None


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


def masked(address: str) -> str:
    """The address without its password."""
    return re.sub(r"(//[^/:@]*):[^/@]*@", r"\1:***@", address)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfig(f"{path}: cannot read the settings file: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: not valid TOML: {error}") from None


def _merge_variables(
    merged: dict[str, Any], path: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """Lay WEIBO_<SECTION>__<KEY> over the file; returns which setting came from which variable."""
    sections = typing.get_type_hints(Settings)
    origin: dict[str, str] = {}
    for name in sorted(environ):
        if not name.startswith("WEIBO_") or "__" not in name:
            continue
        section, _, key = name[len("WEIBO_") :].lower().partition("__")
        if section not in sections or key not in (
            hints := typing.get_type_hints(sections[section])
        ):
            raise BadConfig(f"{name}: there is no setting {section}.{key}{_nearest(section, key)}")
        if not isinstance(merged.setdefault(section, {}), dict):
            raise BadConfig(f"{path}: {section}: expected a section [{section}]")
        merged[section][key] = _from_text(environ[name], hints[key])
        origin[f"{section}.{key}"] = name
    return origin


def _from_text(text: str, hint: Any) -> Any:
    """A variable's text as what msgspec can convert: lists by comma, "" and "none" as None."""
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

    known = [
        f"{s}.{k}" for s, t in typing.get_type_hints(Settings).items() for k in t.__struct_fields__
    ]
    close = difflib.get_close_matches(f"{section}.{key}", known, 1)
    return f"; did you mean {close[0]}?" if close else ""


def _explain(message: str, path: Path, origin: Mapping[str, str]) -> str:
    """msgspec's "Expected … - at `$.pace.requests_per_second`" with the place it came from."""
    what, _, where = message.partition(" - at `$.")
    setting = where.rstrip("`").split("[")[0]
    unknown = what.partition("unknown field `")[2].rstrip("`")
    if unknown:
        section = setting
        name = f"{section}.{unknown}" if section else unknown
        hint = _nearest(section, unknown)
        return f"{path}: there is no setting {name}{hint}"
    return f"{origin.get(setting, path)}: {setting}: {what[:1].lower()}{what[1:]}"


def _check(settings: Settings, environ: Mapping[str, str]) -> None:
    """What types cannot say."""
    site = settings.site
    for name, url in (("base_url", site.base_url), ("visitor_url", site.visitor_url or LIVE_SITE)):
        if not _is_http(url):
            raise BadConfig(
                f"site.{name}: {url!r} is no http(s) address, "
                f"such as {LIVE_SITE} or http://127.0.0.1:8800"
            )
    if not site.user_agent.isascii() or not site.user_agent.isprintable():
        raise BadConfig("site.user_agent: a header takes printable ASCII only")
    if not math.isfinite(settings.pace.requests_per_second):
        raise BadConfig("pace.requests_per_second: give a number such as 0.33")
    if settings.pace.requests_per_second == 0 and not site.is_loopback:
        raise BadConfig(
            "pace.requests_per_second: 0 (no limit) is for loopback addresses only; for "
            f"{urlsplit(site.base_url).hostname} set a rate such as 0.33, one request in 3 s"
        )
    if not settings.harvest.edges or Edge.SEED in settings.harvest.edges:
        raise BadConfig("harvest.edges: name at least one of: fans, follows")
    if not settings.egress.use_direct and settings.egress.proxies_file is None:
        raise BadConfig("egress.direct: false needs egress.proxies_file, else there is no way out")
    if settings.fetch.transport != "requests":
        raise BadConfig(f"fetch.transport: {settings.fetch.transport!r} is not known; use requests")
    homes = (("users", ("sqlite:///", "mysql://")), ("tables", ("sqlite:///",)))
    for name, schemes in homes:
        address = getattr(settings.store, name)
        if not address.startswith(schemes):
            raise BadConfig(
                f"store.{name}: {masked(address)!r} is not supported; use sqlite:///file.db "
                "(relative), sqlite:////folder/file.db (absolute)"
                + (" or mysql://user@host:port/database" if "mysql://" in schemes else "")
            )
        if masked(address) != address:
            raise BadConfig(
                f"store.{name}: a password does not belong into an address; "
                "use WEIBO_STORE__PASSWORD or store.password_file"
            )
    for name, value in (
        ("store.password_file", settings.store.password_file),
        ("egress.proxies_file", settings.egress.proxies_file),
    ):
        if value is not None:
            try:
                resolve(value or "(empty)", environ).open("rb").close()
            except OSError as error:
                raise BadConfig(f"{name}: cannot read {value}: {error.strerror}") from None

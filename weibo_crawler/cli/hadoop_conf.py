"""Where Hadoop's client submits jobs to, by its own configuration files."""

import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

_RM = "yarn.resourcemanager"
_ANSWER_S = 20.0
_PORTS = {"http": 8088, "https": 8090}  # Hadoop's defaults


def web_addresses(command: str) -> list[str]:
    """The web addresses of the ResourceManagers that `command` submits to: one, or all of a
    high-availability pair. [] where it does not tell which file it reads them from."""
    file = _yarn_site(command)
    conf = {} if file is None else _properties(file)
    return resourcemanagers(conf) if conf else []


def resourcemanagers(conf: dict[str, str]) -> list[str]:
    """conf: of yarn-site.xml. What it leaves out is as in Hadoop's yarn-default.xml."""
    scheme = "https" if conf.get("yarn.http.policy") == "HTTPS_ONLY" else "http"
    name = "webapp.https.address" if scheme == "https" else "webapp.address"
    names = [""]
    if conf.get(f"{_RM}.ha.enabled", "").strip() == "true":
        names = [f".{part.strip()}" for part in conf.get(f"{_RM}.ha.rm-ids", "").split(",")]
    found = []
    for one in names:
        host = conf.get(f"{_RM}.hostname{one}") or conf.get(f"{_RM}.hostname") or "0.0.0.0"
        address = conf.get(f"{_RM}.{name}{one}") or f"{host}:{_PORTS[scheme]}"
        found.append(f"{scheme}://" + address.replace(f"${{{_RM}.hostname}}", host).strip())
    return found


def _yarn_site(command: str) -> Path | None:
    """The first one on the class path, as Java looks for it."""
    try:
        done = subprocess.run(
            [command, "classpath"], capture_output=True, text=True, timeout=_ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    files = (Path(part, "yarn-site.xml") for part in done.stdout.strip().split(":") if part)
    return next((file for file in files if file.is_file()), None)


def _properties(file: Path) -> dict[str, str]:
    try:
        found = ET.parse(file).iter("property")
    except (OSError, ET.ParseError):  # the client itself says what is wrong with it
        return {}
    return {each.findtext("name", "").strip(): each.findtext("value", "").strip() for each in found}

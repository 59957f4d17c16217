"""What the mappers are told in confidence: the settings as files that travel beside the job.

Passwords and proxies stand in two files of mode 0600, which mappers find in their working folder;
command line, job settings and environment hold only their names (law 11).
"""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from weibo_crawler.config import Metrics, Settings, resolve

SETTINGS, PROXIES = "weibo-settings.toml", "weibo-proxies.txt"


def write_files(settings: Settings, folder: Path) -> list[str]:
    """Write them into a folder; returns their names."""
    store = replace(settings.store, password=settings.store.read_password(), password_file=None)
    # figures are shown where the job was started; Hadoop's settings hold nothing for a mapper
    settings = replace(settings, store=store, metrics=Metrics())
    names = [SETTINGS]
    if settings.egress.proxies_file is not None:
        _write(folder / PROXIES, resolve(settings.egress.proxies_file).read_bytes())
        settings = replace(settings, egress=replace(settings.egress, proxies_file=PROXIES))
        names.append(PROXIES)
    _write(folder / SETTINGS, to_toml(settings).encode())
    return names


def to_toml(settings: Settings) -> str:
    """The settings as a file that `config.load` reads back as the same."""
    lines = []
    for section, values in msgspec.to_builtins(settings).items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {_toml(value)}" for key, value in values.items() if value is not None]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    # JSON's strings, numbers, lists are TOML's too, but for DEL, which TOML wants escaped
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)

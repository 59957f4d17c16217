"""Jars that tests need, from Maven."""

import hashlib
import os
import subprocess
from pathlib import Path


def jars(pom: Path) -> list[str]:
    """What a pom names, in its order, where Maven keeps it. Maven is asked once for each pom: to
    say it anew takes it some eight seconds of processor time."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weibo-crawler"
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    said = cache / "tests" / f"{pom.stem}-{digest}.txt"
    found = said.read_text().split(":") if said.exists() else []
    if not found or not all(Path(jar).exists() for jar in found):
        found = _ask(pom, said).split(":")
    return found


def _ask(pom: Path, said: Path) -> str:
    """Its answer, which is kept in a file, whole or not at all."""
    said.parent.mkdir(parents=True, exist_ok=True)
    draft = said.with_suffix(f".{os.getpid()}")
    words = ["mvn", "-B", "-q", "-f", str(pom), "dependency:build-classpath"]
    done = subprocess.run(
        [*words, f"-Dmdep.outputFile={draft}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return draft.replace(said).read_text()

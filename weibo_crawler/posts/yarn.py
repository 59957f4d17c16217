"""YARN's web interfaces: what an application does, and its end.

ResourceManager (state, kill), one or all of a high-availability pair; application master through
its proxy (tasks while it runs; no JSON in its first seconds); job history (tasks afterwards). HTTP,
where it is asked for with a ticket of Kerberos.
"""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Any, NamedTuple

from weibo_crawler.errors import BadConfig, StoreError
from weibo_crawler.kerberos import FAILED, opener

_TIMEOUT_S = 30.0
_LARGEST_MB = 8192
_MASTER_MB = 1536  # of an application master, by Hadoop's default
_STANDBY = 307  # it leads to the active one; a GET follows by itself
_EXIT_CODE = re.compile(r"subprocess failed with code (\d+)")


class Application(NamedTuple):
    """state: of YARN, such as ACCEPTED, RUNNING, FINISHED; final: UNDEFINED, SUCCEEDED, FAILED or
    KILLED."""

    id: str
    state: str
    final: str
    diagnostics: str

    @property
    def is_over(self) -> bool:
        return self.state in ("FINISHED", "FAILED", "KILLED")


class Maps(NamedTuple):
    """Tasks of a job. failed: attempts, most of which are tried again."""

    total: int
    running: int
    done: int
    failed: int


class Node(NamedTuple):
    """host: as YARN calls it, and as its containers read it (NM_HOST); memory_mb: for containers,
    free_mb of it left."""

    host: str
    memory_mb: int
    free_mb: int


class Yarn:
    """resourcemanager: one address, or several with commas between, of which the one that told
    something last is asked first; user: in whose name an application is killed. Methods raise
    StoreError where no ResourceManager answers."""

    def __init__(self, resourcemanager: str, jobhistory: str, user: str) -> None:
        self._rms, self._history = addresses(resourcemanager), jobhistory.rstrip("/")
        self._user = user
        self._http = opener()

    @property
    def _rm(self) -> str:
        return self._rms[0]

    def check(self) -> None:
        """Whether there is a ResourceManager at all."""
        if "clusterInfo" not in (self._ask("/ws/v1/cluster/info") or {}):
            raise BadConfig(f"hadoop.resourcemanager: {self._rm} is no YARN ResourceManager")

    def find(self, tag: str) -> Application | None:
        """The application with this tag. None: not submitted yet, or long forgotten."""
        answer = self._ask(f"/ws/v1/cluster/apps?applicationTags={tag.lower()}")
        found = ((answer or {}).get("apps") or {}).get("app") or []
        return _application(found[0]) if found else None

    def nodes(self) -> list[Node]:
        """Those that run."""
        answer = self._ask("/ws/v1/cluster/nodes?states=RUNNING")
        found = ((answer or {}).get("nodes") or {}).get("node") or []
        return sorted(
            Node(
                host=each["id"].rpartition(":")[0],
                memory_mb=each["availMemoryMB"] + each["usedMemoryMB"],
                free_mb=each["availMemoryMB"],
            )
            for each in found
        )

    def largest_mb(self) -> int:
        """How much memory a container may ask for; Hadoop's default where nobody tells."""
        answer = self._ask("/conf?name=yarn.scheduler.maximum-allocation-mb")
        try:
            return int(answer["property"]["value"])
        except (LookupError, TypeError, ValueError):
            return _LARGEST_MB

    def page(self, app: str) -> str:
        """Where people look at it."""
        return f"{self._rm}/cluster/app/{app}"

    def overview(self) -> str:
        """Where people look at all of them."""
        return f"{self._rm}/cluster/apps"

    def maps(self, app: str) -> Maps | None:
        """Its map tasks; None where neither application master nor history tells (yet)."""
        job = (self._job(app, "") or {}).get("job")
        if job is None:
            return None
        return Maps(
            total=job["mapsTotal"],
            running=job.get("mapsRunning", 0),
            done=job["mapsCompleted"],
            failed=job["failedMapAttempts"],
        )

    def failures(self, app: str) -> list[str]:
        """What YARN noted about the attempts that failed; [] where nobody tells."""
        notes = []
        for task in ((self._job(app, "/tasks") or {}).get("tasks") or {}).get("task", []):
            if task["state"] not in ("FAILED", "KILLED"):
                continue
            answer = self._job(app, f"/tasks/{task['id']}/attempts") or {}
            attempts = (answer.get("taskAttempts") or {}).get("taskAttempt", [])
            notes += [attempt["diagnostics"] for attempt in attempts if attempt["diagnostics"]]
        return notes

    def kill(self, app: str) -> None:
        """Ask for its end; it comes a little later. BadConfig where we may not."""
        user = urllib.parse.quote(self._user)
        for rm in self._rms:
            request = urllib.request.Request(
                f"{rm}/ws/v1/cluster/apps/{app}/state?user.name={user}",
                data=b'{"state": "KILLED"}',
                headers={"Content-Type": "application/json"},
                method="PUT",
            )
            try:
                self._http.open(request, timeout=_TIMEOUT_S).close()
            except urllib.error.HTTPError as error:
                with error:
                    if error.code == _STANDBY and rm != self._rms[-1]:
                        continue
                    raise BadConfig(
                        f"{rm} does not let {self._user} kill {app} (status {error.code}): "
                        f"hadoop application -kill {app}, or `yarn application -kill {app}`, may"
                    ) from None
            except FAILED as error:
                if rm == self._rms[-1]:
                    raise _unreachable(rm, error) from None
            else:
                return

    def _job(self, app: str, what: str) -> Any:
        """A part of the job, from the application master, then from the history; None: neither."""
        job = app.replace("application_", "job_")
        for url in (
            f"{self._rm}/proxy/{app}/ws/v1/mapreduce/jobs/{job}{what}",
            f"{self._history}/ws/v1/history/mapreduce/jobs/{job}{what}",
        ):
            try:
                if (answer := self._get(url)) is not None:
                    return answer
            except StoreError:  # progress is worth no failure: the next look may have it
                continue
        return None

    def _ask(self, path: str) -> Any:
        """What the first ResourceManager says that says something; None: none does. StoreError
        where one of them cannot be reached and no other one tells: that may be who knows."""
        away: StoreError | None = None
        for rm in list(self._rms):
            try:
                answer = self._get(rm + path)
            except StoreError as error:
                away = away or error
                continue
            if answer is not None:
                self._rms = [rm, *(each for each in self._rms if each != rm)]
                return answer
        if away:
            raise away
        return None

    def _get(self, url: str) -> Any:
        """The JSON at an address, None where there is none."""
        request = urllib.request.Request(url, headers={"Accept": "application/json"})
        try:
            with self._http.open(request, timeout=_TIMEOUT_S) as answer:
                if "json" not in answer.headers.get("Content-Type", ""):
                    return None
                return json.load(answer)
        except urllib.error.HTTPError as error:
            error.close()
            return None
        except (*FAILED, ValueError) as error:
            parts = urllib.parse.urlsplit(url)
            raise _unreachable(f"{parts.scheme}://{parts.netloc}", error) from None


def alone_mb(nodes: Sequence[Node], largest_mb: int) -> int | None:
    """A size of which no two containers fit into the smallest node; None where it would not find
    room on each of them now, beside an application master."""
    size = min(node.memory_mb for node in nodes) // 2 + 1
    fits = all(node.free_mb >= size + _MASTER_MB for node in nodes)
    return size if fits and size <= largest_mb else None


def addresses(named: str) -> list[str]:
    """Those that a setting names, with commas between."""
    each_one = (each.strip().rstrip("/") for each in named.split(","))
    return [each for each in each_one if each] or [named]


def _unreachable(rm: str, error: Exception) -> StoreError:
    why = getattr(error, "reason", error)
    return StoreError(f"hadoop.resourcemanager: {rm} cannot be reached: {why}")


def exit_codes(notes: list[str]) -> list[int]:
    """The exit codes of mappers in what YARN noted about them."""
    return [int(match[1]) for note in notes if (match := _EXIT_CODE.search(note))]


def _application(raw: dict[str, Any]) -> Application:
    return Application(raw["id"], raw["state"], raw["finalStatus"], raw.get("diagnostics") or "")

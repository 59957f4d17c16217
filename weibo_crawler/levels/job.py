"""What the job of one level is told, and what its figures say."""

from collections.abc import Mapping
from typing import NamedTuple


class LevelJob(NamedTuple):
    """level: users of at most this depth are walked; is_first, retry: as in `Wanted`. topics: it
    reads topics, in place of lists; who wrote there stands in SQL then, as seeds do."""

    run_id: str
    level: int
    is_first: bool = False
    retry: bool = False
    driver: str = ""
    topics: bool = False

    @property
    def stage(self) -> str:
        return "harvest"

    def options(self) -> list[str]:
        """As the job's script is told which users to walk."""
        told = {"--first": self.is_first, "--retry": self.retry, "--topics": self.topics}
        return [f"--level={self.level}", *(name for name, is_set in told.items() if is_set)]

    def stopped(self, counters: Mapping[str, int], *, is_killed: bool) -> str:
        """What is said of a job that was told to stop."""
        left = "this level is walked again" if is_killed else "what was read is stored"
        return (
            f"stopped at level {self.level}; {counters.get('level.new', 0):,} new users; {left}, "
            "the same command goes on"
        )

"""One level of the harvest: key ranges in, users out, each stored once.

`weibo-crawler harvest --runner inline|local|hadoop` calls it for one level after another. A map
walks the users of a range of keys who are no deeper than the level, the shuffle brings together
what all maps found of one user, and reducers store who is new (weibo_crawler/levels).
"""

import gc
from collections.abc import Iterable, Iterator

from mrjob.protocol import RawProtocol

from weibo_crawler.levels.dedup import LevelReducer
from weibo_crawler.levels.task import OPTIONS, Task
from weibo_crawler.levels.walking import LevelMap
from weibo_crawler.mapjob import MapJob
from weibo_crawler.printable import guard_streams


class MRHarvestLevel(MapJob):
    """Walks users, and stores whom they lead to."""

    INTERNAL_PROTOCOL = RawProtocol
    # what reducers wait for takes hours: they would hold the containers of maps
    JOBCONF = {  # noqa: RUF012
        **MapJob.JOBCONF,
        "mapreduce.job.reduce.slowstart.completedmaps": "1.0",
    }

    def jobconf(self) -> dict[str, str]:
        reducers = 4 if self.options.runner == "hadoop" else 1
        return {**super().jobconf(), "mapreduce.job.reduces": str(reducers)}

    def configure_args(self) -> None:
        super().configure_args()
        self.add_passthru_arg("--run-id", help="name of the run in the tables")
        for name, how in OPTIONS.items():
            self.add_passthru_arg(name, **how)

    def mapper_init(self) -> None:
        self.level = LevelMap(Task(self.options, self.set_status))

    def mapper(self, _: object, line: str) -> None:
        self.level.take(line)

    def mapper_final(self) -> Iterator[tuple[str, str]]:
        yield from self.level.finish()

    def reducer_init(self) -> None:
        self.users = LevelReducer(Task(self.options, self.set_status))

    def reducer(self, uid: str, lines: Iterable[str]) -> None:
        self.users.take(uid, lines)

    def reducer_final(self) -> None:
        self.users.finish()


if __name__ == "__main__":
    guard_streams()  # they write the job's log
    gc.set_threshold(50_000)  # as in cli/main.py
    MRHarvestLevel.run()

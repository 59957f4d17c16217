"""What other processes do in the contract of the tables; light, since each process imports it."""

from collections.abc import Callable
from multiprocessing.connection import Connection

from weibo_crawler.store import Put, Tables

ROWS = 20  # rows a put


def batch(writer: int, number: int) -> list[Put]:
    """The puts of one batch: rows among those of all other writers, and one row that all share."""
    puts = [
        Put(
            f"{row:02d}-{number:04d}-{writer}",
            {"post:text": f"{writer} {number} {row}" * 50, "count:likes": str(number)},
            number,
        )
        for row in range(ROWS)
    ]
    return [*puts, Put("shared", {f"post:{writer}-{number}": "here"}, 1)]


def write_batches(opener: Callable[[], Tables], writer: int, batches: int) -> None:
    """Write `batches` puts; an error ends the process with exit code 1."""
    tables = opener()
    for number in range(batches):
        tables.posts.put(batch(writer, number))
    tables.close()


def write_until_killed(opener: Callable[[], Tables], acknowledged: Connection) -> None:
    """Write batch after batch and send the number of each one that was acknowledged."""
    tables = opener()
    number = 0
    while True:
        tables.posts.put(batch(0, number))
        acknowledged.send(number)
        number += 1


def create(opener: Callable[[], Tables], writer: int) -> None:
    """Create the tables, perhaps while others do, and write a row at once."""
    tables = opener()
    tables.create()
    tables.userlist.put([Put(f"{writer}", {"user:id": f"{writer}"}, 1)])
    tables.close()

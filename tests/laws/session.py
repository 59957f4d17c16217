"""The command line many times in one process: starting Python anew takes longer than a command.

Each line of stdin is the JSON list of the words of one command. Each line of stdout is the JSON of
its exit code and of all that it wrote.
"""

import json
import os
import sys
import tempfile

from weibo_crawler.cli.main import main


def _run(words: list[str]) -> list[object]:
    """Exit code, stdout and stderr of one command; both streams are files while it runs."""
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            code = main(words)
        finally:
            for number, (stream, old) in enumerate(((sys.stdout, kept[0]), (sys.stderr, kept[1]))):
                stream.flush()
                os.dup2(old, number + 1)
                os.close(old)
        out.seek(0)
        err.seek(0)
        return [code, out.read().decode(), err.read().decode()]


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line))), flush=True)

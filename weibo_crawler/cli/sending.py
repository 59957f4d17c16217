"""What Ctrl-C says: shared by harvest and posts."""

import sys


def say_stopping() -> None:
    """The answer to the first Ctrl-C."""
    print("stopping: finishing what is in flight (again: stop at once)", file=sys.stderr)

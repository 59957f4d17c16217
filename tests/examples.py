"""How many examples hypothesis draws where a test says so itself."""

import os
from typing import Any

import hypothesis

LONG_TIMES = 10
_TIMES = LONG_TIMES if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 1


def examples(number: int, **more: Any) -> hypothesis.settings:
    """So many examples, ten times as many in `make test-long`."""
    return hypothesis.settings(max_examples=number * _TIMES, **more)

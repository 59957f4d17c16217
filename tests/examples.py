"""How many examples hypothesis draws where a test says so itself."""

import os
from typing import Any

import hypothesis

TIMES_BY_PROFILE = {"long": 10.0, "brief": 0.1}
TIMES = TIMES_BY_PROFILE.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 1.0)


def examples(number: int, **more: Any) -> hypothesis.settings:
    """So many examples; ten times as many in `make test-long`, a tenth on other Pythons."""
    return hypothesis.settings(max_examples=max(1, round(number * TIMES)), **more)

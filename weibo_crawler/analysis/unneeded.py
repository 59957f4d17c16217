"""A module that an export does without, and that takes as long to import as all else it needs."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Hidden(MetaPathFinder):
    """Says of pandas that it is not installed. Arrow imports it, wherever it is, in order to know
    its arrays from lists."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("not used in this process", name=name)
        return None


def hide_pandas() -> None:
    """Let nothing in this process import pandas: only where the process is the program's own."""
    sys.meta_path.insert(0, _Hidden())

"""What the processes import first that a forked command starts, such as readers of an export."""

import sys


class _NotHere:
    """What takes long to import, and nothing of ours uses. Arrow imports pandas, in half a second,
    to look whether what it is given is of its types; mrjob imports Spark, in a quarter of one, to
    tell where it is. None of our extras installs pandas; `tools` brings Spark."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name in ("pandas", "pyspark"):
            raise ModuleNotFoundError(name)


def hide() -> None:
    """From here on they cannot be imported."""
    sys.meta_path.insert(0, _NotHere)  # type: ignore[arg-type]


if __name__ == "__mp_main__":
    hide()

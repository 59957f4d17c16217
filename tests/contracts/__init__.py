"""Contract suites: what every home of a store must keep, as mixins. A backend's test class names
what it opens, and inherits the rest."""

from pathlib import Path

import pytest

# pytest rewrites the asserts of test_*.py by itself; these are modules of another name
for _path in Path(__file__).parent.glob("[a-z]*.py"):
    pytest.register_assert_rewrite(f"{__name__}.{_path.stem}")

"""What the wheel holds."""

from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_room_is_in_the_wheel() -> None:
    """setup.cfg names each folder with code: whoever has a checkout does not miss one that is
    forgotten there, and whoever has the wheel cannot run it."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    named = set(config["options"]["packages"].split())
    rooms = {path.parent.relative_to(ROOT) for path in (ROOT / "weibo_crawler").rglob("*.py")}
    assert {".".join(room.parts) for room in rooms} <= named

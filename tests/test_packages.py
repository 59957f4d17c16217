"""What the wheel holds."""

from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_room_is_in_the_wheel() -> None:
    """setup.cfg names each folder with code; one that it forgets is found by users of the wheel only:
    in a checkout all is there."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    named = set(config["options"]["packages"].split())
    rooms = {path.parent.relative_to(ROOT) for path in (ROOT / "weibo_crawler").rglob("*.py")}
    assert {".".join(room.parts) for room in rooms} <= named

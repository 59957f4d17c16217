"""The whole way on a world by another hand."""

from pathlib import Path

import pytest

from tests.foreign.worlds import build, crawl_of, open_folder, served_by_nginx, walk

pytestmark = pytest.mark.timeout(180)


@pytest.mark.usefixtures("nginx")
@pytest.mark.parametrize("options", [(), ("--exact",)], ids=["shows-less", "exact"])
def test_one_pass_holds_the_truth(tools: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    """One seed, harvest, import and posts hold exactly what the world shows: every user with depth,
    name and fans, every post with text, date, pin and original. Odd cards, five forms of an end
    and lists that show less than they announce cost nothing."""
    with open_folder() as folder:
        world = build(tools, folder, *options)
        with (
            served_by_nginx(world) as port,
            crawl_of(tmp_path / "crawl", port, guest=True) as crawl,
        ):
            assert not walk(crawl, world)

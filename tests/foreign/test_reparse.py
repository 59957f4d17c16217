"""Tables from the archive of a crawl of a world by another hand."""

from pathlib import Path

import pytest

from tests.archive.answers import whole
from tests.cli.test_reparse import again, assert_equal
from tests.foreign.worlds import build, crawl_of, open_folder, served_by_nginx, walk

pytestmark = pytest.mark.timeout(300)


@pytest.mark.usefixtures("nginx")
def test_an_archive_holds_the_truth(tools: Path, tmp_path: Path) -> None:
    """What `reparse` makes of it is what the crawl made of the site, and what is true."""
    with open_folder() as folder:
        world = build(tools, folder)
        with (
            served_by_nginx(world) as port,
            crawl_of(
                tmp_path / "crawl", port, guest=True, WEIBO_ARCHIVE__FOLDER="archive"
            ) as crawl,
        ):
            assert not walk(crawl, world)
            archives = crawl.folder / "archive"
            assert all(map(whole, archives.iterdir()))
        other = again(tmp_path / "again", archives)
        assert_equal(crawl, other)
        assert not world.compare(other)

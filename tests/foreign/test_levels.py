"""`harvest --runner` beside a harvest on one machine, in worlds by another hand."""

from pathlib import Path

import pytest

from tests.cli.test_levels import ALONE, JOBS, assert_as_alone, depths
from tests.foreign.worlds import build, crawl_of, open_folder, run, served_by_nginx

pytestmark = pytest.mark.timeout(180)


@pytest.mark.usefixtures("nginx")
@pytest.mark.parametrize("options", [(), ("--exact",)], ids=["shows-less", "exact"])
def test_jobs_find_what_one_machine_finds(
    tools: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Users, depths, names, fans and ledgers are those of the single machine, and the truth."""
    with open_folder() as folder:
        world = build(tools, folder, *options)
        with (
            served_by_nginx(world) as port,
            crawl_of(tmp_path / "crawl", port, guest=True) as crawl,
        ):
            run(crawl, "seed", *world.seeds)
            run(crawl, *JOBS)
            crawl.run("seed", *world.seeds, **ALONE)
            crawl.run("harvest", **ALONE)
            assert_as_alone(crawl)
            kept = world.truth["kept"]
            assert depths(crawl) == {int(uid): user["depth"] for uid, user in kept.items()}

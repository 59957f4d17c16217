"""`doctor --site` at a site by another hand."""

from pathlib import Path

from tests.cli.test_site_check import check_recording
from tests.foreign.worlds import World, build, crawl_of, open_folder, run, served_by_nginx


def test_a_foreign_site_is_known(tools: Path, nginx: None, tmp_path: Path) -> None:
    """Nothing has drifted, odd cards or not; each page is counted as shown, and what is recorded
    names nobody of that world."""
    with open_folder() as folder:
        world = build(tools, folder / "world")
        (folder / "world").chmod(0o755)
        with served_by_nginx(world) as port, crawl_of(tmp_path / "crawl", port) as crawl:
            for n, uid in enumerate(world.seeds):
                options = ("--uid", uid, "--record", f"sent-{n}")
                code, said = run(crawl, "doctor", "--site", *options)
                assert code == 0
                assert "drifted" not in said
                assert "otherwise" not in said, said
                assert "a harvest goes by fans" in said
                check_recording(crawl.folder / f"sent-{n}", _private(world))


def _private(world: World) -> set[str]:
    kept = world.truth["kept"]
    mids = {mid for user in kept.values() for mid in user["posts"]}
    return {*kept, *mids, *(user["screen_name"] for user in kept.values())}

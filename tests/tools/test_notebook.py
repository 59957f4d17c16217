"""The notebook that ships, executed over a dataset (`make test-tools`)."""

import base64
import json
from pathlib import Path

import pytest

from tests.cli.crawls import simulated

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
_FILE = Path(__file__).parents[2] / "docs/pictures.ipynb"
# appended: what the pictures were drawn from
_TOLD = """
import json
print(json.dumps([len(shares), sum(n for _, n in months), sum(map(sum, week)), regions, len(fame)]))
"""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("by", [(), ("--by", "month")])
def test_five_pictures_are_drawn(
    tmp_path: Path, by: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cell by cell, over a dataset in one folder or in one for each month; the figures that are
    drawn are those of the rows that `scan` prints."""
    with simulated(tmp_path, users=60, mean_posts=8.0) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        crawl.run("posts", "--runner", "inline")
        crawl.run("export", "--dataset", "data", *by)
        told = ("--columns", "id,announced,profile_fans,fans")
        posts, users = crawl.scan("posts"), crawl.scan("users", "--imported", *told)
    monkeypatch.setenv("DATASET", str(crawl.folder / "data"))
    book = nbformat.read(_FILE, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells)  # it ships without pictures
    book.cells.append(nbformat.v4.new_code_cell(_TOLD))
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    outputs = [out for cell in book.cells for out in cell.get("outputs", ())]
    assert [out for out in outputs if out.get("name") == "stderr"] == []
    drawn = [out.data["image/png"] for out in outputs if "image/png" in out.get("data", {})]
    assert len({base64.b64decode(png) for png in drawn}) == 5
    shares, dated, hours, regions, fame = json.loads(outputs[-1].text)
    assert shares == sum(bool(user["announced"]) for user in users)
    assert dated == hours == len(posts)
    places = [post["region"] for post in posts if post["region"]]
    assert dict(regions) == {place: places.count(place) for place, _ in regions}
    assert min(n for _, n in regions) >= max(
        (places.count(place) for place in places if place not in dict(regions)), default=0
    )
    liked = {post["uid"] for post in posts if post["likes"]}
    known = {user["id"] for user in users if user["profile_fans"] or user["fans"]}
    assert fame == len(liked & known)

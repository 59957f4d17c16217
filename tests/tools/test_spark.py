"""Spark SQL over a dataset, by the tables and the queries that ship (`make test-tools`)."""

import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

from tests.cli.crawls import simulated, walk_with_echoes
from tests.tools.test_hive import SHORT_LIVED

pyspark = pytest.importorskip("pyspark")
HOME = Path(pyspark.__file__).parent
_DOC = (Path(__file__).parents[2] / "docs/analysts.md").read_text("utf-8")
QUERIES = re.findall(r"```spark\n(.*?)```", _DOC, re.DOTALL)


@pytest.mark.skipif(shutil.which("java") is None, reason="no JDK")
@pytest.mark.timeout(1200)
def test_spark_reads_a_dataset(tmp_path: Path) -> None:
    """The tables of tables.sql, a partitioned one too, give the figures that DuckDB gives; each
    query of the docs gives rows."""
    with simulated(tmp_path, users=60, mean_posts=8.0) as (crawl, truth):
        walk_with_echoes(crawl, truth)
        crawl.run("export", "--dataset", "data", "--by", "month")
        data = crawl.folder / "data"
        env = crawl.env | {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
    figures = "select count(*), count(distinct mid), sum(likes), max(uid) from {}"
    places = "select count(original.mid), sum(size(topics)) from posts where size(topics) >= 0"
    queries = [figures.format("posts"), places, *QUERIES]
    marked = "\n".join(f"select '== {n}';\n{q.strip()};" for n, q in enumerate(queries))
    (tmp_path / "queries.sql").write_text(marked)
    command = [HOME / "bin/spark-sql", "--master", "local[1]", "--conf", "spark.ui.enabled=false"]
    command += ["--driver-java-options", " ".join(SHORT_LIVED)]
    command += ["--hivevar", f"dataset={data.as_uri()}", "-i", data / "tables.sql"]
    done = subprocess.run(
        [*map(str, command), "-f", str(tmp_path / "queries.sql")],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers = [one.strip() for one in re.split(r"^== \d+$", done.stdout, flags=re.MULTILINE)[1:]]
    assert len(answers) == len(queries) >= 4
    assert all(answers), [n for n, rows in enumerate(answers) if not rows]
    with duckdb.connect() as db:
        posts = f"read_parquet('{data}/posts/*/*.parquet')"
        expected = db.execute(figures.format(posts)).fetchone()
        topics = f"select count(original.mid), sum(len(topics)) from {posts} where len(topics) >= 0"
        nested = db.execute(topics).fetchone()
    assert [answers[0].split("\t"), answers[1].split("\t")] == [
        [*map(str, expected or ())],
        [*map(str, nested or ())],
    ]

"""Hive over a dataset, by the tables and the queries that ship (`make test-tools`)."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

from tests.cli.crawls import simulated, walk_with_echoes
from tests.maven import jars

_HERE = Path(__file__).parent / "hive"
_DOC = (Path(__file__).parents[2] / "docs/analysts.md").read_text("utf-8")
QUERIES = re.findall(r"```spark\n(.*?)```", _DOC, re.DOTALL)
# of what runs once nothing is optimized, and the classes of the jars are not checked
SHORT_LIVED = (
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
)
# of Java 17, which Hive reads by reflection
_OPENED = (
    *("java.lang", "java.lang.reflect", "java.lang.invoke", "java.io", "java.net", "java.nio"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.regex"),
    *("java.util.zip", "java.text", "java.time", "java.math", "sun.nio.ch"),
)


def hive(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Its command line; all that it keeps is in this folder."""
    command = ["java", f"-DFOLDER={folder}", f"-Djava.io.tmpdir={folder}", "-Xmx1g", *SHORT_LIVED]
    command += [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
    classes = ":".join([str(_HERE), *jars(_HERE / "pom.xml")])
    command += ["-cp", classes, "org.apache.hadoop.hive.cli.CliDriver"]
    return subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=os.environ | {"HADOOP_CONF_DIR": str(_HERE)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="no JDK, no Maven")
@pytest.mark.timeout(1500)  # the first time Maven brings 350 MB
def test_hive_reads_a_dataset(tmp_path: Path) -> None:
    """The tables of tables.sql, a partitioned one too, give the figures that DuckDB gives; each
    query of the docs gives rows."""
    with simulated(tmp_path, users=60, mean_posts=8.0) as (crawl, truth):
        walk_with_echoes(crawl, truth)
        crawl.run("export", "--dataset", "data", "--by", "month")
        data = crawl.folder / "data"
    figures = "select count(*), count(distinct mid), sum(likes), max(uid) from {}"
    places = "select count(original.mid), sum(size(topics)) from posts where size(topics) >= 0"
    queries = [figures.format("posts"), places, *QUERIES]
    marked = "\n".join(f"select '== {n}';\n{q.strip()};" for n, q in enumerate(queries))
    (tmp_path / "queries.sql").write_text(marked)
    tables = ["--hivevar", f"dataset={data.as_uri()}", "-i", str(data / "tables.sql")]
    (tmp_path / "hive").mkdir()
    done = hive(tmp_path / "hive", *tables, "-f", str(tmp_path / "queries.sql"))
    assert done.returncode == 0, done.stderr[-3000:]
    said = re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d .*\n", "", done.stdout, flags=re.MULTILINE)
    answers = [one.strip() for one in re.split(r"^== \d+$", said, flags=re.MULTILINE)[1:]]
    assert len(answers) == len(queries) >= 4
    assert all(answers), [n for n, rows in enumerate(answers) if not rows]
    by_day = dict(row.split("\t") for row in answers[2].splitlines())
    with duckdb.connect() as db:
        posts = f"read_parquet('{data}/posts/*/*.parquet')"
        expected = db.execute(figures.format(posts)).fetchone()
        topics = f"select count(original.mid), sum(len(topics)) from {posts} where len(topics) >= 0"
        nested = db.execute(topics).fetchone()
        local = "(created_at at time zone 'Asia/Shanghai')::date"
        days = db.execute(
            f"select {local}::text, count(*)::text from {posts} group by 1"
        ).fetchall()
    assert by_day == dict(days)
    assert [answers[0].split("\t"), answers[1].split("\t")] == [
        [*map(str, expected or ())],
        [*map(str, nested or ())],
    ]

"""Files that travel with the package: the job script, Sqoop's files, schema scripts, settings.

In a checkout they stand at the top level (jobs/, sqoop/, conf/); in an installed wheel the same
folders lie inside the package.
"""

from pathlib import Path


def resource(name: str) -> Path:
    """The path of `jobs/crawl_posts.py`, `conf/crawler.toml`, …"""
    package = Path(__file__).resolve().parent
    installed = package / name
    return installed if installed.exists() else package.parent / name

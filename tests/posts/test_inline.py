"""The mapper in the process of mrjob's inline runner."""

import io
import signal
import sys

import pytest


@pytest.mark.filterwarnings("ignore:'pipes' is deprecated")  # by mrjob
def test_a_mapper_may_say_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inline runner gives a mapper a file of bytes as its stderr: a warning, which is text,
    goes there and breaks nothing."""
    from jobs.crawl_posts import MRCrawlPosts

    written = io.BytesIO()
    job = MRCrawlPosts([])
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "stderr", written)
    try:
        job.mapper_init()
        print("waiting", file=sys.stderr)
        assert written.getvalue() == b"waiting\n"
    finally:
        signal.signal(signal.SIGTERM, before)
        job.outcomes.close()
        job.crawler.close()
        job.home.__exit__()

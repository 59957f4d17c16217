"""The mapper in the process of mrjob's inline runner."""

import io
import signal
import sys

import pytest


@pytest.mark.filterwarnings("ignore:.*pipes")  # by mrjob
def test_a_mapper_may_say_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inline runner gives a mapper files of bytes as its streams: a warning, which is text,
    goes to one of them and commands no terminal; outcomes, which are bytes, go to the other."""
    from jobs.crawl_posts import MRCrawlPosts

    written, outcomes = io.BytesIO(), io.BytesIO()
    job = MRCrawlPosts([])
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(sys, "stdout", outcomes)
    try:
        job.mapper_init()
        print("waiting\x1b", file=sys.stderr)
        assert written.getvalue() == "waiting␛\n".encode()
        job.stdout.write(b"stored\n")
        assert outcomes.getvalue() == b"stored\n"
    finally:
        signal.signal(signal.SIGTERM, before)
        job.visits.close()

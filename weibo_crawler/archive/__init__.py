"""Every answer of the site as it came, in WARC 1.1 files.

How a record is born: the fetcher tells an `Archive` of each answer, which turns it into a request
record and a response record (`exchanges`), each compressed by itself (`members`), and appends both
to the file of this process (`writer`). `reader` gives the answers back, and `blanking` takes people
out of them. warcio and zstandard are imported here and nowhere else.
"""

from weibo_crawler.archive.writer import Archive as Archive
from weibo_crawler.archive.writer import open_archive as open_archive

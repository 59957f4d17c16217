"""`python -m weibo_crawler` is `weibo-crawler`."""

import sys

from weibo_crawler.cli.main import main

sys.exit(main())

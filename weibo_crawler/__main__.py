"""`python -m weibo_crawler` is `weibo-crawler`."""

import sys


def run() -> int:
    """The command of this process; its exit code. A Ctrl-C while the program is being imported ends
    it as one later does."""
    try:
        from weibo_crawler.cli.main import main
    except KeyboardInterrupt:
        print("weibo-crawler: interrupted", file=sys.stderr)
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(run())

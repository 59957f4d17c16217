"""The simulator by itself: `python -m weibo_crawler.simulator --help`."""

import argparse
import sys

from weibo_crawler.errors import CrawlerError
from weibo_crawler.simulator.arguments import add_arguments, from_arguments


def main() -> int:
    """Parse the command line and serve; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m weibo_crawler.simulator")
    add_arguments(parser)
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    from weibo_crawler.simulator.network import Address
    from weibo_crawler.simulator.run import child, serve

    def ready(address: Address) -> None:
        print(address.base_url, flush=True)

    try:
        options = from_arguments(arguments)
        if arguments.parent is not None:
            return child(options, arguments.parent)
        serve(options, ready)
    except CrawlerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

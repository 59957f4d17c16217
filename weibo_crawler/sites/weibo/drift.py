"""JSON that is not the shape we know, and the path to the node that changed."""

from weibo_crawler.records import FanPage, PostPage

_ODD_AT_LEAST = 3
LARGEST_ID = 2**63 - 1  # ids are kept in signed 64 bits by the stores


class Drift(Exception):
    """A node is missing or holds what it never held. `path` is relative: ".text", "[3].mblog".
    `part`: what could be read all the same, of a page of posts or a list."""

    def __init__(self, path: str, part: PostPage | FanPage | None = None) -> None:
        super().__init__(path)
        self.path, self.part = path, part

    def under(self, parent: str) -> "Drift":
        """The same, seen from further up: each caller adds its part of the path."""
        return Drift(parent + self.path)


def is_drift(unreadable: int, all_of_them: int) -> bool:
    """Whether so many of the items of a page mean that the page has changed its shape: most of
    them, and more than the one or two that may be odd on a short page."""
    return unreadable >= _ODD_AT_LEAST and 2 * unreadable > all_of_them


def identity(value: object, path: str) -> int:
    """A uid or mid: a positive number of 64 bits, written as a number or as digits.

    weibo_api.md: mblog ids are strings, user ids numbers. Errors: Drift(path) for all else.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 19:
        value = int(value)
    if type(value) is not int or not 0 < value <= LARGEST_ID:
        raise Drift(path)
    return value

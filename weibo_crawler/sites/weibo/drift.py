"""JSON that is not the shape we know, and the path to the node that changed."""

_UNCOUNTED = 1 / 4  # of the users of a page
LARGEST_ID = 2**63 - 1  # ids are kept in signed 64 bits by the stores


class Drift(Exception):
    """A node is missing or holds what it never held. `path` is relative: ".text", "[3].mblog"."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def under(self, parent: str) -> "Drift":
        """The same, seen from further up: each caller adds its part of the path."""
        return Drift(parent + self.path)


class Uncounted(Drift):
    """The number of fans of this user, who is known otherwise, is missing or no number."""

    def __init__(self, path: str, uid: int) -> None:
        super().__init__(path)
        self.uid = uid


def uncounted_uids(uncounted: list[Uncounted], counted: int) -> tuple[int, ...]:
    """Who they are, on a page with `counted` others. Errors: the first of them, where they are more
    than a quarter of the page: its shape has changed."""
    if len(uncounted) > _UNCOUNTED * (counted + len(uncounted)):
        raise uncounted[0]
    return tuple(one.uid for one in uncounted)


def identity(value: int | str | None, path: str) -> int:
    """A uid or mid: a positive number of 64 bits, written as a number or as digits.

    WEIBO_API: mblog ids are strings, user ids numbers. Errors: Drift(path) for all else.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 19:
        value = int(value)
    if not isinstance(value, int) or not 0 < value <= LARGEST_ID:
        raise Drift(path)
    return value

"""When a walk finds hardly anybody any more. Pure."""

from collections import deque

WINDOW = 500  # requests; fewer say nothing


class Drought:
    """Of the latest requests: how many users they brought. price: requests a new user from which on
    the walk is dry; 0: it never is."""

    def __init__(self, price: float) -> None:
        self._price = price
        self._points: deque[tuple[int, int]] = deque([(0, 0)])

    def note(self, sent: int, kept: int) -> None:
        """Requests sent and users kept until now; neither falls."""
        if (sent, kept) != self._points[-1]:
            self._points.append((sent, kept))
        while len(self._points) > 1 and self._points[1][0] <= sent - WINDOW:
            self._points.popleft()

    def begin_anew(self) -> None:
        """Judge by what comes from now on."""
        self._points = deque([self._points[-1]])

    @property
    def is_here(self) -> bool:
        """Whether the latest WINDOW requests, or a few more, were dearer than that."""
        sent, users = self.lately
        return self._price > 0 and sent >= WINDOW and sent > self._price * users

    @property
    def lately(self) -> tuple[int, int]:
        """The latest requests, and how many new users they brought."""
        (since, had), (sent, kept) = self._points[0], self._points[-1]
        return sent - since, kept - had

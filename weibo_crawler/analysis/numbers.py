"""Figures as people read them."""

from datetime import UTC, datetime

_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


def grouped(n: float) -> str:
    """1234567 -> "1,234,567"; small fractions keep two digits: 0.0531 -> "0.053"."""
    return f"{n:,.0f}" if n >= 9.95 or n == int(n) else f"{n:.2g}"


def short(n: float) -> str:
    """1500 -> "1.5k", 2000000 -> "2M": for axes, where room is scarce."""
    for size, unit in _UNITS:
        if n >= size:
            return f"{n / size:.1f}".removesuffix(".0") + unit
    return f"{n:g}"


def size(n: float) -> str:
    """Bytes: 12345678 -> "12.3 MB"."""
    for unit, large in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= large:
            return f"{n / large:.1f} {unit}"
    return f"{n:.0f} bytes"


def percent(share: float | None) -> str:
    """0.934 -> "93.4 %"; None -> "unknown". Neither all nor nothing is said of what only rounds
    to it: 0.9999 -> "99.9 %"."""
    if share is None:
        return "unknown"
    figure = share * 100
    if 0 < figure < 100:
        figure = min(max(round(figure, 1), 0.1), 99.9)
    return f"{figure:.1f}".removesuffix(".0") + " %"


def duration(seconds: float) -> str:
    """The two largest units: "3 d 4 h", "12 min 5 s", "8 s"."""
    left = max(0, round(seconds))
    parts = []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        n, left = divmod(left, size)
        parts.append((n, unit))
    first = next((i for i, (n, _) in enumerate(parts) if n), len(parts) - 1)
    return " ".join(f"{n} {unit}" for n, unit in parts[first : first + 2] if n) or "0 s"


def minute(seconds: float | None) -> str:
    """Seconds since the epoch for people, to the minute; None -> "never"."""
    if seconds is None:
        return "never"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def plural(n: int, noun: str) -> str:
    """1 -> "1 user", 2 -> "2 users"."""
    return f"{grouped(n)} {noun}" + ("" if n == 1 else "s")

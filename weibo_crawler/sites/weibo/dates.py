"""Dates as the site writes them, on its own clock, UTC+8 (weibo_api.md, "Shapes and traps").

The mid of a post holds the second at which it was made. Where the site's words are coarser and
agree with it, the second is taken from there; where both speak of our time and are more than a day
apart, the id decides, too (docs/tables.md). Words that count from now ("5分钟前") agree with it
within a day: our clock may go wrong by hours, and somebody may have kept the page.
"""

import re
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

_HOUR_S = 3_600
_ZONE_S = 8 * _HOUR_S
_ZONE = timezone(timedelta(seconds=_ZONE_S))
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_DAY_S = 86_400
_LATE_S = 600  # a page may be so old when it is read, or a clock go so wrong
_MID_EPOCH_S = 515_483_463  # (mid >> 22) + this = second of posting
_SITE_BEGAN_S = 1_249_056_000  # 2009-08
_MIDS_HOLD_TIME_S = 1_325_347_200  # 2012: mids of the first years are made otherwise
_FAR_FUTURE_S = 4_102_416_000  # 2100

MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_FULL = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d?) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d) (\d{4})",
    re.ASCII,
)
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_AGO = re.compile(r"(\d{1,4})\s?个?(秒|分钟|小时|天|周|月)前", re.ASCII)
_NEAR = re.compile(r"(今天|昨天|前天)\s?(\d\d?):(\d\d)(?::(\d\d))?", re.ASCII)
_DAY = re.compile(
    r"(?:(\d{4})[-/年])?(\d\d?)(?:[-/](\d\d?)|月(\d\d?)日)(?:\s{1,2}(\d\d?):(\d\d)(?::(\d\d))?)?",
    re.ASCII,
)
_DOTTED = re.compile(r"^(\d{4})\.(\d\d?)\.(\d\d?)(?!\d)", re.ASCII)
_DAYS_BACK = {"今天": 0, "昨天": 1, "前天": 2}
# unit in seconds, precision, how much earlier and later the post may be than the words say
_AGO_UNITS = {
    "秒": (1, "minute", _DAY_S, _DAY_S),
    "分钟": (60, "minute", _DAY_S, _DAY_S),
    "小时": (_HOUR_S, "hour", _DAY_S, _DAY_S),
    "天": (_DAY_S, "day", 2 * _DAY_S, _DAY_S),
    "周": (7 * _DAY_S, "day", 8 * _DAY_S, _DAY_S),
    "月": (30 * _DAY_S, "day", 32 * _DAY_S, 3 * _DAY_S),
}


class Said(NamedTuple):
    """What the words of a date mean. at_s: the moment, as well as they tell it; spans: from which
    second to before which it may have been. Seconds since the epoch."""

    at_s: int
    precision: str
    spans: tuple[tuple[int, int], ...]

    def holds(self, second: int, slack_s: int = 0) -> bool:
        """Whether the words agree with this second."""
        return any(start - slack_s <= second < end + slack_s for start, end in self.spans)


def read_date(text: str, now: float, mid: int) -> tuple[str, str]:
    """ISO 8601 with +08:00, and its precision (see Post). mid: of the post; 0 for a date that is
    not its making. Errors: as `said`."""
    return settle(said(text, now), mid)


def settle(words: Said, mid: int) -> tuple[str, str]:
    """What the words and the id of a post say together."""
    second = second_of(mid)
    if words.precision == "second":
        is_better = abs(second - words.at_s) > _DAY_S and contradicts(words, mid)
    else:
        is_better = words.holds(second) or contradicts(words, mid)
    if is_better:
        return _local(second).isoformat(), "mid"
    return _local(words.at_s).isoformat(), words.precision


def date_of(mid: int, now: float) -> tuple[str, str] | None:
    """The same of an id alone, where the words cannot be read; None: it does not hold the time."""
    second = second_of(mid)
    if not _MIDS_HOLD_TIME_S <= second <= now + _DAY_S:
        return None
    return _local(second).isoformat(), "mid"


def contradicts(words: Said, mid: int) -> bool:
    """Whether words and id, both of the time since mids hold the second, are a day apart."""
    second = second_of(mid)
    is_told = _MIDS_HOLD_TIME_S <= second < _FAR_FUTURE_S and words.at_s >= _MIDS_HOLD_TIME_S
    return is_told and not words.holds(second, _DAY_S)


def second_of(mid: int) -> int:
    """The second at which a mid was made, for mids since 2012."""
    return (mid >> 22) + _MID_EPOCH_S


def said(text: str, now: float) -> Said:
    """What the words say. now: when the page was fetched; relative dates count from it.

    Errors: ValueError for a form that is not known, a day that does not exist, and a time in which
    nobody posted.
    """
    text = " ".join(text.split())
    today, latest = _day_of(now), _day_of(now + _LATE_S)
    words = _full(text) or _written(text, latest) or _ago(text, int(now)) or _near(text, today)
    words = words or _iso(text)
    if words is None:
        raise ValueError("unknown form of date")
    if not _SITE_BEGAN_S <= words.at_s < _FAR_FUTURE_S:
        raise ValueError("a time in which nobody posted")
    return words


def _day_of(seconds: float) -> int:
    """The ordinal of a day on the site's calendar."""
    return (int(seconds) + _ZONE_S) // _DAY_S + _EPOCH_DAY


def _local(seconds: float) -> datetime:
    return datetime.fromtimestamp(int(seconds), _ZONE)


def _full(text: str) -> Said | None:
    """`Thu Jun 17 11:00:31 +0800 2021`, without the locale that strptime would ask."""
    match = _FULL.fullmatch(text)
    if match is None:
        return None
    month, day, hour, minute, second, sign, zone_h, zone_min, year = match.groups()
    zone_s = int(zone_h) * _HOUR_S + int(zone_min) * 60
    if zone_s > 18 * _HOUR_S:
        raise ValueError("a zone that does not exist")
    words = _on(date(int(year), MONTHS.get(month, 0), int(day)).toordinal(), hour, minute, second)
    if sign == "+" and zone_s == _ZONE_S:
        return words
    return _from(words.at_s + _ZONE_S + (zone_s if sign == "-" else -zone_s), "second", 1)


def _iso(text: str) -> Said | None:
    """ISO 8601 with its time. Without a zone it is on the site's clock."""
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    at = datetime.fromisoformat(text)
    at_s = int((at if match[3] else at.replace(tzinfo=_ZONE)).timestamp())
    return _from(at_s, "second", 1) if match[1] else _from(at_s, "minute", 60)


def _ago(text: str, now: int) -> Said | None:
    if text == "刚刚":
        return Said(now, "minute", ((now - _DAY_S, now + _DAY_S),))
    if text == "半小时前":
        at_s = now - _HOUR_S // 2
        return Said(at_s, "hour", ((at_s - _DAY_S, at_s + _DAY_S),))
    match = _AGO.fullmatch(text)
    if match is None:
        return None
    unit_s, precision, earlier_s, later_s = _AGO_UNITS[match[2]]
    at_s = now - int(match[1]) * unit_s
    return Said(at_s, precision, ((at_s - earlier_s, at_s + later_s),))


def _near(text: str, today: int) -> Said | None:
    """The page may have been made on the day before it is read; or our clock may be behind."""
    match = _NEAR.fullmatch(text)
    if match is None:
        return None
    words = _on(today - _DAYS_BACK[match[1]], match[2], match[3], match[4])
    days = (0, -_DAY_S, _DAY_S)
    return words._replace(spans=tuple((a + d, b + d) for a, b in words.spans for d in days))


@lru_cache(1024)  # pages hold the same days again and again
def _written(text: str, latest: int) -> Said | None:
    """A day, with or without its year and its time. Without the year it is the last such day up to
    `latest`."""
    match = _DAY.fullmatch(_DOTTED.sub(r"\1-\2-\3", text))
    if match is None:
        return None
    year, month, dashed, named, *time = match.groups()
    this_year = date.fromordinal(latest).year
    days = []
    for candidate in (int(year),) if year else (this_year, this_year - 1):
        try:
            days.append(date(candidate, int(month), int(dashed or named)).toordinal())
        except ValueError:  # 02-29
            continue
    likely = [day for day in days if year or day <= latest]
    if not likely:
        raise ValueError("a day that does not exist")
    spans = tuple(span for day in days for span in _on(day, *time).spans)
    return _on(likely[0], *time)._replace(spans=spans)


def _on(day: int, hour: str | None, minute: str | None, second: str | None) -> Said:
    """A day, as its ordinal, or a minute or a second of it.

    Errors: ValueError for a time that does not exist.
    """
    at_s = (day - _EPOCH_DAY) * _DAY_S - _ZONE_S
    if hour is None or minute is None:
        return _from(at_s, "day", _DAY_S)
    at_s += int(hour) * _HOUR_S + int(minute) * 60 + int(second or 0)
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        raise ValueError("a time that does not exist")
    return _from(at_s, "minute", 60) if second is None else _from(at_s, "second", 1)


def _from(at_s: int, precision: str, length_s: int) -> Said:
    return Said(at_s, precision, ((at_s, at_s + length_s),))

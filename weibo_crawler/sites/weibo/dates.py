"""Dates as the site writes them, on its own clock, UTC+8 (WEIBO_API, "Shapes and traps")."""

import re
from datetime import date, datetime, timedelta, timezone

_ZONE = timezone(timedelta(hours=8))
_DAY_S = 86_400
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MID_EPOCH_S = 515_483_463  # (mid >> 22) + this = second of posting (DESIGN, "Row keys, cells")

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_FULL = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d?) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d) (\d{4})",
    re.ASCII,
)
_AGO = re.compile(r"(\d{1,4})\s?(秒|分钟|小时)前", re.ASCII)
_NEAR = re.compile(r"(今天|昨天)\s?(\d\d?):(\d\d)", re.ASCII)
_DAY = re.compile(r"(?:(\d{4})-)?(\d\d?)-(\d\d?)", re.ASCII)
_AGO_UNITS = {"秒": (1, "minute"), "分钟": (60, "minute"), "小时": (3600, "hour")}


def read_date(text: str, now: float, mid: int) -> tuple[str, str]:
    """ISO 8601 with +08:00, and its precision (see Post).

    now: when the page was fetched, seconds since the epoch; relative dates count from it.
    mid: of the post; it holds the second where the site names only the day.
    Errors: ValueError for a form that is not known or a day that does not exist.
    """
    match = _FULL.fullmatch(text)
    if match:
        return _full(match), "second"
    if text == "刚刚":
        return _local(now).isoformat(), "minute"
    match = _AGO.fullmatch(text)
    if match:
        unit_s, precision = _AGO_UNITS[match[2]]
        return _local(now - int(match[1]) * unit_s).isoformat(), precision
    match = _NEAR.fullmatch(text)
    if match:
        day = _local(now) - timedelta(days=match[1] == "昨天")
        time = day.replace(hour=int(match[2]), minute=int(match[3]), second=0)
        return time.isoformat(), "minute"
    match = _DAY.fullmatch(text)
    if match:
        return _with_time(_day(match, _local(now).date(), mid), mid)
    raise ValueError("unknown form of date")


def _local(seconds: float) -> datetime:
    return datetime.fromtimestamp(int(seconds), _ZONE)


def _full(match: re.Match[str]) -> str:
    """`Thu Jun 17 11:00:31 +0800 2021`, without the locale that strptime would ask."""
    month, day, hour, minute, second, sign, zone_h, zone_min, year = match.groups()
    zone = _ZONE
    if (sign, zone_h, zone_min) != ("+", "08", "00"):
        offset = timedelta(hours=int(zone_h), minutes=int(zone_min))
        zone = timezone(-offset if sign == "-" else offset)
    number = _MONTHS.get(month, 0)
    time = datetime(int(year), number, int(day), int(hour), int(minute), int(second), tzinfo=zone)
    if 1 < time.year < 9999:  # the ends of the calendar have no room to change the zone
        return (time if zone is _ZONE else time.astimezone(_ZONE)).isoformat()
    raise ValueError("a year out of the calendar")


def _day(match: re.Match[str], today: date, mid: int) -> date:
    """`06-14` is of this year, or of the year before where that would lie in the future.

    The mid decides first: our clock may still be on the day before the site's.
    """
    year, month, day = match.groups()
    if year:
        return date(int(year), int(month), int(day))
    days = []
    for candidate in (today.year, today.year - 1):
        try:
            days.append(date(candidate, int(month), int(day)))
        except ValueError:  # 02-29
            continue
    for candidate_day in days:
        if _second_of_day(candidate_day, mid) is not None:
            return candidate_day
    past = [candidate_day for candidate_day in days if candidate_day <= today]
    if not past:
        raise ValueError("a day that does not exist")
    return past[0]


def _with_time(day: date, mid: int) -> tuple[str, str]:
    midnight = datetime(day.year, day.month, day.day, tzinfo=_ZONE)
    second = _second_of_day(day, mid)
    if second is None:
        return midnight.isoformat(), "day"
    return (midnight + timedelta(seconds=second)).isoformat(), "mid"


def _second_of_day(day: date, mid: int) -> int | None:
    """The second of `day` at which the mid was made; None: it was made on another day."""
    midnight_s = (day.toordinal() - _EPOCH_DAY) * _DAY_S - 8 * 3600
    second = (mid >> 22) + _MID_EPOCH_S - midnight_s
    return second if 0 <= second < _DAY_S else None

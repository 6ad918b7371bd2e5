"""Time zones by their IANA names: local time and instants.

Local time is what clocks in the zone show; an instant is a time in UTC. Both are whole microseconds
since 1970. When clocks are put forward, an hour of local time is skipped; when they are put back,
an hour occurs twice.
"""

import datetime
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np

from dphist.arrays import AnyArray, IntArray
from dphist.errors import Message, ParameterError, phrase

DAY = 86_400 * 10**6
# Years 1 to 9999: the range of Python's dates, and of ISO dates of ten characters.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
UTC = "UTC"

_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_MINUTE = 60 * 10**6
# Names of files of an operating system that are no zones, or mean another one on another machine.
_NO_ZONES = ("localtime", "posixrules", "Factory")
_NO_FOLDERS = ("posix/", "right/")


def zone_named(zone: object) -> str:
    """Return the IANA name of a zone, given by this name or as a `zoneinfo.ZoneInfo`.

    Raises
    ------
    ParameterError
        If there is no such zone.

    >>> zone_named("Europe/Zurich"), zone_named(ZoneInfo("UTC"))
    ('Europe/Zurich', 'UTC')
    """
    name = zone.key if isinstance(zone, ZoneInfo) else zone
    if isinstance(name, str) and is_zone(name):
        return name
    raise ParameterError(
        "tz",
        "must be the name of a time zone of the IANA database, such as 'Europe/Zurich', "
        "'America/New_York' or 'UTC'",
    )


def zone_of_clock(clock: datetime.tzinfo) -> str:
    """Return the name of the zone of a datetime; "UTC" if it has an offset alone.

    >>> zone_of_clock(ZoneInfo("Asia/Tokyo")), zone_of_clock(datetime.timezone.utc)
    ('Asia/Tokyo', 'UTC')
    """
    # pytz calls it `zone`.
    return resolve_zone(getattr(clock, "key", None) or getattr(clock, "zone", None))


def resolve_zone(name: object) -> str:
    """Return the name if it is one of the IANA database, otherwise "UTC"."""
    return name if isinstance(name, str) and is_zone(name) else UTC


@lru_cache(maxsize=256)
def is_zone(name: str) -> bool:
    """Whether this is the name of a time zone of the IANA database."""
    if name in _NO_ZONES or name.startswith(_NO_FOLDERS):
        return False
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such name, a path, or a folder
        return False
    return True


def local_times(instants: AnyArray, zone: str) -> AnyArray:
    """Return what clocks of a zone show at instants, both (n,) datetime64[us].

    >>> local_times(np.array(["2024-03-31T00:30", "2024-03-31T01:30"], "M8[us]"), "Europe/Zurich")
    array(['2024-03-31T01:30:00.000000', '2024-03-31T03:30:00.000000'],
          dtype='datetime64[us]')
    """
    whole = instants.view(np.int64)
    return (whole + _offsets(whole, zone)).view("M8[us]")


def local_texts(instants: AnyArray, zone: str) -> list[str]:
    """Write instants for people: dates if all are midnight, otherwise times of local clocks.

    They are to the minute where that is exact. Where clocks show a time twice, the offset to UTC
    follows.

    >>> local_texts(np.array(["2024-10-26T22:00", "2024-10-27T01:00"], "M8[us]"), "Europe/Zurich")
    ['2024-10-27 00:00', '2024-10-27 02:00+01:00']
    >>> local_texts(np.array(["2024-10-26T22:00", "2024-10-27T23:00"], "M8[us]"), "Europe/Zurich")
    ['2024-10-27', '2024-10-28']
    """
    local = local_times(instants, zone)
    if (local == local.astype("M8[D]")).all():
        return list(np.datetime_as_string(local, unit="D").tolist())
    offsets = (local - instants).view(np.int64).tolist()
    repeated = [len(_readings(time, zone)) > 1 for time in local.view(np.int64).tolist()]
    texts = [text.replace("T", " ") for text in _in_full(local, ("m", "s"))]
    parts = zip(texts, offsets, repeated, strict=True)
    return [f"{text}{_offset_text(offset) if twice else ''}" for text, offset, twice in parts]


def exact_texts(instants: AnyArray, zone: str) -> list[str]:
    """Write instants as local times with their offsets to UTC, in ISO 8601.

    Offsets of past centuries that are no whole minutes cannot be written: UTC stands for these.

    >>> exact_texts(np.array(["2024-10-27T01:00", "1850-01-01"], "M8[us]"), "Europe/Zurich")
    ['2024-10-27T02:00:00+01:00', '1850-01-01T00:00:00+00:00']
    """
    offsets = _offsets(instants.view(np.int64), zone)
    offsets = np.where(offsets % _MINUTE == 0, offsets, 0)
    texts = _in_full(instants + offsets.view("m8[us]"))
    return [f"{text}{_offset_text(each)}" for text, each in zip(texts, offsets, strict=True)]


def local_moments(instants: AnyArray, zone: str) -> list[datetime.datetime]:
    """Return instants as Python's datetimes of a zone."""
    clock, start = ZoneInfo(zone), _EPOCH.replace(tzinfo=datetime.UTC)
    whole = instants.view(np.int64).tolist()
    return [(start + each * _MICROSECOND).astimezone(clock) for each in whole]


def find_instant(
    local: int, zone: str, name: str | tuple[str, ...], is_date: bool, remedy: Message = ""
) -> int:
    """Return the instant at which clocks of a zone show a time.

    Parameters
    ----------
    local : microseconds, in the years 1 to 9999.
    name : of the parameters, for error messages.
    is_date : whether it stands for the day, which begins with the first instant of this date, even
        if its midnight does not exist, or is there twice.
    remedy : in place of an example of a time with its offset.

    Raises
    ------
    ParameterError
        If clocks never show the time, or show it twice.

    >>> noon = 12 * 3600 * 10**6
    >>> find_instant(noon, "Asia/Tokyo", "edges", False) == noon - 9 * 3600 * 10**6
    True
    """
    found = _readings(local, zone)
    if len(found) == 1 or (found and is_date):
        return found[0]
    if is_date:
        start = _end_of_gap(local, zone)
        if (start + _offset(start, zone)) // DAY == local // DAY:
            return start
    said = str(np.datetime64(local, "us").astype("M8[D]" if is_date else "M8[s]"))
    if found:
        texts = exact_texts(np.array(found, "M8[us]"), zone)
        fault = f"has {said}, which is there twice in {zone}, where clocks are put back then"
        raise ParameterError(name, fault, remedy or f"write its offset: {' or '.join(texts)}")
    after = exact_texts(np.array([_end_of_gap(local, zone)], "M8[us]"), zone)[0]
    raise ParameterError(
        name,
        f"has {said}, which does not exist in {zone}: clocks are put forward at that time",
        remedy or f"write a time that exists, or one with its offset, such as {after}",
    )


def find_instants(
    local: AnyArray, zone: str, name: str | tuple[str, ...], *, are_steps: bool = False
) -> AnyArray:
    """Return the instants of local times, (n,) datetime64[us].

    Parameters
    ----------
    local : (n,) datetime64[D], the beginnings of days, or datetime64[us].
    are_steps : whether these are steps of a calendar, of which midnight means that a day begins.

    Raises
    ------
    ParameterError
        As for `find_instant`.
    """
    days = local.dtype == np.dtype("M8[D]")
    remedy = phrase("give {edges} instead, this one with its offset") if are_steps else ""
    whole = local.astype("M8[us]").view(np.int64).tolist()
    found = [
        find_instant(each, zone, name, days or (are_steps and each % DAY == 0), remedy)
        for each in whole
    ]
    return np.array(found, np.int64).view("M8[us]")


def _readings(local: int, zone: str) -> list[int]:
    """Return the instants at which clocks show a time: one, or none, or two."""
    time = _EPOCH + local * _MICROSECOND
    clocks = [time.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1)]
    first, second = (clock.utcoffset() // _MICROSECOND for clock in clocks)  # type: ignore[operator]
    if first == second:
        return [local - first]
    return [] if first < second else [local - first, local - second]


def _end_of_gap(local: int, zone: str) -> int:
    """Return the instant at which clocks are put forward past a time that does not exist."""
    time = (_EPOCH + local * _MICROSECOND).replace(tzinfo=ZoneInfo(zone))
    before, after = (
        time.replace(fold=fold).utcoffset() // _MICROSECOND  # type: ignore[operator]
        for fold in (0, 1)
    )
    low, high = local - after, local - before  # clocks are put forward in (low, high]
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(middle, zone) == before:
            low = middle
        else:
            high = middle
    return high


def _offsets(instants: IntArray, zone: str) -> IntArray:
    """Return the offsets of local time to UTC, (n,) microseconds."""
    days, places = np.unique(instants // DAY, return_inverse=True)
    ends = [[_offset(day * DAY, zone), _offset((day + 1) * DAY, zone)] for day in days.tolist()]
    first, last = np.array(ends, np.int64).reshape(-1, 2)[places].T
    found: IntArray = first.copy()
    for place in np.flatnonzero(first != last).tolist():  # clocks are changed on that day
        found[place] = _offset(int(instants[place]), zone)
    return found


def _offset(instant: int, zone: str) -> int:
    # Two days from the ends of the calendar, local time is within it.
    within = min(max(instant, (FIRST_DAY + 2) * DAY), (LAST_DAY - 2) * DAY)
    time = (_EPOCH + within * _MICROSECOND).replace(tzinfo=datetime.UTC)
    offset: datetime.timedelta = time.astimezone(ZoneInfo(zone)).utcoffset()  # type: ignore[assignment]
    return offset // _MICROSECOND


def _in_full(times: AnyArray, units: tuple[Literal["m", "s"], ...] = ("s",)) -> list[str]:
    """Write times down to the first of these units that is exact for all, or to microseconds."""
    exact = [unit for unit in units if (times == times.astype(f"M8[{unit}]")).all()]
    return list(np.datetime_as_string(times, unit=exact[0] if exact else "us").tolist())


def _offset_text(offset: int) -> str:
    """Return an offset as ISO text.

    >>> _offset_text(-210 * 60 * 10**6)
    '-03:30'
    """
    hours, minutes = divmod(abs(int(offset)) // _MINUTE, 60)
    return f"{'-' if offset < 0 else '+'}{hours:02}:{minutes:02}"

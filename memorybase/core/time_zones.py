"""Time zones by their IANA names."""

from __future__ import annotations

from datetime import datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from memorybase.core import errors

NAME_LENGTH = 64
DEFAULT = "UTC"


def checked(name: str | None) -> str | None:
    """The name, or None. Raises InvalidRequest for a name that is not in IANA's database."""
    if name is not None and name != DEFAULT and name not in _names():
        raise errors.InvalidRequest(
            f"time_zone must be an IANA name such as Europe/Berlin (got {name[:NAME_LENGTH]!r})",
            field="time_zone",
            value=name[:NAME_LENGTH],
        )
    return name


def zone(name: str | None) -> ZoneInfo:
    """The time zone of a checked name."""
    return ZoneInfo(name or DEFAULT)


def local(moment: datetime, zone: tzinfo) -> datetime:
    """The moment by the zone's clock; as it is where the zone's date would lie before year 1 or after 9999."""
    try:
        return moment.astimezone(zone)
    except OverflowError:  # 0001-01-01, as systems write a time that is not set
        return moment


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(available_timezones())

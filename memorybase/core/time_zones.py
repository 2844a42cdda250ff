"""Time zones by their IANA names."""

from __future__ import annotations

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


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(available_timezones())

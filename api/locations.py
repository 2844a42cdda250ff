"""Locations of what requests create."""

from __future__ import annotations

from urllib.parse import quote, urlencode
from uuid import UUID

PREFIX = "/v1"


def location(*segments: UUID | str, **query: str) -> dict[str, str]:
    """The header Location of a resource: its path from the segments, each of them encoded."""
    path = "".join("/" + quote(str(segment), safe="") for segment in segments)
    return {"Location": PREFIX + path + (f"?{urlencode(query)}" if query else "")}

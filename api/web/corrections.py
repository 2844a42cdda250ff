"""What the page says beside a result that corrects another message, or is corrected by one. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from memorybase.core.search import corrections
from memorybase.core.search.hits import Hit


@dataclass(frozen=True, slots=True)
class Note:
    """A line about the other message. `is_listed`: it is among the results; else it has a page of its own."""

    text: str
    link: str  # "Earlier message" or "Later message"
    message_id: UUID
    icon: str
    is_listed: bool


def notes(hit: Hit, listed: Collection[UUID]) -> list[Note]:
    """What the result corrects, then what corrects it; empty for most."""
    found = [
        (hit.corrects, corrections.text_of_later, "Earlier message"),
        (hit.corrected_by, corrections.text_of_earlier, "Later message"),
    ]
    return [
        Note(text(each), link, each.message_id, _icon(each.kind), each.message_id in listed)
        for each, text, link in found
        if each is not None
    ]


def is_outdated(hit: Hit) -> bool:
    """Whether a later message holds in its place. A denial leaves open which of both messages holds."""
    return hit.superseded_by is not None


def _icon(kind: str) -> str:
    return "exclamation" if kind == "denial" else "refresh"

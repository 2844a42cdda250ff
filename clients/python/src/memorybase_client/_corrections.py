"""The text that a model reads next to a hit that corrects an earlier message, or that a later one corrects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybase_client import models


def correction_of(hit: models.Hit) -> str | None:
    """ "corrected later: was 300 ms, now 250 ms"; None for most hits."""
    notes: list[str] = []
    if hit.corrects is not None:
        is_denial = hit.corrects.kind == "denial"
        notes.append(
            "an earlier message says the opposite" if is_denial else f"now {hit.corrects.now}, was {hit.corrects.was}"
        )
    if hit.corrected_by is not None:
        is_denial = hit.corrected_by.kind == "denial"
        values = f"was {hit.corrected_by.was}, now {hit.corrected_by.now}"
        notes.append("a later message says the opposite" if is_denial else f"corrected later: {values}")
    return "; ".join(notes) or None


def correction_metadata(hit: models.Hit) -> dict[str, str]:
    """Corrections as metadata of a document, whose text stays that of the message."""
    correction = correction_of(hit)
    return {"correction": correction} if correction else {}

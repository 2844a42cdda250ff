"""How results moved between two settings."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

SAME, NEW, GONE = "", "new", "gone"


def moves(a: Sequence[UUID], b: Sequence[UUID]) -> tuple[dict[UUID, str], dict[UUID, str]]:
    """For each result of A and of B how its place differs in B: ▲2, ▼1, new (in B alone), gone (in A alone)."""
    places = {message_id: place for place, message_id in enumerate(a)}
    of_b = {message_id: _move(places.get(message_id), place) for place, message_id in enumerate(b)}
    of_a = {message_id: of_b.get(message_id, GONE) for message_id in a}
    return of_a, of_b


def _move(before: int | None, now: int) -> str:
    if before is None:
        return NEW
    if before == now:
        return SAME
    return f"▲{before - now}" if before > now else f"▼{now - before}"

"""Objects of an operator's action, in batches that one short transaction can lock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar
from uuid import UUID

SESSIONS_AT_ONCE = 20  # in one transaction, which holds all their locks


class Place(Protocol):
    """Something that belongs to a session of a memory base."""

    @property
    def memory_base_id(self) -> UUID: ...
    @property
    def session_id(self) -> str: ...


P = TypeVar("P", bound=Place)


def session_batches(places: Iterable[P]) -> Iterator[tuple[UUID, dict[str, list[P]]]]:
    """Batches of `SESSIONS_AT_ONCE` sessions of one memory base, with what each session has."""
    by_base: dict[UUID, dict[str, list[P]]] = defaultdict(lambda: defaultdict(list))
    for place in places:
        by_base[place.memory_base_id][place.session_id].append(place)
    for base_id, sessions in by_base.items():
        # Everything that locks several sessions sorts them in Python, whatever the database's collation.
        ordered = sorted(sessions)
        for start in range(0, len(ordered), SESSIONS_AT_ONCE):
            yield base_id, {each: sessions[each] for each in ordered[start : start + SESSIONS_AT_ONCE]}

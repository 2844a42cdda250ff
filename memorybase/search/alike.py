"""Folds candidates with the same text: only the best of them stays."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from memorybase.messages import message_text
from memorybase.queries import search as search_queries
from memorybase.search.stored_candidates import Candidate
from memorybase.services import Services

COMPARED = 128  # of the best candidates; others are not counted

_NOT_WORDS = re.compile(r"[\W_]+")


def normalized(text: str) -> str:
    """The text without case, punctuation and repeated spaces. Texts with the same result are alike."""
    return _NOT_WORDS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def fold(services: Services, candidates: Sequence[Candidate], top_k: int) -> list[Candidate]:
    """The top_k of one flow's candidates (best first, each message once), each with how many others are like it."""
    compared = candidates[:COMPARED]
    shapes = Counter(_shape(candidate) for candidate in compared)
    ids = [candidate.message_id for candidate in compared if shapes[_shape(candidate)] > 1]
    if not ids:
        return list(compared[:top_k])
    with services.database.reading(on_replica=True) as db:
        contents = search_queries.fetch_contents(db, compared[0].target.flow_id, ids)
    best: dict[str | UUID, Candidate] = {}
    for candidate in compared:
        # Without a text that is like no other: or it was deleted since its verification.
        text = normalized(message_text(contents.get(candidate.message_id)))
        key = text or candidate.message_id
        first = best.setdefault(key, candidate)
        if first is not candidate:
            best[key] = first._replace(alike=first.alike + 1)
    return list(best.values())[:top_k]


def _shape(candidate: Candidate) -> tuple[int, int, float] | None:
    """What messages with the same text have in common, as far as it is known without the text."""
    facts = candidate.facts
    return None if facts is None else (facts.terms, facts.first_person, round(candidate.coverage, 6))

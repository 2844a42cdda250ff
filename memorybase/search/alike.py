"""Folds candidates with the same text: only the best of them stays."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from memorybase.messages import message_text
from memorybase.search import queries
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
    if not compared:
        return []
    with services.database.reading(on_replica=True) as db:
        messages = queries.fetch_messages(
            db, compared[0].target.flow_id, [candidate.message_id for candidate in compared]
        )
    best: dict[str, Candidate] = {}
    for candidate in compared:
        message = messages.get(candidate.message_id)
        if message is None:  # deleted since its verification
            continue
        text = normalized(message_text(message.content)) or str(message.id)
        first = best.setdefault(text, candidate)
        if first is not candidate:
            best[text] = first._replace(alike=first.alike + 1)
    return list(best.values())[:top_k]

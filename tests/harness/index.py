"""Checks that the keyword index matches the messages."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from harness.world import World
from memorybase.core.keyword_index import analyzer as keywords
from memorybase.core.keyword_index import index
from memorybase.core.messages import message_text
from memorybase.core.models import Message, Posting, Session, Speaker
from memorybase.core.queries import posting_blocks


def stored_postings(db: OrmSession) -> dict[tuple[int, int], int]:
    """How many times each term occurs at each position, by the rows and the blocks. Each is in one of them."""
    found: list[tuple[int, int, int]] = []
    for row in db.scalars(sa.select(Posting)):
        packed = [] if row.packed is None else posting_blocks.unpack([row.position], [row.packed]).tolist()
        assert (row.position < 0) == bool(packed)
        found += [(row.term, *each) for each in packed or [(row.position, row.times)]]
    stored = {(term, position): times for term, position, times in found}
    assert len(stored) == len(found)
    return stored


def wanted_postings(db: OrmSession, language: str = keywords.DETECT) -> dict[tuple[int, int], int]:
    """What `stored_postings` must be for the messages that there are."""
    analyzer = keywords.analyzer(language)
    return {
        (keywords.term_key(message.flow_id, term), message.position): times
        for message in db.scalars(sa.select(Message).where(Message.role.in_(("user", "assistant"))))
        for term, times in analyzer.document(message_text(message.content)).counts.items()
    }


def assert_index_exact(world: World, language: str = keywords.DETECT) -> None:
    """Assert that postings, counts and speakers are exactly those of the current messages."""
    analyzer = keywords.analyzer(language)
    totals: dict[UUID, Counter[str]] = {}
    with world.services.database.reading() as db:
        sessions = {(s.flow_id, s.session_id): s for s in db.scalars(sa.select(Session))}
        names: set[tuple[UUID, str]] = set()
        for message in db.scalars(sa.select(Message)):
            conversation = sessions[message.flow_id, message.session_id]
            assert message.position == conversation.first_position + message.seq
            document = analyzer.document(message_text(message.content))
            if message.role not in ("user", "assistant"):
                assert message.terms == 0
                continue
            stored = {name: getattr(message, name) for name in index.columns(document)}
            assert stored == index.columns(document)
            totals.setdefault(conversation.id, Counter()).update(documents=bool(document.counts), terms=document.length)
            names |= {(conversation.id, name) for name in keywords.name_words(message.sender_name) if document.counts}
        assert stored_postings(db) == wanted_postings(db, language)
        for conversation in sessions.values():
            total = totals.get(conversation.id, Counter())
            assert (conversation.documents, conversation.terms) == (total["documents"], total["terms"])
        speakers = {(row.session_uuid, row.name) for row in db.scalars(sa.select(Speaker))}
        assert names <= speakers
        assert {conversation for conversation, _ in speakers} <= {s.id for s in sessions.values()}

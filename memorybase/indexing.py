"""Keeping the keyword index: in the transaction that captures, edits or deletes, under its session's lock.

So it holds exactly what SQL holds, whatever the store has, and nothing ever rebuilds it to answer a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import keywords
from memorybase.keywords import Document
from memorybase.messages import NewMessage, message_text
from memorybase.models import Message, Session
from memorybase.queries import postings
from memorybase.services import Services

_NOTHING = Document({}, 0, keywords.Traits(0))


def analyze(services: Services, role: str, content: Any) -> Document:
    """A message as it is indexed; what is no dialogue has no terms."""
    if role not in ("user", "assistant"):
        return _NOTHING
    return keywords.analyzer(services.settings.keyword_language).document(message_text(content))


def analyze_all(services: Services, messages: Mapping[UUID, NewMessage]) -> dict[UUID, Document]:
    """Before the transaction begins: a long text must not hold its locks."""
    return {message_id: analyze(services, message.role, message.content) for message_id, message in messages.items()}


def columns(document: Document) -> dict[str, int]:
    """What a message's row keeps of it."""
    return {"terms": document.length, "traits": int(document.traits)}


def add(
    session: OrmSession, conversation: Session, rows: Iterable[Mapping[str, Any]], documents: Mapping[UUID, Document]
) -> None:
    """Index messages that have just been inserted, by their rows."""
    found: list[tuple[int, int, int]] = []
    names: set[str] = set()
    for row in rows:
        document = documents[row["id"]]
        if not document.counts:
            continue
        names |= keywords.name_words(row["sender_name"])
        found += _postings(conversation.flow_id, row["place"], document)
        conversation.documents += 1
        conversation.terms += document.length
    postings.add(session, found)
    postings.add_speakers(session, conversation, names)


def replace(session: OrmSession, services: Services, conversation: Session, message: Message) -> None:
    """Index a message's new content in the place of its old."""
    remove(session, conversation, message)
    document = analyze(services, message.role, message.content)
    message.terms, message.traits = document.length, int(document.traits)
    postings.add(session, _postings(conversation.flow_id, message.place, document))
    conversation.documents += bool(document.counts)
    conversation.terms += document.length


def remove(session: OrmSession, conversation: Session, message: Message) -> None:
    postings.remove(session, message.place)
    conversation.documents -= bool(message.terms)
    conversation.terms -= message.terms


def remove_all(session: OrmSession, conversation: Session) -> None:
    """The whole session's."""
    postings.remove_session(session, conversation)


def _postings(flow_id: UUID, place: int, document: Document) -> list[tuple[int, int, int]]:
    return [(keywords.term_key(flow_id, term), place, count) for term, count in document.counts.items()]

"""Keeping the keyword index: in the transaction that captures, edits or deletes, under its session's lock.

So it holds exactly what SQL holds, whatever the store has, and nothing ever rebuilds it to answer a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.keyword_index import analyzer
from memorybase.keyword_index import queries as postings
from memorybase.keyword_index.analyzer import Document
from memorybase.keyword_index.queries import Waiting
from memorybase.messages import NewMessage, message_text
from memorybase.models import Message, Session
from memorybase.queries import sessions
from memorybase.services import Services

REINDEX_PAGE = 100  # messages a transaction: captures into the session wait so long, about 50 ms

_NOTHING = Document({}, 0, analyzer.Traits(0), "none")


def analyze(services: Services, role: str, content: Any) -> Document:
    """A message as it is indexed; what is no dialogue has no terms."""
    if role not in ("user", "assistant"):
        return _NOTHING
    return analyzer.analyzer(services.settings.keyword_language).document(message_text(content))


def analyze_all(services: Services, messages: Mapping[UUID, NewMessage]) -> dict[UUID, Document]:
    """Before the transaction begins: a long text must not hold its locks."""
    return {message_id: analyze(services, message.role, message.content) for message_id, message in messages.items()}


def columns(document: Document) -> dict[str, int]:
    """What a message's row keeps of it."""
    return {
        "terms": document.length,
        "traits": int(document.traits),
        "first_person": document.first_person,
        "capitals": document.capitals,
    }


def add(
    db: OrmSession, session: Session, rows: Iterable[Mapping[str, Any]], documents: Mapping[UUID, Document]
) -> None:
    """Index messages that have just been inserted, by their rows."""
    found: list[tuple[int, int, int]] = []
    names: set[str] = set()
    for row in rows:
        document = documents[row["id"]]
        if not document.counts:
            continue
        names |= analyzer.name_words(row["sender_name"])
        found += _postings(session.flow_id, row["position"], document)
        _enter(session, document)
    postings.add(db, found)
    postings.add_speakers(db, session, names)


def replace(db: OrmSession, services: Services, session: Session, message: Message) -> None:
    """Index a message's new content in the place of its old."""
    remove(db, session, message)
    document = analyze(services, message.role, message.content)
    for name, value in columns(document).items():
        setattr(message, name, value)
    postings.add(db, _postings(session.flow_id, message.position, document))
    _enter(session, document)


def remove(db: OrmSession, session: Session, message: Message) -> None:
    postings.remove(db, message.position)
    session.documents -= bool(message.terms)
    session.terms -= message.terms


def remove_all(db: OrmSession, session: Session) -> None:
    """The whole session's."""
    postings.remove_session(db, session)


def waiting_for_reindex(services: Services) -> Waiting:
    """What is indexed in another language than the setting's."""
    with services.database.reading() as db:
        return postings.in_other_language(db, services.settings.keyword_language)


def reindex(services: Services) -> Iterator[int]:
    """Index again what is indexed in another language than the setting's; how many messages, page by page.

    Each page is a transaction under its session's lock, so that captures, edits and searches go on. Begun again after
    an end halfway, it leaves out the sessions that are done.
    """
    last: UUID | None = None
    while True:
        with services.database.reading() as db:
            page = postings.sessions_in_other_language(db, services.settings.keyword_language, after=last)
        for _, flow_id, session_id in page:
            yield from _reindex_session(services, flow_id, session_id)
        if not page:
            return
        last = page[-1][0]


def _reindex_session(services: Services, flow_id: UUID, session_id: str) -> Iterator[int]:
    last, ended = 0, False
    while not ended:
        with services.database.transaction() as db:
            session = sessions.lock_session(db, flow_id, session_id)
            if session is None:  # deleted or renamed meanwhile
                return
            messages = sessions.dialogue_after(db, flow_id, session_id, last, limit=REINDEX_PAGE)
            for message in messages:
                replace(db, services, session, message)
                last = message.seq
            ended = len(messages) < REINDEX_PAGE
            if ended:
                session.keyword_language = services.settings.keyword_language
        yield len(messages)


def _enter(session: Session, document: Document) -> None:
    """Count a document in, and note its language."""
    if document.counts:
        same = not session.documents or session.keyword_language == document.language
        session.keyword_language = document.language if same else None
    session.documents += bool(document.counts)
    session.terms += document.length


def _postings(flow_id: UUID, position: int, document: Document) -> list[tuple[int, int, int]]:
    return [(analyzer.term_key(flow_id, term), position, count) for term, count in document.counts.items()]

"""Updates of the keyword index, in the transaction that captures, edits or deletes, under the session's lock.

So the index always matches the messages in SQL, whatever the vector store holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.keyword_index import analyzer
from memorybase.core.keyword_index.analyzer import Document
from memorybase.core.keyword_index.languages import OF_CODE
from memorybase.core.messages import message_text
from memorybase.core.models import Message
from memorybase.core.queries import keyword_index as postings
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries import sessions
from memorybase.core.queries.keyword_index import Waiting
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import Services

# How a session is indexed, in the column `keyword_language`: the analyzer's label, for example "english 5". Under the
# setting "detect" the codes of languages that occur in the session follow: "detect 5 de fr". None: its messages are
# indexed in several ways, with several languages or by several versions.
MAX_LABEL_CHARS = 32  # of the column; codes that do not fit are left out
REINDEX_PAGE = 100  # messages in one transaction, about 50 ms, while captures into the session wait

_NO_TERMS = Document({}, 0, analyzer.Traits(0), "none")


def joined_label(label: str | None, other: str, code: str) -> str | None:
    """The label of a session after a document with the `other` label, in the language of this code or in none."""
    if label is None or not is_indexed_by(label, other):
        return None
    return session_label(other, {*label_languages(label), code} - {""})


def session_label(analyzer_label: str, codes: Iterable[str]) -> str:
    """The label of a session that this analyzer has indexed, with the languages that occur."""
    label = analyzer_label
    for code in sorted(codes):
        if len(label) + len(code) < MAX_LABEL_CHARS:
            label += f" {code}"
    return label


def is_indexed_by(label: str, analyzer_label: str) -> bool:
    """Whether this analyzer has indexed the session."""
    return f"{label} ".startswith(f"{analyzer_label} ")


def label_languages(label: str | None) -> set[str]:
    """The languages that the label tells, as codes."""
    return set((label or "").split()) & OF_CODE.keys()


def analyze(services: Services, role: str, content: Any) -> Document:
    """A message as it is indexed; only user and assistant messages have terms. Analyze before the transaction begins,
    so that a long text does not extend its locks."""
    if role not in ("user", "assistant"):
        return _NO_TERMS
    return analyzer.analyzer(services.settings.keyword_language).document(message_text(content))


def columns(document: Document) -> dict[str, int]:
    """The values of a message's row."""
    return {"terms": document.length, "traits": int(document.traits)}


def add(db: OrmSession, session: SessionRow, messages: Sequence[tuple[Mapping[str, Any], Document]]) -> None:
    """Index newly inserted messages, given as rows with their documents."""
    new_postings: list[tuple[int, int, int]] = []
    names: set[str] = set()
    spoken = _new_languages(session, (document for _, document in messages))
    for row, document in messages:
        if not document.counts:
            continue
        names |= analyzer.name_words(row["sender_name"])
        new_postings += _postings(session.flow_id, row["position"], document)
        _count(session, document)
    postings.add(db, new_postings)
    postings.add_speakers(db, session, names)
    postings.add_languages(db, session.flow_id, spoken)


def replace(db: OrmSession, services: Services, session: SessionRow, message: Message) -> Document:
    """Replace a message's old content in the index; returns what is indexed now."""
    postings.remove(db, message.position)
    return _index_again(db, services, session, message)


def _index_again(db: OrmSession, services: Services, session: SessionRow, message: Message) -> Document:
    _discount(session, message)
    document = analyze(services, message.role, message.content)
    for name, value in columns(document).items():
        setattr(message, name, value)
    postings.add(db, _postings(session.flow_id, message.position, document))
    postings.add_languages(db, session.flow_id, _new_languages(session, [document]))
    _count(session, document)
    sessions.save(db, session)
    return document


def remove(db: OrmSession, session: SessionRow, message: Message) -> None:
    """Take a message out of the index."""
    postings.remove(db, message.position)
    _discount(session, message)
    sessions.save(db, session)


def _discount(session: SessionRow, message: Message) -> None:
    session.documents -= bool(message.terms)
    session.terms -= message.terms


def waiting_for_reindex(services: Services) -> Waiting:
    """Sessions and messages that are indexed in another way than the setting and this version say."""
    with services.database.reading() as db:
        return postings.in_other_way(db, _label(services))


def reindex(services: Services) -> Iterator[int]:
    """Reindex sessions indexed in another way than the setting and this version say; yields the number of messages of
    each page.

    Each page is one transaction under its session's lock, so captures, edits and searches continue. A restart skips
    sessions that are done.
    """
    last: UUID | None = None
    while True:
        with services.database.reading() as db:
            page = postings.sessions_in_other_way(db, _label(services), after=last)
        for _, flow_id, session_id in page:
            yield from _reindex_session(services, flow_id, session_id)
        if not page:
            return
        last = page[-1][0]


def _reindex_session(services: Services, flow_id: UUID, session_id: str) -> Iterator[int]:
    last, is_done = 0, False
    spoken: set[str] = set()
    while not is_done:
        with services.database.transaction() as db:
            session = sessions.lock_session(db, flow_id, session_id)
            if session is None:  # deleted or renamed meanwhile
                return
            messages = message_queries.dialogue_after(db, flow_id, session_id, last, limit=REINDEX_PAGE)
            if messages:
                postings.remove_positions(db, session, last + 1, messages[-1].seq)
            for message in messages:
                spoken.add(_index_again(db, services, session, message).spoken)
                last = message.seq
            is_done = len(messages) < REINDEX_PAGE
            if is_done:
                label = session_label(_label(services), spoken - {""})
                sessions.update(db, session, keyword_language=label, packed_seq=0)
        yield len(messages)


def _label(services: Services) -> str:
    return analyzer.analyzer(services.settings.keyword_language).label


def _new_languages(session: SessionRow, documents: Iterable[Document]) -> set[str]:
    """Languages of these documents that the session's label does not tell."""
    return {each.spoken for each in documents if each.spoken} - label_languages(session.keyword_language)


def _count(session: SessionRow, document: Document) -> None:
    """Add a document to the session's counts, and record how it is indexed."""
    if document.counts:
        known = session.keyword_language if session.documents else document.label
        session.keyword_language = joined_label(known, document.label, document.spoken)
    session.documents += bool(document.counts)
    session.terms += document.length


def _postings(flow_id: UUID, position: int, document: Document) -> list[tuple[int, int, int]]:
    return [(analyzer.term_key(flow_id, term), position, count) for term, count in document.counts.items()]

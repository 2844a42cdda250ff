"""The keyword index: postings, who speaks, and the counts that scores need. Exact with every commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.models import Posting, Session, Speaker
from memorybase.queries.writes import insert

INSERT_PAGE = 2_000  # rows a statement
FLOW_PAGE = 200  # sessions a transaction


class Occurrences(NamedTuple):
    """Where a term occurs and how often, in the order of the places. `truncated`: in more."""

    places: Sequence[int]
    times: Sequence[int]
    truncated: bool


class Collected(NamedTuple):
    """What is indexed of a flow."""

    sessions: int
    documents: int
    terms: int


def add(session: OrmSession, postings: Sequence[tuple[int, int, int]]) -> None:
    """(term's key, place, times) of messages."""
    for start in range(0, len(postings), INSERT_PAGE):
        session.execute(
            sa.insert(Posting),
            [
                {"term": term, "place": place, "times": times}
                for term, place, times in postings[start : start + INSERT_PAGE]
            ],
        )


def remove(session: OrmSession, place: int) -> None:
    session.execute(sa.delete(Posting).where(Posting.place == place))


def remove_session(session: OrmSession, conversation: Session) -> None:
    """Everything that the index has of a session, its counts too."""
    first = conversation.first_place
    session.execute(sa.delete(Posting).where(Posting.place > first, Posting.place <= first + conversation.last_seq))
    session.execute(sa.delete(Speaker).where(Speaker.conversation_id == conversation.id))
    conversation.documents = conversation.terms = 0


def remove_some_of_flow(session: OrmSession, flow_id: UUID, *, limit: int) -> bool:
    """The postings of at least one session, of about `limit` messages; False once none is left."""
    indexed = sa.select(Session).where(Session.flow_id == flow_id, Session.documents > 0).limit(FLOW_PAGE)
    removed = 0
    for conversation in session.scalars(indexed):
        if removed < limit:
            removed += conversation.documents
            remove_session(session, conversation)
    return removed > 0


def add_speakers(session: OrmSession, conversation: Session, names: Collection[str]) -> None:
    if names:
        session.execute(
            insert(session, Speaker).on_conflict_do_nothing(),
            [
                {"flow_id": conversation.flow_id, "name": name, "conversation_id": conversation.id}
                for name in sorted(names)
            ],
        )


def speakers_among(session: OrmSession, flow_id: UUID, words: Collection[str]) -> set[str]:
    """Which of the words name a speaker of the flow."""
    found = {word: sa.exists().where(Speaker.flow_id == flow_id, Speaker.name == word) for word in sorted(words)}
    if not found:
        return set()
    row = session.execute(sa.select(*found.values())).one()
    return {word for word, there in zip(found, row, strict=True) if there}


def collected(session: OrmSession, flow_id: UUID) -> Collected:
    row = session.execute(
        sa.select(
            sa.func.count(), sa.func.coalesce(sa.func.sum(Session.documents), 0),
            sa.func.coalesce(sa.func.sum(Session.terms), 0),
        ).where(Session.flow_id == flow_id, Session.documents > 0)
    ).one()  # fmt: skip
    return Collected(*(int(value) for value in row))


def occurrences(
    session: OrmSession, term: int, *, limit: int, within: Sequence[tuple[int, int]] | None = None
) -> Occurrences:
    """At most `limit` postings of a term, in all sessions or within those ranges of places, both ends included."""
    statement = sa.select(Posting.place, Posting.times).where(Posting.term == term)
    if within is not None:
        statement = statement.where(sa.or_(sa.false(), *(Posting.place.between(low, high) for low, high in within)))
    rows = session.execute(statement.order_by(Posting.place).limit(limit + 1)).all()
    places, times = zip(*rows[:limit], strict=True) if rows else ((), ())
    return Occurrences(places, times, len(rows) > limit)


def occurrences_at(session: OrmSession, term: int, places: Collection[int]) -> Occurrences:
    """A term's postings at these places."""
    rows = session.execute(
        sa.select(Posting.place, Posting.times)
        .where(Posting.term == term, Posting.place.in_(places))
        .order_by(Posting.place)
    ).all()
    found, times = zip(*rows, strict=True) if rows else ((), ())
    return Occurrences(found, times, truncated=False)


def count(session: OrmSession, term: int) -> int:
    """In how many messages a term occurs."""
    return session.scalar(sa.select(sa.func.count()).where(Posting.term == term)) or 0


def ranges_of(
    session: OrmSession, flow_id: UUID, *, session_id: str | None, end_user_id: str | None, at_most: int
) -> list[tuple[int, int]] | None:
    """The places of a session or of an end user's sessions; None when these are more than `at_most`."""
    conditions = [Session.flow_id == flow_id]
    if session_id is not None:
        conditions.append(Session.session_id == session_id)
    if end_user_id is not None:
        conditions.append(Session.end_user_id == end_user_id)
    rows = session.execute(sa.select(Session.first_place, Session.last_seq).where(*conditions).limit(at_most + 1)).all()
    return [(first + 1, first + last) for first, last in rows] if len(rows) <= at_most else None

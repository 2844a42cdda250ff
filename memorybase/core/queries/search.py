"""The statements of a search on messages: its targets, what verifies candidates, and what hits show.

They run on the connection: through the session, hundreds of rows of columns cost several times as much. Those of every
search are built once, because building them takes longer than running them.

What the statements of a search look rows up by, so that none reads more as the store grows: a table with the columns of
a condition that an index answers, or an index by name, if its order or its own condition is needed. A test of the plans
(`test_plans_of_a_million.py`) compares.

    serving_targets     memory_bases(id) or memory_bases(flow_id); generations(memory_base_id, generation); flows(id)
    flows_of_bases      memory_bases(id) or memory_bases(user_id); flows(id)
    sessions_of         sessions(flow_id, session_id) or sessions(flow_id, end_user_id)
    held_in_sessions    session_progress(memory_base_id, session_uuid, generation); messages(session_uuid);
                        ledger(memory_base_id, generation, message_id)
    pinned_positions    ix_messages_pinned or messages(session_uuid);
                        sessions(id) or sessions(flow_id, session_id) or sessions(flow_id, end_user_id)
    fetch_features      messages(id); sessions(id); ledger(memory_base_id, generation, message_id)
    features_at         messages(position); sessions(id); ledger(memory_base_id, generation, message_id);
                        session_progress(memory_base_id, session_uuid, generation)
    said_within         messages(position)
    turns_at            messages(position); sessions(id)
    fetch_contents      messages(id)
    fetch_found         messages(id); sessions(id); ledger(memory_base_id, generation, message_id)
    neighbours          sessions(flow_id, session_id); messages(session_uuid, seq); sessions(id)

In search_pending:

    pending_messages    ix_sessions_recent or sessions(flow_id, session_id) or sessions(flow_id, end_user_id);
                        session_progress(memory_base_id, session_uuid, generation); messages(session_uuid);
                        messages(id); sessions(id); ledger(memory_base_id, generation, message_id)
    edited_messages     ix_session_progress_dirty; session_progress(id); messages(session_uuid, seq);
                        sessions(id); ledger(memory_base_id, generation, message_id)

In keyword_index and token_vectors:

    speakers_among      speakers(flow_id, name)
    languages_of        spoken_languages(flow_id)
    ranges_of           sessions(flow_id, session_id) or sessions(flow_id, end_user_id)
    collected           sessions(flow_id)
    counts              postings(term)
    known               postings(term)
    occurrences         postings(term) or postings(position)
    some_occurrences    postings(term)
    occurrences_at      postings(term, position) or postings(position)
    at_positions        token_vectors(memory_base_id, generation, position)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.batches import is_among, pages
from memorybase.core.database.engine import connection
from memorybase.core.models import (
    IS_PINNED,
    Capture,
    Flow,
    Generation,
    LedgerEntry,
    MemoryBase,
    Message,
    Session,
    SessionProgress,
)
from memorybase.core.queries.joins import MESSAGE_OF_SESSION, key_of
from memorybase.core.queries.pending import is_counted as counted
from memorybase.core.vectors.store import CollectionRef

Progress = SessionProgress
_Text = str | sa.BindParameter[Any]

# Parameters that a target fills in.
BASE = sa.bindparam("base", type_=MemoryBase.id.type)
GENERATION = sa.bindparam("generation", type_=sa.Integer())
FLOW = sa.bindparam("flow", type_=MemoryBase.id.type)
SESSION = sa.bindparam("session", type_=Session.session_id.type)
END_USER = sa.bindparam("end_user", type_=Session.end_user_id.type)
AT_MOST = sa.bindparam("at_most", type_=sa.Integer())


class Target(NamedTuple):
    """A memory base's serving generation, as far as a search needs it."""

    memory_base_id: UUID
    flow_id: UUID
    generation: int
    capture: Capture
    embedding_model: str
    embedder: str
    token_encoding: str | None
    collection_name: str
    collection_id: UUID
    search_weights: str | None  # JSON, because a target must be hashable; None: the default weights
    time_zone: str  # of the flow
    chunks_stored: int  # at the last comparison

    @property
    def collection(self) -> CollectionRef:
        return CollectionRef(self.collection_name, self.collection_id)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the statements on a target."""
        return {"base": self.memory_base_id, "generation": self.generation, "flow": self.flow_id}


# Hits in one statement for neighbors: each is two terms, and SQLite allows 500 terms in one UNION.
NEIGHBOUR_BATCH = 50


def serving_targets(
    db: OrmSession, user_id: UUID, *, memory_base_id: UUID | None, flow_id: UUID | None
) -> list[Target]:
    """The serving generation of one memory base or of all of a flow, except those being deleted."""
    statement = _targets(of_flow=memory_base_id is None)
    rows = _rows(db, statement, {"user": user_id, "wanted": memory_base_id or flow_id})
    return [Target(*row) for row in rows]


@lru_cache
def _targets(*, of_flow: bool) -> sa.Select[UUID, UUID, int, Capture, str, str, str | None, str, UUID, str, str, int]:
    return (
        sa.select(
            MemoryBase.id,
            MemoryBase.flow_id,
            Generation.generation,
            Generation.capture,
            Generation.embedding_model,
            Generation.embedder,
            Generation.token_encoding,
            Generation.collection_name,
            Generation.collection_id,
            sa.cast(MemoryBase.search_weights, sa.Text),
            Flow.time_zone,
            sa.func.coalesce(MemoryBase.chunks_stored, 0),
        )
        .join(
            Generation,
            sa.and_(Generation.memory_base_id == MemoryBase.id, Generation.generation == MemoryBase.serving),
        )
        .join(Flow, Flow.id == MemoryBase.flow_id)
        .where(
            (MemoryBase.flow_id if of_flow else MemoryBase.id) == sa.bindparam("wanted"),
            MemoryBase.user_id == sa.bindparam("user"),
            MemoryBase.deleting_at.is_(None),
            Flow.deleting_at.is_(None),
        )
        .order_by(MemoryBase.id)
    )


def flows_of_bases(db: OrmSession, user_id: UUID, base_ids: Collection[UUID] | None, *, limit: int) -> dict[UUID, UUID]:
    """The flow of each of these memory bases, or with None of all of the user's, except those being deleted."""
    statement = sa.select(MemoryBase.id, MemoryBase.flow_id).join(Flow, Flow.id == MemoryBase.flow_id)
    statement = statement.where(
        MemoryBase.user_id == user_id, MemoryBase.deleting_at.is_(None), Flow.deleting_at.is_(None)
    )
    if base_ids is not None:
        statement = statement.where(MemoryBase.id.in_(base_ids))
    rows = _rows(db, statement.order_by(MemoryBase.created_at, MemoryBase.id).limit(limit))
    return {row.id: row.flow_id for row in rows}


class FoundSession(NamedTuple):
    """A session, with its id before a rename that is not done."""

    id: UUID
    session_id: str
    former_id: str | None


def sessions_of(
    db: OrmSession, flow_id: UUID, *, session_id: str | None, end_user_id: str | None, at_most: int
) -> list[FoundSession] | None:
    """This session, or an end user's; None if there are more than `at_most`."""
    columns = (Session.id, Session.session_id, Session.former_id)
    found = sa.select(*columns).where(Session.flow_id == flow_id, *session_scope(session_id, end_user_id))
    rows = _rows(db, found.limit(at_most + 1))
    return [FoundSession(*row) for row in rows] if len(rows) <= at_most else None


def session_ids_of(
    db: OrmSession, flow_id: UUID, *, session_id: str | None, end_user_id: str | None, at_most: int
) -> list[str] | None:
    """The ids under which a store has them."""
    found = sessions_of(db, flow_id, session_id=session_id, end_user_id=end_user_id, at_most=at_most)
    return None if found is None else [name for each in found for name in each[1:] if name]


class Held(NamedTuple):
    """A message's entry in the serving ledger."""

    version: int
    chunks: int


def held_in_sessions(
    db: OrmSession, target: Target, *, session_id: str | None, end_user_id: str | None, at_most: int
) -> dict[UUID, Held] | None:
    """Messages of a session or an end user in the serving generation; None for more than `at_most` of either."""
    # The sessions first: in one statement SQLite might read every message of the flow.
    sessions = sessions_of(db, target.flow_id, session_id=session_id, end_user_id=end_user_id, at_most=at_most)
    if sessions is None:
        return None
    rows = [row.id for row in sessions]
    chunks = sa.select(sa.func.sum(SessionProgress.total_chunks)).where(
        SessionProgress.memory_base_id == target.memory_base_id,
        SessionProgress.generation == target.generation,
        SessionProgress.session_uuid.in_(rows),
    )
    if (connection(db).scalar(chunks) or 0) > at_most:
        return None
    # Their entries afterwards: in one statement PostgreSQL might read the whole ledger for the few of a session.
    of_sessions = sa.select(Message.id).where(Message.session_uuid.in_(rows), counted(target.capture))
    ids = list(connection(db).scalars(of_sessions.limit(at_most + 1)))
    return _held_of(db, target, ids) if len(ids) <= at_most else None


def _held_of(db: OrmSession, target: Target, ids: Collection[UUID]) -> dict[UUID, Held]:
    """The serving generation's entries for these messages; the latest version wins, as everywhere."""
    rows = _rows(db, _entries_of(), target.parameters | {"ids": ids})
    return {message_id: Held(version, chunks) for message_id, version, chunks in rows}


@lru_cache
def _entries_of() -> sa.Select[UUID, int, int]:
    return (
        sa.select(LedgerEntry.message_id, LedgerEntry.version, LedgerEntry.chunks)
        .where(
            LedgerEntry.memory_base_id == BASE,
            LedgerEntry.generation == GENERATION,
            LedgerEntry.message_id.in_(sa.bindparam("ids", expanding=True)),
        )
        .order_by(LedgerEntry.version)
    )


def pinned_positions(
    db: OrmSession, flow_id: UUID, *, session_id: str | None, end_user_id: str | None, at_most: int
) -> list[int]:
    """The positions of pinned messages, the last captured first; of a session or an end user if one is given."""
    statement = _pinned(of_session=session_id is not None, of_user=end_user_id is not None)
    parameters = {"flow": flow_id, "session": session_id, "end_user": end_user_id, "at_most": at_most}
    return [position for (position,) in _rows(db, statement, parameters)]


@lru_cache
def _pinned(*, of_session: bool, of_user: bool) -> sa.Select[int]:
    pinned = sa.select(Message.position).where(Message.flow_id == FLOW, IS_PINNED)
    if of_session or of_user:
        scope = session_scope(SESSION if of_session else None, END_USER if of_user else None)
        pinned = pinned.join(Session, MESSAGE_OF_SESSION).where(Session.flow_id == FLOW, *scope)
    return pinned.order_by(Message.captured_at.desc()).limit(AT_MOST)


class Features(NamedTuple):
    """Data that decides whether and how high a message is a hit.

    `chunks`: the number that the serving generation holds of this version, by its ledger; None: it does not hold this
    version.
    """

    id: UUID
    in_flow: bool  # the target's flow: a chunk or a position may name another flow's message
    session_id: str
    end_user_id: str | None
    role: str
    version: int
    timestamp: datetime
    chunks: int | None
    metadata: dict[str, Any] | None
    seq: int
    position: int
    sender_name: str | None
    terms: int
    traits: int
    first_position: int  # of its session
    pinned: bool = False


def fetch_features(db: OrmSession, target: Target, ids: Collection[UUID], *, metadata: bool) -> dict[UUID, Features]:
    """The features of the messages that exist. By primary key alone: the caller filters."""
    rows = _rows(db, _features_by_id(metadata=metadata), target.parameters | {"ids": ids})
    return {row[0]: Features(*row) for row in rows}


@lru_cache
def _features_by_id(*, metadata: bool) -> sa.Select[Any]:
    return select_features(metadata=metadata).where(Message.id.in_(sa.bindparam("ids", expanding=True)))


def features_at(db: OrmSession, target: Target, positions: Collection[int], *, metadata: bool) -> dict[int, Features]:
    """By position, the features of the messages that the memory base holds or will hold."""
    rows = _rows(
        db, _features_by_position(target.capture, metadata=metadata), target.parameters | {"positions": list(positions)}
    )
    # With this condition in SQL, SQLite would read the whole flow instead of these positions.
    return {features.position: features for features in (Features(*row) for row in rows) if features.in_flow}


@lru_cache
def _features_by_position(capture: Capture, *, metadata: bool) -> sa.Select[Any]:
    started = sa.select(Progress.start_seq).where(
        Progress.memory_base_id == BASE,
        Progress.generation == GENERATION,
        Progress.session_uuid == Message.session_uuid,
    )
    return select_features(metadata=metadata).where(
        is_among(Message.position, "positions"),
        counted(capture),
        Message.seq > sa.func.coalesce(started.correlate(Message).scalar_subquery(), 0),
    )


def select_features(*, metadata: bool) -> sa.Select[Any]:
    """Needs the parameters of `target.parameters`."""
    return sa.select(
        Message.id,
        (Message.flow_id == FLOW).label("in_flow"),
        Session.session_id,
        Session.end_user_id,
        Message.role,
        Message.version,
        Message.timestamp,
        _chunks_held().label("chunks"),
        (Message.meta if metadata else sa.null()).label("metadata"),
        Message.seq,
        Message.position,
        Message.sender_name,
        Message.terms,
        Message.traits,
        Session.first_position,
        Message.pinned,
    ).join(
        Session,
        # Every candidate is read here, whatever found it: a muted message is none from the commit on that muted it, and
        # one of a deleted session from the commit on that began the deletion.
        sa.and_(
            MESSAGE_OF_SESSION,
            Session.deleted_at.is_(None),
            Message.muted == sa.false(),
        ),
    )


def _chunks_held() -> sa.ScalarSelect[int]:
    """The chunks of the message's current version in the ledger; null if the generation does not hold that."""
    return (
        sa.select(sa.func.max(LedgerEntry.chunks))
        .where(
            LedgerEntry.memory_base_id == BASE,
            LedgerEntry.generation == GENERATION,
            LedgerEntry.message_id == Message.id,
            LedgerEntry.version == Message.version,
        )
        .correlate(Message)
        .scalar_subquery()
    )


def said_within(db: OrmSession, positions: Collection[int], since: datetime | None, until: datetime | None) -> set[int]:
    """Those of the positions whose messages were said in this time. Less is read than for their features."""
    statement = _said_within(has_since=since is not None, has_until=until is not None)
    return {
        position for (position,) in _rows(db, statement, {"positions": list(positions), "since": since, "until": until})
    }


@lru_cache
def _said_within(*, has_since: bool, has_until: bool) -> sa.Select[int]:
    since, until = (sa.bindparam(name, type_=Message.timestamp.type) for name in ("since", "until"))
    statement = sa.select(Message.position).where(is_among(Message.position, "positions"))
    if has_since:
        statement = statement.where(Message.timestamp >= since)
    return statement.where(Message.timestamp <= until) if has_until else statement


class Turn(NamedTuple):
    """A message as the keyword index describes it."""

    session_id: str
    role: str
    sender_name: str | None
    version: int
    terms: int
    traits: int


def turns_at(db: OrmSession, flow_id: UUID, positions: Collection[int]) -> dict[int, Turn]:
    """The flow's messages at these positions."""
    rows = _rows(db, _turns_at(), {"flow": flow_id, "positions": list(positions)})
    return {row[1]: Turn(*row[2:]) for row in rows if row[0]}


@lru_cache
def _turns_at() -> sa.Select[bool, int, str, str, str | None, int, int, int]:
    ours = Message.flow_id == FLOW
    return sa.select(
        ours,
        Message.position,
        Message.session_id,
        Message.role,
        Message.sender_name,
        Message.version,
        Message.terms,
        Message.traits,
    ).where(is_among(Message.position, "positions"))


def fetch_contents(db: OrmSession, flow_id: UUID, ids: Collection[UUID]) -> dict[UUID, Any]:
    """The contents of these messages of the flow, without muted ones; cheaper than whole messages."""
    rows = _rows(db, _contents(), {"ids": ids})
    return {id_: content for id_, of_flow, content in rows if of_flow == flow_id}


@lru_cache
def _contents() -> sa.Select[Any]:
    return sa.select(Message.id, Message.flow_id, Message.content).where(
        Message.id.in_(sa.bindparam("ids", expanding=True)), Message.muted == sa.false()
    )


class FoundMessage(NamedTuple):
    """A message as a hit shows it. `chunks`: as in `Features`."""

    id: UUID
    session_id: str
    run_id: UUID
    seq: int
    role: str
    sender_name: str | None
    content: Any
    timestamp: datetime
    version: int
    metadata: dict[str, Any]
    pinned: bool
    chunks: int | None


def fetch_found(db: OrmSession, target: Target, ids: Collection[UUID]) -> dict[UUID, FoundMessage]:
    """The messages that exist in the target's flow and are not muted."""
    rows = _rows(db, _found(), target.parameters | {"ids": ids})
    return {row[1]: FoundMessage(*row[1:]) for row in rows if row[0]}


@lru_cache
def _found() -> sa.Select[Any]:
    return sa.select(
        Message.flow_id == FLOW,
        Message.id,
        Message.session_id,
        Message.run_id,
        Message.seq,
        Message.role,
        Message.sender_name,
        Message.content,
        Message.timestamp,
        Message.version,
        Message.meta,
        Message.pinned,
        _chunks_held(),
    ).where(Message.id.in_(sa.bindparam("ids", expanding=True)), Message.muted == sa.false())


class Neighbour(NamedTuple):
    """A turn near a hit."""

    id: UUID
    run_id: UUID
    session_id: str
    seq: int
    role: str
    sender_name: str | None
    content: Any
    timestamp: datetime


def neighbours(db: OrmSession, flow_id: UUID, positions: Collection[tuple[str, int]], *, count: int) -> list[Neighbour]:
    """The `count` turns with text before and after each (session id, seq), in seq order, each once."""
    found: dict[UUID, Neighbour] = {}
    for page in pages(positions, NEIGHBOUR_BATCH):
        parameters: dict[str, Any] = {"flow": flow_id, "at_most": count}
        for number, (session_id, seq) in enumerate(page):
            parameters |= {f"session_{number}": session_id, f"seq_{number}": seq}
        found |= {row.id: Neighbour(*row) for row in _rows(db, _neighbours(len(page)), parameters)}
    return sorted(found.values(), key=lambda turn: (turn.session_id, turn.seq))


@lru_cache(maxsize=NEIGHBOUR_BATCH)
def _neighbours(hits: int) -> sa.CompoundSelect[Any]:
    sides = []
    for number in range(hits):
        seq = sa.bindparam(f"seq_{number}", type_=Message.seq.type)
        for beyond, order in ((Message.seq < seq, Message.seq.desc()), (Message.seq > seq, Message.seq.asc())):
            turns = (
                sa.select(
                    Message.id,
                    Message.run_id,
                    Message.session_id,
                    Message.seq,
                    Message.role,
                    Message.sender_name,
                    Message.content,
                    Message.timestamp,
                )
                .where(
                    Message.session_uuid == key_of(FLOW, sa.bindparam(f"session_{number}", type_=sa.String())),
                    Message.is_dialogue == sa.true(),
                    Message.text_bytes > 0,  # an assistant's bare tool call has no text
                    Message.muted == sa.false(),
                    beyond,
                )
                .order_by(order)
                .limit(AT_MOST)
            )
            sides.append(sa.select(turns.subquery()))
    return sa.union_all(*sides)


def _rows(db: OrmSession, statement: sa.Executable, parameters: Mapping[str, Any] | None = None) -> Sequence[Any]:
    # All at once: row by row takes twice as long.
    return connection(db).execute(statement, parameters).all()


def session_scope(session_id: _Text | None, end_user_id: _Text | None) -> list[sa.ColumnElement[bool]]:
    scope: list[sa.ColumnElement[bool]] = []
    if session_id is not None:
        scope.append(Session.session_id == session_id)
    if end_user_id is not None:
        scope.append(Session.end_user_id == end_user_id)
    return scope

"""SQL for memory uses: the memory that models were given, by run and node."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches, json_text
from memorybase.core.database.paging import Found, Keyset, Listing, PageRequest
from memorybase.core.database.upsert import insert, rows_affected
from memorybase.core.models import Flow, MemoryUse, MemoryUseMessage, Message, Run, Session
from memorybase.core.queries import message_changes
from memorybase.core.queries.joins import key_of, own_flow
from memorybase.core.queries.sessions import Rename, SessionRow

DELETED = "[deleted]"
LATEST_CAPTURE = timedelta(days=1)  # a use of a session is deleted if its run is not captured by then
READ_PAGE = 100  # uses: each may hold a whole prompt

Messages = Collection[UUID] | sa.Select[UUID]
ViewItem = Mapping[str, Any]  # a message of a view, or its source

_USES = Listing(
    sa.select(
        MemoryUse.run_id,
        MemoryUse.node_id,
        MemoryUse.sources,
        MemoryUse.report,
        MemoryUse.query,
        MemoryUse.recorded_at,
        Run.external_id,
        sa.func.coalesce(Run.session_id, MemoryUse.session_id).label("session_id"),
    )
    .join(MemoryUseMessage, MemoryUseMessage.use_id == MemoryUse.id)
    .outerjoin(Run, sa.and_(Run.id == MemoryUse.run_id, Run.flow_id == MemoryUse.flow_id)),
    Keyset("message-uses", (MemoryUse.recorded_at, MemoryUse.id), descending=True),
    sa.select(MemoryUse.id).join(MemoryUseMessage, MemoryUseMessage.use_id == MemoryUse.id),
)


def ids_in(sources: Sequence[ViewItem]) -> set[UUID]:
    """The ids of what a view shows: messages, summaries, executions, and chats for their summaries."""
    ids: set[UUID] = set()
    for source_id in (source_id for source in sources for source_id in source["message_ids"]):
        with suppress(ValueError):  # a predefined message belongs to the configuration and has no UUID
            ids.add(UUID(source_id.partition(":")[0]))  # after the colon: the index in an execution's context
    return ids


def redact_messages(messages: Sequence[ViewItem], sources: Sequence[ViewItem], ids: Collection[UUID]) -> list[Any]:
    """The messages of a view; those with a source in `ids` have their content replaced."""
    return [
        _redacted(message) if ids_in([source]).intersection(ids) else message
        for message, source in zip(messages, sources, strict=True)
    ]


def put_use(db: OrmSession, values: Mapping[str, Any], message_ids: Collection[UUID], *, replace: bool = True) -> bool:
    """Store a use. If its run and node have one, replace it, or keep it and return False."""
    changes = {name: value for name, value in values.items() if name not in {"flow_id", "run_id", "node_id"}}
    statement = insert(db, MemoryUse).values(id=uuid4(), **values)
    unique = ["flow_id", "run_id", "node_id"]
    if replace:
        statement = statement.on_conflict_do_update(index_elements=unique, set_=changes)
    else:
        statement = statement.on_conflict_do_nothing(index_elements=unique)
    use_id = db.execute(statement.returning(MemoryUse.id)).scalar()
    if use_id is None:
        return False
    db.execute(sa.delete(MemoryUseMessage).where(MemoryUseMessage.use_id == use_id))
    if message_ids:
        rows = [
            {"message_id": message_id, "use_id": use_id, "flow_id": values["flow_id"]} for message_id in message_ids
        ]
        db.execute(sa.insert(MemoryUseMessage), rows)
    return True


def use_of_node(db: OrmSession, flow_id: UUID, run_id: UUID, node_id: str) -> MemoryUse | None:
    """The memory that the model of a node was given in a run."""
    mine = (MemoryUse.flow_id == flow_id, MemoryUse.run_id == run_id, MemoryUse.node_id == node_id)
    return db.scalar(sa.select(MemoryUse).where(*mine))


def uses_of_run(db: OrmSession, flow_id: UUID, run_id: UUID) -> list[MemoryUse]:
    """Oldest first."""
    return list(
        db.scalars(
            sa.select(MemoryUse)
            .where(MemoryUse.flow_id == flow_id, MemoryUse.run_id == run_id)
            .order_by(MemoryUse.recorded_at, MemoryUse.node_id)
        )
    )


def edited_since(db: OrmSession, flow_id: UUID, run_id: UUID) -> set[UUID]:
    """The uses of a run that hold a message whose content is another one now."""
    edited = (
        sa.select(MemoryUse.id, MemoryUse.recorded_at, Message.id, Message.content)
        .join(MemoryUseMessage, MemoryUseMessage.use_id == MemoryUse.id)
        .join(Message, sa.and_(Message.id == MemoryUseMessage.message_id, Message.flow_id == flow_id))
        .where(MemoryUse.flow_id == flow_id, MemoryUse.run_id == run_id, Message.edited_at > MemoryUse.recorded_at)
    )
    contents: dict[tuple[UUID, datetime], dict[UUID, Any]] = {}
    for use_id, recorded_at, message_id, content in db.execute(edited):
        contents.setdefault((use_id, recorded_at), {})[message_id] = content
    return {use[0] for use, now in contents.items() if message_changes.edited_since(db, flow_id, now, use[1])}


def uses_with_text(
    db: OrmSession, flow_id: UUID, session_id: str, texts: Collection[str] | None
) -> Iterator[MemoryUse]:
    """A session's uses that contain one of the texts, or all; read in pages."""
    ids = db.scalars(ids_of_session(flow_id, session_id)).all()
    statement = sa.select(MemoryUse)
    if texts is not None:
        in_json = [json_text.contains(db, each, texts) for each in (MemoryUse.messages, MemoryUse.memory_use_summary)]
        in_query = [MemoryUse.query.contains(text, autoescape=True) for text in texts]
        statement = statement.where(sa.or_(*in_json, *in_query))
    for some in batches.pages(ids, READ_PAGE):
        yield from db.scalars(statement.where(MemoryUse.id.in_(some))).all()


def count_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> int:
    """Number of uses of a session and its runs."""
    found = ids_of_session(flow_id, session_id).subquery()
    return db.scalar(sa.select(sa.func.count()).select_from(found)) or 0


def end_users_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> set[str | None]:
    """For whom a session's uses were asked; empty without uses."""
    mine = (MemoryUse.flow_id == flow_id, MemoryUse.session_id == session_id)
    return set(db.scalars(sa.select(MemoryUse.end_user_id).where(*mine).distinct()))


def delete_uses_of_end_user(db: OrmSession, user_id: UUID, end_user_id: str, *, limit: int) -> int:
    """Delete up to `limit` uses that were asked for this person, in all of the user's flows. Returns the number
    deleted."""
    return delete_uses(db, sa.select(MemoryUse.id).where(*_of_end_user(user_id, end_user_id)).limit(limit))


def count_outside_sessions(db: OrmSession, user_id: UUID, end_user_id: str) -> int:
    """Number of uses that were asked for this person in chats and in sessions that are not stored."""
    its = (Session.flow_id == MemoryUse.flow_id, Session.session_id == MemoryUse.session_id)
    stored = sa.exists().where(*its, Session.deleted_at.is_(None))
    statement = sa.select(sa.func.count()).select_from(MemoryUse)
    return db.scalar(statement.where(*_of_end_user(user_id, end_user_id), ~stored)) or 0


def _of_end_user(user_id: UUID, end_user_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    flows = sa.select(Flow.id).where(own_flow(user_id))
    return MemoryUse.end_user_id == end_user_id, MemoryUse.flow_id.in_(flows)


def delete_uses(
    db: OrmSession, ids: sa.Select[UUID] | sa.CompoundSelect[UUID] | Collection[UUID], *unless: sa.ColumnElement[bool]
) -> int:
    """Delete these uses, but not those of which a condition is true. Returns the number deleted."""
    delete = sa.delete(MemoryUse).where(MemoryUse.id.in_(ids), *(~each for each in unless))
    return rows_affected(db, delete.execution_options(synchronize_session=False))


def rename_session(db: OrmSession, session: SessionRow, rename: Rename, *, limit: int) -> int:
    """Move up to `limit` uses that were asked for a session under its former id to the new id. Returns the number
    moved."""
    mine = (MemoryUse.flow_id == session.flow_id, MemoryUse.session_id == rename.former_id)
    some = sa.select(MemoryUse.id).where(*mine, MemoryUse.recorded_at <= rename.renamed_at).limit(limit)
    change = sa.update(MemoryUse).where(MemoryUse.id.in_(some.scalar_subquery())).values(session_id=session.session_id)
    return rows_affected(db, change.execution_options(synchronize_session=False))


def ids_of_session(flow_id: UUID, session_id: str) -> sa.CompoundSelect[UUID]:
    """The uses that were asked for the session, and those of its runs: two statements, each along its index."""
    asked = sa.select(MemoryUse.id).where(MemoryUse.flow_id == flow_id, MemoryUse.session_id == session_id)
    return sa.union(asked, sa.select(MemoryUse.id).where(*of_runs(flow_id, session_id)))


def of_runs(flow_id: UUID, session_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    """Whether a use is of a run of the session."""
    runs = sa.select(Run.id).where(Run.session_uuid == key_of(flow_id, session_id))
    return MemoryUse.flow_id == flow_id, MemoryUse.run_id.in_(runs)


def delete_uses_of_node(db: OrmSession, flow_id: UUID, node_id: str, *, limit: int) -> bool:
    """Delete up to `limit` uses of a node, when its memory is deleted; False once nothing is left."""
    mine = sa.and_(MemoryUse.flow_id == flow_id, MemoryUse.node_id == node_id)
    return batches.delete_some(db, MemoryUse, mine, limit=limit)


def redact_uses(db: OrmSession, flow_id: UUID, message_ids: Messages, *, limit: int | None = None) -> int:
    """Redact a flow's deleted messages in every use that holds them, or in `limit` places. Returns the number
    redacted."""
    condition = sa.and_(MemoryUseMessage.flow_id == flow_id, MemoryUseMessage.message_id.in_(message_ids))
    found = sa.select(MemoryUseMessage.use_id, MemoryUseMessage.message_id).where(condition)
    links = db.execute(found.limit(limit)).all()
    ids_by_use: dict[UUID, set[UUID]] = {}
    for use_id, message_id in links:
        ids_by_use.setdefault(use_id, set()).add(message_id)
    for use_id, ids in ids_by_use.items():
        use = db.get(MemoryUse, use_id)
        if use is None:  # deleted since the links were read
            continue
        use.messages = redact_messages(use.messages, use.sources, ids)
        use.memory_use_summary = None
    db.flush()
    key = sa.tuple_(MemoryUseMessage.use_id, MemoryUseMessage.message_id)
    for some in batches.pages(tuple(link) for link in links):
        db.execute(sa.delete(MemoryUseMessage).where(key.in_(some)), execution_options={"synchronize_session": False})
    return len(links)


def _redacted(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("role", "type") if name in message} | {"content": DELETED}


def uses_page(db: OrmSession, flow_id: UUID, message_id: UUID, request: PageRequest) -> Found:
    """The memory uses that hold a message, latest first, without the messages of their views."""
    return _USES.page(db, request, MemoryUse.flow_id == flow_id, MemoryUseMessage.message_id == message_id)


def runs_with(db: OrmSession, flow_id: UUID, message_id: UUID) -> int:
    """Number of runs in which a model was given the message."""
    held = sa.and_(MemoryUseMessage.use_id == MemoryUse.id, MemoryUseMessage.message_id == message_id)
    statement = sa.select(sa.func.count(sa.distinct(MemoryUse.run_id))).join(MemoryUseMessage, held)
    return db.scalar(statement.where(MemoryUse.flow_id == flow_id)) or 0


def sources_of_runs(
    db: OrmSession, flow_ids: Collection[UUID], run_ids: Collection[UUID]
) -> list[tuple[UUID, list[Any]]]:
    """(run, sources) of what each node's model was given in these runs."""
    mine = (MemoryUse.flow_id.in_(flow_ids), MemoryUse.run_id.in_(run_ids))
    return [(row[0], row[1]) for row in db.execute(sa.select(MemoryUse.run_id, MemoryUse.sources).where(*mine))]

"""Idempotency of captures: which messages are new, which are known, which conflict.

Everything here runs in the capture's transaction, with the session locked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4, uuid5

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.ids import CallerId
from memorybase.messages import NewMessage, message_fingerprint
from memorybase.queries import caller_ids, deleted_messages, runs
from memorybase.queries import messages as message_queries
from memorybase.queries.deleted_messages import Deleted
from memorybase.queries.messages import KnownMessage
from memorybase.queries.sessions import SessionRow


def bind_end_user(session: SessionRow, end_user_id: str | None) -> None:
    """Bind the session to its end user at its first capture. Raises SessionConflict for another end user later."""
    if session.deleted_at is not None:  # deleted; this capture starts it again
        session.end_user_id = end_user_id
        return
    if end_user_id is None or session.end_user_id == end_user_id:
        return
    if session.end_user_id is not None or session.last_seq > 0:
        raise errors.SessionConflict(
            "The session belongs to another end user, or was started without one",
            field="end_user_id",
            value=end_user_id,
        )
    session.end_user_id = end_user_id


def ensure_run(
    db: OrmSession,
    session: SessionRow,
    given: CallerId | None,
    messages: Sequence[NewMessage],
    now: datetime,
    *,
    key_id: UUID | None = None,
) -> tuple[UUID, bool]:
    """The id of the run's row, inserted unless it exists, and whether it is new.

    Raises RunConflict if it belongs to another session, or came with other messages without ids.
    """
    fingerprint = _fingerprint_without_ids(messages)
    stored = {} if given is None else runs.known_runs(db, given.in_flow(session.flow_id))
    run = next((run for run in stored.values() if run.flow_id == session.flow_id), None)
    if run is None:
        stamped = {"fingerprint": fingerprint, "created_at": now, "key_id": key_id}
        return _add_run(db, session, given, stored, stamped), True
    if run.session_uuid != session.id:
        raise errors.RunConflict(
            "The run belongs to another session", field="run_id", value=run.id if given is None else given.sent
        )
    if fingerprint is not None:
        if run.fingerprint not in (None, fingerprint):
            raise errors.RunConflict(field="run_id", value=run.id if given is None else given.sent)
        if run.fingerprint is None:
            runs.set_run_fingerprint(db, run.id, fingerprint)
    return run.id, False


def _add_run(
    db: OrmSession,
    session: SessionRow,
    given: CallerId | None,
    taken: Collection[UUID],
    stamped: Mapping[str, Any],
) -> UUID:
    run_id = uuid4() if given is None else caller_ids.free(db, session.flow_id, given, taken)
    new = {
        "id": run_id,
        "flow_id": session.flow_id,
        "session_uuid": session.id,
        "external_id": None if given is None else given.external_id_of(run_id),
        **stamped,
    }
    if not runs.add_run(db, new):
        raise errors.ConstraintViolated("Another transaction inserted this run")
    if given is not None and run_id != (usual := given.in_flow(session.flow_id)[0]):
        runs.rename_run(db, session, usual, run_id)
    return run_id


def _fingerprint_without_ids(messages: Sequence[NewMessage]) -> bytes | None:
    """One fingerprint over the messages without ids; None if all have ids."""
    digest = hashlib.sha256()
    without_ids = [message for message in messages if message.id is None]
    for message in without_ids:
        digest.update(message_fingerprint(message))
    return digest.digest() if without_ids else None


@dataclass(frozen=True, slots=True)
class Identified:
    """The messages of a request by the ids of their rows, in the order of the request."""

    rows: list[UUID]  # of each message sent, with repetitions
    messages: dict[UUID, NewMessage]
    known: dict[UUID, KnownMessage]  # those that are stored already
    past: dict[UUID, Deleted]  # the deleted messages that the request names
    skipped: dict[UUID, Deleted]  # those of its messages that stay deleted
    parents: dict[CallerId, UUID]  # the row of every id that it names
    renamed: dict[UUID, UUID]  # new rows, by the id by which replies that were captured before may name them
    restored: set[UUID]  # the deleted ids of new messages, which get another id


def identify(
    db: OrmSession,
    session: SessionRow,
    run_id: UUID,
    messages: Sequence[NewMessage],
    *,
    on_conflict: str,
    generated_may_be_stored: bool,
    generated_may_be_deleted: bool,
) -> Identified:
    """Find the row of each message, or choose the id of a new one. A message without an id gets one that is generated
    from the run and the index among such messages.

    Raises InvalidRequest for one id with two contents; MessageConflict for a message of another session or, while
    on_conflict is "error", with different content.
    """
    flow_id = session.flow_id
    generated = [uuid5(run_id, f"message:{n}") for n in range(sum(message.id is None for message in messages))]
    sent = dict.fromkeys(message.id for message in messages if message.id is not None)
    replied_to = {message.parent_message_id for message in messages if message.parent_message_id is not None}
    candidates = {given: given.in_flow(flow_id) for given in [*sent, *(replied_to - sent.keys())]}
    wanted = {row_id for pair in candidates.values() for row_id in pair}
    stored = message_queries.known_messages(db, wanted.union(generated if generated_may_be_stored else ()))
    here = {row_id for row_id, message in stored.items() if message.flow_id == flow_id}
    past = deleted_messages.fetch(db, flow_id, wanted.union(generated if generated_may_be_deleted else ()) - here)
    gone = {row_id for row_id, deleted in past.items() if stays_deleted(deleted, session)}

    rows = {given: row_id for given, pair in candidates.items() if (row_id := _named(pair, here) or _named(pair, gone))}
    renamed: dict[UUID, UUID] = {}
    restored: set[UUID] = set()
    for given in sent:
        if given in rows:
            continue
        rows[given] = caller_ids.free(db, flow_id, given, stored)
        other = next(row_id for row_id in candidates[given] if row_id != rows[given])
        if other in past:
            restored.add(other)
        if rows[given] != given.uuid:
            renamed[other] = rows[given]

    without_id = iter(generated)
    row_ids = [next(without_id) if message.id is None else rows[message.id] for message in messages]
    by_id = _distinct(messages, row_ids)
    known = {row_id: stored[row_id] for row_id in by_id if row_id in stored}
    _check_known(db, session, by_id, known, on_conflict)
    return Identified(
        row_ids,
        by_id,
        known,
        past,
        skipped={row_id: past[row_id] for row_id in by_id if row_id in gone},
        parents={given: rows.get(given, pair[0]) for given, pair in candidates.items()},
        renamed=renamed,
        restored=restored,
    )


def _named(candidates: Sequence[UUID], existing: Collection[UUID]) -> UUID | None:
    """The row that an id names; the later candidate counts, which is there because the first was taken."""
    return next((row_id for row_id in reversed(candidates) if row_id in existing), None)


def _distinct(messages: Sequence[NewMessage], row_ids: Sequence[UUID]) -> dict[UUID, NewMessage]:
    """Messages by the ids of their rows. Raises InvalidRequest for one id with two contents."""
    by_id: dict[UUID, NewMessage] = {}
    for index, (message, row_id) in enumerate(zip(messages, row_ids, strict=True)):
        first = by_id.setdefault(row_id, message)
        if first is not message and message_fingerprint(first) != message_fingerprint(message):
            raise errors.InvalidRequest(
                "A message id occurs twice in this request with different content",
                field=f"messages[{index}].id",
                value=row_id if message.id is None else message.id.sent,
            )
    return by_id


def _check_known(
    db: OrmSession,
    session: SessionRow,
    messages: Mapping[UUID, NewMessage],
    known: Mapping[UUID, KnownMessage],
    on_conflict: str,
) -> None:
    for row_id, stored in known.items():
        given = messages[row_id].id
        value = row_id if given is None else given.sent
        if stored.session_uuid != session.id:
            raise errors.MessageConflict(
                "The message belongs to another session; nothing of this request was stored",
                field="messages.id",
                value=value,
                message_id=str(row_id),
            )
        if on_conflict == "error" and _differs(db, stored, messages[row_id]):
            raise errors.MessageConflict(field="messages.id", value=value, message_id=str(row_id))


def _differs(db: OrmSession, stored: KnownMessage, message: NewMessage) -> bool:
    """Whether it equals neither the message as captured nor as edited: a runtime may post its whole state again."""
    if stored.fingerprint == message_fingerprint(message):
        return False
    current = message_queries.message_by_id(db, stored.id)
    return current is None or message_fingerprint(current) != message_fingerprint(message)


def stays_deleted(past: Deleted, session: SessionRow) -> bool:
    """A runtime that posts its whole state again does not restore a message that was deleted from its session."""
    return past.stays_deleted and past.session_uuid == session.id

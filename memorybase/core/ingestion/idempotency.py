"""Idempotency of captures: which messages are new, which are known, which conflict.

Everything here runs in the capture's transaction, with the session locked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Any, Literal, NamedTuple
from uuid import UUID, uuid4, uuid5

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.ids import CallerId
from memorybase.core.ingestion.prepared import Prepared
from memorybase.core.messages import NewMessage, ParentRule, message_fingerprint
from memorybase.core.models import Message
from memorybase.core.queries import caller_ids, deleted_messages, runs
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries.deleted_messages import Deleted
from memorybase.core.queries.messages import KnownMessage
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.screening import comparable_fingerprint
from memorybase.core.services import Services


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


class RunPlace(NamedTuple):
    """The row of a run, and whether this capture inserts it."""

    id: UUID
    is_new: bool


def ensure_run(
    db: OrmSession,
    session: SessionRow,
    given: CallerId | None,
    messages: Sequence[Prepared],
    now: datetime,
    *,
    key_id: UUID | None = None,
) -> RunPlace:
    """The run's row, inserted unless it exists.

    Raises RunConflict if it belongs to another session, or came with other messages without ids.
    """
    fingerprint = _fingerprint_without_ids(messages)
    stored = {} if given is None else runs.known_runs(db, given.in_flow(session.flow_id))
    run = next((run for run in stored.values() if run.flow_id == session.flow_id), None)
    if run is None:
        stamped = {"fingerprint": fingerprint, "created_at": now, "key_id": key_id}
        return RunPlace(_add_run(db, session, given, stored, stamped), is_new=True)
    value = run.id if given is None else given.sent
    if run.session_uuid != session.id:
        raise errors.RunConflict("The run belongs to another session", field="run_id", value=value)
    if fingerprint is not None and run.fingerprint is None:
        runs.set_run_fingerprint(db, run.id, fingerprint)
    elif fingerprint not in (None, run.fingerprint):
        raise errors.RunConflict(field="run_id", value=value)
    return RunPlace(run.id, is_new=False)


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


def _fingerprint_without_ids(messages: Sequence[Prepared]) -> bytes | None:
    """One fingerprint over the messages without ids; None if all have ids."""
    without_ids = [each.fingerprint for each in messages if each.message.id is None]
    return hashlib.sha256(b"".join(without_ids)).digest() if without_ids else None


PlaceState = Literal["new", "known", "changed", "skipped"]
Link = tuple[UUID | None, ParentRule | None]  # the parent of a message, and its rule


@dataclass(frozen=True, slots=True)
class Placed:
    """A message of a capture with its row. `skipped`: it was deleted, and stays so; `changed`: it is to be edited."""

    prepared: Prepared
    id: UUID  # of the row
    state: PlaceState
    seq: int
    stored: Message | None = None  # of a changed one
    # Of a new one:
    run_id: UUID | None = None
    link: Link = (None, None)
    version: int = 1  # no store has ever held it
    named_as: UUID | None = None  # the id by which replies that were captured before may name it
    restores: UUID | None = None  # the row under which its id was deleted, which was another one


def place(
    db: OrmSession,
    services: Services,
    session: SessionRow,
    prepared: Sequence[Prepared],
    places: Mapping[CallerId | None, RunPlace],
    *,
    on_conflict: str,
    look_up_all: bool,
) -> list[Placed]:
    """Find the row of each message, or choose the id of a new one: each row once, in the order of the request. A
    message without an id gets one that is generated from the run and its number among such messages.

    Raises InvalidRequest for one id with two contents; MessageConflict for a message of another session or, while
    on_conflict is "error", with different content.
    """
    ids = _look_up(db, session, prepared, places, look_up_all=look_up_all)
    rows = _rows(db, session, {each.key for each in prepared}, ids)
    distinct = _distinct(prepared, rows)
    new = {row_id: each for row_id, each in distinct.items() if row_id not in ids.here and row_id not in ids.gone}
    named = {each.message.parent_message_id for each in new.values()}
    gone = ids.gone & {rows[given] for given in named if given is not None}
    instead = deleted_messages.followed_instead(db, session, gone) if gone else {}
    seqs = count(session.last_seq + 1)
    placed: list[Placed] = []
    for row_id, each in distinct.items():
        if row_id in new:
            placed.append(_new(each, row_id, next(seqs), places[each.run].id, ids, _link(each.message, rows, instead)))
        elif row_id in ids.here:
            placed.append(_known(db, services, session, each, ids.stored[row_id], on_conflict))
        else:
            placed.append(Placed(each, row_id, "skipped", ids.past[row_id].seq))
    return placed


@dataclass(frozen=True, slots=True)
class _Ids:
    """The ids that a capture names or generates, and what is stored under them."""

    candidates: Mapping[CallerId, tuple[UUID, UUID]]  # the ids that a row may have for it
    generated: dict[CallerId | int, UUID]  # by the number of the message
    stored: Mapping[UUID, KnownMessage]  # of any flow
    past: Mapping[UUID, Deleted]  # deleted from this flow
    here: set[UUID]  # stored in this flow
    gone: set[UUID]  # deleted from this session, to stay so


def _look_up(
    db: OrmSession,
    session: SessionRow,
    prepared: Sequence[Prepared],
    places: Mapping[CallerId | None, RunPlace],
    *,
    look_up_all: bool,
) -> _Ids:
    sent = dict.fromkeys(each.message.id for each in prepared if each.message.id is not None)
    named = {each.message.parent_message_id for each in prepared} - {None, *sent}
    candidates = {given: given.in_flow(session.flow_id) for given in [*sent, *named] if given is not None}
    generated: dict[CallerId | int, UUID] = {}
    may_be_stored: set[UUID] = {row_id for pair in candidates.values() for row_id in pair}
    may_be_deleted = set(may_be_stored)
    for each in prepared:
        if isinstance(each.key, CallerId):
            continue
        run = places[each.run]
        generated[each.key] = row_id = uuid5(run.id, f"message:{each.key}")
        # Ids derived from a new run's id are new too. They may have been deleted with their session, unless the run's
        # id has just been chosen.
        if look_up_all or not run.is_new:
            may_be_stored.add(row_id)
        if look_up_all or not run.is_new or each.run is not None:
            may_be_deleted.add(row_id)
    stored = message_queries.known_messages(db, may_be_stored)
    here = {row_id for row_id, message in stored.items() if message.flow_id == session.flow_id}
    past = deleted_messages.fetch(db, session.flow_id, may_be_deleted - here)
    # A runtime that posts its whole state again does not restore a message that was deleted from its session.
    gone = {row_id for row_id, each in past.items() if each.stays_deleted and each.session_uuid == session.id}
    return _Ids(candidates, generated, stored, past, here, gone)


def _rows(
    db: OrmSession, session: SessionRow, sent: Collection[CallerId | int], ids: _Ids
) -> dict[CallerId | int, UUID]:
    """The row of every message and parent. An id names the later candidate, which is there because the first was
    taken."""
    rows = dict(ids.generated)
    for given, pair in ids.candidates.items():
        named = [row_id for existing in (ids.here, ids.gone) for row_id in reversed(pair) if row_id in existing]
        if named:
            rows[given] = named[0]
        else:
            rows[given] = caller_ids.free(db, session.flow_id, given, ids.stored) if given in sent else pair[0]
    return rows


def _distinct(prepared: Sequence[Prepared], rows: Mapping[CallerId | int, UUID]) -> dict[UUID, Prepared]:
    """Messages by the ids of their rows. Raises InvalidRequest for one id with two contents."""
    distinct: dict[UUID, Prepared] = {}
    for index, each in enumerate(prepared):
        first = distinct.setdefault(rows[each.key], each)
        if first.fingerprint != each.fingerprint:
            raise errors.InvalidRequest(
                "A message id occurs twice in this request with different content",
                field=f"messages[{index}].id",
                value=_value(each, rows[each.key]),
            )
    return distinct


def _known(
    db: OrmSession, services: Services, session: SessionRow, each: Prepared, stored: KnownMessage, on_conflict: str
) -> Placed:
    """A stored message. Raises MessageConflict.

    A repetition equals the message as captured or as edited: a runtime may post its whole state again.
    """
    value = _value(each, stored.id)
    if stored.session_uuid != session.id:
        raise errors.MessageConflict(
            "The message belongs to another session; nothing of this request was stored",
            field="messages.id",
            value=value,
            message_id=str(stored.id),
        )
    if on_conflict == "update":
        current = message_queries.message_by_id(db, stored.id)
        if current is not None and (current.status != each.message.status or _is_changed(current, each)):
            return Placed(each, stored.id, "changed", stored.seq, stored=current)
    elif on_conflict == "error" and stored.fingerprint != each.fingerprint:
        current = message_queries.message_by_id(db, stored.id)
        if current is None or _differs(services, current, each):
            raise errors.MessageConflict(field="messages.id", value=value, message_id=str(stored.id))
    return Placed(each, stored.id, "known", stored.seq)


def _is_changed(current: Message, each: Prepared) -> bool:
    return message_fingerprint(current) != message_fingerprint(each.message)


def _differs(services: Services, current: Message, each: Prepared) -> bool:
    if message_fingerprint(current) == each.fingerprint:
        return False
    return not each.is_screened or comparable_fingerprint(services, current) != each.fingerprint


def _value(each: Prepared, row_id: UUID) -> UUID | str:
    """The message's id, for an error."""
    return row_id if each.message.id is None else each.message.id.sent


def _link(message: NewMessage, rows: Mapping[CallerId | int, UUID], instead: Mapping[UUID, UUID | None]) -> Link:
    """The parent of a new message, and its rule. For a deleted parent: what is followed in its place."""
    parent = None if message.parent_message_id is None else rows[message.parent_message_id]
    if parent is None or parent not in instead:
        return parent, message.parent_rule
    return instead[parent], "none" if instead[parent] is None else "exact"


def _new(each: Prepared, row_id: UUID, seq: int, run_id: UUID, ids: _Ids, link: Link) -> Placed:
    version = ids.past[row_id].version + 1 if row_id in ids.past else 1
    placed = Placed(each, row_id, "new", seq, run_id=run_id, link=link, version=version)
    given = each.message.id
    if given is None:
        return placed
    other = next(candidate for candidate in ids.candidates[given] if candidate != row_id)
    return replace(
        placed, named_as=None if row_id == given.uuid else other, restores=other if other in ids.past else None
    )

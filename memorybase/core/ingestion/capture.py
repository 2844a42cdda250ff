"""Capture: store one run's messages in one short transaction.

Lock order: memory bases (shared), the session, its progress rows by id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors, metrics, tracing
from memorybase.core.callers import Caller, charge_messages, charged
from memorybase.core.database import clock, engine
from memorybase.core.described import ExternalId, Id, Seq
from memorybase.core.extension import Charge, of_messages
from memorybase.core.ids import CallerId, check_id
from memorybase.core.ingestion import edit, idempotency
from memorybase.core.ingestion.idempotency import Placed
from memorybase.core.ingestion.prepared import Prepared, prepare_all
from memorybase.core.ingestion.trigger import IngestionState, trigger
from memorybase.core.keyword_index import index
from memorybase.core.messages import NewMessage, message_text
from memorybase.core.queries import deleted_messages, sessions
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries.ownership import share_bases
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.screening import screen_messages
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.tracing import ShownRecord

log = get_logger(__name__)

OnConflict = Literal["error", "keep", "update"]


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """Messages of one run. For several runs of one session, `runs` names the run of each message, and every message
    needs an id. `by` is the name of the API key that posts them. With `durable=False` the caller must commit durably
    before it acknowledges the capture."""

    session_id: str
    messages: list[NewMessage]
    run_id: CallerId | UUID | None = None
    end_user_id: str | None = None
    on_conflict: OnConflict = "error"
    by: str | None = None
    durable: bool = True
    runs: Sequence[CallerId] | None = None


@dataclass(frozen=True, slots=True)
class CapturedMessage:
    """Result of a capture for one message."""

    id: Id
    external_id: ExternalId
    seq: Seq
    created: Annotated[bool, Field(description="Whether it is new; false for a repeat.")]
    deleted: Annotated[
        bool, Field(description="Whether the message was deleted earlier and therefore stays deleted.")
    ]  # deleted before, and therefore not stored again


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """Result of a capture. `run_id`: of several runs the last."""

    run_id: UUID
    run_external_id: str | None
    session_id: str
    created: bool  # False: a replay without new messages
    messages: list[CapturedMessage]
    ingestion: list[IngestionState]


def capture(services: Services, user_id: UUID, flow_id: UUID, request: CaptureRequest) -> CaptureResult:
    """Store a run's messages and evaluate the thresholds. Committed on return; needs neither Redis nor Chroma.

    Raises NotFound for an unknown flow, InvalidRequest, MessageConflict, RunConflict, SessionConflict, QuotaExceeded.
    """
    check_id(request.session_id, "session_id")
    if request.end_user_id is not None:
        check_id(request.end_user_id, "end_user_id")
    spanned = tracing.memory_span("create_memory", flow_id=str(flow_id), record_count=len(request.messages))
    with metrics.CAPTURE_SECONDS.time(), spanned:
        post = _prepare(services, user_id, flow_id, request)
        result = charged(services, user_id, partial(_attempt, services, post))
        job_ids = [str(state.job_id) for state in result.ingestion if state.job_id is not None]
        base_id = tracing.only_base([state.memory_base_id for state in result.ingestion])
        tracing.note(run_id=str(result.run_id), job_ids=job_ids, memory_base_id=base_id)
        tracing.note_texts(records=(ShownRecord(message_text(each.message.content)) for each in post.messages))
    metrics.RUNS_CAPTURED.inc(len(post.runs))
    metrics.MESSAGES_CAPTURED.inc(sum(message.created for message in result.messages))
    return result


@dataclass(frozen=True, slots=True)
class _Post:
    """A request with its messages prepared."""

    user_id: UUID
    flow_id: UUID
    request: CaptureRequest
    runs: list[CallerId | None]
    messages: list[Prepared]


def _prepare(services: Services, user_id: UUID, flow_id: UUID, request: CaptureRequest) -> _Post:
    of_all = request.run_id
    if isinstance(of_all, UUID):
        of_all = CallerId.of(user_id, "run", of_all)
    runs: Sequence[CallerId | None] = request.runs or [of_all] * len(request.messages)
    screened = screen_messages(services, user_id, flow_id, request.messages)
    messages = prepare_all(services, screened, runs)
    return _Post(user_id, flow_id, request, list(dict.fromkeys(runs)) or [of_all], messages)


def _attempt(services: Services, post: _Post, caller: Caller) -> CaptureResult:
    for is_first in (True, False):
        try:
            return _store(services, post, caller, look_up_all=not is_first)
        except errors.ConstraintViolated:
            continue  # a concurrent capture has stored one of these ids: look all ids up this time
    return _store(services, post, caller, look_up_all=True)


def _store(services: Services, post: _Post, caller: Caller, *, look_up_all: bool) -> CaptureResult:
    request = post.request
    with services.database.transaction(durable=request.durable) as db:
        bases = share_bases(db, post.user_id, post.flow_id)
        # From here to the commit only this transaction assigns seqs in the session: seq order is commit order.
        session = sessions.open_session(
            db, flow_id=post.flow_id, session_id=request.session_id, end_user_id=request.end_user_id
        )
        as_opened = replace(session)
        now = clock.now(db)  # read under the lock: captured_at rises with seq
        idempotency.bind_end_user(session, request.end_user_id)
        runs = {
            run: idempotency.ensure_run(
                db, session, run, [each for each in post.messages if each.run == run], now, key_id=caller.attributed_to
            )
            for run in post.runs
        }
        placed = idempotency.place(
            db, services, session, post.messages, runs, on_conflict=request.on_conflict, look_up_all=look_up_all
        )
        new = [each for each in placed if each.state == "new"]
        _insert(db, services, session, new, now)
        edit.update_changed(db, services, bases, session, placed, now, by=request.by)
        if session != as_opened:
            sessions.save(db, session)
        ingestion = trigger(db, services, bases, session, now)
        charge = Charge(caller=caller, messages=len(new), now=now, end_user_id=session.end_user_id)
        charge_messages(db, services, charge)
        run_id, run_is_new = runs[post.runs[-1]]
        engine.created(db, run_id=run_id, session_id=request.session_id)
    known = sum(each.state in ("known", "changed") for each in placed)
    log.info("run_captured", run_id=str(run_id), flow_id=str(post.flow_id), messages=len(new), known=known)
    return CaptureResult(
        run_id,
        _external_id(post.runs[-1], run_id),
        request.session_id,
        run_is_new or bool(new),
        [_captured(each) for each in placed],
        ingestion,
    )


def _insert(db: OrmSession, services: Services, session: SessionRow, new: Sequence[Placed], now: datetime) -> None:
    """Store and index the new messages of a locked session."""
    stored = [(_row(each, session, now), each) for each in new]
    message_queries.insert_messages(db, [row for row, _ in stored])
    renamed = {each.named_as: each.id for each in new if each.named_as is not None}
    if session.last_seq and renamed:
        message_queries.rename_parents(db, session, renamed)
    if new:
        session.last_seq += len(new)
        session.last_captured_at = now
        session.deleted_at = None
    index.add(db, session, [(row, each.prepared.document) for row, each in stored])
    for derived in of_messages(services):
        derived.add(db, session, [(row, *each.prepared.derived[derived.field]) for row, each in stored])
    deleted_messages.delete(db, session.flow_id, [each.id for each in new if each.version > 1])
    deleted_messages.allow(db, session.flow_id, [each.restores for each in new if each.restores is not None])


def _row(placed: Placed, session: SessionRow, now: datetime) -> dict[str, Any]:
    message = placed.prepared.message
    parent_id, parent_rule = placed.link
    return {
        **placed.prepared.columns,
        "id": placed.id,
        "flow_id": session.flow_id,
        "session_uuid": session.id,
        "run_id": placed.run_id,
        "external_id": _external_id(message.id, placed.id),
        "seq": placed.seq,
        "position": session.first_position + placed.seq,
        "parent_message_id": parent_id,
        "parent_rule": parent_rule,
        "version": placed.version,
        # The default is the time of the capture; a microsecond between messages keeps their order.
        "timestamp": message.timestamp or now + timedelta(microseconds=placed.seq - session.last_seq - 1),
        "captured_at": now,
    }


def _captured(placed: Placed) -> CapturedMessage:
    return CapturedMessage(
        placed.id,
        _external_id(placed.prepared.message.id, placed.id),
        placed.seq,
        created=placed.state == "new",
        deleted=placed.state == "skipped",
    )


def _external_id(given: CallerId | None, row_id: UUID) -> str | None:
    return None if given is None else given.external_id_of(row_id)

"""Capture: store one run's messages in one short transaction.

Lock order: memory bases (shared), the session, its progress rows by id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors, metrics, tracing
from memorybase.database import clock, engine
from memorybase.described import ExternalId, Id, Seq
from memorybase.ids import CallerId, check_id
from memorybase.ingestion import edit, idempotency
from memorybase.ingestion.idempotency import Identified
from memorybase.ingestion.trigger import IngestionState, trigger
from memorybase.keyword_index import index
from memorybase.keyword_index.analyzer import Document
from memorybase.messages import STORED_AS_SENT, NewMessage, ParentRule, message_fingerprint, text_bytes
from memorybase.queries import deleted_messages, sessions
from memorybase.queries import messages as message_queries
from memorybase.queries.deleted_messages import Deleted
from memorybase.queries.ownership import share_bases
from memorybase.queries.sessions import SessionRow
from memorybase.quotas.bounds import Caller
from memorybase.quotas.charges import charge_messages, charged
from memorybase.services import Services
from memorybase.standing import index as standing
from memorybase.telemetry import get_logger

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

    def by_run(self) -> dict[CallerId | UUID | None, list[NewMessage]]:
        """The messages of each run."""
        if self.runs is None:
            return {self.run_id: self.messages}
        found: dict[CallerId | UUID | None, list[NewMessage]] = {}
        for run, message in zip(self.runs, self.messages, strict=True):
            found.setdefault(run, []).append(message)
        return found


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
    with metrics.CAPTURE_SECONDS.time(), tracing.span("capture", flow_id=str(flow_id), messages=len(request.messages)):
        result = charged(services, user_id, lambda caller: _attempt(services, user_id, flow_id, request, caller))
        job_ids = [str(state.job_id) for state in result.ingestion if state.job_id is not None]
        tracing.note(run_id=str(result.run_id), job_ids=job_ids)
    metrics.RUNS_CAPTURED.inc(len(request.by_run()))
    metrics.MESSAGES_CAPTURED.inc(sum(message.created for message in result.messages))
    return result


def _attempt(
    services: Services, user_id: UUID, flow_id: UUID, request: CaptureRequest, caller: Caller
) -> CaptureResult:
    for is_first in (True, False):
        try:
            return _capture(services, user_id, flow_id, request, caller, look_up_all=not is_first)
        except errors.ConstraintViolated:
            continue  # a concurrent capture has stored one of these ids: look all ids up this time
    return _capture(services, user_id, flow_id, request, caller, look_up_all=True)


def _capture(
    services: Services, user_id: UUID, flow_id: UUID, request: CaptureRequest, caller: Caller, *, look_up_all: bool
) -> CaptureResult:
    of_runs = [(_caller_id(user_id, given), messages) for given, messages in request.by_run().items()]
    given_run = of_runs[-1][0]
    analyzed = index.analyze_all(services, request.messages)
    found = standing.find_all(services, request.messages)
    with services.database.transaction(durable=request.durable) as db:
        bases = share_bases(db, user_id, flow_id)
        # From here to the commit only this transaction assigns seqs in the session: seq order is commit order.
        end_user_id = request.end_user_id
        session = sessions.open_session(db, flow_id=flow_id, session_id=request.session_id, end_user_id=end_user_id)
        as_opened = replace(session)
        now = clock.now(db)  # read under the lock: captured_at rises with seq
        idempotency.bind_end_user(session, end_user_id)
        runs = [
            idempotency.ensure_run(db, session, given, messages, now, key_id=caller.attributed_to)
            for given, messages in of_runs
        ]
        run_id, run_is_new = runs[-1]
        # Ids derived from a new run's id are new too. They may have been deleted with their session, unless the run's
        # id has just been chosen.
        generated_may_be_stored = look_up_all or not run_is_new
        identified = idempotency.identify(
            db,
            session,
            run_id,
            request.messages,
            on_conflict=request.on_conflict,
            generated_may_be_stored=generated_may_be_stored,
            generated_may_be_deleted=generated_may_be_stored or given_run is not None,
        )
        messages, known, past, skipped = identified.messages, identified.known, identified.past, identified.skipped
        new = {row_id: message for row_id, message in messages.items() if row_id not in known and row_id not in skipped}
        documents = dict(zip(identified.rows, analyzed, strict=True))
        links = _links(db, session, new, identified)
        first_seq = session.last_seq + 1
        run_of = {id(message): row_id for (row_id, _), (_, own) in zip(runs, of_runs, strict=True) for message in own}
        rows = message_rows(new, documents, past, links, session, run_of, first_seq, now)
        message_queries.insert_messages(db, rows)
        if session.last_seq and identified.renamed:
            message_queries.rename_parents(db, session, identified.renamed)
        if new:
            session.last_seq += len(new)
            session.last_captured_at = now
            session.deleted_at = None
        index.add(db, session, rows, documents)
        changed = [message.standing for message in request.messages]
        standing.add(db, session, rows, dict(zip(identified.rows, zip(found, changed, strict=True), strict=True)))
        deleted_messages.delete(db, flow_id, new.keys() & past.keys())
        deleted_messages.allow(db, flow_id, identified.restored)
        if request.on_conflict == "update":
            edit.update_changed(db, services, bases, session, messages, known, now, by=request.by)
        if session != as_opened:
            sessions.save(db, session)
        ingestion = trigger(db, services, bases, session, now)
        charge_messages(db, caller, len(new), session.end_user_id, now)
        engine.created(db, run_id=run_id, session_id=request.session_id)
    log.info("run_captured", run_id=str(run_id), flow_id=str(flow_id), messages=len(new), known=len(known))
    captured = _captured(identified, {row_id: first_seq + offset for offset, row_id in enumerate(new)})
    return CaptureResult(
        run_id, _external_id(given_run, run_id), request.session_id, run_is_new or bool(new), captured, ingestion
    )


def _captured(identified: Identified, new: Mapping[UUID, int]) -> list[CapturedMessage]:
    """Every message of the request with its position. `new`: the positions of those that were stored now."""
    seqs = dict(new)
    seqs |= {row_id: stored.seq for row_id, stored in identified.known.items()}
    seqs |= {row_id: deleted.seq for row_id, deleted in identified.skipped.items()}
    return [
        CapturedMessage(
            row_id,
            _external_id(message.id, row_id),
            seqs[row_id],
            created=row_id in new,
            deleted=row_id in identified.skipped,
        )
        for row_id, message in identified.messages.items()
    ]


def _links(
    db: OrmSession, session: SessionRow, new: Mapping[UUID, NewMessage], identified: Identified
) -> dict[UUID, tuple[UUID | None, ParentRule | None]]:
    """The parent of each new message, and its rule. For a deleted parent: what is followed in its place."""
    past = identified.past
    parents = {
        row_id: None if message.parent_message_id is None else identified.parents[message.parent_message_id]
        for row_id, message in new.items()
    }
    gone = {parent for parent in parents.values() if parent is not None and parent in past}
    gone = {parent for parent in gone if idempotency.stays_deleted(past[parent], session)}
    follows = deleted_messages.followed_instead(db, session, gone) if gone else {}
    links: dict[UUID, tuple[UUID | None, ParentRule | None]] = {}
    for row_id, message in new.items():
        parent = parents[row_id]
        if parent is not None and parent in follows:
            links[row_id] = follows[parent], "none" if follows[parent] is None else "exact"
        else:
            links[row_id] = parent, message.parent_rule
    return links


def _caller_id(user_id: UUID, run_id: CallerId | UUID | None) -> CallerId | None:
    return CallerId.of(user_id, "run", run_id) if isinstance(run_id, UUID) else run_id


def _external_id(given: CallerId | None, row_id: UUID) -> str | None:
    return None if given is None else given.external_id_of(row_id)


def message_rows(
    messages: Mapping[UUID, NewMessage],
    documents: Mapping[UUID, Document],
    past: Mapping[UUID, Deleted],
    links: Mapping[UUID, tuple[UUID | None, ParentRule | None]],
    session: SessionRow,
    run_of: Mapping[int, UUID],
    first_seq: int,
    now: datetime,
) -> list[dict[str, Any]]:
    """Rows to insert, with seqs from `first_seq` on and versions that no store has ever held. `run_of`: the run of each
    message, by the identity of the object: a message may be equal to another one."""
    return [
        {
            "id": message_id,
            "flow_id": session.flow_id,
            "session_uuid": session.id,
            "run_id": run_of[id(message)],
            "external_id": _external_id(message.id, message_id),
            "seq": first_seq + offset,
            "position": session.first_position + first_seq + offset,
            **{name: getattr(message, name) for name in STORED_AS_SENT},
            "is_dialogue": message.is_dialogue,
            "parent_message_id": links[message_id][0],
            "parent_rule": links[message_id][1],
            "version": past[message_id].version + 1 if message_id in past else 1,
            "text_bytes": text_bytes(message.content),
            **index.columns(documents[message_id]),
            "fingerprint": message_fingerprint(message),
            # The default is the time of the capture; a microsecond between messages keeps their order.
            "timestamp": message.timestamp or now + timedelta(microseconds=offset),
            "captured_at": now,
            "edited_at": None,
            "muted": message.muted,
            "pinned": message.pinned,
        }
        for offset, (message_id, message) in enumerate(messages.items())
    ]

"""Export: flows, sessions, runs, messages, chats, node executions and memory uses, one JSON object per line.

Each line names its flow and run by both of their ids, so that any part of an export can be imported. The last line has
the type `end`: without it the export is incomplete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memorybase import __version__
from memorybase.core.database import clock
from memorybase.core.extension import of_messages
from memorybase.core.import_export import lines, node_memory
from memorybase.core.import_export.lines import columns, pages, written
from memorybase.core.messages import STORED_AS_SENT
from memorybase.core.models import Flow, Message, Run, Session
from memorybase.core.queries import exports
from memorybase.core.queries.exports import ExportedMessage
from memorybase.core.queries.ownership import resolve_flow
from memorybase.core.services import Services

FORMAT = 1

_MESSAGE_FIELDS = (
    "id",
    "external_id",
    "seq",
    *(name for name in STORED_AS_SENT if name != "metadata"),  # a column of another name
    "parent_message_id",
    "parent_rule",
    "version",
    "timestamp",
    "captured_at",
    "edited_at",
    "muted",
    "pinned",
)


@dataclass(frozen=True, slots=True)
class ExportScope:
    """Filter of an export: every condition that is not None applies."""

    user_id: UUID
    flow_id: UUID | None = None
    end_user_id: str | None = None


def resolve_scope(
    services: Services, user_id: UUID, *, flow_id: UUID | None, memory_base_id: UUID | None, end_user_id: str | None
) -> ExportScope:
    """The scope, after checking that every id is the user's. A memory base selects its flow. Raises NotFound,
    InvalidRequest."""
    with services.database.reading() as db:
        flow_id, _ = resolve_flow(db, user_id, flow_id, memory_base_id)
    return ExportScope(user_id, flow_id, end_user_id)


def export(services: Services, scope: ExportScope) -> Iterator[bytes]:
    """Lines with newlines, read in short transactions: changes appear unless the export has passed them."""
    counts: Counter[str] = Counter()
    of_features = [each for hooks in services.hooks for each in hooks.lines]
    with services.database.reading() as db:
        now = clock.now(db)
    yield written("export", format=FORMAT, memorybase=__version__, exported_at=now)
    for flow in _flows(services, scope):
        counts["flows"] += 1
        yield written("flow", **columns(flow, "id", "external_id", "name", "created_at"))
        for session in _sessions(services, flow, scope):
            yield from _session_lines(services, flow, session, counts)
        for each in of_features:
            yield from each.of_flow(services, flow, counts, scope.end_user_id)
        yield from node_memory.other_use_lines(services, flow, counts, end_user_id=scope.end_user_id)
    kinds_of_features = (kind for each in of_features for kind in each.kinds)
    kinds = ("flows", "sessions", "runs", "messages", *kinds_of_features, *node_memory.KINDS)
    yield written("end", **{kind: counts[kind] for kind in kinds})


def _flows(services: Services, scope: ExportScope) -> Iterator[Flow]:
    for page in pages(
        services,
        lambda db, after, limit: exports.flows_after(db, scope.user_id, after, flow_id=scope.flow_id, limit=limit),
    ):
        for flow in page:
            if scope.end_user_id is None or _has_end_user(services, flow, scope.end_user_id):
                yield flow


def _has_end_user(services: Services, flow: Flow, end_user_id: str) -> bool:
    with services.database.reading() as db:
        return exports.has_end_user(db, flow.id, end_user_id)


def _sessions(services: Services, flow: Flow, scope: ExportScope) -> Iterator[Session]:
    for page in pages(
        services,
        lambda db, after, limit: exports.sessions_after(db, flow.id, after, end_user_id=scope.end_user_id, limit=limit),
    ):
        yield from page


def _session_lines(services: Services, flow: Flow, session: Session, counts: Counter[str]) -> Iterator[bytes]:
    where = {
        "flow_id": flow.id,
        "flow_external_id": flow.external_id,
        "session_id": session.session_id,
        "end_user_id": session.end_user_id,
    }
    counts["sessions"] += 1
    times = columns(session, "created_at", "last_captured_at")
    yield written("session", **where, metadata=session.meta, **times)
    written_runs: set[UUID] = set()
    for page, runs, of_features in _message_pages(services, session):
        for exported in page:
            run = runs.get(exported.message.run_id)
            if run is not None and run.id not in written_runs:
                written_runs.add(run.id)
                yield _run_line(run, where, counts)
            counts["messages"] += 1
            copied = {name: copies.get(exported.message.id, []) for name, copies in of_features.items()}
            yield _message_line(exported, run, where, copied)
    for run in _empty_runs(services, session):
        yield _run_line(run, where, counts)
    yield from node_memory.session_lines(services, flow, session, where, counts)


def _message_pages(
    services: Services, session: Session
) -> Iterator[tuple[list[ExportedMessage], dict[UUID, Run], dict[str, Mapping[UUID, Sequence[Any]]]]]:
    """Pages of messages, their runs, and by field what copies carry for features."""
    seq = 0
    while True:
        with services.database.reading() as db:
            page = exports.messages_after(db, session.id, seq, limit=lines.PAGE)
            runs = exports.runs_of_ids(db, {exported.message.run_id for exported in page})
            ids = [exported.message.id for exported in page]
            of_features = {each.field: each.copies(db, ids) for each in of_messages(services)}
        yield page, runs, of_features
        if len(page) < lines.PAGE:
            return
        seq = page[-1].message.seq


def _empty_runs(services: Services, session: Session) -> Iterator[Run]:
    for page in pages(services, lambda db, after, limit: exports.empty_runs_after(db, session.id, after, limit=limit)):
        yield from page


def _run_line(run: Run, where: dict[str, Any], counts: Counter[str]) -> bytes:
    counts["runs"] += 1
    return written("run", **where, **columns(run, "id", "external_id", "created_at"))


def _message_line(
    exported: ExportedMessage, run: Run | None, where: dict[str, Any], of_features: dict[str, Sequence[Any]]
) -> bytes:
    message: Message = exported.message
    return written(
        "message",
        **where,
        run_id=message.run_id,
        run_external_id=run.external_id if run else None,
        parent_external_id=exported.parent_external_id,
        **columns(message, *_MESSAGE_FIELDS),
        metadata=message.meta,
        **of_features,
    )

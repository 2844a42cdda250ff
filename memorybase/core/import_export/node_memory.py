"""Export and import of node executions and memory uses; export of session summaries.

Summaries are not imported but rebuilt. So a use's references to a summary are not imported either, because a deletion
could not find its text there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, get_args
from uuid import UUID

from memorybase.core import errors
from memorybase.core.conversation.history import node_executions
from memorybase.core.conversation.history.node_executions import MAX_INDEX, ExecutionStatus, NewExecution
from memorybase.core.conversation.memory_use import record
from memorybase.core.ids import CallerId, IdKind
from memorybase.core.import_export.lines import Line, SessionRef, columns, pages, written
from memorybase.core.models import ID_LENGTH, Flow, MemoryUse, NodeExecution, Session
from memorybase.core.queries import caller_ids, exports, memory_uses
from memorybase.core.services import Services

MAX_QUERY_CHARS = 100_000  # of an imported use; more than any installation searches for
KINDS = ("summaries", "node_executions", "memory_uses")  # counted in the last line

_SOURCES: tuple[IdKind, ...] = ("message", "node_execution")  # what a use may hold of its flow

_EXECUTION_FIELDS = (
    "id",
    "external_id",
    "run_id",
    "node_id",
    "index",
    "status",
    "outputs",
    "few_shots",
    "created_at",
    "updated_at",
)
_USE_FIELDS = (
    "session_id",
    "end_user_id",
    "run_id",
    "node_id",
    "messages",
    "sources",
    "report",
    "query",
    "memory_use_summary",
    "recorded_at",
)


@dataclass(frozen=True, slots=True)
class Execution:
    """A node execution, as read from a line."""

    line: int
    ref: SessionRef
    run_id: CallerId
    execution: NewExecution
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Use:
    """A memory use, as read from a line, with exported ids; `named`: what callers call some of them."""

    line: int
    user_id: UUID
    flow_id: UUID
    use: record.PastUse
    named: dict[str, CallerId]


def session_lines(
    services: Services, flow: Flow, session: Session, where: Mapping[str, Any], counts: Counter[str]
) -> Iterator[bytes]:
    """Lines of a session's summaries, node executions and memory uses."""
    with services.database.reading() as db:
        summaries = exports.summaries_of(db, flow.id, session.session_id)
    for summary in summaries:
        counts["summaries"] += 1
        covers = None if summary.text is None else {"from_seq": 1, "to_seq": summary.to_seq}
        fields = columns(summary, "preset", "summarizer", "stale", "updated_at")
        yield written("summary", **where, summary=summary.text, covers=covers, **fields)
    for page in pages(services, lambda db, after, limit: exports.executions_after(db, session.id, after, limit=limit)):
        runs = _external_ids(services, flow.id, page)
        for execution in page:
            counts["node_executions"] += 1
            run = runs["run"].get(str(execution.run_id))
            yield written("node_execution", **where, run_external_id=run, **columns(execution, *_EXECUTION_FIELDS))
    for uses_after in (exports.uses_of_session_after, exports.uses_of_runs_after):
        yield from _use_lines(services, flow, counts, partial(uses_after, session_id=session.id))


def other_use_lines(
    services: Services, flow: Flow, counts: Counter[str], *, end_user_id: str | None = None
) -> Iterator[bytes]:
    """Lines of memory uses without an exported session: all, or those that were asked for an end user."""
    lines = partial(_use_lines, services, flow, counts)
    if end_user_id is not None:
        uses_after = partial(exports.other_uses_of_end_user_after, flow_id=flow.id, end_user_id=end_user_id)
        yield from lines(uses_after)
        return
    yield from lines(partial(exports.uses_without_session_after, flow_id=flow.id))
    of_unknown = partial(exports.uses_of_unknown_sessions_after, flow_id=flow.id)
    yield from lines(of_unknown, attrgetter("session_id", "id"))


def _use_lines(
    services: Services,
    flow: Flow,
    counts: Counter[str],
    uses_after: Callable[..., list[MemoryUse]],
    place: Callable[[MemoryUse], Any] = attrgetter("id"),
) -> Iterator[bytes]:
    where = {"flow_id": flow.id, "flow_external_id": flow.external_id}
    for page in pages(services, lambda db, after, limit: uses_after(db, after=after, limit=limit), place):
        external_ids = _external_ids(services, flow.id, page)
        for use in page:
            counts["memory_uses"] += 1
            source_ids = {str(source_id) for source_id in memory_uses.ids_in(use.sources)}
            external = {
                kind: {name: external_ids[kind][name] for name in sorted(source_ids & external_ids[kind].keys())}
                for kind in ("message", "node_execution")
            }
            run = external_ids["run"].get(str(use.run_id))
            yield written(
                "memory_use", **where, run_external_id=run, external_ids=external, **columns(use, *_USE_FIELDS)
            )


def _external_ids(
    services: Services, flow_id: UUID, page: Sequence[NodeExecution | MemoryUse]
) -> dict[str, dict[str, str]]:
    """External ids of the runs of these rows, and of the messages and executions in their sources."""
    uses = [row for row in page if isinstance(row, MemoryUse)]
    named = {source_id for use in uses for source_id in memory_uses.ids_in(use.sources)}
    with services.database.reading() as db:
        return exports.external_ids(db, flow_id, runs={row.run_id for row in page}, named=named)


# Import


def read_execution(reader: Line) -> Execution:
    status = reader.text("status", ID_LENGTH)
    if status not in get_args(ExecutionStatus):
        where = f"line {reader.number}.status"
        allowed = ", ".join(get_args(ExecutionStatus))
        text = f"status must be one of {allowed} (got {status!r})"
        raise errors.InvalidRequest(text, field=where, limit=get_args(ExecutionStatus))
    given = reader.identity("node_execution", "id", "external_id")
    raw = {
        "node_id": reader.text("node_id", ID_LENGTH),
        "index": reader.number_of("index", MAX_INDEX),
        "status": status,
        "outputs": reader.object("outputs"),
        "few_shots": reader.objects("few_shots"),
    }
    new = node_executions.new_execution(reader.user_id, raw, where=f"line {reader.number}", given=given)
    run_id = reader.identity("run", "run_id", "run_external_id")
    return Execution(reader.number, reader.session_ref(), run_id, new, reader.time("created_at"))


def read_use(reader: Line) -> Use:
    run_id = reader.identity("run", "run_id", "run_external_id")
    sources, messages, report = reader.objects("sources"), reader.objects("messages"), reader.object("report")
    if len(messages) != len(sources) or not all(_is_source(source) for source in sources):
        raise errors.InvalidRequest(
            "sources must have a valid source for each message", field=f"line {reader.number}.sources"
        )
    _check_report(reader, report)
    use = record.PastUse(
        session_id=None if reader.values.get("session_id") is None else reader.text("session_id", ID_LENGTH),
        end_user_id=None if reader.values.get("end_user_id") is None else reader.text("end_user_id", ID_LENGTH),
        run_id=run_id,
        node_id=reader.text("node_id", ID_LENGTH),
        messages=messages,
        sources=sources,
        report=report,
        query=None if reader.values.get("query") is None else reader.text("query", MAX_QUERY_CHARS),
        memory_use_summary=(
            None if reader.values.get("memory_use_summary") is None else reader.object("memory_use_summary")
        ),
        recorded_at=reader.time("recorded_at"),
    )
    return Use(reader.number, reader.user_id, reader.flow(), use, _named(reader))


def _is_source(source: Mapping[str, Any]) -> bool:
    ids = source.get("message_ids")
    return isinstance(source.get("kind"), str) and isinstance(ids, list) and all(isinstance(item, str) for item in ids)


def _named(reader: Line) -> dict[str, CallerId]:
    """The external ids of a line by exported id."""
    field = f"line {reader.number}.external_ids"
    named = reader.object("external_ids") if reader.values.get("external_ids") else {}
    ids: dict[str, CallerId] = {}
    for kind in _SOURCES:
        of_kind = named.get(kind) or {}
        if not isinstance(of_kind, dict) or not all(isinstance(each, str) for each in of_kind.values()):
            raise errors.InvalidRequest(f"{field}.{kind} must be an object of strings", field=f"{field}.{kind}")
        ids |= {old: CallerId.of(reader.user_id, kind, new, name=field) for old, new in of_kind.items()}
    return ids


def _check_report(reader: Line, report: Mapping[str, Any]) -> None:
    for name, kind in {"kept": str, "removed": dict, "recalled": dict}.items():
        value = report.get(name) or []
        if not isinstance(value, list) or not all(isinstance(each, kind) for each in value):
            field = f"line {reader.number}.report.{name}"
            text = f"{field} must be a list of {'strings' if kind is str else 'objects'}"
            raise errors.InvalidRequest(text, field=field)


def _new_ids(services: Services, item: Use) -> dict[str, str]:
    """The ids of this installation by exported id: of the flow's messages and executions, and of messages of chats,
    which are not rows of the flow's own."""
    exported = {str(source_id) for source_id in memory_uses.ids_in(item.use.sources)}
    unnamed = [
        CallerId.of(item.user_id, kind, UUID(each)) for each in exported - item.named.keys() for kind in _SOURCES
    ]
    with services.database.reading() as db:
        rows = caller_ids.present(db, item.flow_id, [*item.named.values(), *unnamed])
    found = {given.text: str(row_id) for given, row_id in rows.items() if given in unnamed}
    return found | {each: str(rows.get(given) or given.own) for each, given in item.named.items()}


def _renamed(stored: str, new_ids: Mapping[str, str]) -> str:
    """The new id; a position in an execution (`ID:POSITION`) keeps its position."""
    identity, colon, part = stored.partition(":")
    return new_ids.get(identity, identity) + colon + part


def _report(report: dict[str, Any], new_ids: Mapping[str, str]) -> dict[str, Any]:
    kept = [_renamed(str(item), new_ids) for item in report.get("kept") or ()]
    removed = [{**item, "id": _renamed(str(item.get("id")), new_ids)} for item in report.get("removed") or ()]
    recalled = [
        {**item, "message_id": _renamed(str(item.get("message_id")), new_ids)} for item in report.get("recalled") or ()
    ]
    return {**report, "kept": kept, "removed": removed} | ({"recalled": recalled} if recalled else {})


def store_execution(services: Services, user_id: UUID, item: Execution) -> bool:
    """Store it unless it exists; returns whether it is new."""
    _, created = node_executions.put_execution(
        services,
        user_id,
        item.ref.flow_id,
        item.ref.session_id,
        item.run_id,
        item.execution,
        past=item.created_at,
    )
    return created


def store_use(services: Services, item: Use) -> bool:
    """Store it unless it exists; returns whether it is new."""
    new_ids = _new_ids(services, item)
    sources = [
        {**source, "message_ids": [_renamed(each, new_ids) for each in source["message_ids"]]}
        for source in item.use.sources
    ]
    use = replace(item.use, sources=sources, report=_report(item.use.report, new_ids))
    return record.import_use(services, item.user_id, item.flow_id, use)

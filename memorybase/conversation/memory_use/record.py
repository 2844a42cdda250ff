"""Which memory a model was given: recorded by run and node, shown for a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memorybase.conversation.memory_use.provenance import ViewOrigin, deleted_sources
from memorybase.conversation.view.build import View
from memorybase.database import clock
from memorybase.messages import resolve_id
from memorybase.models import MemoryUse
from memorybase.queries import deleted_messages, memory_uses, sessions
from memorybase.queries.ownership import check_flow, not_found
from memorybase.services import Services

EDITED_SINCE = "edited_since"  # the model was given this; a message of it says something else now


@dataclass(frozen=True, slots=True)
class NodeUse:
    """What the model was given for one node, as it was sent; `memoryUseSummary` is there for session memory."""

    node_id: str
    memoryUseSummary: dict[str, Any] | None  # noqa: N815 - the name that consoles know
    messages: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    report: dict[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class RunMemory:
    """The memory that the nodes of a run were given; `session_id` is None where nothing says it."""

    run_id: UUID
    session_id: str | None
    nodes: list[NodeUse]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastUse:
    """A use as it was recorded elsewhere."""

    session_id: str | None
    run_id: UUID
    node_id: str
    messages: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    report: dict[str, Any]
    memory_use_summary: dict[str, Any] | None
    recorded_at: datetime


def record_use(
    services: Services,
    *,
    user_id: UUID,
    flow_id: UUID,
    run_id: UUID | str,
    node_id: str,
    view: View,
    memory_use_summary: dict[str, Any] | None = None,
    origin: ViewOrigin,
) -> None:
    """Keep what a node's model was given; the latest of a run and node wins. What was deleted since the view was made
    is not kept.

    The run need not be captured yet. Raises NotFound for a flow that is not the user's, and for another flow's run.
    """
    shown = view.as_dict()
    with services.database.transaction() as db:
        check_flow(db, user_id, flow_id)
        identity = run_id if isinstance(run_id, UUID) else resolve_id(user_id, "run", run_id)[0]
        run = sessions.fetch_run(db, identity)
        if run is not None and run.flow_id != flow_id:
            raise not_found("run", run_id)
        session_id = origin.session_id
        if session_id is not None and sessions.fetch_session(db, flow_id, session_id) is None:
            session_id = None
        lost = deleted_sources(db, flow_id, origin, shown["messages"], shown["sources"])
        values = {
            "flow_id": flow_id,
            "session_id": session_id,
            "run_id": identity,
            "node_id": node_id,
            "messages": memory_uses.without(shown["messages"], shown["sources"], lost),
            "sources": shown["sources"],
            "report": shown["report"],
            "memory_use_summary": None if lost else memory_use_summary,
            "recorded_at": clock.now(db),
        }
        memory_uses.put_use(db, values, memory_uses.ids_in(shown["sources"]) - lost)


def import_use(services: Services, user_id: UUID, flow_id: UUID, past: PastUse) -> bool:
    """Keep a use of another installation's, unless there is one of its run and node; whether it is new.

    Summaries do not come along, so what they say does not either. Nor does what was deleted here. Raises NotFound.
    """
    values = {"flow_id": flow_id, **asdict(past)}
    ids = memory_uses.ids_in(past.sources)
    lost = memory_uses.ids_in([source for source in past.sources if source["kind"] == "summary"])
    with services.database.transaction() as db:
        check_flow(db, user_id, flow_id)
        if past.session_id is not None and sessions.fetch_session(db, flow_id, past.session_id) is None:
            values["session_id"] = None
        lost |= {each.message_id for each in deleted_messages.fetch(db, flow_id, ids).values() if each.stays_deleted}
        if lost:
            values["messages"] = memory_uses.without(past.messages, past.sources, lost)
            values["memory_use_summary"] = None
        return memory_uses.put_use(db, values, ids - lost, replace=False)


def run_memory(services: Services, user_id: UUID, flow_id: UUID, run_id: UUID) -> RunMemory:
    """What the nodes of a run were given, oldest first. Raises NotFound for a run that is neither captured nor used."""
    with services.database.reading() as db:
        check_flow(db, user_id, flow_id)
        uses = memory_uses.uses_of_run(db, flow_id, run_id)
        edited = memory_uses.edited_since(db, flow_id, run_id)
        run = sessions.fetch_run(db, run_id)
    is_here = run is not None and run.flow_id == flow_id
    if not uses and not is_here:
        raise not_found("run", run_id)
    named = next((use.session_id for use in uses if use.session_id is not None), None)
    nodes = [_shown(use, is_edited=use.id in edited) for use in uses]
    return RunMemory(run_id, run.session_id if run is not None and is_here else named, nodes)


def _shown(use: MemoryUse, *, is_edited: bool) -> NodeUse:
    report = use.report
    if is_edited:
        report = {**report, "flags": [*report.get("flags", ()), EDITED_SINCE]}
    return NodeUse(use.node_id, use.memory_use_summary, use.messages, use.sources, report, use.recorded_at)

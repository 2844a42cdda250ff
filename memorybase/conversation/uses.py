"""Which memory a model was given: recorded by run and node, shown for a run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memorybase import errors
from memorybase.conversation.view import View
from memorybase.messages import resolve_id
from memorybase.queries import clock, conversations, memory_uses
from memorybase.services import Services


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


def record_use(
    services: Services,
    *,
    user_id: UUID,
    flow_id: UUID,
    run_id: UUID | str,
    node_id: str,
    view: View,
    memory_use_summary: dict[str, Any] | None = None,
    session_id: str | None = None,
) -> None:
    """Keep what a node's model was given; the latest of a run and node wins. `session_id` where the view is of one.

    The run need not be captured yet. Raises NotFound for a flow that is not the user's, and for another flow's run.
    """
    shown = view.as_dict()
    with services.database.transaction() as session:
        if conversations.fetch_flow(session, user_id, flow_id) is None:
            raise errors.NotFound("There is no such flow", field="flow_id", value=str(flow_id))
        identity = run_id if isinstance(run_id, UUID) else resolve_id(user_id, "run", run_id)[0]
        run = conversations.fetch_run(session, identity)
        if run is not None and run.flow_id != flow_id:
            raise errors.NotFound("The flow has no such run", field="run_id", value=str(run_id))
        if session_id is not None and conversations.fetch_session(session, flow_id, session_id) is None:
            session_id = None
        values = {
            "flow_id": flow_id,
            "session_id": session_id,
            "run_id": identity,
            "node_id": node_id,
            "messages": shown["messages"],
            "sources": shown["sources"],
            "report": shown["report"],
            "memory_use_summary": memory_use_summary,
            "recorded_at": clock.now(session),
        }
        memory_uses.put_use(session, values, _message_ids(view))


def run_memory(services: Services, user_id: UUID, flow_id: UUID, run_id: UUID) -> RunMemory:
    """What the nodes of a run were given, oldest first. Raises NotFound for a run that is neither captured nor used."""
    with services.database.reading() as session:
        if conversations.fetch_flow(session, user_id, flow_id) is None:
            raise errors.NotFound("There is no such flow", field="flow_id", value=str(flow_id))
        uses = memory_uses.uses_of_run(session, flow_id, run_id)
        run = conversations.fetch_run(session, run_id)
    is_here = run is not None and run.flow_id == flow_id
    if not uses and not is_here:
        raise errors.NotFound("There is no such run", field="run_id", value=str(run_id))
    named = next((use.session_id for use in uses if use.session_id is not None), None)
    nodes = [
        NodeUse(use.node_id, use.memory_use_summary, use.messages, use.sources, use.report, use.recorded_at)
        for use in uses
    ]
    return RunMemory(run_id, run.session_id if run is not None and is_here else named, nodes)


def _message_ids(view: View) -> set[UUID]:
    """The stored messages whose words are in the view."""
    found: set[UUID] = set()
    for source in view.sources:
        for message_id in source.message_ids:
            with suppress(ValueError):  # a record of a node's own has no UUID, and nothing to be deleted by
                found.add(UUID(message_id))
    return found

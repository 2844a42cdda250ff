"""The memory that each model was given: recorded by run and node, shown for a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deletions, errors
from memorybase.core.caveats import Redacted
from memorybase.core.conversation.memory_use.provenance import ViewOrigin, deleted_sources
from memorybase.core.conversation.view.build import View
from memorybase.core.database import clock
from memorybase.core.deletions import OfUse
from memorybase.core.described import NodeId, RunId
from memorybase.core.ids import CallerId
from memorybase.core.models import MemoryUse
from memorybase.core.queries import caller_ids, deleted_messages, memory_uses, runs, sessions
from memorybase.core.queries.ownership import check_flow, not_found
from memorybase.core.screening import screen
from memorybase.core.services import Services

EDITED_SINCE = "edited_since"  # flag: the model was given this, and a message in it was edited since


@dataclass(frozen=True, slots=True)
class NodeUse:
    """The messages that the model of one node was given, as they were sent."""

    node_id: NodeId
    memoryUseSummary: Annotated[  # noqa: N815 - the name that consoles know
        dict[str, Any] | None,
        Field(description="The pairs and the summary that session memory showed; null for other memory."),
    ]
    messages: Annotated[
        list[dict[str, Any]], Field(description="The messages as they were sent. Text deleted since reads `[deleted]`.")
    ]
    sources: Annotated[
        list[dict[str, Any]], Field(description="Where each message comes from, parallel to `messages`.")
    ]
    report: Annotated[dict[str, Any], Field(description="The report of the view at that time.")]
    query: Annotated[
        str | None,
        Field(
            description="What was looked for in the memory bases; null if nothing was. Text deleted since reads "
            "`[deleted]`."
        ),
    ]
    at: Annotated[datetime, Field(description="When the memory was read.")]
    warnings: Redacted = ()


@dataclass(frozen=True, slots=True)
class RunMemory:
    """The memory that the nodes of a run were given."""

    run_id: RunId
    session_id: Annotated[
        str | None,
        Field(
            description="The session of the run; until it is captured, the one that its memory was asked for, "
            "null if none was."
        ),
    ]
    nodes: Annotated[list[NodeUse], Field(description="What each node received, oldest first.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastUse:
    """A memory use as another installation recorded it."""

    session_id: str | None
    end_user_id: str | None
    run_id: CallerId
    node_id: str
    messages: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    report: dict[str, Any]
    query: str | None
    memory_use_summary: dict[str, Any] | None
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUse:
    """What a node's model is given in a run, and what that was built from."""

    run_id: CallerId | UUID | str
    node_id: str
    view: View
    origin: ViewOrigin
    query: str | None = None
    memory_use_summary: dict[str, Any] | None = None


def record_use(services: Services, user_id: UUID, flow_id: UUID, use: NewUse, *, must_replace: bool = False) -> NodeUse:
    """Store what a node's model was given, and replace an earlier use of this run and node. What was deleted since the
    view was built is redacted.

    The run need not be captured yet; one of a session must be within a day. An earlier use that must be kept
    stays. Raises NotFound for another user's flow, Held if that is not enough: it `must_replace` another one.
    """
    shown, origin = use.view.as_dict(), use.origin
    query = screen(services, user_id, flow_id, use.query, "query")
    given = use.run_id if isinstance(use.run_id, CallerId) else CallerId.of(user_id, "run", use.run_id)
    with services.database.transaction() as db:
        check_flow(db, user_id, flow_id)
        deleted = deleted_sources(db, flow_id, origin, shown["messages"], shown["sources"])
        values: dict[str, Any] = {
            "flow_id": flow_id,
            "run_id": caller_ids.in_flow(db, flow_id, given),  # with the session locked: a capture may store it now
            "node_id": use.node_id,
            "messages": memory_uses.redact_messages(shown["messages"], shown["sources"], deleted),
            "sources": shown["sources"],
            "report": shown["report"],
            "query": query,
            "memory_use_summary": None if deleted else use.memory_use_summary,
            "recorded_at": clock.now(db),
        }
        values |= _asked(db, flow_id, origin.session_id, origin.end_user_id, values["run_id"])
        ids = memory_uses.ids_in(shown["sources"]) - deleted
        if not _is_kept(db, services, user_id, values, must_replace=must_replace):
            memory_uses.put_use(db, values, ids)
    return _shown(MemoryUse(**values))


def _is_kept(
    db: OrmSession, services: Services, user_id: UUID, values: Mapping[str, Any], *, must_replace: bool
) -> bool:
    """Whether the run and node have a use that must be kept. Raises Held if it says something else."""
    earlier = memory_uses.use_of_node(db, values["flow_id"], values["run_id"], values["node_id"])
    if earlier is None:
        return False
    try:
        deletions.check(db, services, user_id, OfUse(earlier.id))
    except errors.Held:
        said = ("messages", "sources", "query")
        if must_replace and any(_plain(getattr(earlier, name)) != _plain(values[name]) for name in said):
            raise
        return True
    return False


def _plain(value: Any) -> str:
    """The value as the database returns it: without tuples, and in any order of keys."""
    return json.dumps(value, sort_keys=True)


def import_use(services: Services, user_id: UUID, flow_id: UUID, past: PastUse) -> bool:
    """Store another installation's use unless its run and node have one; returns whether it is new.

    Summaries are not imported, so their text is redacted, as is what was deleted here. Raises NotFound.
    """
    screened = screen(services, user_id, flow_id, {"messages": past.messages, "query": past.query})
    past = replace(past, **screened)
    values = {"flow_id": flow_id, **asdict(past)}
    ids = memory_uses.ids_in(past.sources)
    deleted = memory_uses.ids_in([source for source in past.sources if source["kind"] == "summary"])
    with services.database.transaction() as db:
        check_flow(db, user_id, flow_id)
        values["run_id"] = caller_ids.in_flow(db, flow_id, past.run_id)
        values |= _asked(db, flow_id, past.session_id, past.end_user_id, values["run_id"])
        tombstones = deleted_messages.fetch(db, flow_id, ids).values()
        deleted |= {tombstone.message_id for tombstone in tombstones if tombstone.stays_deleted}
        if deleted:
            values["messages"] = memory_uses.redact_messages(past.messages, past.sources, deleted)
            values["memory_use_summary"] = None
        return memory_uses.put_use(db, values, ids - deleted, replace=False)


def _asked(
    db: OrmSession, flow_id: UUID, session_id: str | None, end_user_id: str | None, run_id: UUID
) -> dict[str, Any]:
    """The session and person of a use, by which a deletion finds it, and when its run is due."""
    session = None if session_id is None else sessions.fetch_session(db, flow_id, session_id)
    if session is not None and session.deleted_at is None:
        end_user_id = session.end_user_id
    run = None if session_id is None else runs.fetch_run(db, run_id)
    is_captured = session_id is None or (run is not None and run.flow_id == flow_id)
    due_at = None if is_captured else clock.now(db) + memory_uses.LATEST_CAPTURE
    return {"session_id": session_id, "end_user_id": end_user_id, "run_due_at": due_at}


def run_memory(services: Services, user_id: UUID, flow_id: UUID, given: CallerId | UUID) -> RunMemory:
    """The memory that the nodes of a run were given, oldest first. Raises NotFound if the run is not captured and has
    no uses."""
    with services.database.reading() as db:
        check_flow(db, user_id, flow_id)
        run_id = caller_ids.in_flow(db, flow_id, given) if isinstance(given, CallerId) else given
        uses = memory_uses.uses_of_run(db, flow_id, run_id)
        edited = memory_uses.edited_since(db, flow_id, run_id)
        run = runs.fetch_run(db, run_id)
    is_captured = run is not None and run.flow_id == flow_id
    if not uses and not is_captured:
        raise not_found("run", run_id)
    session_id = next((use.session_id for use in uses if use.session_id is not None), None)
    nodes = [_shown(use, is_edited=use.id in edited) for use in uses]
    return RunMemory(run_id, run.session_id if run is not None and is_captured else session_id, nodes)


def _shown(use: MemoryUse, *, is_edited: bool = False) -> NodeUse:
    report = use.report
    if is_edited:
        report = {**report, "flags": [*report.get("flags", ()), EDITED_SINCE]}
    return NodeUse(use.node_id, use.memory_use_summary, use.messages, use.sources, report, use.query, use.recorded_at)

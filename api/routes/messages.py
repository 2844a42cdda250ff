"""Messages: list, read, edit, delete."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from api.deps import FlowFilter, MessageId, PageDep, Reader, RunFilter, ServicesDep, Writer, keyed_router
from api.schemas import Identifier, MessageChanges, Moment, Repairs, Role, SentUuid
from memorybase import messages
from memorybase.database.paging import Page
from memorybase.queries import caller_ids
from memorybase.read_models import sessions
from memorybase.read_models.session_queries import MessageQuery
from memorybase.read_models.sessions import MessageView
from memorybase.sessions import edits

router = keyed_router("messages")


@router.get("/messages")
def list_messages(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    run_id: RunFilter,
    memory_base_id: Annotated[SentUuid | None, Query(description="Messages of its flow, each with `ingested`.")] = None,
    session_id: Annotated[Identifier | None, Query()] = None,
    end_user_id: Annotated[Identifier | None, Query()] = None,
    role: Annotated[Role | None, Query()] = None,
    is_output: Annotated[bool | None, Query()] = None,
    ingested: Annotated[bool | None, Query(description="Requires memory_base_id.")] = None,
    since: Annotated[Moment | None, Query(description="Inclusive, like `until`. Without a time zone: UTC.")] = None,
    until: Annotated[Moment | None, Query()] = None,
    order: Annotated[Literal["asc", "desc"], Query()] = "asc",
) -> Page[MessageView]:
    """List messages: by seq within one session of a flow, else by time of capture."""
    query = MessageQuery(
        flow_id=flow_id,
        memory_base_id=memory_base_id,
        session_id=session_id,
        run_id=run_id,
        end_user_id=end_user_id,
        role=role,
        is_output=is_output,
        ingested=ingested,
        since=since,
        until=until,
        order=order,
    )
    return sessions.list_messages(services, caller.user_id, query, page)


@router.get("/messages/{message_id}")
def get_message(message_id: MessageId, flow_id: FlowFilter, services: ServicesDep, caller: Reader) -> MessageView:
    """Read a message. Message ids are unique within their flow; an id of several flows is 409 without `flow_id`."""
    return sessions.get_message(services, caller.user_id, caller_ids.find(services, message_id, flow_id))


@router.patch("/messages/{message_id}")
def edit_message(
    message_id: MessageId, flow_id: FlowFilter, body: MessageChanges, services: ServicesDep, caller: Writer
) -> Repairs:
    """Change content, files or metadata. Searches see the edit at once; jobs update the knowledge bases."""
    changes = messages.normalise_changes(body.given(), max_message_bytes=services.settings.max_message_bytes)
    found = caller_ids.find(services, message_id, flow_id)
    return Repairs(job_ids=edits.edit_message(services, caller.user_id, found, changes))


@router.delete("/messages/{message_id}")
def delete_message(message_id: MessageId, flow_id: FlowFilter, services: ServicesDep, caller: Writer) -> Repairs:
    """Delete a message. Searches leave it out at once; jobs update the knowledge bases."""
    found = caller_ids.find(services, message_id, flow_id)
    return Repairs(job_ids=edits.delete_message(services, caller.user_id, found))

"""Messages: list, read, edit, mute, pin, delete, restore."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from api.deps import FlowFilter, MessageId, PageDep, Reader, RunFilter, ServicesDep, Writer, keyed_router
from api.key_limits import FLOW_IN_QUERY, Rule, end_user_in, flow_in, memory_base_in, row_in_path
from api.operations import operation
from api.schemas import (
    Identifier,
    MessageActionBody,
    MessageChanges,
    Moment,
    Reason,
    Repairs,
    RestoreBody,
    Role,
    SentUuid,
    Until,
)
from memorybase.core import caveats, ids, messages
from memorybase.core.auth.api_keys import Principal
from memorybase.core.database.paging import Page
from memorybase.core.ids import CallerId
from memorybase.core.queries import caller_ids
from memorybase.core.queries.message_changes import Attribution
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.read_models import ingestion, run_story, sessions
from memorybase.core.read_models.ingestion import MessageIngestion
from memorybase.core.read_models.run_story import MessageUse
from memorybase.core.read_models.sessions import MessageView
from memorybase.core.screening import counting
from memorybase.core.sessions import curation, edits, restoring
from memorybase.core.sessions.curation import BulkAnswer, ChangeView
from memorybase.core.sessions.edits import DeletionReceipt
from memorybase.core.sessions.restoring import DeletedMessageView

router = keyed_router("messages")

_MESSAGE = Rule([flow_in("query")], [row_in_path("message")])


class MessageFilter(BaseModel):
    """Which messages to list, and in which order."""

    memory_base_id: SentUuid | None = Field(default=None, description="Messages of its flow, each with `ingested`.")
    session_id: Identifier | None = Field(default=None, description="Only messages of this session.")
    end_user_id: Identifier | None = Field(default=None, description="Only messages of this end user's sessions.")
    role: Role | None = Field(default=None, description="Only messages with this role.")
    is_output: bool | None = Field(default=None, description="Only outputs, or only other messages.")
    ingested: bool | None = Field(default=None, description="Requires memory_base_id.")
    since: Moment | None = Field(default=None, description="Inclusive, like `until`. Without a time zone: UTC.")
    until: Until | None = Field(default=None, description="End of the time range, inclusive.")
    before_message_id: Identifier | None = Field(
        default=None,
        description="Only messages that stand before this one in its session; with `order` `desc` the nearest first.",
    )
    after_message_id: Identifier | None = Field(
        default=None, description="Only messages that stand after this one in its session."
    )
    state: Literal["muted", "pinned", "failed"] | None = Field(
        default=None, description="`failed`: it could not be embedded; requires memory_base_id."
    )
    find: Identifier | None = Field(
        default=None, description="Only messages with all of these words; requires a flow or memory base."
    )
    order: Literal["asc", "desc"] = Field(default="asc", description="Oldest or newest first.")


@router.get("/messages")
@operation(limits=Rule([flow_in("query"), memory_base_in("query", required=False)], [end_user_in("query")]))
def list_messages(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    run_id: RunFilter,
    which: Annotated[MessageFilter, Query()],
) -> Page[MessageView]:
    """List messages: by seq within one session of a flow, else by time of capture."""
    given = dict(which)
    for name in ("before_message_id", "after_message_id"):
        if given[name] is not None:
            given[name] = CallerId.of(caller.user_id, "message", given[name], name=name)
    query = MessageQuery(flow_id=flow_id, run_id=run_id, **given)
    return sessions.list_messages(services, caller.user_id, query, page)


@router.get("/messages/{message_id}")
@operation(limits=_MESSAGE)
def get_message(message_id: MessageId, flow_id: FlowFilter, services: ServicesDep, caller: Reader) -> MessageView:
    """Read a message. Message ids are unique within their flow; an id of several flows is 409 without `flow_id`."""
    return sessions.get_message(services, caller.user_id, caller_ids.find(services, message_id, flow_id))


@router.get("/messages/{message_id}/uses")
@operation(limits=FLOW_IN_QUERY)
def list_message_uses(
    message_id: MessageId, flow_id: FlowFilter, services: ServicesDep, caller: Reader, page: PageDep
) -> Page[MessageUse]:
    """List the runs whose models received a message, latest first."""
    found = caller_ids.find(services, message_id, flow_id)
    return run_story.uses_of_message(services, caller.user_id, found, page)


@router.get("/messages/{message_id}/ingestion")
@operation(limits=_MESSAGE)
def get_message_ingestion(
    message_id: MessageId, flow_id: FlowFilter, services: ServicesDep, caller: Reader
) -> MessageIngestion:
    """Show whether each memory base of the flow holds a message, since when, and in how many chunks."""
    return ingestion.message_ingestion(services, caller.user_id, caller_ids.find(services, message_id, flow_id))


@router.patch("/messages/{message_id}")
@operation(limits=_MESSAGE)
def edit_message(
    message_id: MessageId, flow_id: FlowFilter, body: MessageChanges, services: ServicesDep, caller: Writer
) -> Repairs:
    """Change content, files or metadata; mute or pin the message. Searches see it at once; jobs update the knowledge
    bases. Former versions are kept until the message is deleted. With `version`, 409 if the message has another one."""
    given = body.given()
    attribution, version = _attribution(caller, given.pop("reason", None)), given.pop("version", None)
    flags = {name: given.pop(name) for name in edits.FLAGS if name in given}
    changes = messages.normalise_changes(given)
    found = caller_ids.find(services, message_id, flow_id)
    with counting() as replaced:
        job_ids = edits.edit_message(services, caller.user_id, found, changes | flags, attribution, version=version)
    return Repairs(job_ids=job_ids, warnings=caveats.redacted(replaced))


@router.get("/messages/{message_id}/history")
@operation(limits=_MESSAGE)
def get_message_history(
    message_id: MessageId, flow_id: FlowFilter, services: ServicesDep, caller: Reader, page: PageDep
) -> Page[ChangeView]:
    """List what was done to a message, newest first: edits with the former version and the difference, mute, pin,
    restore; when, by which API key, and why."""
    found = caller_ids.find(services, message_id, flow_id)
    return curation.history(services, caller.user_id, found, page)


@router.post("/messages/actions")
@operation(limits=Rule([flow_in("body")]), not_found=False)  # a result for each message
def act_on_messages(body: MessageActionBody, services: ServicesDep, caller: Writer) -> BulkAnswer:
    """Mute, unmute, pin, unpin, delete or restore up to 500 messages. Each has its own result."""
    given = [CallerId.of(caller.user_id, "message", each) for each in body.ids]
    flow_id = None if body.flow_id is None else ids.flow_id(caller.user_id, body.flow_id)
    attribution = _attribution(caller, body.reason)
    return curation.act(services, caller.user_id, body.action, given, attribution, flow_id=flow_id)


@router.get("/deleted-messages")
@operation(limits=Rule([flow_in("query"), memory_base_in("query", required=False)]))
def list_deleted_messages(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    memory_base_id: Annotated[SentUuid | None, Query(description="Messages of its flow.")] = None,
    session_id: Annotated[Identifier | None, Query(description="Only messages of this session.")] = None,
) -> Page[DeletedMessageView]:
    """List deleted messages that can be restored, the last deleted first."""
    return restoring.list_deleted(
        services, caller.user_id, page, flow_id=flow_id, memory_base_id=memory_base_id, session_id=session_id
    )


@router.post("/deleted-messages/{message_id}/restore")
@operation(limits=FLOW_IN_QUERY)
def restore_message(
    message_id: MessageId,
    flow_id: FlowFilter,
    services: ServicesDep,
    caller: Writer,
    body: RestoreBody | None = None,
) -> Repairs:
    """Restore a deleted message in its place. Searches find it at once; jobs update the knowledge bases."""
    found = restoring.find_deleted(services, message_id, flow_id)
    attribution = _attribution(caller, None if body is None else body.reason)
    return Repairs(job_ids=restoring.restore_message(services, caller.user_id, found, attribution))


@router.delete("/deleted-messages/{message_id}", status_code=204)
@operation(limits=FLOW_IN_QUERY)
def purge_message(message_id: MessageId, flow_id: FlowFilter, services: ServicesDep, caller: Writer) -> None:
    """Delete a deleted message for good, before its retention ends."""
    found = restoring.find_deleted(services, message_id, flow_id)
    restoring.purge_message(services, caller.user_id, found)


@router.delete("/messages/{message_id}")
@operation(limits=_MESSAGE)
def delete_message(
    message_id: MessageId,
    flow_id: FlowFilter,
    services: ServicesDep,
    caller: Writer,
    reason: Annotated[Reason | None, Query(description="Why; for people, at most 500 characters.")] = None,
) -> DeletionReceipt:
    """Delete a message. Searches leave it out at once; jobs update the knowledge bases. It can be restored for as many
    days as the setting deleted_retention_days says."""
    found = caller_ids.find(services, message_id, flow_id)
    return edits.delete_message(services, caller.user_id, found, _attribution(caller, reason))


def _attribution(caller: Principal, reason: str | None) -> Attribution:
    return Attribution(caller.name, curation.check_reason(reason))

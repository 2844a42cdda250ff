"""Chat Memory nodes of a flow, and their chats. Chat ids are free text, so they are sent in the query or the body."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from api.admission import Work, admission_of
from api.contract.lines import JSON_LINES, LINES_OF_EXPORT, STREAM_HEADERS
from api.deps import EndUserFilter, FlowId, NodeId, PageDep, Reader, ServicesDep, Writer, keyed_router
from api.extension import Routes
from api.idempotency import keeping, operation_id, replayed
from api.key_limits import FLOW_IN_PATH, Rule, chat_in, end_user_in, flow_in, known_row
from api.locations import location
from api.operations import operation
from api.schemas import CONFLICT, Body, GivenChat, Identifier, ModelName, SentMessages, Stored, ViewAnswer
from memorybase.core import caveats, ids
from memorybase.core.auth.api_keys import Principal
from memorybase.core.calls import Effect
from memorybase.core.conversation.view.rendering import Align, Format
from memorybase.core.database.paging import MAX_SIZE, MAX_SKIP, Page
from memorybase.core.screening import counting
from memorybase.features.splox import lines, memories, message_log, summaries, views
from memorybase.features.splox.config import MAX_MESSAGES, ChatMemoryConfig
from memorybase.features.splox.memories import ChatMemoryView, ChatSelector, ChatView, MemoryKey
from memorybase.features.splox.message_log import ChatPage, Deleted, DeletedRole, DeleteMode, Posted
from memorybase.features.splox.views import Trimmed


class WhoBody(Body):
    """The chat: its id, or variables for the memory's template of the id."""

    chat_id: Identifier | None = Field(
        default=None, description="The chat; without it, the memory's template makes the id from `variables`."
    )
    variables: dict[str, Any] | None = Field(
        default=None,
        description="Values for the templates of the chat memory: nodes of the flow by name, with their fields.",
    )


class ChatPostBody(WhoBody):
    """Messages to append, in the format of a run. A user message without content is rendered from the variables."""

    run_id: Identifier | None = Field(
        default=None, description="The run that writes the messages: a UUID or any string."
    )
    end_user_id: Identifier | None = Field(default=None, description="The person that the chat belongs to.")
    messages: SentMessages = Field(
        min_length=1,
        description="Messages in order, in the formats of a capture: "
        "{role, content?, id?, files?, tool_calls?, tool_call_id?, name?}",
    )


class ChatViewBody(WhoBody):
    """The chat to show to a model, and how."""

    run_id: Identifier | None = Field(default=None, description="The current run; its own messages are left out.")
    align: Align = Field(
        default="none",
        description="Which messages to drop or to join, as the model's provider demands: `none`; "
        "`user_first`, nothing before the first question; `strict`, also no empty messages and no "
        "two neighbors of one role.",
    )
    format: Format = Field(
        default="openai", description="Format of `messages`: `openai` or `langchain`; `text` if only `text` is read."
    )
    model: ModelName | None = Field(
        default=None,
        description="The model that reads the messages; it decides the token counter and whether calls come with "
        "their reasoning.",
    )


class ChatTrimBody(Body):
    """Number of messages to keep in views."""

    chat_id: GivenChat
    max_messages: Annotated[int, Field(ge=0, le=MAX_MESSAGES)] = Field(
        default=10, description="Number of newest messages that views still show."
    )


class ChatSummaryBody(Body):
    """Part of a chat to replace by a summary."""

    chat_id: GivenChat
    keep_last_n: Annotated[int, Field(ge=0, le=MAX_MESSAGES)] = Field(
        default=2, description="Number of newest messages to keep verbatim."
    )
    summarize_prompt: Annotated[Stored, Field(min_length=1, max_length=4_000)] | None = Field(
        default=None, description="The instruction for this summary; by default that of the chat memory."
    )


router = keyed_router("chat memories")
ROUTES = Routes(router=router)

MEMORIES = "/flows/{flow_id}/chat-memories"
MEMORY = f"{MEMORIES}/{{node_id}}"

_CHAT_IN_QUERY = Rule([flow_in("path")], [chat_in("query")])
_CHAT_IN_BODY = Rule([flow_in("path")], [chat_in("body")])


class ChatFilter(BaseModel):
    """Which chat."""

    chat_id: Identifier = Field(description="The chat's id, chosen by the caller.")


class ChatLogFilter(ChatFilter):
    """Which messages of a chat to list."""

    limit: int = Field(default=50, ge=0, le=MAX_SIZE, description="Maximum messages to return.")
    offset: int | None = Field(
        default=None, ge=0, le=MAX_SKIP, description="Position of the first message; default: the latest messages."
    )
    cursor: str | None = Field(default=None, max_length=100, description="next_cursor of the previous page.")


class ChatDeletionFilter(ChatFilter):
    """Which messages of a chat to delete."""

    mode: DeleteMode = Field(description="`latest_request`: what the latest run wrote; `all`: every message.")
    roles: list[DeletedRole] = Field(
        min_length=1, max_length=2, description="Delete messages of these roles; both of them select every message."
    )


@router.get(MEMORIES)
@operation(limits=FLOW_IN_PATH)
def list_chat_memories(flow_id: FlowId, services: ServicesDep, caller: Reader, page: PageDep) -> Page[ChatMemoryView]:
    """List the chat memories of a flow, oldest first."""
    return memories.list_memories(services, caller.user_id, flow_id, page)


@router.put(MEMORY, responses={201: {"model": ChatMemoryView}})
@operation(limits=FLOW_IN_PATH)
def put_chat_memory(
    flow_id: FlowId, node_id: NodeId, body: ChatMemoryConfig, services: ServicesDep, caller: Writer, response: Response
) -> ChatMemoryView:
    """Create the chat memory of a node (201) or change its configuration (200). Its chats are kept."""
    memory, created = memories.put_memory(services, MemoryKey(caller.user_id, flow_id, node_id), body)
    if created:
        response.status_code = 201
        response.headers.update(location("flows", flow_id, "chat-memories", node_id))
    return memory


@router.get(MEMORY)
@operation(limits=FLOW_IN_PATH)
def get_chat_memory(flow_id: FlowId, node_id: NodeId, services: ServicesDep, caller: Reader) -> ChatMemoryView:
    """Read a chat memory."""
    return memories.get_memory(services, MemoryKey(caller.user_id, flow_id, node_id))


@router.delete(MEMORY, status_code=204)
@operation(limits=FLOW_IN_PATH)
def delete_chat_memory(flow_id: FlowId, node_id: NodeId, services: ServicesDep, caller: Writer) -> None:
    """Delete a chat memory with all its chats."""
    memories.delete_memory(services, MemoryKey(caller.user_id, flow_id, node_id))


@router.get(f"{MEMORY}/chats")
@operation(limits=Rule([flow_in("path")], [end_user_in("query")]))
def list_chats(
    flow_id: FlowId,
    node_id: NodeId,
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    end_user_id: EndUserFilter = None,
) -> Page[ChatView]:
    """List chats, oldest first. `messages` and `tokens` count the whole log."""
    key = MemoryKey(caller.user_id, flow_id, node_id)
    return memories.list_chats(services, key, page, end_user_id=end_user_id)


@router.post(f"{MEMORY}/messages", status_code=201, responses={200: {"model": Posted}, **CONFLICT})
@operation(
    limits=Rule([flow_in("path")], [end_user_in("body"), chat_in("body"), known_row("run", "run_id")]),
    work=Work.CAPTURE,
    once=True,
)
def post_chat_messages(
    flow_id: FlowId,
    node_id: NodeId,
    body: ChatPostBody,
    services: ServicesDep,
    caller: Writer,
    request: Request,
    response: Response,
) -> Posted:
    """Append messages to a chat: 201, or 200 if all are stored already. A worker makes a summary if one is due."""
    key = MemoryKey(caller.user_id, flow_id, node_id)
    who = ChatSelector(body.chat_id, body.variables)
    run_id = _run(caller, body.run_id)
    with counting() as replaced:
        posted = message_log.post_messages(
            services,
            key,
            who,
            body.messages,
            run_id=run_id,
            end_user_id=body.end_user_id,
            ids_from=operation_id(request),
        )
    summaries.request_if_due(services, key, posted.chat_id)
    if any(message.created for message in posted.messages):
        messages = location("flows", flow_id, "chat-memories", node_id, "messages", chat_id=posted.chat_id)
        response.headers.update(messages)
    else:
        response.status_code = 200
    return replace(posted, warnings=caveats.redacted(replaced))


@router.get(f"{MEMORY}/messages")
@operation(limits=_CHAT_IN_QUERY)
def list_chat_messages(
    flow_id: FlowId,
    node_id: NodeId,
    services: ServicesDep,
    caller: Reader,
    which: Annotated[ChatLogFilter, Query()],
) -> ChatPage:
    """List messages as they are stored, oldest first."""
    key = MemoryKey(caller.user_id, flow_id, node_id)
    return message_log.read_messages(services, key, **dict(which))


@router.delete(f"{MEMORY}/messages")
@operation(limits=_CHAT_IN_QUERY, once=True)
def delete_chat_messages(
    flow_id: FlowId,
    node_id: NodeId,
    services: ServicesDep,
    caller: Writer,
    request: Request,
    which: Annotated[ChatDeletionFilter, Query()],
) -> Deleted:
    """Delete messages of these roles: those of the last request that wrote, or all. Both roles select every message."""
    key = MemoryKey(caller.user_id, flow_id, node_id)
    before_commit = keeping(request, 200, lambda _, deleted: (deleted, {}))
    return message_log.delete_messages(services, key, **dict(which), before_commit=before_commit)


@router.post(f"{MEMORY}/view")
@operation(limits=Rule([flow_in("path")], [chat_in("body"), known_row("run", "run_id")]))
def view_chat(
    flow_id: FlowId, node_id: NodeId, body: ChatViewBody, services: ServicesDep, caller: Reader
) -> ViewAnswer:
    """Build the messages of a chat for a model. With `run_id` the memory use is recorded."""
    view = views.view_chat(
        services,
        MemoryKey(caller.user_id, flow_id, node_id),
        ChatSelector(body.chat_id, body.variables),
        run_id=_run(caller, body.run_id),
        align=body.align,
        shape=body.format,
        model=body.model,
    )
    return ViewAnswer(**view.as_dict())


@router.post(f"{MEMORY}/trim")
@operation(limits=_CHAT_IN_BODY)
def trim_chat(flow_id: FlowId, node_id: NodeId, body: ChatTrimBody, services: ServicesDep, caller: Writer) -> Trimmed:
    """Trim a chat to its newest messages in every view. The log keeps all messages."""
    key = MemoryKey(caller.user_id, flow_id, node_id)
    return views.trim_chat(services, key, body.chat_id, body.max_messages)


@router.post(f"{MEMORY}/summarize")
@operation(limits=_CHAT_IN_BODY, once=True, left_out="summary")
def summarize_chat(
    flow_id: FlowId, node_id: NodeId, body: ChatSummaryBody, services: ServicesDep, caller: Writer, request: Request
) -> Trimmed:
    """Replace all but the newest messages by a summary in every view. The log keeps all messages."""
    key = MemoryKey(caller.user_id, flow_id, node_id)
    first = replayed(request)
    if first is not None:
        return Trimmed(**{**first, "summary": summaries.summary_text(services, key, body.chat_id)})
    return summaries.summarize_chat(
        services,
        key,
        body.chat_id,
        keep_last_n=body.keep_last_n,
        prompt=body.summarize_prompt,
        before_commit=keeping(request, 200, lambda _, trimmed: (trimmed, {})),
    )


@router.get(f"{MEMORY}/export", response_class=StreamingResponse, responses={200: LINES_OF_EXPORT})
@operation(limits=_CHAT_IN_QUERY, effect=Effect.READ)
def export_chats(
    request: Request,
    flow_id: FlowId,
    node_id: NodeId,
    services: ServicesDep,
    caller: Reader,
    chat_id: Annotated[Identifier | None, Query(description="Export only this chat.")] = None,
) -> StreamingResponse:
    """Export a chat memory, its chats and messages as JSON lines. A complete export ends with an `end` line."""
    exported = lines.export_memory(services, MemoryKey(caller.user_id, flow_id, node_id), chat_id=chat_id)
    read = admission_of(request)[Work.READ].iterate(exported)
    return StreamingResponse(read, media_type=JSON_LINES, headers=STREAM_HEADERS)


def _run(caller: Principal, run_id: str | None) -> ids.CallerId | None:
    return None if run_id is None else ids.CallerId.of(caller.user_id, "run", run_id)

"""Schemas of bodies that are not one JSON value: lines of an export, and server-sent events."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, RootModel

from api.contract.messages import Closed, Content, Open, OpenAIViewMessage, StoredOutputs, ToolCalls, ViewMessage
from api.contract.typed import Count, MemoryUseSummary
from api.schemas import NOT_GIVEN
from memorybase.core.conversation import Source
from memorybase.core.conversation.session_memory.summaries import Covers
from memorybase.core.read_models.jobs import JobView

JSON_LINES, EVENTS = "application/x-ndjson", "text/event-stream"
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class _InFlow(Closed):
    flow_id: UUID = Field(description="The flow.")
    flow_external_id: str | None = Field(description="The flow's id as the caller chose it.")


class _InSession(_InFlow):
    session_id: str = Field(description="The session.")
    end_user_id: str | None = Field(description="The person that the session belongs to.")


class _InChat(_InFlow):
    node_id: str = Field(description="The node of the chat memory.")
    chat_id: str = Field(description="The chat.")
    end_user_id: str | None = Field(description="The person that the chat belongs to.")


class _OfRun(Closed):
    run_id: UUID = Field(description="The run.")
    run_external_id: str | None = Field(description="The run's id as the caller chose it.")


class _Ids(Closed):
    id: UUID = Field(description="The UUID.")
    external_id: str | None = Field(description="The id as the caller chose it.")


class _Created(Closed):
    created_at: datetime = Field(description="When it was created.")


class _Updated(_Created):
    updated_at: datetime = Field(description="When it last changed.")


class _Said(Closed):
    seq: Count = Field(description="Number of the message, in commit order.")
    role: str = Field(description="Who speaks.")
    content: Content = Field(description="Text, content parts, or null next to tool calls.")
    tool_calls: ToolCalls = Field(description="Calls of tools by the model.")
    tool_call_id: str | None = Field(description="The tool call that this message answers.")
    name: str | None = Field(description="The name of the speaker or the tool.")
    files: list[Any] = Field(description="Files of the message, as they were sent.")
    metadata: dict[str, Any] = Field(description="Any JSON object.")
    status: str = Field(description="`completed`, `failed` or `stopped`.")


class _Summary(Closed):
    summary: str | None = Field(description="The text; null if there is none.")
    covers: Covers | None = Field(description="The messages that it covers.")


class ExportStart(Closed):
    """The first line of an export."""

    type: Literal["export"] = Field(description="What the line is.")
    format: Count = Field(description="Version of the format.")
    memorybase: str = Field(description="Version of the server.")
    exported_at: datetime = Field(description="When the export began.")


class FlowLine(_Created, _Ids):
    """A flow."""

    type: Literal["flow"] = Field(description="What the line is.")
    name: str = Field(description="The name.")


class SessionLine(_Created, _InSession):
    """A session."""

    type: Literal["session"] = Field(description="What the line is.")
    metadata: dict[str, Any] = Field(description="Any JSON object.")
    last_captured_at: datetime = Field(description="When a message was last captured.")


class RunLine(_Created, _Ids, _InSession):
    """A run."""

    type: Literal["run"] = Field(description="What the line is.")


class StandingChange(Closed):
    """A standing statement that a person changed."""

    kind: str = Field(description="`instruction` or `preference`.")
    found: str = Field(description="What was found in the message, verbatim.")
    edited: str | None = Field(description="A person's own words in its place; null without any.")
    deleted_at: datetime | None = Field(description="When a person deleted it; null if nobody did.")
    changed_by: str | None = Field(description="The name of the API key that changed it.")
    changed_at: datetime = Field(description="When it was changed.")


class MessageLine(_Said, _Ids, _OfRun, _InSession):
    """A stored message."""

    type: Literal["message"] = Field(description="What the line is.")
    parent_external_id: str | None = Field(
        description="The id of the message that this one follows, as the caller chose it."
    )
    is_output: bool = Field(description="Whether it is an output of the flow.")
    sender_name: str | None = Field(description="The speaker's name.")
    parent_message_id: UUID | None = Field(description="The message that this one follows.")
    parent_rule: str | None = Field(description="How the parent was named, if not by an id.")
    version: Count = Field(description="Number of the version, from 1.")
    timestamp: datetime = Field(description="When it was written.")
    captured_at: datetime = Field(description="When it was stored.")
    edited_at: datetime | None = Field(description="When it was last edited.")
    muted: bool = Field(description="Whether no search recalls it.")
    pinned: bool = Field(description="Whether searches return it first where it is relevant.")
    standing: Annotated[list[StandingChange], Field(description="What people made of its standing statements.")] = (
        NOT_GIVEN
    )


class ChatMemoryLine(_Created, _InFlow):
    """A chat memory."""

    type: Literal["chat_memory"] = Field(description="What the line is.")
    node_id: str = Field(description="The node of the chat memory.")


class ChatLine(_Summary, _Updated, _InChat):
    """A chat."""

    type: Literal["chat"] = Field(description="What the line is.")


class ChatMessageLine(_Said, _Created, _Ids, _InChat):
    """A message of a chat."""

    type: Literal["chat_message"] = Field(description="What the line is.")
    run_id: UUID | None = Field(description="The run that wrote it.")
    request_id: UUID = Field(description="The run that wrote it, or an id for each call without a run.")
    tokens: Count = Field(description="Number of tokens.")


class SummaryLine(_Summary, _InSession):
    """A summary of a session. An import ignores it."""

    type: Literal["summary"] = Field(description="What the line is.")
    preset: str = Field(description="The preset whose summary it is.")
    summarizer: str = Field(description="What wrote it.")
    stale: bool = Field(description="Whether a covered message was edited since.")
    updated_at: datetime | None = Field(description="When it last changed.")


class NodeExecutionLine(_Updated, _Ids, _OfRun, _InSession):
    """A node execution."""

    type: Literal["node_execution"] = Field(description="What the line is.")
    node_id: str = Field(description="The node.")
    index: Count = Field(description="Number of this execution among the node's executions in the run.")
    status: str = Field(description="How it ended.")
    outputs: StoredOutputs = Field(description="What the node returned.")
    few_shots: list[OpenAIViewMessage] = Field(description="Messages before its context.")


class MemoryUseLine(_OfRun, _InFlow):
    """The memory that a model received."""

    type: Literal["memory_use"] = Field(description="What the line is.")
    session_id: str | None = Field(description="The session that it was asked for, stored or not; null for a chat.")
    end_user_id: Annotated[
        str | None, Field(description="The person that it was asked for; null if there is none.")
    ] = NOT_GIVEN
    node_id: str = Field(description="The node.")
    messages: list[ViewMessage] = Field(description="The messages as they were sent.")
    sources: list[Source] = Field(description="Where each message comes from.")
    report: dict[str, Any] = Field(description="The report of the view.")
    query: str | None = Field(description="What was looked for; null if nothing was.")
    memory_use_summary: MemoryUseSummary | None = Field(description="What session memory showed.")
    recorded_at: datetime = Field(description="When the memory was read.")
    external_ids: dict[str, Any] = Field(description="Ids of its sources as the caller chose them, by kind and UUID.")


class ExportEnd(Open):
    """The last line of an export. Without it, the export is incomplete."""

    type: Literal["end"] = Field(description="What the line is.")
    flows: Annotated[Count, Field(description="Number of lines of flows.")] = NOT_GIVEN
    sessions: Annotated[Count, Field(description="Number of lines of sessions.")] = NOT_GIVEN
    runs: Annotated[Count, Field(description="Number of lines of runs.")] = NOT_GIVEN
    messages: Annotated[Count, Field(description="Number of lines of messages.")] = NOT_GIVEN
    summaries: Annotated[Count, Field(description="Number of lines of summaries.")] = NOT_GIVEN
    node_executions: Annotated[Count, Field(description="Number of lines of node executions.")] = NOT_GIVEN
    memory_uses: Annotated[Count, Field(description="Number of lines of memory uses.")] = NOT_GIVEN
    chat_memories: Annotated[Count, Field(description="Number of lines of chat memories.")] = NOT_GIVEN
    chats: Annotated[Count, Field(description="Number of lines of chats.")] = NOT_GIVEN
    chat_messages: Annotated[Count, Field(description="Number of lines of chat messages.")] = NOT_GIVEN


class ExportLine(
    RootModel[
        Annotated[
            ExportStart
            | FlowLine
            | SessionLine
            | RunLine
            | MessageLine
            | ChatMemoryLine
            | ChatLine
            | ChatMessageLine
            | SummaryLine
            | NodeExecutionLine
            | MemoryUseLine
            | ExportEnd,
            Field(discriminator="type"),
        ]
    ]
):
    """A line of an export."""


class NoData(Closed):
    """Always `{}`."""


class JobEvent(Closed):
    """A server-sent event about a job."""

    event: Literal["job", "end", "gone", "unauthorized"] = Field(
        description="`job`: the job changed; `end`: it ended; `gone`: it was deleted; `unauthorized`: the key was "
        "revoked."
    )
    data: JobView | NoData = Field(description="The job, for `job` and `end`; else empty.")


def text_of(media_type: str, item: str, description: str) -> dict[str, Any]:
    """The content of such a body: text whose items have the schema. A validator of 3.1 sees a string."""
    items = {"type": "array", "items": {"$ref": f"#/components/schemas/{item}"}}
    schema = {"type": "string", "contentMediaType": media_type, "contentSchema": items, "description": description}
    if media_type == JSON_LINES:
        schema["format"] = "binary"  # generators then take and return it as it is
    return {media_type: {"schema": schema}}


LINES_OF_EXPORT: dict[str, Any] = {
    "content": text_of(JSON_LINES, "ExportLine", "JSON lines: one ExportLine on each."),
}
EVENTS_OF_JOB: dict[str, Any] = {
    "content": text_of(EVENTS, "JobEvent", "Events; the `data` of each is JSON."),
}

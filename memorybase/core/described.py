"""Fields that several answers of the API have, with their descriptions in the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

Attempts = Annotated[int, Field(description="How many attempts were made.")]
ChangedBy = Annotated[str | None, Field(description="The name of the API key; null if unknown.")]
Content = Annotated[
    str | list[Any] | None, Field(description="Text, a list of content parts, or null next to tool calls.")
]
CounterName = Annotated[
    str, Field(description="What counted the tokens: a tokenizer, or the estimate with its version.")
]
CreatedAt = Annotated[datetime, Field(description="When it was created.")]
DryRun = Annotated[bool, Field(description="Whether nothing was changed.")]
EndUserId = Annotated[str | None, Field(description="The person that the session or chat belongs to; null if unknown.")]
ExternalId = Annotated[str | None, Field(description="The id that the caller chose; null if that is a UUID.")]
FLOW_SECRETS = (
    "What is done with secrets that callers send, such as API keys and passwords: `keep` them, `redact` them, or "
    "`refuse` the request; null: as the setting `secrets` says."
)
FlowId = Annotated[UUID, Field(description="The flow: its UUID.")]
Id = Annotated[UUID, Field(description="The UUID.")]
MemoryBaseId = Annotated[UUID, Field(description="The memory base.")]
MemoryBaseName = Annotated[str, Field(description="The name of the memory base.")]
MessageId = Annotated[UUID, Field(description="The message.")]
Metadata = Annotated[dict[str, Any], Field(description="Any JSON object of the caller.")]
NodeId = Annotated[str, Field(description="The node of the flow, named by the caller.")]
PendingMessages = Annotated[int, Field(description="Number of pending messages.")]
Remaining = Annotated[int, Field(description="How many more match. 0 if the request named ids.")]
RunId = Annotated[UUID, Field(description="The run: its UUID.")]
SenderName = Annotated[str | None, Field(description="The speaker's name, for display.")]
Seq = Annotated[int, Field(description="Number of the message in its session or chat, in commit order.")]
SessionId = Annotated[str, Field(description="The session's id, chosen by the caller.")]
SpeakerRole = Annotated[str, Field(description="Who speaks.")]
Taken = Annotated[
    int,
    Field(
        description="How many the action took; after a dry run how many it would take, in as many calls as that needs."
    ),
]
UpdatedAt = Annotated[datetime, Field(description="When it last changed.")]
WhyChanged = Annotated[str | None, Field(description="Why; null if no reason was given.")]
WrittenAt = Annotated[
    datetime, Field(description="When the message was written, for display and filters. `seq` decides the order.")
]

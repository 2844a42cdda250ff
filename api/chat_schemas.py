"""Request bodies of chat memories."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from api.schemas import Body, Identifier, ModelName, Stored
from memorybase.conversation.chat_memory.config import MAX_MESSAGES
from memorybase.conversation.view.rendering import Align, Format


class WhoBody(Body):
    """The chat: its id, or variables for the memory's template of the id."""

    chat_id: Identifier | None = None
    variables: dict[str, Any] | None = None


class ChatPostBody(WhoBody):
    """Messages to append, in the format of a run. A user message without content is rendered from the variables."""

    run_id: Identifier | None = None
    end_user_id: Identifier | None = None
    messages: list[Any] = Field(
        min_length=1,
        description="{role, content?, id?, files?, tool_calls?, tool_call_id?, name?}",
        json_schema_extra={"items": {"type": "object"}},
    )


class ChatViewBody(WhoBody):
    """The chat to show to a model, and how."""

    run_id: Identifier | None = Field(default=None, description="The current run; its own messages are left out.")
    align: Align = "none"
    format: Format = "openai"
    model: ModelName | None = Field(
        default=None, description="Model that counts tokens, by the setting token_counters."
    )


class ChatTrimBody(Body):
    """How many messages to keep in views."""

    chat_id: Identifier
    max_messages: Annotated[int, Field(ge=0, le=MAX_MESSAGES)] = 10


class ChatSummaryBody(Body):
    """How much of a chat to replace by a summary."""

    chat_id: Identifier
    keep_last_n: Annotated[int, Field(ge=0, le=MAX_MESSAGES)] = 2
    summarize_prompt: Annotated[Stored, Field(min_length=1, max_length=4_000)] | None = None

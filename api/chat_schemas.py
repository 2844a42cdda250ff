"""Request bodies of chat memories."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from api.schemas import Body, GivenChat, Identifier, ModelName, SentMessages, Stored
from memorybase.conversation.chat_memory.config import MAX_MESSAGES
from memorybase.conversation.view.rendering import Align, Format


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
        default=None, description="Model that counts tokens, by the setting token_counters."
    )


class ChatTrimBody(Body):
    """How many messages to keep in views."""

    chat_id: GivenChat
    max_messages: Annotated[int, Field(ge=0, le=MAX_MESSAGES)] = Field(
        default=10, description="Number of newest messages that views still show."
    )


class ChatSummaryBody(Body):
    """How much of a chat to replace by a summary."""

    chat_id: GivenChat
    keep_last_n: Annotated[int, Field(ge=0, le=MAX_MESSAGES)] = Field(
        default=2, description="Number of newest messages to keep verbatim."
    )
    summarize_prompt: Annotated[Stored, Field(min_length=1, max_length=4_000)] | None = Field(
        default=None, description="The instruction for this summary; by default that of the chat memory."
    )

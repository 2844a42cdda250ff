"""The configuration of a Chat Memory node: its fields, their defaults and bounds, and the limits that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator

from memorybase.core.conversation.view.build import ViewOptions
from memorybase.core.conversation.view.clearing import ToolResultClearing
from memorybase.core.conversation.view.limits import Cut, Limits, Strategy, TrimThreshold
from memorybase.core.conversation.view.records import Record
from memorybase.core.errors import InvalidRequest
from memorybase.core.messages import not_blank, storable
from memorybase.core.models import NAME_LENGTH
from memorybase.core.validation import Sent
from memorybase.features.splox.templates import MAX_TEMPLATE_CHARS, check_template

SUMMARIZE_PROMPT = "Summarize the key points of the removed messages, preserving important context and decisions made."
MAX_MESSAGES = 10_000  # of any limit; a view reads no more
MAX_TOKENS = 2_000_000
MAX_PREDEFINED = 100
UNCOVERED_TOKENS = 4_000  # of messages beyond the limit, shown verbatim until a summary covers them

_Text = Annotated[str, AfterValidator(storable), AfterValidator(not_blank)]
_Template = Annotated[_Text, Field(max_length=MAX_TEMPLATE_CHARS)]
_Count = Annotated[int, Field(ge=0, le=MAX_MESSAGES)]


class PredefinedMessage(Sent):
    """A message shown before the history, never stored in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Literal["user", "assistant", "system"] = Field(description="Who speaks.")
    content: Annotated[_Text, Field(max_length=100_000)] = Field(description="The text.")


class ChatMemoryConfig(Sent):
    """The fields of a Chat Memory node. Fields of the other `limit_type` are stored and ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[_Text, Field(max_length=NAME_LENGTH)] = Field(description="The name, for people.")
    chat_id: _Template = Field(description="Template of the chat id, such as user-{{ start.user_id }}.")
    user_message_content: _Template = Field("{{ start | json }}", description="Template of user messages.")
    limit_type: Literal["messages", "tokens"] = Field(
        default="messages", description="What limits a view: a number of messages or of tokens."
    )
    trim_strategy: Strategy = Field(
        default="drop_oldest",
        description="What is dropped first: `drop_oldest`, or `drop_middle`, which keeps the first messages "
        "and the newest.",
    )
    clear_tool_results: bool = Field(
        default=False, description="Whether results of tools are emptied, except those of the current turn."
    )
    enable_summarization: bool = Field(
        default=False, description="Whether a summary replaces what the limits leave out."
    )
    summarize_prompt: Annotated[_Text, Field(max_length=4_000)] = Field(
        default=SUMMARIZE_PROMPT, description="The instruction for summaries."
    )
    use_predefined_messages: bool = Field(
        default=False, description="Whether views begin with the predefined messages."
    )
    predefined_messages: Annotated[list[PredefinedMessage], Field(max_length=MAX_PREDEFINED)] = Field(
        default_factory=list, description="Messages shown before the history."
    )
    trim_mode: Literal["continuous", "threshold"] = Field("continuous", description="For limit_type messages.")
    max_messages: _Count = Field(20, description="Messages that continuous trimming keeps.")
    threshold_trigger: Annotated[int, Field(ge=1, le=MAX_MESSAGES)] = Field(
        500, description="Trims at this many messages."
    )
    threshold_target: _Count = Field(100, description="Messages kept then; below the trigger.")
    max_images: Annotated[int, Field(ge=0, le=1_000)] = Field(
        default=1, description="Maximum images that are sent, newest first; others are replaced by their name."
    )
    max_tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)] = Field(default=2000, description="Maximum tokens.")
    min_messages: _Count = Field(0, description="Newest messages kept beyond max_tokens.")
    pin_predefined: bool = Field(default=False, description="Never trim predefined messages; they still count.")
    keep_first: Annotated[int, Field(ge=0, le=1_000)] | None = Field(
        None, description="First messages kept by drop_middle; by default the predefined ones, at least 2."
    )

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """The configuration of these fields; raises InvalidRequest for the first invalid one."""
        try:
            return cls(**fields)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            field = ".".join(map(str, first["loc"])) or None
            raise InvalidRequest(first["msg"], field=field) from None

    @model_validator(mode="after")
    def _check_templates(self) -> Self:
        check_template(self.chat_id, "chat_id")
        check_template(self.user_message_content, "user_message_content")
        return self

    @model_validator(mode="after")
    def _check_threshold(self) -> Self:
        if self.threshold_trigger <= self.threshold_target:
            raise InvalidRequest(
                "threshold_trigger must be above threshold_target",
                field="threshold_trigger",
                value=self.threshold_trigger,
                limit=self.threshold_target + 1,
            )
        return self

    @property
    def threshold(self) -> TrimThreshold | None:
        if self.limit_type == "tokens" or self.trim_mode == "continuous":
            return None
        return TrimThreshold(trigger=self.threshold_trigger, target=self.threshold_target)

    @property
    def predefined(self) -> list[Record]:
        """The predefined messages, if they are used."""
        messages = self.predefined_messages if self.use_predefined_messages else []
        return [
            Record(id=f"predefined-{index}", seq=0, role=message.role, content=message.content)
            for index, message in enumerate(messages, 1)
        ]

    @property
    def head(self) -> int:
        """Number of first messages that drop_middle may keep."""
        if self.trim_strategy == "drop_oldest":
            return 0
        return max(2, len(self.predefined)) if self.keep_first is None else self.keep_first

    @property
    def trims_like(self) -> dict[str, Any]:
        """The fields that decide where a threshold cuts; a change of any invalidates stored cuts."""
        names = {
            "limit_type",
            "trim_mode",
            "trim_strategy",
            "threshold_trigger",
            "threshold_target",
            "keep_first",
            "pin_predefined",
            "use_predefined_messages",
            "predefined_messages",
        }
        return self.model_dump(include=names)

    def limits(self, cuts: tuple[Cut, ...] = ()) -> Limits:
        """The limits of a view. A threshold is not among them: its stored cuts are."""
        if self.limit_type == "tokens":
            return Limits(
                max_tokens=self.max_tokens,
                min_messages=self.min_messages,
                strategy=self.trim_strategy,
                keep_first=self.keep_first,
                cuts=cuts,
            )
        return Limits(
            max_messages=self.max_messages if self.trim_mode == "continuous" else None,
            strategy=self.trim_strategy,
            keep_first=self.keep_first,
            cuts=cuts,
        )

    def options(self, cuts: tuple[Cut, ...], asked: ViewOptions) -> ViewOptions:
        """These options with the memory's own. With summarization, messages that no summary covers yet are shown
        verbatim."""
        return replace(
            asked,
            clearing=ToolResultClearing() if self.clear_tool_results else None,
            max_images=self.max_images,
            limits=self.limits(cuts),
            uncovered_tokens=UNCOVERED_TOKENS if self.enable_summarization else None,
            pin_predefined=self.pin_predefined,
        )


class StoredConfig(ChatMemoryConfig):
    """A stored configuration. Its templates are checked when they are rendered: one that was stored under wider bounds
    must not hide its memory."""

    @model_validator(mode="after")
    def _check_templates(self) -> Self:
        return self

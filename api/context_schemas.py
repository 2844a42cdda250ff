"""Request bodies of contexts and of summaries, and the answer with a context."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from api.schemas import (
    MAX_VIEW_TOKENS,
    NOT_GIVEN,
    QUERY_BOUND,
    Body,
    GivenFlow,
    GivenSession,
    Identifier,
    Name,
    Role,
    SentUuid,
    Stored,
    TimeZone,
    ViewAnswer,
    example,
)
from api.search_schemas import (
    AsOf,
    Corrections,
    HalfLifeDays,
    MinScore,
    Mode,
    PartFactors,
    Roles,
    WrittenSince,
    WrittenUntil,
)
from memorybase.core.conversation.context_report import ContextReport
from memorybase.core.conversation.session_memory.summaries import PRESET_NAME
from memorybase.core.vectors.search import MAX_TOP_K

DEFAULT_PRESET = "token_buffer"
SummaryPreset = Annotated[str, StringConstraints(pattern=f"^({PRESET_NAME})$")]


class SummaryBody(Body):
    """The summary to rebuild; the defaults are the summary that contexts use."""

    flow_id: GivenFlow
    session_id: GivenSession
    summarizer: Name | None = Field(
        default=None, description="What writes the summary, one of those in the settings; by default the first."
    )
    preset: SummaryPreset = Field(
        default=DEFAULT_PRESET,
        description="The preset whose summary it is; `pairs_N` is that of all but the latest N pairs.",
    )


class RecallBody(Body):
    """Recall of memories. `share`: part of the budget that is reserved for memories; 0: no recall. `top_k`: maximum
    messages to recall from; default: as many as fit, with the turns around them. `scope`: where a session without an
    end user recalls from; default: the whole flow if it knows no end users at all, else the session. `facts`: add
    facts that a model derived, in up to half of the share."""

    top_k: int | None = Field(
        default=None,
        ge=1,
        description="Maximum messages to recall from; by default as many as fit, with the turns around them. "
        f"At most {MAX_TOP_K}.",
    )
    share: float = Field(
        default=0.3,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Part of the budget that is reserved for memories; 0: no recall.",
    )
    min_score: MinScore = None
    scope: Literal["session", "flow"] | None = Field(
        default=None,
        description="Where a session without an end user recalls from; null: the flow if no session of it has "
        "one, else the session.",
    )
    facts: bool = Field(
        default=False,
        description="Whether to add facts that a model derived from messages, in up to half of the share.",
    )
    mode: Mode = "hybrid"
    weights: PartFactors = None
    half_life_days: HalfLifeDays = None
    roles: Roles = None
    since: WrittenSince = None
    until: WrittenUntil = None
    corrections: Corrections = None


class StandingBody(Body):
    """Standing statements of the end user. `include`: default as the flow says. `share`: part of the budget that they
    use at most."""

    include: bool | None = Field(
        default=None,
        description="Whether the context contains the end user's standing statements; null: as the flow says.",
    )
    share: float = Field(
        default=0.15,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Part of the budget that standing statements use at most; 0: none.",
    )


class ContextConfig(Body):
    """Overrides of the preset."""

    pairs: Annotated[
        int, Field(ge=1, le=99, description="Number of latest pairs of question and reply, in session memory.")
    ] = NOT_GIVEN
    max_turns: Annotated[int, Field(ge=1, le=1_000, description="Maximum turns of history.")] = NOT_GIVEN
    max_messages: Annotated[int, Field(ge=1, le=1_000, description="Maximum messages of history.")] = NOT_GIVEN
    summary: Annotated[bool, Field(description="Whether a summary precedes the history.")] = NOT_GIVEN
    summarizer: Annotated[
        Name, Field(description="What writes the summary, one of those in the settings; by default the first.")
    ] = NOT_GIVEN
    uncovered_tokens: Annotated[
        int,
        Field(
            ge=0,
            le=MAX_VIEW_TOKENS,
            description="Maximum tokens of older messages that no summary covers yet and that are shown verbatim.",
        ),
    ] = NOT_GIVEN
    count_current: Annotated[bool, Field(description="Whether the current question counts as one of the pairs.")] = (
        NOT_GIVEN
    )
    clip: Annotated[bool, Field(description="Whether the oldest turn may be cut with a mark to fill the budget.")] = (
        NOT_GIVEN
    )
    summary_style: Annotated[
        Literal["line", "heading", "both"],
        Field(description="How the summary is introduced: by a line, a heading or both."),
    ] = NOT_GIVEN
    summary_first: Annotated[bool, Field(description="Whether the summary comes before the pairs.")] = NOT_GIVEN
    align: Annotated[
        Literal["none", "user_first", "strict"],
        Field(
            description="Which messages to drop or to join, as the model's provider demands: `none`; "
            "`user_first`, nothing before the first question; `strict`, also no empty messages and no "
            "two neighbors of one role."
        ),
    ] = NOT_GIVEN
    format: Annotated[
        Literal["openai", "langchain", "text"],
        Field(description="Format of `messages`: `openai` or `langchain`; `text` if only `text` is read."),
    ] = NOT_GIVEN
    roles: Annotated[list[Role], Field(max_length=8, description="Only messages of these roles.")] = NOT_GIVEN


class ContextBody(Body):
    """The context to build and its token budget. Without `query` nothing is recalled."""

    model_config = example(
        flow_id="support", session_id="anna-1", end_user_id="anna", query="Any peanuts in it?", token_budget=4000
    )

    flow_id: GivenFlow
    session_id: GivenSession
    token_budget: int = Field(ge=1, le=MAX_VIEW_TOKENS, description="Maximum tokens of the whole view.")
    query: Stored | None = Field(
        default=None,
        min_length=1,
        description=f"What to recall memories for; without it, none are recalled. {QUERY_BOUND}",
    )
    time_zone: TimeZone | None = Field(
        default=None,
        description="IANA name of the zone whose days the query means and memories show; null: as the flow says.",
    )
    as_of: AsOf = None
    leaf_id: Identifier | None = Field(
        default=None, description="Last message of the thread; default: the newest message."
    )
    run_id: Identifier | None = Field(default=None, description="The current run; its own messages are left out.")
    node_id: Identifier | None = Field(
        default=None, description="The node that asks. With `run_id`, the memory use is recorded."
    )
    end_user_id: Identifier | None = Field(
        default=None,
        description="The person that asks; by default the session's. Another one than the session's is 409.",
    )
    use_memory: bool = Field(default=True, description="If false, the view is empty.")
    model: Name | None = Field(
        default=None,
        description="The model that reads the messages; it decides the token counter and whether calls come with "
        "their reasoning.",
    )
    preset: Literal["token_buffer", "window", "flowx_5", "flowx_6"] = Field(
        default="token_buffer", description="How history and summary are combined."
    )
    config: ContextConfig = Field(default_factory=ContextConfig, description="Changes to the preset.")
    memory_base_ids: list[SentUuid] = Field(
        default_factory=list, max_length=20, description="Memory bases to recall from; by default all of the flow."
    )
    recall: RecallBody = Field(default_factory=RecallBody, description="Options of recall.")
    standing: StandingBody = Field(default_factory=StandingBody, description="Options of standing statements.")
    profile: bool | None = Field(
        default=None,
        description="Whether the memories begin with the end user's profile, within their share; null: if the query "
        "asks what is known of the person, or of an area such as their job.",
    )


class ContextAnswer(ViewAnswer):
    """A view with a report of how the budget was spent."""

    report: ContextReport = Field(description="What happened to the log.")

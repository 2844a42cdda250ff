"""Request bodies, and responses that no read model defines. Bodies refuse unknown fields."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    WrapValidator,
)

from memorybase.caveats import MAX_QUERY_CHARS
from memorybase.conversation import Report, Source
from memorybase.conversation.context_report import ContextReport
from memorybase.conversation.history.node_executions import (
    MAX_EXECUTIONS,
    MAX_INDEX,
    ExecutionStatus,
    ReportedExecution,
)
from memorybase.conversation.session_memory.summaries import PRESET_NAME
from memorybase.errors import SentId
from memorybase.ingestion.capture import CapturedMessage
from memorybase.ingestion.flush import JobBrief
from memorybase.ingestion.trigger import IngestionState
from memorybase.messages import MAX_MESSAGES, not_blank, storable
from memorybase.models import ID_LENGTH, MODEL_LENGTH, NAME_LENGTH
from memorybase.queries.retention import MAX_RETAIN_DAYS
from memorybase.search import request, scoring, weights
from memorybase.sessions.curation import MAX_IDS, MAX_REASON, Action
from memorybase.sessions.edits import NewExpiry
from memorybase.validation import Sent
from memorybase.vectors.search import MAX_FILTER_KEYS, MAX_TOP_K

Role = Literal["user", "assistant", "system", "tool"]
MAX_WAIT_SECONDS = 60
PROBLEM_JSON = "application/problem+json"  # of RFC 9457
DEFAULT_PRESET = "token_buffer"
MAX_VIEW_TOKENS = 10_000_000  # larger than any model's context


def _aware(value: datetime) -> datetime:
    try:
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as exc:
        raise ValueError("The time must be between the years 1 and 9999") from exc


def _no_number(value: Any) -> Any:
    """Pydantic reads numbers, and text that is one, as seconds or milliseconds since 1970."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return value
    elif not isinstance(value, int | float):
        return value
    raise ValueError("A time must be a date and a time such as 2026-11-16T10:00:00Z, not a number")


_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _end_of_day(value: Any) -> Any:
    """A date alone is the whole day."""
    return f"{value}T23:59:59.999999" if isinstance(value, str) and _DATE.fullmatch(value) else value


def _absent(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


QUERY_BOUND = f"Of a longer one the last {MAX_QUERY_CHARS} characters count."
_CONTENT = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}

# A UUID that memorybase generated; errors repeat it as it was sent.
SentUuid = Annotated[UUID, WrapValidator(lambda value, check: SentId(check(value), str(value)))]
Stored = Annotated[str, AfterValidator(storable)]
# The bounds come first: behind a validator of ours, Pydantic would speak of items instead of characters.
_OURS = (AfterValidator(storable), AfterValidator(not_blank))
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=ID_LENGTH), *_OURS]
Name = Annotated[str, StringConstraints(min_length=1, max_length=NAME_LENGTH), *_OURS]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=MODEL_LENGTH), *_OURS]
SummaryPreset = Annotated[str, StringConstraints(pattern=f"^({PRESET_NAME})$")]
Moment = Annotated[datetime, BeforeValidator(_no_number), AfterValidator(_aware)]
Until = Annotated[Moment, BeforeValidator(_end_of_day)]
# A field of a PATCH may be absent; null is invalid.
NOT_GIVEN: Any = Field(default=None, json_schema_extra=_absent)


class Body(Sent):
    model_config = ConfigDict(extra="forbid")

    def given(self) -> dict[str, Any]:
        """The fields that the request contains."""
        return {name: getattr(self, name) for name in self.model_fields_set}


Reason = Annotated[Stored, StringConstraints(max_length=MAX_REASON)]


class FlowBody(Body):
    """A new flow, or its new name."""

    name: Name


RetainDays = Annotated[int, Field(ge=1, le=MAX_RETAIN_DAYS)]


class ExecutionOutputs(BaseModel):
    """A node's outputs: its text, and its context (the prompt without the system message, then the answer). Other
    fields are stored too."""

    model_config = ConfigDict(extra="allow")

    text: str | None = None
    context: list[Any] | None = Field(default=None, json_schema_extra={"items": {"type": "object"}})
    branch: int | str | None = Field(
        default=None,
        description="Tells executions that ran in parallel, with the same index, from each other: the next one reads "
        "all of them. Without it only the last one with this index counts.",
    )


class ExecutionBody(Body):
    """An execution of a node."""

    node_id: Identifier
    index: int = Field(
        default=0, ge=0, le=MAX_INDEX, description="Number of this execution among the node's executions in the run."
    )
    status: ExecutionStatus
    outputs: ExecutionOutputs
    few_shots: list[Any] | None = Field(
        default=None,
        description="Messages that the node's template puts before its context; they are not history.",
        json_schema_extra={"items": {"type": "object"}},
    )


class NodeExecutionBody(ExecutionBody):
    """An execution of a node in a run."""

    flow_id: Identifier
    session_id: Identifier
    run_id: Identifier


class ReportedExecutionBody(ExecutionBody):
    """A node execution of the captured run."""

    id: Identifier | None = None


class CaptureBody(Body):
    """The messages of one run, in OpenAI, Langflow or LangChain format."""

    session_id: Identifier
    run_id: Identifier | None = None
    end_user_id: Identifier | None = None
    on_conflict: Literal["error", "keep", "update"] = "error"
    messages: list[Any] = Field(
        description="{role, content, ...}, {text, sender} or {type, content}. " + f"At most {MAX_MESSAGES}.",
        json_schema_extra={"items": {"type": "object"}},
    )
    node_executions: list[ReportedExecutionBody] = Field(default_factory=list, max_length=MAX_EXECUTIONS)


class MessageChanges(Body):
    """The fields of a message to change."""

    # The domain validates it as in a capture: a union here would put its branches into errors.
    content: Annotated[Any, WithJsonSchema(_CONTENT)] = NOT_GIVEN
    files: list[Any] = NOT_GIVEN
    metadata: dict[str, Any] = NOT_GIVEN
    muted: bool = NOT_GIVEN
    pinned: bool = NOT_GIVEN
    reason: Reason | None = None


class MessageActionBody(Body):
    """One action on many messages."""

    action: Action
    ids: Annotated[list[Identifier], Field(min_length=1, max_length=MAX_IDS)]
    flow_id: Identifier | None = None
    reason: Reason | None = None


class RestoreBody(Body):
    """Why the message is restored."""

    reason: Reason | None = None


class SessionChanges(Body):
    """The session, and what to change."""

    flow_id: Identifier
    session_id: Identifier
    new_session_id: Identifier | None = None
    metadata: dict[str, Any] | None = None
    expires_at: Moment | None = None
    expire_in_days: RetainDays | None = None

    @property
    def expiry(self) -> NewExpiry | None:
        """When the session expires from now on; None: the request does not say."""
        if self.model_fields_set.isdisjoint({"expires_at", "expire_in_days"}):
            return None
        return NewExpiry(self.expires_at, self.expire_in_days)


Factor = Annotated[float, Field(ge=0, le=scoring.MAX_FACTOR, allow_inf_nan=False)]
HalfLife = Annotated[float, Field(ge=0, le=request.MAX_HALF_LIFE_DAYS, allow_inf_nan=False)]
_HALF_LIFE = (
    "After this many days a message has lost a quarter of its score, in the end half; 0: age does not count. "
    "Default: as the memory base's own weights say."
)


_CORRECTIONS = (
    "Rank later statements of the same fact first and say what they correct, in mode `hybrid`. Default: unless the "
    "embedding model is behind an endpoint."
)


class PartWeightsBody(Body):
    """Factors for the parts of a score, on top of the weights. They have no effect in mode `dense`."""

    meaning: Factor = Field(default=1, description="How close the message is in meaning to the question.")
    words: Factor = Field(default=1, description="The question's words, in the message or next to it.")
    around: Factor = Field(default=1, description="What the conversation around the message is about.")
    kind: Factor = Field(default=1, description="Length, speaker, dates, times and numbers.")


class SearchBody(Body):
    """A search in one memory base. `since` and `until` are inclusive."""

    query: Stored = Field(min_length=1, description=QUERY_BOUND)
    top_k: int = Field(default=10, ge=1, description=f"At most {MAX_TOP_K}.")
    mode: Literal["hybrid", "dense", "keyword"] = "hybrid"
    session_id: Identifier | None = None
    end_user_id: Identifier | None = None
    roles: list[Role] | None = Field(default=None, max_length=8)
    since: Moment | None = None
    until: Until | None = None
    metadata: dict[str, Any] | None = Field(default=None, max_length=MAX_FILTER_KEYS)
    min_score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    neighbors: int = Field(default=0, ge=0, le=request.MAX_NEIGHBORS)
    include_pending: bool = True
    exclude_message_ids: list[Identifier] = Field(default_factory=list, max_length=request.MAX_EXCLUDED)
    explain: bool = False
    default_weights: bool = Field(
        default=False, description="Use the default weights and no half-life instead of the memory base's own."
    )
    weights: PartWeightsBody | None = None
    half_life_days: HalfLife | None = Field(default=None, description=_HALF_LIFE)
    fold_alike: bool = Field(
        default=False,
        description="Of messages with the same text return only the best, with the number of others in `alike`.",
    )
    corrections: bool | None = Field(default=None, description=_CORRECTIONS)
    facts: bool = Field(default=False, description="Also return facts that a model derived, in `facts`.")


class FlowSearchBody(SearchBody):
    """A search in every memory base of a flow, in the named ones, or in all; exactly one of the three is given."""

    flow_id: Identifier | None = None
    memory_base_ids: list[SentUuid] = Field(
        default_factory=list,
        max_length=request.MAX_MEMORY_BASES,
        description="Memory bases of one flow or of several.",
    )
    all: bool = Field(default=False, description=f"Search every memory base, at most {request.MAX_MEMORY_BASES}.")


Weight = Annotated[float, Field(ge=-weights.MAX_WEIGHT, le=weights.MAX_WEIGHT, allow_inf_nan=False)]


class WeightSetBody(Body):
    """The score is the bias plus the sum of weight times signal; a signal without a weight adds nothing."""

    bias: Weight
    weights: dict[str, Weight]


class WeightsBody(Body):
    """A memory base's own weights. Each set replaces the default set of its name."""

    sets: dict[str, WeightSetBody] = Field(description="May be empty if `half_life_days` is given.")
    fitted_at: Moment | None = None
    questions: int | None = Field(
        default=None, ge=0, le=1_000_000, description="Number of questions that the weights were fitted on."
    )
    note: Annotated[Stored, StringConstraints(max_length=weights.MAX_NOTE_CHARS)] | None = None
    half_life_days: HalfLife | None = Field(
        default=None, description="Of searches that set none; null: age does not count."
    )


class LabelBody(Body):
    """A judgement of a message as an answer to a question."""

    message_id: Identifier
    query: Stored = Field(min_length=1, description=QUERY_BOUND)
    right: bool
    flow_id: Identifier | None = None
    session_id: Identifier | None = None
    end_user_id: Identifier | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class SummaryBody(Body):
    """The summary to rebuild; the defaults are the summary that contexts use."""

    flow_id: Identifier
    session_id: Identifier
    summarizer: Name | None = None
    preset: SummaryPreset = DEFAULT_PRESET


class RecallBody(Body):
    """Recall of memories. `share`: part of the budget that is reserved for memories; 0: no recall. `top_k`: maximum
    messages to recall from; default: as many as fit, with the turns around them. `scope`: where a session without an
    end user recalls from; default: the whole flow if it knows no end users at all, else the session. `facts`: add
    facts that a model derived, in up to half of the share."""

    top_k: int | None = Field(default=None, ge=1, description=f"At most {MAX_TOP_K}.")
    share: float = Field(default=0.3, ge=0, le=1, allow_inf_nan=False)
    min_score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    scope: Literal["session", "flow"] | None = None
    facts: bool = False
    mode: Literal["hybrid", "dense", "keyword"] = "hybrid"
    weights: PartWeightsBody | None = None
    half_life_days: HalfLife | None = Field(default=None, description=_HALF_LIFE)
    roles: list[Role] | None = Field(default=None, max_length=8)
    since: Moment | None = None
    until: Until | None = None
    corrections: bool | None = Field(default=None, description=_CORRECTIONS)


class StandingBody(Body):
    """Standing statements of the end user. `include`: default as the flow says. `share`: part of the budget that they
    use at most."""

    include: bool | None = None
    share: float = Field(default=0.15, ge=0, le=1, allow_inf_nan=False)


class ContextConfig(Body):
    """Overrides of the preset. `pairs`: number of latest pairs of question and reply, in session memory."""

    pairs: Annotated[int, Field(ge=1, le=99)] = NOT_GIVEN
    max_turns: Annotated[int, Field(ge=1, le=1_000)] = NOT_GIVEN
    max_messages: Annotated[int, Field(ge=1, le=1_000)] = NOT_GIVEN
    summary: bool = NOT_GIVEN
    summarizer: Name = NOT_GIVEN
    uncovered_tokens: Annotated[int, Field(ge=0, le=MAX_VIEW_TOKENS)] = NOT_GIVEN
    count_current: bool = NOT_GIVEN
    clip: bool = NOT_GIVEN
    summary_style: Literal["line", "heading", "both"] = NOT_GIVEN
    summary_first: bool = NOT_GIVEN
    align: Literal["none", "user_first", "strict"] = NOT_GIVEN
    format: Literal["openai", "langchain", "text"] = NOT_GIVEN
    roles: Annotated[list[Role], Field(max_length=8, description="Only messages of these roles.")] = NOT_GIVEN


class ContextBody(Body):
    """The context to build and its token budget. Without `query` nothing is recalled."""

    flow_id: Identifier
    session_id: Identifier
    token_budget: int = Field(ge=1, le=MAX_VIEW_TOKENS)
    query: Stored | None = Field(default=None, min_length=1, description=QUERY_BOUND)
    leaf_id: Identifier | None = Field(
        default=None, description="Last message of the thread; default: the newest message."
    )
    run_id: Identifier | None = None
    node_id: Identifier | None = None
    end_user_id: Identifier | None = None
    use_memory: bool = True
    model: Name | None = Field(default=None, description="Model that counts tokens, by the setting token_counters.")
    preset: Literal["token_buffer", "window", "flowx_5", "flowx_6"] = "token_buffer"
    config: ContextConfig = Field(default_factory=ContextConfig)
    memory_base_ids: list[SentUuid] = Field(default_factory=list, max_length=20)
    recall: RecallBody = Field(default_factory=RecallBody)
    standing: StandingBody = Field(default_factory=StandingBody)


class ErrorBody(BaseModel):
    """An error: the `field`, the `value` that was sent, and the `limit` that it broke."""

    code: str
    message: str
    field: str | None = None
    value: str | int | float | bool | None = None
    limit: str | int | float | list[str | int | float] | None = None
    retryable: bool
    request_id: str
    details: dict[str, Any] | None = None


class ErrorAnswer(BaseModel):
    """The answer to every request that fails: problem details of RFC 9457, and `error` for programs."""

    type: str
    title: str
    status: int
    detail: str
    error: ErrorBody


class Accepted(BaseModel):
    """The resource is no longer visible; its deletion continues in the background."""

    status: Literal["deleting"] = "deleting"


class Repairs(BaseModel):
    """Jobs that update the knowledge bases; empty if no knowledge base holds the message."""

    job_ids: list[UUID]


class Regeneration(BaseModel):
    """The started build. Searches read the old generation until the build is complete."""

    generation: int
    jobs: list[JobBrief]


class ViewAnswer(BaseModel):
    """Messages for a model. `sources` is parallel to `messages`; `text` is the same content as a transcript."""

    messages: list[dict[str, Any]]
    sources: list[Source]
    text: str
    report: Report


class ContextAnswer(ViewAnswer):
    """A view with a report of how the budget was spent."""

    report: ContextReport


class CaptureAnswer(BaseModel):
    """Result of a capture, with the result of each node execution in it."""

    model_config = ConfigDict(from_attributes=True)

    run_id: UUID
    run_external_id: str | None
    session_id: str
    created: bool
    messages: list[CapturedMessage]
    ingestion: list[IngestionState]
    node_executions: list[ReportedExecution] = Field(default_factory=list, exclude_if=lambda value: not value)


class SignInLinkAnswer(BaseModel):
    """A link for one use. Append `url_path` to the address of the API."""

    url_path: str
    expires_at: datetime


class Liveness(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"
    version: str


class Readiness(BaseModel):
    """Every part responds. `degraded`: jobs are still not processed; `reason` says why."""

    status: Literal["ready", "degraded"]
    parts: dict[str, Literal["ok", "degraded"]]
    reason: str | None = None


_PROBLEM = {PROBLEM_JSON: {"schema": {"$ref": f"#/components/schemas/{ErrorAnswer.__name__}"}}}
ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorAnswer, "content": _PROBLEM, "description": "The request is invalid; nothing was changed."},
    "5XX": {
        "model": ErrorAnswer,
        "content": _PROBLEM,
        "description": "A dependency is unavailable. Retry after the time in Retry-After.",
    },
}

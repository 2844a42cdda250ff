"""Request bodies, and responses that no read model defines. Bodies refuse unknown fields."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, time
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
from pydantic_core import PydanticCustomError

from memorybase.core import time_zones
from memorybase.core.caveats import MAX_QUERY_CHARS, Caveat, Redacted
from memorybase.core.conversation import Report, Source
from memorybase.core.conversation.history.node_executions import (
    MAX_EXECUTIONS,
    MAX_INDEX,
    ExecutionStatus,
    ReportedExecution,
)
from memorybase.core.errors import SentId
from memorybase.core.ingestion.capture import CapturedMessage
from memorybase.core.ingestion.flush import JobBrief
from memorybase.core.ingestion.trigger import IngestionState
from memorybase.core.messages import MAX_MESSAGES, not_blank, storable
from memorybase.core.models import ID_LENGTH, MODEL_LENGTH, NAME_LENGTH
from memorybase.core.queries.expiry import MAX_RETAIN_DAYS
from memorybase.core.sessions.curation import MAX_IDS, MAX_REASON, Action
from memorybase.core.sessions.edits import NewExpiry
from memorybase.core.validation import Sent

Role = Literal["user", "assistant", "system", "tool"]
MAX_WAIT_SECONDS = 60
PROBLEM_JSON = "application/problem+json"  # of RFC 9457
MAX_VIEW_TOKENS = 10_000_000  # larger than any model's context


def _aware(value: datetime) -> datetime:
    try:
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as exc:
        raise PydanticCustomError("datetime_range", "Input should be between the years 1 and 9999") from exc


def _no_number(value: Any) -> Any:
    """Pydantic reads numbers, and text that is one, as seconds or milliseconds since 1970."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return value
    elif not isinstance(value, int | float):
        return value
    raise PydanticCustomError("datetime_type", "Input should be no number")


_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _end_of_day(value: Any) -> Any:
    """A date alone is the whole day."""
    with suppress(ValueError):  # Pydantic then refuses what was sent
        if isinstance(value, str) and _DATE.fullmatch(value):
            return datetime.combine(date.fromisoformat(value), time.max)
    return value


def _absent(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


QUERY_BOUND = f"Of a longer one the last {MAX_QUERY_CHARS} characters count."

# A UUID that memorybase generated; errors repeat it as it was sent.
SentUuid = Annotated[UUID, WrapValidator(lambda value, check: SentId(check(value), str(value)))]
Stored = Annotated[str, AfterValidator(storable)]
# The bounds come first: behind a validator of ours, Pydantic would speak of items instead of characters.
_OURS = (AfterValidator(storable), AfterValidator(not_blank))
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=ID_LENGTH), *_OURS]
Name = Annotated[str, StringConstraints(min_length=1, max_length=NAME_LENGTH), *_OURS]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=MODEL_LENGTH), *_OURS]
Moment = Annotated[datetime, BeforeValidator(_no_number), AfterValidator(_aware)]
Until = Annotated[Moment, BeforeValidator(_end_of_day)]
# A field of a PATCH may be absent; null is invalid.
NOT_GIVEN: Any = Field(default=None, json_schema_extra=_absent)
# Fields that several bodies have.
GivenFlow = Annotated[Identifier, Field(description="The flow: a UUID or the caller's id.")]
GivenSession = Annotated[Identifier, Field(description="The session's id, chosen by the caller.")]
GivenChat = Annotated[Identifier, Field(description="The chat's id, chosen by the caller.")]


def example(**fields: Any) -> ConfigDict:
    """The configuration of a model with an example for readers of the OpenAPI document."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


def described(name: str) -> WithJsonSchema:
    """Describe a value that the domain validates by a schema of api.contract."""
    return WithJsonSchema({"x-schema": name})


SentMessages = list[Annotated[Any, described("SentMessage")]]
ViewMessages = list[Annotated[dict[str, Any], described("ViewMessage")]]
_PART = {"anyOf": [{"x-schema": "ContentPart"}, {"type": "string"}]}
_CONTENT = {"anyOf": [{"type": "string"}, {"type": "array", "items": _PART}]}


class Body(Sent):
    model_config = ConfigDict(extra="forbid")

    def given(self) -> dict[str, Any]:
        """The fields that the request contains."""
        return {name: getattr(self, name) for name in self.model_fields_set}


Reason = Annotated[Stored, StringConstraints(max_length=MAX_REASON)]


TimeZone = Annotated[Stored, StringConstraints(min_length=1, max_length=time_zones.NAME_LENGTH)]
FLOW_ZONE = (
    "IANA name of the zone whose days queries and contexts mean, such as `Europe/Berlin`, unless the call says one."
)


class FlowBody(Body):
    """A new flow, or its new name."""

    name: Name = Field(description="The name, for people.")
    time_zone: TimeZone | None = Field(default=None, description=f"{FLOW_ZONE} Null: `UTC`, or as it is.")


RetainDays = Annotated[int, Field(ge=1, le=MAX_RETAIN_DAYS)]


class ExecutionOutputs(BaseModel):
    """A node's outputs: its text, and its context (the prompt without the system message, then the answer). Other
    fields are stored too."""

    model_config = ConfigDict(extra="allow")

    text: str | None = Field(default=None, description="The text that the node returned.")
    context: SentMessages | None = Field(
        default=None,
        description="The messages of the node's model call: the prompt without the system message, then the answer.",
    )
    branch: int | str | None = Field(
        default=None,
        description="Tells executions that ran in parallel, with the same index, from each other: the next one reads "
        "all of them. Without it only the last one with this index counts.",
    )


class ExecutionBody(Body):
    """An execution of a node."""

    node_id: Identifier = Field(description="The node of the flow, named by the caller.")
    index: int = Field(
        default=0, ge=0, le=MAX_INDEX, description="Number of this execution among the node's executions in the run."
    )
    status: ExecutionStatus = Field(description="How the execution ended; node memory reads only `succeeded` ones.")
    outputs: ExecutionOutputs = Field(description="What the node returned.")
    few_shots: SentMessages | None = Field(
        default=None,
        description="Messages that the node's template puts before its context; they are not history.",
    )


class NodeExecutionBody(ExecutionBody):
    """An execution of a node in a run."""

    flow_id: GivenFlow
    session_id: GivenSession
    run_id: Identifier = Field(description="The run: a UUID or the caller's id. It may be captured later.")


class ReportedExecutionBody(ExecutionBody):
    """A node execution of the captured run."""

    id: Identifier | None = Field(
        default=None, description="The id of the execution: a UUID or any string; generated by default."
    )


class CaptureBody(Body):
    """The messages of one run, in OpenAI, Langflow or LangChain format."""

    model_config = example(
        session_id="anna-1",
        run_id="run-1",
        end_user_id="anna",
        messages=[
            {"role": "user", "content": "Which food must I avoid?"},
            {"role": "assistant", "content": "Avoid peanuts: you are allergic to them."},
        ],
    )

    session_id: GivenSession
    run_id: Identifier | None = Field(
        default=None,
        description="The run's id: a UUID or any string; generated by default. Send one, so that a repeat is "
        "recognized.",
    )
    end_user_id: Identifier | None = Field(
        default=None, description="The person that the session belongs to. A session's first capture fixes it."
    )
    on_conflict: Literal["error", "keep", "update"] = Field(
        default="error",
        description="What to do if a message id is stored with other content: `error` stores nothing, `keep` "
        "keeps the stored message, `update` stores a new version.",
    )
    messages: SentMessages = Field(
        description="Messages in order, in OpenAI's, Langflow's or LangChain's format: "
        "{role, content, ...}, {text, sender} or {type, content}. " + f"At most {MAX_MESSAGES}.",
    )
    node_executions: list[ReportedExecutionBody] = Field(
        default_factory=list,
        max_length=MAX_EXECUTIONS,
        description="Executions of nodes in this run; stored after the messages, each separately.",
    )


class MessageChanges(Body):
    """The fields of a message to change."""

    # The domain validates it as in a capture: a union here would put its branches into errors.
    content: Annotated[Any, WithJsonSchema(_CONTENT), Field(description="New content: text or content parts.")] = (
        NOT_GIVEN
    )
    files: Annotated[list[Any], Field(description="New files; they replace the stored ones.")] = NOT_GIVEN
    metadata: Annotated[dict[str, Any], Field(description="New metadata; it replaces the stored one.")] = NOT_GIVEN
    muted: Annotated[bool, Field(description="Whether no search recalls it; its conversation still shows it.")] = (
        NOT_GIVEN
    )
    pinned: Annotated[bool, Field(description="Whether searches return it first where it is relevant.")] = NOT_GIVEN
    version: Annotated[
        int,
        Field(ge=1, description="The version that the caller has read: nothing changes if there is another one now."),
    ] = NOT_GIVEN
    reason: Reason | None = Field(default=None, description="Why; for people, at most 500 characters.")


class MessageActionBody(Body):
    """One action on many messages."""

    action: Action = Field(description="What to do with each message.")
    ids: Annotated[list[Identifier], Field(min_length=1, max_length=MAX_IDS)] = Field(
        description="The messages: UUIDs or the caller's ids."
    )
    flow_id: Identifier | None = Field(
        default=None, description="The flow, if its ids are also used in others: a UUID or the caller's id."
    )
    reason: Reason | None = Field(default=None, description="Why; for people, at most 500 characters.")


class RestoreBody(Body):
    """Why the message is restored."""

    reason: Reason | None = Field(default=None, description="Why; for people, at most 500 characters.")


class SessionChanges(Body):
    """The session, and what to change."""

    flow_id: GivenFlow
    session_id: Identifier = Field(description="The session to change.")
    new_session_id: Identifier | None = Field(default=None, description="Its new id.")
    metadata: dict[str, Any] | None = Field(default=None, description="New metadata; it replaces the stored one.")
    expires_at: Moment | None = Field(
        default=None,
        description="When everything that was captured until then is deleted; null: never, unless "
        "`expire_in_days` says so.",
    )
    expire_in_days: RetainDays | None = Field(default=None, description="The same, in days from now.")

    @property
    def expiry(self) -> NewExpiry | None:
        """When the session expires from now on; None: the request does not say."""
        if self.model_fields_set.isdisjoint({"expires_at", "expire_in_days"}):
            return None
        return NewExpiry(self.expires_at, self.expire_in_days)


class ErrorBody(BaseModel):
    """An error: the `field`, the `value` that was sent, and the `limit` that it broke."""

    code: str = Field(description="Stable code of the error.")
    message: str = Field(description="For people; may change.")
    field: str | None = Field(
        default=None, description="Where in the request, such as `messages[3].role`; absent where it does not apply."
    )
    value: str | int | float | bool | None = Field(default=None, description="What was sent; never message text.")
    limit: str | int | float | list[str | int | float] | None = Field(
        default=None, description="The bound that was broken, or the allowed values."
    )
    retryable: bool = Field(description="Whether the same request can succeed later.")
    request_id: str = Field(description="The request, as in the header `X-Request-Id`.")
    details: Annotated[dict[str, Any] | None, described("ErrorDetails")] = Field(
        default=None, description="More for some codes, such as `existing_id`."
    )


class ErrorAnswer(BaseModel):
    """The answer to every request that fails: problem details of RFC 9457, and `error` for programs."""

    type: str = Field(description="`urn:memorybase:error:` and the code.")
    title: str = Field(description="What the code means; the same for every error with it.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="The same as `error.message`.")
    error: ErrorBody = Field(description="What is wrong, for programs.")


class Accepted(BaseModel):
    """The resource is no longer visible; its deletion continues in the background."""

    status: Literal["deleting"] = Field(default="deleting", description="Always `deleting`.")


class Repairs(BaseModel):
    """Jobs that update the knowledge bases; empty if no knowledge base holds the message."""

    job_ids: list[UUID] = Field(description="The queued jobs.")
    warnings: Redacted = ()


class Regeneration(BaseModel):
    """The started build. Searches read the old generation until the build is complete."""

    generation: int = Field(description="Number of the new generation.")
    jobs: list[JobBrief] = Field(description="The queued jobs.")


class ViewAnswer(BaseModel):
    """Messages for a model. `sources` is parallel to `messages`; `text` is the same content as a transcript."""

    messages: ViewMessages = Field(description="Messages that can go to a model unchanged.")
    sources: list[Source] = Field(description="Where each message comes from, parallel to `messages`.")
    text: str = Field(description="The same content as a transcript.")
    report: Report = Field(description="What happened to the log.")


class CaptureAnswer(BaseModel):
    """Result of a capture, with the result of each node execution in it."""

    model_config = ConfigDict(from_attributes=True)

    run_id: UUID = Field(description="The run: its UUID.")
    run_external_id: str | None = Field(description="The run's id as the caller chose it; null if that is a UUID.")
    session_id: str = Field(description="The session's id, chosen by the caller.")
    created: bool = Field(description="Whether anything was new; false for a repeat.")
    messages: list[CapturedMessage] = Field(description="The result for each message, in order.")
    ingestion: list[IngestionState] = Field(
        description="The effect on each memory base of the flow that has `auto_capture`."
    )
    warnings: list[Caveat] = Field(
        default_factory=list,
        description="Fields of the messages that are stored in their metadata, and secrets that were replaced.",
    )
    node_executions: list[ReportedExecution] = Field(
        default_factory=list,
        exclude_if=lambda value: not value,
        description="The result for each node execution, in order; absent without any.",
    )


class SignInLinkAnswer(BaseModel):
    """A link for one use. Append `url_path` to the address of the API."""

    url_path: str = Field(description="The path of the link; it contains a token for one use.")
    expires_at: datetime = Field(description="When the link stops working.")


class Liveness(BaseModel):
    """The process answers."""

    status: Literal["ok"] = Field(default="ok", description="Always `ok`.")
    version: str = Field(description="The version of the server.")


class Readiness(BaseModel):
    """Every part responds. `degraded`: jobs are still not processed; `reason` says why."""

    status: Literal["ready", "degraded"] = Field(
        description="`degraded`: every part responds, but the queue makes no progress."
    )
    parts: dict[str, Literal["ok", "degraded"]] = Field(description="The state of each part, by name.")
    reason: str | None = Field(default=None, description="Why it is degraded; null otherwise.")


_PROBLEM = {PROBLEM_JSON: {"schema": {"$ref": f"#/components/schemas/{ErrorAnswer.__name__}"}}}
# Of operations that may conflict with the stored state.
CONFLICT: dict[int | str, dict[str, Any]] = {409: {"description": "The request conflicts with the stored state."}}
ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorAnswer, "content": _PROBLEM, "description": "The request is invalid; nothing was changed."},
    "5XX": {
        "model": ErrorAnswer,
        "content": _PROBLEM,
        "description": "A dependency is unavailable. Retry after the time in Retry-After.",
    },
}

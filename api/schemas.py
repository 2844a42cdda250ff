"""Bodies of requests, and the answers that are no read model of the domain. Unknown fields are refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema, model_validator

from memorybase import knowledge, recall
from memorybase.knowledge import DocumentResult
from memorybase.lifecycle import MAX_IDLE_SECONDS
from memorybase.messages import why_unstorable
from memorybase.models import ID_LENGTH, MODEL_LENGTH, NAME_LENGTH, Capture, JobState
from memorybase.settings import Settings

Role = Literal["user", "assistant", "system", "tool"]
MAX_WAIT_SECONDS = 60


def _storable(value: str) -> str:
    reason = why_unstorable(value)
    if reason is not None:
        raise ValueError(reason)
    return value


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("This must not be blank")
    return value


def _aware(value: datetime) -> datetime:
    try:
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as exc:
        raise ValueError("This time is out of range") from exc


def _absent(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def _up_to(setting: str, what: str = "") -> str:
    """A bound that a setting gives is no schema's to promise; it is said with the setting's default."""
    default = Settings.model_fields[setting].default
    return f"At most {default}{what and ' '}{what}, by the setting {setting}."


_CONTENT = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}

Stored = Annotated[str, AfterValidator(_storable)]
Identifier = Annotated[Stored, StringConstraints(min_length=1, max_length=ID_LENGTH), AfterValidator(_said)]
Name = Annotated[Stored, StringConstraints(min_length=1, max_length=NAME_LENGTH), AfterValidator(_said)]
ModelName = Annotated[Stored, StringConstraints(min_length=1, max_length=MODEL_LENGTH), AfterValidator(_said)]
Moment = Annotated[datetime, AfterValidator(_aware)]
# In a PATCH a field is there or not; null is no value of it.
NOT_GIVEN: Any = Field(default=None, json_schema_extra=_absent)


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    def given(self) -> dict[str, Any]:
        """The fields that the caller sent."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class FlowBody(Body):
    name: Name


class CaptureBody(Body):
    """One run's messages: in OpenAI's, Langflow's or LangChain's shape."""

    session_id: Identifier
    run_id: Identifier | None = None
    end_user_id: Identifier | None = None
    on_conflict: Literal["error", "keep", "update"] = "error"
    messages: list[Any] = Field(
        description="{role, content, ...}, {text, sender} or {type, content}. " + _up_to("max_messages_per_run"),
        json_schema_extra={"items": {"type": "object"}},
    )


class MemoryBaseBody(Body):
    """A new memory base; `id`, `user_id` and `created_at` may be there and mean nothing."""

    name: Name
    flow_id: Identifier
    threshold: int = Field(default=50, ge=1, description=_up_to("max_threshold"))
    kb_name: Name | None = None
    auto_capture: bool = True
    capture: Capture = Capture.OUTPUTS
    idle_after: int | None = Field(default=None, ge=0, le=MAX_IDLE_SECONDS, description="Seconds; 0 is off.")
    start: Literal["beginning", "now"] = "beginning"
    embedding_model: ModelName | None = None

    @model_validator(mode="before")
    @classmethod
    def _ignore_what_the_server_decides(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if key not in {"id", "user_id", "created_at"}}


class MemoryBaseChanges(Body):
    name: Name = NOT_GIVEN
    threshold: Annotated[int, Field(ge=1, description=_up_to("max_threshold"))] = NOT_GIVEN
    auto_capture: bool = NOT_GIVEN
    idle_after: Annotated[int, Field(ge=0, le=MAX_IDLE_SECONDS)] = NOT_GIVEN


class FlushBody(Body):
    session_id: Identifier | None = None


class RegenerateBody(Body):
    embedding_model: ModelName | None = None
    capture: Capture | None = None


class MessageChanges(Body):
    # Checked by the domain, as in a capture: a union here would name its branches in the error.
    content: Annotated[Any, WithJsonSchema(_CONTENT)] = NOT_GIVEN
    files: list[Any] = NOT_GIVEN
    metadata: dict[str, Any] = NOT_GIVEN


class SessionChanges(Body):
    flow_id: Identifier
    session_id: Identifier
    new_session_id: Identifier | None = None
    metadata: dict[str, Any] | None = None


class KeyBody(Body):
    name: Name
    scopes: list[Literal["read", "write", "admin"]] = Field(min_length=1, max_length=3)
    expires_at: Moment | None = None


class SearchBody(Body):
    """What to look for in one memory base. `since` and `until` are inclusive."""

    query: Stored = Field(min_length=1, description=_up_to("max_query_chars", "characters"))
    top_k: int = Field(default=10, ge=1, description=_up_to("max_top_k"))
    mode: Literal["hybrid", "dense", "keyword"] = "hybrid"
    session_id: Identifier | None = None
    end_user_id: Identifier | None = None
    roles: list[Role] | None = Field(default=None, max_length=8)
    since: Moment | None = None
    until: Moment | None = None
    metadata: dict[str, Any] | None = Field(default=None, max_length=recall.MAX_FILTER_KEYS)
    min_score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    neighbors: int = Field(default=0, ge=0, le=recall.MAX_NEIGHBORS)
    include_pending: bool = True
    exclude_message_ids: list[Identifier] = Field(default_factory=list, max_length=recall.MAX_EXCLUDED)
    explain: bool = False
    half_life_days: float | None = Field(default=None, gt=0, le=recall.MAX_HALF_LIFE_DAYS, allow_inf_nan=False)


class FlowSearchBody(SearchBody):
    """What to look for in every memory base of a flow."""

    flow_id: Identifier


class KnowledgeBaseBody(Body):
    name: Name
    embedding_model: ModelName | None = None


class DocumentBody(Body):
    """A text; without metadata, what is stored of it stays."""

    # The bound is the domain's to check: in the schema it would make fuzzers send bodies of many megabytes.
    text: str = Field(min_length=1, description=f"Up to {knowledge.MAX_DOCUMENT_CHARS} characters.")
    id: str | None = Field(default=None, min_length=1, max_length=ID_LENGTH)
    metadata: dict[str, Any] | None = None


class DocumentsBody(Body):
    documents: list[DocumentBody] = Field(min_length=1, description=_up_to("max_documents_per_request"))


class DocumentSearchBody(Body):
    query: str = Field(min_length=1, description=_up_to("max_query_chars", "characters"))
    top_k: int = Field(default=10, ge=1, description=_up_to("max_top_k"))
    min_score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    metadata: dict[str, Any] | None = Field(default=None, max_length=knowledge.MAX_FILTER_KEYS)


class ErrorBody(BaseModel):
    """What went wrong; `field`, `value` and `limit` say where, with what and against which bound."""

    code: str
    message: str
    field: str | None = None
    value: str | int | float | bool | None = None
    limit: str | int | float | list[str | int | float] | None = None
    retryable: bool
    request_id: str
    details: dict[str, Any] | None = None


class ErrorAnswer(BaseModel):
    error: ErrorBody


class Accepted(BaseModel):
    """The work goes on; the thing is no longer there for anyone."""

    status: Literal["deleting"] = "deleting"


class Repairs(BaseModel):
    """The jobs that make the knowledge bases follow; none where nothing held the message."""

    job_ids: list[UUID]


class JobBrief(BaseModel):
    """A job, as short as it gets; GET /jobs/{id} has the rest."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    session_id: str
    state: JobState


class Regeneration(BaseModel):
    """A build has begun; searches are answered by the old generation until it is complete."""

    model_config = ConfigDict(from_attributes=True)

    generation: int
    jobs: list[JobBrief]


class DocumentsAnswer(BaseModel):
    """What became of each document, in order."""

    documents: list[DocumentResult]


class KeyAnswer(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    prefix: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class NewKeyAnswer(KeyAnswer):
    """The only answer that holds the secret."""

    secret: str


class Liveness(BaseModel):
    status: Literal["ok"] = "ok"
    version: str


class Readiness(BaseModel):
    """Every part answers; `degraded` says that the work does not get done all the same, and why."""

    status: Literal["ready", "degraded"]
    parts: dict[str, Literal["ok", "degraded"]]
    reason: str | None = None


ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorAnswer, "description": "The request is wrong; nothing was changed."},
    "5XX": {"model": ErrorAnswer, "description": "Something around us is away; Retry-After says when to try again."},
}

"""Request bodies of memory bases."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from api.schemas import NOT_GIVEN, Body, Identifier, ModelName, Name, RetainDays
from memorybase.ingestion.flush import MAX_SESSIONS
from memorybase.memory_bases.manage import MAX_IDLE_SECONDS, MAX_THRESHOLD
from memorybase.models import Capture, Priority
from memorybase.settings import VectorStoreName

# What POST /memories accepts, and the server decides.
DECIDED_BY_SERVER = frozenset({"id", "user_id", "created_at"})


class MemoryBaseSettings(Body):
    """The settings of a memory base that is created."""

    threshold: int = Field(default=50, ge=1, description=f"At most {MAX_THRESHOLD}.")
    kb_name: Name | None = None
    auto_capture: bool = True
    capture: Capture = Capture.OUTPUTS
    idle_after: int | None = Field(
        default=None,
        ge=0,
        le=MAX_IDLE_SECONDS,
        description="Seconds without a capture until a session is ingested; 0: off.",
    )
    start: Literal["beginning", "now", "all"] = Field(
        default="beginning",
        description="Messages captured before: pending until the session's next trigger or a flush (beginning), "
        "skipped (now), or scheduled for ingestion at once (all).",
    )
    embedding_model: ModelName | None = None
    vector_store: VectorStoreName | None = None
    retain_days: RetainDays | None = None
    priority: Priority = Priority.NORMAL


class MemoryBaseBody(MemoryBaseSettings):
    """A new memory base. `id`, `user_id` and `created_at` are accepted and ignored."""

    name: Name
    flow_id: Identifier

    @model_validator(mode="before")
    @classmethod
    def _ignore_what_the_server_decides(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if key not in DECIDED_BY_SERVER}


class MemoryBaseChanges(Body):
    """The fields of a memory base to change."""

    name: Name = NOT_GIVEN
    threshold: Annotated[int, Field(ge=1, description=f"At most {MAX_THRESHOLD}.")] = NOT_GIVEN
    auto_capture: bool = NOT_GIVEN
    idle_after: Annotated[int, Field(ge=0, le=MAX_IDLE_SECONDS)] = NOT_GIVEN
    paused: bool = NOT_GIVEN
    priority: Priority = NOT_GIVEN
    retain_days: RetainDays | None = None


class FlushBody(Body):
    """What to ingest: one session, these sessions, or every session."""

    session_id: Identifier | None = None
    session_ids: Annotated[list[Identifier] | None, Field(min_length=1, max_length=MAX_SESSIONS)] = None

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        if self.session_id is not None and self.session_ids is not None:
            raise ValueError("session_ids cannot be combined with session_id")
        return self


class RegenerateBody(Body):
    """What changes with the new generation."""

    embedding_model: ModelName | None = None
    capture: Capture | None = None
    vector_store: VectorStoreName | None = None

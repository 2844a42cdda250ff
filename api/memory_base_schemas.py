"""Request bodies of memory bases."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from api.schemas import NOT_GIVEN, Body, Identifier, ModelName, Name, RetainDays, example
from memorybase.core.ingestion.flush import MAX_SESSIONS
from memorybase.core.memory_bases.manage import MAX_IDLE_SECONDS, MAX_THRESHOLD
from memorybase.core.models import Capture, Priority
from memorybase.core.vector_stores import VectorStoreName

# What POST /memories accepts, and the server decides.
DECIDED_BY_SERVER = frozenset({"id", "user_id", "created_at"})


class MemoryBaseSettings(Body):
    """The settings of a memory base that is created."""

    threshold: int = Field(
        default=50,
        ge=1,
        description=f"Number of pending messages in a session that starts its ingestion. At most {MAX_THRESHOLD}.",
    )
    kb_name: Name | None = Field(
        default=None, description="The name of its knowledge base; by default `name`. Unique for the user."
    )
    auto_capture: bool = Field(
        default=True, description="Whether captures start ingestion. If false, only a flush does."
    )
    capture: Capture = Field(
        default=Capture.OUTPUTS, description="Which messages count toward the threshold and are embedded."
    )
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
    embedding_model: ModelName | None = Field(
        default=None, description="An allowed embedding model; by default the one of the settings."
    )
    vector_store: VectorStoreName | None = Field(
        default=None, description="Where its vectors are stored; by default the store of the settings."
    )
    retain_days: RetainDays | None = Field(
        default=None,
        description="Days until the knowledge base forgets what was captured; the conversation stays. Null: "
        "nothing is forgotten.",
    )
    priority: Priority = Field(
        default=Priority.NORMAL,
        description="How large its share of the workers is, compared with other memory bases: `low`, `normal` "
        "or `high`.",
    )


class MemoryBaseBody(MemoryBaseSettings):
    """A new memory base. `id`, `user_id` and `created_at` are accepted and ignored."""

    model_config = example(name="support notes", flow_id="support", threshold=20, capture="all")

    name: Name = Field(description="The name; unique for the user.")
    flow_id: Identifier = Field(description="The flow with the messages: a UUID or the caller's id.")

    @model_validator(mode="before")
    @classmethod
    def _ignore_what_the_server_decides(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if key not in DECIDED_BY_SERVER}


class MemoryBaseChanges(Body):
    """The fields of a memory base to change."""

    name: Annotated[Name, Field(description="The name, for people.")] = NOT_GIVEN
    threshold: Annotated[int, Field(ge=1, description=f"At most {MAX_THRESHOLD}.")] = NOT_GIVEN
    auto_capture: Annotated[
        bool, Field(description="Whether captures start ingestion. If false, only a flush does.")
    ] = NOT_GIVEN
    idle_after: Annotated[
        int,
        Field(
            ge=0,
            le=MAX_IDLE_SECONDS,
            description="Seconds without a capture until a session's pending messages are ingested; 0: off.",
        ),
    ] = NOT_GIVEN
    paused: Annotated[
        bool, Field(description="Whether its ingestion is held back. Resumed, it ingests what is due within seconds.")
    ] = NOT_GIVEN
    priority: Annotated[
        Priority,
        Field(
            description="How large its share of the workers is, compared with other memory bases: `low`, `normal` "
            "or `high`."
        ),
    ] = NOT_GIVEN
    retain_days: RetainDays | None = Field(
        default=None,
        description="Days until the knowledge base forgets what was captured; the conversation stays. Null: "
        "nothing is forgotten.",
    )


class FlushBody(Body):
    """The sessions to ingest: one, several, or all."""

    session_id: Identifier | None = Field(default=None, description="The session to ingest; by default every session.")
    session_ids: Annotated[list[Identifier] | None, Field(min_length=1, max_length=MAX_SESSIONS)] = Field(
        default=None, description="Only these sessions. Not together with `session_id`."
    )

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        if self.session_id is not None and self.session_ids is not None:
            raise ValueError("session_ids cannot be combined with session_id")
        return self


class RegenerateBody(Body):
    """Changes that come with the new generation."""

    embedding_model: ModelName | None = Field(
        default=None, description="Another embedding model; by default the current one."
    )
    capture: Capture | None = Field(default=None, description="Another capture rule; by default the current one.")
    vector_store: VectorStoreName | None = Field(
        default=None,
        description="Another vector store, which must have a URL in the settings; by default the current one.",
    )

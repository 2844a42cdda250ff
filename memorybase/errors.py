"""Every error memorybase raises, in one tree.

    MemorybaseError
    ├── EnvironmentFailure            something around us is away or wrong: back off and try again
    │   ├── DatabaseUnavailable
    │   ├── VectorStoreUnavailable
    │   ├── CollectionMissing         the knowledge base's collection is gone; regenerate restores it
    │   ├── DimensionMismatch         the model does not fit the collection
    │   ├── ModelUnavailable          the embedding model cannot be loaded
    │   ├── EmbeddingFailed           the model is loaded and fails on everything
    │   ├── LockUnavailable           Redis does not answer
    │   ├── QueueUnavailable
    │   ├── SummarizerUnavailable     whoever makes summaries does not answer
    │   ├── DocumentBusy              other writers of a document in objects were quicker every time
    │   └── NotReady                  the stack is not whole (health/ready)
    ├── MessageFailure                this one message cannot be embedded: dead letter, go on
    │   ├── TextRejected
    │   ├── VectorRejected
    │   └── SummaryRejected           no summary of these messages can be had
    ├── ConstraintViolated            two writers met on a unique key: look again
    ├── StatementRefused              the database cannot hold this; a defect of ours
    ├── ClaimLost                     another worker, a cancel or a delete took the job away: stop
    └── CallerError                   the request is wrong; nothing was changed
        ├── InvalidRequest            422, names the field, the value and the bound
        │   └── NoPromptFound
        ├── Unauthorized              401
        ├── Forbidden                 403
        ├── NotFound                  404
        ├── TooLarge                  413
        ├── RateLimited               429, says when to come back
        └── Conflict                  409
            ├── NameTaken
            ├── MessageConflict
            ├── RunConflict
            ├── IngestionActive
            ├── BuildActive
            ├── SessionConflict
            └── MemoryBaseOnly        an ordinary knowledge base's call on a memory base's store

Each class states the HTTP status, its class (environment, message, caller) and whether trying again can help.
The docstring's first line is the default message.
"""

from __future__ import annotations

from typing import ClassVar, Literal
from uuid import UUID

ErrorClass = Literal["environment", "message", "caller", "claim"]


class SentId(UUID):
    """The UUID of a row, with the id as the caller sent it: errors name that one."""

    sent: str

    def __init__(self, resolved: UUID, sent: str) -> None:
        super().__init__(int=resolved.int)
        object.__setattr__(self, "sent", sent)  # a UUID refuses assignments

    def __reduce__(self) -> tuple[type[SentId], tuple[UUID, str]]:
        return SentId, (UUID(int=self.int), self.sent)


class MemorybaseError(Exception):
    """memorybase failed."""

    code: ClassVar[str] = "internal_error"
    status_code: ClassVar[int] = 500
    error_class: ClassVar[ErrorClass] = "environment"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str | None = None,
        *,
        field: str | None = None,
        value: object = None,
        limit: object = None,
        **details: object,
    ) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.field = field
        self.value = value.sent if isinstance(value, SentId) else str(value) if isinstance(value, UUID) else value
        self.limit = limit
        self.details = details
        super().__init__(self.message)


class EnvironmentFailure(MemorybaseError):
    """A part that memorybase stands on failed."""

    code = "unavailable"
    status_code = 503
    error_class = "environment"
    retryable = True


class DatabaseUnavailable(EnvironmentFailure):
    """The database does not answer."""

    code = "database_unavailable"


class VectorStoreUnavailable(EnvironmentFailure):
    """The vector store does not answer."""

    code = "vector_store_unavailable"


class CollectionMissing(EnvironmentFailure):
    """The knowledge base's collection is missing from the vector store; regenerate restores it."""

    code = "collection_missing"
    retryable = False


class DimensionMismatch(EnvironmentFailure):
    """The embedding model's dimension differs from the collection's."""

    code = "dimension_mismatch"
    retryable = False


class ModelUnavailable(EnvironmentFailure):
    """The embedding model cannot be loaded."""

    code = "model_unavailable"


class EmbeddingFailed(EnvironmentFailure):
    """The embedding model fails on every text."""

    code = "embedding_failed"


class LockUnavailable(EnvironmentFailure):
    """The lock server does not answer."""

    code = "lock_unavailable"


class QueueUnavailable(EnvironmentFailure):
    """The task queue does not answer."""

    code = "queue_unavailable"


class SummarizerUnavailable(EnvironmentFailure):
    """The summarizer does not answer."""

    code = "summarizer_unavailable"


class DocumentBusy(EnvironmentFailure):
    """Other writers of this document were quicker every time."""

    code = "document_busy"


class NotReady(EnvironmentFailure):
    """A part of the stack is not ready."""

    code = "not_ready"


class MessageFailure(MemorybaseError):
    """This message cannot be embedded."""

    code = "message_failed"
    status_code = 422
    error_class = "message"


class TextRejected(MessageFailure):
    """The embedding model cannot encode this text."""

    code = "text_rejected"


class VectorRejected(MessageFailure):
    """The vector store refuses this record."""

    code = "vector_rejected"


class SummaryRejected(MessageFailure):
    """The summarizer made nothing of these messages."""

    code = "summary_rejected"


class ConstraintViolated(MemorybaseError):
    """A database constraint was violated."""

    code = "constraint_violated"


class StatementRefused(MemorybaseError):
    """The database refused a statement."""

    code = "statement_refused"


class ClaimLost(MemorybaseError):
    """Another worker, a cancellation or a deletion took this job away."""

    code = "claim_lost"
    error_class = "claim"


class CallerError(MemorybaseError):
    """The request is wrong."""

    code = "bad_request"
    status_code = 400
    error_class = "caller"


class InvalidRequest(CallerError):
    """The request does not fit."""

    code = "invalid_request"
    status_code = 422


class NoPromptFound(InvalidRequest):
    """Nothing is left of the prompt once what the model cannot read is taken out."""

    code = "no_prompt_found"


class Unauthorized(CallerError):
    """A valid API key is needed: send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'."""

    code = "unauthorized"
    status_code = 401


class Forbidden(CallerError):
    """This API key lacks the scope for the call."""

    code = "forbidden"
    status_code = 403


class NotFound(CallerError):
    """There is no such thing here."""

    code = "not_found"
    status_code = 404


class TooLarge(CallerError):
    """The request body is too large."""

    code = "too_large"
    status_code = 413


class RateLimited(CallerError):
    """Too many calls in a short time."""

    code = "rate_limited"
    status_code = 429
    retryable = True


class Conflict(CallerError):
    """The request conflicts with what is there."""

    code = "conflict"
    status_code = 409


class NameTaken(Conflict):
    """That name is taken."""

    code = "name_taken"


class MessageConflict(Conflict):
    """A message of that id is stored with other content; nothing of this request was stored."""

    code = "message_conflict"


class RunConflict(Conflict):
    """A run of that id is stored with another body; nothing of this request was stored."""

    code = "run_conflict"


class SessionConflict(Conflict):
    """The session is bound otherwise."""

    code = "session_conflict"


class IngestionActive(Conflict):
    """An ingestion job is already active for every session that has something pending."""

    code = "ingestion_active"
    retryable = True


class BuildActive(Conflict):
    """A regenerate is already running for this memory base."""

    code = "build_active"
    retryable = True


class MemoryBaseOnly(Conflict):
    """This knowledge base belongs to a memory base; use the memory base's own calls."""

    code = "memory_base_store"

"""All errors of the core, in one tree; a feature adds its own below them.

    MemorybaseError
    ├── EnvironmentFailure            a dependency is unavailable or misconfigured: back off and retry
    │   ├── DatabaseUnavailable
    │   ├── VectorStoreUnavailable
    │   ├── CollectionMissing         the collection is missing: regenerate the memory base
    │   ├── DimensionMismatch         the model and the collection have different dimensions
    │   ├── ModelUnavailable          the embedding model cannot be loaded
    │   │   └── ModelPreparing        it is being downloaded or exported: retry
    │   ├── EmbeddingFailed           the model is loaded and fails on every text
    │   ├── LockUnavailable           Redis does not answer
    │   ├── QueueUnavailable
    │   ├── SummarizerUnavailable
    │   ├── IssuerUnavailable         the authorization server does not answer, so tokens cannot be checked
    │   ├── DocumentBusy              concurrent writers won every attempt to write an object
    │   └── NotReady                  a part of the stack is not ready (GET /health/ready)
    ├── MessageFailure                one message cannot be embedded: dead-letter it and continue
    │   ├── TextRejected
    │   ├── VectorRejected
    │   └── SummaryRejected           the summarizer returned no summary
    ├── StatementRefused              the database refused a statement: a defect in memorybase
    ├── ClaimLost                     another worker, a cancel or a delete took the job: stop
    └── CallerError                   the request is invalid; nothing was changed
        ├── InvalidRequest            422, names the field, the value and the bound
        │   ├── SecretRefused         it has a secret, and the flow refuses those
        │   └── IdempotencyKeyReused  the key was sent with another request
        ├── Unauthorized              401
        ├── Forbidden                 403
        │   └── OutsideKeyLimits      the key is limited to flows or to an end user, and the call is not for such keys
        ├── NotFound                  404
        ├── TooLarge                  413
        ├── RateLimited               429, with Retry-After
        │   └── QuotaExceeded         a quota of the user or the key is used up until its window ends
        │       └── QuotaFull         a quota of what is stored: delete something
        └── Conflict                  409
            ├── ConstraintViolated        another request stored the same at the same time: repeat the call
            ├── NameTaken
            ├── MessageConflict
            ├── RunConflict
            ├── AmbiguousId           several flows have this id: send flow_id
            ├── IngestionActive
            ├── MemoryBasePaused      its ingestion is held back: resume it
            ├── BuildActive
            ├── SessionConflict
            ├── IdempotencyInProgress the first request with this key is still running
            ├── KeyRotated            the API key has a successor
            ├── Held                  a legal hold keeps it: lift the hold to delete it
            ├── SecretNotStored       the request has created an API key, whose secret cannot be shown again
            └── MemoryBaseOnly        the knowledge base belongs to a memory base

Each class states its HTTP status, its error class (environment, message, caller, claim) and whether a retry can
succeed. The first line of its docstring is the default message.
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
    """An internal error occurred."""

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
        cause: str | None = None,
        **details: object,
    ) -> None:
        """`message` is for callers. `cause` may name hosts and roles: logs and commands show it, as `str(error)`."""
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.field = field
        self.value = value.sent if isinstance(value, SentId) else str(value) if isinstance(value, UUID) else value
        self.limit = limit
        self.details = details
        super().__init__(f"{self.message.rstrip('.')}: {cause}" if cause else self.message)


class EnvironmentFailure(MemorybaseError):
    """A dependency of memorybase failed."""

    code = "unavailable"
    status_code = 503
    error_class = "environment"
    retryable = True


class DatabaseUnavailable(EnvironmentFailure):
    """The database is unavailable."""

    code = "database_unavailable"


class VectorStoreUnavailable(EnvironmentFailure):
    """The vector store is unavailable."""

    code = "vector_store_unavailable"


class CollectionMissing(EnvironmentFailure):
    """The collection is missing from the vector store. Regenerate the memory base to restore it."""

    code = "collection_missing"
    retryable = False


class DimensionMismatch(EnvironmentFailure):
    """The embedding model's dimension differs from the collection's."""

    code = "dimension_mismatch"
    retryable = False


class ModelUnavailable(EnvironmentFailure):
    """The embedding model cannot be loaded."""

    code = "model_unavailable"


class ModelPreparing(ModelUnavailable):
    """The embedding model is being prepared. Retry after the time in Retry-After."""

    code = "model_preparing"


class EmbeddingFailed(EnvironmentFailure):
    """The embedding model fails on every text."""

    code = "embedding_failed"


class LockUnavailable(EnvironmentFailure):
    """Redis is unavailable for locks."""

    code = "lock_unavailable"


class QueueUnavailable(EnvironmentFailure):
    """The task queue is unavailable."""

    code = "queue_unavailable"


class SummarizerUnavailable(EnvironmentFailure):
    """The summarizer is unavailable."""

    code = "summarizer_unavailable"


class IssuerUnavailable(EnvironmentFailure):
    """The authorization server does not answer, so access tokens cannot be checked. API keys work."""

    code = "issuer_unavailable"


class DocumentBusy(EnvironmentFailure):
    """Concurrent writers won every attempt to write this document."""

    code = "document_busy"


class DocumentUnsupported(EnvironmentFailure):
    """A stored document is of a later version than this code reads."""

    code = "document_unsupported"
    retryable = False


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
    """The vector store rejected this record."""

    code = "vector_rejected"


class SummaryRejected(MessageFailure):
    """The summarizer returned no summary of these messages."""

    code = "summary_rejected"


class StatementRefused(MemorybaseError):
    """The database refused a statement."""

    code = "statement_refused"


class ClaimLost(MemorybaseError):
    """Another worker, a cancel or a delete took this job."""

    code = "claim_lost"
    error_class = "claim"


class CallerError(MemorybaseError):
    """The request is invalid."""

    code = "bad_request"
    status_code = 400
    error_class = "caller"


class InvalidRequest(CallerError):
    """A field of the request is invalid."""

    code = "invalid_request"
    status_code = 422


class SecretRefused(InvalidRequest):
    """The request has a secret, and the flow refuses secrets; nothing was stored. See details.kind and details.at."""

    code = "secret_refused"


class IdempotencyKeyReused(InvalidRequest):
    """This Idempotency-Key was sent with another request. Use a new key for each request."""

    code = "idempotency_key_reused"


class Unauthorized(CallerError):
    """A valid API key is required. Send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'."""

    code = "unauthorized"
    status_code = 401


class Forbidden(CallerError):
    """This API key lacks the required scope."""

    code = "forbidden"
    status_code = 403


class OutsideKeyLimits(Forbidden):
    """A key that is limited to flows or to an end user may not make this call."""

    code = "outside_key_limits"


class NotFound(CallerError):
    """Not found."""

    # queries/ownership.not_found writes the messages: "There is no such flow".
    code = "not_found"
    status_code = 404


class TooLarge(CallerError):
    """The request body is too large."""

    code = "too_large"
    status_code = 413


class RateLimited(CallerError):
    """Too many requests. Retry after the time in Retry-After."""

    code = "rate_limited"
    status_code = 429
    retryable = True


class QuotaExceeded(RateLimited):
    """A quota is used up. Retry after details.resets_at."""

    code = "quota_exceeded"


class QuotaFull(QuotaExceeded):
    """A quota of what is stored is used up. See details.freed_by."""

    code = "quota_full"


class Conflict(CallerError):
    """The request conflicts with the stored state."""

    code = "conflict"
    status_code = 409


class ConstraintViolated(Conflict):
    """Another request stored the same at the same time; this one stored nothing. Send it again."""

    # database/violations.py has the error for each constraint of the tables.
    code = "constraint_violated"
    retryable = True


class NameTaken(Conflict):
    """This name is already in use. Choose another."""

    code = "name_taken"


class MessageConflict(Conflict):
    """This message id is already stored with other content; nothing in this request was stored."""

    code = "message_conflict"


class RunConflict(Conflict):
    """This run id is already stored with other messages; nothing in this request was stored."""

    code = "run_conflict"


class AmbiguousId(Conflict):
    """Several flows have this id. Send flow_id."""

    code = "ambiguous_id"


class SessionConflict(Conflict):
    """The session belongs to another end user."""

    code = "session_conflict"


class IngestionActive(Conflict):
    """Every session with pending messages already has an active job. Wait for the jobs in details.conflicts."""

    code = "ingestion_active"
    retryable = True


class MemoryBasePaused(Conflict):
    """The memory base is paused. Resume it with PATCH /memories/{id} and {"paused": false}."""

    code = "memory_base_paused"


class BuildActive(Conflict):
    """A regenerate is already running for this memory base. Wait for it, or cancel one of its jobs."""

    code = "build_active"
    retryable = True


class IdempotencyInProgress(Conflict):
    """The first request with this Idempotency-Key is still running. Send it again for its answer."""

    code = "idempotency_in_progress"
    retryable = True


class KeyRotated(Conflict):
    """This API key was rotated: details.existing_id replaces it. Rotate or revoke that key."""

    code = "key_rotated"


class Held(Conflict):
    """A legal hold keeps this; nothing was deleted. Lift the holds in details.holds first."""

    code = "legal_hold"


class SecretNotStored(Conflict):
    """This request has created what details.existing_id names, and its secret is not stored. Revoke or delete that."""

    code = "secret_not_stored"


class MemoryBaseOnly(Conflict):
    """This knowledge base belongs to a memory base. Use the endpoints below /memories."""

    code = "memory_base_store"


def lacks_extra(part: str, extra: str) -> str:
    """The message of an error about a part whose packages are not installed."""
    return f"{part} lacks the extra {extra}. In a copy of the repository run: pip install '.[{extra}]'"

"""All errors of the client, in one tree. Those with the server's names have its codes.

    MemorybaseError
    ├── ConnectionFailed              no complete answer arrived
    │   └── StreamBroken              a stream ended before its end
    ├── UnexpectedAnswer              the answer is not memorybase's: is the URL right?
    ├── NotSearchable                 wait_until_searchable ran out of time
    ├── ServerFailure                 5xx without its own class
    ├── EnvironmentFailure            a service that memorybase needs is unavailable or misconfigured
    ├── MessageFailure                one message cannot be embedded
    └── CallerError                   the request is wrong and changed nothing

docs/reference/errors.md says what to do about each code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class MemorybaseError(Exception):
    """An internal error occurred."""

    code: str = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        field: str | None = None,
        value: object = None,
        limit: object = None,
        retryable: bool = False,
        retry_after: float | None = None,
        request_id: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        """`retry_after` is in seconds; `request_id` finds the request in the server's log."""
        super().__init__(message)
        self.message = message
        self.status = status
        self.field = field
        self.value = value
        self.limit = limit
        self.retryable = retryable
        self.retry_after = retry_after
        self.request_id = request_id
        self.details = details or {}


class ConnectionFailed(MemorybaseError):
    """No complete answer arrived."""

    code = "connection_failed"


class StreamBroken(ConnectionFailed):
    """A stream ended before its end."""

    code = "stream_broken"


class UnexpectedAnswer(MemorybaseError):
    """The answer is not memorybase's."""

    code = "unexpected_answer"


class NotSearchable(MemorybaseError):
    """Messages were pending or jobs active when the time was over."""

    code = "not_searchable"


class ServerFailure(MemorybaseError):
    """The server failed without a code that this client knows."""

    code = "server_failure"


class EnvironmentFailure(MemorybaseError):
    """A service that memorybase needs failed."""

    code = "unavailable"


class MessageFailure(MemorybaseError):
    """This message cannot be embedded."""

    code = "message_failed"


class CallerError(MemorybaseError):
    """The request is wrong and changed nothing."""

    code = "bad_request"


class Conflict(CallerError):
    """The request conflicts with the stored state."""

    code = "conflict"


class DatabaseUnavailable(EnvironmentFailure):
    """The database is unavailable."""

    code = "database_unavailable"


class VectorStoreUnavailable(EnvironmentFailure):
    """The vector store is unavailable."""

    code = "vector_store_unavailable"


class CollectionMissing(EnvironmentFailure):
    """The collection is missing from the vector store. Regenerate the memory base to restore it."""

    code = "collection_missing"


class DimensionMismatch(EnvironmentFailure):
    """The embedding model's dimension differs from the collection's."""

    code = "dimension_mismatch"


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


class NotReady(EnvironmentFailure):
    """A part of the stack is not ready."""

    code = "not_ready"


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


class InvalidRequest(CallerError):
    """A field of the request is invalid."""

    code = "invalid_request"


class SecretRefused(InvalidRequest):
    """The request has a secret, and the flow refuses secrets; nothing was stored. See details.kind and details.at."""

    code = "secret_refused"


class IdempotencyKeyReused(InvalidRequest):
    """This Idempotency-Key was sent with another request. Use a new key for each request."""

    code = "idempotency_key_reused"


class AddressRefused(InvalidRequest):
    """This URL leads to an address that may not be called."""

    code = "address_refused"


class Unauthorized(CallerError):
    """A valid API key is required. Send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'."""

    code = "unauthorized"


class Forbidden(CallerError):
    """This API key lacks the required scope."""

    code = "forbidden"


class OutsideKeyLimits(Forbidden):
    """A key that is limited to flows or to an end user may not make this call."""

    code = "outside_key_limits"


class NotFound(CallerError):
    """Not found."""

    code = "not_found"


class TooLarge(CallerError):
    """The request body is too large."""

    code = "too_large"


class RateLimited(CallerError):
    """Too many requests. Retry after the time in Retry-After."""

    code = "rate_limited"


class QuotaExceeded(RateLimited):
    """A quota is used up. Retry after details["resets_at"]."""

    code = "quota_exceeded"


class QuotaFull(QuotaExceeded):
    """A quota of what is stored is used up. See details["freed_by"]."""

    code = "quota_full"


class ConstraintViolated(Conflict):
    """Another request stored the same at the same time; this one stored nothing. Send it again."""

    code = "constraint_violated"


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


class MemoryBasePaused(Conflict):
    """The memory base is paused. Resume it first."""

    code = "memory_base_paused"


class BuildActive(Conflict):
    """A regenerate is already running for this memory base. Wait for it, or cancel one of its jobs."""

    code = "build_active"


class IdempotencyInProgress(Conflict):
    """The first request with this Idempotency-Key is still running. Send it again for its answer."""

    code = "idempotency_in_progress"


class Held(Conflict):
    """A legal hold keeps this; nothing was deleted. Lift the holds in details.holds first."""

    code = "legal_hold"


class KeyRotated(Conflict):
    """This API key was rotated: details.existing_id replaces it. Rotate or revoke that key."""

    code = "key_rotated"


class WebhookDisabled(Conflict):
    """The webhook is disabled, so nothing is sent to it. Enable it with PATCH /webhooks/{id} and {"enabled": true}."""

    code = "webhook_disabled"


class SecretNotStored(Conflict):
    """This request has created what details.existing_id names, and its secret is not stored. Revoke or delete that."""

    code = "secret_not_stored"


class MemoryBaseOnly(Conflict):
    """This knowledge base belongs to a memory base. Use the endpoints below /memories."""

    code = "memory_base_store"


class NoSuchMethod(CallerError):
    """This path does not allow this method. See the Allow header."""

    code = "method_not_allowed"


class RequestTimeout(CallerError):
    """The client was too slow to send its request. Send it again on a faster connection."""

    code = "request_timeout"


class HeadersTooLarge(CallerError):
    """The request line and the headers are too large."""

    code = "headers_too_large"


class TooManyConnections(MemorybaseError):
    """Too many connections are open. Try again with fewer connections."""

    code = "too_many_connections"


class TooManyBodies(MemorybaseError):
    """The bodies of other requests fill the memory for bodies. Try again."""

    code = "too_many_bodies"


class Overloaded(MemorybaseError):
    """Too much other work of this kind is in progress. Retry after the time in Retry-After."""

    code = "overloaded"


def _kinds(kind: type[MemorybaseError]) -> Iterator[type[MemorybaseError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


BY_CODE: dict[str, type[MemorybaseError]] = {kind.code: kind for kind in _kinds(MemorybaseError)}

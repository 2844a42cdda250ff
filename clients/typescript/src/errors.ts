/**
 * All errors of the client, in one tree. Those with the server's names have its codes.
 *
 *     MemorybaseError
 *     ├── ConnectionFailed              no complete answer arrived
 *     │   └── StreamBroken              a stream ended before its end
 *     ├── UnexpectedAnswer              the answer is not memorybase's: is the URL right?
 *     ├── NotSearchable                 waitUntilSearchable ran out of time
 *     ├── ServerFailure                 5xx without a class of its own
 *     ├── EnvironmentFailure            a service that memorybase needs is unavailable or misconfigured
 *     ├── MessageFailure                one message cannot be embedded
 *     └── CallerError                   the request is wrong and changed nothing
 *
 * docs/reference/errors.md says what to do about each code.
 */
import type { Schemas } from "./types.js";

type ErrorBody = Schemas["ErrorBody"];

export interface ErrorFields {
  /** That of a newer server, which has no class here. */
  code?: string | undefined;
  status?: number | undefined;
  field?: string | undefined;
  value?: ErrorBody["value"];
  limit?: ErrorBody["limit"];
  retryable?: boolean | undefined;
  /** Seconds. */
  retryAfter?: number | undefined;
  requestId?: string | undefined;
  details?: Schemas["ErrorDetails"] | undefined;
  cause?: unknown;
}

/** An internal error occurred. */
export class MemorybaseError extends Error {
  static readonly code: string = "internal_error";

  readonly code: string;
  readonly status: number | undefined;
  readonly field: string | undefined;
  readonly value: ErrorBody["value"];
  readonly limit: ErrorBody["limit"];
  /** Whether the same request can succeed later. */
  readonly retryable: boolean;
  /** Seconds to wait before the request is repeated. */
  readonly retryAfter: number | undefined;
  /** Finds the request in the server's log. */
  readonly requestId: string | undefined;
  readonly details: Schemas["ErrorDetails"];

  constructor(message: string, fields: ErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = new.target.name;
    this.code = fields.code ?? new.target.code;
    this.status = fields.status;
    this.field = fields.field;
    this.value = fields.value;
    this.limit = fields.limit;
    this.retryable = fields.retryable ?? false;
    this.retryAfter = fields.retryAfter;
    this.requestId = fields.requestId;
    this.details = fields.details ?? {};
  }
}

/** No complete answer arrived. */
export class ConnectionFailed extends MemorybaseError {
  static override readonly code: string = "connection_failed";
}

/** A stream ended before its end. */
export class StreamBroken extends ConnectionFailed {
  static override readonly code: string = "stream_broken";
}

/** The answer is not memorybase's. */
export class UnexpectedAnswer extends MemorybaseError {
  static override readonly code: string = "unexpected_answer";
}

/** Messages were pending or jobs active when the time was over. */
export class NotSearchable extends MemorybaseError {
  static override readonly code: string = "not_searchable";
}

/** The server failed without a code that this client knows. */
export class ServerFailure extends MemorybaseError {
  static override readonly code: string = "server_failure";
}

/** A service that memorybase needs failed. */
export class EnvironmentFailure extends MemorybaseError {
  static override readonly code: string = "unavailable";
}

/** This message cannot be embedded. */
export class MessageFailure extends MemorybaseError {
  static override readonly code: string = "message_failed";
}

/** The request is wrong and changed nothing. */
export class CallerError extends MemorybaseError {
  static override readonly code: string = "bad_request";
}

/** The request conflicts with the stored state. */
export class Conflict extends CallerError {
  static override readonly code: string = "conflict";
}

/** The database is unavailable. */
export class DatabaseUnavailable extends EnvironmentFailure {
  static override readonly code: string = "database_unavailable";
}

/** The vector store is unavailable. */
export class VectorStoreUnavailable extends EnvironmentFailure {
  static override readonly code: string = "vector_store_unavailable";
}

/** The collection is missing from the vector store. Regenerate the memory base to restore it. */
export class CollectionMissing extends EnvironmentFailure {
  static override readonly code: string = "collection_missing";
}

/** The embedding model's dimension differs from the collection's. */
export class DimensionMismatch extends EnvironmentFailure {
  static override readonly code: string = "dimension_mismatch";
}

/** The embedding model cannot be loaded. */
export class ModelUnavailable extends EnvironmentFailure {
  static override readonly code: string = "model_unavailable";
}

/** The embedding model is being prepared. Retry after the time in Retry-After. */
export class ModelPreparing extends ModelUnavailable {
  static override readonly code: string = "model_preparing";
}

/** The embedding model fails on every text. */
export class EmbeddingFailed extends EnvironmentFailure {
  static override readonly code: string = "embedding_failed";
}

/** Redis is unavailable for locks. */
export class LockUnavailable extends EnvironmentFailure {
  static override readonly code: string = "lock_unavailable";
}

/** The task queue is unavailable. */
export class QueueUnavailable extends EnvironmentFailure {
  static override readonly code: string = "queue_unavailable";
}

/** The summarizer is unavailable. */
export class SummarizerUnavailable extends EnvironmentFailure {
  static override readonly code: string = "summarizer_unavailable";
}

/** The authorization server does not answer, so access tokens cannot be checked. API keys work. */
export class IssuerUnavailable extends EnvironmentFailure {
  static override readonly code: string = "issuer_unavailable";
}

/** Concurrent writers won every attempt to write this document. */
export class DocumentBusy extends EnvironmentFailure {
  static override readonly code: string = "document_busy";
}

/** A stored document is of a later version than this code reads. */
export class DocumentUnsupported extends EnvironmentFailure {
  static override readonly code: string = "document_unsupported";
}

/** A part of the stack is not ready. */
export class NotReady extends EnvironmentFailure {
  static override readonly code: string = "not_ready";
}

/** The embedding model cannot encode this text. */
export class TextRejected extends MessageFailure {
  static override readonly code: string = "text_rejected";
}

/** The vector store rejected this record. */
export class VectorRejected extends MessageFailure {
  static override readonly code: string = "vector_rejected";
}

/** The summarizer returned no summary of these messages. */
export class SummaryRejected extends MessageFailure {
  static override readonly code: string = "summary_rejected";
}

/** The database refused a statement. */
export class StatementRefused extends MemorybaseError {
  static override readonly code: string = "statement_refused";
}

/** Another worker, a cancel or a delete took this job. */
export class ClaimLost extends MemorybaseError {
  static override readonly code: string = "claim_lost";
}

/** A field of the request is invalid. */
export class InvalidRequest extends CallerError {
  static override readonly code: string = "invalid_request";
}

/** The request has a secret, and the flow refuses secrets; nothing was stored. See details.kind and details.at. */
export class SecretRefused extends InvalidRequest {
  static override readonly code: string = "secret_refused";
}

/** This Idempotency-Key was sent with another request. Use a new key for each request. */
export class IdempotencyKeyReused extends InvalidRequest {
  static override readonly code: string = "idempotency_key_reused";
}

/** This URL leads to an address that may not be called. */
export class AddressRefused extends InvalidRequest {
  static override readonly code: string = "address_refused";
}

/** A valid API key is required. Send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'. */
export class Unauthorized extends CallerError {
  static override readonly code: string = "unauthorized";
}

/** This API key lacks the required scope. */
export class Forbidden extends CallerError {
  static override readonly code: string = "forbidden";
}

/** A key that is limited to flows or to an end user may not make this call. */
export class OutsideKeyLimits extends Forbidden {
  static override readonly code: string = "outside_key_limits";
}

/** Not found. */
export class NotFound extends CallerError {
  static override readonly code: string = "not_found";
}

/** The request body is too large. */
export class TooLarge extends CallerError {
  static override readonly code: string = "too_large";
}

/** Too many requests. Retry after the time in Retry-After. */
export class RateLimited extends CallerError {
  static override readonly code: string = "rate_limited";
}

/** A quota is used up. Retry after details.resets_at. */
export class QuotaExceeded extends RateLimited {
  static override readonly code: string = "quota_exceeded";
}

/** A quota of what is stored is used up. See details.freed_by. */
export class QuotaFull extends QuotaExceeded {
  static override readonly code: string = "quota_full";
}

/** Another request stored the same at the same time; this one stored nothing. Send it again. */
export class ConstraintViolated extends Conflict {
  static override readonly code: string = "constraint_violated";
}

/** This name is already in use. Choose another. */
export class NameTaken extends Conflict {
  static override readonly code: string = "name_taken";
}

/** This message id is already stored with other content; nothing in this request was stored. */
export class MessageConflict extends Conflict {
  static override readonly code: string = "message_conflict";
}

/** This run id is already stored with other messages; nothing in this request was stored. */
export class RunConflict extends Conflict {
  static override readonly code: string = "run_conflict";
}

/** Several flows have this id. Send flow_id. */
export class AmbiguousId extends Conflict {
  static override readonly code: string = "ambiguous_id";
}

/** The session belongs to another end user. */
export class SessionConflict extends Conflict {
  static override readonly code: string = "session_conflict";
}

/** Every session with pending messages already has an active job. Wait for the jobs in details.conflicts. */
export class IngestionActive extends Conflict {
  static override readonly code: string = "ingestion_active";
}

/** The memory base is paused. Resume it first. */
export class MemoryBasePaused extends Conflict {
  static override readonly code: string = "memory_base_paused";
}

/** A regenerate is already running for this memory base. Wait for it, or cancel one of its jobs. */
export class BuildActive extends Conflict {
  static override readonly code: string = "build_active";
}

/** The first request with this Idempotency-Key is still running. Send it again for its answer. */
export class IdempotencyInProgress extends Conflict {
  static override readonly code: string = "idempotency_in_progress";
}

/** A legal hold keeps this; nothing was deleted. Lift the holds in details.holds first. */
export class Held extends Conflict {
  static override readonly code: string = "legal_hold";
}

/** This API key was rotated: details.existing_id replaces it. Rotate or revoke that key. */
export class KeyRotated extends Conflict {
  static override readonly code: string = "key_rotated";
}

/** The webhook is disabled, so nothing is sent to it. Enable it with PATCH /webhooks/{id} and {"enabled": true}. */
export class WebhookDisabled extends Conflict {
  static override readonly code: string = "webhook_disabled";
}

/** This request has created what details.existing_id names, and its secret is not stored. Revoke or delete that. */
export class SecretNotStored extends Conflict {
  static override readonly code: string = "secret_not_stored";
}

/** This knowledge base belongs to a memory base. Use the endpoints below /memories. */
export class MemoryBaseOnly extends Conflict {
  static override readonly code: string = "memory_base_store";
}

/** This path does not allow this method. See the Allow header. */
export class NoSuchMethod extends CallerError {
  static override readonly code: string = "method_not_allowed";
}

/** The client was too slow to send its request. Send it again on a faster connection. */
export class RequestTimeout extends CallerError {
  static override readonly code: string = "request_timeout";
}

/** The request line and the headers are too large. */
export class HeadersTooLarge extends CallerError {
  static override readonly code: string = "headers_too_large";
}

/** Too many connections are open. Try again with fewer connections. */
export class TooManyConnections extends MemorybaseError {
  static override readonly code: string = "too_many_connections";
}

/** The bodies of other requests fill the memory for bodies. Try again. */
export class TooManyBodies extends MemorybaseError {
  static override readonly code: string = "too_many_bodies";
}

/** Too much other work of this kind is in progress. Retry after the time in Retry-After. */
export class Overloaded extends MemorybaseError {
  static override readonly code: string = "overloaded";
}

const KINDS = [
  MemorybaseError, ConnectionFailed, StreamBroken, UnexpectedAnswer, NotSearchable, ServerFailure, EnvironmentFailure,
  MessageFailure, CallerError, Conflict, DatabaseUnavailable, VectorStoreUnavailable, CollectionMissing,
  DimensionMismatch, ModelUnavailable, ModelPreparing, EmbeddingFailed, LockUnavailable, QueueUnavailable,
  SummarizerUnavailable, IssuerUnavailable, DocumentBusy, DocumentUnsupported, NotReady, TextRejected, VectorRejected, SummaryRejected, ConstraintViolated,
  StatementRefused, ClaimLost, InvalidRequest, Unauthorized, Forbidden, OutsideKeyLimits, NotFound, TooLarge,
  RateLimited, QuotaExceeded, QuotaFull, NameTaken, MessageConflict, RunConflict, AmbiguousId, SessionConflict,
  IngestionActive, MemoryBasePaused, BuildActive, MemoryBaseOnly, SecretRefused, IdempotencyKeyReused, AddressRefused,
  IdempotencyInProgress, Held, KeyRotated, SecretNotStored, WebhookDisabled, NoSuchMethod, RequestTimeout,
  HeadersTooLarge, TooManyConnections, TooManyBodies, Overloaded,
];

/** The class of each code. */
export const BY_CODE: ReadonlyMap<string, typeof MemorybaseError> = new Map(KINDS.map((kind) => [kind.code, kind]));

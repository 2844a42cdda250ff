/** One call as data: what is sent, which answers are errors, and what may be sent again. No I/O. */
import * as errors from "./errors.js";
import { environment, findLocalStack } from "./local-stack.js";
import type { Log, Schemas } from "./types.js";

export const DEFAULT_URL = "http://127.0.0.1:8000";
export const STREAM_SILENCE_SECONDS = 60; // the server sends something every 15 s

const FIRST_PAUSE_SECONDS = 0.1;
const LONGEST_PAUSE_SECONDS = 5;
const LONGEST_RETRY_AFTER_SECONDS = 30; // a caller waits no longer than this for one repetition
const WAIT_MARGIN_SECONDS = 10;

// Without a body of ours: a proxy's answer.
const PROXY_STATUS = new Set([502, 503, 504]);
// A state that only another job changes, which takes as long as it takes: the caller decides. The answer to the call
// itself is worth a wait.
const STATE = 409;
const OWN_CALL = "idempotency_in_progress";

/** A repetition does no harm if the first was carried out and its answer was lost: by its nature, by ids of the client,
 * or by the idempotency key. */
export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** As in the OpenAPI document: `/v1/flows/{flow_id}`. */
  path: string;
  ids?: Record<string, string>;
  query?: object;
  /** Sent as JSON; undefined: no body. */
  body?: unknown;
  /** Sent as lines of JSON, instead of `body`. */
  lines?: string;
  idempotencyKey?: string | undefined;
  /** Further ones. */
  headers?: Record<string, string>;
  /** How long the server may wait before it answers. */
  waitSeconds?: number | undefined;
}

/** Address and API key: those given, else MEMORYBASE_URL and MEMORYBASE_API_KEY, else those of the stack that runs on
 * this machine; its key is never sent to another address. Throws TypeError if there is no key. */
export function connectionOf(givenUrl: string | undefined, givenKey: string | undefined): { url: string; key: string } {
  let url = (givenUrl || environment("MEMORYBASE_URL") || "").replace(/\/+$/, "");
  let key = givenKey || environment("MEMORYBASE_API_KEY");
  if (!url || !key) {
    const running = findLocalStack();
    if (running !== undefined && (!url || url === running.url)) {
      url = running.url;
      key ||= running.key;
    }
  }
  url ||= DEFAULT_URL;
  if (!URL.canParse(url)) {
    throw new TypeError(`The URL of memorybase must be complete, such as ${DEFAULT_URL} (got '${url}')`);
  }
  if (!key) {
    throw new TypeError(
      "An API key is required: pass key, set MEMORYBASE_API_KEY, or start memorybase on this machine " +
        "(`memorybase up`), whose key is found by its user's programs",
    );
  }
  return { url, key };
}

/** Headers take bytes as characters, and a key may contain others than those of Latin-1: UTF-8, as the server reads. */
export function bearer(key: string): string {
  return `Bearer ${String.fromCharCode(...new TextEncoder().encode(key))}`;
}

/** Throws TypeError for an id that a path cannot have, because the path would be another call's. */
export function checkIds(ids: Record<string, string>): void {
  for (const [name, id] of Object.entries(ids)) {
    if (typeof id !== "string" || id === "") {
      throw new TypeError(`${name} must be a string that is not empty`);
    }
    if (id === "." || id === "..") {
      throw new TypeError(`${name} must not be '${id}', which is no id in a URL`);
    }
  }
}

/** A body of the fields; no body if there are none. */
export function optionalBody(fields: object): object | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
}

/** Seconds that one try may take. */
export function limitSeconds(call: Call, timeoutSeconds: number): number {
  return Math.max(timeoutSeconds, call.waitSeconds ? call.waitSeconds + WAIT_MARGIN_SECONDS : 0);
}

/** The error that an answer says; `said` is its body, parsed if it is JSON. */
export function errorOf(answer: { status: number; headers: Headers }, said: unknown): errors.MemorybaseError {
  const { status } = answer;
  const retryAfter = retryAfterOf(answer.headers);
  const body = (said as { error?: Partial<Schemas["ErrorBody"]> } | undefined)?.error;
  if (typeof body?.code !== "string" || typeof body.message !== "string") {
    const text = `The server answered ${status}, which is not an answer of memorybase. Is the URL right?`;
    return new errors.UnexpectedAnswer(text, { status, retryable: PROXY_STATUS.has(status), retryAfter });
  }
  const Kind = errors.BY_CODE.get(body.code) ?? (status >= 500 ? errors.ServerFailure : errors.CallerError);
  return new Kind(body.message, {
    code: body.code,
    status,
    field: body.field ?? undefined,
    value: body.value,
    limit: body.limit,
    retryable: body.retryable === true,
    retryAfter,
    requestId: body.request_id,
    details: body.details,
  });
}

function retryAfterOf(headers: Headers): number | undefined {
  const seconds = Number(headers.get("Retry-After") || Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

/** An error without an answer. What fetch says of it names no header and no body. */
export function connectionFailed(cause: unknown, url: string): errors.ConnectionFailed {
  let inner = cause;
  for (let depth = 0; inner instanceof Error && inner.cause !== undefined && depth < 5; depth += 1) {
    inner = inner.cause;
  }
  const reason = codeOf(inner) ?? (inner instanceof Error && inner.message ? inner.message : String(inner));
  return new errors.ConnectionFailed(`No answer from ${url}: ${reason}`, { retryable: true, cause });
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && code ? code : undefined;
}

/** Seconds to wait before the call is sent again; undefined if it is not. */
export function pauseBeforeRetry(
  error: errors.MemorybaseError,
  { attempt, tries }: { attempt: number; tries: number },
): number | undefined {
  const needsAnotherCall = error instanceof errors.QuotaFull || (error.status === STATE && error.code !== OWN_CALL);
  if (attempt >= tries || !error.retryable || needsAnotherCall) {
    return undefined;
  }
  if (error.retryAfter !== undefined) {
    return error.retryAfter <= LONGEST_RETRY_AFTER_SECONDS ? error.retryAfter : undefined;
  }
  return backOff(attempt - 1);
}

/** Seconds to pause after so many failures before this one. */
export function backOff(failures: number): number {
  return jittered(Math.min(FIRST_PAUSE_SECONDS * 2 ** failures, LONGEST_PAUSE_SECONDS));
}

/** Between half of it and all of it: clients that failed together must not come back together. */
export function jittered(seconds: number): number {
  return seconds * (0.5 + Math.random() / 2);
}

export const logToConsole: Log = (level, message) => {
  (level === "error" ? console.error : console.warn)(`memorybase: ${message}`);
};

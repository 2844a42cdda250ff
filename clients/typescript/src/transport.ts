/** Sends calls: retries, errors, streams. */
import createClient from "openapi-fetch";

import {
  STREAM_SILENCE_SECONDS, backOff, bearer, checkIds, connectionFailed, connectionOf, errorOf, limitSeconds, logToConsole,
  pauseBeforeRetry, type Call,
} from "./calls.js";
import * as errors from "./errors.js";
import { TimeLimit, sleep } from "./limits.js";
import { Events, Lines, partsOf, plus, type ServerEvent } from "./lines.js";
import { Listing } from "./listing.js";
import type { paths } from "./schema.js";
import { inSpan } from "./spans.js";
import type { CallOptions, Line, Log, Schemas } from "./types.js";

export const TRIES = 5;
export const TIMEOUT_SECONDS = 60;

export interface TransportOptions {
  /** The server's address; by default MEMORYBASE_URL, else the stack that runs on this machine. */
  url?: string | undefined;
  /** The API key; by default MEMORYBASE_API_KEY, else that of the stack on this machine. */
  key?: string | undefined;
  /** How long one try may take. */
  timeoutSeconds?: number | undefined;
  /** How often a call is sent that fails for the moment. */
  tries?: number | undefined;
  /** Sends the requests; by default the runtime's fetch. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** By default the console. */
  log?: Log | undefined;
}

// Public methods have types of their own; here a call is data.
type Send = (
  method: string,
  path: string,
  options: object,
) => Promise<{ response: Response; error?: unknown }>;

/** One key's connection to one server. */
export class Transport {
  readonly url: string;
  /** @internal */
  readonly log: Log;
  readonly #key: string;
  readonly #timeoutSeconds: number;
  readonly #tries: number;
  readonly #send: Send;

  constructor(options: TransportOptions = {}) {
    const { url, key } = connectionOf(options.url, options.key);
    this.url = url;
    this.#key = key;
    this.log = safely(options.log ?? logToConsole);
    this.#timeoutSeconds = options.timeoutSeconds ?? TIMEOUT_SECONDS;
    this.#tries = Math.max(options.tries ?? TRIES, 1);
    const http = createClient<paths>({
      baseUrl: this.url,
      headers: { Authorization: bearer(this.#key) },
      bodySerializer: (body: unknown) => body as string, // a call's body is text already
      redirect: "manual", // the API does not redirect, and a key must not follow
      ...(options.fetch ? { fetch: options.fetch } : {}),
    });
    this.#send = http.request as unknown as Send;
  }

  /** @internal */
  get key(): string {
    return this.#key;
  }

  /** The answer, parsed. */
  protected async json<T>(call: Call, options?: CallOptions): Promise<T> {
    return parsed(await this.#text(call, options));
  }

  /** The answer, parsed; undefined if it is 204. */
  protected async jsonOrNothing<T>(call: Call, options?: CallOptions): Promise<T | undefined> {
    const text = await this.#text(call, options);
    return text === "" ? undefined : parsed(text);
  }

  protected async nothing(call: Call, options?: CallOptions): Promise<void> {
    await this.#text(call, options);
  }

  protected text(call: Call, options?: CallOptions): Promise<string> {
    return this.#text(call, options);
  }

  protected listing<Item, Page extends { items: Item[]; total: number }>(
    call: Call,
    options: CallOptions | undefined,
    sizeName: "size" | "limit" = "size",
  ): Listing<Item, Page> {
    return new Listing((query) => this.json<Page>({ ...call, query }, options), call.query ?? {}, sizeName);
  }

  /** The lines of an export, up to and including its last, of type `end`. Throws StreamBroken if it is missing. */
  protected async *exported(call: Call, options?: CallOptions): AsyncGenerator<Schemas["ExportLine"], void, undefined> {
    const lines = new Lines();
    let last: Schemas["ExportLine"] | undefined;
    for await (const part of this.#parts(call, options)) {
      for (const line of lines.feed(part)) {
        last = parsed<Schemas["ExportLine"]>(line);
        yield last;
      }
    }
    if (lines.rest !== "" || last?.type !== "end") {
      throw new errors.StreamBroken("The export is incomplete: its last line is missing", { retryable: true });
    }
  }

  /** The job now and after each change, until it ends. Connects again if the connection breaks. */
  protected async *jobEvents(call: Call, options?: CallOptions): AsyncGenerator<Schemas["JobView"], void, undefined> {
    let shown: string | undefined;
    for (let failures = 0; ; ) {
      let broken = new errors.StreamBroken("The stream ended before the job", { retryable: true });
      try {
        for await (const { name, data } of this.#events(call, options)) {
          refuseEarlyEnd(name);
          if (data !== shown) {
            shown = data;
            failures = 0;
            yield parsed<Schemas["JobView"]>(data);
          }
          if (name === "end") {
            return;
          }
        }
      } catch (error) {
        if (!(error instanceof errors.StreamBroken)) {
          throw error;
        }
        broken = error;
      }
      failures += 1;
      if (failures >= this.#tries) {
        throw broken;
      }
      await sleep(backOff(failures), options?.signal);
    }
  }

  /** The counts of all parts, added. An error's `details.line` counts from the first line of all. */
  protected async imported(
    call: Call,
    lines: Iterable<Line> | AsyncIterable<Line>,
    options?: CallOptions,
  ): Promise<Schemas["ImportAnswer"]> {
    let total = {};
    for await (const { before, text } of partsOf(lines)) {
      try {
        total = plus(total, await this.json({ ...call, lines: text }, options));
      } catch (error) {
        if (error instanceof errors.MemorybaseError && typeof error.details.line === "number") {
          error.details.line += before;
        }
        throw error;
      }
    }
    return total as Schemas["ImportAnswer"];
  }

  async #text(call: Call, options: CallOptions = {}): Promise<string> {
    return inSpan(call, this.url, async ({ headers, answered }) => {
      const text = await this.#retried({ ...call, headers }, options, async (send) => {
        const limit = new TimeLimit(limitSeconds(call, options.timeoutSeconds ?? this.#timeoutSeconds), options.signal);
        try {
          return await (await send(limit.signal)).text();
        } finally {
          limit.end();
        }
      });
      answered(text);
      return text;
    });
  }

  async *#events(call: Call, options?: CallOptions): AsyncGenerator<ServerEvent, void, undefined> {
    const lines = new Lines();
    const events = new Events();
    for await (const part of this.#parts(call, options)) {
      for (const line of lines.feed(part)) {
        const event = events.feed(line);
        if (event) {
          yield event;
        }
      }
    }
  }

  /** An answer whose body is read in parts; retries until it begins. Throws StreamBroken if the body breaks off. */
  async *#parts(call: Call, options: CallOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const silence = Math.max(options.timeoutSeconds ?? this.#timeoutSeconds, STREAM_SILENCE_SECONDS);
    const { answer, limit } = await this.#retried(call, options, async (send) => {
      const begun = new TimeLimit(silence, options.signal);
      try {
        return { answer: await send(begun.signal), limit: begun };
      } catch (error) {
        begun.end();
        throw error;
      }
    });
    const reader = answer.body?.getReader();
    try {
      for (;;) {
        const part = await reader?.read();
        if (!part || part.done) {
          return;
        }
        limit.restart();
        yield part.value;
      }
    } catch (cause) {
      options.signal?.throwIfAborted();
      throw new errors.StreamBroken(`The connection to ${this.url} broke`, { retryable: true, cause });
    } finally {
      limit.end();
      // The connection is closed if the caller left early, and may be broken already.
      reader?.cancel().catch(() => undefined);
    }
  }

  async #retried<T>(
    call: Call,
    { signal }: CallOptions,
    work: (send: (signal: AbortSignal) => Promise<Response>) => Promise<T>,
  ): Promise<T> {
    checkIds(call.ids ?? {});
    const request = requestOf(call);
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      try {
        return await work((limit) => this.#answer(call, { ...request, signal: limit }));
      } catch (cause) {
        signal?.throwIfAborted();
        const error = cause instanceof errors.MemorybaseError ? cause : connectionFailed(cause, this.url);
        const pause = pauseBeforeRetry(error, { attempt, tries: this.#tries });
        if (pause === undefined) {
          throw error;
        }
        this.log("warning", `${call.method} failed with ${error.code} (attempt ${attempt} of ${this.#tries})`);
        await sleep(pause, signal);
      }
    }
  }

  /** The answer, of which nothing is read yet. Throws the error that it says. */
  async #answer(call: Call, request: object): Promise<Response> {
    const { response, error } = await this.#send(call.method, call.path, request);
    if (response.ok) {
      return response;
    }
    throw errorOf(response, error);
  }
}

/** A log that fails makes no call fail. */
function safely(log: Log): Log {
  return (level, message) => {
    try {
      log(level, message);
    } catch {
      return;
    }
  };
}

/** What openapi-fetch takes beside method and path. Throws what JSON.stringify throws. */
function requestOf(call: Call): object {
  return {
    params: { path: call.ids, query: call.query },
    body: call.lines ?? (call.body === undefined ? undefined : JSON.stringify(call.body)),
    headers: {
      ...call.headers,
      ...(call.lines === undefined ? {} : { "Content-Type": "application/x-ndjson" }),
      ...(call.idempotencyKey === undefined ? {} : { "Idempotency-Key": call.idempotencyKey }),
    },
    parseAs: "stream",
  };
}

function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    // The parser's error quotes the answer.
    throw new errors.UnexpectedAnswer("The server's answer is not JSON. Is the URL right?");
  }
}

function refuseEarlyEnd(event: string): void {
  if (event === "unauthorized") {
    throw new errors.Unauthorized("The API key was revoked", { status: 401 });
  }
  if (event === "gone") {
    throw new errors.NotFound("The job was deleted", { status: 404 });
  }
}

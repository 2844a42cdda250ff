/**
 * Memory for the Vercel AI SDK.
 *
 *     const model = wrapLanguageModel({
 *       model: openai("gpt-5"),
 *       middleware: memoryMiddleware({ client, flowId: "support", sessionId: chat.id, endUserId: user.id }),
 *     });
 *
 * Each call gets memories of earlier conversations as a system message; what the user and the model said is captured
 * after it, and the memories are recorded with the run. A call never fails because of memorybase, and waits for it no longer than the deadline.
 */
import type { LanguageModelMiddleware } from "ai";

import type { Client, Run } from "../client.js";
import { deliver } from "../delivery.js";
import { MemorybaseError, NotFound } from "../errors.js";
import { TimeLimit } from "../limits.js";
import { turnOf, questionOf, type Message, type Params, type Prompt, type Turn } from "./messages.js";
import { givenOf, memoriesOf, withMemories, type Memories } from "./recall.js";
import { watched } from "./stream.js";

export const TOKEN_BUDGET = 1_000;
/** Below it hits seldom answer: the server's default for contexts. */
export const MIN_SCORE = 0.05;
export const DEADLINE_SECONDS = 2;
export const BACK_OFF_SECONDS = 10;

const NODE_ID = "agent";
const TOP_K = 30;
const DELIVERY_SECONDS = 30;
const MAX_WAITING = 1_000; // captures in memory, without an outbox
const MAX_REMEMBERED = 200; // turns whose memories the next step of a loop with tools uses again
const REMEMBERED_SECONDS = 60;

export interface MemoryOptions {
  /** With an outbox, captures survive the process and an outage of memorybase. */
  client: Client;
  flowId: string;
  /** By default from `providerOptions.memorybase` of each call; without a session nothing is recalled or captured. */
  sessionId?: string | undefined;
  /** Memories come from all sessions of this end user; without one from the session alone. */
  endUserId?: string | undefined;
  /** `flow`: without an end user, memories come from every session of the flow. */
  scope?: "session" | "flow" | undefined;
  /** Maximum tokens of the memories, estimated; 0 recalls nothing. */
  tokenBudget?: number | undefined;
  /** Minimum score of a memory, from 0 to 1; by default MIN_SCORE, and 0 leaves none out. */
  minScore?: number | undefined;
  /** Whether to capture what is said; by default true. */
  capture?: boolean | undefined;
  /** How long a call may wait for memories. */
  deadlineSeconds?: number | undefined;
  /** How long nothing is recalled after a failure. */
  backOffSeconds?: number | undefined;
  /** Keeps an edge function alive until its captures are sent: `ctx.waitUntil`. */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/** What one call may say in `providerOptions.memorybase`. */
export interface MemoryCallOptions {
  sessionId?: string;
  endUserId?: string;
  /** Names the turn, for hosts that send no history: without it, equal prompts of a session are one turn. */
  runId?: string;
}

export interface MemoryMiddleware extends LanguageModelMiddleware {
  /** Wait until what was said is in the outbox or sent, and what was recalled is recorded. Never rejects. */
  flush(): Promise<void>;
}

/** A middleware for wrapLanguageModel that recalls before and captures after each call. */
export function memoryMiddleware(options: MemoryOptions): MemoryMiddleware {
  const memory = new Memory(options);
  return {
    specificationVersion: "v4",
    transformParams: ({ params }) => memory.transform(params),
    wrapGenerate: async ({ doGenerate, params }) => {
      const result = await doGenerate();
      memory.capture(params, result.content, result.finishReason.unified === "error" ? "failed" : "completed");
      return result;
    },
    wrapStream: async ({ doStream, params }) => {
      const { stream, ...rest } = await doStream();
      return { ...rest, stream: watched(stream, (content, status) => memory.capture(params, content, status)) };
    },
    flush: () => memory.flush(),
  };
}

/** What a turn recalls. */
interface Use {
  query: string;
  memories: Memories | undefined;
  until: number;
  isRecorded: boolean;
}

/** A call as memory sees it. */
interface Seen {
  call: MemoryCallOptions & { sessionId: string };
  prompt: Prompt;
  turn: Promise<Turn>;
}

class Memory {
  readonly #options: MemoryOptions;
  /** By the parameters that the model gets, which contain neither our options nor the prompt without memories. */
  readonly #seen = new WeakMap<Params, Seen>();
  readonly #remembered = new Map<string, Use>();
  #awayUntil = 0;
  #hasWarned = false;
  #captures: Promise<boolean> = Promise.resolve(true);
  #records: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: MemoryOptions) {
    this.#options = options;
  }

  /** The parameters without our options and with memories. Never rejects. */
  async transform(params: Params): Promise<Params> {
    const { memorybase, ...others } = params.providerOptions ?? {};
    const call = callOptions(memorybase, this.#options);
    const changed: Params = memorybase ? { ...params, providerOptions: others } : { ...params };
    if (!call) {
      this.#warnOnce("without a sessionId nothing is recalled or captured");
      return changed;
    }
    const seed = [this.#options.flowId, call.sessionId, call.runId ?? ""];
    const seen: Seen = { call, prompt: params.prompt, turn: turnOf(params.prompt, seed) };
    seen.turn.catch(() => undefined); // whoever waits for it learns why
    this.#seen.set(changed, seen);
    const text = await this.#memories(seen, params.abortSignal);
    return text === undefined ? changed : this.#with(changed, seen, text);
  }

  #with(params: Params, seen: Seen, text: string): Params {
    const changed: Params = { ...params, prompt: withMemories(params.prompt, text) };
    this.#seen.set(changed, seen);
    return changed;
  }

  async #memories(seen: Seen, signal: AbortSignal | undefined): Promise<string | undefined> {
    if (performance.now() < this.#awayUntil) {
      return undefined;
    }
    const { deadlineSeconds = DEADLINE_SECONDS, backOffSeconds = BACK_OFF_SECONDS } = this.#options;
    const limit = new TimeLimit(deadlineSeconds, signal);
    try {
      return await orAborted(this.#recalled(seen, limit.signal), limit.signal);
    } catch (error) {
      if (error instanceof NotFound) {
        // The first capture creates the flow.
        if (this.#options.capture === false) {
          this.#warnOnce(`nothing is recalled: ${error.message}`);
        }
      } else if (!signal?.aborted) {
        this.#awayUntil = performance.now() + backOffSeconds * 1000;
        this.#warn(`nothing is recalled for ${backOffSeconds} s: ${codeOf(error)}`);
      }
      return undefined;
    } finally {
      limit.end();
    }
  }

  async #recalled({ call, prompt, turn }: Seen, signal: AbortSignal): Promise<string | undefined> {
    const { client, flowId, tokenBudget = TOKEN_BUDGET, minScore = MIN_SCORE, scope } = this.#options;
    const query = questionOf(prompt).trim();
    if (!query || tokenBudget <= 0) {
      return undefined;
    }
    const { runId } = await turn;
    const remembered = this.#remembered.get(runId);
    if (remembered && remembered.until > performance.now()) {
      return remembered.memories?.text;
    }
    const where = call.endUserId
      ? { end_user_id: call.endUserId }
      : scope === "flow"
        ? {}
        : { session_id: call.sessionId };
    const fields = { flow_id: flowId, query, top_k: TOP_K, min_score: minScore, fold_alike: true, ...where };
    const { results } = await client.searchFlow(fields, { signal });
    const memories = memoriesOf(results, prompt, tokenBudget);
    this.#remember(runId, query, memories);
    return memories?.text;
  }

  /** The steps of a loop with tools ask the same, and a model's provider may cache what stays the same. */
  #remember(runId: string, query: string, memories: Memories | undefined): void {
    this.#remembered.delete(runId);
    const until = performance.now() + REMEMBERED_SECONDS * 1000;
    this.#remembered.set(runId, { query, memories, until, isRecorded: false });
    for (const oldest of [...this.#remembered.keys()].slice(0, -MAX_REMEMBERED)) {
      this.#remembered.delete(oldest);
    }
  }

  /** Capture a turn in the background. Never throws. */
  capture(params: Params, content: Parameters<Turn["answered"]>[0], status: NonNullable<Message["status"]>): void {
    const seen = this.#seen.get(params);
    if (!seen || this.#options.capture === false) {
      return;
    }
    if (this.#waiting >= MAX_WAITING) {
      this.#warn("a turn is not captured: too many wait for memorybase; use an outbox");
      return;
    }
    this.#waiting += 1;
    // One after the other, in the order in which things were said.
    const work = this.#captures.then(() => this.#captured(seen, content, status));
    this.#captures = work;
    // No capture waits for a record.
    this.#records = this.#records.then(async () => {
      if (await work) {
        await this.#record(seen);
      }
    });
    try {
      this.#options.waitUntil?.(this.#records);
    } catch (error) {
      this.#warn(`waitUntil failed: ${codeOf(error)}`);
    }
  }

  async #captured(
    { call, turn }: Seen,
    content: Parameters<Turn["answered"]>[0],
    status: NonNullable<Message["status"]>,
  ): Promise<boolean> {
    try {
      const { runId, messages, answered } = await turn;
      const answer = await answered(content);
      const last = answer.at(-1);
      if (!last) {
        return false;
      }
      if (status !== "completed") {
        last.status = status;
      }
      const run = {
        session_id: call.sessionId,
        run_id: runId,
        end_user_id: call.endUserId,
        messages: [...messages, ...answer],
      };
      await this.#send(run);
      return true;
    } catch (error) {
      this.#warn(`a turn is not captured: ${codeOf(error)}`);
      return false;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Record what the turn recalled, once. Never rejects. */
  async #record({ call, turn }: Seen): Promise<void> {
    const { client, flowId, deadlineSeconds = DEADLINE_SECONDS } = this.#options;
    const { runId } = await turn;
    const use = this.#remembered.get(runId);
    if (!use || use.isRecorded) {
      return;
    }
    use.isRecorded = true;
    const { query, memories } = use;
    const body = { session_id: call.sessionId, end_user_id: call.endUserId, query, ...givenOf(memories) };
    const limit = new TimeLimit(deadlineSeconds);
    try {
      await client.putRunMemory(flowId, runId, NODE_ID, body, { signal: limit.signal });
    } catch (error) {
      // A flow that the outbox creates later had no memories.
      if (!(error instanceof NotFound)) {
        this.#warn(`what a turn recalled is not recorded: ${codeOf(error)}`);
      }
    } finally {
      limit.end();
    }
  }

  async #send(run: Run): Promise<void> {
    const { client, flowId } = this.#options;
    if (client.outbox) {
      await client.capture(flowId, run);
      return;
    }
    const limit = new TimeLimit(DELIVERY_SECONDS);
    try {
      await deliver(client, flowId, run, { signal: limit.signal });
    } finally {
      limit.end();
    }
  }

  async flush(): Promise<void> {
    await this.#records; // each after its capture
  }

  #warnOnce(message: string): void {
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      this.#warn(message);
    }
  }

  #warn(message: string): void {
    this.#options.client.log("warning", message);
  }
}

function callOptions(given: unknown, options: MemoryOptions): Seen["call"] | undefined {
  const { sessionId, endUserId, runId } = (given ?? {}) as MemoryCallOptions;
  const session = sessionId ?? options.sessionId;
  const found = { endUserId: endUserId ?? options.endUserId, runId };
  return session ? ({ ...found, sessionId: session } as Seen["call"]) : undefined;
}

/** The result, or the signal's reason as soon as it aborts. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) {
      stop();
    }
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** What an error is, without its text. */
function codeOf(error: unknown): string {
  return error instanceof MemorybaseError ? error.code : error instanceof Error ? error.name : "error";
}


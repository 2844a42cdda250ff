/**
 * Captures that wait on disk while memorybase is away. Node only.
 *
 *     const outbox = new Outbox("/var/lib/app/outbox");
 *     const client = new Client({ outbox });
 *     await client.capture("support", { session_id: "anna", messages });
 *
 * A run has an id before it is stored, so one whose answer was lost is sent again and stored once. Several processes
 * may share a directory: one of them sends at a time. Nothing here keeps a process alive except a capture that is being
 * written, `flush` and `close`.
 */
import { createHash } from "node:crypto";
import { resolve } from "node:path";

import { jittered, logToConsole } from "../calls.js";
import type { CaptureOutbox, Run, SendRun } from "../client.js";
import * as errors from "../errors.js";
import { sleep, unref } from "../limits.js";
import type { Log } from "../types.js";
import { backgroundFetch } from "./background-fetch.js";
import { SenderLock } from "./sender-lock.js";
import { Store, type Waiting } from "./store.js";

export const MAX_CAPTURES = 10_000;
export const MAX_BYTES = 64_000_000;

const FIRST_PAUSE_SECONDS = 0.5;
const LONGEST_PAUSE_SECONDS = 30;
const OTHER_SENDER_SECONDS = 1; // how soon after another process died this one sends
const LOOK_SECONDS = 60; // for what a process that died has left
const FLUSH_PAUSE_SECONDS = 0.25;
const CLOSE_SECONDS = 2;
const INTERNAL_ERROR = 500;
const MAX_ATTEMPTS = 5; // of a run at which the server fails inside

// The key is wrong, revoked or lacks a scope: people change that, and nothing is wrong with the run.
const OF_THE_KEY = new Set<number | undefined>([401, 403]);

export interface OutboxOptions {
  /** Beyond these bounds the oldest captures are deleted and counted in `lost`. */
  maxCaptures?: number;
  maxBytes?: number;
}

/** A run that the server will never store, and why. */
export interface Refused {
  flowId: string;
  code: string;
  message: string;
  at: string;
  run: Run;
}

type Outcome = "nothing waits" | "another process sends" | "memorybase is away";

/** A bounded queue of captures in a directory of its own. Throws if the directory cannot be used. */
export class Outbox implements CaptureOutbox {
  readonly directory: string;
  /** @internal */
  readonly fetch = backgroundFetch;
  readonly #store: Store;
  readonly #lock: SenderLock;
  #target = "";
  #send: SendRun | undefined;
  #log: Log = logToConsole;
  #lostHere = 0;
  #writes: Promise<void> = Promise.resolve();
  #attempt: Promise<void> | undefined;
  #isWanted = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #failedInARow = 0;
  #isClosed = false;

  constructor(directory: string, { maxCaptures = MAX_CAPTURES, maxBytes = MAX_BYTES }: OutboxOptions = {}) {
    this.directory = resolve(directory);
    this.#store = new Store(this.directory, { maxCaptures, maxBytes });
    this.#lock = new SenderLock(this.directory);
  }

  /** Send with this client from now on. Captures of another address or key are left alone: they may be another
   * user's. */
  bind({ url, key, send, log }: { url: string; key: string; send: SendRun; log: Log }): void {
    if (this.#send) {
      throw new TypeError("An outbox belongs to one client; make another one of the same directory");
    }
    this.#target = createHash("sha256").update(`${url}\n${key}`).digest("hex").slice(0, 16);
    this.#send = send;
    this.#log = log;
    const { ours, others } = this.#store.count(this.#target);
    if (others > 0) {
      log("warning", `${others} captures of another address or key wait in the outbox; see Outbox.adopt`);
    }
    if (ours > 0) {
      this.#start();
    }
  }

  // What callers ask

  /** Captures that the server does not have yet. */
  get waiting(): number {
    return this.#store.count(this.#target).ours;
  }

  /** Captures that will never be sent: deleted at a bound, or not storable on this disk. */
  get lost(): number {
    return this.#store.lost() + this.#lostHere;
  }

  /** The latest captures that the server refused for good, oldest first. */
  async refused(): Promise<Refused[]> {
    const found = await this.#store.refused(this.#target);
    return found.map(({ flow_id, code, message, at, run }) => ({ flowId: flow_id, code, message, at, run }));
  }

  /** Send what was refused again, after what waits; returns how many. */
  async retryRefused(): Promise<number> {
    const count = await this.#store.retryRefused(this.#target);
    this.#start();
    return count;
  }

  /** Send also what other addresses or keys have left, with this client: after a change of the key. */
  async adopt(): Promise<void> {
    await this.#store.adopt(this.#target);
    this.#start();
  }

  /** Store a run. Never rejects: what cannot be stored is logged and counted in `lost`. */
  put(flowId: string, run: Run): Promise<void> {
    const order = this.#store.nextOrder();
    // One after the other: a capture that is sent before an earlier one would change the session's order.
    this.#writes = this.#writes.then(() => this.#write(order, flowId, run));
    return this.#writes;
  }

  async #write(order: string, flowId: string, run: Run): Promise<void> {
    try {
      if (!flowId) {
        throw new TypeError("the flow's id must not be empty");
      }
      const lost = await this.#store.put(order, this.#target, { flow_id: flowId, run });
      if (lost > 0) {
        this.#log("error", `${lost} captures are lost: the outbox ${this.directory} has no room for them`);
      }
    } catch (error) {
      this.#lostHere += 1;
      this.#logDisk("error", "a capture is lost, because it cannot be stored", error);
      return;
    }
    this.#start();
  }

  /** Send what waits, until nothing does or the time is over; returns how many still wait. Throws nothing of the
   * server's. */
  async flush(timeoutSeconds = 10): Promise<number> {
    return this.#flush(timeoutSeconds, true);
  }

  /** Send what waits unless memorybase is away, and stop. What remains is sent by the next client with this
   * directory. */
  async close(flushSeconds = CLOSE_SECONDS): Promise<void> {
    if (this.#isClosed) {
      return;
    }
    await this.#flush(flushSeconds, false);
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  // Sending

  /** Send now, unless memorybase is away: then the timer tries again. */
  #start({ isUrgent = false } = {}): void {
    if (this.#isClosed || !this.#send) {
      return;
    }
    if (this.#attempt) {
      this.#isWanted = true;
    } else if (isUrgent || this.#failedInARow === 0) {
      clearTimeout(this.#timer);
      this.#attempt = this.#run(this.#send);
    }
  }

  async #run(send: SendRun): Promise<void> {
    let outcome: Outcome;
    do {
      this.#isWanted = false;
      outcome = await this.#deliver(send);
    } while (outcome === "nothing waits" && this.#isWanted && !this.#isClosed);
    if (outcome === "memorybase is away") {
      this.#failures += 1;
      this.#failedInARow += 1;
    } else {
      this.#failedInARow = 0;
    }
    // In the same step as the check of what is wanted: a capture in between would wait for the timer.
    this.#attempt = undefined;
    if (!this.#isClosed) {
      this.#timer = setTimeout(() => this.#start({ isUrgent: true }), this.#pauseAfter(outcome) * 1000);
      unref(this.#timer);
    }
  }

  #pauseAfter(outcome: Outcome): number {
    if (outcome === "memorybase is away") {
      return jittered(Math.min(FIRST_PAUSE_SECONDS * 2 ** this.#failedInARow, LONGEST_PAUSE_SECONDS));
    }
    return outcome === "another process sends" ? OTHER_SENDER_SECONDS : LOOK_SECONDS;
  }

  /** Send in order until nothing waits. Never rejects. */
  async #deliver(send: SendRun): Promise<Outcome> {
    try {
      let captures = await this.#store.of(this.#target);
      if (captures.length === 0) {
        return "nothing waits";
      }
      if (!(await this.#lock.take())) {
        return "another process sends";
      }
      // What waited before the lock may have been sent by its last holder.
      while ((captures = await this.#store.of(this.#target)).length > 0 && !this.#isClosed) {
        for (const capture of captures) {
          if (this.#isClosed || !(await this.#lock.isHeld())) {
            return "another process sends";
          }
          if (!(await this.#sendOne(send, capture))) {
            return "memorybase is away";
          }
        }
      }
      return "nothing waits";
    } catch (error) {
      this.#logDisk("warning", "the outbox cannot be read", error);
      return "memorybase is away";
    } finally {
      await this.#lock.release();
    }
  }

  /** Whether the capture is done with: stored, or refused for good. */
  async #sendOne(send: SendRun, capture: Waiting): Promise<boolean> {
    const content = await this.#store.read(capture);
    if (!content) {
      return true;
    }
    try {
      await send(content.flow_id, content.run, this.#store.newFlows(this.#target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall) {
        throw error; // of the disk: it says nothing about the run
      }
      const { name, message, code = name, status } = error as Error & { code?: string; status?: number };
      if (!isFinal(error, capture.attempts + 1)) {
        this.#log("warning", `the outbox waits: ${code}`);
        if (status === INTERNAL_ERROR) {
          await this.#store.attempted(capture);
        }
        return false;
      }
      await this.#store.refuse(capture, { ...content, code, message, at: new Date().toISOString() });
      this.#log("error", `a capture was refused: ${code}; see Outbox.refused`);
      return true;
    }
    await this.#store.remove(capture);
    return true;
  }

  /** What waits; nothing if the directory is gone. */
  #count(): number {
    try {
      return this.waiting;
    } catch (error) {
      this.#logDisk("warning", "the outbox cannot be read", error);
      return 0;
    }
  }

  /** The message of an error may quote the run. */
  #logDisk(level: "warning" | "error", message: string, error: unknown): void {
    const { name, code = name } = error as NodeJS.ErrnoException;
    this.#log(level, `${message}: ${this.directory} (${code})`);
  }

  async #flush(timeoutSeconds: number, isPatient: boolean): Promise<number> {
    const deadline = performance.now() + timeoutSeconds * 1000;
    const failures = this.#failures;
    await this.#writes;
    for (;;) {
      const waiting = this.#count();
      const left = (deadline - performance.now()) / 1000;
      if (waiting === 0 || left <= 0 || this.#isClosed || (!isPatient && failures !== this.#failures)) {
        return waiting;
      }
      this.#start({ isUrgent: true });
      await orAfter(this.#attempt, left);
      if (this.#count() > 0) {
        await sleep(Math.min(FLUSH_PAUSE_SECONDS, left));
      }
    }
  }
}

/** Wait for the work, at most so long. Unlike the work, this keeps the process alive. */
async function orAfter(work: Promise<void> | undefined, seconds: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((end) => {
    timer = setTimeout(end, seconds * 1000);
  });
  await Promise.race([work, over]);
  clearTimeout(timer);
}

/** Whether no repetition can succeed. */
function isFinal(error: unknown, attempts: number): boolean {
  if (error instanceof errors.ConnectionFailed || error instanceof errors.UnexpectedAnswer) {
    return false;
  }
  if (!(error instanceof errors.MemorybaseError)) {
    return true; // a run that cannot be sent, such as one with a flow id that no URL can have
  }
  if (error.retryable) {
    return false;
  }
  if (error instanceof errors.CallerError || error instanceof errors.MessageFailure) {
    return !OF_THE_KEY.has(error.status);
  }
  return error.status === INTERNAL_ERROR && attempts >= MAX_ATTEMPTS;
}

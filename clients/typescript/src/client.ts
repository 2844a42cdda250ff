/** The client: the calls, and what takes several. */
import { deliver } from "./delivery.js";
import * as errors from "./errors.js";
import { withRunId } from "./ids.js";
import { Operations } from "./operations.js";
import type { TransportOptions } from "./transport.js";
import type { Fields, Log, Schemas } from "./types.js";

const LONGEST_WAIT_SECONDS = 60; // of one call
const DELIVERY_SECONDS = 30;

export type Run = Fields<"capture_run">;

/** Flows that are being created, and have no memory base yet. */
export interface NewFlows {
  has(flowId: string): boolean | Promise<boolean>;
  add(flowId: string): unknown;
  delete(flowId: string): unknown;
}

/** Sends one run, once. Throws MemorybaseError, and what `newFlows` throws. By default those are kept in memory. */
export type SendRun = (flowId: string, run: Run, newFlows?: NewFlows) => Promise<void>;

/** Keeps runs until the server has them. Of memorybase-client/outbox, which needs a disk. */
export interface CaptureOutbox {
  /** What sends its requests, if the client has no fetch of its own. */
  readonly fetch?: TransportOptions["fetch"];
  bind(target: { url: string; key: string; send: SendRun; log: Log }): void;
  /** Never rejects. */
  put(flowId: string, run: Run): Promise<void>;
  close(): Promise<void>;
}

export interface ClientOptions extends TransportOptions {
  /** For capture(): `new Outbox(directory)` of memorybase-client/outbox. */
  outbox?: CaptureOutbox | undefined;
}

export interface WaitOptions {
  timeoutSeconds?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Calls a memorybase server with one key. Safe to share, and meant to be kept. Methods throw the errors of
 * `errors`; a call that fails for the moment is sent up to `tries` times. */
export class Client extends Operations {
  readonly outbox: CaptureOutbox | undefined;

  constructor(options: ClientOptions = {}) {
    super(options);
    this.outbox = options.outbox;
    this.outbox?.bind({ url: this.url, key: this.key, send: this.#sender(options), log: this.log });
  }

  /** The outbox itself sends again. */
  #sender(options: ClientOptions): SendRun {
    const fetch = options.fetch ?? options.outbox?.fetch;
    const { url, key, log } = this;
    const client = new Client({ url, key, tries: 1, timeoutSeconds: DELIVERY_SECONDS, fetch, log });
    return (flowId, run, newFlows) => deliver(client, flowId, run, undefined, newFlows);
  }

  /** Send what waits in the outbox, for two seconds at most. */
  async close(): Promise<void> {
    await this.outbox?.close();
  }

  /** Put a run into the outbox, which sends it in the background, and return the run's id.
   *
   * Does not throw because of memorybase or the disk: the outbox counts what is `lost` and keeps what was `refused()`.
   * The flow is created if it does not exist, with a memory base of all its messages. Throws TypeError if the client
   * has no outbox. */
  async capture(flowId: string, run: Run): Promise<string> {
    if (!this.outbox) {
      throw new TypeError("capture() needs an outbox: new Client({ outbox }). captureRun() sends at once");
    }
    const complete = withRunId(run);
    await this.outbox.put(flowId, complete);
    return complete.run_id;
  }

  /** Ingest all pending messages, of one session or of all, and wait until every job has ended.
   *
   * Searches find pending messages too, unless `include_pending` is false. Throws NotSearchable when the time is over;
   * by default after 120 seconds. */
  async waitUntilSearchable(
    memoryBaseId: string,
    fields: Fields<"flush_memory_base"> = {},
    { timeoutSeconds = 120, signal }: WaitOptions = {},
  ): Promise<Schemas["MemoryBaseView"]> {
    const deadline = performance.now() + timeoutSeconds * 1000;
    for (;;) {
      const left = (deadline - performance.now()) / 1000;
      if (left <= 0) {
        throw await this.#notSearchable(memoryBaseId, timeoutSeconds, signal);
      }
      const wait = Math.min(Math.ceil(left), LONGEST_WAIT_SECONDS);
      if (await this.#flushAndWait(memoryBaseId, { ...fields, wait }, signal)) {
        return this.getMemoryBase(memoryBaseId, { signal });
      }
    }
  }

  /** Whether nothing was pending and no job active. */
  async #flushAndWait(
    memoryBaseId: string,
    fields: Fields<"flush_memory_base"> & { wait: number },
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    let active: string | undefined;
    try {
      const { jobs } = await this.flushMemoryBase(memoryBaseId, fields, { signal });
      if (jobs.length > 0) {
        return false;
      }
      // The repair of an edited message is no conflict of a flush.
      active = await this.#activeJob(memoryBaseId, fields.session_id, signal);
    } catch (error) {
      if (!(error instanceof errors.IngestionActive)) {
        throw error;
      }
      // It may not cover the latest messages. Of many jobs the last: a flush after each would slow them.
      active = error.details.conflicts?.at(-1)?.job_id;
    }
    if (active !== undefined) {
      await this.#waitForJob(active, fields.wait, signal);
    }
    return active === undefined;
  }

  async #activeJob(
    memoryBaseId: string,
    session_id: string | null | undefined,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    for (const state of ["running", "queued"] as const) {
      const page = await this.listJobs(memoryBaseId, { state, session_id, size: 1 }, { signal }).page();
      if (page.items[0]) {
        return page.items[0].id;
      }
    }
    return undefined;
  }

  async #waitForJob(jobId: string, wait: number, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.getJob(jobId, { wait }, { signal });
    } catch (error) {
      // Deleted with its memory base, which the next flush says.
      if (!(error instanceof errors.NotFound)) {
        throw error;
      }
    }
  }

  async #notSearchable(
    memoryBaseId: string,
    timeoutSeconds: number,
    signal: AbortSignal | undefined,
  ): Promise<errors.NotSearchable> {
    const { pending_messages, status } = await this.getMemoryBase(memoryBaseId, { signal });
    const text =
      `${pending_messages} messages are pending, and the jobs had not ended after ${timeoutSeconds} s ` +
      `(status ${status}). On the server, run \`memorybase doctor\` for fixes.`;
    return new errors.NotSearchable(text, { retryable: true, details: { pending_messages } });
  }
}

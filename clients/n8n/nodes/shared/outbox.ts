/** Runs on their way to memorybase. While it is away they wait in this process, and are sent in order once it answers. */
import { sleep } from 'n8n-workflow';
import type { IDataObject, Logger } from 'n8n-workflow';

import type { Api, Flow } from './api';

const MOST_RUNS = 200;
const MOST_BYTES = 16_000_000;
const LONGEST_WAIT_MS = 3_600_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const REQUEST_MS = 10_000;

export interface Session {
  flow: Flow;
  id: string;
}

export interface Run {
  session: Session;
  body: IDataObject;
  bytes: number;
  since: number;
  state: 'waiting' | 'stored' | 'dropped';
  /** Why it waits or was dropped. */
  reason: string;
  /** Resolved once it is stored or dropped, or has to wait until memorybase answers again. */
  attempted: Signal;
}

/** Something that happens once and can be waited for. */
class Signal {
  resolve!: () => void;

  readonly promise = new Promise<void>((resolve) => {
    this.resolve = resolve;
  });
}

export class Outbox {
  private runs: Run[] = [];
  private api!: Api;
  private logger!: Logger;
  private isSending = false;
  private inFlight: Promise<unknown> | null = null;
  private isAway = false;
  private pauseMs = 0; // between two tries while memorybase is away
  private pauseEnds = new Signal();

  /** Sends with the credentials of the latest execution: those of an earlier one may have been replaced. */
  use(api: Api, logger: Logger): this {
    this.api = api;
    this.logger = logger;
    return this;
  }

  /** Take a run and wait until it is stored or dropped: at most `patienceMs`, and not at all while memorybase is away. */
  async send(session: Session, body: IDataObject, patienceMs: number): Promise<Run> {
    const run: Run = {
      session,
      body,
      bytes: JSON.stringify(body).length,
      since: Date.now(),
      state: 'waiting',
      reason: 'memorybase has not answered yet',
      attempted: new Signal(),
    };
    this.runs.push(run);
    this.makeRoom();
    this.start();
    if (this.isAway) return run;
    await Promise.race([run.attempted.promise, sleep(patienceMs)]);
    if (run.state === 'waiting') this.away(run.reason);
    return run;
  }

  /** The messages of a session that are not stored yet. */
  waiting(session: Session): IDataObject[] {
    return this.runsOf(session).flatMap((run) => run.body.messages as IDataObject[]);
  }

  /** memorybase has answered another call: send now what waits. */
  wake(): void {
    this.isAway = false;
    this.pauseEnds.resolve();
  }

  /** Take the runs of a session out; none of them is on its way any more. */
  async takeOut(session: Session): Promise<Run[]> {
    const taken = this.runsOf(session);
    for (const run of taken) this.remove(run);
    await this.inFlight;
    return taken.filter((run) => run.state === 'waiting');
  }

  /** Runs that were taken out go first. */
  putBack(runs: Run[]): void {
    this.runs.unshift(...runs);
    this.start();
  }

  /** Do not send this run again. */
  remove(run: Run): void {
    this.runs = this.runs.filter((other) => other !== run);
  }

  private runsOf(session: Session): Run[] {
    return this.runs.filter((run) => run.session.flow.id === session.flow.id && run.session.id === session.id);
  }

  private start(): void {
    if (!this.isSending && this.runs.length > 0) void this.sendAll();
  }

  private async sendAll(): Promise<void> {
    this.isSending = true;
    while (this.runs.length > 0) {
      await this.sendFirst(this.runs[0]);
      if (this.pauseMs > 0 && this.runs.length > 0) {
        // All wait now; nobody needs to wait for an answer.
        for (const run of this.runs) run.attempted.resolve();
        this.pauseEnds = new Signal();
        await Promise.race([this.pauseEnds.promise, idle(this.pauseMs)]);
        this.dropOld();
      }
    }
    this.isAway = false;
    this.pauseMs = 0;
    this.isSending = false;
  }

  private away(reason: string): void {
    if (!this.isAway) this.logger.warn(`memorybase: messages wait and are sent again. ${reason}`);
    this.isAway = true;
  }

  private async sendFirst(run: Run): Promise<void> {
    const request = this.api.capture(run.session.flow, run.body, AbortSignal.timeout(REQUEST_MS));
    this.inFlight = request;
    const outcome = await request;
    this.inFlight = null;
    if (!outcome.ok && outcome.retryable) {
      for (const waiting of this.runs) waiting.reason = outcome.message;
      this.away(outcome.message);
      this.pauseMs = Math.min(Math.max(this.pauseMs * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
      return;
    }
    if (this.isAway) this.logger.info('memorybase: it answers again, and the messages that waited are sent');
    this.isAway = false;
    this.pauseMs = 0;
    this.remove(run);
    if (outcome.ok) {
      run.state = 'stored';
      run.attempted.resolve();
    } else {
      this.drop(run, outcome.message);
    }
  }

  private makeRoom(): void {
    const bytes = () => this.runs.reduce((sum, run) => sum + run.bytes, 0);
    while (this.runs.length > 1 && (this.runs.length > MOST_RUNS || bytes() > MOST_BYTES)) {
      this.dropOldest(`More than ${MOST_RUNS} runs or ${MOST_BYTES} bytes waited`);
    }
  }

  private dropOld(): void {
    const since = Date.now() - LONGEST_WAIT_MS;
    while (this.runs.length > 0 && this.runs[0].since < since) {
      this.dropOldest(`They waited for more than ${LONGEST_WAIT_MS / 60_000} minutes`);
    }
  }

  private dropOldest(reason: string): void {
    const run = this.runs[0];
    this.remove(run);
    this.drop(run, reason);
  }

  private drop(run: Run, reason: string): void {
    run.state = 'dropped';
    run.reason = reason;
    run.attempted.resolve();
    const count = (run.body.messages as IDataObject[]).length;
    this.logger.error(`memorybase: ${count} messages of a session were not stored and are lost. ${reason}`, {
      flowId: run.session.flow.id,
      sessionId: run.session.id,
    });
  }
}

/** Unlike `sleep`, this keeps no process alive that has nothing else to do, such as `n8n execute`. */
function idle(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    AbortSignal.timeout(milliseconds).addEventListener('abort', () => resolve(), { once: true });
  });
}

const outboxes = new Map<string, Outbox>();

/** The one of this process for the address and the key of `api`. */
export function outboxOf(api: Api, logger: Logger): Outbox {
  let outbox = outboxes.get(api.identity);
  if (outbox === undefined) {
    outbox = new Outbox();
    outboxes.set(api.identity, outbox);
  }
  return outbox.use(api, logger);
}

import type {
  IDataObject,
  IExecuteFunctions,
  IHttpRequestMethods,
  IN8nHttpFullResponse,
  ISupplyDataFunctions,
} from 'n8n-workflow';
import { createHash } from 'crypto';

export const CREDENTIALS = 'memorybaseApi';

export type NodeContext = IExecuteFunctions | ISupplyDataFunctions;

/** `retryable`: the same call can succeed later. `message` is for people and never has a key in it. */
export interface Failure {
  ok: false;
  retryable: boolean;
  status: number | null;
  message: string;
}

export type Outcome<T> = { ok: true; value: T } | Failure;

export interface Call {
  qs?: IDataObject;
  body?: IDataObject;
  signal: AbortSignal;
}

/** Calls memorybase with the credentials of one node. No method throws when a call fails. */
export class Api {
  private constructor(
    private readonly context: NodeContext,
    private readonly url: string,
    /** Equal for two nodes that use the same address and key. */
    readonly identity: string,
  ) {}

  static async of(context: NodeContext, itemIndex: number): Promise<Api> {
    const credentials = await context.getCredentials<{ url?: string; apiKey?: string }>(CREDENTIALS, itemIndex);
    const url = addressOf(credentials.url);
    const identity = createHash('sha256').update(`${url}\n${String(credentials.apiKey ?? '')}`).digest('hex');
    return new Api(context, url, identity);
  }

  async call(method: IHttpRequestMethods, path: string, { qs, body, signal }: Call): Promise<Outcome<IDataObject>> {
    // n8n's helper takes the signal of the execution. A write must outlive a cancelled execution, and every call has a
    // deadline, so it gets a context whose signal is ours.
    const context = Object.create(this.context, { getExecutionCancelSignal: { value: () => signal } }) as NodeContext;
    try {
      const answer = (await context.helpers.httpRequestWithAuthentication.call(context, CREDENTIALS, {
        method,
        url: `${this.url}/v1${path}`,
        qs,
        body,
        json: true,
        abortSignal: signal,
        disableFollowRedirect: true, // the key is for this address only
        ignoreHttpStatusErrors: true,
        returnFullResponse: true,
      })) as IN8nHttpFullResponse;
      return outcomeOf(answer);
    } catch (error) {
      const reason = signal.aborted ? 'no answer in time' : (error as Error).message;
      return { ok: false, retryable: true, status: null, message: `memorybase does not answer at ${this.url}: ${reason}` };
    }
  }

  /** Record with a run what its model was given. */
  async recordGiven(flow: Flow, runId: string, nodeId: string, given: IDataObject, signal: AbortSignal): Promise<Outcome<IDataObject>> {
    const path = ['flows', flow.id, 'runs', runId, 'memory', nodeId].map(encodeURIComponent).join('/');
    return await this.call('PUT', `/${path}`, { body: given, signal });
  }

  /** Store a run. The flow and a memory base of both sides of the conversation are created with their first run. */
  async capture(flow: Flow, run: IDataObject, signal: AbortSignal): Promise<Outcome<IDataObject>> {
    const path = `/flows/${encodeURIComponent(flow.id)}`;
    const stored = await this.call('POST', `${path}/runs`, { body: run, signal });
    if (stored.ok || stored.status !== 404) return stored;
    const created = await this.call('PUT', path, { body: { name: flow.name }, signal });
    if (!created.ok) return created;
    const base = { name: `n8n ${flow.id}`, flow_id: flow.id, capture: 'all' };
    const withBase = await this.call('POST', '/memories', { body: base, signal });
    if (!withBase.ok && withBase.status !== 409) return withBase; // 409: another process was faster
    return await this.call('POST', `${path}/runs`, { body: run, signal });
  }
}

export interface Flow {
  id: string;
  name: string;
}

/** Aborts after so many milliseconds, and when the execution is cancelled. */
export function deadline(context: NodeContext, milliseconds: number): AbortSignal {
  const limit = AbortSignal.timeout(milliseconds);
  const cancelled = context.getExecutionCancelSignal?.();
  return cancelled === undefined ? limit : AbortSignal.any([limit, cancelled]);
}

export function isObject(value: unknown): value is IDataObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function addressOf(url: string | undefined): string {
  return String(url ?? '')
    .trim()
    .replace(/\/+$/, '')
    .replace(/\/v1$/, '');
}

function outcomeOf(answer: IN8nHttpFullResponse): Outcome<IDataObject> {
  const { statusCode: status, body } = answer;
  if (status >= 200 && status < 300 && isObject(body)) return { ok: true, value: body };
  if (isObject(body) && isObject(body.error)) {
    const { field, message, retryable } = body.error;
    const where = typeof field === 'string' ? `${field}: ` : '';
    return { ok: false, retryable: retryable === true, status, message: `${where}${String(message)}` };
  }
  const message = `The address answers ${status}, but not as memorybase does. Check it in the credentials`;
  // A proxy without its server answers 5xx; a page of another service may answer 200.
  return { ok: false, retryable: status >= 500 || status < 300, status, message };
}

// What n8n gives to a node, as far as the nodes use it. Its request helper takes the signal of the execution, as n8n's
// does, and calls the real memorybase.
import { randomUUID } from 'node:crypto';

/** A workflow of one flow. Each `run` is one execution. */
export class Workflow {
  constructor({ url, key, id = `flow-${randomUUID()}`, name = 'Support chat', chatTrigger = null }) {
    Object.assign(this, { url, key, id, name, chatTrigger });
    this.executions = 0;
  }

  /** The context of a sub-node or node in one execution. */
  context(node, options = {}) {
    this.executions += options.execution === undefined ? 1 : 0;
    return new Context(this, node, { execution: String(this.executions), ...options });
  }
}

class Context {
  constructor(workflow, node, { parameters = {}, json = {}, execution, runIndex = 0, parent = 'AI Agent', ...options }) {
    const properties = node.description.properties;
    const defaults = Object.fromEntries(properties.map(({ name, default: value }) => [name, value]));
    Object.assign(this, { workflow, execution, runIndex, parent, json, options });
    this.parameters = { ...defaults, ...parameters };
    this.type = options.type ?? `n8n-nodes-memorybase.${node.description.name}`;
    this.logged = [];
    this.requests = [];
    const log = (level) => (text, details) => this.logged.push({ level, text, details });
    this.logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
    this.helpers = { httpRequestWithAuthentication };
  }

  getNodeParameter(name, itemIndex, fallback) {
    const found = name.split('.').reduce((value, part) => value?.[part], this.parameters);
    return found ?? fallback;
  }

  evaluateExpression(expression) {
    if (expression === '{{ $runIndex }}') return this.runIndex;
    if (expression === '{{ $json.sessionId }}') return this.json.sessionId;
    const { chatTrigger } = this.workflow;
    const ofTrigger = `{{ $(${JSON.stringify(chatTrigger?.name)}).first().json.sessionId }}`;
    if (chatTrigger && expression === ofTrigger) {
      return chatTrigger.json.sessionId;
    }
    throw new Error(`unexpected expression ${expression}`);
  }

  async getCredentials(type) {
    if (type !== 'memorybaseApi') throw new Error(`unknown credentials ${type}`);
    return { url: this.workflow.url, apiKey: this.workflow.key };
  }

  getWorkflow = () => ({ id: this.workflow.id, name: this.workflow.name, active: true });
  getNode = () => ({ id: 'memory-node', name: 'memorybase', type: this.type, typeVersion: 1, position: [0, 0], parameters: {} });
  getExecutionId = () => this.execution;
  getInstanceId = () => 'instance-1';
  getExecuteData = () => ({ node: { name: this.parent } });
  getExecutionCancelSignal = () => this.options.cancelSignal;
  getChatTrigger = () => (this.workflow.chatTrigger === null ? null : { name: this.workflow.chatTrigger.name });
  getInputData = () => this.options.items ?? [{ json: this.json }];
  continueOnFail = () => this.options.continueOnFail ?? false;
  addInputData = () => ({ index: 0 });
  addOutputData = () => undefined;
  logAiEvent = () => undefined;

  levels(level) {
    return this.logged.filter((entry) => entry.level === level).map(({ text }) => text);
  }
}

async function httpRequestWithAuthentication(type, options) {
  const { apiKey } = await this.getCredentials(type);
  this.requests.push(`${options.method} ${new URL(options.url).pathname}`);
  const url = new URL(options.url);
  for (const [name, value] of Object.entries(options.qs ?? {})) url.searchParams.set(name, value);
  const answer = await fetch(url, {
    method: options.method,
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    body: options.body === undefined ? undefined : JSON.stringify(options.body),
    signal: 'getExecutionCancelSignal' in this ? this.getExecutionCancelSignal() : options.abortSignal,
    redirect: options.disableFollowRedirect ? 'manual' : 'follow',
  });
  const text = await answer.text();
  let body = text;
  try {
    body = JSON.parse(text);
  } catch {
    // axios too returns the text of an answer that is not JSON
  }
  return { body, headers: Object.fromEntries(answer.headers), statusCode: answer.status };
}

import { BaseChatHistory } from '@n8n/ai-node-sdk';
import type { Message } from '@n8n/ai-node-sdk';
import { NodeOperationError } from 'n8n-workflow';
import type { IDataObject } from 'n8n-workflow';

import { deadline, isObject } from '../shared/api';
import type { Api, Failure, NodeContext, Outcome } from '../shared/api';
import { fromStored, toStored, withIds } from '../shared/messages';
import type { Outbox, Session } from '../shared/outbox';
import type { Turn } from '../shared/turn';

const READ_MS = 2_000;
const WRITE_MS = 2_000;
const DELETE_MS = 10_000;
const PAGE_SIZE = 200;
const MOST_PAGES = 5; // of a window

export interface Chat {
  context: NodeContext;
  api: Api;
  outbox: Outbox;
  session: Session;
  endUserId: string;
  turn: Turn;
  failOnError: boolean;
}

/** The newest turns, and the ids under which memorybase has their messages. */
export interface Window {
  messages: Message[];
  storedIds: string[];
}

interface Page {
  items: IDataObject[];
  next: string | undefined;
}

/** The messages of one session of memorybase. */
export class SessionHistory extends BaseChatHistory {
  /** False if the latest read did not get every message. */
  private isComplete: boolean | null = null;
  private justSaved: Message[] | null = null;

  constructor(private readonly chat: Chat) {
    super();
  }

  async getMessages(): Promise<Message[]> {
    const saved = this.justSaved;
    this.justSaved = null;
    if (saved !== null) return saved;
    const stored: IDataObject[] = [];
    let next: string | undefined;
    do {
      const page = await this.page({ order: 'asc', size: PAGE_SIZE }, next, deadline(this.chat.context, READ_MS));
      if (!page.ok) return this.unread(page).map(fromStored);
      stored.push(...page.value.items);
      next = page.value.next;
    } while (next !== undefined);
    this.isComplete = true;
    return this.withWaiting(stored).map(fromStored);
  }

  /** The newest `turns` user messages with all that follows each. */
  async window(turns: number, signal: AbortSignal): Promise<Window> {
    this.justSaved = null;
    const newest: IDataObject[] = [];
    const size = Math.min(PAGE_SIZE, Math.max(50, turns * 4));
    let next: string | undefined;
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const page = await this.page({ order: 'desc', size }, next, signal);
      if (!page.ok) return { messages: this.unread(page).map(fromStored), storedIds: [] };
      newest.push(...page.value.items);
      next = page.value.next;
      if (next === undefined || newest.filter(isQuestion).length >= turns) break;
    }
    const shown = lastTurns(this.withWaiting(newest.reverse()), turns, next === undefined);
    const storedIds = shown.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
    return { messages: shown.map(fromStored), storedIds };
  }

  async addMessage(message: Message): Promise<void> {
    await this.addMessages([message]);
  }

  async addMessages(messages: Message[]): Promise<void> {
    this.justSaved = null;
    if (messages.length === 0) return;
    const { context, outbox, session, failOnError } = this.chat;
    const run = await outbox.send(session, this.runOf(messages), WRITE_MS);
    if (run.state === 'stored' || !failOnError) return; // the outbox logs what it does not store
    outbox.remove(run);
    throw new NodeOperationError(context.getNode(), 'The messages were not stored in memorybase', {
      description: run.reason,
    });
  }

  /** n8n reads the whole history after a turn, only to show it in the execution. Let it show what was saved. */
  async addTurn(messages: Message[]): Promise<void> {
    await this.addMessages(messages);
    this.justSaved = messages;
  }

  /** Delete the session. Unlike a read or a write this always fails if it is not done. */
  async clear(): Promise<void> {
    const { context, api, outbox, session } = this.chat;
    const refused = (description: string) =>
      new NodeOperationError(context.getNode(), 'The session was not deleted in memorybase', { description });
    if (this.isComplete === false) {
      // Chat Memory Manager reads all, deletes all and adds again what it keeps.
      throw refused('Its messages could not be read completely, and those that should be kept would be lost');
    }
    const waiting = await outbox.takeOut(session);
    const qs = { flow_id: session.flow.id, session_id: session.id };
    const deleted = await api.call('DELETE', '/sessions', { qs, signal: deadline(context, DELETE_MS) });
    if (deleted.ok || deleted.status === 404) return;
    outbox.putBack(waiting);
    throw refused(deleted.message);
  }

  private runOf(messages: Message[]): IDataObject {
    const { turn, session, endUserId } = this.chat;
    const timestamp = new Date().toISOString();
    const stored = messages.map((message) => {
      const body = toStored(message);
      return { ...withIds(body, turn.idOf(message, body), message.id), timestamp };
    });
    const run: IDataObject = { session_id: session.id, run_id: turn.runId, on_conflict: 'keep', messages: stored };
    return endUserId === '' ? run : { ...run, end_user_id: endUserId };
  }

  private async page(qs: IDataObject, cursor: string | undefined, signal: AbortSignal): Promise<Outcome<Page>> {
    const { api, outbox, session } = this.chat;
    const all = { flow_id: session.flow.id, session_id: session.id, ...qs, ...(cursor === undefined ? {} : { cursor }) };
    const answer = await api.call('GET', '/messages', { qs: all, signal });
    if (!answer.ok && answer.status !== 404) return answer; // 404: nothing of this flow was stored yet
    outbox.wake();
    const { items, next_cursor: next } = answer.ok ? answer.value : {};
    return {
      ok: true,
      value: { items: Array.isArray(items) ? items.filter(isObject) : [], next: typeof next === 'string' ? next : undefined },
    };
  }

  private unread(failure: Failure): IDataObject[] {
    const { context, session, failOnError } = this.chat;
    this.isComplete = false;
    if (failOnError) {
      throw new NodeOperationError(context.getNode(), 'The history could not be read from memorybase', {
        description: failure.message,
      });
    }
    const text = 'memorybase: the history could not be read, and the model answers without it.';
    const details = { flowId: session.flow.id, sessionId: session.id };
    if (failure.retryable) context.logger.warn(`${text} ${failure.message}`, details);
    else context.logger.error(`${text} ${failure.message}`, details);
    return this.withWaiting([]);
  }

  /** The stored messages, and after them those that are still on their way. */
  private withWaiting(stored: IDataObject[]): IDataObject[] {
    const { outbox, session } = this.chat;
    const known = new Set(stored.map(({ external_id: id }) => id));
    const waiting = outbox.waiting(session).filter(({ id }) => !known.has(id));
    return [...stored, ...waiting.map(({ id, ...message }) => ({ ...message, external_id: id }))];
  }
}

function isQuestion(stored: IDataObject): boolean {
  return stored.role === 'user';
}

function lastTurns(stored: IDataObject[], turns: number, isWhole: boolean): IDataObject[] {
  const questions = stored.flatMap((message, index) => (isQuestion(message) ? [index] : []));
  if (isWhole && questions.length <= turns) return stored;
  // A window never begins with an answer, or with the result of a tool call that it does not show.
  return questions.length === 0 ? [] : stored.slice(questions[Math.max(0, questions.length - turns)]);
}

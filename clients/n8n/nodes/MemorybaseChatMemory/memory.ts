import { BaseChatMemory } from '@n8n/ai-node-sdk';
import type { Message } from '@n8n/ai-node-sdk';
import { NodeOperationError } from 'n8n-workflow';
import type { IDataObject } from 'n8n-workflow';

import { deadline } from '../shared/api';
import { givenOf, quoted, search } from '../shared/recall';
import type { Scope } from '../shared/recall';
import type { Chat, SessionHistory } from './history';

const LOAD_MS = 2_000;
const RECORD_MS = 10_000;
const MOST_NODE_CHARS = 128;

export interface Recall {
  query: string;
  topK: number;
  scope: Scope;
}

/** What the model reads: recalled messages, if wanted, and the newest turns of the session. */
export class SessionMemory extends BaseChatMemory {
  /** What the latest search gave the model; null if there was none, or it is recorded. */
  private given: IDataObject | null = null;

  constructor(
    readonly chatHistory: SessionHistory,
    private readonly chat: Chat,
    private readonly turns: number,
    private readonly recall: Recall | null,
  ) {
    super();
  }

  async loadMessages(): Promise<Message[]> {
    const signal = deadline(this.chat.context, LOAD_MS); // of both calls together
    const { messages, storedIds } = await this.chatHistory.window(this.turns, signal);
    return [...(await this.recalled(storedIds, signal)), ...messages];
  }

  async saveTurn(input: string, output: string): Promise<void> {
    await this.chatHistory.addTurn([textMessage('user', input), textMessage('assistant', output)]);
    void this.recordGiven();
  }

  async clear(): Promise<void> {
    await this.chatHistory.clear();
  }

  private async recalled(exclude: string[], signal: AbortSignal): Promise<Message[]> {
    const { recall } = this;
    this.given = null;
    if (recall === null || recall.query === '') return [];
    const { api, context, session, failOnError } = this.chat;
    const found = await search(api, session.flow, { ...recall, exclude, signal });
    if (found.ok) {
      const text = quoted(found.value);
      this.given = { session_id: session.id, ...endUserOf(recall.scope), ...givenOf(recall.query, found.value, text) };
      return found.value.length === 0 ? [] : asTurn(text);
    }
    if (failOnError) {
      throw new NodeOperationError(context.getNode(), 'Memories could not be recalled from memorybase', {
        description: found.message,
      });
    }
    const text = 'memorybase: earlier messages could not be recalled, and the model answers without them.';
    context.logger.warn(`${text} ${found.message}`, { flowId: session.flow.id, sessionId: session.id });
    return [];
  }

  /** In the background, after the turn is stored: nothing waits for it, and it fails nothing. */
  private async recordGiven(): Promise<void> {
    const { given } = this;
    if (given === null) return;
    this.given = null;
    const { api, context, session, turn } = this.chat;
    const node = context.getNode().name.slice(0, MOST_NODE_CHARS);
    const recorded = await api.recordGiven(session.flow, turn.runId, node, given, AbortSignal.timeout(RECORD_MS));
    if (recorded.ok || recorded.status === 404) return; // 404: the flow begins with this turn, which had no memories
    const text = 'memorybase: what was recalled is not recorded with the run.';
    context.logger.warn(`${text} ${recorded.message}`, { flowId: session.flow.id, sessionId: session.id });
  }
}

/** Only where the search was limited to one: memories of others would be recorded as deleted. */
function endUserOf({ endUserId }: Scope): IDataObject {
  return endUserId === undefined ? {} : { end_user_id: endUserId };
}

/** Some models accept a system message only as the first one, and demand that user and assistant alternate. */
function asTurn(text: string): Message[] {
  return [textMessage('user', text), textMessage('assistant', 'I will use them where they help.')];
}

function textMessage(role: 'user' | 'assistant', text: string): Message {
  return { role, content: [{ type: 'text', text }] };
}

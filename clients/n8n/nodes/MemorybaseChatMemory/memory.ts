import { BaseChatMemory } from '@n8n/ai-node-sdk';
import type { Message } from '@n8n/ai-node-sdk';
import { NodeOperationError } from 'n8n-workflow';

import { deadline } from '../shared/api';
import { quoted, search } from '../shared/recall';
import type { Scope } from '../shared/recall';
import type { Chat, SessionHistory } from './history';

const LOAD_MS = 2_000;

export interface Recall {
  query: string;
  topK: number;
  scope: Scope;
}

/** What the model reads: recalled messages, if wanted, and the newest turns of the session. */
export class SessionMemory extends BaseChatMemory {
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
  }

  async clear(): Promise<void> {
    await this.chatHistory.clear();
  }

  private async recalled(exclude: string[], signal: AbortSignal): Promise<Message[]> {
    const { recall } = this;
    if (recall === null || recall.query === '') return [];
    const { api, context, session, failOnError } = this.chat;
    const found = await search(api, session.flow, { ...recall, exclude, signal });
    if (found.ok) return found.value.length === 0 ? [] : asTurn(quoted(found.value));
    if (failOnError) {
      throw new NodeOperationError(context.getNode(), 'Memories could not be recalled from memorybase', {
        description: found.message,
      });
    }
    const text = 'memorybase: earlier messages could not be recalled, and the model answers without them.';
    context.logger.warn(`${text} ${found.message}`, { flowId: session.flow.id, sessionId: session.id });
    return [];
  }
}

/** Some models accept a system message only as the first one, and demand that user and assistant alternate. */
function asTurn(text: string): Message[] {
  return [textMessage('user', text), textMessage('assistant', 'I will use them where they help.')];
}

function textMessage(role: 'user' | 'assistant', text: string): Message {
  return { role, content: [{ type: 'text', text }] };
}

/** Ids that are equal when n8n repeats a turn, and different for every other turn. */
import type { Message } from '@n8n/ai-node-sdk';
import type { IDataObject } from 'n8n-workflow';
import { createHash, randomUUID } from 'crypto';

import type { NodeContext } from './api';
import type { Session } from './outbox';

/** One item of one run of a node in one execution. */
export class Turn {
  readonly runId: string;
  private readonly prefix: string;
  private readonly scope: string;
  private readonly seen = new Map<string, number>();

  constructor(context: NodeContext, session: Session, itemIndex: number) {
    const execution = context.getExecutionId() || randomUUID();
    // The execution ids of two instances are the same numbers.
    const place = [context.getInstanceId(), execution, context.getNode().id, parentOf(context), runIndexOf(context), itemIndex];
    this.scope = JSON.stringify(place);
    this.prefix = `n8n-${hash([session.flow.id, session.id]).slice(0, 16)}-`;
    this.runId = `n8n-${execution.slice(0, 40)}-${hash([this.prefix, this.scope]).slice(0, 16)}`;
  }

  /**
   * The id to store a message under. The same message added twice within a turn is two messages, unless it has an id of
   * its own; the turn repeated is the same messages.
   */
  idOf(message: Message, stored: IDataObject): string {
    if (message.id?.startsWith(this.prefix)) return message.id; // read from this session
    const content = hash([stored.role, stored.content, stored.tool_calls, stored.tool_call_id, stored.name]);
    if (message.id !== undefined) return this.prefix + hash(['id', message.id, content]);
    const occurrence = this.seen.get(content) ?? 0;
    this.seen.set(content, occurrence + 1);
    return this.prefix + hash(['turn', this.scope, content, occurrence]);
  }
}

function parentOf(context: NodeContext): string {
  return 'getExecuteData' in context ? (context.getExecuteData()?.node?.name ?? '') : '';
}

function runIndexOf(context: NodeContext): number {
  try {
    return Number(context.evaluateExpression('{{ $runIndex }}', 0)) || 0;
  } catch {
    return 0; // the input has no data
  }
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 40);
}

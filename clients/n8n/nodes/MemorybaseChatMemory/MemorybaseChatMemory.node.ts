import { supplyMemory } from '@n8n/ai-node-sdk';
import { NodeConnectionTypes, NodeOperationError } from 'n8n-workflow';
import type { INodeType, INodeTypeDescription, ISupplyDataFunctions, SupplyData } from 'n8n-workflow';

import { Api } from '../shared/api';
import { outboxOf } from '../shared/outbox';
import { failOnErrorProperty, flowOf, flowProperty, sessionOf, sessionProperties, textParameter } from '../shared/parameters';
import type { Scope } from '../shared/recall';
import { Turn } from '../shared/turn';
import { SessionHistory } from './history';
import type { Chat } from './history';
import { SessionMemory } from './memory';
import type { Recall } from './memory';
import { withPlainTexts } from './plainTexts';

export class MemorybaseChatMemory implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Memorybase Chat Memory',
    name: 'memorybaseChatMemory',
    icon: { light: 'file:../../icons/memorybase.svg', dark: 'file:../../icons/memorybase.dark.svg' },
    group: ['transform'],
    version: [1],
    subtitle: '={{ $parameter["recall"] === "off" ? "" : "recalls earlier messages" }}',
    description: 'Keeps the history of a conversation in memorybase, and recalls what was said in earlier ones',
    defaults: { name: 'Memorybase Chat Memory' },
    codex: {
      categories: ['AI'],
      subcategories: { AI: ['Memory'], Memory: ['Other memories'] },
      resources: { primaryDocumentation: [{ url: 'https://github.com/memorybase/memorybase' }] },
    },
    inputs: [],
    outputs: [NodeConnectionTypes.AiMemory],
    outputNames: ['Memory'],
    credentials: [{ name: 'memorybaseApi', required: true }],
    properties: [
      ...sessionProperties,
      {
        displayName: 'Context Window Length',
        name: 'contextWindowLength',
        type: 'number',
        typeOptions: { minValue: 1, maxValue: 200 },
        default: 10,
        description: 'How many of the latest questions, each with all that followed it, the model receives',
      },
      {
        displayName: 'Recall',
        name: 'recall',
        type: 'options',
        options: [
          { name: 'Off', value: 'off', description: 'The model receives the latest turns of this session only' },
          {
            name: 'From All Sessions of the Flow',
            value: 'flow',
            description: 'For one person or one team: everybody\'s messages are found for everybody',
          },
          { name: 'From Earlier Turns of This Session', value: 'session' },
          { name: 'From Sessions of the End User', value: 'endUser', description: 'Needs the option End User ID' },
        ],
        default: 'off',
        description: 'Whether the model also receives messages that fit the question, and where they are searched',
      },
      {
        displayName: 'Question',
        name: 'recallQuery',
        type: 'string',
        default: '={{ $json.chatInput }}',
        description: 'What to search with, usually what the user asks',
        displayOptions: { hide: { recall: ['off'] } },
      },
      {
        displayName: 'Recalled Messages',
        name: 'recallTopK',
        type: 'number',
        typeOptions: { minValue: 1, maxValue: 100 },
        default: 5,
        description: 'How many messages are recalled at most',
        displayOptions: { hide: { recall: ['off'] } },
      },
      {
        displayName: 'Options',
        name: 'options',
        type: 'collection',
        placeholder: 'Add Option',
        default: {},
        options: [
          {
            displayName: 'End User ID',
            name: 'endUserId',
            type: 'string',
            default: '',
            placeholder: 'e.g. anna',
            description: 'Whose session this is. The first turn of a session fixes it.',
          },
          failOnErrorProperty,
          flowProperty,
        ],
      },
    ],
  };

  async supplyData(this: ISupplyDataFunctions, itemIndex: number): Promise<SupplyData> {
    const session = { flow: flowOf(this, itemIndex, 'options.flowId'), id: sessionOf(this, itemIndex) };
    const endUserId = textParameter(this, itemIndex, 'options.endUserId', 'End User ID');
    const api = await Api.of(this, itemIndex);
    const chat: Chat = {
      context: this,
      api,
      outbox: outboxOf(api, this.logger),
      session,
      endUserId,
      turn: new Turn(this, session, itemIndex),
      failOnError: this.getNodeParameter('options.failOnError', itemIndex, false) === true,
    };
    const turns = Number(this.getNodeParameter('contextWindowLength', itemIndex, 10));
    const history = new SessionHistory(chat);
    const memory = new SessionMemory(history, chat, Math.max(1, turns), recallOf(this, itemIndex, chat));
    return withPlainTexts(supplyMemory(this, memory));
  }
}

function recallOf(context: ISupplyDataFunctions, itemIndex: number, { session, endUserId }: Chat): Recall | null {
  const from = context.getNodeParameter('recall', itemIndex, 'off') as string;
  if (from === 'off') return null;
  if (from === 'endUser' && endUserId === '') {
    throw new NodeOperationError(context.getNode(), 'Recall "From Sessions of the End User" needs an End User ID', {
      itemIndex,
      description: 'Add the option End User ID, or choose another place to recall from',
    });
  }
  const scopes: Record<string, Scope> = { session: { sessionId: session.id }, endUser: { endUserId }, flow: {} };
  return {
    query: String(context.getNodeParameter('recallQuery', itemIndex, '') ?? '').trim(),
    topK: Number(context.getNodeParameter('recallTopK', itemIndex, 5)),
    scope: scopes[from] ?? scopes.session,
  };
}

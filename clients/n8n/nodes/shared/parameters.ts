import { NodeOperationError } from 'n8n-workflow';
import type { INodeProperties } from 'n8n-workflow';

import type { Flow, NodeContext } from './api';

/** memorybase's bound on ids. */
const ID_LENGTH = 128;

const FROM_CHAT_TRIGGER = 'fromInput';
const DEFINED_BELOW = 'customKey';

export const sessionProperties: INodeProperties[] = [
  {
    displayName: 'Session ID',
    name: 'sessionIdType',
    type: 'options',
    options: [
      {
        name: 'Connected Chat Trigger Node',
        value: FROM_CHAT_TRIGGER,
        description: 'The field sessionId of the input, or of the workflow\'s Chat Trigger',
      },
      {
        name: 'Define Below',
        value: DEFINED_BELOW,
        description: 'An expression or a fixed text',
      },
    ],
    default: FROM_CHAT_TRIGGER,
    description: 'Which session of memorybase this conversation is',
  },
  {
    displayName: 'Session Key',
    name: 'sessionKey',
    type: 'string',
    default: '',
    required: true,
    placeholder: 'e.g. {{ $json.body.conversation }}',
    description: 'The session ID, usually an expression',
    displayOptions: { show: { sessionIdType: [DEFINED_BELOW] } },
  },
];

export const flowProperty: INodeProperties = {
  displayName: 'Flow ID',
  name: 'flowId',
  type: 'string',
  default: '',
  placeholder: 'e.g. support',
  description: 'The flow in memorybase. If empty, it is the ID of this workflow. Workflows with one flow share a memory.',
};

export const failOnErrorProperty: INodeProperties = {
  displayName: 'Fail on Error',
  name: 'failOnError',
  type: 'boolean',
  default: false,
  description: 'Whether the workflow fails if memorybase does not answer or refuses a call. If not, the node logs it.',
};

/** The parameter as a trimmed string; "" if it is not set. Raises an error that names the parameter if it is too long. */
export function textParameter(context: NodeContext, itemIndex: number, name: string, label: string): string {
  const value = context.getNodeParameter(name, itemIndex, '') as unknown;
  const text = value === null || value === undefined ? '' : String(value).trim();
  return checkedId(context, itemIndex, text, label);
}

/** The session of this item. */
export function sessionOf(context: NodeContext, itemIndex: number): string {
  if (context.getNodeParameter('sessionIdType', itemIndex, FROM_CHAT_TRIGGER) === DEFINED_BELOW) {
    const session = textParameter(context, itemIndex, 'sessionKey', 'Session Key');
    if (session === '') throw missing(context, itemIndex, 'Session Key is empty');
    return session;
  }
  const session = isTool(context) ? '' : evaluated(context, itemIndex, '{{ $json.sessionId }}');
  const found = session || sessionOfChatTrigger(context, itemIndex);
  if (found === '') {
    throw missing(context, itemIndex, 'There is no session ID: no Chat Trigger is connected, and the input has no sessionId');
  }
  return checkedId(context, itemIndex, found, 'sessionId');
}

export function flowOf(context: NodeContext, itemIndex: number, parameter: string): Flow {
  const workflow = context.getWorkflow();
  const id = textParameter(context, itemIndex, parameter, 'Flow ID') || String(workflow.id ?? '');
  if (id === '' || id === '__EMPTY__') {
    throw new NodeOperationError(context.getNode(), 'There is no flow ID: save the workflow, or set Flow ID', { itemIndex });
  }
  return { id, name: String(workflow.name ?? '').slice(0, 200) || `n8n ${id}` };
}

/** Whether the node runs as a tool of an agent. What the model wrote then replaces fields of its input. */
export function isTool(context: NodeContext): boolean {
  return context.getNode().type.endsWith('Tool');
}

function sessionOfChatTrigger(context: NodeContext, itemIndex: number): string {
  const trigger = context.getChatTrigger?.();
  if (!trigger) return '';
  return evaluated(context, itemIndex, `{{ $(${JSON.stringify(trigger.name)}).first().json.sessionId }}`);
}

function evaluated(context: NodeContext, itemIndex: number, expression: string): string {
  try {
    const value = context.evaluateExpression(expression, itemIndex);
    return value === null || value === undefined ? '' : String(value).trim();
  } catch {
    return ''; // the input, or the Chat Trigger, has no data in this execution
  }
}

function checkedId(context: NodeContext, itemIndex: number, id: string, label: string): string {
  if (id.length <= ID_LENGTH) return id;
  const message = `${label} must have at most ${ID_LENGTH} characters (got ${id.length})`;
  throw new NodeOperationError(context.getNode(), message, { itemIndex });
}

function missing(context: NodeContext, itemIndex: number, message: string): NodeOperationError {
  return new NodeOperationError(context.getNode(), message, {
    itemIndex,
    description: 'Choose "Define Below" as Session ID and enter an expression, such as {{ $json.body.conversation }}',
  });
}

/**
 * Converts n8n's messages to those that memorybase stores, in OpenAI's shape, and back.
 *
 * What OpenAI's shape cannot hold (reasoning, files, citations, a provider's own data, another order of the parts) is
 * kept in `metadata.n8n`, in which texts and tool calls are named by their position only: an edit or a deletion of the
 * stored text is never undone by a copy.
 */
import type {
  ContentFile,
  ContentText,
  ContentToolCall,
  ContentToolResult,
  Message,
  MessageContent,
  MessageRole,
} from '@n8n/ai-node-sdk';
import type { IDataObject } from 'n8n-workflow';

import { isObject } from './api';

/** A content block: the text, tool call or tool result at this position of the stored message, or the block itself. */
type Placed =
  | { text: number; provider?: IDataObject }
  | { call: number; provider?: IDataObject }
  | { result: true; json?: true; provider?: IDataObject }
  | { block: IDataObject };

interface Taken {
  texts: string[];
  calls: IDataObject[];
  result: ContentToolResult | null;
  layout: Placed[];
}

const REPLACEMENT = '\uFFFD';
const ROLES: readonly string[] = ['system', 'user', 'assistant', 'tool'];

/** The message without its id. */
export function toStored(message: Message): IDataObject {
  const taken = take(message);
  const stored: IDataObject = { role: message.role, content: contentOf(message.role, taken) };
  if (taken.calls.length > 0) stored.tool_calls = taken.calls;
  if (taken.result !== null) {
    stored.tool_call_id = taken.result.toolCallId;
    if (taken.result.isError === true) stored.status = 'failed';
  }
  if (message.name !== undefined) stored.name = message.name;
  const plain = plainLayout(message.role, textsOf(stored.content).length, taken.calls.length);
  if (JSON.stringify(taken.layout) !== JSON.stringify(plain)) {
    stored.metadata = { n8n: { layout: taken.layout as unknown as IDataObject[] } };
  }
  return storable(stored) as IDataObject;
}

/** The stored message under this id. An id that n8n's message has besides is kept and comes back with it. */
export function withIds(stored: IDataObject, id: string, given: string | undefined): IDataObject {
  if (given === undefined || given === id) return { ...stored, id };
  const metadata = isObject(stored.metadata) ? stored.metadata : {};
  const extra = isObject(metadata.n8n) ? metadata.n8n : {};
  return { ...stored, id, metadata: { ...metadata, n8n: { ...extra, id: given } } };
}

/** A stored message, also one that another client captured. */
export function fromStored(stored: IDataObject): Message {
  const role = (ROLES.includes(String(stored.role)) ? stored.role : 'user') as MessageRole;
  const texts = textsOf(stored.content);
  const calls = Array.isArray(stored.tool_calls) ? (stored.tool_calls as IDataObject[]) : [];
  const extra = isObject(stored.metadata) && isObject(stored.metadata.n8n) ? stored.metadata.n8n : {};
  const layout = Array.isArray(extra.layout) ? (extra.layout as unknown as Placed[]) : null;
  const content = restore(stored, role, texts, calls, layout ?? plainLayout(role, texts.length, calls.length));
  const message: Message = { role, content };
  const id = extra.id ?? stored.external_id;
  if (typeof id === 'string') message.id = id;
  if (typeof stored.name === 'string') message.name = stored.name;
  return message;
}

function take(message: Message): Taken {
  const taken: Taken = { texts: [], calls: [], result: null, layout: [] };
  for (const block of message.content) {
    taken.layout.push(place(block, message.role, taken));
  }
  return taken;
}

function place(block: MessageContent, role: MessageRole, taken: Taken): Placed {
  const isGiven = block.providerMetadata !== undefined && Object.keys(block.providerMetadata).length > 0;
  const provider = isGiven ? { provider: block.providerMetadata as IDataObject } : {};
  if (block.type === 'text' && role !== 'tool') {
    return { text: taken.texts.push(block.text) - 1, ...provider };
  }
  if (block.type === 'tool-call' && role !== 'tool') {
    return { call: taken.calls.push(callOf(block)) - 1, ...provider };
  }
  if (block.type === 'tool-result' && role === 'tool' && taken.result === null) {
    taken.result = block;
    return { result: true, ...(typeof block.result === 'string' ? {} : { json: true as const }), ...provider };
  }
  return { block: block.type === 'file' ? packedFile(block) : (block as unknown as IDataObject) };
}

function callOf(block: ContentToolCall): IDataObject {
  const call: IDataObject = { type: 'function', function: { name: block.toolName, arguments: block.input } };
  return block.toolCallId === undefined ? call : { id: block.toolCallId, ...call };
}

function contentOf(role: MessageRole, { texts, calls, result }: Taken): IDataObject[] | string | null {
  if (role === 'tool') {
    if (result === null) return '';
    return typeof result.result === 'string' ? result.result : (JSON.stringify(result.result) ?? '');
  }
  if (texts.length > 1) return texts.map((text) => ({ type: 'text', text }));
  return texts[0] ?? (calls.length > 0 ? null : '');
}

/** The layout of a message that OpenAI's shape holds completely: texts, then tool calls; or one result. */
function plainLayout(role: MessageRole, texts: number, calls: number): Placed[] {
  if (role === 'tool') return [{ result: true }];
  return [
    ...Array.from({ length: texts }, (_, index): Placed => ({ text: index })),
    ...Array.from({ length: calls }, (_, index): Placed => ({ call: index })),
  ];
}

function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap((part) => (typeof part.text === 'string' ? [part.text] : []));
}

function restore(
  stored: IDataObject,
  role: MessageRole,
  texts: string[],
  calls: IDataObject[],
  layout: Placed[],
): MessageContent[] {
  const content: MessageContent[] = [];
  for (const placed of layout) {
    if ('text' in placed) {
      const text = texts[placed.text];
      if (text !== undefined) content.push({ type: 'text', text, ...metadataOf(placed.provider) });
    } else if ('call' in placed) {
      const call = calls[placed.call];
      if (call !== undefined) content.push({ ...callBlock(call), ...metadataOf(placed.provider) });
    } else if ('result' in placed) {
      content.push({ ...resultBlock(stored, texts, placed.json === true), ...metadataOf(placed.provider) });
    } else {
      content.push(unpacked(placed.block));
    }
  }
  // Texts that an edit has added.
  const placedTexts = layout.filter((placed) => 'text' in placed).length;
  const added = role === 'tool' ? [] : texts.slice(placedTexts).filter((text) => text !== '');
  return [...content, ...added.map((text): ContentText => ({ type: 'text', text }))];
}

function callBlock(call: IDataObject): ContentToolCall {
  const called = isObject(call.function) ? call.function : call;
  const given = called.arguments ?? called.args ?? '{}';
  const block: ContentToolCall = {
    type: 'tool-call',
    toolName: String(called.name ?? ''),
    input: typeof given === 'string' ? given : JSON.stringify(given),
  };
  if (typeof call.id === 'string') block.toolCallId = call.id;
  return block;
}

function resultBlock(stored: IDataObject, texts: string[], isJson: boolean): ContentToolResult {
  const text = texts.join('\n');
  return {
    type: 'tool-result',
    toolCallId: String(stored.tool_call_id ?? ''),
    result: isJson ? parsed(text) : text,
    isError: stored.status === 'failed',
  };
}

/** The value, or the text if an edit has made it something else than JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function metadataOf(provider: IDataObject | undefined): { providerMetadata?: Record<string, unknown> } {
  return provider === undefined ? {} : { providerMetadata: provider };
}

function packedFile(block: ContentFile): IDataObject {
  if (typeof block.data === 'string') return block as unknown as IDataObject;
  return { ...block, data: { base64: Buffer.from(block.data).toString('base64') } } as unknown as IDataObject;
}

function unpacked(block: IDataObject): MessageContent {
  const data = block.data;
  if (block.type !== 'file' || !isObject(data)) return block as unknown as MessageContent;
  return { ...block, data: new Uint8Array(Buffer.from(String(data.base64), 'base64')) } as unknown as MessageContent;
}

/** The JSON value without undefined fields, and without characters that memorybase cannot store. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(storable);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries.map(([key, field]) => [storableText(key), storable(field)]));
}

function storableText(text: string): string {
  return text
    .split('\0')
    .join(REPLACEMENT)
    .replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, REPLACEMENT);
}

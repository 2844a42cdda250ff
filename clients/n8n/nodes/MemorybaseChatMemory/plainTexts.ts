import type { SupplyData } from 'n8n-workflow';

/** What is used of LangChain's messages and memories, which n8n's SDK makes. */
interface LangChainMessage {
  content: unknown;
  lc_kwargs?: { content?: unknown };
}

interface LangChainMemory {
  chatHistory: { getMessages(): Promise<LangChainMessage[]> };
  loadMemoryVariables(values: object): Promise<{ chat_history: LangChainMessage[] }>;
}

/**
 * Supply texts as strings. The SDK turns every text into a list of blocks, which some models refuse in an answer, and
 * which Chat Memory Manager would show.
 */
export function withPlainTexts(supplied: SupplyData): SupplyData {
  const memory = supplied.response as LangChainMemory;
  const { chatHistory } = memory;
  const read = chatHistory.getMessages.bind(chatHistory);
  chatHistory.getMessages = async () => (await read()).map(plain);
  const load = async (values: object) => {
    const variables = await memory.loadMemoryVariables(values);
    variables.chat_history.forEach(plain);
    return variables;
  };
  const response = new Proxy(memory, {
    get: (target, name) => (name === 'loadMemoryVariables' ? load : Reflect.get(target, name)),
  });
  return { ...supplied, response };
}

function plain(message: LangChainMessage): LangChainMessage {
  const text = onlyText(message.content);
  if (text !== null) {
    message.content = text;
    if (message.lc_kwargs !== undefined) message.lc_kwargs.content = text;
  }
  return message;
}

/** The text, if there is nothing else; "" beside tool calls alone. */
function onlyText(content: unknown): string | null {
  if (!Array.isArray(content) || content.length > 1) return null;
  const [block] = content as Array<{ type?: string; text?: string }>;
  if (block === undefined) return '';
  return block.type === 'text' && typeof block.text === 'string' ? block.text : null;
}

/** Messages of the AI SDK as memorybase stores them, and ids that a repetition has too. */
import type { LanguageModelMiddleware } from "ai";

import type { Schemas } from "../types.js";

export type Params = Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"];
export type Prompt = Params["prompt"];
export type Content = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>>["content"];
export type Message = Schemas["OpenAIMessage"];

type AssistantPart = Extract<Prompt[number], { role: "assistant" }>["content"][number] | Content[number];
type UserPart = Extract<Prompt[number], { role: "user" }>["content"][number];
type ToolMessagePart = Extract<Prompt[number], { role: "tool" }>["content"][number];
type ToolOutput = Extract<ToolMessagePart, { type: "tool-result" }>["output"];

/** The conversation of a prompt: without system messages, reasoning and the bytes of files. */
export function conversationOf(prompt: Prompt): Message[] {
  return prompt.flatMap((message): Message[] => {
    if (message.role === "user") {
      return [{ role: "user", content: userContent(message.content) }];
    }
    if (message.role === "assistant") {
      return answerOf(message.content);
    }
    return message.role === "tool" ? toolMessages(message.content) : [];
  });
}

/** What a model generated: text and tool calls, with the results of tools that its provider ran. */
export function answerOf(content: readonly AssistantPart[]): Message[] {
  const found: Message[] = [];
  let text = "";
  let calls: Schemas["FunctionCall"][] = [];
  const finish = (): void => {
    if (text || calls.length > 0) {
      found.push({ role: "assistant", content: text || null, ...(calls.length > 0 ? { tool_calls: calls } : {}) });
    }
    text = "";
    calls = [];
  };
  for (const part of content) {
    if (part.type === "text") {
      text += part.text;
    } else if (part.type === "tool-call") {
      const input = typeof part.input === "string" ? part.input : JSON.stringify(part.input ?? {});
      calls.push({ id: part.toolCallId, type: "function", function: { name: part.toolName, arguments: input } });
    } else if (part.type === "tool-result") {
      finish();
      found.push(...toolMessages([part]));
    }
  }
  finish();
  return found;
}

/** The text of the last user message, which memories are recalled for. */
export function questionOf(prompt: Prompt): string {
  const last = prompt.findLast((message) => message.role === "user");
  return last ? last.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n") : "";
}

function userContent(parts: readonly UserPart[]): NonNullable<Message["content"]> {
  const content = parts.map((part): Schemas["ContentPart"] => {
    if (part.type === "text") {
      return { type: "text", text: part.text };
    }
    const { filename, mediaType, data } = part;
    const url = data.type === "url" ? data.url.toString() : undefined;
    if (url && mediaType.startsWith("image/")) {
      return { type: "image_url", image_url: { url } };
    }
    // Files themselves would fill the memory, and only text is searched.
    return { type: "file", media_type: mediaType, ...(filename ? { filename } : {}), ...(url ? { url } : {}) };
  });
  const [only] = content;
  return content.length === 1 && only?.type === "text" ? (only as Schemas["TextPart"]).text : content;
}

type ToolPart = { type: string; toolCallId?: string; toolName?: string; output?: ToolOutput; result?: unknown };

function toolMessages(parts: readonly ToolPart[]): Message[] {
  return parts
    .filter((part) => part.type === "tool-result")
    .map(({ toolCallId, toolName, output, result }) => ({
      role: "tool",
      ...(toolCallId ? { tool_call_id: toolCallId } : {}),
      ...(toolName ? { name: toolName } : {}),
      content: output ? outputText(output) : textOf(result),
    }));
}

function outputText(output: ToolOutput): string {
  if (output.type === "execution-denied") {
    return output.reason ?? "The execution was denied.";
  }
  if (output.type === "content") {
    return output.value.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
  }
  return textOf(output.value);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** A turn of the conversation, with ids that are the same if the call is repeated. */
export interface Turn {
  runId: string;
  /** What the host sent since the model's last message: the user's message, or results of tools. */
  messages: Message[];
  /** The messages of an answer with their ids. */
  answered(content: readonly AssistantPart[]): Promise<Message[]>;
}

/** The turn that a prompt continues. `seed` is what makes it unique beside the prompt: flow, session, and the caller's
 * run id if there is one. The steps of a loop with tools are one run. */
export async function turnOf(prompt: Prompt, seed: string[]): Promise<Turn> {
  const conversation = conversationOf(prompt);
  const end = conversation.findLastIndex((message) => message.role !== "assistant") + 1;
  const start = conversation.slice(0, end).findLastIndex((message) => message.role === "assistant") + 1;
  const question = conversation.findLastIndex((message) => message.role === "user") + 1;
  const before = await digest([...seed, conversation.slice(0, start)]);
  const messages = await withIds(before, conversation.slice(start, end));
  const asked = await digest([...seed, conversation]);
  return {
    runId: `ai-${await digest([...seed, conversation.slice(0, question)])}`,
    messages,
    answered: (content) => withIds(asked, answerOf(content)),
  };
}

function withIds(before: string, messages: Message[]): Promise<Message[]> {
  return Promise.all(
    messages.map(async (message, at) => ({ ...message, id: `ai-${await digest([before, at, message])}` })),
  );
}

/** 128 bits of SHA-256, which no two different turns share. */
async function digest(value: unknown): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(value)));
  return Array.from(new Uint8Array(bytes, 0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Files for Claude's memory tool.
 *
 *     const memory = betaMemoryTool(memoryHandlers({ client, flowId: "support", endUserId: user.id }));
 *     await anthropic.beta.messages.toolRunner({ model, max_tokens, messages, tools: [memory] });
 *
 *     /memories    session; of an end user, theirs
 *     file         message: its text is the content, and its path is metadata
 *     edit         new version of the message
 *
 * The handlers throw errors whose texts are for the model: those of the SDK's own tool for local files.
 */
import type { MemoryToolHandlers } from "@anthropic-ai/sdk/helpers/beta/memory";

import type { Client, Run } from "../client.js";
import { deliver } from "../delivery.js";
import { CallerError, MemorybaseError, MessageConflict, NotFound } from "../errors.js";
import type { Schemas } from "../types.js";
import { numbered, at, checkFree, checkUnique, listed, pathOf, ROOT, within, type MemoryFile } from "./files.js";

const EDIT_TRIES = 20; // of an edit of a file that others edit at the same time; one of them succeeds at each try
const MAX_ID_CHARS = 128; // the server's bound

export interface MemoryHandlerOptions {
  client: Client;
  /** The first file creates it. */
  flowId: string;
  /** Each end user has files of their own. */
  endUserId?: string | undefined;
}

type Change = (file: MemoryFile) => { content: string } | { metadata: Schemas["MessageView"]["metadata"] };

/** Handlers for `betaMemoryTool` of Anthropic's SDK. Programs may share the files: an edit is made on the current text
 * or not at all. */
export function memoryHandlers(options: MemoryHandlerOptions): MemoryToolHandlers {
  const directory = new Directory(options);
  return {
    view: ({ path, view_range }) => told(() => directory.view(pathOf(path), view_range)),
    create: ({ path, file_text }) => told(() => directory.create(pathOf(path), file_text)),
    str_replace: ({ path, old_str, new_str }) => told(() => directory.replace(pathOf(path), old_str, new_str)),
    insert: ({ path, insert_line, insert_text }) =>
      told(() => directory.insert(pathOf(path), insert_line, insert_text)),
    delete: ({ path }) => told(() => directory.delete(pathOf(path))),
    rename: ({ old_path, new_path }) => told(() => directory.rename(pathOf(old_path), pathOf(new_path))),
  };
}

/** The result, or an error whose text is for the model. */
async function told(command: () => Promise<string>): Promise<string> {
  try {
    return await command();
  } catch (error) {
    if (error instanceof CallerError) {
      const bound = error.limit === undefined || error.limit === null ? "" : ` (bound: ${String(error.limit)})`;
      throw new Error(`${error.message}${bound}`, { cause: error });
    }
    if (error instanceof MemorybaseError) {
      const text = "Nothing was read; whether a change was stored is unknown.";
      throw new Error(`Memory is unavailable at the moment (${error.code}). ${text}`, { cause: error });
    }
    throw error;
  }
}

class Directory {
  readonly #client: Client;
  readonly #flowId: string;
  readonly #endUserId: string | undefined;
  readonly #sessionId: Promise<string>;

  constructor({ client, flowId, endUserId }: MemoryHandlerOptions) {
    if (!flowId) {
      throw new TypeError("flowId must not be empty");
    }
    this.#client = client;
    this.#flowId = flowId;
    this.#endUserId = endUserId;
    this.#sessionId = sessionOf(endUserId);
  }

  async view(path: string, range: number[] | undefined): Promise<string> {
    const files = await this.#files();
    const file = at(files, path);
    if (file) {
      const [first = 1, last = -1] = range?.length === 2 ? range : [];
      const lines = file.text.split("\n").slice(Math.max(0, first - 1), last === -1 ? undefined : last);
      return `Here's the content of ${path} with line numbers:\n${numbered(lines, Math.max(1, first))}`;
    }
    const found = within(files, path);
    if (path !== ROOT && found.length === 0) {
      throw missing(path);
    }
    const heading = `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items:`;
    return `${heading}\n${listed(found, path)}`;
  }

  async create(path: string, text: string): Promise<string> {
    checkFree(await this.#files(), path, `File ${path} already exists`);
    const id = `file-${crypto.randomUUID()}`;
    const message = { id, role: "assistant" as const, content: storable(text), metadata: { path } };
    const run: Run = { ...(await this.#whose()), run_id: id, messages: [message], on_conflict: "keep" };
    await deliver(this.#client, this.#flowId, run);
    const files = await this.#files();
    const own = files.find((file) => file.externalId === id);
    if (own && at(files, path) !== own) {
      await this.#delete(own); // another program was faster
      throw new Error(`File ${path} already exists`);
    }
    return `File created successfully at: ${path}`;
  }

  async replace(path: string, old: string, replacement: string): Promise<string> {
    const replaced = (text: string): string => text.split(old).join(storable(replacement));
    const before = await this.#edit(path, "str_replace", (file) => {
      checkUnique(file, old);
      return { content: replaced(file.text) };
    });
    const line = before.text.slice(0, before.text.indexOf(old)).split("\n").length - 1;
    const first = Math.max(0, line - 2);
    const heading = "The memory file has been edited. Here is the snippet showing the change (with line numbers):";
    return `${heading}\n${numbered(replaced(before.text).split("\n").slice(first, line + 3), first + 1)}`;
  }

  async insert(path: string, line: number, text: string): Promise<string> {
    await this.#edit(path, "insert", (file) => {
      const lines = file.text ? file.text.replace(/\n$/, "").split("\n") : [];
      if (line < 0 || line > lines.length) {
        const range = `It should be within the range [0, ${lines.length}].`;
        throw new Error(`Invalid \`insert_line\` parameter: ${line}. ${range}`);
      }
      const content = lines.toSpliced(line, 0, storable(text).replace(/\n+$/, "")).join("\n");
      return { content: content.endsWith("\n") ? content : `${content}\n` };
    });
    return `The file ${path} has been edited.`;
  }

  async delete(path: string): Promise<string> {
    if (path === ROOT) {
      throw new Error(`Cannot delete the ${ROOT} directory itself`);
    }
    const files = within(await this.#files(), path);
    if (files.length === 0) {
      throw new Error(`The path ${path} does not exist`);
    }
    for (const file of files) {
      await this.#delete(file);
    }
    return `Successfully deleted ${path}`;
  }

  async rename(from: string, to: string): Promise<string> {
    if (from === ROOT) {
      throw new Error(`Cannot rename the ${ROOT} directory itself`);
    }
    const files = await this.#files();
    checkFree(files, to, `The destination ${to} already exists`, from);
    const moved = new Set(within(files, from).map((file) => file.path));
    if (moved.size === 0) {
      throw new Error(`The path ${from} does not exist`);
    }
    for (const path of [...moved].sort()) {
      await this.#move(path, to + path.slice(from.length));
    }
    return `Successfully renamed ${from} to ${to}`;
  }

  /** The oldest first: it is the file of its path if programs created two at the same time. */
  async #files(): Promise<MemoryFile[]> {
    try {
      const messages = await this.#client.listMessages({ flow_id: this.#flowId, ...(await this.#whose()) }).toArray();
      return messages.flatMap((message) => fileOf(message) ?? []);
    } catch (error) {
      if (error instanceof NotFound) {
        return []; // the first file creates the flow
      }
      throw error;
    }
  }

  /** Change these fields of the file's message, and return the file as it was. */
  async #edit(path: string, command: string, change: Change): Promise<MemoryFile> {
    for (let tried = 0; tried < EDIT_TRIES; tried++) {
      const file = at(await this.#files(), path);
      if (!file) {
        throw missing(path);
      }
      if (await this.#changed(file, { ...change(file), reason: `memory tool: ${command}` })) {
        return file;
      }
    }
    throw new Error(`Other programs keep changing ${path}; it was not changed. View it and try again.`);
  }

  /** Whether it was changed: not if another program changed or deleted it first. */
  async #changed(file: MemoryFile, fields: ReturnType<Change> & { reason: string }): Promise<boolean> {
    const flow_id = this.#flowId;
    try {
      await this.#client.editMessage(file.id, { flow_id, version: file.version, ...fields });
      return true;
    } catch (error) {
      if (!(error instanceof MessageConflict || error instanceof NotFound)) {
        throw error;
      }
    }
    // An edit of another program, or ours: the client repeats it if the answer was lost.
    const now = (await this.#files()).find(({ id }) => id === file.id);
    return now !== undefined && ("content" in fields ? now.text === fields.content : now.path === fields.metadata["path"]);
  }

  async #move(from: string, to: string): Promise<void> {
    const file = await this.#edit(from, "rename", ({ metadata }) => ({ metadata: { ...metadata, path: to } }));
    if ((await this.#files()).some(({ id, path }) => path === to && id !== file.id)) {
      // Created meanwhile.
      await this.#client.editMessage(file.id, { flow_id: this.#flowId, metadata: file.metadata });
      throw new Error(`The destination ${to} already exists`);
    }
  }

  async #delete(file: MemoryFile): Promise<void> {
    try {
      await this.#client.deleteMessage(file.id, { flow_id: this.#flowId, reason: "memory tool: delete" });
    } catch (error) {
      if (!(error instanceof NotFound)) {
        throw error; // others delete it too
      }
    }
  }

  async #whose(): Promise<{ session_id: string; end_user_id?: string }> {
    const session_id = await this.#sessionId;
    return this.#endUserId === undefined ? { session_id } : { session_id, end_user_id: this.#endUserId };
  }
}

function missing(path: string): Error {
  return new Error(`The path ${path} does not exist. Please provide a valid path.`);
}

function fileOf(message: Schemas["MessageView"]): MemoryFile | undefined {
  const { id, external_id: externalId, content, version, metadata } = message;
  const parts = typeof content === "string" ? [content] : (content ?? []).map((part) => part["text"]);
  const text = parts.filter((part) => typeof part === "string").join("\n");
  const path = metadata["path"];
  return typeof path === "string" ? { id, externalId, path, text, version, metadata } : undefined;
}

/** The Python client derives the same. */
async function sessionOf(endUserId: string | undefined): Promise<string> {
  const name = endUserId === undefined ? ROOT.slice(1) : `${ROOT.slice(1)}:${endUserId}`;
  if ([...name].length <= MAX_ID_CHARS) {
    return name;
  }
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** With replacements for a NUL and for lone surrogates, which the server cannot store. */
function storable(text: string): string {
  return text.replace(/\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, "\uFFFD");
}

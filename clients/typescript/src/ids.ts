/** Ids and keys for what the caller sent without: with them a repetition is known to the server. */
import type { KeyedOptions, Schemas } from "./types.js";

/** The caller's idempotency key, or a new one. */
export function idempotencyKeyOf(options: KeyedOptions | undefined): string {
  return options?.idempotencyKey ?? crypto.randomUUID();
}

/** The run with an id. The server derives those of its messages from it and their positions. */
export function withRunId<Run extends { run_id?: string | null }>(run: Run): Omit<Run, "run_id"> & { run_id: string } {
  return { ...run, run_id: run.run_id || crypto.randomUUID() };
}

/** The post with an id for each message. */
export function withMessageIds<Post extends { messages: Schemas["SentMessage"][] }>(post: Post): Post {
  return { ...post, messages: post.messages.map(withId) };
}

function withId(message: Schemas["SentMessage"]): Schemas["SentMessage"] {
  if ("data" in message && typeof message.data === "object" && message.data !== null) {
    // LangChain's nested form.
    const data = message.data as { id?: unknown };
    return { ...message, data: { ...data, id: data.id || crypto.randomUUID() } } as typeof message;
  }
  const id = "id" in message ? message.id : undefined;
  return { ...message, id: id || crypto.randomUUID() } as typeof message;
}

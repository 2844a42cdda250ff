/** A model's stream, read along. */
import type { LanguageModelMiddleware } from "ai";

import type { Content, Message } from "./messages.js";

type Stream = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>["stream"];
export type StreamPart = Stream extends ReadableStream<infer Part> ? Part : never;
type Status = NonNullable<Message["status"]>;

/** The same stream. `ended` is called once with its content: at its end, when it fails, or when its reader leaves. */
export function watched(stream: Stream, ended: (content: Content, status: Status) => void): Stream {
  const reader = stream.getReader();
  const content = new Collected();
  let status: Status = "completed";
  let hasEnded = false;
  const end = (how: Status): void => {
    if (!hasEnded) {
      hasEnded = true;
      ended(content.parts, how);
    }
  };
  return new ReadableStream<StreamPart>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          end(status);
          controller.close();
          return;
        }
        content.add(value);
        if (value.type === "error" || (value.type === "finish" && value.finishReason.unified === "error")) {
          status = "failed";
        }
        controller.enqueue(value);
      } catch (error) {
        end(error instanceof Error && error.name === "AbortError" ? "stopped" : "failed");
        throw error;
      }
    },
    async cancel(reason) {
      end("stopped");
      await reader.cancel(reason);
    },
  });
}

/** The parts of a stream as the content of an answer. */
class Collected {
  readonly parts: Content = [];
  readonly #texts = new Map<string, { type: "text"; text: string }>();

  add(part: StreamPart): void {
    if (part.type === "text-delta") {
      this.#text(part.id).text += part.delta;
    } else if (part.type === "tool-call" || part.type === "tool-result") {
      this.parts.push(part);
    }
  }

  /** The block of text with this id, in the place where it began. */
  #text(id: string): { type: "text"; text: string } {
    let text = this.#texts.get(id);
    if (!text) {
      text = { type: "text", text: "" };
      this.#texts.set(id, text);
      this.parts.push(text);
    }
    return text;
  }
}

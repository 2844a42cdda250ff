/** Parts of a stream to lines, events and parts of an import. No I/O. */
import type { Line } from "./types.js";

export const PART_CHARACTERS = 1_000_000;
export const PART_LINES = 1_000;

/** Splits at line feeds only: a JSON string may contain other separators. */
export class Lines {
  #decoder = new TextDecoder();
  #rest = "";

  /** The lines that this part completes. */
  feed(part: Uint8Array): string[] {
    const lines = (this.#rest + this.#decoder.decode(part, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines;
  }

  /** What no line feed has ended yet. */
  get rest(): string {
    return this.#rest;
  }
}

export interface ServerEvent {
  name: string;
  data: string;
}

/** Server-sent events, line by line. */
export class Events {
  #name = "message";
  #data: string[] = [];

  /** The event that this line ends. */
  feed(line: string): ServerEvent | undefined {
    line = line.replace(/\r$/, "");
    if (line === "") {
      const event = this.#data.length > 0 ? { name: this.#name, data: this.#data.join("\n") } : undefined;
      this.#name = "message";
      this.#data = [];
      return event;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") {
      this.#name = value;
    } else if (name === "data") {
      this.#data.push(value);
    }
    return undefined;
  }
}

export interface ImportPart {
  /** How many lines came before this part. */
  before: number;
  text: string;
}

/** Parts that one request takes. */
export async function* partsOf(lines: Iterable<Line> | AsyncIterable<Line>): AsyncGenerator<ImportPart> {
  let before = 0;
  let part: string[] = [];
  let size = 0;
  for await (const line of lines) {
    const text = `${(typeof line === "string" ? line : JSON.stringify(line)).replace(/[\r\n]+$/, "")}\n`;
    if (part.length > 0 && (size + text.length > PART_CHARACTERS || part.length === PART_LINES)) {
      yield { before, text: part.join("") };
      before += part.length;
      part = [];
      size = 0;
    }
    part.push(text);
    size += text.length;
  }
  if (part.length > 0) {
    yield { before, text: part.join("") };
  }
}

type Counts = { [name: string]: number | unknown[] | Counts };

/** Two trees of counts and lists, added. */
export function plus(total: Counts | undefined, counts: Counts): Counts {
  const added = Object.entries(counts).map(([name, value]) => {
    const before = total?.[name];
    if (typeof value === "number") {
      return [name, Number(before ?? 0) + value];
    }
    return [
      name,
      Array.isArray(value) ? [...((before ?? []) as unknown[]), ...value] : plus(before as Counts | undefined, value),
    ];
  });
  return { ...total, ...(Object.fromEntries(added) as Counts) };
}

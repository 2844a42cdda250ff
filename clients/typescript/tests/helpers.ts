/** What several tests share. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

import { Client, type ClientOptions, type Schemas } from "../src/index.js";
import { running } from "./stack.js";

const UNTIL_SECONDS = 60;

/** A client of the running stack. It says nothing unless the test gives it a log. */
export function connected(options: ClientOptions = {}): Client {
  const { url, key } = running();
  return new Client({ url, key, log: () => undefined, ...options });
}

/** A name that no other test uses. */
export function unique(name: string): string {
  return `${name}-${randomUUID().slice(0, 8)}`;
}

export function said(...texts: string[]): Schemas["OpenAIMessage"][] {
  return texts.map((content) => ({ role: "assistant", content }));
}

export async function contents(client: Client, flow_id: string): Promise<unknown[]> {
  return (await client.listMessages({ flow_id }).toArray()).map((message) => message.content);
}

/** Wait for an event that only polling shows. */
export async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + UNTIL_SECONDS * 1000;
  while (!(await isTrue())) {
    assert(Date.now() < deadline, `${what}: not within ${UNTIL_SECONDS} s`);
    await wait(20);
  }
}

const folders = mkdtempSync(join(tmpdir(), "memorybase-typescript-"));
process.on("exit", () => rmSync(folders, { recursive: true, force: true }));

/** A directory that is deleted when the process ends: hooks of a test run in the order in which they were set. */
export function folder(): Promise<string> {
  return mkdtemp(join(folders, "test-"));
}

/** What a client logs. */
export function recorded(): { lines: string[]; log: (level: string, message: string) => void } {
  const lines: string[] = [];
  return { lines, log: (level, message) => lines.push(`${level}: ${message}`) };
}

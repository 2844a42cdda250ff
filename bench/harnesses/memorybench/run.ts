/** Drives the provider as memorybench's phases do: a session at a time, then all questions, then a clear. */
import { readFileSync } from "node:fs";
import { MemorybaseProvider } from "./providers/memorybase/index.js";
import type { UnifiedSession } from "./types/unified.js";

interface Work {
  container: string;
  sessions: UnifiedSession[];
  questions: string[];
  limit: number;
}

const work = JSON.parse(readFileSync(0, "utf8")) as Work;
const { MEMORYBASE_URL: baseUrl, MEMORYBASE_API_KEY: apiKey } = process.env;
const provider = new MemorybaseProvider();
await provider.initialize({ apiKey: apiKey ?? "", ...(baseUrl ? { baseUrl } : {}) });
const containerTag = work.container.replace(/[^\w:-]/g, "-");
const documentIds: string[] = [];
for (const session of work.sessions) {
  documentIds.push(...(await provider.ingest([session], { containerTag })).documentIds);
}
await provider.awaitIndexing({ documentIds }, containerTag);
const found: { sessions: string[]; ms: number }[] = [];
for (const question of work.questions) {
  const began = performance.now();
  const results = await provider.search(question, { containerTag, limit: work.limit, threshold: 0.3 });
  const sessions = (results as { sessionId: string }[]).map(({ sessionId }) => sessionId);
  found.push({ sessions, ms: performance.now() - began });
}
await provider.clear(containerTag);
const [question = ""] = work.questions;
const left = (await provider.search(question, { containerTag, limit: work.limit })).length;
process.stdout.write(JSON.stringify({ found, left }));

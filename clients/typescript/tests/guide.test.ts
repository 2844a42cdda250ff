/** The code of docs/howto/typescript-client.md and of README.md: type-checked, and run in order, twice. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { KEY, PROJECT, ROOT, running } from "./stack.js";

const PAGES = [join(ROOT, "docs/howto/typescript-client.md"), join(PROJECT, "README.md")];
const FOLDER = join(PROJECT, "build/guide");
// In place of a provider's package: a model that knows the berth if it has read of it.
const PROVIDER = {
  "package.json": '{ "name": "@ai-sdk/openai", "type": "module", "exports": "./index.js" }',
  "index.d.ts": `export function openai(id: string): import("ai/test").MockLanguageModelV4;`,
  "index.js": `
    import { MockLanguageModelV4 } from "ai/test";
    const usage = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };
    const finishReason = { unified: "stop" };
    export const openai = () => new MockLanguageModelV4({
      doGenerate: async ({ prompt }) => {
        const read = JSON.stringify(prompt);
        const knows = read.includes("My boat lies at berth 12.");
        const text = !read.includes("?") ? "Noted." : knows ? "Your boat lies at berth 12." : "I do not know.";
        return { content: [{ type: "text", text }], finishReason, usage, warnings: [] };
      },
    });`,
};

/** Each block with what the page says that it prints. */
async function blocks(): Promise<{ code: string; printed: string }[]> {
  const text = (await Promise.all(PAGES.map((page) => readFile(page, "utf8")))).join("\n");
  const found = text.matchAll(/^```ts\n(.*?)^```\n(?:\n```text\n(.*?)^```)?/gms);
  return [...found].map(([, code = "", printed = ""]) => ({ code, printed }));
}

test("every block of the guide has right types, and prints what it says, also when it runs again", async () => {
  const found = await blocks();
  assert(found.filter(({ printed }) => printed).length >= 2);
  await rm(FOLDER, { recursive: true, force: true });
  const provider = join(FOLDER, "node_modules/@ai-sdk/openai");
  await mkdir(provider, { recursive: true });
  for (const [name, text] of Object.entries(PROVIDER)) {
    await writeFile(join(provider, name), text);
  }
  for (const [at, { code }] of found.entries()) {
    await writeFile(join(FOLDER, `block-${at}.ts`), code);
  }
  const compilerOptions = { rootDir: ".", outDir: "built" };
  const settings = { extends: "../../tsconfig.json", compilerOptions, include: ["*.ts"] };
  await writeFile(join(FOLDER, "tsconfig.json"), JSON.stringify(settings));
  run(join(PROJECT, "node_modules/.bin/tsc"), "-p", FOLDER);
  for (let time = 1; time <= 2; time++) {
    for (const [at, { printed }] of found.entries()) {
      const [said, expected] = [run(process.execPath, join(FOLDER, `built/block-${at}.js`)), printed].map(undated);
      assert.equal(said, expected, `block ${at}, time ${time}`);
    }
  }
});

function undated(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\d/g, "DATE");
}

function run(command: string, ...words: string[]): string {
  const env = { ...process.env, MEMORYBASE_URL: running().url, MEMORYBASE_API_KEY: KEY };
  const done = spawnSync(command, words, { cwd: FOLDER, env, encoding: "utf8", timeout: 120_000 });
  assert.equal(done.status, 0, done.stdout + done.stderr);
  return done.stdout;
}

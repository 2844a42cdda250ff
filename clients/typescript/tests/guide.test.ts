/** The code of docs/howto/typescript-client.md: type-checked, and what needs no model of a provider is run in order. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { KEY, PROJECT, ROOT, running } from "./stack.js";

const GUIDE = join(ROOT, "docs/howto/typescript-client.md");
const FOLDER = join(PROJECT, "build/guide");
// Blocks with one of these are type-checked only, each with the reason.
const NOT_RUN = { "@ai-sdk/openai": "asks a model of a provider; ai.test.ts runs the middleware" };

// Providers have types of their own, which are not installed here.
const PROVIDER = `
declare module "@ai-sdk/openai" {
  export function openai(id: string): import("ai/test").MockLanguageModelV4;
}
`;

async function blocks(): Promise<string[]> {
  const text = await readFile(GUIDE, "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```/gms)].map((found) => found[1] ?? "");
}

test("every block of the guide has right types, and runs", async () => {
  const found = await blocks();
  assert(found.length >= 3);
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  for (const [at, code] of found.entries()) {
    await writeFile(join(FOLDER, `block-${at}.ts`), code);
  }
  await writeFile(join(FOLDER, "provider.d.ts"), PROVIDER);
  const compilerOptions = { rootDir: ".", outDir: "built" };
  const settings = { extends: "../../tsconfig.json", compilerOptions, include: ["*.ts"] };
  await writeFile(join(FOLDER, "tsconfig.json"), JSON.stringify(settings));
  run(join(PROJECT, "node_modules/.bin/tsc"), "-p", FOLDER);
  for (const [at, code] of found.entries()) {
    if (!Object.keys(NOT_RUN).some((mark) => code.includes(mark))) {
      run(process.execPath, join(FOLDER, `built/block-${at}.js`));
    }
  }
});

function run(command: string, ...words: string[]): void {
  const env = { ...process.env, MEMORYBASE_URL: running().url, MEMORYBASE_API_KEY: KEY };
  const done = spawnSync(command, words, { cwd: FOLDER, env, encoding: "utf8", timeout: 120_000 });
  assert.equal(done.status, 0, done.stdout + done.stderr);
}

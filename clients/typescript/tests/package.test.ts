/** The package as it is installed: packed, in an empty project, imported and type-checked. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cp, mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";

import { KEY, PROJECT, running } from "./stack.js";

const MAX_PACKED_BYTES = 150_000;
const project = mkdtempSync(join(tmpdir(), "memorybase-package-"));
process.on("exit", () => rmSync(project, { recursive: true, force: true }));

interface Packed {
  filename: string;
  size: number;
  files: { path: string }[];
}
let packed: Packed;

function run(cwd: string, ...[command, ...words]: string[]): string {
  return execFileSync(command as string, words, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

before(async () => {
  const pack = ["npm", "pack", "--json", "--ignore-scripts", "--pack-destination", project];
  [packed] = JSON.parse(run(PROJECT, ...pack)) as [Packed];
  await writeFile(join(project, "package.json"), '{ "private": true, "type": "module" }');
  run(project, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", join(project, packed.filename));
});

test("it is small, with types and without tests", () => {
  const paths = packed.files.map((file) => file.path);
  assert(packed.size < MAX_PACKED_BYTES, `${packed.size} bytes`);
  for (const path of ["dist/index.js", "dist/index.d.ts", "dist/schema.d.ts", "dist/ai/index.js", "LICENSE"]) {
    assert(paths.includes(path), path);
  }
  assert.deepEqual(paths.filter((path) => !/^(dist\/|LICENSE$|README.md$|package.json$)/.test(path)), []);
});

test("it needs nothing but openapi-fetch", async () => {
  const installed = (await readdir(join(project, "node_modules"))).filter((name) => !name.startsWith("."));
  assert.deepEqual(installed.sort(), ["memorybase-client", "openapi-fetch", "openapi-typescript-helpers"]);
});

const USE = `
import { Client, errors } from "memorybase-client";
import { Outbox } from "memorybase-client/outbox";
import { memoryMiddleware } from "memorybase-client/ai";
import { memoryHandlers } from "memorybase-client/anthropic-memory";
const [url, key, directory] = process.argv.slice(1);
const client = new Client({ url, key, outbox: new Outbox(directory) });
const { status } = await client.healthLive();
const missing = await client.getFlow("none").catch((error) => error instanceof errors.NotFound);
const middleware = memoryMiddleware({ client, flowId: "f" });
const handlers = Object.keys(memoryHandlers({ client, flowId: "f" })).length;
console.log(JSON.stringify([status, missing, middleware.specificationVersion, handlers]));
await client.close();
`;

test("it works in an empty project, the AI SDK and Anthropic's SDK not installed", () => {
  const words = ["--input-type=module", "--eval", USE, running().url, KEY, join(project, "outbox")];
  assert.deepEqual(JSON.parse(run(project, process.execPath, ...words)), ["ok", true, "v4", 6]);
});

test("the main entry needs nothing of Node", async () => {
  const dist = join(project, "node_modules/memorybase-client/dist");
  const names = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith(".js"));
  for (const name of names.filter((each) => !each.startsWith("outbox"))) {
    const source = await readFile(join(dist, name), "utf8");
    const imports = [...source.matchAll(/^(?:import|export) .*from "([^"]+)"/gm)].map((found) => found[1] ?? "");
    assert.deepEqual(imports.filter((each) => !each.startsWith(".") && each !== "openapi-fetch"), [], name);
    assert(!/\b(Buffer|require|__dirname)\b/.test(source), name);
  }
});

const TYPED = `
import { Client, errors, type Schemas } from "memorybase-client";
import { Outbox } from "memorybase-client/outbox";

const outbox = new Outbox("outbox", { maxCaptures: 10 });
const client = new Client({ url: "http://127.0.0.1:8000", key: "k", outbox });
const messages: Schemas["SentMessage"][] = [{ role: "user", content: "Berth 12." }, { text: "And?", sender: "User" }];
const id: string = await client.capture("f", { session_id: "s", messages });
const { results } = await client.searchFlow({ flow_id: "f", query: id, mode: "keyword" });
const score: number | undefined = results[0]?.score;
for await (const message of client.listMessages({ flow_id: "f" })) {
  const content: Schemas["MessageView"]["content"] = message.content;
  console.log(content, score, message instanceof errors.NotFound);
}
// @ts-expect-error There is no such mode.
await client.searchFlow({ flow_id: "f", query: "q", mode: "telepathy" });
// @ts-expect-error A query is required.
await client.searchFlow({ flow_id: "f" });
// @ts-expect-error There is no such field.
await client.putFlow("f", { title: "F" });
// @ts-expect-error A message has a role.
await client.captureRun("f", { session_id: "s", messages: [{ content: "one" }] });
// @ts-expect-error An answer has no such field.
results[0]?.nothing;
`;

const TYPED_AI = `
import { wrapLanguageModel, type LanguageModelMiddleware } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Client } from "memorybase-client";
import { memoryMiddleware } from "memorybase-client/ai";

const middleware = memoryMiddleware({ client: new Client({ key: "k" }), flowId: "f", sessionId: "s" });
const same: LanguageModelMiddleware = middleware;
export const model = wrapLanguageModel({ model: new MockLanguageModelV4(), middleware: [middleware, same] });
`;

const TYPED_ANTHROPIC = `
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import { Client } from "memorybase-client";
import { memoryHandlers } from "memorybase-client/anthropic-memory";

export const tool = betaMemoryTool(memoryHandlers({ client: new Client({ key: "k" }), flowId: "f" }));
`;

for (const [module, moduleResolution] of [["nodenext", "nodenext"], ["esnext", "bundler"]]) {
  test(`its types are right for ${moduleResolution}`, async () => {
    const folder = join(project, `types-${moduleResolution}`);
    await mkdir(join(folder, "node_modules"), { recursive: true });
    const installed = join(project, "node_modules");
    await cp(join(installed, "memorybase-client"), join(folder, "node_modules/memorybase-client"), { recursive: true });
    for (const name of ["openapi-fetch", "openapi-typescript-helpers"]) {
      await symlink(join(installed, name), join(folder, "node_modules", name));
    }
    const compilerOptions = {
      module, moduleResolution, target: "es2022", lib: ["es2022", "dom", "dom.iterable"], types: [], strict: true,
      exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true, skipLibCheck: false,
    };
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["use.ts"] }));
    await writeFile(join(folder, "use.ts"), TYPED);
    check(folder);
    // With the AI SDK and Anthropic's, whose own types are not ours to check.
    for (const name of ["ai", "@ai-sdk", "@anthropic-ai", "@types", "zod", "@standard-schema"]) {
      await symlink(join(PROJECT, "node_modules", name), join(folder, "node_modules", name)).catch(() => undefined);
    }
    const withAi = { ...compilerOptions, skipLibCheck: true, types: ["node"] };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: withAi, include: ["sdks/*.ts"] }));
    await mkdir(join(folder, "sdks"));
    await writeFile(join(folder, "sdks/ai.ts"), TYPED_AI);
    await writeFile(join(folder, "sdks/anthropic.ts"), TYPED_ANTHROPIC);
    check(folder);
  });
}

function check(folder: string): void {
  const tsc = join(PROJECT, "node_modules/.bin/tsc");
  const done = spawnSync(tsc, ["-p", folder], { encoding: "utf8" });
  assert.equal(done.stdout + done.stderr, "");
  assert.equal(done.status, 0);
}

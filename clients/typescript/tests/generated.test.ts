/** The client follows the API: its generated files, its methods, its errors and its version. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { camelCase, generated, operationsOf, readContract } from "../scripts/generate.js";
import { Client, errors } from "../src/index.js";
import { PROJECT, PYTHON, ROOT } from "./stack.js";

/** What the server's environment prints. */
function python(code: string): string {
  const env = { ...process.env, PYTHONPATH: `${ROOT}:${join(ROOT, "clients/python/src")}` };
  return execFileSync(PYTHON, ["-c", code], { env, encoding: "utf8" }).trim();
}

test("the generated files are up to date", async () => {
  for (const [path, source] of Object.entries(await generated())) {
    assert(source === (await readFile(join(PROJECT, path), "utf8")), `${path}: run npm run generate`);
  }
});

test("every operation has a method", async () => {
  const operations = operationsOf(await readContract());
  assert(operations.length > 70);
  const missing = operations
    .map(([, , { operationId }]) => camelCase(operationId))
    .filter((name) => typeof (Client.prototype as unknown as Record<string, unknown>)[name] !== "function");
  assert.deepEqual(missing, [], "run npm run generate");
});

test("every error of the Python client has its class here, below the same class", () => {
  const code =
    "import json; from memorybase_client.errors import BY_CODE as found\n" +
    "print(json.dumps({code: [kind.__name__, kind.__base__.__name__] for code, kind in found.items()}))";
  const wanted = JSON.parse(python(code)) as Record<string, [string, string]>;
  const ours = [...errors.BY_CODE].map(([name, kind]) => {
    const base = (Object.getPrototypeOf(kind) as { name: string }).name;
    return [name, [kind.name, kind === errors.MemorybaseError ? "Exception" : base]];
  });
  assert.deepEqual(Object.fromEntries(ours), wanted);
});

test("every code in the OpenAPI document has a class", async () => {
  const { schemas } = (await readContract()).components as unknown as {
    schemas: { ErrorBody: { properties: { code: { enum: string[] } } } };
  };
  const codes = schemas.ErrorBody.properties.code.enum;
  assert.deepEqual(codes.filter((code) => !errors.BY_CODE.has(code)), []);
});

test("the version is the server's", async () => {
  const { version } = JSON.parse(await readFile(join(PROJECT, "package.json"), "utf8")) as { version: string };
  assert.equal(version, python("import memorybase; print(memorybase.__version__)"));
});

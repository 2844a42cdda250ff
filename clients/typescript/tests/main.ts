/** Runs the tests against one stack: `node build/tests/main.js`, or with names of files: `... client outbox`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";

import { withStack } from "./stack.js";

const SECONDS = 600; // of one file

const here = import.meta.dirname;
const names = process.argv.slice(2);
const isChosen = (file: string): boolean => names.length === 0 || names.some((name) => file === `${name}.test.js`);
const files = readdirSync(here)
  .filter((file) => file.endsWith(".test.js") && isChosen(file))
  .map((file) => join(here, file));

process.exitCode = await withStack(async ({ url, dataDir }) => {
  // One file at a time: some kill the API.
  const options = ["--test", "--test-reporter=spec", "--test-concurrency=1", `--test-timeout=${SECONDS * 1000}`];
  const child = spawn(process.execPath, [...options, ...files], {
    env: { ...process.env, MEMORYBASE_TEST_URL: url, MEMORYBASE_TEST_DATA_DIR: dataDir },
    stdio: "inherit",
  });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
});

/** `memorybase up` as the server of the tests, with the Python environment of this repository. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
export const ROOT = resolve(PROJECT, "../..");
export const PYTHON = process.env["MEMORYBASE_PYTHON"] ?? join(ROOT, ".venv/bin/python");
export const KEY = "mb_test_key_of_the_typescript_client";

const START_SECONDS = 180; // the first one exports the embedding model
const STOP_SECONDS = 60;

export interface Stack {
  url: string;
  key: string;
  dataDir: string;
}

/** The stack that main.ts started. */
export function running(): Stack {
  const { MEMORYBASE_TEST_URL: url, MEMORYBASE_TEST_DATA_DIR: dataDir } = process.env;
  if (!url || !dataDir) {
    throw new Error("run the tests with: npm test -- NAME (build/tests/main.js starts their server)");
  }
  return { url, key: KEY, dataDir };
}

/** The process id of a part of the stack: api, worker, redis, chroma or sweeper. 0 while it is not running. */
export function pidOf(part: string, { dataDir }: Stack = running()): number {
  const path = join(dataDir, "run", `${part}.pid`);
  return existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
}

/** Start a stack in a directory of its own, run something, and end both. */
export async function withStack<T>(work: (stack: Stack) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "memorybase-typescript-"));
  const dataDir = join(directory, "data");
  const port = await freePort();
  const log = join(directory, "stack.log");
  const child = start(port, dataDir, log);
  const stop = (): void => void child.kill("SIGTERM");
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    await untilReady(child, log);
    return await work({ url: `http://127.0.0.1:${port}`, key: KEY, dataDir });
  } finally {
    await end(child);
    await rm(directory, { recursive: true, force: true });
  }
}

function start(port: number, dataDir: string, log: string): ChildProcess {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("MEMORYBASE_"));
  // The same directory as that of the Python tests, so that the model is exported once.
  const models = join(tmpdir(), `memorybase-test-models-${process.getuid?.() ?? 0}`);
  const output = openSync(log, "a");
  // With the tests killed outright, the stack stops too.
  const words = spawnSync("setpriv", ["--version"]).status === 0 ? ["setpriv", "--pdeathsig", "TERM"] : [];
  const [command, ...rest] = [...words, PYTHON, "-m", "memorybase", "up", "--port", `${port}`, "--data-dir", dataDir];
  const child = spawn(command as string, rest, {
    cwd: ROOT,
    env: { ...Object.fromEntries(kept), PYTHONPATH: ROOT, MEMORYBASE_MODEL_DIR: models, MEMORYBASE_API_KEY: KEY },
    stdio: ["ignore", output, output],
    detached: true, // Ctrl-C is for the tests, which then stop it in order
  });
  closeSync(output);
  return child;
}

async function untilReady(child: ChildProcess, log: string): Promise<void> {
  const deadline = Date.now() + START_SECONDS * 1000;
  while (!/^ready http/m.test(readFileSync(log, "utf8"))) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      throw new Error(`the stack does not run:\n${readFileSync(log, "utf8").slice(-3000)}`);
    }
    await wait(100);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_SECONDS * 1000);
  await exited;
  clearTimeout(timer);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

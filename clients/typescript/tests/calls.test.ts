/** What the client sends, repeats and reads, without a server. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import {
  bearer, checkIds, connectionFailed, connectionOf, errorOf, limitSeconds, optionalBody, pauseBeforeRetry, type Call,
} from "../src/calls.js";
import { Client, errors } from "../src/index.js";
import { withMessageIds, withRunId } from "../src/ids.js";
import { Events, Lines, PART_LINES, partsOf, plus } from "../src/lines.js";
import { failure, scripted } from "./servers.js";

const CALL: Call = { method: "POST", path: "/v1/flows/{flow_id}/runs" };

function pause(error: errors.MemorybaseError, attempt = 1): number | undefined {
  return pauseBeforeRetry(error, { attempt, tries: 5 });
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) {
    found.push(item);
  }
  return found;
}

function between(value = Number.NaN, least: number, most: number): void {
  assert(value >= least && value <= most, `${value} is not between ${least} and ${most}`);
}

test("an id stays one segment of the path", async () => {
  const flow = { id: "00000000-0000-0000-0000-000000000001", external_id: null, name: "f", created_at: "" };
  const ids = ["a/b", "ü?#", "a.b", "%2e%2e", "...", "$&"];
  await scripted(ids.map(() => ({ status: 200, body: flow })), async ({ url, requests }) => {
    const client = new Client({ url, key: "k" });
    for (const id of ids) {
      await client.getFlow(id);
    }
    assert.deepEqual(requests.map((each) => decodeURIComponent(each.path)), ids.map((id) => `/v1/flows/${id}`));
    assert.deepEqual(requests.map((each) => each.path.split("/").length), ids.map(() => 4));
  });
});

test("an id that would make the path another call's is refused", async () => {
  for (const id of ["", ".", ".."]) {
    assert.throws(() => checkIds({ flow_id: id }), /flow_id must/);
    await assert.rejects(new Client({ key: "k" }).getFlow(id), TypeError);
  }
});

test("a body that is optional is left out if nothing is in it", () => {
  assert.equal(optionalBody({ session_id: undefined }), undefined);
  assert.deepEqual(optionalBody({ session_id: null }), { session_id: null });
});

test("a call that waits is given the time for it", () => {
  assert.equal(limitSeconds(CALL, 5), 5);
  assert.equal(limitSeconds({ ...CALL, waitSeconds: 60 }, 5), 70);
});

/** A user with no settings, on a machine without a stack; the folder of the note. */
function alone(context: TestContext): string {
  const { MEMORYBASE_URL, MEMORYBASE_API_KEY, XDG_STATE_HOME } = process.env;
  context.after(() => {
    for (const [name, value] of Object.entries({ MEMORYBASE_URL, MEMORYBASE_API_KEY, XDG_STATE_HOME })) {
      delete process.env[name];
      if (value !== undefined) {
        process.env[name] = value;
      }
    }
  });
  delete process.env["MEMORYBASE_URL"];
  delete process.env["MEMORYBASE_API_KEY"];
  const state = mkdtempSync(join(tmpdir(), "memorybase-state-"));
  process.env["XDG_STATE_HOME"] = state;
  mkdirSync(join(state, "memorybase"));
  return join(state, "memorybase");
}

test("the environment names server and key", (context) => {
  alone(context);
  assert.deepEqual(connectionOf(undefined, "given"), { url: "http://127.0.0.1:8000", key: "given" });
  assert.throws(() => connectionOf(undefined, undefined), /set MEMORYBASE_API_KEY, or start memorybase/);
  process.env["MEMORYBASE_URL"] = "https://memory.example/";
  process.env["MEMORYBASE_API_KEY"] = "from the environment";
  assert.deepEqual(connectionOf(undefined, undefined), { url: "https://memory.example", key: "from the environment" });
  assert.equal(connectionOf(undefined, "given").key, "given");
});

test("a client finds the stack of this machine, and sends its key to no other address", (context) => {
  const file = join(alone(context), "stack.json");
  writeFileSync(file, JSON.stringify({ url: "http://127.0.0.1:8123", key: "its key" }), { mode: 0o600 });
  assert.deepEqual(connectionOf(undefined, undefined), { url: "http://127.0.0.1:8123", key: "its key" });
  assert.throws(() => connectionOf("https://memory.example", undefined), /An API key is required/);
  chmodSync(file, 0o640);
  assert.throws(() => connectionOf(undefined, undefined), /An API key is required/);
});

test("a URL that is not complete is refused", () => {
  assert.throws(() => new Client({ url: "localhost 8000", key: "k" }), /must be complete.*got 'localhost 8000'/);
});

test("a key is sent as UTF-8", () => {
  assert.deepEqual(Buffer.from(bearer("wröng ✓"), "latin1").toString(), "Bearer wröng ✓");
});

test("a retryable answer is repeated after what it asks for", () => {
  const status = 503;
  assert.equal(pause(new errors.RateLimited("", { status: 429, retryable: true, retryAfter: 3 })), 3);
  assert.equal(pause(new errors.DatabaseUnavailable("", { status, retryable: true, retryAfter: 31 })), undefined);
  assert.equal(pause(new errors.ModelPreparing("", { status, retryable: true, retryAfter: 5 })), 5);
  between(pause(new errors.DatabaseUnavailable("", { status, retryable: true })), 0.05, 0.1);
  between(pause(new errors.DatabaseUnavailable("", { status, retryable: true }), 4), 0.4, 0.8);
});

test("what a repetition cannot change is not repeated", () => {
  assert.equal(pause(new errors.CollectionMissing("", { status: 503, retryAfter: 5 })), undefined);
  assert.equal(pause(new errors.IngestionActive("", { status: 409, retryable: true, retryAfter: 1 })), undefined);
  assert.equal(pause(new errors.NotFound("", { status: 404 })), undefined);
});

test("the answer to the call itself is worth a wait", () => {
  assert.equal(pause(new errors.IdempotencyInProgress("", { status: 409, retryable: true, retryAfter: 3 })), 3);
  assert.equal(pause(new errors.SecretNotStored("", { status: 409 })), undefined);
  assert.equal(pause(new errors.QuotaExceeded("", { status: 429, retryable: true, retryAfter: 3600 })), undefined);
  assert.equal(pause(new errors.QuotaFull("", { status: 429, retryable: true })), undefined);
});

test("the last try is the last", () => {
  const error = new errors.RateLimited("", { status: 429, retryable: true, retryAfter: 0 });
  assert.deepEqual([4, 5].map((attempt) => pause(error, attempt)), [0, undefined]);
});

test("a failed connection names what fetch says last", () => {
  const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  const { message } = connectionFailed(new TypeError("fetch failed", { cause: reset }), "http://a");
  assert.equal(message, "No answer from http://a: ECONNRESET");
});

test("an error is one of its code's class with all its fields", () => {
  const given = { message: "taken", field: "name", value: "a", limit: 1, details: { existing_id: "x" } };
  const body = failure("name_taken", given);
  const error = errorOf({ status: 409, headers: new Headers() }, body);
  assert(error instanceof errors.NameTaken && error instanceof errors.Conflict && error instanceof Error);
  const { name, message, status, field, value, limit, requestId, details } = error;
  assert.deepEqual({ name, message, status, field, value, limit, requestId, details }, {
    name: "NameTaken", message: "taken", status: 409, field: "name", value: "a", limit: 1, requestId: "r",
    details: { existing_id: "x" },
  });
});

test("a code of a newer server keeps its name", () => {
  for (const [status, kind] of [[418, errors.CallerError], [507, errors.ServerFailure]] as const) {
    const headers = new Headers({ "Retry-After": "7" });
    const error = errorOf({ status, headers }, failure("of_the_future", { retryable: true }));
    const { constructor, code, retryable, retryAfter } = error;
    assert.deepEqual([constructor, code, retryable, retryAfter], [kind, "of_the_future", true, 7]);
    assert.notEqual(kind.code, "of_the_future");
  }
});

test("an answer of something else says so", () => {
  for (const [status, retryable] of [[502, true], [504, true], [500, false], [404, false], [302, false]] as const) {
    const error = errorOf({ status, headers: new Headers() }, "<html>");
    assert(error instanceof errors.UnexpectedAnswer);
    assert.equal(error.retryable, retryable);
  }
});

test("ids are chosen where the caller left them out", () => {
  assert.deepEqual(withRunId({ run_id: "mine" }), { run_id: "mine" });
  assert.match(withRunId({ run_id: null }).run_id, /^[0-9a-f-]{36}$/);
  const { messages } = withMessageIds({
    messages: [{ role: "user", id: "mine" }, { role: "user", content: "c" }, { type: "ai", data: { content: "c" } }],
  });
  assert.deepEqual(messages[0], { role: "user", id: "mine" });
  assert.match((messages[1] as { id: string }).id, /^[0-9a-f-]{36}$/);
  assert.match((messages[2] as { data: { id: string } }).data.id, /^[0-9a-f-]{36}$/);
});

test("lines are split at line feeds only, wherever a part ends", () => {
  const bytes = Buffer.from('{"a": "x\u2028y\x85"}\n{"b": 1}\nrest');
  for (const size of [1, 2, 7, 100]) {
    const lines = new Lines();
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      found.push(...lines.feed(bytes.subarray(at, at + size)));
    }
    assert.deepEqual([found, lines.rest], [['{"a": "x\u2028y\x85"}', '{"b": 1}'], "rest"]);
  }
});

test("events have a name and data, and comments are skipped", () => {
  const events = new Events();
  const sent = "event: job\ndata: {}\n\n: still there\n\ndata: a\ndata:b\n\nevent: end\r\ndata: 1\r\n\r\n";
  const found = sent.split("\n").flatMap((line) => events.feed(line) ?? []);
  assert.deepEqual(found, [
    { name: "job", data: "{}" }, { name: "message", data: "a\nb" }, { name: "end", data: "1" },
  ]);
});

test("an import is sent in parts of whole lines", async () => {
  const lines = Array.from({ length: PART_LINES + 1 }, (_, at) => `{"n": ${at}}\n`);
  const parts = await collected(partsOf(lines));
  assert.deepEqual(parts.map((each) => each.before), [0, PART_LINES]);
  assert.equal(parts.map((each) => each.text).join(""), lines.join(""));
  const large = await collected(partsOf(["x".repeat(600_000), "y".repeat(600_000), "z"]));
  assert.deepEqual(large.map((each) => each.before), [0, 1]);
});

test("counts and lists of parts are added", () => {
  assert.deepEqual(plus(plus(undefined, { a: 1, b: { c: 2 } }), { a: 3, b: { c: 4 } }), { a: 4, b: { c: 6 } });
  const listed = plus(plus(plus(undefined, { w: ["x"] }), { w: ["y"] }), { a: 1 });
  assert.deepEqual(listed, { a: 1, w: ["x", "y"] });
});

/** The client against the real stack. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, errors, type Schemas } from "../src/index.js";
import { connected, contents, recorded, said, unique } from "./helpers.js";
import { running } from "./stack.js";

test("what was captured is found once it is searchable", async () => {
  const client = connected();
  const flow = unique("support/é");
  assert.equal((await client.putFlow(flow, { name: "Support" })).external_id, flow);
  const memory = await client.createMemoryBase({ name: unique("notes"), flow_id: flow, threshold: 50 });
  const messages = said("Berth 12 is free", "Bring a rope");
  const captured = await client.captureRun(flow, { session_id: "anna", messages });
  assert.deepEqual(captured.messages.map((message) => message.seq), [1, 2]);

  const settled = await client.waitUntilSearchable(memory.id, {}, { timeoutSeconds: 60 });

  assert.deepEqual([settled.pending_messages, settled.total_processed, settled.status], [0, 2, "ready"]);
  const answer = await client.searchMemoryBase(memory.id, { query: "Which berth?", top_k: 1, include_pending: false });
  assert.deepEqual(answer.results.map((hit) => hit.content), ["Berth 12 is free"]);
  const words = await client.searchFlow({ flow_id: flow, query: "rope", mode: "keyword" });
  assert.equal(words.results[0]?.session_id, "anna");
});

test("waiting includes the repair after an edit", async () => {
  const client = connected();
  const flow = unique("edit");
  await client.putFlow(flow, { name: flow });
  const memory = await client.createMemoryBase({ name: flow, flow_id: flow });
  const { messages } = await client.captureRun(flow, { session_id: "s", messages: said("The code is one.") });
  await client.waitUntilSearchable(memory.id);
  const { job_ids } = await client.editMessage(messages[0]?.id ?? "", { content: "The code is two." });
  assert.equal(job_ids.length, 1);
  await client.waitUntilSearchable(memory.id, { session_id: "s" });
  assert.equal((await client.getJob(job_ids[0] ?? "")).state, "done");
});

test("waiting ends with an error when the time is over", async () => {
  const client = connected();
  const flow = unique("late");
  await client.putFlow(flow, { name: flow });
  const memory = await client.createMemoryBase({ name: flow, flow_id: flow });
  await client.captureRun(flow, { session_id: "s", messages: said("one") });
  await assert.rejects(client.waitUntilSearchable(memory.id, {}, { timeoutSeconds: 0 }), (error) => {
    assert(error instanceof errors.NotSearchable);
    assert.match(error.message, /1 messages are pending.*after 0 s.*memorybase doctor/);
    return true;
  });
});

test("a list is iterated over all its pages or read by page", async () => {
  const client = connected();
  const flow = unique("pages");
  await client.putFlow(flow, { name: flow });
  const texts = Array.from({ length: 7 }, (_, at) => `text ${at}`);
  await client.captureRun(flow, { session_id: "s", messages: said(...texts) });
  const listing = client.listMessages({ session_id: "s", flow_id: flow, size: 3 });

  const seen: number[] = [];
  for await (const message of listing) {
    seen.push(message.seq);
  }
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7]);
  const sizes: number[] = [];
  for await (const page of listing.pages()) {
    sizes.push(page.items.length);
  }
  assert.deepEqual(sizes, [3, 3, 1]);
  const page = await listing.page();
  assert.deepEqual([page.total, page.items.length], [7, 3]);
  const later = client.listMessages({ session_id: "s", flow_id: flow, size: 3, cursor: page.next_cursor ?? "" });
  assert.deepEqual((await later.toArray()).map((message) => message.seq), [4, 5, 6, 7]);
  const second = client.listMessages({ flow_id: flow, size: 2, page: 2 });
  assert.deepEqual((await second.toArray()).map((message) => message.seq), [3, 4, 5, 6, 7]);
});

test("a list without a cursor is iterated by page", async () => {
  const client = connected();
  const names = ["a", "b", "c"].map(unique);
  for (const name of names) {
    await client.createKey({ name, scopes: ["read"] });
  }
  const found = (await client.listKeys({ size: 1 }).toArray()).map((key) => key.name);
  assert.deepEqual(names.filter((name) => found.includes(name)), names);
});

test("a chat is iterated from its first message, and exported", async () => {
  const client = connected();
  const flow = unique("chat");
  await client.putFlow(flow, { name: flow });
  await client.putChatMemory(flow, "node", { name: "chat", chat_id: "{{ who }}" });
  const texts = Array.from({ length: 5 }, (_, at) => `text ${at}`);
  for (const content of texts) {
    await client.postChatMessages(flow, "node", { chat_id: "c", messages: [{ role: "user", content }] });
  }
  const listed = await client.listChatMessages(flow, "node", { chat_id: "c", limit: 2 }).toArray();
  assert.deepEqual(listed.map((message) => message.content), texts);
  const lines: Schemas["ExportLine"][] = [];
  for await (const line of client.exportChats(flow, "node")) {
    lines.push(line);
  }
  assert.equal(lines.at(-1)?.type, "end");
});

test("errors have the class of their code", async () => {
  const client = connected();
  const flow = unique("errors");
  await assert.rejects(client.getFlow("nothing"), errors.NotFound);
  await assert.rejects(client.createMemoryBase({ name: "m", flow_id: flow, threshold: 0 }), (error) => {
    assert(error instanceof errors.InvalidRequest);
    assert.deepEqual([error.field, error.limit, error.status], ["threshold", 1, 422]);
    assert(error.requestId);
    return true;
  });
  await client.putFlow(flow, { name: flow });
  const first = await client.createMemoryBase({ name: flow, flow_id: flow });
  await assert.rejects(client.createMemoryBase({ name: flow, flow_id: flow }), (error) => {
    assert(error instanceof errors.NameTaken);
    assert.equal(error.details.existing_id, first.id);
    return true;
  });
});

test("a request that is sent again with its key does nothing twice", async () => {
  const client = connected();
  const name = unique("keyed");
  const idempotencyKey = unique("key");
  const first = await client.createFlow({ name }, { idempotencyKey });
  assert.deepEqual(await client.createFlow({ name }, { idempotencyKey }), first);
  await assert.rejects(client.createFlow({ name: "other" }, { idempotencyKey }), errors.IdempotencyKeyReused);
});

test("a deletion answers nothing once it is done", async () => {
  const client = connected();
  const flow = unique("deleted");
  await client.putFlow(flow, { name: flow });
  assert.equal(await client.deleteFlow(flow), undefined);
  await assert.rejects(client.deleteFlow(flow), errors.NotFound);
});

test("a wrong key is unauthorized, and no key is shown", async () => {
  const { lines, log } = recorded();
  const client = connected({ key: "wröng-secret", log });
  await assert.rejects(client.listFlows().page(), (error) => {
    assert(error instanceof errors.Unauthorized);
    assert(!`${error.stack}${JSON.stringify(error)}${JSON.stringify(client)}${lines}`.includes("wröng-secret"));
    return true;
  });
});

test("an export can be imported", async () => {
  const client = connected();
  const flow = unique("export");
  await client.putFlow(flow, { name: flow });
  const texts = ["one", "line\u2028separator", "ü".repeat(1000)];
  await client.captureRun(flow, { session_id: "s", run_id: "r", messages: said(...texts) });
  const lines: Schemas["ExportLine"][] = [];
  for await (const line of client.exportLines({ flow_id: flow })) {
    lines.push(line);
  }
  const answer = await client.importLines(lines.map((line, at) => (at % 2 ? line : JSON.stringify(line))));
  assert.deepEqual([answer.lines, answer.messages?.known], [lines.length, 3]);
  await assert.rejects(client.importLines([...Array.from({ length: 1_200 }, () => ""), "{"]), errors.CallerError);
});

test("a job is watched until it ends", async () => {
  const client = connected();
  const flow = unique("watch");
  await client.putFlow(flow, { name: flow });
  const memory = await client.createMemoryBase({ name: flow, flow_id: flow });
  await client.captureRun(flow, { session_id: "s", messages: said("one") });
  const { jobs } = await client.flushMemoryBase(memory.id);
  const states: string[] = [];
  for await (const job of client.watchJob(jobs[0]?.id ?? "")) {
    states.push(job.state);
  }
  assert.equal(states.at(-1), "done");
});

test("metrics are text", async () => {
  assert.match(await connected().getMetrics(), /# HELP/);
});

test("a capture without an outbox throws at once", async () => {
  const client = connected();
  await assert.rejects(client.capture("f", { session_id: "s", messages: said("one") }), /capture\(\) needs an outbox/);
  await client.close();
});

test("a context is built", async () => {
  const client = connected();
  const flow = unique("context");
  await client.putFlow(flow, { name: flow });
  await client.captureRun(flow, { session_id: "s", messages: [{ role: "user", content: "My boat is at berth 12." }] });
  const view = await client.buildContext({ flow_id: flow, session_id: "s", token_budget: 500 });
  assert.match(view.text, /berth 12/);
  assert.deepEqual(await contents(client, flow), ["My boat is at berth 12."]);
});

test("a client reads the address and the key from the environment", async (context) => {
  const { url, key } = running();
  context.after(() => {
    delete process.env["MEMORYBASE_URL"];
    delete process.env["MEMORYBASE_API_KEY"];
  });
  Object.assign(process.env, { MEMORYBASE_URL: url, MEMORYBASE_API_KEY: key });
  assert.equal((await new Client().healthLive()).status, "ok");
});

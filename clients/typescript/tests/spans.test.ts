/** Spans of the client, as a receiver of OTLP got them from OpenTelemetry's SDK. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, test } from "node:test";

import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

import { Client, errors } from "../src/index.js";
import { OF_CALLS, SCHEMA_URL, TEXTS_VARIABLE } from "../src/otel-names.js";
import { connected, said, unique } from "./helpers.js";
import { failure, scripted } from "./servers.js";
import { running } from "./stack.js";

const SECRET = "ornithopter";

interface Sent {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  status: { code?: number; message?: string };
  events: unknown[];
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

let received: Sent[] = [];
const schemas = new Set<string>();
const receiver = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) {
    body += String(part);
  }
  for (const { scopeSpans } of JSON.parse(body).resourceSpans) {
    for (const { spans, schemaUrl } of scopeSpans as { spans: Sent[]; schemaUrl: string }[]) {
      received.push(...spans);
      schemas.add(schemaUrl);
    }
  }
  response.end("{}");
});
let provider: NodeTracerProvider;

before(async () => {
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/v1/traces`;
  provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url }))] });
  provider.register();
});

after(async () => {
  await provider.shutdown();
  receiver.close();
});

afterEach(() => {
  delete process.env[TEXTS_VARIABLE];
});

/** The spans that the work made, when the receiver has them. */
async function spansOf(work: () => Promise<unknown>): Promise<Sent[]> {
  received = [];
  await work();
  await provider.forceFlush();
  return received;
}

function attributesOf(span: Sent | undefined): Record<string, unknown> {
  assert(span);
  return Object.fromEntries(span.attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

async function everyOperation(client: Client): Promise<string> {
  const flow = unique("flow");
  await client.putFlow(flow, { name: flow });
  const base = await client.putMemoryBase(flow, unique("base"), { capture: "all" });
  const other = await client.createMemoryBase({ name: unique("base"), flow_id: flow });
  const captured = await client.captureRun(flow, { session_id: "jane", messages: said(SECRET, "boat") });
  const [first, second] = captured.messages.map((message) => message.id);
  assert(first && second);
  await client.searchMemoryBase(base.id, { query: SECRET, mode: "keyword" });
  await client.searchFlow({ flow_id: flow, query: SECRET, mode: "keyword" });
  await client.buildContext({ flow_id: flow, session_id: "john", query: SECRET, token_budget: 500 });
  await client.editMessage(first, { content: `a new ${SECRET}` });
  await client.deleteMessage(second, {});
  await client.deleteSession({ flow_id: flow, session_id: "jane" });
  await client.captureRun(flow, { session_id: "s", end_user_id: "jane", messages: said(SECRET) });
  await client.eraseEndUser("jane");
  await client.deleteMemoryBase(other.id);
  return base.id;
}

test("every operation of a memory has a span of OpenTelemetry's name", async () => {
  let base = "";
  const spans = await spansOf(async () => (base = await everyOperation(connected())));
  assert.deepEqual(new Set(spans.map((span) => span.name)), new Set(OF_CALLS.values()));
  assert.deepEqual(schemas, new Set([SCHEMA_URL]));
  assert(spans.every((span) => span.kind === 3 && (span.status.code ?? 0) === 0));
  const { hostname, port } = new URL(running().url);
  const server = { "gen_ai.provider.name": "memorybase", "server.address": hostname, "server.port": Number(port) };
  const named = (name: string) => spans.filter((span) => span.name === name).map(attributesOf);
  for (const span of spans) {
    const found = attributesOf(span);
    assert.deepEqual({ ...found, ...server, "gen_ai.operation.name": span.name }, found);
  }
  assert.equal(named("create_memory_store")[0]?.["gen_ai.memory.store.id"], base);
  assert.equal(named("create_memory")[0]?.["gen_ai.memory.record.count"], 2);
  assert.deepEqual(
    named("search_memory").map((found) => [found["gen_ai.memory.store.id"], found["gen_ai.memory.record.count"]]),
    [[base, 2], [undefined, 2], [undefined, 2]],
  );
  assert.match(String(named("update_memory")[0]?.["gen_ai.memory.record.id"]), /^[0-9a-f-]{36}$/);
  assert.deepEqual(named("delete_memory").map((found) => found["gen_ai.memory.record.count"]), [1, 1, 1]);
  const shown = JSON.stringify(spans);
  assert(![SECRET, "jane", running().key].some((each) => shown.includes(each)));
});

test("texts are in spans only if the variable asks for them", async () => {
  process.env[TEXTS_VARIABLE] = "span_only";
  const spans = await spansOf(() => everyOperation(connected()));
  const texts = (name: string, key: string) =>
    attributesOf(spans.find((span) => span.name === name))[`gen_ai.memory.${key}`];
  assert.equal(texts("search_memory", "query.text"), SECRET);
  const [hit] = JSON.parse(String(texts("search_memory", "records")));
  assert.equal(hit.content, SECRET);
  assert.deepEqual(Object.keys(hit), ["content", "id", "score"]);
  assert.deepEqual(JSON.parse(String(texts("create_memory", "records"))), [{ content: SECRET }, { content: "boat" }]);
  assert(!JSON.stringify(spans).includes(running().key));
});

test("a span of a call that fails has the code of its error and no text", async () => {
  await scripted([{ status: 404, body: failure("not_found") }], async ({ url }) => {
    const client = new Client({ url, key: "k", tries: 1 });
    const [span] = await spansOf(() => assert.rejects(client.deleteMessage("of-jane", {}), errors.NotFound));
    assert.equal(span?.status.code, 2);
    assert.equal(attributesOf(span)["error.type"], "not_found");
    assert.deepEqual([span?.status.message ?? "", span?.events ?? []], ["", []]);
    assert(!JSON.stringify(span).includes("jane"));
  });
});

test("every call continues the trace", async () => {
  const flow = { id: "f", external_id: null, name: "f", created_at: "" };
  await scripted([{ status: 200, body: { results: [] } }, { status: 200, body: flow }], async ({ url, requests }) => {
    const client = new Client({ url, key: "k" });
    const spans = await spansOf(() =>
      trace.getTracer("t").startActiveSpan("turn", async (turn) => {
        await client.searchFlow({ flow_id: "f", query: "q" });
        await client.getFlow("f");
        turn.end();
      }),
    );
    const [search, turn] = ["search_memory", "turn"].map((name) => spans.find((span) => span.name === name));
    assert(search && turn);
    assert.deepEqual(
      requests.map((request) => request.headers["traceparent"]),
      [search, turn].map((span) => `00-${turn.traceId}-${span.spanId}-01`),
    );
  });
});

test("an answer that is not memorybase's is the same error with a span", async () => {
  await scripted([{ status: 200, body: "<html>" }], async ({ url }) => {
    const client = new Client({ url, key: "k", tries: 1 });
    const spans = await spansOf(() => assert.rejects(client.searchFlow({ flow_id: "f", query: "q" }), errors.UnexpectedAnswer));
    assert.equal(spans.length, 1);
  });
});

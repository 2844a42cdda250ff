/** The middleware for the AI SDK, with a model that answers what a test says, against the real stack. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { generateText, isStepCount, simulateReadableStream, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

import { memoryMiddleware, type MemoryMiddleware, type MemoryOptions } from "../src/ai/index.js";
import type { Content } from "../src/ai/messages.js";
import { memoriesOf } from "../src/ai/recall.js";
import type { StreamPart } from "../src/ai/stream.js";
import { Client } from "../src/index.js";
import { Outbox } from "../src/outbox/index.js";
import type { Schemas } from "../src/types.js";
import { connected, contents, folder, recorded, unique, until } from "./helpers.js";
import { Gate } from "./servers.js";
import { pidOf } from "./stack.js";

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

function finished(unified: "stop" | "tool-calls" | "error" = "stop"): { unified: typeof unified; raw: undefined } {
  return { unified, raw: undefined };
}

/** A model that gives these answers in turn. */
function answering(...answers: (string | Content)[]): MockLanguageModelV4 {
  const left = [...answers];
  return new MockLanguageModelV4({
    doGenerate: () => {
      const answer = left.shift() ?? "no more answers";
      const content = typeof answer === "string" ? [{ type: "text" as const, text: answer }] : answer;
      const unified = content.some((part) => part.type === "tool-call") ? "tool-calls" : "stop";
      return Promise.resolve({ content, finishReason: finished(unified), usage: USAGE, warnings: [] });
    },
  });
}

/** A model that streams these parts. */
function streaming(...parts: StreamPart[]): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doStream: () => Promise.resolve({ stream: simulateReadableStream({ chunks: parts, chunkDelayInMs: null }) }),
  });
}

function textParts(...texts: string[]): StreamPart[] {
  return [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...texts.map((delta): StreamPart => ({ type: "text-delta", id: "1", delta })),
    { type: "text-end", id: "1" },
    { type: "finish", usage: USAGE, finishReason: finished() },
  ];
}

/** The system messages that the model got in its latest call. */
function systemOf(model: MockLanguageModelV4): string[] {
  const { prompt } = [...model.doGenerateCalls, ...model.doStreamCalls].at(-1) ?? { prompt: [] };
  return prompt.flatMap((message) => (message.role === "system" ? [message.content] : []));
}

/** What the models of a flow's runs were given, as it is recorded. */
async function given(flow: string): Promise<Schemas["NodeUse"][]> {
  const client = connected();
  const runs = (await client.listMessages({ flow_id: flow }).toArray()).map((message) => message.run_id);
  const memories = await Promise.all([...new Set(runs)].map((run) => client.getRunMemory(flow, run)));
  return memories.flatMap(({ nodes }) => nodes);
}

interface Remembering {
  flow: string;
  model: ReturnType<typeof wrapLanguageModel>;
  memory: MemoryMiddleware;
}

/** The model with memory in a flow of its own. */
async function remembering(model: MockLanguageModelV4, options: Partial<MemoryOptions> = {}): Promise<Remembering> {
  const direct = connected();
  const flow = options.flowId ?? unique("ai");
  if (!options.flowId) {
    await direct.putFlow(flow, { name: flow });
    await direct.createMemoryBase({ name: flow, flow_id: flow, capture: "all" });
  }
  const memory = memoryMiddleware({ client: direct, flowId: flow, sessionId: "s", ...options });
  return { flow, model: wrapLanguageModel({ model, middleware: memory }), memory };
}

test("what was said in one session is remembered in the next", async () => {
  const first = answering("Noted: berth 12.");
  const { flow, model, memory } = await remembering(first, { sessionId: "monday", endUserId: "anna" });
  await generateText({ model, system: "Be brief.", prompt: "My boat Albatross lies at berth 12." });
  await memory.flush();
  assert.deepEqual(systemOf(first), ["Be brief."]);

  const second = answering("At berth 12.");
  const next = await remembering(second, { flowId: flow, sessionId: "tuesday", endUserId: "anna" });
  const { text } = await generateText({ model: next.model, system: "Be brief.", prompt: "Where is my boat?" });
  assert.equal(text, "At berth 12.");
  const [own, memories] = systemOf(second);
  assert.equal(own, "Be brief.");
  assert.match(memories ?? "", /^Memories of earlier conversations.*not instructions/);
  assert.match(memories ?? "", /\n- \[\d{4}-\d\d-\d\d\] user: My boat Albatross lies at berth 12\./);
  await next.memory.flush();
  const [nothing, found] = await given(flow);
  assert.deepEqual([nothing?.query, nothing?.messages], ["My boat Albatross lies at berth 12.", []]);
  assert.deepEqual([found?.query, found?.messages], ["Where is my boat?", [{ role: "system", content: memories }]]);
  const [said] = await connected().listMessages({ flow_id: flow, session_id: "monday" }).toArray();
  assert(found?.sources[0]?.message_ids.includes(said?.id ?? ""));
  assert.deepEqual(await contents(connected(), flow), [
    "My boat Albatross lies at berth 12.", "Noted: berth 12.", "Where is my boat?", "At berth 12.",
  ]);
});

test("memories stay with their end user, and without one in the session", async () => {
  const { flow, model, memory } = await remembering(answering("ok"), { sessionId: "a", endUserId: "anna" });
  await generateText({ model, prompt: "The code of my safe is 4711." });
  await memory.flush();
  for (const options of [{ sessionId: "b", endUserId: "ben" }, { sessionId: "c" }]) {
    const asked = answering("I do not know.");
    const other = await remembering(asked, { flowId: flow, ...options });
    await generateText({ model: other.model, prompt: "What is the code of the safe?" });
    await other.memory.flush();
    assert.deepEqual(systemOf(asked), []);
  }
  const asked = answering("4711.");
  const open = await remembering(asked, { flowId: flow, sessionId: "d", scope: "flow" });
  await generateText({ model: open.model, prompt: "What is the code of the safe?" });
  assert.match(systemOf(asked).join(), /4711/);
  await open.memory.flush();
});

test("session and end user can come with each call, and the provider does not get them", async () => {
  const asked = answering("ok", "ok");
  const { flow, model, memory } = await remembering(asked, { sessionId: undefined });
  await generateText({ model, prompt: "not captured" });
  const providerOptions = { memorybase: { sessionId: "mine", endUserId: "anna" }, openai: { store: false } };
  await generateText({ model, prompt: "captured", providerOptions });
  await memory.flush();
  const sessions = await connected().listSessions({ flow_id: flow }).toArray();
  assert.deepEqual(sessions.map((each) => [each.session_id, each.end_user_id]), [["mine", "anna"]]);
  assert.deepEqual(asked.doGenerateCalls.at(-1)?.providerOptions, { openai: { store: false } });
});

test("memories keep to their budget and leave out what the prompt shows", async () => {
  const long = `The harbour master is called Ines. ${"She has worked there for long. ".repeat(60)}`;
  const { flow, model, memory } = await remembering(answering("ok", "ok"), { endUserId: "anna" });
  await generateText({ model, prompt: long });
  await generateText({ model, prompt: "The harbour office opens at nine." });
  await memory.flush();
  const asked = answering("Ines.");
  const small = await remembering(asked, { flowId: flow, sessionId: "t", endUserId: "anna", tokenBudget: 300 });
  await generateText({
    model: small.model,
    messages: [
      { role: "user", content: "The harbour office opens at nine." },
      { role: "assistant", content: "Yes." },
      { role: "user", content: "Who is the harbour master?" },
    ],
  });
  await small.memory.flush();
  const [memories] = systemOf(asked);
  assert.match(memories ?? "", /… .*called Ines/);
  assert(!memories?.includes("opens at nine"));
  assert((memories?.length ?? 0) < 900);
});

test("a memory that a later message corrects says so", () => {
  const hit = { content: "It takes 300 ms.", role: "user", timestamp: "2026-03-01T10:00:00Z", seq: 1 } as Schemas["Hit"];
  const other = { message_id: "m2", was: null, now: null };
  const said = (corrected_by?: Schemas["CorrectionOf"]) => memoriesOf([{ ...hit, corrected_by }], [], 100)?.text.split("\n")[1];
  assert.equal(
    said({ ...other, kind: "number", was: "300 ms", now: "250 ms" }),
    "- [2026-03-01] user: It takes 300 ms. (corrected later: was 300 ms, now 250 ms)",
  );
  assert.equal(
    said({ ...other, kind: "denial" }),
    "- [2026-03-01] user: It takes 300 ms. (a later message says the opposite)",
  );
  assert.equal(said(), "- [2026-03-01] user: It takes 300 ms.");
});

test("a loop with tools is one run, with its calls and results", async () => {
  const call: Content = [
    { type: "text", text: "Let me look." },
    { type: "tool-call", toolCallId: "c1", toolName: "look_up", input: '{"boat":"Albatross"}' },
  ];
  const asked = answering(call, "At berth 12.");
  const { flow, model, memory } = await remembering(asked);
  const look_up = tool({
    inputSchema: z.object({ boat: z.string() }),
    execute: () => Promise.resolve({ berth: 12 }),
  });
  const question = "Where is the Albatross?";
  const { text } = await generateText({ model, prompt: question, tools: { look_up }, stopWhen: isStepCount(3) });
  assert.equal(text, "At berth 12.");
  await memory.flush();
  const messages = await connected().listMessages({ flow_id: flow }).toArray();
  assert.deepEqual(messages.map(({ role, content }) => [role, content]), [
    ["user", question], ["assistant", "Let me look."], ["tool", '{"berth":12}'], ["assistant", "At berth 12."],
  ]);
  assert.equal(new Set(messages.map((each) => each.run_id)).size, 1);
  assert.deepEqual(messages[1]?.tool_calls, [
    { id: "c1", type: "function", function: { name: "look_up", arguments: '{"boat":"Albatross"}' } },
  ]);
  assert.equal(messages[2]?.tool_call_id, "c1");
  assert.deepEqual((await given(flow)).map(({ query }) => query), [question]);
});

test("a repeated call stores nothing twice, and an equal sentence later is another message", async () => {
  const asked = answering("Good morning.", "Good morning.", "Hello again.");
  const { flow, model, memory } = await remembering(asked);
  await generateText({ model, prompt: "Hello." });
  await generateText({ model, prompt: "Hello." });
  const history = [
    { role: "user" as const, content: "Hello." }, { role: "assistant" as const, content: "Good morning." },
  ];
  await generateText({ model, messages: [...history, { role: "user", content: "Hello." }] });
  await memory.flush();
  assert.deepEqual(await contents(connected(), flow), ["Hello.", "Good morning.", "Hello.", "Hello again."]);
});

test("a host without history names its turns by run ids", async () => {
  const { flow, model, memory } = await remembering(answering("Yes.", "Yes.", "Yes."));
  for (const runId of ["1", "2", "2"]) {
    await generateText({ model, prompt: "Yes?", providerOptions: { memorybase: { runId } } });
  }
  await memory.flush();
  assert.deepEqual(await contents(connected(), flow), ["Yes?", "Yes.", "Yes?", "Yes."]);
});

test("a stream is captured when it ends, and reaches its reader unchanged", async () => {
  const parts = textParts("At ", "berth ", "12.");
  const { flow, model, memory } = await remembering(streaming(...parts));
  const { textStream } = streamText({ model, prompt: "Where?" });
  const read: string[] = [];
  for await (const text of textStream) {
    read.push(text);
  }
  assert.deepEqual(read, ["At ", "berth ", "12."]);
  await memory.flush();
  assert.deepEqual(await contents(connected(), flow), ["Where?", "At berth 12."]);
});

test("of a stream that its reader leaves or that fails, what was generated is captured", async () => {
  const left = await remembering(
    new MockLanguageModelV4({
      doStream: () => Promise.resolve({ stream: endless() }),
    }),
  );
  const content = [{ type: "text" as const, text: "Where?" }];
  const { stream } = await left.model.doStream({ prompt: [{ role: "user", content }] });
  const reader = stream.getReader();
  await reader.read();
  await reader.read();
  await reader.cancel();
  await left.memory.flush();
  const failing = await remembering(
    streaming(...textParts("At ber").slice(0, 3), { type: "error", error: new Error("the model broke") }),
  );
  const result = streamText({ model: failing.model, prompt: "Where?", onError: () => undefined });
  await result.consumeStream();
  await failing.memory.flush();
  for (const [flow, text, status] of [[left.flow, "At ", "stopped"], [failing.flow, "At ber", "failed"]] as const) {
    const messages = await connected().listMessages({ flow_id: flow }).toArray();
    assert.deepEqual(messages.map((each) => [each.content, each.status]), [["Where?", "completed"], [text, status]]);
  }
});

function endless(): ReadableStream<StreamPart> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      sent += 1;
      controller.enqueue(sent === 1 ? { type: "text-start", id: "1" } : { type: "text-delta", id: "1", delta: "At " });
    },
  });
}

test("the error of a model reaches the host, and nothing is captured", async () => {
  const broken = new MockLanguageModelV4({ doGenerate: () => Promise.reject(new Error("the model broke")) });
  const { flow, model, memory } = await remembering(broken);
  await assert.rejects(generateText({ model, prompt: "Where?", maxRetries: 0 }), /the model broke/);
  await memory.flush();
  assert.deepEqual(await contents(connected(), flow), []);
});

test("a file's bytes stay out of memory, its name and address do not", async () => {
  const { flow, model, memory } = await remembering(answering("A boat."));
  const image = new Uint8Array([1, 2, 3]);
  await generateText({
    model,
    messages: [{
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "file", data: image, mediaType: "application/pdf", filename: "boat.pdf" },
      ],
    }],
  });
  await memory.flush();
  const [message] = await connected().listMessages({ flow_id: flow }).toArray();
  assert.deepEqual(message?.content, [
    { type: "text", text: "What is this?" },
    { type: "file", media_type: "application/pdf", filename: "boat.pdf" },
  ]);
});

/** A host whose way to memorybase can be closed. */
async function gated(context: TestContext, options: Partial<MemoryOptions> = {}): Promise<Remembering & {
  asked: MockLanguageModelV4; gate: Gate; outbox: Outbox; lines: string[];
}> {
  const { lines, log } = recorded();
  const gate = await new Gate(connected().url).open();
  const outbox = new Outbox(await folder());
  const client = connected({ url: gate.url, outbox, log });
  context.after(async () => {
    await client.close();
    await gate.close();
  });
  const asked = answering(...Array.from({ length: 20 }, (_, at) => `answer ${at}`));
  return { ...(await remembering(asked, { client, endUserId: "anna", ...options })), asked, gate, outbox, lines };
}

test("with a server that is gone the host goes on, and captures arrive later", async (context) => {
  const { flow, model, memory, gate, outbox, asked, lines } = await gated(context);
  await generateText({ model, prompt: "before" });
  await memory.flush();
  assert.equal(await outbox.flush(30), 0);
  await gate.close();
  for (const prompt of ["during", "still"]) {
    await generateText({ model, prompt });
  }
  await memory.flush();
  assert.deepEqual([asked.doGenerateCalls.length, outbox.waiting], [3, 2]);
  assert.equal(lines.filter((line) => line.includes("nothing is recalled")).length, 1, lines.join("\n"));
  await gate.open();
  assert.equal(await outbox.flush(60), 0);
  const texts = ["before", "answer 0", "during", "answer 1", "still", "answer 2"];
  assert.deepEqual(await contents(connected(), flow), texts);
});

test("an API that is killed between two calls fails none of them", async (context) => {
  const { flow, model, memory, outbox } = await gated(context, { backOffSeconds: 0 });
  const killed = pidOf("api");
  const prompts = Array.from({ length: 8 }, (_, at) => `question ${at}`);
  for (const [at, prompt] of prompts.entries()) {
    if (at === 3) {
      process.kill(killed, "SIGKILL");
    }
    assert.equal((await generateText({ model, prompt })).text, `answer ${at}`);
  }
  await memory.flush();
  await until(() => ![0, killed].includes(pidOf("api")), "the stack starts its API again");
  assert.equal(await outbox.flush(120), 0);
  assert.deepEqual(await contents(connected(), flow), prompts.flatMap((prompt, at) => [prompt, `answer ${at}`]));
});

test("a server that never answers holds a call up for the deadline, and the next not at all", async (context) => {
  const { model, gate, lines } = await gated(context, { deadlineSeconds: 0.5 });
  await gate.silence();
  const started = performance.now();
  await generateText({ model, prompt: "one" });
  const first = performance.now() - started;
  assert(first >= 490 && first < 10_000, `${first} ms`);
  const connections = gate.connections;
  await generateText({ model, prompt: "two" });
  assert(performance.now() - started - first < 490, "the second call waited too");
  assert(gate.connections <= connections + 1, "only the outbox tries again");
  assert.match(lines.join("\n"), /nothing is recalled for 10 s: TimeoutError/);
});

test("after the pause memories are recalled again", async (context) => {
  const { model, memory, outbox, gate, asked } = await gated(context, { backOffSeconds: 0.2, deadlineSeconds: 0.3 });
  await generateText({ model, prompt: "My boat lies at berth 12." });
  await memory.flush();
  assert.equal(await outbox.flush(30), 0);
  await gate.silence();
  await generateText({ model, prompt: "Where does my boat lie?" });
  assert.deepEqual(systemOf(asked), []);
  await gate.open();
  await until(async () => {
    await generateText({ model, prompt: "Where does my boat lie today?" });
    return systemOf(asked).join().includes("berth 12");
  }, "memories are back");
});

test("a server that does not record what a turn recalled fails and delays nothing", async (context) => {
  const { model, memory, outbox, gate, asked, lines } = await gated(context, { deadlineSeconds: 0.5 });
  asked.doGenerate = async () => {
    await gate.silence(); // after the search
    const content: Content = [{ type: "text", text: "At berth 12." }];
    return { content, finishReason: finished(), usage: USAGE, warnings: [] };
  };
  assert.equal((await generateText({ model, prompt: "Where does my boat lie?" })).text, "At berth 12.");
  await until(() => outbox.waiting === 1, "the turn is in the outbox");
  await memory.flush();
  assert.match(lines.join("\n"), /what a turn recalled is not recorded: TimeoutError/);
});

test("without an outbox a turn is sent at once, and its loss is logged", async () => {
  const { lines, log } = recorded();
  const client = new Client({ url: "http://127.0.0.1:9", key: "k", tries: 1, log });
  const { model, memory } = await remembering(answering("ok"), { client });
  const waited: Promise<unknown>[] = [];
  const edge = await remembering(answering("ok"), { client, waitUntil: (work) => waited.push(work) });
  assert.equal((await generateText({ model, prompt: "one" })).text, "ok");
  assert.equal((await generateText({ model: edge.model, prompt: "a secret text" })).text, "ok");
  assert.equal(waited.length, 1);
  await Promise.all([memory.flush(), ...waited]);
  assert.equal(lines.filter((line) => line === "warning: a turn is not captured: connection_failed").length, 2);
  assert(!lines.join("\n").includes("secret"));
});

test("a flow that does not exist is said once if nothing is captured", async () => {
  const { lines, log } = recorded();
  const options = { client: connected({ log }), flowId: unique("none"), capture: false };
  const { model } = await remembering(answering("one", "two"), options);
  for (const prompt of ["first", "second"]) {
    await generateText({ model, prompt });
  }
  assert.equal(lines.length, 1, lines.join("\n"));
  assert.match(lines.join(), /nothing is recalled: .*flow/);
});

test("a flow that does not exist is created with a memory base, without a word", async () => {
  const { lines, log } = recorded();
  const asked = answering("Noted.", "At berth 12.");
  const { model, memory } = await remembering(asked, { client: connected({ log }), flowId: unique("new") });
  await generateText({ model, prompt: "My boat lies at berth 12." });
  await memory.flush();
  await generateText({ model, prompt: "Where does it lie?" });
  await memory.flush();
  assert.match(systemOf(asked).join(), /berth 12/);
  assert.deepEqual(lines, []);
});

/** The outbox: servers that die, disks that fail, several processes in one directory. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { Client, type ClientOptions } from "../src/index.js";
import { Outbox } from "../src/outbox/index.js";
import { connected, contents, folder, recorded, said, unique, until } from "./helpers.js";
import { failure, Gate, scripted } from "./servers.js";
import { KEY, pidOf, running } from "./stack.js";

const DONE = { status: 201, body: { run_id: "r", session_id: "s", created: true, messages: [], ingestion: [] } };

/** A gate before the running stack, and what captures through it. */
async function gated(context: TestContext, options: ClientOptions = {}): Promise<{
  gate: Gate; client: Client; outbox: Outbox; directory: string;
}> {
  const gate = await new Gate(running().url).open();
  const directory = join(await folder(), "outbox");
  const outbox = new Outbox(directory);
  const client = connected({ url: gate.url, outbox, ...options });
  context.after(async () => {
    await client.close();
    await gate.close();
  });
  return { gate, client, outbox, directory };
}

test("what was captured without a server is delivered in order once it runs", async (context) => {
  const { gate, client, outbox } = await gated(context);
  const flow = unique("away");
  await gate.close();
  // Not awaited one by one: the order is that of the calls.
  const texts = Array.from({ length: 20 }, (_, at) => `text ${at}`);
  const ids = await Promise.all(texts.map((text) => client.capture(flow, { session_id: "s", messages: said(text) })));
  assert.equal(new Set(ids).size, 20);
  assert.equal(outbox.waiting, 20);
  await gate.open();
  assert.equal(await outbox.flush(30), 0);
  assert.deepEqual(await contents(connected(), flow), texts);
  assert.equal((await connected().getFlow(flow)).name, flow);
});

test("a capture is on disk before a later one, however long it takes to write", async (context) => {
  const { gate, client, outbox } = await gated(context);
  await gate.close();
  const files = ["x".repeat(20_000_000)];
  const first = client.capture("f", { session_id: "s", messages: [{ role: "user", content: "long", files }] });
  await client.capture("f", { session_id: "s", messages: said("short") });
  assert.equal(outbox.waiting, 2);
  await first;
});

test("a server that dies again and again gets every capture once", async (context) => {
  const { gate, client, outbox } = await gated(context);
  const flow = unique("dying");
  const texts: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    await gate.open();
    for (let number = 0; number < 10; number += 1) {
      texts.push(`${round}.${number}`);
      await client.capture(flow, { session_id: "s", messages: said(texts.at(-1) ?? "") });
    }
    const before = gate.connections;
    await gate.close();
    await client.capture(flow, { session_id: "s", messages: said(`${round}.end`) });
    texts.push(`${round}.end`);
    assert(before > 0);
  }
  await gate.open();
  assert.equal(await outbox.flush(30), 0);
  assert.deepEqual(await contents(connected(), flow), texts);
});

test("an API that is killed in the middle gets every capture once", async (context) => {
  const directory = await folder();
  const outbox = new Outbox(directory);
  const client = connected({ outbox });
  context.after(() => client.close());
  const flow = unique("killed");
  const texts = Array.from({ length: 60 }, (_, at) => `text ${at}`);
  const killed = pidOf("api");
  for (const [at, text] of texts.entries()) {
    await client.capture(flow, { session_id: "s", messages: said(text) });
    if (at === 30) {
      process.kill(killed, "SIGKILL");
    }
  }
  await until(() => ![0, killed].includes(pidOf("api")), "the stack starts its API again");
  assert.equal(await outbox.flush(120), 0);
  assert.deepEqual(await contents(connected(), flow), texts);
});

const CAPTURE = `
import { Client } from ${JSON.stringify(new URL("../src/index.js", import.meta.url).href)};
import { Outbox } from ${JSON.stringify(new URL("../src/outbox/index.js", import.meta.url).href)};
const [url, key, directory, flow, session, count, end] = process.argv.slice(1);
const client = new Client({ url, key, outbox: new Outbox(directory), log: () => undefined });
for (let at = 0; at < Number(count); at += 1) {
  const messages = [{ role: "user", content: session + " " + at }];
  await client.capture(flow, { session_id: session, messages });
}
if (end === "die") process.kill(process.pid, "SIGKILL");
if (end === "close") await client.close();
`;

/** A process that captures so many runs, and then dies, closes its client or just ends. */
function capturing(
  { url }: Gate, directory: string, flow: string, session: string, count: number, end: "die" | "close" | "",
): ChildProcess {
  const words = [url, KEY, directory, flow, session, String(count), end];
  return spawn(process.execPath, ["--input-type=module", "--eval", CAPTURE, ...words], { stdio: "inherit" });
}

test("a new process delivers what one that was killed has left", async (context) => {
  const { gate, client, directory } = await gated(context);
  const flow = unique("left");
  await client.close();
  await gate.close();
  const [, signal] = (await once(capturing(gate, directory, flow, "s", 3, "die"), "exit")) as [unknown, string];
  assert.equal(signal, "SIGKILL");
  await gate.open();
  const outbox = new Outbox(directory);
  const next = connected({ url: gate.url, outbox });
  await until(() => outbox.waiting === 0, "it is delivered");
  await next.close();
  assert.deepEqual(await contents(connected(), flow), ["s 0", "s 1", "s 2"]);
});

test("a process ends although the server never answers, and what it captured waits", async (context) => {
  const { gate, client, directory } = await gated(context);
  await client.close();
  await gate.silence();
  const child = capturing(gate, directory, unique("silent"), "s", 2, "");
  // Sending would be given up after 30 seconds, which must not be what it waits for.
  const [code] = (await once(child, "exit", { signal: AbortSignal.timeout(20_000) })) as [number];
  assert.equal(code, 0);
  const files = await readdir(join(directory, "waiting"));
  assert.equal(files.filter((name) => name.endsWith(".json")).length, 2);
});

test("several processes share a directory, each session in order", async (context) => {
  const { gate, client, directory } = await gated(context);
  const flow = unique("shared");
  await client.close();
  const children = ["a", "b", "c"].map((session) => capturing(gate, directory, flow, session, 15, "close"));
  await Promise.all(children.map((child) => once(child, "exit")));
  const outbox = new Outbox(directory);
  const last = connected({ url: gate.url, outbox });
  assert.equal(await outbox.flush(30), 0);
  await last.close();
  for (const session of ["a", "b", "c"]) {
    const listed = await connected().listMessages({ flow_id: flow, session_id: session }).toArray();
    assert.deepEqual(listed.map((each) => each.content), Array.from({ length: 15 }, (_, at) => `${session} ${at}`));
  }
});

test("a sender that was killed is replaced at once, one that is frozen after its heartbeats stop", async (context) => {
  const { client, outbox, directory } = await gated(context);
  const flow = unique("locks");
  const gone = spawn(process.execPath, ["--eval", ""]);
  await once(gone, "exit");
  await writeFile(join(directory, "sender-7.lock"), JSON.stringify({ pid: gone.pid, host: hostname() }));
  await client.capture(flow, { session_id: "s", messages: said("one") });
  assert.equal(await outbox.flush(5), 0);
  // A living process that does not touch its lock.
  await writeFile(join(directory, "sender-9.lock"), JSON.stringify({ pid: process.ppid, host: hostname() }));
  await client.capture(flow, { session_id: "s", messages: said("two") });
  assert.equal(await outbox.flush(3), 1);
  assert.equal(await outbox.flush(30), 0);
  assert.deepEqual(await contents(connected(), flow), ["one", "two"]);
});

test("a sender with heartbeats is left alone", async (context) => {
  const { client, outbox, directory } = await gated(context);
  const lock = join(directory, "sender-1.lock");
  await writeFile(lock, JSON.stringify({ pid: process.ppid, host: hostname() }));
  const beating = setInterval(() => void utimes(lock, new Date(), new Date()), 500);
  await client.capture(unique("beats"), { session_id: "s", messages: said("one") });
  assert.equal(await outbox.flush(12), 1);
  clearInterval(beating);
  await rm(lock);
  assert.equal(await outbox.flush(30), 0);
});

test("beyond a bound the oldest are deleted and counted", async (context) => {
  const { lines, log } = recorded();
  const { gate } = await gated(context);
  await gate.close();
  const directory = join(await folder(), "bounded");
  const outbox = new Outbox(directory, { maxCaptures: 3 });
  const client = connected({ url: gate.url, outbox, log });
  context.after(() => client.close());
  const flow = unique("bounded");
  for (let at = 0; at < 5; at += 1) {
    await client.capture(flow, { session_id: "s", messages: said(`text ${at}`) });
  }
  assert.deepEqual([outbox.waiting, outbox.lost], [3, 2]);
  assert.match(lines.join("\n"), /error: 1 captures are lost: the outbox .* has no room for them/);
  assert(!lines.join("\n").includes("text 0"));
  assert.equal(new Outbox(directory).lost, 2);
  await gate.open();
  assert.equal(await outbox.flush(30), 0);
  assert.deepEqual(await contents(connected(), flow), ["text 2", "text 3", "text 4"]);
});

test("bytes are bounded too, and one capture beyond the bound displaces no others", async (context) => {
  const outbox = new Outbox(await folder(), { maxBytes: 2_000 });
  const client = new Client({ url: "http://127.0.0.1:9", key: "k", outbox, log: () => undefined });
  context.after(() => client.close());
  for (const size of [600, 600, 5_000, 600, 600]) {
    await client.capture("f", { session_id: "s", messages: said("x".repeat(size)) });
  }
  assert.deepEqual([outbox.waiting, outbox.lost], [2, 3]);
});

test("what the server refuses for good is kept with its reason, and can be sent again", async (context) => {
  const { lines, log } = recorded();
  const { client, outbox } = await gated(context, { log });
  const flow = unique("refused");
  const wrong = { role: "nobody", content: "a secret text" } as unknown as ReturnType<typeof said>[number];
  await client.capture(flow, { session_id: "s", messages: [wrong] });
  await client.capture(flow, { session_id: "s", messages: said("right") });
  assert.equal(await outbox.flush(30), 0);
  const [refused] = await outbox.refused();
  assert.deepEqual([refused?.flowId, refused?.code], [flow, "invalid_request"]);
  assert.deepEqual(refused?.run.messages, [wrong]);
  assert(!lines.join("\n").includes("secret"));
  assert.deepEqual(await contents(connected(), flow), ["right"]);
  assert.equal(await outbox.retryRefused(), 1);
  assert.equal(await outbox.flush(30), 0);
  assert.equal((await outbox.refused()).length, 1);
});

test("a flow that no URL can name is refused and does not hold up others", async (context) => {
  const { client, outbox } = await gated(context);
  const flow = unique("after");
  await client.capture("..", { session_id: "s", messages: said("one") });
  await client.capture(flow, { session_id: "s", messages: said("two") });
  assert.equal(await outbox.flush(30), 0);
  assert.deepEqual((await outbox.refused()).map((each) => each.code), ["TypeError"]);
});

test("a refused key refuses no run, and another key's captures are sent only when adopted", async (context) => {
  const { gate, client, directory } = await gated(context);
  const flow = unique("keys");
  await client.close();
  const first = new Outbox(directory);
  const wrong = connected({ url: gate.url, key: "mb_wrong", outbox: first });
  await wrong.capture(flow, { session_id: "s", messages: said("one") });
  await wrong.close();
  assert.deepEqual([first.waiting, (await first.refused()).length], [1, 0]);

  const { lines, log } = recorded();
  const outbox = new Outbox(directory);
  const right = connected({ url: gate.url, outbox, log });
  assert.match(lines.join(), /1 captures of another address or key wait/);
  assert.deepEqual([outbox.waiting, await outbox.flush(1)], [0, 0]);
  await outbox.adopt();
  assert.equal(await outbox.flush(30), 0);
  await right.close();
  assert.deepEqual(await contents(connected(), flow), ["one"]);
});

test("a run at which the server fails inside is refused after five attempts, outages aside", async () => {
  const inside = { status: 500, body: failure("internal_error") };
  const away = { status: 503, body: failure("database_unavailable", { retryable: true }) };
  const answers = [away, away, away, away, away, away, inside, inside, inside, inside, inside, DONE];
  await scripted(answers, async ({ url, requests }) => {
    const outbox = new Outbox(await folder());
    const client = new Client({ url, key: "k", outbox, log: () => undefined });
    await client.capture("f", { session_id: "s", messages: said("broken") });
    await client.capture("f", { session_id: "s", messages: said("good") });
    assert.equal(await outbox.flush(30), 0);
    assert.deepEqual((await outbox.refused()).map((each) => each.code), ["internal_error"]);
    const ofFirst = requests.map((each) => each.body.includes("broken"));
    assert.deepEqual(ofFirst, [...Array.from({ length: 11 }, () => true), false]);
    await client.close();
  });
});

const CREATED = { status: 201, body: {} };
const MISSING = { status: 404, body: failure("not_found") };
const MEMORY_BASE = "PUT /v1/flows/f/memories/f%20memory";
const RUN = "POST /v1/flows/f/runs";

test("a new flow gets its memory base, also if memorybase goes away in between", async () => {
  const busy = { status: 429, body: failure("rate_limited", { retryable: true }) };
  await scripted([MISSING, MISSING, {}, {}, busy, CREATED, DONE], async ({ url, requests }) => {
    const outbox = new Outbox(await folder());
    const client = new Client({ url, key: "k", outbox, log: () => undefined });
    await client.capture("f", { session_id: "s", messages: said("one") });
    assert.equal(await outbox.flush(30), 0);
    await client.close();
    const expected = [RUN, "GET /v1/flows/f", "PUT /v1/flows/f", MEMORY_BASE, MEMORY_BASE, MEMORY_BASE, RUN];
    assert.deepEqual(requests.map(({ method, path }) => `${method} ${path}`), expected);
  });
});

test("a new process creates the memory base that an earlier one could not, also after a change of the key", async () => {
  const away = { status: 503, body: failure("vector_store_unavailable", { retryable: true }) };
  for (const key of ["k", "another"]) {
    await scripted([MISSING, MISSING, CREATED, away, CREATED, DONE], async ({ url, requests }) => {
      const directory = await folder();
      const first = new Outbox(directory);
      const before = new Client({ url, key: "k", outbox: first, log: () => undefined });
      await before.capture("f", { session_id: "s", messages: said("one") });
      await until(() => requests.length === 4, "the flow was created");
      await first.close(0);
      const outbox = new Outbox(directory);
      const client = new Client({ url, key, outbox, log: () => undefined });
      await outbox.adopt();
      assert.equal(await outbox.flush(30), 0);
      await client.close();
      assert.deepEqual(requests.slice(4).map(({ method, path }) => `${method} ${path}`), [MEMORY_BASE, RUN]);
    });
  }
});

test("a run is not refused because a new flow cannot be noted on the disk", async () => {
  await scripted([DONE], async ({ url }) => {
    const directory = await folder();
    const outbox = new Outbox(directory);
    const notes = join(directory, "new-flows");
    await rm(notes, { recursive: true });
    await writeFile(notes, "");
    const client = new Client({ url, key: "k", outbox, log: () => undefined });
    await client.capture("f", { session_id: "s", messages: said("one") });
    assert.equal(await outbox.flush(0.5), 1);
    assert.deepEqual(await outbox.refused(), []);
    await rm(notes);
    assert.equal(await outbox.flush(30), 0);
    await client.close();
  });
});

test("a capture never fails its caller", async (context) => {
  const { lines, log } = recorded();
  const { gate, client, outbox, directory } = await gated(context, { log });
  await gate.close();
  const circular: Record<string, unknown> = {};
  circular["itself"] = circular;
  await client.capture("f", { session_id: "s", messages: [{ role: "user", content: "a", metadata: circular }] });
  await client.capture("", { session_id: "s", messages: said("a secret text") });
  await rename(directory, `${directory}-away`);
  await client.capture("f", { session_id: "s", messages: said("a secret text") });
  await rename(`${directory}-away`, directory);
  assert.equal(outbox.lost, 3);
  assert.match(lines.join("\n"), /a capture is lost, because it cannot be stored: .* \(ENOENT\)/);
  assert(!lines.join("\n").includes("secret"));
  await client.capture("f", { session_id: "s", messages: said("stored") });
  assert.equal(outbox.waiting, 1);
});

test("a directory that cannot be used is an error at once", async () => {
  const directory = await folder();
  await writeFile(join(directory, "file"), "");
  assert.throws(() => new Outbox(join(directory, "file", "outbox")), { code: "ENOTDIR" });
});

test("an outbox belongs to one client", async () => {
  const outbox = new Outbox(await folder());
  const client = new Client({ key: "k", outbox });
  assert.throws(() => new Client({ key: "k", outbox }), /belongs to one client/);
  await client.close();
});

test("files that a crash left are no captures", async (context) => {
  const { client, outbox, directory } = await gated(context);
  await client.capture(unique("torn"), { session_id: "s", messages: said("one") });
  assert.equal(await outbox.flush(30), 0);
  await client.close();
  const waiting = join(directory, "waiting");
  const target = await targetOf();
  await writeFile(join(waiting, `000000000000001-000000-00000000-9-0-${target}.json`), ""); // a power cut
  await writeFile(join(waiting, ".000000000000002-000000-00000000-9-0-0.json"), "{"); // a kill
  await utimes(join(waiting, ".000000000000002-000000-00000000-9-0-0.json"), 0, 0);
  await writeFile(join(waiting, "notes.txt"), "not ours");
  const again = new Outbox(directory);
  const next = connected({ outbox: again });
  assert.equal(await again.flush(30), 0);
  await next.close();
  assert.deepEqual([again.lost, await readdir(waiting)], [1, ["notes.txt"]]);
});

/** The part of file names that is a digest of the running stack's address and key. */
async function targetOf(): Promise<string> {
  const directory = await folder();
  const client = connected({ outbox: new Outbox(directory), fetch: () => Promise.reject(new TypeError("away")) });
  await client.capture("f", { session_id: "s", messages: said("one") });
  await client.close();
  const [name] = await readdir(join(directory, "waiting"));
  return /([0-9a-f]{16})\.json$/.exec(name ?? "")?.[1] ?? "";
}

test("only the owner can read what waits", async (context) => {
  const { gate, client, directory } = await gated(context);
  await gate.close();
  await client.capture("f", { session_id: "s", messages: said("one") });
  const [name] = await readdir(join(directory, "waiting"));
  const modes = [directory, join(directory, "waiting"), join(directory, "waiting", name ?? "")];
  const found = await Promise.all(modes.map(async (path) => (await stat(path)).mode & 0o777));
  assert.deepEqual(found, [0o700, 0o700, 0o600]);
  assert.match(await readFile(modes[2] ?? "", "utf8"), /"flow_id":"f"/);
});

test("the client's own fetch sends the outbox too", async () => {
  const urls: string[] = [];
  const outbox = new Outbox(await folder());
  const fetch = async (request: Request): Promise<Response> => {
    urls.push(request.url);
    return Response.json(DONE.body, { status: 201 });
  };
  const client = new Client({ url: "http://memory.example", key: "k", outbox, fetch });
  await client.capture("f", { session_id: "s", messages: said("one") });
  assert.equal(await outbox.flush(10), 0);
  assert.deepEqual(urls, ["http://memory.example/v1/flows/f/runs"]);
  await client.close();
});

test("closing does not wait for a server that is away", async (context) => {
  const { gate, client, outbox } = await gated(context);
  await gate.close();
  await client.capture("f", { session_id: "s", messages: said("one") });
  const started = performance.now();
  await outbox.close(20);
  assert(performance.now() - started < 15_000);
  assert.equal(outbox.waiting, 1);
});

/** The client against servers that fail. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";

import { Client, errors, type ClientOptions, type Schemas } from "../src/index.js";
import { recorded, said, until } from "./helpers.js";
import { failure, scripted, type Answer, type Scripted } from "./servers.js";

const FLOW = { id: "00000000-0000-0000-0000-000000000001", external_id: "f", name: "f", created_at: "2026-01-01" };
const JOB = { id: "j", kind: "ingest", session_id: "s", state: "running", processed: 0, total: 1 };
const NOW = { "Retry-After": "0" };

function withAnswers<T>(
  answers: Answer[],
  work: (client: Client, server: Scripted) => Promise<T>,
  options: ClientOptions = {},
): Promise<T> {
  const client = (url: string): Client => new Client({ url, key: "k", log: () => undefined, ...options });
  return scripted(answers, (server) => work(client(server.url), server));
}

function busy(code = "overloaded", headers: Record<string, string> = NOW): Answer {
  return { status: 503, body: failure(code, { retryable: true }), headers };
}

test("a busy server is asked again after the time it names", async () => {
  const answers = [
    { status: 429, body: failure("rate_limited", { retryable: true }), headers: { "Retry-After": "1" } },
    busy("database_unavailable"),
    { status: 502, body: "<html>" },
    {}, // the connection is closed without an answer
    { status: 200, body: FLOW },
  ];
  await withAnswers(answers, async (client, { requests }) => {
    const started = performance.now();
    assert.equal((await client.getFlow("f")).name, "f");
    assert.equal(requests.length, 5);
    assert(performance.now() - started >= 990, "it did not wait as long as Retry-After says");
  });
});

test("tries are bounded, and the last error is thrown", async () => {
  const answers = Array.from({ length: 9 }, () => busy());
  await withAnswers(answers, async (client, { requests }) => {
    await assert.rejects(client.getFlow("f"), errors.Overloaded);
    assert.equal(requests.length, 3);
  }, { tries: 3 });
});

test("a server that does not listen is ConnectionFailed, and nothing was sent", async () => {
  const url = await scripted([], (server) => Promise.resolve(server.url));
  const { lines, log } = recorded();
  const client = new Client({ url, key: "k", tries: 2, log });
  await assert.rejects(client.createKey({ name: "n", scopes: ["read"] }), (error) => {
    assert(error instanceof errors.ConnectionFailed && error.retryable);
    assert.equal(error.message, `No answer from ${url}: ECONNREFUSED`);
    return true;
  });
  assert.deepEqual(lines, ["warning: POST failed with connection_failed (attempt 1 of 2)"]);
});

test("a repetition has the key of the first, and the caller's key is sent", async () => {
  const created = { status: 201, body: FLOW };
  await withAnswers([{}, created, created, created], async (client, { requests }) => {
    await client.createFlow({ name: "n" });
    await client.createFlow({ name: "n" });
    await client.createFlow({ name: "n" }, { idempotencyKey: "mine" });
    const [first, again, next, own] = requests.map((each) => each.headers["idempotency-key"]);
    assert.match(String(first), /^[0-9a-f-]{36}$/);
    assert.equal(again, first);
    assert.notEqual(next, first);
    assert.equal(own, "mine");
  });
});

test("calls whose repetition does no harm have no key", async () => {
  await withAnswers([{ status: 200, body: FLOW }, { status: 200, body: {} }], async (client, { requests }) => {
    await client.putFlow("f", { name: "n" });
    await client.captureRun("f", { session_id: "s", messages: said("one") });
    assert.deepEqual(requests.map((each) => each.headers["idempotency-key"]), [undefined, undefined]);
  });
});

test("a repeated capture has the ids of the first", async () => {
  const done = { run_id: "r", session_id: "s", created: true, messages: [], ingestion: [] };
  await withAnswers([{}, { status: 201, body: done }], async (client, { requests }) => {
    await client.captureRun("f", { session_id: "s", messages: said("one") });
    const [first, second] = requests.map((each) => JSON.parse(each.body) as { run_id: string });
    assert.deepEqual(first, second);
    assert.match(first?.run_id ?? "", /^[0-9a-f-]{36}$/);
  });
});

test("an answer that is not JSON is an error without its text", async () => {
  await withAnswers([{ status: 200, body: "a secret text" }], async (client) => {
    await assert.rejects(client.getFlow("f"), (error) => {
      assert(error instanceof errors.UnexpectedAnswer);
      assert(!`${error.stack}${String(error.cause)}`.includes("secret"));
      return true;
    });
  });
});

test("a redirect is not followed, so that the key stays here", async () => {
  await withAnswers([{ status: 307, headers: { Location: "/elsewhere" } }], async (client, { requests }) => {
    await assert.rejects(client.getFlow("f"), errors.UnexpectedAnswer);
    assert.equal(requests.length, 1);
  });
});

test("logs contain neither texts nor keys", async () => {
  const { lines, log } = recorded();
  await withAnswers([busy(), { status: 200, body: FLOW }], async (client) => {
    await client.putFlow("f", { name: "a secret text" });
  }, { key: "a-secret-key", log });
  assert.deepEqual(lines, ["warning: PUT failed with overloaded (attempt 1 of 5)"]);
});

test("a log that throws fails no call", async () => {
  const log = (): never => {
    throw new Error("full");
  };
  await withAnswers([busy(), { status: 200, body: FLOW }], (client) => client.getFlow("f"), { log });
});

test("a server that never answers is given up after the time limit", async () => {
  await withAnswers([{ isSilent: true }, { status: 200, body: FLOW }], async (client, { requests }) => {
    await client.getFlow("f", { timeoutSeconds: 0.2 });
    assert.equal(requests.length, 2);
  });
  await withAnswers([{ isSilent: true }], async (client) => {
    await assert.rejects(client.getFlow("f"), /nothing arrived for 0.1 s/);
  }, { tries: 1, timeoutSeconds: 0.1 });
});

test("a signal ends a call that waits for an answer, and one that waits to be repeated", async () => {
  const reason = new Error("enough");
  for (const answer of [{ isSilent: true }, busy("overloaded", { "Retry-After": "30" })]) {
    await withAnswers([answer], async (client, { requests }) => {
      const controller = new AbortController();
      const call = assert.rejects(client.getFlow("f", { signal: controller.signal }), reason);
      await until(() => requests.length === 1, "the request arrives");
      controller.abort(reason);
      await call;
      assert.equal(getEventListeners(controller.signal, "abort").length, 0);
    });
  }
  await withAnswers([{ status: 200, body: FLOW }], async (client) => {
    const { signal } = new AbortController();
    await client.getFlow("f", { signal });
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });
  const signal = AbortSignal.abort(reason);
  await withAnswers([], async (client, { requests }) => {
    await assert.rejects(client.getFlow("f", { signal }), reason);
    assert.equal(requests.length, 0);
  });
});

test("the line of an import's error counts from the first of all", async () => {
  const refused = { status: 409, body: failure("message_conflict", { details: { line: 5 } }) };
  await withAnswers([{ status: 200, body: { lines: 1_000 } }, refused], async (client, { requests }) => {
    const lines = Array.from({ length: 1_200 }, () => ({ type: "flow" }) as Schemas["ExportLine"]);
    await assert.rejects(client.importLines(lines), (error) => {
      assert(error instanceof errors.MessageConflict);
      assert.equal(error.details.line, 1_005);
      return true;
    });
    assert.deepEqual(requests.map((each) => each.body.split("\n").length - 1), [1_000, 200]);
    assert.equal(requests[0]?.headers["content-type"], "application/x-ndjson");
  });
});

function event(name: string, changes: object = {}): string {
  return `event: ${name}\ndata: ${JSON.stringify({ ...JOB, ...changes })}\n\n`;
}

function stream(...events: string[]): Answer {
  return { status: 200, body: events.join(""), headers: { "Content-Type": "text/event-stream" } };
}

test("a watch connects again where its connection breaks", async () => {
  const answers = [
    { ...stream(event("job"), ": still there\n\n"), isCut: true },
    stream(event("job"), event("job", { processed: 1 })), // the server ends
    {},
    stream(event("job", { processed: 1 }), event("job", { state: "done" }), event("end", { state: "done" })),
  ];
  await withAnswers(answers, async (client) => {
    const seen: unknown[] = [];
    for await (const { state, processed } of client.watchJob("j")) {
      seen.push([state, processed]);
    }
    assert.deepEqual(seen, [["running", 0], ["running", 1], ["done", 0]]);
  });
});

test("a watch of a server that stays away ends with an error", async () => {
  const answers = Array.from({ length: 9 }, () => ({ ...stream(event("job")), isCut: true }));
  await withAnswers(answers, async (client, { requests }) => {
    await assert.rejects(client.watchJob("j").next().then(() => drained(client.watchJob("j"))), errors.StreamBroken);
    assert.equal(requests.length, 1 + 3);
  }, { tries: 3 });
});

test("a watch says why it ends early", async () => {
  for (const [name, kind] of [["unauthorized", errors.Unauthorized], ["gone", errors.NotFound]] as const) {
    await withAnswers([stream(event("job"), `event: ${name}\ndata: {}\n\n`)], async (client) => {
      await assert.rejects(drained(client.watchJob("j")), kind);
    });
  }
});

test("an incomplete export is an error after its lines", async () => {
  const whole = '{"type": "export"}\n{"type": "flow"}\n';
  for (const answer of [{ status: 200, body: `${whole}{"ty`, isCut: true }, { status: 200, body: whole }]) {
    await withAnswers([answer], async (client) => {
      const read: string[] = [];
      const reading = async (): Promise<void> => {
        for await (const line of client.exportLines({ flow_id: "f" })) {
          read.push(line.type);
        }
      };
      await assert.rejects(reading(), errors.StreamBroken);
      assert.deepEqual(read, ["export", "flow"]);
    });
  }
});

test("a stream that is left early closes its connection", async () => {
  await withAnswers([{ ...stream(event("job")), staysOpen: true }], async (client, server) => {
    for await (const job of client.watchJob("j")) {
      assert.equal(job.state, "running");
      break;
    }
    await until(() => server.closed === 1, "the stream's connection is closed");
  });
});

test("a stream ends with its signal", async () => {
  await withAnswers([{ isSilent: true }], async (client, { requests }) => {
    const controller = new AbortController();
    const { signal } = controller;
    const reading = assert.rejects(drained(client.watchJob("j", { signal })), { name: "AbortError" });
    await until(() => requests.length === 1, "the request arrives");
    controller.abort();
    await reading;
  });
});

async function drained(items: AsyncIterable<unknown>): Promise<void> {
  for await (const item of items) {
    assert(item);
  }
}

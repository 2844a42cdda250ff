/** The handlers of Claude's memory tool with the SDK's helper, beside the SDK's tool for local files. */
import assert from "node:assert/strict";
import { test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import type { BetaMemoryTool20250818Command } from "@anthropic-ai/sdk/resources/beta";
import { BetaLocalFilesystemMemoryTool } from "@anthropic-ai/sdk/tools/memory/node";

import { memoryHandlers } from "../src/anthropic-memory/index.js";
import { Client } from "../src/index.js";
import { connected, contents, folder, unique } from "./helpers.js";
import { scripted } from "./servers.js";
import { KEY } from "./stack.js";

type Command = BetaMemoryTool20250818Command;
type Tool = ReturnType<typeof betaMemoryTool>;

const NOTES = "/memories/notes.md";

function toolOf(flowId: string, client = connected(), endUserId?: string): Tool {
  return betaMemoryTool(memoryHandlers({ client, flowId, endUserId }));
}

/** What the model is told. */
async function said(tool: Tool, command: Command): Promise<string> {
  try {
    return String(await tool.run(tool.parse(command)));
  } catch (error) {
    return `Error: ${(error as Error).message}`;
  }
}

function create(file_text: string, path = NOTES): Command {
  return { command: "create", path, file_text };
}

const COMMANDS: Command[] = [
  { command: "view", path: "/memories" },
  { command: "view", path: NOTES },
  create("one\ntwo\nthree\n"),
  create("again"),
  create("Anna\r\nberth 12\r\n", "/memories/people/team/anna.md"),
  create("", "/memories/people/ben.md"),
  create("x", "/memories/.hidden/x.md"),
  create("deep", "/memories/a/b/c/deep.md"),
  create("a".repeat(1500), "/memories/a.md"),
  create("elsewhere", "/etc/passwd"),
  create("elsewhere", "/memories/../../etc/passwd"),
  { command: "view", path: "/memories" },
  { command: "view", path: "/memories/people" },
  { command: "view", path: NOTES },
  { command: "view", path: NOTES, view_range: [2, 3] },
  { command: "view", path: NOTES, view_range: [2, -1] },
  { command: "str_replace", path: NOTES, old_str: "o", new_str: "0" },
  { command: "str_replace", path: NOTES, old_str: "two", new_str: "$& 2" },
  { command: "str_replace", path: NOTES, old_str: "four", new_str: "4" },
  { command: "str_replace", path: "/memories/none.md", old_str: "n", new_str: "N" },
  { command: "insert", path: NOTES, insert_line: 0, insert_text: "zero\n" },
  { command: "insert", path: NOTES, insert_line: 4, insert_text: "last" },
  { command: "insert", path: "/memories/none.md", insert_line: 0, insert_text: "x" },
  { command: "view", path: NOTES },
  { command: "rename", old_path: "/memories/people", new_path: "/memories/team" },
  { command: "rename", old_path: NOTES, new_path: "/memories/team/ben.md" },
  { command: "rename", old_path: NOTES, new_path: "/memories/archive/2026/notes.md" },
  { command: "rename", old_path: NOTES, new_path: "/memories/elsewhere.md" },
  { command: "rename", old_path: "/memories", new_path: "/memories/x" },
  { command: "view", path: "/memories" },
  { command: "view", path: "/memories/team/team/anna.md" },
  { command: "delete", path: "/memories/team" },
  { command: "delete", path: "/memories/team" },
  { command: "delete", path: "/memories" },
];

test("it says what the SDK's tool for local files says", async () => {
  const [tool, local] = [toolOf(unique("same")), betaMemoryTool(await BetaLocalFilesystemMemoryTool.init(await folder()))];
  for (const command of COMMANDS) {
    assert.equal(comparable(await said(tool, command)), comparable(await said(local, command)), JSON.stringify(command));
  }
});

/** Without the sizes of directories, and without the folder that the SDK's tool for Node also leaves out. */
function comparable(text: string): string {
  const sizes = /^[\d.]+[BKMG](?=\t(\S*\/|\/memories|\/memories\/people)$)/gm;
  return text.replace(" and node_modules:", ":").replace(sizes, "SIZE");
}

test("line numbers out of range, empty texts, and paths outside of the directory are refused", async () => {
  const tool = toolOf(unique("refused"));
  await said(tool, create("one\n"));
  const insert = { command: "insert" as const, path: NOTES, insert_text: "x" };
  assert.match(await said(tool, { ...insert, insert_line: 2 }), /parameter: 2\. It should be within the range \[0, 1\]/);
  assert.match(await said(tool, { command: "str_replace", path: NOTES, old_str: "", new_str: "x" }), /must not be empty/);
  for (const path of ["/memoriesx/a.md", "memories/a.md", "/memories/a/../../b.md", "/memories/a\nb.md", ""]) {
    assert.match(await said(tool, create("x", path)), /^Error: Path .*(must|escape)/);
  }
  for (const command of [create("x", `${NOTES}/x`), { command: "rename", old_path: NOTES, new_path: `${NOTES}/x` }]) {
    assert.match(await said(tool, command as Command), /is not a directory/);
  }
});

test("the SDK's tool runner calls it", async () => {
  const flowId = unique("runner");
  const uses: Command[] = [create("Berth 12."), { command: "str_replace", path: NOTES, old_str: "13", new_str: "14" }];
  const message = { id: "m", type: "message", role: "assistant", model: "fake", usage: {} };
  const calls = uses.map((input, at) => ({ type: "tool_use", id: `t${at}`, name: "memory", input }));
  const answers = [
    ...calls.map((content) => ({ ...message, content: [content], stop_reason: "tool_use" })),
    { ...message, content: [{ type: "text", text: "Done." }], stop_reason: "end_turn" },
  ].map((body) => ({ status: 200, headers: { "Content-Type": "application/json" }, body }));
  await scripted(answers, async ({ url, requests }) => {
    const claude = new Anthropic({ apiKey: "k", baseURL: url, maxRetries: 0 });
    const asked = { model: "fake", max_tokens: 100, messages: [{ role: "user" as const, content: "Remember." }] };
    const last = await claude.beta.messages.toolRunner({ ...asked, tools: [toolOf(flowId)] });
    assert.deepEqual(last.content.map((block) => block.type === "text" && block.text), ["Done."]);
    const sent = requests.map(({ body }) => JSON.parse(body) as { tools: object[]; messages: { content: object[] }[] });
    assert.deepEqual(sent[0]?.tools, [{ type: "memory_20250818", name: "memory" }]);
    const [stored, refused] = sent.slice(1).map(({ messages }) => messages.at(-1)?.content[0] as Record<string, unknown>);
    assert.equal(stored?.["content"], `File created successfully at: ${NOTES}`);
    assert.equal(refused?.["is_error"], true);
    assert.match(String(refused?.["content"]), /did not appear verbatim/);
  });
});

test("programs that edit at the same time lose nothing", async () => {
  const flowId = unique("together");
  await said(toolOf(flowId), create("first\n"));
  const names = Array.from({ length: 6 }, (_, number) => `program ${number}`);
  const insert = { command: "insert" as const, path: NOTES, insert_line: 1 };
  const told = await Promise.all(names.map((insert_text) => said(toolOf(flowId), { ...insert, insert_text })));
  assert.deepEqual(new Set(told), new Set([`The file ${NOTES} has been edited.`]));
  const [text] = (await contents(connected(), flowId)) as [string];
  assert.deepEqual(text.split("\n").sort(), ["", "first", ...names]);
});

/** A client before whose next such call another program's command comes. */
function interrupted(call: "editMessage" | "captureRun", command: Command, flowId: string): Client {
  const client = connected();
  const original = client[call].bind(client) as (...words: unknown[]) => Promise<never>;
  client[call] = async (...words: unknown[]) => {
    client[call] = original;
    assert.doesNotMatch(await said(toolOf(flowId), command), /^Error/);
    return original(...words);
  };
  return client;
}

test("a command works on what another program did meanwhile", async () => {
  const flowId = unique("meanwhile");
  await said(toolOf(flowId), create("x", "/memories/other.md"));
  const late = interrupted("captureRun", create("12 Aurora"), flowId);
  assert.equal(await said(toolOf(flowId, late), create("ours")), `Error: File ${NOTES} already exists`);
  assert.deepEqual(await contents(connected(), flowId), ["x", "12 Aurora"]);

  const replace = { command: "str_replace" as const, path: NOTES };
  const edits = interrupted("editMessage", { ...replace, old_str: "Aurora", new_str: "Borea" }, flowId);
  assert.match(await said(toolOf(flowId, edits), { ...replace, old_str: "12", new_str: "14" }), /edited/);
  assert.deepEqual(await contents(connected(), flowId), ["x", "14 Borea"]);

  const takes = interrupted("editMessage", create("theirs", "/memories/new.md"), flowId);
  const rename = { command: "rename" as const, old_path: NOTES, new_path: "/memories/new.md" };
  assert.match(await said(toolOf(flowId, takes), rename), /already exists/);
  assert.match(await said(toolOf(flowId), { command: "view", path: NOTES }), /14 Borea$/);

  const deletes = interrupted("editMessage", { command: "delete", path: NOTES }, flowId);
  assert.match(await said(toolOf(flowId, deletes), { ...replace, old_str: "14", new_str: "15" }), /does not exist/);
});

test("an edit that the client repeats is made once", async () => {
  const [flowId, client] = [unique("repeated"), connected()];
  await said(toolOf(flowId), create("one\n"));
  const edit = client.editMessage.bind(client);
  client.editMessage = async (...words) => {
    await edit(...words); // the answer was lost
    return edit(...words);
  };
  const insert: Command = { command: "insert", path: NOTES, insert_line: 1, insert_text: "two" };
  assert.equal(await said(toolOf(flowId, client), insert), `The file ${NOTES} has been edited.`);
  assert.deepEqual(await contents(connected(), flowId), ["one\ntwo\n"]);
});

test("each end user has files that are found and erased", async () => {
  const [flowId, anna, ben] = [unique("users"), unique("anna"), "b".repeat(128)];
  for (const name of [anna, ben, undefined]) {
    assert.match(await said(toolOf(flowId, connected(), name), create(`Boat of ${name}: berth 12.`)), /created/);
  }
  const client = connected();
  const { results } = await client.searchFlow({ flow_id: flowId, query: "Which berth?", end_user_id: anna });
  assert.deepEqual(results.map((hit) => hit.content), [`Boat of ${anna}: berth 12.`]);
  await client.eraseEndUser(anna);
  const view: Command = { command: "view", path: NOTES };
  assert.match(await said(toolOf(flowId, client, anna), view), /does not exist/);
  assert.match(await said(toolOf(flowId, client, ben), view), /Boat of bbb/);
  assert.match(await said(toolOf(flowId, client), view), /Boat of undefined/);
});

test("an outage is never an empty memory, and the model is told what the server refuses", async () => {
  const away = new Client({ url: "http://127.0.0.1:9", key: KEY, tries: 1, log: () => undefined });
  const outage = /^Error: Memory is unavailable at the moment \(connection_failed\)/;
  assert.match(await said(toolOf("f", away), { command: "view", path: "/memories" }), outage);
  assert.match(await said(toolOf(unique("large")), create("x".repeat(20_000_000))), /too large\. \(bound: 16000000\)$/);
});

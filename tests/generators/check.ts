// What a TypeScript program does with the generated types; tests/acceptance/test_generators.py compiles and runs it.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const [baseUrl, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });

const messages: components["schemas"]["SentMessage"][] = [
  { role: "user", content: "Which food must I avoid?", id: "m-1" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c-1", type: "function", function: { name: "look_up", arguments: "{}" } }],
  },
  { role: "tool", content: "peanuts", tool_call_id: "c-1" },
  { role: "assistant", content: [{ type: "text", text: "Peanuts." }], metadata: { topic: "allergies" } },
  { text: "And almonds?", sender: "User" },
  { type: "ai", content: "Almonds are fine.", response_metadata: { model: "any" } },
];

await client.PUT("/v1/flows/{flow_id}", { params: { path: { flow_id: "support" } }, body: { name: "Support" } });
const captured = await client.POST("/v1/flows/{flow_id}/runs", {
  params: { path: { flow_id: "support" } },
  body: { session_id: "anna-1", run_id: "run-1", messages },
});
if (!captured.data) throw new Error(captured.error.error.code);

const history = await client.POST("/v1/history", { body: { flow_id: "support", session_id: "anna-1" } });
const view: components["schemas"]["ViewMessage"][] = history.data?.messages ?? [];

const lines = await client.GET("/v1/export", { params: { query: { flow_id: "support" } }, parseAs: "text" });
const kinds = (lines.data ?? "").trimEnd().split("\n").map((line) => {
  const read: components["schemas"]["ExportLine"] = JSON.parse(line);
  return read.type;
});

const refused = await client.GET("/v1/flows/{flow_id}", { params: { path: { flow_id: "none-such" } } });
const code: components["schemas"]["ErrorBody"]["code"] | undefined = refused.error?.error.code;

console.log(JSON.stringify({ captured: captured.data.messages.length, view: view.length, last: kinds.at(-1), code }));

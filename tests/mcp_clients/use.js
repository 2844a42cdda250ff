// Uses the MCP server with the TypeScript SDK of this major version, and prints what it got as JSON:
//   node use.js 1|2 http URL KEY
//   node use.js 1|2 stdio COMMAND [ARGUMENT...]
import process from "node:process";

const [version, kind, ...target] = process.argv.slice(2);

const sdk =
  version === "1"
    ? {
        ...(await import("@modelcontextprotocol/sdk/client/index.js")),
        ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
        ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
      }
    : {
        ...(await import("@modelcontextprotocol/client")),
        ...(await import("@modelcontextprotocol/client/stdio")),
      };

function transport() {
  if (kind === "http") {
    const [url, key] = target;
    return new sdk.StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { Authorization: `Bearer ${key}` } },
    });
  }
  const [command, ...args] = target;
  return new sdk.StdioClientTransport({ command, args, env: process.env });
}

const client = new sdk.Client({ name: "check", version: "1.0.0" });
await client.connect(transport());
const { tools } = await client.listTools();
const { resourceTemplates } = await client.listResourceTemplates();
const { prompts } = await client.listPrompts();
const found = await client.callTool({ name: "search_memory", arguments: { query: "green fence", top_k: 1 } });
const refused = await client.callTool({ name: "forget_memory", arguments: { session_id: "house" } });
const read = await client.readResource({ uri: "memorybase://sessions/house" });
const prompt = await client.getPrompt({ name: "recall", arguments: { topic: "green fence" } });
const answer = {
  server: client.getServerVersion().name,
  instructions: client.getInstructions().split(".")[0],
  tools: tools.map((tool) => tool.name).sort(),
  templates: resourceTemplates.map((template) => template.name).sort(),
  prompts: prompts.map((each) => each.name).sort(),
  found: found.structuredContent.results[0].content,
  refused: refused.isError,
  read: read.contents[0].text.split("\n\n").length,
  prompt: prompt.messages[0].content.text.includes("The fence is green."),
};
await client.close();
console.log(JSON.stringify(answer));

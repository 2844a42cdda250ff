/**
 * Writes src/schema.d.ts and src/operations.ts from docs/reference/openapi.json: `npm run generate`, with paths only these.
 *
 * Each build writes src/schema.d.ts, which git ignores. tests/generated.test.ts fails if they are not up to date.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import openapiTS, { astToString } from "openapi-typescript";

const PROJECT = new URL("../../", import.meta.url);
const CONTRACT = new URL("../../docs/reference/openapi.json", PROJECT);
const WRITTEN = "Written by scripts/generate.ts: do not edit.";
const WIDTH = 120;
const VERBS = ["get", "post", "put", "patch", "delete"] as const;

const KEY = "Idempotency-Key";
// Calls that need no key, because the client chooses the ids that the caller left out.
const IDS_CHOSEN: Record<string, string> = { capture_run: "withRunId", post_chat_messages: "withMessageIds" };

interface Schema {
  $ref?: string;
  type?: string;
  anyOf?: Schema[];
  required?: string[];
}

interface Content {
  content?: Record<string, { schema: Schema }>;
}

export interface Operation {
  operationId: string;
  description?: string;
  parameters?: { name: string; in: string; required?: boolean }[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Content>;
}

export interface Contract {
  paths: Record<string, Partial<Record<(typeof VERBS)[number], Operation>>>;
  components: { schemas: Record<string, Schema> };
}

/** The generated files, by path in the project. */
export async function generated(): Promise<Record<string, string>> {
  const contract = await readContract();
  // A field with a default is optional in a request.
  const types = astToString(await openapiTS(JSON.stringify(contract), { defaultNonNullable: false }));
  return {
    "src/schema.d.ts": `/** ${WRITTEN} */\n\n${types}`,
    "src/operations.ts": operationsSource(contract),
  };
}

export async function readContract(): Promise<Contract> {
  return JSON.parse(await readFile(CONTRACT, "utf8")) as Contract;
}

/** Every call: its path, its verb, itself. */
export function operationsOf(contract: Contract): [string, string, Operation][] {
  return Object.entries(contract.paths).flatMap(([path, item]) =>
    VERBS.flatMap((verb): [string, string, Operation][] => {
      const operation = item[verb];
      return operation ? [[path, verb.toUpperCase(), operation]] : [];
    }),
  );
}

export function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function operationsSource(contract: Contract): string {
  const methods = operationsOf(contract).map(([path, verb, operation]) => new Method(contract, path, verb, operation));
  return `/**
 * A method for every call of the HTTP API, named as its operation in docs/reference/openapi.json.
 *
 * ${WRITTEN}
 */
import { optionalBody } from "./calls.js";
import { idempotencyKeyOf, withMessageIds, withRunId } from "./ids.js";
import type { Listing } from "./listing.js";
import { Transport } from "./transport.js";
import type { Answer, CallOptions, Fields, Item, KeyedOptions, Line, Schemas } from "./types.js";

/** Ids in the path are positional; all else is named as in the HTTP API. What is left out is not sent, so the server's
 * defaults apply. */
export class Operations extends Transport {
${methods.map((method) => method.source()).join("\n")}}
`;
}

/** One call as a method. */
class Method {
  readonly #name: string;
  readonly #parameters: NonNullable<Operation["parameters"]>;

  constructor(
    readonly contract: Contract,
    readonly path: string,
    readonly verb: string,
    readonly operation: Operation,
  ) {
    this.#name = operation.operationId;
    this.#parameters = operation.parameters ?? [];
  }

  source(): string {
    const [answer, helper, last] = this.#kind();
    const name = camelCase(this.#name);
    const line = `  ${name}(${this.#arguments().join(", ")}): ${answer} {\n`;
    const lines = `  ${name}(\n${this.#arguments().map((each) => `    ${each},\n`).join("")}  ): ${answer} {\n`;
    return [
      documented(this.operation.description ?? "", "  "),
      line.length <= WIDTH ? line : lines,
      this.#mixed(),
      `    return this.${helper}(\n      ${object(this.#call(), "      ")},\n`,
      ...last.map((each) => `      ${each},\n`),
      "    );\n  }\n",
    ].join("");
  }

  get #query(): string[] {
    return this.#parameters.filter((each) => each.in === "query").map((each) => each.name);
  }

  get #ids(): string[] {
    return this.#parameters.filter((each) => each.in === "path").map((each) => each.name);
  }

  get #takesLines(): boolean {
    return "application/x-ndjson" in (this.operation.requestBody?.content ?? {});
  }

  get #takesKey(): boolean {
    return this.#parameters.some((each) => each.in === "header" && each.name === KEY);
  }

  /** The JSON body's schema. */
  get #body(): Schema | undefined {
    const schema = this.operation.requestBody?.content?.["application/json"]?.schema;
    const found = schema?.anyOf?.find((each) => each.type !== "null") ?? schema;
    return found?.$ref ? this.contract.components.schemas[found.$ref.replace(/.*\//, "")] : found;
  }

  #arguments(): string[] {
    const given = this.#ids.map((name) => `${camelCase(name)}: string`);
    if (this.#takesLines) {
      given.unshift("lines: Iterable<Line> | AsyncIterable<Line>");
    }
    if (this.#query.length > 0 || this.#body) {
      const isRequired =
        this.#parameters.some((each) => each.in === "query" && each.required) ||
        (this.operation.requestBody?.required === true && (this.#body?.required ?? []).length > 0);
      given.push(`fields: Fields<"${this.#name}">${isRequired ? "" : " = {}"}`);
    }
    return [...given, this.#takesKey ? "options?: KeyedOptions" : "options?: CallOptions"];
  }

  /** Takes what belongs in the query from what belongs in the body. */
  #mixed(): string {
    return this.#query.length > 0 && this.#body ? `    const { ${this.#query.join(", ")}, ...body } = fields;\n` : "";
  }

  #call(): string[] {
    const call = [`method: "${this.verb}"`, `path: "${this.path}"`];
    if (this.#ids.length > 0) {
      call.push(`ids: { ${this.#ids.map((name) => `${name}: ${camelCase(name)}`).join(", ")} }`);
    }
    if (this.#query.length > 0) {
      call.push(this.#body ? `query: { ${this.#query.join(", ")} }` : "query: fields");
    }
    if (this.#body) {
      const fields = this.#query.length > 0 ? "body" : "fields";
      const helper = IDS_CHOSEN[this.#name] ?? (this.operation.requestBody?.required ? "" : "optionalBody");
      call.push(`body: ${helper ? `${helper}(${fields})` : fields}`.replace(/^body: body$/, "body"));
    }
    if (this.#query.includes("wait")) {
      call.push("waitSeconds: fields.wait");
    }
    if (this.#takesKey) {
      const isKnown = this.#name in IDS_CHOSEN;
      call.push(`idempotencyKey: ${isKnown ? "options?.idempotencyKey" : "idempotencyKeyOf(options)"}`);
    }
    return call;
  }

  /** The type of the answer, the transport's method, and its arguments after the call. */
  #kind(): [string, string, string[]] {
    const successes = Object.entries(this.operation.responses).filter(([status]) => status.startsWith("2"));
    const kinds = new Set(successes.flatMap(([, response]) => Object.keys(response.content ?? {})));
    const name = `"${this.#name}"`;
    if (this.#takesLines) {
      return [`Promise<Answer<${name}>>`, "imported", ["lines", "options"]];
    }
    if (kinds.has("text/event-stream")) {
      return [`AsyncGenerator<Schemas["JobView"], void, undefined>`, "jobEvents", ["options"]];
    }
    if (kinds.has("application/x-ndjson")) {
      return [`AsyncGenerator<Schemas["ExportLine"], void, undefined>`, "exported", ["options"]];
    }
    if (kinds.has("text/plain")) {
      return ["Promise<string>", "text", ["options"]];
    }
    if (kinds.size === 0) {
      return ["Promise<void>", "nothing", ["options"]];
    }
    if (this.#query.includes("cursor")) {
      const size = this.#query.includes("size") ? [] : ['"limit"'];
      return [`Listing<Item<${name}>, Answer<${name}>>`, "listing", ["options", ...size]];
    }
    const mayBeEmpty = successes.some(([status]) => status === "204");
    return mayBeEmpty
      ? [`Promise<Answer<${name}> | undefined>`, "jsonOrNothing", ["options"]]
      : [`Promise<Answer<${name}>>`, "json", ["options"]];
  }
}

/** An object literal, on one line if it fits. */
function object(members: string[], indent: string): string {
  const line = `{ ${members.join(", ")} }`;
  return indent.length + line.length < WIDTH
    ? line
    : `{\n${members.map((each) => `${indent}  ${each},\n`).join("")}${indent}}`;
}

/** A comment of paragraphs. */
function documented(text: string, indent: string): string {
  const lines = text
    .replaceAll("*/", "*\\/")
    .trim()
    .split("\n\n")
    .flatMap((paragraph) => ["", ...wrapped(paragraph, WIDTH - indent.length - 4)])
    .slice(1);
  if (lines.length === 1) {
    return `${indent}/** ${lines[0]} */\n`;
  }
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd() + "\n").join("")}${indent} */\n`;
}

function wrapped(paragraph: string, width: number): string[] {
  const lines = [""];
  for (const word of paragraph.split(/\s+/).filter(Boolean)) {
    const last = lines[lines.length - 1] ?? "";
    if (last && last.length + 1 + word.length > width) {
      lines.push(word);
    } else {
      lines[lines.length - 1] = last ? `${last} ${word}` : word;
    }
  }
  return lines;
}

async function main(wanted: string[]): Promise<void> {
  for (const [path, source] of Object.entries(await generated())) {
    if (wanted.length > 0 && !wanted.includes(path)) continue;
    await writeFile(new URL(path, PROJECT), source);
    console.log(`wrote ${path}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(process.argv.slice(2));
}

/** Spans of the calls that are operations of a memory, by OpenTelemetry's conventions, in programs that use it.
 *
 * `@opentelemetry/api` is not required. No text is in a span unless OpenTelemetry's variable asks for it, and never a
 * key, an error's text, or an id that the caller chose. */
import type { Attributes, Span, SpanContext } from "@opentelemetry/api";

import type { Call } from "./calls.js";
import * as errors from "./errors.js";
import { environment } from "./local-stack.js";
import * as names from "./otel-names.js";

type Api = typeof import("@opentelemetry/api");

// In a variable: a bundler must not look for what may not be there.
const MODULE = "@opentelemetry/api";
const SCOPE = "memorybase-client";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

let loading: Promise<Api | undefined> | undefined;

/** What a traced call is sent with, and where its answer is noted. */
export interface Traced {
  /** They continue the trace. */
  headers: Record<string, string>;
  answered(text: string): void;
}

/** Do the work in a span if the call is an operation of a memory. Its headers continue the trace, whatever the call is. */
export async function inSpan<T>(call: Call, url: string, work: (traced: Traced) => Promise<T>): Promise<T> {
  loading ??= (import(/* webpackIgnore: true */ /* @vite-ignore */ MODULE) as Promise<Api>).catch(() => undefined);
  const api = await loading;
  const name = names.OF_CALLS.get(`${call.method} ${call.path.replace(/^\/v1/, "")}`);
  if (!api || !name) {
    return work({ headers: continued(api?.trace.getActiveSpan()?.spanContext()), answered: () => undefined });
  }
  const tracer = api.trace.getTracerProvider().getTracer(SCOPE, undefined, { schemaUrl: names.SCHEMA_URL });
  return tracer.startActiveSpan(name, { kind: api.SpanKind.CLIENT }, async (span) => {
    noted(span, () => ({ [names.OPERATION_NAME]: name, ...ofServer(url) }));
    noted(span, () => ofRequest(call));
    try {
      return await work({
        headers: continued(span.spanContext()),
        answered: (text) => noted(span, () => ofAnswer(JSON.parse(text) as Body)),
      });
    } catch (error) {
      const code = error instanceof errors.MemorybaseError ? error.code : error instanceof Error ? error.name : "error";
      span.setAttribute(names.ERROR_TYPE, code).setStatus({ code: api.SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Of a request that the server will refuse, and of another server's answer, which the client refuses, nothing is noted. */
function noted(span: Span, make: () => Attributes): void {
  if (span.isRecording()) {
    try {
      span.setAttributes(make());
    } catch {
      return;
    }
  }
}

function continued(context: SpanContext | undefined): Record<string, string> {
  if (!context || /^0*$/.test(context.traceId)) {
    return {};
  }
  const flags = context.traceFlags.toString(16).padStart(2, "0");
  const state = context.traceState?.serialize();
  return {
    traceparent: `00-${context.traceId}-${context.spanId}-${flags}`,
    ...(state ? { tracestate: state } : {}),
  };
}

function ofServer(url: string): Attributes {
  const { hostname, port, protocol } = new URL(url);
  return {
    [names.PROVIDER_NAME]: names.PROVIDER,
    [names.SERVER_ADDRESS]: hostname,
    [names.SERVER_PORT]: Number(port) || (protocol === "https:" ? 443 : 80),
  };
}

/** What is read of requests and answers. */
interface Body extends Shown {
  id?: string;
  kb_name?: string;
  memory_base_id?: string;
  memory_base_ids?: string[] | null;
  messages?: Shown[] | number; // of an erasure their number
  query?: string | null;
  report?: { recalled: unknown[] };
  results?: Shown[];
  subject_id?: string;
}

interface Shown {
  content?: unknown;
  message_id?: string;
  score?: number | null;
  text?: string;
}

function ofRequest({ ids = {}, body: given }: Call): Attributes {
  const body = (given ?? {}) as Body;
  const baseIds = body.memory_base_ids ?? [body.memory_base_id ?? ids["memory_base_id"]];
  const { message_id: messageId } = ids;
  const messages = body.messages as Shown[] | undefined;
  const isShown = areTextsWanted();
  return {
    ...(baseIds.length === 1 && baseIds[0] ? { [names.STORE_ID]: baseIds[0] } : {}),
    ...(messageId ? { [names.RECORD_COUNT]: 1 } : {}),
    ...(messageId && UUID.test(messageId) ? { [names.RECORD_ID]: messageId } : {}),
    ...(messages ? { [names.RECORD_COUNT]: messages.length } : {}),
    ...(isShown && body.query ? { [names.QUERY_TEXT]: body.query.slice(0, names.MAX_CHARACTERS) } : {}),
    ...(isShown ? records(messages ?? ("content" in body ? [body] : [])) : {}),
  };
}

/** The hits of a search, what a context recalled, the rows of an erasure, or the memory base that was created. */
function ofAnswer(answer: Body): Attributes {
  const results = answer.results ?? answer.report?.recalled;
  if (results) {
    const shown = areTextsWanted() && answer.results ? records(answer.results) : {};
    return { [names.RECORD_COUNT]: results.length, ...shown };
  }
  if (answer.subject_id) {
    return { [names.RECORD_COUNT]: answer.messages as number };
  }
  return answer.kb_name ? { [names.STORE_ID]: answer.id } : {};
}

function records(given: Shown[]): Attributes {
  const shown = given.slice(0, names.MAX_RECORDS).map((each) => {
    const content = each.content ?? each.text ?? "";
    const text = typeof content === "string" ? content : JSON.stringify(content);
    return { content: text.slice(0, names.MAX_CHARACTERS), id: each.message_id, score: each.score ?? undefined };
  });
  return shown.length > 0 ? { [names.RECORDS]: JSON.stringify(shown) } : {};
}

function areTextsWanted(): boolean {
  return names.WITH_TEXTS.includes((environment(names.TEXTS_VARIABLE) ?? "").trim().toUpperCase());
}

/**
 * The client of memorybase, the memory of LLM flows.
 *
 *     import { Client } from "memorybase-client";
 *
 *     const client = new Client();                    // MEMORYBASE_URL, MEMORYBASE_API_KEY
 *     await client.captureRun("support", { session_id: "anna", messages: [{ role: "user", content: "Berth 12." }] });
 *     const { results } = await client.searchFlow({ flow_id: "support", query: "Where is the boat?" });
 *
 * Reading order: calls (what is sent, errors, retries), transport, operations (generated), client, outbox/, ai/, anthropic-memory/.
 */
export {
  Client, type CaptureOutbox, type ClientOptions, type NewFlows, type Run, type SendRun, type WaitOptions,
} from "./client.js";
export { MemorybaseError } from "./errors.js";
export * as errors from "./errors.js";
export type { Listing } from "./listing.js";
export type { Answer, CallOptions, Fields, Item, KeyedOptions, Line, Log, OperationId, Schemas } from "./types.js";

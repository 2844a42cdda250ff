/** How a run is sent in the background. */
import type { Client, Run } from "./client.js";
import { CallerError, NotFound } from "./errors.js";
import type { CallOptions } from "./types.js";

// Flows that a client created before memorybase went away.
const withoutMemoryBase = new WeakMap<Client, Set<string>>();

/** Capture a run. Creates a flow that does not exist yet, with a memory base that holds all of its messages: without
 * one, nothing of the flow could be found. */
export async function deliver(client: Client, flowId: string, run: Run, options?: CallOptions): Promise<void> {
  const unfinished = withoutMemoryBase.get(client) ?? new Set();
  withoutMemoryBase.set(client, unfinished);
  if (unfinished.has(flowId)) {
    await createMemoryBase(client, flowId, options);
    unfinished.delete(flowId);
  }
  try {
    await client.captureRun(flowId, run, options);
  } catch (error) {
    if (!(error instanceof NotFound) || (await exists(client, flowId, options))) {
      throw error;
    }
    await client.putFlow(flowId, { name: flowId }, options);
    unfinished.add(flowId);
    await createMemoryBase(client, flowId, options);
    unfinished.delete(flowId);
    await client.captureRun(flowId, run, options);
  }
}

/** PUT would rename a flow that exists. */
async function exists(client: Client, flowId: string, options?: CallOptions): Promise<boolean> {
  try {
    await client.getFlow(flowId, options);
  } catch (error) {
    if (error instanceof NotFound) {
      return false;
    }
    throw error;
  }
  return true;
}

async function createMemoryBase(client: Client, flowId: string, options?: CallOptions): Promise<void> {
  try {
    await client.createMemoryBase({ name: `${flowId} memory`, flow_id: flowId, capture: "all" }, options);
  } catch (error) {
    if (!(error instanceof CallerError)) {
      throw error;
    }
    // The name is in use, or the key may capture only.
    client.log("warning", `the new flow has no memory base of its own: ${error.code}`);
  }
}

/** How a run is sent in the background. */
import type { Client, NewFlows, Run } from "./client.js";
import { CallerError, NotFound } from "./errors.js";
import type { CallOptions } from "./types.js";

const inMemory = new WeakMap<Client, NewFlows>();

/** Of a client without an outbox, for as long as it lives. */
function newFlowsOf(client: Client): NewFlows {
  const found = inMemory.get(client) ?? new Set<string>();
  inMemory.set(client, found);
  return found;
}

/** Capture a run. Creates a flow that does not exist yet, with a memory base that holds all of its messages: without
 * one, nothing of the flow could be found. */
export async function deliver(
  client: Client, flowId: string, run: Run, options?: CallOptions, newFlows = newFlowsOf(client),
): Promise<void> {
  try {
    if (await newFlows.has(flowId)) {
      await createMemoryBase(client, flowId, newFlows, options);
    }
    await client.captureRun(flowId, run, options);
  } catch (error) {
    if (!(error instanceof NotFound) || (await exists(client, flowId, options))) {
      throw error;
    }
    await newFlows.add(flowId); // first: the answer may be lost
    await client.putFlow(flowId, { name: flowId }, options);
    await createMemoryBase(client, flowId, newFlows, options);
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

async function createMemoryBase(
  client: Client, flowId: string, newFlows: NewFlows, options?: CallOptions,
): Promise<void> {
  try {
    await client.putMemoryBase(flowId, `${flowId} memory`, { capture: "all" }, options);
  } catch (error) {
    if (!(error instanceof CallerError) || error.retryable || error instanceof NotFound) {
      throw error;
    }
    // The name is in use, or the key may capture only.
    client.log("warning", `the new flow has no memory base of its own: ${error.code}`);
  }
  await newFlows.delete(flowId);
}

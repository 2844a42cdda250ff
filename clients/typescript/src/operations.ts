/**
 * A method for every call of the HTTP API, named as its operation in docs/reference/openapi.json.
 *
 * Written by scripts/generate.ts: do not edit.
 */
import { optionalBody } from "./calls.js";
import { idempotencyKeyOf, withMessageIds, withRunId } from "./ids.js";
import type { Listing } from "./listing.js";
import { Transport } from "./transport.js";
import type { Answer, CallOptions, Fields, Item, KeyedOptions, Line, Schemas } from "./types.js";

/** Ids in the path are positional; all else is named as in the HTTP API. What is left out is not sent, so the server's
 * defaults apply. */
export class Operations extends Transport {
  /** Check that the process answers; it asks no other part. */
  healthLive(options?: CallOptions): Promise<Answer<"health_live">> {
    return this.json(
      { method: "GET", path: "/v1/health/live" },
      options,
    );
  }

  /**
   * Check all parts: 200 if every part responds, else 503 with the names of those that do not.
   *
   * `model` is named while the embedding model is prepared in the background, or if that failed; `reason` says which.
   * 200 with `degraded` and a reason if every part responds and the queue makes no progress: a restart would not help.
   */
  healthReady(options?: CallOptions): Promise<Answer<"health_ready">> {
    return this.json(
      { method: "GET", path: "/v1/health/ready" },
      options,
    );
  }

  /**
   * List what needs a person, the worst first, each with the calls that end it. At most 50 of a kind.
   *
   * Parts that do not answer, lost vectors, dead letters, messages that nothing ingests. It answers within seconds
   * whatever part hangs.
   */
  listProblems(options?: CallOptions): Promise<Answer<"list_problems">> {
    return this.json(
      { method: "GET", path: "/v1/problems" },
      options,
    );
  }

  /**
   * Read what was captured in a window and what of it is searchable, by time and by flow, and the latest runs.
   *
   * The ten flows with the latest captures are listed; figures include the 500 with the latest captures. The answer
   * may be some seconds old where it takes long to compute.
   */
  getOverview(fields: Fields<"get_overview"> = {}, options?: CallOptions): Promise<Answer<"get_overview">> {
    return this.json(
      { method: "GET", path: "/v1/overview", query: fields },
      options,
    );
  }

  /**
   * List flows, oldest first. A key that is limited to flows lists these; one that is limited to an end user alone
   * lists those with sessions of the end user.
   */
  listFlows(
    fields: Fields<"list_flows"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_flows">, Answer<"list_flows">> {
    return this.listing(
      { method: "GET", path: "/v1/flows", query: fields },
      options,
    );
  }

  /** Create a flow with a generated id. To choose the id, use PUT /flows/{flow_id}. */
  createFlow(fields: Fields<"create_flow">, options?: KeyedOptions): Promise<Answer<"create_flow">> {
    return this.json(
      { method: "POST", path: "/v1/flows", body: fields, idempotencyKey: idempotencyKeyOf(options) },
      options,
    );
  }

  /** Read a flow. */
  getFlow(flowId: string, options?: CallOptions): Promise<Answer<"get_flow">> {
    return this.json(
      { method: "GET", path: "/v1/flows/{flow_id}", ids: { flow_id: flowId } },
      options,
    );
  }

  /** Create a flow with your own id (201), or rename it (200). */
  putFlow(flowId: string, fields: Fields<"put_flow">, options?: CallOptions): Promise<Answer<"put_flow">> {
    return this.json(
      { method: "PUT", path: "/v1/flows/{flow_id}", ids: { flow_id: flowId }, body: fields },
      options,
    );
  }

  /** Change a flow. Messages older than the days that it keeps are deleted by the sweeper's next pass. */
  updateFlow(
    flowId: string,
    fields: Fields<"update_flow"> = {},
    options?: CallOptions,
  ): Promise<Answer<"update_flow">> {
    return this.json(
      { method: "PATCH", path: "/v1/flows/{flow_id}", ids: { flow_id: flowId }, body: fields },
      options,
    );
  }

  /** Delete a flow and everything in it: 204, or 202 while its jobs stop. It is invisible at once. */
  deleteFlow(flowId: string, options?: CallOptions): Promise<Answer<"delete_flow"> | undefined> {
    return this.jsonOrNothing(
      { method: "DELETE", path: "/v1/flows/{flow_id}", ids: { flow_id: flowId } },
      options,
    );
  }

  /** List the runs of a flow, newest first. */
  listRuns(
    flowId: string,
    fields: Fields<"list_runs"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_runs">, Answer<"list_runs">> {
    return this.listing(
      { method: "GET", path: "/v1/flows/{flow_id}/runs", ids: { flow_id: flowId }, query: fields },
      options,
    );
  }

  /**
   * Capture a run's messages: 201, or 200 if all of them are stored already. Node executions are stored afterwards; a
   * failed one is reported in its result and fails nothing else.
   */
  captureRun(flowId: string, fields: Fields<"capture_run">, options?: KeyedOptions): Promise<Answer<"capture_run">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/flows/{flow_id}/runs",
        ids: { flow_id: flowId },
        body: withRunId(fields),
        idempotencyKey: options?.idempotencyKey,
      },
      options,
    );
  }

  /** Read a run of a flow. */
  getRunOfFlow(flowId: string, runId: string, options?: CallOptions): Promise<Answer<"get_run_of_flow">> {
    return this.json(
      { method: "GET", path: "/v1/flows/{flow_id}/runs/{run_id}", ids: { flow_id: flowId, run_id: runId } },
      options,
    );
  }

  /**
   * List the runs of all flows, newest first. With `q` or `state` a page looks through a bounded number of runs:
   * `next_cursor` continues even after an empty page.
   */
  findRuns(fields: Fields<"find_runs"> = {}, options?: CallOptions): Listing<Item<"find_runs">, Answer<"find_runs">> {
    return this.listing(
      { method: "GET", path: "/v1/runs", query: fields },
      options,
    );
  }

  /** Read a run. Run ids are unique within their flow; an id of several flows is 409 without `flow_id`. */
  getRun(runId: string, fields: Fields<"get_run"> = {}, options?: CallOptions): Promise<Answer<"get_run">> {
    return this.json(
      { method: "GET", path: "/v1/runs/{run_id}", ids: { run_id: runId }, query: fields },
      options,
    );
  }

  /** List memory bases: oldest first, latest first, by name, or the highest priority first. */
  listMemoryBases(
    fields: Fields<"list_memory_bases"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_memory_bases">, Answer<"list_memory_bases">> {
    return this.listing(
      { method: "GET", path: "/v1/memories", query: fields },
      options,
    );
  }

  /** Create a memory base over a flow's messages. A name or kb_name in use is 409 with `existing_id`. */
  createMemoryBase(
    fields: Fields<"create_memory_base">,
    options?: KeyedOptions,
  ): Promise<Answer<"create_memory_base">> {
    return this.json(
      { method: "POST", path: "/v1/memories", body: fields, idempotencyKey: idempotencyKeyOf(options) },
      options,
    );
  }

  /**
   * Create the flow's memory base of this name (201), or find the one it has (200). Nothing of that one is changed: a
   * fixed setting that differs is 409, and `warnings` name the others.
   */
  putMemoryBase(
    flowId: string,
    name: string,
    fields: Fields<"put_memory_base"> = {},
    options?: CallOptions,
  ): Promise<Answer<"put_memory_base">> {
    return this.json(
      {
        method: "PUT",
        path: "/v1/flows/{flow_id}/memories/{name}",
        ids: { flow_id: flowId, name: name },
        body: optionalBody(fields),
      },
      options,
    );
  }

  /** Read a memory base with its progress. */
  getMemoryBase(memoryBaseId: string, options?: CallOptions): Promise<Answer<"get_memory_base">> {
    return this.json(
      { method: "GET", path: "/v1/memories/{memory_base_id}", ids: { memory_base_id: memoryBaseId } },
      options,
    );
  }

  /**
   * Change name, threshold, auto_capture, idle_after, retain_days or priority, pause its ingestion or resume it. This
   * starts no job.
   */
  updateMemoryBase(
    memoryBaseId: string,
    fields: Fields<"update_memory_base"> = {},
    options?: CallOptions,
  ): Promise<Answer<"update_memory_base">> {
    return this.json(
      { method: "PATCH", path: "/v1/memories/{memory_base_id}", ids: { memory_base_id: memoryBaseId }, body: fields },
      options,
    );
  }

  /** Delete a memory base and its knowledge base: 204, or 202 while its jobs stop. It is invisible at once. */
  deleteMemoryBase(memoryBaseId: string, options?: CallOptions): Promise<Answer<"delete_memory_base"> | undefined> {
    return this.jsonOrNothing(
      { method: "DELETE", path: "/v1/memories/{memory_base_id}", ids: { memory_base_id: memoryBaseId } },
      options,
    );
  }

  /** List the sessions of the flow with their progress, tracked or not. */
  listMemoryBaseSessions(
    memoryBaseId: string,
    fields: Fields<"list_memory_base_sessions"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_memory_base_sessions">, Answer<"list_memory_base_sessions">> {
    return this.listing(
      {
        method: "GET",
        path: "/v1/memories/{memory_base_id}/sessions",
        ids: { memory_base_id: memoryBaseId },
        query: fields,
      },
      options,
    );
  }

  /**
   * Ingest pending messages of one session, of several or of all, whatever the threshold.
   *
   * 202 with the jobs; 200 if nothing was pending or all jobs ended within `wait` seconds. With `session_ids` every
   * session has a result: a job, a conflict with an active one, or why it was skipped. Without, at most 200 jobs are
   * queued at once; `deferred` more sessions are due and get theirs within seconds.
   */
  flushMemoryBase(
    memoryBaseId: string,
    fields: Fields<"flush_memory_base"> = {},
    options?: CallOptions,
  ): Promise<Answer<"flush_memory_base">> {
    const { wait, ...body } = fields;
    return this.json(
      {
        method: "POST",
        path: "/v1/memories/{memory_base_id}/flush",
        ids: { memory_base_id: memoryBaseId },
        query: { wait },
        body: optionalBody(body),
        waitSeconds: fields.wait,
      },
      options,
    );
  }

  /** Ingest what is pending now, as POST /memories/{memory_base_id}/flush does. */
  syncMemoryBase(
    memoryBaseId: string,
    fields: Fields<"sync_memory_base"> = {},
    options?: CallOptions,
  ): Promise<Answer<"sync_memory_base">> {
    const { wait, ...body } = fields;
    return this.json(
      {
        method: "POST",
        path: "/v1/memories/{memory_base_id}/update",
        ids: { memory_base_id: memoryBaseId },
        query: { wait },
        body: optionalBody(body),
        waitSeconds: fields.wait,
      },
      options,
    );
  }

  /** Rebuild the knowledge base from the stored messages. Searches read the old one until the build is complete. */
  regenerateMemoryBase(
    memoryBaseId: string,
    fields: Fields<"regenerate_memory_base"> = {},
    options?: KeyedOptions,
  ): Promise<Answer<"regenerate_memory_base">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/memories/{memory_base_id}/regenerate",
        ids: { memory_base_id: memoryBaseId },
        body: optionalBody(fields),
        idempotencyKey: idempotencyKeyOf(options),
      },
      options,
    );
  }

  /** Compare the vector store with the ledger, chunk by chunk. */
  checkMismatch(memoryBaseId: string, options?: CallOptions): Promise<Answer<"check_mismatch">> {
    return this.json(
      { method: "GET", path: "/v1/memories/{memory_base_id}/mismatch", ids: { memory_base_id: memoryBaseId } },
      options,
    );
  }

  /** Show the weights of search signals: the defaults, the memory base's own, and its previous ones. */
  getSearchWeights(memoryBaseId: string, options?: CallOptions): Promise<Answer<"get_search_weights">> {
    return this.json(
      { method: "GET", path: "/v1/memories/{memory_base_id}/weights", ids: { memory_base_id: memoryBaseId } },
      options,
    );
  }

  /** Set the memory base's own weights. Searches use them at once. To undo, set the previous weights. */
  setSearchWeights(
    memoryBaseId: string,
    fields: Fields<"set_search_weights">,
    options?: CallOptions,
  ): Promise<Answer<"set_search_weights">> {
    return this.json(
      {
        method: "PUT",
        path: "/v1/memories/{memory_base_id}/weights",
        ids: { memory_base_id: memoryBaseId },
        body: fields,
      },
      options,
    );
  }

  /** Return to the default weights. The memory base's own become the previous ones. */
  resetSearchWeights(memoryBaseId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      { method: "DELETE", path: "/v1/memories/{memory_base_id}/weights", ids: { memory_base_id: memoryBaseId } },
      options,
    );
  }

  /** Count messages captured and ingested over time, with ingestion delays. The window is at most 31 days. */
  getActivity(
    memoryBaseId: string,
    fields: Fields<"get_activity">,
    options?: CallOptions,
  ): Promise<Answer<"get_activity">> {
    return this.json(
      {
        method: "GET",
        path: "/v1/memories/{memory_base_id}/activity",
        ids: { memory_base_id: memoryBaseId },
        query: fields,
      },
      options,
    );
  }

  /** List the jobs of a memory base, newest first. */
  listJobs(
    memoryBaseId: string,
    fields: Fields<"list_jobs"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_jobs">, Answer<"list_jobs">> {
    return this.listing(
      {
        method: "GET",
        path: "/v1/memories/{memory_base_id}/jobs",
        ids: { memory_base_id: memoryBaseId },
        query: fields,
      },
      options,
    );
  }

  /** List messages that could not be embedded, with error and attempts. */
  listDeadLetters(
    memoryBaseId: string,
    fields: Fields<"list_dead_letters"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_dead_letters">, Answer<"list_dead_letters">> {
    return this.listing(
      {
        method: "GET",
        path: "/v1/memories/{memory_base_id}/dead-letters",
        ids: { memory_base_id: memoryBaseId },
        query: fields,
      },
      options,
    );
  }

  /** Try again to embed the message of a dead letter. */
  retryDeadLetter(
    memoryBaseId: string,
    deadLetterId: string,
    options?: CallOptions,
  ): Promise<Answer<"retry_dead_letter">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/memories/{memory_base_id}/dead-letters/{dead_letter_id}/retry",
        ids: { memory_base_id: memoryBaseId, dead_letter_id: deadLetterId },
      },
      options,
    );
  }

  /** Discard a dead letter: this memory base skips the message, which stays stored. */
  discardDeadLetter(memoryBaseId: string, deadLetterId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      {
        method: "DELETE",
        path: "/v1/memories/{memory_base_id}/dead-letters/{dead_letter_id}",
        ids: { memory_base_id: memoryBaseId, dead_letter_id: deadLetterId },
      },
      options,
    );
  }

  /** List the jobs of all memory bases, newest first. */
  listAllJobs(
    fields: Fields<"list_all_jobs"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_all_jobs">, Answer<"list_all_jobs">> {
    return this.listing(
      { method: "GET", path: "/v1/jobs", query: fields },
      options,
    );
  }

  /**
   * Retry or cancel the jobs that match, oldest first, with a result for each; with `dry_run`, count them.
   *
   * A retry runs what waits after an outage now. The messages of a cancelled job stay stored and pending. Repeat the
   * call while `remaining` is not 0.
   */
  actOnJobs(fields: Fields<"act_on_jobs">, options?: CallOptions): Promise<Answer<"act_on_jobs">> {
    return this.json(
      { method: "POST", path: "/v1/jobs/actions", body: fields },
      options,
    );
  }

  /** Read a job, or wait until it ends. */
  getJob(jobId: string, fields: Fields<"get_job"> = {}, options?: CallOptions): Promise<Answer<"get_job">> {
    return this.json(
      { method: "GET", path: "/v1/jobs/{job_id}", ids: { job_id: jobId }, query: fields, waitSeconds: fields.wait },
      options,
    );
  }

  /** Cancel a job. Its messages stay pending. */
  cancelJob(jobId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      { method: "DELETE", path: "/v1/jobs/{job_id}", ids: { job_id: jobId } },
      options,
    );
  }

  /**
   * Stream server-sent events: `job` after each change, `end` with the last state, `unauthorized` if the key was
   * revoked.
   */
  watchJob(jobId: string, options?: CallOptions): AsyncGenerator<Schemas["JobView"], void, undefined> {
    return this.jobEvents(
      { method: "GET", path: "/v1/jobs/{job_id}/events", ids: { job_id: jobId } },
      options,
    );
  }

  /** List messages of all memory bases that could not be embedded, oldest first. */
  listAllDeadLetters(
    fields: Fields<"list_all_dead_letters"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_all_dead_letters">, Answer<"list_all_dead_letters">> {
    return this.listing(
      { method: "GET", path: "/v1/dead-letters", query: fields },
      options,
    );
  }

  /** Group the dead letters by cause, and within each cause by text, most messages first. */
  groupDeadLetters(
    fields: Fields<"group_dead_letters"> = {},
    options?: CallOptions,
  ): Promise<Answer<"group_dead_letters">> {
    return this.json(
      { method: "GET", path: "/v1/dead-letters/groups", query: fields },
      options,
    );
  }

  /**
   * Retry or discard the dead letters that match, oldest first, with a result for each; with `dry_run`, count them.
   *
   * Repeat the call while `remaining` is not 0. A retried dead letter is gone once its message is embedded. The
   * message of a discarded one stays stored, and searches by meaning do not find it until it is edited or the memory
   * base is regenerated.
   */
  actOnDeadLetters(
    fields: Fields<"act_on_dead_letters">,
    options?: CallOptions,
  ): Promise<Answer<"act_on_dead_letters">> {
    return this.json(
      { method: "POST", path: "/v1/dead-letters/actions", body: fields },
      options,
    );
  }

  /** List messages: by seq within one session of a flow, else by time of capture. */
  listMessages(
    fields: Fields<"list_messages"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_messages">, Answer<"list_messages">> {
    return this.listing(
      { method: "GET", path: "/v1/messages", query: fields },
      options,
    );
  }

  /** Read a message. Message ids are unique within their flow; an id of several flows is 409 without `flow_id`. */
  getMessage(
    messageId: string,
    fields: Fields<"get_message"> = {},
    options?: CallOptions,
  ): Promise<Answer<"get_message">> {
    return this.json(
      { method: "GET", path: "/v1/messages/{message_id}", ids: { message_id: messageId }, query: fields },
      options,
    );
  }

  /**
   * Change content, files or metadata; mute or pin the message. Searches see it at once; jobs update the knowledge
   * bases. Former versions are kept until the message is deleted. With `version`, 409 if the message has another one.
   */
  editMessage(
    messageId: string,
    fields: Fields<"edit_message"> = {},
    options?: CallOptions,
  ): Promise<Answer<"edit_message">> {
    const { flow_id, ...body } = fields;
    return this.json(
      { method: "PATCH", path: "/v1/messages/{message_id}", ids: { message_id: messageId }, query: { flow_id }, body },
      options,
    );
  }

  /**
   * Delete a message. Searches leave it out at once; jobs update the knowledge bases. It can be restored for as many
   * days as the setting deleted_retention_days says.
   */
  deleteMessage(
    messageId: string,
    fields: Fields<"delete_message"> = {},
    options?: CallOptions,
  ): Promise<Answer<"delete_message">> {
    return this.json(
      { method: "DELETE", path: "/v1/messages/{message_id}", ids: { message_id: messageId }, query: fields },
      options,
    );
  }

  /** List the runs whose models received a message, latest first. */
  listMessageUses(
    messageId: string,
    fields: Fields<"list_message_uses"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_message_uses">, Answer<"list_message_uses">> {
    return this.listing(
      { method: "GET", path: "/v1/messages/{message_id}/uses", ids: { message_id: messageId }, query: fields },
      options,
    );
  }

  /** Show whether each memory base of the flow holds a message, since when, and in how many chunks. */
  getMessageIngestion(
    messageId: string,
    fields: Fields<"get_message_ingestion"> = {},
    options?: CallOptions,
  ): Promise<Answer<"get_message_ingestion">> {
    return this.json(
      { method: "GET", path: "/v1/messages/{message_id}/ingestion", ids: { message_id: messageId }, query: fields },
      options,
    );
  }

  /**
   * List what was done to a message, newest first: edits with the former version and the difference, mute, pin,
   * restore; when, by which API key, and why.
   */
  getMessageHistory(
    messageId: string,
    fields: Fields<"get_message_history"> = {},
    options?: CallOptions,
  ): Listing<Item<"get_message_history">, Answer<"get_message_history">> {
    return this.listing(
      { method: "GET", path: "/v1/messages/{message_id}/history", ids: { message_id: messageId }, query: fields },
      options,
    );
  }

  /** Mute, unmute, pin, unpin, delete or restore up to 500 messages. Each has its own result. */
  actOnMessages(fields: Fields<"act_on_messages">, options?: CallOptions): Promise<Answer<"act_on_messages">> {
    return this.json(
      { method: "POST", path: "/v1/messages/actions", body: fields },
      options,
    );
  }

  /** List deleted messages that can be restored, the last deleted first. */
  listDeletedMessages(
    fields: Fields<"list_deleted_messages"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_deleted_messages">, Answer<"list_deleted_messages">> {
    return this.listing(
      { method: "GET", path: "/v1/deleted-messages", query: fields },
      options,
    );
  }

  /** Restore a deleted message in its place. Searches find it at once; jobs update the knowledge bases. */
  restoreMessage(
    messageId: string,
    fields: Fields<"restore_message"> = {},
    options?: CallOptions,
  ): Promise<Answer<"restore_message">> {
    const { flow_id, ...body } = fields;
    return this.json(
      {
        method: "POST",
        path: "/v1/deleted-messages/{message_id}/restore",
        ids: { message_id: messageId },
        query: { flow_id },
        body: optionalBody(body),
      },
      options,
    );
  }

  /** Delete a deleted message for good, before its retention ends. */
  purgeMessage(messageId: string, fields: Fields<"purge_message"> = {}, options?: CallOptions): Promise<void> {
    return this.nothing(
      { method: "DELETE", path: "/v1/deleted-messages/{message_id}", ids: { message_id: messageId }, query: fields },
      options,
    );
  }

  /**
   * List sessions. In the order `recent` a session moves to the front with each capture, also between two pages.
   *
   * With `q` or `state` a page looks through a bounded number of sessions: `next_cursor` continues even after an empty
   * page.
   */
  listSessions(
    fields: Fields<"list_sessions"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_sessions">, Answer<"list_sessions">> {
    return this.listing(
      { method: "GET", path: "/v1/sessions", query: fields },
      options,
    );
  }

  /** Rename a session, replace its metadata, or set when it expires. An id of another session is 409. */
  updateSession(fields: Fields<"update_session">, options?: CallOptions): Promise<Answer<"update_session">> {
    return this.json(
      { method: "PATCH", path: "/v1/sessions", body: fields },
      options,
    );
  }

  /** Delete a session and its messages. Searches leave it out at once; jobs update the knowledge bases. */
  deleteSession(fields: Fields<"delete_session">, options?: CallOptions): Promise<Answer<"delete_session">> {
    return this.json(
      { method: "DELETE", path: "/v1/sessions", query: fields },
      options,
    );
  }

  /** List the end users of all sessions and chats. */
  listEndUsers(
    fields: Fields<"list_end_users"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_end_users">, Answer<"list_end_users">> {
    return this.listing(
      { method: "GET", path: "/v1/end-users", query: fields },
      options,
    );
  }

  /** Read how much is stored of an end user, by kind. */
  getEndUser(endUserId: string, options?: CallOptions): Promise<Answer<"get_end_user">> {
    return this.json(
      { method: "GET", path: "/v1/end-users/{end_user_id}", ids: { end_user_id: endUserId } },
      options,
    );
  }

  /** Delete every session of an end user, in all flows. The response counts what was deleted. */
  eraseEndUser(endUserId: string, options?: CallOptions): Promise<Answer<"erase_end_user">> {
    return this.json(
      { method: "DELETE", path: "/v1/end-users/{end_user_id}", ids: { end_user_id: endUserId } },
      options,
    );
  }

  /**
   * Read a session, or one node's part of it, as messages for a model. With `run_id` and `node_id` the memory use is
   * recorded.
   */
  getHistory(fields: Fields<"get_history">, options?: CallOptions): Promise<Answer<"get_history">> {
    return this.json(
      { method: "POST", path: "/v1/history", body: fields },
      options,
    );
  }

  /** Read a node execution. An id of several flows is 409 without `flow_id`. */
  getNodeExecution(
    executionId: string,
    fields: Fields<"get_node_execution"> = {},
    options?: CallOptions,
  ): Promise<Answer<"get_node_execution">> {
    return this.json(
      { method: "GET", path: "/v1/node-executions/{execution_id}", ids: { execution_id: executionId }, query: fields },
      options,
    );
  }

  /** Store a node execution (201) or replace it (200). Its run may be captured later. */
  putNodeExecution(
    executionId: string,
    fields: Fields<"put_node_execution">,
    options?: CallOptions,
  ): Promise<Answer<"put_node_execution">> {
    return this.json(
      { method: "PUT", path: "/v1/node-executions/{execution_id}", ids: { execution_id: executionId }, body: fields },
      options,
    );
  }

  /** Delete a node execution and its outputs. Node memory is then read from the previous execution. */
  deleteNodeExecution(
    executionId: string,
    fields: Fields<"delete_node_execution"> = {},
    options?: CallOptions,
  ): Promise<void> {
    return this.nothing(
      {
        method: "DELETE",
        path: "/v1/node-executions/{execution_id}",
        ids: { execution_id: executionId },
        query: fields,
      },
      options,
    );
  }

  /** Show the memory that each node of a run received. */
  getRunMemory(flowId: string, runId: string, options?: CallOptions): Promise<Answer<"get_run_memory">> {
    return this.json(
      { method: "GET", path: "/v1/flows/{flow_id}/runs/{run_id}/memory", ids: { flow_id: flowId, run_id: runId } },
      options,
    );
  }

  /**
   * Record the memory that a client gave a node's model itself, such as search results in its prompt. It replaces an
   * earlier record of this run and node, unless a legal hold keeps that: then 409. If the run is not captured within a
   * day, the record is deleted.
   */
  putRunMemory(
    flowId: string,
    runId: string,
    nodeId: string,
    fields: Fields<"put_run_memory">,
    options?: CallOptions,
  ): Promise<Answer<"put_run_memory">> {
    return this.json(
      {
        method: "PUT",
        path: "/v1/flows/{flow_id}/runs/{run_id}/memory/{node_id}",
        ids: { flow_id: flowId, run_id: runId, node_id: nodeId },
        body: fields,
      },
      options,
    );
  }

  /**
   * Show a run as one story: its question and answer, the memory that each node received and how well it fits, and
   * when each memory base held the messages.
   */
  getRunStory(flowId: string, runId: string, options?: CallOptions): Promise<Answer<"get_run_story">> {
    return this.json(
      { method: "GET", path: "/v1/flows/{flow_id}/runs/{run_id}/story", ids: { flow_id: flowId, run_id: runId } },
      options,
    );
  }

  /** Search the messages of a memory base, best first, including those not ingested yet. */
  searchMemoryBase(
    memoryBaseId: string,
    fields: Fields<"search_memory_base">,
    options?: CallOptions,
  ): Promise<Answer<"search_memory_base">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/memories/{memory_base_id}/search",
        ids: { memory_base_id: memoryBaseId },
        body: fields,
      },
      options,
    );
  }

  /** Search every memory base of a flow, several memory bases, or all, best first. */
  searchFlow(fields: Fields<"search_flow">, options?: CallOptions): Promise<Answer<"search_flow">> {
    return this.json(
      { method: "POST", path: "/v1/search", body: fields },
      options,
    );
  }

  /** List the API keys that are not revoked. */
  listKeys(fields: Fields<"list_keys"> = {}, options?: CallOptions): Listing<Item<"list_keys">, Answer<"list_keys">> {
    return this.listing(
      { method: "GET", path: "/v1/keys", query: fields },
      options,
    );
  }

  /** Create an API key. Only this response contains the secret. `flow_ids` and `end_user_id` limit the key. */
  createKey(fields: Fields<"create_key">, options?: KeyedOptions): Promise<Answer<"create_key">> {
    return this.json(
      { method: "POST", path: "/v1/keys", body: fields, idempotencyKey: idempotencyKeyOf(options) },
      options,
    );
  }

  /**
   * Create a key that replaces this one, with its name, scopes, limits, quotas and usage. Both are valid during the
   * overlap. Only this response contains the secret.
   */
  rotateKey(keyId: string, fields: Fields<"rotate_key"> = {}, options?: KeyedOptions): Promise<Answer<"rotate_key">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/keys/{key_id}/rotate",
        ids: { key_id: keyId },
        body: optionalBody(fields),
        idempotencyKey: idempotencyKeyOf(options),
      },
      options,
    );
  }

  /** Revoke an API key: its next use is refused. */
  revokeKey(keyId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      { method: "DELETE", path: "/v1/keys/{key_id}", ids: { key_id: keyId } },
      options,
    );
  }

  /** List the workers of the installation, with how much each of them holds. `memorybase workers drain` stops one. */
  listWorkers(options?: CallOptions): Promise<Answer<"list_workers">> {
    return this.json(
      { method: "GET", path: "/v1/workers" },
      options,
    );
  }

  /** Create a link that signs a browser in with this key's scopes. It works once, for one hour. */
  createSignInLink(options?: CallOptions): Promise<Answer<"create_sign_in_link">> {
    return this.json(
      { method: "POST", path: "/v1/sign-in-links" },
      options,
    );
  }

  /** Read metrics in Prometheus text format. Gauges cover the whole installation, counters this process. */
  getMetrics(options?: CallOptions): Promise<string> {
    return this.text(
      { method: "GET", path: "/v1/metrics" },
      options,
    );
  }

  /** Read a session's summary and the state of the next one. */
  getSummary(fields: Fields<"get_summary">, options?: CallOptions): Promise<Answer<"get_summary">> {
    return this.json(
      { method: "GET", path: "/v1/summary", query: fields },
      options,
    );
  }

  /** Request a new summary of all but the latest pairs of question and reply. A worker makes it. */
  requestSummary(fields: Fields<"request_summary">, options?: CallOptions): Promise<Answer<"request_summary">> {
    return this.json(
      { method: "POST", path: "/v1/summary", body: fields },
      options,
    );
  }

  /** Delete a session's summaries, or those of one summarizer or preset. A later read may request new ones. */
  deleteSummary(fields: Fields<"delete_summary">, options?: CallOptions): Promise<void> {
    return this.nothing(
      { method: "DELETE", path: "/v1/summary", query: fields },
      options,
    );
  }

  /** Build history, summary and recalled memories within the token budget. `degraded` names what is unavailable. */
  buildContext(fields: Fields<"build_context">, options?: CallOptions): Promise<Answer<"build_context">> {
    return this.json(
      { method: "POST", path: "/v1/context", body: fields },
      options,
    );
  }

  /** Export flows, sessions, runs and messages with every stored field. A complete export ends with an `end` line. */
  exportLines(
    fields: Fields<"export_lines"> = {},
    options?: CallOptions,
  ): AsyncGenerator<Schemas["ExportLine"], void, undefined> {
    return this.exported(
      { method: "GET", path: "/v1/export", query: fields },
      options,
    );
  }

  /** Import any range of lines of an export. Stored rows are kept, so a broken import can be sent again. */
  importLines(
    lines: Iterable<Line> | AsyncIterable<Line>,
    fields: Fields<"import_lines"> = {},
    options?: CallOptions,
  ): Promise<Answer<"import_lines">> {
    return this.imported(
      { method: "POST", path: "/v1/import", query: fields },
      lines,
      options,
    );
  }

  /** Replace the quotas of a key, also of those that it was rotated into. A key cannot change its own. */
  setKeyQuotas(
    keyId: string,
    fields: Fields<"set_key_quotas"> = {},
    options?: CallOptions,
  ): Promise<Answer<"set_key_quotas">> {
    return this.json(
      { method: "PUT", path: "/v1/keys/{key_id}/quotas", ids: { key_id: keyId }, body: fields },
      options,
    );
  }

  /**
   * Read the quotas of the user and of the calling key: limit, use, and when it resets. A limited key sees its own
   * only.
   */
  getUsage(fields: Fields<"get_usage"> = {}, options?: CallOptions): Promise<Answer<"get_usage">> {
    return this.json(
      { method: "GET", path: "/v1/usage", query: fields },
      options,
    );
  }

  /** Count what the rules would delete now. Nothing is changed. */
  previewRetention(
    fields: Fields<"preview_retention"> = {},
    options?: CallOptions,
  ): Promise<Answer<"preview_retention">> {
    return this.json(
      { method: "GET", path: "/v1/retention/preview", query: fields },
      options,
    );
  }

  /** List the receipts of what expired, newest first, also of flows that are deleted by now. */
  listRetentionPasses(
    fields: Fields<"list_retention_passes"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_retention_passes">, Answer<"list_retention_passes">> {
    return this.listing(
      { method: "GET", path: "/v1/retention/passes", query: fields },
      options,
    );
  }

  /** List the receipts of erased end users and deleted sessions, newest first. */
  listErasures(
    fields: Fields<"list_erasures"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_erasures">, Answer<"list_erasures">> {
    return this.listing(
      { method: "GET", path: "/v1/erasures", query: fields },
      options,
    );
  }

  /** Read the receipt of an erasure. */
  getErasure(erasureId: string, options?: CallOptions): Promise<Answer<"get_erasure">> {
    return this.json(
      { method: "GET", path: "/v1/erasures/{erasure_id}", ids: { erasure_id: erasureId } },
      options,
    );
  }

  /** List the legal holds, oldest first. */
  listHolds(
    fields: Fields<"list_holds"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_holds">, Answer<"list_holds">> {
    return this.listing(
      { method: "GET", path: "/v1/holds", query: fields },
      options,
    );
  }

  /**
   * Place a legal hold on a flow, on one session of it, or on an end user in all flows. Until it is lifted, retention
   * leaves everything of it, and each deletion of any of it is 409 `legal_hold`.
   */
  placeHold(fields: Fields<"place_hold"> = {}, options?: CallOptions): Promise<Answer<"place_hold">> {
    return this.json(
      { method: "POST", path: "/v1/holds", body: fields },
      options,
    );
  }

  /** Lift a legal hold. What only it kept can be deleted again, and expires with the next pass. */
  liftHold(holdId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      { method: "DELETE", path: "/v1/holds/{hold_id}", ids: { hold_id: holdId } },
      options,
    );
  }

  /** List changes, exports, reads on the page and refusals, newest first. No entry contains text. */
  listAuditEntries(
    fields: Fields<"list_audit_entries"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_audit_entries">, Answer<"list_audit_entries">> {
    return this.listing(
      { method: "GET", path: "/v1/audit", query: fields },
      options,
    );
  }

  /** Export sealed entries as JSON lines, in the order of the hash chain. Continue with the last line's `seq`. */
  exportAuditEntries(
    fields: Fields<"export_audit_entries"> = {},
    options?: CallOptions,
  ): AsyncGenerator<Schemas["ExportLine"], void, undefined> {
    return this.exported(
      { method: "GET", path: "/v1/audit/export", query: fields },
      options,
    );
  }

  /** Search for Dify's External Knowledge API. The endpoint to enter in Dify ends in /v1/dify. */
  retrieveKnowledge(
    fields: Fields<"retrieve_knowledge">,
    options?: CallOptions,
  ): Promise<Answer<"retrieve_knowledge">> {
    return this.json(
      { method: "POST", path: "/v1/dify/retrieval", body: fields },
      options,
    );
  }

  /** List knowledge bases, oldest first. */
  listKnowledgeBases(
    fields: Fields<"list_knowledge_bases"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_knowledge_bases">, Answer<"list_knowledge_bases">> {
    return this.listing(
      { method: "GET", path: "/v1/knowledge-bases", query: fields },
      options,
    );
  }

  /** Create an ordinary knowledge base. A name in use is 409 with `existing_id`. */
  createKnowledgeBase(
    fields: Fields<"create_knowledge_base">,
    options?: KeyedOptions,
  ): Promise<Answer<"create_knowledge_base">> {
    return this.json(
      { method: "POST", path: "/v1/knowledge-bases", body: fields, idempotencyKey: idempotencyKeyOf(options) },
      options,
    );
  }

  /** Read a knowledge base. */
  getKnowledgeBase(name: string, options?: CallOptions): Promise<Answer<"get_knowledge_base">> {
    return this.json(
      { method: "GET", path: "/v1/knowledge-bases/{name}", ids: { name: name } },
      options,
    );
  }

  /** Delete an ordinary knowledge base with its documents. */
  deleteKnowledgeBase(name: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      { method: "DELETE", path: "/v1/knowledge-bases/{name}", ids: { name: name } },
      options,
    );
  }

  /** Add documents and make them searchable. Returns one result per document, in order. A repeat changes nothing. */
  addDocuments(
    name: string,
    fields: Fields<"add_documents">,
    options?: CallOptions,
  ): Promise<Answer<"add_documents">> {
    return this.json(
      { method: "POST", path: "/v1/knowledge-bases/{name}/documents", ids: { name: name }, body: fields },
      options,
    );
  }

  /** Rebuild the collection from SQL: it replaces a lost collection and uses the current model. */
  rebuildKnowledgeBase(name: string, options?: KeyedOptions): Promise<Answer<"rebuild_knowledge_base">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/knowledge-bases/{name}/rebuild",
        ids: { name: name },
        idempotencyKey: idempotencyKeyOf(options),
      },
      options,
    );
  }

  /** Search the chunks of a knowledge base, best first. */
  searchKnowledgeBase(
    name: string,
    fields: Fields<"search_knowledge_base">,
    options?: CallOptions,
  ): Promise<Answer<"search_knowledge_base">> {
    return this.json(
      { method: "POST", path: "/v1/knowledge-bases/{name}/search", ids: { name: name }, body: fields },
      options,
    );
  }

  /** Read whether facts are distilled for a memory base, what waits and why, and what it used. */
  getDistillation(memoryBaseId: string, options?: CallOptions): Promise<Answer<"get_distillation">> {
    return this.json(
      { method: "GET", path: "/v1/memories/{memory_base_id}/distillation", ids: { memory_base_id: memoryBaseId } },
      options,
    );
  }

  /**
   * Turn distillation on or off. On: a language model, which the operator chose, reads what is ingested and derives
   * facts. Off: nothing more is read; facts stay until they are deleted.
   */
  setDistillation(
    memoryBaseId: string,
    fields: Fields<"set_distillation">,
    options?: CallOptions,
  ): Promise<Answer<"set_distillation">> {
    return this.json(
      {
        method: "PUT",
        path: "/v1/memories/{memory_base_id}/distillation",
        ids: { memory_base_id: memoryBaseId },
        body: fields,
      },
      options,
    );
  }

  /** List facts, newest first: those that hold, those that later ones correct, or all. */
  listFacts(
    memoryBaseId: string,
    fields: Fields<"list_facts"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_facts">, Answer<"list_facts">> {
    return this.listing(
      {
        method: "GET",
        path: "/v1/memories/{memory_base_id}/facts",
        ids: { memory_base_id: memoryBaseId },
        query: fields,
      },
      options,
    );
  }

  /** Delete every fact of a memory base. The messages stay. */
  deleteFacts(memoryBaseId: string, options?: CallOptions): Promise<Answer<"delete_facts">> {
    return this.json(
      { method: "DELETE", path: "/v1/memories/{memory_base_id}/facts", ids: { memory_base_id: memoryBaseId } },
      options,
    );
  }

  /** Find the facts that are about a question, best first, without those that later ones correct. */
  searchFacts(
    memoryBaseId: string,
    fields: Fields<"search_facts">,
    options?: CallOptions,
  ): Promise<Answer<"search_facts">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/memories/{memory_base_id}/facts/search",
        ids: { memory_base_id: memoryBaseId },
        body: fields,
      },
      options,
    );
  }

  /** Read a fact. After a source was edited or deleted it is 404. */
  getFact(memoryBaseId: string, factId: string, options?: CallOptions): Promise<Answer<"get_fact">> {
    return this.json(
      {
        method: "GET",
        path: "/v1/memories/{memory_base_id}/facts/{fact_id}",
        ids: { memory_base_id: memoryBaseId, fact_id: factId },
      },
      options,
    );
  }

  /** Delete a fact and those that say the same. The messages stay. */
  deleteFact(memoryBaseId: string, factId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      {
        method: "DELETE",
        path: "/v1/memories/{memory_base_id}/facts/{fact_id}",
        ids: { memory_base_id: memoryBaseId, fact_id: factId },
      },
      options,
    );
  }

  /** List the labels, newest first. */
  listLabels(
    fields: Fields<"list_labels"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_labels">, Answer<"list_labels">> {
    return this.listing(
      { method: "GET", path: "/v1/labels", query: fields },
      options,
    );
  }

  /**
   * Mark a message as right or wrong for a question. A second label of the same question and message replaces the
   * first.
   */
  markResult(fields: Fields<"mark_result">, options?: CallOptions): Promise<Answer<"mark_result">> {
    return this.json(
      { method: "POST", path: "/v1/labels", body: fields },
      options,
    );
  }

  /**
   * Export the labels of a flow as questions, one JSON object on each line, as `memorybase evaluate` reads them: up to
   * 50,000 labels, and of each question up to 100 right and 100 wrong messages.
   */
  exportLabels(fields: Fields<"export_labels"> = {}, options?: CallOptions): Promise<string> {
    return this.text(
      { method: "GET", path: "/v1/labels/export", query: fields },
      options,
    );
  }

  /** Remove a label. */
  deleteLabel(labelId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      { method: "DELETE", path: "/v1/labels/{label_id}", ids: { label_id: labelId } },
      options,
    );
  }

  /**
   * Read the map: up to 5,000 points, each with its message's id, session, speaker and time, but not its text. Deleted
   * messages never show. A `question` is projected onto the map.
   */
  getMemoryMap(
    memoryBaseId: string,
    fields: Fields<"get_memory_map"> = {},
    options?: CallOptions,
  ): Promise<Answer<"get_memory_map">> {
    return this.json(
      {
        method: "GET",
        path: "/v1/memories/{memory_base_id}/map",
        ids: { memory_base_id: memoryBaseId },
        query: fields,
      },
      options,
    );
  }

  /**
   * Request a map of the memory base's messages in two dimensions. A worker computes it; the last one stays until
   * then. With less than 20 messages nothing is computed.
   */
  requestMemoryMap(memoryBaseId: string, options?: CallOptions): Promise<Answer<"request_memory_map">> {
    return this.json(
      { method: "POST", path: "/v1/memories/{memory_base_id}/map", ids: { memory_base_id: memoryBaseId } },
      options,
    );
  }

  /**
   * Look through some stored rows for secrets, and redact them if asked. Repeat with `next_cursor` until it is null.
   * Redacted text is gone for good; what a legal hold keeps stays as it is.
   */
  scanSecrets(fields: Fields<"scan_secrets"> = {}, options?: CallOptions): Promise<Answer<"scan_secrets">> {
    return this.json(
      { method: "POST", path: "/v1/secrets/scan", body: fields },
      options,
    );
  }

  /** List the chat memories of a flow, oldest first. */
  listChatMemories(
    flowId: string,
    fields: Fields<"list_chat_memories"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_chat_memories">, Answer<"list_chat_memories">> {
    return this.listing(
      { method: "GET", path: "/v1/flows/{flow_id}/chat-memories", ids: { flow_id: flowId }, query: fields },
      options,
    );
  }

  /** Read a chat memory. */
  getChatMemory(flowId: string, nodeId: string, options?: CallOptions): Promise<Answer<"get_chat_memory">> {
    return this.json(
      { method: "GET", path: "/v1/flows/{flow_id}/chat-memories/{node_id}", ids: { flow_id: flowId, node_id: nodeId } },
      options,
    );
  }

  /** Create the chat memory of a node (201) or change its configuration (200). Its chats are kept. */
  putChatMemory(
    flowId: string,
    nodeId: string,
    fields: Fields<"put_chat_memory">,
    options?: CallOptions,
  ): Promise<Answer<"put_chat_memory">> {
    return this.json(
      {
        method: "PUT",
        path: "/v1/flows/{flow_id}/chat-memories/{node_id}",
        ids: { flow_id: flowId, node_id: nodeId },
        body: fields,
      },
      options,
    );
  }

  /** Delete a chat memory with all its chats. */
  deleteChatMemory(flowId: string, nodeId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      {
        method: "DELETE",
        path: "/v1/flows/{flow_id}/chat-memories/{node_id}",
        ids: { flow_id: flowId, node_id: nodeId },
      },
      options,
    );
  }

  /** List chats, oldest first. `messages` and `tokens` count the whole log. */
  listChats(
    flowId: string,
    nodeId: string,
    fields: Fields<"list_chats"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_chats">, Answer<"list_chats">> {
    return this.listing(
      {
        method: "GET",
        path: "/v1/flows/{flow_id}/chat-memories/{node_id}/chats",
        ids: { flow_id: flowId, node_id: nodeId },
        query: fields,
      },
      options,
    );
  }

  /** List messages as they are stored, oldest first. */
  listChatMessages(
    flowId: string,
    nodeId: string,
    fields: Fields<"list_chat_messages">,
    options?: CallOptions,
  ): Listing<Item<"list_chat_messages">, Answer<"list_chat_messages">> {
    return this.listing(
      {
        method: "GET",
        path: "/v1/flows/{flow_id}/chat-memories/{node_id}/messages",
        ids: { flow_id: flowId, node_id: nodeId },
        query: fields,
      },
      options,
      "limit",
    );
  }

  /** Append messages to a chat: 201, or 200 if all are stored already. A worker makes a summary if one is due. */
  postChatMessages(
    flowId: string,
    nodeId: string,
    fields: Fields<"post_chat_messages">,
    options?: KeyedOptions,
  ): Promise<Answer<"post_chat_messages">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/flows/{flow_id}/chat-memories/{node_id}/messages",
        ids: { flow_id: flowId, node_id: nodeId },
        body: withMessageIds(fields),
        idempotencyKey: options?.idempotencyKey,
      },
      options,
    );
  }

  /** Delete messages of these roles: those of the last request that wrote, or all. Both roles select every message. */
  deleteChatMessages(
    flowId: string,
    nodeId: string,
    fields: Fields<"delete_chat_messages">,
    options?: KeyedOptions,
  ): Promise<Answer<"delete_chat_messages">> {
    return this.json(
      {
        method: "DELETE",
        path: "/v1/flows/{flow_id}/chat-memories/{node_id}/messages",
        ids: { flow_id: flowId, node_id: nodeId },
        query: fields,
        idempotencyKey: idempotencyKeyOf(options),
      },
      options,
    );
  }

  /** Build the messages of a chat for a model. With `run_id` the memory use is recorded. */
  viewChat(
    flowId: string,
    nodeId: string,
    fields: Fields<"view_chat"> = {},
    options?: CallOptions,
  ): Promise<Answer<"view_chat">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/flows/{flow_id}/chat-memories/{node_id}/view",
        ids: { flow_id: flowId, node_id: nodeId },
        body: fields,
      },
      options,
    );
  }

  /** Trim a chat to its newest messages in every view. The log keeps all messages. */
  trimChat(
    flowId: string,
    nodeId: string,
    fields: Fields<"trim_chat">,
    options?: CallOptions,
  ): Promise<Answer<"trim_chat">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/flows/{flow_id}/chat-memories/{node_id}/trim",
        ids: { flow_id: flowId, node_id: nodeId },
        body: fields,
      },
      options,
    );
  }

  /** Replace all but the newest messages by a summary in every view. The log keeps all messages. */
  summarizeChat(
    flowId: string,
    nodeId: string,
    fields: Fields<"summarize_chat">,
    options?: KeyedOptions,
  ): Promise<Answer<"summarize_chat">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/flows/{flow_id}/chat-memories/{node_id}/summarize",
        ids: { flow_id: flowId, node_id: nodeId },
        body: fields,
        idempotencyKey: idempotencyKeyOf(options),
      },
      options,
    );
  }

  /** Export a chat memory, its chats and messages as JSON lines. A complete export ends with an `end` line. */
  exportChats(
    flowId: string,
    nodeId: string,
    fields: Fields<"export_chats"> = {},
    options?: CallOptions,
  ): AsyncGenerator<Schemas["ExportLine"], void, undefined> {
    return this.exported(
      {
        method: "GET",
        path: "/v1/flows/{flow_id}/chat-memories/{node_id}/export",
        ids: { flow_id: flowId, node_id: nodeId },
        query: fields,
      },
      options,
    );
  }

  /** List what an end user asked for or prefers from then on, the latest first: at most 200 statements. */
  listStandingStatements(
    fields: Fields<"list_standing_statements">,
    options?: CallOptions,
  ): Promise<Answer<"list_standing_statements">> {
    return this.json(
      { method: "GET", path: "/v1/standing-statements", query: fields },
      options,
    );
  }

  /** Put a person's own words in the place of what was found. The message stays as it is. */
  editStandingStatement(
    statementId: string,
    fields: Fields<"edit_standing_statement">,
    options?: CallOptions,
  ): Promise<Answer<"edit_standing_statement">> {
    return this.json(
      {
        method: "PATCH",
        path: "/v1/standing-statements/{statement_id}",
        ids: { statement_id: statementId },
        body: fields,
      },
      options,
    );
  }

  /** Delete a statement. It is not found in its message again; the message stays. */
  deleteStandingStatement(statementId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      { method: "DELETE", path: "/v1/standing-statements/{statement_id}", ids: { statement_id: statementId } },
      options,
    );
  }

  /** Read what an end user said about themselves in a flow: what is pinned, wished, repeated or said of themselves. */
  getEndUserProfile(
    endUserId: string,
    fields: Fields<"get_end_user_profile">,
    options?: CallOptions,
  ): Promise<Answer<"get_end_user_profile">> {
    return this.json(
      { method: "GET", path: "/v1/end-users/{end_user_id}/profile", ids: { end_user_id: endUserId }, query: fields },
      options,
    );
  }

  /**
   * Capture the conversations in OpenTelemetry spans of model calls, as JSON or protobuf. Each message is stored once,
   * however many spans repeat it. Answers as OTLP says.
   */
  receiveTraces(
    flowId: string,
    fields: Fields<"receive_traces"> = {},
    options?: CallOptions,
  ): Promise<Answer<"receive_traces">> {
    return this.json(
      { method: "POST", path: "/v1/flows/{flow_id}/traces", ids: { flow_id: flowId }, body: fields },
      options,
    );
  }

  /** List the webhooks, oldest first. */
  listWebhooks(
    fields: Fields<"list_webhooks"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_webhooks">, Answer<"list_webhooks">> {
    return this.listing(
      { method: "GET", path: "/v1/webhooks", query: fields },
      options,
    );
  }

  /** Create a webhook: events of these types are sent to the URL from now on. Only this response contains the secret. */
  createWebhook(fields: Fields<"create_webhook">, options?: KeyedOptions): Promise<Answer<"create_webhook">> {
    return this.json(
      { method: "POST", path: "/v1/webhooks", body: fields, idempotencyKey: idempotencyKeyOf(options) },
      options,
    );
  }

  /** Get a webhook. */
  getWebhook(webhookId: string, options?: CallOptions): Promise<Answer<"get_webhook">> {
    return this.json(
      { method: "GET", path: "/v1/webhooks/{webhook_id}", ids: { webhook_id: webhookId } },
      options,
    );
  }

  /** Change a webhook. While it is disabled, no event is recorded for it and its pending deliveries wait. */
  updateWebhook(
    webhookId: string,
    fields: Fields<"update_webhook"> = {},
    options?: CallOptions,
  ): Promise<Answer<"update_webhook">> {
    return this.json(
      { method: "PATCH", path: "/v1/webhooks/{webhook_id}", ids: { webhook_id: webhookId }, body: fields },
      options,
    );
  }

  /** Delete a webhook with its deliveries. */
  deleteWebhook(webhookId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      { method: "DELETE", path: "/v1/webhooks/{webhook_id}", ids: { webhook_id: webhookId } },
      options,
    );
  }

  /** Replace the secret. Requests are signed with both until the overlap ends. Only this response contains the new one. */
  rotateWebhookSecret(
    webhookId: string,
    fields: Fields<"rotate_webhook_secret"> = {},
    options?: CallOptions,
  ): Promise<Answer<"rotate_webhook_secret">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/webhooks/{webhook_id}/secret",
        ids: { webhook_id: webhookId },
        body: optionalBody(fields),
      },
      options,
    );
  }

  /**
   * Send an event `webhook.test` to a webhook, in one attempt. Its failure does not disable the webhook. 409
   * `webhook_disabled` while it is disabled.
   */
  sendTestEvent(
    webhookId: string,
    fields: Fields<"send_test_event"> = {},
    options?: CallOptions,
  ): Promise<Answer<"send_test_event">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/webhooks/{webhook_id}/test",
        ids: { webhook_id: webhookId },
        query: fields,
        waitSeconds: fields.wait,
      },
      options,
    );
  }

  /** List the deliveries of a webhook, newest first. */
  listDeliveries(
    webhookId: string,
    fields: Fields<"list_deliveries"> = {},
    options?: CallOptions,
  ): Listing<Item<"list_deliveries">, Answer<"list_deliveries">> {
    return this.listing(
      { method: "GET", path: "/v1/webhooks/{webhook_id}/deliveries", ids: { webhook_id: webhookId }, query: fields },
      options,
    );
  }

  /** Get a delivery. */
  getDelivery(webhookId: string, deliveryId: string, options?: CallOptions): Promise<Answer<"get_delivery">> {
    return this.json(
      {
        method: "GET",
        path: "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}",
        ids: { webhook_id: webhookId, delivery_id: deliveryId },
      },
      options,
    );
  }

  /** Discard a dead delivery: it is deleted and cannot be sent again. 409 if it is pending or delivered. */
  discardDelivery(webhookId: string, deliveryId: string, options?: CallOptions): Promise<void> {
    return this.nothing(
      {
        method: "DELETE",
        path: "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}",
        ids: { webhook_id: webhookId, delivery_id: deliveryId },
      },
      options,
    );
  }

  /** Send a delivery again, with all its attempts. */
  replayDelivery(webhookId: string, deliveryId: string, options?: CallOptions): Promise<Answer<"replay_delivery">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay",
        ids: { webhook_id: webhookId, delivery_id: deliveryId },
      },
      options,
    );
  }

  /** Send the dead deliveries of events since then again, oldest first. Repeat the call while `remaining` is true. */
  replayDeadDeliveries(
    webhookId: string,
    fields: Fields<"replay_dead_deliveries">,
    options?: CallOptions,
  ): Promise<Answer<"replay_dead_deliveries">> {
    return this.json(
      { method: "POST", path: "/v1/webhooks/{webhook_id}/replay", ids: { webhook_id: webhookId }, body: fields },
      options,
    );
  }

  /**
   * Discard the deliveries that were dead by then, oldest first; without `until`, all dead ones. Repeat the call while
   * `remaining` is true.
   */
  discardDeadDeliveries(
    webhookId: string,
    fields: Fields<"discard_dead_deliveries"> = {},
    options?: CallOptions,
  ): Promise<Answer<"discard_dead_deliveries">> {
    return this.json(
      {
        method: "POST",
        path: "/v1/webhooks/{webhook_id}/discard",
        ids: { webhook_id: webhookId },
        body: optionalBody(fields),
      },
      options,
    );
  }
}

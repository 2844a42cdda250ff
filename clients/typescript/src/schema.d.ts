/** Written by scripts/generate.ts: do not edit. */

export interface paths {
    "/v1/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health Live
         * @description Check that the process answers; it asks no other part.
         */
        get: operations["health_live"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health Ready
         * @description Check all parts: 200 if every part responds, else 503 with the names of those that do not.
         *
         *     `model` is named while the embedding model is prepared in the background, or if that failed; `reason` says which.
         *     200 with `degraded` and a reason if every part responds and the queue makes no progress: a restart would not help.
         */
        get: operations["health_ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/problems": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Problems
         * @description List what needs a person, the worst first, each with the calls that end it. At most 50 of a kind.
         *
         *     Parts that do not answer, lost vectors, dead letters, messages that nothing ingests. It answers within seconds
         *     whatever part hangs.
         */
        get: operations["list_problems"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Overview
         * @description Read what was captured in a window and what of it is searchable, by time and by flow, and the latest runs.
         *
         *     The ten flows with the latest captures are listed; figures include the 500 with the latest captures. The answer may
         *     be some seconds old where it takes long to compute.
         */
        get: operations["get_overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Flows
         * @description List flows, oldest first. A key that is limited to flows lists these.
         */
        get: operations["list_flows"];
        put?: never;
        /**
         * Create Flow
         * @description Create a flow with a generated id. To choose the id, use PUT /flows/{flow_id}.
         */
        post: operations["create_flow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Flow
         * @description Read a flow.
         */
        get: operations["get_flow"];
        /**
         * Put Flow
         * @description Create a flow with your own id (201), or rename it (200).
         */
        put: operations["put_flow"];
        post?: never;
        /**
         * Delete Flow
         * @description Delete a flow and everything in it: 204, or 202 while its jobs stop. It is invisible at once.
         */
        delete: operations["delete_flow"];
        options?: never;
        head?: never;
        /**
         * Update Flow
         * @description Rename a flow, or set how many days it keeps messages. Older ones are deleted by the sweeper's next pass.
         */
        patch: operations["update_flow"];
        trace?: never;
    };
    "/v1/flows/{flow_id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Runs
         * @description List the runs of a flow, newest first.
         */
        get: operations["list_runs"];
        put?: never;
        /**
         * Capture Run
         * @description Capture a run's messages: 201, or 200 if all of them are stored already. Node executions are stored afterwards;
         *     a failed one is reported in its result and fails nothing else.
         */
        post: operations["capture_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Run Of Flow
         * @description Read a run of a flow.
         */
        get: operations["get_run_of_flow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find Runs
         * @description List the runs of all flows, newest first. With `q` or `state` a page looks through a bounded number of runs:
         *     `next_cursor` continues even after an empty page.
         */
        get: operations["find_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Run
         * @description Read a run. Run ids are unique within their flow; an id of several flows is 409 without `flow_id`.
         */
        get: operations["get_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/traces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Receive Traces
         * @description Capture the conversations in OpenTelemetry spans of model calls, as JSON or protobuf. Each message is stored
         *     once, however many spans repeat it. Answers as OTLP says.
         */
        post: operations["receive_traces"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Memory Bases
         * @description List memory bases: oldest first, latest first, by name, or the highest priority first.
         */
        get: operations["list_memory_bases"];
        put?: never;
        /**
         * Create Memory Base
         * @description Create a memory base over a flow's messages. A name or kb_name in use is 409 with `existing_id`.
         */
        post: operations["create_memory_base"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/memories/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Put Memory Base
         * @description Create the flow's memory base of this name (201), or find the one it has (200). Nothing of that one is changed: a
         *     fixed setting that differs is 409, and `warnings` name the others.
         */
        put: operations["put_memory_base"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Memory Base
         * @description Read a memory base with its progress.
         */
        get: operations["get_memory_base"];
        put?: never;
        post?: never;
        /**
         * Delete Memory Base
         * @description Delete a memory base and its knowledge base: 204, or 202 while its jobs stop. It is invisible at once.
         */
        delete: operations["delete_memory_base"];
        options?: never;
        head?: never;
        /**
         * Update Memory Base
         * @description Change name, threshold, auto_capture, idle_after, retain_days or priority, pause its ingestion or resume it. This
         *     starts no job.
         */
        patch: operations["update_memory_base"];
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Memory Base Sessions
         * @description List the sessions of the flow with their progress, tracked or not.
         */
        get: operations["list_memory_base_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/flush": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Flush Memory Base
         * @description Ingest pending messages of one session, of several or of all, whatever the threshold.
         *
         *     202 with the jobs; 200 if nothing was pending or all jobs ended within `wait` seconds. With `session_ids` every
         *     session has a result: a job, a conflict with an active one, or why it was skipped. Without, at most 200 jobs are
         *     queued at once; `deferred` more sessions are due and get theirs within seconds.
         */
        post: operations["flush_memory_base"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sync Memory Base
         * @description The same as POST /memories/{memory_base_id}/flush.
         */
        post: operations["sync_memory_base"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/regenerate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Regenerate Memory Base
         * @description Rebuild the knowledge base from the stored messages. Searches read the old one until the build is complete.
         */
        post: operations["regenerate_memory_base"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/mismatch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check Mismatch
         * @description Compare the vector store with the ledger, chunk by chunk.
         */
        get: operations["check_mismatch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/weights": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Search Weights
         * @description Show the weights of search signals: the defaults, the memory base's own, and its previous ones.
         */
        get: operations["get_search_weights"];
        /**
         * Set Search Weights
         * @description Set the memory base's own weights. Searches use them at once. To undo, set the previous weights.
         */
        put: operations["set_search_weights"];
        post?: never;
        /**
         * Reset Search Weights
         * @description Return to the default weights. The memory base's own become the previous ones.
         */
        delete: operations["reset_search_weights"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Activity
         * @description Count messages captured and ingested over time, with ingestion delays. The window is at most 31 days.
         */
        get: operations["get_activity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Jobs
         * @description List the jobs of a memory base, newest first.
         */
        get: operations["list_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Dead Letters
         * @description List messages that could not be embedded, with error and attempts.
         */
        get: operations["list_dead_letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/dead-letters/{dead_letter_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry Dead Letter
         * @description Try again to embed the message of a dead letter.
         */
        post: operations["retry_dead_letter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/dead-letters/{dead_letter_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Discard Dead Letter
         * @description Discard a dead letter: this memory base skips the message, which stays stored.
         */
        delete: operations["discard_dead_letter"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/map": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Memory Map
         * @description Read the map: up to 5,000 points, each with its message's id, session, speaker and time, but not its text.
         *     Deleted messages never show. A `question` is projected onto the map.
         */
        get: operations["get_memory_map"];
        put?: never;
        /**
         * Request Memory Map
         * @description Request a map of the memory base's messages in two dimensions. A worker computes it; the last one stays until
         *     then. With less than 20 messages nothing is computed.
         */
        post: operations["request_memory_map"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/distillation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Distillation
         * @description Read whether facts are distilled for a memory base, what waits and why, and what it used.
         */
        get: operations["get_distillation"];
        /**
         * Set Distillation
         * @description Turn distillation on or off. On: a language model, which the operator chose, reads what is ingested and derives
         *     facts. Off: nothing more is read; facts stay until they are deleted.
         */
        put: operations["set_distillation"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/facts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Facts
         * @description List facts, newest first: those that hold, those that later ones correct, or all.
         */
        get: operations["list_facts"];
        put?: never;
        post?: never;
        /**
         * Delete Facts
         * @description Delete every fact of a memory base. The messages stay.
         */
        delete: operations["delete_facts"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/facts/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search Facts
         * @description Find the facts that are about a question, best first, without those that later ones correct.
         */
        post: operations["search_facts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/facts/{fact_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Fact
         * @description Read a fact. After a source was edited or deleted it is 404.
         */
        get: operations["get_fact"];
        put?: never;
        post?: never;
        /**
         * Delete Fact
         * @description Delete a fact and those that say the same. The messages stay.
         */
        delete: operations["delete_fact"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List All Jobs
         * @description List the jobs of all memory bases, newest first.
         */
        get: operations["list_all_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Act On Jobs
         * @description Retry or cancel the jobs that match, oldest first, with a result for each; with `dry_run`, count them.
         *
         *     A retry runs what waits after an outage now. The messages of a cancelled job stay stored and pending. Repeat the
         *     call while `remaining` is not 0.
         */
        post: operations["act_on_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Job
         * @description Read a job, or wait until it ends.
         */
        get: operations["get_job"];
        put?: never;
        post?: never;
        /**
         * Cancel Job
         * @description Cancel a job. Its messages stay pending.
         */
        delete: operations["cancel_job"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watch Job
         * @description Stream server-sent events: `job` after each change, `end` with the last state, `unauthorized` if the key was
         *     revoked.
         */
        get: operations["watch_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List All Dead Letters
         * @description List messages of all memory bases that could not be embedded, oldest first.
         */
        get: operations["list_all_dead_letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Group Dead Letters
         * @description Group the dead letters by cause, and within each cause by text, most messages first.
         */
        get: operations["group_dead_letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Act On Dead Letters
         * @description Retry or discard the dead letters that match, oldest first, with a result for each; with `dry_run`, count them.
         *
         *     Repeat the call while `remaining` is not 0. A retried dead letter is gone once its message is embedded. The message
         *     of a discarded one stays stored, and searches by meaning do not find it until it is edited or the memory base is
         *     regenerated.
         */
        post: operations["act_on_dead_letters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Messages
         * @description List messages: by seq within one session of a flow, else by time of capture.
         */
        get: operations["list_messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{message_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Message
         * @description Read a message. Message ids are unique within their flow; an id of several flows is 409 without `flow_id`.
         */
        get: operations["get_message"];
        put?: never;
        post?: never;
        /**
         * Delete Message
         * @description Delete a message. Searches leave it out at once; jobs update the knowledge bases. It can be restored for as many
         *     days as the setting deleted_retention_days says.
         */
        delete: operations["delete_message"];
        options?: never;
        head?: never;
        /**
         * Edit Message
         * @description Change content, files or metadata; mute or pin the message. Searches see it at once; jobs update the knowledge
         *     bases. Former versions are kept until the message is deleted.
         */
        patch: operations["edit_message"];
        trace?: never;
    };
    "/v1/messages/{message_id}/uses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Message Uses
         * @description List the runs whose models received a message, latest first.
         */
        get: operations["list_message_uses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{message_id}/ingestion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Message Ingestion
         * @description Show whether each memory base of the flow holds a message, since when, and in how many chunks.
         */
        get: operations["get_message_ingestion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{message_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Message History
         * @description List what was done to a message, newest first: edits with the former version and the difference, mute, pin,
         *     restore; when, by which API key, and why.
         */
        get: operations["get_message_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Act On Messages
         * @description Mute, unmute, pin, unpin, delete or restore up to 500 messages. Each has its own result.
         */
        post: operations["act_on_messages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deleted-messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Deleted Messages
         * @description List deleted messages that can be restored, the last deleted first.
         */
        get: operations["list_deleted_messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deleted-messages/{message_id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore Message
         * @description Restore a deleted message in its place. Searches find it at once; jobs update the knowledge bases.
         */
        post: operations["restore_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deleted-messages/{message_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Purge Message
         * @description Delete a deleted message for good, before its retention ends.
         */
        delete: operations["purge_message"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Sessions
         * @description List sessions. In the order `recent` a session moves to the front with each capture, also between two pages.
         *
         *     With `q` or `state` a page looks through a bounded number of sessions: `next_cursor` continues even after an empty
         *     page.
         */
        get: operations["list_sessions"];
        put?: never;
        post?: never;
        /**
         * Delete Session
         * @description Delete a session and its messages. Searches leave it out at once; jobs update the knowledge bases.
         */
        delete: operations["delete_session"];
        options?: never;
        head?: never;
        /**
         * Update Session
         * @description Rename a session, replace its metadata, or set when it expires. An id of another session is 409.
         */
        patch: operations["update_session"];
        trace?: never;
    };
    "/v1/end-users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List End Users
         * @description List the end users of all sessions and chats.
         */
        get: operations["list_end_users"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/end-users/{end_user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get End User
         * @description Read how much is stored of an end user, by kind.
         */
        get: operations["get_end_user"];
        put?: never;
        post?: never;
        /**
         * Erase End User
         * @description Delete every session of an end user, in all flows. The response counts what was deleted.
         */
        delete: operations["erase_end_user"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/standing-statements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Standing Statements
         * @description List what an end user asked for or prefers from then on, the latest first: at most 200 statements.
         */
        get: operations["list_standing_statements"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/standing-statements/{statement_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete Standing Statement
         * @description Delete a statement. It is not found in its message again; the message stays.
         */
        delete: operations["delete_standing_statement"];
        options?: never;
        head?: never;
        /**
         * Edit Standing Statement
         * @description Put a person's own words in the place of what was found. The message stays as it is.
         */
        patch: operations["edit_standing_statement"];
        trace?: never;
    };
    "/v1/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get History
         * @description Read a session, or one node's part of it, as messages for a model. With `run_id` and `node_id` the memory use is
         *     recorded.
         */
        post: operations["get_history"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/node-executions/{execution_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Node Execution
         * @description Read a node execution. An id of several flows is 409 without `flow_id`.
         */
        get: operations["get_node_execution"];
        /**
         * Put Node Execution
         * @description Store a node execution (201) or replace it (200). Its run may be captured later.
         */
        put: operations["put_node_execution"];
        post?: never;
        /**
         * Delete Node Execution
         * @description Delete a node execution and its outputs. Node memory is then read from the previous execution.
         */
        delete: operations["delete_node_execution"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/runs/{run_id}/memory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Run Memory
         * @description Show the memory that each node of a run received.
         */
        get: operations["get_run_memory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/runs/{run_id}/story": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Run Story
         * @description Show a run as one story: its question and answer, the memory that each node received and how well it fits, and
         *     when each memory base held the messages.
         */
        get: operations["get_run_story"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/chat-memories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Chat Memories
         * @description List the chat memories of a flow, oldest first.
         */
        get: operations["list_chat_memories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/chat-memories/{node_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Chat Memory
         * @description Read a chat memory.
         */
        get: operations["get_chat_memory"];
        /**
         * Put Chat Memory
         * @description Create the chat memory of a node (201) or change its configuration (200). Its chats are kept.
         */
        put: operations["put_chat_memory"];
        post?: never;
        /**
         * Delete Chat Memory
         * @description Delete a chat memory with all its chats.
         */
        delete: operations["delete_chat_memory"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/chat-memories/{node_id}/chats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Chats
         * @description List chats, oldest first. `messages` and `tokens` count the whole log.
         */
        get: operations["list_chats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/chat-memories/{node_id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Chat Messages
         * @description List messages as they are stored, oldest first.
         */
        get: operations["list_chat_messages"];
        put?: never;
        /**
         * Post Chat Messages
         * @description Append messages to a chat: 201, or 200 if all are stored already. A worker makes a summary if one is due.
         */
        post: operations["post_chat_messages"];
        /**
         * Delete Chat Messages
         * @description Delete messages of these roles: those of the last request that wrote, or all. Both roles select every message.
         */
        delete: operations["delete_chat_messages"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/chat-memories/{node_id}/view": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * View Chat
         * @description Build the messages of a chat for a model. With `run_id` the memory use is recorded.
         */
        post: operations["view_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/chat-memories/{node_id}/trim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Trim Chat
         * @description Trim a chat to its newest messages in every view. The log keeps all messages.
         */
        post: operations["trim_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/chat-memories/{node_id}/summarize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Summarize Chat
         * @description Replace all but the newest messages by a summary in every view. The log keeps all messages.
         */
        post: operations["summarize_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/flows/{flow_id}/chat-memories/{node_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export Chats
         * @description Export a chat memory, its chats and messages as JSON lines. A complete export ends with an `end` line.
         */
        get: operations["export_chats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory_base_id}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search Memory Base
         * @description Search the messages of a memory base, best first, including those not ingested yet.
         */
        post: operations["search_memory_base"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search Flow
         * @description Search every memory base of a flow, several memory bases, or all, best first.
         */
        post: operations["search_flow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/labels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Labels
         * @description List the labels, newest first.
         */
        get: operations["list_labels"];
        put?: never;
        /**
         * Mark Result
         * @description Mark a message as right or wrong for a question. A second label of the same question and message replaces the
         *     first.
         */
        post: operations["mark_result"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/labels/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export Labels
         * @description Export the labels of a flow as questions, one JSON object on each line, as `memorybase evaluate` reads them.
         */
        get: operations["export_labels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/labels/{label_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete Label
         * @description Remove a label.
         */
        delete: operations["delete_label"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/retention/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview Retention
         * @description Count what the rules would delete now. Nothing is changed.
         */
        get: operations["preview_retention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/retention/passes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Retention Passes
         * @description List the receipts of what expired, newest first, also of flows that are deleted by now.
         */
        get: operations["list_retention_passes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/holds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Holds
         * @description List the legal holds, oldest first.
         */
        get: operations["list_holds"];
        put?: never;
        /**
         * Place Hold
         * @description Place a legal hold on a flow, on one session of it, or on an end user in all flows. Until it is lifted, retention
         *     leaves everything of it, and each deletion of any of it is 409 `legal_hold`.
         */
        post: operations["place_hold"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/holds/{hold_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Lift Hold
         * @description Lift a legal hold. What only it kept can be deleted again, and expires with the next pass.
         */
        delete: operations["lift_hold"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dify/retrieval": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retrieve Knowledge
         * @description Search for Dify's External Knowledge API. The endpoint to enter in Dify ends in /v1/dify.
         */
        post: operations["retrieve_knowledge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge-bases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Knowledge Bases
         * @description List knowledge bases, oldest first.
         */
        get: operations["list_knowledge_bases"];
        put?: never;
        /**
         * Create Knowledge Base
         * @description Create an ordinary knowledge base. A name in use is 409 with `existing_id`.
         */
        post: operations["create_knowledge_base"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge-bases/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Knowledge Base
         * @description Read a knowledge base.
         */
        get: operations["get_knowledge_base"];
        put?: never;
        post?: never;
        /**
         * Delete Knowledge Base
         * @description Delete an ordinary knowledge base with its documents.
         */
        delete: operations["delete_knowledge_base"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge-bases/{name}/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add Documents
         * @description Add documents and make them searchable. Returns one result per document, in order. A repeat changes nothing.
         */
        post: operations["add_documents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge-bases/{name}/rebuild": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rebuild Knowledge Base
         * @description Rebuild the collection from SQL: it replaces a lost collection and uses the current model.
         */
        post: operations["rebuild_knowledge_base"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge-bases/{name}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search Knowledge Base
         * @description Search the chunks of a knowledge base, best first.
         */
        post: operations["search_knowledge_base"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Keys
         * @description List the API keys that are not revoked.
         */
        get: operations["list_keys"];
        put?: never;
        /**
         * Create Key
         * @description Create an API key. Only this response contains the secret. `flow_ids` and `end_user_id` limit the key.
         */
        post: operations["create_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{key_id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate Key
         * @description Create a key that replaces this one, with its name, scopes, limits, quotas and usage. Both are valid during the
         *     overlap. Only this response contains the secret.
         */
        post: operations["rotate_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{key_id}/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set Key Quotas
         * @description Replace the quotas of a key, also of those that it was rotated into. A key cannot change its own.
         */
        put: operations["set_key_quotas"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke Key
         * @description Revoke an API key: its next use is refused.
         */
        delete: operations["revoke_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Usage
         * @description Read the quotas of the user and of the calling key: limit, use, and when it resets. A limited key sees its own
         *     only.
         */
        get: operations["get_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Webhooks
         * @description List the webhooks, oldest first.
         */
        get: operations["list_webhooks"];
        put?: never;
        /**
         * Create Webhook
         * @description Create a webhook: events of these types are sent to the URL from now on. Only this response contains the
         *     secret.
         */
        post: operations["create_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhook_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Webhook
         * @description Get a webhook.
         */
        get: operations["get_webhook"];
        put?: never;
        post?: never;
        /**
         * Delete Webhook
         * @description Delete a webhook with its deliveries.
         */
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        /**
         * Update Webhook
         * @description Change a webhook. While it is disabled, no event is recorded for it and its pending deliveries wait.
         */
        patch: operations["update_webhook"];
        trace?: never;
    };
    "/v1/webhooks/{webhook_id}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate Webhook Secret
         * @description Replace the secret. Requests are signed with both until the overlap ends. Only this response contains the new
         *     one.
         */
        post: operations["rotate_webhook_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhook_id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send Test Event
         * @description Send an event `webhook.test` to a webhook, in one attempt. Its failure does not disable the webhook. 409
         *     `webhook_disabled` while it is disabled.
         */
        post: operations["send_test_event"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhook_id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Deliveries
         * @description List the deliveries of a webhook, newest first.
         */
        get: operations["list_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Delivery
         * @description Get a delivery.
         */
        get: operations["get_delivery"];
        put?: never;
        post?: never;
        /**
         * Discard Delivery
         * @description Discard a dead delivery: it is deleted and cannot be sent again. 409 if it is pending or delivered.
         */
        delete: operations["discard_delivery"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay Delivery
         * @description Send a delivery again, with all its attempts.
         */
        post: operations["replay_delivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhook_id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay Dead Deliveries
         * @description Send the dead deliveries of events since then again, oldest first. Repeat the call while `remaining` is true.
         */
        post: operations["replay_dead_deliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhook_id}/discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Discard Dead Deliveries
         * @description Discard the deliveries that were dead by then, oldest first; without `until`, all dead ones. Repeat the call
         *     while `remaining` is true.
         */
        post: operations["discard_dead_deliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Audit Entries
         * @description List changes, exports, reads on the page and refusals, newest first. No entry contains text.
         */
        get: operations["list_audit_entries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export Audit Entries
         * @description Export sealed entries as JSON lines, in the order of the hash chain. Continue with the last line's `seq`.
         */
        get: operations["export_audit_entries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Workers
         * @description List the workers of the installation, with how much each of them holds. `memorybase workers drain` stops one.
         */
        get: operations["list_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sign-in-links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create Sign In Link
         * @description Create a link that signs a browser in with this key's scopes. It works once, for one hour.
         */
        post: operations["create_sign_in_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Metrics
         * @description Read metrics in Prometheus text format. Gauges cover the whole installation, counters this process.
         */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Summary
         * @description Read a session's summary and the state of the next one.
         */
        get: operations["get_summary"];
        put?: never;
        /**
         * Request Summary
         * @description Request a new summary of all but the latest pairs of question and reply. A worker makes it.
         */
        post: operations["request_summary"];
        /**
         * Delete Summary
         * @description Delete a session's summaries, or those of one summarizer or preset. A later read may request new ones.
         */
        delete: operations["delete_summary"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Build Context
         * @description Build history, summary and recalled memories within the token budget. `degraded` names what is unavailable.
         */
        post: operations["build_context"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export Lines
         * @description Export flows, sessions, runs and messages with every stored field. A complete export ends with an `end` line.
         */
        get: operations["export_lines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import Lines
         * @description Import any range of lines of an export. Stored rows are kept, so a broken import can be sent again.
         */
        post: operations["import_lines"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * Accepted
         * @description The resource is no longer visible; its deletion continues in the background.
         */
        Accepted: {
            /**
             * Status
             * @description Always `deleting`.
             * @default deleting
             * @constant
             */
            status?: "deleting";
        };
        /**
         * ActionResult
         * @description What an action did with one message. `id` is the one that was sent; `error` has the error's code and text.
         */
        ActionResult: {
            /**
             * Id
             * @description The id, as it was sent.
             */
            id: string;
            /**
             * Message Id
             * @description The message; null if there is none.
             */
            message_id: string | null;
            /**
             * Done
             * @description Whether it was done.
             */
            done: boolean;
            /**
             * Error
             * @description Code and text of the error; null without one.
             */
            error: components["schemas"]["ActionError"] | null;
            /**
             * Job Ids
             * @description The repairs that update the knowledge bases.
             */
            job_ids: string[];
        };
        /**
         * Activity
         * @description The window, widened to whole buckets, and its buckets, oldest first without gaps.
         */
        Activity: {
            /**
             * Since
             * Format: date-time
             * @description Start of the first bucket.
             */
            since: string;
            /**
             * Until
             * Format: date-time
             * @description End of the last bucket.
             */
            until: string;
            /**
             * Bucket Seconds
             * @description Length of a bucket.
             */
            bucket_seconds: number;
            /**
             * Buckets
             * @description The buckets, oldest first, including empty ones.
             */
            buckets: components["schemas"]["Bucket"][];
        };
        /**
         * AuditEntryView
         * @description One entry. `seq` and `hash` are null until the sweeper has sealed it.
         */
        AuditEntryView: {
            /**
             * Id
             * @description Number of the entry, in the order of writing.
             */
            id: number;
            /**
             * Seq
             * @description Position in the hash chain; null until the sweeper has sealed the entry.
             */
            seq: number | null;
            /**
             * Hash
             * @description SHA-256 of the previous entry's hash and this entry, in hexadecimal; null until it is sealed.
             */
            hash: string | null;
            /**
             * At
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /**
             * Kind
             * @description `change`, `read` (content shown on the page, or an export), `denied` (a call outside a key's limits) or `prune` (a checkpoint: older entries were deleted).
             */
            kind: string;
            /**
             * User Id
             * @description The user; null for the sweeper.
             */
            user_id: string | null;
            /**
             * Key Id
             * @description The API key; null for the command line and the sweeper.
             */
            key_id: string | null;
            /**
             * Person
             * @description The person whom a trusted proxy names, or the user of the command line; null if unknown.
             */
            person: string | null;
            /**
             * Via
             * @description `api`, `page`, `cli` or `sweeper`.
             */
            via: string;
            /**
             * Operation
             * @description The operation, or the method and path of the page.
             */
            operation: string;
            /**
             * Objects
             * @description Ids in the request and of what it created. Never text.
             */
            objects: {
                [key: string]: string | number | string[];
            };
            /**
             * Address
             * @description The address of the caller; behind a trusted proxy, the one that the proxy names.
             */
            address: string | null;
            /**
             * Request Id
             * @description The request, as in the header `X-Request-Id`; null without one.
             */
            request_id: string | null;
        };
        /**
         * BaseSessionView
         * @description The progress of one session. Without an `id` it is not tracked yet and all its messages are pending.
         */
        BaseSessionView: {
            /**
             * Id
             * @description The UUID of the tracked session; null if it is not tracked yet.
             */
            id: string | null;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * End User Id
             * @description The person that the session or chat belongs to; null if unknown.
             */
            end_user_id: string | null;
            /**
             * Last Captured At
             * Format: date-time
             * @description When its latest message was captured.
             */
            last_captured_at: string;
            /**
             * Cursor Id
             * @description The message at the cursor; null before the first one is ingested.
             */
            cursor_id: string | null;
            /**
             * Cursor Seq
             * @description The seq up to which the session is ingested; 0 at the beginning.
             */
            cursor_seq: number;
            /**
             * Total Messages
             * @description Number of counted messages in the session.
             */
            total_messages: number;
            /**
             * Total Processed
             * @description Number of messages in the ledger.
             */
            total_processed: number;
            /**
             * Pending Messages
             * @description Number of pending messages.
             */
            pending_messages: number;
            /**
             * Last Sync At
             * @description When messages were last ingested; null if never.
             */
            last_sync_at: string | null;
            /** @description `synced`, `pending`, `ingesting`, or `failed` if it has a dead letter or its last job failed. */
            state: components["schemas"]["SessionState"];
        };
        /**
         * Bucket
         * @description `bucket_seconds` from `at` on. The delays are those of the messages ingested then; null without any.
         */
        Bucket: {
            /**
             * At
             * Format: date-time
             * @description Start of the bucket.
             */
            at: string;
            /**
             * Captured
             * @description Number of counted messages captured in this time.
             */
            captured: number;
            /**
             * Ingested
             * @description Number of messages ingested for the first time in this time.
             */
            ingested: number;
            /**
             * Delay Mean Seconds
             * @description Mean time from capture to ingestion; null if nothing was ingested.
             */
            delay_mean_seconds: number | null;
            /**
             * Delay Max Seconds
             * @description Longest time from capture to ingestion; null if nothing was ingested.
             */
            delay_max_seconds: number | null;
        };
        /**
         * BulkAnswer
         * @description The result for each message, in order. `batch_id` names the changes that were made together.
         */
        BulkAnswer: {
            /**
             * Action
             * @description The action.
             * @enum {string}
             */
            action: "mute" | "unmute" | "pin" | "unpin" | "delete" | "restore";
            /**
             * Batch Id
             * Format: uuid
             * @description Names the changes that were made together; history shows it.
             */
            batch_id: string;
            /**
             * Done
             * @description For how many messages it was done.
             */
            done: number;
            /**
             * Failed
             * @description For how many messages it failed.
             */
            failed: number;
            /**
             * Results
             * @description The result for each message, in order.
             */
            results: components["schemas"]["ActionResult"][];
        };
        /**
         * Capture
         * @description Which messages count toward thresholds and are embedded.
         * @enum {string}
         */
        Capture: "outputs" | "all";
        /**
         * CaptureAnswer
         * @description Result of a capture, with the result of each node execution in it.
         */
        CaptureAnswer: {
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID.
             */
            run_id: string;
            /**
             * Run External Id
             * @description The run's id as the caller chose it; null if that is a UUID.
             */
            run_external_id: string | null;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Created
             * @description Whether anything was new; false for a repeat.
             */
            created: boolean;
            /**
             * Messages
             * @description The result for each message, in order.
             */
            messages: components["schemas"]["CapturedMessage"][];
            /**
             * Ingestion
             * @description The effect on each memory base of the flow that has `auto_capture`.
             */
            ingestion: components["schemas"]["IngestionState"][];
            /**
             * Node Executions
             * @description The result for each node execution, in order; absent without any.
             */
            node_executions?: components["schemas"]["ReportedExecution"][];
        };
        /**
         * CaptureBody
         * @description The messages of one run, in OpenAI, Langflow or LangChain format.
         */
        CaptureBody: {
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Run Id
             * @description The run's id: a UUID or any string; generated by default. Send one, so that a repeat is recognized.
             */
            run_id?: string | null;
            /**
             * End User Id
             * @description The person that the session belongs to. A session's first capture fixes it.
             */
            end_user_id?: string | null;
            /**
             * On Conflict
             * @description What to do if a message id is stored with other content: `error` stores nothing, `keep` keeps the stored message, `update` stores a new version.
             * @default error
             * @enum {string}
             */
            on_conflict?: "error" | "keep" | "update";
            /**
             * Messages
             * @description Messages in order, in OpenAI's, Langflow's or LangChain's format: {role, content, ...}, {text, sender} or {type, content}. At most 1000, by the setting max_messages_per_run.
             */
            messages: components["schemas"]["SentMessage"][];
            /**
             * Node Executions
             * @description Executions of nodes in this run; stored after the messages, each separately.
             */
            node_executions?: components["schemas"]["ReportedExecutionBody"][];
        };
        /**
         * CapturedMessage
         * @description What a capture did with one message.
         */
        CapturedMessage: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Seq
             * @description Number of the message in its session or chat, in commit order.
             */
            seq: number;
            /**
             * Created
             * @description Whether it is new; false for a repeat.
             */
            created: boolean;
            /**
             * Deleted
             * @description Whether the message was deleted earlier and therefore stays deleted.
             */
            deleted: boolean;
        };
        /**
         * Caveat
         * @description An entry of an answer's `warnings`. Programs read the `code`.
         */
        Caveat: {
            /**
             * Code
             * @description What it is about: `outputs_only`, `no_memory_base`, `unknown_session` or `recalled_within_session`.
             */
            code: string;
            /**
             * Message
             * @description For people; may change.
             */
            message: string;
        };
        /**
         * ChangeView
         * @description One change of a message. `former` and `difference` only of an edit: the fields that it replaced, and what it did
         *     to the text.
         */
        ChangeView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Message Id
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /**
             * Action
             * @description What was done: `edit`, `mute`, `unmute`, `pin`, `unpin`, `delete` or `restore`.
             * @enum {string}
             */
            action: "edit" | "mute" | "unmute" | "pin" | "unpin" | "delete" | "restore";
            /**
             * At
             * Format: date-time
             * @description When.
             */
            at: string;
            /**
             * By
             * @description The name of the API key; null if unknown.
             */
            by: string | null;
            /**
             * Reason
             * @description Why; null if no reason was given.
             */
            reason: string | null;
            /**
             * Version
             * @description The message's version after the change.
             */
            version: number;
            /**
             * Former
             * @description The fields that an edit replaced, as they were; null of other changes.
             */
            former: components["schemas"]["FormerFields"] | null;
            /**
             * Difference
             * @description What an edit did to the text, in reading order; null if it changed no text.
             */
            difference: components["schemas"]["Piece"][] | null;
            /**
             * Batch Id
             * @description The same for changes that were made together; null if it was made alone.
             */
            batch_id: string | null;
        };
        /**
         * ChatMemoryConfig
         * @description The fields of a Chat Memory node. Fields of the other `limit_type` are stored and ignored.
         */
        ChatMemoryConfig: {
            /**
             * Name
             * @description The name, for people.
             */
            name: string;
            /**
             * Chat Id
             * @description Template of the chat id, such as user-{{ start.user_id }}.
             */
            chat_id: string;
            /**
             * User Message Content
             * @description Template of user messages.
             * @default {{ start | json }}
             */
            user_message_content?: string;
            /**
             * Limit Type
             * @description What limits a view: a number of messages or of tokens.
             * @default messages
             * @enum {string}
             */
            limit_type?: "messages" | "tokens";
            /**
             * Trim Strategy
             * @description What is dropped first: `drop_oldest`, or `drop_middle`, which keeps the first messages and the newest.
             * @default drop_oldest
             * @enum {string}
             */
            trim_strategy?: "drop_oldest" | "drop_middle";
            /**
             * Clear Tool Results
             * @description Whether results of tools are emptied, except those of the current turn.
             * @default false
             */
            clear_tool_results?: boolean;
            /**
             * Enable Summarization
             * @description Whether a summary replaces what the limits leave out.
             * @default false
             */
            enable_summarization?: boolean;
            /**
             * Summarize Prompt
             * @description The instruction for summaries.
             * @default Summarize the key points of the removed messages, preserving important context and decisions made.
             */
            summarize_prompt?: string;
            /**
             * Use Predefined Messages
             * @description Whether views begin with the predefined messages.
             * @default false
             */
            use_predefined_messages?: boolean;
            /**
             * Predefined Messages
             * @description Messages shown before the history.
             */
            predefined_messages?: components["schemas"]["PredefinedMessage"][];
            /**
             * Trim Mode
             * @description For limit_type messages.
             * @default continuous
             * @enum {string}
             */
            trim_mode?: "continuous" | "threshold";
            /**
             * Max Messages
             * @description Messages that continuous trimming keeps.
             * @default 20
             */
            max_messages?: number;
            /**
             * Threshold Trigger
             * @description Trims at this many messages.
             * @default 500
             */
            threshold_trigger?: number;
            /**
             * Threshold Target
             * @description Messages kept then; below the trigger.
             * @default 100
             */
            threshold_target?: number;
            /**
             * Max Images
             * @description Maximum images that are sent, newest first; others are replaced by their name.
             * @default 1
             */
            max_images?: number;
            /**
             * Max Tokens
             * @description Maximum tokens.
             * @default 2000
             */
            max_tokens?: number;
            /**
             * Min Messages
             * @description Newest messages kept beyond max_tokens.
             * @default 0
             */
            min_messages?: number;
            /**
             * Pin Predefined
             * @description Never trim predefined messages; they still count.
             * @default false
             */
            pin_predefined?: boolean;
            /**
             * Keep First
             * @description First messages kept by drop_middle; by default the predefined ones, at least 2.
             */
            keep_first?: number | null;
        };
        /**
         * ChatMemoryView
         * @description A stored chat memory.
         */
        ChatMemoryView: {
            /**
             * Name
             * @description The name, for people.
             */
            name: string;
            /**
             * Chat Id
             * @description Template of the chat id, such as user-{{ start.user_id }}.
             */
            chat_id: string;
            /**
             * User Message Content
             * @description Template of user messages.
             * @default {{ start | json }}
             */
            user_message_content?: string;
            /**
             * Limit Type
             * @description What limits a view: a number of messages or of tokens.
             * @default messages
             * @enum {string}
             */
            limit_type?: "messages" | "tokens";
            /**
             * Trim Strategy
             * @description What is dropped first: `drop_oldest`, or `drop_middle`, which keeps the first messages and the newest.
             * @default drop_oldest
             * @enum {string}
             */
            trim_strategy?: "drop_oldest" | "drop_middle";
            /**
             * Clear Tool Results
             * @description Whether results of tools are emptied, except those of the current turn.
             * @default false
             */
            clear_tool_results?: boolean;
            /**
             * Enable Summarization
             * @description Whether a summary replaces what the limits leave out.
             * @default false
             */
            enable_summarization?: boolean;
            /**
             * Summarize Prompt
             * @description The instruction for summaries.
             * @default Summarize the key points of the removed messages, preserving important context and decisions made.
             */
            summarize_prompt?: string;
            /**
             * Use Predefined Messages
             * @description Whether views begin with the predefined messages.
             * @default false
             */
            use_predefined_messages?: boolean;
            /**
             * Predefined Messages
             * @description Messages shown before the history.
             */
            predefined_messages?: components["schemas"]["PredefinedMessage"][];
            /**
             * Trim Mode
             * @description For limit_type messages.
             * @default continuous
             * @enum {string}
             */
            trim_mode?: "continuous" | "threshold";
            /**
             * Max Messages
             * @description Messages that continuous trimming keeps.
             * @default 20
             */
            max_messages?: number;
            /**
             * Threshold Trigger
             * @description Trims at this many messages.
             * @default 500
             */
            threshold_trigger?: number;
            /**
             * Threshold Target
             * @description Messages kept then; below the trigger.
             * @default 100
             */
            threshold_target?: number;
            /**
             * Max Images
             * @description Maximum images that are sent, newest first; others are replaced by their name.
             * @default 1
             */
            max_images?: number;
            /**
             * Max Tokens
             * @description Maximum tokens.
             * @default 2000
             */
            max_tokens?: number;
            /**
             * Min Messages
             * @description Newest messages kept beyond max_tokens.
             * @default 0
             */
            min_messages?: number;
            /**
             * Pin Predefined
             * @description Never trim predefined messages; they still count.
             * @default false
             */
            pin_predefined?: boolean;
            /**
             * Keep First
             * @description First messages kept by drop_middle; by default the predefined ones, at least 2.
             */
            keep_first?: number | null;
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Node Id
             * @description The node of the flow, named by the caller.
             */
            node_id: string;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Updated At
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        /**
         * ChatMessageView
         * @description A stored message of a chat. `request_id`: the run that wrote it, or a new id for a call without a run.
         */
        ChatMessageView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Seq
             * @description Number of the message in its session or chat, in commit order.
             */
            seq: number;
            /**
             * Run Id
             * @description The run that wrote the message; null if none was named.
             */
            run_id: string | null;
            /**
             * Request Id
             * Format: uuid
             * @description The run that wrote the message, or a new id for each call without a run.
             */
            request_id: string;
            /**
             * Role
             * @description Who speaks.
             */
            role: string;
            /**
             * Content
             * @description Text, a list of content parts, or null beside tool calls.
             */
            content: (string | components["schemas"]["ContentPart"][]) | null;
            /**
             * Tool Calls
             * @description Calls of tools by the model, in OpenAI's format.
             */
            tool_calls: components["schemas"]["ToolCall"][] | null;
            /**
             * Tool Call Id
             * @description The tool call that this message answers.
             */
            tool_call_id: string | null;
            /**
             * Name
             * @description The name of the speaker or the tool, as in OpenAI's format.
             */
            name: string | null;
            /**
             * Files
             * @description Files of the message, as they were sent.
             */
            files: unknown[];
            /**
             * Metadata
             * @description Any JSON object of the caller.
             */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * Status
             * @description Whether the message is complete: `completed`, `failed` or `stopped`.
             */
            status: string;
            /**
             * Tokens
             * @description Number of tokens.
             */
            tokens: number;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
        };
        /**
         * ChatPage
         * @description A page of a log, oldest first. `next_offset` and `next_cursor` continue in the same direction; `counter` counted
         *     the messages' tokens.
         */
        ChatPage: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["ChatMessageView"][];
            /**
             * Total
             * @description Number of messages in the log.
             */
            total: number;
            /**
             * Has More
             * @description Whether more messages follow in the same direction.
             */
            has_more: boolean;
            /**
             * Counter
             * @description What counted the tokens: a tokenizer, or the estimate with its version.
             */
            counter: string;
            /**
             * Next Offset
             * @description Send it as `offset` to continue; null on the last page.
             */
            next_offset?: number | null;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
        };
        /**
         * ChatPostBody
         * @description Messages to append, in the format of a run. A user message without content is rendered from the variables.
         */
        ChatPostBody: {
            /**
             * Chat Id
             * @description The chat; without it, the memory's template makes the id from `variables`.
             */
            chat_id?: string | null;
            /**
             * Variables
             * @description Values for the templates of the chat memory: nodes of the flow by name, with their fields.
             */
            variables?: {
                [key: string]: unknown;
            } | null;
            /**
             * Run Id
             * @description The run that writes the messages: a UUID or any string.
             */
            run_id?: string | null;
            /**
             * End User Id
             * @description The person that the chat belongs to.
             */
            end_user_id?: string | null;
            /**
             * Messages
             * @description Messages in order, in the formats of a capture: {role, content?, id?, files?, tool_calls?, tool_call_id?, name?}
             */
            messages: components["schemas"]["SentMessage"][];
        };
        /**
         * ChatSummaryBody
         * @description How much of a chat to replace by a summary.
         */
        ChatSummaryBody: {
            /**
             * Chat Id
             * @description The chat's id, chosen by the caller.
             */
            chat_id: string;
            /**
             * Keep Last N
             * @description Number of newest messages to keep verbatim.
             * @default 2
             */
            keep_last_n?: number;
            /**
             * Summarize Prompt
             * @description The instruction for this summary; by default that of the chat memory.
             */
            summarize_prompt?: string | null;
        };
        /**
         * ChatTrimBody
         * @description How many messages to keep in views.
         */
        ChatTrimBody: {
            /**
             * Chat Id
             * @description The chat's id, chosen by the caller.
             */
            chat_id: string;
            /**
             * Max Messages
             * @description Number of newest messages that views still show.
             * @default 10
             */
            max_messages?: number;
        };
        /**
         * ChatView
         * @description A chat; `messages` and `tokens` count its whole log, and `counter` names what counts its tokens.
         */
        ChatView: {
            /**
             * Chat Id
             * @description The chat's id, chosen by the caller.
             */
            chat_id: string;
            /**
             * End User Id
             * @description The person that the session or chat belongs to; null if unknown.
             */
            end_user_id: string | null;
            /**
             * Messages
             * @description Number of messages in the log.
             */
            messages: number;
            /**
             * Tokens
             * @description Number of tokens in the log.
             */
            tokens: number;
            /**
             * Counter
             * @description What counted the tokens: a tokenizer, or the estimate with its version.
             */
            counter: string;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Updated At
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        /**
         * ChatViewBody
         * @description The chat to show to a model, and how.
         */
        ChatViewBody: {
            /**
             * Chat Id
             * @description The chat; without it, the memory's template makes the id from `variables`.
             */
            chat_id?: string | null;
            /**
             * Variables
             * @description Values for the templates of the chat memory: nodes of the flow by name, with their fields.
             */
            variables?: {
                [key: string]: unknown;
            } | null;
            /**
             * Run Id
             * @description The current run; its own messages are left out.
             */
            run_id?: string | null;
            /**
             * Align
             * @description Which messages to drop or to join, as the model's provider demands: `none`; `user_first`, nothing before the first question; `strict`, also no empty messages and no two neighbors of one role.
             * @default none
             * @enum {string}
             */
            align?: "none" | "user_first" | "strict";
            /**
             * Format
             * @description Format of `messages`: `openai` or `langchain`; `text` if only `text` is read.
             * @default openai
             * @enum {string}
             */
            format?: "openai" | "langchain" | "text";
            /**
             * Model
             * @description Model that counts tokens, by the setting token_counters.
             */
            model?: string | null;
        };
        /**
         * ChatsView
         * @description A chat memory, and the person's chats in it.
         */
        ChatsView: {
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Node Id
             * @description The node of the flow, named by the caller.
             */
            node_id: string;
            /**
             * Name
             * @description The name of the chat memory.
             */
            name: string;
            /**
             * Chats
             * @description Number of the person's chats.
             */
            chats: number;
            /**
             * Messages
             * @description Number of messages in these chats.
             */
            messages: number;
        };
        /**
         * ConditionName
         * @description The condition of a memory base, the worst first.
         *
         *     lost: vectors are missing. failed: has dead letters. unreachable: the vector store fails. building: a regenerate
         *     runs. working: ingests. waiting: has pending messages. paused: somebody has paused it, or auto_capture is off. ok:
         *     everything is searchable.
         * @enum {string}
         */
        ConditionName: "lost" | "failed" | "unreachable" | "building" | "working" | "waiting" | "paused" | "ok";
        /**
         * ContextAnswer
         * @description A view with a report of how the budget was spent and what a larger budget would add.
         */
        ContextAnswer: {
            /**
             * Messages
             * @description Messages that can go to a model unchanged.
             */
            messages: components["schemas"]["ViewMessage"][];
            /**
             * Sources
             * @description Where each message comes from, parallel to `messages`.
             */
            sources: components["schemas"]["Source"][];
            /**
             * Text
             * @description The same content as a transcript.
             */
            text: string;
            /** @description What happened to the log. */
            report: components["schemas"]["ContextReport"];
        };
        /**
         * ContextBody
         * @description The context to build and its token budget. Without `query` nothing is recalled.
         */
        ContextBody: {
            /**
             * Flow Id
             * @description The flow: a UUID or the caller's id.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Token Budget
             * @description Maximum tokens of the whole view.
             */
            token_budget: number;
            /**
             * Query
             * @description What to recall memories for; without it, none are recalled. At most 8000 characters, by the setting max_query_chars.
             */
            query?: string | null;
            /**
             * Leaf Id
             * @description Last message of the thread; default: the newest message.
             */
            leaf_id?: string | null;
            /**
             * Run Id
             * @description The current run; its own messages are left out.
             */
            run_id?: string | null;
            /**
             * Node Id
             * @description The node that asks. With `run_id`, the memory use is recorded.
             */
            node_id?: string | null;
            /**
             * End User Id
             * @description The person that asks; by default the session's. Another one than the session's is 409.
             */
            end_user_id?: string | null;
            /**
             * Use Memory
             * @description If false, the view is empty.
             * @default true
             */
            use_memory?: boolean;
            /**
             * Model
             * @description Model that counts tokens, by the setting token_counters.
             */
            model?: string | null;
            /**
             * Preset
             * @description How history and summary are combined.
             * @default token_buffer
             * @enum {string}
             */
            preset?: "token_buffer" | "window" | "flowx_5" | "flowx_6";
            /** @description Changes to the preset. */
            config?: components["schemas"]["ContextConfig"];
            /**
             * Memory Base Ids
             * @description Memory bases to recall from; by default all of the flow.
             */
            memory_base_ids?: string[];
            /** @description Options of recall. */
            recall?: components["schemas"]["RecallBody"];
            /** @description Options of standing statements. */
            standing?: components["schemas"]["StandingBody"];
        };
        /**
         * ContextConfig
         * @description Overrides of the preset. `pairs`: number of latest pairs of question and reply, in session memory.
         */
        ContextConfig: {
            /**
             * Pairs
             * @description Number of latest pairs of question and reply, in session memory.
             */
            pairs?: number;
            /**
             * Max Turns
             * @description Maximum turns of history.
             */
            max_turns?: number;
            /**
             * Max Messages
             * @description Maximum messages of history.
             */
            max_messages?: number;
            /**
             * Summary
             * @description Whether a summary precedes the history.
             */
            summary?: boolean;
            /**
             * Summarizer
             * @description What writes the summary, one of those in the settings; by default the first.
             */
            summarizer?: string;
            /**
             * Uncovered Tokens
             * @description Maximum tokens of older messages that no summary covers yet and that are shown verbatim.
             */
            uncovered_tokens?: number;
            /**
             * Count Current
             * @description Whether the current question counts as one of the pairs.
             */
            count_current?: boolean;
            /**
             * Clip
             * @description Whether the oldest turn may be cut with a mark to fill the budget.
             */
            clip?: boolean;
            /**
             * Summary Style
             * @description How the summary is introduced: by a line, a heading or both.
             * @enum {string}
             */
            summary_style?: "line" | "heading" | "both";
            /**
             * Summary First
             * @description Whether the summary comes before the pairs.
             */
            summary_first?: boolean;
            /**
             * Align
             * @description Which messages to drop or to join, as the model's provider demands: `none`; `user_first`, nothing before the first question; `strict`, also no empty messages and no two neighbors of one role.
             * @enum {string}
             */
            align?: "none" | "user_first" | "strict";
            /**
             * Format
             * @description Format of `messages`: `openai` or `langchain`; `text` if only `text` is read.
             * @enum {string}
             */
            format?: "openai" | "langchain" | "text";
        };
        /**
         * ContextReport
         * @description The report of a view, its memories and its standing statements in order, how its budget was spent, and what a
         *     larger one would add. `facts` were derived by a model, best first. `below_min_score`: how many messages the search
         *     found and the recall left out, because their score is too low. `searched`: whose messages memories were sought in;
         *     null without a search.
         */
        ContextReport: {
            /**
             * Kept
             * @description Ids of the messages in the view.
             */
            kept: string[];
            /**
             * Removed
             * @description Messages of the thread that are not in the view.
             */
            removed: components["schemas"]["Removed"][];
            /**
             * Tokens Before
             * @description Tokens of the thread, before clearing and trimming.
             */
            tokens_before: number;
            /**
             * Tokens After
             * @description Tokens of the view.
             */
            tokens_after: number;
            /**
             * Budget
             * @description Maximum tokens of the view; null without a limit.
             */
            budget: number | null;
            /**
             * Over Budget
             * @description Whether not even the newest unit fits.
             */
            over_budget: boolean;
            /**
             * Counter
             * @description What counted the tokens: a tokenizer, or the estimate with its version.
             */
            counter: string;
            /**
             * Flags
             * @description What else there is to know, such as `gap` or `broken_link`.
             * @default []
             */
            flags?: string[];
            /**
             * Degraded
             * @description Parts that were unavailable, such as `recall`; the rest is complete.
             * @default []
             */
            degraded?: string[];
            /** @description What the summary of the view covers; null without one. */
            summary?: components["schemas"]["SummaryUse"] | null;
            /**
             * Recalled
             * @description The memories in the view, in its order.
             */
            recalled: components["schemas"]["Recalled"][];
            /**
             * Below Min Score
             * @description How many messages the search found that are not recalled because of `min_score`.
             */
            below_min_score: number;
            /**
             * Standing
             * @description The standing statements in the view, in its order.
             */
            standing: components["schemas"]["StandingUse"][];
            /**
             * Facts
             * @description The facts in the view that a model derived, best first.
             */
            facts: components["schemas"]["RecalledFact"][];
            /** @description How the budget was spent. */
            spent: components["schemas"]["Spent"];
            /** @description What a larger budget would add. */
            further: components["schemas"]["Further"];
            /**
             * Searched
             * @description Whose messages memories were sought in: the end user's, the whole flow's, or the session's own; null without a search.
             */
            searched: ("end_user" | "session" | "flow") | null;
            /**
             * Warnings
             * @description Why the view may hold less than expected, and what to do about it.
             */
            warnings: components["schemas"]["Caveat"][];
        };
        /**
         * CorrectionOf
         * @description The other message of a correction, with both values as they were written; a denial has none. Of kind "statement"
         *     the values are both sentences.
         */
        CorrectionOf: {
            /**
             * Message Id
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /**
             * Kind
             * @description What the two messages differ in: a `date`, `time`, `percent`, `number` or `name`; `statement`, if the later one says in other words that something changed; or `denial`, if one denies what the other claims.
             */
            kind: ("date" | "time" | "percent" | "number" | "name") | ("statement" | "denial");
            /**
             * Was
             * @description The value of the earlier message, as it was written, or its sentence for a `statement`; null for a denial.
             */
            was: string | null;
            /**
             * Now
             * @description The value of the later message, as it was written, or its sentence for a `statement`; null for a denial.
             */
            now: string | null;
        };
        /**
         * Coverage
         * @description Whether searches by meaning find the messages in a memory base.
         *
         *     lost: the memory base has lost vectors, perhaps theirs. updating: searches find them, edits follow. ingesting: a job
         *     runs or is due. waiting: below the threshold. skipped: older than the memory base, or discarded. not_counted: the
         *     memory base captures others.
         * @enum {string}
         */
        Coverage: "searchable" | "updating" | "ingesting" | "waiting" | "failed" | "lost" | "skipped" | "not_counted";
        /**
         * Covers
         * @description The messages that a summary covers, by seq.
         */
        Covers: {
            /**
             * From Seq
             * @description The seq of the first message that the summary covers.
             */
            from_seq: number;
            /**
             * To Seq
             * @description The seq of the last message.
             */
            to_seq: number;
        };
        /**
         * DeadLetterAction
         * @description What to do with dead letters.
         * @enum {string}
         */
        DeadLetterAction: "retry" | "discard";
        /**
         * DeadLetterActionBody
         * @description What to do, and with which dead letters: those that match every field.
         */
        DeadLetterActionBody: {
            /** @description `retry`: try again to embed the messages. `discard`: the memory base skips them; they stay stored. */
            action: components["schemas"]["DeadLetterAction"];
            /**
             * Ids
             * @description These dead letters; also those that are retried already.
             */
            ids?: string[] | null;
            /**
             * Memory Base Id
             * @description Only dead letters of this memory base.
             */
            memory_base_id?: string | null;
            /**
             * Cause
             * @description Only dead letters with this error code.
             */
            cause?: string | null;
            /**
             * Alike
             * @description Only dead letters with the error code and the text of one of these.
             */
            alike?: string[];
            /**
             * Flow Id
             * @description Only dead letters of this flow: its id, or yours.
             */
            flow_id?: string | null;
            /**
             * Session Id
             * @description Only dead letters of this session.
             */
            session_id?: string | null;
            /**
             * Since
             * @description Only messages that were set aside then or later.
             */
            since?: string | null;
            /**
             * Until
             * @description Only messages that were set aside then or earlier.
             */
            until?: string | null;
            /**
             * Dry Run
             * @description Count what matches and change nothing.
             * @default false
             */
            dry_run?: boolean;
            /**
             * Limit
             * @description At most so many, oldest first.
             * @default 200
             */
            limit?: number;
        };
        /**
         * DeadLetterCause
         * @description Dead letters of one cause. `texts`: the most frequent ones; `distinct_texts` is how many there are.
         */
        DeadLetterCause: {
            /**
             * Cause
             * @description The error code.
             */
            cause: string;
            /**
             * Messages
             * @description Number of dead letters of this cause.
             */
            messages: number;
            /**
             * Retrying
             * @description How many of them a job tries again.
             */
            retrying: number;
            /**
             * Sessions
             * @description Number of sessions, counted for each memory base.
             */
            sessions: number;
            /**
             * Memory Bases
             * @description Number of memory bases.
             */
            memory_bases: number;
            /**
             * Since
             * Format: date-time
             * @description When the oldest was written.
             */
            since: string;
            /**
             * Distinct Texts
             * @description Number of different texts.
             */
            distinct_texts: number;
            /**
             * Texts
             * @description The most frequent texts.
             */
            texts: components["schemas"]["DeadLetterText"][];
        };
        /**
         * DeadLetterError
         * @description Why the message could not be embedded.
         */
        DeadLetterError: {
            /**
             * Code
             * @description Stable code of the error.
             */
            code: string;
            /**
             * Message
             * @description For people; may change.
             */
            message: string;
        };
        /**
         * DeadLetterGroups
         * @description Every dead letter that is not discarded, by cause.
         */
        DeadLetterGroups: {
            /**
             * Causes
             * @description The causes, most messages first.
             */
            causes: components["schemas"]["DeadLetterCause"][];
            /**
             * Messages
             * @description Number of dead letters of all causes.
             */
            messages: number;
        };
        /**
         * DeadLetterOutcome
         * @description What an action did with a dead letter.
         * @enum {string}
         */
        DeadLetterOutcome: "retrying" | "discarded" | "not_found";
        /**
         * DeadLetterResult
         * @description What happened to one dead letter. `job_id` is null if the session's active job comes first.
         */
        DeadLetterResult: {
            /**
             * Id
             * Format: uuid
             * @description The dead letter.
             */
            id: string;
            /** @description `retrying`, `discarded`, or `not_found` if there is no such dead letter. */
            outcome: components["schemas"]["DeadLetterOutcome"];
            /**
             * Memory Base Id
             * @description Its memory base; null if there is no such dead letter.
             */
            memory_base_id?: string | null;
            /**
             * Session Id
             * @description Its session; null if there is no such dead letter.
             */
            session_id?: string | null;
            /**
             * Message Id
             * @description Its message; null if there is no such dead letter.
             */
            message_id?: string | null;
            /**
             * Job Id
             * @description The job that tries again; null if none was started, because the session's active job comes first.
             */
            job_id?: string | null;
        };
        /**
         * DeadLetterResults
         * @description A result for each dead letter; `remaining` more match the filter.
         *
         *     `taken`: how many were retried or discarded; with `dry_run` how many would be, in as many calls as it takes.
         *     `skipped`: how many were not, by reason.
         */
        DeadLetterResults: {
            /** @description The action. */
            action: components["schemas"]["DeadLetterAction"];
            /**
             * Results
             * @description A result for each dead letter.
             */
            results: components["schemas"]["DeadLetterResult"][];
            /**
             * Remaining
             * @description How many more match. 0 if the request named ids.
             */
            remaining: number;
            /**
             * Taken
             * @description How many the action took; after a dry run how many it would take, in as many calls as that needs.
             */
            taken: number;
            /**
             * Skipped
             * @description How many it left alone, by reason: those of the results; of dead letters `retrying` (a repair retries them already) and `not_found`.
             */
            skipped: {
                [key: string]: number;
            };
            /**
             * Dry Run
             * @description Whether nothing was changed.
             */
            dry_run: boolean;
        };
        /**
         * DeadLetterText
         * @description Dead letters of one cause whose messages have the same text. `example` is one of them.
         */
        DeadLetterText: {
            /** @description One of the dead letters. */
            example: components["schemas"]["DeadLetterView"];
            /**
             * Messages
             * @description Number of dead letters with this text.
             */
            messages: number;
            /**
             * Retrying
             * @description How many of them a job tries again.
             */
            retrying: number;
            /**
             * Sessions
             * @description Number of sessions, counted for each memory base.
             */
            sessions: number;
            /**
             * Since
             * Format: date-time
             * @description When the oldest was written.
             */
            since: string;
        };
        /**
         * DeadLetterView
         * @description A message that could not be embedded; `message` is null if it was deleted since.
         */
        DeadLetterView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /**
             * Memory Base Name
             * @description The name of the memory base.
             */
            memory_base_name: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Message Id
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /** @description The message; null if it was deleted since. */
            message: components["schemas"]["MessageView"] | null;
            /**
             * State
             * @description `dead`, or `retrying` while a job tries again.
             */
            state: string;
            /** @description Why the message could not be embedded. */
            error: components["schemas"]["DeadLetterError"];
            /**
             * Attempts
             * @description How many attempts were made.
             */
            attempts: number;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Updated At
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        /**
         * Deleted
         * @description What a deletion took from the log of a chat.
         */
        Deleted: {
            /**
             * Deleted
             * @description Ids of the deleted messages.
             */
            deleted: string[];
            /**
             * Remaining Count
             * @description Number of messages left in the log.
             */
            remaining_count: number;
        };
        /**
         * DeletedMessageView
         * @description A deleted message that can be restored until `restorable_until`, or captured again by then.
         */
        DeletedMessageView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID.
             */
            run_id: string;
            /**
             * End User Id
             * @description The person that the session or chat belongs to; null if unknown.
             */
            end_user_id: string | null;
            /**
             * Seq
             * @description Number of the message in its session or chat, in commit order.
             */
            seq: number;
            /**
             * Role
             * @description Who speaks.
             */
            role: string;
            /**
             * Content
             * @description Text, a list of content parts, or null beside tool calls.
             */
            content: (string | components["schemas"]["ContentPart"][]) | null;
            /**
             * Sender Name
             * @description The speaker's name, for display.
             */
            sender_name: string | null;
            /**
             * Version
             * @description The version that was deleted.
             */
            version: number;
            /**
             * Timestamp
             * Format: date-time
             * @description When the message was written, for display and filters. `seq` decides the order.
             */
            timestamp: string;
            /**
             * Deleted At
             * Format: date-time
             * @description When it was deleted.
             */
            deleted_at: string;
            /**
             * By
             * @description The name of the API key; null if unknown.
             */
            by: string | null;
            /**
             * Reason
             * @description Why; null if no reason was given.
             */
            reason: string | null;
            /**
             * Restorable Until
             * Format: date-time
             * @description Until when it can be restored; null if it cannot be.
             */
            restorable_until: string;
            /**
             * Removed
             * @description The memory bases that held it; repairs delete its chunks there.
             */
            removed: components["schemas"]["RemovedFrom"][];
        };
        /**
         * DeletionReceipt
         * @description A deleted message: by whom and why, what it is removed from, and until when it can be restored.
         */
        DeletionReceipt: {
            /**
             * Message Id
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /**
             * Deleted At
             * Format: date-time
             * @description When it was deleted.
             */
            deleted_at: string;
            /**
             * By
             * @description The name of the API key; null if unknown.
             */
            by: string | null;
            /**
             * Reason
             * @description Why; null if no reason was given.
             */
            reason: string | null;
            /**
             * Restorable Until
             * @description Until when it can be restored; null if it cannot be.
             */
            restorable_until: string | null;
            /**
             * Removed
             * @description The memory bases that held it; repairs delete its chunks there.
             */
            removed: components["schemas"]["RemovedFrom"][];
            /**
             * Job Ids
             * @description The repairs that update the knowledge bases.
             */
            job_ids: string[];
        };
        /**
         * DeliveryState
         * @description Where a delivery is; a dead one had all its attempts, or its endpoint is gone.
         * @enum {string}
         */
        DeliveryState: "pending" | "delivered" | "dead";
        /**
         * DeliveryView
         * @description A delivery. `next_attempt_at` is set while it is pending; `body` is what is signed and sent.
         */
        DeliveryView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Webhook Id
             * Format: uuid
             * @description The webhook.
             */
            webhook_id: string;
            /**
             * Event Id
             * Format: uuid
             * @description The event: the `webhook-id` of the request, the same for each attempt and webhook.
             */
            event_id: string;
            /** @description The type of the event. */
            event_type: components["schemas"]["EventType"];
            /** @description `pending`, `delivered` or `dead`. */
            state: components["schemas"]["DeliveryState"];
            /**
             * Attempts
             * @description How many attempts were made since its creation or replay.
             */
            attempts: number;
            /**
             * Next Attempt At
             * @description When the next attempt is due; while one is in progress, when it counts as lost. Null unless pending.
             */
            next_attempt_at: string | null;
            /**
             * Last Attempt At
             * @description When the last attempt ended; null before the first.
             */
            last_attempt_at: string | null;
            /**
             * Last Status
             * @description HTTP status of the last answer; null without one.
             */
            last_status: number | null;
            /**
             * Last Error
             * @description Why the last attempt failed; null if it succeeded.
             */
            last_error: string | null;
            /**
             * Occurred At
             * Format: date-time
             * @description When the event happened.
             */
            occurred_at: string;
            /**
             * Finished At
             * @description When it was delivered or died; null while pending.
             */
            finished_at: string | null;
            /**
             * Body
             * @description The JSON text that is signed and sent.
             */
            body: string;
        };
        /**
         * DiscardBody
         * @description Which dead deliveries to delete: those that were dead by this time, by default all.
         */
        DiscardBody: {
            /**
             * Until
             * @description Deliveries that were dead by this time are deleted; by default all dead ones. Without a time zone: UTC.
             */
            until?: string | null;
        };
        /**
         * Discarded
         * @description How many dead deliveries were deleted, and whether more are left.
         */
        Discarded: {
            /**
             * Discarded
             * @description How many deliveries were deleted.
             */
            discarded: number;
            /**
             * Remaining
             * @description Whether more dead deliveries match.
             */
            remaining: boolean;
        };
        /**
         * DistillationBody
         * @description Turn distillation on or off. `start`: from which message on; `beginning` distils the whole history.
         */
        DistillationBody: {
            /**
             * Enabled
             * @description Whether facts are derived from what is ingested.
             */
            enabled: boolean;
            /**
             * Start
             * @description `now`: from what is ingested from now on; `beginning`: from the whole history.
             * @default now
             * @enum {string}
             */
            start?: "now" | "beginning";
        };
        /**
         * DistillationUsageView
         * @description What distillation of a memory base has used since it was first turned on. `cost` is null without prices.
         */
        DistillationUsageView: {
            /**
             * Requests
             * @description Number of requests to the model.
             */
            requests: number;
            /**
             * Prompt Tokens
             * @description Tokens of the requests.
             */
            prompt_tokens: number;
            /**
             * Completion Tokens
             * @description Tokens of the answers.
             */
            completion_tokens: number;
            /**
             * Tokens Today
             * @description Tokens that this memory base used today, in UTC.
             */
            tokens_today: number;
            /**
             * Cost
             * @description What the tokens cost, by the prices in the settings; null without prices.
             */
            cost: number | null;
            /**
             * Facts
             * @description Number of facts that were stored, also those that say the same.
             */
            facts: number;
            /**
             * Refused
             * @description How many facts and answers did not pass the checks, by reason.
             */
            refused: {
                [key: string]: number;
            };
        };
        /**
         * DistillationView
         * @description Whether facts are distilled for a memory base, what waits, and what it used.
         *
         *     `error` is that of the latest attempt that failed, `daily_tokens_spent` if the day's tokens are used up;
         *     `waits_until` is when the next session is due. `tokens_today` and `daily_tokens` are of the whole installation.
         */
        DistillationView: {
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /**
             * Enabled
             * @description Whether facts are derived from what is ingested.
             */
            enabled: boolean;
            /**
             * Available
             * @description Whether the operator has set a model for it.
             */
            available: boolean;
            /**
             * State
             * @description `off`, `idle`, `distilling`, or `waiting`: for the end of an outage or for the next day.
             * @enum {string}
             */
            state: "off" | "idle" | "distilling" | "waiting";
            /**
             * Pending Sessions
             * @description Number of sessions with messages that were not distilled yet.
             */
            pending_sessions: number;
            /**
             * Skipped Messages
             * @description Number of messages that were given up because the model's answers were useless.
             */
            skipped_messages: number;
            /**
             * Error
             * @description Why the latest attempt that failed did; `daily_tokens_spent`: the tokens of the day are used up.
             */
            error: string | null;
            /**
             * Waits Until
             * @description When the next session is due; null if nothing waits.
             */
            waits_until: string | null;
            /**
             * Facts
             * @description Number of facts.
             */
            facts: number;
            /**
             * Tokens Today
             * @description Tokens that the whole installation used today, in UTC.
             */
            tokens_today: number;
            /**
             * Daily Tokens
             * @description Tokens that the whole installation may use on a day.
             */
            daily_tokens: number;
            /** @description What this memory base used. */
            usage: components["schemas"]["DistillationUsageView"];
        };
        /**
         * DocumentAnswer
         * @description Chunks, best first; ties by document and index.
         */
        DocumentAnswer: {
            /**
             * Results
             * @description What was found, best first.
             */
            results: components["schemas"]["DocumentHit"][];
            /**
             * Took Ms
             * @description Duration of the search in milliseconds.
             */
            took_ms: number;
        };
        /**
         * DocumentBody
         * @description A text. Without `metadata`, stored metadata is kept.
         */
        DocumentBody: {
            /**
             * Text
             * @description The text. At most 1000000 characters.
             */
            text: string;
            /**
             * Id
             * @description The caller's id; a document with the same id is replaced. By default its text and metadata identify a document.
             */
            id?: string | null;
            /**
             * Metadata
             * @description Any JSON object; searches can filter by it. Without it, stored metadata is kept.
             */
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * DocumentHit
         * @description A chunk that a search found; `id` is the caller's id, or the document_id without one.
         */
        DocumentHit: {
            /**
             * Id
             * @description The caller's id, or the `document_id` without one.
             */
            id: string;
            /**
             * Document Id
             * Format: uuid
             * @description The UUID of the document.
             */
            document_id: string;
            /**
             * Chunk Index
             * @description Number of the chunk in the document, from 0.
             */
            chunk_index: number;
            /**
             * Snippet
             * @description The text of the chunk.
             */
            snippet: string;
            /**
             * Score
             * @description From 0 to 1, higher is better; null if nothing was searched.
             */
            score: number;
            /**
             * Metadata
             * @description The metadata of the document.
             */
            metadata: {
                [key: string]: unknown;
            };
        };
        /**
         * DocumentResult
         * @description The result for one document. updated: the same text with other metadata; failed: error_code has the reason.
         */
        DocumentResult: {
            /**
             * Id
             * @description The caller's id, or the `document_id` without one.
             */
            id: string;
            /**
             * Document Id
             * Format: uuid
             * @description The UUID of the document.
             */
            document_id: string;
            /**
             * Status
             * @description What was done: `updated` is the same text with other metadata.
             * @enum {string}
             */
            status: "created" | "replaced" | "updated" | "unchanged" | "failed";
            /**
             * Chunks
             * @description Number of chunks.
             */
            chunks: number;
            /**
             * Error Code
             * @description Why it failed; null if it did not.
             */
            error_code?: string | null;
        };
        /**
         * DocumentSearchBody
         * @description A search in one knowledge base.
         */
        DocumentSearchBody: {
            /**
             * Query
             * @description What to look for. At most 8000 characters, by the setting max_query_chars.
             */
            query: string;
            /**
             * Top K
             * @description Maximum results. At most 100, by the setting max_top_k.
             * @default 10
             */
            top_k?: number;
            /**
             * Min Score
             * @description Minimum score of a result, from 0 to 1.
             */
            min_score?: number | null;
            /**
             * Metadata
             * @description Keys that the metadata must have, with exactly these values.
             */
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * DocumentsAnswer
         * @description The result of each document, in order.
         */
        DocumentsAnswer: {
            /**
             * Documents
             * @description The result of each document, in order.
             */
            documents: components["schemas"]["DocumentResult"][];
        };
        /**
         * DocumentsBody
         * @description Documents to add.
         */
        DocumentsBody: {
            /**
             * Documents
             * @description Documents to add or to replace. At most 200, by the setting max_documents_per_request.
             */
            documents: components["schemas"]["DocumentBody"][];
        };
        /**
         * EndUserDetails
         * @description Everything that is stored of a person. `summaries`: of sessions and of chats.
         */
        EndUserDetails: {
            /**
             * End User Id
             * @description The person, by the id that captures named.
             */
            end_user_id: string;
            /**
             * First Seen
             * Format: date-time
             * @description When the first session or chat was created.
             */
            first_seen: string;
            /**
             * Last Seen
             * Format: date-time
             * @description When a message was last captured in a session or a chat.
             */
            last_seen: string;
            /**
             * Flows
             * @description Number of flows with a session or a chat of the person.
             */
            flows: number;
            /**
             * Sessions
             * @description Number of sessions.
             */
            sessions: number;
            /**
             * Runs
             * @description Number of runs in the sessions.
             */
            runs: number;
            /**
             * Messages
             * @description Number of messages in the sessions.
             */
            messages: number;
            /**
             * Chats
             * @description Number of chats.
             */
            chats: number;
            /**
             * Chat Messages
             * @description Number of messages in the chats.
             */
            chat_messages: number;
            /**
             * Summaries
             * @description Number of summaries of sessions and chats.
             */
            summaries: number;
            /**
             * Node Executions
             * @description Number of node executions in the sessions.
             */
            node_executions: number;
            /**
             * Memory Uses
             * @description Number of recorded memory uses in the sessions.
             */
            memory_uses: number;
            /**
             * Memories
             * @description The memory bases that hold messages of the person.
             */
            memories: components["schemas"]["HeldView"][];
            /**
             * Chat Memories
             * @description The chat memories that have chats of the person.
             */
            chat_memories: components["schemas"]["ChatsView"][];
        };
        /**
         * EndUserView
         * @description A person. `messages`: in sessions.
         */
        EndUserView: {
            /**
             * End User Id
             * @description The person, by the id that captures named.
             */
            end_user_id: string;
            /**
             * Sessions
             * @description Number of sessions.
             */
            sessions: number;
            /**
             * Chats
             * @description Number of chats.
             */
            chats: number;
            /**
             * Messages
             * @description Number of messages in the sessions.
             */
            messages: number;
            /**
             * Last Seen
             * Format: date-time
             * @description When a message was last captured in a session or a chat.
             */
            last_seen: string;
        };
        /**
         * Erasure
         * @description A receipt: what was deleted from SQL, and how many chunks of it the stores hold according to the ledgers.
         *
         *     `context_messages` were in contexts of node executions; `memory_uses` record what models received; `summaries` are
         *     those of sessions and of chats. `pending_repairs` repairs delete the chunks, one for each memory base and session;
         *     those in `job_ids` are queued, the others follow the active jobs. No search returns any of this from now on.
         *     `message_changes` had the former versions of messages; `restorable_messages` were deleted earlier, one by one;
         *     `standing_statements` were found in the messages, `facts` distilled from them.
         */
        Erasure: {
            /**
             * Sessions
             * @description Number of deleted sessions.
             * @default 0
             */
            sessions?: number;
            /**
             * Runs
             * @description Number of deleted runs.
             * @default 0
             */
            runs?: number;
            /**
             * Messages
             * @description Number of deleted messages.
             * @default 0
             */
            messages?: number;
            /**
             * Node Executions
             * @description Number of deleted node executions.
             * @default 0
             */
            node_executions?: number;
            /**
             * Context Messages
             * @description How many of the messages were in contexts of node executions.
             * @default 0
             */
            context_messages?: number;
            /**
             * Memory Uses
             * @description Number of deleted or redacted records of what models received.
             * @default 0
             */
            memory_uses?: number;
            /**
             * Summaries
             * @description Number of deleted summaries, of sessions and of chats.
             * @default 0
             */
            summaries?: number;
            /**
             * Chunks
             * @description Number of chunks that the ledgers held.
             * @default 0
             */
            chunks?: number;
            /**
             * Pending Repairs
             * @description Number of repairs that delete the chunks.
             * @default 0
             */
            pending_repairs?: number;
            /**
             * Job Ids
             * @description The repairs that are queued; the others follow the active jobs.
             */
            job_ids?: string[];
            /**
             * Chats
             * @description Number of deleted chats.
             * @default 0
             */
            chats?: number;
            /**
             * Chat Messages
             * @description Number of deleted messages of chats.
             * @default 0
             */
            chat_messages?: number;
            /**
             * Message Changes
             * @description Number of deleted records of changes, with former versions of messages.
             * @default 0
             */
            message_changes?: number;
            /**
             * Restorable Messages
             * @description Number of messages that had been deleted one by one and could still be restored.
             * @default 0
             */
            restorable_messages?: number;
            /**
             * Standing Statements
             * @description Number of deleted standing statements.
             * @default 0
             */
            standing_statements?: number;
            /**
             * Facts
             * @description Number of deleted facts that a model had derived from the messages.
             * @default 0
             */
            facts?: number;
        };
        /**
         * ErrorAnswer
         * @description The answer to every request that fails: problem details of RFC 9457, and `error` for programs.
         */
        ErrorAnswer: {
            /**
             * Type
             * @description `urn:memorybase:error:` and the code.
             */
            type: string;
            /**
             * Title
             * @description What the code means; the same for every error with it.
             */
            title: string;
            /**
             * Status
             * @description The HTTP status.
             */
            status: number;
            /**
             * Detail
             * @description The same as `error.message`.
             */
            detail: string;
            /** @description What is wrong, for programs. */
            error: components["schemas"]["ErrorBody"];
        };
        /**
         * ErrorBody
         * @description An error: the `field`, the `value` that was sent, and the `limit` that it broke.
         */
        ErrorBody: {
            /**
             * Code
             * @description Stable code of the error.
             * @enum {string}
             */
            code: "address_refused" | "ambiguous_id" | "bad_request" | "build_active" | "claim_lost" | "collection_missing" | "conflict" | "constraint_violated" | "database_unavailable" | "dimension_mismatch" | "document_busy" | "document_unsupported" | "embedding_failed" | "forbidden" | "headers_too_large" | "idempotency_in_progress" | "idempotency_key_reused" | "ingestion_active" | "internal_error" | "invalid_request" | "key_rotated" | "legal_hold" | "lock_unavailable" | "memory_base_paused" | "memory_base_store" | "message_conflict" | "message_failed" | "method_not_allowed" | "model_preparing" | "model_unavailable" | "name_taken" | "not_found" | "not_ready" | "outside_key_limits" | "overloaded" | "queue_unavailable" | "quota_exceeded" | "quota_full" | "rate_limited" | "request_timeout" | "run_conflict" | "secret_not_stored" | "session_conflict" | "statement_refused" | "summarizer_unavailable" | "summary_rejected" | "text_rejected" | "too_large" | "too_many_bodies" | "too_many_connections" | "unauthorized" | "unavailable" | "vector_rejected" | "vector_store_unavailable" | "webhook_disabled";
            /**
             * Message
             * @description For people; may change.
             */
            message: string;
            /**
             * Field
             * @description Where in the request, such as `messages[3].role`; absent where it does not apply.
             */
            field?: string | null;
            /**
             * Value
             * @description What was sent; never message text.
             */
            value?: string | number | boolean | null;
            /**
             * Limit
             * @description The bound that was broken, or the allowed values.
             */
            limit?: string | number | (string | number)[] | null;
            /**
             * Retryable
             * @description Whether the same request can succeed later.
             */
            retryable: boolean;
            /**
             * Request Id
             * @description The request, as in the header `X-Request-Id`.
             */
            request_id: string;
            /**
             * Details
             * @description More for some codes, such as `existing_id`.
             */
            details?: components["schemas"]["ErrorDetails"];
        };
        /**
         * EventType
         * @description What an endpoint can subscribe to.
         * @enum {string}
         */
        EventType: "job.completed" | "job.failed" | "dead_letter.created" | "memory.mismatch" | "memory.regenerated" | "session.erased" | "retention.expired" | "webhook.test";
        /**
         * ExecutionOutputs
         * @description A node's outputs: its text, and its context (the prompt without the system message, then the answer). Other
         *     fields are stored too.
         */
        ExecutionOutputs: {
            /**
             * Text
             * @description The text that the node returned.
             */
            text?: string | null;
            /**
             * Context
             * @description The messages of the node's model call: the prompt without the system message, then the answer.
             */
            context?: components["schemas"]["SentMessage"][] | null;
            /**
             * Branch
             * @description Tells executions that ran in parallel, with the same index, from each other: the next one reads all of them. Without it only the last one with this index counts.
             */
            branch?: number | string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * FactHit
         * @description A fact about a question. It was derived by a model from the messages `source_message_ids`.
         */
        FactHit: {
            /**
             * Fact Id
             * Format: uuid
             * @description The fact.
             */
            fact_id: string;
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Kind
             * @description Always `fact`.
             * @default fact
             */
            kind?: string;
            /**
             * Derived
             * @description Always true: a model derived it from messages.
             * @default true
             */
            derived?: boolean;
            /**
             * Who
             * @description Whom or what the fact is about.
             */
            who: string;
            /**
             * What
             * @description The fact, in one sentence.
             */
            what: string;
            /**
             * When
             * @description When it holds or happened, as the conversation says it; null if it does not.
             */
            when: string | null;
            /**
             * Said At
             * Format: date-time
             * @description When the newest of its sources was said.
             */
            said_at: string;
            /**
             * Score
             * @description How much it has to do with the question, from 0 to 1.
             */
            score: number;
            /**
             * Source Message Ids
             * @description The messages that it rests on.
             */
            source_message_ids: string[];
        };
        /**
         * FactSearchBody
         * @description A question to find facts for.
         */
        FactSearchBody: {
            /**
             * Query
             * @description The question.
             */
            query: string;
            /**
             * Top K
             * @description Maximum facts.
             * @default 10
             */
            top_k?: number;
            /**
             * Session Id
             * @description Only facts of this session.
             */
            session_id?: string | null;
            /**
             * End User Id
             * @description Only facts from this person's sessions.
             */
            end_user_id?: string | null;
            /**
             * Since
             * @description Only facts whose newest source was said from this time on.
             */
            since?: string | null;
            /**
             * Until
             * @description Only facts whose newest source was said up to this time.
             */
            until?: string | null;
        };
        /**
         * FactSourceView
         * @description A message that a fact rests on.
         */
        FactSourceView: {
            /**
             * Message Id
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /**
             * Version
             * @description The version that the model read.
             */
            version: number;
            /**
             * Seq
             * @description Its position in its session.
             */
            seq: number;
        };
        /**
         * FactView
         * @description A fact that a model derived from messages. `said_at`: when the newest of them was said; `superseded_by`: the
         *     later fact that corrects this one; `corrects`: the earlier ones that this one corrects.
         */
        FactView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * End User Id
             * @description The person that the session or chat belongs to; null if unknown.
             */
            end_user_id: string | null;
            /**
             * Derived
             * @description Always true: a model derived it from messages.
             */
            derived: boolean;
            /**
             * Who
             * @description Whom or what the fact is about.
             */
            who: string;
            /**
             * What
             * @description The fact, in one sentence.
             */
            what: string;
            /**
             * When
             * @description When it holds or happened, as the conversation says it; null if it does not.
             */
            when: string | null;
            /**
             * Said At
             * Format: date-time
             * @description When the newest of its sources was said.
             */
            said_at: string;
            /**
             * Sources
             * @description The messages that it rests on.
             */
            sources: components["schemas"]["FactSourceView"][];
            /**
             * Superseded By
             * @description The later fact that corrects it; null if it holds.
             */
            superseded_by: string | null;
            /**
             * Corrects
             * @description The earlier facts that it corrects.
             */
            corrects: string[];
            /**
             * Model
             * @description The model that derived it.
             */
            model: string;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
        };
        /**
         * FactsDeleted
         * @description How many facts were deleted.
         */
        FactsDeleted: {
            /**
             * Deleted
             * @description Number of deleted facts.
             */
            deleted: number;
        };
        /**
         * FactsFound
         * @description Facts about a question, best first. A model derived them from messages, which each of them names.
         */
        FactsFound: {
            /**
             * Facts
             * @description The facts.
             */
            facts: components["schemas"]["FactHit"][];
        };
        /**
         * Fix
         * @description An action, and the call that takes it: `method`, `path` and `body`, or a `command` to run on the host.
         *
         *     `available`: false while it runs already.
         */
        Fix: {
            /** @description What it does. */
            action: components["schemas"]["FixAction"];
            /**
             * Label
             * @description The text of a button.
             */
            label: string;
            /**
             * Method
             * @description The method of the call; null for a command.
             */
            method?: ("POST" | "PATCH") | null;
            /**
             * Path
             * @description The path of the call; null for a command.
             */
            path?: string | null;
            /**
             * Body
             * @description The body of the call; null without one.
             */
            body?: components["schemas"]["FixBody"] | null;
            /**
             * Command
             * @description A command to run on the host.
             */
            command?: string | null;
            /**
             * Available
             * @description Whether it can be done now.
             * @default true
             */
            available?: boolean;
        };
        /**
         * FixAction
         * @description What ends a problem: a call of the API, a command on the host, or a look.
         * @enum {string}
         */
        FixAction: "rebuild" | "retry" | "sync" | "turn_on" | "resume" | "enable" | "replay" | "run_command";
        /**
         * FlowBody
         * @description A new flow, or its new name.
         */
        FlowBody: {
            /**
             * Name
             * @description The name, for people.
             */
            name: string;
        };
        /**
         * FlowChanges
         * @description The fields of a flow to change.
         */
        FlowChanges: {
            /**
             * Name
             * @description The new name.
             */
            name?: string;
            /**
             * Retain Days
             * @description Days until what was captured is deleted; null: it is kept.
             */
            retain_days?: number | null;
            /**
             * Standing
             * @description Whether contexts contain the end user's standing statements unless the call says otherwise.
             */
            standing?: boolean;
        };
        /**
         * FlowMemory
         * @description A memory base of a flow, with its condition in words.
         */
        FlowMemory: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Name
             * @description The name of the memory base.
             */
            name: string;
            /** @description The same as in the memory base. */
            condition: components["schemas"]["ConditionName"];
            /**
             * Words
             * @description The condition in words.
             */
            words: string;
        };
        /**
         * FlowOverview
         * @description A flow in the window. `delay_median_seconds`: of its latest messages; null if none was ingested.
         */
        FlowOverview: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Name
             * @description The name of the flow.
             */
            name: string;
            /**
             * Runs
             * @description Number of runs.
             */
            runs: number;
            /**
             * Runs By Bucket
             * @description Number of runs in each bucket.
             */
            runs_by_bucket: number[];
            /**
             * Sessions
             * @description Number of sessions with captures.
             */
            sessions: number;
            /**
             * Memories
             * @description Its memory bases.
             */
            memories: components["schemas"]["FlowMemory"][];
            /**
             * Delay Median Seconds
             * @description Median time until its latest messages were searchable; null if none was ingested.
             */
            delay_median_seconds: number | null;
            /**
             * Last Captured At
             * @description When a message was last captured; null if never.
             */
            last_captured_at: string | null;
        };
        /**
         * FlowSearchBody
         * @description A search in every memory base of a flow, in the named ones, or in all; exactly one of the three is given.
         */
        FlowSearchBody: {
            /**
             * Query
             * @description What to look for. At most 8000 characters, by the setting max_query_chars.
             */
            query: string;
            /**
             * Top K
             * @description Maximum results. At most 100, by the setting max_top_k.
             * @default 10
             */
            top_k?: number;
            /**
             * Mode
             * @description `hybrid`; `dense`, vectors alone; or `keyword`, words alone.
             * @default hybrid
             * @enum {string}
             */
            mode?: "hybrid" | "dense" | "keyword";
            /**
             * Session Id
             * @description Only messages of this session.
             */
            session_id?: string | null;
            /**
             * End User Id
             * @description Only messages of this end user's sessions.
             */
            end_user_id?: string | null;
            /**
             * Roles
             * @description Only messages with one of these roles.
             */
            roles?: ("user" | "assistant" | "system" | "tool")[] | null;
            /**
             * Since
             * @description Only messages with a `timestamp` from this time on.
             */
            since?: string | null;
            /**
             * Until
             * @description Only messages with a `timestamp` up to this time.
             */
            until?: string | null;
            /**
             * Metadata
             * @description Keys that the metadata must have, with exactly these values.
             */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /**
             * Min Score
             * @description Minimum score of a result, from 0 to 1.
             */
            min_score?: number | null;
            /**
             * Neighbors
             * @description Number of turns to show before and after each result.
             * @default 0
             */
            neighbors?: number;
            /**
             * Include Pending
             * @description Whether to find messages that are not ingested yet.
             * @default true
             */
            include_pending?: boolean;
            /**
             * Exclude Message Ids
             * @description Messages to leave out: UUIDs or the caller's ids; those of other flows count too.
             */
            exclude_message_ids?: string[];
            /**
             * Explain
             * @description Whether to show how each score was computed, in `parts`.
             * @default false
             */
            explain?: boolean;
            /**
             * Default Weights
             * @description Use the default weights and no half-life instead of the memory base's own.
             * @default false
             */
            default_weights?: boolean;
            /** @description Factors for the parts of each score; null: 1 for each. */
            weights?: components["schemas"]["PartWeightsBody"] | null;
            /**
             * Half Life Days
             * @description After this many days a message has lost a quarter of its score, in the end half; 0: age does not count. Default: as the memory base's own weights say.
             */
            half_life_days?: number | null;
            /**
             * Fold Alike
             * @description Of messages with the same text return only the best, with the number of others in `alike`.
             * @default false
             */
            fold_alike?: boolean;
            /**
             * Corrections
             * @description Rank later statements of the same fact first and say what they correct, in mode `hybrid`. Default: unless the embedding model is behind an endpoint.
             */
            corrections?: boolean | null;
            /**
             * Facts
             * @description Also return facts that a model derived, in `facts`.
             * @default false
             */
            facts?: boolean;
            /**
             * Flow Id
             * @description Search every memory base of this flow: a UUID or the caller's id.
             */
            flow_id?: string | null;
            /**
             * Memory Base Ids
             * @description Memory bases of one flow or of several.
             */
            memory_base_ids?: string[];
            /**
             * All
             * @description Search every memory base, at most 50.
             * @default false
             */
            all?: boolean;
        };
        /**
         * FlowView
         * @description A flow. `external_id` is the id that the caller chose; null if that is a UUID.
         */
        FlowView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID of the flow.
             */
            id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Name
             * @description The name, for people.
             */
            name: string;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Retain Days
             * @description Days until what was captured is deleted; null: it is kept.
             */
            retain_days: number | null;
            /**
             * Standing
             * @description Whether contexts contain the end user's standing statements unless the call says otherwise.
             */
            standing: boolean;
        };
        /**
         * FlushBody
         * @description What to ingest: one session, these sessions, or every session.
         */
        FlushBody: {
            /**
             * Session Id
             * @description The session to ingest; by default every session.
             */
            session_id?: string | null;
            /**
             * Session Ids
             * @description Only these sessions. Not together with `session_id`.
             */
            session_ids?: string[] | null;
        };
        /**
         * FlushResult
         * @description The jobs that a flush queued, the sessions that have one already, and of a list of sessions the others.
         *
         *     `deferred`: how many more sessions are due, whose jobs the sweeper queues.
         */
        FlushResult: {
            /**
             * Jobs
             * @description The queued jobs.
             */
            jobs: components["schemas"]["JobBrief"][];
            /**
             * Conflicts
             * @description Sessions that already have an active job.
             */
            conflicts: components["schemas"]["JobConflict"][];
            /**
             * Skipped
             * @description Of the sessions in `session_ids`: those that need no job.
             */
            skipped?: components["schemas"]["SkippedSession"][];
            /**
             * Deferred
             * @description How many more sessions are due: the sweeper queues their jobs.
             * @default 0
             */
            deferred?: number;
        };
        /**
         * Further
         * @description What a budget larger by `budget` tokens would add: messages that are new or longer, and their tokens.
         */
        Further: {
            /**
             * Budget
             * @description Number of additional tokens.
             */
            budget: number;
            /**
             * History Messages
             * @description Number of messages of history that would be new or longer.
             */
            history_messages: number;
            /**
             * History Tokens
             * @description Tokens of those.
             */
            history_tokens: number;
            /**
             * Recall Messages
             * @description Number of memories that would be new or longer.
             */
            recall_messages: number;
            /**
             * Recall Tokens
             * @description Tokens of those.
             */
            recall_tokens: number;
        };
        /**
         * GivenMemory
         * @description A memory that a model was given. `message` is null if it was deleted; `score` if it was not recorded.
         */
        GivenMemory: {
            /**
             * Message Id
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /**
             * Score
             * @description The score of the memory; null if it was not recorded, or for a message that is shown beside a better one.
             */
            score: number | null;
            /**
             * Edited
             * @description Whether the message was edited since: the model received other text.
             */
            edited: boolean;
            /** @description The message as it is now; null if it was deleted. */
            message: components["schemas"]["MessageView"] | null;
        };
        /**
         * GivenView
         * @description The memory that a node's model was given, best memories first.
         */
        GivenView: {
            /**
             * At
             * Format: date-time
             * @description When the memory was read.
             */
            at: string;
            /**
             * Query
             * @description What was looked for; null if nothing was.
             */
            query: string | null;
            /**
             * Verdict
             * @description What recall brought: `not_asked`, nothing was looked for; `nothing_found`; or by the best score `did_not_help`, `may_help` or `fits`.
             * @enum {string}
             */
            verdict: "not_asked" | "nothing_found" | "did_not_help" | "may_help" | "fits";
            /**
             * Best Score
             * @description The best score of the memories; null without one.
             */
            best_score: number | null;
            /** @description Tokens of the view, by where they come from. */
            tokens: components["schemas"]["TokensByKind"];
            /**
             * Total Tokens
             * @description Tokens of the view.
             */
            total_tokens: number;
            /**
             * Budget
             * @description Maximum tokens of the view; null without a limit.
             */
            budget: number | null;
            /**
             * Memories
             * @description The recalled memories, best first.
             */
            memories: components["schemas"]["GivenMemory"][];
            /**
             * Left Out
             * @description Messages that the view left out, by reason.
             */
            left_out: components["schemas"]["LeftOut"][];
            /**
             * Flags
             * @description What else there is to know, such as `gap` or `broken_link`.
             */
            flags: string[];
            /**
             * Degraded
             * @description Parts that were unavailable, such as `recall`; the rest is complete.
             */
            degraded: string[];
        };
        /**
         * HeldView
         * @description A memory base and how many of the person's messages it holds.
         */
        HeldView: {
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /**
             * Name
             * @description The name of the memory base.
             */
            name: string;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Messages
             * @description Number of the person's messages that it holds.
             */
            messages: number;
        };
        /**
         * HistoryAnswer
         * @description A view; in mode node with the execution that it was read from.
         */
        HistoryAnswer: {
            /**
             * Messages
             * @description Messages that can go to a model unchanged.
             */
            messages: components["schemas"]["ViewMessage"][];
            /**
             * Sources
             * @description Where each message comes from, parallel to `messages`.
             */
            sources: components["schemas"]["Source"][];
            /**
             * Text
             * @description The same content as a transcript.
             */
            text: string;
            /** @description What happened to the log. */
            report: components["schemas"]["Report"];
            /**
             * Execution Id
             * @description In mode `node`: the execution that the view was read from; null if the node has not succeeded yet.
             */
            execution_id?: string | null;
        };
        /**
         * HistoryBody
         * @description The history to read: of a session, or of one node in it.
         */
        HistoryBody: {
            /**
             * Flow Id
             * @description The flow: a UUID or the caller's id.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Mode
             * @description `conversation` reads the session, `node` the context of one node.
             * @default conversation
             * @enum {string}
             */
            mode?: "conversation" | "node";
            /**
             * Node Id
             * @description The node whose history to read; required in mode node.
             */
            node_id?: string | null;
            /**
             * Leaf Id
             * @description Last message of the thread; default: the newest message.
             */
            leaf_id?: string | null;
            /**
             * Message Limit
             * @description Maximum turns; 0: unlimited.
             */
            message_limit?: number | null;
            /**
             * Max Tokens
             * @description Maximum tokens, in whole turns.
             * @default 2000
             */
            max_tokens?: number;
            /** @description Prefixes of the lines in `text`. */
            role_prefix?: components["schemas"]["RolePrefix"] | null;
            /**
             * On Missing
             * @description What a missing session or node execution is: an empty view or 404.
             * @default empty
             * @enum {string}
             */
            on_missing?: "empty" | "error";
            /**
             * Unanswered
             * @description Whether a question at the end that has no answer yet is part of the history. Only without run_id.
             * @default drop
             * @enum {string}
             */
            unanswered?: "drop" | "keep";
            /**
             * Format
             * @description Format of `messages`: `openai` or `langchain`; `text` if only `text` is read.
             * @default openai
             * @enum {string}
             */
            format?: "openai" | "langchain" | "text";
            /**
             * Model
             * @description Model that counts tokens, by the setting token_counters.
             */
            model?: string | null;
            /**
             * Run Id
             * @description The current run; its own messages are left out.
             */
            run_id?: string | null;
            /**
             * Execution Id
             * @description In mode node: the current execution in run_id. If an earlier attempt reported it, it and later executions of the node in this run are left out.
             */
            execution_id?: string | null;
            /**
             * Index
             * @description The current execution by its index, if each attempt has another id.
             */
            index?: number | null;
        };
        /**
         * Hit
         * @description A found message. `pending`: the serving generation does not hold it yet, or holds an older version.
         *
         *     `alike`: how many other messages with the same text are folded into it, if the request asks for that.
         *     `snippet` is the passage that matched, `text[snippet_start:snippet_end]` of the message. `before` and `after` are
         *     the turns around it as dicts, in conversation order. `parts` explains the score; null unless requested. `pinned`
         *     results come first if they are relevant. `corrects` and `corrected_by` name an earlier and a later message that says
         *     something else about what the query asks for.
         */
        Hit: {
            /**
             * Message Id
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID.
             */
            run_id: string;
            /**
             * Seq
             * @description Number of the message in its session or chat, in commit order.
             */
            seq: number;
            /**
             * Role
             * @description Who speaks.
             */
            role: string;
            /**
             * Sender Name
             * @description The speaker's name, for display.
             */
            sender_name: string | null;
            /**
             * Content
             * @description The content of the message.
             */
            content: (string | components["schemas"]["ContentPart"][]) | null;
            /**
             * Snippet
             * @description The matching passage: whole sentences.
             */
            snippet: string;
            /**
             * Snippet Start
             * @description Where the passage begins in the message's text, in characters.
             */
            snippet_start: number;
            /**
             * Snippet End
             * @description Where the passage ends.
             */
            snippet_end: number;
            /**
             * Timestamp
             * Format: date-time
             * @description When the message was written, for display and filters. `seq` decides the order.
             */
            timestamp: string;
            /**
             * Score
             * @description From 0 to 1, higher is better; null if nothing was searched.
             */
            score: number;
            /**
             * Pending
             * @description Whether the message, or its newest version, is not ingested yet.
             */
            pending: boolean;
            /**
             * Metadata
             * @description The metadata of the message.
             */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * Before
             * @description The turns before the message, in conversation order; see `neighbors`.
             */
            before?: components["schemas"]["Turn"][];
            /**
             * After
             * @description The turns after the message, in conversation order.
             */
            after?: components["schemas"]["Turn"][];
            /**
             * Parts
             * @description How the score was computed; null unless `explain` was set.
             */
            parts?: components["schemas"]["ScoreParts"] | null;
            /**
             * Alike
             * @description Number of other messages with the same text that are folded into this result, with `fold_alike`.
             * @default 0
             */
            alike?: number;
            /**
             * Pinned
             * @description Whether the message is pinned: it comes first if it is relevant.
             * @default false
             */
            pinned?: boolean;
            /** @description An earlier message that says something else about what the query asks for: this result is the later one. */
            corrects?: components["schemas"]["CorrectionOf"] | null;
            /** @description A later message that says something else about what the query asks for. */
            corrected_by?: components["schemas"]["CorrectionOf"] | null;
            /**
             * Superseded By
             * @description The later message that holds in place of this one: that of `corrected_by`, unless it is a denial; null for most results.
             */
            superseded_by?: string | null;
        };
        /**
         * HoldBody
         * @description What to hold: a flow, one session of it, or an end user in all flows.
         */
        HoldBody: {
            /**
             * Flow Id
             * @description The flow: a UUID or the caller's id. Not together with `end_user_id`.
             */
            flow_id?: string | null;
            /**
             * Session Id
             * @description One session of the flow; by default the whole flow.
             */
            session_id?: string | null;
            /**
             * End User Id
             * @description The person whose sessions and chats are held, in all flows, future ones too.
             */
            end_user_id?: string | null;
            /**
             * Reason
             * @description Why, for people.
             */
            reason?: string | null;
        };
        /**
         * HoldView
         * @description A legal hold on a flow, on one session of it, or on an end user in all flows. Nothing that it keeps is deleted.
         *     `placed_by`: the name of the API key.
         */
        HoldView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Flow Id
             * @description The held flow, or that of the held session; null for an end user.
             */
            flow_id: string | null;
            /**
             * Session Id
             * @description The held session, by its present id; null for a flow or an end user.
             */
            session_id: string | null;
            /**
             * End User Id
             * @description The held end user; null for a flow or a session.
             */
            end_user_id: string | null;
            /**
             * Reason
             * @description Why, for people.
             */
            reason: string | null;
            /**
             * Placed By
             * @description The name of the API key.
             */
            placed_by: string | null;
            /**
             * Placed At
             * Format: date-time
             * @description When it was placed.
             */
            placed_at: string;
        };
        /**
         * ImportAnswer
         * @description How many lines of each type were read, and how many messages were new.
         */
        ImportAnswer: {
            /**
             * Lines
             * @description Number of lines that were read.
             * @default 0
             */
            lines?: number;
            /**
             * Flows
             * @description Number of lines of flows.
             * @default 0
             */
            flows?: number;
            /**
             * Sessions
             * @description Number of lines of sessions.
             * @default 0
             */
            sessions?: number;
            /**
             * Runs
             * @description Number of lines of runs.
             * @default 0
             */
            runs?: number;
            /** @description Messages that were new, known or deleted earlier. */
            messages?: components["schemas"]["MessageTally"];
            /**
             * Chat Memories
             * @description Number of chat memories.
             * @default 0
             */
            chat_memories?: number;
            /** @description Messages of chats that were new, known or deleted earlier. */
            chat_messages?: components["schemas"]["MessageTally"];
            /** @description Node executions that were new or known. */
            node_executions?: components["schemas"]["Tally"];
            /** @description Records of memory use that were new or known. */
            memory_uses?: components["schemas"]["Tally"];
        };
        /**
         * Ingestion
         * @description Messages in one memory base. The times are of the jobs that ingested them; null for a step that has not ended,
         *     or whose job is not known.
         */
        Ingestion: {
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /**
             * Memory Base Name
             * @description The name of the memory base.
             */
            memory_base_name: string;
            /** @description Whether searches by meaning find the messages: `searchable`; `updating`, they find them and edits follow; `ingesting`, a job runs or is due; `waiting`, below the threshold; `failed`, at least one cannot be embedded; `lost`, the memory base lost vectors; `skipped`, older than the memory base; `not_counted`, it captures others. */
            state: components["schemas"]["Coverage"];
            /**
             * Messages
             * @description Number of messages that the memory base counts.
             */
            messages: number;
            /**
             * Searchable
             * @description How many of them it holds.
             */
            searchable: number;
            /**
             * Failed
             * @description How many of them could not be embedded.
             */
            failed: number;
            /**
             * Chunks
             * @description Number of chunks.
             */
            chunks: number;
            /**
             * Error
             * @description Why the last of those could not be embedded; null without one.
             */
            error: string | null;
            /**
             * Pending
             * @description While they wait: counted messages of the session toward the threshold.
             */
            pending: number;
            /**
             * Threshold
             * @description Counted messages of a session that start an ingestion.
             */
            threshold: number;
            /**
             * Auto Capture
             * @description Whether they start it. If false, only a flush does.
             */
            auto_capture: boolean;
            /**
             * Job Id
             * @description The last job that ingested them; null without one.
             */
            job_id: string | null;
            /**
             * Attempts
             * @description How many attempts were made.
             */
            attempts: number;
            /**
             * Captured At
             * @description When the last of them was stored. Searches by words find them from then on.
             */
            captured_at: string | null;
            /**
             * Queued At
             * @description When the first job was inserted.
             */
            queued_at: string | null;
            /**
             * Started At
             * @description When a worker claimed it.
             */
            started_at: string | null;
            /**
             * Embedding At
             * @description When embedding began.
             */
            embedding_at: string | null;
            /**
             * Embedded At
             * @description When embedding ended.
             */
            embedded_at: string | null;
            /**
             * Written At
             * @description When the chunks were written and read back.
             */
            written_at: string | null;
            /**
             * Searchable At
             * @description When searches by meaning found all of them; null before.
             */
            searchable_at: string | null;
            /**
             * Searchable After Ms
             * @description Milliseconds from `captured_at` to `searchable_at`.
             */
            searchable_after_ms: number | null;
        };
        /**
         * IngestionState
         * @description The effect of a capture on one memory base. `pending_capped`: at least `pending_messages` are pending.
         */
        IngestionState: {
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /**
             * Pending Messages
             * @description Number of pending messages.
             */
            pending_messages: number;
            /**
             * Pending Capped
             * @description Whether `pending_messages` is only a lower bound.
             */
            pending_capped: boolean;
            /**
             * Job Id
             * @description The active job of the session; null if there is none.
             */
            job_id: string | null;
        };
        /**
         * JobAction
         * @description retry: run what waits after an outage now. cancel: its messages wait for the next trigger or flush.
         * @enum {string}
         */
        JobAction: "retry" | "cancel";
        /**
         * JobActionBody
         * @description What to do, and with which jobs: those that match every field.
         */
        JobActionBody: {
            /** @description `retry`: run what waits after an outage now. `cancel`: end queued and running jobs; their messages stay pending. */
            action: components["schemas"]["JobAction"];
            /**
             * Ids
             * @description These jobs.
             */
            ids?: string[] | null;
            /**
             * Memory Base Id
             * @description Only jobs of this memory base.
             */
            memory_base_id?: string | null;
            /**
             * Flow Id
             * @description Only jobs of this flow: its id, or yours.
             */
            flow_id?: string | null;
            /**
             * Session Id
             * @description Only jobs of this session.
             */
            session_id?: string | null;
            /**
             * Error Code
             * @description Only jobs whose last attempt ended with this error code.
             */
            error_code?: string | null;
            /**
             * Since
             * @description Only jobs created then or later.
             */
            since?: string | null;
            /**
             * Until
             * @description Only jobs created then or earlier.
             */
            until?: string | null;
            /**
             * Dry Run
             * @description Count what matches and change nothing.
             * @default false
             */
            dry_run?: boolean;
            /**
             * Limit
             * @description At most so many, oldest first.
             * @default 200
             */
            limit?: number;
        };
        /**
         * JobBrief
         * @description A queued job; GET /jobs/{id} shows the rest.
         */
        JobBrief: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /** @description The state. */
            state: components["schemas"]["JobState"];
        };
        /**
         * JobConflict
         * @description A session that a flush left to its active job.
         */
        JobConflict: {
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Job Id
             * Format: uuid
             * @description The active job.
             */
            job_id: string;
            /**
             * State
             * @description The state of the job.
             */
            state: string;
        };
        /**
         * JobKind
         * @description What a job does.
         * @enum {string}
         */
        JobKind: "ingest" | "regenerate" | "repair";
        /**
         * JobResult
         * @description What an action did with a job: `reason` says why it left it alone, null if it took it.
         */
        JobResult: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Memory Base Id
             * @description The memory base.
             */
            memory_base_id: string | null;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string | null;
            /** @description Why the action left the job alone; null if it took it. `not_found`: it does not exist. `ended`: it is done or cancelled, or a worker or another call was first. `running`: a worker has it. `due`: it waits for a worker only. `replaced`: it failed, and other jobs took its messages. `repair`: the store must match the messages. `build`: it belongs to a regenerate. */
            reason: components["schemas"]["JobSkipReason"] | null;
        };
        /**
         * JobResults
         * @description A result for each job; `remaining` more match the filter.
         *
         *     `taken`: how many were retried or cancelled; with `dry_run` how many would be, in as many calls as it takes.
         *     `skipped`: how many were not, by reason.
         */
        JobResults: {
            /** @description The action. */
            action: components["schemas"]["JobAction"];
            /**
             * Results
             * @description A result for each job; empty after a dry run.
             */
            results: components["schemas"]["JobResult"][];
            /**
             * Remaining
             * @description How many more match. 0 if the request named ids.
             */
            remaining: number;
            /**
             * Taken
             * @description How many the action took; after a dry run how many it would take, in as many calls as that needs.
             */
            taken: number;
            /**
             * Skipped
             * @description How many it left alone, by reason: those of the results; of dead letters `retrying` (a repair retries them already) and `not_found`.
             */
            skipped: {
                [key: string]: number;
            };
            /**
             * Dry Run
             * @description Whether nothing was changed.
             */
            dry_run: boolean;
        };
        /**
         * JobSkipReason
         * @description Why an action left a job alone.
         *
         *     not_found: it does not exist. ended: it is done or cancelled, or a worker or another call was first. running: a
         *     worker has it. due: it waits for a worker only. replaced: it failed, and other jobs took its messages. repair: the
         *     store must match the messages. build: cancelling it abandons the regenerate, which DELETE /jobs/{id} does.
         * @enum {string}
         */
        JobSkipReason: "not_found" | "ended" | "running" | "due" | "replaced" | "repair" | "build";
        /**
         * JobState
         * @description Where a job is; `done`, `failed` and `cancelled` are its ends.
         * @enum {string}
         */
        JobState: "queued" | "running" | "done" | "failed" | "cancelled";
        /**
         * JobView
         * @description A job: it ingests the messages of one session in (from_seq, to_seq].
         */
        JobView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /** @description What the job does. */
            kind: components["schemas"]["JobKind"];
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /**
             * Memory Base Name
             * @description The name of the memory base.
             */
            memory_base_name: string;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow of the session.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /** @description The state. */
            state: components["schemas"]["JobState"];
            /**
             * From Seq
             * @description The seq before the first message of the job.
             */
            from_seq: number;
            /**
             * To Seq
             * @description The seq of the last message of the job.
             */
            to_seq: number;
            /**
             * Processed
             * @description Number of messages that are done.
             */
            processed: number;
            /**
             * Total
             * @description Number of messages in the job.
             */
            total: number;
            /**
             * Attempts
             * @description How many attempts were made.
             */
            attempts: number;
            /**
             * Error
             * @description Code of the last error; null without one.
             */
            error: string | null;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Started At
             * @description When a worker first claimed it; null before.
             */
            started_at: string | null;
            /**
             * Finished At
             * @description When it ended; null before.
             */
            finished_at: string | null;
        };
        /**
         * KeyAnswer
         * @description An API key, without its secret.
         */
        KeyAnswer: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Name
             * @description The name, for people.
             */
            name: string;
            /**
             * Prefix
             * @description The first characters of the secret, to recognize the key by.
             */
            prefix: string;
            /**
             * Scopes
             * @description What the key allows.
             */
            scopes: string[];
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Expires At
             * @description When the key stops working; null if never.
             */
            expires_at: string | null;
            /**
             * Last Used At
             * @description When the key was last used; null if never.
             */
            last_used_at: string | null;
            /**
             * Flow Ids
             * @description The only flows of the key; null for all.
             */
            flow_ids: string[] | null;
            /**
             * End User Id
             * @description The only end user of the key; null for all.
             */
            end_user_id: string | null;
            /**
             * Rotated To
             * @description The key that replaces this one; null if none does.
             */
            rotated_to: string | null;
            /** @description The quotas that were set for the key. */
            quotas: components["schemas"]["KeyQuotas"];
        };
        /**
         * KeyBody
         * @description A new API key.
         */
        KeyBody: {
            /**
             * Name
             * @description The name, for people.
             */
            name: string;
            /**
             * Scopes
             * @description What the key allows: `read`, `write`, `admin`.
             */
            scopes: ("read" | "write" | "admin")[];
            /**
             * Expires At
             * @description When the key stops working; by default never.
             */
            expires_at?: string | null;
            /**
             * Flow Ids
             * @description Limit the key to these flows, each a UUID or the caller's id; by default it reaches all.
             */
            flow_ids?: string[] | null;
            /**
             * End User Id
             * @description Limit the key to this end user; by default it reaches all.
             */
            end_user_id?: string | null;
            /** @description What the key may use; by default what the settings say. */
            quotas?: components["schemas"]["QuotasBody"] | null;
        };
        /**
         * KeyQuotas
         * @description The quotas that were set for a key; null: the default of the settings. GET /usage has the limits that hold.
         */
        KeyQuotas: {
            /**
             * Messages Per Day
             * @description New messages a day in UTC, captured or of chats; null: the default of the settings.
             */
            messages_per_day?: number | null;
            /**
             * Stored Messages
             * @description Messages stored now, captured or of chats; null: the default of the settings.
             */
            stored_messages?: number | null;
            /**
             * Searches Per Minute
             * @description Searches a minute, and contexts with a query; null: the default of the settings.
             */
            searches_per_minute?: number | null;
            /**
             * End Users
             * @description End users that something is stored of; null: the default of the settings.
             */
            end_users?: number | null;
        };
        /**
         * KnowledgeBaseBody
         * @description A new ordinary knowledge base.
         */
        KnowledgeBaseBody: {
            /**
             * Name
             * @description The name; unique for the user.
             */
            name: string;
            /**
             * Embedding Model
             * @description An allowed embedding model; by default the one of the settings.
             */
            embedding_model?: string | null;
        };
        /**
         * KnowledgeBaseView
         * @description A knowledge base in the list. `documents`: for a memory base, the messages in its serving ledger.
         *
         *     status: pending while a memory base has messages to ingest, or an ordinary one has no collection yet.
         */
        KnowledgeBaseView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Name
             * @description The name, for people.
             */
            name: string;
            /**
             * Is Memory Base
             * @description Whether it belongs to a memory base, which alone writes to it.
             */
            is_memory_base: boolean;
            /**
             * Memory Base Id
             * @description Its memory base; null for an ordinary knowledge base.
             */
            memory_base_id: string | null;
            /**
             * Embedding Model
             * @description The embedding model, by name.
             */
            embedding_model: string;
            /**
             * Documents
             * @description Number of documents; for a memory base, of messages in the serving ledger.
             */
            documents: number;
            /**
             * Status
             * @description Whether it is ready, being built or being deleted.
             * @enum {string}
             */
            status: "ready" | "pending" | "regenerating" | "deleting";
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
        };
        /**
         * LabelBody
         * @description A judgement of a message as an answer to a question.
         */
        LabelBody: {
            /**
             * Message Id
             * @description The message: a UUID or the caller's id.
             */
            message_id: string;
            /**
             * Query
             * @description The question, as it was searched. At most 8000 characters, by the setting max_query_chars.
             */
            query: string;
            /**
             * Right
             * @description Whether the message answers the question.
             */
            right: boolean;
            /**
             * Flow Id
             * @description Its flow, if several flows have this message id.
             */
            flow_id?: string | null;
            /**
             * Session Id
             * @description The question was asked of this session only; null: of all.
             */
            session_id?: string | null;
            /**
             * End User Id
             * @description The question was asked of this end user's sessions only; null: of all.
             */
            end_user_id?: string | null;
            /**
             * Settings
             * @description Settings of the search that found the message: any JSON object.
             */
            settings?: {
                [key: string]: unknown;
            };
        };
        /**
         * LabelView
         * @description A message marked as right or wrong for a question.
         *
         *     `message_version` was judged, `current_version` is the message's now. `marked_by`: the name of the API key.
         */
        LabelView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Message Id
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /**
             * Message External Id
             * @description The message's id that the caller chose; null if that is a UUID.
             */
            message_external_id: string | null;
            /**
             * Message Version
             * @description The version of the message that was judged.
             */
            message_version: number;
            /**
             * Current Version
             * @description The version of the message now.
             */
            current_version: number;
            /**
             * Query
             * @description The question, as it was searched.
             */
            query: string;
            /**
             * Session Id
             * @description The question was asked of this session only; null: of all.
             */
            session_id: string | null;
            /**
             * End User Id
             * @description The question was asked of this end user's sessions only; null: of all.
             */
            end_user_id: string | null;
            /**
             * Settings
             * @description Settings of the search that found the message: any JSON object.
             */
            settings: {
                [key: string]: unknown;
            };
            /**
             * Right
             * @description Whether the message answers the question.
             */
            right: boolean;
            /**
             * Marked By
             * @description The name of the API key; null if it was deleted.
             */
            marked_by: string | null;
            /**
             * Marked At
             * Format: date-time
             * @description When it was marked.
             */
            marked_at: string;
        };
        /**
         * LatestRun
         * @description A run. `question` and `answer`: the last ones, shortened.
         *
         *     `memories` and `tokens`: recalled for its nodes, null if nothing was recorded. `pending` of `threshold` messages of
         *     its session are captured while it waits.
         */
        LatestRun: {
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID.
             */
            run_id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Flow Name
             * @description The name of the flow.
             */
            flow_name: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Question
             * @description The user's last message in it, shortened; null without one.
             */
            question: string | null;
            /**
             * Answer
             * @description The assistant's last message in it, shortened; null without one.
             */
            answer: string | null;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /** @description Whether searches by meaning find its messages. `lost`: a memory base that holds them has lost vectors. `failed`: one could not be embedded. `working`: ingestion is due. `waiting`: its session is below the threshold. `history`: no memory base counts them. */
            state: components["schemas"]["RunState"];
            /**
             * Searchable After Seconds
             * @description Time from the run until all its messages were searchable; null before.
             */
            searchable_after_seconds: number | null;
            /**
             * Pending
             * @description Pending messages of its session while it waits.
             */
            pending: number | null;
            /**
             * Threshold
             * @description The threshold that they wait for; null if only a flush ingests them.
             */
            threshold: number | null;
            /**
             * Memories
             * @description Number of memories that its nodes were given; null if nothing was recorded.
             */
            memories: number | null;
            /**
             * Tokens
             * @description Number of tokens of these memories.
             */
            tokens: number | null;
        };
        /**
         * LeftOut
         * @description How many messages a view left out for one reason.
         */
        LeftOut: {
            /**
             * Reason
             * @description Why, such as `limit` or `summarised`.
             */
            reason: string;
            /**
             * Messages
             * @description Number of messages.
             */
            messages: number;
        };
        /**
         * Liveness
         * @description The process answers.
         */
        Liveness: {
            /**
             * Status
             * @description Always `ok`.
             * @default ok
             * @constant
             */
            status?: "ok";
            /**
             * Version
             * @description The version of the server.
             */
            version: string;
        };
        /**
         * MapClusterView
         * @description A group of near messages. `label`: the words that set it apart; empty if none does.
         */
        MapClusterView: {
            /**
             * Cluster
             * @description The number of the cluster, the largest first.
             */
            cluster: number;
            /**
             * Label
             * @description Up to three words that its messages have and others do not; empty if no word stands out.
             */
            label: string;
            /**
             * Points
             * @description How many of the points it has.
             */
            points: number;
        };
        /**
         * MapPointView
         * @description A message on the map. `speaker`: its sender's name, else its role.
         */
        MapPointView: {
            /**
             * Message Id
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /**
             * X
             * @description Along the direction in which the messages differ most.
             */
            x: number;
            /**
             * Y
             * @description Along the next direction.
             */
            y: number;
            /**
             * Cluster
             * @description The cluster that it belongs to.
             */
            cluster: number;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Role
             * @description Who speaks.
             */
            role: string;
            /**
             * Speaker
             * @description Who speaks: the sender's name, else the role.
             */
            speaker: string;
            /**
             * Timestamp
             * Format: date-time
             * @description When the message was written, for display and filters. `seq` decides the order.
             */
            timestamp: string;
        };
        /**
         * MapQuestionView
         * @description Where a question is.
         */
        MapQuestionView: {
            /**
             * X
             * @description As of a point.
             */
            x: number;
            /**
             * Y
             * @description As of a point.
             */
            y: number;
        };
        /**
         * MapState
         * @description The first of these that is true, from the top down.
         * @enum {string}
         */
        MapState: "too_few" | "unavailable" | "computing" | "none" | "stale" | "ready";
        /**
         * MapView
         * @description A memory base's map. While another one is computed, or fails, the last one is shown.
         *
         *     `added`, `removed`, `edited`: messages that changed since `as_of`. `messages`: what the memory base holds now.
         *     `shown`: how many of them have a point, also where the points themselves are left out.
         */
        MapView: {
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /** @description `too_few`: fewer than `min_messages` are ingested; `unavailable`: the last attempt failed and is repeated; `computing`; `none`: not computed yet, or the memory base was regenerated since; `stale`: messages changed since; `ready`. */
            state: components["schemas"]["MapState"];
            /**
             * Progress
             * @description While it is computed: percent.
             */
            progress: number | null;
            /**
             * Error
             * @description If it is unavailable: the code of the error.
             */
            error: string | null;
            /**
             * Failing Since
             * @description If it is unavailable: when the first of the failed attempts was.
             */
            failing_since: string | null;
            /**
             * Messages
             * @description How many messages the memory base holds now.
             */
            messages: number;
            /**
             * Min Messages
             * @description So many messages are needed for a map.
             */
            min_messages: number;
            /**
             * Computed At
             * @description When the map was computed; null without one.
             */
            computed_at: string | null;
            /**
             * As Of
             * @description Messages that were ingested later are not on the map.
             */
            as_of: string | null;
            /**
             * Mapped Messages
             * @description How many messages the memory base held then. Of more than 5,000 a sample is on the map.
             */
            mapped_messages: number;
            /**
             * Added
             * @description How many messages were ingested since.
             */
            added: number;
            /**
             * Removed
             * @description How many messages were removed since.
             */
            removed: number;
            /**
             * Edited
             * @description How many messages on the map were edited since. They keep their places until the next map.
             */
            edited: number;
            /**
             * Explained
             * @description The share of all differences between the messages that two dimensions show, from 0 to 1.
             */
            explained: number | null;
            /**
             * Shown
             * @description How many messages have a point.
             */
            shown: number;
            /**
             * Points
             * @description The messages on the map, by cluster, from the middle of a cluster outwards.
             */
            points: components["schemas"]["MapPointView"][];
            /**
             * Clusters
             * @description The clusters of near messages.
             */
            clusters: components["schemas"]["MapClusterView"][];
            /** @description Where the question is; null without a question or a map. */
            question: components["schemas"]["MapQuestionView"] | null;
        };
        /**
         * MemoryBaseBody
         * @description A new memory base. `id`, `user_id` and `created_at` are accepted and ignored.
         */
        MemoryBaseBody: {
            /**
             * Threshold
             * @description Number of pending messages in a session that starts its ingestion. At most 10000, by the setting max_threshold.
             * @default 50
             */
            threshold?: number;
            /**
             * Kb Name
             * @description The name of its knowledge base; by default `name`. Unique for the user.
             */
            kb_name?: string | null;
            /**
             * Auto Capture
             * @description Whether captures start ingestion. If false, only a flush does.
             * @default true
             */
            auto_capture?: boolean;
            /**
             * @description Which messages count toward the threshold and are embedded.
             * @default outputs
             */
            capture?: components["schemas"]["Capture"];
            /**
             * Idle After
             * @description Seconds without a capture until a session is ingested; 0: off.
             */
            idle_after?: number | null;
            /**
             * Start
             * @description Messages captured before: pending until the session's next trigger or a flush (beginning), skipped (now), or scheduled for ingestion at once (all).
             * @default beginning
             * @enum {string}
             */
            start?: "beginning" | "now" | "all";
            /**
             * Embedding Model
             * @description An allowed embedding model; by default the one of the settings.
             */
            embedding_model?: string | null;
            /**
             * Vector Store
             * @description Where its vectors are stored; by default the store of the settings.
             */
            vector_store?: ("chroma" | "pgvector") | null;
            /**
             * Retain Days
             * @description Days until the knowledge base forgets what was captured; the conversation stays. Null: nothing is forgotten.
             */
            retain_days?: number | null;
            /**
             * @description How large its share of the workers is, compared with other memory bases: `low`, `normal` or `high`.
             * @default normal
             */
            priority?: components["schemas"]["Priority"];
            /**
             * Name
             * @description The name; unique for the user.
             */
            name: string;
            /**
             * Flow Id
             * @description The flow with the messages: a UUID or the caller's id.
             */
            flow_id: string;
        };
        /**
         * MemoryBaseChanges
         * @description The fields of a memory base to change.
         */
        MemoryBaseChanges: {
            /**
             * Name
             * @description The name, for people.
             */
            name?: string;
            /**
             * Threshold
             * @description At most 10000, by the setting max_threshold.
             */
            threshold?: number;
            /**
             * Auto Capture
             * @description Whether captures start ingestion. If false, only a flush does.
             */
            auto_capture?: boolean;
            /**
             * Idle After
             * @description Seconds without a capture until a session's pending messages are ingested; 0: off.
             */
            idle_after?: number;
            /**
             * Paused
             * @description Whether its ingestion is held back. Resumed, it ingests what is due within seconds.
             */
            paused?: boolean;
            /** @description How large its share of the workers is, compared with other memory bases: `low`, `normal` or `high`. */
            priority?: components["schemas"]["Priority"];
            /**
             * Retain Days
             * @description Days until the knowledge base forgets what was captured; the conversation stays. Null: nothing is forgotten.
             */
            retain_days?: number | null;
        };
        /**
         * MemoryBaseSettings
         * @description The settings of a memory base that is created.
         */
        MemoryBaseSettings: {
            /**
             * Threshold
             * @description Number of pending messages in a session that starts its ingestion. At most 10000, by the setting max_threshold.
             * @default 50
             */
            threshold?: number;
            /**
             * Kb Name
             * @description The name of its knowledge base; by default `name`. Unique for the user.
             */
            kb_name?: string | null;
            /**
             * Auto Capture
             * @description Whether captures start ingestion. If false, only a flush does.
             * @default true
             */
            auto_capture?: boolean;
            /**
             * @description Which messages count toward the threshold and are embedded.
             * @default outputs
             */
            capture?: components["schemas"]["Capture"];
            /**
             * Idle After
             * @description Seconds without a capture until a session is ingested; 0: off.
             */
            idle_after?: number | null;
            /**
             * Start
             * @description Messages captured before: pending until the session's next trigger or a flush (beginning), skipped (now), or scheduled for ingestion at once (all).
             * @default beginning
             * @enum {string}
             */
            start?: "beginning" | "now" | "all";
            /**
             * Embedding Model
             * @description An allowed embedding model; by default the one of the settings.
             */
            embedding_model?: string | null;
            /**
             * Vector Store
             * @description Where its vectors are stored; by default the store of the settings.
             */
            vector_store?: ("chroma" | "pgvector") | null;
            /**
             * Retain Days
             * @description Days until the knowledge base forgets what was captured; the conversation stays. Null: nothing is forgotten.
             */
            retain_days?: number | null;
            /**
             * @description How large its share of the workers is, compared with other memory bases: `low`, `normal` or `high`.
             * @default normal
             */
            priority?: components["schemas"]["Priority"];
        };
        /**
         * MemoryBaseStatus
         * @description What is going on: the first of these that is true, from the bottom up.
         * @enum {string}
         */
        MemoryBaseStatus: "ready" | "pending" | "paused" | "ingesting" | "regenerating" | "unavailable" | "deleting";
        /**
         * MemoryBaseView
         * @description A memory base and its progress. `pending_capped`: `pending_messages` is a lower bound.
         */
        MemoryBaseView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Name
             * @description The name; unique for the user.
             */
            name: string;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * User Id
             * Format: uuid
             * @description The user that owns it.
             */
            user_id: string;
            /**
             * Kb Name
             * @description The name of its knowledge base; unique for the user.
             */
            kb_name: string;
            /**
             * Threshold
             * @description Number of pending messages in a session that starts its ingestion.
             */
            threshold: number;
            /**
             * Auto Capture
             * @description Whether captures start ingestion. If false, only a flush does.
             */
            auto_capture: boolean;
            /** @description Which messages count toward the threshold and are embedded. */
            capture: components["schemas"]["Capture"];
            /**
             * Idle After
             * @description Seconds without a capture until a session's pending messages are ingested; 0: off.
             */
            idle_after: number;
            /**
             * Retain Days
             * @description Days until the knowledge base forgets what was captured; the conversation stays. Null: nothing is forgotten.
             */
            retain_days: number | null;
            /**
             * Embedding Model
             * @description The embedding model, by name.
             */
            embedding_model: string;
            /**
             * Vector Store
             * @description Where the vectors of the serving generation are stored.
             * @enum {string}
             */
            vector_store: "chroma" | "pgvector";
            /**
             * Vector Server
             * @description The server that has them, by the name of its part in GET /health/ready: one of several Chroma servers, or the same as vector_store.
             */
            vector_server: string;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /** @description How large its share of the workers is, compared with other memory bases: `low`, `normal` or `high`. */
            priority: components["schemas"]["Priority"];
            /**
             * Paused At
             * @description Since when its ingestion is paused; null if it is not. Captures go on, and repairs after edits and deletions.
             */
            paused_at: string | null;
            /** @description What is going on. */
            status: components["schemas"]["MemoryBaseStatus"];
            /**
             * Pending Messages
             * @description Number of pending messages.
             */
            pending_messages: number;
            /**
             * Pending Capped
             * @description Whether `pending_messages` is only a lower bound.
             */
            pending_capped: boolean;
            /**
             * Total Processed
             * @description Number of messages in the serving ledger.
             */
            total_processed: number;
            /**
             * Last Sync At
             * @description When messages were last ingested; null if never.
             */
            last_sync_at: string | null;
            /**
             * Sessions
             * @description Number of tracked sessions.
             */
            sessions: number;
            /**
             * Mismatch
             * @description Result of the last comparison with the vector store; null if there was none.
             */
            mismatch: boolean | null;
            /**
             * Mismatch Checked At
             * @description When it was last compared; null if never.
             */
            mismatch_checked_at: string | null;
            /**
             * Mismatch Since
             * @description When a comparison first found the mismatch; null without one.
             */
            mismatch_since: string | null;
            /**
             * Chunks Missing
             * @description Chunks that the vector store lacked then; null if not known, as without a collection.
             */
            chunks_missing: number | null;
            /**
             * Dead Letters
             * @description Number of dead letters.
             */
            dead_letters: number;
            /**
             * Sessions Near Threshold
             * @description Sessions with at least 80 % of the threshold pending, counted up to 1,000.
             */
            sessions_near_threshold: number;
            /** @description What the web page shows: the first of these that holds. `lost`: vectors are missing. `failed`: it has dead letters. `unreachable`: the vector store fails. `building`: a regenerate runs. `working`: it ingests. `waiting`: it has pending messages. `paused`: it is paused, or auto_capture is off. `ok`: everything is searchable. */
            condition: components["schemas"]["ConditionName"];
            /**
             * Warnings
             * @description What it will not remember, and which settings of a PUT it did not take.
             */
            warnings: components["schemas"]["Caveat"][];
        };
        /**
         * MessageActionBody
         * @description One action on many messages.
         */
        MessageActionBody: {
            /**
             * Action
             * @description What to do with each message.
             * @enum {string}
             */
            action: "mute" | "unmute" | "pin" | "unpin" | "delete" | "restore";
            /**
             * Ids
             * @description The messages: UUIDs or the caller's ids.
             */
            ids: string[];
            /**
             * Flow Id
             * @description The flow, if its ids are also used in others: a UUID or the caller's id.
             */
            flow_id?: string | null;
            /**
             * Reason
             * @description Why; for people, at most 500 characters.
             */
            reason?: string | null;
        };
        /**
         * MessageChanges
         * @description The fields of a message to change.
         */
        MessageChanges: {
            /**
             * Content
             * @description New content: text or content parts.
             */
            content?: string | (components["schemas"]["ContentPart"] | string)[];
            /**
             * Files
             * @description New files; they replace the stored ones.
             */
            files?: unknown[];
            /**
             * Metadata
             * @description New metadata; it replaces the stored one.
             */
            metadata?: {
                [key: string]: unknown;
            };
            /**
             * Muted
             * @description Whether no search recalls it; its conversation still shows it.
             */
            muted?: boolean;
            /**
             * Pinned
             * @description Whether searches return it first where it is relevant.
             */
            pinned?: boolean;
            /**
             * Reason
             * @description Why; for people, at most 500 characters.
             */
            reason?: string | null;
        };
        /**
         * MessageIngestion
         * @description A message in each memory base of its flow. `runs`: in how many runs a model was given it.
         */
        MessageIngestion: {
            /**
             * Message Id
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /**
             * Memories
             * @description The message in each memory base of its flow, oldest first.
             */
            memories: components["schemas"]["Ingestion"][];
            /**
             * Runs
             * @description In how many runs a model received the message.
             */
            runs: number;
        };
        /**
         * MessageTally
         * @description `deleted`: messages that were deleted from an existing session and stay deleted.
         */
        MessageTally: {
            /**
             * Created
             * @description How many were new.
             * @default 0
             */
            created?: number;
            /**
             * Known
             * @description How many were stored already.
             * @default 0
             */
            known?: number;
            /**
             * Deleted
             * @description How many were deleted earlier and stay deleted.
             * @default 0
             */
            deleted?: number;
        };
        /**
         * MessageUse
         * @description A run whose model was given a message: as part of the history, in a summary, or recalled.
         */
        MessageUse: {
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID. It may not be captured.
             */
            run_id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Session Id
             * @description The session of the run; null if it is unknown.
             */
            session_id: string | null;
            /**
             * Node Id
             * @description The node whose model received it.
             */
            node_id: string;
            /**
             * Kind
             * @description How it was given: as `history`, in a `summary`, by `recall`, as `standing` statement, or `predefined`.
             * @enum {string}
             */
            kind: "history" | "summary" | "recall" | "fact" | "predefined" | "standing";
            /**
             * Score
             * @description The score of the memory; null for other kinds.
             */
            score: number | null;
            /**
             * Query
             * @description What was looked for; null if nothing was.
             */
            query: string | null;
            /**
             * At
             * Format: date-time
             * @description When the memory was read.
             */
            at: string;
        };
        /**
         * MessageView
         * @description A stored message. `ingested` is present if the request named a memory base.
         */
        MessageView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID.
             */
            run_id: string;
            /**
             * End User Id
             * @description The person that the session or chat belongs to; null if unknown.
             */
            end_user_id: string | null;
            /**
             * Seq
             * @description Number of the message in its session or chat, in commit order.
             */
            seq: number;
            /**
             * Role
             * @description Who speaks.
             */
            role: string;
            /**
             * Is Output
             * @description Whether the message is an output of the flow.
             */
            is_output: boolean;
            /**
             * Content
             * @description Text, a list of content parts, or null beside tool calls.
             */
            content: (string | components["schemas"]["ContentPart"][]) | null;
            /**
             * Tool Calls
             * @description Calls of tools by the model, in OpenAI's format.
             */
            tool_calls: components["schemas"]["ToolCall"][] | null;
            /**
             * Tool Call Id
             * @description The tool call that this message answers.
             */
            tool_call_id: string | null;
            /**
             * Name
             * @description The name of the speaker or the tool, as in OpenAI's format.
             */
            name: string | null;
            /**
             * Sender Name
             * @description The speaker's name, for display.
             */
            sender_name: string | null;
            /**
             * Parent Message Id
             * @description The message that this one follows; null if it was not named or begins a thread.
             */
            parent_message_id: string | null;
            /**
             * Files
             * @description Files of the message, as they were sent.
             */
            files: unknown[];
            /**
             * Metadata
             * @description Any JSON object of the caller.
             */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * Status
             * @description Whether the message is complete: `completed`, `failed` or `stopped`.
             */
            status: string;
            /**
             * Version
             * @description Number of the version, from 1; each edit adds one.
             */
            version: number;
            /**
             * Timestamp
             * Format: date-time
             * @description When the message was written, for display and filters. `seq` decides the order.
             */
            timestamp: string;
            /**
             * Captured At
             * Format: date-time
             * @description When the message was stored.
             */
            captured_at: string;
            /**
             * Edited At
             * @description When the message was last edited; null if never.
             */
            edited_at: string | null;
            /**
             * Muted
             * @description Whether no search recalls it; its conversation still shows it.
             */
            muted: boolean;
            /**
             * Pinned
             * @description Whether searches return it first where it is relevant.
             */
            pinned: boolean;
            /**
             * Ingested
             * @description Whether the memory base that the request named holds this version.
             */
            ingested?: boolean | null;
        };
        /**
         * MetadataComparison
         * @description A comparison with the metadata of a message. Earlier versions of Dify send several names.
         */
        MetadataComparison: {
            /**
             * Name
             * @description A key of the message's metadata, or a field that every message has, such as `role`.
             */
            name: string | string[];
            /**
             * Comparison Operator
             * @description One of contains, not contains, start with, end with, is, is not, in, not in, empty, not empty, =, ≠, >, <, ≥, ≤, before, after.
             */
            comparison_operator: string;
            /**
             * Value
             * @description What to compare with; not for `empty` and `not empty`.
             */
            value?: string | number | boolean | (string | number | boolean)[] | null;
        };
        /**
         * MetadataCondition
         * @description Comparisons with the metadata of messages.
         */
        MetadataCondition: {
            /**
             * Logical Operator
             * @description Whether all comparisons must hold, or any.
             * @default and
             */
            logical_operator?: ("and" | "or") | null;
            /**
             * Conditions
             * @description The comparisons; without any, all messages are searched.
             */
            conditions?: components["schemas"]["MetadataComparison"][] | null;
        };
        /**
         * Mismatch
         * @description Counted in chunks, except `missing_token_vectors`, which counts messages.
         *
         *     `altered` counts those of the newest chunks that are stored with another text or without a readable vector.
         */
        Mismatch: {
            /**
             * Mismatch
             * @description Whether store and ledger differ.
             */
            mismatch: boolean;
            /**
             * State
             * @description `ok`, `mismatch`, or `unavailable` if the store could not be read.
             * @enum {string}
             */
            state: "ok" | "mismatch" | "unavailable";
            /**
             * Expected
             * @description Number of chunks in the ledger.
             * @default 0
             */
            expected?: number;
            /**
             * Found
             * @description Number of chunks in the store.
             * @default 0
             */
            found?: number;
            /**
             * Missing
             * @description Number of chunks that the store lacks.
             * @default 0
             */
            missing?: number;
            /**
             * Extra
             * @description Number of chunks that only the store has.
             * @default 0
             */
            extra?: number;
            /**
             * Altered
             * @description Number of the newest chunks with another text or an unreadable vector.
             * @default 0
             */
            altered?: number;
            /**
             * Missing Token Vectors
             * @description Number of messages without token vectors.
             * @default 0
             */
            missing_token_vectors?: number;
            /**
             * Missing Ids
             * @description Some of the missing chunks.
             */
            missing_ids?: string[];
            /**
             * Extra Ids
             * @description Some of the extra chunks.
             */
            extra_ids?: string[];
        };
        /**
         * NewKeyAnswer
         * @description A new key. Only this response contains the secret.
         */
        NewKeyAnswer: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Name
             * @description The name, for people.
             */
            name: string;
            /**
             * Prefix
             * @description The first characters of the secret, to recognize the key by.
             */
            prefix: string;
            /**
             * Scopes
             * @description What the key allows.
             */
            scopes: string[];
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Expires At
             * @description When the key stops working; null if never.
             */
            expires_at: string | null;
            /**
             * Last Used At
             * @description When the key was last used; null if never.
             */
            last_used_at: string | null;
            /**
             * Flow Ids
             * @description The only flows of the key; null for all.
             */
            flow_ids: string[] | null;
            /**
             * End User Id
             * @description The only end user of the key; null for all.
             */
            end_user_id: string | null;
            /**
             * Rotated To
             * @description The key that replaces this one; null if none does.
             */
            rotated_to: string | null;
            /** @description The quotas that were set for the key. */
            quotas: components["schemas"]["KeyQuotas"];
            /**
             * Secret
             * @description The key itself. It is shown only here.
             */
            secret: string;
        };
        /**
         * NodeExecutionBody
         * @description An execution of a node in a run.
         */
        NodeExecutionBody: {
            /**
             * Node Id
             * @description The node of the flow, named by the caller.
             */
            node_id: string;
            /**
             * Index
             * @description Number of this execution among the node's executions in the run.
             * @default 0
             */
            index?: number;
            /**
             * Status
             * @description How the execution ended; node memory reads only `succeeded` ones.
             * @enum {string}
             */
            status: "running" | "succeeded" | "failed" | "exception" | "stopped";
            /** @description What the node returned. */
            outputs: components["schemas"]["ExecutionOutputs"];
            /**
             * Few Shots
             * @description Messages that the node's template puts before its context; they are not history.
             */
            few_shots?: components["schemas"]["SentMessage"][] | null;
            /**
             * Flow Id
             * @description The flow: a UUID or the caller's id.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Run Id
             * @description The run: a UUID or the caller's id. It may be captured later.
             */
            run_id: string;
        };
        /**
         * NodeExecutionView
         * @description A stored execution.
         */
        NodeExecutionView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID.
             */
            run_id: string;
            /**
             * Node Id
             * @description The node of the flow, named by the caller.
             */
            node_id: string;
            /**
             * Index
             * @description Number of this execution among the node's executions in the run.
             */
            index: number;
            /**
             * Status
             * @description How the execution ended; node memory reads only `succeeded` ones.
             */
            status: string;
            /**
             * Outputs
             * @description What the node returned.
             */
            outputs: components["schemas"]["ExecutionOutputs"];
            /**
             * Few Shots
             * @description Messages that the node's template puts before its context.
             */
            few_shots: components["schemas"]["OpenAIViewMessage"][];
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Updated At
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        /**
         * NodeStory
         * @description A node of a run: what its model was given, and the text that it returned, if they were recorded.
         */
        NodeStory: {
            /**
             * Node Id
             * @description The node of the flow, named by the caller.
             */
            node_id: string;
            /** @description The memory that the model of the node received; null if none was recorded. */
            given: components["schemas"]["GivenView"] | null;
            /**
             * Status
             * @description How the last recorded execution of the node ended; null without one.
             */
            status: string | null;
            /**
             * Answer
             * @description The text that it returned; null without one.
             */
            answer: string | null;
        };
        /**
         * NodeUse
         * @description What the model of one node was given, as it was sent; `memoryUseSummary` for session memory only.
         */
        NodeUse: {
            /**
             * Node Id
             * @description The node of the flow, named by the caller.
             */
            node_id: string;
            /**
             * Memoryusesummary
             * @description The pairs and the summary that session memory showed; null for other memory.
             */
            memoryUseSummary: components["schemas"]["MemoryUseSummary"] | null;
            /**
             * Messages
             * @description The messages as they were sent. Text deleted since reads `[deleted]`.
             */
            messages: components["schemas"]["ViewMessage"][];
            /**
             * Sources
             * @description Where each message comes from, parallel to `messages`.
             */
            sources: components["schemas"]["Source"][];
            /**
             * Report
             * @description The report of the view at that time.
             */
            report: {
                [key: string]: unknown;
            };
            /**
             * Query
             * @description What was looked for in the memory bases; null if nothing was. Text deleted since reads `[deleted]`.
             */
            query: string | null;
            /**
             * At
             * Format: date-time
             * @description When the memory was read.
             */
            at: string;
        };
        /**
         * Overview
         * @description Everything that was captured in the window.
         *
         *     `searchable`, `waiting`, `failed` and `lost` count messages that a memory base counts; one that is off does so only
         *     if no other of its flow is on. Delays are from capture until a
         *     message was searchable, of the latest messages of each flow; null without any.
         */
        Overview: {
            /** @description The last hour, day or week. */
            window: components["schemas"]["Window"];
            /**
             * Since
             * Format: date-time
             * @description Start of the first bucket.
             */
            since: string;
            /**
             * Until
             * Format: date-time
             * @description End of the last bucket.
             */
            until: string;
            /**
             * Bucket Seconds
             * @description Length of a bucket.
             */
            bucket_seconds: number;
            /**
             * Captured
             * @description Number of messages captured.
             */
            captured: number;
            /**
             * Searchable
             * @description Number of counted messages that every memory base of their flow holds. One that is off is left out while another one of its flow is on.
             */
            searchable: number;
            /**
             * Waiting
             * @description Number of counted messages that a memory base does not hold yet, up to 10,000.
             */
            waiting: number;
            /**
             * Waiting Capped
             * @description Whether more than that are waiting.
             */
            waiting_capped: boolean;
            /**
             * Failed
             * @description Number of messages that could not be embedded.
             */
            failed: number;
            /**
             * Lost
             * @description Number of messages that a memory base counts that has lost vectors.
             */
            lost: number;
            /**
             * Runs
             * @description Number of runs.
             */
            runs: number;
            /**
             * Sessions
             * @description Number of sessions with captures.
             */
            sessions: number;
            /**
             * Recalls
             * @description Number of views recorded for nodes of runs.
             */
            recalls: number;
            /**
             * Delay Median Seconds
             * @description Median time from capture until a message was searchable; null if none was ingested.
             */
            delay_median_seconds: number | null;
            /**
             * Delay P95 Seconds
             * @description The time within which 95 % of them were searchable; null if none was ingested.
             */
            delay_p95_seconds: number | null;
            /**
             * Buckets
             * @description The window in buckets, oldest first.
             */
            buckets: components["schemas"]["OverviewBucket"][];
            /**
             * Flows
             * @description The flows with the latest captures, latest first.
             */
            flows: components["schemas"]["FlowOverview"][];
            /**
             * Flows Total
             * @description Number of flows.
             */
            flows_total: number;
            /**
             * Latest Runs
             * @description The latest runs, newest first.
             */
            latest_runs: components["schemas"]["LatestRun"][];
        };
        /**
         * OverviewBucket
         * @description The messages captured from `at` on, until the next bucket, by what has become of them.
         *
         *     lost: a memory base that counts them has lost vectors. other: no memory base counts them; they are history only.
         */
        OverviewBucket: {
            /**
             * At
             * Format: date-time
             * @description Start of the bucket.
             */
            at: string;
            /**
             * Searchable
             * @description Captured then, and searchable now.
             */
            searchable: number;
            /**
             * Waiting
             * @description Captured then, and not searchable yet.
             */
            waiting: number;
            /**
             * Failed
             * @description Captured then, and could not be embedded.
             */
            failed: number;
            /**
             * Lost
             * @description Captured then, and counted by a memory base that has lost vectors.
             */
            lost: number;
            /**
             * Other
             * @description Captured then, and counted by no memory base.
             */
            other: number;
        };
        /**
         * Page of AuditEntryView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_AuditEntryView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["AuditEntryView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of BaseSessionView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_BaseSessionView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["BaseSessionView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of ChangeView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_ChangeView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["ChangeView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of ChatMemoryView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_ChatMemoryView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["ChatMemoryView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of ChatView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_ChatView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["ChatView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of DeadLetterView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_DeadLetterView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["DeadLetterView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of DeletedMessageView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_DeletedMessageView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["DeletedMessageView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of DeliveryView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_DeliveryView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["DeliveryView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of EndUserView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_EndUserView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["EndUserView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of FactView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_FactView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["FactView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of FlowView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_FlowView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["FlowView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of HoldView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_HoldView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["HoldView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of JobView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_JobView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["JobView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of KeyAnswer
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_KeyAnswer_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["KeyAnswer"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of KnowledgeBaseView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_KnowledgeBaseView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["KnowledgeBaseView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of LabelView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_LabelView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["LabelView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of MemoryBaseView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_MemoryBaseView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["MemoryBaseView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of MessageUse
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_MessageUse_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["MessageUse"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of MessageView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_MessageView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["MessageView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of RetentionPassView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_RetentionPassView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["RetentionPassView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of RunView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_RunView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["RunView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of SessionView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_SessionView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["SessionView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * Page of WebhookView
         * @description A part of a list; `next_cursor` is set if more items follow, or may follow. `total_capped`: `total` is a lower
         *     bound.
         */
        Page_WebhookView_: {
            /**
             * Items
             * @description The items of this page.
             */
            items: components["schemas"]["WebhookView"][];
            /**
             * Total
             * @description Number of items in all pages.
             */
            total: number;
            /**
             * Page
             * @description Number of this page, from 1.
             */
            page: number;
            /**
             * Size
             * @description Maximum items of a page.
             */
            size: number;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last one.
             */
            next_cursor?: string | null;
            /**
             * Total Capped
             * @description Whether `total` is a lower bound.
             * @default false
             */
            total_capped?: boolean;
        };
        /**
         * PartWeightsBody
         * @description Factors for the parts of a score, on top of the weights. They have no effect in mode `dense`.
         */
        PartWeightsBody: {
            /**
             * Meaning
             * @description How close the message is in meaning to the question.
             * @default 1
             */
            meaning?: number;
            /**
             * Words
             * @description The question's words, in the message or next to it.
             * @default 1
             */
            words?: number;
            /**
             * Around
             * @description What the conversation around the message is about.
             * @default 1
             */
            around?: number;
            /**
             * Kind
             * @description Length, speaker, dates, times and numbers.
             * @default 1
             */
            kind?: number;
        };
        /**
         * Piece
         * @description A part of a difference: in both texts, only in the new one (`added`), or only in the former one (`removed`).
         */
        Piece: {
            /**
             * Kind
             * @description `same`: in both texts; `added`: only in the new one; `removed`: only in the former one.
             * @enum {string}
             */
            kind: "same" | "added" | "removed";
            /**
             * Text
             * @description The text.
             */
            text: string;
        };
        /**
         * Posted
         * @description The result of a post. A view of the chat now has `tokens` and leaves out `trimmed` messages.
         */
        Posted: {
            /**
             * Chat Id
             * @description The chat's id, chosen by the caller.
             */
            chat_id: string;
            /**
             * Messages
             * @description The result for each message, in order.
             */
            messages: components["schemas"]["PostedMessage"][];
            /**
             * Trimmed
             * @description Number of messages of the log that a view now leaves out.
             */
            trimmed: number;
            /**
             * Tokens
             * @description Tokens of a view of the chat now.
             */
            tokens: number;
        };
        /**
         * PostedMessage
         * @description A posted message; `created` is false if the chat had it already.
         */
        PostedMessage: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Seq
             * @description Number of the message in its session or chat, in commit order.
             */
            seq: number;
            /**
             * Created
             * @description Whether it is new; false for a repeat.
             */
            created: boolean;
        };
        /**
         * PredefinedMessage
         * @description A message shown before the history, never stored in it.
         */
        PredefinedMessage: {
            /**
             * Role
             * @description Who speaks.
             * @enum {string}
             */
            role: "user" | "assistant" | "system";
            /**
             * Content
             * @description The text.
             */
            content: string;
        };
        /**
         * Priority
         * @description How large a memory base's share of the workers is.
         * @enum {string}
         */
        Priority: "low" | "normal" | "high";
        /**
         * Problem
         * @description Something that needs a person. Counts are null where they do not apply, and stop at 1,000.
         */
        Problem: {
            /** @description `part`: a part of the stack does not answer. `lost`: a memory base has lost vectors. `failed`: it has dead letters. `overdue`: due messages wait for more than ten minutes. `webhook`: a webhook was disabled because it failed, or did not get events. `paused`: it is paused, or auto_capture is off, and messages wait. */
            kind: components["schemas"]["ProblemKind"];
            /**
             * Title
             * @description The problem in a few words.
             */
            title: string;
            /**
             * Text
             * @description What it means.
             */
            text: string;
            /**
             * Since
             * @description Since when; null if not known.
             */
            since: string | null;
            /**
             * Part
             * @description The part that does not answer: `database`, `redis`, `chroma`, `pgvector`, `worker` or `sweeper`.
             */
            part?: string | null;
            /**
             * Memory Base Id
             * @description The memory base; null if all are concerned.
             */
            memory_base_id?: string | null;
            /**
             * Memory Base Name
             * @description The name of the memory base.
             */
            memory_base_name?: string | null;
            /**
             * Messages
             * @description Number of messages concerned.
             */
            messages?: number | null;
            /**
             * Texts
             * @description Number of different texts among them.
             */
            texts?: number | null;
            /**
             * Sessions
             * @description Number of sessions with such messages.
             */
            sessions?: number | null;
            /**
             * Webhook Id
             * @description The webhook; null for other kinds.
             */
            webhook_id?: string | null;
            /**
             * Fixes
             * @description What ends it.
             * @default []
             */
            fixes?: components["schemas"]["Fix"][];
        };
        /**
         * ProblemKind
         * @description What is wrong, the worst first.
         *
         *     part: a part of the stack does not answer. lost: a memory base has lost vectors. failed: messages could not be
         *     embedded. overdue: due messages wait for more than ten minutes. webhook: a webhook was disabled because it failed,
         *     or did not get events. paused: somebody has paused the memory base, or auto_capture is off, and messages wait.
         * @enum {string}
         */
        ProblemKind: "part" | "lost" | "failed" | "overdue" | "webhook" | "paused";
        /**
         * Problems
         * @description The problems of the user's memory bases and of the stack, the worst first. `total` counts those left out too.
         */
        Problems: {
            /**
             * Problems
             * @description What needs a person, the worst first.
             */
            problems: components["schemas"]["Problem"][];
            /**
             * Total
             * @description Number of problems, with those left out.
             */
            total: number;
        };
        /**
         * QuotaUsage
         * @description One quota. `used` is null without a limit, because nothing is counted then; what other processes hold as their
         *     slices counts as used. `resets_at` is null for what is stored.
         */
        QuotaUsage: {
            /**
             * Quota
             * @description `messages_per_day`, `stored_messages`, `searches_per_minute` or `end_users`.
             * @enum {string}
             */
            quota: "messages_per_day" | "stored_messages" | "searches_per_minute" | "end_users";
            /**
             * Limit
             * @description The quota; null: unlimited.
             */
            limit: number | null;
            /**
             * Used
             * @description How much is in use, with what other API processes hold as their slices; null without a limit, because nothing is counted then.
             */
            used: number | null;
            /**
             * Resets At
             * @description When the window ends; null for what is stored, which falls by deletions.
             */
            resets_at: string | null;
        };
        /**
         * QuotasBody
         * @description What a key may use; null: the default of the settings.
         */
        QuotasBody: {
            /**
             * Messages Per Day
             * @description New messages a day in UTC, captured or of chats; null: the default of the settings.
             */
            messages_per_day?: number | null;
            /**
             * Stored Messages
             * @description Messages stored now, captured or of chats; null: the default of the settings.
             */
            stored_messages?: number | null;
            /**
             * Searches Per Minute
             * @description Searches a minute, and contexts with a query; null: the default of the settings.
             */
            searches_per_minute?: number | null;
            /**
             * End Users
             * @description End users that something is stored of; null: the default of the settings.
             */
            end_users?: number | null;
        };
        /**
         * Readiness
         * @description Every part responds. `degraded`: jobs are still not processed; `reason` says why.
         */
        Readiness: {
            /**
             * Status
             * @description `degraded`: every part responds, but the queue makes no progress.
             * @enum {string}
             */
            status: "ready" | "degraded";
            /**
             * Parts
             * @description The state of each part, by name.
             */
            parts: {
                [key: string]: "ok" | "degraded";
            };
            /**
             * Reason
             * @description Why it is degraded; null otherwise.
             */
            reason?: string | null;
        };
        /**
         * RecallBody
         * @description Recall of memories. `share`: part of the budget that is reserved for memories; 0: no recall. `top_k`: maximum
         *     messages to recall from; default: as many as fit, with the turns around them. `scope`: where a session without an
         *     end user recalls from; default: the whole flow if it knows no end users at all, else the session. `facts`: add
         *     facts that a model derived, in up to half of the share.
         */
        RecallBody: {
            /**
             * Top K
             * @description Maximum messages to recall from; by default as many as fit, with the turns around them. At most 100, by the setting max_top_k.
             */
            top_k?: number | null;
            /**
             * Share
             * @description Part of the budget that is reserved for memories; 0: no recall.
             * @default 0.3
             */
            share?: number;
            /**
             * Min Score
             * @description Minimum score of a result, from 0 to 1.
             */
            min_score?: number | null;
            /**
             * Scope
             * @description Where a session without an end user recalls from; null: the flow if no session of it has one, else the session.
             */
            scope?: ("session" | "flow") | null;
            /**
             * Facts
             * @description Whether to add facts that a model derived from messages, in up to half of the share.
             * @default false
             */
            facts?: boolean;
            /**
             * Mode
             * @description `hybrid`; `dense`, vectors alone; or `keyword`, words alone.
             * @default hybrid
             * @enum {string}
             */
            mode?: "hybrid" | "dense" | "keyword";
            /** @description Factors for the parts of each score; null: 1 for each. */
            weights?: components["schemas"]["PartWeightsBody"] | null;
            /**
             * Half Life Days
             * @description After this many days a message has lost a quarter of its score, in the end half; 0: age does not count. Default: as the memory base's own weights say.
             */
            half_life_days?: number | null;
            /**
             * Roles
             * @description Only messages with one of these roles.
             */
            roles?: ("user" | "assistant" | "system" | "tool")[] | null;
            /**
             * Since
             * @description Only messages with a `timestamp` from this time on.
             */
            since?: string | null;
            /**
             * Until
             * @description Only messages with a `timestamp` up to this time.
             */
            until?: string | null;
            /**
             * Corrections
             * @description Rank later statements of the same fact first and say what they correct, in mode `hybrid`. Default: unless the embedding model is behind an endpoint.
             */
            corrections?: boolean | null;
        };
        /**
         * Recalled
         * @description A recalled memory. `score` is null for a message that is shown because it is beside a better one.
         *     `superseded_by`: the later message that holds in place of this one.
         */
        Recalled: {
            /**
             * Message Id
             * @description The message.
             */
            message_id: string;
            /**
             * Score
             * @description Its score; null for a message that is shown beside a better one.
             */
            score: number | null;
            /**
             * Superseded By
             * @description The later message that holds in place of this one; null for most.
             */
            superseded_by?: string | null;
        };
        /**
         * RecalledFact
         * @description A fact that a model derived from the messages `source_message_ids`.
         */
        RecalledFact: {
            /**
             * Fact Id
             * Format: uuid
             * @description The fact.
             */
            fact_id: string;
            /**
             * Score
             * @description How much it has to do with the question, from 0 to 1.
             */
            score: number;
            /**
             * Source Message Ids
             * @description The messages that it rests on.
             */
            source_message_ids: string[];
        };
        /**
         * RecalledView
         * @description What the models of a run's nodes were given from memory.
         */
        RecalledView: {
            /**
             * Nodes
             * @description Number of nodes with a recorded memory use.
             */
            nodes: number;
            /**
             * Memories
             * @description Number of different messages that were recalled.
             */
            memories: number;
            /**
             * Tokens
             * @description Tokens of the recalled messages, over all nodes.
             */
            tokens: number;
        };
        /**
         * RegenerateBody
         * @description What changes with the new generation.
         */
        RegenerateBody: {
            /**
             * Embedding Model
             * @description Another embedding model; by default the current one.
             */
            embedding_model?: string | null;
            /** @description Another capture rule; by default the current one. */
            capture?: components["schemas"]["Capture"] | null;
            /**
             * Vector Store
             * @description Another vector store, which must have a URL in the settings; by default the current one.
             */
            vector_store?: ("chroma" | "pgvector") | null;
        };
        /**
         * Regeneration
         * @description The started build. Searches read the old generation until the build is complete.
         */
        Regeneration: {
            /**
             * Generation
             * @description Number of the new generation.
             */
            generation: number;
            /**
             * Jobs
             * @description The queued jobs.
             */
            jobs: components["schemas"]["JobBrief"][];
        };
        /**
         * Removed
         * @description A message that is not in the view, and why.
         */
        Removed: {
            /**
             * Id
             * @description The message.
             */
            id: string;
            /**
             * Reason
             * @description Why it is not in the view, such as `limit`.
             */
            reason: string;
        };
        /**
         * RemovedFrom
         * @description A memory base that held a deleted message, and in how many chunks; a repair deletes them.
         */
        RemovedFrom: {
            /**
             * Memory Base Id
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id: string;
            /**
             * Kb Name
             * @description The name of its knowledge base; unique for the user.
             */
            kb_name: string;
            /**
             * Chunks
             * @description Number of its chunks there, in all generations.
             */
            chunks: number;
        };
        /**
         * Repairs
         * @description Jobs that update the knowledge bases; empty if no knowledge base holds the message.
         */
        Repairs: {
            /**
             * Job Ids
             * @description The queued jobs.
             */
            job_ids: string[];
        };
        /**
         * ReplayBody
         * @description Which dead deliveries to send again: those of events since this time.
         */
        ReplayBody: {
            /**
             * Since
             * Format: date-time
             * @description Dead deliveries of events since this time are sent again. Without a time zone: UTC.
             */
            since: string;
        };
        /**
         * Replayed
         * @description How many dead deliveries start again, and whether more are left.
         */
        Replayed: {
            /**
             * Replayed
             * @description How many deliveries are sent again.
             */
            replayed: number;
            /**
             * Remaining
             * @description Whether more dead deliveries match.
             */
            remaining: boolean;
        };
        /**
         * Report
         * @description What happened to the log. tokens_before: after thread and filters, before clearing and trimming. `summary`: what
         *     the view's summary covers, if it has one.
         */
        Report: {
            /**
             * Kept
             * @description Ids of the messages in the view.
             */
            kept: string[];
            /**
             * Removed
             * @description Messages of the thread that are not in the view.
             */
            removed: components["schemas"]["Removed"][];
            /**
             * Tokens Before
             * @description Tokens of the thread, before clearing and trimming.
             */
            tokens_before: number;
            /**
             * Tokens After
             * @description Tokens of the view.
             */
            tokens_after: number;
            /**
             * Budget
             * @description Maximum tokens of the view; null without a limit.
             */
            budget: number | null;
            /**
             * Over Budget
             * @description Whether not even the newest unit fits.
             */
            over_budget: boolean;
            /**
             * Counter
             * @description What counted the tokens: a tokenizer, or the estimate with its version.
             */
            counter: string;
            /**
             * Flags
             * @description What else there is to know, such as `gap` or `broken_link`.
             * @default []
             */
            flags?: string[];
            /**
             * Degraded
             * @description Parts that were unavailable, such as `recall`; the rest is complete.
             * @default []
             */
            degraded?: string[];
            /** @description What the summary of the view covers; null without one. */
            summary?: components["schemas"]["SummaryUse"] | null;
        };
        /**
         * ReportedExecution
         * @description The result for an execution that came with its run; `error` is the code of the error if it was not stored.
         */
        ReportedExecution: {
            /**
             * Id
             * Format: uuid
             * @description The UUID of the node execution.
             */
            id: string;
            /**
             * Node Id
             * @description The node of the flow, named by the caller.
             */
            node_id: string;
            /**
             * Index
             * @description Number of this execution among the node's executions in the run.
             */
            index: number;
            /**
             * Created
             * @description Whether it is new; false if it was replaced.
             */
            created: boolean;
            /**
             * Error
             * @description Code of the error if it was not stored; absent otherwise.
             */
            error?: string | null;
        };
        /**
         * ReportedExecutionBody
         * @description A node execution of the captured run.
         */
        ReportedExecutionBody: {
            /**
             * Node Id
             * @description The node of the flow, named by the caller.
             */
            node_id: string;
            /**
             * Index
             * @description Number of this execution among the node's executions in the run.
             * @default 0
             */
            index?: number;
            /**
             * Status
             * @description How the execution ended; node memory reads only `succeeded` ones.
             * @enum {string}
             */
            status: "running" | "succeeded" | "failed" | "exception" | "stopped";
            /** @description What the node returned. */
            outputs: components["schemas"]["ExecutionOutputs"];
            /**
             * Few Shots
             * @description Messages that the node's template puts before its context; they are not history.
             */
            few_shots?: components["schemas"]["SentMessage"][] | null;
            /**
             * Id
             * @description The id of the execution: a UUID or any string; generated by default.
             */
            id?: string | null;
        };
        /**
         * RestoreBody
         * @description Why the message is restored.
         */
        RestoreBody: {
            /**
             * Reason
             * @description Why; for people, at most 500 characters.
             */
            reason?: string | null;
        };
        /**
         * RetentionPassView
         * @description What one pass of a rule deleted. `sessions` were deleted completely; `chunks` are those that the knowledge bases
         *     held. A pass without `finished_at` goes on.
         */
        RetentionPassView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Rule
             * @description What rule it was: that of a `flow`, the expiry of a `session`, or that of a `memory_base`.
             * @enum {string}
             */
            rule: "flow" | "session" | "memory_base";
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Memory Base Id
             * @description The memory base whose knowledge base forgot; null for other rules.
             */
            memory_base_id: string | null;
            /**
             * Retain Days
             * @description The rule; null for the expiry of a session.
             */
            retain_days: number | null;
            /**
             * Expired Before
             * Format: date-time
             * @description What was captured until then was deleted.
             */
            expired_before: string;
            /**
             * Sessions
             * @description Number of sessions that were deleted completely.
             */
            sessions: number;
            /**
             * Runs
             * @description Number of deleted runs.
             */
            runs: number;
            /**
             * Messages
             * @description Number of deleted messages; for a memory base, of those that its knowledge base forgot.
             */
            messages: number;
            /**
             * Chunks
             * @description Number of chunks that knowledge bases held of them; repairs delete these.
             */
            chunks: number;
            /**
             * Node Executions
             * @description Number of deleted node executions.
             */
            node_executions: number;
            /**
             * Memory Uses
             * @description Number of deleted recorded uses.
             */
            memory_uses: number;
            /**
             * Summaries
             * @description Number of deleted summaries.
             */
            summaries: number;
            /**
             * Message Changes
             * @description Number of deleted records of changes, with former versions of messages.
             */
            message_changes: number;
            /**
             * Restorable Messages
             * @description Number of messages that had been deleted one by one and could still be restored.
             */
            restorable_messages: number;
            /**
             * Chats
             * @description Number of deleted chats.
             */
            chats: number;
            /**
             * Chat Messages
             * @description Number of deleted messages of chats.
             */
            chat_messages: number;
            /**
             * Started At
             * Format: date-time
             * @description When the first of it was deleted.
             */
            started_at: string;
            /**
             * Finished At
             * @description When nothing was left to delete; null while the pass goes on.
             */
            finished_at: string | null;
            /**
             * Facts
             * @description Number of deleted facts that a model had derived from the messages.
             * @default 0
             */
            facts?: number;
        };
        /**
         * RetentionPreview
         * @description What one rule would delete now. `sessions` would be deleted completely; `held_sessions` have expired messages
         *     that a legal hold keeps, and count nowhere else.
         */
        RetentionPreview: {
            /**
             * Rule
             * @description What rule it is: that of a `flow`, the expiry of a `session`, or that of a `memory_base`.
             * @enum {string}
             */
            rule: "flow" | "session" | "memory_base";
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Memory Base Id
             * @description The memory base whose knowledge base would forget; null for other rules.
             */
            memory_base_id: string | null;
            /**
             * Retain Days
             * @description The rule; null for the expiry of a session.
             */
            retain_days: number | null;
            /**
             * Expired Before
             * Format: date-time
             * @description What was captured until then would be deleted.
             */
            expired_before: string;
            /**
             * Sessions
             * @description Number of sessions that would be deleted completely.
             */
            sessions: number;
            /**
             * Messages
             * @description Number of messages; for a memory base, of those that its knowledge base would forget.
             */
            messages: number;
            /**
             * Chunks
             * @description Number of chunks that knowledge bases hold of them.
             */
            chunks: number;
            /**
             * Node Executions
             * @description Number of node executions.
             */
            node_executions: number;
            /**
             * Chat Messages
             * @description Number of messages of chats.
             */
            chat_messages: number;
            /**
             * Held Sessions
             * @description Number of sessions with expired messages that a legal hold keeps.
             */
            held_sessions: number;
        };
        /**
         * RetentionPreviews
         * @description One item for each rule that is set: of flows, of sessions that have expired, and of memory bases.
         */
        RetentionPreviews: {
            /**
             * Items
             * @description What each rule would delete.
             */
            items: components["schemas"]["RetentionPreview"][];
        };
        /**
         * Retrieval
         * @description A search by Dify. `knowledge_id` is the id or the name of a memory base, or the id of a flow; with `/` and an end
         *     user's id after it, only that end user's sessions are searched.
         * @example {
         *       "knowledge_id": "support/anna",
         *       "metadata_condition": {
         *         "conditions": [
         *           {
         *             "comparison_operator": "is",
         *             "name": "role",
         *             "value": "user"
         *           }
         *         ],
         *         "logical_operator": "and"
         *       },
         *       "query": "Which food must Anna avoid?",
         *       "retrieval_setting": {
         *         "score_threshold": 0,
         *         "top_k": 4
         *       }
         *     }
         */
        Retrieval: {
            /**
             * Knowledge Id
             * @description What to search.
             */
            knowledge_id: string;
            /**
             * Query
             * @description The question. At most 8000 characters, by the setting max_query_chars.
             */
            query: string;
            /** @description How much to answer. */
            retrieval_setting?: components["schemas"]["RetrievalSetting"] | null;
            /** @description Which messages to search. */
            metadata_condition?: components["schemas"]["MetadataCondition"] | null;
        };
        /**
         * RetrievalAnswer
         * @description The found messages, best first.
         */
        RetrievalAnswer: {
            /**
             * Records
             * @description The messages; empty if none is found.
             */
            records: components["schemas"]["RetrievalRecord"][];
        };
        /**
         * RetrievalError
         * @description An error in Dify's form. `error_code`: 1001 and 1002 for the API key, 2001 for an unknown knowledge id, else the
         *     HTTP status.
         */
        RetrievalError: {
            /**
             * Error Code
             * @description A code of Dify's, or the HTTP status.
             */
            error_code: number;
            /**
             * Error Msg
             * @description What is wrong, with the field, the value and the bound.
             */
            error_msg: string;
        };
        /**
         * RetrievalRecord
         * @description A found message. `content` is its text, or the passage that matched if the text is long.
         */
        RetrievalRecord: {
            /**
             * Content
             * @description The text, or the passage.
             */
            content: string;
            /**
             * Score
             * @description From 0 to 1, higher is better.
             */
            score: number;
            /**
             * Title
             * @description Who said it, when, and in which session.
             */
            title: string;
            /**
             * Metadata
             * @description The message's own metadata, and fields that every message has.
             */
            metadata: {
                [key: string]: unknown;
            };
        };
        /**
         * RetrievalSetting
         * @description How much to answer.
         */
        RetrievalSetting: {
            /**
             * Top K
             * @description At most 100, by the setting max_top_k. Default: 4, as in Dify.
             */
            top_k?: number | null;
            /**
             * Score Threshold
             * @description Lowest score; 0 is off.
             */
            score_threshold?: number | null;
        };
        /**
         * RolePrefix
         * @description Prefixes of the lines in the view's text.
         */
        RolePrefix: {
            /**
             * User
             * @description Prefix of what users say.
             * @default Human
             */
            user?: string;
            /**
             * Assistant
             * @description Prefix of what the model says.
             * @default Assistant
             */
            assistant?: string;
        };
        /**
         * RotateSecretBody
         * @description How long the former secret signs beside the new one.
         */
        RotateSecretBody: {
            /**
             * Overlap Hours
             * @description How long requests are signed with the former secret too; 0: not at all.
             * @default 24
             */
            overlap_hours?: number;
        };
        /**
         * RotationBody
         * @description How long the old key stays valid, and when the new one expires.
         */
        RotationBody: {
            /**
             * Overlap Seconds
             * @description Seconds for which the old key stays valid; 0: it ends at once.
             * @default 86400
             */
            overlap_seconds?: number;
            /**
             * Expires At
             * @description When the new key stops working; by default when the old one would have.
             */
            expires_at?: string | null;
        };
        /**
         * RunMemory
         * @description The memory that the nodes of a run were given; `session_id` is null if it is unknown.
         */
        RunMemory: {
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID.
             */
            run_id: string;
            /**
             * Session Id
             * @description The session of the run; null if it is unknown.
             */
            session_id: string | null;
            /**
             * Nodes
             * @description What each node received, oldest first.
             */
            nodes: components["schemas"]["NodeUse"][];
        };
        /**
         * RunRef
         * @description A run by both of its ids.
         */
        RunRef: {
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID.
             */
            run_id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
        };
        /**
         * RunState
         * @description Whether searches by meaning find a run's messages, in every memory base of its flow.
         *
         *     lost: a memory base that holds them has lost vectors. failed: one could not be embedded. waiting: below the
         *     threshold. working: ingestion is due or runs. history: no memory base counts them. Searches by words find them in
         *     any case.
         * @enum {string}
         */
        RunState: "searchable" | "working" | "waiting" | "failed" | "lost" | "history";
        /**
         * RunStory
         * @description A run from its question to the moment when searches find it. Without `captured_at` the run is not captured yet.
         *
         *     `previous` and `next` are the runs of the session captured before and after it.
         */
        RunStory: {
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID.
             */
            run_id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string | null;
            /**
             * End User Id
             * @description The person that the session or chat belongs to; null if unknown.
             */
            end_user_id: string | null;
            /**
             * Captured At
             * @description When the run was captured; null if only its memory is recorded.
             */
            captured_at: string | null;
            /**
             * Question
             * @description The text of its first user message; null without one.
             */
            question: string | null;
            /**
             * Answer
             * @description The text of its last assistant message; null without one.
             */
            answer: string | null;
            /**
             * Nodes
             * @description The nodes whose memory or execution is recorded, in the order of time.
             */
            nodes: components["schemas"]["NodeStory"][];
            /**
             * Memories
             * @description Its messages in each memory base of the flow, oldest first.
             */
            memories: components["schemas"]["Ingestion"][];
            /** @description The run of the session captured before it; null for the first. */
            previous: components["schemas"]["RunRef"] | null;
            /** @description The run of the session captured after it; null for the last. */
            next: components["schemas"]["RunRef"] | null;
        };
        /**
         * RunView
         * @description One run of a flow: its messages, its last question and answer, and whether its messages are searchable.
         */
        RunView: {
            /**
             * Run Id
             * Format: uuid
             * @description The run: its UUID.
             */
            run_id: string;
            /**
             * External Id
             * @description The id that the caller chose; null if that is a UUID.
             */
            external_id: string | null;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * End User Id
             * @description The person that the session or chat belongs to; null if unknown.
             */
            end_user_id: string | null;
            /**
             * Messages
             * @description Number of messages.
             */
            messages: number;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Question
             * @description The beginning of its last message of a user; null without text.
             */
            question: string | null;
            /**
             * Answer
             * @description The beginning of its last message of the assistant; null without text.
             */
            answer: string | null;
            /** @description The worst state of its messages in the flow's memory bases: `lost` (the memory base has lost vectors, perhaps theirs), `failed`, `ingesting`, `waiting` or `searchable`; `no_memory` if none holds them. What waits or is being ingested is found by its words. A memory base that is off counts only if no other one of the flow is on. */
            state: components["schemas"]["SearchState"];
            /**
             * Searchable After Seconds
             * @description Time from its capture until its last message was ingested; null unless `searchable`.
             */
            searchable_after_seconds: number | null;
            /** @description What the models of its nodes were given from memory; null if nothing is recorded. */
            given: components["schemas"]["RecalledView"] | null;
        };
        /**
         * SearchAnswer
         * @description Hits, best first, each message once; ties: the later message first, then by id. `facts`: if the request asks for
         *     them, what a model derived from messages, best first. Their scores do not compare with those of messages.
         *     `warnings`: why nothing was found, if nothing can be.
         */
        SearchAnswer: {
            /**
             * Results
             * @description What was found, best first.
             */
            results: components["schemas"]["Hit"][];
            /**
             * Took Ms
             * @description Duration of the search in milliseconds.
             */
            took_ms: number;
            /**
             * Facts
             * @description What a model derived from messages, if the request asks for it, best first. The scores do not compare with those of messages.
             */
            facts?: components["schemas"]["FactHit"][];
            /**
             * Warnings
             * @description Why nothing was found, if nothing can be.
             */
            warnings?: components["schemas"]["Caveat"][];
        };
        /**
         * SearchBody
         * @description A search in one memory base. `since` and `until` are inclusive.
         */
        SearchBody: {
            /**
             * Query
             * @description What to look for. At most 8000 characters, by the setting max_query_chars.
             */
            query: string;
            /**
             * Top K
             * @description Maximum results. At most 100, by the setting max_top_k.
             * @default 10
             */
            top_k?: number;
            /**
             * Mode
             * @description `hybrid`; `dense`, vectors alone; or `keyword`, words alone.
             * @default hybrid
             * @enum {string}
             */
            mode?: "hybrid" | "dense" | "keyword";
            /**
             * Session Id
             * @description Only messages of this session.
             */
            session_id?: string | null;
            /**
             * End User Id
             * @description Only messages of this end user's sessions.
             */
            end_user_id?: string | null;
            /**
             * Roles
             * @description Only messages with one of these roles.
             */
            roles?: ("user" | "assistant" | "system" | "tool")[] | null;
            /**
             * Since
             * @description Only messages with a `timestamp` from this time on.
             */
            since?: string | null;
            /**
             * Until
             * @description Only messages with a `timestamp` up to this time.
             */
            until?: string | null;
            /**
             * Metadata
             * @description Keys that the metadata must have, with exactly these values.
             */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /**
             * Min Score
             * @description Minimum score of a result, from 0 to 1.
             */
            min_score?: number | null;
            /**
             * Neighbors
             * @description Number of turns to show before and after each result.
             * @default 0
             */
            neighbors?: number;
            /**
             * Include Pending
             * @description Whether to find messages that are not ingested yet.
             * @default true
             */
            include_pending?: boolean;
            /**
             * Exclude Message Ids
             * @description Messages to leave out: UUIDs or the caller's ids; those of other flows count too.
             */
            exclude_message_ids?: string[];
            /**
             * Explain
             * @description Whether to show how each score was computed, in `parts`.
             * @default false
             */
            explain?: boolean;
            /**
             * Default Weights
             * @description Use the default weights and no half-life instead of the memory base's own.
             * @default false
             */
            default_weights?: boolean;
            /** @description Factors for the parts of each score; null: 1 for each. */
            weights?: components["schemas"]["PartWeightsBody"] | null;
            /**
             * Half Life Days
             * @description After this many days a message has lost a quarter of its score, in the end half; 0: age does not count. Default: as the memory base's own weights say.
             */
            half_life_days?: number | null;
            /**
             * Fold Alike
             * @description Of messages with the same text return only the best, with the number of others in `alike`.
             * @default false
             */
            fold_alike?: boolean;
            /**
             * Corrections
             * @description Rank later statements of the same fact first and say what they correct, in mode `hybrid`. Default: unless the embedding model is behind an endpoint.
             */
            corrections?: boolean | null;
            /**
             * Facts
             * @description Also return facts that a model derived, in `facts`.
             * @default false
             */
            facts?: boolean;
        };
        /**
         * SearchState
         * @description The worst state in any memory base. Messages that wait or are being ingested are found by their words.
         *
         *     What a memory base that is off lacks does not count while another one of the flow is on.
         *     lost: the memory base has lost vectors, perhaps theirs.
         * @enum {string}
         */
        SearchState: "no_memory" | "searchable" | "waiting" | "ingesting" | "failed" | "lost";
        /**
         * SessionChanges
         * @description The session, and what to change.
         */
        SessionChanges: {
            /**
             * Flow Id
             * @description The flow: a UUID or the caller's id.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session to change.
             */
            session_id: string;
            /**
             * New Session Id
             * @description Its new id.
             */
            new_session_id?: string | null;
            /**
             * Metadata
             * @description New metadata; it replaces the stored one.
             */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /**
             * Expires At
             * @description When everything that was captured until then is deleted; null: never, unless `expire_in_days` says so.
             */
            expires_at?: string | null;
            /**
             * Expire In Days
             * @description The same, in days from now.
             */
            expire_in_days?: number | null;
        };
        /**
         * SessionState
         * @description The progress of a session in a memory base.
         * @enum {string}
         */
        SessionState: "synced" | "pending" | "ingesting" | "failed";
        /**
         * SessionView
         * @description A session of a flow. `messages`: number of messages. `title`: of its metadata, else its first question.
         */
        SessionView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID of the session.
             */
            id: string;
            /**
             * Flow Id
             * Format: uuid
             * @description The flow: its UUID.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * End User Id
             * @description The person that the session or chat belongs to; null if unknown.
             */
            end_user_id: string | null;
            /**
             * Title
             * @description `title` of its metadata, else the beginning of its first question; null without either.
             */
            title: string | null;
            /**
             * Messages
             * @description Number of messages.
             */
            messages: number;
            /** @description The worst state of its messages in the flow's memory bases: `lost` (the memory base has lost vectors, perhaps theirs), `failed`, `ingesting`, `waiting` or `searchable`; `no_memory` if none holds them. What waits or is being ingested is found by its words. A memory base that is off counts only if no other one of the flow is on. */
            state: components["schemas"]["SearchState"];
            /**
             * Metadata
             * @description Any JSON object of the caller.
             */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Last Captured At
             * Format: date-time
             * @description When a message was last captured.
             */
            last_captured_at: string;
            /**
             * Expires At
             * @description When everything that was captured until then is deleted; null: only by the rule of its flow.
             */
            expires_at: string | null;
        };
        /**
         * SignInLinkAnswer
         * @description A link for one use. Append `url_path` to the address of the API.
         */
        SignInLinkAnswer: {
            /**
             * Url Path
             * @description The path of the link; it contains a token for one use.
             */
            url_path: string;
            /**
             * Expires At
             * Format: date-time
             * @description When the link stops working.
             */
            expires_at: string;
        };
        /**
         * SkippedSession
         * @description A session that a flush named and that needs no job.
         */
        SkippedSession: {
            /**
             * Session Id
             * @description The session.
             */
            session_id: string;
            /**
             * Reason
             * @description `nothing_pending`, or `not_found` if there is no such session.
             * @enum {string}
             */
            reason: "nothing_pending" | "not_found";
        };
        /**
         * Source
         * @description Where a message of the view comes from; `message_ids` are the stored messages that it stands for.
         *
         *     The kind of messages that strict alignment merged is history if one of them is.
         */
        Source: {
            /**
             * Kind
             * @description What the message is.
             * @enum {string}
             */
            kind: "history" | "summary" | "recall" | "fact" | "predefined" | "standing";
            /**
             * Message Ids
             * @description The stored messages that it stands for; of a summary, its own id.
             */
            message_ids: string[];
            /**
             * Tokens
             * @description Tokens of the message.
             */
            tokens: number;
            /**
             * Score
             * @description The score of a memory; null for other messages.
             */
            score?: number | null;
        };
        /**
         * Spent
         * @description The tokens of the budget that each part of a context uses.
         */
        Spent: {
            /**
             * Summary
             * @description Tokens of the summary.
             */
            summary: number;
            /**
             * Standing
             * @description Tokens of standing statements.
             */
            standing: number;
            /**
             * Recall
             * @description Tokens of memories.
             */
            recall: number;
            /**
             * Facts
             * @description Tokens of facts that a model derived.
             */
            facts: number;
            /**
             * History
             * @description Tokens of history.
             */
            history: number;
            /**
             * Unused
             * @description Tokens of the budget that are left.
             */
            unused: number;
        };
        /**
         * StandingBody
         * @description Standing statements of the end user. `include`: default as the flow says. `share`: part of the budget that they
         *     use at most.
         */
        StandingBody: {
            /**
             * Include
             * @description Whether the context contains the end user's standing statements; null: as the flow says.
             */
            include?: boolean | null;
            /**
             * Share
             * @description Part of the budget that standing statements use at most; 0: none.
             * @default 0.15
             */
            share?: number;
        };
        /**
         * StandingStatementChanges
         * @description The words in the place of what was found; null: what was found again.
         */
        StandingStatementChanges: {
            /**
             * Text
             * @description The words in the place of what was found; null: what was found again.
             */
            text: string | null;
        };
        /**
         * StandingStatementView
         * @description A statement. `text` is what contexts contain: `found`, or a person's own words. `replaced_by` is the later one
         *     that repeats or contradicts it. `said_at` is the message's timestamp.
         */
        StandingStatementView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID of the standing statement.
             */
            id: string;
            /**
             * Kind
             * @description `instruction` or `preference`.
             */
            kind: string;
            /**
             * Text
             * @description What contexts contain: what was found, or a person's own words.
             */
            text: string;
            /**
             * Found
             * @description What was found in the message, verbatim.
             */
            found: string;
            /**
             * Own Words
             * @description Whether a person wrote the text in the place of what was found.
             */
            own_words: boolean;
            /**
             * State
             * @description `active`; `replaced` by a later statement that repeats or contradicts it; or `deleted` by a person.
             * @enum {string}
             */
            state: "active" | "replaced" | "deleted";
            /**
             * Replaced By
             * @description The UUID of the later statement; null unless it was replaced.
             */
            replaced_by: string | null;
            /**
             * Message Id
             * Format: uuid
             * @description The message that states it.
             */
            message_id: string;
            /**
             * Message External Id
             * @description The id that the caller chose for the message; null if that is a UUID.
             */
            message_external_id: string | null;
            /**
             * Session Id
             * @description The session of the message.
             */
            session_id: string;
            /**
             * Seq
             * @description The seq of the message.
             */
            seq: number;
            /**
             * Sender Name
             * @description The sender of the message; null if unknown.
             */
            sender_name: string | null;
            /**
             * Said At
             * Format: date-time
             * @description The timestamp of the message.
             */
            said_at: string;
            /**
             * Changed By
             * @description The name of the API key that changed it last; null if nobody did.
             */
            changed_by: string | null;
            /**
             * Changed At
             * @description When it was changed last; null if never.
             */
            changed_at: string | null;
        };
        /**
         * StandingUse
         * @description A standing statement in a context. `own_words`: a person wrote it in the place of what was found.
         */
        StandingUse: {
            /**
             * Id
             * @description The UUID of the standing statement.
             */
            id: string;
            /**
             * Message Id
             * @description The message that states it.
             */
            message_id: string;
            /**
             * Kind
             * @description `instruction` or `preference`.
             */
            kind: string;
            /**
             * Own Words
             * @description Whether a person wrote the text in the place of what was found.
             */
            own_words: boolean;
        };
        /**
         * StandingView
         * @description The standing statements of an end user, or of a session without one, the latest first. `in_contexts`: whether
         *     the flow's contexts contain them unless the call says otherwise.
         */
        StandingView: {
            /**
             * Flow Id
             * Format: uuid
             * @description The UUID of the flow.
             */
            flow_id: string;
            /**
             * End User Id
             * @description The person; null for a session without one.
             */
            end_user_id: string | null;
            /**
             * Session Id
             * @description The session, if it has no end user; else null.
             */
            session_id: string | null;
            /**
             * In Contexts
             * @description Whether the flow's contexts contain them unless the call says otherwise.
             */
            in_contexts: boolean;
            /**
             * Statements
             * @description The statements, the latest first.
             */
            statements: components["schemas"]["StandingStatementView"][];
        };
        /**
         * StoredWeights
         * @description A memory base's own weights: sets by name, each replacing the default set of that name, and a half-life.
         */
        StoredWeights: {
            /**
             * Sets
             * @description Weights by the name of the default set that each replaces.
             */
            sets: {
                [key: string]: components["schemas"]["WeightSet"];
            };
            /**
             * Fitted At
             * @description When the weights were fitted.
             */
            fitted_at?: string | null;
            /**
             * Questions
             * @description Number of questions that the weights were fitted on.
             */
            questions?: number | null;
            /**
             * Note
             * @description A note for people.
             */
            note?: string | null;
            /**
             * Half Life Days
             * @description The half-life of searches that set none; null: age does not count.
             */
            half_life_days?: number | null;
        };
        /**
         * SummaryBody
         * @description The summary to rebuild; the defaults are the summary that contexts use.
         */
        SummaryBody: {
            /**
             * Flow Id
             * @description The flow: a UUID or the caller's id.
             */
            flow_id: string;
            /**
             * Session Id
             * @description The session's id, chosen by the caller.
             */
            session_id: string;
            /**
             * Summarizer
             * @description What writes the summary, one of those in the settings; by default the first.
             */
            summarizer?: string | null;
            /**
             * Preset
             * @description The preset whose summary it is; `pairs_N` is that of all but the latest N pairs.
             * @default token_buffer
             */
            preset?: string;
        };
        /**
         * SummaryUse
         * @description The summary of a view: it covers the messages from_seq to to_seq, of which `overlap` are also sent verbatim.
         */
        SummaryUse: {
            /**
             * From Seq
             * @description The seq of the first message that the summary covers.
             */
            from_seq: number;
            /**
             * To Seq
             * @description The seq of the last message.
             */
            to_seq: number;
            /**
             * Overlap
             * @description Number of covered messages that are also sent verbatim.
             */
            overlap: number;
        };
        /**
         * SummaryView
         * @description A session's summary. `summary` is null until one is made, and after a covered message was deleted.
         *
         *     `stale`: a covered message was edited. `requested_seq`: the end of the next summary; `error`: of its last attempt.
         */
        SummaryView: {
            /**
             * Summary
             * @description The text of the summary; null if there is none.
             */
            summary: string | null;
            /** @description The messages that the summary covers; null if there is none. */
            covers: components["schemas"]["Covers"] | null;
            /**
             * Stale
             * @description Whether a covered message was edited since.
             */
            stale: boolean;
            /**
             * Preset
             * @description The preset whose summary it is.
             */
            preset: string;
            /**
             * Summarizer
             * @description What wrote the summary.
             */
            summarizer: string;
            /**
             * Requested Seq
             * @description The last message that the next summary must cover.
             */
            requested_seq: number;
            /**
             * Error
             * @description Code of the last error; null without one.
             */
            error: string | null;
            /**
             * Updated At
             * @description When it last changed.
             */
            updated_at: string | null;
        };
        /**
         * Tally
         * @description Rows of one kind in an import.
         */
        Tally: {
            /**
             * Created
             * @description How many were new.
             * @default 0
             */
            created?: number;
            /**
             * Known
             * @description How many were stored already.
             * @default 0
             */
            known?: number;
        };
        /**
         * TokensByKind
         * @description The tokens of a view, by where its messages come from.
         */
        TokensByKind: {
            /**
             * Recall
             * @description Tokens of memories.
             * @default 0
             */
            recall?: number;
            /**
             * History
             * @description Tokens of history.
             * @default 0
             */
            history?: number;
            /**
             * Summary
             * @description Tokens of the summary.
             * @default 0
             */
            summary?: number;
            /**
             * Predefined
             * @description Tokens of predefined messages.
             * @default 0
             */
            predefined?: number;
            /**
             * Standing
             * @description Tokens of standing statements.
             * @default 0
             */
            standing?: number;
        };
        /**
         * Trimmed
         * @description `deleted_count`: messages that views no longer show but the log keeps. A summary is a remaining message.
         */
        Trimmed: {
            /**
             * Deleted Count
             * @description Number of messages that views no longer show; the log keeps them.
             */
            deleted_count: number;
            /**
             * Remaining Count
             * @description Number of messages that views may still show; a summary is one of them.
             */
            remaining_count: number;
            /**
             * Summary
             * @description The text of the summary; null if there is none.
             */
            summary?: string | null;
        };
        /**
         * Usage
         * @description The quotas of a user, over all keys, and those of a key; `key_id` is null without one.
         */
        Usage: {
            /**
             * Key Id
             * @description The key.
             */
            key_id: string | null;
            /**
             * User
             * @description Quotas of the user, over all of its keys; empty for a limited key.
             */
            user: components["schemas"]["QuotaUsage"][];
            /**
             * Key
             * @description Quotas of the key.
             */
            key: components["schemas"]["QuotaUsage"][];
        };
        /**
         * ViewAnswer
         * @description Messages for a model. `sources` is parallel to `messages`; `text` is the same content as a transcript.
         */
        ViewAnswer: {
            /**
             * Messages
             * @description Messages that can go to a model unchanged.
             */
            messages: components["schemas"]["ViewMessage"][];
            /**
             * Sources
             * @description Where each message comes from, parallel to `messages`.
             */
            sources: components["schemas"]["Source"][];
            /**
             * Text
             * @description The same content as a transcript.
             */
            text: string;
            /** @description What happened to the log. */
            report: components["schemas"]["Report"];
        };
        /**
         * WebhookBody
         * @description A new webhook.
         */
        WebhookBody: {
            /**
             * Url
             * @description Where events are sent: http or https, without a user, a password and a fragment. It must lead to a public address, unless the settings allow others.
             */
            url: string;
            /**
             * Event Types
             * @description The types of the events to send.
             */
            event_types: components["schemas"]["EventType"][];
            /**
             * Description
             * @description A note for people.
             * @default
             */
            description?: string;
        };
        /**
         * WebhookPatchBody
         * @description What to change of a webhook.
         */
        WebhookPatchBody: {
            /**
             * Url
             * @description Where events are sent: http or https, without a user, a password and a fragment. It must lead to a public address, unless the settings allow others.
             */
            url?: string;
            /**
             * Event Types
             * @description The types of the events to send.
             */
            event_types?: components["schemas"]["EventType"][];
            /**
             * Description
             * @description A note for people.
             */
            description?: string;
            /**
             * Enabled
             * @description Whether events are recorded and sent.
             */
            enabled?: boolean;
        };
        /**
         * WebhookView
         * @description An endpoint as it is shown, without its secrets. `pending` and `dead` count its deliveries.
         */
        WebhookView: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Url
             * @description Where events are sent.
             */
            url: string;
            /**
             * Description
             * @description A note for people.
             */
            description: string;
            /**
             * Event Types
             * @description The types of the events that are sent.
             */
            event_types: components["schemas"]["EventType"][];
            /**
             * Enabled
             * @description Whether events are recorded and sent.
             */
            enabled: boolean;
            /**
             * Disabled Reason
             * @description Why it is disabled: `request`; `gone`, it answered with 410; `failing`, no attempt succeeded for days. Null while enabled.
             */
            disabled_reason: string | null;
            /**
             * Disabled At
             * @description Since when it is disabled; null while enabled.
             */
            disabled_at: string | null;
            /**
             * Failing Since
             * @description The first failed attempt after the last successful one; null if the last one succeeded.
             */
            failing_since: string | null;
            /**
             * Former Secret Until
             * @description Until when requests are signed with the former secret too; null without one.
             */
            former_secret_until: string | null;
            /**
             * Pending
             * @description Number of deliveries that wait for their next attempt, without tests.
             */
            pending: number;
            /**
             * Dead
             * @description Number of deliveries whose attempts have all failed, without tests.
             */
            dead: number;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
        };
        /**
         * WebhookWithSecret
         * @description An endpoint with its new secret. Only this answer contains the secret.
         */
        WebhookWithSecret: {
            /**
             * Id
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /**
             * Url
             * @description Where events are sent.
             */
            url: string;
            /**
             * Description
             * @description A note for people.
             */
            description: string;
            /**
             * Event Types
             * @description The types of the events that are sent.
             */
            event_types: components["schemas"]["EventType"][];
            /**
             * Enabled
             * @description Whether events are recorded and sent.
             */
            enabled: boolean;
            /**
             * Disabled Reason
             * @description Why it is disabled: `request`; `gone`, it answered with 410; `failing`, no attempt succeeded for days. Null while enabled.
             */
            disabled_reason: string | null;
            /**
             * Disabled At
             * @description Since when it is disabled; null while enabled.
             */
            disabled_at: string | null;
            /**
             * Failing Since
             * @description The first failed attempt after the last successful one; null if the last one succeeded.
             */
            failing_since: string | null;
            /**
             * Former Secret Until
             * @description Until when requests are signed with the former secret too; null without one.
             */
            former_secret_until: string | null;
            /**
             * Pending
             * @description Number of deliveries that wait for their next attempt, without tests.
             */
            pending: number;
            /**
             * Dead
             * @description Number of deliveries whose attempts have all failed, without tests.
             */
            dead: number;
            /**
             * Created At
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Secret
             * @description The secret that signs requests. It is shown only here.
             */
            secret: string;
        };
        /**
         * WeightSet
         * @description The weight of each signal (0 where it has none), and the bias of the sum.
         */
        WeightSet: {
            /**
             * Bias
             * @description Added to the weighted sum of the signals.
             */
            bias: number;
            /**
             * Weights
             * @description The weight of each signal, by its name.
             */
            weights: {
                [key: string]: number;
            };
        };
        /**
         * WeightSetBody
         * @description The score is the bias plus the sum of weight times signal; a signal without a weight adds nothing.
         */
        WeightSetBody: {
            /**
             * Bias
             * @description Added to the weighted sum of the signals.
             */
            bias: number;
            /**
             * Weights
             * @description The weight of each signal, by its name.
             */
            weights: {
                [key: string]: number;
            };
        };
        /**
         * WeightsBody
         * @description A memory base's own weights. Each set replaces the default set of its name.
         */
        WeightsBody: {
            /**
             * Sets
             * @description Weights by the name of the default set that each replaces. May be empty if `half_life_days` is given.
             */
            sets: {
                [key: string]: components["schemas"]["WeightSetBody"];
            };
            /**
             * Fitted At
             * @description When the weights were fitted.
             */
            fitted_at?: string | null;
            /**
             * Questions
             * @description Number of questions that the weights were fitted on.
             */
            questions?: number | null;
            /**
             * Note
             * @description A note for people.
             */
            note?: string | null;
            /**
             * Half Life Days
             * @description Of searches that set none; null: age does not count.
             */
            half_life_days?: number | null;
        };
        /**
         * WeightsView
         * @description The default weights, the memory base's own weights if any, and its previous ones.
         */
        WeightsView: {
            /**
             * Defaults
             * @description The default sets, by name.
             */
            defaults: {
                [key: string]: components["schemas"]["WeightSet"];
            };
            /** @description The memory base's own weights; null if the default ones are used. */
            stored: components["schemas"]["StoredWeights"] | null;
            /** @description The value of `stored` before the last change. */
            previous: components["schemas"]["StoredWeights"] | null;
        };
        /**
         * Window
         * @description The last hour, day or week.
         * @enum {string}
         */
        Window: "1h" | "24h" | "7d";
        /**
         * WorkerState
         * @description running: takes jobs. draining: ends its jobs and stops. lost: no heartbeat for `heartbeat_stale_seconds`.
         * @enum {string}
         */
        WorkerState: "running" | "draining" | "lost";
        /**
         * WorkerView
         * @description A worker with what it holds. `name`: host, data directory, pid and start time.
         */
        WorkerView: {
            /**
             * Name
             * @description Host, data directory, process and start time.
             */
            name: string;
            /** @description `running`; `draining`: it ends its jobs and takes no others; `lost`: its heartbeats have stopped. */
            state: components["schemas"]["WorkerState"];
            /**
             * Started At
             * Format: date-time
             * @description When it started.
             */
            started_at: string;
            /**
             * Last Seen At
             * Format: date-time
             * @description Its last heartbeat.
             */
            last_seen_at: string;
            /**
             * Drain Requested At
             * @description When somebody asked it to stop; null: nobody has.
             */
            drain_requested_at: string | null;
            /**
             * Draining At
             * @description Since when it takes no jobs; null: it takes them.
             */
            draining_at: string | null;
            /**
             * Jobs
             * @description Number of jobs that it holds.
             */
            jobs: number;
            /**
             * Messages
             * @description Number of messages in these jobs.
             */
            messages: number;
            /**
             * Oldest Job At
             * @description When the first of these jobs started; null without one.
             */
            oldest_job_at: string | null;
        };
        /**
         * Workers
         * @description Every worker that has a heartbeat, the one that has run longest first. A clean stop leaves none.
         */
        Workers: {
            /**
             * Items
             * @description Every worker that has a heartbeat, the one that has run longest first.
             */
            items: components["schemas"]["WorkerView"][];
        };
        /**
         * SentMessage
         * @description A message in one of the accepted formats; it is stored in OpenAI's.
         */
        SentMessage: components["schemas"]["OpenAIMessage"] | components["schemas"]["LangflowMessage"] | components["schemas"]["LangChainMessage"] | components["schemas"]["LangChainDump"];
        /**
         * OpenAIMessage
         * @description A message in OpenAI's format.
         */
        OpenAIMessage: {
            /**
             * @description Who speaks; `developer` is stored as `system`.
             * @enum {string}
             */
            role: "user" | "assistant" | "system" | "developer" | "tool";
            /** @description Text or content parts; null only beside tool calls. */
            content?: (string | (components["schemas"]["ContentPart"] | string)[]) | null;
            /** @description Calls of tools by the model. */
            tool_calls?: components["schemas"]["ToolCall"][] | null;
            /** @description The tool call that this message answers. */
            tool_call_id?: string | null;
            /** @description The name of the speaker or the tool. */
            name?: string | null;
            /** @description A UUID or any string; generated by default. Unique in the flow. */
            id?: string | null;
            /** @description Whether it is an output of the flow; by default true for `assistant`. */
            is_output?: boolean | null;
            /** @description Files of the message, stored unchanged. */
            files?: unknown[] | null;
            /** @description Any JSON object; searches can filter by it. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description The message that this one follows. */
            parent_message_id?: string | null;
            /** @description When it was written: ISO 8601, or seconds since 1970; by default now. */
            timestamp?: (string | number) | null;
            /** @description The speaker's name, for display. */
            sender_name?: string | null;
            /** @description By default `completed`. */
            status?: ("completed" | "failed" | "stopped") | null;
            /**
             * @description Set by the Responses API, and dropped.
             * @constant
             */
            type?: "message";
            /** @description Accepted if it is empty, and dropped. */
            refusal?: unknown;
            /** @description Accepted if it is empty, and dropped. */
            annotations?: unknown;
            /** @description Accepted if it is empty, and dropped. */
            audio?: unknown;
            /** @description Accepted if it is empty, and dropped. */
            function_call?: unknown;
        };
        /**
         * LangflowMessage
         * @description A message in Langflow's format.
         */
        LangflowMessage: {
            /** @description The text. */
            text: string;
            /** @description `User` or `Machine`. */
            sender: string;
            /** @description A UUID or any string; generated by default. Unique in the flow. */
            id?: string | null;
            /** @description Whether it is an output of the flow; by default true for `assistant`. */
            is_output?: boolean | null;
            /** @description Files of the message, stored unchanged. */
            files?: unknown[] | null;
            /** @description Any JSON object; searches can filter by it. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description The message that this one follows. */
            parent_message_id?: string | null;
            /** @description When it was written: ISO 8601, or seconds since 1970; by default now. */
            timestamp?: (string | number) | null;
            /** @description The speaker's name, for display. */
            sender_name?: string | null;
            /** @description By default `completed`. */
            status?: ("completed" | "failed" | "stopped") | null;
        };
        /**
         * LangChainMessage
         * @description A message in LangChain's format.
         */
        LangChainMessage: {
            /**
             * @description Who speaks.
             * @enum {string}
             */
            type: "human" | "ai" | "system" | "developer" | "tool" | "HumanMessageChunk" | "AIMessageChunk";
            /** @description Text or content parts; null only beside tool calls. */
            content?: (string | (components["schemas"]["ContentPart"] | string)[]) | null;
            /** @description Calls of tools by the model. */
            tool_calls?: components["schemas"]["ToolCall"][] | null;
            /** @description The tool call that this message answers. */
            tool_call_id?: string | null;
            /** @description The name of the speaker or the tool. */
            name?: string | null;
            /** @description A UUID or any string; generated by default. Unique in the flow. */
            id?: string | null;
            /** @description Whether it is an output of the flow; by default true for `assistant`. */
            is_output?: boolean | null;
            /** @description Files of the message, stored unchanged. */
            files?: unknown[] | null;
            /** @description Any JSON object; searches can filter by it. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description The message that this one follows. */
            parent_message_id?: string | null;
            /** @description When it was written: ISO 8601, or seconds since 1970; by default now. */
            timestamp?: (string | number) | null;
            /** @description The speaker's name, for display. */
            sender_name?: string | null;
            /** @description By default `completed`. */
            status?: ("completed" | "failed" | "stopped" | "success" | "error") | null;
            /** @description Dropped. */
            example?: unknown;
            /** @description Stored in `metadata`. */
            additional_kwargs?: unknown;
            /** @description Stored in `metadata`. */
            response_metadata?: unknown;
            /** @description Stored in `metadata`. */
            usage_metadata?: unknown;
            /** @description Stored in `metadata`. */
            invalid_tool_calls?: unknown;
            /** @description Stored in `metadata`. */
            artifact?: unknown;
        };
        /**
         * LangChainDump
         * @description A message as LangChain's messages_to_dict returns it.
         */
        LangChainDump: {
            /**
             * @description Who speaks.
             * @enum {string}
             */
            type: "human" | "ai" | "system" | "developer" | "tool" | "HumanMessageChunk" | "AIMessageChunk";
            /** @description The message. */
            data: components["schemas"]["LangChainData"];
        };
        /**
         * LangChainData
         * @description The fields of a dumped LangChain message.
         */
        LangChainData: {
            /** @description Dropped. */
            type?: unknown;
            /** @description Text or content parts; null only beside tool calls. */
            content?: (string | (components["schemas"]["ContentPart"] | string)[]) | null;
            /** @description Calls of tools by the model. */
            tool_calls?: components["schemas"]["ToolCall"][] | null;
            /** @description The tool call that this message answers. */
            tool_call_id?: string | null;
            /** @description The name of the speaker or the tool. */
            name?: string | null;
            /** @description A UUID or any string; generated by default. Unique in the flow. */
            id?: string | null;
            /** @description Whether it is an output of the flow; by default true for `assistant`. */
            is_output?: boolean | null;
            /** @description Files of the message, stored unchanged. */
            files?: unknown[] | null;
            /** @description Any JSON object; searches can filter by it. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description The message that this one follows. */
            parent_message_id?: string | null;
            /** @description When it was written: ISO 8601, or seconds since 1970; by default now. */
            timestamp?: (string | number) | null;
            /** @description The speaker's name, for display. */
            sender_name?: string | null;
            /** @description By default `completed`. */
            status?: ("completed" | "failed" | "stopped" | "success" | "error") | null;
            /** @description Dropped. */
            example?: unknown;
            /** @description Stored in `metadata`. */
            additional_kwargs?: unknown;
            /** @description Stored in `metadata`. */
            response_metadata?: unknown;
            /** @description Stored in `metadata`. */
            usage_metadata?: unknown;
            /** @description Stored in `metadata`. */
            invalid_tool_calls?: unknown;
            /** @description Stored in `metadata`. */
            artifact?: unknown;
        };
        /**
         * ContentPart
         * @description A part of a message's content. Only text is embedded.
         */
        ContentPart: components["schemas"]["TextPart"] | components["schemas"]["OtherPart"];
        /**
         * TextPart
         * @description A part with text.
         */
        TextPart: {
            /**
             * @description What kind of text it is.
             * @enum {string}
             */
            type: "text" | "input_text" | "output_text";
            /** @description The text. */
            text: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * OtherPart
         * @description A part without text, such as an image, as the model's provider defines it.
         */
        OtherPart: {
            /** @description What the part is, such as `image_url`. */
            type: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * ToolCall
         * @description A call of a tool, in OpenAI's format.
         */
        ToolCall: components["schemas"]["FunctionCall"] | components["schemas"]["OtherCall"];
        /**
         * FunctionCall
         * @description A call of a function.
         */
        FunctionCall: {
            /** @description The id that the result refers to. */
            id?: string | null;
            /** @description Always `function`. */
            type?: string;
            /** @description What is called. */
            function: components["schemas"]["CalledFunction"];
        } & {
            [key: string]: unknown;
        };
        /**
         * CalledFunction
         * @description A function with its arguments.
         */
        CalledFunction: {
            /** @description The name of the function. */
            name: string;
            /** @description The arguments as JSON text. */
            arguments: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * OtherCall
         * @description Any other call, as the model's provider defines it.
         */
        OtherCall: {
            [key: string]: unknown;
        };
        /**
         * ViewMessage
         * @description A message for a model, in the requested format.
         */
        ViewMessage: components["schemas"]["OpenAIViewMessage"] | components["schemas"]["LangChainViewMessage"];
        /**
         * OpenAIViewMessage
         * @description A message for OpenAI's API and those like it.
         */
        OpenAIViewMessage: {
            /**
             * @description Who speaks.
             * @enum {string}
             */
            role: "user" | "assistant" | "system" | "tool";
            /** @description Text, content parts, or null beside tool calls. */
            content: (string | components["schemas"]["ContentPart"][]) | null;
            /** @description Calls of tools by the model. */
            tool_calls?: components["schemas"]["ToolCall"][];
            /** @description The tool call that this message answers. */
            tool_call_id?: string;
            /** @description The name of the speaker or the tool. */
            name?: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * LangChainCall
         * @description A call of a tool, in LangChain's format.
         */
        LangChainCall: {
            /** @description The name of the tool. */
            name: string;
            /** @description The arguments. */
            args: {
                [key: string]: unknown;
            };
            /** @description The id that the result refers to. */
            id?: string | null;
            /** @description Always `tool_call`. */
            type?: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * LangChainViewMessage
         * @description A message for LangChain.
         */
        LangChainViewMessage: {
            /**
             * @description Who speaks.
             * @enum {string}
             */
            type: "human" | "ai" | "system" | "tool";
            /** @description Text or content parts. */
            content: string | components["schemas"]["ContentPart"][];
            /** @description The UUID of the stored message. */
            id?: string;
            /** @description Calls of tools by the model. */
            tool_calls?: components["schemas"]["LangChainCall"][];
            /** @description The tool call that this message answers. */
            tool_call_id?: string;
            /** @description The name of the speaker or the tool. */
            name?: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * ExportLine
         * @description A line of an export.
         */
        ExportLine: components["schemas"]["ExportStart"] | components["schemas"]["FlowLine"] | components["schemas"]["SessionLine"] | components["schemas"]["RunLine"] | components["schemas"]["MessageLine"] | components["schemas"]["ChatMemoryLine"] | components["schemas"]["ChatLine"] | components["schemas"]["ChatMessageLine"] | components["schemas"]["SummaryLine"] | components["schemas"]["NodeExecutionLine"] | components["schemas"]["MemoryUseLine"] | components["schemas"]["ExportEnd"];
        /**
         * ExportStart
         * @description The first line of an export.
         */
        ExportStart: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "export";
            /** @description Version of the format. */
            format: number;
            /** @description Version of the server. */
            memorybase: string;
            /**
             * Format: date-time
             * @description When the export began.
             */
            exported_at: string;
        };
        /**
         * FlowLine
         * @description A flow.
         */
        FlowLine: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "flow";
            /**
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /** @description The id as the caller chose it. */
            external_id: string | null;
            /** @description The name. */
            name: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
        };
        /**
         * SessionLine
         * @description A session.
         */
        SessionLine: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "session";
            /**
             * Format: uuid
             * @description The flow.
             */
            flow_id: string;
            /** @description The flow's id as the caller chose it. */
            flow_external_id: string | null;
            /** @description The session. */
            session_id: string;
            /** @description The person that the session belongs to. */
            end_user_id: string | null;
            /** @description Any JSON object. */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When a message was last captured.
             */
            last_captured_at: string;
        };
        /**
         * RunLine
         * @description A run.
         */
        RunLine: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "run";
            /**
             * Format: uuid
             * @description The flow.
             */
            flow_id: string;
            /** @description The flow's id as the caller chose it. */
            flow_external_id: string | null;
            /** @description The session. */
            session_id: string;
            /** @description The person that the session belongs to. */
            end_user_id: string | null;
            /**
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /** @description The id as the caller chose it. */
            external_id: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
        };
        /**
         * MessageLine
         * @description A stored message.
         */
        MessageLine: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "message";
            /**
             * Format: uuid
             * @description The flow.
             */
            flow_id: string;
            /** @description The flow's id as the caller chose it. */
            flow_external_id: string | null;
            /** @description The session. */
            session_id: string;
            /** @description The person that the session belongs to. */
            end_user_id: string | null;
            /**
             * Format: uuid
             * @description The run.
             */
            run_id: string;
            /** @description The run's id as the caller chose it. */
            run_external_id: string | null;
            /** @description The id of the message that this one follows, as the caller chose it. */
            parent_external_id: string | null;
            /**
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /** @description The id as the caller chose it. */
            external_id: string | null;
            /** @description Number of the message, in commit order. */
            seq: number;
            /** @description Who speaks. */
            role: string;
            /** @description Text, content parts, or null beside tool calls. */
            content: (string | components["schemas"]["ContentPart"][]) | null;
            /** @description Calls of tools by the model. */
            tool_calls: components["schemas"]["ToolCall"][] | null;
            /** @description The tool call that this message answers. */
            tool_call_id: string | null;
            /** @description The name of the speaker or the tool. */
            name: string | null;
            /** @description Files of the message, as they were sent. */
            files: unknown[];
            /** @description Any JSON object. */
            metadata: {
                [key: string]: unknown;
            };
            /** @description `completed`, `failed` or `stopped`. */
            status: string;
            /** @description Whether it is an output of the flow. */
            is_output: boolean;
            /** @description The speaker's name. */
            sender_name: string | null;
            /** @description The message that this one follows. */
            parent_message_id: string | null;
            /** @description How the parent was named, if not by an id. */
            parent_rule: string | null;
            /** @description Number of the version, from 1. */
            version: number;
            /**
             * Format: date-time
             * @description When it was written.
             */
            timestamp: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            captured_at: string;
            /** @description When it was last edited. */
            edited_at: string | null;
            /** @description Whether no search recalls it. */
            muted: boolean;
            /** @description Whether searches return it first where it is relevant. */
            pinned: boolean;
            /** @description What people made of its standing statements. */
            standing?: components["schemas"]["StandingChange"][];
        };
        /**
         * ChatMemoryLine
         * @description A chat memory.
         */
        ChatMemoryLine: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "chat_memory";
            /**
             * Format: uuid
             * @description The flow.
             */
            flow_id: string;
            /** @description The flow's id as the caller chose it. */
            flow_external_id: string | null;
            /** @description The node of the chat memory. */
            node_id: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Name
             * @description The name, for people.
             */
            name?: string;
            /**
             * Chat Id
             * @description Template of the chat id, such as user-{{ start.user_id }}.
             */
            chat_id?: string;
            /**
             * User Message Content
             * @description Template of user messages.
             * @default {{ start | json }}
             */
            user_message_content?: string;
            /**
             * Limit Type
             * @description What limits a view: a number of messages or of tokens.
             * @default messages
             * @enum {string}
             */
            limit_type?: "messages" | "tokens";
            /**
             * Trim Strategy
             * @description What is dropped first: `drop_oldest`, or `drop_middle`, which keeps the first messages and the newest.
             * @default drop_oldest
             * @enum {string}
             */
            trim_strategy?: "drop_oldest" | "drop_middle";
            /**
             * Clear Tool Results
             * @description Whether results of tools are emptied, except those of the current turn.
             * @default false
             */
            clear_tool_results?: boolean;
            /**
             * Enable Summarization
             * @description Whether a summary replaces what the limits leave out.
             * @default false
             */
            enable_summarization?: boolean;
            /**
             * Summarize Prompt
             * @description The instruction for summaries.
             * @default Summarize the key points of the removed messages, preserving important context and decisions made.
             */
            summarize_prompt?: string;
            /**
             * Use Predefined Messages
             * @description Whether views begin with the predefined messages.
             * @default false
             */
            use_predefined_messages?: boolean;
            /**
             * Predefined Messages
             * @description Messages shown before the history.
             */
            predefined_messages?: components["schemas"]["PredefinedMessage"][];
            /**
             * Trim Mode
             * @description For limit_type messages.
             * @default continuous
             * @enum {string}
             */
            trim_mode?: "continuous" | "threshold";
            /**
             * Max Messages
             * @description Messages that continuous trimming keeps.
             * @default 20
             */
            max_messages?: number;
            /**
             * Threshold Trigger
             * @description Trims at this many messages.
             * @default 500
             */
            threshold_trigger?: number;
            /**
             * Threshold Target
             * @description Messages kept then; below the trigger.
             * @default 100
             */
            threshold_target?: number;
            /**
             * Max Images
             * @description Maximum images that are sent, newest first; others are replaced by their name.
             * @default 1
             */
            max_images?: number;
            /**
             * Max Tokens
             * @description Maximum tokens.
             * @default 2000
             */
            max_tokens?: number;
            /**
             * Min Messages
             * @description Newest messages kept beyond max_tokens.
             * @default 0
             */
            min_messages?: number;
            /**
             * Pin Predefined
             * @description Never trim predefined messages; they still count.
             * @default false
             */
            pin_predefined?: boolean;
            /**
             * Keep First
             * @description First messages kept by drop_middle; by default the predefined ones, at least 2.
             */
            keep_first?: number | null;
        };
        /**
         * ChatLine
         * @description A chat.
         */
        ChatLine: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "chat";
            /**
             * Format: uuid
             * @description The flow.
             */
            flow_id: string;
            /** @description The flow's id as the caller chose it. */
            flow_external_id: string | null;
            /** @description The node of the chat memory. */
            node_id: string;
            /** @description The chat. */
            chat_id: string;
            /** @description The person that the chat belongs to. */
            end_user_id: string | null;
            /** @description The text; null if there is none. */
            summary: string | null;
            /** @description The messages that it covers. */
            covers: components["schemas"]["Covers"] | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        /**
         * ChatMessageLine
         * @description A message of a chat.
         */
        ChatMessageLine: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "chat_message";
            /**
             * Format: uuid
             * @description The flow.
             */
            flow_id: string;
            /** @description The flow's id as the caller chose it. */
            flow_external_id: string | null;
            /** @description The node of the chat memory. */
            node_id: string;
            /** @description The chat. */
            chat_id: string;
            /** @description The person that the chat belongs to. */
            end_user_id: string | null;
            /**
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /** @description The id as the caller chose it. */
            external_id: string | null;
            /** @description Number of the message, in commit order. */
            seq: number;
            /** @description Who speaks. */
            role: string;
            /** @description Text, content parts, or null beside tool calls. */
            content: (string | components["schemas"]["ContentPart"][]) | null;
            /** @description Calls of tools by the model. */
            tool_calls: components["schemas"]["ToolCall"][] | null;
            /** @description The tool call that this message answers. */
            tool_call_id: string | null;
            /** @description The name of the speaker or the tool. */
            name: string | null;
            /** @description Files of the message, as they were sent. */
            files: unknown[];
            /** @description Any JSON object. */
            metadata: {
                [key: string]: unknown;
            };
            /** @description `completed`, `failed` or `stopped`. */
            status: string;
            /** @description The run that wrote it. */
            run_id: string | null;
            /**
             * Format: uuid
             * @description The run that wrote it, or an id for each call without a run.
             */
            request_id: string;
            /** @description Number of tokens. */
            tokens: number;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
        };
        /**
         * SummaryLine
         * @description A summary of a session. An import ignores it.
         */
        SummaryLine: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "summary";
            /**
             * Format: uuid
             * @description The flow.
             */
            flow_id: string;
            /** @description The flow's id as the caller chose it. */
            flow_external_id: string | null;
            /** @description The session. */
            session_id: string;
            /** @description The person that the session belongs to. */
            end_user_id: string | null;
            /** @description The preset whose summary it is. */
            preset: string;
            /** @description What wrote it. */
            summarizer: string;
            /** @description The text; null if there is none. */
            summary: string | null;
            /** @description The messages that it covers. */
            covers: components["schemas"]["Covers"] | null;
            /** @description Whether a covered message was edited since. */
            stale: boolean;
            /** @description When it last changed. */
            updated_at: string | null;
        };
        /**
         * NodeExecutionLine
         * @description A node execution.
         */
        NodeExecutionLine: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "node_execution";
            /**
             * Format: uuid
             * @description The flow.
             */
            flow_id: string;
            /** @description The flow's id as the caller chose it. */
            flow_external_id: string | null;
            /** @description The session. */
            session_id: string;
            /** @description The person that the session belongs to. */
            end_user_id: string | null;
            /**
             * Format: uuid
             * @description The run.
             */
            run_id: string;
            /** @description The run's id as the caller chose it. */
            run_external_id: string | null;
            /**
             * Format: uuid
             * @description The UUID.
             */
            id: string;
            /** @description The id as the caller chose it. */
            external_id: string | null;
            /** @description The node. */
            node_id: string;
            /** @description Number of this execution among the node's executions in the run. */
            index: number;
            /** @description How it ended. */
            status: string;
            /** @description What the node returned. */
            outputs: components["schemas"]["ExecutionOutputs"];
            /** @description Messages before its context. */
            few_shots: components["schemas"]["OpenAIViewMessage"][];
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        /**
         * MemoryUseLine
         * @description What a model received.
         */
        MemoryUseLine: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "memory_use";
            /**
             * Format: uuid
             * @description The flow.
             */
            flow_id: string;
            /** @description The flow's id as the caller chose it. */
            flow_external_id: string | null;
            /**
             * Format: uuid
             * @description The run.
             */
            run_id: string;
            /** @description The run's id as the caller chose it. */
            run_external_id: string | null;
            /** @description The session; null if it is unknown. */
            session_id: string | null;
            /** @description The node. */
            node_id: string;
            /** @description The messages as they were sent. */
            messages: components["schemas"]["ViewMessage"][];
            /** @description Where each message comes from. */
            sources: components["schemas"]["Source"][];
            /** @description The report of the view. */
            report: {
                [key: string]: unknown;
            };
            /** @description What was looked for; null if nothing was. */
            query: string | null;
            /** @description What session memory showed. */
            memory_use_summary: components["schemas"]["MemoryUseSummary"] | null;
            /**
             * Format: date-time
             * @description When the memory was read.
             */
            recorded_at: string;
            /** @description Ids of its sources as the caller chose them, by kind and UUID. */
            external_ids: {
                [key: string]: unknown;
            };
        };
        /**
         * StandingChange
         * @description A standing statement that a person changed.
         */
        StandingChange: {
            /** @description `instruction` or `preference`. */
            kind: string;
            /** @description What was found in the message, verbatim. */
            found: string;
            /** @description A person's own words in its place; null without any. */
            edited: string | null;
            /** @description When a person deleted it; null if nobody did. */
            deleted_at: string | null;
            /** @description The name of the API key that changed it. */
            changed_by: string | null;
            /**
             * Format: date-time
             * @description When it was changed.
             */
            changed_at: string;
        };
        /**
         * ExportEnd
         * @description The last line of an export. Without it, the export is incomplete.
         */
        ExportEnd: {
            /**
             * @description What the line is. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "end";
            /** @description Number of lines of flows. */
            flows?: number;
            /** @description Number of lines of sessions. */
            sessions?: number;
            /** @description Number of lines of runs. */
            runs?: number;
            /** @description Number of lines of messages. */
            messages?: number;
            /** @description Number of lines of summaries. */
            summaries?: number;
            /** @description Number of lines of node executions. */
            node_executions?: number;
            /** @description Number of lines of memory uses. */
            memory_uses?: number;
            /** @description Number of lines of chat memories. */
            chat_memories?: number;
            /** @description Number of lines of chats. */
            chats?: number;
            /** @description Number of lines of chat messages. */
            chat_messages?: number;
        } & {
            [key: string]: unknown;
        };
        /**
         * JobEvent
         * @description A server-sent event about a job.
         */
        JobEvent: {
            /**
             * @description `job`: the job changed; `end`: it ended; `gone`: it was deleted; `unauthorized`: the key was revoked.
             * @enum {string}
             */
            event: "job" | "end" | "gone" | "unauthorized";
            /** @description The job, for `job` and `end`; else empty. */
            data: components["schemas"]["JobView"] | components["schemas"]["NoData"];
        };
        /**
         * NoData
         * @description Always `{}`.
         */
        NoData: Record<string, never>;
        /**
         * Turn
         * @description A message before or after a result.
         */
        Turn: {
            /**
             * Format: uuid
             * @description The message.
             */
            message_id: string;
            /**
             * Format: uuid
             * @description Its run.
             */
            run_id: string;
            /** @description Its number in the session. */
            seq: number;
            /** @description Who speaks. */
            role: string;
            /** @description The speaker's name. */
            sender_name: string | null;
            /** @description Text, content parts, or null beside tool calls. */
            content: (string | components["schemas"]["ContentPart"][]) | null;
            /**
             * Format: date-time
             * @description When it was written.
             */
            timestamp: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * ScoreParts
         * @description How a score was computed. In mode `dense` it has only the cosine and the chunk.
         */
        ScoreParts: {
            /** @description Each signal, by its name. */
            signals?: {
                [key: string]: components["schemas"]["SignalPart"];
            };
            /** @description Added to the sum of the shares. */
            bias?: number;
            /** @description `default`, or `tuned` for the memory base's own. */
            weights?: string;
            /** @description The name of the set of weights. */
            weight_set?: string;
            /** @description The factor for the age of the message. */
            recency?: number | null;
            /** @description The factor for how much the store knows of what is asked. */
            relevance?: number | null;
            /** @description The score before the result changed places with another. */
            own_score?: number;
            /** @description The score of the reranker, if one is set. */
            reranker?: number;
            /** @description In mode `dense`: the cosine before the correction for length. */
            dense?: number | null;
            /** @description Number of the chunk that matched best. */
            chunk?: number | null;
            /** @description Where the chunk was found. */
            source?: string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * SignalPart
         * @description A signal in a score.
         */
        SignalPart: {
            /** @description The value of the signal. */
            value: number;
            /** @description Its weight times the value. */
            share: number;
        } & {
            [key: string]: unknown;
        };
        /**
         * MemoryUseSummary
         * @description What session memory showed.
         */
        MemoryUseSummary: {
            /** @description The text of the summary; empty without one. */
            summary?: string;
            /** @description The pairs of question and reply, newest first. */
            chatMessages?: components["schemas"]["ShownPair"][];
        } & {
            [key: string]: unknown;
        };
        /**
         * ShownPair
         * @description A question and its reply.
         */
        ShownPair: {
            /** @description The question's message. */
            messageId?: string;
            /** @description The text of the question. */
            userMessage?: string;
            /** @description The text of the reply. */
            agentMessage?: string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * FlowRef
         * @description A flow by both of its ids.
         */
        FlowRef: {
            /**
             * Format: uuid
             * @description The UUID of the flow.
             */
            id: string;
            /** @description The id that the caller chose; null if that is a UUID. */
            external_id: string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * TracesExport
         * @description Spans as OTLP's JSON has them: an ExportTraceServiceRequest. Without spans, nothing is captured.
         */
        TracesExport: {
            /** @description Spans, by the resource that they come from. */
            resourceSpans?: components["schemas"]["ResourceSpans"][] | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * ResourceSpans
         * @description Spans of one resource.
         */
        ResourceSpans: {
            /** @description Spans, by the instrumentation that made them. */
            scopeSpans?: components["schemas"]["ScopeSpans"][] | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * ScopeSpans
         * @description Spans of one instrumentation.
         */
        ScopeSpans: {
            /** @description The spans. */
            spans?: components["schemas"]["Span"][] | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * Span
         * @description A span. Its other fields are ignored.
         */
        Span: {
            /** @description The trace, in hexadecimal digits: the run. */
            traceId?: string | null;
            /** @description The span, in hexadecimal digits. */
            spanId?: string | null;
            /** @description When it began: nanoseconds since 1970. */
            startTimeUnixNano?: string | number | null;
            /** @description When it ended: nanoseconds since 1970. */
            endTimeUnixNano?: string | number | null;
            /** @description Messages, session, end user: by their names. */
            attributes?: components["schemas"]["SpanAttribute"][] | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * SpanAttribute
         * @description An attribute.
         */
        SpanAttribute: {
            /** @description Its name. */
            key?: string | null;
            /** @description Its value. */
            value?: components["schemas"]["SpanValue"] | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * SpanValue
         * @description A value: a string, or a list or an object as OTLP has them.
         */
        SpanValue: {
            /** @description The string. */
            stringValue?: string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * TracesAnswer
         * @description OTLP's ExportTraceServiceResponse: empty if every message is stored.
         */
        TracesAnswer: {
            /** @description How many spans have messages that are not stored, and why. */
            partialSuccess?: components["schemas"]["PartialSuccess"];
        } & {
            [key: string]: unknown;
        };
        /**
         * PartialSuccess
         * @description Spans whose messages are not stored.
         */
        PartialSuccess: {
            /** @description Their number, as text. */
            rejectedSpans?: string;
            /** @description Why the first of them was refused. */
            errorMessage?: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * FixBody
         * @description The body of a call that ends a problem.
         */
        FixBody: {
            /** @description `retry`: the dead letters of the memory base. */
            action?: string;
            /**
             * Format: uuid
             * @description The memory base.
             */
            memory_base_id?: string;
            /** @description Captures trigger ingestion again. */
            auto_capture?: boolean;
        };
        /**
         * FormerFields
         * @description The fields of a message that an edit replaced, as they were.
         */
        FormerFields: {
            /** @description The former content. */
            content?: (string | components["schemas"]["ContentPart"][]) | null;
            /** @description The former files. */
            files?: unknown[];
            /** @description The former metadata. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description The former tool calls, replaced by a capture. */
            tool_calls?: components["schemas"]["ToolCall"][] | null;
            /** @description The former tool call that it answered. */
            tool_call_id?: string | null;
            /** @description The former name. */
            name?: string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * ActionError
         * @description Why an action was not done with a message.
         */
        ActionError: {
            /** @description The error's code. */
            code: string;
            /** @description For people; may change. */
            message: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * InvalidField
         * @description An invalid field of a request.
         */
        InvalidField: {
            /** @description Where in the request. */
            field: string;
            /** @description For people; may change. */
            message: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * ErrorDetails
         * @description More about an error, by its code.
         */
        ErrorDetails: {
            /**
             * Format: uuid
             * @description `name_taken`: what has the name. `secret_not_stored`: the created API key.
             */
            existing_id?: string;
            /** @description `ingestion_active`: the active jobs. */
            conflicts?: components["schemas"]["JobConflict"][];
            /** @description `not_ready`: the parts that do not respond. */
            failing?: string[];
            /** @description `not_ready`: why `model` is among them. */
            reason?: string;
            /** @description `ambiguous_id`: the flows that have the id. */
            flows?: components["schemas"]["FlowRef"][];
            /**
             * Format: uuid
             * @description `text_rejected`: the message.
             */
            message_id?: string;
            /** @description Of an import: the line that failed. */
            line?: number;
            /** @description `invalid_request`: further invalid fields. */
            others?: components["schemas"]["InvalidField"][];
            /** @description Seconds until a retry can succeed. */
            retry_after_seconds?: number;
            /** @description `quota_exceeded` and `quota_full`: the quota. */
            quota?: string;
            /** @description Whose quota: `user` or `key`. */
            whose?: string;
            /** @description How much of the quota is in use. */
            used?: number;
            /** @description How much the request would use. */
            wanted?: number;
            /**
             * Format: date-time
             * @description `quota_exceeded`: when its window ends.
             */
            resets_at?: string;
            /** @description `quota_full`: what makes room. */
            freed_by?: string;
            /** @description `forbidden`: the scope that the key lacks. */
            scope?: string;
        } & {
            [key: string]: unknown;
        };
    };
    responses: {
        /** @description This URL leads to an address that may not be called. */
        AddressRefusedUrl: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:address_refused",
                 *       "title": "This URL leads to an address that may not be called",
                 *       "status": 422,
                 *       "detail": "url must lead to a public address, or to one in webhook_allowed_networks (got '10.0.0.1')",
                 *       "error": {
                 *         "code": "address_refused",
                 *         "message": "url must lead to a public address, or to one in webhook_allowed_networks (got '10.0.0.1')",
                 *         "field": "url",
                 *         "value": "10.0.0.1",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A regenerate is already running for this memory base. */
        BuildActiveMemoryBaseId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:build_active",
                 *       "title": "A regenerate is already running for this memory base",
                 *       "status": 409,
                 *       "detail": "A regenerate is already running for this memory base. Wait for it, or cancel one of its jobs.",
                 *       "error": {
                 *         "code": "build_active",
                 *         "message": "A regenerate is already running for this memory base. Wait for it, or cancel one of its jobs.",
                 *         "field": "memory_base_id",
                 *         "value": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                 *         "retryable": true,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "generation": 2,
                 *           "active_jobs": 1
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The request conflicts with the stored state. */
        ConflictCapture: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:conflict",
                 *       "title": "The request conflicts with the stored state",
                 *       "status": 409,
                 *       "detail": "The memory base support notes exists, with capture all. Leave capture out, or take another name",
                 *       "error": {
                 *         "code": "conflict",
                 *         "message": "The memory base support notes exists, with capture all. Leave capture out, or take another name",
                 *         "field": "capture",
                 *         "value": "outputs",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "existing": "all",
                 *           "existing_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The request conflicts with the stored state. */
        ConflictEndUserId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:conflict",
                 *       "title": "The request conflicts with the stored state",
                 *       "status": 409,
                 *       "detail": "The chat belongs to another end user or to none",
                 *       "error": {
                 *         "code": "conflict",
                 *         "message": "The chat belongs to another end user or to none",
                 *         "field": "end_user_id",
                 *         "value": "ben",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The request conflicts with the stored state. */
        ConflictJobId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:conflict",
                 *       "title": "The request conflicts with the stored state",
                 *       "status": 409,
                 *       "detail": "The job has ended",
                 *       "error": {
                 *         "code": "conflict",
                 *         "message": "The job has ended",
                 *         "field": "job_id",
                 *         "value": "2103d091-2488-5557-904a-a94d8b576103",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The database is unavailable. */
        DatabaseUnavailable: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:database_unavailable",
                 *       "title": "The database is unavailable",
                 *       "status": 503,
                 *       "detail": "The database failed: unable to open database file",
                 *       "error": {
                 *         "code": "database_unavailable",
                 *         "message": "The database failed: unable to open database file",
                 *         "retryable": true,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A dependency is unavailable. Retry after the time in Retry-After. */
        Failed: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Every session with pending messages already has an active job. */
        IngestionActiveMemoryBaseId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:ingestion_active",
                 *       "title": "Every session with pending messages already has an active job",
                 *       "status": 409,
                 *       "detail": "Every session with pending messages already has an active job. Wait for the jobs in details.conflicts.",
                 *       "error": {
                 *         "code": "ingestion_active",
                 *         "message": "Every session with pending messages already has an active job. Wait for the jobs in details.conflicts.",
                 *         "field": "memory_base_id",
                 *         "value": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                 *         "retryable": true,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "conflicts": [
                 *             {
                 *               "session_id": "anna-1",
                 *               "job_id": "2103d091-2488-5557-904a-a94d8b576103",
                 *               "state": "queued"
                 *             }
                 *           ]
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Every session with pending messages already has an active job. */
        IngestionActiveMemoryBaseIdOfSyncMemoryBase: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:ingestion_active",
                 *       "title": "Every session with pending messages already has an active job",
                 *       "status": 409,
                 *       "detail": "Every session with pending messages already has an active job. Wait for the jobs in details.conflicts.",
                 *       "error": {
                 *         "code": "ingestion_active",
                 *         "message": "Every session with pending messages already has an active job. Wait for the jobs in details.conflicts.",
                 *         "field": "memory_base_id",
                 *         "value": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                 *         "retryable": true,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "conflicts": [
                 *             {
                 *               "session_id": "anna-1",
                 *               "job_id": "90a9253d-250d-585a-b1d2-e6de5d9195da",
                 *               "state": "queued"
                 *             }
                 *           ]
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestAction: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'retry' or 'cancel'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'retry' or 'cancel'",
                 *         "field": "action",
                 *         "value": "bury",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestActionOfActOnDeadLetters: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'retry' or 'discard'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'retry' or 'discard'",
                 *         "field": "action",
                 *         "value": "bury",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestActionOfActOnMessages: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'mute', 'unmute', 'pin', 'unpin', 'delete' or 'restore'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'mute', 'unmute', 'pin', 'unpin', 'delete' or 'restore'",
                 *         "field": "action",
                 *         "value": "hide",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestAfterSeq: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 0",
                 *         "field": "after_seq",
                 *         "limit": 0,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestBody: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "The body is no OTLP export of traces in application/json",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "The body is no OTLP export of traces in application/json",
                 *         "field": "body",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestBuckets: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 1",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 1",
                 *         "field": "buckets",
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestCapture: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'outputs' or 'all'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'outputs' or 'all'",
                 *         "field": "capture",
                 *         "value": "some",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestChatId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Exactly one of chat_id and variables must be given",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Exactly one of chat_id and variables must be given",
                 *         "field": "chat_id",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestDeadLetterId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *         "field": "dead_letter_id",
                 *         "value": "not-a-uuid",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestDeliveryId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *         "field": "delivery_id",
                 *         "value": "not-a-uuid",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestDocuments: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "List should have at least 1 item after validation, not 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "List should have at least 1 item after validation, not 0",
                 *         "field": "documents",
                 *         "value": 0,
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestEndUserId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "String should have at most 128 characters",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "String should have at most 128 characters",
                 *         "field": "end_user_id",
                 *         "value": 129,
                 *         "limit": 128,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestEventTypes: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'job.completed', 'job.failed', 'dead_letter.created', 'memory.mismatch', 'memory.regenerated', 'session.erased', 'retention.expired' or 'webhook.test'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'job.completed', 'job.failed', 'dead_letter.created', 'memory.mismatch', 'memory.regenerated', 'session.erased', 'retention.expired' or 'webhook.test'",
                 *         "field": "event_types[0]",
                 *         "value": "job.started",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestExecutionId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "String should have at most 128 characters",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "String should have at most 128 characters",
                 *         "field": "execution_id",
                 *         "value": 129,
                 *         "limit": 128,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestFactId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *         "field": "fact_id",
                 *         "value": "not-a-uuid",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestFlowId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "String should have at most 128 characters",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "String should have at most 128 characters",
                 *         "field": "flow_id",
                 *         "value": 129,
                 *         "limit": 128,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestFlowIdOfGetRun: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Value should have at most 128 items after validation, not 129",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Value should have at most 128 items after validation, not 129",
                 *         "field": "flow_id",
                 *         "value": 129,
                 *         "limit": 128,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestFlowIdOfPlaceHold: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Pass either flow_id or end_user_id",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Pass either flow_id or end_user_id",
                 *         "field": "flow_id",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestFlowIdOfUpdateMemoryBase: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Unknown field",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Unknown field",
                 *         "field": "flow_id",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestHoldId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *         "field": "hold_id",
                 *         "value": "not-a-uuid",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestJobId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *         "field": "job_id",
                 *         "value": "not-a-uuid",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestKeepLastN: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 0",
                 *         "field": "keep_last_n",
                 *         "value": -1,
                 *         "limit": 0,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestKeyId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *         "field": "key_id",
                 *         "value": "not-a-uuid",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestKind: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'change', 'read', 'denied' or 'prune'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'change', 'read', 'denied' or 'prune'",
                 *         "field": "kind",
                 *         "value": "other",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestLabelId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *         "field": "label_id",
                 *         "value": "not-a-uuid",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestLimit: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "This call takes no query parameters",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "This call takes no query parameters",
                 *         "field": "limit",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestLimitOfListChatMessages: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be less than or equal to 200",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be less than or equal to 200",
                 *         "field": "limit",
                 *         "limit": 200,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestLimitType: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'messages' or 'tokens'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'messages' or 'tokens'",
                 *         "field": "limit_type",
                 *         "value": "words",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestMaxMessages: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 0",
                 *         "field": "max_messages",
                 *         "value": -1,
                 *         "limit": 0,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestMemoryBaseId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *         "field": "memory_base_id",
                 *         "value": "not-a-uuid",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestMessageId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "String should have at most 128 characters",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "String should have at most 128 characters",
                 *         "field": "message_id",
                 *         "value": 129,
                 *         "limit": 128,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestMessages: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "List should have at least 1 item after validation, not 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "List should have at least 1 item after validation, not 0",
                 *         "field": "messages",
                 *         "value": 0,
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestMessagesPerDay: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 0",
                 *         "field": "messages_per_day",
                 *         "value": -1,
                 *         "limit": 0,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestMessagesRole: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "messages[0].role must be one of user, assistant, system, tool, developer",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "messages[0].role must be one of user, assistant, system, tool, developer",
                 *         "field": "messages[0].role",
                 *         "value": "bot",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestMode: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'conversation' or 'node'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'conversation' or 'node'",
                 *         "field": "mode",
                 *         "value": "other",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestModeOfDeleteChatMessages: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'latest_request' or 'all'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'latest_request' or 'all'",
                 *         "field": "mode",
                 *         "value": "newest",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestName: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Value should have at least 1 item after validation, not 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Value should have at least 1 item after validation, not 0",
                 *         "field": "name",
                 *         "value": 0,
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestNameOfGetKnowledgeBase: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Text must not contain a NUL character",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Text must not contain a NUL character",
                 *         "field": "name",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestNewSessionId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Value should have at least 1 item after validation, not 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Value should have at least 1 item after validation, not 0",
                 *         "field": "new_session_id",
                 *         "value": 0,
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestNodeId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "String should have at most 128 characters",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "String should have at most 128 characters",
                 *         "field": "node_id",
                 *         "value": 129,
                 *         "limit": 128,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestOnConflict: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'error', 'keep' or 'update'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'error', 'keep' or 'update'",
                 *         "field": "on_conflict",
                 *         "value": "other",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestOverlapHours: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 0",
                 *         "field": "overlap_hours",
                 *         "value": -1,
                 *         "limit": 0,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestOverlapSeconds: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 0",
                 *         "field": "overlap_seconds",
                 *         "value": -1,
                 *         "limit": 0,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestPreset: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "String should match pattern '^(token_buffer|window|pairs_[1-9][0-9]?)$'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "String should match pattern '^(token_buffer|window|pairs_[1-9][0-9]?)$'",
                 *         "field": "preset",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestReason: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Value should have at most 500 items after validation, not 501",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Value should have at most 500 items after validation, not 501",
                 *         "field": "reason",
                 *         "value": 501,
                 *         "limit": 500,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestRetainDays: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 1",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 1",
                 *         "field": "retain_days",
                 *         "value": 0,
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestRetainDaysOfPreviewRetention: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 1",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 1",
                 *         "field": "retain_days",
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestRight: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid boolean, unable to interpret input",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid boolean, unable to interpret input",
                 *         "field": "right",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestRole: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Unknown field",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Unknown field",
                 *         "field": "role",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestRunId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "String should have at most 128 characters",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "String should have at most 128 characters",
                 *         "field": "run_id",
                 *         "value": 129,
                 *         "limit": 128,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestScopes: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'read', 'write' or 'admin'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'read', 'write' or 'admin'",
                 *         "field": "scopes[0]",
                 *         "value": "all",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestSession: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Unknown field",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Unknown field",
                 *         "field": "session",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestSessionId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Value should have at least 1 item after validation, not 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Value should have at least 1 item after validation, not 0",
                 *         "field": "session_id",
                 *         "value": 0,
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestSets: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "A set's name must be one of with_token_vectors, without_token_vectors",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "A set's name must be one of with_token_vectors, without_token_vectors",
                 *         "field": "sets",
                 *         "value": "other",
                 *         "limit": [
                 *           "with_token_vectors",
                 *           "without_token_vectors"
                 *         ],
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestSince: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid datetime or date, input is too short",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid datetime or date, input is too short",
                 *         "field": "since",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestSize: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be less than or equal to 200",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be less than or equal to 200",
                 *         "field": "size",
                 *         "limit": 200,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestStart: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'now' or 'beginning'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'now' or 'beginning'",
                 *         "field": "start",
                 *         "value": "yesterday",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestState: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'current', 'superseded' or 'all'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'current', 'superseded' or 'all'",
                 *         "field": "state",
                 *         "value": "old",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestStatementId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *         "field": "statement_id",
                 *         "value": "not-a-uuid",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestStatus: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be 'running', 'succeeded', 'failed', 'exception' or 'stopped'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be 'running', 'succeeded', 'failed', 'exception' or 'stopped'",
                 *         "field": "status",
                 *         "value": "done",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestText: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Value should have at least 1 item after validation, not 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Value should have at least 1 item after validation, not 0",
                 *         "field": "text",
                 *         "value": 0,
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestThreshold: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 1",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 1",
                 *         "field": "threshold",
                 *         "value": 0,
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestTokenBudget: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be greater than or equal to 1",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be greater than or equal to 1",
                 *         "field": "token_budget",
                 *         "value": 0,
                 *         "limit": 1,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestTopK: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "top_k must be from 1 to 100 (got 1000)",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "top_k must be from 1 to 100 (got 1000)",
                 *         "field": "top_k",
                 *         "value": 1000,
                 *         "limit": 100,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestTopKOfSearchFacts: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be less than or equal to 50",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be less than or equal to 50",
                 *         "field": "top_k",
                 *         "value": 1000,
                 *         "limit": 50,
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestUntil: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid datetime or date, input is too short",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid datetime or date, input is too short",
                 *         "field": "until",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestWebhookId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be a valid UUID, invalid character: found `n` at 0",
                 *         "field": "webhook_id",
                 *         "value": "not-a-uuid",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A field of the request is invalid. */
        InvalidRequestWindow: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:invalid_request",
                 *       "title": "A field of the request is invalid",
                 *       "status": 422,
                 *       "detail": "Input should be '1h', '24h' or '7d'",
                 *       "error": {
                 *         "code": "invalid_request",
                 *         "message": "Input should be '1h', '24h' or '7d'",
                 *         "field": "window",
                 *         "value": "1y",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description This API key was rotated: details.existing_id replaces it. */
        KeyRotatedKeyId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:key_rotated",
                 *       "title": "This API key was rotated: details.existing_id replaces it",
                 *       "status": 409,
                 *       "detail": "This API key was rotated: details.existing_id replaces it. Rotate or revoke that key.",
                 *       "error": {
                 *         "code": "key_rotated",
                 *         "message": "This API key was rotated: details.existing_id replaces it. Rotate or revoke that key.",
                 *         "field": "key_id",
                 *         "value": "a5f3e135-a345-583c-b01e-131f5eea34eb",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "existing_id": "be8aef64-b246-5a6a-a0a2-b69221e4a590"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description This knowledge base belongs to a memory base. */
        MemoryBaseStoreName: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:memory_base_store",
                 *       "title": "This knowledge base belongs to a memory base",
                 *       "status": 409,
                 *       "detail": "This knowledge base belongs to a memory base. Use the endpoints below /memories.",
                 *       "error": {
                 *         "code": "memory_base_store",
                 *         "message": "This knowledge base belongs to a memory base. Use the endpoints below /memories.",
                 *         "field": "name",
                 *         "value": "support notes",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description This message id is already stored with other content; nothing in this request was stored. */
        MessageConflictMessagesId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:message_conflict",
                 *       "title": "This message id is already stored with other content; nothing in this request was stored",
                 *       "status": 409,
                 *       "detail": "This message id is already stored with other content; nothing in this request was stored.",
                 *       "error": {
                 *         "code": "message_conflict",
                 *         "message": "This message id is already stored with other content; nothing in this request was stored.",
                 *         "field": "messages.id",
                 *         "value": "m-1",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "message_id": "0bc8f21e-756e-50f9-8e81-e20f9cb36a58"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description This name is already in use. */
        NameTakenName: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:name_taken",
                 *       "title": "This name is already in use",
                 *       "status": 409,
                 *       "detail": "This name is already in use. Choose another.",
                 *       "error": {
                 *         "code": "name_taken",
                 *         "message": "This name is already in use. Choose another.",
                 *         "field": "name",
                 *         "value": "support notes",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "existing_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description This name is already in use. */
        NameTakenNameOfCreateKnowledgeBase: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:name_taken",
                 *       "title": "This name is already in use",
                 *       "status": 409,
                 *       "detail": "This name is already in use. Choose another.",
                 *       "error": {
                 *         "code": "name_taken",
                 *         "message": "This name is already in use. Choose another.",
                 *         "field": "name",
                 *         "value": "handbook",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "existing_id": "46ce0340-121e-54a1-b275-4a0a0157f546"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundDeadLetterId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such dead letter",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such dead letter",
                 *         "field": "dead_letter_id",
                 *         "value": "00000000-0000-4000-8000-000000000000",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundDeliveryId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such delivery",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such delivery",
                 *         "field": "delivery_id",
                 *         "value": "00000000-0000-4000-8000-000000000000",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundEndUserId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no session or chat of this end user",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no session or chat of this end user",
                 *         "field": "end_user_id",
                 *         "value": "none-such",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundEndUserIdOfGetEndUser: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such end user",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such end user",
                 *         "field": "end_user_id",
                 *         "value": "none-such",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundExecutionId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such node execution",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such node execution",
                 *         "field": "execution_id",
                 *         "value": "none-such",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundFactId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such fact",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such fact",
                 *         "field": "fact_id",
                 *         "value": "00000000-0000-4000-8000-000000000000",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundFlowId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such flow",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such flow",
                 *         "field": "flow_id",
                 *         "value": "none-such",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundHoldId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such hold",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such hold",
                 *         "field": "hold_id",
                 *         "value": "00000000-0000-4000-8000-000000000000",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundJobId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such job",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such job",
                 *         "field": "job_id",
                 *         "value": "00000000-0000-4000-8000-000000000000",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundKeyId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such key",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such key",
                 *         "field": "key_id",
                 *         "value": "00000000-0000-4000-8000-000000000000",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundLabelId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such label",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such label",
                 *         "field": "label_id",
                 *         "value": "00000000-0000-4000-8000-000000000000",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundMemoryBaseId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such memory base",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such memory base",
                 *         "field": "memory_base_id",
                 *         "value": "00000000-0000-4000-8000-000000000000",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundMessageId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such message",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such message",
                 *         "field": "message_id",
                 *         "value": "none-such",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundMessageIdOfRestoreMessage: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such deleted message",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such deleted message",
                 *         "field": "message_id",
                 *         "value": "none-such",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundName: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such knowledge base",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such knowledge base",
                 *         "field": "name",
                 *         "value": "none-such",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundNodeId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such chat memory",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such chat memory",
                 *         "field": "node_id",
                 *         "value": "none-such",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundRunId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such run",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such run",
                 *         "field": "run_id",
                 *         "value": "none-such",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundStatementId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such standing statement",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such standing statement",
                 *         "field": "statement_id",
                 *         "value": "00000000-0000-4000-8000-000000000000",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Not found. */
        NotFoundWebhookId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is no such webhook",
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no such webhook",
                 *         "field": "webhook_id",
                 *         "value": "00000000-0000-4000-8000-000000000000",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A part of the stack is not ready. */
        NotReady: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:not_ready",
                 *       "title": "A part of the stack is not ready",
                 *       "status": 503,
                 *       "detail": "Not ready: chroma",
                 *       "error": {
                 *         "code": "not_ready",
                 *         "message": "Not ready: chroma",
                 *         "retryable": true,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "failing": [
                 *             "chroma"
                 *           ]
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description Too many requests. */
        RateLimited: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:rate_limited",
                 *       "title": "Too many requests",
                 *       "status": 429,
                 *       "detail": "Too many calls with this key: at most 200 per second. Retry after the time in Retry-After",
                 *       "error": {
                 *         "code": "rate_limited",
                 *         "message": "Too many calls with this key: at most 200 per second. Retry after the time in Retry-After",
                 *         "limit": 200,
                 *         "retryable": true,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "retry_after_seconds": 0.2
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The request is invalid; nothing was changed. */
        Rejected: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The header must be 'Authorization: Bearer KEY'.. */
        Retrieval403: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error_code": 1001,
                 *       "error_msg": "The header must be 'Authorization: Bearer KEY'."
                 *     }
                 */
                "application/json": components["schemas"]["RetrievalError"];
            };
        };
        /** @description knowledge_id: There is no such knowledge (got none-such). */
        Retrieval404: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error_code": 2001,
                 *       "error_msg": "knowledge_id: There is no such knowledge (got none-such)"
                 *     }
                 */
                "application/json": components["schemas"]["RetrievalError"];
            };
        };
        /** @description retrieval_setting.top_k must be from 1 to 100 (got 1000). */
        Retrieval422: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error_code": 422,
                 *       "error_msg": "retrieval_setting.top_k must be from 1 to 100 (got 1000)"
                 *     }
                 */
                "application/json": components["schemas"]["RetrievalError"];
            };
        };
        /** @description Too many calls with this key: at most 200 per second. Retry after the time in Retry-After. */
        Retrieval429: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error_code": 429,
                 *       "error_msg": "Too many calls with this key: at most 200 per second. Retry after the time in Retry-After"
                 *     }
                 */
                "application/json": components["schemas"]["RetrievalError"];
            };
        };
        /** @description The vector store is unavailable.. */
        Retrieval503: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error_code": 503,
                 *       "error_msg": "The vector store is unavailable."
                 *     }
                 */
                "application/json": components["schemas"]["RetrievalError"];
            };
        };
        /** @description The session belongs to another end user. */
        SessionConflictEndUserId: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:session_conflict",
                 *       "title": "The session belongs to another end user",
                 *       "status": 409,
                 *       "detail": "The session belongs to another end user or to none",
                 *       "error": {
                 *         "code": "session_conflict",
                 *         "message": "The session belongs to another end user or to none",
                 *         "field": "end_user_id",
                 *         "value": "ben",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A valid API key is required. */
        Unauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:unauthorized",
                 *       "title": "A valid API key is required",
                 *       "status": 401,
                 *       "detail": "A valid API key is required. Send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'.",
                 *       "error": {
                 *         "code": "unauthorized",
                 *         "message": "A valid API key is required. Send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'.",
                 *         "retryable": false,
                 *         "request_id": "4f1c8e2a"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The vector store is unavailable. */
        VectorStoreUnavailable: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ErrorAnswer"];
                /**
                 * @example {
                 *       "type": "urn:memorybase:error:vector_store_unavailable",
                 *       "title": "The vector store is unavailable",
                 *       "status": 503,
                 *       "detail": "The vector store is unavailable.",
                 *       "error": {
                 *         "code": "vector_store_unavailable",
                 *         "message": "The vector store is unavailable.",
                 *         "retryable": true,
                 *         "request_id": "4f1c8e2a",
                 *         "details": {
                 *           "operation": "query",
                 *           "reason": "ConnectError"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description `true` if this answer is that of an earlier request with the same `Idempotency-Key`. */
        "Idempotency-Replayed": "true";
        /** @description The path of what was created. */
        Location: string;
        /** @description Calls that this key may still make at once (`r`), and seconds until it may make all of them again (`t`), in this process: a structured field such as `"calls";r=998;t=1`. Absent without a limit. */
        RateLimit: string;
        /** @description The limit: `q` calls in `w` seconds. */
        "RateLimit-Policy": string;
        /** @description Seconds until a retry can succeed. Present if the error is retryable. */
        "Retry-After": number;
        /** @description The request's id, as in the log: the caller's, or a new one. */
        "X-Request-Id": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    health_live: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "version": "1.0.0"
                     *     }
                     */
                    "application/json": components["schemas"]["Liveness"];
                };
            };
            /** @description A dependency is unavailable. Retry after the time in Retry-After. */
            "5XX": {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorAnswer"];
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    health_ready: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ready",
                     *       "parts": {
                     *         "database": "ok",
                     *         "redis": "ok",
                     *         "chroma": "ok",
                     *         "worker": "ok",
                     *         "sweeper": "ok",
                     *         "model": "ok",
                     *         "queue": "ok"
                     *       },
                     *       "reason": null
                     *     }
                     */
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            503: components["responses"]["NotReady"];
            /** @description A dependency is unavailable. Retry after the time in Retry-After. */
            "5XX": {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorAnswer"];
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    list_problems: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "problems": [
                     *         {
                     *           "kind": "failed",
                     *           "title": "1 message is not searchable",
                     *           "text": "support notes: the model gave no valid vector for 1 text, in 1 session.",
                     *           "since": "2026-01-15T09:30:00Z",
                     *           "part": null,
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "memory_base_name": "support notes",
                     *           "messages": 1,
                     *           "texts": 1,
                     *           "sessions": 1,
                     *           "webhook_id": null,
                     *           "fixes": [
                     *             {
                     *               "action": "retry",
                     *               "label": "Retry 1",
                     *               "method": "POST",
                     *               "path": "/v1/dead-letters/actions",
                     *               "body": {
                     *                 "action": "retry",
                     *                 "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6"
                     *               },
                     *               "command": null,
                     *               "available": true
                     *             }
                     *           ]
                     *         }
                     *       ],
                     *       "total": 1
                     *     }
                     */
                    "application/json": components["schemas"]["Problems"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestLimit"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_overview: {
        parameters: {
            query?: {
                /**
                 * @description The last hour, day or week.
                 * @example 24h
                 */
                window?: components["schemas"]["Window"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "window": "24h",
                     *       "since": "2026-01-15T09:30:00Z",
                     *       "until": "2026-01-15T09:30:00Z",
                     *       "bucket_seconds": 3600,
                     *       "captured": 14,
                     *       "searchable": 6,
                     *       "waiting": 0,
                     *       "waiting_capped": false,
                     *       "failed": 1,
                     *       "lost": 0,
                     *       "runs": 5,
                     *       "sessions": 2,
                     *       "recalls": 1,
                     *       "delay_median_seconds": 0.8,
                     *       "delay_p95_seconds": 1.4,
                     *       "buckets": [
                     *         {
                     *           "at": "2026-01-15T09:30:00Z",
                     *           "searchable": 2,
                     *           "waiting": 1,
                     *           "failed": 0,
                     *           "lost": 0,
                     *           "other": 1
                     *         },
                     *         {
                     *           "at": "2026-01-15T09:30:00Z",
                     *           "searchable": 2,
                     *           "waiting": 1,
                     *           "failed": 0,
                     *           "lost": 0,
                     *           "other": 1
                     *         }
                     *       ],
                     *       "flows": [
                     *         {
                     *           "id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "external_id": "support",
                     *           "name": "Support",
                     *           "runs": 5,
                     *           "runs_by_bucket": [
                     *             0,
                     *             5
                     *           ],
                     *           "sessions": 2,
                     *           "memories": [
                     *             {
                     *               "id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *               "name": "support notes",
                     *               "condition": "failed",
                     *               "words": "Not searchable: 1"
                     *             }
                     *           ],
                     *           "delay_median_seconds": 0.8,
                     *           "last_captured_at": "2026-01-15T09:30:00Z"
                     *         },
                     *         {
                     *           "id": "27c53b27-f557-59f3-84dc-cb079eb10093",
                     *           "external_id": null,
                     *           "name": "Support bot",
                     *           "runs": 0,
                     *           "runs_by_bucket": [
                     *             0,
                     *             0
                     *           ],
                     *           "sessions": 0,
                     *           "memories": [],
                     *           "delay_median_seconds": null,
                     *           "last_captured_at": null
                     *         }
                     *       ],
                     *       "flows_total": 2,
                     *       "latest_runs": [
                     *         {
                     *           "run_id": "3cb206a2-8a7a-5987-b303-361a2b9f32d8",
                     *           "external_id": null,
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "flow_name": "Support",
                     *           "session_id": "ben-1",
                     *           "question": null,
                     *           "answer": "Good morning.",
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "state": "failed",
                     *           "searchable_after_seconds": null,
                     *           "pending": null,
                     *           "threshold": null,
                     *           "memories": null,
                     *           "tokens": null
                     *         },
                     *         {
                     *           "run_id": "78cf84e8-1816-5080-acf0-918d782cf5e2",
                     *           "external_id": "run-4",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "flow_name": "Support",
                     *           "session_id": "anna-1",
                     *           "question": "Thanks!",
                     *           "answer": null,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "state": "history",
                     *           "searchable_after_seconds": null,
                     *           "pending": null,
                     *           "threshold": null,
                     *           "memories": null,
                     *           "tokens": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Overview"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestWindow"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_flows: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /**
                 * @description Maximum items of a page.
                 * @example 50
                 */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "27c53b27-f557-59f3-84dc-cb079eb10093",
                     *           "external_id": null,
                     *           "name": "Support bot",
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "retain_days": null,
                     *           "standing": false
                     *         },
                     *         {
                     *           "id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "external_id": "support",
                     *           "name": "Support",
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "retain_days": null,
                     *           "standing": false
                     *         }
                     *       ],
                     *       "total": 2,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_FlowView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    create_flow: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Support bot"
                 *     }
                 */
                "application/json": components["schemas"]["FlowBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "27c53b27-f557-59f3-84dc-cb079eb10093",
                     *       "external_id": null,
                     *       "name": "Support bot",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "retain_days": null,
                     *       "standing": false
                     *     }
                     */
                    "application/json": components["schemas"]["FlowView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestName"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_flow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "external_id": "support",
                     *       "name": "Support",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "retain_days": null,
                     *       "standing": false
                     *     }
                     */
                    "application/json": components["schemas"]["FlowView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestFlowId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    put_flow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or any string.
                 * @example support
                 */
                flow_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Support"
                 *     }
                 */
                "application/json": components["schemas"]["FlowBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowView"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "external_id": "support",
                     *       "name": "Support",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "retain_days": null,
                     *       "standing": false
                     *     }
                     */
                    "application/json": components["schemas"]["FlowView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestName"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_flow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example archive
                 */
                flow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Accepted"];
                };
            };
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestFlowId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    update_flow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example harbour
                 */
                flow_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "retain_days": 90
                 *     }
                 */
                "application/json": components["schemas"]["FlowChanges"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *       "external_id": "harbour",
                     *       "name": "Harbour",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "retain_days": 90,
                     *       "standing": false
                     *     }
                     */
                    "application/json": components["schemas"]["FlowView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestRetainDays"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_runs: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *           "external_id": "run-1",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "session_id": "anna-1",
                     *           "end_user_id": "anna",
                     *           "messages": 2,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "question": "Which food must I avoid?",
                     *           "answer": "Avoid peanuts: you are allergic to them.",
                     *           "state": "searchable",
                     *           "searchable_after_seconds": 0.8,
                     *           "given": null
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_RunView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    capture_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "session_id": "anna-1",
                 *       "run_id": "run-1",
                 *       "end_user_id": "anna",
                 *       "messages": [
                 *         {
                 *           "role": "user",
                 *           "content": "Which food must I avoid?",
                 *           "id": "m-1"
                 *         },
                 *         {
                 *           "role": "assistant",
                 *           "content": "Avoid peanuts: you are allergic to them.",
                 *           "id": "m-2"
                 *         }
                 *       ],
                 *       "node_executions": [
                 *         {
                 *           "id": "run-1-llm",
                 *           "node_id": "llm",
                 *           "status": "succeeded",
                 *           "outputs": {
                 *             "text": "Avoid peanuts: you are allergic to them.",
                 *             "context": [
                 *               {
                 *                 "role": "user",
                 *                 "content": "Which food must I avoid?"
                 *               },
                 *               {
                 *                 "role": "assistant",
                 *                 "content": "Avoid peanuts: you are allergic to them."
                 *               }
                 *             ]
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["CaptureBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CaptureAnswer"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *       "run_external_id": "run-1",
                     *       "session_id": "anna-1",
                     *       "created": true,
                     *       "messages": [
                     *         {
                     *           "id": "0bc8f21e-756e-50f9-8e81-e20f9cb36a58",
                     *           "external_id": "m-1",
                     *           "seq": 1,
                     *           "created": true,
                     *           "deleted": false
                     *         },
                     *         {
                     *           "id": "5400778c-9113-5663-bd4d-aa095c923082",
                     *           "external_id": "m-2",
                     *           "seq": 2,
                     *           "created": true,
                     *           "deleted": false
                     *         }
                     *       ],
                     *       "ingestion": [
                     *         {
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "pending_messages": 2,
                     *           "pending_capped": true,
                     *           "job_id": "da513fee-3a3c-55f5-b1f4-e43064b9a4c3"
                     *         }
                     *       ],
                     *       "node_executions": [
                     *         {
                     *           "id": "bed43cc8-1703-5653-a194-eea04ef84556",
                     *           "node_id": "llm",
                     *           "index": 0,
                     *           "created": true
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["CaptureAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            409: components["responses"]["MessageConflictMessagesId"];
            422: components["responses"]["InvalidRequestMessagesRole"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_run_of_flow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example run-1
                 */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *       "external_id": "run-1",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "session_id": "anna-1",
                     *       "end_user_id": "anna",
                     *       "messages": 2,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "question": "Which food must I avoid?",
                     *       "answer": "Avoid peanuts: you are allergic to them.",
                     *       "state": "searchable",
                     *       "searchable_after_seconds": 0.8,
                     *       "given": null
                     *     }
                     */
                    "application/json": components["schemas"]["RunView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundRunId"];
            422: components["responses"]["InvalidRequestRunId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    find_runs: {
        parameters: {
            query?: {
                /** @description Only runs of this session. */
                session_id?: string | null;
                /** @description Only runs in this end user's sessions. */
                end_user_id?: string | null;
                /**
                 * @description Only those with every one of these words in their messages, or with the text in their id, the title of their metadata or their end user. Of end users: with the text in their id.
                 * @example berth
                 */
                q?: string | null;
                /** @description Only runs in this state. */
                state?: components["schemas"]["SearchState"] | null;
                /** @description Only runs captured from this time on. Inclusive, like `until`. Without a time zone: UTC. */
                since?: string | null;
                /** @description Only runs captured up to this time. */
                until?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
                /** @description Only runs of this flow: a UUID or the caller's id. A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "run_id": "636def21-9816-5f68-beb1-8b8b59fdc134",
                     *           "external_id": "berth-2",
                     *           "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *           "session_id": "ben-2",
                     *           "end_user_id": "ben",
                     *           "messages": 2,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "question": "Where is my boat?",
                     *           "answer": "Still at berth 12.",
                     *           "state": "searchable",
                     *           "searchable_after_seconds": 0.8,
                     *           "given": {
                     *             "nodes": 1,
                     *             "memories": 2,
                     *             "tokens": 61
                     *           }
                     *         },
                     *         {
                     *           "run_id": "8f2df7a6-2393-57f7-ab39-98a1a28613c7",
                     *           "external_id": "berth-1",
                     *           "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *           "session_id": "ben-1",
                     *           "end_user_id": "ben",
                     *           "messages": 2,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "question": "Where is my boat?",
                     *           "answer": "Your boat is at berth 12.",
                     *           "state": "searchable",
                     *           "searchable_after_seconds": 0.8,
                     *           "given": null
                     *         }
                     *       ],
                     *       "total": 3,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_RunView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_run: {
        parameters: {
            query?: {
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example run-1
                 */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *       "external_id": "run-1",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "session_id": "anna-1",
                     *       "end_user_id": "anna",
                     *       "messages": 2,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "question": "Which food must I avoid?",
                     *       "answer": "Avoid peanuts: you are allergic to them.",
                     *       "state": "searchable",
                     *       "searchable_after_seconds": 0.8,
                     *       "given": null
                     *     }
                     */
                    "application/json": components["schemas"]["RunView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundRunId"];
            422: components["responses"]["InvalidRequestFlowIdOfGetRun"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    receive_traces: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example harbour
                 */
                flow_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "resourceSpans": [
                 *         {
                 *           "scopeSpans": [
                 *             {
                 *               "spans": [
                 *                 {
                 *                   "traceId": "5b8efff798038103d269b633813fc60c",
                 *                   "spanId": "eee19b7ec3c1b174",
                 *                   "name": "chat",
                 *                   "startTimeUnixNano": "1768469400000000000",
                 *                   "endTimeUnixNano": "1768469401000000000",
                 *                   "attributes": [
                 *                     {
                 *                       "key": "gen_ai.conversation.id",
                 *                       "value": {
                 *                         "stringValue": "anna-1"
                 *                       }
                 *                     },
                 *                     {
                 *                       "key": "gen_ai.input.messages",
                 *                       "value": {
                 *                         "stringValue": "[{\"role\": \"user\", \"parts\": [{\"type\": \"text\", \"content\": \"Where is my boat?\"}]}]"
                 *                       }
                 *                     }
                 *                   ]
                 *                 }
                 *               ]
                 *             }
                 *           ]
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["TracesExport"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /** @example {} */
                    "application/json": components["schemas"]["TracesAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestBody"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_memory_bases: {
        parameters: {
            query?: {
                /** @description Only memory bases with this text in their name or in that of their flow. */
                text?: string | null;
                /** @description Only memory bases whose auto-capture is on, or off. */
                auto_capture?: boolean | null;
                /** @description Only memory bases in this condition. */
                condition?: components["schemas"]["ConditionName"] | null;
                /** @description `created`: oldest first. `recent`: latest first. `name`: by name. */
                order?: "created" | "recent" | "name" | "priority";
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
                /**
                 * @description A UUID, or the caller's id.
                 * @example support
                 */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "name": "support notes",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "user_id": "a0eaf6a5-3001-5126-8e31-5c59b975bcb5",
                     *           "kb_name": "support notes",
                     *           "threshold": 2,
                     *           "auto_capture": true,
                     *           "capture": "all",
                     *           "idle_after": 600,
                     *           "retain_days": null,
                     *           "embedding_model": "fake",
                     *           "vector_store": "chroma",
                     *           "vector_server": "chroma",
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "priority": "normal",
                     *           "paused_at": null,
                     *           "status": "ready",
                     *           "pending_messages": 0,
                     *           "pending_capped": false,
                     *           "total_processed": 2,
                     *           "last_sync_at": "2026-01-15T09:30:00Z",
                     *           "sessions": 1,
                     *           "mismatch": null,
                     *           "mismatch_checked_at": null,
                     *           "mismatch_since": null,
                     *           "chunks_missing": null,
                     *           "dead_letters": 0,
                     *           "sessions_near_threshold": 0,
                     *           "condition": "ok",
                     *           "warnings": []
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_MemoryBaseView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    create_memory_base: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "support notes",
                 *       "flow_id": "support",
                 *       "threshold": 2,
                 *       "capture": "all"
                 *     }
                 */
                "application/json": components["schemas"]["MemoryBaseBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *       "name": "support notes",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "user_id": "a0eaf6a5-3001-5126-8e31-5c59b975bcb5",
                     *       "kb_name": "support notes",
                     *       "threshold": 2,
                     *       "auto_capture": true,
                     *       "capture": "all",
                     *       "idle_after": 600,
                     *       "retain_days": null,
                     *       "embedding_model": "fake",
                     *       "vector_store": "chroma",
                     *       "vector_server": "chroma",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "priority": "normal",
                     *       "paused_at": null,
                     *       "status": "ready",
                     *       "pending_messages": 0,
                     *       "pending_capped": false,
                     *       "total_processed": 0,
                     *       "last_sync_at": null,
                     *       "sessions": 0,
                     *       "mismatch": null,
                     *       "mismatch_checked_at": null,
                     *       "mismatch_since": null,
                     *       "chunks_missing": null,
                     *       "dead_letters": 0,
                     *       "sessions_near_threshold": 0,
                     *       "condition": "ok",
                     *       "warnings": []
                     *     }
                     */
                    "application/json": components["schemas"]["MemoryBaseView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            409: components["responses"]["NameTakenName"];
            422: components["responses"]["InvalidRequestThreshold"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["VectorStoreUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    put_memory_base: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The name of the memory base; unique for the user.
                 * @example support notes
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "capture": "all"
                 *     }
                 */
                "application/json": components["schemas"]["MemoryBaseSettings"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *       "name": "support notes",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "user_id": "a0eaf6a5-3001-5126-8e31-5c59b975bcb5",
                     *       "kb_name": "support notes",
                     *       "threshold": 2,
                     *       "auto_capture": true,
                     *       "capture": "all",
                     *       "idle_after": 600,
                     *       "retain_days": null,
                     *       "embedding_model": "fake",
                     *       "vector_store": "chroma",
                     *       "vector_server": "chroma",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "priority": "normal",
                     *       "paused_at": null,
                     *       "status": "ready",
                     *       "pending_messages": 0,
                     *       "pending_capped": false,
                     *       "total_processed": 0,
                     *       "last_sync_at": null,
                     *       "sessions": 0,
                     *       "mismatch": null,
                     *       "mismatch_checked_at": null,
                     *       "mismatch_since": null,
                     *       "chunks_missing": null,
                     *       "dead_letters": 0,
                     *       "sessions_near_threshold": 0,
                     *       "condition": "ok",
                     *       "warnings": []
                     *     }
                     */
                    "application/json": components["schemas"]["MemoryBaseView"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryBaseView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            409: components["responses"]["ConflictCapture"];
            422: components["responses"]["InvalidRequestThreshold"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["VectorStoreUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_memory_base: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *       "name": "support notes",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "user_id": "a0eaf6a5-3001-5126-8e31-5c59b975bcb5",
                     *       "kb_name": "support notes",
                     *       "threshold": 2,
                     *       "auto_capture": true,
                     *       "capture": "all",
                     *       "idle_after": 600,
                     *       "retain_days": null,
                     *       "embedding_model": "fake",
                     *       "vector_store": "chroma",
                     *       "vector_server": "chroma",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "priority": "normal",
                     *       "paused_at": null,
                     *       "status": "ready",
                     *       "pending_messages": 0,
                     *       "pending_capped": false,
                     *       "total_processed": 2,
                     *       "last_sync_at": "2026-01-15T09:30:00Z",
                     *       "sessions": 1,
                     *       "mismatch": null,
                     *       "mismatch_checked_at": null,
                     *       "mismatch_since": null,
                     *       "chunks_missing": null,
                     *       "dead_letters": 0,
                     *       "sessions_near_threshold": 0,
                     *       "condition": "ok",
                     *       "warnings": []
                     *     }
                     */
                    "application/json": components["schemas"]["MemoryBaseView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_memory_base: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Accepted"];
                };
            };
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    update_memory_base: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "idle_after": 300,
                 *       "paused": false,
                 *       "priority": "high"
                 *     }
                 */
                "application/json": components["schemas"]["MemoryBaseChanges"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *       "name": "support notes",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "user_id": "a0eaf6a5-3001-5126-8e31-5c59b975bcb5",
                     *       "kb_name": "support notes",
                     *       "threshold": 2,
                     *       "auto_capture": true,
                     *       "capture": "all",
                     *       "idle_after": 300,
                     *       "retain_days": null,
                     *       "embedding_model": "fake",
                     *       "vector_store": "chroma",
                     *       "vector_server": "chroma",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "priority": "high",
                     *       "paused_at": null,
                     *       "status": "ready",
                     *       "pending_messages": 0,
                     *       "pending_capped": false,
                     *       "total_processed": 2,
                     *       "last_sync_at": "2026-01-15T09:30:00Z",
                     *       "sessions": 1,
                     *       "mismatch": null,
                     *       "mismatch_checked_at": null,
                     *       "mismatch_since": null,
                     *       "chunks_missing": null,
                     *       "dead_letters": 0,
                     *       "sessions_near_threshold": 0,
                     *       "condition": "ok",
                     *       "warnings": []
                     *     }
                     */
                    "application/json": components["schemas"]["MemoryBaseView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestFlowIdOfUpdateMemoryBase"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_memory_base_sessions: {
        parameters: {
            query?: {
                /** @description Only sessions in this state. */
                state?: components["schemas"]["SessionState"] | null;
                /** @description Only sessions of this end user. */
                end_user_id?: string | null;
                /** @description Only sessions with this text in their id or in that of their end user. */
                text?: string | null;
                /** @description `created`: oldest first. `recent`: latest capture first. */
                order?: "created" | "recent";
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "d7ecd7e5-e8df-56aa-9406-4f01d13f7971",
                     *           "session_id": "anna-1",
                     *           "end_user_id": "anna",
                     *           "last_captured_at": "2026-01-15T09:30:00Z",
                     *           "cursor_id": "5400778c-9113-5663-bd4d-aa095c923082",
                     *           "cursor_seq": 2,
                     *           "total_messages": 2,
                     *           "total_processed": 2,
                     *           "pending_messages": 0,
                     *           "last_sync_at": "2026-01-15T09:30:00Z",
                     *           "state": "synced"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_BaseSessionView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    flush_memory_base: {
        parameters: {
            query?: {
                /** @description Seconds to wait until the jobs end. */
                wait?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "session_id": "anna-1"
                 *     }
                 */
                "application/json": components["schemas"]["FlushBody"] | null;
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlushResult"];
                };
            };
            /** @description Successful Response */
            202: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "jobs": [
                     *         {
                     *           "id": "2103d091-2488-5557-904a-a94d8b576103",
                     *           "session_id": "anna-1",
                     *           "state": "queued"
                     *         }
                     *       ],
                     *       "conflicts": [],
                     *       "skipped": [],
                     *       "deferred": 0
                     *     }
                     */
                    "application/json": components["schemas"]["FlushResult"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            409: components["responses"]["IngestionActiveMemoryBaseId"];
            422: components["responses"]["InvalidRequestSession"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    sync_memory_base: {
        parameters: {
            query?: {
                /** @description Seconds to wait until the jobs end. */
                wait?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "session_id": "anna-1"
                 *     }
                 */
                "application/json": components["schemas"]["FlushBody"] | null;
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlushResult"];
                };
            };
            /** @description Successful Response */
            202: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "jobs": [
                     *         {
                     *           "id": "90a9253d-250d-585a-b1d2-e6de5d9195da",
                     *           "session_id": "anna-1",
                     *           "state": "queued"
                     *         }
                     *       ],
                     *       "conflicts": [],
                     *       "skipped": [],
                     *       "deferred": 0
                     *     }
                     */
                    "application/json": components["schemas"]["FlushResult"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            409: components["responses"]["IngestionActiveMemoryBaseIdOfSyncMemoryBase"];
            422: components["responses"]["InvalidRequestSession"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    regenerate_memory_base: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "capture": "outputs"
                 *     }
                 */
                "application/json": components["schemas"]["RegenerateBody"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "generation": 2,
                     *       "jobs": [
                     *         {
                     *           "id": "7a8675a1-88f1-550a-8be3-490c7f832d61",
                     *           "session_id": "anna-1",
                     *           "state": "queued"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Regeneration"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            409: components["responses"]["BuildActiveMemoryBaseId"];
            422: components["responses"]["InvalidRequestCapture"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    check_mismatch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "mismatch": false,
                     *       "state": "ok",
                     *       "expected": 5,
                     *       "found": 5,
                     *       "missing": 0,
                     *       "extra": 0,
                     *       "altered": 0,
                     *       "missing_token_vectors": 0,
                     *       "missing_ids": [],
                     *       "extra_ids": []
                     *     }
                     */
                    "application/json": components["schemas"]["Mismatch"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_search_weights: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "defaults": {
                     *         "with_token_vectors": {
                     *           "bias": -1.38,
                     *           "weights": {
                     *             "dense": 1.81,
                     *             "nearby": 5.03,
                     *             "topic": 4.51,
                     *             "reply": 3.92,
                     *             "coverage": 1.79,
                     *             "keywords": 4,
                     *             "long": -1.63,
                     *             "long_you": 2.17,
                     *             "two_before": 5.01,
                     *             "after_question": 4.31,
                     *             "speaker": 1.13,
                     *             "time": 2.03,
                     *             "number": 1.31,
                     *             "date": 5.61,
                     *             "wish": 7.02,
                     *             "first": 2,
                     *             "latest": 2,
                     *             "opening": 2,
                     *             "first_person": 0.24,
                     *             "capitals": 0.62,
                     *             "repeats": -12
                     *           }
                     *         },
                     *         "without_token_vectors": {
                     *           "bias": -0.98,
                     *           "weights": {
                     *             "dense": 4.89,
                     *             "nearby": 8.05,
                     *             "topic": 5.79,
                     *             "reply": 6.2,
                     *             "coverage": 1.14,
                     *             "keywords": 3,
                     *             "long": -2,
                     *             "long_you": 2.15,
                     *             "speaker": 1.16,
                     *             "time": 2.17,
                     *             "number": 1.64,
                     *             "date": 5.68,
                     *             "wish": 7,
                     *             "first": 2,
                     *             "latest": 2,
                     *             "opening": 2,
                     *             "first_person": 0.3,
                     *             "capitals": 0.75,
                     *             "repeats": -12
                     *           }
                     *         }
                     *       },
                     *       "stored": {
                     *         "sets": {
                     *           "with_token_vectors": {
                     *             "bias": -2,
                     *             "weights": {
                     *               "keywords": 1.5
                     *             }
                     *           }
                     *         },
                     *         "fitted_at": null,
                     *         "questions": null,
                     *         "note": "tuned on our questions",
                     *         "half_life_days": null
                     *       },
                     *       "previous": null
                     *     }
                     */
                    "application/json": components["schemas"]["WeightsView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    set_search_weights: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "sets": {
                 *         "with_token_vectors": {
                 *           "bias": -2,
                 *           "weights": {
                 *             "keywords": 1.5
                 *           }
                 *         }
                 *       },
                 *       "note": "tuned on our questions"
                 *     }
                 */
                "application/json": components["schemas"]["WeightsBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "defaults": {
                     *         "with_token_vectors": {
                     *           "bias": -1.38,
                     *           "weights": {
                     *             "dense": 1.81,
                     *             "nearby": 5.03,
                     *             "topic": 4.51,
                     *             "reply": 3.92,
                     *             "coverage": 1.79,
                     *             "keywords": 4,
                     *             "long": -1.63,
                     *             "long_you": 2.17,
                     *             "two_before": 5.01,
                     *             "after_question": 4.31,
                     *             "speaker": 1.13,
                     *             "time": 2.03,
                     *             "number": 1.31,
                     *             "date": 5.61,
                     *             "wish": 7.02,
                     *             "first": 2,
                     *             "latest": 2,
                     *             "opening": 2,
                     *             "first_person": 0.24,
                     *             "capitals": 0.62,
                     *             "repeats": -12
                     *           }
                     *         },
                     *         "without_token_vectors": {
                     *           "bias": -0.98,
                     *           "weights": {
                     *             "dense": 4.89,
                     *             "nearby": 8.05,
                     *             "topic": 5.79,
                     *             "reply": 6.2,
                     *             "coverage": 1.14,
                     *             "keywords": 3,
                     *             "long": -2,
                     *             "long_you": 2.15,
                     *             "speaker": 1.16,
                     *             "time": 2.17,
                     *             "number": 1.64,
                     *             "date": 5.68,
                     *             "wish": 7,
                     *             "first": 2,
                     *             "latest": 2,
                     *             "opening": 2,
                     *             "first_person": 0.3,
                     *             "capitals": 0.75,
                     *             "repeats": -12
                     *           }
                     *         }
                     *       },
                     *       "stored": {
                     *         "sets": {
                     *           "with_token_vectors": {
                     *             "bias": -2,
                     *             "weights": {
                     *               "keywords": 1.5
                     *             }
                     *           }
                     *         },
                     *         "fitted_at": null,
                     *         "questions": null,
                     *         "note": "tuned on our questions",
                     *         "half_life_days": null
                     *       },
                     *       "previous": null
                     *     }
                     */
                    "application/json": components["schemas"]["WeightsView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestSets"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    reset_search_weights: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_activity: {
        parameters: {
            query: {
                /**
                 * @description Start of the time range, inclusive.
                 * @example 2026-01-15T09:30:00Z
                 */
                since: string;
                /** @description Default and maximum: now. */
                until?: string | null;
                /**
                 * @description About how many buckets to return.
                 * @example 24
                 */
                buckets?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "since": "2026-01-15T09:30:00Z",
                     *       "until": "2026-01-15T09:30:00Z",
                     *       "bucket_seconds": 60,
                     *       "buckets": [
                     *         {
                     *           "at": "2026-01-15T09:30:00Z",
                     *           "captured": 2,
                     *           "ingested": 2,
                     *           "delay_mean_seconds": 0.8,
                     *           "delay_max_seconds": 1.4
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Activity"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestBuckets"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                /** @description Only jobs in this state. */
                state?: components["schemas"]["JobState"] | null;
                /**
                 * @description Only jobs of this session.
                 * @example anna-1
                 */
                session_id?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "f4956db2-488f-530b-bdd7-a29b284c6147",
                     *           "kind": "ingest",
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "memory_base_name": "support notes",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "session_id": "anna-1",
                     *           "state": "done",
                     *           "from_seq": 2,
                     *           "to_seq": 11,
                     *           "processed": 9,
                     *           "total": 9,
                     *           "attempts": 1,
                     *           "error": null,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "started_at": "2026-01-15T09:30:00Z",
                     *           "finished_at": "2026-01-15T09:30:00Z"
                     *         },
                     *         {
                     *           "id": "e465ba84-6eaa-5981-9a59-e12dcb28cce6",
                     *           "kind": "repair",
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "memory_base_name": "support notes",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "session_id": "anna-1",
                     *           "state": "done",
                     *           "from_seq": 2,
                     *           "to_seq": 2,
                     *           "processed": 1,
                     *           "total": 1,
                     *           "attempts": 1,
                     *           "error": null,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "started_at": "2026-01-15T09:30:00Z",
                     *           "finished_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 3,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_JobView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_dead_letters: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "fdd3022a-c561-51e2-a407-0c7e37fd78d1",
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "memory_base_name": "support notes",
                     *           "session_id": "ben-1",
                     *           "message_id": "d15f20b4-5bba-5ba6-bd7b-e18de2a3fea7",
                     *           "message": {
                     *             "id": "d15f20b4-5bba-5ba6-bd7b-e18de2a3fea7",
                     *             "external_id": null,
                     *             "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *             "session_id": "ben-1",
                     *             "run_id": "3cb206a2-8a7a-5987-b303-361a2b9f32d8",
                     *             "end_user_id": "ben",
                     *             "seq": 1,
                     *             "role": "assistant",
                     *             "is_output": true,
                     *             "content": "poison",
                     *             "tool_calls": null,
                     *             "tool_call_id": null,
                     *             "name": null,
                     *             "sender_name": null,
                     *             "parent_message_id": null,
                     *             "files": [],
                     *             "metadata": {},
                     *             "status": "completed",
                     *             "version": 1,
                     *             "timestamp": "2026-01-15T09:30:00Z",
                     *             "captured_at": "2026-01-15T09:30:00Z",
                     *             "edited_at": null,
                     *             "muted": false,
                     *             "pinned": false
                     *           },
                     *           "state": "dead",
                     *           "error": {
                     *             "code": "text_rejected",
                     *             "message": "The embedding model cannot encode this text."
                     *           },
                     *           "attempts": 1,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "updated_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_DeadLetterView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    retry_dead_letter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
                /**
                 * @description The UUID of the dead letter.
                 * @example fdd3022a-c561-51e2-a407-0c7e37fd78d1
                 */
                dead_letter_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "job_ids": [
                     *         "687da6f3-5370-5ce6-872d-ea66536a93dc"
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Repairs"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundDeadLetterId"];
            422: components["responses"]["InvalidRequestDeadLetterId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    discard_dead_letter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
                /**
                 * @description The UUID of the dead letter.
                 * @example fdd3022a-c561-51e2-a407-0c7e37fd78d1
                 */
                dead_letter_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundDeadLetterId"];
            422: components["responses"]["InvalidRequestDeadLetterId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_memory_map: {
        parameters: {
            query?: {
                /**
                 * @description A question to project onto the map.
                 * @example Which berth has shore power?
                 */
                question?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example 989dc242-dd0d-5b1a-afe6-40e4d0aba6ea
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "memory_base_id": "989dc242-dd0d-5b1a-afe6-40e4d0aba6ea",
                     *       "state": "ready",
                     *       "progress": null,
                     *       "error": null,
                     *       "failing_since": null,
                     *       "messages": 20,
                     *       "min_messages": 20,
                     *       "computed_at": "2026-01-15T09:30:00Z",
                     *       "as_of": "2026-01-15T09:30:00Z",
                     *       "mapped_messages": 20,
                     *       "added": 0,
                     *       "removed": 0,
                     *       "edited": 0,
                     *       "explained": 0.739,
                     *       "shown": 20,
                     *       "points": [
                     *         {
                     *           "message_id": "b89aba8e-1fc7-53dd-a2f1-1a32e4bca241",
                     *           "x": 0.624,
                     *           "y": 0.074,
                     *           "cluster": 0,
                     *           "session_id": "anna-2",
                     *           "role": "assistant",
                     *           "speaker": "assistant",
                     *           "timestamp": "2026-01-15T09:30:00Z"
                     *         },
                     *         {
                     *           "message_id": "547c1cc8-5b6f-50de-889a-cd8c3c293d30",
                     *           "x": 0.657,
                     *           "y": 0.214,
                     *           "cluster": 0,
                     *           "session_id": "anna-2",
                     *           "role": "assistant",
                     *           "speaker": "assistant",
                     *           "timestamp": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "clusters": [
                     *         {
                     *           "cluster": 0,
                     *           "label": "cards, pontoon, pump",
                     *           "points": 10
                     *         },
                     *         {
                     *           "cluster": 1,
                     *           "label": "berth, boat, free",
                     *           "points": 6
                     *         }
                     *       ],
                     *       "question": {
                     *         "x": -0.169,
                     *         "y": 0.154
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["MapView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    request_memory_map: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example 989dc242-dd0d-5b1a-afe6-40e4d0aba6ea
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "memory_base_id": "989dc242-dd0d-5b1a-afe6-40e4d0aba6ea",
                     *       "state": "computing",
                     *       "progress": 0,
                     *       "error": null,
                     *       "failing_since": null,
                     *       "messages": 20,
                     *       "min_messages": 20,
                     *       "computed_at": null,
                     *       "as_of": null,
                     *       "mapped_messages": 0,
                     *       "added": 0,
                     *       "removed": 0,
                     *       "edited": 0,
                     *       "explained": null,
                     *       "shown": 0,
                     *       "points": [],
                     *       "clusters": [],
                     *       "question": null
                     *     }
                     */
                    "application/json": components["schemas"]["MapView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_distillation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example 989dc242-dd0d-5b1a-afe6-40e4d0aba6ea
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "memory_base_id": "989dc242-dd0d-5b1a-afe6-40e4d0aba6ea",
                     *       "enabled": true,
                     *       "available": true,
                     *       "state": "idle",
                     *       "pending_sessions": 0,
                     *       "skipped_messages": 0,
                     *       "error": null,
                     *       "waits_until": null,
                     *       "facts": 1,
                     *       "tokens_today": 120,
                     *       "daily_tokens": 500000,
                     *       "usage": {
                     *         "requests": 1,
                     *         "prompt_tokens": 100,
                     *         "completion_tokens": 20,
                     *         "tokens_today": 120,
                     *         "cost": null,
                     *         "facts": 1,
                     *         "refused": {}
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["DistillationView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    set_distillation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example 989dc242-dd0d-5b1a-afe6-40e4d0aba6ea
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "enabled": true
                 *     }
                 */
                "application/json": components["schemas"]["DistillationBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "memory_base_id": "989dc242-dd0d-5b1a-afe6-40e4d0aba6ea",
                     *       "enabled": true,
                     *       "available": true,
                     *       "state": "idle",
                     *       "pending_sessions": 0,
                     *       "skipped_messages": 0,
                     *       "error": null,
                     *       "waits_until": null,
                     *       "facts": 0,
                     *       "tokens_today": 0,
                     *       "daily_tokens": 500000,
                     *       "usage": {
                     *         "requests": 0,
                     *         "prompt_tokens": 0,
                     *         "completion_tokens": 0,
                     *         "tokens_today": 0,
                     *         "cost": null,
                     *         "facts": 0,
                     *         "refused": {}
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["DistillationView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestStart"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_facts: {
        parameters: {
            query?: {
                /** @description `current`: facts that hold; `superseded`: facts that a later one corrects; `all`. */
                state?: "current" | "superseded" | "all";
                /** @description Only facts of this session. */
                session_id?: string | null;
                /**
                 * @description Only facts from this person's sessions.
                 * @example carl
                 */
                end_user_id?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example 989dc242-dd0d-5b1a-afe6-40e4d0aba6ea
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "94754c93-de62-5043-a689-1a370274085c",
                     *           "memory_base_id": "989dc242-dd0d-5b1a-afe6-40e4d0aba6ea",
                     *           "session_id": "carl-1",
                     *           "end_user_id": "carl",
                     *           "derived": true,
                     *           "who": "Carl",
                     *           "what": "The ketch of Carl needs a berth with shore power",
                     *           "when": null,
                     *           "said_at": "2026-01-15T09:30:00Z",
                     *           "sources": [
                     *             {
                     *               "message_id": "fc45d6a3-7e36-5c47-ae55-a0688e17cdec",
                     *               "version": 1,
                     *               "seq": 1
                     *             }
                     *           ],
                     *           "superseded_by": null,
                     *           "corrects": [],
                     *           "model": "scripted",
                     *           "created_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_FactView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestState"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_facts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example 989dc242-dd0d-5b1a-afe6-40e4d0aba6ea
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "deleted": 0
                     *     }
                     */
                    "application/json": components["schemas"]["FactsDeleted"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    search_facts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example 989dc242-dd0d-5b1a-afe6-40e4d0aba6ea
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "query": "Who needs shore power?",
                 *       "top_k": 1
                 *     }
                 */
                "application/json": components["schemas"]["FactSearchBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "facts": [
                     *         {
                     *           "fact_id": "94754c93-de62-5043-a689-1a370274085c",
                     *           "memory_base_id": "989dc242-dd0d-5b1a-afe6-40e4d0aba6ea",
                     *           "session_id": "carl-1",
                     *           "kind": "fact",
                     *           "derived": true,
                     *           "who": "Carl",
                     *           "what": "The ketch of Carl needs a berth with shore power",
                     *           "when": null,
                     *           "said_at": "2026-01-15T09:30:00Z",
                     *           "score": 0.481,
                     *           "source_message_ids": [
                     *             "fc45d6a3-7e36-5c47-ae55-a0688e17cdec"
                     *           ]
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["FactsFound"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestTopKOfSearchFacts"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_fact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example 989dc242-dd0d-5b1a-afe6-40e4d0aba6ea
                 */
                memory_base_id: string;
                /**
                 * @description The UUID of the fact.
                 * @example 94754c93-de62-5043-a689-1a370274085c
                 */
                fact_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "94754c93-de62-5043-a689-1a370274085c",
                     *       "memory_base_id": "989dc242-dd0d-5b1a-afe6-40e4d0aba6ea",
                     *       "session_id": "carl-1",
                     *       "end_user_id": "carl",
                     *       "derived": true,
                     *       "who": "Carl",
                     *       "what": "The ketch of Carl needs a berth with shore power",
                     *       "when": null,
                     *       "said_at": "2026-01-15T09:30:00Z",
                     *       "sources": [
                     *         {
                     *           "message_id": "fc45d6a3-7e36-5c47-ae55-a0688e17cdec",
                     *           "version": 1,
                     *           "seq": 1
                     *         }
                     *       ],
                     *       "superseded_by": null,
                     *       "corrects": [],
                     *       "model": "scripted",
                     *       "created_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["FactView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFactId"];
            422: components["responses"]["InvalidRequestFactId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_fact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example 989dc242-dd0d-5b1a-afe6-40e4d0aba6ea
                 */
                memory_base_id: string;
                /**
                 * @description The UUID of the fact.
                 * @example 94754c93-de62-5043-a689-1a370274085c
                 */
                fact_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFactId"];
            422: components["responses"]["InvalidRequestFactId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_all_jobs: {
        parameters: {
            query?: {
                /**
                 * @description Only jobs of this memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id?: string | null;
                /**
                 * @description Only jobs in this state.
                 * @example done
                 */
                state?: components["schemas"]["JobState"] | null;
                /** @description Only jobs of this kind. */
                kind?: components["schemas"]["JobKind"] | null;
                /** @description Only jobs of this session. */
                session_id?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "f4956db2-488f-530b-bdd7-a29b284c6147",
                     *           "kind": "ingest",
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "memory_base_name": "support notes",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "session_id": "anna-1",
                     *           "state": "done",
                     *           "from_seq": 2,
                     *           "to_seq": 11,
                     *           "processed": 9,
                     *           "total": 9,
                     *           "attempts": 1,
                     *           "error": null,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "started_at": "2026-01-15T09:30:00Z",
                     *           "finished_at": "2026-01-15T09:30:00Z"
                     *         },
                     *         {
                     *           "id": "e465ba84-6eaa-5981-9a59-e12dcb28cce6",
                     *           "kind": "repair",
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "memory_base_name": "support notes",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "session_id": "anna-1",
                     *           "state": "done",
                     *           "from_seq": 2,
                     *           "to_seq": 2,
                     *           "processed": 1,
                     *           "total": 1,
                     *           "attempts": 1,
                     *           "error": null,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "started_at": "2026-01-15T09:30:00Z",
                     *           "finished_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 3,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_JobView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    act_on_jobs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "action": "retry",
                 *       "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                 *       "dry_run": true
                 *     }
                 */
                "application/json": components["schemas"]["JobActionBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "action": "retry",
                     *       "results": [],
                     *       "remaining": 0,
                     *       "taken": 0,
                     *       "skipped": {},
                     *       "dry_run": true
                     *     }
                     */
                    "application/json": components["schemas"]["JobResults"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestAction"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_job: {
        parameters: {
            query?: {
                /** @description Seconds to wait until the job ends. */
                wait?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the job.
                 * @example f4956db2-488f-530b-bdd7-a29b284c6147
                 */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "f4956db2-488f-530b-bdd7-a29b284c6147",
                     *       "kind": "ingest",
                     *       "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *       "memory_base_name": "support notes",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "session_id": "anna-1",
                     *       "state": "done",
                     *       "from_seq": 2,
                     *       "to_seq": 11,
                     *       "processed": 9,
                     *       "total": 9,
                     *       "attempts": 1,
                     *       "error": null,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "started_at": "2026-01-15T09:30:00Z",
                     *       "finished_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["JobView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundJobId"];
            422: components["responses"]["InvalidRequestJobId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the job.
                 * @example 2103d091-2488-5557-904a-a94d8b576103
                 */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundJobId"];
            409: components["responses"]["ConflictJobId"];
            422: components["responses"]["InvalidRequestJobId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    watch_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the job.
                 * @example f4956db2-488f-530b-bdd7-a29b284c6147
                 */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example event: job
                     *     data: {"id":"f4956db2-488f-530b-bdd7-a29b284c6147","kind":"ingest","memory_base_id":"dcfd52af-c738-5da7-8edb-e42ae43b1ec6","memory_base_name":"support notes","flow_id":"0e88dacf-a012-502d-bf09-e38ab28c5f06","session_id":"anna-1","state":"done","from_seq":2,"to_seq":11,"processed":9,"total":9,"attempts":1,"error":null,"created_at":"2026-01-15T09:30:00Z","started_at":"2026-01-15T09:30:00Z","finished_at":"2026-01-15T09:30:00Z"}
                     *
                     *     event: end
                     *     data: {"id":"f4956db2-488f-530b-bdd7-a29b284c6147","kind":"ingest","memory_base_id":"dcfd52af-c738-5da7-8edb-e42ae43b1ec6","memory_base_name":"support notes","flow_id":"0e88dacf-a012-502d-bf09-e38ab28c5f06","session_id":"anna-1","state":"done","from_seq":2,"to_seq":11,"processed":9,"total":9,"attempts":1,"error":null,"created_at":"2026-01-15T09:30:00Z","started_at":"2026-01-15T09:30:00Z","finished_at":"2026-01-15T09:30:00Z"}
                     */
                    "text/event-stream": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundJobId"];
            422: components["responses"]["InvalidRequestJobId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_all_dead_letters: {
        parameters: {
            query?: {
                /**
                 * @description Only dead letters of this memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id?: string | null;
                /** @description Only dead letters with this error code. */
                cause?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "fdd3022a-c561-51e2-a407-0c7e37fd78d1",
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "memory_base_name": "support notes",
                     *           "session_id": "ben-1",
                     *           "message_id": "d15f20b4-5bba-5ba6-bd7b-e18de2a3fea7",
                     *           "message": {
                     *             "id": "d15f20b4-5bba-5ba6-bd7b-e18de2a3fea7",
                     *             "external_id": null,
                     *             "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *             "session_id": "ben-1",
                     *             "run_id": "3cb206a2-8a7a-5987-b303-361a2b9f32d8",
                     *             "end_user_id": "ben",
                     *             "seq": 1,
                     *             "role": "assistant",
                     *             "is_output": true,
                     *             "content": "poison",
                     *             "tool_calls": null,
                     *             "tool_call_id": null,
                     *             "name": null,
                     *             "sender_name": null,
                     *             "parent_message_id": null,
                     *             "files": [],
                     *             "metadata": {},
                     *             "status": "completed",
                     *             "version": 1,
                     *             "timestamp": "2026-01-15T09:30:00Z",
                     *             "captured_at": "2026-01-15T09:30:00Z",
                     *             "edited_at": null,
                     *             "muted": false,
                     *             "pinned": false
                     *           },
                     *           "state": "dead",
                     *           "error": {
                     *             "code": "text_rejected",
                     *             "message": "The embedding model cannot encode this text."
                     *           },
                     *           "attempts": 1,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "updated_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_DeadLetterView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    group_dead_letters: {
        parameters: {
            query?: {
                /**
                 * @description Only dead letters of this memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id?: string | null;
                /** @description Only dead letters with this error code. */
                cause?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "causes": [
                     *         {
                     *           "cause": "text_rejected",
                     *           "messages": 1,
                     *           "retrying": 0,
                     *           "sessions": 1,
                     *           "memory_bases": 1,
                     *           "since": "2026-01-15T09:30:00Z",
                     *           "distinct_texts": 1,
                     *           "texts": [
                     *             {
                     *               "example": {
                     *                 "id": "fdd3022a-c561-51e2-a407-0c7e37fd78d1",
                     *                 "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *                 "memory_base_name": "support notes",
                     *                 "session_id": "ben-1",
                     *                 "message_id": "d15f20b4-5bba-5ba6-bd7b-e18de2a3fea7",
                     *                 "message": {
                     *                   "id": "d15f20b4-5bba-5ba6-bd7b-e18de2a3fea7",
                     *                   "external_id": null,
                     *                   "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *                   "session_id": "ben-1",
                     *                   "run_id": "3cb206a2-8a7a-5987-b303-361a2b9f32d8",
                     *                   "end_user_id": "ben",
                     *                   "seq": 1,
                     *                   "role": "assistant",
                     *                   "is_output": true,
                     *                   "content": "poison",
                     *                   "tool_calls": null,
                     *                   "tool_call_id": null,
                     *                   "name": null,
                     *                   "sender_name": null,
                     *                   "parent_message_id": null,
                     *                   "files": [],
                     *                   "metadata": {},
                     *                   "status": "completed",
                     *                   "version": 1,
                     *                   "timestamp": "2026-01-15T09:30:00Z",
                     *                   "captured_at": "2026-01-15T09:30:00Z",
                     *                   "edited_at": null,
                     *                   "muted": false,
                     *                   "pinned": false
                     *                 },
                     *                 "state": "dead",
                     *                 "error": {
                     *                   "code": "text_rejected",
                     *                   "message": "The embedding model cannot encode this text."
                     *                 },
                     *                 "attempts": 1,
                     *                 "created_at": "2026-01-15T09:30:00Z",
                     *                 "updated_at": "2026-01-15T09:30:00Z"
                     *               },
                     *               "messages": 1,
                     *               "retrying": 0,
                     *               "sessions": 1,
                     *               "since": "2026-01-15T09:30:00Z"
                     *             }
                     *           ]
                     *         }
                     *       ],
                     *       "messages": 1
                     *     }
                     */
                    "application/json": components["schemas"]["DeadLetterGroups"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    act_on_dead_letters: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "action": "retry",
                 *       "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6"
                 *     }
                 */
                "application/json": components["schemas"]["DeadLetterActionBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "action": "retry",
                     *       "results": [
                     *         {
                     *           "id": "fdd3022a-c561-51e2-a407-0c7e37fd78d1",
                     *           "outcome": "retrying",
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "session_id": "ben-1",
                     *           "message_id": "d15f20b4-5bba-5ba6-bd7b-e18de2a3fea7",
                     *           "job_id": "d75773d0-0d79-553e-9613-4ff4fb1b2bfa"
                     *         }
                     *       ],
                     *       "remaining": 0,
                     *       "taken": 1,
                     *       "skipped": {},
                     *       "dry_run": false
                     *     }
                     */
                    "application/json": components["schemas"]["DeadLetterResults"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestActionOfActOnDeadLetters"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_messages: {
        parameters: {
            query?: {
                /** @description Messages of its flow, each with `ingested`. */
                memory_base_id?: string | null;
                /**
                 * @description Only messages of this session.
                 * @example anna-1
                 */
                session_id?: string | null;
                /** @description Only messages of this end user's sessions. */
                end_user_id?: string | null;
                /** @description Only messages with this role. */
                role?: ("user" | "assistant" | "system" | "tool") | null;
                /** @description Only outputs, or only other messages. */
                is_output?: boolean | null;
                /** @description Requires memory_base_id. */
                ingested?: boolean | null;
                /** @description Inclusive, like `until`. Without a time zone: UTC. */
                since?: string | null;
                /** @description End of the time range, inclusive. */
                until?: string | null;
                /** @description `failed`: it could not be embedded; requires memory_base_id. */
                state?: ("muted" | "pinned" | "failed") | null;
                /** @description Only messages with all of these words; requires a flow or memory base. */
                find?: string | null;
                /** @description Oldest or newest first. */
                order?: "asc" | "desc";
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
                /**
                 * @description A UUID, or the caller's id.
                 * @example support
                 */
                flow_id?: string | null;
                /** @description Only messages of this run: a UUID or the caller's id. */
                run_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "0bc8f21e-756e-50f9-8e81-e20f9cb36a58",
                     *           "external_id": "m-1",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "session_id": "anna-1",
                     *           "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *           "end_user_id": "anna",
                     *           "seq": 1,
                     *           "role": "user",
                     *           "is_output": false,
                     *           "content": "Which food must I avoid?",
                     *           "tool_calls": null,
                     *           "tool_call_id": null,
                     *           "name": null,
                     *           "sender_name": null,
                     *           "parent_message_id": null,
                     *           "files": [],
                     *           "metadata": {},
                     *           "status": "completed",
                     *           "version": 1,
                     *           "timestamp": "2026-01-15T09:30:00Z",
                     *           "captured_at": "2026-01-15T09:30:00Z",
                     *           "edited_at": null,
                     *           "muted": false,
                     *           "pinned": false
                     *         },
                     *         {
                     *           "id": "5400778c-9113-5663-bd4d-aa095c923082",
                     *           "external_id": "m-2",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "session_id": "anna-1",
                     *           "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *           "end_user_id": "anna",
                     *           "seq": 2,
                     *           "role": "assistant",
                     *           "is_output": true,
                     *           "content": "Avoid peanuts: you are allergic to them.",
                     *           "tool_calls": null,
                     *           "tool_call_id": null,
                     *           "name": null,
                     *           "sender_name": null,
                     *           "parent_message_id": null,
                     *           "files": [],
                     *           "metadata": {},
                     *           "status": "completed",
                     *           "version": 1,
                     *           "timestamp": "2026-01-15T09:30:00Z",
                     *           "captured_at": "2026-01-15T09:30:00Z",
                     *           "edited_at": null,
                     *           "muted": false,
                     *           "pinned": false
                     *         }
                     *       ],
                     *       "total": 2,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_MessageView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_message: {
        parameters: {
            query?: {
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example m-2
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "5400778c-9113-5663-bd4d-aa095c923082",
                     *       "external_id": "m-2",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "session_id": "anna-1",
                     *       "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *       "end_user_id": "anna",
                     *       "seq": 2,
                     *       "role": "assistant",
                     *       "is_output": true,
                     *       "content": "Avoid peanuts: you are allergic to them.",
                     *       "tool_calls": null,
                     *       "tool_call_id": null,
                     *       "name": null,
                     *       "sender_name": null,
                     *       "parent_message_id": null,
                     *       "files": [],
                     *       "metadata": {},
                     *       "status": "completed",
                     *       "version": 1,
                     *       "timestamp": "2026-01-15T09:30:00Z",
                     *       "captured_at": "2026-01-15T09:30:00Z",
                     *       "edited_at": null,
                     *       "muted": false,
                     *       "pinned": false
                     *     }
                     */
                    "application/json": components["schemas"]["MessageView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMessageId"];
            422: components["responses"]["InvalidRequestMessageId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_message: {
        parameters: {
            query?: {
                /** @description Why; for people, at most 500 characters. */
                reason?: string | null;
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example m-9
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message_id": "43d594e7-6f26-5edc-85d3-a07f74b7ad28",
                     *       "deleted_at": "2026-01-15T09:30:00Z",
                     *       "by": "local",
                     *       "reason": null,
                     *       "restorable_until": "2026-01-15T09:30:00Z",
                     *       "removed": [],
                     *       "job_ids": []
                     *     }
                     */
                    "application/json": components["schemas"]["DeletionReceipt"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMessageId"];
            422: components["responses"]["InvalidRequestMessageId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    edit_message: {
        parameters: {
            query?: {
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example m-2
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "metadata": {
                 *         "topic": "allergies"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["MessageChanges"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "job_ids": [
                     *         "e465ba84-6eaa-5981-9a59-e12dcb28cce6"
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Repairs"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMessageId"];
            422: components["responses"]["InvalidRequestRole"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_message_uses: {
        parameters: {
            query?: {
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example berth-answer
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "run_id": "636def21-9816-5f68-beb1-8b8b59fdc134",
                     *           "external_id": "berth-2",
                     *           "session_id": "ben-2",
                     *           "node_id": "answer",
                     *           "kind": "recall",
                     *           "score": 0.58,
                     *           "query": "Where is my boat?",
                     *           "at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_MessageUse_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMessageId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_message_ingestion: {
        parameters: {
            query?: {
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example berth-answer
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message_id": "a2d91663-9882-5a4d-bc93-0264fad7470b",
                     *       "memories": [
                     *         {
                     *           "memory_base_id": "e391d139-a182-5a8a-af2c-944d06e1f93d",
                     *           "memory_base_name": "harbour notes",
                     *           "state": "searchable",
                     *           "messages": 1,
                     *           "searchable": 1,
                     *           "failed": 0,
                     *           "chunks": 1,
                     *           "error": null,
                     *           "pending": 0,
                     *           "threshold": 1,
                     *           "auto_capture": true,
                     *           "job_id": "582c0e45-b85e-5edd-8f2e-f8a3e678d79d",
                     *           "attempts": 1,
                     *           "captured_at": "2026-01-15T09:30:00Z",
                     *           "queued_at": "2026-01-15T09:30:00Z",
                     *           "started_at": "2026-01-15T09:30:00Z",
                     *           "embedding_at": "2026-01-15T09:30:00Z",
                     *           "embedded_at": "2026-01-15T09:30:00Z",
                     *           "written_at": "2026-01-15T09:30:00Z",
                     *           "searchable_at": "2026-01-15T09:30:00Z",
                     *           "searchable_after_ms": 840
                     *         }
                     *       ],
                     *       "runs": 1
                     *     }
                     */
                    "application/json": components["schemas"]["MessageIngestion"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMessageId"];
            422: components["responses"]["InvalidRequestMessageId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_message_history: {
        parameters: {
            query?: {
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example m-20
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "72397a1a-9ca7-5f04-a4ca-9f65c75e3996",
                     *           "message_id": "bfe244ed-145f-503a-bab8-fe37b7dc5260",
                     *           "action": "edit",
                     *           "at": "2026-01-15T09:30:00Z",
                     *           "by": "local",
                     *           "reason": "It was wired in May.",
                     *           "version": 2,
                     *           "former": {
                     *             "content": "Berth 12 has no shore power."
                     *           },
                     *           "difference": [
                     *             {
                     *               "kind": "same",
                     *               "text": "Berth 12 has "
                     *             },
                     *             {
                     *               "kind": "removed",
                     *               "text": "no"
                     *             }
                     *           ],
                     *           "batch_id": null
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_ChangeView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMessageId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    act_on_messages: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "action": "delete",
                 *       "ids": [
                 *         "m-20",
                 *         "m-21"
                 *       ],
                 *       "reason": "Sent by mistake."
                 *     }
                 */
                "application/json": components["schemas"]["MessageActionBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "action": "delete",
                     *       "batch_id": "4be6fc91-fa42-521e-92fa-3cb4b97b983f",
                     *       "done": 2,
                     *       "failed": 0,
                     *       "results": [
                     *         {
                     *           "id": "m-20",
                     *           "message_id": "bfe244ed-145f-503a-bab8-fe37b7dc5260",
                     *           "done": true,
                     *           "error": null,
                     *           "job_ids": [
                     *             "7d4c8fbc-75a3-5244-b50f-2203de6c40a2"
                     *           ]
                     *         },
                     *         {
                     *           "id": "m-21",
                     *           "message_id": "c48d3cc5-69f2-5304-8ac3-d00efb4c6941",
                     *           "done": true,
                     *           "error": null,
                     *           "job_ids": []
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["BulkAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestActionOfActOnMessages"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_deleted_messages: {
        parameters: {
            query?: {
                /** @description Messages of its flow. */
                memory_base_id?: string | null;
                /** @description Only messages of this session. */
                session_id?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
                /**
                 * @description A UUID, or the caller's id.
                 * @example harbour
                 */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "c48d3cc5-69f2-5304-8ac3-d00efb4c6941",
                     *           "external_id": "m-21",
                     *           "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *           "session_id": "dora-1",
                     *           "run_id": "49a9f67c-9be9-5ac9-894a-afa1b91250f8",
                     *           "end_user_id": null,
                     *           "seq": 2,
                     *           "role": "assistant",
                     *           "content": "Good morning.",
                     *           "sender_name": null,
                     *           "version": 1,
                     *           "timestamp": "2026-01-15T09:30:00Z",
                     *           "deleted_at": "2026-01-15T09:30:00Z",
                     *           "by": "local",
                     *           "reason": "Sent by mistake.",
                     *           "restorable_until": "2026-01-15T09:30:00Z",
                     *           "removed": [
                     *             {
                     *               "memory_base_id": "e391d139-a182-5a8a-af2c-944d06e1f93d",
                     *               "kb_name": "harbour notes",
                     *               "chunks": 1
                     *             }
                     *           ]
                     *         },
                     *         {
                     *           "id": "bfe244ed-145f-503a-bab8-fe37b7dc5260",
                     *           "external_id": "m-20",
                     *           "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *           "session_id": "dora-1",
                     *           "run_id": "49a9f67c-9be9-5ac9-894a-afa1b91250f8",
                     *           "end_user_id": null,
                     *           "seq": 1,
                     *           "role": "assistant",
                     *           "content": "Berth 12 has 16 A shore power.",
                     *           "sender_name": null,
                     *           "version": 2,
                     *           "timestamp": "2026-01-15T09:30:00Z",
                     *           "deleted_at": "2026-01-15T09:30:00Z",
                     *           "by": "local",
                     *           "reason": "Sent by mistake.",
                     *           "restorable_until": "2026-01-15T09:30:00Z",
                     *           "removed": [
                     *             {
                     *               "memory_base_id": "e391d139-a182-5a8a-af2c-944d06e1f93d",
                     *               "kb_name": "harbour notes",
                     *               "chunks": 1
                     *             }
                     *           ]
                     *         }
                     *       ],
                     *       "total": 2,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_DeletedMessageView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    restore_message: {
        parameters: {
            query?: {
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example m-20
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "reason": "It was right."
                 *     }
                 */
                "application/json": components["schemas"]["RestoreBody"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "job_ids": [
                     *         "1f1dc838-8ebd-5bfc-98fc-517d216f483f"
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Repairs"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMessageIdOfRestoreMessage"];
            422: components["responses"]["InvalidRequestReason"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    purge_message: {
        parameters: {
            query?: {
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example m-21
                 */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMessageIdOfRestoreMessage"];
            422: components["responses"]["InvalidRequestMessageId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_sessions: {
        parameters: {
            query?: {
                /** @description The person that sessions or chats belong to; only what belongs to them. */
                end_user_id?: string | null;
                /** @description Only those with every one of these words in their messages, or with the text in their id, the title of their metadata or their end user. Of end users: with the text in their id. */
                q?: string | null;
                /** @description Only sessions in this state. */
                state?: components["schemas"]["SearchState"] | null;
                /** @description Only sessions with a capture from this time on. Inclusive, like `until`. Without a time zone: UTC. */
                since?: string | null;
                /** @description Only sessions without a capture after this time. */
                until?: string | null;
                /** @description By creation, oldest first, or by the latest capture, latest first. */
                order?: "created" | "recent";
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
                /**
                 * @description A UUID, or the caller's id.
                 * @example support
                 */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "3ccc6a58-3040-5854-9f61-a3f58fad2427",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "session_id": "anna-1",
                     *           "end_user_id": "anna",
                     *           "title": "Which food must I avoid?",
                     *           "messages": 2,
                     *           "state": "searchable",
                     *           "metadata": {},
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "last_captured_at": "2026-01-15T09:30:00Z",
                     *           "expires_at": null
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_SessionView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_session: {
        parameters: {
            query: {
                /**
                 * @description The session's id, chosen by the caller.
                 * @example carl-1
                 */
                session_id: string;
                /**
                 * @description The flow: a UUID or the caller's id.
                 * @example archive
                 */
                flow_id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "sessions": 1,
                     *       "runs": 1,
                     *       "messages": 0,
                     *       "node_executions": 0,
                     *       "context_messages": 0,
                     *       "memory_uses": 0,
                     *       "summaries": 0,
                     *       "chunks": 0,
                     *       "pending_repairs": 0,
                     *       "job_ids": [],
                     *       "chats": 0,
                     *       "chat_messages": 0,
                     *       "message_changes": 1,
                     *       "restorable_messages": 1,
                     *       "standing_statements": 0,
                     *       "facts": 0
                     *     }
                     */
                    "application/json": components["schemas"]["Erasure"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestSessionId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    update_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "flow_id": "support",
                 *       "session_id": "anna-1",
                 *       "metadata": {
                 *         "channel": "web"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["SessionChanges"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "3ccc6a58-3040-5854-9f61-a3f58fad2427",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "session_id": "anna-1",
                     *       "end_user_id": "anna",
                     *       "title": "Which food must I avoid?",
                     *       "messages": 2,
                     *       "state": "searchable",
                     *       "metadata": {
                     *         "channel": "web"
                     *       },
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "last_captured_at": "2026-01-15T09:30:00Z",
                     *       "expires_at": null
                     *     }
                     */
                    "application/json": components["schemas"]["SessionView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestNewSessionId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_end_users: {
        parameters: {
            query?: {
                /**
                 * @description Only those with every one of these words in their messages, or with the text in their id, the title of their metadata or their end user. Of end users: with the text in their id.
                 * @example be
                 */
                q?: string | null;
                /** @description Last seen first, or most sessions first. */
                order?: "recent" | "sessions";
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
                /** @description Only end users of this flow: a UUID or the caller's id. A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "end_user_id": "ben",
                     *           "sessions": 2,
                     *           "chats": 0,
                     *           "messages": 4,
                     *           "last_seen": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_EndUserView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_end_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The person.
                 * @example ben
                 */
                end_user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "end_user_id": "ben",
                     *       "first_seen": "2026-01-15T09:30:00Z",
                     *       "last_seen": "2026-01-15T09:30:00Z",
                     *       "flows": 1,
                     *       "sessions": 2,
                     *       "runs": 2,
                     *       "messages": 4,
                     *       "chats": 0,
                     *       "chat_messages": 0,
                     *       "summaries": 0,
                     *       "node_executions": 0,
                     *       "memory_uses": 0,
                     *       "memories": [
                     *         {
                     *           "memory_base_id": "e391d139-a182-5a8a-af2c-944d06e1f93d",
                     *           "name": "harbour notes",
                     *           "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *           "messages": 2
                     *         }
                     *       ],
                     *       "chat_memories": []
                     *     }
                     */
                    "application/json": components["schemas"]["EndUserDetails"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundEndUserIdOfGetEndUser"];
            422: components["responses"]["InvalidRequestEndUserId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    erase_end_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The person whose sessions and chats are deleted.
                 * @example ben
                 */
                end_user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "sessions": 1,
                     *       "runs": 1,
                     *       "messages": 2,
                     *       "node_executions": 0,
                     *       "context_messages": 0,
                     *       "memory_uses": 0,
                     *       "summaries": 0,
                     *       "chunks": 1,
                     *       "pending_repairs": 1,
                     *       "job_ids": [
                     *         "3e63afd8-4381-5e4c-b241-4b7089bdc606"
                     *       ],
                     *       "chats": 0,
                     *       "chat_messages": 0,
                     *       "message_changes": 0,
                     *       "restorable_messages": 0,
                     *       "standing_statements": 0,
                     *       "facts": 0
                     *     }
                     */
                    "application/json": components["schemas"]["Erasure"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundEndUserId"];
            422: components["responses"]["InvalidRequestEndUserId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_standing_statements: {
        parameters: {
            query: {
                /**
                 * @description The person that sessions or chats belong to; only what belongs to them.
                 * @example ben
                 */
                end_user_id?: string | null;
                /** @description In place of end_user_id: the session's. */
                session_id?: string | null;
                /** @description Also replaced and deleted ones. */
                every?: boolean;
                /**
                 * @description The flow: a UUID or the caller's id.
                 * @example harbour
                 */
                flow_id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *       "end_user_id": "ben",
                     *       "session_id": null,
                     *       "in_contexts": false,
                     *       "statements": [
                     *         {
                     *           "id": "71c9f611-92fe-58f0-a629-bf14623f1f9d",
                     *           "kind": "instruction",
                     *           "text": "Always give depths in meters.",
                     *           "found": "Always give depths in meters.",
                     *           "own_words": false,
                     *           "state": "active",
                     *           "replaced_by": null,
                     *           "message_id": "76d9a24a-363f-5a69-ab00-16dccf144414",
                     *           "message_external_id": "m-30",
                     *           "session_id": "ben-3",
                     *           "seq": 1,
                     *           "sender_name": null,
                     *           "said_at": "2026-01-15T09:30:00Z",
                     *           "changed_by": null,
                     *           "changed_at": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["StandingView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestFlowIdOfGetRun"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_standing_statement: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the standing statement.
                 * @example 71c9f611-92fe-58f0-a629-bf14623f1f9d
                 */
                statement_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundStatementId"];
            422: components["responses"]["InvalidRequestStatementId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    edit_standing_statement: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the standing statement.
                 * @example 71c9f611-92fe-58f0-a629-bf14623f1f9d
                 */
                statement_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "text": "Give depths in meters, with one decimal."
                 *     }
                 */
                "application/json": components["schemas"]["StandingStatementChanges"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "71c9f611-92fe-58f0-a629-bf14623f1f9d",
                     *       "kind": "instruction",
                     *       "text": "Give depths in meters, with one decimal.",
                     *       "found": "Always give depths in meters.",
                     *       "own_words": true,
                     *       "state": "active",
                     *       "replaced_by": null,
                     *       "message_id": "76d9a24a-363f-5a69-ab00-16dccf144414",
                     *       "message_external_id": "m-30",
                     *       "session_id": "ben-3",
                     *       "seq": 1,
                     *       "sender_name": null,
                     *       "said_at": "2026-01-15T09:30:00Z",
                     *       "changed_by": "local",
                     *       "changed_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["StandingStatementView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundStatementId"];
            422: components["responses"]["InvalidRequestText"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_history: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "flow_id": "support",
                 *       "session_id": "anna-1",
                 *       "max_tokens": 2000
                 *     }
                 */
                "application/json": components["schemas"]["HistoryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "messages": [
                     *         {
                     *           "role": "user",
                     *           "content": "Which food must I avoid?"
                     *         },
                     *         {
                     *           "role": "assistant",
                     *           "content": "Avoid peanuts: you are allergic to them."
                     *         }
                     *       ],
                     *       "sources": [
                     *         {
                     *           "kind": "history",
                     *           "message_ids": [
                     *             "0bc8f21e-756e-50f9-8e81-e20f9cb36a58"
                     *           ],
                     *           "tokens": 9,
                     *           "score": null
                     *         },
                     *         {
                     *           "kind": "history",
                     *           "message_ids": [
                     *             "5400778c-9113-5663-bd4d-aa095c923082"
                     *           ],
                     *           "tokens": 12,
                     *           "score": null
                     *         }
                     *       ],
                     *       "text": "Human: Which food must I avoid?\nAssistant: Avoid peanuts: you are allergic to them.",
                     *       "report": {
                     *         "kept": [
                     *           "0bc8f21e-756e-50f9-8e81-e20f9cb36a58",
                     *           "5400778c-9113-5663-bd4d-aa095c923082"
                     *         ],
                     *         "removed": [],
                     *         "tokens_before": 21,
                     *         "tokens_after": 21,
                     *         "budget": 2000,
                     *         "over_budget": false,
                     *         "counter": "openai:o200k_base",
                     *         "flags": [],
                     *         "degraded": [],
                     *         "summary": null
                     *       },
                     *       "execution_id": null
                     *     }
                     */
                    "application/json": components["schemas"]["HistoryAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestMode"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_node_execution: {
        parameters: {
            query?: {
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example run-2-llm
                 */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "2a673a8e-9959-5f14-b7aa-3652a37def14",
                     *       "external_id": "run-2-llm",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "session_id": "anna-1",
                     *       "run_id": "47615c65-366d-59a9-8ab4-51894776a39e",
                     *       "node_id": "llm",
                     *       "index": 0,
                     *       "status": "succeeded",
                     *       "outputs": {
                     *         "text": "Almonds are fine.",
                     *         "context": [
                     *           {
                     *             "role": "user",
                     *             "content": "Which food must I avoid?"
                     *           },
                     *           {
                     *             "role": "assistant",
                     *             "content": "Avoid peanuts: you are allergic to them."
                     *           }
                     *         ]
                     *       },
                     *       "few_shots": [],
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "updated_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["NodeExecutionView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundExecutionId"];
            422: components["responses"]["InvalidRequestExecutionId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    put_node_execution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example run-2-llm
                 */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "flow_id": "support",
                 *       "session_id": "anna-1",
                 *       "run_id": "run-2",
                 *       "node_id": "llm",
                 *       "status": "succeeded",
                 *       "outputs": {
                 *         "text": "Almonds are fine.",
                 *         "context": [
                 *           {
                 *             "role": "user",
                 *             "content": "Which food must I avoid?"
                 *           },
                 *           {
                 *             "role": "assistant",
                 *             "content": "Avoid peanuts: you are allergic to them."
                 *           }
                 *         ]
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["NodeExecutionBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeExecutionView"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "2a673a8e-9959-5f14-b7aa-3652a37def14",
                     *       "external_id": "run-2-llm",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "session_id": "anna-1",
                     *       "run_id": "47615c65-366d-59a9-8ab4-51894776a39e",
                     *       "node_id": "llm",
                     *       "index": 0,
                     *       "status": "succeeded",
                     *       "outputs": {
                     *         "text": "Almonds are fine.",
                     *         "context": [
                     *           {
                     *             "role": "user",
                     *             "content": "Which food must I avoid?"
                     *           },
                     *           {
                     *             "role": "assistant",
                     *             "content": "Avoid peanuts: you are allergic to them."
                     *           }
                     *         ]
                     *       },
                     *       "few_shots": [],
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "updated_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["NodeExecutionView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestStatus"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_node_execution: {
        parameters: {
            query?: {
                /** @description A UUID, or the caller's id. */
                flow_id?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example run-2-llm
                 */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundExecutionId"];
            422: components["responses"]["InvalidRequestExecutionId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_run_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example run-2
                 */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "run_id": "47615c65-366d-59a9-8ab4-51894776a39e",
                     *       "session_id": "anna-1",
                     *       "nodes": [
                     *         {
                     *           "node_id": "llm",
                     *           "memoryUseSummary": null,
                     *           "messages": [
                     *             {
                     *               "role": "user",
                     *               "content": "Which food must I avoid?"
                     *             },
                     *             {
                     *               "role": "assistant",
                     *               "content": "Avoid peanuts: you are allergic to them."
                     *             }
                     *           ],
                     *           "sources": [
                     *             {
                     *               "kind": "history",
                     *               "message_ids": [
                     *                 "0bc8f21e-756e-50f9-8e81-e20f9cb36a58"
                     *               ],
                     *               "tokens": 9,
                     *               "score": null
                     *             },
                     *             {
                     *               "kind": "history",
                     *               "message_ids": [
                     *                 "5400778c-9113-5663-bd4d-aa095c923082"
                     *               ],
                     *               "tokens": 12,
                     *               "score": null
                     *             }
                     *           ],
                     *           "report": {
                     *             "kept": [
                     *               "0bc8f21e-756e-50f9-8e81-e20f9cb36a58",
                     *               "5400778c-9113-5663-bd4d-aa095c923082"
                     *             ],
                     *             "removed": [],
                     *             "tokens_before": 21,
                     *             "tokens_after": 21,
                     *             "budget": 1000,
                     *             "over_budget": false,
                     *             "counter": "openai:o200k_base",
                     *             "flags": [],
                     *             "degraded": [],
                     *             "summary": null,
                     *             "recalled": [],
                     *             "below_min_score": 0,
                     *             "standing": [],
                     *             "facts": [],
                     *             "spent": {
                     *               "summary": 0,
                     *               "standing": 0,
                     *               "recall": 0,
                     *               "facts": 0,
                     *               "history": 21,
                     *               "unused": 979
                     *             },
                     *             "further": {
                     *               "budget": 1000,
                     *               "history_messages": 0,
                     *               "history_tokens": 0,
                     *               "recall_messages": 0,
                     *               "recall_tokens": 0
                     *             },
                     *             "searched": "end_user",
                     *             "warnings": []
                     *           },
                     *           "query": "peanuts",
                     *           "at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["RunMemory"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestRunId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_run_story: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example harbour
                 */
                flow_id: string;
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example berth-2
                 */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "run_id": "636def21-9816-5f68-beb1-8b8b59fdc134",
                     *       "external_id": "berth-2",
                     *       "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *       "session_id": "ben-2",
                     *       "end_user_id": "ben",
                     *       "captured_at": "2026-01-15T09:30:00Z",
                     *       "question": "Where is my boat?",
                     *       "answer": "Still at berth 12.",
                     *       "nodes": [
                     *         {
                     *           "node_id": "answer",
                     *           "given": {
                     *             "at": "2026-01-15T09:30:00Z",
                     *             "query": "Where is my boat?",
                     *             "verdict": "fits",
                     *             "best_score": 0.58,
                     *             "tokens": {
                     *               "recall": 61,
                     *               "history": 0,
                     *               "summary": 0,
                     *               "predefined": 0,
                     *               "standing": 0
                     *             },
                     *             "total_tokens": 61,
                     *             "budget": 600,
                     *             "memories": [
                     *               {
                     *                 "message_id": "a2d91663-9882-5a4d-bc93-0264fad7470b",
                     *                 "score": 0.58,
                     *                 "edited": false,
                     *                 "message": {
                     *                   "id": "a2d91663-9882-5a4d-bc93-0264fad7470b",
                     *                   "external_id": "berth-answer",
                     *                   "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *                   "session_id": "ben-1",
                     *                   "run_id": "8f2df7a6-2393-57f7-ab39-98a1a28613c7",
                     *                   "end_user_id": "ben",
                     *                   "seq": 2,
                     *                   "role": "assistant",
                     *                   "is_output": true,
                     *                   "content": "Your boat is at berth 12.",
                     *                   "tool_calls": null,
                     *                   "tool_call_id": null,
                     *                   "name": null,
                     *                   "sender_name": null,
                     *                   "parent_message_id": null,
                     *                   "files": [],
                     *                   "metadata": {},
                     *                   "status": "completed",
                     *                   "version": 1,
                     *                   "timestamp": "2026-01-15T09:30:00Z",
                     *                   "captured_at": "2026-01-15T09:30:00Z",
                     *                   "edited_at": null,
                     *                   "muted": false,
                     *                   "pinned": false
                     *                 }
                     *               },
                     *               {
                     *                 "message_id": "55cf1fd9-944f-578b-84b8-758f2f255f06",
                     *                 "score": null,
                     *                 "edited": false,
                     *                 "message": {
                     *                   "id": "55cf1fd9-944f-578b-84b8-758f2f255f06",
                     *                   "external_id": null,
                     *                   "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *                   "session_id": "ben-1",
                     *                   "run_id": "8f2df7a6-2393-57f7-ab39-98a1a28613c7",
                     *                   "end_user_id": "ben",
                     *                   "seq": 1,
                     *                   "role": "user",
                     *                   "is_output": false,
                     *                   "content": "Where is my boat?",
                     *                   "tool_calls": null,
                     *                   "tool_call_id": null,
                     *                   "name": null,
                     *                   "sender_name": null,
                     *                   "parent_message_id": null,
                     *                   "files": [],
                     *                   "metadata": {},
                     *                   "status": "completed",
                     *                   "version": 1,
                     *                   "timestamp": "2026-01-15T09:30:00Z",
                     *                   "captured_at": "2026-01-15T09:30:00Z",
                     *                   "edited_at": null,
                     *                   "muted": false,
                     *                   "pinned": false
                     *                 }
                     *               }
                     *             ],
                     *             "left_out": [],
                     *             "flags": [],
                     *             "degraded": []
                     *           },
                     *           "status": null,
                     *           "answer": null
                     *         }
                     *       ],
                     *       "memories": [
                     *         {
                     *           "memory_base_id": "e391d139-a182-5a8a-af2c-944d06e1f93d",
                     *           "memory_base_name": "harbour notes",
                     *           "state": "searchable",
                     *           "messages": 1,
                     *           "searchable": 1,
                     *           "failed": 0,
                     *           "chunks": 1,
                     *           "error": null,
                     *           "pending": 0,
                     *           "threshold": 1,
                     *           "auto_capture": true,
                     *           "job_id": "1c36af48-bc25-5004-b5e1-07cf1bd14640",
                     *           "attempts": 1,
                     *           "captured_at": "2026-01-15T09:30:00Z",
                     *           "queued_at": "2026-01-15T09:30:00Z",
                     *           "started_at": "2026-01-15T09:30:00Z",
                     *           "embedding_at": "2026-01-15T09:30:00Z",
                     *           "embedded_at": "2026-01-15T09:30:00Z",
                     *           "written_at": "2026-01-15T09:30:00Z",
                     *           "searchable_at": "2026-01-15T09:30:00Z",
                     *           "searchable_after_ms": 840
                     *         }
                     *       ],
                     *       "previous": null,
                     *       "next": null
                     *     }
                     */
                    "application/json": components["schemas"]["RunStory"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestRunId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_chat_memories: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "name": "Chat memory",
                     *           "chat_id": "chat-{{ start.user_id }}",
                     *           "user_message_content": "{{ start | json }}",
                     *           "limit_type": "messages",
                     *           "trim_strategy": "drop_oldest",
                     *           "clear_tool_results": false,
                     *           "enable_summarization": false,
                     *           "summarize_prompt": "Summarize the key points of the removed messages, preserving important context and decisions made.",
                     *           "use_predefined_messages": false,
                     *           "predefined_messages": [],
                     *           "trim_mode": "continuous",
                     *           "max_messages": 20,
                     *           "threshold_trigger": 500,
                     *           "threshold_target": 100,
                     *           "max_images": 1,
                     *           "max_tokens": 2000,
                     *           "min_messages": 0,
                     *           "pin_predefined": false,
                     *           "keep_first": null,
                     *           "id": "e7f2df7a-c116-5b3f-a8d8-b2997998d74a",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "node_id": "chat-memory-1",
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "updated_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_ChatMemoryView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_chat_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "Chat memory",
                     *       "chat_id": "chat-{{ start.user_id }}",
                     *       "user_message_content": "{{ start | json }}",
                     *       "limit_type": "messages",
                     *       "trim_strategy": "drop_oldest",
                     *       "clear_tool_results": false,
                     *       "enable_summarization": false,
                     *       "summarize_prompt": "Summarize the key points of the removed messages, preserving important context and decisions made.",
                     *       "use_predefined_messages": false,
                     *       "predefined_messages": [],
                     *       "trim_mode": "continuous",
                     *       "max_messages": 20,
                     *       "threshold_trigger": 500,
                     *       "threshold_target": 100,
                     *       "max_images": 1,
                     *       "max_tokens": 2000,
                     *       "min_messages": 0,
                     *       "pin_predefined": false,
                     *       "keep_first": null,
                     *       "id": "e7f2df7a-c116-5b3f-a8d8-b2997998d74a",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "node_id": "chat-memory-1",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "updated_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["ChatMemoryView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundNodeId"];
            422: components["responses"]["InvalidRequestNodeId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    put_chat_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Chat memory",
                 *       "chat_id": "chat-{{ start.user_id }}"
                 *     }
                 */
                "application/json": components["schemas"]["ChatMemoryConfig"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatMemoryView"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "Chat memory",
                     *       "chat_id": "chat-{{ start.user_id }}",
                     *       "user_message_content": "{{ start | json }}",
                     *       "limit_type": "messages",
                     *       "trim_strategy": "drop_oldest",
                     *       "clear_tool_results": false,
                     *       "enable_summarization": false,
                     *       "summarize_prompt": "Summarize the key points of the removed messages, preserving important context and decisions made.",
                     *       "use_predefined_messages": false,
                     *       "predefined_messages": [],
                     *       "trim_mode": "continuous",
                     *       "max_messages": 20,
                     *       "threshold_trigger": 500,
                     *       "threshold_target": 100,
                     *       "max_images": 1,
                     *       "max_tokens": 2000,
                     *       "min_messages": 0,
                     *       "pin_predefined": false,
                     *       "keep_first": null,
                     *       "id": "e7f2df7a-c116-5b3f-a8d8-b2997998d74a",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "node_id": "chat-memory-1",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "updated_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["ChatMemoryView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestLimitType"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_chat_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundNodeId"];
            422: components["responses"]["InvalidRequestNodeId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_chats: {
        parameters: {
            query?: {
                /**
                 * @description The person that sessions or chats belong to; only what belongs to them.
                 * @example anna
                 */
                end_user_id?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "chat_id": "anna-chat",
                     *           "end_user_id": "anna",
                     *           "messages": 2,
                     *           "tokens": 23,
                     *           "counter": "estimate-2",
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "updated_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_ChatView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundNodeId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_chat_messages: {
        parameters: {
            query: {
                /**
                 * @description The chat's id, chosen by the caller.
                 * @example anna-chat
                 */
                chat_id: string;
                /** @description Maximum messages to return. */
                limit?: number;
                /** @description Position of the first message; default: the latest messages. */
                offset?: number | null;
                /** @description next_cursor of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "5c8c4570-9d7e-5e96-a45b-210c29894f7f",
                     *           "external_id": null,
                     *           "seq": 1,
                     *           "run_id": "1cbee1b3-d2fd-5fb4-b92e-e403d71dfc6e",
                     *           "request_id": "4f1c8e2a",
                     *           "role": "user",
                     *           "content": "Which food must I avoid?",
                     *           "tool_calls": null,
                     *           "tool_call_id": null,
                     *           "name": null,
                     *           "files": [],
                     *           "metadata": {},
                     *           "status": "completed",
                     *           "tokens": 10,
                     *           "created_at": "2026-01-15T09:30:00Z"
                     *         },
                     *         {
                     *           "id": "d55230c0-e7d8-5088-a8f4-22713d44c4e3",
                     *           "external_id": null,
                     *           "seq": 2,
                     *           "run_id": "1cbee1b3-d2fd-5fb4-b92e-e403d71dfc6e",
                     *           "request_id": "4f1c8e2a",
                     *           "role": "assistant",
                     *           "content": "Avoid peanuts: you are allergic to them.",
                     *           "tool_calls": null,
                     *           "tool_call_id": null,
                     *           "name": null,
                     *           "files": [],
                     *           "metadata": {},
                     *           "status": "completed",
                     *           "tokens": 13,
                     *           "created_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 2,
                     *       "has_more": false,
                     *       "counter": "estimate-2",
                     *       "next_offset": null,
                     *       "next_cursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["ChatPage"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundNodeId"];
            422: components["responses"]["InvalidRequestLimitOfListChatMessages"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    post_chat_messages: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "chat_id": "anna-chat",
                 *       "end_user_id": "anna",
                 *       "run_id": "run-1",
                 *       "messages": [
                 *         {
                 *           "role": "user",
                 *           "content": "Which food must I avoid?"
                 *         },
                 *         {
                 *           "role": "assistant",
                 *           "content": "Avoid peanuts: you are allergic to them."
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ChatPostBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Posted"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "chat_id": "anna-chat",
                     *       "messages": [
                     *         {
                     *           "id": "5c8c4570-9d7e-5e96-a45b-210c29894f7f",
                     *           "external_id": null,
                     *           "seq": 1,
                     *           "created": true
                     *         },
                     *         {
                     *           "id": "d55230c0-e7d8-5088-a8f4-22713d44c4e3",
                     *           "external_id": null,
                     *           "seq": 2,
                     *           "created": true
                     *         }
                     *       ],
                     *       "trimmed": 0,
                     *       "tokens": 21
                     *     }
                     */
                    "application/json": components["schemas"]["Posted"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundNodeId"];
            409: components["responses"]["ConflictEndUserId"];
            422: components["responses"]["InvalidRequestMessages"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_chat_messages: {
        parameters: {
            query: {
                /**
                 * @description The chat's id, chosen by the caller.
                 * @example anna-chat
                 */
                chat_id: string;
                /**
                 * @description `latest_request`: what the latest run wrote; `all`: every message.
                 * @example latest_request
                 */
                mode: "latest_request" | "all";
                /**
                 * @description Delete messages of these roles; both of them select every message.
                 * @example [
                 *       "user",
                 *       "assistant"
                 *     ]
                 */
                roles: ("user" | "assistant")[];
            };
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "deleted": [
                     *         "5c8c4570-9d7e-5e96-a45b-210c29894f7f",
                     *         "d55230c0-e7d8-5088-a8f4-22713d44c4e3"
                     *       ],
                     *       "remaining_count": 0
                     *     }
                     */
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundNodeId"];
            422: components["responses"]["InvalidRequestModeOfDeleteChatMessages"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    view_chat: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "chat_id": "anna-chat"
                 *     }
                 */
                "application/json": components["schemas"]["ChatViewBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "messages": [
                     *         {
                     *           "role": "user",
                     *           "content": "Which food must I avoid?"
                     *         },
                     *         {
                     *           "role": "assistant",
                     *           "content": "Avoid peanuts: you are allergic to them."
                     *         }
                     *       ],
                     *       "sources": [
                     *         {
                     *           "kind": "history",
                     *           "message_ids": [
                     *             "5c8c4570-9d7e-5e96-a45b-210c29894f7f"
                     *           ],
                     *           "tokens": 9,
                     *           "score": null
                     *         },
                     *         {
                     *           "kind": "history",
                     *           "message_ids": [
                     *             "d55230c0-e7d8-5088-a8f4-22713d44c4e3"
                     *           ],
                     *           "tokens": 12,
                     *           "score": null
                     *         }
                     *       ],
                     *       "text": "Human: Which food must I avoid?\nAssistant: Avoid peanuts: you are allergic to them.",
                     *       "report": {
                     *         "kept": [
                     *           "5c8c4570-9d7e-5e96-a45b-210c29894f7f",
                     *           "d55230c0-e7d8-5088-a8f4-22713d44c4e3"
                     *         ],
                     *         "removed": [],
                     *         "tokens_before": 21,
                     *         "tokens_after": 21,
                     *         "budget": null,
                     *         "over_budget": false,
                     *         "counter": "openai:o200k_base",
                     *         "flags": [],
                     *         "degraded": [],
                     *         "summary": null
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ViewAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundNodeId"];
            422: components["responses"]["InvalidRequestChatId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    trim_chat: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "chat_id": "anna-chat",
                 *       "max_messages": 10
                 *     }
                 */
                "application/json": components["schemas"]["ChatTrimBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "deleted_count": 0,
                     *       "remaining_count": 2,
                     *       "summary": null
                     *     }
                     */
                    "application/json": components["schemas"]["Trimmed"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundNodeId"];
            422: components["responses"]["InvalidRequestMaxMessages"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    summarize_chat: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "chat_id": "anna-chat",
                 *       "keep_last_n": 1
                 *     }
                 */
                "application/json": components["schemas"]["ChatSummaryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "deleted_count": 1,
                     *       "remaining_count": 2,
                     *       "summary": "user: Which food must I avoid?"
                     *     }
                     */
                    "application/json": components["schemas"]["Trimmed"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundNodeId"];
            422: components["responses"]["InvalidRequestKeepLastN"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    export_chats: {
        parameters: {
            query?: {
                /**
                 * @description Export only this chat.
                 * @example anna-chat
                 */
                chat_id?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description A UUID, or the id that the caller chose.
                 * @example support
                 */
                flow_id: string;
                /**
                 * @description The node of the flow, named by the caller.
                 * @example chat-memory-1
                 */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {"type":"chat_memory","flow_id":"0e88dacf-a012-502d-bf09-e38ab28c5f06","flow_external_id":"support","node_id":"chat-memory-1","name":"Chat memory","chat_id":"chat-{{ start.user_id }}","user_message_content":"{{ start | json }}","limit_type":"messages","trim_strategy":"drop_oldest","clear_tool_results":false,"enable_summarization":false,"summarize_prompt":"Summarize the key points of the removed messages, preserving important context and decisions made.","use_predefined_messages":false,"predefined_messages":[],"trim_mode":"continuous","max_messages":20,"threshold_trigger":500,"threshold_target":100,"max_images":1,"max_tokens":2000,"min_messages":0,"pin_predefined":false,"keep_first":null,"created_at":"2026-01-15T09:30:00Z"}
                     *     {"type":"chat","flow_id":"0e88dacf-a012-502d-bf09-e38ab28c5f06","flow_external_id":"support","node_id":"chat-memory-1","chat_id":"anna-chat","end_user_id":"anna","summary":null,"covers":null,"created_at":"2026-01-15T09:30:00Z","updated_at":"2026-01-15T09:30:00Z"}
                     *     {"type":"chat_message","flow_id":"0e88dacf-a012-502d-bf09-e38ab28c5f06","flow_external_id":"support","node_id":"chat-memory-1","chat_id":"anna-chat","end_user_id":"anna","id":"5c8c4570-9d7e-5e96-a45b-210c29894f7f","external_id":null,"seq":1,"run_id":"1cbee1b3-d2fd-5fb4-b92e-e403d71dfc6e","request_id":"4f1c8e2a","role":"user","content":"Which food must I avoid?","tool_calls":null,"tool_call_id":null,"name":null,"files":[],"metadata":{},"status":"completed","tokens":10,"created_at":"2026-01-15T09:30:00Z"}
                     *     {"type":"chat_message","flow_id":"0e88dacf-a012-502d-bf09-e38ab28c5f06","flow_external_id":"support","node_id":"chat-memory-1","chat_id":"anna-chat","end_user_id":"anna","id":"d55230c0-e7d8-5088-a8f4-22713d44c4e3","external_id":null,"seq":2,"run_id":"1cbee1b3-d2fd-5fb4-b92e-e403d71dfc6e","request_id":"4f1c8e2a","role":"assistant","content":"Avoid peanuts: you are allergic to them.","tool_calls":null,"tool_call_id":null,"name":null,"files":[],"metadata":{},"status":"completed","tokens":13,"created_at":"2026-01-15T09:30:00Z"}
                     *     {"type":"end","chat_memories":1,"chats":1,"chat_messages":2}
                     */
                    "application/x-ndjson": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundNodeId"];
            422: components["responses"]["InvalidRequestNodeId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    search_memory_base: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the memory base.
                 * @example dcfd52af-c738-5da7-8edb-e42ae43b1ec6
                 */
                memory_base_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "query": "Is Anna allergic to peanuts?",
                 *       "top_k": 1,
                 *       "neighbors": 1,
                 *       "explain": true
                 *     }
                 */
                "application/json": components["schemas"]["SearchBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "results": [
                     *         {
                     *           "message_id": "5400778c-9113-5663-bd4d-aa095c923082",
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "session_id": "anna-1",
                     *           "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *           "seq": 2,
                     *           "role": "assistant",
                     *           "sender_name": null,
                     *           "content": "Avoid peanuts: you are allergic to them.",
                     *           "snippet": "Avoid peanuts: you are allergic to them.",
                     *           "snippet_start": 0,
                     *           "snippet_end": 40,
                     *           "timestamp": "2026-01-15T09:30:00Z",
                     *           "score": 0.474,
                     *           "pending": false,
                     *           "metadata": {
                     *             "topic": "allergies"
                     *           },
                     *           "before": [
                     *             {
                     *               "message_id": "0bc8f21e-756e-50f9-8e81-e20f9cb36a58",
                     *               "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *               "seq": 1,
                     *               "role": "user",
                     *               "sender_name": null,
                     *               "content": "Which food must I avoid?",
                     *               "timestamp": "2026-01-15T09:30:00Z"
                     *             }
                     *           ],
                     *           "after": [],
                     *           "parts": {
                     *             "signals": {
                     *               "dense": {
                     *                 "value": 0.432,
                     *                 "share": 0.781
                     *               },
                     *               "nearby": {
                     *                 "value": 0.264,
                     *                 "share": 1.328
                     *               },
                     *               "topic": {
                     *                 "value": 0.432,
                     *                 "share": 1.946
                     *               },
                     *               "reply": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "coverage": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "keywords": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "long": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "long_you": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "speaker": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "time": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "number": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "date": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "wish": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "first_person": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "first": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "latest": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "opening": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "capitals": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "repeats": {
                     *                 "value": 0,
                     *                 "share": 0
                     *               },
                     *               "two_before": {
                     *                 "value": 0.601,
                     *                 "share": 3.009
                     *               },
                     *               "after_question": {
                     *                 "value": 0.601,
                     *                 "share": 2.589
                     *               }
                     *             },
                     *             "bias": -9.737,
                     *             "weights": "default",
                     *             "weight_set": "with_token_vectors",
                     *             "recency": 1,
                     *             "relevance": 0.99,
                     *             "chunk": 0,
                     *             "source": "store"
                     *           },
                     *           "alike": 0,
                     *           "pinned": false,
                     *           "corrects": null,
                     *           "corrected_by": null,
                     *           "superseded_by": null
                     *         }
                     *       ],
                     *       "took_ms": 3.2,
                     *       "facts": [],
                     *       "warnings": []
                     *     }
                     */
                    "application/json": components["schemas"]["SearchAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundMemoryBaseId"];
            422: components["responses"]["InvalidRequestTopK"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["VectorStoreUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    search_flow: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "flow_id": "support",
                 *       "query": "peanuts",
                 *       "mode": "keyword",
                 *       "top_k": 1
                 *     }
                 */
                "application/json": components["schemas"]["FlowSearchBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "results": [
                     *         {
                     *           "message_id": "5400778c-9113-5663-bd4d-aa095c923082",
                     *           "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *           "session_id": "anna-1",
                     *           "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *           "seq": 2,
                     *           "role": "assistant",
                     *           "sender_name": null,
                     *           "content": "Avoid peanuts: you are allergic to them.",
                     *           "snippet": "Avoid peanuts: you are allergic to them.",
                     *           "snippet_start": 0,
                     *           "snippet_end": 40,
                     *           "timestamp": "2026-01-15T09:30:00Z",
                     *           "score": 0.32,
                     *           "pending": false,
                     *           "metadata": {
                     *             "topic": "allergies"
                     *           },
                     *           "before": [],
                     *           "after": [],
                     *           "parts": null,
                     *           "alike": 0,
                     *           "pinned": false,
                     *           "corrects": null,
                     *           "corrected_by": null,
                     *           "superseded_by": null
                     *         }
                     *       ],
                     *       "took_ms": 3.2,
                     *       "facts": [],
                     *       "warnings": []
                     *     }
                     */
                    "application/json": components["schemas"]["SearchAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestTopK"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["VectorStoreUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_labels: {
        parameters: {
            query?: {
                /** @description Only right or only wrong ones. */
                right?: boolean | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
                /**
                 * @description A UUID, or the caller's id.
                 * @example support
                 */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "9ae39d84-2b8b-5e1e-a44d-f27d5f26184b",
                     *           "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *           "message_id": "5400778c-9113-5663-bd4d-aa095c923082",
                     *           "message_external_id": "m-2",
                     *           "message_version": 2,
                     *           "current_version": 2,
                     *           "query": "Is Anna allergic to peanuts?",
                     *           "session_id": null,
                     *           "end_user_id": null,
                     *           "settings": {
                     *             "mode": "hybrid"
                     *           },
                     *           "right": true,
                     *           "marked_by": "local",
                     *           "marked_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_LabelView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    mark_result: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "flow_id": "support",
                 *       "query": "Is Anna allergic to peanuts?",
                 *       "message_id": "m-2",
                 *       "right": true,
                 *       "settings": {
                 *         "mode": "hybrid"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["LabelBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "9ae39d84-2b8b-5e1e-a44d-f27d5f26184b",
                     *       "flow_id": "0e88dacf-a012-502d-bf09-e38ab28c5f06",
                     *       "message_id": "5400778c-9113-5663-bd4d-aa095c923082",
                     *       "message_external_id": "m-2",
                     *       "message_version": 2,
                     *       "current_version": 2,
                     *       "query": "Is Anna allergic to peanuts?",
                     *       "session_id": null,
                     *       "end_user_id": null,
                     *       "settings": {
                     *         "mode": "hybrid"
                     *       },
                     *       "right": true,
                     *       "marked_by": "local",
                     *       "marked_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["LabelView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestRight"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    export_labels: {
        parameters: {
            query?: {
                /** @description The labels of its flow. */
                memory_base_id?: string | null;
                /**
                 * @description A UUID, or the caller's id.
                 * @example support
                 */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /** @example {"question":"Is Anna allergic to peanuts?","evidence":["5400778c-9113-5663-bd4d-aa095c923082"],"wrong":[]} */
                    "text/plain": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestFlowIdOfGetRun"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_label: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the label.
                 * @example 9ae39d84-2b8b-5e1e-a44d-f27d5f26184b
                 */
                label_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundLabelId"];
            422: components["responses"]["InvalidRequestLabelId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    preview_retention: {
        parameters: {
            query?: {
                /** @description The rule of this memory base alone. Not together with `flow_id`. */
                memory_base_id?: string | null;
                /**
                 * @description As if the flow or the memory base had this rule; requires `flow_id` or `memory_base_id`.
                 * @example 30
                 */
                retain_days?: number | null;
                /**
                 * @description A UUID, or the caller's id.
                 * @example harbour
                 */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "rule": "flow",
                     *           "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *           "memory_base_id": null,
                     *           "retain_days": 30,
                     *           "expired_before": "2026-01-15T09:30:00Z",
                     *           "sessions": 0,
                     *           "messages": 0,
                     *           "chunks": 0,
                     *           "node_executions": 0,
                     *           "chat_messages": 0,
                     *           "held_sessions": 0
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["RetentionPreviews"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestRetainDaysOfPreviewRetention"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_retention_passes: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
                /**
                 * @description A UUID, or the caller's id.
                 * @example harbour
                 */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [],
                     *       "total": 0,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_RetentionPassView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_holds: {
        parameters: {
            query?: {
                /** @description The person that sessions or chats belong to; only what belongs to them. */
                end_user_id?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
                /**
                 * @description A UUID, or the caller's id.
                 * @example harbour
                 */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "b0c59e95-8697-5313-baf5-1dd0593687ed",
                     *           "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *           "session_id": "ben-2",
                     *           "end_user_id": null,
                     *           "reason": "Claim 4711",
                     *           "placed_by": "local",
                     *           "placed_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_HoldView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    place_hold: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "flow_id": "harbour",
                 *       "session_id": "ben-2",
                 *       "reason": "Claim 4711"
                 *     }
                 */
                "application/json": components["schemas"]["HoldBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "b0c59e95-8697-5313-baf5-1dd0593687ed",
                     *       "flow_id": "c416d421-a708-56cb-9f4d-7dd219959a8e",
                     *       "session_id": "ben-2",
                     *       "end_user_id": null,
                     *       "reason": "Claim 4711",
                     *       "placed_by": "local",
                     *       "placed_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["HoldView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestFlowIdOfPlaceHold"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    lift_hold: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the hold.
                 * @example b0c59e95-8697-5313-baf5-1dd0593687ed
                 */
                hold_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundHoldId"];
            422: components["responses"]["InvalidRequestHoldId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    retrieve_knowledge: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "knowledge_id": "support",
                 *       "query": "peanuts",
                 *       "retrieval_setting": {
                 *         "top_k": 1,
                 *         "score_threshold": 0
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Retrieval"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "records": [
                     *         {
                     *           "content": "Avoid peanuts: you are allergic to them.",
                     *           "score": 0.803,
                     *           "title": "assistant, 2026-01-15 09:30 UTC, anna-1",
                     *           "metadata": {
                     *             "topic": "allergies",
                     *             "flow_id": "support",
                     *             "memory_base_id": "dcfd52af-c738-5da7-8edb-e42ae43b1ec6",
                     *             "session_id": "anna-1",
                     *             "run_id": "e5e89a69-dc28-5e27-a5b5-c007d3ca821a",
                     *             "message_id": "5400778c-9113-5663-bd4d-aa095c923082",
                     *             "role": "assistant",
                     *             "sender_name": null,
                     *             "timestamp": "2026-01-15T09:30:00Z",
                     *             "seq": 2
                     *           }
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["RetrievalAnswer"];
                };
            };
            403: components["responses"]["Retrieval403"];
            404: components["responses"]["Retrieval404"];
            422: components["responses"]["Retrieval422"];
            429: components["responses"]["Retrieval429"];
            503: components["responses"]["Retrieval503"];
            /** @description The request is invalid. */
            "4XX": {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetrievalError"];
                };
            };
            /** @description A dependency is unavailable. Retry after the time in Retry-After. */
            "5XX": {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Retry-After": components["headers"]["Retry-After"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetrievalError"];
                };
            };
        };
    };
    list_knowledge_bases: {
        parameters: {
            query?: {
                /**
                 * @description Hide knowledge bases of memory bases.
                 * @example true
                 */
                for_retrieval?: boolean;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "46ce0340-121e-54a1-b275-4a0a0157f546",
                     *           "name": "handbook",
                     *           "is_memory_base": false,
                     *           "memory_base_id": null,
                     *           "embedding_model": "fake",
                     *           "documents": 0,
                     *           "status": "ready",
                     *           "created_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_KnowledgeBaseView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    create_knowledge_base: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "handbook"
                 *     }
                 */
                "application/json": components["schemas"]["KnowledgeBaseBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "46ce0340-121e-54a1-b275-4a0a0157f546",
                     *       "name": "handbook",
                     *       "is_memory_base": false,
                     *       "memory_base_id": null,
                     *       "embedding_model": "fake",
                     *       "documents": 0,
                     *       "status": "ready",
                     *       "created_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["KnowledgeBaseView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["NameTakenNameOfCreateKnowledgeBase"];
            422: components["responses"]["InvalidRequestName"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["VectorStoreUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_knowledge_base: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the knowledge base.
                 * @example handbook
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "46ce0340-121e-54a1-b275-4a0a0157f546",
                     *       "name": "handbook",
                     *       "is_memory_base": false,
                     *       "memory_base_id": null,
                     *       "embedding_model": "fake",
                     *       "documents": 0,
                     *       "status": "ready",
                     *       "created_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["KnowledgeBaseView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundName"];
            422: components["responses"]["InvalidRequestNameOfGetKnowledgeBase"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_knowledge_base: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the knowledge base.
                 * @example handbook
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundName"];
            409: components["responses"]["MemoryBaseStoreName"];
            422: components["responses"]["InvalidRequestNameOfGetKnowledgeBase"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    add_documents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the knowledge base.
                 * @example handbook
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "documents": [
                 *         {
                 *           "id": "returns",
                 *           "text": "Parcels can be returned for 30 days.",
                 *           "metadata": {
                 *             "language": "en"
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["DocumentsBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "documents": [
                     *         {
                     *           "id": "returns",
                     *           "document_id": "bcb32f9a-a38e-5cd2-aaba-000f1b0efa2b",
                     *           "status": "created",
                     *           "chunks": 1,
                     *           "error_code": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["DocumentsAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundName"];
            409: components["responses"]["MemoryBaseStoreName"];
            422: components["responses"]["InvalidRequestDocuments"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    rebuild_knowledge_base: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The name of the knowledge base.
                 * @example handbook
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "46ce0340-121e-54a1-b275-4a0a0157f546",
                     *       "name": "handbook",
                     *       "is_memory_base": false,
                     *       "memory_base_id": null,
                     *       "embedding_model": "fake",
                     *       "documents": 1,
                     *       "status": "ready",
                     *       "created_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["KnowledgeBaseView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundName"];
            409: components["responses"]["MemoryBaseStoreName"];
            422: components["responses"]["InvalidRequestNameOfGetKnowledgeBase"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["VectorStoreUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    search_knowledge_base: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The name of the knowledge base.
                 * @example handbook
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "query": "return a parcel",
                 *       "top_k": 1
                 *     }
                 */
                "application/json": components["schemas"]["DocumentSearchBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "results": [
                     *         {
                     *           "id": "returns",
                     *           "document_id": "bcb32f9a-a38e-5cd2-aaba-000f1b0efa2b",
                     *           "chunk_index": 0,
                     *           "snippet": "Parcels can be returned for 30 days.",
                     *           "score": 0,
                     *           "metadata": {
                     *             "language": "en"
                     *           }
                     *         }
                     *       ],
                     *       "took_ms": 3.2
                     *     }
                     */
                    "application/json": components["schemas"]["DocumentAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundName"];
            409: components["responses"]["MemoryBaseStoreName"];
            422: components["responses"]["InvalidRequestTopK"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["VectorStoreUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_keys: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /**
                 * @description Maximum items of a page.
                 * @example 50
                 */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "e2903906-e651-5bea-af05-8943fddf7946",
                     *           "name": "local",
                     *           "prefix": "mb_EXAMP",
                     *           "scopes": [
                     *             "read",
                     *             "write"
                     *           ],
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "expires_at": null,
                     *           "last_used_at": "2026-01-15T09:30:00Z",
                     *           "flow_ids": null,
                     *           "end_user_id": null,
                     *           "rotated_to": null,
                     *           "quotas": {
                     *             "messages_per_day": null,
                     *             "stored_messages": null,
                     *             "searches_per_minute": null,
                     *             "end_users": null
                     *           }
                     *         },
                     *         {
                     *           "id": "a5f3e135-a345-583c-b01e-131f5eea34eb",
                     *           "name": "search only",
                     *           "prefix": "mb_EXAMP",
                     *           "scopes": [
                     *             "read"
                     *           ],
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "expires_at": null,
                     *           "last_used_at": null,
                     *           "flow_ids": null,
                     *           "end_user_id": null,
                     *           "rotated_to": null,
                     *           "quotas": {
                     *             "messages_per_day": null,
                     *             "stored_messages": null,
                     *             "searches_per_minute": null,
                     *             "end_users": null
                     *           }
                     *         }
                     *       ],
                     *       "total": 2,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_KeyAnswer_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "search only",
                 *       "scopes": [
                 *         "read"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["KeyBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "a5f3e135-a345-583c-b01e-131f5eea34eb",
                     *       "name": "search only",
                     *       "prefix": "mb_EXAMP",
                     *       "scopes": [
                     *         "read"
                     *       ],
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "expires_at": null,
                     *       "last_used_at": null,
                     *       "flow_ids": null,
                     *       "end_user_id": null,
                     *       "rotated_to": null,
                     *       "quotas": {
                     *         "messages_per_day": null,
                     *         "stored_messages": null,
                     *         "searches_per_minute": null,
                     *         "end_users": null
                     *       },
                     *       "secret": "mb_EXAMPLE-secret-that-is-shown-once"
                     *     }
                     */
                    "application/json": components["schemas"]["NewKeyAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestScopes"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    rotate_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The UUID of the key.
                 * @example a5f3e135-a345-583c-b01e-131f5eea34eb
                 */
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap_seconds": 3600
                 *     }
                 */
                "application/json": components["schemas"]["RotationBody"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "be8aef64-b246-5a6a-a0a2-b69221e4a590",
                     *       "name": "search only",
                     *       "prefix": "mb_EXAMP",
                     *       "scopes": [
                     *         "read"
                     *       ],
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "expires_at": null,
                     *       "last_used_at": null,
                     *       "flow_ids": null,
                     *       "end_user_id": null,
                     *       "rotated_to": null,
                     *       "quotas": {
                     *         "messages_per_day": null,
                     *         "stored_messages": null,
                     *         "searches_per_minute": null,
                     *         "end_users": null
                     *       },
                     *       "secret": "mb_EXAMPLE-secret-that-is-shown-once"
                     *     }
                     */
                    "application/json": components["schemas"]["NewKeyAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundKeyId"];
            409: components["responses"]["KeyRotatedKeyId"];
            422: components["responses"]["InvalidRequestOverlapSeconds"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    set_key_quotas: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the key.
                 * @example be8aef64-b246-5a6a-a0a2-b69221e4a590
                 */
                key_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "messages_per_day": 10000,
                 *       "searches_per_minute": 60
                 *     }
                 */
                "application/json": components["schemas"]["QuotasBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "be8aef64-b246-5a6a-a0a2-b69221e4a590",
                     *       "name": "search only",
                     *       "prefix": "mb_EXAMP",
                     *       "scopes": [
                     *         "read"
                     *       ],
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "expires_at": null,
                     *       "last_used_at": null,
                     *       "flow_ids": null,
                     *       "end_user_id": null,
                     *       "rotated_to": null,
                     *       "quotas": {
                     *         "messages_per_day": 10000,
                     *         "stored_messages": null,
                     *         "searches_per_minute": 60,
                     *         "end_users": null
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["KeyAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundKeyId"];
            422: components["responses"]["InvalidRequestMessagesPerDay"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the key.
                 * @example be8aef64-b246-5a6a-a0a2-b69221e4a590
                 */
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundKeyId"];
            422: components["responses"]["InvalidRequestKeyId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_usage: {
        parameters: {
            query?: {
                /**
                 * @description Another key; requires the scope admin.
                 * @example be8aef64-b246-5a6a-a0a2-b69221e4a590
                 */
                key_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "key_id": "be8aef64-b246-5a6a-a0a2-b69221e4a590",
                     *       "user": [
                     *         {
                     *           "quota": "messages_per_day",
                     *           "limit": null,
                     *           "used": null,
                     *           "resets_at": "2026-01-15T09:30:00Z"
                     *         },
                     *         {
                     *           "quota": "stored_messages",
                     *           "limit": null,
                     *           "used": null,
                     *           "resets_at": null
                     *         }
                     *       ],
                     *       "key": [
                     *         {
                     *           "quota": "messages_per_day",
                     *           "limit": 10000,
                     *           "used": 0,
                     *           "resets_at": "2026-01-15T09:30:00Z"
                     *         },
                     *         {
                     *           "quota": "stored_messages",
                     *           "limit": null,
                     *           "used": null,
                     *           "resets_at": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Usage"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestKeyId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_webhooks: {
        parameters: {
            query?: {
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /**
                 * @description Maximum items of a page.
                 * @example 50
                 */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "07fea6ac-024a-5d75-ba7b-17200fda0b3b",
                     *           "url": "https://example.com/memorybase",
                     *           "description": "Alerts",
                     *           "event_types": [
                     *             "job.completed",
                     *             "job.failed"
                     *           ],
                     *           "enabled": true,
                     *           "disabled_reason": null,
                     *           "disabled_at": null,
                     *           "failing_since": null,
                     *           "former_secret_until": null,
                     *           "pending": 0,
                     *           "dead": 0,
                     *           "created_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_WebhookView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A random string, new for each request and the same in its repetitions, which get the first answer. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://example.com/memorybase",
                 *       "event_types": [
                 *         "job.completed",
                 *         "job.failed"
                 *       ],
                 *       "description": "Alerts"
                 *     }
                 */
                "application/json": components["schemas"]["WebhookBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "07fea6ac-024a-5d75-ba7b-17200fda0b3b",
                     *       "url": "https://example.com/memorybase",
                     *       "description": "Alerts",
                     *       "event_types": [
                     *         "job.completed",
                     *         "job.failed"
                     *       ],
                     *       "enabled": true,
                     *       "disabled_reason": null,
                     *       "disabled_at": null,
                     *       "failing_since": null,
                     *       "former_secret_until": null,
                     *       "pending": 0,
                     *       "dead": 0,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "secret": "whsec_RVhBTVBMRS1zZWNyZXQtdGhhdC1pcy1zaG93bi1vbmNl"
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["AddressRefusedUrl"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "07fea6ac-024a-5d75-ba7b-17200fda0b3b",
                     *       "url": "https://example.com/memorybase",
                     *       "description": "Alerts",
                     *       "event_types": [
                     *         "job.completed",
                     *         "job.failed"
                     *       ],
                     *       "enabled": true,
                     *       "disabled_reason": null,
                     *       "disabled_at": null,
                     *       "failing_since": null,
                     *       "former_secret_until": null,
                     *       "pending": 0,
                     *       "dead": 0,
                     *       "created_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundWebhookId"];
            422: components["responses"]["InvalidRequestWebhookId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundWebhookId"];
            422: components["responses"]["InvalidRequestWebhookId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    update_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "event_types": [
                 *         "job.completed"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["WebhookPatchBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "07fea6ac-024a-5d75-ba7b-17200fda0b3b",
                     *       "url": "https://example.com/memorybase",
                     *       "description": "Alerts",
                     *       "event_types": [
                     *         "job.completed"
                     *       ],
                     *       "enabled": true,
                     *       "disabled_reason": null,
                     *       "disabled_at": null,
                     *       "failing_since": null,
                     *       "former_secret_until": null,
                     *       "pending": 0,
                     *       "dead": 0,
                     *       "created_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundWebhookId"];
            422: components["responses"]["InvalidRequestEventTypes"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    rotate_webhook_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap_hours": 24
                 *     }
                 */
                "application/json": components["schemas"]["RotateSecretBody"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "07fea6ac-024a-5d75-ba7b-17200fda0b3b",
                     *       "url": "https://example.com/memorybase",
                     *       "description": "Alerts",
                     *       "event_types": [
                     *         "job.completed"
                     *       ],
                     *       "enabled": true,
                     *       "disabled_reason": null,
                     *       "disabled_at": null,
                     *       "failing_since": "2026-01-15T09:30:00Z",
                     *       "former_secret_until": "2026-01-15T09:30:00Z",
                     *       "pending": 1,
                     *       "dead": 0,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "secret": "whsec_RVhBTVBMRS1zZWNyZXQtdGhhdC1pcy1zaG93bi1vbmNl"
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundWebhookId"];
            422: components["responses"]["InvalidRequestOverlapHours"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    send_test_event: {
        parameters: {
            query?: {
                /**
                 * @description Seconds to wait until the receiver has answered.
                 * @example 0
                 */
                wait?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "5829c868-cf80-515c-8392-a1d9c9232346",
                     *       "webhook_id": "07fea6ac-024a-5d75-ba7b-17200fda0b3b",
                     *       "event_id": "3556ac80-d07f-5bb5-934b-38572f69b297",
                     *       "event_type": "webhook.test",
                     *       "state": "pending",
                     *       "attempts": 0,
                     *       "next_attempt_at": "2026-01-15T09:30:00Z",
                     *       "last_attempt_at": null,
                     *       "last_status": null,
                     *       "last_error": null,
                     *       "occurred_at": "2026-01-15T09:30:00Z",
                     *       "finished_at": null,
                     *       "body": "{\"type\":\"webhook.test\",\"timestamp\":\"2026-01-15T09:30:00Z\",\"data\":{\"webhook_id\":\"07fea6ac-024a-5d75-ba7b-17200fda0b3b\"}}"
                     *     }
                     */
                    "application/json": components["schemas"]["DeliveryView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundWebhookId"];
            422: components["responses"]["InvalidRequestWebhookId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_deliveries: {
        parameters: {
            query?: {
                /**
                 * @description Only deliveries in this state.
                 * @example pending
                 */
                state?: components["schemas"]["DeliveryState"] | null;
                /** @description Only deliveries of events of this type. */
                event_type?: components["schemas"]["EventType"] | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "44e8e4d5-b55c-5889-a6c9-fb40e057cef5",
                     *           "webhook_id": "07fea6ac-024a-5d75-ba7b-17200fda0b3b",
                     *           "event_id": "1fefc2bd-6d1f-5c29-b5a6-4fe2113138e2",
                     *           "event_type": "job.completed",
                     *           "state": "pending",
                     *           "attempts": 0,
                     *           "next_attempt_at": "2026-01-15T09:30:00Z",
                     *           "last_attempt_at": null,
                     *           "last_status": null,
                     *           "last_error": null,
                     *           "occurred_at": "2026-01-15T09:30:00Z",
                     *           "finished_at": null,
                     *           "body": "{\"type\":\"job.completed\",\"timestamp\":\"2026-01-15T09:30:00Z\",\"data\":{\"job_id\":\"a1b8e349-1e1e-5c13-9142-a201cef6497c\",\"kind\":\"ingest\",\"memory_base_id\":\"e391d139-a182-5a8a-af2c-944d06e1f93d\",\"flow_id\":\"c416d421-a708-56cb-9f4d-7dd219959a8e\",\"session_id\":\"ben-3\",\"generation\":1,\"from_seq\":2,\"to_seq\":3,\"processed\":1,\"dead_letters\":0}}"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_DeliveryView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundWebhookId"];
            422: components["responses"]["InvalidRequestSize"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_delivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
                /**
                 * @description The UUID of the delivery.
                 * @example 5829c868-cf80-515c-8392-a1d9c9232346
                 */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "5829c868-cf80-515c-8392-a1d9c9232346",
                     *       "webhook_id": "07fea6ac-024a-5d75-ba7b-17200fda0b3b",
                     *       "event_id": "3556ac80-d07f-5bb5-934b-38572f69b297",
                     *       "event_type": "webhook.test",
                     *       "state": "pending",
                     *       "attempts": 0,
                     *       "next_attempt_at": "2026-01-15T09:30:00Z",
                     *       "last_attempt_at": null,
                     *       "last_status": null,
                     *       "last_error": null,
                     *       "occurred_at": "2026-01-15T09:30:00Z",
                     *       "finished_at": null,
                     *       "body": "{\"type\":\"webhook.test\",\"timestamp\":\"2026-01-15T09:30:00Z\",\"data\":{\"webhook_id\":\"07fea6ac-024a-5d75-ba7b-17200fda0b3b\"}}"
                     *     }
                     */
                    "application/json": components["schemas"]["DeliveryView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundDeliveryId"];
            422: components["responses"]["InvalidRequestDeliveryId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    discard_delivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
                /**
                 * @description The UUID of the delivery.
                 * @example 5829c868-cf80-515c-8392-a1d9c9232346
                 */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundDeliveryId"];
            422: components["responses"]["InvalidRequestDeliveryId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    replay_delivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
                /**
                 * @description The UUID of the delivery.
                 * @example 44e8e4d5-b55c-5889-a6c9-fb40e057cef5
                 */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "44e8e4d5-b55c-5889-a6c9-fb40e057cef5",
                     *       "webhook_id": "07fea6ac-024a-5d75-ba7b-17200fda0b3b",
                     *       "event_id": "1fefc2bd-6d1f-5c29-b5a6-4fe2113138e2",
                     *       "event_type": "job.completed",
                     *       "state": "pending",
                     *       "attempts": 0,
                     *       "next_attempt_at": "2026-01-15T09:30:00Z",
                     *       "last_attempt_at": null,
                     *       "last_status": null,
                     *       "last_error": null,
                     *       "occurred_at": "2026-01-15T09:30:00Z",
                     *       "finished_at": null,
                     *       "body": "{\"type\":\"job.completed\",\"timestamp\":\"2026-01-15T09:30:00Z\",\"data\":{\"job_id\":\"a1b8e349-1e1e-5c13-9142-a201cef6497c\",\"kind\":\"ingest\",\"memory_base_id\":\"e391d139-a182-5a8a-af2c-944d06e1f93d\",\"flow_id\":\"c416d421-a708-56cb-9f4d-7dd219959a8e\",\"session_id\":\"ben-3\",\"generation\":1,\"from_seq\":2,\"to_seq\":3,\"processed\":1,\"dead_letters\":0}}"
                     *     }
                     */
                    "application/json": components["schemas"]["DeliveryView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundDeliveryId"];
            422: components["responses"]["InvalidRequestDeliveryId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    replay_dead_deliveries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "since": "2026-01-15T09:30:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["ReplayBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "replayed": 0,
                     *       "remaining": false
                     *     }
                     */
                    "application/json": components["schemas"]["Replayed"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundWebhookId"];
            422: components["responses"]["InvalidRequestSince"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    discard_dead_deliveries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The UUID of the webhook.
                 * @example 07fea6ac-024a-5d75-ba7b-17200fda0b3b
                 */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "until": "2026-01-15T09:30:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["DiscardBody"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "discarded": 0,
                     *       "remaining": false
                     *     }
                     */
                    "application/json": components["schemas"]["Discarded"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundWebhookId"];
            422: components["responses"]["InvalidRequestUntil"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_audit_entries: {
        parameters: {
            query?: {
                /** @description Only what this API key did. */
                key_id?: string | null;
                /**
                 * @description Only this operation.
                 * @example create_key
                 */
                operation?: string | null;
                /** @description Only changes, reads, refusals or checkpoints. */
                kind?: ("change" | "read" | "denied" | "prune") | null;
                /** @description Only entries from this time on. Inclusive, like `until`. Without a time zone: UTC. */
                since?: string | null;
                /** @description Only entries up to this time. */
                until?: string | null;
                /** @description Number of the page, from 1. Not together with `cursor`. */
                page?: number;
                /** @description Maximum items of a page. */
                size?: number;
                /** @description Added to the position where the page starts. */
                offset?: number;
                /** @description next_cursor of the previous page; stable under changes. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": 38,
                     *           "seq": 38,
                     *           "hash": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
                     *           "at": "2026-01-15T09:30:00Z",
                     *           "kind": "change",
                     *           "user_id": "a0eaf6a5-3001-5126-8e31-5c59b975bcb5",
                     *           "key_id": "e2903906-e651-5bea-af05-8943fddf7946",
                     *           "person": null,
                     *           "via": "api",
                     *           "operation": "create_key",
                     *           "objects": {
                     *             "key_id": "a5f3e135-a345-583c-b01e-131f5eea34eb"
                     *           },
                     *           "address": "testclient",
                     *           "request_id": "4f1c8e2a"
                     *         }
                     *       ],
                     *       "total": 1,
                     *       "page": 1,
                     *       "size": 50
                     *     }
                     */
                    "application/json": components["schemas"]["Page_AuditEntryView_"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestKind"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    export_audit_entries: {
        parameters: {
            query?: {
                /**
                 * @description The last `seq` that you have.
                 * @example 38
                 */
                after_seq?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {"id":39,"seq":39,"hash":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","at":"2026-01-15T09:30:00Z","kind":"change","user_id":"a0eaf6a5-3001-5126-8e31-5c59b975bcb5","key_id":"e2903906-e651-5bea-af05-8943fddf7946","person":null,"via":"api","operation":"rotate_key","objects":{"key_id":"be8aef64-b246-5a6a-a0a2-b69221e4a590"},"address":"testclient","request_id":"4f1c8e2a"}
                     *     {"id":40,"seq":40,"hash":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","at":"2026-01-15T09:30:00Z","kind":"change","user_id":"a0eaf6a5-3001-5126-8e31-5c59b975bcb5","key_id":"e2903906-e651-5bea-af05-8943fddf7946","person":null,"via":"api","operation":"set_key_quotas","objects":{"key_id":"be8aef64-b246-5a6a-a0a2-b69221e4a590"},"address":"testclient","request_id":"4f1c8e2a"}
                     *     {"id":41,"seq":41,"hash":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","at":"2026-01-15T09:30:00Z","kind":"change","user_id":"a0eaf6a5-3001-5126-8e31-5c59b975bcb5","key_id":"e2903906-e651-5bea-af05-8943fddf7946","person":null,"via":"api","operation":"revoke_key","objects":{"key_id":"be8aef64-b246-5a6a-a0a2-b69221e4a590"},"address":"testclient","request_id":"4f1c8e2a"}
                     */
                    "application/x-ndjson": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestAfterSeq"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    list_workers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "name": "worker@1",
                     *           "state": "running",
                     *           "started_at": "2026-01-15T09:30:00Z",
                     *           "last_seen_at": "2026-01-15T09:30:00Z",
                     *           "drain_requested_at": null,
                     *           "draining_at": null,
                     *           "jobs": 0,
                     *           "messages": 0,
                     *           "oldest_job_at": null
                     *         },
                     *         {
                     *           "name": "host-1:3f2a9c51d7be:4711:1790000000000",
                     *           "state": "running",
                     *           "started_at": "2026-01-15T09:30:00Z",
                     *           "last_seen_at": "2026-01-15T09:30:00Z",
                     *           "drain_requested_at": null,
                     *           "draining_at": null,
                     *           "jobs": 0,
                     *           "messages": 0,
                     *           "oldest_job_at": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Workers"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestLimit"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    create_sign_in_link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "url_path": "/ui/enter?token=EXAMPLE",
                     *       "expires_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["SignInLinkAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestLimit"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example # HELP memorybase_runs_captured_total Acknowledged captures, including replays.
                     *     # TYPE memorybase_runs_captured_total counter
                     *     memorybase_runs_captured_total 5.0
                     */
                    "text/plain": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestLimit"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    get_summary: {
        parameters: {
            query: {
                /**
                 * @description The session's id, chosen by the caller.
                 * @example anna-1
                 */
                session_id: string;
                /** @description What writes the summary. */
                summarizer?: string | null;
                /** @description The preset whose summary it is; `pairs_N` is that of all but the latest N pairs. */
                preset?: string;
                /**
                 * @description The flow: a UUID or the caller's id.
                 * @example support
                 */
                flow_id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "summary": null,
                     *       "covers": null,
                     *       "stale": false,
                     *       "preset": "token_buffer",
                     *       "summarizer": "extractive",
                     *       "requested_seq": 5,
                     *       "error": null,
                     *       "updated_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["SummaryView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestPreset"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    request_summary: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "flow_id": "support",
                 *       "session_id": "anna-1"
                 *     }
                 */
                "application/json": components["schemas"]["SummaryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "summary": null,
                     *       "covers": null,
                     *       "stale": false,
                     *       "preset": "token_buffer",
                     *       "summarizer": "extractive",
                     *       "requested_seq": 5,
                     *       "error": null,
                     *       "updated_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["SummaryView"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestPreset"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    delete_summary: {
        parameters: {
            query: {
                /**
                 * @description The session's id, chosen by the caller.
                 * @example anna-1
                 */
                session_id: string;
                /** @description Only summaries of this summarizer; by default of all. */
                summarizer?: string | null;
                /** @description Only the summary of this preset; by default of all. */
                preset?: string | null;
                /**
                 * @description The flow: a UUID or the caller's id.
                 * @example support
                 */
                flow_id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestPreset"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    build_context: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "flow_id": "support",
                 *       "session_id": "anna-1",
                 *       "query": "peanuts",
                 *       "token_budget": 1000,
                 *       "run_id": "run-2",
                 *       "node_id": "llm"
                 *     }
                 */
                "application/json": components["schemas"]["ContextBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "messages": [
                     *         {
                     *           "role": "user",
                     *           "content": "Which food must I avoid?"
                     *         },
                     *         {
                     *           "role": "assistant",
                     *           "content": "Avoid peanuts: you are allergic to them."
                     *         }
                     *       ],
                     *       "sources": [
                     *         {
                     *           "kind": "history",
                     *           "message_ids": [
                     *             "0bc8f21e-756e-50f9-8e81-e20f9cb36a58"
                     *           ],
                     *           "tokens": 9,
                     *           "score": null
                     *         },
                     *         {
                     *           "kind": "history",
                     *           "message_ids": [
                     *             "5400778c-9113-5663-bd4d-aa095c923082"
                     *           ],
                     *           "tokens": 12,
                     *           "score": null
                     *         }
                     *       ],
                     *       "text": "Human: Which food must I avoid?\nAssistant: Avoid peanuts: you are allergic to them.",
                     *       "report": {
                     *         "kept": [
                     *           "0bc8f21e-756e-50f9-8e81-e20f9cb36a58",
                     *           "5400778c-9113-5663-bd4d-aa095c923082"
                     *         ],
                     *         "removed": [],
                     *         "tokens_before": 21,
                     *         "tokens_after": 21,
                     *         "budget": 1000,
                     *         "over_budget": false,
                     *         "counter": "openai:o200k_base",
                     *         "flags": [],
                     *         "degraded": [],
                     *         "summary": null,
                     *         "recalled": [],
                     *         "below_min_score": 0,
                     *         "standing": [],
                     *         "facts": [],
                     *         "spent": {
                     *           "summary": 0,
                     *           "standing": 0,
                     *           "recall": 0,
                     *           "facts": 0,
                     *           "history": 21,
                     *           "unused": 979
                     *         },
                     *         "further": {
                     *           "budget": 1000,
                     *           "history_messages": 0,
                     *           "history_tokens": 0,
                     *           "recall_messages": 0,
                     *           "recall_tokens": 0
                     *         },
                     *         "searched": "end_user",
                     *         "warnings": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ContextAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            409: components["responses"]["SessionConflictEndUserId"];
            422: components["responses"]["InvalidRequestTokenBudget"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    export_lines: {
        parameters: {
            query?: {
                /** @description Export the flow of this memory base. */
                memory_base_id?: string | null;
                /** @description Export only sessions and chats of this end user. */
                end_user_id?: string | null;
                /**
                 * @description A UUID, or the caller's id.
                 * @example archive
                 */
                flow_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {"type":"export","format":1,"memorybase":"1.0.0","exported_at":"2026-01-15T09:30:00Z"}
                     *     {"type":"flow","id":"55667850-aea2-5d33-9ca9-c7a48bc79c40","external_id":"archive","name":"Archive","created_at":"2026-01-15T09:30:00Z"}
                     *     {"type":"session","flow_id":"55667850-aea2-5d33-9ca9-c7a48bc79c40","flow_external_id":"archive","session_id":"carl-1","end_user_id":null,"metadata":{},"created_at":"2026-01-15T09:30:00Z","last_captured_at":"2026-01-15T09:30:00Z"}
                     *     {"type":"run","flow_id":"55667850-aea2-5d33-9ca9-c7a48bc79c40","flow_external_id":"archive","session_id":"carl-1","end_user_id":null,"id":"8cef7ca6-1d9a-5c86-b158-21a3c91100a3","external_id":"run-9","created_at":"2026-01-15T09:30:00Z"}
                     *     {"type":"message","flow_id":"55667850-aea2-5d33-9ca9-c7a48bc79c40","flow_external_id":"archive","session_id":"carl-1","end_user_id":null,"run_id":"8cef7ca6-1d9a-5c86-b158-21a3c91100a3","run_external_id":"run-9","parent_external_id":null,"id":"43d594e7-6f26-5edc-85d3-a07f74b7ad28","external_id":"m-9","seq":1,"role":"user","is_output":false,"content":"Hello","tool_calls":null,"tool_call_id":null,"name":null,"sender_name":null,"parent_message_id":null,"parent_rule":null,"files":[],"status":"completed","version":1,"timestamp":"2026-01-15T09:30:00Z","captured_at":"2026-01-15T09:30:00Z","edited_at":null,"muted":false,"pinned":false,"metadata":{},"standing":[]}
                     *     {"type":"end","flows":1,"sessions":1,"runs":1,"messages":1,"chat_memories":0,"chats":0,"chat_messages":0,"summaries":0,"node_executions":0,"memory_uses":0}
                     */
                    "application/x-ndjson": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFoundFlowId"];
            422: components["responses"]["InvalidRequestMemoryBaseId"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
    import_lines: {
        parameters: {
            query?: {
                /**
                 * @description What to do if a message id is stored with other content: `error` stores nothing more, `keep` keeps the stored message, `update` stores a new version.
                 * @example keep
                 */
                on_conflict?: "error" | "keep" | "update";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {"type":"export","format":1,"memorybase":"1.0.0","exported_at":"2026-01-15T09:30:00Z"}
                 *     {"type":"flow","id":"55667850-aea2-5d33-9ca9-c7a48bc79c40","external_id":"archive","name":"Archive","created_at":"2026-01-15T09:30:00Z"}
                 *     {"type":"session","flow_id":"55667850-aea2-5d33-9ca9-c7a48bc79c40","flow_external_id":"archive","session_id":"carl-1","end_user_id":null,"metadata":{},"created_at":"2026-01-15T09:30:00Z","last_captured_at":"2026-01-15T09:30:00Z"}
                 *     {"type":"run","flow_id":"55667850-aea2-5d33-9ca9-c7a48bc79c40","flow_external_id":"archive","session_id":"carl-1","end_user_id":null,"id":"8cef7ca6-1d9a-5c86-b158-21a3c91100a3","external_id":"run-9","created_at":"2026-01-15T09:30:00Z"}
                 *     {"type":"message","flow_id":"55667850-aea2-5d33-9ca9-c7a48bc79c40","flow_external_id":"archive","session_id":"carl-1","end_user_id":null,"run_id":"8cef7ca6-1d9a-5c86-b158-21a3c91100a3","run_external_id":"run-9","parent_external_id":null,"id":"43d594e7-6f26-5edc-85d3-a07f74b7ad28","external_id":"m-9","seq":1,"role":"user","is_output":false,"content":"Hello","tool_calls":null,"tool_call_id":null,"name":null,"sender_name":null,"parent_message_id":null,"parent_rule":null,"files":[],"status":"completed","version":1,"timestamp":"2026-01-15T09:30:00Z","captured_at":"2026-01-15T09:30:00Z","edited_at":null,"muted":false,"pinned":false,"metadata":{},"standing":[]}
                 *     {"type":"end","flows":1,"sessions":1,"runs":1,"messages":1,"chat_memories":0,"chats":0,"chat_messages":0,"summaries":0,"node_executions":0,"memory_uses":0}
                 */
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "lines": 6,
                     *       "flows": 1,
                     *       "sessions": 1,
                     *       "runs": 1,
                     *       "messages": {
                     *         "created": 0,
                     *         "known": 1,
                     *         "deleted": 0
                     *       },
                     *       "chat_memories": 0,
                     *       "chat_messages": {
                     *         "created": 0,
                     *         "known": 0,
                     *         "deleted": 0
                     *       },
                     *       "node_executions": {
                     *         "created": 0,
                     *         "known": 0
                     *       },
                     *       "memory_uses": {
                     *         "created": 0,
                     *         "known": 0
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ImportAnswer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["InvalidRequestOnConflict"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["DatabaseUnavailable"];
            "4XX": components["responses"]["Rejected"];
            "5XX": components["responses"]["Failed"];
        };
    };
}

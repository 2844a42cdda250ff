"""A method for every call of the HTTP API, named as its operation in docs/reference/openapi.json.

Written by clients/python/generate.py: do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from memorybase_client._async.listing import AsyncListing
from memorybase_client._async.streams import AsyncStream
from memorybase_client._async.transport import AsyncTransport
from memorybase_client._calls import Call, json_of, segment
from memorybase_client._ids import new_key, with_message_ids, with_run_id
from memorybase_client._lines import Line

if TYPE_CHECKING:
    from memorybase_client import models
else:
    from memorybase_client._lazy import models


class AsyncOperations(AsyncTransport):
    """Arguments left out are not sent, so the server's defaults apply."""

    async def health_live(self) -> models.Liveness:
        """Check that the process answers; it asks no other part."""
        call = Call("GET", "/health/live")
        return await self._call(call, models.Liveness)

    async def health_ready(self) -> models.Readiness:
        """Check all parts: 200 if every part responds, else 503 with the names of those that do not.

        `model` is named while the embedding model is prepared in the background, or if that failed; `reason`
        says which. 200 with `degraded` and a reason if every part responds and the queue makes no progress: a
        restart would not help.
        """
        call = Call("GET", "/health/ready")
        return await self._call(call, models.Readiness)

    async def list_problems(self) -> models.Problems:
        """List what needs a person, the worst first, each with the calls that end it. At most 50 of a kind.

        Parts that do not answer, lost vectors, dead letters, messages that nothing ingests. It answers within
        seconds whatever part hangs.
        """
        call = Call("GET", "/problems")
        return await self._call(call, models.Problems)

    async def get_overview(self, *, window: models.Window | None = None) -> models.Overview:
        """Read what was captured in a window and what of it is searchable, by time and by flow, and the latest
        runs.

        The ten flows with the latest captures are listed; figures include the 500 with the latest captures. The
        answer may be some seconds old where it takes long to compute.

        window: The last hour, day or week.
        """
        call = Call("GET", "/overview", params={"window": window})
        return await self._call(call, models.Overview)

    def list_flows(
        self, *, page: int | None = None, size: int | None = None, offset: int | None = None, cursor: str | None = None
    ) -> AsyncListing[models.FlowView, models.Page[models.FlowView]]:
        """List flows, oldest first. A key that is limited to flows lists these; one that is limited to an end user
        alone lists those with sessions of the end user.

        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call("GET", "/flows", params={"page": page, "size": size, "offset": offset, "cursor": cursor})
        return self._listing(call, models.Page[models.FlowView])

    async def create_flow(
        self, *, name: str, idempotency_key: str | None = None, time_zone: str | None = None
    ) -> models.FlowView:
        """Create a flow with a generated id. To choose the id, use PUT /flows/{flow_id}.

        name: The name, for people.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer. Default: a new one for each call.
        time_zone: IANA name of the zone whose days queries and contexts mean, such as `Europe/Berlin`, unless
        the call says one. Null: `UTC`, or as it is.
        """
        call = Call(
            "POST",
            "/flows",
            content=json_of({"name": name, "time_zone": time_zone}),
            idempotency_key=idempotency_key or new_key(),
        )
        return await self._call(call, models.FlowView)

    async def get_flow(self, flow_id: str | UUID) -> models.FlowView:
        """Read a flow.

        flow_id: A UUID, or the id that the caller chose.
        """
        call = Call("GET", f"/flows/{segment(flow_id, 'flow_id')}")
        return await self._call(call, models.FlowView)

    async def put_flow(self, flow_id: str | UUID, *, name: str, time_zone: str | None = None) -> models.FlowView:
        """Create a flow with your own id (201), or rename it (200).

        flow_id: A UUID, or any string.
        name: The name, for people.
        time_zone: IANA name of the zone whose days queries and contexts mean, such as `Europe/Berlin`, unless
        the call says one. Null: `UTC`, or as it is.
        """
        call = Call(
            "PUT", f"/flows/{segment(flow_id, 'flow_id')}", content=json_of({"name": name, "time_zone": time_zone})
        )
        return await self._call(call, models.FlowView)

    async def update_flow(
        self,
        flow_id: str | UUID,
        *,
        name: str | None = None,
        retain_days: int | None = None,
        standing: bool | None = None,
        secrets: Literal["keep", "redact", "refuse"] | None = None,
        time_zone: str | None = None,
    ) -> models.FlowView:
        """Change a flow. Messages older than the days that it keeps are deleted by the sweeper's next pass.

        flow_id: A UUID, or the id that the caller chose.
        name: The new name.
        retain_days: Days until what was captured is deleted; null: it is kept.
        standing: Whether contexts contain the end user's standing statements unless the call says otherwise.
        secrets: What is done with secrets that callers send, such as API keys and passwords: `keep` them,
        `redact` them, or `refuse` the request; null: as the setting `secrets` says.
        time_zone: IANA name of the zone whose days queries and contexts mean, such as `Europe/Berlin`, unless
        the call says one.
        """
        call = Call(
            "PATCH",
            f"/flows/{segment(flow_id, 'flow_id')}",
            content=json_of(
                {
                    "name": name,
                    "retain_days": retain_days,
                    "standing": standing,
                    "secrets": secrets,
                    "time_zone": time_zone,
                }
            ),
        )
        return await self._call(call, models.FlowView)

    async def delete_flow(self, flow_id: str | UUID) -> models.Accepted | None:
        """Delete a flow and everything in it: 204, or 202 while its jobs stop. It is invisible at once.

        flow_id: A UUID, or the id that the caller chose.
        """
        call = Call("DELETE", f"/flows/{segment(flow_id, 'flow_id')}")
        return await self._call_maybe(call, models.Accepted)

    def list_runs(
        self,
        flow_id: str | UUID,
        *,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.RunView, models.Page[models.RunView]]:
        """List the runs of a flow, newest first.

        flow_id: A UUID, or the id that the caller chose.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            f"/flows/{segment(flow_id, 'flow_id')}/runs",
            params={"page": page, "size": size, "offset": offset, "cursor": cursor},
        )
        return self._listing(call, models.Page[models.RunView])

    async def capture_run(
        self,
        flow_id: str | UUID,
        *,
        session_id: str | UUID,
        messages: Sequence[
            models.OpenAIMessage
            | Mapping[str, Any]
            | models.LangflowMessage
            | models.LangChainMessage
            | models.LangChainDump
        ],
        idempotency_key: str | None = None,
        run_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        on_conflict: Literal["error", "keep", "update"] | None = None,
        node_executions: Sequence[models.ReportedExecutionBody | Mapping[str, Any]] | None = None,
    ) -> models.CaptureAnswer:
        """Capture a run's messages: 201, or 200 if all of them are stored already. Node executions are stored
        afterwards; a failed one is reported in its result and fails nothing else.

        flow_id: A UUID, or the id that the caller chose.
        session_id: The session's id, chosen by the caller.
        messages: Messages in order, in OpenAI's, Langflow's or LangChain's format: {role, content, ...}, {text,
        sender} or {type, content}. At most 1000.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer.
        run_id: The run's id: a UUID or any string; generated by default. Send one, so that a repeat is
        recognized.
        end_user_id: The person that the session belongs to. A session's first capture fixes it.
        on_conflict: What to do if a message id is stored with other content: `error` stores nothing, `keep`
        keeps the stored message, `update` stores a new version.
        node_executions: Executions of nodes in this run; stored after the messages, each separately.
        """
        call = Call(
            "POST",
            f"/flows/{segment(flow_id, 'flow_id')}/runs",
            content=json_of(
                with_run_id(
                    {
                        "session_id": session_id,
                        "messages": messages,
                        "run_id": run_id,
                        "end_user_id": end_user_id,
                        "on_conflict": on_conflict,
                        "node_executions": node_executions,
                    }
                )
            ),
            idempotency_key=idempotency_key,
        )
        return await self._call(call, models.CaptureAnswer)

    async def get_run_of_flow(self, flow_id: str | UUID, run_id: str | UUID) -> models.RunView:
        """Read a run of a flow.

        flow_id: A UUID, or the id that the caller chose.
        run_id: A UUID, or the id that the caller chose.
        """
        call = Call("GET", f"/flows/{segment(flow_id, 'flow_id')}/runs/{segment(run_id, 'run_id')}")
        return await self._call(call, models.RunView)

    def find_runs(
        self,
        *,
        session_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        q: str | None = None,
        state: models.SearchState | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        flow_id: str | UUID | None = None,
    ) -> AsyncListing[models.RunView, models.Page[models.RunView]]:
        """List the runs of all flows, newest first. With `q` or `state` a page looks through a bounded number of
        runs: `next_cursor` continues even after an empty page.

        session_id: Only runs of this session.
        end_user_id: Only runs in this end user's sessions.
        q: Sessions whose messages contain all of these words, or whose id, title or end user contains the text.
        End users whose id contains the text.
        state: Only runs in this state.
        since: Only runs captured from this time on. Inclusive, like `until`. Without a time zone: UTC.
        until: Only runs captured up to this time.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "GET",
            "/runs",
            params={
                "session_id": session_id,
                "end_user_id": end_user_id,
                "q": q,
                "state": state,
                "since": since,
                "until": until,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
                "flow_id": flow_id,
            },
        )
        return self._listing(call, models.Page[models.RunView])

    async def get_run(self, run_id: str | UUID, *, flow_id: str | UUID | None = None) -> models.RunView:
        """Read a run. Run ids are unique within their flow; an id of several flows is 409 without `flow_id`.

        run_id: A UUID, or the id that the caller chose.
        flow_id: A UUID, or the caller's id.
        """
        call = Call("GET", f"/runs/{segment(run_id, 'run_id')}", params={"flow_id": flow_id})
        return await self._call(call, models.RunView)

    def list_memory_bases(
        self,
        *,
        text: str | None = None,
        auto_capture: bool | None = None,
        status: models.MemoryBaseStatus | None = None,
        mismatch: bool | None = None,
        dead_letters: bool | None = None,
        order: Literal["created", "recent", "name", "priority"] | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        flow_id: str | UUID | None = None,
    ) -> AsyncListing[models.MemoryBaseView, models.Page[models.MemoryBaseView]]:
        """List memory bases: oldest first, latest first, by name, or the highest priority first.

        text: Only memory bases with this text in their name or in that of their flow.
        auto_capture: Only memory bases whose auto-capture is on, or off.
        status: Only memory bases with this status.
        mismatch: Only memory bases that have lost vectors, or only those that have not.
        dead_letters: Only memory bases that have dead letters, or only those that have none.
        order: `created`: oldest first. `recent`: latest first. `name`: by name.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "GET",
            "/memories",
            params={
                "text": text,
                "auto_capture": auto_capture,
                "status": status,
                "mismatch": mismatch,
                "dead_letters": dead_letters,
                "order": order,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
                "flow_id": flow_id,
            },
        )
        return self._listing(call, models.Page[models.MemoryBaseView])

    async def create_memory_base(
        self,
        *,
        name: str,
        flow_id: str | UUID,
        idempotency_key: str | None = None,
        threshold: int | None = None,
        kb_name: str | None = None,
        auto_capture: bool | None = None,
        capture: models.Capture | None = None,
        idle_after: int | None = None,
        start: Literal["beginning", "now", "all"] | None = None,
        embedding_model: str | None = None,
        vector_store: Literal["chroma", "pgvector"] | None = None,
        retain_days: int | None = None,
        priority: models.Priority | None = None,
    ) -> models.MemoryBaseView:
        """Create a memory base over a flow's messages. A name or kb_name in use is 409 with `existing_id`.

        name: The name; unique for the user.
        flow_id: The flow with the messages: a UUID or the caller's id.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer. Default: a new one for each call.
        threshold: Number of pending messages in a session that starts its ingestion. At most 10000.
        kb_name: The name of its knowledge base; by default `name`. Unique for the user.
        auto_capture: Whether captures start ingestion. If false, only a flush does.
        capture: Which messages count toward the threshold and are embedded.
        idle_after: Seconds without a capture until a session is ingested; 0: off.
        start: Messages captured before: pending until the session's next trigger or a flush (beginning),
        skipped (now), or scheduled for ingestion at once (all).
        embedding_model: An allowed embedding model; by default the one of the settings.
        vector_store: Where its vectors are stored; by default the store of the settings.
        retain_days: Days until the knowledge base forgets what was captured; the conversation stays. Null:
        nothing is forgotten.
        priority: How large its share of the workers is, compared with other memory bases: `low`, `normal` or
        `high`.
        """
        call = Call(
            "POST",
            "/memories",
            content=json_of(
                {
                    "name": name,
                    "flow_id": flow_id,
                    "threshold": threshold,
                    "kb_name": kb_name,
                    "auto_capture": auto_capture,
                    "capture": capture,
                    "idle_after": idle_after,
                    "start": start,
                    "embedding_model": embedding_model,
                    "vector_store": vector_store,
                    "retain_days": retain_days,
                    "priority": priority,
                }
            ),
            idempotency_key=idempotency_key or new_key(),
        )
        return await self._call(call, models.MemoryBaseView)

    async def put_memory_base(
        self,
        flow_id: str | UUID,
        name: str | UUID,
        *,
        threshold: int | None = None,
        kb_name: str | None = None,
        auto_capture: bool | None = None,
        capture: models.Capture | None = None,
        idle_after: int | None = None,
        start: Literal["beginning", "now", "all"] | None = None,
        embedding_model: str | None = None,
        vector_store: Literal["chroma", "pgvector"] | None = None,
        retain_days: int | None = None,
        priority: models.Priority | None = None,
    ) -> models.MemoryBaseView:
        """Create the flow's memory base of this name (201), or find the one it has (200). Nothing of that one is
        changed: a fixed setting that differs is 409, and `warnings` name the others.

        flow_id: A UUID, or the id that the caller chose.
        name: The name of the memory base; unique for the user.
        threshold: Number of pending messages in a session that starts its ingestion. At most 10000.
        kb_name: The name of its knowledge base; by default `name`. Unique for the user.
        auto_capture: Whether captures start ingestion. If false, only a flush does.
        capture: Which messages count toward the threshold and are embedded.
        idle_after: Seconds without a capture until a session is ingested; 0: off.
        start: Messages captured before: pending until the session's next trigger or a flush (beginning),
        skipped (now), or scheduled for ingestion at once (all).
        embedding_model: An allowed embedding model; by default the one of the settings.
        vector_store: Where its vectors are stored; by default the store of the settings.
        retain_days: Days until the knowledge base forgets what was captured; the conversation stays. Null:
        nothing is forgotten.
        priority: How large its share of the workers is, compared with other memory bases: `low`, `normal` or
        `high`.
        """
        call = Call(
            "PUT",
            f"/flows/{segment(flow_id, 'flow_id')}/memories/{segment(name, 'name')}",
            content=json_of(
                {
                    "threshold": threshold,
                    "kb_name": kb_name,
                    "auto_capture": auto_capture,
                    "capture": capture,
                    "idle_after": idle_after,
                    "start": start,
                    "embedding_model": embedding_model,
                    "vector_store": vector_store,
                    "retain_days": retain_days,
                    "priority": priority,
                },
                is_optional=True,
            ),
        )
        return await self._call(call, models.MemoryBaseView)

    async def get_memory_base(self, memory_base_id: str | UUID) -> models.MemoryBaseView:
        """Read a memory base with its progress.

        memory_base_id: The UUID of the memory base.
        """
        call = Call("GET", f"/memories/{segment(memory_base_id, 'memory_base_id')}")
        return await self._call(call, models.MemoryBaseView)

    async def update_memory_base(
        self,
        memory_base_id: str | UUID,
        *,
        name: str | None = None,
        threshold: int | None = None,
        auto_capture: bool | None = None,
        idle_after: int | None = None,
        paused: bool | None = None,
        priority: models.Priority | None = None,
        retain_days: int | None = None,
    ) -> models.MemoryBaseView:
        """Change name, threshold, auto_capture, idle_after, retain_days or priority, pause its ingestion or resume
        it. This starts no job.

        memory_base_id: The UUID of the memory base.
        name: The name, for people.
        threshold: At most 10000.
        auto_capture: Whether captures start ingestion. If false, only a flush does.
        idle_after: Seconds without a capture until a session's pending messages are ingested; 0: off.
        paused: Whether its ingestion is held back. Resumed, it ingests what is due within seconds.
        priority: How large its share of the workers is, compared with other memory bases: `low`, `normal` or
        `high`.
        retain_days: Days until the knowledge base forgets what was captured; the conversation stays. Null:
        nothing is forgotten.
        """
        call = Call(
            "PATCH",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}",
            content=json_of(
                {
                    "name": name,
                    "threshold": threshold,
                    "auto_capture": auto_capture,
                    "idle_after": idle_after,
                    "paused": paused,
                    "priority": priority,
                    "retain_days": retain_days,
                }
            ),
        )
        return await self._call(call, models.MemoryBaseView)

    async def delete_memory_base(self, memory_base_id: str | UUID) -> models.Accepted | None:
        """Delete a memory base and its knowledge base: 204, or 202 while its jobs stop. It is invisible at once.

        memory_base_id: The UUID of the memory base.
        """
        call = Call("DELETE", f"/memories/{segment(memory_base_id, 'memory_base_id')}")
        return await self._call_maybe(call, models.Accepted)

    def list_memory_base_sessions(
        self,
        memory_base_id: str | UUID,
        *,
        state: models.SessionState | None = None,
        end_user_id: str | UUID | None = None,
        text: str | None = None,
        order: Literal["created", "recent"] | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.BaseSessionView, models.Page[models.BaseSessionView]]:
        """List the sessions of the flow with their progress, tracked or not.

        memory_base_id: The UUID of the memory base.
        state: Only sessions in this state.
        end_user_id: Only sessions of this end user.
        text: Only sessions with this text in their id or in that of their end user.
        order: `created`: oldest first. `recent`: latest capture first.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/sessions",
            params={
                "state": state,
                "end_user_id": end_user_id,
                "text": text,
                "order": order,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
            },
        )
        return self._listing(call, models.Page[models.BaseSessionView])

    async def flush_memory_base(
        self,
        memory_base_id: str | UUID,
        *,
        wait: int | None = None,
        session_id: str | UUID | None = None,
        session_ids: Sequence[str | UUID] | None = None,
    ) -> models.FlushResult:
        """Ingest pending messages of one session, of several or of all, whatever the threshold.

        202 with the jobs; 200 if nothing was pending or all jobs ended within `wait` seconds. With
        `session_ids` every session has a result: a job, a conflict with an active one, or why it was skipped.
        Without, at most 200 jobs are queued at once; `deferred` more sessions are due and get theirs within
        seconds.

        memory_base_id: The UUID of the memory base.
        wait: Seconds to wait until the jobs end.
        session_id: The session to ingest; by default every session.
        session_ids: Only these sessions. Not together with `session_id`.
        """
        call = Call(
            "POST",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/flush",
            params={"wait": wait},
            wait_seconds=wait or 0,
            content=json_of({"session_id": session_id, "session_ids": session_ids}, is_optional=True),
        )
        return await self._call(call, models.FlushResult)

    async def sync_memory_base(
        self,
        memory_base_id: str | UUID,
        *,
        wait: int | None = None,
        session_id: str | UUID | None = None,
        session_ids: Sequence[str | UUID] | None = None,
    ) -> models.FlushResult:
        """Ingest what is pending now, as POST /memories/{memory_base_id}/flush does.

        memory_base_id: The UUID of the memory base.
        wait: Seconds to wait until the jobs end.
        session_id: The session to ingest; by default every session.
        session_ids: Only these sessions. Not together with `session_id`.
        """
        call = Call(
            "POST",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/update",
            params={"wait": wait},
            wait_seconds=wait or 0,
            content=json_of({"session_id": session_id, "session_ids": session_ids}, is_optional=True),
        )
        return await self._call(call, models.FlushResult)

    async def regenerate_memory_base(
        self,
        memory_base_id: str | UUID,
        *,
        idempotency_key: str | None = None,
        embedding_model: str | None = None,
        capture: models.Capture | None = None,
        vector_store: Literal["chroma", "pgvector"] | None = None,
    ) -> models.Regeneration:
        """Rebuild the knowledge base from the stored messages. Searches read the old one until the build is
        complete.

        memory_base_id: The UUID of the memory base.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer. Default: a new one for each call.
        embedding_model: Another embedding model; by default the current one.
        capture: Another capture rule; by default the current one.
        vector_store: Another vector store, which must have a URL in the settings; by default the current one.
        """
        call = Call(
            "POST",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/regenerate",
            content=json_of(
                {"embedding_model": embedding_model, "capture": capture, "vector_store": vector_store}, is_optional=True
            ),
            idempotency_key=idempotency_key or new_key(),
        )
        return await self._call(call, models.Regeneration)

    async def check_mismatch(self, memory_base_id: str | UUID) -> models.Mismatch:
        """Compare the vector store with the ledger, chunk by chunk.

        memory_base_id: The UUID of the memory base.
        """
        call = Call("GET", f"/memories/{segment(memory_base_id, 'memory_base_id')}/mismatch")
        return await self._call(call, models.Mismatch)

    async def get_search_weights(self, memory_base_id: str | UUID) -> models.WeightsView:
        """Show the weights of search signals: the defaults, the memory base's own, and its previous ones.

        memory_base_id: The UUID of the memory base.
        """
        call = Call("GET", f"/memories/{segment(memory_base_id, 'memory_base_id')}/weights")
        return await self._call(call, models.WeightsView)

    async def set_search_weights(
        self,
        memory_base_id: str | UUID,
        *,
        sets: Mapping[str, models.WeightSetBody | Mapping[str, Any]],
        fitted_at: datetime | str | None = None,
        questions: int | None = None,
        note: str | None = None,
        half_life_days: float | None = None,
    ) -> models.WeightsView:
        """Set the memory base's own weights. Searches use them at once. To undo, set the previous weights.

        memory_base_id: The UUID of the memory base.
        sets: Weights by the name of the default set that each replaces. May be empty if `half_life_days` is
        given.
        fitted_at: When the weights were fitted.
        questions: Number of questions that the weights were fitted on.
        note: A note for people.
        half_life_days: Of searches that set none; null: age does not count.
        """
        call = Call(
            "PUT",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/weights",
            content=json_of(
                {
                    "sets": sets,
                    "fitted_at": fitted_at,
                    "questions": questions,
                    "note": note,
                    "half_life_days": half_life_days,
                }
            ),
        )
        return await self._call(call, models.WeightsView)

    async def reset_search_weights(self, memory_base_id: str | UUID) -> None:
        """Return to the default weights. The memory base's own become the previous ones.

        memory_base_id: The UUID of the memory base.
        """
        call = Call("DELETE", f"/memories/{segment(memory_base_id, 'memory_base_id')}/weights")
        await self._call_empty(call)

    async def get_activity(
        self,
        memory_base_id: str | UUID,
        *,
        since: datetime | str,
        until: datetime | str | None = None,
        buckets: int | None = None,
    ) -> models.Activity:
        """Count messages captured and ingested over time, with ingestion delays. The window is at most 31 days.

        memory_base_id: The UUID of the memory base.
        since: Start of the time range, inclusive.
        until: Default and maximum: now.
        buckets: About how many buckets to return.
        """
        call = Call(
            "GET",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/activity",
            params={"since": since, "until": until, "buckets": buckets},
        )
        return await self._call(call, models.Activity)

    def list_jobs(
        self,
        memory_base_id: str | UUID,
        *,
        state: models.JobState | None = None,
        session_id: str | UUID | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.JobView, models.Page[models.JobView]]:
        """List the jobs of a memory base, newest first.

        memory_base_id: The UUID of the memory base.
        state: Only jobs in this state.
        session_id: Only jobs of this session.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/jobs",
            params={
                "state": state,
                "session_id": session_id,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
            },
        )
        return self._listing(call, models.Page[models.JobView])

    def list_dead_letters(
        self,
        memory_base_id: str | UUID,
        *,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.DeadLetterView, models.Page[models.DeadLetterView]]:
        """List messages that could not be embedded, with error and attempts.

        memory_base_id: The UUID of the memory base.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/dead-letters",
            params={"page": page, "size": size, "offset": offset, "cursor": cursor},
        )
        return self._listing(call, models.Page[models.DeadLetterView])

    async def retry_dead_letter(self, memory_base_id: str | UUID, dead_letter_id: str | UUID) -> models.Repairs:
        """Try again to embed the message of a dead letter.

        memory_base_id: The UUID of the memory base.
        dead_letter_id: The UUID of the dead letter.
        """
        call = Call(
            "POST",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/dead-letters/{segment(dead_letter_id, 'dead_letter_id')}/retry",
        )
        return await self._call(call, models.Repairs)

    async def discard_dead_letter(self, memory_base_id: str | UUID, dead_letter_id: str | UUID) -> None:
        """Discard a dead letter: this memory base skips the message, which stays stored.

        memory_base_id: The UUID of the memory base.
        dead_letter_id: The UUID of the dead letter.
        """
        call = Call(
            "DELETE",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/dead-letters/{segment(dead_letter_id, 'dead_letter_id')}",
        )
        await self._call_empty(call)

    def list_all_jobs(
        self,
        *,
        memory_base_id: str | UUID | None = None,
        state: models.JobState | None = None,
        kind: models.JobKind | None = None,
        session_id: str | UUID | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.JobView, models.Page[models.JobView]]:
        """List the jobs of all memory bases, newest first.

        memory_base_id: Only jobs of this memory base.
        state: Only jobs in this state.
        kind: Only jobs of this kind.
        session_id: Only jobs of this session.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            "/jobs",
            params={
                "memory_base_id": memory_base_id,
                "state": state,
                "kind": kind,
                "session_id": session_id,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
            },
        )
        return self._listing(call, models.Page[models.JobView])

    async def act_on_jobs(
        self,
        *,
        action: models.JobAction,
        ids: Sequence[str | UUID] | None = None,
        memory_base_id: str | UUID | None = None,
        flow_id: str | UUID | None = None,
        session_id: str | UUID | None = None,
        error_code: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        dry_run: bool | None = None,
        limit: int | None = None,
    ) -> models.JobResults:
        """Retry or cancel the jobs that match, oldest first, with a result for each; with `dry_run`, count them.

        A retry runs what waits after an outage now. The messages of a cancelled job stay stored and pending.
        Repeat the call while `remaining` is not 0.

        action: `retry`: run what waits after an outage now. `cancel`: end queued and running jobs; their
        messages stay pending.
        ids: These jobs.
        memory_base_id: Only jobs of this memory base.
        flow_id: Only jobs of this flow: its id, or yours.
        session_id: Only jobs of this session.
        error_code: Only jobs whose last attempt ended with this error code.
        since: Only jobs created then or later.
        until: Only jobs created then or earlier.
        dry_run: Count what matches and change nothing.
        limit: At most this many, oldest first.
        """
        call = Call(
            "POST",
            "/jobs/actions",
            content=json_of(
                {
                    "action": action,
                    "ids": ids,
                    "memory_base_id": memory_base_id,
                    "flow_id": flow_id,
                    "session_id": session_id,
                    "error_code": error_code,
                    "since": since,
                    "until": until,
                    "dry_run": dry_run,
                    "limit": limit,
                }
            ),
        )
        return await self._call(call, models.JobResults)

    async def get_job(self, job_id: str | UUID, *, wait: int | None = None) -> models.JobView:
        """Read a job, or wait until it ends.

        job_id: The UUID of the job.
        wait: Seconds to wait until the job ends.
        """
        call = Call("GET", f"/jobs/{segment(job_id, 'job_id')}", params={"wait": wait}, wait_seconds=wait or 0)
        return await self._call(call, models.JobView)

    async def cancel_job(self, job_id: str | UUID) -> None:
        """Cancel a job. Its messages stay pending.

        job_id: The UUID of the job.
        """
        call = Call("DELETE", f"/jobs/{segment(job_id, 'job_id')}")
        await self._call_empty(call)

    def watch_job(self, job_id: str | UUID) -> AsyncStream[models.JobView]:
        """Stream server-sent events: `job` after each change, `end` with the last state, `unauthorized` if the key
        was revoked.

        job_id: The UUID of the job.
        """
        call = Call("GET", f"/jobs/{segment(job_id, 'job_id')}/events")
        return self._job_events(call)

    def list_all_dead_letters(
        self,
        *,
        memory_base_id: str | UUID | None = None,
        cause: str | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.DeadLetterView, models.Page[models.DeadLetterView]]:
        """List messages of all memory bases that could not be embedded, oldest first.

        memory_base_id: Only dead letters of this memory base.
        cause: Only dead letters with this error code.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            "/dead-letters",
            params={
                "memory_base_id": memory_base_id,
                "cause": cause,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
            },
        )
        return self._listing(call, models.Page[models.DeadLetterView])

    async def group_dead_letters(
        self, *, memory_base_id: str | UUID | None = None, cause: str | None = None
    ) -> models.DeadLetterGroups:
        """Group the dead letters by cause, and within each cause by text, most messages first.

        memory_base_id: Only dead letters of this memory base.
        cause: Only dead letters with this error code.
        """
        call = Call("GET", "/dead-letters/groups", params={"memory_base_id": memory_base_id, "cause": cause})
        return await self._call(call, models.DeadLetterGroups)

    async def act_on_dead_letters(
        self,
        *,
        action: models.DeadLetterAction,
        ids: Sequence[str | UUID] | None = None,
        memory_base_id: str | UUID | None = None,
        cause: str | None = None,
        alike: Sequence[str | UUID] | None = None,
        flow_id: str | UUID | None = None,
        session_id: str | UUID | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        dry_run: bool | None = None,
        limit: int | None = None,
    ) -> models.DeadLetterResults:
        """Retry or discard the dead letters that match, oldest first, with a result for each; with `dry_run`,
        count them.

        Repeat the call while `remaining` is not 0. A retried dead letter is gone once its message is embedded.
        The message of a discarded one stays stored, and searches by meaning do not find it until it is edited
        or the memory base is regenerated.

        action: `retry`: try again to embed the messages. `discard`: the memory base skips them; they stay
        stored.
        ids: These dead letters; also those that are retried already.
        memory_base_id: Only dead letters of this memory base.
        cause: Only dead letters with this error code.
        alike: Only dead letters with the error code and the text of one of these.
        flow_id: Only dead letters of this flow: its id, or yours.
        session_id: Only dead letters of this session.
        since: Only messages that were set aside then or later.
        until: Only messages that were set aside then or earlier.
        dry_run: Count what matches and change nothing.
        limit: At most this many, oldest first.
        """
        call = Call(
            "POST",
            "/dead-letters/actions",
            content=json_of(
                {
                    "action": action,
                    "ids": ids,
                    "memory_base_id": memory_base_id,
                    "cause": cause,
                    "alike": alike,
                    "flow_id": flow_id,
                    "session_id": session_id,
                    "since": since,
                    "until": until,
                    "dry_run": dry_run,
                    "limit": limit,
                }
            ),
        )
        return await self._call(call, models.DeadLetterResults)

    def list_messages(
        self,
        *,
        memory_base_id: str | UUID | None = None,
        session_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        role: Literal["user", "assistant", "system", "tool"] | None = None,
        is_output: bool | None = None,
        ingested: bool | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        before_message_id: str | UUID | None = None,
        after_message_id: str | UUID | None = None,
        state: Literal["muted", "pinned", "failed"] | None = None,
        find: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        flow_id: str | UUID | None = None,
        run_id: str | UUID | None = None,
    ) -> AsyncListing[models.MessageView, models.Page[models.MessageView]]:
        """List messages: by seq within one session of a flow, else by time of capture.

        memory_base_id: Messages of its flow, each with `ingested`.
        session_id: Only messages of this session.
        end_user_id: Only messages of this end user's sessions.
        role: Only messages with this role.
        is_output: Only outputs, or only other messages.
        ingested: Requires memory_base_id.
        since: Inclusive, like `until`. Without a time zone: UTC.
        until: End of the time range, inclusive.
        before_message_id: Only messages that stand before this one in its session; with `order` `desc` the
        nearest first.
        after_message_id: Only messages that stand after this one in its session.
        state: `failed`: it could not be embedded; requires memory_base_id.
        find: Only messages with all of these words; requires a flow or memory base.
        order: Oldest or newest first.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        flow_id: A UUID, or the caller's id.
        run_id: Only messages of this run: a UUID or the caller's id.
        """
        call = Call(
            "GET",
            "/messages",
            params={
                "memory_base_id": memory_base_id,
                "session_id": session_id,
                "end_user_id": end_user_id,
                "role": role,
                "is_output": is_output,
                "ingested": ingested,
                "since": since,
                "until": until,
                "before_message_id": before_message_id,
                "after_message_id": after_message_id,
                "state": state,
                "find": find,
                "order": order,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
                "flow_id": flow_id,
                "run_id": run_id,
            },
        )
        return self._listing(call, models.Page[models.MessageView])

    async def get_message(self, message_id: str | UUID, *, flow_id: str | UUID | None = None) -> models.MessageView:
        """Read a message. Message ids are unique within their flow; an id of several flows is 409 without
        `flow_id`.

        message_id: A UUID, or the id that the caller chose.
        flow_id: A UUID, or the caller's id.
        """
        call = Call("GET", f"/messages/{segment(message_id, 'message_id')}", params={"flow_id": flow_id})
        return await self._call(call, models.MessageView)

    async def edit_message(
        self,
        message_id: str | UUID,
        *,
        flow_id: str | UUID | None = None,
        content: str | Sequence[models.TextPart | Mapping[str, Any] | models.OtherPart | str] | None = None,
        files: Sequence[Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        muted: bool | None = None,
        pinned: bool | None = None,
        version: int | None = None,
        reason: str | None = None,
    ) -> models.Repairs:
        """Change content, files or metadata; mute or pin the message. Searches see it at once; jobs update the
        knowledge bases. Former versions are kept until the message is deleted. With `version`, 409 if the
        message has another one.

        message_id: A UUID, or the id that the caller chose.
        flow_id: A UUID, or the caller's id.
        content: New content: text or content parts.
        files: New files; they replace the stored ones.
        metadata: New metadata; it replaces the stored one.
        muted: Whether no search recalls it; its conversation still shows it.
        pinned: Whether searches return it first where it is relevant.
        version: The version that the caller has read: nothing changes if there is another one now.
        reason: Why; for people, at most 500 characters.
        """
        call = Call(
            "PATCH",
            f"/messages/{segment(message_id, 'message_id')}",
            params={"flow_id": flow_id},
            content=json_of(
                {
                    "content": content,
                    "files": files,
                    "metadata": metadata,
                    "muted": muted,
                    "pinned": pinned,
                    "version": version,
                    "reason": reason,
                }
            ),
        )
        return await self._call(call, models.Repairs)

    async def delete_message(
        self, message_id: str | UUID, *, reason: str | None = None, flow_id: str | UUID | None = None
    ) -> models.DeletionReceipt:
        """Delete a message. Searches leave it out at once; jobs update the knowledge bases. It can be restored for
        as many days as the setting deleted_retention_days says.

        message_id: A UUID, or the id that the caller chose.
        reason: Why; for people, at most 500 characters.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "DELETE", f"/messages/{segment(message_id, 'message_id')}", params={"reason": reason, "flow_id": flow_id}
        )
        return await self._call(call, models.DeletionReceipt)

    def list_message_uses(
        self,
        message_id: str | UUID,
        *,
        flow_id: str | UUID | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.MessageUse, models.Page[models.MessageUse]]:
        """List the runs whose models received a message, latest first.

        message_id: A UUID, or the id that the caller chose.
        flow_id: A UUID, or the caller's id.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            f"/messages/{segment(message_id, 'message_id')}/uses",
            params={"flow_id": flow_id, "page": page, "size": size, "offset": offset, "cursor": cursor},
        )
        return self._listing(call, models.Page[models.MessageUse])

    async def get_message_ingestion(
        self, message_id: str | UUID, *, flow_id: str | UUID | None = None
    ) -> models.MessageIngestion:
        """Show whether each memory base of the flow holds a message, since when, and in how many chunks.

        message_id: A UUID, or the id that the caller chose.
        flow_id: A UUID, or the caller's id.
        """
        call = Call("GET", f"/messages/{segment(message_id, 'message_id')}/ingestion", params={"flow_id": flow_id})
        return await self._call(call, models.MessageIngestion)

    def get_message_history(
        self,
        message_id: str | UUID,
        *,
        flow_id: str | UUID | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.ChangeView, models.Page[models.ChangeView]]:
        """List what was done to a message, newest first: edits with the former version and the difference, mute,
        pin, restore; when, by which API key, and why.

        message_id: A UUID, or the id that the caller chose.
        flow_id: A UUID, or the caller's id.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            f"/messages/{segment(message_id, 'message_id')}/history",
            params={"flow_id": flow_id, "page": page, "size": size, "offset": offset, "cursor": cursor},
        )
        return self._listing(call, models.Page[models.ChangeView])

    async def act_on_messages(
        self,
        *,
        action: Literal["mute", "unmute", "pin", "unpin", "delete", "restore"],
        ids: Sequence[str | UUID],
        flow_id: str | UUID | None = None,
        reason: str | None = None,
    ) -> models.BulkAnswer:
        """Mute, unmute, pin, unpin, delete or restore up to 500 messages. Each has its own result.

        action: What to do with each message.
        ids: The messages: UUIDs or the caller's ids.
        flow_id: The flow, if its ids are also used in others: a UUID or the caller's id.
        reason: Why; for people, at most 500 characters.
        """
        call = Call(
            "POST",
            "/messages/actions",
            content=json_of({"action": action, "ids": ids, "flow_id": flow_id, "reason": reason}),
        )
        return await self._call(call, models.BulkAnswer)

    def list_deleted_messages(
        self,
        *,
        memory_base_id: str | UUID | None = None,
        session_id: str | UUID | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        flow_id: str | UUID | None = None,
    ) -> AsyncListing[models.DeletedMessageView, models.Page[models.DeletedMessageView]]:
        """List deleted messages that can be restored, the last deleted first.

        memory_base_id: Messages of its flow.
        session_id: Only messages of this session.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "GET",
            "/deleted-messages",
            params={
                "memory_base_id": memory_base_id,
                "session_id": session_id,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
                "flow_id": flow_id,
            },
        )
        return self._listing(call, models.Page[models.DeletedMessageView])

    async def restore_message(
        self, message_id: str | UUID, *, flow_id: str | UUID | None = None, reason: str | None = None
    ) -> models.Repairs:
        """Restore a deleted message in its place. Searches find it at once; jobs update the knowledge bases.

        message_id: A UUID, or the id that the caller chose.
        flow_id: A UUID, or the caller's id.
        reason: Why; for people, at most 500 characters.
        """
        call = Call(
            "POST",
            f"/deleted-messages/{segment(message_id, 'message_id')}/restore",
            params={"flow_id": flow_id},
            content=json_of({"reason": reason}, is_optional=True),
        )
        return await self._call(call, models.Repairs)

    async def purge_message(self, message_id: str | UUID, *, flow_id: str | UUID | None = None) -> None:
        """Delete a deleted message for good, before its retention ends.

        message_id: A UUID, or the id that the caller chose.
        flow_id: A UUID, or the caller's id.
        """
        call = Call("DELETE", f"/deleted-messages/{segment(message_id, 'message_id')}", params={"flow_id": flow_id})
        await self._call_empty(call)

    def list_sessions(
        self,
        *,
        end_user_id: str | UUID | None = None,
        q: str | None = None,
        state: models.SearchState | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        order: Literal["created", "recent"] | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        flow_id: str | UUID | None = None,
    ) -> AsyncListing[models.SessionView, models.Page[models.SessionView]]:
        """List sessions. In the order `recent` a session moves to the front with each capture, also between two
        pages.

        With `q` or `state` a page looks through a bounded number of sessions: `next_cursor` continues even
        after an empty page.

        end_user_id: The person that sessions or chats belong to; only what belongs to them.
        q: Sessions whose messages contain all of these words, or whose id, title or end user contains the text.
        End users whose id contains the text.
        state: Only sessions in this state.
        since: Only sessions with a capture from this time on. Inclusive, like `until`. Without a time zone:
        UTC.
        until: Only sessions without a capture after this time.
        order: By creation, oldest first, or by the latest capture, latest first.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "GET",
            "/sessions",
            params={
                "end_user_id": end_user_id,
                "q": q,
                "state": state,
                "since": since,
                "until": until,
                "order": order,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
                "flow_id": flow_id,
            },
        )
        return self._listing(call, models.Page[models.SessionView])

    async def update_session(
        self,
        *,
        flow_id: str | UUID,
        session_id: str | UUID,
        new_session_id: str | UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | str | None = None,
        expire_in_days: int | None = None,
    ) -> models.SessionView:
        """Rename a session, replace its metadata, or set when it expires. An id of another session is 409.

        flow_id: The flow: a UUID or the caller's id.
        session_id: The session to change.
        new_session_id: Its new id.
        metadata: New metadata; it replaces the stored one.
        expires_at: When everything that was captured until then is deleted; null: never, unless
        `expire_in_days` says so.
        expire_in_days: The same, in days from now.
        """
        call = Call(
            "PATCH",
            "/sessions",
            content=json_of(
                {
                    "flow_id": flow_id,
                    "session_id": session_id,
                    "new_session_id": new_session_id,
                    "metadata": metadata,
                    "expires_at": expires_at,
                    "expire_in_days": expire_in_days,
                }
            ),
        )
        return await self._call(call, models.SessionView)

    async def delete_session(self, *, session_id: str | UUID, flow_id: str | UUID) -> models.ErasureReceipt:
        """Delete a session and its messages. Searches leave it out at once; jobs update the knowledge bases.

        session_id: The session's id, chosen by the caller.
        flow_id: The flow: a UUID or the caller's id.
        """
        call = Call("DELETE", "/sessions", params={"session_id": session_id, "flow_id": flow_id})
        return await self._call(call, models.ErasureReceipt)

    def list_end_users(
        self,
        *,
        q: str | None = None,
        order: Literal["recent", "sessions"] | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        flow_id: str | UUID | None = None,
    ) -> AsyncListing[models.EndUserView, models.Page[models.EndUserView]]:
        """List the end users of all sessions and chats.

        q: Sessions whose messages contain all of these words, or whose id, title or end user contains the text.
        End users whose id contains the text.
        order: Last seen first, or most sessions first.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "GET",
            "/end-users",
            params={
                "q": q,
                "order": order,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
                "flow_id": flow_id,
            },
        )
        return self._listing(call, models.Page[models.EndUserView])

    async def get_end_user(self, end_user_id: str | UUID) -> models.EndUserDetails:
        """Read how much is stored of an end user, by kind.

        end_user_id: The person.
        """
        call = Call("GET", f"/end-users/{segment(end_user_id, 'end_user_id')}")
        return await self._call(call, models.EndUserDetails)

    async def erase_end_user(self, end_user_id: str | UUID) -> models.ErasureReceipt:
        """Delete every session of an end user, in all flows. The response counts what was deleted.

        end_user_id: The person.
        """
        call = Call("DELETE", f"/end-users/{segment(end_user_id, 'end_user_id')}")
        return await self._call(call, models.ErasureReceipt)

    async def get_history(
        self,
        *,
        flow_id: str | UUID,
        session_id: str | UUID,
        mode: Literal["conversation", "node"] | None = None,
        node_id: str | UUID | None = None,
        leaf_id: str | UUID | None = None,
        message_limit: int | None = None,
        max_tokens: int | None = None,
        role_prefix: models.RolePrefix | Mapping[str, Any] | None = None,
        on_missing: Literal["empty", "error"] | None = None,
        unanswered: Literal["drop", "keep"] | None = None,
        format: Literal["openai", "langchain", "text"] | None = None,
        roles: Sequence[Literal["user", "assistant", "system", "tool"]] | None = None,
        model: str | None = None,
        run_id: str | UUID | None = None,
        execution_id: str | UUID | None = None,
        index: int | None = None,
    ) -> models.HistoryAnswer:
        """Read a session, or one node's part of it, as messages for a model. With `run_id` and `node_id` the
        memory use is recorded.

        flow_id: The flow: a UUID or the caller's id.
        session_id: The session's id, chosen by the caller.
        mode: `conversation` reads the session, `node` the context of one node.
        node_id: The node whose history to read; required in mode node.
        leaf_id: Last message of the thread; default: the newest message.
        message_limit: Maximum turns; 0: unlimited.
        max_tokens: Maximum tokens, in whole turns.
        role_prefix: Prefixes of the lines in `text`.
        on_missing: What a missing session or node execution is: an empty view or 404.
        unanswered: Whether a question at the end that has no answer yet is part of the history. Only without
        run_id.
        format: Format of `messages`: `openai` or `langchain`; `text` if only `text` is read.
        roles: Only messages of these roles.
        model: The model that reads the messages; it decides the token counter and whether calls come with their
        reasoning.
        run_id: The current run; its own messages are left out.
        execution_id: In mode node: the current execution in run_id. If an earlier attempt reported it, it and
        later executions of the node in this run are left out.
        index: The current execution by its index, if each attempt has another id.
        """
        call = Call(
            "POST",
            "/history",
            content=json_of(
                {
                    "flow_id": flow_id,
                    "session_id": session_id,
                    "mode": mode,
                    "node_id": node_id,
                    "leaf_id": leaf_id,
                    "message_limit": message_limit,
                    "max_tokens": max_tokens,
                    "role_prefix": role_prefix,
                    "on_missing": on_missing,
                    "unanswered": unanswered,
                    "format": format,
                    "roles": roles,
                    "model": model,
                    "run_id": run_id,
                    "execution_id": execution_id,
                    "index": index,
                }
            ),
        )
        return await self._call(call, models.HistoryAnswer)

    async def get_node_execution(
        self, execution_id: str | UUID, *, flow_id: str | UUID | None = None
    ) -> models.NodeExecutionView:
        """Read a node execution. An id of several flows is 409 without `flow_id`.

        execution_id: A UUID, or the id that the caller chose.
        flow_id: A UUID, or the caller's id.
        """
        call = Call("GET", f"/node-executions/{segment(execution_id, 'execution_id')}", params={"flow_id": flow_id})
        return await self._call(call, models.NodeExecutionView)

    async def put_node_execution(
        self,
        execution_id: str | UUID,
        *,
        node_id: str | UUID,
        status: Literal["running", "succeeded", "failed", "exception", "stopped"],
        outputs: models.ExecutionOutputs | Mapping[str, Any],
        flow_id: str | UUID,
        session_id: str | UUID,
        run_id: str | UUID,
        index: int | None = None,
        few_shots: Sequence[
            models.OpenAIMessage
            | Mapping[str, Any]
            | models.LangflowMessage
            | models.LangChainMessage
            | models.LangChainDump
        ]
        | None = None,
    ) -> models.NodeExecutionView:
        """Store a node execution (201) or replace it (200). Its run may be captured later.

        execution_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        status: How the execution ended; node memory reads only `succeeded` ones.
        outputs: What the node returned.
        flow_id: The flow: a UUID or the caller's id.
        session_id: The session's id, chosen by the caller.
        run_id: The run: a UUID or the caller's id. It may be captured later.
        index: Number of this execution among the node's executions in the run.
        few_shots: Messages that the node's template puts before its context; they are not history.
        """
        call = Call(
            "PUT",
            f"/node-executions/{segment(execution_id, 'execution_id')}",
            content=json_of(
                {
                    "node_id": node_id,
                    "status": status,
                    "outputs": outputs,
                    "flow_id": flow_id,
                    "session_id": session_id,
                    "run_id": run_id,
                    "index": index,
                    "few_shots": few_shots,
                }
            ),
        )
        return await self._call(call, models.NodeExecutionView)

    async def delete_node_execution(self, execution_id: str | UUID, *, flow_id: str | UUID | None = None) -> None:
        """Delete a node execution and its outputs. Node memory is then read from the previous execution.

        execution_id: A UUID, or the id that the caller chose.
        flow_id: A UUID, or the caller's id.
        """
        call = Call("DELETE", f"/node-executions/{segment(execution_id, 'execution_id')}", params={"flow_id": flow_id})
        await self._call_empty(call)

    async def get_run_memory(self, flow_id: str | UUID, run_id: str | UUID) -> models.RunMemory:
        """Show the memory that each node of a run received.

        flow_id: A UUID, or the id that the caller chose.
        run_id: A UUID, or the id that the caller chose.
        """
        call = Call("GET", f"/flows/{segment(flow_id, 'flow_id')}/runs/{segment(run_id, 'run_id')}/memory")
        return await self._call(call, models.RunMemory)

    async def put_run_memory(
        self,
        flow_id: str | UUID,
        run_id: str | UUID,
        node_id: str | UUID,
        *,
        session_id: str | UUID,
        end_user_id: str | UUID | None = None,
        query: str | None = None,
        messages: Sequence[
            models.OpenAIMessage
            | Mapping[str, Any]
            | models.LangflowMessage
            | models.LangChainMessage
            | models.LangChainDump
        ]
        | None = None,
        sources: Sequence[models.MemorySourceBody | Mapping[str, Any]] | None = None,
    ) -> models.NodeUse:
        """Record the memory that a client gave a node's model itself, such as search results in its prompt. It
        replaces an earlier record of this run and node, unless a legal hold keeps that: then 409. If the run is
        not captured within a day, the record is deleted.

        flow_id: A UUID, or the id that the caller chose.
        run_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        session_id: The session's id, chosen by the caller.
        end_user_id: The person that the session belongs to. Messages of others count as not stored.
        query: What was looked for; null if nothing was. Of a longer one the last 8000 characters count.
        messages: The messages as the model received them, in OpenAI's format: {role, content}. At most 1000.
        sources: Where each message comes from, parallel to `messages`.
        """
        call = Call(
            "PUT",
            f"/flows/{segment(flow_id, 'flow_id')}/runs/{segment(run_id, 'run_id')}/memory/{segment(node_id, 'node_id')}",
            content=json_of(
                {
                    "session_id": session_id,
                    "end_user_id": end_user_id,
                    "query": query,
                    "messages": messages,
                    "sources": sources,
                }
            ),
        )
        return await self._call(call, models.NodeUse)

    async def get_run_story(self, flow_id: str | UUID, run_id: str | UUID) -> models.RunStory:
        """Show a run as one story: its question and answer, the memory that each node received and how well it
        fits, and when each memory base held the messages.

        flow_id: A UUID, or the id that the caller chose.
        run_id: A UUID, or the id that the caller chose.
        """
        call = Call("GET", f"/flows/{segment(flow_id, 'flow_id')}/runs/{segment(run_id, 'run_id')}/story")
        return await self._call(call, models.RunStory)

    async def search_memory_base(
        self,
        memory_base_id: str | UUID,
        *,
        query: str,
        top_k: int | None = None,
        mode: Literal["hybrid", "dense", "keyword"] | None = None,
        session_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        roles: Sequence[Literal["user", "assistant", "system", "tool"]] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        neighbors: int | None = None,
        snippet_chars: int | None = None,
        include_pending: bool | None = None,
        exclude_message_ids: Sequence[str | UUID] | None = None,
        explain: bool | None = None,
        default_weights: bool | None = None,
        weights: models.PartWeightsBody | Mapping[str, Any] | None = None,
        half_life_days: float | None = None,
        fold_alike: bool | None = None,
        corrections: bool | None = None,
        time_zone: str | None = None,
        facts: bool | None = None,
    ) -> models.SearchAnswer:
        """Search the messages of a memory base, best first, including those not ingested yet.

        memory_base_id: The UUID of the memory base.
        query: What to look for. Of a longer one the last 8000 characters count.
        top_k: Maximum results. At most 100.
        mode: `hybrid`; `dense`, vectors alone; or `keyword`, words alone.
        session_id: Only messages of this session.
        end_user_id: Only messages of this end user's sessions.
        roles: Only messages with one of these roles.
        since: Only messages with a `timestamp` from this time on.
        until: Only messages with a `timestamp` up to this time.
        as_of: Answer as on this date: without messages with a later `timestamp`, with edits and corrections
        since taken back, and with times and ages counted from then. What was deleted since stays deleted. A
        date alone is the whole day, in UTC.
        metadata: Keys that the metadata must have, with exactly these values.
        min_score: Minimum score of a result, from 0 to 1.
        neighbors: Number of turns to show before and after each result.
        snippet_chars: Maximum characters of each `snippet`.
        include_pending: Whether to find messages that are not ingested yet.
        exclude_message_ids: Messages to leave out: UUIDs or the caller's ids; those of other flows count too.
        explain: Whether to show how each score was computed, in `parts`.
        default_weights: Use the default weights and no half-life instead of the memory base's own.
        weights: Factors for the parts of each score; null: 1 for each.
        half_life_days: After this many days a message has lost a quarter of its score, in the end half; 0: age
        does not count. Default: as the memory base's own weights say.
        fold_alike: Of messages with the same text return only the best, with the number of others in `alike`.
        corrections: Rank later statements of the same fact first and say what they correct, in mode `hybrid`.
        Default: unless the embedding model is behind an endpoint.
        time_zone: IANA name of the zone whose days the query means; null: as the flow says.
        facts: Also return facts that a model derived, in `facts`.
        """
        call = Call(
            "POST",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/search",
            content=json_of(
                {
                    "query": query,
                    "top_k": top_k,
                    "mode": mode,
                    "session_id": session_id,
                    "end_user_id": end_user_id,
                    "roles": roles,
                    "since": since,
                    "until": until,
                    "as_of": as_of,
                    "metadata": metadata,
                    "min_score": min_score,
                    "neighbors": neighbors,
                    "snippet_chars": snippet_chars,
                    "include_pending": include_pending,
                    "exclude_message_ids": exclude_message_ids,
                    "explain": explain,
                    "default_weights": default_weights,
                    "weights": weights,
                    "half_life_days": half_life_days,
                    "fold_alike": fold_alike,
                    "corrections": corrections,
                    "time_zone": time_zone,
                    "facts": facts,
                }
            ),
        )
        return await self._call(call, models.SearchAnswer)

    async def search_flow(
        self,
        *,
        query: str,
        top_k: int | None = None,
        mode: Literal["hybrid", "dense", "keyword"] | None = None,
        session_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        roles: Sequence[Literal["user", "assistant", "system", "tool"]] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        neighbors: int | None = None,
        snippet_chars: int | None = None,
        include_pending: bool | None = None,
        exclude_message_ids: Sequence[str | UUID] | None = None,
        explain: bool | None = None,
        default_weights: bool | None = None,
        weights: models.PartWeightsBody | Mapping[str, Any] | None = None,
        half_life_days: float | None = None,
        fold_alike: bool | None = None,
        corrections: bool | None = None,
        time_zone: str | None = None,
        facts: bool | None = None,
        flow_id: str | UUID | None = None,
        memory_base_ids: Sequence[str | UUID] | None = None,
        all: bool | None = None,
    ) -> models.SearchAnswer:
        """Search every memory base of a flow, several memory bases, or all, best first.

        query: What to look for. Of a longer one the last 8000 characters count.
        top_k: Maximum results. At most 100.
        mode: `hybrid`; `dense`, vectors alone; or `keyword`, words alone.
        session_id: Only messages of this session.
        end_user_id: Only messages of this end user's sessions.
        roles: Only messages with one of these roles.
        since: Only messages with a `timestamp` from this time on.
        until: Only messages with a `timestamp` up to this time.
        as_of: Answer as on this date: without messages with a later `timestamp`, with edits and corrections
        since taken back, and with times and ages counted from then. What was deleted since stays deleted. A
        date alone is the whole day, in UTC.
        metadata: Keys that the metadata must have, with exactly these values.
        min_score: Minimum score of a result, from 0 to 1.
        neighbors: Number of turns to show before and after each result.
        snippet_chars: Maximum characters of each `snippet`.
        include_pending: Whether to find messages that are not ingested yet.
        exclude_message_ids: Messages to leave out: UUIDs or the caller's ids; those of other flows count too.
        explain: Whether to show how each score was computed, in `parts`.
        default_weights: Use the default weights and no half-life instead of the memory base's own.
        weights: Factors for the parts of each score; null: 1 for each.
        half_life_days: After this many days a message has lost a quarter of its score, in the end half; 0: age
        does not count. Default: as the memory base's own weights say.
        fold_alike: Of messages with the same text return only the best, with the number of others in `alike`.
        corrections: Rank later statements of the same fact first and say what they correct, in mode `hybrid`.
        Default: unless the embedding model is behind an endpoint.
        time_zone: IANA name of the zone whose days the query means; null: as the flow says.
        facts: Also return facts that a model derived, in `facts`.
        flow_id: Search every memory base of this flow: a UUID or the caller's id.
        memory_base_ids: Memory bases of one flow or of several.
        all: Search every memory base, at most 50.
        """
        call = Call(
            "POST",
            "/search",
            content=json_of(
                {
                    "query": query,
                    "top_k": top_k,
                    "mode": mode,
                    "session_id": session_id,
                    "end_user_id": end_user_id,
                    "roles": roles,
                    "since": since,
                    "until": until,
                    "as_of": as_of,
                    "metadata": metadata,
                    "min_score": min_score,
                    "neighbors": neighbors,
                    "snippet_chars": snippet_chars,
                    "include_pending": include_pending,
                    "exclude_message_ids": exclude_message_ids,
                    "explain": explain,
                    "default_weights": default_weights,
                    "weights": weights,
                    "half_life_days": half_life_days,
                    "fold_alike": fold_alike,
                    "corrections": corrections,
                    "time_zone": time_zone,
                    "facts": facts,
                    "flow_id": flow_id,
                    "memory_base_ids": memory_base_ids,
                    "all": all,
                }
            ),
        )
        return await self._call(call, models.SearchAnswer)

    def list_keys(
        self, *, page: int | None = None, size: int | None = None, offset: int | None = None, cursor: str | None = None
    ) -> AsyncListing[models.KeyAnswer, models.Page[models.KeyAnswer]]:
        """List the API keys that are not revoked.

        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call("GET", "/keys", params={"page": page, "size": size, "offset": offset, "cursor": cursor})
        return self._listing(call, models.Page[models.KeyAnswer])

    async def create_key(
        self,
        *,
        name: str,
        scopes: Sequence[Literal["read", "write", "admin", "metrics"]],
        idempotency_key: str | None = None,
        expires_at: datetime | str | None = None,
        flow_ids: Sequence[str | UUID] | None = None,
        end_user_id: str | UUID | None = None,
        quotas: models.QuotasBody | Mapping[str, Any] | None = None,
    ) -> models.NewKeyAnswer:
        """Create an API key. Only this response contains the secret. `flow_ids` and `end_user_id` limit the key.

        name: The name, for people.
        scopes: What the key allows: `read`, `write`, `admin`, `metrics`.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer. Default: a new one for each call.
        expires_at: When the key stops working; by default never.
        flow_ids: Limit the key to these flows, each a UUID or the caller's id; by default it reaches all.
        end_user_id: Limit the key to this end user; by default it reaches all.
        quotas: What the key may use; by default what the settings say.
        """
        call = Call(
            "POST",
            "/keys",
            content=json_of(
                {
                    "name": name,
                    "scopes": scopes,
                    "expires_at": expires_at,
                    "flow_ids": flow_ids,
                    "end_user_id": end_user_id,
                    "quotas": quotas,
                }
            ),
            idempotency_key=idempotency_key or new_key(),
        )
        return await self._call(call, models.NewKeyAnswer)

    async def rotate_key(
        self,
        key_id: str | UUID,
        *,
        idempotency_key: str | None = None,
        overlap_seconds: int | None = None,
        expires_at: datetime | str | None = None,
    ) -> models.NewKeyAnswer:
        """Create a key that replaces this one, with its name, scopes, limits, quotas and usage. Both are valid
        during the overlap. Only this response contains the secret.

        key_id: The UUID of the key.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer. Default: a new one for each call.
        overlap_seconds: Seconds for which the old key stays valid; 0: it ends at once.
        expires_at: When the new key stops working; by default when the old one would have.
        """
        call = Call(
            "POST",
            f"/keys/{segment(key_id, 'key_id')}/rotate",
            content=json_of({"overlap_seconds": overlap_seconds, "expires_at": expires_at}, is_optional=True),
            idempotency_key=idempotency_key or new_key(),
        )
        return await self._call(call, models.NewKeyAnswer)

    async def revoke_key(self, key_id: str | UUID) -> None:
        """Revoke an API key: its next use is refused.

        key_id: The UUID of the key.
        """
        call = Call("DELETE", f"/keys/{segment(key_id, 'key_id')}")
        await self._call_empty(call)

    async def list_workers(self) -> models.Workers:
        """List the workers of the installation, with how much each of them holds. `memorybase workers drain` stops
        one.
        """
        call = Call("GET", "/workers")
        return await self._call(call, models.Workers)

    async def create_sign_in_link(self) -> models.SignInLinkAnswer:
        """Create a link that signs a browser in with this key's scopes. It works once, for one hour."""
        call = Call("POST", "/sign-in-links")
        return await self._call(call, models.SignInLinkAnswer)

    async def get_metrics(self) -> str:
        """Read metrics in Prometheus text format. Gauges cover the whole installation, counters this process."""
        call = Call("GET", "/metrics")
        return await self._call_text(call)

    async def get_summary(
        self, *, session_id: str | UUID, flow_id: str | UUID, summarizer: str | None = None, preset: str | None = None
    ) -> models.SummaryView:
        """Read a session's summary and the state of the next one.

        session_id: The session's id, chosen by the caller.
        flow_id: The flow: a UUID or the caller's id.
        summarizer: What writes the summary.
        preset: The preset whose summary it is; `pairs_N` is that of all but the latest N pairs.
        """
        call = Call(
            "GET",
            "/summary",
            params={"session_id": session_id, "flow_id": flow_id, "summarizer": summarizer, "preset": preset},
        )
        return await self._call(call, models.SummaryView)

    async def request_summary(
        self, *, flow_id: str | UUID, session_id: str | UUID, summarizer: str | None = None, preset: str | None = None
    ) -> models.SummaryView:
        """Request a new summary of all but the latest pairs of question and reply. A worker makes it.

        flow_id: The flow: a UUID or the caller's id.
        session_id: The session's id, chosen by the caller.
        summarizer: What writes the summary, one of those in the settings; by default the first.
        preset: The preset whose summary it is; `pairs_N` is that of all but the latest N pairs.
        """
        call = Call(
            "POST",
            "/summary",
            content=json_of({"flow_id": flow_id, "session_id": session_id, "summarizer": summarizer, "preset": preset}),
        )
        return await self._call(call, models.SummaryView)

    async def delete_summary(
        self, *, session_id: str | UUID, flow_id: str | UUID, summarizer: str | None = None, preset: str | None = None
    ) -> None:
        """Delete a session's summaries, or those of one summarizer or preset. A later read may request new ones.

        session_id: The session's id, chosen by the caller.
        flow_id: The flow: a UUID or the caller's id.
        summarizer: Only summaries of this summarizer; by default of all.
        preset: Only the summary of this preset; by default of all.
        """
        call = Call(
            "DELETE",
            "/summary",
            params={"session_id": session_id, "flow_id": flow_id, "summarizer": summarizer, "preset": preset},
        )
        await self._call_empty(call)

    async def build_context(
        self,
        *,
        flow_id: str | UUID,
        session_id: str | UUID,
        token_budget: int,
        query: str | None = None,
        time_zone: str | None = None,
        as_of: datetime | str | None = None,
        leaf_id: str | UUID | None = None,
        run_id: str | UUID | None = None,
        node_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        use_memory: bool | None = None,
        model: str | None = None,
        preset: Literal["token_buffer", "window", "flowx_5", "flowx_6"] | None = None,
        config: models.ContextConfig | Mapping[str, Any] | None = None,
        memory_base_ids: Sequence[str | UUID] | None = None,
        recall: models.RecallBody | Mapping[str, Any] | None = None,
        standing: models.StandingBody | Mapping[str, Any] | None = None,
        profile: bool | None = None,
    ) -> models.ContextAnswer:
        """Build history, summary and recalled memories within the token budget. `degraded` names what is
        unavailable.

        flow_id: The flow: a UUID or the caller's id.
        session_id: The session's id, chosen by the caller.
        token_budget: Maximum tokens of the whole view.
        query: What to recall memories for; without it, none are recalled. Of a longer one the last 8000
        characters count.
        time_zone: IANA name of the zone whose days the query means and memories show; null: as the flow says.
        as_of: Answer as on this date: without messages with a later `timestamp`, with edits and corrections
        since taken back, and with times and ages counted from then. What was deleted since stays deleted. A
        date alone is the whole day, in UTC.
        leaf_id: Last message of the thread; default: the newest message.
        run_id: The current run; its own messages are left out.
        node_id: The node that asks. With `run_id`, the memory use is recorded.
        end_user_id: The person that asks; by default the session's. Another one than the session's is 409.
        use_memory: If false, the view is empty.
        model: The model that reads the messages; it decides the token counter and whether calls come with their
        reasoning.
        preset: How history and summary are combined.
        config: Changes to the preset.
        memory_base_ids: Memory bases to recall from; by default all of the flow.
        recall: Options of recall.
        standing: Options of standing statements.
        profile: Whether the memories begin with the end user's profile, within their share; null: if the query
        asks what is known of the person, or of an area such as their job.
        """
        call = Call(
            "POST",
            "/context",
            content=json_of(
                {
                    "flow_id": flow_id,
                    "session_id": session_id,
                    "token_budget": token_budget,
                    "query": query,
                    "time_zone": time_zone,
                    "as_of": as_of,
                    "leaf_id": leaf_id,
                    "run_id": run_id,
                    "node_id": node_id,
                    "end_user_id": end_user_id,
                    "use_memory": use_memory,
                    "model": model,
                    "preset": preset,
                    "config": config,
                    "memory_base_ids": memory_base_ids,
                    "recall": recall,
                    "standing": standing,
                    "profile": profile,
                }
            ),
        )
        return await self._call(call, models.ContextAnswer)

    def export_lines(
        self,
        *,
        memory_base_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        flow_id: str | UUID | None = None,
    ) -> AsyncStream[dict[str, Any]]:
        """Export flows, sessions, runs and messages with every stored field. A complete export ends with an `end`
        line.

        memory_base_id: Export the flow of this memory base.
        end_user_id: Export only sessions and chats of this end user.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "GET", "/export", params={"memory_base_id": memory_base_id, "end_user_id": end_user_id, "flow_id": flow_id}
        )
        return self._lines(call)

    async def import_lines(
        self, lines: Iterable[Line], *, on_conflict: Literal["error", "keep", "update"] | None = None
    ) -> models.ImportAnswer:
        """Import any range of lines of an export. Stored rows are kept, so a broken import can be sent again.

        lines: objects, or lines of JSON
        on_conflict: What to do if a message id is stored with other content: `error` stores nothing more,
        `keep` keeps the stored message, `update` stores a new version.
        """
        call = Call("POST", "/import", params={"on_conflict": on_conflict})
        return await self._import(call, lines)

    async def set_key_quotas(
        self,
        key_id: str | UUID,
        *,
        messages_per_day: int | None = None,
        stored_messages: int | None = None,
        searches_per_minute: int | None = None,
        end_users: int | None = None,
    ) -> models.KeyAnswer:
        """Replace the quotas of a key, also of those that it was rotated into. A key cannot change its own.

        key_id: The UUID of the key.
        messages_per_day: New messages a day in UTC, captured or of chats; null: the default of the settings.
        stored_messages: Messages stored now, captured or of chats; null: the default of the settings.
        searches_per_minute: Searches a minute, and contexts with a query; null: the default of the settings.
        end_users: End users that something is stored of; null: the default of the settings.
        """
        call = Call(
            "PUT",
            f"/keys/{segment(key_id, 'key_id')}/quotas",
            content=json_of(
                {
                    "messages_per_day": messages_per_day,
                    "stored_messages": stored_messages,
                    "searches_per_minute": searches_per_minute,
                    "end_users": end_users,
                }
            ),
        )
        return await self._call(call, models.KeyAnswer)

    async def get_usage(self, *, key_id: str | UUID | None = None) -> models.Usage:
        """Read the quotas of the user and of the calling key: limit, use, and when it resets. A limited key sees
        its own only.

        key_id: Another key; requires the scope admin.
        """
        call = Call("GET", "/usage", params={"key_id": key_id})
        return await self._call(call, models.Usage)

    async def preview_retention(
        self,
        *,
        memory_base_id: str | UUID | None = None,
        retain_days: int | None = None,
        flow_id: str | UUID | None = None,
    ) -> models.RetentionPreviews:
        """Count what the rules would delete now. Nothing is changed.

        memory_base_id: The rule of this memory base alone. Not together with `flow_id`.
        retain_days: As if the flow or the memory base had this rule; requires `flow_id` or `memory_base_id`.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "GET",
            "/retention/preview",
            params={"memory_base_id": memory_base_id, "retain_days": retain_days, "flow_id": flow_id},
        )
        return await self._call(call, models.RetentionPreviews)

    def list_retention_passes(
        self,
        *,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        flow_id: str | UUID | None = None,
    ) -> AsyncListing[models.RetentionPassView, models.Page[models.RetentionPassView]]:
        """List the receipts of what expired, newest first, also of flows that are deleted by now.

        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "GET",
            "/retention/passes",
            params={"page": page, "size": size, "offset": offset, "cursor": cursor, "flow_id": flow_id},
        )
        return self._listing(call, models.Page[models.RetentionPassView])

    def list_erasures(
        self,
        *,
        end_user_id: str | UUID | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.ErasureReceipt, models.Page[models.ErasureReceipt]]:
        """List the receipts of erased end users and deleted sessions, newest first.

        end_user_id: The person that sessions or chats belong to; only what belongs to them.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            "/erasures",
            params={"end_user_id": end_user_id, "page": page, "size": size, "offset": offset, "cursor": cursor},
        )
        return self._listing(call, models.Page[models.ErasureReceipt])

    async def get_erasure(self, erasure_id: str | UUID) -> models.ErasureReceipt:
        """Read the receipt of an erasure.

        erasure_id: The UUID of the receipt.
        """
        call = Call("GET", f"/erasures/{segment(erasure_id, 'erasure_id')}")
        return await self._call(call, models.ErasureReceipt)

    def list_holds(
        self,
        *,
        end_user_id: str | UUID | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        flow_id: str | UUID | None = None,
    ) -> AsyncListing[models.HoldView, models.Page[models.HoldView]]:
        """List the legal holds, oldest first.

        end_user_id: The person that sessions or chats belong to; only what belongs to them.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "GET",
            "/holds",
            params={
                "end_user_id": end_user_id,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
                "flow_id": flow_id,
            },
        )
        return self._listing(call, models.Page[models.HoldView])

    async def place_hold(
        self,
        *,
        flow_id: str | UUID | None = None,
        session_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        reason: str | None = None,
    ) -> models.HoldView:
        """Place a legal hold on a flow, on one session of it, or on an end user in all flows. Until it is lifted,
        retention leaves everything of it, and each deletion of any of it is 409 `legal_hold`.

        flow_id: The flow: a UUID or the caller's id. Not together with `end_user_id`.
        session_id: One session of the flow; by default the whole flow.
        end_user_id: The person whose sessions and chats are held, in all flows, future ones too.
        reason: Why, for people.
        """
        call = Call(
            "POST",
            "/holds",
            content=json_of(
                {"flow_id": flow_id, "session_id": session_id, "end_user_id": end_user_id, "reason": reason}
            ),
        )
        return await self._call(call, models.HoldView)

    async def lift_hold(self, hold_id: str | UUID) -> None:
        """Lift a legal hold. What only it kept can be deleted again, and expires with the next pass.

        hold_id: The UUID of the hold.
        """
        call = Call("DELETE", f"/holds/{segment(hold_id, 'hold_id')}")
        await self._call_empty(call)

    def list_audit_entries(
        self,
        *,
        key_id: str | UUID | None = None,
        operation: str | None = None,
        kind: Literal["change", "read", "denied", "prune"] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.AuditEntryView, models.Page[models.AuditEntryView]]:
        """List changes, exports, reads on the page and refusals, newest first. No entry contains text.

        key_id: Only what this API key did.
        operation: Only operations with this in their name, such as `erase`; case does not matter.
        kind: Only changes, reads, refusals or checkpoints.
        since: Only entries from this time on. Inclusive, like `until`. Without a time zone: UTC.
        until: Only entries up to this time.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            "/audit",
            params={
                "key_id": key_id,
                "operation": operation,
                "kind": kind,
                "since": since,
                "until": until,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
            },
        )
        return self._listing(call, models.Page[models.AuditEntryView])

    def export_audit_entries(self, *, after_seq: int | None = None) -> AsyncStream[dict[str, Any]]:
        """Export sealed entries as JSON lines, in the order of the hash chain. Continue with the last line's
        `seq`.

        after_seq: The last `seq` that you have.
        """
        call = Call("GET", "/audit/export", params={"after_seq": after_seq})
        return self._lines(call)

    async def retrieve_knowledge(
        self,
        *,
        knowledge_id: str | UUID,
        query: str,
        retrieval_setting: models.RetrievalSetting | Mapping[str, Any] | None = None,
        metadata_condition: models.MetadataCondition | Mapping[str, Any] | None = None,
    ) -> models.RetrievalAnswer:
        """Search for Dify's External Knowledge API. The endpoint to enter in Dify ends in /v1/dify.

        knowledge_id: What to search.
        query: The question. Of a longer one the last 8000 characters count.
        retrieval_setting: How much to answer.
        metadata_condition: Which messages to search.
        """
        call = Call(
            "POST",
            "/dify/retrieval",
            content=json_of(
                {
                    "knowledge_id": knowledge_id,
                    "query": query,
                    "retrieval_setting": retrieval_setting,
                    "metadata_condition": metadata_condition,
                }
            ),
        )
        return await self._call(call, models.RetrievalAnswer)

    def list_knowledge_bases(
        self,
        *,
        for_retrieval: bool | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.KnowledgeBaseView, models.Page[models.KnowledgeBaseView]]:
        """List knowledge bases, oldest first.

        for_retrieval: Hide knowledge bases of memory bases.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            "/knowledge-bases",
            params={"for_retrieval": for_retrieval, "page": page, "size": size, "offset": offset, "cursor": cursor},
        )
        return self._listing(call, models.Page[models.KnowledgeBaseView])

    async def create_knowledge_base(
        self, *, name: str, idempotency_key: str | None = None, embedding_model: str | None = None
    ) -> models.KnowledgeBaseView:
        """Create an ordinary knowledge base. A name in use is 409 with `existing_id`.

        name: The name; unique for the user.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer. Default: a new one for each call.
        embedding_model: An allowed embedding model; by default the one of the settings.
        """
        call = Call(
            "POST",
            "/knowledge-bases",
            content=json_of({"name": name, "embedding_model": embedding_model}),
            idempotency_key=idempotency_key or new_key(),
        )
        return await self._call(call, models.KnowledgeBaseView)

    async def get_knowledge_base(self, name: str | UUID) -> models.KnowledgeBaseView:
        """Read a knowledge base.

        name: The name of the knowledge base.
        """
        call = Call("GET", f"/knowledge-bases/{segment(name, 'name')}")
        return await self._call(call, models.KnowledgeBaseView)

    async def delete_knowledge_base(self, name: str | UUID) -> None:
        """Delete an ordinary knowledge base with its documents.

        name: The name of the knowledge base.
        """
        call = Call("DELETE", f"/knowledge-bases/{segment(name, 'name')}")
        await self._call_empty(call)

    async def add_documents(
        self, name: str | UUID, *, documents: Sequence[models.DocumentBody | Mapping[str, Any]]
    ) -> models.DocumentsAnswer:
        """Add documents and make them searchable. Returns one result per document, in order. A repeat changes
        nothing.

        name: The name of the knowledge base.
        documents: Documents to add or to replace. At most 200.
        """
        call = Call(
            "POST", f"/knowledge-bases/{segment(name, 'name')}/documents", content=json_of({"documents": documents})
        )
        return await self._call(call, models.DocumentsAnswer)

    async def rebuild_knowledge_base(
        self, name: str | UUID, *, idempotency_key: str | None = None
    ) -> models.KnowledgeBaseView:
        """Rebuild the collection from SQL: it replaces a lost collection and uses the current model.

        name: The name of the knowledge base.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer. Default: a new one for each call.
        """
        call = Call(
            "POST", f"/knowledge-bases/{segment(name, 'name')}/rebuild", idempotency_key=idempotency_key or new_key()
        )
        return await self._call(call, models.KnowledgeBaseView)

    async def search_knowledge_base(
        self,
        name: str | UUID,
        *,
        query: str,
        top_k: int | None = None,
        min_score: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> models.DocumentAnswer:
        """Search the chunks of a knowledge base, best first.

        name: The name of the knowledge base.
        query: What to look for. Of a longer one the last 8000 characters count.
        top_k: Maximum results. At most 100.
        min_score: Minimum score of a result, from 0 to 1.
        metadata: Keys that the metadata must have, with exactly these values.
        """
        call = Call(
            "POST",
            f"/knowledge-bases/{segment(name, 'name')}/search",
            content=json_of({"query": query, "top_k": top_k, "min_score": min_score, "metadata": metadata}),
        )
        return await self._call(call, models.DocumentAnswer)

    async def get_distillation(self, memory_base_id: str | UUID) -> models.DistillationView:
        """Read whether facts are distilled for a memory base, what waits and why, and what it used.

        memory_base_id: The UUID of the memory base.
        """
        call = Call("GET", f"/memories/{segment(memory_base_id, 'memory_base_id')}/distillation")
        return await self._call(call, models.DistillationView)

    async def set_distillation(
        self, memory_base_id: str | UUID, *, enabled: bool, start: Literal["now", "beginning"] | None = None
    ) -> models.DistillationView:
        """Turn distillation on or off. On: a language model, which the operator chose, reads what is ingested and
        derives facts. Off: nothing more is read; facts stay until they are deleted.

        memory_base_id: The UUID of the memory base.
        enabled: Whether facts are derived from what is ingested.
        start: `now`: from what is ingested from now on; `beginning`: from the whole history.
        """
        call = Call(
            "PUT",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/distillation",
            content=json_of({"enabled": enabled, "start": start}),
        )
        return await self._call(call, models.DistillationView)

    def list_facts(
        self,
        memory_base_id: str | UUID,
        *,
        state: Literal["current", "superseded", "all"] | None = None,
        session_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.FactView, models.Page[models.FactView]]:
        """List facts, newest first: those that hold, those that later ones correct, or all.

        memory_base_id: The UUID of the memory base.
        state: `current`: facts that hold; `superseded`: facts that a later one corrects; `all`.
        session_id: Only facts of this session.
        end_user_id: Only facts from this person's sessions.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/facts",
            params={
                "state": state,
                "session_id": session_id,
                "end_user_id": end_user_id,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
            },
        )
        return self._listing(call, models.Page[models.FactView])

    async def delete_facts(self, memory_base_id: str | UUID) -> models.FactsDeleted:
        """Delete every fact of a memory base. The messages stay.

        memory_base_id: The UUID of the memory base.
        """
        call = Call("DELETE", f"/memories/{segment(memory_base_id, 'memory_base_id')}/facts")
        return await self._call(call, models.FactsDeleted)

    async def search_facts(
        self,
        memory_base_id: str | UUID,
        *,
        query: str,
        top_k: int | None = None,
        session_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> models.FactsFound:
        """Find the facts that are about a question, best first, without those that later ones correct.

        memory_base_id: The UUID of the memory base.
        query: The question. Of a longer one the last 8000 characters count.
        top_k: Maximum facts.
        session_id: Only facts of this session.
        end_user_id: Only facts from this person's sessions.
        since: Only facts whose newest source was said from this time on.
        until: Only facts whose newest source was said up to this time.
        """
        call = Call(
            "POST",
            f"/memories/{segment(memory_base_id, 'memory_base_id')}/facts/search",
            content=json_of(
                {
                    "query": query,
                    "top_k": top_k,
                    "session_id": session_id,
                    "end_user_id": end_user_id,
                    "since": since,
                    "until": until,
                }
            ),
        )
        return await self._call(call, models.FactsFound)

    async def get_fact(self, memory_base_id: str | UUID, fact_id: str | UUID) -> models.FactView:
        """Read a fact. After a source was edited or deleted it is 404.

        memory_base_id: The UUID of the memory base.
        fact_id: The UUID of the fact.
        """
        call = Call("GET", f"/memories/{segment(memory_base_id, 'memory_base_id')}/facts/{segment(fact_id, 'fact_id')}")
        return await self._call(call, models.FactView)

    async def delete_fact(self, memory_base_id: str | UUID, fact_id: str | UUID) -> None:
        """Delete a fact and those that say the same. The messages stay.

        memory_base_id: The UUID of the memory base.
        fact_id: The UUID of the fact.
        """
        call = Call(
            "DELETE", f"/memories/{segment(memory_base_id, 'memory_base_id')}/facts/{segment(fact_id, 'fact_id')}"
        )
        await self._call_empty(call)

    def list_labels(
        self,
        *,
        right: bool | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        flow_id: str | UUID | None = None,
    ) -> AsyncListing[models.LabelView, models.Page[models.LabelView]]:
        """List the labels, newest first.

        right: Only right or only wrong ones.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        flow_id: A UUID, or the caller's id.
        """
        call = Call(
            "GET",
            "/labels",
            params={"right": right, "page": page, "size": size, "offset": offset, "cursor": cursor, "flow_id": flow_id},
        )
        return self._listing(call, models.Page[models.LabelView])

    async def mark_result(
        self,
        *,
        message_id: str | UUID,
        query: str,
        right: bool,
        flow_id: str | UUID | None = None,
        session_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> models.LabelView:
        """Mark a message as right or wrong for a question. A second label of the same question and message
        replaces the first.

        message_id: The message: a UUID or the caller's id.
        query: The question, as it was searched. Of a longer one the last 8000 characters count.
        right: Whether the message answers the question.
        flow_id: Its flow, if several flows have this message id.
        session_id: The question was asked of this session only; null: of all.
        end_user_id: The question was asked of this end user's sessions only; null: of all.
        settings: Settings of the search that found the message: any JSON object.
        """
        call = Call(
            "POST",
            "/labels",
            content=json_of(
                {
                    "message_id": message_id,
                    "query": query,
                    "right": right,
                    "flow_id": flow_id,
                    "session_id": session_id,
                    "end_user_id": end_user_id,
                    "settings": settings,
                }
            ),
        )
        return await self._call(call, models.LabelView)

    async def export_labels(
        self, *, memory_base_id: str | UUID | None = None, flow_id: str | UUID | None = None
    ) -> str:
        """Export the labels of a flow as questions, one JSON object on each line, as `memorybase evaluate` reads
        them: up to 50,000 labels, and of each question up to 100 right and 100 wrong messages.

        memory_base_id: The labels of its flow.
        flow_id: A UUID, or the caller's id.
        """
        call = Call("GET", "/labels/export", params={"memory_base_id": memory_base_id, "flow_id": flow_id})
        return await self._call_text(call)

    async def delete_label(self, label_id: str | UUID) -> None:
        """Remove a label.

        label_id: The UUID of the label.
        """
        call = Call("DELETE", f"/labels/{segment(label_id, 'label_id')}")
        await self._call_empty(call)

    async def get_memory_map(self, memory_base_id: str | UUID, *, question: str | None = None) -> models.MapView:
        """Read the map: up to 5,000 points, each with its message's id, session, speaker and time, but not its
        text. Deleted messages never show. A `question` is projected onto the map.

        memory_base_id: The UUID of the memory base.
        question: A question to project onto the map.
        """
        call = Call("GET", f"/memories/{segment(memory_base_id, 'memory_base_id')}/map", params={"question": question})
        return await self._call(call, models.MapView)

    async def request_memory_map(self, memory_base_id: str | UUID) -> models.MapView:
        """Request a map of the memory base's messages in two dimensions. A worker computes it; the last one stays
        until then. With less than 20 messages nothing is computed.

        memory_base_id: The UUID of the memory base.
        """
        call = Call("POST", f"/memories/{segment(memory_base_id, 'memory_base_id')}/map")
        return await self._call(call, models.MapView)

    async def scan_secrets(
        self, *, flow_id: str | UUID | None = None, redact: bool | None = None, cursor: str | None = None
    ) -> models.SecretScan:
        """Look through some stored rows for secrets, and redact them if asked. Repeat with `next_cursor` until it
        is null. Redacted text is gone for good; what a legal hold keeps stays as it is.

        flow_id: The flow: a UUID or the caller's id; by default all flows.
        redact: Redact what is found, for good; else nothing is changed.
        cursor: The `next_cursor` of the call before.
        """
        call = Call("POST", "/secrets/scan", content=json_of({"flow_id": flow_id, "redact": redact, "cursor": cursor}))
        return await self._call(call, models.SecretScan)

    def list_chat_memories(
        self,
        flow_id: str | UUID,
        *,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.ChatMemoryView, models.Page[models.ChatMemoryView]]:
        """List the chat memories of a flow, oldest first.

        flow_id: A UUID, or the id that the caller chose.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            f"/flows/{segment(flow_id, 'flow_id')}/chat-memories",
            params={"page": page, "size": size, "offset": offset, "cursor": cursor},
        )
        return self._listing(call, models.Page[models.ChatMemoryView])

    async def get_chat_memory(self, flow_id: str | UUID, node_id: str | UUID) -> models.ChatMemoryView:
        """Read a chat memory.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        """
        call = Call("GET", f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}")
        return await self._call(call, models.ChatMemoryView)

    async def put_chat_memory(
        self,
        flow_id: str | UUID,
        node_id: str | UUID,
        *,
        name: str,
        chat_id: str | UUID,
        user_message_content: str | None = None,
        limit_type: Literal["messages", "tokens"] | None = None,
        trim_strategy: Literal["drop_oldest", "drop_middle"] | None = None,
        clear_tool_results: bool | None = None,
        enable_summarization: bool | None = None,
        summarize_prompt: str | None = None,
        use_predefined_messages: bool | None = None,
        predefined_messages: Sequence[models.PredefinedMessageInput | Mapping[str, Any]] | None = None,
        trim_mode: Literal["continuous", "threshold"] | None = None,
        max_messages: int | None = None,
        threshold_trigger: int | None = None,
        threshold_target: int | None = None,
        max_images: int | None = None,
        max_tokens: int | None = None,
        min_messages: int | None = None,
        pin_predefined: bool | None = None,
        keep_first: int | None = None,
    ) -> models.ChatMemoryView:
        """Create the chat memory of a node (201) or change its configuration (200). Its chats are kept.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        name: The name, for people.
        chat_id: Template of the chat id, such as user-{{ start.user_id }}.
        user_message_content: Template of user messages.
        limit_type: What limits a view: a number of messages or of tokens.
        trim_strategy: What is dropped first: `drop_oldest`, or `drop_middle`, which keeps the first messages
        and the newest.
        clear_tool_results: Whether results of tools are emptied, except those of the current turn.
        enable_summarization: Whether a summary replaces what the limits leave out.
        summarize_prompt: The instruction for summaries.
        use_predefined_messages: Whether views begin with the predefined messages.
        predefined_messages: Messages shown before the history.
        trim_mode: For limit_type messages.
        max_messages: Messages that continuous trimming keeps.
        threshold_trigger: Trims at this many messages.
        threshold_target: Messages kept then; below the trigger.
        max_images: Maximum images that are sent, newest first; others are replaced by their name.
        max_tokens: Maximum tokens.
        min_messages: Newest messages kept beyond max_tokens.
        pin_predefined: Never trim predefined messages; they still count.
        keep_first: First messages kept by drop_middle; by default the predefined ones, at least 2.
        """
        call = Call(
            "PUT",
            f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}",
            content=json_of(
                {
                    "name": name,
                    "chat_id": chat_id,
                    "user_message_content": user_message_content,
                    "limit_type": limit_type,
                    "trim_strategy": trim_strategy,
                    "clear_tool_results": clear_tool_results,
                    "enable_summarization": enable_summarization,
                    "summarize_prompt": summarize_prompt,
                    "use_predefined_messages": use_predefined_messages,
                    "predefined_messages": predefined_messages,
                    "trim_mode": trim_mode,
                    "max_messages": max_messages,
                    "threshold_trigger": threshold_trigger,
                    "threshold_target": threshold_target,
                    "max_images": max_images,
                    "max_tokens": max_tokens,
                    "min_messages": min_messages,
                    "pin_predefined": pin_predefined,
                    "keep_first": keep_first,
                }
            ),
        )
        return await self._call(call, models.ChatMemoryView)

    async def delete_chat_memory(self, flow_id: str | UUID, node_id: str | UUID) -> None:
        """Delete a chat memory with all its chats.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        """
        call = Call("DELETE", f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}")
        await self._call_empty(call)

    def list_chats(
        self,
        flow_id: str | UUID,
        node_id: str | UUID,
        *,
        end_user_id: str | UUID | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.ChatView, models.Page[models.ChatView]]:
        """List chats, oldest first. `messages` and `tokens` count the whole log.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        end_user_id: The person that sessions or chats belong to; only what belongs to them.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}/chats",
            params={"end_user_id": end_user_id, "page": page, "size": size, "offset": offset, "cursor": cursor},
        )
        return self._listing(call, models.Page[models.ChatView])

    def list_chat_messages(
        self,
        flow_id: str | UUID,
        node_id: str | UUID,
        *,
        chat_id: str | UUID,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.ChatMessageView, models.ChatPage]:
        """List messages as they are stored, oldest first.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        chat_id: The chat's id, chosen by the caller.
        limit: Maximum messages to return.
        offset: Position of the first message; default: the latest messages.
        cursor: next_cursor of the previous page.
        """
        call = Call(
            "GET",
            f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}/messages",
            params={"chat_id": chat_id, "limit": limit, "offset": offset, "cursor": cursor},
        )
        return self._listing(call, models.ChatPage, size_name="limit")

    async def post_chat_messages(
        self,
        flow_id: str | UUID,
        node_id: str | UUID,
        *,
        messages: Sequence[
            models.OpenAIMessage
            | Mapping[str, Any]
            | models.LangflowMessage
            | models.LangChainMessage
            | models.LangChainDump
        ],
        idempotency_key: str | None = None,
        chat_id: str | UUID | None = None,
        variables: Mapping[str, Any] | None = None,
        run_id: str | UUID | None = None,
        end_user_id: str | UUID | None = None,
    ) -> models.Posted:
        """Append messages to a chat: 201, or 200 if all are stored already. A worker makes a summary if one is
        due.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        messages: Messages in order, in the formats of a capture: {role, content?, id?, files?, tool_calls?,
        tool_call_id?, name?}
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer.
        chat_id: The chat; without it, the memory's template makes the id from `variables`.
        variables: Values for the templates of the chat memory: nodes of the flow by name, with their fields.
        run_id: The run that writes the messages: a UUID or any string.
        end_user_id: The person that the chat belongs to.
        """
        call = Call(
            "POST",
            f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}/messages",
            content=json_of(
                with_message_ids(
                    {
                        "messages": messages,
                        "chat_id": chat_id,
                        "variables": variables,
                        "run_id": run_id,
                        "end_user_id": end_user_id,
                    }
                )
            ),
            idempotency_key=idempotency_key,
        )
        return await self._call(call, models.Posted)

    async def delete_chat_messages(
        self,
        flow_id: str | UUID,
        node_id: str | UUID,
        *,
        chat_id: str | UUID,
        mode: Literal["latest_request", "all"],
        roles: Sequence[Literal["user", "assistant"]],
        idempotency_key: str | None = None,
    ) -> models.Deleted:
        """Delete messages of these roles: those of the last request that wrote, or all. Both roles select every
        message.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        chat_id: The chat's id, chosen by the caller.
        mode: `latest_request`: what the latest run wrote; `all`: every message.
        roles: Delete messages of these roles; both of them select every message.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer. Default: a new one for each call.
        """
        call = Call(
            "DELETE",
            f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}/messages",
            params={"chat_id": chat_id, "mode": mode, "roles": roles},
            idempotency_key=idempotency_key or new_key(),
        )
        return await self._call(call, models.Deleted)

    async def view_chat(
        self,
        flow_id: str | UUID,
        node_id: str | UUID,
        *,
        chat_id: str | UUID | None = None,
        variables: Mapping[str, Any] | None = None,
        run_id: str | UUID | None = None,
        align: Literal["none", "user_first", "strict"] | None = None,
        format: Literal["openai", "langchain", "text"] | None = None,
        model: str | None = None,
    ) -> models.ViewAnswer:
        """Build the messages of a chat for a model. With `run_id` the memory use is recorded.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        chat_id: The chat; without it, the memory's template makes the id from `variables`.
        variables: Values for the templates of the chat memory: nodes of the flow by name, with their fields.
        run_id: The current run; its own messages are left out.
        align: Which messages to drop or to join, as the model's provider demands: `none`; `user_first`, nothing
        before the first question; `strict`, also no empty messages and no two neighbors of one role.
        format: Format of `messages`: `openai` or `langchain`; `text` if only `text` is read.
        model: The model that reads the messages; it decides the token counter and whether calls come with their
        reasoning.
        """
        call = Call(
            "POST",
            f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}/view",
            content=json_of(
                {
                    "chat_id": chat_id,
                    "variables": variables,
                    "run_id": run_id,
                    "align": align,
                    "format": format,
                    "model": model,
                }
            ),
        )
        return await self._call(call, models.ViewAnswer)

    async def trim_chat(
        self, flow_id: str | UUID, node_id: str | UUID, *, chat_id: str | UUID, max_messages: int | None = None
    ) -> models.Trimmed:
        """Trim a chat to its newest messages in every view. The log keeps all messages.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        chat_id: The chat's id, chosen by the caller.
        max_messages: Number of newest messages that views still show.
        """
        call = Call(
            "POST",
            f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}/trim",
            content=json_of({"chat_id": chat_id, "max_messages": max_messages}),
        )
        return await self._call(call, models.Trimmed)

    async def summarize_chat(
        self,
        flow_id: str | UUID,
        node_id: str | UUID,
        *,
        chat_id: str | UUID,
        idempotency_key: str | None = None,
        keep_last_n: int | None = None,
        summarize_prompt: str | None = None,
    ) -> models.Trimmed:
        """Replace all but the newest messages by a summary in every view. The log keeps all messages.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        chat_id: The chat's id, chosen by the caller.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer. Default: a new one for each call.
        keep_last_n: Number of newest messages to keep verbatim.
        summarize_prompt: The instruction for this summary; by default that of the chat memory.
        """
        call = Call(
            "POST",
            f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}/summarize",
            content=json_of({"chat_id": chat_id, "keep_last_n": keep_last_n, "summarize_prompt": summarize_prompt}),
            idempotency_key=idempotency_key or new_key(),
        )
        return await self._call(call, models.Trimmed)

    def export_chats(
        self, flow_id: str | UUID, node_id: str | UUID, *, chat_id: str | UUID | None = None
    ) -> AsyncStream[dict[str, Any]]:
        """Export a chat memory, its chats and messages as JSON lines. A complete export ends with an `end` line.

        flow_id: A UUID, or the id that the caller chose.
        node_id: The node of the flow, named by the caller.
        chat_id: Export only this chat.
        """
        call = Call(
            "GET",
            f"/flows/{segment(flow_id, 'flow_id')}/chat-memories/{segment(node_id, 'node_id')}/export",
            params={"chat_id": chat_id},
        )
        return self._lines(call)

    async def list_standing_statements(
        self,
        *,
        flow_id: str | UUID,
        end_user_id: str | UUID | None = None,
        session_id: str | UUID | None = None,
        every: bool | None = None,
    ) -> models.StandingView:
        """List what an end user asked for or prefers from then on, the latest first: at most 200 statements.

        flow_id: The flow: a UUID or the caller's id.
        end_user_id: The person that sessions or chats belong to; only what belongs to them.
        session_id: In place of end_user_id: the session's.
        every: Also replaced and deleted ones.
        """
        call = Call(
            "GET",
            "/standing-statements",
            params={"flow_id": flow_id, "end_user_id": end_user_id, "session_id": session_id, "every": every},
        )
        return await self._call(call, models.StandingView)

    async def edit_standing_statement(
        self, statement_id: str | UUID, *, text: str | None
    ) -> models.StandingStatementView:
        """Put a person's own words in the place of what was found. The message stays as it is.

        statement_id: The UUID of the standing statement.
        text: The words in the place of what was found; null: what was found again.
        """
        call = Call(
            "PATCH", f"/standing-statements/{segment(statement_id, 'statement_id')}", content=json_of({"text": text})
        )
        return await self._call(call, models.StandingStatementView)

    async def delete_standing_statement(self, statement_id: str | UUID) -> None:
        """Delete a statement. It is not found in its message again; the message stays.

        statement_id: The UUID of the standing statement.
        """
        call = Call("DELETE", f"/standing-statements/{segment(statement_id, 'statement_id')}")
        await self._call_empty(call)

    async def get_end_user_profile(
        self, end_user_id: str | UUID, *, flow_id: str | UUID, limit: int | None = None
    ) -> models.ProfileView:
        """Read what an end user said about themselves in a flow: what is pinned, wished, repeated or said of
        themselves.

        end_user_id: The person.
        flow_id: The flow: a UUID or the caller's id.
        limit: Maximum items to return. At most 200.
        """
        call = Call(
            "GET",
            f"/end-users/{segment(end_user_id, 'end_user_id')}/profile",
            params={"flow_id": flow_id, "limit": limit},
        )
        return await self._call(call, models.ProfileView)

    async def receive_traces(
        self, flow_id: str | UUID, *, resourceSpans: Sequence[models.ResourceSpans | Mapping[str, Any]] | None = None
    ) -> models.TracesAnswer:
        """Capture the conversations in OpenTelemetry spans of model calls, as JSON or protobuf. Each message is
        stored once, however many spans repeat it. Answers as OTLP says.

        flow_id: A UUID, or the id that the caller chose.
        resourceSpans: Spans, by the resource that they come from.
        """
        call = Call(
            "POST", f"/flows/{segment(flow_id, 'flow_id')}/traces", content=json_of({"resourceSpans": resourceSpans})
        )
        return await self._call(call, models.TracesAnswer)

    def list_webhooks(
        self, *, page: int | None = None, size: int | None = None, offset: int | None = None, cursor: str | None = None
    ) -> AsyncListing[models.WebhookView, models.Page[models.WebhookView]]:
        """List the webhooks, oldest first.

        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call("GET", "/webhooks", params={"page": page, "size": size, "offset": offset, "cursor": cursor})
        return self._listing(call, models.Page[models.WebhookView])

    async def create_webhook(
        self,
        *,
        url: str,
        event_types: Sequence[models.EventType],
        idempotency_key: str | None = None,
        description: str | None = None,
    ) -> models.WebhookWithSecret:
        """Create a webhook: events of these types are sent to the URL from now on. Only this response contains the
        secret.

        url: Where events are sent: http or https, without a user, a password and a fragment. It must lead to a
        public address, unless the settings allow others.
        event_types: The types of the events to send.
        idempotency_key: A random string, new for each request and the same in its repetitions, which get the
        first answer. Default: a new one for each call.
        description: A note for people.
        """
        call = Call(
            "POST",
            "/webhooks",
            content=json_of({"url": url, "event_types": event_types, "description": description}),
            idempotency_key=idempotency_key or new_key(),
        )
        return await self._call(call, models.WebhookWithSecret)

    async def get_webhook(self, webhook_id: str | UUID) -> models.WebhookView:
        """Get a webhook.

        webhook_id: The UUID of the webhook.
        """
        call = Call("GET", f"/webhooks/{segment(webhook_id, 'webhook_id')}")
        return await self._call(call, models.WebhookView)

    async def update_webhook(
        self,
        webhook_id: str | UUID,
        *,
        url: str | None = None,
        event_types: Sequence[models.EventType] | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> models.WebhookView:
        """Change a webhook. While it is disabled, no event is recorded for it and its pending deliveries wait.

        webhook_id: The UUID of the webhook.
        url: Where events are sent: http or https, without a user, a password and a fragment. It must lead to a
        public address, unless the settings allow others.
        event_types: The types of the events to send.
        description: A note for people.
        enabled: Whether events are recorded and sent.
        """
        call = Call(
            "PATCH",
            f"/webhooks/{segment(webhook_id, 'webhook_id')}",
            content=json_of({"url": url, "event_types": event_types, "description": description, "enabled": enabled}),
        )
        return await self._call(call, models.WebhookView)

    async def delete_webhook(self, webhook_id: str | UUID) -> None:
        """Delete a webhook with its deliveries.

        webhook_id: The UUID of the webhook.
        """
        call = Call("DELETE", f"/webhooks/{segment(webhook_id, 'webhook_id')}")
        await self._call_empty(call)

    async def rotate_webhook_secret(
        self, webhook_id: str | UUID, *, overlap_hours: int | None = None
    ) -> models.WebhookWithSecret:
        """Replace the secret. Requests are signed with both until the overlap ends. Only this response contains
        the new one.

        webhook_id: The UUID of the webhook.
        overlap_hours: How long requests are signed with the former secret too; 0: not at all.
        """
        call = Call(
            "POST",
            f"/webhooks/{segment(webhook_id, 'webhook_id')}/secret",
            content=json_of({"overlap_hours": overlap_hours}, is_optional=True),
        )
        return await self._call(call, models.WebhookWithSecret)

    async def send_test_event(self, webhook_id: str | UUID, *, wait: int | None = None) -> models.DeliveryView:
        """Send an event `webhook.test` to a webhook, in one attempt. Its failure does not disable the webhook. 409
        `webhook_disabled` while it is disabled.

        webhook_id: The UUID of the webhook.
        wait: Seconds to wait until the receiver has answered.
        """
        call = Call(
            "POST", f"/webhooks/{segment(webhook_id, 'webhook_id')}/test", params={"wait": wait}, wait_seconds=wait or 0
        )
        return await self._call(call, models.DeliveryView)

    def list_deliveries(
        self,
        webhook_id: str | UUID,
        *,
        state: models.DeliveryState | None = None,
        event_type: models.EventType | None = None,
        page: int | None = None,
        size: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> AsyncListing[models.DeliveryView, models.Page[models.DeliveryView]]:
        """List the deliveries of a webhook, newest first.

        webhook_id: The UUID of the webhook.
        state: Only deliveries in this state.
        event_type: Only deliveries of events of this type.
        page: Number of the page, from 1. Not together with `cursor`.
        size: Maximum items of a page.
        offset: Added to the position where the page starts.
        cursor: next_cursor of the previous page; stable under changes.
        """
        call = Call(
            "GET",
            f"/webhooks/{segment(webhook_id, 'webhook_id')}/deliveries",
            params={
                "state": state,
                "event_type": event_type,
                "page": page,
                "size": size,
                "offset": offset,
                "cursor": cursor,
            },
        )
        return self._listing(call, models.Page[models.DeliveryView])

    async def get_delivery(self, webhook_id: str | UUID, delivery_id: str | UUID) -> models.DeliveryView:
        """Get a delivery.

        webhook_id: The UUID of the webhook.
        delivery_id: The UUID of the delivery.
        """
        call = Call(
            "GET", f"/webhooks/{segment(webhook_id, 'webhook_id')}/deliveries/{segment(delivery_id, 'delivery_id')}"
        )
        return await self._call(call, models.DeliveryView)

    async def discard_delivery(self, webhook_id: str | UUID, delivery_id: str | UUID) -> None:
        """Discard a dead delivery: it is deleted and cannot be sent again. 409 if it is pending or delivered.

        webhook_id: The UUID of the webhook.
        delivery_id: The UUID of the delivery.
        """
        call = Call(
            "DELETE", f"/webhooks/{segment(webhook_id, 'webhook_id')}/deliveries/{segment(delivery_id, 'delivery_id')}"
        )
        await self._call_empty(call)

    async def replay_delivery(self, webhook_id: str | UUID, delivery_id: str | UUID) -> models.DeliveryView:
        """Send a delivery again, with all its attempts.

        webhook_id: The UUID of the webhook.
        delivery_id: The UUID of the delivery.
        """
        call = Call(
            "POST",
            f"/webhooks/{segment(webhook_id, 'webhook_id')}/deliveries/{segment(delivery_id, 'delivery_id')}/replay",
        )
        return await self._call(call, models.DeliveryView)

    async def replay_dead_deliveries(self, webhook_id: str | UUID, *, since: datetime | str) -> models.Replayed:
        """Send the dead deliveries of events since then again, oldest first. Repeat the call while `remaining` is
        true.

        webhook_id: The UUID of the webhook.
        since: Dead deliveries of events since this time are sent again. Without a time zone: UTC.
        """
        call = Call("POST", f"/webhooks/{segment(webhook_id, 'webhook_id')}/replay", content=json_of({"since": since}))
        return await self._call(call, models.Replayed)

    async def discard_dead_deliveries(
        self, webhook_id: str | UUID, *, until: datetime | str | None = None
    ) -> models.Discarded:
        """Discard the deliveries that were dead by then, oldest first; without `until`, all dead ones. Repeat the
        call while `remaining` is true.

        webhook_id: The UUID of the webhook.
        until: Deliveries that were dead by this time are deleted; by default all dead ones. Without a time
        zone: UTC.
        """
        call = Call(
            "POST",
            f"/webhooks/{segment(webhook_id, 'webhook_id')}/discard",
            content=json_of({"until": until}, is_optional=True),
        )
        return await self._call(call, models.Discarded)

"""The client: the calls of the API, and methods that combine several."""

from __future__ import annotations

import math
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import UUID

import httpx

from memorybase_client import errors
from memorybase_client._async.operations import AsyncOperations
from memorybase_client._async.transport import TIMEOUT_SECONDS, TRIES
from memorybase_client._async.waiting import in_thread
from memorybase_client._calls import Call
from memorybase_client._ids import with_run_id

if TYPE_CHECKING:
    from memorybase_client import models
    from memorybase_client._outbox_store import Store
    from memorybase_client.outbox import Outbox, Send

LONGEST_WAIT_SECONDS = 60  # of one call
REFLUSH_SECONDS = 0.1


class AsyncClient(AsyncOperations):
    """Calls a memorybase server with one key. Safe to share, and meant to be kept open: it reuses connections.

    `url` and `key` default to MEMORYBASE_URL and MEMORYBASE_API_KEY of the environment, else to the stack that
    `memorybase up` runs on this machine for this user. A call that fails for the moment is tried up to `tries` times.
    Methods raise the errors of memorybase_client.errors. `outbox`, for capture(), is a directory or an Outbox.
    `transport` is httpx's, for calls without a network; the outbox uses it if it is one for sync clients.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        outbox: Outbox | str | Path | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        tries: int = TRIES,
        verify: ssl.SSLContext | bool = True,
        proxy: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(
            url, key, timeout_seconds=timeout_seconds, tries=tries, verify=verify, proxy=proxy, transport=transport
        )
        self.outbox = None if outbox is None else self._bound(outbox, transport)

    def _bound(self, outbox: Outbox | str | Path, transport: object) -> Outbox:
        # Most clients have no outbox, and need no SQLite.
        from memorybase_client.outbox import Outbox

        # No cycle: a client that is dropped without a close goes at once.
        url, key, connecting = self.url, self._key, self._connecting
        shared = transport if isinstance(transport, httpx.BaseTransport) else None

        def make_send(answered: Callable[[], None], store: Store, target: str) -> Send:
            from memorybase_client._delivery import Sender

            return Sender(url, key, answered=answered, store=store, target=target, transport=shared, **connecting)

        bound = outbox if isinstance(outbox, Outbox) else Outbox(outbox)
        bound.bind(self.url, self._key, make_send)
        return bound

    def without_retries(self, timeout_seconds: float) -> Self:
        """The same connection and outbox, for calls of this timeout that are tried once. Close only one of the two."""
        same = copy(self)
        vars(same).update(_timeout_seconds=timeout_seconds, _tries=1)
        return same

    async def aclose(self) -> None:
        """Send the outbox's entries, for two seconds at most, and close the connections."""
        if self.outbox is not None:
            await in_thread(self.outbox.close)
        await super().aclose()

    async def capture(
        self,
        flow_id: str | UUID,
        *,
        session_id: str,
        messages: Sequence[Mapping[str, Any]],
        run_id: str | UUID | None = None,
        end_user_id: str | None = None,
        on_conflict: Literal["error", "keep", "update"] | None = None,
        node_executions: Sequence[Mapping[str, Any]] | None = None,
    ) -> str:
        """Put a run into the outbox, which sends it in the background, and return the run's id.

        Does not raise because of memorybase or the disk: the outbox counts what is `lost` and keeps what was
        `refused()`. The flow is created if it does not exist. Raises ValueError if the client has no outbox.
        """
        if self.outbox is None:
            raise ValueError("capture() needs an outbox: Client(outbox=directory). capture_run() sends at once")
        run = with_run_id(
            {
                "session_id": session_id,
                "messages": messages,
                "run_id": None if run_id is None else str(run_id),
                "end_user_id": end_user_id,
                "on_conflict": on_conflict,
                "node_executions": node_executions,
            }
        )
        outbox = self.outbox
        await in_thread(lambda: outbox.put(str(flow_id), run))
        return str(run["run_id"])

    async def record_memory(
        self,
        flow_id: str | UUID,
        *,
        run_id: str | UUID,
        node_id: str,
        session_id: str,
        query: str | None = None,
        messages: Sequence[Mapping[str, Any]] = (),
        sources: Sequence[Mapping[str, Any]] = (),
        end_user_id: str | None = None,
    ) -> None:
        """Put into the outbox the memory that a node's model was given in a run; put_run_memory() sends it at once.
        Raises as capture() does."""
        await self.later(
            flow_id,
            lambda calls: calls.put_run_memory(
                flow_id,
                run_id,
                node_id,
                session_id=session_id,
                end_user_id=end_user_id,
                query=query,
                messages=messages,
                sources=sources,
            ),
        )

    async def later(self, flow_id: str | UUID, write: Callable[[AsyncOperations], Awaitable[object]]) -> None:
        """Put a call of the flow into the outbox: later("f", lambda calls: calls.put_node_execution(...)). It must be
        safe to repeat. Raises as capture() does."""
        if self.outbox is None:
            raise ValueError("later() needs an outbox: Client(outbox=directory). Without one, make the call at once")
        outbox, recorder = self.outbox, _Recorder()
        try:
            await write(recorder)
        except (TypeError, ValueError, RecursionError) as error:
            outbox.lose(error)
            return
        for call, answer in recorder.calls:
            await in_thread(partial(outbox.put_call, str(flow_id), call, answer))

    async def wait_until_searchable(
        self, memory_base_id: str | UUID, *, session_id: str | None = None, timeout_seconds: float = 120.0
    ) -> models.MemoryBaseView:
        """Ingest all pending messages, of one session or of all, and wait until every job has ended.

        Searches find pending messages too, unless `include_pending` is false. Raises NotSearchable when the time is
        over.
        """
        deadline = time.monotonic() + timeout_seconds
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise await self._not_searchable(memory_base_id, timeout_seconds)
            wait = min(math.ceil(left), LONGEST_WAIT_SECONDS)
            if await self._flush_and_wait(memory_base_id, session_id, wait):
                return await self.get_memory_base(memory_base_id)

    async def _flush_and_wait(self, memory_base_id: str | UUID, session_id: str | None, wait: int) -> bool:
        """Whether nothing was pending and no job active."""
        try:
            result = await self.flush_memory_base(memory_base_id, session_id=session_id, wait=wait)
        except errors.IngestionActive as error:  # its jobs may not cover the latest messages
            active = [str(each["job_id"]) for each in error.details.get("conflicts", [])]
        else:
            if result.jobs:
                return False
            # The repair of an edited message is no conflict of a flush.
            active = await self._active_jobs(memory_base_id, session_id)
        if active:
            await self._wait_for_job(active[-1], wait)  # of many jobs: a flush after each would slow them
        return not active

    async def _active_jobs(self, memory_base_id: str | UUID, session_id: str | None) -> list[str]:
        found: list[str] = []
        for state in ("running", "queued"):
            page = await self.list_jobs(memory_base_id, state=state, session_id=session_id, size=1).page()
            found += [str(job.id) for job in page.items]
        return found

    async def _wait_for_job(self, job_id: str, wait: int) -> None:
        try:
            await self.get_job(job_id, wait=wait)
        except errors.NotFound:  # deleted with its memory base, which the next flush says
            return

    async def _not_searchable(self, memory_base_id: str | UUID, timeout_seconds: float) -> errors.NotSearchable:
        memory_base = await self.get_memory_base(memory_base_id)
        text = (
            f"{memory_base.pending_messages} messages are pending, and the jobs had not ended after "
            f"{timeout_seconds:g} s (status {memory_base.status}). On the server, run `memorybase doctor` for fixes."
        )
        return errors.NotSearchable(text, retryable=True, details={"pending_messages": memory_base.pending_messages})


class _Recorder(AsyncOperations):
    """Makes calls and sends none."""

    def __init__(self) -> None:
        self.calls: list[tuple[Call, str]] = []

    async def _call(self, call: Call, answer_type: type[Any]) -> Any:
        self.calls.append((call, answer_type.__name__))

"""The client: the calls, and what takes several."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING
from uuid import UUID

from memorybase_client import errors
from memorybase_client._sync.operations import Operations

if TYPE_CHECKING:
    from memorybase_client import models

LONGEST_WAIT_SECONDS = 60  # of one call
REFLUSH_SECONDS = 0.1


class Client(Operations):
    """Calls a memorybase server with one key. Safe to share, and meant to be kept open: it reuses connections.

    `url` and `key` default to the environment's MEMORYBASE_URL and MEMORYBASE_API_KEY. A call that fails for the moment
    is tried up to `tries` times. Methods raise the errors of memorybase_client.errors.
    """

    def wait_until_searchable(
        self, memory_base_id: str | UUID, *, session_id: str | None = None, timeout_seconds: float = 120.0
    ) -> models.MemoryBaseView:
        """Ingest all pending messages, of one session or of all, and wait until every job has ended.

        Searches find pending messages too, but only by their words unless `include_pending` is false. Raises
        NotSearchable when the time is over.
        """
        deadline = time.monotonic() + timeout_seconds
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._not_searchable(memory_base_id, timeout_seconds)
            wait = min(math.ceil(left), LONGEST_WAIT_SECONDS)
            if self._flush_and_wait(memory_base_id, session_id, wait):
                return self.get_memory_base(memory_base_id)

    def _flush_and_wait(self, memory_base_id: str | UUID, session_id: str | None, wait: int) -> bool:
        """Whether nothing was pending and no job active."""
        try:
            result = self.flush_memory_base(memory_base_id, session_id=session_id, wait=wait)
        except errors.IngestionActive as error:  # its jobs may not cover the latest messages
            active = [str(each["job_id"]) for each in error.details.get("conflicts", [])]
        else:
            if result.jobs:
                return False
            # A job that covers all that is pending is no conflict.
            active = self._active_jobs(memory_base_id, session_id)
        if active:
            self._wait_for_job(active[0], wait)
        return not active

    def _active_jobs(self, memory_base_id: str | UUID, session_id: str | None) -> list[str]:
        found: list[str] = []
        for state in ("running", "queued"):
            page = self.list_jobs(memory_base_id, state=state, session_id=session_id, size=1).page()
            found += [str(job.id) for job in page.items]
        return found

    def _wait_for_job(self, job_id: str, wait: int) -> None:
        try:
            self.get_job(job_id, wait=wait)
        except errors.NotFound:  # deleted with its memory base, which the next flush says
            return

    def _not_searchable(self, memory_base_id: str | UUID, timeout_seconds: float) -> errors.NotSearchable:
        memory_base = self.get_memory_base(memory_base_id)
        text = (
            f"{memory_base.pending_messages} messages were still pending after {timeout_seconds:g} s "
            f"(status {memory_base.status}). On the server, run `memorybase doctor` for fixes."
        )
        return errors.NotSearchable(text, retryable=True, details={"pending_messages": memory_base.pending_messages})

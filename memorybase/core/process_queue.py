"""Notifications within one process: its worker thread waits for them, and nothing polls."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from memorybase.core.services import INGEST, JobMessage, Task

Message = dict[str, Any]


class ProcessQueue:
    """An IngestionQueue whose notifications `take` returns, in order. One that waits already is not added again.

    In a command nobody takes them: the sweeper of the running process notifies its worker.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[tuple[str, str], Message] = {}
        self._is_stopped = False

    def enqueue(self, jobs: Sequence[JobMessage]) -> int:
        return self._add((INGEST.name, str(job.job_id), job.to_message()) for job in jobs)

    def notify(self, task: Task, ids: Sequence[UUID] = ()) -> int:
        if not task.argument:
            return self._add([(task.name, "", {})])
        return self._add((task.name, str(id_), {task.argument: str(id_)}) for id_ in ids)

    def backlog(self) -> int:
        return len(self._waiting)

    def take(self) -> tuple[str, Message] | None:
        """Wait for a notification: the task's name and its message. None once the queue is stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped or self._waiting)
            if self._is_stopped:
                return None
            key = next(iter(self._waiting))
            return key[0], self._waiting.pop(key)

    def stop(self) -> None:
        """Let `take` return None. What waits is in SQL too."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _add(self, messages: Iterable[tuple[str, str, Message]]) -> int:
        added = 0
        with self._changed:
            for name, id_, message in messages:
                self._waiting.setdefault((name, id_), message)
                added += 1
            self._changed.notify()
        return added

"""The worker as a thread of the process that serves the API."""

from __future__ import annotations

import threading
from collections.abc import Callable

from memorybase.core import telemetry
from memorybase.core.process_queue import ProcessQueue
from memorybase.core.services import Services
from worker import process, work

log = telemetry.get_logger(__name__)


class WorkerThread:
    """Takes notifications until `stop`. `stop_process`: what to do if somebody asks this worker to stop."""

    def __init__(self, services: Services, queue: ProcessQueue, stop_process: Callable[[], object]) -> None:
        self._services, self._queue, self._stop_process = services, queue, stop_process
        self._process: process.WorkerProcess | None = None
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let the running job end and take no other. One that takes too long is requeued, and the process ends."""
        self._queue.stop()
        running = self._process
        if running is None:  # it loads the model, and has claimed nothing
            return
        running.watchdog.drain()
        running.heartbeat.draining()
        self._thread.join()
        running.heartbeat.stop()
        running.stop_threads()

    def _run(self) -> None:
        running = self._process = process.start(self._services, stop=self._stop_process)
        tasks = work.table(self._services.hooks)
        running.heartbeat.confirm()
        while (taken := self._queue.take()) is not None:
            name, message = taken
            try:
                tasks[name](running, message)
            except Exception:  # a thread's edge: the job row is queued, and the sweeper notifies again
                log.exception("task_failed", task=name)

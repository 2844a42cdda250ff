"""The worker as a thread of the process that serves the API."""

from __future__ import annotations

import threading
from collections.abc import Callable

from memorybase.core import telemetry
from memorybase.core.process_queue import ProcessQueue
from memorybase.core.services import Services
from worker import process, work

STOP_SECONDS = process.DRAIN_SECONDS + process.REQUEUE_SECONDS + 2.0

log = telemetry.get_logger(__name__)


class WorkerThread:
    """Takes notifications until `stop`.

    `stop_process`: what to do if somebody asks this worker to stop. `failed` is called with the reason if it ends by
    itself. In a program of others (`is_guest`) that is all that a job that hangs does; elsewhere it ends the process.
    """

    def __init__(
        self,
        services: Services,
        queue: ProcessQueue,
        *,
        stop_process: Callable[[], object],
        failed: Callable[[str], object],
        is_guest: bool = False,
    ) -> None:
        self._services, self._queue, self._stop_process = services, queue, stop_process
        self._failed, self._is_guest = failed, is_guest
        self._is_stopping = False
        self._process: process.WorkerProcess | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)
        self._thread.start()

    def stop(self) -> bool:
        """Let the running job end and take no other. One that takes too long is requeued, and the process ends, or in a
        program the thread is left behind. Returns whether it has ended."""
        self._is_stopping = True
        self._queue.stop()
        if (running := self._process) is not None:
            running.watchdog.drain()
            running.heartbeat.draining()
        elif not self._is_guest:  # it loads the model, and has claimed nothing
            return False
        return self._ended.wait(STOP_SECONDS if self._is_guest else None)

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # a thread's edge: whoever has started it must know
            log.exception("worker_failed")
            self._failed(f"the worker ended: {telemetry.describe_error(error)}")
        finally:
            self._ended.set()

    def _work(self) -> None:
        running = self._process = process.start(
            self._services,
            stop=self._stop_process,
            abandon=self._failed if self._is_guest else None,
            is_stopped=lambda: self._is_stopping,
        )
        try:
            tasks = work.table(self._services.hooks)
            if not self._is_stopping:
                running.heartbeat.confirm()
            while (taken := self._queue.take()) is not None:
                name, message = taken
                try:
                    tasks[name](running, message)
                except Exception:  # a task's edge: the job row is queued, and the sweeper notifies again
                    log.exception("task_failed", task=name)
        finally:
            running.watchdog.stop()
            running.heartbeat.stop()
            running.stop_threads()

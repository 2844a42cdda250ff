"""A thread that distils while the worker ingests, so that ingestion does not wait for the model.

One thread in each worker is the bound on requests at once. After failures in a row it pauses, each time for twice as
long, whatever is pending; and at once if the endpoint asks for a pause.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from memorybase.core import deadlines, telemetry
from memorybase.core.circuit import Circuit
from memorybase.core.conversation.summarizers.chat_completions import ChatEndpoint
from memorybase.core.services import Services
from memorybase.features.facts.ask import endpoint_of
from memorybase.features.facts.job import Outcome, distil_next

FAILURES = 3  # in a row, until the thread pauses
LONGEST_PAUSE_SECONDS = 600.0

log = telemetry.get_logger(__name__)


class DistillerThread:
    """Distils until nothing is pending, whenever it is woken. It ends with its process: SQL holds the work."""

    def __init__(
        self,
        services: Services,
        endpoint: ChatEndpoint | None = None,
        *,
        distil: Callable[[Services, ChatEndpoint], Outcome] = distil_next,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._services = services
        self._endpoint = endpoint or endpoint_of(services.settings)
        self._distil = distil
        self._circuit = Circuit(deadlines.BACKOFF_SECONDS, failures=FAILURES, longest_seconds=LONGEST_PAUSE_SECONDS)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._pause = pause or self._stopping.wait
        self._thread = threading.Thread(target=self._run, name="distiller", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something may be pending. Returns at once."""
        self._wake.set()

    def stop(self) -> None:
        """Take no further page. A request that is running is not waited for: another worker repeats it."""
        self._stopping.set()
        self._wake.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait()
            self._wake.clear()
            while not self._stopping.is_set() and self._step():
                pass

    def _step(self) -> bool:
        """Distil one page. Returns whether to continue at once."""
        try:
            outcome = self._distil(self._services, self._endpoint)
            failed = outcome is Outcome.UNAVAILABLE
        except Exception as error:  # noqa: BLE001 - a thread's edge: the sweeper wakes it again
            log.warning("distillation_failed", error=telemetry.describe_error(error))
            outcome, failed = None, True
        seconds = self._endpoint.seconds_to_wait()
        if failed:
            seconds = max(seconds, self._circuit.failed())
        else:
            self._circuit.succeeded()
        if seconds:
            log.warning("distiller_paused", seconds=round(seconds, 3))
            self._pause(seconds)
        return outcome not in (None, Outcome.NOTHING_PENDING)

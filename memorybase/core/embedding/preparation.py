"""Prepares a model before it is loaded: the download and the export, in a background thread.

A request waits a few seconds for it and is then told to come back. The export's own file lock makes it once for a model
folder: the threads of other processes wait for the same result.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from memorybase.core import telemetry
from memorybase.core.embedding.model_cache import FAILURE_SECONDS
from memorybase.core.errors import ModelPreparing, ModelUnavailable

WAIT_SECONDS = 5.0  # of a request; clients wait for 30 s
# Callers try a failed preparation again after FAILURE_SECONDS. A load balancer that follows readiness sends none, so
# readiness does the same, less often because it is asked all the time.
RETRY_SECONDS = 60.0
PREPARING = "preparing the embedding model"

log = telemetry.get_logger(__name__)


@dataclass(slots=True)
class _Attempt:
    began: float
    ended_at: float = 0.0
    failure: str = ""
    ended: threading.Event = field(default_factory=threading.Event)


class Preparation:
    """The preparation of one model, for any number of threads."""

    def __init__(
        self, model: str, prepare: Callable[[], object], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model = model
        self._prepare = prepare
        self._clock = clock
        self._guard = threading.Lock()
        self._attempt: _Attempt | None = None

    def start(self, *, retry_after: float = FAILURE_SECONDS) -> _Attempt:
        """Start it in a thread, unless it runs, is done, or failed less than `retry_after` seconds ago."""
        with self._guard:
            attempt = self._attempt
            if attempt is None or (attempt.failure and self._clock() - attempt.ended_at >= retry_after):
                attempt = self._attempt = _Attempt(self._clock())
                # A daemon, so that a process can end meanwhile.
                threading.Thread(target=self._run, args=(attempt,), name="model-preparation", daemon=True).start()
            return attempt

    def wait(self, seconds: float) -> None:
        """Start it if necessary and wait. Raises ModelPreparing if it takes longer, ModelUnavailable if it failed."""
        attempt = self.start()
        if not attempt.ended.wait(seconds):
            raise ModelPreparing(
                f"The embedding model is being prepared ({self._seconds(attempt):.0f} s). Try again.", model=self._model
            )
        if attempt.failure:
            raise ModelUnavailable(attempt.failure, model=self._model)

    def problem(self) -> str | None:
        """Why the model cannot be loaded yet; None if it can, or if nobody has started the preparation."""
        if self._attempt is None:
            return None
        attempt = self.start(retry_after=RETRY_SECONDS)
        if not attempt.ended.is_set():
            return f"{PREPARING} ({self._seconds(attempt):.0f} s)"
        return f"the embedding model cannot be prepared: {attempt.failure}" if attempt.failure else None

    def _seconds(self, attempt: _Attempt) -> float:
        return self._clock() - attempt.began

    def _run(self, attempt: _Attempt) -> None:
        failure = ""
        try:
            self._prepare()
        except ModelUnavailable as error:
            failure = error.message
            log.warning("model_not_prepared", model=self._model, reason=failure)
        except Exception as error:  # a thread's edge: without a reason its callers would wait for ever
            failure = f"{self._model} cannot be prepared ({type(error).__name__}). The log has the details."
            log.exception("model_not_prepared", model=self._model)
        attempt.ended_at = self._clock()
        attempt.failure = failure
        attempt.ended.set()

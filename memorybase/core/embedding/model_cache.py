"""Loads each model once per process, on first use."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Generic, TypeVar

from memorybase.core.errors import ModelUnavailable

# Loading fails slowly (an export takes seconds), so callers within this time get the same error without a new attempt.
FAILURE_SECONDS = 10.0

Model = TypeVar("Model")


class ModelCache(Generic[Model]):
    """Models by name, for any number of threads; one thread loads each."""

    def __init__(self, load: Callable[[str], Model]) -> None:
        self._load = load
        self._loaded: dict[str, Model] = {}
        self._failed: dict[str, tuple[float, str]] = {}
        self._guard = threading.Lock()
        self._loading: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def __contains__(self, name: str) -> bool:
        return name in self._loaded

    def get(self, name: str) -> Model:
        """The model of this name; raises ModelUnavailable."""
        if name in self._loaded:
            return self._loaded[name]
        with self._guard:
            loading = self._loading[name]
        with loading:
            if name not in self._loaded:
                self._loaded[name] = self._try(name)
            return self._loaded[name]

    def _try(self, name: str) -> Model:
        at, message = self._failed.get(name, (0.0, ""))
        if message and time.monotonic() - at < FAILURE_SECONDS:
            raise ModelUnavailable(message, model=name)
        try:
            return self._load(name)
        except ModelUnavailable as error:
            self._failed[name] = (time.monotonic(), error.message)
            raise

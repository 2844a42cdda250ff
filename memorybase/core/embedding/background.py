"""A model at low priority, so that captures and searches get the processor first; free on an idle machine."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding.protocol import Embedder, QueryTokens

NICENESS = 10


class BackgroundEmbedder:
    """Loads and runs a model in a thread of low priority, which the runtime's own threads inherit.

    The rest of the process keeps its priority: a database writer that waits for the processor blocks everyone else who
    waits for the database.
    """

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedder", initializer=_lower_priority)
        self._embedder = found = self._thread.submit(load).result()
        self.model, self.identity = found.model, found.identity
        self.dimension, self.max_tokens = found.dimension, found.max_tokens

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._thread.submit(self._embedder.embed, texts).result()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._thread.submit(self._embedder.embed_query, text).result()

    @property
    def token_encoding(self) -> str | None:
        return self._embedder.token_encoding

    def embed_with_tokens(
        self, texts: Sequence[str], tokens_of: Collection[int]
    ) -> tuple[NDArray[np.float32], dict[int, bytes]]:
        return self._thread.submit(self._embedder.embed_with_tokens, texts, tokens_of).result()

    def embed_query_with_tokens(self, text: str, query: str) -> tuple[NDArray[np.float32], QueryTokens]:
        return self._thread.submit(self._embedder.embed_query_with_tokens, text, query).result()

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return self._embedder.token_offsets(text)


def niceness() -> int:
    """The calling thread's priority."""
    if sys.platform != "linux":
        return 0
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def _lower_priority() -> None:
    if sys.platform != "linux":  # only there is a priority that of a thread
        return
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)

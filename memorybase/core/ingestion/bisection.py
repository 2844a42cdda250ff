"""Find the messages that make a step fail, and tell their faults from those of the model and the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memorybase.core import errors
from memorybase.core.embedding import Embedder
from memorybase.core.vectors.store import CollectionRef, VectorRecord, VectorStore

PROBE_TEXT = "The quick brown fox jumps over the lazy dog."

Item = TypeVar("Item")


def faulty(
    items: Sequence[Item], step: Callable[[Sequence[Item]], None], confirm_fault: Callable[[Exception, Item], object]
) -> Iterator[tuple[Item, Exception]]:
    """Run `step` on all items; if it fails, on halves of them. Yields each item that fails alone, with its error.

    `confirm_fault` raises if the model or the store has failed.
    """
    if not items:
        return
    try:
        step(items)
    except errors.EmbeddingFailed as error:
        culprit: Exception = error
    except errors.EnvironmentFailure:
        raise
    except Exception as error:  # noqa: BLE001 - one message must not block the messages behind it
        culprit = error
    else:
        return
    confirm_fault(culprit, items[0])
    if len(items) == 1:
        yield items[0], culprit
        return
    middle = len(items) // 2
    yield from faulty(items[:middle], step, confirm_fault)
    yield from faulty(items[middle:], step, confirm_fault)


def probe_model(embedder: Embedder) -> NDArray[np.float32]:
    """The vector of a harmless text. Raises if the model fails on every text."""
    vector: NDArray[np.float32] = embedder.embed([PROBE_TEXT])[0]
    return vector


def probe_store(vectors: VectorStore, collection: CollectionRef, record: VectorRecord) -> None:
    """Write a harmless record and delete it again. Raises VectorStoreUnavailable if the store refuses it too."""
    try:
        vectors.upsert(collection, [record])
    except errors.VectorRejected as refusal:
        raise errors.VectorStoreUnavailable("The vector store refuses every record") from refusal
    vectors.delete(collection, [record.id])

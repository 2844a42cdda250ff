"""The one check that a loaded model's vectors compare with those in a store.

The backend may differ, since its vectors agree within a stated tolerance; model and revision may not. The passage
prompt matters only for writes: a query has none, so a store with another one can be searched but not written.
"""

from __future__ import annotations

from memorybase.embedding.prompts import without_passage_prompt
from memorybase.embedding.protocol import Embedder
from memorybase.errors import ModelUnavailable


def check_searchable(embedder: Embedder, built_with: str, *, remedy: str) -> None:
    """Raises ModelUnavailable with the remedy if query vectors do not compare with the store's."""
    if _without_backend(without_passage_prompt(embedder.identity)) != _without_backend(
        without_passage_prompt(built_with)
    ):
        raise _mismatch(embedder, built_with, remedy)


def check_writable(embedder: Embedder, built_with: str, *, remedy: str) -> None:
    """Raises ModelUnavailable with the remedy if passage vectors do not compare with the store's."""
    if _without_backend(embedder.identity) != _without_backend(built_with):
        raise _mismatch(embedder, built_with, remedy)


def _without_backend(identity: str) -> str:
    return identity.partition("/")[2]


def _mismatch(embedder: Embedder, built_with: str, remedy: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"The store was built with {built_with}, this process has {embedder.identity}: {remedy}",
        field="embedding_model",
    )

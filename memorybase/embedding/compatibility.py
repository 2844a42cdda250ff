"""Whether a loaded model's vectors compare with those that a store holds.

The backend may differ: its vectors agree within a stated tolerance. Model and revision may not. The passage prompt
decides what is stored: a query has none, so a store that was built behind another one is searched and not written.
"""

from __future__ import annotations

from memorybase.embedding.prompts import without_passage_prompt
from memorybase.embedding.protocol import Embedder
from memorybase.errors import ModelUnavailable


def check_searchable(embedder: Embedder, built_with: str, *, remedy: str) -> None:
    """Raises ModelUnavailable, which names the remedy, when a query's vector would not compare with the store's."""
    if _beyond_backend(without_passage_prompt(embedder.identity)) != _beyond_backend(
        without_passage_prompt(built_with)
    ):
        raise _differs(embedder, built_with, remedy)


def check_writable(embedder: Embedder, built_with: str, *, remedy: str) -> None:
    """Raises ModelUnavailable, which names the remedy, when a passage's vector would not be like the store's."""
    if _beyond_backend(embedder.identity) != _beyond_backend(built_with):
        raise _differs(embedder, built_with, remedy)


def _beyond_backend(identity: str) -> str:
    return identity.partition("/")[2]


def _differs(embedder: Embedder, built_with: str, remedy: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"The store was built with {built_with}, this process has {embedder.identity}: {remedy}",
        field="embedding_model",
    )

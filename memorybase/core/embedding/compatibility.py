"""The one check that a loaded model's vectors compare with those in a store.

The backend may differ, since its vectors agree within a stated tolerance; model and revision may not. The fingerprints
of an endpoint's model must be near each other. The passage
prompt matters only for writes: a query has none, so a store with another one can be searched but not written.
"""

from __future__ import annotations

from memorybase.core.embedding.fingerprint import are_near, without_fingerprint
from memorybase.core.embedding.prompts import without_passage_prompt
from memorybase.core.embedding.protocol import Embedder
from memorybase.core.errors import ModelUnavailable


def check_searchable(embedder: Embedder, built_with: str, *, remedy: str) -> None:
    """Raises ModelUnavailable with the remedy if query vectors do not compare with the store's."""
    if not _compare(without_passage_prompt(embedder.identity), without_passage_prompt(built_with)):
        raise _mismatch(embedder, built_with, remedy)


def check_writable(embedder: Embedder, built_with: str, *, remedy: str) -> None:
    """Raises ModelUnavailable with the remedy if passage vectors do not compare with the store's."""
    if not _compare(embedder.identity, built_with):
        raise _mismatch(embedder, built_with, remedy)


def reusable_identity(embedder: Embedder, built_with: str) -> str:
    """The identity of stored vectors that may be copied into this store instead of being computed.

    The running backend's; of an endpoint's model the store's own, because fingerprints of one model differ by noise.
    """
    return built_with if without_fingerprint(built_with) != built_with else embedder.identity


def _compare(one: str, other: str) -> bool:
    parts = (without_fingerprint(identity).partition("/")[2] for identity in (one, other))
    return next(parts) == next(parts) and are_near(one, other)


def _mismatch(embedder: Embedder, built_with: str, remedy: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"The store was built with {built_with}, this process has {embedder.identity}: {remedy}",
        field="embedding_model",
    )

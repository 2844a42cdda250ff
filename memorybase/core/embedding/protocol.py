"""The protocols of embedding models and rerankers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """A query's tokens: vectors of length 1 (tokens, dimensions), and each token's character span."""

    vectors: NDArray[np.float32]
    spans: Sequence[tuple[int, int]]


# 8 texts fit the processor's cache and keep the threads evenly busy; figures are in docs/explanation.
BATCH_SIZE = 8


class Embedder(Protocol):
    """One loaded model, usable from many threads.

    Raises TextRejected for a text that this model cannot encode, EmbeddingFailed if the model itself fails.
    """

    @property
    def model(self) -> str:
        """The requested name or path."""

    @property
    def identity(self) -> str:
        """Backend, model, revision and, if it is not the model's own, the passage prompt. An endpoint's model has its
        dimension and a fingerprint of its vectors as revision.

        Vectors of different models or revisions do not compare.
        """

    @property
    def dimension(self) -> int:
        """The dimension of a vector."""

    @property
    def max_tokens(self) -> int:
        """Tokens of text that the model reads, without special tokens and the prompt."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector of length 1 for each text with the passage prompt, in order: (n, dimension)."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of length 1 for the text with the query prompt: (dimension,)."""

    @property
    def token_encoding(self) -> str | None:
        """Identifies how token vectors are computed and stored; different encodings do not compare. None: the model
        gives none."""

    def embed_with_tokens(
        self, texts: Sequence[str], tokens_of: Collection[int]
    ) -> tuple[NDArray[np.float32], dict[int, bytes]]:
        """The vectors of `embed`, and packed token vectors of the texts at these positions, from the same pass."""

    def embed_query_with_tokens(self, text: str, query: str) -> tuple[NDArray[np.float32], QueryTokens]:
        """The vector of `embed_query` for the text, and the tokens of the whole query."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The character span of each token of the whole text, without special tokens."""


class Reranker(Protocol):
    """A model that reads query and text together, usable from many threads."""

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """For each text, how well it answers the query, 0 to 1: (n,). Raises ModelUnavailable."""

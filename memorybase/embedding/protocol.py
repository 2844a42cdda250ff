from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """A query's tokens: vectors of length 1 (tokens, numbers), and the characters of the query that each is of."""

    vectors: NDArray[np.float32]
    spans: Sequence[tuple[int, int]]


class Embedder(Protocol):
    """One loaded model, usable from many threads.

    Raises TextRejected for a text that this model cannot encode, EmbeddingFailed when the model itself fails.
    """

    @property
    def model(self) -> str:
        """The name or path that was asked for."""

    @property
    def identity(self) -> str:
        """Backend, model, revision and, where it is not the model's own, the passage prompt.

        Vectors of different models or revisions do not compare.
        """

    @property
    def dimension(self) -> int:
        """Numbers a vector."""

    @property
    def max_tokens(self) -> int:
        """Tokens of text that the model reads; what it adds itself, and the prompt, are already taken off."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector of length 1 for each passage, in order, read behind the passage prompt: (n, dimension)."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector to search with, of the text behind the query prompt: (dimension,)."""

    @property
    def token_encoding(self) -> str:
        """Names how this model's token vectors are made and kept; different ones do not compare."""

    def embed_with_tokens(
        self, texts: Sequence[str], tokens_of: Collection[int]
    ) -> tuple[NDArray[np.float32], dict[int, bytes]]:
        """What `embed` gives, and the packed token vectors of the texts at these positions, from the same pass."""

    def embed_query_with_tokens(self, text: str, whole: str) -> tuple[NDArray[np.float32], QueryTokens]:
        """What `embed_query` gives of the text, and the tokens of the whole query."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The character span of each token of the whole text, without what the model adds."""


class Reranker(Protocol):
    """A model that reads query and text together; usable from many threads."""

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """How well each text answers the query, 0 to 1: (n,). Raises ModelUnavailable."""

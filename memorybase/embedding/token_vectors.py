"""Token vectors: the model's vector of each token in its context, packed for storage.

Late interaction (ColBERT: Khattab and Zaharia, "Efficient and Effective Passage Search via Contextualized Late
Interaction over BERT", 2020) compares a question's tokens with a message's tokens, which one vector per message
blurs. The forward pass of the sentence vector computes them too. They are centered, because all tokens of a model share
one large direction, projected to 96 dimensions and stored in 4 bits each: 48 bytes per token.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Floats = NDArray[np.float32]

MAX_TOKENS = 128  # per message; all 955 of a long answer find no more
DIMENSIONS = 96
LEVELS = 7  # numbers are stored as -7 to 7
PROJECTION_FILE = "projection.npz"
DEFAULT_PROJECTION = Path(__file__).parent / "all-MiniLM-L6-v2.projection.npz"
CALIBRATION_FILE = Path(__file__).parent / "calibration.txt"


class Projection:
    """The mean of a model's token states (n,) and their principal directions (n, at most 96)."""

    def __init__(self, mean: Floats, basis: Floats, origin: str) -> None:
        self._mean = mean.astype(np.float32)
        self._basis = basis.astype(np.float32)
        self._origin = origin

    @property
    def encoding(self) -> str:
        """Identifies how token vectors are computed; different encodings do not compare."""
        return f"int4x{self._basis.shape[1]}/{self._origin}"

    def apply(self, states: Floats) -> Floats:
        """Project token states (tokens, n) to vectors of length 1 (tokens, at most 96)."""
        return _unit(_unit(states - self._mean) @ self._basis)

    @classmethod
    def fitted(cls, states: Floats) -> Self:
        """Fit a projection to a model's token states of the calibration text."""
        mean = states.mean(axis=0)
        centered = _unit(states - mean).astype(np.float64)
        _, directions = np.linalg.eigh(centered.T @ centered)  # ascending
        count = min(DIMENSIONS, states.shape[1] // 2 * 2)
        basis = directions[:, ::-1][:, :count]
        largest = np.abs(basis).argmax(axis=0)
        basis = basis * np.sign(basis[largest, np.arange(count)])  # an eigenvector's sign is arbitrary
        digest = hashlib.sha256(CALIBRATION_FILE.read_bytes()).hexdigest()
        return cls(_half(mean), _half(basis), f"fitted-{digest[:8]}")

    @classmethod
    def read(cls, path: Path) -> Self:
        with np.load(path) as kept:
            return cls(kept["mean"], kept["basis"], str(kept["origin"]))

    def write(self, path: Path, *, published: bool = False) -> None:
        """Write the projection. `published`: every machine gets the same numbers, identified by their digest."""
        mean, basis = self._mean.astype(np.float16), self._basis.astype(np.float16)
        digest = hashlib.sha256(mean.tobytes() + basis.tobytes()).hexdigest()
        origin = digest[:8] if published else self._origin
        np.savez(path, mean=mean, basis=basis, origin=np.array(origin))


class TokenFilter:
    """Filters out tokens without meaning: special tokens, and those without a letter or digit."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @cached_property
    def _is_ignored(self) -> NDArray[np.bool_]:
        vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
        ignored = np.zeros(max(vocabulary.values()) + 1, dtype=np.bool_)
        for piece, number in vocabulary.items():
            ignored[number] = not any(character.isalnum() for character in piece)
        for number, added in self._tokenizer.get_added_tokens_decoder().items():
            ignored[number] = ignored[number] or added.special
        return ignored

    def kept(self, ids: Sequence[int], before: int = 0) -> NDArray[np.intp]:
        """The positions of the first tokens with meaning, at most 128, from position `before` on."""
        positions = np.flatnonzero(~self._is_ignored[np.array(ids, dtype=np.int64)])
        return positions[positions >= before][:MAX_TOKENS]


def pack(vectors: Floats) -> bytes:
    """Pack vectors of length 1 in 4 bits per number. The scale is not stored: unpacking restores length 1."""
    if not len(vectors):
        return b""
    scale = LEVELS / np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-12)
    levels = (np.rint(vectors * scale) + 8).astype(np.uint8)
    packed: bytes = (levels[:, 0::2] | levels[:, 1::2] << 4).tobytes()
    return packed


def unpack(packed: bytes, dimensions: int) -> tuple[Floats, Floats]:
    """Vectors (tokens, dimensions) and their lengths (tokens,); the caller divides by them."""
    pairs = np.frombuffer(packed, dtype=np.uint8).reshape(-1, dimensions // 2)
    vectors = np.empty((len(pairs), dimensions), dtype=np.float32)
    vectors[:, 0::2] = pairs & 15
    vectors[:, 1::2] = pairs >> 4
    vectors -= 8
    return vectors, _lengths(vectors)


def calibration_texts() -> list[str]:
    """The texts to fit projections on: messages of generated conversations, one per line."""
    return CALIBRATION_FILE.read_text(encoding="utf-8").splitlines()


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / _lengths(vectors)[:, None]
    return unit


def _lengths(vectors: Floats) -> Floats:
    lengths: Floats = np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), 1e-12)
    return lengths


def _half(numbers: NDArray[np.float64] | Floats) -> Floats:
    """The numbers rounded to 16 bits, as they are stored."""
    return numbers.astype(np.float16).astype(np.float32)

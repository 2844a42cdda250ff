"""Token vectors: the model's vector of each token in its context, packed for storage.

Late interaction (ColBERT: Khattab and Zaharia, "Efficient and Effective Passage Search via Contextualized Late
Interaction over BERT", 2020) compares a question's tokens with a message's tokens, which one vector per message
blurs. The forward pass of the sentence vector computes them too. They are centered, because all tokens of a model share
one large direction, projected to 128 dimensions and stored in 2 bits each: 32 bytes per token.
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
DIMENSIONS = 128
PER_BYTE = 4  # numbers
STEP = 0.9957  # standard deviations between four levels that suit normal numbers best (Max, 1960): -3, -1, 1, 3 halves
SHIFTED = np.array([1, 4, 16, 64])  # a byte's numbers by their place
LEVELS = (2 * (np.arange(256)[:, None] // SHIFTED & 3) - 3).astype(np.float32)  # of each byte
PROJECTION_FILE = "projection.npz"
DEFAULT_PROJECTION = Path(__file__).parent / "all-MiniLM-L6-v2.projection.npz"
CALIBRATION_FILE = Path(__file__).parent / "calibration.txt"


class Projection:
    """The mean of a model's token states (n,) and a basis of their principal directions (n, at most 128)."""

    def __init__(self, mean: Floats, basis: Floats, origin: str) -> None:
        self._mean = mean.astype(np.float32)
        self._basis = basis.astype(np.float32)
        self._origin = origin

    @property
    def encoding(self) -> str:
        """Identifies how token vectors are computed; different encodings do not compare."""
        return f"int2x{self._basis.shape[1]}/{self._origin}"

    def apply(self, states: Floats) -> Floats:
        """Project token states (tokens, n) to vectors of length 1 (tokens, at most 128)."""
        return _unit(_unit(states - self._mean) @ self._basis)

    @classmethod
    def fitted(cls, states: Floats) -> Self:
        """Fit a projection to a model's token states of the calibration text."""
        mean = states.mean(axis=0)
        centered = _unit(states - mean).astype(np.float64)
        _, directions = np.linalg.eigh(centered.T @ centered)  # ascending
        count = min(DIMENSIONS, states.shape[1] // PER_BYTE * PER_BYTE)
        basis = directions[:, ::-1][:, :count]
        largest = np.abs(basis).argmax(axis=0)
        basis = basis * np.sign(basis[largest, np.arange(count)])  # an eigenvector's sign is arbitrary
        # Each number is stored in equally many bits, so each should vary as much: the first directions vary most.
        basis = basis @ _hartley(count)
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
    """Pack vectors of length 1 in 2 bits per number. The scale is not stored: unpacking restores length 1."""
    levels = (np.clip(np.floor(vectors * (np.sqrt(vectors.shape[1]) / STEP)), -2, 1) + 2).astype(np.uint8)
    packed: bytes = (levels.reshape(-1, PER_BYTE) @ SHIFTED).astype(np.uint8).tobytes()
    return packed


def unpack(packed: bytes, dimensions: int) -> tuple[Floats, Floats]:
    """Vectors (tokens, dimensions) and their lengths (tokens,); the caller divides by them."""
    vectors = LEVELS.take(np.frombuffer(packed, dtype=np.uint8), axis=0).reshape(-1, dimensions)
    return vectors, _lengths(vectors)


def calibration_texts() -> list[str]:
    """The texts to fit projections on: messages of generated conversations, one per line."""
    return CALIBRATION_FILE.read_text(encoding="utf-8").splitlines()


def _hartley(count: int) -> NDArray[np.float64]:
    """The rotation that mixes `count` directions (discrete Hartley transform)."""
    angles = 2 * np.pi / count * np.outer(np.arange(count), np.arange(count))
    rotation: NDArray[np.float64] = (np.cos(angles) + np.sin(angles)) / np.sqrt(count)
    return rotation


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / _lengths(vectors)[:, None]
    return unit


def _lengths(vectors: Floats) -> Floats:
    lengths: Floats = np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), 1e-12)
    return lengths


def _half(numbers: NDArray[np.float64] | Floats) -> Floats:
    """The numbers rounded to 16 bits, as they are stored."""
    return numbers.astype(np.float16).astype(np.float32)

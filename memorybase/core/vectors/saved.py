"""Vectors in files, by the text that they belong to: those of a backup, so that a restore need not embed again.

index.json     the embedder of each pair of files, and how many vectors they have
N.digests      the SHA-256 of each text, in ascending order
N.places       where its vector is, as uint32
N.vectors      the vectors, as float32
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from memorybase.core.telemetry import get_logger
from memorybase.core.vectors.index_damage import has_length_one

log = get_logger(__name__)

FOLDER = "vectors"
INDEX = "index.json"
DIGEST_BYTES = 32
_FLOAT, _PLACE, _DIGEST = np.dtype("<f4"), np.dtype("<u4"), np.dtype(f"S{DIGEST_BYTES}")


@dataclass(slots=True)
class _Pair:
    """The open files of one embedder."""

    embedder: str
    dimension: int
    digests: BinaryIO
    vectors: BinaryIO
    count: int = 0


class VectorWriter:
    """Appends vectors; `save_vectors` makes one."""

    def __init__(self, folder: Path, files: ExitStack) -> None:
        self._folder, self._files = folder, files
        self._pairs: dict[tuple[str, int], _Pair] = {}

    @property
    def count(self) -> int:
        return sum(pair.count for pair in self._pairs.values())

    def add(self, embedder: str, text: str, vector: NDArray[np.float32]) -> None:
        """One text's vector, computed by the embedder of this identity."""
        pair = self._pairs.get((embedder, vector.size)) or self._open(embedder, vector.size)
        pair.digests.write(_digest(text))
        pair.vectors.write(vector.astype(_FLOAT).tobytes())
        pair.count += 1

    def _open(self, embedder: str, dimension: int) -> _Pair:
        number = len(self._pairs)
        names = (f"{number}.digests", f"{number}.vectors")
        digests, vectors = (self._files.enter_context((self._folder / name).open("wb")) for name in names)
        pair = self._pairs[embedder, dimension] = _Pair(embedder, dimension, digests, vectors)
        return pair

    def index(self) -> list[dict[str, Any]]:
        return [
            {"embedder": pair.embedder, "dimension": pair.dimension, "vectors": pair.count}
            for pair in self._pairs.values()
        ]


@contextmanager
def save_vectors(folder: Path) -> Iterator[VectorWriter]:
    """Write vectors into an empty folder; they can be read once the block has ended without an error."""
    with ExitStack() as files:
        writer = VectorWriter(folder, files)
        yield writer
    for number in range(len(writer.index())):
        _sort(folder, number)
    (folder / INDEX).write_text(json.dumps(writer.index(), indent=2) + "\n", encoding="utf-8")


def _sort(folder: Path, number: int) -> None:
    digests = np.fromfile(folder / f"{number}.digests", dtype=_DIGEST)
    order = np.argsort(digests)
    digests[order].tofile(folder / f"{number}.digests")
    order.astype(_PLACE).tofile(folder / f"{number}.places")


class SavedVectors:
    """Reads the vectors in a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises FileNotFoundError without saved vectors."""
        self._folder = folder
        self._index: list[dict[str, Any]] = json.loads((folder / INDEX).read_text(encoding="utf-8"))

    def find(self, embedder: str, dimension: int, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that this embedder gave to these texts, as far as they are known."""
        found: dict[str, NDArray[np.float32]] = {}
        for number, about in enumerate(self._index):
            if (about["embedder"], about["dimension"]) == (embedder, dimension):
                found |= self._find_in(number, dimension, texts)
        return found

    def _find_in(self, number: int, dimension: int, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        digests, places = (
            np.memmap(self._folder / f"{number}.{name}", dtype=kind, mode="r")
            for name, kind in (("digests", _DIGEST), ("places", _PLACE))
        )
        vectors = np.memmap(self._folder / f"{number}.vectors", dtype=_FLOAT, mode="r").reshape(-1, dimension)
        wanted = np.array([_digest(text) for text in texts], dtype=_DIGEST)
        found = np.searchsorted(digests, wanted)
        read = {
            text: np.array(vectors[places[index]], dtype=np.float32)
            for text, digest, index in zip(texts, wanted, found, strict=True)
            if index < len(digests) and digests[index] == digest
        }
        return {text: vector for text, vector in read.items() if has_length_one(vector)}


def find_saved(restored: Path, embedder: str, dimension: int, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """The vectors of these texts in the backup in this folder. Never fails: texts can be embedded."""
    if not restored.exists():
        return {}
    try:
        return SavedVectors(restored / FOLDER).find(embedder, dimension, texts)
    except (OSError, ValueError, LookupError) as error:  # deleted meanwhile, or damaged
        log.info("saved_vectors_not_used", error_type=type(error).__name__)
        return {}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()

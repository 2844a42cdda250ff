"""Recognizes a model behind an endpoint by its vectors: it has no files whose digest could be compared.

SimHash (Charikar, "Similarity estimation techniques from rounding algorithms", 2002): each bit says on which side of a
plane the model's vectors of fixed texts lie. The noise of a server changes hardly any of the 64 bits, an int8 form of
the same model two or three, another model half of them.
"""

from __future__ import annotations

import hashlib
import re

import numpy as np
from numpy.typing import NDArray

BITS = 64
TOLERANCE = 8  # bits; two unrelated models are this near once in 10^10
# Texts of several kinds. Changing them or their number makes every endpoint's model another one.
TEXTS = (
    "The ferry to the island leaves from pier four at noon.",
    "How do I reset the password of my account?",
    "def median(values): return sorted(values)[len(values) // 2]",
    "Die Rechnung vom März ist noch nicht bezahlt.",
)
_MARK = "simhash-"
_FOUND = re.compile(rf"{_MARK}([0-9a-f]{{{BITS // 4}}})")


def fingerprint(vectors: NDArray[np.float32]) -> str:
    """The fingerprint of a model that gave these vectors to TEXTS."""
    # A model's vectors share one large direction, which says little about it.
    values = (vectors - vectors.mean(axis=0)).astype(np.float64).ravel()
    # From a hash, because random generators may change between versions of a library.
    stream = hashlib.shake_256(b"memorybase").digest(BITS * values.size // 8)
    planes = np.unpackbits(np.frombuffer(stream, dtype=np.uint8)).reshape(BITS, values.size).astype(np.float64)
    bits = (planes * 2 - 1) @ values > 0
    return f"{_MARK}{np.packbits(bits).tobytes().hex()}"


def without_fingerprint(identity: str) -> str:
    return _FOUND.sub(_MARK, identity)


def are_near(one: str, other: str) -> bool:
    """Whether the fingerprints in two identities are of one model, or neither has one."""
    found = [_FOUND.search(identity) for identity in (one, other)]
    if found[0] is None or found[1] is None:
        return found[0] is found[1]
    return (int(found[0][1], 16) ^ int(found[1][1], 16)).bit_count() <= TOLERANCE

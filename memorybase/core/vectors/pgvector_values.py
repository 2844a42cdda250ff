"""Vectors in PostgreSQL's binary format, and the driver's errors as ours."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format

from memorybase.core.errors import CollectionMissing, MemorybaseError, VectorRejected, VectorStoreUnavailable

NOT_CREATED = frozenset({"42P01", "3F000"})  # SQLSTATE: the table or the schema does not exist
DATA_ERRORS = "22"  # the class of SQLSTATEs of invalid values
TOO_LARGE = "54000"  # SQLSTATE: for example an id that no index can hold


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value in PostgreSQL's binary format."""

    data: bytes


class EncodedDumper(Dumper):
    """Sends an encoded value; a cast in the statement names its type."""

    format = Format.BINARY

    def dump(self, obj: Encoded) -> bytes:
        return obj.data


def encode_all(vectors: Sequence[NDArray[np.float32]]) -> Encoded:
    """An array of halfvec."""
    # One dimension, no nulls, no type (PostgreSQL takes it from the cast), the number of elements, the first index.
    return Encoded(struct.pack(">iiIii", 1, 0, 0, len(vectors), 1) + _elements(np.stack(vectors)))


def encode(vector: NDArray[np.float32]) -> Encoded:
    """A halfvec."""
    return Encoded(_elements(vector[np.newaxis])[4:])


def decode(data: bytes) -> NDArray[np.float32]:
    """The vector that halfvec_send returned."""
    return np.frombuffer(data, dtype=">f2", offset=4).astype(np.float32)


def _elements(vectors: NDArray[np.float32]) -> bytes:
    """Each vector with its length in bytes before it, as in an array."""
    count, dimension = vectors.shape
    with np.errstate(over="ignore"):  # what is too large becomes infinite, which PostgreSQL refuses
        halves = vectors.astype(np.float16)
    fields = [("bytes", ">i4"), ("dimension", ">i2"), ("unused", ">i2"), ("values", ">f2", (dimension,))]
    elements = np.zeros(count, dtype=fields)
    elements["bytes"], elements["dimension"], elements["values"] = 4 + 2 * dimension, dimension, halves
    return elements.tobytes()


@contextmanager
def translated_errors(operation: str) -> Iterator[None]:
    """Raise the driver's errors as ours, without the chain: PostgreSQL quotes whole rows."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise _error_of(error, operation) from None
    except sa.exc.SQLAlchemyError as error:
        raise VectorStoreUnavailable(operation=operation, reason=type(error).__name__) from None


def sqlstate(error: sa.exc.DBAPIError) -> str:
    """PostgreSQL's code of the error; empty if the server did not send one."""
    return getattr(error.orig, "sqlstate", None) or ""


def _error_of(error: sa.exc.DBAPIError, operation: str) -> MemorybaseError:
    state = sqlstate(error)
    reason = type(error.orig).__name__
    if state in NOT_CREATED:
        return CollectionMissing()
    if isinstance(error, sa.exc.DataError) or state.startswith(DATA_ERRORS) or state == TOO_LARGE:
        return VectorRejected(operation=operation, reason=reason)
    return VectorStoreUnavailable(operation=operation, reason=reason)

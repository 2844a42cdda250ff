"""The sizes of the vector stores."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from memorybase.core import errors
from memorybase.core.queries import statistics
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.core.vector_stores import VECTOR_STORES, VectorStoreName
from memorybase.core.vectors.collection_names import store_of
from memorybase.core.vectors.stores import store_named

BLOCK_BYTES = 512  # the unit of st_blocks


@dataclass(frozen=True, slots=True)
class StoreSize:
    """Size of a vector store: chunks of memory bases at their last comparison, and the bytes of their vectors.

    A store that does not free deleted data, or keeps its log, grows although its memory bases do not. `disk_bytes`: the
    store's size on disk; None if this process cannot see it.
    """

    store: VectorStoreName
    chunks: int
    vector_bytes: int
    disk_bytes: int | None


def measure(services: Services) -> list[StoreSize]:
    """The size of every vector store in use. Raises DatabaseUnavailable."""
    with services.database.reading() as db:
        stored = statistics.stored(db)
    chunks: defaultdict[VectorStoreName, int] = defaultdict(int)
    needed: defaultdict[VectorStoreName, int] = defaultdict(int)
    for each in stored:
        store = store_of(each.collection)
        chunks[store] += each.chunks
        needed[store] += each.chunks * each.dimension * VECTOR_STORES[store].value_bytes
    return [
        StoreSize(store, chunks[store], needed[store], disk_bytes(services, store))
        for store in services.settings.vector_stores_in_use
    ]


def disk_bytes(services: Services, store: VectorStoreName) -> int | None:
    """The store's size on disk: as it reports it, or of its folder if that is on this machine."""
    # The protocol has no such call: a Chroma server does not tell.
    ask: Callable[[], int] | None = getattr(store_named(services.vectors, store), "disk_bytes", None)
    if ask is None:
        folder = _local_folder(services.settings, store)
        return None if folder is None else _bytes_below(folder)
    try:
        return ask()
    except errors.VectorStoreUnavailable:
        return None


def _local_folder(settings: Settings, store: VectorStoreName) -> Path | None:
    folder = settings.data_dir / store
    host = urlsplit(settings.vector_store_url(store)).hostname or ""
    try:
        is_local = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_local = False
    return folder if is_local and folder.is_dir() else None


def _bytes_below(folder: Path) -> int:
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                total += _bytes_on_disk(Path(directory, name).lstat())
            except FileNotFoundError:  # deleted meanwhile
                continue
    return total


def _bytes_on_disk(status: os.stat_result) -> int:
    if sys.platform == "win32":
        return status.st_size
    return status.st_blocks * BLOCK_BYTES

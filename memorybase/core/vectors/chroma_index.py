"""The files of one index of Chroma, made to agree with its map.

The format is that of Chroma's fork of hnswlib (`persistDirty` and `loadPersistedIndex` in hnswalg.h), version 1.
"""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memorybase.core.vectors.chroma_database import DATABASE
from memorybase.core.vectors.chroma_saves import BLOCKS, HEADER, LENGTHS, LINKS, MAP, Unrepairable, kept_map

VERSION = 1
DELETED = 1 << 16  # in the first four bytes of a block, beside the number of its links
DEGREE = DELETED - 1
SAVED_IDS = """
SELECT embeddings.embedding_id FROM segments AS vectors
JOIN max_seq_id ON max_seq_id.segment_id = vectors.id
JOIN segments AS texts ON texts.collection = vectors.collection AND texts.scope = 'METADATA'
JOIN embeddings ON embeddings.segment_id = texts.id AND embeddings.seq_id <= max_seq_id.seq_id
WHERE vectors.id = ?
"""


class _Header(NamedTuple):
    version: int
    offset_level0: int
    capacity: int
    elements: int
    block_bytes: int
    label_offset: int
    data_offset: int
    max_level: int
    entry: int
    max_links: int
    max_links_level0: int
    m: int
    mult: float
    ef_construction: int


_HEADER = struct.Struct("<i6QiI3QdQ")


@dataclass(frozen=True, slots=True)
class _Map:
    """Labels from 1 to `added` were given, each to one element; `live` are those of ids that were not deleted."""

    added: int
    live: NDArray[np.uint64]
    ids: frozenset[str]


def take_back(directory: Path, folder: Path) -> bool:
    """Take back in this folder what the map does not know, and say whether there was anything. Raises Unrepairable,
    ValueError, struct.error, OSError and sqlite3.Error."""
    if not _saved_before(directory, folder):  # Chroma builds the index again, from its log
        (folder / MAP).unlink()
        return True
    known = _read_map(folder / MAP) or _kept_map(directory, folder)
    header = _Header._make(_HEADER.unpack((folder / HEADER).read_bytes()[: _HEADER.size]))
    if header.version != VERSION or header.label_offset + 8 > header.block_bytes:
        raise Unrepairable("the header is not readable")
    elements = _cut_blocks(folder / BLOCKS, header, known)
    levels = _cut_links(folder / LINKS, header, elements)
    _check_lengths(folder / LENGTHS, elements)
    entry = int(levels.argmax()) if elements else header.entry
    max_level = int(levels[entry]) if elements else header.max_level
    cut = header._replace(elements=elements, entry=entry, max_level=max_level)
    with (folder / HEADER).open("r+b") as file:
        file.write(_HEADER.pack(*cut))
    os.utime(folder / MAP)
    return cut != header


def _saved_before(directory: Path, folder: Path) -> bool:
    with closing(sqlite3.connect(directory / DATABASE)) as db:
        return db.execute("SELECT 1 FROM max_seq_id WHERE segment_id = ?", (folder.name,)).fetchone() is not None


class _MapReader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"a map holds no {module}.{name}")


def _read_map(path: Path) -> _Map | None:
    """None if it is cut."""
    try:
        with path.open("rb") as file:
            content = _MapReader(file).load()
        labels = content["label_to_id"]
        return _Map(
            added=int(content["total_elements_added"]),
            live=np.fromiter(labels, dtype=np.uint64, count=len(labels)),
            ids=frozenset(labels.values()),
        )
    except (OSError, EOFError, KeyError, TypeError, ValueError, IndexError, pickle.UnpicklingError):
        return None


def _kept_map(directory: Path, folder: Path) -> _Map:
    """The map of the last save that ended, put back. Raises Unrepairable if there is none."""
    known = _read_map(kept_map(folder))
    if known is None:
        raise Unrepairable("its map is cut")
    with closing(sqlite3.connect(directory / DATABASE)) as db:
        saved = db.execute(SAVED_IDS, (folder.name,))
        if any(id_ not in known.ids for (id_,) in saved):
            raise Unrepairable("its map is cut, and the kept one is older")
    copy = folder / f"{MAP}.new"
    shutil.copyfile(kept_map(folder), copy)
    copy.replace(folder / MAP)
    return known


def _cut_blocks(path: Path, header: _Header, known: _Map) -> int:
    """Drop links to elements that the map does not know, and mark as deleted what it has no id for. Returns how many
    elements it knows: they come first, since elements are only appended."""
    stored = min(header.elements, path.stat().st_size // header.block_bytes)
    if not stored:
        return 0
    blocks = np.memmap(path, dtype=np.uint8, mode="r+", shape=(stored, header.block_bytes))
    labels = blocks[:, header.label_offset : header.label_offset + 8].copy().view("<u8")[:, 0]
    is_known = (labels >= 1) & (labels <= known.added)
    elements = int(is_known.argmin()) if not is_known.all() else stored
    if is_known[elements:].any() or len(np.unique(labels[:elements])) != elements:
        raise Unrepairable("its elements are not in order")
    if not np.isin(known.live, labels[:elements]).all():
        raise Unrepairable("elements are missing")
    links = blocks[:elements, : 4 * (1 + header.max_links_level0)].copy().view("<u4")
    is_deleted = ~np.isin(labels[:elements], known.live)
    degrees = _without_links_from(links, elements)
    links[:, 0] = degrees | np.where(is_deleted, DELETED, 0).astype(np.uint32)
    blocks[:elements, : links.shape[1] * 4] = links.view(np.uint8)
    blocks.flush()
    return elements


def _without_links_from(links: NDArray[np.uint32], elements: int) -> NDArray[np.uint32]:
    """In each row, a number of links and the links: move those to existing elements to the front; returns their
    numbers."""
    places = np.arange(links.shape[1] - 1)
    degrees = np.minimum(links[:, 0] & DEGREE, len(places))
    stays = (places < degrees[:, None]) & (links[:, 1:] < elements)
    order = np.argsort(~stays, axis=1, kind="stable")
    links[:, 1:] = np.take_along_axis(links[:, 1:], order, axis=1)
    left: NDArray[np.uint32] = np.count_nonzero(stays, axis=1).astype(np.uint32)
    return left


def _cut_links(path: Path, header: _Header, elements: int) -> NDArray[np.int64]:
    """The same for the levels above the lowest, in a row of bytes for each element. Returns the highest level of
    each."""
    content = bytearray(path.read_bytes())
    row = 4 * (1 + header.max_links)
    levels = np.zeros(elements, dtype=np.int64)
    position = 0
    for element, size, position in _entries(content, elements):
        if size % row or position > len(content):
            raise Unrepairable("its links are cut")
        if size:
            levels[element] = size // row
            links = np.frombuffer(content, dtype="<u4", count=size // 4, offset=position - size).reshape(-1, row // 4)
            links[:, 0] = _without_links_from(links, elements)
    copy = path.with_name(f"{path.name}.new")
    copy.write_bytes(content[:position])
    copy.replace(path)
    return levels


def _entries(content: bytearray, elements: int) -> Iterator[tuple[int, int, int]]:
    """Each element, the size of its links and where they end."""
    position = 0
    for element in range(elements):
        (size,) = struct.unpack_from("<I", content, position)
        position += 4 + size
        yield element, size, position


def _check_lengths(path: Path, elements: int) -> None:
    if path.stat().st_size < 4 * elements:
        raise Unrepairable("its lengths are cut")

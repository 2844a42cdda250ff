"""Saves of Chroma's indexes that a kill has cut: found before Chroma opens the files, and taken back.

Each 1,000 writes Chroma saves a collection's index in place: the header with the new number of elements, their blocks,
their links, and last the map from ids to elements. If the process is killed meanwhile, the next one reads past the end
of a file, takes what happens to be in memory for a size, and with it the machine's memory. Chroma's own log still has
what the save would have added: so it suffices to take back the elements that the map does not know.
"""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MAP = "index_metadata.pickle"
KEPT = "kept-maps"  # a folder beside those of the indexes, whose removal by Chroma it must not disturb
HEADER, BLOCKS, LENGTHS, LINKS = "header.bin", "data_level0.bin", "length.bin", "link_lists.bin"
END_OF_PICKLE = b"."


class Unrepairable(Exception):
    """The memory base whose index this is has to be regenerated."""


def keep_maps(directory: Path) -> None:
    """Keep a copy of each map that Chroma has written since the last call. It writes a map in place, so a kill can
    leave half of one. Call it more often than it saves a collection, and not while it does."""
    with suppress(OSError):
        (directory / KEPT).mkdir(exist_ok=True)
        for kept in (directory / KEPT).iterdir():
            if not (directory / kept.stem).exists():  # the collection was deleted
                kept.unlink()
    for path in list(directory.glob(f"*/{MAP}")):
        with suppress(OSError):  # deleted meanwhile, or the disk is full
            kept, written = kept_map(path.parent), path.stat().st_mtime_ns
            if (kept.exists() and kept.stat().st_mtime_ns == written) or not _ends(path):
                continue
            copy = kept.with_suffix(".new")
            shutil.copyfile(path, copy)
            os.utime(copy, ns=(written, written))
            copy.replace(kept)


def kept_map(folder: Path) -> Path:
    """Where the copy of this index's map is."""
    return folder.parent / KEPT / f"{folder.name}.pickle"


def repair(directory: Path, report: Callable[[str], object]) -> None:
    """Take back saves that did not end. Chroma must not have the files open. An index that cannot be repaired is left
    so that Chroma refuses it: its memory base has to be regenerated. Raises OSError."""
    for path in list(directory.glob(f"*/{MAP}")):
        folder = path.parent
        try:
            if _is_complete(folder):
                continue
            from memorybase.core.vectors.chroma_index import take_back  # it loads NumPy

            if not take_back(directory, folder):
                continue
        except sqlite3.Error:  # Chroma cannot read its database either, and says why
            continue
        except (Unrepairable, FileNotFoundError, ValueError, struct.error) as error:
            path.write_bytes(b"")  # Chroma says that it cannot read it, instead of reading what a kill has cut
            report(f"note: an index of Chroma was damaged ({folder.name}: {error}); regenerate its memory base")
        else:
            report(f"took back what was half saved of one of Chroma's indexes ({folder.name})")


def _is_complete(folder: Path) -> bool:
    """The map is written last."""
    written = (folder / MAP).stat().st_mtime_ns
    files = (folder / name for name in (HEADER, BLOCKS, LENGTHS, LINKS))
    return _ends(folder / MAP) and all(file.exists() and file.stat().st_mtime_ns <= written for file in files)


def _ends(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, io.SEEK_END) - 1))
        return file.read(1) == END_OF_PICKLE

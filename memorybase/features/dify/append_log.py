"""A JSON document with concurrent appends, in an object store without locks.

    KEY                   a copy of the highest snapshot
    KEY.d/N.append        one append; N is its position in the total order
    KEY.d/N.snapshot      the document with the appends 1 to N

A writer appends by creating the object of the next free N, which only one writer can; the others try the next N.
Snapshots are created the same way and never changed. The highest snapshot and the appends above it are the source of
truth; what a snapshot covers is deleted only after it is stored. A writer may create a number that was used and deleted
before. It then sees the snapshot that covers the number, finds its append missing in it, and appends again. KEY may be
stale, damaged or missing without loss.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from memorybase.core.errors import DocumentBusy
from memorybase.core.telemetry import get_logger
from memorybase.features.dify import document as documents
from memorybase.features.dify.document import Document
from memorybase.features.dify.object_store import Objects

log = get_logger(__name__)

APPEND, SNAPSHOT = ".append", ".snapshot"
QUARANTINE = "quarantine/"
COMPACT_BYTES = 32_000  # a document up to this size is rewritten with each append, a larger one every APPENDS
APPENDS = 64
RECENT = 1_000  # append ids in a snapshot
TRIES = 1_000
LISTINGS = 20


@dataclass(frozen=True, slots=True)
class _State:
    snapshot: int  # the highest number; 0 for none
    appends: list[int]  # above it, in order
    covered: list[str]  # names of objects that the snapshot covers

    @property
    def last(self) -> int:
        return self.appends[-1] if self.appends else self.snapshot


class Journal:
    """One document. Every call may raise DocumentUnsupported for one of a later version."""

    def __init__(self, objects: Objects, key: str, *, compress: bool = False) -> None:
        self._objects = objects
        self._key = key
        self._compress = compress
        self._is_checked = False

    def read(self) -> Document:
        """The document with every append applied."""
        return self._read()[0]

    def append(self, operations: Sequence[Any]) -> None:
        """Append operations as one unit; they are stored on return."""
        if not self._is_checked:  # nothing is added to a document that this version does not understand
            self._read()
            self._is_checked = True
        identity = uuid4().hex
        content = self._encoded({"id": identity, "operations": list(operations)})
        state = self._state()
        for _ in range(TRIES):
            number = state.last + 1
            created = self._objects.create(self._name(number, APPEND), content)
            state = self._state()
            if created and (state.snapshot < number or identity in self.read()["recent"]):
                break
            if created:  # a snapshot covers this number without this append
                self._objects.delete(self._name(number, APPEND))
        else:
            raise DocumentBusy
        if len(state.appends) >= APPENDS or self._objects.size(self._key) <= COMPACT_BYTES:
            self.compact()

    def compact(self) -> None:
        """Write a snapshot, and delete what it covers."""
        document, state = self._read()
        document["through"] = state.last
        content = self._encoded(document)
        if state.appends and self._objects.create(self._name(state.last, SNAPSHOT), content):
            self._objects.replace(self._key, content)
        state = self._state()
        for name in state.covered:
            self._objects.delete(f"{self._key}.d/{name}")

    def _read(self) -> tuple[Document, _State]:
        for _ in range(TRIES):
            state = self._state()
            try:
                document = self._base(state)
                appends = [self._append(number) for number in state.appends]
            except FileNotFoundError:
                continue  # a newer snapshot covers it now
            recent = document.get("recent")
            kept = recent if isinstance(recent, list) else []
            document["recent"] = [*kept, *(append.get("id") for append in appends)][-RECENT:]
            documents.apply(document, [operation for append in appends for operation in append.get("operations", ())])
            return document, state
        raise DocumentBusy

    def _append(self, number: int) -> Document:
        append = self._decoded(self._name(number, APPEND))
        if append is None:
            raise FileNotFoundError
        return append

    def _base(self, state: _State) -> Document:
        """The highest snapshot, from its copy if that is current; without one, a document that others stored."""
        document = self._decoded(self._key)
        if state.snapshot == 0:
            return document or documents.empty()  # a document without snapshots comes from elsewhere
        if document is not None and document.get("through") == state.snapshot:
            return document
        document = self._decoded(self._name(state.snapshot, SNAPSHOT))
        if document is None:
            if self._state().snapshot != state.snapshot:
                raise FileNotFoundError
            return documents.empty()  # quarantined
        return document

    def _state(self) -> _State:
        """The state by a listing without gaps. A concurrent append can make a gap, so list again; a clean-up leaves a
        permanent one."""
        for _ in range(LISTINGS):
            state = self._listed()
            if state.last - state.snapshot == len(state.appends):
                break
        return state

    def _listed(self) -> _State:
        numbers: dict[str, list[int]] = {APPEND: [], SNAPSHOT: []}
        for name in self._objects.names(f"{self._key}.d"):
            stem, dot, kind = name.rpartition(".")
            if dot and stem.isdigit() and dot + kind in numbers:
                numbers[dot + kind].append(int(stem))
        snapshot = max(numbers[SNAPSHOT], default=0)
        covered = [f"{n:012d}{SNAPSHOT}" for n in numbers[SNAPSHOT] if n < snapshot]
        covered += [f"{n:012d}{APPEND}" for n in numbers[APPEND] if n <= snapshot]
        return _State(snapshot, sorted(n for n in numbers[APPEND] if n > snapshot), covered)

    def _name(self, number: int, kind: str) -> str:
        return f"{self._key}.d/{number:012d}{kind}"

    def _encoded(self, document: Document) -> bytes:
        content = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        return gzip.compress(content, mtime=0) if self._compress else content

    def _decoded(self, key: str) -> Document | None:
        """The object as JSON; None if it is missing or damaged. Damaged objects move to quarantine."""
        content = self._objects.read(key)
        if content is None:
            return None
        try:
            document = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
        except (ValueError, OSError, EOFError):
            document = None
        if not isinstance(document, dict) or not self._has_shape(key, document):
            self._objects.replace(f"{QUARANTINE}{key}.{uuid4().hex}", content)
            log.warning("stored_object_damaged", bytes=len(content))
            if key.endswith(APPEND):  # keeps its position in the order
                self._objects.replace(key, self._encoded({"id": "", "operations": []}))
                return {}
            self._objects.delete(key)
            return None
        return document

    def _has_shape(self, key: str, document: Document) -> bool:
        if not key.endswith(APPEND):
            return documents.is_document(document)
        operations = document.get("operations", [])
        return isinstance(operations, list) and all(isinstance(operation, dict) for operation in operations)

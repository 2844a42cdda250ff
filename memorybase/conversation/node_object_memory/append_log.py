"""A JSON document that many writers append to at once, in objects that know no lock.

    KEY                   the document, as it was when it was last written as a whole
    KEY.d/N.append        one append each; N is its place in the total order
    KEY.d/N.snapshot      the document with the appends 1 to N in it

An append takes the next free N by creating its object, which only one writer can; the other takes the next. A snapshot
is created the same way and never changed; the highest one and the appends above it are the truth, and what it covers is
deleted only once it is there. So whoever creates an append whose number was used before and deleted since sees the
snapshot that covers it, finds itself missing in there, and appends again. KEY itself is a copy of the highest snapshot:
one that is late, damaged or gone costs nothing.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from memorybase.conversation.node_object_memory.object_store import Objects
from memorybase.errors import DocumentBusy
from memorybase.telemetry import get_logger

log = get_logger(__name__)

Document = dict[str, Any]
# Applies operations to a document, in place.
Apply = Callable[[Document, Sequence[Any]], None]

APPEND, SNAPSHOT = ".append", ".snapshot"
QUARANTINE = "quarantine/"
WHOLE_BYTES = 32_000  # a document up to this size is written with each append, a larger one now and then
APPENDS = 64
RECENT = 1_000  # append ids that a snapshot names
TRIES = 1_000
LISTINGS = 20


@dataclass(frozen=True, slots=True)
class _State:
    snapshot: int  # the number of the highest; 0: there is none
    appends: list[int]  # above it, in order
    below: list[str]  # names that it covers

    @property
    def last(self) -> int:
        return self.appends[-1] if self.appends else self.snapshot


class Journal:
    """One document. `empty` makes a new one."""

    def __init__(
        self, objects: Objects, key: str, *, apply: Apply, empty: Callable[[], Document], compress: bool = False
    ) -> None:
        self._objects = objects
        self._key = key
        self._apply = apply
        self._empty = empty
        self._compress = compress

    def read(self) -> Document:
        """The document with every append in it."""
        return self._read()[0]

    def append(self, operations: Sequence[Any]) -> None:
        """Add operations after all that is there, together; on return they are stored."""
        identity = uuid4().hex
        content = self._encoded({"id": identity, "operations": list(operations)})
        state = self._state()
        for _ in range(TRIES):
            number = state.last + 1
            created = self._objects.create(self._name(number, APPEND), content)
            state = self._state()
            if created and (state.snapshot < number or self._covers(identity)):
                break
            if created:  # its number had been used, and is covered without it
                self._objects.delete(self._name(number, APPEND))
        else:
            raise DocumentBusy
        if len(state.appends) >= APPENDS or self._is_small():
            self.compact()

    def compact(self) -> None:
        """Write the document as a whole, and remove what it covers."""
        document, state = self._read()
        document["through"] = state.last
        content = self._encoded(document)
        if state.appends and self._objects.create(self._name(state.last, SNAPSHOT), content):
            self._objects.replace(self._key, content)
        state = self._state()
        for name in state.below:
            self._objects.delete(f"{self._key}.d/{name}")

    def _read(self) -> tuple[Document, _State]:
        for _ in range(TRIES):
            state = self._state()
            try:
                document = self._base(state)
                appends = [self._append(number) for number in state.appends]
            except FileNotFoundError:
                continue  # covered by a newer snapshot meanwhile
            document["recent"] = [*document.get("recent", ()), *(append.get("id") for append in appends)][-RECENT:]
            self._apply(document, [one for append in appends for one in append.get("operations", ())])
            return document, state
        raise DocumentBusy

    def _append(self, number: int) -> Document:
        append = self._decoded(self._name(number, APPEND))
        if append is None:
            raise FileNotFoundError
        return append

    def _base(self, state: _State) -> Document:
        """The highest snapshot, by its copy where that is the same; or what somebody put there."""
        document = self._decoded(self._key)
        if state.snapshot == 0:
            return document or self._empty()  # where there is one, it came alone
        if document is not None and document.get("through") == state.snapshot:
            return document
        document = self._decoded(self._name(state.snapshot, SNAPSHOT))
        if document is None:
            if self._state().snapshot != state.snapshot:
                raise FileNotFoundError
            return self._empty()  # quarantined
        return document

    def _state(self) -> _State:
        """A listing may miss what is created while it is made, and show what came later: then it is made again. A gap
        that stays was left by a clean-up."""
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
        below = [f"{n:012d}{SNAPSHOT}" for n in numbers[SNAPSHOT] if n < snapshot]
        below += [f"{n:012d}{APPEND}" for n in numbers[APPEND] if n <= snapshot]
        return _State(snapshot, sorted(n for n in numbers[APPEND] if n > snapshot), below)

    def _covers(self, identity: str) -> bool:
        return identity in self._read()[0].get("recent", ())

    def _is_small(self) -> bool:
        return self._objects.size(self._key) <= WHOLE_BYTES

    def _name(self, number: int, kind: str) -> str:
        return f"{self._key}.d/{number:012d}{kind}"

    def _encoded(self, document: Document) -> bytes:
        content = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        return gzip.compress(content, mtime=0) if self._compress else content

    def _decoded(self, key: str) -> Document | None:
        """None for what is not there, and for what is damaged, which is put aside first."""
        content = self._objects.read(key)
        if content is None:
            return None
        try:
            read = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
        except (ValueError, OSError, EOFError):
            read = None
        if not isinstance(read, dict):
            self._objects.replace(f"{QUARANTINE}{key}.{uuid4().hex}", content)
            log.warning("stored_object_damaged", bytes=len(content))
            if key.endswith(APPEND):  # its place in the order stays taken
                self._objects.replace(key, self._encoded({"id": "", "operations": []}))
                return {}
            self._objects.delete(key)
            return None
        return read

"""Parts of a stream to lines, events and parts of an import. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memorybase_client import errors
from memorybase_client._calls import encoded

PART_BYTES = 1_000_000
PART_LINES = 1_000

Line = Mapping[str, Any] | str | bytes


class Lines:
    """Splits at line feeds only: a JSON string may contain other separators, at which httpx splits too."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, part: bytes) -> list[bytes]:
        """The lines that this part completes."""
        *whole, self._rest = (self._rest + part).split(b"\n")
        return whole

    @property
    def rest(self) -> bytes:
        """The bytes after the last line feed."""
        return self._rest


@dataclass(slots=True)
class Events:
    """Server-sent events, line by line."""

    _name: str = "message"
    _data: list[bytes] = field(default_factory=list)

    def feed(self, line: bytes) -> tuple[str, bytes] | None:
        """The event that this line ends."""
        line = line.rstrip(b"\r")
        if not line:
            event = (self._name, b"\n".join(self._data)) if self._data else None
            self._name, self._data = "message", []
            return event
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._name = value.decode()
        elif name == b"data":
            self._data.append(value)
        return None


def parts_of(lines: Iterable[Line]) -> Iterator[tuple[int, bytes]]:
    """Parts that one request takes, each with how many lines came before it."""
    before, part, size = 0, list[bytes](), 0
    for line in lines:
        raw = _raw(line)
        if part and (size + len(raw) > PART_BYTES or len(part) == PART_LINES):
            yield before, b"".join(part)
            before, part, size = before + len(part), [], 0
        part.append(raw)
        size += len(raw)
    if part:
        yield before, b"".join(part)


def count_lines_of_all(error: errors.MemorybaseError, before: int) -> None:
    """Count the lines in an error of a part from the first line of all: in `field` and `details["line"]`."""
    if isinstance(error.details.get("line"), int):
        error.details["line"] += before
    if error.field:
        error.field = re.sub(r"^line (\d+)", lambda found: f"line {int(found[1]) + before}", error.field)


def _raw(line: Line) -> bytes:
    raw = line.encode() if isinstance(line, str) else line if isinstance(line, bytes) else encoded(line)
    return raw.rstrip(b"\r\n") + b"\n"


def plus(total: Any, counts: Any) -> Any:
    """Two trees of counts and lists, added."""
    if isinstance(counts, dict):
        total = total or {}
        return total | {name: plus(total.get(name), value) for name, value in counts.items()}
    return counts if total is None else total + counts


def loaded(line: bytes) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(line)
    return read

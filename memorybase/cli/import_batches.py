"""Parts in batches that one `POST /import` takes: a line for each message, run and title."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from memorybase_client.importers.records import Json
from memorybase_client.importers.runs import MESSAGES_PER_PART, Part

from memorybase.core.import_export.conversation_files import checked_message
from memorybase.core.messages import STORED_AS_SENT

# A request takes about a second, which is how often a command can show its progress. It stays below the 1,000 lines and
# 1 MB at which the client would split it.
BATCH_LINES = 900
BATCH_BYTES = 900_000


@dataclass(slots=True)
class Batch:
    """Parts of one flow, with their lines. `owners`: the part of each line, by its position."""

    parts: list[Part] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    size: int = 0  # bytes

    def add(self, part: Part, lines: Sequence[bytes]) -> None:
        self.owners += [len(self.parts)] * len(lines)
        self.parts.append(part)
        self.lines += lines
        self.size += sum(map(len, lines))

    def has_room(self, part: Part, lines: Sequence[bytes]) -> bool:
        size = self.size + sum(map(len, lines))
        is_one_flow = not self.parts or self.parts[0].flow == part.flow
        return is_one_flow and len(self.lines) + len(lines) <= BATCH_LINES and size <= BATCH_BYTES


def batches(parts: Iterable[Part], *, most: int = BATCH_LINES) -> Iterator[Batch]:
    """The parts in order, at most `most` in a batch."""
    batch = Batch()
    for part in parts:
        for small in _in_pieces(part):
            lines = [_raw(line) for line in _lines_of(small)]
            if batch.parts and (len(batch.parts) >= most or not batch.has_room(small, lines)):
                yield batch
                batch = Batch()
            batch.add(small, lines)
    if batch.parts:
        yield batch


def piece(part: Part, start: int, end: int) -> Part:
    """The part with its messages from `start` to `end` alone."""
    return replace(part, messages=part.messages[start:end], places=part.places[start:end])


def _in_pieces(part: Part) -> Iterator[Part]:
    """A long run in parts: new ids append to a known run."""
    for start in range(0, len(part.messages), MESSAGES_PER_PART):
        yield piece(part, start, start + MESSAGES_PER_PART)


def _lines_of(part: Part) -> Iterator[Json]:
    session = {"flow_id": part.flow, "session_id": part.session_id, "end_user_id": part.end_user_id}
    if part.session_metadata:
        yield {"type": "session", **session, "metadata": part.session_metadata}
    yield {"type": "run", **session, "id": part.run_id}
    for message in part.messages:
        checked, _ = checked_message(message)
        yield {
            "type": "message",
            **session,
            "run_id": part.run_id,
            "id": message["id"],
            "parent_message_id": message.get("parent_message_id"),
            "parent_rule": checked.parent_rule,
            **{name: getattr(checked, name) for name in STORED_AS_SENT},
            "timestamp": checked.timestamp and checked.timestamp.isoformat(),
        }


def flow_line(flow: str, name: str) -> bytes:
    """Creates the flow unless it exists."""
    return _raw({"type": "flow", "id": flow, "name": name})


def _raw(line: Json) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

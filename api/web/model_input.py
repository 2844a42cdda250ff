"""What a model read, message by message as it was sent, with the messages that each recalled line comes from. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from api.web.bubbles import texts_and_parts
from api.web.playground.given import KINDS
from memorybase.core.conversation.memory_use.record import NodeUse
from memorybase.core.read_models.run_story import GivenMemory, GivenView

SHOWN_CHARS = 600  # of a message; the rest loads when it is opened
_WRITTEN = re.compile(r"- \[\d{4}-\d{2}-\d{2}\] (?P<speaker>[^:]{1,80}): (?P<text>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """A recalled line as it was sent, and the memory that it comes from."""

    speaker: str
    text: str
    memory: GivenMemory

    @property
    def at(self) -> datetime | None:
        return None if self.memory.message is None else self.memory.message.timestamp


@dataclass(frozen=True, slots=True)
class Read:
    """A message that the model read. `lines`: of recalled memories; `text` is then what stands above them. `number`:
    its index, by which the rest of a long one is fetched."""

    number: int
    kind: str
    role: str
    tokens: int
    text: str
    lines: list[Line]
    is_long: bool


def text_of(message: Mapping[str, Any]) -> str:
    return "\n\n".join(chain(*texts_and_parts(message.get("content"))))


def read_by(use: NodeUse, given: GivenView) -> list[Read]:
    """Every message, in the order in which it was sent."""
    memories = {str(each.message_id): each for each in given.memories}
    found = []
    for number, (message, source) in enumerate(zip(use.messages, use.sources, strict=True)):
        text = text_of(message)
        above, lines = _lines(text, [memories.get(str(each)) for each in source.get("message_ids") or ()])
        if not lines or source["kind"] != "recall":
            above, lines = text, []
        found.append(
            Read(
                number=number,
                kind=KINDS.get(source["kind"], source["kind"]),
                role=str(message.get("role") or message.get("type", "")),
                tokens=int(source.get("tokens") or 0),
                text=above[:SHOWN_CHARS].rstrip() + "…" if len(above) > SHOWN_CHARS else above,
                lines=lines,
                is_long=len(above) > SHOWN_CHARS,
            )
        )
    return found


def unlisted(read: Sequence[Read], given: GivenView) -> list[GivenMemory]:
    """Memories that are part of a text whose lines are not theirs, one by one."""
    listed = {line.memory.message_id for each in read for line in each.lines}
    return [each for each in given.memories if each.message_id not in listed]


def _lines(text: str, memories: Sequence[GivenMemory | None]) -> tuple[str, list[Line]]:
    """The heading, and a line for each memory. No lines if they do not match one by one."""
    pieces = [piece for piece in re.split(r"\n(?=- )", text) if piece.strip()]
    if not memories or len(pieces) != len(memories) + 1:
        return text, []
    lines = []
    for piece, memory in zip(pieces[1:], memories, strict=True):
        if memory is None:
            return text, []
        written = _WRITTEN.fullmatch(piece.rstrip())
        speaker, said = written.group("speaker", "text") if written else ("", piece.removeprefix("- "))
        lines.append(Line(speaker, said, memory))
    return pieces[0].strip(), lines

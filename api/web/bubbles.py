"""Messages as bubbles of a conversation: their text, their other parts in one line each, their tool calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from api.web.badges import Badge
from api.web.rendering import speaker
from memorybase.core.conversation.view.records import call_parts
from memorybase.core.read_models.branches import Branch
from memorybase.core.read_models.sessions import MessageView
from memorybase.core.read_models.transcript import Holding
from memorybase.core.validation import why_unstorable

SHOWN_CHARS = 1_500  # of a text; the rest is folded
NAME_CHARS = 200
TEXT_TYPES = {"text", "input_text", "output_text"}
KINDS = {
    "image": "Image",
    "image_url": "Image",
    "input_image": "Image",
    "audio": "Audio",
    "input_audio": "Audio",
    "video": "Video",
    "video_url": "Video",
    "document": "Document",
    "file": "File",
    "input_file": "File",
}
_NAMES = ("file_name", "filename", "name", "title")
_REFERENCES = (
    "url",
    "remote_url",
    "image_url",
    "file_url",
    "video_url",
    "upload_file_id",
    "tool_file_id",
    "file_id",
    "file_ref",
    "id",
)
_SIZES = ("file_size", "size")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: the tool's name and its arguments, indented if they are JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Bubble:
    """A message as it is shown. `rest`: what follows the first characters of a long text. `day`: its date, if the
    message before it is of another one. `begins_run`: whether it is the first shown of its run."""

    message: MessageView
    text: str
    rest: str
    parts: list[str]
    calls: list[Call]
    holding: Holding
    branch: Branch | None
    day: date | None
    begins_run: bool

    @property
    def side(self) -> str:
        """Whose side of the conversation: user, assistant, or aside for system and tools."""
        role = self.message.role
        return role if role in {"user", "assistant"} else "aside"

    @property
    def speaker(self) -> str:
        return speaker(self.message.sender_name or self.message.name or self.message.role)

    @property
    def state(self) -> Badge | None:
        """In which memories it is; None if no memory base counts it."""
        held = self.holding
        if self.message.muted:
            return Badge("off", "muted", "mute")
        if not held.counted or not self.text:  # without text there is nothing to find
            return None
        if held.failed:
            return Badge("failed", "not searchable")
        if held.lost:
            return Badge("failed", "vectors lost")
        if held.held < held.counted:
            return Badge("waiting", f"in {held.held} of {held.counted} memories" if held.held else "waiting")
        return Badge("ok", "ingested" if held.held == 1 else f"in {held.held} memories")

    @property
    def is_waiting(self) -> bool:
        """Whether its state changes by itself."""
        return self.state is not None and self.state.tone == "waiting"


def bubbles(
    messages: Sequence[MessageView],
    holdings: Mapping[UUID, Holding],
    branches: Mapping[UUID, Branch],
    *,
    after: MessageView | None = None,
) -> list[Bubble]:
    """`after`: the message before them, if it is shown already."""
    shown: list[Bubble] = []
    previous = after
    for message in messages:
        texts, parts = texts_and_parts(message.content)
        parts += [describe_file(file) for file in message.files]
        text = "\n\n".join(texts)
        day = message.timestamp.date()
        shown.append(
            Bubble(
                message,
                text[: (end := _end_of_shown(text))],
                text[end:],
                parts,
                tool_calls(message.tool_calls or ()),
                holdings.get(message.id, Holding()),
                branches.get(message.id),
                day if previous is None or previous.timestamp.date() != day else None,
                previous is None or previous.run_id != message.run_id,
            )
        )
        previous = message
    return shown


def _end_of_shown(text: str) -> int:
    """Between two paragraphs if possible, and not within a code block: both halves are written by themselves."""
    if len(text) <= SHOWN_CHARS:
        return len(text)
    end = text.rfind("\n\n", 0, SHOWN_CHARS)
    while end > 0 and text.count("```", 0, end) % 2:
        end = text.rfind("\n\n", 0, end)
    return end if end > 0 else SHOWN_CHARS


def texts_and_parts(content: Any) -> tuple[list[str], list[str]]:
    """The texts of a content, and its other parts, each in one line."""
    texts: list[str] = []
    parts: list[str] = []
    for part in [content] if isinstance(content, str) else content or ():
        if isinstance(part, str):
            texts.append(part)
        elif part.get("type") in TEXT_TYPES:
            texts.append(str(part.get("text", "")))
        else:
            parts.append(describe_part(part))
    return [text for text in texts if text.strip()], parts


def summary(content: Any, calls: Iterable[Any] = ()) -> str:
    """A message in a list: its text, else its other parts, else the tools that it called."""
    texts, parts = texts_and_parts(content)
    return "\n\n".join(texts) or ", ".join(parts) or ", ".join(f"called {call.name}" for call in tool_calls(calls))


def tool_calls(calls: Iterable[Any]) -> list[Call]:
    found = (call_parts(call if isinstance(call, Mapping) else {}) for call in calls)
    return [Call(name or "unnamed", _pretty(arguments)) for name, arguments in found]


def describe_part(part: Mapping[str, Any]) -> str:
    """A content part other than text, in one line. Nothing is loaded from its URL."""
    kind = str(part.get("type"))
    nested = part.get(kind)
    details = {**part, **nested} if isinstance(nested, Mapping) else dict(part)
    return _describe(KINDS.get(kind, f"Part of type {kind}"), details)


def describe_file(file: Any) -> str:
    """A file in one line; runtimes name its fields differently."""
    if not isinstance(file, Mapping):
        return f"File: {_short(str(file))}"
    return _describe(KINDS.get(str(file.get("type")), "File"), file)


def _describe(kind: str, details: Mapping[str, Any]) -> str:
    names = [_short(str(details[key])) for keys in (_NAMES, _REFERENCES) for key in _first(details, keys)]
    formats = [str(details[key]) for key in _first(details, ("content_type", "mime_type", "format"))]
    sizes = [f"{details[key]:,} bytes" for key in _first(details, _SIZES) if isinstance(details[key], int)]
    text = ", ".join(names + formats + sizes)
    return f"{kind}: {text}" if text else kind


def _first(details: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    return [key for key in keys if details.get(key) and not isinstance(details[key], dict | list)][:1]


def _short(text: str) -> str:
    """A name or a URL; for a data URL only its length."""
    if text.startswith("data:"):
        return f"inline, {len(text):,} characters"
    return text if len(text) <= NAME_CHARS else f"{text[:NAME_CHARS]}…"


def _pretty(arguments: str) -> str:
    try:
        indented = json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
    return indented if why_unstorable(indented) is None else arguments  # half an emoji: no page can hold it

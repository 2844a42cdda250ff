"""What one message says, for people: its text, its other parts by name, its tool calls, its files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nicegui import ui

from api.web import parts
from memorybase.conversation.view.records import call_parts
from memorybase.read_models.sessions import MessageView

# Of a longer text so much is shown at once: a page of fifty stays quick.
SHOWN_CHARS = 2_000
NAMED_CHARS = 200

TEXT_TYPES = {"text", "input_text", "output_text"}
KINDS = {
    "image": "Image", "image_url": "Image", "input_image": "Image", "audio": "Audio", "input_audio": "Audio",
    "video": "Video", "video_url": "Video", "document": "Document", "file": "File", "input_file": "File",
}  # fmt: skip
_NAMES = ("file_name", "filename", "name", "title")
_POINTERS = ("url", "remote_url", "image_url", "file_url", "video_url", "upload_file_id", "tool_file_id", "file_id",
             "file_ref", "id")  # fmt: skip
_SIZES = ("file_size", "size")


def name(said: MessageView) -> str:
    """What a message is called where it is not seen."""
    return f"Message {said.seq}, {said.role}"


def who(said: MessageView) -> None:
    """Who said it, which message it is, and when."""
    parts.said("span", said.role).classes(f"role {said.role}")
    if speaker := said.sender_name or said.name:
        parts.said("span", speaker)
    parts.said("span", f"#{said.seq}").classes("quiet")
    parts.said("time", parts.moment(said.timestamp)).classes("quiet")


def message(said: MessageView) -> None:
    """All that a stored message says."""
    if said.tool_call_id:
        ui.label(f"Result of call {said.tool_call_id}").classes("quiet")
    content(said.content)
    calls(said.tool_calls or ())
    if said.files:
        files(said.files)


def content(said: Any) -> None:
    """A message's content: a string, content parts, or nothing."""
    for part in [said] if isinstance(said, str) else said or ():
        if isinstance(part, str):
            text(part)
        elif part.get("type") in TEXT_TYPES:
            text(str(part.get("text", "")))
        else:
            ui.label(part_words(part)).classes("part")


def text(words: str) -> None:
    """All of it, or its beginning and the way to all of it."""
    if not words.strip():
        return
    if len(words) <= SHOWN_CHARS:
        ui.label(words).classes("words")
        return
    with ui.element("div"):
        label = ui.label(words[:SHOWN_CHARS] + "…").classes("words")

        def show_all() -> None:
            label.set_text(words)
            way.delete()

        way = parts.button(f"Show all {parts.number(len(words))} characters", show_all)


def calls(tool_calls: Iterable[Any]) -> None:
    """Each tool call by its name, with what it was given."""
    for call in tool_calls:
        name, arguments = call_parts(call if isinstance(call, Mapping) else {})
        folded(f"Calls {name or 'a tool'}", _pretty(arguments))


def files(listed: Iterable[Any]) -> None:
    with ui.element("ul").classes("files"):
        for file in listed:
            parts.said("li", file_words(file)).classes("part")


def folded(title: str, words: str) -> None:
    """A text below a title that opens it."""
    with ui.element("details").classes("folded"):
        parts.said("summary", title)
        parts.said("pre", words[:SHOWN_CHARS]).props('tabindex="0"')


def part_words(part: Mapping[str, Any]) -> str:
    """A content part that is no text, in one line; nothing of it is loaded."""
    kind = str(part.get("type"))
    within = part.get(kind)
    about = {**part, **within} if isinstance(within, Mapping) else dict(part)
    return _about(KINDS.get(kind, f"Part of type {kind}"), about)


def file_words(file: Any) -> str:
    """A file in one line, however its owner describes it."""
    if not isinstance(file, Mapping):
        return f"File: {_short(str(file))}"
    return _about(KINDS.get(str(file.get("type")), "File"), file)


def _about(kind: str, about: Mapping[str, Any]) -> str:
    known = [_short(str(about[key])) for keys in (_NAMES, _POINTERS) for key in _first(about, keys)]
    kinds = [str(about[key]) for key in _first(about, ("content_type", "mime_type", "format"))]
    sizes = [f"{about[key]:,} bytes" for key in _first(about, _SIZES) if isinstance(about[key], int)]
    told = ", ".join(known + kinds + sizes)
    return f"{kind}: {told}" if told else kind


def _first(about: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    return [key for key in keys if about.get(key) and not isinstance(about[key], dict | list)][:1]


def _short(words: str) -> str:
    """A name, or an address; of one that holds the file itself, how large it is."""
    if words.startswith("data:"):
        return f"inline, {parts.number(len(words))} characters"
    return words if len(words) <= NAMED_CHARS else f"{words[:NAMED_CHARS]}…"


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments

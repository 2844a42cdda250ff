"""A message on the page: its text, its other parts by name, its tool calls and files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nicegui import ui

from api.web import parts
from memorybase.conversation.view.records import call_parts
from memorybase.read_models.sessions import MessageView

# Longer texts are truncated until opened, so that a page of fifty messages loads fast.
SHOWN_CHARS = 2_000
NAME_CHARS = 200

TEXT_TYPES = {"text", "input_text", "output_text"}
KINDS = {
    "image": "Image", "image_url": "Image", "input_image": "Image", "audio": "Audio", "input_audio": "Audio",
    "video": "Video", "video_url": "Video", "document": "Document", "file": "File", "input_file": "File",
}  # fmt: skip
_NAMES = ("file_name", "filename", "name", "title")
_REFERENCES = ("url", "remote_url", "image_url", "file_url", "video_url", "upload_file_id", "tool_file_id", "file_id",
             "file_ref", "id")  # fmt: skip
_SIZES = ("file_size", "size")


def aria_label(message: MessageView) -> str:
    return f"Message {message.seq}, {message.role}"


def byline(message: MessageView) -> None:
    """Role, speaker, number and time of a message."""
    parts.text_element("span", message.role).classes(f"role {message.role}")
    if speaker := message.sender_name or message.name:
        parts.text_element("span", speaker)
    parts.text_element("span", f"#{message.seq}").classes("muted")
    parts.text_element("time", parts.utc_time(message.timestamp)).classes("muted")


def message_body(message: MessageView) -> None:
    """A stored message without its byline."""
    message_content(message.content, message.tool_calls or (), message.tool_call_id)
    if message.files:
        with ui.element("ul").classes("files"):
            for file in message.files:
                parts.text_element("li", _describe_file(file)).classes("part")


def message_content(content: Any, tool_calls: Iterable[Any], tool_call_id: str | None) -> None:
    """Content (a string, content parts or None) and tool calls."""
    if tool_call_id:
        parts.hint(f"Result of tool call {tool_call_id}")
    for part in [content] if isinstance(content, str) else content or ():
        if isinstance(part, str):
            _text(part)
        elif part.get("type") in TEXT_TYPES:
            _text(str(part.get("text", "")))
        else:
            ui.label(_describe_part(part)).classes("part")
    for call in tool_calls:
        name, arguments = call_parts(call if isinstance(call, Mapping) else {})
        collapsed(f"Tool call: {name or 'unnamed'}", _pretty(arguments))


def collapsed(title: str, text: str) -> None:
    """A title that opens a text."""
    with ui.element("details").classes("collapsed"):
        parts.text_element("summary", title)
        parts.text_element("pre", text[:SHOWN_CHARS]).props('tabindex="0"')


def _text(text: str) -> None:
    """A text; a long one is truncated, with a button that shows all of it."""
    if not text.strip():
        return
    if len(text) <= SHOWN_CHARS:
        ui.label(text).classes("message-text")
        return
    with ui.element("div"):
        label = ui.label(text[:SHOWN_CHARS] + "…").classes("message-text")

        def show_all() -> None:
            label.set_text(text)
            button.delete()

        button = parts.button(f"Show all {parts.number(len(text))} characters", show_all)


def _describe_part(part: Mapping[str, Any]) -> str:
    """A content part other than text, in one line. Nothing is loaded from its URL."""
    kind = str(part.get("type"))
    nested = part.get(kind)
    details = {**part, **nested} if isinstance(nested, Mapping) else dict(part)
    return _describe(KINDS.get(kind, f"Part of type {kind}"), details)


def _describe_file(file: Any) -> str:
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
        return f"hstack, {parts.number(len(text))} characters"
    return text if len(text) <= NAME_CHARS else f"{text[:NAME_CHARS]}…"


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments

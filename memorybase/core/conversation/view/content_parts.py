"""Content parts as chat completions take them: those of other makers are translated, or a line replaces them.

Outside user messages only text goes to a model, in an assistant's also a refusal. Images and files of a tool's result
stay here, for `rendering.arrange` to move. Sources: the references of OpenAI's chat completions and Responses API, of
Anthropic's Messages API, of LangChain's content blocks, and of the AI SDK's messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memorybase.core.conversation.view.files import is_url, type_of, url_label
from memorybase.core.conversation.view.records import Record, plain, text_part
from memorybase.core.conversation.view.tokens import IMAGE_TYPES

Part = dict[str, Any]

_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content", "step-start"})
_CALLS = frozenset({"tool_use", "tool_call", "tool-call"})
_RESULTS = frozenset({"tool_result", "tool-result"})
_TEXTS = frozenset({"input_text", "output_text"})
_FILES = frozenset({"file", "input_file", "document", "media"})
_MEDIA_TYPES = ("media_type", "mime_type", "mimeType", "mediaType")


def accepted(record: Record) -> tuple[list[Record], int]:
    """The record with the parts that its role may have, its results as separate messages, and the number of its parts
    that a model does not get."""
    if not isinstance(record.content, list):
        return [record], 0
    reading = _Reading(record)
    for part in record.content:
        reading.read(part)
    return reading.records(), reading.lost


class _Reading:
    """Sorts the parts of one message."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.parts: list[Part] = []
        self.calls: list[Mapping[str, Any]] = list(record.tool_calls)
        self.results: list[Record] = []
        self.lost = 0

    def read(self, part: Part) -> None:
        kind = part.get("type")
        role = self.record.role
        if kind in _THOUGHTS:
            self.lost += 1
        elif kind in _CALLS and role == "assistant":
            self._read_call(part)
        elif kind in _RESULTS and role != "system":
            self._read_result(part)
        elif role == "assistant" and "toolCallId" in part:  # a page's part: the call, with its result if it has one
            named = {"toolName": str(kind).removeprefix("tool-"), **part}
            self._read_call(named)
            if "output" in part or "errorText" in part:
                self._read_result(named)
        else:
            self._add(_translated(part))

    def _add(self, part: Part) -> None:
        if not _may_have(self.record.role, part):
            part = text_part(stub_of(part))
            self.lost += 1
        self.parts.append(part)

    def _read_call(self, part: Part) -> None:
        """LangChain's messages name their calls twice: in the content and in tool_calls."""
        identity = part.get("id", part.get("toolCallId"))
        if any(call.get("id") == identity for call in self.calls):
            return
        arguments = part.get("input", part.get("args", part.get("arguments")))
        name = part.get("name", part.get("toolName"))
        self.calls.append({"id": str(identity or ""), "name": name, "args": arguments})

    def _read_result(self, part: Part) -> None:
        content = _result_of(part)
        result = replace(
            self.record,
            role="tool",
            content=_parts(content) if isinstance(content, list) else content,
            tool_calls=(),
            tool_call_id=str(part.get("tool_use_id", part.get("toolCallId")) or ""),
            name=None,
            files=(),
        )
        (read,), lost = accepted(result)  # one record: `_parts` leaves no result in it
        self.results.append(read)
        self.lost += lost

    def records(self) -> list[Record]:
        if self.results and not self.parts and not self.calls and not self.record.files:
            return self.results
        rest = replace(self.record, content=plain(self.parts), tool_calls=self.calls)
        return [rest, *self.results] if self.calls else [*self.results, rest]


def _result_of(part: Part) -> str | list[Any]:
    """The text or parts of a result, where Anthropic and the AI SDK's versions have it."""
    names = ("content", "output", "result", "errorText")
    found = next((part[name] for name in names if part.get(name) is not None), "")
    if isinstance(found, Mapping) and found.keys() == {"type", "value"}:
        kind, found = found["type"], found["value"]
        if isinstance(found, list) and kind == "content":
            return found
    if isinstance(found, str) or (isinstance(found, list) and part.get("type") == "tool_result"):
        return found
    return json.dumps(found, ensure_ascii=False)


def _parts(content: Sequence[Any]) -> list[Part]:
    """A result's parts, which no capture checks: a result in it becomes its own parts, and what is no part its JSON."""
    parts: list[Part] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(kind, str) and kind in _RESULTS:
            inner = _result_of(part)
            parts += _parts(inner) if isinstance(inner, list) else [text_part(inner)]
        elif isinstance(kind, str) and (kind not in _TEXTS | {"text"} or isinstance(part.get("text"), str)):
            parts.append(part)
        else:
            text = part.get("text") if isinstance(part, dict) else part
            parts.append(text_part(text if isinstance(text, str) else json.dumps(part, ensure_ascii=False)))
    return parts


def _may_have(role: str, part: Part) -> bool:
    kind = part["type"]
    if kind == "text" or (kind == "refusal" and role == "assistant"):
        return True
    if kind == "file" and not _is_given(part.get("file")):
        return False
    if role == "user":
        return kind in {"image_url", "file", "input_audio"}
    return role == "tool" and kind in {"image_url", "file"}


def _is_given(file: Any) -> bool:
    return isinstance(file, Mapping) and bool(file.get("file_id") or file.get("file_data"))


def _translated(part: Part) -> Part:
    """The part of chat completions; any other type is returned as it is."""
    kind = part.get("type")
    if kind in _TEXTS or (kind not in {"text", "refusal"} | IMAGE_TYPES | _FILES and isinstance(part.get("text"), str)):
        return text_part(part["text"])
    if kind in IMAGE_TYPES or (kind in _FILES and str(_media_type(part)).startswith("image/")):
        return _image(part)
    if kind in _FILES:
        return _file(part)
    return part


def _image(part: Part) -> Part:
    image = part.get("image_url")
    if isinstance(image, Mapping) and isinstance(image.get("url"), str):
        return {**part, "type": "image_url"}
    url = image if isinstance(image, str) else _data_of(part, "image/png")
    if url is None:
        return part | {"type": "image"}
    detail = part.get("detail")
    return {"type": "image_url", "image_url": {"url": url} | ({"detail": detail} if isinstance(detail, str) else {})}


def _file(part: Part) -> Part:
    if _is_given(part.get("file")):
        return part
    source = part.get("source")
    if isinstance(source, Mapping) and isinstance(source.get("data"), str) and source.get("type") == "text":
        return text_part("\n".join(text for text in (part.get("title"), source["data"]) if isinstance(text, str)))
    names = {"filename": _name(part)} if _name(part) else {}
    if isinstance(part.get("file_id"), str):
        return {"type": "file", "file": {"file_id": part["file_id"], **names}}
    data = part.get("file_data")
    url = data if isinstance(data, str) else _data_of(part, "application/pdf")
    kind = type_of(_media_type(part)) if _media_type(part) else part["type"]
    # Chat completions fetch no files, and read neither sounds nor videos in them.
    if url is None or not url.startswith("data:") or kind in {"audio", "video"}:
        return part | {"type": kind}
    return {"type": "file", "file": {"file_data": url, **names}}


def _data_of(part: Part, media_type: str) -> str | None:
    """The URL, or the bytes as a data URL, where Anthropic, LangChain and MCP have it."""
    given = part["source"] if isinstance(part.get("source"), Mapping) else part
    url = given.get("url")
    if isinstance(url, str):
        return url
    data = given.get("base64", given.get("data", given.get("image")))
    if not isinstance(data, str):
        return None
    return data if is_url(data) else f"data:{_media_type(given) or media_type};base64,{data}"


def _media_type(given: Mapping[str, Any]) -> Any:
    return next((given[name] for name in _MEDIA_TYPES if given.get(name)), None)


def stub_of(part: Part) -> str:
    """The line that a model reads instead of the part, without its data."""
    kind = str(part.get("type"))
    shown = {"image_url": "image", "input_image": "image", "input_file": "file", "input_audio": "audio"}.get(kind, kind)
    name = _name(part)
    return f"[{shown}: {name}]" if name else f"[{shown}]"


def _name(part: Part) -> str | None:
    nested = part.get("file")
    for holder in (part, nested if isinstance(nested, Mapping) else {}):
        for key in ("filename", "file_name", "name", "title"):
            if isinstance(holder.get(key), str) and holder[key]:
                return str(holder[key])
    url = next((part[key] for key in ("file_url", "url", "data", "image") if is_url(part.get(key))), None)
    image = part.get("image_url")
    if isinstance(image, Mapping):
        url = image.get("url")
    return url_label(url) if isinstance(url, str) and not url.startswith("data:") else None

"""Content parts as chat completions take them: those of other makers are translated, or a line replaces them.

Outside user messages only text goes to a model, in an assistant's also a refusal. Images and files of a tool's result
stay here, for `rendering.arrange` to move. Sources: the references of OpenAI's chat completions and Responses API, of
Anthropic's Messages API, and of LangChain's content blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memorybase.conversation.view.files import url_label
from memorybase.conversation.view.records import Record, plain, text_part
from memorybase.conversation.view.tokens import IMAGE_TYPES

Part = dict[str, Any]

_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
_CALLS = frozenset({"tool_use", "tool_call"})
_TEXTS = frozenset({"input_text", "output_text"})
_FILES = frozenset({"file", "input_file", "document"})


def accepted(record: Record) -> tuple[list[Record], int]:
    """The record with parts that its role may have, results in it as messages of their own, and how many of its parts
    a model does not get."""
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
        elif kind == "tool_result" and role == "user":
            self._read_result(part)
        else:
            self._add(_translated(part))

    def _add(self, part: Part) -> None:
        if not _may_have(self.record.role, part):
            part = text_part(stub_of(part))
            self.lost += 1
        self.parts.append(part)

    def _read_call(self, part: Part) -> None:
        """LangChain's messages name their calls twice: in the content and in tool_calls."""
        if any(call.get("id") == part.get("id") for call in self.calls):
            return
        arguments = part.get("input", part.get("args", part.get("arguments")))
        self.calls.append({"id": str(part.get("id") or ""), "name": part.get("name"), "args": arguments})

    def _read_result(self, part: Part) -> None:
        content = part.get("content")
        result = replace(
            self.record,
            role="tool",
            content=_parts(content) if isinstance(content, list) else str(content or ""),
            tool_calls=(),
            tool_call_id=str(part.get("tool_use_id") or ""),
            name=None,
            files=(),
        )
        (read,), lost = accepted(result)
        self.results.append(read)
        self.lost += lost

    def records(self) -> list[Record]:
        if self.results and not self.parts and not self.record.files:
            return self.results
        return [*self.results, replace(self.record, content=plain(self.parts), tool_calls=self.calls)]


def _parts(content: Sequence[Any]) -> list[Part]:
    return [part if isinstance(part, dict) else text_part(str(part)) for part in content]


def _may_have(role: str, part: Part) -> bool:
    kind = part["type"]
    if kind == "text" or (kind == "refusal" and role == "assistant"):
        return True
    if role == "user":
        return kind in {"image_url", "file", "input_audio"}
    return role == "tool" and kind in {"image_url", "file"}


def _translated(part: Part) -> Part:
    """The part of chat completions; any other type is returned as it is."""
    kind = part.get("type")
    if kind in _TEXTS or (kind not in {"text", "refusal"} | IMAGE_TYPES | _FILES and isinstance(part.get("text"), str)):
        return text_part(part["text"])
    if kind in IMAGE_TYPES:
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
    file = part.get("file")
    if isinstance(file, Mapping) and (file.get("file_id") or file.get("file_data")):
        return part
    source = part.get("source")
    if isinstance(source, Mapping) and isinstance(source.get("data"), str) and source.get("type") == "text":
        return text_part("\n".join(text for text in (part.get("title"), source["data"]) if isinstance(text, str)))
    names = {"filename": _name(part)} if _name(part) else {}
    if isinstance(part.get("file_id"), str):
        return {"type": "file", "file": {"file_id": part["file_id"], **names}}
    data = part.get("file_data")
    url = data if isinstance(data, str) else _data_of(part, "application/pdf")
    if url is None or not url.startswith("data:"):  # chat completions fetch no files
        return part
    return {"type": "file", "file": {"file_data": url, **names}}


def _data_of(part: Part, media_type: str) -> str | None:
    """The URL, or the bytes as a data URL, where Anthropic, LangChain and MCP have it."""
    given = part["source"] if isinstance(part.get("source"), Mapping) else part
    url = given.get("url")
    if isinstance(url, str):
        return url
    data = given.get("base64", given.get("data"))
    if not isinstance(data, str):
        return None
    kind = given.get("media_type") or given.get("mime_type") or given.get("mimeType") or media_type
    return data if data.startswith("data:") else f"data:{kind};base64,{data}"


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
    url = part.get("file_url") or part.get("url")
    image = part.get("image_url")
    if isinstance(image, Mapping):
        url = image.get("url")
    return url_label(url) if isinstance(url, str) and not url.startswith("data:") else None

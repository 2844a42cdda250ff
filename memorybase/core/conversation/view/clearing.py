"""Clears what is old and large: tool results get a placeholder, images a line of text; calls and messages stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memorybase.core.conversation.view.files import url_label
from memorybase.core.conversation.view.records import Record, call_parts, parts_of, plain, text_part
from memorybase.core.conversation.view.tokens import IMAGE_TYPES
from memorybase.core.conversation.view.turns import open_question


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultClearing:
    """Which results are cleared, and what replaces them. `above_tokens`: only if the records cost more than that."""

    keep_last_n: int = 0
    exclude_tools: frozenset[str] = frozenset()
    placeholder: str = ""
    above_tokens: int | None = None


def clear_tool_results(records: Sequence[Record], clearing: ToolResultClearing) -> list[Record]:
    """The records with their tool results cleared, except those of an unfinished turn."""
    question = open_question(records)
    end = len(records) if question is None else question
    names = _tool_names(records)
    results = [
        index
        for index, record in enumerate(records[:end])
        if record.role == "tool" and (record.name or names.get(index)) not in clearing.exclude_tools
    ]
    cleared = set(results[: max(0, len(results) - clearing.keep_last_n)])
    return [
        record.with_content(clearing.placeholder) if index in cleared else record
        for index, record in enumerate(records)
    ]


def _tool_names(records: Sequence[Record]) -> dict[int, str]:
    """The tool of each result by its index: the call names it, the result may not."""
    name_of_call: dict[str, str] = {}
    names: dict[int, str] = {}
    for index, record in enumerate(records):
        for call in record.tool_calls:
            name_of_call[str(call.get("id") or "")] = call_parts(call)[0]
        if record.role == "tool":
            names[index] = name_of_call.get(record.tool_call_id or "", "")
    return names


def keep_newest_images(records: Sequence[Record], budget: int) -> list[Record]:
    """The records with the last `budget` image parts; stubs replace the others. No message is dropped."""
    left = budget
    kept: list[Record] = []
    for record in reversed(records):
        parts: list[dict[str, Any]] = []
        has_stub = False
        for part in reversed(parts_of(record.content)):
            if part.get("type") not in IMAGE_TYPES:
                parts.append(part)
            elif left > 0:
                left -= 1
                parts.append(part)
            else:
                has_stub = True
                parts.append(text_part(f"[image: {_image_name(part)}]"))
        kept.append(record.with_content(plain(parts[::-1])) if has_stub else record)
    kept.reverse()
    return kept


def _image_name(part: dict[str, Any]) -> str:
    if part.get("name"):
        return str(part["name"])
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    return url_label(url) if isinstance(url, str) else "file"

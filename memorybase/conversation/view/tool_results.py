"""Replaces the content of old tool results with a placeholder; the calls stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memorybase.conversation.view.records import Record, call_parts
from memorybase.conversation.view.turns import open_question


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearing:
    """Which results are cleared, and what replaces them. `above_tokens`: only if the records cost more than that."""

    keep_last_n: int = 0
    exclude_tools: frozenset[str] = frozenset()
    placeholder: str = ""
    above_tokens: int | None = None


def clear_tool_results(records: Sequence[Record], clearing: Clearing) -> list[Record]:
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

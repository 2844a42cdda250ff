"""Tool results emptied: the calls stay, what they brought goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memorybase.conversation.view.records import Record, call_parts
from memorybase.conversation.view.turns import open_question


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearing:
    """Which results are emptied, and what stands in their place. `above_tokens`: only when there is more than that."""

    keep_last_n: int = 0
    exclude_tools: frozenset[str] = frozenset()
    placeholder: str = ""
    above_tokens: int | None = None


def clear_tool_results(records: Sequence[Record], clearing: Clearing) -> list[Record]:
    """The records with their tool results emptied, but those of the turn that a model is still at work on."""
    question = open_question(records)
    end = len(records) if question is None else question
    names = _tool_names(records)
    results = [
        index
        for index, record in enumerate(records[:end])
        if record.role == "tool" and (record.name or names.get(index)) not in clearing.exclude_tools
    ]
    emptied = set(results[: max(0, len(results) - clearing.keep_last_n)])
    return [
        record.with_content(clearing.placeholder) if index in emptied else record
        for index, record in enumerate(records)
    ]


def _tool_names(records: Sequence[Record]) -> dict[int, str]:
    """The tool that each result came from, by the call before it: results need not name it."""
    called: dict[str, str] = {}
    names: dict[int, str] = {}
    for index, record in enumerate(records):
        for call in record.tool_calls:
            called[str(call.get("id") or "")] = call_parts(call)[0]
        if record.role == "tool":
            names[index] = called.get(record.tool_call_id or "", "")
    return names

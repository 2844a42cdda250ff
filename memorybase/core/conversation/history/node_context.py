"""Converts the context of a node's execution to records: its prompt without the system message, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memorybase.core.conversation.view.files import FileRef, FileResolver, FileType
from memorybase.core.conversation.view.records import Record, plain, text_part
from memorybase.core.messages import canonical
from memorybase.core.models import NodeExecution

_TYPES: dict[str, FileType] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "document": "document",
    "file": "document",
}


@dataclass(frozen=True, slots=True)
class Restored:
    """Records, oldest first, and whether a file became a stub."""

    records: list[Record]
    is_degraded: bool


def restore(execution: NodeExecution, resolve: FileResolver) -> Restored:
    """Its context without the few-shots before it, with files resolved. Its id begins the ids of the records."""
    records: list[Record] = []
    is_degraded = False
    context = _without_few_shots(execution.outputs.get("context") or (), execution.few_shots)
    for seq, message in enumerate(context, start=1):
        record = Record.from_openai(message, id=f"{execution.id}:{seq}", seq=seq)
        if isinstance(record.content, list):
            parts = [_restored_part(part, resolve) for part in record.content]
            is_degraded = is_degraded or any(is_stub for _, is_stub in parts)
            record = replace(record, content=plain([part for part, _ in parts]))
        records.append(record)
    return Restored(records, is_degraded)


def merged(contexts: Sequence[Sequence[Record]]) -> list[Record]:
    """The records of executions that did not see each other, each once: what they share, then what each one added. One
    that did see the one before begins with its end."""
    records: list[Record] = []
    for context in contexts:
        known, new = [_identity(record) for record in records], [_identity(record) for record in context]
        records += context[max(_common_prefix(known, new), _overlap(known, new)) :]
    return [replace(record, seq=seq) for seq, record in enumerate(records, start=1)]


def _identity(record: Record) -> bytes:
    return canonical([record.role, record.content, list(record.tool_calls), record.tool_call_id])


def _common_prefix(left: Sequence[bytes], right: Sequence[bytes]) -> int:
    return next(
        (index for index, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )


def _overlap(left: Sequence[bytes], right: Sequence[bytes]) -> int:
    """The largest number of records with which `left` ends and `right` begins."""
    sizes = range(min(len(left), len(right)), 0, -1)
    return next((size for size in sizes if left[-size:] == right[:size]), 0)


def _without_few_shots(
    context: Sequence[Mapping[str, Any]], few_shots: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """The context without system messages, and without few-shots, which a runtime that puts them before its history in
    each turn repeats."""
    without_system = [message for message in context if message.get("role") != "system"]
    examples = [canonical(message) for message in few_shots if message.get("role") != "system"]
    while examples and [canonical(message) for message in without_system[: len(examples)]] == examples:
        without_system = without_system[len(examples) :]
    return without_system


def _restored_part(part: dict[str, Any], resolve: FileResolver) -> tuple[dict[str, Any], bool]:
    """The part as a model can read it, or a stub and True."""
    kind = _TYPES.get(str(part.get("type")))
    if kind is None:
        return part, False
    inline = _inline(part)
    if inline is not None:
        return inline, False
    label = part.get("filename") or part.get("name")
    file = FileRef.from_ref(str(part.get("file_ref") or ""), type=kind, name=label if isinstance(label, str) else None)
    resolved = None if file is None else resolve(file)
    if resolved is not None:
        return resolved, False
    return text_part(f"[{kind}: {label or 'file'}]" if file is None else file.stub), True


def _inline(part: dict[str, Any]) -> dict[str, Any] | None:
    """The part to send if it still has its bytes or URL: OpenAI's as it is, images of other shapes in OpenAI's.
    Runtimes cut long bytes, which makes them useless."""
    data, url = part.get("base64_data"), part.get("url")
    if isinstance(data, str) and data and "[TRUNCATED]" not in data:
        url = f"data:{part.get('mime_type') or 'image/png'};base64,{data}"
    if "base64_data" in part or "file_ref" in part or isinstance(part.get("url"), str):
        return {"type": "image_url", "image_url": {"url": url}} if url and part["type"] == "image" else None
    return part

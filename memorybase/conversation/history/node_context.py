"""The context that a node gave out, as records: its prompt without the system message, and what it answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memorybase.conversation.view.files import FileRef, FileResolver, FileType
from memorybase.conversation.view.records import Record, plain, text_part
from memorybase.messages import canonical

_TYPES: dict[str, FileType] = {
    "image": "image", "image_url": "image", "input_image": "image", "audio": "audio", "input_audio": "audio",
    "video": "video", "video_url": "video", "document": "document", "file": "document",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Restored:
    """Records, oldest first, and whether a file became a stub."""

    records: list[Record]
    is_degraded: bool


def restored(
    context: Sequence[Mapping[str, Any]],
    *,
    few_shots: Sequence[Mapping[str, Any]] = (),
    name: str,
    resolve: FileResolver,
) -> Restored:
    """The context without the few-shots that stand in front of it, its files found again. `name` is of whose it is."""
    records: list[Record] = []
    is_degraded = False
    for seq, message in enumerate(_without_few_shots(context, few_shots), start=1):
        if message.get("role") == "system":
            continue
        record = Record.from_openai(message, id=f"{name}:{seq}", seq=seq)
        if isinstance(record.content, list):
            found = [_restored_part(part, resolve) for part in record.content]
            is_degraded = is_degraded or any(is_stub for _, is_stub in found)
            record = replace(record, content=plain([part for part, _ in found]))
        records.append(record)
    return Restored(records, is_degraded)


def _without_few_shots(
    context: Sequence[Mapping[str, Any]], few_shots: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """A runtime that put them in front in each turn, its history included, has them there more than once."""
    spoken = [message for message in context if message.get("role") != "system"]
    examples = [canonical(message) for message in few_shots if message.get("role") != "system"]
    while examples and [canonical(message) for message in spoken[: len(examples)]] == examples:
        spoken = spoken[len(examples) :]
    return spoken


def _restored_part(part: dict[str, Any], resolve: FileResolver) -> tuple[dict[str, Any], bool]:
    """A part that a model can read, or the stub of one that it cannot be given."""
    kind = _TYPES.get(str(part.get("type")))
    if kind is None:
        return part, False
    inline = _inline(part)
    if inline is not None:
        return inline, False
    label = part.get("filename") or part.get("name")
    file = FileRef.from_ref(str(part.get("file_ref") or ""), type=kind, name=label if isinstance(label, str) else None)
    found = None if file is None else resolve(file)
    if found is not None:
        return found, False
    return text_part(f"[{kind}: {label or 'file'}]" if file is None else file.stub), True


def _inline(part: dict[str, Any]) -> dict[str, Any] | None:
    """The part as it can be sent, where it still has its bytes or address: OpenAI's as it is, Dify's images in
    OpenAI's shape. Bytes of which a middle was cut out are none."""
    data, url = part.get("base64_data"), part.get("url")
    if isinstance(data, str) and data and "[TRUNCATED]" not in data:
        url = f"data:{part.get('mime_type') or 'image/png'};base64,{data}"
    if "base64_data" in part or "file_ref" in part or isinstance(part.get("url"), str):
        return {"type": "image_url", "image_url": {"url": url}} if url and part["type"] == "image" else None
    return part

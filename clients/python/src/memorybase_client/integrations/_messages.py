"""A host's objects as messages, within the server's bounds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memorybase_client._calls import encoded

if TYPE_CHECKING:
    from memorybase_client import models

Json = dict[str, Any]

MAX_NAME_CHARS = 200  # the server's bound for name and sender_name
MAX_MESSAGES = 500  # of one run; the server's default bound is twice that
MAX_BYTES = 1_000_000  # of one run, unless a single message is larger


def batches(messages: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The messages in runs that the server accepts. A large message is alone: if it is refused, it is the only one."""
    batch: list[Mapping[str, Any]] = []
    size = 0
    for message in messages:
        length = len(encoded(message))
        if batch and (len(batch) == MAX_MESSAGES or size + length > MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield batch


def with_rest(fields: Json, key: str, rest: Json, whole: str) -> Json:
    """A message of these fields, with the rest of the host's object as metadata. If the server could not store that,
    the whole object is metadata, as its JSON text."""
    message = fields | {"metadata": {key: rest}}
    if is_storable(message):
        return message
    same = {name: fields[name] for name in ("id", "role", "timestamp") if name in fields}
    text = "\n".join(storable_text(each) for each in texts(fields["content"]))
    return same | {"content": text, "metadata": {_whole(key): whole}}


def rest_of(message: models.MessageView, key: str) -> Json | None:
    """The data that with_rest stored with the fields; None if another client captured the message."""
    rest = message.metadata.get(key)
    return rest if isinstance(rest, dict) else None


def whole_of(message: models.MessageView, key: str) -> Json | None:
    """The object that with_rest stored as a whole, if it did."""
    text = message.metadata.get(_whole(key))
    return json.loads(text) if isinstance(text, str) else None


def texts(content: Any) -> Iterator[str]:
    """The texts of a message's content."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (part["text"] for part in content if isinstance(part.get("text"), str))


def storable_text(text: str) -> str:
    """The text, with replacements for a NUL and for lone surrogates, which the server cannot store."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def is_storable(value: Any) -> bool:
    """Whether it has no NUL, no lone surrogate and no number that JSON does not have."""
    try:
        return b"\\u0000" not in encoded(value)
    except ValueError:
        return False


def is_name(value: Any) -> bool:
    """Whether the server takes it as name or sender_name."""
    return isinstance(value, str) and len(value) <= MAX_NAME_CHARS


def _whole(key: str) -> str:
    return f"{key}_json"

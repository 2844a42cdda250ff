"""Token counts of messages: everything that is sent counts, not only text."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from memorybase.core.conversation.view.records import Record, call_parts
from memorybase.core.conversation.view.token_estimate import estimated_tokens

IMAGE_TYPES = frozenset({"image_url", "image", "input_image"})
RECENT = 50_000  # texts whose count a counter remembers: the views of one request show mostly the same messages


class TokenCounter(Protocol):
    """Counts the tokens of one message as it is sent; the report contains its name."""

    @property
    def name(self) -> str: ...

    def count(self, record: Record) -> int:
        """Tokens of a record, at least 0; a conversation costs the sum of its messages."""


@dataclass(frozen=True, slots=True)
class Overheads:
    """Tokens other than text: OpenAI's published numbers where there are any; the others are rather too high."""

    message: int = 3  # role and delimiters
    name: int = 1
    tool_call: int = 8  # its id, type and braces; the result repeats the id
    image: int = 765  # 1024 x 1024 in high detail
    small_image: int = 85  # detail low
    other_part: int = 1000  # audio, video or a document of unknown length


class _Remembered:
    """Counts of recent texts, by digest."""

    def __init__(self, tokens_of: Callable[[str], int]) -> None:
        self._tokens_of = tokens_of
        self._recent: dict[bytes, int] = {}

    def __call__(self, text: str) -> int:
        encoded = text.encode("utf-8", "surrogatepass")
        key = encoded if len(encoded) <= 32 else hashlib.blake2b(encoded, digest_size=32).digest()
        tokens = self._recent.get(key)
        if tokens is None:
            tokens = self._tokens_of(text)
            if len(self._recent) >= RECENT:
                self._recent.clear()
            self._recent[key] = tokens
        return tokens


class TextCounter:
    """A counter based on a function that counts the tokens of a text."""

    def __init__(self, name: str, tokens_of: Callable[[str], int], overheads: Overheads | None = None) -> None:
        self.name = name
        self._tokens_of = _Remembered(tokens_of)
        self._overheads = overheads or Overheads()

    def count(self, record: Record) -> int:
        overheads = self._overheads
        total = overheads.message + self._content(record.content)
        if record.name:
            total += overheads.name + self._tokens_of(record.name)
        for call in record.tool_calls:
            total += overheads.tool_call + self._tokens_of(" ".join(call_parts(call)))
        if record.reasoning:
            total += self._tokens_of(record.reasoning)
        return total + (overheads.tool_call if record.tool_call_id else 0)

    def _content(self, content: Any) -> int:
        if isinstance(content, str):
            return self._tokens_of(content)
        return sum(self._part(part) for part in content or ())

    def _part(self, part: dict[str, Any]) -> int:
        if isinstance(part.get("text"), str):
            return self._tokens_of(part["text"])
        if part.get("type") in IMAGE_TYPES:
            image = part.get("image_url")
            detail = image.get("detail") if isinstance(image, dict) else part.get("detail")
            return self._overheads.small_image if detail == "low" else self._overheads.image
        return self._overheads.other_part


# Needs no model and no network. Its name contains its version: counts of two versions are never added.
ESTIMATE = TextCounter("estimate-2", estimated_tokens)
# For chats that were counted by it: four ASCII characters a token, or three bytes of other scripts.
ESTIMATE_1 = TextCounter("estimate-1", lambda text: math.ceil(_ascii(text) / 4 + (_bytes(text) - _ascii(text)) / 3))


def stored_counter(name: str) -> TokenCounter:
    """The counter of a stored count."""
    return next(counter for counter in (ESTIMATE, ESTIMATE_1) if counter.name == name)


def _ascii(text: str) -> int:
    return len(text.encode("ascii", "ignore"))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))

"""Dify's memory configuration of an LLM node, and where history goes in that node's prompt.

Messages are chat completion messages, as a view has them. A chat model reads template messages, history and the query,
in that order; a completion model reads one text with the history in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from memorybase.conversation.view.records import content_says, parts_of, plain
from memorybase.conversation.view.tokens import IMAGE_TYPES
from memorybase.conversation.view.transcript import Prefixes
from memorybase.errors import InvalidRequest, NoPromptFound

Mode = Literal["conversation", "node"]
OnMissing = Literal["empty", "error"]

DEFAULT_REST_TOKENS = 2000  # for a model whose context size nobody states
MAX_ROWS = 500  # turns that Dify reads at most
HISTORIES = ("{{#histories#}}", "#histories#")
QUERY = "{{#sys.query#}}"

_FEATURES = {
    **dict.fromkeys(IMAGE_TYPES, "image"),
    "input_audio": "audio", "audio": "audio", "video_url": "video", "video": "video", "file": "document",
    "document": "document",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Window:
    """How many turns are sent; without `enabled`, or with no size above 0, all."""

    enabled: bool = False
    size: int | None = None

    @property
    def limit(self) -> int | None:
        return self.size if self.enabled and self.size and self.size > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """role_prefix is for completion models; query_prompt_template wraps the user's query."""

    role_prefix: Prefixes | None = None
    window: Window = field(default_factory=Window)
    query_prompt_template: str | None = None
    mode: Mode = "conversation"

    @classmethod
    def from_mapping(cls, raw: Mapping[str, Any], *, where: str = "memory") -> Self:
        """The configuration as JSON; raises InvalidRequest, its field below `where`."""
        window = _object(raw, "window", where)
        prefix = _object(raw, "role_prefix", where)
        mode: Any = raw.get("mode") or "conversation"
        if mode not in get_args(Mode):
            raise InvalidRequest("mode is conversation or node", field=f"{where}.mode", value=str(mode)[:100])
        size = window.get("size")
        if size is not None and (not isinstance(size, int) or isinstance(size, bool)):
            raise InvalidRequest("The window's size is a whole number", field=f"{where}.window.size")
        return cls(
            role_prefix=Prefixes(str(prefix.get("user", "")), str(prefix.get("assistant", ""))) if prefix else None,
            window=Window(bool(window.get("enabled")), size),
            query_prompt_template=raw.get("query_prompt_template") or None,
            mode=mode,
        )

    def applies(
        self, *, conversation_id: str | None, node_id: str | None = None, on_missing: OnMissing = "empty"
    ) -> bool:
        """Whether there is anything to remember by; without, there is no memory, or InvalidRequest if that is asked."""
        missing = (
            "conversation_id" if not conversation_id else "node_id" if self.mode == "node" and not node_id else None
        )
        if missing is not None and on_missing == "error":
            raise InvalidRequest(f"Memory of mode {self.mode} needs this", field=missing)
        return missing is None

    def query(self, query: str) -> str:
        """The user's query as it is sent."""
        template = self.query_prompt_template
        return query if not template else template.replace(QUERY, query)


def row_limit(message_limit: int | None) -> int:
    """Turns that are read from the database."""
    return min(message_limit, MAX_ROWS) if message_limit is not None and message_limit > 0 else MAX_ROWS


def rest_tokens(context_size: int | None, *, reply_tokens: int, prompt_tokens: int) -> int:
    """What a model's context leaves for history. The prompt is all that is sent beside it, system prompt included."""
    return max(0, context_size - reply_tokens - prompt_tokens) if context_size else DEFAULT_REST_TOKENS


def chat_prompt(
    template: Sequence[dict[str, Any]],
    history: Sequence[dict[str, Any]],
    *,
    config: MemoryConfig | None,
    query: str = "",
    files: Sequence[dict[str, Any]] = (),
    supports: frozenset[str] = frozenset({"image"}),
) -> list[dict[str, Any]]:
    """Template, history, query: for a chat model. Files go in front of the last user message; raises NoPromptFound."""
    messages = [*template, *(history if config is not None else ())]
    if config is not None and query:
        messages.append({"role": "user", "content": config.query(query)})
    if files:
        if not messages or messages[-1].get("role") != "user":
            messages.append({"role": "user", "content": ""})
        last = messages[-1]
        messages[-1] = {**last, "content": [*files, *parts_of(last.get("content"))]}
    return readable(messages, supports)


def completion_prompt(template: str, history: str, *, config: MemoryConfig | None) -> str:
    """The template with the history in its place, or in front: for a completion model; raises NoPromptFound."""
    if config is not None:
        if config.role_prefix is None:
            raise InvalidRequest("A completion model's memory needs the prefixes of its lines", field="role_prefix")
        index = next((index for index in HISTORIES if index in template), None)
        template = f"{history}\n{template}" if index is None else template.replace(index, history)
    if not template.strip():
        raise NoPromptFound
    return template


def readable(messages: Sequence[dict[str, Any]], supports: frozenset[str]) -> list[dict[str, Any]]:
    """What this model can read of the messages: without the parts it cannot, and what is empty then; raises
    NoPromptFound when nothing is left."""
    left: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            parts = [part for part in content if _FEATURES.get(part.get("type", ""), "") in {"", *supports}]
            content = plain(parts) if len(parts) <= 1 else parts
        if content_says(content) or message.get("tool_calls") or message.get("tool_call_id"):
            left.append({**message, "content": content})
    if not left:
        raise NoPromptFound
    return left


def _object(raw: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    value = raw.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise InvalidRequest("This is an object", field=f"{where}.{name}")
    return value or {}

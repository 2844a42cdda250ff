"""Messages of frameworks that dump them as JSON, as memorybase stores them, and back.

A dump's texts become the message's content, where searches find them and edits change them. What is left of the dump is
kept in the metadata, so that the message comes back as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memorybase_client._ids import id_of
from memorybase_client.integrations._messages import Json, is_name, rest_of, texts, whole_of, with_rest

if TYPE_CHECKING:
    from memorybase_client import models

DEEPEST = 48  # levels of nested metadata; the server's bound is 64
LATEST = 200  # messages of a session that adapters read by default: a page

Path = tuple[str | int, ...]

_OF_OTHERS = "memorybase:"


@dataclass(frozen=True, slots=True)
class Place:
    """Path to the texts in one kind of part: below these names, if the part has these fields; `*` is any item of a
    list."""

    path: tuple[str, ...]
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Form:
    """A framework's format of messages: the name of the list of parts, and the paths to their texts."""

    framework: str
    parts: str
    places: tuple[Place, ...]

    def stored(self, dump: Json, **fields: Any) -> Json:
        """The message to capture: the content, and these fields in the metadata."""
        dump = plain(dump)
        parts, found = self._emptied(dump[self.parts])
        content = "".join(found) if len(found) <= 1 else [{"type": "text", "text": text} for text in found]
        return stored_message(self.framework, {**dump, self.parts: parts}, dump, content=content, **fields)

    def dump_of(self, stored: models.MessageView) -> Json | None:
        """The dump, with what was edited in memorybase since; None if something else captured the message."""
        whole = whole_of(stored, self.framework)
        if whole is not None and stored.edited_at is None:
            return whole
        rest = whole or rest_of(stored, self.framework)
        if rest is None:
            return None
        parts, _ = self._emptied(rest[self.parts])
        return {**rest, self.parts: self._filled(parts, list(texts(stored.content)))}

    def _emptied(self, parts: Sequence[Any]) -> tuple[list[Any], list[str]]:
        """The parts with empty texts, and the texts: a text is stored once."""
        emptied, found = [], []
        for part in parts:
            for path in self._paths_in(part):
                found.append(_at(part, path))
                part = _with(part, path, "")  # noqa: PLW2901 - a copy of it
            emptied.append(part)
        return emptied, found

    def _filled(self, parts: Sequence[Any], found: Sequence[str]) -> list[Any]:
        """If an edit changed how many texts there are, the first one is all of it."""
        wanted = sum(len(self._paths_in(part)) for part in parts)
        remaining = iter(found if len(found) == wanted else ["\n".join(found), *[""] * wanted])
        filled = []
        for part in parts:
            for path in self._paths_in(part):
                part = _with(part, path, next(remaining))  # noqa: PLW2901 - a copy of it
            filled.append(part)
        return filled

    def _paths_in(self, part: Any) -> list[Path]:
        if not isinstance(part, Mapping):
            return []
        places = (each for each in self.places if all(part.get(key) == value for key, value in each.where.items()))
        return next(filter(None, (list(_paths(part, place.path)) for place in places)), [])


def stored_message(
    framework: str,
    rest: Json,
    whole: Json,
    *,
    message_id: str,
    role: str,
    content: str | list[Json],
    tool_calls: Sequence[Json] = (),
    tool_call_id: str | None = None,
    name: str | None = None,
) -> Json:
    """The message to capture. An assistant's message that calls tools is no output of the flow."""
    fields: Json = {"id": message_id, "role": role, "content": content}
    if role == "assistant":
        fields["is_output"] = not tool_calls
    if tool_calls:
        fields["tool_calls"] = list(tool_calls)
    if tool_call_id is not None:
        fields["tool_call_id"] = tool_call_id
    if is_name(name):
        fields["name"] = name
    return with_rest(fields, framework, rest, json.dumps(whole))


def message_key(session_id: str, given: str) -> str:
    """The stored id of a message with this id, different in each session, because applications copy messages with their
    ids from one session to another."""
    return given.removeprefix(_OF_OTHERS) if given.startswith(_OF_OTHERS) else id_of(session_id, given)


def key_of_others(stored: models.MessageView) -> str:
    """An id for a message that something else captured: message_key() makes the stored one of it."""
    return f"{_OF_OTHERS}{stored_id(stored)}"


def stored_id(stored: models.MessageView) -> str:
    """The id that the message was captured with."""
    return stored.external_id or str(stored.id)


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON; values that JSON lacks become text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth < DEEPEST:
        if isinstance(value, Mapping):
            return {str(key): plain(below, depth + 1) for key, below in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [plain(below, depth + 1) for below in value]
        if hasattr(value, "model_dump"):
            return plain(value.model_dump(), depth + 1)
    return str(value)


def arguments_of(call: Json) -> Json:
    """The arguments of a tool call in OpenAI's format, which are a text."""
    try:
        found = json.loads((call.get("function") or {}).get("arguments") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def call_of(call_id: Any, name: Any, arguments: Any) -> Json:
    """A tool call in OpenAI's format."""
    text = arguments if isinstance(arguments, str) else json.dumps(plain(arguments or {}), ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name or "", "arguments": text}}


def _paths(value: Any, names: Sequence[str]) -> Iterator[Path]:
    """The paths of the texts there."""
    if not names:
        if isinstance(value, str):
            yield ()
        return
    name, *below = names
    keys: Sequence[str | int] = ()
    if isinstance(value, list) and name == "*":
        keys = range(len(value))
    elif isinstance(value, Mapping) and name in value:
        keys = (name,)
    for key in keys:
        yield from ((key, *rest) for rest in _paths(value[key], below))


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _with(value: Any, path: Path, text: str) -> Any:
    """A copy of the value with another text there."""
    if not path:
        return text
    copied: Any = dict(value) if isinstance(value, Mapping) else list(value)
    copied[path[0]] = _with(value[path[0]], path[1:], text)
    return copied

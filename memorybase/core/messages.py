"""Converts messages in any accepted format to the stored one, OpenAI's. Pure: no database, no clock.

    OpenAI       {role, content, tool_calls?, tool_call_id?, name?}     developer is system
    Langflow     {text, sender: "User" or "Machine", sender_name?}
    LangChain    {type: human, ai, system or tool, content, id?}        also {type, data: {...}}

A field that none of them has here, such as a maker's own, is kept in the metadata. Text that PostgreSQL cannot store is
refused here with its field, on SQLite too.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypeVar
from uuid import UUID

from memorybase.core import errors
from memorybase.core.ids import CallerId
from memorybase.core.models import NAME_LENGTH
from memorybase.core.validation import check_text, why_unstorable

Kind = TypeVar("Kind")
ParentRule = Literal["linked", "none", "exact"]  # see models.Message.parent_rule

ROLES = ("user", "assistant", "system", "tool")
STATUSES = ("completed", "failed", "stopped")
MAX_MESSAGES = 1_000  # in one request
MAX_MESSAGE_BYTES = 4_000_000  # of one message as JSON
MAX_DEPTH = 64  # of nested JSON in one message; deeper is a mistake and would exceed the recursion limit
MAX_EPOCH_SECONDS = 253_402_300_799  # the year 9999

# Fields that are stored, exported and imported as they were sent.
STORED_AS_SENT = (
    "role",
    "is_output",
    "content",
    "tool_calls",
    "tool_call_id",
    "name",
    "sender_name",
    "files",
    "metadata",
    "status",
)

_TEXT_PARTS = ("text", "input_text", "output_text")
_COMMON = frozenset({"id", "is_output", "files", "metadata", "parent_message_id", "timestamp", "status", "sender_name"})
_OPENAI = _COMMON | {"role", "content", "tool_calls", "tool_call_id", "name"}
_LANGFLOW = _COMMON | {"text", "sender"}
_LANGCHAIN = (_OPENAI - {"role"}) | {"type"}
_EMPTY: tuple[Any, ...] = (None, "", [], {})  # the libraries put fields without a value into every dump
# LangChain's fields beyond OpenAI's format are kept in metadata.
_LANGCHAIN_EXTRA = ("additional_kwargs", "response_metadata", "usage_metadata", "invalid_tool_calls", "artifact")

_OPENAI_ROLES = {**{role: role for role in ROLES}, "developer": "system", "function": "tool"}
_LANGFLOW_ROLES = {"user": "user", "human": "user", "machine": "assistant", "ai": "assistant", "system": "system"}
_LANGCHAIN_ROLES = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}
_LANGCHAIN_STATUSES = {"success": "completed", "error": "failed"}


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message as it will be stored; `id` is None if the caller sent none."""

    id: CallerId | None
    role: str
    is_output: bool
    content: str | list[Any] | None
    tool_calls: list[Any] | None
    tool_call_id: str | None
    name: str | None
    sender_name: str | None
    parent_message_id: CallerId | None
    files: list[Any]
    metadata: dict[str, Any]
    status: str
    timestamp: datetime | None
    parent_rule: ParentRule | None = None  # linked: its parent is null, not left out
    muted: bool = False  # these two only from an export
    pinned: bool = False
    of_features: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # by field; only from an export
    undefined: tuple[str, ...] = ()  # fields that are kept in the metadata, as no format defines them

    @property
    def is_dialogue(self) -> bool:
        """Whether memory bases with capture "all" count it."""
        return is_dialogue(self.role, self.status, is_output=self.is_output)


def is_dialogue(role: str, status: str, *, is_output: bool) -> bool:
    """Whether memory bases with capture "all" count it. A failed message counts only as a stated output."""
    return role in ("user", "assistant") and (status != "failed" or is_output)


def normalise_all(raw: Sequence[Any], *, user_id: UUID, where: str = "messages") -> list[NewMessage]:
    """The messages of one request, converted and within the limits; raises InvalidRequest with the field."""
    _check_size(len(raw), MAX_MESSAGES, "messages", where)
    messages: list[NewMessage] = []
    for index, item in enumerate(raw):
        path = f"{where}[{index}]"
        if not isinstance(item, Mapping):
            raise _invalid(path, "must be an object")
        message = normalise(item, user_id=user_id, where=path)
        _check_size(message_bytes(message), MAX_MESSAGE_BYTES, "bytes of JSON", path)
        messages.append(message)
    return messages


def normalise(raw: Mapping[str, Any], *, user_id: UUID, where: str) -> NewMessage:
    """One message in any accepted format, converted; raises InvalidRequest with a field below `where`."""
    for key, value in raw.items():
        check_text(key, _below(where, _shown(key)))
        check_json(value, _below(where, _shown(key)))
    if "role" in raw:
        fields = _from_openai(raw, where)
    elif "sender" in raw:
        fields = _from_langflow(raw, where)
    elif "type" in raw:
        fields = _from_langchain(raw, where)
    else:
        raise errors.InvalidRequest(
            "A message must have a role (or Langflow's sender, or LangChain's type)", field=_below(where, "role")
        )
    return _checked(fields, user_id, where)


def normalise_changes(raw: Mapping[str, Any], *, where: str = "") -> dict[str, Any]:
    """The changes of an edit (content, files, metadata), validated as in a capture; raises InvalidRequest."""
    checks = {"content": _edited_content, "files": _list, "metadata": _object}
    changes: dict[str, Any] = {}
    for key, value in raw.items():
        field = _below(where, _shown(key))
        if key not in checks:
            raise _invalid(field, f"cannot be changed; only {', '.join(checks)} can")
        check_json(value, field)
        changes[key] = checks[key](value, field)
        _check_size(len(canonical(changes[key])), MAX_MESSAGE_BYTES, "bytes of JSON", field)
    return changes


def message_text(content: Any) -> str:
    """The text to embed: the content, or its text parts, one per line."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(part["text"] for part in content if part.get("type") in _TEXT_PARTS)


class Compared(Protocol):
    """A new message, or a stored one with its edits."""

    @property
    def role(self) -> str: ...
    @property
    def content(self) -> Any: ...
    @property
    def tool_calls(self) -> list[Any] | None: ...
    @property
    def tool_call_id(self) -> str | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def files(self) -> list[Any]: ...


def message_fingerprint(message: Compared) -> bytes:
    """SHA-256 of the fields that must be equal for two messages of one id to be the same."""
    return fingerprint_of(
        message.role, message.content, message.tool_calls, message.tool_call_id, message.name, message.files
    )


def fingerprint_of(*values: Any) -> bytes:
    """SHA-256 of the values of the compared fields, in their order."""
    return hashlib.sha256(canonical(values)).digest()


def message_bytes(message: NewMessage) -> int:
    """Bytes, as JSON, of the fields without a separate limit."""
    return len(canonical([message.content, message.tool_calls, message.tool_call_id, message.files, message.metadata]))


def canonical(value: Any) -> bytes:
    """A JSON value as bytes; equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def storable(value: str) -> str:
    """The string; raises ValueError, for pydantic, if PostgreSQL cannot store it."""
    reason = why_unstorable(value)
    if reason is not None:
        raise ValueError(reason)
    return value


def not_blank(value: str) -> str:
    """The string; raises ValueError, for pydantic, if it has only white space."""
    if not value.strip():
        raise ValueError("The value must not be blank")
    return value


def check_json(value: Any, field: str) -> None:
    """Raises InvalidRequest if PostgreSQL cannot store the JSON or it is nested deeper than MAX_DEPTH."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                check_text(item, field)
            elif isinstance(item, float) and not math.isfinite(item):
                raise errors.InvalidRequest(f"Numbers in {field} must be finite", field=field)
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, dict):
                below.extend(item.keys())
                below.extend(item.values())
        if not below:
            return
        level = below
    raise _invalid(field, f"must be nested at most {MAX_DEPTH} levels deep", limit=MAX_DEPTH)


def _from_openai(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    role = _one_of(raw["role"], _OPENAI_ROLES, _below(where, "role"))
    rest = {key: raw[key] for key in raw if key not in _OPENAI}
    if rest.get("type") == "message":  # the Responses API sets it on every message
        del rest["type"]
    fields = {key: raw[key] for key in raw if key in _OPENAI} | {"role": role}
    if "content" not in fields and isinstance(rest.get("parts"), list):  # the AI SDK's pages call it so
        fields["content"] = rest.pop("parts")
    if isinstance(rest.get("audio"), Mapping):
        rest["audio"] = {key: value for key, value in rest["audio"].items() if key != "data"}
    if isinstance(rest.get("function_call"), Mapping) and not fields.get("tool_calls"):  # before there were tools
        fields["tool_calls"] = [{"type": "function", "function": rest.pop("function_call")}]
    if fields.get("content") in _EMPTY:
        said = [rest.get("refusal"), _transcript(rest.get("audio"))]
        fields["content"] = next((text for text in said if isinstance(text, str) and text), fields.get("content"))
        if fields["content"] == rest.get("refusal"):
            rest.pop("refusal", None)
    return _with_rest(fields, rest, where)


def _transcript(audio: Any) -> Any:
    return audio.get("transcript") if isinstance(audio, Mapping) else None


def _from_langflow(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    sender = raw["sender"]
    folded = sender.lower() if isinstance(sender, str) else sender
    fields = {key: raw[key] for key in raw if key in _COMMON}
    fields["role"] = _one_of(folded, _LANGFLOW_ROLES, _below(where, "sender"))
    fields["content"] = _instance(raw.get("text"), str, "a string", _below(where, "text"))
    return _with_rest(fields, {key: raw[key] for key in raw if key not in _LANGFLOW}, where)


def _from_langchain(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    if isinstance(raw.get("data"), Mapping):  # the format of messages_to_dict
        beside = {key: raw[key] for key in raw if key != "data"}
        raw, where = {**beside, **raw["data"], "type": raw["type"]}, _below(where, "data")
    fields = {key: raw[key] for key in raw if key in _LANGCHAIN and key != "type"}
    fields["role"] = _one_of(raw["type"], _LANGCHAIN_ROLES, _below(where, "type"))
    if isinstance(fields.get("status"), str):
        fields["status"] = _LANGCHAIN_STATUSES.get(fields["status"], fields["status"])
    rest = {key: raw[key] for key in raw if key not in _LANGCHAIN and key != "example"}
    return _with_rest(fields, rest, where)


def _with_rest(fields: dict[str, Any], rest: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields, and the rest of the message in the metadata, where the caller's own values stay."""
    kept = {key: value for key, value in rest.items() if value not in _EMPTY}
    if kept:
        fields["metadata"] = {**kept, **_object(fields.get("metadata"), _below(where, "metadata"))}
        fields["undefined"] = tuple(key for key in kept if key not in _LANGCHAIN_EXTRA)
        if fields.get("content") is None and fields["role"] == "assistant":  # it may have only thought
            fields["content"] = None if fields.get("tool_calls") else ""
    return fields


def _checked(fields: Mapping[str, Any], user_id: UUID, where: str) -> NewMessage:
    def field(name: str) -> str:
        return _below(where, name)

    role: str = fields["role"]
    status = _status(fields.get("status"), field("status"))
    metadata = _object(fields.get("metadata"), field("metadata"))
    undefined: tuple[str, ...] = fields.get("undefined", ())
    name = _optional_text(fields.get("name"), field("name"))
    if name is not None and len(name) > NAME_LENGTH:  # of a tool, any length is right
        name, metadata, undefined = None, {"name": name, **metadata}, (*undefined, "name")
    tool_calls = _tool_calls(fields.get("tool_calls"), field("tool_calls"))
    parent = _optional_id(user_id, fields.get("parent_message_id"), field("parent_message_id"))
    return NewMessage(
        id=_optional_id(user_id, fields.get("id"), field("id")),
        role=role,
        is_output=_is_output(fields.get("is_output"), role, status, field("is_output")),
        content=_content(fields.get("content"), role, tool_calls, field("content")),
        tool_calls=tool_calls,
        tool_call_id=_optional_text(_id_text(fields.get("tool_call_id")), field("tool_call_id")),
        name=name,
        sender_name=_optional_name(fields.get("sender_name"), field("sender_name")),
        parent_message_id=parent,
        files=_list(fields.get("files"), field("files")),
        metadata=metadata,
        status=status,
        timestamp=read_time(fields.get("timestamp"), field("timestamp")),
        parent_rule="linked" if "parent_message_id" in fields and parent is None else None,
        undefined=undefined,
    )


def _optional_id(user_id: UUID, value: Any, field: str) -> CallerId | None:
    if value is None:
        return None
    return CallerId.of(user_id, "message", _instance(_id_text(value), str, "a string", field), name=field)


def _id_text(value: Any) -> Any:
    """Databases number their messages."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _content(value: Any, role: str, tool_calls: list[Any] | None, field: str) -> str | list[Any] | None:
    if value is None:
        if role == "tool":  # a tool that says nothing has answered its call
            return ""
        if tool_calls is None:
            raise _invalid(field, "must not be null without tool_calls")
        return None
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise _invalid(field, "must be a string, a list of parts, or null with tool_calls")
    return [_part(part, f"{field}[{index}]") for index, part in enumerate(value)]


def _edited_content(value: Any, field: str) -> str | list[Any] | None:
    if value is None:
        raise _invalid(field, "must be a string or a list of parts")
    return _content(value, "user", None, field)


def _part(part: Any, field: str) -> dict[str, Any]:
    if isinstance(part, str):  # LangChain's short form
        return {"type": "text", "text": part}
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise _invalid(field, "must be an object with a type")
    if part["type"] in _TEXT_PARTS and not isinstance(part.get("text"), str):
        raise _invalid(f"{field}.text", "must be a string")
    return part


def _tool_calls(value: Any, field: str) -> list[Any] | None:
    calls = _list(value, field)
    if any(not isinstance(call, dict) for call in calls):
        raise _invalid(field, "must be a list of objects")
    return [_tool_call(call) for call in calls] or None


def _tool_call(call: dict[str, Any]) -> dict[str, Any]:
    if "function" in call or not {"name", "args"} <= call.keys():
        return call
    arguments = call["args"] if isinstance(call["args"], str) else json.dumps(call["args"], ensure_ascii=False)
    return {"id": call.get("id"), "type": "function", "function": {"name": call["name"], "arguments": arguments}}


def _is_output(value: Any, role: str, status: str, field: str) -> bool:
    if value is not None and not isinstance(value, bool):
        raise _invalid(field, "must be true or false")
    if role in {"system", "tool"}:  # never an output, even if the caller says so
        return False
    return role == "assistant" and status != "failed" if value is None else value


def _status(value: Any, field: str) -> str:
    return "completed" if value is None else _one_of(value, {status: status for status in STATUSES}, field)


def read_time(value: Any, field: str) -> datetime | None:
    """A time in ISO 8601 or seconds since 1970; without a zone it is UTC, as in Langflow. Raises InvalidRequest."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value.strip().removesuffix(" UTC"))
            return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_EPOCH_SECONDS:
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError) as exc:  # OSError: Windows knows no time after the year 3000
        raise _invalid(field, "must be a time in ISO 8601") from exc
    raise _invalid(field, "must be a time in ISO 8601 or seconds since 1970")


def _optional_text(value: Any, field: str) -> str | None:
    return None if value is None else str(_instance(value, str, "a string", field))


def _optional_name(value: Any, field: str) -> str | None:
    name = _optional_text(value, field)
    if name is not None:
        _check_size(len(name), NAME_LENGTH, "characters", field)
    return name


def _list(value: Any, field: str) -> list[Any]:
    return [] if value is None else _instance(value, list, "a list", field)


def _object(value: Any, field: str) -> dict[str, Any]:
    return {} if value is None else _instance(value, dict, "an object", field)


def _one_of(value: Any, allowed: Mapping[str, str], field: str) -> str:
    if not isinstance(value, str) or value not in allowed:
        shown = _shown(value) if isinstance(value, str) else None
        raise _invalid(field, f"must be one of {', '.join(allowed)}", value=shown)
    return allowed[value]


def _invalid(field: str, rule: str, **bounds: Any) -> errors.InvalidRequest:
    return errors.InvalidRequest(f"{field} {rule}", field=field, **bounds)


def _instance(value: Any, kind: type[Kind], name: str, field: str) -> Kind:
    if not isinstance(value, kind):
        raise _invalid(field, f"must be {name}")
    return value


def _check_size(size: int, limit: int, unit: str, field: str) -> None:
    if size > limit:
        raise _invalid(field, f"must have at most {limit} {unit}", value=size, limit=limit)


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _shown(value: str) -> str:
    """A string of the caller for an error: truncated, and encodable as UTF-8."""
    return value[:100].encode(errors="replace").decode()


def text_bytes(content: Any) -> int:
    """Bytes of the text to embed; jobs are limited by it."""
    return len(message_text(content).encode())

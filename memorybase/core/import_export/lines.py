"""One line of an export: writing it, and reading it field by field."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, TypeVar, get_args
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors, messages
from memorybase.core.extension import OfMessages
from memorybase.core.ids import CallerId, IdKind
from memorybase.core.messages import STORED_AS_SENT, NewMessage, ParentRule
from memorybase.core.models import ID_LENGTH, Chat, ChatMemory, Flow, MemoryUse, NodeExecution, Run, Session
from memorybase.core.services import Services

Row = TypeVar("Row", Chat, ChatMemory, Flow, MemoryUse, NodeExecution, Run, Session)

PAGE = 100  # rows per read, because a message may have megabytes

_MESSAGE_FIELDS = (*STORED_AS_SENT, "timestamp")


@dataclass(frozen=True, slots=True)
class SessionRef:
    """The session named by a line."""

    flow_id: UUID
    session_id: str
    end_user_id: str | None


@dataclass(frozen=True, slots=True)
class MessageTally:
    """The messages of an import, by what became of them."""

    created: Annotated[int, Field(description="How many were new.")] = 0
    known: Annotated[int, Field(description="How many were stored already.")] = 0
    deleted: Annotated[int, Field(description="How many were deleted earlier and stay deleted.")] = 0

    def __add__(self, other: MessageTally) -> MessageTally:
        return MessageTally(self.created + other.created, self.known + other.known, self.deleted + other.deleted)


@dataclass(frozen=True, slots=True)
class Line:
    """One line, read field by field. Every error names the line and the field."""

    user_id: UUID
    number: int
    values: dict[str, Any]

    def text(self, name: str, limit: int) -> str:
        value, where = self.values.get(name), f"line {self.number}.{name}"
        if not isinstance(value, str) or not value.strip():
            raise errors.InvalidRequest(f"{name} must be a non-blank string", field=where)
        if len(value) > limit:
            text = f"{name} must have at most {limit} characters (got {len(value)})"
            raise errors.InvalidRequest(text, field=where, value=len(value), limit=limit)
        messages.check_json(value, where)
        return value

    def identity(self, kind: IdKind, name: str, external_name: str) -> CallerId:
        """The id as this user's: the external id if the line has one."""
        field = name if self.values.get(external_name) is None else external_name
        return CallerId.of(self.user_id, kind, self.text(field, ID_LENGTH))

    def flow(self) -> UUID:
        return self.identity("flow", "flow_id", "flow_external_id").own

    def session_ref(self) -> SessionRef:
        end_user_id = None if self.values.get("end_user_id") is None else self.text("end_user_id", ID_LENGTH)
        return SessionRef(self.flow(), self.text("session_id", ID_LENGTH), end_user_id)

    def metadata(self) -> dict[str, Any]:
        return self.object("metadata") if self.values.get("metadata") else {}

    def raw_message(self) -> dict[str, Any]:
        raw = {name: self.values[name] for name in _MESSAGE_FIELDS if name in self.values}
        raw["id"] = self.values.get("external_id") or self.values.get("id")
        if not isinstance(raw["id"], str):
            raise errors.InvalidRequest("id must be a string", field=f"line {self.number}.id")
        return raw

    def message(self, of_features: Sequence[OfMessages]) -> NewMessage:
        where = f"line {self.number}"
        raw = self.raw_message()
        raw["parent_message_id"] = self.values.get("parent_external_id") or self.values.get("parent_message_id")
        message = messages.normalise(raw, user_id=self.user_id, where=where)
        rule = self.values.get("parent_rule")
        message = replace(
            message,
            parent_rule=rule if rule in get_args(ParentRule) else None,
            muted=self.flag("muted"),
            pinned=self.flag("pinned"),
            of_features={each.field: each.read(self) for each in of_features},
        )
        size = messages.message_bytes(message)
        if size > messages.MAX_MESSAGE_BYTES:
            text = f"the message must have at most {messages.MAX_MESSAGE_BYTES} bytes (got {size})"
            raise errors.InvalidRequest(text, field=where, value=size, limit=messages.MAX_MESSAGE_BYTES)
        return message

    def flag(self, name: str) -> bool:
        value = self.values.get(name) or False
        if not isinstance(value, bool):
            raise errors.InvalidRequest(f"{name} must be true or false", field=f"line {self.number}.{name}")
        return value

    def number_of(self, name: str, limit: int) -> int:
        value = self.values.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= limit:
            where = f"line {self.number}.{name}"
            raise errors.InvalidRequest(f"{name} must be an integer from 0 to {limit}", field=where, limit=limit)
        return value

    def time(self, name: str) -> datetime:
        where = f"line {self.number}.{name}"
        moment = messages.read_time(self.values.get(name), where)
        if moment is None:
            raise errors.InvalidRequest(f"{name} must be a time", field=where)
        return moment

    def objects(self, name: str) -> list[dict[str, Any]]:
        value, where = self.values.get(name), f"line {self.number}.{name}"
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise errors.InvalidRequest(f"{name} must be a list of objects", field=where)
        messages.check_json(value, where)
        return value

    def object(self, name: str) -> dict[str, Any]:
        value, where = self.values.get(name), f"line {self.number}.{name}"
        if not isinstance(value, dict):
            raise errors.InvalidRequest(f"{name} must be an object", field=where)
        messages.check_json(value, where)
        return value


class Item(ABC):
    """What a line of a feature asks an import to store."""

    line: int

    def takes(self, _other: object, _limit: int) -> bool:
        """Whether it has taken in the item that follows, so that both are stored at once: up to `limit` messages."""
        return False

    @abstractmethod
    def store(self, services: Services) -> Mapping[str, int | MessageTally]:
        """What to add to the fields of the answer."""


def written(kind: str, **fields: Any) -> bytes:
    """The line, with its newline."""
    # Not orjson, which fails on integers beyond 64 bits; messages may contain some.
    line = json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"), default=_as_text)
    return line.encode() + b"\n"


def _as_text(value: Any) -> str:
    """A UUID in its hyphenated form, a time in ISO 8601."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def columns(row: object, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def pages(
    services: Services,
    page_after: Callable[[OrmSession, Any, int], list[Row]],
    place: Callable[[Row], Any] = attrgetter("id"),
) -> Iterator[list[Row]]:
    """Rows by `place`, in pages, each read in its own transaction. The last page may be empty."""
    after = None
    while True:
        with services.database.reading() as db:
            page = page_after(db, after, PAGE)
        yield page
        if len(page) < PAGE:
            return
        after = place(page[-1])

"""What callers send is screened before anything stores it: a feature replaces what must not be kept, such as secrets.

Each way in calls `screen` or `screen_messages` outside of its transaction. A repetition must be one whatever its flow's
setting was when it was stored, so identity compares texts as `comparable` makes them. An answer counts within
`counting` what was replaced, and tells it in its `warnings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from memorybase.core.messages import Compared, NewMessage, fingerprint_of
from memorybase.core.services import Services

_FIELDS = ("content", "tool_calls", "name", "sender_name", "files", "metadata")
_COMPARED = ("content", "tool_calls", "name", "files")
_replaced: ContextVar[Counter[str] | None] = ContextVar("replaced", default=None)


@dataclass(slots=True)
class ScreenedMessages:
    """Messages as they are stored, and the fingerprint by which a repetition of each is known. `found`: the numbers of
    those with something to replace."""

    messages: list[NewMessage]
    fingerprints: list[bytes]
    found: set[int] = field(default_factory=set)


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Counts how much of each kind `screen` replaces within it. If it fails, an outer one counts nothing of it."""
    counts = Counter[str]()
    outer = _replaced.get()
    token = _replaced.set(counts)
    try:
        yield counts
    finally:
        _replaced.reset(token)
    if outer is not None:
        outer.update(counts)


def screen(services: Services, user_id: UUID, flow_id: UUID | None, value: Any, where: str = "") -> Any:
    """The JSON value as it may be stored. Without a flow the installation's setting holds. Raises InvalidRequest for
    what the flow refuses."""
    counts = _replaced.get()
    for hooks in services.hooks:
        screened = hooks.screen(services, user_id, flow_id, value, where)
        if screened is not None:
            value = screened.value
            if counts is not None:
                counts.update(screened.replaced)
    return value


def comparable(services: Services, value: Any) -> Any:
    """The value with everything replaced that any setting replaces."""
    for hooks in services.hooks:
        value = hooks.comparable(services, value)
    return value


def screen_messages(
    services: Services, user_id: UUID, flow_id: UUID, messages: Sequence[NewMessage], where: str = "messages"
) -> ScreenedMessages:
    """`screen` for new messages."""
    done = ScreenedMessages([], [])
    for index, message in enumerate(messages):
        values = {name: getattr(message, name) for name in _FIELDS}
        compared = comparable(services, values)
        if compared is not values:
            done.found.add(index)
            stored = screen(services, user_id, flow_id, values, f"{where}[{index}]")
            done.messages.append(replace(message, **stored))
        else:
            done.messages.append(message)
        done.fingerprints.append(_fingerprint(message, compared))
    return done


def comparable_fingerprint(services: Services, message: Compared) -> bytes:
    """The fingerprint of a stored message by which a repetition of it is known."""
    return _fingerprint(message, comparable(services, {name: getattr(message, name) for name in _COMPARED}))


def _fingerprint(message: Compared, values: dict[str, Any]) -> bytes:
    return fingerprint_of(
        message.role, values["content"], values["tool_calls"], message.tool_call_id, values["name"], values["files"]
    )

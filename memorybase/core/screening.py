"""What callers send is screened before anything stores it: a feature replaces what must not be kept, such as secrets.

Each way in calls `screen` or `screen_messages` outside of its transaction. A repetition must be one whatever its flow's
setting was when it was stored, so identity compares texts as `comparable` makes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from memorybase.core.messages import Compared, NewMessage, fingerprint_of
from memorybase.core.services import Services

_FIELDS = ("content", "tool_calls", "name", "sender_name", "files", "metadata")
_COMPARED = ("content", "tool_calls", "name", "files")


@dataclass(slots=True)
class ScreenedMessages:
    """Messages as they are stored, and the fingerprint by which a repetition of each is known. `found`: the numbers of
    those with something to replace; `replaced`: how much of each kind was."""

    messages: list[NewMessage]
    fingerprints: list[bytes]
    found: set[int] = field(default_factory=set)
    replaced: Counter[str] = field(default_factory=Counter)


def screen(
    services: Services, user_id: UUID, flow_id: UUID | None, value: Any, where: str = ""
) -> tuple[Any, Counter[str]]:
    """The JSON value as it may be stored, and how much of each kind was replaced. Without a flow the installation's
    setting holds. Raises InvalidRequest for what the flow refuses."""
    counts = Counter[str]()
    for hooks in services.hooks:
        screened = hooks.screen(services, user_id, flow_id, value, where)
        if screened is not None:
            value = screened.value
            counts.update(screened.replaced)
    return value, counts


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
            stored, counts = screen(services, user_id, flow_id, values, f"{where}[{index}]")
            done.messages.append(replace(message, **stored))
            done.replaced.update(counts)
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

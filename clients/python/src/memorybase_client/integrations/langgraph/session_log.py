"""Which messages of a run's state memory does not have yet. Pure.

A state holds more than its run added: a checkpointer keeps earlier runs, and a client without one sends the whole
conversation again. A message is recognized by its id. One that the client sent back without an id that memory knows is
recognized by its position: it is aligned with what the session has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Self

from langchain_core.messages import BaseMessage

from memorybase_client.integrations._dumps import message_key, stored_id
from memorybase_client.integrations._messages import Json, texts
from memorybase_client.integrations.langchain import to_stored

if TYPE_CHECKING:
    from memorybase_client import models

NEWEST = 100  # messages of a session that a state is compared with, and of earlier runs that are captured if they lack
REMEMBERED = 4 * NEWEST  # messages of a session; a run may add many
PREVIOUS = "00000000-0000-0000-0000-000000000000"  # as a parent: the message before


@dataclass(frozen=True, slots=True)
class StateMessage:
    """A message of the final state.

    id        its id in memory
    before    it was in the state when the run began, and did not come with its input
    kept      a client may have sent it before, under another id or none
    changed   the run added or changed it
    """

    id: str
    body: Json
    before: bool
    kept: bool
    changed: bool

    @property
    def is_of_run(self) -> bool:
        """Whether the run brought, added or changed it. Another one may have been edited in memory since."""
        return self.changed or not (self.before or self.kept)


def state_messages(
    final: Sequence[BaseMessage],
    at_start: Sequence[BaseMessage],
    inputs: Sequence[BaseMessage],
    *,
    session_id: str,
    run_id: str,
) -> list[StateMessage]:
    """The final state's messages: those of the run, and the newest of earlier ones. `at_start`: those of the state when
    the run began, ending with `inputs`."""
    of_id = {message.id: position for position, message in enumerate(at_start) if message.id}
    positions = [
        of_id.get(message.id) if message.id else _position(index, message, at_start)
        for index, message in enumerate(final)
    ]
    first_input = len(at_start) - len(inputs)
    first = next((i for i, position in enumerate(positions) if position is None or position >= first_input), len(final))
    has_history = any(message.type == "ai" for message in inputs)
    found = []
    for index in range(max(0, min(first, len(final) - NEWEST)), len(final)):
        message, position = final[index], positions[index]
        is_input = position is not None and position >= first_input
        key = message_key(session_id, message.id or f"{run_id}:{index}")
        found.append(
            StateMessage(
                id=key,
                body={**to_stored(message, session_id), "id": key},
                before=position is not None and not is_input,
                kept=position is not None and (message.id is None or (is_input and has_history)),
                changed=position is None or at_start[position].content != message.content,
            )
        )
    return found


def _position(index: int, message: BaseMessage, at_start: Sequence[BaseMessage]) -> int | None:
    """The position of a message without an id in the state as the run began, which the final one continues."""
    if index < len(at_start) and (at_start[index].type, at_start[index].content) == (message.type, message.content):
        return index
    return None


@dataclass
class SessionLog:
    """A session as stored: its newest messages, and whether they name parents. `is_known` is false if memorybase could
    not be asked."""

    is_known: bool = True
    newest: str | None = None
    linked: bool = False
    _digests: dict[str, bytes] = field(default_factory=dict)
    _spoken: list[tuple[str, tuple[str, str]]] = field(default_factory=list)  # id, role and text
    _edited: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, stored: Sequence[models.MessageView] | None) -> Self:
        """From the session's latest messages, oldest first."""
        log = cls(is_known=stored is not None)
        for message in stored or ():
            log.linked = log.linked or message.parent_message_id is not None
            log._add(stored_id(message), message.model_dump(mode="json"))
            if message.edited_at is not None:
                log._edited.add(stored_id(message))
        return log

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._digests

    def misses(self, messages: Sequence[StateMessage]) -> bool:
        """Whether it lacks a message of an earlier run, as if another process had captured it."""
        return any(message.before and not message.kept and message.id not in self for message in messages)

    def new_of(self, messages: Sequence[StateMessage], *, is_fork: bool) -> list[StateMessage]:
        """The messages to capture: new ones, and `changed` ones. A message names its parent where it does not follow
        the newest: after time travel, say. `is_fork`: the run began at an earlier checkpoint."""
        old = self._sent_back(messages)
        new: list[StateMessage] = []
        previous: str | None = None
        newest, linked = self.newest, self.linked
        for index, message in enumerate(messages):
            if message.id in self:
                previous = message.id
                # An edit, which keeps its place. What was edited in memory is not undone by a state from before.
                differs = self._digests[message.id] != _digest(message.body)
                if differs and (message.changed or message.id not in self._edited):
                    new.append(replace(message, changed=True))
                continue
            if index in old:
                previous = old[index] or previous
                continue
            begins = previous is None and is_fork
            linked = linked or begins or previous not in {None, newest}
            body = message.body
            if linked:
                body = {**body, "parent_message_id": None if begins else previous or PREVIOUS}
            new.append(replace(message, body=body))
            if body["role"] != "system":  # a state may begin with one, and the next message does not follow it
                previous = newest = message.id
        return new

    def add(self, message: StateMessage) -> None:
        """Memory has this message now."""
        self.linked = self.linked or (message.id not in self and "parent_message_id" in message.body)
        self._add(message.id, message.body)

    def _add(self, message_id: str, message: Mapping[str, Any]) -> None:
        spoken = _spoken(message)
        if message_id not in self:
            if message["role"] != "system":
                self.newest = message_id
            if spoken is not None:
                self._spoken = [*self._spoken[-REMEMBERED:], (message_id, spoken)]
        self._digests[message_id] = _digest(message)
        if len(self._digests) > REMEMBERED:
            del self._digests[next(iter(self._digests))]

    def _sent_back(self, messages: Sequence[StateMessage]) -> dict[int, str | None]:
        """The indices of messages that the client sent back, each with the id of the stored message of the same text.

        Those up to the last one that the session has are old, also differing ones between. After it they are new. If
        memory could not be asked, all are old: an earlier run captured them.
        """
        earlier = [index for index, message in enumerate(messages) if message.before or message.kept]
        last_answer = max((index for index in earlier if messages[index].body["role"] == "assistant"), default=-1)
        history = [index for index in earlier if index <= last_answer]
        if not any(messages[index].kept for index in history):
            return {}
        if not self.is_known:
            return {index: None for index in history if messages[index].kept}
        spoken = [(index, said) for index in history if (said := _spoken(messages[index].body)) is not None]
        # Backwards, because the matcher prefers the first of equal matches: here the latest.
        theirs, ours = spoken[::-1], self._spoken[::-1]
        matcher = SequenceMatcher(None, [said for _, said in theirs], [said for _, said in ours], autojunk=False)
        ids: dict[int, str | None] = {}
        for block in matcher.get_matching_blocks():
            for offset in range(block.size):
                ids[theirs[block.a + offset][0]] = ours[block.b + offset][0]
        last = max([*ids, *(index for index in history if messages[index].id in self)], default=-1)
        return {index: ids.get(index) for index in history if index <= last and messages[index].kept}


def _spoken(message: Mapping[str, Any]) -> tuple[str, str] | None:
    """Role and text; None for what clients do not keep, such as tool calls without text."""
    text = "\n".join(texts(message.get("content"))).strip()
    return (message["role"], text) if message["role"] in {"user", "assistant"} and text else None


def _digest(message: Mapping[str, Any]) -> bytes:
    """Equal for equal messages, as posted and as stored."""
    same = [message.get(name) or None for name in ("content", "tool_calls", "tool_call_id", "name")]
    return hashlib.sha256(json.dumps(same, sort_keys=True, default=str).encode()).digest()

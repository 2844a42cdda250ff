"""Which messages of a run's state memory does not have yet. Pure.

A state holds more than its run added: a checkpointer keeps earlier runs, and a client without one sends the whole
conversation again. A message is recognized by its id. One that the client sent back without an id that memory knows is
recognized by its place: it is aligned with what the session has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from langchain_core.messages import BaseMessage

from memorybase.conversation.view.records import UUID_NIL
from memorybase.integrations.flow_memory import NEWEST, Json
from memorybase.integrations.langchain import to_dict
from memorybase.messages import canonical, message_text
from memorybase.models import ID_LENGTH

WINDOW = NEWEST  # the newest messages of earlier runs, which are captured now if they were not
REMEMBERED = 4 * WINDOW  # messages of a session; a run may add many


@dataclass(frozen=True, slots=True)
class StateMessage:
    """A message of the final state.

    before    it was in the state when the run began, and did not come with its input
    kept      a client may have sent it before, under another id or none
    changed   the run added or changed it
    """

    id: str
    body: Json
    before: bool
    kept: bool
    changed: bool


def state_messages(
    final: Sequence[BaseMessage], at_start: Sequence[BaseMessage], inputs: Sequence[BaseMessage], run_id: str
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
    for index in range(max(0, min(first, len(final) - WINDOW)), len(final)):
        message, position = final[index], positions[index]
        is_input = position is not None and position >= first_input
        kept = position is not None and (message.id is None or (is_input and has_history))
        before = position is not None and not is_input
        changed = position is None or at_start[position].content != message.content
        found.append(StateMessage(message.id or f"{run_id}:{index}", to_dict(message), before, kept, changed))
    return found


def _position(index: int, message: BaseMessage, at_start: Sequence[BaseMessage]) -> int | None:
    """The position of a message without an id in the state as the run began, which the final one continues."""
    if index < len(at_start) and (at_start[index].type, at_start[index].content) == (message.type, message.content):
        return index
    return None


@dataclass
class SessionLog:
    """What memory has of a session: its newest messages by their ids in the state, and whether it names parents."""

    session_id: str
    digests: dict[str, bytes] = field(default_factory=dict)
    spoken: list[tuple[str, tuple[str, str]]] = field(default_factory=list)  # id, role and text
    newest: str | None = None
    linked: bool = False
    _edited: set[str] = field(default_factory=set)
    _own_ids: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, session_id: str, stored: Sequence[Json]) -> SessionLog:
        """From the session's latest messages, oldest first."""
        log = cls(session_id)
        for message in stored:
            identity = str(message.get("external_id") or message["id"])
            state_id = identity.removesuffix(log._suffix)
            if state_id != identity:
                log._own_ids[state_id] = identity
            log.linked = log.linked or message.get("parent_message_id") is not None
            log._add(state_id, message)
            if message.get("edited_at") is not None:
                log._edited.add(state_id)
        return log

    def misses(self, messages: Sequence[StateMessage]) -> bool:
        """Whether it lacks a message of an earlier run, as if another process had captured it."""
        return any(message.before and not message.kept and message.id not in self.digests for message in messages)

    def new_of(self, messages: Sequence[StateMessage], *, is_fork: bool) -> list[Json]:
        """The messages to capture: new or edited ones. A message names its parent where it does not follow the newest:
        after time travel, say. `is_fork`: the run began at an earlier checkpoint."""
        old = self._sent_back(messages)
        new: list[Json] = []
        previous: str | None = None
        newest, linked = self.newest, self.linked
        for index, message in enumerate(messages):
            body = {**message.body, "id": message.id}
            if message.id in self.digests:
                previous = message.id
                # An edit, which keeps its place. What was edited in memory is not undone by a state from before.
                differs = self.digests[message.id] != _digest(message.body)
                if differs and (message.changed or message.id not in self._edited):
                    new.append(body)
                continue
            if index in old:
                previous = old[index] or previous
                continue
            begins = previous is None and is_fork
            linked = linked or begins or previous not in {None, newest}
            if linked:
                body["parent_message_id"] = None if begins else previous or UUID_NIL
            new.append(body)
            if body["role"] != "system":  # a state may begin with one, and the next message does not follow it
                previous = newest = message.id
        return new

    def sent(self, body: Json) -> Json:
        """The message with the ids that memory has for it and its parent."""
        parent = body.get("parent_message_id")
        named = {} if parent is None else {"parent_message_id": self._own_ids.get(parent, parent)}  # null stays null
        return {**body, "id": self._own_ids.get(body["id"], body["id"]), **named}

    def take_own_id(self, state_id: str) -> None:
        """Another session has this id: this one's message gets its own."""
        self._own_ids[state_id] = state_id[: ID_LENGTH - len(self._suffix)] + self._suffix

    def add(self, body: Json, *, created: bool) -> None:
        """Memory has this message now."""
        self.linked = self.linked or (created and "parent_message_id" in body)
        self._add(body["id"], body)

    @property
    def _suffix(self) -> str:
        return "@" + hashlib.sha256(self.session_id.encode()).hexdigest()[:12]

    def _add(self, state_id: str, message: Mapping[str, Any]) -> None:
        spoken = _spoken(message)
        if state_id not in self.digests:
            if message["role"] != "system":
                self.newest = state_id
            if spoken is not None:
                self.spoken = [*self.spoken[-REMEMBERED:], (state_id, spoken)]
        self.digests[state_id] = _digest(message)
        if len(self.digests) > REMEMBERED:
            del self.digests[next(iter(self.digests))]

    def _sent_back(self, messages: Sequence[StateMessage]) -> dict[int, str | None]:
        """The indices of messages that the client sent back, each with the id of the stored message of the same text.

        Those up to the last one that the session has are old, also differing ones between. After it they are new.
        """
        earlier = [index for index, message in enumerate(messages) if message.before or message.kept]
        last_answer = max((index for index in earlier if messages[index].body["role"] == "assistant"), default=-1)
        history = [index for index in earlier if index <= last_answer]
        if not any(messages[index].kept for index in history):
            return {}
        spoken = [(index, said) for index in history if (said := _spoken(messages[index].body)) is not None]
        # Backwards, because the matcher prefers the first of equal matches: here the latest.
        theirs, ours = spoken[::-1], self.spoken[::-1]
        matcher = SequenceMatcher(None, [said for _, said in theirs], [said for _, said in ours], autojunk=False)
        ids: dict[int, str | None] = {}
        for block in matcher.get_matching_blocks():
            for offset in range(block.size):
                ids[theirs[block.a + offset][0]] = ours[block.b + offset][0]
        last = max([*ids, *(index for index in history if messages[index].id in self.digests)], default=-1)
        return {index: ids.get(index) for index in history if index <= last and messages[index].kept}


def _spoken(message: Mapping[str, Any]) -> tuple[str, str] | None:
    """Role and text; None for what clients do not keep, such as tool calls without text."""
    text = message_text(message.get("content")).strip()
    return (message["role"], text) if message["role"] in {"user", "assistant"} and text else None


def _digest(message: Mapping[str, Any]) -> bytes:
    """Equal for equal messages, as posted and as stored."""
    same = [message.get(name) or None for name in ("content", "tool_calls", "tool_call_id", "name")]
    return hashlib.sha256(canonical(same)).digest()

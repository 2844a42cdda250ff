"""Captures the messages of each run of a graph when it ends."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig

from memorybase_client import AgentMemory
from memorybase_client.integrations._dumps import message_key
from memorybase_client.integrations._messages import batches
from memorybase_client.integrations.langgraph.asked import is_answer
from memorybase_client.integrations.langgraph.calls import session_of
from memorybase_client.integrations.langgraph.session_log import NEWEST, SessionLog, StateMessage, state_messages

log = logging.getLogger("memorybase_client")

SESSIONS = 1_000  # of which the hook remembers what is captured


def messages_of_run(inputs: Any, outputs: Any) -> Sequence[BaseMessage]:
    """The messages of the final state. Those that memory has are not captured again."""
    del inputs
    return _messages(outputs)


@dataclass(kw_only=True, eq=False)
class _Run:
    """A run of a graph. `at_start`: the messages that its first node found."""

    session_id: str
    run_id: str
    end_user_id: str | None
    is_fork: bool
    inputs: Any
    brought: list[BaseMessage]
    at_start: list[BaseMessage] | None = None
    chains: list[UUID] = field(default_factory=list)


class RunHook(BaseCallbackHandler):
    """Captures the messages of each run of a graph when it ends or is interrupted; a failed run is not captured.

    `read` selects the messages from the graph's inputs and outputs. While memorybase is unreachable, runs wait in the
    outbox.
    """

    raise_error = True  # a missing session must not only be logged

    def __init__(
        self, memory: AgentMemory, *, read: Callable[[Any, Any], Sequence[BaseMessage]] = messages_of_run
    ) -> None:
        self._memory = memory
        self._read = read
        self._runs: dict[UUID, _Run] = {}  # by the ids of the run and of each chain in it
        self._logs: OrderedDict[str, SessionLog] = OrderedDict()

    def config(self, session_id: str, *, run_id: str | None = None, end_user_id: str | None = None) -> RunnableConfig:
        """A config to invoke the graph with; `run_id` is the runtime's own, by default a new one for each run."""
        named = {"run_id": run_id, "end_user_id": end_user_id}
        metadata = {"session_id": session_id, **{name: value for name, value in named.items() if value is not None}}
        return {"callbacks": [self], "metadata": metadata, "configurable": {"thread_id": session_id}}

    def run_id_of(self, chain_id: UUID | None) -> str | None:
        """The run that a chain is part of."""
        run = None if chain_id is None else self._runs.get(chain_id)
        return None if run is None else run.run_id

    def leaf_of(self, chain_id: UUID | None) -> str | None:
        """The stored message that this chain's run continues from, if it started at an earlier checkpoint: later stored
        messages are then not in the graph's state."""
        run = None if chain_id is None else self._runs.get(chain_id)
        if run is None or not run.is_fork or not run.at_start:
            return None
        earlier = run.at_start[: len(run.at_start) - len(run.brought)]
        spoken = [message for message in earlier if message.id and message.type != "system"]
        last = next((message for message in reversed(spoken) if is_answer(message)), spoken[-1] if spoken else None)
        if last is None:
            return None
        key = message_key(run.session_id, str(last.id))
        return key if key in (self._logs.get(run.session_id) or self._stored(run)) else None

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        del serialized
        if parent_run_id is not None:
            self._enter(run_id, parent_run_id, inputs)
            return
        named = metadata or {}
        self._runs[run_id] = _Run(
            session_id=session_of(named),
            run_id=str(named.get("run_id") or run_id),
            end_user_id=named.get("end_user_id"),
            is_fork="checkpoint_id" in named,
            inputs=inputs,
            brought=[message.model_copy() for message in _messages(inputs)],  # a reducer sets the ids of the originals
        )

    def on_tool_start(
        self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        del serialized, input_str
        self._enter(run_id, parent_run_id, None)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any) -> None:
        run = self._leave(run_id) if parent_run_id is None else None
        if run is None:
            return
        try:
            messages = self._state_of(run, outputs)
        except Exception as error:  # noqa: BLE001 - the answer is there: the graph must not fail now
            log.error("the messages of a run cannot be read and are not captured (%s)", type(error).__name__)  # noqa: TRY400 - a traceback may quote them
            return
        if messages:
            self._capture(run, messages)

    def on_chain_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        del error
        if parent_run_id is None:
            self._leave(run_id)

    def _enter(self, chain_id: UUID, parent_id: UUID | None, inputs: Any) -> None:
        run = None if parent_id is None else self._runs.get(parent_id)
        if run is None:
            return
        self._runs[chain_id] = run
        run.chains.append(chain_id)
        found = _messages(inputs)
        # The first chain that reads the state; before it, one that has the input as it came writes that into the state.
        if run.at_start is None and len(found) >= len(run.brought) and _raw(inputs) is not _raw(run.inputs):
            run.at_start = found or None

    def _leave(self, run_id: UUID) -> _Run | None:
        run = self._runs.pop(run_id, None)
        for chain_id in () if run is None else run.chains:
            self._runs.pop(chain_id, None)
        return run

    def _state_of(self, run: _Run, outputs: Any) -> list[StateMessage]:
        final = self._read(run.inputs, outputs)
        at_start = run.brought if run.at_start is None else run.at_start  # if no node read the state
        return state_messages(final, at_start, run.brought, session_id=run.session_id, run_id=run.run_id)

    def _capture(self, run: _Run, messages: Sequence[StateMessage]) -> None:
        """Capture what memory does not have."""
        session = self._logs.get(run.session_id)
        if session is None or not session.is_known or session.misses(messages):
            stored = self._stored(run)
            session = stored if stored.is_known else session or stored
        new = session.new_of(messages, is_fork=run.is_fork)
        for is_of_run, group in groupby(new, key=lambda message: message.is_of_run):
            for batch in batches(message.body for message in group):
                self._memory.client.capture(
                    self._memory.flow_id,
                    session_id=run.session_id,
                    run_id=run.run_id,
                    messages=batch,
                    end_user_id=run.end_user_id or self._memory.end_user_id,
                    on_conflict="update" if is_of_run else "keep",
                )
        for message in new:
            session.add(message)
        self._logs[run.session_id] = session
        self._logs.move_to_end(run.session_id)
        while len(self._logs) > SESSIONS:
            self._logs.popitem(last=False)

    def _stored(self, run: _Run) -> SessionLog:
        """The stored messages of the run's session."""
        return SessionLog.of(self._memory.messages(run.session_id, limit=NEWEST, end_user_id=run.end_user_id))


def _raw(values: Any) -> Any:
    """The state's messages as they are; None if it has none."""
    return values.get("messages") if isinstance(values, Mapping) else getattr(values, "messages", None)


def _messages(values: Any) -> list[BaseMessage]:
    """The messages of inputs, of a state or of outputs; empty without any."""
    raw = _raw(values)
    if not raw:
        return []
    try:
        return convert_to_messages(raw if isinstance(raw, list) else [raw])
    except (ValueError, TypeError, NotImplementedError):
        return []

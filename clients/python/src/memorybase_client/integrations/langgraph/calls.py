"""The session, run and execution of a node, from LangGraph's config."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable
from uuid import UUID

from langchain_core.runnables import RunnableConfig

from memorybase_client import AgentMemory, Client, errors
from memorybase_client._ids import storable_id

Answer = TypeVar("Answer")
State = Any  # the graph's TypedDict; LangGraph has no common type for all


@runtime_checkable
class KnowsRuns(Protocol):
    """A callback handler that knows the run of each chain: the hook."""

    def run_id_of(self, chain_id: UUID | None) -> str | None: ...

    def leaf_of(self, chain_id: UUID | None) -> str | None: ...


class NodeCall(NamedTuple):
    """The session, run and execution of a node. `branch` tells executions of one step from each other, and `leaf_of`
    the message that the run continues from, if that is not the newest; it may call the API."""

    session_id: str
    run_id: str
    end_user_id: str | None
    step: int
    branch: int | str | None
    execution_id: str
    leaf_of: Callable[[], str | None]

    @classmethod
    def of(cls, config: RunnableConfig) -> Self:
        """From a node's config; raises ValueError without a session."""
        metadata = config.get("metadata") or {}
        session_id = session_of({**(config.get("configurable") or {}), **metadata})
        path = str(metadata.get("langgraph_checkpoint_ns") or "")
        hook, chain_id = _hook(config)
        run_id = metadata.get("run_id") or (hook and hook.run_id_of(chain_id)) or _run_of_config(config)
        # The path names the task, with a new id for each run and the same one when the task is repeated or resumed.
        execution_id = hashlib.sha256(f"{session_id}/{path or run_id or ''}".encode()).hexdigest()
        outer, _, _ = path.rpartition("|")
        # A nested graph restarts its steps each time, so its executions are distinguished by the task that runs it.
        step = 0 if outer else metadata.get("langgraph_step", 0)
        branch = outer or _position(metadata.get("langgraph_path"))
        leaf_of = partial(hook.leaf_of, chain_id) if hook else lambda: None
        return cls(
            session_id, str(run_id or execution_id), metadata.get("end_user_id"), step, branch, execution_id, leaf_of
        )

    def read(self, memory: AgentMemory, ask: Callable[..., Answer], **request: Any) -> Answer | None:
        """The result of a call of the client for this session and run, in the thread of the graph's state. None if
        memorybase is unreachable."""
        named = {"flow_id": memory.flow_id, "session_id": self.session_id, "run_id": self.run_id, **request}
        leaf_id = self.leaf_of()

        def answer(client: Client) -> Answer:
            if leaf_id is None:
                return ask(client, **named)
            try:
                return ask(client, leaf_id=leaf_id, **named)
            except errors.NotFound as error:
                if error.field != "leaf_id":
                    raise
                return ask(client, **named)  # the message was deleted meanwhile

        return memory.read(answer)


def session_of(values: Mapping[str, Any]) -> str:
    """The session id, by default LangGraph's thread id; raises ValueError without one."""
    session_id = values.get("session_id") or values.get("thread_id")
    if session_id is None or not str(session_id).strip():
        text = "session_id is missing: pass thread_id in the config's configurable, or use RunHook.config(session_id)"
        raise ValueError(text)
    return storable_id(str(session_id))


def _hook(config: RunnableConfig) -> tuple[KnowsRuns | None, UUID | None]:
    """The hook, and the chain that it knows."""
    callbacks = config.get("callbacks")
    found = (each for each in getattr(callbacks, "handlers", ()) if isinstance(each, KnowsRuns))
    return next(found, None), getattr(callbacks, "parent_run_id", None)


def _run_of_config(config: RunnableConfig) -> str | None:
    """The run id that the caller gave in LangChain's config."""
    runtime = (config.get("configurable") or {}).get("__pregel_runtime")
    return getattr(getattr(runtime, "execution_info", None), "run_id", None)


def _position(path: Any) -> int | None:
    """The number of this task among those that `Send` started in this step; None for the only one of its node."""
    is_sent = isinstance(path, tuple | list) and len(path) > 1 and path[0] == "__pregel_push"
    return path[1] if is_sent and isinstance(path[1], int) else None

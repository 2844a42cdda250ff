"""For LangGraph: memory as nodes of a graph, and a hook that captures each run. Needs the extra `langgraph`.

    memory = OverHttp(client, "support")                     # or InProcess(services, user_id, "support")
    graph.add_node("answer", Agent(model=model, node_id="answer", memory=memory, use_memory=True))
    hook = RunHook(memory)
    graph.compile().invoke({"messages": [("user", "Hello")]}, hook.config("session-1"))

The state is a TypedDict. Templates name its values, as in {{ messages[-1].content }}, and `session_id` and `run_id`. A
node writes what it reads from memory under the state's key `into`.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig

from memorybase.client import Json
from memorybase.conversation.chat_memory.message_log import DeletedRole, DeleteMode
from memorybase.conversation.chat_memory.templates import check_template, render
from memorybase.errors import InvalidRequest
from memorybase.integrations.flow_memory import FlowMemory
from memorybase.integrations.langchain import to_dicts, to_messages

State = Any  # the graph's TypedDict; LangGraph has no common type for all
ReadRun = Callable[[Any, Any], Sequence[BaseMessage]]

LATEST_MESSAGE = "{{ messages[-1].content }}"


class NodeCall(NamedTuple):
    """The session, run and execution of a node."""

    session_id: str
    run_id: str
    end_user_id: str | None
    step: int
    execution_id: str
    is_nested: bool  # in a nested graph; it restarts its steps each time

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Self:
        """From the metadata of RunHook.config; raises InvalidRequest without it."""
        for name in ("session_id", "run_id"):
            if not isinstance(metadata.get(name), str):
                raise InvalidRequest(f"{name} is missing: invoke the graph with RunHook.config(session_id)", field=name)
        run_id = metadata["run_id"]
        # The same when a task is retried, as after a crash; hashed because nested graphs make it long.
        path = metadata.get("langgraph_checkpoint_ns", "")
        task = f"{run_id}/{path}"
        execution_id = hashlib.sha256(task.encode()).hexdigest()
        step = metadata.get("langgraph_step", 0)
        return cls(metadata["session_id"], run_id, metadata.get("end_user_id"), step, execution_id, "|" in path)


@dataclass(frozen=True, kw_only=True, eq=False)
class ChatMemory:
    """Chat Memory: puts the chat's view under `into`. `fields` as in PUT /chat-memories."""

    memory: FlowMemory
    node_id: str
    chat_id: str = "{{ session_id }}"
    into: str = "history"
    fields: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.memory.put_chat_memory(self.node_id, {"name": self.node_id, "chat_id": self.chat_id, **self.fields})

    def chat_in(self, state: State, config: RunnableConfig) -> str:
        """The chat's id in this call; a blank value in it raises InvalidRequest."""
        return render(self.chat_id, _variables(state, _call_of(config)), field="chat_id", blanks=False)

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        chat_id = self.chat_in(state, config)
        return {self.into: to_messages(self.memory.view_chat(self.node_id, chat_id, _call_of(config).run_id))}


@dataclass(frozen=True, kw_only=True, eq=False)
class AddMemory:
    """Add Memory: appends one message to a chat. A retry adds nothing twice."""

    chat: ChatMemory
    role: Literal["user", "assistant"]
    content: str = LATEST_MESSAGE

    def __post_init__(self) -> None:
        check_template(self.content, "content")

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        call = _call_of(config)
        text = render(self.content, _variables(state, call), field="content")
        message = {"id": call.execution_id, "role": self.role, "content": text}
        self.chat.memory.post_chat(self.chat.node_id, self.chat.chat_in(state, config), [message], call.run_id)
        return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class GetMemory:
    """Get Memory Data: puts the chat's stored messages under `into`, as JSON."""

    chat: ChatMemory
    into: str
    limit: int = 50
    offset: int | None = None

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        chat_id = self.chat.chat_in(state, config)
        page = self.chat.memory.read_chat(self.chat.node_id, chat_id, limit=self.limit, offset=self.offset)
        return {self.into: page["items"]}


@dataclass(frozen=True, kw_only=True, eq=False)
class DeleteMemory:
    """Delete Memory: deletes the messages of the run that wrote last, or all, in these roles."""

    chat: ChatMemory
    mode: DeleteMode = "latest_request"
    roles: Sequence[DeletedRole] = ("user", "assistant")

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        chat_id = self.chat.chat_in(state, config)
        self.chat.memory.delete_chat(self.chat.node_id, chat_id, mode=self.mode, roles=self.roles)
        return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Recall:
    """Puts the session's history, summary and memories relevant to the query under `into`, as messages."""

    memory: FlowMemory
    node_id: str
    query: str = LATEST_MESSAGE
    into: str = "context"
    token_budget: int = 2_000
    preset: str = "token_buffer"

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        call = _call_of(config)
        query = render(self.query, _variables(state, call), field="query")
        return {self.into: to_messages(self.memory.context({**_context_request(self, call), "query": query}))}


@dataclass(frozen=True, kw_only=True, eq=False)
class _ModelNode(ABC):
    """Calls a chat model, with memory if `use_memory`.

    session     session memory, appended to the system prompt
    node        the node's own prompts and answers in earlier runs and iterations of a loop

    `reads` names keys of the state with further messages, such as those of ChatMemory and Recall.
    """

    model: Runnable[Any, Any]
    node_id: str
    prompt: str = LATEST_MESSAGE
    memory: FlowMemory | None = None
    use_memory: bool = False
    remembers: Literal["session", "node"] = "session"
    reads: Sequence[str] = ()
    token_budget: int = 2_000
    preset: str = "flowx_5"

    def __post_init__(self) -> None:
        check_template(self.prompt, "prompt")
        if self.use_memory and self.memory is None:
            raise InvalidRequest("memory must be given if use_memory is true", field="memory")

    @abstractmethod
    def instructions(self, variables: Json) -> str:
        """The system prompt; empty for none."""

    def ask(self, state: State, config: RunnableConfig) -> BaseMessage:
        call = _call_of(config)
        variables = _variables(state, call)
        question = HumanMessage(render(self.prompt, variables, field="prompt"))
        system = self.instructions(variables)
        memory = self.memory if self.use_memory else None
        history: list[BaseMessage] = []
        if memory is not None and self.remembers == "node":
            history = to_messages(memory.node_history(self._history_request(call)))
        elif memory is not None:
            system = f"{system}\n\n{memory.context(_context_request(self, call))['text']}".strip()
        state_messages = [message for key in self.reads for message in convert_to_messages(state.get(key) or [])]
        system_messages = [SystemMessage(system)] if system else []
        answer: BaseMessage = self.model.invoke([*system_messages, *state_messages, *history, question])
        if memory is not None and self.remembers == "node":
            memory.report(call.execution_id, self._execution(call, [*history, question, answer]))
        return answer

    def _history_request(self, call: NodeCall) -> Json:
        request = {
            "session_id": call.session_id, "run_id": call.run_id, "node_id": self.node_id,
            "max_tokens": self.token_budget, "execution_id": call.execution_id,
        }  # fmt: skip
        return request if call.is_nested else {**request, "index": call.step}

    def _execution(self, call: NodeCall, context: Sequence[BaseMessage]) -> Json:
        messages = [{name: value for name, value in message.items() if name != "id"} for message in to_dicts(context)]
        return {
            "session_id": call.session_id, "run_id": call.run_id, "node_id": self.node_id, "index": call.step,
            "status": "succeeded", "outputs": {"text": context[-1].text, "context": messages},
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class Agent(_ModelNode):
    """Custom Agent: calls the model and puts its answer under `into`, as a message."""

    system: str = ""
    into: str = "messages"

    def instructions(self, variables: Json) -> str:
        return render(self.system, variables, field="system") if self.system else ""

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        return {self.into: [self.ask(state, config)]}


@dataclass(frozen=True, kw_only=True, eq=False)
class IntentClassification(_ModelNode):
    """Intent Classification: puts the name of an intent under `into`, or `otherwise` if the model names none.

    `intents`: descriptions by name.
    """

    intents: Mapping[str, str]
    otherwise: str
    into: str = "intent"

    def instructions(self, variables: Json) -> str:
        del variables
        lines = [f"{name}: {about}" for name, about in self.intents.items()]
        return "\n".join(["Which of these does the message mean? Answer with its name alone.", *lines])

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        answer = self.ask(state, config).text.strip().strip(".\"'`").casefold()
        return {self.into: next((name for name in self.intents if name.casefold() == answer), self.otherwise)}


def messages_of_run(inputs: Any, outputs: Any) -> list[BaseMessage]:
    """The messages of the final state, from the run's first input on; a checkpointer keeps those of earlier runs before
    it."""
    messages = convert_to_messages(outputs.get("messages") or [])
    questions = convert_to_messages((inputs.get("messages") if isinstance(inputs, Mapping) else None) or [])
    if not questions:
        return messages
    first = (questions[0].type, questions[0].content)
    indices = [index for index, message in enumerate(messages) if (message.type, message.content) == first]
    return messages[indices[-1] :] if indices else messages


class RunHook(BaseCallbackHandler):
    """Captures the messages of each run of a graph when it ends; a failed run is not captured.

    `read` selects the messages from the graph's inputs and outputs.
    """

    raise_error = True  # otherwise LangChain would only log a failed capture

    def __init__(self, memory: FlowMemory, *, read: ReadRun = messages_of_run) -> None:
        self._memory = memory
        self._read = read
        self._running: dict[UUID, tuple[NodeCall, Any]] = {}

    def config(self, session_id: str, *, run_id: str | None = None, end_user_id: str | None = None) -> RunnableConfig:
        """The config to invoke the graph with; `run_id` is the runtime's own, or new."""
        metadata = {"session_id": session_id, "run_id": run_id or str(uuid4()), "end_user_id": end_user_id}
        return {"callbacks": [self], "metadata": metadata, "configurable": {"thread_id": session_id}}

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        del serialized
        if parent_run_id is None:
            self._running[run_id] = (NodeCall.of(metadata or {}), inputs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        running = self._running.pop(run_id, None)
        if running is None:
            return
        call, inputs = running
        messages = self._read(inputs, outputs)
        if messages:
            self._memory.capture(call.session_id, call.run_id, to_dicts(messages), call.end_user_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        del error
        self._running.pop(run_id, None)


def _call_of(config: RunnableConfig) -> NodeCall:
    return NodeCall.of(config.get("metadata") or {})


def _context_request(node: Recall | _ModelNode, call: NodeCall) -> Json:
    request = {
        "session_id": call.session_id, "run_id": call.run_id, "node_id": node.node_id,
        "token_budget": node.token_budget, "preset": node.preset,
    }  # fmt: skip
    return request if call.end_user_id is None else {**request, "end_user_id": call.end_user_id}


def _variables(state: State, call: NodeCall) -> Json:
    """The state's values for templates, with messages as JSON."""
    values = {key: _plain(value) for key, value in state.items()}
    return {**values, "session_id": call.session_id, "run_id": call.run_id}


def _plain(value: Any) -> Any:
    is_messages = isinstance(value, list) and value and all(isinstance(item, BaseMessage) for item in value)
    return to_dicts(value) if is_messages else value

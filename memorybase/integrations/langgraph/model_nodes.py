"""Nodes that call a chat model with memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from memorybase.conversation.chat_memory.templates import check_template
from memorybase.errors import InvalidRequest
from memorybase.integrations.flow_memory import FlowMemory, Json
from memorybase.integrations.langchain import to_dict, to_messages
from memorybase.integrations.langgraph.calls import NodeCall, State
from memorybase.integrations.langgraph.chat_nodes import context_request
from memorybase.integrations.langgraph.prompts import (
    LATEST_MESSAGE,
    Variables,
    is_answer,
    messages_of,
    question_of,
    with_system,
)


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
    into: str = "messages"

    def __post_init__(self) -> None:
        check_template(self.prompt, "prompt")
        if self.use_memory and self.memory is None:
            raise InvalidRequest("memory must be given if use_memory is true", field="memory")

    @abstractmethod
    def instructions(self, variables: Variables) -> str:
        """The system prompt; empty for none."""

    def ask(self, state: State, config: RunnableConfig) -> BaseMessage:
        memory = self.memory if self.use_memory else None
        call = NodeCall.of(config) if memory is not None else NodeCall.find(config)
        question = question_of(state, self.into, self.prompt, call)
        system = self.instructions(Variables(state, call))
        read = [message for key in self.reads for message in messages_of(state, key)]
        if memory is None or call is None:
            return self._invoke(system, [*read, *question])
        if self.remembers == "session":
            return self._invoke(f"{system}\n\n{self._session_text(memory, call)}", [*read, *question])
        history = self._node_history(memory, call)
        answer = self._invoke(system, [*read, *history, *question])
        if is_answer(answer):  # a tool loop is one execution, reported with its last answer
            execution = self._execution(call, [*history, *question, answer])
            report = partial(memory.report, call.execution_id, execution)
            memory.outbox.send("node_execution", report, raise_refused=False)
        return answer

    def _invoke(self, system: str, messages: Sequence[BaseMessage]) -> BaseMessage:
        answer: BaseMessage = self.model.invoke(with_system(system.strip(), messages))
        return answer

    def _session_text(self, memory: FlowMemory, call: NodeCall) -> str:
        request = context_request(self.node_id, call, self.token_budget, self.preset)
        return memory.outbox.read("context", "", lambda: str(call.read(memory.context, request)["text"]))

    def _node_history(self, memory: FlowMemory, call: NodeCall) -> list[BaseMessage]:
        request = self._history_request(call)
        return memory.outbox.read("node_history", [], lambda: to_messages(call.read(memory.node_history, request)))

    def _history_request(self, call: NodeCall) -> Json:
        request = {
            "session_id": call.session_id, "run_id": call.run_id, "node_id": self.node_id,
            "max_tokens": self.token_budget, "execution_id": call.execution_id,
        }  # fmt: skip
        return request if call.is_nested else {**request, "index": call.step}

    def _execution(self, call: NodeCall, context: Sequence[BaseMessage]) -> Json:
        outputs: Json = {"text": context[-1].text, "context": [to_dict(message) for message in context]}
        if call.branch is not None:
            outputs["branch"] = call.branch
        return {
            "session_id": call.session_id, "run_id": call.run_id, "node_id": self.node_id, "index": call.step,
            "status": "succeeded", "outputs": outputs,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class Agent(_ModelNode):
    """Custom Agent: calls the model and puts its answer under `into`, as a message. With tools bound to the model, a
    ToolNode leads back to it."""

    system: str = ""

    def instructions(self, variables: Variables) -> str:
        return variables.text(self.system, "system") if self.system else ""

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

    def instructions(self, variables: Variables) -> str:
        del variables
        lines = [f"{name}: {about}" for name, about in self.intents.items()]
        return "\n".join(["Which of these does the message mean? Answer with its name alone.", *lines])

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        answer = self.ask(state, config).text.strip().strip(".\"'`").casefold()
        return {self.into: next((name for name in self.intents if name.casefold() == answer), self.otherwise)}

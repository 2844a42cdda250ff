"""Nodes that call a chat model with memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig

from memorybase_client import AgentMemory, Client
from memorybase_client.integrations._chats import to_json
from memorybase_client.integrations._messages import Json
from memorybase_client.integrations.langgraph.asked import Write, is_answer, messages_of, question_of, with_system
from memorybase_client.integrations.langgraph.calls import NodeCall, State


@dataclass(frozen=True, kw_only=True, eq=False)
class _ModelNode(ABC):
    """Calls a chat model, with memory if `use_memory`.

    session     session memory, appended to the system prompt
    node        the node's own prompts and answers in earlier runs and iterations of a loop

    `prompt` writes the question from the state; by default it is what the state's messages end with. `reads` names keys
    of the state with further messages, such as those of ChatMemory and Recall.
    """

    model: Runnable[Any, Any]
    node_id: str
    prompt: Write | None = None
    memory: AgentMemory | None = None
    use_memory: bool = False
    remembers: Literal["session", "node"] = "session"
    reads: Sequence[str] = ()
    token_budget: int = 2_000
    preset: Literal["token_buffer", "window", "flowx_5", "flowx_6"] = "flowx_5"
    into: str = "messages"

    def __post_init__(self) -> None:
        if self.use_memory and self.memory is None:
            raise ValueError("memory must be given if use_memory is true")

    @abstractmethod
    def instructions(self, state: State) -> str:
        """The system prompt; empty for none."""

    def ask(self, state: State, config: RunnableConfig) -> BaseMessage:
        question = question_of(state, self.into, self.prompt)
        system = self.instructions(state)
        read = [message for key in self.reads for message in messages_of(state, key)]
        if self.memory is None or not self.use_memory:
            return self._invoke(system, [*read, *question])
        call = NodeCall.of(config)
        if self.remembers == "session":
            return self._invoke(f"{system}\n\n{self._session_text(self.memory, call)}", [*read, *question])
        history = self._node_history(self.memory, call)
        answer = self._invoke(system, [*read, *history, *question])
        if is_answer(answer):  # a tool loop is one execution, reported with its last answer
            self._report(self.memory, call, [*history, *question, answer])
        return answer

    def _invoke(self, system: str, messages: Sequence[BaseMessage]) -> BaseMessage:
        answer: BaseMessage = self.model.invoke(with_system(system.strip(), messages))
        return answer

    def _session_text(self, memory: AgentMemory, call: NodeCall) -> str:
        view = call.read(
            memory,
            Client.build_context,
            node_id=self.node_id,
            token_budget=self.token_budget,
            preset=self.preset,
            end_user_id=call.end_user_id or memory.end_user_id,
        )
        return "" if view is None else view.text

    def _node_history(self, memory: AgentMemory, call: NodeCall) -> list[BaseMessage]:
        view = call.read(
            memory,
            Client.get_history,
            mode="node",
            node_id=self.node_id,
            max_tokens=self.token_budget,
            execution_id=call.execution_id,
            index=call.step or None,  # nested graphs have none
        )
        return [] if view is None else convert_to_messages(view.messages)

    def _report(self, memory: AgentMemory, call: NodeCall, context: Sequence[BaseMessage]) -> None:
        outputs: Json = {"text": context[-1].text, "context": [to_json(message) for message in context]}
        if call.branch is not None:
            outputs["branch"] = call.branch
        memory.later(
            lambda calls: calls.put_node_execution(
                call.execution_id,
                flow_id=memory.flow_id,
                session_id=call.session_id,
                run_id=call.run_id,
                node_id=self.node_id,
                index=call.step,
                status="succeeded",
                outputs=outputs,
            )
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Agent(_ModelNode):
    """Custom Agent: calls the model and puts its answer under `into`, as a message. With tools bound to the model, a
    ToolNode leads back to it. `system` may be made from the state."""

    system: str | Callable[[State], str] = ""

    def instructions(self, state: State) -> str:
        return self.system if isinstance(self.system, str) else self.system(state)

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

    def instructions(self, state: State) -> str:
        del state
        lines = [f"{name}: {about}" for name, about in self.intents.items()]
        return "\n".join(["Which of these does the message mean? Answer with its name alone.", *lines])

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        answer = self.ask(state, config).text.strip().strip(".\"'`").casefold()
        return {self.into: next((name for name in self.intents if name.casefold() == answer), self.otherwise)}

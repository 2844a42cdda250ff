"""Writes the template: `python clients/langflow/template.py [FILE]`, in an environment with requirements.txt."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lfx.components.input_output import ChatInput, ChatOutput
from lfx.components.models_and_agents import LanguageModelComponent, PromptComponent
from lfx.custom.eval import eval_custom_component_code
from lfx.graph.flow_builder import add_connection, layout_flow
from lfx.graph.graph.base import Graph

HERE = Path(__file__).resolve().parent
FILE = HERE / "memory-chat.json"
ID = "e7d8b4c1-9996-5719-ae6f-925a819363eb"  # without one `lfx validate` refuses the file
NAME = "Chat with memory"
DESCRIPTION = "Recalls with memorybase what was said before, and remembers what is said."
PROMPT = """Answer the question. Use what you remember, if it helps.

What you remember:
{memory}

Question:
{question}"""
END_USER = "me"
OURS = {"MemorybaseRecall", "MemorybaseRemember"}

Json = dict[str, Any]


def component(name: str, **fields: Any) -> Any:
    """The component of one of our files, as Langflow makes it of pasted code."""
    code = (HERE / f"{name}.py").read_text(encoding="utf-8")
    kind = eval_custom_component_code(code)
    return kind(_code=code, _id=f"{kind.name}-memory").set(**fields)


def graph() -> Graph:
    question = ChatInput(_id="ChatInput-memory")
    recall = component("recall", query=question.message_response, end_user=END_USER)
    prompt = PromptComponent(_id="Prompt Template-memory")
    prompt.set(template=PROMPT, memory=recall.recall_text, question=question.message_response)
    model = LanguageModelComponent(_id="LanguageModelComponent-memory").set(input_value=prompt.build_prompt)
    remember = component(
        "remember", user_message=question.message_response, answer=model.text_response, end_user=END_USER
    )
    answer = ChatOutput(_id="ChatOutput-memory").set(input_value=remember.remember)
    return Graph(question, answer)


def template() -> Json:
    """The graph with what Langflow's editor needs beyond what dump() writes: places, and handles of edges as text."""
    flow: Json = {"id": ID} | dict(graph().dump(name=NAME, description=DESCRIPTION))
    nodes = flow["data"]["nodes"] = sorted(flow["data"]["nodes"], key=lambda node: str(node["id"]))
    edges, flow["data"]["edges"] = flow["data"]["edges"], []
    for node in nodes:
        node |= {"type": "genericNode", "selected": False}
        node["data"]["showNode"] = True
        if node["data"]["type"] in OURS:
            node["data"]["type"] = "CustomComponent"  # else the editor looks for updates of it
        for field in node["data"]["node"]["template"].values():
            if isinstance(field, dict) and isinstance(field.get("value"), dict):
                field["value"] = ""  # an empty message, with the time
    handles = [(edge["data"]["sourceHandle"], edge["data"]["targetHandle"]) for edge in edges]
    ends = [(source["id"], source["name"], target["id"], target["fieldName"]) for source, target in handles]
    for end in sorted(ends):  # dump() has them in any order
        add_connection(flow, *end)
    layout_flow(flow)
    return flow


def main(file: Path) -> None:
    file.write_text(json.dumps(template(), indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FILE)

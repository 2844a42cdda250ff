"""Runs flows in lfx: a script for its environment. It reads requests as harness.langflow writes them, one a line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from typing import Any

from lfx.graph.graph.base import Graph
from lfx.schema.schema import InputValueRequest


async def run(request: dict[str, Any]) -> dict[str, Any]:
    known = request["graph"]
    graph = Graph.from_payload(request["flow"]["data"], flow_id=known.get("flow_id"), flow_name=known.get("flow_name"))
    for name in ("session_id", "end_user_id", "persist_messages"):
        if name in known:
            setattr(graph, name, known[name])
    graph.set_run_id(request["run_id"])
    graph.prepare()
    async for _ in graph.async_start(inputs=InputValueRequest(input_value=request["text"])):
        pass
    built = {vertex.id.removesuffix("-memory"): vertex.custom_component for vertex in graph.vertices}
    recall, remember = built["MemorybaseRecall"], built["MemorybaseRemember"]
    return {
        "answer": text_of(built["ChatOutput"], "message"),
        "prompt": text_of(built["Prompt Template"], "prompt"),
        "recall": status_of(recall, "recalled"),
        "remember": status_of(remember, "message"),
        "memories": (await recall.recall_memories()).data,
    }


def text_of(component: Any, output: str) -> str:
    found: str = component.get_output(output).value.text
    return found


def status_of(component: Any, output: str) -> str:
    """What Langflow shows under Logs."""
    (log,) = component.get_output_logs()[output]
    found: str = log.message
    return found


def main() -> None:
    # What lfx prints goes elsewhere.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answer = asyncio.run(run(json.loads(line)))
        except Exception:  # noqa: BLE001  the test shows it
            answer = {"failed": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

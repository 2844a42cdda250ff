"""Measures the answers of the MCP tools: their tokens, and whether they have what answers the question.

    python bench/tool_answers.py FILE ... [--json FILE] [--data-dir DIR] [--results FOLDER]

Each FILE is in LoCoMo's format, a list of chats with messages and questions, or the history of one person. The
benchmark starts its own embedded stack, loads each conversation as its own flow, and asks every question as a model
does: search_memory with its defaults, then get_session around the first result. For each corpus:

    tokens      of the text that the model reads, by o200k_base: mean and 95th percentile
    evidence    the mean share of the answering messages that are in the answer
    answer      of questions with a pattern that an answer contains (histories): the share whose answer has it

Questions that nothing answers count for the tokens alone. Needs bpe-openai. --data-dir keeps the loaded data.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mcp import Client as McpClient
from memorybase_client import AsyncClient, Client
from memorybase_client.mcp.scope import Scope
from memorybase_client.mcp.server import build_server
from recalling import command
from recalling.corpora import Conversation, Corpus, Question
from recalling.loading import Loaded
from runs import Run
from token_counts import tokens_of

from memorybase.core.conversation.view.token_counters import counter_named
from memorybase.core.settings import Settings
from memorybase.stack.state import DataDir

COUNTER = counter_named("openai:o200k_base")
INDEX, BOTH = "search_memory", "and get_session around the first"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a model has read after a step. None: the question has no evidence, or no pattern."""

    tokens: int
    evidence: float | None
    answer: bool | None


def shown(loaded: Loaded, conversation: Conversation, question: Question, read: Sequence[Any]) -> Shown:
    """What these answers of tools show."""
    messages = [message for answer in read for message in answer.structured_content.get("results", [])]
    messages += [message for answer in read for message in answer.structured_content.get("messages", [])]
    own = {loaded.own_id(conversation, message["id"]) for message in messages}
    text = "\n".join(line["content"] for message in messages for line in [message, *around(message)])
    return Shown(
        tokens=sum(tokens_of(COUNTER, answer.content[0].text) for answer in read),
        evidence=len(question.evidence & own) / len(question.evidence) if question.evidence else None,
        answer=None if question.pattern is None else re.search(question.pattern, text) is not None,
    )


def around(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [*message.get("before", []), *message.get("after", [])]


async def ask(loaded: Loaded, conversation: Conversation, question: Question, server: McpClient) -> dict[str, Shown]:
    found = await server.call_tool("search_memory", {"query": question.text})
    hits = found.structured_content["results"]
    read = [found]
    if hits:
        read.append(await server.call_tool("get_session", {"around": hits[0]["id"]}))
    return {step: shown(loaded, conversation, question, some) for step, some in ((INDEX, read[:1]), (BOTH, read))}


async def ask_all(loaded: Loaded, corpus: Corpus, key: str, kept: Run) -> dict[str, list[Shown]]:
    asked: dict[str, list[Shown]] = {INDEX: [], BOTH: []}
    async with AsyncClient(loaded.client.url, key) as client:
        for conversation in corpus.conversations:
            async with McpClient(build_server(Scope(client, conversation.name))) as server:
                for question in conversation.questions:
                    for step, each in (await ask(loaded, conversation, question, server)).items():
                        asked[step].append(each)
                        kept.add(
                            **corpus.line(conversation, question),
                            method=step,
                            tokens=each.tokens,
                            shown=each.evidence,
                            has_answer=each.answer,
                        )
    return asked


def summary(asked: Sequence[Shown]) -> dict[str, float]:
    tokens = [each.tokens for each in asked]
    evidence = [each.evidence for each in asked if each.evidence is not None]
    answers = [each.answer for each in asked if each.answer is not None]
    figures = {
        "questions": len(asked),
        "tokens": round(float(np.mean(tokens))),
        "p95": round(float(np.percentile(tokens, 95))),
        "evidence": round(float(np.mean(evidence)), 3),
    }
    return figures | ({"answer": round(float(np.mean(answers)), 3)} if answers else {})


def measure(client: Client, settings: Settings, found: Sequence[Corpus], kept: Run) -> dict[str, Any]:
    loaded = Loaded(client)
    for corpus in found:
        for conversation in corpus.conversations:
            loaded.load(conversation)
    key = DataDir(settings.data_dir).known_api_key(settings) or ""
    report: dict[str, Any] = {}
    for corpus in found:
        report[corpus.name] = {"sha256": corpus.sha256}
        for step, asked in asyncio.run(ask_all(loaded, corpus, key, kept)).items():
            report[corpus.name][step] = summary(asked)
            print(f"{corpus.name}, {step}: {json.dumps(report[corpus.name][step])}", flush=True)
    return report


def main() -> None:
    chosen = command.parser(__doc__).parse_args()
    found = command.corpora(chosen)
    command.run(chosen, lambda client, settings, kept: measure(client, settings, found, kept))


if __name__ == "__main__":
    main()

"""Runs memorybase's providers for the harnesses of others on a data set, without a model or a judge.

    python bench/harness_runs.py [DATA ...] [--only agent-memory-benchmark omnimemeval memorybench] [--every N]
        [--conversations N] [--results FOLDER] [--json FILE] [--data-dir DIR]

Each provider is given conversations as its harness gives them (bench/harnesses.md) and asked every n-th answerable
question; without DATA those made by hand. Counted is the mean share of the evidence in what it returns: of sessions
among agent-memory-benchmark's documents and memorybench's results, of messages whose text is in OmniMemEval's context.
memorybench needs npm, and what `npm ci` installs in clients/typescript.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import runs
from harnesses.client_factory.memorybase_provider import MemorybaseProvider
from harnesses.memory_bench.memory.memorybase import MemorybaseMemoryProvider
from harnesses.memory_bench.models import Document
from memorybase_client import Client
from recall import BY_HAND, made_corpora
from recalling import command, counting
from recalling.corpora import Conversation, Corpus, Question
from runs import Run

from memorybase.core.messages import message_text
from memorybase.core.settings import Settings
from memorybase.stack.state import DataDir

HARNESSES = Path(__file__).parent / "harnesses"
TYPESCRIPT = Path(__file__).parents[1] / "clients" / "typescript"
# What each harness asks for by default.
DOCUMENTS, LINES, RESULTS = 10, 20, 10

Message = Mapping[str, Any]
# The question, the ids of what answers it, those of what was returned, milliseconds.
Answer = tuple[Question, frozenset[str], Sequence[str], float]


def sessions_of(conversation: Conversation) -> Iterator[tuple[str, list[Message]]]:
    for session, of_session in groupby(conversation.runs, key=lambda run: run["session_id"]):
        yield session, [message for run in of_session for message in run["messages"]]


def speaker(message: Message) -> str:
    return str(message.get("sender_name") or message["role"])


def ask_documents(conversation: Conversation, questions: Sequence[Question]) -> Iterator[Answer]:
    """agent-memory-benchmark: a document for each session, whose content is the JSON of its turns."""
    provider = MemorybaseMemoryProvider()
    provider.initialize()
    with tempfile.TemporaryDirectory() as directory:
        provider.prepare(Path(directory), {conversation.name})
    provider.ingest([_document(conversation, *session) for session in sessions_of(conversation)])
    session_of = conversation.session_of
    for question in questions:
        began = time.perf_counter()
        documents, _ = provider.retrieve(question.text, DOCUMENTS, conversation.name)
        took = 1_000 * (time.perf_counter() - began)
        yield question, counting.answering_sessions(question, session_of), [each.id for each in documents], took
    provider.cleanup()


def _document(conversation: Conversation, session: str, messages: Sequence[Message]) -> Document:
    turns = [{"speaker": speaker(each), "text": message_text(each["content"])} for each in messages]
    return Document(session, json.dumps(turns), conversation.name, timestamp=messages[0].get("timestamp"))


def ask_context(conversation: Conversation, questions: Sequence[Question]) -> Iterator[Answer]:
    """OmniMemEval: messages of a session with their time, and a context as text."""
    provider = MemorybaseProvider()
    provider.delete(conversation.name)
    for _, messages in sessions_of(conversation):
        said = [
            {"role": each["role"], "content": f"{speaker(each)}: {message_text(each['content'])}"} for each in messages
        ]
        at = messages[0].get("timestamp")
        provider.add([each | ({"chat_time": at} if at else {}) for each in said], conversation.name)
    texts = {each["id"]: message_text(each["content"]) for each in conversation.messages}
    for question in questions:
        began = time.perf_counter()
        context = provider.search(question.text, conversation.name, LINES)
        took = 1_000 * (time.perf_counter() - began)
        yield question, question.evidence, [id_ for id_, text in texts.items() if text and text in context], took


def ask_results(conversation: Conversation, questions: Sequence[Question]) -> Iterator[Answer]:
    """memorybench: a container for each conversation, sessions of messages, and results with their session."""
    sessions = [
        {
            "sessionId": session,
            "messages": [
                {"role": each["role"], "speaker": speaker(each), "content": message_text(each["content"])}
                for each in messages
                if each["role"] in {"user", "assistant"}
            ],
            "metadata": {"date": messages[0].get("timestamp")},
        }
        for session, messages in sessions_of(conversation)
    ]
    asked = [question.text for question in questions]
    answer = in_node({"container": conversation.name, "sessions": sessions, "questions": asked, "limit": RESULTS})
    if answer["left"]:
        raise SystemExit(f"error: {answer['left']} results were found after the container was cleared")
    session_of = conversation.session_of
    for question, found in zip(questions, answer["found"], strict=True):
        evidence = counting.answering_sessions(question, session_of)
        yield question, evidence, list(dict.fromkeys(found["sessions"])), found["ms"]


def in_node(work: Mapping[str, Any]) -> dict[str, Any]:
    """Compile memorybench's provider against our reading of its interface, and let Node drive it."""
    compiler = TYPESCRIPT / "node_modules" / ".bin" / "tsc"
    if not compiler.is_file():
        raise SystemExit(
            "error: memorybench needs npm: cd clients/typescript && npm ci && npm run build; or --only others"
        )
    with tempfile.TemporaryDirectory() as directory:
        built = Path(directory)
        (built / "node_modules").mkdir()
        (built / "node_modules" / "memorybase-client").symlink_to(TYPESCRIPT)
        (built / "node_modules" / "@types").symlink_to(TYPESCRIPT / "node_modules" / "@types")
        shutil.copytree(HARNESSES / "memorybench", built / "src")
        (built / "package.json").write_text('{"type": "module"}')
        subprocess.run([compiler, "-p", "src"], cwd=built, check=True)
        node = ["node", "built/run.js"]
        done = subprocess.run(node, cwd=built, check=True, text=True, input=json.dumps(work), stdout=subprocess.PIPE)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


ASKING: Mapping[str, Callable[[Conversation, Sequence[Question]], Iterator[Answer]]] = {
    "agent-memory-benchmark": ask_documents,
    "omnimemeval": ask_context,
    "memorybench": ask_results,
}


def measure(url: str, key: str, found: Sequence[Corpus], chosen: argparse.Namespace, kept: Run) -> dict[str, Any]:
    os.environ.update(MEMORYBASE_URL=url, MEMORYBASE_API_KEY=key)  # what a provider reads
    report: dict[str, Any] = {}
    for corpus in found:
        figures: dict[str, Any] = {"sha256": corpus.sha256}
        for harness in chosen.only:
            answers = []
            for conversation in corpus.conversations:
                answerable = [question for question in conversation.questions if question.evidence][:: chosen.every]
                for question, evidence, returned, took in ASKING[harness](conversation, answerable):
                    answers.append(len(evidence & set(returned)) / len(evidence))
                    line = corpus.line(conversation, question) | {"method": harness, "answering": sorted(evidence)}
                    kept.add(**line, **runs.found(returned), ms=round(took, 1))
            figures[harness] = {"questions": len(answers), "evidence": round(float(np.mean(answers)), 4)}
            print(f"{corpus.name}, {harness}: {figures[harness]}", flush=True)
        report[corpus.name] = figures
    return report


def main() -> None:
    arguments = command.parser(__doc__, files="*")
    arguments.add_argument("--only", nargs="+", choices=list(ASKING), default=list(ASKING))
    arguments.add_argument("--every", type=int, default=1, help="ask only every n-th question")
    chosen = arguments.parse_args()
    found = command.corpora(chosen) or [corpus for corpus in made_corpora() if corpus.name == BY_HAND]

    def measured(client: Client, settings: Settings, kept: Run) -> dict[str, Any]:
        key = DataDir(settings.data_dir).known_api_key(settings) or ""
        return measure(client.url, key, found, chosen, kept)

    command.run(chosen, measured)


if __name__ == "__main__":
    main()

"""Measures POST /context: the share of the answering messages that it contains, and of the budget that it uses.

    python bench/context.py FILE ... [--budgets 1000 2000 4000 8000] [--results FOLDER] [--json FILE] [--data-dir DIR]

Each FILE is in LoCoMo's format or a list of chats with messages and questions. The benchmark starts its own embedded
stack, posts each conversation as earlier sessions of one end user, ingests them into a memory base over all turns, and
requests the context of every answerable question in a new session of that end user. For each corpus and budget:

    brought    the share of a question's answering messages that the context quotes; mean over questions
    used       the share of the budget that was spent; mean over questions
    messages   how many messages the context quotes
    took       milliseconds of the call, median and 95th percentile

For comparison, the naive way: the best messages by plain BM25, each truncated to its first 200 words, until the budget
is full; a message that does not fit is skipped. Both count tokens alike. The budget is filled with whatever is nearest;
--fitting leaves out what fits too little, as by default. With --together all conversations of a file
belong to one end user. --every 4 asks every fourth question. --data-dir keeps the loaded data for the next run; data
loaded with --together needs its own directory.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import runs
from memorybase_client import Client
from memorybase_client.models import ContextAnswer
from recalling import command, naive
from recalling.corpora import Conversation, Corpus, Question
from recalling.loading import Loaded
from runs import Run

from memorybase.core.conversation import ESTIMATE
from memorybase.core.conversation.view.records import Record
from memorybase.core.messages import message_text

BUDGETS = (1_000, 2_000, 4_000, 8_000)
NAIVE_WORDS = 200


@dataclass(slots=True)
class Measured:
    """The figures of one method at one budget: a value for each question."""

    brought: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    took_ms: list[float] = field(default_factory=list)

    def add(self, question: Question, ids: Collection[str], used: float, took_ms: float = 0.0) -> None:
        self.brought.append(len(question.evidence & set(ids)) / len(question.evidence))
        self.used.append(used)
        self.messages.append(len(set(ids)))
        self.took_ms.append(took_ms)

    def as_dict(self) -> dict[str, float]:
        return {
            "questions": len(self.brought),
            "brought": round(float(np.mean(self.brought)), 4),
            "used": round(float(np.mean(self.used)), 4),
            "messages": round(float(np.mean(self.messages)), 1),
            "took_ms_p50": round(float(np.percentile(self.took_ms, 50)), 1),
            "took_ms_p95": round(float(np.percentile(self.took_ms, 95)), 1),
        }


def context(
    loaded: Loaded, conversation: Conversation, question: str, budget: int, *, fitting: bool
) -> tuple[ContextAnswer, list[str]]:
    """The response, and the conversation's ids of the messages that it quotes."""
    name = conversation.name
    answer = loaded.client.build_context(
        flow_id=name,
        session_id=f"{name}:asking",
        end_user_id=name,
        token_budget=budget,
        query=question,
        recall={} if fitting else {"min_score": 0},
    )
    ids = [id_ for source in answer.sources for id_ in source.message_ids]
    return answer, [loaded.own_id(conversation, id_) for id_ in ids]


def together(corpus: Corpus) -> Corpus:
    """All conversations as one, so that they belong to one end user."""
    runs = [run for conversation in corpus.conversations for run in conversation.runs]
    questions = [question for conversation in corpus.conversations for question in conversation.questions]
    merged = Conversation(corpus.name, f"{corpus.name} together", runs, questions)
    return Corpus(merged.name, [merged], corpus.sha256)


def questions_of(corpus: Corpus, every: int) -> Iterator[tuple[Conversation, list[Question]]]:
    """Each conversation with every n-th of its answerable questions."""
    for conversation in corpus.conversations:
        yield conversation, [question for question in conversation.questions if question.evidence][::every]


def measure_context(loaded: Loaded, corpus: Corpus, budget: int, chosen: argparse.Namespace, kept: Run) -> Measured:
    measured = Measured()
    for conversation, questions in questions_of(corpus, chosen.every):
        for question in questions:
            began = time.perf_counter()
            answer, ids = context(loaded, conversation, question.text, budget, fitting=chosen.fitting)
            took_ms = (time.perf_counter() - began) * 1_000
            tokens = answer.report.tokens_after
            measured.add(question, ids, tokens / budget, took_ms)
            line = corpus.line(conversation, question) | {"method": "context", "budget": budget}
            kept.add(**line, **runs.found(ids), tokens=tokens, ms=round(took_ms, 1))
    return measured


def measure_naive(corpus: Corpus, budgets: Sequence[int], every: int, kept: Run) -> dict[int, Measured]:
    measured = {budget: Measured() for budget in budgets}
    for conversation, questions in questions_of(corpus, every):
        messages = list(conversation.messages)
        search = naive.PlainBm25(messages)
        costs = {message["id"]: _cost(message) for message in messages}
        for question in questions:
            ranked = search.ranked(question.text)
            for budget in budgets:
                ids, spent = [], 0
                for id_ in ranked:
                    if spent + costs[id_] <= budget:
                        ids.append(id_)
                        spent += costs[id_]
                measured[budget].add(question, ids, spent / budget)
                line = corpus.line(conversation, question) | {"method": "plain BM25", "budget": budget}
                kept.add(**line, **runs.found(ids), tokens=spent)
    return measured


def _cost(message: Mapping[str, Any]) -> int:
    """The tokens of a message's first words, without the fixed cost of a message."""
    words = message_text(message["content"]).split()[:NAIVE_WORDS]
    empty = Record(id="", seq=0, role="user", content="")
    return ESTIMATE.count(empty.with_content(" ".join(words))) - ESTIMATE.count(empty)


def measure(client: Client, loaded_corpora: Sequence[Corpus], chosen: argparse.Namespace, kept: Run) -> dict[str, Any]:
    budgets = chosen.budgets
    loaded = Loaded(client)
    for corpus in loaded_corpora:
        for conversation in corpus.conversations:
            loaded.load(conversation)
    report: dict[str, Any] = {}
    for corpus in loaded_corpora:
        baseline = measure_naive(corpus, budgets, chosen.every, kept)
        report[corpus.name] = {"conversations": len(corpus.conversations), "sha256": corpus.sha256}
        print(f"{corpus.name}\n  budget   brought  naive   used  naive   messages  naive   p50 ms  p95 ms")
        for budget in budgets:
            ours = measure_context(loaded, corpus, budget, chosen, kept).as_dict()
            theirs = baseline[budget].as_dict()
            report[corpus.name][str(budget)] = {"context": ours, "naive": theirs}
            print(
                f"  {budget:6}     {ours['brought']:.3f}  {theirs['brought']:.3f}  {ours['used']:.3f}  "
                f"{theirs['used']:.3f}   {ours['messages']:8.1f}  {theirs['messages']:5.1f}   "
                f"{ours['took_ms_p50']:6.1f}  {ours['took_ms_p95']:6.1f}",
                flush=True,
            )
    return report


def main() -> None:
    arguments = command.parser(__doc__)
    arguments.add_argument("--budgets", type=int, nargs="+", default=BUDGETS)
    arguments.add_argument("--together", action="store_true", help="all conversations of a file belong to one end user")
    arguments.add_argument("--every", type=int, default=1, help="ask only every n-th question")
    arguments.add_argument("--fitting", action="store_true", help="leave out what fits too little")
    chosen = arguments.parse_args()
    single = command.corpora(chosen)
    found = [together(corpus) for corpus in single] if chosen.together else single
    command.run(chosen, lambda client, _, kept: measure(client, found, chosen, kept))


if __name__ == "__main__":
    main()

"""What does a context bring? The share of the answering messages in POST /context, and of the budget that is used.

    python bench/context.py FILE ... [--budgets 1000 2000 4000 8000] [--json FILE] [--data-dir DIR]

Each FILE is in LoCoMo's format or a list of chats with messages and questions. It starts its own embedded stack, posts
each conversation as earlier sessions of one end user, ingests them into a memory base over all turns, and asks for the
context of every question that something answers, in a new session of that end user. For each corpus and budget:

    brought    the share of a question's answering messages that the context shows something of; mean over questions
    used       the share of the budget that was spent; mean over questions
    messages   how many messages the context shows something of
    took       milliseconds of the call, median and 95th percentile

Beside it the naive way: the best messages by plain BM25, each cut to its first 200 words, until the budget is full; a
message that does not fit is passed over. Both count tokens alike. With --together one end user has had all
conversations of a file. --every 4 asks each fourth question. With --data-dir what was loaded is kept there and used
again; what is loaded together needs a directory of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from recalling import command, corpora, naive
from recalling.corpora import Conversation, Corpus, Question
from recalling.loading import Loaded

from memorybase.client import Client
from memorybase.conversation import ESTIMATE
from memorybase.conversation.view.records import Record
from memorybase.messages import message_text

BUDGETS = (1_000, 2_000, 4_000, 8_000)
NAIVE_WORDS = 200


@dataclass(slots=True)
class Measured:
    """One way at one budget: a value for each question."""

    brought: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    took_ms: list[float] = field(default_factory=list)

    def add(self, question: Question, ids: Sequence[str], used: float, took_ms: float = 0.0) -> None:
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


def context(loaded: Loaded, conversation: Conversation, question: str, budget: int) -> tuple[dict[str, Any], list[str]]:
    """The answer, and the messages of the conversation that it shows something of, by their own ids."""
    name = conversation.name
    body = {
        "flow_id": name,
        "session_id": f"{name}:asking",
        "end_user_id": name,
        "token_budget": budget,
        "query": question,
    }
    answer: dict[str, Any] = loaded.client.call("POST", "/context", json=body)
    ids = [id_ for source in answer["sources"] for id_ in source["message_ids"]]
    return answer, [loaded.own_id(conversation, id_) for id_ in ids]


def together(corpus: Corpus) -> Corpus:
    """All conversations as those of one end user."""
    runs = [run for conversation in corpus.conversations for run in conversation.runs]
    questions = [question for conversation in corpus.conversations for question in conversation.questions]
    whole = Conversation(corpus.name, f"{corpus.name} together", runs, questions)
    return Corpus(whole.name, [whole], corpus.sha256)


def asked_of(corpus: Corpus, every: int) -> Iterator[tuple[Conversation, list[Question]]]:
    """Each conversation's questions that something answers."""
    for conversation in corpus.conversations:
        yield conversation, [question for question in conversation.questions if question.evidence][::every]


def measure_context(loaded: Loaded, corpus: Corpus, budget: int, every: int) -> Measured:
    measured = Measured()
    for conversation, questions in asked_of(corpus, every):
        for question in questions:
            began = time.perf_counter()
            answer, ids = context(loaded, conversation, question.text, budget)
            took_ms = (time.perf_counter() - began) * 1_000
            measured.add(question, ids, answer["report"]["tokens_after"] / budget, took_ms)
    return measured


def measure_naive(corpus: Corpus, budgets: Sequence[int], every: int) -> dict[int, Measured]:
    measured = {budget: Measured() for budget in budgets}
    for conversation, questions in asked_of(corpus, every):
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
    return measured


def _cost(message: Mapping[str, Any]) -> int:
    """The tokens of its first words, without what a message costs beside its text."""
    words = message_text(message["content"]).split()[:NAIVE_WORDS]
    empty = Record(id="", seq=0, role="user", content="")
    return ESTIMATE.count(empty.with_content(" ".join(words))) - ESTIMATE.count(empty)


def measure(client: Client, found: Sequence[Corpus], budgets: Sequence[int], every: int) -> dict[str, Any]:
    loaded = Loaded(client)
    for corpus in found:
        for conversation in corpus.conversations:
            loaded.load(conversation)
    report: dict[str, Any] = {}
    for corpus in found:
        beside = measure_naive(corpus, budgets, every)
        report[corpus.name] = {"conversations": len(corpus.conversations), "sha256": corpus.sha256}
        print(f"{corpus.name}\n  budget   brought  naive   used  naive   messages  naive   p50 ms  p95 ms")
        for budget in budgets:
            ours, theirs = measure_context(loaded, corpus, budget, every).as_dict(), beside[budget].as_dict()
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
    arguments.add_argument("--together", action="store_true", help="one end user has had all conversations of a file")
    arguments.add_argument("--every", type=int, default=1, help="ask each so many-th question")
    chosen = arguments.parse_args()
    read = [corpora.read(file) for file in chosen.data]
    found = [together(corpus) for corpus in read] if chosen.together else read
    command.run(chosen, lambda client, _: measure(client, found, chosen.budgets, chosen.every))


if __name__ == "__main__":
    main()

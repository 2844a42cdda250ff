"""Measures standing statements: what the finder finds and costs, and what they change in contexts.

    python bench/standing.py [FILE ...] [--budgets 1000 2000 4000] [--share 0.15] [--mode keyword] [--show]
        [--results FOLDER]

Each FILE is in LoCoMo's format or a list of chats with messages and questions. Generated
conversations, with statements that the questions share no word with, are measured too. The benchmark starts its own
embedded stack, posts each conversation as earlier sessions of one end user, and requests the context of every
answerable question in a new session, with and without standing statements. For each category and budget:

    brought    the share of a question's answering messages that the context quotes; mean over questions
    any        the share of questions of which it quotes at least one

For a standing statement the context quotes one sentence of its message. An earlier message that states the same in
the same words counts as quoted too: the latest stands for it. --mode hybrid ingests the conversations, which
takes many minutes. --show prints every statement that is found, to be judged by a person.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import runs
from made import wishes
from memorybase_client import Client
from recalling import command, corpora
from recalling.corpora import Conversation, Corpus
from recalling.loading import Loaded
from runs import Run

from memorybase.core.messages import message_text
from memorybase.features.standing_statements import finder
from memorybase.features.standing_statements.replacement import topic_of

BUDGETS = (1_000, 2_000, 4_000)
Mode = Literal["hybrid", "keyword"]


class Posted(Loaded):
    """Conversations that keyword search finds without ingestion."""

    def load(self, conversation: Conversation) -> None:
        name = conversation.name
        if name not in self.memories:
            self.client.put_flow(name, name=name)
            # The threshold is out of reach, so everything stays pending; keyword search does not need more.
            base = self.client.create_memory_base(
                name=name, flow_id=name, capture="all", threshold=10_000, idle_after=0
            )
            self.memories[name] = base.id
            for run in conversation.runs:
                self.client.capture_run(name, **run, end_user_id=name)
        listed = self.client.list_messages(flow_id=name)
        self._names[name] = {str(each.id): str(each.external_id) for each in listed}


def repetitions(conversation: Conversation) -> dict[str, set[str]]:
    """By message: the messages of users that state something in the same words."""
    by_words: dict[frozenset[str], set[str]] = defaultdict(set)
    for message in conversation.messages:
        if message["role"] == "user":
            for each in finder.find(message_text(message["content"])):
                by_words[topic_of(each.text).words].add(message["id"])
    found: dict[str, set[str]] = defaultdict(set)
    for ids in by_words.values():
        for id_ in ids:
            found[id_] |= ids
    return found


def measure_finder(corpus: Corpus, *, show: bool) -> dict[str, Any]:
    """What is found in the users' messages, and the processor time that it takes."""
    texts = [
        (message["id"], message_text(message["content"]))
        for conversation in corpus.conversations
        for message in conversation.messages
        if message["role"] == "user"
    ]
    began = time.process_time()
    found = [(id_, each) for id_, text in texts for each in finder.find(text)]
    seconds = time.process_time() - began
    if show:
        for id_, each in found:
            print(f"    {id_}  {each.kind}: {each.text}")
    return {
        "messages": len(texts),
        "statements": len(found),
        "bytes_a_statement": round(float(np.mean([len(each.text.encode()) for _, each in found] or [0]))),
        "microseconds_a_message": round(seconds / max(1, len(texts)) * 1e6, 1),
    }


class Measured:
    """Values for each question, by category."""

    def __init__(self) -> None:
        self.brought: dict[str, list[float]] = defaultdict(list)
        self.took_ms: list[float] = []
        self.tokens: list[int] = []

    def as_dict(self) -> dict[str, Any]:
        every = [value for values in self.brought.values() for value in values]
        return {
            "took_ms_p50": round(float(np.percentile(self.took_ms, 50)), 1),
            "standing_tokens": round(float(np.mean(self.tokens)), 1),
            "categories": {
                name: {
                    "questions": len(values),
                    "brought": round(float(np.mean(values)), 3),
                    "any": round(float(np.mean([value > 0 for value in values])), 3),
                }
                for name, values in [*sorted(self.brought.items()), ("all", every)]
            },
        }


def measure_contexts(
    loaded: Loaded, corpus: Corpus, budget: int, share: float, mode: Mode, kept: Run
) -> dict[str, dict[str, Any]]:
    """The contexts of all questions, without standing statements and with them, one after the other."""
    measured = {"without": Measured(), "with": Measured()}
    for conversation in corpus.conversations:
        name, repeated = conversation.name, repetitions(conversation)
        for question in (each for each in conversation.questions if each.evidence):
            for label, each in measured.items():
                began = time.perf_counter()
                answer = loaded.client.build_context(
                    flow_id=name,
                    session_id=f"{name}:asking",
                    end_user_id=name,
                    token_budget=budget,
                    query=question.text,
                    recall={"mode": mode, "min_score": 0},
                    standing={"include": label == "with", "share": share},
                )
                each.took_ms.append((time.perf_counter() - began) * 1_000)
                each.tokens.append(answer.report.spent.standing)
                ids = {loaded.own_id(conversation, id_) for source in answer.sources for id_ in source.message_ids}
                stated = {loaded.own_id(conversation, use.message_id) for use in answer.report.standing}
                ids |= {id_ for message_id in stated for id_ in repeated[message_id]}
                each.brought[question.category].append(len(question.evidence & ids) / len(question.evidence))
                line = corpus.line(conversation, question) | {"method": f"{label} standing statements"}
                line |= {"budget": budget, "tokens": each.tokens[-1], "ms": round(each.took_ms[-1], 1)}
                kept.add(**line, **runs.found(sorted(ids)))
    return {label: each.as_dict() for label, each in measured.items()}


def measure(
    client: Client, found: Sequence[Corpus], budgets: Sequence[int], share: float, mode: Mode, kept: Run
) -> dict[str, Any]:
    loaded = Posted(client) if mode == "keyword" else Loaded(client)
    report: dict[str, Any] = {}
    for corpus in found:
        for conversation in corpus.conversations:
            loaded.load(conversation)
        report[corpus.name] = {"sha256": corpus.sha256}
        for budget in budgets:
            result = measure_contexts(loaded, corpus, budget, share, mode, kept)
            report[corpus.name][str(budget)] = result
            print(f"{corpus.name}, {budget} tokens, share {share}, {mode}: brought (any), without and with")
            for name, with_ in result["with"]["categories"].items():
                without = result["without"]["categories"][name]
                print(
                    f"  {name:28} {with_['questions']:4}  {without['brought']:.3f} ({without['any']:.3f})"
                    f"  {with_['brought']:.3f} ({with_['any']:.3f})"
                )
            print(
                f"  p50 {result['without']['took_ms_p50']} ms and {result['with']['took_ms_p50']} ms; "
                f"{result['with']['standing_tokens']} tokens of statements",
                flush=True,
            )
    return report


def main() -> None:
    arguments = command.parser(__doc__, files="*")
    arguments.add_argument("--budgets", type=int, nargs="+", default=BUDGETS)
    arguments.add_argument("--share", type=float, default=0.15, help="of the budget for standing statements")
    arguments.add_argument("--mode", choices=("hybrid", "keyword"), default="keyword")
    arguments.add_argument("--show", action="store_true", help="print what is found")
    chosen = arguments.parse_args()
    made = Corpus("made", [corpora.chat("made", each) for each in wishes.conversations()])
    found = [*command.corpora(chosen), made]
    findings = {corpus.name: measure_finder(corpus, show=chosen.show) for corpus in found}
    for name, figures in findings.items():
        print(f"{name}: {figures}", flush=True)
    command.run(
        chosen,
        lambda client, _, kept: {
            "finder": findings,
            "contexts": measure(client, found, chosen.budgets, chosen.share, chosen.mode, kept),
        },
    )


if __name__ == "__main__":
    main()

"""Measures recall on histories as people have them: what /search finds first, and whether /context has the answer.

    python bench/lives.py FILE ... [--budget 2000] [--questions] [--results FOLDER] [--json FILE] [--data-dir DIR]

Each FILE is the history of one person with an assistant: sessions with messages, and questions by kind, each with the
messages that answer it and a pattern that an answer contains. The benchmark starts its own embedded stack, posts each
history as one end user's sessions, ingests it, and asks each question in a new session of that end user. By kind:

    first, in three, in five    questions with an answer among so many results of POST /search
    context                     questions with an answer in what POST /context recalls, by default
    recalled, tokens            questions for which it recalls anything, and the mean of the tokens

Of questions that nothing answers only the last two are counted. Times are moved by whole weeks, so that "yesterday" is
the day before the history's `today`. --questions prints each question that was missed. --data-dir keeps the loaded data
for the next run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import runs
from memorybase_client import Client
from recalling import command, corpora
from recalling.corpora import Conversation
from recalling.loading import Loaded
from runs import Run

TOP = 5
OTHER_LANGUAGE = "other language"  # counted apart: what a model of one language cannot know


@dataclass(frozen=True, slots=True)
class Asked:
    """A question. `answers`: ids of messages, any of which answers; none: nothing does. `pattern` occurs in each."""

    kind: str
    text: str
    answers: frozenset[str]
    pattern: str | None

    def is_answered(self, found: Sequence[str]) -> bool:
        return not self.answers.isdisjoint(found)


@dataclass(frozen=True, slots=True)
class Life:
    conversation: Conversation
    questions: Sequence[Asked]
    sha256: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a question got: ids found by /search with their scores, ids recalled by /context."""

    life: str
    asked: Asked
    found: Sequence[str]
    scores: Sequence[float]
    has_context: bool
    recalled: Sequence[str]
    tokens: int
    took_ms: float  # of the search

    @property
    def rank(self) -> int:
        """Of the first answer in /search, 0: none among five."""
        return next((rank for rank, id_ in enumerate(self.found, 1) if id_ in self.asked.answers), 0)

    @property
    def is_recalled(self) -> bool:
        return bool(self.recalled)

    def line(self) -> runs.Line:
        """Whether the context has the answer is in it, since the pattern that says so is a part of the data."""
        return {
            "conversation": self.life,
            **runs.asked(self.asked.text, ours=False),
            "category": self.asked.kind,
            "evidence": sorted(self.asked.answers),
            **runs.found(self.found, self.scores),
            "recalled": self.recalled,
            "has_context": self.has_context,
            "tokens": self.tokens,
            "ms": round(self.took_ms, 1),
        }


def read(file: Path, now: datetime) -> Life:
    raw = file.read_bytes()
    document = json.loads(raw)
    questions = [
        Asked(each["kind"], each["question"], frozenset(each["answers"]), each.get("pattern"))
        for each in document["questions"]
    ]
    conversation = corpora.history("lives", file.stem, document, now)
    return Life(conversation, questions, hashlib.sha256(raw).hexdigest())


def ask(loaded: Loaded, life: Life, asked: Asked, budget: int) -> Outcome:
    name = life.conversation.name
    found = loaded.client.search_memory_base(loaded.memories[name], query=asked.text, end_user_id=name, top_k=TOP)
    ids = [loaded.own_id(life.conversation, str(hit.message_id)) for hit in found.results]
    context = loaded.client.build_context(
        flow_id=name, session_id=f"{name}-asking", end_user_id=name, token_budget=budget, query=asked.text
    )
    recalled = [
        id_
        for source in context.sources
        if source.kind == "recall"
        for id_ in (loaded.own_id(life.conversation, each) for each in source.message_ids)
    ]
    text = "\n".join(str(message.get("content")) for message in context.messages)
    has_answer = asked.is_answered(recalled) if asked.pattern is None else bool(re.search(asked.pattern, text))
    return Outcome(
        life=name,
        asked=asked,
        found=ids,
        scores=[hit.score for hit in found.results],
        has_context=has_answer,
        recalled=recalled,
        tokens=context.report.tokens_after,
        took_ms=found.took_ms,
    )


def table(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Figures by kind, and of all answerable questions that are not in another language."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.asked.kind, []).append(outcome)
    groups["all but other language"] = [
        each for each in outcomes if each.asked.answers and each.asked.kind != OTHER_LANGUAGE
    ]
    groups["nothing answers"] = [each for each in outcomes if not each.asked.answers]
    groups["all"] = list(outcomes)
    return {kind: figures(each) for kind, each in groups.items()}


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    count = len(outcomes)
    counted: dict[str, float] = {"questions": count, "recalled": sum(each.is_recalled for each in outcomes)}
    counted["tokens"] = round(sum(each.tokens for each in outcomes) / max(1, count))
    if any(each.asked.answers for each in outcomes):
        for name, most in (("first", 1), ("in three", 3), ("in five", TOP)):
            counted[name] = sum(0 < each.rank <= most for each in outcomes)
        counted["context"] = sum(each.has_context for each in outcomes)
    return counted


def show(title: str, rows: Mapping[str, Mapping[str, float]]) -> None:
    columns = ("questions", "first", "in three", "in five", "context", "recalled", "tokens")
    print(f"{title}\n  {'':26}" + "".join(f"{name:>10}" for name in columns))
    for kind, row in rows.items():
        print(f"  {kind:26}" + "".join(f"{row.get(name, ''):>10}" for name in columns))


def measure(client: Client, lives: Sequence[Life], chosen: argparse.Namespace, kept: Run) -> dict[str, Any]:
    loaded = Loaded(client)
    for life in lives:
        loaded.load(life.conversation)
    outcomes = [ask(loaded, life, asked, chosen.budget) for life in lives for asked in life.questions]
    for each in outcomes:
        kept.add(**each.line())
    report: dict[str, Any] = {}
    for life in lives:
        rows = table([each for each in outcomes if each.life == life.conversation.name])
        report[life.conversation.name] = {"sha256": life.sha256, "kinds": rows}
        total = {kind: rows[kind] for kind in ("all but other language", "nothing answers", "all")}
        show(life.conversation.name, total)
    report["all"] = table(outcomes)
    show("all", report["all"])
    for each in outcomes if chosen.questions else ():
        if each.asked.answers and not (each.has_context and each.rank == 1):
            print(f"{each.life} {each.asked.kind}: rank {each.rank}, context {each.has_context}: {each.asked.text!r}")
        elif not each.asked.answers and each.is_recalled:
            print(f"{each.life} {each.asked.kind}: recalled {each.tokens} tokens: {each.asked.text!r}")
    return report


def main() -> None:
    arguments = command.parser(__doc__)
    arguments.add_argument("--budget", type=int, default=2_000)
    arguments.add_argument("--questions", action="store_true", help="print each question that was missed")
    chosen = arguments.parse_args()
    lives = [read(file, datetime.now(UTC)) for file in chosen.data]
    command.run(chosen, lambda client, _, kept: measure(client, lives, chosen, kept))


if __name__ == "__main__":
    main()
